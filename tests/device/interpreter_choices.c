/* The reference interpreter's choices: log-probabilities with the kernel's normaliser, then one symbol after the other. */
#include <math.h>
#include <stdlib.h>

#include "interpreter_internal.h"

/* Return the host row that belongs to a row. */
static int32_t host_row(const interpretation *x, rill_index_space space, int32_t row)
{
    while (space != RILL_ROWS && x->t->space[space].kind != SPEC_SPACE_RAGGED) {
        row = x->space[space].origin[row];
        space = x->t->space[space].parent_space;
    }
    return row;
}

/* Compute the log-probabilities of a row: x - log sum exp, or x if raw. Returns log sum exp; NaN if the row has no
 * numbers. */
static float log_probabilities(const interpretation *x, size_t n, const float *logits, const float *bias,
                               const float *add, int raw, float *logp)
{
    int32_t id, count;
    float norm, best_logp;
    const rill_best best = {.rows = 1,
                            .symbols = n,
                            .n_best = 1,
                            .logits = {(float *)(uintptr_t)logits, n},
                            .bias = bias,
                            .add = {(float *)(uintptr_t)add, n},
                            .ids = &id,
                            .logp = &best_logp,
                            .ld_out = 1,
                            .counts = &count,
                            .log_norm = &norm};
    x->k->best(&best, NULL);
    for (size_t v = 0; v < n; v++) {
        float z = logits[v];
        if (bias != NULL) z += bias[v];
        if (add != NULL) z += add[v];
        logp[v] = raw || (z == -INFINITY && !isnan(norm)) ? z : z - norm;
    }
    return norm;
}

static int is_legal(const rill_selection *s, int32_t row, int32_t action)
{
    if (s->legal == NULL || s->legal_set == NULL || s->legal_set[row] < 0) return 1;
    if ((size_t)action / 64 >= s->legal_words) return 0;
    return (int)(s->legal[(size_t)s->legal_set[row] * s->legal_words + (size_t)action / 64] >> (action % 64) & 1);
}

/* Write the choices and picks of a row, from its log-probabilities by action. */
static void write_choices(const interpretation *x, int32_t row, size_t n, const int32_t *action, const float *logp,
                          int sound)
{
    const rill_selection *s = &x->a->selection;
    char *taken = interpret_alloc(n, 1);
    int32_t count = 0;
    for (; sound && count < s->max_choices; count++) {
        size_t best = n;
        for (size_t v = 0; v < n; v++)
            if (!taken[v] && logp[v] > -INFINITY && is_legal(s, row, action[v]) && (best == n || logp[v] > logp[best]))
                best = v;
        if (best == n) break;
        taken[best] = 1;
        s->action[(size_t)row * (size_t)s->stride + (size_t)count] = action[best];
        s->logp[(size_t)row * (size_t)s->stride + (size_t)count] = logp[best];
    }
    if (s->max_choices > 0) s->count[row] = count;
    for (int32_t i = 0; i < s->n_picks; i++) {
        if (s->pick_row[i] != row) continue;
        s->pick_logp[i] = -INFINITY;
        for (size_t v = 0; v < n; v++)
            if (action[v] == s->pick_action[i]) s->pick_logp[i] = sound ? logp[v] : NAN;
    }
    free(taken);
}

void interpret_best(const interpretation *x, const spec_op *op, int32_t r)
{
    const rill_best_choices *o = &op->as.best;
    const int32_t slot = o->vocab_subset > 0 ? column_value(x, op->space, r, o->vocab_subset_slot) : 0;
    const size_t n = o->vocab_subset > 0 ? (size_t)x->w->symbols[o->vocab_subset][slot] : o->symbols;
    const float *logits = view_data(x, op->view[0], op->space, r), *add = view_data(x, op->view[1], op->space, r);
    float *logp = interpret_alloc(n, sizeof *logp), *bias = interpret_alloc(n, sizeof *bias);
    int32_t *action = interpret_alloc(n, sizeof *action);
    const rill_constant from = o->vocab_subset > 0 ? x->t->vocab_subset[o->vocab_subset].bias : o->bias;
    for (size_t v = 0; v < n; v++) {
        action[v] = o->vocab_subset > 0 ? x->w->symbol[o->vocab_subset][slot][v] : (int32_t)v + o->first_action;
        if (from > 0) bias[v] = x->t->constant[from].data[o->vocab_subset > 0 ? (size_t)action[v] : v];
    }
    const int sound = n == 0 || !isnan(log_probabilities(x, n, logits, from > 0 ? bias : NULL, add, o->raw, logp));
    if (o->tag_column == 0) {
        write_choices(x, host_row(x, op->space, r), n, action, logp, sound);
    } else { /* order by logits, since distinct logits may have equal log-probabilities */
        size_t best = n;
        for (size_t v = 0; sound && v < n; v++) {
            logp[v] = logits[v] + (from > 0 ? bias[v] : 0.0f);
            if (add != NULL) logp[v] += add[v];
            if (logp[v] > -INFINITY && (best == n || logp[v] > logp[best])) best = v;
        }
        x->t->column[o->tag_column].entry[host_row(x, op->space, r)] = o->first_action + (best < n ? (int32_t)best : 0);
    }
    free(logp), free(bias), free(action);
}

static float mixed(size_t models, const float *each, size_t n, size_t v)
{
    float max = each[v], sum = 0.0f;
    for (size_t e = 1; e < models; e++)
        if (each[e * n + v] > max) max = each[e * n + v];
    if (!(max > -INFINITY)) return max;
    for (size_t e = 0; e < models; e++) sum += expf(each[e * n + v] - max);
    return max + logf(sum / (float)models);
}

void interpret_mix(const interpretation *x, const spec_op *op, int32_t r)
{
    const rill_mix *o = &op->as.mix;
    const size_t models = (size_t)o->models;
    const int32_t slot = o->vocab_subset[0] > 0 ? column_value(x, op->space, r, o->vocab_subset_slot) : 0;
    const size_t n = o->vocab_subset[0] > 0 ? (size_t)x->w->symbols[o->vocab_subset[0]][slot] : o->symbols;
    float *each = interpret_alloc(models * n, sizeof *each), *logp = interpret_alloc(n, sizeof *logp),
          *bias = interpret_alloc(n, sizeof *bias);
    int32_t *action = interpret_alloc(n, sizeof *action);
    int sound = 1;
    for (size_t e = 0; e < models && n > 0; e++) {
        const rill_constant from = o->vocab_subset[e] > 0 ? x->t->vocab_subset[o->vocab_subset[e]].bias : o->bias[e];
        for (size_t v = 0; v < n; v++) {
            action[v] = o->vocab_subset[e] > 0 ? x->w->symbol[o->vocab_subset[e]][slot][v] : (int32_t)v;
            if (from > 0) bias[v] = x->t->constant[from].data[action[v]];
        }
        const float *logits = view_data(x, op->view[e], op->space, r);
        sound &= log_probabilities(x, n, logits, from > 0 ? bias : NULL, NULL, 0, each + e * n) > -INFINITY;
    }
    for (size_t v = 0; v < n; v++) logp[v] = models > 1 ? mixed(models, each, n, v) : each[v];
    write_choices(x, host_row(x, op->space, r), n, action, logp, sound);
    free(each), free(logp), free(bias), free(action);
}
