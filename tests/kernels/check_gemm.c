/* check_gemm.c: gemm against sums in double over the unpacked weights, and against itself with other rows.
 *
 * Tolerance: K + 3 roundings of 2^-24 each, relative to bias + add + sum |a||w|, a bound for any order of summation.
 * Tanh adds its own few ulp, swish and gelu those of their factor. With bf16 the weights are the rounded ones. With
 * int8, a and w are the quantised values, and the integers before an activation must be exact on every instruction set;
 * the quantisation error is bounded separately. A set that multiplies bf16 must equal an emulation of its instruction.
 * Checked to the bit: a row alone equals the row in any batch (gathered, permuted, on threads); a row of A in two parts
 * equals the row in one; bf16 weights equal fp32 weights of the same values, unless the set multiplies bf16.
 *
 * Sections: drawing, values, other rows in the call, corner cases, bench. */
#include <math.h>

#include "kernel_check.h"

/* ---- drawing --------------------------------------------------------------------------------------------- */

typedef struct problem {
    rill_dtype dtype;
    size_t rows, n, k, table, lda, ldc; /* table: rows of the tables that indices point into */
    float *a, *w, *bias, *add;          /* [table, k] ld lda; [n, k]; [n] or NULL; [table, n] or NULL */
    int32_t *a_index, *add_index, *c_index;
    rill_activation activation;
    rill_weights packed;
} problem;

static void pack(check *c, rill_weights *w, size_t n, size_t k, const float *from, size_t stride, rill_dtype dtype)
{
    void *mem = buffer_aligned(c, rill_gemm_pack_size(n, k, dtype));
    EXPECT(c, rill_gemm_pack_f32(w, n, k, from, stride, dtype, mem) == 0, "pack");
}

static problem draw(check *c, int hard, rill_dtype dtype)
{
    problem p = {.dtype = dtype, .rows = dice_from(c, 0, 45), .n = dice_from(c, 1, 200), .k = dice_from(c, 1, 90)};
    if (dice_below(c, 4) == 0) p.rows = dice_from(c, 90, 220), p.n = dice_from(c, 1, 80);
    if (dice_below(c, 8) == 0) p.rows = dice_from(c, 250, 530), p.n = dice_from(c, 1, 40), p.k = dice_from(c, 1, 40);
    /* K that fills whole registers of AMX, but for up to 3 or 1 values */
    const size_t whole = dtype == RILL_DTYPE_BF16 ? 32 : 64;
    if ((c->k.isa & RILL_ISA_AMX) && dice_below(c, 2)) p.k = dice_from(c, 1, 3) * whole - dice_below(c, whole / 16);
    p.table = p.rows + dice_below(c, 9) + 1;
    p.lda = p.k + dice_below(c, 5);
    p.ldc = p.n + dice_below(c, 5);
    p.activation = (rill_activation)dice_below(c, RILL_N_ACTIVATIONS);
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
    pack(c, &p.packed, p.n, p.k, p.w, p.k, dtype);
    case_name(c, "dtype=%d rows=%zu n=%zu k=%zu bias=%d add=%d activation=%d hard=%d", (int)dtype, p.rows, p.n, p.k,
              p.bias != NULL, p.add != NULL, (int)p.activation, hard);
    return p;
}

/* Return scratch memory for the call, filled with NaNs; NULL if the call needs none. */
static void *dirty_scratch(check *c, const rill_weights *w, size_t rows)
{
    const size_t bytes = rill_gemm_scratch_size(w, rows);
    return bytes ? memset(buffer_aligned(c, bytes), 0xff, bytes) : NULL;
}

static rill_gemm call(check *c, const problem *p, size_t rows, float *out)
{
    return (rill_gemm){.w = &p->packed,
                       .rows = rows,
                       .a = {p->a, p->lda, p->a_index},
                       .bias = p->bias,
                       .add = {p->add, p->n, p->add_index},
                       .activation = p->activation,
                       .c = {out, p->ldc, p->c_index},
                       .scratch = dirty_scratch(c, &p->packed, rows)};
}

/* ---- values ---------------------------------------------------------------------------------------------- */

