/* Preempts items (inputs in flight) when the limit on model states (KV cache entries, memory_limit.c) leaves too few:
 *
 *   1. Items whose new states do not fit pause, and keep their states.
 *   2. If not even the oldest item fits, the youngest are preempted: their states are freed, and they restart from their encoded inputs.
 *   3. If the only item does not fit, its input fails; with several workers it first restarts with the whole limit (input_queue.h).
 *
 * Outputs do not change. Every run ends, because the oldest item always advances. */
#include <stdio.h>

#include "engine_internal.h"

/* Take the last admitted input out of flight; its search will restart. */
static int32_t pop_last(rill_engine *e)
{
    const int32_t place = e->running.n - 1, slot = e->running.slot[place];
    running_remove(&e->running, &e->items, place);
    tracer_item(e, RILL_TRACE_RESTARTED, slot, RILL_OK);
    e->statistics.total.restarted++;
    statistics_remove_item(&e->statistics, &e->items.item[slot]);
    return slot;
}

/* No more states fit: finish the only input in flight with the outputs that a search variant has found. */
static rill_status finish_with_found(rill_engine *e)
{
    const int32_t slot = e->running.slot[e->running.n - 1];
    const rill_status status = engine_finish_item(e, slot);
    if (status < 0) return status; /* the run has failed: rill_engine_destroy() frees the input */
    running_remove(&e->running, &e->items, e->running.n - 1);
    engine_free_nodes(e);
    if (status != RILL_AGAIN) return status;
    /* the item stays, because a scorer requested another search of its input */
    items_push_ready(&e->items, slot, 1);
    return RILL_OK;
}

/* The new states of the only item do not fit: its input returns to the queue, finishes, or fails. */
static rill_status handle_alone(rill_engine *e)
{
    if (e->memory_limit.max_nodes < e->memory_limit.total_nodes) return engine_give_back_item(e, pop_last(e));
    int32_t slot = e->running.slot[0];
    FOR_VARIANTS (v, e->items.item[slot].variants, out_of_memory)
        if (v->out_of_memory(e, &e->items.item[slot])) return finish_with_found(e);
    const item *it = &e->items.item[slot];
    char message[256];
    const int by_nodes = e->memory_limit.bytes == 0 || e->memory_limit.max_nodes == e->settings.max_nodes;
    const int by_device = !by_nodes && e->settings.memory == 0;
    snprintf(message, sizeof message,
             "the search holds %d states and needs %lld more at timestep %d; %s allows %d in all: %s beam-size",
             e->hyps.n_nodes, (long long)memory_limit_max_nodes(e, slot), it->timestep,
             by_nodes    ? "max-nodes"
             : by_device ? "the device's free memory"
                         : "memory",
             e->memory_limit.max_nodes, by_device ? "lower" : "raise it, or lower");
    return engine_fail_item(e, slot, 0, RILL_ERR_INPUT, message);
}

rill_status engine_preempt(rill_engine *e)
{
    while (memory_limit_free_nodes(e) < memory_limit_max_nodes(e, e->running.slot[0])) {
        if (e->running.n == 1) return handle_alone(e);
        /* free the states of the input that was admitted last, and make it the first ready input, with its initial beam */
        const int32_t slot = pop_last(e);
        items_clear(&e->items, &e->hyps, slot);
        engine_free_nodes(e);
        items_push_ready(&e->items, slot, 1);
        RILL__TRY(items_begin(&e->items, &e->hyps, slot));
    }
    return RILL_OK;
}
