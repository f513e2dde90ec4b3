/* Heuristics written in Lua: the built-in ones in Lua and random ones against the naive search, fields and errors of
 * `b`, and messages when a script fails. */
#include <stdio.h>
#include <string.h>

#include "scripted.h"
#include "state/state.h"

/* --- same results --------------------------------------------------------------------------------------------------- */

/* The built-in heuristics in three styles: by whole arrays, by methods, and element by element. */
static const char *const built_in =
    "local function ratio(text) return -math.log(tonumber(text)) end\n"
    "local function sums(b, least) b.keep = b.path_score:ge(b.best - least) end\n"
    "rill.heuristic{ name = 'lua-absolute', arguments = 'DELTA', create = tonumber, apply = sums }\n"
    "rill.heuristic{ name = 'lua-relative', arguments = 'R', create = ratio, apply = sums }\n"
    "rill.heuristic{ name = 'lua-relative_local', arguments = 'R', create = ratio,\n"
    "  apply = function(b, x) b.keep = b.action_logp:ge(b.action_logp:max() - x) end }\n"
    "local function dropped(b, x) b:drop(b.path_score:lt(b.best - x)) end\n"
    "rill.heuristic{ name = 'drop-absolute', arguments = 'DELTA', create = tonumber, apply = dropped }\n"
    "rill.heuristic{ name = 'drop-relative', arguments = 'R', create = ratio, apply = dropped }\n"
    "rill.heuristic{ name = 'drop-relative_local', arguments = 'R', create = ratio,\n"
    "  apply = function(b, x) local a = b.action_logp  b:drop(a:lt(a:max() - x)) end }\n"
    "local function each(values, best)\n"
    "  return function(b, x)\n"
    "    local v, s, keep = b[values], b[best], b.keep\n"
    "    for i = 1, b.n do\n"
    "      local first, last, top = b:range(i)\n"
    "      if best == 'best' then top = s[i] else top = rill.dead end\n"
    "      if best ~= 'best' then for c = first, last do top = math.max(top, v[c]) end end\n"
    "      for c = first, last do if v[c] < top - x then keep[c] = 0 end end\n"
    "    end\n"
    "  end\n"
    "end\n"
    "rill.heuristic{ name = 'each-absolute', arguments = 'DELTA', create = tonumber, apply = each('path_score', 'best') }\n"
    "rill.heuristic{ name = 'each-relative', arguments = 'R', create = ratio, apply = each('path_score', 'best') }\n"
    "rill.heuristic{ name = 'each-relative_local', arguments = 'R', create = ratio,\n"
    "  apply = each('action_logp', 'k') }\n";

/* The heuristic test-random in Lua: decisions come from a hash of all fields of `b`. */
static const char *const random_one = SCRIPTED_MIX
    "rill.heuristic{ name = 'lua-random', arguments = 'SEED,PERCENT',\n"
    "  create = function(text)\n"
    "    local seed, percent = text:match('^(%d+),(%d+)$')\n"
    "    return { seed = math.tointeger(seed), percent = math.tointeger(percent) }\n"
    "  end,\n"
    "  apply = function(b, self)\n"
    "    local keep, width, stop = b.keep, b.width, b.stop\n"
    "    for i = 1, b.n do\n"
    "      local h = mix(mix(self.seed, b.item_id[i]), b.timestep[i] * 8 + b.phase)\n"
    "      h = mix(h, b.k[i] * 1000 + b.outputs[i])\n"
    "      h = mix_double(mix_double(h, b.best_output[i]), b.best[i])\n"
    "      local first, last = b:range(i)\n"
    "      for c = first, last do\n"
    "        local g = mix_double(mix_double(h, b.path_score[c]), b.action_logp[c])\n"
    "        g = mix(mix(g, b.parent_rank[c]), b.action[c] * 2 + b.ended[c])\n"
    "        local _, percent = divide(g, 100)\n"
    "        keep[c] = percent >= self.percent\n"
    "      end\n"
    "      local fifth, rest = divide(h, 5)\n"
    "      local _, quarter = divide(fifth, 4)\n"
    "      if rest == 0 then width[i] = quarter + 1 end\n"
    "      local _, halt = divide(h, 37)\n"
    "      stop[i] = halt == 0\n"
    "    end\n"
    "  end }\n";

