/* backend.h: which kernels a model's products run on: rill's own, or those of a back end that was asked for.
 *
 * Order of use: once when a model is opened, before its weights are packed: rill_kernels.f32 says how. Stability: internal
 * to rill. */
#ifndef RILL_COMMON_BACKEND_H
#define RILL_COMMON_BACKEND_H

#include "kernels.h"
#include "rill/domain.h"

/* Fill *out as options->backend says: NULL or "rill" for our own kernels, "onednn" for oneDNN's products of fp32 weights,
 * row by row when options->deterministic is set. A back end's file is loaded on first use and stays.
 *   RILL_OK · RILL_ERR_OPTION (a name that is none; a back end that is not there, or with weights that it does not take;
 *   the message names `domain`) */
rill_status rill_backend_kernels(rill_context *ctx, const char *domain, const rill_open_options *options,
                                 rill_kernels *out);

/* Append to a model's description, in an array of `size` bytes, what computes its products where that is a back end. */
void rill_backend_describe(const rill_kernels *kernels, char *description, size_t size);

#endif
