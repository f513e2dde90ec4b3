/* A neural domain as a plugin, to copy: a GRU reads the letters of a word, a second GRU with attention writes a word letter by letter.
 *
 * Graphs (rill/device.h) describe the computation for one row; the device runs them for all rows of a call. Another architecture needs
 * only another build_graphs().
 *
 * Source: Luong, Pham, Manning, Effective Approaches to Attention-based Neural Machine Translation, 2015, with GRUs (Cho et al. 2014) as
 * in PyTorch.
 * Tensors: E embedding width, H hidden width, S source symbols (a to z), V actions (a to z, then the end), T letters of a word.
 *   source.embedding [S, E]      encoder.{input,hidden}.{weight,bias} [3H, E or H], [3H] target.embedding [V + 1, E]
 *   decoder.{input,hidden}.{weight,bias} as in the encoder; the last row of the
 *                                embedding is the start symbol
 *   attention.{weight,bias} [H, 2H], [H] over [context; state]      output.{weight,bias} [V, H], [V]
 *
 * A loaded model is const: any number of engines decode with it, each with its own runner. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "rill/device.h"
#include "rill/plugin.h"
#include "rill/safetensors.h"

enum { LETTERS = 26, END = LETTERS, ACTIONS = LETTERS + 1, START = ACTIONS, LONGEST = 200, TENSORS = 16 };

#define TRY(call)                                     \
    do {                                              \
        const rill_status try_status = (call);        \
        if (try_status != RILL_OK) return try_status; \
    } while (0)

typedef struct neural {
    rill_context *ctx;
    rill_device *device;
    rill_network *network;
    size_t embedding, hidden; /* E, H */
    /* tensors read from the file, owned by the model; the network refers to biases and embeddings */
    float *tensor[TENSORS];
    size_t floats[TENSORS], tensors; /* floats of each tensor; number of tensors */
    rill_graph encode, step, score;
    rill_table memory, last, state;
    char description[80];
} neural;

/* --- weights ------------------------------------------------------------------------------------------------------ */

/* Read the tensor `name`, rows x columns, or [rows] if `columns` is 0, into *out. */
static rill_status load(neural *m, const rill_tensor_file *file, const char *name, size_t rows, size_t columns,
                        float **out)
{
    const int64_t shape[2] = {(int64_t)rows, (int64_t)columns};
    const size_t floats = rows * (columns > 0 ? columns : 1);
    float *data = rill_alloc(m->ctx, floats * sizeof *data);
    if (data == NULL) return rill_fail_memory(m->ctx, floats * sizeof *data, name);
    m->tensor[m->tensors] = *out = data;
    m->floats[m->tensors++] = floats;
    return rill_tensor_file_read(file, name, RILL_TENSOR_FLOATS, columns > 0 ? 2 : 1, shape, data);
}

/* Weights of a GRU: of the input (W_ih) and of the hidden state (W_hh). */
typedef struct gru {
    float *input, *input_bias, *hidden, *hidden_bias;
} gru;

static rill_status load_gru(neural *m, const rill_tensor_file *file, const char *side, gru *out)
{
    char name[64];
    const size_t gates = 3 * m->hidden;
    snprintf(name, sizeof name, "%s.input.weight", side);
    TRY(load(m, file, name, gates, m->embedding, &out->input));
    snprintf(name, sizeof name, "%s.input.bias", side);
    TRY(load(m, file, name, gates, 0, &out->input_bias));
    snprintf(name, sizeof name, "%s.hidden.weight", side);
    TRY(load(m, file, name, gates, m->hidden, &out->hidden));
    snprintf(name, sizeof name, "%s.hidden.bias", side);
    return load(m, file, name, gates, 0, &out->hidden_bias);
}

typedef struct weights {
    float *source, *target, *attention, *attention_bias, *output, *output_bias;
    gru encoder, decoder;
} weights;

