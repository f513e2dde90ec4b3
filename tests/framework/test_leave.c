/* Inputs leave early wherever they are: waiting, set aside for want of memory, in another's hands; cancelled, or at their deadlines. What
 * is finished cannot leave, and nobody leaves twice. Of several workers each is where its input's domain says, by stages that its
 * calls wait for. Meant for the thread sanitizer too.
 *
 * Divisions: one engine · stages · set aside · finished · given up twice. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "rill/workers.h"
#include "support/harness.h"
#include "support/late_domain.h"
#include "support/toy_domain.h"

/* --- one engine --------------------------------------------------------------------------------------------------- */

static double read_hand(void *user)
{
    return *(const double *)user;
}

static void count_admitted(void *user, const rill_trace_event *event)
{
    *(int *)user += event->kind == RILL_TRACE_ADMITTED;
}

/* One in flight and two that wait: when their deadlines have come, none of them is taken in any more. */
static void waiting(void **state)
{
    (void)state;
    double hand = 10;
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
    setup.clock = read_hand;
    setup.clock_user = &hand;
    setup.trace = count_admitted;
    setup.trace_user = &admitted;
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    for (int32_t i = 0; i < 3; i++) {
        rill_request r = {.struct_size = sizeof r, .text = "in 1", .length = 4, .seconds = 5};
        assert_int_equal(rill_engine_submit_request(engine, &r, NULL), RILL_OK);
    }
    assert_int_equal(rill_engine_step(engine), RILL_OK);
    hand = 100;
    assert_true(rill_engine_step(engine) >= 0);
    assert_int_equal(rill_engine_pending(engine), 0);
    assert_int_equal(admitted, 1);
    for (int32_t i = 0; i < 3; i++) {
        rill_result result;
        assert_int_equal(rill_engine_next(engine, &result), RILL_OK);
        assert_int_equal(result.late, i == 0);
        assert_int_equal(result.n > 0, i == 0);
        assert_int_equal(result.status, i == 0 ? RILL_OK : RILL_ERR_LATE);
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
    int64_t slow;     /* the input whose worker waits */
    const void *mine; /* the runner that has it */
    _Atomic int *hand;
} play = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void set_stage(int stage)
{
    pthread_mutex_lock(&play.lock);
    play.stage = stage;
    pthread_cond_broadcast(&play.changed);
    pthread_mutex_unlock(&play.lock);
}

/* Not for ever: what is broken is to fail, not to hang. The lock is held. */
static void await_stage(int stage)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    while (play.stage < stage && pthread_cond_timedwait(&play.changed, &play.lock, &until) == 0) continue;
}

static void read_play(int *stage, int *steps)
{
    pthread_mutex_lock(&play.lock);
    *stage = play.stage;
    *steps = play.steps;
    pthread_mutex_unlock(&play.lock);
}

static void begin_play(int64_t slow)
{
    pthread_mutex_lock(&play.lock);
    play.stage = play.steps = 0;
    play.slow = slow;
    play.mine = NULL;
    pthread_mutex_unlock(&play.lock);
}

static rill_status encode_noting(void *self, int32_t m, rill_input *inputs)
{
    pthread_mutex_lock(&play.lock);
    for (int32_t i = 0; i < m; i++)
        if (inputs[i].id == play.slow) play.mine = self;
    pthread_mutex_unlock(&play.lock);
    return toy_domain.encode(self, m, inputs);
}

/* The slow input's worker stops in its n-th timestep until the stage is n. */
static rill_status step_in_stages(void *self, const rill_rows *rows)
{
    static const struct timespec a_moment = {.tv_nsec = 5000000};
    pthread_mutex_lock(&play.lock);
    if (self == play.mine) {
        const int step = play.steps++;
        if (step < LAST_STAGE) await_stage(step + 1);
        if (play.hand != NULL && step < LAST_STAGE - 1) {
            nanosleep(&a_moment, NULL); /* in which the other one begins to wait; if it does not, the test shows less */
            ++*play.hand;
        }
    }
    pthread_mutex_unlock(&play.lock);
    return toy_domain.step(self, rows);
}

#define ARGUMENTS "seed=1 depth=8 actions=8 ending=0 legal=100"

/* Two workers with a domain of that table's calls, whose inputs "in 0" are long enough for all stages. */
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
    staged.encode = encode_noting;
    staged.step = step_in_stages;
    return staged;
}

/* --- set aside ---------------------------------------------------------------------------------------------------- */

/* Input 0 is the slow one, and input 1 the other worker's: when it is written, that one waits for more. It takes half of all there are
 * then: WIDE ones, which want more states than its share, so that it waits for the first to finish, and one that takes little waits with
 * it. How the wide ones leave: the reader cancels one of them, then moves the clock past their deadlines; or to one after the other; or
 * it has ended by then, and the slow one's worker moves the clock so. Then the last can be decoded.
 * The youngest in flight give their states up for the oldest, which then is set aside: so the n-th does so n times. */
