/* GEMM by cuBLASLt.
 *
 * cuBLAS is column-major: c^T [n, rows] = w [n, k] a^T, where row-major w is a k x n matrix, and a^T is k x rows.
 *
 * trials.cu chooses an algorithm whose order of sums is the same for any number of rows. With `fast`, cuBLASLt's heuristic chooses. */
#include <stdlib.h>
#include <string.h>

#include "device.cuh"
#include "trials.h"

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

/* The numerical properties of an algorithm that computes in fp32 throughout: no tensor cores, no tf32, no emulation by narrower types. */
static const uint64_t FP32_NUMBERS =
    CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F;

/* Make the preferences for algorithms: alignments (gpu.h), workspace, and whether sums may be split. Without `fast`, fp32 weights use fp32
 * kernels only. */
static cublasStatus_t make_preference(cublasLtMatmulPreferenceOpaque_t *preference, const gpu_matrix *m, uint64_t workspace)
{
    const uint32_t aligned = 16,
                   reduction = gpu_may_split_k(m) ? CUBLASLT_REDUCTION_SCHEME_MASK : CUBLASLT_REDUCTION_SCHEME_NONE;
    const uint64_t numbers = m->type == GPU_F32 && !m->fast ? FP32_NUMBERS : UINT64_MAX;
    const struct {
        cublasLtMatmulPreferenceAttributes_t attribute;
        const void *value;
        size_t bytes;
    } settings[] = {
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reduction, sizeof reduction},
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace},
        {CUBLASLT_MATMUL_PREF_IMPL_MASK, &numbers, sizeof numbers},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &aligned, sizeof aligned},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &aligned, sizeof aligned},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &aligned, sizeof aligned},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &aligned, sizeof aligned},
    };
    cublasStatus_t status = cublasLtMatmulPreferenceInit(preference);
    for (const auto &s : settings)
        if (status == CUBLAS_STATUS_SUCCESS)
            status = cublasLtMatmulPreferenceSetAttribute(preference, s.attribute, s.value, s.bytes);
    return status;
}

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

/* --- algorithms that cuBLASLt proposes ---------------------------------------------------------------------------- */

/* Returns whether cuBLASLt describes the algorithm. */
static bool get_facts(const cublasLtMatmulAlgo_t *algo, gpu_algo_facts *facts)
{
    uint32_t tile = CUBLASLT_MATMUL_TILE_UNDEFINED;
    uint64_t numbers = 0;
    int32_t emulates = 0;
    size_t written = 0;
    const cublasStatus_t steps[] = {
        cublasLtMatmulAlgoConfigGetAttribute(algo, CUBLASLT_ALGO_CONFIG_ID, &facts->id, sizeof facts->id, &written),
        cublasLtMatmulAlgoConfigGetAttribute(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &facts->split_k, sizeof facts->split_k,
                                             &written),
        cublasLtMatmulAlgoConfigGetAttribute(algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof tile, &written),
        cublasLtMatmulAlgoCapGetAttribute(algo, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &numbers, sizeof numbers, &written)};
    /* releases before cuBLASLt 13 have no emulation and do not know the attribute */
    if (cublasLtMatmulAlgoCapGetAttribute(algo, CUBLASLT_ALGO_CAP_FLOATING_POINT_EMULATION_SUPPORT, &emulates, sizeof emulates,
                                          &written) != CUBLAS_STATUS_SUCCESS)
        emulates = 0;
    for (const cublasStatus_t status : steps)
        if (status != CUBLAS_STATUS_SUCCESS) return false;
    facts->has_tile = tile != CUBLASLT_MATMUL_TILE_UNDEFINED;
    facts->fp32_only = (numbers & ~FP32_NUMBERS) == 0 && !emulates;
    return true;
}

int gpu_propose(gpu_device *device, const gpu_matrix *m, int32_t rows, gpu_candidate out[GPU_CANDIDATES])
{
    shape s;
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasLtMatmulHeuristicResult_t results[GPU_CANDIDATES];
    int found = 0, kept = 0;
    const int32_t lda = (m->k + 15) / 16 * 16, ldc = (m->n + 15) / 16 * 16;
    const gpu_product p = {m, rows, nullptr, lda, nullptr, ldc, nullptr, ldc};
    if (make_shape(&s, &p) != CUBLAS_STATUS_SUCCESS || make_preference(&preference, m, 0) != CUBLAS_STATUS_SUCCESS) return 0;
    pthread_mutex_lock(&device->lock);
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(device->products, &s.product, &s.w, &s.a, &s.add, &s.c,
                                                                 &preference, GPU_CANDIDATES, results, &found);
    pthread_mutex_unlock(&device->lock);
    for (int i = 0; i < found && status == CUBLAS_STATUS_SUCCESS; i++) {
        if (results[i].state != CUBLAS_STATUS_SUCCESS || !get_facts(&results[i].algo, &out[kept].facts)) continue;
        memcpy(out[kept++].algo, &results[i].algo, sizeof results[i].algo);
    }
    return kept;
}

int gpu_multiply_by(gpu_stream *cu_stream, const gpu_product *p, const uint64_t words[8])
{
    cublasLtMatmulAlgo_t algo;
    memcpy(&algo, words, sizeof algo);
    return multiply(cu_stream->products, p, &algo, nullptr, 0, gpu_launch_on(cu_stream)) == CUBLAS_STATUS_SUCCESS ? 0 : -1;
}

int gpu_matrix_choose_algo(gpu_device *device, gpu_matrix *matrix, char why[GPU_ERROR_BYTES])
{
    static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof matrix->algo[0], "setting a cuBLASLt algorithm");
    why[0] = '\0';
    return matrix->fast ? 0 : gpu_choose_by_trial(device, matrix, why);
}

/* --- running products --------------------------------------------------------------------------------------------- */

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

void gpu_run_product(gpu_stream *cu_stream, const gpu_product *p)
{
    const gpu_matrix *m = p->matrix;
    const int32_t range = gpu_row_range(p->rows);
    cublasLtMatmulAlgo_t algo;
    if (p->rows <= 0) return;
    if (gpu_is_plain(m, range) && !m->fast) {
        gpu_multiply_plainly(cu_stream, p);
        return;
    }
    const cudaStream_t stream = gpu_launch_on(cu_stream);
    if (m->fast) {
        if (choose_fast(cu_stream, p, &algo) == 0)
            check_error(cu_stream->why, "a product",
                        multiply(cu_stream->products, p, &algo, cu_stream->work, work_bytes(cu_stream), stream));
    } else {
        memcpy(&algo, m->algo[range], sizeof algo);
        check_error(cu_stream->why, "a product", multiply(cu_stream->products, p, &algo, nullptr, 0, stream));
    }
}
