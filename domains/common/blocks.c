/* Memory that is given back all at once: a chain of blocks from the context's allocator.
 *
 * Invariant: every block carries its own size in front of it, because the context's allocator must be told sizes on
 * freeing. The header fills a whole cache line, so that what follows keeps the allocator's alignment of 64 bytes. */
#include <string.h>

#include "blocks.h"

struct rill_block {
    _Alignas(64) rill_block *older;
    size_t bytes; /* the header counted */
};

rill_status rill_blocks_get(rill_blocks *blocks, void *out, size_t count, size_t size, const char *what)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(bytes, sizeof(rill_block), &bytes))
        return rill_fail_memory(blocks->ctx, SIZE_MAX, what);
    rill_block *block = rill_alloc(blocks->ctx, bytes);
    if (block == NULL) return rill_fail_memory(blocks->ctx, bytes, what);
    block->older = blocks->newest;
    block->bytes = bytes;
    blocks->newest = block;
    void *first = block + 1;
    memcpy(out, &first, sizeof first); /* `out` points at some `T *`: copied, not assigned, so that no type is punned */
    return RILL_OK;
}

void rill_blocks_clear(rill_blocks *blocks)
{
    while (blocks->newest != NULL) {
        rill_block *block = blocks->newest;
        blocks->newest = block->older;
        rill_free(blocks->ctx, block, block->bytes);
    }
}
