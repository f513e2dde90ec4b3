/* check_best.c: bias + log-softmax + best B against a normaliser in double and a full sort.
 *
 * log_norm has a tolerance: the roundings of a sum in blocks of 512 symbols (V/512 + 64 at worst) and of an
 * exponential, and one of its own magnitude. All else is exact: scores are recomputed from the returned log_norm as
 * kernels.h states, all symbols are sorted by score and id, and ids, scores and counts must match to the bit. */
#include <math.h>

#include "kernel_check.h"

typedef struct problem {
    size_t rows, symbols, best, ldl, ldo, table, words;
    float *logits, *bias, *add;
    uint64_t *legal;
    int32_t *add_index, *legal_index;
    int raw;
    int wants_norm; /* 1: log_norm is requested; with softmax it always is, for the comparison */
} problem;

/* CLOSE: distinct logits, most of them with equal log-probabilities. FALLING: the best are adjacent, as in vocabularies
 * ordered by frequency. */
enum kind { PLAIN, TIES, MASKED, EXTREME, CLOSE, FALLING, KINDS };

static void fill(check *c, float *x, size_t n, enum kind kind)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = 3.0f * dice_normal(c);
        if (kind == TIES) x[i] = (float)dice_below(c, 3);
        if (kind == MASKED && dice_below(c, 3)) x[i] = -INFINITY;
        if (kind == CLOSE) x[i] = 1e-7f * (float)dice_below(c, 50);
        if (kind == FALLING) x[i] -= 20.0f * (float)i / (float)n;
        if (kind == EXTREME) x[i] *= dice_below(c, 2) ? 1e-3f : 1e3f;
    }
}

static problem draw(check *c, unsigned round)
{
    static const size_t sizes[] = {1, 2, 15, 16, 17, 63, 100, 137, 200, 511, 512, 513, 1500, 8000, 40000};
    const enum kind kind = (enum kind)(round % KINDS);
    problem p = {.symbols = sizes[dice_below(c, sizeof sizes / sizeof *sizes)], .raw = dice_below(c, 2) == 0};
    p.wants_norm = !p.raw || dice_below(c, 2) == 0;
    p.rows = p.symbols > 1000 ? dice_from(c, 0, 2) : dice_from(c, 0, 20);
    p.best = dice_below(c, 3) ? dice_from(c, 1, 24) : dice_from(c, 1, 160);
    if (p.symbols > 1000 && !dice_below(c, 3))
        p.best = dice_from(c, 200, p.symbols + 10); /* so many best symbols are selected by radix counting */
    p.ldl = p.symbols + dice_below(c, 3);
    p.ldo = p.best + dice_below(c, 3);
    p.table = 3;
    p.words = (p.symbols + 63) / 64;
    p.logits = buffer(c, p.rows * p.ldl);
    fill(c, p.logits, p.rows * p.ldl, kind);
    for (size_t r = 0; r < p.rows; r++) {
        float *x = p.logits + r * p.ldl;
        if (dice_below(c, 12) == 0)
            for (size_t v = 0; v < p.symbols; v++) x[v] = -INFINITY;
        if (dice_below(c, 12) == 0) x[dice_below(c, p.symbols)] = dice_below(c, 2) ? NAN : INFINITY;
        if (dice_below(c, 8) == 0)
            for (size_t v = 0; v < p.symbols; v++) x[v] = x[0];
    }
    if (dice_below(c, 2)) fill(c, p.bias = buffer(c, p.symbols), p.symbols, kind);
    if (dice_below(c, 2)) fill(c, p.add = buffer(c, p.table * p.symbols), p.table * p.symbols, kind);
    if (dice_below(c, 2)) p.legal = buffer_words(c, p.table * p.words);
    for (size_t i = 0; p.legal && i < p.table * p.words; i++)
        p.legal[i] = i < p.words ? dice_next(c) & dice_next(c) & dice_next(c) : i < 2 * p.words ? 0 : dice_next(c);
    p.add_index = buffer_int(c, p.rows);
    p.legal_index = buffer_int(c, p.rows);
    for (size_t r = 0; r < p.rows; r++) {
        p.add_index[r] = (int32_t)dice_below(c, p.table + 1) - 1;
        p.legal_index[r] = (int32_t)dice_below(c, p.table + 1) - 1;
    }
    case_name(c, "rows=%zu symbols=%zu best=%zu kind=%d bias=%d add=%d legal=%d raw=%d wants_norm=%d", p.rows,
              p.symbols, p.best, (int)kind, p.bias != NULL, p.add != NULL, p.legal != NULL, p.raw, p.wants_norm);
    return p;
}

