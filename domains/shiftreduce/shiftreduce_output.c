/* Builds the tree of a hypothesis. Combine joins two spans; a span with PARSER_NO_LABEL gets no brackets.
 *
 * Invariant: spans are numbered in order of creation, so children come before their parent. Nothing recurses.
 * Divisions: spans · brackets · entry point. */
#include "domain_base.h"
#include "shiftreduce_model.h"

/* --- spans -------------------------------------------------------------------------------------------------------- */

typedef struct tree_span {
    int32_t label;
    int32_t left, right; /* child spans; right = -1: a single word, left is its index */
} tree_span;

/* Arrays for one hypothesis. */
typedef struct tree_builder {
    parser_runner *r;
    const rill_sentence *sentence;
    tree_span *span;  /* [max_spans] */
    int32_t *stack;   /* [max_spans] the parser's stack of spans, the top last */
    int32_t *pending; /* [2 max_spans] stack of work, next last: x >= 0: write span x; x < 0: close ~x brackets */
    int32_t n_spans, depth, n_shifted;
} tree_builder;

static rill_status reserve_tree(tree_builder *b, int32_t actions)
{
    enum { INTS_PER_SPAN = sizeof(tree_span) / sizeof(int32_t) + 1 + 2 };
    parser_runner *r = b->r;
    const size_t max_spans = (size_t)actions / 2 + 1;
    TRY(GROW(r->ctx, r->tree_scratch, r->tree_scratch_capacity, INTS_PER_SPAN * max_spans, "a tree"));
    b->span = (tree_span *)r->tree_scratch;
    b->stack = r->tree_scratch + sizeof(tree_span) / sizeof(int32_t) * max_spans;
    b->pending = b->stack + max_spans;
    return RILL_OK;
}

static void apply_action(tree_builder *b, int32_t action)
{
    if (action == PARSER_SHIFT) {
        b->span[b->n_spans] = (tree_span){PARSER_NO_LABEL, b->n_shifted++, -1};
        b->stack[b->depth++] = b->n_spans++;
    } else if (action == PARSER_COMBINE) {
        b->depth--;
        b->span[b->n_spans] = (tree_span){PARSER_NO_LABEL, b->stack[b->depth - 1], b->stack[b->depth]};
        b->stack[b->depth - 1] = b->n_spans++;
    } else {
        b->span[b->stack[b->depth - 1]].label = action - PARSER_FIRST_LABEL;
    }
}

/* --- brackets ----------------------------------------------------------------------------------------------------- */

static rill_status write_word(const tree_builder *b, int32_t word)
{
    size_t length;
    const char *tag = rill_vocabulary_token(b->r->model->tag_vocab, b->sentence->tag[word], &length);
    return rill_tree_word(&b->r->tree, (rill_slice){tag, length}, rill_sentence_word(b->sentence, word));
}

/* Open the span's brackets and write its word, if it has one. Push its closing brackets and children to `todo`. */
static rill_status write_span(const tree_builder *b, int32_t index, int32_t *todo, int32_t *n)
{
    const parser *p = b->r->model;
    const tree_span *s = &b->span[index];
    const int32_t from = p->nonterminal_offsets[s->label], to = p->nonterminal_offsets[s->label + 1];
    for (int32_t i = from; i < to; i++) TRY(rill_tree_open(&b->r->tree, p->nonterminals[i]));
    todo[(*n)++] = ~(to - from);
    if (s->right < 0) return write_word(b, s->left);
    todo[(*n)++] = s->right;
    todo[(*n)++] = s->left;
    return RILL_OK;
}

static rill_status write_subtree(const tree_builder *b, int32_t top)
{
    int32_t n = 1;
    b->pending[0] = top;
    while (n > 0) {
        const int32_t next = b->pending[--n];
        if (next >= 0) TRY(write_span(b, next, b->pending, &n));
        for (int32_t closes = next < 0 ? ~next : 0; closes > 0; closes--) rill_tree_close(&b->r->tree);
    }
    return RILL_OK;
}

/* --- entry point -------------------------------------------------------------------------------------------------- */

static int is_complete_tree(const tree_builder *b)
{
    return b->depth == 1 && b->n_shifted == b->sentence->words && b->span[b->stack[0]].label != PARSER_NO_LABEL;
}

static rill_status build_tree(tree_builder *b, const rill_hypothesis *hypothesis)
{
    TRY(reserve_tree(b, hypothesis->length));
    for (int32_t i = 0; i < hypothesis->length; i++) apply_action(b, hypothesis->action[i]);
    rill_tree_begin(&b->r->tree);
    if (is_complete_tree(b)) return write_subtree(b, b->stack[0]);
    TRY(rill_tree_open(&b->r->tree, b->r->model->root));
    for (int32_t i = 0; i < b->depth; i++) TRY(write_subtree(b, b->stack[i]));
    for (int32_t i = b->n_shifted; i < b->sentence->words; i++) TRY(write_word(b, i));
    rill_tree_close(&b->r->tree);
    return RILL_OK;
}

rill_status parser_finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    parser_runner *r = self;
    tree_builder b = {.r = r, .sentence = &r->sentence[hypothesis->slot]};
    TRY(build_tree(&b, hypothesis));
    return rill_tree_write(&r->tree, out, 0);
}
