/* The GPU executor of graphs, on the device in RILL_TEST_DEVICE or on the stand-in. Random graphs are compared with the
 * reference interpreter. They must also be equal to the bit for any order of the rows, any split of a run, and any
 * order of threads and blocks.
 *
 * Sums are in another order than the interpreter's. The allowed difference is estimated by running the problem with two
 * of the CPU's instruction sets. If those lead to different choices, the problem is not compared. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/run_problem.h"
#include "support/harness.h"

static rill_kernels plain;

/* With bf16 weights a GPU rounds the activations to bf16 too, so the reference does so. */
static void multiply(const rill_gemm *g, rill_pool *pool)
{
    if (g->w->dtype != RILL_DTYPE_BF16) {
        plain.gemm(g, pool);
        return;
    }
    rill_gemm rounded = *g;
    const size_t k1 = g->a2.data != NULL ? g->k1 : g->w->k;
    float *rows = calloc(g->rows * g->w->k + 1, sizeof *rows);
    for (size_t r = 0; r < g->rows; r++)
        for (size_t k = 0; k < g->w->k; k++) {
            const float x = k < k1 ? rill_operand_row(&g->a, r)[k] : rill_operand_row(&g->a2, r)[k - k1];
            const uint32_t bits = (uint32_t)rill_bf16(x) << 16;
            memcpy(&rows[r * g->w->k + k], &bits, sizeof bits);
        }
    rounded.a = (rill_operand){.data = rows, .ld = g->w->k};
    rounded.a2 = (rill_operand){.data = NULL};
    plain.gemm(&rounded, pool);
    free(rows);
}

static outcome interpret_with(problem *p, rill_isa_mask isa)
{
    rill_kernels kernels;
    rill_kernels_init(&kernels, isa);
    plain = kernels;
    kernels.gemm = multiply;
    return interpret_problem(p, &kernels);
}

static int64_t n_unstable;

/* A difference in the last bit of fp32 may change the last bit of bf16 or f16. */
static float tolerance_for(rill_weight_type type)
{
    return type == RILL_WEIGHT_BF16 ? 2e-2f : type == RILL_WEIGHT_F16 ? 3e-3f : 2e-4f;
}

static tolerance problem_tolerance(const problem *p)
{
    float max = 2e-4f;
    for (int32_t m = 1; m <= p->t.matrices; m++) max = fmaxf(max, tolerance_for(p->t.matrix[m].type));
    for (int32_t l = 1; l <= p->t.vocab_subsets; l++)
        if (p->t.vocab_subset[l].rows != 0) max = fmaxf(max, tolerance_for(p->t.vocab_subset[l].type));
    return (tolerance){.absolute = max, .relative = max};
}

/* Run the graph in several ways. `truth`: the expected values; NULL if they are not certain. */
static void check_variants(rill_context *ctx, problem *p, uint64_t seed, const rill_network *network, rill_graph graph,
                           const outcome *truth)
{
    const variant variants[] = {
        {.threads = 1},
        {.threads = 1, .permuted = 1},
        {.threads = 1,
         .permuted = dice_chance(&p->d, 50),
         .split = dice_range(&p->d, 0, 9),
         .async = dice_chance(&p->d, 50)},
    };
    outcome first = {0};
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        outcome o = run_problem(ctx, p, network, graph, &variants[i]);
        const char *what = NULL;
        if (i == 0 && truth != NULL) what = compare_outcomes(p, truth, &o, problem_tolerance(p));
        if (i > 0) what = compare_outcomes(p, &first, &o, (tolerance){0});
        if (what != NULL)
            fail_msg("seed %llu: %s differ %s", (unsigned long long)seed, what,
                     i == 0 ? "from the interpreter's" : "with the order of rows or threads, or with a split");
        if (i == 0)
            first = o;
        else
            free_outcome(&o);
    }
    free_outcome(&first);
}

static const char *device_name(void)
{
    const char *name = getenv("RILL_TEST_DEVICE");
    return name != NULL ? name : "cuda-host";
}

