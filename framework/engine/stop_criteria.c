/* Decides when a hypothesis may end or become an output, and when a search stops; declared in engine_internal.h. */
#include <math.h>

#include "engine_internal.h"

/* --- maximum and minimum lengths ---------------------------------------------------------------------------------- */

int32_t stop_max_length(const rill_settings *s, const rill_domain_info *info, const rill_input *input)
{
    int32_t own = input->max_length, max_length = info->max_positions > 0 ? info->max_positions
                                                  : own > 0               ? own
                                                                          : INT32_MAX;
    double requested = floor(s->max_length_factor * (double)input->size) + s->max_length,
           limit = own > 0 ? own : info->max_length;
    /* the input's or the model's limit is raised to the minimum length; a limit that the user set is not */
    if (limit < s->min_length) limit = s->min_length;
    if (s->max_length > 0 || s->max_length_factor > 0) limit = requested > 1 ? requested : 1;
    /* at-limit "end" forces an end action after the last action, which takes one more timestep */
    if (s->at_limit == RILL_LIMIT_END && max_length < INT32_MAX) max_length--;
    return limit < max_length ? (int32_t)limit : max_length;
}

rill_status stop_check_lengths(rill_context *ctx, const rill_settings *s, const rill_domain_info *info)
{
    char label[RILL_OPTION_MAX];
    const int32_t most = info->max_positions - (s->at_limit == RILL_LIMIT_END);
    if (info->max_positions == 0 || s->min_length <= most) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_OPTION, "%s: %d is above the %d actions that the model can make",
                     rill__option_label(ctx, "min-length", label), (int)s->min_length, (int)most);
}

rill_end_rule stop_end_rule(const item *it)
{
    const rill_settings *s = it->settings;
    /* The length limit overrides the minimum length: otherwise the input could neither end nor continue. */
    if (s->at_limit == RILL_LIMIT_END && it->timestep >= it->max_length) return RILL_END_REQUIRED;
    const rill_end_rule rule = it->timestep < s->min_length ? RILL_END_NOT_YET : RILL_END_ALLOWED;
    /* "best-ended" needs all hypotheses that end, but naive cube pruning has exact scores for the best ones only */
    if (s->at_limit != RILL_LIMIT_BEST_ENDED || it->n_outputs > 0 || s->cube == RILL_CUBE_NAIVE) return rule;
    return (rill_end_rule)(rule | END_RULE_KEEPS_ENDED);
}

int stop_is_last_timestep(const item *it)
{
    return it->timestep + 1 - (it->settings->at_limit == RILL_LIMIT_END) >= it->max_length;
}

double rill_settings_final_score(const rill_settings *s, double score, int32_t length)
{
    double alpha = s->length_penalty, word = s->word_penalty;
    if (word != 0) score -= word * length;
    return alpha == 0 ? score : score / pow(length > 0 ? length : 1, alpha);
}

/* --- making outputs ----------------------------------------------------------------------------------------------- */

/* Make an output without its hypothesis. end: 1 if it has an end action, or at-limit "end-free" counts one; else 0. */
static item_output make_output(const rill_settings *s, double score, int32_t length, int truncated, int end)
{
    return (item_output){.path_score = score,
                         .final_score = rill_settings_final_score(s, score, length + (s->count_end && end)),
                         .hyp = -1,
                         .length = length,
                         .truncated = truncated != 0,
                         .has_end_action = end != 0};
}

item_output stop_child_output(const item *it, double path_score, rill_terminal terminal)
{
    const int live = terminal == RILL_LIVE, end_free = it->settings->at_limit == RILL_LIMIT_END_FREE;
    return make_output(it->settings, path_score, it->timestep + (terminal != RILL_END), live,
                       live ? end_free : terminal == RILL_END);
}

item_output stop_entry_output(const item *it, const beam_entry *entry)
{
    const int live = !entry->ended, end_free = it->settings->at_limit == RILL_LIMIT_END_FREE;
    return make_output(it->settings, entry->path_score, live ? it->timestep : entry->length, live,
                       live ? end_free : entry->ended == RILL_END);
}

item_output stop_candidate_output(const item *it, const candidates *c, int32_t j)
{
    if (c->hyp[j] >= 0) return stop_entry_output(it, &it->beam[c->parent_rank[j]]);
    return stop_child_output(it, c->path_score[j], (rill_terminal)c->terminal[j]);
}

/* keep "best": outputs are a heap, worst on top. Returns 1 if an output had to leave, and writes it to *out; else 0. */
static int keep_best_output(item *it, const item_output *output, item_output *out)
{
    item_output *heap = it->outputs;
    int32_t index = it->n_outputs;
    if (index < it->settings->stop_after) {
        it->n_outputs++;
        for (; index > 0 && item_output_compare(&heap[(index - 1) / 2], output) < 0; index = (index - 1) / 2)
            heap[index] = heap[(index - 1) / 2];
        heap[index] = *output;
        return 0;
    }
    *out = *output;
    if (item_output_compare(output, heap) > 0) return 1;
    *out = heap[0];
    index = 0;
    for (int32_t child; (child = 2 * index + 1) < it->n_outputs; index = child) {
        if (child + 1 < it->n_outputs && item_output_compare(&heap[child + 1], &heap[child]) > 0) child++;
        if (item_output_compare(&heap[child], output) < 0) break;
        heap[index] = heap[child];
    }
    heap[index] = *output;
    return 1;
}

