/* Registers the domains, heuristics, scorers and schedulers built into librill. Stability: stable. */
#ifndef RILL_BUILTINS_H
#define RILL_BUILTINS_H

#include "rill/context.h"

RILL_C_BEGIN

/* Register every built-in domain, heuristic, scorer and scheduler. Once per context.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_ARGUMENT (already done) */
RILL_API rill_status rill_register_builtins(rill_context *ctx);

RILL_C_END

#endif
