/* kernel_check.h: shared by the kernel checks: random numbers, guarded buffers, the kernel table of an ISA, failure
 * reports.
 *
 * A check generates random and worst cases, runs an operation of the table under test and compares it with an oracle.
 * If possible, the oracle is independent of the reference kernel (sums in double, a full sort). It also compares the
 * operation with itself, to the last bit: each row alone, in other batches, gathered, on several threads. Every output
 * has canaries around it and gaps (leading dimensions) that must not change.
 *
 * Order of use: see check_kernels.c. One thread; the helpers exit the program on failure, with the case on stderr. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

typedef struct check {
    rill_kernels k;       /* the table under test */
    rill_pool *pool[2];   /* pools of 2 and of 3 threads */
    uint64_t dice;        /* state of the random numbers */
    unsigned rounds;      /* random cases per check */
    const char *op, *isa; /* names of the operation and the instruction set, for messages */
    char what[256];       /* description of the case, for messages */
} check;

typedef struct check_op {
    const char *name;
    void (*run)(check *c);
    void (*bench)(check *c);
} check_op;

extern const check_op check_ops[];
void check_gemm(check *c);
void check_lstm(check *c);
void check_gru(check *c);
void check_attention(check *c);
void check_best(check *c);
void check_rows(check *c);
void check_math(check *c);
void check_pool(check *c);
void check_table(check *c);
void bench_gemm(check *c);
void bench_lstm(check *c);
void bench_attention(check *c);
void bench_best(check *c);
void bench_rows(check *c);
void bench_math(check *c);
void bench_pool(check *c);

/* --- random numbers */
uint64_t dice_next(check *c);
size_t dice_below(check *c, size_t n);               /* 0..n-1; n >= 1 */
size_t dice_from(check *c, size_t low, size_t high); /* low..high */
float dice_normal(check *c);                         /* about N(0, 1) */
void dice_fill(check *c, float *x, size_t n, float scale);
/* As dice_fill, then some entries become huge, tiny, denormal, zero or minus zero. */
void dice_fill_hard(check *c, float *x, size_t n, float scale);
/* Draw a random permutation of 0..n-1; and n distinct numbers below `of`. */
void dice_permutation(check *c, int32_t *p, size_t n);
void dice_choose(check *c, int32_t *p, size_t n, size_t upper);

/* --- buffers: zeroed, canaries at both ends, 4 bytes off alignment; freed together */
float *buffer(check *c, size_t n);
int32_t *buffer_int(check *c, size_t n);
uint64_t *buffer_words(check *c, size_t n);
void *buffer_aligned(check *c, size_t bytes); /* 64-byte aligned */
/* Return a buffer filled with a pattern that no kernel writes. buffer_kept() tells whether entry i still has the
 * pattern. */
float *buffer_patterned(check *c, size_t n);
int buffer_kept(const float *x, size_t i);
/* Check all canaries and free everything. Called at the end of every case. */
void buffers_finish(check *c);

/* y[i] = f(x[i]) for i < n: f is an activation, or CHECK_EXP. */
enum { CHECK_EXP = -1 };
void elementwise(const check *c, int f, size_t n, const float *x, float *y);

/* --- failure reports */
void case_name(check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void check_fail(const check *c, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5), noreturn));
#define EXPECT(c, condition, ...)                                         \
    do {                                                                  \
        if (!(condition)) check_fail(c, __FILE__, __LINE__, __VA_ARGS__); \
    } while (0)

/* Bitwise equality of rows (NaN equals NaN). */
int same_bits(const float *a, const float *b, size_t n);
/* |x - y| <= tolerance, or both NaN, or both the same infinity. */
int near(double x, double y, double tolerance);

/* Seconds per call: the minimum of 100 samples of at least 0.1 ms each. */
typedef void (*bench_fn)(void *arg);
double bench_seconds(bench_fn fn, void *arg);
