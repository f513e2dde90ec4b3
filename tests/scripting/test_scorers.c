/* Scorers written in Lua: random ones against the naive search; every method, row by row and by whole arrays, against
 * C; the paths and names of rows; and refused arguments. */
#include <stdio.h>
#include <string.h>

#include "scripted.h"

/* --- random modifiers ------------------------------------------------------------------------------------------------- */

/* The scorer test-random in Lua, without end rules, of which scripts have only some. */
static const char *const random_one = SCRIPTED_MIX
    "local function rest(h, by, d) local _, r = divide((divide(h, by)), d) return r end\n"
    "local function eighth(h) return 0.125 * (rest(h, 1, 17) - 8) end\n"
    "local ADD, BAN, ALLOW, REWARD, END_REWARD, USE_RANK, USE_SCORE, LIMIT = 1, 2, 4, 16, 32, 64, 128, 256\n"
    "rill.scorer{ name = 'lua-random', arguments = 'SEED,FLAGS',\n"
    "  create = function(text)\n"
    "    local seed, flags = text:match('^(%d+),(%d+)$')\n"
    "    return { seed = math.tointeger(seed), flags = math.tointeger(flags) }\n"
    "  end,\n"
    "  score = function(rows, self)\n"
    "    local function on(flag) return self.flags & flag ~= 0 end\n"
    "    for i = 1, rows.n do\n"
    "      local first, last = rows:range(i)\n"
    "      for r = first, last do\n"
    "        local h = mix(mix(self.seed, rows.item_id[i]), rows.timestep[r] * 8 + rows.phase)\n"
    "        if on(USE_RANK) then h = mix(h, rows.rank[r]) end\n"
    "        if on(USE_SCORE) then h = mix_double(h, rows.path_score[r]) end\n"
    "        for _, action in ipairs(rows:history(r)) do h = mix(h, action) end\n"
    "        local restricted, allowed = on(ALLOW) and rest(h, 1, 4) == 0, {}\n"
    "        for a = 0, rows.actions - 1 do\n"
    "          local g = mix(h, a)\n"
    "          if on(ADD) and rest(g, 1, 3) == 0 then\n"
    "            rows:add(r, a, eighth((divide(g, 3))) - 0.5)\n"
    "            rows:add(r, a, 0.5)\n"
    "          end\n"
    "          if on(BAN) and rest(g, 64, 5) == 0 then rows:ban(r, a) end\n"
    "          if restricted and rest(g, 512, 2) == 0 then allowed[#allowed + 1] = a end\n"
    "        end\n"
    "        if restricted then rows:allow(r, allowed) end\n"
    "        if on(LIMIT) and rest(h, 17, 3) ~= 0 then rows:limit(r, rest(h, 51, 5) + 1) end\n"
    "        if on(REWARD) then rows:reward(r, eighth((divide(h, 11)))) end\n"
    "        if on(END_REWARD) then rows:end_reward(r, eighth((divide(h, 13)))) end\n"
    "      end\n"
    "    end\n"
    "  end }\n";

/* Replace the problem's scorers by those of the script; return how many. */
static int rename_scorers(problem *p)
{
    int renamed = 0;
    for (int32_t i = 0; i < p->n_scorers; i++) {
        test_random *r = &p->random_scorer[i];
        if (strcmp(p->scorer[i].name, "test-random") != 0) continue;
        r->flags &= ~TEST_END_RULE;
        snprintf(p->scorer[i].name, sizeof p->scorer[i].name, "lua-random");
        snprintf(p->scorer[i].arguments, sizeof p->scorer[i].arguments, "%d,%d", (int)r->seed, (int)r->flags);
        renamed++;
    }
    return renamed;
}

