/* Initialisers for tables of a test's own heuristics, scorers and schedulers:
 *
 *     static const rill_scorer adder = TEST_SCORER("adder", .score = add); */
#pragma once

#include "rill/plugin.h"

#define TEST_TABLE(type, NAME) \
    .abi_version = RILL_ABI_VERSION, .struct_size = sizeof(type), .name = (NAME), .summary = "a test's"
#define TEST_HEURISTIC(NAME, ...)                                      \
    {                                                                  \
        TEST_TABLE(rill_heuristic, NAME), .arguments = "", __VA_ARGS__ \
    }
#define TEST_SCORER(NAME, ...)                                      \
    {                                                               \
        TEST_TABLE(rill_scorer, NAME), .arguments = "", __VA_ARGS__ \
    }
#define TEST_SCHEDULER(NAME, ...)                     \
    {                                                 \
        TEST_TABLE(rill_scheduler, NAME), __VA_ARGS__ \
    }
