/* Choices on the CPU: top M of each row, and log-probabilities of requested actions, for a model or an ensemble.
 *
 * Legal sets list actions. If symbols are numbered differently, each row gets a renumbered copy. */
#include <math.h>
#include <string.h>

#include "cpu.h"

/* --- rows computed together --------------------------------------------------------------------------------------- */

/* Rows of a top-k operation that choose among the same symbols: all rows, or adjacent ones with the same vocabulary subset. */
typedef struct cpu_group {
    cpu_block *b;
    const dev_op *op;
    rill_index_space space;
    size_t first, rows, symbols;
    /* [symbols] actions of the vocabulary subset, ascending; NULL: symbol v is action first_action + v */
    const int32_t *id;
    int32_t first_action; /* action that symbol 0 stands for; used without a subset */
    int32_t slot;         /* input (slot) of the vocabulary subset, if used */
} cpu_group;

/* Return the log-probability of symbol v in row r of the group. With a vocabulary subset, v is a position in it. */
typedef float (*logp_fn)(const void *call, size_t r, size_t v);

/* --- sets of legal actions ---------------------------------------------------------------------------------------- */

static size_t bitset_words(size_t symbols)
{
    return (symbols + 63) / 64;
}

static int has_legal_sets(const rill_selection *s)
{
    return s != NULL && s->legal != NULL && s->legal_set != NULL;
}

/* Return a word of a legal set. Actions beyond the set's words are illegal. */
static uint64_t legal_word(const rill_selection *s, int32_t set, size_t word)
{
    return word < s->legal_words ? s->legal[(size_t)set * s->legal_words + word] : 0;
}

static int is_legal(const rill_selection *s, int32_t set, size_t action)
{
    return (int)(legal_word(s, set, action / 64) >> (action % 64) & 1);
}

/* Return 1 if an operation can read the host's legal sets without renumbering: its symbols are numbered like actions. */
static int reads_host_sets(const rill_selection *s, const dev_op *op)
{
    return dev_op_subset(op) == 0 && dev_first_action(op) == 0 && s->legal_words >= bitset_words(op->width);
}

/* Return how many choices of a row there is memory for: as many as the host wants, at least one. */
static size_t max_row_choices(const cpu_run *r)
{
    const rill_selection *s = r->d.arguments->selection;
    return s != NULL && s->max_choices > 0 ? (size_t)s->max_choices : 1;
}

static size_t max_group_symbols(const cpu_run *r, const dev_op *op)
{
    const size_t max = dev_op_subset(op) != 0 ? r->d.max_subset[dev_op_subset(op)] : op->width;
    return max > 0 ? max : 1;
}

/* Return the bytes of a group's legal sets, for at most `rows` rows. */
static size_t legal_bytes(const cpu_run *r, const dev_op *op, size_t rows)
{
    const rill_selection *s = r->d.arguments->selection;
    if (!has_legal_sets(s)) return 0;
    const size_t words = reads_host_sets(s, op) ? 0 : bitset_words(max_group_symbols(r, op));
    return dev_lines(rows * sizeof(int32_t)) + dev_lines(rows * words * sizeof(uint64_t));
}

/* Copy the legal set of each row, so that bit i stands for symbol i of the group. */
static void copy_legal_sets(const cpu_group *g, const rill_selection *s, int32_t *index, uint64_t *legal, size_t words)
{
    const size_t shift = (size_t)g->first_action % 64;
    memset(legal, 0, g->rows * words * sizeof *legal);
    for (size_t r = 0; r < g->rows; r++, legal += words) {
        const int32_t set = index[r];
        if (set < 0) continue;
        index[r] = (int32_t)r;
        for (size_t i = 0; g->id != NULL && i < g->symbols; i++)
            if (is_legal(s, set, (size_t)g->id[i])) legal[i / 64] |= UINT64_C(1) << (i % 64);
        for (size_t i = 0; g->id == NULL && i < words; i++) {
            const size_t word = (size_t)g->first_action / 64 + i;
            legal[i] = legal_word(s, set, word) >> shift;
            if (shift > 0) legal[i] |= legal_word(s, set, word + 1) << (64 - shift);
        }
    }
}

