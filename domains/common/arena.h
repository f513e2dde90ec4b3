/* arena.h: blocks of memory that are freed together.
 *
 * A loaded model owns a few dozen arrays of fixed size, and loading needs temporary arrays. Allocations with the same
 * lifetime share a rill_arena. Zero-initialise it and set `ctx`. Blocks are aligned to 64 bytes and never move. An arena
 * may be used by one thread at a time.
 * Stability: internal to rill. */
#ifndef RILL_COMMON_ARENA_H
#define RILL_COMMON_ARENA_H

#include "rill/context.h"

typedef struct rill_arena_block rill_arena_block;

typedef struct rill_arena {
    rill_context *ctx;
    rill_arena_block *last;
} rill_arena;

/* Allocate an uninitialised block of `count` elements of `size` bytes. `what` names the block in the out-of-memory error.
 *   out    address of a pointer to the elements (a `T **`), set on success only
 *   RILL_OK · RILL_ERR_MEMORY (the message is recorded; also if count * size overflows) */
rill_status rill_arena_alloc(rill_arena *arena, void *out, size_t count, size_t size, const char *what);

/* Free all blocks. The arena is then empty and can be used again. */
void rill_arena_clear(rill_arena *arena);

#endif
