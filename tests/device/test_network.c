/* Errors in building networks: each mistake is reported once, in a message that names the graph, the operation and the
 * cause. */
#include <string.h>

#include "rill/device.h"
#include "support/harness.h"

/* A small valid network to which each mistake is added. */
typedef struct sound {
    rill_network *network;
    rill_graph graph;
    rill_constant rows, one, wide;
    rill_matrix square, gates, bytes;
    rill_table nodes, slots, ragged, host;
    rill_vocab_subset symbols, weighted;
    rill_column node, slot, length, unit;
    rill_index_space some, distinct, units;
    rill_tensor x, y, gate, unit_x, never, logits;
} sound;

static const float numbers[64 * 16];

static sound make_sound(rill_context *ctx, const rill_device *device)
{
    sound s = {0};
    assert_int_equal(rill_network_open(&s.network, ctx, device), RILL_OK);
    s.rows = rill_network_constant(s.network, numbers, 10, 4);
    s.one = rill_network_constant(s.network, numbers, 1, 4);
    s.wide = rill_network_constant(s.network, numbers, 1, 10);
    s.square = rill_network_matrix(s.network, RILL_WEIGHT_F32, 4, 4, numbers, 4);
    s.gates = rill_network_matrix(s.network, RILL_WEIGHT_F32, 16, 4, numbers, 4);
    s.bytes = rill_network_matrix(s.network, RILL_WEIGHT_INT8, 4, 4, numbers, 4);
    s.nodes = rill_network_table(s.network, RILL_TABLE_NODES, 8, "states");
    s.slots = rill_network_table(s.network, RILL_TABLE_SLOTS, 4, "slots");
    s.ragged = rill_network_table(s.network, RILL_TABLE_RAGGED, 4, "memory");
    s.host = rill_network_table(s.network, RILL_TABLE_HOST, 4, "positions");
    s.symbols = rill_network_vocab_subset(s.network, RILL_NONE, RILL_NONE, RILL_WEIGHT_F32, "bans");
    s.weighted = rill_network_vocab_subset(s.network, s.rows, s.wide, RILL_WEIGHT_F32, "shortlist");
    s.graph = rill_graph_begin(s.network, "step");
    s.node = rill_column_input(s.network, s.graph, RILL_ROWS, "node");
    s.slot = rill_column_input(s.network, s.graph, RILL_ROWS, "slot");
    s.length = rill_column_input(s.network, s.graph, RILL_ROWS, "length");
    s.some = rill_index_space_where(s.network, s.graph, RILL_ROWS, s.node);
    s.distinct = rill_index_space_distinct(s.network, s.graph, RILL_ROWS, s.node);
    s.units = rill_index_space_ragged(s.network, s.graph, s.length);
    s.unit = rill_column_input(s.network, s.graph, s.units, "unit");
    s.x = rill_tensor_make(s.network, s.graph, RILL_ROWS, 4);
    s.y = rill_tensor_make(s.network, s.graph, RILL_ROWS, 4);
    s.gate = rill_tensor_make(s.network, s.graph, RILL_ROWS, 16);
    s.unit_x = rill_tensor_make(s.network, s.graph, s.units, 4);
    s.never = rill_tensor_make(s.network, s.graph, RILL_ROWS, 4);
    s.logits = rill_tensor_make(s.network, s.graph, RILL_ROWS, 10);
    const rill_copy x = {.width = 4, .x = rill_view_constant(s.rows, s.node), .out = rill_view_value(s.x)};
    const rill_copy units = {.width = 4, .x = rill_view_constant(s.rows, s.unit), .out = rill_view_value(s.unit_x)};
    rill_op_copy(s.network, s.graph, RILL_ROWS, &x);
    rill_op_copy(s.network, s.graph, s.units, &units);
    rill_op_product(s.network, s.graph, RILL_ROWS,
                    &(rill_product){.matrix = s.gates, .a = rill_view_value(s.x), .out = rill_view_value(s.gate)});
    return s;
}

typedef void (*mistake_fn)(const sound *s);

#define MISTAKE(name) static void name(const sound *s)
#define PRODUCT(space, ...) rill_op_product(s->network, s->graph, space, &(rill_product){__VA_ARGS__})
#define COPY(space, ...) rill_op_copy(s->network, s->graph, space, &(rill_copy){.width = 4, __VA_ARGS__})