void stop_add_output(rill_engine *e, item *it, item_output output)
{
    item_output removed;
    int dropped = 0;
    if (output.truncated && it->settings->require_end) {
        it->dropped_truncated = 1;
        hyp_pool_release(&e->hyps, &it->arena, output.hyp);
        return;
    }
    output.order = it->n_outputs_made++;
    removed = output;
    if (output.path_score > it->best_output_score) it->best_output_score = output.path_score;
    statistics_count_output(&e->statistics, &output, 1);
    if (it->settings->keep == RILL_KEEP_BEST)
        dropped = keep_best_output(it, &output, &removed);
    else if (it->settings->keep == RILL_KEEP_FIRST && it->n_outputs >= it->settings->stop_after)
        dropped = 1;
    else
        it->outputs[it->n_outputs++] = output;
    if (!dropped) return;
    item_abandon_output(it, removed.final_score);
    statistics_count_output(&e->statistics, &removed, -1);
    hyp_pool_release(&e->hyps, &it->arena, removed.hyp);
}

void stop_abandon_candidate(const candidates *c, item *it, int32_t j)
{
    if (!c->ended[j])
        item_abandon_path(it, c->path_score[j]);
    else
        item_abandon_output(it, stop_candidate_output(it, c, j).final_score);
}

/* --- beam width and number of children ---------------------------------------------------------------------------- */

/* merge.c says what each `finish` does. In the last timestep under at-limit "first", live children do not replace ended children. */
child_quota stop_child_quota(const item *it, int last)
{
    const rill_settings *s = it->settings;
    if (!last) return (child_quota){.max_children = it->max_children, .max_live = INT32_MAX, .only_leading = 1};
    int32_t k = s->k, places = k > it->n_outputs ? k - it->n_outputs : 0;
    if (s->finish == RILL_FINISH_TOP) return (child_quota){.max_children = k, .max_live = k, .only_leading = 1};
    if (s->finish == RILL_FINISH_SHRINK)
        return (child_quota){.max_children = places, .max_live = k, .max_output_pos = places};
    if (s->finish == RILL_FINISH_ONE_STEP) return (child_quota){.max_children = k, .max_live = k, .max_output_pos = k};
    int no_more = s->at_limit == RILL_LIMIT_FIRST && stop_is_last_timestep(it);
    return (child_quota){.max_children = no_more ? k : 2 * k, .max_live = k, .max_output_pos = k};
}

int32_t stop_beam_width(const item *it, int32_t width)
{
    int32_t max_width = it->settings->k;
    const int fills_up = it->settings->finish == RILL_FINISH_IMMEDIATE || it->settings->finish == RILL_FINISH_ONE_STEP;
    if (!fills_up) max_width -= it->n_outputs;
    if (max_width < 0) max_width = 0;
    return width < max_width ? width : max_width;
}

/* --- when to stop ------------------------------------------------------------------------------------------------- */

/* Returns the final score that the best live candidate would have if it ended now. Under "bound-max" with a length penalty > 0: if it ended
 * at the length limit. */
static double best_future_score(const item *it, double best_live)
{
    const rill_settings *s = it->settings;
    int32_t length = it->timestep + 1;
    if (s->stop == RILL_STOP_BOUND_MAX && s->length_penalty > 0)
        length = it->max_length + (s->at_limit == RILL_LIMIT_END || s->at_limit == RILL_LIMIT_END_FREE);
    return rill_settings_final_score(s, best_live, length);
}

static int has_enough_outputs(const item *it, double best_live)
{
    int32_t stop_after = it->settings->stop_after;
    if (it->n_outputs < stop_after) return 0;
    switch ((rill_stop)it->settings->stop) {
    case RILL_STOP_TOP: return it->best_has_ended;
    case RILL_STOP_BOUND:
    case RILL_STOP_BOUND_MAX: return !(best_future_score(it, best_live) > it->outputs[0].final_score);
    case RILL_STOP_COUNT: break;
    }
    return 1;
}

stop_reason stop_check_item(const item *it, double best_live, int requested)
{
    int none_live = best_live == RILL_SCORE_DEAD, at_end = stop_is_last_timestep(it);
    if (at_end && it->settings->at_limit == RILL_LIMIT_FIRST) return STOP_OUTPUT_ALL;
    if (has_enough_outputs(it, best_live)) return STOP_ENOUGH;
    if (none_live || at_end) return STOP_OUTPUT_ALL;
    return requested ? STOP_REQUESTED : STOP_NOT;
}
