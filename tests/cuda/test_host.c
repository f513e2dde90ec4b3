/* test_host.c: tests of the stand-in itself. Its CUDA subset is compared with plain loops, in many orders of threads,
 * and it must detect errors of kernels. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"
#include "rig.h"
#include "stand_in.h"
#include "support/dice.h"
#include "support/harness.h"

#ifdef __SANITIZE_THREAD__
enum { WATCHED = 1 }; /* under this sanitizer a detected error aborts the program, and fibres are slow */
#else
enum { WATCHED = 0 };
#endif
enum { SEEDS = WATCHED ? 3 : 20, NUMBERS = 100 * 128, OUTS = 8192 };

/* Numbers on the device, and memory for the output of a probe kernel. */
typedef struct bench {
    rig g;
    int32_t *x, *out;
    probe_args args;
} bench;

static void lay_out(bench *b, int32_t n, int32_t flaw)
{
    rig_begin(&b->g);
    b->x = rig_put(&b->g, NUMBERS * sizeof *b->x);
    b->out = rig_out(&b->g, OUTS * sizeof *b->out);
    for (int32_t i = 0; i < NUMBERS; i++)
        b->x[i] = (int32_t)(dice_mix((uint64_t)i, 3) >> 40) % 1000 + (i % 7 == 0) * 50;
    b->args = (probe_args){rig_device_ptr(&b->g, b->x), n, flaw, rig_device_ptr(&b->g, b->out)};
    rig_upload(&b->g);
}

static bench open_bench_rig(void)
{
    bench b;
    rig_open(&b.g, 1 << 20);
    lay_out(&b, 0, 0);
    return b;
}

static void close_bench_rig(bench *b)
{
    cuda_host_seed(0);
    rig_close(&b->g);
}

/* The stream must fail with this message; a new stream replaces it. */
static void expect_failure(bench *b, const char *words)
{
    char why[GPU_ERROR_BYTES] = "";
    assert_int_equal(gpu_stream_sync(b->g.queue, why), -1);
    if (strstr(why, words) == NULL) fail_msg("\"%s\" does not say \"%s\"", why, words);
    memset(why, 0, sizeof why);
    assert_int_equal(gpu_stream_sync(b->g.queue, why), -1); /* every later call fails too */
    assert_non_null(strstr(why, words));
    gpu_stream_close(b->g.queue);
    assert_int_equal(gpu_stream_open(&b->g.queue, b->g.device, why), 0);
}

/* --- the CUDA subset ---------------------------------------------------------------------------------------------- */

static void test_places(void **state)
{
    bench b = open_bench_rig();
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        cuda_host_seed(seed);
        lay_out(&b, 0, 0);
        probe_places(b.g.queue, &b.args);
        rig_download(&b.g);
        for (int32_t i = 0; i < PROBE_PLACES; i++) assert_int_equal(b.out[i], i / 96 * 1000 + i % 96);
    }
    close_bench_rig(&b);
}

static int32_t wrong_sums(bench *b, uint64_t seed, int32_t flaw)
{
    int32_t wrong = 0;
    cuda_host_seed(seed);
    lay_out(b, 128, flaw);
    probe_sum(b->g.queue, &b->args, NUMBERS / 128);
    rig_download(&b->g);
    for (int32_t i = 0; i < NUMBERS / 128; i++) {
        int32_t sum = 0;
        for (int32_t j = 0; j < 128; j++) sum += b->x[i * 128 + j];
        wrong += sum != b->out[i];
    }
    return wrong;
}

static void test_barriers(void **state)
{
    bench b = open_bench_rig();
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        assert_int_equal(wrong_sums(&b, seed, 0), 0);
        assert_true(WATCHED || wrong_sums(&b, seed, 1) > 10); /* sums are wrong where a barrier is missing */
    }
    close_bench_rig(&b);
}

static void expect_warp(const bench *b, int32_t t)
{
    const int32_t lane = t % 32, base = t - lane, *x = b->x + base, half = lane & 16;
    int32_t ballot = 0, any = 0, sum = 0;
    for (int32_t i = 0; i < 32; i++) {
        ballot |= (int32_t)((uint32_t)(x[i] % 3 == 0) << i);
        any |= x[i] % 50 == 0;
        if ((i & 16) == half) sum += x[i];
    }
    const int32_t want[PROBE_WARP_OPS] = {x[lane * 7 % 32],
                                          x[lane ^ 5],
                                          lane + 3 < 32 ? x[lane + 3] : x[lane],
                                          lane >= 3 ? x[lane - 3] : x[lane],
                                          ballot,
                                          any,
                                          !any,
                                          b->x[40] % 2 == 0,
                                          sum};
    for (int32_t op = 0; op < PROBE_WARP_OPS; op++) assert_int_equal(b->out[op * 64 + t], want[op]);
}

