/* bench_script_native.c: the cost of a call through rill.ffi: in a chain, from Lua, and back into Lua.
 *
 * usage: bench_script_native NATIVE_SO     (build/examples/native.so)
 *
 * Method: each sample is 300 calls, short enough to be seldom interrupted; the variants alternate, so that other load
 * affects all of them. Medians of 1,001 samples, one thread. In a chain a heuristic is
 * called with one item that has no candidates, so that the call is nearly the whole cost: a C function, a bound
 * function, and a Lua function that does nothing. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "native/native.h"

enum { SAMPLES = 1001, CALLS = 300 };

static const char chunk[] =
    "local lib, libm = rill.ffi.open(path), rill.ffi.open('libm.so.6')\n"
    "local fabs, root = libm:bind('fabs', 'double(double)'), lib:bind('root', 'double(void*, double, double)')\n"
    "local fma = libm:bind('fma', 'double(double, double, double)')\n"
    "local clear_below = lib:bind('clear_below', 'void(uint8*, const double*, size_t, double)')\n"
    "local abs, mark, value = math.abs, rill.ffi.array('uint8', 1), rill.array{1}\n"
    "local falling = rill.ffi.callback('double(double)', function(x) return 1 - x end)\n"
    "prune = lib:bind('prune', 'void(candidates*, double)'):with(10)\n"
    "rill.heuristic{name = 'nothing', apply = function(b) end}\n"
    "loops = {\n"
    "  function(n) for i = 1, n do end end,\n"
    "  function(n) for i = 1, n do abs(1.5) end end,\n"
    "  function(n) for i = 1, n do fabs(1.5) end end,\n"
    "  function(n) for i = 1, n do fma(1.5, 2.5, 3.5) end end,\n"
    "  function(n) for i = 1, n do clear_below(mark, value, 1, 0) end end,\n"
    "  function(n) for i = 1, n // 60 do root(falling, 0, 100) end end,\n" /* each root() makes 60 callbacks */
    "}\n";

static const char *const names[] = {"an empty loop in Lua",
                                    "math.abs(x)",
                                    "fabs(x), bound",
                                    "fma(x, y, z), bound",
                                    "two arrays and two numbers, bound",
                                    "a callback into Lua, within a bound call",
                                    "prune(no candidates): C",
                                    "prune(no candidates): bound, in a chain",
                                    "function(b) end, in a chain"};
enum { LOOPS = 6, ROWS = 9 };

typedef void (*prune_fn)(rill_candidates *candidates, double delta);

typedef struct bench {
    rill_script *script;
    const char *path;
    const rill_heuristic *bound, *lua;
    void *bound_self, *lua_self;
    prune_fn prune;
    int loop;
} bench;

/* --- protected: functions that may raise ------------------------------------------------------------------------------------ */

static int prepare(lua_State *L)
{
    bench *l = lua_touserdata(L, 1);
    char name[SCRIPT_NAME_MAX];
    lua_pushstring(L, l->path);
    lua_setglobal(L, "path");
    if (luaL_loadstring(L, chunk) != LUA_OK) return lua_error(L);
    lua_call(L, 0, 0);
    lua_getglobal(L, "prune");
    script_native_register(L, -1, SCRIPT_HEURISTIC, name);
    l->bound = rill_find_heuristic(l->script->ctx, name);
    l->lua = rill_find_heuristic(l->script->ctx, "nothing");
    return 0;
}

static int run_loop(lua_State *L)
{
    const bench *l = lua_touserdata(L, 1);
    lua_getglobal(L, "loops");
    lua_rawgeti(L, -1, l->loop + 1);
    lua_pushinteger(L, CALLS);
    lua_call(L, 1, 0);
    return 0;
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

static rill_status run_row(bench *l, int row)
{
    static const int32_t offset[2], zero[1];
    static const int64_t id[1];
    static const double best[1];
    int32_t width[1] = {INT32_MAX};
    uint8_t marks[2] = {0};
    rill_candidates none = {
        .struct_size = sizeof none, .n = 1, .offset = offset, .item_id = id, .k = zero, .timestep = zero};
    none.outputs = zero;
    none.best_output_score = none.best_path_score = best;
    none.width = width;
    none.keep = none.stop = marks;
    rill_status status = RILL_OK;
    l->loop = row;
    if (row < LOOPS) return script_protect(l->script, run_loop, l);
    for (int i = 0; i < CALLS && status >= 0; i++) {
        if (row == LOOPS)
            l->prune(&none, 10);
        else if (row == LOOPS + 1)
            status = l->bound->apply(l->bound_self, &none);
        else
            status = l->lua->apply(l->lua_self, &none);
    }
    return status;
}

static rill_status measure(bench *l, double ns[ROWS][SAMPLES])
{
    for (int i = 0; i < SAMPLES; i++)
        for (int row = 0; row < ROWS; row++) {
            double start = now();
            rill_status status = run_row(l, row);
            if (status < 0) return status;
            ns[row][i] = (now() - start) * 1e9 / CALLS;
        }
    return RILL_OK;
}

static rill_status run(rill_context *ctx, const char *path)
{
    static double ns[ROWS][SAMPLES];
    bench l = {.path = path};
    rill_script_options options = {.struct_size = sizeof options, .unsafe = 1};
    rill_status status = rill_script_load_text(&l.script, ctx, "bench", "", 0, &options);
    if (status == RILL_OK) status = script_protect(l.script, prepare, &l);
    if (status == RILL_OK) status = l.bound->create(l.bound, ctx, "", &l.bound_self);
    if (status == RILL_OK) status = l.lua->create(l.lua, ctx, "", &l.lua_self);
    if (status < 0) return status;
    void *library = dlopen(path, RTLD_NOW), *symbol = library != NULL ? dlsym(library, "prune") : NULL;
    if (symbol == NULL) return rill_fail(ctx, RILL_ERR_NOT_FOUND, "%s", dlerror());
    memcpy(&l.prune, &symbol, sizeof l.prune);
    status = measure(&l, ns);
    for (int row = 0; row < ROWS && status == RILL_OK; row++) {
        qsort(ns[row], SAMPLES, sizeof ns[row][0], ascending);
        printf("%8.1f ns   %s\n", ns[row][SAMPLES / 2], names[row]);
    }
    l.lua->destroy(l.lua_self);
    dlclose(library);
    return status;
}

int main(int argc, char **argv)
{
    rill_context *ctx;
    if (argc != 2) return fprintf(stderr, "usage: bench_script_native NATIVE_SO\n"), 2;
    if (rill_context_create(&ctx, NULL) != RILL_OK) return 1;
    rill_status status = run(ctx, argv[1]);
    if (status < 0) fprintf(stderr, "%s\n", rill_error(ctx));
    rill_context_destroy(ctx);
    return status < 0;
}
