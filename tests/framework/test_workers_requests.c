/* Requests through rill_run() and through workers. Each request has the result of an engine created with its settings,
 * and a refused one fails alone. Inputs can leave early wherever they are, queued or held by a worker. Meant for the
 * thread sanitizer too. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "support/harness.h"
#include "support/problem.h"

/* Run with one engine, or with several workers. */
static void run_by(int32_t workers, const problem *p, schedule *s, const hooks *h, engine_record *out)
{
    s->hooks = h;
    s->by_run = 1;
    s->workers = workers;
    engine_run(p, s, NULL, out);
    s->hooks = NULL;
    s->by_run = s->workers = 0;
}

/* --- settings of requests ----------------------------------------------------------------------------------------- */

enum { VARIANTS = 4 }; /* variant 0 has no settings of its own */

typedef struct variants {
    problem p[VARIANTS];
    const char *heuristics[NAIVE_MAX_CHAIN], *scorers[NAIVE_MAX_CHAIN];
} variants;

static int32_t request_variant(int32_t i)
{
    return i * 7 % 5 % VARIANTS;
}

static void *request_user(variants *all, int32_t i)
{
    return i % 3 == 0 ? NULL : &all->p[i % VARIANTS];
}

/* The caller reuses the arrays for the next request, so the workers must have copied them. */
static void set_variant(void *user, const problem *p, int32_t i, rill_request *out)
{
    variants *all = user;
    const problem *v = &all->p[request_variant(i)];
    out->user = request_user(all, i);
    if (request_variant(i) == 0) return;
    for (int32_t j = 0; j < p->n_heuristics; j++)
        all->heuristics[j] = (i + j) % 4 == 0 && strcmp(v->heuristic[j].arguments, p->heuristic[j].arguments) == 0
                                 ? NULL
                                 : v->heuristic[j].arguments;
    for (int32_t j = 0; j < p->n_scorers; j++) all->scorers[j] = v->scorer[j].arguments;
    out->settings = &v->settings;
    out->heuristics = p->n_heuristics > 0 ? all->heuristics : NULL;
    out->scorers = p->n_scorers > 0 ? all->scorers : NULL;
}

static void draw_variants(variants *all, const schedule *s, problem_group group, dice *d, engine_record *alone)
{
    problem_draw(&all->p[0], group, d);
    problem_draw_variants(all->p, VARIANTS, group, d);
    for (int v = 0; v < VARIANTS; v++) {
        engine_run(&all->p[v], s, NULL, &alone[v]);
        assert_int_equal(alone[v].status, RILL_OK);
    }
}

static void requests_equal_own_engines(void **state)
{
    (void)state;
    static variants all;
    int64_t compared = 0;
    for (int64_t i = 0; i < harness_iterations(100); i++) {
        uint64_t seed = harness_seed(1) + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 61));
        problem_group group = i % 4 == 0 ? PROBLEM_FIXED_TOP : PROBLEM_PRUNED;
        engine_record alone[VARIANTS], mixed;
        schedule s;
        const hooks h = {.user = &all, .set_request = set_variant};
        schedule_draw(&s, group, &d);
        s.by_run = 0;
        s.untraced = (int)(i / 2 % 2);
        draw_variants(&all, &s, group, &d, alone);
        for (int32_t workers = 1; workers <= 3; workers++) {
            run_by(workers, &all.p[0], &s, &h, &mixed);
            if (mixed.status != RILL_OK) problem_fail(&all.p[0], &s, seed, mixed.message);
            assert_int_equal(mixed.n_results, all.p[0].n_inputs);
            for (int32_t input = 0; input < all.p[0].n_inputs; input++) {
                const record_result *r = &mixed.result[input];
                int v = request_variant(input);
                assert_ptr_equal(r->user, request_user(&all, input));
                problem_expect_same(&all.p[v], &s, seed, input, r, &alone[v].result[input]);
                compared += v > 0;
            }
            assert_int_equal(mixed.toy.violations, 0);
            engine_record_clear(&mixed);
        }
        for (int v = 0; v < VARIANTS; v++) engine_record_clear(&alone[v]);
    }
    HARNESS_ASSERT_COVERED(compared > harness_iterations(100));
}

/* --- cancelling at random ----------------------------------------------------------------------------------------- */

typedef struct canceller {
    dice d;
    int32_t n_inputs, percent;
    int cancelled[PROBLEM_MAX_INPUTS], n_results[PROBLEM_MAX_INPUTS];
} canceller;

