/* An LSTM layer over many sequences at once.
 *
 * Invariant: before step t the first `live` places hold the sequences longer than t, with their states in the same rows of
 * h and c. Divisions: order · one step · the run. */
#include <string.h>

#include "lstm.h"

/* --- order -------------------------------------------------------------------------------------------------------- */

/* Longer ones first, ties by number: so the order is unique, whatever the method of sorting. */
static int goes_before(const int32_t *length, int32_t a, int32_t b)
{
    return length[a] != length[b] ? length[a] > length[b] : a < b;
}

/* Shell's sort with Knuth's gaps 1, 4, 13, 40, ...: in place, nothing to allocate, and m is a few thousand at most. */
void rill_lstm_order(size_t m, const int32_t *length, int32_t *order)
{
    for (size_t i = 0; i < m; i++) order[i] = (int32_t)i;
    size_t gap = 1;
    while (gap < m / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3) {
        for (size_t i = gap; i < m; i++) {
            int32_t moved = order[i];
            size_t j = i;
            for (; j >= gap && goes_before(length, moved, order[j - gap]); j -= gap) order[j] = order[j - gap];
            order[j] = moved;
        }
    }
}

/* --- one step ----------------------------------------------------------------------------------------------------- */

/* Gate pre-activations of the first `live` sequences. In the first step h is zero, so the start rows are all there is. */
static void compute_gates(const rill_lstm_batch *b, size_t live, int32_t t)
{
    size_t width = 4 * b->hidden;
    for (size_t s = 0; s < live; s++) b->index[s] = b->input[s][t];
    if (t == 0) {
        rill_gather gather = {.rows = live,
                              .width = width,
                              .src = b->start,
                              .ld_src = b->ld_start,
                              .src_index = b->index,
                              .dst = b->gates,
                              .ld_dst = width};
        b->kernels->gather(&gather, b->pool);
    } else {
        rill_gemm gemm = {.w = b->recurrent,
                          .rows = live,
                          .a = b->h,
                          .lda = b->ld_state,
                          .add = b->start,
                          .ld_add = b->ld_start,
                          .add_index = b->index,
                          .c = b->gates,
                          .ldc = width};
        b->kernels->gemm(&gemm, b->pool);
    }
}

static void step(const rill_lstm_batch *b, size_t live, int32_t t)
{
    compute_gates(b, live, t);
    rill_lstm lstm = {.rows = live,
                      .hidden = b->hidden,
                      .gates = b->gates,
                      .ld_gates = 4 * b->hidden,
                      .c_prev = t > 0 ? b->c : NULL,
                      .ld_c_prev = b->ld_state,
                      .c = b->c,
                      .h = b->h,
                      .ld_c = b->ld_state,
                      .ld_h = b->ld_state};
    b->kernels->lstm(&lstm, b->pool);
    if (b->out == NULL) return;
    for (size_t s = 0; s < live; s++) {
        size_t row = (size_t)(b->out_reversed ? b->length[s] - 1 - t : t);
        memcpy(b->out[s] + row * b->ld_out, b->h + s * b->ld_state, b->hidden * sizeof *b->h);
    }
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

void rill_lstm_run(const rill_lstm_batch *b)
{
    size_t live = b->m;
    for (int32_t t = 0;; t++) {
        while (live > 0 && b->length[live - 1] <= t) live--;
        if (live == 0) return;
        step(b, live, t);
    }
}
