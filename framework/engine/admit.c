/* Admits inputs: takes them from the queue, encodes them into slots, puts them in flight.
 *
 * Invariant: a slot is free, ready or running, except while its input is being encoded. */
#include <math.h>

#include "engine_internal.h"

/* --- white space -------------------------------------------------------------------------------------------------- */

size_t rill_blank_bytes(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    if (n == 0) return 0;
    if (p[0] <= ' ' || p[0] == 0x7f) return 1;
    if (n < 2 || p[0] < 0xc2) return 0;
    if (p[0] == 0xd8) return p[1] == 0x9c ? 2 : 0; /* U+061C, a direction mark */
    /* U+0080 to U+00A0, control characters and a space */
    if (p[0] == 0xc2) return p[1] >= 0x80 && p[1] <= 0xa0 ? 2 : 0;
    if (n < 3 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80) return 0;
    const unsigned code = (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    const int spaces = (code >= 0x2000 && code <= 0x200f) || (code >= 0x2028 && code <= 0x202f) ||
                       (code >= 0x205f && code <= 0x206f);
    const int others = code == 0x1680 || code == 0x180e || code == 0x3000 || code == 0xfeff;
    return p[0] >= 0xe1 && p[0] <= 0xef && (spaces || others) ? 3 : 0;
}

static int has_only_spaces(const char *text, size_t length)
{
    size_t pos = 0, more = 1;
    for (; pos < length && more > 0; pos += more) more = rill_blank_bytes(text + pos, length - pos);
    return more > 0;
}

/* --- encoding inputs ---------------------------------------------------------------------------------------------- */

static rill_status start_item(rill_engine *e, const rill_input *input, queued_input *in)
{
    item *it = &e->items.item[input->slot];
    in->note.ctx = e->ctx;
    if (input->message[0] != '\0') RILL__TRY(rill_text_append(&in->note, input->message, strlen(input->message) + 1));
    it->id = input->id;
    it->size = input->size;
    it->input = in;
    it->request = in->request;
    it->settings = in->request != NULL ? &in->request->settings : &e->settings;
    it->instances = request_instances(&e->chain, in->request);
    it->variants = variants_of(it->settings, NULL);
    it->max_children = rill__max_children(it->settings);
    it->blocks_ngrams = ngram_blocking_is_on(it->settings);
    it->max_length = stop_max_length(it->settings, &e->info, input);
    return items_begin(&e->items, &e->hyps, input->slot);
}

/* Check what the domain's encode() wrote to an input, and restore the members that encode() must not change. */
static rill_status check_input(rill_engine *e, int32_t i)
{
    const admission *a = &e->admission;
    const queued_input *in = a->queued[i];
    rill_input *input = &a->input[i];
    const int unchanged = input->slot == a->slot[i] && input->id == in->id && input->text == in->text &&
                          input->length == in->length;
    input->slot = a->slot[i];
    input->message[sizeof input->message - 1] = '\0';
    if (!unchanged)
        return rill_fail(e->ctx, RILL_ERR_PLUGIN,
                         "domain %s: encode() changed the slot, id or text of input %lld, which it may only read",
                         e->domain->name, (long long)in->id);
    if (input->status >= 0 && (input->size < 0 || input->max_length < 0))
        return rill_fail(e->ctx, RILL_ERR_PLUGIN,
                         "domain %s: encode() gave input %lld the size %lld and the "
                         "maximum length %d; both must be valid (domain.h)",
                         e->domain->name, (long long)in->id, (long long)input->size, input->max_length);
    return RILL_OK;
}

/* Count an encoded input's memory, and call the scorers' begin(). Returns RILL_AGAIN if the input needs more than this engine's part of the
 * memory limit. */
static rill_status admit_encoded(rill_engine *e, rill_input *input, const queued_input *in)
{
    const rill_status limit_status = memory_limit_add_input(e, input, in->size);
    if (limit_status != RILL_OK) return limit_status;
    const rill_status status = engine_scorers_begin(e, input, in->request);
    if (status < 0) memory_limit_remove_input(e, input->slot);
    return status;
}

/* Make an encoded input a ready item, or finish it at once, or return it to the queue. */
static rill_status process_encoded(rill_engine *e, rill_input *input, queued_input *in)
{
    rill_status status = RILL_OK;
    if (input->status < 0 || input->status == RILL_EMPTY) {
        items_free_slot(&e->items, input->slot);
    } else if ((status = admit_encoded(e, input, in)) != RILL_OK) {
        engine_free_slot(e, input->slot);
    } else {
        status = start_item(e, input, in);
        if (status >= 0) {
            items_push_ready(&e->items, input->slot, 0);
            return RILL_OK;
        }
        engine_free_slot(e, input->slot); /* the run is over, but the domain still has this slot: call drop() */
        engine_free_input(e, in);
        return status;
    }
    if (status == RILL_AGAIN) return engine_give_back(e, in);
    return input->status < 0 ? engine_fail_input(e, in, input->status, input->message) : engine_finish_empty(e, in);
}

/* Call process_encoded() for all inputs. A failure ends the run: of the remaining inputs only the slots are freed. */
static rill_status process_all_encoded(rill_engine *e)
{
    admission *a = &e->admission;
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < a->n; i++) {
        rill_input *input = &a->input[i];
        const rill_status checked = check_input(e, i);
        if (status >= 0 && checked >= 0) {
            status = process_encoded(e, input, a->queued[i]);
            continue;
        }
        if (status >= 0) status = checked;
        engine_free_input(e, a->queued[i]);
        if (input->status < 0 || input->status == RILL_EMPTY)
            items_free_slot(&e->items, input->slot);
        else
            engine_free_slot(e, input->slot);
    }
    a->n = 0;
    return status;
}

