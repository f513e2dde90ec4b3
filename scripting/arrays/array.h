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

/* --- array.c ------------------------------------------------------------------------------------------------------ */

extern const char *const array_type_names[];  /* names of the types as scripts see them, by array_type */
extern const char *const array_level_names[]; /* names of the levels in the plural, by array_level */
extern const uint8_t array_sizes[];           /* bytes of an element, by array_type */

/* Push a new array owned by the script, with uninitialised elements. Raises when out of memory. */
array *array_new(lua_State *L, rill_script *s, array_type type, int32_t n, array_level level);

/* Push a userdata with memory for `count` elements of `size` bytes, valid while it is on the stack. */
void *array_scratch(lua_State *L, size_t count, size_t size);

/* Push x as a Lua integer if the element type is an integer type and x is an integer, else as a float. */
void array_push_number(lua_State *L, array_type type, double x);

/* Raise if the array can only be read. */
void array_check_writable(lua_State *L, const array *a);
/* Raise if the array has a level and its length is not that of the call in progress. */
void array_check_fits(lua_State *L, const rill_script *s, int32_t n, array_level level);
/* Raise unless x[0, n) are marks (ARRAY_U8) or widths (other types); `name` is what they are assigned to. */
void array_check_marks(lua_State *L, array_type type, const double *x, int32_t n, const char *name);

/* Add a function of arrays: `fn` as a closure over `number`, by which functions with several names distinguish them. The table `rill` is
 * on top of the stack. */
typedef enum array_place {
    ARRAY_METAMETHOD,
    ARRAY_METHOD,
    ARRAY_LIBRARY
} array_place; /* a + b, a:sum(), rill.max(a, b) */
void array_add_function(lua_State *L, array_place where, const char *name, lua_CFunction fn, int number);

/* If masks are watched: record that the running C function made the mask on top of the stack. Raises when out of
 * memory. */
void script_watch_mask(lua_State *L, rill_script *s);

/* --- array_arith.c: elements as blocks of doubles ------------------------------------------------------------------- */

enum {
    ARRAY_BLOCK = 256, /* elements of a block: three blocks of operands and one of results fit the first-level cache */
    ARRAY_PAD = 4,     /* so many elements beyond a block's end may be overwritten */
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

/* Check that the operands have compatible levels and lengths, and return the result's. Raises if they have not. */
shape operand_join(lua_State *L, operand *in, int count);

/* out[0, n) = elements [from, from + n). */
void array_widen(const array *a, int32_t from, int32_t n, double *out);

/* Elements [from, from + n) of the array = x[0, n). Integers are rounded down and saturated; masks get 1 where x is
 * not 0. */
void array_narrow(const array *to, int32_t from, int32_t n, const double *restrict x);

/* As array_doubles(), for an operand broadcast to n elements. */
const double *operand_doubles(lua_State *L, const rill_script *s, operand *o, int32_t n, double local[ARRAY_LOCAL]);

#endif
