/* Script states: loading, failures and their messages, nested calls. The scripts return the function that the test
 * calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rill/plugin.h"
#include "state/limits.h"
#include "support/harness.h"

static rill_script *loaded(rill_context *ctx, const char *text, const rill_script_options *options)
{
    rill_script *script = NULL;
    if (rill_script_load_text(&script, ctx, "test.lua", text, strlen(text), options) < 0)
        fail_msg("%s", rill_error(ctx));
    return script;
}

static rill_status load(rill_context *ctx, const char *text)
{
    rill_script *script;
    rill_status status = rill_script_load_text(&script, ctx, "test.lua", text, strlen(text), NULL);
    assert_true((status == RILL_OK) == (script != NULL));
    return status;
}

static void push_result(rill_script *script)
{
    lua_rawgeti(script->L, LUA_REGISTRYINDEX, script->result);
}

/* Call the function that the script returned. Its result is an integer. */
static rill_status call(rill_script *script, int64_t *out)
{
    push_result(script);
    rill_status status = script_call(script, 0, 1);
    if (status == RILL_OK) {
        *out = lua_tointeger(script->L, -1);
        lua_pop(script->L, 1);
    }
    assert_int_equal(lua_gettop(script->main), 0);
    assert_ptr_equal(script->L, script->main);
    return status;
}

static void expect_error(rill_context *ctx, const char *words)
{
    if (strstr(rill_error(ctx), words) == NULL) fail_msg("\"%s\" is not in: %s", words, rill_error(ctx));
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static char folder[64];

static const char *written(const char *name, const char *text, size_t length)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
    return path;
}

static rill_status load_file(rill_context *ctx, const char *path)
{
    rill_script *script;
    return rill_script_load(&script, ctx, path, NULL);
}

#define LOAD(ctx, text) load_file(ctx, written("script.lua", text, sizeof text - 1))

static void files_are_read_as_they_are(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    assert_int_equal(LOAD(ctx, ""), RILL_OK);
    assert_int_equal(LOAD(ctx, "return 1"), RILL_OK);
    assert_int_equal(LOAD(ctx, "#!/usr/bin/env rill\nreturn 1\n"), RILL_OK);
    assert_int_equal(LOAD(ctx, "#!no newline"), RILL_OK);
    assert_int_equal(LOAD(ctx, "\xef\xbb\xbfreturn 1"), RILL_OK);
    assert_int_equal(LOAD(ctx, "\xef\xbb\xbf#!both\r\nreturn 1\r\n"), RILL_OK);
    assert_int_equal(LOAD(ctx, "#!line 1\n\nerror('x')"), RILL_ERR_PLUGIN);
    expect_error(ctx, "script.lua:3: x");
    assert_int_equal(LOAD(ctx, "\xef\xbb"), RILL_ERR_PLUGIN);
    assert_int_equal(LOAD(ctx, "return 1\0"), RILL_ERR_PLUGIN);
    assert_int_equal(LOAD(ctx, "\x1bLuaR"), RILL_ERR_PLUGIN);
    assert_int_equal(LOAD(ctx, "local x = = 1"), RILL_ERR_PLUGIN);
    expect_error(ctx, "script.lua:1: unexpected symbol near '='");
    assert_null(strstr(rill_error(ctx), "traceback"));
    rill_context_destroy(ctx);
}

static void files_that_cannot_be_read_are_named(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    assert_int_equal(load_file(ctx, "no/such/file.lua"), RILL_ERR_NOT_FOUND);
    expect_error(ctx, "cannot open no/such/file.lua: No such file");
    assert_int_equal(load_file(ctx, folder), RILL_ERR_IO);
    expect_error(ctx, "it is a directory, expected a regular file");
    const char *path = written("shut.lua", "return 1", 8);
    if (geteuid() != 0) { /* root may read every file */
        chmod(path, 0);
        assert_int_equal(load_file(ctx, path), RILL_ERR_IO);
        expect_error(ctx, "Permission denied");
    }
    rill_script_options small = {.struct_size = sizeof small, .memory = 100000};
    rill_script *script;
    static char comment[300000] = "--";
    memset(comment + 2, 'x', sizeof comment - 2);
    path = written("large.lua", comment, sizeof comment);
    assert_int_equal(rill_script_load(&script, ctx, path, &small), RILL_ERR_FORMAT);
    expect_error(ctx, "large.lua is larger than 100000 bytes");
    rill_context_destroy(ctx);
}

