/* The engine interface: submit, step, next as rill/engine.h shows, rill_run() with readers and writers of all kinds,
 * and engines destroyed at any moment. */
#include <stdio.h>
#include <string.h>

#include "support/harness.h"
#include "support/problem.h"

typedef struct bench {
    rill_context *ctx;
    rill_model *model;
    rill_engine *engine;
    harness_memory memory;
} bench;

static void begin(bench *b, const char *arguments, void (*change)(rill_settings *))
{
    memset(b, 0, sizeof *b);
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = arguments};
    rill_engine_setup setup;
    b->ctx = harness_begin(&b->memory);
    assert_int_equal(rill_model_open(&b->model, b->ctx, "toy", &open), RILL_OK);
    rill_engine_setup_default(&setup);
    setup.settings.k = 2;
    setup.settings.n = 2;
    if (change != NULL) change(&setup.settings);
    assert_int_equal(rill_engine_create(&b->engine, b->ctx, b->model, &setup), RILL_OK);
}

static void end(bench *b)
{
    rill_engine_destroy(b->engine);
    rill_model_close(b->model);
    harness_end(b->ctx, &b->memory);
}

/* --- submit, step, next -------------------------------------------------------------------------------------------- */

static void no_inputs(void **state)
{
    (void)state;
    bench b;
    const rill_result *result;
    begin(&b, "", NULL);
    assert_int_equal(rill_engine_step(b.engine), RILL_AGAIN);
    assert_int_equal(rill_engine_next(b.engine, &result), RILL_AGAIN);
    assert_int_equal(rill_engine_pending(b.engine), 0);
    assert_true(rill_engine_idle(b.engine));
    assert_true(rill_engine_free_slots(b.engine) > 0);
    rill_engine_close_input(b.engine);
    assert_int_equal(rill_engine_free_slots(b.engine), 0);
    assert_int_equal(rill_engine_submit(b.engine, "x", 1), RILL_AGAIN);
    assert_int_equal(rill_engine_step(b.engine), RILL_AGAIN);
    end(&b);
    rill_engine_destroy(NULL);
}

static void wide(rill_settings *s)
{
    s->n = 8;
}

static void texts_are_bytes(void **state)
{
    (void)state;
    bench b;
    const rill_result *result;
    begin(&b, "actions=3 depth=2", wide);
    char text[] = "a\0b", big[5000];
    memset(big, 'x', sizeof big);
    assert_int_equal(rill_engine_submit(b.engine, text, 3), RILL_OK);
    memset(text, 'z', sizeof text); /* the engine has its own copy */
    assert_int_equal(rill_engine_submit(b.engine, "a", 1), RILL_OK);
    assert_int_equal(rill_engine_submit(b.engine, big, sizeof big), RILL_OK);
    assert_int_equal(rill_engine_submit(b.engine, NULL, 0), RILL_OK);
    rill_engine_close_input(b.engine);
    rill_status status = RILL_OK;
    int64_t taken = 0;
    while (status == RILL_OK) {
        status = rill_engine_step(b.engine);
        while (rill_engine_next(b.engine, &result) == RILL_OK) {
            assert_int_equal(result->id, taken++);
            assert_int_equal(result->status, RILL_OK);
            assert_int_equal(strlen(rill_result_output(result, 0)->text), rill_result_output(result, 0)->text_bytes);
        }
    }
    assert_int_equal(status, RILL_AGAIN);
    assert_int_equal(taken, 4);
    assert_true(rill_engine_idle(b.engine));
    end(&b);
}

static void free_slots_can_be_filled(void **state)
{
    (void)state;
    bench b;
    const rill_result *result;
    begin(&b, "actions=3 depth=3", NULL);
    int64_t n_submitted = 0, taken = 0;
    for (int round = 0; round < 50; round++) {
        int64_t free_slots = rill_engine_free_slots(b.engine);
        for (int64_t i = 0; i < free_slots; i++)
            assert_int_equal(rill_engine_submit(b.engine, "in", 2), RILL_OK), n_submitted++;
        assert_int_equal(rill_engine_free_slots(b.engine), 0);
        assert_int_equal(rill_engine_submit(b.engine, "in", 2), RILL_AGAIN);
        assert_int_equal(rill_engine_step(b.engine), RILL_OK);
        while (rill_engine_next(b.engine, &result) == RILL_OK) assert_int_equal(result->id, taken++);
        assert_true(n_submitted - taken >= rill_engine_pending(b.engine));
    }
    assert_true(taken > 10);
    end(&b);
}