MISTAKE(no_matrix)
{
    PRODUCT(RILL_ROWS, .a = rill_view_value(s->x), .out = rill_view_value(s->y));
}
MISTAKE(narrow_input)
{
    PRODUCT(RILL_ROWS, .matrix = s->square, .a = rill_view_offset(rill_view_value(s->x), 1),
            .out = rill_view_value(s->y));
}
MISTAKE(narrow_output)
{
    PRODUCT(RILL_ROWS, .matrix = s->gates, .a = rill_view_value(s->x), .out = rill_view_value(s->y));
}
MISTAKE(unwritten)
{
    PRODUCT(RILL_ROWS, .matrix = s->square, .a = rill_view_value(s->never), .out = rill_view_value(s->y));
}
MISTAKE(overwritten)
{
    PRODUCT(RILL_ROWS, .matrix = s->square, .a = rill_view_value(s->x), .out = rill_view_value(s->x));
}
MISTAKE(wrong_bias)
{
    PRODUCT(RILL_ROWS, .matrix = s->square, .a = rill_view_value(s->x), .bias = s->wide, .out = rill_view_value(s->y));
}
MISTAKE(write_constant)
{
    COPY(RILL_ROWS, .x = rill_view_value(s->x), .out = rill_view_constant(s->rows, s->node));
}
MISTAKE(write_host)
{
    COPY(RILL_ROWS, .x = rill_view_value(s->x), .out = rill_view_table(s->host, s->node));
}
MISTAKE(ragged_without_slot)
{
    COPY(RILL_ROWS, .x = rill_view_table(s->ragged, s->node), .out = rill_view_value(s->y));
}
MISTAKE(slot_of_nodes)
{
    COPY(RILL_ROWS, .x = rill_view_ragged(s->nodes, s->slot, s->node), .out = rill_view_value(s->y));
}
MISTAKE(units_from_rows)
{
    COPY(RILL_ROWS, .x = rill_view_value(s->unit_x), .out = rill_view_value(s->y));
}
MISTAKE(rows_from_units)
{
    COPY(s->units, .x = rill_view_value(s->unit_x), .out = rill_view_value(s->y));
}
MISTAKE(rows_from_distinct)
{
    COPY(s->distinct, .x = rill_view_value(s->x),
         .out = rill_view_value(rill_tensor_make(s->network, s->graph, s->distinct, 4)));
}
MISTAKE(unit_column_of_rows)
{
    COPY(RILL_ROWS, .x = rill_view_constant(s->rows, s->unit), .out = rill_view_value(s->y));
}
MISTAKE(own_number_of_rows)
{
    COPY(RILL_ROWS, .x = rill_view_constant(s->rows, RILL_OWN), .out = rill_view_value(s->y));
}
MISTAKE(no_such_column)
{
    COPY(RILL_ROWS, .x = rill_view_constant(s->rows, 99), .out = rill_view_value(s->y));
}
MISTAKE(no_such_space)
{
    COPY(99, .x = rill_view_value(s->x), .out = rill_view_value(s->y));
}
MISTAKE(no_such_value)
{
    COPY(RILL_ROWS, .x = rill_view_value(99), .out = rill_view_value(s->y));
}
MISTAKE(some_rows_only)
{
    const rill_tensor v = rill_tensor_make(s->network, s->graph, s->some, 4);
    COPY(s->some, .x = rill_view_value(s->x), .out = rill_view_value(v));
    PRODUCT(RILL_ROWS, .matrix = s->square, .a = rill_view_value(v), .out = rill_view_value(s->y));
}
MISTAKE(space_of_distinct)
{
    (void)rill_index_space_where(s->network, s->graph, s->distinct, s->node);
}
MISTAKE(column_of_where)
{
    (void)rill_column_input(s->network, s->graph, s->some, "column");
}
MISTAKE(gates_elsewhere)
{
    rill_op_lstm(s->network, s->graph, RILL_ROWS,
                 &(rill_lstm_cell){.hidden = 4,
                                   .gates = rill_view_constant(s->rows, s->node),
                                   .c_out = rill_view_table(s->nodes, s->node),
                                   .h_out = rill_view_offset(rill_view_table(s->nodes, s->node), 4)});
}
MISTAKE(states_in_separate_tables)
{
    rill_op_lstm(s->network, s->graph, RILL_ROWS,
                 &(rill_lstm_cell){.hidden = 4,
                                   .gates = rill_view_value(s->gate),
                                   .c_out = rill_view_table(s->nodes, s->node),
                                   .h_out = rill_view_table(s->slots, s->slot)});
}
MISTAKE(states_overlap)
{
    rill_op_lstm(s->network, s->graph, RILL_ROWS,
                 &(rill_lstm_cell){.hidden = 4,
                                   .gates = rill_view_value(s->gate),
                                   .c_out = rill_view_table(s->nodes, s->node),
                                   .h_out = rill_view_offset(rill_view_table(s->nodes, s->node), 3)});
}
MISTAKE(scan_of_rows)
{
    rill_op_scan(s->network, s->graph, &(rill_scan){.space = RILL_ROWS, .hidden = 4, .recurrent = s->gates});
}
MISTAKE(scan_matrix)
{
    rill_op_scan(s->network, s->graph, &(rill_scan){.space = s->units, .hidden = 4, .recurrent = s->square});
}
MISTAKE(two_memories)
{
    rill_op_attend(s->network, s->graph, RILL_ROWS,
                   &(rill_attend){.heads = 1,
                                  .width = 4,
                                  .own_units = 1,
                                  .slot = s->slot,
                                  .query = rill_view_value(s->x),
                                  .keys = rill_view_ragged(s->ragged, s->slot, s->node),
                                  .values = rill_view_ragged(s->ragged, s->slot, s->node),
                                  .out = rill_view_value(s->y)});
}
MISTAKE(memory_of_nodes)
{
    rill_op_attend(s->network, s->graph, RILL_ROWS,
                   &(rill_attend){.heads = 1,
                                  .width = 4,
                                  .slot = s->slot,
                                  .query = rill_view_value(s->x),
                                  .keys = rill_view_table(s->nodes, s->node),
                                  .values = rill_view_table(s->nodes, s->node),
                                  .out = rill_view_value(s->y)});
}
/* Add attention to the slot's memory, with relative position biases: `relative` x of heads. */
static void attend_to_slot(const sound *s, rill_constant relative)
{
    rill_op_attend(s->network, s->graph, RILL_ROWS,
                   &(rill_attend){.heads = 1,
                                  .width = 4,
                                  .slot = s->slot,
                                  .relative = relative,
                                  .query = rill_view_value(s->x),
                                  .keys = rill_view_ragged(s->ragged, s->slot, RILL_OWN),
                                  .values = rill_view_ragged(s->ragged, s->slot, RILL_OWN),
                                  .out = rill_view_value(s->y)});
}
MISTAKE(relative_to_a_slot)
{
    static const float distances[3];
    attend_to_slot(s, rill_network_constant(s->network, distances, 1, 3));
}
MISTAKE(relative_without_a_middle)
{
    static const float distances[4];
    attend_to_slot(s, rill_network_constant(s->network, distances, 1, 4));
}
MISTAKE(embedding_in_bytes)
{
    rill_op_embed(
        s->network, s->graph, RILL_ROWS,
        &(rill_embedding){.matrix = s->bytes, .symbol = s->node, .scale = 1.0f, .out = rill_view_value(s->y)});
}
MISTAKE(too_many_terms)
{
    rill_op_sum(s->network, s->graph, RILL_ROWS,
                &(rill_sum){.terms = RILL_SUM_TERMS + 1, .out = rill_view_value(s->y)});
}
MISTAKE(missing_term)
{
    rill_op_sum(s->network, s->graph, RILL_ROWS, &(rill_sum){.terms = 1, .out = rill_view_value(s->y)});
}
MISTAKE(subset_without_weights)
{
    PRODUCT(RILL_ROWS, .vocab_subset = s->symbols, .vocab_subset_slot = s->slot, .a = rill_view_value(s->x),
            .out = rill_view_value(s->logits));
}
MISTAKE(subset_read_as_a_row)
{
    PRODUCT(RILL_ROWS, .vocab_subset = s->weighted, .vocab_subset_slot = s->slot, .a = rill_view_value(s->x),
            .out = rill_view_value(s->logits));
    COPY(RILL_ROWS, .x = rill_view_value(s->logits), .out = rill_view_value(s->y));
}
MISTAKE(best_of_no_subset)
{
    COPY(RILL_ROWS, .x = rill_view_value(s->x), .out = rill_view_value(s->logits));
    rill_op_best(s->network, s->graph, RILL_ROWS,
                 &(rill_best_choices){.symbols = 10,
                                      .logits = rill_view_value(s->logits),
                                      .vocab_subset = s->weighted,
                                      .vocab_subset_slot = s->slot});
}
MISTAKE(wide_mask)
{
    COPY(RILL_ROWS, .x = rill_view_value(s->x), .out = rill_view_value(s->y));
    rill_op_mask(s->network, s->graph, RILL_ROWS,
                 &(rill_mask){.vocab_subset = s->symbols, .slot = s->slot, .x = rill_view_value(s->y), .width = 5});
}
MISTAKE(no_models)
{
    rill_op_mix(s->network, s->graph, RILL_ROWS, &(rill_mix){.symbols = 4});
}
MISTAKE(expects_nodes)
{
    rill_graph_prefetch(s->network, s->graph, s->nodes, s->slot);
}
MISTAKE(empty_constant)
{
    (void)rill_network_constant(s->network, numbers, 0, 4);
}
MISTAKE(narrow_stride)
{
    (void)rill_network_matrix(s->network, RILL_WEIGHT_F32, 4, 4, numbers, 3);
}
MISTAKE(endless_matrix)
{
    (void)rill_network_matrix(s->network, RILL_WEIGHT_INT8, 1, (size_t)1 << 20, numbers, (size_t)1 << 20);
}
MISTAKE(subset_bias)
{
    (void)rill_network_vocab_subset(s->network, s->rows, s->one, RILL_WEIGHT_F32, "shortlist");
}
MISTAKE(subset_in_f16)
{
    (void)rill_network_vocab_subset(s->network, s->rows, 0, RILL_WEIGHT_F16, "shortlist");
}

