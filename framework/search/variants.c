/* The search variants in the order of their hooks' calls. constraint_banks is last: its reserve() reads the others' sizes. */
#include "engine_internal.h"

extern const search_variant cube_pruning, exact, certificates, best_ended, sampling, diverse_beam_search,
    constraint_banks;

const search_variant *const search_variants[] = {
    &cube_pruning, &exact, &certificates, &best_ended, &sampling, &diverse_beam_search, &constraint_banks, NULL};