static void set_group_legal(const cpu_group *g, size_t *used, rill_best *best)
{
    const rill_selection *s = g->b->run->d.arguments->selection;
    if (!has_legal_sets(s)) return;
    int32_t *index = cpu_alloc_work(g->b, used, g->rows, sizeof *index);
    for (size_t r = 0; r < g->rows; r++) index[r] = s->legal_set[dev_host_row(&g->b->d, g->space, g->first + r)];
    best->legal_index = index;
    best->legal = s->legal;
    best->ld_legal = s->legal_words;
    if (reads_host_sets(s, g->op)) return;
    const size_t words = bitset_words(g->symbols);
    uint64_t *legal = cpu_alloc_work(g->b, used, g->rows * words, sizeof *legal);
    copy_legal_sets(g, s, index, legal, words);
    best->legal = legal;
    best->ld_legal = words;
}

/* --- scores of given actions -------------------------------------------------------------------------------------- */

/* Return the symbol that an action stands for (with a vocabulary subset, its position there); -1: the action is not among the symbols. */
static int32_t action_symbol(const cpu_group *g, int32_t action)
{
    if (g->id == NULL)
        return action >= g->first_action && (size_t)(action - g->first_action) < g->symbols ? action - g->first_action
                                                                                            : -1;
    const int32_t index = rill_lower_bound(g->id, (int32_t)g->symbols, action);
    return (size_t)index < g->symbols && g->id[index] == action ? index : -1;
}

static void fill_picks(const cpu_group *g, logp_fn get_logp, const void *call)
{
    const rill_selection *s = g->b->run->d.arguments->selection;
    for (size_t r = 0; r < g->rows && s->n_picks > 0; r++) {
        const int32_t row = (int32_t)dev_host_row(&g->b->d, g->space, g->first + r);
        for (int32_t i = rill_lower_bound(s->pick_row, s->n_picks, row); i < s->n_picks && s->pick_row[i] == row; i++) {
            const int32_t v = action_symbol(g, s->pick_action[i]);
            s->pick_logp[i] = v >= 0 ? get_logp(call, r, (size_t)v) : -INFINITY;
        }
    }
}

/* Return the log-probability of symbol v. It is computed in the kernel's order, so it is bit-identical to the log-probabilities of the top
 * M. */
static float symbol_logp(const void *call, size_t r, size_t v)
{
    const rill_best *best = call;
    const float *add = rill_operand_row(&best->add, r);
    float x = rill_operand_row(&best->logits, r)[v];
    if (best->bias != NULL) x += best->bias[v];
    if (add != NULL) x += add[v];
    return x == -INFINITY && !isnan(best->log_norm[r]) ? x : x - best->log_norm[r];
}

/* --- writing tags ------------------------------------------------------------------------------------------------- */

/* Write the best symbol of each row to the operation's tag_column. A row without choices, because of NaN, gets first_action. */
static void write_tags(const cpu_group *g, rill_best *best, size_t *used)
{
    const rill_column column = g->op->as.best.tag_column;
    const cpu_run *run = g->b->run;
    int32_t *to = (int32_t *)(uintptr_t)run->d.arguments->columns[column - 1];
    best->n_best = best->ld_out = 1;
    best->raw = 1;
    best->ids = cpu_alloc_work(g->b, used, g->rows, sizeof *best->ids);
    best->logp = cpu_alloc_work(g->b, used, g->rows, sizeof *best->logp);
    run->kernels->best(best, g->b->pool);
    for (size_t r = 0; r < g->rows; r++)
        to[dev_host_row(&g->b->d, g->space, g->first + r)] = g->first_action + (best->counts[r] > 0 ? best->ids[r] : 0);
}

