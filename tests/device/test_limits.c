/* Peak rates: the maximum rates measured on the machine, and an operation's share of them. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "backend.h"
#include "kernels.h"
#include "rill/device.h"
#include "support/harness.h"

/* --- shares ------------------------------------------------------------------------------------------------------- */

static const rill_limits sample_limits = {
    .flops = {[RILL_ARITHMETIC_F32] = 100, [RILL_ARITHMETIC_INT8] = 400, [RILL_ARITHMETIC_BF16] = 200}, .bytes = 50};

static double share(rill_arithmetic arithmetic, double seconds, double flops, double bytes)
{
    const rill_op_profile op = {.seconds = seconds, .flops = flops, .bytes = bytes, .arithmetic = arithmetic};
    return rill_profile_share(&op, &sample_limits);
}

/* The share is the shortest possible time divided by the time taken. The numbers are powers of two, so that divisions
 * are exact. */
static void share_is_min_time_over_time_taken(void **state)
{
    (void)state;
    assert_true(share(RILL_ARITHMETIC_F32, 4, 200, 0) == 0.5);  /* 200 operations at 100 per second take 2 s */
    assert_true(share(RILL_ARITHMETIC_F32, 4, 0, 50) == 0.25);  /* 50 bytes take 1 s to read */
    assert_true(share(RILL_ARITHMETIC_F32, 4, 200, 50) == 0.5); /* the longer of the two times, not their sum */
    assert_true(share(RILL_ARITHMETIC_F32, 4, 50, 100) == 0.5);
    assert_true(share(RILL_ARITHMETIC_F32, 4, 100, 50) == 0.25);
    assert_true(share(RILL_ARITHMETIC_INT8, 4, 200, 0) == 0.125); /* int8 is four times as fast: 0.5 s */
    assert_true(share(RILL_ARITHMETIC_INT8, 4, 200, 50) == 0.25);
    assert_true(share(RILL_ARITHMETIC_BF16, 4, 200, 0) == 0.25); /* in bf16 1 s */
    /* data in caches may be read faster than memory: a share above 1 */
    assert_true(share(RILL_ARITHMETIC_F32, 1, 0, 100) == 2);
    assert_true(share(RILL_ARITHMETIC_F32, 4, 0, 0) == 0);
    assert_true(share(RILL_ARITHMETIC_F32, 0, 200, 50) == 0); /* no time was measured */
}

/* --- rates -------------------------------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Take at least a millisecond per pass, so that a second has at most a thousand passes. `sum` counts the passes. */
static void take_a_millisecond(rill_peak_loop *loop)
{
    const double begin = now();
    while (now() - begin < 1e-3) continue;
    loop->sum += 1;
}

static void rate_is_at_most_the_work_done(void **state)
{
    (void)state;
    rill_peak_loop loop = {.run = take_a_millisecond, .work = 7};
    const double begin = now(), rate = rill_peak_loop_rate(&loop, 0.05), took = now() - begin;
    assert_true(rate <= 7 * 1000);
    /* The fastest sample is at least as fast as the mean of all passes. */
    assert_true(rate >= 7 * (double)loop.sum / took);
    assert_true(loop.sum >= 16 && took >= 0.05);
}

/* The work per pass follows from the vector width: wider instruction sets of this processor do more. */
static void wider_vectors_are_faster(void **state)
{
    (void)state;
    const rill_isa_mask has = rill_cpu_isa(), none = RILL_ISA_REF;
    const double plain = rill_peak_loop_fma(none, RILL_DTYPE_F32).work;
    assert_true(plain == 2 * 32 * 2000.0 && rill_peak_loop_fma(none, RILL_DTYPE_U8S8).work == plain);
    if (has & RILL_ISA_NEON) {
        const double neon = rill_peak_loop_fma(RILL_ISA_NEON, RILL_DTYPE_F32).work;
        const rill_isa_mask dots = RILL_ISA_NEON | RILL_ISA_NEON_DOTPROD;
        assert_true(rill_peak_loop_fma(RILL_ISA_NEON, RILL_DTYPE_U8S8).work == 4 * neon);
        assert_true(rill_peak_loop_fma(dots, RILL_DTYPE_F32).work == neon &&
                    rill_peak_loop_fma(dots, RILL_DTYPE_U8S8).work == 4 * neon);
        assert_true(rill_peak_loop_fma(dots | RILL_ISA_NEON_I8MM, RILL_DTYPE_U8S8).work == 8 * neon);
    }
    if (!(has & RILL_ISA_AVX2)) return;
    const double avx2 = rill_peak_loop_fma(RILL_ISA_AVX2, RILL_DTYPE_F32).work;
    assert_true(rill_peak_loop_fma(RILL_ISA_AVX2, RILL_DTYPE_U8S8).work == 2 * avx2);
    assert_true(rill_peak_loop_fma(RILL_ISA_AVX2 | RILL_ISA_AVX512, RILL_DTYPE_F32).work == 2 * avx2);
    const rill_isa_mask all = RILL_ISA_AVX2 | RILL_ISA_AVX512 | RILL_ISA_AVX512_VNNI;
    assert_true(rill_peak_loop_fma(all, RILL_DTYPE_U8S8).work == 8 * avx2);
    /* without AVX512_BF16 the loop runs in fp32 */
    assert_true(rill_peak_loop_fma(all, RILL_DTYPE_BF16).work == 2 * avx2);
    assert_true(rill_peak_loop_fma(all | RILL_ISA_AVX512_BF16, RILL_DTYPE_BF16).work == 4 * avx2);
    assert_true(rill_peak_loop_fma(all | RILL_ISA_AVX512_BF16, RILL_DTYPE_F32).work == 2 * avx2);
    if (!(has & RILL_ISA_AMX)) return;
    const rill_peak_loop tiles = rill_peak_loop_fma(has, RILL_DTYPE_U8S8);
    assert_true(tiles.work == 2 * rill_peak_loop_fma(has, RILL_DTYPE_BF16).work && tiles.work > 8 * avx2);
    assert_true(rill_peak_loop_fma(has, RILL_DTYPE_F32).work == 2 * avx2);
}

