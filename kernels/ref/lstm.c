/* lstm.c (ref): gates to new c and h, an element at a time, states in tables addressed by node id. */
#include <assert.h>
#include <math.h>

#include "ref.h"

static void rows(const void *arg, size_t begin, size_t end)
{
    const rill_lstm *l = arg;
    const size_t width = l->hidden;
    for (size_t r = begin; r < end; r++) {
        const float *gate = l->gates + r * l->ld_gates;
        const int fresh = !l->c_prev || rill_row_absent(l->prev_index, r);
        const float *before = fresh ? NULL : l->c_prev + rill_row(l->prev_index, r) * l->ld_c_prev;
        float *c = l->c + rill_row(l->out_index, r) * l->ld_c;
        float *h = l->h + rill_row(l->out_index, r) * l->ld_h;
        for (size_t j = 0; j < width; j++) {
            const float keep = before ? rill_sigmoid_ref(gate[width + j]) * before[j] : 0.0f;
            const float cell = keep + rill_sigmoid_ref(gate[j]) * tanhf(gate[2 * width + j]);
            c[j] = cell;
            h[j] = rill_sigmoid_ref(gate[3 * width + j]) * tanhf(cell);
        }
    }
}

void rill_lstm_f32_ref(const rill_lstm *l, rill_pool *pool)
{
    if (l->rows == 0) return;
    assert(l->gates && l->c && l->h && l->hidden >= 1);
    rill_span_run(pool, rows, l, l->rows, (double)l->hidden * 40.0);
}
