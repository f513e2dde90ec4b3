/* A script's Lua state: making it, calling into it, and what bounds a call. */
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "state.h"

enum { DEFAULT_MEMORY = 256 << 20, STRIDE = 1000 };
#define DEFAULT_INSTRUCTIONS INT64_C(200000000)

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void *allocate(void *user, void *block, size_t old_size, size_t new_size)
{
    rill_script *s = user;
    if (block == NULL) old_size = 0; /* Lua then passes a kind of object */
    if (new_size == 0) {
        rill_free(s->ctx, block, old_size);
        s->memory -= old_size;
        return NULL;
    }
    if (new_size > old_size && s->memory + (new_size - old_size) > s->options.memory) return NULL;
    void *fresh = rill_alloc(s->ctx, new_size);
    if (fresh == NULL) return NULL;
    if (block != NULL) {
        memcpy(fresh, block, old_size < new_size ? old_size : new_size);
        rill_free(s->ctx, block, old_size);
    }
    s->memory += new_size - old_size;
    return fresh;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

rill_script *script_of(lua_State *L)
{
    void *user;
    lua_getallocf(L, &user);
    return user;
}

/* Count instructions in strides. Once they are used up every further instruction raises again, so that no pcall() of the
 * script's can go on. */
static void count(lua_State *L, lua_Debug *record)
{
    (void)record;
    rill_script *s = script_of(L);
    s->instructions -= STRIDE;
    if (s->instructions > 0 && !s->exhausted) return;
    s->exhausted = 1;
    lua_sethook(L, count, LUA_MASKCOUNT, 1);
    luaL_error(L, "the script was stopped after %d million instructions in one call: an endless loop? "
                  "(--script-steps raises the limit)",
               (int)(s->options.instructions / 1000000));
}

static int with_traceback(lua_State *L)
{
    const char *message = lua_tostring(L, 1);
    if (message == NULL) message = luaL_tolstring(L, 1, NULL);
    luaL_traceback(L, L, message, 1);
    return 1;
}

static rill_status fail_call(rill_script *s, int code)
{
    lua_State *L = s->L;
    const char *message = lua_tostring(L, -1);
    rill_status status = code == LUA_ERRMEM ? RILL_ERR_MEMORY : RILL_ERR_PLUGIN;
    if (code == LUA_ERRMEM)
        rill_fail(s->ctx, status, "script %s: not enough memory (it holds %zu bytes; --script-memory sets the limit)",
                  s->path, s->memory);
    else
        rill_fail(s->ctx, status, "%s", message != NULL ? message : "an error without a message");
    lua_pop(L, 1);
    return status;
}

rill_status script_call(rill_script *s, int arguments, int results)
{
    lua_State *L = s->L;
    int64_t before = s->instructions;
    int base = lua_gettop(L) - arguments;
    lua_pushcfunction(L, with_traceback);
    lua_insert(L, base);
    s->instructions = s->options.instructions;
    s->depth++;
    lua_sethook(L, count, LUA_MASKCOUNT, STRIDE);
    int code = lua_pcall(L, arguments, results, base);
    s->depth--;
    if (s->depth == 0) s->exhausted = 0;
    s->instructions = before;
    lua_remove(L, base);
    return code == LUA_OK ? RILL_OK : fail_call(s, code);
}

rill_status script_protect(rill_script *s, lua_CFunction fn, void *user)
{
    lua_pushcfunction(s->L, fn);
    lua_pushlightuserdata(s->L, user);
    return script_call(s, 1, 0);
}

int script_raise(lua_State *L, rill_status status)
{
    return luaL_error(L, "%s", status < 0 ? rill_error(script_of(L)->ctx) : rill_status_name(status));
}

script_frame script_begin(rill_script *s, const int32_t *offset, int32_t items)
{
    script_frame before = {s->stamp, s->offset, s->items, s->cells};
    s->stamp = ++s->last_stamp;
    s->offset = offset;
    s->items = items;
    s->cells = offset != NULL ? offset[items] - offset[0] : 0;
    return before;
}

void script_end(rill_script *s, script_frame frame)
{
    s->stamp = frame.stamp;
    s->offset = frame.offset;
    s->items = frame.items;
    s->cells = frame.cells;
}

size_t rill_script_memory(const rill_script *script)
{
    return script->memory;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

void script_destroy(rill_script *s)
{
    if (s == NULL) return;
    if (s->main != NULL) lua_close(s->main);
    script_closures_free(s);
    rill_free(s->ctx, s->path, s->path_size);
    rill_free(s->ctx, s, sizeof *s);
}

rill_status script_create(rill_script **out, rill_context *ctx, const char *path, const rill_script_options *options)
{
    rill_script *s = rill_calloc(ctx, 1, sizeof *s);
    if (s == NULL) return rill_fail_memory(ctx, sizeof *s, "a script");
    s->ctx = ctx;
    s->result = LUA_NOREF;
    if (options != NULL) s->options = *options;
    if (s->options.memory == 0) s->options.memory = DEFAULT_MEMORY;
    if (s->options.instructions == 0) s->options.instructions = DEFAULT_INSTRUCTIONS;
    s->path_size = strlen(path) + 1;
    s->path = rill_alloc(ctx, s->path_size);
    if (s->path != NULL) {
        memcpy(s->path, path, s->path_size);
        s->main = s->L = lua_newstate(allocate, s);
    }
    rill_status status = s->main == NULL ? rill_fail_memory(ctx, s->path_size, "a script's state") : RILL_OK;
    if (status == RILL_OK) status = script_protect(s, script_open_libraries, NULL);
    if (status < 0)
        script_destroy(s);
    else
        *out = s;
    return status;
}
