/* Runs read.lua and sweep.lua, with the C functions that they call.
 *
 * These use the table `own` and copies of Lua's libraries, which scripts cannot reach. Functions in `own` raise only for exhausted memory
 * or limits: positions in this code would mean nothing to users. */
#include <stdio.h>
#include <string.h>

#include "native/native.h"
#include "rill/file.h"
#include "rill/search_config.h"
#include "run_config.h"

/* Lua registry keys, by the addresses of these constants: globals_key of the copies of Lua's library tables, own_key of the table `own` */
static const char globals_key, own_key;

static const struct {
    const char *name, *text;
    size_t length;
} FILES[] = {
#include "script_lua.h"
};

/* --- settings and options ------------------------------------------------------------------------------------------- */

static rill_value value_at(lua_State *L, int index)
{
    switch (lua_type(L, index)) {
    case LUA_TNIL: return (rill_value){.kind = RILL_VALUE_OTHER, .text = "nil"};
    case LUA_TBOOLEAN: return (rill_value){.kind = RILL_VALUE_BOOLEAN, .integer = lua_toboolean(L, index)};
    case LUA_TNUMBER:
        if (lua_isinteger(L, index))
            return (rill_value){.kind = RILL_VALUE_INTEGER, .integer = lua_tointeger(L, index)};
        return (rill_value){.kind = RILL_VALUE_REAL, .real = lua_tonumber(L, index)};
    case LUA_TSTRING: {
        rill_value value = {.kind = RILL_VALUE_TEXT};
        value.text = lua_tolstring(L, index, &value.length);
        return value;
    }
    case LUA_TTABLE: return (rill_value){.kind = RILL_VALUE_OTHER, .text = "a table"};
    case LUA_TFUNCTION: return (rill_value){.kind = RILL_VALUE_OTHER, .text = "a function"};
    default: return (rill_value){.kind = RILL_VALUE_OTHER, .text = "an object"};
    }
}

/* own.value(name, value): return the value as text, or nil and a message without the name. Domains' options are checked later. */
static int own_value(lua_State *L)
{
    char buffer[RILL_OPTION_MAX];
    const char *name = lua_tostring(L, 1), *text;
    rill_settings trial;
    rill_context *ctx = script_from_lua(L)->ctx;
    const rill_option *row = rill_option_row(ctx, name);
    const rill_value value = value_at(L, 2);
    const rill_option_style style = rill_option_set_style(ctx, RILL_OPTION_PLAIN);
    rill_status status = rill_option_text(ctx, row, &value, buffer, &text);
    if (status >= 0 && rill_option_find(rill_setting_table(), name) != NULL) {
        rill_settings_default(&trial);
        status = rill_settings_set(ctx, &trial, name, text);
    }
    rill_option_set_style(ctx, style);
    if (status >= 0) {
        lua_pushstring(L, text);
        return 1;
    }
    const char *why = rill_error(ctx);
    const size_t n = strlen(row->name);
    if (strncmp(why, row->name, n) == 0 && strncmp(why + n, ": ", 2) == 0) why += n + 2;
    lua_pushnil(L);
    lua_pushstring(L, why);
    return 2;
}

/* own.is_options_key(name): return true if the name is a misspelling of "options", or another program's name for it, such as "settings". */
static int own_is_options_key(lua_State *L)
{
    lua_pushboolean(L, rill_is_options_key(lua_tostring(L, 1)));
    return 1;
}

/* own.domains(): return the number of registered domains. */
static int own_domains(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)rill_registry_size(script_from_lua(L)->ctx).domains);
    return 1;
}

/* --- parameters of grids ------------------------------------------------------------------------------------------ */

static const rill_script_parameter PARAMETERS[] = {
    {"delta", "absolute", NULL},    {"absolute", "absolute", NULL},
    {"relative", "relative", NULL}, {"relative_local", "relative_local", NULL},
    {"M", NULL, "max_children"},    {NULL, NULL, NULL}};

const rill_script_parameter *rill_script_parameter_table(void)
{
    return PARAMETERS;
}

