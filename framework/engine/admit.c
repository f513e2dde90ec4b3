/* Admission: inputs leave the queue, are encoded into slots, and are decoded once the scheduler admits them.
 *
 * Invariant: a slot is either free, ready or running, except while its input is being encoded.
 *
 * Divisions: slots · white space · encoding · refilling. */
#include "engine_internal.h"

/* --- slots -------------------------------------------------------------------------------------------------------- */

rill_status engine_reserve_domain(rill_engine *e)
{
    int32_t nodes = e->hyps.node_capacity, slots = (int32_t)e->items.memory.capacity;
    rill__reserved *reserved = e->runner.reserved;
    if (nodes <= reserved->nodes && slots <= reserved->slots) return RILL_OK;
    /* Never request less than an earlier engine on this model did: capacities of a domain must not shrink. */
    if (nodes < reserved->nodes) nodes = reserved->nodes;
    if (slots < reserved->slots) slots = reserved->slots;
    statistics_end_stage(&e->statistics, &e->statistics.current.choose);
    rill_error_clear(e->ctx);
    RILL__TRY(rill__domain_status(e->ctx, e->domain, e->domain->reserve(e->self, nodes, slots), "reserve"));
    statistics_end_stage(&e->statistics, &e->statistics.current.encode);
    *reserved = (rill__reserved){nodes, slots};
    return RILL_OK;
}

static void free_slot(rill_engine *e, int32_t slot)
{
    if (e->domain->drop != NULL) e->domain->drop(e->self, slot);
    items_free_slot(&e->items, slot);
}

void engine_free_input(rill_engine *e, int32_t entry)
{
    request_free(e->queue.entries[entry].request);
    e->queue.entries[entry].request = NULL;
    input_queue_free_entry(&e->queue, entry);
}

void engine_free_item(rill_engine *e, int32_t slot)
{
    engine_scorers_done(e, &e->items.item[slot]);
    items_clear(&e->items, &e->hyps, slot);
    memory_limit_remove_input(e, slot);
    free_slot(e, slot);
    engine_free_input(e, e->items.item[slot].queue_entry);
    if (e->items.item[slot].saved_result != NULL) reorder_free_record(&e->reorder, e->items.item[slot].saved_result);
    e->items.item[slot].saved_result = NULL;
    e->items.item[slot].request = NULL; /* freed; loops over a timestep's items check for NULL */
}

/* --- white space -------------------------------------------------------------------------------------------------- */

