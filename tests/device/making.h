/* making.h: the maker's parts. Inner header. */
#ifndef TEST_DEVICE_MAKING_H
#define TEST_DEVICE_MAKING_H

#include "maker.h"

/* What a view must be: a value of the space itself; one whose rows may be absent; no value. */
typedef enum need { ANY = 0, PLAIN = 1, ABSENT = 2, NO_VALUE = 4 } need;

rill_space root_of(const tale *t, rill_space space);
int is_distinct(const tale *t, rill_space space);

rill_constant add_constant(problem *p, size_t rows, size_t width);
rill_weight_type random_type(problem *p);
rill_matrix add_matrix(problem *p, size_t n, size_t k, rill_weight_type type);
rill_value add_value(problem *p, rill_space space, size_t width);
told_op *add_op(problem *p, told_kind kind, rill_space space);

/* Something of `width` floats that rows of the space can read, but not `but`. */
look find(problem *p, rill_space space, size_t width, int needs, const look *but);
/* Where an operation writes: a value of its own, or rows that belong to the row; nothing that is read. */
look place(problem *p, rill_space space, size_t width);
look place_apart(problem *p, rill_space space, size_t width, const look *reads, int n);
/* Whether there is room for one more operation and what it needs. */
int has_parts(const problem *p);

/* maker_ops.c */
void make_op(problem *p);
void make_best(problem *p);
void make_mix(problem *p);

#endif
