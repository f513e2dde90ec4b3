/* The CUDA module: a GPU as a device, and a network's weights on it.
 *
 * Weights are uploaded while the network is built, and do not move. A finished network is const. */
#include "device_abi.h"
#include "executor.h"
#include "half.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGING = 4 << 20, ALIGNED = 256 }; /* bytes of the upload buffer; alignment of weights */

/* --- reporting failures ------------------------------------------------------------------------------------------- */

rill_status cuda_fail(rill_context *ctx, const char *what, const char *why)
{
    return rill_fail(ctx, RILL_ERR_DEVICE, "device: %s: %s", what, why);
}

static const char *memory_error(int failure)
{
    return failure == GPU_NO_ADDRESSES ? "the process has no virtual addresses left for the device's memory: use "
                                         "fewer workers"
                                       : "the device is out of memory";
}

rill_status cuda_grow_region(const rill_session *s, gpu_region *region, size_t bytes, const char *what)
{
    const int failure = gpu_grow(((const cuda_session *)s->data)->gpu, region, bytes);
    return failure == 0
               ? RILL_OK
               : rill_fail(s->ctx, RILL_ERR_MEMORY, "%s: %zu bytes for %s", memory_error(failure), bytes, what);
}

/* --- opening the GPU ---------------------------------------------------------------------------------------------- */

/* GPU number in a device name, after the colon; 0 without a colon, -1 if invalid. */
static int device_number(const char *name)
{
    const char *colon = strchr(name, ':');
    char *end;
    if (colon == NULL) return 0;
    const long number = strtol(colon + 1, &end, 10);
    return colon[1] >= '0' && colon[1] <= '9' && *end == '\0' && number < 1000 ? (int)number : -1;
}

static rill_status open_device(rill_device *device, const char *name)
{
    rill_context *ctx = device->ctx;
    const int number = device_number(name), word = (int)strcspn(name, ":");
    gpu_device *gpu;
    char why[GPU_ERROR_BYTES];
    if (number < 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "device: expected %.*s or %.*s:NUMBER, found \"%s\"", word, name, word,
                         name, name);
    if (gpu_open(&gpu, number, why) != 0) return rill_fail(ctx, RILL_ERR_OPTION, "device: %s: %s", name, why);
    device->data = gpu;
    snprintf(device->name, sizeof device->name, "%.*s:%d, %s", word, name, number, gpu_name(gpu));
    return RILL_OK;
}

static void close_device(rill_device *device)
{
    gpu_close(device->data);
}

static int32_t group_rows(const rill_device *device)
{
    return gpu_group_rows(device->data);
}

