/* Userdata that give scripts access to engine structs; see script_view.h.
 *
 * The functions of a view are closures with these upvalues: 1 the metatable, which identifies the class; 2 the
 * class; 3 a table from names to field numbers and methods (for __index and __newindex only). */
#include "script_view.h"

enum { METATABLE = 1, CLASS = 2, NAMES = 3 };

static const script_view_class *view_class(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(CLASS));
}

static const script_view *check_live_view(lua_State *L, const script_view *view, const char *word)
{
    if (view->stamp != script_from_lua(L)->stamp)
        luaL_error(L, "%s of a call that is over, or interrupted by this one: rill.array(a) keeps a copy of an array",
                   word);
    return view;
}

const script_view *script_view_self(lua_State *L)
{
    const script_view *view = lua_touserdata(L, 1);
    if (view == NULL || !lua_getmetatable(L, 1) || !lua_rawequal(L, -1, lua_upvalueindex(METATABLE)))
        luaL_typeerror(L, 1, view_class(L)->word);
    lua_pop(L, 1);
    return check_live_view(L, view, view_class(L)->word);
}

const script_view *script_view_check(lua_State *L, int index, const script_view_class *kind)
{
    const script_view *view = lua_touserdata(L, index);
    int same = 0;
    if (view != NULL && lua_getmetatable(L, index)) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, kind);
        same = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
    }
    if (!same) luaL_typeerror(L, index, kind->word);
    return check_live_view(L, view, kind->word);
}

void script_view_push(lua_State *L, const script_view_class *kind, void *data)
{
    script_view *view = lua_newuserdatauv(L, sizeof *view, 0);
    *view = (script_view){script_from_lua(L)->stamp, data};
    lua_rawgetp(L, LUA_REGISTRYINDEX, kind);
    lua_setmetatable(L, -2);
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

static int unknown_field(lua_State *L, const script_view_class *kind)
{
    if (lua_type(L, 2) != LUA_TSTRING)
        return luaL_error(L, "%s: the name of a field was expected, not [%s]", kind->word, luaL_tolstring(L, 2, NULL));
    const char *word = lua_tostring(L, 2), *near = script_name_nearest(L, kind->word, word);
    if (near != NULL) return luaL_error(L, "%s: no field \"%s\": did you mean \"%s\"?", kind->word, word, near);
    return luaL_error(L, "%s: no field \"%s\"", kind->word, word);
}

static int get(lua_State *L)
{
    const script_view *view = script_view_self(L);
    const script_view_class *kind = view_class(L);
    lua_pushvalue(L, 2);
    int type = lua_rawget(L, lua_upvalueindex(NAMES));
    if (type == LUA_TNUMBER)
        kind->read(L, view, (int)lua_tointeger(L, -1));
    else if (type == LUA_TNIL)
        return unknown_field(L, kind);
    return 1;
}

static int set(lua_State *L)
{
    const script_view *view = script_view_self(L);
    const script_view_class *kind = view_class(L);
    lua_pushvalue(L, 2);
    int type = lua_rawget(L, lua_upvalueindex(NAMES));
    if (type == LUA_TNIL) return unknown_field(L, kind);
    int field = type == LUA_TNUMBER ? (int)lua_tointeger(L, -1) : -1;
    if (field < 0 || kind->write == NULL || !kind->write(L, view, field))
        return luaL_error(L, "%s.%s is read-only", kind->word, lua_tostring(L, 2));
    return 0;
}

/* --- metatables --------------------------------------------------------------------------------------------------- */

static void push_names(lua_State *L, const script_view_class *kind, int metatable)
{
    lua_newtable(L);
    for (int i = 0; kind->fields[i] != NULL; i++) {
        script_name_add(L, kind->word, kind->fields[i]);
        lua_pushinteger(L, i);
        lua_setfield(L, -2, kind->fields[i]);
    }
    for (const luaL_Reg *method = kind->methods; method->name != NULL; method++) {
        script_name_add(L, kind->word, method->name);
        lua_pushvalue(L, metatable);
        lua_pushlightuserdata(L, (void *)kind);
        lua_pushcclosure(L, method->func, 2);
        lua_setfield(L, -2, method->name);
    }
}

static void set_closure(lua_State *L, const char *name, lua_CFunction fn, const script_view_class *kind, int metatable,
                        int names)
{
    lua_pushvalue(L, metatable);
    lua_pushlightuserdata(L, (void *)kind);
    lua_pushvalue(L, names);
    lua_pushcclosure(L, fn, 3);
    lua_setfield(L, metatable, name);
}

void script_view_open(lua_State *L, const script_view_class *kind)
{
    lua_newtable(L);
    int metatable = lua_gettop(L);
    push_names(L, kind, metatable);
    set_closure(L, "__index", get, kind, metatable, metatable + 1);
    set_closure(L, "__newindex", set, kind, metatable, metatable + 1);
    lua_pop(L, 1);
    lua_pushstring(L, kind->word);
    lua_setfield(L, metatable, "__name");
    lua_pushboolean(L, 0);
    lua_setfield(L, metatable, "__metatable");
    lua_rawsetp(L, LUA_REGISTRYINDEX, kind);
}
