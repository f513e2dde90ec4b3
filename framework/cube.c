/* Cube pruning; cube.h.
 *
 * Divisions: memory · what is alike · classes · the second call. */
#include "rooms.h"

/* --- memory ------------------------------------------------------------------------------------------------------- */

static rill_cube cube_of(const rill_engine *e, const timestep *t, int32_t index)
{
    return (rill_cube)e->items.at[t->selected[index]].settings->cube;
}

int engine_cubed(const rill_engine *e, const timestep *t)
{
    if (e->settings.cube == RILL_CUBE_NONE && e->requests.n == 0) return 0;
    for (int32_t i = 0; i < t->n; i++)
        if (cube_of(e, t, i) != RILL_CUBE_NONE) return 1;
    return 0;
}

static rill_status reserve(rill_engine *e, timestep *t)
{
    cube_pass *c = &t->cube;
    const rill_array columns[] = {RILL_ARRAY(c->row),    RILL_ARRAY(c->taken), RILL_ARRAY(c->moved),
                                  RILL_ARRAY(c->source), RILL_ARRAY(c->cells), RILL_ARRAY(c->key),
                                  RILL_ARRAY(c->legal)};
    const rill_array places[] = {RILL_ARRAY(c->place)};
    size_t entries = 0, widest = 1;
    for (int32_t i = 0; i < t->n; i++) {
        const size_t width = (size_t)e->items.at[t->selected[i]].width;
        entries += width;
        while (widest < 2 * width) widest *= 2;
    }
    RILL__TRY(rill_columns_grow(e->ctx, &c->memory, entries, columns, sizeof columns / sizeof *columns, "classes"));
    return rill_columns_grow(e->ctx, &c->places, widest, places, 1, "classes");
}

static int any_naive(const rill_engine *e, const timestep *t)
{
    for (int32_t i = 0; i < t->n; i++)
        if (cube_of(e, t, i) == RILL_CUBE_NAIVE) return 1;
    return 0;
}

/* --- what is alike ------------------------------------------------------------------------------------------------ */

static rill_status ask_user(rill_engine *e, const timestep *t, int32_t first, int32_t n, int64_t *key)
{
    const rill_scorer_rows rows = engine_scorer_rows(e, t, first, n);
    rill_error_clear(e->ctx);
    rill_status status = e->cube_key(e->cube_key_user, &rows, key);
    return rill__method_status(e->ctx, status, "the function", "cube-key", "call");
}

/* Each item alone is to be treated as among others. */
static rill_status check_user(rill_engine *e, timestep *t)
{
    const row_table *r = &t->rows;
    int64_t *alone = t->cube.legal; /* not written yet */
    for (int32_t first = 0, n; first < r->n; first += n) {
        for (n = 1; first + n < r->n && r->item[first + n] == r->item[first];) n++;
        RILL__TRY(ask_user(e, t, first, n, alone));
        if (memcmp(alone, t->cube.key + first, (size_t)n * sizeof *alone) != 0)
            return rill_fail(
                e->ctx, RILL_ERR_CHECK,
                "cube-key treats input %lld differently alone than among others: it must look at one item at "
                "a time and remember nothing",
                (long long)r->item_id[first]);
    }
    return RILL_OK;
}

/* The rows are all live hypotheses of the selected items; none has a node yet. */
static rill_status find_keys(rill_engine *e, timestep *t)
{
    cube_pass *c = &t->cube;
    const row_table *r = &t->rows;
    if (e->cube_key == NULL) {
        for (int32_t i = 0; i < r->n; i++) c->key[i] = r->action[i];
    } else {
        RILL__TRY(scoring_begin(&e->scoring, &e->chain, e->forest.node_capacity, r, &e->items, &e->intake));
        RILL__TRY(ask_user(e, t, 0, r->n, c->key));
        if (e->settings.check) RILL__TRY(check_user(e, t));
    }
    memset(c->legal, 0, (size_t)r->n * sizeof *c->legal);
    if (e->domain->classify != NULL) {
        rill_rows rows = engine_domain_rows(t, 0, r->n);
        rows.node = NULL;
        rill_error_clear(e->ctx);
        RILL__TRY(engine_domain_status(e, e->domain->classify(e->self, &rows, c->legal), "classify"));
    }
    for (int32_t i = 0; i < r->n && e->forbidden.n > 0; i++)
        c->legal[i] = (int64_t)((uint64_t)c->legal[i] * UINT64_C(0x9E3779B97F4A7C15) +
                                (uint64_t)forbidden_class(&e->forbidden, e->forest.h, r->history[i]));
    return RILL_OK;
}

/* --- classes ------------------------------------------------------------------------------------------------------ */

static size_t hash(int64_t key, int64_t legal)
{
    uint64_t h = (uint64_t)key * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)legal * UINT64_C(0xC2B2AE3D27D4EB4F);
    return (size_t)(h ^ h >> 32);
}

/* Where the class of hypothesis i stands in the table, or is to. Classes are named by the hypotheses that represent them. */
static int32_t *find_class(cube_pass *c, size_t room, int32_t i)
{
    size_t at = hash(c->key[i], c->legal[i]) & (room - 1);
    while (c->place[at] >= 0 && (c->key[c->place[at]] != c->key[i] || c->legal[c->place[at]] != c->legal[i]))
        at = (at + 1) & (room - 1);
    return &c->place[at];
}

