/* An invalid request fails only its own input, with a message. Other inputs have the same results as without it, and
 * the run continues. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rill/constraints.h"
#include "rill/run.h"
#include "rill/workers.h"
#include "support/async_domain.h"
#include "support/harness.h"
#include "support/tables.h"
#include "support/toy_domain.h"

enum { INPUTS = 5 };
static const char MODEL[] = "seed=3 actions=9 depth=5 legal=100 ending=20";

typedef struct answer {
    rill_status status;
    int32_t n, timed_out;
    double score;
    char text[120], message[300];
} answer;

/* Inputs 1 and 3 have request options, the others none. */
typedef struct bench {
    rill_context *ctx;
    rill_model *model;
    rill_engine_setup setup;
    rill_chain_entry scorer[2], heuristic;
    const char *request_arguments[2]; /* scorer arguments of the inputs with requests */
    const char *request_heuristic;    /* heuristic of the request; NULL: that of the engine setup */
    rill_settings settings;
    rill_status status;
    answer answer[INPUTS], plain_answer[INPUTS];
    harness_memory memory;
} bench;

static void open_bench(bench *b)
{
    memset(b, 0, sizeof *b);
    const rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = MODEL};
    rill_engine_setup_default(&b->setup);
    b->setup.settings.k = 3;
    b->setup.settings.n = INPUTS;
    b->settings = b->setup.settings;
    b->ctx = harness_begin(&b->memory);
    assert_int_equal(rill_model_open(&b->model, b->ctx, "toy", &open), RILL_OK);
}

static void close_bench(bench *b)
{
    rill_model_close(b->model);
    harness_end(b->ctx, &b->memory);
}

static void use_scorer(bench *b, const char *name, const char *arguments)
{
    b->scorer[b->setup.n_scorers++] = (rill_chain_entry){name, arguments};
    b->setup.scorers = b->scorer;
}

static void take_results(bench *b, rill_engine *engine)
{
    for (const rill_result *r; rill_engine_next(engine, &r) == RILL_OK;) {
        answer *a = &b->answer[r->id];
        *a = (answer){.status = r->status, .n = r->n_outputs, .timed_out = r->timed_out};
        if (r->n_outputs > 0) a->score = rill_result_output(r, 0)->path_score;
        if (r->n_outputs > 0) snprintf(a->text, sizeof a->text, "%s", rill_result_output(r, 0)->text);
        snprintf(a->message, sizeof a->message, "%s", r->message);
    }
}

/* Decode the inputs; if `some`, inputs 1 and 3 are requests with options of their own. */
static void decode(bench *b, int some)
{
    rill_engine *engine;
    char text[20];
    assert_int_equal(rill_engine_create(&engine, b->ctx, b->model, &b->setup), RILL_OK);
    memcpy(b->plain_answer, b->answer, sizeof b->plain_answer);
    memset(b->answer, 0, sizeof b->answer);
    for (int32_t i = 0; i < INPUTS; i++) {
        rill_request r = {.struct_size = sizeof r, .text = text};
        r.length = (size_t)snprintf(text, sizeof text, "in %d", (int)i);
        if (some && i % 2 == 1) {
            r.settings = &b->settings;
            if (b->setup.n_scorers > 0) r.scorers = b->request_arguments;
            if (b->request_heuristic != NULL) r.heuristics = &b->request_heuristic;
        }
        assert_int_equal(rill_engine_submit_request(engine, &r, NULL), RILL_OK);
    }
    rill_engine_close_input(engine);
    while ((b->status = rill_engine_step(engine)) == RILL_OK) take_results(b, engine);
    take_results(b, engine);
    rill_engine_destroy(engine);
}

/* Every second input from `first` on has failed with this status and message; all others are unchanged. */
static void expect_failed_alone(bench *b, rill_status status, const char *word)
{
    decode(b, 0);
    assert_int_equal(b->status, RILL_AGAIN);
    decode(b, 1);
    assert_int_equal(b->status, RILL_AGAIN);
    for (int32_t i = 0; i < INPUTS; i++) {
        const answer *a = &b->answer[i];
        if (i % 2 == 1) {
            if (a->status != status) fail_msg("%d: %s", (int)a->status, a->message);
            if (strstr(a->message, word) == NULL) fail_msg("\"%s\" in: %s", word, a->message);
            continue;
        }
        assert_int_equal(a->status, RILL_OK);
        assert_string_equal(a->text, b->plain_answer[i].text);
        assert_true(a->score == b->plain_answer[i].score);
    }
}

