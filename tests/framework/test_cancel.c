/* Inputs that are cancelled or pass their deadlines leave from wherever they are: queued, set aside for lack of memory,
 * or held by another worker. Finished inputs cannot be cancelled, and no input leaves twice. With several workers, the
 * domain's calls wait for numbered stages, which puts each input where the test needs it. Meant for the thread
 * sanitizer too.
 *
 * Sections: one engine · stages · set aside · finished · cancelled twice. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "rill/workers.h"
#include "support/async_domain.h"
#include "support/harness.h"
#include "support/toy_domain.h"

/* --- one engine --------------------------------------------------------------------------------------------------- */

static double read_double_clock(void *user)
{
    return *(const double *)user;
}

static void count_admitted(void *user, const rill_trace_event *event)
{
    *(int *)user += event->kind == RILL_TRACE_ADMITTED;
}

/* One input in flight and two queued: when the queued ones' deadlines have passed, they are never admitted. */
static void cancelled_while_queued(void **state)
{
    (void)state;
    double seconds = 10;
    int admitted = 0;
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup setup;
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = "depth=6 actions=8"};
    assert_int_equal(rill_model_open(&model, ctx, "toy", &open), RILL_OK);
    rill_engine_setup_default(&setup);
    setup.settings.n = setup.settings.max_items = 1;
    setup.settings.min_length = 4;
    setup.settings.sort = RILL_SORT_LENGTH;
    setup.settings.sort_window = 3;
    setup.clock = read_double_clock;
    setup.clock_user = &seconds;
    setup.trace = count_admitted;
    setup.trace_user = &admitted;
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    for (int32_t i = 0; i < 3; i++) {
        rill_request r = {.struct_size = sizeof r, .text = "in 1", .length = 4, .timeout = 5};
        assert_int_equal(rill_engine_submit_request(engine, &r, NULL), RILL_OK);
    }
    assert_int_equal(rill_engine_step(engine), RILL_OK);
    seconds = 100;
    assert_true(rill_engine_step(engine) >= 0);
    assert_int_equal(harness_finished(engine), 3);
    assert_int_equal(admitted, 1);
    for (int32_t i = 0; i < 3; i++) {
        const rill_result *result;
        assert_int_equal(rill_engine_next(engine, &result), RILL_OK);
        assert_int_equal(result->timed_out, 1);
        assert_int_equal(result->n_outputs > 0, i == 0);
        assert_int_equal(result->status, i == 0 ? RILL_OK : RILL_ERR_DEADLINE);
    }
    rill_engine_destroy(engine);
    rill_model_close(model);
    harness_end(ctx, &memory);
}

/* --- stages ------------------------------------------------------------------------------------------------------- */

enum { LAST_STAGE = 4 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int stage, steps;
    int64_t slow;            /* the input whose worker waits for stages */
    const void *slow_runner; /* the runner that decodes this input */
    _Atomic int *test_clock;
} stages = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void set_stage(int stage)
{
    pthread_mutex_lock(&stages.lock);
    stages.stage = stage;
    pthread_cond_broadcast(&stages.changed);
    pthread_mutex_unlock(&stages.lock);
}

/* Wait for a stage, with a timeout, so that an error fails the test instead of hanging it. The lock is held. */
static void await_stage(int stage)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    while (stages.stage < stage && pthread_cond_timedwait(&stages.changed, &stages.lock, &until) == 0) continue;
}

static void read_stages(int *stage, int *steps)
{
    pthread_mutex_lock(&stages.lock);
    *stage = stages.stage;
    *steps = stages.steps;
    pthread_mutex_unlock(&stages.lock);
}

static void begin_stages(int64_t slow)
{
    pthread_mutex_lock(&stages.lock);
    stages.stage = stages.steps = 0;
    stages.slow = slow;
    stages.slow_runner = NULL;
    pthread_mutex_unlock(&stages.lock);
}

static rill_status encode_and_note_runner(void *self, int32_t m, rill_input *inputs)
{
    pthread_mutex_lock(&stages.lock);
    for (int32_t i = 0; i < m; i++)
        if (inputs[i].id == stages.slow) stages.slow_runner = self;
    pthread_mutex_unlock(&stages.lock);
    return toy_domain.encode(self, m, inputs);
}

/* The slow input's worker waits in its n-th timestep until the stage is n. */
static rill_status step_in_stages(void *self, const rill_rows *rows)
{
    static const struct timespec a_moment = {.tv_nsec = 5000000};
    pthread_mutex_lock(&stages.lock);
    if (self == stages.slow_runner) {
        const int step = stages.steps++;
        if (step < LAST_STAGE) await_stage(step + 1);
        if (stages.test_clock != NULL && step < LAST_STAGE - 1) {
            /* Give the other worker time to start waiting. Without it the test still passes but shows less. */
            nanosleep(&a_moment, NULL);
            ++*stages.test_clock;
        }
    }
    pthread_mutex_unlock(&stages.lock);
    return toy_domain.step(self, rows);
}

