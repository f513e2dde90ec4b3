/* Collective operations of a warp or block, by CUB, whose primitives have a fixed order. See docs/gpu.md. */
#pragma once

#include "cuda.cuh"

#ifdef __CUDACC__
#include <cub/block/block_radix_sort.cuh>
#include <cub/warp/warp_scan.cuh>

/* The sum over the lanes up to this one. All lanes of a warp must call this function. */
__device__ static inline int32_t gpu_warp_prefix_sum(int32_t x)
{
    using scan = cub::WarpScan<int32_t>;
    __shared__ typename scan::TempStorage storage; /* empty: the reduction uses warp shuffles */
    int32_t sum;
    scan(storage).InclusiveSum(x, sum);
    return sum;
}

template <int THREADS, int ITEMS> using gpu_block_sort_storage =
    typename cub::BlockRadixSort<uint64_t, THREADS, ITEMS>::TempStorage;

/* Bytes of shared memory that gpu_block_sort() needs, aligned to 16. */
template <int THREADS, int ITEMS> static constexpr size_t gpu_block_sort_bytes(void)
{
    return sizeof(gpu_block_sort_storage<THREADS, ITEMS>);
}

/* Sort n <= THREADS * ITEMS distinct keys descending, by their lowest `bits` bits; other bits are 0. key may be in `shared`. */
template <int THREADS, int ITEMS> __device__ static inline void gpu_block_sort(uint64_t *key, int32_t n, int bits, char *shared)
{
    using sort = cub::BlockRadixSort<uint64_t, THREADS, ITEMS>;
    uint64_t own[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const int32_t at = i * THREADS + (int32_t)threadIdx.x;
        own[i] = at < n ? key[at] : 0;
    }
    __syncthreads();
    sort(*(gpu_block_sort_storage<THREADS, ITEMS> *)(void *)shared).SortDescendingBlockedToStriped(own, 0, bits);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const int32_t at = i * THREADS + (int32_t)threadIdx.x;
        if (at < n) key[at] = own[i];
    }
    __syncthreads();
}
#else
#include <algorithm>
#include <functional>

static inline int32_t gpu_warp_prefix_sum(int32_t x)
{
    const int lane = (int)threadIdx.x % GPU_WARP;
    for (int d = 1; d < GPU_WARP; d *= 2) {
        const int32_t from = __shfl_up_sync(GPU_ALL, x, (unsigned)d);
        if (lane >= d) x += from;
    }
    return x;
}

template <int THREADS, int ITEMS> static constexpr size_t gpu_block_sort_bytes(void)
{
    return THREADS * ITEMS * sizeof(uint64_t); /* CUB needs at least this much, and overwrites it */
}

template <int THREADS, int ITEMS> static inline void gpu_block_sort(uint64_t *key, int32_t n, int bits, char *shared)
{
    uint64_t own[ITEMS], *all = (uint64_t *)(void *)shared;
    for (int i = 0; i < ITEMS; i++) {
        const int32_t at = i * THREADS + (int32_t)threadIdx.x;
        own[i] = at < n ? key[at] & (((uint64_t)1 << bits) - 1) : 0;
    }
    __syncthreads();
    for (int i = 0; i < ITEMS; i++) all[i * THREADS + (int32_t)threadIdx.x] = own[i];
    __syncthreads();
    if (threadIdx.x == 0) std::sort(all, all + THREADS * ITEMS, std::greater<uint64_t>());
    __syncthreads();
    for (int i = 0; i < ITEMS; i++) own[i] = all[i * THREADS + (int32_t)threadIdx.x];
    __syncthreads();
    for (int i = 0; i < ITEMS; i++)
        if (i * THREADS + (int32_t)threadIdx.x < n) key[i * THREADS + (int32_t)threadIdx.x] = own[i];
    __syncthreads();
}
#endif
