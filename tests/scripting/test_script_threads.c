/* Two contexts with a script each in two threads: states, limits, coroutines and callbacks are independent. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "state/state.h"
#include "support/harness.h"

enum { THREADS = 2, ROUNDS = 5 };

static const char text[] =
    "local t = {}\n"
    "for i = 1, 2000 do t[i] = ('%d'):format(i * start) end\n"
    "local co = coroutine.wrap(function() for i, s in ipairs(t) do coroutine.yield(#s:gsub('1', '11')) end end)\n"
    "return function() return co() end\n";

typedef struct worker {
    int32_t number;
    int64_t sum;       /* sum of the script function's results */
    int32_t stopped;   /* number of endless loops that were stopped */
    const char *error; /* NULL: success */
    char message[200];
} worker;

/* Return the result of a callback of this thread's script. */
static int32_t number_by_callback(rill_context *ctx, const worker *w)
{
    rill_script_options options = {.struct_size = sizeof options, .unsafe = 1};
    rill_script *script;
    char native[100];
    snprintf(native, sizeof native, "return rill.ffi.callback('int()', function() return %d end)", (int)w->number);
    if (rill_script_load_text(&script, ctx, "native.lua", native, strlen(native), &options) < 0) return -1;
    lua_rawgeti(script->L, LUA_REGISTRYINDEX, script->result);
    int32_t (*number)(void);
    void *code = lua_touserdata(script->L, -1);
    memcpy(&number, &code, sizeof code);
    lua_pop(script->L, 1);
    return number();
}

static rill_status run_rounds(rill_context *ctx, worker *w)
{
    rill_script_options options = {.struct_size = sizeof options, .instructions = 2000000};
    rill_script *script;
    char all[1000];
    snprintf(all, sizeof all, "local start = %d\n%s", (int)w->number, text);
    rill_status status = rill_script_load_text(&script, ctx, "thread.lua", all, strlen(all), &options);
    for (int i = 0; i < 1000 && status == RILL_OK; i++) {
        lua_rawgeti(script->L, LUA_REGISTRYINDEX, script->result);
        status = script_call(script, 0, 1);
        if (status < 0) break;
        w->sum += lua_tointeger(script->L, -1);
        lua_pop(script->L, 1);
    }
    if (status == RILL_OK && number_by_callback(ctx, w) != w->number)
        status = rill_fail(ctx, RILL_ERR_CHECK, "a callback of another thread's");
    rill_script *endless;
    w->stopped += rill_script_load_text(&endless, ctx, "endless.lua", "while true do end", 17, &options) ==
                  RILL_ERR_PLUGIN;
    return status;
}

static void *work(void *user)
{
    worker *w = user;
    for (int i = 0; i < ROUNDS && w->error == NULL; i++) {
        rill_context *ctx;
        if (rill_context_create(&ctx, NULL) < 0) return NULL;
        if (run_rounds(ctx, w) < 0) {
            snprintf(w->message, sizeof w->message, "%s", rill_error(ctx));
            w->error = w->message;
        }
        rill_context_destroy(ctx);
    }
    return NULL;
}

static void threads_do_not_meet(void **state)
{
    (void)state;
    worker together[THREADS] = {{.number = 3}, {.number = 17}}, alone[THREADS] = {{.number = 3}, {.number = 17}};
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, work, &together[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        if (together[i].error != NULL) fail_msg("%s", together[i].error);
        work(&alone[i]);
        assert_int_equal(together[i].sum, alone[i].sum);
        assert_int_equal(together[i].stopped, ROUNDS);
    }
    assert_true(alone[0].sum != alone[1].sum);
}

int main(int argc, char **argv)
{
    if (harness_options(argc, argv) != 0) return 2;
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_do_not_meet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
