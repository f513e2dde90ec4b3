/* cells.cu: recurrent cells, from gates to the new state. A thread computes one hidden unit of one row. */
#include "rows.cuh"

__global__ static void lstm(gpu_tiled<gpu_row_call> t)
{
    int32_t r, j;
    if (!gpu_place(t, &r, &j)) return;
    const float *gates = gpu_row(t.a.x[LSTM_gates], r), *prev = gpu_row(t.a.x[LSTM_c], r);
    float *c = gpu_row(t.a.x[LSTM_c_out], r), *h = gpu_row(t.a.x[LSTM_h_out], r);
    const int32_t hidden = t.a.width;
    const float i = gpu_read<1>(gates, j).v[0], f = gpu_read<1>(gates, hidden + j).v[0],
                g = gpu_read<1>(gates, 2 * hidden + j).v[0], o = gpu_read<1>(gates, 3 * hidden + j).v[0];
    const float keep = prev != nullptr ? gpu_sigmoid(f) * prev[j] : 0.0f;
    const float cell = keep + gpu_sigmoid(i) * tanhf(g);
    if (c != nullptr) c[j] = cell;
    if (h != nullptr) h[j] = gpu_sigmoid(o) * tanhf(cell);
}

void gpu_run_lstm(gpu_stream *cu_stream, const gpu_row_call *args)
{
    const gpu_tiled<gpu_row_call> t = gpu_tile(*args, args->width);
    GPU_TILES(cu_stream, lstm, t);
}

__global__ static void gru(gpu_tiled<gpu_row_call> t)
{
    int32_t r, j;
    if (!gpu_place(t, &r, &j)) return;
    const float *x = gpu_row(t.a.x[GRU_input], r), *gate = gpu_row(t.a.x[GRU_hidden_gates], r), *prev = gpu_row(t.a.x[GRU_h], r);
    float *h = gpu_row(t.a.x[GRU_h_out], r);
    if (h == nullptr) return;
    const int32_t hidden = t.a.width;
    const float reset = gpu_sigmoid(gpu_read<1>(x, j).v[0] + gpu_read<1>(gate, j).v[0]),
                update = gpu_sigmoid(gpu_read<1>(x, hidden + j).v[0] + gpu_read<1>(gate, hidden + j).v[0]);
    const float n = tanhf(gpu_read<1>(x, 2 * hidden + j).v[0] + reset * gpu_read<1>(gate, 2 * hidden + j).v[0]);
    const float fill = (1.0f - update) * n;
    h[j] = prev != nullptr ? fill + update * prev[j] : fill;
}

void gpu_run_gru(gpu_stream *cu_stream, const gpu_row_call *args)
{
    const gpu_tiled<gpu_row_call> t = gpu_tile(*args, args->width);
    GPU_TILES(cu_stream, gru, t);
}