static void set_user(void *user, const problem *p, int32_t i, rill_request *out)
{
    canceller *c = user;
    (void)p;
    c->n_results[i] = 1;
    out->user = i % 2 ? user : NULL;
}

static void cancel_some(void *user, test_cancel cancel, void *runner, const engine_record *so_far)
{
    canceller *c = user;
    for (int32_t i = -1; i <= c->n_inputs; i++) {
        if (!dice_chance(&c->d, c->percent)) continue;
        int known = i >= 0 && i < c->n_inputs && c->n_results[i];
        rill_status status = cancel(runner, i);
        if (!known || so_far->result[i].taken) {
            assert_int_equal(status, RILL_ERR_NOT_FOUND);
        } else {
            assert_true(status == RILL_OK || status == RILL_ERR_NOT_FOUND);
            c->cancelled[i] |= status == RILL_OK;
        }
    }
}

static void cancelled_anywhere(void **state)
{
    (void)state;
    int64_t n_cancelled = 0, n_others = 0, n_restarted = 0;
    for (int64_t i = 0; i < harness_iterations(150); i++) {
        uint64_t seed = harness_seed(1) + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 71));
        problem p;
        schedule s;
        engine_record baseline, some;
        problem_draw_undisturbed(&p, &s, (problem_group)(i % 4), &d, &baseline);
        for (int32_t workers = 1; workers <= 4; workers++) {
            canceller c = {
                .d = dice_seeded(seed + (uint64_t)workers), .n_inputs = p.n_inputs, .percent = DICE_PICK(&d, 1, 5, 20)};
            const hooks h = {.user = &c, .set_request = set_user, .on_call = cancel_some};
            run_by(workers, &p, &s, &h, &some);
            assert_int_equal(some.status, RILL_OK);
            if (some.toy.violations != 0) problem_fail(&p, &s, seed, some.toy.first_violation);
            assert_int_equal(some.stats.inputs, p.n_inputs);
            for (int32_t input = 0; input < p.n_inputs; input++) {
                const record_result *r = &some.result[input];
                assert_int_equal(r->taken, 1);
                assert_ptr_equal(r->user, input % 2 ? &c : NULL);
                if (r->status == RILL_ERR_CANCELLED) {
                    assert_true(c.cancelled[input]);
                    assert_string_equal(r->message, "cancelled");
                    n_cancelled++;
                } else {
                    problem_expect_same(&p, &s, seed, input, r, &baseline.result[input]);
                    n_others++;
                }
            }
            n_restarted += some.stats.restarted;
            engine_record_clear(&some);
        }
        engine_record_clear(&baseline);
    }
    HARNESS_ASSERT_COVERED(n_cancelled > 100 && n_others > 100 && n_restarted > 0);
}

/* --- deadlines at random ------------------------------------------------------------------------------------------ */

/* A clock read by all threads; it advances with each call of reader and writer, and each time it is read. */
typedef struct tick_clock {
    _Atomic int64_t ticks;
    int64_t tick_step; /* ticks per reading */
} tick_clock;

static double read_ticks(void *user)
{
    tick_clock *h = user;
    return 1e-3 * (double)(h->ticks += h->tick_step);
}

static int is_urgent(int32_t i)
{
    return i % 4 != 3;
}

static void set_deadline(void *user, const problem *p, int32_t i, rill_request *out)
{
    (void)p;
    out->user = user;
    if (is_urgent(i)) out->timeout = 1e-3 * (1 + i * 7 % 40);
}

static void tick(void *user, test_cancel cancel, void *runner, const engine_record *so_far)
{
    (void)cancel, (void)runner, (void)so_far;
    ((tick_clock *)user)->ticks++;
}

/* Which inputs are late depends on the threads. Inputs that are not late have their usual results, and inputs without a
 * deadline are never late. */