enum { WIDE = LAST_STAGE - 1, SCENE = 2 + WIDE + 1, SENT_BACK = WIDE * (WIDE + 1) / 2, START = 10 };
typedef enum how { CANCELLED, LATE, LATE_ALONE } how;

typedef struct scene {
    stage_set set;
    how way;
    int64_t first; /* is cancelled */
    _Atomic int now;
    int sent_back, given, cancelled, written;
    rill_settings settings[SCENE];
    rill_status status[SCENE];
    int came[SCENE];
} scene;

static int is_wide(int64_t i)
{
    return i > 1 && i <= 1 + WIDE;
}

static int seconds_of(int64_t i)
{
    return is_wide(i) ? (int)i - 1 : 0;
}

static double read_scene(void *user)
{
    return ((scene *)user)->now;
}

static void watch_them_set_aside(void *user, const rill_trace_event *event)
{
    scene *c = user;
    c->sent_back += event->kind == RILL_TRACE_SENT_BACK;
    if (c->sent_back == SENT_BACK && c->way == LATE_ALONE) set_stage(WIDE);
}

/* All wide ones are set aside, and their worker waits. */
static void have_leave(scene *c)
{
    if (c->way == CANCELLED && !c->cancelled) {
        c->cancelled = 1;
        assert_int_equal(rill_workers_cancel(c->set.workers, c->first), RILL_OK);
    } else if (c->way == CANCELLED && c->written == 2) {
        c->now = 1000;
        set_stage(WIDE);
    } else if (c->way == LATE && c->written <= WIDE) {
        c->now = START + seconds_of(c->written + 1);
        set_stage(c->written);
    }
}

static rill_status read_scenes(void *user, int may_block, rill_request *out)
{
    scene *c = user;
    int stage, steps;
    rill_stats stats = {.struct_size = sizeof stats};
    (void)may_block;
    read_play(&stage, &steps);
    rill_workers_stats(c->set.workers, &stats);
    if (c->given == SCENE && (c->way == LATE_ALONE || c->written > 1 + WIDE)) return RILL_END_OF_INPUT;
    if (c->given == SCENE && stats.sent_back == SENT_BACK) have_leave(c);
    if (c->given == SCENE || (c->given == 2 && (steps == 0 || c->written == 0))) return RILL_AGAIN;
    out->text = "in 0";
    out->length = 4;
    out->settings = &c->settings[c->given];
    out->seconds = seconds_of(c->given);
    c->given++;
    return RILL_OK;
}

static rill_status write_scenes(void *user, const rill_result *result)
{
    scene *c = user;
    c->status[result->id] = result->status;
    c->came[result->id] = c->written++;
    if (c->written == SCENE - 1) set_stage(LAST_STAGE);
    return RILL_OK;
}

static void leave_while_set_aside(how way, int64_t first)
{
    rill_domain staged = staged_toy();
    rill_engine_setup setup;
    scene c = {.way = way, .first = first, .now = START};
    begin_play(0);
    play.hand = way == LATE_ALONE ? &c.now : NULL;
    rill_engine_setup_default(&setup);
    setup.settings.k = 1;
    setup.settings.n = setup.settings.max_items = WIDE;
    setup.settings.max_nodes = 20;
    setup.settings.unordered = 1;
    setup.clock = read_scene;
    setup.clock_user = &c;
    setup.trace = watch_them_set_aside;
    setup.trace_user = &c;
    for (int i = 0; i < SCENE; i++) {
        c.settings[i] = setup.settings;
        c.settings[i].k = is_wide(i) ? 8 : 1;
    }
    decode_staged(&c.set, &staged, &setup, read_scenes, write_scenes, &c);
    assert_int_equal(c.sent_back, SENT_BACK);
    assert_int_equal(c.written, SCENE);
    for (int64_t i = 0; i < SCENE; i++) {
        const rill_status left = way == CANCELLED && i == first ? RILL_ERR_CANCELLED : RILL_ERR_LATE;
        assert_int_equal(c.status[i], is_wide(i) ? left : RILL_OK);
        assert_true(i == 0 || c.came[i] < c.came[0]);
    }
}

static void set_aside(void **state)
{
    (void)state;
    for (int64_t first = 2; is_wide(first); first++) leave_while_set_aside(CANCELLED, first);
    leave_while_set_aside(LATE, 0);
    leave_while_set_aside(LATE_ALONE, 0);
}

/* --- finished ----------------------------------------------------------------------------------------------------- */

