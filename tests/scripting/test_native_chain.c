/* Native functions in the engine's chains, and Lua calls of native functions with the engine's structs. */
#include "native/native.h"
#include "native_fixture.h"
#include "state/state.h"
#include "support/problem.h"

/* --- registering from C, as configurations do --------------------------------------------------------------------- */

/* A script for the next run, which leaves native functions in globals, and their kinds and names. */
typedef struct plan {
    const char *text;
    script_kind kind;
    const char *name; /* the expected name */
} plan;

static const plan *current;

static int read_global(lua_State *L)
{
    char name[SCRIPT_NAME_MAX], again[SCRIPT_NAME_MAX];
    lua_getglobal(L, "f");
    assert_true(script_native_is(L, -1));
    script_native_register(L, -1, current->kind, name);
    assert_string_equal(name, current->name);
    script_native_register(L, -1, current->kind, again); /* registering a function again gives the same name */
    assert_string_equal(again, current->name);
    lua_pushnil(L);
    lua_setglobal(L, "f");
    return 0;
}

/* Collect garbage, and overwrite freed memory. */
static int collect(lua_State *L)
{
    lua_gc(L, LUA_GCCOLLECT);
    luaL_checkstack(L, 100, NULL);
    for (int i = 0; i < 100; i++)
        memset(lua_newuserdatauv(L, sizeof(native_function), 1), 0x5a, sizeof(native_function));
    return 0;
}

static rill_status load_plan(rill_context *ctx)
{
    rill_script *script;
    rill_status status = load_native(ctx, current->text, &script);
    if (status == RILL_OK) status = script_protect(script, read_global, NULL);
    /* Now Lua has no reference to the function or its library any more. */
    if (status == RILL_OK) status = script_protect(script, collect, NULL);
    return status;
}

static void use(problem_name *chain, int32_t *n, const char *name, const char *arguments)
{
    snprintf(chain[0].name, sizeof chain[0].name, "%s", name);
    snprintf(chain[0].arguments, sizeof chain[0].arguments, "%s", arguments);
    *n = 1;
}

/* Compare bit for bit. */
static void assert_same(const engine_record *a, const engine_record *b)
{
    assert_int_equal(a->n_results, b->n_results);
    for (int64_t i = 0; i < a->n_results; i++) {
        assert_int_equal(a->result[i].status, b->result[i].status);
        assert_int_equal(a->result[i].n, b->result[i].n);
        for (int32_t o = 0; o < a->result[i].n; o++) {
            const record_output *x = &a->result[i].output[o], *y = &b->result[i].output[o];
            assert_string_equal(x->text, y->text);
            assert_memory_equal(&x->value.path_score, &y->value.path_score, sizeof x->value.path_score);
            assert_memory_equal(&x->value.score, &y->value.score, sizeof x->value.score);
        }
    }
    assert_int_equal(a->stats.expansions, b->stats.expansions);
}

static void draw(problem *p, schedule *s, uint64_t seed)
{
    dice d = dice_seeded(seed);
    problem_draw(p, PROBLEM_PRUNED, &d);
    schedule_draw(s, PROBLEM_PRUNED, &d);
    s->scheduler = NULL;
    p->n_heuristics = p->naive.n_heuristics = 0;
    memset(p->heuristic, 0, sizeof p->heuristic);
    memset(p->naive.heuristic, 0, sizeof p->naive.heuristic);
}

/* Nothing of the script may be left when the context is destroyed. */
static void run_plan(const plan *how, const problem *p, const schedule *s, engine_record *out)
{
    harness_memory memory = {0};
    rill_context_options options = harness_memory_options(&memory);
    current = how;
    engine_run_with(p, s, &options, load_plan, out);
    assert_int_equal(memory.blocks, 0);
    assert_int_equal(memory.wrong_sizes, 0);
}

/* --- chains ------------------------------------------------------------------------------------------------------- */

/* The native function must give the results of the built-in heuristic absolute and of the naive search. `chain` names
 * what the text declares. */
static void equals_absolute(const plan *how, const char *chain, int64_t iterations)
{
    uint64_t seed = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(iterations); i++, seed++) {
        static problem p;
        schedule s;
        engine_record native, builtin;
        char message[600];
        draw(&p, &s, seed);
        p.naive.n_heuristics = 1;
        p.naive.heuristic[0] = (naive_heuristic){.rule = NAIVE_ABSOLUTE, .value = 1.25};
        problem_solve(&p);
        use(p.heuristic, &p.n_heuristics, chain, "");
        run_plan(how, &p, &s, &native);
        if (native.status != RILL_OK) fail_msg("seed %d: %s", (int)seed, native.message);
        if (problem_compare(&p, &s, &native, message, sizeof message)) fail_msg("seed %d: %s", (int)seed, message);
        use(p.heuristic, &p.n_heuristics, "absolute", "1.25");
        engine_run(&p, &s, NULL, &builtin);
        assert_same(&native, &builtin);
        engine_record_clear(&native);
        engine_record_clear(&builtin);
        problem_clear(&p);
    }
}

