/* gemm.c (x86): C = epilogue(bias + add + [A1 A2] W^T) over packed panels.
 *
 * A tile is up to MR rows by NV vectors of columns held in registers while k runs over all of K: one load of
 * W per vector and one broadcast of A per row feed MR * NV multiply-adds. A panel (internal.h) is walked once per
 * tile of rows, its blocks side by side, each one sequential stream.
 *
 * Invariant: every element is the chain fma(a_k, w_k, ...) started at bias + add, k ascending, A1 before A2. The
 * tile's shape only decides which chains run side by side. That is why K is never split, neither between threads
 * nor between accumulators, although two chains per element would hide latency better at M = 1.
 *
 * Tile shapes: AVX-512 takes a panel's whole width (4 vectors: 6 rows, 24 accumulators of 32 registers). AVX2
 * takes a panel in strips of 2 vectors (6 rows, 12 accumulators of 16), or wider ones when rows are few.
 *
 * Divisions: the tile, a strip of one panel, the division of the call. */
#include <assert.h>

#include "x86.h"

#define MR 8     /* most rows of any tile */
#define GROUP 96 /* rows that go through a panel before the next panel: their A stays in L2 */
#define FLOPS_PER_NS (VL == 16 ? 100.0 : 50.0) /* for deciding what is worth a thread; an order of magnitude */

/* Up to MR rows: where their operands are. */
typedef struct tile_rows {
    const float *a[2][MR];
    const float *add[MR]; /* NULL: nothing to add */
    float *c[MR];
} tile_rows;

/* Columns of one panel: NV vectors, the last of which may be partial. */
typedef struct strip {
    const float *w; /* packed, the strip's first block */
    size_t apart;   /* floats from block to block */
    size_t k[2];    /* columns of A1 and A2 (0 when there is no A2) */
    const float *bias;
    int adds;              /* some row may have an add */
    size_t first, columns; /* of C */
} strip;

/* ---- the tile -------------------------------------------------------------------------------------------- */

/* Columns that vector j of the strip has: fewer than VL at the right edge of C, where AVX2's strips may even have an
 * empty vector. */
RILL_INLINE size_t columns_from(const strip *s, size_t j)
{
    return s->columns > j * VL ? s->columns - j * VL : 0;
}

/* The sums before the first product. Whole strips, which are nearly all, are kept free of tests per vector. */
RILL_INLINE void start_sums(const strip *s, const tile_rows *t, vf acc[MR][8], const int mr, const int nv)
{
    const int whole = s->columns == (size_t)nv * VL;
    for (int j = 0; j < nv; j++) {
        const size_t at = s->first + (size_t)j * VL;
        const vf bias = !s->bias ? v_zero()
                        : whole  ? v_load(s->bias + at)
                                 : v_load_n(s->bias + at, columns_from(s, (size_t)j));
        for (int i = 0; i < mr; i++) acc[i][j] = bias;
    }
    for (int i = 0; i < mr && s->adds; i++) {
        if (!t->add[i]) continue;
        for (int j = 0; j < nv; j++) {
            const float *add = t->add[i] + s->first + j * VL;
            acc[i][j] = v_add(acc[i][j], whole ? v_load(add) : v_load_n(add, columns_from(s, (size_t)j)));
        }
    }
}

RILL_INLINE void store_sums(const strip *s, const tile_rows *t, vf acc[MR][8], const int mr, const int nv)
{
    if (s->columns == (size_t)nv * VL) {
        for (int i = 0; i < mr; i++)
            for (int j = 0; j < nv; j++) v_store(t->c[i] + s->first + j * VL, acc[i][j]);
        return;
    }
    for (int i = 0; i < mr; i++)
        for (int j = 0; j < nv; j++) v_store_n(t->c[i] + s->first + j * VL, columns_from(s, (size_t)j), acc[i][j]);
}

/* One k for all rows. */
RILL_INLINE void step(vf acc[MR][8], const float *const *a, size_t k, const float *w, size_t apart, const int mr,
                      const int nv)
{
    vf b[8];
    for (int j = 0; j < nv; j++) b[j] = v_load(w + (size_t)(j * VL / 16) * apart + j * VL % 16);
    for (int i = 0; i < mr; i++) {
        const vf x = v_set1(a[i][k]);
        for (int j = 0; j < nv; j++) acc[i][j] = v_fma(x, b[j], acc[i][j]);
    }
}

