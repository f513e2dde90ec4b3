/* Workers. For any number of workers and any schedule, results, order and counters are those of the naive search. A
 * failure of a worker, the reader, the writer or the allocator ends the run cleanly. A slow worker delays no other.
 * Meant for the thread sanitizer too. */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"
#include "support/harness.h"
#include "support/problem.h"

/* --- results ------------------------------------------------------------------------------------------------------ */

/* Set a memory limit that fits each input's search, or one that may not. The memory of a single input fits in any case,
 * but not in every worker's share. */
static void set_node_bound(const problem *p, schedule *s, dice *d)
{
    int64_t max = 1, cost = 0;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        toy_input input = toy_input_read(&p->model, p->input[i], strlen(p->input[i]));
        int64_t own = TOY_SLOT_BYTES + input.depth * TOY_UNIT_BYTES;
        if (p->expected[i].states > max) max = p->expected[i].states;
        if (own > cost) cost = own;
    }
    s->bound = s->max_nodes = (int32_t)max + dice_range(d, -(int32_t)max / 3, (int32_t)max);
    if (dice_chance(d, 60)) return;
    int64_t wanted = (int64_t)s->bound * TOY_NODE_BYTES * 4 / 3;
    s->memory = wanted > 4 * cost ? wanted : 4 * cost;
    s->max_nodes = 0;
    s->bound = (int32_t)((s->memory - s->memory / 4) / TOY_NODE_BYTES);
}

static void any_number_of_workers(problem_group group, int bounded, int64_t iterations)
{
    int64_t n_restarted = 0;
    for (int64_t i = 0; i < harness_iterations(iterations); i++) {
        uint64_t seed = harness_seed(1) + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 77));
        problem p;
        schedule s;
        engine_record r;
        problem_draw(&p, group, &d);
        schedule_draw(&s, group, &d);
        problem_solve(&p);
        if (dice_chance(&d, 30)) p.domain = "toy-alone";
        const int is_anywhere = dice_chance(&d, 50);
        if (is_anywhere) strcat(p.arguments, " apart=1");
        if (bounded) set_node_bound(&p, &s, &d);
        for (s.workers = 1; s.workers <= 4; s.workers++) {
            s.own_thread = s.workers == 1;
            toy_nodes_peak();
            engine_run(&p, &s, NULL, &r);
            problem_expect(&p, &s, seed, &r);
            if (bounded && s.bound >= s.workers && toy_nodes_peak() > s.bound)
                fail_msg("seed %llu: too many states", (unsigned long long)seed);
            if (r.toy.opened != r.toy.closed || r.toy.started != r.toy.stopped) fail_msg("a model or runner is left");
            if (r.toy.opened + r.toy.started != s.workers + (p.domain == NULL) * (1 + is_anywhere))
                fail_msg("as many as workers decode");
            if ((r.toy.finalized_anywhere > 0) != (is_anywhere && p.domain == NULL && r.toy.finalized > 0))
                fail_msg("texts are written elsewhere");
            n_restarted += r.stats.restarted;
            engine_record_clear(&r);
        }
        problem_clear(&p);
    }
    assert_true(bounded || n_restarted == 0);
    HARNESS_ASSERT_COVERED(!bounded || n_restarted > 0);
}

static void any_schedule(void **state)
{
    (void)state;
    any_number_of_workers(PROBLEM_PRUNED, 0, 150);
    any_number_of_workers(PROBLEM_FIXED_TOP, 0, 40);
    any_number_of_workers(PROBLEM_FIXED, 0, 40);
    any_number_of_workers(PROBLEM_GREEDY, 0, 40);
}