static rill_status load_weights(neural *m, const rill_tensor_file *file, weights *w)
{
    const rill_file_tensor *embedding = rill_tensor_file_find(file, "source.embedding");
    const rill_file_tensor *output = rill_tensor_file_find(file, "output.weight");
    if (embedding == NULL || output == NULL || embedding->rank != 2 || output->rank != 2 || embedding->shape[1] < 1 ||
        output->shape[1] < 1 || embedding->shape[1] > 1 << 16 || output->shape[1] > 1 << 16)
        return rill_fail(m->ctx, RILL_ERR_FORMAT, "neural: source.embedding and output.weight must be matrices");
    m->embedding = (size_t)embedding->shape[1];
    m->hidden = (size_t)output->shape[1];
    TRY(load(m, file, "source.embedding", LETTERS, m->embedding, &w->source));
    TRY(load(m, file, "target.embedding", ACTIONS + 1, m->embedding, &w->target));
    TRY(load_gru(m, file, "encoder", &w->encoder));
    TRY(load_gru(m, file, "decoder", &w->decoder));
    TRY(load(m, file, "attention.weight", m->hidden, 2 * m->hidden, &w->attention));
    TRY(load(m, file, "attention.bias", m->hidden, 0, &w->attention_bias));
    TRY(load(m, file, "output.weight", ACTIONS, m->hidden, &w->output));
    return load(m, file, "output.bias", ACTIONS, 0, &w->output_bias);
}

/* --- building graphs ---------------------------------------------------------------------------------------------- */

/* Multiply the embeddings by W_ih when loading: a letter's input gates are then a row of a constant. */
static rill_constant gate_table(neural *m, const gru *g, const float *embedding, size_t rows)
{
    return rill_network_product(m->network, embedding, rows, m->embedding, g->input, 3 * m->hidden, m->embedding,
                                g->input_bias);
}

static rill_matrix network_matrix(neural *m, const float *w, size_t n, size_t k)
{
    return rill_network_matrix(m->network, RILL_WEIGHT_F32, n, k, w, k);
}

/* Build the encoder. Input columns: slot and length of each word; letter of each position. */
static void build_encode(neural *m, const weights *w)
{
    rill_network *network = m->network;
    const rill_graph p = m->encode = rill_graph_begin(network, "encode");
    const rill_column slot = rill_column_input(network, p, RILL_ROWS, "slot");
    const rill_column length = rill_column_input(network, p, RILL_ROWS, "length");
    const rill_index_space letters = rill_index_space_ragged(network, p, length);
    const rill_column letter = rill_column_input(network, p, letters, "letter");
    const rill_scan read = {
        .cell = RILL_CELL_GRU,
        .space = letters,
        .hidden = m->hidden,
        .recurrent = network_matrix(m, w->encoder.hidden, 3 * m->hidden, m->hidden),
        .recurrent_bias = rill_network_constant(network, w->encoder.hidden_bias, 1, 3 * m->hidden),
        .gates = rill_view_constant(gate_table(m, &w->encoder, w->source, LETTERS), letter),
        .out = rill_view_ragged(m->memory, slot, RILL_OWN),
        .last_h = rill_view_table(m->last, slot),
    };
    rill_op_scan(network, p, &read);
}

/* Build the decoder's step. Input columns: state id; slot of an empty hypothesis, else -1; parent's state id, or the
 * row's own if empty; symbol. */
static void build_step(neural *m, const weights *w)
{
    rill_network *network = m->network;
    const size_t gates = 3 * m->hidden;
    const rill_graph p = m->step = rill_graph_begin(network, "step");
    const rill_column node = rill_column_input(network, p, RILL_ROWS, "node");
    const rill_column first = rill_column_input(network, p, RILL_ROWS, "slot of an empty hypothesis");
    const rill_column origin = rill_column_input(network, p, RILL_ROWS, "origin");
    const rill_column symbol = rill_column_input(network, p, RILL_ROWS, "symbol");
    const rill_index_space firsts = rill_index_space_where(network, p, RILL_ROWS, first);
    /* Rows with the same parent share the product of its state. */
    const rill_index_space parents = rill_index_space_distinct(network, p, RILL_ROWS, origin);
    const rill_tensor shared = rill_tensor_make(network, p, parents, gates),
                      input = rill_tensor_make(network, p, RILL_ROWS, gates),
                      hidden = rill_tensor_make(network, p, RILL_ROWS, gates);
    const rill_copy begin = {
        .width = m->hidden, .x = rill_view_table(m->last, first), .out = rill_view_table(m->state, node)};
    const rill_product multiply = {.matrix = network_matrix(m, w->decoder.hidden, gates, m->hidden),
                                   .bias = rill_network_constant(network, w->decoder.hidden_bias, 1, gates),
                                   .a = rill_view_table(m->state, RILL_OWN),
                                   .out = rill_view_value(shared)};
    const rill_constant symbols = gate_table(m, &w->decoder, w->target, ACTIONS + 1);
    const rill_copy read = {.width = gates, .x = rill_view_constant(symbols, symbol), .out = rill_view_value(input)};
    const rill_copy spread = {.width = gates, .x = rill_view_value(shared), .out = rill_view_value(hidden)};
    const rill_gru_cell cell = {.hidden = m->hidden,
                                .input = rill_view_value(input),
                                .hidden_gates = rill_view_value(hidden),
                                .h = rill_view_table(m->state, origin),
                                .h_out = rill_view_table(m->state, node)};
    rill_op_copy(network, p, firsts, &begin);
    rill_op_product(network, p, parents, &multiply);
    rill_op_copy(network, p, RILL_ROWS, &read);
    rill_op_copy(network, p, RILL_ROWS, &spread);
    rill_op_gru(network, p, RILL_ROWS, &cell);
}

