/* Machine translation as a table of functions: open and close, nodes and slots, outputs. The work between them is in
 * encode.c, step.c and score.c.
 *
 * An ensemble is a list of models. What is once for all of them, as text and threads, belongs to the first; each has nodes
 * and slots of its own under the same ids.
 *
 * Invariant: a model that close_model() gets may be half built; everything in it is zero until it is owned. Node tables
 * are as long as the largest reserve(); slots below m->slots are initialised.
 *
 * Divisions: open and close · reserve and drop · outputs · the table. */
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "model.h"
#include "mt.h"
#include "options.h"
#include "weights.h"

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

static void clear_slot(mt_model *m, size_t slot)
{
    rill_free(m->ctx, m->slot[slot].rows, m->slot[slot].capacity * sizeof *m->slot[slot].rows);
    mt_list_free(m, &m->slot[slot].list);
    m->slot[slot] = (mt_slot){.rows = NULL};
}

static void close_slots(mt_model *m)
{
    for (size_t i = 0; i < m->slots; i++) clear_slot(m, i);
    rill_free(m->ctx, m->slot, m->slot_room * sizeof *m->slot);
    rill_free(m->ctx, m->slot_keys, m->slot_keys_room * sizeof *m->slot_keys);
    rill_free(m->ctx, m->slot_values, m->slot_values_room * sizeof *m->slot_values);
    rill_free(m->ctx, m->slot_length, m->slot_length_room * sizeof *m->slot_length);
}

/* One of an ensemble; `first` is closed last. */
static void close_one(mt_model *m, const mt_model *first)
{
    rill_context *ctx = m->ctx;
    close_nodes(m);
    close_slots(m);
    rill_free(ctx, m->reading, m->reading_room * sizeof *m->reading);
    rill_free(ctx, m->ids, m->ids_room * sizeof *m->ids);
    rill_free(ctx, m->scratch, m->scratch_room);
    rill_free(ctx, m->aligned, m->aligned_room);
    rill_free(ctx, m->places.rows, m->places.room * row_bytes(m));
    if (m == first || m->text != first->text) mt_text_close(m->text);
    if (m == first) rill_threads_stop(&m->threads);
    if (m == first) mt_shortlist_close(m->shortlist);
    rill_blocks_clear(&m->blocks);
    rill_free(ctx, m, sizeof *m);
}

static void close_model(void *self)
{
    mt_model *first = self;
    if (first == NULL) return;
    while (first->next != NULL) {
        mt_model *m = first->next;
        first->next = m->next;
        close_one(m, first);
    }
    close_one(first, first);
}

/* Symbols that have a piece and are not padding. */
static rill_status mark_legal(mt_model *m)
{
    int32_t named = mt_text_actions(m->text);
    size_t words = ((size_t)m->decoder.words + 63) / 64;
    uint64_t *legal;
    if (m->settings.end >= named)
        return rill_fail(m->ctx, RILL_ERR_FORMAT,
                         "%s: eos_token_id: expected one of the vocabulary's %d symbols, found %d",
                         m->settings.end_file, named, m->settings.end);
    TRY(rill_blocks_get(&m->blocks, &legal, words, sizeof *legal, "symbols"));
    memset(legal, 0, words * sizeof *legal);
    for (int32_t i = 0; i < named; i++)
        if (i != m->settings.pad) legal[i / 64] |= UINT64_C(1) << (i % 64);
    m->legal = legal;
    return RILL_OK;
}

/* What ends an input is the source's own symbol of that name, whose number may be another where vocabularies are two. */
static rill_status find_source_end(mt_model *m, const char *directory, const char *file)
{
    static const char name[] = "</s>";
    const rill_vocabulary *source = mt_text_source(m->text);
    m->settings.source_end = m->settings.end;
    if (source == mt_text_target(m->text)) return RILL_OK;
    m->settings.source_end = rill_vocabulary_id(source, name, sizeof name - 1);
    if (m->settings.source_end >= 0) return RILL_OK;
    return rill_fail(m->ctx, RILL_ERR_FORMAT, "%s/%s: expected a token %s, which ends inputs", directory, file, name);
}

static rill_status load_text(mt_model *m, const char *directory, const rill_open_options *options)
{
    const int fsmt = m->settings.kind == MT_FSMT;
    const mt_text_files files = {.directory = directory,
                                 .source = fsmt ? "vocab-src.json" : "vocab.json",
                                 .target = fsmt ? "vocab-tgt.json" : "target_vocab.json",
                                 .optional = !fsmt,
                                 .tokenized = options->tokenized,
                                 .fsmt = fsmt,
                                 .words = m->encoder.words,
                                 .actions = m->decoder.words};
    TRY(mt_text_open(&m->text, m->ctx, &files));
    return find_source_end(m, directory, files.source);
}

/* `first` is NULL for the first itself. */
static rill_status load(mt_model *m, const char *directory, const rill_open_options *options, mt_model *first)
{
    TRY(rill_weights_kind(m->ctx, "mt", options->weights, &m->kernels, &m->weights));
    TRY(mt_load_config(m, directory));
    TRY(load_text(m, directory, options));
    TRY(mark_legal(m));
    if (first != NULL) TRY(mt_match(first, options->path, m, directory));
    if (first != NULL) m->shortlist = first->shortlist;
    if (first == NULL && options->shortlist != NULL) TRY(mt_shortlist_open(&m->shortlist, m, options->shortlist));
    TRY(mt_load_weights(m, directory));
    if (first == NULL) TRY(mt_load_recommended(m, directory));
    TRY(rill_blocks_get(&m->blocks, &m->memory, m->decoder.layers, sizeof *m->memory, "layers"));
    memset(m->memory, 0, m->decoder.layers * sizeof *m->memory);
    return RILL_OK;
}

