/* Trie files in memory: a file is loaded once for all of its users. rill/constraints.h documents the format. */
#ifndef RILL_TRIE_FILE_H
#define RILL_TRIE_FILE_H

#include "internal.h"
#include "rill/domain.h"

#define TRIE_MAGIC "rilltrie" /* first bytes of a trie file, without the NUL */
enum { TRIE_VERSION = 1 };

/* The header of a trie file. */
typedef struct trie_header {
    char magic[8] __attribute__((nonstring));
    uint32_t version, actions, nodes, longest;
    uint64_t sequences;
} trie_header;

_Static_assert(sizeof(trie_header) == 32, "as the format has it");

typedef struct trie {
    struct trie *next; /* next trie in the root context's list */
    rill__file_id id;
    int64_t modified_ns; /* the file's modification time in nanoseconds */
    int32_t n_users;
    size_t bytes; /* size of the allocation */
    trie_header header;
    const uint32_t *first; /* [nodes + 1] */
    const int32_t *action; /* [nodes] */
} trie;

/* Get the trie of a file; read it if it is not loaded. Release with trie_release().
 *   RILL_OK · what rill_file_open() returns · RILL_ERR_FORMAT (recorded) · RILL_ERR_MEMORY */
rill_status trie_acquire(trie **out, rill_context *ctx, const char *path);
void trie_release(rill_context *ctx, trie *t); /* NULL is allowed */

/* The child of `node` that `action` leads to; 0: there is none. */
uint32_t trie_child(const trie *t, uint32_t node, int32_t action);

#endif