static void random_statements(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    int64_t wanted = harness_iterations(250);
    for (int64_t i = 0, done = 0; done < wanted; i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 41));
        problem_group group = i % 3 == 0 ? PROBLEM_FIXED_TOP : PROBLEM_PRUNED;
        problem p;
        problem_draw(&p, group, &d);
        if (rename_scorers(&p) == 0) continue;
        done++;
        problem_solve(&p);
        schedule s;
        engine_record r;
        schedule_draw(&s, group, &d);
        scripted_run(random_one, NULL, &p, &s, NULL, &r);
        problem_expect(&p, &s, seed, &r);
        engine_record_clear(&r);
        problem_clear(&p);
    }
}

/* --- every method, in three styles -------------------------------------------------------------------------------------- */

typedef rill_status (*statement)(rill_modifiers *modifiers, int32_t row, int32_t x, int32_t actions);

static rill_status statement_add(rill_modifiers *modifiers, int32_t row, int32_t x, int32_t actions)
{
    (void)actions;
    return x > 0 ? rill_modifiers_add(modifiers, row, x, 0.5f * (float)x - 1) : RILL_OK;
}

static rill_status statement_add_everywhere(rill_modifiers *modifiers, int32_t row, int32_t x, int32_t actions)
{
    (void)x;
    return rill_modifiers_add(modifiers, row, actions - 1, -0.75f);
}

static rill_status statement_scale(rill_modifiers *modifiers, int32_t row, int32_t x, int32_t actions)
{
    (void)actions;
    return x > 0 ? rill_modifiers_scale(modifiers, row, x, 0.25f * (float)x + 0.5f) : RILL_OK;
}

static rill_status statement_ban(rill_modifiers *modifiers, int32_t row, int32_t x, int32_t actions)
{
    (void)actions;
    return x > 0 ? rill_modifiers_ban(modifiers, row, x) : RILL_OK;
}

static rill_status statement_allow(rill_modifiers *modifiers, int32_t row, int32_t x, int32_t actions)
{
    (void)x, (void)actions;
    rill_status status = RILL_OK;
    for (int32_t a = 0; a < 6 && status == RILL_OK; a++) status = rill_modifiers_allow(modifiers, row, a);
    return status;
}

static rill_status statement_allow_none(rill_modifiers *modifiers, int32_t row, int32_t x, int32_t actions)
{
    (void)actions;
    return x == 4 ? rill_modifiers_allow_none(modifiers, row) : RILL_OK;
}

static rill_status statement_forbid_end(rill_modifiers *modifiers, int32_t row, int32_t x, int32_t actions)
{
    (void)x, (void)actions;
    return rill_modifiers_end_rule(modifiers, row, RILL_END_FORBIDDEN);
}

static rill_status statement_require_end(rill_modifiers *modifiers, int32_t row, int32_t x, int32_t actions)
{
    (void)actions;
    return x == 2 ? rill_modifiers_end_rule(modifiers, row, RILL_END_REQUIRED) : RILL_OK;
}

static rill_status statement_reward(rill_modifiers *modifiers, int32_t row, int32_t x, int32_t actions)
{
    (void)actions;
    return rill_modifiers_reward(modifiers, row, 0.25f * (float)x);
}

static rill_status statement_end_reward(rill_modifiers *modifiers, int32_t row, int32_t x, int32_t actions)
{
    (void)actions;
    return rill_modifiers_end_reward(modifiers, row, -0.5f * (float)x);
}

static rill_status statement_limit(rill_modifiers *modifiers, int32_t row, int32_t x, int32_t actions)
{
    (void)actions;
    return rill_modifiers_limit_children(modifiers, row, x + 1);
}

