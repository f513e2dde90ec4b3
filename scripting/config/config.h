/* Reading configurations: what config.c, config_blame.c, config_memory.c, config_place.c, config_tune.c and sweep.c share. */
#ifndef RILL_SCRIPTING_CONFIG_H
#define RILL_SCRIPTING_CONFIG_H

#include "rill/script_config.h"
#include "tables/tables.h"

/* The room's part: rill.sweep. */
void script_open_config(lua_State *L);

/* --- entry.c: values that name a heuristic, a scorer, a policy or a domain --------------------------------------------- */

enum { SCRIPT_ARGUMENTS_MAX = 1024 };

typedef struct script_entry {
    char name[SCRIPT_NAME_MAX];
    char arguments[SCRIPT_ARGUMENTS_MAX];
} script_entry;

/* Read the value at `index`: "name", "name:arguments", {"name", arguments...}, a declared object, {object, arguments...}, a Lua
 * function, a bound native function. Registers what has no name yet. Raises Lua errors. */
void script_entry_read(lua_State *L, int index, script_kind kind, script_entry *out);

/* --- config_memory.c: a configuration and the texts in it ------------------------------------------------------------ */

rill_script_config *script_config_new(rill_script *s); /* NULL: out of memory, recorded */

/* Zeroed memory that lives as long as the configuration; NULL: out of memory, recorded. */
void *script_config_alloc(rill_script_config *config, size_t count, size_t size);
const char *script_config_copy(rill_script_config *config, const char *text, size_t length);

/* A copy of the string, number or boolean at `index` as a command line would have it: 10.0 is "10"; *out is NULL for other types
 * and for numbers that are not finite. */
rill_status script_config_scalar(lua_State *L, int index, rill_script_config *config, const char **out);

/* --- config_place.c: where something stands -------------------------------------------------------------------------- */

/* The line of Lua source text in which the key at `path` ("search.k", "heuristics[2]") of the returned table is given; the
 * nearest thing to it that can be found: an outer key, the return; 0 for nothing. A guess: the text is scanned, not run. */
int script_config_line(const char *text, size_t length, const char *path);

/* Record "FILE:LINE: PATH: sentence"; the line where it can be told. */
rill_status script_config_fail(rill_script *s, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- config.c ----------------------------------------------------------------------------------------------------- */

/* Read the table at `index` into a new configuration; *out is set at once, so that it is not lost when Lua raises an error. */
rill_status script_config_table(lua_State *L, int index, rill_script *s, rill_script_config **out);

/* May the setting `name`, as it is written in Lua, have the value on top? A message names `path`. */
rill_status script_config_check_setting(lua_State *L, rill_script *s, rill_script_config *config, const char *path,
                                        const char *name);

/* "max-items" as it is written in Lua. */
const char *script_lua_name(const char *name, char out[SCRIPT_NAME_MAX]);
/* The setting of a name in either spelling; NULL: there is none. */
const rill_setting_info *script_find_setting(const char *name);

/* Run fn, which gets a script_reading as its one argument, protected. *out: the configuration, NULL after a failure. */
typedef struct script_reading {
    rill_script *script;
    int64_t index; /* of the point that is read */
    rill_script_config *config;
    rill_status status;
} script_reading;
rill_status script_config_protect(rill_script *script, lua_CFunction fn, int64_t index, rill_script_config **out);

/* Add the keys of a configuration and of its table `search` to rill.names. */
void script_config_names(lua_State *L);

/* Read what the script returned in the same way. */
rill_status script_config_result(lua_State *L, rill_script *s, rill_script_config **out);

/* --- sweep.c ------------------------------------------------------------------------------------------------------ */

int script_sweep_is(lua_State *L, int index);
/* Fill the sweep of a configuration from the object at `index`. */
rill_status script_sweep_read(lua_State *L, int index, rill_script_config *config);

/* Read the table at `config` with the parameters of the table at `point` applied and then, where `edit` is not 0, the function
 * there called with both. `names`: a list of the parameters in the order in which to note them; 0: by name. *out as in
 * script_config_table(), in place of what it was, which is freed. Raises Lua errors. */
rill_status script_point_read(lua_State *L, int config, int point, int edit, int names, rill_script_config **out);

#endif
