/* The choice of matrix product algorithms by trial, with made-up algorithms, and the plain kernel that is used if none
 * passes. */
#include <math.h>
#include <string.h>

#include "half.h"
#include "rig.h"
#include "stand_in.h"
#include "support/dice.h"
#include "support/harness.h"
#include "trials.h"

enum { ALL = INT32_MAX, NVJET = 66, CUTLASS = 21, MATRIX_VECTOR = 13, OTHER = 20 };

/* --- families ----------------------------------------------------------------------------------------------------- */

static void families_are_known(void **state)
{
    static const int32_t kept[] = {21, 23, 24, 66}, refused[] = {11, 13, 14, 16};
    (void)state;
    for (int32_t id = 0; id < 80; id++) {
        int is_kept = 0, is_refused = 0;
        for (int i = 0; i < 4; i++) is_kept |= id == kept[i], is_refused |= id == refused[i];
        for (int bits = 0; bits < 8; bits++) {
            const gpu_algo_facts a = {
                .id = id, .split_k = bits & 1 ? 2 : bits / 4, .has_tile = (bits & 2) != 0, .fp32_only = bits / 4};
            const int plain = (bits & 1) == 0 && (bits & 2) != 0; /* no split-K, and a known tile */
            assert_int_equal(gpu_algo_may_keep_order(GPU_BF16, &a), plain && is_kept);
            assert_int_equal(gpu_algo_may_keep_order(GPU_F16, &a), plain && is_kept);
            assert_int_equal(gpu_algo_may_keep_order(GPU_F32, &a), plain && a.fp32_only && !is_refused);
        }
    }
}

static void sums_are_split_in_whole_tiles(void **state)
{
    (void)state;
    for (int32_t k = 1; k < 600; k++) {
        gpu_matrix m = {.n = 8, .k = k, .fast = 1};
        assert_int_equal(gpu_may_split_k(&m), k % 128 == 0);
        m.fast = 0;
        assert_false(gpu_may_split_k(&m));
    }
}

/* --- trials ------------------------------------------------------------------------------------------------------- */

/* Proposed algorithms, and the families chosen for the three ranges of row counts; 0: the plain kernel. */
typedef struct trial_case {
    const char *what;
    gpu_type type;
    cuda_host_algo algo[4];
    int32_t expected[GPU_ROW_RANGES];
} trial_case;

#define GOOD(id)                 \
    {                            \
        id, 1, 1, 0, ALL, ALL, 0 \
    }
#define TURNED(id, rows)          \
    {                             \
        id, 1, 1, 0, rows, ALL, 0 \
    }

static const trial_case cases[] = {
    {"the first is good", GPU_BF16, {GOOD(NVJET), GOOD(CUTLASS)}, {NVJET, NVJET, NVJET}},
    {"another order beyond 8 rows", GPU_BF16, {TURNED(NVJET, 8), GOOD(CUTLASS)}, {CUTLASS, CUTLASS, CUTLASS}},
    {"beyond 300", GPU_F16, {TURNED(NVJET, 300), GOOD(CUTLASS)}, {CUTLASS, CUTLASS, CUTLASS}},
    {"beyond 1,000", GPU_BF16, {TURNED(NVJET, 1000), GOOD(CUTLASS)}, {CUTLASS, CUTLASS, CUTLASS}},
    {"beyond 12,288", GPU_BF16, {TURNED(NVJET, 12288), GOOD(CUTLASS)}, {CUTLASS, CUTLASS, CUTLASS}},
    {"another order in all rows is an order, too", GPU_BF16, {TURNED(NVJET, 0)}, {NVJET, NVJET, NVJET}},
    {"none passes", GPU_BF16, {TURNED(NVJET, 8), TURNED(CUTLASS, 1000)}, {0, 0, 0}},
    {"none is proposed", GPU_BF16, {{NVJET, 1, 1, 0, ALL, ALL, ALL}}, {0, 0, 0}},
    {"split sums", GPU_BF16, {{NVJET, 2, 1, 0, ALL, ALL, 0}, GOOD(CUTLASS)}, {CUTLASS, CUTLASS, CUTLASS}},
    {"no tile", GPU_BF16, {{NVJET, 1, 0, 0, ALL, ALL, 0}, GOOD(CUTLASS)}, {CUTLASS, CUTLASS, CUTLASS}},
    {"products of a vector", GPU_BF16, {GOOD(MATRIX_VECTOR), GOOD(24)}, {24, 24, 24}},
    {"an unknown family", GPU_BF16, {GOOD(OTHER)}, {0, 0, 0}},
    {"an unknown family, in fp32", GPU_F32, {{OTHER, 1, 1, 1, ALL, ALL, 0}}, {OTHER, OTHER, OTHER}},
    {"tf32", GPU_F32, {GOOD(NVJET), {OTHER, 1, 1, 1, ALL, ALL, 0}}, {OTHER, OTHER, OTHER}},
    {"few rows have another order", GPU_BF16, {{23, 1, 1, 0, 0, ALL, 2000}, GOOD(NVJET)}, {NVJET, NVJET, NVJET}},
    {"many rows have their own", GPU_BF16, {{23, 1, 1, 0, ALL, ALL, 2000}, GOOD(NVJET)}, {NVJET, NVJET, 23}},
    {"it refuses many rows", GPU_BF16, {{NVJET, 1, 1, 0, ALL, 5000, 0}, GOOD(CUTLASS)}, {CUTLASS, CUTLASS, CUTLASS}},
};