static void failed_inputs_can_be_submitted(void **state)
{
    (void)state;
    bench b;
    const rill_result *result;
    begin(&b, "actions=3 depth=3", wide);
    assert_int_equal(rill_engine_submit_failed(b.engine, RILL_ERR_INPUT, "line 1 is not text"), RILL_OK);
    assert_int_equal(rill_engine_submit(b.engine, "fine", 4), RILL_OK);
    assert_int_equal(rill_engine_submit_failed(b.engine, RILL_ERR_FORMAT, "line 3 is odd"), RILL_OK);
    rill_engine_close_input(b.engine);
    int64_t taken = 0;
    for (rill_status status = RILL_OK; status == RILL_OK;) {
        status = rill_engine_step(b.engine);
        while (rill_engine_next(b.engine, &result) == RILL_OK) {
            static const rill_status expected[] = {RILL_ERR_INPUT, RILL_OK, RILL_ERR_FORMAT};
            assert_int_equal(result->status, expected[taken]);
            if (taken == 0) assert_string_equal(result->message, "line 1 is not text");
            if (taken == 1) assert_string_equal(result->message, "");
            assert_int_equal(result->n_outputs > 0, taken == 1);
            taken++;
        }
    }
    assert_int_equal(taken, 3);
    end(&b);
}

/* A model with runners can serve several engines at once; a model without runners serves one. */
static void engines_of_a_model(void **state)
{
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        rill_context *ctx = harness_context(NULL);
        rill_open_options open = {.struct_size = sizeof open, .threads = 1};
        rill_model *model;
        rill_engine *one, *other;
        rill_engine_setup setup;
        rill_engine_setup_default(&setup);
        toy_report_reset();
        assert_int_equal(rill_model_open(&model, ctx, alone ? "toy-alone" : "toy", &open), RILL_OK);
        assert_int_equal(rill_engine_create(&one, ctx, model, &setup), RILL_OK);
        assert_int_equal(rill_engine_create(&other, ctx, model, &setup), alone ? RILL_ERR_ARGUMENT : RILL_OK);
        if (alone) assert_null(other);
        rill_engine_destroy(one);
        if (alone) assert_int_equal(rill_engine_create(&other, ctx, model, &setup), RILL_OK);
        rill_engine_destroy(other);
        rill_model_close(model);
        rill_context_destroy(ctx);
        assert_int_equal(toy_report_get()->started, alone ? 0 : 2);
        assert_int_equal(toy_report_get()->stopped, alone ? 0 : 2);
        assert_int_equal(toy_report_get()->closed, 1);
    }
}

static rill_status start_nothing(const void *model, rill_context *ctx, int threads, void **runner)
{
    (void)model, (void)ctx, (void)threads;
    *runner = NULL;
    return RILL_ERR_IO;
}

static void stop_nothing(void *runner)
{
    if (runner != NULL) fail_msg("what did not start was stopped");
}

static void runners_that_do_not_start(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    rill_open_options open = {.struct_size = sizeof open, .threads = 1};
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup setup;
    rill_domain half = toy_domain, failing = toy_domain;
    half.name = "half";
    half.stop = NULL;
    failing.name = "failing";
    failing.start = start_nothing;
    failing.stop = stop_nothing;
    rill_engine_setup_default(&setup);
    assert_int_equal(rill_register_domain(ctx, &half), RILL_OK);
    assert_int_equal(rill_register_domain(ctx, &failing), RILL_OK);
    assert_int_equal(rill_model_open(&model, ctx, "half", &open), RILL_ERR_PLUGIN);
    assert_non_null(strstr(rill_error(ctx), "stop"));
    assert_int_equal(rill_model_open(&model, ctx, "failing", &open), RILL_OK);
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_ERR_IO);
    assert_non_null(strstr(rill_error(ctx), "failing"));
    assert_null(engine);
    rill_model_close(model);
    rill_context_destroy(ctx);
}

