/* What the models compute, as programs: encoding inputs, making states, scoring them, looking at them once more.
 *
 * Each program has the operations of all nets, one behind the other, so an ensemble runs in one go. A layer is the same on both
 * sides but for what is attended to: the units of the input, the path to the root, the slot.
 *
 * Invariant: columns are declared in the order of the struct that the runner fills them from (encode.c, step.c): this file and
 * those change together. Divisions: layers · encode · step and watch · score · tables and the whole. */
#include <math.h>

#include "model.h"

static const float EPSILON = 1e-5f; /* of the norms: torch's default, which transformers keeps */

/* --- layers ------------------------------------------------------------------------------------------------------- */

/* What goes through the layers of a side. */
typedef struct pass {
    const mt_net *net;
    const mt_side *side;
    rill_plan *plan;
    rill_program program;
    rill_space space;
    rill_value x, query, context; /* [D] */
    rill_value memory;            /* [2D] */
    rill_value inner;             /* [F] */
} pass;

static pass begin(const mt_net *net, const mt_side *side, rill_program program, rill_space space)
{
    rill_plan *plan = net->model->plan;
    return (pass){.net = net,
                  .side = side,
                  .plan = plan,
                  .program = program,
                  .space = space,
                  .x = rill_value_make(plan, program, space, net->width),
                  .query = rill_value_make(plan, program, space, net->width),
                  .context = rill_value_make(plan, program, space, net->width),
                  .memory = rill_value_make(plan, program, space, 2 * net->width),
                  .inner = rill_value_make(plan, program, space, side->inner)};
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

/* x = scale * embedding + position. */
static void embed(const pass *p, rill_column symbol, rill_column position)
{
    const mt_side *side = p->side;
    const int stored = side->position != RILL_NONE, packed = side->embedding == RILL_NONE;
    const rill_embedding embedding = {.rows = packed ? (rill_view){0} : rill_row(side->embedding, symbol),
                                      .matrix = packed ? p->net->output : RILL_NONE,
                                      .symbol = symbol,
                                      .scale = p->net->settings.scale,
                                      .position = stored ? rill_row(side->position, position)
                                                         : rill_at(p->net->places, position),
                                      .out = rill_of(p->x)};
    rill_op_embed(p->plan, p->program, p->space, &embedding);
}

/* out = norm(x + linear a). */
static void add_norm(const pass *p, const mt_linear *linear, const mt_norm *norm, rill_value a, rill_view out)
{
    rill_product product = product_of(linear, rill_of(a), rill_of(p->x));
    product.add = rill_of(p->x);
    rill_op_product(p->plan, p->program, p->space, &product);
    const rill_normalise normalise = {
        .x = rill_of(p->x), .gain = norm->gain, .bias = norm->bias, .eps = EPSILON, .y = out};
    rill_op_normalise(p->plan, p->program, p->space, &normalise);
}

/* context = attention to what `memory` names, whose keys have the values behind them. */
static void attend(const pass *p, const mt_attention *attention, rill_attend memory)
{
    const size_t heads = p->side->heads, width = p->net->width / heads;
    multiply(p, &attention->query, rill_of(p->x), rill_of(p->query));
    memory.heads = heads;
    memory.width = width;
    memory.scale = 1.0f / sqrtf((float)width);
    memory.query = rill_of(p->query);
    memory.values = rill_from(memory.keys, p->net->width);
    memory.out = rill_of(p->context);
    rill_op_attend(p->plan, p->program, p->space, &memory);
}

/* out = norm(x + outer activation(inner x)). */
static void feed_forward(const pass *p, const mt_feed *feed, rill_view out)
{
    rill_product inner = product_of(&feed->inner, rill_of(p->x), rill_of(p->inner));
    inner.activation = p->net->settings.activation;
    rill_op_product(p->plan, p->program, p->space, &inner);
    add_norm(p, &feed->outer, &feed->norm, p->inner, out);
}

/* --- encode ------------------------------------------------------------------------------------------------------- */

/* What the decoder's layers make of the encoder's output does not depend on the output yet to come, so it is computed here,
 * once per piece, and kept with the slot. */
static void encode_net(const pass *p, rill_column slot)
{
    const rill_attend own = {.own = 1, .keys = rill_of(p->memory)};
    for (size_t i = 0; i < p->side->layers; i++) {
        const mt_layer *layer = &p->side->layer[i];
        multiply(p, &layer->self.memory, rill_of(p->x), rill_of(p->memory));
        attend(p, &layer->self, own);
        add_norm(p, &layer->self.out, &layer->self.norm, p->context, rill_of(p->x));
        feed_forward(p, &layer->feed, rill_of(p->x));
    }
    for (size_t i = 0; i < p->net->decoder.layers; i++) {
        const mt_layer *layer = &p->net->decoder.layer[i];
        multiply(p, &layer->cross.memory, rill_of(p->x), rill_in(layer->slots, slot, RILL_OWN));
    }
}

/* Rows are inputs, their units pieces. */
static rill_program build_encode(const mt_model *m)
{
    const rill_program program = rill_program_begin(m->plan, "encode");
    const rill_column length = rill_column_given(m->plan, program, RILL_ROWS, "length");
    const rill_column slot = rill_column_given(m->plan, program, RILL_ROWS, "slot");
    const rill_space pieces = rill_space_ragged(m->plan, program, length);
    const rill_column symbol = rill_column_given(m->plan, program, pieces, "symbol");
    const rill_column position = rill_column_given(m->plan, program, pieces, "position");
    for (size_t i = 0; i < m->nets; i++) {
        const pass p = begin(&m->net[i], &m->net[i].encoder, program, pieces);
        embed(&p, symbol, position);
        encode_net(&p, slot);
    }
    return program;
}

/* --- step and watch ----------------------------------------------------------------------------------------------- */

/* A net's keys and values of the new nodes come first, since each attends to itself as well. With `watch` nothing is written, and
 * the last layer ends where it has attended to the input. */
static void decode_net(const pass *p, rill_column node, rill_column slot, rill_path path, int watch)
{
    const size_t layers = p->side->layers;
    for (size_t i = 0; i < layers; i++) {
        const mt_layer *layer = &p->side->layer[i];
        const int last = i + 1 == layers;
        const rill_attend above = {.path = path, .keys = rill_at(layer->nodes, node)};
        const rill_attend input = {.slot = slot, .keys = rill_in(layer->slots, slot, RILL_OWN), .watch = watch && last};
        if (!watch) multiply(p, &layer->self.memory, rill_of(p->x), rill_at(layer->nodes, node));
        attend(p, &layer->self, above);
        add_norm(p, &layer->self.out, &layer->self.norm, p->context, rill_of(p->x));
        attend(p, &layer->cross, input);
        if (watch && last) return;
        add_norm(p, &layer->cross.out, &layer->cross.norm, p->context, rill_of(p->x));
        feed_forward(p, &layer->feed, last ? rill_at(p->net->top, node) : rill_of(p->x));
    }
}

/* Rows are nodes. A net has its own symbols, since nets may start from different ones. */
static rill_program build_decode(const mt_model *m, const char *name, size_t nets, int watch)
{
    const rill_program program = rill_program_begin(m->plan, name);
    const rill_column node = rill_column_given(m->plan, program, RILL_ROWS, "node");
    const rill_column slot = rill_column_given(m->plan, program, RILL_ROWS, "slot");
    const rill_column depth = rill_column_given(m->plan, program, RILL_ROWS, "depth");
    const rill_column parent = watch ? RILL_NONE : rill_column_given(m->plan, program, RILL_ROWS, "parent");
    const rill_path path = rill_op_path(m->plan, program, node, parent, depth);
    for (size_t i = 0; i < nets; i++) {
        const rill_column symbol = rill_column_given(m->plan, program, RILL_ROWS, "symbol");
        const pass p = begin(&m->net[i], &m->net[i].decoder, program, RILL_ROWS);
        embed(&p, symbol, depth);
        decode_net(&p, node, slot, path, watch);
    }
    return program;
}

/* --- score -------------------------------------------------------------------------------------------------------- */

/* Rows are nodes. Symbols without a piece, and the padding symbol, are never chosen (rill_domain_info.legal) but count in the softmax,
 * as in transformers. With a shortlist symbols are those of the slot's list, for the softmax too. */
static rill_program build_score(const mt_model *m)
{
    const size_t symbols = (size_t)m->net[0].decoder.words;
    const int listed = m->shortlist != NULL;
    const rill_program program = rill_program_begin(m->plan, "score");
    const rill_column node = rill_column_given(m->plan, program, RILL_ROWS, "node");
    const rill_column slot = rill_column_given(m->plan, program, RILL_ROWS, "slot");
    rill_mix mix = {.models = (int32_t)m->nets, .list_slot = listed ? slot : RILL_NONE, .symbols = symbols};
    for (size_t i = 0; i < m->nets; i++) {
        const mt_net *net = &m->net[i];
        const rill_view logits = rill_of(rill_value_make(m->plan, program, RILL_ROWS, symbols));
        const rill_product output = {.matrix = net->output,
                                     .list = net->list,
                                     .list_slot = mix.list_slot,
                                     .a = rill_at(net->top, node),
                                     .out = logits};
        rill_op_product(m->plan, program, RILL_ROWS, &output);
        mix.logits[i] = logits;
        mix.bias[i] = listed ? RILL_NONE : net->output_bias;
        mix.list[i] = net->list;
    }
    if (m->nets > 1) {
        rill_op_mix(m->plan, program, RILL_ROWS, &mix);
        return program;
    }
    const rill_best_choices best = {.logits = mix.logits[0],
                                    .symbols = symbols,
                                    .bias = mix.bias[0],
                                    .list = mix.list[0],
                                    .list_slot = mix.list_slot};
    rill_op_best(m->plan, program, RILL_ROWS, &best);
    return program;
}

/* --- tables and the whole ----------------------------------------------------------------------------------------- */

static void make_tables(rill_plan *plan, mt_net *net)
{
    const size_t memory = 2 * net->width;
    net->top = rill_plan_table(plan, RILL_TABLE_NODES, net->width, "node states");
    if (net->encoder.position == RILL_NONE || net->decoder.position == RILL_NONE)
        net->places = rill_plan_table(plan, RILL_TABLE_HOST, net->width, "positions");
    for (size_t i = 0; i < net->decoder.layers; i++) {
        mt_layer *layer = &net->decoder.layer[i];
        layer->nodes = rill_plan_table(plan, RILL_TABLE_NODES, memory, "keys and values");
        layer->slots = rill_plan_table(plan, RILL_TABLE_RAGGED, memory, "encoder memory");
    }
}

void mt_build(mt_model *m)
{
    for (size_t i = 0; i < m->nets; i++) make_tables(m->plan, &m->net[i]);
    m->programs = (mt_programs){.encode = build_encode(m),
                                .step = build_decode(m, "step", m->nets, 0),
                                .score = build_score(m),
                                .watch = build_decode(m, "watch", 1, 1)};
}
