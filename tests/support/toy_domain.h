/* A toy domain that knows its own optimum and that watches the engine.
 *
 * Order of use: rill_register_domain(ctx, &toy_domain), rill_model_open(&model, ctx, "toy", options) with the arguments of
 * toy_model.h, decode, close, then read toy_report_get(). Every breach of the contract in rill/domain.h makes the running or
 * the next call fail with a message and is counted. Outputs are the actions as numbers with blanks between. */
#ifndef TEST_TOY_DOMAIN_H
#define TEST_TOY_DOMAIN_H

#include "support/toy_model.h"

extern const rill_domain toy_domain;
extern const rill_domain toy_without_runners; /* "toy-alone": the same without runners */

/* What the toy says that memory costs. */
/* And which action stands for what it does not know, where there are others. */
enum { TOY_UNKNOWN = 0 };
/* What the toy recommends for the preset hf. */
#define TOY_RECOMMENDED "k=3 length-penalty=0 stop=bound-max"
enum { TOY_NODE_BYTES = 100, TOY_SLOT_BYTES = 150, TOY_UNIT_BYTES = 10 };

/* What happened since toy_report_reset() to models and runners that ended in this thread. */
typedef struct toy_report {
    int64_t opened, closed;    /* models */
    int64_t started, stopped;  /* runners */
    int64_t nodes, nodes_peak; /* alive at the end; the most at once, in one of them */
    int64_t slots, slots_peak;
    int64_t encoded, made, scored, finalized, dropped, freed; /* inputs, nodes, rows, outputs, slots, nodes */
    int64_t encode_calls;                                     /* of one input or more */
    int64_t max_rows;                                         /* in one score call */
    int64_t max_choices;                                      /* asked for in one score call */
    int64_t set_calls, pick_calls, part_calls; /* score calls with sets, with picks, with some of what was stepped */
    int64_t finalized_anywhere;                /* outputs finalized where no state is */
    int64_t violations;
    char first_violation[512]; /* the first violation */
} toy_report;

/* The most nodes alive at once, in all models and runners of all threads, since it was asked last. */
int64_t toy_nodes_peak(void);

toy_report *toy_report_get(void);
void toy_report_reset(void);

#endif
