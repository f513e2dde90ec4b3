/* Test bench for arrays: a script that runs arrays.lua, with a simulated engine that only has memory.
 *
 * The script has two extra functions. dice(low, high) returns an integer. engine(lengths, base, views, run) simulates a
 * call of the engine: segments of these lengths, the first at `base`; a list of views {name=, type=, level=, values=,
 * writable=} over blocks of exactly their size, which are freed afterwards; run(arrays) is called with the arrays by
 * name. engine() returns the final contents of the views' memory, by name, and the first result of run(). */
#pragma once

#include "arrays/arrays.h"
#include "config/run_config.h"
#include "support/dice.h"

typedef struct array_fixture {
    rill_script *s;
    dice d;
    int tests; /* registry reference of the table that arrays.lua returns */
} array_fixture;

/* Load the file. On failure the context has the error. */
rill_status array_fixture_open(array_fixture *fixture, rill_context *ctx, const rill_script_options *options);

/* Run the test of this name with these dice. */
rill_status array_fixture_run(array_fixture *fixture, const char *test, dice d);

void array_fixture_close(array_fixture *fixture);
