/* gemm.c: the back end's product. Weights are one matrix (RILL_DTYPE_F32_PLAIN), so that a call, or each thread's share
 * of its columns, is one sgemm of the library (two for an A in two parts) where rows lie in order. Gathered or scattered
 * rows pass through a stretch of the stack, some at a time; a row alone needs none.
 *
 * The library never gets threads of its own: work is cut here, on the caller's pool, and each piece runs where it was
 * claimed.
 *
 * Divisions: threads, around the product, the product, the table. */
#include <assert.h>
#include <dnnl.h>
#include <math.h>
#include <string.h>

#include "../internal.h"
#include "onednn.h"

#define STAGE ((size_t)16384) /* floats of a stretch: 64 KB */
#define SPAN_COLUMNS ((size_t)64)
#define NS_PER_PRODUCT 0.02 /* about 100 GFLOP/s */

/* ---- threads --------------------------------------------------------------------------------------------- */

/* libgomp's, when the library was built on it. They speak of the calling thread alone. */
void omp_set_num_threads(int threads) __attribute__((weak));
int omp_get_max_threads(void) __attribute__((weak));

void rill_onednn_threads(int threads)
{
    if (omp_set_num_threads) omp_set_num_threads(threads);
}

/* One thread for what follows; returns what to give to rill_onednn_threads() afterwards. */
static int alone(void)
{
    const int before = omp_get_max_threads ? omp_get_max_threads() : 1;
    if (before != 1) rill_onednn_threads(1);
    return before;
}

/* ---- around the product ---------------------------------------------------------------------------------- */

/* Columns [first, first + columns) of rows [row, row + rows) of the call, and where their C is: c + i * ldc. */
typedef struct piece {
    size_t row, rows, first, columns;
    float *c;
    size_t ldc;
} piece;

/* C before the product: bias, then add, as our own kernels start their sums. */
static void start_row(const rill_gemm *g, const piece *p, size_t i)
{
    float *c = p->c + i * p->ldc;
    const size_t r = p->row + i;
    const float *bias = g->bias ? g->bias + p->first : NULL;
    const float *add = rill_operand_row(&g->add, r);
    for (size_t n = 0; n < p->columns; n++) {
        const float x = bias ? bias[n] : 0.0f;
        c[n] = add ? x + add[p->first + n] : x;
    }
}

static void swish(const rill_kernels *k, size_t n, float *c)
{
    float factor[256];
    for (size_t i = 0; i < n; i += 256) {
        const size_t some = n - i < 256 ? n - i : 256;
        k->sigmoid(some, c + i, factor);
        for (size_t j = 0; j < some; j++) c[i + j] *= factor[j];
    }
}

static void finish_row(const rill_kernels *k, rill_epilogue epilogue, size_t n, float *c)
{
    if (epilogue == RILL_EPILOGUE_TANH) k->tanh(n, c, c);
    if (epilogue == RILL_EPILOGUE_RELU)
        for (size_t i = 0; i < n; i++) c[i] = c[i] < 0.0f ? 0.0f : c[i];
    if (epilogue == RILL_EPILOGUE_SWISH) swish(k, n, c);
    if (epilogue == RILL_EPILOGUE_GELU_TANH) k->gelu_tanh(n, c, c);
    if (epilogue == RILL_EPILOGUE_GELU_SIGMOID) k->gelu_sigmoid(n, c, c);
    if (epilogue == RILL_EPILOGUE_GELU)
        for (size_t i = 0; i < n; i++) c[i] = 0.5f * c[i] * erfcf(c[i] * -0.707106781f);
}

/* ---- the product ----------------------------------------------------------------------------------------- */

/* C += A * rows [from, from + k) of the weights. It fails only for sizes that the assertions of kernels.h exclude. */
static void add_product(const rill_gemm *g, const piece *p, const float *a, size_t lda, size_t from, size_t k)
{
    const size_t ldb = rill_plain_ld(g->w->n);
    const float *b = (const float *)g->w->data + from * ldb + p->first;
    (void)dnnl_sgemm('N', 'N', (dnnl_dim_t)p->rows, (dnnl_dim_t)p->columns, (dnnl_dim_t)k, 1.0f, a, (dnnl_dim_t)lda, b,
                     (dnnl_dim_t)ldb, 1.0f, p->c, (dnnl_dim_t)p->ldc);
}

static size_t columns_of_a(const rill_gemm *g)
{
    return g->a2.at ? g->k1 : g->w->k;
}

/* Rows whose A and C lie in order, or a single one. */
static void multiply_in_place(const rill_gemm *g, const piece *p)
{
    const size_t k1 = columns_of_a(g);
    for (size_t i = 0; i < p->rows; i++) start_row(g, p, i);
    add_product(g, p, rill_operand_row(&g->a, p->row), g->a.ld, 0, k1);
    if (g->a2.at) add_product(g, p, rill_operand_row(&g->a2, p->row), g->a2.ld, k1, g->w->k - k1);
}

