/* test_fuse.c: the number of launches that the operations of a layer take, and outputs equal to the CPU's. Environment:
 * RILL_TEST_DEVICE, else cuda-host. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rill/device.h"
#include "support/dice.h"
#include "support/harness.h"

enum { N = 6, WIDTH = 24, INNER = 40, WIDE = 260, UNITS = 9, SYMBOLS = 9, MAX_OPS = 32 };

typedef struct layer {
    rill_context *ctx;
    rill_device *device;
    rill_network *network;
    rill_weight_type type;
    rill_graph graph;
    rill_index_space units;
    rill_tensor x, context, inner, part, gates;
    rill_table table, other;
    rill_vocab_subset vocab_subset;
    rill_column symbol, node, slot, unit_symbol;
    float numbers[16384];
    size_t used;
} layer;

/* --- graphs ------------------------------------------------------------------------------------------------------- */

static float *numbers(layer *l, size_t n)
{
    float *x = l->numbers + l->used % 1024;
    l->used += 37;
    assert_true(n + 1024 <= sizeof l->numbers / sizeof *x);
    return x;
}

/* out = activation(add + bias + a W^T). */
static rill_product make_product_op(layer *l, size_t n, size_t k, rill_view a, rill_view add,
                                    rill_activation activation, rill_view out)
{
    return (rill_product){.matrix = rill_network_matrix(l->network, l->type, n, k, numbers(l, n * k), k),
                          .bias = rill_network_constant(l->network, numbers(l, n), 1, n),
                          .a = a,
                          .add = add,
                          .activation = activation,
                          .out = out};
}

static void product(layer *l, size_t n, size_t k, rill_view a, rill_view add, rill_activation activation, rill_view out)
{
    const rill_product o = make_product_op(l, n, k, a, add, activation, out);
    rill_op_product(l->network, l->graph, RILL_ROWS, &o);
}

static rill_view constant_row(layer *l, rill_column symbol, size_t width)
{
    return rill_view_constant(rill_network_constant(l->network, numbers(l, SYMBOLS * width), SYMBOLS, width), symbol);
}

static void embed(layer *l, rill_tensor out)
{
    const rill_embedding o = {.rows = constant_row(l, l->symbol, WIDTH), .scale = 2.0f, .out = rill_view_value(out)};
    rill_op_embed(l->network, l->graph, RILL_ROWS, &o);
}

static void copy(layer *l, rill_view x, rill_view out)
{
    rill_op_copy(l->network, l->graph, RILL_ROWS, &(rill_copy){.width = 8, .x = x, .out = out});
}

static void normalise(layer *l)
{
    const rill_normalise o = {.x = rill_view_value(l->x), .eps = 1e-5f, .y = rill_view_value(l->x)};
    rill_op_normalise(l->network, l->graph, RILL_ROWS, &o);
}

/* A layer as in transformers: embeddings, a product read only by an activation, a product added to the rows, norms,
 * successive products, and a product written to a table. */
static void build_layer(layer *l)
{
    const rill_view none = {0}, x = rill_view_value(l->x), context = rill_view_value(l->context),
                    inner = rill_view_value(l->inner);
    embed(l, l->x);
    product(l, WIDTH, WIDTH, x, none, RILL_LINEAR, context);
    rill_op_activate(l->network, l->graph, RILL_ROWS,
                     &(rill_activate){.activation = RILL_TANH, .x = context, .y = context});
    product(l, WIDTH, WIDTH, context, x, RILL_LINEAR, x);
    normalise(l);
    product(l, INNER, WIDTH, x, none, RILL_RELU, inner);
    product(l, WIDTH, INNER, inner, x, RILL_LINEAR, x);
    normalise(l);
    product(l, INNER, WIDTH, x, none, RILL_SWISH, inner);
    product(l, WIDTH, INNER, inner, none, RILL_LINEAR, x);
    product(l, WIDTH, WIDTH, x, none, RILL_LINEAR, rill_view_table(l->table, l->node));
}

