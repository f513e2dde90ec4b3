/* The engine's choices while items are busy, that is, in a timestep submitted to an asynchronous domain. See
 * framework/engine/beam_search.c. test_async.c checks results. Here a simulation follows a run through its trace,
 * scheduler and domain, and predicts each choice.
 *
 * Sections: state of the simulation · following the trace · predicting · checking choices · random runs ·
 * cancelling. */
#include <stdio.h>
#include <string.h>

#include "rill/engine.h"
#include "support/async_domain.h"
#include "support/dice.h"
#include "support/harness.h"
#include "support/tables.h"
#include "support/toy_domain.h"

/* --- state of the simulation -------------------------------------------------------------------------------------- */

enum { MAX_INPUTS = 64, PATIENCE = 8, ROUNDS = 4 };

typedef enum input_state {
    INPUT_NONE,
    INPUT_WAITING,
    INPUT_ENCODED,
    INPUT_IN_FLIGHT
} input_state; /* ready: encoded, but not in flight */

typedef struct model_of_engine {
    rill_context *ctx;
    rill_model *model;
    rill_engine *engine;
    async_table async;
    toy_model toy;
    rill_status (*step)(void *self, const rill_rows *rows); /* the asynchronous domain's own function */
    rill_status (*encode)(void *self, int32_t m, rill_input *inputs);
    void (*free)(void *self, int32_t n, const int32_t *nodes);
    rill_engine_setup setup;
    int32_t refill; /* a refill begins when this many inputs have left; 1: as soon as one has */

    input_state state[MAX_INPUTS];
    int64_t n_inputs, size[MAX_INPUTS], refill_index[MAX_INPUTS], n_refills, in_slot[MAX_INPUTS], expanded[MAX_INPUTS];
    int32_t timesteps[MAX_INPUTS], width[MAX_INPUTS], passed_over[MAX_INPUTS];
    int64_t view[MAX_INPUTS]; /* ids in order of admission */
    int32_t n;
    int refilled, finished[MAX_INPUTS];
    int64_t nodes; /* states kept by the domain */
    int64_t expansions, next_check, n_overdue, n_restarted;

    /* A choice in progress: made in the scheduler's call, carried out in the domain's. */
    int is_choosing, fits;
    int64_t chosen[MAX_INPUTS];
    int32_t n_chosen, n_skipped, n_overtook, n_first;
    int64_t skipped[MAX_INPUTS];
    int64_t submitted[2][MAX_INPUTS]; /* [group]: ids of the items submitted */
    int32_t n_submitted[2];
    int64_t budget_left, budget; /* the remaining batch budget, and the whole budget */
} model_of_engine;

/* the model of the running test, since callbacks of schedulers and domains have no user pointer */
static model_of_engine *sim;

/* Totals over all runs. */
static struct {
    int64_t overtook_busy, waited, waited_first, firsts, oldest, n_restarted, cancelled_ready[3];
} all_runs;

static int is_busy(int64_t id)
{
    for (int g = 0; g < 2; g++)
        for (int32_t i = 0; i < sim->n_submitted[g]; i++)
            if (sim->submitted[g][i] == id) return 1;
    return 0;
}

static int view_index(int64_t id)
{
    for (int32_t i = 0; i < sim->n; i++)
        if (sim->view[i] == id) return i;
    fail_msg("input %lld is not in flight", (long long)id);
    return -1;
}

static void remove_from_view(int64_t id, input_state to)
{
    const int32_t place = view_index(id);
    memmove(&sim->view[place], &sim->view[place + 1], (size_t)(--sim->n - place) * sizeof *sim->view);
    sim->state[id] = to;
    sim->passed_over[id] = 0;
}

static int64_t live_width(void)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < sim->n; i++) sum += sim->width[sim->view[i]];
    return sum;
}

/* --- following the trace ------------------------------------------------------------------------------------------ */

/* Inputs are admitted in order, restarted ones before new ones, whatever was cancelled. */
static void watch_admitted(const rill_trace_event *event)
{
    const int64_t id = event->item_id;
    for (int64_t earlier = 0; earlier < id; earlier++)
        assert_true(sim->state[earlier] != INPUT_WAITING && sim->state[earlier] != INPUT_ENCODED);
    assert_int_equal(sim->state[id], INPUT_ENCODED);
    if (sim->refilled) sim->n_refills++;
    sim->refilled = 0;
    sim->state[id] = INPUT_IN_FLIGHT;
    sim->refill_index[id] = sim->n_refills;
    sim->in_slot[event->slot] = id;
    sim->timesteps[id] = sim->passed_over[id] = 0;
    sim->width[id] = 1;
    sim->expanded[id] = sim->expansions;
    sim->view[sim->n++] = id;
}

