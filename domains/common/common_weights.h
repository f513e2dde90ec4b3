/* common_weights.h: load tensors of a model file into memory of the model, and choose their weight type.
 *
 * Order of use: with an open file (rill/safetensors.h) and an arena (arena.h), any number of these; data needed only to
 * build a network's matrices goes to an arena that is cleared after loading. One thread at a time. Stability: internal
 * to rill. */
#ifndef RILL_COMMON_WEIGHTS_H
#define RILL_COMMON_WEIGHTS_H

#include "arena.h"
#include "rill/device.h"
#include "rill/domain.h"
#include "rill/safetensors.h"

/* Number of elements by the shape. The file has at least a byte of each, so shapes checked against it bound memory. */
static inline size_t rill_weights_n_values(const rill_file_tensor *tensor)
{
    size_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= (size_t)tensor->shape[i];
    return count;
}

/* Read the tensor `name`, rows x columns, or [rows] if columns is 0, as fp32 into a new block. The file's size is
 * checked before memory is allocated, so absurd sizes in a configuration are refused by the tensor's name.
 *   RILL_OK · RILL_ERR_FORMAT (as rill_tensor_file_read()) · RILL_ERR_MEMORY */
rill_status rill_weights_read(const rill_tensor_file *tensors, rill_arena *arena, const char *name, size_t rows,
                              size_t columns, float **out);

/* After loading: refuse tensors that were not read, by name. They belong to another model than the configuration
 * describes, e.g. one with more layers. `is_optional` names tensors that may stay unread; NULL: none.
 *   RILL_OK · RILL_ERR_FORMAT */
rill_status rill_weights_check_all_read(rill_context *ctx, const rill_tensor_file *tensors, const char *path,
                                        int (*is_optional)(const char *name));

/* Value of the option `weights` (RILL_WEIGHTS_OPTION); default f32. */
rill_weight_type rill_weights_read_type(const rill_open_options *options);

#endif