/* Destroying an engine at any moment drops unfinished inputs. */
static void destroyed_midway(void **state)
{
    (void)state;
    for (int steps = 0; steps < 12; steps++)
        for (int path = 0; path < 2; path++) {
            bench b;
            const rill_result *result;
            begin(&b, path ? "depth=6 state=path phases=2" : "depth=6 state=parent ending=5", NULL);
            while (rill_engine_free_slots(b.engine) > 0 && rill_engine_pending(b.engine) < 20)
                assert_int_equal(rill_engine_submit(b.engine, "in", 2), RILL_OK);
            for (int i = 0; i < steps; i++) assert_true(rill_engine_step(b.engine) >= 0);
            if (steps % 2) rill_engine_next(b.engine, &result);
            end(&b);
        }
}

/* Engines may use a model one after another, in whatever state the previous engine left it. */
static void a_model_serves_again(void **state)
{
    (void)state;
    bench b;
    const rill_result *result;
    rill_engine_setup setup;
    char first[100] = "";
    begin(&b, "depth=5 state=path", NULL);
    for (int round = 0; round < 4; round++) {
        assert_int_equal(rill_engine_submit(b.engine, "in", 2), RILL_OK);
        rill_engine_close_input(b.engine);
        int steps = 0, max_steps = round % 2 ? 2 : 1000; /* every other one is destroyed unfinished */
        while (steps++ < max_steps && rill_engine_step(b.engine) == RILL_OK) continue;
        if (max_steps == 1000) {
            assert_int_equal(rill_engine_next(b.engine, &result), RILL_OK);
            if (round == 0) snprintf(first, sizeof first, "%s", rill_result_output(result, 0)->text);
            assert_string_equal(rill_result_output(result, 0)->text, first);
        }
        rill_engine_destroy(b.engine);
        rill_engine_setup_default(&setup);
        setup.settings.k = setup.settings.n = 2;
        assert_int_equal(rill_engine_create(&b.engine, b.ctx, b.model, &setup), RILL_OK);
    }
    end(&b);
}

static void settings_are_shown(void **state)
{
    (void)state;
    bench b;
    begin(&b, "", NULL);
    const rill_settings *s = rill_engine_settings(b.engine);
    assert_string_equal(s->method, "stream-all");
    assert_int_equal(s->k, 2);
    assert_int_equal(s->max_items, 2);
    assert_int_equal(s->max_candidates, 2);
    rill_engine_setup setup;
    rill_engine *other;
    rill_engine_setup_default(&setup);
    rill_engine_destroy(b.engine);
    b.engine = NULL;
    rill_chain_entry wrong = {"absolut", "1"};
    setup.heuristics = &wrong;
    setup.n_heuristics = 1;
    assert_int_equal(rill_engine_create(&other, b.ctx, b.model, &setup), RILL_ERR_NOT_FOUND);
    assert_non_null(strstr(rill_error(b.ctx), "absolut"));
    assert_null(other);
    wrong = (rill_chain_entry){"absolute", "much"};
    assert_int_equal(rill_engine_create(&other, b.ctx, b.model, &setup), RILL_ERR_OPTION);
    assert_non_null(strstr(rill_error(b.ctx), "much"));
    setup.n_heuristics = 0;
    static const char *const no_rewards[] = {"", "much", "0.5x", "inf", "nan"};
    setup.scorers = &wrong;
    setup.n_scorers = 1;
    for (size_t i = 0; i < sizeof no_rewards / sizeof *no_rewards; i++) {
        wrong = (rill_chain_entry){"word_reward", no_rewards[i]};
        assert_int_equal(rill_engine_create(&other, b.ctx, b.model, &setup), RILL_ERR_OPTION);
        assert_non_null(strstr(rill_error(b.ctx), no_rewards[i]));
    }
    setup.n_scorers = 0;
    setup.struct_size = 3;
    assert_true(rill_engine_create(&other, b.ctx, b.model, &setup) < 0);
    end(&b);
}

