/* Lua domains: the toy domain in both styles against the naive search, arguments and results of a domain's functions,
 * and several models. test_domain_faults.c tests errors. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lua_domain_run.h"
#include "support/problem.h"

/* --- the toy ------------------------------------------------------------------------------------------------------ */

static rill_status load_toy(rill_context *ctx)
{
    rill_script *script;
    return rill_script_load(&script, ctx, SCRIPTS_FOLDER "/toy.lua", NULL);
}

/* Solve random problems by the naive search with the C toy, and decode them with the Lua toy. */
static void random_problems(const char *domain, int64_t iterations)
{
    uint64_t first = harness_seed(1);
    int bad = 0;
    for (int64_t i = 0; i < harness_iterations(iterations) && bad < 5; i++) {
        uint64_t seed = first + (uint64_t)i;
        problem_group group = (problem_group)(i % 5 > 3 ? PROBLEM_PRUNED : i % 5);
        dice d = dice_seeded(seed * 4 + (uint64_t)group);
        problem p;
        problem_draw(&p, group, &d);
        p.domain = domain;
        problem_solve(&p);
        for (int j = 0; j < 2; j++) {
            schedule s;
            engine_record record;
            char message[600], description[2000];
            schedule_draw(&s, group, &d);
            engine_run_with(&p, &s, NULL, load_toy, &record);
            if (problem_compare(&p, &s, &record, message, sizeof message)) {
                problem_describe(&p, &s, description, sizeof description);
                print_error("%s, seed %llu: %s\n  %s\n", domain, (unsigned long long)seed, message, description);
                bad++;
            }
            engine_record_clear(&record);
        }
        problem_clear(&p);
    }
    assert_int_equal(bad, 0);
}

static void plain_toy(void **state)
{
    (void)state;
    random_problems("toy-plain", 1200);
}

static void toy_by_rows(void **state)
{
    (void)state;
    random_problems("toy-rows", 1200);
}

/* All methods of a group have the same results, on each of a few problems. */
static void all_methods(void **state)
{
    (void)state;
    static const char *const domains[] = {"toy-plain", "toy-rows"};
    for (int64_t i = 0; i < harness_iterations(40); i++) {
        problem_group group = (problem_group)(i % 4);
        dice d = dice_seeded(harness_seed(70000) + (uint64_t)i);
        problem p;
        problem_draw(&p, group, &d);
        problem_solve(&p);
        p.domain = domains[i / 4 % 2];
        for (const char *const *method = problem_methods(group); *method != NULL; method++) {
            schedule s = {.method = *method, .n = 1 + (int32_t)(i % 7), .refill = -1};
            engine_record record;
            char message[600];
            engine_run_with(&p, &s, NULL, load_toy, &record);
            if (problem_compare(&p, &s, &record, message, sizeof message)) fail_msg("%s: %s", *method, message);
            engine_record_clear(&record);
        }
        problem_clear(&p);
    }
}

/* --- arguments and results ------------------------------------------------------------------------------------------- */

static const char *const words[] = {"ab", "_", "b", NULL};

static void expect(domain_run *run, const char *lua, const char *out)
{
    domain_try(run, lua, words, NULL);
    if (run->status != RILL_OK) fail_msg("%s", run->message);
    assert_string_equal(run->out, out);
}

/* The shortest possible domain: names for all actions, the end action by name, default outputs. */
#define SHORTEST                                                                       \
    "rill.domain{ name = 'd', actions = {'yes', 'no', '.'}, end_action = '.',\n"       \
    "  start = function(self, input) return {text = input.text, at = 1} end,\n"        \
    "  advance = function(self, state, action)\n"                                      \
    "    assert(action == 'yes' or action == 'no')\n"                                  \
    "    return {text = state.text, at = state.at + 1}\n"                              \
    "  end,\n"                                                                         \
    "  choices = function(self, state)\n"                                              \
    "    if state.at > #state.text then return {['.'] = 0} end\n"                      \
    "    local is_a = state.text:byte(state.at) == 97\n"                               \
    "    return {yes = is_a and -0.25 or -2, no = is_a and -2 or -0.25, ['.'] = -9}\n" \
    "  end"

