/* Certificates; certify.h. */
#include "certify.h"

#include <math.h>

rill_status certify_check(rill_context *ctx, const chain *c, const rill_settings *settings,
                          const rill_domain_info *info)
{
    const char *const what = settings->exact ? "exact" : "certify";
    if (!settings->certify) return RILL_OK;
    if (settings->exact && settings->at_limit == RILL_LIMIT_BEST_ENDED)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "exact search cannot be combined with at-limit best-ended, which chooses among the "
                         "hypotheses of one beam");
    if (settings->cube > RILL_CUBE_NONE)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "%s cannot be combined with cube pruning: it skips hypotheses whose "
                         "scores have no bound",
                         what);
    if (settings->unknown_penalty < 0)
        return rill_fail(ctx, RILL_ERR_OPTION,
                         "%s cannot be combined with an unknown-penalty below 0: scores "
                         "would have no upper bound",
                         what);
    if (info->unnormalised)
        return rill_fail(ctx, RILL_ERR_OPTION, "%s needs scores that are log-probabilities; this model's are not",
                         what);
    for (int32_t i = c->n_heuristics; i < c->n; i++)
        if (c->link[i].scorer->max_bonus == NULL)
            return rill_fail(ctx, RILL_ERR_OPTION,
                             "%s cannot be combined with scorer %s, which declares no "
                             "max_bonus",
                             what, c->link[i].scorer->name);
    return RILL_OK;
}

/* Margin for the rounding error of summed float probabilities. */
#define REST_SLACK 2e-5

double certify_unreturned(int32_t n, int32_t wanted, int32_t actions, const float *logp)
{
    double sum = 0;
    if (wanted == 0 || n < wanted || n >= actions) return RILL_SCORE_DEAD;
    if (!(logp[0] <= 0)) return INFINITY;
    for (int32_t i = 0; i < n; i++) sum += (double)expf(logp[i]);
    return fmin(log(fmax(1 - sum, 0) + REST_SLACK), (double)logp[n - 1]);
}

/* --- upper bounds ------------------------------------------------------------------------------------------------- */

/* Upper bounds on scorers' bonuses: `action` per action, negative if every action is penalised; `end` for the end action. */
typedef struct bonus {
    double action, end;
} bonus;

static bonus scorer_bonus(const chain *c, const item *it)
{
    bonus a = {0, 0};
    for (int32_t i = c->n_heuristics; i < c->n; i++) {
        double end = 0;
        a.action += c->link[i].scorer->max_bonus(it->instances[i]->self, &end);
        a.end += end;
    }
    return a;
}

static bonus upper_limit(const chain *c, const item *it, int32_t phases)
{
    bonus a = scorer_bonus(c, it);
    a.action *= phases;
    if (a.end < 0) a.end = 0; /* an output may lack the end action */
    return a;
}

/* `score` may already include the bonus of the current timestep, and the last action counted in the length may be the end action. */
static double score_at_length(const item *it, const bonus *a, double score, int32_t final)
{
    const rill_settings *s = it->settings;
    int32_t more = final - it->timestep;
    if (a->action < 0) more -= 1 + s->count_end;
    return rill_settings_rank(s, score + a->end + (more > 0 ? a->action * more : 0), final);
}

/* Maximum of (c + d l) / l^alpha over the lengths l. The function has at most one extremum, so its maximum is there or at a boundary. */
static double max_reachable(const item *it, const bonus *a, double score)
{
    const rill_settings *s = it->settings;
    /* at_limit "end" allows one more timestep for a last action. */
    const int32_t limit = it->max_length + (s->at_limit == RILL_LIMIT_END), min_final = it->timestep,
                  max_final = (limit > min_final ? limit : min_final) + (s->count_end != 0);
    const double alpha = s->length_penalty, d = a->action - s->word_penalty,
                 turning_point = alpha * (score + a->end - a->action * min_final) / (d * (1 - alpha));
    double best = fmax(score_at_length(it, a, score, min_final), score_at_length(it, a, score, max_final));
    /* Length 0 counts as 1, and negative bonuses may not apply to the first actions: the function is irregular at its start. */
    for (int32_t final = min_final + 1; final <= min_final + 3 && final < max_final; final++)
        best = fmax(best, score_at_length(it, a, score, final));
    for (int32_t i = -3; i <= 3 && turning_point > min_final && turning_point < max_final; i++) {
        const int32_t final = (int32_t)turning_point + i;
        if (final >= min_final && final <= max_final) best = fmax(best, score_at_length(it, a, score, final));
    }
    return best + 1e-9 * (1 + fabs(best));
}

/* Return 1 if the row has a modifier for every action, else 0: the other actions then get the row's reward. With bans or allowed sets it is
 * unknown whether any of the other actions is legal. */
static int names_all_actions(const modifier_table *rules, int32_t row, const rill_domain_info *info)
{
    const int32_t *offsets[] = {rules->add_offset, rules->ban_offset, rules->allow_offset};
    int32_t named = info->has_end_action;
    for (int i = 0; i < 3; i++) named += offsets[i] != NULL ? offsets[i][row + 1] - offsets[i][row] : 0;
    return named >= info->actions || (offsets[2] != NULL && offsets[2][row + 1] > offsets[2][row]);
}

int certify_check_bonus(const chain *c, const item *it, const modifier_table *rules, int32_t row,
                        const rill_domain_info *info)
{
    for (int32_t i = c->n_heuristics; i < c->n; i++)
        if (c->link[i].scorer->max_bonus == NULL) return 1;
    const bonus total = scorer_bonus(c, it);
    const double slack = 1e-5, reward = rules->reward != NULL ? (double)rules->reward[row] : 0,
                 end = rules->end_reward != NULL ? (double)rules->end_reward[row] : 0,
                 action = total.action + slack * (1 + fabs(total.action)),
                 last = total.end + slack * (1 + fabs(total.end));
    if (reward > action && !names_all_actions(rules, row, info)) return 0;
    if (info->has_end_action && end > last) return 0;
    if (rules->add_offset == NULL) return 1;
    for (int32_t i = rules->add_offset[row]; i < rules->add_offset[row + 1]; i++) {
        const int ends = info->has_end_action && rules->add_action[i] == info->end_action;
        if ((double)rules->add_score[i] + (ends ? end : reward) > (ends ? last : action)) return 0;
    }
    return 1;
}

double certify_bound(const chain *c, const item *it, double score, int32_t phases)
{
    const bonus a = upper_limit(c, it, phases);
    return isfinite(score) ? max_reachable(it, &a, score) : INFINITY;
}

void certify_end_phase(const chain *c, item *it, int32_t phases)
{
    if (it->abandoned_path_score == RILL_SCORE_DEAD) return;
    certify_note_bound(it, certify_bound(c, it, it->abandoned_path_score, phases));
    it->abandoned_path_score = RILL_SCORE_DEAD;
}

void certify_note_candidate(const candidates *c, item *it, int32_t j)
{
    if (!c->ended[j]) {
        certify_note_path(it, c->path_score[j]);
        return;
    }
    const int end = c->terminal[j] == RILL_END;
    const int32_t length = c->hyp[j] >= 0 ? it->beam[c->parent_rank[j]].length : it->timestep + !end;
    certify_note_bound(it, stop_make_output(it->settings, c->path_score[j], -1, length, 0, end).final_score);
}