/* --- writing the best choices ------------------------------------------------------------------------------------- */

static int is_in_run_order(const cpu_group *g)
{
    return g->space == RILL_ROWS && g->b->run->d.order == NULL;
}

static void write_choices(const cpu_group *g, const rill_best *best)
{
    const rill_selection *s = g->b->run->d.arguments->selection;
    for (size_t r = 0; r < g->rows; r++) {
        const size_t row = dev_host_row(&g->b->d, g->space, g->first + r), offset = row * (size_t)s->stride;
        s->count[row] = best->counts[r];
        for (size_t i = 0; i < (size_t)best->counts[r]; i++) {
            const int32_t v = best->ids[r * best->ld_out + i];
            s->action[offset + i] = g->id != NULL ? g->id[v] : v + g->first_action;
            s->logp[offset + i] = best->logp[r * best->ld_out + i];
        }
    }
}

/* Find each row's top M and write them to the host's arrays, directly if the layouts agree. */
static void write_best(const cpu_group *g, rill_best *best, size_t *used)
{
    const cpu_run *run = g->b->run;
    const rill_selection *s = run->d.arguments->selection;
    const size_t row = is_in_run_order(g) ? dev_host_row(&g->b->d, g->space, g->first) : 0;
    const int direct = is_in_run_order(g) && g->id == NULL && g->first_action == 0 && s->max_choices > 0;
    best->n_best = max_row_choices(run);
    best->ld_out = direct ? (size_t)s->stride : best->n_best;
    best->raw = g->op->as.best.raw;
    best->log_norm = cpu_alloc_work(g->b, used, g->rows, sizeof *best->log_norm);
    best->ids = direct ? s->action + row * best->ld_out
                       : cpu_alloc_work(g->b, used, g->rows * best->n_best, sizeof *best->ids);
    best->logp = direct ? s->logp + row * best->ld_out
                        : cpu_alloc_work(g->b, used, g->rows * best->n_best, sizeof *best->logp);
    if (direct) best->counts = s->count + row;
    run->kernels->best(best, g->b->pool);
    if (s->max_choices > 0 && !direct) write_choices(g, best);
    fill_picks(g, symbol_logp, best);
}

static void run_group(const cpu_group *g)
{
    const rill_best_choices *o = &g->op->as.best;
    const cpu_run *run = g->b->run;
    size_t used = 0;
    rill_best best = {.rows = g->rows,
                      .symbols = g->symbols,
                      .logits = cpu_skip_rows(cpu_operand(g->b, &g->op->view[BEST_logits]), g->first),
                      .bias = g->id != NULL ? cpu_slot_weights(run, o->vocab_subset, g->slot)->bias
                                            : cpu_constant_row(run, o->bias),
                      .add = cpu_skip_rows(cpu_operand(g->b, &g->op->view[BEST_add]), g->first)};
    best.counts = cpu_alloc_work(g->b, &used, g->rows, sizeof *best.counts);
    if (g->op->as.best.tag_column != 0) {
        write_tags(g, &best, &used);
        return;
    }
    set_group_legal(g, &used, &best);
    write_best(g, &best, &used);
}

/* Return no choices for the rows of this group, because their input's vocabulary subset is empty. */
static void write_no_choices(const cpu_group *g)
{
    const rill_selection *s = g->b->run->d.arguments->selection;
    for (size_t r = 0; r < g->rows && s->max_choices > 0; r++)
        s->count[dev_host_row(&g->b->d, g->space, g->first + r)] = 0;
    fill_picks(g, NULL, NULL);
}

