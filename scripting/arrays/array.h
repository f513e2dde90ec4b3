/* array.h: numeric arrays of scripts. Private header of scripting/arrays.
 *
 * An array is a userdata: this header, followed by its elements unless it is a view of engine memory. Whole-array
 * operations read operands as blocks of doubles, whatever the element type, and write blocks of doubles: one
 * branch-free loop per operation, which the compiler vectorises. int64 values beyond 2^53 are exact when read singly,
 * copied or assigned to int64, and rounded in arithmetic.
 *
 * Every entry from Lua gets its arrays through array_check() or operand_read(), which refuse arrays of another call;
 * until the entry returns, the call in progress cannot end. The userdata stay on the Lua stack meanwhile, so they are
 * not collected. */
#ifndef RILL_SCRIPTING_ARRAY_H
#define RILL_SCRIPTING_ARRAY_H

#include "arrays.h"

typedef struct array {
    void *data;
    uint64_t stamp; /* the call it belongs to; 0: none, it stays valid */
    int32_t n;
    uint8_t type;     /* array_type */
    uint8_t level;    /* array_level */
    uint8_t writable; /* array_writing */
    uint8_t used;     /* some operation has read it: see mask_watch.c */
} array;

/* --- array.c ------------------------------------------------------------------------------------------------------ */

extern const char *const array_type_names[];  /* by array_type, as scripts see them */
extern const char *const array_level_names[]; /* by array_level, in the plural */
extern const uint8_t array_sizes[];           /* by array_type, bytes of an element */

/* The array at `index`, or NULL if that is something else. The array may be stale. */
array *array_test(lua_State *L, const rill_script *s, int index);

/* The array at `index`, which may be used now; else a Lua error. */
array *array_check(lua_State *L, const rill_script *s, int index);

/* Push a new array owned by the script, uninitialised. Raises an error when out of memory. */
array *array_new(lua_State *L, rill_script *s, array_type type, int32_t n, array_level level);

/* Push memory for `count` elements of `size` bytes, valid while it is on the stack. */
void *array_scratch(lua_State *L, size_t count, size_t size);

/* Push element i, counted from 0. */
void array_push_element(lua_State *L, const array *a, int32_t i);

/* Push x as an integer if its value and the element type are integers, else as a float. */
void array_push_number(lua_State *L, array_type type, double x);

/* Add `fn` to the table at the top of the stack under each name, as a closure over its number. The list is
 * NULL-terminated. */
typedef struct array_entry {
    const char *name;
    int number; /* of an operation */
} array_entry;
void array_set_functions(lua_State *L, lua_CFunction fn, const array_entry *entries);

/* --- array_values.c: elements as blocks of doubles ------------------------------------------------------------------ */

enum {
    ARRAY_BLOCK = 256, /* three blocks of operands and one of results stay in the first-level cache */
    ARRAY_PAD = 4,     /* a block may be written so far beyond its end */
    ARRAY_LOCAL = 512, /* elements kept on the C stack by functions that need all at once */
};

/* One argument of an operation over n elements. */
typedef struct operand {
    const array *a; /* NULL: the number */
    double number;
    int spread;      /* an items array in an operation over cells */
    int32_t segment; /* for spreading: the segment of the next block's first element */
} operand;

/* Result shape of an operation: the highest level of its operands, and its length. Without any array: -1. */
typedef struct shape {
    int32_t n;
    array_level level;
} shape;

/* Read the argument at `index`. Raises unless it is a number, an array that may be used now or, with `booleans`, a boolean. */
operand operand_read(lua_State *L, const rill_script *s, int index, int booleans);

/* The same, with 0 instead of an error for a value that is none of these. */
int operand_try(lua_State *L, const rill_script *s, int index, int booleans, operand *out);

/* Check that the operands are compatible, or raise. */
shape operand_join(lua_State *L, operand *in, int count);

/* Elements [from, from + n) of the operand, n <= ARRAY_BLOCK, in the buffer or in place. Read blocks in order, with one
 * buffer per operand; reading may restart at the first block. */
const double *operand_block(operand *o, const rill_script *s, int32_t from, int32_t n,
                            double buffer[ARRAY_BLOCK + ARRAY_PAD]);

/* out[0, n) = elements [from, from + n). */
void array_widen(const array *a, int32_t from, int32_t n, double *out);

/* Elements [from, from + n) of the array = x[0, n): integers rounded down and saturated, masks 1 where x is not 0. */
void array_narrow(const array *to, int32_t from, int32_t n, const double *restrict x);

/* All elements of an array: in place, in `local`, or in memory that is pushed. */
const double *array_doubles(lua_State *L, const array *a, double local[ARRAY_LOCAL]);

/* The same for an operand broadcast to n elements. */
const double *operand_doubles(lua_State *L, const rill_script *s, operand *o, int32_t n, double local[ARRAY_LOCAL]);

/* Assign the operand to every element of `to`, or raise; NaN cannot be stored as an integer. */
void array_assign(lua_State *L, const rill_script *s, const array *to, operand *from);

/* --- segments: the ranges over which an array is reduced ------------------------------------------------------------- */

typedef struct segments {
    int32_t n;
    int32_t base;          /* offset[0]: segment j is [offset[j] - base, offset[j + 1] - base) of the array */
    const int32_t *offset; /* [n + 1] */
    int32_t single_offset[2];
} segments;

/* Segments of the call for cells; one of everything for the others. */
void get_segments(segments *out, const rill_script *s, const array *a);

/* The greatest of x[0, n), NaN left out; -inf if there is none. In array_reduce.c. */
double array_max(const double *x, int32_t n);

/* --- entries of each file ------------------------------------------------------------------------------------------- */

/* The metatable is at index `meta`, the table of methods at `methods`, `rill` at `library`. */
void array_open_arithmetic(lua_State *L, int meta, int methods, int library); /* array_arith.c */
void array_open_reductions(lua_State *L, int methods);                        /* array_reduce.c */
void array_open_segments(lua_State *L, int methods);                          /* array_segment.c */

#endif
