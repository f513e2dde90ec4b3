/* Fuzz target: array operations in scripts. Whatever the operations, results equal the naive model's, and arrays of an
 * earlier call are refused. The bytes are the dice of the test "random" in tests/scripting/arrays.lua. */
#include <stdio.h>
#include <stdlib.h>

#include "array_fixture.h"
#include "fuzz_target.h"

/* One script serves all inputs, since opening a script takes longer than most inputs. */
static rill_context *ctx;
static array_fixture fixture;

static void fail(void)
{
    fprintf(stderr, "%s\n", rill_error(ctx));
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (ctx == NULL && (rill_context_create(&ctx, NULL) < 0 || array_fixture_open(&fixture, ctx, NULL) < 0)) fail();
    if (array_fixture_run(&fixture, "random", dice_from_bytes(data, size)) < 0) fail();
    return 0;
}
