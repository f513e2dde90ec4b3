/* The programs of a model: the columns of each, then the operations of all nets, one behind the other, so that an ensemble runs in
 * one go. Which operations these are is the architecture's matter, but for the output layer and what mixes several.
 *
 * Invariant: columns are declared in the order of the arrays that the runner fills (encode.c, step.c): this file and those change
 * together. Divisions: encode · step and watch · score · the whole. */
#include "seq2seq.h"

/* --- encode ------------------------------------------------------------------------------------------------------- */

/* Rows are inputs, their units pieces. */
static rill_program build_encode(const seq_model *m)
{
    const rill_program program = rill_program_begin(m->plan, "encode");
    const rill_column length = rill_column_given(m->plan, program, RILL_ROWS, "length");
    seq_reader reader = {.program = program};
    reader.slot = rill_column_given(m->plan, program, RILL_ROWS, "slot");
    reader.pieces = rill_space_ragged(m->plan, program, length);
    reader.symbol = rill_column_given(m->plan, program, reader.pieces, "symbol");
    reader.position = rill_column_given(m->plan, program, reader.pieces, "position");
    for (size_t i = 0; i < m->nets; i++) m->net[i]->kind->encode(m->net[i], &reader);
    return program;
}

/* --- step and watch ----------------------------------------------------------------------------------------------- */

/* Rows are nodes. A net has its own symbols, since nets may start from different ones. */
static rill_program build_decode(const seq_model *m, const char *name, size_t nets, int watch)
{
    const rill_program program = rill_program_begin(m->plan, name);
    seq_writer writer = {.program = program, .watch = watch};
    writer.node = rill_column_given(m->plan, program, RILL_ROWS, "node");
    writer.slot = rill_column_given(m->plan, program, RILL_ROWS, "slot");
    writer.depth = rill_column_given(m->plan, program, RILL_ROWS, "depth");
    const rill_column parent = watch ? RILL_NONE : rill_column_given(m->plan, program, RILL_ROWS, "parent");
    writer.parent = parent;
    if (m->parents && !watch) {
        writer.origin = rill_column_given(m->plan, program, RILL_ROWS, "origin");
        writer.first = rill_column_given(m->plan, program, RILL_ROWS, "slot of a first node");
    }
    if (m->paths) writer.path = rill_op_path(m->plan, program, writer.node, parent, writer.depth);
    for (size_t i = 0; i < nets; i++) {
        writer.symbol = rill_column_given(m->plan, program, RILL_ROWS, "symbol");
        m->net[i]->kind->step(m->net[i], &writer);
    }
    return program;
}

/* --- score -------------------------------------------------------------------------------------------------------- */

void seq_keep_output(seq_net *net, const float *rows, size_t width, const float *bias)
{
    const seq_model *m = net->model;
    const size_t symbols = (size_t)net->actions;
    net->output_bias = rill_plan_constant(m->plan, bias, 1, symbols);
    net->output = net->list = RILL_NONE;
    if (m->shortlist == NULL)
        net->output = rill_plan_matrix(m->plan, m->weights, symbols, width, rows, width);
    else
        net->list = rill_plan_list(m->plan, rill_plan_constant(m->plan, rows, symbols, width), net->output_bias,
                                   m->weights, "a shortlist's output layer");
}

/* Rows are nodes. Symbols without a piece, and the padding symbol, are never chosen (rill_domain_info.legal) but count in the softmax,
 * as in transformers. With a shortlist symbols are those of the slot's list, for the softmax too. */
static rill_program build_score(const seq_model *m)
{
    const size_t symbols = (size_t)m->net[0]->actions;
    const int listed = m->shortlist != NULL;
    const rill_program program = rill_program_begin(m->plan, "score");
    const rill_column node = rill_column_given(m->plan, program, RILL_ROWS, "node");
    const rill_column slot = rill_column_given(m->plan, program, RILL_ROWS, "slot");
    rill_mix mix = {.models = (int32_t)m->nets, .list_slot = listed ? slot : RILL_NONE, .symbols = symbols};
    for (size_t i = 0; i < m->nets; i++) {
        const seq_net *net = m->net[i];
        const rill_view logits = rill_of(rill_value_make(m->plan, program, RILL_ROWS, symbols));
        const rill_product output = {.matrix = net->output,
                                     .list = net->list,
                                     .list_slot = mix.list_slot,
                                     .a = net->kind->state(net, program, node, slot),
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
                                    .list_slot = mix.list_slot,
                                    .raw = m->raw};
    rill_op_best(m->plan, program, RILL_ROWS, &best);
    return program;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

void seq_build(seq_model *m)
{
    m->programs.encode = build_encode(m);
    m->programs.step = build_decode(m, "step", m->nets, 0);
    m->programs.score = build_score(m);
    m->programs.watch = m->net[0]->kind->watches ? build_decode(m, "watch", 1, 1) : RILL_NONE;
}
