/* Matrix products of the stand-in or, with ON_GPU, of cuBLASLt. No documentation promises that an algorithm sums
 * equally for any number of rows, so it is tested here. */
#include <math.h>
#include <string.h>

#include "half.h"
#include "rig.h"
#include "stand_in.h"
#include "support/dice.h"
#include "support/harness.h"

enum { ROWS = 70 };

/* A product's addend and activation. `in_place`: the addend is in the output's memory. */
typedef struct shape {
    int32_t n, k;
    gpu_type type;
    int bias, add, in_place, relu, fast;
} shape;

static const shape shapes[] = {
    {8, 16, GPU_F32, 0, 0, 0, 0, 0},    {33, 7, GPU_F32, 1, 0, 0, 0, 0},   {128, 256, GPU_BF16, 0, 0, 0, 0, 0},
    {512, 128, GPU_F32, 1, 0, 0, 1, 0}, {3, 1, GPU_BF16, 1, 1, 0, 0, 0},   {64, 96, GPU_F32, 1, 1, 1, 0, 0},
    {128, 64, GPU_BF16, 1, 1, 1, 0, 0}, {16, 48, GPU_F32, 0, 0, 0, 1, 0},  {64, 40, GPU_F32, 0, 1, 1, 0, 0},
    {64, 96, GPU_F16, 1, 1, 1, 0, 0},   {20, 33, GPU_BF16, 1, 1, 0, 1, 0},
};

typedef struct problem {
    const shape *s;
    size_t lda, ldc, each;
    char *w, *a;
    float *bias, *add, *all, *one; /* buffers in the mirror; NULL: none */
    gpu_matrix matrix;
} problem;

static void put_number(char *to, float value, gpu_type type)
{
    const uint16_t rounded = gpu_round_bits(value, type);
    memcpy(to, type == GPU_F32 ? (const void *)&value : (const void *)&rounded, gpu_type_bytes(type));
}

/* Draw a number that all types represent and whose sums are exact; with `fast`, an arbitrary number. */
static float draw_number(dice *d, const shape *s)
{
    return (float)dice_range(d, -128, 128) / (s->fast ? 60.0f : 64.0f);
}

static problem draw(rig *g, dice *d, const shape *s)
{
    problem p = {.s = s, .each = gpu_type_bytes(s->type)};
    const size_t n = (size_t)s->n, k = (size_t)s->k;
    p.lda = (k + 7) / 8 * 8 + (size_t)dice_range(d, 0, 2) * 8;
    p.ldc = (n + 3) / 4 * 4 + (size_t)dice_range(d, 0, 2) * 4;
    rig_begin(g);
    p.w = rig_put(g, n * k * p.each);
    p.a = rig_put(g, ROWS * p.lda * p.each);
    p.bias = s->bias ? rig_put(g, n * sizeof *p.bias) : NULL;
    p.add = s->add ? rig_put(g, ROWS * p.ldc * sizeof *p.add) : NULL;
    p.all = rig_out(g, ROWS * p.ldc * sizeof *p.all);
    p.one = rig_out(g, ROWS * p.ldc * sizeof *p.one);
    for (size_t i = 0; i < n * k; i++) put_number(p.w + i * p.each, draw_number(d, s), s->type);
    for (size_t i = 0; i < ROWS * p.lda; i++) put_number(p.a + i * p.each, draw_number(d, s), s->type);
    for (size_t i = 0; i < n && s->bias; i++) p.bias[i] = draw_number(d, s);
    for (size_t i = 0; i < ROWS * p.ldc && s->add; i++) p.add[i] = draw_number(d, s);
    if (s->in_place) {
        memcpy(p.all, p.add, ROWS * p.ldc * sizeof *p.all);
        memcpy(p.one, p.add, ROWS * p.ldc * sizeof *p.one);
    }
    rig_upload(g);
    p.matrix = (gpu_matrix){.w = rig_device_ptr(g, p.w),
                            .type = s->type,
                            .n = s->n,
                            .k = s->k,
                            .bias = rig_device_ptr(g, p.bias),
                            .relu = s->relu,
                            .fast = s->fast};
    return p;
}