/* An input that exceeds a worker's share uses the whole limit. The same inputs fail as with one worker. */
static void shared_memory(void **state)
{
    (void)state;
    any_number_of_workers(PROBLEM_PRUNED, 1, 150);
    any_number_of_workers(PROBLEM_FIXED_TOP, 1, 60);
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

/* Outputs with duplicate texts are left out, by whichever thread writes the texts. */
static void distinct_texts(void **state)
{
    (void)state;
    int64_t n_repeats = 0;
    for (int64_t i = 0; i < harness_iterations(100); i++) {
        uint64_t seed = harness_seed(1) + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 78));
        problem p;
        schedule s;
        engine_record one, several;
        problem_draw(&p, PROBLEM_PRUNED, &d);
        schedule_draw(&s, PROBLEM_PRUNED, &d);
        strcat(p.arguments, " apart=1 blur=1");
        p.settings.distinct = 1;
        p.settings.n_best = dice_range(&d, 1, 4);
        engine_run(&p, &s, NULL, &one);
        s.workers = 2;
        engine_run(&p, &s, NULL, &several);
        assert_int_equal(several.status, RILL_OK);
        for (int32_t input = 0; input < p.n_inputs; input++) {
            const record_result *a = &one.result[input], *b = &several.result[input];
            assert_int_equal(a->n, b->n);
            n_repeats += a->n < p.settings.n_best && a->n < a->outputs_found;
            for (int32_t o = 0; o < a->n; o++) {
                const size_t n = (size_t)a->output[o].value.n_ids;
                assert_string_equal(a->output[o].text, b->output[o].text);
                assert_int_equal(n, b->output[o].value.n_ids);
                assert_memory_equal(a->output[o].action, b->output[o].action, n * sizeof(int32_t));
                assert_memory_equal(a->output[o].logps, b->output[o].logps, n * sizeof(float));
            }
        }
        assert_int_equal(several.toy.violations, 0);
        engine_record_clear(&one);
        engine_record_clear(&several);
    }
    HARNESS_ASSERT_COVERED(n_repeats > 20);
}

/* [i]: threads of the runner started i-th; and the seconds that writing a text takes. */
static int runner_threads[8];
static _Atomic int n_started;
static const struct timespec finalize_pause = {.tv_nsec = 20000000};

static rill_status start_and_note_threads(const void *model, rill_context *ctx, int threads, void **runner)
{
    runner_threads[n_started++] = threads;
    return toy_domain.start(model, ctx, threads, runner);
}

static rill_status finalize_slowly(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    nanosleep(&finalize_pause, NULL);
    return toy_domain.finalize(self, hypothesis, out);
}

static rill_status read_one(void *user, int may_block, const char **text, size_t *length)
{
    int *n_read = user;
    (void)may_block;
    *text = "in 1";
    *length = 4;
    return (*n_read)++ == 0 ? RILL_OK : RILL_END_OF_INPUT;
}

static rill_status write_nothing(void *user, const rill_result *result)
{
    (void)user;
    return result->status;
}

/* A runner that only finalizes, in the caller's thread, computes nothing else, so it gets one thread. Its time is part
 * of the total. */
static void finalize_in_the_callers_thread(void **state)
{
    (void)state;
    int n_read = 0;
    rill_workers *workers;
    rill_domain slow = toy_domain;
    rill_stats stats = {.struct_size = sizeof stats};
    rill_open_options open = {.struct_size = sizeof open, .threads = 3, .arguments = "depth=2 apart=1"};
    rill_workers_options options = {.struct_size = sizeof options, .workers = 2};
    rill_engine_setup setup;
    const rill_engine_setup *setups[2] = {&setup, &setup};
    rill_context *ctx = harness_context(NULL);
    slow.name = "slow-texts";
    slow.start = start_and_note_threads;
    slow.finalize = finalize_slowly;
    n_started = 0;
    assert_int_equal(rill_register_domain(ctx, &slow), RILL_OK);
    rill_engine_setup_default(&setup);
    assert_int_equal(rill_workers_open(&workers, ctx, "slow-texts", &open, &options), RILL_OK);
    assert_int_equal(rill_workers_begin(workers, setups), RILL_OK);
    assert_int_equal(rill_workers_run(workers, read_one, &n_read, write_nothing, NULL), RILL_OK);
    rill_workers_stats(workers, &stats);
    assert_int_equal(n_started, 3);
    assert_int_equal(runner_threads[0], 3);
    assert_int_equal(runner_threads[1], 3);
    assert_int_equal(runner_threads[2], 1);
    assert_true(stats.seconds.finalize >= 0.02);
    assert_true(stats.seconds.total >= stats.seconds.finalize);
    rill_workers_close(workers);
    rill_context_destroy(ctx);
}

