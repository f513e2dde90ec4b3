/* internal.h: what the files of kernels/ share and nobody else sees: the packed layout, the division of work, and
 * the functions that fill the table.
 *
 * The packed layout of fp32 weights (N x K): the columns of W^T are grouped into blocks of 16, the blocks into panels
 * of at most 4, as evenly as possible (N = 100: 7 blocks, panels of 64 and 48 columns), because an even split keeps
 * every panel wide enough to fill the vector unit. A panel of width w is K rows of w floats, k ascending: one
 * sequential stream for any kernel that walks it. Columns from N on are zeros. Panel after panel, no gaps, so
 * panel p starts at 16 * (blocks before it) * K floats. */
#ifndef RILL_KERNELS_INTERNAL_H
#define RILL_KERNELS_INTERNAL_H

#include "kernels.h"

#define RILL_BLOCK ((size_t)16) /* columns of a block: one AVX-512 register */
#define RILL_PANEL_BLOCKS ((size_t)4)

/* Panel p of packed weights: its first column, its stored width (multiple of 16), its columns below N. */
typedef struct rill_panel {
    size_t first, width, columns;
} rill_panel;

static inline size_t rill_panel_count(size_t n)
{
    const size_t per_panel = RILL_BLOCK * RILL_PANEL_BLOCKS;
    return (n + per_panel - 1) / per_panel;
}

static inline rill_panel rill_panel_at(size_t n, size_t p)
{
    const size_t blocks = (n + RILL_BLOCK - 1) / RILL_BLOCK, panels = rill_panel_count(n);
    const size_t base = blocks / panels, wider = blocks % panels;
    const size_t before = p * base + (p < wider ? p : wider);
    rill_panel r = {before * RILL_BLOCK, (base + (p < wider)) * RILL_BLOCK, 0};
    r.columns = n - r.first < r.width ? n - r.first : r.width;
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
