/* Two queues, and what in one comes behind what in the other.
 *
 * Programs that fill the tables of slots and touch no nodes, the encoders, run ahead, in a queue of their own, as do the lists of slots
 * and what the host writes into tables; all else decodes. What is done ahead is numbered. A run that decodes comes behind what filled
 * its slots, and need not wait for what fills others.
 *
 * A run ahead may be given rows of slots that were dropped. That nothing reads them any more is what a domain may count on (domain.h): a
 * slot is dropped when the answers of its rows are there. Runs that belong to no group which is still to be answered are waited for.
 *
 * Divisions: which programs · opening and closing · outside runs · slots · turns · answers. */
#include "executor.h"

#include <string.h>

/* --- which programs ----------------------------------------------------------------------------------------------- */

/* Whether it writes tables of slots, and touches nodes. */
static void look_at(const rill_plan *plan, const dev_program *p, int *fills, int *nodes)
{
    *fills = 0;
    *nodes = p->paths > 0;
    for (size_t i = 0; i < p->ops; i++)
        for (size_t v = 0; v < DEV_VIEWS; v++) {
            const dev_operand *o = &p->op[i].view[v];
            if (o->base != DEV_TABLE) continue;
            *nodes |= plan->table[o->of].kind == RILL_TABLE_NODES;
            *fills |= o->written && plan->table[o->of].kind != RILL_TABLE_NODES;
        }
}

