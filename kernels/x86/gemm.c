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
#include <string.h>

#include "x86.h"

#define MR 8     /* most rows of any tile */
#define GROUP 96 /* rows that go through a panel before the next panel: their A stays in L2 */
#define FLOPS_PER_NS (VL == 16 ? 100.0 : 50.0) /* for deciding what is worth a thread; an order of magnitude */

#define WIDE ((size_t)64) /* most columns of any tile */

/* Up to MR rows, where their operands are at the strip's first column. Tiles read and write whole vectors. */
typedef struct tile_rows {
    const float *a[2][MR];
    const float *add[MR]; /* never NULL when the strip has adds */
    float *c[MR];
} tile_rows;

/* Columns of one panel: nv vectors, of which C may have fewer columns at its right edge. */
typedef struct strip {
    const float *w; /* packed, the strip's first block */
    size_t apart;   /* floats from block to block */
    size_t k[2];    /* columns of A1 and A2 (0 when there is no A2) */
    int adds;       /* rows have something to add */
    size_t nv, first, columns;
    float start[WIDE]; /* bias, then zeros */
} strip;

/* ---- the tile -------------------------------------------------------------------------------------------- */

/* The sums must stay in registers from start to store. Compilers manage that for named variables; an array of vectors
 * they leave in memory at the first loop or call that they do not see through (measured: gcc stores and reloads it
 * around the loop over k, clang inside it, a factor of 2.5). So c_ij are variables, and what a tile does with each row
 * and vector is spelled by macros; the conditions are constants, and what is beyond mr and nv is gone. */
#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define VECTORS(X, i) X(i, 0) X(i, 1) X(i, 2) X(i, 3) X(i, 4) X(i, 5) X(i, 6) X(i, 7)

#define DECLARE(i, j) vf c##i##j = v_zero();
#define DECLARE_ROW(i) VECTORS(DECLARE, i)
#define START(i, j) \
    if ((i) < mr && (j) < nv) c##i##j = v_load(s->start + (j)*VL);
#define START_ROW(i) VECTORS(START, i)
#define ADD(i, j) \
    if ((i) < mr && (j) < nv) c##i##j = v_add(c##i##j, v_load(t->add[i] + (j)*VL));
