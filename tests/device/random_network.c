/* Random networks and worlds.
 *
 * Each row of a run writes only nodes and slots of its own. All others that it reads are old ones that no row writes.
 * So any split of the run into smaller runs gives the same results. Sections: the world · the skeleton · views ·
 * requests · the whole. */
#include "random_network_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the world ---------------------------------------------------------------------------------------------------- */

static void *alloc_zeroed(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (memory == NULL) abort();
    return memory;
}

float *random_floats(dice *d, size_t count, float scale)
{
    float *x = alloc_zeroed(count, sizeof *x);
    for (size_t i = 0; i < count; i++) x[i] = scale * (float)dice_range(d, -1000, 1000) / 1000.0f;
    return x;
}

/* Sometimes write a NaN or an infinity. */
static void poison(dice *d, float *x, size_t count)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e30f};
    if (count > 0 && dice_chance(d, 3))
        for (int32_t i = dice_range(d, 1, 3); i > 0; i--)
            x[dice_range(d, 0, (int32_t)count - 1)] = bad[dice_range(d, 0, 4)];
}

rill_constant add_constant(problem *p, size_t rows, size_t width)
{
    const rill_constant c = ++p->t.constants;
    p->t.constant[c].data = random_floats(&p->d, rows * width, 1.0f);
    p->t.constant[c].rows = rows;
    p->t.constant[c].width = width;
    poison(&p->d, p->t.constant[c].data, rows * width);
    return c;
}

rill_weight_type random_type(problem *p)
{
    return (rill_weight_type)DICE_PICK(&p->d, RILL_WEIGHT_F32, RILL_WEIGHT_F32, RILL_WEIGHT_BF16, p->narrow);
}

rill_matrix add_matrix(problem *p, size_t n, size_t k, rill_weight_type type)
{
    const rill_matrix m = ++p->t.matrices;
    p->t.matrix[m].w = random_floats(&p->d, n * k, 0.6f);
    p->t.matrix[m].n = n;
    p->t.matrix[m].k = k;
    p->t.matrix[m].type = type != RILL_WEIGHT_INT8 ? type : p->narrow;
    return m;
}

static rill_table add_table(problem *p, rill_table_kind kind, size_t width)
{
    const rill_table t = ++p->t.tables;
    p->t.table[t].kind = kind;
    p->t.table[t].width = width;
    if (kind == RILL_TABLE_RAGGED) {
        for (int32_t s = 0; s < p->w.slots; s++)
            p->w.ragged[t][s] = random_floats(&p->d, (size_t)p->w.units[s] * width, 1.0f);
        return t;
    }
    const int32_t rows = kind == RILL_TABLE_NODES ? p->w.nodes : kind == RILL_TABLE_SLOTS ? p->w.slots : p->w.host_rows;
    p->w.rows[t] = random_floats(&p->d, (size_t)rows * width, 1.0f);
    poison(&p->d, p->w.rows[t], (size_t)rows * width);
    return t;
}

static rill_vocab_subset add_vocab_subset(problem *p, int weights, rill_vocab_subset like)
{
    const rill_vocab_subset l = ++p->t.vocab_subsets;
    if (weights) {
        p->t.vocab_subset[l].rows = add_constant(p, p->symbols, p->hidden);
        p->t.vocab_subset[l].type = random_type(p);
        if (dice_chance(&p->d, 60)) p->t.vocab_subset[l].bias = add_constant(p, 1, p->symbols);
    }
    for (int32_t s = 0; s < p->w.slots; s++) {
        const int32_t chance = like == 0 ? dice_range(&p->d, 0, 100) : 0;
        p->w.symbol[l][s] = alloc_zeroed(p->symbols, sizeof(int32_t));
        for (int32_t v = 0; v < (int32_t)p->symbols && like == 0; v++)
            if (dice_chance(&p->d, chance)) p->w.symbol[l][s][p->w.symbols[l][s]++] = v;
        if (like == 0) continue;
        p->w.symbols[l][s] = p->w.symbols[like][s];
        memcpy(p->w.symbol[l][s], p->w.symbol[like][s], (size_t)p->w.symbols[l][s] * sizeof(int32_t));
    }
    return l;
}

/* --- the skeleton ------------------------------------------------------------------------------------------------- */

static rill_column add_column(problem *p, rill_index_space space, size_t count)
{
    const rill_column c = ++p->t.columns;
    p->t.column[c].space = space;
    p->t.column[c].entry = alloc_zeroed(count, sizeof(int32_t));
    p->t.column[c].count = count;
    return c;
}

