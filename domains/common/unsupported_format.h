/* unsupported_format.h: folders of models in the forms of other programs.
 *
 * Stability: internal to rill. */
#ifndef RILL_COMMON_UNSUPPORTED_FORMAT_H
#define RILL_COMMON_UNSUPPORTED_FORMAT_H

#include "rill/context.h"

/* Where `directory` holds a model in a form that rill does not read, tell by what it was known and what can be done: RILL_ERR_NOT_FOUND.
 * RILL_OK, and nothing recorded, where there is no such model. For when what rill reads has been looked for. */
rill_status rill_unsupported_format_fail(rill_context *ctx, const char *directory);

/* Where `type`, config.json's model_type, is that of a language model, tell so likewise. */
rill_status rill_unsupported_type_fail(rill_context *ctx, const char *directory, const char *type);

#endif
