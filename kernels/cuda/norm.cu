/* Layer norm and RMSNorm. A row of up to 1024 floats is in the registers of a warp, up to 4096 in those of a block. Longer rows are read
 * three times.
 *
 * The order of a sum depends on the row's width alone. */
#include "rows.cuh"

enum { WARP_ROWS = 4, BLOCK = 256, BLOCK_WARPS = BLOCK / GPU_WARP };

/* Sum over a warp, the same in all its lanes. */
__device__ static inline float warp_sum(float x)
{
    for (int by = GPU_WARP / 2; by > 0; by /= 2) x += __shfl_xor_sync(GPU_ALL, x, by);
    return x;
}

/* Sum over the threads of a row: a warp, or the block. `part` has one float per warp. */
template <int THREADS>
__device__ static inline float row_sum(float x, float *part)
{
    x = warp_sum(x);
    if (THREADS == GPU_WARP) return x;
    if (threadIdx.x % GPU_WARP == 0) part[threadIdx.x / GPU_WARP] = x;
    __syncthreads();
    x = part[0];
    for (int w = 1; w < THREADS / GPU_WARP; w++) x += part[w];
    return x;
}

struct norm_rows {
    const float *x, *residual;
    float *y;
};

__device__ static inline norm_rows get_norm_rows(const gpu_row_call &a, int32_t r)
{
    return {gpu_row(a.x[NORMALISE_x], r), gpu_row(a.x[NORMALISE_residual], r), gpu_row(a.x[NORMALISE_y], r)};
}

/* Four floats of z = x + residual from `first` on; zeros beyond the row. */
template <bool WIDE>
__device__ static inline gpu_piece<4> read_z(const norm_rows &row, int32_t first, int32_t width)
{
    gpu_piece<4> z = gpu_read<4>(nullptr, 0);
    if constexpr (WIDE) {
        if (first >= width) return z;
        z = gpu_read<4>(row.x, first / 4);
        if (row.residual == nullptr) return z;
        const gpu_piece<4> more = gpu_read<4>(row.residual, first / 4);
        for (int j = 0; j < 4; j++) z.v[j] += more.v[j];
    } else {
        for (int j = 0; j < 4; j++) {
            if (first + j >= width) break;
            const float x = row.x != nullptr ? row.x[first + j] : 0.0f;
            z.v[j] = row.residual != nullptr ? x + row.residual[first + j] : x;
        }
    }
    return z;
}

__device__ static inline float squares(const gpu_piece<4> &z, float mean, int32_t first, int32_t width)
{
    float sum = 0.0f;
    for (int j = 0; j < 4; j++)
        if (first + j < width) sum += (z.v[j] - mean) * (z.v[j] - mean);
    return sum;
}

template <bool WIDE>
__device__ static inline void write_y(const gpu_row_call &a, float *y, int32_t r, int32_t first, const gpu_piece<4> &z,
                                      float mean, float scale)
{
    if (first >= a.width) return;
    const float *gains = a.x[NORMALISE_gain].data, *biases = a.x[NORMALISE_bias].data;
    if constexpr (WIDE) {
        const gpu_piece<4> gain = gpu_read<4>(gains, first / 4), bias = gpu_read<4>(biases, first / 4);
        gpu_piece<4> out;
        for (int j = 0; j < 4; j++) {
            const float scaled = (z.v[j] - mean) * scale;
            out.v[j] = (gains != nullptr ? scaled * gain.v[j] : scaled) + bias.v[j];
        }
        if (y != nullptr) gpu_write<4>(y, first / 4, out);
        gpu_write<4>(a.panel, r, first / 4, out);
    } else {
        for (int j = 0; j < 4; j++) {
            if (first + j >= a.width) break;
            const float scaled = (z.v[j] - mean) * scale, bias = biases != nullptr ? biases[first + j] : 0.0f;
            const gpu_piece<1> out = {(gains != nullptr ? scaled * gains[first + j] : scaled) + bias};
            if (y != nullptr) gpu_write<1>(y, first + j, out);
            gpu_write<1>(a.panel, r, first + j, out);
        }
    }
}

