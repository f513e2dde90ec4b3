/* Two contexts share nothing, scripts included. Engines with Lua heuristics, scorers and schedulers in two threads at
 * once have the same results as the C plugins alone. Meant for the thread sanitizer. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "scripted.h"

static const char text[] =
    "rill.heuristic{ name = 'lua-absolute', arguments = 'DELTA', create = tonumber,\n"
    "  apply = function(b, delta) b.keep = b.path_score:ge(b.best - delta) end }\n"
    "rill.scorer{ name = 'lua-word_reward', arguments = 'W', create = tonumber,\n"
    "  score = function(rows, w) rows:reward(nil, w) end }\n"
    "rill.scheduler{ name = 'mine', choose = function(f) return f.width:order('descending') end }\n";

typedef struct worker {
    uint64_t seed;
    int64_t iterations, done;
    int bad;
    char message[1500];
} worker;

/* Rename the problem's chain entries to those of the script; return 1 if all have a counterpart. */
static int rename_chains(problem *p)
{
    for (int32_t i = 0; i < p->n_heuristics; i++) {
        if (strcmp(p->heuristic[i].name, "absolute") != 0) return 0;
        snprintf(p->heuristic[i].name, sizeof p->heuristic[i].name, "lua-absolute");
    }
    for (int32_t i = 0; i < p->n_scorers; i++) {
        if (strcmp(p->scorer[i].name, "word_reward") != 0) return 0;
        snprintf(p->scorer[i].name, sizeof p->scorer[i].name, "lua-word_reward");
    }
    return p->n_heuristics > 0;
}

static void *work(void *user)
{
    worker *w = user;
    for (int64_t i = 0; w->done < w->iterations && !w->bad; i++) {
        dice d = dice_seeded(dice_mix(w->seed, (uint64_t)i));
        problem p;
        schedule s;
        engine_record r;
        problem_draw(&p, PROBLEM_PRUNED, &d);
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        if (!rename_chains(&p)) continue;
        w->done++;
        s.scheduler = "mine";
        s.scheduler_arguments = "";
        problem_solve(&p);
        scripted_run(text, NULL, &p, &s, NULL, &r);
        w->bad = problem_compare(&p, &s, &r, w->message, sizeof w->message);
        engine_record_clear(&r);
        problem_clear(&p);
    }
    return NULL;
}

static void two_scripts(void **state)
{
    (void)state;
    worker workers[2] = {{.seed = harness_seed(1)}, {.seed = harness_seed(1) + 1}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        workers[i].iterations = harness_iterations(150);
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++)
        if (workers[i].bad) fail_msg("%s", workers[i].message);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(two_scripts)};

HARNESS_MAIN(tests)
