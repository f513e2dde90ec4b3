/* Configurations in Lua: the struct made from a script's table, refused tables with the position of the error, sweeps,
 * and searches by scripts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/run_config.h"
#include "rill/script_config.h"
#include "support/harness.h"
#include "support/toy_domain.h"

static rill_context *ctx;

/* A domain whose options are keys of configurations, read by their type. */
static const rill_option model_options[] = {
    {"weights", "f32|bf16", "", "", RILL_OPTION_WORD, RILL_OPTION_MODEL, 0, 0, 0, NULL},
    {"origin", "NAME", "", "", RILL_OPTION_TEXT, RILL_OPTION_MODEL, 0, 0, 0, NULL},
    {"shortlist", "FILE", "", "", RILL_OPTION_PATH, RILL_OPTION_MODEL, 0, 0, 0, NULL},
    {"beam-depth", "N", "", "", RILL_OPTION_INT, RILL_OPTION_MODEL, 0, 9, 0, NULL},
    {0}};
static rill_domain options_domain;

static int set_up(void **state)
{
    (void)state;
    ctx = harness_context(NULL);
    options_domain = toy_domain;
    options_domain.name = "options";
    options_domain.options = model_options;
    return rill_register_domain(ctx, &options_domain);
}

static int tear_down(void **state)
{
    (void)state;
    rill_context_destroy(ctx);
    return 0;
}

static rill_script *load_as(const char *name, const char *text)
{
    rill_script *script = NULL;
    rill_status status = rill_script_load_text(&script, ctx, name, text, strlen(text), NULL);
    if (status < 0) fail_msg("%s", rill_error(ctx));
    return script;
}