static void test_warps(void **state)
{
    bench b = open_bench_rig();
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        cuda_host_seed(seed);
        lay_out(&b, 0, 0);
        b.args.x += seed * 64;
        probe_warp(b.g.queue, &b.args);
        rig_download(&b.g);
        b.x += seed * 64;
        for (int32_t t = 0; t < 64; t++) expect_warp(&b, t);
    }
    close_bench_rig(&b);
}

static void test_atomics(void **state)
{
    bench b = open_bench_rig();
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        cuda_host_seed(seed);
        for (int32_t flaw = 0; flaw < 2 - WATCHED; flaw++) {
            lay_out(&b, 0, flaw);
            int32_t *zeros = rig_put(&b.g, OUTS * sizeof *zeros), sum = 0, max = 0, min = INT32_MAX, or = 0, and = -1;
            memset(zeros, 0, OUTS * sizeof *zeros);
            zeros[2] = INT32_MAX;
            zeros[4] = -1;
            rig_upload(&b.g);
            gpu_copy_to_device(b.g.queue, rig_device_ptr(&b.g, b.out), zeros, 64);
            probe_atomics(b.g.queue, &b.args);
            rig_download(&b.g);
            for (int32_t i = 0; i < 256; i++) {
                const int32_t x = b.x[i];
                sum += x, or |= x, and &= x;
                max = x > max ? x : max;
                min = x < min ? x : min;
            }
            assert_int_equal(b.out[0], sum);
            assert_int_equal(b.out[1], max);
            assert_int_equal(b.out[2], min);
            assert_int_equal(b.out[3], or);
            assert_int_equal(b.out[4], and);
            assert_int_equal(b.out[5] + b.out[7], sum); /* each exchange passes a number on; the last one stays */
            assert_int_equal(b.out[6] == sum, !flaw);
        }
    }
    close_bench_rig(&b);
}

static void test_bits(void **state)
{
    bench b = open_bench_rig();
    const int32_t n = 300;
    (void)state;
    lay_out(&b, n, 0);
    for (int32_t i = 0; i < n; i++)
        b.x[i] = i < 64 ? (int32_t)((1u << (i / 2)) - (uint32_t)(i % 2)) : (int32_t)dice_mix((uint64_t)i, 9);
    rig_upload(&b.g);
    probe_bits(b.g.queue, &b.args);
    rig_download(&b.g);
    for (int32_t i = 0; i < n; i++) {
        const uint32_t x = (uint32_t)b.x[i];
        int32_t ones = 0, leading = 32, first = 0;
        uint32_t reversed = 0;
        for (int32_t bit = 31; bit >= 0; bit--) {
            if ((x >> bit & 1) == 0) continue;
            ones++, first = bit + 1, reversed |= 1u << (31 - bit);
            if (leading == 32) leading = 31 - bit;
        }
        const int32_t want[PROBE_BITS] = {
            ones, leading, first, (int32_t)reversed, ones, x ? leading + 12 : 64, (int32_t)(x & 0x3fffffff)};
        for (int32_t op = 0; op < PROBE_BITS; op++) assert_int_equal(b.out[op * n + i], want[op]);
    }
    close_bench_rig(&b);
}

static void test_poison(void **state)
{
    bench b = open_bench_rig();
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        cuda_host_seed(seed);
        lay_out(&b, 1000, 0);
        memset(b.out, 0, OUTS * sizeof *b.out);
        rig_upload(&b.g);
        probe_poison(b.g.queue, &b.args);
        rig_download(&b.g);
        for (int32_t i = 0; i < 3000; i++) assert_int_equal(b.out[i], -1);
    }
    close_bench_rig(&b);
}

/* --- detected errors ---------------------------------------------------------------------------------------------- */

