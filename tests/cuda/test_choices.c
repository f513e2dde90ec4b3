/* test_choices.c: choices.cu and mix.cu against definitions and the plain C kernel, and each row against itself in
 * other batches.
 *
 * log_norm has a tolerance. Everything else is exact: the test recomputes the log-probabilities from the returned
 * log_norm and sorts them. Symbols, counts and log-probabilities must match to the bit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "launch.h"
#include "rig.h"
#include "stand_in.h"
#include "support/dice.h"
#include "support/harness.h"

enum { MAX_ROWS = 301, SLOTS = 5, SETS = 3, TABLE = 4, MAX_PICKS = 400, MAX_MODELS = 32 };

/* --- random problems ---------------------------------------------------------------------------------------------- */

/* EIGHTHS: few values, exact sums. CLOSE: distinct logits, most of which have equal log-probabilities. */
enum kind { PLAIN, EIGHTHS, MASKED, EXTREME, CLOSE, KINDS };

static float number(dice *d, enum kind kind)
{
    const float x = (float)dice_range(d, -9000, 9000) / 1000.0f;
    switch (kind) {
    case EIGHTHS: return (float)dice_range(d, -3, 3) / 8.0f * (dice_chance(d, 10) ? -0.0f : 1.0f);
    case MASKED: return dice_chance(d, 60) ? -INFINITY : x;
    case EXTREME: return x * (dice_chance(d, 50) ? 1e-3f : 1e3f);
    case CLOSE: return 1e-7f * (float)dice_range(d, 0, 50);
    default: return x;
    }
}

static void *make(size_t n, size_t size)
{
    void *block = calloc(n + 1, size);
    assert_non_null(block);
    return block;
}

