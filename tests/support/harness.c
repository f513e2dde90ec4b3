/* See harness.h. The allocator puts its own header before each block, because it must find callers that pass a wrong
 * size. */
#include "support/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rill/plugin.h"
#include "support/share.h"
#include "support/test_plugins.h"
#include "support/toy_domain.h"

static int64_t option_iterations = -1, option_seed = -1, option_async = -1;

int harness_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        char *end = NULL;
        if (i + 1 < argc && strcmp(argv[i], "--only") == 0) {
            cmocka_set_test_filter(argv[i + 1]);
            continue;
        }
        int64_t value = i + 1 < argc ? strtoll(argv[i + 1], &end, 10) : 0;
        int good = end != NULL && *end == '\0' && value >= 0;
        if (good && strcmp(argv[i], "--iterations") == 0)
            option_iterations = value;
        else if (good && strcmp(argv[i], "--seed") == 0)
            option_seed = value;
        else if (good && strcmp(argv[i], "--late") == 0)
            option_async = value;
        else
            return fprintf(stderr, "usage: %s [--seed N] [--iterations N] [--only PATTERN] [--late G]\n", argv[0]), -1;
    }
    return 0;
}

int64_t harness_iterations(int64_t otherwise)
{
    return option_iterations >= 0 ? option_iterations : test_share(otherwise);
}

int64_t harness_next_request(int64_t n)
{
    return n + 1 + (test_divisor() == 1 ? 0 : n / 64);
}

int harness_full_run(void)
{
    return option_iterations < 0 && test_divisor() == 1;
}

uint64_t harness_seed(uint64_t otherwise)
{
    return option_seed >= 0 ? (uint64_t)option_seed : otherwise;
}

int64_t harness_async(void)
{
    return option_async + 1;
}

int64_t harness_problems(int64_t otherwise, void (*check)(rill_context *ctx, uint64_t seed))
{
    rill_context *ctx = harness_context(NULL);
    const uint64_t seed = harness_seed(1);
    const int64_t n = harness_iterations(otherwise);
    for (int64_t i = 0; i < n; i++) check(ctx, seed + (uint64_t)i);
    assert_true(rill_memory_used(ctx) > 0);
    rill_context_destroy(ctx);
    return n;
}

rill_context *harness_context(const rill_context_options *options)
{
    rill_context *ctx = NULL;
    assert_int_equal(rill_context_create(&ctx, options), RILL_OK);
    assert_int_equal(rill_register_core(ctx), RILL_OK);
    assert_int_equal(rill_register_domain(ctx, &toy_domain), RILL_OK);
    assert_int_equal(rill_register_domain(ctx, &toy_without_runners), RILL_OK);
    assert_int_equal(test_plugins_register(ctx), RILL_OK);
    return ctx;
}

/* --- the allocator ------------------------------------------------------------------------------------------------ */

enum { HEADER = 64 };

static void check_and_free(harness_memory *m, char *block, size_t old_size)
{
    size_t size;
    if (block == NULL) return;
    memcpy(&size, block - HEADER, sizeof size);
    m->wrong_sizes += size != old_size;
    m->bytes -= size;
    m->blocks--;
    free(block - HEADER);
}

static void *allocate(void *user, void *block, size_t old_size, size_t new_size)
{
    harness_memory *m = user;
    if (new_size == 0) return check_and_free(m, block, old_size), NULL;
    m->requests++;
    if (m->failing_request > 0 &&
        (m->requests == m->failing_request || (m->persistent && m->requests > m->failing_request)))
        return m->refused++, NULL;
    char *fresh = aligned_alloc(HEADER, HEADER + (new_size + HEADER - 1) / HEADER * HEADER);
    if (fresh == NULL) abort();
    memcpy(fresh, &new_size, sizeof new_size);
    fresh += HEADER;
    m->bytes += new_size;
    m->blocks++;
    if (m->bytes > m->peak) m->peak = m->bytes;
    /* Fill new memory, so that it is never zero by chance. */
    memset(fresh, 0xa5, new_size);
    if (block != NULL) memcpy(fresh, block, old_size < new_size ? old_size : new_size);
    check_and_free(m, block, old_size);
    return fresh;
}

rill_context_options harness_memory_options(harness_memory *memory)
{
    return (rill_context_options){
        .struct_size = sizeof(rill_context_options), .allocate = allocate, .allocate_user = memory};
}

rill_context *harness_begin(harness_memory *memory)
{
    *memory = (harness_memory){0};
    const rill_context_options options = harness_memory_options(memory);
    toy_report_reset();
    return harness_context(&options);
}

void harness_end(rill_context *ctx, const harness_memory *memory)
{
    rill_context_destroy(ctx);
    assert_int_equal(memory->blocks, 0);
    assert_int_equal(memory->wrong_sizes, 0);
    if (toy_report_get()->violations != 0) fail_msg("%s", toy_report_get()->first_violation);
}

int64_t harness_finished(const rill_engine *engine)
{
    rill_stats stats = {.struct_size = sizeof stats};
    rill_engine_stats(engine, &stats);
    return stats.inputs;
}