static void names_and_defaults(void **state)
{
    (void)state;
    domain_run run = {.method = "greedy"};
    expect(&run, SHORTEST "}", "yes no\nno\nno\n");
    expect(&run, SHORTEST ", separator = '' }", "yesno\nno\nno\n");
    expect(&run,
           SHORTEST ", finalize = function(self, h) return h.input .. ':' .. #h.actions .. tostring(h.ended) end }",
           "ab:2true\n_:1true\nb:1true\n");
    expect(&run, SHORTEST ", max_length = 1, finalize = function(self, h) return tostring(h.truncated) end }",
           "true\ntrue\ntrue\n");
    run = (domain_run){.k = 2, .method = "fixed-stream"};
    expect(&run, SHORTEST "}", "yes no|yes yes\nno|yes\nno|yes\n");
}

/* The scores that finalize receives: scorers change the score, not the log-probability. */
static void hypotheses(void **state)
{
    (void)state;
    domain_run run = {.method = "greedy", .scorer = "more"};
    expect(
        &run,
        SHORTEST
        ", finalize = function(self, h)\n"
        "  assert(#h.logps == #h.actions and #h.path_scores == #h.actions)\n"
        "  assert(h.start.text == h.input and h.start.at == 1)\n"
        "  return ('%g %g %s %s'):format(h.path_score, h.logp, table.concat(h.path_scores, ','), table.concat(h.logps, ','))\n"
        "end }\n"
        "rill.scorer{ name = 'more', score = function(rows) rows:reward(nil, 0.5) end }",
        "0.5 -0.5 0.25,0.25 -0.25,-0.25\n0.25 -0.25 0.25 -0.25\n0.25 -0.25 0.25 -0.25\n");
}