static void long_paths_are_not_cut(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    rill_script *script;
    char path[300] = "/a";
    while (strlen(path) < 200) strcat(path, "/folder");
    strcat(path, "/script.lua");
    static const char *const texts[] = {"error('x')", "x = = 1", "local t = nil; t.x = 1"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rill_script_load_text(&script, ctx, path, texts[i], strlen(texts[i]), NULL), RILL_ERR_PLUGIN);
        assert_memory_equal(rill_error(ctx), path, strlen(path));
        assert_memory_equal(rill_error(ctx) + strlen(path), ":1: ", 4);
    }
    rill_context_destroy(ctx);
}

/* --- failures ----------------------------------------------------------------------------------------------------- */

static void tracebacks_name_the_script_s_functions(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    static const char text[] = "local function inner(x)\n"
                               "  return x.field\n"
                               "end\n"
                               "function outer()\n"
                               "  table.sort({2, 1}, function() inner() end)\n"
                               "end\n"
                               "outer()\n";
    assert_int_equal(load(ctx, text), RILL_ERR_PLUGIN);
    assert_string_equal(rill_error(ctx), "test.lua:2: attempt to index a nil value (local 'x')\n"
                                         "stack traceback:\n"
                                         "\ttest.lua:2: in upvalue 'inner'\n"
                                         "\ttest.lua:5: in the function defined at line 5\n"
                                         "\ttest.lua:5: in global 'outer'\n"
                                         "\ttest.lua:7: in the main chunk");
    assert_int_equal(load(ctx, "error('no place', 0)"), RILL_ERR_PLUGIN);
    assert_string_equal(rill_error(ctx),
                        "script test.lua: no place\nstack traceback:\n\ttest.lua:1: in the main chunk");
    rill_context_destroy(ctx);
}

/* Each coroutine.wrap() would prefix the message with its position; the message must have one position. */
static void coroutine_positions_appear_once(void **state)
{
    (void)state;
    static const char text[] = "local function deep(n)\n"
                               "  if n == 0 then error('the bottom: here') end\n"
                               "  coroutine.wrap(deep)(n - 1)\n"
                               "end\n"
                               "deep(%d)\n";
    static const char *const messages[] = {
        "test.lua:2: the bottom: here",
        "test.lua:3: test.lua:2: the bottom: here",
        "test.lua:3: test.lua:3: test.lua:2: the bottom: here",
        "test.lua:3: ... test.lua:3: test.lua:2: the bottom: here",
        "test.lua:3: ... test.lua:3: test.lua:2: the bottom: here",
    };
    for (int n = 0; n < 5; n++) {
        char script[200], start[100];
        rill_context *ctx = harness_context(NULL);
        snprintf(script, sizeof script, text, n < 4 ? n : 100);
        snprintf(start, sizeof start, "%s\nstack traceback:", messages[n]);
        assert_int_equal(load(ctx, script), RILL_ERR_PLUGIN);
        if (strncmp(rill_error(ctx), start, strlen(start)) != 0) fail_msg("%s", rill_error(ctx));
        rill_context_destroy(ctx);
    }
}

/* If a script fails, its registrations are removed; otherwise they stay. */
static void registrations_are_all_or_nothing(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    rill_registry_mark mark = rill_registry_size(ctx);
    static const char declares[] = "rill.heuristic{name = 'mine', apply = function(b) end}\n"
                                   "rill.scheduler{name = 'mine', choose = function(f) end}\n";
    char text[400];
    snprintf(text, sizeof text, "%serror('late')", declares);
    assert_int_equal(load(ctx, text), RILL_ERR_PLUGIN);
    assert_null(rill_find_heuristic(ctx, "mine"));
    rill_registry_mark after = rill_registry_size(ctx);
    assert_memory_equal(&mark, &after, sizeof mark);
    assert_int_equal(load(ctx, declares), RILL_OK);
    assert_non_null(rill_find_heuristic(ctx, "mine"));
    assert_non_null(rill_find_scheduler(ctx, "mine"));
    assert_int_equal(load(ctx, declares), RILL_ERR_ARGUMENT);
    expect_error(ctx, "test.lua:1: heuristic \"mine\" is registered already");
    assert_non_null(rill_find_heuristic(ctx, "mine"));
    rill_context_destroy(ctx);
}

