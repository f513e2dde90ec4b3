/* Layers of settings: who overrides whom, what is left out of defaults, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rill/rill.h"

static rill_context *ctx;
static rill_layer *firm, *near, *far;
static rill_search_config *plan;

static int set_up(void **state)
{
    (void)state;
    return rill_context_create(&ctx, NULL) != RILL_OK || rill_register_builtins(ctx) != RILL_OK;
}

static void drop(void)
{
    rill_search_config_free(plan);
    rill_layer_free(firm);
    rill_layer_free(near);
    rill_layer_free(far);
    plan = NULL;
    firm = near = far = NULL;
}

static int tear_down(void **state)
{
    (void)state;
    drop();
    rill_context_destroy(ctx);
    return 0;
}

/* Three empty layers of these origins. */
static void renew(rill_origin of_near, rill_origin of_far)
{
    drop();
    assert_int_equal(rill_layer_create(&firm, ctx, RILL_FROM_USER), RILL_OK);
    assert_int_equal(rill_layer_create(&near, ctx, of_near), RILL_OK);
    assert_int_equal(rill_layer_create(&far, ctx, of_far), RILL_OK);
}

static int clear(void **state)
{
    (void)state;
    renew(RILL_FROM_USER, RILL_FROM_USER);
    return 0;
}

static void set(rill_layer *layer, const char *name, const char *value)
{
    assert_int_equal(rill_layer_set(layer, name, value), RILL_OK);
}

static rill_status make(void)
{
    const rill_layer *const soft[] = {near, far};
    rill_search_config_free(plan);
    return rill_search_config_make(&plan, ctx, firm, soft, 2);
}

/* A model's defaults as they usually are. */
static void set_usual(rill_layer *layer)
{
    set(layer, "k", "12");
    set(layer, "max_candidates", "3");
    set(layer, "max_items", "50");
    set(layer, "budget", "100");
    set(layer, "absolute", "10");
}

static void layers_nearer_wins(void **state)
{
    (void)state;
    set_usual(far);
    set(near, "k", "8");
    set(near, "n", "3");
    set(firm, "n", "4");
    assert_int_equal(make(), RILL_OK);
    assert_int_equal(plan->resolved.k, 8);
    assert_int_equal(plan->resolved.n, 4);
    assert_int_equal(plan->resolved.max_candidates, 3);
    assert_int_equal(plan->resolved.budget, 100);
    assert_int_equal(plan->setup.n_heuristics, 1);
    assert_string_equal(plan->setup.heuristics[0].name, "absolute");
    assert_string_equal(plan->setup.heuristics[0].arguments, "10");
}

/* Whoever asks for a list gets the search that the model recommends for one output. */
static void layers_lists_are_of_the_same_search(void **state)
{
    static const char *const lists[] = {"2", "5", "20", "131072"};
    static const char *const searches[] = {"",    "method=greedy", "method=fixed", "like=hf", "like=marian",
                                           "k=3", "absolute=3",    "groups=4",     "exact=1"};
    (void)state;
    for (int i = 0; i < 9; i++) {
        clear(NULL);
        if (strncmp(searches[i], "gr", 2) != 0) set_usual(far);
        assert_int_equal(rill_layer_set_all(near, searches[i]), RILL_OK);
        assert_int_equal(make(), RILL_OK);
        rill_search_config *one = plan;
        plan = NULL;
        for (int n = 0; n < 4; n++) {
            set(firm, "n-best", lists[n]);
            assert_int_equal(make(), RILL_OK);
            assert_int_equal(plan->resolved.n_best, (int)strtol(lists[n], NULL, 10));
            assert_true(rill_search_config_same_search(one, plan));
        }
        rill_search_config_free(one);
    }
}

/* A preset shapes the search, and says nothing of which outputs are given. */
static void layers_preset_leaves_what_is_given(void **state)
{
    (void)state;
    set(firm, "like", "hf");
    set(near, "require_end", "1");
    set(near, "distinct", "1");
    set(near, "min_length", "3");
    assert_int_equal(make(), RILL_OK);
    assert_true(plan->resolved.require_end && plan->resolved.distinct && plan->resolved.min_length == 0);
}

static void layers_chain_is_replaced(void **state)
{
    (void)state;
    set_usual(far);
    set(firm, "relative-local", "0.1");
    set(firm, "heuristic", "relative:0.2");
    assert_int_equal(make(), RILL_OK);
    assert_int_equal(plan->setup.n_heuristics, 2);
    assert_string_equal(plan->setup.heuristics[0].name, "relative_local");
    assert_string_equal(plan->setup.heuristics[1].name, "relative");
    assert_string_equal(plan->setup.heuristics[1].arguments, "0.2");
}

