/* What transformers compute, as operations of the programs that ../seq2seq builds.
 *
 * A layer is the same on both sides but for what is attended to: the units of the input, the path to the root, the slot. A block is
 * x = norm(x + block(x)), or x = x + block(norm(x)) where norms stand before it. An SSRU or average attention in place of the
 * decoder's self-attention reads its parent's state.
 * Divisions: operations · blocks · in place of self-attention · encode · step and watch · tables. */
#include <math.h>

#include "model.h"

/* --- operations --------------------------------------------------------------------------------------------------- */

/* What goes through the layers of a side. */
typedef struct pass {
    const mt_net *net;
    const mt_side *side;
    rill_plan *plan;
    rill_program program;
    rill_space space;
    rill_value x;              /* [D] */
    rill_value y;              /* [D] of x, where norms stand before blocks */
    rill_value query, context; /* [A] */
    rill_value memory;         /* [2A] */
    rill_value inner;          /* [F], gated [2F] */
    rill_value gates;          /* of an SSRU [3D]; of average attention [D] */
    rill_value mean, average;  /* of average attention: [D], and its inner [I] */
} pass;

static pass begin(const mt_net *net, const mt_side *side, rill_program program, rill_space space)
{
    rill_plan *plan = net->seq.model->plan;
    const mt_first_block first = side == &net->decoder ? net->settings.first_block : MT_SELF_ATTENTION;
    const size_t gates = first == MT_SSRU ? 3 * net->width : first == MT_AVERAGE ? net->width : 0;
    const size_t average = first == MT_AVERAGE ? net->settings.average_inner : 0;
    return (pass){.net = net,
                  .side = side,
                  .plan = plan,
                  .program = program,
                  .space = space,
                  .x = rill_value_make(plan, program, space, net->width),
                  .y = mt_has(net, MT_PRE_NORM) ? rill_value_make(plan, program, space, net->width) : RILL_NONE,
                  .query = rill_value_make(plan, program, space, side->across),
                  .context = rill_value_make(plan, program, space, side->across),
                  .memory = first == MT_SELF_ATTENTION ? rill_value_make(plan, program, space, 2 * side->across)
                                                       : RILL_NONE,
                  .gates = gates > 0 ? rill_value_make(plan, program, space, gates) : RILL_NONE,
                  .mean = first == MT_AVERAGE ? rill_value_make(plan, program, space, net->width) : RILL_NONE,
                  .average = average > 0 ? rill_value_make(plan, program, space, average) : RILL_NONE,
                  .inner = rill_value_make(plan, program, space, (net->settings.gated ? 2 : 1) * side->inner)};
}

static rill_product product_of(const mt_linear *linear, rill_view a, rill_view out)
{
    return (rill_product){.matrix = linear->matrix, .bias = linear->bias, .a = a, .out = out};
}

static void multiply(const pass *p, const mt_linear *linear, rill_view a, rill_view out)
{
    const rill_product product = product_of(linear, a, out);
    rill_op_product(p->plan, p->program, p->space, &product);
}

static void normalise_row(const pass *p, const mt_norm *norm, rill_view x, rill_view out)
{
    const rill_normalise normalise = {.x = x,
                                      .gain = norm->gain,
                                      .bias = norm->bias,
                                      .eps = p->net->settings.eps,
                                      .rms = mt_has(p->net, MT_RMS),
                                      .y = out};
    rill_op_normalise(p->plan, p->program, p->space, &normalise);
}

static void normalise(const pass *p, const mt_norm *norm, rill_view out)
{
    normalise_row(p, norm, rill_of(p->x), out);
}

