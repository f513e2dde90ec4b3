/* Choices: top M of each row and log-probabilities of given actions, from one model's logits.
 *
 * If rows are in the run's order, results are written directly to the host. Legal sets are by action; if an operation's
 * symbols have other numbers (an offset, or a vocabulary subset), the sets are renumbered: once for the run, or per row
 * of a subset.
 * Divisions: legal sets · picks · tags · choices. */
#include <math.h>
#include <string.h>

#include "session.h"

/* --- legal sets --------------------------------------------------------------------------------------------------- */

static size_t bitset_words(size_t symbols)
{
    return (symbols + 63) / 64;
}

static int has_legal_sets(const rill_selection *s)
{
    return s != NULL && s->legal != NULL && s->legal_set != NULL;
}

static int is_legal(const rill_selection *s, int32_t set, size_t action)
{
    if (action / 64 >= s->legal_words) return 0;
    return (int)(s->legal[(size_t)set * s->legal_words + action / 64] >> (action % 64) & 1);
}

static size_t count_sets(const dev_run *r)
{
    const int32_t *set = r->arguments->selection->legal_set;
    int32_t sets = 0;
    for (size_t i = 0; i < r->n; i++)
        if (set[i] >= sets) sets = set[i] + 1;
    return (size_t)sets;
}

/* The host's sets are used as they are if symbols are actions and every symbol has a bit. */
size_t dev_legal_words(const dev_run *r, const dev_op *op)
{
    const rill_selection *s = r->arguments->selection;
    if (!has_legal_sets(s)) return 0;
    if (op->kind == RILL_OP_BEST && op->as.best.vocab_subset == 0 && op->as.best.tag_column == 0) {
        const size_t words = bitset_words(op->as.best.symbols);
        if (op->as.best.first_action == 0 && s->legal_words >= words) return 0;
        return count_sets(r) * words;
    }
    if (op->kind == RILL_OP_MIX && op->as.mix.vocab_subset[0] == 0 && s->legal_words < bitset_words(op->as.mix.symbols))
        return count_sets(r) * bitset_words(op->as.mix.symbols);
    return 0;
}

void dev_make_legal(const dev_run *r, const dev_op *op, uint64_t *legal)
{
    const rill_selection *s = r->arguments->selection;
    const size_t symbols = op->kind == RILL_OP_BEST ? op->as.best.symbols : op->as.mix.symbols,
                 words = bitset_words(symbols);
    const size_t first = op->kind == RILL_OP_BEST ? (size_t)op->as.best.first_action : 0, sets = count_sets(r);
    memset(legal, 0, sets * words * sizeof *legal);
    for (size_t set = 0; set < sets; set++)
        for (size_t v = 0; v < symbols; v++)
            if (is_legal(s, (int32_t)set, first + v)) legal[set * words + v / 64] |= UINT64_C(1) << (v % 64);
}

size_t dev_legal_bytes(const dev_run *r, size_t rows, size_t listed)
{
    if (!has_legal_sets(r->arguments->selection)) return 0;
    return dev_lines(rows * sizeof(int32_t)) + dev_lines(rows * bitset_words(listed) * sizeof(uint64_t));
}

/* Renumber legal sets by position in a vocabulary subset, one set per row. */
static void make_subset_legal(const dev_group *g, const rill_selection *s, int32_t *index, uint64_t *legal,
                              size_t words)
{
    memset(legal, 0, g->rows * words * sizeof *legal);
    for (size_t r = 0; r < g->rows; r++) {
        const int32_t set = s->legal_set[dev_host_row(g->b, g->space, g->first + r)];
        index[r] = set >= 0 ? (int32_t)r : -1;
        for (size_t i = 0; set >= 0 && i < g->symbols; i++)
            if (is_legal(s, set, (size_t)g->id[i])) legal[r * words + i / 64] |= UINT64_C(1) << (i % 64);
    }
}

void dev_set_group_legal(const dev_group *g, size_t *used, rill_best *best)
{
    const rill_selection *s = g->b->run->arguments->selection;
    if (!has_legal_sets(s)) return;
    int32_t *index = dev_alloc_work(g->b, used, g->rows, sizeof *index);
    best->legal_index = index;
    if (g->id != NULL) {
        const size_t words = bitset_words(g->symbols);
        uint64_t *legal = dev_alloc_work(g->b, used, g->rows * words, sizeof *legal);
        make_subset_legal(g, s, index, legal, words);
        best->legal = legal;
        best->ld_legal = words;
        return;
    }
    for (size_t r = 0; r < g->rows; r++) index[r] = s->legal_set[dev_host_row(g->b, g->space, g->first + r)];
    const uint64_t *own_legal = g->b->run->legal[g->op - g->b->run->graph->op];
    best->legal = own_legal != NULL ? own_legal : s->legal;
    best->ld_legal = own_legal != NULL ? bitset_words(g->symbols) : s->legal_words;
}