/* The status of a failure inside rill becomes that of the call, unless the script catches the error and raises another
 * one. */
static void statuses_pass_through_scripts(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    assert_int_equal(load(ctx, "rill.heuristic{name = 'absolute', apply = print}"), RILL_ERR_ARGUMENT);
    assert_int_equal(load(ctx, "local ok, m = pcall(rill.heuristic, {name = 'absolute', apply = print})\n"
                               "assert(not ok and m:find('registered already'))"),
                     RILL_OK);
    assert_int_equal(load(ctx, "local ok, m = pcall(rill.heuristic, {name = 'absolute', apply = print})\n"
                               "error('my words: ' .. m)"),
                     RILL_ERR_ARGUMENT);
    expect_error(ctx, "my words: ");
    assert_int_equal(load(ctx, "pcall(rill.heuristic, {name = 'absolute', apply = print}) error('other')"),
                     RILL_ERR_PLUGIN);
    assert_int_equal(load(ctx, "coroutine.wrap(rill.heuristic){name = 'absolute', apply = print}"), RILL_ERR_ARGUMENT);
    rill_context_destroy(ctx);
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

static void each_call_has_its_own_instructions(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    rill_script_options options = {.struct_size = sizeof options, .instructions = 100000};
    rill_script *script = loaded(ctx,
                                 "local n = 15000\n"
                                 "return function()\n"
                                 "  local sum = 0\n"
                                 "  for i = 1, n do sum = sum + i % 3 end\n"
                                 "  n = n + 15000\n"
                                 "  return sum\n"
                                 "end",
                                 &options);
    int64_t sum;
    assert_int_equal(call(script, &sum), RILL_OK);
    assert_int_equal(sum, 15000);
    assert_int_equal(call(script, &sum), RILL_OK);
    assert_int_equal(call(script, &sum), RILL_ERR_PLUGIN);
    expect_error(ctx, "test.lua:4: stopped after 100000 instructions in one call");
    assert_int_equal(call(script, &sum), RILL_ERR_PLUGIN); /* the script did not get to change n */
    rill_context_destroy(ctx);
}

/* The time limit interrupts a script, whatever it spends its time on. */
static void seconds_end_a_call(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "while true do end",
        "while true do pcall(next, {}) end",
        "while true do coroutine.wrap(function() while true do end end)() end",
        "while true do local x = ('x'):rep(1000000) end",
        "local t = {} for i = 1, 1900 do t = setmetatable({}, {__index = t}) end while true do local x = t.a end",
        "table.concat(setmetatable({}, {__index = function() return '' end}), '', 1, 1 << 50)",
        "table.move({}, 1, 1 << 50, 2)",
        "local t = {} for i = 1, 1000 do t[i] = i * 7 % 1009 end while true do table.sort(t, math.ult) end",
        "local s = ('x'):rep(1000000) while true do local t = {s, s .. ''} for i = 3, 100 do t[i] = t[i - 2] end table.sort(t) end",
        "(('a'):rep(40)):find(('a*'):rep(40) .. 'b')",
        "load(('local function f() local a, b, c, d, e, f, g '):rep(150) .. ('x = y '):rep(500000))",
        "local a = rill.zeros(1000000) while true do a = a % 1e-300 end",
        /* fewer instructions than one counting interval */
        "local s = ('x'):rep(16000000) load('local s, t = ... ' .. ('t = s .. 1 '):rep(180))(s)",
    };
    rill_script_options options = {.struct_size = sizeof options, .instructions = INT64_MAX / 2, .seconds = 0.05};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rill_context *ctx = harness_context(NULL);
        rill_script *script;
        rill_status status = rill_script_load_text(&script, ctx, "test.lua", texts[i], strlen(texts[i]), &options);
        if (status != RILL_ERR_PLUGIN) fail_msg("%s: %s", texts[i], rill_status_name(status));
        expect_error(ctx, "stopped after 0.05 seconds in one call: too much work? (--script-seconds");
        rill_context_destroy(ctx);
    }
}

