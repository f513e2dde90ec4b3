/* gpu.cu: gpu.h with the CUDA runtime and cuBLASLt.
 *
 * Devices, memory, work, records, marks, products. The driver's functions for addresses come through the runtime, so that nothing here is
 * linked with libcuda and a machine without a driver can load it: gpu_open() says why nothing can be used there.
 *
 * CUDA's current device is a thread's: each function that needs it sets it first, which costs next to nothing. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cublasLt.h>
#include <cuda.h> /* types and declarations alone */

#include "cuda.cuh"

/* The driver's functions that are used. */
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
    pthread_mutex_t lock;   /* of the handle */
    cublasLtHandle_t products;
};

struct gpu_queue {
    gpu_device *device;
    cudaStream_t stream;
    cublasLtHandle_t products;
    uint64_t launches;
    void *work; /* of products that may have some; NULL: they may not */
    char why[GPU_TEXT]; /* the first failure; empty: none */
};

/* --- failures ----------------------------------------------------------------------------------------------------- */

/* A text that is not there yet: what failed, and what is said of it. */
static void tell(char why[GPU_TEXT], const char *what, const char *said)
{
    if (why[0] == '\0') snprintf(why, GPU_TEXT, "%s: %s", what, said);
}

static int told(char why[GPU_TEXT], const char *what, cudaError_t error)
{
    if (error == cudaSuccess) return 0;
    cudaGetLastError(); /* it is known now: not to be found again by a later call */
    tell(why, what, cudaGetErrorString(error));
    return -1;
}

static int told(char why[GPU_TEXT], const char *what, cublasStatus_t status)
{
    if (status == CUBLAS_STATUS_SUCCESS) return 0;
    tell(why, what, cublasLtGetStatusString(status));
    return -1;
}

/* --- devices ------------------------------------------------------------------------------------------------------ */

template <class Function>
static bool found(Function *at, const char *name)
{
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    void *function = nullptr;
    const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result);
    memcpy(at, &function, sizeof function);
    if (error != cudaSuccess) cudaGetLastError();
    return error == cudaSuccess && result == cudaDriverEntryPointSuccess && function != nullptr;
}

#define FIND(function) found(&call->function##_at, #function)
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

/* Whether this module has kernels for a device is asked of this one. */
__global__ static void nothing(int)
{
}

static int open_device(gpu_device *device, char why[GPU_TEXT])
{
    cudaDeviceProp about;
    cudaFuncAttributes kernel;
    size_t available = 0;
    if (told(why, "the GPU", cudaSetDevice(device->index)) != 0 ||
        told(why, "the GPU", cudaGetDeviceProperties(&about, device->index)) != 0 ||
        told(why, "the GPU's memory", cudaMemGetInfo(&available, &device->memory)) != 0)
        return -1;
    snprintf(device->name, sizeof device->name, "%s", about.name);
    if (cudaFuncGetAttributes(&kernel, nothing) != cudaSuccess) {
        cudaGetLastError();
        snprintf(why, GPU_TEXT, "%.80s has compute capability %d.%d, for which there are no kernels", about.name,
                 about.major, about.minor);
        return -1;
    }
    const CUmemAllocationProp kind = memory_kind(device);
    if (!find_driver(&device->call) ||
        device->call.cuMemGetAllocationGranularity_at(&device->granule, &kind, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) !=
            CUDA_SUCCESS) {
        tell(why, "the driver", "it cannot reserve addresses for memory that grows");
        return -1;
    }
    return told(why, "cuBLASLt", cublasLtCreate(&device->products));
}