static void test_flaws(void **state)
{
    static const char *const words[] = {NULL,
                                        "in warp operations that others do not reach",
                                        "different operations",
                                        "different operations or masks",
                                        "lane 20, which its mask does not name",
                                        "whose mask does not name it"};
    bench b = open_bench_rig();
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        cuda_host_seed(seed);
        for (int32_t flaw = 0; flaw < 6; flaw++) {
            lay_out(&b, 0, flaw);
            probe_flaw(b.g.queue, &b.args);
            if (flaw == 0)
                rig_download(&b.g);
            else
                expect_failure(&b, words[flaw]);
        }
        lay_out(&b, 128, 2);
        probe_sum(b.g.queue, &b.args, 5);
        expect_failure(&b, "(sum<128>), block (");
        lay_out(&b, 128, 2);
        probe_sum(b.g.queue, &b.args, 5);
        expect_failure(&b, "of 128 threads 64 wait at a barrier");
        assert_int_equal(wrong_sums(&b, seed, 0), 0); /* earlier errors have no effect on later kernels */
    }
    close_bench_rig(&b);
}

static void test_early_return(void **state)
{
    bench b = open_bench_rig();
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        cuda_host_seed(seed);
        lay_out(&b, 2, 0);
        probe_early_return(b.g.queue, &b.args);
        rig_download(&b.g);
        for (int32_t i = 0; i < 4; i++) assert_int_equal(b.out[i], i < 2 ? 1 : -1);
        if (seed == 0) continue;
        lay_out(&b, 2, 1);
        probe_early_return(b.g.queue, &b.args);
        expect_failure(&b, "63 of 64 threads take gpu_leave()");
    }
    close_bench_rig(&b);
}

static void test_launches(void **state)
{
    static const struct {
        int32_t blocks, threads;
        size_t shared;
        const char *words;
    } cases[] = {{0, 32, 0, "no blocks"},
                 {1, 0, 0, "whole warps"},
                 {1, 40, 0, "whole warps"},
                 {1, 2048, 0, "more than 1024 threads"},
                 {1, 32, (48 << 10) + 1, "shared memory"}};
    bench b = open_bench_rig();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        probe_empty(b.g.queue, &b.args, cases[i].blocks, cases[i].threads, cases[i].shared);
        expect_failure(&b, cases[i].words);
    }
    probe_empty(b.g.queue, &b.args, 7000, 32, 48 << 10);
    lay_out(&b, 10, 0);
    probe_barriers(b.g.queue, &b.args, 2, 1024);
    rig_download(&b.g);
    close_bench_rig(&b);
}

/* Whether a child process that runs this function aborts. */
static int is_aborted(void (*run)(bench *b))
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL) _exit(0);
        bench b = open_bench_rig();
        run(&b);
        close_bench_rig(&b);
        exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status != 0;
}

static void overrun_shared(bench *b)
{
    wrong_sums(b, 0, 3);
}

static void overrun_device(bench *b)
{
    gpu_region region = {0};
    char why[GPU_ERROR_BYTES];
    gpu_grow(b->g.device, &region, 4 * 300 - 4);
    b->args.out = (int32_t *)(void *)region.base;
    b->args.n = 100;
    probe_poison(b->g.queue, &b->args);
    gpu_stream_sync(b->g.queue, why);
}

static void miss_barrier(bench *b)
{
    wrong_sums(b, 0, 1);
}

static void miss_nothing(bench *b)
{
    wrong_sums(b, 0, 0);
}

static void lose_update(bench *b)
{
    b->args.flaw = 1;
    char why[GPU_ERROR_BYTES];
    probe_atomics(b->g.queue, &b->args);
    gpu_stream_sync(b->g.queue, why);
}

/* Errors that only a sanitizer detects. Without a sanitizer the first one would corrupt memory, so the test is
 * skipped. */
static void test_sanitizers(void **state)
{
    (void)state;
    int ran = 0;
#ifdef __SANITIZE_ADDRESS__
    assert_true(is_aborted(overrun_shared));
    assert_true(is_aborted(overrun_device));
    ran = 1;
#endif
#ifdef __SANITIZE_THREAD__
    assert_true(is_aborted(lose_update));
    assert_true(is_aborted(miss_barrier));
    ran = 1;
#endif
    assert_false(is_aborted(miss_nothing));
    if (ran) return;
    (void)overrun_shared, (void)overrun_device, (void)lose_update, (void)miss_barrier;
    skip();
}

/* --- memory and queues -------------------------------------------------------------------------------------------- */

