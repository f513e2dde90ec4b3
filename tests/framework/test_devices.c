/* The option `device` with a list: which models are opened, which workers use which, how the memory limit is divided,
 * and what is refused. tests/cli/device.sh checks that results stay the same. */
#include <stdio.h>
#include <string.h>

#include "rill/workers.h"
#include "support/harness.h"
#include "support/toy_domain.h"

enum { MODELS = 8 };

static struct {
    char name[MODELS][64];
    int32_t max_rows; /* largest number of rows in one call */
    /* models opened and closed; the number, from 1, of the model that fails to open */
    int opened, closed, failing_model;
} seen;

static int64_t runner_bytes;

static rill_status open_seen(const rill_domain *table, rill_context *ctx, const rill_open_options *options, void **self,
                             rill_domain_info *info)
{
    const char *name = rill_open_option(options, "device");
    if (seen.opened + 1 == seen.failing_model) return rill_fail(ctx, RILL_ERR_OPTION, "%s is broken", name);
    const rill_status status = toy_domain.open(table, ctx, options, self, info);
    if (status != RILL_OK) return status;
    snprintf(seen.name[seen.opened], sizeof seen.name[0], "%s", name != NULL ? name : "(none)");
    info->row_bytes = 1000;
    info->runner_bytes = runner_bytes;
    info->node_bytes = 1;
    info->device = seen.name[seen.opened++];
    return RILL_OK;
}

static void close_seen(void *self)
{
    seen.closed++;
    toy_domain.close(self);
}

