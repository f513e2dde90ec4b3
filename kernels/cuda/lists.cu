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

/* A block has some symbols of a few rows, a warp four of them: the rows of `a` pass through shared memory, rounded once, and each lane has
 * a wide load of each of four rows of weights under way. Rows of a slot stand together: those of a block share these loads. One that stands
 * alone is done alone; its sums are in the same order. */
enum {
    LIST_ROWS = 4,
    LIST_WARPS = 8,
    LIST_EACH = 4,
    LIST_TILE = LIST_WARPS * LIST_EACH,
    LIST_THREADS = LIST_WARPS * GPU_WARP,
    LIST_COLUMNS = 2048, /* of `a` at a time; a multiple of 128 */
};

typedef struct list_call {
    gpu_list_product a;
    int32_t wide;    /* rows of weights can be loaded four at a time */
    int32_t columns; /* from row to row in shared memory */
} list_call;

/* Of the rows of a slot that a block works on together. */
template <int ROWS>
struct list_sums {
    float of[ROWS][LIST_EACH];
};

__device__ static inline float list_rounded(float x, gpu_type type)
{
    return type == GPU_F32 ? x : gpu_of_rounded(gpu_rounded_bits(x, type), type);
}

/* sum[g][j] += x(g, 0 .. 3) . w[j](k .. k + 3) */
template <int ROWS>
__device__ static inline void list_add_four(const list_call &c, const float *x, const float *const (&w)[LIST_EACH], int32_t k,
                                            list_sums<ROWS> &sum)
{
    float4 four[LIST_EACH];
#pragma unroll
    for (int j = 0; j < LIST_EACH; j++) four[j] = *(const float4 *)(w[j] + k);
#pragma unroll
    for (int j = 0; j < LIST_EACH; j++)
        four[j] = {list_rounded(four[j].x, c.a.type), list_rounded(four[j].y, c.a.type), list_rounded(four[j].z, c.a.type),
                   list_rounded(four[j].w, c.a.type)};
#pragma unroll
    for (int g = 0; g < ROWS; g++) {
        const float4 a = *(const float4 *)(x + g * c.columns);
#pragma unroll
        for (int j = 0; j < LIST_EACH; j++) {
            float *const of = &sum.of[g][j];
            *of = fmaf(a.w, four[j].w, fmaf(a.z, four[j].z, fmaf(a.y, four[j].y, fmaf(a.x, four[j].x, *of))));
        }
    }
}

/* Columns [begin, end), which x begins with. Lane l has columns 4 l to 4 l + 3 of every 128: whether loads are wide is nothing to a
 * sum's bits. */
template <int ROWS>
__device__ static inline void list_add(const list_call &c, const float *x, const float *const (&w)[LIST_EACH],
                                       int32_t begin, int32_t end, list_sums<ROWS> &sum)
{
    for (int32_t k = begin + 4 * ((int32_t)threadIdx.x % GPU_WARP); k < end; k += 4 * GPU_WARP) {
        if (c.wide) {
            list_add_four(c, x + (k - begin), w, k, sum);
            continue;
        }
        for (int32_t i = k; i < k + 4 && i < end; i++)
#pragma unroll
            for (int j = 0; j < LIST_EACH; j++) {
                const float of = list_rounded(w[j][i], c.a.type);
                for (int g = 0; g < ROWS; g++) sum.of[g][j] = fmaf(x[g * c.columns + i - begin], of, sum.of[g][j]);
            }
    }
}

/* Rows [row, row + rows) of one slot. Sums of rows beyond them are not looked at. */
template <int ROWS>
__device__ static inline void list_rows(const list_call &c, int32_t row, int32_t rows)
{
    const gpu_list_product &a = c.a;
    const int32_t slot = a.slot[row], n = a.lists.length[slot], lane = (int32_t)threadIdx.x % GPU_WARP;
    const int32_t tile = (int32_t)blockIdx.y * LIST_TILE, first = tile + (int32_t)threadIdx.x / GPU_WARP * LIST_EACH;
    const int32_t *id = a.lists.ids + a.lists.first[slot];
    float *x = (float *)(void *)gpu_shared();
    const float *w[LIST_EACH];
    list_sums<ROWS> sum = {};
    if (tile >= n) return;
#pragma unroll
    for (int j = 0; j < LIST_EACH; j++) w[j] = a.w + (size_t)id[first + j < n ? first + j : n - 1] * (size_t)a.width;
    for (int32_t begin = 0; begin < a.width; begin += LIST_COLUMNS) {
        const int32_t end = a.width - begin < LIST_COLUMNS ? a.width : begin + LIST_COLUMNS;
        __syncthreads(); /* what was there has been read */
        for (int g = 0; g < ROWS; g++) {
            const float *from = g < rows ? gpu_row(a.a, row + g) : nullptr;
            for (int32_t k = begin + (int32_t)threadIdx.x; k < end; k += LIST_THREADS)
                x[g * c.columns + k - begin] = from != nullptr ? list_rounded(from[k], a.type) : 0.0f;
        }
        __syncthreads();
        if (first < n) list_add<ROWS>(c, x, w, begin, end, sum);
    }
#pragma unroll
    for (int g = 0; g < ROWS; g++) {
        float *out = g < rows ? gpu_row(a.out, row + g) : nullptr;
#pragma unroll
        for (int j = 0; j < LIST_EACH; j++) {
#pragma unroll
            for (int d = GPU_WARP / 2; d > 0; d /= 2) sum.of[g][j] += __shfl_xor_sync(GPU_ALL, sum.of[g][j], d);
            if (lane == j && first + j < n && out != nullptr) out[first + j] = gpu_activated(a.activation, sum.of[g][j]);
        }
    }
}

__global__ static void __launch_bounds__(LIST_THREADS, 4) list_product(list_call c)
{
    const int32_t count = *c.a.rows.count, first = (int32_t)blockIdx.x * LIST_ROWS;
    const int32_t end = count - first < LIST_ROWS ? count : first + LIST_ROWS;
    if (gpu_leave(first >= count)) return;
    for (int32_t r = first, next; r < end; r = next) {
        for (next = r + 1; next < end && c.a.slot[next] == c.a.slot[r];) next++;
        if (next == r + 1)
            list_rows<1>(c, r, 1);
        else
            list_rows<LIST_ROWS>(c, r, next - r);
    }
}

void gpu_run_list_product(gpu_queue *queue, const gpu_list_product *args)
{
    const int32_t columns = args->width < LIST_COLUMNS ? (args->width + 3) / 4 * 4 : (int32_t)LIST_COLUMNS;
    const list_call c = {*args, args->width % 4 == 0 && ((uintptr_t)args->w & 15) == 0, columns};
    const dim3 grid((unsigned)(args->rows.most + LIST_ROWS - 1) / LIST_ROWS, (unsigned)(args->longest + LIST_TILE - 1) / LIST_TILE);
    const size_t shared = LIST_ROWS * (size_t)columns * sizeof(float);
    if (grid.x > 0 && grid.y > 0) GPU_LAUNCH(queue, grid, LIST_THREADS, shared, list_product, c);
}
