/* Whole runs, on the device in RILL_TEST_DEVICE, else on the stand-in. Results do not depend on workers and memory
 * limits. On the stand-in also: if any call or work item fails, the run reports it, nothing leaks, and the next run is
 * unaffected. In steady state a run allocates nothing. The limit --memory is kept. Few addresses are reserved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "faults.h"
#include "rill/device.h"
#include "rill/plugin.h"
#include "rill/rill.h"

static const char *const lines[] = {"ein mann spielt", "zwei hunde laufen", "eine frau liest ein buch .", "a",
                                    "ein kind und ein hund laufen und spielen ."};
enum { LINES = sizeof lines / sizeof *lines, TEXT = 200 };

/* Sanitizers are slow. The thread sanitizer runs only tests with several workers. Under either sanitizer, bytes and
 * calls are not counted, since a sanitizer would not find other counts. */
#ifdef __SANITIZE_THREAD__
enum { RACES_ONLY = 1, COUNTS = 0 };
#elif defined __SANITIZE_ADDRESS__
enum { RACES_ONLY = 0, COUNTS = 0 };
#else
enum { RACES_ONLY = 0, COUNTS = 1 };
#endif

static stand_in gpu; /* empty on a real GPU */
static const char *tested = "cuda-host";
static rill_context *ctx;

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(rill_context_create(&ctx, NULL), RILL_OK);
    assert_int_equal(rill_register_builtins(ctx), RILL_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rill_context_destroy(ctx);
    if (gpu.used != NULL) assert_int_equal(gpu.used(), 0);
    return 0;
}

static rill_workers *open_fast(const char *device, int32_t workers, const char *fast)
{
    const rill_pair values[] = {{"device", device}, {"fast", fast}};
    const rill_open_options open = {
        .struct_size = sizeof open, .path = MODEL, .threads = 1, .n_values = 2, .values = values};
    const rill_workers_options options = {.struct_size = sizeof options, .workers = workers};
    rill_workers *out;
    if (rill_workers_open(&out, ctx, "mt", &open, &options) != RILL_OK) fail_msg("%s", rill_error(ctx));
    return out;
}

static rill_workers *open_workers(const char *device, int32_t workers)
{
    return open_fast(device, workers, "false");
}

/* A stream that repeats the lines, and its results. */
typedef struct stream {
    int64_t inputs, n_read, written, next;
    int32_t n;               /* batch size; 0: 3 */
    int bounded;             /* whether some inputs may not fit in memory */
    int64_t failed;          /* number of inputs that did not fit */
    char first[LINES][TEXT]; /* the outputs of the first repetition; all later ones must equal them */
    uint64_t asked;          /* number of allocations when half of the results were written */
    size_t used;             /* device memory in use at the end */
} stream;

static rill_status read_line(void *user, int may_block, const char **text, size_t *length)
{
    stream *s = user;
    (void)may_block;
    if (s->n_read == s->inputs) return RILL_END_OF_INPUT;
    *text = lines[s->n_read++ % LINES];
    *length = strlen(*text);
    return RILL_OK;
}

static rill_status write_line(void *user, const rill_result *result)
{
    stream *s = user;
    char *first = s->first[result->id % LINES];
    assert_true(result->id >= s->next); /* after a failure, finished results are written and others are missing */
    s->next = result->id + 1;
    s->written++;
    if (s->bounded && result->status == RILL_ERR_INPUT) return s->failed++, RILL_OK;
    assert_int_equal(result->status, RILL_OK);
    if (first[0] == '\0')
        snprintf(first, TEXT, "%a %s", rill_result_output(result, 0)->path_score, rill_result_output(result, 0)->text);
    char text[TEXT];
    snprintf(text, TEXT, "%a %s", rill_result_output(result, 0)->path_score, rill_result_output(result, 0)->text);
    assert_string_equal(text, first);
    if (gpu.used == NULL) return RILL_OK;
    if (s->written == s->inputs / 2) s->asked = gpu.count(CUDA_HOST_MEMORY);
    s->used = gpu.used();
    return RILL_OK;
}

static rill_status decode(rill_workers *workers, stream *s, int64_t memory)
{
    const rill_engine_setup *setups[8];
    rill_engine_setup setup;
    rill_engine_setup_default(&setup);
    setup.settings.k = 4;
    /* short outputs suffice to find races: later timesteps share no other data between threads than the first ones */
    if (RACES_ONLY) setup.settings.max_length = 8;
    setup.settings.n = s->n > 0 ? s->n : 3;
    setup.settings.memory = memory;
    for (int i = 0; i < 8; i++) setups[i] = &setup;
    s->n_read = s->written = s->next = 0;
    rill_status status = rill_workers_begin(workers, setups);
    if (status == RILL_OK) status = rill_workers_run(workers, read_line, s, write_line, s);
    rill_workers_finish(workers);
    return status;
}

