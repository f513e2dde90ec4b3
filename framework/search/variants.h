/* The variants that search_variants lists. */
#ifndef RILL_VARIANTS_H
#define RILL_VARIANTS_H

#include "search_variant.h"

extern const search_variant certificates, best_ended, sampling, diverse_beam_search, constraint_banks;

#endif
