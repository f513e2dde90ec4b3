/* interpreter_internal.h: state of an interpretation. Private header of the interpreter. */
#pragma once

#include "interpreter.h"

typedef struct interpretation {
    const net_spec *t;
    const rill_kernels *k;
    world *w;
    const answers *a;
    struct {
        size_t rows;
        int32_t *origin; /* [rows]: row of the parent space; for units, the input */
        int32_t *value;  /* [rows]: for distinct rows, their value */
        int32_t *first;  /* for ragged spaces: [n] index of the first unit */
    } space[SPEC_MAX_PARTS];
    float *value[SPEC_MAX_PARTS];
    int32_t *path[SPEC_MAX_PARTS]; /* [n, MOST_NODES]: nodes of each path */
    int32_t *path_length[SPEC_MAX_PARTS];
} interpretation;

/* Return zeroed memory; fail the test if there is none. */
void *interpret_alloc(size_t count, size_t size);

/* Return the value of a column for a row. */
int32_t column_value(const interpretation *x, rill_index_space space, int32_t row, rill_column column);
/* Return the address of a view's floats for a row; NULL if the row is absent. */
float *view_data(const interpretation *x, spec_view l, rill_index_space space, int32_t row);

void interpret_best(const interpretation *x, const spec_op *op, int32_t r);
void interpret_mix(const interpretation *x, const spec_op *op, int32_t r);