static void check_problem(rill_context *ctx, uint64_t seed)
{
    problem *p = make_problem(seed, RILL_WEIGHT_F16);
    const rill_device_options options = {.struct_size = sizeof options, .name = device_name(), .kernels = "ref"};
    rill_device *device;
    rill_network *network;
    rill_graph graph;
    if (rill_device_open(&device, ctx, &options) != RILL_OK) {
        puts(rill_error(ctx));
        if (strcmp(options.name, "cuda") == 0) exit(77); /* Meson's exit code for a skipped test */
        fail();
    }
    assert_int_equal(rill_network_open(&network, ctx, device), RILL_OK);
    const rill_status status = build_network(&p->t, network, &graph);
    if (status != RILL_OK && strstr(rill_error(ctx), "from the host") == NULL &&
        strstr(rill_error(ctx), "f16 has numbers up to 65504") == NULL)
        fail_msg("seed %llu: %s", (unsigned long long)seed, rill_error(ctx));
    if (status == RILL_OK) {
        outcome truth = interpret_with(p, RILL_ISA_REF), other = interpret_with(p, RILL_ISA_AVX2 | RILL_ISA_NEON);
        const int unsteady = compare_outcomes(p, &truth, &other, (tolerance){1e-5f, 1e-5f}) != NULL;
        n_unstable += unsteady;
        check_variants(ctx, p, seed, network, graph, unsteady ? NULL : &truth);
        free_outcome(&truth);
        free_outcome(&other);
    }
    rill_network_close(network);
    rill_device_close(device);
    free_problem(p);
}

static void graphs_equal_the_interpreter(void **state)
{
    (void)state;
    const int64_t n = harness_problems(GRAPHS, check_problem);
    assert_true(n_unstable * 10 <= n);
}

/* A graph that copies row which[r] of a constant to node node[r], with a number of unrelated ragged spaces. */
typedef struct copies {
    rill_device *device;
    rill_network *network;
    rill_session *session;
    rill_graph graph;
    rill_table table;
} copies;

static copies open_copies(rill_context *ctx, int ragged)
{
    static const float rows[] = {10.0f, 11.0f, 12.0f, 13.0f};
    const rill_device_options options = {.struct_size = sizeof options, .name = device_name()};
    copies c;
    if (rill_device_open(&c.device, ctx, &options) != RILL_OK) exit(77);
    assert_int_equal(rill_network_open(&c.network, ctx, c.device), RILL_OK);
    const rill_constant constant = rill_network_constant(c.network, rows, 4, 1);
    c.table = rill_network_table(c.network, RILL_TABLE_NODES, 1, "nodes");
    c.graph = rill_graph_begin(c.network, "copies");
    rill_column column[4];
    for (int i = 0; i < 4; i++) column[i] = rill_column_input(c.network, c.graph, RILL_ROWS, "a column");
    for (int i = 0; i < ragged; i++) rill_index_space_ragged(c.network, c.graph, column[2 + i]);
    const rill_copy copy = {
        .width = 1, .x = rill_view_constant(constant, column[0]), .out = rill_view_table(c.table, column[1])};
    rill_op_copy(c.network, c.graph, RILL_ROWS, &copy);
    assert_int_equal(rill_network_finish(c.network), RILL_OK);
    assert_int_equal(rill_session_open(&c.session, ctx, c.network, 1), RILL_OK);
    assert_int_equal(rill_session_reserve(c.session, 8, 1), RILL_OK);
    return c;
}

static void close_copies(copies *c)
{
    rill_session_close(c->session);
    rill_network_close(c->network);
    rill_device_close(c->device);
}

/* Check n rows; `shift` makes them differ from those of other runs. */
static void check_copies(const copies *c, int32_t n, int32_t shift)
{
    const int32_t first[] = {10, 1, 10, 1}, second[] = {1, 10, 1, 10}, node[] = {3, 0, 2, 1};
    int32_t rows_read[4];
    for (int32_t r = 0; r < n; r++) rows_read[r] = (r + shift) % 4;
    const int32_t *const columns[] = {rows_read, node, first, second};
    const rill_run_arguments arguments = {.struct_size = sizeof arguments, .n = n, .columns = columns};
    assert_int_equal(rill_session_run(c->session, c->graph, &arguments), RILL_OK);
    for (int32_t r = 0; r < n; r++) {
        float x;
        assert_int_equal(rill_session_read(c->session, c->table, node[r], 0, 1, &x), RILL_OK);
        assert_float_equal(x, 10 + rows_read[r], 0);
    }
}

/* Of two ragged spaces, either may be the longer one. */
static void ragged_lengths_alternate(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    copies c = open_copies(ctx, 2);
    for (int32_t i = 0; i < 3; i++) check_copies(&c, 4, i);
    close_copies(&c);
    rill_context_destroy(ctx);
}

