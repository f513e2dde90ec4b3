/* What variants of the search share. */
#ifndef RILL_VARIANTS_H
#define RILL_VARIANTS_H

#include "engine_internal.h"

/* certify.c: an upper bound on the final score of continuations of a prefix with this path score in the item's timestep. */
double certify_bound(const chain *c, const item *it, double path_score, int32_t phases);

/* Bytes of a prefix that exact search keeps (exact.c). */
enum { EXACT_ENTRY_BYTES = 32 };

#endif
