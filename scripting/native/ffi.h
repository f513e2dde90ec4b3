/* ffi.h: rill.ffi, functions of shared objects, as used by the other modules of scripting/. */
#ifndef RILL_SCRIPTING_FFI_H
#define RILL_SCRIPTING_FFI_H

#include "tables/tables.h"

/* script_native_is() returns 1 if the value is a function that rill.ffi bound. script_native_register() registers
 * such a function as a plugin, once for each function, and stores the plugin's name. Raises Lua errors. */
int script_native_is(lua_State *L, int index);
void script_native_register(lua_State *L, int index, script_kind kind, char name[SCRIPT_NAME_MAX]);

/* script_open_ffi() adds rill.ffi or, without `unsafe`, a table that raises an error on access. script_native_free()
 * frees callbacks and unloads libraries. */
void script_open_ffi(lua_State *L);
void script_native_free(rill_script *s);

#endif
