/* The parser's stack: what an action makes of it, and which actions it leaves.
 *
 * Invariant: a sentence of n words takes n shifts and n - 1 combinations in any legal order: a shift needs a word that is left, a
 * combination two spans on the stack. So a hypothesis that has nothing left to do has all words in one span, and every one that has
 * not has an action left. */
#include "stack.h"

rill_status parser_step(void *self, const rill_rows *rows)
{
    parser_cell *cell = ((parser_runner *)self)->cell;
    for (int32_t r = 0; r < rows->n; r++) {
        const int32_t from = rows->state_parent[r];
        parser_cell *to = &cell[rows->node[r]];
        if (from == RILL_NO_NODE)
            *to = (parser_cell){.below = RILL_NO_NODE};
        else if (rows->action[r] == PARSER_SHIFT)
            *to = stack_shift(cell, from);
        else if (rows->action[r] == PARSER_COMBINE)
            *to = stack_combine(cell, from);
        else
            *to = cell[from];
    }
    return RILL_OK;
}
