/* gpu_collectives.cu: operations of whole warps and blocks, once as in rill's kernels (ours_) and once with CUB (cub_).
 * gpu_collectives.py compiles this file and counts instructions; nothing runs it. */
#include <cub/cub.cuh>
#include <stdint.h>

#define ALL 0xffffffffu

/* The sum over a warp, in all lanes. */
__global__ void ours_warp_sum(float *x)
{
    float v = x[threadIdx.x];
    for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(ALL, v, by);
    x[threadIdx.x] = v;
}

__global__ void cub_warp_sum(float *x)
{
    __shared__ typename cub::WarpReduce<float>::TempStorage storage;
    const float v = cub::WarpReduce<float>(storage).Sum(x[threadIdx.x]);
    x[threadIdx.x] = __shfl_sync(ALL, v, 0);
}

/* The sum over a block of 256, in all threads. */
__global__ void __launch_bounds__(256) ours_block_sum(float *x)
{
    __shared__ float part[8];
    float v = x[threadIdx.x];
    for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(ALL, v, by);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[0];
    for (int w = 1; w < 8; w++) v += part[w];
    x[threadIdx.x] = v;
}

__global__ void __launch_bounds__(256) cub_block_sum(float *x)
{
    __shared__ typename cub::BlockReduce<float, 256>::TempStorage storage;
    __shared__ float all;
    const float v = cub::BlockReduce<float, 256>(storage).Sum(x[threadIdx.x]);
    if (threadIdx.x == 0) all = v;
    __syncthreads();
    x[threadIdx.x] = all;
}

/* The prefix sums over the lanes of a warp. */
__global__ void ours_warp_scan(int32_t *x)
{
    const int lane = threadIdx.x % 32;
    int32_t v = x[threadIdx.x];
    for (int d = 1; d < 32; d *= 2) {
        const int32_t from = __shfl_up_sync(ALL, v, d);
        if (lane >= d) v += from;
    }
    x[threadIdx.x] = v;
}

__global__ void cub_warp_scan(int32_t *x)
{
    __shared__ typename cub::WarpScan<int32_t>::TempStorage storage;
    int32_t v;
    cub::WarpScan<int32_t>(storage).InclusiveSum(x[threadIdx.x], v);
    x[threadIdx.x] = v;
}

/* A log-sum-exp over a warp, in all lanes. */
struct total {
    float max, sum;
};

struct merge {
    __device__ __forceinline__ total operator()(const total &a, const total &b) const
    {
        const float max = fmaxf(a.max, b.max);
        if (max == -INFINITY) return {max, a.sum + b.sum};
        return {max, a.sum * expf(a.max - max) + b.sum * expf(b.max - max)};
    }
};

__global__ void ours_warp_total(total *x)
{
    total v = x[threadIdx.x];
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v = merge()(v, {__shfl_xor_sync(ALL, v.max, d), __shfl_xor_sync(ALL, v.sum, d)});
    x[threadIdx.x] = v;
}

__global__ void cub_warp_total(total *x)
{
    __shared__ typename cub::WarpReduce<total>::TempStorage storage;
    const total v = cub::WarpReduce<total>(storage).Reduce(x[threadIdx.x], merge());
    x[threadIdx.x] = {__shfl_sync(ALL, v.max, 0), __shfl_sync(ALL, v.sum, 0)};
}

/* Sort a warp's 32 keys in descending order across the lanes. */
template <int SIZE, int STRIDE> __device__ __forceinline__ void steps(uint64_t &key)
{
    const int lane = threadIdx.x % 32;
    const bool down = (lane & SIZE) == 0;
    const uint64_t from = __shfl_xor_sync(ALL, key, STRIDE);
    key = (from > key) == (((lane & STRIDE) == 0) == down) ? from : key;
    if constexpr (STRIDE > 1) steps<SIZE, STRIDE / 2>(key);
}

template <int SIZE> __device__ __forceinline__ void sort_lanes(uint64_t &key)
{
    steps<SIZE, SIZE / 2>(key);
    if constexpr (SIZE < 32) sort_lanes<SIZE * 2>(key);
}

__global__ void ours_warp_sort(uint64_t *x)
{
    uint64_t key = x[threadIdx.x];
    sort_lanes<2>(key);
    x[threadIdx.x] = key;
}

struct greater {
    __device__ __forceinline__ bool operator()(const uint64_t &a, const uint64_t &b) const
    {
        return a > b;
    }
};

__global__ void cub_warp_sort(uint64_t *x)
{
    using sort = cub::WarpMergeSort<uint64_t, 1, 32>;
    __shared__ typename sort::TempStorage storage;
    uint64_t key[1] = {x[threadIdx.x]};
    sort(storage).Sort(key, greater());
    x[threadIdx.x] = key[0];
}

/* Sort up to 4,096 keys of a block of 512 threads in descending order. */
__global__ void __launch_bounds__(512, 1) ours_block_sort(uint64_t *x, int n)
{
    __shared__ uint64_t key[4096];
    for (int i = threadIdx.x; i < n; i += 512) key[i] = x[i];
    __syncthreads();
    for (int size = 2; size / 2 < n; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            for (int i = threadIdx.x; i / stride * 2 * stride < n; i += 512) {
                const int one = i / stride * 2 * stride + i % stride;
                const int other = stride == size / 2 ? one ^ (size - 1) : one + stride;
                if (other < n && key[one] < key[other]) {
                    const uint64_t from = key[one];
                    key[one] = key[other];
                    key[other] = from;
                }
            }
            __syncthreads();
        }
    for (int i = threadIdx.x; i < n; i += 512) x[i] = key[i];
}

__global__ void __launch_bounds__(512, 1) cub_block_sort(uint64_t *x, int n)
{
    using sort = cub::BlockRadixSort<uint64_t, 512, 8>;
    __shared__ typename sort::TempStorage storage;
    uint64_t key[8];
    for (int i = 0; i < 8; i++) {
        const int at = i * 512 + threadIdx.x;
        key[i] = at < n ? x[at] : 0;
    }
    sort(storage).SortDescendingBlockedToStriped(key, 0, 48);
    for (int i = 0; i < 8; i++) {
        const int at = i * 512 + threadIdx.x;
        if (at < n) x[at] = key[i];
    }
}
