/* Attention: softmax of scores, then the weighted sum of values; and paths to the root of the hypothesis tree.
 *
 * Each head of a row reads its keys and values once: the kernels are memory-bound. Partition:
 *   chunk    CHUNK rows of keys and values. Partial result: largest score, sum of exponentials, weighted sum of values
 *   narrow   heads up to 256 wide: one warp per chunk. GROUP lanes read a row, 16 bytes each, with a running softmax per group
 *   wide     other heads: one block per chunk. Its warps share the rows for scores, then its threads the columns of values
 * A kernel loops over all chunks of a head. If heads are few, each warp or block computes one chunk, and a second kernel merges the
 * chunks, with the same bits.
 *
 * Lane i holds floats 4 i .. 4 i + 3 of a row at any load width, so results do not depend on alignment. */
#include "rows.cuh"

enum {
    CHUNK = GPU_ATTEND_CHUNK,
    WARPS = 4,                /* independent warps of a block for narrow heads */
    NARROW = GPU_ATTEND_NARROW, /* width of the widest narrow head, in floats */
    WIDE_WARPS = 8,           /* warps of a block for wide heads */
    GPU_FULL_WARPS = 4096, /* warps that fill a GPU; if the rows' heads alone fill it, chunks are not split among warps */
    /* a launch splits at most MAX_SPLIT * GPU_FULL_WARPS chunks among warps: this bounds the memory `part` */
    MAX_SPLIT = 4,
    GRID_Y = 65535,           /* maximum of a grid's y dimension */
};

/* --- following paths of hypotheses -------------------------------------------------------------------------------- */

/* One thread walks one path, and each step depends on the previous one. Small blocks spread the walks over the GPU. */
__global__ static void __launch_bounds__(GPU_WARP) walk_paths(gpu_path a)
{
    const int32_t first = (int32_t)blockIdx.x * GPU_WARP, r = first + (int32_t)threadIdx.x, count = *a.rows.count;
    if (gpu_leave(first >= count)) return;
    if (r >= count || a.node[r] < 0) return;
    int32_t node = a.node[r];
    if (a.parent != nullptr) a.node_parent[node] = a.parent[r];
    int32_t *entry = a.entry + a.first[r];
    for (int32_t t = a.length[r] - 1; t >= 0; t--) {
        entry[t] = node;
        if (t > 0) node = a.node_parent[node];
    }
}

void gpu_run_path(gpu_stream *cu_stream, const gpu_path *args)
{
    if (args->rows.max <= 0) return;
    GPU_LAUNCH(cu_stream, dim3((unsigned)((args->rows.max + GPU_WARP - 1) / GPU_WARP)), GPU_WARP, 0, walk_paths, *args);
}

/* --- partial softmax ---------------------------------------------------------------------------------------------- */

/* exp(x - max); 0 if max is -infinity. A NaN score is never the maximum, but makes the sum NaN. */
__device__ static inline float exp_minus_max(float x, float max)
{
    return expf(x - (max == -INFINITY ? 0.0f : max));
}

/* Running softmax: the largest score so far, and the sum of exp(score - max). */
struct softmax_sums {
    float max, sum;
};

/* The merge of two partial softmaxes. by_a and by_b scale their sums of values. fmaf is avoided here, so that all kernels merge with the
 * same bits. */
struct merge_result {
    softmax_sums all;
    float by_a, by_b;
};

__device__ static inline merge_result merged(softmax_sums a, softmax_sums b)
{
    merge_result x;
    x.all.max = fmaxf(a.max, b.max);
    x.by_a = exp_minus_max(a.max, x.all.max);
    x.by_b = exp_minus_max(b.max, x.all.max);
    x.all.sum = a.sum * x.by_a + b.sum * x.by_b;
    return x;
}

/* A partial softmax, and a thread's columns of the weighted sum of values. */
template <int P>
struct attend_partial {
    softmax_sums t;
    gpu_piece<4> vec[P];
};

template <int P>
__device__ static inline attend_partial<P> merged(const attend_partial<P> &a, const attend_partial<P> &b)
{
    const merge_result x = merged(a.t, b.t);
    attend_partial<P> c;
    c.t = x.all;
    for (int i = 0; i < P; i++)
        for (int j = 0; j < 4; j++) c.vec[i].v[j] = a.vec[i].v[j] * x.by_a + b.vec[i].v[j] * x.by_b;
    return c;
}

