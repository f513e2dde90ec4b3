/* Inputs that an engine has set aside for want of memory leave early like all others: cancelled, or at their deadlines; of several
 * workers from one that waits, while another has an input in hand that it does not finish. Meant for the thread sanitizer too.
 * With it, from inside: what is not set aside again, and what cannot leave since it is finished. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "rill/workers.h"
#include "rooms.h"
#include "support/harness.h"
#include "support/toy_domain.h"

/* --- one engine --------------------------------------------------------------------------------------------------- */

static double read_hand(void *user)
{
    return *(const double *)user;
}

/* An engine with a tenth of a bound of 40 states, until it has set both inputs aside, which have deadlines. */
static rill_engine *park_both(rill_context *ctx, rill_model *model, double *hand)
{
    rill_engine *engine;
    rill_engine_setup setup;
    rill_engine_setup_default(&setup);
    setup.settings.k = 8;
    setup.settings.max_nodes = 40;
    setup.settings.min_length = 4;
    setup.clock = read_hand;
    setup.clock_user = hand;
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    bound_narrow(engine, 10);
    for (int32_t i = 0; i < 2; i++) {
        rill_request r = {.struct_size = sizeof r, .text = "in 1", .length = 4, .seconds = 5 + i, .user = &hand[i]};
        assert_int_equal(rill_engine_submit_request(engine, &r, NULL), RILL_OK);
    }
    for (int32_t i = 0; i < 100 && engine->bound.n_parked < 2; i++) assert_true(rill_engine_step(engine) >= 0);
    assert_int_equal(engine->bound.n_parked, 2);
    return engine;
}

static void expect_last(rill_engine *engine, rill_status status, const void *user)
{
    rill_result result;
    assert_int_equal(rill_engine_next(engine, &result), RILL_OK);
    assert_int_equal(result.status, status);
    assert_ptr_equal(result.user, user);
}

/* Both ways out, in both orders: the list of those set aside is right whichever leaves first. */
static void set_aside(void **state)
{
    (void)state;
    for (int32_t first = 0; first < 2; first++) {
        double hand[2] = {10, 0};
        harness_memory memory;
        rill_context *ctx = harness_begin(&memory);
        rill_model *model;
        rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = "depth=6 actions=8"};
        assert_int_equal(rill_model_open(&model, ctx, "toy", &open), RILL_OK);
        rill_engine *engine = park_both(ctx, model, hand);
        assert_int_equal(rill_engine_cancel(engine, first), RILL_OK);
        assert_int_equal(rill_engine_cancel(engine, first), RILL_ERR_NOT_FOUND);
        assert_int_equal(engine->bound.n_parked, 1);
        hand[0] = 100;
        assert_int_equal(rill_engine_step(engine), RILL_AGAIN);
        assert_int_equal(engine->bound.n_parked, 0);
        assert_int_equal(rill_engine_pending(engine), 0);
        assert_int_equal(engine->forest.nodes, 0);
        for (int32_t i = 0; i < 2; i++) expect_last(engine, i == first ? RILL_ERR_CANCELLED : RILL_ERR_LATE, &hand[i]);
        rill_engine_destroy(engine);
        rill_model_close(model);
        harness_end(ctx, &memory);
    }
}

/* One in flight and two that wait: when their deadlines have come, none of them is taken in any more. */
static void waiting(void **state)
{
    (void)state;
    double hand = 10;
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
    setup.clock = read_hand;
    setup.clock_user = &hand;
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    for (int32_t i = 0; i < 3; i++) {
        rill_request r = {.struct_size = sizeof r, .text = "in 1", .length = 4, .seconds = 5};
        assert_int_equal(rill_engine_submit_request(engine, &r, NULL), RILL_OK);
    }
    assert_int_equal(rill_engine_step(engine), RILL_OK);
    assert_int_equal(engine->flight.n, 1);
    assert_int_equal(engine->intake.n, 2);
    hand = 100;
    assert_true(rill_engine_step(engine) >= 0);
    assert_int_equal(rill_engine_pending(engine), 0);
    for (int32_t i = 0; i < 3; i++) {
        rill_result result;
        assert_int_equal(rill_engine_next(engine, &result), RILL_OK);
        assert_true(i == 0 || (result.status == RILL_ERR_LATE && result.n == 0));
    }
    rill_engine_destroy(engine);
    rill_model_close(model);
    harness_end(ctx, &memory);
}

