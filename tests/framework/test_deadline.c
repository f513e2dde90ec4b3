/* A deadline, a cancellation or a stop in the middle of a search, with each setting in turn at extreme values: the
 * engine's counters show how much is expanded afterwards. An undisturbed search does no more work than
 * rill_settings_cost() says. A long timestep is computed in parts, and may end between them. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "rill/plugin.h"
#include "rill/rill.h"
#include "rill/workers.h"
#include "support/harness.h"
#include "support/tables.h"
#include "support/toy_domain.h"

enum { INPUTS = 3, VALUES = 6 };
static const char MODEL[] = "seed=5 actions=9 depth=40 own_bound=0 legal=100 ending=0";

typedef enum end_kind { END_DEADLINE, END_CANCELLED, END_STOPPED, END_KINDS } end_kind;

static double clock_seconds; /* the engine's clock */

static double read_test_clock(void *user)
{
    (void)user;
    return clock_seconds;
}

/* Values at the ends of a setting's range, as texts. Returns their number. */
static int32_t extreme_values(const rill_option *row, char text[VALUES][40])
{
    const double number[] = {row->min, row->max, row->max < 65536 ? row->max : 65536, 1e-6, 1};
    int32_t n = 0;
    if (row->type == RILL_OPTION_SWITCH) return snprintf(text[0], sizeof text[0], "1"), 1;
    if (row->type != RILL_OPTION_INT && row->type != RILL_OPTION_REAL) return 0;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        size_t earlier = 0;
        while (earlier < i && number[earlier] != number[i]) earlier++;
        if (earlier == i && (row->type == RILL_OPTION_REAL || number[i] >= 1))
            snprintf(text[n++], sizeof text[0], "%.17g", number[i]);
    }
    return n;
}

typedef struct counts {
    /* numbers of searches that finished early, were cut short, were refused */
    int64_t finished_early, cut_short, refused;
} counts;

/* Enable the setting that this one needs to have an effect. */
static void enable_setting(const rill_option *row, rill_settings *s)
{
    static const char *const drawn[] = {"temperature", "top-k", "top-p", "seed", "distinct"};
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
        if (strcmp(row->name, drawn[i]) == 0) s->sample = 40;
    if (strcmp(row->name, "diversity") == 0) s->groups = s->k = 40;
}

static int64_t expansions(const rill_engine *engine)
{
    rill_stats stats = {.struct_size = sizeof stats};
    rill_engine_stats(engine, &stats);
    return stats.expansions;
}

static void end_searches(rill_engine *engine, end_kind how, const int64_t id[INPUTS])
{
    if (how == END_DEADLINE) clock_seconds = 100;
    if (how == END_STOPPED) rill_engine_stop(engine);
    for (int32_t i = 0; i < INPUTS && how == END_CANCELLED; i++) {
        const rill_status status = rill_engine_cancel(engine, id[i]);
        /* RILL_ERR_NOT_FOUND: the input already had its result */
        assert_true(status == RILL_OK || status == RILL_ERR_NOT_FOUND);
    }
}

static rill_status read_nothing(void *user, int may_block, const char **text, size_t *length)
{
    (void)user, (void)may_block, (void)text, (void)length;
    return RILL_END_OF_INPUT;
}

static rill_status write_nowhere(void *user, const rill_result *result)
{
    (void)user, (void)result;
    return RILL_OK;
}

