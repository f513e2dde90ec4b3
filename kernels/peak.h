/* peak.h: peak throughput of one thread of this processor, measured with loops of multiply-adds or reads. Stability:
 * internal to rill. */
#ifndef RILL_KERNELS_PEAK_H
#define RILL_KERNELS_PEAK_H

#include "kernels.h"

/* One pass of a loop, timed by the caller. */
typedef struct rill_peak_loop {
    void (*run)(struct rill_peak_loop *loop);
    double work;      /* flops of a pass, or bytes */
    const void *data; /* buffer of a reading loop */
    size_t bytes;
    float sum; /* keeps the loop from being optimised away */
} rill_peak_loop;

/* Multiply-adds in fp32, or in int8 with exact sums (two flops each), with the widest vectors in `isa`. */
rill_peak_loop rill_peak_loop_fma(rill_isa_mask isa, int int8);

/* Reading `bytes` from `data`, which is aligned to 64. */
rill_peak_loop rill_peak_loop_read(const void *data, size_t bytes);

/* The best rate, in work per second, of a few samples in about `seconds`. */
double rill_peak_loop_rate(rill_peak_loop *loop, double seconds);

/* Monotonic clock in seconds. */
double rill_clock(void);

#endif
