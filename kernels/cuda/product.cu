/* product.cu: matrix products of gpu.h by cuBLASLt.
 *
 * cuBLAS is column-major: c^T [n, rows] = w [n, k] a^T, where row-major w is a k x n matrix, and a^T is k x rows.
 *
 * A row's bits must not depend on the number of rows beside it. No documentation promises that of an algorithm, so a
 * matrix's algorithms are tried when it is opened: each is run on this GPU with many numbers of rows, up to 4,099 or
 * as many as the memory of a trial holds, and kept only if every row has the bits that it has in the largest run.
 * Split-K and workspaces are not allowed. A matrix has an algorithm for each of three ranges of row counts; those of
 * the outer ranges must give the middle one's bits. If no algorithm passes, a plain kernel multiplies. With `fast`,
 * cuBLASLt's heuristic is asked for each number of rows, and nothing is tried.
 *
 * Sections: cuBLASLt's descriptions · the plain kernel · trials · the choice · products. */
#include <stdlib.h>
#include <string.h>

#include "device.cuh"
#include "half.h"

enum { CANDIDATES = 8, RANGES = GPU_ROW_RANGES, MIDDLE = 1 };
static const struct {
    int32_t end, sample; /* first row count above the range; row count for which the heuristic is asked */
} ranges[RANGES] = {{128, 64}, {1024, 320}, {INT32_MAX, 4096}};

/* --- cuBLASLt's descriptions -------------------------------------------------------------------------------------- */

struct shape {
    cublasLtMatmulDescOpaque_t product;
    cublasLtMatrixLayoutOpaque_t w, a, add, c;
};

static cublasStatus_t make_shape(shape *s, const gpu_product *p)
{
    const gpu_matrix *m = p->matrix;
    const cudaDataType_t type = m->type == GPU_F32 ? CUDA_R_32F : m->type == GPU_F16 ? CUDA_R_16F : CUDA_R_16BF;
    const cublasOperation_t turned = CUBLAS_OP_T;
    const cublasLtEpilogue_t epilogue = m->bias != nullptr ? (m->relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)
                                        : m->relu          ? CUBLASLT_EPILOGUE_RELU
                                                           : CUBLASLT_EPILOGUE_DEFAULT;
    const cublasStatus_t steps[] = {
        cublasLtMatmulDescInit(&s->product, m->fast && m->type == GPU_F32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                               CUDA_R_32F),
        cublasLtMatmulDescSetAttribute(&s->product, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned),
        cublasLtMatmulDescSetAttribute(&s->product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue),
        cublasLtMatmulDescSetAttribute(&s->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &m->bias, sizeof m->bias),
        cublasLtMatrixLayoutInit(&s->w, type, (uint64_t)m->k, (uint64_t)m->n, m->k),
        cublasLtMatrixLayoutInit(&s->a, type, (uint64_t)m->k, (uint64_t)p->rows, p->lda),
        cublasLtMatrixLayoutInit(&s->add, CUDA_R_32F, (uint64_t)m->n, (uint64_t)p->rows, p->ld_add),
        cublasLtMatrixLayoutInit(&s->c, CUDA_R_32F, (uint64_t)m->n, (uint64_t)p->rows, p->ldc)};
    for (const cublasStatus_t status : steps)
        if (status != CUBLAS_STATUS_SUCCESS) return status;
    return CUBLAS_STATUS_SUCCESS;
}

/* Alignments that candidate algorithms may assume (see gpu.h), their workspace, and whether they may use split-K. Split-K
 * has been reported to lose the end of K where K is no multiple of 128 (facebookexperimental/triton#2767, cuBLASLt
 * 12.8.5 and 13.1.1). */
static cublasStatus_t make_preference(cublasLtMatmulPreferenceOpaque_t *preference, const gpu_matrix *m, uint64_t workspace)
{
    const uint32_t aligned = 16, of_c = m->n % 4 == 0 ? 16 : 4,
                   reduction = m->fast && m->k % 128 == 0 ? CUBLASLT_REDUCTION_SCHEME_MASK : CUBLASLT_REDUCTION_SCHEME_NONE;
    const struct {
        cublasLtMatmulPreferenceAttributes_t attribute;
        const void *value;
        size_t bytes;
    } settings[] = {
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reduction, sizeof reduction},
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &aligned, sizeof aligned},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &aligned, sizeof aligned},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &of_c, sizeof of_c},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &of_c, sizeof of_c},
    };
    cublasStatus_t status = cublasLtMatmulPreferenceInit(preference);
    for (const auto &s : settings)
        if (status == CUBLAS_STATUS_SUCCESS)
            status = cublasLtMatmulPreferenceSetAttribute(preference, s.attribute, s.value, s.bytes);
    return status;
}

