/* domains/mt with recurrent models of any width. Log-probabilities must equal those of plain loops in double precision,
 * also in ensembles with a transformer. Refused models get a message that names the key or tensor. test_mt.c checks the
 * values of the NumPy reference. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "domain_driver.h"
#include "helpers.h"
#include "mt.h"
#include "random_parser.h"
#include "rill/file.h"
#include "rill/safetensors.h"

static const rill_domain *const domain = &rill_mt_domain;

#include "folder_fixture.h"

/* --- models ------------------------------------------------------------------------------------------------------- */

enum { V = 12, END = 0, PAD = V - 1, WIDEST = 40, LONGEST = 8 };

typedef struct shape {
    int conditional, own_output, E, H, D, A;
    uint64_t seed;
} shape;

static const shape small = {.conditional = 1, .E = 5, .H = 4, .D = 6, .A = 3, .seed = 1};

static void write_vocabulary(const char *where)
{
    char text[400] = "{\"</s>\": 0, \"<unk>\": 1";
    for (int i = 2; i < V; i++) sprintf(text + strlen(text), i == PAD ? ", \"<pad>\": %d" : ", \"w%d\": %d", i, i);
    strcat(text, "}");
    write_string(where, "vocab.json", text);
}

/* config.json with another value for a key, or without it if the value is NULL. */
static void write_config(const shape *s, const char *key, const char *value)
{
    char number[4][12], text[700] = "{\"model_type\": \"rnnsearch\"";
    const int sizes[] = {s->E, s->H, s->D, s->A};
    for (int i = 0; i < 4; i++) snprintf(number[i], sizeof number[i], "%d", sizes[i]);
    const char *const all[][2] = {{"decoder", s->conditional ? "\"conditional\"" : "\"simple\""},
                                  {"embedding_size", number[0]},
                                  {"encoder_size", number[1]},
                                  {"decoder_size", number[2]},
                                  {"attention_size", number[3]},
                                  {"vocab_size", "12"},
                                  {"eos_token_id", "0"},
                                  {"unk_token_id", "1"},
                                  {"pad_token_id", "11"},
                                  {"max_length", "30"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *is = key != NULL && strcmp(key, all[i][0]) == 0 ? value : all[i][1];
        if (is != NULL) sprintf(text + strlen(text), ",\n\"%s\": %s", all[i][0], is);
    }
    strcat(text, "}");
    write_string(folder, "config.json", text);
}

static void write_rnn(const shape *s, const model_spec *damage)
{
    const int E = s->E, H = s->H, D = s->D, A = s->A, C = 2 * H;
    const model_tensor tensor[] = {
        {"Wemb", V, E, 0},
        {"Wemb_dec", V, E, 0},
        {"encoder_W", E, 2 * H, 0},
        {"encoder_b", 2 * H, 0, 0},
        {"encoder_U", H, 2 * H, 0},
        {"encoder_Wx", E, H, 0},
        {"encoder_bx", H, 0, 0},
        {"encoder_Ux", H, H, 0},
        {"encoder_r_W", E, 2 * H, 0},
        {"encoder_r_b", 2 * H, 0, 0},
        {"encoder_r_U", H, 2 * H, 0},
        {"encoder_r_Wx", E, H, 0},
        {"encoder_r_bx", H, 0, 0},
        {"encoder_r_Ux", H, H, 0},
        {"ff_state_W", C, D, 0},
        {"ff_state_b", D, 0, 0},
        {"decoder_W", E, 2 * D, 0},
        {"decoder_b", 2 * D, 0, 0},
        {"decoder_U", D, 2 * D, 0},
        {"decoder_Wx", E, D, 0},
        {"decoder_bx", D, 0, 0},
        {"decoder_Ux", D, D, 0},
        {"decoder_Wc_att", C, A, 0},
        {"decoder_b_att", A, 0, 0},
        {"decoder_W_comb_att", D, A, 0},
        {"decoder_U_att", A, 1, 0},
        {"decoder_c_tt", 1, 0, 0},
        {"decoder_Wc", C, 2 * D, 0},
        {"decoder_Wcx", C, D, 0},
        {"ff_logit_lstm_W", D, E, 0},
        {"ff_logit_lstm_b", E, 0, 0},
        {"ff_logit_prev_W", E, E, 0},
        {"ff_logit_prev_b", E, 0, 0},
        {"ff_logit_ctx_W", C, E, 0},
        {"ff_logit_ctx_b", E, 0, 0},
        {"ff_logit_b", V, 0, 0},
        {"decoder_U_nl", D, 2 * D, 0},
        {"decoder_b_nl", 2 * D, 0, 0},
        {"decoder_Ux_nl", D, D, 0},
        {"decoder_bx_nl", D, 0, 0},
        {"ff_logit_W", E, V, 0},
    };
    enum { ALL = sizeof tensor / sizeof *tensor, COMMON = ALL - 5 };
    model_tensor tensors_kept[ALL];
    size_t n = 0;
    for (size_t i = 0; i < ALL; i++)
        if (i < COMMON || (i == ALL - 1 ? s->own_output : s->conditional)) tensors_kept[n++] = tensor[i];
    model_spec spec = damage != NULL ? *damage : (model_spec){.seed = s->seed};
    model_write_tensors(folder, &spec, tensors_kept, n);
    write_config(s, NULL, NULL);
    write_vocabulary(folder);
}

static void fill_folder(void)
{
    write_rnn(&small, NULL);
}

/* --- reference loops ---------------------------------------------------------------------------------------------- */

static rill_tensor_file *tensors;

/* to[o] += x W, with W the tensor [in, out]. */
static void multiply(const char *name, const double *x, int in, int out, double *to)
{
    const int64_t sizes[] = {in, out};
    float w[4 * WIDEST * WIDEST];
    assert_ok(ctx, rill_tensor_file_read(tensors, name, RILL_TENSOR_FLOATS, 2, sizes, w));
    for (int o = 0; o < out; o++)
        for (int i = 0; i < in; i++) to[o] += x[i] * (double)w[i * out + o];
}

static void add(const char *name, int n, double *to)
{
    const int64_t sizes[] = {n};
    float b[3 * WIDEST];
    assert_ok(ctx, rill_tensor_file_read(tensors, name, RILL_TENSOR_FLOATS, 1, sizes, b));
    for (int i = 0; i < n; i++) to[i] += (double)b[i];
}

static void embed(const char *name, int symbol, int E, double *to)
{
    const int64_t sizes[] = {V, E};
    float table[V * WIDEST];
    assert_ok(ctx, rill_tensor_file_read(tensors, name, RILL_TENSOR_FLOATS, 2, sizes, table));
    for (int i = 0; i < E; i++) to[i] = (double)table[symbol * E + i];
}

/* A GRU cell. input and hidden [3 n]: terms of the gates, with biases; h becomes the next state. */
static void gru(int n, const double *input, const double *hidden, double *h)
{
    for (int i = 0; i < n; i++) {
        const double r = 1 / (1 + exp(-input[i] - hidden[i])), u = 1 / (1 + exp(-input[n + i] - hidden[n + i]));
        h[i] = u * h[i] + (1 - u) * tanh(input[2 * n + i] + r * hidden[2 * n + i]);
    }
}

/* A GRU whose four matrices are PREFIX_W, _Wx, _U, _Ux; `more` [3 n] is added to its input, or NULL. */
static void plain_gru(const char *prefix, const double *x, int in, const double *more, int n, double *h)
{
    static const char *const parts[] = {"W", "b", "Wx", "bx", "U", "Ux"};
    char name[6][40];
    double input[3 * WIDEST] = {0}, hidden[3 * WIDEST] = {0};
    for (int i = 0; i < 6; i++) snprintf(name[i], sizeof name[i], "%s_%s", prefix, parts[i]);
    if (more != NULL) memcpy(input, more, (size_t)(3 * n) * sizeof *more);
    multiply(name[0], x, in, 2 * n, input);
    add(name[1], 2 * n, input);
    multiply(name[2], x, in, n, input + 2 * n);
    add(name[3], n, input + 2 * n);
    multiply(name[4], h, n, 2 * n, hidden);
    multiply(name[5], h, n, n, hidden + 2 * n);
    gru(n, input, hidden, h);
}

static void plain_encode(const shape *s, const int32_t *source, int length, double (*notes)[2 * WIDEST])
{
    for (int backward = 0; backward < 2; backward++) {
        double h[WIDEST] = {0}, x[WIDEST];
        for (int i = 0; i < length; i++) {
            const int t = backward ? length - 1 - i : i;
            embed("Wemb", source[t], s->E, x);
            plain_gru(backward ? "encoder_r" : "encoder", x, s->E, NULL, s->H, h);
            memcpy(notes[t] + backward * s->H, h, (size_t)s->H * sizeof *h);
        }
    }
}

static void plain_attend(const shape *s, double (*notes)[2 * WIDEST], int length, const double *h, double *context)
{
    double query[WIDEST] = {0}, share[LONGEST], sum = 0;
    multiply("decoder_W_comb_att", h, s->D, s->A, query);
    for (int t = 0; t < length; t++) {
        double key[WIDEST], score = 0;
        memcpy(key, query, sizeof key);
        multiply("decoder_Wc_att", notes[t], 2 * s->H, s->A, key);
        add("decoder_b_att", s->A, key);
        for (int i = 0; i < s->A; i++) key[i] = tanh(key[i]);
        multiply("decoder_U_att", key, s->A, 1, &score);
        sum += share[t] = exp(score);
    }
    memset(context, 0, 2 * WIDEST * sizeof *context);
    for (int t = 0; t < length; t++)
        for (int i = 0; i < 2 * s->H; i++) context[i] += share[t] / sum * notes[t][i];
}

/* Decode one position: update the state and compute log-probabilities [V]. y: the embedding of the previous word. */
static void plain_step(const shape *s, double (*notes)[2 * WIDEST], int length, const double *y, double *h,
                       double *logp)
{
    const int E = s->E, D = s->D, C = 2 * s->H;
    double context[2 * WIDEST], gates[3 * WIDEST] = {0}, hidden[3 * WIDEST] = {0}, t[WIDEST] = {0}, sum = 0;
    if (s->conditional) plain_gru("decoder", y, E, NULL, D, h);
    plain_attend(s, notes, length, h, context);
    multiply("decoder_Wc", context, C, 2 * D, gates);
    multiply("decoder_Wcx", context, C, D, gates + 2 * D);
    if (s->conditional) {
        multiply("decoder_U_nl", h, D, 2 * D, hidden);
        add("decoder_b_nl", 2 * D, hidden);
        multiply("decoder_Ux_nl", h, D, D, hidden + 2 * D);
        add("decoder_bx_nl", D, hidden + 2 * D);
        gru(D, gates, hidden, h);
    } else {
        plain_gru("decoder", y, E, gates, D, h);
    }
    multiply("ff_logit_lstm_W", h, D, E, t);
    add("ff_logit_lstm_b", E, t);
    multiply("ff_logit_prev_W", y, E, E, t);
    add("ff_logit_prev_b", E, t);
    multiply("ff_logit_ctx_W", context, C, E, t);
    add("ff_logit_ctx_b", E, t);
    for (int i = 0; i < E; i++) t[i] = tanh(t[i]);
    memset(logp, 0, V * sizeof *logp);
    if (s->own_output) multiply("ff_logit_W", t, E, V, logp);
    for (int v = 0; v < V && !s->own_output; v++) {
        double row[WIDEST];
        embed("Wemb_dec", v, E, row);
        for (int i = 0; i < E; i++) logp[v] += row[i] * t[i];
    }
    add("ff_logit_b", V, logp);
    for (int v = 0; v < V; v++) sum += exp(logp[v]);
    for (int v = 0; v < V; v++) logp[v] -= log(sum);
}

/* Compute the log-probabilities [n][V] after each prefix of up to n - 1 words. */
static void plain(const shape *s, const int32_t *source, int length, const int32_t *target, int n, double (*logp)[V])
{
    double notes[LONGEST][2 * WIDEST] = {{0}}, mean[2 * WIDEST] = {0}, h[WIDEST] = {0}, y[WIDEST] = {0};
    char path[300];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    assert_ok(ctx, rill_tensor_file_open(&tensors, ctx, path));
    plain_encode(s, source, length, notes);
    for (int t = 0; t < length; t++)
        for (int i = 0; i < 2 * s->H; i++) mean[i] += notes[t][i] / length;
    multiply("ff_state_W", mean, 2 * s->H, s->D, h);
    add("ff_state_b", s->D, h);
    for (int i = 0; i < s->D; i++) h[i] = tanh(h[i]);
    for (int t = 0; t < n; t++) {
        if (t > 0) embed("Wemb_dec", target[t - 1], s->E, y);
        plain_step(s, notes, length, y, h, logp[t]);
    }
    rill_tensor_file_close(tensors);
}

/* --- comparison --------------------------------------------------------------------------------------------------- */

enum { DEPTH = 4 };

static const int32_t words[DEPTH] = {7, 2, 2, 9};

/* Log-probabilities of the model in `path`, in an ensemble with the one in `also` unless that is NULL, for the input
 * "w3 w8 w3". */
static void decode(const char *path, const char *also, float (*logp)[V])
{
    started s;
    rill_domain_info info;
    const rill_open_options options = {.struct_size = sizeof options,
                                       .path = path,
                                       .threads = 1,
                                       .tokenized = 1,
                                       .ensemble = &also,
                                       .n_ensemble = also != NULL};
    assert_ok(ctx, start_model(ctx, domain, &options, &s, &info));
    rill_input inputs[] = {{.text = "w5", .length = 2, .slot = 0}, {.text = "w3 w8 w3", .length = 8, .slot = 1}};
    assert_ok(ctx, domain->reserve(s.self, DEPTH, 2));
    assert_ok(ctx, domain->encode(s.self, 2, inputs));
    for (int d = 0; d < DEPTH; d++) {
        const one_row row = {.node = DEPTH - 1 - d,
                             .parent = d > 0 ? DEPTH - d : RILL_NO_NODE,
                             .action = d > 0 ? words[d - 1] : RILL_ACTION_START,
                             .slot = 1,
                             .depth = d};
        answer a = answer_row(ctx, domain, s.self, info.actions, row);
        answer_logp(&a, 0, logp[d]);
        answer_free(&a);
    }
    stop_model(domain, &s);
}

static void equals_plain_loops(void **state)
{
    (void)state;
    static const int32_t source[] = {3, 8, 3, END};
    uint64_t dice = 5;
    for (int i = 0; i < 24; i++) {
        const int max_width = i < 4 ? 1 : WIDEST;
        const shape s = {.conditional = i % 2,
                         .own_output = i / 2 % 2,
                         .E = 1 + (int)random_below(&dice, (uint32_t)max_width),
                         .H = 1 + (int)random_below(&dice, (uint32_t)max_width),
                         .D = 1 + (int)random_below(&dice, (uint32_t)max_width),
                         .A = 1 + (int)random_below(&dice, (uint32_t)max_width),
                         .seed = (uint64_t)i};
        double expected[DEPTH][V];
        float found[DEPTH][V];
        write_rnn(&s, NULL);
        plain(&s, source, 4, words, DEPTH, expected);
        decode(folder, NULL, found);
        for (int d = 0; d < DEPTH; d++)
            for (int v = 0; v < V; v++) {
                if (v == PAD)
                    assert_true(found[d][v] == -INFINITY);
                else
                    assert_near((double)found[d][v], expected[d][v], 1e-4, "log-probability", (size_t)v);
            }
    }
}

/* --- with a transformer ------------------------------------------------------------------------------------------- */

enum { WIDTH = 8 };

static size_t add_attention(model_tensor *to, char (*name)[80], const char *layer, const char *which)
{
    static const char *const parts[] = {"q_proj", "k_proj", "v_proj", "out_proj"};
    for (int i = 0; i < 8; i++) {
        snprintf(name[i], sizeof *name, "%s.%s.%s.%s", layer, which, parts[i / 2], i % 2 ? "bias" : "weight");
        to[i] = (model_tensor){name[i], WIDTH, i % 2 ? 0 : WIDTH, NULL};
    }
    for (int i = 8; i < 10; i++) {
        snprintf(name[i], sizeof *name, "%s.%s_layer_norm.%s", layer, which, i % 2 ? "bias" : "weight");
        to[i] = (model_tensor){name[i], WIDTH, 0, NULL};
    }
    return 10;
}

static void write_transformer(const char *where)
{
    static const char *const feed[] = {"fc1", "fc2", "final_layer_norm"};
    model_tensor tensor[64] = {{"model.shared.weight", V, WIDTH, NULL}, {"final_logits_bias", 1, V, NULL}};
    char name[64][80];
    size_t n = 2;
    for (int side = 0; side < 2; side++) {
        const char *layer = side ? "model.decoder.layers.0" : "model.encoder.layers.0";
        n += add_attention(tensor + n, name + n, layer, "self_attn");
        if (side) n += add_attention(tensor + n, name + n, layer, "encoder_attn");
        for (int i = 0; i < 6; i++, n++) {
            snprintf(name[n], sizeof *name, "%s.%s.%s", layer, feed[i / 2], i % 2 ? "bias" : "weight");
            tensor[n] = (model_tensor){name[n], WIDTH, i < 4 && i % 2 == 0 ? WIDTH : 0, NULL};
        }
    }
    model_write_tensors(where, &(model_spec){.seed = 9}, tensor, n);
    write_string(where, "config.json",
                 "{\"model_type\": \"marian\", \"activation_function\": \"relu\", \"d_model\": 8, \"vocab_size\": 12,\n"
                 "\"encoder_layers\": 1, \"decoder_layers\": 1, \"encoder_attention_heads\": 2,\n"
                 "\"decoder_attention_heads\": 2, \"encoder_ffn_dim\": 8, \"decoder_ffn_dim\": 8,\n"
                 "\"max_position_embeddings\": 40, \"pad_token_id\": 11, \"eos_token_id\": 0}");
    write_vocabulary(where);
}

/* Either model may be the first of the ensemble, and each keeps its own states. */
static void architectures_mix(void **state)
{
    (void)state;
    char *other = folder_make();
    float one[DEPTH][V], two[DEPTH][V], both[2][DEPTH][V];
    write_transformer(other);
    decode(folder, NULL, one);
    decode(other, NULL, two);
    decode(folder, other, both[0]);
    decode(other, folder, both[1]);
    for (int d = 0; d < DEPTH; d++)
        for (int v = 0; v < V; v++) {
            const double mean = log((exp((double)one[d][v]) + exp((double)two[d][v])) / 2);
            for (int i = 0; i < 2 && v != PAD; i++)
                assert_near((double)both[i][d][v], mean, 1e-5, "log-probability", (size_t)v);
        }
    folder_remove(other);
}

/* --- what is refused ---------------------------------------------------------------------------------------------- */

#define CONFIG "%s/config.json: "
#define TENSOR "%s/model.safetensors: tensor "

static void keys_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *sentence;
    } bad[] = {
        {"decoder", "\"deep\"", CONFIG "decoder: expected conditional or simple, found \"deep\""},
        {"decoder", NULL, CONFIG "decoder: expected a text, found nothing"},
        {"embedding_size", NULL, CONFIG "embedding_size: expected an integer from 1 to 65536, found nothing"},
        {"attention_size", "0", CONFIG "attention_size: expected an integer from 1 to 65536, found 0"},
        {"vocab_size", NULL, CONFIG "source_vocab_size: expected an integer from 2 to 4194304, found nothing"},
        {"vocab_size", "1", CONFIG "vocab_size: expected an integer from 2 to 4194304, found 1"},
        {"eos_token_id", NULL, CONFIG "eos_token_id: expected an integer from 0 to 11, found nothing"},
        {"unk_token_id", NULL, CONFIG "unk_token_id: expected an integer from 0 to 11, found nothing"},
        {"unk_token_id", "2", CONFIG "unk_token_id: expected 1, the number of <unk>, found 2"},
        {"pad_token_id", "12", CONFIG "pad_token_id: expected an integer from 0 to 11, found 12"},
        {"max_length", "0", CONFIG "max_length: expected an integer from 1 to 1048576, found 0"},
        {"encoder_size", "5", TENSOR "\"encoder_b\": expected shape [10], found [8]"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_config(&small, bad[i].key, bad[i].value);
        assert_int_equal(open_folder(folder, 1), RILL_ERR_FORMAT);
        assert_error(ctx, bad[i].sentence, folder);
    }
}

