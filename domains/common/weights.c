/* Tensors into tables and packed matrices; weights.h says which. */
#include "weights.h"

#include <string.h>

rill_status rill_weights_read(const rill_tensors *tensors, rill_blocks *blocks, const char *name, size_t rows,
                              size_t columns, float **out)
{
    const int64_t shape[2] = {(int64_t)rows, (int64_t)columns};
    const int rank = columns > 0 ? 2 : 1;
    size_t count = rows * (columns > 0 ? columns : 1);
    const rill_tensor *tensor = rill_tensors_find(tensors, name);
    if (tensor == NULL || tensor->end - tensor->begin < count)
        return rill_tensors_read(tensors, name, RILL_TENSOR_FLOATS, rank, shape, NULL);
    rill_status status = rill_blocks_get(blocks, out, count, sizeof **out, name);
    return status == RILL_OK ? rill_tensors_read(tensors, name, RILL_TENSOR_FLOATS, rank, shape, *out) : status;
}

rill_status rill_weights_pack(rill_dtype dtype, rill_blocks *blocks, const float *w, size_t n, size_t k, size_t stride,
                              rill_weights *out)
{
    const size_t bytes = rill_gemm_pack_size(n, k, dtype);
    const rill_weight_part part = {.w = w, .k = k, .stride_n = stride, .stride_k = 1};
    void *memory;
    if (bytes == 0) return rill_fail(blocks->ctx, RILL_ERR_FORMAT, "weights of %zu x %zu are too many", n, k);
    rill_status status = rill_blocks_get(blocks, &memory, bytes, 1, "packed weights");
    if (status != RILL_OK) return status;
    (void)rill_gemm_pack_f32(out, n, &part, 1, dtype, memory); /* fails only for what has no size */
    return RILL_OK;
}

rill_status rill_weights_kind(rill_context *ctx, const char *domain, const char *name, const rill_kernels *kernels,
                              rill_dtype *out)
{
    static const char *const names[] = {
        [RILL_DTYPE_F32] = "f32", [RILL_DTYPE_BF16] = "bf16", [RILL_DTYPE_U8S8] = "int8"};
    *out = kernels->f32;
    if (name == NULL || strcmp(name, names[RILL_DTYPE_F32]) == 0) return RILL_OK;
    for (int i = RILL_DTYPE_BF16; i <= RILL_DTYPE_U8S8; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (rill_dtype)i;
            return RILL_OK;
        }
    return rill_fail(ctx, RILL_ERR_OPTION, "%s: weights: expected f32, bf16 or int8, found \"%s\"", domain, name);
}
