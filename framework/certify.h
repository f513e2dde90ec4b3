/* Certificates: whether an output is provably the model's best. The certified output of place j is the j-th best, by the final order, of
 * all that the model could have given for the input, whatever the search left out.
 *
 * An item keeps B, the greatest U over everything that was abandoned for it; an output that ranks at least B is certified. Abandoned are
 *
 *   - of each row the choices that the domain did not return, or that the row's limit cut: such a child scores at most what its
 *     parent does, plus the least of the last returned log-probability and log(1 - the sum of the returned probabilities)
 *   - candidates cut in any phase by width or heuristics, and those live when the item stops
 *   - ended ones that were dropped: U is their own rank
 *
 * Of what is not ended, U is the maximum over the final lengths l that it can still reach of (s + A(l) - W l) / l^alpha: A is the
 * most that scorers may still add, and log-probabilities are at most 0. It grows with s, so of a phase the greatest s is enough.
 * What rules forbid is not abandoned: a certified output is the best legal one. At the limit "open" prefixes of the greatest length are
 * outputs: then it is the best within that length. Sums are rounded up by more than floats can be wrong.
 * Sources: best-first search (Meister, Vieira and Cotterell 2020) for the argument; the sum over what is not returned is ours. */
#ifndef RILL_CERTIFY_H
#define RILL_CERTIFY_H

#include "chain.h"
#include "stop_criteria.h"
#include "timestep.h"

/* Refuse what nothing can be proven with: cube pruning, scorers that do not say what they add at most, a model without
 * log-probabilities. */
rill_status certify_check(rill_context *ctx, const chain *c, const rill_settings *settings,
                          const rill_domain_info *info);

/* The greatest log-probability of a row's choices behind the n that were returned, of `wanted` that were asked for and `actions` that
 * there are; -infinity when there are none, infinity when these are no log-probabilities. logp: [n] descending. */
double certify_unreturned(int32_t n, int32_t wanted, int32_t actions, const float *logp);

/* The item gives up a child, or a live candidate, of this score in the timestep that goes on. */
static inline void certify_note_path(item *it, double score)
{
    if (!(score <= it->abandoned_path_score)) it->abandoned_path_score = score; /* also where it is no number */
}

/* The same of an output that none will see. */
static inline void certify_note_bound(item *it, double final_score)
{
    if (!(final_score <= it->abandoned_bound)) it->abandoned_bound = final_score;
}

/* Candidate j of the item: ended or live. */
void certify_note_candidate(const candidates *c, item *it, int32_t j);

/* Whether what was said of a row adds no more than the item's scorers say that they do; where one of them does not say it does. */
int certify_check_bonus(const chain *c, const item *it, const modifier_table *rules, int32_t row,
                        const rill_domain_info *info);

/* The highest rank that is within reach of a prefix, or behind a row, of this score in the item's timestep. */
double certify_bound(const chain *c, const item *it, double score, int32_t phases);

/* A phase is over: what it gave up counts. `phases`: of the domain. */
void certify_end_phase(const chain *c, item *it, int32_t phases);

#endif
