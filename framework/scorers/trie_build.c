/* Building tries; rill/trie.h documents the format. Sequences are sorted, so that each node corresponds to a range of
 * sequences: the ones that begin with the node's path. Ranges are split by the next action, level by level, which is the
 * order of nodes in the file. */
#include <stdlib.h>

#include "internal.h"
#include "rill/carve.h"
#include "rill/trie.h"
#include "trie_file.h"

struct rill_trie {
    rill_context *ctx;
    int32_t actions, longest;
    int32_t *store; /* [n_store] the sequences one after another, each as its length and its actions */
    size_t n_store, store_capacity;
    size_t n;
    const int32_t **sequence; /* [n] pointers into `store`, sorted */
    size_t sequences_capacity;
    /* Columns of nodes, [nodes]. first: a node's first child; action: the action that leads to the node; low: the first
     * sequence of the node's range. */
    uint32_t *first;
    int32_t *action, *depth;
    size_t *low;
    size_t nodes;
    rill_columns columns;
};

rill_status rill_trie_create(rill_trie **out, rill_context *ctx, int32_t actions)
{
    rill_trie *t = rill_calloc(ctx, 1, sizeof *t);
    *out = t;
    if (t == NULL) return rill_fail_memory(ctx, sizeof *t, "a trie");
    t->ctx = ctx;
    t->actions = actions;
    return RILL_OK;
}

void rill_trie_free(rill_trie *t)
{
    if (t == NULL) return;
    rill_free(t->ctx, t->store, t->store_capacity * sizeof *t->store);
    rill_free(t->ctx, t->sequence, t->sequences_capacity * sizeof *t->sequence);
    rill_columns_free(t->ctx, &t->columns);
    rill_free(t->ctx, t, sizeof *t);
}

rill_status rill_trie_add(rill_trie *t, const int32_t *action, int32_t n)
{
    if (n < 1)
        return rill_fail(t->ctx, RILL_ERR_ARGUMENT, "a sequence of the trie has %d actions: expected at least 1", n);
    for (int32_t i = 0; i < n; i++)
        if (action[i] < 0 || action[i] >= t->actions)
            return rill_fail(t->ctx, RILL_ERR_ARGUMENT, "a sequence of the trie has action %d, which is not one of %d",
                             action[i], t->actions);
    RILL__TRY(RILL__GROW(t->ctx, t->store, t->store_capacity, t->n_store + (size_t)n + 1, "sequences"));
    t->store[t->n_store++] = n;
    memcpy(t->store + t->n_store, action, (size_t)n * sizeof *action);
    t->n_store += (size_t)n;
    t->n++;
    if (n > t->longest) t->longest = n;
    return RILL_OK;
}

static int compare_sequences(const void *left, const void *right)
{
    const int32_t *const *l = left, *const *r = right;
    const int32_t *a = *l, *b = *r;
    for (int32_t i = 1; i <= a[0] && i <= b[0]; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return (a[0] > b[0]) - (a[0] < b[0]);
}

static rill_status sort_sequences(rill_trie *t)
{
    size_t i = 0;
    RILL__TRY(RILL__GROW(t->ctx, t->sequence, t->sequences_capacity, t->n, "sequences"));
    for (size_t offset = 0; offset < t->n_store; offset += (size_t)t->store[offset] + 1)
        t->sequence[i++] = t->store + offset;
    qsort(t->sequence, t->n, sizeof *t->sequence, compare_sequences);
    return RILL_OK;
}

static rill_status add_node(rill_trie *t, int32_t action, int32_t depth, size_t low)
{
    const rill_array columns[] = {RILL_ARRAY(t->first), RILL_ARRAY(t->action), RILL_ARRAY(t->depth),
                                  RILL_ARRAY(t->low)};
    if (t->nodes == INT32_MAX) return rill_fail(t->ctx, RILL_ERR_ARGUMENT, "the trie would have 2^31 nodes or more");
    RILL__TRY(
        rill_columns_grow(t->ctx, &t->columns, t->nodes + 2, columns, sizeof columns / sizeof *columns, "a trie"));
    t->action[t->nodes] = action;
    t->depth[t->nodes] = depth;
    t->low[t->nodes++] = low;
    return RILL_OK;
}

/* Whether sequences i and i - 1 agree in their first `depth` actions. */
static int same_path(const rill_trie *t, size_t i, int32_t depth)
{
    const int32_t *a = t->sequence[i], *b = t->sequence[i - 1];
    return a[0] >= depth && b[0] >= depth && memcmp(a + 1, b + 1, (size_t)depth * sizeof *a) == 0;
}

/* Add the children of node v: one for each distinct next action in its range. */
static rill_status add_children(rill_trie *t, size_t v)
{
    const int32_t depth = t->depth[v];
    size_t i = t->low[v];
    do {
        const int32_t *s = t->sequence[i];
        const int is_new = i == t->low[v] || !same_path(t, i, depth + 1);
        if (s[0] > depth && is_new) RILL__TRY(add_node(t, s[depth + 1], depth + 1, i));
        i++;
    } while (i < t->n && same_path(t, i, depth));
    return RILL_OK;
}

static rill_status make_nodes(rill_trie *t)
{
    t->nodes = 0;
    RILL__TRY(add_node(t, RILL_NO_ACTION, 0, 0));
    for (size_t v = 0; v < t->nodes; v++) {
        t->first[v] = (uint32_t)t->nodes;
        RILL__TRY(add_children(t, v));
    }
    t->first[t->nodes] = (uint32_t)t->nodes;
    return RILL_OK;
}

rill_status rill_trie_write(rill_trie *t, rill_status (*write)(void *user, const void *bytes, size_t n), void *user)
{
    if (t->n == 0) return rill_fail(t->ctx, RILL_ERR_ARGUMENT, "the trie has no sequences");
    RILL__TRY(sort_sequences(t));
    RILL__TRY(make_nodes(t));
    const trie_header head = {.magic = TRIE_MAGIC,
                              .version = TRIE_VERSION,
                              .actions = (uint32_t)t->actions,
                              .nodes = (uint32_t)t->nodes,
                              .longest = (uint32_t)t->longest,
                              .sequences = t->n};
    RILL__TRY(write(user, &head, sizeof head));
    RILL__TRY(write(user, t->first, (t->nodes + 1) * sizeof *t->first));
    return write(user, t->action, t->nodes * sizeof *t->action);
}
