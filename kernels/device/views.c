/* Views: the functions that make them, and how they become operands of an operation.
 *
 * An operand in a block is a base, a distance from row to row, and an index or none. Which index it is follows from how the
 * operation's space is related to what is viewed; spaces are a tree, so there is one way from one to another: up, to what a row
 * was derived from, and then down, through `where` and `distinct`, to the row that stands for it there.
 * Divisions: making views · indices · checks. */
#include <stdio.h>

#include "plan.h"

/* --- making views ------------------------------------------------------------------------------------------------- */

rill_view rill_of(rill_value value)
{
    return (rill_view){.kind = DEV_VIEW_VALUE, .of = value, .row = RILL_OWN};
}

rill_view rill_unit_of(rill_value value, rill_column column)
{
    return (rill_view){.kind = DEV_VIEW_UNIT, .of = value, .row = column};
}

rill_view rill_at(rill_table table, rill_column row)
{
    return (rill_view){.kind = DEV_VIEW_TABLE, .of = table, .row = row};
}

rill_view rill_row(rill_constant constant, rill_column row)
{
    return (rill_view){.kind = DEV_VIEW_CONSTANT, .of = constant, .row = row};
}

rill_view rill_in(rill_table table, rill_column slot, rill_column unit)
{
    return (rill_view){.kind = DEV_VIEW_IN, .of = table, .row = unit, .slot = slot};
}

rill_view rill_from(rill_view view, size_t first)
{
    view.first += (int32_t)first;
    return view;
}

int dev_same_operand(const dev_operand *a, const dev_operand *b)
{
    return a->base == b->base && a->of == b->of && a->index == b->index && a->first == b->first;
}

/* --- indices ------------------------------------------------------------------------------------------------------ */

int32_t dev_index_number(rill_plan *plan, dev_program *program, dev_index wanted)
{
    for (size_t i = 0; i < program->indices; i++) {
        const dev_index *have = &program->index[i];
        if (have->kind == wanted.kind && have->space == wanted.space && have->a == wanted.a && have->b == wanted.b)
            return (int32_t)i;
    }
    const int32_t number = DEV_MORE(plan, program, index, indices, index_room);
    if (number < 0) return DEV_NO_INDEX;
    program->index[number - 1] = wanted;
    return number - 1;
}

const dev_space *dev_space_at(const dev_program *p, rill_space space)
{
    static const dev_space rows = {.kind = DEV_ROWS};
    return space == RILL_ROWS ? &rows : &p->space[space - 1];
}

int dev_is_derived(const dev_program *p, rill_space space, rill_space from)
{
    while (space != from && space != RILL_ROWS) space = dev_space_at(p, space)->of;
    return space == from;
}

static int fail(const dev_builder *b, const char *format, const char *what)
{
    dev_build_fail(b, format, what);
    return 0;
}

/* The way from rows of `space` up to what both it and `to` are derived from, and down to `to`. */
static int check_way(const dev_builder *b, rill_space space, rill_space to, int use, const char *what)
{
    dev_program *p = b->program;
    for (; !dev_is_derived(p, to, space); space = dev_space_at(p, space)->of) {
        if (dev_space_at(p, space)->kind == DEV_DISTINCT)
            return fail(b, "%s: a row of distinct values stands for several rows", what);
        if (dev_space_at(p, space)->kind == DEV_RAGGED && (use & DEV_WRITE))
            return fail(b, "%s: units would all write their input's row", what);
    }
    for (; to != space; to = dev_space_at(p, to)->of) {
        dev_space *down = &p->space[to - 1];
        if (down->kind == DEV_RAGGED) return fail(b, "%s: a row has many units", what);
        if (use & DEV_WRITE) return fail(b, "%s: it can only be read from here", what);
        if (down->kind == DEV_WHERE && !(use & DEV_ABSENT)) return fail(b, "%s: some rows have no row there", what);
        down->placed = 1;
    }
    return 1;
}

static int32_t map_index(const dev_builder *b, rill_space space, rill_space to, int use, const char *what)
{
    if (space == to || !check_way(b, space, to, use, what)) return DEV_NO_INDEX;
    return dev_index_number(b->plan, b->program, (dev_index){.kind = DEV_MAP, .space = space, .a = to});
}

int32_t dev_map_index(const dev_builder *b, rill_space space, rill_space to)
{
    return map_index(b, space, to, DEV_READ, "the input of a row");
}

int32_t dev_column_index(const dev_builder *b, rill_space space, rill_column column, const char *what)
{
    dev_program *p = b->program;
    if (b->plan->status != RILL_OK) return DEV_NO_INDEX;
    if (column < 1 || (size_t)column > p->columns) {
        dev_build_fail(b, "%s: there is no column %d", what, (int)column);
        return DEV_NO_INDEX;
    }
    const dev_column *c = &p->column[column - 1];
    for (rill_space s = space; s != c->space; s = dev_space_at(p, s)->of) {
        if (s == RILL_ROWS || dev_space_at(p, s)->kind == DEV_DISTINCT) {
            dev_build_fail(b, "%s: column %s has no entries for these rows", what, c->what);
            return DEV_NO_INDEX;
        }
    }
    return dev_index_number(b->plan, p,
                            (dev_index){.kind = DEV_COLUMN, .space = space, .a = column - 1, .b = c->written});
}

/* The number that a row of the space has by itself. */
static int32_t own_index(const dev_builder *b, rill_space space, const char *what)
{
    const dev_space_kind kind = dev_space_at(b->program, space)->kind;
    if (kind != DEV_DISTINCT && kind != DEV_RAGGED) {
        fail(b, "%s: rows of this space have no number of their own", what);
        return DEV_NO_INDEX;
    }
    return dev_index_number(b->plan, b->program, (dev_index){.kind = DEV_OWN, .space = space});
}