static void deadlines_anywhere(void **state)
{
    (void)state;
    int64_t n_timed_out = 0, n_nothing = 0, n_others = 0, n_restarted = 0;
    for (int64_t i = 0; i < harness_iterations(150); i++) {
        uint64_t seed = harness_seed(1) + (uint64_t)i;
        dice d = dice_seeded(dice_mix(seed, 72));
        problem p;
        schedule s;
        engine_record baseline, urgent;
        problem_draw_undisturbed(&p, &s, (problem_group)(i % 4), &d, &baseline);
        for (int32_t workers = 1; workers <= 4; workers++) {
            tick_clock user = {.tick_step = dice_range(&d, 0, 2)};
            const hooks h = {.user = &user, .clock = read_ticks, .set_request = set_deadline, .on_call = tick};
            run_by(workers, &p, &s, &h, &urgent);
            assert_int_equal(urgent.status, RILL_OK);
            if (urgent.toy.violations != 0) problem_fail(&p, &s, seed, urgent.toy.first_violation);
            assert_int_equal(urgent.n_results, p.n_inputs);
            for (int32_t input = 0; input < p.n_inputs; input++) {
                const record_result *r = &urgent.result[input];
                assert_ptr_equal(r->user, &user);
                if (r->status == RILL_ERR_DEADLINE || r->timed_out) {
                    assert_true(is_urgent(input));
                    assert_int_equal(r->n > 0, r->status == RILL_OK);
                    assert_true(r->timed_out);
                    *(r->status == RILL_OK ? &n_timed_out : &n_nothing) += 1;
                } else {
                    problem_expect_same(&p, &s, seed, input, r, &baseline.result[input]);
                    n_others++;
                }
            }
            n_restarted += urgent.stats.restarted;
            engine_record_clear(&urgent);
        }
        engine_record_clear(&baseline);
    }
    print_message("%lld late, %lld with nothing, %lld in time\n", (long long)n_timed_out, (long long)n_nothing,
                  (long long)n_others);
    HARNESS_ASSERT_COVERED(n_timed_out > 20 && n_nothing > 100 && n_others > 100 && n_restarted > 0);
}

/* --- fixture for single runs -------------------------------------------------------------------------------------- */

typedef struct bench {
    rill_context *ctx;
    rill_workers *workers;
    harness_memory memory;
    int32_t inputs, n_read, written;
    int32_t window;       /* length of the windows in which inputs are sorted; 0: none */
    int64_t results[512]; /* for each input, the status of its result and the position in order of arrival */
    int64_t order[512];
    char message[512][80];
    pthread_t caller;
} bench;

/* The gate: inputs 0 and 1 wait there to be encoded. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int open, waiting;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void set_gate(int open)
{
    pthread_mutex_lock(&gate.lock);
    gate.open = open;
    if (!open) gate.waiting = 0;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

/* Wait until both workers are at the gate. */
static void await_both(void)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.waiting < 2) pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static rill_status encode_when_gate_opens(void *self, int32_t m, rill_input *inputs)
{
    for (int32_t i = 0; i < m; i++) {
        if (inputs[i].id > 1) continue;
        pthread_mutex_lock(&gate.lock);
        gate.waiting++;
        pthread_cond_broadcast(&gate.changed);
        while (!gate.open) pthread_cond_wait(&gate.changed, &gate.lock);
        pthread_mutex_unlock(&gate.lock);
    }
    return toy_domain.encode(self, m, inputs);
}

/* The caller's thread has an earlier clock: by the clock of the workers, every input that it read with a deadline is
 * late. */
static double clock_by_thread(void *user)
{
    const bench *b = user;
    return pthread_equal(pthread_self(), b->caller) ? 10 : 1000;
}

#define ARGUMENTS "seed=2 depth=6 actions=4 ending=0 legal=100"

static rill_status begin_with(bench *b, const char *domain, int32_t n, rill_clock_fn clock)
{
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = ARGUMENTS};
    rill_workers_options options = {.struct_size = sizeof options, .workers = n};
    rill_chain_entry heuristic = {"absolute", "10"};
    rill_engine_setup setup;
    const rill_engine_setup *setups[3] = {&setup, &setup, &setup};
    rill_engine_setup_default(&setup);
    setup.settings.k = 2;
    setup.settings.n = setup.settings.max_items = 1;
    setup.settings.unordered = 1;
    if (b->window > 0) setup.settings.sort = RILL_SORT_LENGTH, setup.settings.sort_window = b->window;
    setup.heuristics = &heuristic;
    setup.n_heuristics = 1;
    setup.clock = clock;
    setup.clock_user = b;
    rill_status status = rill_workers_open(&b->workers, b->ctx, domain, &open, &options);
    return status < 0 ? status : rill_workers_begin(b->workers, setups);
}