/* --- arguments of the kernels ------------------------------------------------------------------------------------- */

struct attend_work {
    gpu_attend a;
    int32_t chunks; /* chunks of the longest list of keys; 0: the lists are not split */
};

struct attend_head {
    const float *query, *keys, *values;
    const int32_t *entry; /* [length] row of keys and values for each t; NULL: rows first, first + 1, ... */
    int32_t first, length, chunks;
    float *out; /* the head's columns of gpu_attend.out; NULL: no fp32 output */
    const float *additive; /* [width] weights of additive attention; NULL: dot-product scores */
    const float *relative; /* the relative position bias at distance 0, or NULL */
    int32_t position, reach;
};

__device__ static inline attend_head make_head(const gpu_attend &a, int32_t r, int32_t h)
{
    const float *query = gpu_row(a.query, r);
    float *out = gpu_row(a.out, r);
    const size_t key_offset = (size_t)h * (size_t)a.width, value_offset = (size_t)h * (size_t)a.value_width;
    const int32_t length = a.length[r], first = length > 0 ? a.first[r] : 0;
    return {query != nullptr ? query + key_offset : nullptr,
            a.keys.data + key_offset,
            a.values.data + value_offset,
            a.entry != nullptr ? a.entry + first : nullptr,
            first,
            length,
            (length + CHUNK - 1) / CHUNK,
            out != nullptr ? out + value_offset : nullptr,
            a.additive != nullptr ? a.additive + key_offset : nullptr,
            a.relative != nullptr ? a.relative + (size_t)h * (size_t)(2 * a.reach + 1) + a.reach : nullptr,
            a.relative != nullptr && a.position != nullptr ? a.position[r] : length - 1,
            a.reach};
}

/* Relative position bias of key t. */
__device__ static inline float row_relative_bias(const attend_head &head, int32_t t)
{
    const int32_t d = t - head.position;
    return head.relative[d < -head.reach ? -head.reach : d > head.reach ? head.reach : d];
}

__device__ static inline int32_t memory_row(const attend_head &head, int32_t t)
{
    return head.entry != nullptr ? head.entry[t] : head.first + t;
}

/* Address of a row; NULL if the row number is negative (absent). */
__device__ static inline const float *row_at(const float *data, int32_t row, int32_t ld)
{
    return row >= 0 ? data + (size_t)row * (size_t)ld : nullptr;
}

/* Four floats from column c on; zeros beyond the width, and for absent rows. */
template <bool ALIGNED>
__device__ static inline gpu_piece<4> read_four(const float *row, int32_t c, int32_t width)
{
    gpu_piece<4> x = gpu_read<4>(nullptr, 0);
    if (row == nullptr) return x;
    if constexpr (ALIGNED) {
        if (c < width) x = gpu_read<4>(row, c / 4);
    } else {
        for (int j = 0; j < 4; j++)
            if (c + j < width) x.v[j] = row[c + j];
    }
    return x;
}

template <bool ALIGNED>
__device__ static inline void write_four(float *row, int32_t c, int32_t width, const gpu_piece<4> &x)
{
    if constexpr (ALIGNED) {
        if (c < width) gpu_write<4>(row, c / 4, x);
    } else {
        for (int j = 0; j < 4; j++)
            if (c + j < width) row[c + j] = x.v[j];
    }
}

/* Write four columns of a head to `out` and to the panel (rounded copy for GEMMs), if present. `unit` is row * heads + head. */
template <bool ALIGNED>
__device__ static inline void write_out(const gpu_attend &a, float *out, int32_t unit, int32_t c, const gpu_piece<4> &x)
{
    const int32_t r = unit / a.heads, column = unit % a.heads * a.value_width + c;
    if (out != nullptr) write_four<ALIGNED>(out, c, a.value_width, x);
    if constexpr (ALIGNED) {
        if (c < a.value_width) gpu_write<4>(a.panel, r, column / 4, x);
    } else {
        for (int j = 0; j < 4; j++)
            if (c + j < a.value_width) gpu_write<1>(a.panel, r, column + j, gpu_piece<1>{x.v[j]});
    }
}