/* The items of a timestep must have the state that the scheduler saw. They are exactly the items hidden from the
 * scheduler when it chose the other group. */
static void watch_timestep(const rill_trace_event *event)
{
    assert_int_equal(event->n, sim->n_submitted[event->group]);
    for (int32_t i = 0; i < event->n; i++) {
        const int64_t id = event->items[i];
        assert_int_equal(id, sim->submitted[event->group][i]);
        assert_int_equal(event->depths[i], sim->timesteps[id]);
        assert_int_equal(event->widths_before[i], sim->width[id]);
        sim->timesteps[id]++;
    }
    sim->n_submitted[event->group] = 0;
}

static void watch(void *user, const rill_trace_event *event)
{
    (void)user;
    switch (event->kind) {
    case RILL_TRACE_ADMITTED: watch_admitted(event); break;
    case RILL_TRACE_TIMESTEP: watch_timestep(event); break;
    case RILL_TRACE_FINISHED:
        sim->finished[event->item_id] = 1;
        /* The trace event of this item's timestep is still to come. */
        remove_from_view(event->item_id, INPUT_NONE);
        break;
    case RILL_TRACE_RESTARTED:
        assert_false(is_busy(event->item_id));
        sim->n_restarted++;
        remove_from_view(event->item_id, INPUT_ENCODED);
        break;
    }
}

static rill_status encode_watched(void *self, int32_t m, rill_input *inputs)
{
    for (int32_t i = 0; i < m; i++) sim->state[inputs[i].id] = INPUT_ENCODED;
    return sim->encode(self, m, inputs);
}

static void free_watched(void *self, int32_t n, const int32_t *nodes)
{
    sim->nodes -= n;
    sim->free(self, n, nodes);
}

/* --- predicted choices -------------------------------------------------------------------------------------------- */

/* The engine's rule (scheduler.h, "an item wider than the budget is expanded alone"). */
static void choose_or_skip(int64_t id)
{
    if (is_busy(id)) return;
    for (int32_t i = 0; i < sim->n_chosen; i++)
        if (sim->chosen[i] == id) return;
    if (sim->width[id] > sim->budget_left && sim->n_chosen > 0) {
        if (sim->passed_over[id] < PATIENCE) sim->skipped[sim->n_skipped++] = id;
        return;
    }
    sim->n_overtook = sim->n_skipped;
    sim->chosen[sim->n_chosen++] = id;
    sim->budget_left -= sim->width[id] < sim->budget_left ? sim->width[id] : sim->budget_left;
}

static void find_neglected(void)
{
    if (sim->expansions < sim->next_check) return;
    for (int32_t i = 0; i < sim->n; i++) {
        const int64_t id = sim->view[i];
        if (sim->expansions - sim->expanded[id] > ROUNDS * live_width() && sim->passed_over[id] < PATIENCE)
            sim->passed_over[id] = PATIENCE;
    }
    sim->next_check = sim->expansions + live_width();
}

static void begin_choice(int64_t budget)
{
    sim->n_chosen = sim->n_skipped = sim->n_overtook = sim->n_first = 0;
    sim->budget_left = sim->budget = budget;
}

/* The budget of a group is half of the whole if there are enough items for two groups. */
static int64_t submit_budget(int64_t all)
{
    const int64_t budget = sim->setup.settings.budget,
                  half = all >= 2 * sim->async.group_rows ? (all + 1) / 2 : INT64_MAX;
    return half < budget ? half : budget;
}

static int64_t free_nodes(void)
{
    return sim->setup.settings.max_nodes > 0 ? sim->setup.settings.max_nodes - sim->nodes : INT64_MAX;
}

/* Predict the choice: overdue items first, then the newest, as this test's scheduler does. */
static void predict_choice(void)
{
    int64_t wanted = 0;
    begin_choice(submit_budget(live_width()));
    find_neglected();
    for (int32_t i = 0; i < sim->n && sim->budget_left > 0; i++) {
        if (sim->passed_over[sim->view[i]] < PATIENCE) continue;
        const int32_t n_before = sim->n_chosen;
        choose_or_skip(sim->view[i]);
        sim->n_first += sim->n_chosen - n_before;
    }
    for (int32_t i = sim->n - 1; i >= 0 && sim->budget_left > 0; i--) choose_or_skip(sim->view[i]);
    for (int32_t i = 0; i < sim->n_chosen; i++) wanted += sim->width[sim->chosen[i]];
    sim->fits = wanted <= free_nodes();
    sim->is_choosing = 1;
}

