/* gpu.h: what the executor asks of a GPU: memory, a queue of work, products. Plain C.
 *
 * gpu.cu implements it with the CUDA runtime and cuBLASLt; tests implement it on the host (tests/cuda/gpu_host.cc), with the same
 * kernels. Work that is put into a queue is done in order, some time before gpu_stream_sync() returns; memory that it names is kept until
 * then. Failures of work come out of gpu_stream_sync(). One thread at a time may use a queue; devices are shared. */
#ifndef RILL_CUDA_GPU_H
#define RILL_CUDA_GPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpu_device gpu_device;
typedef struct gpu_stream gpu_stream;

enum { GPU_ERROR_BYTES = 160 }; /* bytes of a text that says what is wrong */

/* The GPU number `index`, from 0 on. Returns 0, or -1 with why: there is none, or it cannot be used. */
int gpu_open(gpu_device **out, int index, char why[GPU_ERROR_BYTES]);
void gpu_close(gpu_device *device); /* NULL is allowed */
/* As its maker calls it. */
const char *gpu_name(const gpu_device *device);

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Device memory that grows where it is: its address, once it has one, stays. Zero-initialised it is empty. */
typedef struct gpu_region {
    char *base;
    size_t bytes; /* that may be used */
    size_t
        reserved; /* addresses; while it has none: for how many bytes it is to have some, 0: for all that the device has */
    void *impl; /* the implementation's */
} gpu_region;

/* Bytes that the device has; a region takes whole granules of them, up to one more than is asked for. */
size_t gpu_memory_bytes(const gpu_device *device);
size_t gpu_granule_bytes(const gpu_device *device);

/* At least `bytes`; what is there stays, what is new is not set. Returns 0, or what there is none of: then nothing has changed. More
 * than was reserved is more memory than there is. */
enum { GPU_NO_MEMORY = -1, GPU_NO_ADDRESSES = -2 };
int gpu_grow(gpu_device *device, gpu_region *region, size_t bytes);
void gpu_free(gpu_device *device, gpu_region *region);

/* Host memory that copies reach without the processor; NULL: there is none. */
void *gpu_pinned_alloc(gpu_device *device, size_t bytes);
void gpu_pinned_free(gpu_device *device, void *memory); /* NULL is allowed */

/* --- work --------------------------------------------------------------------------------------------------------- */

/* Returns 0, or -1 with why. */
int gpu_stream_open(gpu_stream **out, gpu_device *device, char why[GPU_ERROR_BYTES]);
void gpu_stream_close(gpu_stream *cu_stream); /* NULL is allowed; waits */

void gpu_copy_to_device(gpu_stream *cu_stream, void *to, const void *from,
                        size_t bytes); /* pinned host memory to the device's */
void gpu_copy_to_host(gpu_stream *cu_stream, void *to, const void *from,
                      size_t bytes); /* the device's memory to pinned */

/* From here on work is recorded, not done, until gpu_capture_end() gives the record of it; it is replayed as often as wanted, into the
 * queue that it was made with. Both fail with why, -1 and NULL: then the queue is as before, and nothing was done. */
int gpu_capture_begin(gpu_stream *cu_stream, char why[GPU_ERROR_BYTES]);
typedef struct gpu_graph_exec gpu_graph_exec;
gpu_graph_exec *gpu_capture_end(gpu_stream *cu_stream, char why[GPU_ERROR_BYTES]);
void gpu_graph_launch(gpu_stream *cu_stream, gpu_graph_exec *exec);
void gpu_graph_exec_free(gpu_graph_exec *exec); /* NULL is allowed; nothing of it waits in a queue */

/* All work is done. Returns 0, or -1 with why: work has failed, and what followed it may not have been done. A failure may be the
 * end of the GPU for this process; then it comes out of every later call too. */
int gpu_stream_sync(gpu_stream *cu_stream, char why[GPU_ERROR_BYTES]);

/* A place in a queue, behind what was put there before gpu_event_record(); setting it again moves it. A mark that was never set is reached.
 * Marks are closed after the queues that know of them. */
typedef struct gpu_event gpu_event;
int gpu_event_open(gpu_event **out, gpu_device *device, char why[GPU_ERROR_BYTES]); /* 0, or -1 with why */
void gpu_event_close(gpu_event *event);                                             /* NULL is allowed */
void gpu_event_record(gpu_stream *cu_stream, gpu_event *event);
int gpu_event_sync(
    gpu_event *event,
    char why[GPU_ERROR_BYTES]); /* as gpu_stream_sync(), for the work in front of the mark; a failure stays */
/* What is put into the queue from here on begins when another queue has come to where its mark stands now, and fails if that has. */
void gpu_stream_wait_event(gpu_stream *cu_stream, gpu_event *event);

/* From so many rows on a run takes a GPU longer than the host needs for what it does between two: then half of them are worth a run of
 * their own, beside which the host works on the other half. */
int32_t gpu_group_rows(const gpu_device *device);

/* Kernels and products that were put into the queue so far; those of a record count when it is made. */
uint64_t gpu_launch_count(const gpu_stream *cu_stream);

/* --- products ----------------------------------------------------------------------------------------------------- */

typedef enum gpu_type { GPU_F32, GPU_BF16, GPU_F16 } gpu_type;

static inline size_t gpu_type_bytes(gpu_type type)
{
    return type == GPU_F32 ? 4 : 2;
}

/* n x k weights as they lie on the device, row by row without gaps, and how they are multiplied with: chosen once, for all numbers
 * of rows, so that a row's bits are the same among any others. With `fast` it is chosen for each number of rows, as fast as it can be. */
typedef struct gpu_matrix {
    const void *w;
    gpu_type type;
    int32_t n, k;
    const float *bias; /* [n] or NULL */
    int32_t relu, fast;
    uint64_t algo[8]; /* the implementation's choice, by all but w and bias' place */
} gpu_matrix;

/* Choose the way. Returns 0, or -1 with why. */
int gpu_matrix_choose_algo(gpu_device *device, gpu_matrix *matrix, char why[GPU_ERROR_BYTES]);

/* c [rows, n] = relu((bias + add) + a w^T), in this order or another, sums in fp32; a [rows, k] of the matrix' type. `ld` numbers lie
 * from row to row. Rows of a and w's begin lie at multiples of 16 bytes, and where n is a multiple of 4 the rows of add and c, too. */
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

/* Products with `fast` may use so much device memory, which the queue has from here on. Nothing is recorded meanwhile. Returns 0, or -1:
 * there is no memory. */
enum { GPU_FAST_WORK = 32 << 20 };
int gpu_stream_reserve_fast(gpu_stream *cu_stream);

#ifdef __cplusplus
}
#endif

#endif
