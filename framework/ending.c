/* The rules of stopping and finishing; ending.h. */
#include "ending.h"

#include <math.h>

int32_t ending_length(const rill_settings *s, const rill_domain_info *info, const rill_input *input)
{
    int32_t own = input->max_length, most = info->most_length > 0 ? info->most_length : own > 0 ? own : INT32_MAX;
    double asked = floor(s->max_length_factor * (double)input->size) + s->max_length,
           limit = own > 0 ? own : info->max_length;
    if (s->max_length > 0 || s->max_length_factor > 0) limit = asked > 1 ? asked : 1;
    /* The end action that is forced behind the last one takes a timestep too. */
    if (s->at_limit == RILL_LIMIT_END && most < INT32_MAX) most--;
    return limit < most ? (int32_t)limit : most;
}

rill_end_rule ending_rule(const item *it)
{
    const rill_settings *s = it->settings;
    /* In the timestep after the last action nothing but the end is left. The limit wins over the least length: an item that may
     * neither end nor go on would die. */
    if (s->at_limit == RILL_LIMIT_END && it->timestep >= it->max_length) return RILL_END_REQUIRED;
    return it->timestep < s->min_length ? RILL_END_NOT_YET : RILL_END_ALLOWED;
}

int ending_last(const item *it)
{
    return it->timestep + 1 - (it->settings->at_limit == RILL_LIMIT_END) >= it->max_length;
}

double rill_settings_rank(const rill_settings *s, double score, int32_t length)
{
    double alpha = s->length_penalty, word = s->word_penalty;
    if (word != 0) score -= word * length;
    return alpha == 0 ? score : score / pow(length > 0 ? length : 1, alpha);
}

item_output ending_output(const rill_settings *s, double score, int32_t history, int32_t length, int truncated, int end)
{
    return (item_output){.score = score,
                         .rank = rill_settings_rank(s, score, length + (s->count_end && end)),
                         .history = history,
                         .length = length,
                         .truncated = truncated != 0,
                         .end = end != 0};
}

/* "top": the best k, of which the leading ended ones leave. "immediate": ended ones among the first k leave, live ones fill up to
 * k. "shrink": as many as there are places left, and ended ones leave theirs empty. At the limit "first" no live candidate stands
 * in for an ended one. */
ending_quota ending_of_children(const item *it)
{
    const rill_settings *s = it->settings;
    int32_t k = s->k, left = k > it->n_outputs ? k - it->n_outputs : 0;
    if (s->finish == RILL_FINISH_TOP) return (ending_quota){.most = k, .live = k, .top = 1};
    if (s->finish == RILL_FINISH_SHRINK) return (ending_quota){.most = left, .live = k, .leaving = left};
    int no_more = s->at_limit == RILL_LIMIT_FIRST && ending_last(it);
    return (ending_quota){.most = no_more ? k : 2 * k, .live = k, .leaving = k};
}

int32_t ending_width(const item *it, int32_t width)
{
    int32_t most = it->settings->k;
    if (it->settings->finish != RILL_FINISH_IMMEDIATE) most -= it->n_outputs;
    if (most < 0) most = 0;
    return width < most ? width : most;
}

/* What the best live candidate would rank as if it ended now, or, where length pays, at the limit. */
static double best_to_come(const item *it, double best_live)
{
    const rill_settings *s = it->settings;
    int32_t length = it->timestep + 1;
    if (s->stop == RILL_STOP_BOUND_MAX && s->length_penalty > 0)
        length = it->max_length + (s->at_limit == RILL_LIMIT_END || s->at_limit == RILL_LIMIT_END_FREE);
    return rill_settings_rank(s, best_live, length);
}

static int has_enough(const item *it, double best_live)
{
    int32_t enough = it->settings->stop_after;
    if (it->n_outputs < enough) return 0;
    switch ((rill_stop)it->settings->stop) {
    case RILL_STOP_TOP: return it->top_ended;
    case RILL_STOP_BOUND:
    case RILL_STOP_BOUND_MAX: return !(best_to_come(it, best_live) > it->outputs[0].rank);
    case RILL_STOP_COUNT: break;
    }
    return 1;
}

ending ending_of_item(const item *it, double best_live, int asked)
{
    int none = best_live == RILL_SCORE_DEAD, over = ending_last(it);
    if (over && it->settings->at_limit == RILL_LIMIT_FIRST) return ENDING_ALL;
    if (has_enough(it, best_live)) return ENDING_ENOUGH;
    if (none || over) return ENDING_ALL;
    return asked ? ENDING_ASKED : ENDING_NOT;
}
