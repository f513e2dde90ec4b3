/* Values of a configuration that name a heuristic, a scorer or a policy.
 *
 *   "absolute"  "absolute:10"  {"absolute", 10}     by name
 *   object  {object, 10}                            what rill.heuristic{} and its relatives returned
 *   function(b) ... end                             a function alone: declared when it is read, once per function
 *   lib:bind(...)                                   a native function, the same
 *
 * Arguments are written as on the command line: numbers, strings and booleans, joined by commas. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "native/ffi.h"
#include "tables/bridge.h"

static const char *word_of(script_kind kind)
{
    static const char *const words[] = {"heuristic", "scorer", "policy", "domain"};
    return words[kind];
}

/* NULL: functions alone cannot be one. */
static const script_declaration *declaration_of(script_kind kind)
{
    switch (kind) {
    case SCRIPT_HEURISTIC: return &script_heuristic_declaration;
    case SCRIPT_SCORER: return &script_scorer_declaration;
    case SCRIPT_POLICY: return &script_policy_declaration;
    case SCRIPT_DOMAIN: break;
    }
    return NULL;
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

static void append(lua_State *L, script_entry *out, const char *text, size_t length, const char *between)
{
    size_t used = strlen(out->arguments), more = strlen(between);
    if (memchr(text, '\0', length) != NULL) luaL_error(L, "arguments of %s: a byte of value 0", out->name);
    if (used + more + length >= sizeof out->arguments)
        luaL_error(L, "arguments of %s: more than %d bytes", out->name, SCRIPT_ARGUMENTS_MAX - 1);
    memcpy(out->arguments + used, between, more);
    memcpy(out->arguments + used + more, text, length);
    out->arguments[used + more + length] = '\0';
}

/* The shortest of three widths that reads back as the same number. */
static void append_number(lua_State *L, script_entry *out, double x, const char *between)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x) break;
    }
    append(L, out, text, strlen(text), between);
}

static void append_argument(lua_State *L, script_entry *out, int index, const char *between)
{
    size_t length;
    int type = lua_type(L, index);
    if (type == LUA_TNUMBER && !lua_isinteger(L, index)) {
        append_number(L, out, lua_tonumber(L, index), between);
    } else if (type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TBOOLEAN) {
        const char *text = luaL_tolstring(L, index, &length);
        append(L, out, text, length, between);
        lua_pop(L, 1);
    } else {
        luaL_error(L, "arguments of %s: a %s cannot be one; numbers, strings and booleans can", out->name,
                   luaL_typename(L, index));
    }
}

/* --- who ---------------------------------------------------------------------------------------------------------- */

static void set_name(lua_State *L, script_entry *out, script_kind kind, const char *name, size_t length)
{
    if (length == 0 || memchr(name, '\0', length) != NULL)
        luaL_error(L, "\"%s\" names no %s: NAME or NAME:ARGUMENTS expected", name, word_of(kind));
    if (length >= sizeof out->name)
        luaL_error(L, "\"%s\": the name of a %s has at most %d bytes", name, word_of(kind), SCRIPT_NAME_MAX - 1);
    memcpy(out->name, name, length);
    out->name[length] = '\0';
}

/* "name" or "name:arguments" */
static void read_text(lua_State *L, int index, script_kind kind, script_entry *out)
{
    size_t length;
    const char *text = lua_tolstring(L, index, &length), *colon = memchr(text, ':', length);
    set_name(L, out, kind, text, colon != NULL ? (size_t)(colon - text) : length);
    if (colon != NULL) append(L, out, colon + 1, length - (size_t)(colon + 1 - text), "");
}

static void read_object(lua_State *L, script_kind kind, const script_table *t, script_entry *out)
{
    if (t->declaration->kind != kind)
        luaL_error(L, "%s %s stands where a %s is expected", t->declaration->word, t->name, word_of(kind));
    set_name(L, out, kind, t->name, strlen(t->name));
}

/* Anything but a table. */
static void read_single(lua_State *L, int index, script_kind kind, script_entry *out)
{
    const script_declaration *d = declaration_of(kind);
    const script_table *t = script_table_at(L, index);
    const char *domain = kind == SCRIPT_DOMAIN ? script_domain_name(L, index) : NULL;
    if (domain != NULL)
        set_name(L, out, kind, domain, strlen(domain));
    else if (t != NULL)
        read_object(L, kind, t, out);
    else if (lua_type(L, index) == LUA_TSTRING)
        read_text(L, index, kind, out);
    else if (script_native_is(L, index))
        script_native_register(L, index, kind, out->name);
    else if (d != NULL && lua_isfunction(L, index))
        read_object(L, kind, script_declare_function(L, index, d), out);
    else
        luaL_error(L, "a %s where a %s is expected: \"NAME:ARGUMENTS\", {\"NAME\", ARGUMENTS...}%s",
                   luaL_typename(L, index), word_of(kind), d != NULL ? ", a function, or what declared one" : "");
}

/* {who, arguments...} */
static void read_list(lua_State *L, int index, script_kind kind, script_entry *out)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, index), keys = 0;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) keys++;
    if (n == 0 || keys != n)
        luaL_error(L, "{\"NAME\", ARGUMENTS...} is how a %s with arguments is written, without keys", word_of(kind));
    if (lua_rawgeti(L, index, 1) == LUA_TTABLE)
        luaL_error(L, "a table where the name of a %s is expected", word_of(kind));
    read_single(L, lua_absindex(L, -1), kind, out);
    for (lua_Integer i = 2; i <= n; i++) {
        lua_rawgeti(L, index, i);
        append_argument(L, out, -1, out->arguments[0] != '\0' || i > 2 ? "," : "");
        lua_pop(L, 1);
    }
}

void script_entry_read(lua_State *L, int index, script_kind kind, script_entry *out)
{
    int top = lua_gettop(L), at = lua_absindex(L, index);
    *out = (script_entry){0};
    luaL_checkstack(L, 12, "reading a configuration");
    if (lua_type(L, at) == LUA_TTABLE)
        read_list(L, at, kind, out);
    else
        read_single(L, at, kind, out);
    lua_settop(L, top);
}
