/* What the model computes, as programs (rill/device.h):
 *
 * encode: frames' word, shape and suffixes added up; the first LSTM layer, both directions; tags of frames that have none; the
 *         second layer over the first's outputs and the tags, up to the last word and down to the first, whose outputs are the
 *         positions'; the products of model.h.
 * score:  the products of a state's positions added up, what is below zero cut off, and a layer with its softmax. Structure: rows
 *         where both actions are legal. Labels: those that are illegal get -infinity before the softmax, so the legal ones share
 *         all probability. */
#include "model.h"

/* --- encode ------------------------------------------------------------------------------------------------------- */

/* What is passed from layer to layer. */
typedef struct encoder {
    parser *p;
    rill_plan *plan;
    rill_program program;
    rill_column slot, first, last, tag, untagged, feature[PARSER_MOST_FEATURES];
    rill_space frames, positions;
    rill_value gates; /* [frames, 8H] forward, then backward, of either layer in turn */
} encoder;

static void declare_columns(encoder *e)
{
    rill_plan *plan = e->plan;
    const rill_program p = e->program;
    e->slot = rill_column_given(plan, p, RILL_ROWS, "slot");
    e->frames = rill_space_ragged(plan, p, rill_column_given(plan, p, RILL_ROWS, "frames"));
    e->positions = rill_space_ragged(plan, p, rill_column_given(plan, p, RILL_ROWS, "positions"));
    e->first = rill_column_given(plan, p, RILL_ROWS, "first position");
    e->last = rill_column_given(plan, p, RILL_ROWS, "last position");
    e->tag = rill_column_given(plan, p, e->frames, "tag");
    e->untagged = rill_column_given(plan, p, e->frames, "without a tag");
    for (size_t f = 0; f < parser_features(e->p); f++)
        e->feature[f] = rill_column_given(plan, p, e->frames, "row of a feature");
}

/* x = word + shape + suffixes, in this order. */
static rill_value embed(const encoder *e)
{
    const parser_weights *w = &e->p->weights;
    const rill_value x = rill_value_make(e->plan, e->program, e->frames, e->p->embedding);
    rill_sum sum = {.terms = (int32_t)parser_features(e->p),
                    .term = {rill_row(w->word_rows, e->feature[0]), rill_row(w->shape_rows, e->feature[1])},
                    .out = rill_of(x)};
    for (int32_t f = 2; f < sum.terms; f++) sum.term[f] = rill_row(w->suffix_rows, e->feature[f]);
    rill_op_sum(e->plan, e->program, e->frames, &sum);
    return x;
}

/* Both directions of a layer over units of `space`, of which backward ones read the gates `ahead` frames further on. */
static rill_value run_layer(const encoder *e, int layer, rill_space space, int32_t ahead)
{
    const size_t hidden = e->p->hidden;
    const rill_value outputs = rill_value_make(e->plan, e->program, space, 2 * hidden);
    for (int backward = 0; backward < 2; backward++)
        rill_op_scan(e->plan, e->program,
                     &(rill_scan){.cell = RILL_CELL_LSTM,
                                  .space = space,
                                  .hidden = hidden,
                                  .recurrent = e->p->weights.layer[layer].recurrent[backward],
                                  .gates = rill_from(rill_of(e->gates), backward ? 4 * hidden : 0),
                                  .read = backward ? ahead : 0,
                                  .backward = backward,
                                  .out = rill_from(rill_of(outputs), backward ? hidden : 0)});
    return outputs;
}

static rill_value run_first_layer(const encoder *e, rill_value x)
{
    rill_op_product(e->plan, e->program, e->frames,
                    &(rill_product){.matrix = e->p->weights.layer[0].input,
                                    .a = rill_of(x),
                                    .bias = e->p->weights.first_bias,
                                    .out = rill_of(e->gates)});
    return run_layer(e, 0, e->frames, 0);
}

/* None comes of weights that made no number of a row; such a word gets the first tag, and its sentence scores none. */
static void predict_tags(const encoder *e, rill_value outputs)
{
    const size_t tags = (size_t)e->p->tags - PARSER_TAGS;
    const rill_space untagged = rill_space_where(e->plan, e->program, e->frames, e->untagged);
    const rill_value logits = rill_value_make(e->plan, e->program, untagged, tags);
    rill_op_product(e->plan, e->program, untagged,
                    &(rill_product){.matrix = e->p->weights.tagger,
                                    .a = rill_of(outputs),
                                    .bias = e->p->weights.tagger_bias,
                                    .out = rill_of(logits)});
    rill_op_best(
        e->plan, e->program, untagged,
        &(rill_best_choices){.logits = rill_of(logits), .symbols = tags, .first_action = PARSER_TAGS, .tag = e->tag});
}

/* Forward outputs are wanted up to the last word, backward ones down to the first: each leaves out one frame, and both then fill the
 * rows of positions 0 .. n. */
static rill_value run_second_layer(const encoder *e, rill_value outputs)
{
    rill_op_product(e->plan, e->program, e->frames,
                    &(rill_product){.matrix = e->p->weights.layer[1].input,
                                    .a = rill_of(outputs),
                                    .add = rill_row(e->p->weights.tag_start, e->tag),
                                    .out = rill_of(e->gates)});
    return run_layer(e, 1, e->positions, 1);
}

