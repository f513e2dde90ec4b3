/* Reads weights from tensor files into memory of the model; see common_weights.h. */
#include "common_weights.h"
#include "try.h"

#include <stdio.h>
#include <string.h>

rill_status rill_weights_read(const rill_tensor_file *tensors, rill_arena *arena, const char *name, size_t rows,
                              size_t columns, float **out)
{
    const int64_t shape[2] = {(int64_t)rows, (int64_t)columns};
    const int rank = columns > 0 ? 2 : 1;
    size_t count = rows * (columns > 0 ? columns : 1);
    const rill_file_tensor *tensor = rill_tensor_file_find(tensors, name);
    if (tensor == NULL || rill_weights_n_values(tensor) < count)
        return rill_tensor_file_read(tensors, name, RILL_TENSOR_FLOATS, rank, shape, NULL);
    TRY(rill_arena_alloc(arena, out, count, sizeof **out, name));
    return rill_tensor_file_read(tensors, name, RILL_TENSOR_FLOATS, rank, shape, *out);
}

rill_status rill_weights_check_all_read(rill_context *ctx, const rill_tensor_file *tensors, const char *path,
                                        int (*is_optional)(const char *name))
{
    const rill_file_tensor *first = NULL;
    size_t n_unread = 0;
    char others[40] = "";
    for (size_t i = 0; i < rill_tensor_file_count(tensors); i++) {
        const rill_file_tensor *tensor = rill_tensor_file_tensor(tensors, i);
        if (tensor->read || (is_optional != NULL && is_optional(tensor->name))) continue;
        if (n_unread++ == 0) first = tensor;
    }
    if (n_unread == 0) return RILL_OK;
    if (n_unread > 1) snprintf(others, sizeof others, " (and %zu more)", n_unread - 1);
    return rill_fail(ctx, RILL_ERR_FORMAT, "%s: the model that config.json describes has no tensor \"%s\"%s", path,
                     first->name, others);
}

rill_weight_type rill_weights_read_type(const rill_open_options *options)
{
    static const char *const names[] = {
        [RILL_WEIGHT_F32] = "f32", [RILL_WEIGHT_BF16] = "bf16", [RILL_WEIGHT_INT8] = "int8", [RILL_WEIGHT_F16] = "f16"};
    static const char *const long_names[] = {[RILL_WEIGHT_F32] = "float32",
                                             [RILL_WEIGHT_BF16] = "bfloat16",
                                             [RILL_WEIGHT_INT8] = "int8",
                                             [RILL_WEIGHT_F16] = "float16"};
    const char *name = rill_open_option(options, "weights");
    rill_weight_type out = RILL_WEIGHT_F32;
    for (size_t i = 0; name != NULL && i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0 || strcmp(name, long_names[i]) == 0) out = (rill_weight_type)i;
    return out;
}
