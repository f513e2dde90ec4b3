/* Scoring; scoring.h. */
#include "scoring.h"

void scoring_finish(scoring *s)
{
    rill_free(s->ctx, s->states, s->states_bytes);
    rill_free(s->ctx, s->state, s->state_room);
    rill_columns_free(s->ctx, &s->memory);
}

static size_t largest_state(const chain *c)
{
    size_t most = 0;
    for (int32_t i = c->n_heuristics; i < c->n; i++)
        if (c->link[i].scorer->state_bytes > most) most = c->link[i].scorer->state_bytes;
    return most;
}

rill_status scoring_begin(scoring *s, const chain *c, int32_t nodes, const row_table *rows, const items *all,
                          const intake *in)
{
    const rill_array columns[] = {RILL_ARRAY(s->text), RILL_ARRAY(s->length)};
    RILL__TRY(rill_columns_grow(s->ctx, &s->memory, (size_t)rows->n, columns, 2, "what scorers see"));
    for (int32_t i = 0; i < rows->n; i++) {
        const intake_entry *entry = &in->entries[all->at[rows->slot[i]].entry];
        s->text[i] = entry->text;
        s->length[i] = entry->length;
    }
    if (c->state_bytes == 0) return RILL_OK;
    RILL__TRY(RILL__GROW(s->ctx, s->state, s->state_room, (size_t)rows->n * largest_state(c), "scorers' states"));
    return RILL__GROW(s->ctx, s->states, s->states_bytes, (size_t)nodes * c->state_bytes, "scorers' states");
}

static char *kept(const scoring *s, const chain *c, const chain_link *link, int32_t node)
{
    return s->states + (size_t)node * c->state_bytes + link->state_at;
}

void *scoring_gather(scoring *s, const chain *c, const chain_link *link, const row_table *rows, int32_t first,
                     int32_t n)
{
    const size_t bytes = link->scorer->state_bytes;
    if (bytes == 0) return NULL;
    for (int32_t i = 0; i < n; i++) {
        int32_t parent = rows->state_parent[first + i];
        if (parent >= 0)
            memcpy(s->state + (size_t)i * bytes, kept(s, c, link, parent), bytes);
        else
            memset(s->state + (size_t)i * bytes, 0, bytes);
    }
    return s->state;
}

void scoring_keep(scoring *s, const chain *c, const chain_link *link, const row_table *rows, int32_t first, int32_t n)
{
    size_t bytes = link->scorer->state_bytes;
    for (int32_t i = 0; i < n && bytes > 0; i++)
        memcpy(kept(s, c, link, rows->node[first + i]), s->state + (size_t)i * bytes, bytes);
}

int scoring_same(const scoring *s, const chain *c, const chain_link *link, const row_table *rows, int32_t first,
                 int32_t n)
{
    size_t bytes = link->scorer->state_bytes;
    for (int32_t i = 0; i < n && bytes > 0; i++)
        if (memcmp(kept(s, c, link, rows->node[first + i]), s->state + (size_t)i * bytes, bytes) != 0) return 0;
    return 1;
}
