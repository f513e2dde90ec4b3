/* Schedulers and budget functions written in Lua. None, however bad, changes a result or keeps a run from ending. Good
 * ones schedule like those in C. Faulty ones fail the run, and finished results are kept. */
#include <stdio.h>
#include <string.h>

#include "scripted.h"
#include "tables/tables.h"

/* --- results never change ----------------------------------------------------------------------------------------------- */

static const char *const odd_schedulers =
    "local function reversed(f) local order = {} for i = f.n, 1, -1 do order[#order + 1] = i end return order end\n"
    "local none = function() return 0 end\n"
    "rill.scheduler{ name = 'p-nothing', choose = function() return {} end, refill = none }\n"
    "rill.scheduler{ name = 'p-reverse', choose = reversed, refill = function() return math.huge end }\n"
    "rill.scheduler{ name = 'p-share', choose = reversed }\n" /* with the default refill */
    "rill.scheduler{ name = 'p-widest', choose = function(f) return { f.width:argmax() } end }\n"
    "rill.scheduler{ name = 'p-widest-first', choose = function(f) return f.width:order('descending') end }\n"
    "rill.scheduler{ name = 'p-floats', choose = function(f) return rill.array(f.size:order():table()) end }\n"
    "rill.scheduler{ name = 'p-newest', choose = function(f) return { f.n } end, refill = function() return 1 end }\n"
    "rill.scheduler{ name = 'p-stingy', choose = reversed, refill = function() return -1e300 end,\n"
    "  encode_ahead = function(f) return f.batch end }\n"
    "rill.scheduler{ name = 'p-greedy', choose = function(f) return f.item_id:order() end, refill = function() return 2^40 end,\n"
    "  encode_ahead = function() return 1e9 end }\n"
    "rill.scheduler{ name = 'p-random', create = function(text) return { seed = tonumber(text) } end,\n"
    "  choose = function(f, self)\n"
    "    local order = {}\n"
    "    for i = 1, f.n do table.insert(order, self.seed % (#order + 1) + 1, i) self.seed = self.seed * 5 + 1 end\n"
    "    for _ = 1, self.seed % (f.n + 1) do table.remove(order) end\n"
    "    return order\n"
    "  end,\n"
    "  refill = function(f, self) self.seed = self.seed * 5 + f.n return self.seed % 5 - 1 end }\n";

static const char *const odd_scheduler_names[] = {"p-nothing", "p-reverse", "p-share",  "p-widest", "p-widest-first",
                                                  "p-floats",  "p-newest",  "p-stingy", "p-greedy", "p-random"};
enum { ODD = sizeof odd_scheduler_names / sizeof *odd_scheduler_names };

static void schedulers_change_no_answer(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(1000); i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 51));
        problem_group group = i % 4 == 0 ? PROBLEM_FIXED_TOP : PROBLEM_PRUNED;
        problem p;
        schedule s;
        engine_record r;
        problem_draw(&p, group, &d);
        problem_solve(&p);
        schedule_draw(&s, group, &d);
        s.scheduler = odd_scheduler_names[seed % ODD];
        s.scheduler_arguments = strcmp(s.scheduler, "p-random") == 0 ? "17" : "";
        scripted_run(odd_schedulers, NULL, &p, &s, NULL, &r);
        problem_expect(&p, &s, seed, &r);
        engine_record_clear(&r);
        problem_clear(&p);
    }
}

/* --- the built-in ones in Lua -------------------------------------------------------------------------------------------- */

static const char *const built_in =
    "local function all(f) local order = {} for i = 1, f.n do order[i] = i end return order end\n"
    "local function share(f) return f.n <= f.refill * f.max_items and f.max_items - f.n or 0 end\n"
    "rill.scheduler{ name = 'lua-batch', overdue_first = true,\n"
    "  choose = all, refill = function(f) return f.n == 0 and f.max_items or 0 end }\n"
    "rill.scheduler{ name = 'lua-least-advanced', choose = function(f)\n"
    "    local order, depth = {}, f.timestep\n"
    "    local least = depth:min()\n"
    "    for i = 1, f.n do if depth[i] == least then order[#order + 1] = i end end\n"
    "    return order\n"
    "  end }\n"
    "rill.scheduler{ name = 'lua-most-advanced', choose = function(f) return f.timestep:order('descending') end,\n"
    "  refill = share }\n"
    "rill.scheduler{ name = 'lua-top-up', overdue_first = true, choose = all, refill = share,\n"
    "  encode_ahead = function(f) return f.batch end }\n";

