/* Registration of the engine's own heuristics, scorers and schedulers. */
#ifndef RILL_BUILTIN_H
#define RILL_BUILTIN_H

#include "internal.h"
#include "rill/scorer.h"

rill_status rill__register_heuristics(rill_context *ctx);
rill_status rill__register_schedulers(rill_context *ctx);

extern const rill_scorer rill__text_scorers[3]; /* prefix, ban, allow */
extern const rill_scorer rill__lexical_scorer, rill__forced_scorer, rill__trie_scorer, rill__lmbr_scorer;

/* rill_scorer.max_bonus of scorers that only forbid actions: 0 */
static inline double rill__no_bonus(const void *self, double *end)
{
    (void)self, (void)end;
    return 0;
}

#endif
