/* Two CUDA streams, and the dependencies between them.
 *
 * Slot updates (encoder graphs, vocabulary subsets, host tables) run ahead in one stream; other graphs decode in the other.
 * A decoding run waits for updates of its slots. A slot update waits for decoding runs without pending results: it may reuse rows of
 * dropped slots. */
#include "executor.h"

#include <string.h>

/* --- graphs that fill tables -------------------------------------------------------------------------------------- */

/* Find whether a graph writes tables of inputs (*fills: its runs are slot updates), and whether it uses hypothesis states (*nodes). */
static void find_table_use(const rill_network *network, const dev_graph *p, int *fills, int *nodes)
{
    *fills = 0;
    *nodes = p->n_paths > 0;
    for (size_t i = 0; i < p->n_ops; i++)
        for (size_t v = 0; v < p->op[i].n_views; v++) {
            const dev_operand *o = &p->op[i].view[v];
            if (o->base != DEV_BASE_TABLE) continue;
            *nodes |= network->table[o->element].kind == RILL_TABLE_NODES;
            *fills |= (o->use & RILL_OUT) != 0 && network->table[o->element].kind != RILL_TABLE_NODES;
        }
}

/* If a graph both writes tables of inputs and uses hypothesis states, all graphs run in one stream, because two streams would wait for each
 * other. */