#define ARGUMENTS "seed=1 depth=8 actions=8 ending=0 legal=100"

/* Two workers with this domain. The slow input "in 0" has enough timesteps for all stages. */
typedef struct stage_set {
    rill_context *ctx;
    rill_workers *workers;
    harness_memory memory;
} stage_set;

static void decode_staged(stage_set *s, const rill_domain *table, const rill_engine_setup *setup,
                          rill_read_request_fn read, rill_write_fn write, void *user)
{
    const rill_engine_setup *setups[2] = {setup, setup};
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = ARGUMENTS};
    rill_workers_options options = {.struct_size = sizeof options, .workers = 2};
    rill_stats stats = {.struct_size = sizeof stats};
    char message[100];
    toy_model toy;
    assert_int_equal(toy_model_parse(&toy, ARGUMENTS, message, sizeof message), RILL_OK);
    assert_true(toy_input_read(&toy, "in 0", 4).depth > LAST_STAGE);
    s->ctx = harness_begin(&s->memory);
    assert_int_equal(rill_register_domain(s->ctx, table), RILL_OK);
    assert_int_equal(rill_workers_open(&s->workers, s->ctx, table->name, &open, &options), RILL_OK);
    assert_int_equal(rill_workers_begin(s->workers, setups), RILL_OK);
    assert_int_equal(rill_workers_run_requests(s->workers, read, user, write, user), RILL_OK);
    rill_workers_stats(s->workers, &stats);
    assert_int_equal(stats.nodes_in_use, 0);
    rill_workers_close(s->workers);
    harness_end(s->ctx, &s->memory);
}

static rill_domain staged_toy(void)
{
    rill_domain staged = toy_domain;
    staged.name = "staged";
    staged.encode = encode_and_note_runner;
    staged.step = step_in_stages;
    return staged;
}

/* --- set aside ---------------------------------------------------------------------------------------------------- */

/* Input 0 is slow; input 1 belongs to the other worker. When input 1 is written, that worker goes on to the wide
 * inputs. They need more states than its share, so it waits for input 0 to finish, and so does one small input after
 * them. The wide inputs leave in one of three ways. The reader cancels one, then moves the clock past the deadlines of
 * the others; or it moves the clock past one deadline after the other; or the reader has ended, and input 0's worker
 * moves the clock. Then the last input can be decoded. The youngest in flight gives up its states for the oldest, which
 * is then set aside; so the n-th input restarts n times. */
enum { N_WIDE = LAST_STAGE - 1, N_INPUTS = 2 + N_WIDE + 1, N_RESTARTED = N_WIDE * (N_WIDE + 1) / 2, START = 10 };
typedef enum cancel_kind { BY_CANCEL, BY_DEADLINE, BY_DEADLINE_ALONE } cancel_kind;

typedef struct restart_case {
    stage_set set;
    cancel_kind kind;
    int64_t first; /* the first wide input is cancelled */
    _Atomic int now;
    int n_restarted, n_read, cancelled, written;
    rill_settings settings[N_INPUTS];
    rill_status status[N_INPUTS];
    int order[N_INPUTS];
} restart_case;

static int is_wide(int64_t i)
{
    return i > 1 && i <= 1 + N_WIDE;
}

static int input_timeout(int64_t i)
{
    return is_wide(i) ? (int)i - 1 : 0;
}

static double read_case_clock(void *user)
{
    return ((restart_case *)user)->now;
}

static void count_restarts(void *user, const rill_trace_event *event)
{
    restart_case *c = user;
    c->n_restarted += event->kind == RILL_TRACE_RESTARTED;
    if (c->n_restarted == N_RESTARTED && c->kind == BY_DEADLINE_ALONE) set_stage(N_WIDE);
}

/* Called when all wide ones are set aside and their worker waits. */
static void cancel_wide(restart_case *c)
{
    if (c->kind == BY_CANCEL && !c->cancelled) {
        c->cancelled = 1;
        assert_int_equal(rill_workers_cancel(c->set.workers, c->first), RILL_OK);
    } else if (c->kind == BY_CANCEL && c->written == 2) {
        c->now = 1000;
        set_stage(N_WIDE);
    } else if (c->kind == BY_DEADLINE && c->written <= N_WIDE) {
        c->now = START + input_timeout(c->written + 1);
        set_stage(c->written);
    }
}

