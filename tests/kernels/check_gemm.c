/* check_gemm.c: gemm against sums in double over the unpacked weights, and against itself in other company.
 *
 * Tolerance: K + 3 roundings of 2^-24 each, relative to bias + add + sum |a||w|: the bound of any order of summation.
 * Tanh adds its own few ulp, swish and gelu those of their factor. Two statements are checked to the bit: a row alone
 * equals the row in any batch (gathered, permuted, on threads), and a row of A given in two parts equals the row given
 * in one. */
#include <math.h>

#include "check.h"

typedef struct problem {
    size_t rows, n, k, table, lda, ldc; /* table: rows of the tables that indices point into */
    float *a, *w, *bias, *add;          /* [table, k] ld lda; [n, k]; [n] or NULL; [table, n] or NULL */
    int32_t *a_index, *add_index, *c_index;
    rill_epilogue epilogue;
    rill_weights packed;
} problem;

static problem draw(check *c, int hard)
{
    problem p = {.rows = dice_from(c, 0, 45), .n = dice_from(c, 1, 200), .k = dice_from(c, 1, 90)};
    if (dice_below(c, 4) == 0) p.rows = dice_from(c, 90, 220), p.n = dice_from(c, 1, 80);
    p.table = p.rows + dice_below(c, 9) + 1;
    p.lda = p.k + dice_below(c, 5);
    p.ldc = p.n + dice_below(c, 5);
    p.epilogue = (rill_epilogue)dice_below(c, 5);
    p.a = buffer(c, p.table * p.lda);
    p.w = buffer(c, p.n * p.k);
    (hard ? dice_fill_hard : dice_fill)(c, p.a, p.table * p.lda, 1.0f);
    (hard ? dice_fill_hard : dice_fill)(c, p.w, p.n * p.k, 0.2f);
    if (dice_below(c, 2)) dice_fill(c, p.bias = buffer(c, p.n), p.n, 1.0f);
    if (dice_below(c, 2)) dice_fill(c, p.add = buffer(c, p.table * p.n), p.table * p.n, 1.0f);
    p.a_index = buffer_int(c, p.rows);
    p.add_index = buffer_int(c, p.rows);
    p.c_index = buffer_int(c, p.rows);
    for (size_t r = 0; r < p.rows; r++) {
        p.a_index[r] = (int32_t)dice_below(c, p.table);
        p.add_index[r] = (int32_t)dice_below(c, p.table + 1) - 1;
    }
    dice_choose(c, p.c_index, p.rows, p.table);
    const size_t bytes = rill_gemm_pack_size(p.n, p.k, RILL_DTYPE_F32);
    const rill_weight_part part = {p.w, p.k, p.k, 1};
    EXPECT(c, rill_gemm_pack_f32(&p.packed, p.n, &part, 1, RILL_DTYPE_F32, buffer_aligned(c, bytes)) == 0, "pack");
    case_name(c, "rows=%zu n=%zu k=%zu bias=%d add=%d epilogue=%d hard=%d", p.rows, p.n, p.k, p.bias != NULL,
              p.add != NULL, (int)p.epilogue, hard);
    return p;
}

static rill_gemm call(const problem *p, float *out)
{
    return (rill_gemm){.w = &p->packed,
                       .rows = p->rows,
                       .a = p->a,
                       .lda = p->lda,
                       .a_index = p->a_index,
                       .bias = p->bias,
                       .add = p->add,
                       .ld_add = p->n,
                       .add_index = p->add_index,
                       .epilogue = p->epilogue,
                       .c = out,
                       .ldc = p->ldc,
                       .c_index = p->c_index};
}

