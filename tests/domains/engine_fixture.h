/* A context that knows the core and `domains` for each case, and proof behind it that nothing is left. Included by a test's one file,
 * after helpers.h and behind that array. */
#ifndef TEST_DOMAINS_ENGINE_FIXTURE_H
#define TEST_DOMAINS_ENGINE_FIXTURE_H

#include "rill/plugin.h"

static failing_allocator memory;
static rill_context *ctx;

static int set_up(void **state)
{
    (void)state;
    ctx = failing_allocator_context(&memory);
    assert_ok(ctx, rill_register_core(ctx));
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) assert_ok(ctx, rill_register_domain(ctx, domains[i]));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rill_context_destroy(ctx);
    assert_int_equal(memory.out, 0);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
