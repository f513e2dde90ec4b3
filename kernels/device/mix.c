/* Choices of several models: the logarithm of the mean of their probabilities.
 *
 * With l_e(v) the log-probability of symbol v by model e of E, and m(v) the largest of them,
 *   x(v) = m(v) + log((sum over e of exp(l_e(v) - m(v))) / E)
 * is what a symbol is ranked by and what its log-probability is said to be. The best B of x are found among all symbols, not
 * among each model's best: since m - log E <= x <= m, the best B of x are among the symbols whose m is at least the B-th
 * best m less log E, and x is computed for those alone.
 *
 * Invariant: x is a function of the row and the symbol, computed in one way wherever it is needed, so the answer depends neither on
 * the block nor on B. A row with NaN in any model, or nothing but -infinity, has no choices. Divisions: memory · mixing · answers. */
#include <math.h>
#include <string.h>

#include "stream.h"

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Rows of a group. Log-probabilities are by place: that of a symbol in the list, or the symbol itself. */
typedef struct mixture {
    const dev_group *g;
    size_t models, best, ld;
    rill_operand each[RILL_MIX_MODELS]; /* [rows, symbols] logits, then log-probabilities */
    const float *bias[RILL_MIX_MODELS];
    float *x;        /* [rows, ld] m(v), then x(v) of those that count */
    float *log_norm; /* [rows] of the model at work */
    int32_t *action; /* [rows, best] */
    float *logp;     /* [rows, best] */
    int32_t *count;  /* [rows] */
    uint8_t *broken; /* [rows] a model has no answer */
    rill_best ask;
} mixture;

static size_t most_symbols(const dev_run *r, const dev_op *op)
{
    const size_t most = op->as.mix.list[0] != 0 ? r->list_longest[op->as.mix.list[0]] : op->as.mix.symbols;
    return most > 0 ? most : 1;
}

static size_t most_choices(const dev_run *r)
{
    const int32_t most = r->arguments->selection->most;
    return most > 0 ? (size_t)most : 1;
}

size_t dev_mix_work(const dev_run *r, const dev_op *op)
{
    const size_t rows = r->layout.rows[op->space], best = most_choices(r), symbols = most_symbols(r, op);
    return dev_lines(rows * dev_padded(symbols) * sizeof(float)) + 2 * dev_lines(rows * best * sizeof(float)) +
           2 * dev_lines(rows * sizeof(float)) + dev_lines(rows) +
           dev_legal_bytes(r, rows, op->as.mix.list[0] != 0 ? symbols : 0);
}

static void lay_out(mixture *m, const dev_group *g)
{
    const dev_run *run = g->b->run;
    size_t used = 0;
    m->g = g;
    m->best = most_choices(run);
    m->ld = dev_padded(most_symbols(run, g->op));
    m->x = dev_work(g->b, &used, g->rows * m->ld, sizeof *m->x);
    m->log_norm = dev_work(g->b, &used, g->rows, sizeof *m->log_norm);
    m->action = dev_work(g->b, &used, g->rows * m->best, sizeof *m->action);
    m->logp = dev_work(g->b, &used, g->rows * m->best, sizeof *m->logp);
    m->count = dev_work(g->b, &used, g->rows, sizeof *m->count);
    m->broken = dev_work(g->b, &used, g->rows, sizeof *m->broken);
    m->ask = (rill_best){
        .rows = g->rows, .symbols = g->symbols, .best = 1, .ids = m->action, .ld_out = m->best, .counts = m->count};
    dev_group_legal(g, &used, &m->ask);
}

/* --- mixing ------------------------------------------------------------------------------------------------------- */

/* What the index-th model gives to each symbol, in place of its logits. */
static void normalise(const mixture *m, size_t index)
{
    const dev_group *g = m->g;
    const float *bias = m->bias[index];
    rill_best norm = m->ask;
    norm.logits = m->each[index];
    norm.bias = bias;
    norm.log_norm = m->log_norm;
    g->b->run->kernels->best(&norm, g->b->pool);
    for (size_t r = 0; r < g->rows; r++) {
        float *row = m->each[index].at + r * m->each[index].ld;
        const float log_norm = m->log_norm[r];
        if (bias != NULL)
            for (size_t v = 0; v < g->symbols; v++) row[v] = row[v] + bias[v] - log_norm;
        else
            for (size_t v = 0; v < g->symbols; v++) row[v] = row[v] - log_norm;
        m->broken[r] = (uint8_t)(!(log_norm > -INFINITY) || (index > 0 && m->broken[r]));
    }
}

