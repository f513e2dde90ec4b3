/* Grids of parameters: rill.sweep{ delta = {0.5, 1.5}, M = {3, 5} }, and what a point of one makes of a configuration.
 *
 * A grid is checked once, where it is written: it is a userdata, which scripts cannot change, around a Lua table
 * {names = {...}, values = {{...}, ...}, edit = function or nil}. A point is a table of names and values. Applying one changes
 * a copy of the script's own table, which is then read like any configuration: there is one way to say what a run is. */
#include <stdio.h>
#include <string.h>

#include "config.h"

#define GRID "rill.sweep"

enum { AXES_MAX = 16, POINTS_MAX = 1000000, COPY_DEPTH = 3 };

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Names that are no setting's: those of heuristics' arguments, and a short one. */
static const char *const of_heuristics[][2] = {
    {"delta", "absolute"}, {"absolute", "absolute"}, {"relative", "relative"}, {"relative_local", "relative_local"}};
enum { OF_HEURISTICS = sizeof of_heuristics / sizeof *of_heuristics };
static const char short_name[] = "M", short_for[] = "max_candidates";

/* The heuristic whose argument a parameter sets, or NULL. */
static const char *heuristic_of(const char *name)
{
    for (size_t i = 0; i < OF_HEURISTICS; i++)
        if (strcmp(name, of_heuristics[i][0]) == 0) return of_heuristics[i][1];
    return NULL;
}

/* The setting that a parameter sets, as it is written in Lua, or NULL. */
static const char *setting_of(const char *name, char out[SCRIPT_NAME_MAX])
{
    const rill_setting_info *s = script_find_setting(strcmp(name, short_name) == 0 ? short_for : name);
    return s != NULL ? script_lua_name(s->name, out) : NULL;
}

static void check_name(lua_State *L, const char *name, const char *call)
{
    char out[SCRIPT_NAME_MAX];
    const char *names[64];
    size_t n = 0;
    if (heuristic_of(name) != NULL || setting_of(name, out) != NULL) return;
    names[n++] = "delta";
    names[n++] = "relative_local";
    for (const rill_setting_info *s = rill_setting_table(); s->name != NULL && n < 64; s++) names[n++] = s->name;
    const char *near = rill_nearest(name, names, n);
    luaL_error(L,
               "%s: nothing is called \"%s\"%s%s%s; a parameter of your own needs a function that applies it: "
               "%s({ %s = ... }, function(config, point) ... end)",
               call, name, near != NULL ? "; did you mean \"" : "", near != NULL ? near : "", near != NULL ? "\"?" : "",
               call, name);
}

/* --- rill.sweep --------------------------------------------------------------------------------------------------- */

static int is_scalar(lua_State *L, int index)
{
    int type = lua_type(L, index);
    return type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TBOOLEAN;
}

/* Push a copy of the list of values at `index`; `name` is what they are for. */
static void push_values(lua_State *L, int index, const char *name)
{
    lua_Integer n = lua_istable(L, index) ? (lua_Integer)lua_rawlen(L, index) : 0;
    index = lua_absindex(L, index);
    if (n == 0) luaL_error(L, "rill.sweep: %s: a list of values was expected, such as {1, 2, 3}", name);
    lua_createtable(L, (int)n, 0);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, index, i);
        if (!is_scalar(L, -1))
            luaL_error(L, "rill.sweep: %s[%d]: a number, a string, true or false was expected, not %s", name, (int)i,
                       luaL_typename(L, -1));
        lua_rawseti(L, -2, i);
    }
}

/* Append the name at `name` with the values at `values` to the grid's two lists. */
static void append_axis(lua_State *L, int names, int values, int name, int list, int free)
{
    const char *text = lua_tostring(L, name);
    lua_Integer n = (lua_Integer)lua_rawlen(L, names);
    if (n == AXES_MAX) luaL_error(L, "rill.sweep: more than %d parameters", AXES_MAX);
    if (!free) check_name(L, text, "rill.sweep");
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, names, i);
        if (lua_rawequal(L, -1, name)) luaL_error(L, "rill.sweep: \"%s\" stands twice in the grid", text);
        lua_pop(L, 1);
    }
    lua_pushvalue(L, name);
    lua_rawseti(L, names, n + 1);
    push_values(L, list, text);
    lua_rawseti(L, values, n + 1);
}

