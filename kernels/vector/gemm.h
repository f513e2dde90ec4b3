/* Shared by the GEMMs of all weight types: tiles, the right edge of C, activations, threads.
 *
 * A tile is up to MR rows by nv vectors of columns of C, in registers over all of K. A strip is nv vectors of a panel (internal.h).
 *
 * Invariant: the tile shape decides which elements are computed together, not how: K is never split.
 *
 * A file that includes this defines its tiles, fills a tile_set and calls run_gemm(). */
#pragma once

#include <assert.h>
#include <string.h>

#include "vec.h"

#if !defined(MR)
#define MR 8 /* maximum rows of a tile */
#endif
/* maximum rows that are multiplied by one panel before the next panel's turn: their part of A stays in L2 */
#define GROUP 96
#define FLOPS_PER_NS (VL == 16 ? 100.0 : 50.0) /* rough speed, to estimate a call's time */

#define WIDE ((size_t)64) /* maximum columns of a tile */
#define LINE 64           /* bytes of a cache line of packed weights */
#define AHEAD 2           /* cache lines of the next panel that are prefetched for every four k */
#define AHEAD_ROWS 4      /* tiles of fewer rows take too little time to prefetch */

/* The rows of a tile, at most MR. `add` and `c` point at the strip's first column. Tiles read and write whole vectors. */
typedef struct tile_rows {
    size_t count; /* number of rows */
    /* AMX. starts: 1 for a strip's first tile, and for a tile with another number of rows than the tile before; finishes: 1 for the last */
    int starts, finishes;
    const float *a[2][MR];
    /* U8S8, and BF16 if it is multiplied as such: the quantised or rounded rows of A, which are read instead of a */
    const void *q[MR];
    float scale[MR];      /* U8S8: the scale of each quantised row */
    const float *add[MR]; /* added to the rows of C; read only if strip.adds is 1, and then never NULL */
    float *c[MR];
    const char *ahead; /* first address in the next panel that this tile prefetches: AHEAD lines per four k */
    size_t ahead_step; /* bytes between prefetched lines */
} tile_rows;

/* A strip: nv vectors of columns of one panel. At the right edge, only the first `columns` of them are columns of C. */
typedef struct strip {
    const char *w;       /* packed weights, the strip's first line */
    size_t block_stride; /* bytes from one block of packed weights to the next */
    size_t k[2];         /* columns of A1; columns of A2, 0 if there is no A2 */
    int adds;            /* 1: tile_rows.add is added to C; 0: tile_rows.add is not read */
    size_t nv, first, columns;
    const float *scale;    /* U8S8: scales of the weights, from the strip's first column on */
    const int32_t *offset; /* U8S8: initial sums, which cancel the +128 of quantised rows */
    float start[WIDE];     /* bias of each column, or 0 */
    /* the part of the next panel that the strip's tiles prefetch: its start; the next member has its bytes */
    const char *ahead;
    size_t ahead_bytes;
} strip;

typedef void (*tile_fn)(const strip *s, const tile_rows *t);

/* The tile functions of one weight type, tile[vectors][rows], and for each number of vectors the maximum rows. */
typedef struct tile_set {
    tile_fn tile[9][MR + 1];
    size_t max_rows[9];
    /* returns the number of vectors of the panel's next strip; `remaining`: vectors of the panel that no strip has yet */
    size_t (*vectors)(size_t remaining, size_t rows);
} tile_set;

/* The rows of A, quantised for U8S8 weights or rounded to bf16. Callers pass NULL to read the rows as they are. */
typedef struct quantised {
    const char *rows;
    size_t stride;      /* bytes from one quantised row to the next */
    const float *scale; /* NULL: rows of bf16 have no scale */
} quantised;

/* ---- macros to write tiles ---- */

/* Macros repeat the tile's code per sum c_ij, because compilers keep only named variables in registers. Conditions are constants: code
 * beyond mr and nv is eliminated. */
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define ROWS2(X, u) X(0, u) X(1, u) X(2, u) X(3, u) X(4, u) X(5, u) X(6, u) X(7, u)
#define VECTORS(X, i) X(i, 0) X(i, 1) X(i, 2) X(i, 3) X(i, 4) X(i, 5) X(i, 6) X(i, 7)