/* A scorer that knows the name of an action. It looks the name up in the model, which it gets through the rows. */
static rill_status ban_a1(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    (void)self;
    int32_t action = rill_model_find_action(rows->model, "a1", 2);
    if (action == RILL_NO_ACTION || rill_model_info(rows->model)->actions != rows->info->actions)
        return RILL_ERR_ARGUMENT;
    for (int32_t i = 0; i < rows->n; i++) {
        rill_status status = rill_modifiers_ban(modifiers, i, action);
        if (status < 0) return status;
    }
    return RILL_OK;
}

static void scorers_know_names(void **state)
{
    (void)state;
    static const rill_scorer by_name = {RILL_ABI_VERSION, sizeof by_name, "by-name",       "", "a test", NULL,
                                        ban_a1,           NULL,           .state_bytes = 0};
    rill_chain_entry entry = {"by-name", NULL};
    rill_engine_setup setup;
    const rill_result *result;
    bench b;
    int seen[2] = {0};
    begin(&b, "actions=3 depth=6 terminal=last seed=4", NULL);
    assert_int_equal(rill_register_scorer(b.ctx, &by_name), RILL_OK);
    for (int banned = 0; banned < 2; banned++) {
        rill_engine_destroy(b.engine);
        rill_engine_setup_default(&setup);
        setup.settings.n_best = 10;
        setup.scorers = &entry;
        setup.n_scorers = banned;
        assert_int_equal(rill_engine_create(&b.engine, b.ctx, b.model, &setup), RILL_OK);
        assert_int_equal(rill_engine_submit(b.engine, "in", 2), RILL_OK);
        rill_engine_close_input(b.engine);
        while (rill_engine_step(b.engine) == RILL_OK) continue;
        assert_int_equal(rill_engine_next(b.engine, &result), RILL_OK);
        assert_true(result->n_outputs > 0);
        for (int32_t i = 0; i < result->n_outputs; i++)
            seen[banned] += strchr(rill_result_output(result, i)->text, '1') != NULL;
    }
    assert_true(seen[0] > 0);
    assert_int_equal(seen[1], 0);
    end(&b);
}

/* The toy domain with another text: the number of times action 0 occurs, so many hypotheses share a text. Field 0 is
 * the toy domain's own text. */
static rill_status count_zeros(void *self, const rill_hypothesis *h, rill_text *out)
{
    int32_t zeros = 0;
    (void)self;
    for (int32_t i = 0; i < h->length; i++) zeros += h->action[i] == 0;
    return rill_text_printf(out, "%d", (int)zeros);
}

static rill_status whole_text(void *self, const char *field, const rill_hypothesis *h, rill_text *out)
{
    (void)field;
    return out != NULL ? toy_domain.finalize(self, h, out) : RILL_OK;
}

typedef struct listed {
    int32_t n;
    char text[64][16], field[64][128];
} listed;

/* List the outputs of one input. */
static void list_outputs(rill_context *ctx, rill_model *model, int distinct, int32_t n_best, listed *list)
{
    static const char *const fields[] = {"whole"};
    rill_engine *engine;
    const rill_result *result;
    rill_engine_setup setup;
    rill_engine_setup_default(&setup);
    setup.settings.k = 64;
    setup.settings.n_best = n_best;
    setup.settings.distinct = distinct;
    setup.fields = fields;
    setup.n_fields = 1;
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    assert_int_equal(rill_engine_submit(engine, "in", 2), RILL_OK);
    rill_engine_close_input(engine);
    while (rill_engine_step(engine) == RILL_OK) continue;
    assert_int_equal(rill_engine_next(engine, &result), RILL_OK);
    assert_true(result->n_outputs <= result->outputs_found && result->n_outputs <= 64);
    for (list->n = 0; list->n < result->n_outputs; list->n++) {
        snprintf(list->text[list->n], sizeof list->text[0], "%s", rill_result_output(result, list->n)->text);
        snprintf(list->field[list->n], sizeof list->field[0], "%s",
                 rill_output_field(rill_result_output(result, list->n), 0));
    }
    rill_engine_destroy(engine);
}

/* Remove outputs whose text has occurred before, as `distinct` must. */
static void remove_repeats(listed *list)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < list->n; i++) {
        int32_t same = 0;
        while (same < kept && strcmp(list->text[same], list->text[i]) != 0) same++;
        if (same < kept) continue;
        memmove(list->text[kept], list->text[i], sizeof list->text[0]);
        memmove(list->field[kept++], list->field[i], sizeof list->field[0]);
    }
    list->n = kept;
}

