/* lstm.c (vector): LSTM cell: new c and h from the gates, one vector of hidden units at a time.
 *
 * Invariant: a unit's result is a function of its four gates and its previous c, whichever lane it falls in. Vector
 * divisions dominate the latency. So sigmoid(i) tanh(g) and sigmoid(o) tanh(c) take one division each, as v_ratio
 * (vec.h). */
#include <assert.h>

#include "vector.h"

typedef struct cell_row {
    const float *gate, *prev; /* rows of gates and previous c; prev is NULL if the previous c is zero */
    float *c, *h;
    size_t width;
} cell_row;

RILL_INLINE void cell(const cell_row *p, size_t j, size_t n)
{
    const v_ratio in = v_sigmoid_ratio(v_load_n(p->gate + j, n));
    const v_ratio forget = v_sigmoid_ratio(v_load_n(p->gate + p->width + j, n));
    const v_ratio fresh = v_tanh_ratio(v_load_n(p->gate + 2 * p->width + j, n));
    const v_ratio out = v_sigmoid_ratio(v_load_n(p->gate + 3 * p->width + j, n));
    vf c = v_value(v_product(in, fresh));
    if (p->prev) c = v_add(c, v_div(v_mul(forget.over, v_load_n(p->prev + j, n)), forget.under));
    v_store_n(p->c + j, n, c);
    v_store_n(p->h + j, n, v_value(v_product(out, v_tanh_ratio(c))));
}

static void rows(const void *arg, size_t begin, size_t end)
{
    const rill_lstm *l = arg;
    for (size_t r = begin; r < end; r++) {
        const cell_row p = {
            .gate = rill_operand_row(&l->gates, r),
            .prev = rill_operand_row(&l->c_prev, r),
            .c = rill_operand_row(&l->c, r),
            .h = rill_operand_row(&l->h, r),
            .width = l->hidden,
        };
        size_t j = 0;
        for (; j + VL <= p.width; j += VL) cell(&p, j, VL);
        if (j < p.width) cell(&p, j, p.width - j);
    }
}

void RILL_FN(rill_lstm_f32)(const rill_lstm *l, rill_pool *pool)
{
    if (l->rows == 0) return;
    assert(l->gates.data && l->c.data && l->h.data && l->hidden >= 1);
    rill_parallel_for(pool, rows, l, l->rows, (double)l->hidden * 32.0 / VL);
}