static void prepare(bench *b)
{
    static rill_domain gated;
    gated = toy_domain;
    gated.name = "gated";
    gated.encode = encode_when_gate_opens;
    set_gate(0);
    b->caller = pthread_self();
    b->ctx = harness_begin(&b->memory);
    assert_int_equal(rill_register_domain(b->ctx, &gated), RILL_OK);
}

static void end(bench *b)
{
    rill_workers_close(b->workers);
    harness_end(b->ctx, &b->memory);
}

static rill_status read_text(bench *b, rill_request *out)
{
    static char line[32];
    if (b->n_read == b->inputs) return RILL_END_OF_INPUT;
    out->length = (size_t)snprintf(line, sizeof line, "in %d", (int)b->n_read);
    out->text = line;
    b->n_read++;
    return RILL_OK;
}

static void note(bench *b, const rill_result *result)
{
    b->results[result->id] = result->status;
    b->order[result->id] = b->written++;
    snprintf(b->message[result->id], sizeof b->message[0], "%s", result->message);
}

/* Decode the toy's inputs with this many workers; the caller calls end() after checking the run. */
static rill_status run_through(bench *b, int32_t workers, rill_clock_fn clock, rill_read_request_fn read,
                               rill_write_fn write)
{
    prepare(b);
    assert_int_equal(begin_with(b, "toy", workers, clock), RILL_OK);
    return rill_workers_run_requests(b->workers, read, b, write, b);
}

static rill_status read_plain(void *user, int may_block, rill_request *out)
{
    (void)may_block;
    return read_text(user, out);
}

/* --- windows ------------------------------------------------------------------------------------------------------ */

static _Atomic int32_t encoded, too_early;

static rill_status encode_and_count(void *self, int32_t m, rill_input *inputs)
{
    rill_status status = toy_domain.encode(self, m, inputs);
    encoded += m;
    return status;
}

/* A window is read only after every input of the previous one was taken: these inputs reach the domain without another
 * read. */
static rill_status read_windows(void *user, int may_block, rill_request *out)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    bench *b = user;
    (void)may_block;
    for (int i = 0; b->n_read % b->window == 0 && encoded < b->n_read && !too_early; i++) {
        nanosleep(&moment, NULL);
        too_early = i == 5000;
    }
    return read_text(b, out);
}

static rill_status write_plain(void *user, const rill_result *result)
{
    note(user, result);
    return RILL_OK;
}

static void windows_have_the_set_size(void **state)
{
    (void)state;
    bench b = {.inputs = 60, .window = 10};
    rill_domain counted = toy_domain;
    counted.name = "counted";
    counted.encode = encode_and_count;
    encoded = too_early = 0;
    prepare(&b);
    assert_int_equal(rill_register_domain(b.ctx, &counted), RILL_OK);
    assert_int_equal(begin_with(&b, "counted", 2, NULL), RILL_OK);
    assert_int_equal(rill_workers_run_requests(b.workers, read_windows, &b, write_plain, &b), RILL_OK);
    assert_int_equal(too_early, 0);
    assert_int_equal(b.written, 60);
    end(&b);
}

/* --- cancelling in order ------------------------------------------------------------------------------------------ */

/* Cancel input 50, which is queued: the reader's first call has not returned yet. Ids that do not exist cannot be
 * cancelled. */
static rill_status read_and_cancel(void *user, int may_block, rill_request *out)
{
    bench *b = user;
    (void)may_block;
    if (b->n_read == 100) {
        assert_int_equal(rill_workers_cancel(b->workers, 50), RILL_OK);
        assert_int_equal(rill_workers_cancel(b->workers, 50), RILL_ERR_NOT_FOUND);
        assert_int_equal(rill_workers_cancel(b->workers, 100), RILL_ERR_NOT_FOUND);
        assert_int_equal(rill_workers_cancel(b->workers, -1), RILL_ERR_NOT_FOUND);
    }
    return read_text(b, out);
}

/* While both workers wait at the gate, the first result is that of input 50, so it waited for neither. Then inputs 0
 * and 1, which the workers hold, are cancelled, and the gate opens. */
static rill_status write_and_open(void *user, const rill_result *result)
{
    bench *b = user;
    note(b, result);
    if (b->written > 1) return RILL_OK;
    assert_int_equal(result->id, 50);
    await_both();
    assert_int_equal(rill_workers_cancel(b->workers, 0), RILL_OK);
    assert_int_equal(rill_workers_cancel(b->workers, 0), RILL_OK);
    assert_int_equal(rill_workers_cancel(b->workers, 1), RILL_OK);
    assert_int_equal(rill_workers_cancel(b->workers, 50), RILL_ERR_NOT_FOUND);
    set_gate(1);
    return RILL_OK;
}