/* The list form keeps its order: { {"delta", {...}}, {"M", {...}} }. */
static void read_pairs(lua_State *L, int grid, int names, int values, int free)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, grid);
    for (lua_Integer i = 1; i <= n; i++) {
        int pair = lua_gettop(L) + 1;
        lua_rawgeti(L, grid, i);
        if (!lua_istable(L, pair) || lua_rawgeti(L, pair, 1) != LUA_TSTRING)
            luaL_error(L, "rill.sweep: a grid is { name = {values} } or a list of pairs { {\"name\", {values}} }");
        lua_rawgeti(L, pair, 2);
        append_axis(L, names, values, pair + 1, pair + 2, free);
        lua_settop(L, pair - 1);
    }
}

/* Tables have no order of their own: by name. */
static void read_named(lua_State *L, int grid, int names, int values, int free)
{
    int order = lua_gettop(L) + 1;
    lua_Integer n = 0;
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, grid) != 0; lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            luaL_error(L, "rill.sweep: a grid is { name = {values} } or a list of pairs { {\"name\", {values}} }");
        lua_Integer at = ++n;
        for (; at > 1; at--) { /* insertion: grids are short */
            lua_rawgeti(L, order, at - 1);
            int before = strcmp(lua_tostring(L, -1), lua_tostring(L, -3)) < 0;
            if (before)
                lua_pop(L, 1);
            else
                lua_rawseti(L, order, at);
            if (before) break;
        }
        lua_pushvalue(L, -2);
        lua_rawseti(L, order, at);
    }
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, order, i);
        lua_pushvalue(L, -1);
        lua_rawget(L, grid);
        append_axis(L, names, values, order + 1, order + 2, free);
        lua_settop(L, order);
    }
    lua_settop(L, order - 1);
}

static void check_size(lua_State *L, int values)
{
    lua_Integer points = 1, n = (lua_Integer)lua_rawlen(L, values);
    if (n == 0) luaL_error(L, "rill.sweep: the grid is empty; name a parameter: rill.sweep{ delta = {0.5, 1.5} }");
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, values, i);
        points *= (lua_Integer)lua_rawlen(L, -1);
        lua_pop(L, 1);
        if (points > POINTS_MAX) luaL_error(L, "rill.sweep: more than %d points", POINTS_MAX);
    }
}

static int make_sweep(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    lua_newtable(L); /* 3: what the grid holds, 4: its names, 5: its values */
    lua_newtable(L);
    lua_newtable(L);
    if (lua_rawlen(L, 1) > 0)
        read_pairs(L, 1, 4, 5, lua_isfunction(L, 2));
    else
        read_named(L, 1, 4, 5, lua_isfunction(L, 2));
    check_size(L, 5);
    lua_setfield(L, 3, "values");
    lua_setfield(L, 3, "names");
    lua_pushvalue(L, 2);
    lua_setfield(L, 3, "edit");
    lua_newuserdatauv(L, 1, 1);
    lua_pushvalue(L, 3);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, GRID);
    return 1;
}

void script_open_config(lua_State *L)
{
    luaL_newmetatable(L, GRID);
    lua_pushliteral(L, "a sweep");
    lua_setfield(L, -2, "__metatable"); /* scripts cannot take it for tables of their own */
    lua_pop(L, 1);
    script_name_add(L, "sweep", short_name);
    for (size_t i = 0; i < OF_HEURISTICS; i++) script_name_add(L, "sweep", of_heuristics[i][0]);
    script_config_names(L);
    lua_pushcfunction(L, make_sweep);
    lua_setfield(L, -2, "sweep");
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

int script_sweep_is(lua_State *L, int index)
{
    return luaL_testudata(L, index, GRID) != NULL;
}

/* A value that a setting can never have is refused before anything is decoded, wherever in the grid it stands; a
 * function may make something else of it. */
static rill_status read_axis(lua_State *L, int values, int has_edit, rill_script_config *config, rill_script_axis *axis)
{
    size_t length;
    const char *name = lua_tolstring(L, -1, &length);
    int32_t n = (int32_t)lua_rawlen(L, values);
    const char **list = script_config_alloc(config, (size_t)n, sizeof *list);
    axis->name = script_config_copy(config, name, length);
    if (list == NULL || axis->name == NULL) return RILL_ERR_MEMORY;
    char spelt[SCRIPT_NAME_MAX], path[2 * SCRIPT_NAME_MAX];
    const char *setting = has_edit ? NULL : setting_of(axis->name, spelt);
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < n && status == RILL_OK; i++) {
        lua_rawgeti(L, values, i + 1);
        status = script_config_scalar(L, -1, config, &list[i]);
        if (list[i] == NULL) list[i] = "not finite"; /* whatever it is for will say so */
        snprintf(path, sizeof path, "sweep.%s[%d]", axis->name, (int)i + 1);
        if (status == RILL_OK && setting != NULL)
            status = script_config_check_setting(L, script_of(L), config, path, setting);
        lua_pop(L, 1);
    }
    axis->value = list;
    axis->n = n;
    return status;
}