/* Predict the choice when free nodes are too few for a whole group: the oldest item only. */
static void predict_oldest(void)
{
    int64_t n_free = free_nodes();
    begin_choice(sim->budget);
    for (int32_t i = 0; i < sim->n && sim->budget_left > 0; i++) {
        const int64_t id = sim->view[i];
        if (sim->width[id] > n_free) continue;
        const int32_t n_before = sim->n_chosen;
        choose_or_skip(id);
        if (sim->n_chosen > n_before) n_free -= sim->width[id];
    }
    all_runs.oldest++;
}

/* The scheduler must see the idle items, with their current state, in order of admission. */
static rill_status check_choice(void *self, const rill_sched_view *seen, int32_t *order, int32_t *count)
{
    int32_t place = 0;
    (void)self;
    if (sim->is_choosing) { /* the last choice was discarded: it needed the other group to finish */
        assert_false(sim->fits);
        all_runs.waited++;
        all_runs.waited_first += sim->n_first > 0;
    }
    for (int32_t i = 0; i < seen->n; i++, place++) {
        while (place < sim->n && is_busy(sim->view[place])) place++;
        assert_true(place < sim->n);
        const int64_t id = sim->view[place], other = sim->view[i];
        assert_int_equal(seen->item_id[i], id);
        assert_int_equal(seen->timestep[i], sim->timesteps[id]);
        assert_int_equal(seen->size[i], sim->size[id]);
        assert_int_equal(seen->refill_index[i], sim->refill_index[id]);
        const int differs = seen->width[i] != sim->width[other] && seen->timestep[i] != sim->timesteps[other] &&
                            seen->size[i] != sim->size[other] && seen->refill_index[i] != sim->refill_index[other];
        all_runs.overtook_busy += place > i && differs;
        sim->width[id] = seen->width[i]; /* compared later with the trace event of the timestep */
        order[seen->n - 1 - i] = i;
    }
    while (place < sim->n && is_busy(sim->view[place])) place++;
    assert_int_equal(place, sim->n);
    *count = seen->n;
    predict_choice();
    return RILL_OK;
}

static rill_status admit_some(void *self, const rill_sched_view *seen, int32_t *admit)
{
    (void)self;
    const int32_t free_slots = seen->max_items - seen->n;
    *admit = free_slots >= sim->refill ? free_slots : 0;
    sim->refilled = 1;
    return RILL_OK;
}

static const rill_scheduler following_scheduler = TEST_SCHEDULER("follows", .choose = check_choice, .overdue_first = 1,
                                                                 .refill = admit_some);

/* --- checking choices --------------------------------------------------------------------------------------------- */

/* Carry out the choice: items that chosen ones overtook count as passed over; the chosen ones' counts start again. */
static void commit_group(int32_t group)
{
    for (int32_t i = 0; i < sim->n_overtook; i++) sim->passed_over[sim->skipped[i]]++;
    for (int32_t i = 0; i < sim->n_chosen; i++) {
        sim->passed_over[sim->chosen[i]] = 0;
        sim->expansions += sim->width[sim->chosen[i]];
        sim->submitted[group][i] = sim->chosen[i];
    }
    for (int32_t i = 0; i < sim->n_chosen; i++) sim->expanded[sim->chosen[i]] = sim->expansions;
    sim->n_submitted[group] = sim->n_chosen;
    sim->n_overdue += sim->n_first;
    sim->is_choosing = 0;
}

/* An overdue item that had to wait for free nodes still goes first. */
static rill_status step_watched(void *self, const rill_rows *rows)
{
    int32_t row = 0;
    assert_true(sim->is_choosing);
    assert_int_equal(sim->n_submitted[rows->group], 0);
    assert_true(sim->fits || sim->n_submitted[!rows->group] == 0);
    if (!sim->fits) predict_oldest();
    for (int32_t i = 0; i < sim->n_chosen; i++)
        for (int32_t w = 0; w < sim->width[sim->chosen[i]]; w++, row++) {
            assert_true(row < rows->n);
            assert_int_equal(sim->in_slot[rows->slot[row]], sim->chosen[i]);
        }
    assert_int_equal(row, rows->n);
    sim->nodes += rows->n;
    commit_group(rows->group);
    return sim->step(self, rows);
}

/* --- random runs -------------------------------------------------------------------------------------------------- */

static const char *make_input_text(int64_t id)
{
    static char text[32];
    snprintf(text, sizeof text, "in %d", (int)id);
    return text;
}