static void for_each_group(cpu_group g, rill_vocab_subset subset, void (*run)(const cpu_group *))
{
    const size_t rows = g.b->d.rows[g.op->space];
    const int32_t *slot = subset != 0 ? dev_index_entries(&g.b->d, g.op->slot) : NULL;
    g.space = g.op->space;
    g.rows = rows;
    if (subset == 0) run(&g);
    for (; subset != 0 && g.first < rows; g.first += g.rows) {
        const dev_slot_subset *slot_subset = cpu_slot_subset(g.b->run, subset, slot[g.first]);
        g.rows = cpu_count_same_slot(slot, g.first, rows);
        g.slot = slot[g.first];
        g.symbols = slot_subset->n;
        g.id = slot_subset->id;
        if (slot_subset->n > 0)
            run(&g);
        else
            write_no_choices(&g);
    }
}

void cpu_best(cpu_block *b, const dev_op *op)
{
    const rill_best_choices *o = &op->as.best;
    for_each_group((cpu_group){.b = b, .op = op, .first_action = o->first_action, .symbols = o->symbols},
                   o->vocab_subset, run_group);
}

/* --- ensembles ---------------------------------------------------------------------------------------------------- */

/* Top M by the logarithm of several models' mean probability.
 *
 * l_e(v): log-probability of symbol v by model e of E; m(v): the largest of them;
 *   x(v) = m(v) + log((sum over e of exp(l_e(v) - m(v))) / E)
 * m - log E <= x <= m, so a symbol is among the B best only if its m is at least the B-th best m minus log E. x is computed only for these
 * symbols.
 *
 * Invariant: x depends on the row and symbol alone. A row with NaN, or only -infinity, in any model has no choices. */

/* --- ensembles: memory ------------------------------------------------------------------------------------------------------- */

/* The mixture of an ensemble's distributions for a group of rows. With a vocabulary subset, symbols are positions in it. */
typedef struct mixture {
    const cpu_group *g;
    size_t n_models, n_best, ld;
    /* [rows, symbols] logits of each model, then log-probabilities */
    rill_operand model[RILL_MIX_MODELS];
    const float *bias[RILL_MIX_MODELS];
    float *x;         /* [rows, ld] for each symbol: first m(v), then x(v) if the symbol can be among the best */
    float *log_norm;  /* [rows] log-normaliser of the current model */
    uint8_t *invalid; /* [rows] 1: some model has no valid distribution for this row */
    rill_best args;   /* arguments of the kernel, with its result arrays, n_best elements per row */
} mixture;

static size_t mix_work_bytes(const cpu_run *r, const dev_op *op)
{
    const size_t rows = r->d.layout.max_rows[op->space], best = max_row_choices(r), symbols = max_group_symbols(r, op);
    return dev_lines(rows * dev_padded(symbols) * sizeof(float)) + 2 * dev_lines(rows * best * sizeof(float)) +
           2 * dev_lines(rows * sizeof(float)) + dev_lines(rows) + legal_bytes(r, op, rows);
}

static void lay_out_mixture(mixture *m, const cpu_group *g)
{
    const cpu_run *run = g->b->run;
    size_t used = 0;
    m->g = g;
    m->n_best = max_row_choices(run);
    m->ld = dev_padded(max_group_symbols(run, g->op));
    m->x = cpu_alloc_work(g->b, &used, g->rows * m->ld, sizeof *m->x);
    m->log_norm = cpu_alloc_work(g->b, &used, g->rows, sizeof *m->log_norm);
    m->args = (rill_best){.rows = g->rows, .symbols = g->symbols, .n_best = 1, .ld_out = m->n_best};
    m->args.ids = cpu_alloc_work(g->b, &used, g->rows * m->n_best, sizeof *m->args.ids);
    m->args.logp = cpu_alloc_work(g->b, &used, g->rows * m->n_best, sizeof *m->args.logp);
    m->args.counts = cpu_alloc_work(g->b, &used, g->rows, sizeof *m->args.counts);
    m->invalid = cpu_alloc_work(g->b, &used, g->rows, sizeof *m->invalid);
    set_group_legal(g, &used, &m->args);
}

/* --- ensembles: mixing ------------------------------------------------------------------------------------------------------- */

