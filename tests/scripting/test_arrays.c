/* Arrays of scripts: the tests of arrays.lua, the C functions for other files of scripting/, and out-of-memory
 * errors. */
#include "array_fixture.h"
#include "support/harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- tests in Lua ------------------------------------------------------------------------------------------------- */

static rill_context *open_context(void)
{
    rill_context *ctx;
    assert_int_equal(rill_context_create(&ctx, NULL), RILL_OK);
    return ctx;
}

static void run_lua(void **state)
{
    rill_context *ctx = open_context();
    array_fixture arrays;
    if (array_fixture_open(&arrays, ctx, NULL) < 0) fail_msg("%s", rill_error(ctx));
    if (array_fixture_run(&arrays, *state, dice_seeded(harness_seed(1))) < 0) fail_msg("%s", rill_error(ctx));
    array_fixture_close(&arrays);
    assert_int_equal(rill_memory_used(ctx), 0);
    rill_context_destroy(ctx);
}

static void random_operations_equal_the_model(void **unused)
{
    (void)unused;
    rill_context *ctx = open_context();
    array_fixture arrays;
    const uint64_t first = harness_seed(1);
    const int64_t iterations = harness_iterations(300);
    if (array_fixture_open(&arrays, ctx, NULL) < 0) fail_msg("%s", rill_error(ctx));
    for (int64_t i = 0; i < iterations; i++)
        if (array_fixture_run(&arrays, "random", dice_seeded(first + (uint64_t)i)) < 0)
            fail_msg("seed %llu: %s", (unsigned long long)(first + (uint64_t)i), rill_error(ctx));
    array_fixture_close(&arrays);
    rill_context_destroy(ctx);
}

/* --- functions for other files ------------------------------------------------------------------------------------ */

/* A script, and a simulated call with segments of 2, 0 and 1 cells. */
typedef struct fixture {
    rill_context *ctx;
    rill_script *s;
    script_frame frame;
} fixture;

static const int32_t offsets[] = {7, 9, 9, 10};

static fixture open_fixture(void)
{
    fixture f = {.ctx = open_context()};
    assert_int_equal(script_make(&f.s, f.ctx, "test.lua", NULL), RILL_OK);
    f.frame = script_begin(f.s, offsets, 3);
    return f;
}

static void close_fixture(fixture *f)
{
    script_destroy(f->s);
    assert_int_equal(rill_memory_used(f->ctx), 0);
    rill_context_destroy(f->ctx);
}

/* Argument of protected functions. */
typedef struct job {
    array_type type;
    array_level level;
    int32_t n;
    int writable;
    const char *expression; /* Lua expression whose value is stored or examined */
    void *data;
    int32_t length;
} job;

static int do_push(lua_State *L)
{
    static const double zeros[4];
    const job *j = lua_touserdata(L, 1);
    script_array_push(L, j->type, zeros, j->n, j->level, 0);
    return 0;
}

static int do_make(lua_State *L)
{
    job *j = lua_touserdata(L, 1);
    const char *bytes = script_array_make(L, j->type, j->n, j->level);
    for (size_t i = 0; i < (size_t)j->n * 4; i++)
        if (bytes[i] != 0) luaL_error(L, "not zero");
    assert_true(script_array_is(L, -1));
    assert_false(script_array_is(L, 1));
    assert_ptr_equal(script_array_data(L, -1, j->type, 1, &j->length), bytes);
    return 0;
}

static void push_expression(lua_State *L, const job *j)
{
    lua_pushfstring(L, "local v, w = ... return %s", j->expression);
    if (luaL_loadstring(L, lua_tostring(L, -1)) != LUA_OK) lua_error(L);
    double *v = script_array_make(L, ARRAY_F64, 3, ARRAY_CELLS), *w = script_array_make(L, ARRAY_F64, 3, ARRAY_ITEMS);
    for (int i = 0; i < 3; i++) v[i] = i + 1, w[i] = 10 * (i + 1);
    lua_call(L, 2, 1);
}

static int do_store(lua_State *L)
{
    const job *j = lua_touserdata(L, 1);
    push_expression(L, j);
    script_array_store(L, -1, j->type, j->data, j->n, j->level, NULL);
    return 0;
}

static int do_data(lua_State *L)
{
    job *j = lua_touserdata(L, 1);
    push_expression(L, j);
    j->data = script_array_data(L, -1, j->type, j->writable, &j->length);
    return 0;
}

