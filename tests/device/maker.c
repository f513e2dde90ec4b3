/* Random tales and worlds.
 *
 * Rows of a run write nodes and slots of their own and read, besides these, only old ones that no row writes: so that any cut gives
 * the same. Divisions: the world · the skeleton · views · operations · what is asked · the whole. */
#include "maker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the world ---------------------------------------------------------------------------------------------------- */

static void *room(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (memory == NULL) abort();
    return memory;
}

float *random_floats(dice *d, size_t count, float scale)
{
    float *x = room(count, sizeof *x);
    for (size_t i = 0; i < count; i++) x[i] = scale * (float)dice_range(d, -1000, 1000) / 1000.0f;
    return x;
}

/* Now and then a number that is none. */
static void poison(dice *d, float *x, size_t count)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e30f};
    if (count > 0 && dice_chance(d, 3))
        for (int32_t i = dice_range(d, 1, 3); i > 0; i--)
            x[dice_range(d, 0, (int32_t)count - 1)] = bad[dice_range(d, 0, 4)];
}

static rill_constant add_constant(problem *p, size_t rows, size_t width)
{
    const rill_constant c = ++p->t.constants;
    p->t.constant[c].data = random_floats(&p->d, rows * width, 1.0f);
    p->t.constant[c].rows = rows;
    p->t.constant[c].width = width;
    poison(&p->d, p->t.constant[c].data, rows * width);
    return c;
}

static rill_weight_type random_type(problem *p)
{
    return (rill_weight_type)DICE_OF(&p->d, RILL_WEIGHT_F32, RILL_WEIGHT_F32, RILL_WEIGHT_BF16, RILL_WEIGHT_INT8);
}

static rill_matrix add_matrix(problem *p, size_t n, size_t k, rill_weight_type type)
{
    const rill_matrix m = ++p->t.matrices;
    p->t.matrix[m].w = random_floats(&p->d, n * k, 0.6f);
    p->t.matrix[m].n = n;
    p->t.matrix[m].k = k;
    p->t.matrix[m].type = type;
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

static rill_list add_list(problem *p, int weights, rill_list like)
{
    const rill_list l = ++p->t.lists;
    if (weights) {
        p->t.list[l].rows = add_constant(p, p->symbols, p->hidden);
        p->t.list[l].type = random_type(p);
        if (dice_chance(&p->d, 60)) p->t.list[l].bias = add_constant(p, 1, p->symbols);
    }
    for (int32_t s = 0; s < p->w.slots; s++) {
        const int32_t chance = like == 0 ? dice_range(&p->d, 0, 100) : 0;
        p->w.symbol[l][s] = room(p->symbols, sizeof(int32_t));
        for (int32_t v = 0; v < (int32_t)p->symbols && like == 0; v++)
            if (dice_chance(&p->d, chance)) p->w.symbol[l][s][p->w.symbols[l][s]++] = v;
        if (like == 0) continue;
        p->w.symbols[l][s] = p->w.symbols[like][s];
        memcpy(p->w.symbol[l][s], p->w.symbol[like][s], (size_t)p->w.symbols[l][s] * sizeof(int32_t));
    }
    return l;
}

/* --- the skeleton ------------------------------------------------------------------------------------------------- */

static rill_column add_column(problem *p, rill_space space, size_t count)
{
    const rill_column c = ++p->t.columns;
    p->t.column[c].space = space;
    p->t.column[c].entry = room(count, sizeof(int32_t));
    p->t.column[c].count = count;
    return c;
}

/* One of random entries. */
static rill_column random_column(problem *p, rill_space space, size_t count, int32_t low, int32_t high)
{
    const rill_column c = add_column(p, space, count);
    for (size_t i = 0; i < count; i++) {
        const int same = i > 0 && dice_chance(&p->d, 30);
        p->t.column[c].entry[i] = same ? p->t.column[c].entry[i - 1] : dice_range(&p->d, low, high);
    }
    return c;
}

static rill_space add_space(problem *p, told_space_kind kind, rill_space of, rill_column column)
{
    const rill_space s = ++p->t.spaces;
    p->t.space[s].kind = kind;
    p->t.space[s].of = of;
    p->t.space[s].column = column;
    return s;
}

static int32_t *entries(problem *p, rill_column c)
{
    return p->t.column[c].entry;
}

static int32_t depth_of(const world *w, int32_t node)
{
    int32_t depth = 0;
    while (w->above[node] >= 0) node = w->above[node], depth++;
    return depth;
}

static void make_row_columns(problem *p)
{
    skeleton *s = &p->s;
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
        const int32_t before = entries(p, s->old_or_none)[r];
        entries(p, s->depth)[r] = before >= 0 ? depth_of(&p->w, before) + 1 : 0;
        entries(p, s->old_depth)[r] = depth_of(&p->w, entries(p, s->old)[r]);
    }
}

