/* Certificates: prove that an output is the model's best. A certified output of rank j is the j-th best, in the final order, of all outputs
 * that the model could have produced for the input, including outputs that the search pruned.
 *
 * For each item, B is the maximum upper bound U over everything that the search abandoned; an output that ranks at least B is certified.
 * Abandoned are
 *
 *   - the choices of each row that the domain did not return, or that the row's limit on choices cut. Such a child scores at most its
 *   parent's score plus the smaller of the last returned log-probability and log(1 - the sum of the returned probabilities)
 *   - candidates cut in any phase by beam size or heuristics, and candidates that are live when the item stops
 *   - ended candidates that were dropped: U is the candidate's own final score
 *
 * For a live hypothesis, U is the maximum over the final lengths l that it can still reach of (s + A(l) - W l) / l^alpha, where A bounds
 * what scorers may still add, and log-probabilities are at most 0. U grows with s, the hypothesis's path score, so the greatest s of a
 * phase suffices. Children that rules forbid do not count as abandoned: a certified output is the best legal output. Under at_limit "open",
 * prefixes of the maximum length are outputs, and the certified output is the best within that length. Sums are rounded up by more than the
 * float error.
 * Sources: best-first search (Meister, Vieira and Cotterell 2020) for the argument; the bound by the sum of unreturned probabilities is
 * ours. */
#ifndef RILL_CERTIFY_H
#define RILL_CERTIFY_H

#include "chain.h"
#include "stop_criteria.h"
#include "timestep.h"

/* Refuse settings that make certificates impossible: cube pruning, scorers without max_bonus, a model without normalised
 * log-probabilities. */
rill_status certify_check(rill_context *ctx, const chain *c, const rill_settings *settings,
                          const rill_domain_info *info);

/* Upper bound on the log-probability of a row's choices that were not returned: n choices were returned, `wanted` were requested, and the
 * model has `actions` actions. Returns -infinity if no choice is left, infinity if the values are not log-probabilities. logp: [n]
 * descending. */
double certify_unreturned(int32_t n, int32_t wanted, int32_t actions, const float *logp);

/* Record that the item abandons a child or a live candidate of this path score in the current timestep. */
static inline void certify_note_path(item *it, double score)
{
    if (!(score <= it->abandoned_path_score)) it->abandoned_path_score = score; /* also true for NaN */
}

/* Record that the item abandons an output with this final score, or with this upper bound on it. */
static inline void certify_note_bound(item *it, double final_score)
{
    if (!(final_score <= it->abandoned_bound)) it->abandoned_bound = final_score;
}

/* Record that the item abandons candidate j, ended or live. */
void certify_note_candidate(const candidates *c, item *it, int32_t j);

/* Return 1 if the modifiers of a row stay within the scorers' max_bonus, or if a scorer has no max_bonus; else 0. */
int certify_check_bonus(const chain *c, const item *it, const modifier_table *rules, int32_t row,
                        const rill_domain_info *info);

/* Return an upper bound on the final score of continuations of a prefix with this path score in the item's timestep. */
double certify_bound(const chain *c, const item *it, double score, int32_t phases);

/* At the end of a phase, update the bound B from the best path score abandoned in the phase. `phases`: number of phases of the domain. */
void certify_end_phase(const chain *c, item *it, int32_t phases);

#endif
