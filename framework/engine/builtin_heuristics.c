/* The built-in heuristics drop a timestep's candidates by thresholds on path scores.
 *
 * s: a candidate's path score; s_1: the best of the input's candidates and outputs (Yang et al. 2020, appendix A.3).
 *
 *   absolute:DELTA        drop s < s_1 - DELTA                  Freitag and Al-Onaizan 2017; Yang et al. 2020
 *   relative:R            drop exp(s) < R exp(s_1)              the same papers; "beam width" in Iglesias et al. 2018
 *   relative_local:R      drop exp(a) < R exp(best a), a the last action's own log-probability   Freitag and Al-Onaizan */
#include <math.h>
#include <string.h>

#include "internal.h"

typedef struct threshold {
    rill_context *ctx;
    /* maximum distance, >= 0, below the best path score; for relative_local, below the best log-probability of a last action */
    double value;
} threshold;

rill_status rill__read_threshold(rill_context *ctx, const char *heuristic, const char *label, const char *text,
                                 double *out)
{
    char *end;
    const double value = rill_read_number(text, &end);
    const int is_absolute = strcmp(heuristic, "absolute") == 0, is_number = end != text && *end == '\0';
    if (!is_number || !(is_absolute ? value >= 0 : value > 0 && value <= 1))
        return rill_fail(ctx, RILL_ERR_OPTION, "%s: \"%s\" is not a %s", label, text,
                         is_absolute ? "number from 0, such as 2.5"
                                     : "ratio of probabilities above 0 and at most 1, such as 0.01");
    *out = is_absolute ? value : -log(value);
    return RILL_OK;
}

static rill_status create_threshold(const rill_heuristic *table, rill_context *ctx, const char *arguments, void **self)
{
    double value = 0;
    RILL__TRY(rill__read_threshold(ctx, table->name, table->name, arguments, &value));
    threshold *t = rill_alloc(ctx, sizeof *t);
    if (t == NULL) return rill_fail_memory(ctx, sizeof *t, "a heuristic");
    *t = (threshold){ctx, value};
    *self = t;
    return RILL_OK;
}

static void destroy_threshold(void *self)
{
    threshold *t = self;
    if (t != NULL) rill_free(t->ctx, t, sizeof *t);
}

/* Implements `absolute` and `relative`. The threshold of `relative` is -log R. */
static rill_status prune_scores(void *self, rill_candidates *b)
{
    const threshold *t = self;
    for (int32_t i = 0; i < b->n; i++) {
        const double threshold_score = b->best_path_score[i] - t->value;
        /* Candidates are in rank order, so the ones below the threshold are the last ones. */
        for (int32_t j = b->offset[i + 1] - 1; j >= b->offset[i] && b->path_score[j] < threshold_score; j--)
            b->keep[j] = 0;
    }
    return RILL_OK;
}

/* Implements `relative_local`. */
static rill_status prune_actions(void *self, rill_candidates *b)
{
    const threshold *t = self;
    for (int32_t i = 0; i < b->n; i++) {
        double best = RILL_SCORE_DEAD;
        for (int32_t j = b->offset[i]; j < b->offset[i + 1]; j++)
            if (b->action_logp[j] > best) best = b->action_logp[j];
        for (int32_t j = b->offset[i]; j < b->offset[i + 1]; j++)
            if (b->action_logp[j] < best - t->value) b->keep[j] = 0;
    }
    return RILL_OK;
}

#define HEURISTIC(called, argument, sentence, rule)                                                                    \
    {                                                                                                                  \
        .abi_version = RILL_ABI_VERSION, .struct_size = sizeof(rill_heuristic), .name = called, .arguments = argument, \
        .summary = sentence, .create = create_threshold, .apply = rule, .destroy = destroy_threshold                   \
    }
const rill_heuristic rill__heuristics[] = {
    HEURISTIC("absolute", "DELTA", "drop candidates more than DELTA below the best score", prune_scores),
    HEURISTIC("relative", "R", "drop candidates less than R times as probable as the best", prune_scores),
    HEURISTIC("relative_local", "R",
              "drop candidates whose last action is less than R times as probable as the item's best last action",
              prune_actions),
};