/* Rows that do not: A is copied together; C, when it is scattered, is made apart. */
static void multiply_staged(const rill_gemm *g, const piece *p)
{
    float a[STAGE];
    const size_t k = g->w->k, k1 = columns_of_a(g);
    for (size_t i = 0; i < p->rows; i++) {
        memcpy(a + i * k, rill_operand_row(&g->a, p->row + i), k1 * sizeof *a);
        if (g->a2.at) memcpy(a + i * k + k1, rill_operand_row(&g->a2, p->row + i), (k - k1) * sizeof *a);
        start_row(g, p, i);
    }
    add_product(g, p, a, k, 0, k);
}

static void multiply_scattered(const rill_gemm *g, const piece *p)
{
    float c[STAGE];
    piece apart = *p;
    apart.c = c;
    apart.ldc = p->columns;
    multiply_staged(g, &apart);
    for (size_t i = 0; i < p->rows; i++)
        memcpy(rill_operand_row(&g->c, p->row + i) + p->first, c + i * p->columns, p->columns * sizeof *c);
}

/* How many rows go together: all when they lie in order, else what both stretches hold. */
static size_t rows_at_once(const rill_gemm *g, const piece *p)
{
    if (!g->a.index && !g->a2.index && !g->c.index) return p->rows;
    size_t rows = STAGE / g->w->k;
    if (g->c.index && rows > STAGE / p->columns) rows = STAGE / p->columns;
    return rows > 0 ? rows : 1;
}

static void multiply(const rill_gemm *g, const piece *all, size_t at_once)
{
    piece p = *all;
    rill_kernels k;
    rill_kernels_init(&k, RILL_ISA_ALL);
    for (size_t done = 0; done < all->rows; done += p.rows) {
        p.row = all->row + done;
        p.rows = all->rows - done < at_once ? all->rows - done : at_once;
        p.c = rill_operand_row(&g->c, p.row) + p.first;
        p.ldc = g->c.ld;
        if (p.rows == 1 || (!g->a.index && !g->a2.index && !g->c.index))
            multiply_in_place(g, &p);
        else if (g->c.index)
            multiply_scattered(g, &p);
        else
            multiply_staged(g, &p);
        for (size_t i = 0; g->epilogue != RILL_EPILOGUE_NONE && i < p.rows; i++)
            finish_row(&k, g->epilogue, p.columns, rill_operand_row(&g->c, p.row + i) + p.first);
    }
}

/* ---- the table ------------------------------------------------------------------------------------------- */

/* Weights that are not packed for the back end are multiplied by our own kernels: 1 when these have done it. */
static int left_to_own(const rill_gemm *g, rill_pool *pool)
{
    assert(g->w && g->w->data && ((g->a.at && g->c.at) || g->rows == 0));
    assert(!g->a2.at || (g->k1 >= 1 && g->k1 < g->w->k));
    if (g->w->dtype == RILL_DTYPE_F32_PLAIN) return 0;
    rill_kernels k;
    rill_kernels_init(&k, RILL_ISA_ALL);
    k.gemm(g, pool);
    return 1;
}

static void some_columns(const void *arg, size_t begin, size_t end)
{
    const rill_gemm *g = arg;
    const size_t first = begin * SPAN_COLUMNS, last = end * SPAN_COLUMNS < g->w->n ? end * SPAN_COLUMNS : g->w->n;
    const piece p = {.row = 0, .rows = g->rows, .first = first, .columns = last - first};
    const int before = alone();
    multiply(g, &p, rows_at_once(g, &p));
    if (before != 1) rill_onednn_threads(before);
}

static void some_rows(const void *arg, size_t begin, size_t end)
{
    const rill_gemm *g = arg;
    const piece p = {.row = begin, .rows = end - begin, .first = 0, .columns = g->w->n};
    const int before = alone();
    multiply(g, &p, 1);
    if (before != 1) rill_onednn_threads(before);
}

static void gemm_together(const rill_gemm *g, rill_pool *pool)
{
    if (left_to_own(g, pool) || g->rows == 0) return;
    const size_t items = (g->w->n + SPAN_COLUMNS - 1) / SPAN_COLUMNS;
    rill_span_run(pool, some_columns, g, items, NS_PER_PRODUCT * (double)(g->rows * g->w->k * SPAN_COLUMNS));
}

static void gemm_row_by_row(const rill_gemm *g, rill_pool *pool)
{
    if (left_to_own(g, pool)) return;
    rill_span_run(pool, some_rows, g, g->rows, NS_PER_PRODUCT * (double)(g->w->k * g->w->n));
}

int rill_kernels_use_onednn(rill_kernels *k, int row_by_row)
{
    const float one = 1.0f;
    float c = 0.0f;
    if (dnnl_sgemm('N', 'N', 1, 1, 1, 1.0f, &one, 1, &one, 1, 0.0f, &c, 1) != dnnl_success || c != 1.0f) return -1;
    k->gemm = row_by_row ? gemm_row_by_row : gemm_together;
    k->name = row_by_row ? "onednn-rows" : "onednn";
    k->f32 = RILL_DTYPE_F32_PLAIN;
    return 0;
}