/* Whether no operation reads the head's output: it has neither `out` nor a panel. */
__device__ static inline bool is_not_wanted(const gpu_attend &a, const float *out)
{
    return out == nullptr && a.panel.data == nullptr;
}

__device__ static inline float dot_four(const gpu_piece<4> &a, const gpu_piece<4> &b, float sum)
{
    for (int j = 0; j < 4; j++) sum = fmaf(a.v[j], b.v[j], sum);
    return sum;
}

__device__ static inline float add_four(const gpu_piece<4> &w, const gpu_piece<4> &a, const gpu_piece<4> &b, float sum)
{
    for (int j = 0; j < 4; j++) sum = fmaf(w.v[j], tanhf(a.v[j] + b.v[j]), sum);
    return sum;
}

/* Factor that normalises the sum of values; 0 if there are no keys. */
__device__ static inline float one_over(const attend_head &head, float sum)
{
    return head.length > 0 ? 1.0f / sum : 0.0f;
}

/* Floats of a chunk's partial result in `part`: max, sum, 2 unused floats, columns padded to a multiple of 4. */
__host__ __device__ static inline size_t part_floats(int32_t width)
{
    return 4 + ((size_t)width + 3) / 4 * 4;
}

__device__ static inline float *head_part(const attend_work &w, int32_t unit, int32_t chunk)
{
    return w.a.part + ((size_t)unit * (size_t)w.chunks + (size_t)chunk) * part_floats(w.a.value_width);
}

/* --- kernel for narrow heads -------------------------------------------------------------------------------------- */

enum { ROWS_IN_FLIGHT = 4 }; /* rows that a group of lanes loads at once */

template <int P>
struct narrow_head {
    attend_head head;
    int32_t width, ldk, ldv, lane;
    float scale;
    gpu_piece<4> query[P];
};

/* Add keys t, t + 32 / GROUP, ... to the group's running softmax. row[n]: the n-th key's row; negative: none. */
template <int GROUP, int P, bool ALIGNED>
__device__ static inline void add_rows(const narrow_head<P> &x, int32_t t, const int32_t (&row)[ROWS_IN_FLIGHT],
                                        attend_partial<P> *sofar)
{
    const int32_t first = 4 * (x.lane % GROUP);
    gpu_piece<4> key[ROWS_IN_FLIGHT][P], value[ROWS_IN_FLIGHT][P];
    float score[ROWS_IN_FLIGHT], max = sofar->t.max;
#pragma unroll
    for (int n = 0; n < ROWS_IN_FLIGHT; n++)
#pragma unroll
        for (int i = 0; i < P; i++) {
            const int32_t c = first + i * 4 * GROUP;
            key[n][i] = read_four<ALIGNED>(row_at(x.head.keys, row[n], x.ldk), c, x.width);
            value[n][i] = read_four<ALIGNED>(row_at(x.head.values, row[n], x.ldv), c, x.width);
        }
#pragma unroll
    for (int n = 0; n < ROWS_IN_FLIGHT; n++) {
        float sum = 0.0f;
        for (int i = 0; i < P; i++) sum = dot_four(x.query[i], key[n][i], sum);
#pragma unroll
        for (int by = GROUP / 2; by > 0; by /= 2) sum += __shfl_xor_sync(GPU_ALL, sum, by);
        score[n] = row[n] >= 0 ? x.scale * sum : -INFINITY;
        if (x.head.relative != nullptr && row[n] >= 0) score[n] += row_relative_bias(x.head, t + n * (GPU_WARP / GROUP));
        max = fmaxf(max, score[n]);
    }
    const float old_share = exp_minus_max(sofar->t.max, max);
    sofar->t.max = max;
    sofar->t.sum *= old_share;
    for (int i = 0; i < P; i++)
        for (int j = 0; j < 4; j++) sofar->vec[i].v[j] *= old_share;
#pragma unroll
    for (int n = 0; n < ROWS_IN_FLIGHT; n++) {
        const float share = exp_minus_max(score[n], max);
        sofar->t.sum += share;
        for (int i = 0; i < P; i++)
            for (int j = 0; j < 4; j++) sofar->vec[i].v[j] = fmaf(share, value[n][i].v[j], sofar->vec[i].v[j]);
    }
}