static void make_skeleton(problem *p, int ragged)
{
    skeleton *s = &p->s;
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
        s->units = add_space(p, TOLD_RAGGED, RILL_ROWS, s->length);
        s->unit_symbol = random_column(p, s->units, units, 0, CONSTANT_ROWS - 1);
        s->unit_or_none = random_column(p, s->units, units, -1, CONSTANT_ROWS - 1);
        s->unit_chosen = random_column(p, s->units, units, -1, 1);
        s->unit_tag = random_column(p, s->units, units, 0, CONSTANT_ROWS - 1);
        s->units2 = add_space(p, TOLD_RAGGED, RILL_ROWS, s->shorter);
        s->unit_symbol2 = random_column(p, s->units2, units2, 0, CONSTANT_ROWS - 1);
    }
    s->where = add_space(p, TOLD_WHERE, RILL_ROWS, s->chosen);
    s->distinct = add_space(p, TOLD_DISTINCT, RILL_ROWS, s->old);
    s->distinct_where = add_space(p, TOLD_DISTINCT, s->where, s->old_or_none);
    if (!ragged) return;
    s->where_units = add_space(p, TOLD_WHERE, s->units, s->unit_chosen);
    s->filled_rows = add_space(p, TOLD_WHERE, RILL_ROWS, s->filled);
    s->distinct_units = add_space(p, TOLD_DISTINCT, s->units, s->unit_symbol);
}

/* --- views -------------------------------------------------------------------------------------------------------- */

static rill_space root_of(const tale *t, rill_space space)
{
    while (space != RILL_ROWS && t->space[space].kind != TOLD_RAGGED) space = t->space[space].of;
    return space;
}

static int is_distinct(const tale *t, rill_space space)
{
    return space != RILL_ROWS && t->space[space].kind == TOLD_DISTINCT;
}

static int is_derived(const tale *t, rill_space space, rill_space from)
{
    while (space != from && space != RILL_ROWS) space = t->space[space].of;
    return space == from;
}

/* Whether rows of a space may read a value of another. */
static int can_read(const problem *p, rill_space space, rill_space to, int absent)
{
    const tale *t = &p->t;
    for (; !is_derived(t, to, space); space = t->space[space].of)
        if (is_distinct(t, space)) return 0;
    for (; to != space; to = t->space[to].of) {
        if (t->space[to].kind == TOLD_RAGGED) return 0;
        if ((t->space[to].kind == TOLD_WHERE || to == p->s.distinct_where) && !absent) return 0;
    }
    return 1;
}

typedef enum need { ANY = 0, PLAIN = 1, ABSENT = 2, NO_VALUE = 4 } need;

typedef struct found {
    look all[128];
    int32_t n;
} found;

static void offer(problem *p, found *f, look l, size_t have, size_t width)
{
    if (have < width || f->n == 128) return;
    l.first = dice_chance(&p->d, 50) ? 0 : dice_range(&p->d, 0, (int32_t)(have - width));
    f->all[f->n++] = l;
}

static void offer_values(problem *p, found *f, rill_space space, size_t width, int needs, const look *but)
{
    for (rill_value v = 1; v <= p->t.values; v++) {
        const rill_space of = p->t.value[v].space;
        if (!p->t.value[v].written || p->t.value[v].list > 0) continue;
        if (but != NULL && but->kind == LOOK_VALUE && but->of == v) continue;
        const int reads = needs & PLAIN ? of == space : can_read(p, space, of, needs & ABSENT);
        for (int i = 0; reads && i < 3; i++)
            offer(p, f, (look){LOOK_VALUE, v, RILL_OWN, 0, 0}, (size_t)p->t.value[v].written, width);
        if (!(needs & PLAIN) && of == p->s.units && space == p->s.filled_rows && of != 0)
            offer(p, f, (look){LOOK_UNIT, v, p->s.some_unit, 0, 0}, (size_t)p->t.value[v].written, width);
    }
}

/* A number of a constant's row, for rows of the space. */
static rill_column symbol_for(problem *p, rill_space space, int absent)
{
    const skeleton *s = &p->s;
    if (is_distinct(&p->t, space)) return RILL_OWN;
    const rill_space root = root_of(&p->t, space);
    if (root != RILL_ROWS && dice_chance(&p->d, 20)) return RILL_OWN;
    if (root == RILL_ROWS)
        return absent && dice_chance(&p->d, 60) ? s->symbol_or_none : DICE_OF(&p->d, s->symbol, s->tag);
    if (root == s->units2) return s->unit_symbol2;
    return absent && dice_chance(&p->d, 60) ? s->unit_or_none : DICE_OF(&p->d, s->unit_symbol, s->unit_tag);
}