/* Open an input's request. Returns RILL_AGAIN if the input must be encoded; RILL_OK if it already has its result: it failed, is late or is
 * empty. */
static rill_status prepare_input(rill_engine *e, queued_input *in)
{
    if (in->failed < 0) return engine_fail_input(e, in, in->failed, in->text);
    if (in->request != NULL) {
        rill_error_clear(e->ctx);
        const rill_status status = request_open(e, in->request);
        if (status == RILL_ERR_MEMORY) engine_free_input(e, in);
        if (status == RILL_ERR_MEMORY) return status;
        if (status < 0) return engine_fail_input(e, in, status, rill_error(e->ctx));
        const int is_late = in->request->deadline < INFINITY && in->request->deadline <= requests_now(&e->requests);
        if (is_late && in->saved_result != NULL) {
            engine_deliver_saved(e, in);
            engine_free_input(e, in);
            return RILL_OK;
        }
        if (is_late) return engine_fail_input(e, in, RILL_ERR_DEADLINE, MESSAGE_DEADLINE);
        if (in->request->deadline < e->requests.next_deadline) e->requests.next_deadline = in->request->deadline;
    }
    return has_only_spaces(in->text, in->length) ? engine_finish_empty(e, in) : RILL_AGAIN;
}

/* Call prepare_input() for all inputs taken from the queue, and give each input that must be encoded a slot. */
static rill_status prepare_all(rill_engine *e)
{
    admission *a = &e->admission;
    int32_t n = 0;
    for (int32_t i = 0; i < a->n; i++) {
        queued_input *in = a->queued[i];
        const rill_status status = prepare_input(e, in);
        a->queued[i] = NULL;
        RILL__TRY(status);
        if (status == RILL_OK) continue;
        a->queued[n] = in;
        a->slot[n] = items_take_slot(&e->items);
        a->input[n] = (rill_input){.text = in->text,
                                   .length = in->length,
                                   .id = in->id,
                                   .size = in->size,
                                   .slot = a->slot[n],
                                   .options = in->request != NULL ? in->request->options.data : NULL};
        n++;
    }
    a->n = n;
    return RILL_OK;
}

/* Encode the inputs taken from the queue in one call of the domain. */
static rill_status encode_inputs(rill_engine *e)
{
    admission *a = &e->admission;
    RILL__TRY(items_reserve(&e->items, a->n));
    RILL__TRY(running_reserve(&e->running, e->items.memory.capacity));
    RILL__TRY(engine_reserve_domain(e));
    RILL__TRY(prepare_all(e));
    statistics_end_stage(&e->statistics, &e->statistics.current.choose);
    rill_error_clear(e->ctx);
    if (a->n > 0)
        RILL__TRY(rill__domain_status(e->ctx, e->domain, e->domain->encode(e->self, a->n, a->input), "encode"));
    statistics_end_stage(&e->statistics, &e->statistics.current.encode);
    return process_all_encoded(e);
}

