/* The forest's pools; forest.h says what they mean.
 *
 * Divisions: memory · histories · rows. */
#include <string.h>

#include "forest.h"

/* --- memory ------------------------------------------------------------------------------------------------------- */

void forest_init(forest *f, rill_context *ctx, rill_state_need need)
{
    *f = (forest){.ctx = ctx, .need = need, .history_free = -1};
}

void forest_finish(forest *f)
{
    size_t histories = (size_t)f->history_capacity;
    rill_free(f->ctx, f->parent, histories * sizeof *f->parent);
    rill_free(f->ctx, f->action, histories * sizeof *f->action);
    rill_free(f->ctx, f->h, histories * sizeof *f->h);
    rill_free(f->ctx, f->row_stack, (size_t)f->row_capacity * sizeof *f->row_stack);
    rill_free(f->ctx, f->freed, f->freed_capacity * sizeof *f->freed);
    forest_init(f, f->ctx, f->need);
}

/* Bring one of several arrays of `*old` elements to `wanted`. Each keeps its own capacity until all have grown, so that a
 * failure half-way leaves sizes that can still be freed. */
static rill_status resize(forest *f, void **block, int32_t old, int32_t wanted, size_t size, const char *what)
{
    void *fresh = rill_alloc(f->ctx, (size_t)wanted * size);
    if (fresh == NULL) return rill_fail_memory(f->ctx, (size_t)wanted * size, what);
    if (old > 0) memcpy(fresh, *block, (size_t)old * size);
    *block = fresh;
    return RILL_OK;
}

/* The capacity to grow to for `need`, or -1 beyond what ids can number. */
static int32_t grown(int32_t capacity, int64_t need)
{
    int64_t wanted = (int64_t)capacity + capacity / 2;
    if (wanted < need) wanted = need;
    if (wanted < 64) wanted = 64;
    if (wanted > INT32_MAX - 1) wanted = INT32_MAX - 1;
    return wanted < need ? -1 : (int32_t)wanted;
}

rill_status forest_reserve_histories(forest *f, int64_t n)
{
    int64_t need = (int64_t)f->histories + n;
    if (need <= f->history_capacity) return RILL_OK;
    int32_t old = f->history_capacity, wanted = grown(old, need);
    if (wanted < 0) return rill_fail_memory(f->ctx, SIZE_MAX, "the forest of hypotheses");
    void *parent = f->parent, *action = f->action, *h = f->h;
    rill_status status = resize(f, &parent, old, wanted, sizeof *f->parent, "hypotheses");
    if (status >= 0) status = resize(f, &action, old, wanted, sizeof *f->action, "hypotheses");
    if (status >= 0) status = resize(f, &h, old, wanted, sizeof *f->h, "hypotheses");
    if (status < 0) {
        if (parent != f->parent) rill_free(f->ctx, parent, (size_t)wanted * sizeof *f->parent);
        if (action != f->action) rill_free(f->ctx, action, (size_t)wanted * sizeof *f->action);
        return status;
    }
    rill_free(f->ctx, f->parent, (size_t)old * sizeof *f->parent);
    rill_free(f->ctx, f->action, (size_t)old * sizeof *f->action);
    rill_free(f->ctx, f->h, (size_t)old * sizeof *f->h);
    f->parent = parent;
    f->action = action;
    f->h = h;
    f->history_capacity = wanted;
    return RILL_OK;
}

rill_status forest_reserve_rows(forest *f, int64_t n, int *capacity_grew)
{
    *capacity_grew = 0;
    /* Rows waiting in `freed` cannot be given out yet. */
    int64_t need = (int64_t)f->rows + f->n_freed + n;
    RILL__TRY(RILL__GROW(f->ctx, f->freed, f->freed_capacity, (size_t)need, "freed rows"));
    if (need <= f->row_capacity) return RILL_OK;
    int32_t old = f->row_capacity, wanted = grown(old, need);
    if (wanted < 0) return rill_fail_memory(f->ctx, SIZE_MAX, "the table of states");
    void *stack = f->row_stack;
    RILL__TRY(resize(f, &stack, old, wanted, sizeof *f->row_stack, "the table of states"));
    rill_free(f->ctx, f->row_stack, (size_t)old * sizeof *f->row_stack);
    f->row_stack = stack;
    f->row_capacity = wanted;
    *capacity_grew = 1;
    return RILL_OK;
}

/* --- histories ---------------------------------------------------------------------------------------------------- */

int32_t forest_add(forest *f, int32_t parent, int32_t state_parent, int32_t action, float logp, float score, int live)
{
    int32_t id = f->history_free;
    if (id >= 0)
        f->history_free = f->parent[id];
    else
        id = f->history_top++;
    if (++f->histories > f->histories_peak) f->histories_peak = f->histories;
    f->parent[id] = parent;
    f->action[id] = action;
    f->h[id] = (forest_history){logp, score, state_parent, live ? FOREST_UNSTEPPED : FOREST_NO_ROW, 1, 0};
    if (parent >= 0) f->h[parent].refs++;
    if (state_parent >= 0) {
        if (state_parent != parent) f->h[state_parent].refs++;
        if (live) f->h[state_parent].holds++;
    }
    return id;
}

static void free_row(forest *f, int32_t history)
{
    f->freed[f->n_freed++] = f->h[history].row;
    f->h[history].row = FOREST_NO_ROW;
    f->rows--;
}

static void unhold(forest *f, int32_t history)
{
    if (--f->h[history].holds == 0 && f->need == RILL_STATE_PARENT && f->h[history].row >= 0) free_row(f, history);
}

/* The history has no references left: give everything back and return to the pool. */
static void retire(forest *f, int32_t id)
{
    forest_history *h = &f->h[id];
    if (h->row == FOREST_UNSTEPPED && h->state_parent >= 0) unhold(f, h->state_parent);
    if (h->row >= 0) free_row(f, id);
    f->parent[id] = f->history_free;
    f->history_free = id;
    f->histories--;
}

void forest_release(forest *f, int32_t history)
{
    while (history >= 0 && --f->h[history].refs == 0) {
        int32_t parent = f->parent[history], state_parent = f->h[history].state_parent;
        retire(f, history);
        /* Only cube pruning makes the two differ; such chains are as short as a beam is deep. */
        if (state_parent >= 0 && state_parent != parent) forest_release(f, state_parent);
        history = parent;
    }
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

int32_t forest_assign_row(forest *f, int32_t history)
{
    int32_t row = f->rows_stacked > 0 ? f->row_stack[--f->rows_stacked] : f->row_top++;
    f->h[history].row = row;
    f->h[history].holds++;
    if (++f->rows > f->rows_peak) f->rows_peak = f->rows;
    return row;
}

void forest_stepped(forest *f, int32_t history)
{
    if (f->h[history].state_parent >= 0) unhold(f, f->h[history].state_parent);
}

void forest_unhold(forest *f, int32_t history)
{
    unhold(f, history);
}

void forest_recycle(forest *f)
{
    for (int32_t i = f->n_freed - 1; i >= 0; i--) f->row_stack[f->rows_stacked++] = f->freed[i];
    f->n_freed = 0;
}