static void product_to_table(layer *l)
{
    product(l, WIDTH, WIDTH, rill_view_value(l->context), (rill_view){0}, RILL_LINEAR,
            rill_view_table(l->table, l->node));
}

/* Two products of the same rows, one of them written to a table. `turned`: in the opposite order of their weights in
 * memory. Then operations that read the results. */
static void add_product_pair(layer *l, int turned, rill_activation activation)
{
    const rill_view none = {0}, x = rill_view_value(l->x), gates = rill_view_value(l->gates),
                    node = rill_view_table(l->other, l->node);
    const rill_product one = make_product_op(l, 32, WIDTH, x, none, activation, turned ? gates : node),
                       two = make_product_op(l, 32, WIDTH, x, none, RILL_LINEAR, turned ? node : gates);
    rill_op_product(l->network, l->graph, RILL_ROWS, turned ? &two : &one);
    rill_op_product(l->network, l->graph, RILL_ROWS, turned ? &one : &two);
    product(l, WIDTH, 32, gates, rill_view_value(l->context), RILL_LINEAR, rill_view_value(l->context));
    product(l, WIDTH, 32, node, rill_view_value(l->context), RILL_LINEAR, rill_view_value(l->context));
}

static void build_pairs(layer *l)
{
    embed(l, l->x);
    embed(l, l->context);
    add_product_pair(l, 0, RILL_LINEAR);
    add_product_pair(l, 1, RILL_LINEAR);
    add_product_pair(l, 0, RILL_TANH); /* another activation than that of the other product */
    /* a product without an epilogue */
    product(l, 32, WIDTH, rill_view_value(l->x), (rill_view){0}, RILL_LINEAR, rill_view_value(l->gates));
    product(l, 8, WIDTH, rill_view_value(l->x), (rill_view){0}, RILL_LINEAR, rill_view_value(l->part));
    product_to_table(l);
}

/* A product reads x; the next operation overwrites part of x, which another product reads. */
static void start_reuse(layer *l)
{
    product(l, WIDTH, INNER, rill_view_value(l->inner), (rill_view){0}, RILL_LINEAR, rill_view_value(l->x));
    product(l, WIDTH, WIDTH, rill_view_value(l->x), rill_view_value(l->context), RILL_LINEAR,
            rill_view_value(l->context));
}

static void finish_reuse(layer *l)
{
    product(l, WIDTH, WIDTH, rill_view_value(l->x), rill_view_value(l->context), RILL_LINEAR,
            rill_view_value(l->context));
}

/* Build a layer with minus infinity in some columns of x. */
static void build_masked(layer *l)
{
    embed(l, l->context);
    product(l, INNER, WIDTH, rill_view_value(l->context), (rill_view){0}, RILL_RELU, rill_view_value(l->inner));
    start_reuse(l);
    rill_op_mask(l->network, l->graph, RILL_ROWS,
                 &(rill_mask){.vocab_subset = l->vocab_subset, .slot = l->slot, .x = rill_view_value(l->x)});
    finish_reuse(l);
    product_to_table(l);
}

/* Values that are written in parts, by each operation that can do so, or read in parts. */
static void build_parts(layer *l)
{
    const rill_view none = {0}, x = rill_view_value(l->x), context = rill_view_value(l->context),
                    gates = rill_view_value(l->gates);
    embed(l, l->context);
    product(l, INNER, WIDTH, context, none, RILL_RELU, rill_view_value(l->inner));
    product(l, 32, WIDTH, context, none, RILL_LINEAR, gates);
    copy(l, rill_view_offset(context, 8), rill_view_value(l->part));
    start_reuse(l);
    copy(l, rill_view_value(l->part), rill_view_offset(x, 4));
    finish_reuse(l);
    start_reuse(l);
    rill_op_sum(
        l->network, l->graph, RILL_ROWS,
        &(rill_sum){.terms = 2, .term = {rill_view_value(l->part), gates}, .out = rill_view_offset(x, 8), .width = 8});
    finish_reuse(l);
    start_reuse(l);
    rill_op_lstm(l->network, l->graph, RILL_ROWS,
                 &(rill_lstm_cell){.hidden = 8, .gates = gates, .c_out = x, .h_out = rill_view_value(l->part)});
    finish_reuse(l);
    start_reuse(l);
    product(l, WIDTH, 8, x, context, RILL_LINEAR, context); /* to the first columns of x */
    product_to_table(l);
}

