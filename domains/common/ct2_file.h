/* ct2_file.h: what CTranslate2's model.bin says beside its tensors, which rill_tensor_file_open() gives as it does those of any other file.
 *
 * A model is called by its specification ("TransformerSpec"). What transformers' config.json says of an architecture stands among the
 * variables here, as numbers without dimensions.
 * Stability: internal to rill. */
#ifndef RILL_COMMON_CT2_FILE_H
#define RILL_COMMON_CT2_FILE_H

#include "rill/safetensors.h"

/* The name of the specification, borrowed until close, and its revision; NULL of a file in another form. */
const char *rill_ct2_spec_name(const rill_tensor_file *tensors, uint32_t *revision);

/* *out = the number `name`, which then is read, or `fallback` where there is none; NAN: there must be one.
 *   RILL_OK · RILL_ERR_FORMAT (absent, no number, out of range) · RILL_ERR_IO */
rill_status rill_ct2_number(rill_tensor_file *tensors, const char *name, double low, double high, double fallback,
                            double *out);

#endif
