/* Scorer states; scorer_states.h. */
#include "scorer_states.h"

void scorer_states_finish(scorer_states *s)
{
    rill_free(s->ctx, s->node_states, s->node_states_bytes);
    rill_free(s->ctx, s->row_states, s->row_states_bytes);
    rill_columns_free(s->ctx, &s->memory);
}

static size_t max_state_bytes(const chain *c)
{
    size_t max_bytes = 0;
    for (int32_t i = c->n_heuristics; i < c->n; i++)
        if (c->link[i].scorer->state_bytes > max_bytes) max_bytes = c->link[i].scorer->state_bytes;
    return max_bytes;
}

rill_status scorer_states_begin(scorer_states *s, const chain *c, int32_t nodes, const row_table *rows,
                                const items *all, const input_queue *in)
{
    const rill_array columns[] = {RILL_ARRAY(s->text), RILL_ARRAY(s->length)};
    RILL__TRY(rill_columns_grow(s->ctx, &s->memory, (size_t)rows->n, columns, 2, "what scorers see"));
    for (int32_t i = 0; i < rows->n; i++) {
        const queued_input *entry = &in->entries[all->item[rows->slot[i]].queue_entry];
        s->text[i] = entry->text;
        s->length[i] = entry->length;
    }
    if (c->state_bytes == 0) return RILL_OK;
    RILL__TRY(RILL__GROW(s->ctx, s->row_states, s->row_states_bytes, (size_t)rows->n * max_state_bytes(c),
                         "scorers' states"));
    return RILL__GROW(s->ctx, s->node_states, s->node_states_bytes, (size_t)nodes * c->state_bytes, "scorers' states");
}

static char *node_state(const scorer_states *s, const chain *c, const chain_link *link, int32_t node)
{
    return s->node_states + (size_t)node * c->state_bytes + link->state_offset;
}

void *scorer_states_gather(scorer_states *s, const chain *c, const chain_link *link, const row_table *rows,
                           int32_t first, int32_t n)
{
    const size_t bytes = link->scorer->state_bytes;
    if (bytes == 0) return NULL;
    for (int32_t i = 0; i < n; i++) {
        int32_t parent = rows->state_parent[first + i];
        if (parent >= 0)
            memcpy(s->row_states + (size_t)i * bytes, node_state(s, c, link, parent), bytes);
        else
            memset(s->row_states + (size_t)i * bytes, 0, bytes);
    }
    return s->row_states;
}

void scorer_states_keep(scorer_states *s, const chain *c, const chain_link *link, const row_table *rows, int32_t first,
                        int32_t n)
{
    size_t bytes = link->scorer->state_bytes;
    for (int32_t i = 0; i < n && bytes > 0; i++)
        memcpy(node_state(s, c, link, rows->node[first + i]), s->row_states + (size_t)i * bytes, bytes);
}

int scorer_states_same(const scorer_states *s, const chain *c, const chain_link *link, const row_table *rows,
                       int32_t first, int32_t n)
{
    size_t bytes = link->scorer->state_bytes;
    for (int32_t i = 0; i < n && bytes > 0; i++)
        if (memcmp(node_state(s, c, link, rows->node[first + i]), s->row_states + (size_t)i * bytes, bytes) != 0)
            return 0;
    return 1;
}