/* A head too wide to be rounded by the kernel that writes it. */
static void build_wide(layer *l)
{
    const rill_tensor x = rill_tensor_make(l->network, l->graph, l->units, WIDE),
                      y = rill_tensor_make(l->network, l->graph, l->units, WIDE);
    const rill_embedding rows = {
        .rows = constant_row(l, l->unit_symbol, WIDE), .scale = 1.0f, .out = rill_view_value(x)};
    const rill_attend attend = {.heads = 1,
                                .width = WIDE,
                                .scale = 1.0f,
                                .query = rill_view_value(x),
                                .own_units = 1,
                                .keys = rill_view_value(x),
                                .values = rill_view_value(x),
                                .out = rill_view_value(y)};
    const rill_product out = {
        .matrix = rill_network_matrix(l->network, l->type, WIDTH, WIDE, numbers(l, (size_t)WIDTH * WIDE), WIDE),
        .a = rill_view_value(y),
        .out = rill_view_table(l->table, l->unit_symbol)};
    rill_op_embed(l->network, l->graph, l->units, &rows);
    rill_op_attend(l->network, l->graph, l->units, &attend);
    rill_op_product(l->network, l->graph, l->units, &out);
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

static void open_layer(layer *l, const char *device, rill_weight_type type)
{
    const rill_device_options options = {.struct_size = sizeof options, .name = device, .kernels = "ref"};
    dice d = dice_seeded(7);
    for (size_t i = 0; i < sizeof l->numbers / sizeof *l->numbers; i++)
        l->numbers[i] = (float)dice_range(&d, -1000, 1000) / 2000.0f;
    l->ctx = harness_context(NULL);
    l->type = type;
    if (rill_device_open(&l->device, l->ctx, &options) != RILL_OK) exit(77);
    assert_int_equal(rill_network_open(&l->network, l->ctx, l->device), RILL_OK);
    const rill_graph p = l->graph = rill_graph_begin(l->network, "layer");
    l->symbol = rill_column_input(l->network, p, RILL_ROWS, "symbol");
    l->node = rill_column_input(l->network, p, RILL_ROWS, "node");
    l->slot = rill_column_input(l->network, p, RILL_ROWS, "slot");
    l->units = rill_index_space_ragged(l->network, p, rill_column_input(l->network, p, RILL_ROWS, "length"));
    l->unit_symbol = rill_column_input(l->network, p, l->units, "unit's symbol");
    l->x = rill_tensor_make(l->network, p, RILL_ROWS, WIDTH);
    l->context = rill_tensor_make(l->network, p, RILL_ROWS, WIDTH);
    l->inner = rill_tensor_make(l->network, p, RILL_ROWS, INNER);
    l->part = rill_tensor_make(l->network, p, RILL_ROWS, 8);
    l->gates = rill_tensor_make(l->network, p, RILL_ROWS, 32);
    l->table = rill_network_table(l->network, RILL_TABLE_NODES, WIDTH, "nodes");
    l->other = rill_network_table(l->network, RILL_TABLE_NODES, 32, "other nodes");
    l->vocab_subset = rill_network_vocab_subset(l->network, RILL_NONE, RILL_NONE, RILL_WEIGHT_F32, "list");
}

/* Run a layer. Returns the table's rows, the cost of each operation, and the number of operations. */
static int32_t run_layer(void (*build)(layer *), const char *device, rill_weight_type type, float *rows,
                         rill_op_profile *took)
{
    static const int32_t symbol[N] = {3, 1, 8, 0, 2, 3}, node[N] = {5, 0, 2, 1, 4, 3}, slot[N] = {0},
                         length[N] = {2, 0, 3, 1, 1, 2}, unit[UNITS] = {8, 3, 1, 0, 2, 4, 5, 7, 6}, listed[] = {3, 17};
    const int32_t *const columns[] = {symbol, node, slot, length, unit};
    const rill_run_arguments arguments = {.struct_size = sizeof arguments, .n = N, .columns = columns};
    layer *l = calloc(1, sizeof *l);
    rill_session *session;
    int32_t ops = 0;
    assert_non_null(l);
    open_layer(l, device, type);
    build(l);
    if (rill_network_finish(l->network) != RILL_OK) fail_msg("%s", rill_error(l->ctx));
    assert_int_equal(rill_session_open(&session, l->ctx, l->network, 1), RILL_OK);
    assert_int_equal(rill_session_reserve(session, SYMBOLS, 1), RILL_OK);
    assert_int_equal(rill_session_set_vocab_subset(session, l->vocab_subset, 0, 2, listed), RILL_OK);
    assert_int_equal(rill_runner_profile(&session, 1), RILL_OK);
    if (rill_session_run(session, l->graph, &arguments) != RILL_OK) fail_msg("%s", rill_error(l->ctx));
    assert_int_equal(rill_session_read(session, l->table, 0, 0, build == build_wide ? UNITS : N, rows), RILL_OK);
    while (rill_runner_profile_row(&session, ops, &took[ops])) assert_true(++ops < MAX_OPS);
    rill_session_close(session);
    rill_network_close(l->network);
    rill_device_close(l->device);
    rill_context_destroy(l->ctx);
    free(l);
    return ops;
}

static int near(float x, float wanted, float tolerance)
{
    return isfinite(wanted) ? fabsf(x - wanted) <= tolerance * (1.0f + fabsf(wanted)) : !isfinite(x);
}

/* `launches`, `bytes`: the expected numbers for each operation, or NULL. */
static void check_layer(void (*build)(layer *), rill_weight_type type, float tolerance, const int64_t *launches,
                        const double *bytes)
{
    static rill_op_profile none[MAX_OPS], took[MAX_OPS];
    float wanted[SYMBOLS * WIDTH] = {0}, found[SYMBOLS * WIDTH] = {0};
    const char *device = getenv("RILL_TEST_DEVICE");
    const int32_t ops = run_layer(build, device != NULL ? device : "cuda-host", type, found, took);
    run_layer(build, "cpu", type != RILL_WEIGHT_F16 ? type : RILL_WEIGHT_F32, wanted, none);
    for (int32_t i = 0; i < ops; i++) {
        assert_int_equal(none[i].launches, 0);
        if (launches != NULL && took[i].launches != launches[i])
            fail_msg("operation %d: %d launches, not %d", (int)i, (int)took[i].launches, (int)launches[i]);
        if (bytes != NULL && bytes[i] > 0.0 && took[i].bytes != bytes[i])
            fail_msg("operation %d: %g bytes, not %g", (int)i, took[i].bytes, bytes[i]);
    }
    for (int i = 0; i < SYMBOLS * WIDTH; i++)
        if (!near(found[i], wanted[i], tolerance))
            fail_msg("row %d, column %d: %.9g, not %.9g", i / WIDTH, i % WIDTH, (double)found[i], (double)wanted[i]);
}

/* Products take one launch each, except those with swish or to a table. */
static void epilogues_are_fused(void **state)
{
    static const int64_t launches[] = {1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 2};
    (void)state;
    check_layer(build_layer, RILL_WEIGHT_F32, 1e-4f, launches, NULL);
}

/* Products with rounded output have a separate epilogue, and no rows are gathered. Rows are read and written in two
 * bytes per number, and also in four if other operations read them. Weights are padded to 16 columns. */
static void rounding_is_fused(void **state)
{
    enum { ROW = 4 * WIDTH, HALF = 2 * WIDTH, HALF_IN = 2 * INNER };
    enum { SQUARE = 32 * 2 * WIDTH, UP = 48 * 2 * WIDTH, DOWN = 32 * 2 * INNER };
    static const int64_t launches[] = {1, 1, 1, 1, 1, 2, 1, 1, 2, 2, 2};
    static const double bytes[MAX_OPS] = {
        N * (2 * ROW + HALF),      N * (HALF + ROW) + SQUARE,   N * (ROW + HALF),           N * (HALF + ROW) + SQUARE,
        N * (2 * ROW + HALF),      N * (HALF + HALF_IN) + UP,   N * (HALF_IN + ROW) + DOWN, N * (ROW + HALF),
        N * (HALF + HALF_IN) + UP, N * (HALF_IN + HALF) + DOWN, N * (HALF + ROW) + SQUARE};
    (void)state;
    check_layer(build_layer, RILL_WEIGHT_BF16, 5e-2f, launches, bytes);
    check_layer(build_layer, RILL_WEIGHT_F16, 5e-3f, launches, bytes);
}

/* The second product of a pair runs in the launch of the first, which has read the rows. In bf16 a value that only
 * products read is rounded, so such products have a separate epilogue. */
static void product_pairs_are_merged(void **state)
{
    enum { X = 4 * WIDTH, GATES = 4 * 32, WEIGHTS = 32 * 4 * WIDTH, BACK = 32 * 4 * 32 };
    static const double bytes[MAX_OPS] = {N * 2 * X,
                                          N * 2 * X,
                                          N * (X + GATES) + WEIGHTS,
                                          N * GATES + WEIGHTS,
                                          N * (GATES + X) + BACK,
                                          N * (GATES + X) + BACK,
                                          N * (X + GATES) + WEIGHTS,
                                          N * GATES + WEIGHTS};
    static const int64_t launches[] = {1, 1, 2, 0, 1, 2, 2, 0, 1, 2, 2, 1, 1, 2, 1, 1, 2};
    (void)state;
    check_layer(build_pairs, RILL_WEIGHT_F32, 1e-4f, launches, bytes);
    check_layer(build_pairs, RILL_WEIGHT_BF16, 5e-2f, NULL, NULL);
}

static void partial_rows_are_gathered(void **state)
{
    (void)state;
    check_layer(build_parts, RILL_WEIGHT_F32, 1e-4f, NULL, NULL);
    check_layer(build_parts, RILL_WEIGHT_BF16, 5e-2f, NULL, NULL);
    check_layer(build_masked, RILL_WEIGHT_BF16, 5e-2f, NULL, NULL);
    check_layer(build_parts, RILL_WEIGHT_F16, 5e-3f, NULL, NULL);
    check_layer(build_wide, RILL_WEIGHT_BF16, 5e-2f, NULL, NULL);
}

/* Infinity is a valid f16 number; a value that would overflow to it is not. */
static void f16_ends(void **state)
{
    static const float weights[] = {65504.0f, -INFINITY, NAN, 65505.0f};
    (void)state;
    layer *l = calloc(1, sizeof *l);
    const char *device = getenv("RILL_TEST_DEVICE");
    assert_non_null(l);
    open_layer(l, device != NULL ? device : "cuda-host", RILL_WEIGHT_F16);
    assert_true(rill_network_matrix(l->network, RILL_WEIGHT_F16, 1, 3, weights, 3) > 0);
    assert_true(rill_network_matrix(l->network, RILL_WEIGHT_F16, 1, 4, weights, 4) < 0);
    assert_int_equal(rill_network_finish(l->network), RILL_ERR_OPTION);
    assert_non_null(strstr(rill_error(l->ctx), "65505: use bf16 or f32"));
    rill_network_close(l->network);
    rill_device_close(l->device);
    rill_context_destroy(l->ctx);
    free(l);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(epilogues_are_fused),
    cmocka_unit_test(rounding_is_fused),
    cmocka_unit_test(product_pairs_are_merged),
    cmocka_unit_test(partial_rows_are_gathered),
    cmocka_unit_test(f16_ends),
};

HARNESS_MAIN(tests)
