/* What an engine does while items are busy: in a timestep that was submitted to a domain that answers later. See framework/loop.c. What
 * comes of it is test_late.c's; here a run is followed by its trace, its policy and its domain, and what is chosen is foretold.
 *
 * Divisions: what is followed · watching · choosing · the choice foretold · random runs · giving up. */
#include <stdio.h>
#include <string.h>

#include "rill/engine.h"
#include "support/dice.h"
#include "support/harness.h"
#include "support/late_domain.h"
#include "support/tables.h"
#include "support/toy_domain.h"

/* --- what is followed --------------------------------------------------------------------------------------------- */

enum { MOST_INPUTS = 64, PATIENCE = 8, ROUNDS = 4 };

typedef enum whereabouts { NOWHERE, WAITS, READY, FLIES } whereabouts; /* ready: encoded, and not in flight */

typedef struct follower {
    rill_context *ctx;
    rill_model *model;
    rill_engine *engine;
    late_table late;
    toy_model toy;
    rill_status (*step)(void *self, const rill_rows *rows); /* the late domain's own */
    rill_status (*encode)(void *self, int32_t m, rill_input *inputs);
    void (*free)(void *self, int32_t n, const int32_t *nodes);
    rill_engine_setup setup;
    int32_t refill; /* inputs admitted when so many have gone; 1: whenever there is room */

    whereabouts where[MOST_INPUTS];
    int64_t n_inputs, size[MOST_INPUTS], wave[MOST_INPUTS], waves, in_slot[MOST_INPUTS], expanded[MOST_INPUTS];
    int32_t timesteps[MOST_INPUTS], width[MOST_INPUTS], passed[MOST_INPUTS];
    int64_t flight[MOST_INPUTS]; /* ids, in order of admission */
    int32_t n;
    int refilled, finished[MOST_INPUTS];
    int64_t nodes; /* states that the domain keeps */
    int64_t expansions, look_at, firsts, sent_back;

    /* The choice at hand: made by the policy's call, carried out by the domain's. */
    int open, fits;
    int64_t chosen[MOST_INPUTS];
    int32_t n_chosen, n_skipped, n_overtook, n_first;
    int64_t skipped[MOST_INPUTS];
    int64_t under_way[2][MOST_INPUTS]; /* by group */
    int32_t n_under_way[2];
    int64_t room, most; /* room: what is left of most */
} follower;

static follower *f; /* that of the run at hand: policies and domains have no user of a test's */

/* Of all runs. */
static struct {
    int64_t behind_busy, waited, waited_first, firsts, oldest, sent_back, left_ready[3];
} all_runs;

static int is_busy(int64_t id)
{
    for (int g = 0; g < 2; g++)
        for (int32_t i = 0; i < f->n_under_way[g]; i++)
            if (f->under_way[g][i] == id) return 1;
    return 0;
}

static int place_of(int64_t id)
{
    for (int32_t i = 0; i < f->n; i++)
        if (f->flight[i] == id) return i;
    fail_msg("input %lld is not in flight", (long long)id);
    return -1;
}

static void leave_flight(int64_t id, whereabouts to)
{
    const int32_t place = place_of(id);
    memmove(&f->flight[place], &f->flight[place + 1], (size_t)(--f->n - place) * sizeof *f->flight);
    f->where[id] = to;
    f->passed[id] = 0;
}

static int64_t live(void)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < f->n; i++) sum += f->width[f->flight[i]];
    return sum;
}

/* --- watching ----------------------------------------------------------------------------------------------------- */

/* Inputs come in in order, those that begin anew before those that wait; whoever has been given up meanwhile. */
static void watch_admitted(const rill_trace_event *event)
{
    const int64_t id = event->item_id;
    for (int64_t earlier = 0; earlier < id; earlier++)
        assert_true(f->where[earlier] != WAITS && f->where[earlier] != READY);
    assert_int_equal(f->where[id], READY);
    if (f->refilled) f->waves++;
    f->refilled = 0;
    f->where[id] = FLIES;
    f->wave[id] = f->waves;
    f->in_slot[event->slot] = id;
    f->timesteps[id] = f->passed[id] = 0;
    f->width[id] = 1;
    f->expanded[id] = f->expansions;
    f->flight[f->n++] = id;
}