/* Replace the problem's heuristics by those of the script; return how many. */
static int rename_heuristics(problem *p, const char *prefix, const char *random)
{
    int renamed = 0;
    for (int32_t i = 0; i < p->n_heuristics; i++) {
        char name[sizeof p->heuristic[i].name + 8];
        const char *rest = p->heuristic[i].name;
        if (strncmp(rest, "test-", 5) == 0) {
            if (random == NULL) continue;
            snprintf(name, sizeof name, "%s", random);
        } else {
            if (prefix == NULL) continue;
            snprintf(name, sizeof name, "%s-%s", prefix, rest);
        }
        snprintf(p->heuristic[i].name, sizeof p->heuristic[i].name, "%.*s", (int)sizeof p->heuristic[i].name - 1, name);
        renamed++;
    }
    return renamed;
}

static void compare_with_builtin(const char *text, const char *prefix, const char *random, int64_t iterations,
                                 uint64_t salt)
{
    uint64_t first = harness_seed(1);
    int64_t wanted = harness_iterations(iterations);
    for (int64_t i = 0, done = 0; done < wanted; i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, salt));
        problem p;
        problem_draw(&p, PROBLEM_PRUNED, &d);
        if (rename_heuristics(&p, prefix, random) == 0) continue;
        done++;
        problem_solve(&p);
        schedule s;
        engine_record r;
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        scripted_run(text, NULL, &p, &s, NULL, &r);
        problem_expect(&p, &s, seed, &r);
        engine_record_clear(&r);
        problem_clear(&p);
    }
}

static void array_heuristics(void **state)
{
    (void)state;
    compare_with_builtin(built_in, "lua", NULL, 1200, 31);
}

static void dropping_heuristics(void **state)
{
    (void)state;
    compare_with_builtin(built_in, "drop", NULL, 500, 32);
}

static void loop_heuristics(void **state)
{
    (void)state;
    compare_with_builtin(built_in, "each", NULL, 400, 33);
}

static void random_decisions(void **state)
{
    (void)state;
    compare_with_builtin(random_one, NULL, "lua-random", 400, 34);
}

/* --- marks ---------------------------------------------------------------------------------------------------------- */

static const schedule plain = {.method = "stream-all", .n = 8, .refill = -1};
static const schedule checked = {.method = "stream-all", .n = 8, .refill = -1, .check = 1};

/* A script with one heuristic "mine", with `body` as its apply function. */
static const char *apply_text(const char *body)
{
    static char text[4000];
    snprintf(text, sizeof text, "rill.heuristic{ name = 'mine', arguments = 'X', apply = function(b, x)\n%s\nend }\n",
             body);
    return text;
}

static void one_heuristic(problem *p, const char *name, const char *arguments)
{
    scripted_entry(&p->heuristic[0], name, arguments);
    p->n_heuristics = 1;
}

static void same_marks(const char *body, const char *other)
{
    problem p;
    engine_record a, b;
    for (int seed = 0; seed < 20; seed++) {
        scripted_problem(&p, seed, 6, 4);
        one_heuristic(&p, "mine", "2");
        char first[4000];
        snprintf(first, sizeof first, "%s", apply_text(body));
        scripted_run(first, NULL, &p, &checked, NULL, &a);
        scripted_run(apply_text(other), NULL, &p, &checked, NULL, &b);
        scripted_same(&p, &a, &b);
        engine_record_clear(&a);
        engine_record_clear(&b);
    }
}