void cuda_find_fill_graphs(const rill_network *network)
{
    cuda_fused_graph *fused_graph = ((cuda_network *)network->data)->graph;
    int fills, nodes, mixed = 0;
    for (size_t i = 0; i < network->n_graphs; i++) {
        find_table_use(network, &network->graph[i], &fills, &nodes);
        fused_graph[i].is_fill = fills && !nodes;
        mixed |= fills && nodes;
    }
    for (size_t i = 0; i < network->n_graphs && mixed; i++) fused_graph[i].is_fill = 0;
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

rill_status cuda_streams_open(rill_session *s)
{
    char why[GPU_ERROR_BYTES];
    const rill_network *network = s->network;
    cuda_session *cuda = s->data;
    int failed = 0;
    cuda->frame = rill_calloc(s->ctx, network->n_graphs * DEV_GROUPS + 1, sizeof *cuda->frame);
    if (cuda->frame == NULL)
        return rill_fail_memory(s->ctx, network->n_graphs * DEV_GROUPS * sizeof *cuda->frame, "a session");
    failed |= gpu_stream_open(&cuda->decode.cu_stream, cuda->gpu, why) != 0;
    failed = failed || gpu_stream_open(&cuda->fill.cu_stream, cuda->gpu, why) != 0;
    for (size_t i = 0; i < CUDA_FILL_EVENTS && !failed; i++)
        failed = gpu_event_open(&cuda->fills.event[i], cuda->gpu, why) != 0;
    for (size_t i = 0; i < network->n_graphs * DEV_GROUPS && !failed; i++)
        failed = gpu_event_open(&cuda->frame[i].event, cuda->gpu, why) != 0;
    return failed ? cuda_fail(s->ctx, network->device->name, why) : RILL_OK;
}

static void close_frame(const rill_session *s, cuda_frame *f)
{
    const cuda_session *cuda = s->data;
    gpu_free(cuda->gpu, &f->device_copy);
    gpu_pinned_free(cuda->gpu, f->pinned);
    gpu_event_close(f->event);
    rill_free(s->ctx, f->layout_memory, f->layout_capacity);
}

void cuda_streams_close(rill_session *s)
{
    cuda_session *cuda = s->data;
    cuda_fills *a = &cuda->fills;
    const size_t frames = s->network->n_graphs * DEV_GROUPS;
    for (size_t i = 0; cuda->frame != NULL && i < frames; i++) close_frame(s, &cuda->frame[i]);
    for (size_t i = 0; i < CUDA_FILL_EVENTS; i++) gpu_event_close(a->event[i]);
    gpu_pinned_free(cuda->gpu, a->staging);
    gpu_free(cuda->gpu, &cuda->decode.workspace);
    gpu_free(cuda->gpu, &cuda->fill.workspace);
    rill_free(s->ctx, a->slot_fill, a->slot_fill_capacity * sizeof *a->slot_fill);
    rill_free(s->ctx, cuda->frame, (frames + 1) * sizeof *cuda->frame);
}

/* --- updates between runs ----------------------------------------------------------------------------------------- */

static void record_fill(cuda_session *cuda)
{
    cuda->fills.n_fills++;
    gpu_event_record(cuda->fill.cu_stream, cuda->fills.event[cuda->fills.n_fills % CUDA_FILL_EVENTS]);
}

/* Make the stream of slot updates wait for decoding runs. It waits for runs with pending results only if `all`. */
static void wait_for_decoding(const rill_session *s, int all)
{
    const cuda_session *cuda = s->data;
    for (size_t i = 0; i < s->network->n_graphs * DEV_GROUPS; i++) {
        const cuda_frame *f = &cuda->frame[i];
        const int answered_later = f->group > 0 && cuda->pending[f->group - 1] != NULL;
        if (f->in_flight && f->run.lane == &cuda->decode && (all || !answered_later))
            gpu_stream_wait_event(cuda->fill.cu_stream, f->event);
    }
}

rill_status cuda_begin_staging(const rill_session *s, int32_t slot, size_t bytes, char **out)
{
    enum { MIN_STAGING = 1 << 16 };
    char why[GPU_ERROR_BYTES];
    cuda_session *cuda = s->data;
    cuda_fills *a = &cuda->fills;
    if (a->staging_bytes - a->staging_used < bytes) {
        if (gpu_stream_sync(cuda->fill.cu_stream, why) != 0) return cuda_fail(s->ctx, s->network->device->name, why);
        a->staging_used = 0;
        const rill_status status = cuda_grow_pinned(s, &a->staging, &a->staging_bytes,
                                                    bytes > MIN_STAGING ? bytes : MIN_STAGING);
        if (status != RILL_OK) return status;
    }
    wait_for_decoding(s, slot == CUDA_ALL_SLOTS);
    *out = a->staging + a->staging_used;
    a->staging_used += dev_lines(bytes) < a->staging_bytes - a->staging_used ? dev_lines(bytes)
                                                                             : a->staging_bytes - a->staging_used;
    return RILL_OK;
}

/* Grow the array of the slots' last updates. New slots have 0, which means no update. */
static rill_status grow_slot_fills(rill_session *s)
{
    cuda_fills *a = &((cuda_session *)s->data)->fills;
    const size_t old_capacity = a->slot_fill_capacity;
    const rill_status status = rill_grow(s->ctx, (void **)&a->slot_fill, &a->slot_fill_capacity, s->n_slots,
                                         sizeof *a->slot_fill, "slots");
    if (status == RILL_OK && a->slot_fill_capacity > old_capacity)
        memset(a->slot_fill + old_capacity, 0, (a->slot_fill_capacity - old_capacity) * sizeof *a->slot_fill);
    return status;
}

rill_status cuda_end_staging(rill_session *s, int32_t slot)
{
    cuda_session *cuda = s->data;
    const rill_status status = slot != CUDA_ALL_SLOTS ? grow_slot_fills(s) : RILL_OK;
    record_fill(cuda);
    if (slot == CUDA_ALL_SLOTS || status != RILL_OK)
        cuda->fills.required_fill = cuda->fills.n_fills;
    else
        cuda->fills.slot_fill[slot] = cuda->fills.n_fills;
    return status;
}

/* --- order of work on an input's rows ----------------------------------------------------------------------------- */

/* A visit of all slots of a run. If `fill` is not 0, it becomes the last update of each slot; otherwise `last` becomes the highest last
 * update. */
typedef struct slot_visit {
    cuda_run *r;
    uint64_t fill, last;
} slot_visit;

static void visit_index(slot_visit *v, int32_t index)
{
    cuda_fills *a = &v->r->cuda->fills;
    if (index == DEV_NO_INDEX || cuda_is_written(v->r->graph, index)) {
        v->last = a->n_fills;
        if (v->fill > 0) a->required_fill = v->fill;
        return;
    }
    if (v->r->visited[index]) return;
    v->r->visited[index] = 1;
    const int32_t *slot = dev_index_entries(&v->r->block, index);
    for (size_t row = 0; row < v->r->block.rows[v->r->graph->index[index].space]; row++) {
        if (slot[row] < 0) continue;
        if (v->fill > 0)
            a->slot_fill[slot[row]] = v->fill;
        else if (a->slot_fill[slot[row]] > v->last)
            v->last = a->slot_fill[slot[row]];
    }
}

/* Visit all slots of a run: in indices of ragged tables, in row indices of slot tables, and in operations. */
static void visit_slots(slot_visit *v)
{
    const dev_graph *p = v->r->graph;
    for (size_t i = 0; i < p->n_indices; i++)
        if (p->index[i].kind == DEV_INDEX_RAGGED) visit_index(v, p->index[i].a);
    for (size_t i = 0; i < p->n_ops; i++) {
        const dev_op *op = &p->op[i];
        if (op->kind != RILL_OP_EMBED && op->slot != DEV_NO_INDEX) visit_index(v, op->slot);
        for (size_t o = 0; o < op->n_views; o++)
            if (op->view[o].base == DEV_BASE_TABLE &&
                v->r->host_run.network->table[op->view[o].element].kind == RILL_TABLE_SLOTS)
                visit_index(v, op->view[o].index);
    }
}

/* --- order between streams ---------------------------------------------------------------------------------------- */

static int is_fill_run(const cuda_run *r)
{
    return r->lane == &r->cuda->fill;
}

rill_status cuda_begin_run(cuda_run *r)
{
    cuda_fills *a = &r->cuda->fills;
    const rill_status status = grow_slot_fills(r->session);
    if (status != RILL_OK) return status;
    if (is_fill_run(r)) {
        wait_for_decoding(r->session, 0);
        return RILL_OK;
    }
    slot_visit v = {.r = r, .last = a->required_fill};
    visit_slots(&v);
    if (v.last <= a->waited_fill) return RILL_OK;
    gpu_stream_wait_event(r->cu_stream, a->event[v.last % CUDA_FILL_EVENTS]);
    a->waited_fill = v.last;
    return RILL_OK;
}

void cuda_end_run(cuda_run *r)
{
    gpu_event_record(r->cu_stream, r->frame->event);
    r->frame->in_flight = 1;
    if (!is_fill_run(r)) return;
    record_fill(r->cuda);
    slot_visit v = {.r = r, .fill = r->cuda->fills.n_fills};
    visit_slots(&v);
}

/* --- collecting results ------------------------------------------------------------------------------------------- */

rill_status cuda_finish_frame(rill_session *s, cuda_frame *f)
{
    char why[GPU_ERROR_BYTES];
    cuda_session *cuda = s->data;
    const int is_pending = f->group > 0 && cuda->pending[f->group - 1] == f;
    if (!f->in_flight) return RILL_OK;
    f->in_flight = 0;
    if (is_pending) cuda->pending[f->group - 1] = NULL;
    if (gpu_event_sync(f->event, why) != 0) return cuda_fail(s->ctx, s->network->device->name, why);
    cuda_deliver_results(&f->run);
    return RILL_OK;
}

rill_status cuda_collect(rill_session *s, int32_t group)
{
    cuda_frame *f = ((cuda_session *)s->data)->pending[group];
    return f != NULL ? cuda_finish_frame(s, f) : RILL_OK;
}
