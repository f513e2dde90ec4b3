/* Views: userdata that give scripts access to engine structs during one call (arrays.h).
 *
 * The registry has each class's metatable under the class's address. Upvalues of a view's functions: 1 the class; 2 a method's number, or
 * the table of fields and methods. */
#include <string.h>

#include "arrays.h"

enum { CLASS = 1, NUMBER_OR_NAMES };

static const script_view_class *view_class(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(CLASS));
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
    if (view->stamp != script_from_lua(L)->frame.stamp)
        luaL_error(L, "%s of a call that is over, or interrupted by this one: rill.array(a) keeps a copy of an array",
                   kind->word);
    return view;
}

const script_view *script_view_self(lua_State *L)
{
    return script_view_check(L, 1, view_class(L));
}

int script_view_number(lua_State *L)
{
    return (int)lua_tointeger(L, lua_upvalueindex(NUMBER_OR_NAMES));
}

const int32_t *script_view_cells(lua_State *L)
{
    const script_frame *call = &script_from_lua(L)->frame;
    const lua_Integer i = luaL_checkinteger(L, 2);
    luaL_argcheck(L, i >= 1 && i <= call->items, 2, "not the number of an item");
    return &call->offset[i - 1];
}

int script_view_range(lua_State *L)
{
    script_view_self(L);
    const int32_t *offset = script_view_cells(L);
    lua_pushinteger(L, offset[0] + 1);
    lua_pushinteger(L, offset[1]);
    return 2;
}

void script_view_push(lua_State *L, const script_view_class *kind, void *data, const void *call)
{
    script_view *view = lua_newuserdatauv(L, sizeof *view, 0);
    *view = (script_view){script_from_lua(L)->frame.stamp, data, call};
    lua_rawgetp(L, LUA_REGISTRYINDEX, kind);
    lua_setmetatable(L, -2);
}

/* --- fields of a view --------------------------------------------------------------------------------------------- */

static void *field_data(const script_view_field *f, const script_view *view)
{
    void *data;
    memcpy(&data, (const char *)view->data + f->offset, sizeof data);
    return data;
}

static int32_t field_length(const rill_script *s, const script_view_class *kind, const script_view_field *f,
                            const script_view *view)
{
    if (f->level != ARRAY_PLAIN) return f->level == ARRAY_ITEMS ? s->frame.items : s->frame.cells;
    return *(const int32_t *)(const void *)((const char *)view->data + kind->n_offset);
}

static void push_field(lua_State *L, const script_view_class *kind, const script_view_field *f, const script_view *view)
{
    const rill_script *s = script_from_lua(L);
    const void *member = (const char *)view->data + f->offset;
    switch (f->kind) {
    case VIEW_INT32: lua_pushinteger(L, *(const int32_t *)member); break;
    case VIEW_INT64: lua_pushinteger(L, *(const int64_t *)member); break;
    case VIEW_DOUBLE: lua_pushnumber(L, *(const double *)member); break;
    case VIEW_ITEMS: lua_pushinteger(L, s->frame.items); break;
    case VIEW_CELLS: lua_pushinteger(L, s->frame.cells); break;
    case VIEW_READ: f->read(L, view, f->level); break;
    case VIEW_ARRAY:
        script_array_push(L, f->type, field_data(f, view), field_length(s, kind, f, view), f->level, f->writing);
        break;
    }
}

/* Look up the name at stack index 2. Pushes a field's index (LUA_TNUMBER) or a method's function (LUA_TFUNCTION), else raises. */
static int find_name(lua_State *L, const script_view_class *kind)
{
    lua_pushvalue(L, 2);
    const int type = lua_rawget(L, lua_upvalueindex(NUMBER_OR_NAMES));
    if (type != LUA_TNIL) return type;
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
    if (find_name(L, kind) == LUA_TNUMBER) push_field(L, kind, &kind->fields[lua_tointeger(L, -1)], view);
    return 1;
}

static int set(lua_State *L)
{
    const script_view *view = script_view_self(L);
    const script_view_class *kind = view_class(L);
    const int is_field = find_name(L, kind) == LUA_TNUMBER;
    const script_view_field *f = &kind->fields[is_field ? lua_tointeger(L, -1) : 0];
    if (!is_field || f->writing != ARRAY_MARKS)
        return luaL_error(L, "%s.%s is read-only", kind->word, lua_tostring(L, 2));
    const int32_t n = field_length(script_from_lua(L), kind, f, view);
    script_array_store(L, 3, f->type, field_data(f, view), n, f->level,
                       lua_pushfstring(L, "%s.%s", kind->variable, f->name));
    return 0;
}

void script_view_advance(const script_view_class *kind, void *data, int32_t item, int32_t cell)
{
    for (const script_view_field *f = kind->fields; f->name != NULL; f++) {
        if (f->kind != VIEW_ARRAY || f->level == ARRAY_PLAIN) continue;
        char *member = (char *)data + f->offset, *first;
        memcpy(&first, member, sizeof first);
        first += (size_t)(f->level == ARRAY_ITEMS ? item : cell) * array_sizes[f->type];
        memcpy(member, &first, sizeof first);
    }
}

/* --- metatables --------------------------------------------------------------------------------------------------- */

static void push_names(lua_State *L, const script_view_class *kind)
{
    lua_newtable(L);
    for (int i = 0; kind->fields[i].name != NULL; i++) {
        script_name_add(L, kind->word, kind->fields[i].name);
        lua_pushinteger(L, i);
        lua_setfield(L, -2, kind->fields[i].name);
    }
    for (const script_view_method *method = kind->methods; method != NULL && method->name != NULL; method++) {
        script_name_add(L, kind->word, method->name);
        lua_pushlightuserdata(L, (void *)kind);
        lua_pushinteger(L, method->number);
        lua_pushcclosure(L, method->function, 2);
        lua_setfield(L, -2, method->name);
    }
}

void script_view_open(lua_State *L, const script_view_class *kind)
{
    static const luaL_Reg functions[] = {{"__index", get}, {"__newindex", set}, {NULL, NULL}};
    lua_newtable(L);
    lua_pushlightuserdata(L, (void *)kind);
    push_names(L, kind);
    luaL_setfuncs(L, functions, 2);
    lua_pushstring(L, kind->word);
    lua_setfield(L, -2, "__name");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_rawsetp(L, LUA_REGISTRYINDEX, kind);
}