static void same_timesteps(const engine_record *a, const engine_record *b)
{
    assert_int_equal(a->n_timesteps, b->n_timesteps);
    for (int64_t t = 0; t < a->n_timesteps; t++) {
        assert_int_equal(a->timestep[t].n, b->timestep[t].n);
        assert_int_equal(a->timestep[t].in_flight, b->timestep[t].in_flight);
        assert_memory_equal(a->timestep[t].item, b->timestep[t].item, (size_t)a->timestep[t].n * sizeof(int64_t));
    }
}

static void schedules_agree(void **state)
{
    (void)state;
    static const char *const names[] = {"batch", "least-advanced", "most-advanced", "top-up"};
    uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(300); i++) {
        dice d = dice_seeded(dice_mix(first + (uint64_t)i, 52));
        problem p;
        schedule s;
        engine_record a, b;
        char name[40];
        problem_draw(&p, PROBLEM_PRUNED, &d);
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        s.by_run = 0;
        s.scheduler = names[i % 4];
        s.scheduler_arguments = "";
        scripted_run(built_in, NULL, &p, &s, NULL, &a);
        snprintf(name, sizeof name, "lua-%s", s.scheduler);
        s.scheduler = name;
        scripted_run(built_in, NULL, &p, &s, NULL, &b);
        scripted_same(&p, &a, &b);
        same_timesteps(&a, &b);
        engine_record_clear(&a);
        engine_record_clear(&b);
    }
}

/* --- faults ------------------------------------------------------------------------------------------------------------ */

static const schedule faulty = {.method = "stream-all",
                                .n = 3,
                                .max_items = 4,
                                .refill = 1,
                                .budget = 6,
                                .scheduler = "mine",
                                .scheduler_arguments = ""};

/* Return a scheduler with these functions as text; the others are valid. */
static const char *scheduler_text(const char *choose, const char *refill, const char *encode_ahead)
{
    static char text[2000];
    snprintf(text, sizeof text,
             "rill.scheduler{ name = 'mine', choose = function(f)\n%s\nend, refill = function(f)\n%s\nend,\n"
             "encode_ahead = function(f)\n%s\nend }\n",
             choose != NULL ? choose : "return f.item_id:order()", refill != NULL ? refill : "return 2",
             encode_ahead != NULL ? encode_ahead : "return 1");
    return text;
}

static void fails(const char *choose, const char *refill, const char *encode_ahead, const char *words)
{
    problem p;
    scripted_problem(&p, 3, 9, 3);
    scripted_fails(scheduler_text(choose, refill, encode_ahead), &p, &faulty, RILL_ERR_PLUGIN, "scheduler mine", words,
                   NULL);
}

static void garbage(void **state)
{
    (void)state;
    static const char *const no_orders[] = {
        "return",      "return nil",   "return 'all'", "return 17",
        "return true", "return print", "return f",     "return coroutine.create(print)"};
    for (size_t i = 0; i < sizeof no_orders / sizeof *no_orders; i++)
        fails(no_orders[i], NULL, NULL, "choose returned a ");
    fails("return {0}", NULL, NULL, "choose returned 0: an index is a whole number in 1..");
    fails("return {-1}", NULL, NULL, "choose returned -1");
    fails("return {f.n + 1}", NULL, NULL, "an index is a whole number in 1..");
    fails("return {1.5}", NULL, NULL, "choose returned 1.5");
    fails("return {0/0}", NULL, NULL, "nan");
    fails("return {'first'}", NULL, NULL, "choose returned first");
    fails("return {{}}", NULL, NULL, "choose returned table");
    fails("return f.n > 1 and {1, 1} or {1}", NULL, NULL, "chose item 0 twice");
    fails("local t = {} for i = 1, 1000 do t[i] = 1 end return t", NULL, NULL, "choose returned 1000 indexes for");
    fails("return rill.array{0.5}", NULL, NULL, "choose returned 0.5");
    fails("return rill.array{0/0}", NULL, NULL, "choose returned ");
    fails("return rill.array{1e300}", NULL, NULL, "choose returned 1e+300");
    fails("return rill.zeros(100000)", NULL, NULL, "choose returned 100000 indexes for");
    fails("return rill.zeros(1)", NULL, NULL, "choose returned 0");
    fails("if not old then old = f.width return {} end return old", NULL, NULL, "call that is over");
    fails("old = old or f return old.n < 0 and {} or {}", NULL, NULL, "sched_view of a call that is over");
    fails("f.n = 1", NULL, NULL, "sched_view.n is read-only");
    fails("return f.widht", NULL, NULL, "did you mean \"width\"?");
    fails("f.width[1] = 5", NULL, NULL, "can only be read");
    fails(NULL, "return", NULL, "refill returned nothing");
    fails(NULL, "return '5'", NULL, "refill returned a string");
    fails(NULL, "return {}", NULL, "refill returned a table");
    fails(NULL, "return 0/0", NULL, "refill returned NaN");
    fails(NULL, NULL, "return 'x'", "encode_ahead returned a string");
    fails(NULL, NULL, "error(('x'):rep(1500) .. ' ends here')", "x ends here\nstack traceback:");
    fails(NULL, NULL, "return 0/0", "encode_ahead returned NaN");
    fails(NULL, NULL, "error('ahead')", "ahead");
    /* nothing is left to refill, so the next choice reports the error */
    problem p;
    scripted_problem(&p, 3, 2, 3);
    scripted_fails(scheduler_text(NULL, NULL, "error('ahead')"), &p, &faulty, RILL_ERR_PLUGIN,
                   "scheduler mine, encode_ahead()", "ahead", NULL);
}

