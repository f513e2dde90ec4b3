/* domains/mt: which tables of a model file are the encoder's embeddings, the decoder's embeddings and the output layer,
 * compared with a plain transformer in double precision. Also unknown tensors, tokens that are never chosen, and
 * positions without a maximum. */
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
#include "mt_runner.h"
#include "random_parser.h"
#include "rill/safetensors.h"

static const rill_domain *const domain = &rill_mt_domain;

#include "folder_fixture.h"

/* --- a model ------------------------------------------------------------------------------------------------------ */

enum { D = 8, HEADS = 2, F = 6, V = 12, END = 0, PAD = V - 1, CAPACITY = 200, LONGEST = 8 };

#define SHARED "model.shared.weight"
#define SOURCE "model.encoder.embed_tokens.weight"
#define TARGET "model.decoder.embed_tokens.weight"
#define OUTPUT "lm_head.weight"

/* The tensors of a file under construction. */
typedef struct parts {
    model_tensor tensor[CAPACITY];
    char name[CAPACITY][80];
    size_t n;
} parts;

static void add(parts *p, int rows, int columns, const char *like, const char *format, ...)
{
    va_list arguments;
    assert_true(p->n < CAPACITY);
    va_start(arguments, format);
    vsnprintf(p->name[p->n], sizeof p->name[p->n], format, arguments);
    va_end(arguments);
    p->tensor[p->n] = (model_tensor){p->name[p->n], rows, columns, like};
    p->n++;
}

static void add_linear(parts *p, const char *prefix, const char *name, int n, int k)
{
    add(p, n, k, NULL, "%s.%s.weight", prefix, name);
    add(p, n, 0, NULL, "%s.%s.bias", prefix, name);
}

static void add_attention(parts *p, const char *layer, const char *name)
{
    static const char *const projections[] = {"q_proj", "k_proj", "v_proj", "out_proj"};
    char full[60];
    for (size_t i = 0; i < 4; i++) {
        snprintf(full, sizeof full, "%s.%s", name, projections[i]);
        add_linear(p, layer, full, D, D);
    }
    snprintf(full, sizeof full, "%s_layer_norm", name);
    add_linear(p, layer, full, D, 0);
}

static void add_layers(parts *p, const char *side, int n)
{
    char layer[40];
    for (int i = 0; i < n; i++) {
        snprintf(layer, sizeof layer, "model.%s.layers.%d", side, i);
        add_attention(p, layer, "self_attn");
        if (side[0] == 'd') add_attention(p, layer, "encoder_attn");
        add_linear(p, layer, "fc1", F, D);
        add_linear(p, layer, "fc2", D, F);
        add_linear(p, layer, "final_layer_norm", D, 0);
    }
}

static void write_vocabulary(void)
{
    char text[400] = "{\"</s>\": 0, \"<unk>\": 1";
    for (int i = 2; i < V; i++) sprintf(text + strlen(text), i == PAD ? ", \"<pad>\": %d" : ", \"w%d\": %d", i, i);
    strcat(text, "}");
    write_string(folder, "vocab.json", text);
}

/* Write config.json for one layer per side. `keys`: "\"key\": value, ...". */
static void write_config(const char *keys)
{
    char text[900];
    snprintf(
        text, sizeof text,
        "{%s%s \"model_type\": \"marian\", \"activation_function\": \"relu\", \"scale_embedding\": true, \"d_model\": %d,\n"
        "\"encoder_layers\": 1, \"decoder_layers\": 1, \"encoder_attention_heads\": %d, \"decoder_attention_heads\": %d,\n"
        "\"encoder_ffn_dim\": %d, \"decoder_ffn_dim\": %d, \"vocab_size\": %d, \"max_position_embeddings\": 40,\n"
        "\"pad_token_id\": %d, \"eos_token_id\": %d}",
        keys, keys[0] ? "," : "", D, HEADS, HEADS, F, F, V, PAD, END);
    write_string(folder, "config.json", text);
}

/* Tables in the file, each with the name of an earlier table whose values it copies, or NULL. */
typedef struct table {
    const char *name, *like;
} table;

