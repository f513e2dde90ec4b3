/* Tensors into tables; weights.h says which. */
#include "weights.h"
#include "try.h"

#include <stdio.h>
#include <string.h>

rill_status rill_weights_read(const rill_tensors *tensors, rill_blocks *blocks, const char *name, size_t rows,
                              size_t columns, float **out)
{
    const int64_t shape[2] = {(int64_t)rows, (int64_t)columns};
    const int rank = columns > 0 ? 2 : 1;
    size_t count = rows * (columns > 0 ? columns : 1);
    const rill_tensor *tensor = rill_tensors_find(tensors, name);
    if (tensor == NULL || rill_weights_count(tensor) < count)
        return rill_tensors_read(tensors, name, RILL_TENSOR_FLOATS, rank, shape, NULL);
    TRY(rill_blocks_get(blocks, out, count, sizeof **out, name));
    return rill_tensors_read(tensors, name, RILL_TENSOR_FLOATS, rank, shape, *out);
}

rill_status rill_weights_all_read(rill_context *ctx, const rill_tensors *tensors, const char *path,
                                  int (*harmless)(const char *name))
{
    const rill_tensor *first = NULL;
    size_t left = 0;
    char others[40] = "";
    for (size_t i = 0; i < rill_tensors_count(tensors); i++) {
        const rill_tensor *tensor = rill_tensors_at(tensors, i);
        if (tensor->read || (harmless != NULL && harmless(tensor->name))) continue;
        if (left++ == 0) first = tensor;
    }
    if (left == 0) return RILL_OK;
    if (left > 1) snprintf(others, sizeof others, " (and %zu more)", left - 1);
    return rill_fail(ctx, RILL_ERR_FORMAT, "%s: tensor \"%s\"%s has no place in the model that config.json describes",
                     path, first->name, others);
}

rill_weight_type rill_weights_type(const rill_open_options *options)
{
    static const char *const names[] = {
        [RILL_WEIGHT_F32] = "f32", [RILL_WEIGHT_BF16] = "bf16", [RILL_WEIGHT_INT8] = "int8", [RILL_WEIGHT_F16] = "f16"};
    const char *name = rill_open_value(options, "weights");
    rill_weight_type out = RILL_WEIGHT_F32;
    for (size_t i = 0; name != NULL && i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) out = (rill_weight_type)i;
    return out;
}