/* The modifiers of a row depend on a number in 0..4, which the scripts compute as `x`, per row or as an array. */
static const char *const scripts[][2] = {
    {"if x > 0 then rows:add(r, x, 0.5 * x - 1) end", "rows:add(nil, x - x:eq(0), 0.5 * x - 1)"},
    {"rows:add(r, rows.actions - 1, -0.75)", "rows:add(nil, rows.actions - 1, -0.75)"},
    {"if x > 0 then rows:scale(r, x, 0.25 * x + 0.5) end", "rows:scale(nil, x - x:eq(0), 0.25 * x + 0.5)"},
    {"if x > 0 then rows:ban(r, x) end", "rows:ban(nil, rill.where(x:gt(0), x, -1))"},
    {"rows:allow(r, {0, 1, 2, 3, 4, 5})", "rows:allow(nil, {5, 4, 3, 2, 1, 0, 0})"},
    {"if x == 4 then rows:allow(r, {}) end", "for r = 1, #x do if x[r] == 4 then rows:allow(r, {}) end end"},
    {"rows:forbid_end(r)", "rows:forbid_end()"},
    {"if x == 2 then rows:require_end(r) end", "for r = 1, #x do if x[r] == 2 then rows:require_end(r) end end"},
    {"rows:reward(r, 0.25 * x)", "rows:reward(nil, 0.25 * x)"},
    {"rows:end_reward(r, -0.5 * x)", "rows:end_reward(nil, -0.5 * x)"},
    {"rows:limit(r, x + 1)", "rows:limit(nil, x + 1)"},
};
static const statement statements[] = {
    statement_add,    statement_add_everywhere, statement_scale,      statement_ban,
    statement_allow,  statement_allow_none,     statement_forbid_end, statement_require_end,
    statement_reward, statement_end_reward,     statement_limit,
};
enum { STATEMENTS = sizeof statements / sizeof *statements };

static statement c_statement;

static rill_status score_in_c(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    (void)self;
    rill_status status = RILL_OK;
    for (int32_t row = 0; row < rows->n && status == RILL_OK; row++) {
        const rill_hyp_node *h = &rows->hyp_nodes[rows->hyp_node[row]];
        int32_t prev_action = h->parent >= 0 ? rows->hyp_nodes[h->parent].action : -1;
        int32_t x = (rows->timestep[row] * 7 + rows->rank[row] * 3 + (h->action + 1) * 11 + prev_action + 1 +
                     (int32_t)rows->item_id[row]) %
                    5;
        status = c_statement(modifiers, row, x, rows->info->actions);
    }
    return status;
}

static const rill_scorer in_c = {RILL_ABI_VERSION, sizeof(rill_scorer), "in-c", "", "", NULL, score_in_c, NULL,
                                 .state_bytes = 0};

static rill_status register_in_c(rill_context *ctx)
{
    return rill_register_scorer(ctx, &in_c);
}

static const char row_by_row_script[] =
    "rill.scorer{ name = 'mine', score = function(rows)\n"
    "  local last, before = rows.last, rows:previous(1)\n"
    "  for i = 1, rows.n do\n"
    "    local first, final = rows:range(i)\n"
    "    for r = first, final do\n"
    "      local x = (rows.timestep[r] * 7 + rows.rank[r] * 3 + (last[r] + 1) * 11 + before[r] + 1 + rows.item_id[i]) %% 5\n"
    "      %s\n"
    "    end\n"
    "  end\n"
    "end }\n";

static const char all_rows_script[] =
    "rill.scorer{ name = 'mine', score = function(rows)\n"
    "  local x = (rows.timestep * 7 + rows.rank * 3 + (rows.last + 1) * 11 + rows:previous(1) + 1 + rows.item_id) %% 5\n"
    "  %s\n"
    "end }\n";