/* When a layout of rows runs a second time, it is captured as a CUDA graph. From then on the graph is replayed, also
 * with other columns and fewer rows. */
static void runs_are_replayed(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    copies c = open_copies(ctx, 0);
    for (int32_t i = 0; i < 12; i++) check_copies(&c, 1 + i * 7 % 4, i);
    rill_graph_runs runs;
    rill_runner_graph_runs(&c.session, &runs);
    assert_int_equal(runs.direct, 1);
    assert_int_equal(runs.captured, 1);
    assert_int_equal(runs.replayed, 10);
    assert_int_equal(runs.evicted, 0);
    close_copies(&c);
    rill_context_destroy(ctx);
}

/* If there are more layouts than a session keeps CUDA graphs of, the least recently used graph is evicted. */
static void old_graphs_are_evicted(void **state)
{
    enum { KEPT = 128, ROUNDS = 2, SYMBOLS = 140 };
    const rill_device_options options = {.struct_size = sizeof options, .name = device_name()};
    (void)state;
    rill_context *ctx = harness_context(NULL);
    rill_device *device;
    rill_network *network;
    rill_session *session;
    rill_graph_runs runs;
    float logits[SYMBOLS];
    for (int32_t i = 0; i < SYMBOLS; i++) logits[i] = (float)(i * 37 % SYMBOLS);
    if (rill_device_open(&device, ctx, &options) != RILL_OK) exit(77);
    assert_int_equal(rill_network_open(&network, ctx, device), RILL_OK);
    const rill_constant constant = rill_network_constant(network, logits, 1, SYMBOLS);
    const rill_graph graph = rill_graph_begin(network, "choices");
    const rill_column row = rill_column_input(network, graph, RILL_ROWS, "row");
    const rill_tensor value = rill_tensor_make(network, graph, RILL_ROWS, SYMBOLS);
    rill_op_copy(network, graph, RILL_ROWS,
                 &(rill_copy){.width = SYMBOLS, .x = rill_view_constant(constant, row), .out = rill_view_value(value)});
    rill_op_best(network, graph, RILL_ROWS, &(rill_best_choices){.logits = rill_view_value(value), .symbols = SYMBOLS});
    assert_int_equal(rill_network_finish(network), RILL_OK);
    assert_int_equal(rill_session_open(&session, ctx, network, 1), RILL_OK);
    for (int32_t round = 0; round < ROUNDS; round++)
        for (int32_t m = 1; m <= KEPT + 2; m++) {
            int32_t rows[] = {0}, count[1] = {0}, action[SYMBOLS];
            float logp[SYMBOLS];
            const int32_t *columns[] = {rows};
            /* each layout runs twice in succession: its graph is captured, and evicted before its next turn */
            for (int32_t twice = 0; twice < 2; twice++) {
                const rill_selection selection = {
                    .max_choices = m, .stride = m, .count = count, .action = action, .logp = logp};
                assert_int_equal(rill_session_run(session, graph,
                                                  &(rill_run_arguments){.struct_size = sizeof(rill_run_arguments),
                                                                        .n = 1,
                                                                        .columns = columns,
                                                                        .selection = &selection}),
                                 RILL_OK);
                assert_int_equal(count[0], m);
                for (int32_t i = 0; i < m; i++) assert_int_equal(action[i] * 37 % SYMBOLS, SYMBOLS - 1 - i);
            }
        }
    rill_runner_graph_runs(&session, &runs);
    assert_int_equal(runs.direct, ROUNDS * (KEPT + 2));
    assert_int_equal(runs.captured, ROUNDS * (KEPT + 2));
    assert_int_equal(runs.replayed, 0);
    assert_int_equal(runs.evicted, ROUNDS * (KEPT + 2) - KEPT);
    rill_session_close(session);
    rill_network_close(network);
    rill_device_close(device);
    rill_context_destroy(ctx);
}

/* Slots that are written while older readers may still run: a write must wait until all readers of the old contents are
 * done. */
typedef struct slots {
    rill_device *device;
    rill_network *network;
    rill_session *session;
    rill_graph fill, read;
    rill_table nodes;
} slots;

/* `fill` writes row which[r] of a constant to slot[r], with a tag as result if the run is to be waited for. `read`
 * copies slot[r] to node[r]. Both use an intermediate value. */
