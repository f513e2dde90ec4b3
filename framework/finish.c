/* Finishing: an item's outputs become a result.
 *
 * Outputs are ordered by rank (ending.h), ties in order of output. Only the n best are turned into text, and those that are left out
 * since theirs is there already (writing.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rooms.h"

rill_status engine_fail_input(rill_engine *e, int64_t id, const request *wants, rill_status status, const char *message)
{
    outbox_record *record;
    RILL__TRY(outbox_record_get(&e->outbox, id, &record));
    rill_print_message(record->message, sizeof record->message, "%s", message);
    record->result.status = status;
    record->result.user = wants != NULL ? wants->user : NULL;
    outbox_put(&e->outbox, record);
    e->statistics.all.inputs++;
    e->statistics.all.failed++;
    return RILL_OK;
}

static rill_status fill_empty(rill_engine *e, outbox_record *record)
{
    RILL__TRY(RILL__GROW(e->ctx, record->outputs, record->outputs_capacity, 1, "a result"));
    /* The text ends, and each field. */
    for (int32_t i = 0; i <= e->writing.n_fields; i++) RILL__TRY(rill_text_append(&record->text, "", 1));
    record->outputs[0] = (rill_output){.certified = e->settings.certify}; /* there is no other */
    record->result.output = record->outputs;
    record->result.n = record->result.outputs_found = 1;
    writing_point(&e->writing, record, &record->text);
    return RILL_OK;
}

rill_status engine_answer_empty(rill_engine *e, const intake_entry *in)
{
    outbox_record *record;
    RILL__TRY(outbox_record_get(&e->outbox, in->id, &record));
    rill_status status = fill_empty(e, record);
    if (status < 0) {
        outbox_record_drop(&e->outbox, record);
        return status;
    }
    record->result.user = in->request != NULL ? in->request->user : NULL;
    outbox_put(&e->outbox, record);
    e->statistics.all.inputs++;
    e->statistics.all.certified += e->settings.certify;
    e->statistics.all.outputs++;
    return RILL_OK;
}

/* Append output `index` of the item to the record's n, with its text if texts are written here, unless it is to be left out.
 * Pointers are set once nothing moves any more. */
static rill_status add_output(rill_engine *e, int32_t slot, int32_t index, outbox_record *record, int32_t *n_outputs,
                              size_t *n_actions)
{
    const item *it = &e->items.at[slot];
    const item_output *output = &it->outputs[index];
    rill_hypothesis h;
    int kept = 1;
    RILL__TRY(unroll_output(&e->writing.unroll, &e->forest, slot, output, e->info.phases, &h));
    size_t n = (size_t)h.length;
    RILL__TRY(outbox_record_steps(e->ctx, record, *n_actions + n + 1));
    rill_output *out = &record->outputs[*n_outputs];
    *out = (rill_output){.score = output->score,
                         .rank_score = output->rank,
                         .logp = h.logp,
                         .actions = output->length,
                         .truncated = output->truncated,
                         .n_actions = h.length,
                         .certified = e->settings.certify && !it->late && output->rank >= it->abandoned};
    if (!e->writing.apart)
        RILL__TRY(writing_append(&e->writing, &h, it->settings->distinct, record->outputs, *n_outputs, &record->text,
                                 out, &kept));
    if (!kept) return RILL_OK;
    memcpy(record->actions + *n_actions, h.action, n * sizeof *h.action);
    memcpy(record->logps + *n_actions, h.action_logp, n * sizeof *h.action_logp);
    *n_actions += n;
    ++*n_outputs;
    return RILL_OK;
}

/* Room for all outputs' actions, and for about as much text, in one piece each rather than by growing. */
static rill_status expect_actions(rill_engine *e, const item *it, int32_t n, outbox_record *record)
{
    enum { BYTES_PER_ACTION = 6 };
    size_t actions = 1; /* whose place stays empty */
    for (int32_t i = 0; i < n; i++) actions += ((size_t)it->outputs[i].length + 1) * (size_t)e->info.phases;
    rill_text *text = &record->text;
    if (!e->writing.apart)
        RILL__TRY(RILL__GROW(e->ctx, text->data, text->capacity, actions * BYTES_PER_ACTION, "a result"));
    return outbox_record_steps(e->ctx, record, actions);
}

