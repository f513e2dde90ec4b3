/* native.h: rill.ffi, functions of shared objects.
 *
 * Ownership: libraries stay loaded until the script is destroyed, and are closed after its Lua state, so code is never
 * unmapped while Lua or an engine refers to it. Functions and registered plugins are userdata; the registry keeps those
 * that C refers to until the script ends.
 *
 * Values are passed as native_value. libffi reads an argument with the size of its type, and writes results smaller than a register as
 * a whole register. rill supports only little-endian machines, on which an integer's low bytes come first, whatever its size. So all
 * integers are stored in the member i64, and native_integer() uses only as many bytes as the type has. */
#ifndef RILL_SCRIPTING_NATIVE_H
#define RILL_SCRIPTING_NATIVE_H

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
    /* Numbers of callbacks and of registered functions made so far. Both are limited: these objects live as long as the script, and Lua's
     * memory limit does not count libffi's closures. */
    int callbacks, tables;
    /* A failure in a callback, which cannot be returned through native code. It is raised when the native function that called the callback
     * returns; if the engine called that function as a plugin, it fails the run. Until then all callbacks return 0 at once. */
    script_late failed;
};

/* A C function that a script has bound. Its Lua user value 1 is a table that keeps the data of fixed arguments alive. */
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

/* --- native_value.c ----------------------------------------------------------------------------------------------- */

ffi_type *native_ffi_type(signature_type type);

/* Read the Lua value at `index` as an argument of a native function. `argument`: its number, from 1; 0: the value is a result. `function`:
 * the function's name for messages. Pointers in *out point into the Lua value. Raises if the value does not fit the type. */
void native_read(lua_State *L, int index, signature_type type, int constant, const char *function, int argument,
                 native_value *out);

/* Push the result of a native function; void pushes nothing. Returns the number of values pushed. May raise when out of memory. */
int native_push(lua_State *L, signature_type type, const native_value *value);

/* Return a value of any integer type as an int64_t. */
int64_t native_integer(signature_type type, const native_value *value);

/* --- native.c ----------------------------------------------------------------------------------------------------- */

native_function *native_check_function(lua_State *L, int index);

/* Add 1 to *n, the number of objects of a kind that live as long as the script. Raises if there are too many; `what` is the plural of the
 * kind, for the message. */
void native_count_object(lua_State *L, int *n, const char *what);

/* --- for the modules above ----------------------------------------------------------------------------------------- */

/* script_native_is() returns 1 if the value is a C function that rill.ffi bound, else 0. script_native_register() registers such a function
 * as a plugin, unless it already is one, and stores the plugin's name. Raises Lua errors. */
int script_native_is(lua_State *L, int index);
void script_native_register(lua_State *L, int index, script_kind kind, char name[SCRIPT_NAME_MAX]);

/* script_open_ffi() adds rill.ffi or, without `unsafe`, a table that raises an error on access. script_native_free()
 * frees callbacks and unloads libraries. */
void script_open_ffi(lua_State *L);
void script_native_free(rill_script *s);

#endif
