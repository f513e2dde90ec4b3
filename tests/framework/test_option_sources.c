/* Sources of options (command line, request, model): their precedence, which defaults are dropped, and refused
 * options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rill/plugin.h"
#include "rill/rill.h"

static rill_context *ctx;
static rill_option_source *request_source, *high_source, *low_source;
static rill_search_config *made_config;

static int set_up(void **state)
{
    (void)state;
    return rill_context_create(&ctx, NULL) != RILL_OK || rill_register_builtins(ctx) != RILL_OK;
}

static void free_sources(void)
{
    rill_search_config_free(made_config);
    rill_option_source_free(request_source);
    rill_option_source_free(high_source);
    rill_option_source_free(low_source);
    made_config = NULL;
    request_source = high_source = low_source = NULL;
}

static int tear_down(void **state)
{
    (void)state;
    free_sources();
    rill_context_destroy(ctx);
    return 0;
}

/* Make three empty option sources of these origins. */
static void make_sources(rill_origin high_origin, rill_origin low_origin)
{
    free_sources();
    assert_int_equal(rill_option_source_create(&request_source, ctx, RILL_FROM_USER), RILL_OK);
    assert_int_equal(rill_option_source_create(&high_source, ctx, high_origin), RILL_OK);
    assert_int_equal(rill_option_source_create(&low_source, ctx, low_origin), RILL_OK);
}

static int reset_sources(void **state)
{
    (void)state;
    make_sources(RILL_FROM_USER, RILL_FROM_USER);
    return 0;
}

static void set(rill_option_source *source, const char *name, const char *value)
{
    assert_int_equal(rill_option_source_set(source, name, value), RILL_OK);
}

static rill_status make_config(void)
{
    const rill_option_source *const soft[] = {high_source, low_source};
    rill_search_config_free(made_config);
    return rill_search_config_make(&made_config, ctx, request_source, soft, 2);
}

/* Set typical defaults of a model. */
static void set_typical(rill_option_source *source)
{
    set(source, "k", "12");
    set(source, "max_candidates", "3");
    set(source, "max_items", "50");
    set(source, "budget", "100");
    set(source, "absolute", "10");
}

static void higher_source_wins(void **state)
{
    (void)state;
    set_typical(low_source);
    set(high_source, "k", "8");
    set(high_source, "n", "3");
    set(request_source, "n", "4");
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(made_config->resolved->k, 8);
    assert_int_equal(made_config->resolved->n, 4);
    assert_int_equal(made_config->resolved->max_candidates, 3);
    assert_int_equal(made_config->resolved->budget, 100);
    assert_int_equal(made_config->setup->n_heuristics, 1);
    assert_string_equal(made_config->setup->heuristics[0].name, "absolute");
    assert_string_equal(made_config->setup->heuristics[0].arguments, "10");
}

/* If the user asks for an n-best list, the model's default search for one output is dropped as a whole. */
static void chains_come_from_one_source(void **state)
{
    static const char *const lists[] = {"2", "5", "20", "131072"};
    static const char *const searches[] = {"",    "method=greedy", "method=fixed", "like=hf", "like=marian",
                                           "k=3", "absolute=3",    "groups=4",     "exact=1"};
    (void)state;
    for (int i = 0; i < 9; i++) {
        reset_sources(NULL);
        if (strncmp(searches[i], "gr", 2) != 0) set_typical(low_source);
        assert_int_equal(rill_option_source_set_all(high_source, searches[i]), RILL_OK);
        assert_int_equal(make_config(), RILL_OK);
        rill_search_config *one = made_config;
        made_config = NULL;
        for (int n = 0; n < 4; n++) {
            rill_option_source_free(request_source);
            assert_int_equal(rill_option_source_create(&request_source, ctx, RILL_FROM_USER), RILL_OK);
            set(request_source, "n-best", lists[n]);
            assert_int_equal(make_config(), RILL_OK);
            assert_int_equal(made_config->resolved->n_best, (int)strtol(lists[n], NULL, 10));
            assert_true(rill_search_config_same_search(one, made_config));
        }
        rill_search_config_free(one);
    }
}

