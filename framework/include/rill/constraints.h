/* Constraints on outputs: lines of text, each for one input's output, and files of allowed outputs (tries).
 * Threads: as the context. Stability: stable within a major version. */
#ifndef RILL_CONSTRAINTS_H
#define RILL_CONSTRAINTS_H

#include "rill/engine.h"

RILL_C_BEGIN

/* --- lines -------------------------------------------------------------------------------------------------------------- */

/* A line consists of parts separated by " ||| ". A part is NAME:TEXT: a scorer of the run, and its arguments for this input:
 *
 *     prefix:The cat ||| ban:dog ||| ban:a big ||| require:mat
 *
 * Parts with the same name are joined with " ||| ". The scorers must belong to the run. The scorers prefix, ban, allow and require do
 * nothing without arguments, so a run may list them only to allow constraint lines. Scorers not named in the line keep the setup's
 * arguments. */
typedef struct rill_constraints rill_constraints;

/* Names of the built-in scorers for constraint lines: prefix, ban, allow, require; NULL-terminated. */
RILL_API const char *const *rill_constraint_names(void);

/* Create a parser of constraint lines for runs with the scorers of `setup`; it copies the names of the scorers. *out: freed by the caller.
 * RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_constraints_create(rill_constraints **out, rill_context *ctx, const rill_engine_setup *setup);
RILL_API void rill_constraints_free(rill_constraints *constraints); /* NULL is allowed */

/* Parse a constraint line. *scorers: for rill_request.scorers, valid until the next line is parsed; NULL for an empty line.
 *   RILL_OK · RILL_ERR_INPUT (recorded: a part without a colon; a name that is not a scorer of the run) · RILL_ERR_MEMORY */
RILL_API rill_status rill_constraints_read(rill_constraints *constraints, const char *line, size_t length,
                                           const char *const **scorers);

/* --- tries -------------------------------------------------------------------------------------------------------------- */

/* Tries of allowed outputs: files for the scorer `trie:FILE`, which restricts outputs to a set of sequences.
 *
 *     rill_trie *trie;
 *     rill_trie_create(&trie, ctx, info->actions);
 *     while (have_sequence) rill_trie_add(trie, action, n);     // the end action included, where the domain has one
 *     rill_trie_write(trie, write, user);
 *     rill_trie_free(trie);
 *
 * The file, all numbers little-endian: the bytes "rilltrie"; uint32 version 1, the model's actions, nodes N (the root is node 0), length of
 * the longest sequence; uint64 sequences; uint32 first[N + 1]; int32 action[N]. Nodes are numbered by level, so the children of node v are
 * nodes first[v] to first[v + 1] - 1, in order of their actions; action[v] is the action that leads to node v, -1 for the root. A node
 * takes 8 bytes.
 * The scorer reads the whole file into memory, once for all workers of a context. */
typedef struct rill_trie rill_trie;

/* Create an empty set of sequences for a model with `actions` actions (vocabulary size). *out: freed by the caller. RILL_OK ·
 * RILL_ERR_MEMORY */
RILL_API rill_status rill_trie_create(rill_trie **out, rill_context *ctx, int32_t actions);
RILL_API void rill_trie_free(rill_trie *trie); /* NULL is allowed */

/* Add a sequence. A duplicate changes nothing. If one sequence is a prefix of another, only the longer one is kept.
 *   RILL_OK · RILL_ERR_ARGUMENT (an empty sequence, or an action that the model does not have) · RILL_ERR_MEMORY */
RILL_API rill_status rill_trie_add(rill_trie *trie, const int32_t *action, int32_t n);

/* Write the file in chunks; a negative return of `write` aborts it.
 *   RILL_OK · RILL_ERR_ARGUMENT (no sequence was added, or there are 2^31 nodes) · RILL_ERR_MEMORY · the failure that `write` returns */
RILL_API rill_status rill_trie_write(rill_trie *trie, rill_status (*write)(void *user, const void *bytes, size_t n),
                                     void *user);

RILL_C_END

#endif
