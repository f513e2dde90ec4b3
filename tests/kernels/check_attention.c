/* check_attention.c: attention against softmax in double, and against itself with other rows and in other order.
 *
 * Tolerance: a score's error (H + 2 roundings of sum |q||k|) is an absolute error of the log-weight. So a weight's
 * relative error is twice the row's worst score error, plus the T + 8 roundings of the exponential and the sum. A
 * context element's error is that times sum p|v|, plus T roundings. */
#include <math.h>

#include "kernel_check.h"

#define UNIT 0x1p-24

typedef struct problem {
    size_t rows, slots, key, longest, ldq, ldp, ldo;
    size_t value;           /* width of a head's values */
    size_t heads, ldk, ldv; /* ldk, ldv: floats per row of keys and values, over all heads, with gaps of 2 and 1 */
    float *additive;        /* [heads * key], or NULL */
    float *relative;        /* [heads, 2 reach + 1], or NULL */
    size_t reach;
    int32_t *place;          /* [rows]: position of the query; NULL: the last position */
    float *query;            /* [table, heads * key] */
    float *memory, *other;   /* [rows of all slots, ldk], [.., ldv]: keys, values */
    int32_t first[8], *path; /* [slots]: first row of each slot; with `walk`, its first entry in `path` */
    int32_t length[8], *slot, *query_index;
    float scale;
    int walk; /* the rows of keys and values are given by `path` */
} problem;

static problem draw(check *c)
{
    problem p = {.rows = dice_from(c, 0, 40), .slots = dice_from(c, 1, 8), .key = dice_from(c, 1, 90)};
    p.heads = dice_below(c, 2) ? dice_from(c, 1, 4) : 1;
    if (dice_below(c, 3) == 0) /* narrow heads have a separate kernel */
        p.key = 32u << dice_below(c, 2), p.heads = 2u << dice_below(c, 3);
    p.value = dice_below(c, 3) == 0 ? dice_from(c, 1, 150) : p.key;
    p.additive = dice_below(c, 3) == 0 ? buffer(c, p.heads * p.key) : NULL;
    if (p.additive != NULL) dice_fill(c, p.additive, p.heads * p.key, 1.0f);
    p.reach = dice_below(c, 2) ? dice_below(c, 6) : dice_below(c, 100);
    p.relative = dice_below(c, 3) == 0 ? buffer(c, p.heads * (2 * p.reach + 1)) : NULL;
    if (p.relative != NULL) dice_fill(c, p.relative, p.heads * (2 * p.reach + 1), 2.0f);
    p.walk = (int)dice_below(c, 2);
    p.ldk = p.heads * p.key + 2, p.ldv = p.heads * p.value + 1;
    p.ldq = p.heads * p.key + dice_below(c, 3);
    p.ldo = p.heads * p.value + dice_below(c, 3);
    p.scale = dice_below(c, 2) ? 1.0f : 0.3f;
    size_t n_entries = 0;
    for (size_t s = 0; s < p.slots; s++) {
        const size_t n = dice_below(c, 40) == 0 ? dice_from(c, 510, 515) : dice_below(c, 8) ? dice_from(c, 1, 70) : 0;
        p.length[s] = (int32_t)n;
        if (n > p.longest) p.longest = n;
        p.first[s] = (int32_t)n_entries;
        n_entries += n;
    }
    const size_t all = p.walk ? n_entries + 5 : n_entries;
    p.path = buffer_int(c, n_entries);
    dice_choose(c, p.path, n_entries, all);
    p.memory = buffer(c, all * p.ldk);
    p.other = buffer(c, all * p.ldv);
    dice_fill(c, p.memory, all * p.ldk, dice_below(c, 4) ? 0.5f : 20.0f);
    dice_fill(c, p.other, all * p.ldv, 1.0f);
    p.ldp = p.longest + dice_below(c, 3) + 1;
    p.query = buffer(c, (p.rows + 2) * p.ldq);
    dice_fill(c, p.query, (p.rows + 2) * p.ldq, 1.0f);
    p.slot = buffer_int(c, p.rows);
    p.query_index = buffer_int(c, p.rows);
    for (size_t r = 0; r < p.rows; r++) {
        const int same = r > 0 && dice_below(c, 5) > 0; /* rows often follow each other in one slot */
        p.slot[r] = same ? p.slot[r - 1] : (int32_t)dice_below(c, p.slots);
        p.query_index[r] = (int32_t)dice_below(c, p.rows + 2);
    }
    p.place = p.relative != NULL && dice_below(c, 2) ? buffer_int(c, p.rows) : NULL;
    for (size_t r = 0; r < p.rows && p.place != NULL; r++) {
        const int32_t n = p.length[p.slot[r]];
        p.place[r] = n > 0 ? (int32_t)dice_below(c, (size_t)n) : 0;
    }
    case_name(c, "rows=%zu slots=%zu heads=%zu width=%zu values=%zu walk=%d additive=%d relative=%d", p.rows, p.slots,
              p.heads, p.key, p.value, p.walk, p.additive != NULL, p.relative != NULL);
    return p;
}

