/* The bound on memory: how many states there may be at once, and what is done when they are too few.
 *
 * Nobody knows how many states an item will need: its beam may stay narrow or fill, end soon or run to the limit. So items are
 * admitted while they seem to fit, and what happens when they outgrow the bound is:
 *
 *   1. What the policy chose is expanded if it fits. Else the oldest items in flight are, as many as fit; the others pause
 *      with what they have.
 *   2. When not even the oldest fits, the youngest are sent back: their states go, their encoded inputs stay, and they begin
 *      anew when they are admitted again, before all that wait. The oldest is never sent back.
 *   3. When the oldest is alone and does not fit, its input fails, and nothing else. An engine that is one of several workers has a
 *      share of the bound: there the item is set aside first, and begins anew when the engine has all of the bound for itself.
 *
 * No answer changes: an item's search depends on that item alone, so one that begins anew comes to what it would have come
 * to. And whether an input fails depends on that input alone, not on the schedule: it fails at the timestep for which its own
 * states and those to be made are more than the bound.
 *
 * Every run ends. A timestep under 1 advances some item, and takes nothing from any. One under 2 advances the item at the
 * head of the flight, which stays there until it is finished, since items join behind it and only the last are sent back. So
 * each item at the head sees at most its own length of timesteps in which others lose work; between two of these all of
 * them advance only, and their lengths are bounded too.
 *
 * Inputs in flight take memory of their own, which the domain tells by their size. It is known once they are encoded, so how
 * many to encode is guessed from the sizes before: by the last batch encoded the bound may be exceeded.
 *
 * Divisions: the bound · admission · too few states. */
#include <stdio.h>
#include <string.h>

#include "rooms.h"

/* --- the bound ---------------------------------------------------------------------------------------------------- */

/* Of `memory`, less what the runners of all workers take in any case, a quarter is for inputs where these take any, a quarter for the rows
 * of timesteps where these do, and states have the rest: fixed shares, so that whether an input's search fits does not depend on which
 * inputs are in flight with it. */
static rill_status share_memory(rill_engine *e, int32_t workers)
{
    const rill_domain_info *info = &e->info;
    const char *domain = e->domain->name;
    int64_t memory = e->settings.memory;
    if (info->node_bytes <= 0)
        return rill_fail(e->ctx, RILL_ERR_OPTION,
                         "memory: domain %s does not say what its states take: set max-nodes instead", domain);
    if (info->runner_bytes > 0 && memory / workers <= info->runner_bytes)
        return rill_fail(e->ctx, RILL_ERR_OPTION,
                         "memory: a worker of domain %s takes %lld bytes whatever it decodes, and of %lld bytes it has "
                         "%lld: raise memory, or lower the number of workers",
                         domain, (long long)info->runner_bytes, (long long)memory, (long long)(memory / workers));
    if (info->runner_bytes > 0) memory -= workers * info->runner_bytes;
    const int64_t inputs = info->slot_bytes > 0 || info->slot_unit_bytes > 0 ? memory / 4 : 0;
    const int64_t work = info->row_bytes > 0 ? memory / 4 : 0, nodes_memory = memory - inputs - work;
    int64_t nodes = nodes_memory / info->node_bytes;
    if (nodes < 1)
        return rill_fail(e->ctx, RILL_ERR_OPTION,
                         "memory: %lld bytes hold no state of domain %s, which takes %lld of the %lld there are for "
                         "states",
                         (long long)memory, domain, (long long)info->node_bytes, (long long)nodes_memory);
    if (nodes > INT32_MAX - 1) nodes = INT32_MAX - 1;
    if (e->bound.nodes == 0 || nodes < e->bound.nodes) e->bound.nodes = (int32_t)nodes;
    e->bound.slot_bytes = inputs;
    e->bound.all_rows = work > 0 ? work / info->row_bytes : 0;
    e->bound.rows = e->bound.all_rows;
    return RILL_OK;
}

rill_status bound_check(const rill_engine *e, const request *r)
{
    const rill_domain_info *info = &e->info;
    const int64_t k = r != NULL ? r->settings.k : e->settings.k;
    if (info->row_bytes == 0 || e->settings.memory == 0 || e->bound.rows >= k) return RILL_OK;
    return rill_fail(
        e->ctx, RILL_ERR_OPTION,
        "memory: k %lld and domain %s take %lld bytes for a timestep, and of %lld bytes a worker has %lld for "
        "it: raise memory, or lower k or the number of workers",
        (long long)k, e->domain->name, (long long)(k * info->row_bytes), (long long)e->settings.memory,
        (long long)(e->bound.rows * info->row_bytes));
}