/* Replace the logits of model `index` by their log-softmax, in place. */
static void normalise_model(const mixture *m, size_t index)
{
    const cpu_group *g = m->g;
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

/* Compute m(v), the largest log-probability over the models, for all symbols of row r; NaN if a model has no valid distribution. */
static void max_over_models(const mixture *m, size_t r)
{
    float *x = m->x + r * m->ld;
    memcpy(x, m->model[0].data + r * m->model[0].ld, m->g->symbols * sizeof *x);
    if (m->invalid[r]) x[0] = NAN; /* one NaN suffices: the kernel then returns no choices for the row */
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

/* Compute x(v), the log of the mean probability, for symbols of row r that can be among the best; others get -infinity. */
static void mix_contenders(const mixture *m, size_t r)
{
    const size_t count = (size_t)m->args.counts[r];
    float *x = m->x + r * m->ld, min_x = -INFINITY;
    if (count == m->n_best) {
        min_x = x[m->args.ids[r * m->n_best + count - 1]];
        /* the second term is a tolerance for rounding errors */
        min_x -= logf((float)m->n_models) + 1e-5f * (1.0f + fabsf(min_x));
    }
    for (size_t v = 0; v < m->g->symbols; v++) x[v] = x[v] >= min_x ? mixture_logp(m, r, v) : -INFINITY;
}

/* --- ensembles: results ------------------------------------------------------------------------------------------------------ */

/* Find the best symbols of each row with their log-probabilities, and write them to the host's result. */
static void find_mixture_best(const mixture *m)
{
    const cpu_group *g = m->g;
    rill_best best = m->args;
    best.n_best = m->n_best;
    best.raw = 1;
    best.logits = (rill_operand){.data = m->x, .ld = m->ld};
    for (size_t r = 0; r < g->rows; r++) max_over_models(m, r);
    g->b->run->kernels->best(&best, g->b->pool);
    if (m->n_models > 1) {
        for (size_t r = 0; r < g->rows; r++) mix_contenders(m, r);
        g->b->run->kernels->best(&best, g->b->pool);
    }
    write_choices(g, &best);
}

static float mixture_pick_logp(const void *call, size_t r, size_t v)
{
    const mixture *m = call;
    return m->invalid[r] ? NAN : mixture_logp(m, r, v);
}

static void mix_group(const cpu_group *g)
{
    const rill_mix *o = &g->op->as.mix;
    mixture m = {.n_models = (size_t)o->models};
    lay_out_mixture(&m, g);
    for (size_t e = 0; e < m.n_models; e++) {
        m.model[e] = cpu_skip_rows(cpu_operand(g->b, &g->op->view[e]), g->first);
        m.bias[e] = cpu_constant_row(g->b->run, o->bias[e]);
        if (g->id != NULL) m.bias[e] = cpu_slot_weights(g->b->run, o->vocab_subset[e], g->slot)->bias;
        normalise_model(&m, e);
    }
    if (g->b->run->d.arguments->selection->max_choices > 0) find_mixture_best(&m);
    fill_picks(g, mixture_pick_logp, &m);
}

void cpu_mix(cpu_block *b, const dev_op *op)
{
    const rill_mix *o = &op->as.mix;
    for_each_group((cpu_group){.b = b, .op = op, .symbols = o->symbols}, o->vocab_subset[0], mix_group);
}

/* --- working memory ----------------------------------------------------------------------------------------------- */

static size_t best_work_bytes(const cpu_run *r, const dev_op *op)
{
    const size_t rows = r->d.layout.max_rows[op->space], choices = rows * max_row_choices(r);
    return dev_lines(rows * sizeof(int32_t)) + dev_lines(rows * sizeof(float)) + dev_lines(choices * sizeof(int32_t)) +
           dev_lines(choices * sizeof(float)) + legal_bytes(r, op, rows);
}

size_t cpu_choices_work_bytes(const cpu_run *r, const dev_op *op)
{
    return op->kind == RILL_OP_BEST ? best_work_bytes(r, op) : mix_work_bytes(r, op);
}