/* Convert to bf16 and back by definition: the nearest value, ties to even. */
static float rounded(float x)
{
    uint32_t bits, low;
    float down, up;
    memcpy(&bits, &x, sizeof bits);
    low = bits & 0xffff0000u;
    memcpy(&down, &low, sizeof down);
    low += 0x10000;
    memcpy(&up, &low, sizeof up);
    const double below = fabs((double)x - (double)down), above = fabs((double)up - (double)x);
    if (below == above) return low & 0x10000 ? down : up;
    return below < above ? down : up;
}

/* 1: the set multiplies bf16 weights by rows that are rounded to bf16 too; 0: it multiplies in fp32. */
static int multiplies_bf16(const check *c, const problem *p)
{
    return p->dtype == RILL_DTYPE_BF16 && (c->k.isa & RILL_ISA_AVX512_BF16) != 0;
}

/* Denormal numbers become zeros of their sign, as vdpbf16ps reads and writes them. */
static float flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x;
}

/* 1: the GEMM uses tdpbf16ps, which needs whole registers of 32 k. Packed weights fill the last pair of k with zeros. */
static int multiplies_tiles(const check *c, const problem *p)
{
    return (c->k.isa & RILL_ISA_AMX) != 0 && (p->k + 1) / 2 % 16 == 0;
}

/* Element (r, n) as the processor computes it, before the activation. vdpbf16ps adds to the sum the product of the odd k of each pair,
 * then of the even one. tdpbf16ps sums the even k and the odd k of 32 apart, and adds both to the sum; bias and add come last.
 * *size: a bound of the error from rounding the row and from flushing denormals. */
static float value_bf16(const problem *p, int tiles, size_t r, size_t n, double *size)
{
    const float *a = p->a + (size_t)p->a_index[r] * p->lda, *w = p->w + n * p->k;
    float sum = p->bias ? p->bias[n] : 0.0f;
    if (p->add && p->add_index[r] >= 0) sum += p->add[(size_t)p->add_index[r] * p->n + n];
    const float start = sum;
    float chain[2] = {0.0f, 0.0f};
    sum = tiles ? 0.0f : flushed(sum);
    *size = 0.0;
    for (size_t pair = 0; pair < p->k; pair += 2)
        for (size_t k = pair + 2; k-- > pair;) {
            const float x = k < p->k ? flushed(a[k]) : 0.0f, y = k < p->k ? rounded(w[k]) : 0.0f;
            float *const to = tiles ? &chain[k % 2] : &sum;
            *to = flushed(fmaf(rounded(x), flushed(y), *to));
            if (k < p->k)
                *size += fabs((double)a[k] * (double)y) * (x != a[k] || flushed(y) != y ? 1.0 : 0x1p-8) + 0x1p-125;
            if (tiles && k % 32 == 30) {
                sum = flushed(sum + flushed(chain[0] + chain[1]));
                chain[0] = chain[1] = 0.0f;
            }
        }
    return tiles ? start + sum : sum;
}

/* Numbers as int8: the nearest to x / unit, with ties as the header states. */
typedef struct quantised {
    float unit, inverse;
} quantised;

static quantised quantise(const float *x, size_t n)
{
    float max = 0.0f;
    for (size_t i = 0; i < n; i++) max = fmaxf(max, fabsf(x[i]));
    if (max < 0x1p-100f) return (quantised){0.0f, 0.0f};
    return (quantised){max / 127.0f, 127.0f / max};
}

/* Return the exact element (r, n) of an int8 product before its activation. *size: a bound of the quantisation
 * error. */
static float value_u8s8(const problem *p, size_t r, size_t n, double *size)
{
    const float *a = p->a + (size_t)p->a_index[r] * p->lda, *w = p->w + n * p->k;
    const quantised qa = quantise(a, p->k), qw = quantise(w, p->k);
    int64_t sum = 0;
    float start = p->bias ? p->bias[n] : 0.0f;
    if (p->add && p->add_index[r] >= 0) start += p->add[(size_t)p->add_index[r] * p->n + n];
    *size = 0.0;
    for (size_t k = 0; k < p->k; k++) {
        sum += (int64_t)rintf(a[k] * qa.inverse) * (int64_t)rintf(w[k] * qw.inverse);
        *size += 0.501 *
                 (fabs((double)w[k]) * (double)qa.unit + (fabs((double)a[k]) + (double)qa.unit) * (double)qw.unit);
        /* a row of numbers below 2^-100 counts as zeros */
        if (qa.unit == 0.0f || qw.unit == 0.0f) *size += fabs((double)a[k] * (double)w[k]);
    }
    const float unit = qa.unit * qw.unit, product = (float)sum * unit;
    return start + product;
}

