/* Values from scripts to C. Numbers out of range must not wrap to valid ones, and texts with zero bytes must not be
 * truncated. Each kind of destination is tested with all kinds of numbers and texts. */
#include <stdio.h>
#include <string.h>

#include "lua_domain_run.h"
#include "rill/script_config.h"
#include "scripted.h"

static const schedule plain = {.method = "stream-all", .n = 6, .refill = -1};
static const char *const words[] = {"ab", "x", NULL};

/* Run `text`, which declares "mine". The run must succeed with the right results. */
static void passes(const char *kind, const char *text)
{
    problem p;
    engine_record r;
    schedule s = plain;
    scripted_problem(&p, 3, 6, 4);
    if (*kind == 'h') scripted_entry(&p.heuristic[p.n_heuristics++], "mine", "");
    if (*kind == 's') scripted_entry(&p.scorer[p.n_scorers++], "mine", "");
    if (*kind == 'p') s.scheduler = "mine", s.scheduler_arguments = "";
    scripted_run(text, NULL, &p, &s, NULL, &r);
    if (r.status != RILL_OK) fail_msg("%s", r.message);
    assert_int_equal(r.n_results, p.n_inputs);
    engine_record_clear(&r);
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

/* Numbers that must be refused: converted to 32 or 64 bits, or rounded, they would become 0..8, -1 or another valid
 * number. */
#define WRAPPING                                                                                                \
    "local numbers = { 2^32, 2^32 + 1, 1 << 32 | 3, -(1 << 32) + 1, 2^33 + 8, -2^32 + 1, 2^40, 1 << 62, \n"     \
    "  2^63, 2^64 + 4096, math.mininteger, math.maxinteger, 1e300, -1e300, 1/0, -1/0, 0/0, 0.5, 1.5, 2.999 }\n" \
    "local function try(forms, x, ...)\n"                                                                       \
    "  for name, form in pairs(forms) do\n"                                                                     \
    "    if pcall(form, x, ...) then error(name .. ' took ' .. tostring((...)), 0) end\n"                       \
    "  end\n"                                                                                                   \
    "end\n"

static void rows_reject_wrapping_numbers(void **state)
{
    (void)state;
    passes(
        "scorer", WRAPPING
        "local rows_of = {\n"
        "  add = function(rows, x) rows:add(x, 1, 1) end, scale = function(rows, x) rows:scale(x, 1, 2) end,\n"
        "  ban = function(rows, x) rows:ban(x, 1) end, allow = function(rows, x) rows:allow(x, {1}) end,\n"
        "  limit = function(rows, x) rows:limit(x, 1) end, refuse = function(rows, x) rows:refuse(x, 'no') end,\n"
        "  reward = function(rows, x) rows:reward(x, 1) end,\n"
        "  end_reward = function(rows, x) rows:end_reward(x, 1) end,\n"
        "  forbid_end = function(rows, x) rows:forbid_end(x) end,\n"
        "  require_end = function(rows, x) rows:require_end(x) end,\n"
        "  range = function(rows, x) rows:range(x) end, text = function(rows, x) rows:text(x) end,\n"
        "  history = function(rows, x) rows:history(x) end, state = function(rows, x) rows:state(x, 1) end,\n"
        "  keep = function(rows, x) rows:keep(x, 1, 1) end, last = function(rows, x) return rows.last[x] end }\n"
        "local actions = {\n"
        "  add = function(rows, x) rows:add(1, x, 1) end, scale = function(rows, x) rows:scale(1, x, 2) end,\n"
        "  ban = function(rows, x) rows:ban(1, x) end, allow = function(rows, x) rows:allow(1, {1, x}) end,\n"
        "  ban_all = function(rows, x) rows:ban(nil, x) end, state = function(rows, x) rows:state(1, x) end,\n"
        "  allow_all = function(rows, x) rows:allow(nil, {x}) end, keep = function(rows, x) rows:keep(1, x, 1) end,\n"
        "  add_all = function(rows, x) rows:add(nil, x, 1) end }\n"
        "local function filled(rows, x) local a = rows.path_score:copy() for i = 1, #a do a[i] = x end return a end\n"
        "local arrays = {\n"
        "  add = function(rows, x) rows:add(nil, filled(rows, x), 1) end,\n"
        "  scale = function(rows, x) rows:scale(nil, filled(rows, x), 2) end,\n"
        "  ban = function(rows, x) rows:ban(nil, filled(rows, x)) end }\n"
        "local values = {\n" /* for 32-bit destinations, where the wrapped number would be valid */
        "  add = function(rows, x) rows:add(1, 1, x) end, reward = function(rows, x) rows:reward(nil, x) end,\n"
        "  end_reward = function(rows, x) rows:end_reward(1, x) end,\n"
        "  array = function(rows, x) rows:reward(nil, filled(rows, x)) end,\n"
        "  scale = function(rows, x) rows:scale(1, 1, x) end }\n"
        "rill.scorer{ name = 'mine', state = 2, score = function(rows)\n"
        "  for _, x in ipairs(numbers) do\n"
        "    try(rows_of, rows, x) try(actions, rows, x)\n"
        /* in an array, negative numbers are accepted: they mean no action */
        "    if not (x < 0 and x > -2^60 and x == math.floor(x)) then try(arrays, rows, x) end\n"
        "    local named, name = pcall(rows.name, rows, x) assert(not named or name == nil)\n"
        "  end\n"
        "  for _, x in ipairs{1e39, -1e39, -1e300, 1e300, 1/0, 0/0} do try(values, rows, x) end\n"
        "end }");
}

/* A limit above the number of choices means no limit, even if its low 32 bits are a small number. */
static void large_limits_are_no_limits(void **state)
{
    (void)state;
    static const char *const limits[] = {"2^32 + 1", "1 << 32 | 1", "(1 << 62) + 1", "2^31", "nil"};
    engine_record r[5];
    problem p;
    scripted_problem(&p, 3, 6, 4);
    scripted_entry(&p.scorer[p.n_scorers++], "mine", "");
    for (int i = 0; i < 5; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "rill.scorer{ name = 'mine', score = function(rows) local x = %s\n"
                 "  if x then rows:limit(1, math.tointeger(x)) rows:limit(nil, rows.path_score * 0 + x) end end }",
                 limits[i]);
        scripted_run(text, NULL, &p, &plain, NULL, &r[i]);
    }
    for (int i = 0; i < 4; i++) scripted_same(&p, &r[i], &r[4]);
    for (int i = 0; i < 5; i++) engine_record_clear(&r[i]);
}