template <int P>
__device__ static inline attend_partial<P> shuffled(const attend_partial<P> &x, int by)
{
    attend_partial<P> y;
    y.t.max = __shfl_xor_sync(GPU_ALL, x.t.max, by);
    y.t.sum = __shfl_xor_sync(GPU_ALL, x.t.sum, by);
    for (int i = 0; i < P; i++)
        for (int j = 0; j < 4; j++) y.vec[i].v[j] = __shfl_xor_sync(GPU_ALL, x.vec[i].v[j], by);
    return y;
}

/* Partial result of one chunk, merged over the warp's groups. The warp prefetches 32 row numbers at a time. */
template <int GROUP, int P, bool ALIGNED>
__device__ static inline attend_partial<P> attend_chunk(const narrow_head<P> &x, int32_t chunk)
{
    const int32_t groups = GPU_WARP / GROUP, from = chunk * CHUNK;
    const int32_t to = x.head.length - from < CHUNK ? x.head.length : from + CHUNK;
    attend_partial<P> sofar;
    sofar.t = {-INFINITY, 0.0f};
    for (int i = 0; i < P; i++) sofar.vec[i] = gpu_read<4>(nullptr, 0);
    int32_t next = from + x.lane < to ? memory_row(x.head, from + x.lane) : -1;
    for (int32_t t = from; t < to; t += GPU_WARP) {
        const int32_t own = next, ahead = t + GPU_WARP + x.lane;
        next = ahead < to ? memory_row(x.head, ahead) : -1;
        for (int32_t u = 0; u < GPU_WARP && t + u < to; u += groups * ROWS_IN_FLIGHT) {
            int32_t row[ROWS_IN_FLIGHT];
#pragma unroll
            for (int n = 0; n < ROWS_IN_FLIGHT; n++) row[n] = __shfl_sync(GPU_ALL, own, u + n * groups + x.lane / GROUP);
            add_rows<GROUP, P, ALIGNED>(x, t + u + x.lane / GROUP, row, &sofar);
        }
    }
#pragma unroll
    for (int by = GROUP; by < GPU_WARP; by *= 2) sofar = merged(sofar, shuffled(sofar, by));
    return sofar;
}

/* A head has at most GROUP * 4 * P columns. The launch bound keeps the compiler from raising occupancy by spilling. */
template <int GROUP, int P, bool ALIGNED>
__global__ static void __launch_bounds__(WARPS * GPU_WARP, P == 1 ? 4 : 2) attend_narrow(attend_work w)
{
    const int32_t first = (int32_t)blockIdx.x * WARPS, count = *w.a.rows.count;
    if (gpu_leave(first / w.a.heads >= count)) return;
    const int32_t unit = first + (int32_t)threadIdx.x / GPU_WARP, r = unit / w.a.heads, chunk = (int32_t)blockIdx.y;
    if (r >= count) return; /* whole warps return, here and in the next test: shuffles need all lanes */
    narrow_head<P> x = {make_head(w.a, r, unit % w.a.heads), w.a.width, w.a.keys.ld, w.a.values.ld,
                        (int32_t)threadIdx.x % GPU_WARP, w.a.scale, {}};
    if (is_not_wanted(w.a, x.head.out) || (chunk > 0 && chunk >= x.head.chunks)) return;
    const int32_t column = 4 * (x.lane % GROUP);
    for (int i = 0; i < P; i++) x.query[i] = read_four<ALIGNED>(x.head.query, column + i * 4 * GROUP, x.width);

    attend_partial<P> all = attend_chunk<GROUP, P, ALIGNED>(x, chunk);
    const bool is_split = w.chunks > 0 && x.head.chunks > 1;
    if (!is_split)
        for (int32_t p = 1; p < x.head.chunks; p++) all = merged(all, attend_chunk<GROUP, P, ALIGNED>(x, p));
    if (x.lane >= GROUP) return;
    if (is_split) {
        float *part = head_part(w, unit, chunk);
        if (x.lane == 0) *(softmax_sums *)part = all.t;
        for (int i = 0; i < P; i++) write_four<true>(part + 4, column + i * 4 * GROUP, x.width, all.vec[i]);
        return;
    }
    const float by = one_over(x.head, all.t.sum);
    for (int i = 0; i < P; i++) {
        for (int j = 0; j < 4; j++) all.vec[i].v[j] *= by;
        write_out<ALIGNED>(w.a, x.head.out, unit, column + i * 4 * GROUP, all.vec[i]);
    }
}

