/* Scoring rows: two sums of product rows, two small layers, and what is legal of them.
 *
 * structure: rows where both actions are legal go through the network; the others have one action, at no cost.
 * label:     every row does; labels that are illegal get -infinity before the softmax, so the legal ones share all probability.
 *
 * A call's rows are cut into spans, one per unit of work for the pool, and each span is walked in blocks whose values stay in
 * the nearest caches. Invariant: a row's result is a function of that row alone.
 * Divisions: the call · hidden layers · structure · labels · answers · lookup. */
#include <math.h>
#include <string.h>

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
    size_t symbols, best; /* of the phase; choices wanted of each row before selection */
    int32_t *kind;        /* [n] structure: the forced action or BOTH; label: 1 at the item's last timestep, else 0 */
    float *logits;        /* [n, symbols] kept for lookup() */
    float *log_norm;      /* [n] likewise */
    char *scratch;        /* [spans, span_bytes] */
    size_t span_bytes;
} work;

/* Rows [from, from + n) of the call. */
typedef struct block {
    const work *w;
    size_t from, n;
    float *hidden;   /* [n, D] */
    int32_t *row;    /* [n] structure: rows that are scored */
    float *logits;   /* [n, 2] structure: theirs */
    float *norms;    /* [n] structure: theirs */
    int32_t *action; /* [n, best] */
    float *logp;     /* [n, best] */
    int32_t *count;  /* [n] */
} block;

static void lay_out_block(const work *w, block *x, rill_carver *carver)
{
    const size_t n = w->cut.block;
    x->hidden = rill_carve(carver, n * w->p->net, sizeof *x->hidden);
    x->row = rill_carve(carver, n, sizeof *x->row);
    x->logits = rill_carve(carver, n * 2, sizeof *x->logits);
    x->norms = rill_carve(carver, n, sizeof *x->norms);
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

/* Rows that are scored stand together in the block; what they came to goes to the call's arrays, for lookup(). */
static void score_structure(const block *x)
{
    const work *w = x->w;
    const parser *p = w->p;
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        w->kind[x->from + i] = forced(w, x->from + i);
        if (w->kind[x->from + i] != BOTH) continue;
        structure_hidden(w, x->from + i, x->hidden + n * p->net);
        x->row[n++] = (int32_t)i;
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
                      .counts = x->count,
                      .log_norm = x->norms};
    p->kernels.best(&best, NULL);
    for (size_t j = 0; j < n; j++) {
        const size_t row = x->from + (size_t)x->row[j];
        memcpy(w->logits + row * 2, x->logits + j * 2, 2 * sizeof *x->logits);
        w->log_norm[row] = x->norms[j];
    }
}

/* --- labels ------------------------------------------------------------------------------------------------------- */