static slots open_slots(rill_context *ctx, int tagged)
{
    static const float rows[] = {10.0f, 11.0f, 12.0f, 13.0f};
    const rill_device_options options = {.struct_size = sizeof options, .name = device_name()};
    slots s;
    if (rill_device_open(&s.device, ctx, &options) != RILL_OK) exit(77);
    assert_int_equal(rill_network_open(&s.network, ctx, s.device), RILL_OK);
    const rill_constant constant = rill_network_constant(s.network, rows, 4, 1);
    const rill_table memory = rill_network_table(s.network, RILL_TABLE_SLOTS, 1, "memory");
    s.nodes = rill_network_table(s.network, RILL_TABLE_NODES, 1, "nodes");
    s.fill = rill_graph_begin(s.network, "fill");
    const rill_column slot_column = rill_column_input(s.network, s.fill, RILL_ROWS, "which"),
                      into = rill_column_input(s.network, s.fill, RILL_ROWS, "slot"),
                      tag = rill_column_input(s.network, s.fill, RILL_ROWS, "tag");
    const rill_tensor value = rill_tensor_make(s.network, s.fill, RILL_ROWS, 1);
    rill_op_copy(
        s.network, s.fill, RILL_ROWS,
        &(rill_copy){.width = 1, .x = rill_view_constant(constant, slot_column), .out = rill_view_value(value)});
    if (tagged)
        rill_op_best(s.network, s.fill, RILL_ROWS,
                     &(rill_best_choices){.logits = rill_view_value(value), .symbols = 1, .tag_column = tag});
    rill_op_copy(s.network, s.fill, RILL_ROWS,
                 &(rill_copy){.width = 1, .x = rill_view_value(value), .out = rill_view_table(memory, into)});
    s.read = rill_graph_begin(s.network, "read");
    const rill_column from = rill_column_input(s.network, s.read, RILL_ROWS, "slot"),
                      node = rill_column_input(s.network, s.read, RILL_ROWS, "node");
    const rill_tensor copied = rill_tensor_make(s.network, s.read, RILL_ROWS, 1);
    rill_op_copy(s.network, s.read, RILL_ROWS,
                 &(rill_copy){.width = 1, .x = rill_view_table(memory, from), .out = rill_view_value(copied)});
    rill_op_copy(s.network, s.read, RILL_ROWS,
                 &(rill_copy){.width = 1, .x = rill_view_value(copied), .out = rill_view_table(s.nodes, node)});
    assert_int_equal(rill_network_finish(s.network), RILL_OK);
    assert_int_equal(rill_session_open(&s.session, ctx, s.network, 1), RILL_OK);
    assert_int_equal(rill_session_reserve(s.session, 64, 2), RILL_OK);
    return s;
}

static void run_slots(const slots *s, rill_graph graph, int32_t a, int32_t b)
{
    int32_t tag = 0;
    const int32_t *const columns[] = {&a, &b, &tag};
    const rill_run_arguments arguments = {.struct_size = sizeof arguments, .n = 1, .columns = columns};
    assert_int_equal(rill_session_run(s->session, graph, &arguments), RILL_OK);
}

static void slots_are_filled_in_order(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    for (int tagged = 0; tagged < 2; tagged++) {
        slots s = open_slots(ctx, tagged);
        for (int32_t i = 0; i < 60; i++) {
            run_slots(&s, s.fill, i % 4, i % 2);
            run_slots(&s, s.read, (i + (i > 0 && i % 3 == 0)) % 2, i);
        }
        for (int32_t i = 0; i < 60; i++) {
            float x;
            assert_int_equal(rill_session_read(s.session, s.nodes, i, 0, 1, &x), RILL_OK);
            assert_float_equal(x, 10 + (i - (i > 0 && i % 3 == 0)) % 4, 0);
        }
        rill_session_close(s.session);
        rill_network_close(s.network);
        rill_device_close(s.device);
    }
    rill_context_destroy(ctx);
}

/* Cases that are rare in random graphs: sums written to an odd offset of a value, and units indexed by a column that
 * the run itself writes. out: [4, 16] of four inputs. */
