/* ct2_file.h: metadata of CTranslate2's model.bin. rill_tensor_file_open() opens its tensors, as it does for other formats.
 *
 * The name of the specification, e.g. "TransformerSpec", tells the type of the model. Hyperparameters that transformers
 * stores in config.json are scalar variables of model.bin.
 * Stability: internal to rill. */
#ifndef RILL_COMMON_CT2_FILE_H
#define RILL_COMMON_CT2_FILE_H

#include "rill/safetensors.h"

/* Return the name of the specification, borrowed until the file is closed, and set *revision; NULL for other file
 * formats. */
const char *rill_ct2_spec_name(const rill_tensor_file *tensors, uint32_t *revision);

/* Read the scalar variable `name`, which must be in low..high, and mark it as read. If it is absent, *out = fallback; with
 * a fallback of NAN the variable is required.
 *   RILL_OK · RILL_ERR_FORMAT (absent, not a number, out of range) · RILL_ERR_IO */
rill_status rill_ct2_number(rill_tensor_file *tensors, const char *name, double low, double high, double fallback,
                            double *out);

#endif
