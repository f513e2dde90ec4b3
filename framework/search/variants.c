/* The table of the search's variants (search_variant.h). Their hooks are called in this order; constraint_banks is last, since its
 * reserve() reads what others have reserved. */
#include "variants.h"

const search_variant *const search_variants[] = {
    &cube_pruning, &exact, &certificates, &best_ended, &sampling, &diverse_beam_search, &constraint_banks, NULL};
