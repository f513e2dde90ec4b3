/* random_network.h: random networks and worlds for the executor's property test. The dice determine everything. */
#pragma once

#include "interpreter.h"
#include "support/dice.h"

/* Handles of the columns and spaces that every network has; those of units are 0 if it has no ragged space. */
typedef struct layout {
    rill_column node, old, old_or_none, slot, full_slot, unit, own_slot, symbol, symbol_or_none, chosen, depth,
        old_depth, tag;
    rill_column length, shorter, filled, some_unit;
    rill_column unit_symbol, unit_or_none, unit_chosen, unit_tag, unit_symbol2;
    rill_index_space units, units2, where, distinct, where_units, filled_rows, distinct_where, distinct_units;
} layout;

typedef struct problem {
    dice d;
    net_spec t;
    layout s;
    world w;
    int32_t n, old_nodes, old_slots;
    size_t hidden, symbols;
    rill_table nodes, states, slots, ragged, host;
    rill_constant rows, wide; /* [ROWS, hidden], [ROWS, 4 hidden] */
    rill_vocab_subset mask, vocab_subset[2];
    rill_selection selection; /* selects choices for all rows; the arrays for results are elsewhere */
    rill_weight_type narrow;
} problem;

enum { CONSTANT_ROWS = 24 };

/* Weights are in fp32, bf16 and one more type, which the device must support. */
problem *make_problem(uint64_t seed, rill_weight_type narrow);
void free_problem(problem *p);

/* Copy the world, so that a run can change the copy. */
world *copy_world(const problem *p);
void free_world(world *w);

float *random_floats(dice *d, size_t count, float scale);