/* --- the machine -------------------------------------------------------------------------------------------------- */

/* A runner whose session runs nothing, as rill_runner_limits() needs one. */
typedef struct idler {
    rill_session *session; /* must be the first member */
    rill_network *network;
    rill_device *device;
} idler;

static void idler_start(idler *r, rill_context *ctx, const char *kernels)
{
    const rill_device_options options = {.struct_size = sizeof options, .kernels = kernels};
    assert_int_equal(rill_device_open(&r->device, ctx, &options), RILL_OK);
    assert_int_equal(rill_network_open(&r->network, ctx, r->device), RILL_OK);
    assert_int_equal(rill_network_finish(r->network), RILL_OK);
    assert_int_equal(rill_session_open(&r->session, ctx, r->network, 1), RILL_OK);
}

static void idler_stop(idler *r)
{
    rill_session_close(r->session);
    rill_network_close(r->network);
    rill_device_close(r->device);
}

static rill_limits measure(rill_context *ctx, const char *kernels)
{
    idler r;
    rill_limits limits = {0};
    idler_start(&r, ctx, kernels);
    assert_int_equal(rill_runner_limits(&r, &limits), RILL_OK);
    idler_stop(&r);
    return limits;
}

static int is_rate(double x)
{
    return isfinite(x) && x > 1e6; /* true of any computer of the last forty years */
}

/* The margins are wide. Vectors of eight numbers are four times as fast as plain C; here twice as fast is enough.
 * Memory reads must be slower than arithmetic in registers. One good measurement of three suffices, since other
 * programs may disturb one. */
static void limits_are_plausible(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    int vectors_pay = !(rill_cpu_isa() & RILL_ISA_AVX2), registers_pay = 0;
    for (int i = 0; i < 3 && !(vectors_pay && registers_pay); i++) {
        const rill_limits all = measure(ctx, NULL), plain = measure(ctx, "ref");
        for (int a = 0; a < RILL_ARITHMETICS; a++) assert_true(is_rate(all.flops[a]) && is_rate(plain.flops[a]));
        assert_true(is_rate(all.bytes) && is_rate(plain.bytes));
        vectors_pay |= all.flops[RILL_ARITHMETIC_F32] > 2 * plain.flops[RILL_ARITHMETIC_F32];
        registers_pay |= all.flops[RILL_ARITHMETIC_F32] > all.bytes / sizeof(float);
    }
    assert_true(vectors_pay);
    assert_true(registers_pay);
    rill_context_destroy(ctx);
}

/* The only allocation is the memory to be read. If it fails, the limits stay unchanged. */
static void limits_without_memory(void **state)
{
    (void)state;
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    idler r;
    idler_start(&r, ctx, NULL);
    const int64_t blocks = memory.blocks, requests = memory.requests;
    const size_t used = rill_memory_used(ctx);
    rill_limits limits = sample_limits;
    memory.failing_request = requests + 1;
    assert_int_equal(rill_runner_limits(&r, &limits), RILL_ERR_MEMORY);
    assert_non_null(strstr(rill_error(ctx), "measuring the machine"));
    assert_memory_equal(&limits, &sample_limits, sizeof limits);
    assert_int_equal(memory.refused, 1);
    assert_int_equal(rill_runner_limits(&r, &limits), RILL_OK);
    assert_int_equal(memory.requests, requests + 2);
    assert_int_equal(memory.blocks, blocks);
    assert_int_equal(rill_memory_used(ctx), used);
    idler_stop(&r);
    harness_end(ctx, &memory);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(share_is_min_time_over_time_taken),
    cmocka_unit_test(rate_is_at_most_the_work_done),
    cmocka_unit_test(wider_vectors_are_faster),
    cmocka_unit_test(limits_are_plausible),
    cmocka_unit_test(limits_without_memory),
};

HARNESS_MAIN(tests)
