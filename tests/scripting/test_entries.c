/* Configuration entries for a heuristic, scorer or scheduler, in all forms. */
#include <stdio.h>
#include <string.h>

#include "config/run_config.h"
#include "scripted.h"

typedef struct entry {
    char name[48], arguments[1100];
} entry;

typedef struct reading {
    const char *kind;
    entry entry;
} reading;

/* Read the value on top of the stack. */
static void read_value(lua_State *L, const char *kind, entry *out)
{
    lua_pushvalue(L, -1);
    lua_pushboolean(L, 0);
    lua_pushstring(L, kind);
    script_internal_call(L, "entry", 3, 2);
    snprintf(out->name, sizeof out->name, "%s", lua_tostring(L, -2));
    snprintf(out->arguments, sizeof out->arguments, "%s", lua_tostring(L, -1));
    lua_pop(L, 2);
}

static int read_result(lua_State *L)
{
    reading *r = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, script_from_lua(L)->result);
    int top = lua_gettop(L);
    read_value(L, r->kind, &r->entry);
    assert_int_equal(lua_gettop(L), top);
    return 0;
}

/* Read the result of `text` as an entry of `kind`; the caller destroys the context. */
static rill_context *read_entry(const char *text, const char *kind, reading *r, rill_status *status)
{
    rill_context *ctx = harness_context(NULL);
    rill_script *s;
    *r = (reading){.kind = kind};
    if (rill_script_load_text(&s, ctx, "test.lua", text, strlen(text), NULL) < 0) fail_msg("%s", rill_error(ctx));
    *status = script_protect(s, read_result, r);
    return ctx;
}

static void reads(const char *kind, const char *text, const char *name, const char *arguments)
{
    reading r;
    rill_status status;
    rill_context *ctx = read_entry(text, kind, &r, &status);
    if (status != RILL_OK) fail_msg("%s: %s", text, rill_error(ctx));
    assert_string_equal(r.entry.name, name);
    assert_string_equal(r.entry.arguments, arguments);
    rill_context_destroy(ctx);
}

static void refuses(const char *kind, const char *text, const char *words)
{
    reading r;
    rill_status status;
    rill_context *ctx = read_entry(text, kind, &r, &status);
    if (status != RILL_ERR_PLUGIN) fail_msg("%s: %s", text, rill_status_name(status));
    if (strstr(rill_error(ctx), words) == NULL) fail_msg("%s: \"%s\" lacks \"%s\"", text, rill_error(ctx), words);
    rill_context_destroy(ctx);
}

static void names(void **state)
{
    (void)state;
    reads("heuristic", "return 'absolute'", "absolute", "");
    reads("heuristic", "return 'absolute:10'", "absolute", "10");
    reads("heuristic", "return 'a:b:c,d'", "a", "b:c,d");
    reads("heuristic", "return { 'absolute', 10 }", "absolute", "10");
    reads("heuristic", "return { 'absolute' }", "absolute", "");
    reads("scorer", "return { 'x', 0.1, -2.5, 1e300, 1/3, 1e15, 12345678901234567 }", "x",
          "0.1,-2.5,1e+300,0.3333333333333333,1e+15,12345678901234567");
    reads("scheduler", "return { 'x', true, 'a b', '', false }", "x", "true,a b,,false");
    reads("scheduler", "return { 'x:1', 2 }", "x", "1,2");
    reads("scheduler", "return { 'x', '', 2 }", "x", ",2");
    reads("heuristic", "return { 'x', 1/0, -1/0 }", "x", "inf,-inf");
}

static void objects(void **state)
{
    (void)state;
    reads("heuristic", "return rill.heuristic{ name = 'mine', apply = print }", "mine", "");
    reads("heuristic", "return { rill.heuristic{ name = 'mine', arguments = 'X', apply = print }, 10, 2.5 }", "mine",
          "10,2.5");
    reads("scorer", "return rill.scorer{ name = 'mine', score = print }", "mine", "");
    reads("scheduler", "return { rill.scheduler{ name = 'mine', create = print, choose = print }, 'x' }", "mine", "x");
    refuses("heuristic", "return rill.scorer{ name = 'mine', score = print }",
            "a heuristic was expected, not scorer mine");
    refuses("scheduler", "return { rill.heuristic{ name = 'mine', apply = print } }",
            "a scheduler was expected, not heuristic mine");
}