/* Enqueue a GEMM with the given algorithm and workspace. */
static cublasStatus_t multiply(cublasLtHandle_t handle, const gpu_product *p, const cublasLtMatmulAlgo_t *algo, void *work,
                               size_t work_bytes, cudaStream_t stream)
{
    static const float one = 1.0f, zero = 0.0f;
    shape s;
    gpu_product product = *p;
    if (p->add == nullptr) {
        product.add = p->c;
        product.ld_add = p->ldc;
    }
    const cublasStatus_t status = make_shape(&s, &product);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    return cublasLtMatmul(handle, &s.product, &one, p->matrix->w, &s.w, p->a, &s.a, p->add != nullptr ? &one : &zero,
                          product.add, &s.add, p->c, &s.c, algo, work, work_bytes, stream);
}

/* --- the plain kernel --------------------------------------------------------------------------------------------- */

enum { TILE = 16 };

__device__ static inline float element(const void *from, size_t i, gpu_type type)
{
    return type == GPU_F32 ? ((const float *)from)[i] : gpu_rounded_to_float(((const uint16_t *)from)[i], type);
}

/* Each thread sums one element of c, in the order of k. */
__global__ static void plain_product(gpu_matrix m, gpu_product p)
{
    __shared__ float a[TILE][TILE + 1], w[TILE][TILE + 1];
    const int32_t x = (int32_t)threadIdx.x, y = (int32_t)threadIdx.y;
    const int32_t row = (int32_t)blockIdx.y * TILE + y, first = (int32_t)blockIdx.x * TILE, column = first + x;
    float sum = 0.0f;
    for (int32_t begin = 0; begin < m.k; begin += TILE) {
        const bool in_k = begin + x < m.k;
        a[y][x] = in_k && row < p.rows ? element(p.a, (size_t)row * (size_t)p.lda + (size_t)(begin + x), m.type) : 0.0f;
        w[y][x] = in_k && first + y < m.n ? element(m.w, (size_t)(first + y) * (size_t)m.k + (size_t)(begin + x), m.type) : 0.0f;
        __syncthreads();
        for (int32_t i = 0; i < TILE; i++) sum = fmaf(a[y][i], w[x][i], sum);
        __syncthreads();
    }
    if (row >= p.rows || column >= m.n) return;
    if (m.bias != nullptr || p.add != nullptr)
        sum += (m.bias != nullptr ? m.bias[column] : 0.0f) +
               (p.add != nullptr ? p.add[(size_t)row * (size_t)p.ld_add + (size_t)column] : 0.0f);
    p.c[(size_t)row * (size_t)p.ldc + (size_t)column] = m.relu && sum < 0.0f ? 0.0f : sum;
}

static void multiply_plainly(const gpu_product *p, cudaStream_t stream)
{
    enum { MAX_GRID_ROWS = 32768 * TILE }; /* a grid has at most 65,535 blocks in y */
    gpu_product part = *p;
    for (int32_t first = 0; first < p->rows; first += MAX_GRID_ROWS) {
        const size_t offset = (size_t)first;
        part.rows = p->rows - first < MAX_GRID_ROWS ? p->rows - first : (int32_t)MAX_GRID_ROWS;
        part.a = (const char *)p->a + offset * (size_t)p->lda * gpu_type_bytes(p->matrix->type);
        part.add = p->add != nullptr ? p->add + offset * (size_t)p->ld_add : nullptr;
        part.c = p->c + offset * (size_t)p->ldc;
        const dim3 grid((unsigned)(p->matrix->n + TILE - 1) / TILE, (unsigned)(part.rows + TILE - 1) / TILE);
        plain_product<<<grid, dim3(TILE, TILE), 0, stream>>>(*p->matrix, part);
    }
}

