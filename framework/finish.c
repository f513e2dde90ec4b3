/* Finishing: an item's outputs become a result.
 *
 * Outputs are ordered by (score - W length) / length^alpha, ties in order of output (algorithms: length penalty). Only the n best are
 * turned into text, and those that are left out since theirs is there already, while their states and the item's memory still exist.
 * An empty output counts as length 1, so that every alpha is defined. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine_private.h"

rill_status engine_fail_input(rill_engine *e, int64_t id, rill_status status, const char *message)
{
    outbox_record *record;
    RILL__TRY(outbox_record_get(&e->outbox, id, &record));
    snprintf(record->message, sizeof record->message, "%s", message);
    record->result.status = status;
    outbox_put(&e->outbox, record);
    e->stats.inputs++;
    e->stats.failed++;
    return RILL_OK;
}

double engine_rank(const rill_engine *e, double score, int32_t length)
{
    double alpha = e->settings.length_penalty, word = e->settings.word_penalty;
    if (word != 0) score -= word * length;
    return alpha == 0 ? score : score / pow(length > 0 ? length : 1, alpha);
}

double engine_output_rank(const rill_engine *e, const item_output *output)
{
    return engine_rank(e, output->score, output->length + (e->settings.count_end && output->end));
}

/* Insertion sort: stable, and outputs mostly come in order. */
static rill_status sort_outputs(rill_engine *e, item *it)
{
    RILL__TRY(RILL__GROW(e->ctx, e->ranks, e->ranks_capacity, (size_t)it->n_outputs, "ordering outputs"));
    for (int32_t i = 0; i < it->n_outputs; i++) {
        item_output moved = it->outputs[i];
        double rank = engine_output_rank(e, &moved);
        int32_t at = i;
        for (; at > 0 && e->ranks[at - 1] < rank; at--) {
            it->outputs[at] = it->outputs[at - 1];
            e->ranks[at] = e->ranks[at - 1];
        }
        it->outputs[at] = moved;
        e->ranks[at] = rank;
    }
    return RILL_OK;
}

/* Walk the path from the leaf, once, since every node is a trip to cold memory: arrays are filled from their far end, which
 * the output's length bounds, and the hypothesis is what has been filled. */
static rill_status unroll(rill_engine *e, int32_t slot, const item_output *output, rill_hypothesis *hypothesis)
{
    const forest *f = &e->forest;
    size_t most = ((size_t)output->length + 1) * (size_t)e->info.phases, at = most;
    RILL__TRY(RILL__GROW(e->ctx, e->hypothesis_action, e->hypothesis_capacity[0], most, "a hypothesis"));
    RILL__TRY(RILL__GROW(e->ctx, e->hypothesis_node, e->hypothesis_capacity[1], most, "a hypothesis"));
    RILL__TRY(RILL__GROW(e->ctx, e->hypothesis_logp, e->hypothesis_capacity[2], most, "a hypothesis"));
    RILL__TRY(RILL__GROW(e->ctx, e->hypothesis_score, e->hypothesis_capacity[3], most, "a hypothesis"));
    for (int32_t h = output->history; f->h[h].parent >= 0; h = f->h[h].parent) {
        const rill_history *node = &f->h[h];
        at--;
        e->hypothesis_action[at] = node->action;
        e->hypothesis_node[at] = f->need == RILL_STATE_PATH ? forest_row(f, h) : RILL_NO_NODE;
        e->hypothesis_logp[at] = node->logp;
        e->hypothesis_score[at] = node->score;
    }
    double logp = 0;
    for (size_t i = at; i < most; i++) logp += (double)e->hypothesis_logp[i];
    *hypothesis = (rill_hypothesis){.slot = slot,
                                    .length = (int32_t)(most - at),
                                    .action = e->hypothesis_action + at,
                                    .action_logp = e->hypothesis_logp + at,
                                    .action_score = e->hypothesis_score + at,
                                    .node = e->hypothesis_node + at,
                                    .score = output->score,
                                    .logp = logp,
                                    .truncated = output->truncated};
    return RILL_OK;
}

/* What the domain adds to the text just written, each behind a NUL; see rill_output_field(). */
static rill_status add_fields(rill_engine *e, const rill_hypothesis *hypothesis, rill_text *text)
{
    for (int32_t i = 0; i < e->n_fields; i++) {
        const size_t before = text->length;
        rill_error_clear(e->ctx);
        RILL__TRY(engine_domain_status(e, e->domain->field(e->self, e->fields[i], hypothesis, text), "field"));
        for (size_t at = before; at < text->length; at++)
            if (text->data[at] == '\0') text->data[at] = ' ';
        RILL__TRY(rill_text_append(text, "", 1));
    }
    return RILL_OK;
}

const char *rill_output_field(const rill_output *output, int32_t index)
{
    const char *field = output->text + output->length + 1;
    while (index-- > 0) field += strlen(field) + 1;
    return field;
}

/* The text behind that of an output and its fields. */
static const char *next_text(const char *text, const rill_output *output, int32_t n_fields)
{
    text += output->length + 1;
    for (int32_t i = 0; i < n_fields; i++) text += strlen(text) + 1;
    return text;
}

/* Does one of the record's n outputs have the text that starts at `from` and has just been written? */
static int is_repeated(const rill_engine *e, const outbox_record *record, int32_t n, size_t from)
{
    const char *text = record->text.data, *written = text + from;
    size_t length = record->text.length - from;
    for (int32_t i = 0; i < n; i++) {
        if (record->outputs[i].length == length && memcmp(text, written, length) == 0) return 1;
        text = next_text(text, &record->outputs[i], e->n_fields);
    }
    return 0;
}