/* Terminal actions: all, some by name, or none. The end action always is terminal. */
static void last_actions(void **state)
{
    (void)state;
    domain_run run = {.k = 4, .method = "fixed-stream"};
    static const char format[] =
        "rill.domain{ name = 'd', actions = {'x', 'y', '.'}, end_action = '.', max_length = 3,\n"
        "start = function() return 0 end, advance = function(self, n) return n + 1 end,\n"
        "choices = function(self, n) return {x = -1, y = -2, ['.'] = -4}, %s end }";
    static const struct {
        const char *last, *out;
    } cases[] = {
        {"true", "x|y|\n"},
        {"{x = true}", "x|y x||y y x\n"},
        {"{y = false, x = 1, z = true}", "x|y x||y y x\n"},
        {"n == 1 and {x = true, y = true, ['.'] = true}", "x x|x y|y x|y y\n"},
        {"false", "x x x|x x y|x y x|y x x\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char lua[600];
        static const char *const one[] = {"_", NULL};
        snprintf(lua, sizeof lua, format, cases[i].last);
        domain_try(&run, lua, one, NULL);
        if (run.status != RILL_OK) fail_msg("%s: %s", cases[i].last, run.message);
        if (strcmp(run.out, cases[i].out) != 0) fail_msg("%s: %s", cases[i].last, run.out);
    }
}

/* Arguments of open, and what it may return instead of a table. */
static void options(void **state)
{
    (void)state;
    domain_run run = {.method = "greedy", .arguments = "seed=3"};
    static const char rest[] = ", start = function(self) return self end, advance = function(self, s) return s end,"
                               "choices = function() return {[1] = -1}, true end, actions = 2, phases = 1,";
    char lua[1200];
    snprintf(lua, sizeof lua,
             "rill.domain{ name = 'd', summary = 's', open = function(o)\n"
             "  assert(o.path == nil and o.arguments == 'seed=3' and o.threads == 1 and o.tokenized == false)\n"
             "  assert(type(o.read) == 'function')\n"
             "  local ok, why = pcall(o.read, 'x'); assert(not ok and why:find('without a model', 1, true))\n"
             "  return 7, {max_length = 2}\n"
             "end %s finalize = function(self, h) return self .. ':' .. h.actions[1] .. ':' .. h.start end }",
             rest);
    expect(&run, lua, "7:1:7\n7:1:7\n7:1:7\n");
    snprintf(lua, sizeof lua, "rill.domain{ name = 'd' %s finalize = function(self) return self.arguments end }", rest);
    expect(&run, lua, "seed=3\nseed=3\nseed=3\n");
    snprintf(lua, sizeof lua, "rill.domain{ name = 'd' %s }", rest);
    expect(&run, lua, "1\n1\n1\n");
}

static void sizes_and_canonical(void **unused)
{
    (void)unused;
    static const char lua[] = SHORTEST
        ", measure = function(self, text) return #text * 10 end,"
        "canonical = function(text) return (text:gsub('%s', '')) end, description = 'short', max_length = 77 }";
    rill_context *ctx = harness_context(NULL);
    rill_script *script;
    rill_model *model;
    rill_open_options open = {.struct_size = sizeof open, .threads = 1};
    assert_int_equal(rill_script_load_text(&script, ctx, "t", lua, strlen(lua), NULL), RILL_OK);
    assert_int_equal(rill_model_open(&model, ctx, "d", &open), RILL_OK);
    const rill_domain *domain = rill_find_domain(ctx, "d");
    const rill_domain_info *info = rill_model_info(model);
    rill_text text = {.ctx = ctx};
    assert_ptr_equal(domain, rill_model_domain(model));
    assert_string_equal(domain->summary, "a domain in Lua");
    assert_string_equal(info->description, "short");
    assert_int_equal(info->max_length, 77);
    assert_int_equal(info->actions, 3);
    assert_int_equal(domain->canonical(domain, ctx, " a  b", 5, &text), RILL_OK);
    assert_string_equal(text.data, "ab");
    rill_text_reset(&text);
    assert_int_equal(rill_model_action_name(model, 1, &text), RILL_OK);
    assert_string_equal(text.data, "no");
    assert_int_equal(rill_model_action_name(model, 3, &text), RILL_ERR_NOT_FOUND);
    assert_int_equal(rill_model_find_action(model, "no", 2), 1);
    assert_int_equal(rill_model_find_action(model, "no", 1), RILL_NO_ACTION);
    rill_text_clear(&text);
    rill_model_close(model);
    rill_context_destroy(ctx);
}

/* Log-probabilities of picks only, through the domain's table, are the same in both styles. */
static void picks(void **state)
{
    (void)state;
    static const char *const domains[] = {"toy-plain", "toy-rows"};
    float logp[2][5];
    for (int d = 0; d < 2; d++) {
        rill_context *ctx = harness_context(NULL);
        rill_model *model;
        rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = "seed=5 actions=4 legal=60"};
        assert_int_equal(load_toy(ctx), RILL_OK);
        const rill_domain *domain = rill_find_domain(ctx, domains[d]);
        void *self;
        rill_domain_info info;
        assert_int_equal(rill_model_open(&model, ctx, domains[d], &open), RILL_OK);
        rill_model_close(model);
        assert_int_equal(domain->open(domain, ctx, &open, &self, &info), RILL_OK);
        assert_int_equal(domain->reserve(self, 4, 2), RILL_OK);
        rill_input inputs[] = {{.text = "one", .length = 3, .slot = 1}, {.text = "two", .length = 3, .id = 1}};
        assert_int_equal(domain->encode(self, 2, inputs), RILL_OK);
        static const int32_t node[] = {3, 0}, none[] = {-1, -1}, slot[] = {1, 0}, depth[] = {0, 0};
        static const int32_t row[] = {0, 0, 0, 1, 1}, action[] = {0, 1, 3, 2, 3};
        rill_rows rows = {2, 0, node, none, none, none, slot, depth, 0};
        int32_t count[2];
        uint8_t ends[2] = {0};
        rill_score_request request = {.legal_words = 1, .n_picks = 5, .pick_row = row, .pick_action = action};
        rill_score_result out = {.count = count, .ends = ends, .pick_logp = logp[d]};
        assert_int_equal(domain->step(self, &rows), RILL_OK);
        assert_int_equal(domain->score(self, &rows, &request, &out), RILL_OK);
        assert_true(count[0] == 0 && count[1] == 0);
        domain->free(self, 2, node);
        domain->drop(self, 0);
        domain->drop(self, 1);
        domain->close(self);
        rill_context_destroy(ctx);
    }
    int legal = 0;
    for (int q = 0; q < 5; q++) {
        assert_true(logp[0][q] == logp[1][q]);
        legal += isfinite(logp[0][q]) != 0;
    }
    assert_true(legal > 0 && legal < 5);
}