static void candidates_reject_wrapping_numbers(void **state)
{
    (void)state;
    passes("heuristic", WRAPPING
           "local forms = {\n"
           "  width = function(b, x) b.width[1] = x end, range = function(b, x) b:range(x) end,\n"
           "  score = function(b, x) return b.path_score[x] end, item = function(b, x) return b.item_id[x] end }\n"
           "local masks = {\n"
           "  keep = function(b, x) b.keep = x end, stop = function(b, x) b.stop = x end,\n"
           "  kept = function(b, x) b.keep[1] = x end, drop = function(b, x) b:drop(x) end,\n"
           "  halt = function(b, x) b:halt(x) end }\n"
           "rill.heuristic{ name = 'mine', apply = function(b)\n"
           "  for _, x in ipairs(numbers) do try(forms, b, x) try(masks, b, x) end\n"
           "  local width = b.width:copy()\n"
           "  b.width = 2^32 + 1\n" /* the number saturates, so the width stays */
           "  assert(b.width:ge(width):all()) b.width = width\n"
           "  b:narrow(2^32 + 1) assert(b.width:eq(width):all())\n"
           "end }");
    passes("heuristic", WRAPPING
           "rill.heuristic{ name = 'mine', apply = function(b)\n"
           "  for _, x in ipairs(numbers) do\n"
           "    if x == x and (x < 0 or x > 2^31) and pcall(rill.zeros, x) then error('zeros took ' .. x) end\n"
           "  end\n"
           "end }");
}

static void orders_reject_wrapping_numbers(void **state)
{
    (void)state;
    static const char *const numbers[] = {"2^32 + 1", "1 << 32 | 1", "-(1 << 32) + 1", "1e300", "0/0", "1.5", "1/0"};
    static const char *const forms[] = {"{%s}", "rill.array{%s}"};
    for (size_t i = 0; i < 2 * sizeof numbers / sizeof *numbers; i++) {
        char returned[100], text[300];
        problem p;
        schedule s = plain;
        s.scheduler = "mine";
        s.scheduler_arguments = "";
        snprintf(returned, sizeof returned, forms[i % 2], numbers[i / 2]);
        snprintf(text, sizeof text, "rill.scheduler{ name = 'mine', choose = function(f) return %s end }", returned);
        scripted_problem(&p, 3, 6, 4);
        scripted_fails(text, &p, &s, RILL_ERR_PLUGIN, "choose returned", "whole number in 1..", NULL);
    }
}

