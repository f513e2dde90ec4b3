/* Scoring states: the output layer, log-softmax and the best choices of each row.
 *
 * Symbols without a piece, and the padding symbol, are never chosen but count in the softmax, as in transformers.
 * The one action of an empty input is the end symbol, with certainty. It is counted (RILL_LAST), so that a minimum
 * length does not starve the item. Logits of a block of rows stay in the caches between the product and the selection.
 *
 * Invariant: a logit is the same to the bit in any block (kernels.h), and so is what picks say of it.
 * Divisions: blocks · answers · score. */
#include <math.h>

#include "model.h"

enum { BLOCK = 64 }; /* rows: logits of 64 rows of 8,000 symbols take 2 MB */

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* Rows [from, from + n) of a call. */
typedef struct block {
    const mt_model *m;
    const rill_rows *rows;
    const rill_ask *ask;
    rill_choices *out;
    size_t from, n, ld;
    float *logits;   /* [n, ld] without bias */
    float *log_norm; /* [n] */
    int32_t *none;   /* [n] in place of choices when none are wanted */
} block;

static void lay_out(block *b, size_t rows, rill_carver *c)
{
    b->logits = rill_carve(c, rows * b->ld, sizeof *b->logits);
    b->log_norm = rill_carve(c, rows, sizeof *b->log_norm);
    b->none = rill_carve(c, rows, sizeof *b->none);
}

static int is_empty(const block *b, size_t r)
{
    return b->m->slot_length[b->rows->slot[b->from + r]] == 0;
}

static void compute_logits(const block *b)
{
    rill_gemm output = mt_product(&b->m->output, b->n, b->m->top, b->logits);
    output.a_index = b->rows->node + b->from;
    output.bias = NULL;
    output.ldc = b->ld;
    b->m->kernels.gemm(&output, b->m->threads.pool);
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

/* The kernel writes the best where the engine wants them. With M = 0 its own choice goes nowhere: only log_norm is wanted. */
static void choose_best(const block *b)
{
    const mt_model *m = b->m;
    const rill_ask *ask = b->ask;
    const size_t words = (size_t)m->decoder.words, stride = (size_t)b->out->stride, most = (size_t)ask->most;
    rill_best best = {.rows = b->n,
                      .symbols = words,
                      .best = most < words ? most : words,
                      .logits = b->logits,
                      .ld_logits = b->ld,
                      .bias = m->output.bias,
                      .legal = m->legal, /* for all rows: ld_legal is 0 */
                      .ids = b->out->action + b->from * stride,
                      .logp = b->out->logp + b->from * stride,
                      .ld_out = stride,
                      .counts = b->out->count + b->from,
                      .log_norm = b->log_norm};
    if (ask->legal != NULL) {
        best.legal = ask->legal;
        best.ld_legal = ask->legal_words;
        best.legal_index = ask->legal_set + b->from;
    }
    if (most == 0) {
        best.best = best.ld_out = 1;
        best.ids = b->none;
        best.logp = NULL;
    }
    m->kernels.best(&best, b->m->threads.pool);
    for (size_t r = b->from; r < b->from + b->n && most == 0; r++) b->out->count[r] = 0;
}

void mt_answer_empty(const mt_model *m, const rill_ask *ask, size_t row, rill_choices *out)
{
    out->ends[row] = RILL_ENDS_LAST;
    out->count[row] = ask->most > 0;
    if (ask->most == 0) return;
    out->action[row * (size_t)out->stride] = m->settings.end;
    out->logp[row * (size_t)out->stride] = 0.0f;
}

/* To the bit what the kernel gives for the best ones (kernels.h); -infinity for what is never an action. */
static float logp_of(const block *b, size_t r, int32_t action)
{
    const mt_model *m = b->m;
    if (!(m->legal[action / 64] >> (action % 64) & 1)) return -INFINITY;
    if (is_empty(b, r)) return action == m->settings.end ? 0.0f : -INFINITY;
    return b->logits[r * b->ld + (size_t)action] + m->output.bias[action] - b->log_norm[r];
}

static void answer(const block *b)
{
    const rill_ask *ask = b->ask;
    choose_best(b);
    for (size_t r = 0; r < b->n; r++)
        if (is_empty(b, r)) mt_answer_empty(b->m, ask, b->from + r, b->out);
    const int32_t end = rill_ask_first_pick(ask, (int32_t)(b->from + b->n));
    for (int32_t q = rill_ask_first_pick(ask, (int32_t)b->from); q < end; q++)
        b->out->pick_logp[q] = logp_of(b, (size_t)ask->pick_row[q] - b->from, ask->pick_action[q]);
}

/* --- score -------------------------------------------------------------------------------------------------------- */

rill_status mt_score(mt_model *m, const rill_rows *rows, const rill_ask *ask, rill_choices *out)
{
    const size_t n = (size_t)rows->n, most = n < BLOCK ? n : BLOCK;
    block b = {.m = m, .rows = rows, .ask = ask, .out = out, .ld = ((size_t)m->decoder.words + 15) / 16 * 16};
    rill_carver carver = {0};
    if (n == 0) return RILL_OK;
    lay_out(&b, most, &carver);
    TRY(mt_carve_again(m, &carver));
    lay_out(&b, most, &carver);
    for (b.from = 0; b.from < n; b.from += b.n) {
        b.n = n - b.from < most ? n - b.from : most;
        compute_logits(&b);
        answer(&b);
    }
    return RILL_OK;
}