/* One that fills slots while it decodes would have to be waited for: then all programs stay in one queue. */
void cuda_choose_ahead(const rill_plan *plan)
{
    cuda_program *program = ((cuda_plan *)plan->own)->program;
    int fills, nodes, mixed = 0;
    for (size_t i = 0; i < plan->programs; i++) {
        look_at(plan, &plan->program[i], &fills, &nodes);
        program[i].ahead = fills && !nodes;
        mixed |= fills && nodes;
    }
    for (size_t i = 0; i < plan->programs && mixed; i++) program[i].ahead = 0;
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

rill_status cuda_order_open(rill_stream *s)
{
    char why[GPU_TEXT];
    const rill_plan *plan = s->plan;
    cuda_stream *own = s->own;
    int failed = 0;
    own->frame = rill_calloc(s->ctx, plan->programs * DEV_GROUPS + 1, sizeof *own->frame);
    if (own->frame == NULL)
        return rill_fail_memory(s->ctx, plan->programs * DEV_GROUPS * sizeof *own->frame, "a stream");
    failed |= gpu_queue_open(&own->decode.queue, own->gpu, why) != 0;
    failed = failed || gpu_queue_open(&own->fill.queue, own->gpu, why) != 0;
    for (size_t i = 0; i < CUDA_TURNS && !failed; i++) failed = gpu_mark_open(&own->ahead.mark[i], own->gpu, why) != 0;
    for (size_t i = 0; i < plan->programs * DEV_GROUPS && !failed; i++)
        failed = gpu_mark_open(&own->frame[i].mark, own->gpu, why) != 0;
    return failed ? cuda_fail(s->ctx, plan->device->name, why) : RILL_OK;
}

static void close_frame(const rill_stream *s, cuda_frame *f)
{
    const cuda_stream *own = s->own;
    gpu_free(own->gpu, &f->twin);
    gpu_pinned_free(own->gpu, f->pinned);
    gpu_mark_close(f->mark);
    rill_free(s->ctx, f->head, f->head_room);
}

void cuda_order_close(rill_stream *s)
{
    cuda_stream *own = s->own;
    cuda_ahead *a = &own->ahead;
    const size_t frames = s->plan->programs * DEV_GROUPS;
    for (size_t i = 0; own->frame != NULL && i < frames; i++) close_frame(s, &own->frame[i]);
    for (size_t i = 0; i < CUDA_TURNS; i++) gpu_mark_close(a->mark[i]);
    gpu_pinned_free(own->gpu, a->staging);
    gpu_free(own->gpu, &own->decode.values);
    gpu_free(own->gpu, &own->fill.values);
    rill_free(s->ctx, a->filled, a->filled_room * sizeof *a->filled);
    rill_free(s->ctx, own->frame, (frames + 1) * sizeof *own->frame);
}

/* --- outside runs ------------------------------------------------------------------------------------------------- */

static void set_turn(cuda_stream *own)
{
    own->ahead.turns++;
    gpu_mark_set(own->fill.queue, own->ahead.mark[own->ahead.turns % CUDA_TURNS]);
}

/* Rows that are filled may be those of slots that are no more, and who may still read them is waited for; but not groups that are still
 * to be answered, unless all are meant. */
static void follow_decoding(const rill_stream *s, int all)
{
    const cuda_stream *own = s->own;
    for (size_t i = 0; i < s->plan->programs * DEV_GROUPS; i++) {
        const cuda_frame *f = &own->frame[i];
        const int answered_later = f->group > 0 && own->late[f->group - 1] != NULL;
        if (f->under_way && f->run.line == &own->decode && (all || !answered_later))
            gpu_follow(own->fill.queue, f->mark);
    }
}

rill_status cuda_stage(const rill_stream *s, int32_t slot, size_t bytes, char **out)
{
    enum { LEAST = 1 << 16 };
    char why[GPU_TEXT];
    cuda_stream *own = s->own;
    cuda_ahead *a = &own->ahead;
    if (a->staging_bytes - a->staged < bytes) {
        if (gpu_wait(own->fill.queue, why) != 0) return cuda_fail(s->ctx, s->plan->device->name, why);
        a->staged = 0;
        const rill_status status = cuda_pin(s, &a->staging, &a->staging_bytes, bytes > LEAST ? bytes : LEAST);
        if (status != RILL_OK) return status;
    }
    follow_decoding(s, slot == CUDA_EVERY_SLOT);
    *out = a->staging + a->staged;
    a->staged += dev_lines(bytes) < a->staging_bytes - a->staged ? dev_lines(bytes) : a->staging_bytes - a->staged;
    return RILL_OK;
}

/* Slots that are filled are known by number; more of them are none. */
static rill_status number_slots(rill_stream *s)
{
    cuda_ahead *a = &((cuda_stream *)s->own)->ahead;
    const size_t before = a->filled_room;
    const rill_status status = rill_grow(s->ctx, (void **)&a->filled, &a->filled_room, s->slots, sizeof *a->filled,
                                         "slots");
    if (status == RILL_OK && a->filled_room > before)
        memset(a->filled + before, 0, (a->filled_room - before) * sizeof *a->filled);
    return status;
}

rill_status cuda_staged(rill_stream *s, int32_t slot)
{
    cuda_stream *own = s->own;
    const rill_status status = slot != CUDA_EVERY_SLOT ? number_slots(s) : RILL_OK;
    set_turn(own);
    if (slot == CUDA_EVERY_SLOT || status != RILL_OK)
        own->ahead.needed = own->ahead.turns;
    else
        own->ahead.filled[slot] = own->ahead.turns;
    return status;
}

/* --- slots -------------------------------------------------------------------------------------------------------- */

/* What a run does with its slots: say that they are filled by that number, or find the last number of any. */
typedef struct visit {
    cuda_run *r;
    uint64_t fill, last;
} visit;

static void visit_index(visit *v, int32_t index)
{
    cuda_ahead *a = &v->r->own->ahead;
    if (index == DEV_NO_INDEX || cuda_is_written(v->r->program, index)) {
        v->last = a->turns;
        if (v->fill > 0) a->needed = v->fill;
        return;
    }
    if (v->r->seen[index]) return;
    v->r->seen[index] = 1;
    const int32_t *slot = dev_index_at(&v->r->block, index);
    for (size_t row = 0; row < v->r->block.rows[v->r->program->index[index].space]; row++) {
        if (slot[row] < 0) continue;
        if (v->fill > 0)
            a->filled[slot[row]] = v->fill;
        else if (a->filled[slot[row]] > v->last)
            v->last = a->filled[slot[row]];
    }
}

/* Slots lead to rows of ragged tables, are rows of others, or are an operation's own. */
static void visit_slots(visit *v)
{
    const dev_program *p = v->r->program;
    for (size_t i = 0; i < p->indices; i++)
        if (p->index[i].kind == DEV_IN) visit_index(v, p->index[i].a);
    for (size_t i = 0; i < p->ops; i++) {
        const dev_op *op = &p->op[i];
        if (op->kind != DEV_EMBED && op->slot != DEV_NO_INDEX) visit_index(v, op->slot);
        for (size_t o = 0; o < DEV_VIEWS; o++)
            if (op->view[o].base == DEV_TABLE && v->r->inner.plan->table[op->view[o].of].kind == RILL_TABLE_SLOTS)
                visit_index(v, op->view[o].index);
    }
}

/* --- turns -------------------------------------------------------------------------------------------------------- */

static int is_ahead(const cuda_run *r)
{
    return r->line == &r->own->fill;
}

rill_status cuda_begin_turn(cuda_run *r)
{
    cuda_ahead *a = &r->own->ahead;
    const rill_status status = number_slots(r->stream);
    if (status != RILL_OK) return status;
    if (is_ahead(r)) {
        follow_decoding(r->stream, 0);
        return RILL_OK;
    }
    visit v = {.r = r, .last = a->needed};
    visit_slots(&v);
    if (v.last <= a->followed) return RILL_OK;
    gpu_follow(r->queue, a->mark[v.last % CUDA_TURNS]);
    a->followed = v.last;
    return RILL_OK;
}

void cuda_end_turn(cuda_run *r)
{
    gpu_mark_set(r->queue, r->frame->mark);
    r->frame->under_way = 1;
    if (!is_ahead(r)) return;
    set_turn(r->own);
    visit v = {.r = r, .fill = r->own->ahead.turns};
    visit_slots(&v);
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

rill_status cuda_finish(rill_stream *s, cuda_frame *f)
{
    char why[GPU_TEXT];
    cuda_stream *own = s->own;
    const int late = f->group > 0 && own->late[f->group - 1] == f;
    if (!f->under_way) return RILL_OK;
    f->under_way = 0;
    if (late) own->late[f->group - 1] = NULL;
    if (gpu_mark_wait(f->mark, why) != 0) return cuda_fail(s->ctx, s->plan->device->name, why);
    cuda_deliver(&f->run);
    return RILL_OK;
}

rill_status cuda_collect(rill_stream *s, int32_t group)
{
    cuda_frame *f = ((cuda_stream *)s->own)->late[group];
    return f != NULL ? cuda_finish(s, f) : RILL_OK;
}
