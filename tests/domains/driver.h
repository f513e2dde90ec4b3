/* Drives a domain through its table, without an engine: rows in, all their choices out. */
#ifndef TEST_DOMAINS_DRIVER_H
#define TEST_DOMAINS_DRIVER_H

#include "rill/domain.h"

/* A model with a runner of its own; of a domain without runners both are the same. */
typedef struct started {
    void *model, *self;
} started;

/* open() and start(), with as many threads as the options say; on failure there is nothing to close. */
rill_status start_model(rill_context *ctx, const rill_domain *domain, const rill_open_options *options, started *out,
                        rill_domain_info *info);
void stop_model(const rill_domain *domain, started *s);

/* Room for the choices of some rows, of all actions each. */
typedef struct answer {
    rill_score_result out;
    int32_t actions;
} answer;

answer answer_make(int32_t rows, int32_t actions);
void answer_free(answer *a);

/* step() and score() the rows, all actions asked for. */
void answer_rows(rill_context *ctx, const rill_domain *domain, void *self, const rill_rows *rows, answer *a);

/* The same for one row by itself; the answer is freed by the caller. */
typedef struct one_row {
    int32_t phase, node, parent, action, slot, depth;
} one_row;

answer answer_row(rill_context *ctx, const rill_domain *domain, void *self, int32_t actions, one_row row);

/* Log-probabilities of all actions of row r, -infinity where it has no such choice. Choices must come best first, the smaller action
 * first among equals. */
void answer_logp(const answer *a, int32_t r, float *logp);

/* What the choices of row r do to their hypothesis, which must be the same for all but the end action. */
rill_terminal answer_ends(const answer *a, int32_t r);

/* Ask in many ways about rows that have been stepped and are many times in each call: any M, 0 included, less of some rows, sets
 * of actions, picks. Every answer must be what the one on all actions says, to the bit. */
void ask_in_many_ways(rill_context *ctx, const rill_domain *domain, void *self, const rill_domain_info *info,
                      const rill_rows *rows, int rounds);

#endif
