/* The module: a GPU as a device, and what a plan has on it.
 *
 * Weights go down while the plan is built, one behind the other into memory that does not move; a plan is not written after it is
 * finished. Divisions: failures · the device · weights · the table. */
#include "executor.h"
#include "halves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGING = 4 << 20, ALIGNED = 256 }; /* bytes of host memory that weights go through; of where they begin */

/* --- failures ----------------------------------------------------------------------------------------------------- */

rill_status cuda_fail(rill_context *ctx, const char *what, const char *why)
{
    return rill_fail(ctx, RILL_ERR_DEVICE, "device: %s: %s", what, why);
}

static const char *none_left(int failure)
{
    return failure == GPU_NO_ADDRESSES ? "the process has no addresses left for the device's memory: use fewer workers"
                                       : "the device has no memory left";
}

rill_status cuda_grow_region(const rill_stream *s, gpu_region *region, size_t bytes, const char *what)
{
    const int failure = gpu_grow(((const cuda_stream *)s->own)->gpu, region, bytes);
    return failure == 0 ? RILL_OK
                        : rill_fail(s->ctx, RILL_ERR_MEMORY, "%s: %zu bytes for %s", none_left(failure), bytes, what);
}

/* --- the device --------------------------------------------------------------------------------------------------- */

/* The number behind the colon; 0 without one, -1 for what is none. */
static int number_of(const char *name)
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
    const int number = number_of(name), word = (int)strcspn(name, ":");
    gpu_device *gpu;
    char why[GPU_TEXT];
    if (number < 0)
        return rill_fail(ctx, RILL_ERR_OPTION, "device: expected %.*s or %.*s:NUMBER, found \"%s\"", word, name, word,
                         name, name);
    if (gpu_open(&gpu, number, why) != 0) return rill_fail(ctx, RILL_ERR_OPTION, "device: %s: %s", name, why);
    device->own = gpu;
    snprintf(device->name, sizeof device->name, "%.*s:%d, %s", word, name, number, gpu_name(gpu));
    return RILL_OK;
}

static void close_device(rill_device *device)
{
    gpu_close(device->own);
}

