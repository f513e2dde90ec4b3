/* Runs Lua text with rill.ffi enabled and the functions of native_functions.c. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "rill/script.h"
#include "support/harness.h"

/* Prefix of each chunk, on its first line: `lib`, bind(name, signature), and refused(words, f, ...), which calls f and
 * expects an error that contains the words. */
#define NATIVE_PRELUDE                                                           \
    "local lib = rill.ffi.open(\"" NATIVE_FUNCTIONS "\") "                       \
    "local function bind(...) return lib:bind(...) end "                         \
    "local function refused(words, f, ...) local good, message = pcall(f, ...) " \
    "assert(not good, 'no error: ' .. words) "                                   \
    "if not tostring(message):find(words, 1, true) then error(words .. ' <> ' .. tostring(message), 2) end end "

static inline rill_status load_native(rill_context *ctx, const char *text, rill_script **out)
{
    rill_script_options options = {.struct_size = sizeof options, .unsafe = 1};
    return rill_script_load_text(out, ctx, "test.lua", text, strlen(text), &options);
}

/* Run the chunk in its own context; checks that no memory is left. */
static inline void run_native(const char *text)
{
    harness_memory memory;
    rill_context *ctx = harness_begin(&memory);
    rill_script *script;
    if (load_native(ctx, text, &script) != RILL_OK) fail_msg("%s", rill_error(ctx));
    harness_end(ctx, &memory);
}