static int count_algos(const trial_case *c)
{
    int n = 0;
    while (n < 4 && c->algo[n].id != 0) n++;
    return n;
}

/* Each row must have the same bits in products of many row counts as in the largest product. */
static void check_products(rig *g, const gpu_matrix *m, const char *a, float *all, float *one, const char *what)
{
    enum { ROWS = 1100 };
    static const int32_t lengths[] = {1, 8, 9, 127, 128, 301, 1001, 1023, 1024};
    const gpu_product p = {
        .matrix = m, .rows = ROWS, .a = rig_device_ptr(g, a), .lda = 16, .c = rig_device_ptr(g, all), .ldc = 16};
    gpu_run_product(g->queue, &p);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        gpu_product few = p;
        few.rows = lengths[i];
        few.c = rig_device_ptr(g, one);
        gpu_run_product(g->queue, &few);
        rig_download(g);
        for (int32_t r = 0; r < lengths[i]; r++)
            if (memcmp(all + r * 16, one + r * 16, (size_t)m->n * sizeof *all) != 0)
                fail_msg("%s: row %d of %d differs", what, (int)r, (int)lengths[i]);
    }
}

static void draw_numbers(dice *d, char *to, size_t n, gpu_type type)
{
    for (size_t i = 0; i < n; i++) {
        const float x = (float)dice_range(d, -9999, 9999) / 7777.0f;
        const uint16_t bits = gpu_round_bits(x, type);
        memcpy(to + i * gpu_type_bytes(type), type == GPU_F32 ? (const void *)&x : (const void *)&bits,
               gpu_type_bytes(type));
    }
}

static void algorithms_are_chosen(void **state)
{
    enum { N = 9, K = 13, ROWS = 1100 };
    (void)state;
    rig g;
    char why[GPU_ERROR_BYTES];
    rig_open(&g, 4 << 20);
    dice d = dice_seeded(3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const trial_case *c = &cases[i];
        rig_begin(&g);
        char *w = rig_put(&g, N * K * gpu_type_bytes(c->type)), *a = rig_put(&g, ROWS * 16 * gpu_type_bytes(c->type));
        float *all = rig_out(&g, ROWS * 16 * sizeof *all), *one = rig_out(&g, ROWS * 16 * sizeof *one);
        draw_numbers(&d, w, N * K, c->type);
        draw_numbers(&d, a, ROWS * 16, c->type);
        rig_upload(&g);
        gpu_matrix m = {.w = rig_device_ptr(&g, w), .type = c->type, .n = N, .k = K};
        cuda_host_algos(c->algo, count_algos(c));
        if (gpu_matrix_choose_algo(g.device, &m, why) != 0) fail_msg("%s: %s", c->what, why);
        for (int32_t range = 0; range < GPU_ROW_RANGES; range++) {
            if (m.algo_id[range] != c->expected[range])
                fail_msg("%s: family %d in range %d", c->what, (int)m.algo_id[range], (int)range);
            assert_int_equal(gpu_is_plain(&m, range), c->expected[range] == 0);
        }
        check_products(&g, &m, a, all, one, c->what);
    }
    cuda_host_algos(NULL, 0);
    rig_close(&g);
}