static const char *const wrapping[] = {"2^32", "2^32 + 1", "1 << 32 | 2", "-(1 << 32) + 1", "2^40", "1e300",
                                       "0/0",  "1.5",      "1/0",         "math.mininteger"};
enum { WRAPPING_NUMBERS = sizeof wrapping / sizeof *wrapping };

/* Run a domain with one function replaced by `change`, which uses the number x. */
static void change_domain(domain_run *run, const char *change, const char *x)
{
    char lua[1500];
    *run = (domain_run){.method = "greedy", .scorer = "ban", .scorer_arguments = "b"};
    snprintf(lua, sizeof lua,
             "local x = %s\n"
             "local d = { name = 'd', actions = 3, start = function() return 0 end, max_length = 3,\n"
             "  advance = function(self, n) return n + 1 end, choices = function() return {[1] = -1} end,\n"
             "  tokenize = function() return {2} end }\n"
             "local r = { name = 'd', actions = 3, encode = print, step = print, max_length = 3,\n"
             "  score = function(self, rows) for i = 1, rows.n do rows:answer(i, {[1] = -1}) end end,\n"
             "  tokenize = d.tokenize }\n"
             "%s rill.domain(d)",
             x, change);
    domain_try(run, lua, words, NULL);
}

static void domain_refuses(const char *change)
{
    domain_run run;
    for (int i = 0; i < WRAPPING_NUMBERS; i++) {
        change_domain(&run, change, wrapping[i]);
        if (run.status >= 0) fail_msg("%s took %s: %s", change, wrapping[i], run.out);
        if (run.status != RILL_ERR_PLUGIN) fail_msg("%s, %s: %s", change, wrapping[i], run.message);
    }
}

static void domains_reject_wrapping_numbers(void **state)
{
    (void)state;
    static const char *const right[] = {"d.measure = function() return x end", "d = r"};
    for (int i = 0; i < 2; i++) {
        domain_run run;
        change_domain(&run, right[i], "1");
        if (run.status < 0) fail_msg("%s", run.message);
    }
    domain_refuses("d.actions = x");
    domain_refuses("d.end_action = x");
    domain_refuses("d.max_length = x");
    domain_refuses("d.phases = x");
    domain_refuses("d.limited_phases = {x}");
    domain_refuses("d.node_bytes = x");
    domain_refuses("d.slot_bytes = x");
    domain_refuses("d.slot_unit_bytes = x");
    domain_refuses("d.open = function() return 1, {actions = 3, max_length = x} end");
    domain_refuses("d.start = function() return 0, {max_length = x} end");
    domain_refuses("d.start = function() return 0, {size = x > 2^31 and x * 2^21 or x} end");
    domain_refuses("d.measure = function() return x > 2^31 and x * 2^21 or x end");
    domain_refuses("d.choices = function() return {[x == x and x or 7] = -1} end");
    domain_refuses("d.choices = function() return {[1] = x > 0 and -1e300 or 1e300} end");
    domain_refuses("d.tokenize = function() return {1, x} end");
    domain_refuses("d = r d.encode = function() return {max_length = x} end");
    domain_refuses("d = r d.score = function(self, rows) rows:answer(x, {}) end");
    domain_refuses("d = r d.score = function(self, rows) rows:answer(1, {[x == x and x or 7] = -1}) end");
    domain_refuses("d = r d.step = function(self, rows) return rows.node[x] end");
}

static void declarations_reject_wrapping_numbers(void **state)
{
    (void)state;
    for (int i = 0; i < WRAPPING_NUMBERS; i++) {
        char text[200];
        snprintf(text, sizeof text, "rill.scorer{ name = 'mine', state = %s, score = print }", wrapping[i]);
        scripted_refused(text, "state must be a whole number from 0 to 256");
    }
}

/* A script's configuration is refused, and the message names the key. */
static void config_refuses(const char *text, const char *key)
{
    rill_context *ctx = harness_context(NULL);
    rill_script *script;
    rill_script_config *config = NULL;
    rill_status status = rill_script_load_text(&script, ctx, "run.lua", text, strlen(text), NULL);
    if (status >= 0) status = rill_script_config_read(script, &config);
    if (status >= 0) fail_msg("%s: was taken", text);
    if (strstr(rill_error(ctx), key) == NULL) fail_msg("%s: \"%s\" lacks \"%s\"", text, rill_error(ctx), key);
    rill_context_destroy(ctx);
}

