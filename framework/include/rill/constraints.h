/* Constraints on one input's output, written as a line of text.
 *
 * A line consists of parts separated by " ||| ". A part is NAME:TEXT: the name of a scorer of the run, and its arguments for this input:
 *
 *     prefix:The cat ||| ban:dog ||| ban:a big ||| require:mat
 *
 * Parts with the same name are joined with " ||| " into one scorer's arguments. The scorers must belong to the run. The scorers prefix,
 * ban, allow and require do nothing without arguments, so a run may list them only to allow constraint lines. Scorers that the line does
 * not name keep their arguments from the engine setup.
 * Threads: as the context. Stability: stable within a major version. */
#ifndef RILL_CONSTRAINTS_H
#define RILL_CONSTRAINTS_H

#include "rill/engine.h"

RILL_C_BEGIN

typedef struct rill_constraints rill_constraints;

/* Names of the built-in scorers for constraint lines: prefix, ban, allow, require; NULL-terminated. */
RILL_API const char *const *rill_constraint_names(void);

/* Create a parser of constraint lines for runs with the scorers of `setup`; it copies the names of the scorers. *out: freed by the caller.
 * RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_constraints_create(rill_constraints **out, rill_context *ctx, const rill_engine_setup *setup);
RILL_API void rill_constraints_free(rill_constraints *constraints); /* NULL is allowed */

/* Parse a constraint line. *scorers: arguments of each scorer, for rill_request.scorers, valid until the next line is parsed; NULL for an
 * empty line.
 *   RILL_OK · RILL_ERR_INPUT (recorded: a part without a colon; a name that is not a scorer of the run) · RILL_ERR_MEMORY */
RILL_API rill_status rill_constraints_read(rill_constraints *constraints, const char *line, size_t length,
                                           const char *const **scorers);

RILL_C_END

#endif