/* Seconds are CPU time of the thread, not wall time: waiting or a busy machine does not stop a script. Each call has
 * the full limit. */
static void seconds_count_per_call_and_thread(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    rill_script_options options = {.struct_size = sizeof options, .unsafe = 1, .instructions = -1, .seconds = 0.4};
    rill_script *script = loaded(ctx,
                                 "local turn = 0\n"
                                 "return function()\n"
                                 "  local from = os.clock()\n"
                                 "  turn = turn + 1\n"
                                 "  if turn == 1 then os.execute('sleep 0.6') end\n"
                                 "  if turn < 8 then while os.clock() < from + 0.1 do end end\n"
                                 "  while turn == 8 do end\n"
                                 "  return turn\n"
                                 "end",
                                 &options);
    int64_t turn;
    for (int64_t i = 1; i < 8; i++) {
        if (call(script, &turn) < 0) fail_msg("%s", rill_error(ctx));
        assert_int_equal(turn, i);
    }
    assert_int_equal(call(script, &turn), RILL_ERR_PLUGIN);
    expect_error(ctx, "test.lua:7: stopped after 0.4 seconds");
    assert_int_equal(call(script, &turn), RILL_OK);
    rill_context_destroy(ctx);
}

/* Each coroutine begins a new counting interval; many coroutines that end within one interval do not evade the
 * limit. */
static void short_coroutines_are_counted(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    rill_script_options options = {.struct_size = sizeof options, .instructions = 1000000};
    rill_script *script = loaded(ctx,
                                 "local n, turn = 0, 0\n"
                                 "local function brief() for i = 1, 200 do n = n + 1 end end\n"
                                 "return function()\n"
                                 "  turn = turn + 1\n"
                                 "  if turn == 2 then return n end\n"
                                 "  while true do coroutine.wrap(brief)() end\n"
                                 "end",
                                 &options);
    int64_t n;
    assert_int_equal(call(script, &n), RILL_ERR_PLUGIN);
    assert_int_equal(call(script, &n), RILL_OK);
    assert_true(n > 50000 && n < 250000); /* each coroutine takes four instructions */
    rill_context_destroy(ctx);
}

/* A coroutine that was running when the call was stopped is dead; a suspended one can continue. */
static void coroutines_outlive_a_stopped_call(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    rill_script_options options = {.struct_size = sizeof options, .instructions = 300000};
    rill_script *script = loaded(
        ctx,
        "local closed = 0\n"
        "local function body()\n"
        "  local x <close> = setmetatable({}, {__close = function() closed = closed + 1 while true do end end})\n"
        "  coroutine.yield()\n"
        "  while true do end\n"
        "end\n"
        "local waiting = coroutine.wrap(function() for i = 1, math.huge do\n"
        "  local s = 0 for j = 1, 10000 do s = s + j end coroutine.yield(i) end end)\n"
        "local stopped = coroutine.create(body)\n"
        "assert(coroutine.resume(stopped))\n"
        "waiting()\n"
        "local turn = 0\n"
        "return function()\n"
        "  turn = turn + 1\n"
        "  if turn == 1 then pcall(coroutine.resume, stopped) end\n"
        "  assert(coroutine.status(stopped) == 'dead')\n"
        "  local good, message = coroutine.close(stopped)\n"
        "  assert(not good and message:find('reached a limit') and closed == 0)\n"
        "  return waiting()\n"
        "end",
        &options);
    int64_t n = 0;
    assert_int_equal(call(script, &n), RILL_ERR_PLUGIN);
    expect_error(ctx, "test.lua:5: stopped after 300000");
    for (int64_t i = 2; i < 20; i++) {
        if (call(script, &n) < 0) fail_msg("%s", rill_error(ctx));
        assert_int_equal(n, i);
    }
    rill_context_destroy(ctx);
}

