/* Cube pruning (Zhang et al. 2018, "Speeding up neural machine translation decoding by cube pruning"). Equivalent live hypotheses of a
 * beam form a class. Only the best, the representative, is expanded; its choices serve the class.
 *
 *   accelerated   a child gets the log-probability of the representative's child, and continues its state
 *   naive         a second scoring pass gives the best children of other hypotheses exact scores, from their own states
 *
 * Hypotheses are equivalent if they have the same key and the same class of the domain (rill_domain.classify). The key is the last action,
 * or the result of a user's function. The class makes sure that the same actions are legal. */
#include "engine_internal.h"

/* Data of cube pruning in one timestep. */
typedef struct cube_pass {
    rill_columns memory, table_memory;
    int32_t *row; /* [entries] row whose choices become the entry's children; timestep.row_of points here */
    /* [entries] number of the entry's children among the best; these are the first choices of its row */
    int32_t *n_taken;
    /* [live entries] representatives only: index of the entry's row after rows of other hypotheses were removed */
    int32_t *moved_to;
    /* [rows of the second scoring pass] row of the first pass whose first n_cells choices are scored exactly */
    int32_t *source_row;
    int32_t *n_cells; /* [rows of the second scoring pass] number of choices to score exactly */
    /* [live entries] key of the hypothesis: its last action, or the number that a user's function returned */
    int64_t *key;
    /* [live entries] class of legal actions: hypotheses with equal numbers have the same legal actions */
    int64_t *legal_class;
    /* hash table of the current input's equivalence classes, by key and legal_class: index of the representative; -1: free */
    int32_t *class_table;
} cube_pass;

/* --- memory of an input ------------------------------------------------------------------------------------------- */

static rill_cube item_cube(const rill_engine *e, const timestep *t, int32_t index)
{
    return (rill_cube)e->items.item[t->selected[index]].settings->cube;
}

static rill_status reserve_classes(rill_engine *e, timestep *t)
{
    if (t->cube == NULL) t->cube = rill_calloc(e->ctx, 1, sizeof *t->cube);
    if (t->cube == NULL) return rill_fail_memory(e->ctx, sizeof *t->cube, "cube pruning");
    cube_pass *c = t->cube;
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
    RILL__TRY(RILL__GROW_COLUMNS(e->ctx, &c->memory, entries, columns, "classes"));
    return rill_columns_grow(e->ctx, &c->table_memory, widest, places, 1, "classes");
}

/* Return 1 if some selected input has cube pruning "naive", else 0. */
static int any_naive(const rill_engine *e, const timestep *t)
{
    for (int32_t i = 0; i < t->n; i++)
        if (item_cube(e, t, i) == RILL_CUBE_NAIVE) return 1;
    return 0;
}

/* --- cube keys of hypotheses -------------------------------------------------------------------------------------- */

/* Set the row's `parent` to its parent's state id; different from state_parent if the parent shares another hypothesis's state. */
static void set_parent(const rill_engine *e, timestep *t, int32_t row)
{
    t->rows.parent[row] = hyp_pool_node(&e->hyps, e->hyps.hyp[t->rows.hyp[row]].parent);
}

static rill_status call_key_fn(rill_engine *e, const timestep *t, int32_t first, int32_t n, int64_t *key)
{
    const rill_scorer_rows rows = engine_scorer_rows(e, t, first, n);
    rill_error_clear(e->ctx);
    rill_status status = e->cube_key(e->cube_key_user, &rows, key);
    return rill__method_status(e->ctx, status, "the function", "cube-key", "call");
}

/* For the setting `check`: fail if the user's key function gives an input other keys alone than in a batch. */
static rill_status check_key_fn(rill_engine *e, timestep *t)
{
    const row_table *r = &t->rows;
    int64_t *alone = t->cube->legal_class; /* scratch memory: compute_keys() writes legal_class later */
    for (int32_t first = 0, n; first < r->n; first += n) {
        for (n = 1; first + n < r->n && r->item[first + n] == r->item[first];) n++;
        RILL__TRY(call_key_fn(e, t, first, n, alone));
        if (memcmp(alone, t->cube->key + first, (size_t)n * sizeof *alone) != 0)
            return rill_fail(
                e->ctx, RILL_ERR_CHECK,
                "cube_key gives input %lld another result alone than in a batch: it must use one input at a time "
                "and keep no state",
                (long long)r->item_id[first]);
    }
    return RILL_OK;
}

