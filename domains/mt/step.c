/* Making states: one target position through the decoder's layers, for rows of all items and lengths at once.
 *
 * A row's keys and values go where they stay, into its node's row of each layer's table. What it attends to are the
 * rows of the nodes before it and its own, found by walking `above` from the node to the root, once per step for all
 * layers. Rows are taken in blocks, so that what one operation hands to the next stays in the caches.
 *
 * Invariant: a row's result is a function of its path's actions and its slot alone (kernels.h). A row of a call that
 * makes states never lies on another's path. Divisions: paths · layers · blocks. */
#include <math.h>
#include <string.h>

#include "model.h"

enum { BLOCK = 256 }; /* rows: queries, contexts and the inner layer of 256 rows of 512 and 2048 take 4 MB */

/* Rows of a call that go through the layers together, and the arrays they need on the way. */
typedef struct block {
    size_t rows, longest, places; /* longest path or memory; sum of the path lengths */
    const int32_t *node, *slot;   /* [rows] */
    int32_t *action;              /* [rows] what is embedded */
    int32_t *position;            /* [rows] */
    int32_t *length;              /* [rows] of the paths */
    const int32_t **path;         /* [rows] root first */
    int32_t *place;               /* [places] nodes, path behind path */
    const float **keys;           /* [rows] the layer's table, for each row */
    const float **values;         /* [rows] */
    float *x;                     /* [rows, D] */
    float *query;                 /* [rows, D] */
    float *context;               /* [rows, D] */
    float *inner;                 /* [rows, F] */
    float *weights;               /* [rows, heads, longest] */
    const mt_watcher *watcher;    /* NULL: the states are made; else they are there, and only looked at */
} block;