static int32_t group_rows(const rill_device *device)
{
    return gpu_group_rows(device->own);
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

static gpu_device *gpu_of(const rill_plan *plan)
{
    return plan->device->own;
}

static cuda_plan *open_plan(rill_plan *plan)
{
    char why[GPU_TEXT];
    cuda_plan *own = plan->own;
    if (own != NULL) return own;
    own = plan->own = rill_calloc(plan->ctx, 1, sizeof *own);
    if (own == NULL) {
        dev_plan_fail(plan, RILL_ERR_MEMORY, "no memory for a plan");
        return NULL;
    }
    own->staging = gpu_pinned(gpu_of(plan), STAGING);
    if (own->staging == NULL)
        dev_plan_fail(plan, RILL_ERR_MEMORY, "no memory for a plan");
    else if (gpu_queue_open(&own->queue, gpu_of(plan), why) != 0)
        dev_plan_fail(plan, RILL_ERR_DEVICE, "device: %s", why);
    return plan->status == RILL_OK ? own : NULL;
}

/* What weights go through is of no use when they are down. */
static void close_queue(rill_plan *plan, cuda_plan *own)
{
    gpu_queue_close(own->queue);
    gpu_pinned_free(gpu_of(plan), own->staging);
    own->queue = NULL;
    own->staging = NULL;
}

static void close_plan(rill_plan *plan)
{
    cuda_plan *own = plan->own;
    if (own == NULL) return;
    close_queue(plan, own);
    cuda_fused_free(plan);
    gpu_free(gpu_of(plan), &own->memory);
    rill_free(plan->ctx, own->matrix, own->matrix_room * sizeof *own->matrix);
    rill_free(plan->ctx, (void *)own->constant, own->constant_room * sizeof *own->constant);
    rill_free(plan->ctx, own, sizeof *own);
    plan->own = NULL;
}

/* Where `bytes` more of the plan's memory begin; NULL: the plan has failed. */
static char *more_memory(rill_plan *plan, cuda_plan *own, size_t bytes)
{
    const size_t at = (own->used + ALIGNED - 1) / ALIGNED * ALIGNED;
    const int failure = gpu_grow(gpu_of(plan), &own->memory, at + bytes);
    if (failure != 0) {
        dev_plan_fail(plan, RILL_ERR_MEMORY, "%s: %zu bytes for weights", none_left(failure), bytes);
        return NULL;
    }
    own->used = at + bytes;
    return own->memory.at + at;
}

static int wait_for(rill_plan *plan, cuda_plan *own)
{
    char why[GPU_TEXT];
    own->staged = 0;
    if (gpu_wait(own->queue, why) == 0) return 1;
    dev_plan_fail(plan, RILL_ERR_DEVICE, "device: %s", why);
    return 0;
}

/* Rows of floats, `stride` apart, to the device without gaps and as `type`. Returns where they are, or NULL. */
static void *put(rill_plan *plan, const float *rows, size_t n, size_t width, size_t stride, gpu_type type)
{
    cuda_plan *own = open_plan(plan);
    const size_t each = gpu_type_bytes(type);
    char *to = own != NULL ? more_memory(plan, own, n * width * each) : NULL;
    for (size_t r = 0; to != NULL && r < n; r++)
        for (size_t from = 0, part; from < width; from += part) {
            part = (STAGING - own->staged) / each;
            if (part == 0 && !wait_for(plan, own)) return NULL;
            if (part == 0) continue;
            if (part > width - from) part = width - from;
            char *staged = own->staging + own->staged;
            const float *row = rows + r * stride + from;
            if (type == GPU_F32) memcpy(staged, row, part * each);
            for (size_t i = 0; type != GPU_F32 && i < part; i++)
                ((uint16_t *)(void *)staged)[i] = gpu_rounded_bits(row[i], type);
            gpu_down(own->queue, to + (r * width + from) * each, staged, part * each);
            own->staged += part * each;
        }
    return to != NULL && wait_for(plan, own) ? to : NULL;
}

/* What the device has no arithmetic for, or what f16 cannot hold: a model that is cut off is another. */
static int check_weights(rill_plan *plan, rill_weight_type type, const float *w, size_t n, size_t k, size_t stride)
{
    if (type == RILL_WEIGHT_INT8)
        dev_plan_fail(plan, RILL_ERR_OPTION, "%s multiplies weights in f32, bf16 and f16, not in int8",
                      plan->device->name);
    for (size_t i = 0; type == RILL_WEIGHT_F16 && i < n * k; i++) {
        const float x = w[i / k * stride + i % k];
        if (isfinite(x) && fabsf(x) > GPU_F16_MOST)
            dev_plan_fail(plan, RILL_ERR_OPTION, "weights: f16 holds numbers up to %g, and %g is one of the model's",
                          (double)GPU_F16_MOST, (double)x);
    }
    return plan->status == RILL_OK;
}

static void put_matrix(rill_plan *plan, size_t at, const float *w, size_t stride)
{
    const dev_matrix *matrix = &plan->matrix[at];
    if (!check_weights(plan, matrix->type, w, matrix->w.n, matrix->w.k, stride)) return;
    gpu_matrix m = {.type = cuda_type_of(matrix->type), .n = (int32_t)matrix->w.n, .k = (int32_t)matrix->w.k};
    m.w = put(plan, w, matrix->w.n, matrix->w.k, stride, m.type);
    if (m.w == NULL) return;
    cuda_plan *own = plan->own;
    if (rill_grow(plan->ctx, (void **)&own->matrix, &own->matrix_room, at + 1, sizeof m, "a plan") != RILL_OK)
        dev_plan_fail(plan, RILL_ERR_MEMORY, "no memory for a plan");
    else
        own->matrix[at] = m;
}

/* What a program writes must not decide where it reads: the host knows that before it begins. */
static void check_program(rill_plan *plan, const dev_program *p)
{
    for (size_t i = 0; i < p->ops; i++) {
        const dev_op *op = &p->op[i];
        const int32_t depth = op->kind == DEV_PATH ? p->path[op->path].depth : DEV_NO_INDEX;
        const int slots = op->kind != DEV_EMBED && cuda_is_written(p, op->slot);
        if (!slots && !cuda_is_written(p, depth)) continue;
        dev_plan_fail(plan, RILL_ERR_OPTION,
                      "program %s, operation %zu (%s): %s takes slots and depths from the host, not from "
                      "a column that the program writes",
                      p->name, i + 1, op->name, plan->device->name);
        return;
    }
}

static void put_constants(rill_plan *plan, cuda_plan *own)
{
    if (rill_grow(plan->ctx, (void **)&own->constant, &own->constant_room, plan->constants, sizeof *own->constant,
                  "a plan") != RILL_OK)
        dev_plan_fail(plan, RILL_ERR_MEMORY, "no memory for a plan");
    for (size_t i = 0; i < plan->constants && plan->status == RILL_OK; i++) {
        const dev_constant *c = &plan->constant[i];
        own->constant[i] = put(plan, c->data, c->rows, c->width, c->width, GPU_F32);
    }
}

static rill_status finish(rill_plan *plan)
{
    cuda_plan *own = open_plan(plan);
    if (own != NULL) put_constants(plan, own);
    for (size_t i = 0; i < plan->lists; i++) {
        const dev_constant *c = plan->list[i].rows != 0 ? &plan->constant[plan->list[i].rows - 1] : NULL;
        if (c != NULL) check_weights(plan, plan->list[i].type, c->data, c->rows, c->width, c->width);
    }
    for (size_t i = 0; i < plan->programs && plan->status == RILL_OK; i++) check_program(plan, &plan->program[i]);
    if (plan->status == RILL_OK) cuda_fuse(plan);
    if (own != NULL) close_queue(plan, own);
    return plan->status == RILL_OK ? RILL_OK : rill_fail(plan->ctx, plan->status, "%s", plan->message);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static const dev_module table = {.sizes = DEV_MODULE_SIZES,
                                 .open = open_device,
                                 .close = close_device,
                                 .matrix = put_matrix,
                                 .finish = finish,
                                 .plan_close = close_plan,
                                 .add_sizes = cuda_add_sizes,
                                 .stream_open = cuda_stream_open,
                                 .stream_close = cuda_stream_close,
                                 .grow = cuda_grow,
                                 .write = cuda_write,
                                 .read = cuda_read,
                                 .list = cuda_list,
                                 .run = cuda_run_program,
                                 .collect = cuda_collect,
                                 .group_rows = group_rows};

/* What kernels/device/device.c asks the module for. */
__attribute__((visibility("default"))) const dev_module *rill_device_module(void);

const dev_module *rill_device_module(void)
{
    return &table;
}
