/* ffi.h: rill.ffi, functions of shared objects, as used by the other modules of scripting/. */
#ifndef RILL_SCRIPTING_FFI_H
#define RILL_SCRIPTING_FFI_H

#include "tables/tables.h"

/* Whether the value is a function that rill.ffi bound, and its registration, once per value. Raises Lua errors. */
int script_native_is(lua_State *L, int index);
void script_native_register(lua_State *L, int index, script_kind kind, char name[SCRIPT_NAME_MAX]);

/* Adds rill.ffi, or without `unsafe` a table that refuses access; and frees callbacks and unloads libraries. */
void script_open_ffi(lua_State *L);
void script_native_free(rill_script *s);

#endif