static void configs_reject_wrapping_numbers(void **state)
{
    (void)state;
    static const char *const keys[] = {"options.k",         "options.n",      "options.max_candidates",
                                       "options.n_best",    "options.groups", "options.max_length",
                                       "options.max_items", "options.budget", "n_best",
                                       "threads",           "workers"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (int i = 0; i < WRAPPING_NUMBERS; i++) {
            const int inside = strncmp(keys[k], "options.", 8) == 0;
            char text[200];
            snprintf(text, sizeof text,
                     inside ? "return { model = 'm', options = { %s = %s } }" : "return { model = 'm', %s = %s }",
                     keys[k] + (inside ? 8 : 0), wrapping[i]);
            config_refuses(text, keys[k]);
        }
    config_refuses("return { model = 'm', sweep = rill.sweep{ M = { 3, 2^32 + 3 } } }", "sweep.M[2]");
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

static void declarations_are_not_cut(void **state)
{
    (void)state;
    static const char *const kinds[] = {"heuristic", "scorer", "scheduler"};
    static const char *const functions[] = {"apply", "score", "choose"};
    static const char *const texts[] = {"name = 'mine\\0x'", "summary = 'a\\0b'", "['create\\0x'] = print",
                                        "['summary\\0'] = 'a'", "['\\0'] = 1"};
    for (int i = 0; i < 15; i++) {
        char text[200];
        snprintf(text, sizeof text, "rill.%s{ %s%s, %s = print }", kinds[i % 3], i < 3 ? "" : "name = 'mine', ",
                 texts[i / 3], functions[i % 3]);
        scripted_refused(text, i < 3 ? "must be made of a-z" : i < 6 ? "must be one line" : "zero byte");
    }
}

static void domain_texts_are_not_cut(void **state)
{
    (void)state;
    static const struct {
        const char *change, *sentence;
    } cases[] = {
        {"d.name = 'd\\0d'", "name contains a zero byte"},
        {"d.summary = 'd\\0d'", "summary contains a zero byte"},
        {"d['summary\\0'] = 'd'", "a key contains a zero byte"},
        {"d['drop\\0d'] = print", "a key contains a zero byte"},
        {"d.description = 'd\\0d'", "description contains a zero byte"},
        {"d.separator = ' \\0'", "separator contains a zero byte"},
        {"d.actions = {'a', 'b\\0c'}", "or a zero byte"},
        {"d.options = {{name = 'beta\\0', argument = 'B'}}", "name must be a string"},
        {"d.options = {{name = 'beta', argument = 'B\\0'}}", "argument must be a string"},
        {"d.options = {{name = 'beta', argument = 'B', default = '1\\0'}}", "default must be a string"},
        {"d.options = {{name = 'beta', argument = 'B', ['help\\0'] = '1'}}", "a key contains a zero byte"},
        {"d.open = function() return 1, {actions = 3, ['phases\\0'] = 2} end",
         "the second result: a key contains a zero byte"},
        {"d.open = function() return nil, 'no\\0t here' end", "the message contains a zero byte"},
        {"d.open = function() error('no\\0t here') end", "no?t here\nstack traceback"},
        {"d.open = function(o) o.read('x\\0y') end", "without a model"},
        {"d.start = function() return nil, 'no\\0t that' end", "the message contains a zero byte"},
        {"d.start = function() return 0, {note = 'no\\0te'} end", "note contains a zero byte"},
        {"d.start = function() return 0, {['size\\0'] = 3} end",
         "the description of an input: a key contains a zero byte"},
        {"d.tokenize = function() return nil, 'no\\0t this' end", "the message contains a zero byte"},
        {"d.finalize = function() return 'a\\0b' end", "with a line break or a zero byte"},
        {"d = { name = 'd', actions = 2, state = 'path\\0', encode = print, step = print, score = print }",
         "state contains a zero byte"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        domain_run run = {.method = "greedy", .scorer = "ban", .scorer_arguments = "b"};
        char lua[1000];
        snprintf(lua, sizeof lua,
                 "local d = { name = 'd', actions = 3, start = function() return 0 end, max_length = 3,\n"
                 "  advance = function(self, n) return n + 1 end, choices = function() return {[1] = -1}, true end,\n"
                 "  tokenize = function() return {2} end }\n"
                 "%s rill.domain(d)",
                 cases[i].change);
        domain_try(&run, lua, words, NULL);
        if (run.status >= 0) fail_msg("%s: was taken: %s", cases[i].change, run.out);
        if (strstr(run.message, cases[i].sentence) == NULL)
            fail_msg("%s: \"%s\" does not say: %s", cases[i].change, run.message, cases[i].sentence);
    }
}

static void sentences_are_not_cut(void **state)
{
    (void)state;
    problem p;
    scripted_problem(&p, 3, 6, 4);
    scripted_entry(&p.scorer[p.n_scorers++], "mine", "");
    scripted_fails("rill.scorer{ name = 'mine', score = function(rows) rows:refuse(1, 'no\\0t that') end }", &p, &plain,
                   RILL_ERR_PLUGIN, "rows:refuse: the message contains a zero byte", NULL);
    scripted_fails("rill.scorer{ name = 'mine', score = function(rows) error('no\\0t that') end }", &p, &plain,
                   RILL_ERR_PLUGIN, "no?t that\nstack traceback", NULL);
    scripted_fails("rill.scorer{ name = 'mine', create = function() return nil, 'no\\0t that' end,\n"
                   "  score = function(rows) end }",
                   &p, &plain, RILL_ERR_PLUGIN, "create: the message contains a zero byte", NULL);
}

static void keep_line(void *user, const char *line)
{
    snprintf(user, 100, "%s", line);
}

static void prints_are_not_cut(void **state)
{
    (void)state;
    static const char text[] = "print('a\\0b', 'c\\0')";
    char line[100] = "";
    rill_script *script;
    rill_context *ctx = harness_context(NULL);
    const rill_script_options options = {.struct_size = sizeof options, .print = keep_line, .print_user = line};
    assert_int_equal(rill_script_load_text(&script, ctx, "t", text, strlen(text), &options), RILL_OK);
    assert_string_equal(line, "a?b\tc?");
    rill_context_destroy(ctx);
}

static void configuration_texts_are_not_cut(void **state)
{
    (void)state;
    static const char *const texts[] = {"model", "domain",      "domain_args", "input",      "output", "references",
                                        "stats", "constraints", "trace",       "tsv_column", "jsonl",  "lmbr"};
    static const struct {
        const char *returned, *key;
    } cases[] = {
        {"{ model = {'m', 'n\\0'} }", "model[2]"},
        {"{ model = 'm', plugins = {'p\\0.lua'} }", "plugins[1]"},
        {"{ model = 'm', ['stats\\0'] = 'x' }", "stats"},
        {"{ model = 'm', options = { ['k\\0'] = 3 } }", "k"},
        {"{ model = 'm', options = { method = 'greedy\\0x' } }", "options.method"},
        {"{ model = 'm', options = { budget = '1\\0' } }", "options.budget"},
        {"{ model = 'm', heuristics = {'absolute\\0'} }", "heuristics[1]"},
        {"{ model = 'm', heuristics = {'absolute:1\\0'} }", "heuristics[1]"},
        {"{ model = 'm', heuristics = {{'absolute', '1\\0'}} }", "heuristics[1]"},
        {"{ model = 'm', scorers = {{'word_reward', '\\0'}} }", "scorers[1]"},
        {"{ model = 'm', scheduler = 'batch\\0' }", "scheduler"},
        {"{ model = 'm', domain = {'toy', 'a\\0'} }", "domain"},
        {"{ model = 'm', sweep = rill.sweep{ ['k\\0'] = {1} } }", "rill.sweep"},
        {"{ model = 'm', sweep = rill.sweep({ ['k\\0'] = {1} }, print) }", "rill.sweep"},
        {"{ model = 'm', sweep = rill.sweep({ {'k\\0', {1}} }, print) }", "rill.sweep"},
        {"{ model = 'm', sweep = rill.sweep({ mine = {'a', 'b\\0'} }, print) }", "mine[2]"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[100];
        snprintf(text, sizeof text, "return { %s%s = 'a\\0b' }", i > 0 ? "model = 'm', " : "", texts[i]);
        config_refuses(text, texts[i]);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text, "return %s", cases[i].returned);
        config_refuses(text, cases[i].key);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows_reject_wrapping_numbers),
    cmocka_unit_test(large_limits_are_no_limits),
    cmocka_unit_test(candidates_reject_wrapping_numbers),
    cmocka_unit_test(orders_reject_wrapping_numbers),
    cmocka_unit_test(domains_reject_wrapping_numbers),
    cmocka_unit_test(declarations_reject_wrapping_numbers),
    cmocka_unit_test(configs_reject_wrapping_numbers),
    cmocka_unit_test(declarations_are_not_cut),
    cmocka_unit_test(domain_texts_are_not_cut),
    cmocka_unit_test(sentences_are_not_cut),
    cmocka_unit_test(prints_are_not_cut),
    cmocka_unit_test(configuration_texts_are_not_cut),
};

HARNESS_MAIN(tests)
