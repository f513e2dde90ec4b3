/* Canonical form of logical forms, for comparison.
 *
 * In a lambda-calculus form the children of `and` and `or` are unordered; sorting them, innermost first, lets two
 * correct answers be compared byte by byte, as in the code released with Dong and Lapata (2016). Forms without these
 * operators, such as Prolog, only get their spaces normalised.
 * Stability: private header of the semparse domain. */
#ifndef RILL_SEMPARSE_LOGICAL_FORM_H
#define RILL_SEMPARSE_LOGICAL_FORM_H

#include "rill/context.h"

RILL_C_BEGIN

/* Append the canonical form of `text` to `out`: tokens, with brackets as separate tokens, separated by single spaces.
 * If brackets are unbalanced or nested more than 1,000 deep, tokens keep their order; this is no error.
 *   out: unchanged on failure
 *   RILL_OK · RILL_ERR_MEMORY
 * Time is at most length times depth; the stack use is constant. */
rill_status rill_logic_canonical(rill_context *ctx, const char *text, size_t length, rill_text *out);

RILL_C_END

#endif