/* A preset sets search options, not which outputs are returned. */
static void preset_keeps_set_options(void **state)
{
    (void)state;
    set(request_source, "like", "hf");
    set(high_source, "require_end", "1");
    set(high_source, "distinct", "1");
    set(high_source, "min_length", "3");
    assert_int_equal(make_config(), RILL_OK);
    assert_true(made_config->resolved->require_end && made_config->resolved->distinct &&
                made_config->resolved->min_length == 0);
}

static void chain_is_replaced(void **state)
{
    (void)state;
    set_typical(low_source);
    set(request_source, "relative-local", "0.1");
    set(request_source, "heuristic", "relative:0.2");
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(made_config->setup->n_heuristics, 2);
    assert_string_equal(made_config->setup->heuristics[0].name, "relative_local");
    assert_string_equal(made_config->setup->heuristics[1].name, "relative");
    assert_string_equal(made_config->setup->heuristics[1].arguments, "0.2");
}

static void conflicting_defaults_are_ignored(void **state)
{
    static const char *const methods[] = {"greedy", "fixed", "fixed-stream", "var-batch"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        reset_sources(NULL);
        set_typical(low_source);
        set(request_source, "method", methods[i]);
        assert_int_equal(make_config(), RILL_OK);
        assert_string_equal(made_config->resolved->method, methods[i]);
        int pruned = !strcmp(methods[i], "var-batch");
        assert_int_equal(made_config->setup->n_heuristics, pruned);
        assert_int_equal(made_config->resolved->k, i == 0 ? 1 : 12);
        assert_int_equal(made_config->resolved->max_items, i == 2 ? 50 : 10);
        if (pruned) assert_int_equal(made_config->resolved->max_candidates, 3);
    }
}

