/* carve.h: the arrays of one call, out of one buffer.
 *
 * A domain keeps one buffer for what a call needs, which grows and stays, so that the steady state allocates nothing. A layout
 * function runs twice: with no base to add up sizes, then with the buffer to set pointers. Each array starts on a cache line.
 * Stability: internal to rill. */
#ifndef RILL_COMMON_CARVE_H
#define RILL_COMMON_CARVE_H

#include "rill/context.h"

typedef struct rill_carver {
    char *base; /* NULL while sizes are added up */
    size_t used;
} rill_carver;

static inline void *rill_carve(rill_carver *c, size_t count, size_t size)
{
    void *array = c->base != NULL ? c->base + c->used : NULL;
    c->used += (count * size + 63) / 64 * 64;
    return array;
}

/* Room for c->used bytes at *buffer, of *room bytes so far; then *c is at its start.
 *   RILL_OK · RILL_ERR_MEMORY */
static inline rill_status rill_carve_again(rill_context *ctx, char **buffer, size_t *room, rill_carver *c)
{
    rill_status status = rill_grow(ctx, (void **)buffer, room, c->used, 1, "scratch memory");
    *c = (rill_carver){.base = *buffer};
    return status;
}

#endif