size_t rill_blank_bytes(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    if (n == 0) return 0;
    if (p[0] <= ' ' || p[0] == 0x7f) return 1;
    if (n < 2 || p[0] < 0xc2) return 0;
    if (p[0] == 0xd8) return p[1] == 0x9c ? 2 : 0;                 /* U+061C */
    if (p[0] == 0xc2) return p[1] >= 0x80 && p[1] <= 0xa0 ? 2 : 0; /* U+0080 to U+00A0 */
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

/* --- encoding ----------------------------------------------------------------------------------------------------- */

static rill_status start_item(rill_engine *e, const rill_input *input, int32_t entry)
{
    item *it = &e->items.item[input->slot];
    request *own_request = e->queue.entries[entry].request;
    if (input->message[0] != '\0') RILL__TRY(input_queue_set_note(&e->queue, &e->queue.entries[entry], input->message));
    it->id = input->id;
    it->size = input->size;
    it->queue_entry = entry;
    it->request = own_request;
    it->saved_result = NULL;
    it->settings = own_request != NULL ? &own_request->settings : &e->settings;
    it->instances = request_instances(&e->chain, own_request);
    it->variants = variants_of_settings(it->settings);
    it->max_children = rill__max_children(it->settings);
    it->blocks_ngrams = ngram_blocking_is_on(it->settings);
    it->max_length = stop_max_length(it->settings, &e->info, input);
    return items_begin(&e->items, &e->hyps, input->slot);
}

/* Make the result of an input that cannot be decoded. */
static rill_status fail_entry(rill_engine *e, int32_t entry, rill_status status, const char *message)
{
    const queued_input *in = &e->queue.entries[entry];
    RILL__TRY(engine_fail_input(e, in->id, in->request, status, message));
    engine_free_input(e, entry);
    return RILL_OK;
}

/* Make the empty result of an input with nothing to decode. */
static rill_status finish_empty(rill_engine *e, int32_t entry)
{
    RILL__TRY(engine_finish_empty(e, &e->queue.entries[entry]));
    engine_free_input(e, entry);
    return RILL_OK;
}

/* Validate what the domain wrote to an input, and restore members that belong to the engine. */
static rill_status check_input(rill_engine *e, int32_t i)
{
    const admission *a = &e->admission;
    const queued_input *in = &e->queue.entries[a->queue_entry[i]];
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

/* Check an encoded input against the memory limit, and call the scorers' begin(). Returns RILL_AGAIN if the input must wait (is parked)
 * until the whole memory limit is available to it. */
static rill_status admit_encoded(rill_engine *e, rill_input *input, int32_t entry)
{
    const rill_status limit_status = memory_limit_add_input(e, input, e->queue.entries[entry].size);
    if (limit_status < 0) return limit_status;
    const rill_status status = engine_scorers_begin(e, input, entry);
    if (status < 0) memory_limit_remove_input(e, input->slot);
    return status < 0 ? status : limit_status;
}

/* Process each encoded input: it becomes a ready item, or gets its result at once (a failure or an empty output). */
static rill_status admit_all_encoded(rill_engine *e, int32_t n)
{
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < n; i++) {
        rill_input *input = &e->admission.input[i];
        int32_t entry = e->admission.queue_entry[i];
        rill_status limit_status = RILL_OK, input_status = check_input(e, i);
        if (status >= 0) status = input_status;
        const int encoded = input->status >= 0 && input->status != RILL_EMPTY;
        if (!encoded)
            items_free_slot(&e->items, input->slot);
        else if ((limit_status = admit_encoded(e, input, entry)) < 0)
            free_slot(e, input->slot);
        if (!encoded || input->status < 0) {
            if (status < 0) continue;
            status = input->status < 0 ? fail_entry(e, entry, input->status, input->message) : finish_empty(e, entry);
            continue;
        }
        if (status >= 0) status = start_item(e, input, entry);
        if (status >= 0 && limit_status == RILL_AGAIN) {
            memory_limit_park(e, input->slot);
        } else if (status >= 0) {
            items_push_ready(&e->items, input->slot);
        } else {
            /* The run is over, but the domain still has this slot: call drop(). */
            free_slot(e, input->slot);
        }
    }
    return status;
}

/* Encode the next `count` waiting inputs in one call of the domain. Inputs of white space alone and inputs that failed when submitted only
 * get their results. */
static rill_status encode_inputs(rill_engine *e, int32_t count)
{
    admission *a = &e->admission;
    const rill_array columns[] = {RILL_ARRAY(a->input), RILL_ARRAY(a->queue_entry), RILL_ARRAY(a->slot)};
    RILL__TRY(items_reserve(&e->items, count));
    RILL__TRY(running_reserve(&e->running, e->items.memory.capacity));
    RILL__TRY(rill_columns_grow(e->ctx, &a->memory, (size_t)count, columns, 3, "inputs"));
    RILL__TRY(engine_reserve_domain(e));
    int32_t n = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t entry = input_queue_entry(&e->queue, i);
        const queued_input *in = &e->queue.entries[entry];
        if (in->failed < 0 || has_only_spaces(in->text, in->length)) {
            RILL__TRY(in->failed < 0 ? fail_entry(e, entry, in->failed, in->text) : finish_empty(e, entry));
            continue;
        }
        a->queue_entry[n] = entry;
        a->slot[n] = items_take_slot(&e->items);
        a->input[n] = (rill_input){.text = in->text,
                                   .length = in->length,
                                   .id = in->id,
                                   .size = in->size,
                                   .slot = a->slot[n],
                                   .options = in->request != NULL ? in->request->options.data : NULL};
        n++;
    }
    input_queue_pop(&e->queue, count);
    statistics_end_stage(&e->statistics, &e->statistics.current.choose);
    rill_error_clear(e->ctx);
    rill_status status = n > 0
                             ? rill__domain_status(e->ctx, e->domain, e->domain->encode(e->self, n, a->input), "encode")
                             : RILL_OK;
    statistics_end_stage(&e->statistics, &e->statistics.current.encode);
    RILL__TRY(status);
    return admit_all_encoded(e, n);
}

/* --- refilling ---------------------------------------------------------------------------------------------------- */

int64_t engine_n_waiting(const rill_engine *e)
{
    return (int64_t)e->queue.n + e->items.n_ready + (e->input_source != NULL ? e->input_source->n_offered : 0);
}

/* Return 1 while a flush (setting flush_every) is in progress: from its start until the last item in flight finishes, nothing is
 * admitted. */
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

