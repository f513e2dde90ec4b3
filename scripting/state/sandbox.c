/* What scripts can access: an allow-list of the standard library, and the table `rill`. Functions of a newer Lua stay unavailable until
 * reviewed.
 *
 * rill.names has a sorted list of names per kind, from the C tables, for completion in editors. */
#include <math.h>
#include <string.h>

#include "limits.h"
#include "rill/settings.h"

/* --- the standard library ----------------------------------------------------------------------------------------- */

typedef struct library {
    const char *name;
    lua_CFunction open;
    int unsafe;
    const char *names; /* names of the library's functions to keep, separated by spaces; NULL: all */
} library;

static const library libraries[] = {
    {LUA_GNAME, luaopen_base, 0,
     "_G _VERSION assert collectgarbage error getmetatable ipairs load next pairs pcall rawequal rawget rawlen rawset "
     "select setmetatable tonumber tostring type xpcall"},
    {LUA_STRLIBNAME, luaopen_string, 0,
     "byte char find format gmatch gsub len lower match pack packsize rep reverse sub unpack upper"},
    {LUA_TABLIBNAME, luaopen_table, 0, "concat insert move pack remove sort unpack"},
    {LUA_MATHLIBNAME, luaopen_math, 0,
     "abs acos asin atan ceil cos deg exp floor fmod huge log max maxinteger min mininteger modf pi rad random "
     "randomseed sin sqrt tan tointeger type ult"},
    {LUA_UTF8LIBNAME, luaopen_utf8, 0, "char charpattern codepoint codes len offset"},
    {LUA_COLIBNAME, luaopen_coroutine, 0, "close create isyieldable resume running status wrap yield"},
    {LUA_IOLIBNAME, luaopen_io, 1, NULL},
    /* other functions of `os` affect the whole process: exit, or setlocale, which changes how numbers are read */
    {LUA_OSLIBNAME, luaopen_os, 1, "clock date difftime execute getenv remove rename time tmpname"},
};

int script_is_listed(const char *names, const char *name)
{
    for (size_t length; *names != '\0'; names += length + strspn(names + length, " ")) {
        length = strcspn(names, " ");
        if (strlen(name) == length && memcmp(names, name, length) == 0) return 1;
    }
    return 0;
}

/* Remove all names that are not in the list `names` from the table on top of the stack. */
static void remove_unlisted(lua_State *L, const char *names)
{
    for (lua_pushnil(L); lua_next(L, -2) != 0;) {
        lua_pop(L, 1);
        if (script_is_listed(names, lua_tostring(L, -1))) continue;
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, -4); /* setting existing fields to nil is allowed during lua_next() */
    }
}

static int refuse_exit(lua_State *L)
{
    return luaL_error(L, "a script cannot end the process: call error(\"...\") to end the run");
}

static void open_standard(lua_State *L, int unsafe)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        const library *l = &libraries[i];
        if (l->unsafe && !unsafe) continue;
        luaL_requiref(L, l->name, l->open, l->open != luaopen_base);
        if (l->names != NULL) remove_unlisted(L, l->names);
        if (l->open == luaopen_os) {
            lua_pushcfunction(L, refuse_exit);
            lua_setfield(L, -2, "exit");
        }
        lua_pop(L, 1);
    }
}

/* --- strings and tables -------------------------------------------------------------------------------------------- */

int script_whole_number(lua_State *L, int index, lua_Integer min, lua_Integer max, lua_Integer *out)
{
    int is_whole = 0;
    /* the type is checked first, because lua_tointegerx() accepts strings too */
    if (lua_type(L, index) == LUA_TNUMBER) *out = lua_tointegerx(L, index, &is_whole);
    return is_whole && *out >= min && *out <= max;
}

const char *script_text(lua_State *L, int index, const char *what)
{
    size_t length;
    const char *text = lua_tolstring(L, index, &length);
    if (strlen(text) != length) luaL_error(L, "%s contains a zero byte after \"%s\"", what, text);
    return text;
}

void script_replace_zeros(lua_State *L)
{
    size_t length;
    luaL_Buffer shown;
    const char *text = lua_tolstring(L, -1, &length);
    if (strlen(text) == length) return;
    char *copy_start = luaL_buffinitsize(L, &shown, length);
    memcpy(copy_start, text, length);
    for (char *zero = copy_start; (zero = memchr(zero, '\0', (size_t)(copy_start + length - zero))) != NULL;)
        *zero = '?';
    luaL_pushresultsize(&shown, length);
    lua_replace(L, -2);
}

void script_push_copy(lua_State *L, int depth)
{
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, -3) != 0; lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        if (depth > 0 && lua_istable(L, -1)) {
            script_push_copy(L, depth - 1);
            lua_remove(L, -2);
        }
        lua_rawset(L, -5);
    }
}

int script_raw_field(lua_State *L, int index, const char *key)
{
    index = lua_absindex(L, index);
    lua_pushstring(L, key);
    return lua_rawget(L, index);
}