/* Give each live entry of item `index` its row, and move the rows that stay to *to. `base`: number of its first entry; `from`: its
 * first row. */
static void group_item(rill_engine *e, timestep *t, int32_t index, int32_t base, int32_t from, int32_t *to)
{
    cube_pass *c = &t->cube;
    item *it = &e->items.at[t->selected[index]];
    const rill_cube cube = cube_of(e, t, index);
    const int32_t before = *to;
    size_t room = 1;
    while (room < 2 * (size_t)it->live) room *= 2;
    if (cube != RILL_CUBE_NONE) memset(c->place, 0xFF, room * sizeof *c->place);
    for (int32_t rank = 0, i = from; rank < it->width; rank++) {
        beam_entry *entry = &it->beam[rank];
        c->taken[base + rank] = 0;
        c->row[base + rank] = CUBE_NO_ROW;
        if (entry->ended) continue;
        int32_t none = CUBE_NO_ROW, *representative = cube != RILL_CUBE_NONE ? find_class(c, room, i) : &none;
        if (*representative < 0) {
            *representative = i;
            c->moved[i] = *to;
            row_table_move(&t->rows, (*to)++, i);
        }
        c->row[base + rank] = c->moved[*representative];
        if (cube == RILL_CUBE_ACCELERATED) entry->carrier = t->rows.rank[c->row[base + rank]];
        i++;
    }
    if (cube == RILL_CUBE_NONE) return;
    e->statistics.all.cube_hypotheses += it->live;
    e->statistics.all.cube_classes += *to - before;
}

rill_status engine_cube_group(rill_engine *e, timestep *t)
{
    int32_t base = 0, from = 0, to = 0;
    t->cube.exact = 0;
    t->selector.thorough = e->settings.check || (t->cube.on && any_naive(e, t));
    t->cube.owed = 0;
    if (!t->cube.on) return RILL_OK;
    RILL__TRY(reserve(e, t));
    RILL__TRY(find_keys(e, t));
    for (int32_t i = 0; i < t->n; i++) {
        const item *it = &e->items.at[t->selected[i]];
        group_item(e, t, i, base, from, &to);
        base += it->width;
        from += it->live;
    }
    t->cube.owed = from - to;
    t->rows.n = t->cube.n_first = to;
    return RILL_OK;
}

/* --- the second call ---------------------------------------------------------------------------------------------- */

/* Of an item of naive cube pruning: representatives keep the cells that were taken, other hypotheses with any become rows. Rows of
 * representatives are numbered in order of rank, from *next on. */
static void rescore_item(rill_engine *e, timestep *t, int32_t index, int32_t base, int32_t *next)
{
    cube_pass *c = &t->cube;
    const item *it = &e->items.at[t->selected[index]];
    for (int32_t rank = 0; rank < it->width; rank++) {
        const int32_t at = base + rank, row = c->row[at];
        if (row == CUBE_NO_ROW) continue;
        if (row == *next) {
            t->selector.choices.count[row] = c->taken[at];
            ++*next;
            continue;
        }
        c->row[at] = CUBE_NO_ROW;
        if (c->taken[at] == 0) continue;
        c->source[t->rows.n] = row;
        c->cells[t->rows.n] = c->taken[at];
        c->row[at] = c->n_first + t->rows.n;
        engine_add_row(e, t, index, rank);
    }
}

rill_status engine_cube_rescore(rill_engine *e, timestep *t, int *more)
{
    int32_t base = 0, next = 0;
    *more = 0;
    if (!t->cube.on || t->cube.exact || !any_naive(e, t)) return RILL_OK;
    RILL__TRY(engine_reserve_children(e, t));
    engine_take_cells(e, t);
    t->rows.n = 0;
    for (int32_t i = 0; i < t->n; i++) {
        const int32_t width = e->items.at[t->selected[i]].width;
        if (cube_of(e, t, i) == RILL_CUBE_NAIVE)
            rescore_item(e, t, i, base, &next);
        else
            for (int32_t rank = 0; rank < width; rank++) next += t->cube.row[base + rank] == next;
        base += width;
    }
    statistics_lap(&e->statistics, &e->statistics.now.select);
    if (t->rows.n == 0) return RILL_OK;
    t->cube.exact = *more = 1;
    t->cube.owed -= t->rows.n;
    e->statistics.all.cube_rescored += t->rows.n;
    return engine_score_rows(e, t);
}

rill_status engine_cube_allow(timestep *t)
{
    const choice_table *first = &t->selector.choices;
    for (int32_t i = 0; i < t->rows.n; i++) {
        const int32_t *action = first->action + (size_t)t->cube.source[i] * (size_t)first->stride;
        for (int32_t j = 0; j < t->cube.cells[i]; j++) RILL__TRY(rill_ask_allow(&t->exact_asks, i, action[j]));
        t->exact_asks.blamed[i] = 0; /* no scorer of the chain */
    }
    return RILL_OK;
}
