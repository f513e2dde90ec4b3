/* run_config.h: reading run configurations. Shared by the files of scripting/config, script_load.c and tests. */
#ifndef RILL_SCRIPTING_RUN_CONFIG_H
#define RILL_SCRIPTING_RUN_CONFIG_H

#include "rill/script_config.h"
#include "tables/tables.h"

/* Add rill.sweep to the table `rill`, and store the copies of Lua's library tables for the Lua code. */
void script_open_config(lua_State *L);

/* --- config_lua.c ------------------------------------------------------------------------------------------------- */

/* Call the function own.NAME with the `arguments` values on top of the stack. A mistake in the configuration is
 * recorded in the context: no results, and RILL_ERR_OPTION. A wrong call by the script, and every other error,
 * raises a Lua error. */
rill_status script_internal_call(lua_State *L, const char *name, int arguments, int results);

/* Record the message "FILE:LINE: KEY: sentence", with the line if it can be found. Returns RILL_ERR_OPTION. */
rill_status script_config_fail(rill_script *s, const char *key, const char *sentence);

/* Return the line of the Lua source that sets the key ("options.k", "heuristics[2]") of the returned table, or the
 * line of its nearest parent; 0: unknown. */
int script_config_line(rill_script *s, const char *text, size_t length, const char *key);

/* --- run_config.c ----------------------------------------------------------------------------------------------------- */

/* own.keys(): a list with three values for each configuration key: its name, the function in read.lua that reads it,
 * and the owner if the key is an option of outputs or of a domain, else false. */
int script_config_keys(lua_State *L);

/* own.option_rows(): a list of the same form with the options that are not settings, which "options" may hold. */
int script_config_option_rows(lua_State *L);

/* Push the value that the script returned; nil if it returned none. */
void script_config_result(lua_State *L);

/* Read a configuration with own.read(), whose arguments are the `arguments` values on top of the stack. *out: the
 * configuration; unchanged after a failure. Raises Lua errors. */
rill_status script_config_take(lua_State *L, int arguments, rill_script_config **out);

/* From four values on the stack: read the configuration with the parameters of a sweep point applied, and then edited
 * by a function unless that is nil; the parameters are recorded in the order of the names, or sorted if that is nil.
 * *out: unchanged after a failure, else the former one is freed. Raises Lua errors. */
rill_status script_point_take(lua_State *L, rill_script_config **out);

#endif