/* Build attention and the output layer. Input columns: state id, slot. */
static void build_score(neural *m, const weights *w)
{
    rill_network *network = m->network;
    const size_t width = m->hidden;
    const rill_graph p = m->score = rill_graph_begin(network, "score");
    const rill_column node = rill_column_input(network, p, RILL_ROWS, "node");
    const rill_column slot = rill_column_input(network, p, RILL_ROWS, "slot");
    const rill_tensor context = rill_tensor_make(network, p, RILL_ROWS, width),
                      joined = rill_tensor_make(network, p, RILL_ROWS, width),
                      logits = rill_tensor_make(network, p, RILL_ROWS, ACTIONS);
    const rill_attend attend = {.heads = 1,
                                .width = width,
                                .scale = 1.0f,
                                .query = rill_view_table(m->state, node),
                                .slot = slot,
                                .keys = rill_view_ragged(m->memory, slot, RILL_OWN),
                                .values = rill_view_ragged(m->memory, slot, RILL_OWN),
                                .out = rill_view_value(context)};
    const rill_product join = {.matrix = network_matrix(m, w->attention, width, 2 * width),
                               .bias = rill_network_constant(network, w->attention_bias, 1, width),
                               .a = rill_view_value(context),
                               .a2 = rill_view_table(m->state, node),
                               .k2 = width,
                               .activation = RILL_TANH,
                               .out = rill_view_value(joined)};
    const rill_product output = {.matrix = network_matrix(m, w->output, ACTIONS, width),
                                 .a = rill_view_value(joined),
                                 .out = rill_view_value(logits)};
    const rill_best_choices best = {.logits = rill_view_value(logits),
                                    .symbols = ACTIONS,
                                    .bias = rill_network_constant(network, w->output_bias, 1, ACTIONS)};
    rill_op_attend(network, p, RILL_ROWS, &attend);
    rill_op_product(network, p, RILL_ROWS, &join);
    rill_op_product(network, p, RILL_ROWS, &output);
    rill_op_best(network, p, RILL_ROWS, &best);
}

/* Build the three graphs. rill_network_finish() reports all errors of construction, so no call before it is checked. */
static rill_status build_graphs(neural *m, const weights *w)
{
    m->memory = rill_network_table(m->network, RILL_TABLE_RAGGED, m->hidden, "the encoder's outputs");
    m->last = rill_network_table(m->network, RILL_TABLE_SLOTS, m->hidden, "the encoder's last state");
    m->state = rill_network_table(m->network, RILL_TABLE_NODES, m->hidden, "the decoder's states");
    build_encode(m, w);
    build_step(m, w);
    build_score(m, w);
    return rill_network_finish(m->network);
}

/* --- the model ---------------------------------------------------------------------------------------------------- */

static void close_model(void *self)
{
    neural *m = self;
    if (m == NULL) return;
    rill_network_close(m->network);
    rill_device_close(m->device);
    for (size_t i = 0; i < m->tensors; i++) rill_free(m->ctx, m->tensor[i], m->floats[i] * sizeof(float));
    rill_free(m->ctx, m, sizeof *m);
}

static rill_status load_model(neural *m, const rill_open_options *options)
{
    rill_tensor_file *file;
    weights w;
    const rill_device_options device = {.struct_size = sizeof device, .name = rill_open_option(options, "device")};
    if (options->path == NULL)
        return rill_fail(m->ctx, RILL_ERR_OPTION, "neural: the path of a safetensors file was expected (-m FILE)");
    TRY(rill_device_open(&m->device, m->ctx, &device));
    TRY(rill_network_open(&m->network, m->ctx, m->device));
    TRY(rill_tensor_file_open(&file, m->ctx, options->path));
    const rill_status status = load_weights(m, file, &w);
    rill_tensor_file_close(file);
    return status == RILL_OK ? build_graphs(m, &w) : status;
}