/* --- kernel for wide heads ---------------------------------------------------------------------------------------- */

__device__ static inline float warp_sum(float x)
{
    for (int by = GPU_WARP / 2; by > 0; by /= 2) x += __shfl_xor_sync(GPU_ALL, x, by);
    return x;
}

/* Score of key t, computed by one warp. */
template <bool ALIGNED>
__device__ static inline float row_score(const gpu_attend &a, const attend_head &head, int32_t t)
{
    const float *key = row_at(head.keys, memory_row(head, t), a.keys.ld);
    const float more = head.relative != nullptr ? row_relative_bias(head, t) : 0.0f;
    float sum = 0.0f;
    if (head.additive != nullptr) {
        for (int32_t c = 4 * ((int32_t)threadIdx.x % GPU_WARP); c < a.width; c += 4 * GPU_WARP)
            sum = add_four(read_four<ALIGNED>(head.additive, c, a.width), read_four<ALIGNED>(key, c, a.width),
                           read_four<ALIGNED>(head.query, c, a.width), sum);
        return a.scale * warp_sum(sum) + more;
    }
#pragma unroll 4
    for (int32_t c = 4 * ((int32_t)threadIdx.x % GPU_WARP); c < a.width; c += 4 * GPU_WARP)
        sum = dot_four(read_four<ALIGNED>(head.query, c, a.width), read_four<ALIGNED>(key, c, a.width), sum);
    return a.scale * warp_sum(sum) + more;
}

/* Shared memory of a block for one chunk. */
struct wide_share {
    float score[CHUNK], share[CHUNK];
    int32_t row[CHUNK];
};

/* Store the scores of keys t to t + rows - 1, and their exponentials, in *s. Returns maximum and sum to all threads. */
template <bool ALIGNED>
__device__ static inline softmax_sums weigh_rows(const gpu_attend &a, const attend_head &head, int32_t t, int32_t rows,
                                     wide_share *s)
{
    const int32_t warp = (int32_t)threadIdx.x / GPU_WARP, lane = (int32_t)threadIdx.x % GPU_WARP;
    softmax_sums x = {-INFINITY, 0.0f};
    for (int32_t i = warp; i < rows; i += WIDE_WARPS) {
        const float score = row_score<ALIGNED>(a, head, t + i);
        if (lane == 0) s->score[i] = score;
    }
    __syncthreads();
    /* Every warp computes max and sum, which saves a barrier. */
    for (int32_t i = lane; i < rows; i += GPU_WARP) x.max = fmaxf(x.max, s->score[i]);
    for (int by = GPU_WARP / 2; by > 0; by /= 2) x.max = fmaxf(x.max, __shfl_xor_sync(GPU_ALL, x.max, by));
    for (int32_t i = lane; i < rows; i += GPU_WARP) {
        const float share = exp_minus_max(s->score[i], x.max);
        x.sum += share;
        if (warp == 0) s->share[i] = share;
        /* after the barrier: other warps may still read the old rows */
        if (warp == 0) s->row[i] = memory_row(head, t + i);
    }
    x.sum = warp_sum(x.sum);
    __syncthreads();
    return x;
}

