/* Layers of settings: who overrides whom, what is left out of defaults, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "search.h"

static rill_context *ctx;
static cli_layer firm, near, far;
static cli_plan plan;

static int set_up(void **state)
{
    (void)state;
    return rill_context_create(&ctx, NULL) != RILL_OK || rill_register_builtins(ctx) != RILL_OK;
}

static int tear_down(void **state)
{
    (void)state;
    rill_context_destroy(ctx);
    return 0;
}

static int clear(void **state)
{
    (void)state;
    memset(&firm, 0, sizeof firm);
    memset(&near, 0, sizeof near);
    memset(&far, 0, sizeof far);
    memset(&plan, 0, sizeof plan);
    return 0;
}

static void set(cli_layer *layer, const char *name, const char *value)
{
    assert_int_equal(cli_search_take_named(ctx, layer, name, value), CLI_OK);
}

static int make(void)
{
    const cli_layer *soft[] = {&near, &far};
    return cli_plan_make(ctx, &firm, soft, 2, &plan);
}

/* A model's defaults as they usually are. */
static void set_usual(cli_layer *layer)
{
    set(layer, "k", "12");
    set(layer, "max_candidates", "3");
    set(layer, "max_items", "50");
    set(layer, "budget", "100");
    set(layer, "absolute", "10");
}

static void search_nearer_wins(void **state)
{
    (void)state;
    set_usual(&far);
    set(&near, "k", "8");
    set(&near, "n", "3");
    set(&firm, "n", "4");
    assert_int_equal(make(), CLI_OK);
    assert_int_equal(plan.resolved.k, 8);
    assert_int_equal(plan.resolved.n, 4);
    assert_int_equal(plan.resolved.max_candidates, 3);
    assert_int_equal(plan.resolved.budget, 100);
    assert_int_equal(plan.setup.n_heuristics, 1);
    assert_string_equal(plan.setup.heuristics[0].name, "absolute");
    assert_string_equal(plan.setup.heuristics[0].arguments, "10");
}

/* What was chosen for one output gives way to those asked for; what a user says does not. */
static void search_defaults_widen(void **state)
{
    (void)state;
    set_usual(&far);
    far.defaults = 1;
    assert_int_equal(make(), CLI_OK);
    assert_true(plan.resolved.k == 12 && plan.resolved.min_width == 0 && plan.resolved.max_candidates == 3);
    set(&near, "n_best", "5");
    assert_int_equal(make(), CLI_OK);
    assert_true(plan.resolved.k == 12 && plan.resolved.min_width == 5 && plan.resolved.n_best == 5);
    assert_int_equal(plan.resolved.max_candidates, 5);
    set(&far, "stop_after", "7");
    set(&firm, "n-best", "20");
    assert_int_equal(make(), CLI_OK);
    assert_true(plan.resolved.k == 20 && plan.resolved.min_width == 20 && plan.resolved.stop_after == 20);
    set(&near, "k", "6");
    set(&firm, "min-width", "2");
    assert_int_equal(make(), CLI_OK);
    assert_true(plan.resolved.k == 6 && plan.resolved.min_width == 2 && plan.resolved.stop_after == 20);
    clear(NULL);
    set_usual(&far);
    far.defaults = 1;
    set(&near, "n_best", "20");
    set(&near, "absolute", "3"); /* a chain of the user's own */
    assert_int_equal(make(), CLI_OK);
    assert_true(plan.resolved.k == 20 && plan.resolved.min_width == 0);
    set(&firm, "method", "greedy");
    assert_int_equal(make(), CLI_OK);
    assert_true(plan.resolved.k == 1 && plan.resolved.n_best == 20);
    set(&firm, "max-candidates", "2");
    set(&firm, "method", "var-batch");
    set(&firm, "like", "hf");
    assert_int_equal(make(), CLI_OK);
    assert_true(plan.resolved.k == 5 && plan.resolved.max_candidates == 2);
    clear(NULL); /* a user's script is no model */
    set_usual(&far);
    set(&firm, "n-best", "20");
    assert_int_equal(make(), CLI_OK);
    assert_true(plan.resolved.k == 12 && plan.resolved.min_width == 0);
}

/* Where nobody says anything, rill's own beam is a default too. */
static void search_own_default_widens(void **state)
{
    (void)state;
    far.defaults = 1;
    set(&firm, "n-best", "15");
    assert_int_equal(make(), CLI_OK);
    assert_true(plan.resolved.k == 15 && plan.resolved.min_width == 0);
}

