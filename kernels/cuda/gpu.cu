/* gpu.cu: gpu.h with the CUDA runtime and cuBLASLt.
 *
 * Devices, memory, streams, graphs, events, GEMM. Driver functions for virtual memory are obtained through the runtime,
 * so the module does not link libcuda and loads on machines without a driver: gpu_open() then says why no GPU can be
 * used.
 *
 * CUDA's current device is per thread: functions that need it set it first, at almost no cost. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cublasLt.h>
#include <cuda.h> /* types and declarations only */

#include "cuda.cuh"

/* Driver functions used here. */
#define DRIVER(function) decltype(&function) function##_at
struct driver {
    DRIVER(cuMemGetAllocationGranularity);
    DRIVER(cuMemAddressReserve);
    DRIVER(cuMemAddressFree);
    DRIVER(cuMemCreate);
    DRIVER(cuMemRelease);
    DRIVER(cuMemMap);
    DRIVER(cuMemUnmap);
    DRIVER(cuMemSetAccess);
};
#undef DRIVER

struct gpu_device {
    int index;
    char name[256];
    driver call;
    size_t granule, memory; /* bytes */
    pthread_mutex_t lock;   /* protects the cuBLASLt handle */
    cublasLtHandle_t products;
};

struct gpu_stream {
    gpu_device *device;
    cudaStream_t stream;
    cublasLtHandle_t products;
    uint64_t launches;
    void *work; /* workspace of GEMMs with `fast`; NULL: none allowed */
    char why[GPU_ERROR_BYTES]; /* the first failure; empty: none */
};

/* --- failures ----------------------------------------------------------------------------------------------------- */

/* Set the error unless one is set: the failed call, and CUDA's reason. */
static void set_error(char why[GPU_ERROR_BYTES], const char *what, const char *message)
{
    if (why[0] == '\0') snprintf(why, GPU_ERROR_BYTES, "%s: %s", what, message);
}

static int check_error(char why[GPU_ERROR_BYTES], const char *what, cudaError_t error)
{
    if (error == cudaSuccess) return 0;
    cudaGetLastError(); /* clear the error so that later calls do not report it again */
    set_error(why, what, cudaGetErrorString(error));
    return -1;
}

static int check_error(char why[GPU_ERROR_BYTES], const char *what, cublasStatus_t status)
{
    if (status == CUBLAS_STATUS_SUCCESS) return 0;
    set_error(why, what, cublasLtGetStatusString(status));
    return -1;
}

/* --- devices ------------------------------------------------------------------------------------------------------ */

template <class Function>
static bool load_function(Function *out, const char *name)
{
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    void *function = nullptr;
    const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result);
    memcpy(out, &function, sizeof function);
    if (error != cudaSuccess) cudaGetLastError();
    return error == cudaSuccess && result == cudaDriverEntryPointSuccess && function != nullptr;
}

#define FIND(function) load_function(&call->function##_at, #function)
static bool find_driver(driver *call)
{
    return FIND(cuMemGetAllocationGranularity) && FIND(cuMemAddressReserve) && FIND(cuMemAddressFree) &&
           FIND(cuMemCreate) && FIND(cuMemRelease) && FIND(cuMemMap) && FIND(cuMemUnmap) && FIND(cuMemSetAccess);
}
#undef FIND

static CUmemAllocationProp memory_kind(const gpu_device *device)
{
    CUmemAllocationProp kind = {};
    kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    kind.location.id = device->index;
    return kind;
}

/* Probe: whether this module contains code for a device. */
__global__ static void nothing(int)
{
}

