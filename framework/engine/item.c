/* Keeps the inputs in flight, their slots, and the domain's memory for slots and states; declared in item.h and engine_internal.h. */
#include "engine_internal.h"

/* --- slots of items ----------------------------------------------------------------------------------------------- */

void items_finish(items *all)
{
    for (size_t slot = 0; slot < all->memory.capacity; slot++) {
        item *it = &all->item[slot];
        rill_free(all->ctx, it->beam, it->beam_capacity * sizeof *it->beam);
        rill_free(all->ctx, it->outputs, it->outputs_capacity * sizeof *it->outputs);
        rill_free(all->ctx, it->fail_reason.data, it->fail_reason.capacity);
        for (int i = 0; search_variants[i] != NULL; i++)
            if (search_variants[i]->free_item != NULL) search_variants[i]->free_item(all->ctx, it);
    }
    rill_columns_free(all->ctx, &all->memory);
}

rill_status items_reserve(items *all, int32_t need)
{
    const rill_array columns[] = {RILL_ARRAY(all->item),          RILL_ARRAY(all->done),
                                  RILL_ARRAY(all->busy),          RILL_ARRAY(all->passed_over),
                                  RILL_ARRAY(all->running_index), RILL_ARRAY(all->free_slots),
                                  RILL_ARRAY(all->ready)};
    size_t old = all->memory.capacity;
    if (all->n_free_slots >= need) return RILL_OK;
    RILL__TRY(
        RILL__GROW_COLUMNS(all->ctx, &all->memory, old - (size_t)all->n_free_slots + (size_t)need, columns, "slots"));
    for (size_t slot = all->memory.capacity; slot > old; slot--)
        all->free_slots[all->n_free_slots++] = (int32_t)slot - 1;
    return RILL_OK;
}

int32_t items_take_slot(items *all)
{
    return all->free_slots[--all->n_free_slots];
}

void items_free_slot(items *all, int32_t slot)
{
    all->free_slots[all->n_free_slots++] = slot;
}

/* --- beam of an input --------------------------------------------------------------------------------------------- */

rill_status items_begin(items *all, hyp_pool *f, int32_t slot)
{
    enum { FIRST_ENTRIES = 16 }; /* initial beam capacity; most beams widen to k */
    item *it = &all->item[slot];
    const int32_t first = it->settings->k < FIRST_ENTRIES ? it->settings->k : FIRST_ENTRIES;
    RILL__TRY(RILL__GROW(all->ctx, it->beam, it->beam_capacity, (size_t)first, "a beam"));
    RILL__TRY(hyp_pool_reserve(f, 1, 1));
    hyp_arena_init(&it->arena);
    int32_t root = hyp_pool_add(f, &it->arena, -1, -1, RILL_ACTION_START, 0, 0, 1);
    it->timestep = it->n_outputs = it->best_has_ended = 0;
    it->best_output_score = it->abandoned_bound = it->abandoned_path_score = RILL_SCORE_DEAD;
    it->best_ended.hyp = -1;
    it->owner = NULL;
    it->first_phase = 0;
    it->stop_requested = it->timed_out = it->cancelled = it->leaves = it->dropped_truncated = 0;
    it->blocked_by = 0;
    it->n_outputs_made = 0;
    it->failed = RILL_OK;
    it->fail_reason.ctx = all->ctx;
    rill_text_reset(&it->fail_reason);
    all->done[slot] = all->busy[slot] = all->passed_over[slot] = 0;
    it->beam[0] = (beam_entry){.hyp = root, .action = RILL_ACTION_START, .state_parent = RILL_NO_NODE};
    it->width = it->n_live = 1;
    return RILL_OK;
}

void items_clear(items *all, hyp_pool *f, int32_t slot)
{
    item *it = &all->item[slot];
    int searched = 0;
    FOR_VARIANTS (v, it->variants, clear) searched |= v->clear(it);
    hyp_arena_free(f, &it->arena, f->state_need == RILL_STATE_PATH || it->width > 0 || searched);
    it->width = it->n_live = it->n_outputs = 0;
    it->best_ended.hyp = -1;
}