/* --- picks -------------------------------------------------------------------------------------------------------- */

/* How many of the n ascending numbers are below `min_key`. */
static size_t lower_bound_index(const int32_t *x, size_t n, int64_t min_key)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (x[middle] < min_key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The symbol of an action, or its position in the subset; -1: none. */
static int32_t action_symbol(const dev_group *g, int32_t action)
{
    if (g->id == NULL)
        return action >= g->first_action && (size_t)(action - g->first_action) < g->symbols ? action - g->first_action
                                                                                            : -1;
    const size_t index = lower_bound_index(g->id, g->symbols, action);
    return index < g->symbols && g->id[index] == action ? (int32_t)index : -1;
}

void dev_fill_picks(const dev_group *g, dev_logp_fn get_logp, const void *call)
{
    const rill_selection *s = g->b->run->arguments->selection;
    const size_t picks = (size_t)s->n_picks;
    for (size_t r = 0; r < g->rows && picks > 0; r++) {
        const size_t row = dev_host_row(g->b, g->space, g->first + r);
        for (size_t i = lower_bound_index(s->pick_row, picks, (int64_t)row); i < picks && (size_t)s->pick_row[i] == row;
             i++) {
            const int32_t v = action_symbol(g, s->pick_action[i]);
            s->pick_logp[i] = v >= 0 ? get_logp(call, r, (size_t)v) : -INFINITY;
        }
    }
}

/* Log-probability of symbol v, in the kernel's order of operations, so that it is bit-identical to those of the top M. */
static float symbol_logp(const void *call, size_t r, size_t v)
{
    const rill_best *best = call;
    const float *add = rill_operand_row(&best->add, r);
    float x = rill_operand_row(&best->logits, r)[v];
    if (best->bias != NULL) x += best->bias[v];
    if (add != NULL) x += add[v];
    return x == -INFINITY && !isnan(best->log_norm[r]) ? x : x - best->log_norm[r];
}

/* --- tags --------------------------------------------------------------------------------------------------------- */

/* Write the best symbol of each row to the tag column. A row without choices, because of NaN, gets the first tag. */
static void write_tags(const dev_group *g, rill_best *best, size_t *used)
{
    const rill_column column = g->op->as.best.tag_column;
    const dev_run *run = g->b->run;
    int32_t *to = (int32_t *)(uintptr_t)run->arguments->columns[column - 1];
    best->n_best = best->ld_out = 1;
    best->ids = dev_alloc_work(g->b, used, g->rows, sizeof *best->ids);
    run->kernels->best(best, g->b->pool);
    for (size_t r = 0; r < g->rows; r++)
        to[dev_host_row(g->b, g->space, g->first + r)] = g->first_action + (best->counts[r] > 0 ? best->ids[r] : 0);
}

/* --- choices ------------------------------------------------------------------------------------------------------ */

static int is_in_run_order(const dev_group *g)
{
    return g->space == RILL_ROWS && g->b->run->order == NULL;
}

void dev_write_choices(const dev_group *g, const int32_t *ids, const float *logp, size_t ld, const int32_t *counts)
{
    const rill_selection *s = g->b->run->arguments->selection;
    for (size_t r = 0; r < g->rows; r++) {
        const size_t row = dev_host_row(g->b, g->space, g->first + r), offset = row * (size_t)s->stride;
        s->count[row] = counts[r];
        for (size_t i = 0; i < (size_t)counts[r]; i++) {
            const int32_t v = ids[r * ld + i];
            s->action[offset + i] = g->id != NULL ? g->id[v] : v + g->first_action;
            s->logp[offset + i] = logp[r * ld + i];
        }
    }
}

static int has_valid_logits(const rill_best *best, size_t r, size_t symbols)
{
    const float *x = rill_operand_row(&best->logits, r), *add = rill_operand_row(&best->add, r);
    for (size_t v = 0; v < symbols; v++) {
        const float z = x[v] + (best->bias != NULL ? best->bias[v] : 0.0f) + (add != NULL ? add[v] : 0.0f);
        if (isnan(z) || z == INFINITY) return 0;
    }
    return 1;
}

/* Choices of a raw operation, without a normaliser: log_norm is 0, or NaN if the row has a NaN or +infinity. */
static void choose_raw(const dev_group *g, rill_best *best)
{
    float *norm = best->log_norm, *logp = best->logp;
    best->log_norm = best->logp = NULL;
    g->b->run->kernels->best(best, g->b->pool);
    best->log_norm = norm;
    best->logp = logp;
    for (size_t r = 0; r < g->rows; r++) {
        norm[r] = best->counts[r] > 0 || has_valid_logits(best, r, g->symbols) ? 0.0f : NAN;
        for (size_t i = 0; logp != NULL && i < (size_t)best->counts[r]; i++)
            logp[r * best->ld_out + i] = symbol_logp(best, r, (size_t)best->ids[r * best->ld_out + i]);
    }
}

/* The kernel writes results directly to the host's arrays if the layouts agree. */
static void write_best(const dev_group *g, rill_best *best, size_t *used)
{
    const dev_run *run = g->b->run;
    const rill_selection *s = run->arguments->selection;
    const size_t row = is_in_run_order(g) ? dev_host_row(g->b, g->space, g->first) : 0;
    const int direct = is_in_run_order(g) && g->id == NULL && g->first_action == 0 && s->max_choices > 0;
    best->n_best = s->max_choices > 0 ? (size_t)s->max_choices : 1;
    best->ld_out = direct ? (size_t)s->stride : best->n_best;
    best->log_norm = dev_alloc_work(g->b, used, g->rows, sizeof *best->log_norm);
    best->ids = direct ? s->action + row * best->ld_out
                       : dev_alloc_work(g->b, used, g->rows * best->n_best, sizeof *best->ids);
    if (s->max_choices > 0)
        best->logp = direct ? s->logp + row * best->ld_out
                            : dev_alloc_work(g->b, used, g->rows * best->n_best, sizeof *best->logp);
    if (direct) best->counts = s->count + row;
    if (g->op->as.best.raw)
        choose_raw(g, best);
    else
        run->kernels->best(best, g->b->pool);
    if (s->max_choices > 0 && !direct) dev_write_choices(g, best->ids, best->logp, best->ld_out, best->counts);
    dev_fill_picks(g, symbol_logp, best);
}

static void run_group(const dev_group *g)
{
    const rill_best_choices *o = &g->op->as.best;
    const dev_run *run = g->b->run;
    size_t used = 0;
    rill_best best = {.rows = g->rows,
                      .symbols = g->symbols,
                      .logits = dev_skip_rows(dev_operand_rows(g->b, &g->op->view[BEST_logits]), g->first),
                      .bias = g->id != NULL ? dev_get_slot_subset(run, o->vocab_subset, g->slot)->bias
                                            : dev_constant_row(run, o->bias),
                      .add = dev_skip_rows(dev_operand_rows(g->b, &g->op->view[BEST_add]), g->first)};
    best.counts = dev_alloc_work(g->b, &used, g->rows, sizeof *best.counts);
    if (g->op->as.best.tag_column != 0) {
        write_tags(g, &best, &used);
        return;
    }
    dev_set_group_legal(g, &used, &best);
    write_best(g, &best, &used);
}

/* Rows of a slot with an empty subset have no choices. */
static void write_no_choices(const dev_group *g)
{
    const rill_selection *s = g->b->run->arguments->selection;
    for (size_t r = 0; r < g->rows && s->max_choices > 0; r++) s->count[dev_host_row(g->b, g->space, g->first + r)] = 0;
    dev_fill_picks(g, NULL, NULL);
}

void dev_for_each_group(dev_group g, rill_vocab_subset subset, void (*run)(const dev_group *))
{
    const size_t rows = g.b->rows[g.op->space];
    const int32_t *slot = subset != 0 ? dev_index_entries(g.b, g.op->slot) : NULL;
    g.space = g.op->space;
    g.rows = rows;
    if (subset == 0) run(&g);
    for (; subset != 0 && g.first < rows; g.first += g.rows) {
        const dev_slot_subset *slot_subset = dev_get_slot_subset(g.b->run, subset, slot[g.first]);
        g.rows = dev_count_same_slot(slot, g.first, rows);
        g.slot = slot[g.first];
        g.symbols = slot_subset->n;
        g.id = slot_subset->id;
        if (slot_subset->n > 0)
            run(&g);
        else
            write_no_choices(&g);
    }
}

size_t dev_best_work_bytes(const dev_run *r, const dev_op *op)
{
    const rill_selection *s = r->arguments->selection;
    const size_t rows = r->layout.max_rows[op->space],
                 listed = op->as.best.vocab_subset != 0 ? r->max_subset[op->as.best.vocab_subset] : 0;
    const size_t n_choices = s != NULL && s->max_choices > 0 && op->as.best.tag_column == 0 ? (size_t)s->max_choices
                                                                                            : 1;
    return dev_lines(rows * sizeof(int32_t)) + dev_lines(rows * sizeof(float)) +
           dev_lines(rows * n_choices * sizeof(int32_t)) + dev_lines(rows * n_choices * sizeof(float)) +
           dev_legal_bytes(r, rows, listed);
}

void dev_best(dev_block *b, const dev_op *op)
{
    const rill_best_choices *o = &op->as.best;
    dev_for_each_group((dev_group){.b = b, .op = op, .first_action = o->first_action, .symbols = o->symbols},
                       o->vocab_subset, run_group);
}
