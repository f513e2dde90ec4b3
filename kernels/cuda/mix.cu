/* Logarithm of several models' mean probability. One thread reads and writes a symbol, so x may alias the first model's logits. */
#include "symbols.cuh"

__device__ static inline symbols_row mix_row(const gpu_mix &a, int32_t e, int32_t r)
{
    return symbols_get_row(a.logits[e], a.bias[e], nullptr, a.subsets, a.slot, a.symbols, r);
}

/* Log-normaliser of each row and model; NaN: the model has no valid distribution. */
__global__ static void __launch_bounds__(SYMBOLS_THREADS, 4) mix_log_norms(gpu_mix a)
{
    const int32_t r = (int32_t)blockIdx.x, e = (int32_t)blockIdx.y;
    if (gpu_leave(r >= *a.rows.count)) return;
    const symbols_row s = mix_row(a, e, r);
    symbols_total t = symbols_empty();
    bool invalid = false;
    for (int32_t base = 0; base < s.n; base += SYMBOLS_READ * (int32_t)blockDim.x) {
        float x[SYMBOLS_READ];
        symbols_read(s, base, s.n, x);
        invalid |= symbols_are_invalid(x);
        symbols_add_exp(&t, x);
    }
    if (invalid) t.sum = NAN;
    const float norm = symbols_log_norm(symbols_merge_block(t, (symbols_total *)(void *)gpu_shared()));
    if (threadIdx.x == 0) a.log_norm[(size_t)r * (size_t)a.models + (size_t)e] = norm > -INFINITY ? norm : NAN;
}

__global__ static void __launch_bounds__(SYMBOLS_THREADS, 4) mix(gpu_mix a)
{
    const int32_t r = (int32_t)blockIdx.x, base = (int32_t)(blockIdx.y * blockDim.x) * SYMBOLS_READ;
    if (gpu_leave(r >= *a.rows.count)) return;
    const float *log_norm = a.log_norm + (size_t)r * (size_t)a.models;
    const int32_t n = mix_row(a, 0, r).n;
    float *to = gpu_row(a.x, r), x[SYMBOLS_READ], max[SYMBOLS_READ], sum[SYMBOLS_READ] = {0}, invalid = 0.0f;
    if (gpu_leave(base >= n || to == nullptr)) return;
#pragma unroll
    for (int i = 0; i < SYMBOLS_READ; i++) max[i] = -INFINITY;
    for (int32_t e = 0; e < a.models; e++) {
        invalid += log_norm[e];
        symbols_read(mix_row(a, e, r), base, n, x);
#pragma unroll
        for (int i = 0; i < SYMBOLS_READ; i++) max[i] = fmaxf(max[i], x[i] - log_norm[e]);
    }
    for (int32_t e = 0; e < a.models && a.models > 1; e++) {
        symbols_read(mix_row(a, e, r), base, n, x);
#pragma unroll
        for (int i = 0; i < SYMBOLS_READ; i++) sum[i] += expf(x[i] - log_norm[e] - max[i]);
    }
#pragma unroll
    for (int i = 0; i < SYMBOLS_READ; i++) {
        const int32_t v = symbols_index(base, i);
        const float mean = a.models > 1 && max[i] > -INFINITY ? max[i] + logf(sum[i] / (float)a.models) : max[i];
        if (v < n) to[v] = isnan(invalid) ? NAN : mean;
    }
}

void gpu_run_mix(gpu_stream *cu_stream, const gpu_mix *args)
{
    const int32_t threads = symbols_threads(args->symbols, args->subsets.ids != nullptr);
    const int32_t step = threads * SYMBOLS_READ, steps = (args->symbols + step - 1) / step;
    const unsigned rows = (unsigned)args->rows.max;
    const size_t shared = (size_t)(threads / GPU_WARP) * sizeof(symbols_total);
    if (rows == 0 || steps == 0) return;
    GPU_LAUNCH(cu_stream, dim3(rows, (unsigned)args->models), threads, shared, mix_log_norms, *args);
    GPU_LAUNCH(cu_stream, dim3(rows, (unsigned)steps), threads, 0, mix, *args);
}
