/* Heuristics, scorers and schedulers for tests: random ones that keep the contract, and ones that break it.
 *
 * A random plugin's decision is a hash of one item or row. The engine's tables wrap functions with the naive search's
 * types, so both searches get the same decisions.
 *
 *   heuristic  test-random:SEED,PERCENT   drops, narrows and stops at random, per item
 *              test-mixing:KIND           invalid: what it narrows (0), drops (1) or stops (2) depends on the number of
 *                                         items in the call
 *              test-counting:0            invalid: keeps a counter between calls
 *              test-remembering:0         invalid: remembers items whose first timestep it saw
 *   scorer     test-random:SEED,FLAGS     TEST_ADD ... below
 *              test-cheating:KIND         invalid: rewards (0) or limits (1) depend on the number of rows in the call
 *              test-limit:M               limits every row to M choices
 *              test-flood:SEED            rewards so large that distinct scores become ties, and limits and lists that
 *                                         differ from row to row; item-local; not in the naive search, which ranks exactly
 *   scheduler  test-nothing · test-reverse · test-newest · test-random:SEED · test-garbage:KIND · test-huge */
#pragma once

#include "rill/plugin.h"
#include "support/naive_search.h"

enum {
    TEST_ADD = 1,
    TEST_BAN = 2,
    TEST_ALLOW = 4,
    TEST_END_RULE = 8,
    TEST_REWARD = 16,
    TEST_END_REWARD = 32,
    TEST_USE_RANK = 64,   /* decisions depend on the row's rank too */
    TEST_USE_SCORE = 128, /* decisions depend on the row's score too */
    TEST_LIMIT = 256,
    TEST_LAST_FLAG = TEST_LIMIT
};

typedef struct test_random {
    uint64_t seed;
    int32_t percent; /* heuristics: the argument PERCENT, the chance of each decision in percent */
    int32_t flags;   /* scorers: the argument FLAGS, a sum of TEST_ADD ... */
    int32_t actions; /* scorers: number of actions of the model */
} test_random;

/* The functions naive_heuristic.apply and naive_scorer.score of the random plugins. user: a test_random. */
void test_random_apply(void *user, naive_beam *beam);
void test_random_score(void *user, int64_t item, int32_t timestep, int32_t phase, int32_t rank,
                       const naive_hypothesis *parent, naive_modifiers *modifiers);

rill_status test_plugins_register(rill_context *ctx);
