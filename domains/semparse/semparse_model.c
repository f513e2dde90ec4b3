/* Loads a semantic parser and builds its graphs (rill/device.h). G[w]: precomputed input gates of word w.
 *
 * encode: h_t, c_t = LSTM(G[word_t], h_{t-1}, c_{t-1}) over <s>, the words in reverse, </s>;
 *         encoder outputs m_t = h_t, and projections W_c m_t.
 * step:   gates = G[action] + W_hh h_parent, then the LSTM cell. Siblings share W_hh h_parent.
 * score:  p = softmax(m_t . h);  a = tanh(W_s h + b_a + sum_t p_t (W_c m_t));  log-softmax(W_o a + b_o). */
#include <math.h>
#include <stdio.h>

#include "config_json.h"
#include "rill/file.h"
#include "semparse.h"

enum { WIDTH_LIMIT = 1 << 16, VOCABULARY_LIMIT = 1 << 22, LENGTH_LIMIT = 1 << 20, DEFAULT_MAX_INPUT = 1000 };

typedef struct loader {
    rill_loader *w;
    semparse *s;
    size_t embedding; /* width of word embeddings */
} loader;

/* --- configuration ------------------------------------------------------------------------------------------------ */

static rill_status read_settings(void *user, const rill_config *config)
{
    loader *l = user;
    semparse *s = l->s;
    const char *task, *stemmer;
    TRY(rill_config_expect(config, "model_type", "seq2seq-attention"));
    TRY(rill_config_expect_object(config, "rill"));
    rill_config_warn_unknown(config, "rill", (const char *const[]){"domain", "example", "options"}, 3);
    TRY(rill_config_expect(config, "rill.domain", "semparse"));
    TRY(rill_config_expect_object(config, "text"));
    /* lexicon.tsv decides whether words are stemmed; of this key, only the type is checked */
    TRY(rill_config_string_or(config, "text.stemmer", "", &stemmer));
    TRY(rill_config_size(config, "embedding_size", 1, WIDTH_LIMIT, &l->embedding));
    TRY(rill_config_size(config, "hidden_size", 1, WIDTH_LIMIT, &s->hidden));
    TRY(rill_config_int(config, "source_vocab_size", SEMPARSE_N_SPECIALS, VOCABULARY_LIMIT, &s->source_vocab_size));
    TRY(rill_config_int(config, "target_vocab_size", SEMPARSE_N_SPECIALS, VOCABULARY_LIMIT, &s->target_vocab_size));
    TRY(rill_config_int(config, "max_length", 1, LENGTH_LIMIT, &s->max_length));
    TRY(rill_config_int_or(config, "max_input_length", 1, LENGTH_LIMIT, DEFAULT_MAX_INPUT, &s->max_input));
    TRY(rill_config_string_or(config, "task", l->w->directory, &task));
    s->ld = (s->hidden + 15) / 16 * 16;
    snprintf(s->description, sizeof s->description, "attention seq2seq \"%.60s\": %d words, %d actions, LSTM of %d",
             task, s->source_vocab_size, s->target_vocab_size, (int)s->hidden);
    return RILL_OK;
}

/* --- vocabularies ------------------------------------------------------------------------------------------------- */

static rill_status load_vocabulary(loader *l, const char *name, const char *key, int32_t size, rill_vocabulary **out)
{
    static const char *const special[SEMPARSE_N_SPECIALS] = {"<s>", "</s>", "<unk>"};
    TRY(rill_path_join(&l->w->path, l->w->directory, name));
    return rill_vocabulary_open_checked(out, l->w->ctx, l->w->path.data, key, size, special, SEMPARSE_N_SPECIALS);
}

/* --- recurrent layers --------------------------------------------------------------------------------------------- */

/* Set out->input_gates to embedding * W_ih^T + bias for all words. */
static rill_status load_input_gates(loader *l, const char *side, size_t words, semparse_lstm *out)
{
    size_t gates = 4 * l->s->hidden;
    float *embedding, *input, *bias;
    TRY(rill_load_floats(l->w, rill_loader_name(l->w, "%s.embedding.weight", side), words, l->embedding, &embedding));
    TRY(rill_load_floats(l->w, rill_loader_name(l->w, "%s.lstm.weight_ih", side), gates, l->embedding, &input));
    TRY(rill_load_floats(l->w, rill_loader_name(l->w, "%s.lstm.bias", side), gates, 0, &bias));
    out->input_gates = rill_network_product(l->s->network, embedding, words, l->embedding, input, gates, l->embedding,
                                            bias);
    return RILL_OK;
}