/* The results of an aborted run must be the first ones of the whole run, in order. */
static void is_a_beginning(const problem *p, const engine_record *cut, const engine_record *all)
{
    for (int32_t i = 0; i < p->n_inputs; i++) {
        const record_result *c = &cut->result[i], *a = &all->result[i];
        if (c->taken == 0) continue;
        assert_int_equal(c->taken, 1);
        assert_int_equal(c->n, a->n);
        for (int32_t o = 0; o < c->n; o++) assert_string_equal(c->output[o].text, a->output[o].text);
    }
}

static void late_failures(void **state)
{
    (void)state;
    problem p;
    engine_record all, cut;
    scripted_problem(&p, 3, 12, 3);
    scripted_run(scheduler_text(NULL, NULL, NULL), NULL, &p, &faulty, NULL, &all);
    assert_int_equal(all.status, RILL_OK);
    assert_true(all.n_timesteps > 10);
    int64_t max_results = 0;
    for (int which = 0; which < 3; which++)
        for (int t = 0; t < all.n_timesteps; t++) {
            static const char *const sound[3] = {"return f.item_id:order()", "return 2", "return 1"};
            char fault[120];
            snprintf(fault, sizeof fault, "if f.timesteps >= %d then error('at last') end %s", t, sound[which]);
            scripted_run(
                scheduler_text(which == 0 ? fault : NULL, which == 1 ? fault : NULL, which == 2 ? fault : NULL), NULL,
                &p, &faulty, NULL, &cut);
            /* near the end nothing is refilled, so refill and encode_ahead are not called */
            if (cut.status != RILL_OK) assert_int_equal(cut.status, RILL_ERR_PLUGIN);
            if (cut.status != RILL_OK) assert_non_null(strstr(cut.message, "at last"));
            if (which == 0) assert_int_equal(cut.status, RILL_ERR_PLUGIN);
            assert_int_equal(cut.toy.violations, 0);
            is_a_beginning(&p, &cut, &all);
            if (cut.n_results > max_results) max_results = cut.n_results;
            engine_record_clear(&cut);
        }
    assert_true(max_results > 6);
    engine_record_clear(&all);
}

/* After a failure, each later call of the engine reports it again. */
static void a_failed_encode_ahead_stays(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    const char *text = scheduler_text(NULL, NULL, "error('ahead')");
    const rill_sched_view f = {0};
    rill_script *script;
    void *self;
    int32_t n;
    assert_int_equal(rill_script_load_text(&script, ctx, "test.lua", text, strlen(text), NULL), RILL_OK);
    const rill_scheduler *mine = rill_find_scheduler(ctx, "mine");
    assert_int_equal(mine->create(mine, ctx, "", &self), RILL_OK);
    assert_int_equal(mine->encode_ahead(self, &f), 0);
    for (int i = 0; i < 4; i++) {
        rill_error_clear(ctx);
        assert_int_equal(i % 2 == 0 ? mine->choose(self, &f, NULL, &n) : mine->refill(self, &f, &n), RILL_ERR_PLUGIN);
        assert_non_null(strstr(rill_error(ctx), "ahead"));
    }
    mine->destroy(self);
    rill_context_destroy(ctx);
}

