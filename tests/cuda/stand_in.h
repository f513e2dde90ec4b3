/* stand_in.h: controls of the stand-in for a GPU. Plain C.
 *
 * gpu_host.cc implements gpu.h, cuda_host.cc runs the kernels, cuda_host.h is the CUDA subset they are written in.
 * Settings are per process. Any thread may change them at any time; they apply to work that starts later. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The order of threads between barriers, and of blocks, is drawn from the seed and the launch's number in its stream.
 * 0: ascending, which is fastest. Initially RILL_CUDA_HOST_SEED of the environment, else 0. */
#ifdef ON_GPU /* a real GPU has its own order */
static inline void cuda_host_seed(uint64_t seed)
{
    (void)seed;
}
#else
void cuda_host_seed(uint64_t seed);
#endif

/* gpu_grow() fails if the process's device memory would exceed this many bytes. Initially RILL_CUDA_HOST_MEMORY of the
 * environment, else SIZE_MAX. */
void cuda_host_memory(size_t bytes);

/* gpu_grow()'s address reservations fail if they would exceed this many bytes in total. Initially SIZE_MAX. */
void cuda_host_addresses(size_t bytes);

/* An algorithm of the stand-in's matrix products: its description for gpu_propose() (kernels/cuda/trials.h), and its
 * behaviour. */
typedef struct cuda_host_algo {
    int32_t id, split_k, has_tile, fp32_only;
    int32_t max_ascending; /* in products of more rows than this, sums run in descending order */
    int32_t max_rows;      /* products of more rows than this are refused */
    int32_t min_rows;      /* the algorithm is proposed for products of at least this many rows */
} cuda_host_algo;

/* Propose these algorithms to gpu_matrix_choose_algo(), which then tries them as on a GPU; NULL: it tries nothing. They
 * are copied. Returns how many products were tried since the last call. */
uint64_t cuda_host_algos(const cuda_host_algo *algos, int n);

/* Products of more rows sum in descending order, whatever algorithm was chosen. A test can show this way that it
 * notices another order. Initially INT32_MAX. */
void cuda_host_turn_sums(int32_t max_ascending);

/* Whether products write a number past their last row, for tests of guards. Initially 0. */
void cuda_host_overrun(int overruns);

/* Bytes of device memory that the process holds now, regions rounded up to granules. */
size_t cuda_host_used(void);

/* Kinds of calls that can be made to fail: allocations of device or pinned memory; opening, selecting and recording; a
 * work item when it runs, which makes its stream fail. */
typedef enum cuda_host_call { CUDA_HOST_MEMORY, CUDA_HOST_OPENING, CUDA_HOST_WORK, CUDA_HOST_CALLS } cuda_host_call;

/* Fail the n-th of these calls from now on, 1 being the next, and the `more` calls after it; n = 0: none. Returns the
 * number of such calls so far. */
void cuda_host_fail(cuda_host_call call, uint64_t n, uint64_t more);
uint64_t cuda_host_count(cuda_host_call call);

#ifdef __cplusplus
}
#endif
