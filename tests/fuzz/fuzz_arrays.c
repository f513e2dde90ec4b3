/* Fuzz target: whatever operations on whatever arrays the bytes name, the results equal the naive model's, and arrays of a call
 * that is over are refused. The bytes are the dice of the test "random" in tests/scripting/arrays.lua. */
#include <stdio.h>
#include <stdlib.h>

#include "array_lab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rill_context *ctx;
    array_lab lab;
    if (rill_context_create(&ctx, NULL) < 0) return 0;
    if (array_lab_open(&lab, ctx, NULL) < 0 || array_lab_run(&lab, "random", dice_from_bytes(data, size)) < 0) {
        fprintf(stderr, "%s\n", rill_error(ctx));
        abort();
    }
    array_lab_close(&lab);
    rill_context_destroy(ctx);
    return 0;
}
