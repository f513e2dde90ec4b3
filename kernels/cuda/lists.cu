/* lists.cu: masks and products over the vocabulary subset of a row's input. */
#include "rows.cuh"

enum { MASK_THREADS = 64 };

/* Mask the symbols of each row's subset, with one block per row, since subsets are short. */
__global__ static void __launch_bounds__(MASK_THREADS) mask(gpu_mask a)
{
    const int32_t r = (int32_t)blockIdx.x;
    if (gpu_leave(r >= *a.rows.count)) return;
    float *x = gpu_row(a.x, r);
    const int32_t slot = a.slot[r], n = a.subsets.length[slot];
    const int32_t *id = a.subsets.ids + a.subsets.first[slot];
    for (int32_t i = (int32_t)threadIdx.x; i < n && x != nullptr; i += MASK_THREADS)
        if ((uint32_t)id[i] < (uint32_t)a.width) x[id[i]] = -INFINITY;
}

void gpu_run_mask(gpu_stream *cu_stream, const gpu_mask *args)
{
    if (args->rows.max > 0) GPU_LAUNCH(cu_stream, (unsigned)args->rows.max, MASK_THREADS, 0, mask, *args);
}

/* --- products with the weights of a vocabulary subset ------------------------------------------------------------- */

/* A block computes SUBSET_TILE symbols of up to SUBSET_ROWS adjacent rows of an input, which share loads of weights. Rows are staged in
 * shared memory. */
enum {
    SUBSET_ROWS = 4, /* rows of a thread block */
    SUBSET_WARPS = 8,
    SUBSET_EACH = 4,
    SUBSET_TILE = SUBSET_WARPS * SUBSET_EACH,
    SUBSET_THREADS = SUBSET_WARPS * GPU_WARP,
    SUBSET_COLUMNS = 2048, /* columns of `a` in shared memory at a time; a multiple of 128 */
};

typedef struct subset_call {
    gpu_subset_product a;
    int32_t wide;    /* 1: weight rows are aligned for 16-byte loads */
    int32_t columns; /* row stride in shared memory, in floats */
} subset_call;

/* Dot products of a warp's symbols with the rows of one input that a block computes together. */
template <int Rows>
struct subset_sums {
    float v[Rows][SUBSET_EACH];
};

__device__ static inline float subset_rounded(float x, gpu_type type)
{
    return type == GPU_F32 ? x : gpu_rounded_to_float(gpu_round_bits(x, type), type);
}

/* sum[g][j] += x(g, 0 .. 3) . w[j](k .. k + 3) */
template <int Rows>
__device__ static inline void subset_add_four(const subset_call &c, const float *x, const float *const (&w)[SUBSET_EACH], int32_t k,
                                            subset_sums<Rows> &sum)
{
    float4 four[SUBSET_EACH];
#pragma unroll
    for (int j = 0; j < SUBSET_EACH; j++) four[j] = *(const float4 *)(w[j] + k);
#pragma unroll
    for (int j = 0; j < SUBSET_EACH; j++)
        four[j] = {subset_rounded(four[j].x, c.a.type), subset_rounded(four[j].y, c.a.type), subset_rounded(four[j].z, c.a.type),
                   subset_rounded(four[j].w, c.a.type)};
#pragma unroll
    for (int g = 0; g < Rows; g++) {
        const float4 a = *(const float4 *)(x + g * c.columns);
#pragma unroll
        for (int j = 0; j < SUBSET_EACH; j++) {
            sum.v[g][j] = fmaf(a.x, four[j].x, sum.v[g][j]);
            sum.v[g][j] = fmaf(a.y, four[j].y, sum.v[g][j]);
            sum.v[g][j] = fmaf(a.z, four[j].z, sum.v[g][j]);
            sum.v[g][j] = fmaf(a.w, four[j].w, sum.v[g][j]);
        }
    }
}

/* Add the products of columns [begin, end), staged in x. A lane's columns do not depend on the load width, so neither do the bits. */
template <int Rows>
__device__ static inline void subset_add(const subset_call &c, const float *x, const float *const (&w)[SUBSET_EACH],
                                       int32_t begin, int32_t end, subset_sums<Rows> &sum)
{
    for (int32_t k = begin + 4 * ((int32_t)threadIdx.x % GPU_WARP); k < end; k += 4 * GPU_WARP) {
        if (c.wide) {
            subset_add_four(c, x + (k - begin), w, k, sum);
            continue;
        }
        for (int32_t i = k; i < k + 4 && i < end; i++)
#pragma unroll
            for (int j = 0; j < SUBSET_EACH; j++) {
                const float weight = subset_rounded(w[j][i], c.a.type);
#pragma unroll
                for (int g = 0; g < Rows; g++) sum.v[g][j] = fmaf(x[g * c.columns + i - begin], weight, sum.v[g][j]);
            }
    }
}