static void run(rill_context *ctx, rill_model *model, const rill_settings *settings, end_kind how, const char *what,
                counts *seen)
{
    rill_engine *engine;
    rill_engine_setup setup;
    rill_cost cost = {.struct_size = sizeof cost};
    rill_settings resolved = *settings;
    int64_t id[INPUTS];
    rill_status status = rill_settings_resolve(ctx, &resolved, 0);
    rill_engine_setup_default(&setup);
    setup.settings.n = 1000;
    setup.settings.max_items = INPUTS;
    setup.clock = read_test_clock;
    clock_seconds = 10;
    assert_int_equal(rill_engine_create(&engine, ctx, model, &setup), RILL_OK);
    for (int32_t i = 0; i < INPUTS && status == RILL_OK; i++) {
        const rill_request r = {
            .struct_size = sizeof r, .text = "in 1", .length = 4, .timeout = 5, .settings = settings};
        status = rill_engine_submit_request(engine, &r, &id[i]);
    }
    if (status != RILL_OK) {
        assert_int_equal(status, RILL_ERR_OPTION);
        seen->refused++;
        rill_engine_destroy(engine);
        return;
    }
    rill_settings_cost(&resolved, rill_model_info(model), 1, &cost);
    for (int32_t i = 0; i < 3; i++) assert_true(rill_engine_step(engine) >= 0);
    const int64_t expanded = expansions(engine);
    if ((double)expanded > INPUTS * cost.rows) fail_msg("%s: %lld of %g rows", what, (long long)expanded, cost.rows);
    const int under_way = rill_engine_pending(engine) > 0;
    *(under_way ? &seen->cut_short : &seen->finished_early) += 1;
    end_searches(engine, how, id);
    status = rill_run(engine, read_nothing, NULL, write_nowhere, NULL);
    if (status != (how == END_STOPPED ? RILL_ERR_STOPPED : RILL_OK)) fail_msg("%s: %s", what, rill_status_name(status));
    if (expansions(engine) != expanded)
        fail_msg("%s: %lld rows when its time is over", what, (long long)(expansions(engine) - expanded));
    rill_engine_destroy(engine);
}

static void every_setting_is_cut_short(void **state)
{
    (void)state;
    counts seen = {0};
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    rill_model *model;
    const rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = MODEL};
    assert_int_equal(rill_model_open(&model, ctx, "toy", &open), RILL_OK);
    for (const rill_option *row = rill_setting_table(); row->name != NULL; row++) {
        char text[VALUES][40], what[120];
        const int32_t n = rill_setting_is_per_request(row) ? extreme_values(row, text) : 0;
        for (int32_t i = 0; i < n * END_KINDS; i++) {
            rill_settings s;
            rill_settings_default(&s);
            enable_setting(row, &s);
            snprintf(what, sizeof what, "%s=%s, %d", row->name, text[i / END_KINDS], i % END_KINDS);
            if (rill_settings_set(ctx, &s, row->name, text[i / END_KINDS]) != RILL_OK) continue;
            run(ctx, model, &s, (end_kind)(i % END_KINDS), what, &seen);
        }
    }
    print_message("%lld searches were cut, %lld were over, %lld refused\n", (long long)seen.cut_short,
                  (long long)seen.finished_early, (long long)seen.refused);
    assert_true(seen.cut_short > 60);
    rill_model_close(model);
    harness_end(ctx, &memory);
}

/* --- in the middle of a timestep ---------------------------------------------------------------------------------- */

/* Samples of two inputs. Each sample is drawn from many choices, so that the second timestep is scored in parts; or
 * there are so many samples that it is stepped in parts. The search ends in the first part. */
static const char WIDE_MODEL[] = "seed=5 actions=9 depth=40 own_bound=0 legal=100 ending=0 listed=0 spare=100000";
static const struct part_kind {
    int32_t samples, top_k, part;
} kinds[] = {{60, 20000, (1 << 19) / 20000}, {600, 5, 256}};

typedef struct middle {
    const struct part_kind *kind;
    end_kind how; /* END_KINDS: nothing ends the search early */
    rill_engine *engine;
    rill_workers *workers;
    _Atomic int in_part, is_cancelled;
    int n_read, second_rows; /* rows scored, or stepped, in the second timestep */
    rill_status status[2];
    int32_t n[2], timed_out[2], length[2];
    double best[2];
} middle;

static middle part_way;