/* --- texts to actions --------------------------------------------------------------------------------------------- */

/* A domain whose outputs have two or more of five letters. "5" is the name of action 3, and action 5 has another name.
 * `rest` is appended to the declaration. */
#define LETTERS                                                                                              \
    "rill.domain{ name = 'd', actions = {'a', 'b', 'c', '5', '.', 'f'}, end_action = '.', max_length = 4,\n" \
    "  start = function() return 0 end, advance = function(self, n) return n + 1 end,\n"                     \
    "  choices = function(self, n) return {['5'] = -0.1, a = -1, b = -2, c = -3, f = -4, ['.'] = n < 2 and -9 or -0.01} end"
#define BY_LETTERS                                                        \
    ", tokenize = function(self, text)\n"                                 \
    "  local list = {}\n"                                                 \
    "  for letter in text:gmatch('.') do\n"                               \
    "    if letter == '!' then return nil, 'no shouting: ' .. text end\n" \
    "    list[#list + 1] = letter == 'A' and 0 or letter\n"               \
    "  end return list end"

static void texts_to_actions(void **state)
{
    (void)state;
    static const char *const one[] = {"_", NULL};
    static const struct {
        const char *lua, *scorer, *text, *out; /* out: the outputs, or a message */
    } cases[] = {
        /* without tokenize: names separated by spaces */
        {LETTERS "}", "ban", "", "5 5\n"},
        {LETTERS "}", "ban", "5", "a a\n"},
        {LETTERS "}", "ban", "5 5", "5 a\n"},
        {LETTERS "}", "ban", "5 ||| a", "b b\n"},
        {LETTERS "}", "require", "b f", "b f\n"},
        {LETTERS "}", "ban", "3", "the model has no action \"3\""},
        {LETTERS "}", "ban", "bf", "the model has no action \"bf\""},
        /* with tokenize */
        {LETTERS BY_LETTERS "}", "ban", "5", "a a\n"},
        {LETTERS BY_LETTERS "}", "ban", "55", "5 a\n"},
        {LETTERS BY_LETTERS "}", "ban", "5 ||| A", "b b\n"},
        {LETTERS BY_LETTERS "}", "require", "bf", "b f\n"},
        {LETTERS BY_LETTERS "}", "require", "bA", "b a\n"},
        {LETTERS BY_LETTERS "}", "prefix", "f", "f 5\n"},
        {LETTERS BY_LETTERS "}", "allow", "cf", "c c\n"},
        {LETTERS BY_LETTERS "}", "ban", "a!", "ban: \"a!\": no shouting: a!"},
        {LETTERS BY_LETTERS "}", "require", "b", "b 5\n"},
        {LETTERS BY_LETTERS "}", "require", "bz",
         "domain d: tokenize: script test.lua: tokenize: \"z\" is not among the names"},
        /* invalid results of tokenize */
        {LETTERS ", tokenize = function() end }", "ban", "a",
         "tokenize returned nil without a message: it must return a list of actions, or nil"},
        {LETTERS ", tokenize = function() return nil, 3 end }", "ban", "a", "tokenize returned nil"},
        {LETTERS ", tokenize = function() return 'a' end }", "ban", "a", "tokenize returned a string"},
        {LETTERS ", tokenize = function() return {true} end }", "ban", "a", "tokenize: a boolean cannot be an action"},
        {LETTERS ", tokenize = function() return {3, {}} end }", "ban", "a", "tokenize: a table cannot be an action"},
        {LETTERS ", tokenize = function() return {2^32 + 3} end }", "ban", "a",
         "action 4294967299.0 is not one of 0 to 5"},
        {LETTERS ", tokenize = function() return {-(1 << 32) + 3} end }", "ban", "a",
         "action -4294967293 is not one of"},
        {LETTERS ", tokenize = function() return {1.5} end }", "ban", "a", "action 1.5 is not one of 0 to 5"},
        {LETTERS ", tokenize = function() error('burst') end }", "ban", "a", "domain d: tokenize: test.lua:3: burst"},
        {LETTERS ", tokenize = function() while true do end end }", "ban", "a", "instructions in one call"},
        {LETTERS ", tokenize = 3 }", "ban", "a", "tokenize is a number; a function was expected"},
        /* texts are split into action numbers */
        {"rill.domain{ name = 'd', actions = 3, max_length = 2,\n"
         "start = function() return 0 end, advance = function(self, n) return n + 1 end,\n"
         "choices = function() return {[0] = -3, [1] = -2, [2] = -1} end,\n"
         "tokenize = function(self, text) return {#text} end }",
         "ban", "xx", "1 1\n"},
        {"rill.domain{ name = 'd', actions = 3, max_length = 2,\n"
         "start = function() return 0 end, advance = function(self, n) return n + 1 end,\n"
         "choices = function() return {[0] = -1, [1] = -2, [2] = -3} end,\n"
         "tokenize = function(self, text) return {text} end }",
         "ban", "1", "action \"1\" has a name, but this domain's actions are the numbers 0 to 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        domain_run run = {.method = "greedy", .scorer = cases[i].scorer, .scorer_arguments = cases[i].text};
        domain_try(&run, cases[i].lua, one, NULL);
        const char *found = run.status < 0 ? run.message : run.out;
        if (run.status < 0 || *found == '!' ? !strstr(found, cases[i].out) : strcmp(found, cases[i].out) != 0)
            fail_msg("%zu: %s:%s gave \"%s\" for \"%s\"", i, cases[i].scorer, cases[i].text, found, cases[i].out);
    }
}

/* A text with more actions than the initial capacity, and one through the C function that scorers call. */
static void long_texts_to_actions(void **state)
{
    (void)state;
    static const char *const one[] = {"_", NULL};
    domain_run run = {.method = "greedy", .scorer = "asks"};
    domain_try(
        &run,
        LETTERS
        ", tokenize = function(self, text) local l = {} for i = 1, #text * 100 do l[i] = i % 6 end return l end }\n"
        "rill.scorer{ name = 'asks', score = function(rows)\n"
        "  local list = rows:tokenize(('x'):rep(50))\n"
        "  assert(#list == 5000 and list[1] == 1 and list[4999] == 4999 % 6)\n"
        "  assert(#rows:tokenize('') == 0)\n"
        "end }",
        one, NULL);
    if (run.status != RILL_OK) fail_msg("%s", run.message);
}

/* --- several models ------------------------------------------------------------------------------------------------- */

/* Two models of one domain share nothing, and closing one leaves the other intact. */
static void two_models(void **unused)
{
    (void)unused;
    static const char lua[] =
        "rill.domain{ name = 'd', actions = 9, open = function(o) return {action = tonumber(o.arguments)} end,\n"
        "  start = function(self) return {} end, advance = function(self, s) return {} end,\n"
        "  choices = function(self) return {[self.action] = 0}, true end }";
    rill_context *ctx = harness_context(NULL);
    rill_script *script;
    rill_model *model[2];
    domain_run run = {.method = "greedy"};
    static const char *const arguments[] = {"4", "7"};
    assert_int_equal(rill_script_load_text(&script, ctx, "t", lua, strlen(lua), NULL), RILL_OK);
    for (int i = 0; i < 2; i++) {
        rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = arguments[i]};
        assert_int_equal(rill_model_open(&model[i], ctx, "d", &open), RILL_OK);
    }
    for (int i = 0; i < 2; i++) assert_int_equal(domain_decode(&run, ctx, model[i], words), RILL_OK);
    rill_model_close(model[0]);
    assert_int_equal(domain_decode(&run, ctx, model[1], words), RILL_OK);
    assert_string_equal(run.out, "4\n4\n4\n7\n7\n7\n7\n7\n7\n");
    rill_model_close(model[1]);
    rill_context_destroy(ctx);
}

