/* random_network_internal.h: parts of the generator. Private header. */
#pragma once

#include "random_network.h"

/* Requirements of a view. PLAIN: a value of the space itself; ABSENT: rows may be absent; NO_VALUE: not a value. */
typedef enum view_need { ANY = 0, PLAIN = 1, ABSENT = 2, NO_VALUE = 4 } view_need;

rill_index_space root_space(const net_spec *t, rill_index_space space);
int is_distinct(const net_spec *t, rill_index_space space);

rill_constant add_constant(problem *p, size_t rows, size_t width);
rill_weight_type random_type(problem *p);
rill_matrix add_matrix(problem *p, size_t n, size_t k, rill_weight_type type);
rill_tensor add_value(problem *p, rill_index_space space, size_t width);
spec_op *add_op(problem *p, rill_op_kind kind, rill_index_space space);

/* Find `width` floats that rows of the space can read, other than `but`. */
spec_view find_view(problem *p, rill_index_space space, size_t width, int needs, const spec_view *but);
/* Choose an output for an operation: a new value, or table rows that belong to the row. place_new_output() chooses none
 * of the operation's inputs. */
spec_view place_output(problem *p, rill_index_space space, size_t width);
spec_view place_new_output(problem *p, rill_index_space space, size_t width, const spec_view *reads, int n);
/* Whether the arrays have room for another operation and its parts. */
int has_capacity(const problem *p);

/* random_network_ops.c */
void make_op(problem *p);
void make_best(problem *p);
void make_mix(problem *p);
