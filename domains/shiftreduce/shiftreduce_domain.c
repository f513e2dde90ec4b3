/* The shift-reduce parser's domain table: models, runners, input sizes, names of actions. shiftreduce_graphs.c defines
 * the computation. shiftreduce_input.c, shiftreduce_encode.c, shiftreduce_step.c, shiftreduce_score.c and
 * shiftreduce_output.c have the other callbacks.
 *
 * Invariant: close_model() and stop() accept half-built objects, whose unset members are zero. r->cell has
 * space for the nodes of the largest reserve(). Slots below r->n_slots are initialised.
 *
 * Divisions: the model · the runner · sizes · names of actions · the table. */
#include <string.h>

#include "domain_base.h"
#include "shiftreduce.h"
#include "shiftreduce_model.h"
#include "utf8.h"

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

/* The choices have the order of parser_form. */
#define INPUT_FORMAT                                                                                                  \
    {                                                                                                                 \
        "input-format", "auto|tree|tagged|text", "auto", "format of the inputs", RILL_OPTION_WORD, RILL_OPTION_MODEL, \
            0, 0, 0, NULL                                                                                             \
    }
const rill_option parser_input_options[] = {INPUT_FORMAT, RILL_TOKENIZED_OPTION, {0}};

static parser_form option_form(rill_context *ctx, const rill_open_options *options)
{
    const char *name = rill_open_option(options, parser_input_options->name);
    int32_t word = 0;
    const int known = name != NULL && rill_option_read(ctx, parser_input_options, name, &word) == RILL_OK;
    return known ? (parser_form)(word - 1) : PARSER_FORM_AUTO;
}

static rill_status load_model(parser *p, const rill_open_options *options)
{
    TRY(rill_options_device(p->ctx, "shiftreduce", options, &p->device));
    TRY(rill_network_open(&p->network, p->ctx, p->device));
    TRY(parser_load(p, options->path));
    rill_options_describe(p->device, p->description, sizeof p->description);
    return RILL_OK;
}

/* Bytes of a slot whose input has `words` words: a row of products per position, and the end offset and tag of each
 * word. The text of the words is negligible. */
static int64_t slot_bytes(const parser *p, int64_t words)
{
    const rill_network_bytes bytes = rill_network_sizes(p->network);
    const int64_t word = sizeof(size_t) + sizeof(int32_t);
    return bytes.slot + (int64_t)sizeof(rill_sentence) + (words + 1) * bytes.unit + words * word;
}

static rill_status open_model(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **model, rill_domain_info *info)
{
    (void)table;
    TRY(rill_options_check(ctx, "shiftreduce", options));
    parser *p = rill_calloc(ctx, 1, sizeof *p);
    if (p == NULL) return rill_fail_memory(ctx, sizeof *p, "a parser");
    p->ctx = p->arena.ctx = ctx;
    p->form = option_form(ctx, options);
    p->tokenized = options->tokenized;
    rill_status status = load_model(p, options);
    if (status != RILL_OK) {
        close_model(p);
        return status;
    }
    const rill_network_bytes bytes = rill_network_sizes(p->network);
    *info = (rill_domain_info){.actions = PARSER_FIRST_LABEL + p->n_labels,
                               .phases = PARSER_PHASES,
                               .group_rows = rill_device_group_rows(p->device),
                               .state_need = RILL_STATE_PATH,
                               .max_choices_phases = 1u << PARSER_PHASE_LABEL,
                               .max_length = 2 * p->max_input - 1,
                               .description = p->description,
                               .device = rill_device_name(p->device),
                               .node_bytes = sizeof(parser_cell),
                               .row_bytes = bytes.row,
                               .runner_bytes = bytes.session,
                               .slot_bytes = slot_bytes(p, 0),
                               .slot_unit_bytes = slot_bytes(p, 1) - slot_bytes(p, 0)};
    *model = p;
    return RILL_OK;
}

/* --- the runner --------------------------------------------------------------------------------------------------- */