/* Using a rows object after its model was closed is an error. */
static void rows_outlive_their_model(void **unused)
{
    (void)unused;
    static const char lua[] = "local old\n"
                              "rill.domain{ name = 'd', actions = 2, encode = function() end, step = function() end,\n"
                              "  score = function(self, rows)\n"
                              "    if old then old.answer(old, 1, {}) end\n"
                              "    for r = 1, rows.n do rows:answer(r, {[1] = 0}, true) end\n"
                              "    old = rows\n"
                              "  end }";
    rill_context *ctx = harness_context(NULL);
    rill_script *script;
    domain_run run = {.method = "greedy"};
    assert_int_equal(rill_script_load_text(&script, ctx, "t", lua, strlen(lua), NULL), RILL_OK);
    for (int i = 0; i < 2; i++) {
        rill_model *model;
        rill_open_options open = {.struct_size = sizeof open, .threads = 1};
        assert_int_equal(rill_model_open(&model, ctx, "d", &open), RILL_OK);
        assert_int_equal(domain_decode(&run, ctx, model, words), i == 0 ? RILL_OK : RILL_ERR_PLUGIN);
        rill_model_close(model);
    }
    assert_non_null(strstr(rill_error(ctx), "can only be called on the rows of the score() in progress"));
    rill_context_destroy(ctx);
}

