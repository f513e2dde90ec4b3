/* Callbacks of the domain "shiftreduce" (rill/domain.h).
 *
 * n words take n shifts and n - 1 combines. A shift needs a remaining word, a combine two spans on the stack.
 * close_model() and stop() accept partly built objects. */
#include <string.h>

#include "shiftreduce.h"

/* --- the model ---------------------------------------------------------------------------------------------------- */

static void close_model(void *model)
{
    parser *p = model;
    if (p == NULL) return;
    rill_context *ctx = p->ctx;
    rill_vocabulary_close(p->word_vocab);
    rill_vocabulary_close(p->suffix_vocab);
    rill_vocabulary_close(p->shape_vocab);
    rill_vocabulary_close(p->tag_vocab);
    rill_vocabulary_close(p->label_vocab);
    rill_network_close(p->network);
    rill_device_close(p->device);
    rill_arena_clear(&p->arena);
    rill_free(ctx, p, sizeof *p);
}

static rill_status open_model(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **model, rill_domain_info *info)
{
    (void)table;
    TRY(rill_struct_alloc(ctx, model, sizeof(parser), "a parser"));
    parser *p = *model;
    p->ctx = p->arena.ctx = ctx;
    p->form = parser_read_form(ctx, rill_open_option(options, parser_input_options->name), PARSER_FORM_AUTO);
    p->tokenized = options->tokenized;
    TRY(RILL_OPENED(parser_load(p, options), model, close_model));
    *info = rill_network_info(p->device, p->network, p->description, sizeof p->description);
    info->actions = PARSER_FIRST_LABEL + p->n_labels;
    info->phases = PARSER_PHASES;
    info->state_need = RILL_STATE_PATH;
    info->max_choices_phases = 1u << PARSER_PHASE_LABEL;
    info->max_length = 2 * p->max_input - 1;
    info->node_bytes = sizeof(parser_cell);
    /* Memory per input: products for n + 1 positions; each word's end offset and tag. */
    info->slot_bytes += (int64_t)sizeof(rill_sentence) + info->slot_unit_bytes;
    info->slot_unit_bytes += (int64_t)(sizeof(size_t) + sizeof(int32_t));
    return RILL_OK;
}

/* --- the runner --------------------------------------------------------------------------------------------------- */

static void stop(void *runner)
{
    parser_runner *r = runner;
    if (r == NULL) return;
    rill_context *ctx = r->ctx;
    for (size_t i = 0; i < r->n_slots; i++) rill_sentence_clear(&r->sentence[i]);
    rill_arena_clear(&r->arena);
    rill_text_clear(&r->normalized_word);
    rill_tree_clear(&r->tree);
    rill_session_close(r->session);
    rill_free(ctx, r, sizeof *r);
}

static rill_status start(const void *model, rill_context *ctx, int threads, void **runner)
{
    TRY(rill_struct_alloc(ctx, runner, sizeof(parser_runner), "a parser's runner"));
    parser_runner *r = *runner;
    r->model = model;
    r->ctx = r->arena.ctx = r->normalized_word.ctx = r->tree.ctx = ctx;
    return RILL_OPENED(rill_session_open(&r->session, ctx, r->model->network, threads), runner, stop);
}

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    parser_runner *r = self;
    TRY(rill_session_reserve(r->session, nodes, slots));
    TRY(GROW(&r->arena, r->cell, (size_t)nodes, "node states"));
    TRY(GROW(&r->arena, r->sentence, (size_t)slots, "item slots"));
    for (; r->n_slots < (size_t)slots; r->n_slots++)
        r->sentence[r->n_slots] = (rill_sentence){.bytes = {.ctx = r->ctx}};
    return RILL_OK;
}

/* --- length of an input ------------------------------------------------------------------------------------------- */

/* Return the number of words: in a tree, of closing brackets that do not follow another; in other formats, of words between spaces. */
static int64_t measure(void *self, const char *text, size_t length)
{
    const parser *p = ((const parser_runner *)self)->model;
    const parser_form form = parser_detect_form(p, parser_default_form(p->form, p->tokenized), text, length);
    int64_t closed = 0, tokens = 0;
    char last = ' '; /* previous character that is not a space */
    for (size_t i = 0; i < length && form == PARSER_FORM_TREE; i++) {
        if ((unsigned char)text[i] <= ' ') continue;
        closed += text[i] == ')' && last != ')';
        last = text[i];
    }
    for (rill_slice remaining = {text, length}; form != PARSER_FORM_TREE && rill_next_text_word(&remaining).length > 0;)
        tokens++;
    return closed + tokens;
}

