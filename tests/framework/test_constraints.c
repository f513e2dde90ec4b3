/* Constraints, repetition and given outputs against the naive search, on random problems under random schedules: same outputs, same
 * scores to the last bit. And what is said of inputs that they leave nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"

static void constrained(problem_group group, int64_t iterations, int conventions)
{
    uint64_t first = harness_seed(1);
    int bad = 0;
    int64_t outputs = 0, none = 0, of_kind[TEST_PHRASE_KINDS] = {0};
    for (int64_t i = 0; i < harness_iterations(iterations) && bad < 5; i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 91 + (uint64_t)group));
        problem p;
        problem_draw(&p, group, &d);
        if (conventions) problem_draw_conventions(&p, group, &d);
        problem_draw_constraints(&p, &d);
        problem_solve(&p);
        for (int32_t j = 0; j < p.n_scorers; j++)
            if (p.phrases[j].n > 0) of_kind[p.phrases[j].kind]++;
        for (int32_t j = 0; j < p.n_inputs; j++) {
            outputs += p.expected[j].n;
            none += p.expected[j].n == 0;
        }
        for (int j = 0; j < 2; j++) {
            schedule s;
            schedule_draw(&s, group, &d);
            bad += problem_differs(&p, &s, seed, bad >= 5, NULL);
        }
        problem_clear(&p);
    }
    assert_int_equal(bad, 0);
    for (int kind = 0; kind < TEST_PHRASE_KINDS; kind++) HARNESS_SEEN(of_kind[kind] > 0);
    HARNESS_SEEN(outputs > 0 && none > 0);
}

static void pruned(void **state)
{
    (void)state;
    constrained(PROBLEM_PRUNED, 2500, 0);
}

static void fixed_top(void **state)
{
    (void)state;
    constrained(PROBLEM_FIXED_TOP, 800, 0);
}

static void fixed(void **state)
{
    (void)state;
    constrained(PROBLEM_FIXED, 800, 0);
}

static void greedy(void **state)
{
    (void)state;
    constrained(PROBLEM_GREEDY, 400, 0);
}

static void conventions(void **state)
{
    (void)state;
    constrained(PROBLEM_PRUNED, 1500, 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(pruned), cmocka_unit_test(fixed_top),   cmocka_unit_test(fixed),
    cmocka_unit_test(greedy), cmocka_unit_test(conventions),
};

HARNESS_MAIN(tests)