static rill_status fill_record(rill_engine *e, int32_t slot, outbox_record *record)
{
    item *it = &e->items.at[slot];
    const int32_t found = it->n_outputs, n_best = it->settings->n_best;
    int32_t wanted = found < n_best ? found : n_best, n = 0;
    /* Which of them are repeated is only known once their texts are. */
    const int32_t most = e->writing.apart && it->settings->distinct ? found : wanted;
    size_t n_actions = 0;
    forest_arena_fetch(&e->forest, &it->arena);
    RILL__TRY(RILL__GROW(e->ctx, record->outputs, record->outputs_capacity, (size_t)most, "a result"));
    RILL__TRY(expect_actions(e, it, most, record));
    for (int32_t i = 0; i < found && n < most; i++) RILL__TRY(add_output(e, slot, i, record, &n, &n_actions));
    record->result.output = record->outputs;
    record->result.n = n;
    record->result.outputs_found = found;
    record->result.late = it->late;
    record->result.user = it->request != NULL ? it->request->user : NULL;
    const char *note = intake_noted(&e->intake.entries[it->entry]);
    if (note[0] != '\0') rill_print_message(record->note, sizeof record->note, "%s", note);
    record->unwritten = e->writing.apart ? wanted : 0;
    record->distinct = it->settings->distinct;
    if (!e->writing.apart) writing_point(&e->writing, record, &record->text);
    return RILL_OK;
}

rill_status engine_keep_found(rill_engine *e, int32_t slot)
{
    item *it = &e->items.at[slot];
    if (it->request == NULL || isinf(it->request->deadline)) return RILL_OK;
    if (it->found != NULL) outbox_record_drop(&e->outbox, it->found);
    it->found = NULL;
    RILL__TRY(outbox_record_get(&e->outbox, it->id, &it->found));
    return fill_record(e, slot, it->found);
}

void engine_give_found(rill_engine *e, item *it)
{
    outbox_record *record = it->found;
    it->found = NULL;
    record->result.late = 1;
    for (int32_t i = 0; i < record->result.n; i++) {
        record->outputs[i].certified = 0;
        e->statistics.all.truncated += record->outputs[i].truncated;
    }
    e->statistics.all.outputs += record->result.outputs_found;
    e->statistics.all.inputs++;
    outbox_put(&e->outbox, record);
}

/* Why the item has no output. */
static void say_why_none(const rill_engine *e, const item *it, char *out, size_t size)
{
    if (it->refused.length > 0)
        snprintf(out, size, "%s", it->refused.data);
    else if (it->cut)
        snprintf(out, size,
                 "no output had ended by timestep %d, where all were cut short, and require-end wants whole ones",
                 it->timestep);
    else if (it->blamed > 0)
        snprintf(out, size, "every hypothesis died by timestep %d: scorer %s left no action that the model can take",
                 it->timestep, e->chain.link[e->chain.n_heuristics + it->blamed - 1].scorer->name);
    else if (it->settings->no_repeat_ngram > 0)
        snprintf(out, size,
                 "every hypothesis died by timestep %d: no-repeat-ngram %d, the model or a heuristic left no action",
                 it->timestep, it->settings->no_repeat_ngram);
    else
        snprintf(out, size,
                 "every hypothesis died by timestep %d: the model, a constraint or a heuristic left no action",
                 it->timestep);
}

rill_status engine_finish_item(rill_engine *e, int32_t slot)
{
    item *it = &e->items.at[slot];
    if (it->n_outputs > 1) qsort(it->outputs, (size_t)it->n_outputs, sizeof *it->outputs, item_in_output_order);
    const rill_status more = engine_exact_begin(e, slot);
    if (more != RILL_OK) return more;
    rill_status status = it->n_outputs > 0 ? RILL_OK : RILL_ERR_NO_HYPOTHESIS;
    if (status >= 0 && !it->late) {
        const rill_status wanted = engine_scorers_found(e, slot);
        if (wanted == RILL_AGAIN || (wanted < 0 && !engine_is_of_input(wanted))) return wanted;
        status = wanted;
    }
    tracing_item(&e->tracing, RILL_TRACE_FINISHED, e->statistics.all.timesteps, slot, it, status);
    if (status < 0) {
        char message[300]; /* as much as a record keeps */
        if (it->n_outputs == 0)
            say_why_none(e, it, message, sizeof message);
        else
            snprintf(message, sizeof message, "%s", rill_error(e->ctx)); /* a scorer, about what was found */
        statistics_forget(&e->statistics, it);
        RILL__TRY(engine_fail_input(e, it->id, it->request, status, message));
    } else {
        outbox_record *record;
        RILL__TRY(outbox_record_get(&e->outbox, it->id, &record));
        status = fill_record(e, slot, record);
        if (status < 0) {
            outbox_record_drop(&e->outbox, record);
            return status;
        }
        e->statistics.all.certified += record->result.n > 0 && record->outputs[0].certified;
        outbox_put(&e->outbox, record);
        e->statistics.all.inputs++;
    }
    if (it->timestep > e->statistics.all.longest_item_timesteps)
        e->statistics.all.longest_item_timesteps = it->timestep;
    engine_drop_item(e, slot);
    return RILL_OK;
}
