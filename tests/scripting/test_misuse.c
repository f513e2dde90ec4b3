/* Random use of everything that calls pass to scripts: fields, methods, operators and functions with arbitrary
 * arguments, including views and arrays of earlier calls. Every run must end with results or an error, without a report
 * of the address sanitizer. */
#include <stdio.h>
#include <string.h>

#include "scripted.h"

static const char text[] =
    "local state = 1\n"
    "local function random(n)\n"
    "  state = state * 6364136223846793005 + 1442695040888963407\n"
    "  return (state >> 33) % n + 1\n"
    "end\n"
    "local kinds = { 'candidates', 'rows', 'sched_view', 'array' }\n"
    "for _, kind in ipairs(kinds) do assert(#rill.names[kind] > 10) end\n"
    "local pool = { 0, 1, 2, 3, -1, 2.5, 0/0, 1/0, -1/0, 1e300, 2^31, -2^31, 2^53, math.maxinteger, math.mininteger, '', 'score',\n"
    "  '5', 'descending', true, false, {}, {1, 2, 3}, {3, {}, 'x'}, {1 << 40}, print, coroutine.create(print),\n"
    "  rill.array{1, 2, 3}, rill.zeros(0), rill.array{true, false}, rill.array{0/0, 1/0, -1/0, 1e300} }\n"
    "local fixed, kept = #pool, 60\n"
    "local function any() return pool[random(fixed + kept)] end\n" /* a random value, often nil */
    "local function keep(x) if x ~= nil then pool[fixed + random(kept)] = x end end\n"
    "local function name(kind)\n" /* a random name, sometimes of the wrong kind */
    "  local names = rill.names[random(9) == 1 and kinds[random(4)] or kind]\n"
    "  return names[random(#names)]\n"
    "end\n"
    "local binary = {\n"
    "  function(a, b) return a + b end, function(a, b) return a - b end, function(a, b) return a * b end,\n"
    "  function(a, b) return a / b end, function(a, b) return a % b end, function(a, b) return a ^ b end,\n"
    "  function(a, b) return a // b end, function(a, b) return a & b end, function(a, b) return a | b end,\n"
    "  function(a, b) return a ~ b end, function(a, b) return ~a end, function(a, b) return -a end,\n"
    "  function(a, b) return #a end, function(a, b) return tostring(a) end, function(a, b) return a == b end,\n"
    "  function(a, b) return a < b end, function(a, b) return a .. b end, function(a, b) for k, v in pairs(a) do keep(v) end end,\n"
    "  rill.max, rill.min, rill.array, function(a, b) return rill.where(a, b, any()) end,\n"
    "}\n"
    "local function act(view, kind)\n"
    "  local x, what = view, random(8)\n"
    "  if random(3) == 1 then x, kind = any(), 'array' end\n"
    "  if what == 1 then keep(x[name(kind)])\n"
    "  elseif what == 2 then x[name(kind)] = any()\n"
    "  elseif what <= 5 then keep(x[name(kind)](x, any(), any(), any()))\n"
    "  elseif what == 6 then x[any()] = any()\n"
    "  elseif what == 7 then keep(x[name(kind)][any()])\n"
    "  else keep(binary[random(#binary)](random(2) == 1 and any() or x[name(kind)], any())) end\n"
    "end\n"
    "local done, good = 0, 0\n"
    "local function use(view, kind)\n"
    "  for i = 1, 40 do\n"
    "    done = done + 1\n"
    "    if pcall(act, view, kind) then good = good + 1 end\n"
    "  end\n"
    "  if random(3) == 1 then keep(view) end\n"
    "  print(good .. ' of ' .. done)\n"
    "end\n"
    "rill.heuristic{ name = 'mine', arguments = 'SEED', create = function(seed) state = tonumber(seed) return 1 end,\n"
    "  apply = function(b) use(b, 'candidates') end }\n"
    "rill.scorer{ name = 'mine', score = function(rows) use(rows, 'rows') end }\n"
    "rill.scheduler{ name = 'mine',\n"
    "  choose = function(f) use(f, 'sched_view') if random(80) == 1 then return any() end return f.width:order() end,\n"
    "  refill = function(f) use(f, 'sched_view') if random(80) == 1 then return any() end return random(5) - 2 end,\n"
    "  encode_ahead = function(f) use(f, 'sched_view') return random(3) end }\n";

static void count(void *user, const char *line)
{
    long long *counts = user;
    /* the script raised a random error of its own */
    if (sscanf(line, "%lld of %lld", &counts[0], &counts[1]) != 2) counts[2]++;
}

static void anything_goes(void **state)
{
    (void)state;
    uint64_t first = harness_seed(1);
    long long good = 0, done = 0, errors = 0;
    for (int64_t i = 0; i < harness_iterations(150); i++) {
        long long counts[3] = {0};
        rill_script_options options = {.struct_size = sizeof options,
                                       .memory = 8 << 20,
                                       .instructions = 3000000,
                                       .print = count,
                                       .print_user = counts};
        schedule s = {.method = i % 2 ? "stream-all" : "var-batch",
                      .n = 3,
                      .refill = -1,
                      .budget = i % 3 == 0 ? 7 : 0,
                      .scheduler = i % 4 == 3 ? NULL : "mine",
                      .scheduler_arguments = ""};
        problem p;
        engine_record r;
        char seed[24];
        scripted_problem(&p, (int)i, 12, 4);
        snprintf(seed, sizeof seed, "%llu", (unsigned long long)(first + (uint64_t)i) * 7919);
        scripted_entry(&p.heuristic[0], "mine", seed);
        scripted_entry(&p.scorer[0], "mine", "");
        p.n_heuristics = p.n_scorers = 1;
        scripted_run(text, &options, &p, &s, NULL, &r);
        if (r.status != RILL_OK && r.status != RILL_ERR_PLUGIN && r.status != RILL_ERR_MEMORY)
            fail_msg("seed %s: %s: %s", seed, rill_status_name(r.status), r.message);
        if (r.toy.violations != 0) fail_msg("seed %s: %s", seed, r.toy.first_violation);
        if (r.status == RILL_OK) assert_int_equal(r.n_results, p.n_inputs);
        errors += r.status != RILL_OK;
        good += counts[0];
        done += counts[1];
        engine_record_clear(&r);
    }
    print_message("%lld of %lld acts did something, %lld runs failed\n", good, done, errors);
    assert_true(good > done / 10);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(anything_goes)};

HARNESS_MAIN(tests)
