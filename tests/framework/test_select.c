/* rill_select() against the slow reading of the same ask (support/toy_select.h), on random rows: end rules, bans, allowed
 * sets, additions, rewards, ties, short and long raw lists, with and without a way to look up. */
#include <stdio.h>
#include <string.h>

#include "ask.h"
#include "support/dice.h"
#include "support/harness.h"
#include "support/toy_select.h"

enum { ROWS = 4, MOST = TOY_MOST_ACTIONS };

typedef struct lists {
    int32_t ban_offset[ROWS + 1], allow_offset[ROWS + 1], add_offset[ROWS + 1];
    int32_t ban[ROWS * MOST], allow[ROWS * MOST], add[ROWS * MOST];
    float add_score[ROWS * MOST], reward[ROWS], end_reward[ROWS];
    uint8_t end_rule[ROWS];
} lists;

static int32_t draw_list(dice *d, int32_t actions, int32_t *offset, int32_t *list, int allow)
{
    int32_t n = 0, most = 0;
    offset[0] = 0;
    for (int r = 0; r < ROWS; r++) {
        int32_t percent = DICE_OF(d, 0, 10, 50, 90);
        for (int32_t a = 0; a < actions; a++)
            if (dice_chance(d, percent)) list[n++] = a;
        if (allow && n == offset[r] && dice_chance(d, 20)) list[n++] = RILL_NO_ACTION;
        offset[r + 1] = n;
        if (n - offset[r] > most) most = n - offset[r];
    }
    return most;
}

/* `extra` is the most that bans, additions and a struck end action can take from the best M of any row. */
static rill_ask draw_ask(dice *d, int32_t actions, lists *l)
{
    rill_ask ask = {.max_choices = dice_range(d, 1, actions + 2), .plain = 1};
    int32_t extra = 0;
    if (dice_chance(d, 50)) {
        extra += draw_list(d, actions, l->ban_offset, l->ban, 0);
        ask.ban_offset = l->ban_offset, ask.ban_action = l->ban, ask.plain = 0;
    }
    if (dice_chance(d, 30)) {
        draw_list(d, actions, l->allow_offset, l->allow, 1);
        extra = actions; /* an allowed set can strike any number */
        ask.allow_offset = l->allow_offset, ask.allow_action = l->allow, ask.plain = 0;
    }
    if (dice_chance(d, 50)) {
        extra += draw_list(d, actions, l->add_offset, l->add, 0);
        for (int32_t i = 0; i < l->add_offset[ROWS]; i++) l->add_score[i] = 0.25f * (float)dice_range(d, -6, 6);
        ask.add_offset = l->add_offset, ask.add_action = l->add, ask.add_score = l->add_score, ask.plain = 0;
    }
    if (dice_chance(d, 40)) {
        for (int r = 0; r < ROWS; r++) l->end_rule[r] = (uint8_t)dice_range(d, 0, 7); /* rules add up */
        extra += 1;
        ask.end_rule = l->end_rule, ask.plain = 0;
    }
    for (int r = 0; r < ROWS; r++) {
        l->reward[r] = 0.25f * (float)dice_range(d, -8, 8);
        l->end_reward[r] = 0.25f * (float)dice_range(d, -8, 8);
    }
    if (dice_chance(d, 40)) ask.reward = l->reward, ask.plain = 0, extra += 1;
    if (dice_chance(d, 40)) ask.end_reward = l->end_reward, ask.plain = 0, extra += ask.reward == NULL;
    if (ask.plain == 0) ask.extra = extra;
    return ask;
}

static void random_rows(void **state)
{
    (void)state;
    static lists l;
    static int32_t action[2][ROWS * 2 * MOST], count[2][ROWS];
    static float logp[2][ROWS * 2 * MOST], score[2][ROWS * 2 * MOST];
    static uint8_t terminal[2][ROWS * 2 * MOST];
    uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(60000); i++) {
        uint64_t seed = first + (uint64_t)i;
        dice d = dice_seeded(seed);
        char arguments[160], message[300];
        int actions = dice_range(&d, 2, dice_chance(&d, 30) ? 60 : 8), ties = DICE_OF(&d, 0, 1, 2, 4);
        int legal = DICE_OF(&d, 20, 70, 100), last = dice_chance(&d, 50);
        snprintf(arguments, sizeof arguments,
                 "seed=%d actions=%d ties=%d legal=%d terminal=%s early=30 depth=4 dead_ends=2", (int)seed, actions,
                 ties, legal, last ? "last" : "end");
        toy_model model;
        assert_int_equal(toy_model_parse(&model, arguments, message, sizeof message), RILL_OK);
        rill_ask ask = draw_ask(&d, model.actions, &l);
        rill_choices out[2];
        for (int o = 0; o < 2; o++)
            out[o] = (rill_choices){2 * MOST, count[o], action[o], logp[o], score[o], terminal[o]};
        for (int32_t row = 0; row < ROWS; row++) {
            toy_input input = toy_input_read(&model, (const char *)&seed, sizeof seed);
            toy_choice all[MOST];
            uint64_t at = dice_mix(input.start, (uint64_t)row);
            int32_t n = toy_expand(&model, &input, at, dice_range(&d, 0, input.depth - 1), 0, all);
            toy_select_slowly(&ask, row, n, all, &out[0]);
            toy_select_by_rill(&ask, row, n, all, &model, at, &out[1]);
            if (toy_select_differs(row, &out[0], &out[1], message, sizeof message))
                fail_msg("seed %llu: %s: \"%s\"", (unsigned long long)seed, message, arguments);
        }
    }
}