static void keep_warning(void *user, rill_log_level level, const char *message)
{
    if (level == RILL_LOG_WARNING) snprintf(user, 400, "%s", message);
}

/* A state is released when the engine frees it: after the run, only states that this script makes while it closes
 * exist. */
static void states_are_forgotten(void **unused)
{
    (void)unused;
    static const char lua[] =
        "local alive, made = setmetatable({}, {__mode = 'k'}), 0\n"
        "local function new() local s = {} alive[s] = true made = made + 1 return s end\n"
        "local function count() local n = 0 for _ in pairs(alive) do n = n + 1 end return n end\n"
        "rill.domain{ name = 'd', actions = 3, end_action = 1, max_length = 6, open = function() return {} end,\n"
        "  start = new, advance = new, choices = function() return {[0] = -0.1, [1] = -3, [2] = -0.2} end,\n"
        "  finalize = function() return made < 20000 and 'early' or count() < made / 4 and 'few' or 'many' end,\n"
        "  close = function()\n"
        "    for i = 1, 50000 do local garbage = {} end\n" /* makes the collector run */
        "    error(count() .. ' of ' .. made // 1000 .. ' thousand')\n"
        "  end }";
    static const char *many[1001];
    char warning[400] = "";
    rill_context_options options = {.struct_size = sizeof options, .log = keep_warning, .log_user = warning};
    for (int i = 0; i < 1000; i++) many[i] = "input";
    domain_run run = {.k = 8};
    domain_try(&run, lua, many, &options);
    if (run.status != RILL_OK) fail_msg("%s", run.message);
    assert_string_equal(run.last, "few");
    if (strstr(warning, " 0 of 31 thousand") == NULL) fail_msg("%s", warning);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(plain_toy),
    cmocka_unit_test(toy_by_rows),
    cmocka_unit_test(all_methods),
    cmocka_unit_test(names_and_defaults),
    cmocka_unit_test(hypotheses),
    cmocka_unit_test(last_actions),
    cmocka_unit_test(options),
    cmocka_unit_test(sizes_and_canonical),
    cmocka_unit_test(picks),
    cmocka_unit_test(texts_to_actions),
    cmocka_unit_test(long_texts_to_actions),
    cmocka_unit_test(two_models),
    cmocka_unit_test(rows_outlive_their_model),
    cmocka_unit_test(states_are_forgotten),
};

HARNESS_MAIN(tests)