/* A trial makes do with the memory that is free, and leaves none allocated. */
static void trials_need_little_memory(void **state)
{
    const cuda_host_algo good = GOOD(NVJET);
    (void)state;
    rig g;
    char why[GPU_ERROR_BYTES];
    rig_open(&g, 1 << 20);
    rig_begin(&g);
    const gpu_matrix unchosen = {.w = rig_device_ptr(&g, rig_put(&g, 64 * 64 * 2)), .type = GPU_BF16, .n = 64, .k = 64};
    rig_upload(&g);
    const size_t used = cuda_host_used();
    uint64_t most = 0;
    for (size_t free = 32 << 20; free > 0; free /= 2) {
        gpu_matrix m = unchosen;
        cuda_host_algos(&good, 1);
        cuda_host_memory(used + free);
        const int status = gpu_matrix_choose_algo(g.device, &m, why);
        cuda_host_memory(SIZE_MAX);
        const uint64_t tried = cuda_host_algos(NULL, 0);
        assert_int_equal(cuda_host_used(), used);
        if (free >= 1 << 16) { /* 1 << 16 is the granule of the stand-in's memory */
            assert_int_equal(status, 0);
            assert_int_equal(m.algo_id[1], NVJET);
            assert_true(tried > 0 && (most == 0 || tried <= most));
            most = tried;
        } else {
            assert_int_equal(status, -1);
            assert_non_null(strstr(why, "out of memory"));
        }
    }
    rig_close(&g);
}

/* The plain kernel must be right in all types, with an addend and an activation: it is compared with sums in double. */
static void plain_products_are_right(void **state)
{
    enum { N = 21, K = 50, ROWS = 35, LDA = 56, LDC = 24 };
    (void)state;
    rig g;
    rig_open(&g, 1 << 20);
    dice d = dice_seeded(4);
    for (int type = GPU_F32; type <= GPU_F16; type++)
        for (int with = 0; with < 8; with++) {
            const size_t each = gpu_type_bytes((gpu_type)type);
            float values[N * K + ROWS * LDA];
            rig_begin(&g);
            char *w = rig_put(&g, N * K * each), *a = rig_put(&g, ROWS * LDA * each);
            float *bias = rig_put(&g, N * sizeof *bias), *add = rig_put(&g, ROWS * LDC * sizeof *add);
            float *out = rig_out(&g, ROWS * LDC * sizeof *out);
            for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
                values[i] = (float)dice_range(&d, -128, 128) / 64.0f; /* numbers that all types represent */
                const uint16_t bits = gpu_round_bits(values[i], (gpu_type)type);
                char *to = i < N * K ? w + i * each : a + (i - N * K) * each;
                memcpy(to, type == GPU_F32 ? (const void *)&values[i] : (const void *)&bits, each);
            }
            for (size_t i = 0; i < N; i++) bias[i] = (float)dice_range(&d, -128, 128) / 64.0f;
            for (size_t i = 0; i < ROWS * LDC; i++) add[i] = (float)dice_range(&d, -128, 128) / 64.0f;
            rig_upload(&g);
            const gpu_matrix m = {.w = rig_device_ptr(&g, w),
                                  .type = (gpu_type)type,
                                  .n = N,
                                  .k = K,
                                  .bias = with & 1 ? rig_device_ptr(&g, bias) : NULL,
                                  .relu = (with & 2) != 0};
            gpu_multiply_plainly(g.queue, &(gpu_product){.matrix = &m,
                                                         .rows = ROWS,
                                                         .a = rig_device_ptr(&g, a),
                                                         .lda = LDA,
                                                         .add = with & 4 ? rig_device_ptr(&g, add) : NULL,
                                                         .ld_add = LDC,
                                                         .c = rig_device_ptr(&g, out),
                                                         .ldc = LDC});
            rig_download(&g);
            for (size_t r = 0; r < ROWS; r++)
                for (size_t j = 0; j < LDC; j++) {
                    double sum = (with & 1 && j < N ? (double)bias[j] : 0.0) +
                                 (with & 4 ? (double)add[r * LDC + j] : 0.0);
                    for (size_t i = 0; i < K && j < N; i++)
                        sum += (double)values[N * K + r * LDA + i] * (double)values[j * K + i];
                    if (with & 2 && sum < 0.0) sum = 0.0;
                    if (j < N)
                        assert_true((double)out[r * LDC + j] == sum); /* these sums are exact */
                    else
                        assert_true(isnan(out[r * LDC + j]));
                }
        }
    rig_close(&g);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(families_are_known),       cmocka_unit_test(sums_are_split_in_whole_tiles),
    cmocka_unit_test(algorithms_are_chosen),    cmocka_unit_test(trials_need_little_memory),
    cmocka_unit_test(plain_products_are_right),
};

HARNESS_MAIN(tests)
