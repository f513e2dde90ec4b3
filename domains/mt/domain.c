/* Machine translation as a table of functions: open and close, nodes and slots, outputs. The work between them is in
 * encode.c, step.c and score.c.
 *
 * Invariant: a model that close_model() gets may be half built; everything in it is zero until it is owned. Node tables
 * are as long as the largest reserve(); slots below m->slots are initialised.
 *
 * Divisions: open and close · reserve and drop · outputs · the table. */
#include <string.h>

#include "model.h"
#include "mt.h"

#define TRY MT_TRY

/* --- open and close ----------------------------------------------------------------------------------------------- */

static size_t row_bytes(const mt_model *m)
{
    return m->width * sizeof(float);
}

static void close_nodes(mt_model *m)
{
    for (size_t i = 0; m->memory != NULL && i < m->decoder.layers; i++)
        rill_free(m->ctx, m->memory[i].rows, m->memory[i].room * 2 * row_bytes(m));
    rill_free(m->ctx, m->top, m->top_room * row_bytes(m));
    rill_free(m->ctx, m->above, m->above_room * sizeof *m->above);
    rill_free(m->ctx, m->depth, m->depth_room * sizeof *m->depth);
}

static void close_slots(mt_model *m)
{
    for (size_t i = 0; i < m->slots; i++)
        rill_free(m->ctx, m->slot[i].rows, m->slot[i].capacity * sizeof *m->slot[i].rows);
    rill_free(m->ctx, m->slot, m->slot_room * sizeof *m->slot);
    rill_free(m->ctx, m->slot_keys, m->slot_keys_room * sizeof *m->slot_keys);
    rill_free(m->ctx, m->slot_values, m->slot_values_room * sizeof *m->slot_values);
    rill_free(m->ctx, m->slot_length, m->slot_length_room * sizeof *m->slot_length);
}

static void close_model(void *self)
{
    mt_model *m = self;
    if (m == NULL) return;
    rill_context *ctx = m->ctx;
    close_nodes(m);
    close_slots(m);
    rill_free(ctx, m->reading, m->reading_room * sizeof *m->reading);
    rill_free(ctx, m->ids, m->ids_room * sizeof *m->ids);
    rill_free(ctx, m->scratch, m->scratch_room);
    rill_free(ctx, m->scored.log_norm, m->scored.room * sizeof *m->scored.log_norm);
    mt_text_close(m->text);
    rill_threads_stop(&m->threads);
    rill_blocks_clear(&m->blocks);
    rill_free(ctx, m, sizeof *m);
}

/* Symbols that have a piece and are not padding. */
static rill_status mark_legal(mt_model *m)
{
    int32_t named = mt_text_actions(m->text);
    size_t words = ((size_t)m->decoder.words + 63) / 64;
    uint64_t *legal;
    if (m->settings.end >= named)
        return rill_fail(m->ctx, RILL_ERR_FORMAT, "eos_token_id: expected one of the vocabulary's %d symbols, found %d",
                         named, m->settings.end);
    TRY(rill_blocks_get(&m->blocks, &legal, words, sizeof *legal, "symbols"));
    memset(legal, 0, words * sizeof *legal);
    for (int32_t i = 0; i < named; i++)
        if (i != m->settings.pad) legal[i / 64] |= UINT64_C(1) << (i % 64);
    m->legal = legal;
    return RILL_OK;
}

/* Of FSMT only pieces are taken: its text is made by Moses' tokeniser and BPE, which are not here. */
static rill_status load_text(mt_model *m, const rill_open_options *options)
{
    const int fsmt = m->settings.kind == MT_FSMT;
    const mt_text_files files = {.directory = options->path,
                                 .source = fsmt ? "vocab-src.json" : "vocab.json",
                                 .target = fsmt ? "vocab-tgt.json" : "target_vocab.json",
                                 .optional = !fsmt,
                                 .tokenized = options->tokenized,
                                 .words = m->encoder.words,
                                 .actions = m->decoder.words};
    if (fsmt && !options->tokenized)
        return rill_fail(m->ctx, RILL_ERR_OPTION,
                         "mt: models of type fsmt take pieces between blanks: say --tokenized");
    return mt_text_open(&m->text, m->ctx, &files);
}

static rill_status load(mt_model *m, const rill_open_options *options)
{
    TRY(rill_threads_start(&m->threads, m->ctx, options->threads));
    TRY(mt_load_config(m, options->path));
    TRY(load_text(m, options));
    TRY(mark_legal(m));
    TRY(mt_load_weights(m, options->path));
    TRY(rill_blocks_get(&m->blocks, &m->memory, m->decoder.layers, sizeof *m->memory, "layers"));
    memset(m->memory, 0, m->decoder.layers * sizeof *m->memory);
    return RILL_OK;
}

/* What reserve_nodes() makes room for, per node. */
static size_t node_bytes(const mt_model *m)
{
    return (2 * m->decoder.layers + 1) * row_bytes(m) + sizeof *m->above + sizeof *m->depth;
}

