/* A tiny random problem that `rill check` tries heuristics, scorers and policies on: a domain without a model, whose legal actions and
 * scores are hashes of the input, the actions so far and a seed. Scores are whole sixteenths, so that many are equal. */
#ifndef CLI_CHECK_PROBLEM_H
#define CLI_CHECK_PROBLEM_H

#include "rill/plugin.h"

/* No plugin's name begins so by accident. Arguments: a number, the seed. */
#define CLI_CHECK_PROBLEM "rill-check"

extern const rill_domain cli_check_problem;

/* A number that follows from two others, as good as random. */
static inline uint64_t cli_check_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b + UINT64_C(0x632be59bd9b4e019);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

#endif
