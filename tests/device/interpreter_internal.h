/* interpreter_internal.h: a tale while it is told. Inner header of the interpreter. */
#ifndef TEST_INTERPRETER_INTERNAL_H
#define TEST_INTERPRETER_INTERNAL_H

#include "interpreter.h"

typedef struct interpretation {
    const net_spec *t;
    const rill_kernels *k;
    world *w;
    const answers *a;
    struct {
        size_t rows;
        int32_t *origin; /* row of `of`; of units the input */
        int32_t *value;  /* of distinct rows */
        int32_t *first;  /* ragged: [n] first units */
    } space[SPEC_MAX_PARTS];
    float *value[SPEC_MAX_PARTS];
    int32_t *path[SPEC_MAX_PARTS]; /* [n, MOST_NODES] */
    int32_t *path_length[SPEC_MAX_PARTS];
} interpretation;

/* Zeroed memory; the test ends where there is none. */
void *interpret_alloc(size_t count, size_t size);

/* The entry of a column for a row. */
int32_t column_value(const interpretation *x, rill_index_space space, int32_t row, rill_column column);
/* The floats that a view means for a row; NULL where there are none. */
float *view_data(const interpretation *x, spec_view l, rill_index_space space, int32_t row);

void interpret_best(const interpretation *x, const spec_op *op, int32_t r);
void interpret_mix(const interpretation *x, const spec_op *op, int32_t r);

#endif
