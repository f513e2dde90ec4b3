/* Sessions: slots that are taken and released, failed allocations, networks shared by several threads, profiles. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "random_network.h"
#include "support/harness.h"

/* --- ranges ------------------------------------------------------------------------------------------------------- */

enum { OWNERS = 40, ROWS = 2000 };

/* The free ranges must be exactly the rows that no owner has: sorted, not adjacent, and none at the end. */
static void check_ranges(const dev_ranges *r, const dev_range *owner)
{
    static char used[ROWS];
    memset(used, 0, sizeof used);
    int32_t end = 0, out = 0, free_rows = 0;
    for (int i = 0; i < OWNERS; i++) {
        for (int32_t k = 0; k < owner[i].count; k++) {
            assert_false(used[owner[i].first + k]);
            used[owner[i].first + k] = 1;
        }
        if (owner[i].count > 0 && owner[i].first + owner[i].count > end) end = owner[i].first + owner[i].count;
        out += owner[i].count;
    }
    for (size_t i = 0; i < r->count; i++) {
        assert_true(r->free[i].count > 0);
        assert_true(i == 0 || r->free[i - 1].first + r->free[i - 1].count < r->free[i].first);
        for (int32_t k = 0; k < r->free[i].count; k++) assert_false(used[r->free[i].first + k]);
        free_rows += r->free[i].count;
    }
    assert_int_equal(r->end, end);
    assert_int_equal(out + free_rows, r->end);
}

static void freed_ranges_are_reused(void **state)
{
    (void)state;
    for (int64_t seed = 0; seed < harness_iterations(200); seed++) {
        dice d = dice_seeded(harness_seed(1) + (uint64_t)seed);
        dev_range memory[OWNERS + 1], owner[OWNERS] = {0};
        dev_ranges r = {.free = memory};
        for (int step = 0; step < 200; step++) {
            dev_range *o = &owner[dice_range(&d, 0, OWNERS - 1)];
            if (o->count > 0) {
                dev_ranges_give(&r, o->first, o->count);
                *o = (dev_range){0, 0};
            } else {
                o->count = dice_range(&d, 1, 20);
                o->first = dev_ranges_take(&r, o->count);
            }
            check_ranges(&r, owner);
        }
    }
    dev_ranges full = {.end = INT32_MAX - 3};
    assert_int_equal(dev_ranges_take(&full, 4), -1);
    assert_int_equal(dev_ranges_take(&full, 3), INT32_MAX - 3);
}

/* --- a small network ---------------------------------------------------------------------------------------------- */

typedef struct small {
    rill_device *device;
    rill_network *network;
    rill_graph graph;
    rill_table memory, host;
    rill_vocab_subset vocab_subset;
} small;

static const float numbers[64];

/* A network that encodes inputs: the units of an input, doubled, are written to the rows of its slot. */
static small open_small(rill_context *ctx)
{
    small s = {0};
    assert_int_equal(rill_device_open(&s.device, ctx, NULL), RILL_OK);
    assert_int_equal(rill_network_open(&s.network, ctx, s.device), RILL_OK);
    const rill_constant rows = rill_network_constant(s.network, numbers, 8, 8);
    const rill_matrix matrix = rill_network_matrix(s.network, RILL_WEIGHT_F32, 8, 8, numbers, 8);
    s.memory = rill_network_table(s.network, RILL_TABLE_RAGGED, 8, "memory");
    s.host = rill_network_table(s.network, RILL_TABLE_HOST, 8, "positions");
    s.vocab_subset = rill_network_vocab_subset(s.network, rows, RILL_NONE, RILL_WEIGHT_F32, "shortlist");
    s.graph = rill_graph_begin(s.network, "encode");
    const rill_column slot = rill_column_input(s.network, s.graph, RILL_ROWS, "slot");
    const rill_column length = rill_column_input(s.network, s.graph, RILL_ROWS, "length");
    const rill_index_space units = rill_index_space_ragged(s.network, s.graph, length);
    const rill_column symbol = rill_column_input(s.network, s.graph, units, "symbol");
    rill_op_product(s.network, s.graph, units,
                    &(rill_product){.matrix = matrix,
                                    .a = rill_view_constant(rows, symbol),
                                    .out = rill_view_ragged(s.memory, slot, RILL_OWN)});
    assert_int_equal(rill_network_finish(s.network), RILL_OK);
    return s;
}