RILL_INLINE void tile(const strip *s, const tile_rows *t, const int mr, const int nv)
{
    vf acc[MR][8];
    const float *w = s->w;
    start_sums(s, t, acc, mr, nv);
    for (int part = 0; part < 2; part++) {
        const float *a[MR];
        const size_t count = s->k[part];
        size_t k = 0;
        for (int i = 0; i < mr; i++) a[i] = t->a[part][i];
        for (; k + 4 <= count; k += 4, w += 4 * RILL_BLOCK)
            for (size_t u = 0; u < 4; u++) step(acc, a, k + u, w + u * RILL_BLOCK, s->apart, mr, nv);
        for (; k < count; k++, w += RILL_BLOCK) step(acc, a, k, w, s->apart, mr, nv);
    }
    store_sums(s, t, acc, mr, nv);
}

typedef void (*tile_fn)(const strip *s, const tile_rows *t);

#define TILE(mr, nv)                                                 \
    static void tile_##mr##x##nv(const strip *s, const tile_rows *t) \
    {                                                                \
        tile(s, t, mr, nv);                                          \
    }

#if VL == 16
TILE(1, 1)
TILE(2, 1)
TILE(3, 1)
TILE(4, 1)
TILE(5, 1)
TILE(6, 1) TILE(7, 1) TILE(8, 1) TILE(1, 2) TILE(2, 2) TILE(3, 2) TILE(4, 2) TILE(5, 2) TILE(6, 2) TILE(7, 2) TILE(8, 2)
    TILE(1, 3) TILE(2, 3) TILE(3, 3) TILE(4, 3) TILE(5, 3) TILE(6, 3) TILE(7, 3) TILE(8, 3) TILE(1, 4) TILE(2, 4)
        TILE(3, 4) TILE(4, 4) TILE(5, 4) TILE(6, 4)

            static const tile_fn tiles[5][MR + 1] = {
                [1] = {0, tile_1x1, tile_2x1, tile_3x1, tile_4x1, tile_5x1, tile_6x1, tile_7x1, tile_8x1},
                [2] = {0, tile_1x2, tile_2x2, tile_3x2, tile_4x2, tile_5x2, tile_6x2, tile_7x2, tile_8x2},
                [3] = {0, tile_1x3, tile_2x3, tile_3x3, tile_4x3, tile_5x3, tile_6x3, tile_7x3, tile_8x3},
                [4] = {0, tile_1x4, tile_2x4, tile_3x4, tile_4x4, tile_5x4, tile_6x4},
};
static const size_t tile_most_rows[5] = {0, 8, 8, 8, 6};

/* Vectors of the next strip when `left` vectors of the panel remain: the whole panel. */
static size_t strip_vectors(size_t left, size_t rows)
{
    (void)rows;
    return left;
}
#else
TILE(1, 2)
TILE(2, 2)
TILE(3, 2)
TILE(4, 2)
TILE(5, 2)
TILE(6, 2) TILE(1, 4) TILE(2, 4) TILE(3, 4) TILE(1, 8)

    static const tile_fn tiles[9][MR + 1] = {
        [2] = {0, tile_1x2, tile_2x2, tile_3x2, tile_4x2, tile_5x2, tile_6x2},
        [4] = {0, tile_1x4, tile_2x4, tile_3x4},
        [8] = {0, tile_1x8},
};
static const size_t tile_most_rows[9] = {0, 0, 6, 0, 3, 0, 0, 0, 1};

/* Panels are 2, 4, 6 or 8 vectors wide. Few rows want wide strips, to have enough chains in flight. */
static size_t strip_vectors(size_t left, size_t rows)
{
    if (rows == 1 && left == 8) return 8;
    if (rows <= 3 && left >= 4) return 4;
    return 2;
}
#endif

/* ---- a strip of one panel -------------------------------------------------------------------------------- */

