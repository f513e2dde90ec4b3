/* Plugin tables that share their functions. A function called without an instance gets the table it was registered
 * with, and finds the enclosing struct through it. Each kind of table is registered twice, with a number after the
 * public table. */
#include "rill/engine.h"
#include "rill/plugin.h"
#include "support/harness.h"
#include "support/toy_domain.h"

/* [number]: instances or models made from the table with this number; instances still alive. */
static int made[11], n_alive[11];

/* --- shared functions --------------------------------------------------------------------------------------------- */

typedef struct numbered_heuristic {
    rill_heuristic table;
    int number;
} numbered_heuristic;

typedef struct numbered_scorer {
    rill_scorer table;
    int number;
} numbered_scorer;

typedef struct numbered_scheduler {
    rill_scheduler table;
    int number;
} numbered_scheduler;

typedef struct numbered_domain {
    rill_domain table;
    int number;
} numbered_domain;

/* An instance is the number of the table that made it. */
static rill_status make(const int *number, const char *arguments, void **self)
{
    assert_string_equal(arguments, "");
    made[*number]++;
    n_alive[*number]++;
    *self = (void *)number;
    return RILL_OK;
}

static rill_status make_heuristic(const rill_heuristic *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)ctx;
    return make(&((const numbered_heuristic *)table)->number, arguments, self);
}

static rill_status make_scorer(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)ctx;
    return make(&((const numbered_scorer *)table)->number, arguments, self);
}

static rill_status make_scheduler(const rill_scheduler *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)ctx;
    return make(&((const numbered_scheduler *)table)->number, arguments, self);
}

static void drop_instance(void *self)
{
    n_alive[*(const int *)self]--;
}

static rill_status keep_all(void *self, rill_candidates *candidates)
{
    (void)self, (void)candidates;
    return RILL_OK;
}

static rill_status score_numbered(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    (void)self, (void)rows, (void)modifiers;
    return RILL_OK;
}

static rill_status choose_nothing(void *self, const rill_sched_view *view, int32_t *order, int32_t *count)
{
    (void)self, (void)view, (void)order;
    *count = 0;
    return RILL_OK;
}

static rill_status admit_none(void *self, const rill_sched_view *view, int32_t *admit)
{
    (void)self, (void)view;
    *admit = 0;
    return RILL_OK;
}

/* A model has as many actions as the number of its table. */
static rill_status open_numbered(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                                 void **self, rill_domain_info *info)
{
    const numbered_domain *d = (const numbered_domain *)table;
    rill_status status = toy_domain.open(&toy_domain, ctx, options, self, info);
    made[d->number]++;
    info->actions = d->number;
    return status;
}

/* --- which table is called ---------------------------------------------------------------------------------------- */

static const numbered_heuristic heuristics[] = {
    {{RILL_ABI_VERSION, sizeof(rill_heuristic), "h5", "", "a test", make_heuristic, keep_all, drop_instance}, 5},
    {{RILL_ABI_VERSION, sizeof(rill_heuristic), "h6", "", "a test", make_heuristic, keep_all, drop_instance}, 6},
};
static const numbered_scorer scorers[] = {
    {{RILL_ABI_VERSION, sizeof(rill_scorer), "s7", "", "a test", make_scorer, score_numbered, drop_instance,
      .state_bytes = 0},
     7},
    {{RILL_ABI_VERSION, sizeof(rill_scorer), "s8", "", "a test", make_scorer, score_numbered, drop_instance,
      .state_bytes = 0},
     8},
};
static const numbered_scheduler schedulers[] = {
    {{RILL_ABI_VERSION, sizeof(rill_scheduler), "p9", "a test", make_scheduler, choose_nothing, admit_none,
      drop_instance, NULL, 0},
     9},
    {{RILL_ABI_VERSION, sizeof(rill_scheduler), "p10", "a test", make_scheduler, choose_nothing, admit_none,
      drop_instance, NULL, 0},
     10},
};

static void create_gets_its_table(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rill_register_heuristic(ctx, &heuristics[i].table), RILL_OK);
        assert_int_equal(rill_register_scorer(ctx, &scorers[i].table), RILL_OK);
        assert_int_equal(rill_register_scheduler(ctx, &schedulers[i].table), RILL_OK);
    }
    const rill_chain_entry prune[] = {{"h6", NULL}, {"h5", NULL}, {"h6", NULL}}, speak[] = {{"s8", NULL}},
                           order = {"p10", NULL};
    rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = ""};
    rill_engine_setup setup;
    rill_model *model;
    rill_engine *engine;
    rill_engine_setup_default(&setup);
    setup.heuristics = prune;
    setup.n_heuristics = 3;
    setup.scorers = speak;
    setup.n_scorers = 1;
    setup.scheduler = &order;
    assert_int_equal(rill_model_open(&model, ctx, "toy", &open), RILL_OK);
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    const int expected[11] = {[5] = 1, [6] = 2, [8] = 1, [10] = 1}, none[11] = {0};
    assert_memory_equal(made, expected, sizeof made);
    assert_memory_equal(n_alive, expected, sizeof n_alive);
    rill_engine_destroy(engine);
    assert_memory_equal(n_alive, none, sizeof n_alive);
    rill_model_close(model);
    rill_context_destroy(ctx);
}

static void open_gets_its_table(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    numbered_domain domains[] = {{toy_domain, 3}, {toy_domain, 4}};
    const char *const names[] = {"three", "four"};
    for (int i = 0; i < 2; i++) {
        domains[i].table.name = names[i];
        domains[i].table.open = open_numbered;
        assert_int_equal(rill_register_domain(ctx, &domains[i].table), RILL_OK);
    }
    for (int i = 1; i >= 0; i--) {
        rill_model *model;
        rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = ""};
        assert_int_equal(rill_model_open(&model, ctx, names[i], &open), RILL_OK);
        assert_int_equal(rill_model_info(model)->actions, 3 + i);
        rill_model_close(model);
    }
    assert_true(made[3] == 1 && made[4] == 1);
    rill_context_destroy(ctx);
}

int main(int argc, char **argv)
{
    if (harness_options(argc, argv) != 0) return 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create_gets_its_table),
        cmocka_unit_test(open_gets_its_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