static void marks(void **state)
{
    (void)state;
    /* widths: numbers, arrays, broadcasting, narrowing twice, and invalid widths */
    same_marks("b.width = 2", "for i = 1, b.n do b.width[i] = 2 end");
    same_marks("b.width = b.k - 2", "b.width = 2");
    same_marks("b:narrow(3) b:narrow(b.k - 1) b:narrow(2.9)", "b.width = 2");
    same_marks("b:narrow(1) b:narrow(3)", "b.width = 1");
    same_marks("b.width = math.huge", "");
    same_marks("b.width = 0", "b.keep = false");
    same_marks("b:narrow(-math.huge)", "b.keep = 0");
    /* keep: numbers, booleans, arrays over items */
    same_marks("b.keep = 1", "b.keep = true");
    same_marks("b.keep = 1", "");
    same_marks("b.keep = b.timestep:lt(2)", "b:drop(b.timestep:ge(2))");
    same_marks("b.keep = b.path_score:rank():le(2)", "b.width = 2");
    same_marks("b:drop(b.path_score:rank():gt(2)) b:drop(b.path_score:rank():eq(1))",
               "b.keep = b.path_score:rank():eq(2)");
    same_marks("b.keep = false b.keep = true", "return false");
    /* stop */
    same_marks("b.stop = b.timestep:ge(2)", "b:halt(b.timestep:ge(2))");
    same_marks("b:halt(b.item_id:eq(2)) b:halt(b.item_id:eq(4))", "b.stop = b.item_id:eq(2) | b.item_id:eq(4)");
    same_marks("b:halt(true)", "b.stop = 1");
    same_marks("b:halt(b.outputs:gt(0))", "for i = 1, b.n do b.stop[i] = b.outputs[i] > 0 end");
    /* the function's results are ignored; without create() the argument is the text itself */
    same_marks("return 17", "return nil, nil, {}");
    same_marks("assert(x == '2' and b.n > 0 and b.size >= 0) b.width = tonumber(x)", "b.width = 2");
    same_marks("local first, last = b:range(b.n) assert(last == b.size and #b.path_score == b.size and #b.k == b.n)",
               "");
}

/* --- errors in using `b` ---------------------------------------------------------------------------------------------- */

static void refuses(const char *body, const char *words)
{
    problem p;
    scripted_problem(&p, 3, 6, 4);
    one_heuristic(&p, "mine", "2");
    scripted_fails(apply_text(body), &p, &plain, RILL_ERR_PLUGIN, "heuristic mine", words, "test.lua:2:", "input",
                   NULL);
}

/* The same for errors noticed after the function has returned: the message names the function. */
static void refuses_after(const char *body, const char *words)
{
    problem p;
    scripted_problem(&p, 3, 6, 4);
    one_heuristic(&p, "mine", "2");
    scripted_fails(apply_text(body), &p, &plain, RILL_ERR_PLUGIN, "heuristic mine", words, "test.lua", "input", NULL);
}

static void misuse(void **state)
{
    (void)state;
    refuses("return b.path_scroe", "candidates: no field \"path_scroe\": did you mean \"path_score\"?");
    refuses_after("return b.path_score:ge(-1)",
                  "test.lua:1: the function returned an array, but its result is ignored: assign the marks");
    refuses("b.keap = 1", "candidates: no field \"keap\": did you mean \"keep\"?");
    refuses("return b.qqqqqqqqqqq", "candidates: no field \"qqqqqqqqqqq\"");
    refuses("return b[1]", "candidates: the name of a field was expected, not [1]");
    refuses("b.path_score = 1", "candidates.path_score is read-only");
    refuses("b.n = 1", "candidates.n is read-only");
    refuses("b.range = 1", "candidates.range is read-only");
    refuses("b.path_score[1] = 0", "can only be read");
    refuses("b.keep = 'yes'", "number");
    refuses("b.keep = {1, 2}", "number");
    refuses("b.width = 0 / 0", "b.width cannot be NaN");
    refuses("b.width = -5", "b.width cannot be -5: a width must be 0 or more");
    refuses("b.width = b.k - 99", "b.width cannot be -");
    refuses("b.keep = 0 / 0", "b.keep cannot be NaN: an element of a mask must be 0, 1");
    refuses("b.keep = 7", "b.keep cannot be 7");
    refuses("b.keep = b.path_score * (0 / 0)", "b.keep cannot be NaN");
    refuses("b.stop = 7", "b.stop cannot be 7");
    refuses("b:halt(b.k + 1)", "the mask of b:halt() cannot be ");
    refuses("b:drop(0.5)", "the mask of b:drop() cannot be 0.5");
    refuses("b.width[1] = -5", "a width cannot be -5: a width must be 0 or more");
    refuses("b.width:set(b.k - 99)", "a width cannot be -");
    refuses("b.keep[2] = 7", "a mark cannot be 7: an element of a mask must be 0, 1");
    refuses("b.stop[1] = 0 / 0", "a mark cannot be NaN");
    refuses("b.keep:set(b.path_score)", "a mark cannot be -");
    refuses("b.width = b.path_score", "items");
    refuses("b.keep = rill.array{1, 2, 3, 4, 5, 6, 7, 8, 9}", "cells");
    refuses("b:range(0)", "not the number of an item");
    refuses("b:range(b.n + 1)", "not the number of an item");
    refuses("b:range('x')", "number expected");
    refuses("b.range(1)", "candidates expected, got number");
    refuses("b.drop(b.path_score)", "candidates expected");
    refuses("b:drop()", "bad argument #1 to 'drop'");
    refuses("b:narrow('x')", "number");
    refuses("b:narrow(b.path_score)", "items");
    refuses("b:halt(b.ended)", "items");
    refuses("b.keep[b.size + 1] = 0", "outside");
    refuses("setmetatable(b, nil)", "table expected");
    refuses("getmetatable(b).__index(1, 'n')", "attempt to index a boolean value");
    refuses("error({})", "error object");
    refuses("coroutine.yield()", "yield");
    refuses("local function f() return f() + 1 end f()", "stack overflow");
}

