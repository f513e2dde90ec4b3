/* Scorer states and input texts: the columns of rill_scorer_rows that a timestep's row_table does not have.
 *
 * Scorer states are stored by node id, like the domain's states: a node's scorer states live as long as the node
 * (hyp_pool.h). */
#ifndef RILL_SCORER_STATES_H
#define RILL_SCORER_STATES_H

#include "input_queue.h"
#include "timestep.h"

typedef struct scorer_states {
    rill_context *ctx;
    char *node_states; /* [nodes, chain.state_bytes] a node's states of all scorers are adjacent */
    size_t node_states_bytes;
    rill_columns memory;
    /* Columns with one element per row of the timestep: the text of the row's input, and its length in bytes. */
    const char **text;
    size_t *length;
    char *row_states; /* [rows, rill_scorer.state_bytes] states of the scorer being called */
    size_t row_states_bytes;
} scorer_states;

void scorer_states_finish(scorer_states *s);
/* Reserve memory for `nodes` nodes and for the rows, and look up the input texts of the rows. */
rill_status scorer_states_begin(scorer_states *s, const chain *c, int32_t nodes, const row_table *rows,
                                const items *all, const input_queue *in);
/* Before a scorer's call: copy the scorer's states of the parents of rows [first, first + n) to row_states; zeros for a row
 * without a parent. Returns row_states, or NULL if the scorer has no state. */
void *scorer_states_gather(scorer_states *s, const chain *c, const chain_link *link, const row_table *rows,
                           int32_t first, int32_t n);
/* After the call: store the states that the scorer wrote to row_states at the nodes of the rows. */
void scorer_states_keep(scorer_states *s, const chain *c, const chain_link *link, const row_table *rows, int32_t first,
                        int32_t n);
/* After a second call for the setting `check`: whether row_states equals the states stored at the nodes of the rows. */
int scorer_states_same(const scorer_states *s, const chain *c, const chain_link *link, const row_table *rows,
                       int32_t first, int32_t n);

#endif