static void close_small(small *s)
{
    rill_network_close(s->network);
    rill_device_close(s->device);
}

static rill_status run_small(rill_session *session, const small *s, int32_t n, const int32_t *slot,
                             const int32_t *length, const int32_t *symbol)
{
    const int32_t *columns[] = {slot, length, symbol};
    const rill_run_arguments arguments = {.struct_size = sizeof arguments, .n = n, .columns = columns};
    return rill_session_run(session, s->graph, &arguments);
}

/* --- slots -------------------------------------------------------------------------------------------------------- */

static void dropped_slots_are_reused(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    small s = open_small(ctx);
    rill_session *session;
    dice d = dice_seeded(harness_seed(5));
    enum { SLOTS = 50, LONGEST = 30 };
    assert_int_equal(rill_session_open(&session, ctx, s.network, 1), RILL_OK);
    assert_int_equal(rill_session_reserve(session, 0, SLOTS), RILL_OK);
    /* Set ten slots at a time, in turn: the tables stay small, however many slots are used. */
    for (int round = 0; round < 300; round++) {
        int32_t slot[10], units[10];
        for (int32_t i = 0; i < 10; i++) {
            slot[i] = (round * 7 + i) % SLOTS;
            units[i] = dice_range(&d, 0, LONGEST);
        }
        assert_int_equal(rill_session_set_slots(session, 10, slot, units), RILL_OK);
        for (int32_t i = 0; i < 10; i++) {
            assert_int_equal(rill_session_units(session, slot[i]), units[i]);
            rill_session_drop(session, slot[i]);
            assert_int_equal(rill_session_units(session, slot[i]), 0);
        }
        assert_int_equal(session->ranges.end, 0);
    }
    assert_true(session->table[s.memory - 1].capacity <= 2 * 10 * LONGEST);
    /* A slot keeps its rows if the next input is not longer. */
    const int32_t slot = 3, longer = 9, shorter = 4;
    assert_int_equal(rill_session_set_slots(session, 1, &slot, &longer), RILL_OK);
    const int32_t first = session->first[slot];
    assert_int_equal(rill_session_set_slots(session, 1, &slot, &shorter), RILL_OK);
    assert_int_equal(session->first[slot], first);
    assert_int_equal(rill_session_units(session, slot), shorter);
    rill_session_close(session);
    close_small(&s);
    rill_context_destroy(ctx);
}

/* --- caller errors ------------------------------------------------------------------------------------------------ */

