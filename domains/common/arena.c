/* Memory that is given back all at once: a chain of blocks from the context's allocator.
 *
 * Invariant: every block carries its own size in front of it, because the context's allocator must be told sizes on
 * freeing. The header fills a whole cache line, so that what follows keeps the allocator's alignment of 64 bytes. */
#include <string.h>

#include "arena.h"

struct rill_arena_block {
    _Alignas(64) rill_arena_block *prev;
    size_t bytes; /* the header counted */
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
    memcpy(out, &first, sizeof first); /* `out` points at some `T *`: copied, not assigned, so that no type is punned */
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