static void statement_by_statement(void **state)
{
    (void)state;
    for (int which = 0; which < STATEMENTS; which++) {
        for (int seed = 0; seed < 12; seed++) {
            problem p;
            engine_record r[3];
            char text[2][1500];
            schedule s = {
                .method = seed % 2 ? "var-stream" : "var-batch", .n = 4, .refill = -1, .check = seed % 3 == 0};
            scripted_problem(&p, seed, 9, 4);
            p.settings.max_candidates = seed % 4 == 1 ? 8 : 0; /* more than some limits */
            p.n_scorers = 1;
            scripted_entry(&p.scorer[0], "in-c", "");
            c_statement = statements[which];
            engine_run_with(&p, &s, NULL, register_in_c, &r[0]);
            scripted_entry(&p.scorer[0], "mine", "");
            snprintf(text[0], sizeof text[0], row_by_row_script, scripts[which][0]);
            snprintf(text[1], sizeof text[1], all_rows_script, scripts[which][1]);
            for (int form = 0; form < 2; form++) {
                scripted_run(text[form], NULL, &p, &s, NULL, &r[1 + form]);
                scripted_same(&p, &r[0], &r[1 + form]);
            }
            for (int i = 0; i < 3; i++) engine_record_clear(&r[i]);
        }
    }
}

/* --- fields of rows --------------------------------------------------------------------------------------------------- */

static const schedule plain = {.method = "stream-all", .n = 6, .refill = -1};

static const char *score_text(const char *body)
{
    static char text[3000];
    snprintf(text, sizeof text, "rill.scorer{ name = 'mine', arguments = 'X', score = function(rows, x)\n%s\nend }\n",
             body);
    return text;
}

static void accepts(const char *body)
{
    problem p;
    engine_record r;
    scripted_problem(&p, 3, 8, 4);
    scripted_entry(&p.scorer[0], "mine", "2");
    p.n_scorers = 1;
    scripted_run(score_text(body), NULL, &p, &plain, NULL, &r);
    if (r.status != RILL_OK) fail_msg("%s", r.message);
    assert_int_equal(r.n_results, p.n_inputs);
    engine_record_clear(&r);
}

static void rows_show(void **state)
{
    (void)state;
    accepts("assert(x == '2' and rows.phase == 0 and rows.actions == 8)\n"
            "assert(#rows.path_score == rows.size and #rows.item_id == rows.n)\n"
            "local first, last = rows:range(rows.n) assert(last == rows.size and first <= last)\n"
            "assert(rows:range(1) == 1)");
    /* paths, read in each way */
    accepts(
        "local one, two, far = rows:previous(1), rows:previous(2), rows:previous(1 << 40)\n"
        "for r = 1, rows.size do\n"
        "  local h = rows:history(r)\n"
        "  assert(#h == rows.timestep[r])\n"
        "  assert(rows.last[r] == (h[1] or -1) and one[r] == (h[2] or -1) and two[r] == (h[3] or -1) and far[r] == -1)\n"
        "  assert(rows:previous(0)[r] == rows.last[r])\n"
        "  local some = rows:history(r, 2)\n"
        "  assert(#some == math.min(2, #h) and some[1] == h[1] and some[2] == h[2] and #rows:history(r, 0) == 0)\n"
        "end");
    /* reductions and broadcasting work on the rows of an item */
    accepts("local least = rows.rank:min()\n"
            "assert(#least == rows.n)\n"
            "local same = (rows.timestep - rows.timestep:max()):eq(0)\n"
            "assert(same:count():sum() == rows.size)\n"
            "rows:reward(nil, rows.item_id * 0.125)");
    /* names */
    accepts("assert(rows:name(0) == 'a0' and rows:name(7) == 'end' and rows:name(8) == nil and rows:name(-1) == nil)\n"
            "assert(rows:find('a3') == 3 and rows:find('end') == 7 and rows:find('nothing') == nil)");
    /* texts of inputs, and their actions */
    accepts("for i = 1, rows.n do assert(rows:text(i) == 'in ' .. rows.item_id[i]) end\n"
            "local three = rows:tokenize('a1  a3 end')\n"
            "assert(#three == 3 and three[1] == 1 and three[2] == 3 and three[3] == 7)\n"
            "assert(#rows:tokenize('') == 0)\n"
            "local many = rows:tokenize(('a2 '):rep(1000))\n"
            "assert(#many == 1000 and many[1] == 2 and many[1000] == 2)\n"
            "local none, why = rows:tokenize('a1 nothing')\n"
            "assert(none == nil and why == 'toy: no action is named nothing')");
    /* adding rill.dead bans an action; a call for all rows may affect none */
    accepts("rows:add(nil, 0, rill.dead) rows:ban(nil, rows.last * 0 - 1)");
}