static void multiply_positions(const encoder *e, rill_value positions)
{
    const parser_weights *w = &e->p->weights;
    const size_t net = e->p->net;
    const rill_view products = rill_in(e->p->products, e->slot, RILL_OWN);
    const rill_value ends = rill_value_make(e->plan, e->program, RILL_ROWS, (PRODUCTS - PRODUCT_C) * net);
    rill_op_product(e->plan, e->program, RILL_ROWS,
                    &(rill_product){.matrix = w->ends,
                                    .a = rill_unit_of(positions, e->last),
                                    .a2 = rill_unit_of(positions, e->first),
                                    .k2 = 2 * e->p->hidden,
                                    .bias = w->ends_bias,
                                    .out = rill_of(ends)});
    rill_op_product(e->plan, e->program, e->positions,
                    &(rill_product){.matrix = w->inner, .a = rill_of(positions), .out = products});
    rill_op_product(e->plan, e->program, e->positions,
                    &(rill_product){.matrix = w->closing,
                                    .a = rill_of(positions),
                                    .add = rill_of(ends),
                                    .out = rill_from(products, PRODUCT_C * net)});
}

static void make_encode(parser *p)
{
    encoder e = {.p = p, .plan = p->plan, .program = rill_program_begin(p->plan, "encode")};
    p->encode = e.program;
    declare_columns(&e);
    e.gates = rill_value_make(e.plan, e.program, e.frames, 8 * p->hidden);
    const rill_value outputs = run_first_layer(&e, embed(&e));
    predict_tags(&e, outputs);
    multiply_positions(&e, run_second_layer(&e, outputs));
}

/* --- score -------------------------------------------------------------------------------------------------------- */

static rill_view product_of(const parser *p, rill_column slot, rill_column position, size_t which)
{
    return rill_from(rill_in(p->products, slot, position), which * p->net);
}

static void make_structure(parser *p)
{
    rill_plan *plan = p->plan;
    const rill_program program = p->score[PARSER_STRUCTURE] = rill_program_begin(plan, "structure");
    const rill_column slot = rill_column_given(plan, program, RILL_ROWS, "slot"),
                      open = rill_column_given(plan, program, RILL_ROWS, "open"),
                      a = rill_column_given(plan, program, RILL_ROWS, "a"),
                      b = rill_column_given(plan, program, RILL_ROWS, "b"),
                      c = rill_column_given(plan, program, RILL_ROWS, "c");
    const rill_space rows = rill_space_where(plan, program, RILL_ROWS, open);
    const rill_value hidden = rill_value_make(plan, program, rows, p->net),
                     logits = rill_value_make(plan, program, rows, PARSER_LABELS);
    rill_op_sum(plan, program, rows,
                &(rill_sum){.terms = 3,
                            .term = {product_of(p, slot, a, PRODUCT_A), product_of(p, slot, b, PRODUCT_B),
                                     product_of(p, slot, c, PRODUCT_C)},
                            .activation = RILL_RELU,
                            .out = rill_of(hidden)});
    rill_op_product(plan, program, rows,
                    &(rill_product){.matrix = p->weights.structure,
                                    .a = rill_of(hidden),
                                    .bias = p->weights.structure_bias,
                                    .out = rill_of(logits)});
    rill_op_best(plan, program, rows, &(rill_best_choices){.logits = rill_of(logits), .symbols = PARSER_LABELS});
}

static void make_label(parser *p)
{
    rill_plan *plan = p->plan;
    const rill_program program = p->score[PARSER_LABEL] = rill_program_begin(plan, "label");
    const rill_column slot = rill_column_given(plan, program, RILL_ROWS, "slot"),
                      kind = rill_column_given(plan, program, RILL_ROWS, "last timestep"),
                      b = rill_column_given(plan, program, RILL_ROWS, "b"),
                      c = rill_column_given(plan, program, RILL_ROWS, "c");
    const rill_value hidden = rill_value_make(plan, program, RILL_ROWS, p->net),
                     logits = rill_value_make(plan, program, RILL_ROWS, (size_t)p->labels);
    rill_op_sum(plan, program, RILL_ROWS,
                &(rill_sum){.terms = 2,
                            .term = {product_of(p, slot, b, PRODUCT_LABEL_B), product_of(p, slot, c, PRODUCT_LABEL_C)},
                            .activation = RILL_RELU,
                            .out = rill_of(hidden)});
    rill_op_product(plan, program, RILL_ROWS,
                    &(rill_product){.matrix = p->weights.bracket, .a = rill_of(hidden), .out = rill_of(logits)});
    rill_op_best(plan, program, RILL_ROWS,
                 &(rill_best_choices){.logits = rill_of(logits),
                                      .symbols = (size_t)p->labels,
                                      .add = rill_row(p->weights.bracket_bias, kind),
                                      .first_action = PARSER_LABELS});
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

rill_status parser_plan(parser *p)
{
    p->products = rill_plan_table(p->plan, RILL_TABLE_RAGGED, PRODUCTS * p->net, "products of positions");
    make_encode(p);
    make_structure(p);
    make_label(p);
    return rill_plan_finish(p->plan);
}