/* Inputs in rounds, the first of each slow. The next round begins when all are written. */
enum { ROUNDS = 3, ROUND = 300 };

typedef struct rounds {
    stage_set set;
    int64_t given, written;
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
    read_play(&stage, &steps);
    rill_workers_stats(r->set.workers, &stats);
    if (stage == 0 && r->given == play.slow + ROUND && stats.inputs == r->given - 1 && steps > 0) {
        for (int64_t id = -1; id <= r->given; id++)
            assert_int_equal(cancel_in_turn(r, id), id == play.slow ? RILL_OK : RILL_ERR_NOT_FOUND);
        set_stage(LAST_STAGE);
    }
    if (r->written == ROUNDS * ROUND) return RILL_END_OF_INPUT;
    if (r->written == play.slow + ROUND) begin_play(r->given);
    if (r->given == play.slow + ROUND) return RILL_AGAIN;
    out->text = "in 0";
    out->length = 4;
    r->given++;
    return RILL_OK;
}

static rill_status write_rounds(void *user, const rill_result *result)
{
    rounds *r = user;
    assert_int_equal(result->status, result->id % ROUND == 0 ? RILL_ERR_CANCELLED : RILL_OK);
    r->written++;
    return RILL_OK;
}

/* What has its result cannot leave, however many inputs come behind one that is slow, which can; once that is done there is room as
 * before. */
static void finished_while_the_first_is_not(void **state)
{
    (void)state;
    for (int unordered = 0; unordered < 2; unordered++) {
        rill_domain staged = staged_toy();
        rill_engine_setup setup;
        rounds r = {.given = 0};
        begin_play(0);
        play.hand = NULL;
        rill_engine_setup_default(&setup);
        setup.settings.k = setup.settings.n = setup.settings.max_items = 1;
        setup.settings.unordered = unordered;
        decode_staged(&r.set, &staged, &setup, read_rounds, write_rounds, &r);
        assert_int_equal(r.written, ROUNDS * ROUND);
    }
}

/* --- given up twice ----------------------------------------------------------------------------------------------- */

/* Of a domain that answers later. All are given up in the first timestep; while a worker gives up an idle input, the busy one that it has
 * given up just before is given up again. */
typedef struct twice {
    stage_set set;
    int64_t given, written;
    int backwards; /* since which of two is busy is the policy's affair */
} twice;

static rill_status step_when_told(void *self, const rill_rows *rows)
{
    pthread_mutex_lock(&play.lock);
    play.steps++;
    await_stage(1);
    pthread_mutex_unlock(&play.lock);
    return toy_domain.step(self, rows);
}

static void drop_when_asked(void *self, int32_t slot)
{
    pthread_mutex_lock(&play.lock);
    if (play.stage == 1) {
        play.stage = 2;
        await_stage(3);
    }
    pthread_mutex_unlock(&play.lock);
    toy_domain.drop(self, slot);
}

static rill_status read_and_give_up(void *user, int may_block, rill_request *out)
{
    twice *t = user;
    int stage, steps;
    (void)may_block;
    out->text = "in 0";
    out->length = 4;
    if (t->given < 4) return t->given++, RILL_OK;
    read_play(&stage, &steps);
    if (stage == 3) return RILL_END_OF_INPUT;
    if (steps == 0 || stage == 1) return RILL_AGAIN;
    for (int64_t i = 0; i < 4; i++) {
        const rill_status status = rill_workers_cancel(t->set.workers, t->backwards ? 3 - i : i);
        assert_true(status == RILL_OK || (stage == 2 && status == RILL_ERR_NOT_FOUND));
    }
    set_stage(stage + 1);
    return RILL_AGAIN;
}

static rill_status write_given_up(void *user, const rill_result *result)
{
    assert_int_equal(result->status, RILL_ERR_CANCELLED);
    ((twice *)user)->written++;
    return RILL_OK;
}

static void given_up_twice(void **state)
{
    (void)state;
    for (int backwards = 0; backwards < 2; backwards++) {
        static rill_domain staged;
        static late_table late;
        rill_engine_setup setup;
        twice t = {.backwards = backwards};
        begin_play(0);
        staged = toy_domain;
        staged.step = step_when_told;
        staged.drop = drop_when_asked;
        late_make(&late, "staged", &staged, 1);
        rill_engine_setup_default(&setup);
        setup.settings.k = 1;
        setup.settings.n = setup.settings.max_items = 2;
        setup.settings.unordered = 1;
        decode_staged(&t.set, &late.domain, &setup, read_and_give_up, write_given_up, &t);
        assert_int_equal(t.written, 4);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(waiting),
    cmocka_unit_test(set_aside),
    cmocka_unit_test(finished_while_the_first_is_not),
    cmocka_unit_test(given_up_twice),
};

HARNESS_MAIN(tests)