/* Compute the block's symbols for rows [row, row + Rows), which have one input. */
template <int Rows>
__device__ static inline void subset_rows(const subset_call &c, int32_t row)
{
    const gpu_subset_product &a = c.a;
    const int32_t slot = a.slot[row], n = a.subsets.length[slot], lane = (int32_t)threadIdx.x % GPU_WARP;
    const int32_t tile = (int32_t)blockIdx.y * SUBSET_TILE, first = tile + (int32_t)threadIdx.x / GPU_WARP * SUBSET_EACH;
    const int32_t *id = a.subsets.ids + a.subsets.first[slot];
    float *x = (float *)(void *)gpu_shared();
    const float *w[SUBSET_EACH];
    subset_sums<Rows> sum = {};
    if (tile >= n) return;
#pragma unroll
    for (int j = 0; j < SUBSET_EACH; j++) w[j] = a.w + (size_t)id[first + j < n ? first + j : n - 1] * (size_t)a.width;
    for (int32_t begin = 0; begin < a.width; begin += SUBSET_COLUMNS) {
        const int32_t end = a.width - begin < SUBSET_COLUMNS ? a.width : begin + SUBSET_COLUMNS;
        __syncthreads(); /* all warps have read the previous columns */
        for (int g = 0; g < Rows; g++) {
            const float *from = gpu_row(a.a, row + g);
            for (int32_t k = begin + (int32_t)threadIdx.x; k < end; k += SUBSET_THREADS)
                x[g * c.columns + k - begin] = from != nullptr ? subset_rounded(from[k], a.type) : 0.0f;
        }
        __syncthreads();
        if (first < n) subset_add(c, x, w, begin, end, sum);
    }
#pragma unroll
    for (int g = 0; g < Rows; g++) {
        float *out = gpu_row(a.out, row + g);
#pragma unroll
        for (int j = 0; j < SUBSET_EACH; j++) {
#pragma unroll
            for (int d = GPU_WARP / 2; d > 0; d /= 2) sum.v[g][j] += __shfl_xor_sync(GPU_ALL, sum.v[g][j], d);
            if (lane == j && first + j < n && out != nullptr) out[first + j] = gpu_activated(a.activation, sum.v[g][j]);
        }
    }
}

__global__ static void __launch_bounds__(SUBSET_THREADS, 4) subset_product(subset_call c)
{
    const int32_t count = *c.a.rows.count, first = (int32_t)blockIdx.x * SUBSET_ROWS;
    const int32_t end = count - first < SUBSET_ROWS ? count : first + SUBSET_ROWS;
    if (gpu_leave(first >= count)) return;
    for (int32_t r = first, next; r < end; r = next) {
        for (next = r + 1; next < end && c.a.slot[next] == c.a.slot[r];) next++;
        switch (next - r) {
        case 1: subset_rows<1>(c, r); break;
        case 2: subset_rows<2>(c, r); break;
        case 3: subset_rows<3>(c, r); break;
        default: subset_rows<SUBSET_ROWS>(c, r);
        }
    }
}

void gpu_run_subset_product(gpu_stream *cu_stream, const gpu_subset_product *args)
{
    const int32_t columns = args->width < SUBSET_COLUMNS ? (args->width + 3) / 4 * 4 : (int32_t)SUBSET_COLUMNS;
    const subset_call c = {*args, args->width % 4 == 0 && ((uintptr_t)args->w & 15) == 0, columns};
    const dim3 grid((unsigned)(args->rows.max + SUBSET_ROWS - 1) / SUBSET_ROWS,
                    (unsigned)(args->max_length + SUBSET_TILE - 1) / SUBSET_TILE);
    const size_t shared = SUBSET_ROWS * (size_t)columns * sizeof(float);
    if (grid.x > 0 && grid.y > 0) GPU_LAUNCH(cu_stream, grid, SUBSET_THREADS, shared, subset_product, c);
}