/* Results are equal to the bit with one worker or several, also with a device listed twice, and with a memory limit or
 * without. */
static void answers_are_the_same(void **state)
{
    (void)state;
    char twice[64];
    snprintf(twice, sizeof twice, "%s:0,%s", tested, tested);
    const struct {
        const char *device;
        int32_t workers;
        int64_t memory;
    } cases[] = {{tested, 1, 0}, {tested, 3, 0}, {twice, 2, 0}, {twice, 4, (int64_t)1 << 30}};
    stream s = {.inputs = RACES_ONLY ? LINES : 6 * LINES, .n = 20};
    for (size_t c = RACES_ONLY; c < sizeof cases / sizeof *cases; c += 1 + RACES_ONLY) {
        rill_workers *crew = open_workers(cases[c].device, cases[c].workers);
        if (decode(crew, &s, cases[c].memory) != RILL_OK) fail_msg("%s", rill_error(ctx));
        assert_int_equal(s.written, s.inputs);
        rill_workers_close(crew);
    }
}

/* Make the n-th call of a run fail. Return whether the run failed; *calls is then the number of calls. */
static int fails_without(rill_workers *crew, cuda_host_call call, uint64_t n, size_t used, uint64_t *calls)
{
    stream s = {.inputs = LINES};
    const uint64_t before = gpu.count(call);
    gpu.refuse(call, n, n % 2);
    const rill_status status = decode(crew, &s, 0);
    *calls = gpu.count(call) - before;
    gpu.refuse(call, 0, 0);
    assert_int_equal(gpu.used(), used); /* only the model's memory is left in use */
    if (status != RILL_OK && status != RILL_ERR_MEMORY && status != RILL_ERR_DEVICE) fail_msg("%s", rill_error(ctx));
    if (status != RILL_OK) assert_non_null(strstr(rill_error(ctx), call == CUDA_HOST_WORK ? "work has failed" : ""));
    assert_int_equal(decode(crew, &s, 0), RILL_OK);
    assert_int_equal(s.written, s.inputs);
    return status != RILL_OK;
}

static void check_faults(const char *device, int32_t workers, cuda_host_call call)
{
    rill_workers *crew = open_workers(device, workers);
    stream s = {.inputs = LINES};
    assert_int_equal(decode(crew, &s, 0), RILL_OK);
    const size_t used = gpu.used();
    uint64_t calls = 1;
    int failed = 0;
    if (RACES_ONLY) {
        const uint64_t before = gpu.count(call);
        assert_int_equal(decode(crew, &s, 0), RILL_OK);
        calls = gpu.count(call) - before;
        const uint64_t refused[] = {1, (calls + 1) / 2, calls};
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
            failed += fails_without(crew, call, refused[i], used, &calls);
    }
    for (uint64_t n = 1; !RACES_ONLY && n <= calls; n += 1 + n / 2)
        failed += fails_without(crew, call, n, used, &calls);
    assert_true(failed > 0);
    rill_workers_close(crew);
}

static void run_survives_every_failure(void **state)
{
    (void)state;
    for (int call = 0; call < CUDA_HOST_CALLS; call++) {
        if (!RACES_ONLY) check_faults("cuda-host", 1, (cuda_host_call)call);
        check_faults("cuda-host:0,cuda-host:1", 3, (cuda_host_call)call);
    }
}

/* The second half of a repeating stream allocates nothing. */
static void decoding_allocates_nothing(void **state)
{
    (void)state;
    if (!COUNTS) skip();
    rill_workers *crew = open_workers("cuda-host", 1);
    stream s = {.inputs = 20 * LINES};
    assert_int_equal(decode(crew, &s, 0), RILL_OK);
    assert_true(s.asked > 0);
    assert_int_equal(gpu.count(CUDA_HOST_MEMORY), s.asked);
    rill_workers_close(crew);
}