/* own.parameters(): return two tables: from a sweep parameter to its heuristic, and from a short name to its setting. */
static int own_parameters(lua_State *L)
{
    lua_newtable(L);
    lua_newtable(L);
    for (const rill_script_parameter *p = PARAMETERS; p->name != NULL; p++) {
        lua_pushstring(L, p->heuristic != NULL ? p->heuristic : p->setting);
        lua_setfield(L, p->heuristic != NULL ? -3 : -2, p->name);
    }
    return 2;
}

/* --- names of options and plugins --------------------------------------------------------------------------------- */

/* own.nearest(kind, word): return the name in rill.names[kind] that is most similar to `word`; nil if none is similar. */
static int own_nearest(lua_State *L)
{
    rill_option_near near = {.name = ""};
    char spelt[SCRIPT_NAME_MAX];
    if (strcmp(lua_tostring(L, 1), "options") == 0) {
        script_charge(L, SCRIPT_NEAREST_WORK);
        for (const rill_option *s = rill_setting_table(); s->name != NULL; s++)
            rill_option_nearer(s, lua_tostring(L, 2), &near);
        for (const rill_option *s = rill_chain_table(); s->name != NULL; s++)
            rill_option_nearer(s, lua_tostring(L, 2), &near);
        lua_pushstring(L, near.name[0] != '\0' ? script_lua_name(near.name, spelt) : NULL);
        return 1;
    }
    lua_pushstring(L, script_name_nearest(L, lua_tostring(L, 1), lua_tostring(L, 2)));
    return 1;
}

/* own.gone(name): return the message about an option that was removed from rill; nil if there was no such option. */
static int own_gone(lua_State *L)
{
    const char *why = rill_refused_option("setting", lua_tostring(L, 1));
    lua_pushstring(L, why != NULL ? why : rill_refused_option("opening", lua_tostring(L, 1)));
    return 1;
}

static int own_is_heuristic(lua_State *L)
{
    lua_pushboolean(L, rill_find_heuristic(script_from_lua(L)->ctx, lua_tostring(L, 1)) != NULL);
    return 1;
}

/* Push the name of the plugin at stack index 1; functions are registered first. The string at index 2 is the expected kind. */
static int find_declared_name(lua_State *L)
{
    /* declarations that make a plugin of a Lua function alone, by script_kind; a domain cannot be made of one */
    static const script_declaration *const declarations[] = {&script_heuristic_declaration, &script_scorer_declaration,
                                                             &script_scheduler_declaration, NULL};
    char native[SCRIPT_NAME_MAX];
    const char *word = lua_tostring(L, 2), *name = NULL;
    script_kind kind = SCRIPT_HEURISTIC;
    while (kind < SCRIPT_DOMAIN && strcmp(declarations[kind]->word, word) != 0) kind++;
    if (kind == SCRIPT_DOMAIN) name = script_domain_name(L, 1);
    const script_table *t = script_table_get(L, 1);
    if (script_native_is(L, 1)) {
        script_native_register(L, 1, kind, native);
        name = native;
    }
    if (name == NULL && lua_isfunction(L, 1) && declarations[kind] != NULL)
        t = script_declare_function(L, 1, declarations[kind]);
    if (t != NULL && t->declaration->kind != kind)
        return luaL_error(L, "a %s was expected, not %s %s", word, t->declaration->word, t->name);
    if (name == NULL && t == NULL)
        return luaL_error(L, "a %s was expected, not a %s: write \"NAME:ARGUMENTS\", {\"NAME\", ARGUMENTS...}%s", word,
                          luaL_typename(L, 1), declarations[kind] != NULL ? ", a function, or a declared object" : "");
    lua_pushstring(L, t != NULL ? t->name : name);
    return 1;
}

/* own.who(value, kind): return the name of an object or a function; if it has none, nil and an error message. */
static int own_who(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    lua_settop(L, 2);
    lua_pushcfunction(L, find_declared_name);
    lua_insert(L, 1);
    s->raised_status = RILL_OK;
    int code = lua_pcall(L, 2, 1, 0);
    if (code == LUA_OK) return 1;
    if (code == LUA_ERRMEM || s->raised_status == RILL_ERR_MEMORY || s->is_exhausted) return lua_error(L);
    lua_pushnil(L);
    lua_insert(L, 1);
    return 2;
}