static rill_status load_lstm(loader *l, const char *side, size_t words, semparse_lstm *out)
{
    size_t hidden = l->s->hidden;
    float *recurrent;
    TRY(load_input_gates(l, side, words, out));
    TRY(rill_load_floats(l->w, rill_loader_name(l->w, "%s.lstm.weight_hh", side), 4 * hidden, hidden, &recurrent));
    out->recurrent = rill_load_matrix(l->w, 4 * hidden, hidden, recurrent, hidden);
    rill_arena_clear(&l->w->temp);
    return RILL_OK;
}

/* --- attention and output ----------------------------------------------------------------------------------------- */

/* Load attention.weight [H, 2H], which holds two matrices: the columns for the context, then those for the decoder
 * state. */
static rill_status load_attention(loader *l)
{
    semparse *s = l->s;
    size_t hidden = s->hidden;
    float *both;
    TRY(rill_load_floats(l->w, "attention.weight", hidden, 2 * hidden, &both));
    TRY(rill_load_constant(l->w, "attention.bias", hidden, 0, &s->weights.attention_bias));
    s->weights.context_weight = rill_load_matrix(l->w, hidden, hidden, both, 2 * hidden);
    s->weights.state_weight = rill_load_matrix(l->w, hidden, hidden, both + hidden, 2 * hidden);
    rill_arena_clear(&l->w->temp);
    return RILL_OK;
}

static rill_status load_output(loader *l)
{
    semparse *s = l->s;
    size_t actions = (size_t)s->target_vocab_size;
    float *weight, *bias;
    TRY(rill_load_floats(l->w, "output.weight", actions, s->hidden, &weight));
    TRY(rill_load_kept(l->w, "output.bias", actions, 0, &bias));
    bias[SEMPARSE_BOS] = bias[SEMPARSE_UNK] = -INFINITY;
    s->weights.output = rill_load_matrix(l->w, actions, s->hidden, weight, s->hidden);
    s->weights.output_bias = rill_network_constant(s->network, bias, 1, actions);
    rill_arena_clear(&l->w->temp);
    return RILL_OK;
}

/* --- lexicon ------------------------------------------------------------------------------------------------------ */

/* Return 1 if a token ends in digits, as the placeholders ("s0") of anonymised data sets do. */
static int is_placeholder(const char *token, size_t length)
{
    size_t digits = 0;
    while (digits < length && token[length - digits - 1] >= '0' && token[length - digits - 1] <= '9') digits++;
    return digits > 0 && digits < length;
}

static int has_placeholders(const semparse *s)
{
    for (int32_t action = SEMPARSE_N_SPECIALS; action < s->target_vocab_size; action++) {
        size_t length;
        const char *token = rill_vocabulary_token(s->target_vocab, action, &length);
        if (is_placeholder(token, length) && rill_vocabulary_id(s->source_vocab, token, length) >= 0) return 1;
    }
    return 0;
}

/* Load the lexicon, if any. Without one nothing replaces names by placeholders: warn if the vocabularies have placeholders and inputs are
 * raw text. */
static rill_status load_lexicon(loader *l)
{
    semparse *s = l->s;
    TRY(rill_path_join(&l->w->path, l->w->directory, "lexicon.tsv"));
    rill_status status = rill_lexicon_open(l->w->ctx, l->w->path.data, &s->lexicon);
    if (status != RILL_ERR_NOT_FOUND) return status;
    rill_error_clear(l->w->ctx);
    if (!s->tokenized && has_placeholders(s))
        rill_log(l->w->ctx, RILL_LOG_WARNING,
                 "%s is missing: without this lexicon names in questions are not replaced by the model's placeholders; "
                 "with the option tokenized questions contain placeholders",
                 l->w->path.data);
    return RILL_OK;
}

/* Find the actions that are placeholders; see semparse.h for how a question uses them. */
static rill_status find_placeholders(loader *l)
{
    semparse *s = l->s;
    size_t actions = (size_t)s->target_vocab_size;
    if (s->lexicon == NULL) return RILL_OK;
    TRY(rill_arena_alloc(&s->arena, &s->placeholder_ids, actions, sizeof *s->placeholder_ids, "placeholders"));
    for (int32_t action = SEMPARSE_N_SPECIALS; action < s->target_vocab_size; action++) {
        size_t length;
        int64_t number;
        const char *token = rill_vocabulary_token(s->target_vocab, action, &length);
        if (rill__lexicon_placeholder(s->lexicon, token, length, &number) != RILL__NONE)
            s->placeholder_ids[s->n_placeholders++] = action;
    }
    return RILL_OK;
}

