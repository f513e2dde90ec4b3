/* common_weights.h: tensors of a model file as tables in a model's own memory, and in which form they are multiplied.
 *
 * Order of use: with an open file (rill/safetensors.h) and blocks (arena.h), any number of these; what is read only for a plan's
 * matrices goes to blocks that are cleared when loading is done. One thread at a time. Stability: internal to rill. */
#ifndef RILL_COMMON_WEIGHTS_H
#define RILL_COMMON_WEIGHTS_H

#include "arena.h"
#include "rill/device.h"
#include "rill/domain.h"
#include "rill/safetensors.h"

/* Numbers of a tensor by its shape, of which its file has a byte each at least: shapes that are checked against it bound memory. */
static inline size_t rill_weights_n_values(const rill_file_tensor *tensor)
{
    size_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= (size_t)tensor->shape[i];
    return count;
}

/* The tensor `name`, rows x columns, or just [rows] when columns is 0, as fp32 in a new block. One of fewer
 * elements cannot have that shape: it is refused by its name before a configuration's sizes, which may be anything, become memory.
 *   RILL_OK · RILL_ERR_FORMAT (as rill_tensor_file_read()) · RILL_ERR_MEMORY */
rill_status rill_weights_read(const rill_tensor_file *tensors, rill_arena *arena, const char *name, size_t rows,
                              size_t columns, float **out);

/* When all is loaded: what of the file was not read would mean another model than the configuration's, one with more layers for
 * instance, and is refused by its name. `harmless` says which names may be left over; NULL: none.
 *   RILL_OK · RILL_ERR_FORMAT */
rill_status rill_weights_check_all_read(rill_context *ctx, const rill_tensor_file *tensors, const char *path,
                                        int (*is_optional)(const char *name));

/* What the option weights says (RILL_WEIGHTS_OPTION); nothing is f32. */
rill_weight_type rill_weights_read_type(const rill_open_options *options);

#endif