static void expect_value(check *c, const problem *p, size_t r, size_t n, float got)
{
    const float *a = p->a + (size_t)p->a_index[r] * p->lda, *w = p->w + n * p->k;
    double sum = 0.0, size = 0.0;
    if (p->bias) sum += (double)p->bias[n], size += fabs((double)p->bias[n]);
    if (p->add && p->add_index[r] >= 0) {
        const double x = (double)p->add[(size_t)p->add_index[r] * p->n + n];
        sum += x, size += fabs(x);
    }
    for (size_t k = 0; k < p->k; k++) {
        sum += (double)a[k] * (double)w[k];
        size += fabs((double)a[k] * (double)w[k]);
    }
    double tolerance = ((double)p->k + 3.0) * 0x1p-24 * size + (double)p->k * 0x1p-149;
    if (p->epilogue == RILL_EPILOGUE_TANH) sum = tanh(sum), tolerance = fmin(tolerance, 2.0) + 3e-7;
    if (p->epilogue == RILL_EPILOGUE_RELU) sum = fmax(sum, 0.0);
    if (p->epilogue == RILL_EPILOGUE_SWISH || p->epilogue == RILL_EPILOGUE_GELU) {
        /* Slopes of up to 1.13, then a few ulp of the value and the tail's absolute error, times |x|. */
        tolerance = 1.15 * tolerance + 4e-7 * fabs(sum);
        sum *= p->epilogue == RILL_EPILOGUE_SWISH ? 1.0 / (1.0 + exp(-sum)) : 0.5 * erfc(-sum * sqrt(0.5));
    }
    EXPECT(c, near((double)got, sum, tolerance), "C(%zu,%zu) = %.9g, not %.9g +- %.2g", r, n, (double)got, sum,
           tolerance);
}

static void expect_gaps(check *c, const problem *p, const float *out)
{
    for (size_t r = 0; r < p->table; r++) {
        int written = 0;
        for (size_t i = 0; i < p->rows; i++) written |= p->c_index[i] == (int32_t)r;
        for (size_t j = written ? p->n : 0; j < p->ldc; j++)
            EXPECT(c, buffer_kept(out, r * p->ldc + j), "C was written outside, at row %zu column %zu", r, j);
    }
}

/* The rows of a call, taken anew: `count` of them in the given order, contiguous or gathered, give the same bits. */
static void expect_same(check *c, const problem *p, const float *all, const int32_t *order, size_t count,
                        int contiguous, rill_pool *pool)
{
    float *out = buffer_patterned(c, count * p->ldc + 1), *a = buffer(c, count * p->k + 1);
    int32_t *a_index = buffer_int(c, count), *add_index = buffer_int(c, count);
    for (size_t i = 0; i < count; i++) {
        const size_t r = (size_t)order[i];
        a_index[i] = p->a_index[r];
        add_index[i] = p->add_index[r];
        memcpy(a + i * p->k, p->a + (size_t)p->a_index[r] * p->lda, p->k * sizeof *a);
    }
    rill_gemm g = call(p, out);
    g.rows = count;
    g.a_index = a_index;
    g.add_index = add_index;
    g.c_index = NULL;
    if (contiguous) g.a = a, g.lda = p->k, g.a_index = NULL;
    c->k.gemm(&g, pool);
    for (size_t i = 0; i < count; i++)
        EXPECT(c, same_bits(out + i * p->ldc, all + (size_t)p->c_index[order[i]] * p->ldc, p->n),
               "row %d differs in a batch of %zu (contiguous %d, threads %u)", (int)order[i], count, contiguous,
               rill_pool_threads(pool));
}

static void expect_invariant(check *c, const problem *p, const float *all)
{
    int32_t *order = buffer_int(c, p->rows);
    dice_permutation(c, order, p->rows);
    expect_same(c, p, all, order, p->rows, 0, NULL);
    expect_same(c, p, all, order, p->rows, 1, c->pool[0]);
    expect_same(c, p, all, order, p->rows, 0, c->pool[1]);
    for (int i = 0; i < 3; i++) {
        const size_t from = dice_below(c, p->rows), count = dice_from(c, 1, p->rows - from);
        expect_same(c, p, all, order + from, count, (int)dice_below(c, 2), NULL);
    }
    for (size_t r = 0; r < p->rows && r < 12; r++) expect_same(c, p, all, order + r, 1, (int)dice_below(c, 2), NULL);
}

/* A in two parts, weights packed from two parts (the second one transposed): the same bits as in one. */
static void expect_parts(check *c, const problem *p, const float *all)
{
    if (p->k < 2) return;
    const size_t k1 = dice_from(c, 1, p->k - 1), k2 = p->k - k1;
    float *across = buffer(c, k2 * p->n), *out = buffer_patterned(c, p->table * p->ldc);
    for (size_t n = 0; n < p->n; n++)
        for (size_t k = 0; k < k2; k++) across[k * p->n + n] = p->w[n * p->k + k1 + k];
    const rill_weight_part parts[2] = {{p->w, k1, p->k, 1}, {across, k2, 1, p->n}};
    rill_weights packed;
    void *mem = buffer_aligned(c, rill_gemm_pack_size(p->n, p->k, RILL_DTYPE_F32));
    EXPECT(c, rill_gemm_pack_f32(&packed, p->n, parts, 2, RILL_DTYPE_F32, mem) == 0, "pack");
    rill_gemm g = call(p, out);
    g.w = &packed;
    g.k1 = k1;
    g.a2 = p->a + k1;
    g.lda2 = p->lda;
    g.a2_index = p->a_index;
    c->k.gemm(&g, NULL);
    EXPECT(c, same_bits(out, all, p->table * p->ldc), "A in parts of %zu and %zu differs", k1, k2);
}