/* --- refusals --------------------------------------------------------------------------------------------------------- */

static void refuses(const char *body, const char *words)
{
    problem p;
    scripted_problem(&p, 3, 6, 4);
    scripted_entry(&p.scorer[0], "mine", "2");
    p.n_scorers = 1;
    scripted_fails(score_text(body), &p, &plain, RILL_ERR_PLUGIN, "scorer mine", words, "test.lua:2:", "input", NULL);
}

static void misuse(void **state)
{
    (void)state;
    refuses("return rows.lats", "rows: no field \"lats\": did you mean \"last\"?");
    refuses("rows.last = 1", "rows.last is read-only");
    refuses("rows:add(0, 1, 1)", "row 0 is outside 1..");
    refuses("rows:scale(1, 1, 0)", "a factor of 0: expected a number above 0");
    refuses("rows:refuse(0, 'no')", "row 0 is outside 1..");
    refuses("rows:refuse(1)", "string expected");
    refuses("rows:add(rows.size + 1, 1, 1)", "is outside 1..");
    refuses("rows:add(1.5, 1, 1)", "no integer representation");
    refuses("rows:add(1, 8, 1)", "action 8 is outside 0..7");
    refuses("rows:add(1, -1, 1)", "action -1 is outside 0..7");
    refuses("rows:add(nil, -1, 1)", "action -1 is outside 0..7");
    refuses("rows:add(nil, rows.last * 0 + 9, 1)", "action 9 is outside 0..7");
    refuses("rows:add(1, 0)", "number expected");
    refuses("rows:add(1, 0, 0/0)", "rows:add: the value for row 1 is");
    refuses("rows:add(nil, 0, rows.path_score * math.huge * 0)", "the value for row 1 is");
    refuses("rows:add(nil, 0, rows.path_score * 0 + math.huge)", "the value for row 1 is inf");
    refuses("rows:reward(1, 1e300)", "the value for row 1 is 1e+300");
    refuses("rows:reward(1, 'much')", "number expected");
    refuses("rows:reward(1, rows.path_score)", "number expected");
    refuses("rows:reward(nil, rill.array{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})", "cells");
    refuses("rows:ban(1, 'a0')", "number expected");
    refuses("rows:limit(1, 0)", "a limit of at least 1 expected");
    refuses("rows:limit(nil, rows.last * 0)", "a limit of at least 1 expected");
    refuses("rows:allow(1, 3)", "table expected");
    refuses("rows:allow(1, {1, 99})", "action 99 is outside 0..7");
    refuses("rows:allow(1, {'a0'})", "entry 1 must be a whole number, not a string");
    refuses("rows:previous(-1)", "at least 0 expected");
    refuses("rows:history()", "number expected");
    refuses("rows:history(0)", "row 0 is outside 1..");
    refuses("rows:range(0)", "not the number of an item");
    refuses("rows:text(0)", "not the number of an item");
    refuses("rows:text(rows.n + 1)", "not the number of an item");
    refuses("rows:tokenize()", "string expected");
    refuses("local long = ('a1 '):rep(1000) while true do rows:tokenize(long) end", "instructions in one call");
    refuses("rows:name('a0')", "number expected");
    refuses("rows:find(3.5, {}) rows:find()", "string expected");
    refuses("rows.add(1, 1, 1, 1)", "rows expected, got number");
    refuses("if not old then old = rows else old:reward(1, 1) end", "rows of a call that is over");
    refuses("if not old then old = rows.last elseif old[1] then end", "call that is over");
    refuses("while true do rows:previous(1000) end", "instructions in one call");
}