/* RILL_OWN only where the space itself has numbers. */
static rill_column own_or(problem *p, rill_space space, rill_column column, rill_column otherwise)
{
    const int own = space != RILL_ROWS && (p->t.space[space].kind == TOLD_RAGGED || is_distinct(&p->t, space));
    return column == RILL_OWN && !own ? otherwise : column;
}

static rill_column row_number(problem *p, rill_space space, int absent)
{
    const rill_column c = symbol_for(p, space, absent);
    return own_or(p, space, c, p->s.unit_symbol);
}

static void offer_tables(problem *p, found *f, rill_space space, size_t width, int needs)
{
    const skeleton *s = &p->s;
    const tale *t = &p->t;
    if (is_distinct(t, space)) {
        if (root_of(t, space) != RILL_ROWS) return;
        offer(p, f, (look){LOOK_TABLE, p->nodes, RILL_OWN, 0, 0}, t->table[p->nodes].width, width);
        offer(p, f, (look){LOOK_TABLE, p->states, RILL_OWN, 0, 0}, t->table[p->states].width, width);
        return;
    }
    const rill_column old = needs & ABSENT && dice_chance(&p->d, 50) ? s->old_or_none : s->old;
    offer(p, f, (look){LOOK_TABLE, p->nodes, old, 0, 0}, t->table[p->nodes].width, width);
    offer(p, f, (look){LOOK_TABLE, p->states, DICE_OF(&p->d, s->old, s->node), 0, 0}, t->table[p->states].width, width);
    offer(p, f, (look){LOOK_TABLE, p->slots, DICE_OF(&p->d, s->slot, s->own_slot), 0, 0}, t->table[p->slots].width,
          width);
    offer(p, f, (look){LOOK_TABLE, p->host, row_number(p, space, needs & ABSENT), 0, 0}, t->table[p->host].width,
          width);
    if (root_of(t, space) == RILL_ROWS)
        offer(p, f, (look){LOOK_IN, p->ragged, s->unit, s->full_slot, 0}, t->table[p->ragged].width, width);
    else if (t->space[space].kind == TOLD_RAGGED)
        offer(p, f, (look){LOOK_IN, p->ragged, RILL_OWN, s->own_slot, 0}, t->table[p->ragged].width, width);
}

/* Something of `width` floats that rows of the space can read. */
static look find(problem *p, rill_space space, size_t width, int needs, const look *but)
{
    found f = {.n = 0};
    if (!(needs & NO_VALUE)) offer_values(p, &f, space, width, needs, but);
    if (!(needs & PLAIN)) {
        offer_tables(p, &f, space, width, needs);
        const rill_column row = row_number(p, space, needs & ABSENT);
        offer(p, &f, (look){LOOK_CONSTANT, p->rows, row, 0, 0}, p->hidden, width);
        offer(p, &f, (look){LOOK_CONSTANT, p->wide, row, 0, 0}, 4 * p->hidden, width);
    }
    if (f.n > 0) return f.all[dice_range(&p->d, 0, f.n - 1)];
    return (look){LOOK_NONE, 0, 0, 0, 0};
}

static rill_value add_value(problem *p, rill_space space, size_t width)
{
    const rill_value v = ++p->t.values;
    p->t.value[v].space = space;
    p->t.value[v].width = width;
    p->t.value[v].written = (int)width;
    return v;
}

static int has_parts(const problem *p)
{
    return p->t.values < MOST_PARTS - 8 && p->t.ops < MOST_OPS - 8 && p->t.matrices < MOST_PARTS - 8 &&
           p->t.constants < MOST_PARTS - 8;
}

static told_op *add_op(problem *p, told_kind kind, rill_space space)
{
    told_op *op = &p->t.op[p->t.ops++];
    op->kind = kind;
    op->space = space;
    return op;
}

/* Where an operation writes: a value of its own, or rows that belong to the row. */
static look place(problem *p, rill_space space, size_t width)
{
    const skeleton *s = &p->s;
    const tale *t = &p->t;
    const rill_space root = root_of(t, space);
    if (!is_distinct(t, space) && dice_chance(&p->d, 35)) {
        if (root == RILL_ROWS && width <= t->table[p->states].width && dice_chance(&p->d, 50))
            return (look){LOOK_TABLE, p->states, s->node, 0,
                          dice_range(&p->d, 0, (int32_t)(t->table[p->states].width - width))};
        if (root == RILL_ROWS && width <= t->table[p->slots].width)
            return (look){LOOK_TABLE, p->slots, s->own_slot, 0, 0};
        if (root != RILL_ROWS && t->space[space].kind == TOLD_RAGGED && width <= t->table[p->ragged].width)
            return (look){LOOK_IN, p->ragged, RILL_OWN, s->own_slot, 0};
    }
    const rill_value v = add_value(p, space, width);
    p->t.value[v].width += (size_t)dice_range(&p->d, 0, 3); /* which nothing is written to */
    return (look){LOOK_VALUE, v, RILL_OWN, 0, 0};
}