/* The whole bound for inputs, too: one that is encoded once its engine has all the memory is not set aside again. */
static void all_the_memory(void **state)
{
    (void)state;
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup setup;
    rill_result result;
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = "depth=3 actions=4"};
    assert_int_equal(rill_model_open(&model, ctx, "toy", &open), RILL_OK);
    rill_engine_setup_default(&setup);
    setup.settings.k = 2;
    setup.settings.memory = 4 * 10 * TOY_SLOT_BYTES;
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    bound_narrow(engine, 10);
    assert_int_equal(rill_engine_submit(engine, "in 1", 4), RILL_OK);
    assert_true(rill_engine_step(engine) >= 0);
    assert_int_equal(engine->bound.n_parked, 1);
    bound_widen(engine);
    assert_int_equal(rill_engine_submit(engine, "in 1", 4), RILL_OK);
    rill_engine_close_input(engine);
    for (int32_t i = 0; i < 100 && rill_engine_pending(engine) > 0; i++) assert_true(rill_engine_step(engine) >= 0);
    assert_int_equal(rill_engine_pending(engine), 0);
    for (int32_t i = 0; i < 2; i++) {
        assert_int_equal(rill_engine_next(engine, &result), RILL_OK);
        assert_int_equal(result.status, RILL_OK);
    }
    rill_engine_destroy(engine);
    rill_model_close(model);
    harness_end(ctx, &memory);
}

/* --- what is finished --------------------------------------------------------------------------------------------- */

static void finish_input(outbox *o, int64_t id)
{
    outbox_record *record;
    assert_int_equal(outbox_record_get(o, id, &record), RILL_OK);
    outbox_put(o, record);
}

/* What has its result cannot leave, however many inputs come behind one that is slow; once that is done there is room as before. */
static void finished_while_the_first_is_not(void **state)
{
    (void)state;
    for (int unordered = 0; unordered < 2; unordered++) {
        harness_memory memory;
        rill_context *ctx = harness_begin(&memory);
        rill_settings settings;
        rill_result result;
        outbox o;
        int64_t id, n = 0;
        rill_settings_default(&settings);
        settings.unordered = unordered;
        outbox_init(&o, ctx, &settings);
        const int64_t room = outbox_room(&o);
        for (int64_t i = 0; i < 300; i++) {
            assert_int_equal(outbox_number(&o, &id), RILL_OK);
            if (id % 3 != 0) finish_input(&o, id);
            for (int64_t j = 0; j <= id; j++) assert_int_equal(outbox_has_finished(&o, j), j % 3 != 0);
        }
        for (int64_t i = 0; i < 300; i += 3) finish_input(&o, i);
        while (outbox_next(&o, 0, &result) == RILL_OK) n++;
        assert_int_equal(n, 300);
        assert_int_equal(outbox_room(&o), room);
        outbox_finish(&o);
        harness_end(ctx, &memory);
    }
}

/* --- of a worker that waits --------------------------------------------------------------------------------------- */

/* Input 0 is decoded by a worker that stops in its first timestep until the stage is 1, and in its third until it is 2. Input 1 wants
 * more states than the other worker's share: that one waits for the first to finish. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int stage, steps;
    const void *first; /* the runner that has input 0 */
    _Atomic int *hand; /* of the clock, which its second timestep moves to the deadlines; NULL: it does not */
} play = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void set_stage(int stage)
{
    pthread_mutex_lock(&play.lock);
    play.stage = stage;
    pthread_cond_broadcast(&play.changed);
    pthread_mutex_unlock(&play.lock);
}

static rill_status encode_noting(void *self, int32_t m, rill_input *inputs)
{
    pthread_mutex_lock(&play.lock);
    for (int32_t i = 0; i < m; i++)
        if (inputs[i].id == 0) play.first = self;
    pthread_mutex_unlock(&play.lock);
    return toy_domain.encode(self, m, inputs);
}

static const struct timespec a_moment = {.tv_nsec = 5000000};

static rill_status step_in_stages(void *self, const rill_rows *rows)
{
    pthread_mutex_lock(&play.lock);
    if (self == play.first) {
        const int step = play.steps++;
        if (step == 1 && play.hand != NULL) {
            nanosleep(&a_moment, NULL); /* in which the other one begins to wait; if it does not, the test shows less */
            *play.hand = 1000;
        }
        while ((step == 0 && play.stage < 1) || (step == 2 && play.stage < 2))
            pthread_cond_wait(&play.changed, &play.lock);
    }
    pthread_mutex_unlock(&play.lock);
    return toy_domain.step(self, rows);
}

