/* Creates a context with the core and the test's `domains` for each test case; checks afterwards that no memory is
 * left. To be included by a test's only source file, after helpers.h and the definition of `domains`. */
#pragma once

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
