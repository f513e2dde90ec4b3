/* Registration of the engine's own heuristics, scorers and policies. */
#ifndef RILL_BUILTIN_H
#define RILL_BUILTIN_H

#include "internal.h"

rill_status rill__register_heuristics(rill_context *ctx);
rill_status rill__register_scorers(rill_context *ctx);
rill_status rill__register_policies(rill_context *ctx);
rill_status rill__register_constraints(rill_context *ctx);

extern const rill_scorer rill__require_scorer, rill__given_scorer, rill__trie_scorer;

#endif