static rill_status step_seen(void *self, const rill_rows *rows)
{
    int32_t max = __atomic_load_n(&seen.max_rows, __ATOMIC_RELAXED);
    while (rows->n > max &&
           !__atomic_compare_exchange_n(&seen.max_rows, &max, rows->n, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return toy_domain.step(self, rows);
}

static const rill_option options_seen[] = {
    {"device", "NAME", "", "what computes", RILL_OPTION_TEXT, RILL_OPTION_MODEL, 0, 0, 0, NULL}, {.name = NULL}};

typedef struct bench {
    harness_memory memory;
    rill_context *ctx;
    rill_workers *workers;
    int64_t refuse; /* number of the allocation that fails, from 1; 0: none */
} bench;

static rill_status open_with(bench *b, const char *device, int32_t workers, int alone)
{
    rill_domain table = alone ? toy_without_runners : toy_domain;
    static rill_domain kept;
    table.name = "seen";
    table.open = open_seen;
    table.close = close_seen;
    table.step = step_seen;
    table.options = options_seen;
    kept = table;
    const rill_pair value = {"device", device};
    const rill_open_options open = {.struct_size = sizeof open,
                                    .threads = 1,
                                    .arguments = "depth=4 actions=3",
                                    .n_values = device != NULL,
                                    .values = &value};
    const rill_workers_options options = {.struct_size = sizeof options, .workers = workers};
    const int failing_model = seen.failing_model;
    memset(&seen, 0, sizeof seen);
    seen.failing_model = failing_model;
    b->ctx = harness_begin(&b->memory);
    assert_int_equal(rill_register_domain(b->ctx, &kept), RILL_OK);
    if (b->refuse > 0) b->memory.failing_request = b->memory.requests + b->refuse;
    return rill_workers_open(&b->workers, b->ctx, "seen", &open, &options);
}

static void end(bench *b)
{
    rill_workers_close(b->workers);
    assert_int_equal(seen.opened, seen.closed);
    harness_end(b->ctx, &b->memory);
    seen.failing_model = 0;
}

static void workers_are_spread_over_devices(void **state)
{
    static const struct {
        const char *device;
        int32_t workers, found;
        int models; /* number of shared models */
        const char *worker_device[5];
    } cases[] = {
        {"gpu:0,gpu:1", 0, 2, 2, {"gpu:0", "gpu:1"}},
        {"gpu:0,gpu:1", 5, 5, 2, {"gpu:0", "gpu:1", "gpu:0", "gpu:1", "gpu:0"}},
        {"gpu:3,gpu:3", 0, 2, 1, {"gpu:3", "gpu:3"}},
        {"gpu,gpu:1,gpu:0", 4, 4, 2, {"gpu", "gpu:1", "gpu", "gpu"}},
        {"gpu:1", 2, 2, 1, {"gpu:1", "gpu:1"}},
        {" gpu:0 ,  gpu:1 ", 0, 2, 2, {"gpu:0", "gpu:1"}},
        {"gpu:0,gpu:1,gpu:2", 2, 2, 2, {"gpu:0", "gpu:1"}},
        {"gpu:1,gpu:0", 1, 1, 1, {"gpu:1"}},
        {"gpu:1", 0, 1, 1, {"gpu:1"}},
        {NULL, 0, 1, 1, {"(none)"}},
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int alone = 0; alone < 2; alone++) {
            bench b = {0};
            assert_int_equal(open_with(&b, cases[c].device, cases[c].workers, alone), RILL_OK);
            assert_int_equal(rill_workers_count(b.workers), cases[c].found);
            assert_int_equal(seen.opened, alone ? cases[c].found : cases[c].models);
            for (int32_t w = 0; w < cases[c].found && !alone; w++)
                assert_string_equal(rill_workers_device(b.workers, w), cases[c].worker_device[w]);
            end(&b);
        }
}

/* Each device has the whole memory limit, divided among its workers. */
static void bound_by_device(void **state)
{
    static const struct {
        const char *device;
        int32_t workers;
        int64_t bound[4];
    } cases[] = {
        {"gpu:0,gpu:1", 2, {120, 120}},
        {"gpu:0,gpu:1", 4, {60, 60, 60, 60}},
        {"gpu:0,gpu:1,gpu:0", 4, {40, 120, 40, 40}},
        {"gpu:0", 4, {30, 30, 30, 30}},
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        bench b = {0};
        rill_engine_setup setup;
        const rill_engine_setup *setups[4] = {&setup, &setup, &setup, &setup};
        rill_engine_setup_default(&setup);
        setup.settings.max_nodes = 120;
        assert_int_equal(open_with(&b, cases[c].device, cases[c].workers, 0), RILL_OK);
        assert_int_equal(rill_workers_begin(b.workers, setups), RILL_OK);
        for (int32_t w = 0; w < cases[c].workers; w++) {
            rill_stats stats = {.struct_size = sizeof stats};
            rill_engine_stats(rill_workers_engine(b.workers, w), &stats);
            assert_int_equal(stats.nodes_bound, cases[c].bound[w]);
        }
        end(&b);
    }
}

static void refused(void **state)
{
    static const struct {
        const char *device;
        int32_t workers;
        rill_status status;
        const char *words;
    } cases[] = {
        {"gpu:0,", 0, RILL_ERR_OPTION, "an entry of the list is empty"},
        {",gpu:0", 0, RILL_ERR_OPTION, "an entry of the list is empty"},
        {"gpu:0, ", 0, RILL_ERR_OPTION, "an entry of the list is empty"},
        {"gpu:0,,gpu:1", 0, RILL_ERR_OPTION, "an entry of the list is empty"},
        {"gpu:0,cpu", 0, RILL_ERR_OPTION, "gpu:0 and cpu are of different kinds"},
        {"gpu:0,gpux:1", 0, RILL_ERR_OPTION, "of different kinds"},
        {"gpu:0,gpu:0000000000000000000000000000000000000000000000000000001", 0, RILL_ERR_OPTION, "unknown device"},
        {"gpu:0,gpu:00", 0, RILL_ERR_OPTION, "without leading zeros"},
        {"auto,auto", 0, RILL_ERR_OPTION, "auto cannot be part of a list"},
        {"gpu:0", -1, RILL_ERR_ARGUMENT, "-1 workers"},
    };
    bench b = {0};
    char many[65 * 2];
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        b = (bench){0};
        assert_int_equal(open_with(&b, cases[c].device, cases[c].workers, c % 2), cases[c].status);
        assert_non_null(strstr(rill_error(b.ctx), cases[c].words));
        assert_int_equal(seen.opened, 0);
        end(&b);
    }
    for (size_t i = 0; i < sizeof many; i++) many[i] = i % 2 ? ',' : 'g';
    many[sizeof many - 1] = '\0';
    b = (bench){0};
    assert_int_equal(open_with(&b, many, 0, 0), RILL_ERR_OPTION);
    assert_non_null(strstr(rill_error(b.ctx), "at most 64 devices"));
    end(&b);
}

/* Models opened before the failure are closed. */
static void a_device_fails_to_open(void **state)
{
    (void)state;
    for (int alone = 0; alone < 2; alone++)
        for (int n = 1; n <= 3; n++) {
            bench b = {0};
            seen.failing_model = n;
            assert_int_equal(open_with(&b, "gpu:0,gpu:1,gpu:2", 0, alone), RILL_ERR_OPTION);
            assert_null(b.workers);
            assert_non_null(strstr(rill_error(b.ctx), "is broken"));
            assert_int_equal(seen.opened, n - 1);
            end(&b);
        }
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

enum { INPUTS = 300 };

typedef struct stream {
    bench *b;
    int64_t n_read, written, cancelled;
} stream;

/* After every ten inputs, cancel the third last one read. */
static rill_status read_one(void *user, int may_block, const char **text, size_t *length)
{
    stream *s = user;
    (void)may_block;
    if (s->n_read % 10 == 0 && s->n_read > 0) {
        const rill_status status = rill_workers_cancel(s->b->workers, s->n_read - 3);
        assert_true(status == RILL_OK || status == RILL_ERR_NOT_FOUND);
    }
    if (s->n_read == INPUTS) return RILL_END_OF_INPUT;
    *text = "in";
    *length = 2;
    s->n_read++;
    return RILL_OK;
}

static rill_status write_one(void *user, const rill_result *result)
{
    stream *s = user;
    assert_int_equal(result->id, s->written++);
    if (result->status == RILL_ERR_CANCELLED) assert_int_equal(result->id % 10, 7);
    if (result->status != RILL_ERR_CANCELLED) assert_int_equal(result->status, RILL_OK);
    s->cancelled += result->status == RILL_ERR_CANCELLED;
    return RILL_OK;
}

static void cancelled_inputs(void **state)
{
    (void)state;
    bench b = {0};
    stream s = {.b = &b};
    rill_engine_setup setup;
    const rill_engine_setup *setups[4] = {&setup, &setup, &setup, &setup};
    rill_engine_setup_default(&setup);
    setup.settings.n = 2;
    assert_int_equal(open_with(&b, "gpu:0,gpu:1", 4, 0), RILL_OK);
    assert_int_equal(rill_workers_begin(b.workers, setups), RILL_OK);
    assert_int_equal(rill_workers_run(b.workers, read_one, &s, write_one, &s), RILL_OK);
    assert_int_equal(s.written, INPUTS);
    HARNESS_ASSERT_COVERED(s.cancelled > 0);
    end(&b);
}

/* A quarter of the memory is for the rows of timesteps, divided among the workers like the rest. */
static void rows_fit(void **state)
{
    static const struct {
        const char *device;
        int32_t workers, k, rows;
        int64_t memory;
        rill_status status;
    } cases[] = {
        {"gpu:0", 1, 2, 8, 32000, RILL_OK},         {"gpu:0", 1, 2, 80, 320000, RILL_OK},
        {"gpu:0", 2, 2, 4, 32000, RILL_OK},         {"gpu:0,gpu:1", 2, 2, 8, 32000, RILL_OK},
        {"gpu:0", 1, 9, 0, 32000, RILL_ERR_OPTION}, {"gpu:0", 4, 3, 0, 32000, RILL_ERR_OPTION},
        {"gpu:0", 1, 8, 8, 32000, RILL_OK},
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        bench b = {0};
        stream s = {.b = &b};
        rill_engine_setup setup;
        const rill_engine_setup *setups[4] = {&setup, &setup, &setup, &setup};
        rill_engine_setup_default(&setup);
        setup.settings.n = 60;
        setup.settings.k = cases[c].k;
        setup.settings.memory = cases[c].memory;
        assert_int_equal(open_with(&b, cases[c].device, cases[c].workers, 0), RILL_OK);
        assert_int_equal(rill_workers_begin(b.workers, setups), cases[c].status);
        if (cases[c].status == RILL_OK) {
            assert_int_equal(rill_workers_run(b.workers, read_one, &s, write_one, &s), RILL_OK);
            assert_in_range(seen.max_rows, cases[c].rows / 2, cases[c].rows);
        } else {
            assert_non_null(strstr(rill_error(b.ctx), "for a timestep, and of 32000 bytes a worker has"));
        }
        end(&b);
    }
}

/* Every other request is wider than a worker's timestep can be: those fail, and no others. */
static rill_status read_wide(void *user, int may_block, rill_request *request)
{
    static rill_settings wide;
    stream *s = user;
    (void)may_block;
    if (s->n_read == INPUTS) return RILL_END_OF_INPUT;
    rill_settings_default(&wide);
    wide.k = 9;
    *request = (rill_request){
        .struct_size = sizeof *request, .text = "in", .length = 2, .settings = s->n_read++ % 2 ? &wide : NULL};
    return RILL_OK;
}

static rill_status write_wide(void *user, const rill_result *result)
{
    stream *s = user;
    assert_int_equal(result->status, s->written++ % 2 ? RILL_ERR_OPTION : RILL_OK);
    if (result->status != RILL_OK)
        assert_non_null(strstr(result->message, "memory: with beam-size 9 domain seen needs 9000 bytes"));
    return RILL_OK;
}

static void wide_requests_fail_alone(void **state)
{
    (void)state;
    for (int32_t workers = 1; workers <= 3; workers += 2) {
        bench b = {0};
        stream s = {.b = &b};
        rill_engine_setup setup;
        const rill_engine_setup *setups[4] = {&setup, &setup, &setup, &setup};
        rill_engine_setup_default(&setup);
        setup.settings.k = 2;
        setup.settings.memory = 32000 * workers;
        assert_int_equal(open_with(&b, "gpu:0", workers, 0), RILL_OK);
        assert_int_equal(rill_workers_begin(b.workers, setups), RILL_OK);
        assert_int_equal(rill_workers_run_requests(b.workers, read_wide, &s, write_wide, &s), RILL_OK);
        assert_int_equal(s.written, INPUTS);
        assert_in_range(seen.max_rows, 2, 8);
        end(&b);
    }
}

/* A runner's fixed memory is subtracted from the limit. */
static void runner_memory_is_counted(void **state)
{
    static const struct {
        const char *device;
        int32_t workers;
        int64_t runner, memory, bound; /* bound 0: refused */
    } cases[] = {
        {"gpu:0", 1, 0, 32000, 16000},           {"gpu:0", 1, 10000, 42000, 16000}, {"gpu:0", 2, 10000, 52000, 8000},
        {"gpu:0,gpu:1", 2, 10000, 42000, 16000}, {"gpu:0", 3, 10000, 30002, 0},     {"gpu:0", 1, 10000, 10000, 0},
        {"gpu:0", 1, INT64_MAX, 42000, 0},
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        bench b = {0};
        rill_engine_setup setup;
        const rill_engine_setup *setups[3] = {&setup, &setup, &setup};
        rill_stats stats = {.struct_size = sizeof stats};
        rill_engine_setup_default(&setup);
        setup.settings.k = 2;
        setup.settings.memory = cases[c].memory;
        runner_bytes = cases[c].runner;
        assert_int_equal(open_with(&b, cases[c].device, cases[c].workers, 0), RILL_OK);
        const rill_status status = rill_workers_begin(b.workers, setups);
        assert_int_equal(status, cases[c].bound > 0 ? RILL_OK : RILL_ERR_OPTION);
        if (status == RILL_OK) {
            rill_engine_stats(rill_workers_engine(b.workers, 0), &stats);
            assert_int_equal(stats.nodes_bound, cases[c].bound);
        } else {
            assert_non_null(strstr(rill_error(b.ctx), "before it decodes anything"));
        }
        runner_bytes = 0;
        end(&b);
    }
}

static void memory_is_refused(void **state)
{
    (void)state;
    rill_status status = RILL_ERR_MEMORY;
    for (int64_t n = 1; status != RILL_OK; n++) {
        bench b = {.refuse = n};
        status = open_with(&b, "gpu:0,gpu:1", 0, n % 2);
        if (status != RILL_OK) assert_int_equal(status, RILL_ERR_MEMORY);
        assert_true(status != RILL_OK || n > 3);
        end(&b);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(workers_are_spread_over_devices),
    cmocka_unit_test(bound_by_device),
    cmocka_unit_test(refused),
    cmocka_unit_test(a_device_fails_to_open),
    cmocka_unit_test(memory_is_refused),
    cmocka_unit_test(cancelled_inputs),
    cmocka_unit_test(rows_fit),
    cmocka_unit_test(wide_requests_fail_alone),
    cmocka_unit_test(runner_memory_is_counted),
};

HARNESS_MAIN(tests)