/* --- trials ------------------------------------------------------------------------------------------------------- */

/* Input rows to try algorithms with. An algorithm's outputs are compared with those of the reference algorithm. */
struct trial {
    cublasLtHandle_t handle;
    const gpu_matrix *matrix;
    cudaStream_t stream;
    int32_t rows, lda, ldc;
    char *memory; /* one device allocation; the pointers below point into it */
    float *add, *sums;
    float *reference[2]; /* without and with an addend */
    char *a;
    unsigned *differences;
};

struct random_rows {
    void *to;
    size_t count;
    int32_t type;
    uint32_t seed;
};

/* Pseudo-random numbers in [-2, 2). */
__global__ static void fill_at_random(random_rows r)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < r.count; i += step) {
        uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u + r.seed; /* splitmix64 */
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
        x = (x ^ x >> 27) * 0x94D049BB133111EBu;
        const float value = (float)(uint32_t)((x ^ x >> 31) >> 40) * (4.0f / 16777216.0f) - 2.0f;
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

/* Allocate and fill a trial's rows: at most 4,099, as many as give outputs of 256 MiB (1,025 rows of 65,000 columns), or
 * fewer if the GPU is short of memory. A trial has four outputs. */
static int open_trial(trial *t, cublasLtHandle_t handle, const gpu_matrix *m, char why[GPU_ERROR_BYTES])
{
    enum { MOST = 4099, OUTPUT_BYTES = 256 << 20 };
    *t = {};
    t->handle = handle;
    t->matrix = m;
    t->lda = (m->k + 15) / 16 * 16;
    t->ldc = (m->n + 15) / 16 * 16;
    const size_t fit = OUTPUT_BYTES / ((size_t)t->ldc * sizeof(float));
    t->rows = fit > MOST ? (int32_t)MOST : (int32_t)fit + 1;
    size_t output, input, input_bytes;
    cudaError_t allocated;
    do {
        output = (size_t)t->rows * (size_t)t->ldc;
        input = (size_t)t->rows * (size_t)t->lda;
        input_bytes = input * gpu_type_bytes(m->type);
        allocated = cudaMalloc(&t->memory, 4 * output * sizeof(float) + input_bytes + 16);
    } while (allocated == cudaErrorMemoryAllocation && (t->rows /= 2) > 0);
    cudaGetLastError(); /* clear the errors of refused sizes */
    if (check_error(why, "memory to try matrix products", allocated) != 0 ||
        check_error(why, "a stream", cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking)) != 0)
        return -1;
    t->add = (float *)t->memory;
    t->sums = t->add + output;
    t->reference[0] = t->sums + output;
    t->reference[1] = t->reference[0] + output;
    t->a = (char *)(t->reference[1] + output);
    t->differences = (unsigned *)(t->a + input_bytes);
    fill_at_random<<<1024, 256, 0, t->stream>>>({t->add, output, GPU_F32, 1});
    fill_at_random<<<1024, 256, 0, t->stream>>>({t->a, input, (int32_t)m->type, 2});
    return check_error(why, "a kernel's launch", cudaGetLastError());
}

static void close_trial(trial *t)
{
    if (t->stream != nullptr) cudaStreamDestroy(t->stream);
    cudaFree(t->memory);
}

/* Enqueue the product of rows [first, first + rows). Returns whether the algorithm supports it. */
static bool try_rows(const trial *t, const cublasLtMatmulAlgo_t *algo, int32_t first, int32_t rows, bool add, float *out)
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
    return multiply(t->handle, &p, algo, nullptr, 0, t->stream) == CUBLAS_STATUS_SUCCESS;
}

/* Whether each row's result is bit-identical to the reference, in GEMMs over the first n rows and over the last n rows, for many n.
 * Failures of CUDA set the error. */
