/* Implements gpu.h by the CUDA runtime: devices, memory, streams, graphs, events. Products are in product.cu.
 *
 * Driver functions are looked up at run time, so the module loads without a driver. */
#include <stdlib.h>
#include <string.h>

#include "device.cuh"

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

/* A kernel that does nothing: init_device() looks it up to see whether this module contains code for the GPU. */
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
    int count = 0, driver_version = 0; /* 0: no driver is installed; CUDA's own message would call it insufficient */
    *out = nullptr;
    why[0] = '\0';
    if (cudaDriverGetVersion(&driver_version) == cudaSuccess && driver_version == 0) {
        snprintf(why, GPU_ERROR_BYTES, "no GPU can be used: no NVIDIA driver is installed");
        return -1;
    }
    const cudaError_t counted = cudaGetDeviceCount(&count);
    if (counted != cudaErrorNoDevice && check_error(why, "no GPU can be used", counted) != 0) return -1;
    if (index < 0 || index >= count) {
        cudaGetLastError();
        gpu_say_missing(index, count, why);
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

size_t gpu_free_bytes(const gpu_device *device)
{
    size_t available = 0, all = 0;
    if (cudaSetDevice(device->index) == cudaSuccess && cudaMemGetInfo(&available, &all) == cudaSuccess) return available;
    cudaGetLastError();
    return 0;
}

/* Map `bytes` of new device memory, a multiple of the granule, at an address. */
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
    call->cuMemRelease_at(slab); /* the memory stays alive while mapped */
    return mapped;
}

/* The first growth of a region reserves addresses for its maximum size; a process has 2^47 addresses. The region then never moves. */
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

/* --- streams and launches ----------------------------------------------------------------------------------------- */

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

/* The CUDA stream, after making its device the current one, as launches require. */
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

/* Keep the error of a launch that CUDA refused. CUDA reports it to the thread only; synchronising the stream does not. */
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

/* --- captured graphs ---------------------------------------------------------------------------------------------- */

struct gpu_graph_exec {
    gpu_device *device;
    cudaGraphExec_t work;
};

/* A capture has thread-local mode, so other threads may allocate and free memory meanwhile. */
int gpu_capture_begin(gpu_stream *cu_stream, char why[GPU_ERROR_BYTES])
{
    why[0] = '\0';
    if (cu_stream->why[0] != '\0') snprintf(why, GPU_ERROR_BYTES, "%s", cu_stream->why);
    return why[0] != '\0' ? -1
                           : check_error(why, "recording",
                                         cudaStreamBeginCapture(current_stream(cu_stream), cudaStreamCaptureModeThreadLocal));
}

/* A failure during capture is returned in `why` and cleared in the stream, which remains usable. */
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
    cu_stream->why[0] = '\0'; /* if the GPU is unusable, the next call fails too */
    return status;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

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

/* The stream keeps a failure, unlike in gpu_stream_sync(): later events of the stream depend on the failed work. */
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

/* An estimate from the host's time for the launches of a timestep and for the beam search per row. */
int32_t gpu_group_rows(const gpu_device *)
{
    return 512;
}
