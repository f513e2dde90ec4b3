/* Makes the result of an input whose search has stopped: the n best outputs. Ties keep the order of discovery. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

/* --- freeing inputs ----------------------------------------------------------------------------------------------- */

void engine_free_slot(rill_engine *e, int32_t slot)
{
    if (e->domain->drop != NULL) e->domain->drop(e->self, slot);
    items_free_slot(&e->items, slot);
}

void engine_free_input(rill_engine *e, queued_input *in)
{
    request_free(in->request);
    in->request = NULL;
    rill_text_clear(&in->note);
    input_queue_free(e->queue, &e->taker, in);
}

/* Free an item, but not its input. */
static void free_item(rill_engine *e, int32_t slot)
{
    const item *it = &e->items.item[slot];
    engine_scorers_done(e, it->instances, it->id, e->chain.n_scorers);
    items_clear(&e->items, &e->hyps, slot);
    memory_limit_remove_input(e, slot);
    engine_free_slot(e, slot);
    /* for loops over a timestep's inputs that come later: this input has no request any more */
    e->items.item[slot].request = NULL;
    /* before the queue knows that the input is done, since another worker may then use all of the memory */
    engine_free_nodes(e);
}

void engine_free_item(rill_engine *e, int32_t slot)
{
    free_item(e, slot);
    engine_free_input(e, e->items.item[slot].input);
}

rill_status engine_fail_input(rill_engine *e, queued_input *in, rill_status status, const char *message)
{
    status = input_queue_put_failed(e->queue, &e->taker, in, status, message);
    engine_free_input(e, in);
    return status;
}

rill_status engine_give_back(rill_engine *e, queued_input *in)
{
    request_close(in->request);
    rill_text_clear(&in->note);
    if (input_queue_give_back(e->queue, &e->taker, in)) return RILL_OK;
    return engine_fail_input(e, in, RILL_ERR_CANCELLED, MESSAGE_CANCELLED);
}

rill_status engine_give_back_item(rill_engine *e, int32_t slot)
{
    free_item(e, slot);
    return engine_give_back(e, e->items.item[slot].input);
}

/* --- filling results ---------------------------------------------------------------------------------------------- */

static rill_status fill_empty(rill_engine *e, result_record *record)
{
    RILL__TRY(RILL__GROW(e->ctx, record->outputs, record->outputs_capacity, 1, "a result"));
    /* Append an empty string for the output's text, and one for each additional output field. */
    for (int32_t i = 0; i <= e->output_writer.n_fields; i++) RILL__TRY(rill_text_append(&record->text, "", 1));
    /* certified, because an input with nothing to decode has no other output */
    record->outputs[0] = (rill_output){.struct_size = sizeof(rill_output), .certified = e->settings.certify};
    record->result.outputs = (const struct rill_outputs *)record->outputs;
    record->result.n_outputs = record->result.outputs_found = 1;
    output_writer_set_pointers(&e->output_writer, record, &record->text);
    return RILL_OK;
}

rill_status engine_finish_empty(rill_engine *e, queued_input *in)
{
    result_record *record = NULL;
    rill_status status = input_queue_get_record(e->queue, &e->taker, in->id, &record);
    if (status >= 0) status = fill_empty(e, record);
    if (status >= 0) {
        record->result.user = in->request != NULL ? in->request->user : NULL;
        input_queue_put(e->queue, record);
        e->statistics.total.certified += e->settings.certify;
        e->statistics.total.outputs++;
    } else if (record != NULL) {
        input_queue_free_record(e->queue, record);
    }
    engine_free_input(e, in);
    return status;
}

const char *rill_finish_reason_name(rill_finish_reason reason)
{
    static const char *const names[] = {"stop", "length", "timeout", "heuristic"};
    return names[reason];
}

static rill_finish_reason finish_reason(const item *it, const item_output *output)
{
    if (!output->truncated) return RILL_FINISH_REASON_STOP;
    if (output->length >= it->max_length) return RILL_FINISH_REASON_LENGTH;
    return it->timed_out ? RILL_FINISH_REASON_TIMEOUT : RILL_FINISH_REASON_HEURISTIC;
}