/* How input 1 leaves: the reader cancels it, or moves the clock to its deadline; or the reader has ended by then, and it is the other
 * worker that looks at the time. */
typedef enum how { CANCELLED, LATE, LATE_ALONE } how;

typedef struct scene {
    rill_workers *workers;
    how way;
    _Atomic int now;
    int given, acted, written;
    rill_settings settings[2];
    rill_status status[2];
    int came[2];
} scene;

static double read_scene(void *user)
{
    return ((scene *)user)->now;
}

static void watch_it_set_aside(void *user, const rill_trace_event *event)
{
    const scene *c = user;
    if (c->way == LATE_ALONE && event->kind == RILL_TRACE_SENT_BACK) set_stage(1);
}

/* Both inputs, then nothing for now until input 1 is seen to be set aside; then it is to leave. */
static rill_status read_scenes(void *user, int may_block, rill_request *out)
{
    scene *c = user;
    rill_stats stats = {.struct_size = sizeof stats};
    (void)may_block;
    if (c->given < 2) {
        out->text = "in 0";
        out->length = 4;
        out->settings = &c->settings[c->given];
        out->seconds = c->given == 1 ? 5 : 0;
        c->given++;
        return RILL_OK;
    }
    if (c->written > 0 || c->way == LATE_ALONE) return RILL_END_OF_INPUT;
    rill_workers_stats(c->workers, &stats);
    if (stats.sent_back == 0 || c->acted) return RILL_AGAIN;
    c->acted = 1;
    if (c->way == LATE) {
        c->now = 1000;
        set_stage(1);
    } else {
        assert_int_equal(rill_workers_cancel(c->workers, 1), RILL_OK);
    }
    return RILL_AGAIN;
}

static rill_status write_scenes(void *user, const rill_result *result)
{
    scene *c = user;
    c->status[result->id] = result->status;
    c->came[result->id] = c->written++;
    if (result->id == 1) set_stage(2);
    return RILL_OK;
}

static void leaves_while_it_waits(how way)
{
    static const char arguments[] = "seed=1 depth=8 actions=8 ending=0 legal=100";
    char message[100];
    toy_model toy;
    rill_domain staged = toy_domain;
    rill_engine_setup setup;
    const rill_engine_setup *setups[2] = {&setup, &setup};
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = arguments};
    rill_workers_options options = {.struct_size = sizeof options, .workers = 2};
    scene c = {.way = way, .now = 10};
    assert_int_equal(toy_model_parse(&toy, arguments, message, sizeof message), RILL_OK);
    assert_true(toy_input_read(&toy, "in 0", 4).depth > 3);
    play.stage = play.steps = 0;
    play.first = NULL;
    play.hand = way == LATE_ALONE ? &c.now : NULL;
    staged.name = "staged";
    staged.encode = encode_noting;
    staged.step = step_in_stages;
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    assert_int_equal(rill_register_domain(ctx, &staged), RILL_OK);
    rill_engine_setup_default(&setup);
    setup.settings.n = setup.settings.max_items = 1;
    setup.settings.max_nodes = 10;
    setup.settings.unordered = 1;
    setup.clock = read_scene;
    setup.clock_user = &c;
    setup.trace = watch_it_set_aside;
    setup.trace_user = &c;
    for (int i = 0; i < 2; i++) {
        c.settings[i] = setup.settings;
        c.settings[i].k = i == 0 ? 1 : 8;
    }
    assert_int_equal(rill_workers_open(&c.workers, ctx, "staged", &open, &options), RILL_OK);
    assert_int_equal(rill_workers_begin(c.workers, setups), RILL_OK);
    assert_int_equal(rill_workers_run_requests(c.workers, read_scenes, &c, write_scenes, &c), RILL_OK);
    assert_int_equal(c.status[0], RILL_OK);
    assert_int_equal(c.status[1], way == CANCELLED ? RILL_ERR_CANCELLED : RILL_ERR_LATE);
    assert_true(c.came[1] < c.came[0]);
    rill_workers_close(c.workers);
    harness_end(ctx, &memory);
}

static void of_a_worker_that_waits(void **state)
{
    (void)state;
    for (how way = CANCELLED; way <= LATE_ALONE; way++) leaves_while_it_waits(way);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(waiting),
    cmocka_unit_test(set_aside),
    cmocka_unit_test(all_the_memory),
    cmocka_unit_test(finished_while_the_first_is_not),
    cmocka_unit_test(of_a_worker_that_waits),
};

HARNESS_MAIN(tests)
