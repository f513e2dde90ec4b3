/* onednn_gemm.h: oneDNN's own matrix products, with which bench_kernels compares rill's. Built if the library is there.
 * Threads: one caller per matmul object. */
#ifndef BENCH_ONEDNN_GEMM_H
#define BENCH_ONEDNN_GEMM_H

#include "kernels.h"

/* Use one thread for later calls of the calling thread. No effect if the library's threads are not OpenMP's. */
void rill_onednn_single_thread(void);

/* C[M,N] = A[M,K] * W^T through the library's plain sgemm; w: [N, K]. Returns 0 or -1. */
int rill_onednn_sgemm(size_t m, size_t n, size_t k, const float *a, const float *w, float *c);

/* The library's fastest form: a matmul primitive for one M with weights in its preferred layout. */
typedef struct rill_onednn_matmul rill_onednn_matmul;

/* A primitive for M x K times K x N with `copies` packed weight matrices, w[i]: [N, K] fp32, needed only during the
 * call. dtype: F32, BF16 (A is bf16, C fp32) or U8S8 (A is uint8, C int32: neither quantisation nor dequantisation
 * is part of it). Returns NULL when memory or the library fails; the caller frees it with
 * rill_onednn_matmul_destroy. */
rill_onednn_matmul *rill_onednn_matmul_create(size_t m, size_t n, size_t k, rill_dtype dtype, const float *const *w,
                                              size_t copies);
/* c[M,N] = a[M,K] * W_i^T. Returns 0 or -1. */
int rill_onednn_matmul_run(rill_onednn_matmul *o, size_t copy, const void *a, void *c);
/* NULL is allowed. */
void rill_onednn_matmul_destroy(rill_onednn_matmul *o);

#endif
