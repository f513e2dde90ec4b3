/* Drives a domain through its function table, without an engine: rows go in, all of their choices come out. */
#pragma once

#include "rill/domain.h"

/* An open model with its runner; for a domain without runners both are the same object. */
typedef struct started {
    void *model, *self;
} started;

/* open() and start(), with the number of threads in the options. On failure there is nothing to close. */
rill_status start_model(rill_context *ctx, const rill_domain *domain, const rill_open_options *options, started *out,
                        rill_domain_info *info);
void stop_model(const rill_domain *domain, started *s);

/* Buffers for the choices of some rows, with all actions for each. */
typedef struct answer {
    rill_score_result out;
    int32_t actions;
} answer;

answer answer_make(int32_t rows, int32_t actions);
void answer_free(answer *a);

/* step() and score() the rows, requesting all actions. */
void answer_rows(rill_context *ctx, const rill_domain *domain, void *self, const rill_rows *rows, answer *a);

/* The same for a single row; the caller frees the answer. */
typedef struct one_row {
    int32_t phase, node, parent, action, slot, depth;
} one_row;

answer answer_row(rill_context *ctx, const rill_domain *domain, void *self, int32_t actions, one_row row);

/* Log-probabilities of all actions of row r, -infinity for actions that are no choice. Choices must be sorted best
 * first, with the smaller action first among equals. */
void answer_logp(const answer *a, int32_t r, float *logp);

/* Return how the choices of row r end their hypothesis; this must be the same for all choices but the end action. */
rill_terminal answer_ends(const answer *a, int32_t r);

/* Score stepped rows with random requests, each row several times per call. A request has any maximum of choices,
 * including 0, which may differ between rows, allowed sets, and picks. Every answer must equal the corresponding part
 * of the answer for all actions, to the bit. */
void check_random_requests(rill_context *ctx, const rill_domain *domain, void *self, const rill_domain_info *info,
                           const rill_rows *rows, int rounds);
