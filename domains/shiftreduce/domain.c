/* The parser as a table of functions: open and close, start and stop, ids and slots, names of actions. What is computed is in
 * programs.c, the way to it in input.c, encode.c, step.c, score.c and output.c.
 *
 * Invariant: what close_model() and stop() get may be half built; everything in it is zero until it is owned. Node tables are as long
 * as the largest reserve(); slots below r->slots are initialised.
 *
 * Divisions: the model · the runner · sizes · names of actions · the table. */
#include <string.h>

#include "grow.h"
#include "model.h"
#include "options.h"
#include "shiftreduce.h"
#include "words.h"

/* --- the model ---------------------------------------------------------------------------------------------------- */

static void close_model(void *model)
{
    parser *p = model;
    if (p == NULL) return;
    rill_context *ctx = p->ctx;
    rill_vocabulary_close(p->word);
    rill_vocabulary_close(p->suffix);
    rill_vocabulary_close(p->shape);
    rill_vocabulary_close(p->tag);
    rill_vocabulary_close(p->label);
    rill_plan_close(p->plan);
    rill_device_close(p->device);
    rill_blocks_clear(&p->blocks);
    rill_free(ctx, p, sizeof *p);
}

/* Words are those of parser_form, in its order. */
#define INPUT_FORMAT                                                                                                   \
    {                                                                                                                  \
        "input-format", "auto|tree|tagged|text", "auto", "the form of inputs", RILL_OPTION_WORD, RILL_OPTION_MODEL, 0, \
            0, 0                                                                                                       \
    }
const rill_option parser_input_options[] = {INPUT_FORMAT, RILL_TOKENIZED_ROW, {0}};

static parser_form form_of(rill_context *ctx, const rill_open_options *options)
{
    const char *name = rill_open_value(options, parser_input_options->name);
    int32_t word = 0;
    const int said = name != NULL && rill_option_read(ctx, parser_input_options, name, &word) == RILL_OK;
    return said ? (parser_form)(word - 1) : FORM_AUTO;
}

static rill_status load_model(parser *p, const rill_open_options *options)
{
    TRY(rill_options_device(p->ctx, "shiftreduce", options, &p->device));
    TRY(rill_plan_open(&p->plan, p->ctx, p->device));
    TRY(parser_load(p, options->path));
    rill_options_describe(p->device, p->description, sizeof p->description);
    return RILL_OK;
}

/* What an input of so many words keeps in its slot: a row of products per position, and where its words end and how they are tagged.
 * The bytes of the words themselves are nothing beside a row. */