static void names_the_input(void **state)
{
    (void)state;
    problem p;
    scripted_problem(&p, 4, 12, 4);
    scripted_entry(&p.scorer[0], "mine", "2");
    p.n_scorers = 1;
    for (int32_t input = 0; input < 12; input += 5) {
        char body[200], words[80];
        snprintf(
            body, sizeof body,
            "for i = 1, rows.n do if rows.item_id[i] == %d and rows.timestep:max()[i] == 1 then error('no luck') end end",
            (int)input);
        snprintf(words, sizeof words, "scorer mine, while decoding input %d (line %d): ", (int)input, (int)input + 1);
        scripted_fails(score_text(body), &p, &plain, RILL_ERR_PLUGIN, words, "test.lua:2: no luck", "stack traceback",
                       NULL);
    }
    /* the failing call is repeated for each item alone, and rows:text() then gives that item's text */
    scripted_fails(score_text("for i = 1, rows.n do assert(rows:text(i) ~= 'in 5', 'not this one') end"), &p, &plain,
                   RILL_ERR_PLUGIN, "scorer mine, while decoding input 5 (line 6): ", "not this one", NULL);
    scripted_fails(score_text("if rows.n > 1 then error('together') end"), &p, &plain, RILL_ERR_PLUGIN,
                   "in a timestep of 6 inputs, the first is input", "no input fails alone: ", NULL);
}

static void cheats_are_caught(void **state)
{
    (void)state;
    problem p;
    schedule checked = plain;
    checked.check = 1;
    scripted_problem(&p, 5, 9, 4);
    scripted_entry(&p.scorer[0], "mine", "2");
    p.n_scorers = 1;
    scripted_fails(score_text("rows:reward(nil, 0.125 * rows.size)"), &p, &checked, RILL_ERR_CHECK, "scorer mine",
                   NULL);
    scripted_fails(score_text("calls = (calls or 0) + 1 if calls % 2 == 0 then rows:limit(nil, 1) end"), &p, &checked,
                   RILL_ERR_CHECK, "scorer mine", NULL);
    /* This one passes a test that repeats calls: its result for an item depends neither on the number of calls nor on
     * other items. */
    scripted_fails("rill.scorer{ name = 'mine', arguments = 'N', create = function() return {} end,\n"
                   "  score = function(rows, seen)\n"
                   "    for i = 1, rows.n do\n"
                   "      local first, last = rows:range(i)\n"
                   "      if first <= last and rows.timestep[first] == 0 then seen[rows.item_id[i]] = true end\n"
                   "      if not seen[rows.item_id[i]] then for r = first, last do rows:limit(r, 1) end end\n"
                   "    end\n"
                   "  end }\n",
                   &p, &checked, RILL_ERR_CHECK, "scorer mine gives input ", NULL);
}

/* --- hypothesis state --------------------------------------------------------------------------------------------- */

static const char keeping[] = "rill.scorer{ name = 'mine', arguments = 'X', state = 3, score = function(rows)\n"
                              "  for r = 1, rows.size do\n"
                              "    local h = rows:history(r)\n"
                              "    local fold = 0\n"
                              "    for i = #h, 1, -1 do fold = (fold * 31 + h[i]) % 65536 end\n"
                              "    local before = #h == 0 and 0 or rows:state(r, 1)\n"
                              "    assert(rows:state(r, 2) == #h, 'one for each action')\n"
                              "    assert(#h == 0 or (before * 31 + h[1]) % 65536 == fold, 'what its parent kept')\n"
                              "    rows:keep(r, 1, fold)\n"
                              "    rows:keep(r, 2, rows:state(r, 2) + 1)\n"
                              "    assert(rows:state(r, 1) == fold and rows:state(r, 3) == (#h > 0 and 0.5 or 0))\n"
                              "    if #h == 0 then rows:keep(r, 3, 0.5) end\n"
                              "    rows:reward(r, fold / 65536)\n"
                              "  end\n"
                              "end }\n";

