/* Scoring states: the output layer, log-softmax and the best choices of each row.
 *
 * Symbols without a piece, and the padding symbol, are never chosen but count in the softmax, as in transformers.
 * The one action of an empty input is the end symbol, with certainty. It is counted (RILL_LAST), so that a minimum
 * length does not starve the item. Logits of a block of rows stay in the caches between the product and the selection;
 * nothing of a row is kept but its normaliser. lookup() computes logits again: few features need it, and none of them
 * in bulk.
 *
 * Invariant: a logit is the same to the bit in any block (kernels.h), so lookup() agrees with what score() said.
 * Divisions: blocks · answers · score · lookup. */
#include <math.h>
#include <string.h>

#include "model.h"

enum { BLOCK = 64 }; /* rows: logits of 64 rows of 8,000 symbols take 2 MB */

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* Rows [from, from + n) of a call. */
typedef struct block {
    const mt_model *m;
    const rill_rows *rows;
    size_t from, n, best, ld;
    const int32_t *node; /* [n] */
    float *logits;       /* [n, ld] without bias */
    float *log_norm;     /* [n] */
    int32_t *mask;       /* [n] row of the legal table: always the first */
    int32_t *action;     /* [n, best] when the answer goes through rill_select() */
    float *logp;         /* [n, best] */
    int32_t *count;      /* [n] */
} block;

static void lay_out(block *b, size_t rows, size_t best, rill_carver *c)
{
    b->logits = rill_carve(c, rows * b->ld, sizeof *b->logits);
    b->mask = rill_carve(c, rows, sizeof *b->mask);
    b->action = rill_carve(c, rows * best, sizeof *b->action);
    b->logp = rill_carve(c, rows * best, sizeof *b->logp);
    b->count = rill_carve(c, rows, sizeof *b->count);
}

/* A block's arrays, `best` of them per row for answers. */
static rill_status prepare(mt_model *m, block *b, size_t rows, size_t best)
{
    rill_carver carver = {0};
    *b = (block){.m = m, .ld = ((size_t)m->decoder.words + 15) / 16 * 16};
    lay_out(b, rows, best, &carver);
    TRY(mt_carve_again(m, &carver));
    lay_out(b, rows, best, &carver);
    memset(b->mask, 0, rows * sizeof *b->mask);
    return RILL_OK;
}

static int is_empty(const block *b, size_t r)
{
    return b->m->slot_length[b->rows->slot[b->from + r]] == 0;
}

static void compute_logits(const block *b)
{
    rill_gemm output = mt_product(&b->m->output, b->n, b->m->top, b->logits);
    output.a_index = b->node;
    output.bias = NULL;
    output.ldc = b->ld;
    b->m->kernels.gemm(&output, b->m->threads.pool);
}

