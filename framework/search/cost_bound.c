/* rill_settings_cost(): upper bounds on the cost of one input's search. They are doubles, because products of settings may exceed 64-bit
 * integers. */
#include <math.h>

#include "engine_internal.h"

/* Estimated bytes of a choice in topk.h's choice_table, of a choice in the domain's result, and of the text of one action. */
enum { CHOICE_BYTES = 13, ANSWER_BYTES = 9, TEXT_BYTES = 6 };

/* Return the maximum number of timesteps for an input of this size. */
static double max_steps(const rill_settings *s, const rill_domain_info *info, double size)
{
    double steps = info->max_length > s->min_length ? info->max_length : s->min_length;
    if (s->max_length > 0 || s->max_length_factor > 0) steps = floor(s->max_length_factor * size) + s->max_length;
    if (info->max_positions > 0 && steps > info->max_positions) steps = info->max_positions;
    return (steps > 1 ? steps : 1) + 1; /* one more timestep for the end action, after the last action */
}

/* Return the maximum number of choices (next actions) requested for each live hypothesis. */
static double max_row_choices(const rill_settings *s, const rill_domain_info *info)
{
    const int32_t phases = info->phases > 0 ? info->phases : 1, limited = (1 << phases) - 1;
    int32_t m = s->sample > 0 ? s->top_k : rill__max_children(s);
    if (s->sample == 0 && (info->max_choices_phases & (uint32_t)limited) == (uint32_t)limited && s->max_candidates < m)
        m = s->max_candidates;
    return m < info->actions ? m : info->actions;
}

void rill_settings_cost(const rill_settings *resolved, const rill_domain_info *info, double size, rill_cost *out)
{
    rill_settings own;
    const rill_settings *s = &own;
    if (rill__settings_copy(NULL, &own, resolved) < 0) return;
    const double k = s->k, steps = max_steps(s, info, size), choices = max_row_choices(s, info);
    const double phases = info->phases > 0 ? info->phases : 1, rows = k * steps * phases;
    /* Memory of a timestep: choices of the live hypotheses, candidates of each beam group, candidates that are kept. */
    const double n_chosen = s->groups > 1 ? k + choices + 7 * k : k;
    const double n_kept = 2 * k < k * choices ? 2 * k : k * choices;
    double bytes = k * choices * (CHOICE_BYTES + ANSWER_BYTES) + n_chosen * (double)sizeof(merge_head) +
                   n_kept * (double)(sizeof(merge_head) + sizeof(beam_entry) + sizeof(rill_hyp_node));
    /* Memory of the search: hypotheses and outputs. */
    const double outputs = s->keep == RILL_KEEP_ALL && s->stop == RILL_STOP_TOP ? rows : s->stop_after + 2 * k;
    const double n_given = s->n_best < outputs ? s->n_best : outputs;
    bytes += rows * (double)sizeof(rill_hyp_node) + outputs * (double)sizeof(item_output);
    if (s->exact) bytes += s->exact_rows * (choices + 1) * (double)(EXACT_ENTRY_BYTES + sizeof(rill_hyp_node));
    /* Memory of the result. */
    bytes += n_given * (sizeof(rill_output) + steps * phases * (double)(sizeof(int32_t) + sizeof(float) + TEXT_BYTES));
    /* rows that exact search, or the second scoring pass of cube pruning, expands in addition */
    const double extra_rows = (s->exact ? (double)s->exact_rows : 0) + (s->cube > RILL_CUBE_NONE ? rows : 0);
    const size_t size_given = out->struct_size;
    const rill_cost cost = {.struct_size = size_given, .steps = steps, .rows = rows + extra_rows, .bytes = bytes};
    memcpy(out, &cost, size_given < sizeof cost ? size_given : sizeof cost);
}