static void submit(void)
{
    const char *text = make_input_text(sim->n_inputs);
    const int64_t id = sim->n_inputs++;
    sim->state[id] = INPUT_WAITING;
    sim->size[id] = toy_input_read(&sim->toy, text, strlen(text)).depth;
    assert_int_equal(rill_engine_submit(sim->engine, text, strlen(text)), RILL_OK);
}

/* Start a run; f->setup and f->refill are already set. */
static void begin(model_of_engine *run, const char *arguments, int32_t group_rows)
{
    static const rill_chain_entry scheduler = {"follows", ""};
    char message[100];
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = arguments};
    sim = run;
    assert_int_equal(toy_model_parse(&sim->toy, arguments, message, sizeof message), RILL_OK);
    sim->n_refills = -1;
    sim->ctx = harness_context(NULL);
    async_make(&sim->async, "late", &toy_domain, group_rows);
    sim->step = sim->async.domain.step;
    sim->encode = sim->async.domain.encode;
    sim->free = sim->async.domain.free;
    sim->async.domain.step = step_watched;
    sim->async.domain.encode = encode_watched;
    sim->async.domain.free = free_watched;
    assert_int_equal(rill_register_domain(sim->ctx, &sim->async.domain), RILL_OK);
    assert_int_equal(rill_model_open(&sim->model, sim->ctx, "late", &open), RILL_OK);
    assert_int_equal(rill_register_scheduler(sim->ctx, &following_scheduler), RILL_OK);
    sim->setup.scheduler = &scheduler;
    sim->setup.trace = watch;
    assert_int_equal(rill_engine_create(&sim->engine, sim->ctx, sim->model, &sim->setup), RILL_OK);
}

static void end(void)
{
    rill_stats stats = {.struct_size = sizeof stats};
    rill_engine_stats(sim->engine, &stats);
    assert_int_equal(stats.passed_over_first, sim->n_overdue);
    assert_int_equal(stats.expansions, sim->expansions);
    assert_int_equal(stats.restarted, sim->n_restarted);
    assert_int_equal(stats.nodes_in_use, 0);
    assert_int_equal(sim->nodes, 0);
    rill_engine_destroy(sim->engine);
    rill_model_close(sim->model);
    rill_context_destroy(sim->ctx);
}

/* Cancel some ready inputs, anywhere in the queue, and some in flight. */
static void cancel_waiting(dice *d)
{
    int64_t ready[MAX_INPUTS];
    int32_t n = 0;
    for (int64_t id = 0; id < sim->n_inputs; id++)
        if (sim->state[id] == INPUT_ENCODED) ready[n++] = id;
    if (sim->n > 0 && dice_chance(d, 2)) {
        const rill_status status = rill_engine_cancel(sim->engine, sim->view[dice_range(d, 0, sim->n - 1)]);
        assert_true(status == RILL_OK || status == RILL_ERR_NOT_FOUND);
    }
    if (n < 3 || !dice_chance(d, 30)) return;
    const int32_t chosen = dice_range(d, 0, n - 1);
    all_runs.cancelled_ready[chosen == 0 ? 0 : chosen == n - 1 ? 2 : 1]++;
    sim->state[ready[chosen]] = INPUT_NONE;
    assert_int_equal(rill_engine_cancel(sim->engine, ready[chosen]), RILL_OK);
}

static void decode_all(int64_t n_inputs, dice *d)
{
    int64_t taken = 0;
    const rill_result *result;
    while (!rill_engine_idle(sim->engine) || sim->n_inputs < n_inputs) {
        while (sim->n_inputs < n_inputs && rill_engine_free_slots(sim->engine) > 0) submit();
        if (sim->n_inputs == n_inputs) rill_engine_close_input(sim->engine);
        assert_true(rill_engine_step(sim->engine) >= 0);
        if (d != NULL) cancel_waiting(d);
        for (; rill_engine_next(sim->engine, &result) == RILL_OK; taken++)
            if (result->status != RILL_OK && (d == NULL || result->status != RILL_ERR_CANCELLED))
                fail_msg("%s", result->message);
    }
    assert_int_equal(taken, n_inputs);
}

/* The scheduler sees the idle items with their current state, and its choice is carried out by the rules. An overdue
 * item stays overdue if nodes are too few for a second group; then nothing is chosen or counted. Cancelling keeps the
 * order of the waiting items. */
