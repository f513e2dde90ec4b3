/* Inputs that an engine has set aside for want of memory leave early like all others: cancelled, or at their deadlines. */
#include "rooms.h"
#include "support/harness.h"

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
        harness_memory memory = {0};
        rill_context_options options = harness_memory_options(&memory);
        rill_context *ctx = harness_context(&options);
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
        rill_context_destroy(ctx);
        assert_int_equal(memory.blocks, 0);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(set_aside),
};

HARNESS_MAIN(tests)