static void write_model(const char *keys, const table *tables, size_t n, int encoder, int decoder)
{
    parts *p = calloc(1, sizeof *p);
    assert_non_null(p);
    for (size_t i = 0; i < n; i++) add(p, V, D, tables[i].like, "%s", tables[i].name);
    add_layers(p, "encoder", encoder);
    add_layers(p, "decoder", decoder);
    add(p, 1, V, NULL, "final_logits_bias");
    model_write_tensors(folder, &(model_spec){.seed = 3}, p->tensor, p->n);
    write_config(keys);
    write_vocabulary();
    free(p);
}

static const table one_table[] = {{SHARED, NULL}};

static void fill_folder(void)
{
    write_model("", one_table, 1, 1, 1);
}

/* --- reference transformer ---------------------------------------------------------------------------------------- */

static rill_tensor_file *weights;

static const float *numbers(const char *prefix, const char *name)
{
    static float values[16][V * D]; /* cache of the tables read last */
    static size_t n_used;
    char full[120];
    float *out = values[n_used++ % 16];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const rill_file_tensor *t = rill_tensor_file_find(weights, full);
    if (t == NULL) fail_msg("no tensor %s", full);
    assert_ok(ctx, rill_tensor_file_read(weights, full, RILL_TENSOR_F32, t->rank, t->shape, out));
    return out;
}

static void plain_linear(const char *prefix, const double *x, int n, int k, double *y)
{
    const float *w = numbers(prefix, ".weight"), *b = numbers(prefix, ".bias");
    for (int i = 0; i < n; i++) {
        y[i] = b[i];
        for (int j = 0; j < k; j++) y[i] += w[i * k + j] * x[j];
    }
}

/* x = norm(x + y) */
static void plain_norm(const char *prefix, double *x, const double *y)
{
    const float *gain = numbers(prefix, ".weight"), *bias = numbers(prefix, ".bias");
    double mean = 0, variance = 0;
    for (int i = 0; i < D; i++) mean += (x[i] += y[i]) / D;
    for (int i = 0; i < D; i++) variance += (x[i] - mean) * (x[i] - mean) / D;
    for (int i = 0; i < D; i++) x[i] = (x[i] - mean) / sqrt(variance + 1e-5) * gain[i] + bias[i];
}

/* x[t] = norm(x[t] + attention of x[t] to others[0 .. n - 1]); if `past`, only to positions up to t. */
static void plain_attention(const char *layer, const char *name, double (*x)[D], int rows, double (*others)[D], int n,
                            int past)
{
    double key[LONGEST][D], value[LONGEST][D], out[LONGEST][D];
    char prefix[90], norm[90];
#define NAMED(what) (snprintf(prefix, sizeof prefix, "%s.%s.%s", layer, name, what), prefix)
    for (int s = 0; s < n; s++) {
        plain_linear(NAMED("k_proj"), others[s], D, D, key[s]);
        plain_linear(NAMED("v_proj"), others[s], D, D, value[s]);
    }
    for (int t = 0; t < rows; t++) {
        double query[D], context[D] = {0};
        plain_linear(NAMED("q_proj"), x[t], D, D, query);
        for (int h = 0; h < D; h += D / HEADS) {
            double share[LONGEST], sum = 0;
            const int seen = past ? t + 1 : n;
            for (int s = 0; s < seen; s++) {
                double dot = 0;
                for (int j = h; j < h + D / HEADS; j++) dot += query[j] * key[s][j];
                sum += share[s] = exp(dot / sqrt(D / HEADS));
            }
            for (int s = 0; s < seen; s++)
                for (int j = h; j < h + D / HEADS; j++) context[j] += share[s] / sum * value[s][j];
        }
        plain_linear(NAMED("out_proj"), context, D, D, out[t]);
    }
    snprintf(norm, sizeof norm, "%s.%s_layer_norm", layer, name);
    for (int t = 0; t < rows; t++) plain_norm(norm, x[t], out[t]);
}