/* place(), but nothing that is read. */
static look place_apart(problem *p, rill_space space, size_t width, const look *reads, int n)
{
    const look out = place(p, space, width);
    for (int i = 0; i < n; i++)
        if (out.kind != LOOK_VALUE && reads[i].kind == out.kind && reads[i].of == out.of && reads[i].row == out.row)
            return (look){LOOK_VALUE, add_value(p, space, width), RILL_OWN, 0, 0};
    return out;
}

/* --- operations --------------------------------------------------------------------------------------------------- */

static rill_space random_space(problem *p)
{
    return dice_chance(&p->d, 40) ? RILL_ROWS : dice_range(&p->d, 0, p->t.spaces);
}

static rill_activation random_activation(problem *p)
{
    return (rill_activation)dice_range(&p->d, RILL_LINEAR, RILL_SIGMOID);
}

/* A product of whatever there is. */
static look make_product(problem *p, rill_space space, size_t n, look out)
{
    const size_t k = (size_t)dice_range(&p->d, 1, (int32_t)p->hidden);
    const size_t k2 = dice_chance(&p->d, 30) ? (size_t)dice_range(&p->d, 1, (int32_t)p->hidden) : 0;
    if (out.kind == LOOK_VALUE) p->t.value[out.of].written = 0; /* not yet */
    look v[4] = {find(p, space, k, ANY, NULL)};
    const rill_matrix m = add_matrix(p, n, k + k2, random_type(p));
    if (k2 > 0) v[1] = find(p, space, k2, ANY, NULL);
    const int adds = dice_chance(&p->d, 40);
    if (adds) v[2] = find(p, space, n, ABSENT, NULL);
    if (out.kind == LOOK_NONE && adds && v[2].kind == LOOK_VALUE && p->t.value[v[2].of].space == space &&
        dice_chance(&p->d, 50) && v[0].of != v[2].of && (k2 == 0 || v[1].of != v[2].of))
        out = v[2];
    v[3] = out.kind != LOOK_NONE ? out : place_apart(p, space, n, v, 3);
    told_op *op = add_op(p, TOLD_PRODUCT, space);
    memcpy(op->view, v, sizeof v);
    op->as.product = (rill_product){.matrix = m, .k2 = k2, .activation = random_activation(p)};
    if (dice_chance(&p->d, 50)) op->as.product.bias = add_constant(p, 1, n);
    if (v[3].kind == LOOK_VALUE && p->t.value[v[3].of].written == 0) p->t.value[v[3].of].written = (int)n;
    return v[3];
}

/* Rows of `width` floats in a value of the space itself. */
static look plain(problem *p, rill_space space, size_t width)
{
    const look l = find(p, space, width, PLAIN, NULL);
    if (l.kind != LOOK_NONE && dice_chance(&p->d, 60)) return l;
    return make_product(p, space, width, (look){LOOK_VALUE, add_value(p, space, width), RILL_OWN, 0, 0});
}

/* Query, key and value of one x: what int8 quantises once. */
static void make_siblings(problem *p)
{
    const rill_space space = random_space(p);
    const size_t k = (size_t)dice_range(&p->d, 1, (int32_t)p->hidden);
    const look a = find(p, space, k, ANY, NULL);
    for (int i = 0; i < 3; i++) {
        const size_t n = (size_t)dice_range(&p->d, 1, 40);
        const rill_matrix m = add_matrix(p, n, k, RILL_WEIGHT_INT8);
        const look out = place_apart(p, space, n, &a, 1);
        told_op *op = add_op(p, TOLD_PRODUCT, space);
        op->view[0] = a, op->view[3] = out;
        op->as.product.matrix = m;
    }
}