rill_status bound_init(rill_engine *e, int32_t workers)
{
    e->bound.nodes = e->settings.max_nodes < INT32_MAX ? e->settings.max_nodes : INT32_MAX - 1;
    e->bound.window = e->settings.max_items;
    if (e->settings.memory > 0) RILL__TRY(share_memory(e, workers));
    if (e->bound.nodes > 0) e->forest.node_limit = e->bound.nodes;
    e->bound.all_nodes = e->bound.nodes;
    e->bound.all_slot_bytes = e->bound.slot_bytes;
    bound_narrow(e, workers);
    return bound_check(e, NULL);
}

void bound_narrow(rill_engine *e, int32_t shares)
{
    bound *b = &e->bound;
    b->shares = shares;
    if (b->all_nodes == 0) return;
    b->rows = b->all_rows / shares;
    b->nodes = b->all_nodes > shares ? b->all_nodes / shares : 1;
    b->slot_bytes = b->all_slot_bytes > shares ? b->all_slot_bytes / shares : b->all_slot_bytes;
    e->forest.node_limit = b->nodes;
}

void bound_widen(rill_engine *e)
{
    bound *b = &e->bound;
    b->nodes = b->all_nodes;
    b->slot_bytes = b->all_slot_bytes;
    e->forest.node_limit = b->nodes;
    bound_unpark(e);
}

int64_t bound_free(const rill_engine *e)
{
    int64_t promised = e->step[0].promised + e->step[1].promised;
    return (int64_t)e->forest.node_limit - e->forest.nodes - e->forest.n_freed - promised;
}

/* A node per live candidate, and in each later phase one per candidate of a full beam. */
int64_t bound_need(const rill_engine *e, int32_t slot)
{
    return e->items.at[slot].live + (int64_t)(e->info.phases - 1) * e->items.at[slot].settings->k;
}

/* --- admission ---------------------------------------------------------------------------------------------------- */

/* One that comes in is taken to need as much as those in flight have on average, and a full beam at least. */
int32_t bound_admit(const rill_engine *e, int32_t admit)
{
    if (e->bound.nodes == 0) return admit;
    int64_t left = bound_free(e) - flight_live(&e->flight), each = e->settings.k;
    if (e->flight.n > 0 && e->forest.nodes / e->flight.n > each) each = e->forest.nodes / e->flight.n;
    int64_t fit = left > 0 ? left / each : 0, window = e->bound.window - e->flight.n;
    if (fit > window) fit = window;
    if (fit < 1) fit = e->flight.n == 0;
    return fit < admit ? (int32_t)fit : admit;
}

static double slot_cost(const rill_engine *e, double size)
{
    return (double)e->info.slot_bytes + size * (double)e->info.slot_unit_bytes;
}

int32_t bound_encode(const rill_engine *e, int32_t count)
{
    const bound *b = &e->bound;
    if (b->slot_bytes == 0) return count;
    double left = (double)(b->slot_bytes - b->used_bytes), grows = b->measured > 0 ? b->encoded / b->measured : 1;
    int32_t n = 0;
    while (n < count) {
        left -= slot_cost(e, grows * (double)e->intake.entries[intake_at(&e->intake, n)].size);
        if (left < 0) break;
        n++;
    }
    return n == 0 && e->flight.n + e->items.n_ready == 0 ? 1 : n;
}

rill_status bound_encoded(rill_engine *e, rill_input *input, int64_t measured)
{
    bound *b = &e->bound;
    item *it = &e->items.at[input->slot];
    it->slot_bytes = 0;
    if (b->slot_bytes == 0) return RILL_OK;
    double cost = slot_cost(e, (double)input->size);
    if (cost > (double)b->all_slot_bytes)
        return rill_input_fail(input, RILL_ERR_INPUT,
                               "the encoded input takes %.0f bytes, and memory leaves %lld to inputs: raise memory",
                               cost, (long long)b->all_slot_bytes);
    it->slot_bytes = (int64_t)cost;
    b->used_bytes += it->slot_bytes;
    b->measured += (double)measured;
    b->encoded += (double)input->size;
    return cost > (double)b->slot_bytes ? RILL_AGAIN : RILL_OK;
}