static void plain_feed(const char *layer, double (*x)[D], int rows)
{
    char prefix[90];
    for (int t = 0; t < rows; t++) {
        double inner[F], out[D];
        snprintf(prefix, sizeof prefix, "%s.fc1", layer);
        plain_linear(prefix, x[t], F, D, inner);
        for (int i = 0; i < F; i++) inner[i] = inner[i] > 0 ? inner[i] : 0;
        snprintf(prefix, sizeof prefix, "%s.fc2", layer);
        plain_linear(prefix, inner, D, F, out);
        snprintf(prefix, sizeof prefix, "%s.final_layer_norm", layer);
        plain_norm(prefix, x[t], out);
    }
}

static void plain_embed(const char *name, const int *id, int n, double (*x)[D])
{
    const float *rows = numbers(name, "");
    for (int t = 0; t < n; t++)
        for (int j = 0; j < D; j++) {
            const double angle = t / pow(10000.0, (j % (D / 2)) / (D / 2.0));
            x[t][j] = sqrt(D) * rows[id[t] * D + j] + (j < D / 2 ? sin(angle) : cos(angle));
        }
}

/* Tables for the embeddings, and a bit set of tokens outside the softmax. */
typedef struct plain {
    const char *source, *target, *output;
    unsigned outside;
} plain;

/* Log-probabilities after the last of n output tokens; the first is the start token. */
static void plain_logp(const plain *m, const int *input, int length, const int *symbol, int n, double *logp)
{
    double x[LONGEST][D], y[LONGEST][D], sum = 0;
    plain_embed(m->source, input, length, x);
    plain_attention("model.encoder.layers.0", "self_attn", x, length, x, length, 0);
    plain_feed("model.encoder.layers.0", x, length);
    plain_embed(m->target, symbol, n, y);
    plain_attention("model.decoder.layers.0", "self_attn", y, n, y, n, 1);
    plain_attention("model.decoder.layers.0", "encoder_attn", y, n, x, length, 0);
    plain_feed("model.decoder.layers.0", y, n);
    const float *rows = numbers(m->output, ""), *bias = numbers("final_logits_bias", "");
    for (int a = 0; a < V; a++) {
        logp[a] = bias[a];
        for (int j = 0; j < D; j++) logp[a] += rows[a * D + j] * y[n - 1][j];
        if (!(m->outside >> a & 1)) sum += exp(logp[a]);
    }
    for (int a = 0; a < V; a++) logp[a] -= log(sum);
}

/* --- comparison --------------------------------------------------------------------------------------------------- */

/* The domain must equal the plain transformer for a few output tokens, and never choose tokens in the bit set
 * `never`. */
static void is_like(const plain *m, unsigned never)
{
    static const int input[] = {2, 5, 3, END}, symbol[] = {PAD, 4, 9, 2};
    static const char text[] = "w2 w5 w3";
    seq_runner *self = NULL;
    rill_domain_info info;
    rill_open_options options = {.struct_size = sizeof options, .path = folder, .threads = 1, .tokenized = 1};
    rill_input one = make_input(text, 0);
    char *path = join_path(folder, "model.safetensors");
    assert_ok(ctx, rill_tensor_file_open(&weights, ctx, path));
    assert_ok(ctx, runner_open(ctx, &options, &self, &info));
    assert_ok(ctx, domain->reserve(self, 4, 1));
    assert_ok(ctx, domain->encode(self, 1, &one));
    for (int t = 0; t < 4; t++) {
        float found[V];
        double expected[V];
        answer a = answer_row(ctx, domain, self, V,
                              (one_row){0, t, t - 1, t > 0 ? symbol[t] : RILL_ACTION_START, 0, t});
        answer_logp(&a, 0, found);
        answer_free(&a);
        plain_logp(m, input, 4, symbol, t + 1, expected);
        for (size_t i = 0; i < V; i++) {
            if (never >> i & 1)
                assert_true(found[i] == -INFINITY);
            else
                assert_near((double)found[i], expected[i], 1e-4, "log-probability", i);
        }
    }
    runner_close(self);
    rill_tensor_file_close(weights);
    free(path);
}

