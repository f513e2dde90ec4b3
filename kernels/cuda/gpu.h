/* GPU interface of the executor: memory, streams, GEMM. Plain C. Tests implement it on the host with the same kernels.
 *
 * Enqueued work runs in order. gpu_stream_sync() waits for it and reports failures; until then the caller keeps its memory.
 * Threads: one at a time per stream; devices are shared. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpu_device gpu_device;
typedef struct gpu_stream gpu_stream;

enum { GPU_ERROR_BYTES = 160 }; /* bytes of an error message */

/* Open GPU number `index`, from 0 on. Returns 0, or -1 with a reason: no such GPU, or unusable. */
int gpu_open(gpu_device **out, int index, char why[GPU_ERROR_BYTES]);
void gpu_close(gpu_device *device); /* closing NULL does nothing */

/* Why GPU number `index` does not exist: CUDA numbers the GPUs that CUDA_VISIBLE_DEVICES leaves, from 0 on. For gpu_open(). */
static inline void gpu_say_missing(int index, int count, char why[GPU_ERROR_BYTES])
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible == NULL)
        snprintf(why, GPU_ERROR_BYTES, "GPU %d does not exist: the machine has %d", index, count);
    else
        snprintf(why, GPU_ERROR_BYTES, "GPU %d does not exist: CUDA_VISIBLE_DEVICES=%.40s leaves %d, numbered from 0",
                 index, visible, count);
}
/* The GPU's product name. */
const char *gpu_name(const gpu_device *device);

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Device memory that grows in place: its address never changes. A zero-initialised region is empty. */
typedef struct gpu_region {
    char *base;
    size_t bytes; /* bytes of mapped memory, which may be used */
    /* bytes of reserved addresses; before the first growth, the bytes to reserve, 0: all device memory */
    size_t reserved;
    void *impl; /* data of the implementation: gpu.cu, or the tests' host version */
} gpu_region;

/* Memory of the device in bytes. A region allocates whole granules, so up to one granule more than requested. */
size_t gpu_memory_bytes(const gpu_device *device);
size_t gpu_granule_bytes(const gpu_device *device);
/* Return the bytes of device memory that are free now. */
size_t gpu_free_bytes(const gpu_device *device);

/* Grow a region to at least `bytes`, keeping contents. Returns 0, or what ran out, with nothing changed. GPU_NO_MEMORY is also returned if
 * the region's addresses run out. */
enum { GPU_NO_MEMORY = -1, GPU_NO_ADDRESSES = -2 };
int gpu_grow(gpu_device *device, gpu_region *region, size_t bytes);
void gpu_free(gpu_device *device, gpu_region *region);

/* Page-locked host memory for asynchronous copies; NULL: out of memory. */
void *gpu_pinned_alloc(gpu_device *device, size_t bytes);
void gpu_pinned_free(gpu_device *device, void *memory); /* freeing NULL does nothing */

/* --- streams and copies ------------------------------------------------------------------------------------------- */

/* Open or close a CUDA stream. Returns 0, or -1 with a reason. */
int gpu_stream_open(gpu_stream **out, gpu_device *device, char why[GPU_ERROR_BYTES]);
void gpu_stream_close(gpu_stream *cu_stream); /* closing NULL does nothing; waits for the stream */

/* Copy from pinned host memory to device memory, and back. */
void gpu_copy_to_device(gpu_stream *cu_stream, void *to, const void *from, size_t bytes);
void gpu_copy_to_host(gpu_stream *cu_stream, void *to, const void *from, size_t bytes);

/* Stream capture: work enqueued from here on is recorded, not executed. gpu_capture_end() returns the graph, for replay in this stream. On
 * failure the functions return -1 or NULL with a reason, and the stream is as before. */
