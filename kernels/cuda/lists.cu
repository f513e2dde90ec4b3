/* lists.cu: symbols that are masked, or multiplied with, by the list of a row's slot. */
#include "rows.cuh"

enum { MASK_THREADS = 64 };

/* A block for each row: lists are short. */
__global__ static void __launch_bounds__(MASK_THREADS) mask(gpu_mask a)
{
    const int32_t r = (int32_t)blockIdx.x;
    if (gpu_leave(r >= *a.rows.count)) return;
    float *x = gpu_row(a.x, r);
    const int32_t slot = a.slot[r], n = a.lists.length[slot];
    const int32_t *id = a.lists.ids + a.lists.first[slot];
    for (int32_t i = (int32_t)threadIdx.x; i < n && x != nullptr; i += MASK_THREADS)
        if ((uint32_t)id[i] < (uint32_t)a.width) x[id[i]] = -INFINITY;
}

void gpu_run_mask(gpu_queue *queue, const gpu_mask *args)
{
    if (args->rows.most > 0) GPU_LAUNCH(queue, (unsigned)args->rows.most, MASK_THREADS, 0, mask, *args);
}

/* --- products with the weights of a list -------------------------------------------------------------------------- */

/* A block for some symbols of a row, a warp for four of them: the row of `a` passes through shared memory, rounded once, and each lane has
 * a wide load of each of four rows of weights under way. Rows of a slot, which stand together, find each other's weights in the cache. */
enum {
    LIST_WARPS = 8,
    LIST_EACH = 4,
    LIST_TILE = LIST_WARPS * LIST_EACH,
    LIST_THREADS = LIST_WARPS * GPU_WARP,
    LIST_COLUMNS = 4096, /* of `a` at a time; a multiple of 128 */
};

typedef struct list_call {
    gpu_list_product a;
    int32_t wide; /* rows of weights can be loaded four at a time */
} list_call;

__device__ static inline float list_rounded(float x, gpu_type type)
{
    return type == GPU_F32 ? x : gpu_of_rounded(gpu_rounded_bits(x, type), type);
}

/* sum[j] += x(0 .. 3) . w[j](k .. k + 3) */
__device__ static inline void list_add_four(const float *x, const float *const (&w)[LIST_EACH], int32_t k,
                                            gpu_type type, float (&sum)[LIST_EACH])
{
    const float4 a = *(const float4 *)x;
    float4 four[LIST_EACH];
#pragma unroll
    for (int j = 0; j < LIST_EACH; j++) four[j] = *(const float4 *)(w[j] + k);
#pragma unroll
    for (int j = 0; j < LIST_EACH; j++) {
        sum[j] = fmaf(a.x, list_rounded(four[j].x, type), sum[j]);
        sum[j] = fmaf(a.y, list_rounded(four[j].y, type), sum[j]);
        sum[j] = fmaf(a.z, list_rounded(four[j].z, type), sum[j]);
        sum[j] = fmaf(a.w, list_rounded(four[j].w, type), sum[j]);
    }
}

/* Columns [begin, end), which x begins with. Lane l has columns 4 l to 4 l + 3 of every 128: whether loads are wide is nothing to a
 * sum's bits. */
__device__ static inline void list_add(const list_call &c, const float *x, const float *const (&w)[LIST_EACH],
                                       int32_t begin, int32_t end, float (&sum)[LIST_EACH])
{
    for (int32_t k = begin + 4 * ((int32_t)threadIdx.x % GPU_WARP); k < end; k += 4 * GPU_WARP) {
        if (c.wide) {
            list_add_four(x + (k - begin), w, k, c.a.type, sum);
            continue;
        }
        for (int32_t i = k; i < k + 4 && i < end; i++)
#pragma unroll
            for (int j = 0; j < LIST_EACH; j++) sum[j] = fmaf(x[i - begin], list_rounded(w[j][i], c.a.type), sum[j]);
    }
}

__global__ static void __launch_bounds__(LIST_THREADS, 4) list_product(list_call c)
{
    const gpu_list_product &a = c.a;
    const int32_t r = (int32_t)blockIdx.x, tile = (int32_t)blockIdx.y * LIST_TILE;
    if (gpu_leave(r >= *a.rows.count)) return;
    const int32_t n = a.lists.length[a.slot[r]], lane = (int32_t)threadIdx.x % GPU_WARP;
    const int32_t first = tile + (int32_t)threadIdx.x / GPU_WARP * LIST_EACH;
    const int32_t *id = a.lists.ids + a.lists.first[a.slot[r]];
    float *out = gpu_row(a.out, r), *x = (float *)(void *)gpu_shared();
    if (gpu_leave(tile >= n || out == nullptr)) return;
    const float *from = gpu_row(a.a, r), *w[LIST_EACH];
    float sum[LIST_EACH];
#pragma unroll
    for (int j = 0; j < LIST_EACH; j++) {
        w[j] = a.w + (size_t)id[first + j < n ? first + j : n - 1] * (size_t)a.width;
        sum[j] = 0.0f;
    }
    for (int32_t begin = 0; begin < a.width; begin += LIST_COLUMNS) {
        const int32_t end = a.width - begin < LIST_COLUMNS ? a.width : begin + LIST_COLUMNS;
        if (begin > 0) __syncthreads();
        for (int32_t k = begin + (int32_t)threadIdx.x; k < end; k += LIST_THREADS)
            x[k - begin] = from != nullptr ? list_rounded(from[k], a.type) : 0.0f;
        __syncthreads();
        if (first < n) list_add(c, x, w, begin, end, sum);
    }
#pragma unroll
    for (int j = 0; j < LIST_EACH; j++) {
#pragma unroll
        for (int d = GPU_WARP / 2; d > 0; d /= 2) sum[j] += __shfl_xor_sync(GPU_ALL, sum[j], d);
        if (lane == j && first + j < n) out[first + j] = gpu_activated(a.activation, sum[j]);
    }
}

void gpu_run_list_product(gpu_queue *queue, const gpu_list_product *args)
{
    const list_call c = {*args, args->width % 4 == 0 && ((uintptr_t)args->w & 15) == 0};
    const size_t columns = args->width < LIST_COLUMNS ? (size_t)args->width : (size_t)LIST_COLUMNS;
    const dim3 grid((unsigned)args->rows.most, (unsigned)(args->longest + LIST_TILE - 1) / LIST_TILE);
    if (grid.x > 0 && grid.y > 0) GPU_LAUNCH(queue, grid, LIST_THREADS, columns * sizeof(float), list_product, c);
}