static void heuristic_equals_builtin(void **state)
{
    (void)state;
    static const plan how = {NATIVE_PRELUDE "f = bind('keep_near', 'void(candidates*, double)'):with(1.25)",
                             SCRIPT_HEURISTIC, "native-keep_near"};
    equals_absolute(&how, "native-keep_near", 60);
}

/* A native function that Lua calls with the call's `b`. */
static void heuristic_through_lua(void **state)
{
    (void)state;
    static const plan how = {
        NATIVE_PRELUDE
        "f = bind('keep_near', 'void(candidates*, double)'):with(3)\n"
        "local prune, size = bind('keep_near', 'void(view*, double)'), bind('candidates', 'int(const candidates*)')\n"
        "local kept, current\n"
        "local call = bind('through_i32', 'int(void*, int)')\n"
        "local back = rill.ffi.callback('int(int)', function(x) return current.size + x end)\n"
        "rill.heuristic{name = 'through-lua', apply = function(b)\n"
        "  current = b\n"
        "  assert(size(b) == b.size and call(back, 3) == b.size + 3)\n"
        "  if kept then refused('', prune, kept, 1) end\n"
        "  kept = b\n"
        "  prune(b, 1.25)\n"
        "  refused('candidates', prune, b.path_score, 1.25)\n"
        "  refused('engine', prune.with, prune, b, 1)\n"
        "  local sum = bind('sum_doubles', 'double(const double*, int)')\n"
        "  local total = 0\n"
        "  for i = 1, b.size do total = total + b.path_score[i] end\n"
        "  assert(sum(b.path_score, b.size) == total)\n"
        "  refused('argument 1 is valid during one call of the engine only', sum.with, sum, b.path_score, b.size)\n"
        "  refused('', bind('scale', 'void(double*, int, double)'), b.path_score, b.size, 2)\n"
        "end}",
        SCRIPT_HEURISTIC, "native-keep_near"};
    equals_absolute(&how, "through-lua", 15);
}

static void scorer_equals_builtin(void **state)
{
    (void)state;
    static const plan how = {NATIVE_PRELUDE "f = bind('reward_all', 'int(rows*, modifiers*, float)'):with(0.7)\n"
                                            "local reward = bind('reward_all', 'int(rows*, modifiers*, float)')\n"
                                            "rill.scorer{name = 'through-lua', score = function(rows)\n"
                                            "  assert(reward(rows, rows, 0.7) == 0)\n"
                                            "end}",
                             SCRIPT_SCORER, "native-reward_all"};
    uint64_t seed = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(30); i++, seed++) {
        static problem p;
        schedule s;
        engine_record native, builtin;
        draw(&p, &s, seed);
        use(p.scorer, &p.n_scorers, i % 2 ? "native-reward_all" : "through-lua", "");
        run_plan(&how, &p, &s, &native);
        if (native.status != RILL_OK) fail_msg("seed %d: %s", (int)seed, native.message);
        use(p.scorer, &p.n_scorers, "word_reward", "0.7");
        engine_run(&p, &s, NULL, &builtin);
        assert_same(&native, &builtin);
        engine_record_clear(&native);
        engine_record_clear(&builtin);
        problem_clear(&p);
    }
}

/* Any order gives the same results, so the trace must show that the scheduler's order was used. */
static void scheduler_orders(void **state)
{
    (void)state;
    static const plan how = {NATIVE_PRELUDE "f = bind('backwards', 'void(sched_view*, int32*, int*)')",
                             SCRIPT_SCHEDULER, "native-backwards"};
    static problem p;
    schedule s;
    engine_record native, builtin;
    draw(&p, &s, 3);
    s = (schedule){.method = "stream-all", .n = 8, .refill = 0.5, .scheduler = "native-backwards"};
    run_plan(&how, &p, &s, &native);
    if (native.status != RILL_OK) fail_msg("%s", native.message);
    int64_t wide = 0;
    for (int64_t t = 0; t < native.n_timesteps; t++) {
        const record_timestep *step = &native.timestep[t];
        wide += step->n > 1;
        for (int32_t i = 1; i < step->n; i++) assert_true(step->item[i] < step->item[i - 1]);
    }
    assert_true(wide > 0);
    s.scheduler = NULL;
    engine_run(&p, &s, NULL, &builtin);
    assert_same(&native, &builtin);
    engine_record_clear(&native);
    engine_record_clear(&builtin);
    problem_clear(&p);
}

