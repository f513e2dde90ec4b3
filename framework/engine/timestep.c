/* A timestep's memory; timestep.h. */
#include "search_variant.h"

void timestep_init(timestep *t, rill_context *ctx, const rill_domain_info *info, int32_t group)
{
    *t = (timestep){.ctx = ctx, .group = group};
    for (int i = 0; i < 2; i++) {
        modifiers_init(&t->rounds[i].modifiers, ctx, info->actions);
        topk_init(&t->rounds[i].topk, ctx, info);
    }
}

int merge_head_compare(const void *left, const void *right)
{
    const merge_head *a = left, *b = right;
    if (a->path_score != b->path_score) return a->path_score > b->path_score ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->choice != b->choice) return a->choice < b->choice ? -1 : 1;
    return (a->bank > b->bank) - (a->bank < b->bank); /* two groups chose the same child */
}

void timestep_finish(timestep *t)
{
    for (int i = 0; i < 2; i++) {
        modifiers_finish(&t->rounds[i].modifiers);
        topk_finish(&t->rounds[i].topk);
    }
    for (int i = 0; search_variants[i] != NULL; i++)
        if (search_variants[i]->free_timestep != NULL) search_variants[i]->free_timestep(t);
    rill_columns_free(t->ctx, &t->trace.memory);
    rill_free(t->ctx, t->trace.dropped, t->trace.dropped_capacity * sizeof *t->trace.dropped);
    rill_free(t->ctx, t->trace.hypotheses, t->trace.hypotheses_capacity * sizeof *t->trace.hypotheses);
    rill_free(t->ctx, t->selected, t->selected_capacity * sizeof *t->selected);
    rill_free(t->ctx, t->row_block, t->row_bytes);
    rill_free(t->ctx, t->child_block, t->child_bytes);
}

#define CARVE(pointer, n) (pointer) = rill_carve(c, (n), sizeof *(pointer))

static void lay_out_rows(row_table *r, rill_carver *c, size_t rows)
{
    CARVE(r->node, rows);
    CARVE(r->parent, rows);
    CARVE(r->state_parent, rows);
    CARVE(r->action, rows);
    CARVE(r->slot, rows);
    CARVE(r->depth, rows);
    CARVE(r->hyp, rows);
    CARVE(r->rank, rows);
    CARVE(r->item, rows);
    CARVE(r->item_id, rows);
    CARVE(r->path_score, rows);
}

static void lay_out_children(timestep *t, rill_carver *c, const children_size *size)
{
    candidates_carve(&t->candidates, c, size->items, size->candidates);
    CARVE(t->heads, size->max_width);
    CARVE(t->heap, size->max_width + 1);
    CARVE(t->child_counts, size->max_width);
    CARVE(t->old_beam, size->max_width);
    CARVE(t->released, size->entries);
    t->scratch = rill_carve(c, size->scratch, 1);
}

static size_t grown_size(size_t capacity, size_t need)
{
    if (need <= capacity) return capacity;
    return need < capacity + capacity / 2 ? capacity + capacity / 2 : need;
}

rill_status timestep_reserve_rows(timestep *t, size_t rows)
{
    rill_carver carver = {0};
    if (rows <= t->rows_capacity) return RILL_OK;
    rows = grown_size(t->rows_capacity, rows);
    t->rows_capacity = 0;
    lay_out_rows(&t->rows, &carver, rows);
    RILL__TRY(rill_carve_reserve(t->ctx, &t->row_block, &t->row_bytes, &carver));
    lay_out_rows(&t->rows, &carver, rows);
    t->rows_capacity = rows;
    return RILL_OK;
}

rill_status timestep_reserve_children(timestep *t, const children_size *need)
{
    const children_size old = t->capacity;
    const children_size capacity = {.items = grown_size(old.items, need->items),
                                    .candidates = grown_size(old.candidates, need->candidates),
                                    .entries = grown_size(old.entries, need->entries),
                                    .max_width = grown_size(old.max_width, need->max_width),
                                    .scratch = grown_size(old.scratch, need->scratch)};
    rill_carver carver = {0};
    if (memcmp(&capacity, &old, sizeof capacity) == 0) return RILL_OK;
    t->capacity = (children_size){0};
    lay_out_children(t, &carver, &capacity);
    RILL__TRY(rill_carve_reserve(t->ctx, &t->child_block, &t->child_bytes, &carver));
    lay_out_children(t, &carver, &capacity);
    t->capacity = capacity;
    return RILL_OK;
}