/* rill.sweep(grid [, function]): return an object for the key `sweep` of a configuration. */
static int make_sweep(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    script_internal_call(L, "sweep", 2, 1);
    return 1;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

void script_open_config_lua(lua_State *L, const luaL_Reg *more)
{
    static const luaL_Reg functions[] = {
        {"value", own_value},     {"is_options_key", own_is_options_key}, {"nearest", own_nearest},
        {"gone", own_gone},       {"is_heuristic", own_is_heuristic},     {"who", own_who},
        {"domains", own_domains}, {"parameters", own_parameters},         {NULL, NULL}};
    lua_pushglobaltable(L);
    script_push_copy(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &globals_key);
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    luaL_setfuncs(L, more, 0);
    lua_pushstring(L, script_from_lua(L)->path);
    lua_setfield(L, -2, "path");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &own_key);
    for (const rill_script_parameter *p = PARAMETERS; p->name != NULL; p++) script_name_add(L, "sweep", p->name);
    lua_pushcfunction(L, make_sweep);
    lua_setfield(L, -2, "sweep");
}

/* --- calling config.lua ------------------------------------------------------------------------------------------- */

/* Push the table `own`. At its first use the Lua code is run, which adds its functions to `own`. */
static void push_own(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &own_key);
    const int is_complete = lua_getfield(L, -1, "apply") != LUA_TNIL; /* the last function of the last file */
    lua_pop(L, 1);
    if (is_complete) return;
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        if (luaL_loadbufferx(L, FILES[i].text, FILES[i].length, SCRIPT_INTERNAL, "t") != LUA_OK) lua_error(L);
        lua_rawgetp(L, LUA_REGISTRYINDEX, &globals_key);
        lua_setupvalue(L, -2, 1);
        lua_pushvalue(L, -2);
        lua_call(L, 1, 0);
    }
}

/* Insert the function own.NAME below the topmost `arguments` values of the stack. */
static void insert_internal(lua_State *L, const char *name, int arguments)
{
    push_own(L);
    lua_getfield(L, -1, name);
    lua_remove(L, -2);
    lua_insert(L, -1 - arguments);
}

rill_status script_internal_call(lua_State *L, const char *name, int arguments, int results)
{
    luaL_checkstack(L, LUA_MINSTACK, "a configuration");
    insert_internal(L, name, arguments);
    if (lua_pcall(L, arguments, results, 0) == LUA_OK) return RILL_OK;
    if (!lua_istable(L, -1)) return lua_error(L);
    int text = lua_rawgeti(L, -1, 1) == LUA_TSTRING;
    lua_rawgeti(L, -2, 2);
    if (!text) return luaL_error(L, "%s", lua_tostring(L, -1));
    rill_status status = rill_script_config_refuse(script_from_lua(L), lua_tostring(L, -2), lua_tostring(L, -1));
    lua_pop(L, 3);
    return status;
}

/* --- error messages ----------------------------------------------------------------------------------------------- */

enum { SOURCE_MAX = 1 << 20 };

typedef struct place {
    const char *text, *key;
    size_t length;
    int line;
} place;

static int find_line(lua_State *L)
{
    place *p = lua_touserdata(L, 1);
    lua_pushlstring(L, p->text, p->length);
    lua_pushstring(L, p->key);
    insert_internal(L, "line", 2);
    lua_call(L, 2, 1);
    p->line = (int)lua_tointeger(L, -1);
    return 0;
}

int script_config_line(rill_script *s, const char *text, size_t length, const char *key)
{
    place p = {text, key, length, 0};
    script_protect(s, find_line, &p);
    return p.line;
}

/* The message has the line of `key`, unless the script's file cannot be read. */
rill_status rill_script_config_refuse(rill_script *s, const char *key, const char *sentence)
{
    char line[32] = "", why[SCRIPT_MESSAGE_MAX];
    rill_text text = {.ctx = s->ctx};
    /* a copy, because `sentence` may be the context's own message, which reading the file can overwrite */
    snprintf(why, sizeof why, "%s", sentence);
    int line_number = rill_file_read(&text, s->path, SOURCE_MAX) < 0
                          ? 0
                          : script_config_line(s, text.data, text.length, key);
    if (line_number > 0) snprintf(line, sizeof line, ":%d", line_number);
    rill_text_clear(&text);
    return rill_fail(s->ctx, RILL_ERR_OPTION, "%s%s: %s%s%s", s->path, line, key, key[0] != '\0' ? ": " : "", why);
}