typedef struct result {
    int32_t *ids, *counts;
    float *logp, *norm;
} result;

static result result_new(check *c, const problem *p, size_t rows)
{
    result r = {.ids = (int32_t *)(void *)buffer_patterned(c, rows * p->ldo + 1), .counts = buffer_int(c, rows)};
    r.norm = p->wants_norm ? buffer(c, rows) : NULL;
    r.logp = buffer_patterned(c, rows * p->ldo + 1);
    return r;
}

static rill_best call(const problem *p, const result *out)
{
    return (rill_best){.rows = p->rows,
                       .symbols = p->symbols,
                       .n_best = p->best,
                       .raw = p->raw,
                       .logits = {p->logits, p->ldl},
                       .bias = p->bias,
                       .add = {p->add, p->symbols, p->add_index},
                       .legal = p->legal,
                       .ld_legal = p->words,
                       .legal_index = p->legal_index,
                       .ids = out->ids,
                       .logp = out->logp,
                       .ld_out = p->ldo,
                       .counts = out->counts,
                       .log_norm = out->norm};
}

/* ---- the oracle ---- */

typedef struct scored {
    float score;
    int32_t id;
} scored;

static int before(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

static float value(const problem *p, size_t r, size_t v)
{
    float x = p->logits[r * p->ldl + v];
    if (p->bias) x += p->bias[v];
    if (p->add && p->add_index[r] >= 0) x += p->add[(size_t)p->add_index[r] * p->symbols + v];
    return x;
}

static int is_legal(const problem *p, size_t r, size_t v)
{
    if (!p->legal || p->legal_index[r] < 0) return 1;
    return (int)(p->legal[(size_t)p->legal_index[r] * p->words + v / 64] >> (v % 64) & 1);
}

static double true_norm(const problem *p, size_t r)
{
    double max = -INFINITY, sum = 0.0;
    for (size_t v = 0; v < p->symbols; v++) {
        const double x = (double)value(p, r, v);
        if (isnan(x) || x == INFINITY) return NAN;
        max = fmax(max, x);
    }
    if (max == -INFINITY) return max;
    for (size_t v = 0; v < p->symbols; v++) sum += exp((double)value(p, r, v) - max);
    return max + log(sum);
}

static double norm_tolerance(const problem *p, double truth)
{
    return ((double)p->symbols / 512 + 70.0) * 0x1p-24 + 0x1p-23 * fabs(truth);
}

static void expect_row(check *c, const problem *p, const result *out, size_t r)
{
    double truth = true_norm(p, r);
    if (p->raw && !isnan(truth)) truth = 0.0;
    const float norm = p->wants_norm ? out->norm[r] : (float)truth;
    EXPECT(c, near((double)norm, truth, p->raw ? 0.0 : norm_tolerance(p, truth)), "row %zu: log_norm %.9g, not %.9g", r,
           (double)norm, truth);
    for (int32_t i = 0; !p->raw && i < out->counts[r]; i++)
        EXPECT(c, out->logp[r * p->ldo + (size_t)i] <= 0.0f, "row %zu: a log-probability above 0", r);
    scored *all = malloc(p->symbols * sizeof *all);
    size_t n = 0;
    for (size_t v = 0; v < p->symbols && !isnan(norm); v++) {
        const float score = value(p, r, v) - norm;
        if (score > -INFINITY && is_legal(p, r, v)) all[n++] = (scored){score, (int32_t)v};
    }
    qsort(all, n, sizeof *all, before);
    if (n > p->best) n = p->best;
    EXPECT(c, out->counts[r] == (int32_t)n, "row %zu: count %d, not %zu", r, (int)out->counts[r], n);
    for (size_t i = 0; i < n; i++) {
        EXPECT(c, out->ids[r * p->ldo + i] == all[i].id, "row %zu: number %zu is %d, not %d", r, i,
               (int)out->ids[r * p->ldo + i], (int)all[i].id);
        EXPECT(c, same_bits(&out->logp[r * p->ldo + i], &all[i].score, 1), "row %zu: score %zu", r, i);
    }
    for (size_t i = n; i < p->ldo; i++) {
        EXPECT(c, buffer_kept((const float *)(const void *)out->ids, r * p->ldo + i), "row %zu: ids[%zu] was written",
               r, i);
        EXPECT(c, buffer_kept(out->logp, r * p->ldo + i), "row %zu: logp[%zu] was written", r, i);
    }
    free(all);
}

/* --- other rows in the call */

static void expect_same(check *c, const problem *p, const result *all, const int32_t *order, size_t count,
                        rill_pool *pool)
{
    problem q = *p;
    q.rows = count;
    q.logits = buffer(c, count * p->ldl);
    q.add_index = buffer_int(c, count);
    q.legal_index = buffer_int(c, count);
    for (size_t i = 0; i < count; i++) {
        memcpy(q.logits + i * p->ldl, p->logits + (size_t)order[i] * p->ldl, p->ldl * sizeof *q.logits);
        q.add_index[i] = p->add_index[order[i]];
        q.legal_index[i] = p->legal_index[order[i]];
    }
    const result out = result_new(c, &q, count);
    const rill_best b = call(&q, &out);
    c->k.best(&b, pool);
    for (size_t i = 0; i < count; i++) {
        const size_t r = (size_t)order[i];
        int same = out.counts[i] == all->counts[r];
        same = same && !memcmp(out.ids + i * p->ldo, all->ids + r * p->ldo, p->ldo * sizeof *out.ids);
        if (p->wants_norm) same = same && same_bits(out.norm + i, all->norm + r, 1);
        same = same && same_bits(out.logp + i * p->ldo, all->logp + r * p->ldo, p->ldo);
        EXPECT(c, same, "row %zu differs in a batch of %zu", r, count);
    }
}

void check_best(check *c)
{
    for (unsigned round = 0; round < 8 * c->rounds; round++) {
        const problem p = draw(c, round);
        const result out = result_new(c, &p, p.rows);
        const rill_best b = call(&p, &out);
        int32_t *order = buffer_int(c, p.rows);
        c->k.best(&b, NULL);
        for (size_t r = 0; r < p.rows; r++) expect_row(c, &p, &out, r);
        dice_permutation(c, order, p.rows);
        expect_same(c, &p, &out, order, p.rows, c->pool[round % 2]);
        for (size_t r = 0; r < p.rows && r < 4; r++) expect_same(c, &p, &out, order + r, 1, NULL);
        buffers_finish(c);
    }
}

/* ---- bench ---- */

typedef struct timed {
    const rill_kernels *k;
    rill_best b;
} timed;

static void timed_call(void *arg)
{
    const timed *t = arg;
    t->k->best(&t->b, NULL);
}

void bench_best(check *c)
{
    static const size_t shapes[][2] = {{100, 1},  {100, 5}, {200, 5},  {200, 10},  {200, 20},
                                       {200, 50}, {500, 5}, {8000, 5}, {32000, 5}, {32000, 50}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const size_t symbols = shapes[i][0], best = shapes[i][1], rows = 32;
        timed t = {&c->k,
                   {.rows = rows,
                    .symbols = symbols,
                    .n_best = best,
                    .logits = {buffer(c, rows * symbols), symbols},
                    .bias = buffer(c, symbols),
                    .ids = buffer_int(c, rows * best),
                    .logp = buffer(c, rows * best),
                    .ld_out = best,
                    .counts = buffer_int(c, rows)}};
        dice_fill(c, (float *)(uintptr_t)t.b.logits.data, rows * symbols, 2.0f);
        const double s = bench_seconds(timed_call, &t) / (double)rows;
        printf("best %s symbols=%-5zu best=%-2zu  %.3f Mrow/s, %.2f ns per logit\n", c->isa, symbols, best, 1e-6 / s,
               1e9 * s / (double)symbols);
        buffers_finish(c);
    }
}