static rill_status open_model(rill_context *ctx, const rill_open_options *options, void **self, rill_domain_info *info)
{
    if (options->path == NULL)
        return rill_fail(ctx, RILL_ERR_OPTION, "mt: expected the path of a model's directory, found none");
    mt_model *m = rill_calloc(ctx, 1, sizeof *m);
    if (m == NULL) return rill_fail_memory(ctx, sizeof *m, "a translation model");
    m->ctx = m->blocks.ctx = ctx;
    rill_kernels_init(&m->kernels, RILL_ISA_ALL);
    rill_status status = load(m, options);
    if (status != RILL_OK) {
        close_model(m);
        return status;
    }
    *info = (rill_domain_info){.actions = m->decoder.words,
                               .phases = 1,
                               .state_need = RILL_STATE_PATH,
                               .max_length = m->max_length,
                               .description = m->description,
                               .node_bytes = (int64_t)(node_bytes(m)),
                               .slot_bytes = (int64_t)sizeof(mt_slot),
                               .slot_unit_bytes = (int64_t)(m->decoder.layers * 2 * row_bytes(m))};
    *self = m;
    return RILL_OK;
}

/* --- reserve and drop --------------------------------------------------------------------------------------------- */

static rill_status reserve_nodes(mt_model *m, size_t nodes)
{
    for (size_t i = 0; i < m->decoder.layers; i++)
        TRY(rill_grow(m->ctx, (void **)&m->memory[i].rows, &m->memory[i].room, nodes, 2 * row_bytes(m),
                      "keys and values"));
    TRY(rill_grow(m->ctx, (void **)&m->top, &m->top_room, nodes, row_bytes(m), "node states"));
    TRY(rill_grow(m->ctx, (void **)&m->above, &m->above_room, nodes, sizeof *m->above, "node states"));
    return rill_grow(m->ctx, (void **)&m->depth, &m->depth_room, nodes, sizeof *m->depth, "node states");
}

static rill_status reserve_slots(mt_model *m, size_t slots)
{
    TRY(rill_grow(m->ctx, (void **)&m->slot, &m->slot_room, slots, sizeof *m->slot, "item slots"));
    TRY(rill_grow(m->ctx, (void **)&m->slot_keys, &m->slot_keys_room, slots, sizeof *m->slot_keys, "item slots"));
    TRY(rill_grow(m->ctx, (void **)&m->slot_values, &m->slot_values_room, slots, sizeof *m->slot_values, "item slots"));
    TRY(rill_grow(m->ctx, (void **)&m->slot_length, &m->slot_length_room, slots, sizeof *m->slot_length, "item slots"));
    for (; m->slots < slots; m->slots++) {
        m->slot[m->slots] = (mt_slot){.rows = NULL};
        m->slot_length[m->slots] = 0;
    }
    return RILL_OK;
}

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    TRY(reserve_nodes(self, (size_t)nodes));
    return reserve_slots(self, (size_t)slots);
}

/* An input's memory goes with it: the bound on memory counts that of items in flight. */
static void drop(void *self, int32_t slot)
{
    mt_model *m = self;
    rill_free(m->ctx, m->slot[slot].rows, m->slot[slot].capacity * sizeof *m->slot[slot].rows);
    m->slot[slot] = (mt_slot){.rows = NULL};
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

static rill_status finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    mt_model *m = self;
    size_t length = (size_t)hypothesis->length;
    if (length > 0 && hypothesis->action[length - 1] == m->settings.end) length--;
    return mt_text_write(m->text, length, hypothesis->action, out);
}

static rill_status action_name(void *self, int32_t action, rill_text *out)
{
    const mt_model *m = self;
    size_t length;
    if (action >= mt_text_actions(m->text))
        return rill_fail(m->ctx, RILL_ERR_NOT_FOUND, "symbol %d has no piece in the vocabulary", action);
    const char *piece = mt_text_piece(m->text, action, &length);
    return rill_text_append(out, piece, length);
}

static int32_t find_action(void *self, const char *text, size_t length)
{
    int32_t action = mt_text_action(((const mt_model *)self)->text, text, length);
    return action >= 0 ? action : RILL_NO_ACTION;
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static rill_status encode(void *self, int32_t m, rill_input *inputs)
{
    return mt_encode(self, m, inputs);
}

static rill_status step(void *self, const rill_rows *rows)
{
    return mt_step(self, rows);
}

static rill_status score(void *self, const rill_rows *rows, const rill_ask *ask, rill_choices *out)
{
    return mt_score(self, rows, ask, out);
}

static rill_status lookup(void *self, const rill_rows *rows, const rill_queries *queries)
{
    return mt_lookup(self, rows, queries);
}

const rill_domain rill_mt_domain = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_domain),
    .name = "mt",
    .summary = "machine translation: Marian and FSMT transformers from Hugging Face directories",
    .open = open_model,
    .reserve = reserve,
    .encode = encode,
    .step = step,
    .score = score,
    .lookup = lookup,
    .finalize = finalize,
    .drop = drop,
    .close = close_model,
    .action_name = action_name,
    .find_action = find_action,
    .metric = "bleu",
};