/* States are inherited along the tree, in every phase, with and without --check; rows do not share them. */
static void states_go_along(void **state)
{
    (void)state;
    problem p;
    engine_record r;
    for (int i = 0; i < 6; i++) {
        schedule s = plain;
        s.check = i % 2;
        scripted_problem(&p, (uint64_t)i, 8, 4);
        scripted_entry(&p.scorer[0], "mine", "2");
        p.n_scorers = 1;
        scripted_run(keeping, NULL, &p, &s, NULL, &r);
        if (r.status != RILL_OK) fail_msg("%s", r.message);
        assert_int_equal(r.n_results, p.n_inputs);
        engine_record_clear(&r);
    }
    refuses("rows:state(1, 1)", "hypotheses have no state: declare the scorer with state = N");
    refuses("rows:keep(1, 1, 0)", "hypotheses have no state");
    scripted_fails(
        "rill.scorer{ name = 'mine', arguments = 'X', state = 2, score = function(rows) rows:keep(1, 3, 0) end }", &p,
        &plain, RILL_ERR_PLUGIN, "scorer mine", "number 3 of the state is outside 1..2", NULL);
    scripted_refused("rill.scorer{ name = 'mine', state = 257, score = print }",
                     "state must be a whole number from 0 to 256");
    scripted_refused("rill.scorer{ name = 'mine', state = 1.5, score = print }",
                     "state must be a whole number from 0 to 256");
    scripted_refused("rill.scorer{ name = 'mine', state = '2', score = print }",
                     "state must be a whole number from 0 to 256");
}

/* --- maximum bonus ------------------------------------------------------------------------------------------------ */

/* A scorer that rewards words by its argument. `max_bonus`: the body of its function max_bonus; NULL: it has none. */
static const char *rewarding(const char *max_bonus)
{
    static char text[700];
    snprintf(text, sizeof text,
             "rill.scorer{ name = 'mine', arguments = 'W', create = tonumber,\n"
             "  score = function(rows, w) rows:reward(nil, w) rows:end_reward(nil, 0.25) end,%s%s%s }",
             max_bonus != NULL ? " max_bonus = function(w) " : "", max_bonus != NULL ? max_bonus : "",
             max_bonus != NULL ? " end" : "");
    return text;
}

/* With max_bonus a Lua scorer has the same certificates as its C counterpart. */
static void certificates(void **state)
{
    (void)state;
    const char *const same_script =
        "rill.scorer{ name = 'ends', score = function(rows) rows:end_reward(nil, 0.25) end, "
        "max_bonus = function() return 0, 0.25 end }";
    engine_record mine, theirs;
    int64_t certified = 0;
    problem p;
    scripted_problem(&p, 6, 12, 3);
    p.settings.certify = 1;
    p.settings.length_penalty = 1;
    for (int exact = 0; exact < 2; exact++) {
        p.settings.exact = exact;
        scripted_entry(&p.scorer[0], "mine", "-0.5");
        p.n_scorers = 1;
        scripted_run(rewarding("return w, 0.25"), NULL, &p, &plain, NULL, &mine);
        scripted_entry(&p.scorer[0], "word_reward", "-0.5");
        scripted_entry(&p.scorer[1], "ends", "");
        p.n_scorers = 2;
        scripted_run(same_script, NULL, &p, &plain, NULL, &theirs);
        assert_int_equal(mine.status, RILL_OK);
        scripted_same(&p, &mine, &theirs);
        assert_int_equal(mine.stats.certified, theirs.stats.certified);
        certified += mine.stats.certified;
        engine_record_clear(&mine);
        engine_record_clear(&theirs);
    }
    assert_true(certified > 0);
    problem_clear(&p);
}

