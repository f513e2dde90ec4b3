/* A toy domain with a known optimum, which checks the engine's calls.
 *
 * Order of use: rill_register_domain(ctx, &toy_domain), rill_model_open(&model, ctx, "toy", options), decode, close, toy_report_get().
 * Violations of rill/domain.h's contract are counted and fail a call. Outputs are actions as numbers separated by spaces. */
#pragma once

#include "support/toy_model.h"

extern const rill_domain toy_domain;
extern const rill_domain toy_without_runners; /* the domain "toy-alone": the toy domain without runners */

/* Id of the toy's unknown token, if it has one. */
enum { TOY_UNKNOWN = 0 };
/* Default search settings that the toy recommends for the preset hf. */
#define TOY_RECOMMENDED "k=3 length-penalty=0 stop=bound-max"
/* Memory sizes in bytes that the toy reports. */
enum { TOY_NODE_BYTES = 100, TOY_SLOT_BYTES = 150, TOY_UNIT_BYTES = 10 };

/* Events since toy_report_reset(), of models and runners that ended in this thread. */
typedef struct toy_report {
    int64_t opened, closed;    /* numbers of models opened and closed */
    int64_t started, stopped;  /* numbers of runners started and stopped */
    int64_t nodes, nodes_peak; /* nodes alive at the end; most nodes alive at once in one model or runner */
    int64_t slots, slots_peak;
    /* numbers of inputs encoded, nodes made, rows scored, outputs finalized, slots dropped, nodes freed */
    int64_t encoded, made, scored, finalized, dropped, freed;
    int64_t encode_calls; /* number of encode calls with at least one input */
    int64_t max_rows;     /* maximum number of rows in a score call */
    int64_t max_choices;  /* maximum number of choices per row that a score call requested */
    /* numbers of score calls with allowed sets; with picks; with only some rows of the last step call */
    int64_t set_calls, pick_calls, part_calls;
    int64_t finalized_anywhere; /* number of outputs finalized without a state */
    int64_t violations;
    char first_violation[512]; /* message about the first violation */
} toy_report;

/* Peak number of nodes alive in all models and runners of all threads, since the last call. */
int64_t toy_nodes_peak(void);

toy_report *toy_report_get(void);
void toy_report_reset(void);