/* Append output number `index`, unless the setting `distinct` makes it a duplicate. Pointers are set later, when buffers no longer move. */
static rill_status add_output(rill_engine *e, int32_t slot, int32_t index, result_record *record, int32_t *n_outputs,
                              size_t *n_actions)
{
    const item *it = &e->items.item[slot];
    const item_output *output = &it->outputs[index];
    rill_hypothesis h;
    int is_new = 1;
    RILL__TRY(backtrace_output(&e->output_writer.backtrace, &e->hyps, slot, output, e->info.phases, &h));
    size_t n = (size_t)h.length;
    RILL__TRY(result_record_reserve(e->ctx, record, *n_actions + n + 1));
    rill_output *out = &record->outputs[*n_outputs];
    *out = (rill_output){.struct_size = sizeof *out,
                         .path_score = output->path_score,
                         .score = output->final_score,
                         .logp = h.logp,
                         .length = output->length,
                         .finish_reason = finish_reason(it, output),
                         .n_ids = h.length,
                         .certified = e->settings.certify && !it->timed_out &&
                                      output->final_score >= it->abandoned_bound};
    if (!e->output_writer.is_deferred)
        RILL__TRY(output_writer_append(&e->output_writer, &h, it->settings->distinct, record->outputs, *n_outputs,
                                       &record->text, out, &is_new));
    if (!is_new) return RILL_OK;
    memcpy(record->actions + *n_actions, h.action, n * sizeof *h.action);
    memcpy(record->logps + *n_actions, h.action_logp, n * sizeof *h.action_logp);
    *n_actions += n;
    ++*n_outputs;
    return RILL_OK;
}

/* Reserve memory for the actions of the first n outputs and for their texts, whose size is estimated. */
static rill_status reserve_actions(rill_engine *e, const item *it, int32_t n, result_record *record)
{
    enum { BYTES_PER_ACTION = 6 };
    size_t actions = 1; /* add_output() reserves one action more than it writes */
    for (int32_t i = 0; i < n; i++) actions += ((size_t)it->outputs[i].length + 1) * (size_t)e->info.phases;
    rill_text *text = &record->text;
    if (!e->output_writer.is_deferred)
        RILL__TRY(RILL__GROW(e->ctx, text->data, text->capacity, actions * BYTES_PER_ACTION, "a result"));
    return result_record_reserve(e->ctx, record, actions);
}

static const char timed_out_reason[] = "the deadline passed first";

/* Returns why the result has fewer than n_best outputs, naming the setting that a user would change. */
static const char *fewer_outputs_reason(const rill_settings *s)
{
    const int is_pruned = rill__find_method(s->method)->pruned;
    if (s->k < s->n_best && strcmp(s->method, "greedy") == 0)
        return "greedy search has one (other methods have up to beam-size)";
    if (s->k < s->n_best) return "beam-size is smaller than n-best";
    if (s->stop_after > 0 && s->stop_after < s->n_best) return "the search stops after fewer (stop-after)";
    if (s->sample > 0 && s->distinct) return "samples are alike (a larger num-samples, with n-best, draws more)";
    if (s->sample > 0) return "some samples reached max-length without an end";
    if (s->distinct && is_pruned && s->min_width < s->k)
        return "the search found no more that differ (a larger min-width, or without pruning a larger beam-size, finds more)";
    if (s->distinct) return "the search found no more that differ (a larger beam-size finds more)";
    if (s->groups <= 1 && is_pruned && s->min_width < s->k) /* heuristics do not prune beam groups */
        return "the search found no more (a larger min-width, or without pruning a larger beam-size, finds more, and may change the best "
               "output)";
    return "the search found no more (a larger beam-size finds more, and may change the best output)";
}

int rill_result_has_fewer(const rill_result *result, char *out, size_t size)
{
    if (result->status < 0 || result->n_outputs >= result->outputs_requested) return 0;
    if (out != NULL)
        snprintf(out, size, "%d of %d outputs: %s", (int)result->n_outputs, (int)result->outputs_requested,
                 result->fewer_reason);
    return 1;
}

static rill_status fill_record(rill_engine *e, int32_t slot, result_record *record)
{
    item *it = &e->items.item[slot];
    const int32_t found = it->n_outputs, n_best = it->settings->n_best;
    int32_t wanted = found < n_best ? found : n_best, n = 0;
    /* If another thread makes the texts, it is unknown here which outputs are duplicates: record all outputs. */
    const int32_t n_records = e->output_writer.is_deferred && it->settings->distinct ? found : wanted;
    size_t n_actions = 0;
    hyp_arena_prefetch(&e->hyps, &it->arena);
    RILL__TRY(RILL__GROW(e->ctx, record->outputs, record->outputs_capacity, (size_t)n_records, "a result"));
    RILL__TRY(reserve_actions(e, it, n_records, record));
    for (int32_t i = 0; i < found && n < n_records; i++) RILL__TRY(add_output(e, slot, i, record, &n, &n_actions));
    record->result.outputs = (const struct rill_outputs *)record->outputs;
    record->result.n_outputs = n;
    record->result.outputs_found = found;
    record->result.outputs_requested = n_best;
    record->result.fewer_reason = it->timed_out ? timed_out_reason : fewer_outputs_reason(it->settings);
    record->result.timed_out = it->timed_out;
    record->result.user = it->request != NULL ? it->request->user : NULL;
    if (it->input->note.length > 0) rill_print_message(record->note, sizeof record->note, "%s", it->input->note.data);
    record->n_unwritten = e->output_writer.is_deferred ? wanted : 0;
    record->distinct = it->settings->distinct;
    if (!e->output_writer.is_deferred) output_writer_set_pointers(&e->output_writer, record, &record->text);
    return RILL_OK;
}