static void make_cell(problem *p)
{
    const rill_space space = random_space(p);
    const size_t h = (size_t)dice_range(&p->d, 1, (int32_t)p->hidden);
    const int gru = dice_chance(&p->d, 40), by_node = root_of(&p->t, space) == RILL_ROWS && !is_distinct(&p->t, space);
    const look gates = plain(p, space, (gru ? 3 : 4) * h), hidden = gru ? plain(p, space, 3 * h) : gates;
    look before = {LOOK_NONE, 0, 0, 0, 0}, c_out, h_out;
    if (dice_chance(&p->d, 80)) before = find(p, space, h, ABSENT, NULL);
    if (by_node && 2 * h <= p->t.table[p->states].width && dice_chance(&p->d, 60)) {
        h_out = (look){LOOK_TABLE, p->states, p->s.node, 0, 0};
        c_out = (look){LOOK_TABLE, p->states, p->s.node, 0, (int32_t)h};
        if (before.kind == LOOK_TABLE && before.of == p->states && before.row == p->s.node) before = c_out;
        if (gru && before.first == c_out.first && before.of == c_out.of) before.kind = LOOK_NONE;
    } else {
        h_out = (look){LOOK_VALUE, add_value(p, space, h), RILL_OWN, 0, 0};
        c_out = (look){LOOK_VALUE, add_value(p, space, h), RILL_OWN, 0, 0};
        p->t.value[gru ? c_out.of : 0].written = 0;
    }
    told_op *op = add_op(p, gru ? TOLD_GRU : TOLD_LSTM, space);
    op->view[0] = gates, op->view[1] = gru ? hidden : before, op->view[2] = gru ? before : c_out, op->view[3] = h_out;
    if (gru)
        op->as.gru.hidden = h;
    else
        op->as.lstm.hidden = h;
}

static void make_scan(problem *p)
{
    const skeleton *s = &p->s;
    const int shorter = dice_chance(&p->d, 40), gru = dice_chance(&p->d, 40);
    const rill_space space = shorter ? s->units2 : s->units;
    const size_t h = (size_t)dice_range(&p->d, 1, (int32_t)p->hidden), width = (gru ? 3 : 4) * h;
    look gates = {LOOK_CONSTANT, p->wide, shorter ? s->unit_symbol2 : s->unit_symbol, 0, 0};
    rill_scan scan = {.cell = gru ? RILL_CELL_GRU : RILL_CELL_LSTM,
                      .space = space,
                      .hidden = h,
                      .recurrent = add_matrix(p, width, h, random_type(p)),
                      .backward = dice_chance(&p->d, 50)};
    if (dice_chance(&p->d, 70)) {
        gates = plain(p, s->units, width);
        scan.read = shorter ? dice_range(&p->d, 0, 1) : 0;
    }
    if (gru && dice_chance(&p->d, 70)) scan.recurrent_bias = add_constant(p, 1, width);
    look out = {LOOK_NONE, 0, 0, 0, 0}, last_h = out, last_c = out;
    if (dice_chance(&p->d, 80)) out = place_apart(p, space, h, &gates, 1);
    if (dice_chance(&p->d, 60)) last_h = place(p, RILL_ROWS, h);
    if (!gru && dice_chance(&p->d, 40)) last_c = (look){LOOK_VALUE, add_value(p, RILL_ROWS, h), RILL_OWN, 0, 0};
    told_op *op = add_op(p, TOLD_SCAN, space);
    op->view[0] = gates, op->view[1] = out, op->view[2] = last_h, op->view[3] = last_c;
    op->as.scan = scan;
}

static void make_attend(problem *p)
{
    const skeleton *s = &p->s;
    const int how = dice_range(&p->d, 0, s->units != 0 ? 2 : 1);
    rill_space space = random_space(p);
    if (is_distinct(&p->t, space)) space = RILL_ROWS;
    if (how == 2) space = dice_chance(&p->d, 50) ? s->units : s->where_units;
    rill_attend o = {.heads = (size_t)DICE_OF(&p->d, 1, 2, 4, 4), .scale = 0.4f};
    size_t most = how == 0 ? p->t.table[p->ragged].width : how == 1 ? p->t.table[p->nodes].width : 4 * p->hidden;
    if (p->hidden < most) most = p->hidden;
    if (o.heads > most) o.heads = 1;
    o.width = (size_t)dice_range(&p->d, 1, (int32_t)(most / o.heads));
    if (most >= 32 && dice_chance(&p->d, 40)) o.heads = 2, o.width = 32, o.heads = most >= 64 ? 2 : 1;
    const size_t width = o.heads * o.width;
    look v[4] = {find(p, space, width, ANY, NULL)};
    if (how == 0) {
        o.slot = s->slot;
        v[1] = v[2] = (look){LOOK_IN, p->ragged, s->unit, s->full_slot, 0};
        v[2].first = dice_range(&p->d, 0, (int32_t)(p->t.table[p->ragged].width - width));
    } else if (how == 1) {
        const int fresh = dice_chance(&p->d, 50);
        told_op *path = add_op(p, TOLD_PATH, RILL_ROWS);
        path->node = fresh ? s->node : s->old;
        path->parent = fresh ? s->old_or_none : 0;
        path->depth = fresh ? s->depth : s->old_depth;
        o.path = ++p->t.paths;
        v[1] = (look){LOOK_TABLE, p->nodes, s->old, 0, 0};
        v[2] = (look){LOOK_TABLE, p->states, s->old, 0, 0};
        if (p->t.table[p->states].width < width) v[2] = v[1];
    } else {
        o.own = 1;
        v[1] = plain(p, s->units, width);
        v[2] = plain(p, s->units, width);
    }
    v[3] = (look){LOOK_VALUE, add_value(p, space, width), RILL_OWN, 0, 0};
    if (space == RILL_ROWS && how < 2 && !p->t.watches && dice_chance(&p->d, 30)) o.watch = p->t.watches = 1;
    told_op *op = add_op(p, TOLD_ATTEND, space);
    memcpy(op->view, v, sizeof v);
    op->as.attend = o;
}

