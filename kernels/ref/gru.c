/* gru.c (ref): GRU cell: new h from both parts of the gates, one element at a time. */
#include <assert.h>
#include <math.h>

#include "ref.h"

static void rows(const void *arg, size_t begin, size_t end)
{
    const rill_gru *g = arg;
    const size_t width = g->hidden;
    for (size_t r = begin; r < end; r++) {
        const float *x = rill_operand_row(&g->input, r), *gate = rill_operand_row(&g->gates, r),
                    *prev = rill_operand_row(&g->h_prev, r);
        float *h = rill_operand_row(&g->h, r);
        for (size_t j = 0; j < width; j++) {
            const float reset = rill_sigmoid_ref(x[j] + gate[j]),
                        update = rill_sigmoid_ref(x[width + j] + gate[width + j]);
            const float n = tanhf(x[2 * width + j] + reset * gate[2 * width + j]), fill = (1.0f - update) * n;
            h[j] = prev ? fill + update * prev[j] : fill;
        }
    }
}

void rill_gru_f32_ref(const rill_gru *g, rill_pool *pool)
{
    if (g->rows == 0) return;
    assert(g->input.data && g->gates.data && g->h.data && g->hidden >= 1);
    rill_parallel_for(pool, rows, g, g->rows, (double)g->hidden * 30.0);
}
