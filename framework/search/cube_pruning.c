/* Cube pruning; cube_pruning.h.
 *
 * Divisions: memory · keys · classes · the second call. */
#include "engine_internal.h"

/* --- memory ------------------------------------------------------------------------------------------------------- */

static rill_cube item_cube(const rill_engine *e, const timestep *t, int32_t index)
{
    return (rill_cube)e->items.item[t->selected[index]].settings->cube;
}

int engine_uses_cube(const rill_engine *e, const timestep *t)
{
    if (e->settings.cube == RILL_CUBE_NONE && e->requests.n_requests == 0) return 0;
    for (int32_t i = 0; i < t->n; i++)
        if (item_cube(e, t, i) != RILL_CUBE_NONE) return 1;
    return 0;
}

static rill_status reserve_classes(rill_engine *e, timestep *t)
{
    cube_pass *c = &t->cube;
    const rill_array columns[] = {RILL_ARRAY(c->row),        RILL_ARRAY(c->n_taken), RILL_ARRAY(c->moved_to),
                                  RILL_ARRAY(c->source_row), RILL_ARRAY(c->n_cells), RILL_ARRAY(c->key),
                                  RILL_ARRAY(c->legal_class)};
    const rill_array places[] = {RILL_ARRAY(c->class_table)};
    size_t entries = 0, widest = 1;
    for (int32_t i = 0; i < t->n; i++) {
        const size_t width = (size_t)e->items.item[t->selected[i]].width;
        entries += width;
        while (widest < 2 * width) widest *= 2;
    }
    RILL__TRY(rill_columns_grow(e->ctx, &c->memory, entries, columns, sizeof columns / sizeof *columns, "classes"));
    return rill_columns_grow(e->ctx, &c->table_memory, widest, places, 1, "classes");
}

static int any_naive(const rill_engine *e, const timestep *t)
{
    for (int32_t i = 0; i < t->n; i++)
        if (item_cube(e, t, i) == RILL_CUBE_NAIVE) return 1;
    return 0;
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

static rill_status call_key_fn(rill_engine *e, const timestep *t, int32_t first, int32_t n, int64_t *key)
{
    const rill_scorer_rows rows = engine_scorer_rows(e, t, first, n);
    rill_error_clear(e->ctx);
    rill_status status = e->cube_key(e->cube_key_user, &rows, key);
    return rill__method_status(e->ctx, status, "the function", "cube-key", "call");
}

/* For the setting `check`: fail if an item's keys are not the same alone as among other items. */
static rill_status check_key_fn(rill_engine *e, timestep *t)
{
    const row_table *r = &t->rows;
    int64_t *alone = t->cube.legal_class; /* the array is not in use yet */
    for (int32_t first = 0, n; first < r->n; first += n) {
        for (n = 1; first + n < r->n && r->item[first + n] == r->item[first];) n++;
        RILL__TRY(call_key_fn(e, t, first, n, alone));
        if (memcmp(alone, t->cube.key + first, (size_t)n * sizeof *alone) != 0)
            return rill_fail(
                e->ctx, RILL_ERR_CHECK,
                "cube_key gives input %lld another result alone than in a batch: it must use one input at a time "
                "and keep no state",
                (long long)r->item_id[first]);
    }
    return RILL_OK;
}

/* Compute the keys of the rows, which are all live hypotheses of the selected items, still without nodes. */
static rill_status compute_keys(rill_engine *e, timestep *t)
{
    cube_pass *c = &t->cube;
    const row_table *r = &t->rows;
    if (e->cube_key == NULL) {
        for (int32_t i = 0; i < r->n; i++) c->key[i] = r->action[i];
    } else {
        RILL__TRY(scorer_states_begin(&e->scorer_states, &e->chain, e->hyps.node_capacity, r, &e->items, &e->queue));
        RILL__TRY(call_key_fn(e, t, 0, r->n, c->key));
        if (e->settings.check) RILL__TRY(check_key_fn(e, t));
    }
    memset(c->legal_class, 0, (size_t)r->n * sizeof *c->legal_class);
    if (e->domain->classify != NULL) {
        rill_rows rows = engine_domain_rows(t, 0, r->n);
        rows.node = NULL;
        rill_error_clear(e->ctx);
        RILL__TRY(engine_domain_status(e, e->domain->classify(e->self, &rows, c->legal_class), "classify"));
    }
    for (int32_t i = 0; i < r->n && e->bad_words.n > 0; i++)
        c->legal_class[i] = (int64_t)((uint64_t)c->legal_class[i] * UINT64_C(0x9E3779B97F4A7C15) +
                                      (uint64_t)bad_words_class(&e->bad_words, e->hyps.hyp, r->hyp[i]));
    return RILL_OK;
}

/* --- classes ------------------------------------------------------------------------------------------------------ */

static size_t hash(int64_t key, int64_t legal)
{
    uint64_t h = (uint64_t)key * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)legal * UINT64_C(0xC2B2AE3D27D4EB4F);
    return (size_t)(h ^ h >> 32);
}

/* Return the hash table's entry for the class of hypothesis i, or the free entry for it. An entry is the index of the class's
 * representative. */
static int32_t *find_class(cube_pass *c, size_t size, int32_t i)
{
    size_t index = hash(c->key[i], c->legal_class[i]) & (size - 1);
    while (c->class_table[index] >= 0 &&
           (c->key[c->class_table[index]] != c->key[i] || c->legal_class[c->class_table[index]] != c->legal_class[i]))
        index = (index + 1) & (size - 1);
    return &c->class_table[index];
}

