/* A heuristic as a plugin: `gap:D` cuts a beam at its first gap of more than D between neighbouring scores.
 *
 * Candidates after the gap are dropped. A beam without a gap stays whole, whatever its width (`absolute` would drop its tail).
 *
 * Recipe
 *   1. Copy this file, rename the heuristic, change apply().
 *   2. apply() gets all selected items (inputs) at once; item i has candidates [offset[i], offset[i+1]) in rank order. Clear keep[c] to
 *      drop one, lower width[i] to keep the best width[i], set stop[i] to end an item. See rill/heuristic.h.
 *   3. Decisions for an item depend on that item only, and not on earlier calls.
 *   4. An ended candidate (ended[c]) stays in the beam while a better one is live. It counts towards the width, and can be dropped.
 *   5. Build a shared object that exports rill_plugin(), and check rule 3 with typical arguments:
 *          cc -std=c17 -O2 -shared -fPIC -o rill-mine.so mine.c $(pkg-config --cflags rill)
 *          rill check --plugin ./rill-mine.so --heuristic gap:1 */
#include <stdlib.h>

#include "rill/plugin.h"

typedef struct gap {
    rill_context *ctx;
    double largest;
} gap;

static rill_status create(const rill_heuristic *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)table;
    char *end;
    double largest = rill_read_number(arguments, &end);
    if (end == arguments || *end != '\0' || !(largest >= 0))
        return rill_fail(ctx, RILL_ERR_OPTION, "gap: \"%s\" is not a number of at least 0", arguments);
    gap *g = rill_alloc(ctx, sizeof *g);
    if (g == NULL) return rill_fail_memory(ctx, sizeof *g, "the heuristic gap");
    *g = (gap){ctx, largest};
    *self = g;
    return RILL_OK;
}

static rill_status apply(void *self, rill_candidates *candidates)
{
    const gap *g = self;
    for (int32_t i = 0; i < candidates->n; i++) {
        int32_t first = candidates->offset[i], end = candidates->offset[i + 1], c = first + 1;
        while (c < end && candidates->path_score[c - 1] - candidates->path_score[c] <= g->largest) c++;
        if (c < end) candidates->width[i] = c - first;
    }
    return RILL_OK;
}

static void destroy(void *self)
{
    if (self != NULL) rill_free(((gap *)self)->ctx, self, sizeof(gap));
}

static const rill_heuristic heuristic = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_heuristic),
    .name = "gap",
    .arguments = "D",
    .summary = "cut the beam where a candidate scores more than D below the one before it",
    .create = create,   /* (optional) reads the arguments and creates *self */
    .apply = apply,     /* mandatory */
    .destroy = destroy, /* (optional) frees *self */
};

RILL_API const rill_plugin_table *rill_plugin(void);

RILL_API const rill_plugin_table *rill_plugin(void)
{
    static const rill_heuristic *const heuristics[] = {&heuristic, NULL};
    static const rill_plugin_table table = {.abi_version = RILL_ABI_VERSION,
                                            .struct_size = sizeof table,
                                            .name = "template-heuristic",
                                            .heuristics = heuristics};
    return &table;
}