/* Those of a timestep were as the policy saw them, and they are all that it did not see when the other one was chosen. */
static void watch_timestep(const rill_trace_event *event)
{
    assert_int_equal(event->n, f->n_under_way[event->group]);
    for (int32_t i = 0; i < event->n; i++) {
        const int64_t id = event->items[i];
        assert_int_equal(id, f->under_way[event->group][i]);
        assert_int_equal(event->depths[i], f->timesteps[id]);
        assert_int_equal(event->widths_before[i], f->width[id]);
        f->timesteps[id]++;
    }
    f->n_under_way[event->group] = 0;
}

static void watch(void *user, const rill_trace_event *event)
{
    (void)user;
    switch (event->kind) {
    case RILL_TRACE_ADMITTED: watch_admitted(event); break;
    case RILL_TRACE_TIMESTEP: watch_timestep(event); break;
    case RILL_TRACE_FINISHED:
        f->finished[event->item_id] = 1;
        /* Its timestep is told behind it. */
        leave_flight(event->item_id, NOWHERE);
        break;
    case RILL_TRACE_SENT_BACK:
        assert_false(is_busy(event->item_id));
        f->sent_back++;
        leave_flight(event->item_id, READY);
        break;
    }
}

static rill_status encode_watched(void *self, int32_t m, rill_input *inputs)
{
    for (int32_t i = 0; i < m; i++) f->where[inputs[i].id] = READY;
    return f->encode(self, m, inputs);
}

static void free_watched(void *self, int32_t n, const int32_t *nodes)
{
    f->nodes -= n;
    f->free(self, n, nodes);
}

/* --- choosing ----------------------------------------------------------------------------------------------------- */

/* As the engine is to do it (policy.h, "an item wider than the budget is expanded alone"). */
static void consider(int64_t id)
{
    if (is_busy(id)) return;
    for (int32_t i = 0; i < f->n_chosen; i++)
        if (f->chosen[i] == id) return;
    if (f->width[id] > f->room && f->n_chosen > 0) {
        if (f->passed[id] < PATIENCE) f->skipped[f->n_skipped++] = id;
        return;
    }
    f->n_overtook = f->n_skipped;
    f->chosen[f->n_chosen++] = id;
    f->room -= f->width[id] < f->room ? f->width[id] : f->room;
}

static void find_neglected(void)
{
    if (f->expansions < f->look_at) return;
    for (int32_t i = 0; i < f->n; i++) {
        const int64_t id = f->flight[i];
        if (f->expansions - f->expanded[id] > ROUNDS * live() && f->passed[id] < PATIENCE) f->passed[id] = PATIENCE;
    }
    f->look_at = f->expansions + live();
}

static void begin_choice(int64_t room)
{
    f->n_chosen = f->n_skipped = f->n_overtook = f->n_first = 0;
    f->room = f->most = room;
}

/* Half of all where these are enough for two groups. */
static int64_t room_for(int64_t all)
{
    const int64_t budget = f->setup.settings.budget, half = all >= 2 * f->late.group_rows ? (all + 1) / 2 : INT64_MAX;
    return half < budget ? half : budget;
}

static int64_t free_nodes(void)
{
    return f->setup.settings.max_nodes > 0 ? f->setup.settings.max_nodes - f->nodes : INT64_MAX;
}

/* Overdue ones, then the newest first, as the policy says. */
static void choose_as_told(void)
{
    int64_t wanted = 0;
    begin_choice(room_for(live()));
    find_neglected();
    for (int32_t i = 0; i < f->n && f->room > 0; i++) {
        if (f->passed[f->flight[i]] < PATIENCE) continue;
        const int32_t before = f->n_chosen;
        consider(f->flight[i]);
        f->n_first += f->n_chosen - before;
    }
    for (int32_t i = f->n - 1; i >= 0 && f->room > 0; i--) consider(f->flight[i]);
    for (int32_t i = 0; i < f->n_chosen; i++) wanted += f->width[f->chosen[i]];
    f->fits = wanted <= free_nodes();
    f->open = 1;
}