static rill_status open_model(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **self, rill_domain_info *info)
{
    (void)table;
    neural *m = rill_calloc(ctx, 1, sizeof *m);
    if (m == NULL) return rill_fail_memory(ctx, sizeof *m, "a model");
    m->ctx = ctx;
    const rill_status status = load_model(m, options);
    if (status != RILL_OK) {
        close_model(m);
        return status;
    }
    const rill_network_bytes bytes = rill_network_sizes(m->network);
    snprintf(m->description, sizeof m->description, "GRU %zu/%zu, %s", m->embedding, m->hidden,
             rill_device_name(m->device));
    *info = (rill_domain_info){.actions = ACTIONS,
                               .state_need = RILL_STATE_PARENT,
                               .max_length = 2 * LONGEST,
                               .description = m->description,
                               .device = rill_device_name(m->device),
                               .node_bytes = bytes.node,
                               .row_bytes = bytes.row,
                               .runner_bytes = bytes.session,
                               .slot_bytes = bytes.slot,
                               .slot_unit_bytes = bytes.unit,
                               .group_rows = rill_device_group_rows(m->device),
                               .has_end_action = 1,
                               .end_action = END};
    *self = m;
    return RILL_OK;
}

/* --- runners ------------------------------------------------------------------------------------------------------ */

/* A runner: a session of the network, and buffers for the columns of one call. */
typedef struct runner {
    rill_session *session; /* first member, as rill_runner_drop() requires */
    rill_context *ctx;
    const neural *m;
    int32_t *column; /* [3, rows] columns of a call */
    int32_t *letter; /* [positions] letters of all words of a call */
    size_t column_capacity, letter_capacity;
} runner;

static void stop(void *self)
{
    runner *r = self;
    if (r == NULL) return;
    rill_session_close(r->session);
    rill_free(r->ctx, r->column, r->column_capacity * sizeof *r->column);
    rill_free(r->ctx, r->letter, r->letter_capacity * sizeof *r->letter);
    rill_free(r->ctx, r, sizeof *r);
}

static rill_status start(const void *model, rill_context *ctx, int threads, void **out)
{
    const neural *m = model;
    runner *r = rill_calloc(ctx, 1, sizeof *r);
    if (r == NULL) return rill_fail_memory(ctx, sizeof *r, "a runner");
    *r = (runner){.ctx = ctx, .m = m};
    const rill_status status = rill_session_open(&r->session, ctx, m->network, threads);
    if (status == RILL_OK)
        *out = r;
    else
        stop(r);
    return status;
}

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    return rill_session_reserve(((runner *)self)->session, nodes, slots);
}

/* Run a graph over n rows. late: 1 + the rows' micro-batch if results may come later; 0: wait. */
static rill_status run(runner *r, rill_graph graph, int32_t n, const int32_t *const *columns,
                       const rill_selection *selection, int32_t late)
{
    const rill_run_arguments arguments = {
        .struct_size = sizeof arguments, .n = n, .columns = columns, .selection = selection, .async_group = late};
    return rill_session_run(r->session, graph, &arguments);
}

static rill_status grow_columns(runner *r, int32_t n)
{
    return rill_grow(r->ctx, (void **)&r->column, &r->column_capacity, 3 * (size_t)n, sizeof *r->column, "columns");
}

/* --- encode ------------------------------------------------------------------------------------------------------- */

/* Append the letters of a word to r->letter, after `used` letters; *length: their number. An invalid word fails this input alone. */
static rill_status read_word(runner *r, rill_input *in, size_t used, int32_t *length)
{
    *length = 0;
    if (in->length == 0 || in->length > LONGEST) {
        rill_input_fail(in, RILL_ERR_INPUT, "the word has %zu letters: expected 1 to %d", in->length, LONGEST);
        return RILL_OK;
    }
    TRY(rill_grow(r->ctx, (void **)&r->letter, &r->letter_capacity, used + in->length, sizeof *r->letter, "letters"));
    for (size_t i = 0; i < in->length; i++) {
        const unsigned char c = (unsigned char)in->text[i];
        if (c >= 128 || !isalpha(c)) {
            rill_input_fail(in, RILL_ERR_INPUT, "byte %zu is not a letter", i + 1);
            return RILL_OK;
        }
        r->letter[used + i] = tolower(c) - 'a';
    }
    in->size = *length = (int32_t)in->length;
    in->max_length = 2 * *length + 10;
    return RILL_OK;
}