#define TABLES(...) (const table[]){__VA_ARGS__}, sizeof(const table[]){__VA_ARGS__} / sizeof(table)
#define UNTIED "\"tie_word_embeddings\": false"
#define SEPARATE_TABLES "\"share_encoder_decoder_embeddings\": false"
#define NEVER (1u << PAD)

/* Each side has its own table, as transformers 4 stores models, and as transformers 5 stores untied ones with an unused
 * `shared`. */
static void each_side_has_its_own_table(void **state)
{
    (void)state;
    is_like(&(plain){SHARED, SHARED, SHARED, 0}, NEVER);
    write_model(UNTIED, TABLES({SHARED, NULL}, {SOURCE, NULL}, {TARGET, NULL}, {OUTPUT, NULL}), 1, 1);
    is_like(&(plain){SOURCE, TARGET, OUTPUT, 0}, NEVER);
    write_model(UNTIED "," SEPARATE_TABLES, TABLES({SHARED, NULL}, {SOURCE, NULL}, {TARGET, NULL}, {OUTPUT, NULL}), 1,
                1);
    is_like(&(plain){SOURCE, TARGET, OUTPUT, 0}, NEVER);
    write_model(UNTIED, TABLES({SHARED, NULL}, {OUTPUT, NULL}), 1, 1);
    is_like(&(plain){SHARED, SHARED, OUTPUT, 0}, NEVER);
    write_model(UNTIED, TABLES({SHARED, NULL}, {SOURCE, NULL}, {OUTPUT, NULL}), 1, 1);
    is_like(&(plain){SOURCE, SHARED, OUTPUT, 0}, NEVER);
    write_model(SEPARATE_TABLES, TABLES({SOURCE, NULL}, {TARGET, NULL}), 1, 1);
    is_like(&(plain){SOURCE, TARGET, TARGET, 0}, NEVER);
    write_model(SEPARATE_TABLES, TABLES({SOURCE, NULL}, {OUTPUT, NULL}), 1, 1);
    is_like(&(plain){SOURCE, OUTPUT, OUTPUT, 0}, NEVER);
}

/* Tied tables may be stored several times, but only with equal values. */
static void tied_tables_are_equal(void **state)
{
    (void)state;
    write_model("", TABLES({SHARED, NULL}, {SOURCE, SHARED}, {TARGET, SHARED}, {OUTPUT, SHARED}), 1, 1);
    is_like(&(plain){SHARED, SHARED, SHARED, 0}, NEVER);
    write_model("", TABLES({SHARED, NULL}, {SOURCE, SHARED}, {TARGET, NULL}, {OUTPUT, SHARED}), 1, 1);
    assert_int_equal(open_folder(folder, 1), RILL_ERR_FORMAT);
    assert_error(ctx,
                 "%s/model.safetensors: tensors \"" SHARED "\" and \"" TARGET
                 "\" differ, but tie_word_embeddings in config.json shares them: set it to false if the model has "
                 "separate tables",
                 folder);
    write_model(SEPARATE_TABLES, TABLES({SOURCE, NULL}, {TARGET, NULL}, {OUTPUT, NULL}), 1, 1);
    assert_int_equal(open_folder(folder, 1), RILL_ERR_FORMAT);
    assert_non_null(strstr(rill_error(ctx), "tensors \"" TARGET "\" and \"" OUTPUT "\" differ"));
}

/* A model file of two layers does not fit a configuration of one. */
static void what_has_no_place_is_refused(void **state)
{
    (void)state;
    write_model("", one_table, 1, 2, 1);
    assert_int_equal(open_folder(folder, 1), RILL_ERR_FORMAT);
    assert_error(ctx,
                 "%s/model.safetensors: the model that config.json describes has no tensor "
                 "\"model.encoder.layers.1.fc1.bias\" (and 15 more)",
                 folder);
    write_model("", one_table, 1, 1, 2);
    assert_int_equal(open_folder(folder, 1), RILL_ERR_FORMAT);
    assert_non_null(strstr(rill_error(ctx), "\"model.decoder.layers.1.encoder_attn.k_proj.bias\" (and 25 more)"));
    write_model("", TABLES({SHARED, NULL}, {"model.encoder.layernorm_embedding.weight", NULL}), 1, 1);
    assert_int_equal(open_folder(folder, 1), RILL_ERR_FORMAT);
    assert_non_null(strstr(rill_error(ctx), "\"model.encoder.layernorm_embedding.weight\""));
    write_model("", TABLES({SHARED, NULL}, {"model.decoder.version", NULL}), 1, 1);
    assert_int_equal(open_folder(folder, 1), RILL_OK);
}

