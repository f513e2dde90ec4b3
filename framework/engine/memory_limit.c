/* Limits on model states (KV cache entries) and encoder memory.
 *
 * An input's size is known only after encoding, so the last encoded batch may exceed the limit. */
#include <math.h>

#include "engine_internal.h"

/* --- computing the limit ------------------------------------------------------------------------------------------ */

/* Returns the advice in the error message about a limit in bytes that is too small. */
static const char *memory_advice(const rill_engine *e)
{
    return e->settings.memory > 0 ? "raise memory, or lower" : "the device has no more free: lower";
}

/* Divide the bytes that runners leave: a quarter for encoded inputs, a quarter for a timestep's rows (if they take memory), the rest for
 * states. Fixed parts make an input's success independent of others. */
static rill_status share_memory(rill_engine *e, int32_t workers)
{
    const rill_domain_info *info = &e->info;
    const char *domain = e->domain->name;
    int64_t memory = e->memory_limit.bytes;
    if (info->node_bytes <= 0)
        return rill_fail(e->ctx, RILL_ERR_OPTION,
                         "memory: domain %s does not declare the size of its states: set max-nodes instead", domain);
    if (info->runner_bytes > 0 && memory / workers <= info->runner_bytes)
        return rill_fail(e->ctx, RILL_ERR_OPTION,
                         "memory: a worker of domain %s needs %lld bytes before it decodes anything, and its share "
                         "of %lld bytes is %lld: %s the number of workers",
                         domain, (long long)info->runner_bytes, (long long)memory, (long long)(memory / workers),
                         memory_advice(e));
    if (info->runner_bytes > 0) memory -= workers * info->runner_bytes;
    const int64_t inputs = info->slot_bytes > 0 || info->slot_unit_bytes > 0 ? memory / 4 : 0;
    const int64_t work = info->row_bytes > 0 ? memory / 4 : 0, nodes_memory = memory - inputs - work;
    int64_t nodes = nodes_memory / info->node_bytes;
    if (nodes < 1)
        return rill_fail(e->ctx, RILL_ERR_OPTION,
                         "memory: %lld bytes are too few for one state of domain %s, which needs %lld; %lld are "
                         "left for states",
                         (long long)memory, domain, (long long)info->node_bytes, (long long)nodes_memory);
    if (nodes > INT32_MAX - 1) nodes = INT32_MAX - 1;
    if (e->memory_limit.max_nodes == 0 || nodes < e->memory_limit.max_nodes) e->memory_limit.max_nodes = (int32_t)nodes;
    e->memory_limit.max_slot_bytes = inputs;
    e->memory_limit.total_rows = work > 0 ? work / info->row_bytes : 0;
    e->memory_limit.max_rows = e->memory_limit.total_rows;
    return RILL_OK;
}

rill_status memory_limit_check(const rill_engine *e, const request *r)
{
    const rill_domain_info *info = &e->info;
    const int64_t k = r != NULL ? r->settings.k : e->settings.k;
    if (info->row_bytes == 0 || e->memory_limit.bytes == 0 || e->memory_limit.max_rows >= k) return RILL_OK;
    return rill_fail(
        e->ctx, RILL_ERR_OPTION,
        "memory: with beam-size %lld domain %s needs %lld bytes for a timestep, and of %lld bytes a worker has "
        "%lld for it: %s beam-size or the number of workers",
        (long long)k, e->domain->name, (long long)(k * info->row_bytes), (long long)e->memory_limit.bytes,
        (long long)(e->memory_limit.max_rows * info->row_bytes), memory_advice(e));
}

rill_status memory_limit_init(rill_engine *e, int32_t workers)
{
    e->memory_limit.max_nodes = e->settings.max_nodes < INT32_MAX ? e->settings.max_nodes : INT32_MAX - 1;
    e->memory_limit.running_window = e->settings.max_items;
    e->memory_limit.bytes = e->settings.memory > 0 ? e->settings.memory : e->info.memory_bytes;
    if (e->memory_limit.bytes > 0) RILL__TRY(share_memory(e, workers));
    if (e->memory_limit.max_nodes > 0) e->hyps.node_limit = e->memory_limit.max_nodes;
    e->memory_limit.total_nodes = e->memory_limit.max_nodes;
    e->memory_limit.total_slot_bytes = e->memory_limit.max_slot_bytes;
    e->memory_limit.n_shares = workers;
    memory_limit_use(e, 0);
    return memory_limit_check(e, NULL);
}