/* Declare, start, add to and store the sums c_ij of floats; XS(i) does it for row i. */
#define DECLARE_SUM(i, j) vf c##i##j = v_zero();
#define DECLARE_SUMS(i) VECTORS(DECLARE_SUM, i)
#define START_SUM(i, j) \
    if ((i) < mr && (j) < nv) c##i##j = v_load(s->start + (j)*VL);
#define START_SUMS(i) VECTORS(START_SUM, i)
#define ADD_SUM(i, j) \
    if ((i) < mr && (j) < nv) c##i##j = v_add(c##i##j, v_load(t->add[i] + (j)*VL));
#define ADD_SUMS(i) VECTORS(ADD_SUM, i)
#define STORE_SUM(i, j) \
    if ((i) < mr && (j) < nv) v_store(t->c[i] + (j)*VL, c##i##j);
#define STORE_SUMS(i) VECTORS(STORE_SUM, i)

/* The address of vector j of a strip in the packed weights, u lines after w. */
#define VECTOR_AT(j, u) (w + (size_t)((j)*VL / 16) * block_stride + (j)*VL % 16 * 4 + LINE * (u))

#if VL == 16
/* Tile shapes for 32 vector registers, as entries X(rows, vectors). */
/* clang-format off */
#define TILES(X)                                                    \
    X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1) \
    X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) X(7, 2) X(8, 2) \
    X(1, 3) X(2, 3) X(3, 3) X(4, 3) X(5, 3) X(6, 3) X(7, 3) X(8, 3) \
    X(1, 4) X(2, 4) X(3, 4) X(4, 4) X(5, 4) X(6, 4)
#define TILE_MAX_ROWS {0, 8, 8, 8, 6}
/* clang-format on */

static size_t strip_vectors(size_t remaining, size_t rows)
{
    (void)rows;
    return remaining;
}
#endif

/* The first tile of a panel would stall on its weights. So each tile prefetches its part of the next panel. */
#define LOOK_AHEAD(mr)                                                                           \
    if ((mr) >= AHEAD_ROWS) {                                                                    \
        for (int u = 0; u < AHEAD; u++, ahead += t->ahead_step) __builtin_prefetch(ahead, 0, 2); \
    }

/* ---- a strip of one panel -------------------------------------------------------------------------------- */

/* Buffers for rows of C and of addends at C's right edge, where whole vectors would overrun. */
typedef struct edge {
    float add[MR][WIDE], c[MR][WIDE];
} edge;

static const float zero_row[WIDE];

/* Rows [begin, begin + rows) of a GEMM, in `groups` groups. q: these rows quantised or rounded; NULL: neither. */
typedef struct division {
    const rill_gemm *g;
    const tile_set *tiles;
    const quantised *q;
    size_t begin, rows, groups;
} division;

/* Rows [begin, end) of a GEMM, split into `count` tiles for strips of nv vectors. Strips of equal nv reuse the
 * tiles. */
typedef struct row_group {
    const division *d;
    size_t begin, end, nv, count;
    size_t rows[GROUP / 6]; /* rows of each tile */
    tile_rows tile[GROUP / 6];
    float *c[GROUP / 6][MR];         /* column 0 of each output row */
    const float *add[GROUP / 6][MR]; /* column 0 of the addend of each output row; NULL: nothing is added */
} row_group;

static void find_rows(const division *d, size_t first, size_t count, tile_rows *t, float **c, const float **add)
{
    const rill_gemm *g = d->g;
    for (size_t i = 0; i < count; i++) {
        const size_t r = first + i;
        if (d->q) {
            t->q[i] = d->q->rows + (r - d->begin) * d->q->stride;
            if (d->q->scale) t->scale[i] = d->q->scale[r - d->begin];
        } else {
            t->a[0][i] = rill_operand_row(&g->a, r);
            t->a[1][i] = rill_operand_row(&g->a2, r);
        }
        c[i] = rill_operand_row(&g->c, r);
        add[i] = rill_operand_row(&g->add, r);
    }
}