/* --- generation_config.json --------------------------------------------------------------------------------------- */

/* generation_config.json may forbid single tokens: they are never chosen, except the end, but remain in the softmax by
 * default. */
static void forbidden_symbols_are_never_chosen(void **state)
{
    (void)state;
    const unsigned banned = NEVER | 1u << 3 | 1u << 7;
    plain m = {SHARED, SHARED, SHARED, 0};
    write_config("\"bad_words_ids\": [[5]]");
    is_like(&m, NEVER | 1u << 5);
    write_string(folder, "generation_config.json",
                 "{\"bad_words_ids\": [[11], [3], [0], [99], [-1]], \"suppress_tokens\": [7]}");
    is_like(&m, banned); /* generation_config.json does not forbid 5, and takes precedence over config.json */
    assert_string_equal(memory.log, "");
    write_string(folder, "generation_config.json",
                 "{\"bad_words_ids\": [[3]], \"suppress_tokens\": [7], \"renormalize_logits\": true}");
    m.outside = banned;
    is_like(&m, banned);
    static const struct {
        const char *key, *value, *why;
    } bad[] = {{"bad_words_ids", "[\"x\"]", "bad_words_ids: expected a list of integers, found \"x\""},
               {"bad_words_ids", "7", "bad_words_ids: expected a list of integers, found 7"},
               {"bad_words_ids", "[[3, 1.5]]", "bad_words_ids: expected a list of integers, found 1.5"},
               {"bad_words_ids", "[[]]", "bad_words_ids: expected a list of integers in each list, found an array"},
               {"suppress_tokens", "[[3, 4]]", "suppress_tokens: expected integers, found a list of 2"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[100], why[200];
        snprintf(text, sizeof text, "{\"%s\": %s}", bad[i].key, bad[i].value);
        snprintf(why, sizeof why, "%%s/generation_config.json: %s", bad[i].why);
        write_string(folder, "generation_config.json", text);
        assert_int_equal(open_folder(folder, 1), RILL_ERR_FORMAT);
        assert_error(ctx, why, folder);
    }
}

static void warns(const char *generation, const char *keys)
{
    char expected[700] = "";
    memory.log[0] = '\0';
    write_string(folder, "generation_config.json", generation);
    assert_ok(ctx, open_folder(folder, 1));
    if (keys != NULL)
        snprintf(expected, sizeof expected, "%s/generation_config.json: not supported, though it changes outputs: %s\n",
                 folder, keys);
    assert_string_equal(memory.log, expected);
}

/* An unsupported key that would change outputs is reported once; a key without effect is not reported. */
static void ignored_keys_are_reported(void **state)
{
    (void)state;
    warns(
        "{\"do_sample\": false, \"temperature\": 0.7, \"top_k\": 50, \"num_beam_groups\": 1, \"diversity_penalty\": 0.0, "
        "\"repetition_penalty\": 1.0, \"no_repeat_ngram_size\": 0, \"encoder_no_repeat_ngram_size\": 0, "
        "\"forced_bos_token_id\": null, \"begin_suppress_tokens\": [], \"suppress_tokens\": null, "
        "\"bad_words_ids\": [[11]], \"exponential_decay_length_penalty\": null, \"constraints\": null, "
        "\"num_beams\": 4, \"length_penalty\": 0.8, \"early_stopping\": true, \"max_new_tokens\": 7, "
        "\"min_new_tokens\": 2, \"max_length\": 30, \"min_length\": 3, \"forced_eos_token_id\": 0}",
        NULL);
    warns("{\"repetition_penalty\": 1.2, \"no_repeat_ngram_size\": 3}", NULL);
    warns("{\"do_sample\": true, \"temperature\": 0.7, \"top_p\": 1.0}",
          "do_sample, temperature; to sample, set num-samples, temperature, top-k and top-p");
    warns("{\"num_beam_groups\": 2, \"diversity_penalty\": 0.5, "
          "\"encoder_no_repeat_ngram_size\": 2, \"exponential_decay_length_penalty\": [5, 1.1], "
          "\"begin_suppress_tokens\": [4], \"forced_bos_token_id\": 0, \"constraints\": [[1]]}",
          "num_beam_groups, diversity_penalty, encoder_no_repeat_ngram_size, "
          "exponential_decay_length_penalty, begin_suppress_tokens, constraints; for diverse beam "
          "search, set beam-groups and diversity-penalty");
    warns("{\"bad_words_ids\": [[3, 4], [5]], \"suppress_tokens\": [0]}", "suppress_tokens");
}

/* --- positions ---------------------------------------------------------------------------------------------------- */

/* Find the best first action of an input and its log-probability, or the input's error in `why`. */
static rill_status first_choice(const char *text, int32_t *action, float *logp, char *why)
{
    seq_runner *self = NULL;
    rill_domain_info info;
    rill_open_options options = {.struct_size = sizeof options, .path = folder, .threads = 1, .tokenized = 1};
    rill_input input = make_input(text, 0);
    assert_ok(ctx, runner_open(ctx, &options, &self, &info));
    assert_ok(ctx, domain->reserve(self, 1, 1));
    assert_ok(ctx, domain->encode(self, 1, &input));
    strcpy(why, input.message);
    if (input.status == RILL_OK) {
        answer a = answer_row(ctx, domain, self, info.actions, (one_row){0, 0, -1, RILL_ACTION_START, 0, 0});
        *action = a.out.action[0];
        *logp = a.out.logp[0];
        answer_free(&a);
    }
    runner_close(self);
    return input.status;
}

/* Change the number of positions in an FSMT configuration. */
static void set_positions(const char *from, const char *to)
{
    size_t length;
    char *text = read_bytes(folder, "config.json", &length), *pos = strstr(text, from), changed[4000];
    assert_non_null(pos);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(pos - text), text, to, pos + strlen(from));
    write_string(folder, "config.json", changed);
    free(text);
}