static const struct {
    const char *message;
    mistake_fn make;
    rill_status status;
} mistakes[] = {
    {"graph step, operation 4 (product): matrix 0", no_matrix, RILL_ERR_ARGUMENT},
    {"operation 4 (product): a has 3 columns from column 1 on, expected 4", narrow_input, RILL_ERR_ARGUMENT},
    {"(product): out has 4 columns from column 0 on, expected 16", narrow_output, RILL_ERR_ARGUMENT},
    {"(product): a is read before it is written", unwritten, RILL_ERR_ARGUMENT},
    {"(product): a is written while it is still read", overwritten, RILL_ERR_ARGUMENT},
    {"(product): bias is 1 x 10, expected 1 x 4", wrong_bias, RILL_ERR_ARGUMENT},
    {"(copy): out: constants cannot be written", write_constant, RILL_ERR_ARGUMENT},
    {"(copy): out: only the host may write this table", write_host, RILL_ERR_ARGUMENT},
    {"(copy): x: only rows of ragged tables have a slot", ragged_without_slot, RILL_ERR_ARGUMENT},
    {"(copy): x: only rows of ragged tables have a slot", slot_of_nodes, RILL_ERR_ARGUMENT},
    {"(copy): x: a row has several units, so the value is ambiguous", units_from_rows, RILL_ERR_ARGUMENT},
    {"(copy): out: several units would write the row of one input", rows_from_units, RILL_ERR_ARGUMENT},
    {"(copy): x: a row of distinct values belongs to several rows, so its input is ambiguous", rows_from_distinct,
     RILL_ERR_ARGUMENT},
    {"(copy): x: column unit has no entries for these rows", unit_column_of_rows, RILL_ERR_ARGUMENT},
    {"(copy): x: rows of this index space have no number", own_number_of_rows, RILL_ERR_ARGUMENT},
    {"(copy): x: column 99", no_such_column, RILL_ERR_ARGUMENT},
    {"(copy): index space 99", no_such_space, RILL_ERR_ARGUMENT},
    {"(copy): x: tensor 99 does not exist", no_such_value, RILL_ERR_ARGUMENT},
    {"(product): a: some rows have no matching row in this index space", some_rows_only, RILL_ERR_ARGUMENT},
    {"no index space can be derived from one of distinct values", space_of_distinct, RILL_ERR_ARGUMENT},
    {"columns must belong to the run's rows or to units", column_of_where, RILL_ERR_ARGUMENT},
    {"(lstm): gates does not belong to the operation's index space", gates_elsewhere, RILL_ERR_ARGUMENT},
    {"(lstm): c_out and h_out have different rows", states_in_separate_tables, RILL_ERR_ARGUMENT},
    {"(lstm): c_out is written while it is still read", states_overlap, RILL_ERR_ARGUMENT},
    {"(scan): its index space is not ragged", scan_of_rows, RILL_ERR_ARGUMENT},
    {"(scan): the recurrent matrix is 4 x 4, expected 16 x 4", scan_matrix, RILL_ERR_ARGUMENT},
    {"(attend): set exactly one of path, slot and own", two_memories, RILL_ERR_ARGUMENT},
    {"(attend): keys: attention needs rows of a ragged table", memory_of_nodes, RILL_ERR_ARGUMENT},
    {"(attend): relative: the row has no position among the units of a slot", relative_to_a_slot, RILL_ERR_ARGUMENT},
    {"(attend): relative is 1 x 4, expected 1 x an odd number", relative_without_a_middle, RILL_ERR_ARGUMENT},
    {"(embed): the matrix is not in f32", embedding_in_bytes, RILL_ERR_ARGUMENT},
    {"(sum): 13 terms, expected 1 to 12", too_many_terms, RILL_ERR_ARGUMENT},
    {"(sum): a term is missing", missing_term, RILL_ERR_ARGUMENT},
    {"(mask): x has 4 columns from column 0 on, expected 5", wide_mask, RILL_ERR_ARGUMENT},
    {"(product): a product with a vocabulary subset takes its weights", subset_without_weights, RILL_ERR_ARGUMENT},
    {"(copy): x has the symbols of a vocabulary subset", subset_read_as_a_row, RILL_ERR_ARGUMENT},
    {"(best): logits does not have the symbols of the vocabulary subset", best_of_no_subset, RILL_ERR_ARGUMENT},
    {"(mix): 0 models, expected 1 to 32", no_models, RILL_ERR_ARGUMENT},
    {"table states is not ragged", expects_nodes, RILL_ERR_ARGUMENT},
    {"a constant of 0 x 4 floats: invalid size", empty_constant, RILL_ERR_ARGUMENT},
    {"a matrix of 4 x 4 with a row stride of 3: invalid", narrow_stride, RILL_ERR_ARGUMENT},
    {"too large", endless_matrix, RILL_ERR_FORMAT},
    {"vocabulary subset shortlist: its bias must be one row", subset_bias, RILL_ERR_ARGUMENT},
    {"cpu does not multiply in f16", subset_in_f16, RILL_ERR_OPTION},
};