int gpu_capture_begin(gpu_stream *cu_stream, char why[GPU_ERROR_BYTES]);
typedef struct gpu_graph_exec gpu_graph_exec;
gpu_graph_exec *gpu_capture_end(gpu_stream *cu_stream, char why[GPU_ERROR_BYTES]);
void gpu_graph_launch(gpu_stream *cu_stream, gpu_graph_exec *exec);
void gpu_graph_exec_free(gpu_graph_exec *exec); /* freeing NULL does nothing; no replay may be in progress */

/* Wait until the stream is idle. Returns 0, or -1 with a reason: some work failed, and later work may not have run. An unusable GPU fails
 * every later call. */
int gpu_stream_sync(gpu_stream *cu_stream, char why[GPU_ERROR_BYTES]);

/* A CUDA event: the stream's position at the last gpu_event_record(). Complete if never recorded. Close events after the streams that use
 * them. */
typedef struct gpu_event gpu_event;
int gpu_event_open(gpu_event **out, gpu_device *device, char why[GPU_ERROR_BYTES]); /* returns 0, or -1 with a reason */
void gpu_event_close(gpu_event *event);                                             /* closing NULL does nothing */
void gpu_event_record(gpu_stream *cu_stream, gpu_event *event);
/* Wait for the work before the event. Returns 0, or -1 with a reason; the stream keeps the failure for later calls. */
int gpu_event_sync(gpu_event *event, char why[GPU_ERROR_BYTES]);
/* Make later work in this stream wait for another stream's event. If the work before the event failed, so does the later work. */
void gpu_stream_wait_event(gpu_stream *cu_stream, gpu_event *event);

/* Number of rows from which the GPU takes longer than the host between two runs. Larger batches become two micro-batches, to overlap host
 * and GPU. */
int32_t gpu_group_rows(const gpu_device *device);

/* Number of kernels and GEMMs enqueued so far; those of a graph count once, when captured. */
uint64_t gpu_launch_count(const gpu_stream *cu_stream);

/* --- matrix products ---------------------------------------------------------------------------------------------- */

typedef enum gpu_type { GPU_F32, GPU_BF16, GPU_F16 } gpu_type;

static inline size_t gpu_type_bytes(gpu_type type)
{
    return type == GPU_F32 ? 4 : 2;
}

/* n x k weights in device memory, row-major, contiguous. Each range of row counts has a GEMM algorithm, all with one order of sums.
 * `fast`: the fastest algorithm per row count. */
enum { GPU_ROW_RANGES = 3 };
typedef struct gpu_matrix {
    const void *w;
    gpu_type type;
    int32_t n, k;
    const float *bias; /* [n] bias, or NULL */
    int32_t relu, fast;
    uint64_t algo[GPU_ROW_RANGES][8]; /* the algorithms in cuBLASLt's form; matrices of one shape can share them */
    int32_t algo_id[GPU_ROW_RANGES];  /* cuBLASLt's ids of the algorithms' kernel families; 0: rill's own kernel */
} gpu_matrix;

/* Choose the algorithms; w and bias must be set. Returns 0, or -1 with a reason. */
int gpu_matrix_choose_algo(gpu_device *device, gpu_matrix *matrix, char why[GPU_ERROR_BYTES]);

/* GEMM: c [rows, n] = relu((bias + add) + a w^T), summed in fp32 in unspecified order. a [rows, k] has the matrix's type. ld: row stride
 * in elements. w, and the rows of a, add and c, are 16-byte aligned. */
typedef struct gpu_product {
    const gpu_matrix *matrix; /* copied when launched */
    int32_t rows;
    const void *a;
    int32_t lda;
    const float *add; /* NULL: none; may be c, with the same ld */
    int32_t ld_add;
    float *c;
    int32_t ldc;
} gpu_product;
void gpu_run_product(gpu_stream *cu_stream, const gpu_product *args);

/* Allocate the stream's workspace of GPU_FAST_WORK bytes for GEMMs with `fast`. Not during capture. Returns 0, or -1: out
 * of memory. */
enum { GPU_FAST_WORK = 32 << 20 };
int gpu_stream_reserve_fast(gpu_stream *cu_stream);

#ifdef __cplusplus
}
#endif
