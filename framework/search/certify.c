/* Certificates: proofs that outputs are the model's best. A certified output of rank j is the input's j-th best of all outputs that the
 * model could produce.
 *
 * U is an upper bound on the final score that an abandoned hypothesis could have reached, and B is the greatest U (item.abandoned_bound).
 * Outputs with a final score of at least B are certified. The search abandons
 *
 *   - choices that the domain did not return, or that the row's limit cut: at most the parent's score plus the smaller of the last
 *     returned log-probability and log(1 - the sum of the returned probabilities)
 *   - candidates cut by beam size or heuristics, and candidates live when the item stops
 *   - dropped ended candidates: U is their final score
 *
 * For a live hypothesis, U is the maximum of (s + A(l) - W l) / l^alpha over the final lengths l still possible: s path score, A(l) bound
 * on further bonuses, W word penalty. The greatest s of a phase suffices. Bounds are rounded up by more than the float error.
 *
 * Under at-limit "open" prefixes of the maximum length are outputs too.
 *
 * Source: best-first search (Meister, Vieira and Cotterell 2020). The bound by probabilities that were not returned is rill's own. */
#include <math.h>

#include "engine_internal.h"

/* Fail if the settings, scorers or model make certificates impossible. */
static rill_status check(rill_context *ctx, const chain *c, const rill_settings *settings, const rill_domain_info *info)
{
    const char *const what = settings->exact ? "exact" : "certify";
    if (settings->exact && settings->at_limit == RILL_LIMIT_BEST_ENDED)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "exact search cannot be combined with at-limit best-ended, which chooses among the "
                         "hypotheses of one beam");
    if (settings->cube > RILL_CUBE_NONE)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "%s cannot be combined with cube pruning: it skips hypotheses whose scores have no bound",
                         what);
    if (settings->unknown_penalty < 0)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "%s cannot be combined with an unknown-penalty below 0: scores would have no upper bound",
                         what);
    if (info->unnormalised)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s needs scores that are log-probabilities; this model's are not",
                         what);
    for (int32_t i = c->n_heuristics; i < c->n; i++)
        if (c->link[i].scorer->max_bonus == NULL)
            return rill_fail(ctx, RILL_ERR_OPTION, "%s cannot be combined with scorer %s, which declares no max_bonus",
                             what, c->link[i].scorer->name);
    return RILL_OK;
}

/* --- upper bounds of scores --------------------------------------------------------------------------------------- */

/* Upper bounds on the sum of all scorers' bonuses. action: of one action, negative if all are penalised; end: of the end action. */
typedef struct bonus {
    double action, end;
} bonus;

/* Returns an upper bound on the final score at length `final`. `score` may include bonuses of this timestep already, so negative ones are
 * counted for fewer actions. */
static double score_at_length(const item *it, const bonus *a, double score, int32_t final)
{
    const rill_settings *s = it->settings;
    int32_t more = final - it->timestep;
    if (a->action < 0) more -= 1 + s->count_end;
    return rill_settings_final_score(s, score + a->end + (more > 0 ? a->action * more : 0), final);
}

/* Returns the highest score_at_length() that the hypothesis can still reach. (c + d l) / l^alpha has at most one extremum. */
static double max_reachable(const item *it, const bonus *a, double score)
{
    const rill_settings *s = it->settings;
    /* at-limit "end" allows one more timestep, for the end action */
    const int32_t limit = it->max_length + (s->at_limit == RILL_LIMIT_END), min_final = it->timestep,
                  max_final = (limit > min_final ? limit : min_final) + (s->count_end != 0);
    const double alpha = s->length_penalty, d = a->action - s->word_penalty,
                 turning_point = alpha * (score + a->end - a->action * min_final) / (d * (1 - alpha));
    double best = fmax(score_at_length(it, a, score, min_final), score_at_length(it, a, score, max_final));
    /* The formula can fail for the first lengths: length 0 counts as 1, and an output without further actions gets no bonus. */
    for (int32_t final = min_final + 1; final <= min_final + 3 && final < max_final; final++)
        best = fmax(best, score_at_length(it, a, score, final));
    for (int32_t i = -3; i <= 3 && turning_point > min_final && turning_point < max_final; i++) {
        const int32_t final = (int32_t)turning_point + i;
        if (final >= min_final && final <= max_final) best = fmax(best, score_at_length(it, a, score, final));
    }
    return best + 1e-9 * (1 + fabs(best));
}

double certify_bound(const chain *c, const item *it, double score, int32_t phases)
{
    bonus a; /* bounds on the bonuses of one timestep, which adds one action per phase */
    a.action = engine_max_bonus(c, it, &a.end) * phases;
    if (a.end < 0) a.end = 0; /* an output without an end action does not get a negative end bonus */
    return isfinite(score) ? max_reachable(it, &a, score) : INFINITY;
}

/* After a phase: raise B, the bound on outputs that were not found, to the bound of the best hypothesis that the phase abandoned. */
static void phase_over(const rill_engine *e, item *it)
{
    if (it->abandoned_path_score == RILL_SCORE_DEAD) return;
    item_abandon_output(it, certify_bound(&e->chain, it, it->abandoned_path_score, e->info.phases));
    it->abandoned_path_score = RILL_SCORE_DEAD;
}

const search_variant certificates = {.name = "certificates",
                                     .selected_by = {offsetof(rill_settings, certify), 1},
                                     .check = check,
                                     .phase_over = phase_over};