static void conflicting_options_are_refused(void **state)
{
    static const char *const conflicts[][3] = {
        {"greedy", "k", "5"},         {"fixed", "absolute", "2"},        {"fixed-stream", "max-candidates", "3"},
        {"var-batch", "refill", "1"}, {"greedy", "finish", "immediate"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof conflicts / sizeof conflicts[0]; i++) {
        reset_sources(NULL);
        set_typical(low_source);
        set(request_source, "method", conflicts[i][0]);
        set(request_source, conflicts[i][1], conflicts[i][2]);
        assert_int_equal(make_config(), RILL_ERR_OPTION);
    }
}

static void finish_goes_with_method(void **state)
{
    (void)state;
    static const rill_domain translating = {.features = RILL_FIXED_AS_FAIRSEQ}, parsing = {.features = 0};
    set(low_source, "method", "var-stream");
    set(low_source, "finish", "shrink");
    set(request_source, "method", "fixed");
    rill_option_source_set_domain(low_source, &parsing);
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(made_config->resolved->finish, RILL_FINISH_TOP);
    rill_option_source_set_domain(low_source, &translating);
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(made_config->resolved->finish, RILL_FINISH_IMMEDIATE);
    assert_int_equal(made_config->setup->settings.finish, RILL_FINISH_IMMEDIATE);
    set(request_source, "num-samples", "3");
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(made_config->resolved->finish, RILL_FINISH_SHRINK);
    reset_sources(NULL);
    rill_option_source_set_domain(low_source, &translating);
    set(request_source, "method", "fixed-stream");
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(made_config->resolved->finish, RILL_FINISH_TOP);
    reset_sources(NULL);
    rill_option_source_set_domain(low_source, &translating);
    set(request_source, "method", "fixed");
    set(request_source, "finish", "top");
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(made_config->resolved->finish, RILL_FINISH_TOP);
}

static void defaults_give_way(void **state)
{
    (void)state;
    set(low_source, "stop_after", "4");
    set(request_source, "patience", "2");
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(made_config->resolved->stop_after, 20);
}

static void options_set_twice(void **state)
{
    (void)state;
    set(request_source, "max-items", "5");
    set(request_source, "max_in_flight", "5");
    assert_int_equal(rill_option_source_set(request_source, "max_in_flight", "6"), RILL_ERR_OPTION);
    assert_string_equal(rill_error(ctx), "max-in-flight is given twice, \"5\" and \"6\"");
    assert_string_equal(rill_option_source_get(request_source, "max-items"), "5");
    static const char *const good[][3] = {
        {"lenpen", "length-penalty", "1 1.0"},   {"unknown_penalty", "unkpen", "inf Infinity"},
        {"absolute", "prune_absolute", "2 2.0"}, {"memory", "memory", "1K 1024"},
        {"distinct", "distinct", "true 1"},      {"scheduler", "scheduler", "all all"}};
    static const char *const bad[][3] = {{"lenpen", "length-penalty", "1 1.5"},
                                         {"relative", "prune_relative", "0.5 0.6"},
                                         {"relative_local", "prune-relative-local", "0.5 x"},
                                         {"scheduler", "scheduler", "batch top-up:1"}};
    char first[16], second[16];
    int32_t n;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(sscanf(good[i][2], "%15s %15s", first, second), 2);
        set(request_source, good[i][0], first);
        set(request_source, good[i][1], second);
    }
    rill_option_source_chain(request_source, RILL_CHAIN_HEURISTICS, &n);
    assert_int_equal(n, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(sscanf(bad[i][2], "%15s %15s", first, second), 2);
        set(low_source, bad[i][0], first);
        assert_int_equal(rill_option_source_set(low_source, bad[i][1], second), RILL_ERR_OPTION);
        assert_non_null(strstr(rill_error(ctx), "is given twice"));
    }
    /* Other toolkits' words for values of other options. */
    static const char *const words[] = {"avg", "none", "float32", "float16", "bfloat16"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        reset_sources(NULL);
        set(low_source, "absolute", words[i]);
        set(low_source, "prune-absolute", words[i]);
        assert_int_equal(rill_option_source_set(low_source, "prune_absolute", "1"), RILL_ERR_OPTION);
        assert_non_null(strstr(rill_error(ctx), "prune-absolute is given twice"));
        set(low_source, "relative", "1");
        assert_int_equal(rill_option_source_set(low_source, "relative", words[i]), RILL_ERR_OPTION);
        assert_non_null(strstr(rill_error(ctx), words[i]));
    }
    assert_int_equal(rill_option_source_set(request_source, "no-such", "1"), RILL_ERR_OPTION);
    assert_int_equal(rill_option_source_set(request_source, "k", "0"), RILL_ERR_OPTION);
    assert_null(rill_option_source_get(request_source, "k"));
}

static void chain_syntax(void **state)
{
    int32_t n;
    (void)state;
    set(request_source, "heuristic", "a");
    set(request_source, "heuristic", "b:");
    set(request_source, "heuristic", "c:1:2,x=y");
    const rill_chain_entry *entry = rill_option_source_chain(request_source, RILL_CHAIN_HEURISTICS, &n);
    assert_int_equal(n, 3);
    assert_string_equal(entry[0].arguments, "");
    assert_string_equal(entry[1].name, "b");
    assert_string_equal(entry[2].arguments, "1:2,x=y");
    assert_int_equal(rill_option_source_set(request_source, "heuristic", ""), RILL_ERR_OPTION);
    assert_int_equal(rill_option_source_set(request_source, "heuristic", ":1"), RILL_ERR_OPTION);
    set(request_source, "scheduler", "top-up:1");
    entry = rill_option_source_chain(request_source, RILL_CHAIN_SCHEDULER, &n);
    assert_true(n == 1 && strcmp(entry[0].name, "top-up") == 0);
}