static void max_bonus_is_heeded(void **state)
{
    (void)state;
    problem p;
    schedule checked = plain;
    checked.check = 1;
    scripted_problem(&p, 6, 6, 3);
    scripted_entry(&p.scorer[0], "mine", "0.5");
    p.n_scorers = 1;
    scripted_fails(rewarding("return"), &p, &plain, RILL_ERR_PLUGIN, "scorer mine with arguments \"0.5\": ",
                   "max_bonus returned a nil for actions: a number was expected", NULL);
    scripted_fails(rewarding("return w, 'much'"), &p, &plain, RILL_ERR_PLUGIN,
                   "max_bonus returned a string for the end", NULL);
    scripted_fails(rewarding("return 1/0"), &p, &plain, RILL_ERR_PLUGIN, "max_bonus returned inf for actions", NULL);
    scripted_fails(rewarding("return w, 0/0"), &p, &plain, RILL_ERR_PLUGIN, "max_bonus returned nan for the end", NULL);
    scripted_fails(rewarding("return missing.w"), &p, &plain, RILL_ERR_PLUGIN, "attempt to index a nil value", NULL);
    /* max_bonus returns too small a number */
    static const char more[] = "adds more to an action of input";
    scripted_fails(rewarding("return 0.4, 0.25"), &p, &checked, RILL_ERR_CHECK, "scorer mine", more, NULL);
    scripted_fails(rewarding("return 0.5, 0.2"), &p, &checked, RILL_ERR_CHECK, "scorer mine", more, NULL);
    scripted_fails("rill.scorer{ name = 'mine', arguments = 'W', score = function(rows) rows:add(nil, 3, 0.1) end,\n"
                   "  max_bonus = function() return 0 end }",
                   &p, &checked, RILL_ERR_CHECK, "scorer mine", more, NULL);
    /* the sum of all scorers' bonuses is compared with the sum of their maxima */
    scripted_entry(&p.scorer[1], "word_reward", "0.5");
    p.n_scorers = 2;
    scripted_fails(rewarding("return 0.4, 0.25"), &p, &checked, RILL_ERR_CHECK, "begins with mine", more, NULL);
    p.n_scorers = 1;
    /* correct maxima, and no maximum */
    static const char *const good[] = {"return 0.5, 0.25", "return 1, 1", NULL};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        engine_record run;
        scripted_run(rewarding(good[i]), NULL, &p, &checked, NULL, &run);
        assert_int_equal(run.status, RILL_OK);
        engine_record_clear(&run);
    }
    p.settings.certify = 1;
    scripted_fails(rewarding(NULL), &p, &plain, RILL_ERR_OPTION,
                   "certify cannot be combined with scorer mine, which declares no max_bonus", NULL);
    problem_clear(&p);
}

static void declarations(void **state)
{
    (void)state;
    scripted_refused("rill.scorer{ name = 'Mine', score = print }", "rill.scorer: the name \"Mine\"");
    scripted_refused("rill.scorer{ name = 'mine' }", "score = function ... end is missing");
    scripted_refused("rill.scorer{ name = 'word_reward', score = print }", "\"word_reward\" is registered already");
    scripted_refused("rill.scorer{ name = 'mine', scores = print }", "did you mean \"score\"?");
    problem p;
    scripted_problem(&p, 5, 3, 4);
    scripted_entry(&p.scorer[0], "mine", "x");
    p.n_scorers = 1;
    scripted_fails("rill.scorer{ name = 'mine', arguments = 'W', create = tonumber, score = print }", &p, &plain,
                   RILL_ERR_OPTION, "scorer mine", "arguments \"x\" for W", NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_statements),   cmocka_unit_test(statement_by_statement),
    cmocka_unit_test(rows_show),           cmocka_unit_test(misuse),
    cmocka_unit_test(names_the_input),     cmocka_unit_test(cheats_are_caught),
    cmocka_unit_test(declarations),        cmocka_unit_test(certificates),
    cmocka_unit_test(max_bonus_is_heeded), cmocka_unit_test(states_go_along),
};

HARNESS_MAIN(tests)