static void stop(void *runner)
{
    parser_runner *r = runner;
    if (r == NULL) return;
    rill_context *ctx = r->ctx;
    for (size_t i = 0; i < r->n_slots; i++) rill_sentence_clear(&r->sentence[i]);
    FREE_ARRAY(ctx, r->sentence, r->sentence_capacity);
    FREE_ARRAY(ctx, r->cell, r->cell_capacity);
    FREE_ARRAY(ctx, r->slot, r->slot_capacity);
    FREE_ARRAY(ctx, r->frames, r->frames_capacity);
    FREE_ARRAY(ctx, r->positions, r->positions_capacity);
    for (size_t f = 0; f < PARSER_MAX_FEATURES; f++) FREE_ARRAY(ctx, r->feature[f], r->feature_capacity[f]);
    FREE_ARRAY(ctx, r->column, r->column_capacity);
    FREE_ARRAY(ctx, r->tree_scratch, r->tree_scratch_capacity);
    rill_text_clear(&r->normalized_word);
    rill_tree_clear(&r->tree);
    rill_session_close(r->session);
    rill_free(ctx, r, sizeof *r);
}

static rill_status start(const void *model, rill_context *ctx, int threads, void **runner)
{
    parser_runner *r = rill_calloc(ctx, 1, sizeof *r);
    if (r == NULL) return rill_fail_memory(ctx, sizeof *r, "a parser's runner");
    r->model = model;
    r->ctx = r->normalized_word.ctx = r->tree.ctx = ctx;
    rill_status status = rill_session_open(&r->session, ctx, r->model->network, threads);
    if (status != RILL_OK) {
        stop(r);
        return status;
    }
    *runner = r;
    return RILL_OK;
}

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    parser_runner *r = self;
    TRY(rill_session_reserve(r->session, nodes, slots));
    TRY(GROW(r->ctx, r->cell, r->cell_capacity, (size_t)nodes, "node states"));
    TRY(GROW(r->ctx, r->sentence, r->sentence_capacity, (size_t)slots, "item slots"));
    for (; r->n_slots < (size_t)slots; r->n_slots++)
        r->sentence[r->n_slots] = (rill_sentence){.bytes = {.ctx = r->ctx}};
    return RILL_OK;
}

/* --- sizes -------------------------------------------------------------------------------------------------------- */

/* Number of words of an input. In a tree: the closing brackets that do not follow a closing bracket. In other formats:
 * the words between spaces. */
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

/* The best setting that the paper [stream] reports for such models (docs/algorithms.md): on GUM's dev set it reaches
 * the F1 of beam 10 without pruning, with less than two thirds of the expansions. */
static rill_status advise(const rill_domain *table, rill_context *ctx, const char *path, rill_text *out)
{
    (void)table;
    (void)ctx;
    (void)path;
    return rill_text_printf(out, "k=10 absolute=2.5 max-candidates=3");
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static const rill_option own_options[] = {
    RILL_WEIGHTS_OPTION("f32"),
    RILL_DEVICE_OPTIONS,
    INPUT_FORMAT,
    {0},
};

const rill_domain rill_shiftreduce_domain = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_domain),
    .name = "shiftreduce",
    .summary = "sentences to constituency trees: bidirectional LSTM, span features, shift-reduce",
    .open = open_model,
    .reserve = reserve,
    .encode = parser_encode,
    .step = parser_step,
    .score = parser_score,
    .finalize = parser_finalize,
    .drop = rill_runner_drop,
    .close = close_model,
    .measure = measure,
    .action_name = action_name,
    .find_action = find_action,
    .tokenize = tokenize,
    .metric = "bracket",
    .start = start,
    .stop = stop,
    .profile = rill_runner_profile,
    .profile_row = rill_runner_profile_row,
    .limits = rill_runner_limits,
    .collect = rill_runner_collect,
    .advise = advise,
    .options = own_options,
    .classify = parser_classify,
    .input_options = parser_input_options,
};
