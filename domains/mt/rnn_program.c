/* What recurrent models compute, as operations of the programs that ../seq2seq builds. Divisions: encode · step and watch. */
#include "rnn.h"

static rill_product product_of(const rnn_linear *linear, rill_view a, rill_view out)
{
    return (rill_product){.matrix = linear->matrix, .bias = linear->bias, .a = a, .out = out};
}

/* --- encode ------------------------------------------------------------------------------------------------------- */

/* Annotations: the states of both directions side by side; `last` is the forward one behind the input. */
static void read_pieces(const rnn_net *net, const seq_reader *r, rill_value annotations, rill_value last)
{
    rill_plan *plan = net->seq.model->plan;
    const size_t H = net->encoder;
    const rill_value gates = rill_value_make(plan, r->program, r->pieces, 6 * H);
    const rill_product reads = product_of(&net->reads, rill_row(net->source, r->symbol), rill_of(gates));
    rill_op_product(plan, r->program, r->pieces, &reads);
    for (int backward = 0; backward < 2; backward++) {
        const size_t from = backward ? H : 0;
        const rill_scan scan = {.cell = RILL_CELL_GRU,
                                .space = r->pieces,
                                .hidden = H,
                                .recurrent = net->recurrent[backward],
                                .gates = rill_from(rill_of(gates), 3 * from),
                                .backward = backward,
                                .out = rill_from(rill_of(annotations), from),
                                .last_h = backward ? (rill_view){0} : rill_of(last)};
        rill_op_scan(plan, r->program, &scan);
    }
}

/* The first state is made of the mean annotation, which is attention with equal scores: it takes any query. */
static void begin_decoder(const rnn_net *net, const seq_reader *r, rill_value annotations, rill_value query)
{
    rill_plan *plan = net->seq.model->plan;
    const size_t width = 2 * net->encoder;
    const rill_value mean = rill_value_make(plan, r->program, RILL_ROWS, width);
    const rill_attend attend = {.heads = 1,
                                .width = 1,
                                .value_width = width,
                                .scale = 0.0f,
                                .own = 1,
                                .query = rill_of(query),
                                .keys = rill_of(annotations),
                                .values = rill_of(annotations),
                                .out = rill_of(mean)};
    rill_product begin = product_of(&net->begin, rill_of(mean), rill_at(net->initial, r->slot));
    begin.activation = RILL_TANH;
    rill_op_attend(plan, r->program, RILL_ROWS, &attend);
    rill_op_product(plan, r->program, RILL_ROWS, &begin);
}

void rnn_encode(const seq_net *seq, const seq_reader *r)
{
    const rnn_net *net = rnn_net_of(seq);
    rill_plan *plan = seq->model->plan;
    const size_t width = 2 * net->encoder;
    const rill_value annotations = rill_value_make(plan, r->program, r->pieces, width);
    const rill_value last = rill_value_make(plan, r->program, RILL_ROWS, net->encoder);
    const rill_copy keep = {
        .width = width, .x = rill_of(annotations), .out = rill_in(net->annotations, r->slot, RILL_OWN)};
    const rill_product keys = product_of(&net->keys, rill_of(annotations),
                                         rill_in(net->memory_keys, r->slot, RILL_OWN));
    read_pieces(net, r, annotations, last);
    rill_op_copy(plan, r->program, r->pieces, &keep);
    rill_op_product(plan, r->program, r->pieces, &keys);
    begin_decoder(net, r, annotations, last);
}

/* --- step and watch ----------------------------------------------------------------------------------------------- */

/* With the query that the node has; with `watch` its shares are all that is wanted. */
static void attend(const rnn_net *net, const seq_writer *w, rill_value context)
{
    const rill_attend attend = {.heads = 1,
                                .width = net->attention,
                                .value_width = 2 * net->encoder,
                                .scale = 1.0f,
                                .additive = net->additive,
                                .query = rill_at(net->query, w->node),
                                .slot = w->slot,
                                .keys = rill_in(net->memory_keys, w->slot, RILL_OWN),
                                .values = rill_in(net->annotations, w->slot, RILL_OWN),
                                .out = rill_of(context),
                                .watch = w->watch ? 1 : 0};
    rill_op_attend(net->seq.model->plan, w->program, RILL_ROWS, &attend);
}

