/* rill.ffi: functions of shared objects.
 *
 * Libraries are closed after the Lua state, which may refer to their code. The registry keeps functions and plugins that C refers to.
 *
 * Values are native_value. libffi reads an argument with its type's size, but writes a small result as a whole register. So integers are
 * stored in i64, and native_integer() uses the type's low bytes. Requires a little-endian machine. */
#pragma once

#include <ffi.h>

#include "signature.h"
#include "tables/tables.h"

enum { NATIVE_NAME_MAX = 128, NATIVE_MAX_OBJECTS = 1000 };

typedef union native_value {
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
    const void *pointer;
} native_value;

typedef struct native_library {
    struct native_library *next;
    void *handle;
    size_t size; /* size of this block in bytes */
    char path[]; /* the path as the script wrote it */
} native_library;

/* Libraries and callbacks of a script: rill_script.native. */
struct script_native {
    native_library *libraries;
    /* the latest callback made, the head of a list in which each callback links to the previous one */
    struct native_callback *latest;
    /* callbacks and registered functions so far; limited, since they live as long as the script, outside its memory limit */
    int callbacks, tables;
    /* a callback's failure, raised when the native function that called it returns; until then all callbacks return 0 */
    script_late failed;
};

/* A C function that a script has bound. Lua user value 1 is a table that keeps the data of fixed arguments alive. */
typedef struct native_function {
    void (*code)(void);
    signature signature;
    ffi_cif cif;
    ffi_type *types[SIGNATURE_MAX_ARGUMENTS];
    /* number of arguments that a call passes; the arguments after these are fixed */
    int n_open;
    /* values of the fixed arguments, at the indexes [n_open, signature.n) */
    native_value fixed[SIGNATURE_MAX_ARGUMENTS];
    const native_library *library;
    void *table; /* the native_table of the plugin as which this function is registered; NULL: it is not registered */
    char name[NATIVE_NAME_MAX];
} native_function;

#define NATIVE_FUNCTION "rill.ffi.function"
#define NATIVE_LIBRARY "rill.ffi.library"

/* Return the element type of an array argument. Works because array_type and signature_type list the element types in the same order. */
static inline array_type native_elements(signature_type type)
{
    return (array_type)(type - SIGNATURE_DOUBLES);
}

/* --- defined in native_value.c ------------------------------------------------------------------------------------ */

ffi_type *native_ffi_type(signature_type type);

/* Read the Lua value at `index` as an argument of a native function; raises if it does not fit. Pointers in *out point into the value.
 *   argument: number from 1, or 0 for a result; function: its name; both for messages */
void native_read(lua_State *L, int index, signature_type type, int constant, const char *function, int argument,
                 native_value *out);

/* Push the result of a native function; void pushes nothing. Returns the number of values pushed. May raise when out of memory. */
int native_push(lua_State *L, signature_type type, const native_value *value);

/* Return a value of any integer type as an int64_t. */
int64_t native_integer(signature_type type, const native_value *value);

/* --- defined in native.c ------------------------------------------------------------------------------------------ */

native_function *native_check_function(lua_State *L, int index);

/* Add 1 to *n, a number of objects that live as long as the script. Raises if too many. what: plural noun for the message. */
void native_count_object(lua_State *L, int *n, const char *what);

/* --- functions for other modules ----------------------------------------------------------------------------------- */

/* script_native_is(): 1 for a C function bound by rill.ffi, else 0. script_native_register(): register it as a plugin, once, and write its
 * name. Raises. */
int script_native_is(lua_State *L, int index);
void script_native_register(lua_State *L, int index, script_kind kind, char name[SCRIPT_NAME_MAX]);

/* script_open_ffi() adds rill.ffi or, without `unsafe`, a table that raises an error on access. script_native_free()
 * frees callbacks and unloads libraries. */
void script_open_ffi(lua_State *L);
void script_native_free(rill_script *s);
