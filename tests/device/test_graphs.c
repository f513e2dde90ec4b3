/* The executor against the reference interpreter: random graphs over random tables. Results are equal to the bit for
 * any division into spans, blocks and threads, any order of the rows, and any split of a run. */
#include "run_problem.h"
#include "support/harness.h"

/* --- the property ------------------------------------------------------------------------------------------------- */

/* Instruction sets to test. A set that the processor lacks falls back to the next lower one. */
#if defined(__aarch64__)
static const char *const sets[] = {"ref", "neon", "neon-dotprod", NULL};
#else
static const char *const sets[] = {"ref", "avx2", "avx512", NULL};
#endif

static void check_problem(rill_context *ctx, uint64_t seed)
{
    problem *p = make_problem(seed, RILL_WEIGHT_INT8);
    const rill_device_options options = {.struct_size = sizeof options, .kernels = sets[seed % 4]};
    rill_device *device;
    rill_network *network;
    rill_graph graph;
    assert_int_equal(rill_device_open(&device, ctx, &options), RILL_OK);
    assert_int_equal(rill_network_open(&network, ctx, device), RILL_OK);
    if (build_network(&p->t, network, &graph) != RILL_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, rill_error(ctx));
    outcome truth = interpret_problem(p, &device->kernels);
    const variant variants[] = {
        {.threads = 1},
        {.threads = 1, .block = (size_t)dice_range(&p->d, 1, 9), .split = dice_range(&p->d, 0, 9)},
        {.threads = 1,
         .permuted = 1,
         .block = (size_t)dice_range(&p->d, 1, 20),
         .shares = (size_t)dice_range(&p->d, 1, 90)},
        {.threads = 2, .span = 1 + (size_t)dice_range(&p->d, 0, 3), .block = (size_t)dice_range(&p->d, 0, 5)},
        {.threads = DICE_PICK(&p->d, 2, 4),
         .permuted = dice_chance(&p->d, 50),
         .span = (size_t)dice_range(&p->d, 0, 3)},
    };
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        outcome o = run_problem(ctx, p, network, graph, &variants[i]);
        const char *what = compare_outcomes(p, &truth, &o, (tolerance){0});
        if (what != NULL)
            fail_msg("seed %llu: %s differ with %d threads, blocks of %zu, spans of %zu, permuted %d, split %d",
                     (unsigned long long)seed, what, variants[i].threads, variants[i].block, variants[i].span,
                     variants[i].permuted, (int)variants[i].split);
        free_outcome(&o);
    }
    free_outcome(&truth);
    rill_network_close(network);
    rill_device_close(device);
    free_problem(p);
}

static void executor_equals_interpreter(void **state)
{
    (void)state;
    harness_problems(GRAPHS, check_problem);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(executor_equals_interpreter),
};

HARNESS_MAIN(tests)