/* --- traces ------------------------------------------------------------------------------------------------------- */

static void traces_name_workers(void **state)
{
    (void)state;
    dice d = dice_seeded(5);
    problem p;
    schedule s;
    engine_record r;
    int finished[PROBLEM_MAX_INPUTS] = {0}, worker_of[PROBLEM_MAX_INPUTS];
    problem_draw(&p, PROBLEM_PRUNED, &d);
    schedule_draw(&s, PROBLEM_PRUNED, &d);
    problem_solve(&p);
    s.workers = 3;
    s.n = 1;
    s.max_items = 1;
    s.check = 0;
    engine_run(&p, &s, NULL, &r);
    problem_expect(&p, &s, 5, &r);
    int64_t next[3] = {0};
    for (int64_t i = 0; i < r.n_events; i++) {
        const record_event *e = &r.event[i];
        assert_in_range(e->worker, 0, 2);
        if (e->kind == RILL_TRACE_ADMITTED) worker_of[e->item] = e->worker;
        if (e->kind == RILL_TRACE_FINISHED) {
            assert_int_equal(worker_of[e->item], e->worker);
            assert_int_equal(finished[e->item]++, 0);
        }
        if (e->kind == RILL_TRACE_TIMESTEP) assert_int_equal(e->timestep, next[e->worker]++);
    }
    assert_int_equal(next[0] + next[1] + next[2], r.stats.timesteps);
    engine_record_clear(&r);
    problem_clear(&p);
}

/* --- fixture for single runs -------------------------------------------------------------------------------------- */

typedef struct bench {
    rill_context *ctx;
    rill_workers *workers;
    harness_memory memory;
    int inputs, n_read, written, stop_after, fail_after;
    int64_t last;
} bench;

static rill_status begin_with(bench *b, const char *domain, const char *arguments, int32_t n,
                              void (*change)(rill_settings *))
{
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = arguments};
    rill_workers_options options = {.struct_size = sizeof options, .workers = n};
    rill_engine_setup setup;
    const rill_engine_setup *setups[4] = {&setup, &setup, &setup, &setup};
    rill_engine_setup_default(&setup);
    setup.settings.k = 2;
    setup.settings.n = 2;
    if (change != NULL) change(&setup.settings);
    b->last = -1;
    rill_status status = rill_workers_open(&b->workers, b->ctx, domain, &open, &options);
    return status < 0 ? status : rill_workers_begin(b->workers, setups);
}

static void begin(bench *b, const char *domain, const char *arguments, int32_t n, void (*change)(rill_settings *))
{
    b->ctx = harness_begin(&b->memory);
    assert_int_equal(begin_with(b, domain, arguments, n, change), RILL_OK);
}

static void end(bench *b)
{
    rill_workers_close(b->workers);
    harness_end(b->ctx, &b->memory);
}

static rill_status read_some(void *user, int may_block, const char **text, size_t *length)
{
    static char line[32];
    bench *b = user;
    (void)may_block;
    if (b->fail_after > 0 && b->n_read == b->fail_after) return rill_fail(b->ctx, RILL_ERR_IO, "the cable is cut");
    if (b->n_read == b->inputs) return RILL_END_OF_INPUT;
    *length = (size_t)snprintf(line, sizeof line, "%s%d", b->n_read == 5 ? "!bad " : "in ", b->n_read);
    *text = line;
    b->n_read++;
    return RILL_OK;
}

static rill_status write_some(void *user, const rill_result *result)
{
    bench *b = user;
    rill_stats stats = {.struct_size = sizeof stats};
    rill_workers_stats(b->workers, &stats);
    assert_true(result->id > b->last);
    assert_int_equal(result->status, result->id == 5 ? RILL_ERR_INPUT : RILL_OK);
    if (result->n_outputs > 0)
        assert_int_equal(strlen(rill_result_output(result, 0)->text), rill_result_output(result, 0)->text_bytes);
    b->last = result->id;
    b->written++;
    assert_true(stats.inputs >= b->written);
    rill_fail(b->ctx, RILL_ERR_FORMAT, "something of the writer's own");
    return b->written == b->stop_after ? RILL_ERR_STOPPED : RILL_OK;
}

/* --- ends --------------------------------------------------------------------------------------------------------- */

