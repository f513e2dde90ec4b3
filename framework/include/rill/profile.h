/* Profiles: what each operation of a model has cost, and what the machine could have done at best.
 *
 * A domain that runs programs on a device (device.h) tells them through the members `profile` and `profiled` of its table; a caller
 * asks the engine. Counting costs a look at the clock per operation and block, so it is off until it is asked for.
 * Stability: structs are only appended to. */
#ifndef RILL_PROFILE_H
#define RILL_PROFILE_H

#include "rill/context.h"

RILL_C_BEGIN

/* The kinds of arithmetic that peaks are told for. */
typedef enum rill_arithmetic {
    RILL_ARITHMETIC_F32 = 0, /* weights in bf16 too: they are multiplied in fp32 */
    RILL_ARITHMETIC_INT8 = 1,
    RILL_ARITHMETICS = 2,
} rill_arithmetic;

/* An operation of a program since counting began. Flops and bytes are what the operation must do and move: a multiplication and an
 * addition are two flops; weights count once per block of rows, whatever the caches made of it. */
typedef struct rill_op_profile {
    const char *program, *operation; /* borrowed: valid as long as the model is open */
    int64_t calls, rows;
    double seconds; /* summed over threads */
    double flops, bytes;
    rill_arithmetic arithmetic;
    int64_t launches; /* of kernels and products, on a GPU */
} rill_op_profile;

/* What one thread of the machine does at best, measured. */
typedef struct rill_limits {
    double flops[RILL_ARITHMETICS]; /* per second */
    double bytes;                   /* per second, read from memory that no cache near a core holds */
} rill_limits;

/* The share of the limits that an operation reached: the least time it needs by them, over the time it took; 0 without a time or
 * without limits. */
static inline double rill_profile_share(const rill_op_profile *op, const rill_limits *limits)
{
    if (!(limits->bytes > 0)) return 0;
    const double moving = op->bytes / limits->bytes, multiplying = op->flops / limits->flops[op->arithmetic];
    const double least = moving > multiplying ? moving : multiplying;
    return op->seconds > 0 ? least / op->seconds : 0;
}

RILL_C_END

#endif
