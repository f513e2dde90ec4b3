/* trials.h: the choice of a matrix's GEMM algorithm. Plain C. product.cu implements the second section with cuBLASLt,
 * tests/cuda/gpu_host.cc with made-up algorithms. */
#pragma once

#include "gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The properties of an algorithm that cuBLASLt reports. */
typedef struct gpu_algo_facts {
    int32_t id;        /* the family of kernels, CUBLASLT_ALGO_CONFIG_ID */
    int32_t split_k;   /* parts into which sums are split; 0 or 1: none */
    int32_t has_tile;  /* 1: cuBLASLt names a tile size; 0: it leaves the size undefined */
    int32_t fp32_only; /* 1: the algorithm uses fp32 only: no tensor cores, no tf32, no emulation */
} gpu_algo_facts;

typedef struct gpu_candidate {
    uint64_t algo[8]; /* the algorithm in cuBLASLt's form, as in gpu_matrix */
    gpu_algo_facts facts;
} gpu_candidate;

/* Whether an algorithm may be tried, because its family sums in one order. With fp32 weights, unknown families may be tried too. */
int gpu_algo_may_keep_order(gpu_type type, const gpu_algo_facts *facts);

/* Whether `fast` products may split sums. cuBLASLt was reported to lose the end of K if K is no multiple of 128
 * (facebookexperimental/triton#2767). */
int gpu_may_split_k(const gpu_matrix *matrix);

/* Set matrix->algo by trial; zeros select gpu_multiply_plainly(). Returns 0, or -1 with a reason: the GPU fails or has no
 * memory. */
int gpu_choose_by_trial(gpu_device *device, gpu_matrix *matrix, char why[GPU_ERROR_BYTES]);

/* The range of row counts, an index of gpu_matrix.algo, that a product belongs to. */
int32_t gpu_row_range(int32_t rows);
/* Whether matrix->algo[range] selects gpu_multiply_plainly(). */
int gpu_is_plain(const gpu_matrix *matrix, int32_t range);
/* As gpu_run_product(), by rill's own kernel: one sum per element, in the order of k. */
void gpu_multiply_plainly(gpu_stream *cu_stream, const gpu_product *args);

/* --- defined in product.cu ---------------------------------------------------------------------------------------- */

enum { GPU_CANDIDATES = 8 };
/* Algorithms for products of this many rows, likely the fastest first. Returns how many. */
int gpu_propose(gpu_device *device, const gpu_matrix *matrix, int32_t rows, gpu_candidate out[GPU_CANDIDATES]);
/* Enqueue a product by this algorithm. Returns 0, or -1: the algorithm does not support it, and nothing is enqueued. */
int gpu_multiply_by(gpu_stream *cu_stream, const gpu_product *args, const uint64_t algo[8]);

#ifdef __cplusplus
}
#endif