/* Where nodes are too few for that. */
static void choose_oldest(void)
{
    int64_t left = free_nodes();
    begin_choice(f->most);
    for (int32_t i = 0; i < f->n && f->room > 0; i++) {
        const int64_t id = f->flight[i];
        if (f->width[id] > left) continue;
        const int32_t before = f->n_chosen;
        consider(id);
        if (f->n_chosen > before) left -= f->width[id];
    }
    all_runs.oldest++;
}

/* What is seen is the idle items, as they are, in order of admission. */
static rill_status look(void *self, const rill_flight *seen, int32_t *order, int32_t *count)
{
    int32_t place = 0;
    (void)self;
    if (f->open) { /* nothing came of the choice before, for which the other group had to be over */
        assert_false(f->fits);
        all_runs.waited++;
        all_runs.waited_first += f->n_first > 0;
    }
    for (int32_t i = 0; i < seen->n; i++, place++) {
        while (place < f->n && is_busy(f->flight[place])) place++;
        assert_true(place < f->n);
        const int64_t id = f->flight[place], other = f->flight[i];
        assert_int_equal(seen->item_id[i], id);
        assert_int_equal(seen->timestep[i], f->timesteps[id]);
        assert_int_equal(seen->size[i], f->size[id]);
        assert_int_equal(seen->wave[i], f->wave[id]);
        const int differs = seen->width[i] != f->width[other] && seen->timestep[i] != f->timesteps[other] &&
                            seen->size[i] != f->size[other] && seen->wave[i] != f->wave[other];
        all_runs.behind_busy += place > i && differs;
        f->width[id] = seen->width[i]; /* of which the timestep will tell */
        order[seen->n - 1 - i] = i;
    }
    while (place < f->n && is_busy(f->flight[place])) place++;
    assert_int_equal(place, f->n);
    *count = seen->n;
    choose_as_told();
    return RILL_OK;
}

static rill_status admit_some(void *self, const rill_flight *seen, int32_t *admit)
{
    (void)self;
    const int32_t room = seen->max_items - seen->n;
    *admit = room >= f->refill ? room : 0;
    f->refilled = 1;
    return RILL_OK;
}

static const rill_policy follows = TEST_POLICY("follows", .choose = look, .refill = admit_some);

/* --- the choice foretold ------------------------------------------------------------------------------------------ */

/* The choice stands: those that were overtaken have been passed over, and those that go have not any more. */
static void settle(int32_t group)
{
    for (int32_t i = 0; i < f->n_overtook; i++) f->passed[f->skipped[i]]++;
    for (int32_t i = 0; i < f->n_chosen; i++) {
        f->passed[f->chosen[i]] = 0;
        f->expansions += f->width[f->chosen[i]];
        f->under_way[group][i] = f->chosen[i];
    }
    for (int32_t i = 0; i < f->n_chosen; i++) f->expanded[f->chosen[i]] = f->expansions;
    f->n_under_way[group] = f->n_chosen;
    f->firsts += f->n_first;
    f->open = 0;
}

/* With an overdue one that had to wait since nodes were too few, it still goes first. */
static rill_status step_watched(void *self, const rill_rows *rows)
{
    int32_t row = 0;
    assert_true(f->open);
    assert_int_equal(f->n_under_way[rows->group], 0);
    assert_true(f->fits || f->n_under_way[!rows->group] == 0);
    if (!f->fits) choose_oldest();
    for (int32_t i = 0; i < f->n_chosen; i++)
        for (int32_t w = 0; w < f->width[f->chosen[i]]; w++, row++) {
            assert_true(row < rows->n);
            assert_int_equal(f->in_slot[rows->slot[row]], f->chosen[i]);
        }
    assert_int_equal(row, rows->n);
    f->nodes += rows->n;
    settle(rows->group);
    return f->step(self, rows);
}

/* --- random runs -------------------------------------------------------------------------------------------------- */

static const char *text_of(int64_t id)
{
    static char text[32];
    snprintf(text, sizeof text, "in %d", (int)id);
    return text;
}

static void submit(void)
{
    const char *text = text_of(f->n_inputs);
    const int64_t id = f->n_inputs++;
    f->where[id] = WAITS;
    f->size[id] = toy_input_read(&f->toy, text, strlen(text)).depth;
    assert_int_equal(rill_engine_submit(f->engine, text, strlen(text)), RILL_OK);
}

