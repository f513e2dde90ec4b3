/* Reading rows of logits, and log-sum-exp, for choices.cu and mix.cu.
 *
 * Invariant: the symbols that a thread reads, and so a sum's bits, do not depend on the row's address. */
#pragma once

#include "cuda.cuh"

enum {
    SYMBOLS_READ = 8,      /* symbols that a thread reads per step, in two wide loads */
    SYMBOLS_SUBSET_THREADS = 128,  /* threads per row of a vocabulary subset, whatever its length */
    SYMBOLS_THREADS = 256, /* maximum number of threads of a block */
};

/* Threads per row. The number follows from the number of symbols alone, because the bits of a row's sum depend on it. */
static inline int32_t symbols_threads(int32_t symbols, bool is_subset)
{
    if (is_subset) return SYMBOLS_SUBSET_THREADS;
    return symbols <= 1024 ? GPU_WARP : symbols <= 4096 ? 128 : SYMBOLS_THREADS;
}

/* A row of logits: x(v) = (logits(v) + bias(v)) + add(v), v < n. With ids, the bias is read at id[v]. */
typedef struct symbols_row {
    const float *logits, *bias, *add; /* rows of logits, bias and addend; `bias` and `add` may be NULL */
    const int32_t *id;                /* [n] ids of a vocabulary subset, or NULL */
    int32_t n;
    bool wide; /* loads of four floats are aligned */
} symbols_row;

__device__ static inline symbols_row symbols_get_row(const gpu_operand &logits, const float *bias, const float *add,
                                                const gpu_subsets &subsets, const int32_t *slot, int32_t symbols, int32_t r)
{
    symbols_row s = {logits.data + (size_t)r * (size_t)logits.ld, bias, add, nullptr, symbols, false};
    if (subsets.ids != nullptr) {
        s.id = subsets.ids + subsets.first[slot[r]];
        s.n = subsets.length[slot[r]];
    }
    s.wide = (((uintptr_t)s.logits | (uintptr_t)s.bias | (uintptr_t)s.add) & 15) == 0 &&
             (s.id == nullptr || s.bias == nullptr);
    return s;
}

__device__ static inline float symbols_logit(const symbols_row &s, int32_t v)
{
    float x = s.logits[v];
    if (s.bias != nullptr) x += s.bias[s.id != nullptr ? s.id[v] : v];
    return s.add != nullptr ? x + s.add[v] : x;
}

/* The position in a row of the i-th symbol that a thread reads in the step from `base` on. */
__device__ static inline int32_t symbols_index(int32_t base, int i)
{
    return base + 4 * (int32_t)threadIdx.x + (i / 4) * 4 * (int32_t)blockDim.x + i % 4;
}

__device__ static inline void symbols_add_wide(const float *from, int32_t v, float (&x)[SYMBOLS_READ])
{
    const float4 a = *(const float4 *)(from + v), b = *(const float4 *)(from + v + 4 * (int32_t)blockDim.x);
    x[0] += a.x, x[1] += a.y, x[2] += a.z, x[3] += a.w;
    x[4] += b.x, x[5] += b.y, x[6] += b.z, x[7] += b.w;
}

/* Read this thread's symbols of the step from `base` on. `base` is a multiple of 4. Symbols from `end` on are
 * -infinity. */
__device__ static inline void symbols_read(const symbols_row &s, int32_t base, int32_t end, float (&x)[SYMBOLS_READ])
{
    const int32_t v = symbols_index(base, 0);
    if (s.wide && symbols_index(base, SYMBOLS_READ - 1) < end) {
        const float4 a = *(const float4 *)(s.logits + v), b = *(const float4 *)(s.logits + v + 4 * (int32_t)blockDim.x);
        x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w;
        x[4] = b.x, x[5] = b.y, x[6] = b.z, x[7] = b.w;
        if (s.bias != nullptr) symbols_add_wide(s.bias, v, x);
        if (s.add != nullptr) symbols_add_wide(s.add, v, x);
        return;
    }
#pragma unroll
    for (int i = 0; i < SYMBOLS_READ; i++) {
        const int32_t index = symbols_index(base, i);
        x[i] = index < end ? symbols_logit(s, index) : -INFINITY;
    }
}

/* --- sums of exponentials ----------------------------------------------------------------------------------------- */

/* Partial log-sum-exp: the sum of exp(x) is sum * exp(max). A NaN sum: there was a NaN or +infinity. */
typedef struct symbols_total {
    float max, sum;
} symbols_total;

__device__ static inline symbols_total symbols_empty(void)
{
    return {-INFINITY, 0.0f};
}

__device__ static inline bool symbols_are_invalid(const float (&x)[SYMBOLS_READ])
{
    bool invalid = false;
#pragma unroll
    for (int i = 0; i < SYMBOLS_READ; i++) invalid |= !(x[i] < INFINITY);
    return invalid;
}

__device__ static inline void symbols_add_exp(symbols_total *t, const float (&x)[SYMBOLS_READ])
{
    float top = x[0];
#pragma unroll
    for (int i = 1; i < SYMBOLS_READ; i++) top = fmaxf(top, x[i]);
    if (top > t->max) {
        t->sum *= expf(t->max - top);
        t->max = top;
    }
    if (t->max == -INFINITY) return;
#pragma unroll
    for (int i = 0; i < SYMBOLS_READ; i++) t->sum += expf(x[i] - t->max);
}

/* Merge two totals; commutative to the bit. */
__device__ static inline symbols_total symbols_merge(symbols_total a, symbols_total b)
{
    const float max = fmaxf(a.max, b.max);
    if (max == -INFINITY) return {max, a.sum + b.sum};
    return {max, a.sum * expf(a.max - max) + b.sum * expf(b.max - max)};
}

__device__ static inline symbols_total symbols_merge_warp(symbols_total t)
{
#pragma unroll
    for (int d = GPU_WARP / 2; d > 0; d /= 2)
        t = symbols_merge(t, {__shfl_xor_sync(GPU_ALL, t.max, d), __shfl_xor_sync(GPU_ALL, t.sum, d)});
    return t;
}

/* Reduce the totals of the block's threads, for all threads. `shared`: one total per warp; reusable after a barrier. */
__device__ static inline symbols_total symbols_merge_block(symbols_total t, symbols_total *shared)
{
    const int lane = (int)threadIdx.x % GPU_WARP, warps = (int)blockDim.x / GPU_WARP;
    t = symbols_merge_warp(t);
    if (lane == 0) shared[threadIdx.x / GPU_WARP] = t;
    __syncthreads();
    return symbols_merge_warp(lane < warps ? shared[lane] : symbols_empty());
}

/* Log-normaliser of a row; -infinity if all its symbols are. */
__device__ static inline float symbols_log_norm(symbols_total t)
{
    return t.max + logf(t.sum);
}
