/* Scorer states and input texts: the columns that scorers see beyond the engine's own.
 *
 * A scorer's states are stored by node, like the domain's: they exist as long as a row may continue them, with the ids and lifetimes of
 * the hypothesis pool. */
#ifndef RILL_SCORER_STATES_H
#define RILL_SCORER_STATES_H

#include "input_queue.h"
#include "timestep.h"

typedef struct scorer_states {
    rill_context *ctx;
    char *node_states; /* [nodes, state_bytes] per state, the data of all scorers together */
    size_t node_states_bytes;
    rill_columns memory;
    /* Columns over the rows of a call. */
    const char **text;
    size_t *length;
    char *row_states; /* states of the current scorer, [rows, state_bytes] */
    size_t row_states_bytes;
} scorer_states;

void scorer_states_finish(scorer_states *s);
/* Reserve memory for `nodes` nodes and the rows, and look up the rows' texts. */
rill_status scorer_states_begin(scorer_states *s, const chain *c, int32_t nodes, const row_table *rows,
                                const items *all, const input_queue *in);
/* Gather the parents' states of rows [first, first + n) for a scorer, zero without a parent, into consecutive rows. */
void *scorer_states_gather(scorer_states *s, const chain *c, const chain_link *link, const row_table *rows,
                           int32_t first, int32_t n);
/* Store the states that the scorer wrote. */
void scorer_states_keep(scorer_states *s, const chain *c, const chain_link *link, const row_table *rows, int32_t first,
                        int32_t n);
/* Whether the states are equal to those stored. */
int scorer_states_same(const scorer_states *s, const chain *c, const chain_link *link, const row_table *rows,
                       int32_t first, int32_t n);

#endif