/* Attention for wide heads. `out` holds the running sums of values. No barrier guards them, because one thread computes a column. */
template <bool ALIGNED>
__global__ static void __launch_bounds__(WIDE_WARPS * GPU_WARP, 4) attend_wide(attend_work w)
{
    wide_share *s = (wide_share *)gpu_shared();
    const int32_t unit = (int32_t)blockIdx.x, r = unit / w.a.heads, chunk = (int32_t)blockIdx.y;
    if (gpu_leave(r >= *w.a.rows.count)) return;
    const attend_head head = make_head(w.a, r, unit % w.a.heads);
    if (gpu_leave(head.out == nullptr || (chunk > 0 && chunk >= head.chunks))) return;
    const bool is_split = w.chunks > 0 && head.chunks > 1;
    float *part = is_split ? head_part(w, unit, chunk) : nullptr, *out = is_split ? part + 4 : head.out;
    const int32_t last = is_split || head.chunks == 0 ? chunk : head.chunks - 1;
    softmax_sums all = {-INFINITY, 0.0f};
    for (int32_t p = chunk; p <= last; p++) {
        const int32_t t = p * CHUNK, rows = head.length - t < CHUNK ? head.length - t : CHUNK;
        const softmax_sums own = weigh_rows<ALIGNED>(w.a, head, t, rows, s);
        const merge_result x = merged(all, own);
        all = p > chunk ? x.all : own;
        const float by = p == last && !is_split ? one_over(head, all.sum) : 1.0f;
        for (int32_t c = (int32_t)threadIdx.x; c < w.a.value_width; c += WIDE_WARPS * GPU_WARP) {
            const float *values = head.values + c;
            float sum = 0.0f;
#pragma unroll 8
            for (int32_t i = 0; i < rows; i++) sum = fmaf(s->share[i], *row_at(values, s->row[i], w.a.values.ld), sum);
            out[c] = (p > chunk ? out[c] * x.by_a + sum * x.by_b : sum) * by;
        }
    }
    if (is_split && threadIdx.x == 0) *(softmax_sums *)part = all;
}

/* --- merging of split chunks -------------------------------------------------------------------------------------- */

/* Merge the chunks of heads that have several; one warp per head. */
template <bool ALIGNED>
__global__ static void __launch_bounds__(WARPS * GPU_WARP) merge_parts(attend_work w)
{
    const int32_t first = (int32_t)blockIdx.x * WARPS, count = *w.a.rows.count;
    if (gpu_leave(first / w.a.heads >= count)) return;
    const int32_t unit = first + (int32_t)threadIdx.x / GPU_WARP, r = unit / w.a.heads;
    if (r >= count) return;
    const attend_head head = make_head(w.a, r, unit % w.a.heads);
    if (is_not_wanted(w.a, head.out) || head.chunks < 2) return;
    for (int32_t c = 4 * ((int32_t)threadIdx.x % GPU_WARP); c < w.a.value_width; c += 4 * GPU_WARP) {
        attend_partial<1> all;
#pragma unroll 4
        for (int32_t p = 0; p < head.chunks; p++) {
            const float *part = head_part(w, unit, p);
            const attend_partial<1> x = {*(const softmax_sums *)part, {gpu_read<4>(part + 4, c / 4)}};
            all = p == 0 ? x : merged(all, x);
        }
        const float by = one_over(head, all.t.sum);
        for (int j = 0; j < 4; j++) all.vec[0].v[j] *= by;
        write_out<ALIGNED>(w.a, head.out, unit, c, all.vec[0]);
    }
}

/* --- attention weights for the host ------------------------------------------------------------------------------- */

/* Write each row's attention weights, averaged over the first heads. Scores are computed twice, which saves memory. */
__global__ static void __launch_bounds__(WIDE_WARPS * GPU_WARP) mean_weights(gpu_attend a)
{
    softmax_sums *warp_sums = (softmax_sums *)gpu_shared(); /* [WIDE_WARPS] partial softmax of each warp */
    const int32_t warp = (int32_t)threadIdx.x / GPU_WARP, lane = (int32_t)threadIdx.x % GPU_WARP;
    const int32_t r = (int32_t)blockIdx.x;
    if (gpu_leave(r >= *a.rows.count)) return;
    float *mean = a.watched + (size_t)r * (size_t)a.ld_watched;
    for (int32_t h = 0; h < a.watched_heads; h++) {
        const attend_head head = make_head(a, r, h);
        softmax_sums own = {-INFINITY, 0.0f}, all = own;
        for (int32_t t = warp; t < head.length; t += WIDE_WARPS)
            own = merged(own, {row_score<false>(a, head, t), 1.0f}).all;
        __syncthreads(); /* all threads have read the previous head's warp_sums */
        if (lane == 0) warp_sums[warp] = own;
        __syncthreads();
        for (int i = 0; i < WIDE_WARPS; i++) all = merged(all, warp_sums[i]).all;
        for (int32_t t = warp; t < head.length; t += WIDE_WARPS) {
            const float share = exp_minus_max(row_score<false>(a, head, t), all.max) / all.sum;
            if (lane != 0) continue;
            const float sum = h > 0 ? mean[t] + share : share;
            mean[t] = h + 1 == a.watched_heads ? sum / (float)a.watched_heads : sum;
        }
    }
}

