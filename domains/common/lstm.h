/* lstm.h: run an LSTM layer over many sequences of different lengths at once.
 *
 * What the input contributes to the gates does not depend on the recurrence, so it is computed beforehand, for all inputs at
 * once: a table of "starts", one row of [4H] per word of a vocabulary or per position of the batch, bias included. What
 * remains per step is one gemm over K = H and the cell. Sequences stand in order of falling length; the rows of those that
 * still run are then always the first ones, a finished sequence costs nothing and no row is padding.
 * Gates stand in PyTorch's order: i, f, g, o. The state before the first step is zero.
 *
 * By the invariant of kernels.h a sequence's results do not depend on the others, to the last bit.
 * Letters: m sequences, H hidden width, T_s length of sequence s. Stability: internal to rill. */
#ifndef RILL_COMMON_LSTM_H
#define RILL_COMMON_LSTM_H

#include "kernels.h"

typedef struct rill_lstm_batch {
    const rill_kernels *kernels;
    rill_pool *pool;               /* may be NULL */
    const rill_weights *recurrent; /* 4H x H, packed */
    size_t hidden;                 /* H */
    const float *start;            /* [rows, ld_start] input times weights plus bias */
    size_t ld_start;               /* >= 4H */
    size_t m;                      /* 0 is legal */
    const int32_t *length;         /* [m] >= 0, never rising */
    const int32_t *const *input;   /* [m] -> [T_s] rows of start, in the order they are read */
    float *const *out;             /* [m] -> [T_s, ld_out] h after each step; NULL: only the last states are wanted */
    size_t ld_out;
    int out_reversed; /* nonzero: step t goes to row T_s - 1 - t (the backward layer of a pair) */
    float *h, *c;     /* [m, ld_state] out: each sequence's last state (undefined where T_s == 0) */
    size_t ld_state;
    float *gates;   /* [m, 4H] scratch */
    int32_t *index; /* [m] scratch */
} rill_lstm_batch;

void rill_lstm_run(const rill_lstm_batch *batch);

/* Order sequences by falling length, equal ones by number: order[i] is the sequence that goes to place i.
 *   length  [m]; order [m] out */
void rill_lstm_order(size_t m, const int32_t *length, int32_t *order);

#endif
