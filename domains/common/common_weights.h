/* common_weights.h: loads tensors of a model file into memory of the model, and reads their weight type from the options.
 *
 * Order of use: open a tensor file (rill/safetensors.h) and an arena (arena.h), then call these functions in any order.
 * Read tensors that are needed only to build a network's matrices into a separate arena, and clear it after loading. One
 * thread at a time. Stability: internal to rill. */
#ifndef RILL_COMMON_WEIGHTS_H
#define RILL_COMMON_WEIGHTS_H

#include "arena.h"
#include "rill/device.h"
#include "rill/domain.h"
#include "rill/safetensors.h"

/* Number of elements in the tensor's shape. Opening the file has checked that it holds all of them, each of at least one
 * byte, so an allocation of this many elements is bounded by the size of the file. */
static inline size_t rill_weights_n_values(const rill_file_tensor *tensor)
{
    size_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= (size_t)tensor->shape[i];
    return count;
}

/* Read the tensor `name` as fp32 into a new block of the arena. Its shape must be [rows, columns], or [rows] if columns is
 * 0. The tensor's size in the file is checked before memory is allocated: absurd sizes in config.json give an error that
 * names the tensor.
 *   RILL_OK · RILL_ERR_FORMAT (as rill_tensor_file_read()) · RILL_ERR_MEMORY */
rill_status rill_weights_read(const rill_tensor_file *tensors, rill_arena *arena, const char *name, size_t rows,
                              size_t columns, float **out);

/* After loading, fail if a tensor of the file was not read: the file then belongs to another model than config.json
 * describes, e.g. one with more layers. `is_optional` returns 1 for a tensor that may stay unread; NULL: no tensor may.
 *   RILL_OK · RILL_ERR_FORMAT */
rill_status rill_weights_check_all_read(rill_context *ctx, const rill_tensor_file *tensors, const char *path,
                                        int (*is_optional)(const char *name));

/* The value of the option `weights` (RILL_WEIGHTS_OPTION); f32 if it is not set. */
rill_weight_type rill_weights_read_type(const rill_open_options *options);

#endif
