/* Failures of the domain: an error in any call ends the run with its status and message, without leaks; an invalid
 * result is refused; an invalid input fails alone. */
#include <stdio.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"

static void problem_with(problem *p, const char *extra, int path)
{
    dice d = dice_seeded(404);
    char message[200];
    problem_draw(p, PROBLEM_PRUNED, &d);
    snprintf(p->arguments, sizeof p->arguments, "seed=4 actions=5 depth=5 ending=30 state=%s %s",
             path ? "path" : "parent", extra);
    assert_int_equal(toy_model_parse(&p->model, p->arguments, message, sizeof message), RILL_OK);
    for (p->n_inputs = 0; p->n_inputs < 9; p->n_inputs++)
        snprintf(p->input[p->n_inputs], sizeof p->input[0], "in %d", (int)p->n_inputs);
    rill_settings_default(&p->settings);
    p->settings.k = 3;
    p->n_heuristics = p->n_scorers = 0;
    memset(&p->naive.heuristic, 0, sizeof p->naive.heuristic);
}

static const schedule plain = {.method = "var-stream", .n = 3, .refill = -1};

static void injected_failures(void **state)
{
    (void)state;
    static const char *const calls[] = {"encode", "step", "score", "finalize"};
    int ended = 0;
    for (int call = 0; call < 4; call++)
        for (int n = 1; n <= 12; n++)
            for (int path = 0; path < 2; path++) {
                problem p;
                engine_record r;
                schedule s = plain;
                char extra[40], sentence[60];
                snprintf(extra, sizeof extra, "fail_%s=%d", calls[call], n);
                snprintf(sentence, sizeof sentence, "injected failure in call %d of %s", n, calls[call]);
                problem_with(&p, extra, path);
                s.by_run = n % 2;
                engine_run(&p, &s, NULL, &r);
                if (r.toy.violations != 0) fail_msg("%s: %s", extra, r.toy.first_violation);
                assert_int_equal(r.toy.opened, r.toy.closed);
                if (r.status != RILL_OK) { /* otherwise the run ended before this call */
                    assert_int_equal(r.status, RILL_ERR_IO);
                    if (strstr(r.message, sentence) == NULL) fail_msg("%s: \"%s\"", extra, r.message);
                    assert_true(r.n_results < p.n_inputs);
                    ended++;
                }
                engine_record_clear(&r);
            }
    HARNESS_ASSERT_COVERED(ended > 50);
}

/* Results finished before the failure can still be taken, and are right. */
static void finished_results_survive(void **state)
{
    (void)state;
    problem p;
    engine_record r, baseline;
    problem_with(&p, "", 1);
    engine_run(&p, &plain, NULL, &baseline);
    assert_int_equal(baseline.status, RILL_OK);
    problem_with(&p, "fail_score=9", 1);
    engine_run(&p, &plain, NULL, &r);
    assert_int_equal(r.status, RILL_ERR_IO);
    assert_true(r.n_results > 0);
    for (int32_t i = 0; i < p.n_inputs; i++)
        if (r.result[i].taken) {
            assert_int_equal(r.result[i].status, baseline.result[i].status);
            assert_int_equal(r.result[i].n, baseline.result[i].n);
            if (r.result[i].n > 0) assert_string_equal(r.result[i].output[0].text, baseline.result[i].output[0].text);
        }
    engine_record_clear(&r);
    engine_record_clear(&baseline);
}

/* The domain fails in call number `failing_call` of the run. */
static int32_t calls, failing_call;

static rill_status fail_at_call(void *self, rill_candidates *candidates)
{
    (void)self, (void)candidates;
    return ++calls == failing_call ? RILL_ERR_PLUGIN : RILL_OK;
}

static rill_status register_failing(rill_context *ctx)
{
    static const rill_heuristic late = {RILL_ABI_VERSION, sizeof late, "late",       "",
                                        "fails once",     NULL,        fail_at_call, NULL};
    return rill_register_heuristic(ctx, &late);
}

static void run_until(const problem *p, const schedule *s, int32_t call, engine_record *r)
{
    calls = 0;
    failing_call = call;
    engine_run_with(p, s, NULL, register_failing, r);
}

/* A run that ended with an error must have returned all results finished before, right and in order. Return the number
 * of ids it skipped. */
static int check_broken_run(const schedule *s, const engine_record *r, const engine_record *baseline)
{
    int skipped = 0, missing = 0;
    int64_t position = 0;
    if (r->n_results != r->stats.inputs)
        fail_msg("%s: %lld results of %lld finished inputs", s->method, (long long)r->n_results,
                 (long long)r->stats.inputs);
    for (int32_t i = 0; i < PROBLEM_MAX_INPUTS; i++) {
        const record_result *one = &r->result[i], *other = &baseline->result[i];
        missing += other->taken && !one->taken;
        if (!one->taken) continue;
        skipped += missing;
        missing = 0;
        if (!s->unordered && one->position != position++) fail_msg("%s: input %d is out of order", s->method, (int)i);
        assert_int_equal(one->taken, 1);
        assert_int_equal(one->status, other->status);
        assert_int_equal(one->n, other->n);
        for (int32_t o = 0; o < one->n; o++) assert_string_equal(one->output[o].text, other->output[o].text);
    }
    return skipped;
}

