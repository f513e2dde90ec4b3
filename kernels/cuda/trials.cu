/* Chooses a matrix's GEMM algorithms by trial. Has rill's own GEMM kernel, for matrices without a suitable algorithm.
 *
 * A row's bits must not depend on the number of rows, which cuBLASLt does not promise. So algorithms are tried with many numbers of rows.
 * An algorithm passes if every row has the bits of the largest run. */
#include <stdlib.h>
#include <string.h>

#include "cuda.cuh"
#include "half.h"
#include "trials.h"

enum { RANGES = GPU_ROW_RANGES, MIDDLE = 1 };
static const struct {
    int32_t end, sample; /* end of the range of row counts; row count for which algorithms are proposed */
} ranges[RANGES] = {{128, 64}, {1024, 320}, {INT32_MAX, 4096}};

int32_t gpu_row_range(int32_t rows)
{
    int32_t range = 0;
    while (rows >= ranges[range].end && range < RANGES - 1) range++;
    return range;
}

int gpu_is_plain(const gpu_matrix *m, int32_t range)
{
    static const uint64_t none[8] = {};
    return memcmp(m->algo[range], none, sizeof none) == 0;
}

/* --- families of algorithms --------------------------------------------------------------------------------------- */

/* cuBLASLt's tensor-core kernels without split-K have one fp32 sum over K (facebookexperimental/triton#2752, #2757). CUDA-core kernels for
 * small sizes divide K. Trials decide about others. */
int gpu_algo_may_keep_order(gpu_type type, const gpu_algo_facts *a)
{
    enum { CUTLASS_FIRST = 21, CUTLASS_SECOND = 23, CUTLASS_THIRD = 24, NVJET = 66 };
    enum { SMALL_N = 11, MATRIX_VECTOR = 13, DOT = 14, MAGMA = 16 };
    if (a->split_k > 1 || !a->has_tile) return 0;
    switch (a->id) {
    case CUTLASS_FIRST:
    case CUTLASS_SECOND:
    case CUTLASS_THIRD:
    case NVJET: return type != GPU_F32 || a->fp32_only;
    case SMALL_N:
    case MATRIX_VECTOR:
    case DOT:
    case MAGMA: return 0;
    default: return type == GPU_F32 && a->fp32_only;
    }
}

int gpu_may_split_k(const gpu_matrix *m)
{
    return m->fast && m->k % 128 == 0;
}

/* --- reference kernel --------------------------------------------------------------------------------------------- */

enum { TILE = 16 };

struct plain_call {
    gpu_matrix m;
    gpu_product p;
};

__device__ static inline float element(const void *from, size_t i, gpu_type type)
{
    return type == GPU_F32 ? ((const float *)from)[i] : gpu_rounded_to_float(((const uint16_t *)from)[i], type);
}

/* Each thread sums one element of c, in the order of k. */
__global__ static void __launch_bounds__(TILE *TILE) plain_product(plain_call call)
{
    const gpu_matrix &m = call.m;
    const gpu_product &p = call.p;
    /* tiles of a and w in shared memory, [TILE, TILE + 1] each */
    float *a = (float *)(void *)gpu_shared(), *w = a + TILE * (TILE + 1);
    const int32_t x = (int32_t)threadIdx.x, y = (int32_t)threadIdx.y;
    const int32_t row = (int32_t)blockIdx.y * TILE + y, first = (int32_t)blockIdx.x * TILE, column = first + x;
    float sum = 0.0f;
    for (int32_t begin = 0; begin < m.k; begin += TILE) {
        const bool in_k = begin + x < m.k;
        a[y * (TILE + 1) + x] =
            in_k && row < p.rows ? element(p.a, (size_t)row * (size_t)p.lda + (size_t)(begin + x), m.type) : 0.0f;
        w[y * (TILE + 1) + x] =
            in_k && first + y < m.n ? element(m.w, (size_t)(first + y) * (size_t)m.k + (size_t)(begin + x), m.type) : 0.0f;
        __syncthreads();
        for (int32_t i = 0; i < TILE; i++) sum = fmaf(a[y * (TILE + 1) + i], w[x * (TILE + 1) + i], sum);
        __syncthreads();
    }
    if (row >= p.rows || column >= m.n) return;
    if (m.bias != nullptr || p.add != nullptr)
        sum += (m.bias != nullptr ? m.bias[column] : 0.0f) +
               (p.add != nullptr ? p.add[(size_t)row * (size_t)p.ld_add + (size_t)column] : 0.0f);
    p.c[(size_t)row * (size_t)p.ldc + (size_t)column] = m.relu && sum < 0.0f ? 0.0f : sum;
}

