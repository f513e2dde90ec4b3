/* Random operations of a network. Each reads existing parts and writes new values, or table rows that belong to the
 * row. */
#include <string.h>

#include "random_network_internal.h"

static rill_index_space random_space(problem *p)
{
    return dice_chance(&p->d, 40) ? RILL_ROWS : dice_range(&p->d, 0, p->t.spaces);
}

static rill_activation random_activation(problem *p)
{
    return (rill_activation)dice_range(&p->d, 0, RILL_N_ACTIVATIONS - 1);
}

/* Sometimes return one of the n inputs to be overwritten: a value of the operation's space that its list of operands
 * allows to overwrite. No other input may overlap it. */
static spec_view pick_overwritten(problem *p, rill_op_kind kind, rill_index_space space, const spec_view *view, int n)
{
#define USE(OPERATION, member, times, width, use) [OPERATION##_##member] = use,
#define USES(OPERATION, word, description, width, flops) [RILL_OP_##OPERATION] = {RILL_##OPERATION##_OPERANDS(USE)},
    static const int uses[RILL_OP_KINDS][RILL_ROW_OPERANDS] = {RILL_ROW_OPERATIONS(USES)};
    const int *use = uses[kind];
    for (int tries = dice_chance(&p->d, 50) ? 2 * n : 0; tries > 0; tries--) {
        const spec_view *out = &view[dice_range(&p->d, 0, n - 1)];
        int fits = out->kind == SPEC_VIEW_VALUE && p->t.value[out->source].space == space;
        for (int i = 0; i < n && fits; i++)
            if (view[i].source == out->source && (view[i].kind == SPEC_VIEW_VALUE || view[i].kind == SPEC_VIEW_UNIT))
                fits = (use[kind == RILL_OP_SUM ? SUM_term : i] & RILL_IN_PLACE) != 0 &&
                       memcmp(&view[i], out, sizeof *out) == 0;
        if (fits) return *out;
    }
    return (spec_view){SPEC_VIEW_NONE, 0, 0, 0, 0};
}

static spec_view place_row_output(problem *p, rill_op_kind kind, rill_index_space space, size_t width,
                                  const spec_view *view, int n)
{
    const spec_view out = pick_overwritten(p, kind, space, view, n);
    return out.kind != SPEC_VIEW_NONE ? out : place_new_output(p, space, width, view, n);
}

/* Add a product of random operands. */
static spec_view make_product(problem *p, rill_index_space space, size_t n, spec_view out)
{
    const size_t k = (size_t)dice_range(&p->d, 1, (int32_t)p->hidden);
    const size_t k2 = dice_chance(&p->d, 30) ? (size_t)dice_range(&p->d, 1, (int32_t)p->hidden) : 0;
    /* not written yet, so the product cannot read it */
    if (out.kind == SPEC_VIEW_VALUE) p->t.value[out.source].written = 0;
    spec_view v[4] = {find_view(p, space, k, ANY, NULL)};
    const rill_matrix m = add_matrix(p, n, k + k2, random_type(p));
    if (k2 > 0) v[1] = find_view(p, space, k2, ANY, NULL);
    const int adds = dice_chance(&p->d, 40);
    if (adds) v[2] = find_view(p, space, n, ABSENT, NULL);
    if (out.kind == SPEC_VIEW_NONE && adds && v[2].kind == SPEC_VIEW_VALUE && p->t.value[v[2].source].space == space &&
        dice_chance(&p->d, 50) && v[0].source != v[2].source && (k2 == 0 || v[1].source != v[2].source))
        out = v[2];
    v[3] = out.kind != SPEC_VIEW_NONE ? out : place_new_output(p, space, n, v, 3);
    spec_op *op = add_op(p, RILL_OP_PRODUCT, space);
    memcpy(op->view, v, sizeof v);
    op->as.product = (rill_product){.matrix = m, .k2 = k2, .activation = random_activation(p)};
    if (dice_chance(&p->d, 50)) op->as.product.bias = add_constant(p, 1, n);
    if (v[3].kind == SPEC_VIEW_VALUE && p->t.value[v[3].source].written == 0) p->t.value[v[3].source].written = (int)n;
    return v[3];
}

/* Return a value of `width` floats in the space itself. */
static spec_view own_value(problem *p, rill_index_space space, size_t width)
{
    const spec_view l = find_view(p, space, width, PLAIN, NULL);
    if (l.kind != SPEC_VIEW_NONE && dice_chance(&p->d, 60)) return l;
    return make_product(p, space, width, (spec_view){SPEC_VIEW_VALUE, add_value(p, space, width), RILL_OWN, 0, 0});
}

