/* Trie files (format: rill/constraints.h): writing, reading, and the scorer
 *
 *   trie:FILE   outputs are sequences of the set in the file
 *
 * The writer sorts the sequences. A trie node is a range of them, split by next action, level by level.
 *
 * The reader validates a file, so walking needs no checks: children follow their parent, actions ascend and belong to the model. */
#include <stdlib.h>
#include <sys/stat.h>

#include "internal.h"
#include "rill/carve.h"
#include "rill/constraints.h"
#include "rill/file.h"
#include "text_constraints.h"

/* --- building and writing a trie ---------------------------------------------------------------------------------- */

struct rill_trie {
    rill_context *ctx;
    int32_t actions, longest;
    int32_t *store; /* [n_store] the sequences one after another, each as its length followed by its actions */
    size_t n_store, store_capacity;
    size_t n;
    const int32_t **sequence; /* [n] pointers to the sequences in `store`, in sorted order */
    size_t sequences_capacity;
    /* Columns of trie nodes. first: first child; action: the action that leads to the node; low: first sequence of its range. */
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
    RILL__TRY(RILL__GROW_COLUMNS(t->ctx, &t->columns, t->nodes + 2, columns, "a trie"));
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

/* Add the children of trie node v: one per distinct next action in its range of sequences. */
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

/* --- reading a trie ----------------------------------------------------------------------------------------------- */

static rill_status fail_format(const rill_file *file, const char *what)
{
    return rill_fail(file->ctx, RILL_ERR_FORMAT, "%s: %s: expected a file of `rill trie`", file->path, what);
}

static int children_in_order(const trie *t, uint32_t v)
{
    if (t->first[v + 1] < t->first[v] || t->first[v + 1] > t->header.nodes) return 0;
    for (uint32_t c = t->first[v]; c < t->first[v + 1]; c++)
        if (t->action[c] < 0 || (uint32_t)t->action[c] >= t->header.actions ||
            (c > t->first[v] && t->action[c] <= t->action[c - 1]))
            return 0;
    return 1;
}

static rill_status check_nodes(const trie *t, const rill_file *file)
{
    uint32_t reached = 1; /* trie nodes below this number are children of a checked node, or the root */
    for (uint32_t v = 0; v < t->header.nodes; v++) {
        if (v >= reached || t->first[v] != reached || !children_in_order(t, v))
            return fail_format(file, "its nodes are out of order");
        reached = t->first[v + 1];
    }
    return reached == t->header.nodes ? RILL_OK : fail_format(file, "its nodes are out of order");
}

static rill_status check_head(const trie_header *head, const rill_file *file)
{
    if (memcmp(head->magic, TRIE_MAGIC, sizeof head->magic) != 0) return fail_format(file, "it is not a trie");
    if (head->version != TRIE_VERSION || head->nodes < 2 || head->nodes > INT32_MAX)
        return fail_format(file, "it has another version, or is empty");
    if (file->size != sizeof *head + ((uint64_t)head->nodes * 2 + 1) * 4)
        return fail_format(file, "its size differs from the size in its header");
    return RILL_OK;
}

/* Read a trie. It is allocated from the root context, since all workers share it. */
static rill_status read_trie(trie **out, const rill_file *file)
{
    rill_context *first = file->ctx->root_ctx;
    trie_header head;
    if (file->size < sizeof head) return fail_format(file, "it is not a trie");
    RILL__TRY(rill_file_get(file, 0, sizeof head, &head));
    RILL__TRY(check_head(&head, file));
    const size_t numbers = (size_t)head.nodes * 2 + 1, bytes = sizeof(trie) + numbers * 4;
    trie *t = rill_alloc(first, bytes);
    if (t == NULL) return rill_fail_memory(file->ctx, bytes, "a trie");
    uint32_t *data = (uint32_t *)(t + 1);
    *t = (trie){.bytes = bytes, .header = head, .first = data, .action = (const int32_t *)(data + head.nodes + 1)};
    rill_status status = rill_file_get(file, sizeof head, numbers * 4, data);
    if (status >= 0) status = check_nodes(t, file);
    if (status < 0)
        rill_free(first, t, bytes);
    else
        *out = t;
    return status;
}

/* --- sharing a loaded trie ---------------------------------------------------------------------------------------- */

static trie *find_trie(const rill_context *first, const struct stat *info, int64_t changed)
{
    for (trie *t = first->tries; t != NULL; t = t->next)
        if (t->id.device == info->st_dev && t->id.number == info->st_ino && t->modified_ns == changed) return t;
    return NULL;
}

/* Find the file's trie among those in use, or read it, and count one more user. The root context's lock is held. */
static rill_status acquire(trie **out, rill_context *first, const rill_file *file)
{
    struct stat info;
    if (fstat(file->descriptor, &info) != 0) return fail_format(file, "it cannot be read");
    const int64_t changed = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    *out = find_trie(first, &info, changed);
    if (*out == NULL) {
        RILL__TRY(read_trie(out, file));
        (*out)->id = (rill__file_id){info.st_dev, info.st_ino};
        (*out)->modified_ns = changed;
        (*out)->next = first->tries;
        first->tries = *out;
    }
    (*out)->n_users++;
    return RILL_OK;
}

rill_status trie_acquire(trie **out, rill_context *ctx, const char *path)
{
    rill_file file __attribute__((cleanup(rill_file_close)));
    *out = NULL;
    RILL__TRY(rill_file_open(&file, ctx, path, RILL_FILE_REGULAR));
    RILL__LOCK_SCOPE(&ctx->root_ctx->lock);
    return acquire(out, ctx->root_ctx, &file);
}

void trie_release(rill_context *ctx, trie *t)
{
    rill_context *first = ctx->root_ctx;
    if (t == NULL) return;
    RILL__LOCK_SCOPE(&first->lock);
    if (--t->n_users > 0) return;
    trie **link = &first->tries;
    while (*link != t) link = &(*link)->next;
    *link = t->next;
    rill_free(first, t, t->bytes);
}

uint32_t trie_child(const trie *t, uint32_t node, int32_t action)
{
    const uint32_t first = t->first[node];
    const int32_t found = rill__find_sorted(t->action + first, (int32_t)(t->first[node + 1] - first), action);
    return found < 0 ? 0 : first + (uint32_t)found;
}

/* --- the scorer --------------------------------------------------------------------------------------------------- */

typedef struct trie_scorer {
    rill_context *ctx;
    trie *trie; /* the trie of allowed outputs; NULL: outputs are not restricted */
} trie_scorer;

static void destroy_trie(void *self)
{
    trie_scorer *s = self;
    if (s == NULL) return;
    trie_release(s->ctx, s->trie);
    rill_free(s->ctx, s, sizeof *s);
}

static rill_status create_trie(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)table;
    trie_scorer *s = *self = rill_alloc(ctx, sizeof *s);
    if (s == NULL) return rill_fail_memory(ctx, sizeof *s, "a scorer");
    *s = (trie_scorer){.ctx = ctx};
    return RILL_OPENED(arguments[0] != '\0' ? trie_acquire(&s->trie, ctx, arguments) : RILL_OK, self, destroy_trie);
}