static float *numbers(dice *d, size_t n, enum kind kind)
{
    float *x = make(n, sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = number(d, kind);
    return x;
}

/* The rows of a problem, and the tables that they use. */
typedef struct problem {
    int32_t rows, symbols, vocabulary, max_choices, models; /* vocabulary: number of ids; models: of a mixture */
    int32_t normalise, tag, first_action;
    float *logits[MAX_MODELS], *bias[MAX_MODELS]; /* [rows, symbols]; [vocabulary] or NULL */
    float *add;                                   /* [TABLE, symbols] or NULL */
    int32_t *add_index;                           /* [rows] */
    int32_t lists, ids[SLOTS * 2], *id, *slot; /* lists of symbols: first element and length per slot; slot: [rows] */
    uint64_t *legal;                           /* [SETS, words] or NULL */
    int32_t words, *set;                       /* [rows]: index of the row's legal set; NULL: no row is restricted */
} problem;

static void spoil(dice *d, float *x, int32_t n)
{
    if (n == 0) return;
    if (dice_chance(d, 8))
        for (int32_t v = 0; v < n; v++) x[v] = -INFINITY;
    if (dice_chance(d, 8)) x[dice_range(d, 0, n - 1)] = dice_chance(d, 50) ? NAN : INFINITY;
    if (dice_chance(d, 5)) { /* one thread gets a NaN and no number besides */
        for (int32_t v = 1; v < n; v++) x[v] = -INFINITY;
        x[n - 1] = NAN;
    }
    if (dice_chance(d, 8))
        for (int32_t v = 0; v < n; v++) x[v] = x[0];
}

static void draw_lists(problem *p, dice *d)
{
    int32_t used = 0;
    p->id = make((size_t)SLOTS * (size_t)p->symbols, sizeof *p->id);
    for (int32_t s = 0; s < SLOTS; s++) {
        const int32_t length = s == 0 ? 0 : s == 1 ? p->symbols : dice_range(d, 1, p->symbols);
        p->ids[s] = used;
        p->ids[SLOTS + s] = length;
        for (int32_t i = 0, id = 0; i < length; i++, id++) {
            id += dice_range(d, 0, (p->vocabulary - id - (length - i)) / (length - i));
            p->id[used++] = id;
        }
    }
    p->slot = make((size_t)p->rows, sizeof *p->slot);
    for (int32_t r = 0; r < p->rows; r++) p->slot[r] = dice_range(d, 0, SLOTS - 1);
}

static int32_t length_of(const problem *p, int32_t r)
{
    return p->lists ? p->ids[SLOTS + p->slot[r]] : p->symbols;
}

static int32_t symbol_id(const problem *p, int32_t r, int32_t v)
{
    return p->lists ? p->id[p->ids[p->slot[r]] + v] : v;
}

static void draw_sets(problem *p, dice *d)
{
    const int32_t needed = (p->vocabulary + p->first_action + 63) / 64;
    p->words = dice_chance(d, 50) ? needed : dice_range(d, 1, needed);
    p->legal = make((size_t)SETS * (size_t)p->words, sizeof *p->legal);
    for (int32_t i = 0; i < SETS * p->words; i++) {
        p->legal[i] = dice_mix((uint64_t)dice_range(d, 0, 1 << 30), 3);
        if (i < p->words) p->legal[i] &= dice_mix((uint64_t)i, 5) & dice_mix((uint64_t)i, 7);
        if (i >= p->words && i < 2 * p->words) p->legal[i] = 0;
    }
}

static problem draw(dice *d, int32_t rows, int32_t symbols, int32_t models)
{
    const enum kind kind = (enum kind)dice_range(d, 0, KINDS - 1);
    problem p = {.rows = rows, .symbols = symbols, .models = models, .lists = dice_chance(d, 30)};
    p.vocabulary = p.lists ? symbols + dice_range(d, 0, 100) : symbols;
    p.first_action = p.lists || dice_chance(d, 50) ? 0 : dice_range(d, 1, 70);
    p.normalise = dice_chance(d, 70);
    if (p.lists) draw_lists(&p, d);
    const size_t n_logits = (size_t)rows * (size_t)symbols;
    for (int32_t e = 0; e < models; e++) {
        p.logits[e] = numbers(d, n_logits, kind);
        if (dice_chance(d, 50)) p.bias[e] = numbers(d, (size_t)p.vocabulary, kind == MASKED ? PLAIN : kind);
        for (int32_t r = 0; r < rows; r++)
            if (e == 0 || dice_chance(d, 10)) spoil(d, p.logits[e] + (size_t)r * (size_t)symbols, length_of(&p, r));
    }
    if (dice_chance(d, 40)) p.add = numbers(d, (size_t)TABLE * (size_t)symbols, kind);
    if (dice_chance(d, 50)) draw_sets(&p, d);
    p.add_index = make((size_t)rows, sizeof *p.add_index);
    if (!dice_chance(d, 15)) p.set = make((size_t)rows, sizeof *p.set);
    for (int32_t r = 0; r < rows; r++) p.add_index[r] = dice_range(d, -1, TABLE - 1);
    for (int32_t r = 0; r < rows && p.set != NULL; r++) p.set[r] = dice_range(d, -1, SETS - 1);
    return p;
}

static void drop(problem *p)
{
    for (int32_t e = 0; e < p->models; e++) {
        free(p->logits[e]);
        free(p->bias[e]);
    }
    free(p->add);
    free(p->add_index);
    free(p->id);
    free(p->slot);
    free(p->legal);
    free(p->set);
}

/* --- definitions -------------------------------------------------------------------------------------------------- */

static float logit_at(const problem *p, int32_t e, int32_t r, int32_t v)
{
    float x = p->logits[e][(size_t)r * (size_t)p->symbols + (size_t)v];
    if (p->bias[e] != NULL) x += p->bias[e][symbol_id(p, r, v)];
    if (p->models == 1 && p->add != NULL && p->add_index[r] >= 0)
        x += p->add[(size_t)p->add_index[r] * (size_t)p->symbols + (size_t)v];
    return x;
}

static int32_t symbol_action(const problem *p, int32_t r, int32_t v)
{
    return symbol_id(p, r, v) + p->first_action;
}

static int is_legal(const problem *p, int32_t r, int32_t v)
{
    const int32_t action = symbol_action(p, r, v);
    if (p->legal == NULL || p->set == NULL || p->set[r] < 0) return 1;
    if (action / 64 >= p->words) return 0;
    return (int)(p->legal[(size_t)p->set[r] * (size_t)p->words + (size_t)(action / 64)] >> (action % 64) & 1);
}

static double true_log_norm(const problem *p, int32_t e, int32_t r)
{
    const int32_t n = length_of(p, r);
    double max = -INFINITY, sum = 0.0;
    for (int32_t v = 0; v < n; v++) {
        const double x = (double)logit_at(p, e, r, v);
        if (isnan(x) || x == INFINITY) return NAN;
        max = fmax(max, x);
    }
    if (max == -INFINITY) return max;
    for (int32_t v = 0; v < n; v++) sum += exp((double)logit_at(p, e, r, v) - max);
    return max + log(sum);
}

static int same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* `from`: the magnitude at which the compared values were rounded. */
static void expect_near(double is, double should, double from)
{
    if (isnan(should) || isinf(should)) {
        assert_true(isnan(should) ? isnan(is) : is == should);
        return;
    }
    if (!(fabs(is - should) <= 1e-5 + 1e-6 * (fabs(should) + fabs(from)))) fail_msg("%.9g, not %.9g", is, should);
}

/* --- best symbols ------------------------------------------------------------------------------------------------- */

typedef struct answer {
    int32_t *count, *action, *tag;
    float *logp, *log_norm, *pick;
    int32_t picks, pick_row[MAX_PICKS], pick_symbol[MAX_PICKS];
} answer;

/* A call: which rows, in which order, and their memory layout. */
typedef struct batch_layout {
    /* beyond: rows of the grid beyond the batch; row_gap: floats between rows */
    int32_t rows, order[MAX_ROWS], beyond, row_gap, off;
    int32_t longer; /* how many symbols the announced maximum exceeds the longest list by, if there are lists */
} batch_layout;

static void *put(rig *g, const void *from, size_t bytes)
{
    if (from == NULL) return NULL;
    return rig_device_ptr(g, memcpy(rig_put(g, bytes), from, bytes));
}

static int32_t *put_int(rig *g, int32_t x)
{
    return put(g, &x, sizeof x);
}

static int32_t *put_column(rig *g, const batch_layout *c, const int32_t *from)
{
    int32_t *to = from != NULL ? rig_put(g, (size_t)c->rows * sizeof *to) : NULL;
    for (int32_t r = 0; from != NULL && r < c->rows; r++) to[r] = from[c->order[r]];
    return rig_device_ptr(g, to);
}

static float *put_floats(rig *g, const batch_layout *c, const float *from, size_t n)
{
    if (from == NULL) return NULL;
    float *to = (float *)rig_put(g, (n + (size_t)c->off) * sizeof *to) + c->off;
    return rig_device_ptr(g, memcpy(to, from, n * sizeof *to));
}

static gpu_operand put_logits(rig *g, const batch_layout *c, const problem *p, int32_t e, float **mirrored)
{
    const size_t n = (size_t)p->symbols, ld = n + (size_t)c->row_gap,
                 bytes = ((size_t)c->rows * ld + (size_t)c->off) * sizeof(float);
    char *host = mirrored != NULL ? rig_out(g, bytes) : rig_put(g, bytes);
    float *to = (float *)(void *)host + c->off;
    for (int32_t r = 0; r < c->rows; r++)
        memcpy(to + (size_t)r * ld, p->logits[e] + (size_t)c->order[r] * n, n * sizeof *to);
    if (mirrored != NULL) *mirrored = to;
    return (gpu_operand){.data = rig_device_ptr(g, to), .ld = (int32_t)ld};
}

static gpu_subsets put_lists(rig *g, const problem *p)
{
    if (!p->lists) return (gpu_subsets){0};
    const size_t slots = SLOTS * sizeof *p->ids;
    return (gpu_subsets){.ids = put(g, p->id, (size_t)SLOTS * (size_t)p->symbols * sizeof *p->id),
                         .first = put(g, p->ids, slots),
                         .length = put(g, p->ids + SLOTS, slots)};
}

static int32_t symbols_of(const problem *p, const batch_layout *c)
{
    return p->symbols + (p->lists ? c->longer : 0);
}

static gpu_best put_best(rig *g, const problem *p, const batch_layout *c)
{
    gpu_best best = {.rows = {put_int(g, c->rows), c->rows + c->beyond},
                     .symbols = symbols_of(p, c),
                     .normalise = p->normalise,
                     .logits = put_logits(g, c, p, 0, NULL),
                     .bias = put_floats(g, c, p->bias[0], (size_t)p->vocabulary),
                     .subsets = put_lists(g, p),
                     .slot = put_column(g, c, p->slot),
                     .first_action = p->first_action,
                     .legal = put(g, p->legal, (size_t)SETS * (size_t)p->words * sizeof *p->legal),
                     .legal_words = p->words,
                     .set = put_column(g, c, p->set),
                     .max_choices = p->max_choices};
    if (p->add != NULL)
        best.add = (gpu_operand){.data = put_floats(g, c, p->add, (size_t)TABLE * (size_t)p->symbols),
                                 .ld = p->symbols,
                                 .index = put_column(g, c, p->add_index)};
    return best;
}

static void *out(rig *g, size_t n, size_t size, void **device)
{
    void *host = rig_out(g, n * size);
    *device = rig_device_ptr(g, host);
    return host;
}

static answer run_best(rig *g, dice *d, const problem *p, const batch_layout *c)
{
    const size_t rows = (size_t)c->rows, choices = rows * (size_t)p->max_choices;
    answer a = {.picks = c->rows > 0 ? dice_range(d, 0, MAX_PICKS) : 0};
    rig_begin(g);
    gpu_best best = put_best(g, p, c);
    a.count = out(g, rows, sizeof *a.count, (void **)&best.count);
    a.log_norm = out(g, rows, sizeof *a.log_norm, (void **)&best.log_norm);
    if (p->tag) a.tag = out(g, rows, sizeof *a.tag, (void **)&best.tag);
    if (!p->tag || dice_chance(d, 50)) {
        a.action = out(g, choices, sizeof *a.action, (void **)&best.action);
        a.logp = out(g, choices, sizeof *a.logp, (void **)&best.logp);
    }
    out(g, gpu_best_work_bytes(best.rows.max, best.symbols, p->max_choices), 1, &best.work);
    for (int32_t i = 0; i < a.picks; i++) {
        a.pick_row[i] = dice_range(d, 0, c->rows - 1);
        a.pick_symbol[i] = dice_range(d, -1, length_of(p, c->order[a.pick_row[i]]) - 1);
    }
    gpu_picks picks = {.picks = {put_int(g, a.picks), a.picks + c->beyond},
                       .row = put(g, a.pick_row, (size_t)a.picks * sizeof *a.pick_row),
                       .symbol = put(g, a.pick_symbol, (size_t)a.picks * sizeof *a.pick_symbol),
                       .best = &best};
    a.pick = out(g, (size_t)a.picks, sizeof *a.pick, (void **)&picks.logp);
    rig_upload(g);
    gpu_run_best(g->queue, &best);
    gpu_run_picks(g->queue, &picks);
    memset(&best, 0xFF, sizeof best); /* the launch has copied the arguments already */
    rig_download(g);
    return a;
}

typedef struct scored {
    float logp;
    int32_t v;
} scored;

static int before(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    if (x->logp != y->logp) return x->logp > y->logp ? -1 : 1;
    return x->v < y->v ? -1 : 1;
}

/* Check row r of the problem, row i of the answer. */
static void expect_choices(const problem *p, const answer *a, int32_t r, int32_t i)
{
    const float norm = a->log_norm[i];
    const int32_t n = length_of(p, r);
    scored *all = make((size_t)n, sizeof *all);
    int32_t count = 0;
    for (int32_t v = 0; v < n && !isnan(norm); v++) {
        all[count] = (scored){(logit_at(p, 0, r, v) + 0.0f) - norm, v};
        count += all[count].logp > -INFINITY && is_legal(p, r, v);
    }
    qsort(all, (size_t)count, sizeof *all, before);
    count = count < p->max_choices ? count : p->max_choices;
    assert_int_equal(a->count[i], count);
    for (int32_t k = 0; k < count && a->action != NULL; k++) {
        const size_t offset = (size_t)i * (size_t)p->max_choices + (size_t)k;
        if (a->action[offset] != symbol_action(p, r, all[k].v) || !same(a->logp[offset], all[k].logp))
            fail_msg("row %d, choice %d: %d (%.9g), not %d (%.9g)", r, k, a->action[offset], (double)a->logp[offset],
                     symbol_action(p, r, all[k].v), (double)all[k].logp);
    }
    if (a->tag != NULL) assert_int_equal(a->tag[i], count > 0 ? symbol_action(p, r, all[0].v) : p->first_action);
    free(all);
}

/* Compare row r with the plain C kernel. The kernel has no lists and no shifted actions, so they are removed first. */
static void expect_kernel(const problem *p, const answer *a, int32_t r, int32_t i)
{
    const int32_t n = length_of(p, r), max_n = p->max_choices < 300 ? p->max_choices : 300;
    if (n == 0 || max_n == 0 || a->action == NULL) return;
    rill_kernels k;
    rill_kernels_init(&k, RILL_ISA_REF);
    float *x = make((size_t)n, sizeof *x), *logp = make((size_t)max_n, sizeof *logp), norm = 0.0f;
    uint64_t *legal = make((size_t)(n + 63) / 64, sizeof *legal);
    int32_t *ids = make((size_t)max_n, sizeof *ids), count = 0;
    for (int32_t v = 0; v < n; v++) {
        x[v] = logit_at(p, 0, r, v);
        if (is_legal(p, r, v)) legal[v / 64] |= UINT64_C(1) << (v % 64);
    }
    k.best(&(rill_best){.rows = 1,
                        .symbols = (size_t)n,
                        .n_best = (size_t)max_n,
                        .raw = !p->normalise,
                        .logits = {.data = x, .ld = (size_t)n},
                        .legal = legal,
                        .ids = ids,
                        .logp = logp,
                        .ld_out = (size_t)max_n,
                        .counts = &count,
                        .log_norm = &norm},
           NULL);
    if (p->normalise) expect_near((double)a->log_norm[i], (double)norm, 0.0);
    assert_int_equal(count, a->count[i] < max_n ? a->count[i] : max_n);
    for (int32_t j = 0; j < count; j++) {
        const size_t offset = (size_t)i * (size_t)p->max_choices + (size_t)j;
        if (!p->normalise) assert_int_equal(a->action[offset], symbol_action(p, r, ids[j]));
        if (p->normalise) expect_near((double)a->logp[offset], (double)logp[j], (double)norm);
    }
    free(x);
    free(logp);
    free(legal);
    free(ids);
}

static void expect_best(const problem *p, const batch_layout *c, const answer *a)
{
    for (int32_t i = 0; i < c->rows; i++) {
        const double norm = true_log_norm(p, 0, c->order[i]);
        expect_near((double)a->log_norm[i], p->normalise || isnan(norm) ? norm : 0.0, 0.0);
        expect_choices(p, a, c->order[i], i);
        expect_kernel(p, a, c->order[i], i);
    }
    for (int32_t k = 0; k < a->picks; k++) {
        const int32_t r = c->order[a->pick_row[k]], v = a->pick_symbol[k];
        const float norm = a->log_norm[a->pick_row[k]], x = v >= 0 ? logit_at(p, 0, r, v) + 0.0f : -INFINITY;
        const float logp = v < 0 || (x == -INFINITY && !isnan(norm)) ? -INFINITY : x - norm;
        if (!same(a->pick[k], logp))
            fail_msg("pick of %d in row %d: %.9g, not %.9g", v, r, (double)a->pick[k], (double)logp);
    }
}

static batch_layout draw_company(dice *d, int32_t rows)
{
    batch_layout c = {
        .rows = rows, .beyond = dice_range(d, 0, 3), .row_gap = dice_range(d, 0, 5), .off = dice_range(d, 0, 3)};
    if (dice_chance(d, 50)) c.off = 0;
    if (dice_chance(d, 50)) c.longer = DICE_PICK(d, 1, 1000, 5000, 20000);
    if (dice_chance(d, 30)) c.rows = dice_range(d, 0, rows);
    for (int32_t r = 0; r < c.rows; r++) c.order[r] = dice_range(d, 0, rows - 1);
    return c;
}

/* Row i of one run must equal row k of another. */
static void expect_same(const problem *p, const answer *a, int32_t i, const answer *b, int32_t k)
{
    const size_t n = (size_t)a->count[i], offset = (size_t)i * (size_t)p->max_choices,
                 to = (size_t)k * (size_t)p->max_choices;
    assert_int_equal(a->count[i], b->count[k]);
    assert_true(same(a->log_norm[i], b->log_norm[k]));
    if (a->tag != NULL) assert_int_equal(a->tag[i], b->tag[k]);
    if (a->action == NULL || b->action == NULL) return;
    assert_memory_equal(a->action + offset, b->action + to, n * sizeof *a->action);
    assert_memory_equal(a->logp + offset, b->logp + to, n * sizeof *a->logp);
}

/* Run all rows, then some alone or among others. Results stay in the rig's mirror, hence two rigs. */
static void check_best(rig *g, rig *h, dice *d, const problem *p)
{
    batch_layout all = {.rows = p->rows, .beyond = 1};
    for (int32_t r = 0; r < p->rows; r++) all.order[r] = r;
    const answer a = run_best(g, d, p, &all);
    expect_best(p, &all, &a);
    batch_layout some = draw_company(d, p->rows);
    if (dice_chance(d, 40) && some.rows > 0) some.rows = 1;
    cuda_host_seed((uint64_t)dice_range(d, 0, 1000));
    const answer b = run_best(h, d, p, &some);
    for (int32_t i = 0; i < some.rows; i++) expect_same(p, &a, some.order[i], &b, i);
}

static int32_t draw_max_choices(dice *d, int32_t symbols)
{
    const int32_t max_n = DICE_PICK(d, 0, 1, 2, 5, 12, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 200, 1000,
                                    symbols / 2, symbols - 1, symbols, symbols + 3);
    return symbols > 5000 && max_n > 1000 && dice_chance(d, 70) ? 10 : max_n;
}

static void test_best(void **state)
{
    (void)state;
    const int64_t iterations = harness_iterations(400);
    rig g, h;
    rig_open(&g, 24 << 20);
    rig_open(&h, 24 << 20);
    for (int64_t i = 0; i < iterations; i++) {
        dice d = dice_seeded(harness_seed(1) + (uint64_t)i);
        const int few = i % 2 != 0; /* one warp handles this many; the last of the best must be found late */
        const int32_t symbols = few ? dice_range(&d, 1, 1500)
                                    : DICE_PICK(&d, 1, 2, 3, 31, 32, 33, 40, 100, 255, 256, 257, 1024, 1025, 2049, 4096,
                                                4097, 5000, 16384, 16385, 20001, 40000, 70000);
        const int32_t rows = symbols > 5000 ? dice_range(&d, 0, 2) : dice_range(&d, 0, 12);
        problem p = draw(&d, rows, symbols, 1);
        p.tag = dice_chance(&d, 10);
        p.max_choices = p.tag ? 1 : few ? dice_range(&d, 1, 40) : draw_max_choices(&d, symbols);
        check_best(&g, &h, &d, &p);
        drop(&p);
    }
    rig_close(&g);
    rig_close(&h);
}

/* A row must have the same results alone and among 300 others. */
static void test_company(void **state)
{
    (void)state;
    rig g, h;
    rig_open(&g, 24 << 20);
    rig_open(&h, 24 << 20);
    for (int32_t i = 0; i < 6; i++) {
        dice d = dice_seeded(harness_seed(1) + 1000 + (uint64_t)i);
        problem p = draw(&d, i < 5 ? MAX_ROWS : 40, i < 5 ? 37 + 250 * i : 17000, 1);
        p.max_choices = i % 2 == 0 ? 12 : 140;
        check_best(&g, &h, &d, &p);
        drop(&p);
    }
    rig_close(&g);
    rig_close(&h);
}

/* Long rows must have the same results divided among several blocks and undivided. */
static void test_parts(void **state)
{
    enum { ROWS = 40, SYMBOLS = 40000 };
    (void)state;
    rig g, h;
    rig_open(&g, 16 << 20);
    rig_open(&h, 16 << 20);
    dice d = dice_seeded(harness_seed(1) + 4000);
    float *x = numbers(&d, (size_t)ROWS * SYMBOLS, PLAIN);
    for (int32_t i = 0; i < ROWS * SYMBOLS; i++) /* sums near 1, whose logarithm depends on the last bit */
        x[i] = i % SYMBOLS == i / SYMBOLS ? 0.0f : x[i] / 9.0f - 12.0f;
    problem p = {.rows = ROWS, .symbols = SYMBOLS, .vocabulary = SYMBOLS, .models = 1, .normalise = 1, .logits = {x}};
    p.max_choices = 6;
    batch_layout few = {.rows = ROWS}, many = {.rows = ROWS, .beyond = 160};
    for (int32_t r = 0; r < ROWS; r++) few.order[r] = many.order[r] = r;
    const answer a = run_best(&g, &d, &p, &few), b = run_best(&h, &d, &p, &many);
    expect_best(&p, &few, &a);
    for (int32_t r = 0; r < ROWS; r++) expect_same(&p, &a, r, &b, r);
    drop(&p);
    rig_close(&g);
    rig_close(&h);
}

/* Among distinct logits with equal log-probabilities, the smaller symbol is chosen, even if the list of best logits
 * ends between them. */
static void test_rounded(void **state)
{
    (void)state;
    rig g, h;
    rig_open(&g, 4 << 20);
    rig_open(&h, 4 << 20);
    for (int32_t i = 0; i < 40; i++) {
        const int32_t symbols = i < 30 ? 3000 : 20000;
        dice d = dice_seeded(harness_seed(1) + 2000 + (uint64_t)i);
        float *x = make((size_t)symbols, sizeof *x);
        problem p = {.rows = 1, .symbols = symbols, .vocabulary = symbols, .models = 1, .normalise = 1, .logits = {x}};
        p.max_choices = 1 + i * 2;
        p.add_index = make(1, sizeof *p.add_index);
        p.set = make(1, sizeof *p.set);
        for (int32_t v = 0; v < symbols; v++) x[v] = 0.5f + 0x1p-24f * (float)(i % 2 == 0 ? v : dice_range(&d, 0, 100));
        check_best(&g, &h, &d, &p);
        drop(&p);
    }
    rig_close(&g);
    rig_close(&h);
}

/* Draw a few large logits, so that several of the others share a log-probability. Then draw some with the larger of two
 * adjacent floats, and, at smaller symbols, n_ties with the smaller float, which must be chosen. The best logits end
 * among these. */
static float draw_cut(dice *d, float *x, int32_t symbols, int32_t n_ties)
{
    const int32_t high = dice_range(d, 2, n_ties - 2), top = dice_range(d, 1, n_ties - high - 1);
    const float small = 2.0f + 0x1p-22f * (float)dice_range(d, 0, 1000), large = small + 0x1p-22f;
    for (int32_t v = 0; v < symbols; v++) x[v] = -9.0f;
    for (int32_t i = 0; i < n_ties; i++) x[5 + 2 * i] = small;
    for (int32_t i = 0; i < top; i++) x[400 + i] = 9.0f - 0.01f * (float)i;
    for (int32_t i = 0; i < high; i++) x[700 + i] = large;
    return small;
}

/* The last of the best logits is the smallest one with its log-probability. Logits below the cut may have the same
 * log-probability and must be considered. */
static void test_cut(void **state)
{
    enum { ROWS = 32 };
    static const int32_t max_values[] = {4, 5, 18, 31, 32, 33, 50, 63, 64, 65, 100, 127, 128};
    (void)state;
    rig g;
    int32_t met = 0;
    rig_open(&g, 8 << 20);
    for (int32_t i = 0; i < 2 * (int32_t)(sizeof max_values / sizeof *max_values); i++) {
        const int32_t symbols = i % 2 == 0 ? 1000 : 20000, rows = i % 2 == 0 ? ROWS : ROWS / 4;
        dice d = dice_seeded(harness_seed(1) + 3000 + (uint64_t)i);
        float *x = make((size_t)rows * (size_t)symbols, sizeof *x), small[ROWS];
        problem p = {
            .rows = rows, .symbols = symbols, .vocabulary = symbols, .models = 1, .normalise = 1, .logits = {x}};
        batch_layout all = {.rows = rows};
        p.max_choices = max_values[i / 2];
        for (int32_t r = 0; r < rows; r++) {
            small[r] = draw_cut(&d, x + (size_t)r * (size_t)symbols, symbols, p.max_choices);
            all.order[r] = r;
        }
        const answer a = run_best(&g, &d, &p, &all);
        expect_best(&p, &all, &a);
        for (int32_t r = 0; r < rows; r++) {
            const float norm = a.log_norm[r], logp = small[r] - norm;
            met += small[r] + 0x1p-22f - norm == logp && nextafterf(small[r], 0.0f) - norm != logp;
        }
        drop(&p);
    }
    assert_true(met > 0);
    rig_close(&g);
}

/* --- mixtures ----------------------------------------------------------------------------------------------------- */

/* Run the mixture. Returns a copy of x [rows, symbols]. */
static float *run_mix(rig *g, dice *d, const problem *p, const batch_layout *c)
{
    const int over = dice_chance(d, 50);
    float *x = NULL, *result = make((size_t)c->rows * (size_t)p->symbols, sizeof *result);
    rig_begin(g);
    gpu_mix mix = {.rows = {put_int(g, c->rows), c->rows + c->beyond},
                   .models = p->models,
                   .symbols = symbols_of(p, c),
                   .subsets = put_lists(g, p),
                   .slot = put_column(g, c, p->slot)};
    for (int32_t e = 0; e < p->models; e++) {
        mix.logits[e] = put_logits(g, c, p, e, e == 0 && over ? &x : NULL);
        mix.bias[e] = put_floats(g, c, p->bias[e], (size_t)p->vocabulary);
    }
    mix.x = mix.logits[0];
    if (!over) {
        x = rig_out(g, (size_t)c->rows * (size_t)mix.x.ld * sizeof *x);
        mix.x.data = rig_device_ptr(g, x);
    }
    out(g, (size_t)mix.rows.max * (size_t)p->models, sizeof(float), (void **)&mix.log_norm);
    rig_upload(g);
    gpu_run_mix(g->queue, &mix);
    rig_download(g);
    for (int32_t r = 0; r < c->rows; r++)
        memcpy(result + (size_t)r * (size_t)p->symbols, x + (size_t)r * (size_t)mix.x.ld,
               (size_t)p->symbols * sizeof *x);
    return result;
}

static double mixed(const problem *p, const double *norm, int32_t r, int32_t v)
{
    double sum = 0.0;
    for (int32_t e = 0; e < p->models; e++) {
        if (!(norm[e] > -INFINITY)) return NAN;
        sum += exp((double)logit_at(p, e, r, v) - norm[e]);
    }
    double max = -INFINITY, spread = 0.0; /* draw again if the probabilities are too small for the tolerance */
    for (int32_t e = 0; e < p->models; e++) max = fmax(max, (double)logit_at(p, e, r, v) - norm[e]);
    if (max == -INFINITY) return max;
    for (int32_t e = 0; e < p->models; e++) spread += exp((double)logit_at(p, e, r, v) - norm[e] - max);
    return sum > 1e-200 ? log(sum / p->models) : max + log(spread / p->models);
}

static void test_mix(void **state)
{
    (void)state;
    const int64_t iterations = harness_iterations(120);
    rig g;
    rig_open(&g, 16 << 20);
    for (int64_t i = 0; i < iterations; i++) {
        dice d = dice_seeded(harness_seed(1) + 5000 + (uint64_t)i);
        const int32_t symbols = DICE_PICK(&d, 1, 2, 33, 100, 256, 1000, 1025, 4097, 20001);
        problem p = draw(&d, symbols > 4000 ? 2 : dice_range(&d, 1, 9), symbols, DICE_PICK(&d, 1, 2, 3, 5));
        if (i % 40 == 7) {
            drop(&p);
            p = draw(&d, 2, 70, MAX_MODELS);
        }
        free(p.add);
        p.add = NULL;
        batch_layout all = {.rows = p.rows, .beyond = 2}, some = draw_company(&d, p.rows);
        for (int32_t r = 0; r < p.rows; r++) all.order[r] = r;
        float *x = run_mix(&g, &d, &p, &all);
        for (int32_t r = 0; r < p.rows; r++) {
            double norm[MAX_MODELS], largest = 0.0;
            for (int32_t e = 0; e < p.models; e++) {
                norm[e] = true_log_norm(&p, e, r);
                largest = fmax(largest, fabs(norm[e]));
            }
            for (int32_t v = 0; v < length_of(&p, r); v++)
                expect_near((double)x[(size_t)r * (size_t)p.symbols + (size_t)v], mixed(&p, norm, r, v), largest);
        }
        cuda_host_seed((uint64_t)i);
        float *y = run_mix(&g, &d, &p, &some);
        for (int32_t r = 0; r < some.rows; r++)
            for (int32_t v = 0; v < length_of(&p, some.order[r]); v++)
                assert_true(same(y[r * p.symbols + v], x[some.order[r] * p.symbols + v]));
        free(x);
        free(y);
        drop(&p);
    }
    rig_close(&g);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_best),  cmocka_unit_test(test_company), cmocka_unit_test(test_rounded),
        cmocka_unit_test(test_parts), cmocka_unit_test(test_cut),     cmocka_unit_test(test_mix),
    };
    if (harness_options(argc, argv) != 0) return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
