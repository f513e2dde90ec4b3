/* Faulty Lua domains: which faults are refused, when, with which message, and that nothing leaks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lua_domain_run.h"
#include "rill/plugin.h"
#include "state/state.h"

static const char *const words[] = {"ab", "x", "b", NULL};

static void expect_message(const char *what, const domain_run *run, const char *sentence)
{
    if (strstr(run->message, sentence) == NULL) fail_msg("%s: \"%s\" does not say: %s", what, run->message, sentence);
}

/* --- declarations ------------------------------------------------------------------------------------------------- */

#define THREE "start = function() return 0 end, advance = function() return 0 end, choices = function() return {} end"

static void bad_declarations(void **state)
{
    (void)state;
    static const struct {
        const char *lua, *sentence;
    } cases[] = {
        {"rill.domain{}", "name = \"...\" is missing"},
        {"rill.domain(3)", "table expected"},
        {"rill.domain()", "table expected"},
        {"rill.domain{ name = 7, actions = 2, " THREE "}", "name is a number; a string was expected"},
        {"rill.domain{ name = 'Big', actions = 2, " THREE "}", "the name may only have a-z"},
        {"rill.domain{ name = 'd\\0d', actions = 2, " THREE "}", "name contains a zero byte"},
        {"rill.domain{ name = 'd', summary = {}, actions = 2, " THREE "}", "summary is a table"},
        {"rill.domain{ name = 'd', finalise = 2, " THREE "}", "\"finalise\": did you mean \"finalize\"?"},
        {"rill.domain{ name = 'd', zzzzqqqq = 2, " THREE "}", "expected name, summary, open, start"},
        {"rill.domain{ name = 'd', actions = 2, 'x', " THREE "}", "rill.domain: a key must be a string, not 1"},
        {"rill.domain{ name = 'd', actions = 2, [{}] = 1, " THREE "}", "a key must be a string, not table: "},
        {"rill.domain{ name = 'd', actions = 2 }", "d lacks the function start"},
        {"rill.domain{ name = 'd', actions = 2, start = print }", "d lacks the function advance"},
        {"rill.domain{ name = 'd', actions = 2, start = print, advance = print }", "d lacks the function choices"},
        {"rill.domain{ name = 'd', actions = 2, encode = print, step = print }", "d lacks the function score"},
        {"rill.domain{ name = 'd', actions = 2, score = print, " THREE "}", "d mixes two interfaces"},
        {"rill.domain{ name = 'd', actions = 2, free = print, " THREE "}", "d mixes two interfaces"},
        {"rill.domain{ name = 'd', actions = 2, open = 3, " THREE "}", "open is a number; a function was expected"},
        {"rill.domain{ name = 'd', " THREE "}", "d has neither actions"},
        {"for i = 1, 2 do rill.domain{ name = 'd', actions = 2, " THREE "} end", "registered already"},
        {"rill.domain{ name = 'toy2', actions = 2, " THREE "} error('and then')", "and then"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        domain_run run = {.k = 2};
        domain_try(&run, cases[i].lua, words, NULL);
        if (run.loaded) fail_msg("%s: was taken", cases[i].lua);
        expect_message(cases[i].lua, &run, cases[i].sentence);
    }
}

/* Declarations of a script that fails later are removed, and their names are free again. */
static void failures_register_nothing(void **unused)
{
    (void)unused;
    static const char bad[] = "rill.domain{ name = 'd', actions = 2, " THREE "} local x = nil + 1";
    static const char good[] = "rill.domain{ name = 'd', actions = 2, " THREE "}";
    rill_context *ctx = harness_context(NULL);
    rill_script *script;
    assert_int_equal(rill_script_load_text(&script, ctx, "bad", bad, strlen(bad), NULL), RILL_ERR_PLUGIN);
    assert_null(rill_find_domain(ctx, "d"));
    assert_int_equal(rill_script_load_text(&script, ctx, "good", good, strlen(good), NULL), RILL_OK);
    assert_non_null(rill_find_domain(ctx, "d"));
    assert_int_equal(rill_script_load_text(&script, ctx, "again", good, strlen(good), NULL), RILL_ERR_ARGUMENT);
    assert_non_null(rill_find_domain(ctx, "d"));
    rill_context_destroy(ctx);
}

/* --- open --------------------------------------------------------------------------------------------------------- */

static void bad_openings(void **state)
{
    (void)state;
    static const struct {
        const char *returned, *sentence;
        rill_status status;
    } cases[] = {
        {"error('no luck')", "domain d: open: test.lua:1: no luck", RILL_ERR_PLUGIN},
        {"nil, 'there is no model here'", "domain d: there is no model here", RILL_ERR_FORMAT},
        {"nil", "open returned nil", RILL_ERR_PLUGIN},
        {"nil, 3", "open returned nil", RILL_ERR_PLUGIN},
        {"1, 3", "the second result must be a table", RILL_ERR_PLUGIN},
        {"1, {actoins = 2}", "the second result: unknown key \"actoins\": did you mean \"actions\"?", RILL_ERR_PLUGIN},
        {"1, {actions = 2, [5] = 2}", "the second result: a key must be a string, not 5", RILL_ERR_PLUGIN},
        {"1, {}", "actions: their number, or a list of their names", RILL_ERR_PLUGIN},
        {"1, {actions = 'x'}", "was expected, not string", RILL_ERR_PLUGIN},
        {"1, {actions = 0}", "actions: a whole number from 1 to 16777216 was expected, not 0", RILL_ERR_PLUGIN},
        {"1, {actions = 2^40}", "actions: a whole number", RILL_ERR_PLUGIN},
        {"1, {actions = 1.5}", "not 1.5", RILL_ERR_PLUGIN},
        {"1, {actions = 0/0}", "actions: a whole number", RILL_ERR_PLUGIN},
        {"1, {actions = {}}", "actions: a list of 1 to", RILL_ERR_PLUGIN},
        {"1, {actions = {'a', 2}}", "entry 2 must be a string, not a number", RILL_ERR_PLUGIN},
        {"1, {actions = {'a', 'b', 'a'}}", "\"a\" occurs twice", RILL_ERR_PLUGIN},
        {"1, {actions = {''}}", "name 1 is empty", RILL_ERR_PLUGIN},
        {"1, {actions = {'a\\nb'}}", "name 1 is empty, or has a line break", RILL_ERR_PLUGIN},
        {"1, {actions = {'a\\0b'}}", "or a zero byte", RILL_ERR_PLUGIN},
        {"1, {actions = 3, end_action = 'x'}", "end_action: a number was expected", RILL_ERR_PLUGIN},
        {"1, {actions = {'a'}, end_action = 'x'}", "end_action: \"x\" is not among the names", RILL_ERR_PLUGIN},
        {"1, {actions = 3, end_action = 3}", "end_action: a whole number from 0 to 2", RILL_ERR_PLUGIN},
        {"1, {actions = 3, end_action = true}", "end_action: a whole number", RILL_ERR_PLUGIN},
        {"1, {actions = 3, phases = 9}", "phases: a whole number from 1 to 8", RILL_ERR_PLUGIN},
        {"1, {actions = 3, phases = 'x'}", "phases: a whole number from 1 to 8 was expected, not x", RILL_ERR_PLUGIN},
        {"1, {actions = 3, max_length = 0}", "max_length: a whole number from 1", RILL_ERR_PLUGIN},
        {"1, {actions = 3, max_length = '5'}", "max_length: a whole number from 1", RILL_ERR_PLUGIN},
        {"1, {actions = 3, state = 'path'}", "state: only domains with step and score", RILL_ERR_PLUGIN},
        {"1, {actions = 3, limited_phases = 3}", "limited_phases: a list of phases", RILL_ERR_PLUGIN},
        {"1, {actions = 3, limited_phases = {1}}", "limited_phases: a whole number from 0 to 0", RILL_ERR_PLUGIN},
        {"1, {actions = 3, description = 3}", "description: a text was expected", RILL_ERR_PLUGIN},
        {"1, {actions = 3, separator = {}}", "separator: a text was expected", RILL_ERR_PLUGIN},
        {"1, setmetatable({}, {__index = function() error('sly') end})", "sly", RILL_ERR_PLUGIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        domain_run run = {.k = 2};
        char lua[600];
        /* close() gets the value that open() returned. */
        snprintf(lua, sizeof lua, "rill.domain{ name = 'd', open = function() return %s end, close = print, %s}",
                 cases[i].returned, THREE);
        domain_try(&run, lua, words, NULL);
        if (!run.loaded || run.opened) fail_msg("%s: loaded %d opened %d", lua, run.loaded, run.opened);
        expect_message(lua, &run, cases[i].sentence);
        assert_int_equal(run.status, cases[i].status);
    }
    domain_run run = {.k = 2};
    domain_try(&run,
               "rill.domain{ name = 'd', actions = 2, state = 'tree', encode = print, step = print, score = print }",
               words, NULL);
    expect_message("state", &run, "state: \"parent\" or \"path\" was expected, not tree");
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

/* A valid domain with one function replaced by `wrong`, which fails for the input x. */
static const char good_domain[] =
    "local d = { name = 'd', actions = {'p', 'q', '.'}, end_action = '.', max_length = 4,\n"
    "start = function(self, input) return {text = input.text} end,\n"
    "advance = function(self, s, a) return {text = s.text} end,\n"
    "choices = function(self, s) return {p = -1, q = -2, ['.'] = -3} end,\n"
    "finalize = function(self, h) return table.concat(h.actions) end }\n"
    "local function wrong(name, f) local right = d[name]\n"
    "  d[name] = function(self, s, ...) if (s.text or s.input) == 'x' then return f() end return right(self, s, ...) end end\n";

/* The same with rows(), which handles a whole timestep; `on` returns the choices for rows of the input x. */
static const char good_rows[] =
    "local x, on\n"
    "local choices = {p = -1, q = -2, ['.'] = -3}\n"
    "local d = { name = 'd', actions = {'p', 'q', '.'}, end_action = '.', max_length = 4,\n"
    "encode = function(self, input) if input.text == 'x' then x = input.slot end end,\n"
    "step = function(self, rows) end,\n"
    "score = function(self, rows)\n"
    "  for r = 1, rows.n do rows:answer(r, on and rows.slot[r] == x and on(rows, r) or choices) end end,\n"
    "drop = function(self, slot) if slot == x then x = nil end end }\n";

typedef struct wrong_case {
    const char *change, *sentence;
} wrong_case;

static void try_all(const char *base, const wrong_case *cases, size_t n, int all_inputs)
{
    for (size_t i = 0; i < n; i++) {
        domain_run run = {.k = 2, .options = {.instructions = 100000, .memory = 1 << 20}};
        char lua[3000];
        snprintf(lua, sizeof lua, "%s%s\nrill.domain(d)", base, cases[i].change);
        domain_try(&run, lua, words, NULL);
        if (!run.opened) fail_msg("%s: %s", cases[i].change, run.message);
        if (run.status >= 0) fail_msg("%s: was taken", cases[i].change);
        expect_message(cases[i].change, &run, cases[i].sentence);
        expect_message(cases[i].change, &run, "domain d: ");
        if (!all_inputs) expect_message(cases[i].change, &run, " of input 1 (\"x\"): ");
    }
}

static void wrong_functions(void **state)
{
    (void)state;
    static const wrong_case cases[] = {
        {"wrong('start', function() error('burst') end)", "encode of input 1 (\"x\"): test.lua:8: burst"},
        {"wrong('start', function() error('burst') end)", "stack traceback:"},
        {"wrong('start', function() end)", "start returned nil"},
        {"wrong('start', function() return nil, 3 end)", "start returned nil"},
        {"wrong('start', function() return 1, 3 end)", "start: the description of an input must be a table"},
        {"wrong('start', function() return 1, {size = 'x'} end)",
         "start: size must be a whole number of at least 1, not x"},
        {"wrong('start', function() return 1, {max_length = 0} end)", "start: max_length must be a whole number"},
        {"wrong('start', function() return 1, {max_length = 2^33} end)", "start: max_length must be a whole number"},
        {"wrong('start', function() return 1, {length = 2} end)",
         "unknown key \"length\": expected size, max_length or note"},
        {"wrong('start', function() while true do end end)", "--script-steps"},
        {"wrong('advance', function() local x = nil .. 'a' end)", "step of input 1 (\"x\"): test.lua:8: attempt to"},
        {"wrong('advance', function() end)", "advance returned nil"},
        {"wrong('advance', function() while true do pcall(error) end end)", "--script-steps"},
        {"wrong('advance', function() local t = {} for i = 1, 1e5 do t[i] = {} end end)", "--script-memory"},
        {"wrong('choices', function() error({}) end)", "score of input 1 (\"x\"): "},
        {"wrong('choices', function() end)", "choices must be a table"},
        {"wrong('choices', function() return 3 end)", "not a number"},
        {"wrong('choices', function() return {[3] = -1} end)", "action 3 is not one of 0 to 2"},
        {"wrong('choices', function() return {[-1] = -1} end)", "action -1 is not one of 0 to 2"},
        {"wrong('choices', function() return {r = -1} end)", "\"r\" is not among the names"},
        {"wrong('choices', function() return {[1.5] = -1} end)", "action 1.5 is not one of 0 to 2"},
        {"wrong('choices', function() return {[true] = -1} end)", "a boolean cannot be an action"},
        {"wrong('choices', function() return {p = 'x'} end)",
         "the log-probability of action p must be a number, not a string"},
        {"wrong('choices', function() return {p = 0/0} end)",
         "the log-probability of action p must be finite or -inf, not"},
        {"wrong('choices', function() return {q = 1/0} end)",
         "the log-probability of action q must be finite or -inf, not inf"},
        {"wrong('choices', function() return {q = 1e300} end)",
         "the log-probability of action q must be finite or -inf, not 1e+300"},
        {"wrong('choices', function() return {q = -1, [1] = -1} end)", "action q occurs twice"},
        {"wrong('choices', function() return {q = -1}, 5 end)", "must be true or a table"},
        {"d.actions, d.end_action = 3, 2\n"
         "d.choices = function(self, s) return s.text == 'x' and {p = -1} or {[2] = 0} end",
         "\"p\" has a name, but this domain's actions are the numbers 0 to 2"},
        {"wrong('choices', function() return setmetatable({}, {__pairs = error}), setmetatable({}, {__index = error})\n"
         "end) wrong('finalize', function() error('burst') end)\n"
         "wrong('choices', function() return {p = -1}, true end)",
         "finalize of input 1 (\"x\"): test.lua:9: burst"},
        {"wrong('finalize', function() end)", "finalize returned a nil"},
        {"wrong('finalize', function() return 5 end)", "finalize returned a number"},
        {"wrong('finalize', function() return 'a\\nb' end)", "a text with a line break"},
    };
    try_all(good_domain, cases, sizeof cases / sizeof *cases, 0);
    static const wrong_case anywhere[] = {
        {"d.measure = function(self, text) error('burst') end", "domain d: measure: test.lua:8: burst"},
        {"d.measure = function(self, text) return 'x' end",
         "measure returned x: a whole number from 0 to 4503599627370496 was expected"},
        {"d.measure = function(self, text) return -1 end", "measure returned -1"},
        {"d.measure = function(self, text) return '5' end", "measure returned 5"},
    };
    try_all(good_domain, anywhere, sizeof anywhere / sizeof *anywhere, 1);
}

static void wrong_rows(void **state)
{
    (void)state;
    static const wrong_case cases[] = {
        {"d.encode = function(self, input) if input.text == 'x' then error('burst') end end", "test.lua:9: burst"},
        {"d.encode = function(self, input) if input.text == 'x' then return 3 end end",
         "encode: the description of an"},
        {"on = function(rows, r) rows:answer(r, {}) return choices end", "is already answered"},
        {"on = function() return {z = 1} end", "\"z\" is not among the names"},
        {"on = function() return 5 end", "choices must be a table"},
        {"d.score = function(self, rows)\n"
         "for r = 1, rows.n do if rows.slot[r] ~= x then rows:answer(r, choices) end end end",
         "score did not answer row 2: call rows:answer(2, {})"},
    };
    try_all(good_rows, cases, sizeof cases / sizeof *cases, 0);
    static const wrong_case anywhere[] = {
        {"d.step = function() error('burst') end", "domain d: step: test.lua:9: burst"},
        {"d.score = function(self, rows) rows:answer(0, {}) end", "row 0 is not one of 1 to 3"},
        {"d.score = function(self, rows) rows:answer(4, {}) end", "row 4 is not one of 1 to 3"},
        {"d.score = function(self, rows) rows:answer('x', {}) end", "number expected"},
        {"d.score = function(self, rows) rows.answer() end",
         "can only be called on the rows of the score() in progress"},
        {"d.step = function(self, rows) rows:answer(1, {}) end",
         "can only be called on the rows of the score() in progress"},
        {"d.step = function(self, rows) getmetatable(rows).__gc = print end", "index a boolean value"},
        {"d.step = function(self, rows) setmetatable(rows, {}) end", "protected metatable"},
        {"local old d.step = function(self, rows) old = rows end\n"
         "d.score = function(self, rows) old.answer(old, 1, {}) end",
         "can only be called on the rows of the score() in progress"},
        {"local old d.step = function(self, rows) old = rows end\n"
         "d.score = function(self, rows) return old.slot[1] end",
         "score: test.lua:10: "},
        {"d.step = function(self, rows) return rows.slot[rows.n + 1] end", "step: test.lua:9: "},
        {"d.step = function(self, rows) rows.slot[1] = 1 end", "step: test.lua:9: "},
        {"d.drop = function() error('burst') end", "domain d: drop of input"},
        {"d.free = function() error('burst') end", "domain d: free: test.lua:9: burst"},
    };
    try_all(good_rows, anywhere, sizeof anywhere / sizeof *anywhere, 1);
}

/* An invalid input fails alone, and so does an input that has no live hypothesis left. */
static void bad_inputs_fail_alone(void **state)
{
    (void)state;
    domain_run run = {.k = 1};
    char lua[3000];
    snprintf(lua, sizeof lua, "%s%s", good_domain,
             "wrong('start', function() return nil, 'an x was typed' end) rill.domain(d)");
    domain_try(&run, lua, words, NULL);
    assert_int_equal(run.status, RILL_OK);
    assert_string_equal(run.out, "pppp\n!an x was typed\npppp\n");
    snprintf(lua, sizeof lua, "%s%s", good_domain, "wrong('choices', function() return {} end) rill.domain(d)");
    domain_try(&run, lua, words, NULL);
    assert_int_equal(run.status, RILL_OK);
    assert_non_null(strstr(run.out, "pppp\n!no hypothesis is left"));
    snprintf(lua, sizeof lua, "%s%s", good_rows,
             "d.encode = function(self, input) if input.text == 'x' then return nil, 'again' end end rill.domain(d)");
    domain_try(&run, lua, words, NULL);
    assert_int_equal(run.status, RILL_OK);
    assert_string_equal(run.out, "p p p p\n!again\np p p p\n");
}

/* Results that were finished before the script failed are returned. */
static void finished_results_stay(void **state)
{
    (void)state;
    domain_run run = {.k = 1, .method = "greedy"};
    static const char *const five[] = {"a", "b", "c", "d", "x", NULL}; /* with batches of four inputs */
    char lua[3000];
    snprintf(lua, sizeof lua, "%s%s", good_domain, "wrong('advance', function() error('burst') end) rill.domain(d)");
    domain_try(&run, lua, five, NULL);
    assert_int_equal(run.status, RILL_ERR_PLUGIN);
    expect_message("finished", &run, "step of input 4 (\"x\")");
    assert_string_equal(run.out, "pppp\npppp\npppp\npppp\n");
}

/* In the message, a long input is cut at a character boundary. */
static void long_inputs_are_cut(void **state)
{
    (void)state;
    domain_run run = {.k = 1};
    char lua[3000], text[200] = "", wanted[200];
    for (int i = 0; i < 45; i++) strcat(text, i == 0 ? "a" : "\u00e9");
    const char *const one[] = {text, NULL};
    snprintf(lua, sizeof lua, "%s%s", good_domain, "d.choices = function() error('burst') end rill.domain(d)");
    domain_try(&run, lua, one, NULL);
    snprintf(wanted, sizeof wanted, "input 0 (\"%.59s...\"): test.lua:8: burst", text);
    expect_message("cut", &run, wanted);
}

/* --- close -------------------------------------------------------------------------------------------------------- */

static void keep_log(void *user, rill_log_level level, const char *message)
{
    if (level == RILL_LOG_WARNING) snprintf(user, 400, "%s", message);
}

/* An error in close() is logged as a warning. */
static void close_failures_are_warnings(void **unused)
{
    (void)unused;
    char log[400] = "", lua[3000];
    rill_context_options options = {.struct_size = sizeof options, .log = keep_log, .log_user = log};
    domain_run run = {.k = 1};
    static const char *const one[] = {"x", NULL};
    static const char *const changes[] = {
        "d.open = function() return {} end d.close = function() error('burst') end rill.domain(d)",
        "d.close = function() error('burst') end rill.domain(d)",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        log[0] = '\0';
        snprintf(lua, sizeof lua, "%s%s", good_domain, changes[i]);
        domain_try(&run, lua, words, &options);
        assert_int_equal(run.status, RILL_OK);
        assert_non_null(strstr(log, "domain d: close: test.lua:8: burst"));
    }
    snprintf(lua, sizeof lua, "%s%s", good_rows, "d.drop = function() error('burst') end rill.domain(d)");
    domain_try(&run, lua, one, &options);
    assert_int_equal(run.status, RILL_OK);
    assert_non_null(strstr(log, "domain d: drop of input 0 (\"x\"): test.lua:9: burst"));
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Return the result of options.read(name) in a domain: "ok TEXT", or the error. */
static void read_as_domain(const char *path, const char *call, char *out, size_t size)
{
    domain_run run = {.k = 1, .path = path};
    char lua[2000];
    snprintf(
        lua, sizeof lua,
        "rill.domain{ name = 'd', actions = 1, start = function(self) return self end, advance = function() end,\n"
        "choices = function() return {[0] = 0}, true end,\n"
        "open = function(options) local ok, text = pcall(function() return options.read(%s) end) return (ok and 'ok ' or '') .. text end,\n"
        "finalize = function(self) return self end }",
        call);
    static const char *const one[] = {"_", NULL};
    domain_try(&run, lua, one, NULL);
    snprintf(out, size, "%s", run.status == RILL_OK ? run.out : run.message);
    out[strcspn(out, "\n")] = '\0';
}

static void files(void **state)
{
    (void)state;
    char folder[] = "/tmp/rill-domain-XXXXXX", path[300], found_text[4000];
    assert_non_null(mkdtemp(folder));
    write_file(folder, "a", "text of a");
    write_file(folder, "empty", "");
    snprintf(path, sizeof path, "%s/sub", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(path, "b", "text of b");
    snprintf(path, sizeof path, "%s/link", folder);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    snprintf(path, sizeof path, "%s/round", folder);
    assert_int_equal(symlink("sub", path), 0);
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(path, sizeof path, "%s/a", folder);
    static const struct {
        const char *call, *expected;
    } cases[] = {
        {"'a'", "ok text of a"},
        {"'empty'", "ok "},
        {"'sub/b'", "ok text of b"},
        {"'./a'", "ok text of a"},
        {"'sub/../a'", "is not the name of a file in "},
        {"'..'", "is not the name of a file in "},
        {"'../a'", "is not the name of a file in "},
        {"'/etc/hostname'", "is not the name of a file in "},
        {"'sub//b'", "is not the name of a file in "},
        {"'link'", "\"link\" is a link"},
        {"'round/b'", "\"round\" is a link, or not a directory"},
        {"'a/b'", "\"a\" is a link, or not a directory"},
        {"'none'", "cannot open none: No such file"},
        {"'sub'", "cannot open sub: it is a directory"},
        {"'sub/'", "cannot open sub/: it is a directory"},
        {"'pipe'", "cannot open pipe: it is a pipe"},
        {"", "it is a directory, expected a regular "},
        {"'a\\0b'", "without zero bytes"},
        {"('x'):rep(300)", "is not the name of a file"},
        {"{}", "string expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        read_as_domain(folder, cases[i].call, found_text, sizeof found_text);
        int good = strncmp(cases[i].expected, "ok", 2) == 0;
        if (good ? strcmp(found_text, cases[i].expected) != 0 : strstr(found_text, cases[i].expected) == NULL)
            fail_msg("read(%s): %s", cases[i].call, found_text);
    }
    read_as_domain(path, "", found_text, sizeof found_text);
    assert_string_equal(found_text, "ok text of a");
    read_as_domain(path, "'a'", found_text, sizeof found_text);
    assert_non_null(strstr(found_text, "/a: Not a directory"));
    static const char *const names[] = {"a", "empty", "sub/b", "sub", "link", "round", "pipe"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Each allocation fails in turn, from loading to closing: the run reports an out-of-memory error or has its usual
 * result, and nothing leaks. Lua collects garbage and tries again, so a single failure often has no effect. */
static void out_of_memory(const char *lua, int persistent)
{
    char undisturbed[2000] = "";
    harness_memory memory = {0};
    rill_context_options options = harness_memory_options(&memory);
    domain_run run = {.k = 2};
    domain_try(&run, lua, words, &options);
    if (run.status != RILL_OK) fail_msg("%s", run.message);
    snprintf(undisturbed, sizeof undisturbed, "%s", run.out);
    int64_t requests = memory.requests, refused = 0;
    int64_t tried = 0;
    for (int64_t n = 1; n <= requests; n = harness_next_request(n), tried++) {
        memory = (harness_memory){.failing_request = n, .persistent = persistent};
        domain_try(&run, lua, words, &options);
        if (memory.blocks != 0 || memory.bytes != 0 || memory.wrong_sizes != 0)
            fail_msg("request %lld: %lld blocks of %zu bytes are left, %lld mistakes", (long long)n,
                     (long long)memory.blocks, memory.bytes, (long long)memory.wrong_sizes);
        refused += run.status == RILL_ERR_MEMORY;
        if (run.status != RILL_OK && run.status != RILL_ERR_MEMORY)
            fail_msg("request %lld: %s %s", (long long)n, rill_status_name(run.status), run.message);
        if (run.status == RILL_OK && strcmp(run.out, undisturbed) != 0)
            fail_msg("request %lld: %s", (long long)n, run.out);
    }
    assert_true(refused > (persistent ? tried / 2 : 5));
}

/* With memory limits from far too low to sufficient, the script fails cleanly and gets further each time. */
static void little_memory(const char *lua)
{
    harness_memory memory = {0};
    rill_context_options options = harness_memory_options(&memory);
    domain_run run = {.k = 2};
    int refused[3] = {0}; /* number of failures in loading, opening, running */
    for (size_t limit = 5000; limit == 5000 || run.status != RILL_OK; limit += 23) {
        run.options.memory = limit;
        domain_try(&run, lua, words, &options);
        if (memory.blocks != 0 || memory.wrong_sizes != 0) fail_msg("limit %zu: something is left", limit);
        if (run.status != RILL_OK && run.status != RILL_ERR_MEMORY)
            fail_msg("limit %zu: %s %s", limit, rill_status_name(run.status), run.message);
        refused[run.loaded + run.opened] += run.status != RILL_OK;
    }
    assert_true(refused[0] > 20 && refused[1] > 5 && refused[2] > 5);
}

static const char thrifty[] =
    "local function open(o) local block = ('x'):rep(4000)\n"
    "  return {o.arguments}, {actions = {'p', 'q', '.'}, end_action = '.', max_length = 3} end\n"
    "local function declare(t) t.open = open rill.domain(t) end\n";

static void memory_fails(void **state)
{
    (void)state;
    char lua[3000];
    snprintf(lua, sizeof lua, "%s%s", thrifty,
             "declare{ name = 'd', start = function(self, i) local block = ('x'):rep(8000) return {i.text} end,\n"
             "advance = function(self, s, a) return {s[1] .. a} end,\n"
             "choices = function(self, s) return {p = -1, q = -2, ['.'] = -#s[1]} end, close = function() end,\n"
             "finalize = function(self, h) return table.concat(h.actions) .. h.start[1] end }");
    out_of_memory(lua, 0);
    out_of_memory(lua, 1);
    little_memory(lua);
    snprintf(lua, sizeof lua, "%s%s", thrifty,
             "local last = {}\n"
             "declare{ name = 'd', encode = function(self, i) local block = ('x'):rep(8000) end,\n"
             "step = function(self, rows) for r = 1, rows.n do last[rows.node[r]] = rows.action[r] end end,\n"
             "score = function(self, rows) for r = 1, rows.n do\n"
             "  rows:answer(r, {p = -1 - last[rows.node[r]], q = -2, ['.'] = -3}) end end,\n"
             "free = function(self, nodes) for i = 1, #nodes do last[nodes[i]] = nil end end }");
    out_of_memory(lua, 0);
    out_of_memory(lua, 1);
    little_memory(lua);
}

/* --- callbacks within callbacks ----------------------------------------------------------------------------------- */

static const rill_domain *nested_domain;
static void *nested_self;

static int measure_inside(lua_State *L)
{
    lua_pushinteger(L, nested_domain->measure(nested_self, "inner", 5));
    return 1;
}

static int define_measure_inside(lua_State *L)
{
    lua_pushcfunction(L, measure_inside);
    lua_setglobal(L, "inside");
    return 0;
}

/* measure() calls itself through the engine, and only the inner call fails. The failure is reported by the next call
 * that returns a status. */
static void a_failure_inside_stays(void **state)
{
    (void)state;
    static const char lua[] =
        "rill.domain{ name = 'd', actions = 2, " THREE ",\n"
        "measure = function(self, text) if text == 'inner' then error('burst') end return inside() + 1 end }";
    rill_context *ctx = harness_context(NULL);
    rill_open_options options = {.struct_size = sizeof options};
    rill_domain_info info = {0};
    rill_script *script;
    assert_int_equal(rill_script_load_text(&script, ctx, "test.lua", lua, strlen(lua), NULL), RILL_OK);
    assert_int_equal(script_protect(script, define_measure_inside, NULL), RILL_OK);
    nested_domain = rill_find_domain(ctx, "d");
    assert_int_equal(nested_domain->open(nested_domain, ctx, &options, &nested_self, &info), RILL_OK);
    assert_int_equal(nested_domain->measure(nested_self, "outer", 5), 1);
    assert_int_equal(nested_domain->encode(nested_self, 0, NULL), RILL_ERR_PLUGIN);
    assert_non_null(strstr(rill_error(ctx), "burst"));
    nested_domain->close(nested_self);
    rill_context_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(bad_declarations),
    cmocka_unit_test(failures_register_nothing),
    cmocka_unit_test(bad_openings),
    cmocka_unit_test(wrong_functions),
    cmocka_unit_test(wrong_rows),
    cmocka_unit_test(bad_inputs_fail_alone),
    cmocka_unit_test(finished_results_stay),
    cmocka_unit_test(long_inputs_are_cut),
    cmocka_unit_test(close_failures_are_warnings),
    cmocka_unit_test(files),
    cmocka_unit_test(memory_fails),
    cmocka_unit_test(a_failure_inside_stays),
};

HARNESS_MAIN(tests)