static rill_attention call(const problem *p, float *weights, float *out)
{
    return (rill_attention){.rows = p->rows,
                            .heads = p->heads,
                            .width = p->key,
                            .value_width = p->value,
                            .scale = p->scale,
                            .additive = p->additive,
                            .relative = p->relative,
                            .reach = p->reach,
                            .position = p->place,
                            .query = {p->query, p->ldq, p->query_index},
                            .keys = {p->memory, p->ldk},
                            .values = {p->other, p->ldv},
                            .first = p->first,
                            .path = p->walk ? p->path : NULL,
                            .length = p->length,
                            .slot = p->slot,
                            .weights = weights,
                            .ld_weights = p->ldp,
                            .out = {out, p->ldo}};
}

static size_t key_row(const problem *p, size_t s, size_t t)
{
    const size_t pos = (size_t)p->first[s] + t;
    return p->walk ? (size_t)p->path[pos] : pos;
}

/* Check head h of row r; `weights` and `out` point to that head's. */
static void expect_head(check *c, const problem *p, size_t r, size_t h, const float *weights, const float *out)
{
    const size_t s = (size_t)p->slot[r], n = (size_t)p->length[s];
    const float *query = p->query + (size_t)p->query_index[r] * p->ldq + h * p->key;
    double score[520], worst = 0.0, max = -INFINITY, sum = 0.0;
    for (size_t t = 0; t < n; t++) {
        double size = 0.0;
        score[t] = 0.0;
        for (size_t k = 0; k < p->key; k++) {
            const double key = (double)p->memory[key_row(p, s, t) * p->ldk + h * p->key + k], q = (double)query[k];
            const double u = p->additive != NULL ? (double)p->additive[h * p->key + k] : 0.0;
            const double x = p->additive != NULL ? u * tanh(key + q) : q * key;
            score[t] += x, size += p->additive != NULL ? 8.0 * fabs(u) : fabs(x);
        }
        score[t] *= (double)p->scale;
        if (p->relative != NULL) {
            const double own = p->place != NULL ? (double)p->place[r] : (double)n - 1.0, reach = (double)p->reach;
            score[t] +=
                (double)
                    p->relative[(size_t)(fmin(fmax((double)t - own, -reach), reach) + reach) + h * (2 * p->reach + 1)];
        }
        worst = fmax(worst, ((double)p->key + 2.0) * UNIT * size * (double)p->scale);
        max = fmax(max, score[t]);
    }
    for (size_t t = 0; t < n; t++) sum += score[t] = exp(score[t] - max);
    const double relative = 2.0 * worst * (1.0 + worst) + ((double)n + 8.0 + 2.0 * fabs(max)) * UNIT;
    for (size_t t = 0; t < n; t++)
        EXPECT(c, near((double)weights[t], score[t] / sum, relative * score[t] / sum + 0x1p-140),
               "p(%zu,%zu) = %.9g, not %.9g", r, t, (double)weights[t], score[t] / sum);
    for (size_t j = 0; j < p->value; j++) {
        double want = 0.0, size = 0.0;
        for (size_t t = 0; t < n; t++) {
            const size_t row = key_row(p, s, t), k = h * p->value + j;
            const float v = p->other[row * p->ldv + k];
            want += score[t] / sum * (double)v, size += score[t] / sum * fabs((double)v);
        }
        EXPECT(c, near((double)out[j], want, n ? (relative + (double)n * UNIT) * size + 0x1p-130 : 0.0),
               "out(%zu,%zu) = %.9g, not %.9g", r, j, (double)out[j], want);
    }
}

/* Whether the weights of all heads of two rows are equal. */
static int same_weights(const problem *p, size_t r, const float *a, const float *b)
{
    int same = 1;
    for (size_t h = 0; h < p->heads; h++)
        same &= same_bits(a + h * p->ldp, b + h * p->ldp, (size_t)p->length[p->slot[r]]);
    return same;
}

static void expect_same(check *c, const problem *p, const float *weights, const float *out, const int32_t *order,
                        size_t count, rill_pool *pool)
{
    const size_t ldw = p->heads * p->ldp;
    float *w2 = buffer_patterned(c, count * ldw + 1), *o2 = buffer_patterned(c, count * p->ldo + 1);
    int32_t *slot = buffer_int(c, count), *query = buffer_int(c, count), *to = buffer_int(c, count);
    dice_permutation(c, to, count);
    int32_t *place = p->place != NULL ? buffer_int(c, count) : NULL;
    for (size_t i = 0; i < count; i++) slot[i] = p->slot[order[i]], query[i] = p->query_index[order[i]];
    for (size_t i = 0; i < count && place != NULL; i++) place[i] = p->place[order[i]];
    rill_attention a = call(p, w2, o2);
    a.rows = count;
    a.slot = slot;
    a.position = place;
    a.query.index = query;
    a.out.index = to;
    c->k.attention(&a, pool);
    for (size_t i = 0; i < count; i++) {
        const size_t r = (size_t)order[i];
        EXPECT(c,
               same_weights(p, r, w2 + i * ldw, weights + r * ldw) &&
                   same_bits(o2 + (size_t)to[i] * p->ldo, out + r * p->ldo, p->heads * p->value),
               "row %zu differs in a batch of %zu", r, count);
    }
}

