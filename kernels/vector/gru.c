/* gru.c (vector): GRU cell: new h from both parts of the gates, one vector of hidden units at a time.
 *
 * Invariant: a unit's result is a function of its gates and its previous h, whichever lane it falls in. */
#include <assert.h>

#include "vector.h"

typedef struct cell_row {
    const float *x, *gate, *prev; /* rows of input, gates and previous h; prev is NULL if the previous h is zero */
    float *h;
    size_t width;
} cell_row;

RILL_INLINE vf gate_sum(const cell_row *p, size_t j, size_t n)
{
    return v_add(v_load_n(p->x + j, n), v_load_n(p->gate + j, n));
}

RILL_INLINE void cell(const cell_row *p, size_t j, size_t n)
{
    const vf reset = v_sigmoid(gate_sum(p, j, n)), update = v_sigmoid(gate_sum(p, p->width + j, n));
    const size_t last = 2 * p->width + j;
    const vf fresh = v_tanh(v_add(v_load_n(p->x + last, n), v_mul(reset, v_load_n(p->gate + last, n))));
    vf h = v_mul(v_sub(v_set1(1.0f), update), fresh);
    if (p->prev) h = v_add(h, v_mul(update, v_load_n(p->prev + j, n)));
    v_store_n(p->h + j, n, h);
}

static void rows(const void *arg, size_t begin, size_t end)
{
    const rill_gru *g = arg;
    for (size_t r = begin; r < end; r++) {
        const cell_row p = {
            .x = rill_operand_row(&g->input, r),
            .gate = rill_operand_row(&g->gates, r),
            .prev = rill_operand_row(&g->h_prev, r),
            .h = rill_operand_row(&g->h, r),
            .width = g->hidden,
        };
        for (size_t j = 0; j < p.width; j += VL) cell(&p, j, p.width - j);
    }
}

void RILL_FN(rill_gru_f32)(const rill_gru *g, rill_pool *pool)
{
    if (g->rows == 0) return;
    assert(g->input.data && g->gates.data && g->h.data && g->hidden >= 1);
    rill_parallel_for(pool, rows, g, g->rows, (double)g->hidden * 24.0 / VL);
}
