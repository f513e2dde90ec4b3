/* onednn.h: oneDNN as a back end for gemm (gemm.c) and as the yardstick of the benchmarks (onednn.c). Optional: built
 * when the library is there (then RILL_HAVE_ONEDNN is defined for users of onednn_dep), needed by nothing. The back end is
 * also built as a module of its own, BACKEND_MODULE of domains/common/backend.c, which is loaded when somebody asks for
 * it: the library is large, and a rill that does not use it should not wait for it.
 *
 * What it costs: the library chooses kernels by the number of rows, so THE INVARIANT of kernels.h holds only row by row;
 * and it allocates. Written against the 2.x C interface. Threads: one caller per matmul object; the table as any. */
#ifndef RILL_KERNELS_ONEDNN_H
#define RILL_KERNELS_ONEDNN_H

#include "../kernels.h"

/* Make *k, which rill_kernels_init() has filled, multiply fp32 weights by the library's sgemm; k->f32 then says how they
 * are packed for it. Other weights and operations stay with our own kernels.
 *   row_by_row  0: a row's last bits depend on the rows of the call and on the threads.
 *               1: every row is a product of its own, so THE INVARIANT holds; two to three times as slow.
 * Returns 0, or -1 when the library refuses to run (then *k is unchanged). */
__attribute__((visibility("default"))) int rill_kernels_use_onednn(rill_kernels *k, int row_by_row);

/* The library's threads from now on, for the calling thread; ignored where OpenMP is not its runtime. The back end needs
 * none of this: it gives the library one thread and cuts work by itself. */
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
