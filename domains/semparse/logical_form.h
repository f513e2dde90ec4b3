/* Logical forms that mean the same, made equal.
 *
 * In a lambda-calculus form the children of `and` and `or` have no order; sorting them, innermost first, lets two right
 * answers be compared byte by byte, as the code released with Dong and Lapata (2016) does. Forms without these
 * operators, such as Prolog, only get single blanks.
 * Stability: inner header of the semparse domain. */
#ifndef RILL_SEMPARSE_LOGICAL_FORM_H
#define RILL_SEMPARSE_LOGICAL_FORM_H

#include "rill/context.h"

RILL_C_BEGIN

/* Append the canonical form of `text` to `out`: tokens, brackets being tokens of their own, separated by single blanks.
 * Where brackets do not match, or are nested more than 1,000 deep, the tokens keep their order; that is no error.
 *   out: unchanged on failure
 *   RILL_OK · RILL_ERR_MEMORY
 * Time grows with length times depth at most; the stack does not grow with either. */
rill_status rill_logic_canonical(rill_context *ctx, const char *text, size_t length, rill_text *out);

RILL_C_END

#endif