/* All device memory of the workers stays within the limit, including their fixed memory, which here is most of it. */
static void memory_limit_is_kept(void **state)
{
    static const struct {
        const char *device;
        int32_t workers, devices;
        int64_t min_memory;
        const char *fast;
    } cases[] = {{"cuda-host", 1, 1, 1 << 21, "false"},
                 {"cuda-host", 3, 1, 1 << 22, "false"},
                 {"cuda-host:0,cuda-host:1", 4, 2, 1 << 22, "false"},
                 {"cuda-host", 2, 1, 1 << 26, "true"}};
    (void)state;
    if (!COUNTS) skip();
    int64_t refused_all = 0, refused_rows = 0, failed = 0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        rill_workers *crew = open_fast(cases[c].device, cases[c].workers, cases[c].fast);
        const size_t model = gpu.used();
        stream s = {.inputs = 6 * LINES, .n = 20, .bounded = 1};
        for (int64_t memory = cases[c].min_memory; memory <= 3 * cases[c].min_memory; memory += memory / 6) {
            const rill_status status = decode(crew, &s, memory);
            const char *why = status == RILL_ERR_OPTION ? rill_error(ctx) : "";
            refused_all += strstr(why, "before it decodes anything") != NULL;
            refused_rows += strstr(why, "for a timestep") != NULL;
            if (status == RILL_ERR_OPTION) continue;
            assert_int_equal(status, RILL_OK);
            assert_true(s.used - model <= (size_t)memory * (size_t)cases[c].devices);
        }
        rill_workers_close(crew);
        failed += s.failed;
    }
    assert_true(refused_all > 0 && refused_rows > 0 && failed > 0);
}

/* There are addresses for many workers, since each reserves a small multiple of the device's memory. If there are none
 * left, an error says so. */
static void few_addresses_are_reserved(void **state)
{
    /* reservations of a worker: tables of nodes, of slots, of units; `above`; values of both streams */
    enum { WORKERS = 8, EACH = 7 };
    const size_t memory = (size_t)1 << 36;
    (void)state;
    if (!COUNTS) skip();
    rill_workers *crew = open_workers("cuda-host", WORKERS);
    stream s = {.inputs = 4 * LINES};
    gpu.addresses((1 + WORKERS * EACH) * memory); /* plus one reservation of the model */
    assert_int_equal(decode(crew, &s, 0), RILL_OK);
    gpu.addresses(3 * memory);
    assert_int_equal(decode(crew, &s, 0), RILL_ERR_MEMORY);
    assert_non_null(strstr(rill_error(ctx), "no virtual addresses left for the device's memory: use fewer workers: "));
    gpu.addresses(SIZE_MAX);
    rill_workers_close(crew);
}

/* Guards between the arrays of a run detect a product that writes past its last row, and report nothing else. */
static void writes_past_the_end_are_found(void **state)
{
    (void)state;
    if (RACES_ONLY) skip();
    assert_int_equal(setenv("RILL_CUDA_GUARDS", "1", 1), 0);
    rill_workers *crew = open_workers("cuda-host", 1);
    stream s = {.inputs = LINES};
    assert_int_equal(decode(crew, &s, 0), RILL_OK);
    gpu.overrun(1);
    assert_int_equal(decode(crew, &s, 0), RILL_ERR_DEVICE);
    if (strstr(rill_error(ctx), " wrote past the end of array ") == NULL) fail_msg("%s", rill_error(ctx));
    gpu.overrun(0);
    assert_int_equal(decode(crew, &s, 0), RILL_OK);
    assert_int_equal(s.written, s.inputs);
    rill_workers_close(crew);
    assert_int_equal(unsetenv("RILL_CUDA_GUARDS"), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static int can_open_device(void)
{
    const rill_device_options options = {.struct_size = sizeof options, .name = tested};
    rill_device *device = NULL;
    if (rill_context_create(&ctx, NULL) != RILL_OK) return 0;
    const int can_open = rill_device_open(&device, ctx, &options) == RILL_OK;
    if (!can_open) puts(rill_error(ctx));
    rill_device_close(device);
    rill_context_destroy(ctx);
    return can_open;
}

int main(void)
{
    const struct CMUnitTest anywhere[] = {CASE(answers_are_the_same)};
    const struct CMUnitTest tests[] = {CASE(answers_are_the_same),       CASE(run_survives_every_failure),
                                       CASE(decoding_allocates_nothing), CASE(memory_limit_is_kept),
                                       CASE(few_addresses_are_reserved), CASE(writes_past_the_end_are_found)};
    if (getenv("RILL_TEST_DEVICE") != NULL) {
        tested = getenv("RILL_TEST_DEVICE");
        /* 77: Meson's exit code for a skipped test */
        return can_open_device() ? cmocka_run_group_tests(anywhere, NULL, NULL) : 77;
    }
    gpu = module_stand_in();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
