/* Constraints on outputs: one line of text per input, and tries of allowed outputs.
 * Threads: as the context. Stability: stable within a major version. */
#ifndef RILL_CONSTRAINTS_H
#define RILL_CONSTRAINTS_H

#include "rill/engine.h"

RILL_C_BEGIN

/* --- constraint lines --------------------------------------------------------------------------------------------------- */

/* A constraint line has parts NAME:TEXT, separated by " ||| ": the name of a scorer, and its arguments for this input:
 *
 *     prefix:The cat ||| ban:dog ||| ban:a big ||| require:mat
 *
 * A line may name only scorers of the run. Scorers that it does not name keep the run's arguments.
 * prefix, ban, allow and require do nothing without arguments. */
typedef struct rill_constraints rill_constraints;

/* The scorers made for constraint lines: prefix, ban, allow, require; NULL-terminated. */
RILL_API const char *const *rill_constraint_names(void);

/* Create a parser of constraint lines for the scorers of `setup`, which are copied. *out: freed by the caller.
 *   RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_constraints_create(rill_constraints **out, rill_context *ctx, const rill_engine_setup *setup);
RILL_API void rill_constraints_free(rill_constraints *constraints); /* freeing NULL does nothing */

/* Parse a line into *scorers, for rill_request.scorers; valid until the next call. NULL: the line is empty.
 *   RILL_OK · RILL_ERR_INPUT (recorded: a part without a colon, or an unknown scorer) · RILL_ERR_MEMORY */
RILL_API rill_status rill_constraints_read(rill_constraints *constraints, const char *line, size_t length,
                                           const char *const **scorers);

/* --- trie files --------------------------------------------------------------------------------------------------------- */

/* A trie of allowed outputs, for the scorer `trie:FILE`.
 *
 *     rill_trie *trie;
 *     rill_trie_create(&trie, ctx, info->actions);
 *     while (have_sequence) rill_trie_add(trie, action, n);     // include the end action, if the domain has one
 *     rill_trie_write(trie, write, user);
 *     rill_trie_free(trie);
 *
 * File format, little-endian:
 *   "rilltrie"
 *   uint32 version (1), vocabulary size, trie nodes N, longest sequence
 *   uint64 number of sequences
 *   uint32 first[N + 1]   the children of trie node v are first[v] to first[v + 1] - 1
 *   int32 action[N]       the action that leads to trie node v; -1 for the root, node 0
 * Nodes are numbered by level, and siblings ascend by action. All workers share one copy in memory. */
typedef struct rill_trie rill_trie;

/* Create an empty trie. actions: vocabulary size. *out: freed by the caller.
 *   RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_trie_create(rill_trie **out, rill_context *ctx, int32_t actions);
RILL_API void rill_trie_free(rill_trie *trie); /* freeing NULL does nothing */

/* Add a sequence of n actions. Of two sequences, one a prefix of the other, the longer is kept.
 *   RILL_OK · RILL_ERR_ARGUMENT (an empty sequence, or an unknown action) · RILL_ERR_MEMORY */
RILL_API rill_status rill_trie_add(rill_trie *trie, const int32_t *action, int32_t n);

/* Write the file in chunks; a negative return of `write` ends the call.
 *   RILL_OK · RILL_ERR_ARGUMENT (no sequences, or 2^31 trie nodes) · RILL_ERR_MEMORY · the failure of `write` */
RILL_API rill_status rill_trie_write(rill_trie *trie, rill_status (*write)(void *user, const void *bytes, size_t n),
                                     void *user);

RILL_C_END

#endif