/* A NaN or infinity in one row stays in that row. */
static void expect_contained(check *c, const problem *p, const float *all)
{
    float *out = buffer_patterned(c, p->table * p->ldc);
    const size_t bad = dice_below(c, p->table);
    for (size_t k = 0; k < p->k; k++) p->a[bad * p->lda + k] = k % 2 ? NAN : INFINITY;
    const rill_gemm g = call(p, out);
    c->k.gemm(&g, NULL);
    for (size_t r = 0; r < p->rows; r++)
        if ((size_t)p->a_index[r] != bad)
            EXPECT(c, same_bits(out + (size_t)p->c_index[r] * p->ldc, all + (size_t)p->c_index[r] * p->ldc, p->n),
                   "row %zu suffers from a bad row", r);
}

/* add == c: accumulating in place. */
static void expect_in_place(check *c, const problem *p)
{
    float *out = buffer(c, p->rows * p->n), *add = buffer(c, p->rows * p->n);
    dice_fill(c, out, p->rows * p->n, 1.0f);
    memcpy(add, out, p->rows * p->n * sizeof *out);
    float *apart = buffer(c, p->rows * p->n);
    rill_gemm g = call(p, apart);
    g.c_index = g.add_index = NULL;
    g.add = add;
    g.ldc = g.ld_add = p->n;
    c->k.gemm(&g, NULL);
    g.add = g.c = out;
    c->k.gemm(&g, NULL);
    EXPECT(c, same_bits(out, apart, p->rows * p->n), "in place differs");
}

void check_gemm(check *c)
{
    EXPECT(c, rill_gemm_pack_size(3, 5, (rill_dtype)99) == 0, "an unknown dtype has a size");
    for (unsigned round = 0; round < c->rounds; round++) {
        const problem p = draw(c, round % 4 == 3);
        float *out = buffer_patterned(c, p.table * p.ldc);
        const rill_gemm g = call(&p, out);
        c->k.gemm(&g, NULL);
        for (size_t r = 0; r < p.rows; r++)
            for (size_t n = 0; n < p.n; n++) expect_value(c, &p, r, n, out[(size_t)p.c_index[r] * p.ldc + n]);
        expect_gaps(c, &p, out);
        if (p.rows) expect_invariant(c, &p, out);
        expect_parts(c, &p, out);
        expect_in_place(c, &p);
        expect_contained(c, &p, out);
        buffers_finish(c);
    }
}

/* ---- bench ---- */

typedef struct timed {
    const rill_kernels *k;
    rill_gemm g;
} timed;

static void timed_call(void *arg)
{
    const timed *t = arg;
    t->k->gemm(&t->g, NULL);
}

void bench_gemm(check *c)
{
    static const size_t shapes[][2] = {{128, 512}, {200, 800}, {400, 200}, {200, 100}, {512, 512}, {512, 2048}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const size_t k = shapes[i][0], n = shapes[i][1];
        const rill_weight_part part = {buffer(c, n * k), k, k, 1};
        rill_weights w;
        rill_gemm_pack_f32(&w, n, &part, 1, RILL_DTYPE_F32,
                           buffer_aligned(c, rill_gemm_pack_size(n, k, RILL_DTYPE_F32)));
        printf("gemm %s k=%-4zu n=%-4zu", c->isa, k, n);
        for (size_t rows = 1; rows <= 640; rows = rows == 1 ? 5 : rows == 5 ? 10 : rows == 640 ? 641 : rows * 2) {
            timed t = {&c->k,
                       {.w = &w, .rows = rows, .a = buffer(c, rows * k), .lda = k, .c = buffer(c, rows * n), .ldc = n}};
            const double s = bench_seconds(timed_call, &t);
            printf("  %zu:%.0f", rows, 2e-9 * (double)rows * (double)n * (double)k / s);
        }
        printf(" GFLOP/s\n");
        buffers_finish(c);
    }
}