/* A hand-made row, so that one case can be read. */
static void one_row(void **state)
{
    (void)state;
    const int32_t raw_action[] = {4, 1, 0, 3}, ban_offset[] = {0, 1}, ban[] = {1}, add_offset[] = {0, 1}, add[] = {3};
    const float raw_logp[] = {-0.5f, -1.0f, -1.0f, -3.0f}, added[] = {2.5f}, reward[] = {0.25f};
    rill_raw raw = {.n = 4, .action = raw_action, .logp = raw_logp, .end_action = 0};
    rill_ask ask = {.max_choices = 3,
                    .extra = 3,
                    .ban_offset = ban_offset,
                    .ban_action = ban,
                    .add_offset = add_offset,
                    .add_action = add,
                    .add_score = added,
                    .reward = reward};
    int32_t count, action[3];
    float logp[3], score[3];
    uint8_t terminal[3];
    rill_choices out = {3, &count, action, logp, score, terminal};
    rill_select(&ask, 0, &raw, &out);
    assert_int_equal(count, 3);
    assert_int_equal(action[0], 3); /* -0.5 + 0.25 ties with action 4 and is smaller */
    assert_int_equal(action[1], 4);
    assert_int_equal(action[2], 0); /* the end action has no reward */
    assert_true(score[0] == -0.25f && score[1] == -0.25f && score[2] == -1.0f);
    assert_true(logp[0] == -3.0f);
    assert_int_equal(terminal[0], RILL_LIVE);
    assert_int_equal(terminal[2], RILL_END);
}

/* What scorers say of limits: the largest is what the domain is asked for, and alone they leave the ask plain. */
static void limits(void **state)
{
    (void)state;
    rill_ask_builder b;
    rill_ask ask;
    rill_context *ctx = harness_context(NULL);
    ask_init(&b, ctx, 9);
    assert_int_equal(ask_begin(&b, 3), RILL_OK);
    assert_int_equal(rill_ask_limit(&b, 0, 2), RILL_OK);
    assert_int_equal(rill_ask_limit(&b, 2, 7), RILL_OK);
    assert_int_equal(rill_ask_limit(&b, 2, 4), RILL_OK);
    assert_int_equal(rill_ask_limit(&b, 2, 5), RILL_OK);
    assert_int_equal(ask_build(&b, 6, &ask), RILL_OK);
    assert_int_equal(ask.limit[0], 2);
    assert_int_equal(ask.limit[1], INT32_MAX);
    assert_int_equal(ask.limit[2], 4);
    assert_int_equal(ask.max_choices, 6); /* row 1 has no limit */
    assert_int_equal(rill_ask_limit(&b, 1, 3), RILL_OK);
    assert_int_equal(ask_build(&b, 6, &ask), RILL_OK);
    assert_int_equal(ask.max_choices, 4);
    assert_true(ask.plain);
    assert_int_equal(ask.extra, 0);
    assert_int_equal(rill_ask_ban(&b, 1, 3), RILL_OK);
    assert_int_equal(ask_build(&b, 6, &ask), RILL_OK);
    assert_int_equal(ask.max_choices, 4);
    assert_false(ask.plain);
    assert_int_equal(rill_ask_limit(&b, 0, 0), RILL_ERR_PLUGIN);
    assert_int_equal(rill_ask_limit(&b, 3, 1), RILL_ERR_PLUGIN);
    assert_int_equal(rill_ask_limit(&b, -1, 1), RILL_ERR_PLUGIN);
    assert_int_equal(ask_begin(&b, 3), RILL_OK); /* a new timestep knows nothing of it */
    assert_int_equal(ask_build(&b, 6, &ask), RILL_OK);
    assert_null(ask.limit);
    assert_int_equal(ask.max_choices, 6);
    ask_finish(&b);
    rill_context_destroy(ctx);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(one_row), cmocka_unit_test(random_rows),
                                          cmocka_unit_test(limits)};

HARNESS_MAIN(tests)