/* --- invalid combinations ----------------------------------------------------------------------------------------- */

static void banks_exclude_other_beams(void **state)
{
    (void)state;
    static const char *const settings[][3] = {{"sample", "3", "sampling cannot be combined"},
                                              {"groups", "2", "diverse beam search cannot be combined"},
                                              {"cube", "naive", "cube pruning cannot be combined"}};
    for (size_t i = 0; i < 3; i++) {
        bench b;
        open_bench(&b);
        use_scorer(&b, "require", "");
        b.request_arguments[0] = "a3";
        rill_settings_default(&b.settings);
        assert_int_equal(rill_settings_set(b.ctx, &b.settings, settings[i][0], settings[i][1]), RILL_OK);
        expect_failed_alone(&b, RILL_ERR_OPTION, settings[i][2]);
        close_bench(&b);
    }
}

/* --- scorers ------------------------------------------------------------------------------------------------------ */

typedef struct scripted_scorer {
    rill_context *ctx;
    char behaviour;
} scripted_scorer;

static rill_status create_scripted(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)table;
    scripted_scorer *m = malloc(sizeof *m);
    assert_non_null(m);
    *m = (scripted_scorer){ctx, arguments[0]};
    *self = m;
    return RILL_OK;
}

/* The scorer's argument decides what it does. f: fail in the second timestep. 3: fail, naming input 3 only. b: divide
 * banks twice. d: the same with different numbers. w: name an action that does not exist. */
static rill_status score_scripted(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    const scripted_scorer *m = self;
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < rows->n && status >= 0; i++) {
        if (m->behaviour == 'f' && rows->timestep[i] == 1) return rill_fail(m->ctx, RILL_ERR_FORMAT, "a bad mood");
        if (m->behaviour == '3' && rows->item_id[i] == 3) return rill_fail(m->ctx, RILL_ERR_INPUT, "not that one");
        if (m->behaviour == 'm') return rill_fail(m->ctx, RILL_ERR_MEMORY, "no memory");
        if (m->behaviour == 'w') status = rill_modifiers_ban(modifiers, i, 1000);
        if (m->behaviour == 'd') status = rill_modifiers_divide_banks(modifiers, i, 200 - rows->rank[i], 150);
        if (m->behaviour == 'b') status = rill_modifiers_divide_banks(modifiers, i, RILL_MAX_BANKS, 0);
        for (int32_t times = 0; m->behaviour == 'b' && times < 8 && status >= 0; times++)
            status = rill_modifiers_assign_bank(modifiers, i, 1, times == 7 ? 1 : RILL_MAX_BANKS - 1);
    }
    return status;
}

static const rill_scorer scripted_scorer_table = TEST_SCORER("moody", .create = create_scripted,
                                                             .score = score_scripted, .destroy = free);

static void open_scripted(bench *b, const char *own, const char *wanted)
{
    open_bench(b);
    assert_int_equal(rill_register_scorer(b->ctx, &scripted_scorer_table), RILL_OK);
    use_scorer(b, "moody", own);
    b->request_arguments[0] = wanted;
}

static void scorers_fail_requests(void **state)
{
    (void)state;
    static const char *const moods[][2] = {
        {"f", "a bad mood"}, {"w", ": action 1000 does not exist: there are "}, {"d", "different numbers of banks"}};
    for (size_t i = 0; i < 3; i++) {
        bench b;
        open_scripted(&b, "", moods[i][0]);
        expect_failed_alone(&b, i == 0 ? RILL_ERR_FORMAT : RILL_ERR_PLUGIN, moods[i][1]);
        close_bench(&b);
    }
}

