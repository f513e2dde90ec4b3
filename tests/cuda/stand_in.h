/* stand_in.h: what tests can ask of the stand-in for a GPU. Plain C.
 *
 * gpu_host.cc is the stand-in's gpu.h, cuda_host.cc runs its kernels, cuda_host.h is the language that they are written in. All
 * settings are the process', may be set at any time by any thread, and hold for work that begins later. */
#ifndef TEST_CUDA_STAND_IN_H
#define TEST_CUDA_STAND_IN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The order of the threads between barriers, and of the blocks: drawn from the seed and the launch's number in its queue. 0: ascending,
 * which is the fastest. At first: RILL_CUDA_HOST_SEED of the environment, else 0. */
#ifdef ON_GPU /* which has an order of its own */
static inline void cuda_host_seed(uint64_t seed)
{
    (void)seed;
}
#else
void cuda_host_seed(uint64_t seed);
#endif

/* gpu_grow() fails where the process' device memory would come to more bytes. At first: RILL_CUDA_HOST_MEMORY of the environment,
 * else SIZE_MAX. */
void cuda_host_memory(size_t bytes);

/* It fails too where the addresses that are reserved would come to more bytes. At first: SIZE_MAX. */
void cuda_host_addresses(size_t bytes);

/* Bytes of device memory that the process has now: of a region whole granules, though its end is where it was asked for. */
size_t cuda_host_used(void);

/* What can be made to fail: a call for memory, of the device or pinned; one that opens, chooses or records; a piece of work when it is
 * done, and with it its queue. */
typedef enum cuda_host_call { CUDA_HOST_MEMORY, CUDA_HOST_OPENING, CUDA_HOST_WORK, CUDA_HOST_CALLS } cuda_host_call;

/* The n-th from now on fails, 1 is the next, and so do as many as `more` behind it; 0: none. And how many there have been. */
void cuda_host_fail(cuda_host_call call, uint64_t n, uint64_t more);
uint64_t cuda_host_count(cuda_host_call call);

#ifdef __cplusplus
}
#endif

#endif