static void make_rows(problem *p)
{
    const rill_space space = random_space(p);
    const size_t width = (size_t)dice_range(&p->d, 1, (int32_t)p->hidden);
    const look x = find(p, space, width, ANY, NULL), y = find(p, space, width, ANY, NULL);
    const look both[2] = {x, y};
    if (dice_chance(&p->d, 50)) {
        rill_normalise o = {.eps = 1e-5f, .rms = dice_chance(&p->d, 40), .width = width};
        if (dice_chance(&p->d, 70)) o.gain = add_constant(p, 1, width);
        if (dice_chance(&p->d, 70)) o.bias = add_constant(p, 1, width);
        const int more = dice_chance(&p->d, 50);
        const look out = place_apart(p, space, width, both, 2);
        told_op *op = add_op(p, TOLD_NORMALISE, space);
        op->as.normalise = o;
        op->view[0] = x, op->view[2] = out;
        if (more) op->view[1] = y;
        return;
    }
    const look out = place_apart(p, space, width, both, 2);
    told_op *op = add_op(p, TOLD_ACTIVATE, space);
    op->as.activate = (rill_activate){.activation = random_activation(p), .width = width};
    op->view[0] = x, op->view[2] = out;
    if (dice_chance(&p->d, 50)) op->view[1] = y;
}

static rill_column symbol_of(problem *p, rill_space space)
{
    const rill_space root = root_of(&p->t, space);
    if (root == RILL_ROWS) return p->s.symbol_or_none;
    return root == p->s.units2 ? p->s.unit_symbol2 : p->s.unit_or_none;
}

static void make_embed(problem *p)
{
    const rill_space space = random_space(p);
    size_t width = (size_t)dice_range(&p->d, 1, (int32_t)p->hidden);
    rill_embedding o = {.scale = 1.0f};
    if (dice_chance(&p->d, 50)) o.scale = 1.7f;
    look v[2] = {find(p, space, width, ABSENT | NO_VALUE, NULL)};
    if (!is_distinct(&p->t, space) && dice_chance(&p->d, 30)) {
        v[0].kind = LOOK_NONE;
        o.matrix = add_matrix(p, CONSTANT_ROWS, width, RILL_WEIGHT_F32);
        o.symbol = symbol_of(p, space);
    }
    if (dice_chance(&p->d, 60)) v[1] = find(p, space, width, ABSENT, NULL);
    o.width = width;
    const look out = place_apart(p, space, width, v, 2);
    told_op *op = add_op(p, TOLD_EMBED, space);
    op->as.embed = o;
    op->view[0] = v[0], op->view[1] = v[1], op->view[2] = out;
}

static void make_sum(problem *p)
{
    const rill_space space = random_space(p);
    const size_t width = (size_t)dice_range(&p->d, 1, 2 * (int32_t)p->hidden);
    look v[RILL_SUM_TERMS];
    const int32_t terms = dice_range(&p->d, 1, dice_chance(&p->d, 20) ? RILL_SUM_TERMS : 3);
    for (int32_t i = 0; i < terms; i++) v[i] = find(p, space, width, ABSENT, NULL);
    const look out = place_apart(p, space, width, v, terms);
    told_op *op = add_op(p, TOLD_SUM, space);
    op->as.sum = (rill_sum){.terms = terms, .width = width};
    op->as.sum.activation = dice_chance(&p->d, 50) ? RILL_RELU : RILL_LINEAR;
    memcpy(op->view, v, (size_t)terms * sizeof *v);
    op->view[15] = out;
}

static void make_copy(problem *p)
{
    const rill_space space = random_space(p);
    const size_t width = (size_t)dice_range(&p->d, 1, (int32_t)p->hidden);
    const look x = find(p, space, width, ABSENT, NULL), out = place_apart(p, space, width, &x, 1);
    told_op *op = add_op(p, TOLD_COPY, space);
    op->as.copy.width = width;
    op->view[0] = x, op->view[1] = out;
}

