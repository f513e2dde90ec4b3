/* gru.c (ref): both parts of the gates to new h, an element at a time, states in tables addressed by node id. */
#include <assert.h>
#include <math.h>

#include "ref.h"

static void rows(const void *arg, size_t begin, size_t end)
{
    const rill_gru *g = arg;
    const size_t width = g->hidden;
    for (size_t r = begin; r < end; r++) {
        const float *x = g->input + rill_row(g->input_index, r) * g->ld_input, *gate = g->gates + r * g->ld_gates;
        const int fresh = !g->h_prev || rill_row_absent(g->prev_index, r);
        const float *before = fresh ? NULL : g->h_prev + rill_row(g->prev_index, r) * g->ld_h_prev;
        float *h = g->h + rill_row(g->out_index, r) * g->ld_h;
        for (size_t j = 0; j < width; j++) {
            const float reset = rill_sigmoid_ref(x[j] + gate[j]),
                        update = rill_sigmoid_ref(x[width + j] + gate[width + j]);
            const float n = tanhf(x[2 * width + j] + reset * gate[2 * width + j]), fill = (1.0f - update) * n;
            h[j] = before ? fill + update * before[j] : fill;
        }
    }
}

void rill_gru_f32_ref(const rill_gru *g, rill_pool *pool)
{
    if (g->rows == 0) return;
    assert(g->input && g->gates && g->h && g->hidden >= 1);
    rill_span_run(pool, rows, g, g->rows, (double)g->hidden * 30.0);
}
