/* Columns of the running items; running.h. */
#include "running.h"

void running_finish(running_items *f)
{
    rill_columns_free(f->ctx, &f->memory);
}

int64_t running_n_live(const running_items *f)
{
    int64_t live = 0;
    for (int32_t i = 0; i < f->n; i++) live += f->width[i];
    return live;
}

rill_status running_reserve(running_items *f, size_t n)
{
    const rill_array columns[] = {
        RILL_ARRAY(f->slot),  RILL_ARRAY(f->timestep), RILL_ARRAY(f->width),
        RILL_ARRAY(f->id),    RILL_ARRAY(f->size),     RILL_ARRAY(f->refill_index),
        RILL_ARRAY(f->marks), RILL_ARRAY(f->order),    RILL_ARRAY(f->skipped_index),
    };
    return rill_columns_grow(f->ctx, &f->memory, n, columns, sizeof columns / sizeof *columns, "items in flight");
}

void running_append(running_items *f, items *all, int32_t slot, int64_t refill_index)
{
    const item *it = &all->item[slot];
    int32_t i = f->n++;
    f->slot[i] = slot;
    f->id[i] = it->id;
    f->size[i] = it->size;
    f->refill_index[i] = refill_index;
    f->timestep[i] = it->timestep;
    f->width[i] = it->n_live;
    all->running_index[slot] = i;
}

void running_update(running_items *f, const items *all, int32_t slot)
{
    f->timestep[all->running_index[slot]] = all->item[slot].timestep;
    f->width[all->running_index[slot]] = all->item[slot].n_live;
}

void running_clear_overdue(running_items *f, items *all, int32_t slot)
{
    f->n_overdue -= all->passed_over[slot] >= RUNNING_MAX_SKIPS;
    all->passed_over[slot] = 0;
}

int32_t running_pop_last(running_items *f, items *all)
{
    int32_t slot = f->slot[--f->n];
    running_clear_overdue(f, all, slot);
    return slot;
}

void running_move(running_items *f, items *all, int32_t to, int32_t from)
{
    f->slot[to] = f->slot[from];
    f->id[to] = f->id[from];
    f->size[to] = f->size[from];
    f->refill_index[to] = f->refill_index[from];
    f->timestep[to] = f->timestep[from];
    f->width[to] = f->width[from];
    all->running_index[f->slot[to]] = to;
}