static void endless_loops(void **state)
{
    (void)state;
    problem p;
    engine_record r;
    rill_script_options options = {.struct_size = sizeof options, .instructions = 300000};
    static const char loop[] = "if f.timesteps > 5 then while true do pcall(function() while true do end end) end end ";
    scripted_problem(&p, 3, 9, 3);
    for (int which = 0; which < 3; which++) {
        char body[200];
        snprintf(body, sizeof body, "%s return %s", loop, which == 0 ? "{1}" : "1");
        scripted_run(scheduler_text(which == 0 ? body : NULL, which == 1 ? body : NULL, which == 2 ? body : NULL),
                     &options, &p, &faulty, NULL, &r);
        assert_int_equal(r.status, RILL_ERR_PLUGIN);
        if (strstr(r.message, "300000 instructions") == NULL) fail_msg("%s", r.message);
        assert_non_null(strstr(r.message, "items in flight"));
        engine_record_clear(&r);
    }
}

static void declarations(void **state)
{
    (void)state;
    scripted_refused("rill.scheduler{ name = 'mine', choose = print, overdue_first = 1 }",
                     "overdue_first must be true or false");
    scripted_refused("rill.scheduler{ name = 'mine', choose = print, overdue_first = 'yes' }",
                     "overdue_first must be true or false");
    scripted_refused("rill.scheduler{ name = 'mine' }", "choose = function ... end is missing");
    scripted_refused("rill.scheduler{ name = 'batch', choose = print }", "\"batch\" is registered already");
    scripted_refused("rill.scheduler{ name = 'mine', choose = print, arguments = 'X' }", "unknown key \"arguments\"");
    scripted_refused("rill.scheduler{ name = 'mine', choose = print, refil = print }", "did you mean \"refill\"?");
    problem p;
    schedule s = faulty;
    s.scheduler_arguments = "5";
    scripted_problem(&p, 3, 3, 3);
    scripted_fails(scheduler_text(NULL, NULL, NULL), &p, &s, RILL_ERR_OPTION,
                   "scheduler mine takes no arguments, found \"5\"", NULL);
}

/* The fields of the argument `f` are right, with a budget and with a sort window larger than the number of items in
 * flight. */
static void sched_view_fields(void **state)
{
    (void)state;
    problem p;
    engine_record r;
    scripted_problem(&p, 3, 9, 3);
    scripted_run(
        scheduler_text(
            "assert(f.n > 0 and f.n <= f.max_items and #f.size == f.n and #f.refill_index == f.n)\n"
            "assert(f.batch == 3 and math.type(f.k) == 'integer' and f.max_items == 4 and f.budget == 6 and f.refill == 1)\n"
            "assert(math.type(f.waiting) == 'integer' and f.timesteps >= (before or 0))\n"
            "before = f.timesteps\n"
            "assert(f.width:min() >= 1 and f.timestep:min() >= 0 and f.refill_index:max() >= f.refill_index[1])\n"
            "return f.item_id:order()",
            "assert(f.n >= 0 and #f.item_id == f.n) return 2", NULL),
        NULL, &p, &faulty, NULL, &r);
    if (r.status != RILL_OK) fail_msg("%s", r.message);
    assert_int_equal(r.n_results, 9);
    engine_record_clear(&r);
}

/* --- budgets ------------------------------------------------------------------------------------------------------------ */

typedef struct budgeted {
    int64_t results, rows, widest, timesteps;
    rill_status status;
    char message[1200];
} budgeted;

static rill_status read_input(void *user, int may_block, const char **text, size_t *length)
{
    static _Thread_local char line[20];
    int *next = user;
    (void)may_block;
    if (*next == 20) return RILL_END_OF_INPUT;
    *length = (size_t)snprintf(line, sizeof line, "in %d", (*next)++);
    *text = line;
    return RILL_OK;
}

static rill_status write_result(void *user, const rill_result *result)
{
    (void)result;
    ((budgeted *)user)->results++;
    return RILL_OK;
}

static void watch(void *user, const rill_trace_event *e)
{
    budgeted *b = user;
    if (e->kind != RILL_TRACE_TIMESTEP) return;
    b->timesteps++;
    b->rows += e->rows;
    /* an item wider than the budget runs alone */
    if (e->n > 1 && e->rows > b->widest) b->widest = e->rows;
}

