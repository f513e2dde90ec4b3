/* From a hypothesis to its tree: actions make spans of two spans each, and labels that are none let go of theirs.
 *
 * Invariant: spans are numbered as they are made, so a span's parts come before it. Neither pass recurses.
 * Divisions: spans · brackets · the whole. */
#include "grow.h"
#include "model.h"

/* --- spans -------------------------------------------------------------------------------------------------------- */

typedef struct span {
    int32_t label;
    int32_t left, right; /* spans it is made of; right -1: left is a word */
} span;

/* Arrays of one hypothesis. */
typedef struct builder {
    parser_runner *r;
    const rill_sentence *sentence;
    span *span;     /* [most] */
    int32_t *stack; /* [most] spans, the top one last */
    int32_t *todo;  /* [2 most] what is to be written, next one last: a span, or ~symbols to be closed */
    int32_t spans, depth, shifted;
} builder;

static rill_status make_room(builder *b, int32_t actions)
{
    enum { INTS = sizeof(span) / sizeof(int32_t) + 1 + 2 };
    parser_runner *r = b->r;
    const size_t most = (size_t)actions / 2 + 1;
    TRY(GROW(r->ctx, r->build, r->build_room, INTS * most, "a tree"));
    b->span = (span *)r->build;
    b->stack = r->build + sizeof(span) / sizeof(int32_t) * most;
    b->todo = b->stack + most;
    return RILL_OK;
}

static void take(builder *b, int32_t action)
{
    if (action == PARSER_SHIFT) {
        b->span[b->spans] = (span){PARSER_NO_LABEL, b->shifted++, -1};
        b->stack[b->depth++] = b->spans++;
    } else if (action == PARSER_COMBINE) {
        b->depth--;
        b->span[b->spans] = (span){PARSER_NO_LABEL, b->stack[b->depth - 1], b->stack[b->depth]};
        b->stack[b->depth - 1] = b->spans++;
    } else {
        b->span[b->stack[b->depth - 1]].label = action - PARSER_LABELS;
    }
}

/* --- brackets ----------------------------------------------------------------------------------------------------- */

static rill_status write_word(const builder *b, int32_t word)
{
    size_t length;
    const char *tag = rill_vocabulary_token(b->r->model->tag, b->sentence->tag[word], &length);
    return rill_tree_word(&b->r->tree, (rill_slice){tag, length}, rill_sentence_word(b->sentence, word));
}

/* Open the span's brackets; what is in them, and closing them, is to be done next. */
static rill_status write_span(const builder *b, int32_t index, int32_t *todo, int32_t *n)
{
    const parser *p = b->r->model;
    const span *s = &b->span[index];
    const int32_t from = p->symbols[s->label], to = p->symbols[s->label + 1];
    for (int32_t i = from; i < to; i++) TRY(rill_tree_open(&b->r->tree, p->symbol[i]));
    todo[(*n)++] = ~(to - from);
    if (s->right < 0) return write_word(b, s->left);
    todo[(*n)++] = s->right;
    todo[(*n)++] = s->left;
    return RILL_OK;
}

static rill_status write_below(const builder *b, int32_t top)
{
    int32_t n = 1;
    b->todo[0] = top;
    while (n > 0) {
        const int32_t next = b->todo[--n];
        if (next >= 0) TRY(write_span(b, next, b->todo, &n));
        for (int32_t closes = next < 0 ? ~next : 0; closes > 0; closes--) rill_tree_close(&b->r->tree);
    }
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static int is_whole(const builder *b)
{
    return b->depth == 1 && b->shifted == b->sentence->words && b->span[b->stack[0]].label != PARSER_NO_LABEL;
}

static rill_status build(builder *b, const rill_hypothesis *hypothesis)
{
    TRY(make_room(b, hypothesis->length));
    for (int32_t i = 0; i < hypothesis->length; i++) take(b, hypothesis->action[i]);
    rill_tree_begin(&b->r->tree);
    if (is_whole(b)) return write_below(b, b->stack[0]);
    TRY(rill_tree_open(&b->r->tree, b->r->model->root));
    for (int32_t i = 0; i < b->depth; i++) TRY(write_below(b, b->stack[i]));
    for (int32_t i = b->shifted; i < b->sentence->words; i++) TRY(write_word(b, i));
    rill_tree_close(&b->r->tree);
    return RILL_OK;
}

rill_status parser_finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    parser_runner *r = self;
    builder b = {.r = r, .sentence = &r->sentence[hypothesis->slot]};
    TRY(build(&b, hypothesis));
    return rill_tree_write(&r->tree, out, 0);
}