/* THREADS threads share a row of at most THREADS * 4 * PIECES floats. The launch bound gives the highest occupancy without spilling. */
template <int THREADS, int PIECES, bool WIDE>
__global__ static void __launch_bounds__(BLOCK, THREADS == BLOCK ? 4 : 2) normalise(gpu_row_call a)
{
    const int32_t own = (int32_t)threadIdx.x % THREADS;
    const int32_t first_row = THREADS == GPU_WARP ? (int32_t)blockIdx.x * WARP_ROWS : (int32_t)blockIdx.x;
    const int32_t r = THREADS == GPU_WARP ? first_row + (int32_t)threadIdx.x / GPU_WARP : first_row;
    if (gpu_leave(first_row >= *a.rows.count)) return;
    /* whole warps return; if a row has one warp, there is no barrier that a returned warp could miss */
    if (r >= *a.rows.count) return;
    float *part = THREADS == GPU_WARP ? nullptr : (float *)gpu_shared();
    const norm_rows row = get_norm_rows(a, r);
    gpu_piece<4> z[PIECES];
    float sum = 0.0f, square = 0.0f;
#pragma unroll
    for (int i = 0; i < PIECES; i++) z[i] = read_z<WIDE>(row, 4 * (own + THREADS * i), a.width);
    if (!a.op.normalise.rms) {
#pragma unroll
        for (int i = 0; i < PIECES; i++)
            for (int j = 0; j < 4; j++) sum += z[i].v[j];
        sum = row_sum<THREADS>(sum, part);
    }
    const float mean = a.op.normalise.rms ? 0.0f : sum / (float)a.width;
#pragma unroll
    for (int i = 0; i < PIECES; i++) square += squares(z[i], mean, 4 * (own + THREADS * i), a.width);
    square = row_sum<THREADS>(square, part + BLOCK_WARPS);
    const float scale = 1.0f / sqrtf(square / (float)a.width + a.op.normalise.eps);
#pragma unroll
    for (int i = 0; i < PIECES; i++) write_y<WIDE>(a, row.y, r, 4 * (own + THREADS * i), z[i], mean, scale);
}

/* Normalise rows of any length. The output may be x or residual itself: each element is read and written by one thread. */
template <bool WIDE>
__global__ static void __launch_bounds__(BLOCK) normalise_long(gpu_row_call a)
{
    const int32_t r = (int32_t)blockIdx.x, begin = 4 * (int32_t)threadIdx.x;
    if (gpu_leave(r >= *a.rows.count)) return;
    float *part = (float *)gpu_shared(), sum = 0.0f, square = 0.0f;
    const norm_rows row = get_norm_rows(a, r);
    for (int32_t i = begin; !a.op.normalise.rms && i < a.width; i += 4 * BLOCK) {
        const gpu_piece<4> z = read_z<WIDE>(row, i, a.width);
        for (int j = 0; j < 4; j++) sum += z.v[j];
    }
    const float mean = a.op.normalise.rms ? 0.0f : row_sum<BLOCK>(sum, part) / (float)a.width;
    for (int32_t i = begin; i < a.width; i += 4 * BLOCK)
        square += squares(read_z<WIDE>(row, i, a.width), mean, i, a.width);
    square = row_sum<BLOCK>(square, part + BLOCK_WARPS);
    const float scale = 1.0f / sqrtf(square / (float)a.width + a.op.normalise.eps);
    for (int32_t i = begin; i < a.width; i += 4 * BLOCK)
        write_y<WIDE>(a, row.y, r, i, read_z<WIDE>(row, i, a.width), mean, scale);
}

template <bool WIDE>
static void launch(gpu_stream *cu_stream, const gpu_row_call &a)
{
    const int32_t warps = (a.rows.max + WARP_ROWS - 1) / WARP_ROWS, threads = WARP_ROWS * GPU_WARP;
    const size_t parts = 2 * BLOCK_WARPS * sizeof(float);
    if (a.width <= 128)
        GPU_LAUNCH(cu_stream, warps, threads, 0, (normalise<GPU_WARP, 1, WIDE>), a);
    else if (a.width <= 256)
        GPU_LAUNCH(cu_stream, warps, threads, 0, (normalise<GPU_WARP, 2, WIDE>), a);
    else if (a.width <= 512)
        GPU_LAUNCH(cu_stream, warps, threads, 0, (normalise<GPU_WARP, 4, WIDE>), a);
    else if (a.width <= 1024)
        GPU_LAUNCH(cu_stream, warps, threads, 0, (normalise<GPU_WARP, 8, WIDE>), a);
    else if (a.width <= 2048)
        GPU_LAUNCH(cu_stream, a.rows.max, BLOCK, parts, (normalise<BLOCK, 2, WIDE>), a);
    else if (a.width <= 4096)
        GPU_LAUNCH(cu_stream, a.rows.max, BLOCK, parts, (normalise<BLOCK, 4, WIDE>), a);
    else
        GPU_LAUNCH(cu_stream, a.rows.max, BLOCK, parts, normalise_long<WIDE>, a);
}

void gpu_run_normalise(gpu_stream *cu_stream, const gpu_row_call *args)
{
    if (args->rows.max == 0) return;
    if (gpu_aligned(*args))
        launch<true>(cu_stream, *args);
    else
        launch<false>(cu_stream, *args);
}
