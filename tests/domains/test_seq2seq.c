/* domains/seq2seq with an architecture other than a transformer: GRUs with attention. One network, ensembles and a
 * shortlist must give the log-probabilities of plain loops in double precision. Failures leave no memory, state or slot
 * in use.
 *
 * Weights are pseudo-random from "seed" in a directory's config.json, for the networks and the loops alike. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config_json.h"
#include "domain_driver.h"
#include "helpers.h"
#include "rill/constraints.h"
#include "rill/engine.h"
#include "rill/plugin.h"
#include "rill/registry.h"
#include "seq2seq.h"

enum { END = 0, PAD = 2, V = 9, H = 6, GATES = 3 * H, LONGEST = 12 };

/* --- the architecture --------------------------------------------------------------------------------------------- */

/* Gate tables of source and target tokens, recurrent matrices, the layer that joins context and state, the output
 * layer. */
typedef struct weights {
    float source[V * GATES], reads[GATES * H], target[V * GATES], writes[GATES * H], join[H * 2 * H], output[V * H],
        bias[V], none[GATES];
} weights;

static void make_weights(weights *w, uint64_t seed)
{
    float *x = (float *)w;
    for (size_t i = 0; i < (sizeof *w - sizeof w->none) / sizeof *x; i++)
        x[i] = (float)random_below(&seed, 20001) / 10000.0f - 1.0f;
    memset(w->none, 0, sizeof w->none);
}

typedef struct gru_net {
    seq_net seq;
    int32_t seed, first; /* first: the forced first token; -1: none */
    weights *w;
    rill_matrix writes, join;
    rill_constant none, target;
    rill_table memory, last, state;
} gru_net;

static rill_status read_seed(void *user, const rill_config *config)
{
    TRY(rill_config_int_or(config, "first", 0, V - 1, -1, &((gru_net *)user)->first));
    return rill_config_int(config, "seed", 1, 1000, &((gru_net *)user)->seed);
}

static rill_status configure(seq_net *net, const char *directory, rill_tokenizer_files *text)
{
    TRY(rill_config_read(net->ctx, directory, "config.json", read_seed, net, NULL));
    net->source_vocab_size = net->target_vocab_size = V;
    net->eos = END;
    net->decoder_start = net->pad = PAD;
    net->forced_bos = (int32_t)((gru_net *)net)->first;
    net->eos_file = "config.json";
    net->config_positions = net->max_input_length = net->max_positions = net->max_length = LONGEST;
    *text = (rill_tokenizer_files){
        RILL_TOKENIZER_WHITESPACE,    directory, "vocab.json", "target.json", .target_optional = 1,
        .target_vocab_key = "actions"};
    TRY(rill_arena_alloc(&net->model->arena, &net->legal, 1, sizeof *net->legal, "symbols"));
    net->legal[0] = UINT64_MAX;
    snprintf(net->description, sizeof net->description, "GRUs of %d", H);
    return RILL_OK;
}

static rill_status load(seq_net *seq, rill_loader *loader)
{
    gru_net *net = (gru_net *)seq;
    rill_network *network = seq->model->network;
    (void)loader;
    TRY(rill_arena_alloc(&seq->model->arena, &net->w, 1, sizeof *net->w, "weights"));
    weights *w = net->w;
    make_weights(w, (uint64_t)net->seed);
    net->none = rill_network_constant(network, w->none, 1, GATES);
    net->target = rill_network_constant(network, w->target, V, GATES);
    net->writes = rill_network_matrix(network, RILL_WEIGHT_F32, GATES, H, w->writes, H);
    net->join = rill_network_matrix(network, RILL_WEIGHT_F32, H, 2 * H, w->join, 2 * H);
    net->memory = rill_network_table(network, RILL_TABLE_RAGGED, H, "memory");
    net->last = rill_network_table(network, RILL_TABLE_SLOTS, H, "last");
    net->state = rill_network_table(network, RILL_TABLE_NODES, H, "state");
    seq_set_output_layer(seq, w->output, H, w->bias);
    return RILL_OK;
}