static void option_texts(void **state)
{
    (void)state;
    set(high_source, "weights", "f32");
    set(high_source, "scheduler", "all");
    assert_false(
        /* options of opening or scheduling a model are not part of the search */
        rill_option_source_sets_search(high_source));
    assert_int_equal(rill_option_source_set_all(high_source, "  k=7 absolute=2  min_length=3 "), RILL_OK);
    assert_true(rill_option_source_sets_search(high_source));
    assert_true(rill_option_source_has_chain(high_source, RILL_CHAIN_HEURISTICS) &&
                !rill_option_source_has_chain(high_source, RILL_CHAIN_SCORERS));
    assert_int_equal(make_config(), RILL_OK);
    assert_true(made_config->resolved->k == 7 && made_config->resolved->min_length == 3 &&
                made_config->setup->n_heuristics == 1);
    assert_int_equal(rill_option_source_set_all(high_source, "k=7 budget"), RILL_ERR_PLUGIN);
    assert_int_equal(rill_option_source_set_all(high_source, "kk=7"), RILL_ERR_OPTION);
    char text[4097] = "scorer=word_reward:"; /* a pair of 4,096 bytes is too long, one of 4,095 is not */
    memset(text + strlen(text), '1', sizeof text - strlen(text) - 1);
    assert_int_equal(rill_option_source_set_all(low_source, text), RILL_ERR_PLUGIN);
    assert_non_null(strstr(rill_error(ctx), "\" has 4096 bytes, and NAME=VALUE has at most 4095"));
    text[sizeof text - 2] = '\0';
    assert_int_equal(rill_option_source_set_all(low_source, text), RILL_OK);
    set(high_source, "max-length", "2");
    /* the maximum length is below min-length */
    assert_int_equal(rill_option_source_check(high_source), RILL_ERR_OPTION);
    assert_int_equal(rill_option_source_check(low_source), RILL_OK);
}

/* Domains that share an option may accept different words; a value that one of them accepts is accepted. */
static void values_of_several_domains(void **state)
{
    static const rill_option options[] = {
        {"input-format", "loud|soft", "", "", RILL_OPTION_WORD, RILL_OPTION_MODEL, 0, 0, 0, NULL}, {0}};
    const rill_registry_mark mark = rill_registry_size(ctx);
    rill_domain toned = *rill_find_domain(ctx, "shiftreduce");
    (void)state;
    toned.name = "toned";
    toned.options = options;
    assert_int_equal(rill_register_domain(ctx, &toned), RILL_OK);
    set(request_source, "input_format", "soft");
    assert_string_equal(rill_option_source_get(request_source, "input-format"), "soft");
    assert_int_equal(rill_option_source_set(request_source, "input-format", "shrill"), RILL_ERR_OPTION);
    assert_ptr_equal(rill_option_row(ctx, "input_format"),
                     rill_option_find(rill_find_domain(ctx, "shiftreduce")->options, "input-format"));
    assert_ptr_equal(rill_option_row(ctx, "max_items"), rill_option_find(rill_setting_table(), "max-items"));
    assert_ptr_equal(rill_option_row(ctx, "scheduler"), rill_option_find(rill_chain_table(), "scheduler"));
    assert_null(rill_option_row(ctx, "nothing"));
    rill_registry_restore(ctx, mark);
}

/* Options of domains follow the same precedence: the model gets the value of the source with the highest one. */
static void domain_values(void **state)
{
    const rill_option_source *const sources[] = {request_source, NULL, high_source, low_source};
    rill_pair *pair;
    int32_t n;
    (void)state;
    assert_int_equal(rill_option_sources_domain_values(ctx, sources, 4, &pair, &n), RILL_OK);
    assert_true(n == 0 && pair == NULL);
    set(low_source, "input_format", "tree");
    set(low_source, "weights", "int8");
    set(high_source, "quantization", "f32");
    assert_int_equal(rill_option_source_set(high_source, "weights", "bf16"), RILL_ERR_OPTION);
    assert_string_equal(rill_option_source_get(high_source, "weights"), "f32");
    assert_string_equal(rill_option_source_get(low_source, "input-format"), "tree");
    assert_null(rill_option_source_get(request_source, "weights"));
    assert_int_equal(rill_option_sources_domain_values(ctx, sources, 4, &pair, &n), RILL_OK);
    assert_int_equal(n, 2);
    assert_string_equal(pair[0].name, "weights");
    assert_string_equal(pair[0].value, "f32");
    assert_string_equal(pair[1].name, "input-format");
    rill_free(ctx, pair, (size_t)n * sizeof *pair);
    assert_int_equal(rill_option_source_set(high_source, "wieghts", "f32"), RILL_ERR_OPTION);
    assert_non_null(strstr(rill_error(ctx), "\"weights\""));
}