/* --- failures ----------------------------------------------------------------------------------------------------- */

static void fails(const plan *how, rill_status status, const char *words)
{
    static problem p;
    schedule s = {.method = "stream-all", .n = 8, .refill = -1};
    engine_record r;
    schedule drawn;
    draw(&p, &drawn, 5);
    if (how->kind == SCRIPT_HEURISTIC)
        use(p.heuristic, &p.n_heuristics, how->name, "");
    else
        use(p.scorer, &p.n_scorers, how->name, "");
    run_plan(how, &p, &s, &r);
    if (r.status != status || strstr(r.message, words) == NULL)
        fail_msg("%s: %s", rill_status_name(r.status), r.message);
    engine_record_clear(&r);
    problem_clear(&p);
}

static void negative_results(void **state)
{
    (void)state;
    fails(&(plan){NATIVE_PRELUDE "f = bind('fail_with', 'int64(candidates*, int64)'):with(-8)", SCRIPT_HEURISTIC,
                  "native-fail_with"},
          RILL_ERR_INPUT, "returned -8 (RILL_ERR_INPUT)");
    fails(&(plan){NATIVE_PRELUDE "f = bind('fail_with', 'int64(candidates*, int64)'):with(-1000)", SCRIPT_HEURISTIC,
                  "native-fail_with"},
          RILL_ERR_PLUGIN, "heuristic native-fail_with: fail_with() of ");
    fails(&(plan){NATIVE_PRELUDE "f = bind('fail_with', 'int64(candidates*, int64)'):with(-2^40)", SCRIPT_HEURISTIC,
                  "native-fail_with"},
          RILL_ERR_PLUGIN, "returned -1099511627776");
    fails(&(plan){NATIVE_PRELUDE "f = bind('fail_row', 'rill_status(rows*, modifiers*)')", SCRIPT_SCORER,
                  "native-fail_row"},
          RILL_ERR_PLUGIN, "row 7 does not exist");
    /* Positive results, and results of other types than signed integers, are no errors. */
    static const char *const quiet[] = {
        NATIVE_PRELUDE "f = bind('fail_with', 'int64(candidates*, int64)'):with(3)",
        NATIVE_PRELUDE "f = bind('fail_with', 'uint64(candidates*, int64)'):with(-8)",
        NATIVE_PRELUDE "f = bind('fail_with', 'bool(candidates*, int64)'):with(0)",
    };
    for (int i = 0; i < 3; i++) fails(&(plan){quiet[i], SCRIPT_HEURISTIC, "native-fail_with"}, RILL_OK, "");
}

/* Without an enclosing native call from Lua, a callback's error fails the chain's call. */
static void callback_fails_run(void **state)
{
    (void)state;
    fails(&(plan){NATIVE_PRELUDE
                  "bind('note', 'void(void*)')(rill.ffi.callback('void()', function() error('from below') end))\n"
                  "f = bind('call_noted', 'void(candidates*)')",
                  SCRIPT_HEURISTIC, "native-call_noted"},
          RILL_ERR_PLUGIN, "from below");
    fails(&(plan){NATIVE_PRELUDE "local n = 0\n"
                                 "bind('note', 'void(void*)')(rill.ffi.callback('void()', function() n = n + 1 end))\n"
                                 "f = bind('call_noted', 'void(candidates*)')",
                  SCRIPT_HEURISTIC, "native-call_noted"},
          RILL_OK, "");
}

static void chain_arguments(void **state)
{
    (void)state;
    static problem p;
    schedule s = {.method = "stream-all", .n = 8, .refill = -1}, drawn;
    engine_record r;
    draw(&p, &drawn, 5);
    static const plan how = {NATIVE_PRELUDE "f = bind('keep_near', 'void(candidates*, double)'):with(1.25)",
                             SCRIPT_HEURISTIC, "native-keep_near"};
    use(p.heuristic, &p.n_heuristics, "native-keep_near", "2.5");
    run_plan(&how, &p, &s, &r);
    assert_int_equal(r.status, RILL_ERR_OPTION);
    assert_non_null(strstr(r.message, "keep_near:with(...)"));
    engine_record_clear(&r);
    problem_clear(&p);
}

typedef struct attempt {
    script_kind kind;
    const char *signature, *words;
} attempt;

