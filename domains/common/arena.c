/* An arena: a linked list of blocks from the context's allocator, all freed together.
 *
 * Invariant: every block starts with a header that holds its size, because rill_free() needs the size. The header fills a
 * cache line, so that the data after it keeps the allocator's alignment of 64 bytes. */
#include <string.h>

#include "arena.h"

struct rill_arena_block {
    _Alignas(64) rill_arena_block *prev;
    size_t bytes; /* of the block, this header included */
};

rill_status rill_arena_alloc(rill_arena *arena, void *out, size_t count, size_t size, const char *what)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(bytes, sizeof(rill_arena_block), &bytes))
        return rill_fail_memory(arena->ctx, SIZE_MAX, what);
    rill_arena_block *block = rill_alloc(arena->ctx, bytes);
    if (block == NULL) return rill_fail_memory(arena->ctx, bytes, what);
    block->prev = arena->last;
    block->bytes = bytes;
    arena->last = block;
    void *first = block + 1;
    memcpy(out, &first, sizeof first); /* `out` points to some `T *`; memcpy avoids type punning */
    return RILL_OK;
}

void rill_arena_clear(rill_arena *arena)
{
    while (arena->last != NULL) {
        rill_arena_block *block = arena->last;
        arena->last = block->prev;
        rill_free(arena->ctx, block, block->bytes);
    }
}
