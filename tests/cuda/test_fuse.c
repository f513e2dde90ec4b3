/* test_fuse.c: how many launches the operations of a layer take, and that its outputs are those of the processor. Environment:
 * RILL_TEST_DEVICE, else cuda-host. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rill/device.h"
#include "support/dice.h"
#include "support/harness.h"

enum { N = 6, WIDTH = 24, INNER = 40, SYMBOLS = 9, MOST_OPS = 16 };

typedef struct layer {
    rill_context *ctx;
    rill_device *device;
    rill_plan *plan;
    rill_weight_type type;
    rill_program program;
    rill_space where;
    rill_value x, context, inner, part;
    rill_table table;
    rill_column symbol, node, chosen;
    float numbers[4096];
    size_t used;
} layer;

static float *numbers(layer *l, size_t n)
{
    float *x = l->numbers + l->used % 1024;
    l->used += 37;
    assert_true(n + 1024 <= 4096);
    return x;
}

/* out = activation(add + bias + a W^T). */
static void product(layer *l, size_t n, size_t k, rill_view a, rill_view add, rill_activation activation, rill_view out)
{
    const rill_product o = {.matrix = rill_plan_matrix(l->plan, l->type, n, k, numbers(l, n * k), k),
                            .bias = rill_plan_constant(l->plan, numbers(l, n), 1, n),
                            .a = a,
                            .add = add,
                            .activation = activation,
                            .out = out};
    rill_op_product(l->plan, l->program, RILL_ROWS, &o);
}

/* As transformers have it: rows embedded, a product that a gate alone reads, one that adds to the rows, norms, products behind each other, and one to a
 * table; then what is no whole row of a value. */
static void build(layer *l)
{
    const rill_view none = {0}, x = rill_of(l->x), context = rill_of(l->context), inner = rill_of(l->inner);
    rill_plan *plan = l->plan;
    const rill_program p = l->program;
    rill_op_embed(
        plan, p, RILL_ROWS,
        &(rill_embedding){
            .rows = rill_row(rill_plan_constant(plan, numbers(l, SYMBOLS * WIDTH), SYMBOLS, WIDTH), l->symbol),
            .symbol = l->symbol,
            .scale = 2.0f,
            .out = x});
    product(l, WIDTH, WIDTH, x, none, RILL_LINEAR, context);
    rill_op_activate(plan, p, RILL_ROWS, &(rill_activate){.activation = RILL_TANH, .x = context, .y = context});
    product(l, WIDTH, WIDTH, context, x, RILL_LINEAR, x);
    rill_op_normalise(plan, p, RILL_ROWS, &(rill_normalise){.x = x, .eps = 1e-5f, .y = x});
    product(l, INNER, WIDTH, x, none, RILL_RELU, inner);
    product(l, WIDTH, INNER, inner, x, RILL_LINEAR, x);
    rill_op_normalise(plan, p, RILL_ROWS, &(rill_normalise){.x = x, .eps = 1e-5f, .y = x});
    product(l, INNER, WIDTH, x, none, RILL_SWISH, inner);
    rill_op_copy(plan, p, RILL_ROWS, &(rill_copy){.width = 8, .x = rill_from(x, 8), .out = rill_of(l->part)});
    product(l, WIDTH, INNER, inner, none, RILL_LINEAR, x);
    rill_op_copy(plan, p, RILL_ROWS, &(rill_copy){.width = 8, .x = rill_of(l->part), .out = rill_from(x, 4)});
    product(l, WIDTH, WIDTH, x, none, RILL_LINEAR, rill_at(l->table, l->node));
}

static const char *const kinds[] = {
    "embed",     "product 24 x 24", "activate", "product 24 x 24", "normalise", "product 40 x 24", "product 24 x 40",
    "normalise", "product 40 x 24", "copy",     "product 24 x 40", "copy",      "product 24 x 24"};

