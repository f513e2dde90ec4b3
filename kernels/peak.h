/* peak.h: peak throughput of one thread of this processor, measured with loops of multiply-adds or reads. Stability:
 * internal to rill. */
#ifndef RILL_KERNELS_PEAK_H
#define RILL_KERNELS_PEAK_H

#include "kernels.h"

/* A loop to measure: run(loop) makes one pass of it. */
typedef struct rill_peak_loop {
    void (*run)(struct rill_peak_loop *loop);
    double work;      /* flops, or bytes read, in one pass */
    const void *data; /* buffer that a reading loop reads */
    size_t bytes;
    float sum; /* keeps the loop from being optimised away */
} rill_peak_loop;

/* A loop of multiply-adds (two flops each) with the widest vectors in `isa`: fp32, or int8 with exact sums. */
rill_peak_loop rill_peak_loop_fma(rill_isa_mask isa, int int8);

/* A loop that reads `bytes` bytes from `data`, which is aligned to 64. */
rill_peak_loop rill_peak_loop_read(const void *data, size_t bytes);

/* Run the loop for about `seconds` in several samples; returns the best sample's rate, in work per second. */
double rill_peak_loop_rate(rill_peak_loop *loop, double seconds);

/* Monotonic clock in seconds. */
double rill_clock(void);

#endif
