/* Cube pruning against the naive search's, on random problems: same outputs and scores to the last bit under every method and
 * schedule, with workers and with a domain that answers later; and what it is by its definition. */
#include <stdio.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"

/* What is alike by a function of the user's. */
static int64_t naive_key(int32_t last_action)
{
    return last_action / 2;
}

static rill_status engine_key(void *user, const rill_scorer_rows *rows, int64_t *key)
{
    (void)user;
    for (int32_t i = 0; i < rows->n; i++) key[i] = naive_key(rows->histories[rows->history[i]].action);
    return RILL_OK;
}

static void draw_cube(problem *p, int cube, dice *d)
{
    p->settings.cube = p->naive.cube = cube;
    if (dice_chance(d, 40)) {
        p->cube_key = engine_key;
        p->naive.key = naive_key;
    }
    const size_t length = strlen(p->arguments);
    char message[128];
    snprintf(p->arguments + length, sizeof p->arguments - length, " mixed=%d",
             cube == RILL_CUBE_NAIVE ? 0
             : p->cube_key != NULL   ? 2
                                     : 1);
    assert_int_equal(toy_model_parse(&p->model, p->arguments, message, sizeof message), RILL_OK);
}

static void search_group(problem_group group, int cube, int64_t iterations)
{
    const uint64_t first = harness_seed(1);
    int64_t shared = 0, rescored = 0;
    int bad = 0;
    for (int64_t i = 0; i < harness_iterations(iterations) && bad < 5; i++) {
        const uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, (uint64_t)(100 + 10 * cube + (int)group)));
        problem p;
        problem_draw(&p, group, &d);
        if (dice_chance(&d, 50)) problem_draw_conventions(&p, group, &d);
        draw_cube(&p, cube, &d);
        problem_solve(&p);
        for (int j = 0; j < 3 && bad < 5; j++) {
            schedule s;
            rill_stats stats;
            schedule_draw(&s, group, &d);
            if (j == 1 && dice_chance(&d, 50)) s.late = 1 + dice_range(&d, 1, 4);
            if (j == 2 && dice_chance(&d, 30)) s.workers = dice_range(&d, 2, 3);
            bad += problem_differs(&p, &s, seed, 0, &stats);
            shared += stats.cube_hypotheses - stats.cube_classes;
            rescored += stats.cube_rescored;
        }
        problem_clear(&p);
    }
    assert_int_equal(bad, 0);
    HARNESS_SEEN(shared > 0);
    HARNESS_SEEN((rescored > 0) == (cube == RILL_CUBE_NAIVE));
}

static void naive(void **state)
{
    (void)state;
    search_group(PROBLEM_PRUNED, RILL_CUBE_NAIVE, 1200);
    search_group(PROBLEM_FIXED_TOP, RILL_CUBE_NAIVE, 300);
    search_group(PROBLEM_FIXED, RILL_CUBE_NAIVE, 300);
}

static void accelerated(void **state)
{
    (void)state;
    search_group(PROBLEM_PRUNED, RILL_CUBE_ACCELERATED, 1200);
    search_group(PROBLEM_FIXED_TOP, RILL_CUBE_ACCELERATED, 300);
    search_group(PROBLEM_FIXED, RILL_CUBE_ACCELERATED, 300);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(naive),
    cmocka_unit_test(accelerated),
};

HARNESS_MAIN(tests)