/* A NaN in one query must reach that head's weights and context, and no other head or row. */
static void expect_contained(check *c, const problem *p, const float *weights, const float *out)
{
    if (p->rows == 0) return;
    const int32_t bad = p->query_index[dice_below(c, p->rows)];
    const size_t hurt = dice_below(c, p->heads), ldw = p->heads * p->ldp;
    p->query[(size_t)bad * p->ldq + hurt * p->key + dice_below(c, p->key)] = NAN;
    float *w2 = buffer_patterned(c, p->rows * ldw), *o2 = buffer_patterned(c, p->rows * p->ldo);
    const rill_attention a = call(p, w2, o2);
    c->k.attention(&a, NULL);
    for (size_t i = 0; i < p->rows * p->heads; i++) {
        const size_t r = i / p->heads, h = i % p->heads, n = (size_t)p->length[p->slot[r]];
        const size_t offset = r * p->ldo + h * p->value;
        if (p->query_index[r] != bad || h != hurt)
            EXPECT(c,
                   same_bits(w2 + i * p->ldp, weights + i * p->ldp, n) &&
                       same_bits(o2 + offset, out + offset, p->value),
                   "head %zu of row %zu suffers from a bad one", h, r);
        else
            for (size_t t = 0; t < n; t++) EXPECT(c, isnan(w2[i * p->ldp + t]), "a NaN was lost at row %zu", r);
    }
}

void check_attention(check *c)
{
    for (unsigned round = 0; round < c->rounds; round++) {
        const problem p = draw(c);
        const size_t ldw = p.heads * p.ldp;
        float *weights = buffer_patterned(c, p.rows * ldw), *out = buffer_patterned(c, p.rows * p.ldo);
        int32_t *order = buffer_int(c, p.rows);
        const rill_attention a = call(&p, weights, out);
        c->k.attention(&a, NULL);
        for (size_t r = 0; r < p.rows; r++) {
            for (size_t h = 0; h < p.heads; h++) {
                expect_head(c, &p, r, h, weights + r * ldw + h * p.ldp, out + r * p.ldo + h * p.value);
                for (size_t t = (size_t)p.length[p.slot[r]]; t < p.ldp; t++)
                    EXPECT(c, buffer_kept(weights, r * ldw + h * p.ldp + t), "weights beyond the length were written");
            }
            for (size_t j = p.heads * p.value; j < p.ldo; j++)
                EXPECT(c, buffer_kept(out, r * p.ldo + j), "a gap was written");
        }
        dice_permutation(c, order, p.rows);
        expect_same(c, &p, weights, out, order, p.rows, NULL);
        expect_same(c, &p, weights, out, order, p.rows, c->pool[round % 2]);
        for (size_t r = 0; r < p.rows && r < 8; r++) expect_same(c, &p, weights, out, order + r, 1, NULL);
        expect_contained(c, &p, weights, out);
        buffers_finish(c);
    }
}

/* ---- bench ---- */

typedef struct timed {
    const rill_kernels *k;
    rill_attention a;
} timed;

static void timed_call(void *arg)
{
    const timed *t = arg;
    t->k->attention(&t->a, NULL);
}

void bench_attention(check *c)
{
    static const size_t shapes[][3] = {{1, 128, 12}, {20, 128, 12}, {20, 200, 12}, {100, 200, 30}, {50, 512, 60}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const size_t rows = shapes[i][0], width = shapes[i][1], length = shapes[i][2], slots = (rows + 9) / 10;
        int32_t first[16], lengths[16], *slot = buffer_int(c, rows);
        for (size_t s = 0; s < slots; s++) first[s] = (int32_t)(s * length), lengths[s] = (int32_t)length;
        for (size_t r = 0; r < rows; r++) slot[r] = (int32_t)(r / 10);
        timed t = {&c->k,
                   {.rows = rows,
                    .heads = 1,
                    .width = width,
                    .scale = 1.0f,
                    .query = {buffer(c, rows * width), width},
                    .keys = {buffer(c, slots * length * width), width},
                    .values = {buffer(c, slots * length * width), width},
                    .first = first,
                    .length = lengths,
                    .slot = slot,
                    .weights = buffer(c, rows * length),
                    .ld_weights = length,
                    .out = {buffer(c, rows * width), width}}};
        const double s = bench_seconds(timed_call, &t);
        printf("attention %s rows=%-3zu width=%zu length=%zu  %.2f us, %.1f GFLOP/s\n", c->isa, rows, width, length,
               1e6 * s, 4e-9 * (double)(rows * width * length) / s);
        buffers_finish(c);
    }
}
