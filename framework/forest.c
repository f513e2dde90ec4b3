/* The forest's pools; forest.h says what they mean.
 *
 * Divisions: memory · histories · rows. */
#include "forest.h"

#define STATE_PARENT(id) (f->h[id].internal[HISTORY_STATE_PARENT])
#define ROW(id) (f->h[id].internal[HISTORY_ROW])
#define REFS(id) (f->h[id].internal[HISTORY_REFS])
#define HOLDS(id) (f->h[id].internal[HISTORY_HOLDS])

/* --- memory ------------------------------------------------------------------------------------------------------- */

void forest_init(forest *f, rill_context *ctx, rill_state_need need)
{
    *f = (forest){.ctx = ctx, .need = need, .history_free = -1};
}

void forest_finish(forest *f)
{
    rill_free(f->ctx, f->h, (size_t)f->history_capacity * sizeof *f->h);
    rill_free(f->ctx, f->row_stack, (size_t)f->row_capacity * sizeof *f->row_stack);
    rill_free(f->ctx, f->freed, f->freed_capacity * sizeof *f->freed);
    forest_init(f, f->ctx, f->need);
}

/* The capacity to grow to for `need`, or -1 beyond what ids can number. */
static int32_t grown(int32_t capacity, int64_t need)
{
    int64_t wanted = 2 * (int64_t)capacity; /* the domain copies its states whenever this grows */
    if (wanted < need) wanted = need;
    if (wanted < 64) wanted = 64;
    if (wanted > INT32_MAX - 1) wanted = INT32_MAX - 1;
    return wanted < need ? -1 : (int32_t)wanted;
}

/* Bring an array of `*capacity` elements to room for `need`. Ids are int32_t, hence no rill_grow(). */
static rill_status grow(forest *f, void **block, int32_t *capacity, int64_t need, size_t size, const char *what)
{
    int32_t wanted = grown(*capacity, need);
    if (wanted < 0) return rill_fail_memory(f->ctx, SIZE_MAX, what);
    size_t bytes = (size_t)*capacity;
    RILL__TRY(rill_grow(f->ctx, block, &bytes, (size_t)wanted, size, what));
    *capacity = (int32_t)bytes;
    return RILL_OK;
}

rill_status forest_reserve_histories(forest *f, int64_t n)
{
    int64_t need = (int64_t)f->histories + n;
    if (need <= f->history_capacity) return RILL_OK;
    return grow(f, (void **)&f->h, &f->history_capacity, need, sizeof *f->h, "the forest of hypotheses");
}

rill_status forest_reserve_rows(forest *f, int64_t n, int *capacity_grew)
{
    *capacity_grew = 0;
    /* Rows waiting in `freed` cannot be given out yet. */
    int64_t need = (int64_t)f->rows + f->n_freed + n;
    RILL__TRY(RILL__GROW(f->ctx, f->freed, f->freed_capacity, (size_t)need, "freed rows"));
    if (need <= f->row_capacity) return RILL_OK;
    RILL__TRY(grow(f, (void **)&f->row_stack, &f->row_capacity, need, sizeof *f->row_stack, "the table of states"));
    *capacity_grew = 1;
    return RILL_OK;
}

/* --- histories ---------------------------------------------------------------------------------------------------- */

int32_t forest_add(forest *f, int32_t parent, int32_t state_parent, int32_t action, float logp, float score, int live)
{
    int32_t id = f->history_free;
    if (id >= 0)
        f->history_free = f->h[id].parent;
    else
        id = f->history_top++;
    if (++f->histories > f->histories_peak) f->histories_peak = f->histories;
    f->h[id] = (rill_history){
        parent, action, logp, score, {state_parent, live ? FOREST_UNSTEPPED : FOREST_NO_ROW, 1, 0}};
    if (parent >= 0) REFS(parent)++;
    if (state_parent >= 0) {
        if (state_parent != parent) REFS(state_parent)++;
        if (live) HOLDS(state_parent)++;
    }
    return id;
}

static void free_row(forest *f, int32_t history)
{
    f->freed[f->n_freed++] = ROW(history);
    ROW(history) = FOREST_NO_ROW;
    f->rows--;
}

static void unhold(forest *f, int32_t history)
{
    if (--HOLDS(history) == 0 && f->need == RILL_STATE_PARENT && ROW(history) >= 0) free_row(f, history);
}

/* The history has no references left: give everything back and return to the pool. */
static void retire(forest *f, int32_t id)
{
    if (ROW(id) == FOREST_UNSTEPPED && STATE_PARENT(id) >= 0) unhold(f, STATE_PARENT(id));
    if (ROW(id) >= 0) free_row(f, id);
    f->h[id].parent = f->history_free;
    f->history_free = id;
    f->histories--;
}

void forest_release(forest *f, int32_t history)
{
    while (history >= 0 && --REFS(history) == 0) {
        int32_t parent = f->h[history].parent, state_parent = STATE_PARENT(history);
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
    ROW(history) = row;
    HOLDS(history)++;
    if (++f->rows > f->rows_peak) f->rows_peak = f->rows;
    return row;
}

void forest_stepped(forest *f, int32_t history)
{
    if (STATE_PARENT(history) >= 0) unhold(f, STATE_PARENT(history));
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