static void layers_soft_is_left_out(void **state)
{
    static const char *const methods[] = {"greedy", "fixed", "fixed-stream", "var-batch"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        clear(NULL);
        set_usual(far);
        set(firm, "method", methods[i]);
        assert_int_equal(make(), RILL_OK);
        assert_string_equal(plan->resolved.method, methods[i]);
        int pruned = !strcmp(methods[i], "var-batch");
        assert_int_equal(plan->setup.n_heuristics, pruned);
        assert_int_equal(plan->resolved.k, i == 0 ? 1 : 12);
        assert_int_equal(plan->resolved.max_items, i == 2 ? 50 : 10);
        if (pruned) assert_int_equal(plan->resolved.max_candidates, 3);
    }
}

static void layers_firm_is_refused(void **state)
{
    static const char *const wishes[][3] = {
        {"greedy", "k", "5"},         {"fixed", "absolute", "2"},        {"fixed-stream", "max-candidates", "3"},
        {"var-batch", "refill", "1"}, {"greedy", "finish", "immediate"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        clear(NULL);
        set_usual(far);
        set(firm, "method", wishes[i][0]);
        set(firm, wishes[i][1], wishes[i][2]);
        assert_int_equal(make(), RILL_ERR_OPTION);
    }
}

static void layers_finish_goes_with_its_method(void **state)
{
    (void)state;
    set(far, "method", "var-stream");
    set(far, "finish", "top");
    set(firm, "method", "fixed");
    assert_int_equal(make(), RILL_OK);
    assert_int_equal(plan->resolved.finish, RILL_FINISH_IMMEDIATE);
    set(firm, "finish", "top");
    assert_int_equal(make(), RILL_OK);
    assert_int_equal(plan->resolved.finish, RILL_FINISH_TOP);
}

static void layers_default_gives_way(void **state)
{
    (void)state;
    set(far, "stop_after", "4");
    set(firm, "patience", "2");
    assert_int_equal(make(), RILL_OK);
    assert_int_equal(plan->resolved.stop_after, 20);
}

static void layers_set_again(void **state)
{
    (void)state;
    set(firm, "max-items", "5");
    set(firm, "max_items", "6");
    assert_string_equal(rill_layer_get(firm, "max-items"), "6");
    assert_int_equal(rill_layer_set(firm, "no-such", "1"), RILL_ERR_OPTION);
    assert_int_equal(rill_layer_set(firm, "k", "0"), RILL_ERR_OPTION);
    assert_null(rill_layer_get(firm, "k"));
}

static void layers_chain_syntax(void **state)
{
    int32_t n;
    (void)state;
    set(firm, "heuristic", "a");
    set(firm, "heuristic", "b:");
    set(firm, "heuristic", "c:1:2,x=y");
    const rill_chain_entry *entry = rill_layer_entries(firm, RILL_CHAIN_HEURISTICS, &n);
    assert_int_equal(n, 3);
    assert_string_equal(entry[0].arguments, "");
    assert_string_equal(entry[1].name, "b");
    assert_string_equal(entry[2].arguments, "1:2,x=y");
    assert_int_equal(rill_layer_set(firm, "heuristic", ""), RILL_ERR_OPTION);
    assert_int_equal(rill_layer_set(firm, "heuristic", ":1"), RILL_ERR_OPTION);
    set(firm, "policy", "all");
    set(firm, "policy", "top-up:1");
    entry = rill_layer_entries(firm, RILL_CHAIN_POLICY, &n);
    assert_true(n == 1 && strcmp(entry[0].name, "top-up") == 0);
}

static void layers_texts(void **state)
{
    (void)state;
    set(near, "weights", "f32");
    set(near, "policy", "all");
    assert_false(rill_layer_searches(near)); /* how it is opened and scheduled is not how it is searched */
    assert_int_equal(rill_layer_set_all(near, "  k=7 absolute=2  min_length=3 "), RILL_OK);
    assert_true(rill_layer_searches(near));
    assert_true(rill_layer_has(near, RILL_CHAIN_HEURISTICS) && !rill_layer_has(near, RILL_CHAIN_SCORERS));
    assert_int_equal(make(), RILL_OK);
    assert_true(plan->resolved.k == 7 && plan->resolved.min_length == 3 && plan->setup.n_heuristics == 1);
    assert_int_equal(rill_layer_set_all(near, "k=7 budget"), RILL_ERR_PLUGIN);
    assert_int_equal(rill_layer_set_all(near, "kk=7"), RILL_ERR_OPTION);
    set(near, "max-length", "2");
    assert_int_equal(rill_layer_check(near), RILL_ERR_OPTION); /* below min-length */
    assert_int_equal(rill_layer_check(far), RILL_OK);
}

/* Of domains that share an option, each may know words that another does not: what one of them takes is taken. */
static void layers_words_of_several_domains(void **state)
{
    static const rill_option options[] = {
        {"input-format", "loud|soft", "", "", RILL_OPTION_WORD, RILL_OPTION_MODEL, 0, 0, 0}, {0}};
    const rill_registry_mark before = rill_registry_size(ctx);
    rill_domain toned = *rill_find_domain(ctx, "shiftreduce");
    (void)state;
    toned.name = "toned";
    toned.options = options;
    assert_int_equal(rill_register_domain(ctx, &toned), RILL_OK);
    set(firm, "input-format", "auto");
    set(firm, "input_format", "soft");
    assert_string_equal(rill_layer_get(firm, "input-format"), "soft");
    assert_int_equal(rill_layer_set(firm, "input-format", "shrill"), RILL_ERR_OPTION);
    assert_ptr_equal(rill_layer_row(ctx, "input_format"),
                     rill_option_find(rill_find_domain(ctx, "shiftreduce")->options, "input-format"));
    assert_ptr_equal(rill_layer_row(ctx, "max_items"), rill_option_find(rill_setting_table(), "max-items"));
    assert_ptr_equal(rill_layer_row(ctx, "policy"), rill_option_find(rill_chain_table(), "policy"));
    assert_null(rill_layer_row(ctx, "nothing"));
    rill_registry_restore(ctx, before);
}

/* Options of domains are a layer's like any other; the nearest layer's value comes to the model. */
static void layers_values_of_domains(void **state)
{
    const rill_layer *const layers[] = {firm, NULL, near, far};
    rill_pair *pair;
    int32_t n;
    (void)state;
    assert_int_equal(rill_layers_values(ctx, layers, 4, &pair, &n), RILL_OK);
    assert_true(n == 0 && pair == NULL);
    set(far, "input_format", "tree");
    set(far, "weights", "int8");
    set(near, "weights", "bf16");
    set(near, "weights", "f32");
    assert_string_equal(rill_layer_get(near, "weights"), "f32");
    assert_string_equal(rill_layer_get(far, "input-format"), "tree");
    assert_null(rill_layer_get(firm, "weights"));
    assert_int_equal(rill_layers_values(ctx, layers, 4, &pair, &n), RILL_OK);
    assert_int_equal(n, 2);
    assert_string_equal(pair[0].name, "weights");
    assert_string_equal(pair[0].value, "f32");
    assert_string_equal(pair[1].name, "input-format");
    rill_free(ctx, pair, (size_t)n * sizeof *pair);
    assert_int_equal(rill_layer_set(near, "wieghts", "f32"), RILL_ERR_OPTION);
    assert_non_null(strstr(rill_error(ctx), "\"weights\""));
}

/* What differs in schedule alone is the same search; one whose answers may differ is another. */
static void layers_same_search(void **state)
{
    static const char *const same[][2] = {{"n", "3"}, {"budget", "50"}, {"sort", "length"}, {"n-best", "2"}};
    static const char *const other[][2] = {
        {"k", "3"}, {"distinct", "1"}, {"unknown-penalty", "inf"}, {"absolute", "3"}};
    rill_search_config *plain;
    (void)state;
    assert_int_equal(make(), RILL_OK);
    plain = plan;
    plan = NULL;
    for (size_t i = 0; i < 4; i++) {
        clear(NULL);
        set(firm, same[i][0], same[i][1]);
        assert_int_equal(make(), RILL_OK);
        assert_true(rill_search_config_same_search(plain, plan));
        set(firm, other[i][0], other[i][1]);
        assert_int_equal(make(), RILL_OK);
        assert_false(rill_search_config_same_search(plain, plan));
    }
    rill_search_config_free(plain);
}

static void layers_twins(void **state)
{
    rill_layer *twin;
    rill_search_config *own;
    (void)state;
    set(near, "k", "7");
    set(firm, "n", "3");
    assert_int_equal(rill_layer_create(&twin, ctx, RILL_FROM_USER), RILL_OK);
    set(twin, "k", "8");
    assert_int_equal(make(), RILL_OK);
    assert_int_equal(rill_search_config_twin(plan, ctx, 1, &own), RILL_OK);
    assert_null(own);
    assert_int_equal(rill_layer_twin(near, 1, twin), RILL_OK);
    assert_int_equal(rill_search_config_twin(plan, ctx, 0, &own), RILL_OK);
    assert_null(own);
    assert_int_equal(rill_search_config_twin(plan, ctx, 1, &own), RILL_OK);
    assert_true(own->resolved.k == 8 && own->resolved.n == 3);
    rill_search_config_free(own);
    rill_layer_free(twin);
}

static rill_status budget_of_seven(void *user, const rill_flight *flight, int32_t *budget)
{
    (void)user;
    (void)flight;
    *budget = 7;
    return RILL_OK;
}

/* What a file of the user's cannot have its way with is told; a model's defaults are not. */
static void layers_left_out_is_told(void **state)
{
    (void)state;
    renew(RILL_FROM_FILE, RILL_FROM_USER);
    set_usual(near);
    set(near, "method", "top-up");
    set(near, "finish", "top");
    set(near, "policy", "all");
    set_usual(far);
    assert_int_equal(make(), RILL_OK);
    assert_string_equal(plan->left, "");
    assert_string_equal(plan->setup.policy->name, "all");
    set(firm, "method", "greedy");
    assert_int_equal(make(), RILL_OK);
    assert_string_equal(
        plan->left,
        "heuristics (absolute:10), policy (all), search.finish, search.k, search.max_items, search.max_candidates");
    assert_null(plan->setup.policy);
    set(firm, "k", "1");
    assert_int_equal(make(), RILL_OK);
    assert_string_equal(
        plan->left, "heuristics (absolute:10), policy (all), search.finish, search.max_items, search.max_candidates");
}

static void layers_takes_what_fits_together(void **state)
{
    (void)state;
    renew(RILL_FROM_USER, RILL_FROM_FILE);
    set(far, "method", "fixed");
    set(far, "max-candidates", "5"); /* is what it must be only under the k and finish behind it */
    set(far, "finish", "top");
    set(far, "k", "5");
    assert_int_equal(make(), RILL_OK);
    assert_int_equal(plan->resolved.k, 5);
    assert_string_equal(plan->left, "");
    set(firm, "sort", "length"); /* nothing to do with them */
    set(far, "flush-every", "3");
    assert_int_equal(make(), RILL_OK);
    assert_int_equal(plan->resolved.k, 5);
    assert_int_equal(plan->resolved.finish, RILL_FINISH_TOP);
    assert_string_equal(plan->left, "search.flush_every");
}

static void layers_empty_chain_is_said(void **state)
{
    (void)state;
    set_usual(far);
    set(far, "scorer", "word_reward:0.5");
    rill_layer_say(near, RILL_CHAIN_HEURISTICS);
    rill_layer_say(near, RILL_CHAIN_SCORERS);
    assert_int_equal(make(), RILL_OK);
    assert_int_equal(plan->setup.n_heuristics, 0);
    assert_int_equal(plan->setup.n_scorers, 0);
    set(firm, "absolute", "3");
    assert_int_equal(make(), RILL_OK);
    assert_int_equal(plan->setup.n_heuristics, 1);
}

static void layers_policy_goes_with_its_method(void **state)
{
    (void)state;
    set(far, "policy", "all");
    assert_int_equal(make(), RILL_OK);
    assert_string_equal(plan->setup.policy->name, "all");
    set(near, "method", "top-up");
    assert_int_equal(make(), RILL_OK);
    assert_null(plan->setup.policy);
}

static void layers_budget_function(void **state)
{
    (void)state;
    set(far, "budget", "100");
    rill_layer_budget(near, budget_of_seven, near);
    assert_int_equal(make(), RILL_OK);
    assert_true(plan->setup.budget == budget_of_seven && plan->setup.budget_user == near);
    assert_int_equal(plan->setup.settings.budget, 0);
    assert_int_equal(plan->resolved.budget, 0);
    assert_int_equal(plan->resolved.max_items, 1000); /* as under any budget */
    set(firm, "budget", "9");
    assert_int_equal(make(), RILL_OK);
    assert_true(plan->setup.budget == NULL);
    assert_int_equal(plan->resolved.budget, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(layers_nearer_wins, clear),
        cmocka_unit_test_setup(layers_lists_are_of_the_same_search, clear),
        cmocka_unit_test_setup(layers_preset_leaves_what_is_given, clear),
        cmocka_unit_test_setup(layers_chain_is_replaced, clear),
        cmocka_unit_test_setup(layers_soft_is_left_out, clear),
        cmocka_unit_test_setup(layers_firm_is_refused, clear),
        cmocka_unit_test_setup(layers_finish_goes_with_its_method, clear),
        cmocka_unit_test_setup(layers_default_gives_way, clear),
        cmocka_unit_test_setup(layers_left_out_is_told, clear),
        cmocka_unit_test_setup(layers_takes_what_fits_together, clear),
        cmocka_unit_test_setup(layers_empty_chain_is_said, clear),
        cmocka_unit_test_setup(layers_policy_goes_with_its_method, clear),
        cmocka_unit_test_setup(layers_budget_function, clear),
        cmocka_unit_test_setup(layers_set_again, clear),
        cmocka_unit_test_setup(layers_chain_syntax, clear),
        cmocka_unit_test_setup(layers_texts, clear),
        cmocka_unit_test_setup(layers_words_of_several_domains, clear),
        cmocka_unit_test_setup(layers_values_of_domains, clear),
        cmocka_unit_test_setup(layers_same_search, clear),
        cmocka_unit_test_setup(layers_twins, clear),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