static void run(rig *g, const problem *p, float *out, int32_t first, int32_t rows)
{
    const size_t offset = (size_t)first * p->ldc;
    const float *add = p->s->in_place ? out : p->add;
    gpu_run_product(g->queue, &(gpu_product){.matrix = &p->matrix,
                                             .rows = rows,
                                             .a = (char *)rig_device_ptr(g, p->a) + (size_t)first * p->lda * p->each,
                                             .lda = (int32_t)p->lda,
                                             .add = add != NULL ? (float *)rig_device_ptr(g, add) + offset : NULL,
                                             .ld_add = (int32_t)p->ldc,
                                             .c = (float *)rig_device_ptr(g, out) + offset,
                                             .ldc = (int32_t)p->ldc});
}

static double element_value(const char *from, size_t i, gpu_type type)
{
    float x;
    uint16_t bits;
    memcpy(&bits, from + i * 2, sizeof bits);
    if (type != GPU_F32) return (double)gpu_rounded_to_float(bits, type);
    memcpy(&x, from + i * 4, sizeof x);
    return (double)x;
}

static double expected(const problem *p, size_t r, size_t j)
{
    double x = (p->bias != NULL ? (double)p->bias[j] : 0.0) + (p->add != NULL ? (double)p->add[r * p->ldc + j] : 0.0);
    for (size_t i = 0; i < (size_t)p->s->k; i++)
        x += element_value(p->a, r * p->lda + i, p->s->type) * element_value(p->w, j * (size_t)p->s->k + i, p->s->type);
    return p->s->relu && x < 0.0 ? 0.0 : x;
}

/* A row's product is right, and the same to the bit in any batch. Nothing is written between rows. */
static void rows_do_not_depend_on_the_batch(void **state)
{
    (void)state;
    rig g;
    char why[GPU_ERROR_BYTES];
    rig_open(&g, 4 << 20);
    dice d = dice_seeded(5);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        problem p = draw(&g, &d, &shapes[i]);
        const size_t n = (size_t)p.s->n;
        assert_int_equal(gpu_matrix_choose_algo(g.device, &p.matrix, why), 0);
        run(&g, &p, p.all, 0, ROWS);
        /* products of one row, two rows, ... */
        for (int32_t r = 0; r < ROWS; r += 8) run(&g, &p, p.one, r, 1 + r / 8 % 6);
        rig_download(&g);
        for (int32_t r = 0; r < ROWS; r++) {
            const float *row = p.all + (size_t)r * p.ldc;
            if (r % 8 < 1 + r / 8 % 6) assert_memory_equal(row, p.one + (size_t)r * p.ldc, n * sizeof *row);
            for (size_t j = 0; j < n; j++) assert_true(fabs((double)row[j] - expected(&p, (size_t)r, j)) < 1e-3);
            for (size_t j = n; j < p.ldc; j++)
                assert_true(p.s->in_place ? row[j] == p.add[(size_t)r * p.ldc + j] : isnan(row[j]));
        }
    }
    rig_close(&g);
}

/* Row counts at the ends of tiles and waves of blocks, and just beyond. */
static const int32_t lengths[] = {1,   2,   3,    4,    5,    8,    9,    16,   17,   31,   32,
                                  33,  63,  64,   65,   127,  128,  129,  255,  256,  257,  320,
                                  511, 512, 1023, 1025, 2048, 4096, 6225, 8447, 8449, 9729, 12288};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static float draw_inexact(dice *d, float divisor)
{
    return (float)dice_range(d, -9999, 9999) / divisor;
}

/* Compare rows of the largest product with those of products of fewer rows. The numbers' sums are not exact, so that
 * another order of additions shows. Each comparison copies all outputs, so of wide outputs only every few row counts
 * are compared, the largest first. Returns the smallest row count whose rows differ, 0: none; *first: the first of
 * these rows. */
