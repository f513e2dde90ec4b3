/* test_lists.c: lists.cu against definitions, and each row against itself in other batches. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "half.h"
#include "launch.h"
#include "rig.h"
#include "stand_in.h"
#include "support/dice.h"
#include "support/harness.h"

enum { MAX_ROWS = 20, SLOTS = 6, MAX_LISTED = 300, VOCABULARY = 400, TABLE = MAX_ROWS + 3 };

/* --- random problems ---------------------------------------------------------------------------------------------- */

typedef struct problem {
    int32_t rows, width, longest;
    int32_t first[SLOTS], length[SLOTS], ids[SLOTS * MAX_LISTED];
    int32_t slot[MAX_ROWS], a_row[MAX_ROWS], out_row[MAX_ROWS]; /* rows of the tables that are read and written */
    gpu_type type;
    rill_activation activation;
    float *w, *x; /* [VOCABULARY, width]; [TABLE, width] */
} problem;

static float *numbers(dice *d, size_t n)
{
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)dice_range(d, -3000, 3000) / 1024.0f + (float)dice_range(d, 0, 9) * 1e-5f;
    return x;
}

static problem draw(dice *d, int32_t width, int32_t vocabulary)
{
    problem p = {.rows = dice_range(d, 0, MAX_ROWS), .width = width};
    int32_t used = 0;
    for (int32_t s = 0; s < SLOTS; s++) {
        p.first[s] = used;
        p.length[s] = DICE_PICK(d, 0, 1, 3, 4, 31, 32, 33, 70, MAX_LISTED);
        p.longest = p.length[s] > p.longest ? p.length[s] : p.longest;
        for (int32_t i = 0, id = 0; i < p.length[s]; i++, id++) {
            id += dice_range(d, 0, (vocabulary - id - (p.length[s] - i)) / (p.length[s] - i));
            p.ids[used++] = id;
        }
    }
    p.longest += dice_range(d, 0, 40);
    for (int32_t r = 0; r < p.rows; r++) {
        /* several rows may share a slot */
        p.slot[r] = r > 0 && dice_chance(d, 60) ? p.slot[r - 1] : dice_range(d, 0, SLOTS - 1);
        p.a_row[r] = dice_range(d, -1, TABLE - 1);
        p.out_row[r] = dice_chance(d, 10) ? -1 : (7 * r + 3) % TABLE; /* distinct rows; -1: no output */
    }
    p.type = dice_chance(d, 50) ? GPU_F32 : dice_chance(d, 50) ? GPU_BF16 : GPU_F16;
    p.activation = (rill_activation)dice_range(d, 0, RILL_N_ACTIVATIONS - 1);
    p.w = numbers(d, (size_t)VOCABULARY * (size_t)width);
    p.x = numbers(d, (size_t)TABLE * (size_t)width);
    return p;
}

static void drop(problem *p)
{
    free(p->w);
    free(p->x);
}

static void *put(rig *g, const void *from, size_t bytes)
{
    return rig_device_ptr(g, memcpy(rig_put(g, bytes), from, bytes));
}

/* Put a table `off` floats past a multiple of 16 bytes. */
static float *put_table(rig *g, const float *from, size_t n, int32_t off)
{
    float *to = (float *)rig_put(g, (n + (size_t)off) * sizeof *to) + off;
    return rig_device_ptr(g, memcpy(to, from, n * sizeof *to));
}

static gpu_subsets put_lists(rig *g, const problem *p)
{
    /* exact size: nothing follows the last list */
    const size_t used = (size_t)(p->first[SLOTS - 1] + p->length[SLOTS - 1]) * sizeof *p->ids;
    return (gpu_subsets){put(g, p->ids, used), put(g, p->first, sizeof p->first), put(g, p->length, sizeof p->length)};
}

/* --- mask --------------------------------------------------------------------------------------------------------- */