static int64_t slot_bytes(const parser *p, int64_t words)
{
    const rill_plan_bytes bytes = rill_plan_sizes(p->plan);
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
    p->ctx = p->blocks.ctx = ctx;
    p->form = form_of(ctx, options);
    p->tokenized = options->tokenized;
    rill_status status = load_model(p, options);
    if (status != RILL_OK) {
        close_model(p);
        return status;
    }
    const rill_plan_bytes bytes = rill_plan_sizes(p->plan);
    *info = (rill_domain_info){.actions = PARSER_LABELS + p->labels,
                               .phases = PARSER_PHASES,
                               .group_rows = rill_device_group_rows(p->device),
                               .state_need = RILL_STATE_PATH,
                               .max_choices_phases = 1u << PARSER_LABEL,
                               .max_length = 2 * p->max_input - 1,
                               .description = p->description,
                               .device = rill_device_name(p->device),
                               .node_bytes = sizeof(parser_cell),
                               .row_bytes = bytes.row,
                               .runner_bytes = bytes.stream,
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
    for (size_t i = 0; i < r->slots; i++) rill_sentence_clear(&r->sentence[i]);
    DROP(ctx, r->sentence, r->sentence_room);
    DROP(ctx, r->cell, r->cell_room);
    DROP(ctx, r->slot, r->slot_room);
    DROP(ctx, r->frames, r->frames_room);
    DROP(ctx, r->positions, r->positions_room);
    for (size_t f = 0; f < PARSER_MOST_FEATURES; f++) DROP(ctx, r->feature[f], r->feature_room[f]);
    DROP(ctx, r->column, r->column_room);
    DROP(ctx, r->build, r->build_room);
    rill_text_clear(&r->normal);
    rill_tree_clear(&r->tree);
    rill_stream_close(r->stream);
    rill_free(ctx, r, sizeof *r);
}

static rill_status start(const void *model, rill_context *ctx, int threads, void **runner)
{
    parser_runner *r = rill_calloc(ctx, 1, sizeof *r);
    if (r == NULL) return rill_fail_memory(ctx, sizeof *r, "a parser's runner");
    r->model = model;
    r->ctx = r->normal.ctx = r->tree.ctx = ctx;
    rill_status status = rill_stream_open(&r->stream, ctx, r->model->plan, threads);
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
    TRY(rill_stream_reserve(r->stream, nodes, slots));
    TRY(GROW(r->ctx, r->cell, r->cell_room, (size_t)nodes, "node states"));
    TRY(GROW(r->ctx, r->sentence, r->sentence_room, (size_t)slots, "item slots"));
    for (; r->slots < (size_t)slots; r->slots++) r->sentence[r->slots] = (rill_sentence){.bytes = {.ctx = r->ctx}};
    return RILL_OK;
}

/* --- sizes -------------------------------------------------------------------------------------------------------- */

/* Of a tree, words: brackets that are closed behind something else than a closed bracket. Else what stands between spaces. */
static int64_t measure(void *self, const char *text, size_t length)
{
    const parser *p = ((const parser_runner *)self)->model;
    const parser_form form = parser_form_of(p, parser_form_asked(p->form, p->tokenized), text, length);
    int64_t closed = 0, tokens = 0;
    char last = ' '; /* but for blanks */
    for (size_t i = 0; i < length && form == FORM_TREE; i++) {
        if ((unsigned char)text[i] <= ' ') continue;
        closed += text[i] == ')' && last != ')';
        last = text[i];
    }
    for (rill_slice left = {text, length}; form != FORM_TREE && rill_next_text_word(&left).length > 0;) tokens++;
    return closed + tokens;
}

/* --- names of actions --------------------------------------------------------------------------------------------- */

static const char *const structure_names[PARSER_LABELS] = {"shift", "combine"};

static rill_status action_name(void *model, int32_t action, rill_text *out)
{
    const parser *p = model;
    if (action < PARSER_LABELS) return rill_text_append(out, structure_names[action], strlen(structure_names[action]));
    return rill_vocabulary_write(p->label, action - PARSER_LABELS, out);
}

static int32_t find_action(void *model, const char *text, size_t length)
{
    const parser *p = model;
    for (int32_t i = 0; i < PARSER_LABELS; i++)
        if (rill_slice_is((rill_slice){text, length}, structure_names[i])) return i;
    const int32_t label = rill_vocabulary_id(p->label, text, length);
    return label >= 0 ? PARSER_LABELS + label : RILL_NO_ACTION;
}

static rill_status take_name(void *user, const char *name, size_t length)
{
    rill_actions *to = user;
    const int32_t action = find_action(to->model, name, length);
    if (action >= 0) {
        rill_actions_add(to, action);
        return RILL_OK;
    }
    if (memchr(name, '(', length) != NULL || memchr(name, ')', length) != NULL)
        return rill_fail(to->ctx, RILL_ERR_INPUT,
                         "\"%.*s\" is of a tree, which several rows of actions make: name the actions, as in "
                         "\"shift NP\"",
                         (int)length, name);
    return rill_fail(to->ctx, RILL_ERR_INPUT, "\"%.*s\" is neither %s nor %s nor a label of the parser", (int)length,
                     name, structure_names[PARSER_SHIFT], structure_names[PARSER_COMBINE]);
}

/* A text is names of actions with blanks between: what stands in a tree comes from several of them, and from the words. */
static rill_status tokenize(void *model, rill_context *ctx, const char *text, size_t length, int32_t *action,
                            int32_t room, int32_t *n)
{
    rill_actions to = {model, ctx, action, room, 0};
    TRY(rill_words_each(text, length, take_name, &to));
    *n = to.n;
    return RILL_OK;
}

/* What [stream] found for such models (docs/algorithms.md): on GUM's dev set F1 is that of a beam of ten without pruning, for less
 * than two thirds of the expansions. */
static rill_status advise(const rill_domain *table, rill_context *ctx, const char *path, rill_text *out)
{
    (void)table;
    (void)ctx;
    (void)path;
    return rill_text_printf(out, "k=10 absolute=2.5 max-candidates=3");
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static const rill_option own_options[] = {
    RILL_WEIGHTS_ROW("f32"),
    RILL_DEVICE_ROWS,
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
    .profiled = rill_runner_profiled,
    .limits = rill_runner_limits,
    .collect = rill_runner_collect,
    .advise = advise,
    .options = own_options,
    .classify = parser_classify,
    .input_options = parser_input_options,
};
