/* Declares functions and constants that several search variants use. */
#ifndef RILL_VARIANTS_H
#define RILL_VARIANTS_H

#include "engine_internal.h"

/* certify.c: return an upper bound on the final score that a hypothesis of the item's current length with this path score can reach. */
double certify_bound(const chain *c, const item *it, double path_score, int32_t phases);

/* Bytes of a prefix in the frontier of exact search (exact.c). */
enum { EXACT_ENTRY_BYTES = 32 };

#endif
