/* The semantic parser as a table of functions: open and close, ids and slots, outputs. The work between them is in encode.c
 * and step.c.
 *
 * Invariant: a semparse that semparse_close() gets may be half built; everything in it is zero until it is owned. Node tables
 * are as long as the largest reserve(); slots below s->slots are initialised.
 *
 * Divisions: open and close · reserve and drop · outputs · names of actions · the table. */
#include <string.h>

#include "backend.h"
#include "logic.h"
#include "model.h"
#include "options.h"
#include "semparse.h"

/* --- open and close ----------------------------------------------------------------------------------------------- */

/* Of a row of states: h, then c. */
static size_t state_bytes(const semparse *s)
{
    return 2 * s->ld * sizeof *s->state;
}

static void close_slots(semparse *s)
{
    rill_context *ctx = s->ctx;
    for (size_t i = 0; i < s->slots; i++) rill_mentions_clear(&s->slot[i].mentions);
    rill_blocks_clear(&s->rooms);
    rill_free(ctx, s->slot, s->slot_room * sizeof *s->slot);
    rill_free(ctx, s->memory, s->memory_room * sizeof *s->memory);
    rill_free(ctx, s->projected, s->projected_room * sizeof *s->projected);
    rill_free(ctx, s->length, s->length_room * sizeof *s->length);
    rill_free(ctx, s->last, s->last_room * state_bytes(s));
    rill_free(ctx, s->ban, s->ban_room * s->placeholders * sizeof *s->ban);
}

static void close_model(void *self)
{
    semparse *s = self;
    if (s == NULL) return;
    rill_context *ctx = s->ctx;
    close_slots(s);
    rill_free(ctx, s->state, s->state_room * state_bytes(s));
    rill_free(ctx, s->reading, s->reading_room * sizeof *s->reading);
    rill_free(ctx, s->ids, s->ids_room * sizeof *s->ids);
    rill_free(ctx, s->scratch, s->scratch_room);
    rill_question_close(s->question);
    rill_lexicon_close(s->lexicon);
    rill_vocabulary_close(s->source);
    rill_vocabulary_close(s->target);
    rill_threads_stop(&s->threads);
    rill_blocks_clear(&s->blocks);
    rill_free(ctx, s, sizeof *s);
}

static rill_status open_model(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **self, rill_domain_info *info)
{
    (void)table;
    TRY(rill_options_check(ctx, "semparse", options));
    semparse *s = rill_calloc(ctx, 1, sizeof *s);
    if (s == NULL) return rill_fail_memory(ctx, sizeof *s, "a semantic parser");
    s->ctx = ctx;
    s->blocks.ctx = s->rooms.ctx = ctx;
    s->tokenized = options->tokenized;
    rill_status status = rill_backend_kernels(ctx, "semparse", options, &s->kernels);
    if (status == RILL_OK) status = rill_threads_start(&s->threads, ctx, options->threads);
    s->pool = s->threads.pool;
    if (status == RILL_OK) status = semparse_load(s, options->path);
    if (status != RILL_OK) {
        close_model(s);
        return status;
    }
    rill_backend_describe(&s->kernels, s->description, sizeof s->description);
    *info = (rill_domain_info){.actions = s->actions,
                               .phases = 1,
                               .state_need = RILL_STATE_PARENT,
                               .max_length = s->max_length,
                               .description = s->description,
                               .node_bytes = (int64_t)state_bytes(s),
                               .slot_bytes = (int64_t)(sizeof(semparse_slot) + state_bytes(s)),
                               .slot_unit_bytes = (int64_t)(2 * s->ld * sizeof *s->state),
                               .has_end_action = 1,
                               .end_action = SEMPARSE_END};
    *self = s;
    return RILL_OK;
}

/* --- reserve and drop --------------------------------------------------------------------------------------------- */