/* Add a column of random entries. */
static rill_column random_column(problem *p, rill_index_space space, size_t count, int32_t low, int32_t high)
{
    const rill_column c = add_column(p, space, count);
    for (size_t i = 0; i < count; i++) {
        const int same = i > 0 && dice_chance(&p->d, 30);
        p->t.column[c].entry[i] = same ? p->t.column[c].entry[i - 1] : dice_range(&p->d, low, high);
    }
    return c;
}

static rill_index_space add_space(problem *p, spec_space_kind kind, rill_index_space parent, rill_column column)
{
    const rill_index_space s = ++p->t.spaces;
    p->t.space[s].kind = kind;
    p->t.space[s].parent_space = parent;
    p->t.space[s].column = column;
    return s;
}

static int32_t *entries(problem *p, rill_column c)
{
    return p->t.column[c].entry;
}

static int32_t node_depth(const world *w, int32_t node)
{
    int32_t depth = 0;
    while (w->parent[node] >= 0) node = w->parent[node], depth++;
    return depth;
}

static void make_row_columns(problem *p)
{
    layout *s = &p->s;
    const size_t n = (size_t)p->n;
    s->node = add_column(p, RILL_ROWS, n);
    s->old = random_column(p, RILL_ROWS, n, 0, p->old_nodes - 1);
    s->old_or_none = random_column(p, RILL_ROWS, n, -1, p->old_nodes - 1);
    s->slot = random_column(p, RILL_ROWS, n, 0, p->old_slots - 1);
    s->full_slot = random_column(p, RILL_ROWS, n, 0, p->old_slots - 1);
    s->unit = add_column(p, RILL_ROWS, n);
    s->own_slot = add_column(p, RILL_ROWS, n);
    s->symbol = random_column(p, RILL_ROWS, n, 0, CONSTANT_ROWS - 1);
    s->symbol_or_none = random_column(p, RILL_ROWS, n, -1, CONSTANT_ROWS - 1);
    s->chosen = random_column(p, RILL_ROWS, n, -1, 1);
    s->depth = add_column(p, RILL_ROWS, n);
    s->old_depth = add_column(p, RILL_ROWS, n);
    s->tag = random_column(p, RILL_ROWS, n, 0, CONSTANT_ROWS - 1);
    for (int32_t r = 0; r < p->n; r++) {
        entries(p, s->node)[r] = p->old_nodes + p->n - 1 - r;
        entries(p, s->own_slot)[r] = p->old_slots + r;
        if (p->w.units[entries(p, s->full_slot)[r]] == 0) entries(p, s->full_slot)[r] = 0;
        entries(p, s->unit)[r] = dice_range(&p->d, 0, p->w.units[entries(p, s->full_slot)[r]] - 1);
        const int32_t old_node = entries(p, s->old_or_none)[r];
        entries(p, s->depth)[r] = old_node >= 0 ? node_depth(&p->w, old_node) + 1 : 0;
        entries(p, s->old_depth)[r] = node_depth(&p->w, entries(p, s->old)[r]);
    }
}

static void make_layout(problem *p, int ragged)
{
    layout *s = &p->s;
    make_row_columns(p);
    if (ragged) {
        s->length = add_column(p, RILL_ROWS, (size_t)p->n);
        s->shorter = add_column(p, RILL_ROWS, (size_t)p->n);
        s->filled = add_column(p, RILL_ROWS, (size_t)p->n);
        s->some_unit = add_column(p, RILL_ROWS, (size_t)p->n);
        size_t units = 0, units2 = 0;
        for (int32_t r = 0; r < p->n; r++) {
            const int32_t length = p->w.units[p->old_slots + r];
            entries(p, s->length)[r] = length;
            entries(p, s->shorter)[r] = length > 0 ? length - 1 : 0;
            entries(p, s->filled)[r] = length > 0 ? r : -1;
            entries(p, s->some_unit)[r] = length > 0 ? dice_range(&p->d, 0, length - 1) : 0;
            units += (size_t)length;
            units2 += (size_t)entries(p, s->shorter)[r];
        }
        s->units = add_space(p, SPEC_SPACE_RAGGED, RILL_ROWS, s->length);
        s->unit_symbol = random_column(p, s->units, units, 0, CONSTANT_ROWS - 1);
        s->unit_or_none = random_column(p, s->units, units, -1, CONSTANT_ROWS - 1);
        s->unit_chosen = random_column(p, s->units, units, -1, 1);
        s->unit_tag = random_column(p, s->units, units, 0, CONSTANT_ROWS - 1);
        s->units2 = add_space(p, SPEC_SPACE_RAGGED, RILL_ROWS, s->shorter);
        s->unit_symbol2 = random_column(p, s->units2, units2, 0, CONSTANT_ROWS - 1);
    }
    s->where = add_space(p, SPEC_SPACE_WHERE, RILL_ROWS, s->chosen);
    s->distinct = add_space(p, SPEC_SPACE_DISTINCT, RILL_ROWS, s->old);
    s->distinct_where = add_space(p, SPEC_SPACE_DISTINCT, s->where, s->old_or_none);
    if (!ragged) return;
    s->where_units = add_space(p, SPEC_SPACE_WHERE, s->units, s->unit_chosen);
    s->filled_rows = add_space(p, SPEC_SPACE_WHERE, RILL_ROWS, s->filled);
    s->distinct_units = add_space(p, SPEC_SPACE_DISTINCT, s->units, s->unit_symbol);
}

