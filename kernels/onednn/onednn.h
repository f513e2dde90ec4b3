/* onednn.h: oneDNN as a gemm back end and as the yardstick of the benchmarks. Optional: built when the library is there
 * (then RILL_HAVE_ONEDNN is defined for users of onednn_dep), needed by nothing.
 *
 * What it costs: results depend on the number of rows (the library chooses kernels by it), so THE INVARIANT of
 * kernels.h does not hold; it allocates and keeps primitives in a cache of its own; it runs on its own OpenMP threads,
 * never on a rill_pool. Written against the 2.x C interface. Threads: one caller per matmul object. */
#ifndef RILL_KERNELS_ONEDNN_H
#define RILL_KERNELS_ONEDNN_H

#include "../kernels.h"

/* Replace k->gemm by one that calls oneDNN's sgemm on the same packed weights, a block at a time: convenient, not fast.
 * Calls with row indices on A or C, or with another dtype, stay with our own kernel. Returns 0, or -1 when the library
 * refuses to run (then *k is unchanged). */
int rill_kernels_use_onednn(rill_kernels *k);

/* The library's threads from now on, in this process; ignored where OpenMP is not its runtime. */
void rill_onednn_threads(int threads);

/* C[M,N] = A[M,K] * W^T through the library's plain sgemm; w: [N, K]. Returns 0 or -1. */
int rill_onednn_sgemm(size_t m, size_t n, size_t k, const float *a, const float *w, float *c);

/* The library's fastest form: a matmul primitive for one M with weights in the layout it asks for. */
typedef struct rill_onednn_matmul rill_onednn_matmul;

/* A primitive for M x K times K x N with `copies` packed weight matrices, w[i]: [N, K] fp32, needed only during the
 * call. dtype: F32, BF16 (A is bf16, C fp32) or U8S8 (A is uint8, C int32: neither quantising nor its undoing is part of
 * it). Returns NULL when memory or the library fails; yours, to be given to rill_onednn_matmul_destroy. */
rill_onednn_matmul *rill_onednn_matmul_create(size_t m, size_t n, size_t k, rill_dtype dtype, const float *const *w,
                                              size_t copies);
/* c[M,N] = a[M,K] * W_i^T. Returns 0 or -1. */
int rill_onednn_matmul_run(rill_onednn_matmul *o, size_t copy, const void *a, void *c);
/* NULL is allowed. */
void rill_onednn_matmul_destroy(rill_onednn_matmul *o);

#endif