/* Whichever call of a heuristic ends the run, all finished results are returned, including those that waited for
 * earlier inputs. */
static void results_that_waited_survive(void **state)
{
    (void)state;
    int skipped = 0, empty = 0, failed = 0;
    for (int variant = 0; variant < 5 * 2 * 2; variant++) {
        problem p;
        engine_record r, baseline;
        problem_with(&p, "early=60 own_bound=1", variant % 2);
        snprintf(p.heuristic[0].name, sizeof p.heuristic[0].name, "late");
        p.heuristic[0].arguments[0] = '\0';
        p.n_heuristics = 1;
        for (p.n_inputs = 0; p.n_inputs < 30; p.n_inputs++)
            snprintf(p.input[p.n_inputs], sizeof p.input[0], "%d", (int)p.n_inputs * 7);
        schedule s = {.method = problem_methods(PROBLEM_PRUNED)[variant / 4],
                      .n = 4,
                      .refill = -1,
                      .budget = variant % 3 == 0 ? 10 : 0,
                      .unordered = variant / 2 % 2,
                      .by_run = variant % 3 != 1};
        run_until(&p, &s, 0, &baseline);
        assert_int_equal(baseline.status, RILL_OK);
        for (int32_t call = 1;; call += 1 + call / 10) {
            run_until(&p, &s, call, &r);
            if (r.status == RILL_OK) {
                engine_record_clear(&r);
                break; /* the run ended before this call */
            }
            assert_int_equal(r.status, RILL_ERR_PLUGIN);
            assert_non_null(strstr(r.message, "heuristic late")); /* taking the results does not clear the message */
            if (r.toy.violations != 0) fail_msg("%s: %s", s.method, r.toy.first_violation);
            int gaps = check_broken_run(&s, &r, &baseline);
            if (!s.unordered) skipped += gaps;
            empty += r.n_results == 0;
            failed++;
            engine_record_clear(&r);
        }
        engine_record_clear(&baseline);
    }
    HARNESS_ASSERT_COVERED(skipped > 50);
    HARNESS_ASSERT_COVERED(empty > 0);
    HARNESS_ASSERT_COVERED(failed > 200);
}

static void illegal_answers(void **state)
{
    (void)state;
    for (int kind = 0; kind <= 8; kind++)
        for (int call = 1; call <= 5; call += 2) {
            problem p;
            engine_record r;
            char extra[64];
            snprintf(extra, sizeof extra, "garble=%d garble_kind=%d", call, kind);
            problem_with(&p, extra, kind % 2);
            engine_run(&p, &plain, NULL, &r);
            if (r.status != RILL_ERR_PLUGIN) fail_msg("%s: %s \"%s\"", extra, rill_status_name(r.status), r.message);
            if (strstr(r.message, "toy") == NULL) fail_msg("%s: \"%s\" does not name the domain", extra, r.message);
            if (r.toy.violations != 0) fail_msg("%s: %s", extra, r.toy.first_violation);
            engine_record_clear(&r);
        }
}

static void open_fails(void **state)
{
    (void)state;
    problem p;
    engine_record r;
    problem_with(&p, "fail_open=1", 1);
    engine_run(&p, &plain, NULL, &r);
    assert_int_equal(r.status, RILL_ERR_IO);
    assert_non_null(strstr(r.message, "injected failure in open"));
    engine_record_clear(&r);
}

static void bad_inputs_fail_alone(void **state)
{
    (void)state;
    for (int method = 0; method < 5; method++)
        for (int bad = 0; bad < 1 << 5; bad++) {
            problem p;
            engine_record r;
            char message[400];
            problem_with(&p, "", bad & 1);
            p.n_inputs = 5;
            p.naive = (naive_problem){.expand = p.naive.expand, .k = 3};
            for (int32_t i = 0; i < 5; i++)
                if (bad >> i & 1) snprintf(p.input[i], sizeof p.input[i], "%s %d", i % 2 ? "!dead" : "!bad", (int)i);
            problem_solve(&p);
            schedule s = {.method = problem_methods(PROBLEM_PRUNED)[method], .n = 2, .refill = -1};
            engine_run(&p, &s, NULL, &r);
            if (problem_compare(&p, &s, &r, message, sizeof message))
                fail_msg("%s, bad %d: %s", s.method, bad, message);
            for (int32_t i = 0; i < 5; i += 2)
                if (bad >> i & 1) assert_non_null(strstr(r.result[i].message, "is bad"));
            engine_record_clear(&r);
            problem_clear(&p);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(injected_failures),     cmocka_unit_test(finished_results_survive),
    cmocka_unit_test(illegal_answers),       cmocka_unit_test(open_fails),
    cmocka_unit_test(bad_inputs_fail_alone), cmocka_unit_test(results_that_waited_survive),
};

HARNESS_MAIN(tests)