/* Compute key and legal_class of the rows. The rows are all live hypotheses, and have no state ids yet. */
static rill_status compute_keys(rill_engine *e, timestep *t)
{
    cube_pass *c = t->cube;
    const row_table *r = &t->rows;
    if (e->cube_key == NULL) {
        for (int32_t i = 0; i < r->n; i++) c->key[i] = r->action[i];
    } else {
        RILL__TRY(scorer_states_begin(e, r));
        RILL__TRY(call_key_fn(e, t, 0, r->n, c->key));
        if (e->settings.check) RILL__TRY(check_key_fn(e, t));
    }
    memset(c->legal_class, 0, (size_t)r->n * sizeof *c->legal_class);
    if (e->domain->classify != NULL) {
        rill_rows rows = engine_domain_rows(t, 0, r->n);
        rows.node = NULL;
        rill_error_clear(e->ctx);
        RILL__TRY(
            rill__domain_status(e->ctx, e->domain, e->domain->classify(e->self, &rows, c->legal_class), "classify"));
    }
    for (int32_t i = 0; i < r->n && e->bad_words.n > 0; i++)
        c->legal_class[i] = (int64_t)((uint64_t)c->legal_class[i] * UINT64_C(0x9E3779B97F4A7C15) +
                                      (uint64_t)bad_words_class(&e->bad_words, e->hyps.hyp, r->hyp[i]));
    return RILL_OK;
}

/* --- classes of equal keys ---------------------------------------------------------------------------------------- */

static size_t hash(int64_t key, int64_t legal)
{
    uint64_t h = (uint64_t)key * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)legal * UINT64_C(0xC2B2AE3D27D4EB4F);
    return (size_t)(h ^ h >> 32);
}

/* Returns the class_table entry of live hypothesis i; its value is -1 if the class is new. `size`: a power of two. */
static int32_t *find_class(cube_pass *c, size_t size, int32_t i)
{
    size_t index = hash(c->key[i], c->legal_class[i]) & (size - 1);
    while (c->class_table[index] >= 0 &&
           (c->key[c->class_table[index]] != c->key[i] || c->legal_class[c->class_table[index]] != c->legal_class[i]))
        index = (index + 1) & (size - 1);
    return &c->class_table[index];
}

/* Give each live beam entry of input `index` its representative's row. The rows of representatives move to row *to and the next ones. base:
 * the input's first beam entry; from: its first row. */
