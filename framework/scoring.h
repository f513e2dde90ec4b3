/* Scoring: what scorers are shown of rows beside the engine's own columns: the inputs' texts, and their own states.
 *
 * A scorer's states are kept by node, as the domain keeps its own: a state's bytes are there as long as a row may continue it, and
 * ids and lifetimes are the forest's. */
#ifndef RILL_SCORING_H
#define RILL_SCORING_H

#include "intake.h"
#include "timestep.h"

typedef struct scoring {
    rill_context *ctx;
    char *states; /* [nodes, bytes], bytes being the chain's state_bytes */
    size_t states_bytes;
    rill_columns memory;
    /* Of the rows of a call. */
    const char **text;
    size_t *length;
    char *state; /* of the scorer that speaks, [rows, its bytes] */
    size_t state_room;
} scoring;

void scoring_finish(scoring *s);
/* Room for so many nodes, and for the rows, whose texts are looked up. */
rill_status scoring_begin(scoring *s, const chain *c, int32_t nodes, const row_table *rows, const items *all,
                          const intake *in);
/* Rows [first, first + n) for a scorer: their parents' states, zero where there is none, as rows one behind the other. */
void *scoring_gather(scoring *s, const chain *c, const chain_link *link, const row_table *rows, int32_t first,
                     int32_t n);
/* Keep what the scorer has made of them. */
void scoring_keep(scoring *s, const chain *c, const chain_link *link, const row_table *rows, int32_t first, int32_t n);
/* Is it what was kept? */
int scoring_same(const scoring *s, const chain *c, const chain_link *link, const row_table *rows, int32_t first,
                 int32_t n);

#endif
