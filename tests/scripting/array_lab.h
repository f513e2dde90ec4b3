/* Where arrays are tested: a script that runs arrays.lua, with an engine made of nothing but memory.
 *
 * The script has two functions more than others. dice(low, high) gives a whole number. engine(lengths, base, views, run) is a call
 * of the engine: segments of these lengths, the first of which begins at `base`; a list of views {name=, type=, level=, values=,
 * writable=} over blocks of exactly their size, which are freed afterwards; run(arrays) is called with the arrays by name.
 * It returns what the views' memory then holds, by name, and the first result of run. */
#ifndef TEST_ARRAY_LAB_H
#define TEST_ARRAY_LAB_H

#include "arrays/arrays.h"
#include "script_load.h"
#include "support/dice.h"

typedef struct array_lab {
    rill_script *s;
    dice d;
    int tests; /* registry reference of the table that arrays.lua returns */
} array_lab;

/* Load the file. The failure is in the context. */
rill_status array_lab_open(array_lab *lab, rill_context *ctx, const rill_script_options *options);

/* Run the test of this name with these dice. */
rill_status array_lab_run(array_lab *lab, const char *test, dice d);

void array_lab_close(array_lab *lab);

#endif