static bool sums_like_reference(const trial *t, const cublasLtMatmulAlgo_t *algo, bool add, char why[GPU_ERROR_BYTES])
{
    static const int32_t lengths[] = {1,   2,   3,   4,   5,   8,   9,   16,  17,   31,   32,   33,   48,   64,  65,
                                      100, 127, 128, 129, 192, 255, 256, 257, 300,  320,  511,  513,  640,  777, 1023,
                                      1025, 1536, 2047, 2049, 3000, 4096, 4099};
    unsigned differences = 0;
    if (check_error(why, "memory", cudaMemsetAsync(t->differences, 0, sizeof *t->differences, t->stream)) != 0) return false;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths && lengths[i] <= t->rows; i++) {
        const int32_t first = i % 2 == 0 ? 0 : t->rows - lengths[i];
        const size_t offset = (size_t)first * (size_t)t->ldc;
        if (!try_rows(t, algo, first, lengths[i], add, t->sums)) return false;
        count_differences<<<512, 256, 0, t->stream>>>(
            {t->sums + offset, t->reference[add] + offset, lengths[i], t->matrix->n, t->ldc, t->differences});
    }
    return check_error(why, "a copy from the GPU",
                       cudaMemcpyAsync(&differences, t->differences, sizeof differences, cudaMemcpyDeviceToHost, t->stream)) == 0 &&
           check_error(why, "the GPU's work", cudaStreamSynchronize(t->stream)) == 0 && differences == 0;
}

/* --- the choice --------------------------------------------------------------------------------------------------- */

/* Whether an algorithm may sum in a fixed order. Split-K does not, nor do matrix-vector products (algorithm 13) for
 * long rows. With fp32 weights tensor cores are also excluded: tf32 is not fp32. */
static bool may_keep_order(const gpu_matrix *m, const cublasLtMatmulAlgo_t *algo)
{
    enum { VECTOR = 13 };
    int32_t parts = 0, id = 0;
    uint64_t numbers = 0;
    size_t written = 0;
    return cublasLtMatmulAlgoConfigGetAttribute(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof parts, &written) ==
               CUBLAS_STATUS_SUCCESS &&
           cublasLtMatmulAlgoConfigGetAttribute(algo, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id, &written) ==
               CUBLAS_STATUS_SUCCESS &&
           cublasLtMatmulAlgoCapGetAttribute(algo, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &numbers, sizeof numbers, &written) ==
               CUBLAS_STATUS_SUCCESS &&
           parts <= 1 && id != VECTOR && (m->type != GPU_F32 || (numbers & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK) == 0);
}

/* Algorithms that the heuristic proposes for a number of rows, best first. Returns how many. */
static int propose(const trial *t, int32_t rows, cublasLtMatmulHeuristicResult_t out[CANDIDATES])
{
    shape s;
    cublasLtMatmulPreferenceOpaque_t preference;
    int found = 0;
    const gpu_product p = {t->matrix, rows, nullptr, t->lda, nullptr, t->ldc, nullptr, t->ldc};
    if (make_shape(&s, &p) != CUBLAS_STATUS_SUCCESS || make_preference(&preference, t->matrix, 0) != CUBLAS_STATUS_SUCCESS ||
        cublasLtMatmulAlgoGetHeuristic(t->handle, &s.product, &s.w, &s.a, &s.add, &s.c, &preference, CANDIDATES, out, &found) !=
            CUBLAS_STATUS_SUCCESS)
        return 0;
    return found;
}

/* Choose the first candidate whose results, with and without an addend, are bit-identical to the reference. With
 * new_reference, the reference is each candidate's own result for all rows at once. */
static bool choose_for(const trial *t, int32_t range, bool new_reference, uint64_t out[8], char why[GPU_ERROR_BYTES])
{
    cublasLtMatmulHeuristicResult_t candidate[CANDIDATES];
    const int found = propose(t, ranges[range].sample, candidate);
    for (int i = 0; i < found && why[0] == '\0'; i++) {
        const cublasLtMatmulAlgo_t *algo = &candidate[i].algo;
        if (candidate[i].state != CUBLAS_STATUS_SUCCESS || !may_keep_order(t->matrix, algo)) continue;
        bool good = true;
        for (int add = 0; add <= 1 && good; add++)
            good = (!new_reference || try_rows(t, algo, 0, t->rows, add != 0, t->reference[add])) &&
                   sums_like_reference(t, algo, add != 0, why);
        if (!good) continue;
        memcpy(out, algo, sizeof *algo);
        return true;
    }
    return false;
}

/* Choose a cuBLASLt algorithm for each range of row counts. If no algorithm gives equal bits for all numbers of rows, m->algo stays zero,
 * which selects rill's own kernel. */