/* Memory of freed small blocks is reused for large ones, and the context never provides much more than the limit. */
static void memory_is_used_again(void **state)
{
    (void)state;
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    rill_script_options options = {.struct_size = sizeof options, .memory = 8 << 20};
    size_t used_before = rill_memory_used(ctx);
    rill_script *script = loaded(ctx,
                                 "return function()\n"
                                 "  local list\n"
                                 "  for i = 1, 80000 do list = {list} end\n"
                                 "  list = nil\n"
                                 "  local s = {('x'):rep(1000000), ('y'):rep(1000000), ('z'):rep(500000)}\n"
                                 "  local kept = {}\n"
                                 "  s = nil\n"
                                 "  for i = 1, 20000 do kept[i] = {i, i, i, i} end\n"
                                 "  for i = 1, 20000, 2 do kept[i] = false end\n"
                                 "  for i = 1, 20000, 2 do kept[i] = {i, i, i, i} end\n"
                                 "  for i = 1, 20000 do assert(kept[i][1] == i and kept[i][4] == i) end\n"
                                 "  return collectgarbage('count') * 1024 // 1\n"
                                 "end",
                                 &options);
    for (int i = 0; i < 5; i++) {
        int64_t held;
        if (call(script, &held) < 0) fail_msg("%s", rill_error(ctx));
        assert_true(held > 1 << 20 && held <= 8 << 20);
    }
    assert_true(rill_script_memory(script) <= options.memory);
    assert_true(memory.peak - used_before < options.memory + options.memory / 4 + (512 << 10));
    harness_end(ctx, &memory);
}

/* --- nested calls ------------------------------------------------------------------------------------------------- */

/* again(f): acts as an engine that a script called, and that calls the script back. */
static int call_back(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    assert_ptr_equal(s->L, L);
    int64_t old_instructions = s->instructions;
    lua_settop(L, 1);
    rill_status status = script_call(s, 0, 1);
    assert_ptr_equal(s->L, L);
    assert_true(s->instructions <= old_instructions - SCRIPT_STRIDE && s->instructions > old_instructions - 5000);
    script_check(L, status);
    return 1;
}

static int define_call_back(lua_State *L)
{
    lua_pushcfunction(L, call_back);
    lua_setglobal(L, "again");
    return 0;
}

static void calls_nest(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    rill_script_options options = {.struct_size = sizeof options, .instructions = 200000};
    static const char text[] =
        "local function work() for i = 1, 30000 do end return 7 end\n"
        "local tests = {\n"
        "  function() return again(work) end,\n"
        "  function() return again(function() return again(work) + again(work) end) end,\n"
        "  function() return coroutine.wrap(function() coroutine.yield(again(work)) end)() end,\n"
        "  function()\n"
        "    local ok, message = pcall(again, function() coroutine.wrap(function() error('deep') end)() end)\n"
        "    assert(not ok and message:find('deep'))\n"
        "    return again(work)\n"
        "  end,\n"
        "  function()\n"
        "    local co = coroutine.wrap(function() return pcall(again, coroutine.yield) end)\n"
        "    local ok, message = co()\n"
        "    assert(not ok and message:find('yield'))\n"
        "    return again(work)\n"
        "  end,\n"
        "  function() again(function() while true do end end) end,\n"
        "  function() pcall(again, function() while true do end end) return 1 end,\n"
        "  function() pcall(coroutine.wrap(function() again(function() while true do end end) end)) return 1 end,\n"
        "  function() for i = 1, 20 do work() again(work) end end,\n"
        "}\n"
        "local turn = 0\n"
        "return function() turn = turn + 1 return tests[turn]() end";
    rill_script *script = loaded(ctx, text, &options);
    assert_int_equal(script_protect(script, define_call_back, NULL), RILL_OK);
    static const int64_t expected[] = {7, 14, 7, 7, 7};
    int64_t n;
    for (int i = 0; i < 5; i++) {
        if (call(script, &n) < 0) fail_msg("%s", rill_error(ctx));
        assert_int_equal(n, expected[i]);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(call(script, &n), RILL_ERR_PLUGIN);
        expect_error(ctx, "stopped after 200000 instructions");
        assert_false(script->is_exhausted);
    }
    rill_context_destroy(ctx);
}

/* --- out of memory ------------------------------------------------------------------------------------------------ */

