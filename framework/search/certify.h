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

#include "engine_internal.h"

/* Return an upper bound on the final score of continuations of a prefix with this path score in the item's timestep. */
double certify_bound(const chain *c, const item *it, double score, int32_t phases);

#endif