/* --- taking inputs from the queue --------------------------------------------------------------------------------- */

/* Returns the number of words separated by spaces or tabs: the input's size for a domain without measure(). */
static int64_t count_words(const char *text, size_t length)
{
    int64_t words = 0;
    int inside = 0;
    for (size_t i = 0; i < length; i++) {
        int in_space = text[i] == ' ' || text[i] == '\t';
        words += !in_space && !inside;
        inside = !in_space;
    }
    return words;
}

/* Set the input's size by domain->measure(), or to the number of words, unless it is set already. */
static void measure(const rill_engine *e, queued_input *in)
{
    if (in->size >= 0) return;
    in->size = in->failed < 0               ? 0
               : e->domain->measure != NULL ? e->domain->measure(e->self, in->text, in->length)
                                            : count_words(in->text, in->length);
    if (in->size < 0) in->size = 0;
}

/* Ask the queue how many inputs this engine may take, and take over or give up the whole memory limit. The queue's lock is held. The limit
 * changes only while this engine has no input in flight. */
static void update_offer(rill_engine *e)
{
    e->taker.n_offered = input_queue_offer(e->queue, &e->taker);
    const int has_all = e->queue->alone == &e->taker;
    if (has_all != e->memory_limit.has_all) memory_limit_use(e, has_all);
}

/* Take up to `wanted` inputs from the queue, as many as the memory limit allows. */
static rill_status take_inputs(rill_engine *e, int64_t wanted)
{
    admission *a = &e->admission;
    input_queue *q = e->queue;
    const rill_array columns[] = {RILL_ARRAY(a->input), RILL_ARRAY(a->queued), RILL_ARRAY(a->slot)};
    const int32_t max = wanted < e->taker.n_offered ? (int32_t)wanted : e->taker.n_offered;
    if (max <= 0) return RILL_OK;
    RILL__TRY(RILL__GROW_COLUMNS(e->ctx, &a->memory, (size_t)max, columns, "inputs"));
    pthread_mutex_lock(&q->lock);
    update_offer(e);
    double free_bytes = memory_limit_free_bytes(e);
    int32_t left = max < e->taker.n_offered ? max : e->taker.n_offered;
    rill_status status = RILL_OK;
    /* the sort window is closed and sorted before its first input is taken */
    if (left > 0 && q->sort != RILL_SORT_NONE && !q->is_sorted && !q->filling && q->n > 0) {
        for (queued_input *in = q->first; in != NULL; in = in->next) measure(e, in);
        status = input_queue_sort(q, e->ctx);
    }
    for (; left > 0 && status >= 0; left--) {
        if (e->memory_limit.max_slot_bytes > 0) measure(e, q->first);
        if (!memory_limit_can_encode(e, q->first->size, a->n, &free_bytes)) break;
        a->queued[a->n++] = input_queue_pop(q, &e->taker);
    }
    e->taker.n_offered -= a->n;
    input_queue_wake_reader(q);
    pthread_mutex_unlock(&q->lock);
    for (int32_t i = 0; i < a->n; i++) measure(e, a->queued[i]);
    return status;
}

/* --- refilling the batch ------------------------------------------------------------------------------------------ */

int64_t engine_n_waiting(rill_engine *e)
{
    e->taker.n_offered = 0;
    if (e->queue->n + e->queue->n_exclusive > 0) {
        RILL__LOCK_SCOPE(&e->queue->lock);
        update_offer(e);
    }
    return (int64_t)e->taker.n_offered + e->items.n_ready;
}

/* Begin or end a flush (setting flush_every), during which no input is admitted until all items in flight have finished. */
static int flush_in_progress(rill_engine *e)
{
    if (e->running.n == 0) {
        e->schedule.flushing = 0;
        e->schedule.last_flush = e->statistics.total.timesteps;
    } else if (e->statistics.total.timesteps - e->schedule.last_flush >= e->settings.flush_every) {
        e->schedule.flushing = 1;
    }
    return e->schedule.flushing;
}

/* Ask the scheduler for *admit, the inputs to admit now, within the memory limit, and *ahead, the inputs to encode for later. A scheduler
 * that admits none while nothing is in flight is overruled. */