/* Two inputs share a scorer instance. An error that the scorer reports about one input fails that input only. */
static void shared_scorer_fails_one_input(void **state)
{
    (void)state;
    bench b;
    open_scripted(&b, "", "3");
    decode(&b, 0);
    decode(&b, 1);
    assert_int_equal(b.status, RILL_AGAIN);
    for (int32_t i = 0; i < INPUTS; i++) {
        assert_int_equal(b.answer[i].status, i == 3 ? RILL_ERR_INPUT : RILL_OK);
        assert_string_equal(i == 3 ? b.answer[i].message : b.answer[i].text,
                            i == 3 ? "not that one" : b.plain_answer[i].text);
    }
    close_bench(&b);
}

/* Errors of the whole run end it: invalid arguments in the engine setup, and lack of memory. */
static void errors_that_end_the_run(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        bench b;
        open_scripted(&b, own ? "f" : "", own ? "f" : "m");
        decode(&b, 1);
        assert_int_equal(b.status, own ? RILL_ERR_FORMAT : RILL_ERR_MEMORY);
        close_bench(&b);
    }
}

/* Of several calls that divide a bank, the last one counts. */
static void last_bank_call_wins(void **state)
{
    (void)state;
    bench b;
    open_scripted(&b, "", "b");
    decode(&b, 0);
    decode(&b, 1);
    assert_int_equal(b.status, RILL_AGAIN);
    for (int32_t i = 0; i < INPUTS; i++) assert_int_equal(b.answer[i].status, RILL_OK);
    close_bench(&b);
}

static void scores_beyond_all_numbers(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    use_scorer(&b, "word_reward", "0");
    use_scorer(&b, "word_reward", "0");
    b.request_arguments[0] = b.request_arguments[1] = "3e38";
    expect_failed_alone(&b, RILL_ERR_PLUGIN, " is infinite or NaN");
    close_bench(&b);
}

static rill_status write_bytes(void *user, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, user) == n ? RILL_OK : RILL_ERR_IO;
}

static void trie_of_another_model(void **state)
{
    (void)state;
    char path[] = "/tmp/rill-test-XXXXXX";
    bench b;
    rill_trie *trie;
    const int32_t sequence[] = {1, 2};
    const int file = mkstemp(path);
    assert_true(file >= 0);
    FILE *out = fdopen(file, "wb");
    open_bench(&b);
    assert_int_equal(rill_trie_create(&trie, b.ctx, 1000), RILL_OK);
    assert_int_equal(rill_trie_add(trie, sequence, 2), RILL_OK);
    assert_int_equal(rill_trie_write(trie, write_bytes, out), RILL_OK);
    rill_trie_free(trie);
    assert_int_equal(fclose(out), 0);
    use_scorer(&b, "trie", "");
    b.request_arguments[0] = path;
    expect_failed_alone(&b, RILL_ERR_OPTION,
                        "trie: the file was made for a model with 1000 actions, and this model has ");
    close_bench(&b);
    unlink(path);
}

/* --- heuristics --------------------------------------------------------------------------------------------------- */

static rill_status create_scripted_heuristic(const rill_heuristic *table, rill_context *ctx, const char *arguments,
                                             void **self)
{
    return create_scripted((const rill_scorer *)(const void *)table, ctx, arguments, self);
}

static rill_status apply_scripted(void *self, rill_candidates *candidates)
{
    const scripted_scorer *m = self;
    for (int32_t i = 0; i < candidates->n; i++)
        if (m->behaviour == 'f' && candidates->timestep[i] == 1) return rill_fail(m->ctx, RILL_ERR_FORMAT, "it broke");
    return RILL_OK;
}

static const rill_heuristic scripted_heuristic = TEST_HEURISTIC("fragile", .create = create_scripted_heuristic,
                                                                .apply = apply_scripted, .destroy = free);

static void heuristics_fail_requests(void **state)
{
    (void)state;
    for (int check = 0; check < 2; check++) {
        bench b;
        open_bench(&b);
        assert_int_equal(rill_register_heuristic(b.ctx, &scripted_heuristic), RILL_OK);
        b.heuristic = (rill_chain_entry){"fragile", ""};
        b.setup.heuristics = &b.heuristic;
        b.setup.n_heuristics = 1;
        b.setup.settings.check = check;
        b.request_heuristic = "f";
        expect_failed_alone(&b, RILL_ERR_FORMAT, "it broke");
        close_bench(&b);
    }
}

