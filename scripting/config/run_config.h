/* run_config.h: reading run configurations. Shared by the files of scripting/config, script_load.c and tests. */
#ifndef RILL_SCRIPTING_RUN_CONFIG_H
#define RILL_SCRIPTING_RUN_CONFIG_H

#include "rill/script_config.h"
#include "tables/tables.h"

/* Adds rill.sweep and the Lua code. */
void script_open_config(lua_State *L);

/* --- config_lua.c: the Lua code and its helpers
 * ------------------------------------------------------------------------- */

/* Call own.NAME with the `arguments` values on top of the stack. An error in the configuration is recorded, without
 * results: RILL_ERR_OPTION. A misuse by the script, and every other error, raises a Lua error. */
rill_status script_internal_call(lua_State *L, const char *name, int arguments, int results);

/* Record "FILE:LINE: KEY: sentence", with the line if known. */
rill_status script_config_fail(rill_script *s, const char *key, const char *sentence);

/* Line of the Lua source that sets the key ("options.k", "heuristics[2]") of the returned table, or its nearest parent;
 * 0: unknown. */
int script_config_line(rill_script *s, const char *text, size_t length, const char *key);

/* --- run_config.c ----------------------------------------------------------------------------------------------------- */

/* own.keys(): for each configuration key its name, its section, and whether it is an option of outputs or of a domain,
 * in one list. */
int script_config_keys(lua_State *L);

/* option_rows(): the same for options that are no settings, which "options" may hold. */
int script_config_option_rows(lua_State *L);

/* Push what the script returned. */
void script_config_result(lua_State *L);

/* Read the `arguments` values on top of the stack as own.read() does. *out: as before after a failure. Raises Lua errors. */
rill_status script_config_take(lua_State *L, int arguments, rill_script_config **out);

/* From four values on the stack: read the configuration with the parameters of a sweep point applied, and then edited
 * by a function unless that is nil; the parameters are recorded in the order of the names, or sorted if that is nil.
 * *out: unchanged after a failure, else the former one is freed. Raises Lua errors. */
rill_status script_point_take(lua_State *L, rill_script_config **out);

#endif