/* Make query, key and value products of one input x, which int8 quantises only once. */
static void make_siblings(problem *p)
{
    const rill_index_space space = random_space(p);
    const size_t k = (size_t)dice_range(&p->d, 1, (int32_t)p->hidden);
    const spec_view a = find_view(p, space, k, ANY, NULL);
    for (int i = 0; i < 3; i++) {
        const size_t n = (size_t)dice_range(&p->d, 1, 40);
        const rill_matrix m = add_matrix(p, n, k, RILL_WEIGHT_INT8);
        const spec_view out = place_new_output(p, space, n, &a, 1);
        spec_op *op = add_op(p, RILL_OP_PRODUCT, space);
        op->view[0] = a, op->view[3] = out;
        op->as.product.matrix = m;
    }
}

static void make_cell(problem *p)
{
    const rill_index_space space = random_space(p);
    const size_t h = (size_t)dice_range(&p->d, 1, (int32_t)p->hidden);
    const int gru = dice_chance(&p->d, 40),
              by_node = root_space(&p->t, space) == RILL_ROWS && !is_distinct(&p->t, space);
    const spec_view gates = own_value(p, space, (gru ? 3 : 4) * h), hidden = gru ? own_value(p, space, 3 * h) : gates;
    spec_view prev = {SPEC_VIEW_NONE, 0, 0, 0, 0}, c_out, h_out;
    if (dice_chance(&p->d, 80)) prev = find_view(p, space, h, ABSENT, NULL);
    if (by_node && 2 * h <= p->t.table[p->states].width && dice_chance(&p->d, 60)) {
        h_out = (spec_view){SPEC_VIEW_TABLE, p->states, p->s.node, 0, 0};
        c_out = (spec_view){SPEC_VIEW_TABLE, p->states, p->s.node, 0, (int32_t)h};
        if (prev.kind == SPEC_VIEW_TABLE && prev.source == p->states && prev.row == p->s.node) prev = c_out;
        if (gru && prev.first == c_out.first && prev.source == c_out.source) prev.kind = SPEC_VIEW_NONE;
    } else {
        const spec_view v[3] = {gates, gru ? hidden : prev, prev};
        c_out = pick_overwritten(p, gru ? RILL_OP_GRU : RILL_OP_LSTM, space, v, 2 + gru);
        if (c_out.kind == SPEC_VIEW_NONE) c_out = (spec_view){SPEC_VIEW_VALUE, add_value(p, space, h), RILL_OWN, 0, 0};
        h_out = gru ? c_out : (spec_view){SPEC_VIEW_VALUE, add_value(p, space, h), RILL_OWN, 0, 0};
    }
    spec_op *op = add_op(p, gru ? RILL_OP_GRU : RILL_OP_LSTM, space);
    op->view[0] = gates, op->view[1] = gru ? hidden : prev, op->view[2] = gru ? prev : c_out, op->view[3] = h_out;
    if (gru)
        op->as.gru.hidden = h;
    else
        op->as.lstm.hidden = h;
}

static void make_scan(problem *p)
{
    const layout *s = &p->s;
    const int shorter = dice_chance(&p->d, 40), gru = dice_chance(&p->d, 40);
    const rill_index_space space = shorter ? s->units2 : s->units;
    const size_t h = (size_t)dice_range(&p->d, 1, (int32_t)p->hidden), width = (gru ? 3 : 4) * h;
    spec_view gates = {SPEC_VIEW_CONSTANT, p->wide, shorter ? s->unit_symbol2 : s->unit_symbol, 0, 0};
    rill_scan scan = {.cell = gru ? RILL_CELL_GRU : RILL_CELL_LSTM,
                      .space = space,
                      .hidden = h,
                      .recurrent = add_matrix(p, width, h, random_type(p)),
                      .backward = dice_chance(&p->d, 50)};
    if (dice_chance(&p->d, 70)) {
        gates = own_value(p, s->units, width);
        scan.shift = shorter ? dice_range(&p->d, 0, 1) : 0;
    }
    if (gru && dice_chance(&p->d, 70)) scan.recurrent_bias = add_constant(p, 1, width);
    spec_view out = {SPEC_VIEW_NONE, 0, 0, 0, 0}, last_h = out, last_c = out;
    if (dice_chance(&p->d, 80)) out = place_new_output(p, space, h, &gates, 1);
    if (dice_chance(&p->d, 60)) last_h = place_output(p, RILL_ROWS, h);
    if (!gru && dice_chance(&p->d, 40))
        last_c = (spec_view){SPEC_VIEW_VALUE, add_value(p, RILL_ROWS, h), RILL_OWN, 0, 0};
    spec_op *op = add_op(p, RILL_OP_SCAN, space);
    op->view[0] = gates, op->view[1] = out, op->view[2] = last_h, op->view[3] = last_c;
    op->as.scan = scan;
}

