/* The parser as a table of functions: open and close, ids and slots, names of actions. The work between them is in input.c,
 * encode.c, step.c, score.c and output.c.
 *
 * Invariant: a parser that close_model() gets may be half built; everything in it is zero until it is owned. Node tables are as long
 * as the largest reserve(); slots below p->slots are initialised. */
#include <string.h>

#include "backend.h"
#include "model.h"
#include "options.h"
#include "shiftreduce.h"

/* --- open and close ----------------------------------------------------------------------------------------------- */

static void close_model(void *self)
{
    parser *p = self;
    if (p == NULL) return;
    rill_context *ctx = p->ctx;
    for (size_t i = 0; i < p->slots; i++) sentence_clear(&p->slot[i].sentence);
    rill_blocks_clear(&p->rooms);
    rill_free(ctx, p->slot, p->slot_room * sizeof *p->slot);
    rill_free(ctx, p->cell, p->cell_room * sizeof *p->cell);
    rill_free(ctx, p->reading, p->reading_room * sizeof *p->reading);
    rill_free(ctx, p->feature, p->feature_room * sizeof *p->feature);
    rill_free(ctx, p->build, p->build_room * sizeof *p->build);
    rill_free(ctx, p->scratch, p->scratch_room);
    rill_text_clear(&p->normal);
    rill_tree_clear(&p->tree);
    rill_vocabulary_close(p->word);
    rill_vocabulary_close(p->suffix);
    rill_vocabulary_close(p->shape);
    rill_vocabulary_close(p->tag);
    rill_vocabulary_close(p->label);
    rill_threads_stop(&p->threads);
    rill_blocks_clear(&p->blocks);
    rill_free(ctx, p, sizeof *p);
}

static rill_status read_form(rill_context *ctx, const rill_open_options *options, parser_form *out)
{
    const char *name = options->input_format != NULL ? options->input_format : "auto";
    int form = parser_form_named(name);
    if (form < 0)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "shiftreduce: input format \"%.40s\": expected auto, tree, tagged or text", name);
    *out = form == FORM_AUTO && options->tokenized ? FORM_TEXT : (parser_form)form;
    return RILL_OK;
}

/* What an input of so many words keeps in its slot: a row of products per frame, and where its words end and how they are tagged.
 * The bytes of the words themselves are nothing beside a row. */
static size_t slot_bytes(const parser *p, size_t words)
{
    const size_t row = PRODUCTS * p->net * sizeof(float), word = sizeof(size_t) + sizeof(int32_t);
    return sizeof(parser_slot) + (words + PARSER_FRAME) * row + words * word;
}

static rill_status open_model(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **self, rill_domain_info *info)
{
    (void)table;
    parser_form form = FORM_AUTO;
    TRY(rill_options_check(ctx, "shiftreduce", options));
    TRY(read_form(ctx, options, &form));
    parser *p = rill_calloc(ctx, 1, sizeof *p);
    if (p == NULL) return rill_fail_memory(ctx, sizeof *p, "a parser");
    p->ctx = p->blocks.ctx = p->rooms.ctx = p->normal.ctx = p->tree.ctx = ctx;
    p->form = form;
    p->tokenized = options->tokenized;
    rill_status status = rill_backend_kernels(ctx, "shiftreduce", options, &p->kernels);
    if (status == RILL_OK) status = rill_threads_start(&p->threads, ctx, options->threads);
    p->pool = p->threads.pool;
    if (status == RILL_OK) status = parser_load(p, options->path);
    if (status != RILL_OK) {
        close_model(p);
        return status;
    }
    rill_backend_describe(&p->kernels, p->description, sizeof p->description);
    *info = (rill_domain_info){.actions = PARSER_LABELS + p->labels,
                               .phases = PARSER_PHASES,
                               .state_need = RILL_STATE_PATH,
                               .max_choices_phases = 1u << PARSER_LABEL,
                               .max_length = 2 * p->max_input - 1,
                               .description = p->description,
                               .node_bytes = sizeof *p->cell,
                               .slot_bytes = (int64_t)slot_bytes(p, 0),
                               .slot_unit_bytes = (int64_t)(slot_bytes(p, 1) - slot_bytes(p, 0))};
    *self = p;
    return RILL_OK;
}

/* --- reserve ------------------------------------------------------------------------------------------------------ */

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    parser *p = self;
    TRY(rill_grow(p->ctx, (void **)&p->cell, &p->cell_room, (size_t)nodes, sizeof *p->cell, "node states"));
    TRY(rill_grow(p->ctx, (void **)&p->slot, &p->slot_room, (size_t)slots, sizeof *p->slot, "item slots"));
    for (; p->slots < (size_t)slots; p->slots++)
        p->slot[p->slots] = (parser_slot){.sentence = {.bytes = {.ctx = p->ctx}}};
    return RILL_OK;
}

/* --- sizes -------------------------------------------------------------------------------------------------------- */

/* Of a tree, words: brackets that are closed behind something else than a closed bracket. Else what stands between blanks. */
static int64_t measure(void *self, const char *text, size_t length)
{
    const parser_form form = ((const parser *)self)->form;
    int64_t closed = 0, tokens = 0;
    char first = ' ', last = ' '; /* but for blanks */
    int apart = 1;
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        const int blank = (unsigned char)c <= ' ';
        tokens += !blank && apart;
        apart = blank;
        if (blank) continue;
        closed += c == ')' && last != ')';
        if (first == ' ') first = c;
        last = c;
    }
    return first == '(' && (form == FORM_AUTO || form == FORM_TREE) ? closed : tokens;
}

/* --- names of actions --------------------------------------------------------------------------------------------- */

static const char *const structure_names[PARSER_LABELS] = {"shift", "combine"};

static rill_status action_name(void *self, int32_t action, rill_text *out)
{
    const parser *p = self;
    size_t length;
    if (action < PARSER_LABELS) return rill_text_append(out, structure_names[action], strlen(structure_names[action]));
    const char *label = rill_vocabulary_token(p->label, action - PARSER_LABELS, &length);
    return rill_text_append(out, label, length);
}

static int32_t find_action(void *self, const char *text, size_t length)
{
    const parser *p = self;
    for (int32_t i = 0; i < PARSER_LABELS; i++)
        if (length == strlen(structure_names[i]) && memcmp(text, structure_names[i], length) == 0) return i;
    const int32_t label = rill_vocabulary_id(p->label, text, length);
    return label >= 0 ? PARSER_LABELS + label : RILL_NO_ACTION;
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

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
    .close = close_model,
    .measure = measure,
    .action_name = action_name,
    .find_action = find_action,
    .metric = "bracket",
    .features = RILL_TAKES_INPUT_FORMAT | RILL_TAKES_BACKEND,
};