static void kept_too_long(const char *keep, const char *use, const char *words)
{
    char text[600];
    problem p;
    snprintf(
        text, sizeof text,
        "local old\nrill.heuristic{ name = 'mine', apply = function(b)\nif not old then old = %s return end %s\nend }\n",
        keep, use);
    scripted_problem(&p, 3, 6, 4);
    one_heuristic(&p, "mine", "");
    scripted_fails(text, &p, &plain, RILL_ERR_PLUGIN, "test.lua:3:", words, NULL);
}

static void used_after_the_call(void **state)
{
    (void)state;
    kept_too_long("b", "return old.n", "candidates of a call that is over");
    kept_too_long("b", "return old.path_score", "candidates of a call that is over");
    kept_too_long("b", "old.width = 1", "candidates of a call that is over");
    kept_too_long("b", "old:drop(true)", "candidates of a call that is over");
    kept_too_long("b.drop", "old(b, 'x')", "number"); /* a method itself may be kept after the call */
    kept_too_long("b.path_score", "return old[1]", "call that is over");
    kept_too_long("b.keep", "old[1] = 0", "call that is over");
    kept_too_long("b.keep", "b.keep = old", "call that is over");
    kept_too_long("coroutine.wrap(function() coroutine.yield() return b.n end)", "old() old()",
                  "candidates of a call that is over");
}

/* --- failures name the input -------------------------------------------------------------------------------------- */

static void names_the_input(void **state)
{
    (void)state;
    problem p;
    scripted_problem(&p, 4, 12, 4);
    one_heuristic(&p, "mine", "2");
    /* one input fails, at any position in the call */
    for (int32_t input = 0; input < 12; input += 5) {
        char body[200], words[60];
        snprintf(body, sizeof body, "for i = 1, b.n do if b.item_id[i] == %d then error('no luck') end end",
                 (int)input);
        snprintf(words, sizeof words, "while decoding input %d (line %d): ", (int)input, (int)input + 1);
        scripted_fails(apply_text(body), &p, &plain, RILL_ERR_PLUGIN, "heuristic mine", words, "test.lua:2: no luck",
                       "stack traceback", NULL);
    }
    /* the call fails only with several inputs, so none is to blame */
    scripted_fails(apply_text("if b.n > 1 then error('together') end"), &p, &plain, RILL_ERR_PLUGIN,
                   "in a timestep of 8 inputs, the first is input 7 (line 8), no input fails alone: ", "together",
                   NULL);
    /* An error in a nested function has a traceback. An error value that is no string is shown too. */
    scripted_fails(apply_text("local function inner() local x = nil + 1 end\ninner()"), &p, &plain, RILL_ERR_PLUGIN,
                   "arithmetic on a nil", "inner",
                   "in a timestep of 8 inputs, the first is input 7 (line 8), each input fails alone: ", NULL);
    scripted_fails(apply_text("error(setmetatable({}, {__tostring = function() return 'an object' end}))"), &p, &plain,
                   RILL_ERR_PLUGIN, "an object", "the first is input 7 (line 8), each input fails alone: ", NULL);
    /* if several inputs fail, the first is named */
    scripted_fails(apply_text("for i = 1, b.n do if b.item_id[i] % 3 == 1 then error('a third') end end"), &p, &plain,
                   RILL_ERR_PLUGIN, "while decoding input 7 (line 8): ", "a third", NULL);
}