static void choices_are_as_predicted(void **state)
{
    (void)state;
    for (int64_t i = 0; i < harness_iterations(600); i++) {
        model_of_engine run = {.refill = 1 + (int32_t)(i % 4)};
        dice d = dice_seeded(dice_mix(harness_seed(1) + (uint64_t)i, 95));
        char arguments[120];
        snprintf(arguments, sizeof arguments, "seed=%d actions=6 depth=%d legal=60 ending=5 state=parent", (int)i,
                 (int)DICE_PICK(&d, 6, 20, 30));
        rill_engine_setup_default(&run.setup);
        run.setup.settings.k = dice_range(&d, 2, 8);
        run.setup.settings.n = run.setup.settings.max_items = dice_range(&d, 4, 12);
        run.setup.settings.budget = run.setup.settings.k + dice_range(&d, 0, 12);
        if (i % 3 != 0) run.setup.settings.max_nodes = run.setup.settings.k * dice_range(&d, 3, 12);
        begin(&run, arguments, DICE_PICK(&d, 1, 2, 4, 10));
        decode_all(dice_range(&d, 10, 40), i % 2 ? &d : NULL);
        end();
        all_runs.firsts += run.n_overdue;
        all_runs.n_restarted += run.n_restarted;
    }
    HARNESS_ASSERT_COVERED(all_runs.waited > 100 && all_runs.waited_first > 20 && all_runs.firsts > 100);
    HARNESS_ASSERT_COVERED(all_runs.overtook_busy > 100 && all_runs.oldest > 100 && all_runs.n_restarted > 30);
    for (int where = 0; where < 3; where++) HARNESS_ASSERT_COVERED(all_runs.cancelled_ready[where] > 10);
}

/* Arguments of a toy whose first four inputs are long. */
static const char *long_arguments(void)
{
    static char arguments[80];
    char message[100];
    toy_model toy;
    for (int seed = 1, longest = 0; longest < 4; seed++) {
        snprintf(arguments, sizeof arguments, "seed=%d depth=8 actions=8 ending=0 legal=100", seed);
        assert_int_equal(toy_model_parse(&toy, arguments, message, sizeof message), RILL_OK);
        for (longest = 0; longest < 4 && toy_input_read(&toy, make_input_text(longest), 4).depth > 5;) longest++;
    }
    return arguments;
}

/* --- cancelling --------------------------------------------------------------------------------------------------- */

/* After this many steps, cancel the item at this position among those in flight. A second cancel must find nothing. A
 * busy item leaves after its timestep, an idle one at once; other items are unaffected. Return whether the item was
 * busy, or -1 if there is no such item. */
static int cancel_at_step(int32_t steps, int32_t place)
{
    model_of_engine run = {.refill = 1};
    const rill_result *result;
    rill_engine_setup_default(&run.setup);
    run.setup.settings.k = 3;
    run.setup.settings.n = run.setup.settings.max_items = 4;
    run.setup.settings.budget = 1000;
    begin(&run, long_arguments(), 1);
    while (sim->n_inputs < 4) submit();
    for (int32_t i = 0; i < steps; i++) assert_int_equal(rill_engine_step(sim->engine), RILL_OK);
    const int64_t id = place < sim->n ? sim->view[place] : -1;
    const int busy = id >= 0 ? is_busy(id) : -1;
    if (id >= 0) {
        assert_int_equal(rill_engine_cancel(sim->engine, id), RILL_OK);
        assert_int_equal(sim->finished[id], !busy);
    }
    assert_int_equal(rill_engine_cancel(sim->engine, id), RILL_ERR_NOT_FOUND);
    rill_engine_close_input(sim->engine);
    while (rill_engine_step(sim->engine) == RILL_OK)
        assert_int_equal(rill_engine_cancel(sim->engine, id), RILL_ERR_NOT_FOUND);
    for (int64_t i = 0; i < 4; i++) {
        assert_int_equal(rill_engine_next(sim->engine, &result), RILL_OK);
        assert_int_equal(result->id, i);
        assert_int_equal(result->status, i == id ? RILL_ERR_CANCELLED : RILL_OK);
        assert_int_equal(result->n_outputs, i != id);
        assert_true(i < sim->n_inputs && sim->finished[i]);
    }
    end();
    return busy;
}

static void cancelled_items_are_dropped_once(void **state)
{
    (void)state;
    int32_t seen[4][2] = {{0}};
    for (int32_t steps = 0; steps < 10; steps++)
        for (int32_t place = 0; place < 4; place++) {
            const int busy = cancel_at_step(steps, place);
            if (busy >= 0) seen[place][busy]++;
        }
    for (int32_t place = 0; place < 4; place++) assert_true(seen[place][0] > 0 && seen[place][1] > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(choices_are_as_predicted),
    cmocka_unit_test(cancelled_items_are_dropped_once),
};

HARNESS_MAIN(tests)