/* transformers computes FSMT's sinusoidal positions for inputs of any length: the configured number is no limit. */
static void sines_go_on(void **state)
{
    (void)state;
    static const char *const names[] = {"config.json", "generation_config.json", "model.safetensors", "vocab-src.json",
                                        "vocab-tgt.json"};
    static const char few[] = "\"max_position_embeddings\": 40", many[] = "\"max_position_embeddings\": 4000";
    char text[16 * 40 * 2 + 8] = "", why[2][256];
    int32_t action[2];
    float logp[2];
    char *from = data_path("mt/fsmt");
    for (size_t i = 0; i < 5; i++) copy_file(from, folder, names[i]);
    free(from);
    for (int subwords = 0; subwords < 16 * 40 - 1; subwords++) strcat(text, subwords % 3 ? "a " : "e ");
    assert_int_equal(first_choice(text, &action[0], &logp[0], why[0]), RILL_OK);
    set_positions(few, many);
    assert_int_equal(first_choice(text, &action[1], &logp[1], why[1]), RILL_OK);
    assert_int_equal(action[0], action[1]);
    assert_memory_equal(&logp[0], &logp[1], sizeof logp[0]);
    set_positions(many, few);
    strcat(text, "a");
    assert_int_equal(first_choice(text, &action[0], &logp[0], why[0]), RILL_ERR_INPUT);
    assert_string_equal(why[0], "expected at most 639 tokens, found 640");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_side_has_its_own_table),        CASE(tied_tables_are_equal),     CASE(what_has_no_place_is_refused),
        CASE(forbidden_symbols_are_never_chosen), CASE(ignored_keys_are_reported), CASE(sines_go_on),
    };
    return cmocka_run_group_tests_name("domains_mt_embeddings", tests, NULL, NULL);
}