/* A preset shapes the search, and says nothing of which outputs are given. */
static void search_preset_leaves_what_is_given(void **state)
{
    (void)state;
    set(&firm, "like", "hf");
    set(&near, "require_end", "1");
    set(&near, "distinct", "1");
    set(&near, "min_length", "3");
    assert_int_equal(make(), CLI_OK);
    assert_true(plan.resolved.require_end && plan.resolved.distinct && plan.resolved.min_length == 0);
}

static void search_chain_is_replaced(void **state)
{
    (void)state;
    set_usual(&far);
    set(&firm, "relative-local", "0.1");
    set(&firm, "heuristic", "relative:0.2");
    assert_int_equal(make(), CLI_OK);
    assert_int_equal(plan.setup.n_heuristics, 2);
    assert_string_equal(plan.setup.heuristics[0].name, "relative_local");
    assert_string_equal(plan.setup.heuristics[1].name, "relative");
    assert_string_equal(plan.setup.heuristics[1].arguments, "0.2");
}

static void search_soft_is_left_out(void **state)
{
    static const char *const methods[] = {"greedy", "fixed", "fixed-stream", "var-batch"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        clear(NULL);
        set_usual(&far);
        set(&firm, "method", methods[i]);
        assert_int_equal(make(), CLI_OK);
        assert_string_equal(plan.resolved.method, methods[i]);
        int pruned = !strcmp(methods[i], "var-batch");
        assert_int_equal(plan.setup.n_heuristics, pruned);
        assert_int_equal(plan.resolved.k, i == 0 ? 1 : 12);
        assert_int_equal(plan.resolved.max_items, i == 2 ? 50 : 10);
        if (pruned) assert_int_equal(plan.resolved.max_candidates, 3);
    }
}

