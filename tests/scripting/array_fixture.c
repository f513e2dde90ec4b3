/* See array_fixture.h. */
#include "array_fixture.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_VIEWS = 16 };

typedef struct view {
    char name[32];
    array_type type;
    array_level level;
    int writable;
    int32_t n;
    void *data;
} view;

typedef struct call {
    int32_t *offset;
    int32_t items, cells;
    view view[MAX_VIEWS];
    int n;
} call;

static const char *const types[] = {"float64", "float32", "int32", "int64", "mask", NULL};
static const char *const levels[] = {"plain", "items", "cells", NULL};
static const size_t sizes[] = {sizeof(double), sizeof(float), sizeof(int32_t), sizeof(int64_t), sizeof(uint8_t)};

/* --- memory of an engine call ------------------------------------------------------------------------------------- */

static void write_value(lua_State *L, const view *v, int32_t i)
{
    switch (v->type) {
    case ARRAY_F64: ((double *)v->data)[i] = lua_tonumber(L, -1); break;
    case ARRAY_F32: ((float *)v->data)[i] = (float)lua_tonumber(L, -1); break;
    case ARRAY_I32: ((int32_t *)v->data)[i] = (int32_t)lua_tointeger(L, -1); break;
    case ARRAY_I64: ((int64_t *)v->data)[i] = lua_tointeger(L, -1); break;
    case ARRAY_U8: ((uint8_t *)v->data)[i] = (uint8_t)lua_tointeger(L, -1); break;
    }
}

static void push_value(lua_State *L, const view *v, int32_t i)
{
    switch (v->type) {
    case ARRAY_F64: lua_pushnumber(L, ((const double *)v->data)[i]); break;
    case ARRAY_F32: lua_pushnumber(L, (double)((const float *)v->data)[i]); break;
    case ARRAY_I32: lua_pushinteger(L, ((const int32_t *)v->data)[i]); break;
    case ARRAY_I64: lua_pushinteger(L, ((const int64_t *)v->data)[i]); break;
    case ARRAY_U8: lua_pushinteger(L, ((const uint8_t *)v->data)[i]); break;
    }
}

static void read_view(lua_State *L, view *v)
{
    lua_getfield(L, -1, "name");
    strncpy(v->name, luaL_checkstring(L, -1), sizeof v->name - 1);
    lua_getfield(L, -2, "type");
    v->type = (array_type)luaL_checkoption(L, -1, NULL, types);
    lua_getfield(L, -3, "level");
    v->level = (array_level)luaL_checkoption(L, -1, NULL, levels);
    lua_getfield(L, -4, "writable");
    v->writable = lua_toboolean(L, -1);
    lua_getfield(L, -5, "values");
    luaL_checktype(L, -1, LUA_TTABLE);
    v->n = (int32_t)lua_rawlen(L, -1);
    v->data = malloc((size_t)v->n * sizes[v->type]);
    for (int32_t i = 0; i < v->n; i++) {
        lua_rawgeti(L, -1, i + 1);
        write_value(L, v, i);
        lua_pop(L, 1);
    }
    lua_pop(L, 5);
}

static void read_call(lua_State *L, call *c)
{
    int32_t base = (int32_t)luaL_checkinteger(L, 2);
    c->items = (int32_t)lua_rawlen(L, 1);
    c->offset = malloc(((size_t)c->items + 1) * sizeof *c->offset);
    c->offset[0] = base;
    for (int32_t i = 0; i < c->items; i++) {
        lua_rawgeti(L, 1, i + 1);
        c->offset[i + 1] = c->offset[i] + (int32_t)lua_tointeger(L, -1);
        lua_pop(L, 1);
    }
    c->n = (int)lua_rawlen(L, 3);
    if (c->n > MAX_VIEWS) c->n = MAX_VIEWS;
    for (int i = 0; i < c->n; i++) {
        lua_rawgeti(L, 3, i + 1);
        read_view(L, &c->view[i]);
        lua_pop(L, 1);
    }
}

