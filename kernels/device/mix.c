/* Ensembles: top M by the logarithm of the mean probability of several models.
 *
 * With l_e(v) the log-probability of symbol v by model e of E, and m(v) the largest of them,
 *   x(v) = m(v) + log((sum over e of exp(l_e(v) - m(v))) / E)
 * is a symbol's log-probability and rank. The best B of x are found among all symbols, not among each model's best:
 * since m - log E <= x <= m, they are among the symbols whose m is at least the B-th best m minus log E, and x is
 * computed only for those.
 *
 * Invariant: x is a function of the row and the symbol, computed in one way, so the result depends neither on the block
 * nor on B. A row with NaN in any model, or only -infinity, has no choices. Divisions: memory · mixing · results. */
#include <math.h>
#include <string.h>

#include "session.h"

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* The mixture for one group of rows. Symbols are numbered by position in the vocabulary subset, if any. */
typedef struct mixture {
    const dev_group *g;
    size_t n_models, n_best, ld;
    rill_operand model[RILL_MIX_MODELS]; /* [rows, symbols] logits, then log-probabilities */
    const float *bias[RILL_MIX_MODELS];
    float *x;         /* [rows, ld] m(v), then x(v) of the contenders */
    float *log_norm;  /* [rows] log-normaliser of the current model */
    int32_t *action;  /* [rows, best] */
    float *logp;      /* [rows, best] */
    int32_t *count;   /* [rows] */
    uint8_t *invalid; /* [rows] some model has no valid distribution */
    rill_best args;
} mixture;

static size_t mix_max_symbols(const dev_run *r, const dev_op *op)
{
    const size_t max = op->as.mix.vocab_subset[0] != 0 ? r->max_subset[op->as.mix.vocab_subset[0]] : op->as.mix.symbols;
    return max > 0 ? max : 1;
}

static size_t mix_max_choices(const dev_run *r)
{
    const int32_t max = r->arguments->selection->max_choices;
    return max > 0 ? (size_t)max : 1;
}

size_t dev_mix_work_bytes(const dev_run *r, const dev_op *op)
{
    const size_t rows = r->layout.max_rows[op->space], best = mix_max_choices(r), symbols = mix_max_symbols(r, op);
    return dev_lines(rows * dev_padded(symbols) * sizeof(float)) + 2 * dev_lines(rows * best * sizeof(float)) +
           2 * dev_lines(rows * sizeof(float)) + dev_lines(rows) +
           dev_legal_bytes(r, rows, op->as.mix.vocab_subset[0] != 0 ? symbols : 0);
}

static void lay_out_mixture(mixture *m, const dev_group *g)
{
    const dev_run *run = g->b->run;
    size_t used = 0;
    m->g = g;
    m->n_best = mix_max_choices(run);
    m->ld = dev_padded(mix_max_symbols(run, g->op));
    m->x = dev_alloc_work(g->b, &used, g->rows * m->ld, sizeof *m->x);
    m->log_norm = dev_alloc_work(g->b, &used, g->rows, sizeof *m->log_norm);
    m->action = dev_alloc_work(g->b, &used, g->rows * m->n_best, sizeof *m->action);
    m->logp = dev_alloc_work(g->b, &used, g->rows * m->n_best, sizeof *m->logp);
    m->count = dev_alloc_work(g->b, &used, g->rows, sizeof *m->count);
    m->invalid = dev_alloc_work(g->b, &used, g->rows, sizeof *m->invalid);
    m->args = (rill_best){
        .rows = g->rows, .symbols = g->symbols, .n_best = 1, .ids = m->action, .ld_out = m->n_best, .counts = m->count};
    dev_set_group_legal(g, &used, &m->args);
}

/* --- mixing ------------------------------------------------------------------------------------------------------- */

/* Log-softmax of the index-th model, in place. */
static void normalise_model(const mixture *m, size_t index)
{
    const dev_group *g = m->g;
    const float *bias = m->bias[index];
    rill_best norm = m->args;
    norm.logits = m->model[index];
    norm.bias = bias;
    norm.log_norm = m->log_norm;
    g->b->run->kernels->best(&norm, g->b->pool);
    for (size_t r = 0; r < g->rows; r++) {
        float *row = m->model[index].data + r * m->model[index].ld;
        const float log_norm = m->log_norm[r];
        if (bias != NULL)
            for (size_t v = 0; v < g->symbols; v++) row[v] = row[v] + bias[v] - log_norm;
        else
            for (size_t v = 0; v < g->symbols; v++) row[v] = row[v] - log_norm;
        m->invalid[r] = (uint8_t)(!(log_norm > -INFINITY) || (index > 0 && m->invalid[r]));
    }
}

