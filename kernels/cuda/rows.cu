/* rows.cu: copies, sums and activations of rows, and indices derived from columns. Norms are in norm.cu. */
#include "rows.cuh"

/* --- gather ------------------------------------------------------------------------------------------------------- */

template <int N>
__global__ static void gather(gpu_tiled<gpu_gather> t)
{
    int32_t r, p;
    if (!gpu_place(t, &r, &p)) return;
    const int32_t x_pieces = t.a.width / N;
    gpu_write<N>(t.a.panel, r, p,
                 p < x_pieces ? gpu_read<N>(gpu_row(t.a.x, r), p) : gpu_read<N>(gpu_row(t.a.x2, r), p - x_pieces));
}

void gpu_run_gather(gpu_stream *cu_stream, const gpu_gather *args)
{
    const bool wide = args->width % 4 == 0 && args->width2 % 4 == 0 && gpu_aligned(args->x) && gpu_aligned(args->x2);
    const gpu_tiled<gpu_gather> t = gpu_tile(*args, (args->width + args->width2) / (wide ? 4 : 1));
    if (wide)
        GPU_TILES(cu_stream, gather<4>, t);
    else
        GPU_TILES(cu_stream, gather<1>, t);
}

/* --- elementwise operations --------------------------------------------------------------------------------------- */

template <int N>
__global__ static void copy(gpu_tiled<gpu_row_call> t)
{
    int32_t r, p;
    if (!gpu_place(t, &r, &p)) return;
    float *out = gpu_row(t.a.x[COPY_out], r);
    if (out != nullptr) gpu_write<N>(out, p, gpu_read<N>(gpu_row(t.a.x[COPY_x], r), p));
}

GPU_ROW_OPERATION(copy)

template <int N>
__global__ static void epilogue(gpu_tiled<gpu_epilogue> t)
{
    int32_t r, p;
    if (!gpu_place(t, &r, &p)) return;
    const int32_t out_pieces = t.a.width / N, second = p >= out_pieces;
    const float *bias = second ? t.a.bias2 : t.a.bias;
    float *out = gpu_row(second ? t.a.out2 : t.a.out, r);
    if (out == nullptr && t.a.panel.data == nullptr) return;
    const gpu_piece<N> sums = gpu_read<N>(gpu_row(t.a.sums, r), p), add = gpu_read<N>(gpu_row(t.a.add, r), p);
    if (second) p -= out_pieces;
    const gpu_piece<N> one = gpu_read<N>(bias, p);
    gpu_piece<N> y;
    for (int i = 0; i < N; i++) y.v[i] = gpu_activated(t.a.activation, (one.v[i] + add.v[i]) + sums.v[i]);
    if (out != nullptr) gpu_write<N>(out, p, y);
    gpu_write<N>(t.a.panel, r, p, y);
}

void gpu_run_epilogue(gpu_stream *cu_stream, const gpu_epilogue *args)
{
    const bool wide = args->width % 4 == 0 && args->width2 % 4 == 0 && gpu_aligned(args->sums) && gpu_aligned(args->bias, 0) &&
                      gpu_aligned(args->add) && gpu_aligned(args->out) && gpu_aligned(args->bias2, 0) && gpu_aligned(args->out2);
    const gpu_tiled<gpu_epilogue> t = gpu_tile(*args, (args->width + args->width2) / (wide ? 4 : 1));
    if (wide)
        GPU_TILES(cu_stream, epilogue<4>, t);
    else
        GPU_TILES(cu_stream, epilogue<1>, t);
}

template <int N>
__global__ static void activate(gpu_tiled<gpu_row_call> t)
{
    int32_t r, p;
    if (!gpu_place(t, &r, &p)) return;
    float *out = gpu_row(t.a.x[ACTIVATE_y], r);
    if (out == nullptr && t.a.panel.data == nullptr) return;
    const gpu_piece<N> x = gpu_read<N>(gpu_row(t.a.x[ACTIVATE_x], r), p), gate = gpu_read<N>(gpu_row(t.a.x[ACTIVATE_gate], r), p);
    gpu_piece<N> y;
    for (int i = 0; i < N; i++) {
        const float z = gpu_activated(t.a.op.activate.activation, x.v[i]);
        y.v[i] = t.a.x[ACTIVATE_gate].data != nullptr ? z * gate.v[i] : z;
    }
    if (out != nullptr) gpu_write<N>(out, p, y);
    gpu_write<N>(t.a.panel, r, p, y);
}

GPU_ROW_OPERATION(activate)

template <int N>
__global__ static void embed(gpu_tiled<gpu_row_call> t)
{
    int32_t r, p;
    if (!gpu_place(t, &r, &p)) return;
    float *out = gpu_row(t.a.x[EMBED_out], r);
    if (out == nullptr && t.a.panel.data == nullptr) return;
    const float *row = gpu_row(t.a.x[EMBED_rows], r), *position = gpu_row(t.a.x[EMBED_position], r);
    const gpu_piece<N> x = gpu_read<N>(row, p), place = gpu_read<N>(position, p);
    gpu_piece<N> y;
    for (int i = 0; i < N; i++) {
        const float scaled = row != nullptr ? t.a.op.embed.scale * x.v[i] : 0.0f;
        y.v[i] = position != nullptr ? scaled + place.v[i] : scaled;
    }
    if (out != nullptr) gpu_write<N>(out, p, y);
    gpu_write<N>(t.a.panel, r, p, y);
}

GPU_ROW_OPERATION(embed)

/* --- sums of rows ------------------------------------------------------------------------------------------------- */

/* The first present term starts the sum: adding it to 0 would lose a -0. */
template <int N>
__global__ static void sum(gpu_tiled<gpu_row_call> t)
{
    int32_t r, p;
    if (!gpu_place(t, &r, &p)) return;
    float *out = gpu_row(t.a.x[SUM_out], r);
    if (out == nullptr && t.a.panel.data == nullptr) return;
    gpu_piece<N> y = gpu_read<N>(nullptr, p);
    const float min = t.a.op.sum.activation == RILL_RELU ? 0.0f : -INFINITY;
    bool any = false;
    for (int32_t i = 0; i < t.a.op.sum.terms; i++) {
        const float *row = gpu_row(t.a.x[SUM_term + i], r);
        if (row == nullptr) continue;
        const gpu_piece<N> x = gpu_read<N>(row, p);
        for (int j = 0; j < N; j++) y.v[j] = any ? y.v[j] + x.v[j] : x.v[j];
        any = true;
    }
    for (int j = 0; j < N; j++) y.v[j] = y.v[j] < min ? min : y.v[j];
    if (out != nullptr) gpu_write<N>(out, p, y);
    gpu_write<N>(t.a.panel, r, p, y);
}

GPU_ROW_OPERATION(sum)

/* --- indices ------------------------------------------------------------------------------------------------------ */

__global__ static void follow_index(gpu_tiled<gpu_index> t)
{
    int32_t r, p;
    if (!gpu_place(t, &r, &p)) return;
    const gpu_index &a = t.a;
    const int32_t entry = a.entry != nullptr ? a.entry[r] : r, x = entry >= 0 ? a.column[entry] : entry;
    if (x < 0)
        a.out[r] = a.lookup != nullptr || a.base != nullptr ? -1 : x;
    else
        a.out[r] = (a.base != nullptr ? a.base[r] : 0) + (a.lookup != nullptr ? a.lookup[x] : x);
}

void gpu_run_index(gpu_stream *cu_stream, const gpu_index *args)
{
    const gpu_tiled<gpu_index> t = gpu_tile(*args, 1);
    GPU_TILES(cu_stream, follow_index, t);
}