static void nothing_to_read(void **state)
{
    (void)state;
    bench b = {0};
    begin(&b, "toy", "", 3, NULL);
    assert_int_equal(rill_workers_run(b.workers, read_some, &b, write_some, &b), RILL_OK);
    assert_int_equal(b.written, 0);
    end(&b);
}

static void writer_stops(void **state)
{
    (void)state;
    for (int after = 1; after < 40; after += 3) {
        bench b = {.inputs = 100000, .stop_after = after};
        begin(&b, after % 2 ? "toy" : "toy-alone", "depth=4 actions=3", 3, NULL);
        assert_int_equal(rill_workers_run(b.workers, read_some, &b, write_some, &b), RILL_ERR_STOPPED);
        assert_int_equal(b.written, after);
        assert_true(b.n_read < b.inputs);
        end(&b);
    }
}

static void wait_ms(long ms)
{
    const struct timespec time = {.tv_nsec = ms * 1000000};
    nanosleep(&time, NULL);
}

/* Whether stop_soon() has requested the stop. The run does not end earlier, however late the thread of stop_soon()
 * starts. */
static atomic_int asked_to_stop;

static rill_status step_slowly(void *self, const rill_rows *rows)
{
    while (!atomic_load(&asked_to_stop)) wait_ms(1);
    return toy_domain.step(self, rows);
}

static void *stop_soon(void *user)
{
    wait_ms(25);
    rill_workers_stop(((const bench *)user)->workers);
    atomic_store(&asked_to_stop, 1);
    return NULL;
}

/* The run stops although no callback runs, because the first inputs are slow; or although the reader always has another
 * input. */
static void stopped_from_another_thread(void **state)
{
    static const struct {
        const char *domain, *arguments;
        int inputs;
    } cases[] = {{"sleepy", "depth=500 actions=2", 3}, {"toy", "depth=4 actions=3", INT_MAX}};
    rill_domain sleepy = toy_domain;
    (void)state;
    sleepy.name = "sleepy";
    sleepy.step = step_slowly;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int32_t workers = 1; workers <= 3; workers += 2) {
            bench b = {.inputs = cases[c].inputs};
            pthread_t stopper;
            b.ctx = harness_begin(&b.memory);
            assert_int_equal(rill_register_domain(b.ctx, &sleepy), RILL_OK);
            assert_int_equal(begin_with(&b, cases[c].domain, cases[c].arguments, workers, NULL), RILL_OK);
            atomic_store(&asked_to_stop, 0);
            assert_int_equal(pthread_create(&stopper, NULL, stop_soon, &b), 0);
            assert_int_equal(rill_workers_run(b.workers, read_some, &b, write_some, &b), RILL_ERR_STOPPED);
            assert_string_equal(rill_error(b.ctx), "the run was stopped");
            assert_int_equal(b.last, b.written - 1); /* results come in order, without gaps */
            assert_int_equal(pthread_join(stopper, NULL), 0);
            end(&b);
        }
}

/* When the reader fails, the inputs read before are decoded and written. */
static void reader_fails(void **state)
{
    (void)state;
    for (int after = 1; after < 60; after += 7) {
        bench b = {.inputs = 100, .fail_after = after};
        begin(&b, "toy", "depth=4 actions=3", 2, NULL);
        assert_int_equal(rill_workers_run(b.workers, read_some, &b, write_some, &b), RILL_ERR_IO);
        assert_string_equal(rill_error(b.ctx), "the cable is cut");
        assert_int_equal(b.written, after);
        end(&b);
    }
}

/* When the domain fails, finished results are returned in order. The failure is reported, even if the writer records an
 * error of its own. */
static void domain_fails(void **state)
{
    (void)state;
    static const char *const calls[] = {"fail_encode", "fail_step", "fail_score", "fail_finalize"};
    int written = 0;
    for (int failing_number = 1; failing_number < 40; failing_number += 3)
        for (int call = 0; call < 4; call++) {
            char arguments[64];
            bench b = {.inputs = 3000};
            snprintf(arguments, sizeof arguments, "depth=4 actions=3 %s=%d", calls[call], failing_number);
            begin(&b, failing_number % 2 ? "toy" : "toy-alone", arguments, 3, NULL);
            assert_int_equal(rill_workers_run(b.workers, read_some, &b, write_some, &b), RILL_ERR_IO);
            assert_non_null(strstr(rill_error(b.ctx), "injected"));
            assert_true(b.written < b.inputs);
            written += b.written;
            end(&b);
        }
    assert_true(written > 0);
}

