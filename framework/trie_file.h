/* Tries of allowed sequences as they are read: one for all who name the same file, rill/trie.h has the format. */
#ifndef RILL_TRIE_FILE_H
#define RILL_TRIE_FILE_H

#include "internal.h"
#include "rill/domain.h"

#define TRIE_MAGIC "rilltrie" /* without its NUL */
enum { TRIE_VERSION = 1 };

/* What a file begins with. */
typedef struct trie_header {
    char magic[8] __attribute__((nonstring));
    uint32_t version, actions, nodes, longest;
    uint64_t sequences;
} trie_header;

_Static_assert(sizeof(trie_header) == 32, "as the format has it");

typedef struct trie {
    struct trie *next; /* in the first context's list */
    rill__file_id id;
    int64_t modified_ns; /* when the file was, in nanoseconds */
    int32_t n_users;
    size_t bytes; /* allocated */
    trie_header header;
    const uint32_t *first; /* [nodes + 1] */
    const int32_t *action; /* [nodes] */
} trie;

/* Have the trie of a file, read it if nobody has it. Ends with trie_release().
 *   RILL_OK · what rill_file_open() returns · RILL_ERR_FORMAT (recorded) · RILL_ERR_MEMORY */
rill_status trie_acquire(trie **out, rill_context *ctx, const char *path);
void trie_release(rill_context *ctx, trie *t); /* NULL is allowed */

/* The child of a node that an action leads to; 0: there is none. */
uint32_t trie_child(const trie *t, uint32_t node, int32_t action);

#endif
