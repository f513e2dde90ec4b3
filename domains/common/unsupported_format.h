/* unsupported_format.h: recognises model directories in other programs' formats, which rill cannot read unconverted.
 *
 * Stability: internal to rill. */
#ifndef RILL_COMMON_UNSUPPORTED_FORMAT_H
#define RILL_COMMON_UNSUPPORTED_FORMAT_H

#include "rill/context.h"

/* If `directory` holds a model in a format that rill does not read, record an error with the format and how to convert it,
 * and return RILL_ERR_NOT_FOUND. Otherwise return RILL_OK. Call it after looking for supported formats. */
rill_status rill_unsupported_format_fail(rill_context *ctx, const char *directory);

/* Fail with a message if `type`, config.json's model_type, is that of a decoder-only language model. */
rill_status rill_unsupported_type_fail(rill_context *ctx, const char *directory, const char *type);

#endif
