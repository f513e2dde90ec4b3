/* The parser's stack: what an action makes of it, and which actions it leaves.
 *
 * Invariant: a sentence of n words takes n shifts and n - 1 combinations in any legal order: a shift needs a word that is left, a
 * combination two spans on the stack. So a hypothesis that has nothing left to do has all words in one span, and every one that has
 * not has an action left. */
#include "stack.h"

static parser_cell next_cell(const parser_cell *cell, const rill_rows *rows, int32_t r)
{
    const int32_t from = rows->state_parent[r];
    if (from == RILL_NO_NODE) return (parser_cell){.below_node = RILL_NO_NODE};
    if (rows->action[r] == PARSER_SHIFT) return stack_shift(cell, from);
    if (rows->action[r] == PARSER_COMBINE) return stack_combine(cell, from);
    return cell[from];
}

rill_status parser_step(void *self, const rill_rows *rows)
{
    parser_cell *cell = ((parser_runner *)self)->cell;
    for (int32_t r = 0; r < rows->n; r++) cell[rows->node[r]] = next_cell(cell, rows, r);
    return RILL_OK;
}

/* With equal words on the stack, after equally many actions, stacks are equally deep, and all that is legal is the same. The span on
 * top is asked to be the same too, since it is what a label is for. */
rill_status parser_classify(void *self, const rill_rows *rows, int64_t *classes)
{
    const parser_cell *cell = ((const parser_runner *)self)->cell;
    for (int32_t r = 0; r < rows->n; r++) {
        const parser_cell s = next_cell(cell, rows, r);
        classes[r] = (int64_t)s.b << 32 | s.c;
    }
    return RILL_OK;
}
