/* Creates a context for each test case; checks afterwards that no memory is left. To be included by a test's only
 * source file, after helpers.h. */
#pragma once

static failing_allocator memory;
static rill_context *ctx;

static int set_up(void **state)
{
    (void)state;
    ctx = failing_allocator_context(&memory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    failing_allocator_finish(&memory, ctx);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