/* Append output `index` of the item to the record's n, unless it is to be left out. Pointers are set by point_outputs(), once
 * nothing moves any more. */
static rill_status add_output(rill_engine *e, int32_t slot, int32_t index, outbox_record *record, int32_t *n_outputs,
                              size_t *n_actions)
{
    const item_output *output = &e->items[slot].outputs[index];
    rill_hypothesis h;
    RILL__TRY(unroll(e, slot, output, &h));
    size_t n = (size_t)h.length, before = record->text.length;
    RILL__TRY(RILL__GROW(e->ctx, record->actions, record->actions_capacity, *n_actions + n + 1, "a result"));
    RILL__TRY(RILL__GROW(e->ctx, record->logps, record->logps_capacity, *n_actions + n + 1, "a result"));
    rill_error_clear(e->ctx);
    RILL__TRY(engine_domain_status(e, e->domain->finalize(e->self, &h, &record->text), "finalize"));
    size_t length = record->text.length - before;
    if (e->settings.distinct && is_repeated(e, record, *n_outputs, before)) {
        record->text.length = before;
        return RILL_OK;
    }
    RILL__TRY(rill_text_append(&record->text, "", 1));
    RILL__TRY(add_fields(e, &h, &record->text));
    memcpy(record->actions + *n_actions, h.action, n * sizeof *h.action);
    memcpy(record->logps + *n_actions, h.action_logp, n * sizeof *h.action_logp);
    *n_actions += n;
    record->outputs[(*n_outputs)++] = (rill_output){.length = length,
                                                    .score = output->score,
                                                    .rank_score = e->ranks[index],
                                                    .logp = h.logp,
                                                    .actions = output->length,
                                                    .truncated = output->truncated,
                                                    .n_actions = h.length};
    return RILL_OK;
}

static void point_outputs(outbox_record *record, int32_t n, int32_t n_fields)
{
    const char *text = record->text.data;
    const int32_t *action = record->actions;
    const float *logp = record->logps;
    for (int32_t i = 0; i < n; i++) {
        rill_output *output = &record->outputs[i];
        output->text = text;
        output->action = action;
        output->action_logp = logp;
        text = next_text(text, output, n_fields);
        action += output->n_actions;
        logp += output->n_actions;
    }
    record->result.output = record->outputs;
    record->result.n = n;
}

/* Room for all outputs' actions, and for about as much text, in one piece each rather than by growing. */
static rill_status expect_actions(rill_engine *e, const item *it, int32_t n, outbox_record *record)
{
    enum { BYTES_PER_ACTION = 6 };
    size_t actions = 0;
    for (int32_t i = 0; i < n; i++) actions += ((size_t)it->outputs[i].length + 1) * (size_t)e->info.phases;
    rill_text *text = &record->text;
    RILL__TRY(RILL__GROW(e->ctx, text->data, text->capacity, actions * BYTES_PER_ACTION, "a result"));
    RILL__TRY(RILL__GROW(e->ctx, record->actions, record->actions_capacity, actions, "a result"));
    return RILL__GROW(e->ctx, record->logps, record->logps_capacity, actions, "a result");
}

static rill_status fill_record(rill_engine *e, int32_t slot, outbox_record *record)
{
    item *it = &e->items[slot];
    int32_t most = it->n_outputs < e->settings.n_best ? it->n_outputs : e->settings.n_best, n = 0;
    size_t n_actions = 0;
    forest_arena_fetch(&e->forest, &it->arena);
    RILL__TRY(sort_outputs(e, it));
    RILL__TRY(RILL__GROW(e->ctx, record->outputs, record->outputs_capacity, (size_t)most, "a result"));
    RILL__TRY(expect_actions(e, it, most, record));
    for (int32_t i = 0; i < it->n_outputs && n < most; i++) RILL__TRY(add_output(e, slot, i, record, &n, &n_actions));
    point_outputs(record, n, e->n_fields);
    record->result.outputs_found = it->n_outputs;
    return RILL_OK;
}

void engine_trace_leaving(rill_engine *e, int32_t slot, rill_trace_kind kind, rill_status status)
{
    const item *it = &e->items[slot];
    if (e->trace == NULL) return;
    e->trace(e->trace_user, &(rill_trace_event){.kind = kind,
                                                .timestep = e->stats.timesteps,
                                                .item_id = it->id,
                                                .slot = slot,
                                                .item_timesteps = it->timestep,
                                                .outputs = it->n_outputs,
                                                .status = status});
}

rill_status engine_finish_item(rill_engine *e, int32_t slot)
{
    item *it = &e->items[slot];
    rill_status status = it->n_outputs > 0 ? RILL_OK : RILL_ERR_NO_HYPOTHESIS;
    engine_trace_leaving(e, slot, RILL_TRACE_FINISHED, status);
    if (status < 0) {
        char message[160];
        snprintf(message, sizeof message,
                 "every hypothesis died by timestep %d: the model, a constraint or a heuristic left no action",
                 it->timestep);
        RILL__TRY(engine_fail_input(e, it->id, status, message));
    } else {
        outbox_record *record;
        RILL__TRY(outbox_record_get(&e->outbox, it->id, &record));
        status = fill_record(e, slot, record);
        if (status < 0) {
            outbox_record_drop(&e->outbox, record);
            return status;
        }
        outbox_put(&e->outbox, record);
        e->stats.inputs++;
    }
    if (it->timestep > e->stats.longest_item_timesteps) e->stats.longest_item_timesteps = it->timestep;
    engine_drop_item(e, slot);
    return RILL_OK;
}
