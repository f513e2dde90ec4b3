/* What every test program starts from: cmocka, and the options --seed N, --iterations N, --only PATTERN, and
 * --late G, with which random problems are decoded by a domain that answers later (async_domain.h).
 *
 * A property test runs `harness_iterations(default)` random problems from consecutive seeds and reports the seed of a failure,
 * so `--seed S --iterations 1` repeats it. */
#ifndef TEST_HARNESS_H
#define TEST_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rill/context.h"

/* Read the options; call first in main(). Returns 0, or -1 after printing how to use it. */
int harness_options(int argc, char **argv);

/* Iterations and first seed: as given on the command line, else the defaults. */
int64_t harness_iterations(int64_t otherwise);
uint64_t harness_seed(uint64_t otherwise);

/* So many problems one after the other in one context. Returns how many there were. */
int64_t harness_problems(int64_t otherwise, void (*check)(rill_context *ctx, uint64_t seed));

/* What all random problems together have come to, without which the test would show little. Not looked at where these are fewer, by
 * --iterations or under a sanitizer: a single one that repeats a failure comes to less. */
#define HARNESS_ASSERT_COVERED(condition)               \
    do {                                                \
        if (harness_full_run()) assert_true(condition); \
    } while (0)
int harness_full_run(void);

/* G + 1 with --late G, else 0. */
int64_t harness_async(void);

/* A context whose log goes nowhere, with the core, the toy and the test plugins registered. Fails the test otherwise. */
rill_context *harness_context(const rill_context_options *options);

/* An allocator that counts and can be told to fail. Set `fail_at` to n >= 1 to refuse the n-th request for memory;
 * `persistent` refuses all later ones too. Checks sizes given back, and that nothing is freed twice. */
typedef struct harness_memory {
    int64_t requests, failing_request, refused;
    int persistent;
    int64_t blocks;
    size_t bytes, peak;
    int64_t wrong_sizes; /* wrong sizes given back */
} harness_memory;

rill_context_options harness_memory_options(harness_memory *memory);

/* A context as harness_context() makes it, whose memory is counted from zero on; the toy's report begins anew. And its end, which fails
 * the test unless all memory came back, under the sizes that were asked for, and the toy saw no violation. */
rill_context *harness_begin(harness_memory *memory);
void harness_end(rill_context *ctx, const harness_memory *memory);

#define HARNESS_MAIN(tests)                               \
    int main(int argc, char **argv)                       \
    {                                                     \
        if (harness_options(argc, argv) != 0) return 2;   \
        return cmocka_run_group_tests(tests, NULL, NULL); \
    }

#endif
