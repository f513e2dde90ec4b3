/* interpreter.h: what a device's programs mean, said once more and as plainly as can be.
 *
 * A tale is a plan and a program written down by a test; it is built into a rill_plan and, independently, told by tell(): whole run
 * by whole run, one row at a time, with neither blocks nor indices nor threads. Kernels are called with one row each.
 * A world is what outlives runs: tables, paths, lists. */
#ifndef TEST_DEVICE_INTERPRETER_H
#define TEST_DEVICE_INTERPRETER_H

#include "kernels.h"
#include "rill/device.h"

enum { MOST_PARTS = 96, MOST_OPS = 40, MOST_SLOTS = 80, MOST_NODES = 200 };

typedef enum look_kind { LOOK_NONE, LOOK_VALUE, LOOK_UNIT, LOOK_TABLE, LOOK_CONSTANT, LOOK_IN } look_kind;

/* A view. */
typedef struct look {
    look_kind kind;
    int32_t of, row, slot, first;
} look;

typedef enum told_kind {
    TOLD_PRODUCT,
    TOLD_LSTM,
    TOLD_GRU,
    TOLD_SCAN,
    TOLD_ATTEND,
    TOLD_NORMALISE,
    TOLD_ACTIVATE,
    TOLD_EMBED,
    TOLD_SUM,
    TOLD_COPY,
    TOLD_MASK,
    TOLD_PATH,
    TOLD_BEST,
    TOLD_MIX
} told_kind;

/* An operation; its views stand in `view` in the order in which its struct has them, and are put into the struct by build_tale(). */
typedef struct told_op {
    told_kind kind;
    rill_space space;
    look view[16];
    rill_column node, parent, depth; /* TOLD_PATH */
    union {
        rill_product product;
        rill_lstm_cell lstm;
        rill_gru_cell gru;
        rill_scan scan;
        rill_attend attend;
        rill_normalise normalise;
        rill_activate activate;
        rill_embedding embed;
        rill_sum sum;
        rill_copy copy;
        rill_mask mask;
        rill_best_choices best;
        rill_mix mix;
    } as;
} told_op;

typedef enum told_space_kind { TOLD_ROWS, TOLD_WHERE, TOLD_DISTINCT, TOLD_RAGGED } told_space_kind;

/* Arrays are addressed by handle: element 0 is not used, but for the space of rows. */
typedef struct tale {
    struct {
        float *data;
        size_t rows, width;
    } constant[MOST_PARTS];
    struct {
        float *w;
        size_t n, k;
        rill_weight_type type;
    } matrix[MOST_PARTS];
    struct {
        rill_table_kind kind;
        size_t width;
    } table[MOST_PARTS];
    struct {
        rill_constant rows, bias;
        rill_weight_type type;
    } list[MOST_PARTS];
    struct {
        told_space_kind kind;
        rill_space of;
        rill_column column;
    } space[MOST_PARTS];
    struct {
        rill_space space;
        int32_t *entry; /* of the run */
        size_t count;
    } column[MOST_PARTS];
    struct {
        rill_space space;
        size_t width;
        rill_list list;
        int written; /* floats that are, for the maker */
    } value[MOST_PARTS];
    told_op op[MOST_OPS];
    rill_table expected;
    rill_column expected_slot;
    int32_t constants, matrices, tables, lists, spaces, columns, values, ops, paths;
    int selects, watches;
} tale;

typedef struct world {
    int32_t nodes, slots, host_rows;
    float *rows[MOST_PARTS];               /* by table: of nodes, slots, the host */
    float *ragged[MOST_PARTS][MOST_SLOTS]; /* by table and slot */
    int32_t units[MOST_SLOTS];
    int32_t above[MOST_NODES];
    int32_t *symbol[MOST_PARTS][MOST_SLOTS]; /* by list and slot */
    int32_t symbols[MOST_PARTS][MOST_SLOTS];
} world;

/* What a run is asked and answers, for n rows. */
typedef struct answers {
    int32_t n;
    rill_selection selection;
    float *watched;
    size_t ld_watched;
} answers;

/* Build a tale as a plan with one program. */
rill_status build_tale(const tale *t, rill_plan *plan, rill_program *program);

/* Tell what a run of n rows does; columns' entries are the tale's. */
void tell(const tale *t, const rill_kernels *kernels, world *w, const answers *a);

#endif
