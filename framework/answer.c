/* rill_choices_give(): a row's answer from all actions that it has.
 *
 * The row's own arrays hold the best so far. Until there are M candidates are written behind each other; as long as they come in
 * order that is all. Else they become a heap with the worst on top, which is sorted in the end. The order is total, since
 * actions differ, so the answer does not depend on the order in which they come. */
#include "rill/domain.h"

/* The row at work. */
typedef struct answer {
    int32_t *action;
    float *logp;
    uint8_t *terminal; /* NULL: not told */
    int32_t n, most;
} answer;

/* Whether entry i is chosen before action `b` of log-probability `logp`. */
static int before(const answer *a, int32_t i, int32_t action, float logp)
{
    return a->logp[i] > logp || (a->logp[i] == logp && a->action[i] < action);
}

static void move(const answer *a, int32_t to, int32_t from)
{
    a->action[to] = a->action[from];
    a->logp[to] = a->logp[from];
    if (a->terminal != NULL) a->terminal[to] = a->terminal[from];
}

static void put(const answer *a, int32_t at, int32_t action, float logp, uint8_t terminal)
{
    a->action[at] = action;
    a->logp[at] = logp;
    if (a->terminal != NULL) a->terminal[at] = terminal;
}

/* Put an entry in its place in the heap [0, n) under the empty place `at`. */
static void sift_down(const answer *a, int32_t n, int32_t at, int32_t action, float logp, uint8_t terminal)
{
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= n) break;
        if (child + 1 < n && before(a, child, a->action[child + 1], a->logp[child + 1])) child++;
        if (before(a, child, action, logp)) break;
        move(a, at, child);
        at = child;
    }
    put(a, at, action, logp, terminal);
}

static void sift_entry(const answer *a, int32_t n, int32_t at, int32_t entry)
{
    sift_down(a, n, at, a->action[entry], a->logp[entry], a->terminal != NULL ? a->terminal[entry] : 0);
}

static void make_heap(const answer *a)
{
    for (int32_t i = a->n / 2 - 1; i >= 0; i--) sift_entry(a, a->n, i, i);
}

/* The worst goes to the end, again and again. */
static void sort_heap(const answer *a)
{
    for (int32_t n = a->n - 1; n > 0; n--) {
        int32_t action = a->action[n];
        float logp = a->logp[n];
        uint8_t terminal = a->terminal != NULL ? a->terminal[n] : 0;
        move(a, n, 0);
        sift_down(a, n, 0, action, logp, terminal);
    }
}

static void give_picks(const rill_ask *ask, int32_t row, int32_t n, const int32_t *action, const float *logp,
                       rill_choices *out)
{
    for (int32_t q = rill_ask_first_pick(ask, row); q < ask->n_picks && ask->pick_row[q] == row; q++) {
        out->pick_logp[q] = (float)RILL_SCORE_DEAD;
        for (int32_t i = 0; i < n; i++)
            if (action[i] == ask->pick_action[q] && logp[i] > RILL_SCORE_DEAD) out->pick_logp[q] = logp[i];
    }
}

void rill_choices_give(const rill_ask *ask, int32_t row, int32_t n, const int32_t *action, const float *logp,
                       const uint8_t *terminal, rill_choices *out)
{
    size_t base = (size_t)row * (size_t)out->stride;
    answer a = {out->action + base, out->logp + base, terminal != NULL ? out->terminal + base : NULL, 0, ask->most};
    int sorted = 1, heap = 0;
    if (terminal != NULL) out->ends[row] = RILL_ENDS_AS_TOLD;
    if (ask->wanted != NULL && ask->wanted[row] < a.most) a.most = ask->wanted[row];
    for (int32_t i = 0; i < n && a.most > 0; i++) {
        uint8_t kind = terminal != NULL ? terminal[i] : 0;
        if (!(logp[i] > RILL_SCORE_DEAD) || !rill_ask_permits(ask, row, action[i])) continue;
        int in_order = sorted && (a.n == 0 || before(&a, a.n - 1, action[i], logp[i]));
        if (a.n < a.most) {
            sorted = in_order;
            put(&a, a.n++, action[i], logp[i], kind);
            continue;
        }
        if (in_order) continue;
        if (!heap) make_heap(&a);
        heap = 1;
        sorted = 0;
        if (!before(&a, 0, action[i], logp[i])) sift_down(&a, a.n, 0, action[i], logp[i], kind);
    }
    if (!sorted && !heap) make_heap(&a);
    if (!sorted) sort_heap(&a);
    out->count[row] = a.n;
    give_picks(ask, row, n, action, logp, out);
}