/* An endless loop is attributed to its input before the time limit of the whole call. */
static void endless_loops(void **state)
{
    (void)state;
    problem p;
    engine_record r;
    rill_script_options options = {.struct_size = sizeof options, .instructions = 2000000};
    scripted_problem(&p, 4, 12, 4);
    one_heuristic(&p, "mine", "2");
    const char *const text = apply_text(
        "for i = 1, b.n do if b.item_id[i] == 5 then while true do pcall(error) end end end");
    scripted_run(text, &options, &p, &plain, NULL, &r);
    assert_int_equal(r.status, RILL_ERR_PLUGIN);
    assert_non_null(strstr(r.message, "while decoding input 5 (line 6)"));
    assert_non_null(strstr(r.message, "2000000 instructions"));
    engine_record_clear(&r);
    /* the work is excessive only in total, so no input is named */
    scripted_run(apply_text("for i = 1, b.n * 140000 do local x = i * i end"), &options, &p, &plain, NULL, &r);
    assert_int_equal(r.status, RILL_ERR_PLUGIN);
    assert_non_null(strstr(r.message, "in a timestep of 8 inputs"));
    engine_record_clear(&r);
}

/* An input that needs far more than its share of the limit is named, although alone it would pass. */
static void heavy_inputs(void **state)
{
    (void)state;
    problem p;
    engine_record r;
    rill_script_options options = {.struct_size = sizeof options, .instructions = 2000000};
    scripted_problem(&p, 4, 12, 4);
    one_heuristic(&p, "mine", "2");
    scripted_run(apply_text("for i = 1, b.n do\n"
                            "  for j = 1, b.item_id[i] == 5 and 800000 or 60000 do local x = j * j end\n"
                            "end"),
                 &options, &p, &plain, NULL, &r);
    assert_int_equal(r.status, RILL_ERR_PLUGIN);
    if (strstr(r.message, "while decoding input 5 (line 6)") == NULL) fail_msg("%s", r.message);
    engine_record_clear(&r);
}

/* Results finished before a failure are returned, and are right. */
static void finished_outputs_are_kept(void **state)
{
    (void)state;
    problem p;
    engine_record all, cut;
    schedule one_by_one = {.method = "var-batch", .n = 1, .refill = -1};
    scripted_problem(&p, 6, 10, 3);
    one_heuristic(&p, "mine", "2");
    scripted_run(apply_text(""), NULL, &p, &one_by_one, NULL, &all);
    scripted_run(apply_text("if b.item_id[1] == 6 then error('stop here') end"), NULL, &p, &one_by_one, NULL, &cut);
    assert_int_equal(all.status, RILL_OK);
    assert_int_equal(cut.status, RILL_ERR_PLUGIN);
    assert_int_equal(cut.n_results, 6);
    for (int32_t i = 0; i < 6; i++) {
        assert_int_equal(cut.result[i].n, all.result[i].n);
        assert_string_equal(cut.result[i].output[0].text, all.result[i].output[0].text);
    }
    engine_record_clear(&all);
    engine_record_clear(&cut);
}

/* --- invalid heuristics in checking mode -------------------------------------------------------------------------------- */

static void cheats_are_caught(void **state)
{
    (void)state;
    problem p;
    scripted_problem(&p, 5, 9, 4);
    one_heuristic(&p, "mine", "2");
    /* compares with the best of all items, counts the items, or remembers calls */
    scripted_fails(apply_text("local all = rill.dead for i = 1, b.n do all = math.max(all, b.best[i]) end\n"
                              "b.keep = b.path_score:ge(all - 1)"),
                   &p, &checked, RILL_ERR_CHECK, "heuristic mine gives input ", NULL);
    scripted_fails(apply_text("if b.n > 1 then b.width = 1 end"), &p, &checked, RILL_ERR_CHECK, "mine", NULL);
    scripted_fails(apply_text("calls = (calls or 0) + 1 b.stop = calls % 3 == 0"), &p, &checked, RILL_ERR_CHECK, "mine",
                   NULL);
    /* This one passes a test that repeats calls: its result for an item depends neither on the number of calls nor on
     * other items. */
    scripted_fails("rill.heuristic{ name = 'mine', arguments = 'N', create = function() return {} end,\n"
                   "  apply = function(b, seen)\n"
                   "    for i = 1, b.n do\n"
                   "      if b.timestep[i] == 0 then seen[b.item_id[i]] = true end\n"
                   "      if not seen[b.item_id[i]] then b.width[i] = 1 end\n"
                   "    end\n"
                   "  end }\n",
                   &p, &checked, RILL_ERR_CHECK, "heuristic mine gives input ", NULL);
}

/* --- declarations ------------------------------------------------------------------------------------------------------- */

