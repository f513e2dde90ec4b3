/* What one input wants of its output, written as a line.
 *
 * A line is parts with " ||| " between them. A part is NAME:TEXT: the name of a scorer of the run, and its arguments for this input:
 *
 *     prefix:The cat ||| ban:dog ||| ban:a big ||| require:mat
 *
 * Parts of one name are one scorer's arguments, " ||| " between them again. The scorers are the run's: prefix, ban, allow and require
 * say nothing without arguments, so a run may have them for the sake of such lines. What is not named is as the setup says.
 * Threads: as the context. Stability: stable within a major version. */
#ifndef RILL_CONSTRAINTS_H
#define RILL_CONSTRAINTS_H

#include "rill/engine.h"

RILL_C_BEGIN

typedef struct rill_constraints rill_constraints;

/* The names of the scorers that are made for such lines; NULL ends the list. */
RILL_API const char *const *rill_constraint_names(void);

/* A reader of lines for runs with this setup's scorers; nothing of the setup is kept. *out: freed by the caller. RILL_OK ·
 * RILL_ERR_MEMORY */
RILL_API rill_status rill_constraints_create(rill_constraints **out, rill_context *ctx, const rill_engine_setup *setup);
RILL_API void rill_constraints_free(rill_constraints *constraints); /* NULL is allowed */

/* Read a line. *scorers: for rill_request.scorers, valid until the next line; NULL for a blank line.
 *   RILL_OK · RILL_ERR_INPUT (recorded: a part without a colon; a name that is no scorer of the run) · RILL_ERR_MEMORY */
RILL_API rill_status rill_constraints_read(rill_constraints *constraints, const char *line, size_t length,
                                           const char *const **scorers);

RILL_C_END

#endif
