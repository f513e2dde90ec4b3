/* The variants of the search (search_variant.h), each a table of hooks in a file of this folder. Their hooks are called in this order;
 * constraint_banks is last, since its reserve() reads what others have reserved. */
#include "variants.h"

extern const search_variant cube_pruning, exact, certificates, best_ended, sampling, diverse_beam_search,
    constraint_banks;

const search_variant *const search_variants[] = {
    &cube_pruning, &exact, &certificates, &best_ended, &sampling, &diverse_beam_search, &constraint_banks, NULL};