/* Compute the activation of x in double. An activation without a case here is compared with its elementwise
 * function. */
static double activated(const check *c, rill_activation activation, double x)
{
    float y, rounded_x = (float)x;
    switch (activation) {
    case RILL_LINEAR: return x;
    case RILL_TANH: return tanh(x);
    case RILL_RELU: return fmax(x, 0.0);
    case RILL_SIGMOID: return 1.0 / (1.0 + exp(-x));
    case RILL_SWISH: return x / (1.0 + exp(-x));
    case RILL_GELU: return x * 0.5 * erfc(-x * sqrt(0.5));
    case RILL_GELU_TANH: return x * (0.5 + 0.5 * tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case RILL_GELU_SIGMOID: return x / (1.0 + exp(-1.702 * x));
    default: elementwise(c, (int)activation, 1, &rounded_x, &y); return (double)y;
    }
}

static void expect_value(check *c, const problem *p, size_t r, size_t n, float got)
{
    const float *a = p->a + (size_t)p->a_index[r] * p->lda, *w = p->w + n * p->k;
    double sum = 0.0, size = 0.0, drift = 0.0, from = 0.0;
    if (p->bias) sum += (double)p->bias[n], size += fabs((double)p->bias[n]);
    if (p->add && p->add_index[r] >= 0) {
        const double x = (double)p->add[(size_t)p->add_index[r] * p->n + n];
        sum += x, size += fabs(x);
    }
    for (size_t k = 0; k < p->k; k++) {
        const double product = (double)a[k] * (double)(p->dtype == RILL_DTYPE_BF16 ? rounded(w[k]) : w[k]);
        sum += product;
        size += fabs(product);
    }
    double tolerance = ((double)p->k + 3.0) * 0x1p-24 * size + (double)p->k * 0x1p-149;
    if (p->dtype == RILL_DTYPE_U8S8 || multiplies_bf16(c, p)) {
        from = sum;
        sum = p->dtype == RILL_DTYPE_U8S8 ? (double)value_u8s8(p, r, n, &drift)
                                          : (double)value_bf16(p, multiplies_tiles(c, p), r, n, &drift);
        EXPECT(c, near(sum, from, drift + tolerance) || !(fabs(sum) <= 3.4e38), "%zu,%zu: %.9g is not near %.9g", r, n,
               sum, from);
        tolerance = 0.0;
        if (p->activation == RILL_LINEAR && !(got != got && sum != sum))
            EXPECT(c, got == (float)sum, "C(%zu,%zu) = %.9g, not %.9g", r, n, (double)got, sum);
    }
    if (p->activation == RILL_TANH || p->activation == RILL_SIGMOID)
        tolerance = fmin(tolerance, 2.0) + 3e-7;
    else if (p->activation != RILL_LINEAR && p->activation != RILL_RELU)
        /* The slope is up to 1.13; added are a few ulp of the value, and the absolute error of the tail times |x|. */
        tolerance = 1.15 * tolerance + 4e-7 * fabs(sum);
    sum = activated(c, p->activation, sum);
    EXPECT(c, near((double)got, sum, tolerance), "C(%zu,%zu) = %.9g, not %.9g +- %.2g", r, n, (double)got, sum,
           tolerance);
}

/* --- other rows in the call ------------------------------------------------------------------------------- */

static void expect_gaps(check *c, const problem *p, const float *out)
{
    for (size_t r = 0; r < p->table; r++) {
        int written = 0;
        for (size_t i = 0; i < p->rows; i++) written |= p->c_index[i] == (int32_t)r;
        for (size_t j = written ? p->n : 0; j < p->ldc; j++)
            EXPECT(c, buffer_kept(out, r * p->ldc + j), "C was written outside, at row %zu column %zu", r, j);
    }
}

/* `count` rows of the call, repeated in this order, contiguous or gathered, must give the same bits. */
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
    rill_gemm g = call(c, p, count, out);
    g.a.index = a_index;
    g.add.index = add_index;
    g.c.index = NULL;
    if (contiguous) g.a.data = a, g.a.ld = p->k, g.a.index = NULL;
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

/* A in two parts, or weights packed from rows with gaps, must give the same bits. */
static void expect_parts(check *c, const problem *p, const float *all)
{
    if (p->k < 2) return;
    const size_t k1 = dice_from(c, 1, p->k - 1), k2 = p->k - k1;
    const size_t stride = p->k + 3;
    float *spread = buffer(c, p->n * stride), *out = buffer_patterned(c, p->table * p->ldc);
    for (size_t n = 0; n < p->n; n++) memcpy(spread + n * stride, p->w + n * p->k, p->k * sizeof *spread);
    rill_weights packed;
    pack(c, &packed, p->n, p->k, spread, stride, p->dtype);
    rill_gemm g = call(c, p, p->rows, out);
    g.w = &packed;
    g.k1 = k1;
    g.a2.data = p->a + k1;
    g.a2.ld = p->lda;
    g.a2.index = p->a_index;
    c->k.gemm(&g, NULL);
    EXPECT(c, same_bits(out, all, p->table * p->ldc), "A in parts of %zu and %zu differs", k1, k2);
    for (size_t i = 0; i < p->rows * p->n; i++)
        expect_value(c, p, i / p->n, i % p->n, out[(size_t)p->c_index[i / p->n] * p->ldc + i % p->n]);
}

/* Weights that are rounded to bf16 beforehand and packed as fp32 must give the same bits. */
static void expect_as_rounded(check *c, const problem *p, const float *all)
{
    float *w = buffer(c, p->n * p->k), *out = buffer_patterned(c, p->table * p->ldc);
    for (size_t i = 0; i < p->n * p->k; i++) w[i] = rounded(p->w[i]);
    rill_weights packed;
    pack(c, &packed, p->n, p->k, w, p->k, RILL_DTYPE_F32);
    rill_gemm g = call(c, p, p->rows, out);
    g.w = &packed;
    c->k.gemm(&g, NULL);
    EXPECT(c, same_bits(out, all, p->table * p->ldc), "bf16 differs from fp32 with the same weights");
}

/* --- corner cases ----------------------------------------------------------------------------------------- */

/* A NaN or infinity in one row must stay in that row. */
static void expect_contained(check *c, const problem *p, const float *all)
{
    float *out = buffer_patterned(c, p->table * p->ldc);
    const size_t bad = dice_below(c, p->table);
    p->a[bad * p->lda + dice_below(c, p->k)] = dice_below(c, 2) ? NAN : -INFINITY;
    const rill_gemm g = call(c, p, p->rows, out);
    c->k.gemm(&g, NULL);
    for (size_t r = 0; r < p->rows; r++) {
        const float *got = out + (size_t)p->c_index[r] * p->ldc;
        if ((size_t)p->a_index[r] != bad)
            EXPECT(c, same_bits(got, all + (size_t)p->c_index[r] * p->ldc, p->n), "row %zu suffers from a bad row", r);
        for (size_t n = 0; p->dtype == RILL_DTYPE_U8S8 && (size_t)p->a_index[r] == bad && n < p->n; n++)
            EXPECT(c, got[n] != got[n], "C(%zu,%zu) = %.9g of a row with no unit", r, n, (double)got[n]);
    }
}

/* c may be the addend too: the product is then added in place. */
static void expect_in_place(check *c, const problem *p)
{
    float *out = buffer(c, p->rows * p->n), *add = buffer(c, p->rows * p->n);
    dice_fill(c, out, p->rows * p->n, 1.0f);
    memcpy(add, out, p->rows * p->n * sizeof *out);
    float *separate = buffer(c, p->rows * p->n);
    rill_gemm g = call(c, p, p->rows, separate);
    g.c.index = g.add.index = NULL;
    g.add.data = add;
    g.c.ld = g.add.ld = p->n;
    c->k.gemm(&g, NULL);
    g.add.data = g.c.data = out;
    c->k.gemm(&g, NULL);
    EXPECT(c, same_bits(out, separate, p->rows * p->n), "in place differs");
}

/* A product may use rows that another product with the same K has already quantised or rounded. */
static void expect_quantised_once(check *c, rill_dtype dtype)
{
    const size_t rows = dice_from(c, 1, RILL_GEMM_QUANT_ROWS), k = dice_from(c, 2, 90), k1 = dice_from(c, 1, k - 1);
    const size_t n[2] = {dice_from(c, 1, 70), dice_from(c, 1, 70)};
    float *a = buffer(c, rows * k), *out[3];
    rill_weights w[2];
    dice_fill(c, a, rows * k, 2.0f);
    for (int i = 0; i < 2; i++) {
        float *weights = buffer(c, n[i] * k);
        dice_fill(c, weights, n[i] * k, 1.0f);
        pack(c, &w[i], n[i], k, weights, k, dtype);
    }
    void *scratch = buffer_aligned(c, rill_gemm_scratch_size(&w[0], rows));
    for (int i = 0; i < 3; i++) {
        const int which = i == 0 ? 1 : i - 1; /* run the second product alone, then the first followed by the second */
        out[i] = buffer(c, rows * n[which]);
        c->k.gemm(&(rill_gemm){.w = &w[which],
                               .rows = rows,
                               .a = {a, k},
                               .a2 = {a + k1, k},
                               .k1 = k1,
                               .c = {out[i], n[which]},
                               .scratch = scratch,
                               .reuse_quantised = i == 2},
                  c->pool[0]);
    }
    case_name(c, "quantised once: dtype=%d rows=%zu k=%zu", (int)dtype, rows, k);
    EXPECT(c, same_bits(out[0], out[2], rows * n[1]), "rows quantised before differ");
    buffers_finish(c);
}

/* A row must have the same bits as the row alone, for every number of rows up to several chunks, whatever tiles and
 * chunks the rows are cut into. */
static void expect_bf16_batches(check *c, size_t K)
{
    enum { ROWS = 600, N = 81 };
    problem p = {.dtype = RILL_DTYPE_BF16, .rows = ROWS, .n = N, .k = K, .table = ROWS, .lda = K, .ldc = N};
    float *all = buffer(c, ROWS * N), *out = buffer(c, ROWS * N);
    dice_fill(c, p.a = buffer(c, ROWS * K), ROWS * K, 1.0f);
    dice_fill(c, p.w = buffer(c, N * K), N * K, 1.0f);
    pack(c, &p.packed, N, K, p.w, K, p.dtype);
    rill_gemm g = call(c, &p, ROWS, out), one = g;
    one.rows = 1;
    for (size_t r = 0; r < ROWS; r++) {
        one.a.data = p.a + r * K;
        one.c.data = all + r * N;
        c->k.gemm(&one, NULL);
    }
    for (g.rows = 1; g.rows <= ROWS; g.rows += g.rows < 100 ? 1 : 13) {
        case_name(c, "bf16, %zu rows", g.rows);
        c->k.gemm(&g, c->pool[g.rows % 2]);
        EXPECT(c, same_bits(out, all, g.rows * N), "other bits than those of single rows");
    }
    buffers_finish(c);
}

/* The largest possible sums, with the sign that would saturate 16 bits. Also rows and columns of zeros, which have no
 * unit. */
static void expect_extremes(check *c)
{
    enum { K = 1024, N = 20, ROWS = 4 };
    float *a = buffer(c, ROWS * K), *w = buffer(c, N * K), *out = buffer(c, ROWS * N);
    for (size_t i = 0; i < ROWS * K; i++) a[i] = i < K ? 2.0f : i < 2 * K ? -2.0f : i < 3 * K ? 0x1p-120f : 0.0f;
    for (size_t i = 0; i < N * K; i++) w[i] = i / K == 1 ? 0.0f : i / K == 2 ? INFINITY : i / K % 2 ? 3.0f : -3.0f;
    rill_weights packed;
    pack(c, &packed, N, K, w, K, RILL_DTYPE_U8S8);
    void *scratch = buffer_aligned(c, rill_gemm_scratch_size(&packed, ROWS));
    c->k.gemm(&(rill_gemm){.w = &packed, .rows = ROWS, .a = {a, K}, .c = {out, N}, .scratch = scratch}, NULL);
    case_name(c, "extremes");
    for (size_t i = 0; i < ROWS * N; i++) {
        const size_t r = i / N, n = i % N;
        const double sum = (r == 0 ? 1.0 : -1.0) * (n % 2 ? 1.0 : -1.0) * 6.0 * K;
        const double expected = n == 2 ? NAN : n == 1 || r > 1 ? 0.0 : sum;
        EXPECT(c, near((double)out[i], expected, 1e-6 * fabs(sum)), "C(%zu,%zu) = %.9g, not %.9g", r, n, (double)out[i],
               expected);
    }
    buffers_finish(c);
}

void check_gemm(check *c)
{
    const rill_dtype dtypes[] = {RILL_DTYPE_F32, RILL_DTYPE_BF16, RILL_DTYPE_U8S8};
    EXPECT(c, rill_gemm_pack_size(3, 5, (rill_dtype)99) == 0, "an unknown dtype has a size");
    EXPECT(c, rill_gemm_pack_size(3, ((size_t)1 << 17) + 1, RILL_DTYPE_U8S8) == 0, "int8 sums of any length are exact");
    expect_extremes(c);
    for (unsigned round = 0; round < c->rounds; round++)
        expect_quantised_once(c, round % 2 ? RILL_DTYPE_BF16 : RILL_DTYPE_U8S8);
    if (c->k.isa & RILL_ISA_AVX512_BF16) expect_bf16_batches(c, 75);
    if (c->k.isa & RILL_ISA_AMX) expect_bf16_batches(c, 96); /* whole registers of 32 k */
    for (unsigned round = 0; round < 2 * c->rounds; round++) {
        const problem p = draw(c, round % 4 == 3, dtypes[round % 3]);
        float *out = buffer_patterned(c, p.table * p.ldc);
        const rill_gemm g = call(c, &p, p.rows, out);
        c->k.gemm(&g, NULL);
        for (size_t r = 0; r < p.rows; r++)
            for (size_t n = 0; n < p.n; n++) expect_value(c, &p, r, n, out[(size_t)p.c_index[r] * p.ldc + n]);
        expect_gaps(c, &p, out);
        if (p.rows) expect_invariant(c, &p, out);
        if (p.dtype == RILL_DTYPE_BF16 && !multiplies_bf16(c, &p)) expect_as_rounded(c, &p, out);
        expect_parts(c, &p, out);
        expect_in_place(c, &p);
        expect_contained(c, &p, out);
        buffers_finish(c);
    }
}

/* ---- bench ----------------------------------------------------------------------------------------------- */

typedef struct timed {
    const rill_kernels *k;
    rill_gemm g;
} timed;

static void timed_call(void *arg)
{
    const timed *t = arg;
    t->k->gemm(&t->g, NULL);
}

static void bench_shape(check *c, size_t k, size_t n, rill_dtype dtype)
{
    static const char *const names[] = {"f32", "bf16", "int8"};
    rill_weights w;
    pack(c, &w, n, k, buffer(c, n * k), k, dtype);
    printf("gemm %s %-4s k=%-4zu n=%-4zu", c->isa, names[dtype], k, n);
    for (size_t rows = 1; rows <= 640; rows = rows == 1 ? 5 : rows == 5 ? 10 : rows == 640 ? 641 : rows * 2) {
        const size_t scratch = rill_gemm_scratch_size(&w, rows);
        timed t = {&c->k,
                   {.w = &w,
                    .rows = rows,
                    .a = {buffer(c, rows * k), k},
                    .c = {buffer(c, rows * n), n},
                    .scratch = scratch ? buffer_aligned(c, scratch) : NULL}};
        const double s = bench_seconds(timed_call, &t);
        printf("  %zu:%.0f", rows, 2e-9 * (double)rows * (double)n * (double)k / s);
    }
    printf(" GFLOP/s\n");
    buffers_finish(c);
}

void bench_gemm(check *c)
{
    static const size_t shapes[][2] = {{128, 512}, {200, 800}, {400, 200}, {200, 100}, {512, 512}, {512, 2048}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int dtype = RILL_DTYPE_F32; dtype <= RILL_DTYPE_U8S8; dtype++)
            bench_shape(c, shapes[i][0], shapes[i][1], (rill_dtype)dtype);
}
