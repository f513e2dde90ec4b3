/* Engine runs with a script: shared by the tests of heuristics, scorers and schedulers written in Lua. */
#pragma once

#include "rill/script.h"
#include "support/harness.h"
#include "support/problem.h"

/* Load the script `text` and run the problem. The allocator and the options may be NULL. Asserts nothing. */
void scripted_run(const char *text, const rill_script_options *options, const problem *p, const schedule *s,
                  const rill_context_options *memory, engine_record *out);

/* Draw a problem without heuristics and scorers, with beams of `k`. The toy has 8 actions. */
void scripted_problem(problem *p, int seed, int32_t inputs, int32_t k);

/* Fill one entry of the problem's chain. */
void scripted_entry(problem_name *entry, const char *name, const char *arguments);

/* Fail the test unless both runs gave the same results, to the last bit. */
void scripted_same(const problem *p, const engine_record *a, const engine_record *b);

/* Load `text`, run the problem with its chains, and expect a failure whose message has all of these words;
 * NULL-terminated. */
void scripted_fails(const char *text, const problem *p, const schedule *s, rill_status status, ...);

/* Load `text` in a context with the core registered, and expect a failure whose message has `words`. */
void scripted_refused(const char *text, const char *words);

/* The mixing function of test-random (test_plugins.c) in Lua: mix(h, integer), mix_double(h, number); divide(h, d),
 * unsigned, returns quotient and remainder. */
#define SCRIPTED_MIX                                                                                    \
    "local function mix(a, b)\n"                                                                        \
    "  local z = a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019\n"                                     \
    "  z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9\n"                                                      \
    "  z = (z ~ (z >> 27)) * 0x94d049bb133111eb\n"                                                      \
    "  return z ~ (z >> 31)\n"                                                                          \
    "end\n"                                                                                             \
    "local function mix_double(h, x) return mix(h, (string.unpack('<i8', string.pack('<d', x)))) end\n" \
    "local function divide(h, d)\n"                                                                     \
    "  local q = ((h >> 1) // d) << 1\n"                                                                \
    "  local r = h - q * d\n"                                                                           \
    "  if not math.ult(r, d) then q, r = q + 1, r - d end\n"                                            \
    "  return q, r\n"                                                                                   \
    "end\n"
