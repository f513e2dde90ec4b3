/* Profiles: the measured cost of a model's operations, and the machine's peak performance.
 *
 * Off by default: profiling reads the clock per operation and block. Call rill_engine_profile() (engine.h).
 * Stability: structs are only appended to. */
#ifndef RILL_PROFILE_H
#define RILL_PROFILE_H

#include "rill/context.h"

RILL_C_BEGIN

/* Kinds of arithmetic, each with its own peak performance. */
typedef enum rill_arithmetic {
    RILL_ARITHMETIC_F32 = 0, /* fp32, also with bf16 weights on CPUs without bf16 products */
    RILL_ARITHMETIC_INT8 = 1,
    RILL_ARITHMETIC_BF16 = 2, /* bf16 products, fp32 sums */
    RILL_ARITHMETICS = 3,
} rill_arithmetic;

/* Cost of one operation of a graph, measured. Flops and bytes are the minimum needed; a multiply-add is two flops. Weights are
 * counted once per block of rows. */
typedef struct rill_op_profile {
    const char *program, *operation; /* names, valid until the model is closed */
    int64_t calls, rows;
    double seconds; /* time in seconds, summed over threads */
    double flops, bytes;
    rill_arithmetic arithmetic;
    int64_t launches; /* GPU: number of launched kernels and GEMMs */
} rill_op_profile;

/* Measured peak performance of one thread. */
typedef struct rill_limits {
    double flops[RILL_ARITHMETICS]; /* floating-point (or int8) operations per second */
    double bytes;                   /* bytes read from main memory per second */
} rill_limits;

/* How a GPU ran its graphs: directly, captured as a CUDA graph, or replayed. All 0 on a CPU. */
typedef struct rill_graph_runs {
    int64_t direct;   /* runs whose operations were launched one by one */
    int64_t captured; /* runs that were captured, and launched as the CUDA graph */
    int64_t replayed; /* runs that launched an earlier run's CUDA graph */
    int64_t evicted;  /* CUDA graphs dropped to make room for others */
} rill_graph_runs;

/* Returns an operation's fraction of peak (roofline model): shortest possible time / measured time; 0 if unknown. */
static inline double rill_profile_share(const rill_op_profile *op, const rill_limits *limits)
{
    if (!(limits->bytes > 0)) return 0;
    const double moving = op->bytes / limits->bytes, multiplying = op->flops / limits->flops[op->arithmetic];
    const double shortest = moving > multiplying ? moving : multiplying;
    return op->seconds > 0 ? shortest / op->seconds : 0;
}

RILL_C_END

#endif