static void score_labels(const block *x)
{
    const work *w = x->w;
    const parser *p = w->p;
    for (size_t i = 0; i < x->n; i++) {
        w->kind[x->from + i] = stack_is_done(cell_of(w, x->from + i), words_of(w, x->from + i));
        label_hidden(w, x->from + i, x->hidden + i * p->net);
    }
    rill_gemm layer = {.w = &p->bracket,
                       .rows = x->n,
                       .a = x->hidden,
                       .lda = p->net,
                       .c = w->logits + x->from * w->symbols,
                       .ldc = w->symbols};
    p->kernels.gemm(&layer, NULL);
    rill_best best = {.rows = x->n,
                      .symbols = w->symbols,
                      .best = w->best,
                      .logits = w->logits + x->from * w->symbols,
                      .ld_logits = w->symbols,
                      .add = p->bracket_bias,
                      .ld_add = w->symbols,
                      .add_index = w->kind + x->from,
                      .ids = x->action,
                      .logp = x->logp,
                      .ld_out = w->best,
                      .counts = x->count,
                      .log_norm = w->log_norm + x->from};
    p->kernels.best(&best, NULL);
    for (size_t i = 0; i < x->n * w->best; i++) x->action[i] += PARSER_LABELS;
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

static rill_terminal terminal_label(void *user, int32_t row, int32_t action)
{
    (void)action;
    return ((const work *)user)->kind[row] ? RILL_LAST : RILL_LIVE;
}

static rill_terminal terminal_structure(void *user, int32_t row, int32_t action)
{
    (void)user, (void)row, (void)action;
    return RILL_LIVE;
}

/* To the bit what the kernel gives for the best ones (kernels.h). */
static float logp_of(const parser_scored *s, int32_t phase, int32_t row, int32_t action)
{
    const size_t r = (size_t)row;
    if (phase == PARSER_LABEL) {
        const size_t label = (size_t)(action - PARSER_LABELS);
        const float bias = s->bias[(size_t)s->kind[r] * s->ld_bias + label];
        return s->logits[r * s->ld_logits + label] + bias - s->log_norm[r];
    }
    if (s->kind[r] != BOTH) return s->kind[r] == action ? 0.0f : -INFINITY;
    return s->logits[r * s->ld_logits + (size_t)action] - s->log_norm[r];
}

/* All legal actions of a row are given whenever more than the best ones is asked, so rill_select() need not look any up. */
static void answer(const work *w, size_t row, int32_t n, const int32_t *action, const float *logp)
{
    const int label = w->rows->phase == PARSER_LABEL;
    rill_raw raw = {.n = n,
                    .action = action,
                    .logp = logp,
                    .end_action = RILL_NO_ACTION,
                    .terminal = label ? terminal_label : terminal_structure,
                    .user = (void *)(uintptr_t)w};
    rill_select(w->ask, (int32_t)row, &raw, w->out);
}

static void answer_structure(const block *x)
{
    static const float free_of_cost = 0.0f;
    const work *w = x->w;
    size_t j = 0;
    for (size_t i = 0; i < x->n; i++) {
        const int32_t *kind = &w->kind[x->from + i];
        if (*kind != BOTH) {
            answer(w, x->from + i, 1, kind, &free_of_cost);
        } else {
            answer(w, x->from + i, x->count[j], x->action + j * w->best, x->logp + j * w->best);
            j++;
        }
    }
}

static void answer_labels(const block *x)
{
    const work *w = x->w;
    for (size_t i = 0; i < x->n; i++)
        answer(w, x->from + i, x->count[i], x->action + i * w->best, x->logp + i * w->best);
}

static void run_span(void *call, size_t span)
{
    const work *w = call;
    const size_t end = rill_cut_from(&w->cut, span + 1);
    block x = {.w = w};
    lay_out_block(w, &x, &(rill_carver){.base = w->scratch + span * w->span_bytes});
    for (x.from = rill_cut_from(&w->cut, span); x.from < end; x.from += x.n) {
        x.n = end - x.from < w->cut.block ? end - x.from : w->cut.block;
        if (w->rows->phase == PARSER_STRUCTURE) {
            score_structure(&x);
            answer_structure(&x);
        } else {
            score_labels(&x);
            answer_labels(&x);
        }
    }
}

static void lay_out_call(work *w, rill_carver *carver)
{
    const size_t n = w->cut.n;
    block x;
    rill_carver span = {0};
    lay_out_block(w, &x, &span);
    w->span_bytes = span.used;
    w->kind = rill_carve(carver, n, sizeof *w->kind);
    w->logits = rill_carve(carver, n * w->symbols, sizeof *w->logits);
    w->log_norm = rill_carve(carver, n, sizeof *w->log_norm);
    w->scratch = rill_carve(carver, w->cut.spans * w->span_bytes, 1);
}

rill_status parser_score(void *self, const rill_rows *rows, const rill_ask *ask, rill_choices *out)
{
    parser *p = self;
    if (rows->n == 0) return RILL_OK;
    work w = {.p = p, .rows = rows, .ask = ask, .out = out};
    w.symbols = rows->phase == PARSER_STRUCTURE ? 2 : (size_t)p->labels;
    w.best = ask->plain && (size_t)ask->max_choices < w.symbols ? (size_t)ask->max_choices : w.symbols;
    w.cut = rill_cut_make(p->pool, (size_t)rows->n, SPAN_ROWS, BLOCK);
    rill_carver carver = {0};
    lay_out_call(&w, &carver);
    TRY(parser_carve_again(p, &carver));
    lay_out_call(&w, &carver);
    p->scored = (parser_scored){.n = rows->n,
                                .logits = w.logits,
                                .ld_logits = w.symbols,
                                .log_norm = w.log_norm,
                                .bias = p->bracket_bias,
                                .ld_bias = (size_t)p->labels,
                                .kind = w.kind};
    rill_pool_run(p->pool, run_span, &w, w.cut.spans);
    return RILL_OK;
}

/* --- lookup ------------------------------------------------------------------------------------------------------- */

static int of_phase(const parser *p, int32_t phase, int32_t action)
{
    if (phase == PARSER_STRUCTURE) return action == PARSER_SHIFT || action == PARSER_COMBINE;
    return action >= PARSER_LABELS && action < PARSER_LABELS + p->labels;
}

rill_status parser_lookup(void *self, const rill_rows *rows, const rill_queries *queries)
{
    const parser *p = self;
    if (queries->n > 0 && p->scored.n != rows->n)
        return rill_fail(p->ctx, RILL_ERR_ARGUMENT, "shiftreduce: lookup of %d rows, but %d were just scored", rows->n,
                         p->scored.n);
    for (int32_t q = 0; q < queries->n; q++) {
        const int32_t action = queries->action[q];
        const int known = of_phase(p, rows->phase, action);
        queries->logp[q] = known ? logp_of(&p->scored, rows->phase, queries->row[q], action) : -INFINITY;
    }
    return RILL_OK;
}