/* To the bit what the kernel gives for the best ones (kernels.h); -infinity for what is never an action. */
static float logp_of(const block *b, size_t r, int32_t action)
{
    const mt_model *m = b->m;
    if (action < 0 || action >= m->decoder.words || !(m->legal[action / 64] >> (action % 64) & 1)) return -INFINITY;
    if (is_empty(b, r)) return action == m->settings.end ? 0.0f : -INFINITY;
    return b->logits[r * b->ld + (size_t)action] + m->output.bias[action] - b->log_norm[r];
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

static void choose_best(const block *b, int32_t *action, float *logp, size_t ld, int32_t *count)
{
    rill_best best = {.rows = b->n,
                      .symbols = (size_t)b->m->decoder.words,
                      .best = b->best,
                      .logits = b->logits,
                      .ld_logits = b->ld,
                      .bias = b->m->output.bias,
                      .legal = b->m->legal,
                      .legal_index = b->mask,
                      .ids = action,
                      .logp = logp,
                      .ld_out = ld,
                      .counts = count,
                      .log_norm = b->log_norm};
    b->m->kernels.best(&best, b->m->threads.pool);
    for (size_t r = 0; r < b->n; r++) {
        if (!is_empty(b, r)) continue;
        action[r * ld] = b->m->settings.end;
        logp[r * ld] = 0.0f;
        count[r] = 1;
    }
}

/* Nothing but the best M is asked: the kernel writes them where the engine wants them. */
static void answer_plain(const block *b, rill_choices *out)
{
    size_t stride = (size_t)out->stride, first = b->from * stride;
    choose_best(b, out->action + first, out->logp + first, stride, out->count + b->from);
    for (size_t r = 0; r < b->n; r++) {
        size_t at = first + r * stride;
        int end = is_empty(b, r) ? RILL_LAST : RILL_END;
        for (size_t i = at; i < at + (size_t)out->count[b->from + r]; i++) {
            out->score[i] = out->logp[i];
            out->terminal[i] = (uint8_t)(out->action[i] == b->m->settings.end ? end : RILL_LIVE);
        }
    }
}

static float lookup_raw(void *user, int32_t row, int32_t action)
{
    const block *b = user;
    return logp_of(b, (size_t)row - b->from, action);
}

static rill_terminal last(void *user, int32_t row, int32_t action)
{
    (void)user, (void)row, (void)action;
    return RILL_LAST;
}

static void answer_asked(block *b, const rill_ask *ask, rill_choices *out)
{
    choose_best(b, b->action, b->logp, b->best, b->count);
    for (size_t r = 0; r < b->n; r++) {
        rill_raw raw = {.n = b->count[r],
                        .action = b->action + r * b->best,
                        .logp = b->logp + r * b->best,
                        .end_action = b->m->settings.end,
                        .lookup = lookup_raw,
                        .terminal = is_empty(b, r) ? last : NULL,
                        .user = b};
        rill_select(ask, (int32_t)(b->from + r), &raw, out);
    }
}

/* --- score -------------------------------------------------------------------------------------------------------- */

/* Go to the next block of at most `most` rows. */
static void advance(block *b, const rill_rows *rows, size_t from, size_t most)
{
    size_t left = (size_t)rows->n - from;
    b->rows = rows;
    b->from = from;
    b->n = left < most ? left : most;
    b->node = rows->node + from;
    b->log_norm = b->m->scored.log_norm + from;
}

rill_status mt_score(mt_model *m, const rill_rows *rows, const rill_ask *ask, rill_choices *out)
{
    size_t n = (size_t)rows->n, wanted = (size_t)ask->max_choices + (ask->plain ? 0 : (size_t)ask->extra);
    size_t best = wanted < (size_t)m->decoder.words ? wanted : (size_t)m->decoder.words, most = n < BLOCK ? n : BLOCK;
    if (n == 0) return RILL_OK;
    m->scored.n = 0;
    TRY(rill_grow(m->ctx, (void **)&m->scored.log_norm, &m->scored.room, n, sizeof *m->scored.log_norm, "normalisers"));
    block b;
    TRY(prepare(m, &b, most, ask->plain ? 0 : best));
    b.best = best;
    for (size_t from = 0; from < n; from += b.n) {
        advance(&b, rows, from, most);
        compute_logits(&b);
        if (ask->plain)
            answer_plain(&b, out);
        else
            answer_asked(&b, ask, out);
    }
    m->scored.n = rows->n;
    return RILL_OK;
}

/* --- lookup ------------------------------------------------------------------------------------------------------- */

size_t mt_rows_asked(const rill_queries *queries, int32_t q, size_t most)
{
    const size_t first = (size_t)queries->row[q];
    size_t last = first;
    for (q++; q < queries->n; q++) {
        const size_t row = (size_t)queries->row[q];
        if (row < last || row >= first + most) break;
        last = row;
    }
    return last - first + 1;
}

/* Queries that go through the rows in order, as they usually do, cost each row's logits once. */
rill_status mt_lookup(mt_model *m, const rill_rows *rows, const rill_queries *queries)
{
    if (queries->n == 0) return RILL_OK;
    if (m->scored.n != rows->n)
        return rill_fail(m->ctx, RILL_ERR_ARGUMENT, "mt: lookup of %d rows, but %d were just scored", rows->n,
                         m->scored.n);
    block b;
    TRY(prepare(m, &b, (size_t)rows->n < BLOCK ? (size_t)rows->n : BLOCK, 0));
    for (int32_t q = 0; q < queries->n; q++) {
        const size_t row = (size_t)queries->row[q];
        if (q == 0 || row < b.from || row >= b.from + b.n) {
            advance(&b, rows, row, mt_rows_asked(queries, q, BLOCK));
            compute_logits(&b);
        }
        queries->logp[q] = logp_of(&b, row - b.from, queries->action[q]);
    }
    return RILL_OK;
}