static void test_memory(void **state)
{
    char why[GPU_ERROR_BYTES];
    gpu_device *device;
    gpu_region a = {0}, b = {0};
    (void)state;
    assert_int_equal(gpu_open(&device, 2, why), -1);
    assert_null(device);
    assert_int_equal(gpu_open(&device, 0, why), 0);
    assert_non_null(strstr(gpu_name(device), "cuda-host"));
    assert_int_equal(gpu_grow(device, &a, 1000), 0);
    char *const block = a.base;
    for (int i = 0; i < 1000; i++) assert_int_equal(block[i], -1);
    memset(block, 7, 1000);
    assert_int_equal(gpu_grow(device, &a, 100000), 0);
    assert_ptr_equal(a.base, block);
    assert_int_equal(a.bytes, 100000);
    for (int i = 0; i < 100000; i++) assert_int_equal(block[i], i < 1000 ? 7 : -1);
    const size_t granule = gpu_granule_bytes(device), mapped = (100000 / granule + 1) * granule;
    cuda_host_memory(mapped + granule);
    assert_int_equal(gpu_grow(device, &b, granule + 1), GPU_NO_MEMORY);
    assert_int_equal(gpu_grow(device, &a, mapped + granule + 1), GPU_NO_MEMORY);
    assert_int_equal(a.bytes, 100000);
    assert_null(b.base);
    assert_int_equal(gpu_grow(device, &a, 50), 0);
    assert_int_equal(gpu_grow(device, &b, 500), 0);
    assert_int_equal(gpu_grow(device, &b, granule), 0);
    cuda_host_memory(SIZE_MAX);
    assert_int_equal(cuda_host_used(), mapped + granule);
    assert_int_equal(gpu_grow(device, &b, (size_t)1 << 40), GPU_NO_MEMORY);
    gpu_free(device, &a);
    gpu_free(device, &b);
    gpu_free(device, &b);
    assert_null(a.base);
    assert_int_equal(cuda_host_used(), 0);
    cuda_host_addresses(gpu_memory_bytes(device) + 3 * granule);
    /* addresses were reserved for all of the memory, so the block grows in place */
    assert_int_equal(gpu_grow(device, &a, 1), 0);
    b.reserved = 4 * granule;
    assert_int_equal(gpu_grow(device, &b, 1), GPU_NO_ADDRESSES);
    assert_null(b.base);
    assert_int_equal(cuda_host_used(), granule);
    b.reserved = 2 * granule + 1;
    assert_int_equal(gpu_grow(device, &b, 1), 0);
    assert_int_equal(gpu_grow(device, &b, 3 * granule), 0);
    assert_int_equal(gpu_grow(device, &b, 3 * granule + 1), GPU_NO_MEMORY);
    gpu_free(device, &a);
    gpu_free(device, &b);
    cuda_host_addresses(SIZE_MAX);
    gpu_pinned_free(device, NULL);
    gpu_close(device);
    gpu_close(NULL);
    gpu_stream_close(NULL);
}

static void test_copies(void **state)
{
    bench b = open_bench_rig();
    gpu_stream *queue = b.g.queue;
    char *pinned = gpu_pinned_alloc(b.g.device, 100), *back = gpu_pinned_alloc(b.g.device, 100),
         *device = b.g.memory.base, plain[100];
    char why[GPU_ERROR_BYTES];
    (void)state;
    assert_int_equal(gpu_stream_sync(queue, why), 0);
    for (int i = 0; i < 100; i++) assert_int_equal(pinned[i], -1);
    memset(pinned, 3, 100);
    gpu_copy_to_device(queue, device, pinned, 100);
    gpu_copy_to_device(queue, device + 200, pinned, 100);
    gpu_copy_to_host(queue, back, device + 200, 100);
    gpu_copy_to_host(queue, NULL, NULL, 0);
    assert_int_equal(back[0], -1); /* the copy has not run yet */
    memset(pinned, 4, 100);        /* an error of this test: the upload, which runs later, copies this value */
    assert_int_equal(gpu_stream_sync(queue, why), 0);
    for (int i = 0; i < 100; i++) assert_int_equal(back[i], 4);

    gpu_copy_to_device(b.g.queue, device, plain, 100);
    expect_failure(&b, "a copy down of 100 bytes from memory that is not there");
    gpu_copy_to_device(b.g.queue, device + (1 << 20) - 50, pinned, 100);
    expect_failure(&b, "a copy down of 100 bytes to memory");
    gpu_copy_to_device(b.g.queue, back, pinned, 1);
    expect_failure(&b, "to memory");
    gpu_copy_to_host(b.g.queue, device, back, 1);
    expect_failure(&b, "a copy up of 1 bytes to memory");
    gpu_pinned_free(b.g.device, back);
    gpu_copy_to_host(b.g.queue, back, device, 1);
    memset(pinned, 5, 100);
    gpu_copy_to_device(b.g.queue, device, pinned, 100); /* the upload after the failed copy does not run */
    expect_failure(&b, "a copy up of 1 bytes to memory that is not there");
    gpu_copy_to_host(b.g.queue, pinned, device, 100);
    assert_int_equal(gpu_stream_sync(b.g.queue, why), 0);
    assert_int_equal(pinned[0], 4);
    gpu_pinned_free(b.g.device, pinned);
    close_bench_rig(&b);
}