/* Returns the forced first action (rill_domain.first_action) if the hypothesis has at most one action and no sequence begins with it; else
 * RILL_NO_ACTION. */
static int32_t leading_action(const trie_scorer *s, const rill_scorer_rows *rows, int32_t row)
{
    if (rows->timestep[row] > 1) return RILL_NO_ACTION;
    const int32_t first = row_first_action(rows, row, s->ctx);
    for (uint32_t c = s->trie->first[0]; c < s->trie->first[1]; c++)
        if (s->trie->action[c] == first) return RILL_NO_ACTION;
    return first;
}

/* Restrict each row to the children of its trie node. A hypothesis outside the trie, by another scorer's end rule, may not continue. */
static rill_status score_trie(void *self, const rill_scorer_rows *rows, rill_modifiers *mods)
{
    const trie_scorer *s = self;
    const trie *t = s->trie;
    uint32_t *node = rows->state;
    if (t == NULL) return RILL_OK;
    if ((uint32_t)rows->info->actions != t->header.actions)
        return rill_fail(s->ctx, RILL_ERR_OPTION,
                         "trie: the file was made for a model with %u actions, and this model has %d",
                         t->header.actions, rows->info->actions);
    for (int32_t row = 0; row < rows->n; row++) {
        const rill_hyp_node *h = &rows->hyp_nodes[rows->hyp_node[row]];
        const int32_t first = leading_action(s, rows, row);
        if (first >= 0 && h->parent < 0) RILL__TRY(rill_modifiers_allow(mods, row, first));
        if (first >= 0 && h->parent < 0) continue;
        node[row] = h->parent < 0 || first >= 0 ? 0 : trie_child(t, node[row], h->action);
        const uint32_t end = t->first[node[row] + 1];
        if (t->first[node[row]] == end) RILL__TRY(rill_modifiers_allow_none(mods, row));
        for (uint32_t c = t->first[node[row]]; c < end; c++) RILL__TRY(rill_modifiers_allow(mods, row, t->action[c]));
    }
    return RILL_OK;
}

const rill_scorer rill__trie_scorer = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_scorer),
    .name = "trie",
    .arguments = "FILE",
    .summary = "outputs are sequences of a set, from a file made by `rill trie`",
    .create = create_trie,
    .score = score_trie,
    .destroy = destroy_trie,
    .state_bytes = sizeof(uint32_t),
    .max_bonus = rill__no_bonus,
};
