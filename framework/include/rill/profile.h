/* Profiles: the measured cost of each operation of a model, and the peak performance of the machine.
 *
 * A domain that runs graphs on a device (device.h) reports them through its members `profile` and `profile_row`; a caller asks the
 * engine. Profiling reads the clock per operation and block, so it is off by default.
 * Stability: structs are only appended to. */
#ifndef RILL_PROFILE_H
#define RILL_PROFILE_H

#include "rill/context.h"

RILL_C_BEGIN

/* Kinds of arithmetic; the peak performance of each is measured separately. */
typedef enum rill_arithmetic {
    RILL_ARITHMETIC_F32 = 0, /* fp32; also used with bf16 weights on processors that do not multiply bf16 */
    RILL_ARITHMETIC_INT8 = 1,
    RILL_ARITHMETIC_BF16 = 2, /* products of bf16 with sums in fp32 */
    RILL_ARITHMETICS = 3,
} rill_arithmetic;

/* Measured cost of one operation of a graph since profiling started. Flops and bytes are the minimum that the operation needs; a
 * multiply-add is two flops. Weights count as read once for each block of rows. */
typedef struct rill_op_profile {
    const char *program, *operation; /* borrowed: valid as long as the model is open */
    int64_t calls, rows;
    double seconds; /* measured time, summed over threads */
    double flops, bytes;
    rill_arithmetic arithmetic;
    int64_t launches; /* on a GPU: number of launched kernels and matrix products */
} rill_op_profile;

/* Measured peak performance of one thread. */
typedef struct rill_limits {
    double flops[RILL_ARITHMETICS]; /* floating-point (or int8) operations per second */
    double bytes;                   /* bytes read from main memory per second */
} rill_limits;

/* Counts of a GPU's graph runs: captured as a CUDA graph, or replayed for the same memory layout. All 0 on a processor. */
typedef struct rill_graph_runs {
    int64_t direct;   /* runs whose operations were launched one by one */
    int64_t captured; /* runs that were captured, and launched as the CUDA graph */
    int64_t replayed; /* runs that launched an earlier run's CUDA graph */
    int64_t evicted;  /* CUDA graphs dropped to make room for others */
} rill_graph_runs;

/* Returns an operation's fraction of peak performance (roofline model): its least time at peak, divided by its measured time. 0 if the time
 * or the limits are 0. */
static inline double rill_profile_share(const rill_op_profile *op, const rill_limits *limits)
{
    if (!(limits->bytes > 0)) return 0;
    const double moving = op->bytes / limits->bytes, multiplying = op->flops / limits->flops[op->arithmetic];
    const double shortest = moving > multiplying ? moving : multiplying;
    return op->seconds > 0 ? shortest / op->seconds : 0;
}

RILL_C_END

#endif