/* Configurations that differ only in scheduling are the same search; those with possibly different results are not. */
static void equal_searches(void **state)
{
    static const char *const same[][2] = {{"n", "3"}, {"budget", "50"}, {"sort", "length"}, {"n-best", "2"}};
    static const char *const other[][2] = {
        {"k", "3"}, {"distinct", "1"}, {"unknown-penalty", "inf"}, {"absolute", "3"}};
    rill_search_config *plain;
    (void)state;
    assert_int_equal(make_config(), RILL_OK);
    plain = made_config;
    made_config = NULL;
    for (size_t i = 0; i < 4; i++) {
        reset_sources(NULL);
        set(request_source, same[i][0], same[i][1]);
        assert_int_equal(make_config(), RILL_OK);
        assert_true(rill_search_config_same_search(plain, made_config));
        set(request_source, other[i][0], other[i][1]);
        assert_int_equal(make_config(), RILL_OK);
        assert_false(rill_search_config_same_search(plain, made_config));
    }
    rill_search_config_free(plain);
}

static void worker_copies(void **state)
{
    rill_option_source *worker_copy;
    rill_search_config *own;
    (void)state;
    set(high_source, "k", "7");
    set(request_source, "n", "3");
    assert_int_equal(rill_option_source_create(&worker_copy, ctx, RILL_FROM_USER), RILL_OK);
    set(worker_copy, "k", "8");
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(rill_search_config_worker_copy(made_config, ctx, 1, &own), RILL_OK);
    assert_null(own);
    assert_int_equal(rill_option_source_set_worker_copy(high_source, 1, worker_copy), RILL_OK);
    assert_int_equal(rill_search_config_worker_copy(made_config, ctx, 0, &own), RILL_OK);
    assert_null(own);
    assert_int_equal(rill_search_config_worker_copy(made_config, ctx, 1, &own), RILL_OK);
    assert_true(own->resolved->k == 8 && own->resolved->n == 3);
    rill_search_config_free(own);
    assert_int_equal(rill_option_source_set_worker_copy(high_source, 1, NULL), RILL_OK);
    /* the source of the user's options, which no request replaces */
    assert_int_equal(rill_option_source_set_worker_copy(request_source, 1, worker_copy), RILL_OK);
    assert_int_equal(rill_search_config_worker_copy(made_config, ctx, 1, &own), RILL_OK);
    assert_true(own->resolved->k == 8 && own->resolved->n == 10);
    rill_search_config_free(own);
    rill_option_source_free(worker_copy);
}

static rill_status budget_of_seven(void *user, const rill_sched_view *view, int32_t *budget)
{
    (void)user;
    (void)view;
    *budget = 7;
    return RILL_OK;
}

/* Options of the user's file that have no effect are reported; options without effect among a model's defaults are
 * not. */
static void ignored_options_are_reported(void **state)
{
    (void)state;
    make_sources(RILL_FROM_FILE, RILL_FROM_USER);
    set_typical(high_source);
    set(high_source, "method", "top-up");
    set(high_source, "finish", "top");
    set(high_source, "scheduler", "all");
    set_typical(low_source);
    assert_int_equal(make_config(), RILL_OK);
    assert_string_equal(made_config->ignored, "");
    assert_string_equal(made_config->setup->scheduler->name, "all");
    set(request_source, "method", "greedy");
    assert_int_equal(make_config(), RILL_OK);
    assert_string_equal(
        made_config->ignored,
        "heuristics (absolute:10), scheduler (all), options.finish, options.beam_size, options.max_in_flight, options.max_children");
    assert_null(made_config->setup->scheduler);
    set(request_source, "k", "1");
    assert_int_equal(make_config(), RILL_OK);
    assert_string_equal(
        made_config->ignored,
        "heuristics (absolute:10), scheduler (all), options.finish, options.max_in_flight, options.max_children");
}

