/* interpreter.h: a simple reference implementation of a device's graphs.
 *
 * A net_spec describes a network with one graph as data. A test builds it as a rill_network and, independently, runs it
 * with interpret(): one row at a time, without blocks, index lists or threads. Kernels are called with one row each. A
 * world is the state that outlives runs: tables, paths, lists. */
#pragma once

#include "kernels.h"
#include "rill/device.h"

enum { SPEC_MAX_PARTS = 96, MAX_OPS = 40, SPEC_MAX_SLOTS = 80, SPEC_MAX_NODES = 200 };

typedef enum spec_view_kind {
    SPEC_VIEW_NONE,
    SPEC_VIEW_VALUE,
    SPEC_VIEW_UNIT,
    SPEC_VIEW_TABLE,
    SPEC_VIEW_CONSTANT,
    SPEC_VIEW_RAGGED
} spec_view_kind;

/* A view of a network, as data (rill_view in device.h). */
typedef struct spec_view {
    spec_view_kind kind;
    int32_t source, row, slot, first;
} spec_view;

/* An operation. Views are in the order of the operation's list of operands (kernels.h); build_network() copies them to
 * `as`. */
typedef struct spec_op {
    rill_op_kind kind;
    rill_index_space space;
    spec_view view[16];
    rill_column node, parent, depth; /* for RILL_OP_PATH */
    rill_op as;
} spec_op;

typedef enum spec_space_kind {
    SPEC_SPACE_ROWS,
    SPEC_SPACE_WHERE,
    SPEC_SPACE_DISTINCT,
    SPEC_SPACE_RAGGED
} spec_space_kind;

/* A network as data. Arrays are indexed by handle: element 0 is unused, except for the space of rows. */
typedef struct net_spec {
    struct {
        float *data;
        size_t rows, width;
    } constant[SPEC_MAX_PARTS];
    struct {
        float *w;
        size_t n, k;
        rill_weight_type type;
    } matrix[SPEC_MAX_PARTS];
    struct {
        rill_table_kind kind;
        size_t width;
    } table[SPEC_MAX_PARTS];
    struct {
        rill_constant rows, bias;
        rill_weight_type type;
    } vocab_subset[SPEC_MAX_PARTS];
    struct {
        spec_space_kind kind;
        rill_index_space parent_space;
        rill_column column;
    } space[SPEC_MAX_PARTS];
    struct {
        rill_index_space space;
        int32_t *entry; /* [count] values in the run */
        size_t count;
    } column[SPEC_MAX_PARTS];
    struct {
        rill_index_space space;
        size_t width;
        rill_vocab_subset list;
        int written; /* number of floats written so far, for the generator */
    } value[SPEC_MAX_PARTS];
    spec_op op[MAX_OPS];
    rill_table expected;
    rill_column expected_slot;
    int32_t constants, matrices, tables, vocab_subsets, spaces, columns, values, ops, paths;
    int selects, watches;
} net_spec;

typedef struct world {
    int32_t nodes, slots, host_rows;
    float *rows[SPEC_MAX_PARTS];                   /* [table]: tables of nodes, of slots, of the host */
    float *ragged[SPEC_MAX_PARTS][SPEC_MAX_SLOTS]; /* [table][slot] */
    int32_t units[SPEC_MAX_SLOTS];
    int32_t parent[SPEC_MAX_NODES];
    int32_t *symbol[SPEC_MAX_PARTS][SPEC_MAX_SLOTS]; /* [list][slot] */
    int32_t symbols[SPEC_MAX_PARTS][SPEC_MAX_SLOTS];
} world;

/* Requests and answers of a run of n rows. */
typedef struct answers {
    int32_t n;
    rill_selection selection;
    float *watched;
    size_t ld_watched;
} answers;

/* Build a net_spec as a network with one graph. */
rill_status build_network(const net_spec *t, rill_network *network, rill_graph *graph);

/* Compute a run of n rows; columns have the spec's entries. */
void interpret(const net_spec *t, const rill_kernels *kernels, world *w, const answers *a);