/* The settings of f->setup and f->refill are there. */
static void begin(follower *run, const char *arguments, int32_t group_rows)
{
    static const rill_chain_entry policy = {"follows", ""};
    char message[100];
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = arguments};
    f = run;
    assert_int_equal(toy_model_parse(&f->toy, arguments, message, sizeof message), RILL_OK);
    f->waves = -1;
    f->ctx = harness_context(NULL);
    late_make(&f->late, "late", &toy_domain, group_rows);
    f->step = f->late.domain.step;
    f->encode = f->late.domain.encode;
    f->free = f->late.domain.free;
    f->late.domain.step = step_watched;
    f->late.domain.encode = encode_watched;
    f->late.domain.free = free_watched;
    assert_int_equal(rill_register_domain(f->ctx, &f->late.domain), RILL_OK);
    assert_int_equal(rill_model_open(&f->model, f->ctx, "late", &open), RILL_OK);
    assert_int_equal(rill_register_policy(f->ctx, &follows), RILL_OK);
    f->setup.policy = &policy;
    f->setup.trace = watch;
    assert_int_equal(rill_engine_create(&f->engine, f->ctx, f->model, &f->setup), RILL_OK);
}

static void end(void)
{
    rill_stats stats = {.struct_size = sizeof stats};
    rill_engine_stats(f->engine, &stats);
    assert_int_equal(stats.passed_over_first, f->firsts);
    assert_int_equal(stats.expansions, f->expansions);
    assert_int_equal(stats.sent_back, f->sent_back);
    assert_int_equal(stats.nodes_in_use, 0);
    assert_int_equal(f->nodes, 0);
    rill_engine_destroy(f->engine);
    rill_model_close(f->model);
    rill_context_destroy(f->ctx);
}

/* Give up some that are ready, wherever they stand among these, and some in flight. */
static void leave_line(dice *d)
{
    int64_t ready[MOST_INPUTS];
    int32_t n = 0;
    for (int64_t id = 0; id < f->n_inputs; id++)
        if (f->where[id] == READY) ready[n++] = id;
    if (f->n > 0 && dice_chance(d, 2)) {
        const rill_status status = rill_engine_cancel(f->engine, f->flight[dice_range(d, 0, f->n - 1)]);
        assert_true(status == RILL_OK || status == RILL_ERR_NOT_FOUND);
    }
    if (n < 3 || !dice_chance(d, 30)) return;
    const int32_t which = dice_range(d, 0, n - 1);
    all_runs.left_ready[which == 0 ? 0 : which == n - 1 ? 2 : 1]++;
    f->where[ready[which]] = NOWHERE;
    assert_int_equal(rill_engine_cancel(f->engine, ready[which]), RILL_OK);
}

static void decode_all(int64_t n_inputs, dice *d)
{
    int64_t taken = 0;
    rill_result result;
    while (!rill_engine_idle(f->engine) || f->n_inputs < n_inputs) {
        while (f->n_inputs < n_inputs && rill_engine_room(f->engine) > 0) submit();
        if (f->n_inputs == n_inputs) rill_engine_close_input(f->engine);
        assert_true(rill_engine_step(f->engine) >= 0);
        if (d != NULL) leave_line(d);
        for (; rill_engine_next(f->engine, &result) == RILL_OK; taken++)
            if (result.status != RILL_OK && (d == NULL || result.status != RILL_ERR_CANCELLED))
                fail_msg("%s", result.message);
    }
    assert_int_equal(taken, n_inputs);
}

/* The policy sees the idle items as they are, and its choice is carried out by the rules; an item that is overdue stays so when nodes are
 * too few for a second group, where nothing is chosen and nothing counted; whoever is given up, those who wait keep their order. */