static rill_script_config *read(const char *text)
{
    rill_script_config *config = NULL;
    if (rill_script_config_read(load_as("here/run.lua", text), &config) < 0) fail_msg("%s", rill_error(ctx));
    return config;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static const char *setting(const rill_script_config *config, const char *name)
{
    for (int32_t i = 0; i < config->n_settings; i++)
        if (rill_option_find(rill_setting_table(), name) ==
            rill_option_find(rill_setting_table(), config->settings[i].name))
            return config->settings[i].value;
    return "";
}

static const char *option(const rill_script_config *config, const char *name)
{
    for (int32_t i = 0; i < config->n_options; i++)
        if (!strcmp(config->options[i].name, name)) return config->options[i].value;
    return "";
}

static void config_everything(void **state)
{
    (void)state;
    rill_script_config *c = read(
        "return {\n"
        "  model = 'm', domain = 'toy', domain_args = 'a=b', input = 'in.txt', output = '-',\n"
        "  references = '/tmp/refs', constraints = 'w',\n"
        "  stats = 'a/b.json', trace = '../t', tokenized = true, weights = 'bf16', pretty = true,\n"
        "  origin = 'here', shortlist = 's 50', alignment = 0.5, word_scores = false, beam_depth = 3,\n"
        "  tsv_column = 2, jsonl = true,\n"
        "  threads = 3, n_best = 4, unordered = true, plugins = {'x.so', '/y.lua'},\n"
        "  options = { method = 'top-up', k = 7.0, n = 3, budget = 50, refill = 0.25,\n"
        "    max_candidates = 2, ['max-items'] = 9, length_penalty = 0.1, check = false },\n"
        "  heuristics = { 'absolute:10', {'relative', 0.5}, {'test', 1, 2.5, 'x'} },\n"
        "  scorers = {}, scheduler = {'all'},\n"
        "}");
    assert_string_equal(c->script, "here/run.lua");
    assert_string_equal(c->model, "here/m");
    assert_string_equal(c->domain, "toy");
    assert_string_equal(c->domain_arguments, "a=b");
    assert_string_equal(c->input, "here/in.txt");
    assert_string_equal(c->output, "-");
    assert_string_equal(c->references, "/tmp/refs");
    assert_string_equal(c->constraints, "here/w");
    assert_string_equal(c->tsv, "2");
    assert_string_equal(c->jsonl, "");
    assert_string_equal(c->stats, "here/a/b.json");
    assert_string_equal(c->trace, "here/../t");
    assert_int_equal(c->tokenized, 1);
    assert_string_equal(option(c, "pretty"), "1");
    assert_string_equal(option(c, "alignment"), "0.5");
    assert_string_equal(option(c, "word_scores"), "0");
    assert_string_equal(option(c, "weights"), "bf16");
    assert_string_equal(option(c, "origin"), "here");
    assert_string_equal(option(c, "shortlist"), "here/s 50");
    assert_string_equal(option(c, "beam_depth"), "3");
    assert_int_equal(c->n_options, 7);
    assert_int_equal(c->threads, 3);
    assert_int_equal(c->n_plugins, 2);
    assert_string_equal(c->plugins[0], "here/x.so");
    assert_string_equal(c->plugins[1], "/y.lua");
    assert_int_equal(c->n_settings, 11);
    assert_string_equal(setting(c, "method"), "top-up");
    assert_string_equal(setting(c, "k"), "7");
    assert_string_equal(setting(c, "budget"), "50");
    assert_string_equal(setting(c, "refill"), "0.25");
    assert_string_equal(setting(c, "max-items"), "9");
    assert_string_equal(setting(c, "length-penalty"), "0.1");
    assert_string_equal(setting(c, "n-best"), "4");
    assert_string_equal(setting(c, "unordered"), "1");
    assert_string_equal(setting(c, "check"), "0");
    assert_int_equal(c->heuristics.n, 3);
    assert_string_equal(c->heuristics.entry[0].name, "absolute");
    assert_string_equal(c->heuristics.entry[0].arguments, "10");
    assert_string_equal(c->heuristics.entry[1].arguments, "0.5");
    assert_string_equal(c->heuristics.entry[2].arguments, "1,2.5,x");
    assert_true(c->scorers.is_set && c->scorers.n == 0);
    assert_true(c->scheduler.is_set && c->scheduler.n == 1);
    assert_string_equal(c->scheduler.entry->name, "all");
    assert_true(c->budget == NULL);
    assert_int_equal(c->n_sweep + c->n_point + c->has_tune + (int)c->sweep_points, 0);
    rill_script_config_free(c);
}

static void config_nothing(void **state)
{
    (void)state;
    rill_script_config *c = read("return {}");
    assert_null(c->model);
    assert_null(c->domain);
    assert_null(c->input);
    assert_int_equal(c->n_settings + c->heuristics.is_set + c->scorers.is_set + c->scheduler.is_set + c->threads, 0);
    rill_script_config_free(c);
    rill_script_config_free(NULL);
}

/* Paths are relative to the script's directory. A bare plugin name becomes a path too, since the loader would search
 * its own directories for it. */
static void config_paths(void **state)
{
    (void)state;
    rill_script_config *c;
    assert_int_equal(rill_script_config_read(load_as("run.lua", "return {model = 'm', plugins = {'p.so'}}"), &c),
                     RILL_OK);
    assert_string_equal(c->model, "m");
    assert_string_equal(c->plugins[0], "./p.so");
    rill_script_config_free(c);
    assert_int_equal(rill_script_config_read(load_as("/tmp/b/run.lua", "return {model = 'm'}"), &c), RILL_OK);
    assert_string_equal(c->model, "/tmp/b/m");
    rill_script_config_free(c);
}

static void config_functions(void **state)
{
    (void)state;
    rill_script_config *c = read(
        "local cut = rill.heuristic{ name = 'cut', apply = function(b) end }\n"
        "local mine = rill.scheduler{ name = 'mine', choose = function(f) return f.timestep:order() end }\n"
        "return { options = { budget = function(f) return 5 end, cube = 'naive', cube_key = function(h) end },\n"
        "  heuristics = { cut, {cut, 10}, function(b) b.keep = b.path_score:ge(b.best - 1) end },\n"
        "  scorers = { function(rows) end }, scheduler = mine }");
    assert_true(c->budget != NULL && c->budget_user != NULL);
    assert_true(c->cube_key != NULL && c->cube_key_user != NULL);
    assert_string_equal(setting(c, "cube"), "naive");
    assert_string_equal(setting(c, "budget"), "");
    assert_string_equal(c->heuristics.entry[0].name, "cut");
    assert_string_equal(c->heuristics.entry[1].arguments, "10");
    for (int i = 0; i < 3; i++) assert_non_null(rill_find_heuristic(ctx, c->heuristics.entry[i].name));
    assert_non_null(rill_find_scorer(ctx, c->scorers.entry[0].name));
    assert_non_null(rill_find_scheduler(ctx, c->scheduler.entry->name));
    rill_script_config_free(c);
}

/* --- refusals ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *message;
} refused[] = {
    {"", "here/run.lua: the script returns nothing"},
    {"return nil", "returns nothing"},
    {"return 3", "returns a number, not a table"},
    {"return 'x'", "returns a string, not a table"},
    {"return {1}", "a value without a name"},
    {"return {modle = 'x'}", "modle: unknown key; did you mean \"model\"?"},
    {"return {heuristic = {}}", "heuristic: unknown key; did you mean \"heuristics\"?"},
    {"return {zzzzzzzzzzz = 1}", "zzzzzzzzzzz: unknown key; docs/scripting.md"},
    {"return {zzz = 1, aaa = 2}", "aaa: unknown key"},
    {"return {max_items = 3}", "max_items: unknown key; it is one of \"options\""},
    {"return {model = 3}", "model: a path, or a list of them for an ensemble, was expected, not a number"},
    {"return {model = {}}", "model: 1 to 17 models were expected"},
    {"return {model = {'a', 3}}", "model[2]: a string was expected, not a number"},
    {"return {model = ''}", "model: the string is empty"},
    {"return {model = 'a\\0b'}", "model: the string has a NUL byte"},
    {"return {tokenized = 1}", "tokenized: true or false was expected, not a number"},
    {"return {threads = 0}", "threads: a whole number from 1 to 1024"},
    {"return {threads = 1.5}", "threads: a whole number from 1 to 1024"},
    {"return {threads = '2'}", "threads: a number was expected, not a string"},
    {"return {plugins = 'x.so'}", "plugins: a list of files was expected, not a string"},
    {"return {plugins = {3}}", "plugins[1]: a string was expected"},
    {"return {plugins = {x = 'a'}}", "plugins: a list of files was expected, not a table with the key \"x\""},
    {"return {plugins = {'a', nil, 'b'}}", "plugins[2]: a string was expected, not nil"},
    {"return {plugins = {[1] = 'a', [3] = 'b'}}", "without gaps"},
    {"return {options = 3}", "options: a table of options was expected, not a number"},
    {"return {options = {3}}", "options: a value without a name"},
    {"return {options = {max_itmes = 3}}", "options.max_itmes: unknown key; did you mean \"max_items\"?"},
    {"return {heuristics = {}, options = {heuristics = {}}}", "heuristics is also set beside \"options\""},
    {"return {options = {model = 'x'}}", "write \"model\" beside \"options\", not inside it"},
    {"return {options = {delta = 3}}", "heuristics = { {\"absolute\", ...} }"},
    {"return {options = {prune_absolute = true}}", "options.prune_absolute: true is not a text or a number"},
    {"return {prune_absolute = 3}", "prune_absolute: unknown key; it is one of \"options\""},
    {"return {settings = {k = 3}}", "settings: unknown key; the options are in \"options\""},
    {"return {setings = {}}", "setings: unknown key; the options are in \"options\""},
    {"return {options = {k = 'three'}}", "options.k: \"three\" is not a whole number from 1 to 65536"},
    {"return {options = {k = true}}", "options.k: true is not a whole number from 1 to 65536"},
    {"return {options = {k = 2.5}}", "options.k: \"2.5\" is not a whole number from 1 to 65536"},
    {"return {options = {k = 0}}", "options.k: \"0\" is not a whole number from 1 to 65536"},
    {"return {options = {k = 0/0}}", "nan\" is not a whole number from 1 to 65536"},
    {"return {options = {k = 1e300}}", "options.k: \"1e+300\" is not a whole number"},
    {"return {options = {refill = 2}}", "options.refill: \"2\" is not a number from 0 to 1"},
    {"return {options = {budget = 'x'}}", "options.budget: \"x\" is not a whole number"},
    {"return {options = {cube_key = 3}}", "options.cube_key: a function was expected, not a number"},
    {"return {options = {method = 3}}", "options.method: unknown method \"3\""},
    {"return {options = {method = 'var-steam'}}",
     "options.method: unknown method \"var-steam\": did you mean \"var-stream\"?"},
    {"return {options = {check = 2}}", "options.check: \"2\" is not true or false"},
    {"return {n_best = 1, options = {n_best = 1}}", "options.n_best: n_best is also set beside \"options\""},
    {"return {options = {max_items = 1, ['max-items'] = 2}}",
     "options.max-items: max_items is the same option, with another value"},
    {"return {options = {['max-items'] = 1, k = 'x'}}", "options.k"},
    {"return {heuristics = 'absolute:1'}", "heuristics: a list such as"},
    {"return {heuristics = {absolute = 1}}", "not a table with the key \"absolute\""},
    {"return {heuristics = {true}}", "heuristics[1]: "},
    {"return {heuristics = {'a', {}}}", "heuristics[2]: "},
    {"return {heuristics = rill.heuristic{name = 'x', apply = function() end}}", "heuristics: a list such as"},
    {"return {scorers = {rill.heuristic{name = 'y', apply = function() end}}}",
     "a scorer was expected, not heuristic y"},
    {"return {scheduler = 3}", "scheduler: "},
    {"return {domain = 3}", "domain: "},
    {"return {sweep = {delta = {1}}}", "sweep: a grid such as rill.sweep"},
    {"return {tune = 3}", "tune: a function(try) was expected, not a number"},
};

static void config_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        rill_script_config *config = (rill_script_config *)ctx;
        rill_status status = rill_script_config_read(load_as("here/run.lua", refused[i].text), &config);
        if (status != RILL_ERR_OPTION || !strstr(rill_error(ctx), refused[i].message))
            fail_msg("%s\n  status %d: %s\n  expected: %s", refused[i].text, status, rill_error(ctx),
                     refused[i].message);
        if (strstr(rill_error(ctx), "traceback")) fail_msg("%s: a traceback tells nothing here", rill_error(ctx));
        assert_null(config);
    }
}

/* Lists of more than 32 entries are refused. */
static void config_too_long(void **state)
{
    (void)state;
    rill_script_config *config;
    rill_script *script = load_as("run.lua", "local t = {} for i = 1, 33 do t[i] = 'x' end return {heuristics = t}");
    assert_int_equal(rill_script_config_read(script, &config), RILL_ERR_OPTION);
    assert_non_null(strstr(rill_error(ctx), "at most 32"));
}

/* --- positions ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *path;
    int line;
} places[] = {
    {"return {\n k = 1,\n options = {\n  k = 2 } }", "options.k", 4},
    {"return {\n k = 1,\n options = {\n  k = 2 } }", "k", 2},
    {"return {\n k = 1,\n options = {\n  k = 2 } }", "options", 3},
    {"return {\n k = 1,\n options = {\n  k = 2 } }", "options.n", 3},
    {"return {\n k = 1,\n options = {\n  k = 2 } }", "none", 1},
    {"return {\n k = 1,\n options = {\n  k = 2 } }", "", 1},
    {"local k = 1\nlocal model = 2\n\nreturn {\n  model = 3 }", "model", 5},
    {"-- model = 1\n--[[\n model = 2 ]]\nreturn { a = 'model = 3',\n  model = 4 }", "model", 5},
    {"return { a = [==[\n model = ]]\n]==], model = 4 }", "model", 3},
    {"return { a = \"x\\\"\", b = {\n model = 3 },\n ['model'] = 4 }", "model", 3},
    {"return { f = function()\n local t = { search = 1 }\n return t end,\n options = {\n ['k'] = 1 } }", "options.k",
     5},
    {"return { f = function()\n search = 2\n if x then search = 3 end\n end,\n search = 4 }", "search", 5},
    {"return { search == 3,\n heuristics = {\n 'x' } }", "heuristics[2]", 2},
    {"return { search == 3,\n heuristics = 2 }", "search", 1},
    {"local function f()\n return 3\nend\nwhile false do\n return 3\nend\nreturn {\n model = 3 }", "model", 8},
    {"local c = {\n model = 3 }\nreturn c", "model", 2},
    {"local c = {}\nc.model = 3\nreturn c", "model", 2},
    {"local c = {}\nreturn c", "model", 2},
    {"for i = 1, 2 do f = function()\n return end end\nrepeat\n local x = 1\nuntil true\nreturn {\n k = 1 }", "k", 7},
    {"x = 3", "y", 0},
    {"", "", 0},
    {"return { [[", "k", 1},
    {"return { 'abc", "k", 1},
    {"return { --[[ k = 1", "k", 1},
    {"return {", "a.b.c", 1},
};

static void config_places(void **state)
{
    (void)state;
    rill_script *script = load_as("run.lua", "");
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int line = script_config_line(script, places[i].text, strlen(places[i].text), places[i].path);
        if (line != places[i].line)
            fail_msg("%s\n  %s: line %d, not %d", places[i].text, places[i].path, line, places[i].line);
    }
}

/* --- sweeps ------------------------------------------------------------------------------------------------------- */

static void config_sweep(void **state)
{
    (void)state;
    rill_script *script = load_as("run.lua",
                                  "return { options = { k = 4 }, heuristics = { {'relative', 1}, 'absolute:9' },\n"
                                  "  sweep = rill.sweep{ k = {1, 2}, delta = {0.5, 1.5, 2.5}, M = {3} } }");
    rill_script_config *base, *point;
    assert_int_equal(rill_script_config_read(script, &base), RILL_OK);
    assert_int_equal(base->n_sweep, 3);
    assert_int_equal(base->sweep_points, 6);
    assert_string_equal(base->sweep[0].name, "M");
    assert_string_equal(base->sweep[1].name, "delta");
    assert_string_equal(base->sweep[1].value[2], "2.5");
    assert_string_equal(base->sweep[2].name, "k");
    for (int i = 0; i < 6; i++) {
        static const char *const deltas[] = {"0.5", "1.5", "2.5"};
        assert_int_equal(rill_script_sweep_point(script, i, &point), RILL_OK);
        assert_int_equal(point->n_point, 3);
        assert_string_equal(point->point[1].name, "delta");
        assert_string_equal(point->point[1].value, deltas[i / 2]);
        assert_int_equal(point->heuristics.n, 2);
        assert_string_equal(point->heuristics.entry[0].name, "relative");
        assert_string_equal(point->heuristics.entry[1].name, "absolute");
        assert_string_equal(point->heuristics.entry[1].arguments, deltas[i / 2]);
        assert_string_equal(setting(point, "k"), i % 2 ? "2" : "1");
        assert_string_equal(setting(point, "max-candidates"), "3");
        assert_int_equal(point->n_sweep, 0);
        rill_script_config_free(point);
    }
    rill_script_config_free(base);
    /* sweep points are made from copies, so the table is unchanged */
    assert_int_equal(rill_script_config_read(script, &base), RILL_OK);
    assert_string_equal(setting(base, "k"), "4");
    assert_string_equal(base->heuristics.entry[1].arguments, "9");
    rill_script_config_free(base);
}

/* Changes that a script makes to a grid or to metatables affect neither the grid nor the base configuration. */
static void config_sweep_is_closed(void **state)
{
    (void)state;
    rill_script_config *point, *base;
    rill_script *script = load_as(
        "run.lua",
        "local grid = rill.sweep{ k = {1, 2}, delta = {3} }\n"
        "for _, name in ipairs{ 'names', 'values', 'edit', 1 } do\n"
        "  assert(not pcall(function() grid[name] = {} end) and not pcall(function() return grid[name] end))\n"
        "end\n"
        "assert(getmetatable(grid) == 'a sweep' and not pcall(setmetatable, grid, {}))\n"
        "local watched = { __index = error, __newindex = error, __len = error, __pairs = error }\n"
        "return setmetatable({ sweep = grid, options = setmetatable({ n = 7 }, watched),\n"
        "  heuristics = setmetatable({ { 'absolute', 1 } }, watched) }, watched)");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rill_script_sweep_point(script, i, &point), RILL_OK);
        assert_string_equal(setting(point, "k"), i ? "2" : "1");
        assert_string_equal(point->heuristics.entry[0].arguments, "3");
        rill_script_config_free(point);
    }
    assert_int_equal(rill_script_config_read(script, &base), RILL_OK);
    assert_string_equal(setting(base, "k"), "");
    assert_string_equal(base->heuristics.entry[0].arguments, "1");
    rill_script_config_free(base);
}