/* --- views -------------------------------------------------------------------------------------------------------- */

rill_index_space root_space(const net_spec *t, rill_index_space space)
{
    while (space != RILL_ROWS && t->space[space].kind != SPEC_SPACE_RAGGED) space = t->space[space].parent_space;
    return space;
}

int is_distinct(const net_spec *t, rill_index_space space)
{
    return space != RILL_ROWS && t->space[space].kind == SPEC_SPACE_DISTINCT;
}

static int is_derived(const net_spec *t, rill_index_space space, rill_index_space from)
{
    while (space != from && space != RILL_ROWS) space = t->space[space].parent_space;
    return space == from;
}

/* Whether rows of space `space` may read a value of space `to`. */
static int can_read(const problem *p, rill_index_space space, rill_index_space to, int absent)
{
    const net_spec *t = &p->t;
    for (; !is_derived(t, to, space); space = t->space[space].parent_space)
        if (is_distinct(t, space)) return 0;
    for (; to != space; to = t->space[to].parent_space) {
        if (t->space[to].kind == SPEC_SPACE_RAGGED) return 0;
        if ((t->space[to].kind == SPEC_SPACE_WHERE || to == p->s.distinct_where) && !absent) return 0;
    }
    return 1;
}

typedef struct found {
    spec_view all[128];
    int32_t n;
} found;

static void offer(problem *p, found *f, spec_view l, size_t have, size_t width)
{
    if (have < width || f->n == 128) return;
    l.first = dice_chance(&p->d, 50) ? 0 : dice_range(&p->d, 0, (int32_t)(have - width));
    f->all[f->n++] = l;
}

static void offer_values(problem *p, found *f, rill_index_space space, size_t width, int needs, const spec_view *but)
{
    for (rill_tensor v = 1; v <= p->t.values; v++) {
        const rill_index_space value_space = p->t.value[v].space;
        if (!p->t.value[v].written || p->t.value[v].list > 0) continue;
        if (but != NULL && but->kind == SPEC_VIEW_VALUE && but->source == v) continue;
        const int reads = needs & PLAIN ? value_space == space : can_read(p, space, value_space, needs & ABSENT);
        for (int i = 0; reads && i < 3; i++)
            offer(p, f, (spec_view){SPEC_VIEW_VALUE, v, RILL_OWN, 0, 0}, (size_t)p->t.value[v].written, width);
        if (!(needs & PLAIN) && value_space == p->s.units && space == p->s.filled_rows && value_space != 0)
            offer(p, f, (spec_view){SPEC_VIEW_UNIT, v, p->s.some_unit, 0, 0}, (size_t)p->t.value[v].written, width);
    }
}

/* Return a column of indexes into a constant's rows, for rows of the space. */
static rill_column symbol_column(problem *p, rill_index_space space, int absent)
{
    const layout *s = &p->s;
    if (is_distinct(&p->t, space)) return RILL_OWN;
    const rill_index_space root = root_space(&p->t, space);
    if (root != RILL_ROWS && dice_chance(&p->d, 20)) return RILL_OWN;
    if (root == RILL_ROWS)
        return absent && dice_chance(&p->d, 60) ? s->symbol_or_none : DICE_PICK(&p->d, s->symbol, s->tag);
    if (root == s->units2) return s->unit_symbol2;
    return absent && dice_chance(&p->d, 60) ? s->unit_or_none : DICE_PICK(&p->d, s->unit_symbol, s->unit_tag);
}

