/* Arrays of scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "state.h"

static void a_state_opens_and_closes(void **unused)
{
    (void)unused;
    rill_context *ctx;
    rill_script *s;
    assert_int_equal(rill_context_create(&ctx, NULL), RILL_OK);
    assert_int_equal(script_create(&s, ctx, "test.lua", NULL), RILL_OK);
    assert_true(rill_script_memory(s) > 0);
    script_destroy(s);
    assert_int_equal(rill_memory_used(ctx), 0);
    rill_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_state_opens_and_closes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