/* Decode 20 inputs with the budget function that `text` returns, and with this batch budget. */
static budgeted decode_budgeted(const char *text, int32_t setting)
{
    budgeted b = {0};
    rill_context *ctx = harness_context(NULL);
    rill_script *s;
    rill_model *model;
    rill_engine *engine = NULL;
    rill_engine_setup setup;
    rill_open_options options = {
        .struct_size = sizeof options, .threads = 1, .arguments = "seed=4 actions=6 depth=6 flat=2"};
    if (rill_script_load_text(&s, ctx, "test.lua", text, strlen(text), NULL) < 0) fail_msg("%s", rill_error(ctx));
    assert_int_equal(rill_model_open(&model, ctx, "toy", &options), RILL_OK);
    rill_engine_setup_default(&setup);
    setup.settings.k = 3;
    setup.settings.max_items = 10;
    setup.settings.budget = setting;
    snprintf(setup.settings.method, sizeof setup.settings.method, "stream-all");
    setup.trace = watch;
    setup.trace_user = &b;
    lua_rawgeti(s->L, LUA_REGISTRYINDEX, s->result);
    script_budget_create(s->L, -1, &setup.budget, &setup.budget_user);
    lua_pop(s->L, 1);
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    int next = 0;
    b.status = rill_run(engine, read_input, &next, write_result, &b);
    snprintf(b.message, sizeof b.message, "%s", rill_error(ctx));
    rill_engine_destroy(engine);
    rill_model_close(model);
    rill_context_destroy(ctx);
    return b;
}

static void budgets(void **state)
{
    (void)state;
    budgeted none = decode_budgeted("return function() return 0 end", 5),
             set = decode_budgeted("return function() end", 5);
    assert_int_equal(none.status, RILL_OK);
    assert_int_equal(none.results, 20);
    assert_true(none.widest > 5);
    assert_int_equal(set.status, RILL_OK);
    assert_int_equal(set.rows, none.rows);
    assert_true(set.widest <= 5 && set.widest > 0);
    budgeted seven = decode_budgeted("return function(f) assert(f.budget == 5 and f.k == 3) return 7.9 end", 5);
    assert_true(seven.widest <= 7 && seven.widest > 5);
    assert_int_equal(seven.rows, none.rows);
    budgeted endless = decode_budgeted("return function(f) return math.huge end", 5);
    assert_int_equal(endless.timesteps, none.timesteps);
    /* a budget between 0 and 1 counts as 1; 0 would mean no limit */
    budgeted small = decode_budgeted("return function(f) return 0.25 end", 5);
    assert_int_equal(small.status, RILL_OK);
    assert_int_equal(small.widest, 0);
    assert_int_equal(small.results, 20);
    budgeted shrinking = decode_budgeted("return function(f) return 10 - f.timestep:mean() end", 0);
    assert_int_equal(shrinking.status, RILL_OK);
    assert_true(shrinking.widest <= 10);
}

static void bad_budgets(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"return function() return -1 end", "test.lua:1 with "},
        {"return function() return -7.5 end", "the budget function returned -7.5: at least 1, or 0 for no limit"},
        {"return function() return 0/0 end", "the budget function returned NaN"},
        {"return function() return '7' end", "the budget function returned a string"},
        {"return function() return {} end", "the budget function returned a table"},
        {"return function(f) return f.waht end", "sched_view: no field"},
        {"return function(f) if f.timesteps > 3 then error('no more') end end", "test.lua:1: no more"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        budgeted b = decode_budgeted(texts[i][0], 5);
        assert_int_equal(b.status, RILL_ERR_PLUGIN);
        if (strstr(b.message, texts[i][1]) == NULL) fail_msg("\"%s\" lacks \"%s\"", b.message, texts[i][1]);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(schedulers_change_no_answer),
    cmocka_unit_test(schedules_agree),
    cmocka_unit_test(garbage),
    cmocka_unit_test(late_failures),
    cmocka_unit_test(a_failed_encode_ahead_stays),
    cmocka_unit_test(endless_loops),
    cmocka_unit_test(declarations),
    cmocka_unit_test(sched_view_fields),
    cmocka_unit_test(budgets),
    cmocka_unit_test(bad_budgets),
};

HARNESS_MAIN(tests)