static rill_status read_case_inputs(void *user, int may_block, rill_request *out)
{
    restart_case *c = user;
    int stage, steps;
    rill_stats stats = {.struct_size = sizeof stats};
    (void)may_block;
    read_stages(&stage, &steps);
    rill_workers_stats(c->set.workers, &stats);
    if (c->n_read == N_INPUTS && (c->kind == BY_DEADLINE_ALONE || c->written > 1 + N_WIDE)) return RILL_END_OF_INPUT;
    if (c->n_read == N_INPUTS && stats.restarted == N_RESTARTED) cancel_wide(c);
    if (c->n_read == N_INPUTS || (c->n_read == 2 && (steps == 0 || c->written == 0))) return RILL_AGAIN;
    out->text = "in 0";
    out->length = 4;
    out->settings = &c->settings[c->n_read];
    out->timeout = input_timeout(c->n_read);
    c->n_read++;
    return RILL_OK;
}

static rill_status write_case_results(void *user, const rill_result *result)
{
    restart_case *c = user;
    c->status[result->id] = result->status;
    c->order[result->id] = c->written++;
    if (c->written == N_INPUTS - 1) set_stage(LAST_STAGE);
    return RILL_OK;
}

static void cancel_while_set_aside(cancel_kind way, int64_t first)
{
    rill_domain staged = staged_toy();
    rill_engine_setup setup;
    restart_case c = {.kind = way, .first = first, .now = START};
    begin_stages(0);
    stages.test_clock = way == BY_DEADLINE_ALONE ? &c.now : NULL;
    rill_engine_setup_default(&setup);
    setup.settings.k = 1;
    setup.settings.n = setup.settings.max_items = N_WIDE;
    setup.settings.max_nodes = 20;
    setup.settings.unordered = 1;
    setup.clock = read_case_clock;
    setup.clock_user = &c;
    setup.trace = count_restarts;
    setup.trace_user = &c;
    for (int i = 0; i < N_INPUTS; i++) {
        c.settings[i] = setup.settings;
        c.settings[i].k = is_wide(i) ? 8 : 1;
    }
    decode_staged(&c.set, &staged, &setup, read_case_inputs, write_case_results, &c);
    assert_int_equal(c.n_restarted, N_RESTARTED);
    assert_int_equal(c.written, N_INPUTS);
    for (int64_t i = 0; i < N_INPUTS; i++) {
        const rill_status wanted = way == BY_CANCEL && i == first ? RILL_ERR_CANCELLED : RILL_ERR_DEADLINE;
        assert_int_equal(c.status[i], is_wide(i) ? wanted : RILL_OK);
        assert_true(i == 0 || c.order[i] < c.order[0]);
    }
}

static void cancelled_while_set_aside(void **state)
{
    (void)state;
    for (int64_t first = 2; is_wide(first); first++) cancel_while_set_aside(BY_CANCEL, first);
    cancel_while_set_aside(BY_DEADLINE, 0);
    cancel_while_set_aside(BY_DEADLINE_ALONE, 0);
}

/* --- finished ----------------------------------------------------------------------------------------------------- */

/* Inputs in rounds; the first of each round is slow. A round begins when the previous one is written. */
enum { ROUNDS = 3, ROUND = 300 };

typedef struct rounds {
    stage_set set;
    int64_t n_read, written;
} rounds;

static rill_status cancel_in_turn(const rounds *r, int64_t id)
{
    return rill_workers_cancel(r->set.workers, id);
}

static rill_status read_rounds(void *user, int may_block, rill_request *out)
{
    rounds *r = user;
    int stage, steps;
    rill_stats stats = {.struct_size = sizeof stats};
    (void)may_block;
    read_stages(&stage, &steps);
    rill_workers_stats(r->set.workers, &stats);
    if (stage == 0 && r->n_read == stages.slow + ROUND && stats.inputs == r->n_read - 1 && steps > 0) {
        for (int64_t id = -1; id <= r->n_read; id++)
            assert_int_equal(cancel_in_turn(r, id), id == stages.slow ? RILL_OK : RILL_ERR_NOT_FOUND);
        set_stage(LAST_STAGE);
    }
    if (r->written == ROUNDS * ROUND) return RILL_END_OF_INPUT;
    if (r->written == stages.slow + ROUND) begin_stages(r->n_read);
    if (r->n_read == stages.slow + ROUND) return RILL_AGAIN;
    out->text = "in 0";
    out->length = 4;
    r->n_read++;
    return RILL_OK;
}

static rill_status write_rounds(void *user, const rill_result *result)
{
    rounds *r = user;
    assert_int_equal(result->status, result->id % ROUND == 0 ? RILL_ERR_CANCELLED : RILL_OK);
    r->written++;
    return RILL_OK;
}

/* Finished inputs cannot be cancelled, even if many of them wait for the result of a slow input. The slow input can be. Afterwards as many
 * slots are free as before. */
