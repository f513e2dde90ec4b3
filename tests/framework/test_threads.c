/* Two contexts share nothing; two engines on one model share only the model. In two threads at once they must give the
 * same results as alone. Meant for the thread sanitizer. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

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

/* --- one model ---------------------------------------------------------------------------------------------------- */

enum { INPUTS = 12, TEXT_MAX = 64 };

typedef struct sharer {
    rill_context *ctx;
    rill_model *model;
    int rounds;
    char text[INPUTS][TEXT_MAX];
    rill_status status;
} sharer;

static rill_status decode_once(sharer *s, int round)
{
    rill_engine *engine;
    rill_engine_setup setup;
    const rill_result *result;
    char input[16];
    rill_engine_setup_default(&setup);
    setup.settings.k = 3;
    setup.settings.n = 2 + round % 3;
    setup.settings.max_items = INPUTS;
    rill_status status = rill_engine_create(&engine, s->ctx, s->model, &setup);
    for (int i = 0; i < INPUTS && status == RILL_OK; i++)
        status = rill_engine_submit(engine, input, (size_t)snprintf(input, sizeof input, "in %d", i));
    while (status == RILL_OK) status = rill_engine_step(engine);
    while (status == RILL_AGAIN && rill_engine_next(engine, &result) == RILL_OK) {
        char text[TEXT_MAX], name[8] = "";
        rill_text action = {.ctx = s->ctx};
        if (rill_model_action_name(s->model, 1, &action) == RILL_OK) memcpy(name, action.data, action.length + 1);
        rill_text_clear(&action);
        snprintf(text, sizeof text, "%.30s %s %d %.6g", rill_result_output(result, 0)->text, name,
                 (int)rill_model_find_action(s->model, "a2", 2), rill_result_output(result, 0)->path_score);
        if (round > 0 && strcmp(text, s->text[result->id]) != 0) status = RILL_ERR_INPUT;
        memcpy(s->text[result->id], text, sizeof text);
    }
    rill_engine_destroy(engine);
    return status == RILL_AGAIN ? RILL_OK : status;
}

static void *decode_shared(void *user)
{
    sharer *s = user;
    for (int round = 0; round < s->rounds && s->status == RILL_OK; round++) s->status = decode_once(s, round);
    return NULL;
}

static void two_engines_on_one_model(void **state)
{
    (void)state;
    static sharer sharers[2];
    harness_memory memory;
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = "depth=9 actions=6"};
    rill_context *ctx = harness_begin(&memory);
    rill_model *model;
    pthread_t threads[2];
    assert_int_equal(rill_model_open(&model, ctx, "toy", &open), RILL_OK);
    for (int i = 0; i < 2; i++) {
        sharers[i] = (sharer){.model = model, .rounds = (int)harness_iterations(40)};
        assert_int_equal(rill_context_create_worker(&sharers[i].ctx, ctx, NULL), RILL_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, decode_shared, &sharers[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        if (sharers[i].status != RILL_OK) fail_msg("%s", rill_error(sharers[i].ctx));
        assert_int_equal(rill_memory_used(sharers[i].ctx) > 0, 1); /* the tables of this context use memory */
        rill_context_destroy(sharers[i].ctx);
    }
    for (int i = 0; i < INPUTS; i++) assert_string_equal(sharers[0].text[i], sharers[1].text[i]);
    rill_model_close(model);
    assert_true(rill_memory_used(ctx) > 0);
    assert_int_equal(rill_error(ctx)[0], '\0');
    harness_end(ctx, &memory);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(two_engines), cmocka_unit_test(two_engines_on_one_model)};

HARNESS_MAIN(tests)