/* --- settings of another struct_size ------------------------------------------------------------------------------ */

static int n_requests_read; /* number of requests read with such settings */

static rill_status read_old_settings(void *user, int may_block, rill_request *out)
{
    (void)may_block;
    if (n_requests_read == INPUTS) return RILL_END_OF_INPUT;
    out->text = "in 1";
    out->length = 4;
    if (n_requests_read++ % 2 == 1) out->settings = user;
    return RILL_OK;
}

static rill_status expect_refused(void *user, const rill_result *r)
{
    ++*(int *)user;
    assert_int_equal(r->status, r->id % 2 == 1 ? RILL_ERR_ABI : RILL_OK);
    if (r->id % 2 == 1) assert_non_null(strstr(r->message, "rebuild the program"));
    return RILL_OK;
}

/* No settings member past struct_size is read; the sanitizers check it. */
static void settings_of_another_struct_size(void **state)
{
    (void)state;
    bench b;
    open_bench(&b);
    b.settings.struct_size = 24; /* the struct ends before the member `method` */
    void *old = malloc(b.settings.struct_size);
    assert_non_null(old);
    memcpy(old, &b.settings, b.settings.struct_size);
    for (int32_t n = 1; n <= 2; n++) {
        const rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = MODEL};
        const rill_workers_options options = {.struct_size = sizeof options, .workers = n};
        const rill_engine_setup *setups[] = {&b.setup, &b.setup};
        rill_workers *workers;
        int results = 0;
        n_requests_read = 0;
        assert_int_equal(rill_workers_open(&workers, b.ctx, "toy", &open, &options), RILL_OK);
        assert_int_equal(rill_workers_begin(workers, setups), RILL_OK);
        assert_int_equal(rill_workers_run_requests(workers, read_old_settings, old, expect_refused, &results), RILL_OK);
        assert_int_equal(results, INPUTS);
        rill_workers_close(workers);
    }
    free(old);
    close_bench(&b);
}

/* --- deadlines of a second search --------------------------------------------------------------------------------- */

static int steps, deadline_step;

static double step_clock(void *user)
{
    (void)user;
    return steps >= deadline_step ? 1000 : 1;
}

static void step_to_the_end(bench *b, rill_engine *engine)
{
    for (steps = 0; rill_engine_step(engine) == RILL_OK; steps++) take_results(b, engine);
    take_results(b, engine);
}

/* At whatever point of the second search the deadline passes, the outputs are those of the first search, without the
 * scorer. */
static void deadline_in_the_second_search(void **state)
{
    (void)state;
    int first = 0, second = 0;
    for (deadline_step = 1; deadline_step < 60; deadline_step++) {
        bench b;
        rill_engine *engine;
        open_bench(&b);
        b.setup.settings.min_length = 3;
        decode(&b, 0);
        use_scorer(&b, "lmbr", "self=2,theta=-5/0/0/0/0"); /* the second search has other scores */
        b.setup.clock = step_clock;
        assert_int_equal(rill_engine_create(&engine, b.ctx, b.model, &b.setup), RILL_OK);
        const rill_request r = {.struct_size = sizeof r, .text = "in 0", .length = 4, .timeout = 5};
        assert_int_equal(rill_engine_submit_request(engine, &r, NULL), RILL_OK);
        rill_engine_close_input(engine);
        const answer alone = b.answer[0];
        step_to_the_end(&b, engine);
        const answer *a = &b.answer[0];
        assert_int_equal(a->status, RILL_OK);
        if (a->timed_out && a->score == alone.score) {
            assert_string_equal(a->text, alone.text);
            assert_int_equal(a->n, alone.n);
            first++;
        }
        second += !a->timed_out;
        rill_stats stats = {.struct_size = sizeof stats};
        rill_engine_stats(engine, &stats);
        assert_int_equal(stats.inputs, 1);
        rill_engine_destroy(engine);
        close_bench(&b);
        if (second > 0) break;
    }
    assert_true(first >= 3 && second == 1);
}

/* --- a run can be started once ------------------------------------------------------------------------------------ */

