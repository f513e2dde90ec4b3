/* Arrays, as the rooms above see them: views over the engine's memory, and arrays of the script's own. */
#ifndef RILL_SCRIPTING_ARRAYS_H
#define RILL_SCRIPTING_ARRAYS_H

#include "state/state.h"

typedef enum array_type { ARRAY_F64, ARRAY_F32, ARRAY_I32, ARRAY_I64, ARRAY_U8 } array_type;
typedef enum array_level {
    ARRAY_PLAIN, /* n values that belong to nothing */
    ARRAY_ITEMS, /* one per item of the call */
    ARRAY_CELLS, /* one per candidate or row: segments of items */
} array_level;

/* What assignments to elements of an array do. */
typedef enum array_writing {
    ARRAY_READ_ONLY,
    ARRAY_ANY,   /* take any number that the type has */
    ARRAY_MARKS, /* take marks alone: script_array_check_marks() */
} array_writing;

/* Push an array over memory of the engine. Valid until script_end(). Needs a call in progress,
 * n == its items or cells for these levels, and data[0] to be the first of the first segment. */
void script_array_push(lua_State *L, array_type type, const void *data, int32_t n, array_level level,
                       array_writing writable);

/* Push an array of the script's own, of zeros, and return its n elements, to be filled: they live as long as the array is
 * referred to. Of level items or cells it belongs to the call in progress. */
void *script_array_make(lua_State *L, array_type type, int32_t n, array_level level);

/* Whether the value at `index` is an array, valid or not. Raises nothing. */
int script_array_is(lua_State *L, int index);

/* The data of the array at `index` if it has this type and may be used now, else a Lua error. *n: its length. */
void *script_array_data(lua_State *L, int index, array_type type, int writable, int32_t *n);

/* Write what is at `index` (a number, a boolean, an array) to all of `data`, with broadcasting by the call's segments. Integers
 * are rounded down and saturate, NaN is refused; masks get 0 or 1. */
void script_array_store(lua_State *L, int index, array_type type, void *data, int32_t n, array_level level);

/* Raise if what is at `index` is no mark: in a mask (ARRAY_U8) something but 0 and 1, among widths something below 0; NaN in both.
 * `name` says what was to be assigned to. What is no number or does not fit is left to script_array_store(). */
void script_array_check_marks(lua_State *L, int index, array_type type, int32_t n, array_level level, const char *name);

/* --- mask_watch.c ------------------------------------------------------------------------------------------------------ */

/* Of a script that is watched: the mask on top of the stack was made by the running function of C. May raise an error of memory. */
void script_watch_mask(lua_State *L, rill_script *s);
void script_watch_free(rill_script *s);

/* The room's part: rill.where, rill.max ... */
void script_open_arrays(lua_State *L);

#endif