static void finished_inputs_cannot_be_cancelled(void **state)
{
    (void)state;
    for (int unordered = 0; unordered < 2; unordered++) {
        rill_domain staged = staged_toy();
        rill_engine_setup setup;
        rounds r = {.n_read = 0};
        begin_stages(0);
        stages.test_clock = NULL;
        rill_engine_setup_default(&setup);
        setup.settings.k = setup.settings.n = setup.settings.max_items = 1;
        setup.settings.unordered = unordered;
        decode_staged(&r.set, &staged, &setup, read_rounds, write_rounds, &r);
        assert_int_equal(r.written, ROUNDS * ROUND);
    }
}

/* --- cancelled twice ---------------------------------------------------------------------------------------------- */

/* With an asynchronous domain, all inputs are cancelled in the first timestep. While a worker cancels an idle input,
 * the busy one that it has just cancelled is cancelled again. */
typedef struct double_cancel {
    stage_set set;
    int64_t n_read, written;
    int backwards; /* cancel in reverse order, since the scheduler decides which of the two items is busy */
} double_cancel;

static rill_status step_at_stage(void *self, const rill_rows *rows)
{
    pthread_mutex_lock(&stages.lock);
    stages.steps++;
    await_stage(1);
    pthread_mutex_unlock(&stages.lock);
    return toy_domain.step(self, rows);
}

static void drop_at_stage(void *self, int32_t slot)
{
    pthread_mutex_lock(&stages.lock);
    if (stages.stage == 1) {
        stages.stage = 2;
        await_stage(3);
    }
    pthread_mutex_unlock(&stages.lock);
    toy_domain.drop(self, slot);
}

static rill_status read_and_cancel_twice(void *user, int may_block, rill_request *out)
{
    double_cancel *t = user;
    int stage, steps;
    (void)may_block;
    out->text = "in 0";
    out->length = 4;
    if (t->n_read < 4) return t->n_read++, RILL_OK;
    read_stages(&stage, &steps);
    if (stage == 3) return RILL_END_OF_INPUT;
    if (steps == 0 || stage == 1) return RILL_AGAIN;
    for (int64_t i = 0; i < 4; i++) {
        const rill_status status = rill_workers_cancel(t->set.workers, t->backwards ? 3 - i : i);
        assert_true(status == RILL_OK || (stage == 2 && status == RILL_ERR_NOT_FOUND));
    }
    set_stage(stage + 1);
    return RILL_AGAIN;
}

static rill_status write_cancelled(void *user, const rill_result *result)
{
    assert_int_equal(result->status, RILL_ERR_CANCELLED);
    ((double_cancel *)user)->written++;
    return RILL_OK;
}

static void cancelled_twice(void **state)
{
    (void)state;
    for (int backwards = 0; backwards < 2; backwards++) {
        static rill_domain staged;
        static async_table late;
        rill_engine_setup setup;
        double_cancel t = {.backwards = backwards};
        begin_stages(0);
        staged = toy_domain;
        staged.step = step_at_stage;
        staged.drop = drop_at_stage;
        async_make(&late, "staged", &staged, 1);
        rill_engine_setup_default(&setup);
        setup.settings.k = 1;
        setup.settings.n = setup.settings.max_items = 2;
        setup.settings.unordered = 1;
        decode_staged(&t.set, &late.domain, &setup, read_and_cancel_twice, write_cancelled, &t);
        assert_int_equal(t.written, 4);
    }
}

/* A cancellation that failed because there was no memory for the result can be repeated. */
static void cancelled_again_without_memory(void **state)
{
    (void)state;
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup setup;
    const rill_open_options open = {
        .struct_size = sizeof open, .threads = 1, .arguments = "seed=5 depth=6 actions=4 ending=5 legal=95"};
    rill_engine_setup_default(&setup);
    setup.settings.k = 8;
    setup.settings.n = setup.settings.max_items = 4;
    assert_int_equal(rill_model_open(&model, ctx, "toy", &open), RILL_OK);
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    for (int i = 0; i < 4; i++) assert_int_equal(rill_engine_submit(engine, "in", 2), RILL_OK);
    assert_int_equal(rill_engine_step(engine), RILL_OK);
    memory.failing_request = memory.requests + 1;
    assert_int_equal(rill_engine_cancel(engine, 2), RILL_ERR_MEMORY);
    memory.failing_request = 0;
    assert_int_equal(rill_engine_cancel(engine, 2), RILL_OK);
    assert_int_equal(rill_engine_cancel(engine, 2), RILL_ERR_NOT_FOUND);
    assert_int_equal(harness_finished(engine), 1);
    rill_engine_destroy(engine);
    rill_model_close(model);
    harness_end(ctx, &memory);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(cancelled_while_queued),
    cmocka_unit_test(cancelled_while_set_aside),
    cmocka_unit_test(finished_inputs_cannot_be_cancelled),
    cmocka_unit_test(cancelled_twice),
    cmocka_unit_test(cancelled_again_without_memory),
};

HARNESS_MAIN(tests)
