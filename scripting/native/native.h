/* native.h: private header of rill.ffi.
 *
 * Ownership: libraries stay loaded until the script is destroyed, and are closed after its Lua state, so code is never
 * unmapped while Lua or an engine refers to it. Functions, callbacks and registered tables are userdata; those
 * referenced from C are anchored in the registry for the life of the script.
 *
 * Values are passed as native_value. libffi reads an argument at its own size, so native_read() fills the member of its
 * type. Results smaller than a register are widened to an ffi_arg, so native_push() reads `word` for these, and
 * native_store() writes it for callbacks. */
#ifndef RILL_SCRIPTING_NATIVE_H
#define RILL_SCRIPTING_NATIVE_H

#include <ffi.h>

#include "arrays/arrays.h"
#include "ffi.h"
#include "signature.h"

enum { NATIVE_NAME_MAX = 128, NATIVE_MAX_OBJECTS = 1000 };

typedef union native_value {
    ffi_arg word;
    ffi_sarg signed_word;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    float f32;
    double f64;
    const void *pointer;
} native_value;

typedef struct native_library {
    struct native_library *next;
    void *handle;
    size_t size; /* of this block */
    char path[]; /* as the script wrote it */
} native_library;

/* What rill_script.native points to. */
struct script_native {
    native_library *libraries;
    struct native_callback *latest; /* list of callbacks, newest first */
    /* Objects made so far. They live as long as the script, and libffi's closures are not counted by Lua's memory
     * limit. */
    int callbacks, tables;
    /* Status of a failed callback that was not reported yet: the bound function that called it raises it, or the
     * engine's chain fails the run. Until then callbacks return at once. */
    rill_status failed;
    char message[SCRIPT_MESSAGE_MAX];
};

/* A bound function; user value 1 is a table that anchors the fixed arguments' data. */
typedef struct native_function {
    void (*code)(void);
    signature signature;
    ffi_cif cif;
    ffi_type *types[SIGNATURE_MAX_ARGUMENTS];
    int n_open;                                  /* arguments of a call; the rest are fixed */
    native_value fixed[SIGNATURE_MAX_ARGUMENTS]; /* [open, signature.n) */
    const native_library *library;
    void *table; /* native_table that it was registered as; NULL: not yet */
    char name[NATIVE_NAME_MAX];
} native_function;

#define NATIVE_FUNCTION "rill.ffi.function"
#define NATIVE_LIBRARY "rill.ffi.library"

/* Element type of an array argument: both enumerations have the same order. */
static inline array_type native_elements(signature_type type)
{
    return (array_type)(type - SIGNATURE_DOUBLES);
}

/* --- native_value.c ----------------------------------------------------------------------------------------------- */

ffi_type *native_ffi_type(signature_type type);

/* Read the value at `index` as argument `argument` (from 1; 0: the result) of `function`, which messages name.
 * Pointers reach into the Lua value. Raises. */
void native_read(lua_State *L, int index, signature_type type, int constant, const char *function, int argument,
                 native_value *out);

/* Push a result; for void nothing. Returns the number of values. May raise when out of memory. */
int native_push(lua_State *L, signature_type type, const native_value *value);

/* Convert a callback's argument from libffi's memory. */
native_value native_load(signature_type type, const void *memory);
/* Store a callback's result in libffi's memory. */
void native_store(signature_type type, const native_value *value, void *result);

/* --- native.c ----------------------------------------------------------------------------------------------------- */

native_function *native_check_function(lua_State *L, int index);

/* Return and clear the failure recorded by a callback. RILL_OK if none. */
rill_status native_take_failure(rill_script *s);

/* Count one more object that lives as long as the script, or raise at the limit. */
void native_count_object(lua_State *L, int *n, const char *what);

/* --- native_callback.c -------------------------------------------------------------------------------------------- */

/* rill.ffi.callback(signature, function) */
int native_callback(lua_State *L);

/* Free all callbacks. */
void native_callbacks_free(rill_script *s);

/* Parse the signature at `index` or raise with the column. */
void native_signature(lua_State *L, int index, signature *out);

#endif