static int init_device(gpu_device *device, char why[GPU_ERROR_BYTES])
{
    cudaDeviceProp about;
    cudaFuncAttributes kernel;
    size_t available = 0;
    if (check_error(why, "the GPU", cudaSetDevice(device->index)) != 0 ||
        check_error(why, "the GPU", cudaGetDeviceProperties(&about, device->index)) != 0 ||
        check_error(why, "the GPU's memory", cudaMemGetInfo(&available, &device->memory)) != 0)
        return -1;
    snprintf(device->name, sizeof device->name, "%s", about.name);
    if (cudaFuncGetAttributes(&kernel, nothing) != cudaSuccess) {
        cudaGetLastError();
        snprintf(why, GPU_ERROR_BYTES, "%.80s has compute capability %d.%d, for which this build has no kernels", about.name,
                 about.major, about.minor);
        return -1;
    }
    const CUmemAllocationProp kind = memory_kind(device);
    if (!find_driver(&device->call) ||
        device->call.cuMemGetAllocationGranularity_at(&device->granule, &kind, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) !=
            CUDA_SUCCESS) {
        set_error(why, "the driver", "it cannot reserve virtual addresses for growing memory");
        return -1;
    }
    return check_error(why, "cuBLASLt", cublasLtCreate(&device->products));
}

int gpu_open(gpu_device **out, int index, char why[GPU_ERROR_BYTES])
{
    int count = 0;
    *out = nullptr;
    why[0] = '\0';
    if (check_error(why, "no GPU can be used", cudaGetDeviceCount(&count)) != 0) return -1;
    if (index < 0 || index >= count) {
        snprintf(why, GPU_ERROR_BYTES, "GPU %d does not exist: the machine has %d", index, count);
        return -1;
    }
    gpu_device *device = (gpu_device *)calloc(1, sizeof *device);
    if (device == nullptr) {
        snprintf(why, GPU_ERROR_BYTES, "out of memory");
        return -1;
    }
    device->index = index;
    pthread_mutex_init(&device->lock, nullptr);
    if (init_device(device, why) != 0) {
        gpu_close(device);
        return -1;
    }
    *out = device;
    return 0;
}