static void check_mask(rig *g, dice *d, const problem *p)
{
    const size_t ld = (size_t)p->width + (size_t)dice_range(d, 0, 3), n = TABLE * ld;
    const int indexed = dice_chance(d, 70);
    float should[TABLE * (VOCABULARY + 3)];
    rig_begin(g);
    float *x = rig_out(g, n * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = should[i] = (float)i;
    gpu_mask mask = {.rows = {put(g, &p->rows, sizeof p->rows), p->rows + 2},
                     .width = p->width,
                     .subsets = put_lists(g, p),
                     .slot = put(g, p->slot, sizeof p->slot),
                     .x = {rig_device_ptr(g, x), (int32_t)ld, indexed ? put(g, p->out_row, sizeof p->out_row) : NULL}};
    rig_upload(g);
    gpu_run_mask(g->queue, &mask);
    rig_download(g);
    for (int32_t r = 0; r < p->rows; r++) {
        const int32_t to = indexed ? p->out_row[r] : r;
        const int32_t *id = p->ids + p->first[p->slot[r]];
        for (int32_t i = 0; to >= 0 && i < p->length[p->slot[r]]; i++)
            if (id[i] < p->width) should[(size_t)to * ld + (size_t)id[i]] = -INFINITY;
    }
    assert_memory_equal(x, should, n * sizeof *x);
}

static void test_mask(void **state)
{
    (void)state;
    const int64_t iterations = harness_iterations(200);
    rig g;
    rig_open(&g, 1 << 20);
    for (int64_t i = 0; i < iterations; i++) {
        dice d = dice_seeded(harness_seed(1) + (uint64_t)i);
        problem p = draw(&d, dice_range(&d, 1, VOCABULARY), VOCABULARY);
        check_mask(&g, &d, &p);
        drop(&p);
    }
    rig_close(&g);
}

/* --- product ------------------------------------------------------------------------------------------------------ */

/* test_f16.c covers all numbers. */
static double rounded(float x, gpu_type type)
{
    return (double)(type == GPU_F32 ? x : gpu_rounded_to_float(gpu_round_bits(x, type), type));
}

/* Apply the activation; one without a case here uses the plain C kernel. */
static double activated(double x, rill_activation activation)
{
    rill_kernels k;
    float in = (float)x, out;
    const rill_op op = {.activate = {.activation = activation}};
    const rill_row_call call = {.rows = 1, .width = 1, .op = &op, .x = {[ACTIVATE_x] = {&in}, [ACTIVATE_y] = {&out}}};
    switch (activation) {
    case RILL_LINEAR: return x;
    case RILL_TANH: return tanh(x);
    case RILL_RELU: return x < 0.0 ? 0.0 : x;
    case RILL_SWISH: return x / (1.0 + exp(-x));
    case RILL_GELU: return 0.5 * x * erfc(-x * sqrt(0.5));
    case RILL_GELU_TANH: return x / (1.0 + exp(-2.0 * sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case RILL_GELU_SIGMOID: return x / (1.0 + exp(-1.702 * x));
    case RILL_SIGMOID: return 1.0 / (1.0 + exp(-x));
    default:
        rill_kernels_init(&k, RILL_ISA_REF);
        rill_run_rows(&k, RILL_OP_ACTIVATE, &call, NULL);
        return (double)out;
    }
}

/* Run the rows `order` of the problem; return a copy of out [rows, longest]. */
static float *run_product(rig *g, dice *d, const problem *p, int32_t rows, const int32_t *order)
{
    const size_t n = (size_t)rows * (size_t)p->longest, ld = (size_t)p->longest + (size_t)dice_range(d, 0, 3);
    const int32_t off = dice_chance(d, 50) ? 0 : dice_range(d, 1, 3);
    int32_t slot[MAX_ROWS], a_row[MAX_ROWS], out_row[MAX_ROWS];
    for (int32_t r = 0; r < rows; r++) {
        slot[r] = p->slot[order[r]];
        a_row[r] = p->a_row[order[r]];
        out_row[r] = p->out_row[order[r]] < 0 ? -1 : rows - 1 - r;
    }
    rig_begin(g);
    gpu_subset_product product = {.rows = {put(g, &rows, sizeof rows), rows + 2},
                                  .width = p->width,
                                  .max_length = p->longest,
                                  .subsets = put_lists(g, p),
                                  .slot = put(g, slot, sizeof slot),
                                  .w = put_table(g, p->w, (size_t)VOCABULARY * (size_t)p->width, off),
                                  .type = p->type,
                                  .activation = p->activation};
    product.a = (gpu_operand){put_table(g, p->x, (size_t)TABLE * (size_t)p->width, off), p->width,
                              put(g, a_row, sizeof a_row)};
    float *out = rig_out(g, (size_t)rows * ld * sizeof *out), *result = calloc(n + 1, sizeof *result);
    product.out = (gpu_operand){rig_device_ptr(g, out), (int32_t)ld, put(g, out_row, sizeof out_row)};
    rig_upload(g);
    gpu_run_subset_product(g->queue, &product);
    rig_download(g);
    assert_non_null(result);
    for (int32_t r = 0; r < rows; r++) {
        const float *row = out + (size_t)(rows - 1 - r) * ld;
        const size_t length = out_row[r] >= 0 ? (size_t)p->length[slot[r]] : 0;
        memcpy(result + (size_t)r * (size_t)p->longest, row, length * sizeof *row);
        /* columns past the list's length are not written */
        for (size_t i = length; i < ld; i++) assert_true(isnan(row[i]));
    }
    return result;
}

static void expect_product(const problem *p, const float *out, int32_t r, int32_t i)
{
    const float *w = p->w + (size_t)p->ids[p->first[p->slot[r]] + i] * (size_t)p->width;
    const float *x = p->a_row[r] >= 0 ? p->x + (size_t)p->a_row[r] * (size_t)p->width : NULL;
    double sum = 0.0, size = 1.0;
    for (int32_t k = 0; k < p->width && x != NULL; k++) {
        const double term = rounded(x[k], p->type) * rounded(w[k], p->type);
        sum += term;
        size += fabs(term);
    }
    const double should = activated(sum, p->activation), is = (double)out[(size_t)r * (size_t)p->longest + (size_t)i];
    if (!(fabs(is - should) <= 1e-6 * size)) fail_msg("row %d, symbol %d: %.9g, not %.9g", r, i, is, should);
}

static void check_product(rig *g, dice *d, const problem *p)
{
    int32_t order[MAX_ROWS];
    for (int32_t r = 0; r < p->rows; r++) order[r] = r;
    float *all = run_product(g, d, p, p->rows, order);
    for (int32_t r = 0; r < p->rows; r++)
        for (int32_t i = 0; p->out_row[r] >= 0 && i < p->length[p->slot[r]]; i++) expect_product(p, all, r, i);
    const int32_t rows = p->rows > 0 ? dice_range(d, 1, p->rows) : 0;
    for (int32_t r = 0; r < rows; r++) order[r] = dice_range(d, 0, p->rows - 1);
    float *some = run_product(g, d, p, rows, order);
    for (int32_t r = 0; r < rows; r++)
        assert_memory_equal(some + (size_t)r * (size_t)p->longest, all + (size_t)order[r] * (size_t)p->longest,
                            (size_t)p->longest * sizeof *all);
    free(all);
    free(some);
}

static void test_product(void **state)
{
    (void)state;
    const int64_t iterations = harness_iterations(100);
    rig g;
    rig_open(&g, 16 << 20);
    for (int64_t i = 0; i < iterations; i++) {
        dice d = dice_seeded(harness_seed(1) + (uint64_t)i);
        problem p = draw(&d,
                         i % 25 == 3 ? 4100 + (int32_t)i % 2 : DICE_PICK(&d, 1, 3, 4, 33, 64, 127, 128, 130, 256, 512),
                         VOCABULARY);
        if (i % 25 == 3) p.rows = p.rows < 3 ? p.rows : 3;
        cuda_host_seed((uint64_t)i);
        check_product(&g, &d, &p);
        drop(&p);
    }
    rig_close(&g);
}

/* Four rows, of which any adjacent ones may share a slot: rows are taken together in every number, at every position in
 * a block. */
static void test_rows_together(void **state)
{
    (void)state;
    rig g;
    rig_open(&g, 4 << 20);
    for (uint32_t i = 0; i < 16; i++) {
        dice d = dice_seeded(harness_seed(1) + i);
        problem p = draw(&d, i < 8 ? 130 : 128, VOCABULARY);
        p.rows = 4;
        p.length[0] = 3; /* shorter than the drawn list, so the memory exists */
        p.length[1] = 5;
        for (int32_t n = 0; n < 8; n++) p.ids[n] = 40 * n + (int32_t)i;
        p.first[1] = 3;
        p.longest = p.longest > 5 ? p.longest : 5;
        for (int32_t r = 0; r < 4; r++) {
            p.slot[r] = r == 0 ? 0 : p.slot[r - 1] ^ (int32_t)(i >> (r - 1) & 1);
            p.a_row[r] = (3 * r + (int32_t)i) % TABLE;
            p.out_row[r] = r;
        }
        cuda_host_seed(i);
        check_product(&g, &d, &p);
        drop(&p);
    }
    rig_close(&g);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mask), cmocka_unit_test(test_product),
                                       cmocka_unit_test(test_rows_together)};
    if (harness_options(argc, argv) != 0) return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