rill_status script_sweep_read(lua_State *L, int index, rill_script_config *config)
{
    lua_getiuservalue(L, index, 1);
    int grid = lua_gettop(L), names = grid + 1, values = grid + 2;
    lua_getfield(L, grid, "names");
    lua_getfield(L, grid, "values");
    int has_edit = lua_getfield(L, grid, "edit") == LUA_TFUNCTION;
    lua_settop(L, values);
    int32_t n = (int32_t)lua_rawlen(L, names);
    rill_script_axis *axes = script_config_alloc(config, (size_t)n, sizeof *axes);
    rill_status status = axes == NULL ? RILL_ERR_MEMORY : RILL_OK;
    int64_t points = 1;
    for (int32_t i = 0; i < n && status == RILL_OK; i++) {
        lua_rawgeti(L, values, i + 1);
        lua_rawgeti(L, names, i + 1);
        status = read_axis(L, values + 1, has_edit, config, &axes[i]);
        points *= axes[i].n;
        lua_settop(L, values);
    }
    lua_settop(L, grid - 1);
    if (status < 0) return status;
    config->sweep = axes;
    config->n_sweep = n;
    config->sweep_points = points;
    return RILL_OK;
}

/* --- points ------------------------------------------------------------------------------------------------------- */

/* Push a copy of the value at `index`: of a table, and of the tables in it. What a script has declared is no table. */
static void push_copy(lua_State *L, int index, int depth)
{
    index = lua_absindex(L, index);
    if (depth == 0 || !lua_istable(L, index)) {
        lua_pushvalue(L, index);
        return;
    }
    luaL_checkstack(L, 6, "a configuration");
    lua_newtable(L);
    int copy = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        push_copy(L, -2, depth - 1);
        lua_rawset(L, copy);
    }
}

/* Push the table config[name], made if it is not there; 0 if something else is. */
static int push_part(lua_State *L, int config, const char *name)
{
    int type = lua_getfield(L, config, name);
    if (type == LUA_TTABLE) return 1;
    if (type != LUA_TNIL) {
        lua_pop(L, 1); /* reading the configuration will refuse it */
        return 0;
    }
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, config, name);
    return 1;
}

/* Does the entry on top name this heuristic: "absolute", "absolute:10", {"absolute", 10}? */
static int names_heuristic(lua_State *L, const char *name)
{
    int top = lua_gettop(L);
    if (lua_istable(L, -1)) lua_rawgeti(L, -1, 1);
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    size_t length = strcspn(text, ":");
    int same = strlen(name) == length && memcmp(text, name, length) == 0;
    lua_settop(L, top);
    return same;
}

/* Give the heuristic its argument where it stands in the chain, or put it at the end. */
static void apply_heuristic(lua_State *L, int config, const char *name, int value)
{
    if (!push_part(L, config, "heuristics")) return;
    int chain = lua_gettop(L);
    lua_Integer at = 1, n = (lua_Integer)lua_rawlen(L, chain);
    for (; at <= n; at++) {
        lua_rawgeti(L, chain, at);
        int found = names_heuristic(L, name);
        lua_pop(L, 1);
        if (found) break;
    }
    lua_createtable(L, 2, 0);
    lua_pushstring(L, name);
    lua_rawseti(L, -2, 1);
    lua_pushvalue(L, value);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, chain, at);
    lua_pop(L, 1);
}

static void apply_setting(lua_State *L, int config, const char *name, int value)
{
    if (!push_part(L, config, "search")) return;
    lua_pushvalue(L, value);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

/* With a function the chains are its business: it may well mean something of its own by "delta". */
static void apply(lua_State *L, int config, const char *name, int value, int has_edit)
{
    char out[SCRIPT_NAME_MAX];
    const char *heuristic = heuristic_of(name), *setting = setting_of(name, out);
    if (!has_edit) check_name(L, name, "try");
    if (heuristic != NULL && !has_edit) apply_heuristic(L, config, heuristic, value);
    if (setting != NULL) apply_setting(L, config, setting, value);
}

/* Push a copy of the table at `config` with the point's parameters applied and then, where `edit` is not 0, the function there
 * called with both. */
static void push_edited(lua_State *L, int config, int point, int edit)
{
    static const char *const not_its_own[] = {"sweep", "tune", "plugins"};
    push_copy(L, config, COPY_DEPTH);
    int copy = lua_gettop(L);
    for (size_t i = 0; i < sizeof not_its_own / sizeof *not_its_own; i++) {
        lua_pushnil(L);
        lua_setfield(L, copy, not_its_own[i]);
    }
    for (lua_pushnil(L); lua_next(L, point) != 0; lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || !is_scalar(L, -1))
            luaL_error(L, "a point is a table of names with numbers, strings, true or false: { delta = 1.5, M = 3 }");
        apply(L, copy, lua_tostring(L, -2), lua_gettop(L), edit != 0);
    }
    if (edit == 0) return;
    lua_pushvalue(L, edit);
    lua_pushvalue(L, copy);
    push_copy(L, point, 1); /* whatever becomes of it */
    lua_call(L, 2, 0);
}

