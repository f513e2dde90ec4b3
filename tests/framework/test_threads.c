/* Two contexts share nothing: engines in two threads at once give what they give alone. Meant for the thread sanitizer. */
#include <pthread.h>
#include <stdio.h>

#include "support/harness.h"
#include "support/problem.h"

typedef struct worker {
    uint64_t seed;
    int64_t iterations;
    int bad;
    char message[500];
} worker;

static void *work(void *user)
{
    worker *w = user;
    for (int64_t i = 0; i < w->iterations && !w->bad; i++) {
        problem_group group = (problem_group)(i % 4);
        dice d = dice_seeded(dice_mix(w->seed, (uint64_t)i));
        problem p;
        schedule s;
        engine_record r;
        problem_draw(&p, group, &d);
        schedule_draw(&s, group, &d);
        problem_solve(&p);
        engine_run(&p, &s, NULL, &r);
        w->bad = problem_compare(&p, &s, &r, w->message, sizeof w->message);
        engine_record_clear(&r);
        problem_clear(&p);
    }
    return NULL;
}

static void two_engines(void **state)
{
    (void)state;
    worker workers[2] = {{.seed = harness_seed(1)}, {.seed = harness_seed(1) + 1}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        workers[i].iterations = harness_iterations(300);
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++)
        if (workers[i].bad) fail_msg("%s", workers[i].message);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(two_engines)};

HARNESS_MAIN(tests)