static rill_status call_scheduler(rill_engine *e, int32_t *admit, int32_t *ahead)
{
    rill_sched_view view = schedule_view(e, &e->running);
    *admit = *ahead = 0;
    rill_error_clear(e->ctx);
    rill_status status = e->schedule.scheduler->refill(e->schedule.self, &view, admit);
    RILL__TRY(rill__method_status(e->ctx, status, "scheduler", e->schedule.scheduler->name, "refill"));
    int32_t n_free = e->settings.max_items - e->running.n;
    if (*admit > n_free) *admit = n_free;
    if (*admit < 1 && e->running.n == 0) *admit = n_free;
    int32_t fit = memory_limit_admissible(e, *admit), bounded = fit < *admit;
    *admit = fit;
    if (*admit > 0 && !bounded && e->schedule.scheduler->encode_ahead != NULL)
        *ahead = e->schedule.scheduler->encode_ahead(e->schedule.self, &view);
    if (*ahead < 0) *ahead = 0;
    return RILL_OK;
}

/* Reserve states for all admitted inputs at once, so that the domain seldom copies its tables: two per input, and with a budget up to two
 * more. */
static rill_status reserve_expected_nodes(rill_engine *e, int32_t admit)
{
    if (e->info.state_need == RILL_STATE_PATH) return RILL_OK;
    enum { NODES_PER_ITEM = 2 };
    int64_t waiting = (int64_t)e->taker.n_offered + e->items.n_ready;
    int32_t admitted = admit < waiting ? admit : (int32_t)waiting, grew;
    int64_t width = e->settings.k < NODES_PER_ITEM ? e->settings.k : NODES_PER_ITEM;
    int64_t paused = admitted * width, expanding = e->schedule.budget != NULL ? 0 : e->settings.budget;
    if (expanding > paused) expanding = paused;
    int64_t expected = paused + expanding, max_nodes = memory_limit_free_nodes(e);
    return hyp_pool_reserve_nodes(&e->hyps, expected < max_nodes ? expected : max_nodes, &grew);
}

rill_status engine_admit(rill_engine *e)
{
    int32_t admit, ahead, admitted = 0;
    if ((e->settings.flush_every > 0 && flush_in_progress(e)) || e->taker.n_offered + e->items.n_ready == 0)
        return RILL_OK;
    RILL__TRY(call_scheduler(e, &admit, &ahead));
    if (admit > 0) RILL__TRY(reserve_expected_nodes(e, admit));
    while (admitted < admit && e->taker.n_offered + e->items.n_ready > 0) {
        const int32_t missing = admit - admitted;
        if (e->items.n_ready == 0) {
            RILL__TRY(take_inputs(e, (int64_t)missing + ahead));
            if (e->admission.n == 0) break; /* no memory for more inputs, or other workers took them */
            RILL__TRY(encode_inputs(e));
        }
        const int32_t n = missing < e->items.n_ready ? missing : e->items.n_ready;
        for (int32_t i = 0; i < n; i++) {
            const int32_t slot = e->items.ready[i];
            item *it = &e->items.item[slot];
            it->last_expansion = e->statistics.total.expansions;
            running_append(&e->running, &e->items, slot, e->schedule.refill_index);
            tracer_item(e, RILL_TRACE_ADMITTED, slot, RILL_OK);
        }
        items_drop_ready(&e->items, n);
        admitted += n;
    }
    if (admitted > 0) {
        /* needed only if all admitted inputs were encoded earlier: encode_inputs() does the same */
        RILL__TRY(engine_reserve_domain(e));
        e->statistics.total.refills++;
        e->schedule.refill_index++;
        e->admission.last_refill = admitted;
    }
    if (e->running.n > e->statistics.total.items_peak) e->statistics.total.items_peak = e->running.n;
    return RILL_OK;
}

/* Encode inputs in advance, as many as the last refill (admission) admitted. */
rill_status engine_encode_ahead(rill_engine *e)
{
    if (e->info.group_rows == 0 || e->items.n_ready > 0 || e->schedule.flushing || engine_n_waiting(e) == 0)
        return RILL_OK;
    RILL__TRY(take_inputs(e, e->admission.last_refill));
    return e->admission.n > 0 ? encode_inputs(e) : RILL_OK;
}
