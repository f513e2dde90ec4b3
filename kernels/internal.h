/* internal.h: what the files of kernels/ share and nobody else sees: the packed layout, the division of work, and
 * the functions that fill the table.
 *
 * The packed layout of fp32 weights (N x K): the columns of W^T are cut into blocks of 16; a block is K rows of 16
 * floats, k ascending, one cache line per k; block follows block. Columns from N on are zeros. A line per k serves a
 * vector of 16 and two of 8 alike, as one sequential stream per block. (Rejected: blocks of 64. AVX2, which cannot hold
 * 64 columns of several rows, then walks every fourth line, and those fall into a quarter of L1's sets.)
 *
 * Kernels take blocks in panels of up to 4, as evenly as possible (N = 100: 7 blocks, panels of 4 and 3), because an
 * even split keeps every panel wide enough to fill the vector unit. Panels are a way to walk, not part of the
 * layout. */
#ifndef RILL_KERNELS_INTERNAL_H
#define RILL_KERNELS_INTERNAL_H

#include "kernels.h"

#define RILL_BLOCK ((size_t)16) /* columns of a block: one cache line, one AVX-512 register */
#define RILL_PANEL_BLOCKS ((size_t)4)

static inline size_t rill_block_count(size_t n)
{
    return (n + RILL_BLOCK - 1) / RILL_BLOCK;
}

/* The packed floats of the block that column `first` (a multiple of 16) begins. */
static inline const float *rill_block_at(const rill_weights *w, size_t first)
{
    return (const float *)w->data + first * w->k;
}

/* Panel p of N columns: its first column, its blocks, its columns below N. */
typedef struct rill_panel {
    size_t first, blocks, columns;
} rill_panel;

static inline size_t rill_panel_count(size_t n)
{
    return (rill_block_count(n) + RILL_PANEL_BLOCKS - 1) / RILL_PANEL_BLOCKS;
}

static inline rill_panel rill_panel_at(size_t n, size_t p)
{
    const size_t blocks = rill_block_count(n), panels = rill_panel_count(n);
    const size_t base = blocks / panels, wider = blocks % panels;
    const size_t before = p * base + (p < wider ? p : wider);
    rill_panel r = {before * RILL_BLOCK, base + (p < wider), 0};
    const size_t width = r.blocks * RILL_BLOCK;
    r.columns = n - r.first < width ? n - r.first : width;
    return r;
}

/* Row r of a table, through an optional index. */
static inline size_t rill_row(const int32_t *index, size_t r)
{
    return index ? (size_t)index[r] : r;
}

/* True when an optional index says "nothing here" for row r. */
static inline int rill_row_absent(const int32_t *index, size_t r)
{
    return index && index[r] < 0;
}

/* Work on items [begin, end) of a call; arg is the operation's struct. */
typedef void (*rill_span_fn)(const void *arg, size_t begin, size_t end);

/* Cover [0, items) with calls of fn, on the pool when items * ns_each is worth it. Where the cuts fall must not
 * change any result: that is the operation's duty. */
void rill_span_run(rill_pool *pool, rill_span_fn fn, const void *arg, size_t items, double ns_each);

/* Fill or override members of the table. The caller has checked that the processor has the set. */
void rill_kernels_init_ref(rill_kernels *k);
void rill_kernels_init_avx2(rill_kernels *k);
void rill_kernels_init_avx512(rill_kernels *k);

#endif