void memory_limit_use(rill_engine *e, int has_all)
{
    memory_limit *b = &e->memory_limit;
    const int32_t shares = has_all ? 1 : b->n_shares;
    b->has_all = has_all;
    if (b->total_nodes == 0) return;
    b->max_rows = b->total_rows / b->n_shares;
    b->max_nodes = b->total_nodes > shares ? b->total_nodes / shares : 1;
    b->max_slot_bytes = b->total_slot_bytes > shares ? b->total_slot_bytes / shares : b->total_slot_bytes;
    e->hyps.node_limit = b->max_nodes;
}

int64_t memory_limit_free_nodes(const rill_engine *e)
{
    int64_t promised = e->timesteps[0].reserved_nodes + e->timesteps[1].reserved_nodes;
    return (int64_t)e->hyps.node_limit - e->hyps.n_nodes - e->hyps.n_freed_nodes - promised;
}

/* An upper bound: the first phase makes one state per live beam entry, each later phase at most k. */
int64_t memory_limit_max_nodes(const rill_engine *e, int32_t slot)
{
    return e->items.item[slot].n_live + (int64_t)(e->info.phases - 1) * e->items.item[slot].settings->k;
}

/* --- admission of inputs ------------------------------------------------------------------------------------------ */

/* Each input is expected to need as many states as the average item in flight, and at least k. */
int32_t memory_limit_admissible(const rill_engine *e, int32_t admit)
{
    if (e->memory_limit.max_nodes == 0) return admit;
    int64_t free_nodes = memory_limit_free_nodes(e) - running_n_live(&e->running), each = e->settings.k;
    if (e->running.n > 0 && e->hyps.n_nodes / e->running.n > each) each = e->hyps.n_nodes / e->running.n;
    int64_t fit = free_nodes > 0 ? free_nodes / each : 0, window = e->memory_limit.running_window - e->running.n;
    if (fit > window) fit = window;
    if (fit < 1) fit = e->running.n == 0;
    return fit < admit ? (int32_t)fit : admit;
}

static double encoded_bytes(const rill_engine *e, double size)
{
    return (double)e->info.slot_bytes + size * (double)e->info.slot_unit_bytes;
}

double memory_limit_free_bytes(const rill_engine *e)
{
    const memory_limit *b = &e->memory_limit;
    return b->max_slot_bytes > 0 ? (double)(b->max_slot_bytes - b->used_slot_bytes) : INFINITY;
}

int memory_limit_can_encode(const rill_engine *e, int64_t size, int32_t n, double *free_bytes)
{
    const memory_limit *b = &e->memory_limit;
    const double growth = b->measured_size > 0 ? b->encoded_size / b->measured_size : 1;
    *free_bytes -= encoded_bytes(e, growth * (double)size);
    return *free_bytes >= 0 || n + e->running.n + e->items.n_ready == 0;
}

rill_status memory_limit_add_input(rill_engine *e, rill_input *input, int64_t measured)
{
    memory_limit *b = &e->memory_limit;
    item *it = &e->items.item[input->slot];
    it->slot_bytes = 0;
    if (b->max_slot_bytes == 0) return RILL_OK;
    double cost = encoded_bytes(e, (double)input->size);
    if (cost > (double)b->total_slot_bytes)
        return rill_input_fail(input, RILL_ERR_INPUT,
                               "the encoded input needs %.0f bytes, and the memory limit leaves %lld for inputs: "
                               "raise memory",
                               cost, (long long)b->total_slot_bytes);
    if (cost > (double)b->max_slot_bytes) return RILL_AGAIN;
    it->slot_bytes = (int64_t)cost;
    b->used_slot_bytes += it->slot_bytes;
    b->measured_size += (double)measured;
    b->encoded_size += (double)input->size;
    return RILL_OK;
}

/* running_window, the estimate of how many inputs fit, grows by one per running_window finished inputs. */
void memory_limit_remove_input(rill_engine *e, int32_t slot)
{
    memory_limit *b = &e->memory_limit;
    b->used_slot_bytes -= e->items.item[slot].slot_bytes;
    e->items.item[slot].slot_bytes = 0;
    if (b->running_window >= e->settings.max_items || ++b->finished_in_window < b->running_window) return;
    b->running_window++;
    b->finished_in_window = 0;
}

void memory_limit_shrink_window(rill_engine *e)
{
    int32_t fewer = e->running.n - e->running.n / 4;
    if (fewer < e->memory_limit.running_window) e->memory_limit.running_window = fewer > 1 ? fewer : 1;
    e->memory_limit.finished_in_window = 0;
}