static void refusals(void **state)
{
    (void)state;
    bench b = {0};
    rill_open_options open = {.struct_size = sizeof open, .threads = 1};
    rill_workers_options options = {.struct_size = sizeof options, .workers = -1};
    rill_workers *workers;
    rill_chain_entry wrong = {"absolut", "1"};
    rill_engine_setup setup;
    const rill_engine_setup *setups[2] = {&setup, &setup};
    begin(&b, "toy", "", 2, NULL);
    assert_int_equal(rill_workers_begin(b.workers, setups), RILL_ERR_ARGUMENT);
    rill_workers_finish(b.workers);
    rill_engine_setup_default(&setup);
    setup.heuristics = &wrong;
    setup.n_heuristics = 1;
    assert_int_equal(rill_workers_begin(b.workers, setups), RILL_ERR_NOT_FOUND);
    assert_non_null(strstr(rill_error(b.ctx), "absolut"));
    setup.n_heuristics = 0;
    assert_int_equal(rill_workers_begin(b.workers, setups), RILL_OK);
    assert_int_equal(rill_workers_open(&workers, b.ctx, "toy", &open, &options), RILL_ERR_ARGUMENT);
    options.workers = 2;
    for (int alone = 0; alone < 2; alone++) {
        open.arguments = "fail_open=1";
        assert_int_equal(rill_workers_open(&workers, b.ctx, alone ? "toy-alone" : "toy", &open, &options), RILL_ERR_IO);
        assert_non_null(strstr(rill_error(b.ctx), "injected"));
    }
    assert_int_equal(rill_workers_open(&workers, b.ctx, "toi", &open, &options), RILL_ERR_NOT_FOUND);
    assert_null(workers);
    options.struct_size = 3;
    assert_int_equal(rill_workers_open(&workers, b.ctx, "toy", &open, &options), RILL_ERR_ABI);
    end(&b);
}

/* Whichever allocation fails, and wherever the threads are then, the run ends cleanly. */
static void memory_is_refused(void **state)
{
    (void)state;
    int64_t failed = 0, passed = 0;
    for (int64_t n = 1; n < harness_iterations(700); n += n < 150 ? 1 : 5) {
        bench b = {.inputs = 60};
        b.ctx = harness_begin(&b.memory);
        b.memory.failing_request = b.memory.requests + n;
        b.memory.persistent = n % 4 == 0;
        rill_status status = begin_with(&b, n % 3 ? "toy" : "toy-alone", "depth=4 actions=3", 2, NULL);
        if (status == RILL_OK) status = rill_workers_run(b.workers, read_some, &b, write_some, &b);
        if (status == RILL_OK) assert_int_equal(b.written, 60);
        if (status != RILL_OK && status != RILL_ERR_MEMORY) fail_msg("%lld: %s", (long long)n, rill_error(b.ctx));
        status == RILL_OK ? passed++ : failed++;
        b.memory.failing_request = 0;
        end(&b);
    }
    HARNESS_ASSERT_COVERED(failed > 50);
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    int open;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER};

static void set_gate(int open)
{
    pthread_mutex_lock(&gate.lock);
    gate.open = open;
    pthread_cond_broadcast(&gate.opened);
    pthread_mutex_unlock(&gate.lock);
}

/* The first input waits at the gate. */
static rill_status encode_when_open(void *self, int32_t m, rill_input *inputs)
{
    for (int32_t i = 0; i < m; i++) {
        if (inputs[i].id != 0) continue;
        pthread_mutex_lock(&gate.lock);
        while (!gate.open) pthread_cond_wait(&gate.opened, &gate.lock);
        pthread_mutex_unlock(&gate.lock);
    }
    return toy_domain.encode(self, m, inputs);
}