static void group_item(rill_engine *e, timestep *t, int32_t index, int32_t base, int32_t from, int32_t *to)
{
    cube_pass *c = t->cube;
    item *it = &e->items.item[t->selected[index]];
    const rill_cube cube = item_cube(e, t, index);
    const int32_t old_to = *to;
    size_t table_size = 1;
    while (table_size < 2 * (size_t)it->n_live) table_size *= 2;
    if (cube != RILL_CUBE_NONE) memset(c->class_table, 0xFF, table_size * sizeof *c->class_table);
    for (int32_t rank = 0, i = from; rank < it->width; rank++) {
        beam_entry *entry = &it->beam[rank];
        c->n_taken[base + rank] = 0;
        c->row[base + rank] = NO_ROW;
        if (entry->ended) continue;
        int32_t none = NO_ROW, *representative = cube != RILL_CUBE_NONE ? find_class(c, table_size, i) : &none;
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

/* Keep only the rows of representatives. */
static rill_status make_rows(rill_engine *e, timestep *t)
{
    int32_t base = 0, from = 0, to = 0;
    RILL__TRY(reserve_classes(e, t));
    for (int32_t i = 0; i < t->rows.n; i++) set_parent(e, t, i);
    RILL__TRY(compute_keys(e, t));
    for (int32_t i = 0; i < t->n; i++) {
        const item *it = &e->items.item[t->selected[i]];
        group_item(e, t, i, base, from, &to);
        base += it->width;
        from += it->n_live;
    }
    t->rounds[0].topk.check_all |= any_naive(e, t);
    t->row_of = t->cube->row;
    t->spare_nodes = from - to;
    t->rows.n = to;
    return RILL_OK;
}

/* --- the second scoring pass -------------------------------------------------------------------------------------- */

/* Naive cube pruning of one input; n_taken counts each hypothesis's children among the best. A hypothesis with such children
 * that is not a representative gets a row in the second pass. *next: row of the next representative. */
static void rescore_item(rill_engine *e, timestep *t, int32_t index, int32_t base, int32_t *next)
{
    cube_pass *c = t->cube;
    const item *it = &e->items.item[t->selected[index]];
    for (int32_t rank = 0; rank < it->width; rank++) {
        const int32_t entry_index = base + rank, row = c->row[entry_index];
        if (row == NO_ROW) continue;
        if (row == *next) {
            t->rounds[0].topk.choices.count[row] = c->n_taken[entry_index];
            ++*next;
            continue;
        }
        c->row[entry_index] = NO_ROW;
        if (c->n_taken[entry_index] == 0) continue;
        c->source_row[t->rows.n] = row;
        c->n_cells[t->rows.n] = c->n_taken[entry_index];
        c->row[entry_index] = t->second_row + t->rows.n;
        engine_add_row(e, t, index, rank);
        set_parent(e, t, t->rows.n - 1);
    }
}

/* Naive cube pruning: make the rows of the second scoring pass. Returns RILL_AGAIN if there are rows to score. */
static rill_status add_round(rill_engine *e, timestep *t)
{
    int32_t base = 0, next = 0;
    if (t->round > 0 || !any_naive(e, t)) return RILL_OK;
    RILL__TRY(engine_reserve_children(e, t));
    t->second_row = t->rows.n;
    for (int32_t i = 0; i < t->n; i++) {
        if (item_cube(e, t, i) == RILL_CUBE_NAIVE) engine_count_best_children(e, t, i, base, t->cube->n_taken);
        base += e->items.item[t->selected[i]].width;
    }
    base = t->rows.n = 0;
    for (int32_t i = 0; i < t->n; i++) {
        const int32_t width = e->items.item[t->selected[i]].width;
        if (item_cube(e, t, i) == RILL_CUBE_NAIVE)
            rescore_item(e, t, i, base, &next);
        else
            for (int32_t rank = 0; rank < width; rank++) next += t->cube->row[base + rank] == next;
        base += width;
    }
    statistics_end_stage(&e->statistics, &e->statistics.current.select);
    if (t->rows.n == 0) return RILL_OK;
    t->round = 1;
    t->spare_nodes -= t->rows.n;
    e->statistics.total.cube_rescored += t->rows.n;
    RILL__TRY(engine_step_rows(e, t));
    return RILL_AGAIN;
}

/* Restrict each row of the second scoring pass to its best children of the first pass. */
static rill_status restrict_rows(timestep *t)
{
    const choice_table *first = &t->rounds[0].topk.choices;
    rill_modifiers *mods = &t->rounds[1].modifiers;
    for (int32_t i = 0; i < t->rows.n; i++) {
        const int32_t *action = first->action + (size_t)t->cube->source_row[i] * (size_t)first->stride;
        for (int32_t j = 0; j < t->cube->n_cells[i]; j++) RILL__TRY(rill_modifiers_allow(mods, i, action[j]));
        mods->blocked_by[i] = 0; /* not a scorer: cube pruning makes this restriction */
    }
    return RILL_OK;
}

/* --- table of the search variant ---------------------------------------------------------------------------------- */

static rill_status check(rill_context *ctx, const chain *c, const rill_settings *s, const rill_domain_info *info)
{
    (void)info;
    if (s->cube != RILL_CUBE_ACCELERATED || c->state_bytes == 0) return RILL_OK;
    return rill_fail(
        ctx, RILL_ERR_OPTION,
        "cube accelerated shares states between hypotheses, and a scorer of this run keeps a state for each: use "
        "cube naive");
}

static void free_timestep(timestep *t)
{
    if (t->cube == NULL) return;
    rill_columns_free(t->ctx, &t->cube->memory);
    rill_columns_free(t->ctx, &t->cube->table_memory);
    rill_free(t->ctx, t->cube, sizeof *t->cube);
}

const search_variant cube_pruning = {.name = "cube pruning",
                                     .selected_by = {offsetof(rill_settings, cube), RILL_CUBE_NAIVE},
                                     .check = check,
                                     .make_rows = make_rows,
                                     .add_round = add_round,
                                     .restrict_rows = restrict_rows,
                                     .free_timestep = free_timestep};