/* The table's rows; launches of each operation. */
static void run_layer(const char *device, rill_weight_type type, float *rows, int64_t *launches)
{
    layer *l = calloc(1, sizeof *l);
    dice d = dice_seeded(7);
    assert_non_null(l);
    for (size_t i = 0; i < 4096; i++) l->numbers[i] = (float)dice_range(&d, -1000, 1000) / 2000.0f;
    l->ctx = harness_context(NULL);
    l->type = type;
    const rill_device_options options = {.struct_size = sizeof options, .name = device, .kernels = "ref"};
    rill_stream *stream;
    if (rill_device_open(&l->device, l->ctx, &options) != RILL_OK) exit(77);
    assert_int_equal(rill_plan_open(&l->plan, l->ctx, l->device), RILL_OK);
    l->program = rill_program_begin(l->plan, "layer");
    l->symbol = rill_column_given(l->plan, l->program, RILL_ROWS, "symbol");
    l->node = rill_column_given(l->plan, l->program, RILL_ROWS, "node");
    l->x = rill_value_make(l->plan, l->program, RILL_ROWS, WIDTH);
    l->context = rill_value_make(l->plan, l->program, RILL_ROWS, WIDTH);
    l->inner = rill_value_make(l->plan, l->program, RILL_ROWS, INNER);
    l->part = rill_value_make(l->plan, l->program, RILL_ROWS, 8);
    l->table = rill_plan_table(l->plan, RILL_TABLE_NODES, WIDTH, "nodes");
    build(l);
    if (rill_plan_finish(l->plan) != RILL_OK) fail_msg("%s", rill_error(l->ctx));
    assert_int_equal(rill_stream_open(&stream, l->ctx, l->plan, 1), RILL_OK);
    assert_int_equal(rill_stream_reserve(stream, N, 1), RILL_OK);
    assert_int_equal(rill_stream_profile(stream, 1), RILL_OK);
    const int32_t symbol[N] = {3, 1, 8, 0, 2, 3}, node[N] = {5, 0, 2, 1, 4, 3}, *const columns[] = {symbol, node};
    const rill_run_arguments arguments = {.struct_size = sizeof arguments, .n = N, .columns = columns};
    if (rill_stream_run(stream, l->program, &arguments) != RILL_OK) fail_msg("%s", rill_error(l->ctx));
    assert_int_equal(rill_stream_read(stream, l->table, 0, 0, N, rows), RILL_OK);
    rill_op_profile op;
    for (int32_t i = 0; rill_stream_profiled(stream, i, &op); i++) {
        assert_true(i < MOST_OPS);
        assert_string_equal(op.operation, kinds[i]);
        launches[i] = op.launches;
    }
    rill_stream_close(stream);
    rill_plan_close(l->plan);
    rill_device_close(l->device);
    rill_context_destroy(l->ctx);
    free(l);
}

static void check_layer(rill_weight_type type, float tolerance, const int64_t *expected)
{
    float wanted[N * WIDTH], found[N * WIDTH];
    int64_t none[MOST_OPS] = {0}, launches[MOST_OPS] = {0};
    const char *device = getenv("RILL_TEST_DEVICE");
    run_layer(device != NULL ? device : "cuda-host", type, found, launches);
    run_layer("cpu", type == RILL_WEIGHT_F32 ? type : RILL_WEIGHT_BF16, wanted, none);
    for (int i = 0; i < MOST_OPS; i++) {
        assert_int_equal(none[i], 0);
        if (launches[i] != expected[i])
            fail_msg("operation %d (%s): %lld launches, not %lld", i, kinds[i], (long long)launches[i],
                     (long long)expected[i]);
    }
    for (int i = 0; i < N * WIDTH; i++) assert_float_equal(found[i], wanted[i], (double)tolerance);
}

/* Products but those with a swish or to a table are one launch. */
static void products_finish_themselves(void **state)
{
    static const int64_t launches[MOST_OPS] = {1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 2};
    (void)state;
    check_layer(RILL_WEIGHT_F32, 1e-4f, launches);
}

/* What is rounded is finished apart; nothing is gathered but what is read in parts. */
static void rows_are_rounded_where_they_are_written(void **state)
{
    static const int64_t launches[MOST_OPS] = {1, 1, 1, 1, 1, 2, 1, 1, 2, 1, 1, 1, 3};
    (void)state;
    check_layer(RILL_WEIGHT_BF16, 5e-2f, launches);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(products_finish_themselves),
    cmocka_unit_test(rows_are_rounded_where_they_are_written),
};

HARNESS_MAIN(tests)