static void choices_are_as_foretold(void **state)
{
    (void)state;
    for (int64_t i = 0; i < harness_iterations(600); i++) {
        follower run = {.refill = 1 + (int32_t)(i % 4)};
        dice d = dice_seeded(dice_mix(harness_seed(1) + (uint64_t)i, 95));
        char arguments[120];
        snprintf(arguments, sizeof arguments, "seed=%d actions=6 depth=%d legal=60 ending=5 state=parent", (int)i,
                 (int)DICE_OF(&d, 6, 20, 30));
        rill_engine_setup_default(&run.setup);
        run.setup.settings.k = dice_range(&d, 2, 8);
        run.setup.settings.n = run.setup.settings.max_items = dice_range(&d, 4, 12);
        run.setup.settings.budget = run.setup.settings.k + dice_range(&d, 0, 12);
        if (i % 3 != 0) run.setup.settings.max_nodes = run.setup.settings.k * dice_range(&d, 3, 12);
        begin(&run, arguments, DICE_OF(&d, 1, 2, 4, 10));
        decode_all(dice_range(&d, 10, 40), i % 2 ? &d : NULL);
        end();
        all_runs.firsts += run.firsts;
        all_runs.sent_back += run.sent_back;
    }
    HARNESS_SEEN(all_runs.waited > 100 && all_runs.waited_first > 20 && all_runs.firsts > 100);
    HARNESS_SEEN(all_runs.behind_busy > 100 && all_runs.oldest > 100 && all_runs.sent_back > 30);
    for (int where = 0; where < 3; where++) HARNESS_SEEN(all_runs.left_ready[where] > 10);
}

/* Of a toy whose first four inputs are long. */
static const char *long_arguments(void)
{
    static char arguments[80];
    char message[100];
    toy_model toy;
    for (int seed = 1, longest = 0; longest < 4; seed++) {
        snprintf(arguments, sizeof arguments, "seed=%d depth=8 actions=8 ending=0 legal=100", seed);
        assert_int_equal(toy_model_parse(&toy, arguments, message, sizeof message), RILL_OK);
        for (longest = 0; longest < 4 && toy_input_read(&toy, text_of(longest), 4).depth > 5;) longest++;
    }
    return arguments;
}

/* --- giving up ---------------------------------------------------------------------------------------------------- */

/* An item, at any place in flight and at any time, that is given up is not here to be given up once more. A busy one leaves behind its
 * timestep, any other one at once; the others never hear of it. Returns whether it was busy, -1 when there is none at that place. */
static int given_up_at(int32_t steps, int32_t place)
{
    follower run = {.refill = 1};
    rill_result result;
    rill_engine_setup_default(&run.setup);
    run.setup.settings.k = 3;
    run.setup.settings.n = run.setup.settings.max_items = 4;
    run.setup.settings.budget = 1000;
    begin(&run, long_arguments(), 1);
    while (f->n_inputs < 4) submit();
    for (int32_t i = 0; i < steps; i++) assert_int_equal(rill_engine_step(f->engine), RILL_OK);
    const int64_t id = place < f->n ? f->flight[place] : -1;
    const int busy = id >= 0 ? is_busy(id) : -1;
    if (id >= 0) {
        assert_int_equal(rill_engine_cancel(f->engine, id), RILL_OK);
        assert_int_equal(f->finished[id], !busy);
    }
    assert_int_equal(rill_engine_cancel(f->engine, id), RILL_ERR_NOT_FOUND);
    rill_engine_close_input(f->engine);
    while (rill_engine_step(f->engine) == RILL_OK)
        assert_int_equal(rill_engine_cancel(f->engine, id), RILL_ERR_NOT_FOUND);
    for (int64_t i = 0; i < 4; i++) {
        assert_int_equal(rill_engine_next(f->engine, &result), RILL_OK);
        assert_int_equal(result.id, i);
        assert_int_equal(result.status, i == id ? RILL_ERR_CANCELLED : RILL_OK);
        assert_int_equal(result.n, i != id);
        assert_true(i < f->n_inputs && f->finished[i]);
    }
    end();
    return busy;
}

static void given_up_once(void **state)
{
    (void)state;
    int32_t seen[4][2] = {{0}};
    for (int32_t steps = 0; steps < 10; steps++)
        for (int32_t place = 0; place < 4; place++) {
            const int busy = given_up_at(steps, place);
            if (busy >= 0) seen[place][busy]++;
        }
    for (int32_t place = 0; place < 4; place++) assert_true(seen[place][0] > 0 && seen[place][1] > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(choices_are_as_foretold),
    cmocka_unit_test(given_up_once),
};

HARNESS_MAIN(tests)