static int choose(cublasLtHandle_t handle, gpu_matrix *m, char why[GPU_ERROR_BYTES])
{
    trial t;
    memset(m->algo, 0, sizeof m->algo);
    if (open_trial(&t, handle, m, why) == 0 && choose_for(&t, MIDDLE, true, m->algo[MIDDLE], why))
        for (int32_t i = 0; i < RANGES; i++) {
            const bool is_tried = i == 0 || t.rows > ranges[i - 1].end; /* false: the trial has too few rows for this range */
            if (i != MIDDLE && !(is_tried && choose_for(&t, i, false, m->algo[i], why)))
                memcpy(m->algo[i], m->algo[MIDDLE], sizeof m->algo[MIDDLE]);
        }
    close_trial(&t);
    return why[0] == '\0' ? 0 : -1;
}

int gpu_matrix_choose_algo(gpu_device *device, gpu_matrix *matrix, char why[GPU_ERROR_BYTES])
{
    static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof matrix->algo[0], "setting a cuBLASLt algorithm");
    why[0] = '\0';
    if (matrix->fast) return 0;
    if (check_error(why, "the GPU", cudaSetDevice(device->index)) != 0) return -1;
    pthread_mutex_lock(&device->lock);
    const int status = choose(device->products, matrix, why);
    pthread_mutex_unlock(&device->lock);
    return status;
}

/* --- products ----------------------------------------------------------------------------------------------------- */

int gpu_stream_reserve_fast(gpu_stream *cu_stream)
{
    if (cu_stream->work != nullptr) return 0;
    if (cudaSetDevice(cu_stream->device->index) == cudaSuccess && cudaMalloc(&cu_stream->work, GPU_FAST_WORK) == cudaSuccess) return 0;
    cudaGetLastError();
    return -1;
}

static size_t work_bytes(const gpu_stream *cu_stream)
{
    return cu_stream->work != nullptr ? GPU_FAST_WORK : 0;
}

/* The fastest algorithm for this number of rows, by the heuristic. */
static int choose_fast(gpu_stream *cu_stream, const gpu_product *p, cublasLtMatmulAlgo_t *algo)
{
    shape s;
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasLtMatmulHeuristicResult_t best;
    int found = 0;
    gpu_product product = *p;
    if (p->add == nullptr) product.ld_add = p->ldc;
    if (check_error(cu_stream->why, "cuBLASLt", make_shape(&s, &product)) != 0 ||
        check_error(cu_stream->why, "cuBLASLt", make_preference(&preference, p->matrix, work_bytes(cu_stream))) != 0 ||
        check_error(cu_stream->why, "cuBLASLt",
                    cublasLtMatmulAlgoGetHeuristic(cu_stream->products, &s.product, &s.w, &s.a, &s.add, &s.c, &preference, 1, &best,
                                                   &found)) != 0)
        return -1;
    if (found == 0 || best.state != CUBLAS_STATUS_SUCCESS) return check_error(cu_stream->why, "cuBLASLt", CUBLAS_STATUS_NOT_SUPPORTED);
    *algo = best.algo;
    return 0;
}

static bool is_plain(const uint64_t algo[8])
{
    static const uint64_t none[8] = {};
    return memcmp(algo, none, sizeof none) == 0;
}

void gpu_run_product(gpu_stream *cu_stream, const gpu_product *p)
{
    const gpu_matrix *m = p->matrix;
    cublasLtMatmulAlgo_t algo;
    if (p->rows <= 0) return;
    int range = 0;
    while (p->rows >= ranges[range].end) range++;
    const cudaStream_t stream = gpu_launch_on(cu_stream);
    if (m->fast) {
        if (choose_fast(cu_stream, p, &algo) == 0)
            check_error(cu_stream->why, "a product",
                        multiply(cu_stream->products, p, &algo, cu_stream->work, work_bytes(cu_stream), stream));
    } else if (is_plain(m->algo[range])) {
        multiply_plainly(p, stream);
        gpu_launched(cu_stream);
    } else {
        memcpy(&algo, m->algo[range], sizeof algo);
        check_error(cu_stream->why, "a product", multiply(cu_stream->products, p, &algo, nullptr, 0, stream));
    }
}
