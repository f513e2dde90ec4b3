/* Runs with a heuristic, a scorer and a scheduler in Lua in which each allocation fails in turn, once and from then on:
 * the run fails with a message or has the right results, and nothing leaks. */
#include <stdio.h>
#include <string.h>

#include "scripted.h"

static const char text[] =
    "rill.heuristic{ name = 'mine', arguments = 'DELTA', create = function(t) return { delta = tonumber(t) } end,\n"
    "  apply = function(b, self)\n"
    "    b.keep = b.path_score:ge(b.best - self.delta) | b.path_score:top(2)\n"
    "    b:narrow(b.k) b:drop(b.action:count_by(b.action):gt(3)) b:halt(b.timestep:gt(9))\n"
    "    for i = 1, b.n do local first, last = b:range(i) assert(first <= last + 1) end\n"
    "  end }\n"
    "rill.scorer{ name = 'mine', score = function(rows)\n"
    "    local seen = {}\n"
    "    for r = 1, rows.size do\n"
    "      for _, action in ipairs(rows:history(r, 3)) do seen[r .. ' ' .. action] = rows:name(action) end\n"
    "    end\n"
    "    rows:add(nil, rows.last, -0.25)\n"
    "    rows:reward(nil, rows.rank * 0.125 + rows.item_id * 0)\n"
    "    rows:ban(nil, rill.where(rows:previous(1):eq(0), 1, -1))\n"
    "  end }\n"
    "rill.scheduler{ name = 'mine', create = function(t) return { t } end,\n"
    "  choose = function(f) local order = {} for i = f.n, 1, -1 do order[#order + 1] = i end return order end,\n"
    "  refill = function(f) return f.n == 0 and 3 or 1 end, encode_ahead = function(f) return f.batch end }\n";

static const schedule plan = {.method = "stream-all",
                              .n = 2,
                              .max_items = 3,
                              .refill = -1,
                              .check = 1,
                              .scheduler = "mine",
                              .scheduler_arguments = "x"};

static void name_everything(problem *p)
{
    scripted_problem(p, 6, 4, 3);
    scripted_entry(&p->heuristic[0], "mine", "2");
    scripted_entry(&p->scorer[0], "mine", "");
    p->n_heuristics = p->n_scorers = 1;
}

/* Let the n-th allocation fail. Returns whether the run reached it. */
static int refuse(const problem *p, int64_t n, int persistent, const engine_record *baseline, int64_t *failed)
{
    harness_memory m = {.failing_request = n, .persistent = persistent};
    rill_context_options options = harness_memory_options(&m);
    engine_record r;
    scripted_run(text, NULL, p, &plan, &options, &r);
    if (m.blocks != 0 || m.bytes != 0)
        fail_msg("request %lld: %lld blocks of %zu bytes are lost after %s", (long long)n, (long long)m.blocks, m.bytes,
                 r.message);
    if (m.wrong_sizes != 0) fail_msg("request %lld: wrong sizes are given back", (long long)n);
    if (r.toy.violations != 0) fail_msg("request %lld: %s", (long long)n, r.toy.first_violation);
    assert_int_equal(r.toy.opened, r.toy.closed);
    if (r.status == RILL_OK)
        scripted_same(p, baseline, &r);
    else if (r.status != RILL_ERR_MEMORY || (n > 1 && r.message[0] == '\0'))
        fail_msg("request %lld: %s: %s", (long long)n, rill_status_name(r.status), r.message);
    *failed += r.status != RILL_OK;
    engine_record_clear(&r);
    return m.refused > 0;
}

static void refuse_each(int persistent)
{
    problem p;
    engine_record baseline;
    int64_t n = 1, failed = 0, tried = 0;
    name_everything(&p);
    scripted_run(text, NULL, &p, &plan, NULL, &baseline);
    if (baseline.status != RILL_OK) fail_msg("%s", baseline.message);
    for (; refuse(&p, n, persistent, &baseline, &failed); tried++) n = harness_next_request(n);
    print_message("%lld requests, %lld of them needed\n", (long long)n, (long long)failed);
    assert_true(n > 90);                              /* many of Lua's allocations share a block, so there are few */
    assert_true(failed > (tried == n - 1 ? 80 : 60)); /* fewer if some allocations were skipped */
    /* Permanent failure ends the run, unless Lua's second collection frees enough in its blocks. */
    if (persistent) assert_in_range(failed, tried - 2, tried);
    engine_record_clear(&baseline);
}

static void once(void **state)
{
    (void)state;
    refuse_each(0);
}

static void for_ever(void **state)
{
    (void)state;
    refuse_each(1);
}

/* The script reaches its memory limit in the middle of a run: an error, and everything is freed. */
static void own_limit(void **state)
{
    (void)state;
    static const char greedy[] =
        "local kept = {}\n"
        "rill.heuristic{ name = 'mine', apply = function(b) kept[#kept + 1] = rill.zeros(10000) end }\n";
    problem p;
    engine_record r;
    harness_memory m = {0};
    rill_context_options options = harness_memory_options(&m);
    rill_script_options limits = {.struct_size = sizeof limits, .memory = 600000};
    scripted_problem(&p, 6, 20, 3);
    scripted_entry(&p.heuristic[0], "mine", "");
    p.n_heuristics = 1;
    schedule s = {.method = "var-stream", .n = 2, .refill = -1};
    scripted_run(greedy, &limits, &p, &s, &options, &r);
    assert_int_equal(r.status, RILL_ERR_MEMORY);
    assert_non_null(strstr(r.message, "--script-memory"));
    assert_non_null(strstr(r.message, "heuristic mine, in a timestep of 2 inputs, the first is input "));
    assert_int_equal(m.blocks, 0);
    assert_int_equal(m.wrong_sizes, 0);
    engine_record_clear(&r);
}

/* Lua's small blocks are parts of large ones, so most of its allocations never reach the context. The script's memory
 * limit counts each; as the limit grows, each allocation is once the first to fail. */
static void every_limit(void **state)
{
    (void)state;
    problem p;
    engine_record baseline, r;
    int64_t failed = 0;
    rill_status status = RILL_ERR_MEMORY;
    name_everything(&p);
    scripted_run(text, NULL, &p, &plan, NULL, &baseline);
    for (size_t limit = 20000; status != RILL_OK; limit += 31) {
        harness_memory m = {0};
        rill_context_options options = harness_memory_options(&m);
        rill_script_options limits = {.struct_size = sizeof limits, .memory = limit};
        scripted_run(text, &limits, &p, &plan, &options, &r);
        status = r.status;
        if (status != RILL_OK && status != RILL_ERR_MEMORY)
            fail_msg("limit %zu: %s: %s", limit, rill_status_name(status), r.message);
        if (m.blocks != 0 || m.wrong_sizes != 0)
            fail_msg("limit %zu: lost %zu bytes after %s", limit, m.bytes, r.message);
        if (r.toy.violations != 0) fail_msg("limit %zu: %s", limit, r.toy.first_violation);
        if (status == RILL_OK) scripted_same(&p, &baseline, &r);
        failed += status != RILL_OK;
        engine_record_clear(&r);
    }
    print_message("%lld limits were too low\n", (long long)failed);
    assert_true(failed > 100);
    engine_record_clear(&baseline);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(once), cmocka_unit_test(for_ever),
                                          cmocka_unit_test(every_limit), cmocka_unit_test(own_limit)};

HARNESS_MAIN(tests)