/* The tensors determine the decoder's kind, so neither kind can be taken for the other. */
static void tensors_that_are_refused(void **state)
{
    (void)state;
    shape other = small;
    other.conditional = 0;
    write_config(&other, NULL, NULL);
    assert_int_equal(open_folder(folder, 1), RILL_ERR_FORMAT);
    assert_true(strstr(rill_error(ctx), "_nl\" (and 3 more)") != NULL);
    write_rnn(&small, &(model_spec){.seed = 1, .missing = "decoder_c_tt"});
    assert_int_equal(open_folder(folder, 1), RILL_ERR_FORMAT);
    assert_error(ctx, TENSOR "\"decoder_c_tt\" is missing, expected with shape [1]", folder);
    write_rnn(&small, &(model_spec){.seed = 1, .extra = "ff_logit_lstm_ln_b"});
    assert_int_equal(open_folder(folder, 1), RILL_ERR_FORMAT);
    assert_true(strstr(rill_error(ctx), "has no tensor \"ff_logit_lstm_ln_b\"") != NULL);
}

static rill_status open_anywhere(rill_context *where, const char *path)
{
    started self;
    rill_domain_info info;
    const rill_open_options options = {.struct_size = sizeof options, .path = path, .threads = 1, .tokenized = 1};
    const rill_status status = start_model(where, domain, &options, &self, &info);
    if (status == RILL_OK) stop_model(domain, &self);
    return status;
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    assert_true(refuse_each_call(&memory, ctx, open_anywhere, folder) > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(equals_plain_loops),       CASE(architectures_mix),       CASE(keys_that_are_refused),
        CASE(tensors_that_are_refused), CASE(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests_name("domains_mt_rnn", tests, NULL, NULL);
}