static void lay_out(const mt_model *m, block *b, rill_carver *c)
{
    b->action = rill_carve(c, b->rows, sizeof *b->action);
    b->position = rill_carve(c, b->rows, sizeof *b->position);
    b->length = rill_carve(c, b->rows, sizeof *b->length);
    b->path = rill_carve(c, b->rows, sizeof *b->path);
    b->place = rill_carve(c, b->places, sizeof *b->place);
    b->keys = rill_carve(c, b->rows, sizeof *b->keys);
    b->values = rill_carve(c, b->rows, sizeof *b->values);
    b->x = rill_carve(c, b->rows * m->width, sizeof *b->x);
    b->query = rill_carve(c, b->rows * m->width, sizeof *b->query);
    b->context = rill_carve(c, b->rows * m->width, sizeof *b->context);
    b->inner = rill_carve(c, b->rows * m->decoder.inner, sizeof *b->inner);
    b->weights = rill_carve(c, b->rows * m->decoder.heads * b->longest, sizeof *b->weights);
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

/* Note where a new node hangs. */
static void link_node(mt_model *m, int32_t node, int32_t before, int32_t slot)
{
    m->above[node] = before;
    m->depth[node] = before == RILL_NO_NODE ? 0 : m->depth[before] + 1;
    if (before == RILL_NO_NODE) m->slot[slot].root = node;
}

/* Note where each node of the block hangs, and how much room the paths need. */
static rill_status link_nodes(mt_model *m, const rill_rows *rows, size_t from, block *b)
{
    for (size_t r = 0; r < b->rows; r++) {
        const int32_t node = b->node[r];
        if (b->watcher == NULL) link_node(m, node, rows->state_parent[from + r], b->slot[r]);
        if (m->depth[node] >= m->positions)
            return rill_fail(m->ctx, RILL_ERR_ARGUMENT,
                             "mt: the model has %d positions, none is left for the next action", m->positions);
        size_t length = (size_t)m->depth[node] + 1, memory = (size_t)m->slot_length[b->slot[r]];
        b->places += length;
        if (length > b->longest) b->longest = length;
        if (memory > b->longest) b->longest = memory;
    }
    return RILL_OK;
}

static void walk_paths(const mt_model *m, const rill_rows *rows, size_t from, block *b)
{
    int32_t *place = b->place;
    for (size_t r = 0; r < b->rows; r++) {
        int32_t node = b->node[r], action = rows->action[from + r];
        b->action[r] = action == RILL_ACTION_START ? m->settings.start : action;
        b->position[r] = m->depth[node];
        b->length[r] = m->depth[node] + 1;
        b->path[r] = place;
        for (int32_t t = b->position[r]; t >= 0; t--, node = m->above[node]) place[t] = node;
        place += b->length[r];
    }
}

/* --- layers ------------------------------------------------------------------------------------------------------- */

/* b->query to b->context; the caller adds keys, values, lengths and who reads which. */
static rill_attention attention_of(const mt_model *m, const block *b)
{
    size_t head = m->width / m->decoder.heads;
    return (rill_attention){.rows = b->rows,
                            .heads = m->decoder.heads,
                            .key_width = head,
                            .scale = 1.0f / sqrtf((float)head),
                            .query = b->query,
                            .ld_query = m->width,
                            .ld_keys = 2 * m->width,
                            .ld_values = 2 * m->width,
                            .weights = b->weights,
                            .ld_weights = b->longest,
                            .out = b->context,
                            .ld_out = m->width};
}

/* Of the path: keys and values of the new nodes first, since each attends to itself as well. */
static void attend_path(const mt_model *m, size_t index, const block *b)
{
    const mt_attention *self = &m->decoder.layer[index].self;
    float *table = m->memory[index].rows;
    rill_gemm query = mt_product(&self->query, b->rows, b->x, b->query);
    rill_gemm memory = mt_product(&self->memory, b->rows, b->x, table);
    memory.c_index = b->node;
    m->kernels.gemm(&query, m->threads.pool);
    if (b->watcher == NULL) m->kernels.gemm(&memory, m->threads.pool);
    for (size_t r = 0; r < b->rows; r++) {
        b->keys[r] = table;
        b->values[r] = table + m->width;
    }
    rill_attention attention = attention_of(m, b);
    attention.slot_keys = b->keys;
    attention.slot_values = b->values;
    attention.length = b->length;
    attention.slot_path = b->path;
    m->kernels.attention(&attention, m->threads.pool);
    mt_add_norm(m, &self->out, &self->norm, b->rows, b->context, b->x);
}

/* Of the input, whose keys and values lie in its slot. */
static void attend_input(const mt_model *m, size_t index, const block *b)
{
    const mt_attention *cross = &m->decoder.layer[index].cross;
    rill_gemm query = mt_product(&cross->query, b->rows, b->x, b->query);
    m->kernels.gemm(&query, m->threads.pool);
    for (size_t r = 0; r < b->rows; r++) {
        const mt_slot *slot = &m->slot[b->slot[r]];
        /* Of an empty input nothing is read; the pointer need only be one. */
        const float *memory = slot->length > 0 ? slot->rows : m->top;
        m->slot_keys[b->slot[r]] = memory + index * (size_t)slot->length * 2 * m->width;
        m->slot_values[b->slot[r]] = m->slot_keys[b->slot[r]] + m->width;
    }
    rill_attention attention = attention_of(m, b);
    attention.slot_keys = m->slot_keys;
    attention.slot_values = m->slot_values;
    attention.length = m->slot_length;
    attention.slot = b->slot;
    m->kernels.attention(&attention, m->threads.pool);
    mt_add_norm(m, &cross->out, &cross->norm, b->rows, b->context, b->x);
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

static rill_status run_block(mt_model *m, const rill_rows *rows, size_t from, block *b)
{
    rill_carver carver = {0};
    TRY(link_nodes(m, rows, from, b));
    lay_out(m, b, &carver);
    TRY(mt_carve_again(m, &carver));
    lay_out(m, b, &carver);
    walk_paths(m, rows, from, b);
    const mt_symbols symbols = {.rows = b->rows, .most = b->longest, .id = b->action, .position = b->position};
    TRY(mt_embed(m, &m->decoder, &symbols, b->x));
    for (size_t i = 0; i < m->decoder.layers; i++) {
        attend_path(m, i, b);
        attend_input(m, i, b);
        if (b->watcher != NULL && i + 1 == m->decoder.layers) {
            b->watcher->see(b->watcher->user, from, b->rows, b->weights, b->longest);
            return RILL_OK;
        }
        mt_feed_forward(m, &m->decoder.layer[i].feed, b->rows, b->x, b->inner);
    }
    rill_gather keep = {.rows = b->rows,
                        .width = m->width,
                        .src = b->x,
                        .ld_src = m->width,
                        .dst = m->top,
                        .ld_dst = m->width,
                        .dst_index = b->node};
    m->kernels.gather(&keep, m->threads.pool);
    return RILL_OK;
}

static rill_status run(mt_model *m, const rill_rows *rows, const mt_watcher *watcher)
{
    size_t n = (size_t)rows->n;
    for (size_t from = 0; from < n; from += BLOCK) {
        block b = {.rows = n - from < BLOCK ? n - from : BLOCK,
                   .node = rows->node + from,
                   .slot = rows->slot + from,
                   .watcher = watcher};
        TRY(run_block(m, rows, from, &b));
    }
    return RILL_OK;
}

rill_status mt_step(mt_model *m, const rill_rows *rows)
{
    return run(m, rows, NULL);
}

rill_status mt_watch(mt_model *m, const rill_rows *rows, const mt_watcher *watcher)
{
    return run(m, rows, watcher);
}
