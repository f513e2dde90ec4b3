/* probe.cc: see probe.h. */
#include "probe.h"

#include "cuda.cuh"

__global__ static void places(probe_args a)
{
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    a.out[block * blockDim.x * blockDim.y * blockDim.z + thread] = (int32_t)(block * 1000 + thread);
}

void probe_places(gpu_stream *queue, const probe_args *args)
{
    GPU_LAUNCH(queue, dim3(5, 3, 2), dim3(8, 4, 3), 0, places, *args);
}

template <int THREADS>
__global__ static void __launch_bounds__(THREADS) sum(probe_args a)
{
    int32_t *part = (int32_t *)gpu_shared();
    const int t = (int)threadIdx.x, b = (int)blockIdx.x;
    part[t] = t < a.n ? a.x[b * a.n + t] : 0;
    if (a.flaw == 3 && t == 7) part[THREADS] = 1;
#pragma unroll
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (a.flaw == 2 && t >= half) return;
        if (a.flaw != 1) __syncthreads();
        else __syncwarp();
        if (t < half) part[t] += part[t + half];
    }
    if (t == 0) a.out[b] = part[0];
}

void probe_sum(gpu_stream *queue, const probe_args *args, int32_t blocks)
{
    GPU_LAUNCH(queue, blocks, 128, 128 * sizeof(int32_t), (sum<128>), *args);
}

__global__ static void warp(probe_args a)
{
    const int t = (int)threadIdx.x, lane = t % 32;
    const int32_t x = a.x[t];
    a.out[0 * 64 + t] = __shfl_sync(GPU_ALL, x, lane * 7 % 32);
    a.out[1 * 64 + t] = __shfl_xor_sync(GPU_ALL, x, 5);
    a.out[2 * 64 + t] = (int32_t)__shfl_down_sync(GPU_ALL, (double)x, 3);
    a.out[3 * 64 + t] = (int32_t)__shfl_up_sync(GPU_ALL, (float)x, 3);
    a.out[4 * 64 + t] = (int32_t)__ballot_sync(GPU_ALL, x % 3 == 0);
    a.out[5 * 64 + t] = __any_sync(GPU_ALL, x % 50 == 0);
    a.out[6 * 64 + t] = __all_sync(GPU_ALL, x % 50 != 0);
    a.out[7 * 64 + t] = __syncthreads_or(t == 40 && x % 2 == 0) != 0;
    a.out[7 * 64 + t] += 2 * (__syncthreads_or(0) != 0);
    int32_t half = x;
    const unsigned mask = lane < 16 ? 0xffffu : 0xffff0000u;
    for (int by = 8; by > 0; by /= 2) half += __shfl_xor_sync(mask, half, by);
    a.out[8 * 64 + t] = half;
}

void probe_warp(gpu_stream *queue, const probe_args *args)
{
    GPU_LAUNCH(queue, 1, 64, 0, warp, *args);
}

__global__ static void flaw(probe_args a)
{
    const int lane = (int)threadIdx.x % 32;
    if (a.flaw == 1 && lane == 5) return;
    if (a.flaw == 2 && lane == 5)
        __syncwarp();
    else if (a.flaw == 3 && lane == 5)
        __shfl_sync(0xffffu, lane, 0);
    else if (a.flaw == 4)
        __shfl_sync(lane < 16 ? 0xffffu : 0xffff0000u, lane, 20);
    else
        __shfl_sync(a.flaw == 5 && lane == 5 ? ~(1u << 5) : GPU_ALL, lane, 0);
    a.out[threadIdx.x] = 1;
}

void probe_flaw(gpu_stream *queue, const probe_args *args)
{
    GPU_LAUNCH(queue, 1, 64, 0, flaw, *args);
}

__global__ static void atomics(probe_args a)
{
    const int32_t x = a.x[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned *bits = (unsigned *)a.out;
    atomicAdd(a.out, x);
    atomicMax(a.out + 1, x);
    atomicMin(a.out + 2, x);
    atomicOr(bits + 3, (unsigned)x);
    atomicAnd(bits + 4, (unsigned)x);
    atomicAdd(a.out + 5, atomicExch(a.out + 7, x)); /* the sum of all values except the last one exchanged */
    int32_t was = a.out[6];
    __syncthreads();
    if (a.flaw == 1) {
        a.out[6] = was + x;
        return;
    }
    for (;;) {
        const int32_t is = atomicCAS(a.out + 6, was, was + x);
        if (is == was) return;
        was = is;
    }
}

void probe_atomics(gpu_stream *queue, const probe_args *args)
{
    GPU_LAUNCH(queue, 4, 64, 0, atomics, *args);
}

__global__ static void bits(probe_args a)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= a.n) return;
    const int32_t x = a.x[i];
    const uint64_t wide = (uint64_t)(uint32_t)x << 20;
    a.out[0 * a.n + i] = __popc((unsigned)x);
    a.out[1 * a.n + i] = __clz(x);
    a.out[2 * a.n + i] = __ffs(x);
    a.out[3 * a.n + i] = (int32_t)__brev((unsigned)x);
    a.out[4 * a.n + i] = __popcll(wide);
    a.out[5 * a.n + i] = __clzll((long long)wide);
    const float f = __int_as_float(x & 0x3fffffff), g = __uint_as_float(__float_as_uint(f));
    a.out[6 * a.n + i] = __float_as_int(g);
}

void probe_bits(gpu_stream *queue, const probe_args *args)
{
    GPU_LAUNCH(queue, (args->n + 63) / 64, 64, 0, bits, *args);
}

__global__ static void poison(probe_args a)
{
    int32_t *words = (int32_t *)gpu_shared();
    for (int i = (int)threadIdx.x; i < a.n; i += (int)blockDim.x) {
        a.out[(int)blockIdx.x * a.n + i] = words[i];
        words[i] = 5;
    }
}

void probe_poison(gpu_stream *queue, const probe_args *args)
{
    GPU_LAUNCH(queue, 3, 32, (size_t)args->n * sizeof(int32_t), poison, *args);
}

__global__ static void leave(probe_args a)
{
    const bool last = threadIdx.x == blockDim.x - 1;
    if (gpu_leave((int)blockIdx.x >= a.n && !(a.flaw == 1 && last))) return;
    if (last) a.out[blockIdx.x] = 1;
}

void probe_early_return(gpu_stream *queue, const probe_args *args)
{
    GPU_LAUNCH(queue, 4, 64, 0, leave, *args);
}

__global__ static void empty(probe_args a)
{
    if (a.n > 0) a.out[0] = 1;
}

void probe_empty(gpu_stream *queue, const probe_args *args, int32_t blocks, int32_t threads, size_t shared)
{
    GPU_LAUNCH(queue, blocks, threads, shared, empty, *args);
}

__global__ static void barriers(probe_args a)
{
    for (int i = 0; i < a.n; i++) {
        if (a.flaw == 0) __syncthreads();
        else __syncwarp();
    }
}

void probe_barriers(gpu_stream *queue, const probe_args *args, int32_t blocks, int32_t threads)
{
    GPU_LAUNCH(queue, blocks, threads, 0, barriers, *args);
}
