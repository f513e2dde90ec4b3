/* Options that a Lua domain declares: options = { {name = "beta", argument = "B", type = "number", default = 1, help =
 * "..."}, ... }
 *
 * They become rill_option rows, which the table of declared fields owns. open() gets the values in options.given,
 * defaults included. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "script_domain.h"

enum { MAX_DOMAIN_OPTIONS = 32 };

static const struct {
    const char *word;
    rill_option_type type;
} types[] = {{"text", RILL_OPTION_TEXT},
             {"path", RILL_OPTION_PATH},
             {"number", RILL_OPTION_REAL},
             {"switch", RILL_OPTION_SWITCH}};

const char *script_lua_name(const char *name, char out[SCRIPT_NAME_MAX])
{
    snprintf(out, SCRIPT_NAME_MAX, "%s", name);
    for (char *dash = out; (dash = strchr(dash, '-')) != NULL;) *dash = '_';
    return out;
}

/* Return the string field `name` of the entry on top of the stack, or `otherwise` if it is missing; raise if that is
 * NULL. The string is appended to the list at stack index `kept`, which keeps it alive. */
static const char *entry_text(lua_State *L, int kept, const char *name, const char *otherwise)
{
    size_t length;
    if (lua_getfield(L, -1, name) == LUA_TNIL) {
        lua_pop(L, 1);
        if (otherwise == NULL) luaL_error(L, "rill.domain: options: an entry has no %s", name);
        return otherwise;
    }
    const char *text = lua_tolstring(L, -1, &length);
    if (text == NULL || strlen(text) != length)
        luaL_error(L, "rill.domain: options: %s must be a string without zero bytes", name);
    lua_rawseti(L, kept, (lua_Integer)lua_rawlen(L, kept) + 1);
    return text;
}

/* Return the entry's default value as text, checked like a value that a user gives. */
static const char *entry_default(lua_State *L, int kept, const rill_option *row)
{
    rill_context *ctx = script_from_lua(L)->ctx;
    const int type = lua_getfield(L, -1, "default"), is_switch = row->type == RILL_OPTION_SWITCH;
    const int on = type == LUA_TBOOLEAN && lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (is_switch && type != LUA_TBOOLEAN && type != LUA_TNIL)
        luaL_error(L, "rill.domain: options: %s: the default of a switch must be true or false", row->name);
    if (is_switch) return on ? "true" : "";
    const char *text = entry_text(L, kept, "default", "");
    if (text[0] == '\0' || rill_option_read(ctx, row, text, NULL) == RILL_OK) return text;
    rill_error_clear(ctx);
    luaL_error(L, "rill.domain: options: %s: the default \"%s\" is not a number", row->name, text);
    return "";
}

static rill_option_type entry_type(lua_State *L, int kept, const char *argument)
{
    const char *word = entry_text(L, kept, "type", argument[0] != '\0' ? "text" : "switch");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].word, word) == 0) return types[i].type;
    luaL_error(L, "rill.domain: options: type \"%s\": text, path, number or switch was expected", word);
    return RILL_OPTION_TEXT;
}

/* Check that the entry on top of the stack is a table with no unknown keys. */
static void check_keys(lua_State *L)
{
    static const char *const keys[] = {"name", "argument", "type", "default", "help"};
    if (!lua_istable(L, -1))
        luaL_error(L, "rill.domain: options: {name = \"NAME\", ...} was expected, not a %s", luaL_typename(L, -1));
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? script_text(L, -2, "rill.domain: options: a key")
                                                         : "a value without a name";
        size_t i = 0;
        while (i < sizeof keys / sizeof *keys && strcmp(keys[i], key) != 0) i++;
        if (i == sizeof keys / sizeof *keys)
            luaL_error(L, "rill.domain: options: name, argument, type, default or help was expected, not %s", key);
    }
}

/* Convert the entry on top of the stack to a rill_option row. Its name is checked when the domain is registered. */
static void read_entry(lua_State *L, int kept, rill_option *row)
{
    check_keys(L);
    *row = (rill_option){.kind = RILL_OPTION_MODEL, .min = -HUGE_VAL, .max = HUGE_VAL};
    row->name = entry_text(L, kept, "name", NULL);
    row->argument = entry_text(L, kept, "argument", "");
    row->help = entry_text(L, kept, "help", "");
    row->type = entry_type(L, kept, row->argument);
    if ((row->type == RILL_OPTION_SWITCH) != (row->argument[0] == '\0'))
        luaL_error(L, "rill.domain: options: %s: an option must have either the type \"switch\" or an argument",
                   row->name);
    row->initial = entry_default(L, kept, row);
}

/* Return the length of the list at this stack index. Raises if it is too long or no list. */
static lua_Integer checked_length(lua_State *L, int list)
{
    const lua_Integer n = (lua_Integer)lua_rawlen(L, list);
    if (n > MAX_DOMAIN_OPTIONS) luaL_error(L, "rill.domain: options: more than %d options", MAX_DOMAIN_OPTIONS);
    for (lua_pushnil(L); lua_next(L, list) != 0; lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING)
            luaL_error(
                L,
                "rill.domain: options: a list { {name = \"NAME\", ...}, ... } was expected, not a table with the key \"%s\"",
                lua_tostring(L, -2));
        if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1 || lua_tointeger(L, -2) > n)
            luaL_error(L, "rill.domain: options: a list without gaps was expected");
    }
    return n;
}

const rill_option *domain_options_read(lua_State *L, int declared)
{
    int list = lua_gettop(L) + 1;
    if (lua_getfield(L, declared, "options") == LUA_TNIL) {
        lua_pop(L, 1);
        return NULL;
    }
    const lua_Integer n = checked_length(L, list);
    lua_newtable(L); /* keeps the rows and their strings alive */
    rill_option *rows = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *rows, 0);
    lua_rawseti(L, list + 1, 1);
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, list, i + 1);
        read_entry(L, list + 1, &rows[i]);
        lua_settop(L, list + 1);
    }
    rows[n] = (rill_option){0};
    lua_setfield(L, declared, "options");
    lua_settop(L, list - 1);
    return rows;
}

/* Push an option's value as a Lua number, boolean or string, by the option's type. */
static void push_value(lua_State *L, const rill_option *row, const char *value)
{
    double number = 0;
    int32_t on = 0;
    rill_context *ctx = script_from_lua(L)->ctx;
    if (row->type == RILL_OPTION_REAL && rill_option_read(ctx, row, value, &number) == RILL_OK)
        lua_pushnumber(L, number);
    else if (row->type == RILL_OPTION_SWITCH && rill_option_read(ctx, row, value, &on) == RILL_OK)
        lua_pushboolean(L, on);
    else
        lua_pushstring(L, value);
}

void domain_options_push(lua_State *L, const rill_option *rows, const rill_open_options *options)
{
    char name[SCRIPT_NAME_MAX];
    lua_newtable(L);
    for (const rill_option *row = rows; row != NULL && row->name != NULL; row++) {
        const char *given_value = rill_open_option(options, row->name);
        if (given_value == NULL && row->initial[0] == '\0') continue;
        push_value(L, row, given_value != NULL ? given_value : row->initial);
        lua_setfield(L, -2, script_lua_name(row->name, name));
    }
}