static rill_status call_scheduler(rill_engine *e, int32_t *admit, int32_t *ahead)
{
    rill_sched_view view = schedule_view(e);
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

/* Reserve nodes for all items to be admitted at once, so that the domain does not enlarge and copy its tables repeatedly. The estimate is
 * about two states per paused item, which its candidates continue, plus the rows of one timestep. A large budget must not inflate the
 * estimate, and the values of a budget function are unknown. */
static rill_status reserve_expected_nodes(rill_engine *e, int32_t admit)
{
    if (e->info.state_need == RILL_STATE_PATH) return RILL_OK;
    enum { NODES_PER_ITEM = 2 };
    int64_t waiting = engine_n_waiting(e);
    int32_t admitted = admit < waiting ? admit : (int32_t)waiting, grew;
    int64_t width = e->settings.k < NODES_PER_ITEM ? e->settings.k : NODES_PER_ITEM;
    int64_t paused = admitted * width, expanding = e->schedule.budget != NULL ? 0 : e->settings.budget;
    if (expanding > paused) expanding = paused;
    int64_t expected = paused + expanding, max_nodes = memory_limit_free_nodes(e);
    return hyp_pool_reserve_nodes(&e->hyps, expected < max_nodes ? expected : max_nodes, &grew);
}

/* Move inputs from the workers' shared queue to the engine's own queue until that has up to `wanted` inputs. */
static rill_status take_from_source(rill_engine *e, int64_t wanted)
{
    input_source *source = e->input_source;
    if (source == NULL || wanted <= e->queue.n || source->n_offered == 0) return RILL_OK;
    int64_t missing = wanted - e->queue.n, count = missing < source->n_offered ? missing : source->n_offered;
    source->n_offered -= (int32_t)count;
    return source->take_inputs(source->user, e, (int32_t)count);
}

static void start_running(rill_engine *e)
{
    int32_t slot = items_pop_ready(&e->items);
    e->items.item[slot].last_expansion = e->statistics.total.expansions;
    running_append(&e->running, &e->items, slot, e->schedule.refill_index);
    tracer_item(&e->tracer, RILL_TRACE_ADMITTED, e->statistics.total.timesteps, slot, &e->items.item[slot], RILL_OK);
}

rill_status engine_admit(rill_engine *e)
{
    int32_t admit, ahead, admitted = 0;
    if ((e->settings.flush_every > 0 && flush_in_progress(e)) || engine_n_waiting(e) == 0) return RILL_OK;
    RILL__TRY(input_queue_sort(&e->queue, e->ctx));
    RILL__TRY(call_scheduler(e, &admit, &ahead));
    if (admit > 0) RILL__TRY(reserve_expected_nodes(e, admit));
    while (admitted < admit && engine_n_waiting(e) > 0) {
        int32_t missing = admit - admitted;
        if (e->items.n_ready == 0) {
            int64_t wanted = (int64_t)missing + ahead;
            RILL__TRY(take_from_source(e, wanted));
            if (e->queue.n == 0) break; /* other workers took the inputs */
            int32_t count = memory_limit_encodable(e, wanted < e->queue.n ? (int32_t)wanted : e->queue.n);
            if (count == 0) break;
            RILL__TRY(encode_inputs(e, count));
        }
        for (; admitted < admit && e->items.n_ready > 0; admitted++) start_running(e);
    }
    if (admitted > 0) {
        /* encode_inputs() has passed the nodes of reserve_expected_nodes() to the domain, unless all admitted items were encoded earlier:
         * then this call does. */
        RILL__TRY(engine_reserve_domain(e));
        e->statistics.total.refills++;
        e->schedule.refill_index++;
        e->admission.last_refill = admitted;
    }
    if (e->running.n > e->statistics.total.items_peak) e->statistics.total.items_peak = e->running.n;
    return RILL_OK;
}

/* Encode as many inputs as the last refill admitted. Nothing is encoded while items are parked, since they need all of the memory. */
rill_status engine_encode_ahead(rill_engine *e)
{
    const int32_t wanted = e->admission.last_refill;
    if (e->info.group_rows == 0 || e->items.n_ready > 0 || e->memory_limit.n_parked > 0 || e->schedule.flushing ||
        engine_n_waiting(e) == 0)
        return RILL_OK;
    RILL__TRY(input_queue_sort(&e->queue, e->ctx));
    RILL__TRY(take_from_source(e, wanted));
    const int32_t count = memory_limit_encodable(e, wanted < e->queue.n ? wanted : e->queue.n);
    return count > 0 ? encode_inputs(e, count) : RILL_OK;
}
