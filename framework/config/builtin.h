/* Registration of the engine's own heuristics, scorers and schedulers. */
#ifndef RILL_BUILTIN_H
#define RILL_BUILTIN_H

#include "internal.h"
#include "rill/scorer.h"

extern const rill_scorer rill__lmbr_scorer; /* lmbr.c */

rill_status rill__register_heuristics(rill_context *ctx);
rill_status rill__register_scorers(rill_context *ctx);
rill_status rill__register_schedulers(rill_context *ctx);
rill_status rill__register_constraints(rill_context *ctx);

/* rill_scorer.max_bonus of scorers that only forbid actions: 0; builtin_scorers.c */
double rill__no_bonus(const void *self, double *end);
extern const rill_scorer rill__lexical_scorer, rill__forced_scorer, rill__trie_scorer;

#endif