static void make_attend(problem *p)
{
    const layout *s = &p->s;
    const int how = dice_range(&p->d, 0, s->units != 0 ? 2 : 1);
    rill_index_space space = random_space(p);
    if (is_distinct(&p->t, space)) space = RILL_ROWS;
    if (how == 2) space = dice_chance(&p->d, 60) ? s->units : dice_chance(&p->d, 50) ? s->where_units : RILL_ROWS;
    rill_attend o = {.heads = (size_t)DICE_PICK(&p->d, 1, 2, 4, 4), .scale = 0.4f};
    size_t max_width = how == 0 ? p->t.table[p->ragged].width : how == 1 ? p->t.table[p->nodes].width : 4 * p->hidden;
    if (p->hidden < max_width) max_width = p->hidden;
    if (o.heads > max_width) o.heads = 1;
    o.width = (size_t)dice_range(&p->d, 1, (int32_t)(max_width / o.heads));
    if (max_width >= 32 && dice_chance(&p->d, 40)) o.heads = 2, o.width = 32, o.heads = max_width >= 64 ? 2 : 1;
    const size_t width = o.heads * o.width;
    if (dice_chance(&p->d, 40)) o.additive = add_constant(p, 1, width);
    if (dice_chance(&p->d, 10)) o.scale = 0.0f;
    o.value_width = dice_chance(&p->d, 40) ? (size_t)dice_range(&p->d, 1, (int32_t)(max_width / o.heads)) : o.width;
    const size_t columns = o.heads * o.value_width;
    spec_view v[4] = {find_view(p, space, width, ANY, NULL)};
    if (how == 0) {
        o.slot = s->slot;
        v[1] = v[2] = (spec_view){SPEC_VIEW_RAGGED, p->ragged, s->unit, s->full_slot, 0};
        v[2].first = dice_range(&p->d, 0, (int32_t)(p->t.table[p->ragged].width - columns));
    } else if (how == 1) {
        const int fresh = dice_chance(&p->d, 50);
        spec_op *path = add_op(p, RILL_OP_PATH, RILL_ROWS);
        path->node = fresh ? s->node : s->old;
        path->parent = fresh ? s->old_or_none : 0;
        path->depth = fresh ? s->depth : s->old_depth;
        o.path = ++p->t.paths;
        v[1] = (spec_view){SPEC_VIEW_TABLE, p->nodes, s->old, 0, 0};
        v[2] = (spec_view){SPEC_VIEW_TABLE, p->states, s->old, 0, 0};
        if (p->t.table[p->states].width < columns) v[2] = v[1];
    } else {
        o.own_units = 1;
        v[1] = own_value(p, s->units, width);
        v[2] = own_value(p, s->units, columns);
    }
    if (how == 1 || (how == 2 && space == s->units))
        if (dice_chance(&p->d, 50)) o.relative = add_constant(p, o.heads, (size_t)dice_range(&p->d, 0, 4) * 2 + 1);
    v[3] = (spec_view){SPEC_VIEW_VALUE, add_value(p, space, columns), RILL_OWN, 0, 0};
    if (space == RILL_ROWS && how < 2 && !p->t.watches && dice_chance(&p->d, 30)) {
        p->t.watches = 1;
        o.watched_heads = (size_t)dice_range(&p->d, 1, (int32_t)o.heads);
    }
    spec_op *op = add_op(p, RILL_OP_ATTEND, space);
    memcpy(op->view, v, sizeof v);
    op->as.attend = o;
}