/* The best symbol of a row becomes a column that later operations read. */
static void make_tag(problem *p)
{
    rill_space space = p->s.units != 0 ? DICE_OF(&p->d, p->s.units, p->s.where_units, RILL_ROWS) : RILL_ROWS;
    const size_t symbols = (size_t)dice_range(&p->d, 1, 20);
    const look logits = plain(p, space, symbols);
    told_op *op = add_op(p, TOLD_BEST, space);
    op->view[0] = logits;
    op->as.best = (rill_best_choices){.symbols = symbols,
                                      .first_action = dice_range(&p->d, 0, 3),
                                      .tag = space == RILL_ROWS ? p->s.tag : p->s.unit_tag};
}

static rill_space choosing_space(problem *p)
{
    if (dice_chance(&p->d, 60)) return RILL_ROWS;
    return p->s.filled_rows != 0 && dice_chance(&p->d, 50) ? p->s.filled_rows : p->s.where;
}

static look list_logits(problem *p, rill_space space, rill_list list)
{
    const look a = find(p, space, p->hidden, ANY, NULL);
    const rill_value v = add_value(p, space, p->symbols);
    p->t.value[v].list = list;
    told_op *op = add_op(p, TOLD_PRODUCT, space);
    op->as.product = (rill_product){.list = list, .list_slot = p->s.slot, .activation = random_activation(p)};
    op->view[0] = a;
    op->view[3] = (look){LOOK_VALUE, v, RILL_OWN, 0, 0};
    return op->view[3];
}

static void make_best(problem *p)
{
    const rill_space space = choosing_space(p);
    const int listed = dice_chance(&p->d, 30);
    rill_best_choices o = {.symbols = p->symbols};
    look v[2] = {{LOOK_NONE, 0, 0, 0, 0}, {LOOK_NONE, 0, 0, 0, 0}};
    if (listed) {
        o.list = p->list[0];
        o.list_slot = p->s.slot;
        v[0] = list_logits(p, space, o.list);
    } else {
        v[0] = plain(p, space, p->symbols);
        if (dice_chance(&p->d, 50)) o.bias = add_constant(p, 1, p->symbols);
        if (dice_chance(&p->d, 40)) v[1] = find(p, space, p->symbols, ABSENT, &v[0]);
        if (dice_chance(&p->d, 40)) o.first_action = dice_range(&p->d, 1, 70);
        if (dice_chance(&p->d, 50)) {
            told_op *mask = add_op(p, TOLD_MASK, space);
            mask->as.mask = (rill_mask){.list = p->mask, .slot = p->s.slot, .width = p->symbols};
            mask->view[0] = v[0];
        }
    }
    told_op *op = add_op(p, TOLD_BEST, space);
    op->as.best = o;
    op->view[0] = v[0], op->view[1] = v[1];
    p->t.selects = 1;
}

static void make_mix(problem *p)
{
    const rill_space space = choosing_space(p);
    const int listed = dice_chance(&p->d, 40);
    rill_mix o = {.models = listed ? dice_range(&p->d, 1, 2) : dice_range(&p->d, 1, 4), .symbols = p->symbols};
    look v[4];
    for (int32_t i = 0; i < o.models; i++) {
        if (listed) {
            o.list[i] = p->list[i];
            o.list_slot = p->s.slot;
            v[i] = list_logits(p, space, o.list[i]);
            continue;
        }
        v[i] = make_product(p, space, p->symbols, (look){LOOK_VALUE, add_value(p, space, p->symbols), RILL_OWN, 0, 0});
        if (dice_chance(&p->d, 50)) o.bias[i] = add_constant(p, 1, p->symbols);
    }
    told_op *op = add_op(p, TOLD_MIX, space);
    op->as.mix = o;
    memcpy(op->view, v, (size_t)o.models * sizeof *v);
    for (int32_t i = 0; i < o.models; i++) p->t.value[v[i].of].written = 0; /* they are overwritten */
    p->t.selects = 1;
}

static void make_op(problem *p)
{
    const int32_t kind = dice_range(&p->d, 0, 99);
    const rill_space space = random_space(p);
    if (kind < 20)
        (void)make_product(p, space, (size_t)dice_range(&p->d, 1, 3 * (int32_t)p->hidden),
                           (look){LOOK_NONE, 0, 0, 0, 0});
    else if (kind < 28)
        make_siblings(p);
    else if (kind < 38)
        make_cell(p);
    else if (kind < 48 && p->s.units != 0)
        make_scan(p);
    else if (kind < 62)
        make_attend(p);
    else if (kind < 72)
        make_rows(p);
    else if (kind < 80)
        make_embed(p);
    else if (kind < 88)
        make_sum(p);
    else if (kind < 95)
        make_copy(p);
    else
        make_tag(p);
}

/* --- what is asked ------------------------------------------------------------------------------------------------ */