static rill_status reserve_slots(semparse *s, size_t slots)
{
    TRY(rill_grow(s->ctx, (void **)&s->slot, &s->slot_room, slots, sizeof *s->slot, "item slots"));
    TRY(rill_grow(s->ctx, (void **)&s->memory, &s->memory_room, slots, sizeof *s->memory, "item slots"));
    TRY(rill_grow(s->ctx, (void **)&s->projected, &s->projected_room, slots, sizeof *s->projected, "item slots"));
    TRY(rill_grow(s->ctx, (void **)&s->length, &s->length_room, slots, sizeof *s->length, "item slots"));
    TRY(rill_grow(s->ctx, (void **)&s->last, &s->last_room, slots, state_bytes(s), "encoder states"));
    if (s->placeholders > 0)
        TRY(rill_grow(s->ctx, (void **)&s->ban, &s->ban_room, slots, s->placeholders * sizeof *s->ban, "item slots"));
    for (; s->slots < slots; s->slots++) {
        s->slot[s->slots] = (semparse_slot){.mentions = {.ctx = s->ctx}};
        s->memory[s->slots] = s->projected[s->slots] = NULL;
        s->length[s->slots] = 0;
    }
    return RILL_OK;
}

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    semparse *s = self;
    TRY(rill_grow(s->ctx, (void **)&s->state, &s->state_room, (size_t)nodes, state_bytes(s), "node states"));
    return reserve_slots(s, (size_t)slots);
}

/* Memory stays with the slot for its next question. */
static void drop(void *self, int32_t slot)
{
    semparse *s = self;
    s->length[slot] = 0;
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

static rill_status finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    const semparse *s = self;
    const rill_mentions *mentions = &s->slot[hypothesis->slot].mentions;
    size_t written = 0;
    for (int32_t i = 0; i < hypothesis->length; i++) {
        if (hypothesis->action[i] == SEMPARSE_END) continue;
        size_t length;
        const char *token = rill_vocabulary_token(s->target, hypothesis->action[i], &length);
        rill_word word = rill_mentions_restore(mentions, token, length);
        if (word.length == 0) continue;
        if (written++ > 0) TRY(rill_text_append(out, " ", 1));
        TRY(rill_text_append(out, word.data, word.length));
    }
    return RILL_OK;
}

/* Words between blanks: what a question has before the lexicon joins or splits some. Good enough to sort by. */
static int64_t measure(void *self, const char *text, size_t length)
{
    (void)self;
    int64_t words = 0;
    int inside = 0;
    for (size_t i = 0; i < length; i++) {
        int blank = (unsigned char)text[i] <= ' ';
        words += !blank && !inside;
        inside = !blank;
    }
    return words;
}

static rill_status canonical(const rill_domain *table, rill_context *ctx, const char *text, size_t length,
                             rill_text *out)
{
    (void)table;
    return rill_logic_canonical(ctx, text, length, out);
}

/* --- names of actions --------------------------------------------------------------------------------------------- */

static rill_status action_name(void *self, int32_t action, rill_text *out)
{
    const semparse *s = self;
    size_t length;
    const char *token = rill_vocabulary_token(s->target, action, &length);
    return rill_text_append(out, token, length);
}

static int32_t find_action(void *self, const char *text, size_t length)
{
    const semparse *s = self;
    int32_t action = rill_vocabulary_id(s->target, text, length);
    return action >= 0 ? action : RILL_NO_ACTION;
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

const rill_domain rill_semparse_domain = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_domain),
    .name = "semparse",
    .summary = "questions to logical forms: LSTM encoder and decoder with attention",
    .open = open_model,
    .reserve = reserve,
    .encode = semparse_encode,
    .step = semparse_step,
    .score = semparse_score,
    .finalize = finalize,
    .drop = drop,
    .close = close_model,
    .measure = measure,
    .canonical = canonical,
    .action_name = action_name,
    .find_action = find_action,
    .features = RILL_TAKES_BACKEND,
};