static int try_kind(lua_State *L)
{
    const attempt *a = lua_touserdata(L, 1);
    char name[SCRIPT_NAME_MAX];
    lua_getglobal(L, "bind");
    lua_pushstring(L, "nothing");
    lua_pushstring(L, a->signature);
    lua_call(L, 2, 1);
    script_native_register(L, -1, a->kind, name);
    return 0;
}

static int try_fixed(lua_State *L)
{
    char name[SCRIPT_NAME_MAX];
    lua_getglobal(L, "all");
    script_native_register(L, -1, SCRIPT_SCHEDULER, name);
    return 0;
}

static void shapes(void **state)
{
    (void)state;
    static const attempt attempts[] = {
        {SCRIPT_HEURISTIC, "void(double)",
         "nothing has the signature \"void(double)\": a heuristic must have \"void(candidates*, ...)\" or \"int(candidates*"},
        {SCRIPT_HEURISTIC, "void()", "a heuristic must have"},
        {SCRIPT_HEURISTIC, "double(candidates*)", "a heuristic must have"},
        {SCRIPT_HEURISTIC, "void*(candidates*)", "a heuristic must have"},
        {SCRIPT_HEURISTIC, "string(candidates*)", "a heuristic must have"},
        {SCRIPT_HEURISTIC, "void(rows*, modifiers*)", "a heuristic must have"},
        {SCRIPT_HEURISTIC, "void(candidates*, double, int)",
         "a heuristic is called with 1 argument, so fix the others with nothing:with"},
        {SCRIPT_SCORER, "void(candidates*)", "a scorer must have \"void(rows*, modifiers*, ...)\""},
        {SCRIPT_SCORER, "void(rows*)", "a scorer must have"},
        {SCRIPT_SCORER, "void(modifiers*, rows*)", "a scorer must have"},
        {SCRIPT_SCHEDULER, "void(sched_view*, int32*)",
         "a scheduler must have \"void(sched_view*, int32*, int32*, ...)\""},
        {SCRIPT_SCHEDULER, "void(sched_view*, int64*, int32*)", "a scheduler must have"},
        {SCRIPT_DOMAIN, "void()", "a single function and cannot be a domain"},
    };
    rill_context *ctx = harness_context(NULL);
    rill_script *script;
    assert_int_equal(load_native(ctx,
                                 NATIVE_PRELUDE
                                 "_G.bind = bind\n"
                                 "local x = rill.ffi.array('int32', 1)\n"
                                 "all = bind('nothing', 'void(sched_view*, int32*, int32*)'):with(x, x)\n",
                                 &script),
                     RILL_OK);
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        attempt a = attempts[i];
        if (script_protect(script, try_kind, &a) == RILL_OK) fail_msg("%s was taken", a.signature);
        if (strstr(rill_error(ctx), a.words) == NULL) fail_msg("%s: %s", a.signature, rill_error(ctx));
    }
    assert_int_equal(script_protect(script, try_fixed, NULL), RILL_ERR_PLUGIN);
    assert_non_null(
        strstr(rill_error(ctx), "the first 3 arguments of a scheduler are passed by the engine and cannot be fixed"));
    rill_context_destroy(ctx);
}

/* Two functions of the same symbol get two names. */
static int two_names(lua_State *L)
{
    char name[SCRIPT_NAME_MAX];
    for (int i = 0; i < 2; i++) {
        lua_getglobal(L, i ? "b" : "a");
        script_native_register(L, -1, SCRIPT_HEURISTIC, name);
        assert_string_equal(name, i ? "native-keep_near-2" : "native-keep_near");
        assert_non_null(rill_find_heuristic(script_from_lua(L)->ctx, name));
    }
    return 0;
}

static void names(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    rill_script *script;
    assert_int_equal(load_native(ctx,
                                 NATIVE_PRELUDE
                                 "local f = bind('keep_near', 'void(candidates*, double)') a, b = f:with(1), f:with(2)",
                                 &script),
                     RILL_OK);
    assert_int_equal(script_protect(script, two_names, NULL), RILL_OK);
    rill_context_destroy(ctx);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heuristic_equals_builtin),
        cmocka_unit_test(heuristic_through_lua),
        cmocka_unit_test(scorer_equals_builtin),
        cmocka_unit_test(scheduler_orders),
        cmocka_unit_test(negative_results),
        cmocka_unit_test(callback_fails_run),
        cmocka_unit_test(chain_arguments),
        cmocka_unit_test(shapes),
        cmocka_unit_test(names),
    };
    if (harness_options(argc, argv) != 0) return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