/* --- graphs ------------------------------------------------------------------------------------------------------- */

static void make_tables(semparse *s)
{
    rill_network *network = s->network;
    s->tables = (semparse_tables){
        .state = rill_network_table(network, RILL_TABLE_NODES, 2 * s->ld, "states"),
        .encoder_state = rill_network_table(network, RILL_TABLE_SLOTS, 2 * s->ld, "last states"),
        .encoder_outputs = rill_network_table(network, RILL_TABLE_RAGGED, s->ld, "memory"),
        .projected_outputs = rill_network_table(network, RILL_TABLE_RAGGED, s->ld, "projected memory"),
    };
    if (s->n_placeholders > 0)
        s->tables.unmentioned = rill_network_vocab_subset(network, RILL_NONE, RILL_NONE, RILL_WEIGHT_F32,
                                                          "unmentioned placeholders");
}

/* Return a view of the cell state c, the second half of a state row. The first half is h. */
static rill_view lstm_cell_state(const semparse *s, rill_view state)
{
    return rill_view_offset(state, s->ld);
}

static void build_encode_graph(semparse *s)
{
    rill_network *network = s->network;
    const semparse_tables *t = &s->tables;
    const rill_graph p = s->encode = rill_graph_begin(network, "encode");
    const rill_column slot = rill_column_input(network, p, RILL_ROWS, "slot"),
                      length = rill_column_input(network, p, RILL_ROWS, "tokens");
    const rill_index_space tokens = rill_index_space_ragged(network, p, length);
    const rill_column word = rill_column_input(network, p, tokens, "word");
    rill_op_scan(network, p,
                 &(rill_scan){.cell = RILL_CELL_LSTM,
                              .space = tokens,
                              .hidden = s->hidden,
                              .recurrent = s->weights.encoder.recurrent,
                              .gates = rill_view_constant(s->weights.encoder.input_gates, word),
                              .out = rill_view_ragged(t->encoder_outputs, slot, RILL_OWN),
                              .last_h = rill_view_table(t->encoder_state, slot),
                              .last_c = lstm_cell_state(s, rill_view_table(t->encoder_state, slot))});
    rill_op_product(network, p, tokens,
                    &(rill_product){.matrix = s->weights.context_weight,
                                    .a = rill_view_ragged(t->encoder_outputs, slot, RILL_OWN),
                                    .out = rill_view_ragged(t->projected_outputs, slot, RILL_OWN)});
}

/* Build the graph `step`. For the empty hypothesis, the row gets the encoder's last state, and then serves as its own parent state. */
static void build_step_graph(semparse *s)
{
    rill_network *network = s->network;
    const semparse_tables *t = &s->tables;
    const rill_graph p = s->step = rill_graph_begin(network, "step");
    const rill_column node = rill_column_input(network, p, RILL_ROWS, "node"),
                      slot = rill_column_input(network, p, RILL_ROWS, "slot"),
                      origin = rill_column_input(network, p, RILL_ROWS, "node that is continued"),
                      word = rill_column_input(network, p, RILL_ROWS, "word"),
                      first = rill_column_input(network, p, RILL_ROWS, "slot of an empty hypothesis");
    const rill_index_space firsts = rill_index_space_where(network, p, RILL_ROWS, first),
                           origins = rill_index_space_distinct(network, p, RILL_ROWS, origin);
    const rill_tensor shared = rill_tensor_make(network, p, origins, 4 * s->hidden),
                      gates = rill_tensor_make(network, p, RILL_ROWS, 4 * s->hidden);
    rill_op_copy(network, p, firsts,
                 &(rill_copy){.width = 2 * s->ld,
                              .x = rill_view_table(t->encoder_state, first),
                              .out = rill_view_table(t->state, node)});
    rill_op_product(network, p, origins,
                    &(rill_product){.matrix = s->weights.decoder.recurrent,
                                    .a = rill_view_table(t->state, RILL_OWN),
                                    .out = rill_view_value(shared)});
    rill_op_embed(network, p, RILL_ROWS,
                  &(rill_embedding){.rows = rill_view_constant(s->weights.decoder.input_gates, word),
                                    .scale = 1.0f,
                                    .position = rill_view_value(shared),
                                    .out = rill_view_value(gates)});
    rill_op_lstm(network, p, RILL_ROWS,
                 &(rill_lstm_cell){.hidden = s->hidden,
                                   .gates = rill_view_value(gates),
                                   .c = lstm_cell_state(s, rill_view_table(t->state, origin)),
                                   .c_out = lstm_cell_state(s, rill_view_table(t->state, node)),
                                   .h_out = rill_view_table(t->state, node)});
    rill_graph_prefetch(network, p, t->encoder_outputs, slot);
    rill_graph_prefetch(network, p, t->projected_outputs, slot);
}