static rill_status encode(void *self, int32_t n, rill_input *inputs)
{
    runner *r = self;
    int32_t words = 0;
    size_t used = 0;
    TRY(grow_columns(r, n));
    int32_t *slot = r->column, *length = r->column + n;
    for (int32_t i = 0; i < n; i++) {
        TRY(read_word(r, &inputs[i], used, &length[words]));
        if (length[words] == 0) continue;
        used += (size_t)length[words];
        slot[words++] = inputs[i].slot;
    }
    TRY(rill_session_set_slots(r->session, words, slot, length));
    const int32_t *columns[] = {slot, length, r->letter};
    return run(r, r->m->encode, words, columns, NULL, 0);
}

/* --- step and score ----------------------------------------------------------------------------------------------- */

static rill_status step(void *self, const rill_rows *rows)
{
    runner *r = self;
    const int32_t n = rows->n;
    TRY(grow_columns(r, n));
    int32_t *first = r->column, *origin = r->column + n, *symbol = r->column + 2 * n;
    for (int32_t i = 0; i < n; i++) {
        const int begins = rows->state_parent[i] == RILL_NO_NODE;
        first[i] = begins ? rows->slot[i] : -1;
        origin[i] = begins ? rows->node[i] : rows->state_parent[i];
        symbol[i] = rows->action[i] == RILL_ACTION_START ? START : rows->action[i];
    }
    const int32_t *columns[] = {rows->node, first, origin, symbol};
    return run(r, r->m->step, n, columns, NULL, rows->group + 1);
}

static rill_status score(void *self, const rill_rows *rows, const rill_score_request *score_request,
                         rill_score_result *out)
{
    runner *r = self;
    const int32_t *columns[] = {rows->node, rows->slot};
    const rill_selection selection = {.max_choices = score_request->max_choices,
                                      .legal_words = score_request->legal_words,
                                      .legal = score_request->legal,
                                      .legal_set = score_request->legal_set,
                                      .n_picks = score_request->n_picks,
                                      .pick_row = score_request->pick_row,
                                      .pick_action = score_request->pick_action,
                                      .stride = out->stride,
                                      .count = out->count,
                                      .action = out->action,
                                      .logp = out->logp,
                                      .pick_logp = out->pick_logp};
    return run(r, r->m->score, rows->n, columns, &selection, rows->group + 1);
}

/* --- finalize ----------------------------------------------------------------------------------------------------- */

static rill_status finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    (void)self;
    for (int32_t i = 0; i < hypothesis->length && hypothesis->action[i] != END; i++) {
        const char letter = (char)('a' + hypothesis->action[i]);
        TRY(rill_text_append(out, &letter, 1));
    }
    return RILL_OK;
}

/* --- table of the domain ------------------------------------------------------------------------------------------ */

/* The domain's options: `--device NAME` on a command line, `device = "NAME"` in a script. They are available
 * wherever settings are. */
static const rill_option own_options[] = {
    {"device", "NAME", "cpu", "the device that runs the model: cpu, cuda, cuda:NUMBER or auto", RILL_OPTION_TEXT,
     RILL_OPTION_MODEL, 0, 0, 0, NULL},
    {0},
};

static const rill_domain neural_domain = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_domain),
    .name = "neural",
    .summary = "words letter by letter, with GRUs and attention",
    .open = open_model,
    .close = close_model,
    .start = start,
    .stop = stop,
    .reserve = reserve,
    .encode = encode,
    .drop = rill_runner_drop,
    .step = step,
    .score = score,
    .finalize = finalize,
    .profile = rill_runner_profile,
    .profile_row = rill_runner_profile_row,
    .limits = rill_runner_limits,
    .graph_runs = rill_runner_graph_runs,
    .collect = rill_runner_collect,
    .options = own_options,
};

RILL_API const rill_plugin_table *rill_plugin(void);

RILL_API const rill_plugin_table *rill_plugin(void)
{
    static const rill_domain *const domains[] = {&neural_domain, NULL};
    static const rill_plugin_table table = {
        .abi_version = RILL_ABI_VERSION, .struct_size = sizeof table, .name = "neural", .domains = domains};
    return &table;
}