#define ADD_ROW(i) VECTORS(ADD, i)
#define STORE(i, j) \
    if ((i) < mr && (j) < nv) v_store(t->c[i] + (j)*VL, c##i##j);
#define STORE_ROW(i) VECTORS(STORE, i)

#define POINT(i) const float *const a##i = (i) < mr ? rows[i] : NULL;
#define WEIGHT(u, j) \
    const vf b##j = (j) < nv ? v_load(w + (size_t)((j)*VL / 16) * apart + (j)*VL % 16 + 16 * (u)) : v_zero();
#define MULTIPLY(i, j) \
    if ((j) < nv) c##i##j = v_fma(x, b##j, c##i##j);
#define MULTIPLY_ROW(i, k)            \
    if ((i) < mr) {                   \
        const vf x = v_set1(a##i[k]); \
        VECTORS(MULTIPLY, i)          \
    }
/* One k for all rows, u behind k. */
#define STEP(u)                                                                                             \
    {                                                                                                       \
        VECTORS(WEIGHT, u)                                                                                  \
        MULTIPLY_ROW(0, k + (u))                                                                            \
        MULTIPLY_ROW(1, k + (u))                                                                            \
        MULTIPLY_ROW(2, k + (u))                                                                            \
        MULTIPLY_ROW(3, k + (u))                                                                            \
        MULTIPLY_ROW(4, k + (u)) MULTIPLY_ROW(5, k + (u)) MULTIPLY_ROW(6, k + (u)) MULTIPLY_ROW(7, k + (u)) \
    }
/* All of A1 or A2; w is at the part's first k before and behind its last k after. */
#define PART(p)                                               \
    {                                                         \
        const float *const *const rows = t->a[p];             \
        const size_t count = s->k[p];                         \
        size_t k = 0;                                         \
        ROWS(POINT)                                           \
        for (; k + 4 <= count; k += 4, w += 4 * RILL_BLOCK) { \
            STEP(0) STEP(1) STEP(2) STEP(3)                   \
        }                                                     \
        for (; k < count; k++, w += RILL_BLOCK) STEP(0)       \
    }

RILL_INLINE void tile(const strip *s, const tile_rows *t, const int mr, const int nv)
{
    const float *w = s->w;
    const size_t apart = s->apart;
    ROWS(DECLARE_ROW)
    ROWS(START_ROW)
    if (s->adds) {
        ROWS(ADD_ROW)
    }
    PART(0)
    if (s->k[1]) PART(1)
    ROWS(STORE_ROW)
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
TILE(6, 1)
TILE(7, 1)
TILE(8, 1)
TILE(1, 2)
TILE(2, 2)
TILE(3, 2)
TILE(4, 2) TILE(5, 2) TILE(6, 2) TILE(7, 2) TILE(8, 2) TILE(1, 3) TILE(2, 3) TILE(3, 3) TILE(4, 3) TILE(5, 3) TILE(6, 3)
    TILE(7, 3) TILE(8, 3) TILE(1, 4) TILE(2, 4) TILE(3, 4) TILE(4, 4) TILE(5, 4) TILE(6, 4)

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
TILE(6, 2)
TILE(1, 4)
TILE(2, 4)
TILE(3, 4)
TILE(1, 8)

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

/* Stand-ins for rows of C and of adds at C's right edge, where whole vectors would reach too far. */
typedef struct edge {
    float add[MR][WIDE], c[MR][WIDE];
} edge;

static const float nothing[WIDE];

static void find_rows(const rill_gemm *g, const strip *s, size_t first, size_t count, tile_rows *t)
{
    for (size_t i = 0; i < count; i++) {
        const size_t r = first + i;
        t->a[0][i] = g->a + rill_row(g->a_index, r) * g->lda;
        t->a[1][i] = g->a2 ? g->a2 + rill_row(g->a2_index, r) * g->lda2 : NULL;
        t->c[i] = g->c + rill_row(g->c_index, r) * g->ldc + s->first;
        const int none = !s->adds || rill_row_absent(g->add_index, r);
        t->add[i] = none ? nothing : g->add + rill_row(g->add_index, r) * g->ld_add + s->first;
    }
}

static void run_tile(const strip *s, const tile_rows *t, size_t count)
{
    if (s->columns == s->nv * VL) {
        tiles[s->nv][count](s, t);
        return;
    }
    edge e;
    tile_rows inner = *t;
    const size_t bytes = s->columns * sizeof(float);
    for (size_t i = 0; i < count; i++) {
        memset(e.add[i], 0, sizeof e.add[i]);
        memcpy(e.add[i], t->add[i], bytes);
        inner.add[i] = e.add[i];
        inner.c[i] = e.c[i];
    }
    tiles[s->nv][count](s, &inner);
    for (size_t i = 0; i < count; i++) memcpy(t->c[i], e.c[i], bytes);
}

RILL_INLINE vf apply(vf x, rill_epilogue e)
{
    switch (e) {
    case RILL_EPILOGUE_TANH: return v_tanh(x);
    case RILL_EPILOGUE_RELU: return v_max(v_zero(), x);
    case RILL_EPILOGUE_SWISH: return v_swish(x);
    case RILL_EPILOGUE_GELU: return v_gelu(x);
    case RILL_EPILOGUE_NONE: break;
    }
    return x;
}

/* The epilogue on what a tile has just written, still in L1. */
static void finish(float *c, size_t columns, rill_epilogue e)
{
    for (size_t j = 0; j < columns; j += VL) v_store_n(c + j, columns - j, apply(v_load_n(c + j, columns - j), e));
}

/* Rows [begin, end) of one strip, in tiles of nearly equal height: 7 rows are 4 + 3, not 6 + 1. */
static void run_strip(const rill_gemm *g, const strip *s, size_t begin, size_t end)
{
    const unsigned rows = (unsigned)(end - begin), most = (unsigned)tile_most_rows[s->nv];
    const unsigned count = (rows + most - 1) / most, height = rows / count;
    unsigned higher = rows % count;
    for (size_t first = begin; first < end;) {
        tile_rows t;
        const size_t n = height + (higher > 0);
        if (higher) higher--;
        find_rows(g, s, first, n, &t);
        run_tile(s, &t, n);
        for (size_t j = 0; g->epilogue != RILL_EPILOGUE_NONE && j < n; j++) finish(t.c[j], s->columns, g->epilogue);
        first += n;
    }
}

static void run_panel(const rill_gemm *g, size_t index, size_t begin, size_t end)
{
    const rill_weights *w = g->w;
    const rill_panel p = rill_panel_at(w->n, index);
    const size_t k1 = g->a2 ? g->k1 : w->k;
    for (size_t at = 0; at < p.columns;) {
        const size_t nv = strip_vectors((p.blocks * RILL_BLOCK - at) / VL, end - begin), wide = nv * VL;
        strip s = {
            .w = rill_block_at(w, p.first + at),
            .apart = RILL_BLOCK * w->k,
            .k = {k1, w->k - k1},
            .adds = g->add != NULL,
            .nv = nv,
            .first = p.first + at,
            .columns = p.columns - at < wide ? p.columns - at : wide,
        };
        if (g->bias) memcpy(s.start, g->bias + s.first, s.columns * sizeof(float));
        run_strip(g, &s, begin, end);
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
