/* A timestep's memory; timestep.h. */
#include "timestep.h"

void timestep_init(timestep *t, rill_context *ctx, const rill_domain_info *info, int32_t group)
{
    *t = (timestep){.ctx = ctx, .group = group};
    ask_init(&t->asks, ctx, info->actions);
    ask_init(&t->exact_asks, ctx, info->actions);
    selector_init(&t->selector, ctx, info);
    selector_init(&t->exact, ctx, info);
}

int merge_in_rank_order(const void *left, const void *right)
{
    const merge_head *a = left, *b = right;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->next != b->next) return a->next < b->next ? -1 : 1;
    return (a->bank > b->bank) - (a->bank < b->bank); /* of two groups that choose one child */
}

void timestep_finish(timestep *t)
{
    ask_finish(&t->asks);
    ask_finish(&t->exact_asks);
    selector_finish(&t->selector);
    selector_finish(&t->exact);
    rill_columns_free(t->ctx, &t->cube.memory);
    rill_columns_free(t->ctx, &t->cube.places);
    rill_columns_free(t->ctx, &t->trace.memory);
    rill_free(t->ctx, t->trace.dropped, t->trace.dropped_room * sizeof *t->trace.dropped);
    rill_free(t->ctx, t->trace.hypothesis, t->trace.hypothesis_room * sizeof *t->trace.hypothesis);
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
    CARVE(r->history, rows);
    CARVE(r->rank, rows);
    CARVE(r->item, rows);
    CARVE(r->item_id, rows);
    CARVE(r->score, rows);
}

static void lay_out_children(timestep *t, rill_carver *c, const children_size *size)
{
    candidates_lay_out(&t->candidates, c, size->items, size->candidates);
    CARVE(t->heads, size->widest);
    CARVE(t->heap, size->widest + 1);
    CARVE(t->kin, size->widest);
    CARVE(t->beam, size->widest);
    CARVE(t->leaving, size->entries);
    CARVE(t->places, 7 * size->places);
    CARVE(t->weight, size->drawn);
}

static size_t roomier(size_t room, size_t need)
{
    if (need <= room) return room;
    return need < room + room / 2 ? room + room / 2 : need;
}

rill_status timestep_reserve_rows(timestep *t, size_t rows)
{
    rill_carver carver = {0};
    if (rows <= t->rows_room) return RILL_OK;
    rows = roomier(t->rows_room, rows);
    t->rows_room = 0;
    lay_out_rows(&t->rows, &carver, rows);
    RILL__TRY(rill_carve_again(t->ctx, &t->row_block, &t->row_bytes, &carver));
    lay_out_rows(&t->rows, &carver, rows);
    t->rows_room = rows;
    return RILL_OK;
}

rill_status timestep_reserve_children(timestep *t, const children_size *need)
{
    const children_size had = t->room;
    const children_size room = {.items = roomier(had.items, need->items),
                                .candidates = roomier(had.candidates, need->candidates),
                                .entries = roomier(had.entries, need->entries),
                                .widest = roomier(had.widest, need->widest),
                                .places = roomier(had.places, need->places),
                                .drawn = roomier(had.drawn, need->drawn)};
    rill_carver carver = {0};
    if (memcmp(&room, &had, sizeof room) == 0) return RILL_OK;
    t->room = (children_size){0};
    lay_out_children(t, &carver, &room);
    RILL__TRY(rill_carve_again(t->ctx, &t->child_block, &t->child_bytes, &carver));
    lay_out_children(t, &carver, &room);
    t->room = room;
    return RILL_OK;
}