static void consistent_sources_are_taken(void **state)
{
    (void)state;
    make_sources(RILL_FROM_USER, RILL_FROM_FILE);
    set(low_source, "method", "fixed");
    set(low_source, "max-candidates", "5"); /* k and finish, set later, determine it */
    set(low_source, "finish", "top");
    set(low_source, "k", "5");
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(made_config->resolved->k, 5);
    assert_string_equal(made_config->ignored, "");
    set(request_source, "sort", "length"); /* independent of k and finish */
    set(low_source, "flush-every", "3");
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(made_config->resolved->k, 5);
    assert_int_equal(made_config->resolved->finish, RILL_FINISH_TOP);
    assert_string_equal(made_config->ignored, "options.flush_every");
}

static void empty_chain_counts_as_set(void **state)
{
    (void)state;
    set_typical(low_source);
    set(low_source, "scorer", "word_reward:0.5");
    rill_option_source_set_chain(high_source, RILL_CHAIN_HEURISTICS);
    rill_option_source_set_chain(high_source, RILL_CHAIN_SCORERS);
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(made_config->setup->n_heuristics, 0);
    assert_int_equal(made_config->setup->n_scorers, 0);
    set(request_source, "absolute", "3");
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(made_config->setup->n_heuristics, 1);
}

static void scheduler_goes_with_method(void **state)
{
    (void)state;
    set(low_source, "scheduler", "all");
    assert_int_equal(make_config(), RILL_OK);
    assert_string_equal(made_config->setup->scheduler->name, "all");
    set(high_source, "method", "top-up");
    assert_int_equal(make_config(), RILL_OK);
    assert_null(made_config->setup->scheduler);
}

static void budget_function(void **state)
{
    (void)state;
    set(low_source, "budget", "100");
    rill_option_source_set_budget(high_source, budget_of_seven, high_source);
    assert_int_equal(make_config(), RILL_OK);
    assert_true(made_config->setup->budget == budget_of_seven && made_config->setup->budget_user == high_source);
    assert_int_equal(made_config->setup->settings.budget, 0);
    assert_int_equal(made_config->resolved->budget, 0);
    assert_int_equal(made_config->resolved->max_items, 1000); /* 1000 is the default with any batch budget */
    set(request_source, "budget", "9");
    assert_int_equal(make_config(), RILL_OK);
    assert_true(made_config->setup->budget == NULL);
    assert_int_equal(made_config->resolved->budget, 9);
}

/* Resolve a request's options on top of made_config. */
static rill_status make_request(const char *options, int gives_way)
{
    rill_option_source *own;
    rill_search_config *run = made_config;
    assert_int_equal(rill_option_source_create(&own, ctx, RILL_FROM_USER), RILL_OK);
    assert_int_equal(rill_option_source_set_all(own, options), RILL_OK);
    const rill_status status = rill_search_config_request(&made_config, run, ctx, own, gives_way);
    rill_search_config_free(run);
    rill_option_source_free(own);
    return status;
}

static void request_comes_before_the_run(void **state)
{
    (void)state;
    set(request_source, "k", "8");
    set(request_source, "min-length", "5");
    set(low_source, "length-penalty", "0.5");
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(make_request("num-beams=4 n-best=2", 0), RILL_OK);
    assert_true(made_config->resolved->k == 4 && made_config->resolved->n_best == 2);
    assert_true(made_config->resolved->min_length == 5 && made_config->resolved->length_penalty == 0.5);
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(make_request("max-length=4", 0), RILL_ERR_OPTION);
    assert_string_equal(rill_error(ctx), "min-length 5 is above max-length 4");
    assert_null(made_config);
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(make_request("max-length=4", 1), RILL_OK);
    assert_true(made_config->resolved->max_length == 4 && made_config->resolved->min_length == 0);
    assert_int_equal(made_config->resolved->k, 8);
}