static void end_in_part(const rill_rows *rows)
{
    static const struct timespec a_moment = {.tv_nsec = 1000000};
    if (rows->depth[0] != 1) return;
    part_way.second_rows += rows->n;
    if (part_way.in_part) return;
    part_way.in_part = 1;
    if (part_way.how == END_DEADLINE) clock_seconds = 100;
    if (part_way.how == END_STOPPED) rill_engine_stop(part_way.engine);
    while (part_way.how == END_CANCELLED && !part_way.is_cancelled) nanosleep(&a_moment, NULL);
}

static rill_status step_and_end(void *self, const rill_rows *rows)
{
    if (part_way.kind == &kinds[1]) end_in_part(rows);
    return toy_domain.step(self, rows);
}

static rill_status score_and_end(void *self, const rill_rows *rows, const rill_score_request *request,
                                 rill_score_result *out)
{
    if (part_way.kind == &kinds[0]) end_in_part(rows);
    return toy_domain.score(self, rows, request, out);
}

static rill_status read_and_cancel(void *user, int may_block, rill_request *out)
{
    (void)user, (void)may_block;
    if (part_way.is_cancelled) return RILL_END_OF_INPUT;
    if (part_way.n_read == 0) {
        part_way.n_read = 1;
        out->text = "in 1";
        out->length = 4;
        out->timeout = 5;
        return RILL_OK;
    }
    if (part_way.in_part) assert_int_equal(rill_workers_cancel(part_way.workers, 0), RILL_OK);
    part_way.is_cancelled = part_way.in_part;
    return RILL_AGAIN;
}

static rill_status write_middle(void *user, const rill_result *result)
{
    (void)user;
    part_way.status[result->id] = result->status;
    part_way.n[result->id] = result->n_outputs;
    part_way.timed_out[result->id] = result->timed_out;
    if (result->n_outputs == 0) return RILL_OK;
    part_way.length[result->id] = rill_result_output(result, 0)->length;
    part_way.best[result->id] = rill_result_output(result, 0)->path_score;
    return RILL_OK;
}

static void run_middle(const struct part_kind *kind, end_kind how)
{
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    rill_domain table = toy_domain;
    rill_engine_setup setup;
    const rill_engine_setup *setups[] = {&setup, &setup};
    const rill_open_options open = {.struct_size = sizeof open, .threads = 1, .arguments = WIDE_MODEL};
    const rill_workers_options two = {.struct_size = sizeof two, .workers = how == END_CANCELLED ? 2 : 1};
    part_way = (middle){.kind = kind, .how = how};
    clock_seconds = 10;
    table.name = "ending";
    table.step = step_and_end;
    table.score = score_and_end;
    assert_int_equal(rill_register_domain(ctx, &table), RILL_OK);
    rill_engine_setup_default(&setup);
    setup.settings.sample = setup.settings.n_best = kind->samples;
    setup.settings.top_k = kind->top_k;
    setup.settings.max_length = 4;
    setup.clock = read_test_clock;
    assert_int_equal(rill_workers_open(&part_way.workers, ctx, "ending", &open, &two), RILL_OK);
    assert_int_equal(rill_workers_begin(part_way.workers, setups), RILL_OK);
    part_way.engine = rill_workers_engine(part_way.workers, 0);
    if (how == END_CANCELLED) {
        assert_int_equal(rill_workers_run_requests(part_way.workers, read_and_cancel, NULL, write_middle, NULL),
                         RILL_OK);
    } else {
        const rill_request late = {.struct_size = sizeof late, .text = "in 1", .length = 4, .timeout = 5},
                           other = {.struct_size = sizeof other, .text = "in 2", .length = 4};
        assert_int_equal(rill_engine_submit_request(part_way.engine, &late, NULL), RILL_OK);
        assert_int_equal(rill_engine_submit_request(part_way.engine, &other, NULL), RILL_OK);
        assert_int_equal(rill_run(part_way.engine, read_nothing, NULL, write_middle, NULL),
                         how == END_STOPPED ? RILL_ERR_STOPPED : RILL_OK);
    }
    rill_workers_close(part_way.workers);
    harness_end(ctx, &memory);
}