static void repeated_texts_are_left_out(void **state)
{
    (void)state;
    static listed all, distinct;
    rill_open_options open = {
        .struct_size = sizeof open, .threads = 1, .arguments = "actions=3 depth=5 terminal=last seed=4"};
    rill_domain counting = toy_domain;
    counting.name = "counting";
    counting.finalize = count_zeros;
    counting.field = whole_text;
    rill_context *ctx = harness_context(NULL);
    rill_model *model;
    toy_report_reset();
    assert_int_equal(rill_register_domain(ctx, &counting), RILL_OK);
    assert_int_equal(rill_model_open(&model, ctx, "counting", &open), RILL_OK);
    list_outputs(ctx, model, 0, 64, &all);
    int32_t found = all.n;
    remove_repeats(&all);
    assert_true(all.n > 2 && all.n < found);
    for (int32_t n_best = 1; n_best <= 64; n_best++) {
        list_outputs(ctx, model, 1, n_best, &distinct);
        assert_int_equal(distinct.n, n_best < all.n ? n_best : all.n);
        for (int32_t i = 0; i < distinct.n; i++) {
            assert_string_equal(distinct.text[i], all.text[i]);
            assert_string_equal(distinct.field[i], all.field[i]);
        }
    }
    rill_model_close(model);
    rill_context_destroy(ctx);
}

/* A caller compiled before members were appended gets the members it knows, and nothing past them is written. */
static void statistics_for_old_callers(void **state)
{
    (void)state;
    bench b;
    rill_stats all;
    begin(&b, "", NULL);
    memset(&all, 0x5a, sizeof all);
    all.struct_size = offsetof(rill_stats, timesteps);
    rill_engine_stats(b.engine, &all);
    assert_int_equal(all.inputs, 0);
    assert_int_equal(all.failed, 0);
    assert_int_equal(all.timesteps, 0x5a5a5a5a5a5a5a5a);
    end(&b);
}

/* --- rill_run ------------------------------------------------------------------------------------------------------- */

typedef struct script {
    const char *turns; /* i: an input, b: an invalid one, a: none available, x: a failure; then the end */
    int64_t taken, stop_id;
    int blocked; /* calls in which the reader was allowed to block but returned "none available" */
} script;

static rill_status read_script(void *user, int may_block, const char **text, size_t *length)
{
    script *s = user;
    while (*s->turns == 'a') {
        s->turns++;
        if (!may_block) return RILL_AGAIN;
        s->blocked++; /* a real reader would block here until an input comes */
    }
    *text = "in";
    *length = 2;
    switch (*s->turns == '\0' ? '\0' : *s->turns++) {
    case 'i': return RILL_OK;
    case 'b': return *text = "this line is bad", *length = strlen(*text), RILL_ERR_INPUT;
    case 'x': return RILL_ERR_IO;
    default: return RILL_END_OF_INPUT;
    }
}

static rill_status write_script(void *user, const rill_result *result)
{
    script *s = user;
    assert_int_equal(result->id, s->taken);
    if (result->status == RILL_ERR_INPUT) assert_string_equal(result->message, "this line is bad");
    return ++s->taken == s->stop_id ? RILL_ERR_STOPPED : RILL_OK;
}

static rill_status write_and_count(void *user, const rill_result *result)
{
    (void)result;
    ((script *)user)->taken++;
    return RILL_OK;
}

static rill_status run_script(const char *turns, int64_t stop_id, int64_t *taken)
{
    bench b;
    begin(&b, "actions=4 depth=3", NULL);
    script s = {.turns = turns, .stop_id = stop_id};
    rill_status status = rill_run(b.engine, read_script, &s, write_script, &s);
    *taken = s.taken;
    end(&b);
    return status;
}

