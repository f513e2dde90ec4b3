/* The parser's stack: how an action changes it, and which actions are legal.
 *
 * Invariant: a sentence of n words takes n shifts and n - 1 combines, in any legal order. A shift needs a remaining
 * word, a combine two spans on the stack. So every unfinished hypothesis has a legal action, and a finished one has all
 * words in one span. */
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

/* Class of a row, for merging equivalent hypotheses: its top span. An equal number of words shifted after equally many
 * actions means equal stack depth, hence the same legal actions. The next label is of the top span. */
rill_status parser_classify(void *self, const rill_rows *rows, int64_t *classes)
{
    const parser_cell *cell = ((const parser_runner *)self)->cell;
    for (int32_t r = 0; r < rows->n; r++) {
        const parser_cell s = next_cell(cell, rows, r);
        classes[r] = (int64_t)s.b << 32 | s.c;
    }
    return RILL_OK;
}