static void cancelled_while_queued_or_held(void **state)
{
    (void)state;
    rill_stats stats = {.struct_size = sizeof stats};
    bench b = {.inputs = 200};
    toy_model model;
    char message[100];
    assert_int_equal(toy_model_parse(&model, ARGUMENTS, message, sizeof message), RILL_OK);
    assert_true(toy_input_read(&model, "in 0", 4).depth > 2); /* inputs 0 and 1 need more than one timestep */
    assert_true(toy_input_read(&model, "in 1", 4).depth > 2);
    prepare(&b);
    assert_int_equal(begin_with(&b, "gated", 2, NULL), RILL_OK);
    assert_int_equal(rill_workers_cancel(b.workers, 0), RILL_ERR_NOT_FOUND);
    assert_int_equal(rill_workers_run_requests(b.workers, read_and_cancel, &b, write_and_open, &b), RILL_OK);
    assert_int_equal(b.written, 200);
    for (int32_t i = 0; i < 200; i++) assert_int_equal(b.results[i], i < 2 || i == 50 ? RILL_ERR_CANCELLED : RILL_OK);
    rill_workers_stats(b.workers, &stats);
    assert_int_equal(stats.inputs, 200);
    assert_int_equal(stats.failed, 3);
    assert_int_equal(rill_workers_cancel(b.workers, 1), RILL_ERR_NOT_FOUND);
    rill_workers_finish(b.workers);
    assert_int_equal(rill_workers_cancel(b.workers, 1), RILL_ERR_NOT_FOUND);
    end(&b);
}

static rill_status write_one(void *user, const rill_result *result)
{
    note(user, result);
    return RILL_ERR_STOPPED;
}

/* After the writer has ended a run, cancelling has no effect. */
static void cancelling_after_the_end(void **state)
{
    (void)state;
    for (int32_t workers = 2; workers <= 3; workers++) {
        bench b = {.inputs = 400};
        assert_int_equal(run_through(&b, workers, NULL, read_plain, write_one), RILL_ERR_STOPPED);
        assert_int_equal(b.written, 1);
        assert_int_equal(rill_workers_cancel(b.workers, b.n_read - 1), RILL_ERR_NOT_FOUND);
        end(&b);
    }
}

/* --- deadlines ---------------------------------------------------------------------------------------------------- */

static rill_status read_urgent(void *user, int may_block, rill_request *out)
{
    bench *b = user;
    (void)may_block;
    if (b->n_read % 4 != 3) out->timeout = 5;
    return read_text(b, out);
}

/* Deadlines count from reading, so all inputs are late before a worker takes them; inputs without a deadline are
 * decoded. */
static void late_while_they_wait(void **state)
{
    (void)state;
    for (int32_t workers = 2; workers <= 3; workers++) {
        bench b = {.inputs = 400};
        assert_int_equal(run_through(&b, workers, clock_by_thread, read_urgent, write_plain), RILL_OK);
        assert_int_equal(b.written, 400);
        for (int32_t i = 0; i < 400; i++) {
            assert_int_equal(b.results[i], i % 4 == 3 ? RILL_OK : RILL_ERR_DEADLINE);
            if (i % 4 != 3) assert_string_equal(b.message[i], "the deadline passed before the input was decoded");
        }
        end(&b);
    }
}

/* On the workers' clock a second passes with each encoded input. */
static double clock_by_work(void *user)
{
    return clock_by_thread(user) == 10 ? 10 : 10 + encoded;
}

/* The last hundred inputs have deadlines, in any order. All of them pass before a worker takes the input. */
static int32_t timeout_of_input(int32_t i)
{
    return i < 100 ? 0 : 1 + i * 37 % 90;
}

static rill_status read_half_urgent(void *user, int may_block, rill_request *out)
{
    bench *b = user;
    (void)may_block;
    out->timeout = timeout_of_input(b->n_read);
    return read_text(b, out);
}

/* A late input does not wait for its turn, not even behind others that were late earlier. Its result comes with a
 * worker's next timestep, although a hundred inputs are before it. */
