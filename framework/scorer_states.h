/* Scoring: what scorers are shown of rows beside the engine's own columns: the inputs' texts, and their own states.
 *
 * A scorer's states are kept by node, as the domain keeps its own: a state's bytes are there as long as a row may continue it, and
 * ids and lifetimes are the forest's. */
#ifndef RILL_SCORER_STATES_H
#define RILL_SCORER_STATES_H

#include "input_queue.h"
#include "timestep.h"

typedef struct scorer_states {
    rill_context *ctx;
    char *node_states; /* [nodes, bytes], bytes being the chain's state_bytes */
    size_t node_states_bytes;
    rill_columns memory;
    /* Of the rows of a call. */
    const char **text;
    size_t *length;
    char *row_states; /* of the scorer that speaks, [rows, its bytes] */
    size_t row_states_bytes;
} scorer_states;

void scorer_states_finish(scorer_states *s);
/* Room for so many nodes, and for the rows, whose texts are looked up. */
rill_status scorer_states_begin(scorer_states *s, const chain *c, int32_t nodes, const row_table *rows,
                                const items *all, const input_queue *in);
/* Rows [first, first + n) for a scorer: their parents' states, zero where there is none, as rows one behind the other. */
void *scorer_states_gather(scorer_states *s, const chain *c, const chain_link *link, const row_table *rows,
                           int32_t first, int32_t n);
/* Keep what the scorer has made of them. */
void scorer_states_keep(scorer_states *s, const chain *c, const chain_link *link, const row_table *rows, int32_t first,
                        int32_t n);
/* Is it what was kept? */
int scorer_states_same(const scorer_states *s, const chain *c, const chain_link *link, const row_table *rows,
                       int32_t first, int32_t n);

#endif