void gpu_close(gpu_device *device)
{
    if (device == nullptr) return;
    if (device->products != nullptr) cublasLtDestroy(device->products);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

const char *gpu_name(const gpu_device *device)
{
    return device->name;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static size_t round_to_granules(const gpu_device *device, size_t bytes)
{
    return (bytes + device->granule - 1) / device->granule * device->granule;
}

size_t gpu_memory_bytes(const gpu_device *device)
{
    return device->memory;
}

size_t gpu_granule_bytes(const gpu_device *device)
{
    return device->granule;
}

/* Map new memory of so many granules at the end of a region. */
static bool map_more(const gpu_device *device, CUdeviceptr address, size_t bytes)
{
    const driver *call = &device->call;
    const CUmemAllocationProp kind = memory_kind(device);
    const CUmemAccessDesc access = {kind.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle slab;
    if (call->cuMemCreate_at(&slab, bytes, &kind, 0) != CUDA_SUCCESS) return false;
    bool mapped = call->cuMemMap_at(address, bytes, 0, slab, 0) == CUDA_SUCCESS;
    if (mapped && call->cuMemSetAccess_at(address, bytes, &access, 1) != CUDA_SUCCESS) {
        call->cuMemUnmap_at(address, bytes);
        mapped = false;
    }
    call->cuMemRelease_at(slab); /* stays alive while mapped */
    return mapped;
}

/* Addresses are reserved for a region's maximum, so that it never moves. A process has 2^47 of them. */
int gpu_grow(gpu_device *device, gpu_region *region, size_t bytes)
{
    if (bytes <= region->bytes) return 0;
    const size_t wanted = round_to_granules(device, region->reserved > 0 ? region->reserved : device->memory);
    if (bytes > wanted || cudaSetDevice(device->index) != cudaSuccess) return GPU_NO_MEMORY;
    CUdeviceptr address = (CUdeviceptr)region->base;
    const size_t more = round_to_granules(device, bytes) - region->bytes;
    if (address == 0 && device->call.cuMemAddressReserve_at(&address, wanted, 0, 0, 0) != CUDA_SUCCESS) return GPU_NO_ADDRESSES;
    if (!map_more(device, address + region->bytes, more)) {
        if (region->base == nullptr) device->call.cuMemAddressFree_at(address, wanted);
        return GPU_NO_MEMORY;
    }
    region->base = (char *)address;
    region->bytes += more;
    region->reserved = wanted;
    return 0;
}

void gpu_free(gpu_device *device, gpu_region *region)
{
    if (region->base != nullptr) {
        cudaSetDevice(device->index);
        device->call.cuMemUnmap_at((CUdeviceptr)region->base, region->bytes);
        device->call.cuMemAddressFree_at((CUdeviceptr)region->base, region->reserved);
    }
    *region = {};
}

void *gpu_pinned_alloc(gpu_device *device, size_t bytes)
{
    void *memory = nullptr;
    if (cudaSetDevice(device->index) == cudaSuccess &&
        cudaHostAlloc(&memory, bytes > 0 ? bytes : 1, cudaHostAllocPortable) == cudaSuccess)
        return memory;
    cudaGetLastError();
    return nullptr;
}

void gpu_pinned_free(gpu_device *device, void *memory)
{
    if (memory == nullptr) return;
    cudaSetDevice(device->index);
    cudaFreeHost(memory);
}

/* --- work --------------------------------------------------------------------------------------------------------- */

int gpu_stream_open(gpu_stream **out, gpu_device *device, char why[GPU_ERROR_BYTES])
{
    gpu_stream *cu_stream = *out = (gpu_stream *)calloc(1, sizeof *cu_stream);
    why[0] = '\0';
    if (cu_stream == nullptr) {
        snprintf(why, GPU_ERROR_BYTES, "out of memory");
        return -1;
    }
    cu_stream->device = device;
    if (check_error(why, "the GPU", cudaSetDevice(device->index)) == 0 &&
        check_error(why, "a stream", cudaStreamCreateWithFlags(&cu_stream->stream, cudaStreamNonBlocking)) == 0 &&
        check_error(why, "cuBLASLt", cublasLtCreate(&cu_stream->products)) == 0)
        return 0;
    gpu_stream_close(cu_stream);
    *out = nullptr;
    return -1;
}

void gpu_stream_close(gpu_stream *cu_stream)
{
    if (cu_stream == nullptr) return;
    cudaSetDevice(cu_stream->device->index);
    if (cu_stream->stream != nullptr) {
        cudaStreamSynchronize(cu_stream->stream);
        cudaStreamDestroy(cu_stream->stream);
    }
    if (cu_stream->products != nullptr) cublasLtDestroy(cu_stream->products);
    cudaFree(cu_stream->work);
    free(cu_stream);
}

/* Launches need the stream's device as the current one. */
static cudaStream_t current_stream(const gpu_stream *cu_stream)
{
    cudaSetDevice(cu_stream->device->index);
    return cu_stream->stream;
}

cudaStream_t gpu_launch_on(gpu_stream *cu_stream)
{
    cu_stream->launches++;
    return current_stream(cu_stream);
}

/* A refused launch sets only the thread's last error, not the stream's. */
void gpu_launched(gpu_stream *cu_stream)
{
    check_error(cu_stream->why, "a kernel's launch", cudaGetLastError());
}

uint64_t gpu_launch_count(const gpu_stream *cu_stream)
{
    return cu_stream->launches;
}

static void copy(gpu_stream *cu_stream, void *to, const void *from, size_t bytes, cudaMemcpyKind kind, const char *what)
{
    if (bytes > 0) check_error(cu_stream->why, what, cudaMemcpyAsync(to, from, bytes, kind, current_stream(cu_stream)));
}

void gpu_copy_to_device(gpu_stream *cu_stream, void *to, const void *from, size_t bytes)
{
    copy(cu_stream, to, from, bytes, cudaMemcpyHostToDevice, "a copy to the GPU");
}

void gpu_copy_to_host(gpu_stream *cu_stream, void *to, const void *from, size_t bytes)
{
    copy(cu_stream, to, from, bytes, cudaMemcpyDeviceToHost, "a copy from the GPU");
}

/* --- records ------------------------------------------------------------------------------------------------------ */

struct gpu_graph_exec {
    gpu_device *device;
    cudaGraphExec_t work;
};

/* Thread-local mode: other threads may allocate and free during capture. */
int gpu_capture_begin(gpu_stream *cu_stream, char why[GPU_ERROR_BYTES])
{
    why[0] = '\0';
    if (cu_stream->why[0] != '\0') snprintf(why, GPU_ERROR_BYTES, "%s", cu_stream->why);
    return why[0] != '\0' ? -1
                           : check_error(why, "recording",
                                         cudaStreamBeginCapture(current_stream(cu_stream), cudaStreamCaptureModeThreadLocal));
}

/* A failure during capture belongs to the capture, not to the stream. */
gpu_graph_exec *gpu_capture_end(gpu_stream *cu_stream, char why[GPU_ERROR_BYTES])
{
    cudaGraph_t recorded = nullptr;
    gpu_graph_exec *graph = (gpu_graph_exec *)calloc(1, sizeof *graph);
    check_error(cu_stream->why, "recording", cudaStreamEndCapture(cu_stream->stream, &recorded));
    if (cu_stream->why[0] == '\0' && graph != nullptr)
        check_error(cu_stream->why, "a record", cudaGraphInstantiate(&graph->work, recorded, 0));
    if (recorded != nullptr) cudaGraphDestroy(recorded);
    if (graph != nullptr) graph->device = cu_stream->device;
    snprintf(why, GPU_ERROR_BYTES, "%s", cu_stream->why[0] != '\0' ? cu_stream->why : "out of memory");
    const bool made = graph != nullptr && cu_stream->why[0] == '\0';
    cu_stream->why[0] = '\0';
    if (made) return graph;
    free(graph);
    return nullptr;
}

void gpu_graph_launch(gpu_stream *cu_stream, gpu_graph_exec *graph)
{
    check_error(cu_stream->why, "a record", cudaGraphLaunch(graph->work, current_stream(cu_stream)));
}

void gpu_graph_exec_free(gpu_graph_exec *graph)
{
    if (graph == nullptr) return;
    cudaSetDevice(graph->device->index);
    cudaGraphExecDestroy(graph->work);
    free(graph);
}

static int copy_error(const gpu_stream *cu_stream, char why[GPU_ERROR_BYTES])
{
    if (cu_stream->why[0] == '\0') return 0;
    memcpy(why, cu_stream->why, sizeof cu_stream->why);
    return -1;
}

int gpu_stream_sync(gpu_stream *cu_stream, char why[GPU_ERROR_BYTES])
{
    check_error(cu_stream->why, "the GPU's work", cudaStreamSynchronize(current_stream(cu_stream)));
    const int status = copy_error(cu_stream, why);
    cu_stream->why[0] = '\0'; /* persistent failures will show again */
    return status;
}

/* --- marks -------------------------------------------------------------------------------------------------------- */

struct gpu_event {
    gpu_stream *cu_stream; /* stream in which the event was recorded */
    cudaEvent_t event;
};

int gpu_event_open(gpu_event **out, gpu_device *device, char why[GPU_ERROR_BYTES])
{
    gpu_event *event = *out = (gpu_event *)calloc(1, sizeof *event);
    why[0] = '\0';
    if (event == nullptr) {
        snprintf(why, GPU_ERROR_BYTES, "out of memory");
        return -1;
    }
    if (check_error(why, "the GPU", cudaSetDevice(device->index)) == 0 &&
        check_error(why, "an event", cudaEventCreateWithFlags(&event->event, cudaEventDisableTiming)) == 0)
        return 0;
    free(event);
    *out = nullptr;
    return -1;
}

void gpu_event_close(gpu_event *event)
{
    if (event == nullptr) return;
    cudaEventDestroy(event->event);
    free(event);
}

void gpu_event_record(gpu_stream *cu_stream, gpu_event *event)
{
    event->cu_stream = cu_stream;
    check_error(cu_stream->why, "an event", cudaEventRecord(event->event, current_stream(cu_stream)));
}

/* Failures are sticky: later events depend on the same work. */
int gpu_event_sync(gpu_event *event, char why[GPU_ERROR_BYTES])
{
    gpu_stream *cu_stream = event->cu_stream;
    if (cu_stream == nullptr) return 0;
    check_error(cu_stream->why, "the GPU's work", cudaEventSynchronize(event->event));
    return copy_error(cu_stream, why);
}

void gpu_stream_wait_event(gpu_stream *cu_stream, gpu_event *event)
{
    if (event->cu_stream == nullptr) return;
    if (event->cu_stream->why[0] != '\0') set_error(cu_stream->why, "work ahead", event->cu_stream->why);
    check_error(cu_stream->why, "an event", cudaStreamWaitEvent(current_stream(cu_stream), event->event, cudaEventWaitDefault));
}

/* Estimated, not measured: the launches of a step of six layers take about 0.1 ms, the engine 0.1 to 0.15 us per row. */
int32_t gpu_group_rows(const gpu_device *)
{
    return 512;
}

/* --- products ----------------------------------------------------------------------------------------------------- */

/* cuBLAS is column-major: c^T [n, rows] = w [n, k] a^T, where row-major w is a k x n matrix, and a^T is k x rows.
 *
 * One algorithm serves every number of rows, without split-K or a workspace, where partial sums of several blocks would
 * meet: so an element's sum has one order for all numbers of rows. For `fast` matrices cuBLASLt may do both, and its
 * heuristic is queried and cached per number of rows. */
enum { CANDIDATES = 32, SAMPLE_ROWS = 256, MAX_ROWS = 1 << 16 };
static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(gpu_matrix::algo), "setting a cuBLASLt algorithm");

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

/* A GEMM with so many rows, with a gap of about `gap` floats between them. */
static gpu_product sample_product(const gpu_matrix *m, int32_t rows, int32_t gap)
{
    const int32_t ldc = (m->n + 3) / 4 * 4 + gap;
    return {m, rows, nullptr, (m->k + 15) / 16 * 16 + 2 * gap, nullptr, ldc, nullptr, ldc};
}

/* Alignments candidates may assume (see gpu.h), and what they may not do. */
static cublasStatus_t make_preference(cublasLtMatmulPreferenceOpaque_t *preference, const gpu_matrix *m, uint64_t workspace)
{
    const uint32_t aligned = 16, of_c = m->n % 4 == 0 ? 16 : 4,
                   reduction = m->fast ? CUBLASLT_REDUCTION_SCHEME_MASK : CUBLASLT_REDUCTION_SCHEME_NONE;
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

static bool supports_rows(cublasLtHandle_t handle, const gpu_matrix *m, const cublasLtMatmulAlgo_t *algo, int32_t rows)
{
    const cublasStatus_t good = CUBLAS_STATUS_SUCCESS;
    cublasLtMatmulHeuristicResult_t result = {};
    for (int32_t gap = 0; gap <= 8; gap += 8) {
        shape s;
        const gpu_product product = sample_product(m, rows, gap);
        if (make_shape(&s, &product) != good ||
            cublasLtMatmulAlgoCheck(handle, &s.product, &s.w, &s.a, &s.add, &s.c, algo, &result) != good ||
            result.state != good || result.workspaceSize > 0)
            return false;
    }
    return true;
}

/* Whether the algorithm supports all numbers of rows without split-K. */
static bool supports_all_rows(cublasLtHandle_t handle, const gpu_matrix *m, const cublasLtMatmulAlgo_t *algo)
{
    int32_t parts = 0;
    size_t written = 0;
    if (cublasLtMatmulAlgoConfigGetAttribute(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof parts, &written) !=
            CUBLAS_STATUS_SUCCESS ||
        parts > 1)
        return false;
    for (int32_t rows = 1; rows <= MAX_ROWS; rows *= 2)
        for (int32_t by = -1; by <= 1; by++)
            if (rows + by > 0 && !supports_rows(handle, m, algo, rows + by)) return false;
    return true;
}

static int choose(cublasLtHandle_t handle, gpu_matrix *matrix, char why[GPU_ERROR_BYTES])
{
    shape s;
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasLtMatmulHeuristicResult_t candidate[CANDIDATES];
    int found = 0;
    const gpu_product product = sample_product(matrix, SAMPLE_ROWS, 0);
    if (check_error(why, "cuBLASLt", make_shape(&s, &product)) != 0 ||
        check_error(why, "cuBLASLt", make_preference(&preference, matrix, 0)) != 0 ||
        check_error(why, "cuBLASLt",
             cublasLtMatmulAlgoGetHeuristic(handle, &s.product, &s.w, &s.a, &s.add, &s.c, &preference, CANDIDATES,
                                            candidate, &found)) != 0)
        return -1;
    for (int i = 0; i < found; i++)
        if (candidate[i].state == CUBLAS_STATUS_SUCCESS && supports_all_rows(handle, matrix, &candidate[i].algo)) {
            memcpy(matrix->algo, &candidate[i].algo, sizeof matrix->algo);
            return 0;
        }
    snprintf(why, GPU_ERROR_BYTES, "cuBLASLt: none of %d algorithms for %d x %d weights supports all numbers of "
"rows", found,
             (int)matrix->n, (int)matrix->k);
    return -1;
}

int gpu_matrix_choose_algo(gpu_device *device, gpu_matrix *matrix, char why[GPU_ERROR_BYTES])
{
    why[0] = '\0';
    if (matrix->fast) return 0;
    if (check_error(why, "the GPU", cudaSetDevice(device->index)) != 0) return -1;
    pthread_mutex_lock(&device->lock);
    const int status = choose(device->products, matrix, why);
    pthread_mutex_unlock(&device->lock);
    return status;
}

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

/* The fastest algo for this number of rows. */
static int choose_fast(gpu_stream *cu_stream, const gpu_matrix *m, shape *s, cublasLtMatmulAlgo_t *algo)
{
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasLtMatmulHeuristicResult_t best;
    int found = 0;
    if (check_error(cu_stream->why, "cuBLASLt", make_preference(&preference, m, work_bytes(cu_stream))) != 0 ||
        check_error(cu_stream->why, "cuBLASLt",
             cublasLtMatmulAlgoGetHeuristic(cu_stream->products, &s->product, &s->w, &s->a, &s->add, &s->c, &preference, 1, &best,
                                            &found)) != 0)
        return -1;
    if (found == 0 || best.state != CUBLAS_STATUS_SUCCESS) return check_error(cu_stream->why, "cuBLASLt", CUBLAS_STATUS_NOT_SUPPORTED);
    *algo = best.algo;
    return 0;
}

void gpu_run_product(gpu_stream *cu_stream, const gpu_product *args)
{
    static const float one = 1.0f, zero = 0.0f;
    const gpu_matrix *m = args->matrix;
    gpu_product product = *args;
    shape s;
    cublasLtMatmulAlgo_t algo;
    memcpy(&algo, m->algo, sizeof algo);
    if (product.add == nullptr) {
        product.add = product.c;
        product.ld_add = product.ldc;
    }
    if (product.rows <= 0 || check_error(cu_stream->why, "a product", make_shape(&s, &product)) != 0) return;
    const cudaStream_t stream = gpu_launch_on(cu_stream);
    if (m->fast && choose_fast(cu_stream, m, &s, &algo) != 0) return;
    check_error(cu_stream->why, "a product",
         cublasLtMatmul(cu_stream->products, &s.product, &one, m->w, &s.w, product.a, &s.a,
                        args->add != nullptr ? &one : &zero, product.add, &s.add, product.c, &s.c, &algo,
                        m->fast ? cu_stream->work : nullptr, m->fast ? work_bytes(cu_stream) : 0, stream));
}