static void make_selection(problem *p)
{
    enum { SETS = 3, PICKS = 40 };
    rill_selection *a = &p->ask;
    const int32_t actions = (int32_t)p->symbols + 75;
    a->most = dice_chance(&p->d, 15) ? 0 : dice_range(&p->d, 1, dice_chance(&p->d, 30) ? (int32_t)p->symbols + 4 : 6);
    a->stride = a->most + dice_range(&p->d, 0, 2);
    if (dice_chance(&p->d, 60)) {
        a->legal_words = (size_t)dice_range(&p->d, 1, (actions + 127) / 64);
        uint64_t *legal = room(SETS * a->legal_words, sizeof *legal);
        int32_t *set = room((size_t)p->n, sizeof *set);
        for (size_t i = 0; i < SETS * a->legal_words * 64; i++)
            if (dice_chance(&p->d, 60)) legal[i / 64] |= UINT64_C(1) << (i % 64);
        for (int32_t r = 0; r < p->n; r++) set[r] = dice_range(&p->d, -1, SETS - 1);
        a->legal = legal;
        if (dice_chance(&p->d, 90))
            a->legal_set = set;
        else
            free(set);
    }
    int32_t *row = room(PICKS, sizeof *row), *action = room(PICKS, sizeof *action);
    for (int32_t at = 0; a->n_picks < PICKS && dice_chance(&p->d, 90);) {
        at += dice_range(&p->d, 0, 3);
        if (at >= p->n) break;
        row[a->n_picks] = at;
        action[a->n_picks++] = dice_range(&p->d, -1, actions);
    }
    a->pick_row = row;
    a->pick_action = action;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

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
    for (int32_t i = 0; i < w->nodes; i++) w->above[i] = i < p->old_nodes ? dice_range(&p->d, -1, i - 1) : -1;
}

problem *make_problem(uint64_t seed)
{
    problem *p = room(1, sizeof *p);
    p->d = dice_seeded(seed);
    p->n = dice_chance(&p->d, 10) ? 0 : dice_range(&p->d, 1, dice_chance(&p->d, 25) ? 70 : 12);
    p->hidden = (size_t)DICE_OF(&p->d, 1, 5, 8, 16, 20, 33, 64);
    p->symbols = (size_t)dice_range(&p->d, 1, dice_chance(&p->d, 20) ? 150 : 20);
    make_world(p);
    p->rows = add_constant(p, CONSTANT_ROWS, p->hidden);
    p->wide = add_constant(p, CONSTANT_ROWS, 4 * p->hidden);
    p->nodes = add_table(p, RILL_TABLE_NODES, p->hidden + 3);
    p->states = add_table(p, RILL_TABLE_NODES, 2 * p->hidden);
    p->slots = add_table(p, RILL_TABLE_SLOTS, 2 * p->hidden);
    p->ragged = add_table(p, RILL_TABLE_RAGGED, p->hidden + (size_t)dice_range(&p->d, 0, 20));
    p->host = add_table(p, RILL_TABLE_HOST, p->hidden);
    p->mask = add_list(p, 0, 0);
    p->list[0] = add_list(p, 1, 0);
    p->list[1] = add_list(p, 1, p->list[0]);
    make_skeleton(p, dice_chance(&p->d, 50));
    for (int32_t i = dice_range(&p->d, 1, 7); i > 0 && has_parts(p); i--) make_op(p);
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

static void free_rows(const tale *t, world *w)
{
    for (int32_t i = 1; i <= t->tables; i++) {
        free(w->rows[i]);
        for (int32_t s = 0; s < w->slots; s++) free(w->ragged[i][s]);
    }
}

void free_problem(problem *p)
{
    tale *t = &p->t;
    free_rows(t, &p->w);
    for (int32_t i = 1; i <= t->lists; i++)
        for (int32_t s = 0; s < p->w.slots; s++) free(p->w.symbol[i][s]);
    for (int32_t i = 1; i <= t->constants; i++) free(t->constant[i].data);
    for (int32_t i = 1; i <= t->matrices; i++) free(t->matrix[i].w);
    for (int32_t i = 1; i <= t->columns; i++) free(t->column[i].entry);
    free((void *)(uintptr_t)p->ask.legal);
    free((void *)(uintptr_t)p->ask.legal_set);
    free((void *)(uintptr_t)p->ask.pick_row);
    free((void *)(uintptr_t)p->ask.pick_action);
    free(p);
}

static float *copy_floats(const float *from, size_t count)
{
    float *to = room(count, sizeof *to);
    if (from != NULL && count > 0) memcpy(to, from, count * sizeof *to);
    return to;
}

world *copy_world(const problem *p)
{
    world *w = room(1, sizeof *w);
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
    for (int32_t i = 1; i < MOST_PARTS; i++) {
        free(w->rows[i]);
        for (int32_t s = 0; s < w->slots; s++) free(w->ragged[i][s]);
    }
    free(w);
}