static void declarations(void **state)
{
    (void)state;
    scripted_refused("rill.heuristic{ name = 'Mine', apply = print }", "test.lua:1: rill.heuristic: the name \"Mine\"");
    scripted_refused("\n\nrill.heuristic{ name = 'a b', apply = print }",
                     "test.lua:3: rill.heuristic: the name \"a b\"");
    scripted_refused("rill.heuristic{ name = '', apply = print }", "made of a-z, 0-9, - and _");
    scripted_refused("rill.heuristic{ name = 'a\\0b', apply = print }", "made of a-z");
    scripted_refused("rill.heuristic{ name = ('x'):rep(99), apply = print }", "longer than 47 bytes");
    scripted_refused("rill.heuristic{ apply = print }", "name = \"...\" is missing");
    scripted_refused("rill.heuristic{ name = 5, apply = print }", "name = \"...\" is missing");
    scripted_refused("rill.heuristic{ name = 'mine' }", "apply = function ... end is missing");
    scripted_refused("rill.heuristic{ name = 'mine', apply = 'keep' }", "apply must be a function, not a string");
    scripted_refused("rill.heuristic{ name = 'mine', aply = print }", "unknown key \"aply\": did you mean \"apply\"?");
    scripted_refused("rill.heuristic{ name = 'mine', apply = print, choose = print }", "unknown key \"choose\"");
    scripted_refused("rill.heuristic{ 'mine', apply = print }", "a key must be a string, not 1");
    scripted_refused("rill.heuristic{ name = 'mine', apply = print, create = 5 }", "create must be a function");
    scripted_refused("rill.heuristic{ name = 'mine', apply = print, summary = {} }", "summary must be a string");
    scripted_refused("rill.heuristic{ name = 'mine', apply = print, arguments = 'A\\nB' }", "one line");
    scripted_refused("rill.heuristic('mine')", "rill.heuristic: a table was expected");
    scripted_refused("rill.heuristic{ name = 'absolute', apply = print }", "\"absolute\" is registered already");
    scripted_refused("for i = 1, 2 do rill.heuristic{ name = 'mine', apply = print } end", "is registered already");
    scripted_refused("for i = 1, 1e9 do rill.heuristic{ name = 'mine' .. i, apply = print } end", "in a loop?");
    scripted_refused("rill.heuristic{ name = 'mine', apply = print } error('later')", "later");
}

static void listed(void **state)
{
    (void)state;
    static const char text[] =
        "local h = rill.heuristic{ name = 'mine', arguments = 'A,B', summary = 'one line', apply = print }\n"
        "assert(tostring(h) == 'heuristic mine' and getmetatable(h) == false)\n"
        "rill.heuristic{ name = 'other', apply = print }\n";
    rill_context *ctx = harness_context(NULL);
    rill_script *script;
    if (rill_script_load_text(&script, ctx, "test.lua", text, strlen(text), NULL) < 0) fail_msg("%s", rill_error(ctx));
    const rill_heuristic *mine = rill_find_heuristic(ctx, "mine"), *other = rill_find_heuristic(ctx, "other");
    assert_string_equal(mine->name, "mine");
    assert_string_equal(mine->arguments, "A,B");
    assert_string_equal(mine->summary, "one line");
    assert_string_equal(other->arguments, "");
    assert_string_equal(other->summary, "declared in test.lua");
    rill_context_destroy(ctx);
}

static lua_Alloc allocate;
static int granted; /* how many of the coming allocations succeed */

static void *allocate_granted(void *user, void *block, size_t old_size, size_t size)
{
    const int is_request = size > (block != NULL ? old_size : 0);
    if (is_request && granted == 0) return NULL;
    granted -= is_request;
    return allocate(user, block, old_size, size);
}

static int call_result(lua_State *L)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, script_from_lua(L)->result);
    lua_call(L, 0, 0);
    return 0;
}

