/* Scoring states with several models, or with a shortlist.
 *
 * What several models say is mixed: the logarithm of the mean of their probabilities.
 * With l_e(v) the log-probability of symbol v by model e of E, and m(v) the largest of them,
 *   x(v) = m(v) + log((sum over e of exp(l_e(v) - m(v))) / E)
 * is what a symbol is ranked by and what its log-probability is said to be. The best B of x are found among all symbols, not
 * among each model's best: since m - log E <= x <= m, the best B of x are among the symbols whose m is at least the B-th
 * best m less log E, and x is computed for those alone.
 * With a shortlist the symbols are those of the row's item, and each model's softmax is over them.
 *
 * Invariant: x is a function of the row and the symbol, computed in one way wherever it is needed, so the answer depends
 * neither on the block nor on B. A row with NaN in any model has no choices.
 * Divisions: blocks · mixing · answers · score. */
#include <math.h>
#include <string.h>

#include "model.h"

enum { BLOCK_FLOATS = 1 << 21 }; /* of log-probabilities of a block, which are to stay near */

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* Rows [from, from + n) of a call. Log-probabilities are by place: that of a symbol in the list, or the symbol itself. */
typedef struct block {
    mt_model *m; /* the first of the ensemble */
    const rill_rows *rows;
    const rill_ask *ask;
    rill_choices *out;
    size_t models, from, n, best, ld;
    const mt_list *list; /* of the item that all rows belong to; NULL without a shortlist */
    size_t symbols;      /* in the list, or all; 0: an empty input's */
    float *each;         /* [models, n, ld] */
    float *x;            /* [n, ld] m(v), then x(v) of those that count */
    float *log_norm;     /* [n] of the model at work */
    uint64_t *legal;     /* [n, ceil(ld / 64)] with a list: places of the row's set */
    int32_t *legal_row;  /* [n] with a list: the row of `legal`, or -1 */
    int32_t *action;     /* [n, best] */
    float *logp;         /* [n, best] */
    int32_t *count;      /* [n] */
    uint8_t *broken;     /* [n] a model has no answer */
} block;

/* Of a set of places. */
static size_t legal_words(const block *b)
{
    return (b->ld + 63) / 64;
}

static void lay_out(block *b, size_t rows, rill_carver *c)
{
    b->each = rill_carve(c, b->models * rows * b->ld, sizeof *b->each);
    b->x = rill_carve(c, rows * b->ld, sizeof *b->x);
    b->log_norm = rill_carve(c, rows, sizeof *b->log_norm);
    b->legal = rill_carve(c, rows * legal_words(b), sizeof *b->legal);
    b->legal_row = rill_carve(c, rows, sizeof *b->legal_row);
    b->action = rill_carve(c, rows * b->best, sizeof *b->action);
    b->logp = rill_carve(c, rows * b->best, sizeof *b->logp);
    b->count = rill_carve(c, rows, sizeof *b->count);
    b->broken = rill_carve(c, rows, sizeof *b->broken);
}

/* The most rows of a block, of the call's. */
static size_t block_rows(const block *b)
{
    size_t most = BLOCK_FLOATS / (b->ld * (b->models + 1)), n = (size_t)b->rows->n;
    if (most < 16) most = 16;
    return n < most ? n : most;
}

static const mt_list *list_of(const mt_model *m, const rill_rows *rows, size_t row)
{
    return m->shortlist != NULL ? &m->slot[rows->slot[row]].list : NULL;
}

/* The most symbols that a row of the call chooses among. */
static size_t most_symbols(const mt_model *m, const rill_rows *rows)
{
    size_t most = 1;
    if (m->shortlist == NULL) return (size_t)m->decoder.words;
    for (size_t r = 0; r < (size_t)rows->n; r++) {
        const size_t n = list_of(m, rows, r)->n;
        if (n > most) most = n;
    }
    return most;
}

static const rill_weights *weights_of(const mt_model *m, const rill_rows *rows, size_t row)
{
    return m->shortlist != NULL ? &list_of(m, rows, row)->w : &m->output.w;
}