static int32_t find_another_order(dice *d, const shape *s, size_t n_lengths, size_t *first)
{
    enum { MAX_OUTPUT = 192 << 20, EACH = 24 << 20 }; /* bytes */
    const size_t n = (size_t)s->n, k = (size_t)s->k, each = gpu_type_bytes(s->type);
    problem p = {.s = s, .each = each, .lda = (k + 15) / 16 * 16, .ldc = (n + 15) / 16 * 16};
    while ((size_t)lengths[n_lengths - 1] * p.ldc * sizeof(float) > MAX_OUTPUT) n_lengths--;
    const size_t rows = (size_t)lengths[n_lengths - 1], step = 1 + rows * p.ldc * sizeof(float) / EACH;
    rig g;
    char why[GPU_ERROR_BYTES];
    int32_t found = 0;
    rig_open(&g, n * (k * each + 4) + rows * (3 * p.ldc * sizeof(float) + p.lda * each) + 4096);
    rig_begin(&g);
    p.w = rig_put(&g, n * k * each);
    p.a = rig_put(&g, rows * p.lda * each);
    p.bias = s->bias ? rig_put(&g, n * sizeof *p.bias) : NULL;
    p.add = s->add ? rig_put(&g, rows * p.ldc * sizeof *p.add) : NULL;
    p.all = rig_out(&g, rows * p.ldc * sizeof *p.all);
    p.one = rig_out(&g, rows * p.ldc * sizeof *p.one);
    for (size_t j = 0; j < n * k; j++) put_number(p.w + j * each, draw_inexact(d, 7777.0f), s->type);
    for (size_t j = 0; j < rows * p.lda; j++) put_number(p.a + j * each, draw_inexact(d, 3333.0f), s->type);
    for (size_t j = 0; j < n && s->bias; j++) p.bias[j] = draw_inexact(d, 7777.0f);
    for (size_t j = 0; j < rows * p.ldc && s->add; j++) p.add[j] = draw_inexact(d, 3333.0f);
    rig_upload(&g);
    p.matrix = (gpu_matrix){.w = rig_device_ptr(&g, p.w),
                            .type = s->type,
                            .n = s->n,
                            .k = s->k,
                            .relu = s->relu,
                            .bias = rig_device_ptr(&g, p.bias)};
    if (gpu_matrix_choose_algo(g.device, &p.matrix, why) != 0) fail_msg("%d x %d: %s", (int)s->n, (int)s->k, why);
    run(&g, &p, p.all, 0, (int32_t)rows);
    for (size_t c = n_lengths - 1; c > 0 && c < n_lengths; c -= step) {
        run(&g, &p, p.one, 0, lengths[c - 1]);
        rig_download(&g);
        for (size_t r = (size_t)lengths[c - 1]; r > 0; r--)
            if (memcmp(p.all + (r - 1) * p.ldc, p.one + (r - 1) * p.ldc, n * sizeof(float)) != 0)
                found = lengths[c - 1], *first = r - 1;
    }
    for (size_t j = 0; j < n; j++)
        assert_true(fabs((double)p.all[(rows - 1) * p.ldc + j] - expected(&p, rows - 1, j)) < 2e-2);
    rig_close(&g);
    return found;
}

