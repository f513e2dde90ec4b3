/* What an engine does while items are busy (framework/loop.c), looked at from inside. What comes of it is test_late.c's. */
#include <stdio.h>

#include "rooms.h"
#include "support/harness.h"
#include "support/late_domain.h"
#include "support/tables.h"
#include "support/toy_domain.h"

/* Step until so many items are in flight and some are busy. */
static void step_till_busy(rill_engine *engine, int32_t in_flight)
{
    for (int32_t i = 0; i < 30 && (engine->flight.n < in_flight || engine->items.n_busy == 0); i++)
        assert_int_equal(rill_engine_step(engine), RILL_OK);
    assert_true(engine->flight.n >= in_flight && engine->items.n_busy > 0);
}

static int32_t idle_item(const rill_engine *engine)
{
    for (int32_t i = 0; i < engine->flight.n; i++)
        if (!engine->items.busy[engine->flight.slot[i]]) return engine->flight.slot[i];
    fail_msg("none is");
    return -1;
}

typedef struct by_hand {
    rill_context *ctx;
    rill_model *model;
    rill_engine *engine;
    late_table late;
} by_hand;

static rill_engine *looked_at; /* by the policy */
static int64_t busy_before;    /* idle items that it saw behind busy ones */

/* What it sees of an idle item is that item's, wherever it stands in the flight. */
static rill_status look(void *self, const rill_flight *seen, int32_t *order, int32_t *count)
{
    const struct flight *f = &looked_at->flight;
    int32_t place = 0;
    (void)self;
    for (int32_t i = 0; i < seen->n; i++, place++) {
        while (looked_at->items.busy[f->slot[place]]) place++;
        assert_int_equal(seen->item_id[i], f->id[place]);
        assert_int_equal(seen->timestep[i], f->timestep[place]);
        assert_int_equal(seen->width[i], f->width[place]);
        assert_int_equal(seen->size[i], f->size[place]);
        assert_int_equal(seen->wave[i], f->wave[place]);
        busy_before += place > i && seen->width[i] != f->width[i] && seen->timestep[i] != f->timestep[i] &&
                       seen->size[i] != f->size[i] && seen->wave[i] != f->wave[i];
        order[i] = i;
    }
    *count = seen->n;
    return RILL_OK;
}

static rill_status admit_one(void *self, const rill_flight *seen, int32_t *admit)
{
    (void)self;
    *admit = seen->n < seen->max_items;
    return RILL_OK;
}

static const rill_policy looker = TEST_POLICY("looker", .choose = look, .refill = admit_one);

static void begin_by_hand(by_hand *b)
{
    const rill_chain_entry policy = {"looker", ""};
    rill_engine_setup setup;
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = "depth=6 actions=8"};
    b->ctx = harness_context(NULL);
    late_make(&b->late, "late", &toy_domain, 1);
    assert_int_equal(rill_register_domain(b->ctx, &b->late.domain), RILL_OK);
    assert_int_equal(rill_model_open(&b->model, b->ctx, "late", &open), RILL_OK);
    assert_int_equal(rill_register_policy(b->ctx, &looker), RILL_OK);
    rill_engine_setup_default(&setup);
    setup.policy = &policy;
    setup.settings.k = 3;
    setup.settings.max_nodes = 1000;
    setup.settings.min_length = 4;
    assert_int_equal(rill_engine_create(&b->engine, b->ctx, b->model, &setup), RILL_OK);
    looked_at = b->engine;
    for (int32_t i = 0; i < 4; i++) assert_int_equal(rill_engine_submit(b->engine, "in 1", 4), RILL_OK);
    step_till_busy(b->engine, 4);
}

static void end_by_hand(by_hand *b)
{
    rill_engine_destroy(b->engine);
    rill_model_close(b->model);
    rill_context_destroy(b->ctx);
}

/* An item that is overdue stays so when the second group has too few nodes to be expanded; and nothing is counted, nor is it counted
 * twice as overdue, having been left waiting as well. */