static void find_rows(const rill_gemm *g, size_t first, size_t count, tile_rows *t)
{
    for (size_t i = 0; i < count; i++) {
        const size_t r = first + i;
        t->a[0][i] = g->a + rill_row(g->a_index, r) * g->lda;
        t->a[1][i] = g->a2 ? g->a2 + rill_row(g->a2_index, r) * g->lda2 : NULL;
        t->c[i] = g->c + rill_row(g->c_index, r) * g->ldc;
        const int nothing = !g->add || rill_row_absent(g->add_index, r);
        t->add[i] = nothing ? NULL : g->add + rill_row(g->add_index, r) * g->ld_add;
    }
}

/* The epilogue on what a tile has just written, still in L1. */
static void finish(float *c, size_t columns, rill_epilogue e)
{
    for (size_t j = 0; j < columns; j += VL) {
        const vf x = v_load_n(c + j, columns - j);
        v_store_n(c + j, columns - j, e == RILL_EPILOGUE_TANH ? v_tanh(x) : v_max(v_zero(), x));
    }
}

/* Rows [begin, end) of one strip, in tiles of nearly equal height: 7 rows are 4 + 3, not 6 + 1. */
static void run_strip(const rill_gemm *g, const strip *s, size_t nv, size_t begin, size_t end)
{
    const size_t rows = end - begin, count = (rows + tile_most_rows[nv] - 1) / tile_most_rows[nv];
    for (size_t i = 0; i < count; i++) {
        tile_rows t;
        const size_t first = begin + i * rows / count, height = begin + (i + 1) * rows / count - first;
        find_rows(g, first, height, &t);
        tiles[nv][height](s, &t);
        if (g->epilogue == RILL_EPILOGUE_NONE) continue;
        for (size_t j = 0; j < height; j++) finish(t.c[j] + s->first, s->columns, g->epilogue);
    }
}

static void run_panel(const rill_gemm *g, size_t index, size_t begin, size_t end)
{
    const rill_weights *w = g->w;
    const rill_panel p = rill_panel_at(w->n, index);
    const size_t k1 = g->a2 ? g->k1 : w->k;
    for (size_t at = 0; at < p.columns;) {
        const size_t nv = strip_vectors((p.blocks * RILL_BLOCK - at) / VL, end - begin), wide = nv * VL;
        const strip s = {
            .w = rill_block_at(w, p.first + at),
            .apart = RILL_BLOCK * w->k,
            .k = {k1, w->k - k1},
            .bias = g->bias,
            .adds = g->add != NULL,
            .first = p.first + at,
            .columns = p.columns - at < wide ? p.columns - at : wide,
        };
        run_strip(g, &s, nv, begin, end);
        at += wide;
    }
}

/* ---- the division of the call ---------------------------------------------------------------------------- */

/* A call is panels x groups of rows, the group running fastest so that a panel is used while it is near. */
typedef struct division {
    const rill_gemm *g;
    size_t groups;
} division;

static void run_units(const void *arg, size_t begin, size_t end)
{
    const division *d = arg;
    const size_t rows = d->g->rows;
    for (size_t u = begin; u < end; u++) {
        const size_t group = u % d->groups;
        run_panel(d->g, u / d->groups, group * rows / d->groups, (group + 1) * rows / d->groups);
    }
}

void RILL_FN(rill_gemm_f32)(const rill_gemm *g, rill_pool *pool)
{
    if (g->rows == 0) return;
    assert(g->w && g->w->data && g->w->dtype == RILL_DTYPE_F32 && g->a && g->c);
    assert(!g->a2 || (g->k1 >= 1 && g->k1 < g->w->k));
    const size_t panels = rill_panel_count(g->w->n), wanted = rill_pool_threads(pool) > 1 ? 8 : 1;
    division d = {g, (g->rows + GROUP - 1) / GROUP};
    while (panels * d.groups < wanted && g->rows / d.groups > 2 * MR) d.groups++;
    const size_t units = panels * d.groups;
    const double flops = 2.0 * (double)g->rows * (double)g->w->n * (double)g->w->k;
    rill_span_run(pool, run_units, &d, units, flops / FLOPS_PER_NS / (double)units);
}
