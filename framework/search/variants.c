/* Lists the search variants in the order in which their hooks are called. constraint_banks is last, because its reserve() reads sizes
 * that the others reserved. */
#include "variants.h"

extern const search_variant cube_pruning, exact, certificates, best_ended, sampling, diverse_beam_search,
    constraint_banks;

const search_variant *const search_variants[] = {
    &cube_pruning, &exact, &certificates, &best_ended, &sampling, &diverse_beam_search, &constraint_banks, NULL};
