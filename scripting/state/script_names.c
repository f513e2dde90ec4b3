/* rill.names: the names that scripts can use, in one list for each kind; and checks of strings that scripts pass to C.
 *
 * Editors use the lists for completion, and a test compares docs/scripting.md with them. Each list is built from the
 * C table in which rill looks up the names, so the two cannot disagree. Lists are in alphabetical order. */
#include <string.h>

#include "state.h"

static const char names_key = 0; /* its address is the registry key of the table that maps a kind to its list */

/* Push the table of all lists; create it at first use. */
static void push_all(lua_State *L)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &names_key) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &names_key);
}

static void push_list(lua_State *L, const char *kind)
{
    push_all(L);
    if (lua_getfield(L, -1, kind) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_setfield(L, -3, kind);
    }
    lua_remove(L, -2);
}

void script_name_add(lua_State *L, const char *kind, const char *name)
{
    push_list(L, kind);
    lua_Integer pos = (lua_Integer)lua_rawlen(L, -1) + 1;
    for (; pos > 1; pos--) { /* insertion sort: lists are short */
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

const char *script_nearest(const char *word, const char *const *names, size_t n)
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
    return script_nearest(word, names, n);
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

/* Add rill.names to `rill`. Scripts get a copy, because error messages suggest names from the original. */
void script_open_names(lua_State *L)
{
    push_all(L);
    script_push_copy(L, 1);
    lua_setfield(L, -3, "names");
    lua_pop(L, 1);
}