/* x = scale * embedding + position, normalised where the family has it so. */
static void embed(const pass *p, rill_column symbol, rill_column position)
{
    const mt_side *side = p->side;
    const int stored = side->position != RILL_NONE, packed = side->embedding == RILL_NONE;
    rill_embedding embedding = {.rows = packed ? (rill_view){0} : rill_row(side->embedding, symbol),
                                .matrix = packed ? p->net->seq.output : RILL_NONE,
                                .symbol = symbol,
                                .scale = p->net->settings.scale,
                                .out = rill_of(p->x)};
    if (p->net->settings.form != MT_POSITIONS_NONE)
        embedding.position = stored ? rill_row(side->position, position) : rill_at(p->net->places, position);
    rill_op_embed(p->plan, p->program, p->space, &embedding);
    if (mt_has(p->net, MT_EMBEDDED_NORM)) normalise(p, &side->embedded, rill_of(p->x));
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* What a block reads. */
static rill_view before(const pass *p, const mt_norm *norm)
{
    if (p->y == RILL_NONE) return rill_of(p->x);
    normalise(p, norm, rill_of(p->y));
    return rill_of(p->y);
}

/* x = x + linear a, then normalised to `out` where norms stand behind blocks. */
static void behind(const pass *p, const mt_linear *linear, const mt_norm *norm, rill_view a, rill_view out)
{
    rill_product product = product_of(linear, a, rill_of(p->x));
    product.add = rill_of(p->x);
    rill_op_product(p->plan, p->program, p->space, &product);
    if (p->y == RILL_NONE) normalise(p, norm, out);
}

/* context = attention of `x` to what `memory` names, whose keys have the values behind them. */
static void attend(const pass *p, const mt_attention *attention, rill_view x, rill_attend memory)
{
    const size_t heads = p->side->heads, width = p->side->across / heads;
    const float scale = p->net->settings.attention_scale;
    multiply(p, &attention->query, x, rill_of(p->query));
    memory.heads = heads;
    memory.width = width;
    memory.scale = scale > 0.0f ? scale : 1.0f / sqrtf((float)width);
    memory.relative = attention->relative;
    memory.query = rill_of(p->query);
    memory.values = rill_from(memory.keys, p->side->across);
    memory.out = rill_of(p->context);
    rill_op_attend(p->plan, p->program, p->space, &memory);
}

/* outer activation(inner x), or outer (activation(inner x) * (gate x)). */
static void feed_forward(const pass *p, const mt_feed *feed, rill_view out)
{
    const size_t width = p->side->inner;
    const rill_view inner = rill_of(p->inner);
    rill_product product = product_of(&feed->inner, before(p, &feed->norm), inner);
    if (!p->net->settings.gated) product.activation = p->net->settings.activation;
    rill_op_product(p->plan, p->program, p->space, &product);
    const rill_activate gate = {.activation = p->net->settings.activation,
                                .x = inner,
                                .gate = rill_from(inner, width),
                                .y = inner,
                                .width = width};
    if (p->net->settings.gated) rill_op_activate(p->plan, p->program, p->space, &gate);
    behind(p, &feed->outer, &feed->norm, inner, out);
}

/* What the last layer gave, to `out`; where norms stand behind blocks and there is none more, it is there. */
static void end(const pass *p, rill_view out)
{
    const rill_copy copy = {.width = p->net->width, .x = rill_of(p->x), .out = out};
    if (mt_has(p->net, MT_FINAL_NORM))
        normalise(p, &p->side->final, out);
    else if (p->y != RILL_NONE)
        rill_op_copy(p->plan, p->program, p->space, &copy);
}

/* Where the last layer's last norm puts its rows, which end up in `out`. */
static rill_view last_of(const pass *p, rill_view out)
{
    return mt_has(p->net, MT_FINAL_NORM) ? rill_of(p->x) : out;
}

/* --- in place of self-attention ----------------------------------------------------------------------------------- */

/* x = x + the terms, in order with x behind them, normalised where norms stand behind blocks. */
static void add_to(const pass *p, const mt_norm *norm, rill_view first, rill_view second)
{
    const rill_view x = rill_of(p->x);
    rill_sum sum = {.term = {first}, .terms = 1, .out = x, .width = p->net->width};
    if (second.kind != 0) sum.term[sum.terms++] = second;
    sum.term[sum.terms++] = x;
    rill_op_sum(p->plan, p->program, p->space, &sum);
    if (p->y == RILL_NONE) normalise(p, norm, x);
}

/* c = f c' + (1 - f) W x, written f (c' - W x) + W x; c' is the parent's cell, and 0 of a first node. */
static void step_cell(const pass *p, const mt_layer *layer, const seq_writer *w)
{
    const size_t width = p->net->width;
    const rill_view forget = rill_of(p->gates), less = rill_from(forget, width), fresh = rill_from(forget, 2 * width);
    const rill_sum change = {.terms = 2, .term = {rill_at(layer->nodes, w->parent), less}, .out = less, .width = width};
    const rill_activate gate = {.activation = RILL_SIGMOID, .x = forget, .gate = less, .y = forget, .width = width};
    const rill_sum cell = {.terms = 2, .term = {forget, fresh}, .out = rill_at(layer->nodes, w->node), .width = width};
    multiply(p, &layer->recurrence.gates, before(p, &layer->recurrence.norm), forget);
    rill_op_sum(p->plan, p->program, p->space, &change);
    rill_op_activate(p->plan, p->program, p->space, &gate);
    rill_op_sum(p->plan, p->program, p->space, &cell);
}

static void pass_ssru(const pass *p, const mt_layer *layer, const seq_writer *w)
{
    const rill_sum out = {.terms = 1,
                          .term = {rill_at(layer->nodes, w->node)},
                          .activation = RILL_RELU,
                          .out = rill_of(p->context),
                          .width = p->net->width};
    if (!w->watch) step_cell(p, layer, w);
    rill_op_sum(p->plan, p->program, p->space, &out);
    add_to(p, &layer->recurrence.norm, rill_of(p->context), (rill_view){0});
}

/* What came in so far, in the mean. */
static void take_mean(const pass *p, const mt_layer *layer, const seq_writer *w)
{
    const size_t width = p->net->width;
    const rill_view node = rill_at(layer->nodes, w->node);
    const rill_sum sum = {
        .terms = 2, .term = {rill_at(layer->nodes, w->parent), rill_of(p->x)}, .out = node, .width = width};
    const rill_activate share = {.activation = RILL_LINEAR,
                                 .x = node,
                                 .gate = rill_at(p->net->shares, w->depth),
                                 .y = rill_of(p->mean),
                                 .width = width};
    if (!w->watch) rill_op_sum(p->plan, p->program, p->space, &sum);
    rill_op_activate(p->plan, p->program, p->space, &share);
}

/* out = sigmoid(gate x) * x */
static void gate_row(const pass *p, const mt_linear *gate, rill_view x, rill_view out)
{
    const rill_activate activate = {.activation = RILL_SIGMOID, .x = out, .gate = x, .y = out, .width = p->net->width};
    multiply(p, gate, x, out);
    rill_op_activate(p->plan, p->program, p->space, &activate);
}

/* In Marian the norm before this block is of the mean alone; its own gate reads x as it is. */
static void pass_average(const pass *p, const mt_layer *layer, const seq_writer *w)
{
    const mt_recurrence *r = &layer->recurrence;
    rill_view mean = rill_of(p->mean);
    take_mean(p, layer, w);
    if (p->y != RILL_NONE) normalise_row(p, &r->norm, mean, mean);
    if (p->average != RILL_NONE) {
        rill_product inner = product_of(&r->inner, mean, rill_of(p->average));
        inner.activation = p->net->settings.average_activation;
        rill_op_product(p->plan, p->program, p->space, &inner);
        if (r->outer.matrix != RILL_NONE)
            multiply(p, &r->outer, rill_of(p->average), mean);
        else
            mean = rill_of(p->average);
    }
    if (!p->net->settings.average_gate) {
        add_to(p, &r->norm, mean, (rill_view){0});
        return;
    }
    gate_row(p, &r->own_gate, rill_of(p->x), rill_of(p->gates));
    gate_row(p, &r->mean_gate, mean, rill_of(p->context));
    add_to(p, &r->norm, rill_of(p->gates), rill_of(p->context));
}

/* --- encode ------------------------------------------------------------------------------------------------------- */

/* What the decoder's layers make of the encoder's output does not depend on the output yet to come, so it is computed here,
 * once per piece, and kept with the slot. */
static void encode_net(const pass *p, rill_column slot)
{
    const rill_attend own = {.own = 1, .keys = rill_of(p->memory)};
    for (size_t i = 0; i < p->side->layers; i++) {
        const mt_layer *layer = &p->side->layer[i];
        const rill_view x = before(p, &layer->self.norm);
        multiply(p, &layer->self.memory, x, rill_of(p->memory));
        attend(p, &layer->self, x, own);
        behind(p, &layer->self.out, &layer->self.norm, rill_of(p->context), rill_of(p->x));
        feed_forward(p, &layer->feed, rill_of(p->x));
    }
    if (mt_has(p->net, MT_FINAL_NORM)) normalise(p, &p->side->final, rill_of(p->x));
    for (size_t i = 0; i < p->net->decoder.layers; i++) {
        const mt_layer *layer = &p->net->decoder.layer[i];
        multiply(p, &layer->cross.memory, rill_of(p->x), rill_in(layer->slots, slot, RILL_OWN));
    }
}

void mt_encode(const seq_net *net, const seq_reader *reader)
{
    const pass p = begin(mt_net_of(net), &mt_net_of(net)->encoder, reader->program, reader->pieces);
    embed(&p, reader->symbol, reader->position);
    encode_net(&p, reader->slot);
}

/* --- step and watch ----------------------------------------------------------------------------------------------- */

/* A net's keys and values of the new nodes come first, since each attends to itself as well. */
static void attend_above(const pass *p, const mt_layer *layer, const seq_writer *w)
{
    const rill_attend above = {.path = w->path, .keys = rill_at(layer->nodes, w->node)};
    const rill_view x = before(p, &layer->self.norm);
    if (!w->watch) multiply(p, &layer->self.memory, x, rill_at(layer->nodes, w->node));
    attend(p, &layer->self, x, above);
    behind(p, &layer->self.out, &layer->self.norm, rill_of(p->context), rill_of(p->x));
}

/* With `watch` nothing is written, and the layer that alignments are of ends where it has attended to the input. */
static void decode_net(const pass *p, const seq_writer *w)
{
    const size_t layers = p->side->layers;
    const rill_view top = rill_at(p->net->top, w->node);
    static void (*const first[])(const pass *p, const mt_layer *layer, const seq_writer *w) = {
        [MT_SELF_ATTENTION] = attend_above, [MT_SSRU] = pass_ssru, [MT_AVERAGE] = pass_average};
    for (size_t i = 0; i < layers; i++) {
        const mt_layer *layer = &p->side->layer[i];
        const int last = i + 1 == layers, watched = w->watch && i == p->net->settings.watched_layer;
        const rill_attend input = {.slot = w->slot,
                                   .keys = rill_in(layer->slots, w->slot, RILL_OWN),
                                   .watch = watched ? p->net->settings.watched_heads : 0};
        first[p->net->settings.first_block](p, layer, w);
        attend(p, &layer->cross, before(p, &layer->cross.norm), input);
        if (watched) return;
        behind(p, &layer->cross.out, &layer->cross.norm, rill_of(p->context), rill_of(p->x));
        feed_forward(p, &layer->feed, last ? last_of(p, top) : rill_of(p->x));
    }
    end(p, top);
}

void mt_step(const seq_net *net, const seq_writer *writer)
{
    const pass p = begin(mt_net_of(net), &mt_net_of(net)->decoder, writer->program, RILL_ROWS);
    embed(&p, writer->symbol, writer->depth);
    decode_net(&p, writer);
}

rill_view mt_state(const seq_net *net, rill_program program, rill_column node, rill_column slot)
{
    (void)program, (void)slot;
    return rill_at(mt_net_of(net)->top, node);
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

void mt_make_tables(mt_net *net)
{
    rill_plan *plan = net->seq.model->plan;
    const size_t memory = 2 * net->decoder.across;
    const int computed = net->encoder.position == RILL_NONE || net->decoder.position == RILL_NONE;
    net->top = rill_plan_table(plan, RILL_TABLE_NODES, net->width, "node states");
    net->places = net->shares = RILL_NONE;
    if (computed && net->settings.form != MT_POSITIONS_NONE)
        net->places = rill_plan_table(plan, RILL_TABLE_HOST, net->width, "positions");
    if (net->settings.first_block == MT_AVERAGE)
        net->shares = rill_plan_table(plan, RILL_TABLE_HOST, net->width, "shares of a mean");
    const int attends = net->settings.first_block == MT_SELF_ATTENTION;
    for (size_t i = 0; i < net->decoder.layers; i++) {
        mt_layer *layer = &net->decoder.layer[i];
        layer->nodes = rill_plan_table(plan, RILL_TABLE_NODES, attends ? memory : net->width,
                                       attends ? "keys and values" : "states of layers");
        layer->slots = rill_plan_table(plan, RILL_TABLE_RAGGED, memory, "encoder memory");
    }
}
