/* Common to all test programs: cmocka, and the options --seed N, --iterations N, --only PATTERN, and --late G (decode with an
 * asynchronous domain of group_rows G).
 *
 * Property tests run `harness_iterations(default)` problems and report the seed of a failure; `--seed S --iterations 1` repeats it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rill/context.h"

/* Read the options; call first in main(). Returns 0, or -1 after printing the usage. */
int harness_options(int argc, char **argv);

/* Return the number of random problems, and the first seed: from the command line, or else the argument. */
int64_t harness_iterations(int64_t otherwise);
uint64_t harness_seed(uint64_t otherwise);
/* Return the next allocation to fail after the n-th: usually n + 1. With sanitizers, steps grow with n, because Lua's blocks are
 * allocations. */
int64_t harness_next_request(int64_t n);

/* Check random problems with consecutive seeds in one context: `otherwise` many without --iterations. Returns their number. */
int64_t harness_problems(int64_t otherwise, void (*check)(rill_context *ctx, uint64_t seed));

/* Assert that the random problems together covered a case; otherwise the test would show little. Skipped when fewer
 * problems run, with --iterations or RILL_TEST_SHARE. */
#define HARNESS_ASSERT_COVERED(condition)               \
    do {                                                \
        if (harness_full_run()) assert_true(condition); \
    } while (0)
int harness_full_run(void);

/* Return G + 1 if the option --late G was given, else 0. */
int64_t harness_async(void);

/* Make a context that discards its log. The built-in plugins, the toy domain and the plugins for tests are registered. Fails the test on
 * error. */
rill_context *harness_context(const rill_context_options *options);

/* An allocator that counts, checks frees, and can fail. failing_request n >= 1 fails the n-th allocation; `persistent` fails all later
 * ones, too. */
typedef struct harness_memory {
    int64_t requests, failing_request, refused;
    int persistent;
    int64_t blocks;
    size_t bytes, peak;
    int64_t wrong_sizes; /* frees with another size than was allocated */
} harness_memory;

rill_context_options harness_memory_options(harness_memory *memory);

/* harness_begin(): make a context, count memory from zero, reset the toy's report. harness_end(): fail on unfreed memory, wrong sizes or
 * violations. */
rill_context *harness_begin(harness_memory *memory);
void harness_end(rill_context *ctx, const harness_memory *memory);

#define HARNESS_MAIN(tests)                               \
    int main(int argc, char **argv)                       \
    {                                                     \
        if (harness_options(argc, argv) != 0) return 2;   \
        return cmocka_run_group_tests(tests, NULL, NULL); \
    }