static void build_score_graph(semparse *s)
{
    rill_network *network = s->network;
    const semparse_tables *t = &s->tables;
    const rill_graph p = s->score = rill_graph_begin(network, "score");
    const rill_column node = rill_column_input(network, p, RILL_ROWS, "node"),
                      slot = rill_column_input(network, p, RILL_ROWS, "slot");
    const rill_tensor context = rill_tensor_make(network, p, RILL_ROWS, s->hidden),
                      attended = rill_tensor_make(network, p, RILL_ROWS, s->hidden),
                      logits = rill_tensor_make(network, p, RILL_ROWS, (size_t)s->target_vocab_size);
    rill_op_attend(network, p, RILL_ROWS,
                   &(rill_attend){.heads = 1,
                                  .width = s->hidden,
                                  .scale = 1.0f,
                                  .query = rill_view_table(t->state, node),
                                  .slot = slot,
                                  .keys = rill_view_ragged(t->encoder_outputs, slot, RILL_OWN),
                                  .values = rill_view_ragged(t->projected_outputs, slot, RILL_OWN),
                                  .out = rill_view_value(context)});
    rill_op_product(network, p, RILL_ROWS,
                    &(rill_product){.matrix = s->weights.state_weight,
                                    .a = rill_view_table(t->state, node),
                                    .bias = s->weights.attention_bias,
                                    .add = rill_view_value(context),
                                    .activation = RILL_TANH,
                                    .out = rill_view_value(attended)});
    rill_op_product(network, p, RILL_ROWS,
                    &(rill_product){.matrix = s->weights.output,
                                    .a = rill_view_value(attended),
                                    .bias = s->weights.output_bias,
                                    .out = rill_view_value(logits)});
    if (s->n_placeholders > 0)
        rill_op_mask(network, p, RILL_ROWS,
                     &(rill_mask){.vocab_subset = t->unmentioned, .slot = slot, .x = rill_view_value(logits)});
    rill_op_best(network, p, RILL_ROWS,
                 &(rill_best_choices){.logits = rill_view_value(logits), .symbols = (size_t)s->target_vocab_size});
}

/* --- entry point -------------------------------------------------------------------------------------------------- */

static rill_status load_all(loader *l)
{
    semparse *s = l->s;
    TRY(rill_config_read(l->w->ctx, l->w->directory, "config.json", read_settings, l, NULL));
    TRY(load_vocabulary(l, "source.vocab", "source_vocab_size", s->source_vocab_size, &s->source_vocab));
    TRY(load_vocabulary(l, "target.vocab", "target_vocab_size", s->target_vocab_size, &s->target_vocab));
    TRY(rill_loader_open(l->w, "model.safetensors"));
    TRY(load_lstm(l, "encoder", (size_t)s->source_vocab_size, &s->weights.encoder));
    TRY(load_lstm(l, "decoder", (size_t)s->target_vocab_size, &s->weights.decoder));
    TRY(load_attention(l));
    TRY(load_output(l));
    TRY(rill_loader_check_all_read(l->w, NULL));
    TRY(load_lexicon(l));
    TRY(find_placeholders(l));
    make_tables(s);
    build_encode_graph(s);
    build_step_graph(s);
    build_score_graph(s);
    return rill_network_finish(s->network);
}

rill_status semparse_load(semparse *s, const rill_open_options *options)
{
    TRY(rill_options_network(s->ctx, "semparse", options, &s->device, &s->network));
    SCOPED(rill_loader_close) rill_loader w = {s->ctx, options->path, s->network, &s->arena, .path = {.ctx = s->ctx}};
    return load_all(&(loader){.w = &w, .s = s});
}