/* What computes, behind what it is. */
static void describe(mt_model *m, const rill_open_options *options)
{
    const size_t used = strlen(m->description);
    if (m->weights != m->kernels.f32)
        snprintf(m->description + used, sizeof m->description - used, ", weights in %s", options->weights);
    rill_backend_describe(&m->kernels, m->description, sizeof m->description);
}

/* What reserve_nodes() makes room for, per node, in all models. */
static size_t node_bytes(const mt_model *first)
{
    size_t bytes = 0;
    for (const mt_model *m = first; m != NULL; m = m->next)
        bytes += (2 * m->decoder.layers + 1) * row_bytes(m) + sizeof *m->above + sizeof *m->depth;
    return bytes;
}

/* What an input of so many pieces needs in all models, at most. */
static size_t slot_bytes(const mt_model *first, size_t pieces)
{
    size_t bytes = 0;
    for (const mt_model *m = first; m != NULL; m = m->next) {
        bytes += sizeof(mt_slot) + pieces * m->decoder.layers * 2 * row_bytes(m);
        if (m->shortlist != NULL) bytes += mt_list_most(m, pieces);
    }
    return bytes;
}

static rill_status make_model(rill_context *ctx, const rill_open_options *options, mt_model **out)
{
    mt_model *m = *out = rill_calloc(ctx, 1, sizeof *m);
    if (m == NULL) return rill_fail_memory(ctx, sizeof *m, "a translation model");
    m->ctx = m->blocks.ctx = ctx;
    return rill_backend_kernels(ctx, "mt", options, &m->kernels);
}

static rill_status load_all(mt_model *first, const rill_open_options *options)
{
    TRY(rill_threads_start(&first->threads, first->ctx, options->threads));
    TRY(load(first, options->path, options, NULL));
    first->models = 1 + options->n_also;
    mt_model *last = first;
    for (int32_t i = 0; i < options->n_also; i++, last = last->next) {
        TRY(make_model(first->ctx, options, &last->next));
        last->next->threads.pool = first->threads.pool;
        TRY(load(last->next, options->also[i], options, first));
        mt_text_close(last->next->text);
        last->next->text = first->text;
    }
    mt_agree(first);
    return RILL_OK;
}

static rill_status open_model(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **self, rill_domain_info *info)
{
    (void)table;
    TRY(rill_options_check(ctx, "mt", options));
    mt_model *m;
    rill_status status = make_model(ctx, options, &m);
    if (status == RILL_OK) status = load_all(m, options);
    if (status != RILL_OK) {
        close_model(m);
        return status;
    }
    describe(m, options);
    *info = (rill_domain_info){.actions = m->decoder.words,
                               .phases = 1,
                               .state_need = RILL_STATE_PATH,
                               .max_length = m->max_length,
                               .most_length = m->positions,
                               .description = m->description,
                               .node_bytes = (int64_t)(node_bytes(m)),
                               .slot_bytes = (int64_t)slot_bytes(m, 0),
                               .slot_unit_bytes = (int64_t)(slot_bytes(m, 1) - slot_bytes(m, 0)),
                               .has_end_action = 1,
                               .end_action = m->settings.end,
                               .legal = m->legal};
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
    for (mt_model *m = self; m != NULL; m = m->next) {
        TRY(reserve_nodes(m, (size_t)nodes));
        TRY(reserve_slots(m, (size_t)slots));
    }
    return RILL_OK;
}

/* An input's memory goes with it: the bound on memory counts that of items in flight. */
static void drop(void *self, int32_t slot)
{
    for (mt_model *m = self; m != NULL; m = m->next) clear_slot(m, (size_t)slot);
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

static int32_t unknown_action(void *self)
{
    static const char unknown[] = "<unk>";
    return find_action(self, unknown, sizeof unknown - 1);
}

static rill_status recommend(void *self, const char *like, rill_text *out)
{
    const mt_model *m = self;
    if (strcmp(like, "hf") != 0) return RILL_OK;
    return rill_text_append(out, m->recommended, strlen(m->recommended));
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static rill_status encode(void *self, int32_t m, rill_input *inputs)
{
    return mt_encode(self, m, inputs);
}

static rill_status step(void *self, const rill_rows *rows)
{
    for (mt_model *m = self; m != NULL; m = m->next) TRY(mt_step(m, rows));
    return RILL_OK;
}

static rill_status score(void *self, const rill_rows *rows, const rill_ask *ask, rill_choices *out)
{
    mt_model *m = self;
    return m->next != NULL || m->shortlist != NULL ? mt_mix_score(m, rows, ask, out) : mt_score(m, rows, ask, out);
}

static rill_status field(void *self, const char *name, const rill_hypothesis *hypothesis, rill_text *out)
{
    return mt_field(self, name, hypothesis, out);
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
    .finalize = finalize,
    .drop = drop,
    .close = close_model,
    .action_name = action_name,
    .find_action = find_action,
    .unknown_action = unknown_action,
    .recommend = recommend,
    .metric = "bleu",
    .features = RILL_TAKES_ENSEMBLES | RILL_TAKES_WEIGHTS | RILL_TAKES_SHORTLIST | RILL_TAKES_BACKEND,
    .field = field,
};