static void readers_and_writers(void **state)
{
    (void)state;
    int64_t taken;
    assert_int_equal(run_script("", 0, &taken), RILL_OK);
    assert_int_equal(taken, 0);
    assert_int_equal(run_script("iiiiiiiiii", 0, &taken), RILL_OK);
    assert_int_equal(taken, 10);
    assert_int_equal(run_script("aiaaiaaaaiaaaaaaaaaaaaaaaaia", 0, &taken), RILL_OK);
    assert_int_equal(taken, 4);
    assert_int_equal(run_script("ibbiaabib", 0, &taken), RILL_OK);
    assert_int_equal(taken, 7);
    assert_int_equal(run_script("bbbb", 0, &taken), RILL_OK);
    assert_int_equal(taken, 4);
    assert_int_equal(run_script("iiiiii", 3, &taken), RILL_ERR_STOPPED);
    assert_int_equal(taken, 3);
    assert_int_equal(run_script("iiix", 0, &taken), RILL_ERR_IO);
    assert_int_equal(taken, 3); /* the inputs read before the failure are decoded and written */
    assert_int_equal(run_script("x", 0, &taken), RILL_ERR_IO);
    assert_int_equal(taken, 0);
}

/* An error recorded by the writer does not replace the message of the run. */
static rill_status write_and_fail(void *user, const rill_result *result)
{
    bench *b = user;
    assert_int_equal(result->status, RILL_OK);
    rill_fail(b->ctx, RILL_ERR_NOT_FOUND, "something the writer got over");
    return RILL_OK;
}

static void writer_keeps_the_error(void **state)
{
    (void)state;
    bench b;
    begin(&b, "actions=4 depth=3 fail_finalize=3", NULL);
    script s = {.turns = "iiiiiiiiii"};
    assert_int_equal(rill_run(b.engine, read_script, &s, write_and_fail, &b), RILL_ERR_IO);
    assert_non_null(strstr(rill_error(b.ctx), "injected failure in call 3 of finalize"));
    assert_int_equal(rill_error_status(b.ctx), RILL_ERR_IO);
    end(&b);
}

/* A run on an engine that has failed takes no input from the reader. */
static void failed_engines_read_nothing(void **state)
{
    (void)state;
    bench b;
    begin(&b, "actions=4 depth=3 fail_encode=1", NULL);
    script first = {.turns = "iiii"}, second = {.turns = "iiii"};
    assert_int_equal(rill_run(b.engine, read_script, &first, write_script, &first), RILL_ERR_IO);
    assert_int_equal(rill_run(b.engine, read_script, &second, write_script, &second), RILL_ERR_IO);
    assert_string_equal(second.turns, "iiii");
    end(&b);
}

static int32_t few_nodes;

static void tight(rill_settings *s)
{
    s->k = 8;
    s->max_items = 2;
    s->max_nodes = few_nodes;
}

/* Inputs whose states do not fit in memory, while an allocation fails. end() finds leaks. */
static void tight_states_without_memory(void **state)
{
    (void)state;
    int refused = 1;
    for (few_nodes = 8; few_nodes <= 16; few_nodes += 4)
        for (int64_t n = 1; n == 1 || refused; n++) {
            bench b;
            begin(&b, "seed=5 depth=6 actions=4 ending=5 legal=95", tight);
            script s = {.turns = "iiiiii"};
            b.memory.failing_request = b.memory.requests + n;
            const rill_status status = rill_run(b.engine, read_script, &s, write_and_count, &s);
            refused = b.memory.refused > 0;
            b.memory.failing_request = 0;
            assert_true(status == RILL_OK || status == RILL_ERR_MEMORY);
            end(&b);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_inputs),
    cmocka_unit_test(failed_engines_read_nothing),
    cmocka_unit_test(tight_states_without_memory),
    cmocka_unit_test(texts_are_bytes),
    cmocka_unit_test(free_slots_can_be_filled),
    cmocka_unit_test(failed_inputs_can_be_submitted),
    cmocka_unit_test(destroyed_midway),
    cmocka_unit_test(engines_of_a_model),
    cmocka_unit_test(runners_that_do_not_start),
    cmocka_unit_test(settings_are_shown),
    cmocka_unit_test(a_model_serves_again),
    cmocka_unit_test(statistics_for_old_callers),
    cmocka_unit_test(writer_keeps_the_error),
    cmocka_unit_test(readers_and_writers),
    cmocka_unit_test(scorers_know_names),
    cmocka_unit_test(repeated_texts_are_left_out),
};

HARNESS_MAIN(tests)
