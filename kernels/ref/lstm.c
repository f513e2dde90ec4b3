/* lstm.c (ref): LSTM cell: new c and h from the gates, one element at a time. */
#include <assert.h>
#include <math.h>

#include "ref.h"

static void rows(const void *arg, size_t begin, size_t end)
{
    const rill_lstm *l = arg;
    const size_t width = l->hidden;
    for (size_t r = begin; r < end; r++) {
        const float *gate = rill_operand_row(&l->gates, r), *prev = rill_operand_row(&l->c_prev, r);
        float *c = rill_operand_row(&l->c, r), *h = rill_operand_row(&l->h, r);
        for (size_t j = 0; j < width; j++) {
            const float keep = prev ? rill_sigmoid_ref(gate[width + j]) * prev[j] : 0.0f;
            const float cell = keep + rill_sigmoid_ref(gate[j]) * tanhf(gate[2 * width + j]);
            c[j] = cell;
            h[j] = rill_sigmoid_ref(gate[3 * width + j]) * tanhf(cell);
        }
    }
}

void rill_lstm_f32_ref(const rill_lstm *l, rill_pool *pool)
{
    if (l->rows == 0) return;
    assert(l->gates.data && l->c.data && l->h.data && l->hidden >= 1);
    rill_parallel_for(pool, rows, l, l->rows, (double)l->hidden * 40.0);
}