static void expect(const fixture *f, lua_CFunction fn, job *j, const char *error)
{
    rill_status status = script_protect(f->s, fn, j);
    if (error == NULL && status != RILL_OK) fail_msg("%s", rill_error(f->ctx));
    if (error == NULL) return;
    assert_int_equal(status, RILL_ERR_PLUGIN);
    if (strstr(rill_error(f->ctx), error) == NULL) fail_msg("\"%s\" instead of \"%s\"", rill_error(f->ctx), error);
}

static void arrays_fit_the_call_they_are_made_in(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    expect(&f, do_push, &(job){.level = ARRAY_CELLS, .n = 3}, NULL);
    expect(&f, do_push, &(job){.level = ARRAY_ITEMS, .n = 3}, NULL);
    expect(&f, do_push, &(job){.level = ARRAY_PLAIN, .n = 2}, NULL);
    expect(&f, do_push, &(job){.level = ARRAY_CELLS, .n = 2}, "2 cells was made in a call of 3 items and 3 cells");
    expect(&f, do_push, &(job){.level = ARRAY_ITEMS, .n = 4}, "4 items was made");
    expect(&f, do_push, &(job){.level = ARRAY_PLAIN, .n = -1}, "-1 values was made");
    expect(&f, do_make, &(job){.type = ARRAY_I32, .level = ARRAY_CELLS, .n = 3}, NULL);
    expect(&f, do_make, &(job){.type = ARRAY_F32, .level = ARRAY_PLAIN, .n = 1000}, NULL);
    expect(&f, do_make, &(job){.level = ARRAY_ITEMS, .n = 2}, "2 items was made");
    script_end(f.s, f.frame);
    expect(&f, do_push, &(job){.level = ARRAY_PLAIN, .n = 2}, "only during a call of the engine");
    expect(&f, do_push, &(job){.level = ARRAY_ITEMS, .n = 0}, "0 items was made");
    expect(&f, do_make, &(job){.level = ARRAY_CELLS, .n = 0}, "0 cells was made");
    expect(&f, do_make, &(job){.type = ARRAY_F32, .level = ARRAY_PLAIN, .n = 2}, NULL);
    close_fixture(&f);
}

static void data_has_the_type_that_is_asked_for(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    job j = {.type = ARRAY_F64, .writable = 1, .expression = "v"};
    expect(&f, do_data, &j, NULL);
    assert_int_equal(j.length, 3);
    j = (job){.type = ARRAY_I32, .expression = "rill.array{3, 1, 2}:order()"};
    expect(&f, do_data, &j, NULL);
    assert_memory_equal(j.data, ((int32_t[]){2, 3, 1}), 12);
    expect(&f, do_data, &(job){.type = ARRAY_I32, .expression = "v"}, "an array of int32 was expected, not of float64");
    expect(&f, do_data, &(job){.type = ARRAY_I32, .expression = "{1, 2}"},
           "an array of int32 was expected, not a table");
    expect(&f, do_data, &(job){.type = ARRAY_I32, .expression = "nil"}, "an array of int32 was expected, not a nil");
    close_fixture(&f);
}

static void stores_broadcast_and_convert(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    struct {
        uint8_t mask[4];
        int32_t i32[4];
        double f64[4];
    } m = {{9, 9, 9, 9}, {9, 9, 9, 9}, {9, 9, 9, 9}};
    job mask = {.type = ARRAY_U8, .level = ARRAY_CELLS, .n = 3, .data = m.mask};
    mask.expression = "v:ge(2)";
    expect(&f, do_store, &mask, NULL);
    assert_memory_equal(m.mask, ((uint8_t[]){0, 1, 1, 9}), 4);
    mask.expression = "w:eq(10)";
    expect(&f, do_store, &mask, NULL);
    assert_memory_equal(m.mask, ((uint8_t[]){1, 1, 0, 9}), 4);
    mask.expression = "false";
    expect(&f, do_store, &mask, NULL);
    assert_memory_equal(m.mask, ((uint8_t[]){0, 0, 0, 9}), 4);
    mask.expression = "v - 2";
    expect(&f, do_store, &mask, NULL);
    assert_memory_equal(m.mask, ((uint8_t[]){1, 0, 1, 9}), 4);
    job job_all = {.type = ARRAY_I32, .level = ARRAY_ITEMS, .n = 3, .data = m.i32, .expression = "w / -20"};
    expect(&f, do_store, &job_all, NULL);
    assert_memory_equal(m.i32, ((int32_t[]){-1, -1, -2, 9}), 16);
    job number = {.type = ARRAY_F64, .level = ARRAY_CELLS, .n = 3, .data = m.f64, .expression = "w"};
    expect(&f, do_store, &number, NULL);
    assert_memory_equal(m.f64, ((double[]){10, 10, 30, 9}), 32);
    job_all.expression = "v";
    expect(&f, do_store, &job_all, "3 cells do not fit 3 items: reduce them first");
    job_all.expression = "0/0";
    expect(&f, do_store, &job_all, "NaN cannot be stored in an array of int32");
    job_all.expression = "{1, 2, 3}";
    expect(&f, do_store, &job_all, "a number, a boolean or an array was expected, not a table");
    assert_memory_equal(m.i32, ((int32_t[]){-1, -1, -2, 9}), 16);
    close_fixture(&f);
}