static void each_mistake_is_reported(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    rill_device *device;
    assert_int_equal(rill_device_open(&device, ctx, NULL), RILL_OK);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        sound s = make_sound(ctx, device);
        mistakes[i].make(&s);
        mistakes[0].make(&s); /* after the first mistake, another one changes nothing */
        assert_int_equal(rill_network_finish(s.network), mistakes[i].status);
        if (strstr(rill_error(ctx), mistakes[i].message) == NULL)
            fail_msg("mistake %zu says \"%s\", expected \"%s\"", i, rill_error(ctx), mistakes[i].message);
        assert_true(rill_network_constant(s.network, numbers, 1, 1) < 0);
        rill_session *session;
        assert_int_equal(rill_session_open(&session, ctx, s.network, 1), RILL_ERR_ARGUMENT);
        assert_null(session);
        rill_network_close(s.network);
    }
    rill_device_close(device);
    rill_context_destroy(ctx);
}

static void finished_networks_are_immutable(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    rill_device *device;
    assert_int_equal(rill_device_open(&device, ctx, NULL), RILL_OK);
    sound s = make_sound(ctx, device);
    assert_int_equal(rill_network_finish(s.network), RILL_OK);
    const rill_network_bytes bytes = rill_network_sizes(s.network);
    assert_int_equal(bytes.node, 8 * sizeof(float));
    assert_int_equal(bytes.unit, 4 * sizeof(float));
    assert_true(bytes.slot >= (int64_t)(4 * sizeof(float)));
    assert_true(rill_network_table(s.network, RILL_TABLE_NODES, 4, "late") < 0);
    rill_network_close(s.network);
    rill_device_close(device);
    rill_context_destroy(ctx);
}