/* --- the parser's stack ------------------------------------------------------------------------------------------- */

/* Return the stack after the action shift (stack_combine(): combine). from: state id of the old stack. */
static parser_cell stack_shift(const parser_cell *cell, int32_t from)
{
    const parser_cell *s = &cell[from];
    return (parser_cell){.below_node = s->c > 0 ? from : RILL_NO_NODE, .a = s->b, .b = s->c, .c = s->c + 1};
}

static parser_cell stack_combine(const parser_cell *cell, int32_t from)
{
    const parser_cell *s = &cell[from], *below = &cell[s->below_node];
    return (parser_cell){.below_node = below->below_node, .a = below->a, .b = s->a, .c = s->c};
}

static int stack_can_shift(const parser_cell *s, int32_t words)
{
    return s->c < words;
}

static int stack_can_combine(const parser_cell *s)
{
    return s->below_node != RILL_NO_NODE;
}

static parser_cell next_cell(const parser_cell *cell, const rill_rows *rows, int32_t r)
{
    const int32_t from = rows->state_parent[r];
    if (from == RILL_NO_NODE) return (parser_cell){.below_node = RILL_NO_NODE};
    if (rows->action[r] == PARSER_SHIFT) return stack_shift(cell, from);
    if (rows->action[r] == PARSER_COMBINE) return stack_combine(cell, from);
    return cell[from];
}

static rill_status step(void *self, const rill_rows *rows)
{
    parser_cell *cell = ((parser_runner *)self)->cell;
    for (int32_t r = 0; r < rows->n; r++) cell[rows->node[r]] = next_cell(cell, rows, r);
    return RILL_OK;
}

/* For cube pruning, hypotheses with equal top spans are equivalent: they have shifted the same words, and the same actions are legal. */
static rill_status classify(void *self, const rill_rows *rows, int64_t *classes)
{
    const parser_cell *cell = ((const parser_runner *)self)->cell;
    for (int32_t r = 0; r < rows->n; r++) {
        const parser_cell s = next_cell(cell, rows, r);
        classes[r] = (int64_t)s.b << 32 | s.c;
    }
    return RILL_OK;
}

/* --- scores of actions -------------------------------------------------------------------------------------------- */

enum { STRUCTURE_SLOT, STRUCTURE_UNDECIDED, STRUCTURE_A, STRUCTURE_B, STRUCTURE_C, STRUCTURE_COLUMNS };
enum { LABEL_SLOT, LABEL_IS_LAST, LABEL_B, LABEL_C, LABEL_COLUMNS };

typedef struct score_call {
    const parser_runner *r;
    const rill_rows *rows;
    const rill_score_request *request;
    rill_score_result *result;
    /* [n] for shift and combine: 0 if both are legal, else -1. For labels: 1 in the input's last timestep, else 0 */
    int32_t *row_kind;
    int32_t *a, *b, *c; /* [n] positions a, b, c of each row's stack (parser_cell) */
} score_call;

static rill_status run_score_graph(const score_call *w, const int32_t *const *columns)
{
    const rill_selection selection = rill_selection_for_request(w->request, w->result);
    return rill_rows_run(w->r->session, w->r->model->score[w->rows->phase], w->rows, columns, &selection);
}

static rill_status score_structure(const score_call *w)
{
    int32_t open = 0;
    for (int32_t i = 0; i < w->rows->n; i++) {
        const parser_cell *s = &w->r->cell[w->rows->node[i]];
        const int shift = stack_can_shift(s, w->r->sentence[w->rows->slot[i]].words), combine = stack_can_combine(s);
        w->a[i] = s->a, w->b[i] = s->b, w->c[i] = s->c;
        w->row_kind[i] = shift && combine ? 0 : -1;
        open += w->row_kind[i] >= 0;
        if (!shift || !combine)
            rill_score_result_force(w->request, w->result, i, shift ? PARSER_SHIFT : PARSER_COMBINE);
    }
    const int32_t *columns[STRUCTURE_COLUMNS] = {[STRUCTURE_SLOT] = w->rows->slot,
                                                 [STRUCTURE_UNDECIDED] = w->row_kind,
                                                 [STRUCTURE_A] = w->a,
                                                 [STRUCTURE_B] = w->b,
                                                 [STRUCTURE_C] = w->c};
    return open > 0 ? run_score_graph(w, columns) : RILL_OK;
}

