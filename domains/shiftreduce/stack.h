/* stack.h: the transition system of Cross and Huang, on stack cells (parser_cell in shiftreduce_model.h). Private
 * header of the shiftreduce domain. */
#ifndef RILL_SHIFTREDUCE_STACK_H
#define RILL_SHIFTREDUCE_STACK_H

#include "shiftreduce_model.h"

/* The cell of node `from`'s child by the action shift or combine. */
static inline parser_cell stack_shift(const parser_cell *cell, int32_t from)
{
    const parser_cell *s = &cell[from];
    return (parser_cell){.below_node = s->c > 0 ? from : RILL_NO_NODE, .a = s->b, .b = s->c, .c = s->c + 1};
}

static inline parser_cell stack_combine(const parser_cell *cell, int32_t from)
{
    const parser_cell *s = &cell[from], *below = &cell[s->below_node];
    return (parser_cell){.below_node = below->below_node, .a = below->a, .b = s->a, .c = s->c};
}

static inline int stack_can_shift(const parser_cell *s, int32_t words)
{
    return s->c < words;
}

static inline int stack_can_combine(const parser_cell *s)
{
    return s->below_node != RILL_NO_NODE;
}

/* Whether all words are in one span, so that only the span's label is left to choose. */
static inline int stack_is_done(const parser_cell *s, int32_t words)
{
    return !stack_can_shift(s, words) && !stack_can_combine(s);
}

#endif