static void caller_errors_are_reported(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    small s = open_small(ctx);
    rill_session *session;
    const int32_t slot[] = {0, 1}, length[] = {1, -1}, many[] = {INT32_MAX, INT32_MAX}, symbol[] = {0, 0},
                  unsorted[] = {3, 3}, outside[] = {8};
    assert_int_equal(rill_session_open(&session, ctx, s.network, 1), RILL_OK);
    assert_int_equal(rill_session_reserve(session, 0, 2), RILL_OK);
    assert_int_equal(run_small(session, &s, 2, slot, length, symbol), RILL_ERR_ARGUMENT);
    assert_int_equal(run_small(session, &s, 2, slot, many, symbol), RILL_ERR_ARGUMENT);
    assert_int_equal(run_small(session, &s, 0, slot, many, symbol), RILL_OK);
    assert_int_equal(rill_session_set_slots(session, 2, slot, many), RILL_ERR_MEMORY);
    assert_int_equal(rill_session_units(session, 0), 0);
    assert_int_equal(session->ranges.end, 0);
    assert_int_equal(rill_session_fill(session, s.host, 1, 1, numbers), RILL_ERR_ARGUMENT);
    assert_int_equal(rill_session_fill(session, s.memory, 0, 1, numbers), RILL_ERR_ARGUMENT);
    assert_int_equal(rill_session_fill(session, s.host, 0, 2, numbers), RILL_OK);
    assert_int_equal(rill_session_fill(session, s.host, 2, 2, numbers), RILL_OK);
    assert_int_equal(rill_session_set_vocab_subset(session, s.vocab_subset, 0, 2, unsorted), RILL_ERR_ARGUMENT);
    assert_int_equal(rill_session_set_vocab_subset(session, s.vocab_subset, 0, 1, outside), RILL_ERR_ARGUMENT);
    assert_int_equal(rill_session_set_vocab_subset(session, s.vocab_subset, 2, 1, symbol), RILL_ERR_ARGUMENT);
    assert_int_equal(rill_session_set_vocab_subset(session, s.vocab_subset, 1, 1, symbol), RILL_OK);
    assert_int_equal(rill_session_vocab_subset_size(session, s.vocab_subset, 1), 1);
    rill_session_drop(session, 1);
    assert_int_equal(rill_session_vocab_subset_size(session, s.vocab_subset, 1), 0);
    rill_session_close(session);
    close_small(&s);
    rill_context_destroy(ctx);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Call everything that a runner calls, once. Returns the error, or RILL_OK. */
static rill_status use_problem(rill_context *ctx, problem *p, int runs, const harness_memory *memory, int64_t *grown)
{
    rill_device *device = NULL;
    rill_network *network = NULL;
    rill_session *s = NULL;
    rill_graph graph = 0;
    int32_t slots[SPEC_MAX_SLOTS], *columns[SPEC_MAX_PARTS];
    int32_t *count = calloc((size_t)p->n + 1, 4), *action = calloc((size_t)p->n * (size_t)p->selection.stride + 1, 4);
    float *logp = calloc((size_t)p->n * (size_t)p->selection.stride + 1, 4),
          *pick = calloc((size_t)p->selection.n_picks + 1, 4);
    rill_selection selection = p->selection;
    selection.count = count, selection.action = action, selection.logp = logp, selection.pick_logp = pick;
    for (int32_t i = 0; i < p->w.slots; i++) slots[i] = i;
    for (rill_column c = 1; c <= p->t.columns; c++) columns[c - 1] = p->t.column[c].entry;
    rill_status status = rill_device_open(&device, ctx, NULL);
    if (status == RILL_OK) status = rill_network_open(&network, ctx, device);
    if (status == RILL_OK) status = build_network(&p->t, network, &graph);
    if (status == RILL_OK) status = rill_session_open(&s, ctx, network, 2);
    if (status == RILL_OK) status = rill_session_reserve(s, p->w.nodes, p->w.slots);
    if (status == RILL_OK) status = rill_session_set_slots(s, p->w.slots, slots, p->w.units);
    if (status == RILL_OK) status = rill_session_fill(s, p->host, 0, p->w.host_rows, p->w.rows[p->host]);
    for (rill_vocab_subset l = 1; l <= p->t.vocab_subsets; l++)
        for (int32_t i = 0; i < p->w.slots && status == RILL_OK; i++)
            status = rill_session_set_vocab_subset(s, l, i, p->w.symbols[l][i], p->w.symbol[l][i]);
    for (int32_t i = 1; i <= p->t.tables && status == RILL_OK; i++) {
        void *rows = ((cpu_session *)s->data)->table[i - 1];
        if (rows != NULL) memset(rows, 0, s->table[i - 1].capacity * network->table[i - 1].ld * sizeof(float));
    }
    if (status == RILL_OK && s->table[p->t.tables].capacity > 0)
        memcpy(((cpu_session *)s->data)->table[p->t.tables], p->w.parent, (size_t)p->w.nodes * sizeof(int32_t));
    const rill_run_arguments arguments = {.struct_size = sizeof arguments,
                                          .n = p->n,
                                          .columns = (const int32_t *const *)columns,
                                          .selection = &selection};
    for (int i = 0; i < runs && status == RILL_OK; i++) {
        const int64_t old_requests = memory->requests;
        status = rill_session_run(s, graph, &arguments);
        *grown = memory->requests - old_requests;
    }
    rill_session_close(s);
    rill_network_close(network);
    rill_device_close(device);
    free(count), free(action), free(logp), free(pick);
    return status;
}

/* Whichever allocation fails, the failure is reported and nothing leaks. A run overwrites the tags, so each attempt
 * draws the problem anew. */
static void each_allocation_may_fail(void **state)
{
    (void)state;
    for (uint64_t seed = harness_seed(1); seed < harness_seed(1) + (uint64_t)harness_iterations(12); seed++) {
        rill_status status = RILL_ERR_MEMORY;
        int64_t grown = 1;
        for (int64_t n = 1; status != RILL_OK; n++) {
            problem *p = make_problem(seed, RILL_WEIGHT_INT8);
            harness_memory memory = {.failing_request = n};
            const rill_context_options options = harness_memory_options(&memory);
            rill_context *ctx;
            status = rill_context_create(&ctx, &options);
            if (status == RILL_OK) {
                status = use_problem(ctx, p, 2, &memory, &grown);
                assert_int_equal(rill_memory_used(ctx), 0);
                rill_context_destroy(ctx);
            }
            assert_true(status == RILL_OK || status == RILL_ERR_MEMORY);
            assert_int_equal(memory.wrong_sizes, 0);
            assert_int_equal(memory.blocks, 0);
            free_problem(p);
        }
        assert_int_equal(grown, 0); /* the second run allocates nothing */
    }
}

/* --- several threads ---------------------------------------------------------------------------------------------- */

typedef struct runner {
    const small *s;
    int64_t sum;
} runner;

static void *run_alone(void *user)
{
    runner *r = user;
    rill_context *ctx;
    rill_session *session;
    const int32_t slot[] = {0, 1, 2}, length[] = {2, 0, 3}, symbol[] = {1, 2, 3, 4, 5};
    if (rill_context_create(&ctx, NULL) != RILL_OK) return NULL;
    if (rill_session_open(&session, ctx, r->s->network, 2) == RILL_OK) {
        int good = rill_session_reserve(session, 0, 3) == RILL_OK &&
                   rill_session_set_slots(session, 3, slot, length) == RILL_OK;
        for (int i = 0; i < 50 && good; i++) r->sum += run_small(session, r->s, 3, slot, length, symbol) == RILL_OK;
        rill_session_close(session);
    }
    rill_context_destroy(ctx);
    return NULL;
}

static void threads_share_a_network(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    small s = open_small(ctx);
    runner runners[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        runners[i] = (runner){.s = &s};
        assert_int_equal(pthread_create(&threads[i], NULL, run_alone, &runners[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(runners[i].sum, 50);
    }
    close_small(&s);
    rill_context_destroy(ctx);
}

/* --- profiles ----------------------------------------------------------------------------------------------------- */

static void profiles_count_what_is_done(void **state)
{
    (void)state;
    rill_context *ctx = harness_context(NULL);
    small s = open_small(ctx);
    rill_session *session;
    rill_op_profile profile;
    const int32_t slot[] = {0, 1, 2}, length[] = {2, 0, 3}, symbol[] = {1, 2, 3, 4, 5};
    assert_int_equal(rill_session_open(&session, ctx, s.network, 2), RILL_OK);
    assert_int_equal(rill_session_reserve(session, 0, 3), RILL_OK);
    assert_int_equal(rill_session_set_slots(session, 3, slot, length), RILL_OK);
    assert_int_equal(rill_runner_profile_row(&session, 0, &profile), 0);
    assert_int_equal(rill_runner_profile(&session, 1), RILL_OK);
    for (int i = 0; i < 4; i++) assert_int_equal(run_small(session, &s, 3, slot, length, symbol), RILL_OK);
    assert_int_equal(rill_runner_profile_row(&session, 0, &profile), 1);
    assert_string_equal(profile.program, "encode");
    assert_string_equal(profile.operation, "product 8 x 8");
    assert_int_equal(profile.rows, 4 * 5);
    assert_true(profile.calls >= 4 && profile.seconds > 0.0);
    assert_true(profile.flops == 4.0 * 5.0 * 2.0 * 8.0 * 8.0);
    assert_true(profile.bytes > 4.0 * 5.0 * 2.0 * 8.0 * 4.0);
    assert_int_equal(profile.arithmetic, RILL_ARITHMETIC_F32);
    assert_int_equal(rill_runner_profile_row(&session, 1, &profile), 0);
    assert_int_equal(rill_runner_profile(&session, 1), RILL_OK);
    assert_int_equal(rill_runner_profile_row(&session, 0, &profile), 1);
    assert_int_equal(profile.calls, 0);
    assert_int_equal(rill_runner_profile(&session, 0), RILL_OK);
    rill_session_close(session);
    close_small(&s);
    rill_context_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(freed_ranges_are_reused),    cmocka_unit_test(dropped_slots_are_reused),
    cmocka_unit_test(caller_errors_are_reported), cmocka_unit_test(each_allocation_may_fail),
    cmocka_unit_test(threads_share_a_network),    cmocka_unit_test(profiles_count_what_is_done),
};

HARNESS_MAIN(tests)
