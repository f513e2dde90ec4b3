/* arrays.h: arrays as used by the other modules of scripting/: views of engine memory, and arrays owned by the script. */
#ifndef RILL_SCRIPTING_ARRAYS_H
#define RILL_SCRIPTING_ARRAYS_H

#include "state/state.h"

typedef enum array_type { ARRAY_F64, ARRAY_F32, ARRAY_I32, ARRAY_I64, ARRAY_U8 } array_type;
typedef enum array_level {
    ARRAY_PLAIN, /* n values that belong to no items */
    ARRAY_ITEMS, /* one value per item of the call */
    ARRAY_CELLS, /* one value per candidate or row; those of an item form a segment */
} array_level;

/* What may be assigned to elements of an array. */
typedef enum array_writing {
    ARRAY_READ_ONLY,
    ARRAY_ANY,   /* any number in the type's range */
    ARRAY_MARKS, /* mask values only: script_array_check_marks() */
} array_writing;

/* Push an array over engine memory, which is valid until script_end(). An engine call must be in progress. For the
 * levels items and cells, n must equal the call's number of items or cells, and data[0] must be the first element of
 * the first segment. */
void script_array_push(lua_State *L, array_type type, const void *data, int32_t n, array_level level,
                       array_writing writable);

/* Push a zeroed array owned by the script. Returns its n elements, to be filled by the caller; they live as long as
 * the array. An array of items or cells is valid only during the call in progress. */
void *script_array_make(lua_State *L, array_type type, int32_t n, array_level level);

/* Return 1 if the value at `index` is an array, even one of another call. Raises nothing. */
int script_array_is(lua_State *L, int index);

/* Return the elements of the array at `index`. *n: their number. Raises if it has another type, is not valid now or,
 * with `writable`, can only be read. */
void *script_array_data(lua_State *L, int index, array_type type, int writable, int32_t *n);

/* Assign the value at `index` (a number, a boolean or an array) to data[0, n), broadcast by the call's segments.
 * Integers are rounded down and saturate; masks get 0 or 1. Raises if NaN would be stored as an integer. */
void script_array_store(lua_State *L, int index, array_type type, void *data, int32_t n, array_level level);

/* Raise unless the value at `index` can be assigned to a mask (ARRAY_U8: 0 and 1) or to widths (other types: >= 0).
 * NaN is invalid for both. `name` is the assigned field, for the message. Other errors are left to
 * script_array_store(). */
void script_array_check_marks(lua_State *L, int index, array_type type, int32_t n, array_level level, const char *name);

/* --- mask_watch.c ------------------------------------------------------------------------------------------------------ */

/* If masks are watched: record that the running C function made the mask on top of the stack. Raises when out of
 * memory. */
void script_watch_mask(lua_State *L, rill_script *s);
void script_watch_free(rill_script *s);

/* Add the functions of arrays (rill.array, rill.where, rill.max ...) to the table `rill`. */
void script_open_arrays(lua_State *L);

#endif