/* Whether the parameter `a` stands before `b`: in the order of the grid's list `names`; by name where that is 0. */
static int before(lua_State *L, int names, const char *a, const char *b)
{
    lua_Integer n = names != 0 ? (lua_Integer)lua_rawlen(L, names) : 0;
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, names, i);
        const char *name = lua_tostring(L, -1);
        lua_pop(L, 1);
        if (strcmp(name, a) == 0) return 1;
        if (strcmp(name, b) == 0) return 0;
    }
    return strcmp(a, b) < 0;
}

/* Note the point's parameters in the configuration. */
static rill_status note_point(lua_State *L, int point, int names, rill_script_config *config)
{
    int32_t n = 0;
    for (lua_pushnil(L); lua_next(L, point) != 0; lua_pop(L, 1)) n++;
    rill_script_pair *pairs = script_config_alloc(config, (size_t)n, sizeof *pairs);
    if (pairs == NULL) return RILL_ERR_MEMORY;
    for (lua_pushnil(L); lua_next(L, point) != 0; lua_pop(L, 1)) {
        rill_script_pair pair;
        size_t length;
        const char *name = lua_tolstring(L, -2, &length);
        pair.name = script_config_copy(config, name, length);
        if (pair.name == NULL || script_config_scalar(L, -1, config, &pair.value) < 0) return RILL_ERR_MEMORY;
        if (pair.value == NULL) pair.value = "not finite";
        int32_t at = config->n_point++;
        for (; at > 0 && before(L, names, pair.name, pairs[at - 1].name); at--) pairs[at] = pairs[at - 1];
        pairs[at] = pair;
    }
    config->point = pairs;
    return RILL_OK;
}

rill_status script_point_read(lua_State *L, int config, int point, int edit, int names, rill_script_config **out)
{
    /* The script may change its own table meanwhile, or try other points. */
    push_copy(L, point, 1);
    point = lua_gettop(L);
    push_edited(L, config, point, edit);
    rill_script_config_free(*out);
    *out = NULL;
    rill_status status = script_config_table(L, -1, script_of(L), out);
    if (status == RILL_OK) status = note_point(L, point, names, *out);
    lua_pop(L, 2);
    return status;
}

/* Push the point at an index: digits of a number, the last parameter the fastest. */
static void push_point(lua_State *L, int grid, int64_t index)
{
    lua_newtable(L);
    int point = lua_gettop(L);
    lua_getfield(L, grid, "names");
    lua_getfield(L, grid, "values");
    for (lua_Integer i = (lua_Integer)lua_rawlen(L, point + 1); i > 0; i--) {
        lua_rawgeti(L, point + 1, i);
        lua_rawgeti(L, point + 2, i);
        int64_t n = (int64_t)lua_rawlen(L, -1);
        lua_rawgeti(L, -1, index % n + 1);
        index /= n;
        lua_remove(L, -2);
        lua_rawset(L, point);
    }
    lua_settop(L, point);
}

static int read_point_protected(lua_State *L)
{
    script_reading *call = lua_touserdata(L, 1);
    lua_settop(L, 0);
    if (call->script->result == LUA_NOREF || lua_rawgeti(L, LUA_REGISTRYINDEX, call->script->result) != LUA_TTABLE)
        return luaL_error(L, "the script has no sweep");
    lua_pushliteral(L, "sweep");
    lua_rawget(L, 1);
    if (!script_sweep_is(L, 2)) return luaL_error(L, "the script has no sweep");
    lua_getiuservalue(L, 2, 1);
    lua_replace(L, 2);
    push_point(L, 2, call->index);
    lua_getfield(L, 2, "edit");
    lua_getfield(L, 2, "names");
    call->status = script_point_read(L, 1, 3, lua_isfunction(L, 4) ? 4 : 0, 5, &call->config);
    return 0;
}

rill_status rill_script_sweep_point(rill_script *script, int64_t index, rill_script_config **out)
{
    return script_config_protect(script, read_point_protected, index, out);
}