static rill_status write_gated(void *user, const rill_result *result)
{
    bench *b = user;
    b->last = result->id;
    if (++b->written == b->inputs - 1) set_gate(1);
    return RILL_OK;
}

static void results_arrive_one_by_one(rill_settings *s)
{
    s->n = s->max_items = 1;
    s->unordered = 1;
}

/* The worker of the first input is as slow as possible: all other results are computed before it finishes. */
static void a_slow_worker_delays_only_its_own(void **state)
{
    (void)state;
    rill_domain gated = toy_domain;
    bench b = {.inputs = 500};
    gated.name = "gated";
    gated.encode = encode_when_open;
    set_gate(0);
    b.ctx = harness_begin(&b.memory);
    assert_int_equal(rill_register_domain(b.ctx, &gated), RILL_OK);
    assert_int_equal(begin_with(&b, "gated", "depth=3 actions=3", 2, results_arrive_one_by_one), RILL_OK);
    assert_int_equal(rill_workers_run(b.workers, read_some, &b, write_gated, &b), RILL_OK);
    assert_int_equal(b.written, 500);
    assert_int_equal(b.last, 0);
    end(&b);
}

enum { MAX_AHEAD = 2 * 4096 }; /* how far the stream may be ahead of the oldest unfinished input, for two workers */

/* The gate opens when the other worker is as far ahead as it may be. */
static rill_status encode_ahead(void *self, int32_t m, rill_input *inputs)
{
    for (int32_t i = 0; i < m; i++)
        if (inputs[i].id == MAX_AHEAD - 1) set_gate(1);
    return encode_when_open(self, m, inputs);
}

static rill_status note_result(void *user, const rill_result *result)
{
    bench *b = user;
    assert_int_equal(result->id, b->last + 1);
    b->last = result->id;
    return RILL_OK;
}

static void ordered_one_by_one(rill_settings *s)
{
    s->n = s->max_items = 1;
}

/* The inputs of each encode call; the calls wait until every input is held by a worker. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int32_t taken, max_taken, total;
} input_shares = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static rill_status encode_when_all_are_taken(void *self, int32_t m, rill_input *inputs)
{
    pthread_mutex_lock(&input_shares.lock);
    input_shares.taken += m;
    if (m > input_shares.max_taken) input_shares.max_taken = m;
    pthread_cond_broadcast(&input_shares.changed);
    while (input_shares.taken < input_shares.total) pthread_cond_wait(&input_shares.changed, &input_shares.lock);
    pthread_mutex_unlock(&input_shares.lock);
    return toy_domain.encode(self, m, inputs);
}

static void admit_forty(rill_settings *s)
{
    s->n = s->max_items = 40;
}

/* At the end of a stream inputs are divided evenly among workers, even if one worker could admit all. */
static void inputs_are_shared_evenly(void **state)
{
    (void)state;
    for (int32_t n = 2; n <= 4; n++) {
        rill_domain counting = toy_domain;
        bench b = {.inputs = 8 * n - 1};
        counting.name = "counting";
        counting.encode = encode_when_all_are_taken;
        input_shares.taken = input_shares.max_taken = 0;
        input_shares.total = b.inputs;
        b.ctx = harness_begin(&b.memory);
        assert_int_equal(rill_register_domain(b.ctx, &counting), RILL_OK);
        assert_int_equal(begin_with(&b, "counting", "depth=3 actions=3", n, admit_forty), RILL_OK);
        assert_int_equal(rill_workers_run(b.workers, read_some, &b, write_some, &b), RILL_OK);
        assert_int_equal(input_shares.taken, input_shares.total);
        assert_int_equal(input_shares.max_taken, 8);
        end(&b);
    }
}

/* With ordered output, the stream gets only a bounded distance ahead of a slow input, so memory is bounded. */
static void a_slow_item_bounds_the_stream(void **state)
{
    (void)state;
    rill_domain gated = toy_domain;
    bench b = {.inputs = 3 * MAX_AHEAD};
    rill_stats stats = {.struct_size = sizeof stats};
    gated.name = "gated";
    gated.encode = encode_ahead;
    set_gate(0);
    b.ctx = harness_begin(&b.memory);
    assert_int_equal(rill_register_domain(b.ctx, &gated), RILL_OK);
    assert_int_equal(begin_with(&b, "gated", "depth=2 actions=2 trivial=1", 2, ordered_one_by_one), RILL_OK);
    assert_int_equal(rill_workers_run(b.workers, read_some, &b, note_result, &b), RILL_OK);
    assert_int_equal(b.last, b.inputs - 1);
    rill_workers_stats(b.workers, &stats);
    assert_int_equal(stats.inputs, b.inputs);
    assert_in_range(stats.waiting_peak, MAX_AHEAD / 2, MAX_AHEAD);
    end(&b);
}