/* Assign each live beam entry of item `index` to the row of its class's representative, and move the rows of representatives to index *to
 * and above. `base`: index of the item's first beam entry; `from`: the item's first row. */
static void group_item(rill_engine *e, timestep *t, int32_t index, int32_t base, int32_t from, int32_t *to)
{
    cube_pass *c = &t->cube;
    item *it = &e->items.item[t->selected[index]];
    const rill_cube cube = item_cube(e, t, index);
    const int32_t old_to = *to;
    size_t table_size = 1;
    while (table_size < 2 * (size_t)it->n_live) table_size *= 2;
    if (cube != RILL_CUBE_NONE) memset(c->class_table, 0xFF, table_size * sizeof *c->class_table);
    for (int32_t rank = 0, i = from; rank < it->width; rank++) {
        beam_entry *entry = &it->beam[rank];
        c->n_taken[base + rank] = 0;
        c->row[base + rank] = CUBE_NO_ROW;
        if (entry->ended) continue;
        int32_t none = CUBE_NO_ROW, *representative = cube != RILL_CUBE_NONE ? find_class(c, table_size, i) : &none;
        if (*representative < 0) {
            *representative = i;
            c->moved_to[i] = *to;
            row_table_move(&t->rows, (*to)++, i);
        }
        c->row[base + rank] = c->moved_to[*representative];
        if (cube == RILL_CUBE_ACCELERATED) entry->state_rank = t->rows.rank[c->row[base + rank]];
        i++;
    }
    if (cube == RILL_CUBE_NONE) return;
    e->statistics.total.cube_hypotheses += it->n_live;
    e->statistics.total.cube_classes += *to - old_to;
}

rill_status engine_cube_group(rill_engine *e, timestep *t)
{
    int32_t base = 0, from = 0, to = 0;
    t->cube.second_call = 0;
    t->topk.check_all = e->settings.check || (t->cube.active && any_naive(e, t));
    t->cube.reserved_nodes = 0;
    if (!t->cube.active) return RILL_OK;
    RILL__TRY(reserve_classes(e, t));
    RILL__TRY(compute_keys(e, t));
    for (int32_t i = 0; i < t->n; i++) {
        const item *it = &e->items.item[t->selected[i]];
        group_item(e, t, i, base, from, &to);
        base += it->width;
        from += it->n_live;
    }
    t->cube.reserved_nodes = from - to;
    t->rows.n = t->cube.n_first_rows = to;
    return RILL_OK;
}

/* --- the second call ---------------------------------------------------------------------------------------------- */

/* Naive cube pruning of one item: representatives keep the cells that were taken, and other hypotheses of which cells were taken get rows
 * in the second call. Rows of representatives are numbered by rank, from *next on. */
static void rescore_item(rill_engine *e, timestep *t, int32_t index, int32_t base, int32_t *next)
{
    cube_pass *c = &t->cube;
    const item *it = &e->items.item[t->selected[index]];
    for (int32_t rank = 0; rank < it->width; rank++) {
        const int32_t entry_index = base + rank, row = c->row[entry_index];
        if (row == CUBE_NO_ROW) continue;
        if (row == *next) {
            t->topk.choices.count[row] = c->n_taken[entry_index];
            ++*next;
            continue;
        }
        c->row[entry_index] = CUBE_NO_ROW;
        if (c->n_taken[entry_index] == 0) continue;
        c->source_row[t->rows.n] = row;
        c->n_cells[t->rows.n] = c->n_taken[entry_index];
        c->row[entry_index] = c->n_first_rows + t->rows.n;
        engine_add_row(e, t, index, rank);
    }
}

rill_status engine_cube_rescore(rill_engine *e, timestep *t, int *more)
{
    int32_t base = 0, next = 0;
    *more = 0;
    if (!t->cube.active || t->cube.second_call || !any_naive(e, t)) return RILL_OK;
    RILL__TRY(engine_reserve_children(e, t));
    engine_count_cube_cells(e, t);
    t->rows.n = 0;
    for (int32_t i = 0; i < t->n; i++) {
        const int32_t width = e->items.item[t->selected[i]].width;
        if (item_cube(e, t, i) == RILL_CUBE_NAIVE)
            rescore_item(e, t, i, base, &next);
        else
            for (int32_t rank = 0; rank < width; rank++) next += t->cube.row[base + rank] == next;
        base += width;
    }
    statistics_end_stage(&e->statistics, &e->statistics.current.select);
    if (t->rows.n == 0) return RILL_OK;
    t->cube.second_call = *more = 1;
    t->cube.reserved_nodes -= t->rows.n;
    e->statistics.total.cube_rescored += t->rows.n;
    return engine_step_rows(e, t);
}

rill_status engine_cube_restrict(timestep *t)
{
    const choice_table *first = &t->topk.choices;
    for (int32_t i = 0; i < t->rows.n; i++) {
        const int32_t *action = first->action + (size_t)t->cube.source_row[i] * (size_t)first->stride;
        for (int32_t j = 0; j < t->cube.n_cells[i]; j++)
            RILL__TRY(rill_modifiers_allow(&t->cube_modifiers, i, action[j]));
        t->cube_modifiers.blocked_by[i] = 0; /* this restriction is not a scorer's */
    }
    return RILL_OK;
}