/* Lua objects that are protected stay protected, wherever memory runs out in a declaration. */
static void protected_objects(void **state)
{
    (void)state;
    static const char text[] =
        "local h\n"
        "return function()\n"
        "  if h then assert(getmetatable(h) == false) else h = rill.heuristic{ name = 'mine', apply = print } end\n"
        "end";
    rill_context *ctx = harness_context(NULL);
    rill_script *script;
    void *user;
    rill_status status = RILL_ERR_MEMORY;
    if (rill_script_load_text(&script, ctx, "test.lua", text, strlen(text), NULL) < 0) fail_msg("%s", rill_error(ctx));
    allocate = lua_getallocf(script->L, &user);
    for (int n = 0; status == RILL_ERR_MEMORY; n++) {
        granted = n;
        lua_setallocf(script->L, allocate_granted, user);
        status = script_protect(script, call_result, NULL);
        lua_setallocf(script->L, allocate, user);
    }
    if (status == RILL_OK) status = script_protect(script, call_result, NULL);
    if (status != RILL_OK) fail_msg("%s", rill_error(ctx));
    rill_context_destroy(ctx);
}

static void created_with(const char *text, const char *arguments, rill_status status, const char *words)
{
    problem p;
    scripted_problem(&p, 5, 3, 4);
    one_heuristic(&p, "mine", arguments);
    scripted_fails(text, &p, &plain, status, "mine", words, NULL);
}

static void arguments(void **state)
{
    (void)state;
    static const char none[] = "rill.heuristic{ name = 'mine', apply = function(b) end }";
    static const char number[] =
        "rill.heuristic{ name = 'mine', arguments = 'X', create = tonumber, apply = function(b, x)\n"
        "assert(math.type(x) == 'integer') end }";
    static const char script[] =
        "rill.heuristic{ name = 'mine', arguments = 'X', apply = function() end,\n"
        "create = function(text) if text == '' then return nil, 'a number is missing' end error('bad ' .. text)"
        " end }";
    created_with(none, "5", RILL_ERR_OPTION, "takes no arguments, found \"5\"");
    created_with(number, "abc", RILL_ERR_OPTION, "arguments \"abc\" for X");
    created_with(number, "1.5", RILL_ERR_PLUGIN, "assertion failed");
    created_with(script, "", RILL_ERR_OPTION, "a number is missing");
    created_with(script, "17", RILL_ERR_PLUGIN, "with arguments \"17\": test.lua:2: bad 17");
}

/* Two instances of a heuristic have separate values; so do two scripts in one chain. */
static void instances_are_independent(void **state)
{
    (void)state;
    problem p;
    engine_record a, b;
    scripted_problem(&p, 8, 6, 5);
    scripted_entry(&p.heuristic[0], "lua-absolute", "3");
    scripted_entry(&p.heuristic[1], "lua-absolute", "1");
    p.n_heuristics = 2;
    scripted_run(built_in, NULL, &p, &plain, NULL, &a);
    scripted_entry(&p.heuristic[0], "absolute", "3");
    scripted_entry(&p.heuristic[1], "absolute", "1");
    scripted_run(built_in, NULL, &p, &plain, NULL, &b);
    scripted_same(&p, &a, &b);
    engine_record_clear(&a);
    engine_record_clear(&b);
}

static void instances_are_freed(void **state)
{
    (void)state;
    static const char text[] =
        "rill.heuristic{ name = 'mine', arguments = 'X', create = function(x) return { x } end,\n"
        "  apply = function() end }";
    rill_context *ctx = harness_context(NULL);
    rill_script *script;
    assert_int_equal(rill_script_load_text(&script, ctx, "test.lua", text, strlen(text), NULL), RILL_OK);
    const rill_heuristic *h = rill_find_heuristic(ctx, "mine");
    size_t old_memory = rill_script_memory(script);
    for (int i = 0; i < 5000; i++) {
        void *self;
        assert_int_equal(h->create(h, ctx, "some text", &self), RILL_OK);
        h->destroy(self);
    }
    assert_true(rill_script_memory(script) < old_memory + 100000);
    rill_context_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(array_heuristics),
    cmocka_unit_test(dropping_heuristics),
    cmocka_unit_test(loop_heuristics),
    cmocka_unit_test(random_decisions),
    cmocka_unit_test(marks),
    cmocka_unit_test(misuse),
    cmocka_unit_test(used_after_the_call),
    cmocka_unit_test(names_the_input),
    cmocka_unit_test(endless_loops),
    cmocka_unit_test(finished_outputs_are_kept),
    cmocka_unit_test(cheats_are_caught),
    cmocka_unit_test(declarations),
    cmocka_unit_test(listed),
    cmocka_unit_test(protected_objects),
    cmocka_unit_test(arguments),
    cmocka_unit_test(instances_are_independent),
    cmocka_unit_test(instances_are_freed),
    cmocka_unit_test(heavy_inputs),
};

HARNESS_MAIN(tests)