/* m(v) of all symbols of row r; NaN if a model has no answer. */
static void take_largest(const mixture *m, size_t r)
{
    float *x = m->x + r * m->ld;
    memcpy(x, m->each[0].at + r * m->each[0].ld, m->g->symbols * sizeof *x);
    if (m->broken[r]) x[0] = NAN; /* enough for the kernel */
    for (size_t e = 1; e < m->models && !m->broken[r]; e++) {
        const float *each = m->each[e].at + r * m->each[e].ld;
        for (size_t v = 0; v < m->g->symbols; v++) x[v] = each[v] > x[v] ? each[v] : x[v];
    }
}

static float each_at(const mixture *m, size_t e, size_t r, size_t v)
{
    return m->each[e].at[r * m->each[e].ld + v];
}

static float mixed(const mixture *m, size_t r, size_t v)
{
    float most = each_at(m, 0, r, v), sum = 0.0f;
    for (size_t e = 1; e < m->models; e++)
        if (each_at(m, e, r, v) > most) most = each_at(m, e, r, v);
    if (!(most > -INFINITY)) return most;
    for (size_t e = 0; e < m->models; e++) sum += expf(each_at(m, e, r, v) - most);
    return most + logf(sum / (float)m->models);
}

/* x of the symbols that can be among the best, -infinity of the others. */
static void settle(const mixture *m, size_t r)
{
    const size_t count = (size_t)m->count[r];
    float *x = m->x + r * m->ld, least = -INFINITY;
    if (count == m->best) {
        least = x[m->action[r * m->best + count - 1]];
        least -= logf((float)m->models) + 1e-5f * (1.0f + fabsf(least)); /* many times what rounding can make of it */
    }
    for (size_t v = 0; v < m->g->symbols; v++) x[v] = x[v] >= least ? mixed(m, r, v) : -INFINITY;
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

/* Places and log-probabilities of the best. */
static void find_best(const mixture *m)
{
    const dev_group *g = m->g;
    rill_best best = m->ask;
    best.best = m->best;
    best.logits = (rill_operand){.at = m->x, .ld = m->ld};
    for (size_t r = 0; r < g->rows; r++) take_largest(m, r);
    g->b->run->kernels->best(&best, g->b->pool);
    if (m->models > 1) {
        for (size_t r = 0; r < g->rows; r++) settle(m, r);
        g->b->run->kernels->best(&best, g->b->pool);
    }
    for (size_t r = 0; r < g->rows; r++)
        for (size_t i = r * m->best; i < r * m->best + (size_t)m->count[r]; i++)
            m->logp[i] = m->x[r * m->ld + (size_t)m->action[i]];
    dev_put_choices(g, m->action, m->logp, m->best, m->count);
}

static float logp_of(const void *call, size_t r, size_t v)
{
    const mixture *m = call;
    return m->broken[r] ? NAN : mixed(m, r, v);
}

static void mix_group(const dev_group *g)
{
    const rill_mix *o = &g->op->as.mix;
    mixture m = {.models = (size_t)o->models};
    lay_out(&m, g);
    for (size_t e = 0; e < m.models; e++) {
        m.each[e] = dev_rows_from(dev_rows_at(g->b, &g->op->view[e]), g->first);
        m.bias[e] = dev_constant_row(g->b->run, o->bias[e]);
        if (g->id != NULL) m.bias[e] = dev_list_of(g->b->run, o->list[e], g->slot)->bias;
        normalise(&m, e);
    }
    if (g->b->run->arguments->selection->most > 0) find_best(&m);
    dev_answer_picks(g, logp_of, &m);
}

void dev_mix(dev_block *b, const dev_op *op)
{
    const rill_mix *o = &op->as.mix;
    dev_each_group((dev_group){.b = b, .op = op, .symbols = o->symbols}, o->list[0], mix_group);
}