static void make_rows(problem *p)
{
    const rill_index_space space = random_space(p);
    const size_t width = (size_t)dice_range(&p->d, 1, (int32_t)p->hidden);
    spec_view v[2] = {find_view(p, space, width, ANY, NULL)};
    if (dice_chance(&p->d, 50)) v[1] = find_view(p, space, width, ANY, NULL);
    if (dice_chance(&p->d, 50)) {
        rill_normalise o = {.eps = 1e-5f, .rms = dice_chance(&p->d, 40), .width = width};
        if (dice_chance(&p->d, 70)) o.gain = add_constant(p, 1, width);
        if (dice_chance(&p->d, 70)) o.bias = add_constant(p, 1, width);
        const spec_view out = place_row_output(p, RILL_OP_NORMALISE, space, width, v, 2);
        spec_op *op = add_op(p, RILL_OP_NORMALISE, space);
        op->as.normalise = o;
        op->view[0] = v[0], op->view[1] = v[1], op->view[2] = out;
        return;
    }
    const spec_view out = place_row_output(p, RILL_OP_ACTIVATE, space, width, v, 2);
    spec_op *op = add_op(p, RILL_OP_ACTIVATE, space);
    op->as.activate = (rill_activate){.activation = random_activation(p), .width = width};
    op->view[0] = v[0], op->view[1] = v[1], op->view[2] = out;
}

static rill_column symbol_of(problem *p, rill_index_space space)
{
    const rill_index_space root = root_space(&p->t, space);
    if (root == RILL_ROWS) return p->s.symbol_or_none;
    return root == p->s.units2 ? p->s.unit_symbol2 : p->s.unit_or_none;
}

static void make_embed(problem *p)
{
    const rill_index_space space = random_space(p);
    size_t width = (size_t)dice_range(&p->d, 1, (int32_t)p->hidden);
    rill_embedding o = {.scale = 1.0f};
    if (dice_chance(&p->d, 50)) o.scale = 1.7f;
    spec_view v[2] = {find_view(p, space, width, ABSENT | NO_VALUE, NULL)};
    if (!is_distinct(&p->t, space) && dice_chance(&p->d, 30)) {
        v[0].kind = SPEC_VIEW_NONE;
        o.matrix = add_matrix(p, CONSTANT_ROWS, width, RILL_WEIGHT_F32);
        o.symbol = symbol_of(p, space);
    }
    if (dice_chance(&p->d, 60)) v[1] = find_view(p, space, width, ABSENT, NULL);
    o.width = width;
    const spec_view out = place_new_output(p, space, width, v, 2);
    spec_op *op = add_op(p, RILL_OP_EMBED, space);
    op->as.embed = o;
    op->view[0] = v[0], op->view[1] = v[1], op->view[2] = out;
}

static void make_sum(problem *p)
{
    const rill_index_space space = random_space(p);
    const size_t width = (size_t)dice_range(&p->d, 1, 2 * (int32_t)p->hidden);
    spec_view v[RILL_SUM_TERMS];
    const int32_t terms = dice_range(&p->d, 1, dice_chance(&p->d, 40) ? RILL_SUM_TERMS : 3);
    for (int32_t i = 0; i < terms; i++)
        v[i] = i == terms - 1 && dice_chance(&p->d, 50) ? own_value(p, space, width)
                                                        : find_view(p, space, width, ABSENT, NULL);
    const spec_view out = place_row_output(p, RILL_OP_SUM, space, width, v, terms);
    spec_op *op = add_op(p, RILL_OP_SUM, space);
    op->as.sum = (rill_sum){.terms = terms, .width = width};
    op->as.sum.activation = dice_chance(&p->d, 50) ? RILL_RELU : RILL_LINEAR;
    memcpy(op->view + SUM_term, v, (size_t)terms * sizeof *v);
    op->view[SUM_out] = out;
}

static void make_copy(problem *p)
{
    const rill_index_space space = random_space(p);
    const size_t width = (size_t)dice_range(&p->d, 1, (int32_t)p->hidden);
    const spec_view x = find_view(p, space, width, ABSENT, NULL), out = place_new_output(p, space, width, &x, 1);
    spec_op *op = add_op(p, RILL_OP_COPY, space);
    op->as.copy.width = width;
    op->view[0] = x, op->view[1] = out;
}

/* Select the best symbol of each row into a column that later operations read. */
static void make_tag(problem *p)
{
    rill_index_space space = p->s.units != 0 ? DICE_PICK(&p->d, p->s.units, p->s.where_units, RILL_ROWS) : RILL_ROWS;
    const size_t symbols = (size_t)dice_range(&p->d, 1, 20);
    const spec_view logits = own_value(p, space, symbols);
    spec_op *op = add_op(p, RILL_OP_BEST, space);
    op->view[0] = logits;
    op->as.best = (rill_best_choices){.symbols = symbols,
                                      .first_action = dice_range(&p->d, 0, 3),
                                      .tag_column = space == RILL_ROWS ? p->s.tag : p->s.unit_tag};
}