/* A device cannot use memory of another device. */
static void test_two_devices(void **state)
{
    bench b = open_bench_rig();
    char why[GPU_ERROR_BYTES];
    gpu_device *other;
    gpu_region theirs = {0};
    (void)state;
    assert_int_equal(gpu_open(&other, 1, why), 0);
    assert_int_equal(gpu_grow(other, &theirs, 1 << 20), 0);
    char *pinned = gpu_pinned_alloc(b.g.device, 100);
    gpu_copy_to_device(b.g.queue, theirs.base, pinned, 100);
    expect_failure(&b, "a copy down of 100 bytes to memory that is not there");
    lay_out(&b, 128, 0);
    probe_sum(b.g.queue, &b.args, 1);
    rig_download(&b.g);
    b.args.x = (const int32_t *)(const void *)theirs.base;
    probe_sum(b.g.queue, &b.args, 1);
    expect_failure(&b, "is given memory of another GPU");
    gpu_pinned_free(b.g.device, pinned);
    gpu_free(other, &theirs);
    gpu_close(other);
    close_bench_rig(&b);
}

static float bf16(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

static void check_product(rig *g, dice *d, gpu_type type)
{
    const int32_t n = dice_range(d, 1, 70), k = dice_range(d, 1, 50), rows = dice_range(d, 0, 13),
                  ldc = (n + 3) / 4 * 4 + 4 * dice_range(d, 0, 1),
                  lda = (k + 7) / 8 * 8; /* aligned as gpu.h requires */
    const size_t element = gpu_type_bytes(type);
    char why[GPU_ERROR_BYTES];
    rig_begin(g);
    char *w = rig_put(g, (size_t)(n * k) * element), *a = rig_put(g, (size_t)(rows * lda) * element);
    float *c = rig_out(g, (size_t)(rows * ldc) * sizeof *c);
    for (int32_t i = 0; i < n * k + rows * lda; i++) {
        const float x = (float)dice_range(d, -999, 999) / 256.0f;
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        const uint16_t half = (uint16_t)(bits >> 16);
        memcpy(i < n * k ? w + (size_t)i * element : a + (size_t)(i - n * k) * element,
               type == GPU_F32 ? (const void *)&x : &half, element);
    }
    gpu_matrix m = {.w = rig_device_ptr(g, w), .type = type, .n = n, .k = k};
    assert_int_equal(gpu_matrix_choose_algo(g->device, &m, why), 0);
    rig_upload(g);
    gpu_run_product(
        g->queue,
        &(gpu_product){
            .matrix = &m, .rows = rows, .a = rig_device_ptr(g, a), .lda = lda, .c = rig_device_ptr(g, c), .ldc = ldc});
    rig_download(g);
    for (int32_t r = 0; r < rows; r++)
        for (int32_t j = 0; j < ldc; j++) {
            float sum = 0.0f;
            for (int32_t i = 0; i < k; i++)
                sum += type == GPU_F32
                           ? ((float *)(void *)a)[r * lda + i] * ((float *)(void *)w)[(j < n ? j : 0) * k + i]
                           : bf16(((uint16_t *)(void *)a)[r * lda + i]) *
                                 bf16(((uint16_t *)(void *)w)[(j < n ? j : 0) * k + i]);
            const uint32_t poison = UINT32_MAX;
            assert_memory_equal(&c[r * ldc + j], j < n ? (const void *)&sum : &poison, sizeof sum);
        }
}

static void test_products(void **state)
{
    bench b = open_bench_rig();
    (void)state;
    for (int64_t i = 0; i < harness_iterations(200); i++) {
        dice d = dice_seeded(harness_seed(1) + (uint64_t)i);
        check_product(&b.g, &d, i % 2 ? GPU_F32 : GPU_BF16);
    }
    gpu_matrix m = {.w = b.g.memory.base, .type = GPU_F32, .n = 10, .k = 10};
    char why[GPU_ERROR_BYTES];
    gpu_product p = {
        .matrix = &m, .rows = 1, .a = b.g.memory.base, .lda = 12, .c = (float *)(void *)b.g.memory.base, .ldc = 12};
    gpu_run_product(b.g.queue, &p);
    expect_failure(&b, "without a way chosen");
    assert_int_equal(gpu_matrix_choose_algo(b.g.device, &m, why), 0);
    p.lda = 10;
    gpu_run_product(b.g.queue, &p);
    expect_failure(&b, "names memory that is not aligned");
    p.lda = 12;
    p.ldc = 10; /* rows aligned to 8 bytes only are refused, since fast kernels need 16 */
    gpu_run_product(b.g.queue, &p);
    expect_failure(&b, "names memory that is not aligned");
    p.ldc = 12;
    p.a = why;
    gpu_run_product(b.g.queue, &p);
    expect_failure(&b, "names memory that is not there");
    m.n = 0;
    assert_int_equal(gpu_matrix_choose_algo(b.g.device, &m, why), -1);
    close_bench_rig(&b);
}

/* --- system threads ----------------------------------------------------------------------------------------------- */

static void *sum_often(void *arg)
{
    bench *b = arg;
    char why[GPU_ERROR_BYTES];
    for (int i = 0; i < SEEDS; i++) {
        probe_sum(b->g.queue, &b->args, NUMBERS / 128);
        if (gpu_stream_sync(b->g.queue, why) != 0) return b;
    }
    return NULL;
}

static void test_threads(void **state)
{
    enum { THREADS = 3 };
    bench b[THREADS];
    pthread_t thread[THREADS];
    (void)state;
    cuda_host_seed(5);
    for (int i = 0; i < THREADS; i++) {
        rig_open(&b[i].g, 1 << 20);
        lay_out(&b[i], 128, 0);
    }
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, sum_often, &b[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(thread[i], &failed), 0);
        assert_null(failed);
        rig_download(&b[i].g);
        for (int32_t j = 0; j < NUMBERS / 128; j++) {
            int32_t sum = 0;
            for (int32_t t = 0; t < 128; t++) sum += b[i].x[j * 128 + t];
            assert_int_equal(b[i].out[j], sum);
        }
        close_bench_rig(&b[i]);
    }
}