/* Save an input's result before a scorer restarts its search: it is delivered if the deadline passes during the second search. */
static rill_status save_result(rill_engine *e, int32_t slot)
{
    item *it = &e->items.item[slot];
    if (it->request == NULL || isinf(it->request->deadline)) return RILL_OK;
    result_record **saved = &it->input->saved_result;
    if (*saved != NULL) input_queue_free_record(e->queue, *saved);
    *saved = NULL;
    RILL__TRY(input_queue_get_record(e->queue, &e->taker, it->id, saved));
    return fill_record(e, slot, *saved);
}

void engine_deliver_saved(rill_engine *e, queued_input *in)
{
    result_record *record = in->saved_result;
    in->saved_result = NULL;
    record->result.timed_out = 1;
    record->result.fewer_reason = timed_out_reason;
    for (int32_t i = 0; i < record->result.n_outputs; i++) {
        record->outputs[i].certified = 0;
        e->statistics.total.truncated += record->outputs[i].finish_reason != RILL_FINISH_REASON_STOP;
    }
    e->statistics.total.outputs += record->result.outputs_found;
    input_queue_put(e->queue, record);
}

static void write_no_output_reason(const rill_engine *e, const item *it, char *out, size_t size)
{
    if (it->fail_reason.length > 0)
        snprintf(out, size, "%s", it->fail_reason.data);
    else if (it->dropped_truncated)
        snprintf(out, size,
                 "no hypothesis had ended by timestep %d, the length limit, and require-end gives no truncated output",
                 it->timestep);
    else if (it->blocked_by > 0)
        snprintf(out, size, "no hypothesis is left at timestep %d: scorer %s masks all actions that the model allows",
                 it->timestep, e->chain.link[e->chain.n_heuristics + it->blocked_by - 1].scorer->name);
    else if (it->settings->no_repeat_ngram > 0)
        snprintf(out, size,
                 "no hypothesis is left at timestep %d: no-repeat-ngram-size %d, the model or a heuristic excludes "
                 "all actions",
                 it->timestep, it->settings->no_repeat_ngram);
    else
        snprintf(out, size,
                 "no hypothesis is left at timestep %d: the model, a constraint or a heuristic excludes all actions",
                 it->timestep);
}

/* Restart an input's search, because a scorer requested it. */
static rill_status search_again(rill_engine *e, int32_t slot)
{
    item *it = &e->items.item[slot];
    if (it->request != NULL) it->request->last_reported = 0;
    RILL__TRY(save_result(e, slot));
    statistics_remove_item(&e->statistics, it);
    items_clear(&e->items, &e->hyps, slot);
    RILL__TRY(items_begin(&e->items, &e->hyps, slot));
    return RILL_AGAIN;
}

rill_status engine_finish_item(rill_engine *e, int32_t slot)
{
    item *it = &e->items.item[slot];
    if (it->n_outputs > 1) qsort(it->outputs, (size_t)it->n_outputs, sizeof *it->outputs, item_output_compare);
    FOR_VARIANTS (v, it->variants, after_stop) {
        const rill_status status = v->after_stop(e, slot);
        if (status != RILL_OK) return status;
    }
    rill_status status = it->n_outputs > 0 ? RILL_OK : RILL_ERR_NO_HYPOTHESIS;
    if (status >= 0 && !it->timed_out) {
        rill_status scorer_status = engine_scorers_review(e, slot);
        if (scorer_status == RILL_AGAIN) scorer_status = search_again(e, slot);
        if (scorer_status == RILL_AGAIN) return RILL_AGAIN;
        if (scorer_status < 0 && !engine_is_input_error(scorer_status)) return scorer_status;
        status = scorer_status;
    }
    tracer_item(e, RILL_TRACE_FINISHED, slot, status);
    if (status < 0) {
        char message[300]; /* message of a failed input, as large as result_record.message */
        if (it->n_outputs == 0)
            write_no_output_reason(e, it, message, sizeof message);
        else
            /* a scorer's found() has failed, and the context has its message */
            snprintf(message, sizeof message, "%s", rill_error(e->ctx));
        statistics_remove_item(&e->statistics, it);
        RILL__TRY(input_queue_put_failed(e->queue, &e->taker, it->input, status, message));
    } else {
        result_record *record;
        RILL__TRY(input_queue_get_record(e->queue, &e->taker, it->id, &record));
        status = fill_record(e, slot, record);
        if (status < 0) {
            input_queue_free_record(e->queue, record);
            return status;
        }
        e->statistics.total.certified += record->result.n_outputs > 0 && record->outputs[0].certified;
        input_queue_put(e->queue, record);
    }
    if (it->timestep > e->statistics.total.longest_item_timesteps)
        e->statistics.total.longest_item_timesteps = it->timestep;
    engine_free_item(e, slot);
    return RILL_OK;
}
