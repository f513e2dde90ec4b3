/* Elementwise functions, and the assignment of threads to rows, for kernels on rows.
 *
 * A thread handles N floats: 4 if widths and addresses allow, else 1. A block has GPU_TILE threads, 2^shift per row. Longer rows take
 * several blocks, along the grid's y. */
#pragma once

#include "cuda.cuh"
#include "half.h"

/* --- activation functions ----------------------------------------------------------------------------------------- */

__device__ static inline float gpu_sigmoid(float x)
{
    const float e = expf(-fabsf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

__device__ static inline float gpu_linear(float x)
{
    return x;
}

__device__ static inline float gpu_tanh(float x)
{
    return tanhf(x);
}

/* NaN stays NaN. */
__device__ static inline float gpu_relu(float x)
{
    return x < 0.0f ? 0.0f : x;
}

__device__ static inline float gpu_swish(float x)
{
    return x * gpu_sigmoid(x);
}

__device__ static inline float gpu_gelu(float x)
{
    return 0.5f * x * erfcf(x * -0.707106781f);
}

__device__ static inline float gpu_gelu_tanh(float x)
{
    return x * gpu_sigmoid(x * (1.595769122f + 0.07135481627f * x * x));
}

__device__ static inline float gpu_gelu_sigmoid(float x)
{
    return x * gpu_sigmoid(1.702f * x);
}

__device__ static inline float gpu_activated(rill_activation activation, float x)
{
    switch (activation) {
#define CASE(NAME, name) case RILL_##NAME: return gpu_##name(x);
        RILL_ACTIVATIONS(CASE)
#undef CASE
    }
    return x;
}

/* --- vector loads and stores -------------------------------------------------------------------------------------- */

template <int N>
struct __align__(4 * N) gpu_piece {
    float v[N];
};

/* Piece p of a row; zeros if the row is NULL. */
template <int N>
__device__ static inline gpu_piece<N> gpu_read(const float *row, int32_t p)
{
    if (row != nullptr) return ((const gpu_piece<N> *)row)[p];
    gpu_piece<N> zeros;
    for (int i = 0; i < N; i++) zeros.v[i] = 0.0f;
    return zeros;
}

template <int N>
__device__ static inline void gpu_write(float *row, int32_t p, const gpu_piece<N> &x)
{
    ((gpu_piece<N> *)row)[p] = x;
}

template <int N>
struct __align__(2 * N) gpu_rounded {
    uint16_t v[N];
};

/* Write piece p of row r to a panel, in the panel's type; nothing if there is no panel. */
template <int N>
__device__ static inline void gpu_write(const gpu_panel &to, int32_t r, int32_t p, const gpu_piece<N> &x)
{
    const size_t row = (size_t)r * (size_t)to.ld;
    if (to.data == nullptr) return;
    if (to.type == GPU_F32) {
        gpu_write<N>((float *)to.data + row, p, x);
        return;
    }
    gpu_rounded<N> y;
    for (int i = 0; i < N; i++) y.v[i] = gpu_round_bits(x.v[i], to.type);
    ((gpu_rounded<N> *)((uint16_t *)to.data + row))[p] = y;
}

/* Whether pieces of 4 are possible: rows are 16-byte aligned. Host code. */
static inline bool gpu_aligned(const void *pointer, int32_t ld)
{
    return ((uintptr_t)pointer & 15) == 0 && ld % 4 == 0;
}

static inline bool gpu_aligned(const gpu_operand &o)
{
    return o.data == nullptr || gpu_aligned(o.data, o.ld);
}

static inline bool gpu_aligned(const gpu_row_call &call)
{
    bool aligned = call.width % 4 == 0;
    for (const gpu_operand &o : call.x) aligned = aligned && gpu_aligned(o);
    return aligned;
}

/* --- tiles of rows ------------------------------------------------------------------------------------------------ */

enum { GPU_TILE = 256, GPU_TILE_SHIFT = 8 };

/* A kernel's arguments, and how its rows are cut into pieces. */
template <class Args>
struct gpu_tiled {
    Args a;
    int32_t pieces, shift; /* pieces per row; 2^shift threads per row */
};

template <class Args>
static inline gpu_tiled<Args> gpu_tile(const Args &a, int32_t pieces)
{
    int32_t shift = 0;
    while (shift < GPU_TILE_SHIFT && 1 << shift < pieces) shift++;
    return {a, pieces, shift};
}

/* The grid for the maximum number of rows. Host code. */
template <class Args>
static inline dim3 gpu_tile_grid(const gpu_tiled<Args> &t)
{
    const int32_t down = GPU_TILE_SHIFT - t.shift;
    return dim3((unsigned)((t.a.rows.max + (1 << down) - 1) >> down), (unsigned)((t.pieces + (1 << t.shift) - 1) >> t.shift));
}

/* Find the row and piece of this thread. Returns false if it has none. */
template <class Args>
__device__ static inline bool gpu_place(const gpu_tiled<Args> &t, int32_t *row, int32_t *piece)
{
    const int32_t first = (int32_t)blockIdx.x << (GPU_TILE_SHIFT - t.shift), count = *t.a.rows.count;
    *row = first + ((int32_t)threadIdx.x >> t.shift);
    *piece = ((int32_t)blockIdx.y << t.shift) + ((int32_t)threadIdx.x & ((1 << t.shift) - 1));
    if (gpu_leave(first >= count)) return false;
    return *row < count && *piece < t.pieces;
}

/* Launch the kernel, unless the maximum is zero rows. */
#define GPU_TILES(cu_stream, kernel, tiled)                                                                          \
    do {                                                                                                         \
        if ((tiled).a.rows.max > 0 && (tiled).pieces > 0)                                                       \
            GPU_LAUNCH(cu_stream, gpu_tile_grid(tiled), GPU_TILE, 0, kernel, tiled);                                  \
    } while (0)

/* Define the row operation `word` by its kernel, whose template parameter is the number of floats in a piece. */
#define GPU_ROW_OPERATION(word)                                                                                   \
    void gpu_run_##word(gpu_stream *cu_stream, const gpu_row_call *args)                                          \
    {                                                                                                             \
        const bool wide = gpu_aligned(*args);                                                                     \
        const gpu_tiled<gpu_row_call> t = gpu_tile(*args, args->width / (wide ? 4 : 1));                          \
        if (wide)                                                                                                 \
            GPU_TILES(cu_stream, word<4>, t);                                                                     \
        else                                                                                                      \
            GPU_TILES(cu_stream, word<1>, t);                                                                     \
    }