/* Split rows into tiles of nearly equal height: 7 rows are 4 + 3, not 6 + 1. */
static void make_tiles(row_group *group, size_t nv)
{
    const unsigned rows = (unsigned)(group->end - group->begin), max_rows = (unsigned)group->d->tiles->max_rows[nv];
    const unsigned count = (rows + max_rows - 1) / max_rows, height = rows / count, higher = rows % count;
    size_t first = group->begin;
    for (unsigned i = 0; i < count; i++) {
        group->rows[i] = height + (i < higher);
        group->tile[i].count = group->rows[i];
        find_rows(group->d, first, group->rows[i], &group->tile[i], group->c[i], group->add[i]);
        first += group->rows[i];
    }
    group->nv = nv;
    group->count = count;
}

static void run_tile(const tile_set *tiles, const strip *s, const tile_rows *t, size_t count)
{
    if (s->columns == s->nv * VL) {
        tiles->tile[s->nv][count](s, t);
        return;
    }
    edge e;
    tile_rows inner = *t;
    const size_t bytes = s->columns * sizeof(float);
    for (size_t i = 0; i < count; i++) {
        if (s->adds) {
            memset(e.add[i], 0, sizeof e.add[i]);
            memcpy(e.add[i], t->add[i], bytes);
            inner.add[i] = e.add[i];
        }
        inner.c[i] = e.c[i];
    }
    tiles->tile[s->nv][count](s, &inner);
    for (size_t i = 0; i < count; i++) memcpy(t->c[i], e.c[i], bytes);
}

static void run_strip(row_group *group, const strip *s)
{
    const rill_activation activation = group->d->g->activation;
    if (group->nv != s->nv) make_tiles(group, s->nv);
    const size_t turns = (s->k[0] + s->k[1]) / 4 * AHEAD, each = s->ahead_bytes / group->count;
    const size_t step = turns == 0 ? 0 : each / turns + 1;
    for (size_t i = 0; i < group->count; i++) {
        tile_rows *t = &group->tile[i];
        t->starts = i == 0 || group->rows[i] != group->rows[i - 1];
        t->finishes = i + 1 == group->count;
        t->ahead = s->ahead + i * each;
        t->ahead_step = step < LINE ? step : LINE;
        const size_t rows = group->rows[i];
        for (size_t j = 0; j < rows; j++) t->c[j] = group->c[i][j] + s->first;
        for (size_t j = 0; s->adds && j < rows; j++) {
            const float *add = group->add[i][j];
            t->add[j] = add ? add + s->first : zero_row;
        }
        run_tile(group->d->tiles, s, t, rows);
        /* apply the activation now, while the row that the tile wrote is in L1 */
        for (size_t j = 0; activation != RILL_LINEAR && j < rows; j++)
            activate(activation, s->columns, t->c[j], t->c[j]);
    }
}

/* Assign to the strip its part of the next panel to prefetch, in proportion to its rows and columns. */
static void look_ahead(const row_group *group, size_t index, size_t column, strip *s)
{
    const division *d = group->d;
    const size_t n = d->g->w->n, rows_before = group->begin - d->begin, rows = group->end - group->begin;
    if (index + 1 >= rill_panel_count(n)) {
        s->ahead = s->w;
        s->ahead_bytes = 0;
        return;
    }
    const rill_panel next = rill_get_panel(n, index + 1);
    const size_t bytes = next.blocks * s->block_stride, wide = WIDE;
    const size_t share = bytes * rows / d->rows;
    s->ahead = (const char *)d->g->w->data + next.first / RILL_BLOCK * s->block_stride + bytes * rows_before / d->rows +
               share * column / wide;
    s->ahead_bytes = share * s->nv * VL / wide;
}

