/* probe.h: kernels that demonstrate the stand-in (probe.cc). All pointers are device memory. */
#pragma once

#include "gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct probe_args {
    const int32_t *x;
    int32_t n, flaw; /* flaw: an error that the kernel commits on purpose, see below */
    int32_t *out;
} probe_args;

/* out[index of the thread in the launch] = that index, from blockIdx, blockDim and threadIdx; grid 5 x 3 x 2 of 8 x 4 x
 * 3. */
enum { PROBE_PLACES = 5 * 3 * 2 * 96 };
void probe_places(gpu_stream *queue, const probe_args *args);

/* out[b] = sum of x[b * n ...], n = 128: a tree reduction in shared memory. Flaw 1: a barrier is missing; 2: half of
 * the threads leave before a barrier; 3: writes past shared memory. */
void probe_sum(gpu_stream *queue, const probe_args *args, int32_t blocks);

/* out[op * 64 + thread] for two warps: shfl, xor, down, up, ballot, any, all, __syncthreads_or, then the sum over the
 * half warp in a mask of 16 lanes. */
enum { PROBE_WARP_OPS = 9 };
void probe_warp(gpu_stream *queue, const probe_args *args);
/* Flaw 0: none; 1: lane 5 leaves early; 2: lanes in different operations; 3: different masks; 4: a lane outside the
 * mask is read; 5: a lane's own mask lacks it. */
void probe_flaw(gpu_stream *queue, const probe_args *args);

/* out: add, max, min, or, and, exchange, and increments by compare-and-swap, each with x[thread], 4 blocks of 64. Flaw
 * 1: the last increment is lost. */
enum { PROBE_ATOMICS = 7 };
void probe_atomics(gpu_stream *queue, const probe_args *args);

/* out[op * n + i] of x[i]: popc, clz, ffs, brev, popcll, clzll, float to bits and back. */
enum { PROBE_BITS = 7 };
void probe_bits(gpu_stream *queue, const probe_args *args);

/* out[i] = initial content of word i of shared memory. The kernel overwrites it afterwards. 3 blocks of n words. */
void probe_poison(gpu_stream *queue, const probe_args *args);

/* Of 4 blocks with 64 threads, those from n on return early; in the others the last thread sets out[block]. Flaw 1: the
 * last thread of an early block does not return. */
void probe_early_return(gpu_stream *queue, const probe_args *args);

/* Launch an empty kernel with this many blocks, threads and bytes: for invalid launches, and for timing. */
void probe_empty(gpu_stream *queue, const probe_args *args, int32_t blocks, int32_t threads, size_t shared);
/* Each thread passes n barriers. */
void probe_barriers(gpu_stream *queue, const probe_args *args, int32_t blocks, int32_t threads);

#ifdef __cplusplus
}
#endif