/* rill.names lists the parameters that grids accept. */
static void config_sweep_names(void **state)
{
    (void)state;
    rill_script_config_free(read("for _, kind in ipairs{ 'options', 'sweep' } do\n"
                                 "  assert(#rill.names[kind] > 3)\n"
                                 "  for _, name in ipairs(rill.names[kind]) do rill.sweep{ [name] = {1} } end\n"
                                 "end\n"
                                 "return {}"));
}

static void config_sweep_in_order(void **state)
{
    (void)state;
    rill_script *script = load_as("run.lua",
                                  "return { sweep = rill.sweep{ {'k', {2, 1}}, {'delta', {1}}, {'M', {5, 6}} } }");
    rill_script_config *point;
    assert_int_equal(rill_script_sweep_point(script, 2, &point), RILL_OK);
    assert_string_equal(point->point[0].name, "k");
    assert_string_equal(point->point[0].value, "1");
    assert_string_equal(point->point[1].name, "delta");
    assert_string_equal(point->point[2].value, "5");
    /* the base configuration has no chain; the grid's parameter delta adds this heuristic */
    assert_string_equal(point->heuristics.entry[0].name, "absolute");
    rill_script_config_free(point);
}

/* With an edit function, the chains of a sweep point are the function's; settings of the grid are still applied. */
static void config_sweep_function(void **state)
{
    (void)state;
    rill_script *script = load_as(
        "run.lua", "local cut = rill.heuristic{ name = 'cut', apply = function(b) end }\n"
                   "return { heuristics = { {cut, 1}, 'absolute:9' },\n"
                   "  sweep = rill.sweep({ alpha = {7, 8}, delta = {3}, k = {2} }, function(config, point)\n"
                   "    config.heuristics[1][2] = point.alpha + point.delta\n"
                   "    config.options.n = config.options.k + 1\n"
                   "  end) }");
    rill_script_config *point;
    assert_int_equal(rill_script_sweep_point(script, 1, &point), RILL_OK);
    assert_string_equal(point->heuristics.entry[0].name, "cut");
    assert_string_equal(point->heuristics.entry[0].arguments, "11");
    assert_string_equal(point->heuristics.entry[1].arguments, "9");
    assert_string_equal(setting(point, "n"), "3");
    assert_int_equal(point->n_point, 3);
    assert_string_equal(point->point[0].value, "8");
    rill_script_config_free(point);
    assert_int_equal(rill_script_sweep_point(script, 0, &point), RILL_OK); /* made from a fresh copy */
    assert_string_equal(point->heuristics.entry[0].arguments, "10");
    rill_script_config_free(point);

    script = load_as("run.lua",
                     "return { sweep = rill.sweep({ a = {7} }, function(config, point) error('mine') end) }");
    assert_int_equal(rill_script_sweep_point(script, 0, &point), RILL_ERR_PLUGIN);
    assert_non_null(strstr(rill_error(ctx), "run.lua:1: mine"));
    assert_null(point);
    script = load_as("run.lua",
                     "return { sweep = rill.sweep({ a = {7} }, function(config, point) config.optoins = 1 end) }");
    assert_int_equal(rill_script_sweep_point(script, 0, &point), RILL_ERR_OPTION);
    assert_non_null(strstr(rill_error(ctx), "the options are in \"options\""));
    script = load_as("run.lua", "return {}");
    assert_int_equal(rill_script_sweep_point(script, 0, &point), RILL_ERR_PLUGIN);
}

