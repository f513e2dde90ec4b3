/* probe.h: kernels that show what the stand-in does (probe.cc). All pointers are device memory. */
#ifndef TEST_CUDA_PROBE_H
#define TEST_CUDA_PROBE_H

#include "gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct probe_args {
    const int32_t *x;
    int32_t n, flaw; /* flaw: what is wrong, by kernel */
    int32_t *out;
} probe_args;

/* out[thread of the launch] = that number, by blockIdx, blockDim and threadIdx; grid 5 x 3 x 2 of 8 x 4 x 3. */
enum { PROBE_PLACES = 5 * 3 * 2 * 96 };
void probe_places(gpu_stream *queue, const probe_args *args);

/* out[b] = sum of x[b * n ...], n = 128: a tree in shared memory. Flaw 1: a barrier is missing; 2: half the threads have left before
 * one; 3: a float beyond shared memory is written. */
void probe_sum(gpu_stream *queue, const probe_args *args, int32_t blocks);

/* out[op * 64 + thread] for two warps: shfl, xor, down, up, ballot, any, all, __syncthreads_or, then the sum over the half
 * warp that a mask of 16 lanes names. */
enum { PROBE_WARP_OPS = 9 };
void probe_warp(gpu_stream *queue, const probe_args *args);
/* Flaw 0: none; 1: lane 5 leaves before; 2: lanes of different operations; 3: of different masks; 4: a lane that is not named is read;
 * 5: a lane does not name itself. */
void probe_flaw(gpu_stream *queue, const probe_args *args);

/* out: add, max, min, or, and, exchanges, compare-and-swap's increments by x[thread], 4 blocks of 64. Flaw 1: the last is lost. */
enum { PROBE_ATOMICS = 7 };
void probe_atomics(gpu_stream *queue, const probe_args *args);

/* out[op * n + i] of x[i]: popc, clz, ffs, brev, popcll, clzll, float bits there and back. */
enum { PROBE_BITS = 7 };
void probe_bits(gpu_stream *queue, const probe_args *args);

/* out[i] = word i of shared memory as it is found, and dirtied; by 3 blocks of n words. */
void probe_poison(gpu_stream *queue, const probe_args *args);

/* Blocks from n on leave, of 4 with 64 threads; others set out[block] by their last thread. Flaw 1: the last thread stays. */
void probe_early_return(gpu_stream *queue, const probe_args *args);

/* As many blocks, threads and bytes as said; nothing is done. For what cannot be launched, and for timing. */
void probe_empty(gpu_stream *queue, const probe_args *args, int32_t blocks, int32_t threads, size_t shared);
/* Each thread waits n times. */
void probe_barriers(gpu_stream *queue, const probe_args *args, int32_t blocks, int32_t threads);

#ifdef __cplusplus
}
#endif

#endif