static void search_firm_is_refused(void **state)
{
    static const char *const wishes[][3] = {
        {"greedy", "k", "5"},         {"fixed", "absolute", "2"},        {"fixed-stream", "max-candidates", "3"},
        {"var-batch", "refill", "1"}, {"greedy", "finish", "immediate"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        clear(NULL);
        set_usual(&far);
        set(&firm, "method", wishes[i][0]);
        set(&firm, wishes[i][1], wishes[i][2]);
        assert_int_equal(make(), CLI_FAILED);
    }
}

static void search_finish_goes_with_its_method(void **state)
{
    (void)state;
    set(&far, "method", "var-stream");
    set(&far, "finish", "top");
    set(&firm, "method", "fixed");
    assert_int_equal(make(), CLI_OK);
    assert_int_equal(plan.resolved.finish, RILL_FINISH_IMMEDIATE);
    set(&firm, "finish", "top");
    assert_int_equal(make(), CLI_OK);
    assert_int_equal(plan.resolved.finish, RILL_FINISH_TOP);
}

static void search_default_gives_way(void **state)
{
    (void)state;
    set(&far, "stop_after", "4");
    set(&firm, "patience", "2");
    assert_int_equal(make(), CLI_OK);
    assert_int_equal(plan.resolved.stop_after, 20);
}

static void search_set_again(void **state)
{
    (void)state;
    set(&firm, "max-items", "5");
    set(&firm, "max_items", "6");
    assert_int_equal(firm.n, 1);
    assert_string_equal(cli_layer_get(&firm, "max-items"), "6");
    assert_int_equal(cli_layer_set(ctx, &firm, "no-such", "1"), CLI_FAILED);
    assert_int_equal(cli_layer_set(ctx, &firm, "k", "0"), CLI_FAILED);
    assert_null(cli_layer_get(&firm, "k"));
}

static void search_chain_syntax(void **state)
{
    cli_chain *chain = &firm.heuristics;
    char name[200];
    (void)state;
    assert_int_equal(cli_chain_add(chain, "a"), CLI_OK);
    assert_int_equal(cli_chain_add(chain, "b:"), CLI_OK);
    assert_int_equal(cli_chain_add(chain, "c:1:2,x=y"), CLI_OK);
    assert_int_equal(chain->n, 3);
    assert_string_equal(chain->link[0].arguments, "");
    assert_string_equal(chain->link[1].name, "b");
    assert_string_equal(chain->link[2].arguments, "1:2,x=y");
    assert_int_equal(cli_chain_add(chain, ""), CLI_FAILED);
    assert_int_equal(cli_chain_add(chain, ":1"), CLI_FAILED);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(cli_chain_add(chain, name), CLI_FAILED);
    while (chain->n < CLI_CHAIN_MAX) assert_int_equal(cli_chain_add(chain, "more"), CLI_OK);
    assert_int_equal(cli_chain_add(chain, "too many"), CLI_FAILED);
}

static rill_status budget_of_seven(void *user, const rill_flight *flight, int32_t *budget)
{
    (void)user;
    (void)flight;
    *budget = 7;
    return RILL_OK;
}

/* What a file of the user's cannot have its way with is told; a model's defaults are not. */
static void search_left_out_is_told(void **state)
{
    (void)state;
    set_usual(&near);
    set(&near, "method", "top-up");
    set(&near, "finish", "top");
    set(&near, "policy", "all");
    set_usual(&far);
    near.source = "run.lua";
    assert_int_equal(make(), CLI_OK);
    assert_string_equal(plan.left, "");
    assert_string_equal(plan.setup.policy->name, "all");
    set(&firm, "method", "greedy");
    assert_int_equal(make(), CLI_OK);
    assert_string_equal(
        plan.left,
        "heuristics (absolute:10), policy (all), search.finish, search.k, search.max_candidates, search.max_items");
    assert_null(plan.setup.policy);
    set(&firm, "k", "1");
    assert_int_equal(make(), CLI_OK);
    assert_string_equal(
        plan.left, "heuristics (absolute:10), policy (all), search.finish, search.max_candidates, search.max_items");
}

static void search_takes_what_fits_together(void **state)
{
    (void)state;
    set(&far, "method", "fixed");
    set(&far, "max-candidates", "5"); /* is what it must be only under the k and finish behind it */
    set(&far, "finish", "top");
    set(&far, "k", "5");
    far.source = "run.lua";
    assert_int_equal(make(), CLI_OK);
    assert_int_equal(plan.resolved.k, 5);
    assert_string_equal(plan.left, "");
    set(&firm, "sort", "length"); /* nothing to do with them */
    set(&far, "flush-every", "3");
    assert_int_equal(make(), CLI_OK);
    assert_int_equal(plan.resolved.k, 5);
    assert_int_equal(plan.resolved.finish, RILL_FINISH_TOP);
    assert_string_equal(plan.left, "search.flush_every");
}

static void search_empty_chain_is_said(void **state)
{
    (void)state;
    set_usual(&far);
    set(&far, "scorer", "word_reward:0.5");
    near.heuristics.said = near.scorers.said = 1;
    assert_int_equal(make(), CLI_OK);
    assert_int_equal(plan.setup.n_heuristics, 0);
    assert_int_equal(plan.setup.n_scorers, 0);
    set(&firm, "absolute", "3");
    assert_int_equal(make(), CLI_OK);
    assert_int_equal(plan.setup.n_heuristics, 1);
}

static void search_policy_goes_with_its_method(void **state)
{
    (void)state;
    set(&far, "policy", "all");
    assert_int_equal(make(), CLI_OK);
    assert_string_equal(plan.setup.policy->name, "all");
    set(&near, "method", "top-up");
    assert_int_equal(make(), CLI_OK);
    assert_null(plan.setup.policy);
}

static void search_budget_function(void **state)
{
    (void)state;
    set(&far, "budget", "100");
    near.budget = budget_of_seven;
    near.budget_user = &near;
    assert_int_equal(make(), CLI_OK);
    assert_true(plan.setup.budget == budget_of_seven && plan.setup.budget_user == &near);
    assert_int_equal(plan.setup.settings.budget, 0);
    assert_int_equal(plan.resolved.budget, 0);
    assert_int_equal(plan.resolved.max_items, 1000); /* as under any budget */
    set(&firm, "budget", "9");
    assert_int_equal(make(), CLI_OK);
    assert_true(plan.setup.budget == NULL);
    assert_int_equal(plan.resolved.budget, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(search_nearer_wins, clear),
        cmocka_unit_test_setup(search_defaults_widen, clear),
        cmocka_unit_test_setup(search_own_default_widens, clear),
        cmocka_unit_test_setup(search_preset_leaves_what_is_given, clear),
        cmocka_unit_test_setup(search_chain_is_replaced, clear),
        cmocka_unit_test_setup(search_soft_is_left_out, clear),
        cmocka_unit_test_setup(search_firm_is_refused, clear),
        cmocka_unit_test_setup(search_finish_goes_with_its_method, clear),
        cmocka_unit_test_setup(search_default_gives_way, clear),
        cmocka_unit_test_setup(search_left_out_is_told, clear),
        cmocka_unit_test_setup(search_takes_what_fits_together, clear),
        cmocka_unit_test_setup(search_empty_chain_is_said, clear),
        cmocka_unit_test_setup(search_policy_goes_with_its_method, clear),
        cmocka_unit_test_setup(search_budget_function, clear),
        cmocka_unit_test_setup(search_set_again, clear),
        cmocka_unit_test_setup(search_chain_syntax, clear),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
