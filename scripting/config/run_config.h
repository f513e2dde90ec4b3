/* Reading configurations: what the files of this room share, and script_load.c and tests see. */
#ifndef RILL_SCRIPTING_RUN_CONFIG_H
#define RILL_SCRIPTING_RUN_CONFIG_H

#include "rill/script_config.h"
#include "tables/tables.h"

/* The room's part: rill.sweep, and the code in Lua. */
void script_open_config(lua_State *L);

/* --- config_lua.c: the code in Lua and what it stands on --------------------------------------------------------------------- */

/* Call own.NAME with the `arguments` values on top of the stack. A mistake that it finds in the configuration is recorded, with no
 * results: RILL_ERR_OPTION. One in the call of a script's raises a Lua error, as everything else does. */
rill_status script_internal_call(lua_State *L, const char *name, int arguments, int results);

/* Record "FILE:LINE: KEY: sentence"; the line where it can be told. */
rill_status script_config_fail(rill_script *s, const char *key, const char *sentence);

/* The line of Lua source text in which the key ("options.k", "heuristics[2]") of the returned table is given, or the nearest thing to
 * it; 0: none. */
int script_config_line(rill_script *s, const char *text, size_t length, const char *key);

/* --- run_config.c ----------------------------------------------------------------------------------------------------- */

/* own.keys(): for each key of a configuration its name, that of what reads it, and whether it is an option of outputs or of a domain,
 * in one list. */
int script_config_keys(lua_State *L);

/* Push what the script returned. */
void script_config_result(lua_State *L);

/* Read the `arguments` values on top of the stack as own.read() does. *out: as before after a failure. Raises Lua errors. */
rill_status script_config_take(lua_State *L, int arguments, rill_script_config **out);

/* Of the four values on the stack: read the configuration with the parameters of the point applied, and then edited by the function if
 * that is not nil; the parameters are noted in the order of the names, by name if that is nil. *out: as before after a failure,
 * else the former is freed. Raises Lua errors. */
rill_status script_point_take(lua_State *L, rill_script_config **out);

#endif
