/* A timestep's candidates; candidates.h says what they are. */
#include "candidates.h"

/* Every column once: X(member, per item?). Growing and freeing walk this list, so no column can be forgotten. */
#define ITEM_COLUMNS(X) X(offset) X(item_id) X(k) X(timestep) X(outputs) X(best_output) X(best) X(stop)
#define CANDIDATE_COLUMNS(X) \
    X(score) X(action_logp) X(action_score) X(parent_rank) X(action) X(history) X(terminal) X(ended) X(keep)

void candidates_finish(candidates *c)
{
#define FREE_ITEM(member) rill_free(c->ctx, c->member, c->items_capacity * sizeof *c->member);
#define FREE_CANDIDATE(member) rill_free(c->ctx, c->member, c->capacity * sizeof *c->member);
    if (c->ctx == NULL) return;
    ITEM_COLUMNS(FREE_ITEM)
    CANDIDATE_COLUMNS(FREE_CANDIDATE)
    *c = (candidates){.ctx = c->ctx};
}

/* Replace a column by one of `wanted` elements; its content is not needed. Frees first, so peak memory stays low; `capacity`
 * is set to 0 by the caller until all columns are there. */
static rill_status renew(rill_context *ctx, void **column, size_t old, size_t wanted, size_t size)
{
    rill_free(ctx, *column, old * size);
    *column = rill_alloc(ctx, wanted * size);
    return *column != NULL ? RILL_OK : rill_fail_memory(ctx, wanted * size, "candidates");
}

static size_t roomier(size_t capacity, size_t need)
{
    size_t wanted = capacity + capacity / 2;
    return wanted < need ? need : wanted;
}

rill_status candidates_reserve(candidates *c, int32_t items, int64_t n)
{
    size_t need_items = (size_t)items + 1, need = (size_t)n;
    rill_status status = RILL_OK;
    if (need_items > c->items_capacity) {
        size_t old = c->items_capacity, wanted = roomier(old, need_items);
#define RENEW_ITEM(member)                                                           \
    if (status >= 0) {                                                               \
        status = renew(c->ctx, (void **)&c->member, old, wanted, sizeof *c->member); \
    } else {                                                                         \
        rill_free(c->ctx, c->member, old * sizeof *c->member);                       \
        c->member = NULL;                                                            \
    }
        ITEM_COLUMNS(RENEW_ITEM)
        c->items_capacity = wanted;
    }
    if (status >= 0 && need > c->capacity) {
        size_t old = c->capacity, wanted = roomier(old, need);
        CANDIDATE_COLUMNS(RENEW_ITEM)
        c->capacity = wanted;
    }
    return status;
}

static void move_candidate(candidates *c, int32_t to, int32_t from)
{
    if (to == from) return;
    c->score[to] = c->score[from];
    c->action_logp[to] = c->action_logp[from];
    c->action_score[to] = c->action_score[from];
    c->parent_rank[to] = c->parent_rank[from];
    c->action[to] = c->action[from];
    c->history[to] = c->history[from];
    c->terminal[to] = c->terminal[from];
    c->ended[to] = c->ended[from];
}

int64_t candidates_compact(candidates *c, const int32_t *width)
{
    int32_t to = 0, from = 0, before = c->n > 0 ? c->offset[c->n] : 0;
    for (int32_t i = 0; i < c->n; i++) {
        int32_t start = to, end = c->offset[i + 1];
        int64_t most = width != NULL ? width[i] : INT32_MAX;
        for (; from < end; from++)
            if (c->keep[from] && to - start < most) move_candidate(c, to++, from);
        c->offset[i] = start;
    }
    c->offset[c->n] = to;
    return before - to;
}