static rill_index_space choosing_space(problem *p)
{
    if (dice_chance(&p->d, 60)) return RILL_ROWS;
    return p->s.filled_rows != 0 && dice_chance(&p->d, 50) ? p->s.filled_rows : p->s.where;
}

static spec_view subset_logits(problem *p, rill_index_space space, rill_vocab_subset list)
{
    const spec_view a = find_view(p, space, p->hidden, ANY, NULL);
    const rill_tensor v = add_value(p, space, p->symbols);
    p->t.value[v].list = list;
    spec_op *op = add_op(p, RILL_OP_PRODUCT, space);
    op->as.product = (rill_product){
        .vocab_subset = list, .vocab_subset_slot = p->s.slot, .activation = random_activation(p)};
    op->view[0] = a;
    op->view[3] = (spec_view){SPEC_VIEW_VALUE, v, RILL_OWN, 0, 0};
    return op->view[3];
}

void make_best(problem *p)
{
    const rill_index_space space = choosing_space(p);
    const int listed = dice_chance(&p->d, 30);
    rill_best_choices o = {.symbols = p->symbols, .raw = dice_chance(&p->d, 20)};
    spec_view v[2] = {{SPEC_VIEW_NONE, 0, 0, 0, 0}, {SPEC_VIEW_NONE, 0, 0, 0, 0}};
    if (listed) {
        o.vocab_subset = p->vocab_subset[0];
        o.vocab_subset_slot = p->s.slot;
        v[0] = subset_logits(p, space, o.vocab_subset);
    } else {
        v[0] = own_value(p, space, p->symbols);
        if (dice_chance(&p->d, 50)) o.bias = add_constant(p, 1, p->symbols);
        if (dice_chance(&p->d, 40)) v[1] = find_view(p, space, p->symbols, ABSENT, &v[0]);
        if (dice_chance(&p->d, 40)) o.first_action = dice_range(&p->d, 1, 70);
        if (dice_chance(&p->d, 50)) {
            spec_op *mask = add_op(p, RILL_OP_MASK, space);
            mask->as.mask = (rill_mask){.vocab_subset = p->mask, .slot = p->s.slot, .width = p->symbols};
            mask->view[0] = v[0];
        }
    }
    spec_op *op = add_op(p, RILL_OP_BEST, space);
    op->as.best = o;
    op->view[0] = v[0], op->view[1] = v[1];
    p->t.selects = 1;
}

void make_mix(problem *p)
{
    const rill_index_space space = choosing_space(p);
    const int listed = dice_chance(&p->d, 40);
    rill_mix o = {.models = listed ? dice_range(&p->d, 1, 2) : dice_range(&p->d, 1, 4), .symbols = p->symbols};
    spec_view v[4];
    for (int32_t i = 0; i < o.models; i++) {
        if (listed) {
            o.vocab_subset[i] = p->vocab_subset[i];
            o.vocab_subset_slot = p->s.slot;
            v[i] = subset_logits(p, space, o.vocab_subset[i]);
            continue;
        }
        v[i] = make_product(p, space, p->symbols,
                            (spec_view){SPEC_VIEW_VALUE, add_value(p, space, p->symbols), RILL_OWN, 0, 0});
        if (dice_chance(&p->d, 50)) o.bias[i] = add_constant(p, 1, p->symbols);
    }
    spec_op *op = add_op(p, RILL_OP_MIX, space);
    op->as.mix = o;
    memcpy(op->view, v, (size_t)o.models * sizeof *v);
    /* the operation overwrites these values, so they do not count as written */
    for (int32_t i = 0; i < o.models; i++) p->t.value[v[i].source].written = 0;
    p->t.selects = 1;
}

void make_op(problem *p)
{
    const int32_t kind = dice_range(&p->d, 0, 99);
    const rill_index_space space = random_space(p);
    if (kind < 20)
        (void)make_product(p, space, (size_t)dice_range(&p->d, 1, 3 * (int32_t)p->hidden),
                           (spec_view){SPEC_VIEW_NONE, 0, 0, 0, 0});
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