int gpu_open(gpu_device **out, int index, char why[GPU_TEXT])
{
    int count = 0;
    *out = nullptr;
    why[0] = '\0';
    if (told(why, "no GPU can be used", cudaGetDeviceCount(&count)) != 0) return -1;
    if (index < 0 || index >= count) {
        snprintf(why, GPU_TEXT, "there is no GPU %d: the machine has %d", index, count);
        return -1;
    }
    gpu_device *device = (gpu_device *)calloc(1, sizeof *device);
    if (device == nullptr) {
        snprintf(why, GPU_TEXT, "out of memory");
        return -1;
    }
    device->index = index;
    pthread_mutex_init(&device->lock, nullptr);
    if (open_device(device, why) != 0) {
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

static size_t whole_granules(const gpu_device *device, size_t bytes)
{
    return (bytes + device->granule - 1) / device->granule * device->granule;
}

size_t gpu_memory(const gpu_device *device)
{
    return device->memory;
}

size_t gpu_granule(const gpu_device *device)
{
    return device->granule;
}

/* New memory of so many granules at the end of what there is. */
static bool map_more(const gpu_device *device, CUdeviceptr at, size_t bytes)
{
    const driver *call = &device->call;
    const CUmemAllocationProp kind = memory_kind(device);
    const CUmemAccessDesc access = {kind.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle slab;
    if (call->cuMemCreate_at(&slab, bytes, &kind, 0) != CUDA_SUCCESS) return false;
    bool mapped = call->cuMemMap_at(at, bytes, 0, slab, 0) == CUDA_SUCCESS;
    if (mapped && call->cuMemSetAccess_at(at, bytes, &access, 1) != CUDA_SUCCESS) {
        call->cuMemUnmap_at(at, bytes);
        mapped = false;
    }
    call->cuMemRelease_at(slab); /* lives as long as it is mapped */
    return mapped;
}

/* Addresses are reserved for all that a region may come to, so that it never moves. A process has 2^47 of them. */
int gpu_grow(gpu_device *device, gpu_region *region, size_t bytes)
{
    if (bytes <= region->bytes) return 0;
    const size_t wanted = whole_granules(device, region->reserved > 0 ? region->reserved : device->memory);
    if (bytes > wanted || cudaSetDevice(device->index) != cudaSuccess) return GPU_NO_MEMORY;
    CUdeviceptr at = (CUdeviceptr)region->at;
    const size_t more = whole_granules(device, bytes) - region->bytes;
    if (at == 0 && device->call.cuMemAddressReserve_at(&at, wanted, 0, 0, 0) != CUDA_SUCCESS) return GPU_NO_ADDRESSES;
    if (!map_more(device, at + region->bytes, more)) {
        if (region->at == nullptr) device->call.cuMemAddressFree_at(at, wanted);
        return GPU_NO_MEMORY;
    }
    region->at = (char *)at;
    region->bytes += more;
    region->reserved = wanted;
    return 0;
}

void gpu_free(gpu_device *device, gpu_region *region)
{
    if (region->at != nullptr) {
        cudaSetDevice(device->index);
        device->call.cuMemUnmap_at((CUdeviceptr)region->at, region->bytes);
        device->call.cuMemAddressFree_at((CUdeviceptr)region->at, region->reserved);
    }
    *region = {};
}

void *gpu_pinned(gpu_device *device, size_t bytes)
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

int gpu_queue_open(gpu_queue **out, gpu_device *device, char why[GPU_TEXT])
{
    gpu_queue *queue = *out = (gpu_queue *)calloc(1, sizeof *queue);
    why[0] = '\0';
    if (queue == nullptr) {
        snprintf(why, GPU_TEXT, "out of memory");
        return -1;
    }
    queue->device = device;
    if (told(why, "the GPU", cudaSetDevice(device->index)) == 0 &&
        told(why, "a stream", cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking)) == 0 &&
        told(why, "cuBLASLt", cublasLtCreate(&queue->products)) == 0)
        return 0;
    gpu_queue_close(queue);
    *out = nullptr;
    return -1;
}

void gpu_queue_close(gpu_queue *queue)
{
    if (queue == nullptr) return;
    cudaSetDevice(queue->device->index);
    if (queue->stream != nullptr) {
        cudaStreamSynchronize(queue->stream);
        cudaStreamDestroy(queue->stream);
    }
    if (queue->products != nullptr) cublasLtDestroy(queue->products);
    cudaFree(queue->work);
    free(queue);
}

/* Work wants the stream's device to be the current one. */
static cudaStream_t stream_of(const gpu_queue *queue)
{
    cudaSetDevice(queue->device->index);
    return queue->stream;
}

cudaStream_t gpu_launch_on(gpu_queue *queue)
{
    queue->launches++;
    return stream_of(queue);
}

/* A launch that was refused has left the thread's last error, which belongs to no queue. */
void gpu_launched(gpu_queue *queue)
{
    told(queue->why, "a kernel's launch", cudaGetLastError());
}

uint64_t gpu_launches(const gpu_queue *queue)
{
    return queue->launches;
}

static void copy(gpu_queue *queue, void *to, const void *from, size_t bytes, cudaMemcpyKind kind, const char *what)
{
    if (bytes > 0) told(queue->why, what, cudaMemcpyAsync(to, from, bytes, kind, stream_of(queue)));
}

void gpu_down(gpu_queue *queue, void *to, const void *from, size_t bytes)
{
    copy(queue, to, from, bytes, cudaMemcpyHostToDevice, "a copy to the GPU");
}

void gpu_up(gpu_queue *queue, void *to, const void *from, size_t bytes)
{
    copy(queue, to, from, bytes, cudaMemcpyDeviceToHost, "a copy from the GPU");
}

/* --- records ------------------------------------------------------------------------------------------------------ */

struct gpu_graph {
    gpu_device *device;
    cudaGraphExec_t work;
};

/* Other threads may allocate and free meanwhile: the mode is this thread's. */
int gpu_record(gpu_queue *queue, char why[GPU_TEXT])
{
    why[0] = '\0';
    if (queue->why[0] != '\0') snprintf(why, GPU_TEXT, "%s", queue->why);
    return why[0] != '\0' ? -1
                           : told(why, "recording", cudaStreamBeginCapture(stream_of(queue), cudaStreamCaptureModeThreadLocal));
}

/* A failure while work was recorded is the record's, not the queue's. */
gpu_graph *gpu_recorded(gpu_queue *queue, char why[GPU_TEXT])
{
    cudaGraph_t recorded = nullptr;
    gpu_graph *graph = (gpu_graph *)calloc(1, sizeof *graph);
    told(queue->why, "recording", cudaStreamEndCapture(queue->stream, &recorded));
    if (queue->why[0] == '\0' && graph != nullptr)
        told(queue->why, "a record", cudaGraphInstantiate(&graph->work, recorded, 0));
    if (recorded != nullptr) cudaGraphDestroy(recorded);
    if (graph != nullptr) graph->device = queue->device;
    snprintf(why, GPU_TEXT, "%s", queue->why[0] != '\0' ? queue->why : "out of memory");
    const bool made = graph != nullptr && queue->why[0] == '\0';
    queue->why[0] = '\0';
    if (made) return graph;
    free(graph);
    return nullptr;
}

void gpu_replay(gpu_queue *queue, gpu_graph *graph)
{
    told(queue->why, "a record", cudaGraphLaunch(graph->work, stream_of(queue)));
}

void gpu_graph_free(gpu_graph *graph)
{
    if (graph == nullptr) return;
    cudaSetDevice(graph->device->index);
    cudaGraphExecDestroy(graph->work);
    free(graph);
}

static int give_failure(const gpu_queue *queue, char why[GPU_TEXT])
{
    if (queue->why[0] == '\0') return 0;
    memcpy(why, queue->why, sizeof queue->why);
    return -1;
}

int gpu_wait(gpu_queue *queue, char why[GPU_TEXT])
{
    told(queue->why, "the GPU's work", cudaStreamSynchronize(stream_of(queue)));
    const int status = give_failure(queue, why);
    queue->why[0] = '\0'; /* what does not pass comes again */
    return status;
}

/* --- marks -------------------------------------------------------------------------------------------------------- */

struct gpu_mark {
    gpu_queue *queue; /* that it was set in */
    cudaEvent_t event;
};

int gpu_mark_open(gpu_mark **out, gpu_device *device, char why[GPU_TEXT])
{
    gpu_mark *mark = *out = (gpu_mark *)calloc(1, sizeof *mark);
    why[0] = '\0';
    if (mark == nullptr) {
        snprintf(why, GPU_TEXT, "out of memory");
        return -1;
    }
    if (told(why, "the GPU", cudaSetDevice(device->index)) == 0 &&
        told(why, "an event", cudaEventCreateWithFlags(&mark->event, cudaEventDisableTiming)) == 0)
        return 0;
    free(mark);
    *out = nullptr;
    return -1;
}

void gpu_mark_close(gpu_mark *mark)
{
    if (mark == nullptr) return;
    cudaEventDestroy(mark->event);
    free(mark);
}

void gpu_mark_set(gpu_queue *queue, gpu_mark *mark)
{
    mark->queue = queue;
    told(queue->why, "an event", cudaEventRecord(mark->event, stream_of(queue)));
}

/* A failure stays: what stands behind other marks comes of it too. */
int gpu_mark_wait(gpu_mark *mark, char why[GPU_TEXT])
{
    gpu_queue *queue = mark->queue;
    if (queue == nullptr) return 0;
    told(queue->why, "the GPU's work", cudaEventSynchronize(mark->event));
    return give_failure(queue, why);
}

void gpu_follow(gpu_queue *queue, gpu_mark *mark)
{
    if (mark->queue == nullptr) return;
    if (mark->queue->why[0] != '\0') tell(queue->why, "work ahead", mark->queue->why);
    told(queue->why, "an event", cudaStreamWaitEvent(stream_of(queue), mark->event, cudaEventWaitDefault));
}

/* Predicted, not seen: the launches of a step of six layers take about 0.1 ms, the engine 0.1 to 0.15 us a row. */
int32_t gpu_group_rows(const gpu_device *)
{
    return 512;
}

/* --- products ----------------------------------------------------------------------------------------------------- */

/* cuBLAS thinks in columns: c^T [n, rows] = w [n, k] a^T, where w as it lies is a k x n matrix by columns, and a^T is a k x rows one.
 *
 * One algorithm serves every number of rows, and none that cuts K, nor one that wants working memory, which is where partial sums of
 * several blocks would meet: then an element's sum has one order, whatever the number of rows is. Where a matrix is `fast`, cuBLASLt
 * may do all that, and is asked anew for each number of rows; it remembers what it said. */
enum { CANDIDATES = 32, TYPICAL_ROWS = 256, MOST_ROWS = 1 << 16 };
static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(gpu_matrix::way), "an algorithm is kept in a matrix");

struct shape {
    cublasLtMatmulDescOpaque_t product;
    cublasLtMatrixLayoutOpaque_t w, a, add, c;
};

static cublasStatus_t shape_of(shape *s, const gpu_product *p)
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

/* So many rows of a matrix, `gap` floats or so between them. */
static gpu_product typical(const gpu_matrix *m, int32_t rows, int32_t gap)
{
    const int32_t ldc = (m->n + 3) / 4 * 4 + gap;
    return {m, rows, nullptr, (m->k + 15) / 16 * 16 + 2 * gap, nullptr, ldc, nullptr, ldc};
}

/* What candidates may count on (gpu.h says it to callers) and may not do. */
static cublasStatus_t preference_of(cublasLtMatmulPreferenceOpaque_t *preference, const gpu_matrix *m, uint64_t workspace)
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

static bool serves_rows(cublasLtHandle_t handle, const gpu_matrix *m, const cublasLtMatmulAlgo_t *way, int32_t rows)
{
    const cublasStatus_t good = CUBLAS_STATUS_SUCCESS;
    cublasLtMatmulHeuristicResult_t result = {};
    for (int32_t gap = 0; gap <= 8; gap += 8) {
        shape s;
        const gpu_product product = typical(m, rows, gap);
        if (shape_of(&s, &product) != good ||
            cublasLtMatmulAlgoCheck(handle, &s.product, &s.w, &s.a, &s.add, &s.c, way, &result) != good ||
            result.state != good || result.workspaceSize > 0)
            return false;
    }
    return true;
}

/* Does it serve all numbers of rows, without cutting K? */
static bool serves(cublasLtHandle_t handle, const gpu_matrix *m, const cublasLtMatmulAlgo_t *way)
{
    int32_t parts = 0;
    size_t written = 0;
    if (cublasLtMatmulAlgoConfigGetAttribute(way, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof parts, &written) !=
            CUBLAS_STATUS_SUCCESS ||
        parts > 1)
        return false;
    for (int32_t rows = 1; rows <= MOST_ROWS; rows *= 2)
        for (int32_t by = -1; by <= 1; by++)
            if (rows + by > 0 && !serves_rows(handle, m, way, rows + by)) return false;
    return true;
}

static int choose(cublasLtHandle_t handle, gpu_matrix *matrix, char why[GPU_TEXT])
{
    shape s;
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasLtMatmulHeuristicResult_t candidate[CANDIDATES];
    int found = 0;
    const gpu_product product = typical(matrix, TYPICAL_ROWS, 0);
    if (told(why, "cuBLASLt", shape_of(&s, &product)) != 0 ||
        told(why, "cuBLASLt", preference_of(&preference, matrix, 0)) != 0 ||
        told(why, "cuBLASLt",
             cublasLtMatmulAlgoGetHeuristic(handle, &s.product, &s.w, &s.a, &s.add, &s.c, &preference, CANDIDATES,
                                            candidate, &found)) != 0)
        return -1;
    for (int i = 0; i < found; i++)
        if (candidate[i].state == CUBLAS_STATUS_SUCCESS && serves(handle, matrix, &candidate[i].algo)) {
            memcpy(matrix->way, &candidate[i].algo, sizeof matrix->way);
            return 0;
        }
    snprintf(why, GPU_TEXT, "cuBLASLt: of %d algorithms for %d x %d weights none serves all numbers of rows", found,
             (int)matrix->n, (int)matrix->k);
    return -1;
}

int gpu_matrix_choose(gpu_device *device, gpu_matrix *matrix, char why[GPU_TEXT])
{
    why[0] = '\0';
    if (matrix->fast) return 0;
    if (told(why, "the GPU", cudaSetDevice(device->index)) != 0) return -1;
    pthread_mutex_lock(&device->lock);
    const int status = choose(device->products, matrix, why);
    pthread_mutex_unlock(&device->lock);
    return status;
}

int gpu_queue_fast(gpu_queue *queue)
{
    if (queue->work != nullptr) return 0;
    if (cudaSetDevice(queue->device->index) == cudaSuccess && cudaMalloc(&queue->work, GPU_FAST_WORK) == cudaSuccess) return 0;
    cudaGetLastError();
    return -1;
}

static size_t work_bytes(const gpu_queue *queue)
{
    return queue->work != nullptr ? GPU_FAST_WORK : 0;
}

/* The fastest way for this number of rows. */
static int choose_fast(gpu_queue *queue, const gpu_matrix *m, shape *s, cublasLtMatmulAlgo_t *way)
{
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasLtMatmulHeuristicResult_t best;
    int found = 0;
    if (told(queue->why, "cuBLASLt", preference_of(&preference, m, work_bytes(queue))) != 0 ||
        told(queue->why, "cuBLASLt",
             cublasLtMatmulAlgoGetHeuristic(queue->products, &s->product, &s->w, &s->a, &s->add, &s->c, &preference, 1, &best,
                                            &found)) != 0)
        return -1;
    if (found == 0 || best.state != CUBLAS_STATUS_SUCCESS) return told(queue->why, "cuBLASLt", CUBLAS_STATUS_NOT_SUPPORTED);
    *way = best.algo;
    return 0;
}

void gpu_run_product(gpu_queue *queue, const gpu_product *args)
{
    static const float one = 1.0f, zero = 0.0f;
    const gpu_matrix *m = args->matrix;
    gpu_product product = *args;
    shape s;
    cublasLtMatmulAlgo_t way;
    memcpy(&way, m->way, sizeof way);
    if (product.add == nullptr) {
        product.add = product.c;
        product.ld_add = product.ldc;
    }
    if (product.rows <= 0 || told(queue->why, "a product", shape_of(&s, &product)) != 0) return;
    const cudaStream_t stream = gpu_launch_on(queue);
    if (m->fast && choose_fast(queue, m, &s, &way) != 0) return;
    told(queue->why, "a product",
         cublasLtMatmul(queue->products, &s.product, &one, m->w, &s.w, product.a, &s.a,
                        args->add != nullptr ? &one : &zero, product.add, &s.add, product.c, &s.c, &way,
                        m->fast ? queue->work : nullptr, m->fast ? work_bytes(queue) : 0, stream));
}