void script_append_text(lua_State *L, const char *text)
{
    lua_pushstring(L, text);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

void script_push_integers(lua_State *L, const int32_t *values, int32_t n)
{
    lua_createtable(L, n, 0);
    for (int32_t i = 0; i < n; i++) {
        lua_pushinteger(L, values[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* --- names in messages --------------------------------------------------------------------------------------------- */

static const char all_names[] = "rill.names"; /* registry key of the table that maps each kind to its list of names */

static void push_list(lua_State *L, const char *kind)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, all_names);
    luaL_getsubtable(L, -1, kind);
    lua_remove(L, -2);
}

void script_name_add(lua_State *L, const char *kind, const char *name)
{
    push_list(L, kind);
    lua_Integer pos = (lua_Integer)lua_rawlen(L, -1) + 1;
    for (; pos > 1; pos--) { /* insertion sort, since the lists are short */
        lua_rawgeti(L, -1, pos - 1);
        if (strcmp(lua_tostring(L, -1), name) < 0) {
            lua_pop(L, 1);
            break;
        }
        lua_rawseti(L, -2, pos);
    }
    lua_pushstring(L, name);
    lua_rawseti(L, -2, pos);
    lua_pop(L, 1);
}

/* Return the most similar of n names, or the new name if `word` was renamed; NULL if no name is similar. */
static const char *nearest_name(const char *word, const char *const *names, size_t n)
{
    static const struct {
        const char *old, *now;
    } renamed[] = {{"policy", "scheduler"},
                   {"score", "path_score"},
                   {"scores", "path_scores"},
                   {"most", "max_bonus"},
                   {"wave", "refill_index"}};
    for (size_t r = 0; r < sizeof renamed / sizeof *renamed; r++) {
        if (strcmp(word, renamed[r].old) != 0) continue;
        for (size_t i = 0; i < n; i++)
            if (strcmp(names[i], renamed[r].now) == 0) return names[i];
    }
    return rill_nearest(word, names, n);
}

static void raise_unknown_key(lua_State *L, const char *key, const char *const *names, size_t n, const char *table)
{
    const char *near = nearest_name(key, names, n);
    if (near != NULL) luaL_error(L, "%s: unknown key \"%s\": did you mean \"%s\"?", table, key, near);
    luaL_Buffer list;
    luaL_buffinit(L, &list);
    for (size_t i = 0; i < n; i++) {
        luaL_addstring(&list, i == 0 ? "" : i + 1 < n ? ", " : " or ");
        luaL_addstring(&list, names[i]);
    }
    luaL_pushresult(&list);
    luaL_error(L, "%s: unknown key \"%s\": expected %s", table, key, lua_tostring(L, -1));
}

void script_check_keys(lua_State *L, int index, const char *const *names, size_t n, const char *table)
{
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 2)) {
        size_t i = 0;
        if (lua_type(L, -2) != LUA_TSTRING)
            luaL_error(L, "%s: a key must be a string, not %s", table, luaL_tolstring(L, -2, NULL));
        lua_pushfstring(L, "%s: a key", table);
        const char *key = script_text(L, -3, lua_tostring(L, -1));
        while (i < n && strcmp(names[i], key) != 0) i++;
        if (i == n) raise_unknown_key(L, key, names, n, table);
    }
}

const char *script_name_nearest(lua_State *L, const char *kind, const char *word)
{
    enum { MAX_NEAREST_NAMES = 128 };
    const char *names[MAX_NEAREST_NAMES];
    script_charge(L, SCRIPT_NEAREST_WORK);
    push_list(L, kind);
    const size_t n = lua_rawlen(L, -1) < MAX_NEAREST_NAMES ? (size_t)lua_rawlen(L, -1) : MAX_NEAREST_NAMES;
    for (size_t i = 0; i < n; i++, lua_pop(L, 1)) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        names[i] = lua_tostring(L, -1); /* the string stays valid because it is in the list */
    }
    lua_pop(L, 1);
    return nearest_name(word, names, n);
}

/* --- print and log ------------------------------------------------------------------------------------------------ */

enum { LINE_COST = 100, BYTES_PER_UNIT = 8 };
enum { MISSING_NAME_COST = 100 }; /* instructions charged to the script's limit for the search of a nearest name */

static void log_line(rill_script *s, const char *line)
{
    rill_log(s->ctx, RILL_LOG_INFO, "%s", line);
}

static void print_line(rill_script *s, const char *line)
{
    if (s->options.print != NULL)
        s->options.print(s->options.print_user, line);
    else
        log_line(s, line);
}

/* Print the text on top of the stack, one line after the other. */
static void print_lines(lua_State *L, void (*print_one)(rill_script *s, const char *line))
{
    rill_script *s = script_from_lua(L);
    size_t length;
    script_replace_zeros(L);
    const char *text = lua_tolstring(L, -1, &length), *end = text + length, *line_end;
    for (; (line_end = memchr(text, '\n', (size_t)(end - text))) != NULL; text = line_end + 1) {
        script_charge(L, LINE_COST + (line_end - text) / BYTES_PER_UNIT);
        print_one(s, lua_pushlstring(L, text, (size_t)(line_end - text)));
        lua_pop(L, 1);
    }
    script_charge(L, LINE_COST + (end - text) / BYTES_PER_UNIT);
    print_one(s, text);
}