static rill_status score_labels(const score_call *w)
{
    for (int32_t i = 0; i < w->rows->n; i++) {
        const parser_cell *s = &w->r->cell[w->rows->node[i]];
        w->b[i] = s->b, w->c[i] = s->c;
        /* in the last timestep all words are in one span, whose label remains to be chosen */
        w->row_kind[i] = !stack_can_shift(s, w->r->sentence[w->rows->slot[i]].words) && !stack_can_combine(s);
        w->result->ends[i] = w->row_kind[i] ? RILL_ENDS_LAST : RILL_ENDS_BY_ACTION;
    }
    const int32_t *columns[LABEL_COLUMNS] = {
        [LABEL_SLOT] = w->rows->slot, [LABEL_IS_LAST] = w->row_kind, [LABEL_B] = w->b, [LABEL_C] = w->c};
    return run_score_graph(w, columns);
}

static rill_status score(void *self, const rill_rows *rows, const rill_score_request *req, rill_score_result *out)
{
    parser_runner *r = self;
    const size_t n = (size_t)rows->n;
    TRY(GROW(&r->arena, r->column, 4 * n, "columns of a score"));
    const score_call w = {.r = r,
                          .rows = rows,
                          .request = req,
                          .result = out,
                          .row_kind = r->column,
                          .a = r->column + n,
                          .b = r->column + 2 * n,
                          .c = r->column + 3 * n};
    return rows->phase == PARSER_PHASE_STRUCTURE ? score_structure(&w) : score_labels(&w);
}

/* --- building the tree -------------------------------------------------------------------------------------------- */

typedef struct tree_span {
    int32_t label;
    /* indices of the child spans; right = -1: the span is a single word, and left is the word's index */
    int32_t left, right;
} tree_span;

/* Arrays with which the tree of one hypothesis is built and written. */
typedef struct tree_builder {
    parser_runner *r;
    const rill_sentence *sentence;
    tree_span *span; /* [max_spans] spans in order of creation */
    int32_t *stack;  /* [max_spans] the parser's stack, as indices of spans; its top is stack[depth - 1] */
    /* [2 * max_spans] stack of parts still to be written: x >= 0 is span x, x < 0 is ~x closing brackets */
    int32_t *pending;
    int32_t n_spans, depth, n_shifted;
} tree_builder;

static rill_status reserve_tree(tree_builder *b, int32_t actions)
{
    enum { INTS_PER_SPAN = sizeof(tree_span) / sizeof(int32_t) + 1 + 2 };
    parser_runner *r = b->r;
    const size_t max_spans = (size_t)actions / 2 + 1;
    TRY(GROW(&r->arena, r->tree_scratch, INTS_PER_SPAN * max_spans, "a tree"));
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

/* --- writing bracketed trees -------------------------------------------------------------------------------------- */

static rill_status write_tree_word(const tree_builder *b, int32_t word)
{
    size_t length;
    const char *tag = rill_vocabulary_token(b->r->model->tag_vocab, b->sentence->tag[word], &length);
    return rill_tree_word(&b->r->tree, (rill_slice){tag, length}, rill_sentence_word(b->sentence, word));
}

/* Open the brackets of span `index` and write its word, if any. Push its children and closing brackets onto the stack `todo`. */
static rill_status write_span(const tree_builder *b, int32_t index, int32_t *todo, int32_t *n)
{
    const parser *p = b->r->model;
    const tree_span *s = &b->span[index];
    const int32_t from = p->nonterminal_offsets[s->label], to = p->nonterminal_offsets[s->label + 1];
    for (int32_t i = from; i < to; i++) TRY(rill_tree_open(&b->r->tree, p->nonterminals[i]));
    todo[(*n)++] = ~(to - from);
    if (s->right < 0) return write_tree_word(b, s->left);
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

/* --- outputs -------------------------------------------------------------------------------------------------- */

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
    for (int32_t i = b->n_shifted; i < b->sentence->words; i++) TRY(write_tree_word(b, i));
    rill_tree_close(&b->r->tree);
    return RILL_OK;
}

static rill_status finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    parser_runner *r = self;
    tree_builder b = {.r = r, .sentence = &r->sentence[hypothesis->slot]};
    TRY(build_tree(&b, hypothesis));
    return rill_tree_write(&r->tree, out, 0);
}