int item_output_compare(const void *left, const void *right)
{
    const item_output *a = left, *b = right;
    if (a->final_score != b->final_score) return a->final_score > b->final_score ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* --- ready inputs: encoded, not admitted yet ---------------------------------------------------------------------- */

void items_push_ready(items *all, int32_t slot, int first)
{
    int32_t *place = all->ready + (first ? 0 : all->n_ready);
    memmove(place + 1, place, (size_t)(all->ready + all->n_ready++ - place) * sizeof *place);
    *place = slot;
}

void items_remove_ready(items *all, int32_t slot)
{
    int32_t *place = all->ready;
    while (*place != slot) place++;
    memmove(place, place + 1, (size_t)(all->ready + --all->n_ready - place) * sizeof *place);
}

void items_drop_ready(items *all, int32_t n)
{
    all->n_ready -= n;
    memmove(all->ready, all->ready + n, (size_t)all->n_ready * sizeof *all->ready);
}

/* --- columns of inputs in flight ---------------------------------------------------------------------------------- */

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
    return RILL__GROW_COLUMNS(f->ctx, &f->memory, n, columns, "items in flight");
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

void running_copy(running_items *list, int32_t to, const running_items *other, int32_t from)
{
    list->slot[to] = other->slot[from];
    list->id[to] = other->id[from];
    list->size[to] = other->size[from];
    list->refill_index[to] = other->refill_index[from];
    list->timestep[to] = other->timestep[from];
    list->width[to] = other->width[from];
}

void running_move(running_items *f, items *all, int32_t to, int32_t from)
{
    running_copy(f, to, f, from);
    all->running_index[f->slot[to]] = to;
}

void running_remove(running_items *f, items *all, int32_t place)
{
    running_clear_overdue(f, all, f->slot[place]);
    for (int32_t i = place + 1; i < f->n; i++) running_move(f, all, i - 1, i);
    f->n--;
}

/* --- the domain's memory, failures of single inputs --------------------------------------------------------------- */

rill_status engine_reserve_domain(rill_engine *e)
{
    int32_t nodes = e->hyps.node_capacity, slots = (int32_t)e->items.memory.capacity;
    rill__reserved *reserved = e->runner.reserved;
    if (nodes <= reserved->nodes && slots <= reserved->slots) return RILL_OK;
    /* A domain's capacities must not shrink: keep what an earlier engine on the same model reserved. */
    if (nodes < reserved->nodes) nodes = reserved->nodes;
    if (slots < reserved->slots) slots = reserved->slots;
    statistics_end_stage(&e->statistics, &e->statistics.current.choose);
    rill_error_clear(e->ctx);
    RILL__TRY(rill__domain_status(e->ctx, e->domain, e->domain->reserve(e->self, nodes, slots), "reserve"));
    statistics_end_stage(&e->statistics, &e->statistics.current.encode);
    *reserved = (rill__reserved){nodes, slots};
    return RILL_OK;
}

void engine_free_nodes(rill_engine *e)
{
    if (e->hyps.n_freed_nodes > 0 && e->domain->free != NULL)
        e->domain->free(e->self, e->hyps.n_freed_nodes, e->hyps.freed_nodes);
    hyp_pool_recycle_nodes(&e->hyps);
}

int engine_is_input_error(rill_status status)
{
    return status < 0 && status != RILL_ERR_MEMORY && status != RILL_ERR_STOPPED && status != RILL_ERR_CHECK;
}

void engine_mark_cancelled(rill_engine *e, item *it)
{
    e->items.n_cancelled += !it->cancelled;
    it->cancelled = 1;
}

rill_status engine_fail_selected(rill_engine *e, int32_t slot, rill_status status, const char *message)
{
    item *it = &e->items.item[slot];
    if (it->failed < 0) return RILL_OK;
    rill_text_reset(&it->fail_reason);
    RILL__TRY(rill_text_append(&it->fail_reason, message, strlen(message)));
    it->failed = status;
    engine_mark_cancelled(e, it);
    return RILL_OK;
}