static size_t free_bytes(const rill_device *device)
{
    return gpu_free_bytes(device->data);
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

static gpu_device *network_gpu(const rill_network *network)
{
    return network->device->data;
}

static cuda_network *open_cuda_network(rill_network *network)
{
    char why[GPU_ERROR_BYTES];
    cuda_network *cuda = network->data;
    if (cuda != NULL) return cuda;
    cuda = network->data = rill_calloc(network->ctx, 1, sizeof *cuda);
    if (cuda == NULL) {
        dev_network_fail(network, RILL_ERR_MEMORY, "out of memory: a network of the device");
        return NULL;
    }
    cuda->staging = gpu_pinned_alloc(network_gpu(network), STAGING);
    if (cuda->staging == NULL)
        dev_network_fail(network, RILL_ERR_MEMORY, "out of memory: a network of the device");
    else if (gpu_stream_open(&cuda->cu_stream, network_gpu(network), why) != 0)
        dev_network_fail(network, RILL_ERR_DEVICE, "device: %s", why);
    return network->status == RILL_OK ? cuda : NULL;
}

/* Free the stream and the staging buffer, which are not needed after the upload. */
static void close_upload(rill_network *network, cuda_network *cuda)
{
    gpu_stream_close(cuda->cu_stream);
    gpu_pinned_free(network_gpu(network), cuda->staging);
    cuda->cu_stream = NULL;
    cuda->staging = NULL;
}

static void close_cuda_network(rill_network *network)
{
    cuda_network *cuda = network->data;
    if (cuda == NULL) return;
    close_upload(network, cuda);
    cuda_fused_free(network);
    gpu_free(network_gpu(network), &cuda->memory);
    rill_free(network->ctx, cuda->matrix, cuda->matrix_capacity * sizeof *cuda->matrix);
    rill_free(network->ctx, (void *)cuda->constant, cuda->constant_capacity * sizeof *cuda->constant);
    rill_free(network->ctx, cuda, sizeof *cuda);
    network->data = NULL;
}

/* Reserve `bytes` of the network's memory; NULL: the network has failed. */
static char *reserve_weights(rill_network *network, cuda_network *cuda, size_t bytes)
{
    const size_t offset = (cuda->used + ALIGNED - 1) / ALIGNED * ALIGNED;
    const int failure = gpu_grow(network_gpu(network), &cuda->memory, offset + bytes);
    if (failure != 0) {
        dev_network_fail(network, RILL_ERR_MEMORY, "%s: %zu bytes for weights", memory_error(failure), bytes);
        return NULL;
    }
    cuda->used = offset + bytes;
    return cuda->memory.base + offset;
}

static int sync_upload(rill_network *network, cuda_network *cuda)
{
    char why[GPU_ERROR_BYTES];
    cuda->staging_used = 0;
    if (gpu_stream_sync(cuda->cu_stream, why) == 0) return 1;
    dev_network_fail(network, RILL_ERR_DEVICE, "device: %s", why);
    return 0;
}

static size_t min_of_two(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Upload n rows of `width` floats, `stride` apart, then `zeros` zeros, as `type`, contiguously. Returns the device address; NULL: the
 * network has failed. */
static void *upload_rows(rill_network *network, const float *rows, size_t n, size_t width, size_t stride, size_t zeros,
                         gpu_type type)
{
    cuda_network *cuda = open_cuda_network(network);
    const size_t element_bytes = gpu_type_bytes(type), total = n * width + zeros;
    char *to = cuda != NULL ? reserve_weights(network, cuda, total * element_bytes) : NULL;
    for (size_t done = 0, n_part; to != NULL && done < total; done += n_part) {
        n_part = (STAGING - cuda->staging_used) / element_bytes;
        if (n_part == 0 && !sync_upload(network, cuda)) return NULL;
        n_part = min_of_two(n_part, min_of_two(width - done % width, total - done));
        char *staged = cuda->staging + cuda->staging_used;
        const float *row = done < n * width ? rows + done / width * stride + done % width : NULL;
        if (row == NULL)
            memset(staged, 0, n_part * element_bytes);
        else if (type == GPU_F32)
            memcpy(staged, row, n_part * element_bytes);
        else
            for (size_t i = 0; i < n_part; i++) ((uint16_t *)(void *)staged)[i] = gpu_round_bits(row[i], type);
        gpu_copy_to_device(cuda->cu_stream, to + done * element_bytes, staged, n_part * element_bytes);
        cuda->staging_used += n_part * element_bytes;
    }
    return to != NULL && sync_upload(network, cuda) ? to : NULL;
}

/* Refuse weights beyond f16's range: clipping them would change the model. */
static int check_weights(rill_network *network, rill_weight_type type, const float *w, size_t n, size_t k,
                         size_t stride)
{
    for (size_t i = 0; type == RILL_WEIGHT_F16 && i < n * k; i++) {
        const float x = w[i / k * stride + i % k];
        if (isfinite(x) && fabsf(x) > GPU_F16_MAX)
            dev_network_fail(network, RILL_ERR_OPTION,
                             "weights: f16 has numbers up to %g, and the model has %g: use bf16 or f32",
                             (double)GPU_F16_MAX, (double)x);
    }
    return network->status == RILL_OK;
}

/* Rows of zeros pad a matrix to a multiple of 8: cuBLASLt is several times slower with outputs of odd widths. */
static void upload_matrix(rill_network *network, size_t idx, const float *w, size_t stride)
{
    const dev_matrix *matrix = &network->matrix[idx];
    if (!check_weights(network, matrix->type, w, matrix->n, matrix->k, stride)) return;
    const size_t n = cuda_product_width(matrix->n), k = matrix->k;
    gpu_matrix m = {.type = cuda_gpu_type(matrix->type), .n = (int32_t)n, .k = (int32_t)k};
    m.w = upload_rows(network, w, matrix->n, k, stride, (n - matrix->n) * k, m.type);
    if (m.w == NULL) return;
    cuda_network *cuda = network->data;
    if (rill_grow(network->ctx, (void **)&cuda->matrix, &cuda->matrix_capacity, idx + 1, sizeof m, "a network") !=
        RILL_OK)
        dev_network_fail(network, RILL_ERR_MEMORY, "out of memory: a network of the device");
    else
        cuda->matrix[idx] = m;
}

/* Fail if a graph writes the column of its slots or path lengths: the host needs these before the run. */
static void check_graph(rill_network *network, const dev_graph *p)
{
    for (size_t i = 0; i < p->n_ops; i++) {
        const dev_op *op = &p->op[i];
        const int32_t depth = op->kind == RILL_OP_PATH ? p->path[op->path].depth : DEV_NO_INDEX;
        const int slots = op->kind != RILL_OP_EMBED && cuda_is_written(p, op->slot);
        if (!slots && !cuda_is_written(p, depth)) continue;
        dev_network_fail(network, RILL_ERR_OPTION,
                         "graph %s, operation %zu (%s): %s reads slots and depths from the host, not from a column "
                         "that the graph writes",
                         p->name, i + 1, op->name, network->device->name);
        return;
    }
}

static void upload_constants(rill_network *network, cuda_network *cuda)
{
    if (rill_grow(network->ctx, (void **)&cuda->constant, &cuda->constant_capacity, network->n_constants,
                  sizeof *cuda->constant, "a network") != RILL_OK)
        dev_network_fail(network, RILL_ERR_MEMORY, "out of memory: a network of the device");
    for (size_t i = 0; i < network->n_constants && network->status == RILL_OK; i++) {
        const dev_constant *c = &network->constant[i];
        /* the constant may be the bias of a padded matrix */
        const size_t zeros = cuda_product_width(c->width) - c->width;
        cuda->constant[i] = upload_rows(network, c->data, c->rows, c->width, c->width, zeros, GPU_F32);
    }
}

static void finish_cuda_network(rill_network *network)
{
    cuda_network *cuda = open_cuda_network(network);
    if (cuda != NULL) upload_constants(network, cuda);
    for (size_t i = 0; i < network->n_subsets; i++) {
        const dev_constant *c = network->subset[i].rows != 0 ? &network->constant[network->subset[i].rows - 1] : NULL;
        if (c != NULL) check_weights(network, network->subset[i].type, c->data, c->rows, c->width, c->width);
    }
    for (size_t i = 0; i < network->n_graphs && network->status == RILL_OK; i++)
        check_graph(network, &network->graph[i]);
    if (network->status == RILL_OK) cuda_fuse(network);
    if (cuda != NULL) close_upload(network, cuda);
}

/* --- table of the backend ----------------------------------------------------------------------------------------- */

static rill_status no_limits(const rill_session *session, rill_limits *out)
{
    (void)session;
    *out = (rill_limits){.bytes = 0};
    return RILL_OK;
}

static const dev_backend backend = {.abi = DEV_ABI,
                                    .open = open_device,
                                    .close = close_device,
                                    .group_rows = group_rows,
                                    .free_bytes = free_bytes,
                                    .weight_types = 1 << RILL_WEIGHT_F32 | 1 << RILL_WEIGHT_BF16 | 1 << RILL_WEIGHT_F16,
                                    .add_matrix = upload_matrix,
                                    .finish = finish_cuda_network,
                                    .network_close = close_cuda_network,
                                    .add_sizes = cuda_add_sizes,
                                    .session_open = cuda_session_open,
                                    .session_close = cuda_session_close,
                                    .grow = cuda_grow_table,
                                    .write = cuda_write_rows,
                                    .read = cuda_read_rows,
                                    .set_subset = cuda_set_subset,
                                    .run = cuda_run_program,
                                    .collect = cuda_collect,
                                    .limits = no_limits,
                                    .graph_runs = cuda_graph_runs};

/* The symbol that kernels/device/device.c looks up. */
__attribute__((visibility("default"))) const dev_backend *rill_device_module(void);

const dev_backend *rill_device_module(void)
{
    return &backend;
}
