/* run_config.h: reading run configurations. Shared by the files of scripting/config, script_load.c and tests. */
#ifndef RILL_SCRIPTING_RUN_CONFIG_H
#define RILL_SCRIPTING_RUN_CONFIG_H

#include "rill/script_config.h"
#include "tables/tables.h"

/* Add rill.sweep to the table `rill`, and store the copies of Lua's library tables for the Lua code. script_open_config() comes after. */
void script_open_config_lua(lua_State *L);
void script_open_config(lua_State *L); /* run_config.c */

/* --- config_lua.c ------------------------------------------------------------------------------------------------- */

/* Add C functions to the table `own`, which the Lua code gets. */
void script_config_lua_add(lua_State *L, const luaL_Reg *functions);

/* Call the function own.NAME with the `arguments` values on top of the stack. A mistake in the configuration is
 * recorded in the context: no results, and RILL_ERR_OPTION. A wrong call by the script, and every other error,
 * raises a Lua error. */
rill_status script_internal_call(lua_State *L, const char *name, int arguments, int results);

/* Record the message "FILE:LINE: KEY: sentence", with the line if it can be found. Returns RILL_ERR_OPTION. */
rill_status script_config_fail(rill_script *s, const char *key, const char *sentence);

/* Return the line of the Lua source that sets the key ("options.k", "heuristics[2]") of the returned table, or the
 * line of its nearest parent; 0: unknown. */
int script_config_line(rill_script *s, const char *text, size_t length, const char *key);

/* --- script_load.c ------------------------------------------------------------------------------------------------ */

/* Create a script with all modules of scripting/ open, without running a file. */
rill_status script_create(rill_script **out, rill_context *ctx, const char *path, const rill_script_options *options);

#endif