/* The window opens by one place for each of its length that finished, and closes when states were too few. */
void bound_dropped(rill_engine *e, int32_t slot)
{
    bound *b = &e->bound;
    b->used_bytes -= e->items.at[slot].slot_bytes;
    e->items.at[slot].slot_bytes = 0;
    if (b->window >= e->settings.max_items || ++b->finished < b->window) return;
    b->window++;
    b->finished = 0;
}

/* --- too few states ----------------------------------------------------------------------------------------------- */

void bound_pressed(rill_engine *e)
{
    int32_t fewer = e->flight.n - e->flight.n / 4;
    if (fewer < e->bound.window) e->bound.window = fewer > 1 ? fewer : 1;
    e->bound.finished = 0;
}

/* The item in flight that came last gives up its states and leaves, to begin anew. */
static rill_status begin_anew(rill_engine *e, void (*put)(rill_engine *e, int32_t slot))
{
    int32_t slot = flight_leave(&e->flight, &e->items);
    tracing_item(&e->tracing, RILL_TRACE_SENT_BACK, e->statistics.all.timesteps, slot, &e->items.at[slot], RILL_OK);
    e->statistics.all.sent_back++;
    statistics_forget(&e->statistics, &e->items.at[slot]);
    items_clear(&e->items, &e->forest, slot);
    engine_free_nodes(e);
    put(e, slot);
    return items_begin(&e->items, &e->forest, slot);
}

static void ready_first(rill_engine *e, int32_t slot)
{
    items_ready_first(&e->items, slot);
}

void bound_park(rill_engine *e, int32_t slot)
{
    e->items.at[slot].next = e->bound.last_parked;
    e->bound.last_parked = slot;
    e->bound.n_parked++;
}

void bound_unpark(rill_engine *e)
{
    for (; e->bound.n_parked > 0; e->bound.n_parked--) {
        int32_t slot = e->bound.last_parked;
        e->bound.last_parked = e->items.at[slot].next;
        items_ready_first(&e->items, slot);
    }
}

void bound_not_parked(rill_engine *e, int32_t slot)
{
    int32_t *at = &e->bound.last_parked;
    while (*at != slot) at = &e->items.at[*at].next;
    *at = e->items.at[slot].next;
    e->bound.n_parked--;
}

/* The item, which is alone, has what exact search has found for it so far. */
static rill_status finish_as_is(rill_engine *e)
{
    int32_t slot = flight_leave(&e->flight, &e->items);
    rill_status status = engine_finish_item(e, slot);
    engine_free_nodes(e);
    if (status != RILL_AGAIN) return status;
    items_ready_first(&e->items, slot); /* scorers want it once more */
    return RILL_OK;
}

/* The item is alone and does not fit. */
static rill_status give_up(rill_engine *e)
{
    if (e->bound.nodes < e->bound.all_nodes) return begin_anew(e, bound_park);
    int32_t slot = e->flight.slot[0];
    if (engine_exact_give_up(e, &e->items.at[slot])) return finish_as_is(e);
    const item *it = &e->items.at[slot];
    char message[256];
    snprintf(
        message, sizeof message,
        "its search holds %d states and needs %lld more at timestep %d, and %s allows %d in all: raise it, or lower k",
        e->forest.nodes, (long long)bound_need(e, slot), it->timestep,
        e->settings.memory == 0 || e->bound.nodes == e->settings.max_nodes ? "max-nodes" : "memory", e->bound.nodes);
    flight_leave(&e->flight, &e->items);
    tracing_item(&e->tracing, RILL_TRACE_FINISHED, e->statistics.all.timesteps, slot, it, RILL_ERR_INPUT);
    statistics_forget(&e->statistics, it);
    RILL__TRY(engine_fail_input(e, it->id, it->request, RILL_ERR_INPUT, message));
    engine_drop_item(e, slot);
    engine_free_nodes(e);
    return RILL_OK;
}

rill_status bound_make_room(rill_engine *e)
{
    while (bound_free(e) < bound_need(e, e->flight.slot[0])) {
        if (e->flight.n == 1) return give_up(e);
        RILL__TRY(begin_anew(e, ready_first));
    }
    return RILL_OK;
}
