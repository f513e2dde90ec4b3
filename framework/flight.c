/* The flight's columns; flight.h. */
#include "flight.h"

void flight_finish(flight *f)
{
    rill_columns_free(f->ctx, &f->memory);
}

int64_t flight_live(const flight *f)
{
    int64_t live = 0;
    for (int32_t i = 0; i < f->n; i++) live += f->width[i];
    return live;
}

rill_status flight_reserve(flight *f, size_t n)
{
    const rill_array columns[] = {
        RILL_ARRAY(f->slot), RILL_ARRAY(f->timestep), RILL_ARRAY(f->width), RILL_ARRAY(f->id),      RILL_ARRAY(f->size),
        RILL_ARRAY(f->wave), RILL_ARRAY(f->marked),   RILL_ARRAY(f->order), RILL_ARRAY(f->skipped),
    };
    return rill_columns_grow(f->ctx, &f->memory, n, columns, sizeof columns / sizeof *columns, "items in flight");
}

void flight_join(flight *f, items *all, int32_t slot, int64_t wave)
{
    const item *it = &all->at[slot];
    int32_t i = f->n++;
    f->slot[i] = slot;
    f->id[i] = it->id;
    f->size[i] = it->size;
    f->wave[i] = wave;
    f->timestep[i] = it->timestep;
    f->width[i] = it->live;
    all->place[slot] = i;
}

void flight_update(flight *f, const items *all, int32_t slot)
{
    f->timestep[all->place[slot]] = all->at[slot].timestep;
    f->width[all->place[slot]] = all->at[slot].live;
}

void flight_forgive(flight *f, items *all, int32_t slot)
{
    f->n_overdue -= all->passed_over[slot] >= FLIGHT_PATIENCE;
    all->passed_over[slot] = 0;
}

int32_t flight_leave(flight *f, items *all)
{
    int32_t slot = f->slot[--f->n];
    flight_forgive(f, all, slot);
    return slot;
}

void flight_move(flight *f, items *all, int32_t to, int32_t from)
{
    f->slot[to] = f->slot[from];
    f->id[to] = f->id[from];
    f->size[to] = f->size[from];
    f->wave[to] = f->wave[from];
    f->timestep[to] = f->timestep[from];
    f->width[to] = f->width[from];
    all->place[f->slot[to]] = to;
}
