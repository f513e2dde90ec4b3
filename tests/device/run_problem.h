/* run_problem.h: random problems told by the interpreter and run by an executor, and what they come to. */
#ifndef TEST_RUN_PROBLEM_H
#define TEST_RUN_PROBLEM_H

#include "random_network.h"
#include "session.h"

typedef struct variant {
    int threads;
    size_t block, span, shares; /* 0: as the executor decides */
    int permuted;
    int32_t split; /* rows of the first run; 0: all */
    int async;     /* 1: both runs are asked for before the answers of either are, which come in the other order */
} variant;

/* What a problem comes to. */
typedef struct outcome {
    world *w;
    int32_t *tag[2]; /* the columns that may be written */
    int32_t *count, *action;
    float *logp, *pick, *watched;
    size_t ld_watched;
} outcome;

void free_outcome(outcome *o);

/* What the interpreter makes of it, with these kernels. */
outcome interpret_problem(problem *p, const rill_kernels *kernels);

/* What the plan's device makes of it. */
outcome run_problem(rill_context *ctx, problem *p, const rill_network *plan, rill_graph program, const variant *v);

/* A call that fails is made again as long as this says so: its status is known, and the stream must be as good as before. NULL: no call may
 * fail. */
extern int (*should_retry)(rill_status status);

/* How two outcomes may differ: floats x and y by absolute + relative * (|x| + |y|); all else must be the same. 0: to the bit, but that
 * all NaNs are alike. Returns what differs, or NULL. */
typedef struct tolerance {
    float absolute, relative;
} tolerance;
const char *compare_outcomes(const problem *p, const outcome *a, const outcome *b, tolerance t);

#endif