void gpu_multiply_plainly(gpu_stream *cu_stream, const gpu_product *p)
{
    enum { MAX_GRID_ROWS = 32768 * TILE }; /* a grid has at most 65,535 blocks in y */
    plain_call call = {*p->matrix, *p};
    for (int32_t first = 0; first < p->rows; first += MAX_GRID_ROWS) {
        const size_t offset = (size_t)first;
        call.p.rows = p->rows - first < MAX_GRID_ROWS ? p->rows - first : (int32_t)MAX_GRID_ROWS;
        call.p.a = (const char *)p->a + offset * (size_t)p->lda * gpu_type_bytes(p->matrix->type);
        call.p.add = p->add != nullptr ? p->add + offset * (size_t)p->ld_add : nullptr;
        call.p.c = p->c + offset * (size_t)p->ldc;
        const dim3 grid((unsigned)(p->matrix->n + TILE - 1) / TILE, (unsigned)(call.p.rows + TILE - 1) / TILE);
        GPU_LAUNCH(cu_stream, grid, dim3(TILE, TILE), 2 * TILE * (TILE + 1) * sizeof(float), plain_product, call);
    }
}

/* --- trying an algorithm ------------------------------------------------------------------------------------------ */

/* Input rows to try algorithms with. An algorithm's outputs are compared with those of the reference algorithm. */
struct trial {
    gpu_device *device;
    const gpu_matrix *matrix;
    gpu_stream *stream;
    gpu_region memory; /* GPU memory of the trial, which holds the arrays below */
    int32_t rows, lda, ldc;
    float *add, *sums;
    float *reference[2]; /* outputs of the reference algorithm, without and with an addend */
    char *a;
    unsigned *differences, *differences_host; /* number of differing elements, on the device and in pinned host memory */
};

struct random_rows {
    void *to;
    size_t count;
    int32_t type;
    uint32_t seed;
};

/* Pseudo-random numbers of both signs, 2^-28 to 128 in size: few sums of their products are exact. */
__global__ static void fill_at_random(random_rows r)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < r.count; i += step) {
        uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u + r.seed; /* splitmix64 */
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
        x = (x ^ x >> 27) * 0x94D049BB133111EBu;
        x ^= x >> 31;
        const float scale = (float)(1 << (x & 12)) * (1.0f / 268435456.0f);
        const float value = (float)((int32_t)(uint32_t)(x >> 40) - 8388608) * scale;
        if (r.type == GPU_F32)
            ((float *)r.to)[i] = value;
        else
            ((uint16_t *)r.to)[i] = gpu_round_bits(value, (gpu_type)r.type);
    }
}

/* Rows of two outputs, which have the same stride. */
struct two_outputs {
    const float *one, *other;
    int32_t rows, width, ld;
    unsigned *differences;
};

__global__ static void count_differences(two_outputs t)
{
    const size_t step = (size_t)gridDim.x * blockDim.x, total = (size_t)t.rows * (size_t)t.width;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
        const size_t at = i / (size_t)t.width * (size_t)t.ld + i % (size_t)t.width;
        if (gpu_float_to_bits(t.one[at]) != gpu_float_to_bits(t.other[at])) atomicAdd(t.differences, 1u);
    }
}

/* Blocks of 256 threads for so many elements, at most 1,024: a thread takes several. */
static unsigned blocks_for(size_t count)
{
    return count < 1024 * 256 ? (unsigned)((count + 255) / 256) : 1024;
}

static int out_of_memory(char why[GPU_ERROR_BYTES])
{
    strcpy(why, "out of memory to try matrix products");
    return -1;
}

/* Allocate and fill a trial's rows: at most 12,289; fewer if their output would exceed 256 MiB, or GPU memory is short. */
static int open_trial(trial *t, char why[GPU_ERROR_BYTES])
{
    enum { MOST = 12289, OUTPUT_BYTES = 256 << 20 };
    const gpu_matrix *m = t->matrix;
    t->lda = (m->k + 15) / 16 * 16;
    t->ldc = (m->n + 15) / 16 * 16;
    const size_t fit = OUTPUT_BYTES / ((size_t)t->ldc * sizeof(float));
    t->rows = fit > MOST ? (int32_t)MOST : (int32_t)fit + 1;
    size_t output, input, input_bytes;
    do {
        output = (size_t)t->rows * (size_t)t->ldc;
        input = (size_t)t->rows * (size_t)t->lda;
        input_bytes = input * gpu_type_bytes(m->type);
        t->memory.reserved = 4 * output * sizeof(float) + input_bytes + 16;
    } while (gpu_grow(t->device, &t->memory, t->memory.reserved) != 0 && (t->rows /= 2) > 0);
    t->differences_host = (unsigned *)gpu_pinned_alloc(t->device, sizeof *t->differences_host);
    if (t->rows == 0 || t->differences_host == nullptr) return out_of_memory(why);
    if (gpu_stream_open(&t->stream, t->device, why) != 0) return -1;
    t->add = (float *)(void *)t->memory.base;
    t->sums = t->add + output;
    t->reference[0] = t->sums + output;
    t->reference[1] = t->reference[0] + output;
    t->a = (char *)(t->reference[1] + output);
    t->differences = (unsigned *)(void *)(t->a + input_bytes);
    const random_rows add = {t->add, output, GPU_F32, 1}, a = {t->a, input, (int32_t)m->type, 2};
    GPU_LAUNCH(t->stream, blocks_for(output), 256, 0, fill_at_random, add);
    GPU_LAUNCH(t->stream, blocks_for(input), 256, 0, fill_at_random, a);
    return gpu_stream_sync(t->stream, why);
}

