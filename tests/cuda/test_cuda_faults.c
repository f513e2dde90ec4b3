/* The executor when the stand-in runs out of memory or fails to open something, at each place in turn. The call reports
 * the failure; repeated without one, it does what it would have done. Nothing leaks. */
#include "faults.h"

#include <string.h>

#include "device/run_problem.h"
#include "support/harness.h"

static stand_in gpu;
static int64_t refused;

static int note_refusal(rill_status status)
{
    assert_true(status == RILL_ERR_MEMORY || status == RILL_ERR_DEVICE);
    refused++;
    return 1;
}

/* A device with the problem's network. */
typedef struct bench {
    rill_device *device;
    rill_network *network;
    rill_graph graph;
} bench;

static void end(bench *b)
{
    rill_network_close(b->network);
    rill_device_close(b->device);
    *b = (bench){0};
}

static rill_status begin(rill_context *ctx, const problem *p, bench *b)
{
    const rill_device_options options = {.struct_size = sizeof options, .name = "cuda-host:1", .kernels = "ref"};
    *b = (bench){0};
    rill_status status = rill_device_open(&b->device, ctx, &options);
    if (status == RILL_OK) status = rill_network_open(&b->network, ctx, b->device);
    if (status == RILL_OK) status = build_network(&p->t, b->network, &b->graph);
    if (status != RILL_OK) end(b);
    return status;
}

/* Open the bench again and again, with one more call succeeding each time, until nothing fails. */
static void open_with_faults(rill_context *ctx, const problem *p, cuda_host_call call, uint64_t more)
{
    bench b;
    for (uint64_t n = 1;; n++) {
        gpu.refuse(call, n, more);
        const uint64_t old_count = gpu.count(call);
        const rill_status status = begin(ctx, p, &b);
        const int failed = gpu.count(call) - old_count >= n;
        end(&b);
        assert_int_equal(gpu.used(), 0);
        if (!failed) break;
        refused++;
        assert_true(status == RILL_ERR_MEMORY || status == RILL_ERR_DEVICE || status == RILL_ERR_OPTION);
        assert_true(strlen(rill_error(ctx)) > 10);
    }
    gpu.refuse(call, 0, 0);
}

static void run_with_faults(rill_context *ctx, problem *p, const bench *b, const variant *v, cuda_host_call call,
                            uint64_t more)
{
    const dice old_dice = p->d;
    outcome truth = run_problem(ctx, p, b->network, b->graph, v);
    for (uint64_t n = 1, taken = n; taken >= n; n++) {
        taken = gpu.count(call);
        gpu.refuse(call, n, more);
        p->d = old_dice;
        outcome o = run_problem(ctx, p, b->network, b->graph, v);
        taken = gpu.count(call) - taken;
        const char *what = compare_outcomes(p, &truth, &o, (tolerance){0});
        if (what != NULL) fail_msg("call %llu failed: %s differ", (unsigned long long)n, what);
        free_outcome(&o);
    }
    gpu.refuse(call, 0, 0);
    free_outcome(&truth);
}

static void check_problem(uint64_t seed)
{
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    problem *p = make_problem(seed, 0);
    bench b;
    const variant variants[] = {{.threads = 1}, {.threads = 1, .split = 3}, {.threads = 1, .split = 2, .async = 1}};
    if (begin(ctx, p, &b) == RILL_OK) {
        should_retry = note_refusal;
        for (int call = CUDA_HOST_MEMORY; call <= CUDA_HOST_OPENING; call++)
            run_with_faults(ctx, p, &b, &variants[seed % 3], (cuda_host_call)call, seed / 3 % 2);
        should_retry = NULL;
        end(&b);
        for (int call = CUDA_HOST_MEMORY; call <= CUDA_HOST_OPENING; call++)
            open_with_faults(ctx, p, (cuda_host_call)call, seed / 3 % 2);
    }
    free_problem(p);
    assert_int_equal(gpu.used(), 0);
    harness_end(ctx, &memory);
}

static void every_failing_call(void **state)
{
    (void)state;
    const uint64_t seed = harness_seed(1);
    for (int64_t i = 0; i < harness_iterations(FAULTY); i++) check_problem(seed + (uint64_t)i);
    HARNESS_ASSERT_COVERED(refused > 100);
}

/* Reading rows back allocates no memory. */
static void reading_asks_for_no_memory(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    const rill_device_options options = {.struct_size = sizeof options, .name = "cuda-host"};
    rill_device *device;
    rill_network *network;
    rill_session *session;
    assert_int_equal(rill_device_open(&device, ctx, &options), RILL_OK);
    assert_int_equal(rill_network_open(&network, ctx, device), RILL_OK);
    const rill_table host = rill_network_table(network, RILL_TABLE_HOST, 3, "rows");
    assert_int_equal(rill_network_finish(network), RILL_OK);
    assert_int_equal(rill_session_open(&session, ctx, network, 1), RILL_OK);
    enum { ROWS = 9000 };
    static float rows[3 * ROWS], found[3 * ROWS];
    for (int i = 0; i < 3 * ROWS; i++) rows[i] = (float)i;
    for (int i = 0; i < ROWS; i += 10)
        assert_int_equal(rill_session_fill(session, host, i, 10, rows + (ptrdiff_t)3 * i), RILL_OK);
    const uint64_t old_count = gpu.count(CUDA_HOST_MEMORY);
    for (int i = 0; i < ROWS - 3; i++) {
        assert_int_equal(rill_session_read(session, host, i, 0, 3, found), RILL_OK);
        assert_memory_equal(found, rows + (ptrdiff_t)3 * i, 9 * sizeof *rows);
    }
    assert_int_equal(gpu.count(CUDA_HOST_MEMORY), old_count);
    /* reading all rows at once would need more memory and fails; reading them row by row succeeds */
    gpu.refuse(CUDA_HOST_MEMORY, 1, 1);
    assert_int_equal(rill_session_read(session, host, 0, 0, ROWS, found), RILL_ERR_MEMORY);
    gpu.refuse(CUDA_HOST_MEMORY, 0, 0);
    assert_int_equal(rill_session_read(session, host, 7, 0, 3, found), RILL_OK);
    assert_memory_equal(found, rows + 21, 9 * sizeof *rows);
    assert_int_equal(rill_session_read(session, host, 0, 0, ROWS, found), RILL_OK);
    assert_memory_equal(found, rows, sizeof rows);
    rill_session_close(session);
    rill_network_close(network);
    rill_device_close(device);
    rill_context_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(reading_asks_for_no_memory),
    cmocka_unit_test(every_failing_call),
};

int main(int argc, char **argv)
{
    if (harness_options(argc, argv) != 0) return 2;
    gpu = module_stand_in();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
