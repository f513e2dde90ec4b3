/* The subset of CUDA that kernels use.
 *
 * Tests compile the kernels for the host, with a block's threads as fibres (tests/cuda/cuda_host.h). So kernels have no inline PTX, mma,
 * clusters, grid-wide barriers or __activemask. All threads of the mask call shuffles and __syncwarp. A kernel has one argument, a struct
 * by value. Shared memory comes from gpu_shared().
 *
 *     __global__ static void work(gpu_copy a) { ... }
 *     GPU_LAUNCH(cu_stream, grid, threads, shared_bytes, work, args);
 *     GPU_LAUNCH(cu_stream, grid, threads, shared_bytes, (work<128>), args);   if the kernel is a template */
#pragma once

#include <math.h>
#include <stdint.h>

#include "launch.h"

enum { GPU_WARP = 32 };
#define GPU_ALL 0xffffffffu

#ifdef __CUDACC__
#include <cuda_runtime.h>

cudaStream_t gpu_launch_on(gpu_stream *cu_stream); /* returns the CUDA stream to launch in, and counts the launch */
void gpu_launched(gpu_stream *cu_stream);          /* keep the launch's error, if it failed */

#define GPU_LAUNCH(cu_stream, grid, threads, shared, kernel, args) \
    (kernel<<<(grid), (threads), (shared), gpu_launch_on(cu_stream)>>>(args), gpu_launched(cu_stream))

__device__ static inline char *gpu_shared(void)
{
    extern __shared__ __align__(16) char gpu_shared_memory[];
    return gpu_shared_memory;
}

/* Usage: if (gpu_leave(condition)) return; the condition must be the same for all threads of a block. Tests check
 * that. */
__device__ static inline bool gpu_leave(bool all)
{
    return all;
}
#else
#include <cuda_host.h> /* emulation of CUDA on the host, for tests; the build sets its include path */
#endif

/* Row r of an operand; NULL: absent. */
__device__ static inline float *gpu_row(const gpu_operand &o, int32_t r)
{
    if (o.data == nullptr) return nullptr;
    const int32_t row = o.index != nullptr ? o.index[r] : r;
    return row >= 0 ? o.data + (size_t)row * (size_t)o.ld : nullptr;
}
