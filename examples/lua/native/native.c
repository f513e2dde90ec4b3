/* Plain C functions that native.lua binds.
 *
 *   cc -O2 -shared -fPIC -I framework/include -o native.so native.c
 *
 * The first two are a heuristic and a scorer, called by the engine without Lua in between; they fail by a negative rill_status. The others
 * do not depend on rill. */
#include <stddef.h>

#include "rill/heuristic.h"
#include "rill/scorer.h"

/* A heuristic, void(candidates*, double): drop candidates that score more than `delta` below the item's best, as the
 * built-in `absolute` does. */
RILL_API void prune(rill_candidates *candidates, double delta);
/* A scorer, int(rows*, modifiers*, float): add `value` to every action but the end action, as the built-in
 * `word_reward` does. */
RILL_API int reward(const rill_scorer_rows *rows, rill_modifiers *modifiers, float value);
/* void(uint8*, const double*, size_t, double): clear mark[i] where value[i] is below `min_value`. */
RILL_API void clear_below(unsigned char *mark, const double *value, size_t n, double min_value);
/* double(void*, double, double): the zero of f, which decreases from `low` to `high`. */
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
