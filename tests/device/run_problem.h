/* run_problem.h: runs random problems with the interpreter and with an executor, and compares the outcomes. */
#pragma once

#include "backend.h"
#include "random_network.h"

typedef struct variant {
    int threads;
    size_t block, span, shares; /* 0: the executor's default */
    int permuted;
    int32_t split; /* rows of the first run; 0: all */
    int async;     /* 1: both runs start before the results of either are collected, in the opposite order */
} variant;

/* Results of a problem. */
typedef struct outcome {
    world *w;
    int32_t *tag[2]; /* columns that operations write */
    int32_t *count, *action;
    float *logp, *pick, *watched;
    size_t ld_watched;
} outcome;

void free_outcome(outcome *o);

/* Run the problem with the interpreter and these kernels. */
outcome interpret_problem(problem *p, const rill_kernels *kernels);

/* Run the problem on the network's device. */
outcome run_problem(rill_context *ctx, problem *p, const rill_network *network, rill_graph graph, const variant *v);

/* Called with the status of a failed call. If it returns true, the failure was expected: the call is repeated, and the
 * session must be intact. NULL: no call may fail. */
extern int (*should_retry)(rill_status status);

/* Allowed differences: of floats, absolute + relative * (|x| + |y|); all else must be equal. 0: to the bit, with all
 * NaNs equal. Returns what differs, or NULL. */
typedef struct tolerance {
    float absolute, relative;
} tolerance;
const char *compare_outcomes(const problem *p, const outcome *a, const outcome *b, tolerance t);
