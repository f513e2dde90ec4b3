/* arena.h: memory freed all at once.
 *
 * A loaded model owns a few dozen tables of fixed size, and loading needs temporary ones. Each group of allocations
 * with one lifetime is a rill_arena. Zero-initialise with the context set. Blocks are aligned to 64 bytes and never
 * move. One thread at a time.
 * Stability: internal to rill. */
#ifndef RILL_COMMON_ARENA_H
#define RILL_COMMON_ARENA_H

#include "rill/context.h"

typedef struct rill_arena_block rill_arena_block;

typedef struct rill_arena {
    rill_context *ctx;
    rill_arena_block *last;
} rill_arena;

/* Allocate a block of `count` elements of `size` bytes, uninitialised; `what` names it in the error.
 *   *out   a pointer to the block (a `T **`), set on success only
 *   RILL_OK · RILL_ERR_MEMORY (recorded; also if the product overflows) */
rill_status rill_arena_alloc(rill_arena *arena, void *out, size_t count, size_t size, const char *what);

/* Free every block; `blocks` is empty and usable again. */
void rill_arena_clear(rill_arena *arena);

#endif