static rill_status prepare(block *b, mt_model *m, const rill_rows *rows, const rill_ask *ask, rill_choices *out)
{
    rill_carver carver = {0};
    const size_t symbols = most_symbols(m, rows), best = ask->most > 0 ? (size_t)ask->most : 1;
    *b = (block){.m = m,
                 .rows = rows,
                 .ask = ask,
                 .out = out,
                 .models = (size_t)m->models,
                 .best = best < symbols ? best : symbols,
                 .ld = (symbols + 15) / 16 * 16};
    const size_t most = block_rows(b);
    lay_out(b, most, &carver);
    TRY(mt_carve_again(m, &carver));
    lay_out(b, most, &carver);
    return RILL_OK;
}

static int is_empty(const block *b, size_t r)
{
    return b->m->slot_length[b->rows->slot[b->from + r]] == 0;
}

/* --- mixing ------------------------------------------------------------------------------------------------------- */

static rill_best best_of(const block *b, const float *logits)
{
    return (rill_best){.rows = b->n,
                       .symbols = b->symbols,
                       .logits = logits,
                       .ld_logits = b->ld,
                       .ids = b->action,
                       .ld_out = b->best,
                       .counts = b->count};
}

/* The places that the set of row r has, of its list. */
static void find_places(const block *b, size_t r)
{
    uint64_t *legal = b->legal + r * legal_words(b);
    const int32_t row = (int32_t)(b->from + r);
    b->legal_row[r] = b->ask->legal_set[row] >= 0 ? (int32_t)r : -1;
    if (b->legal_row[r] < 0) return;
    memset(legal, 0, legal_words(b) * sizeof *legal);
    for (size_t i = 0; i < b->symbols; i++)
        if (rill_ask_permits(b->ask, row, b->list->id[i])) legal[i / 64] |= UINT64_C(1) << (i % 64);
}

/* What the best may be: lists have nothing that is never chosen. */
static void set_legal(const block *b, rill_best *best)
{
    const rill_ask *ask = b->ask;
    if (b->list == NULL && ask->legal == NULL) {
        best->legal = b->m->legal; /* for all rows: ld_legal is 0 */
    } else if (b->list == NULL) {
        best->legal = ask->legal;
        best->ld_legal = ask->legal_words;
        best->legal_index = ask->legal_set + b->from;
    } else if (ask->legal != NULL) {
        for (size_t r = 0; r < b->n; r++) find_places(b, r);
        best->legal = b->legal;
        best->ld_legal = legal_words(b);
        best->legal_index = b->legal_row;
    }
}

/* What model m, the index-th, gives to each symbol. */
static void ask_model(const block *b, const mt_model *m, size_t index)
{
    float *each = b->each + index * b->n * b->ld;
    const mt_list *list = list_of(m, b->rows, b->from);
    const float *bias = list != NULL ? list->bias : m->output.bias;
    const rill_gemm output = {.w = weights_of(m, b->rows, b->from),
                              .rows = b->n,
                              .a = m->top,
                              .lda = m->width,
                              .a_index = b->rows->node + b->from,
                              .c = each,
                              .ldc = b->ld,
                              .scratch = m->product_scratch};
    b->m->kernels.gemm(&output, b->m->threads.pool);
    rill_best norm = best_of(b, each);
    norm.best = 1;
    norm.bias = bias;
    norm.log_norm = b->log_norm;
    b->m->kernels.best(&norm, b->m->threads.pool);
    for (size_t r = 0; r < b->n; r++) {
        float *row = each + r * b->ld;
        for (size_t v = 0; v < b->symbols; v++) row[v] = row[v] + bias[v] - b->log_norm[r];
        b->broken[r] = (uint8_t)(isnan(b->log_norm[r]) || (index > 0 && b->broken[r]));
    }
}

/* m(v) of all symbols of row r; NaN if a model has no answer. */
static void take_largest(const block *b, size_t r)
{
    float *x = b->x + r * b->ld;
    memcpy(x, b->each + r * b->ld, b->symbols * sizeof *x);
    if (b->broken[r]) x[0] = NAN; /* enough for the kernel */
    for (size_t e = 1; e < b->models && !b->broken[r]; e++) {
        const float *each = b->each + (e * b->n + r) * b->ld;
        for (size_t v = 0; v < b->symbols; v++) x[v] = each[v] > x[v] ? each[v] : x[v];
    }
}

static float mixed(const block *b, size_t r, size_t v)
{
    const float *each = b->each + r * b->ld + v;
    const size_t model = b->n * b->ld;
    float most = each[0], sum = 0.0f;
    for (size_t e = 1; e < b->models; e++)
        if (each[e * model] > most) most = each[e * model];
    if (!(most > -INFINITY)) return most;
    for (size_t e = 0; e < b->models; e++) sum += expf(each[e * model] - most);
    return most + logf(sum / (float)b->models);
}