static void config_sweep_refused(void **state)
{
    static const char *const wrong[][2] = {
        {"rill.sweep{}", "the grid is empty"},
        {"rill.sweep(3)", "table expected"},
        {"rill.sweep({ k = {1} }, 3)", "function expected"},
        {"rill.sweep{ k = {} }", "k: a list of values was expected"},
        {"rill.sweep{ k = 3 }", "k: a list of values was expected"},
        {"rill.sweep{ k = {1, {2}} }",
         "k[2]: a number, a string without zero bytes, true or false was expected, not table"},
        {"rill.sweep{ detla = {1} }", "unknown parameter \"detla\"; did you mean \"delta\"?"},
        {"rill.sweep{ alpha = {1} }", "a parameter of your own needs a function"},
        {"rill.sweep{ {'k', {1}}, {'k', {2}} }", "\"k\" occurs twice"},
        {"rill.sweep{ k = {1}, beam_size = {2} }", "\"beam_size\" and \"k\" are the same option"},
        {"rill.sweep{ delta = {1}, absolute = {2} }", "\"absolute\" and \"delta\" are the same option"},
        {"rill.sweep{ M = {1}, max_candidates = {2} }", "\"M\" and \"max_candidates\" are the same option"},
        {"rill.sweep{ {'k', 1} }", "a list of values was expected"},
        {"rill.sweep{ {{'k'}, {1}} }", "a list of pairs"},
        {"rill.sweep{ 'k' }", "a list of pairs"},
        {"rill.sweep{ [true] = {1} }", "a grid is"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[256];
        rill_script *script;
        snprintf(text, sizeof text, "\nreturn { sweep = %s }", wrong[i][0]);
        rill_status status = rill_script_load_text(&script, ctx, "run.lua", text, strlen(text), NULL);
        if (status != RILL_ERR_PLUGIN || !strstr(rill_error(ctx), wrong[i][1]) ||
            strncmp(rill_error(ctx), "run.lua:2: ", 11))
            fail_msg("%s\n  status %d: %s", wrong[i][0], status, rill_error(ctx));
    }
    const char *large = "local t = {} for i = 1, 1001 do t[i] = i end return { sweep = rill.sweep{ k = t, n = t } }";
    rill_script *script;
    assert_int_equal(rill_script_load_text(&script, ctx, "run.lua", large, strlen(large), NULL), RILL_ERR_PLUGIN);
    assert_non_null(strstr(rill_error(ctx), "more than 1000000 points"));
}

/* --- searches by scripts ------------------------------------------------------------------------------------------ */

typedef struct notes {
    char log[512];
    int calls, failing_call;
} notes;

/* A made-up measurement: quality is k, and k == 9 is refused as an invalid combination. */
static rill_status attempt(void *user, const rill_script_config *config, rill_script_measures *out)
{
    notes *n = user;
    const char *k = setting(config, "k");
    if (++n->calls == n->failing_call) return rill_fail(ctx, RILL_ERR_IO, "the disk is full");
    for (int32_t i = 0; i < config->n_point; i++) {
        size_t used = strlen(n->log);
        snprintf(n->log + used, sizeof n->log - used, "%s=%s ", config->point[i].name, config->point[i].value);
    }
    if (!strcmp(k, "9")) out->refused = "k contradicts itself";
    out->exact = k[0] ? k[0] - '0' : 0;
    out->expansions = 100;
    out->timesteps = 10;
    out->seconds = 0.5;
    out->failed = 1;
    return RILL_OK;
}

static rill_status tune(const char *text, const rill_script_options *options, notes *n)
{
    rill_script *script;
    *n = (notes){.failing_call = n->failing_call};
    if (rill_script_load_text(&script, ctx, "run.lua", text, strlen(text), options) < 0)
        fail_msg("%s", rill_error(ctx));
    return rill_script_tune(script, attempt, n);
}

static void config_tune(void **state)
{
    (void)state;
    notes n = {0};
    const char *text =
        "return { options = { n = 2 }, heuristics = { 'absolute:1' }, tune = function(try)\n"
        "  local low, high = 1, 8\n"
        "  while low < high do\n"
        "    local middle = (low + high) // 2\n"
        "    local r = try{ k = middle, delta = 0.5 }\n"
        "    assert(r.exact == middle and r.oracle == nil and r.expansions == 100 and r.timesteps == 10)\n"
        "    assert(r.seconds == 0.5 and r.failed == 1 and r.refused == nil)\n"
        "    if r.exact >= 5 then high = middle else low = middle + 1 end\n"
        "  end\n"
        "  local r = try{ k = 9 }\n"
        "  assert(r.refused == 'k contradicts itself' and r.exact == 0 and r.expansions == math.huge)\n"
        "  try({ own = 3 }, function(config, point) config.options.k = point.own end)\n"
        "  assert(not pcall(try, 3) and not pcall(try, { dleta = 1 }) and not pcall(try, { k = {} }))\n"
        "  assert(not pcall(try, { k = 'many' }) and not pcall(try, { k = 1 }, 3))\n"
        "  try{}\n"
        "  local mine = { k = 5 }\n"
        "  try(mine, function(config, point) mine.k, mine[1] = nil, {} assert(try{ k = 6 }.exact == 6) end)\n"
        "end }";
    if (tune(text, NULL, &n) != RILL_OK) fail_msg("%s", rill_error(ctx));
    assert_string_equal(n.log, "delta=0.5 k=4 delta=0.5 k=6 delta=0.5 k=5 k=9 own=3 k=6 k=5 ");
    assert_int_equal(n.calls, 8);
    assert_int_equal(tune("return {}", NULL, &n), RILL_ERR_PLUGIN);
    assert_int_equal(tune("return { tune = function(try) try{} error('mine') end }", NULL, &n), RILL_ERR_PLUGIN);
    assert_non_null(strstr(rill_error(ctx), "run.lua:1: mine"));
    assert_int_equal(n.calls, 1);
}

/* A failed attempt ends the search, even if the script catches the error. */
static void config_tune_fails(void **state)
{
    (void)state;
    notes n = {.failing_call = 2};
    assert_int_equal(tune("return { tune = function(try) for k = 1, 5 do try{ k = k } end end }", NULL, &n),
                     RILL_ERR_IO);
    assert_string_equal(n.log, "k=1 ");
    n.failing_call = 2;
    assert_int_equal(tune("return { tune = function(try) for k = 1, 5 do pcall(try, { k = k }) end end }", NULL, &n),
                     RILL_ERR_IO);
    assert_int_equal(n.calls, 2);
    n.failing_call = 0;
}

/* If the function of rill.tune is called after its search has ended, it raises an error. */
static void config_tune_over(void **state)
{
    (void)state;
    notes n = {0};
    const char *text = "local kept\n"
                       "return { heuristics = { function() end }, tune = function(try)\n"
                       "  if kept then assert(not pcall(kept, {})) end\n"
                       "  kept = try\n"
                       "end }";
    rill_script *script = load_as("run.lua", text);
    assert_int_equal(rill_script_tune(script, attempt, &n), RILL_OK);
    assert_int_equal(rill_script_tune(script, attempt, &n), RILL_OK);
    assert_int_equal(n.calls, 0);
}

/* Between two attempts the script has the full instruction limit. */
static void config_tune_limit(void **state)
{
    (void)state;
    notes n = {0};
    const rill_script_options options = {.struct_size = sizeof options, .instructions = 100000};
    const char *many = "return { tune = function(try)\n"
                       "  for k = 1, 5 do try{ k = k } for i = 1, 20000 do end end\n"
                       "end }";
    if (tune(many, &options, &n) != RILL_OK) fail_msg("%s", rill_error(ctx));
    assert_int_equal(n.calls, 5);
    assert_int_equal(tune("return { tune = function(try) try{ k = 1 } while true do end end }", &options, &n),
                     RILL_ERR_PLUGIN);
    assert_non_null(strstr(rill_error(ctx), "--script-steps"));
    assert_int_equal(n.calls, 1);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static rill_status open_use_close(rill_context *context)
{
    static const char text[] =
        "local cut = rill.heuristic{ name = 'cut', apply = function(b) end }\n"
        "return { model = 'm', options = { k = 3, budget = function(f) end }, heuristics = { {cut, 1}, function(b) end },\n"
        "  scorers = { 'word_reward:1' }, scheduler = 'all', plugins = { 'a.so' },\n"
        "  sweep = rill.sweep({ a = {1, 2}, k = {3} }, function(config, point) config.heuristics[1][2] = point.a end),\n"
        "  tune = function(try) try{ k = 4, delta = 1 } end }";
    rill_script *script;
    rill_script_config *config = NULL, *point = NULL;
    notes n = {0};
    rill_status status = rill_script_load_text(&script, context, "a/run.lua", text, sizeof text - 1, NULL);
    if (status == RILL_OK) status = rill_script_config_read(script, &config);
    if (status == RILL_OK) status = rill_script_sweep_point(script, 1, &point);
    if (status == RILL_OK) status = rill_script_tune(script, attempt, &n);
    rill_script_config_free(point); /* the other configurations are freed with the script */
    return status;
}

/* Each allocation fails once, alone and with all later ones. Lua collects garbage and tries again. That may be enough, even if all later
 * allocations fail: it depends on Lua's random seed, which orders tables. */
static void config_memory(void **state)
{
    (void)state;
    for (int persistent = 0; persistent < 2; persistent++) {
        int64_t refusals = 1, n_failed = 0;
        for (int64_t n = 1; refusals > 0; n = harness_next_request(n)) {
            harness_memory memory;
            rill_context *context = harness_begin(&memory);
            memory.persistent = persistent;
            memory.failing_request = memory.requests + n;
            rill_status status = open_use_close(context);
            refusals = memory.refused;
            if (status != RILL_ERR_MEMORY && status != RILL_OK) fail_msg("request %d: %s", (int)n, rill_error(context));
            n_failed += status == RILL_ERR_MEMORY;
            harness_end(context, &memory);
        }
        assert_true(n_failed >= (persistent ? 10 : 1));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(config_everything, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_nothing, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_paths, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_functions, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_refused, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_too_long, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_places, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_sweep, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_sweep_is_closed, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_sweep_names, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_sweep_in_order, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_sweep_function, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_sweep_refused, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_tune, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_tune_fails, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_tune_over, set_up, tear_down),
    cmocka_unit_test_setup_teardown(config_tune_limit, set_up, tear_down),
    cmocka_unit_test(config_memory),
};

HARNESS_MAIN(tests)