static void encode(const seq_net *seq, const seq_encoder_columns *reader)
{
    const gru_net *net = (const gru_net *)seq;
    rill_network *network = seq->model->network;
    const rill_scan read = {
        .cell = RILL_CELL_GRU,
        .space = reader->tokens,
        .hidden = H,
        .recurrent = rill_network_matrix(network, RILL_WEIGHT_F32, GATES, H, net->w->reads, H),
        .recurrent_bias = net->none,
        .gates = rill_view_constant(rill_network_constant(network, net->w->source, V, GATES), reader->token_id),
        .out = rill_view_ragged(net->memory, reader->slot, RILL_OWN),
        .last_h = rill_view_table(net->last, reader->slot),
    };
    rill_op_scan(network, reader->graph, &read);
}

static void step(const seq_net *seq, const seq_decoder_columns *w)
{
    const gru_net *net = (const gru_net *)seq;
    rill_network *network = seq->model->network;
    const rill_index_space firsts = rill_index_space_where(network, w->graph, RILL_ROWS, w->root_slot);
    const rill_tensor input = rill_tensor_make(network, w->graph, RILL_ROWS, GATES);
    const rill_tensor hidden = rill_tensor_make(network, w->graph, RILL_ROWS, GATES);
    const rill_copy begin = {
        .width = H, .x = rill_view_table(net->last, w->root_slot), .out = rill_view_table(net->state, w->node)};
    const rill_copy read = {
        .width = GATES, .x = rill_view_constant(net->target, w->token_id), .out = rill_view_value(input)};
    const rill_product multiply = {
        .matrix = net->writes, .a = rill_view_table(net->state, w->parent_or_self), .out = rill_view_value(hidden)};
    const rill_gru_cell cell = {.hidden = H,
                                .input = rill_view_value(input),
                                .hidden_gates = rill_view_value(hidden),
                                .h = rill_view_table(net->state, w->parent_or_self),
                                .h_out = rill_view_table(net->state, w->node)};
    rill_op_copy(network, w->graph, firsts, &begin);
    rill_op_copy(network, w->graph, RILL_ROWS, &read);
    rill_op_product(network, w->graph, RILL_ROWS, &multiply);
    rill_op_gru(network, w->graph, RILL_ROWS, &cell);
}

/* tanh(join [context; state]). */
static rill_view state(const seq_net *seq, rill_graph graph, rill_column node, rill_column slot)
{
    const gru_net *net = (const gru_net *)seq;
    rill_network *network = seq->model->network;
    const rill_view own = rill_view_table(net->state, node), memory = rill_view_ragged(net->memory, slot, RILL_OWN);
    const rill_tensor context = rill_tensor_make(network, graph, RILL_ROWS, H);
    const rill_tensor joined = rill_tensor_make(network, graph, RILL_ROWS, H);
    const rill_attend attend = {.heads = 1,
                                .width = H,
                                .scale = 1.0f,
                                .query = own,
                                .slot = slot,
                                .keys = memory,
                                .values = memory,
                                .out = rill_view_value(context)};
    const rill_product join = {.matrix = net->join,
                               .a = rill_view_value(context),
                               .a2 = own,
                               .k2 = H,
                               .activation = RILL_TANH,
                               .out = rill_view_value(joined)};
    rill_op_attend(network, graph, RILL_ROWS, &attend);
    rill_op_product(network, graph, RILL_ROWS, &join);
    return rill_view_value(joined);
}

static const seq_arch gru_architecture = {
    .plural_name = "GRUs",
    .net_size = sizeof(gru_net),
    .state_need = SEQ_NEEDS_PARENT,
    .configure = configure,
    .load = load,
    .encode = encode,
    .step = step,
    .decoder_output = state,
};

static rill_status choose(rill_context *where, const char *directory, const seq_arch **out)
{
    (void)where, (void)directory;
    *out = &gru_architecture;
    return RILL_OK;
}

