/* blocks.h: memory that is given back all at once.
 *
 * A loaded model owns a few dozen tables of fixed size, and loading one needs temporary ones besides. Each such family is a
 * rill_blocks: allocate any number of blocks from it, free them together. Zero-initialise with the context set.
 * Blocks are aligned to 64 bytes and never move. One thread at a time.
 * Stability: internal to rill. */
#ifndef RILL_COMMON_BLOCKS_H
#define RILL_COMMON_BLOCKS_H

#include "rill/context.h"

typedef struct rill_block rill_block;

typedef struct rill_blocks {
    rill_context *ctx;
    rill_block *newest;
} rill_blocks;

/* One more block of `count` elements of `size` bytes, not initialised; `what` names it in the error.
 *   *out   a pointer to the block (a `T **`), set on success only
 *   RILL_OK · RILL_ERR_MEMORY (recorded; also when the product overflows) */
rill_status rill_blocks_get(rill_blocks *blocks, void *out, size_t count, size_t size, const char *what);

/* Free every block; `blocks` is empty and usable again. */
void rill_blocks_clear(rill_blocks *blocks);

#endif