/* The Lua function run(arrays), with the call's arrays at upvalue 1. */
static int run_views(lua_State *L)
{
    const call *c = lua_touserdata(L, lua_upvalueindex(1));
    lua_createtable(L, 0, c->n);
    for (int i = 0; i < c->n; i++) {
        const view *v = &c->view[i];
        script_array_push(L, v->type, v->data, v->n, v->level, v->writable);
        lua_setfield(L, -2, v->name);
    }
    lua_call(L, 1, 1);
    return 1;
}

static void push_contents(lua_State *L, const call *c)
{
    lua_createtable(L, 0, c->n);
    for (int i = 0; i < c->n; i++) {
        const view *v = &c->view[i];
        lua_createtable(L, v->n, 0);
        for (int32_t j = 0; j < v->n; j++) {
            push_value(L, v, j);
            lua_rawseti(L, -2, j + 1);
        }
        lua_setfield(L, -2, v->name);
    }
}

static int free_call(lua_State *L)
{
    call *c = lua_touserdata(L, 1);
    for (int i = 0; i < c->n; i++) free(c->view[i].data);
    free(c->offset);
    *c = (call){0};
    return 0;
}

static int engine(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    lua_settop(L, 4);
    call *c = lua_newuserdatauv(L, sizeof *c, 0);
    *c = (call){0};
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, free_call);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2); /* from here on, the memory is freed even if an error is raised */
    read_call(L, c);
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, run_views, 1);
    lua_pushvalue(L, 4);
    script_frame frame = script_begin(s, c->offset, c->items);
    int code = lua_pcall(L, 1, 1, 0);
    script_end(s, frame);
    if (code == LUA_OK) push_contents(L, c);
    /* free the call's memory now, so that using an array of this call later would read freed memory */
    lua_pushcfunction(L, free_call);
    lua_pushvalue(L, 5);
    lua_call(L, 1, 0);
    if (code != LUA_OK) return lua_error(L);
    lua_insert(L, -2);
    return 2;
}

/* --- the script --------------------------------------------------------------------------------------------------- */

static int roll(lua_State *L)
{
    array_fixture *fixture = lua_touserdata(L, lua_upvalueindex(1));
    lua_Integer low = luaL_checkinteger(L, 1), high = luaL_checkinteger(L, 2);
    luaL_argcheck(L, low <= high, 2, "not below the first");
    lua_pushinteger(L, dice_range(&fixture->d, (int32_t)low, (int32_t)high));
    return 1;
}

static int load(lua_State *L)
{
    array_fixture *fixture = lua_touserdata(L, 1);
    lua_pushcfunction(L, engine);
    lua_setglobal(L, "engine");
    lua_pushlightuserdata(L, fixture);
    lua_pushcclosure(L, roll, 1);
    lua_setglobal(L, "dice");
    if (luaL_loadfilex(L, LUA_FOLDER "/arrays.lua", "t") != LUA_OK) return lua_error(L);
    if (luaL_loadfilex(L, LUA_FOLDER "/array_model.lua", "t") != LUA_OK) return lua_error(L);
    lua_call(L, 0, 1);
    lua_call(L, 1, 1);
    luaL_checktype(L, -1, LUA_TTABLE);
    fixture->tests = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

rill_status array_fixture_open(array_fixture *fixture, rill_context *ctx, const rill_script_options *options)
{
    *fixture = (array_fixture){0};
    rill_status status = script_make(&fixture->s, ctx, "arrays.lua", options);
    if (status == RILL_OK) status = script_protect(fixture->s, load, fixture);
    if (status < 0) array_fixture_close(fixture);
    return status;
}

typedef struct order {
    array_fixture *fixture;
    const char *test;
} order;

static int run(lua_State *L)
{
    const order *o = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, o->fixture->tests);
    if (lua_getfield(L, -1, o->test) != LUA_TFUNCTION) return luaL_error(L, "there is no test \"%s\"", o->test);
    lua_call(L, 0, 0);
    return 0;
}

rill_status array_fixture_run(array_fixture *fixture, const char *test, dice d)
{
    order o = {fixture, test};
    fixture->d = d;
    return script_protect(fixture->s, run, &o);
}

void array_fixture_close(array_fixture *fixture)
{
    script_destroy(fixture->s);
    fixture->s = NULL;
}