static void run_odd(rill_context *ctx, const char *name, float *out)
{
    enum { N = 4, UNITS = 9 };
    static const float weights[32] = {1, -2, 3, 5, -1, 2, 1, 4, 2, 2, -3, 1, 0, 1,  1, -1,
                                      3, 1,  4, 1, -5, 9, 2, 6, 5, 3, 5,  8, 9, -7, 9, 3};
    static const int32_t length[N] = {2, 3, 2, 2}, row[N] = {3, 0, 2, 1},
                         unit_rows[UNITS] = {5, 1, 4, 0, 2, 3, 3, 6, 7};
    const rill_device_options options = {.struct_size = sizeof options, .name = name, .kernels = "ref"};
    rill_device *device;
    rill_network *network;
    rill_session *session;
    if (rill_device_open(&device, ctx, &options) != RILL_OK) exit(77);
    assert_int_equal(rill_network_open(&network, ctx, device), RILL_OK);
    const rill_constant inputs = rill_network_constant(network, weights, 8, 4);
    const rill_matrix two = rill_network_matrix(network, RILL_WEIGHT_F32, 2, 4, weights + 3, 4),
                      eight = rill_network_matrix(network, RILL_WEIGHT_F32, 8, 4, weights, 4);
    const rill_table table = rill_network_table(network, RILL_TABLE_NODES, 16, "nodes");
    const rill_graph p = rill_graph_begin(network, "odd");
    const rill_column lengths = rill_column_input(network, p, RILL_ROWS, "length"),
                      column_of_rows = rill_column_input(network, p, RILL_ROWS, "row"),
                      tag = rill_column_input(network, p, RILL_ROWS, "tag");
    const rill_index_space units = rill_index_space_ragged(network, p, lengths);
    const rill_column symbol = rill_column_input(network, p, units, "symbol");
    const rill_tensor unit = rill_tensor_make(network, p, units, 4),
                      logits = rill_tensor_make(network, p, RILL_ROWS, 2),
                      sums = rill_tensor_make(network, p, RILL_ROWS, 20);
    const rill_view x = rill_view_constant(inputs, column_of_rows), node = rill_view_table(table, column_of_rows);
    rill_op_copy(network, p, units,
                 &(rill_copy){.width = 4, .x = rill_view_constant(inputs, symbol), .out = rill_view_value(unit)});
    rill_op_product(network, p, RILL_ROWS, &(rill_product){.matrix = two, .a = x, .out = rill_view_value(logits)});
    rill_op_best(network, p, RILL_ROWS,
                 &(rill_best_choices){.logits = rill_view_value(logits), .symbols = 2, .tag_column = tag});
    rill_op_copy(network, p, RILL_ROWS, &(rill_copy){.width = 4, .x = rill_view_unit(unit, tag), .out = node});
    rill_op_product(network, p, RILL_ROWS,
                    &(rill_product){.matrix = eight, .a = x, .out = rill_view_offset(rill_view_value(sums), 10)});
    rill_op_copy(
        network, p, RILL_ROWS,
        &(rill_copy){.width = 8, .x = rill_view_offset(rill_view_value(sums), 10), .out = rill_view_offset(node, 5)});
    if (rill_network_finish(network) != RILL_OK) fail_msg("%s", rill_error(ctx));
    assert_int_equal(rill_session_open(&session, ctx, network, 1), RILL_OK);
    assert_int_equal(rill_session_reserve(session, N, 1), RILL_OK);
    int32_t tags[N] = {0};
    const int32_t *const columns[] = {length, row, tags, unit_rows};
    const rill_run_arguments arguments = {.struct_size = sizeof arguments, .n = N, .columns = columns};
    if (rill_session_run(session, p, &arguments) != RILL_OK) fail_msg("%s", rill_error(ctx));
    float rows[N * 16];
    assert_int_equal(rill_session_read(session, table, 0, 0, N, rows), RILL_OK);
    for (int32_t i = 0; i < N * 16; i++) out[i] = i % 16 == 4 || i % 16 >= 13 ? (float)tags[i / 16] : rows[i];
    rill_session_close(session);
    rill_network_close(network);
    rill_device_close(device);
}

static void odd_operands(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    float wanted[64], found[64];
    run_odd(ctx, "cpu", wanted);
    run_odd(ctx, device_name(), found);
    assert_true(wanted[4] + wanted[20] + wanted[36] + wanted[52] > 0); /* not all tags are 0 */
    for (int i = 0; i < 64; i++) assert_float_equal(wanted[i], found[i], 1e-4);
    rill_context_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(odd_operands),
    cmocka_unit_test(graphs_equal_the_interpreter),
    cmocka_unit_test(ragged_lengths_alternate),
    cmocka_unit_test(runs_are_replayed),
    cmocka_unit_test(old_graphs_are_evicted),
    cmocka_unit_test(slots_are_filled_in_order),
};

HARNESS_MAIN(tests)