/* Return the column, or sometimes RILL_OWN if the space has its own numbers. */
static rill_column own_column_or(problem *p, rill_index_space space, rill_column column, rill_column otherwise)
{
    const int own = space != RILL_ROWS && (p->t.space[space].kind == SPEC_SPACE_RAGGED || is_distinct(&p->t, space));
    return column == RILL_OWN && !own ? otherwise : column;
}

static rill_column row_column(problem *p, rill_index_space space, int absent)
{
    const rill_column c = symbol_column(p, space, absent);
    return own_column_or(p, space, c, p->s.unit_symbol);
}

static void offer_tables(problem *p, found *f, rill_index_space space, size_t width, int needs)
{
    const layout *s = &p->s;
    const net_spec *t = &p->t;
    if (is_distinct(t, space)) {
        if (root_space(t, space) != RILL_ROWS) return;
        offer(p, f, (spec_view){SPEC_VIEW_TABLE, p->nodes, RILL_OWN, 0, 0}, t->table[p->nodes].width, width);
        offer(p, f, (spec_view){SPEC_VIEW_TABLE, p->states, RILL_OWN, 0, 0}, t->table[p->states].width, width);
        return;
    }
    const rill_column old = needs & ABSENT && dice_chance(&p->d, 50) ? s->old_or_none : s->old;
    offer(p, f, (spec_view){SPEC_VIEW_TABLE, p->nodes, old, 0, 0}, t->table[p->nodes].width, width);
    offer(p, f, (spec_view){SPEC_VIEW_TABLE, p->states, DICE_PICK(&p->d, s->old, s->node), 0, 0},
          t->table[p->states].width, width);
    offer(p, f, (spec_view){SPEC_VIEW_TABLE, p->slots, DICE_PICK(&p->d, s->slot, s->own_slot), 0, 0},
          t->table[p->slots].width, width);
    offer(p, f, (spec_view){SPEC_VIEW_TABLE, p->host, row_column(p, space, needs & ABSENT), 0, 0},
          t->table[p->host].width, width);
    if (root_space(t, space) == RILL_ROWS)
        offer(p, f, (spec_view){SPEC_VIEW_RAGGED, p->ragged, s->unit, s->full_slot, 0}, t->table[p->ragged].width,
              width);
    else if (t->space[space].kind == SPEC_SPACE_RAGGED)
        offer(p, f, (spec_view){SPEC_VIEW_RAGGED, p->ragged, RILL_OWN, s->own_slot, 0}, t->table[p->ragged].width,
              width);
}

/* Find `width` floats that rows of the space can read, other than `but`. */
spec_view find_view(problem *p, rill_index_space space, size_t width, int needs, const spec_view *but)
{
    found f = {.n = 0};
    if (!(needs & NO_VALUE)) offer_values(p, &f, space, width, needs, but);
    if (!(needs & PLAIN)) {
        offer_tables(p, &f, space, width, needs);
        const rill_column row = row_column(p, space, needs & ABSENT);
        offer(p, &f, (spec_view){SPEC_VIEW_CONSTANT, p->rows, row, 0, 0}, p->hidden, width);
        offer(p, &f, (spec_view){SPEC_VIEW_CONSTANT, p->wide, row, 0, 0}, 4 * p->hidden, width);
    }
    if (f.n > 0) return f.all[dice_range(&p->d, 0, f.n - 1)];
    return (spec_view){SPEC_VIEW_NONE, 0, 0, 0, 0};
}

rill_tensor add_value(problem *p, rill_index_space space, size_t width)
{
    const rill_tensor v = ++p->t.values;
    p->t.value[v].space = space;
    p->t.value[v].width = width;
    p->t.value[v].written = (int)width;
    return v;
}

int has_capacity(const problem *p)
{
    return p->t.values < SPEC_MAX_PARTS - 8 && p->t.ops < MAX_OPS - 8 && p->t.matrices < SPEC_MAX_PARTS - 8 &&
           p->t.constants < SPEC_MAX_PARTS - 8;
}

spec_op *add_op(problem *p, rill_op_kind kind, rill_index_space space)
{
    spec_op *op = &p->t.op[p->t.ops++];
    op->kind = kind;
    op->space = space;
    return op;
}