static void request_keeps_the_heuristics(void **state)
{
    (void)state;
    set(request_source, "absolute", "3");
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(make_request("like=hf", 1), RILL_ERR_OPTION);
    assert_string_equal(
        rill_error(ctx),
        "like removes the heuristics of this run (absolute), which all inputs share: set it for the whole run");
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(make_request("num-samples=4", 0), RILL_ERR_OPTION);
    assert_string_equal(rill_error(ctx), "heuristics cannot be combined with num-samples");
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(make_request("num-samples=4", 1), RILL_OK);
    assert_true(made_config->resolved->sample == 4 && made_config->setup->n_heuristics == 0);
}

/* A request may be resolved on top of another request, until there are too many sources. */
static void requests_of_requests(void **state)
{
    (void)state;
    set(request_source, "k", "3");
    for (int gives_way = 0; gives_way < 2; gives_way++) {
        rill_search_config *next;
        rill_search_config_free(made_config);
        made_config = NULL;
        assert_int_equal(rill_search_config_make(&made_config, ctx, NULL, NULL, 0), RILL_OK);
        for (int i = 1; i < 10 - gives_way; i++) {
            assert_int_equal(rill_search_config_request(&next, made_config, ctx, request_source, gives_way), RILL_OK);
            rill_search_config_free(made_config);
            made_config = next;
            assert_int_equal(made_config->resolved->k, 3);
        }
        assert_int_equal(rill_search_config_request(&next, made_config, ctx, request_source, gives_way),
                         RILL_ERR_ARGUMENT);
        assert_null(next);
        assert_string_equal(rill_error(ctx), "9 option sources: at most 8 can be combined");
    }
    const rill_option_source *const soft[9] = {high_source};
    rill_search_config_free(made_config);
    assert_int_equal(rill_search_config_make(&made_config, ctx, request_source, soft, 9), RILL_ERR_ARGUMENT);
    assert_null(made_config);
}

/* An option that needs another one is completed by a default of that one, and combined with all other defaults. */
static void defaults_complete_an_option(void **state)
{
    (void)state;
    set(high_source, "word-penalty", "0.5");
    set(low_source, "num-samples", "4");
    set(low_source, "temperature", "0.7");
    assert_int_equal(make_config(), RILL_OK);
    assert_int_equal(make_request("top-p=0.9", 0), RILL_OK);
    assert_true(made_config->resolved->sample == 4 && made_config->resolved->word_penalty == 0.5);
    assert_true(made_config->resolved->top_p == 0.9 && made_config->resolved->temperature == 0.7);
}