/* --- names of actions --------------------------------------------------------------------------------------------- */

static const char *const structure_names[PARSER_FIRST_LABEL] = {"shift", "combine"};

static rill_status action_name(void *model, int32_t action, rill_text *out)
{
    const parser *p = model;
    if (action < PARSER_FIRST_LABEL)
        return rill_text_append(out, structure_names[action], strlen(structure_names[action]));
    return rill_vocabulary_write(p->label_vocab, action - PARSER_FIRST_LABEL, out);
}

static int32_t find_action(void *model, const char *text, size_t length)
{
    const parser *p = model;
    for (int32_t i = 0; i < PARSER_FIRST_LABEL; i++)
        if (rill_slice_is((rill_slice){text, length}, structure_names[i])) return i;
    const int32_t label = rill_vocabulary_id(p->label_vocab, text, length);
    return label >= 0 ? PARSER_FIRST_LABEL + label : RILL_NO_ACTION;
}

static rill_status add_action_by_name(void *user, const char *name, size_t length)
{
    rill_action_list *to = user;
    const int32_t action = find_action(to->model, name, length);
    if (action >= 0) {
        rill_action_list_add(to, action);
        return RILL_OK;
    }
    if (memchr(name, '(', length) != NULL || memchr(name, ')', length) != NULL)
        return rill_fail(to->ctx, RILL_ERR_INPUT,
                         "\"%.*s\" is part of a tree, which several sequences of actions can build: name the "
                         "actions, as in \"shift NP\"",
                         (int)length, name);
    return rill_fail(to->ctx, RILL_ERR_INPUT, "\"%.*s\" is not %s, %s or a label of the parser", (int)length, name,
                     structure_names[PARSER_SHIFT], structure_names[PARSER_COMBINE]);
}

/* Read action names separated by spaces. Trees are refused, since several action sequences can build the same tree. */
static rill_status tokenize(void *model, rill_context *ctx, const char *text, size_t length, int32_t *action,
                            int32_t capacity, int32_t *n)
{
    rill_action_list to = {model, ctx, action, capacity, 0};
    TRY(rill_for_each_word(text, length, add_action_by_name, &to));
    *n = to.n;
    return RILL_OK;
}

/* Default search options: the best setting of [stream] (docs/algorithms.md) for such parsers. On GUM it expands fewer hypotheses than beam
 * 10. */
static rill_status advise(const rill_domain *table, rill_context *ctx, const char *path, rill_text *out)
{
    (void)table, (void)ctx, (void)path;
    return rill_text_printf(out, "k=10 absolute=2.5 max-candidates=3");
}

/* --- table of the domain ------------------------------------------------------------------------------------------ */

static const rill_option own_options[] = {
    RILL_WEIGHTS_OPTION("f32"),
    RILL_DEVICE_OPTIONS,
    PARSER_INPUT_FORMAT,
    {0},
};

const rill_domain rill_shiftreduce_domain = {
    RILL_RUNNER_CALLBACKS,
    .name = "shiftreduce",
    .summary = "sentences to constituency trees: bidirectional LSTM, span features, shift-reduce",
    .open = open_model,
    .reserve = reserve,
    .encode = parser_encode,
    .step = step,
    .score = score,
    .finalize = finalize,
    .close = close_model,
    .measure = measure,
    .action_name = action_name,
    .find_action = find_action,
    .tokenize = tokenize,
    .metric = "bracket",
    .start = start,
    .stop = stop,
    .collect = rill_runner_collect,
    .advise = advise,
    .options = own_options,
    .classify = classify,
    .input_options = parser_input_options,
};