static void close_trial(trial *t)
{
    gpu_stream_close(t->stream);
    gpu_pinned_free(t->device, t->differences_host);
    gpu_free(t->device, &t->memory);
}

/* Enqueue the product of rows [first, first + rows). Returns whether the algorithm supports it. */
static bool try_rows(const trial *t, const uint64_t algo[8], int32_t first, int32_t rows, bool add, float *out)
{
    const size_t offset = (size_t)first * (size_t)t->ldc;
    const gpu_product p = {t->matrix,
                           rows,
                           t->a + (size_t)first * (size_t)t->lda * gpu_type_bytes(t->matrix->type),
                           t->lda,
                           add ? t->add + offset : nullptr,
                           t->ldc,
                           out + offset,
                           t->ldc};
    return gpu_multiply_by(t->stream, &p, algo) == 0;
}

/* Multiply the first n rows of the trial's input, then the last n, for each n below. Returns whether all results equal the reference bit
 * for bit. why: reason of a CUDA failure. */
static bool sums_like_reference(const trial *t, const uint64_t algo[8], bool add, char why[GPU_ERROR_BYTES])
{
    static const int32_t lengths[] = {1,    2,    3,    4,    5,    8,    9,    16,   17,   31,   32,   33,   48,   64,
                                      65,   100,  127,  128,  129,  192,  255,  256,  257,  300,  320,  511,  513,  640,
                                      777,  1023, 1025, 1536, 2047, 2049, 3000, 4096, 4099, 6225, 8449, 12288, 12289};
    *t->differences_host = 0;
    gpu_copy_to_device(t->stream, t->differences, t->differences_host, sizeof *t->differences);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths && lengths[i] <= t->rows; i++) {
        const int32_t first = i % 2 == 0 ? 0 : t->rows - lengths[i];
        const size_t offset = (size_t)first * (size_t)t->ldc, count = (size_t)lengths[i] * (size_t)t->matrix->n;
        if (!try_rows(t, algo, first, lengths[i], add, t->sums)) return false;
        const two_outputs both = {
            t->sums + offset, t->reference[add] + offset, lengths[i], t->matrix->n, t->ldc, t->differences};
        GPU_LAUNCH(t->stream, blocks_for(count), 256, 0, count_differences, both);
    }
    gpu_copy_to_host(t->stream, t->differences_host, t->differences, sizeof *t->differences);
    return gpu_stream_sync(t->stream, why) == 0 && *t->differences_host == 0;
}

/* --- choosing an algorithm ---------------------------------------------------------------------------------------- */

/* Choose the first candidate that is bit-identical to the reference. With new_reference, the reference is the
 * candidate's own result for all rows. */
static bool choose_for(const trial *t, int32_t range, bool new_reference, gpu_matrix *m, char why[GPU_ERROR_BYTES])
{
    gpu_candidate candidate[GPU_CANDIDATES];
    const int found = gpu_propose(t->device, t->matrix, ranges[range].sample, candidate);
    for (int i = 0; i < found && why[0] == '\0'; i++) {
        const gpu_candidate *c = &candidate[i];
        bool good = gpu_algo_may_keep_order(m->type, &c->facts) != 0;
        for (int add = 0; add <= 1 && good; add++)
            good = (!new_reference || try_rows(t, c->algo, 0, t->rows, add != 0, t->reference[add])) &&
                   sums_like_reference(t, c->algo, add != 0, why);
        if (!good) continue;
        memcpy(m->algo[range], c->algo, sizeof c->algo);
        m->algo_id[range] = c->facts.id;
        return true;
    }
    return false;
}

int gpu_choose_by_trial(gpu_device *device, gpu_matrix *m, char why[GPU_ERROR_BYTES])
{
    trial t = {};
    t.device = device;
    t.matrix = m;
    why[0] = '\0';
    memset(m->algo, 0, sizeof m->algo);
    memset(m->algo_id, 0, sizeof m->algo_id);
    if (open_trial(&t, why) == 0 && choose_for(&t, MIDDLE, true, m, why))
        for (int32_t i = 0; i < RANGES; i++) {
            const bool is_tried = i == 0 || t.rows > ranges[i - 1].end; /* false: the trial has too few rows for this range */
            if (i == MIDDLE || (is_tried && choose_for(&t, i, false, m, why))) continue;
            memcpy(m->algo[i], m->algo[MIDDLE], sizeof m->algo[MIDDLE]);
            m->algo_id[i] = m->algo_id[MIDDLE];
        }
    close_trial(&t);
    if (why[0] != '\0') memset(m->algo, 0, sizeof m->algo);
    return why[0] == '\0' ? 0 : -1;
}
