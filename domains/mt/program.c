/* What transformers compute, as operations of the programs that ../seq2seq builds.
 *
 * A layer is the same on both sides but for what is attended to: the units of the input, the path to the root, the slot.
 * Divisions: layers · encode · step and watch · tables. */
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
    rill_plan *plan = net->seq.model->plan;
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
                                      .matrix = packed ? p->net->seq.output : RILL_NONE,
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

void mt_encode(const seq_net *net, const seq_reader *reader)
{
    const pass p = begin(mt_net_of(net), &mt_net_of(net)->encoder, reader->program, reader->pieces);
    embed(&p, reader->symbol, reader->position);
    encode_net(&p, reader->slot);
}

/* --- step and watch ----------------------------------------------------------------------------------------------- */

/* A net's keys and values of the new nodes come first, since each attends to itself as well. With `watch` nothing is written, and
 * the last layer ends where it has attended to the input. */
static void decode_net(const pass *p, const seq_writer *w)
{
    const size_t layers = p->side->layers;
    for (size_t i = 0; i < layers; i++) {
        const mt_layer *layer = &p->side->layer[i];
        const int last = i + 1 == layers;
        const rill_attend above = {.path = w->path, .keys = rill_at(layer->nodes, w->node)};
        const rill_attend input = {
            .slot = w->slot, .keys = rill_in(layer->slots, w->slot, RILL_OWN), .watch = w->watch && last};
        if (!w->watch) multiply(p, &layer->self.memory, rill_of(p->x), rill_at(layer->nodes, w->node));
        attend(p, &layer->self, above);
        add_norm(p, &layer->self.out, &layer->self.norm, p->context, rill_of(p->x));
        attend(p, &layer->cross, input);
        if (w->watch && last) return;
        add_norm(p, &layer->cross.out, &layer->cross.norm, p->context, rill_of(p->x));
        feed_forward(p, &layer->feed, last ? rill_at(p->net->top, w->node) : rill_of(p->x));
    }
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
    const size_t memory = 2 * net->width;
    net->top = rill_plan_table(plan, RILL_TABLE_NODES, net->width, "node states");
    net->places = RILL_NONE;
    if (net->encoder.position == RILL_NONE || net->decoder.position == RILL_NONE)
        net->places = rill_plan_table(plan, RILL_TABLE_HOST, net->width, "positions");
    for (size_t i = 0; i < net->decoder.layers; i++) {
        mt_layer *layer = &net->decoder.layer[i];
        layer->nodes = rill_plan_table(plan, RILL_TABLE_NODES, memory, "keys and values");
        layer->slots = rill_plan_table(plan, RILL_TABLE_RAGGED, memory, "encoder memory");
    }
}
