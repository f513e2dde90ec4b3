/* The table of the search's variants (search_variant.h). */
#include "variants.h"

const search_variant *const search_variants[] = {
    &exact, &certificates, &best_ended, &sampling, &diverse_beam_search, &constraint_banks, NULL};