static void patience_outlasts_want_of_nodes(void **state)
{
    (void)state;
    by_hand b;
    begin_by_hand(&b);
    rill_engine *e = b.engine;
    const int32_t slot = idle_item(e), limit = e->forest.node_limit;
    timestep *t = &e->step[!e->step[1].under_way];
    assert_true(e->step[!t->group].under_way && !t->under_way);
    e->items.passed_over[slot] = FLIGHT_PATIENCE;
    e->flight.n_overdue = 1;
    e->items.at[slot].expanded = -1000;
    e->schedule.look_at = 0;
    e->forest.node_limit -= (int32_t)bound_free(e);
    assert_int_equal(schedule_choose(e, t, INT64_MAX), RILL_OK);
    assert_int_equal(t->n, 0);
    assert_int_equal(e->items.passed_over[slot], FLIGHT_PATIENCE);
    assert_int_equal(e->flight.n_overdue, 1);
    assert_int_equal(e->statistics.all.passed_over_first, 0);
    e->forest.node_limit = limit;
    assert_int_equal(schedule_choose(e, t, 1), RILL_OK);
    assert_int_equal(t->n, 1);
    assert_int_equal(t->selected[0], slot);
    assert_int_equal(e->items.passed_over[slot], 0);
    assert_int_equal(e->flight.n_overdue, 0);
    assert_int_equal(e->statistics.all.passed_over_first, 1);
    end_by_hand(&b);
}

/* A busy item, at any place in flight, that is given up is not here to be given up once more (front_leave.c asks). */
static void given_up_at(int32_t place)
{
    by_hand b;
    rill_result result;
    begin_by_hand(&b);
    const rill_engine *e = b.engine;
    for (int32_t i = 0; i < 4 && !e->items.busy[e->flight.slot[place]]; i++)
        assert_int_equal(rill_engine_step(b.engine), RILL_OK);
    assert_true(e->items.busy[e->flight.slot[place]]);
    const int64_t id = e->flight.id[place];
    assert_true(engine_has(b.engine, id));
    assert_int_equal(rill_engine_cancel(b.engine, id), RILL_OK);
    assert_false(engine_has(b.engine, id));
    assert_int_equal(rill_engine_cancel(b.engine, id), RILL_ERR_NOT_FOUND);
    while (rill_engine_step(b.engine) == RILL_OK) continue;
    for (int64_t i = 0; i < 4; i++) {
        assert_int_equal(rill_engine_next(b.engine, &result), RILL_OK);
        assert_int_equal(result.status, i == id ? RILL_ERR_CANCELLED : RILL_OK);
    }
    end_by_hand(&b);
}

/* Long inputs and short ones, so that items differ in all that a policy may see. */
static void policies_see_the_idle_items_as_they_are(void **state)
{
    (void)state;
    by_hand b;
    begin_by_hand(&b);
    busy_before = 0;
    for (int32_t i = 0; i < 40 || !rill_engine_idle(b.engine); assert_true(rill_engine_step(b.engine) >= 0)) {
        for (char text[40]; i < 40 && rill_engine_room(b.engine) > 0; i++) {
            const int length = snprintf(text, sizeof text, "in %d%s", (int)i, i % 3 == 0 ? " a a a" : "");
            assert_int_equal(rill_engine_submit(b.engine, text, (size_t)length), RILL_OK);
        }
        if (i == 40) rill_engine_close_input(b.engine);
        for (rill_result result; rill_engine_next(b.engine, &result) == RILL_OK;) continue;
    }
    assert_true(busy_before > 5);
    end_by_hand(&b);
}

static void given_up_once(void **state)
{
    (void)state;
    for (int32_t place = 0; place < 4; place++) given_up_at(place);
}

/* Whoever leaves the list of the ready, the others keep their order, and whoever comes next stands behind them or before. */
static void the_ready_stand_in_line(void **state)
{
    (void)state;
    for (int32_t leaves = 0; leaves < 3; leaves++) {
        rill_context *ctx = harness_context(NULL);
        items all;
        items_init(&all, ctx);
        assert_int_equal(items_reserve(&all, 5), RILL_OK);
        for (int32_t slot = 0; slot < 3; slot++) items_ready_last(&all, slot);
        items_not_ready(&all, leaves);
        items_ready_last(&all, 3);
        items_ready_first(&all, 4);
        assert_int_equal(all.n_ready, 4);
        assert_int_equal(items_next_ready(&all), 4);
        for (int32_t slot = 0; slot < 4; slot++)
            if (slot != leaves) assert_int_equal(items_next_ready(&all), slot);
        assert_int_equal(all.n_ready, 0);
        items_finish(&all);
        rill_context_destroy(ctx);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(policies_see_the_idle_items_as_they_are),
    cmocka_unit_test(patience_outlasts_want_of_nodes),
    cmocka_unit_test(given_up_once),
    cmocka_unit_test(the_ready_stand_in_line),
};

HARNESS_MAIN(tests)
