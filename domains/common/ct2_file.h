/* ct2_file.h: metadata of CTranslate2's model.bin. Its tensors are opened by rill_tensor_file_open() like any other
 * file's.
 *
 * The model type is its specification ("TransformerSpec"). Hyperparameters that transformers keeps in config.json are
 * scalar variables here.
 * Stability: internal to rill. */
#ifndef RILL_COMMON_CT2_FILE_H
#define RILL_COMMON_CT2_FILE_H

#include "rill/safetensors.h"

/* Name of the specification, borrowed until close, and its revision; NULL for other file formats. */
const char *rill_ct2_spec_name(const rill_tensor_file *tensors, uint32_t *revision);

/* Read the scalar `name` and mark it as read; `fallback` if absent, NAN: required.
 *   RILL_OK · RILL_ERR_FORMAT (absent, no number, out of range) · RILL_ERR_IO */
rill_status rill_ct2_number(rill_tensor_file *tensors, const char *name, double low, double high, double fallback,
                            double *out);

#endif
