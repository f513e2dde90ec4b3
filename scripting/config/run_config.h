/* run_config.h: reading run configurations. Shared by the files of scripting/config, script_load.c and tests. */
#pragma once

#include "rill/script_config.h"
#include "tables/tables.h"

void script_open_config(lua_State *L);

/* --- defined in config_lua.c -------------------------------------------------------------------------------------- */

/* Add rill.sweep to the table `rill`. For the Lua code of this folder, store copies of Lua's library tables, and the table `own` of C
 * functions. `more`: further functions of `own`. */
void script_open_config_lua(lua_State *L, const luaL_Reg *more);

/* Call own.NAME with the topmost `arguments` values. A mistake in the configuration is recorded, and RILL_ERR_OPTION returned without
 * results. Other errors raise. */
rill_status script_internal_call(lua_State *L, const char *name, int arguments, int results);

/* Return the source line that sets a key ("options.k", "heuristics[2]") of the returned table, else the line of the nearest
 * enclosing key; 0 if unknown. */
int script_config_line(rill_script *s, const char *text, size_t length, const char *key);