/* x of the symbols that can be among the best, -infinity of the others. */
static void settle(const block *b, size_t r)
{
    const size_t count = (size_t)b->count[r];
    float *x = b->x + r * b->ld, least = -INFINITY;
    if (count == b->best) {
        least = x[b->action[r * b->best + count - 1]];
        least -= logf((float)b->models) + 1e-5f * (1.0f + fabsf(least)); /* many times what rounding can make of it */
    }
    for (size_t v = 0; v < b->symbols; v++) x[v] = x[v] >= least ? mixed(b, r, v) : -INFINITY;
}

/* Go to the rows from `from` on, at most `most` and of one item where items have lists, and compute what the models say of them. */
static void load_rows(block *b, size_t from, size_t most)
{
    size_t left = (size_t)b->rows->n - from, index = 0;
    const int32_t *slot = b->rows->slot + from;
    b->from = from;
    b->n = left < most ? left : most;
    b->list = list_of(b->m, b->rows, from);
    b->symbols = b->list != NULL ? b->list->n : (size_t)b->m->decoder.words;
    for (size_t r = 1; b->list != NULL && r < b->n; r++)
        if (slot[r] != slot[0]) b->n = r;
    for (const mt_model *m = b->m; m != NULL && b->symbols > 0; m = m->next) ask_model(b, m, index++);
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

static float logp_of(const block *b, size_t r, int32_t action)
{
    const mt_model *m = b->m;
    if (!(m->legal[action / 64] >> (action % 64) & 1)) return -INFINITY;
    if (is_empty(b, r)) return action == m->settings.end ? 0.0f : -INFINITY;
    const int32_t place = b->list != NULL ? mt_list_find(b->list, action) : action;
    return place >= 0 ? mixed(b, r, (size_t)place) : -INFINITY;
}

/* Places and log-probabilities of the best. */
static void find_best(const block *b)
{
    rill_best best = best_of(b, b->x);
    best.best = b->best;
    set_legal(b, &best);
    for (size_t r = 0; r < b->n; r++) take_largest(b, r);
    b->m->kernels.best(&best, b->m->threads.pool);
    if (b->models > 1) {
        for (size_t r = 0; r < b->n; r++) settle(b, r);
        b->m->kernels.best(&best, b->m->threads.pool);
    }
    for (size_t r = 0; r < b->n; r++)
        for (size_t i = r * b->best; i < r * b->best + (size_t)b->count[r]; i++)
            b->logp[i] = b->x[r * b->ld + (size_t)b->action[i]];
}

/* The choices of row r of the block. */
static void answer_row(const block *b, size_t r)
{
    rill_choices *out = b->out;
    const int32_t row = (int32_t)(b->from + r), *place = b->action + r * b->best;
    int32_t *action = out->action + (size_t)row * (size_t)out->stride;
    float *logp = out->logp + (size_t)row * (size_t)out->stride;
    out->count[row] = b->ask->most > 0 ? b->count[r] : 0;
    for (int32_t i = 0; i < out->count[row]; i++) {
        action[i] = b->list != NULL ? b->list->id[place[i]] : place[i];
        logp[i] = b->logp[r * b->best + (size_t)i];
    }
}

/* --- score -------------------------------------------------------------------------------------------------------- */

rill_status mt_mix_score(mt_model *m, const rill_rows *rows, const rill_ask *ask, rill_choices *out)
{
    block b;
    int32_t q = 0;
    if (rows->n == 0) return RILL_OK;
    TRY(prepare(&b, m, rows, ask, out));
    for (size_t from = 0, most = block_rows(&b); from < (size_t)rows->n; from += b.n) {
        load_rows(&b, from, most);
        if (b.symbols > 0 && ask->most > 0) find_best(&b);
        for (size_t r = 0; r < b.n; r++) {
            if (is_empty(&b, r))
                mt_answer_empty(m, ask, from + r, out);
            else
                answer_row(&b, r);
        }
        for (; q < ask->n_picks && (size_t)ask->pick_row[q] < from + b.n; q++)
            out->pick_logp[q] = logp_of(&b, (size_t)ask->pick_row[q] - from, ask->pick_action[q]);
    }
    return RILL_OK;
}
