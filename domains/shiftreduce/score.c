/* Scoring rows: two sums of product rows, two small layers, and what is legal of them.
 *
 * structure: rows where both actions are legal go through the network; the others have one action, at no cost.
 * label:     every row does; labels that are illegal get -infinity before the softmax, so the legal ones share all probability.
 *
 * A call's rows are cut into spans, one per unit of work for the pool, and each span is walked in blocks whose values stay in
 * the nearest caches. Invariant: a row's result is a function of that row alone.
 * Divisions: the call · hidden layers · structure · labels · the spans. */
#include "stack.h"

/* --- the call ----------------------------------------------------------------------------------------------------- */

enum {
    BLOCK = 96,    /* rows: as many as the gemm keeps close at once */
    SPAN_ROWS = 24 /* least rows worth a unit of their own: a few microseconds */
};

enum { BOTH = -1 }; /* structure: no action is forced */

typedef struct work {
    const parser *p;
    const rill_rows *rows;
    const rill_ask *ask;
    rill_choices *out;
    rill_cut cut;
    size_t symbols, best; /* of the phase; of these so many are computed: all where sets or picks need them */
    char *scratch;        /* [spans, span_bytes] */
    size_t span_bytes;
} work;

/* Rows [from, from + n) of the call. */
typedef struct block {
    const work *w;
    size_t from, n;
    float *hidden;   /* [n, D] */
    int32_t *kind;   /* [n] structure: the forced action or BOTH; label: 1 at the item's last timestep, else 0 */
    float *logits;   /* [n, symbols] structure: of rows that are not forced, which stand together */
    int32_t *action; /* [n, best] likewise */
    float *logp;     /* [n, best] */
    int32_t *count;  /* [n] */
} block;

static void lay_out_block(const work *w, block *x, rill_carver *carver)
{
    const size_t n = w->cut.block;
    x->hidden = rill_carve(carver, n * w->p->net, sizeof *x->hidden);
    x->kind = rill_carve(carver, n, sizeof *x->kind);
    x->logits = rill_carve(carver, n * w->symbols, sizeof *x->logits);
    x->action = rill_carve(carver, n * w->best, sizeof *x->action);
    x->logp = rill_carve(carver, n * w->best, sizeof *x->logp);
    x->count = rill_carve(carver, n, sizeof *x->count);
}

static const parser_cell *cell_of(const work *w, size_t row)
{
    return &w->p->cell[w->rows->node[row]];
}

static int32_t words_of(const work *w, size_t row)
{
    return w->p->slot[w->rows->slot[row]].sentence.words;
}

/* --- hidden layers ------------------------------------------------------------------------------------------------ */

/* Products of a position of the row's sentence. */
static const float *products(const work *w, size_t row, int32_t position, int which)
{
    const parser *p = w->p;
    const float *rows = p->slot[w->rows->slot[row]].room.rows;
    return rows + ((size_t)position * PRODUCTS + (size_t)which) * p->net;
}

static inline float positive(float x)
{
    return x > 0.0f ? x : 0.0f;
}

static void structure_hidden(const work *w, size_t row, float *restrict out)
{
    const parser_cell *s = cell_of(w, row);
    const float *a = products(w, row, s->a, PRODUCT_A), *b = products(w, row, s->b, PRODUCT_B),
                *c = products(w, row, s->c, PRODUCT_C);
    for (size_t i = 0; i < w->p->net; i++) out[i] = positive(a[i] + b[i] + c[i]);
}

static void label_hidden(const work *w, size_t row, float *restrict out)
{
    const parser_cell *s = cell_of(w, row);
    const float *b = products(w, row, s->b, PRODUCT_LABEL_B), *c = products(w, row, s->c, PRODUCT_LABEL_C);
    for (size_t i = 0; i < w->p->net; i++) out[i] = positive(b[i] + c[i]);
}

/* --- structure ---------------------------------------------------------------------------------------------------- */

static int32_t forced(const work *w, size_t row)
{
    const parser_cell *s = cell_of(w, row);
    if (!stack_can_shift(s, words_of(w, row))) return PARSER_COMBINE;
    return stack_can_combine(s) ? BOTH : PARSER_SHIFT;
}

static const int32_t *action_at(const block *x, size_t i)
{
    return x->action + i * x->w->best;
}

static const float *logp_at(const block *x, size_t i)
{
    return x->logp + i * x->w->best;
}