/* Choose an output for an operation: a new value, or table rows that belong to the row. */
spec_view place_output(problem *p, rill_index_space space, size_t width)
{
    const layout *s = &p->s;
    const net_spec *t = &p->t;
    const rill_index_space root = root_space(t, space);
    if (!is_distinct(t, space) && dice_chance(&p->d, 35)) {
        if (root == RILL_ROWS && width <= t->table[p->states].width && dice_chance(&p->d, 50))
            return (spec_view){SPEC_VIEW_TABLE, p->states, s->node, 0,
                               dice_range(&p->d, 0, (int32_t)(t->table[p->states].width - width))};
        if (root == RILL_ROWS && width <= t->table[p->slots].width)
            return (spec_view){SPEC_VIEW_TABLE, p->slots, s->own_slot, 0, 0};
        if (root != RILL_ROWS && t->space[space].kind == SPEC_SPACE_RAGGED && width <= t->table[p->ragged].width)
            return (spec_view){SPEC_VIEW_RAGGED, p->ragged, RILL_OWN, s->own_slot, 0};
    }
    const rill_tensor v = add_value(p, space, width);
    /* extra floats at the end of the value, which are never written */
    p->t.value[v].width += (size_t)dice_range(&p->d, 0, 3);
    return (spec_view){SPEC_VIEW_VALUE, v, RILL_OWN, 0, 0};
}

