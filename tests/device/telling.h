/* telling.h: a tale while it is told. Inner header of the interpreter. */
#ifndef TEST_DEVICE_TELLING_H
#define TEST_DEVICE_TELLING_H

#include "interpreter.h"

typedef struct telling {
    const tale *t;
    const rill_kernels *k;
    world *w;
    const answers *a;
    struct {
        size_t rows;
        int32_t *origin; /* row of `of`; of units the input */
        int32_t *value;  /* of distinct rows */
        int32_t *first;  /* ragged: [n] first units */
    } space[MOST_PARTS];
    float *value[MOST_PARTS];
    int32_t *path[MOST_PARTS]; /* [n, MOST_NODES] */
    int32_t *path_length[MOST_PARTS];
} telling;

/* Zeroed memory; the test ends where there is none. */
void *telling_room(size_t count, size_t size);

/* The entry of a column for a row. */
int32_t column_at(const telling *x, rill_space space, int32_t row, rill_column column);
/* The floats that a view means for a row; NULL where there are none. */
float *see(const telling *x, look l, rill_space space, int32_t row);

void tell_best(const telling *x, const told_op *op, int32_t r);
void tell_mix(const telling *x, const told_op *op, int32_t r);

#endif
