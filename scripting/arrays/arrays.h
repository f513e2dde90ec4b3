/* arrays.h: arrays as used by the other modules of scripting/: views of engine memory, and arrays owned by the script. */
#ifndef RILL_SCRIPTING_ARRAYS_H
#define RILL_SCRIPTING_ARRAYS_H

#include "state/state.h"

typedef enum array_type { ARRAY_F64, ARRAY_F32, ARRAY_I32, ARRAY_I64, ARRAY_U8 } array_type;
typedef enum array_level {
    ARRAY_PLAIN, /* n values unrelated to items */
    ARRAY_ITEMS, /* one per item of the call */
    ARRAY_CELLS, /* one per candidate or row: segments of items */
} array_level;

/* What may be assigned to elements of an array. */
typedef enum array_writing {
    ARRAY_READ_ONLY,
    ARRAY_ANY,   /* any number in the type's range */
    ARRAY_MARKS, /* mask values only: script_array_check_marks() */
} array_writing;

/* Push an array over engine memory. Valid until script_end(). Needs a call in progress; for levels items and cells, n
 * must equal its items or cells, and data[0] must be the first element of the first segment. */
void script_array_push(lua_State *L, array_type type, const void *data, int32_t n, array_level level,
                       array_writing writable);

/* Push a zeroed array owned by the script, and return its n elements for filling; they live as long as the array. An
 * array of level items or cells belongs to the call in progress. */
void *script_array_make(lua_State *L, array_type type, int32_t n, array_level level);

/* Whether the value at `index` is an array, valid or not. Raises nothing. */
int script_array_is(lua_State *L, int index);

/* Data of the array at `index` if it has this type and is valid now, else a Lua error. *n: its length. */
void *script_array_data(lua_State *L, int index, array_type type, int writable, int32_t *n);

/* Write the value at `index` (a number, a boolean, an array) to all of `data`, broadcast by the call's segments.
 * Integers are rounded down and saturate, NaN is refused; masks get 0 or 1. */
void script_array_store(lua_State *L, int index, array_type type, void *data, int32_t n, array_level level);

/* Raise unless the value at `index` can be a mask (ARRAY_U8: 0 and 1) or widths (>= 0); NaN is invalid in both. `name`
 * is the assigned field, for the message. Other errors are left to script_array_store(). */
void script_array_check_marks(lua_State *L, int index, array_type type, int32_t n, array_level level, const char *name);

/* --- mask_watch.c ------------------------------------------------------------------------------------------------------ */

/* With watching on: record that the running C function made the mask on top of the stack. May raise an error when out
 * of memory. */
void script_watch_mask(lua_State *L, rill_script *s);
void script_watch_free(rill_script *s);

/* Adds rill.where, rill.max ... to the library. */
void script_open_arrays(lua_State *L);

#endif