static rill_status read_few(void *user, int may_block, const char **text, size_t *length)
{
    int *remaining = user;
    (void)may_block;
    *text = "in 1";
    *length = 4;
    return (*remaining)-- > 0 ? RILL_OK : RILL_END_OF_INPUT;
}

static rill_status count_results(void *user, const rill_result *r)
{
    (void)r;
    ++*(int *)user;
    return RILL_OK;
}

static void workers_run_once_per_begin(void **state)
{
    (void)state;
    for (int32_t n = 1; n <= 2; n++) {
        bench b;
        rill_workers *workers;
        open_bench(&b);
        const rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = MODEL};
        const rill_workers_options options = {.struct_size = sizeof options, .workers = n};
        const rill_engine_setup *setups[] = {&b.setup, &b.setup};
        assert_int_equal(rill_workers_open(&workers, b.ctx, "toy", &open, &options), RILL_OK);
        for (int round = 0; round < 2; round++) {
            int remaining = 7, results = 0;
            assert_int_equal(rill_workers_begin(workers, setups), RILL_OK);
            assert_int_equal(rill_workers_run(workers, read_few, &remaining, count_results, &results), RILL_OK);
            assert_int_equal(results, 7);
            remaining = 7;
            assert_int_equal(rill_workers_run(workers, read_few, &remaining, count_results, &results),
                             RILL_ERR_ARGUMENT);
            assert_non_null(strstr(rill_error(b.ctx), "rill_workers_begin() again"));
            assert_int_equal(results, 7);
            rill_workers_finish(workers);
        }
        rill_workers_close(workers);
        close_bench(&b);
    }
}

/* --- callbacks for inputs that have left -------------------------------------------------------------------------- */

static void count_calls(void *user, const rill_progress *p)
{
    assert_true(p->draft_actions >= 0);
    ++*(int *)user;
}

/* An input is cancelled while its scores are computed. Another input in the batch has a progress callback. The
 * sanitizers check the memory. */
static void cancelled_next_to_progress_callback(void **state)
{
    (void)state;
    for (int32_t after = 0; after < 12; after++) {
        harness_memory memory;
        rill_context *ctx = harness_begin(&memory);
        async_table async;
        rill_model *model;
        rill_engine *engine;
        rill_engine_setup setup;
        int calls[2] = {0, 0}, finished = 0;
        const rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = MODEL};
        async_make(&async, "late", &toy_domain, 1);
        assert_int_equal(rill_register_domain(ctx, &async.domain), RILL_OK);
        assert_int_equal(rill_model_open(&model, ctx, "late", &open), RILL_OK);
        rill_engine_setup_default(&setup);
        assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
        for (int32_t i = 0; i < 4; i++) {
            rill_request r = {.struct_size = sizeof r, .text = "in 1", .length = 4, .user = &calls[i % 2]};
            r.progress = count_calls;
            assert_int_equal(rill_engine_submit_request(engine, &r, NULL), RILL_OK);
        }
        for (int32_t i = 0; rill_engine_step(engine) == RILL_OK; i++)
            if (i == after) rill_engine_cancel(engine, after % 4);
        for (const rill_result *r; rill_engine_next(engine, &r) == RILL_OK; finished++)
            assert_true(r->status == RILL_OK || r->status == RILL_ERR_CANCELLED);
        assert_int_equal(finished, 4);
        assert_true(calls[0] > 0 && calls[1] > 0);
        rill_engine_destroy(engine);
        rill_model_close(model);
        harness_end(ctx, &memory);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(banks_exclude_other_beams),
    cmocka_unit_test(scorers_fail_requests),
    cmocka_unit_test(shared_scorer_fails_one_input),
    cmocka_unit_test(errors_that_end_the_run),
    cmocka_unit_test(last_bank_call_wins),
    cmocka_unit_test(scores_beyond_all_numbers),
    cmocka_unit_test(trie_of_another_model),
    cmocka_unit_test(heuristics_fail_requests),
    cmocka_unit_test(settings_of_another_struct_size),
    cmocka_unit_test(deadline_in_the_second_search),
    cmocka_unit_test(workers_run_once_per_begin),
    cmocka_unit_test(cancelled_next_to_progress_callback),
};

HARNESS_MAIN(tests)