/* As place_output(), but not among the operation's inputs. */
spec_view place_new_output(problem *p, rill_index_space space, size_t width, const spec_view *reads, int n)
{
    const spec_view out = place_output(p, space, width);
    for (int i = 0; i < n; i++)
        if (out.kind != SPEC_VIEW_VALUE && reads[i].kind == out.kind && reads[i].source == out.source &&
            reads[i].row == out.row)
            return (spec_view){SPEC_VIEW_VALUE, add_value(p, space, width), RILL_OWN, 0, 0};
    return out;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void make_selection(problem *p)
{
    enum { SETS = 3, PICKS = 40 };
    rill_selection *a = &p->selection;
    const int32_t actions = (int32_t)p->symbols + 75;
    a->max_choices = dice_chance(&p->d, 15)
                         ? 0
                         : dice_range(&p->d, 1, dice_chance(&p->d, 30) ? (int32_t)p->symbols + 4 : 6);
    a->stride = a->max_choices + dice_range(&p->d, 0, 2);
    if (dice_chance(&p->d, 60)) {
        a->legal_words = (size_t)dice_range(&p->d, 1, (actions + 127) / 64);
        uint64_t *legal = alloc_zeroed(SETS * a->legal_words, sizeof *legal);
        int32_t *set = alloc_zeroed((size_t)p->n, sizeof *set);
        for (size_t i = 0; i < SETS * a->legal_words * 64; i++)
            if (dice_chance(&p->d, 60)) legal[i / 64] |= UINT64_C(1) << (i % 64);
        for (int32_t r = 0; r < p->n; r++) set[r] = dice_range(&p->d, -1, SETS - 1);
        a->legal = legal;
        if (dice_chance(&p->d, 90))
            a->legal_set = set;
        else
            free(set);
    }
    int32_t *row = alloc_zeroed(PICKS, sizeof *row), *action = alloc_zeroed(PICKS, sizeof *action);
    for (int32_t pick_row = 0; a->n_picks < PICKS && dice_chance(&p->d, 90);) {
        pick_row += dice_range(&p->d, 0, 3);
        if (pick_row >= p->n) break;
        row[a->n_picks] = pick_row;
        action[a->n_picks++] = dice_range(&p->d, -1, actions);
    }
    a->pick_row = row;
    a->pick_action = action;
}

/* --- a whole problem ---------------------------------------------------------------------------------------------- */

static void make_world(problem *p)
{
    world *w = &p->w;
    p->old_nodes = CONSTANT_ROWS - 4;
    p->old_slots = 6;
    w->nodes = p->old_nodes + p->n;
    w->slots = p->old_slots + p->n;
    w->host_rows = CONSTANT_ROWS;
    const int32_t longest = dice_chance(&p->d, 10) ? 20 : 6;
    for (int32_t s = 0; s < w->slots; s++) w->units[s] = dice_chance(&p->d, 20) ? 0 : dice_range(&p->d, 1, longest);
    if (w->units[0] == 0) w->units[0] = 3;
    for (int32_t i = 0; i < w->nodes; i++) w->parent[i] = i < p->old_nodes ? dice_range(&p->d, -1, i - 1) : -1;
}

problem *make_problem(uint64_t seed, rill_weight_type narrow)
{
    problem *p = alloc_zeroed(1, sizeof *p);
    p->narrow = narrow;
    p->d = dice_seeded(seed);
    p->n = dice_chance(&p->d, 10) ? 0 : dice_range(&p->d, 1, dice_chance(&p->d, 25) ? 70 : 12);
    p->hidden = (size_t)DICE_PICK(&p->d, 1, 5, 8, 16, 20, 33, 64);
    p->symbols = (size_t)dice_range(&p->d, 1, dice_chance(&p->d, 20) ? 150 : 20);
    make_world(p);
    p->rows = add_constant(p, CONSTANT_ROWS, p->hidden);
    p->wide = add_constant(p, CONSTANT_ROWS, 4 * p->hidden);
    p->nodes = add_table(p, RILL_TABLE_NODES, p->hidden + 3);
    p->states = add_table(p, RILL_TABLE_NODES, 2 * p->hidden);
    p->slots = add_table(p, RILL_TABLE_SLOTS, 2 * p->hidden);
    p->ragged = add_table(p, RILL_TABLE_RAGGED, p->hidden + (size_t)dice_range(&p->d, 0, 20));
    p->host = add_table(p, RILL_TABLE_HOST, p->hidden);
    p->mask = add_vocab_subset(p, 0, 0);
    p->vocab_subset[0] = add_vocab_subset(p, 1, 0);
    p->vocab_subset[1] = add_vocab_subset(p, 1, p->vocab_subset[0]);
    make_layout(p, dice_chance(&p->d, 50));
    for (int32_t i = dice_range(&p->d, 1, 7); i > 0 && has_capacity(p); i--) make_op(p);
    if (dice_chance(&p->d, 60)) {
        if (dice_chance(&p->d, 60))
            make_best(p);
        else
            make_mix(p);
    }
    if (dice_chance(&p->d, 30)) p->t.expected = p->ragged, p->t.expected_slot = p->s.slot;
    make_selection(p);
    return p;
}

static void free_rows(const net_spec *t, world *w)
{
    for (int32_t i = 1; i <= t->tables; i++) {
        free(w->rows[i]);
        for (int32_t s = 0; s < w->slots; s++) free(w->ragged[i][s]);
    }
}

void free_problem(problem *p)
{
    net_spec *t = &p->t;
    free_rows(t, &p->w);
    for (int32_t i = 1; i <= t->vocab_subsets; i++)
        for (int32_t s = 0; s < p->w.slots; s++) free(p->w.symbol[i][s]);
    for (int32_t i = 1; i <= t->constants; i++) free(t->constant[i].data);
    for (int32_t i = 1; i <= t->matrices; i++) free(t->matrix[i].w);
    for (int32_t i = 1; i <= t->columns; i++) free(t->column[i].entry);
    free((void *)(uintptr_t)p->selection.legal);
    free((void *)(uintptr_t)p->selection.legal_set);
    free((void *)(uintptr_t)p->selection.pick_row);
    free((void *)(uintptr_t)p->selection.pick_action);
    free(p);
}

static float *copy_floats(const float *from, size_t count)
{
    float *to = alloc_zeroed(count, sizeof *to);
    if (from != NULL && count > 0) memcpy(to, from, count * sizeof *to);
    return to;
}

world *copy_world(const problem *p)
{
    world *w = alloc_zeroed(1, sizeof *w);
    *w = p->w;
    for (int32_t i = 1; i <= p->t.tables; i++) {
        const rill_table_kind kind = p->t.table[i].kind;
        const size_t width = p->t.table[i].width;
        const int32_t rows = kind == RILL_TABLE_NODES ? w->nodes : kind == RILL_TABLE_SLOTS ? w->slots : w->host_rows;
        w->rows[i] = kind != RILL_TABLE_RAGGED ? copy_floats(p->w.rows[i], (size_t)rows * width) : NULL;
        for (int32_t s = 0; s < w->slots && kind == RILL_TABLE_RAGGED; s++)
            w->ragged[i][s] = copy_floats(p->w.ragged[i][s], (size_t)w->units[s] * width);
    }
    return w;
}

void free_world(world *w)
{
    for (int32_t i = 1; i < SPEC_MAX_PARTS; i++) {
        free(w->rows[i]);
        for (int32_t s = 0; s < w->slots; s++) free(w->ragged[i][s]);
    }
    free(w);
}