static int32_t number_index(const dev_builder *b, rill_space space, rill_column column, const char *what)
{
    return column == RILL_OWN ? own_index(b, space, what) : dev_column_index(b, space, column, what);
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

/* What a view's handle may be. */
static int check_handle(const dev_builder *b, int32_t handle, size_t count, const char *kind, const char *what)
{
    if (handle >= 1 && (size_t)handle <= count) return 1;
    dev_build_fail(b, "%s: there is no %s %d", what, kind, (int)handle);
    return 0;
}

static int check_width(const dev_builder *b, const rill_view *view, size_t have, size_t width, const char *what)
{
    if (view->first >= 0 && (size_t)view->first <= have && have - (size_t)view->first >= width) return 1;
    dev_build_fail(b, "%s has %zu columns from column %d on, expected %zu", what,
                   have > (size_t)view->first ? have - (size_t)view->first : 0, (int)view->first, width);
    return 0;
}

/* Note that the operation being built touches a value. */
static int touch(const dev_builder *b, dev_value *value, int use, const char *what)
{
    const int32_t now = (int32_t)b->program->ops - 1;
    if (value->first < 0 && !(use & DEV_WRITE)) return fail(b, "%s is read before it is written", what);
    if (value->first < 0) value->first = now;
    value->last = now;
    return 1;
}

static int build_value(const dev_builder *b, rill_space space, dev_operand *to, const rill_view *view, size_t width,
                       int use, const char *what)
{
    dev_program *p = b->program;
    if (!check_handle(b, view->of, p->values, "value", what)) return 0;
    dev_value *value = &p->value[view->of - 1];
    if (!check_width(b, view, value->width, width, what) || !touch(b, value, use, what)) return 0;
    to->base = DEV_VALUE;
    if (view->kind == DEV_VIEW_VALUE) {
        if ((use & DEV_PLAIN) && value->space != space) return fail(b, "%s is no value of the operation's space", what);
        to->index = use & DEV_BARE ? DEV_NO_INDEX : map_index(b, space, value->space, use, what);
        return 1;
    }
    if (dev_space_at(p, value->space)->kind != DEV_RAGGED || (use & (DEV_WRITE | DEV_PLAIN)))
        return fail(b, "%s: units of a ragged value, to be read, are meant", what);
    const int32_t unit = dev_column_index(b, space, view->row, what);
    to->index = dev_index_number(b->plan, p,
                                 (dev_index){.kind = DEV_UNIT, .space = space, .a = value->space, .b = unit});
    return 1;
}

static int build_table(const dev_builder *b, rill_space space, dev_operand *to, const rill_view *view, size_t width,
                       int use, const char *what)
{
    if (!check_handle(b, view->of, b->plan->tables, "table", what)) return 0;
    const dev_table *table = &b->plan->table[view->of - 1];
    if (!check_width(b, view, table->width, width, what)) return 0;
    if ((use & DEV_WRITE) && table->kind == RILL_TABLE_HOST) return fail(b, "%s: only the host fills this table", what);
    to->base = DEV_TABLE;
    if (use & DEV_BARE) return 1;
    if ((table->kind == RILL_TABLE_RAGGED) != (view->kind == DEV_VIEW_IN))
        return fail(b, "%s: rows of ragged tables, and of no others, have a slot", what);
    if (view->kind == DEV_VIEW_TABLE) {
        to->index = number_index(b, space, view->row, what);
        return 1;
    }
    const int32_t slot = dev_column_index(b, space, view->slot, what);
    const int32_t unit = number_index(b, space, view->row, what);
    to->index = dev_index_number(b->plan, b->program,
                                 (dev_index){.kind = DEV_IN, .space = space, .a = slot, .b = unit});
    return 1;
}

static int build_constant(const dev_builder *b, rill_space space, dev_operand *to, const rill_view *view, size_t width,
                          int use, const char *what)
{
    if (!check_handle(b, view->of, b->plan->constants, "constant", what)) return 0;
    if (!check_width(b, view, b->plan->constant[view->of - 1].width, width, what)) return 0;
    if (use & DEV_WRITE) return fail(b, "%s: constants are only read", what);
    to->base = DEV_CONSTANT;
    to->index = number_index(b, space, view->row, what);
    return 1;
}

void dev_build_view(const dev_builder *b, rill_space space, int place, rill_view view, size_t width, int use,
                    const char *what)
{
    dev_operand *to = &b->op->view[place];
    if (b->plan->status != RILL_OK) return;
    *to = (dev_operand){
        .of = view.of - 1, .index = DEV_NO_INDEX, .written = (use & DEV_WRITE) != 0, .first = (size_t)view.first};
    if (view.kind == DEV_VIEW_NONE) {
        to->of = 0;
        if (!(use & DEV_OPTIONAL)) fail(b, "%s is missing", what);
        return;
    }
    if ((use & DEV_PLAIN) && view.kind != DEV_VIEW_VALUE) {
        fail(b, "%s is no value of the operation's space", what);
        return;
    }
    if (view.kind == DEV_VIEW_VALUE || view.kind == DEV_VIEW_UNIT)
        build_value(b, space, to, &view, width, use, what);
    else if (view.kind == DEV_VIEW_CONSTANT)
        build_constant(b, space, to, &view, width, use, what);
    else
        build_table(b, space, to, &view, width, use, what);
}