static rill_status open_model(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **model, rill_domain_info *info)
{
    (void)table;
    return seq_open("gru", choose, ctx, options, model, info);
}

static const rill_domain domain = {
    SEQ_DOMAIN_CALLBACKS,
    .name = "gru",
    .summary = "GRUs with attention",
    .open = open_model,
};

/* --- reference loops ---------------------------------------------------------------------------------------------- */

static double squash(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* h becomes the next state. */
static void plain_gru_cell(const float *input, const float *recurrent, double *h)
{
    double gate[GATES], next[H];
    for (int g = 0; g < GATES; g++) {
        gate[g] = 0;
        for (int k = 0; k < H; k++) gate[g] += (double)recurrent[g * H + k] * h[k];
    }
    for (int i = 0; i < H; i++) {
        const double r = squash((double)input[i] + gate[i]), z = squash((double)input[H + i] + gate[H + i]);
        next[i] = (1 - z) * tanh((double)input[2 * H + i] + r * gate[2 * H + i]) + z * h[i];
    }
    memcpy(h, next, sizeof next);
}

/* Logits [V] after n target tokens, for an input of `length` tokens including its end. */
static void plain_logits(uint64_t seed, const int32_t *source, int length, const int32_t *target, int n, double *logit)
{
    weights w;
    double memory[LONGEST][H], h[H] = {0}, share[LONGEST], context[H] = {0}, sum = 0;
    make_weights(&w, seed);
    for (int t = 0; t < length; t++) {
        plain_gru_cell(w.source + source[t] * GATES, w.reads, h);
        memcpy(memory[t], h, sizeof h);
    }
    for (int t = 0; t < n; t++) plain_gru_cell(w.target + target[t] * GATES, w.writes, h);
    for (int t = 0; t < length; t++) {
        share[t] = 0;
        for (int k = 0; k < H; k++) share[t] += h[k] * memory[t][k];
        sum += share[t] = exp(share[t]);
    }
    for (int t = 0; t < length; t++)
        for (int k = 0; k < H; k++) context[k] += share[t] / sum * memory[t][k];
    for (int a = 0; a < V; a++) {
        logit[a] = (double)w.bias[a];
        for (int i = 0; i < H; i++) {
            double x = 0;
            for (int k = 0; k < H; k++)
                x += (double)w.join[i * 2 * H + k] * context[k] + (double)w.join[i * 2 * H + H + k] * h[k];
            logit[a] += (double)w.output[a * H + i] * tanh(x);
        }
    }
}

/* Log-probabilities of the mean of `nets` softmaxes over the tokens in the bit set `listed`. */
static void plain_logp(const uint64_t *seed, int nets, unsigned listed, const int32_t *source, int length,
                       const int32_t *target, int n, double *logp)
{
    double p[V] = {0};
    for (int i = 0; i < nets; i++) {
        double logit[V], sum = 0;
        plain_logits(seed[i], source, length, target, n, logit);
        for (int a = 0; a < V; a++) sum += listed >> a & 1 ? exp(logit[a]) : 0;
        for (int a = 0; a < V; a++) p[a] += listed >> a & 1 ? exp(logit[a]) / sum / nets : 0;
    }
    for (int a = 0; a < V; a++) logp[a] = log(p[a]);
}

/* --- directories -------------------------------------------------------------------------------------------------- */

static failing_allocator memory;
static rill_context *ctx;
static char *folder[2];
static const uint64_t seeds[2] = {11, 12};

static int set_up(void **nothing)
{
    (void)nothing;
    ctx = failing_allocator_context(&memory);
    for (int i = 0; i < 2; i++) {
        char config[40];
        folder[i] = folder_make();
        snprintf(config, sizeof config, "{\"seed\": %d}", (int)seeds[i]);
        write_string(folder[i], "config.json", config);
        write_string(
            folder[i], "vocab.json",
            "{\"</s>\": 0, \"<unk>\": 1, \"<pad>\": 2, \"a\": 3, \"b\": 4, \"c\": 5, \"d\": 6, \"e\": 7, \"f\": 8}");
    }
    /* With FIRST = 4 and BEST = 2 the shortlist of "a b" is </s>, a, b, and the translations e and f of a; <unk> is
     * among the first. */
    write_string(folder[0], "lex", "d a 0.1\ne a 0.3\nf a 0.2\n");
    return 0;
}

static int tear_down(void **nothing)
{
    (void)nothing;
    folder_remove(folder[0]), folder_remove(folder[1]);
    failing_allocator_finish(&memory, ctx);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static rill_status open_nets(rill_context *where, int nets, int listed, started *out, rill_domain_info *info)
{
    const char *const also[] = {folder[1]};
    char option[300];
    snprintf(option, sizeof option, "%s/lex,4,2", folder[0]);
    const rill_pair list = {"shortlist", option};
    const rill_open_options options = {.struct_size = sizeof options,
                                       .path = folder[0],
                                       .threads = 1,
                                       .ensemble = also,
                                       .n_ensemble = nets - 1,
                                       .values = &list,
                                       .n_values = listed};
    return start_model(where, &domain, &options, out, info);
}

/* --- cases -------------------------------------------------------------------------------------------------------- */

enum { DEPTH = 4 };

/* A path of nodes 5, 3, 1, 0 from the root, and a sibling of its last; slots are not in order. */
static void check_path(int nets, int listed)
{
    static const int32_t source[] = {3, 4, END}, actions[DEPTH] = {RILL_ACTION_START, 7, 3, 8},
                         nodes[DEPTH] = {5, 3, 1, 0};
    const int32_t target[DEPTH] = {PAD, 7, 3, 8}; /* the decoder starts from the first token of `target` */
    const unsigned allowed = listed ? 1u << END | 1u << 1 | 1u << 3 | 1u << 4 | 1u << 7 | 1u << 8 : (1u << V) - 1;
    started s;
    rill_domain_info info;
    assert_ok(ctx, open_nets(ctx, nets, listed, &s, &info));
    rill_input inputs[] = {make_input("f f c", 0), make_input("a b", 1)};
    assert_ok(ctx, domain.reserve(s.self, 8, 2));
    assert_ok(ctx, domain.encode(s.self, 2, inputs));
    assert_int_equal(inputs[1].size, 3);
    for (int d = 0; d < DEPTH; d++) {
        const one_row row = {.node = nodes[d],
                             .parent = d > 0 ? nodes[d - 1] : RILL_NO_NODE,
                             .action = actions[d],
                             .slot = 1,
                             .depth = d};
        float found[V];
        double expected[V];
        answer a = answer_row(ctx, &domain, s.self, info.actions, row);
        answer_logp(&a, 0, found);
        answer_free(&a);
        plain_logp(seeds, nets, allowed, source, 3, target, d + 1, expected);
        for (int i = 0; i < V; i++) {
            if (i == PAD || !(allowed >> i & 1))
                assert_true(found[i] == -INFINITY);
            else
                assert_near(found[i], expected[i], 2e-5, "log-probability", (size_t)i);
        }
    }
    stop_model(&domain, &s);
}

static void one_net_and_several(void **nothing)
{
    (void)nothing;
    check_path(1, 0);
    check_path(2, 0);
}

static void with_a_shortlist(void **nothing)
{
    (void)nothing;
    check_path(1, 1);
    check_path(2, 1);
}

/* A forced first action is the only choice, with log-probability 0, also if it is picked. After it nothing is
 * forced. */
static void forced_first_action(void **nothing)
{
    enum { FIRST = 6 };
    (void)nothing;
    write_string(folder[0], "config.json", "{\"seed\": 11, \"first\": 6}");
    for (int listed = 0; listed < 2; listed++) {
        started s;
        rill_domain_info info;
        assert_ok(ctx, open_nets(ctx, 1, listed, &s, &info));
        rill_input input = make_input("a b", 0);
        assert_ok(ctx, domain.reserve(s.self, 2, 1));
        assert_ok(ctx, domain.encode(s.self, 1, &input));
        assert_int_equal(domain.first_action(s.model, ctx, "a b", 3), FIRST);
        for (int d = 0; d < 2; d++) {
            const one_row row = {.node = d,
                                 .parent = d > 0 ? 0 : RILL_NO_NODE,
                                 .action = d > 0 ? FIRST : RILL_ACTION_START,
                                 .slot = 0,
                                 .depth = d};
            float found[V];
            answer a = answer_row(ctx, &domain, s.self, info.actions, row);
            answer_logp(&a, 0, found);
            answer_free(&a);
            for (int i = 0; i < V && d == 0; i++) assert_true(found[i] == (i == FIRST ? 0.0f : -INFINITY));
            if (d > 0) assert_true(found[3] > -INFINITY && found[3] < 0);
        }
        int32_t action[2] = {-1, -1};
        float logp[2], picked[2];
        int32_t count, node = 0, none = RILL_NO_NODE, start = RILL_ACTION_START, zero = 0;
        const int32_t pick_row[] = {0, 0}, pick[] = {3, FIRST};
        uint8_t ends = 0;
        const rill_rows rows = {1, 0, &node, &none, &none, &start, &zero, &zero, 0};
        const rill_score_request request = {.max_choices = 2, .n_picks = 2, .pick_row = pick_row, .pick_action = pick};
        rill_score_result out = {
            .stride = 2, .count = &count, .action = action, .logp = logp, .ends = &ends, .pick_logp = picked};
        assert_ok(ctx, domain.score(s.self, &rows, &request, &out));
        assert_int_equal(count, 1);
        assert_int_equal(action[0], FIRST);
        assert_true(logp[0] == 0.0f && picked[0] == -INFINITY && picked[1] == 0.0f);
        if (!listed) check_random_requests(ctx, &domain, s.self, &info, &rows, 40);
        stop_model(&domain, &s);
    }
}

/* Find the best output of "a b" under a scorer, and check its tokens, including the forced one, and its
 * log-probability. */
static void search(rill_model *model, const char *scorer, const char *arguments, const char *expected, double *logp)
{
    const rill_chain_entry chain = {scorer, arguments};
    rill_engine_setup setup;
    rill_engine *engine;
    const rill_result *result;
    rill_engine_setup_default(&setup);
    setup.settings.k = 4;
    setup.scorers = &chain;
    setup.n_scorers = 1;
    assert_ok(ctx, rill_engine_create(&engine, ctx, model, &setup));
    assert_ok(ctx, rill_engine_submit(engine, "a b", 3));
    rill_engine_close_input(engine);
    while (rill_engine_next(engine, &result) != RILL_OK) assert_ok(ctx, rill_engine_step(engine));
    assert_int_equal(result->status, RILL_OK);
    assert_true(result->n_outputs > 0);
    if (expected != NULL) assert_string_equal(rill_result_output(result, 0)->text, expected);
    assert_int_equal(rill_result_output(result, 0)->ids[0], 6);
    *logp = rill_result_output(result, 0)->logp;
    rill_engine_destroy(engine);
}

static rill_status write_trie(void *user, const void *bytes, size_t n)
{
    return rill_text_append(user, bytes, n);
}

/* Texts omit the forced token, in constraints and in forced decoding. Tokenized outputs may contain it. */
static void texts_follow_the_prefix(void **nothing)
{
    /* the source d e, and the target d, then c a */
    static const int32_t source[] = {3, 4, END}, target[] = {PAD, 6, 5, 3, END};
    char path[300];
    double logp, expected = 0;
    (void)nothing;
    write_string(folder[0], "config.json", "{\"seed\": 11, \"first\": 6}");
    rill_model *model;
    assert_ok(ctx, rill_register_core(ctx));
    assert_ok(ctx, rill_register_domain(ctx, &domain));
    assert_ok(ctx, rill_model_open(&model, ctx, "gru",
                                   &(rill_open_options){
                                       .struct_size = sizeof(rill_open_options), .path = folder[0], .threads = 1}));
    for (int n = 2; n <= 4; n++) {
        double p[V];
        plain_logp(seeds, 1, (1u << V) - 1, source, 3, target, n, p);
        expected += p[target[n]];
    }
    search(model, "given", "text c a", "d c a", &logp);
    assert_near(logp, expected, 1e-5, "the score of an output", 0);
    search(model, "given", "text d c a", "d c a", &logp);
    assert_near(logp, expected, 1e-5, "the score of pieces", 0);
    search(model, "given", "ids 6 5 3 0", "d c a", &logp);
    assert_near(logp, expected, 1e-5, "the score of actions", 0);
    search(model, "prefix", "c a", NULL, &logp);
    search(model, "allow", "c a", NULL, &logp);
    rill_trie *set;
    rill_text bytes = {.ctx = ctx};
    assert_ok(ctx, rill_trie_create(&set, ctx, V));
    assert_ok(ctx, rill_trie_add(set, (const int32_t[]){5, 3, END}, 3));
    assert_ok(ctx, rill_trie_write(set, write_trie, &bytes));
    rill_trie_free(set);
    write_bytes(folder[0], "set", bytes.data, bytes.length);
    rill_text_clear(&bytes);
    snprintf(path, sizeof path, "%s/set", folder[0]);
    search(model, "trie", path, "d c a", &logp);
    assert_near(logp, expected, 1e-5, "the score of what is in a set", 0);
    rill_model_close(model);
    rill_context_destroy(ctx); /* destroying the context ends the registrations made in it */
    assert_int_equal(memory.out, 0);
    ctx = failing_allocator_context(&memory);
}

static void model_description(void **nothing)
{
    (void)nothing;
    started s;
    rill_domain_info info;
    assert_ok(ctx, open_nets(ctx, 2, 0, &s, &info));
    assert_string_equal(info.description, "ensemble of 2 GRUs: 9 and 9 symbols");
    assert_int_equal(info.state_need, RILL_STATE_PARENT);
    assert_int_equal(domain.find_action(s.model, "e", 1), 7);
    stop_model(&domain, &s);
    write_string(folder[1], "vocab.json", "{\"</s>\": 0, \"<unk>\": 1, \"<pad>\": 2, \"a\": 4, \"b\": 3}");
    assert_int_equal(open_nets(ctx, 2, 0, &s, &info), RILL_ERR_FORMAT);
    assert_non_null(strstr(rill_error(ctx), "all models of an ensemble need the same vocabularies"));
}

/* Open two networks and a shortlist, use an input and its first state, and close everything. */
static rill_status open_use_close(rill_context *where, const char *unused)
{
    started s;
    rill_domain_info info;
    (void)unused;
    TRY(open_nets(where, 2, 1, &s, &info));
    rill_input input = make_input("a b c", 0);
    const int32_t node = 0, none = RILL_NO_NODE, action = RILL_ACTION_START, slot = 0;
    const rill_rows rows = {1, 0, &node, &none, &none, &action, &slot, &slot, 0};
    rill_status status = domain.reserve(s.self, 1, 1);
    if (status == RILL_OK) status = domain.encode(s.self, 1, &input);
    if (status == RILL_OK) status = domain.step(s.self, &rows);
    stop_model(&domain, &s);
    return status;
}

static void every_allocation_may_fail(void **nothing)
{
    (void)nothing;
    assert_true(refuse_each_call(&memory, ctx, open_use_close, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(one_net_and_several),     CASE(with_a_shortlist),  CASE(forced_first_action),
        CASE(texts_follow_the_prefix), CASE(model_description), CASE(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("domains_seq2seq", tests, NULL, NULL);
}
