/* A small random problem on which `rill check` tests heuristics, scorers and schedulers. It is a domain without a model: legal actions
 * and scores are hashes of the input, the previous actions and a seed. Scores are multiples of 1/16, so that ties are frequent. */
#ifndef CLI_CHECK_PROBLEM_H
#define CLI_CHECK_PROBLEM_H

#include "rill/plugin.h"

/* The domain's name. Its argument is the seed, a number. */
#define CLI_CHECK_PROBLEM "rill-check"

extern const rill_domain cli_check_problem;

/* Hash two numbers into one. */
static inline uint64_t cli_check_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b + UINT64_C(0x632be59bd9b4e019);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

#endif
