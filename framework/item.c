/* Items and their slots; item.h.
 *
 * Divisions: slots · beams · the ready. */
#include "item.h"

/* --- slots -------------------------------------------------------------------------------------------------------- */

void items_init(items *all, rill_context *ctx)
{
    *all = (items){.ctx = ctx, .first_ready = -1, .last_ready = -1};
}

void items_finish(items *all)
{
    for (size_t slot = 0; slot < all->memory.capacity; slot++) {
        item *it = &all->at[slot];
        rill_free(all->ctx, it->beam, it->beam_capacity * sizeof *it->beam);
        rill_free(all->ctx, it->outputs, it->outputs_capacity * sizeof *it->outputs);
        rill_free(all->ctx, it->refused.data, it->refused.capacity);
        exact_finish(&it->exact, all->ctx);
    }
    rill_columns_free(all->ctx, &all->memory);
}

rill_status items_reserve(items *all, int32_t need)
{
    const rill_array columns[] = {RILL_ARRAY(all->at),          RILL_ARRAY(all->done),  RILL_ARRAY(all->busy),
                                  RILL_ARRAY(all->passed_over), RILL_ARRAY(all->place), RILL_ARRAY(all->free)};
    size_t old = all->memory.capacity;
    if (all->n_free >= need) return RILL_OK;
    RILL__TRY(rill_columns_grow(all->ctx, &all->memory, old - (size_t)all->n_free + (size_t)need, columns,
                                sizeof columns / sizeof *columns, "slots"));
    for (size_t slot = all->memory.capacity; slot > old; slot--) all->free[all->n_free++] = (int32_t)slot - 1;
    return RILL_OK;
}

int32_t items_take_slot(items *all)
{
    return all->free[--all->n_free];
}

void items_give_slot(items *all, int32_t slot)
{
    all->free[all->n_free++] = slot;
}

/* --- beams -------------------------------------------------------------------------------------------------------- */

rill_status items_begin(items *all, forest *f, int32_t slot)
{
    enum { FIRST_ENTRIES = 16 }; /* of a beam, which mostly widens to k */
    item *it = &all->at[slot];
    const int32_t first = it->settings->k < FIRST_ENTRIES ? it->settings->k : FIRST_ENTRIES;
    RILL__TRY(RILL__GROW(all->ctx, it->beam, it->beam_capacity, (size_t)first, "a beam"));
    RILL__TRY(forest_reserve_histories(f, 1, 1));
    forest_arena_init(&it->arena);
    int32_t root = forest_add(f, &it->arena, -1, -1, RILL_ACTION_START, 0, 0, 1);
    it->timestep = it->n_outputs = it->top_ended = 0;
    it->best_output = it->abandoned = it->lost = RILL_SCORE_DEAD;
    it->best_ended.history = -1;
    it->exact.on = it->exact.over = 0;
    it->stop_asked = it->late = it->cancelled = it->cut = 0;
    it->blamed = 0;
    it->outputs_made = 0;
    it->failed = RILL_OK;
    it->refused.ctx = all->ctx;
    rill_text_reset(&it->refused);
    all->done[slot] = all->busy[slot] = all->passed_over[slot] = 0;
    it->beam[0] = (beam_entry){.history = root, .action = RILL_ACTION_START, .state_node = RILL_NO_NODE};
    it->width = it->live = 1;
    return RILL_OK;
}

void items_clear(items *all, forest *f, int32_t slot)
{
    item *it = &all->at[slot];
    const int searched = exact_forget(&it->exact);
    forest_arena_drop(f, &it->arena, f->need == RILL_STATE_PATH || it->width > 0 || searched);
    it->width = it->live = it->n_outputs = 0;
    it->best_ended.history = -1;
}

int item_in_output_order(const void *left, const void *right)
{
    const item_output *a = left, *b = right;
    if (a->rank != b->rank) return a->rank > b->rank ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* --- the ready ---------------------------------------------------------------------------------------------------- */

void items_ready_last(items *all, int32_t slot)
{
    all->at[slot].next = -1;
    if (all->n_ready++ == 0)
        all->first_ready = slot;
    else
        all->at[all->last_ready].next = slot;
    all->last_ready = slot;
}

void items_ready_first(items *all, int32_t slot)
{
    all->at[slot].next = all->first_ready;
    if (all->n_ready++ == 0) all->last_ready = slot;
    all->first_ready = slot;
}

void items_not_ready(items *all, int32_t slot)
{
    int32_t before = -1, at = all->first_ready;
    for (; at != slot; at = all->at[at].next) before = at;
    if (before < 0)
        all->first_ready = all->at[slot].next;
    else
        all->at[before].next = all->at[slot].next;
    if (all->last_ready == slot) all->last_ready = before;
    all->n_ready--;
}

int32_t items_next_ready(items *all)
{
    int32_t slot = all->first_ready;
    items_not_ready(all, slot);
    return slot;
}