static void devices_are_chosen_by_name(void **state)
{
    (void)state;
    static const struct {
        rill_device_options options;
        const char *message;
    } wrong[] = {
        {{.name = "gpu"}, "expected cpu, cuda, cuda:NUMBER or auto, found \"gpu\""},
        {{.name = "cuda:99"}, "device: "}, /* an error in a build without CUDA, without a GPU, or with fewer GPUs */
        {{.kernels = "sse"},
         "kernels: expected one of ref, avx2, avx512, avx512vnni, avx512bf16, amx, neon, neon-dotprod, neon-i8mm; found \"sse\""},
    };
    rill_context *ctx = harness_context(NULL);
    rill_device *device;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rill_device_options options = wrong[i].options;
        options.struct_size = sizeof options;
        assert_int_equal(rill_device_open(&device, ctx, &options), RILL_ERR_OPTION);
        assert_non_null(strstr(rill_error(ctx), wrong[i].message));
        assert_null(device);
    }
    const rill_device_options options = {.struct_size = sizeof options, .name = "cpu", .kernels = "ref"};
    assert_int_equal(rill_device_open(&device, ctx, &options), RILL_OK);
    assert_string_equal(rill_device_name(device), "cpu");
    rill_device_close(device);
    rill_device_close(NULL);
    rill_network_close(NULL);
    rill_session_close(NULL);
    rill_context_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_mistake_is_reported),
    cmocka_unit_test(finished_networks_are_immutable),
    cmocka_unit_test(devices_are_chosen_by_name),
};

HARNESS_MAIN(tests)