/* Captured work runs when the graph is replayed, with the memory contents of that time, and not before. Copies are
 * refused. */
static void test_records(void **state)
{
    (void)state;
    bench b = open_bench_rig();
    char why[GPU_ERROR_BYTES];
    lay_out(&b, 128, 0);
    b.out[0] = -1;
    rig_upload(&b.g);
    assert_int_equal(gpu_capture_begin(b.g.queue, why), 0);
    probe_sum(b.g.queue, &b.args, 1);
    gpu_graph_exec *graph = gpu_capture_end(b.g.queue, why);
    assert_non_null(graph);
    rig_download(&b.g);
    assert_int_equal(b.out[0], -1);
    for (int32_t i = 1; i < 4; i++) {
        for (int32_t j = 0; j < 128; j++) b.x[j] = i;
        rig_upload(&b.g);
        gpu_graph_launch(b.g.queue, graph);
        rig_download(&b.g);
        assert_int_equal(b.out[0], 128 * i);
    }
    gpu_graph_exec_free(graph);
    gpu_graph_exec_free(NULL);
    char *from = gpu_pinned_alloc(b.g.device, 64);
    assert_int_equal(gpu_capture_begin(b.g.queue, why), 0);
    gpu_copy_to_device(b.g.queue, b.g.memory.base, from, 64);
    graph = gpu_capture_end(b.g.queue, why);
    assert_non_null(graph);
    gpu_graph_launch(b.g.queue, graph);
    expect_failure(&b, "has a copy");
    gpu_graph_exec_free(graph);
    gpu_pinned_free(b.g.device, from);
    close_bench_rig(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        /* first, since fibres count as threads for the thread sanitizer, and a child forked later would hang */
        cmocka_unit_test(test_sanitizers),  cmocka_unit_test(test_places),  cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_warps),       cmocka_unit_test(test_atomics), cmocka_unit_test(test_bits),
        cmocka_unit_test(test_poison),      cmocka_unit_test(test_flaws),   cmocka_unit_test(test_early_return),
        cmocka_unit_test(test_launches),    cmocka_unit_test(test_memory),  cmocka_unit_test(test_copies),
        cmocka_unit_test(test_products),    cmocka_unit_test(test_threads), cmocka_unit_test(test_records),
        cmocka_unit_test(test_two_devices),
    };
    if (harness_options(argc, argv) != 0) return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