/* If two defaults contradict each other, only the one of lower precedence is left out. */
static void the_lower_default_is_left_out(void **state)
{
    static const struct {
        const char *required, *high, *low, *ignored;
    } cases[] = {
        {"", "finish=immediate", "num-samples=4 temperature=0.5 k=4", "options.num_samples, options.temperature"},
        {"", "keep=all", "like=hf n=3", "options.like"},
        /* a search overridden as a whole, except for its schedule */
        {"", "like=hf", "keep=all k=4 min-length=2 n=3", ""},
        {"method=fixed", "finish=shrink max-children=4", "k=5", "options.max_children"},
        {"method=fixed", "max-children=4 like=hf", "", "options.max_children"},
        {"method=fixed", "max-in-flight=20", "n=7", "options.max_in_flight"},
        {"method=fixed", "max-in-flight=10", "n=7", "options.batch_size"},
        {"num-samples=4", "k=5 stop-after=4 max-children=3 n-best=5", "sort=length",
         "options.beam_size, options.max_children, options.n_best"},
        {"groups=2", "k=5 max-children=4", "stop=top", "options.beam_size, options.max_children, options.stop"},
        {"patience=2", "stop-after=3", "exact-rows=9", "options.stop_after, options.exact_rows"},
        /* a default of lower precedence does not complete the option */
        {"k=3", "exact-rows=9", "exact=1", "options.exact_rows"},
        {"exact-rows=9", "k=4", "exact=1", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_sources(RILL_FROM_FILE, RILL_FROM_FILE);
        assert_int_equal(rill_option_source_set_all(request_source, cases[i].required), RILL_OK);
        assert_int_equal(rill_option_source_set_all(high_source, cases[i].high), RILL_OK);
        assert_int_equal(rill_option_source_set_all(low_source, cases[i].low), RILL_OK);
        assert_int_equal(make_config(), RILL_OK);
        assert_string_equal(made_config->ignored, cases[i].ignored);
    }
}

/* Whole numbers are compared as integers: a double cannot represent 2^53 + 1. */
static void values_that_are_the_same(void **state)
{
    static const rill_option number = {.name = "number", .type = RILL_OPTION_REAL, .min = -1e300, .max = 1e300},
                             text = {.name = "text", .type = RILL_OPTION_TEXT};
    (void)state;
    assert_true(rill_option_same_value(&number, "1e3", "1000") && rill_option_same_value(&number, "1/2", "0.5"));
    assert_true(rill_option_same_value(&number, "9007199254740993", "09007199254740993"));
    assert_false(rill_option_same_value(&number, "9007199254740992", "9007199254740993"));
    assert_false(rill_option_same_value(&number, "1", "x"));
    assert_false(rill_option_same_value(&text, "1", "1.0"));
    set(request_source, "memory", "9007199254740992");
    set(request_source, "memory", "8192T");
    assert_int_equal(rill_option_source_set(request_source, "memory", "9007199254740993"), RILL_ERR_OPTION);
    assert_string_equal(rill_error(ctx), "memory is given twice, \"9007199254740992\" and \"9007199254740993\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(higher_source_wins, reset_sources),
        cmocka_unit_test_setup(chains_come_from_one_source, reset_sources),
        cmocka_unit_test_setup(preset_keeps_set_options, reset_sources),
        cmocka_unit_test_setup(chain_is_replaced, reset_sources),
        cmocka_unit_test_setup(conflicting_defaults_are_ignored, reset_sources),
        cmocka_unit_test_setup(conflicting_options_are_refused, reset_sources),
        cmocka_unit_test_setup(finish_goes_with_method, reset_sources),
        cmocka_unit_test_setup(defaults_give_way, reset_sources),
        cmocka_unit_test_setup(ignored_options_are_reported, reset_sources),
        cmocka_unit_test_setup(consistent_sources_are_taken, reset_sources),
        cmocka_unit_test_setup(empty_chain_counts_as_set, reset_sources),
        cmocka_unit_test_setup(scheduler_goes_with_method, reset_sources),
        cmocka_unit_test_setup(budget_function, reset_sources),
        cmocka_unit_test_setup(options_set_twice, reset_sources),
        cmocka_unit_test_setup(chain_syntax, reset_sources),
        cmocka_unit_test_setup(option_texts, reset_sources),
        cmocka_unit_test_setup(values_of_several_domains, reset_sources),
        cmocka_unit_test_setup(domain_values, reset_sources),
        cmocka_unit_test_setup(equal_searches, reset_sources),
        cmocka_unit_test_setup(worker_copies, reset_sources),
        cmocka_unit_test_setup(request_comes_before_the_run, reset_sources),
        cmocka_unit_test_setup(request_keeps_the_heuristics, reset_sources),
        cmocka_unit_test_setup(requests_of_requests, reset_sources),
        cmocka_unit_test_setup(defaults_complete_an_option, reset_sources),
        cmocka_unit_test_setup(the_lower_default_is_left_out, reset_sources),
        cmocka_unit_test_setup(values_that_are_the_same, reset_sources),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