/* Sums keep their order at the sizes of real models, and with up to 12,288 rows. */
static void sums_keep_their_order(void **state)
{
#ifdef ON_GPU
    static const shape sizes[] = {
        {512, 512, GPU_BF16, 1, 1, 0, 0, 0},   {1536, 512, GPU_BF16, 1, 0, 0, 0, 0},
        {2048, 512, GPU_BF16, 1, 0, 0, 1, 0},  {512, 2048, GPU_BF16, 1, 1, 0, 0, 0},
        {4096, 1024, GPU_BF16, 1, 0, 0, 1, 0}, {1024, 4096, GPU_BF16, 1, 1, 0, 0, 0},
        {8001, 128, GPU_BF16, 1, 0, 0, 0, 0},  {32000, 512, GPU_BF16, 1, 0, 0, 0, 0},
        {512, 512, GPU_F16, 1, 1, 0, 0, 0},    {512, 2048, GPU_F32, 1, 1, 0, 0, 0},
        {576, 144, GPU_F32, 0, 0, 0, 0, 0},    {197, 144, GPU_F32, 0, 0, 0, 0, 0},
        {64, 160, GPU_F32, 0, 0, 0, 0, 0},     {2, 160, GPU_F32, 0, 0, 0, 0, 0},
        {1, 512, GPU_F32, 1, 0, 0, 0, 0},      {1, 512, GPU_BF16, 1, 0, 0, 0, 0},
        {1, 200, GPU_BF16, 0, 0, 0, 0, 0},     {5, 77, GPU_BF16, 0, 1, 0, 0, 0},
        {56, 8, GPU_BF16, 0, 0, 0, 0, 0},      {24, 24, GPU_F16, 1, 0, 0, 1, 0},
    };
#else
    static const shape sizes[] = {{48, 96, GPU_BF16, 1, 1, 0, 0, 0}, {33, 40, GPU_F32, 0, 0, 0, 0, 0}};
#endif
    (void)state;
    dice d = dice_seeded(7);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t row = 0;
        const int32_t found = find_another_order(&d, &sizes[i], LENGTHS, &row);
        if (found != 0)
            fail_msg("%d x %d, type %d: row %zu of %d rows differs from that of the largest product", (int)sizes[i].n,
                     (int)sizes[i].k, (int)sizes[i].type, row, (int)found);
    }
}

#ifndef ON_GPU
/* The comparison above notices sums that run in the other direction beyond 8, 300 and 1,000 rows. */
static void another_order_is_found(void **state)
{
    static const shape sizes[] = {
        {24, 96, GPU_BF16, 1, 1, 0, 0, 0}, {9, 40, GPU_F32, 0, 0, 0, 0, 0}, {16, 64, GPU_F16, 0, 0, 0, 1, 0}};
    static const int32_t most[] = {8, 300, 1000, 12287};
    (void)state;
    dice d = dice_seeded(8);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof most / sizeof *most; j++) {
            size_t row = SIZE_MAX;
            cuda_host_turn_sums(most[j]);
            assert_int_equal(find_another_order(&d, &sizes[i], LENGTHS, &row), 1);
            cuda_host_turn_sums(INT32_MAX);
            assert_int_equal(row, 0);
        }
}
#endif

/* With `fast`, rows are right too, although the stand-in then sums many rows in another order. */
static void fast_rows_are_right(void **state)
{
    static const shape wide = {.n = 64, .k = 700, .bias = 1, .fast = 1};
    (void)state;
    rig g;
    char why[GPU_ERROR_BYTES];
    rig_open(&g, 4 << 20);
    dice d = dice_seeded(6);
    problem p = draw(&g, &d, &wide);
    assert_int_equal(gpu_matrix_choose_algo(g.device, &p.matrix, why), 0);
    run(&g, &p, p.all, 0, ROWS);
    run(&g, &p, p.one, 0, 1);
    rig_download(&g);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t j = 0; j < (size_t)wide.n; j++)
            assert_true(fabs((double)p.all[r * p.ldc + j] - expected(&p, r, j)) < 0.1); /* tolerance of tf32 */
    for (size_t j = 0; j < (size_t)wide.n; j++) assert_true(fabs((double)p.one[j] - expected(&p, 0, j)) < 0.1);
#ifndef ON_GPU
    assert_memory_not_equal(p.all, p.one, (size_t)wide.n * sizeof *p.all);
#endif
    rig_close(&g);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows_do_not_depend_on_the_batch),
    cmocka_unit_test(sums_keep_their_order),
#ifndef ON_GPU
    cmocka_unit_test(another_order_is_found),
#endif
    cmocka_unit_test(fast_rows_are_right),
};

HARNESS_MAIN(tests)
