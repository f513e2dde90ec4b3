/* peak.h: what one thread of this processor can do at most, by loops that do nothing but multiply and add, or read.
 * Stability: internal to rill. */
#ifndef RILL_KERNELS_PEAK_H
#define RILL_KERNELS_PEAK_H

#include "kernels.h"

/* One pass of a loop, to be timed by the caller. */
typedef struct rill_peak_loop {
    void (*run)(struct rill_peak_loop *loop);
    double work;      /* flops of a pass, or bytes */
    const void *data; /* what a reading loop reads */
    size_t bytes;
    float sum; /* so that nothing is optimised away */
} rill_peak_loop;

/* Multiply-adds in fp32, or in int8 with exact sums (two flops each), with the widest vectors that `isa` allows. */
rill_peak_loop rill_peak_loop_fma(rill_isa_mask isa, int int8);

/* Reading `bytes` from `data`, which is aligned to 64. */
rill_peak_loop rill_peak_loop_read(const void *data, size_t bytes);

/* The most work per second of a few samples, in about `seconds`. */
double rill_peak_loop_rate(rill_peak_loop *loop, double seconds);

/* Seconds since some moment. */
double rill_clock(void);

#endif