/* Of a decoder with two GRUs the first: from the parent's state, with the word's gates. */
static void step_first(const rnn_net *net, const seq_writer *w, rill_value word, rill_view before, rill_value after)
{
    rill_plan *plan = net->seq.model->plan;
    const rill_value gates = rill_value_make(plan, w->program, RILL_ROWS, 3 * net->decoder);
    const rill_product recurrent = product_of(&net->first, before, rill_of(gates));
    const rill_gru_cell cell = {.hidden = net->decoder,
                                .input = rill_of(word),
                                .hidden_gates = rill_of(gates),
                                .h = before,
                                .h_out = rill_of(after)};
    rill_op_product(plan, w->program, RILL_ROWS, &recurrent);
    rill_op_gru(plan, w->program, RILL_ROWS, &cell);
}

/* Attention with the state `h`, and the GRU that its context goes into: to the node's state. */
static void step_second(const rnn_net *net, const seq_writer *w, rill_value word, rill_view h, rill_value context)
{
    rill_plan *plan = net->seq.model->plan;
    const size_t gates = 3 * net->decoder, A = net->attention;
    const rill_value hidden = rill_value_make(plan, w->program, RILL_ROWS, gates + A);
    const rill_value input = rill_value_make(plan, w->program, RILL_ROWS, gates);
    const rill_product recurrent = product_of(&net->hidden, h, rill_of(hidden));
    const rill_copy query = {.width = A, .x = rill_from(rill_of(hidden), gates), .out = rill_at(net->query, w->node)};
    rill_product into = product_of(&net->context, rill_of(context), rill_of(input));
    if (!net->conditional) into.add = rill_of(word);
    const rill_gru_cell cell = {.hidden = net->decoder,
                                .input = rill_of(input),
                                .hidden_gates = rill_of(hidden),
                                .h = h,
                                .h_out = rill_at(net->state, w->node)};
    rill_op_product(plan, w->program, RILL_ROWS, &recurrent);
    rill_op_copy(plan, w->program, RILL_ROWS, &query);
    attend(net, w, context);
    rill_op_product(plan, w->program, RILL_ROWS, &into);
    rill_op_gru(plan, w->program, RILL_ROWS, &cell);
}

/* A first node's state begins as its input's; the others read their parent's. */
static rill_view find_before(const rnn_net *net, const seq_writer *w)
{
    rill_plan *plan = net->seq.model->plan;
    const rill_space firsts = rill_space_where(plan, w->program, RILL_ROWS, w->first);
    const rill_copy begin = {
        .width = net->decoder, .x = rill_at(net->initial, w->first), .out = rill_at(net->state, w->node)};
    rill_op_copy(plan, w->program, firsts, &begin);
    return rill_at(net->state, w->origin);
}

void rnn_step(const seq_net *seq, const seq_writer *w)
{
    const rnn_net *net = rnn_net_of(seq);
    rill_plan *plan = seq->model->plan;
    const size_t gates = 3 * net->decoder, width = 2 * net->encoder;
    const rill_value context = rill_value_make(plan, w->program, RILL_ROWS, width);
    if (w->watch) {
        attend(net, w, context);
        return;
    }
    const rill_view before = find_before(net, w);
    const rill_value word = rill_value_make(plan, w->program, RILL_ROWS, gates + net->embedding);
    const rill_value between = net->conditional ? rill_value_make(plan, w->program, RILL_ROWS, net->decoder)
                                                : RILL_NONE;
    const rill_product of_word = product_of(&net->word, rill_row(net->target, w->symbol), rill_of(word));
    rill_op_product(plan, w->program, RILL_ROWS, &of_word);
    if (net->conditional) step_first(net, w, word, before, between);
    step_second(net, w, word, net->conditional ? rill_of(between) : before, context);
    rill_product readout = product_of(&net->readout, rill_of(context), rill_at(net->top, w->node));
    readout.a2 = rill_at(net->state, w->node);
    readout.k2 = net->decoder;
    readout.add = rill_from(rill_of(word), gates);
    readout.activation = RILL_TANH;
    rill_op_product(plan, w->program, RILL_ROWS, &readout);
}

rill_view rnn_state(const seq_net *seq, rill_program program, rill_column node, rill_column slot)
{
    (void)program, (void)slot;
    return rill_at(rnn_net_of(seq)->top, node);
}