/* --- launching the kernels ---------------------------------------------------------------------------------------- */

static int64_t max_split_units(int narrow)
{
    return narrow ? GPU_FULL_WARPS : GPU_FULL_WARPS / WIDE_WARPS;
}

static int is_narrow(const gpu_attend &a)
{
    return gpu_attend_is_narrow((size_t)a.width, (size_t)a.value_width, a.additive != nullptr);
}

size_t gpu_attend_part_floats(int32_t rows, int32_t heads, int32_t width, int32_t longest)
{
    const int64_t all = (int64_t)rows * heads, enough = max_split_units(width <= NARROW), units = all < enough ? all : enough;
    const int64_t shares = units * ((longest - 1) / CHUNK + 1), max_shares = MAX_SPLIT * enough;
    return longest > CHUNK ? (size_t)(shares < max_shares ? shares : max_shares) * part_floats(width) : 0;
}

template <bool ALIGNED>
static void launch(gpu_stream *cu_stream, const attend_work &w)
{
    const int64_t units = (int64_t)w.a.rows.max * w.a.heads;
    const unsigned across = w.chunks > 0 ? (unsigned)w.chunks : 1;
    const dim3 blocks((unsigned)((units + WARPS - 1) / WARPS), across);
    if (!is_narrow(w.a))
        GPU_LAUNCH(cu_stream, dim3((unsigned)units, across), WIDE_WARPS * GPU_WARP, sizeof(wide_share),
                   attend_wide<ALIGNED>, w);
    else if (w.a.width <= 32)
        GPU_LAUNCH(cu_stream, blocks, WARPS * GPU_WARP, 0, (attend_narrow<8, 1, ALIGNED>), w);
    else if (w.a.width <= 64)
        GPU_LAUNCH(cu_stream, blocks, WARPS * GPU_WARP, 0, (attend_narrow<16, 1, ALIGNED>), w);
    else if (w.a.width <= 128)
        GPU_LAUNCH(cu_stream, blocks, WARPS * GPU_WARP, 0, (attend_narrow<32, 1, ALIGNED>), w);
    else
        GPU_LAUNCH(cu_stream, blocks, WARPS * GPU_WARP, 0, (attend_narrow<32, 2, ALIGNED>), w);
    if (w.chunks > 0) GPU_LAUNCH(cu_stream, dim3(blocks.x), WARPS * GPU_WARP, 0, merge_parts<ALIGNED>, w);
}

void gpu_run_attend(gpu_stream *cu_stream, const gpu_attend *args)
{
    const gpu_attend &a = *args;
    if (a.rows.max <= 0) return;
    const int32_t chunks = a.max_length > 0 ? (a.max_length - 1) / CHUNK + 1 : 0;
    const int64_t units = (int64_t)a.rows.max * a.heads, enough = max_split_units(is_narrow(a));
    const bool is_split = chunks > 1 && chunks <= GRID_Y && units <= enough && units * chunks <= MAX_SPLIT * enough &&
                            a.part != nullptr && gpu_aligned(a.part, 0);
    const attend_work w = {a, is_split ? chunks : 0};
    if (a.width % 4 == 0 && a.value_width % 4 == 0 && gpu_aligned(a.query) && gpu_aligned(a.keys) &&
        gpu_aligned(a.values) && gpu_aligned(a.out) && gpu_aligned(a.additive, 0))
        launch<true>(cu_stream, w);
    else
        launch<false>(cu_stream, w);
    if (a.watched != nullptr)
        GPU_LAUNCH(cu_stream, dim3((unsigned)a.rows.max), WIDE_WARPS * GPU_WARP, WIDE_WARPS * sizeof(softmax_sums), mean_weights, a);
}
