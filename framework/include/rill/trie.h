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
 * The scorer reads the whole file into memory, once for all workers of a context.
 * Threads: as the context. Stability: stable within a major version. */
#ifndef RILL_TRIE_H
#define RILL_TRIE_H

#include "rill/context.h"

RILL_C_BEGIN

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