static void deadlines_do_not_queue(void **state)
{
    (void)state;
    bench b = {.inputs = 200};
    rill_domain counted = toy_domain;
    counted.name = "counted";
    counted.encode = encode_and_count;
    encoded = 0;
    prepare(&b);
    assert_int_equal(rill_register_domain(b.ctx, &counted), RILL_OK);
    assert_int_equal(begin_with(&b, "counted", 2, clock_by_work), RILL_OK);
    assert_int_equal(rill_workers_run_requests(b.workers, read_half_urgent, &b, write_plain, &b), RILL_OK);
    for (int32_t late = 0; late < 200; late++) {
        int64_t n_earlier = 0;
        assert_int_equal(b.results[late], late < 100 ? RILL_OK : RILL_ERR_DEADLINE);
        for (int32_t i = 0; i < 100; i++) n_earlier += b.order[i] < b.order[late];
        if (late >= 100) assert_in_range(n_earlier, 0, timeout_of_input(late) + 1);
    }
    end(&b);
}

/* --- invalid inputs ----------------------------------------------------------------------------------------------- */

/* Of every ten inputs, input 3 could not be read; 5 has invalid settings, 7 invalid arguments, 8 an invalid timeout. */
static rill_status read_bad(void *user, int may_block, rill_request *out)
{
    static rill_settings narrow;
    static const char *heuristics[1];
    bench *b = user;
    int32_t i = b->n_read;
    (void)may_block;
    rill_settings_default(&narrow);
    narrow.k = i == 5 ? -4 : 1;
    heuristics[0] = i == 7 ? "much" : "2";
    out->user = &b->results[i];
    out->settings = &narrow;
    out->heuristics = heuristics;
    out->timeout = i == 8 ? (double)NAN : 0;
    rill_status status = read_text(b, out);
    if (i != 3 || status != RILL_OK) return status;
    out->text = "torn";
    return RILL_ERR_INPUT;
}

static rill_status write_bad(void *user, const rill_result *result)
{
    bench *b = user;
    assert_ptr_equal(result->user, &b->results[result->id]);
    note(b, result);
    return RILL_OK;
}

static void bad_requests_fail_alone(void **state)
{
    (void)state;
    for (int32_t workers = 1; workers <= 3; workers++) {
        bench b = {.inputs = 10};
        assert_int_equal(run_through(&b, workers, NULL, read_bad, write_bad), RILL_OK);
        assert_int_equal(b.written, 10);
        for (int32_t i = 0; i < 10; i++) {
            rill_status expected = i == 3 ? RILL_ERR_INPUT : i == 5 || i == 7 || i == 8 ? RILL_ERR_OPTION : RILL_OK;
            assert_int_equal(b.results[i], expected);
        }
        assert_string_equal(b.message[3], "torn");
        assert_non_null(strstr(b.message[5], "beam-size"));
        assert_non_null(strstr(b.message[7], "much"));
        assert_non_null(strstr(b.message[8], "timeout"));
        end(&b);
    }
}

/* Whichever allocation fails, and wherever the threads are then, the run ends cleanly. */
static void memory_is_refused(void **state)
{
    (void)state;
    int64_t failed = 0;
    for (int64_t n = 1; n < harness_iterations(500); n += n < 200 ? 1 : 7) {
        bench b = {.inputs = 40};
        prepare(&b);
        b.memory.failing_request = b.memory.requests + n;
        b.memory.persistent = n % 4 == 0;
        rill_status status = begin_with(&b, n % 3 ? "toy" : "toy-alone", 2, NULL);
        if (status == RILL_OK) status = rill_workers_run_requests(b.workers, read_bad, &b, write_bad, &b);
        if (status == RILL_OK) assert_int_equal(b.written, 40);
        if (status != RILL_OK && status != RILL_ERR_MEMORY) fail_msg("%lld: %s", (long long)n, rill_error(b.ctx));
        failed += status != RILL_OK;
        b.memory.failing_request = 0;
        end(&b);
    }
    HARNESS_ASSERT_COVERED(failed > 50);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(requests_equal_own_engines),
    cmocka_unit_test(cancelled_anywhere),
    cmocka_unit_test(deadlines_anywhere),
    cmocka_unit_test(windows_have_the_set_size),
    cmocka_unit_test(cancelled_while_queued_or_held),
    cmocka_unit_test(cancelling_after_the_end),
    cmocka_unit_test(late_while_they_wait),
    cmocka_unit_test(deadlines_do_not_queue),
    cmocka_unit_test(bad_requests_fail_alone),
    cmocka_unit_test(memory_is_refused),
};

HARNESS_MAIN(tests)