/* A script that makes Lua allocate in every way. */
static const char busy[] =
    "rill.heuristic{name = 'mine', arguments = 'D', create = tonumber, apply = function(b, d) b.keep = b.path_score:ge(b.best - d) end}\n"
    "local t = {}\n"
    "for i = 1, 40 do t[i] = ('%d:%s'):format(i, ('ab'):rep(i)) end\n"
    "local text = table.concat(t, ' '):gsub('%d+', function(d) return d + 1 end)\n"
    "local co = coroutine.wrap(function() for w in text:gmatch('%a+') do coroutine.yield(w) end end)\n"
    "print(pcall(error, {co()}))\n"
    "return function()\n"
    "  local n = 0\n"
    "  for word in text:gmatch('%a+') do n = n + #word end\n"
    "  local f = load('local n = ... return n * 2')\n"
    "  return f(n) + #co() + #tostring({}):sub(1, 1)\n"
    "end";

/* Run it: RILL_OK with the right result, or RILL_ERR_MEMORY. */
static rill_status be_busy(rill_context *ctx, const rill_script_options *options)
{
    rill_script *script;
    int64_t n = 0;
    rill_status status = rill_script_load_text(&script, ctx, "test.lua", busy, sizeof busy - 1, options);
    if (status == RILL_OK) status = call(script, &n);
    if (status == RILL_OK) assert_int_equal(n, 2 * 1640 + 4 + 1);
    if (status < 0 && status != RILL_ERR_MEMORY) fail_msg("%s: %s", rill_status_name(status), rill_error(ctx));
    return status;
}

static void each_allocation_fails(int persistent)
{
    int64_t failed = 0;
    for (int64_t i = 1;; i = harness_next_request(i)) {
        harness_memory memory;
        rill_context *ctx = harness_begin(&memory);
        memory.failing_request = memory.requests + i;
        memory.persistent = persistent;
        rill_status status = be_busy(ctx, NULL);
        int64_t refused = memory.refused;
        memory.failing_request = 0;
        harness_end(ctx, &memory);
        failed += status < 0;
        if (persistent) assert_true((status < 0) == (refused > 0));
        if (refused == 0) break;
    }
    assert_true(failed >= 4); /* at least the script, its path, its state and its list of tables were allocated */
}

static void each_allocation_fails_once(void **state)
{
    (void)state;
    each_allocation_fails(0);
}

static void each_allocation_fails_for_ever(void **state)
{
    (void)state;
    each_allocation_fails(1);
}

/* With ever higher limits, each of Lua's allocations is once the first to fail, also those that share a block of the
 * context. */
static void every_memory_limit_is_survived(void **state)
{
    (void)state;
    int failed = 0;
    for (size_t limit = 20000;; limit += 97) {
        harness_memory memory;
        rill_context *ctx = harness_begin(&memory);
        rill_script_options options = {.struct_size = sizeof options, .memory = limit};
        rill_status status = be_busy(ctx, &options);
        if (status < 0) expect_error(ctx, "--script-memory");
        harness_end(ctx, &memory);
        if (status == RILL_OK) break;
        failed++;
    }
    assert_true(failed > 100);
}

int main(int argc, char **argv)
{
    if (harness_options(argc, argv) != 0) return 2;
    strcpy(folder, "/tmp/rill-scripts-XXXXXX");
    if (mkdtemp(folder) == NULL) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_as_they_are),
        cmocka_unit_test(files_that_cannot_be_read_are_named),
        cmocka_unit_test(long_paths_are_not_cut),
        cmocka_unit_test(tracebacks_name_the_script_s_functions),
        cmocka_unit_test(coroutine_positions_appear_once),
        cmocka_unit_test(registrations_are_all_or_nothing),
        cmocka_unit_test(statuses_pass_through_scripts),
        cmocka_unit_test(each_call_has_its_own_instructions),
        cmocka_unit_test(seconds_end_a_call),
        cmocka_unit_test(seconds_count_per_call_and_thread),
        cmocka_unit_test(short_coroutines_are_counted),
        cmocka_unit_test(coroutines_outlive_a_stopped_call),
        cmocka_unit_test(memory_is_used_again),
        cmocka_unit_test(calls_nest),
        cmocka_unit_test(each_allocation_fails_once),
        cmocka_unit_test(each_allocation_fails_for_ever),
        cmocka_unit_test(every_memory_limit_is_survived),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    static const char *const names[] = {"script.lua", "shut.lua", "large.lua"};
    for (int i = 0; i < 3; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    rmdir(folder);
    return failed;
}