/* m(v) of all symbols of row r; NaN if some model has no valid distribution. */
static void max_over_models(const mixture *m, size_t r)
{
    float *x = m->x + r * m->ld;
    memcpy(x, m->model[0].data + r * m->model[0].ld, m->g->symbols * sizeof *x);
    if (m->invalid[r]) x[0] = NAN; /* one NaN makes the kernel return no choices */
    for (size_t e = 1; e < m->n_models && !m->invalid[r]; e++) {
        const float *other = m->model[e].data + r * m->model[e].ld;
        for (size_t v = 0; v < m->g->symbols; v++) x[v] = other[v] > x[v] ? other[v] : x[v];
    }
}

static float model_logp(const mixture *m, size_t e, size_t r, size_t v)
{
    return m->model[e].data[r * m->model[e].ld + v];
}

static float mixture_logp(const mixture *m, size_t r, size_t v)
{
    float max = model_logp(m, 0, r, v), sum = 0.0f;
    for (size_t e = 1; e < m->n_models; e++)
        if (model_logp(m, e, r, v) > max) max = model_logp(m, e, r, v);
    if (!(max > -INFINITY)) return max;
    for (size_t e = 0; e < m->n_models; e++) sum += expf(model_logp(m, e, r, v) - max);
    return max + logf(sum / (float)m->n_models);
}

/* Compute x of the symbols that can be among the best; the others are -infinity. */
static void mix_contenders(const mixture *m, size_t r)
{
    const size_t count = (size_t)m->count[r];
    float *x = m->x + r * m->ld, min_x = -INFINITY;
    if (count == m->n_best) {
        min_x = x[m->action[r * m->n_best + count - 1]];
        min_x -= logf((float)m->n_models) +
                 1e-5f * (1.0f + fabsf(min_x)); /* tolerance, many times the rounding error */
    }
    for (size_t v = 0; v < m->g->symbols; v++) x[v] = x[v] >= min_x ? mixture_logp(m, r, v) : -INFINITY;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

/* Find the best symbols of each row with their log-probabilities, and write them to the host's result. */
static void find_mixture_best(const mixture *m)
{
    const dev_group *g = m->g;
    rill_best best = m->args;
    best.n_best = m->n_best;
    best.logits = (rill_operand){.data = m->x, .ld = m->ld};
    for (size_t r = 0; r < g->rows; r++) max_over_models(m, r);
    g->b->run->kernels->best(&best, g->b->pool);
    if (m->n_models > 1) {
        for (size_t r = 0; r < g->rows; r++) mix_contenders(m, r);
        g->b->run->kernels->best(&best, g->b->pool);
    }
    for (size_t r = 0; r < g->rows; r++)
        for (size_t i = r * m->n_best; i < r * m->n_best + (size_t)m->count[r]; i++)
            m->logp[i] = m->x[r * m->ld + (size_t)m->action[i]];
    dev_write_choices(g, m->action, m->logp, m->n_best, m->count);
}

static float mixture_pick_logp(const void *call, size_t r, size_t v)
{
    const mixture *m = call;
    return m->invalid[r] ? NAN : mixture_logp(m, r, v);
}

static void mix_group(const dev_group *g)
{
    const rill_mix *o = &g->op->as.mix;
    mixture m = {.n_models = (size_t)o->models};
    lay_out_mixture(&m, g);
    for (size_t e = 0; e < m.n_models; e++) {
        m.model[e] = dev_skip_rows(dev_operand_rows(g->b, &g->op->view[e]), g->first);
        m.bias[e] = dev_constant_row(g->b->run, o->bias[e]);
        if (g->id != NULL) m.bias[e] = dev_get_slot_subset(g->b->run, o->vocab_subset[e], g->slot)->bias;
        normalise_model(&m, e);
    }
    if (g->b->run->arguments->selection->max_choices > 0) find_mixture_best(&m);
    dev_fill_picks(g, mixture_pick_logp, &m);
}

void dev_mix(dev_block *b, const dev_op *op)
{
    const rill_mix *o = &op->as.mix;
    dev_for_each_group((dev_group){.b = b, .op = op, .symbols = o->symbols}, o->vocab_subset[0], mix_group);
}