static void timesteps_are_cut_short(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const int32_t samples = kinds[i].samples, part = kinds[i].part;
        run_middle(&kinds[i], END_KINDS);
        const middle whole = part_way;
        assert_int_equal(whole.second_rows, 2 * samples);
        /* the late input has the outputs of one timestep, and the other input is unaffected */
        run_middle(&kinds[i], END_DEADLINE);
        assert_in_range(part_way.second_rows, samples, samples + part);
        assert_int_equal(part_way.status[0], RILL_OK);
        assert_true(part_way.timed_out[0] && !part_way.timed_out[1]);
        assert_int_equal(part_way.n[0], samples);
        assert_int_equal(part_way.length[0], 1);
        assert_int_equal(part_way.n[1], whole.n[1]);
        assert_float_equal(part_way.best[1], whole.best[1], 0);
        run_middle(&kinds[i], END_CANCELLED);
        assert_int_equal(part_way.second_rows, part);
        assert_int_equal(part_way.status[0], RILL_ERR_CANCELLED);
        run_middle(&kinds[i], END_STOPPED);
        assert_int_equal(part_way.second_rows, part);
        assert_int_equal(part_way.n[0] + part_way.n[1], 0);
    }
}

/* --- bounds ------------------------------------------------------------------------------------------------------- */

/* The cost computed by hand: 10 timesteps plus the end, 3 hypotheses, at most 4 choices each. */
static void cost_by_hand(void **state)
{
    (void)state;
    rill_settings s;
    rill_cost cost = {.struct_size = sizeof cost}, wide = cost,
              old = {.struct_size = offsetof(rill_cost, bytes), .bytes = -1};
    const rill_domain_info info = {.actions = 4, .phases = 1, .max_length = 10};
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    rill_settings_default(&s);
    s.k = 3;
    assert_int_equal(rill_settings_resolve(ctx, &s, 0), RILL_OK);
    rill_settings_cost(&s, &info, 1, &cost);
    assert_float_equal(cost.steps, 11, 0);
    assert_float_equal(cost.rows, 33, 0);
    assert_true(cost.bytes > 33 * sizeof(int32_t) && cost.bytes < 1e5);
    rill_settings_cost(&s, &info, 1, &old);
    assert_float_equal(old.rows, 33, 0);
    assert_float_equal(old.bytes, -1, 0);
    /* Settings that multiply the work must multiply the cost. */
    static const struct {
        const char *name, *value;
        double rows, bytes; /* minimal factors of the cost */
    } more[] = {{"k", "300", 100, 90},         {"max-length", "1000", 91, 40}, {"max-length-factor", "1000", 90, 40},
                {"n-best", "300", 1, 1},       {"sample", "300", 100, 20},     {"cube", "naive", 2, 1},
                {"max-candidates", "4", 1, 1}, {"exact", "1", 300, 900},       {"groups", "300", 100, 90},
                {"stop-after", "65536", 1, 10}};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        rill_settings t;
        rill_settings_default(&t);
        if (strcmp(more[i].name, "sample") != 0 && strcmp(more[i].name, "groups") != 0) t.k = 3;
        assert_int_equal(rill_settings_set(ctx, &t, more[i].name, more[i].value), RILL_OK);
        if (rill_settings_resolve(ctx, &t, 0) != RILL_OK) fail_msg("%s", rill_error(ctx));
        rill_settings_cost(&t, &info, 1, &wide);
        if (wide.rows < more[i].rows * cost.rows || wide.bytes < more[i].bytes * cost.bytes)
            fail_msg("%s=%s: %g rows, %g bytes, of %g and %g", more[i].name, more[i].value, wide.rows, wide.bytes,
                     cost.rows, cost.bytes);
    }
    harness_end(ctx, &memory);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_setting_is_cut_short),
    cmocka_unit_test(timesteps_are_cut_short),
    cmocka_unit_test(cost_by_hand),
};

HARNESS_MAIN(tests)