/* --- out of memory ------------------------------------------------------------------------------------------------ */

static void memory_limit_holds(void **unused)
{
    (void)unused;
    static const char text[] = "local a = rill.zeros(1000)\n"
                               "for i = 1, 200 do a = a + 1 end\n" /* garbage does not count against the limit */
                               "assert(not pcall(rill.zeros, 1e6))\n"
                               "assert(not pcall(rill.zeros, 2147483647))\n"
                               "assert(a:max() == 200)\n"
                               "local all = {}\n"
                               "for i = 1, 10000 do all[i] = a + i end";
    rill_context *ctx = open_context();
    rill_script *s;
    const rill_script_options options = {.struct_size = sizeof options, .memory = 1 << 20};
    assert_int_equal(rill_script_load_text(&s, ctx, "limit.lua", text, strlen(text), &options), RILL_ERR_MEMORY);
    rill_context_destroy(ctx);
}

/* Whenever memory runs out, the call fails with an error, and the next call works again. */
static void failing_allocations_are_errors(void **unused)
{
    (void)unused;
    harness_memory memory = {.persistent = 1};
    rill_context_options options = harness_memory_options(&memory);
    rill_context *ctx;
    rill_script *s;
    assert_int_equal(rill_context_create(&ctx, &options), RILL_OK);
    assert_int_equal(script_make(&s, ctx, "test.lua", NULL), RILL_OK);
    script_frame frame = script_begin(s, offsets, 3);
    uint8_t mask[3];
    int refused = 0;
    job j = {.type = ARRAY_U8, .level = ARRAY_CELLS, .n = 3, .data = mask};
    j.expression =
        "(rill.zeros(5000) + 1):order():count() == 5000 and v:ge(w:max() - 10):copy() & v:rank():le(v:count_by(v))";
    for (int64_t n = 1; n < 200; n++) {
        memory.failing_request = memory.requests + n;
        rill_status status = script_protect(s, do_store, &j);
        memory.failing_request = 0;
        memory.refused = 0;
        if (status != RILL_OK) {
            assert_int_equal(status, RILL_ERR_MEMORY);
            refused++;
        }
    }
    assert_true(refused > 0);
    script_end(s, frame);
    script_destroy(s);
    harness_end(ctx, &memory);
}

#define LUA_TEST(test)                                        \
    {                                                         \
#test, run_lua, NULL, NULL, (void *)(uintptr_t) #test \
    }

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        LUA_TEST(one_line_heuristics),
        LUA_TEST(levels),
        LUA_TEST(masks),
        LUA_TEST(elements),
        LUA_TEST(assignment),
        LUA_TEST(wrong_types),
        LUA_TEST(tables_and_text),
        LUA_TEST(lifetime),
        LUA_TEST(sorting),
        LUA_TEST(counting),
        cmocka_unit_test(random_operations_equal_the_model),
        cmocka_unit_test(arrays_fit_the_call_they_are_made_in),
        cmocka_unit_test(data_has_the_type_that_is_asked_for),
        cmocka_unit_test(stores_broadcast_and_convert),
        cmocka_unit_test(memory_limit_holds),
        cmocka_unit_test(failing_allocations_are_errors),
    };
    if (harness_options(argc, argv) != 0) return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
