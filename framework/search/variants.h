/* Declares functions and constants that several search variants use. */
#ifndef RILL_VARIANTS_H
#define RILL_VARIANTS_H

#include "engine_internal.h"

/* certify.c: returns an upper bound on the final score of a hypothesis of the item's current length. */
double certify_bound(const chain *c, const item *it, double path_score, int32_t phases);

/* Bytes of a prefix in the frontier of exact search (exact.c). */
enum { EXACT_ENTRY_BYTES = 32 };

#endif