static void run_panel(row_group *group, size_t index)
{
    const division *d = group->d;
    const rill_gemm *g = d->g;
    const rill_weights *w = g->w;
    const rill_panel p = rill_get_panel(w->n, index);
    const size_t k1 = g->a2.data ? g->k1 : w->k, block_stride = rill_block_bytes(w->k, w->dtype);
    for (size_t column = 0; column < p.columns;) {
        const size_t nv = d->tiles->vectors((p.blocks * RILL_BLOCK - column) / VL, group->end - group->begin),
                     wide = nv * VL;
        const size_t first = p.first + column;
        strip s = {
            .w = (const char *)w->data + first / RILL_BLOCK * block_stride + first % RILL_BLOCK * 4,
            .block_stride = block_stride,
            .k = {k1, w->k - k1},
            .adds = g->add.data != NULL,
            .nv = nv,
            .first = first,
            .columns = p.columns - column < wide ? p.columns - column : wide,
        };
        if (w->dtype == RILL_DTYPE_U8S8) {
            s.scale = rill_channel_scales(w) + first;
            s.offset = rill_channel_offsets(w) + first;
        }
        if (g->bias) memcpy(s.start, g->bias + s.first, s.columns * sizeof(float));
        look_ahead(group, index, column, &s);
        run_strip(group, &s);
        column += wide;
    }
}

/* ---- division among threads ------------------------------------------------------------------------------ */

/* Compute units [begin, end). A unit is a panel for one row group; row groups vary fastest to reuse a cached panel. */
static void run_units(const void *arg, size_t begin, size_t end)
{
    const division *d = arg;
    row_group group;
    group.d = d;
    group.nv = 0;
    for (size_t u = begin; u < end; u++) {
        const size_t index = u % d->groups;
        if (u == begin || d->groups > 1) {
            group.begin = d->begin + index * d->rows / d->groups;
            group.end = d->begin + (index + 1) * d->rows / d->groups;
            group.nv = 0;
        }
        run_panel(&group, u / d->groups);
    }
}

/* Compute rows [begin, begin + rows) of C. `rate`, flops per ns and thread, is used to estimate the call's time. */
static inline void run_gemm(const rill_gemm *g, const tile_set *tiles, const quantised *q, size_t begin, size_t rows,
                            double rate, rill_pool *pool)
{
    const size_t panels = rill_panel_count(g->w->n), wanted = rill_pool_threads(pool) > 1 ? 8 : 1;
    division d = {g, tiles, q, begin, rows, (rows + GROUP - 1) / GROUP};
    while (panels * d.groups < wanted && rows / d.groups > 2 * MR) d.groups++;
    const size_t units = panels * d.groups;
    const double flops = 2.0 * (double)rows * (double)g->w->n * (double)g->w->k;
    rill_parallel_for(pool, run_units, &d, units, flops / rate / (double)units);
}

/* Rows of A from row `begin` on, and the scratch memory for their quantised or rounded values and, if quantised, their scales. */
typedef struct quant_job {
    const rill_gemm *g;
    size_t begin, stride; /* stride: bytes between rows */
    float *scale;
    char *rows;
} quant_job;

/* Run a GEMM in equal chunks of rows: each chunk reads all weights. quantise() first quantises or rounds the rows, in `ns` nanoseconds
 * each. */
static inline void run_quantised(quant_job *q, const tile_set *tiles, rill_range_fn quantise, double ns, double rate,
                                 rill_pool *pool)
{
    const rill_gemm *g = q->g;
    const quantised rows = {q->rows, q->stride, q->scale};
    assert(g->scratch && (!g->reuse_quantised || g->rows <= RILL_GEMM_QUANT_ROWS));
    for (size_t count, chunks = (g->rows + RILL_QUANT_ROWS - 1) / RILL_QUANT_ROWS; chunks > 0; chunks--) {
        count = (g->rows - q->begin) / chunks;
        if (!g->reuse_quantised) rill_parallel_for(pool, quantise, q, count, ns);
        run_gemm(g, tiles, &rows, q->begin, count, rate, pool);
        q->begin += count;
    }
}
