/* array.h: numeric arrays of scripts. Private header of scripting/arrays.
 *
 * An array is a userdata: this header, followed by its elements unless it is a view of engine memory. Whole-array
 * operations read operands as blocks of doubles, whatever the element type, and write blocks of doubles: one
 * branch-free loop per operation, which the compiler vectorises. int64 values beyond 2^53 are exact when read singly,
 * copied or assigned to int64, and rounded in arithmetic.
 *
 * Every C function that Lua calls gets its arrays through array_check() or operand_read(), which refuse arrays of
 * another engine call. Until that C function returns, the engine call in progress cannot end. Meanwhile the userdata
 * stay on the Lua stack, so they are not collected. */
#ifndef RILL_SCRIPTING_ARRAY_H
#define RILL_SCRIPTING_ARRAY_H

#include "arrays.h"

typedef struct array {
    void *data;
    uint64_t stamp; /* serial number of the engine call in which the array is valid; 0: it is always valid */
    int32_t n;
    uint8_t type;     /* array_type */
    uint8_t level;    /* array_level */
    uint8_t writable; /* array_writing */
    uint8_t used;     /* 1: some operation has read the array (mask_watch.c) */
} array;

/* --- array.c ------------------------------------------------------------------------------------------------------ */

extern const char *const array_type_names[];  /* names of the types as scripts see them, by array_type */
extern const char *const array_level_names[]; /* names of the levels in the plural, by array_level */
extern const uint8_t array_sizes[];           /* bytes of an element, by array_type */

/* Return the array at `index`, or NULL if the value is no array. The array may be one of another call. */
array *array_test(lua_State *L, const rill_script *s, int index);

/* Return the array at `index`. Raises if the value is no array, or an array of another call. */
array *array_check(lua_State *L, const rill_script *s, int index);

/* Push a new array owned by the script, with uninitialised elements. Raises when out of memory. */
array *array_new(lua_State *L, rill_script *s, array_type type, int32_t n, array_level level);

/* Push a userdata with memory for `count` elements of `size` bytes, valid while it is on the stack. */
void *array_scratch(lua_State *L, size_t count, size_t size);

/* Push element i, counted from 0. */
void array_push_element(lua_State *L, const array *a, int32_t i);

/* Push x as a Lua integer if the element type is an integer type and x is an integer, else as a float. */
void array_push_number(lua_State *L, array_type type, double x);

/* Add `fn` to the table on top of the stack under the name of each entry, as a closure over the entry's number. The
 * list ends with name == NULL. */
typedef struct array_entry {
    const char *name;
    int number; /* number of an operation, by which `fn` distinguishes its names */
} array_entry;
void array_set_functions(lua_State *L, lua_CFunction fn, const array_entry *entries);

/* --- array_values.c: elements as blocks of doubles ------------------------------------------------------------------ */

enum {
    ARRAY_BLOCK = 256, /* elements of a block: three blocks of operands and one of results fit the first-level cache */
    ARRAY_PAD = 4,     /* so many elements beyond a block's end may be overwritten */
    ARRAY_LOCAL = 512, /* maximum number of elements on the C stack, in functions that need all elements at once */
};

/* One argument of an operation over n elements. */
typedef struct operand {
    const array *a; /* NULL: the argument is `number` */
    double number;
    /* 1: an array of items in an operation over cells, whose elements are repeated over their segments */
    int spread;
    int32_t segment; /* if `spread` is 1: the segment of the next block's first element */
} operand;

/* Level and length of an operation's result: the highest level of its operands and the length of that operand. n is
 * -1 if no operand is an array. */
typedef struct shape {
    int32_t n;
    array_level level;
} shape;

/* Read the argument at `index`. Raises unless it is a number, an array that is valid now or, with `booleans`, a
 * boolean. */
operand operand_read(lua_State *L, const rill_script *s, int index, int booleans);

/* As operand_read(), but return 0 instead of raising if the value has another type, else 1. */
int operand_try(lua_State *L, const rill_script *s, int index, int booleans, operand *out);

/* Check that the operands have compatible levels and lengths, and return the result's. Raises if they have not. */
shape operand_join(lua_State *L, operand *in, int count);

/* Return elements [from, from + n) of the operand as doubles, n <= ARRAY_BLOCK: in the buffer, or in the array
 * itself. Read blocks in order, with one buffer per operand; reading may restart at the first block. */
const double *operand_block(operand *o, const rill_script *s, int32_t from, int32_t n,
                            double buffer[ARRAY_BLOCK + ARRAY_PAD]);

/* out[0, n) = elements [from, from + n). */
void array_widen(const array *a, int32_t from, int32_t n, double *out);

/* Elements [from, from + n) of the array = x[0, n). Integers are rounded down and saturated; masks get 1 where x is
 * not 0. */
void array_narrow(const array *to, int32_t from, int32_t n, const double *restrict x);

/* Return all elements of an array as doubles: in the array itself, in `local`, or in memory that is pushed. */
const double *array_doubles(lua_State *L, const array *a, double local[ARRAY_LOCAL]);

/* As array_doubles(), for an operand broadcast to n elements. */
const double *operand_doubles(lua_State *L, const rill_script *s, operand *o, int32_t n, double local[ARRAY_LOCAL]);

/* Assign the operand, broadcast if necessary, to the elements of `to`. Raises if their lengths do not fit, or if NaN
 * would be stored as an integer. */
void array_assign(lua_State *L, const rill_script *s, const array *to, operand *from);

/* --- segments: the ranges over which an array is reduced ------------------------------------------------------------- */

typedef struct segments {
    int32_t n;
    int32_t base;          /* offset[0]: segment j is [offset[j] - base, offset[j + 1] - base) of the array */
    const int32_t *offset; /* [n + 1] */
    int32_t single_offset[2];
} segments;

/* Get the segments of the array: those of the call in progress for an array of cells, else one segment with all
 * elements. */
void get_segments(segments *out, const rill_script *s, const array *a);

/* Return the maximum of x[0, n) without NaN; -inf if there is no such element. In array_reduce.c. */
double array_max(const double *x, int32_t n);

/* --- entries of each file ------------------------------------------------------------------------------------------- */

/* Each adds the functions of one file. Stack indexes: `meta` the metatable, `methods` the table of methods,
 * `library` the table `rill`. */
void array_open_arithmetic(lua_State *L, int meta, int methods, int library); /* array_arith.c */
void array_open_reductions(lua_State *L, int methods);                        /* array_reduce.c */
void array_open_segments(lua_State *L, int methods);                          /* array_segment.c */

#endif