static void score_structure(const block *x)
{
    static const float free_of_cost = 0.0f;
    const work *w = x->w;
    const parser *p = w->p;
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        x->kind[i] = forced(w, x->from + i);
        if (x->kind[i] == BOTH) structure_hidden(w, x->from + i, x->hidden + n++ * p->net);
    }
    rill_gemm layer = {.w = &p->structure,
                       .rows = n,
                       .a = x->hidden,
                       .lda = p->net,
                       .bias = p->structure_bias,
                       .c = x->logits,
                       .ldc = 2};
    p->kernels.gemm(&layer, NULL);
    rill_best best = {.rows = n,
                      .symbols = 2,
                      .best = w->best,
                      .logits = x->logits,
                      .ld_logits = 2,
                      .ids = x->action,
                      .logp = x->logp,
                      .ld_out = w->best,
                      .counts = x->count};
    p->kernels.best(&best, NULL);
    n = 0;
    for (size_t i = 0; i < x->n; i++) {
        const int32_t row = (int32_t)(x->from + i);
        if (x->kind[i] != BOTH) {
            rill_choices_give(w->ask, row, 1, &x->kind[i], &free_of_cost, NULL, w->out);
        } else {
            rill_choices_give(w->ask, row, x->count[n], action_at(x, n), logp_at(x, n), NULL, w->out);
            n++;
        }
    }
}

/* --- labels ------------------------------------------------------------------------------------------------------- */

static void score_labels(const block *x)
{
    const work *w = x->w;
    const parser *p = w->p;
    for (size_t i = 0; i < x->n; i++) {
        x->kind[i] = stack_is_done(cell_of(w, x->from + i), words_of(w, x->from + i));
        label_hidden(w, x->from + i, x->hidden + i * p->net);
    }
    rill_gemm layer = {
        .w = &p->bracket, .rows = x->n, .a = x->hidden, .lda = p->net, .c = x->logits, .ldc = w->symbols};
    p->kernels.gemm(&layer, NULL);
    rill_best best = {.rows = x->n,
                      .symbols = w->symbols,
                      .best = w->best,
                      .logits = x->logits,
                      .ld_logits = w->symbols,
                      .add = p->bracket_bias,
                      .ld_add = w->symbols,
                      .add_index = x->kind,
                      .ids = x->action,
                      .logp = x->logp,
                      .ld_out = w->best,
                      .counts = x->count};
    p->kernels.best(&best, NULL);
    for (size_t i = 0; i < x->n * w->best; i++) x->action[i] += PARSER_LABELS;
    for (size_t i = 0; i < x->n; i++) {
        const size_t row = x->from + i;
        if (x->kind[i]) w->out->ends[row] = RILL_ENDS_LAST;
        rill_choices_give(w->ask, (int32_t)row, x->count[i], action_at(x, i), logp_at(x, i), NULL, w->out);
    }
}

/* --- the spans ---------------------------------------------------------------------------------------------------- */

static void run_span(void *call, size_t span)
{
    const work *w = call;
    const size_t end = rill_cut_from(&w->cut, span + 1);
    block x = {.w = w};
    lay_out_block(w, &x, &(rill_carver){.base = w->scratch + span * w->span_bytes});
    for (x.from = rill_cut_from(&w->cut, span); x.from < end; x.from += x.n) {
        x.n = end - x.from < w->cut.block ? end - x.from : w->cut.block;
        if (w->rows->phase == PARSER_STRUCTURE)
            score_structure(&x);
        else
            score_labels(&x);
    }
}

/* Choices of each row that the kernel is to give. */
static size_t best_of(const work *w)
{
    const size_t most = w->ask->most > 0 ? (size_t)w->ask->most : 1;
    return w->ask->n_picks > 0 || w->ask->legal != NULL || most > w->symbols ? w->symbols : most;
}

rill_status parser_score(void *self, const rill_rows *rows, const rill_ask *ask, rill_choices *out)
{
    parser *p = self;
    if (rows->n == 0) return RILL_OK;
    work w = {.p = p, .rows = rows, .ask = ask, .out = out};
    w.symbols = rows->phase == PARSER_STRUCTURE ? 2 : (size_t)p->labels;
    w.best = best_of(&w);
    w.cut = rill_cut_make(p->pool, (size_t)rows->n, SPAN_ROWS, BLOCK);
    block x;
    rill_carver carver = {0};
    lay_out_block(&w, &x, &carver);
    w.span_bytes = carver.used;
    carver.used *= w.cut.spans;
    TRY(parser_carve_again(p, &carver));
    w.scratch = carver.base;
    rill_pool_run(p->pool, run_span, &w, w.cut.spans);
    return RILL_OK;
}
