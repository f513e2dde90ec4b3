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
    size_t size; /* bytes of this block */
    char path[]; /* the path as the script wrote it */
} native_library;

/* Libraries and callbacks of a script: rill_script.native. */
struct script_native {
    native_library *libraries;
    struct native_callback *latest; /* list of callbacks, newest first */
    /* Numbers of callbacks and registered functions made so far. They are limited, because these objects live as
     * long as the script, and Lua's memory limit does not count libffi's closures. */
    int callbacks, tables;
    /* The failure of a callback. The bound function that called the callback raises it, or the plugin's call fails the run. Until then all
     * callbacks return 0 at once. */
    script_late failed;
};

/* A bound C function; its user value 1 is a table that keeps the fixed arguments' data alive. */
typedef struct native_function {
    void (*code)(void);
    signature signature;
    ffi_cif cif;
    ffi_type *types[SIGNATURE_MAX_ARGUMENTS];
    int n_open;                                  /* number of arguments that a call passes; the later ones are fixed */
    native_value fixed[SIGNATURE_MAX_ARGUMENTS]; /* [n_open, signature.n) values of the fixed arguments */
    const native_library *library;
    void *table; /* native_table of the plugin as which this function is registered; NULL: it is not registered */
    char name[NATIVE_NAME_MAX];
} native_function;

#define NATIVE_FUNCTION "rill.ffi.function"
#define NATIVE_LIBRARY "rill.ffi.library"

/* Return the element type of an array argument. Both enumerations have the same order. */
static inline array_type native_elements(signature_type type)
{
    return (array_type)(type - SIGNATURE_DOUBLES);
}

/* --- native_value.c ----------------------------------------------------------------------------------------------- */

ffi_type *native_ffi_type(signature_type type);

/* Read the Lua value at `index` as argument number `argument` (from 1; 0: the result) of `function`, whose name
 * messages show. Pointers in *out point into the Lua value. Raises. */
void native_read(lua_State *L, int index, signature_type type, int constant, const char *function, int argument,
                 native_value *out);

/* Push a result; nothing for void. Returns the number of values pushed. May raise when out of memory. */
int native_push(lua_State *L, signature_type type, const native_value *value);

/* Return a value of an integer type. */
int64_t native_integer(signature_type type, const native_value *value);

/* --- native.c ----------------------------------------------------------------------------------------------------- */

native_function *native_check_function(lua_State *L, int index);

/* Add 1 to *n, a number of objects that live as long as the script. Raises at the limit; `what` is the plural for
 * the message. */
void native_count_object(lua_State *L, int *n, const char *what);

/* --- for the modules above ----------------------------------------------------------------------------------------- */

/* script_native_is() returns 1 if the value is a function that rill.ffi bound. script_native_register() registers
 * such a function as a plugin, once for each function, and stores the plugin's name. Raises Lua errors. */
int script_native_is(lua_State *L, int index);
void script_native_register(lua_State *L, int index, script_kind kind, char name[SCRIPT_NAME_MAX]);

/* script_open_ffi() adds rill.ffi or, without `unsafe`, a table that raises an error on access. script_native_free()
 * frees callbacks and unloads libraries. */
void script_open_ffi(lua_State *L);
void script_native_free(rill_script *s);

#endif