/* --- contexts ----------------------------------------------------------------------------------------------------- */

static rill_status fail_prepare(void *user, int32_t index, rill_context *worker)
{
    ++*(int *)user;
    return index == 1 ? rill_fail(worker, RILL_ERR_FORMAT, "worker %d is ill", (int)index) : RILL_OK;
}

static void worker_contexts(void **state)
{
    (void)state;
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory), *worker;
    rill_registry_mark mark = rill_registry_size(ctx);
    rill_domain later = toy_domain, own = toy_domain;
    later.name = own.name = "later";
    assert_int_equal(rill_register_domain(ctx, &later), RILL_OK);
    assert_int_equal(rill_context_create_worker(&worker, ctx, &mark), RILL_OK);
    assert_ptr_equal(rill_find_domain(worker, "toy"), &toy_domain);
    assert_null(rill_find_domain(worker, "later"));
    assert_int_equal(rill_register_domain(worker, &own), RILL_OK);
    assert_ptr_equal(rill_find_domain(worker, "later"), &own);
    assert_ptr_equal(rill_find_domain(ctx, "later"), &later);
    rill_fail(worker, RILL_ERR_IO, "its own");
    assert_string_equal(rill_error(ctx), "");
    size_t main_used = rill_memory_used(ctx), worker_used = rill_memory_used(worker);
    void *block = rill_alloc(worker, 5000);
    assert_int_equal(rill_memory_used(ctx), main_used + 5000);
    assert_int_equal(rill_memory_used(worker), worker_used + 5000);
    rill_free(worker, block, 5000);
    assert_int_equal(rill_memory_used(ctx), main_used);
    assert_true(rill_memory_peak(ctx) >= main_used + 5000);
    rill_context_destroy(worker);
    assert_true(rill_memory_used(ctx) < main_used);
    harness_end(ctx, &memory);
}

static void preparing_may_fail(void **state)
{
    (void)state;
    int calls = 0;
    rill_context *ctx = harness_context(NULL);
    rill_workers *workers;
    rill_open_options open = {.struct_size = sizeof open, .threads = 1};
    rill_workers_options options = {
        .struct_size = sizeof options, .workers = 3, .prepare = fail_prepare, .user = &calls};
    assert_int_equal(rill_workers_open(&workers, ctx, "toy", &open, &options), RILL_ERR_FORMAT);
    assert_string_equal(rill_error(ctx), "worker 1 is ill");
    assert_int_equal(calls, 2);
    options.workers = 1;
    assert_int_equal(rill_workers_open(&workers, ctx, "toy", &open, &options), RILL_OK);
    assert_int_equal(calls, 2);
    assert_ptr_equal(rill_workers_context(workers, 0), ctx);
    rill_workers_close(workers);
    rill_context_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(any_schedule),
    cmocka_unit_test(shared_memory),
    cmocka_unit_test(distinct_texts),
    cmocka_unit_test(finalize_in_the_callers_thread),
    cmocka_unit_test(traces_name_workers),
    cmocka_unit_test(nothing_to_read),
    cmocka_unit_test(writer_stops),
    cmocka_unit_test(stopped_from_another_thread),
    cmocka_unit_test(reader_fails),
    cmocka_unit_test(domain_fails),
    cmocka_unit_test(refusals),
    cmocka_unit_test(memory_is_refused),
    cmocka_unit_test(a_slow_worker_delays_only_its_own),
    cmocka_unit_test(inputs_are_shared_evenly),
    cmocka_unit_test(a_slow_item_bounds_the_stream),
    cmocka_unit_test(worker_contexts),
    cmocka_unit_test(preparing_may_fail),
};

HARNESS_MAIN(tests)