static void functions(void **state)
{
    (void)state;
    reads("heuristic", "return function(b) end", "script-heuristic-1", "");
    reads("scorer", "return function(rows) end", "script-scorer-1", "");
    reads("scheduler", "return { function(f) end }", "script-scheduler-1", "");
    reads("heuristic", "rill.heuristic{ name = 'script-heuristic-1', apply = print } return function(b) end",
          "script-heuristic-2", "");
}

static void refusals(void **state)
{
    (void)state;
    refuses("heuristic", "return nil", "a heuristic was expected, not a nil: write \"NAME:ARGUMENTS\"");
    refuses("heuristic", "return 17", "a heuristic was expected, not a number");
    refuses("heuristic", "return rill.array{1}", "a heuristic was expected");
    refuses("scorer", "return coroutine.create(print)", "a scorer was expected");
    refuses("domain", "return function() end", "a domain was expected, not a function");
    refuses("heuristic", "return ''", "has no name of a heuristic");
    refuses("heuristic", "return ':10'", "has no name of a heuristic");
    refuses("heuristic", "return 'a\\0b'", "has no name of a heuristic");
    refuses("heuristic", "return 'a:b\\0c'", "arguments of a contain a zero byte");
    refuses("heuristic", "return ('x'):rep(48)", "has at most 47 bytes");
    refuses("heuristic", "return 'x:' .. ('y'):rep(1024)", "have more than 1023 bytes");
    refuses("heuristic", "return { 'x', ('y'):rep(600), ('y'):rep(600) }", "have more than 1023 bytes");
    refuses("heuristic", "return {}", "write a heuristic with arguments as");
    refuses("heuristic", "return { name = 'x' }", "write a heuristic with arguments as");
    refuses("heuristic", "return { 'x', delta = 10 }", "without keys");
    refuses("heuristic", "return { { 'x' } }", "the name of a heuristic was expected, not a table");
    refuses("heuristic", "return { 'x', {} }",
            "arguments of x: a number, a string or a boolean was expected, not a table");
    refuses("heuristic", "return { 'x', print }", "a number, a string or a boolean was expected, not a function");
    refuses("heuristic", "return { 10, 'x' }", "a heuristic was expected, not a number");
}

/* A function is registered only once, and two functions separately; the registered entry can be used. */
static int read_twice(lua_State *L)
{
    entry *entries = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, script_from_lua(L)->result);
    for (int i = 0; i < 4; i++) {
        lua_rawgeti(L, -1, i + 1);
        read_value(L, i < 3 ? "heuristic" : "scorer", &entries[i]);
        lua_pop(L, 1);
    }
    return 0;
}

static void once_per_function(void **state)
{
    (void)state;
    static const char text[] = "local f = function(b) b.width = 1 end\n"
                               "return { f, function(b) end, { f }, f }";
    entry entries[4];
    rill_context *ctx = harness_context(NULL);
    rill_script *s;
    void *self;
    assert_int_equal(rill_script_load_text(&s, ctx, "test.lua", text, strlen(text), NULL), RILL_OK);
    assert_int_equal(script_protect(s, read_twice, entries), RILL_OK);
    assert_string_equal(entries[0].name, "script-heuristic-1");
    assert_string_equal(entries[1].name, "script-heuristic-2");
    assert_string_equal(entries[2].name, "script-heuristic-1");
    assert_string_equal(entries[3].name, "script-scorer-1");
    const rill_heuristic *h = rill_find_heuristic(ctx, entries[0].name);
    assert_string_equal(h->summary, "a function of test.lua");
    assert_int_equal(h->create(h, ctx, "1", &self), RILL_ERR_OPTION);
    assert_null(self);
    assert_int_equal(h->create(h, ctx, "", &self), RILL_OK);
    rill_candidates none = {.struct_size = sizeof none, .offset = (const int32_t[]){0}};
    assert_int_equal(h->apply(self, &none), RILL_OK);
    int32_t width = INT32_MAX;
    rill_candidates one = {.struct_size = sizeof one,
                           .n = 1,
                           .offset = (const int32_t[]){0, 0},
                           .item_id = (const int64_t[]){0},
                           .width = &width,
                           .stop = (uint8_t[]){0}};
    assert_int_equal(h->apply(self, &one), RILL_OK);
    assert_int_equal(width, 1);
    h->destroy(self);
    h->destroy(NULL);
    rill_context_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(names),    cmocka_unit_test(objects),           cmocka_unit_test(functions),
    cmocka_unit_test(refusals), cmocka_unit_test(once_per_function),
};

HARNESS_MAIN(tests)
