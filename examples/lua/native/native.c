/* Plain C functions for native.lua to bind: no registration, no tables, nothing of Lua.
 *
 *   cc -O2 -shared -fPIC -I framework/include -o native.so native.c
 *
 * The first two take rill's own structs and stand in a chain, where nothing of Lua is between the engine and them.
 * Failing is a negative result, best a rill_status. The others know nothing of rill. */
#include <stddef.h>

#include "rill/heuristic.h"
#include "rill/scorer.h"

/* A heuristic, void(beams*, double): drop what scores more than `delta` below the item's best, as the built-in
 * `absolute`. */
RILL_API void prune(rill_candidates *candidates, double delta);
/* A scorer, int(rows*, ask*, float): every action but the end action gains `value`, as with the built-in
 * `word_reward`. */
RILL_API int reward(const rill_scorer_rows *rows, rill_modifiers *modifiers, float value);
/* void(uint8*, const double*, size_t, double): clear marks of values below `least`. */
RILL_API void clear_below(unsigned char *mark, const double *value, size_t n, double min_value);
/* double(void*, double, double): where f, which falls from `low` to `high`, is 0. */
RILL_API double root(double (*f)(double), double low, double high);

void prune(rill_candidates *candidates, double delta)
{
    for (int32_t i = 0; i < candidates->n; i++)
        clear_below(candidates->keep + candidates->offset[i], candidates->path_score + candidates->offset[i],
                    (size_t)(candidates->offset[i + 1] - candidates->offset[i]),
                    candidates->best_path_score[i] - delta);
}

int reward(const rill_scorer_rows *rows, rill_modifiers *modifiers, float value)
{
    rill_status status = RILL_OK;
    for (int32_t row = 0; row < rows->n && status >= 0; row++) status = rill_modifiers_reward(modifiers, row, value);
    return status;
}

void clear_below(unsigned char *mark, const double *value, size_t n, double min_value)
{
    for (size_t i = 0; i < n; i++)
        if (value[i] < min_value) mark[i] = 0;
}

double root(double (*f)(double), double low, double high)
{
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (f(middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}
