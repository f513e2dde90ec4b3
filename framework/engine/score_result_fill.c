/* rill_score_result_fill(): selects a row's best choices for domains that list all actions.
 *
 * A full row is a heap with the worst choice on top, sorted at the end. Ties are ordered by action. */
#include "rill/domain.h"

/* The row's best choices so far, stored in the row's part of the result arrays. */
typedef struct row_heap {
    int32_t *action;
    float *logp;
    uint8_t *terminal; /* NULL: the domain sets no flags per choice */
    int32_t n, capacity;
} row_heap;

/* Returns 1 if entry i ranks before another choice, which has this action and log-probability, else 0. */
static int ranks_before(const row_heap *a, int32_t i, int32_t action, float logp)
{
    return a->logp[i] > logp || (a->logp[i] == logp && a->action[i] < action);
}

static void move_entry(const row_heap *a, int32_t to, int32_t from)
{
    a->action[to] = a->action[from];
    a->logp[to] = a->logp[from];
    if (a->terminal != NULL) a->terminal[to] = a->terminal[from];
}

static void put_entry(const row_heap *a, int32_t index, int32_t action, float logp, uint8_t terminal)
{
    a->action[index] = action;
    a->logp[index] = logp;
    if (a->terminal != NULL) a->terminal[index] = terminal;
}

/* Put a choice at `index` of a heap of n entries, and sift it down. */
static void sift_down(const row_heap *a, int32_t n, int32_t index, int32_t action, float logp, uint8_t terminal)
{
    for (;;) {
        int32_t child = 2 * index + 1;
        if (child >= n) break;
        if (child + 1 < n && ranks_before(a, child, a->action[child + 1], a->logp[child + 1])) child++;
        if (ranks_before(a, child, action, logp)) break;
        move_entry(a, index, child);
        index = child;
    }
    put_entry(a, index, action, logp, terminal);
}

static void make_heap(const row_heap *a)
{
    for (int32_t i = a->n / 2 - 1; i >= 0; i--)
        sift_down(a, a->n, i, a->action[i], a->logp[i], a->terminal != NULL ? a->terminal[i] : 0);
}

/* Sort the heap, best entry first: repeatedly move the worst entry, which is on top, to the end. */
static void sort_heap(const row_heap *a)
{
    for (int32_t n = a->n - 1; n > 0; n--) {
        int32_t action = a->action[n];
        float logp = a->logp[n];
        uint8_t terminal = a->terminal != NULL ? a->terminal[n] : 0;
        move_entry(a, n, 0);
        sift_down(a, n, 0, action, logp, terminal);
    }
}

/* Write the log-probabilities of the row's picks (the actions requested by id) to the result. */
static void fill_picks(const rill_score_request *req, int32_t row, int32_t n, const int32_t *action, const float *logp,
                       rill_score_result *out)
{
    for (int32_t q = rill_lower_bound(req->pick_row, req->n_picks, row); q < req->n_picks && req->pick_row[q] == row;
         q++) {
        out->pick_logp[q] = (float)RILL_SCORE_DEAD;
        for (int32_t i = 0; i < n; i++)
            if (action[i] == req->pick_action[q] && logp[i] > RILL_SCORE_DEAD) out->pick_logp[q] = logp[i];
    }
}

void rill_score_result_fill(const rill_score_request *req, int32_t row, int32_t n, const int32_t *action,
                            const float *logp, const uint8_t *terminal, rill_score_result *out)
{
    size_t base = (size_t)row * (size_t)out->stride;
    row_heap a = {out->action + base, out->logp + base, terminal != NULL ? out->terminal + base : NULL, 0,
                  req->max_choices};
    if (terminal != NULL) out->ends[row] = RILL_ENDS_BY_FLAG;
    if (req->row_max_choices != NULL && req->row_max_choices[row] < a.capacity) a.capacity = req->row_max_choices[row];
    for (int32_t i = 0; i < n && a.capacity > 0; i++) {
        uint8_t kind = terminal != NULL ? terminal[i] : 0;
        if (!(logp[i] > RILL_SCORE_DEAD) || !rill_score_request_allows(req, row, action[i])) continue;
        if (a.n < a.capacity) {
            put_entry(&a, a.n++, action[i], logp[i], kind);
            if (a.n == a.capacity) make_heap(&a);
        } else if (!ranks_before(&a, 0, action[i], logp[i])) {
            sift_down(&a, a.n, 0, action[i], logp[i], kind);
        }
    }
    if (a.n < a.capacity) make_heap(&a);
    sort_heap(&a);
    out->count[row] = a.n;
    fill_picks(req, row, n, action, logp, out);
}