static int print(lua_State *L)
{
    int n = lua_gettop(L);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = 1; i <= n; i++) {
        if (i > 1) luaL_addchar(&b, '\t');
        luaL_tolstring(L, i, NULL);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    print_lines(L, print_line);
    return 0;
}

/* rill.log(text): log each line of the text at level INFO. */
static int log_text(lua_State *L)
{
    luaL_checkstring(L, 1);
    lua_settop(L, 1);
    print_lines(L, log_line);
    return 0;
}

/* --- missing names -------------------------------------------------------------------------------------------------- */

/* Raise for an undefined global of other Lua programs, or a plugin's name without quotes: { absolute } would be an empty list. Other
 * undefined globals are nil. */
static int missing_global(lua_State *L)
{
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    if (script_is_listed(LUA_IOLIBNAME " " LUA_OSLIBNAME, name))
        return luaL_error(
            L, "'%s' is not available to sandboxed scripts: --unsafe-scripts enables it for scripts you trust", name);
    if (script_is_listed("require package debug dofile loadfile", name))
        return luaL_error(L, "'%s' is not available to scripts", name);
    const rill_context *ctx = script_from_lua(L)->ctx;
    script_charge(L, MISSING_NAME_COST);
    if (rill_find_heuristic(ctx, name) != NULL || rill_find_scorer(ctx, name) != NULL)
        return luaL_error(L, "undefined variable '%s': write the name of the %s in quotes: \"%s\"", name,
                          rill_find_heuristic(ctx, name) != NULL ? "heuristic" : "scorer", name);
    lua_pushnil(L);
    return 1;
}

/* Return the name of the field, in the table at `index`, that is most similar to `name`; NULL if none is similar. */
static const char *nearest_field(lua_State *L, int index, const char *name)
{
    enum { MAX_FIELD_NAMES = 64 };
    const char *names[MAX_FIELD_NAMES];
    size_t n = 0;
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1))
        if (n < MAX_FIELD_NAMES && lua_type(L, -2) == LUA_TSTRING) names[n++] = lua_tostring(L, -2);
    return nearest_name(name, names, n);
}

static int missing_field(lua_State *L)
{
    script_charge(L, SCRIPT_NEAREST_WORK);
    const char *name = luaL_tolstring(L, 2, NULL), *near = nearest_field(L, 1, name);
    if (near != NULL) return luaL_error(L, "unknown name rill.%s: did you mean rill.%s?", name, near);
    return luaL_error(L, "unknown name rill.%s", name);
}

static int refuse_field(lua_State *L)
{
    return luaL_error(L, "cannot assign rill.%s: the table rill is read-only", luaL_tolstring(L, 2, NULL));
}

void script_set_metatable(lua_State *L, const luaL_Reg *functions)
{
    lua_newtable(L);
    luaL_setfuncs(L, functions, 0);
    lua_pushliteral(L, "protected");
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
}

/* --- the global `rill` -------------------------------------------------------------------------------------------- */

static void set_names(lua_State *L)
{
    lua_newtable(L);
    for (const rill_method_info *m = rill_method_table(); m->name != NULL; m++) script_append_text(L, m->name);
    lua_setfield(L, -2, "methods");
    lua_newtable(L);
    for (const rill_option *s = rill_setting_table(); s->name != NULL; s++) script_append_text(L, s->name);
    lua_setfield(L, -2, "settings");
}

/* Create and push the table `rill`, with the fields version, dead and log, and the lists of names. */
static void open_rill(lua_State *L)
{
    lua_newtable(L);
    lua_pushliteral(L, RILL_VERSION_STRING);
    lua_setfield(L, -2, "version");
    lua_pushnumber(L, -HUGE_VAL);
    lua_setfield(L, -2, "dead");
    lua_pushcfunction(L, log_text);
    lua_setfield(L, -2, "log");
    set_names(L);
}

/* Add rill.names to the table `rill`: a copy, because error messages suggest names from the original, which scripts must not change. */
void script_open_names(lua_State *L)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, all_names);
    script_push_copy(L, 1);
    lua_setfield(L, -3, "names");
    lua_pop(L, 1);
}

void script_protect_rill(lua_State *L)
{
    static const luaL_Reg functions[] = {{"__index", missing_field}, {"__newindex", refuse_field}, {NULL, NULL}};
    script_set_metatable(L, functions);
    lua_setglobal(L, "rill");
}

void script_open_libraries(lua_State *L)
{
    static const luaL_Reg functions[] = {{"__index", missing_global}, {NULL, NULL}};
    open_standard(L, script_from_lua(L)->options.unsafe);
    lua_pushglobaltable(L);
    script_open_guards(L);
    lua_pushcfunction(L, print);
    lua_setfield(L, -2, "print");
    script_set_metatable(L, functions);
    lua_pop(L, 1);
    open_rill(L);
}
