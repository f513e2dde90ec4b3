/* Scorers' callbacks for inputs. Each begin is followed by one end, however the input leaves, and scoring calls have
 * rows of begun inputs only. A scorer that has every input decoded a second time changes no result. */
#include <stdio.h>
#include <string.h>

#include "rill/plugin.h"
#include "support/harness.h"
#include "support/problem.h"

/* Totals of one run over all inputs. */
static struct {
    int begun[PROBLEM_MAX_INPUTS], done[PROBLEM_MAX_INPUTS], found[PROBLEM_MAX_INPUTS];
    int refuse; /* the scorer refuses inputs whose number modulo 3 is this; -1: none */
    int wrong, searches;
} scorer_log;

static int item_is_begun(int64_t id)
{
    return id >= 0 && id < PROBLEM_MAX_INPUTS && scorer_log.begun[id] == scorer_log.done[id] + 1;
}

static rill_status begin(void *self, int64_t id)
{
    (void)self;
    if (scorer_log.refuse >= 0 && id % 3 == scorer_log.refuse) return RILL_ERR_INPUT;
    scorer_log.begun[id]++;
    return RILL_OK;
}

static rill_status found(void *self, const rill_found *outputs)
{
    (void)self;
    scorer_log.wrong += !item_is_begun(outputs->item_id) || outputs->n < 1 || outputs->model == NULL;
    for (int32_t i = 1; i < outputs->n; i++)
        scorer_log.wrong += rill_found_output_at(outputs, i)->score > rill_found_output_at(outputs, i - 1)->score;
    return scorer_log.found[outputs->item_id]++ < scorer_log.searches ? RILL_AGAIN : RILL_OK;
}

static void done(void *self, int64_t id)
{
    (void)self;
    scorer_log.wrong += !item_is_begun(id);
    scorer_log.done[id]++;
}

static rill_status score(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    (void)self;
    (void)modifiers;
    for (int32_t i = 0; i < rows->n; i++) scorer_log.wrong += !item_is_begun(rows->item_id[i]);
    return RILL_OK;
}

static const rill_scorer redecoding_scorer = {.abi_version = RILL_ABI_VERSION,
                                              .struct_size = sizeof(rill_scorer),
                                              .name = "twice",
                                              .arguments = "",
                                              .summary = "a test",
                                              .score = score,
                                              .begin = begin,
                                              .found = found,
                                              .done = done};

static rill_status register_redecoding(rill_context *ctx)
{
    return rill_register_scorer(ctx, &redecoding_scorer);
}

static void add_scorer(problem *p)
{
    if (p->n_scorers == NAIVE_MAX_CHAIN) p->n_scorers--;
    p->naive.scorer[p->n_scorers] = (naive_scorer){0};
    snprintf(p->scorer[p->n_scorers].name, sizeof p->scorer[0].name, "twice");
    p->scorer[p->n_scorers++].arguments[0] = '\0';
}

static void reset_log(int refuse, int searches)
{
    memset(&scorer_log, 0, sizeof scorer_log);
    scorer_log.refuse = refuse;
    scorer_log.searches = searches;
}

/* Every input that a scorer began was also ended. */
static void check_balance(const problem *p, const schedule *s, uint64_t seed)
{
    for (int32_t i = 0; i < p->n_inputs; i++) scorer_log.wrong += scorer_log.begun[i] != scorer_log.done[i];
    if (scorer_log.wrong > 0) problem_fail(p, s, seed, "a scorer heard what cannot be");
}

static void draw(problem *p, schedule *s, dice *d)
{
    const problem_group group = (problem_group)dice_range(d, 0, 3);
    problem_draw(p, group, d);
    if (dice_chance(d, 40)) problem_draw_conventions(p, group, d);
    schedule_draw(s, group, d);
}

static void redecoding_changes_no_answer(void **state)
{
    (void)state;
    const uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(800); i++) {
        dice d = dice_seeded(first + (uint64_t)i);
        problem p;
        schedule s;
        engine_record once, more;
        draw(&p, &s, &d);
        engine_run(&p, &s, NULL, &once);
        add_scorer(&p);
        reset_log(-1, dice_range(&d, 0, 3));
        engine_run_with(&p, &s, NULL, register_redecoding, &more);
        check_balance(&p, &s, first + (uint64_t)i);
        for (int32_t input = 0; input < p.n_inputs; input++)
            problem_expect_same(&p, &s, first + (uint64_t)i, input, &more.result[input], &once.result[input]);
        engine_record_clear(&once);
        engine_record_clear(&more);
    }
}

/* If a scorer refuses an input, only that input fails. */
static void refused_inputs_fail_alone(void **state)
{
    (void)state;
    const uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(200); i++) {
        dice d = dice_seeded(first + (uint64_t)i);
        problem p;
        schedule s;
        engine_record once, some;
        draw(&p, &s, &d);
        engine_run(&p, &s, NULL, &once);
        add_scorer(&p);
        reset_log(dice_range(&d, 0, 2), 1);
        engine_run_with(&p, &s, NULL, register_redecoding, &some);
        check_balance(&p, &s, first + (uint64_t)i);
        for (int32_t input = 0; input < p.n_inputs; input++) {
            if (!problem_is_searched(&p, input) || input % 3 != scorer_log.refuse)
                problem_expect_same(&p, &s, first + (uint64_t)i, input, &some.result[input], &once.result[input]);
            else if (some.result[input].status != RILL_ERR_INPUT || some.result[input].message[0] == '\0')
                problem_fail(&p, &s, first + (uint64_t)i, "a refused input has another result");
        }
        engine_record_clear(&once);
        engine_record_clear(&some);
    }
}

/* Cancels random inputs. */
typedef struct random_canceller {
    dice d;
    int32_t n;
} random_canceller;

static void cancel_at_random(void *user, test_cancel cancel, void *runner, const engine_record *so_far)
{
    random_canceller *g = user;
    (void)so_far;
    if (dice_chance(&g->d, 30)) cancel(runner, dice_range(&g->d, 0, g->n - 1));
}

static void cancelled(void **state)
{
    (void)state;
    const uint64_t first = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(300); i++) {
        dice d = dice_seeded(first + (uint64_t)i);
        problem p;
        schedule s;
        engine_record r;
        draw(&p, &s, &d);
        random_canceller g = {dice_seeded(first + (uint64_t)i + 7), p.n_inputs};
        const hooks h = {.user = &g, .on_call = cancel_at_random};
        add_scorer(&p);
        reset_log(-1, 2);
        s.by_run = 1;
        s.hooks = &h;
        engine_run_with(&p, &s, NULL, register_redecoding, &r);
        check_balance(&p, &s, first + (uint64_t)i);
        engine_record_clear(&r);
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(redecoding_changes_no_answer),
                                              cmocka_unit_test(refused_inputs_fail_alone), cmocka_unit_test(cancelled)};
    if (harness_options(argc, argv) != 0) return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
