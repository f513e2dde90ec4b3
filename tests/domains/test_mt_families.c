/* domains/mt: differences between transformers' model families: keys that contradict the model type, tied or separate
 * tables, buckets of relative positions. test_mt.c checks that each family computes what transformers does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "domain_driver.h"
#include "helpers.h"
#include "mt_runner.h"
#include "reference.h"

static const rill_domain *const domain = &rill_mt_domain;

#include "folder_fixture.h"

static void fill_folder(void)
{
}

/* Fill the directory with the model and set a key of config.json to a JSON value; NULL removes the key. What transformers
 * derives from feed_forward_proj, and saves, would override another value of it. */
static void take_model(const char *model, const char *key, const char *value)
{
    static const char *const files[] = {"generation_config.json",  "model.safetensors", "vocab.json",
                                        "sentencepiece.bpe.model", "spiece.model",      "merges.txt",
                                        "tokenizer_config.json",   "source.spm",        "target.spm",
                                        "special_tokens_map.json"};
    char name[64], *path = join_path(folder, "config.json");
    snprintf(name, sizeof name, "mt/%s", model);
    char *from = data_path(name);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *origin = join_path(from, files[i]), *copy = join_path(folder, files[i]);
        if (access(origin, F_OK) == 0)
            copy_file(from, folder, files[i]);
        else
            (void)unlink(copy); /* remove the file of the previous model */
        free(origin);
        free(copy);
    }
    json_t *config = reference_load(from, "config.json");
    if (key != NULL && strcmp(key, "feed_forward_proj") == 0) {
        (void)json_object_del(config, "dense_act_fn");
        (void)json_object_del(config, "is_gated_act");
    }
    if (key != NULL && value != NULL)
        assert_int_equal(json_object_set_new(config, key, json_loads(value, JSON_DECODE_ANY, NULL)), 0);
    if (key != NULL && value == NULL) assert_int_equal(json_object_del(config, key), 0);
    assert_int_equal(json_dump_file(config, path, 0), 0);
    json_decref(config);
    free(path);
    free(from);
}

static void keys_that_contradict_a_type(void **state)
{
    (void)state;
    static const struct {
        const char *model, *key, *value, *sentence;
    } bad[] = {
        {"bart", "model_type", "\"led\"",
         "%s/config.json: model_type: expected marian, fsmt, m2m_100, mbart, bart, pegasus, t5, mt5, umt5 or rnnsearch, "
         "found \"led\""},
        {"bart", "normalize_before", "true", "%s/config.json: normalize_before: a model of type bart has false"},
        {"mbart", "add_final_layer_norm", "false",
         "%s/config.json: add_final_layer_norm: a model of type mbart has true"},
        {"m2m", "normalize_embedding", "true",
         "%s/config.json: normalize_embedding: a model of type m2m_100 has false"},
        {"mbart", "static_position_embeddings", "true",
         "%s/config.json: static_position_embeddings: only false is supported"},
        {"pegasus", "static_position_embeddings", "false",
         "%s/config.json: static_position_embeddings: only true is supported"},
        {"m2m", "rill", "{\"positions\": \"marian\"}",
         "%s/config.json: rill.positions: a model of type m2m_100 has only its own positions"},
        {"bart", "decoder_self_attention", "\"gru\"",
         "%s/config.json: decoder_self_attention: expected attention, ssru or average, found \"gru\""},
        {"bart", "decoder_self_attention", "\"ssru\"",
         "%s/config.json: decoder_self_attention: a model of type bart has attention"},
        {"t5", "decoder_self_attention", "\"average\"",
         "%s/config.json: decoder_self_attention: a model of type t5 has attention"},
        {"shared", "decoder_self_attention", "\"ssru\"",
         "%s/model.safetensors: tensor \"model.decoder.layers.0.self_ssru.forget_proj.weight\" is missing, expected with shape "
         "[16, 16]"},
        {"shared", "decoder_self_attention", "\"average\"",
         "%s/model.safetensors: tensor \"model.decoder.layers.0.self_average.input_gate.weight\" is missing, expected with shape "
         "[16, 16]"},
        {"t5", "feed_forward_proj", "\"gated-mish\"",
         "%s/config.json: feed_forward_proj: expected swish, silu, relu, gelu, gelu_new, gelu_fast, gelu_pytorch_tanh or "
         "quick_gelu, found \"mish\""},
        {"t5", "dense_act_fn", "\"mish\"",
         "%s/config.json: dense_act_fn: expected swish, silu, relu, gelu, gelu_new, gelu_fast, gelu_pytorch_tanh or "
         "quick_gelu, found \"mish\""},
        {"t5", "is_gated_act", "true",
         "%s/model.safetensors: tensor \"encoder.block.0.layer.1.DenseReluDense.wi_0.weight\" is missing, expected with "
         "shape [32, 16]"},
        {"t5", "relative_attention_max_distance", "4",
         "%s/config.json: relative_attention_max_distance: expected more than half of the 8 buckets, found 4"},
        {"t5", "relative_attention_num_buckets", "10",
         "%s/model.safetensors: tensor \"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight\": expected "
         "shape [10, 4], found [8, 4]"},
        {"t5", "d_kv", "5",
         "%s/model.safetensors: tensor \"encoder.block.0.layer.0.SelfAttention.q.weight\": expected shape [20, 16], found "
         "[16, 16]"},
        {"t5", "num_decoder_layers", "3",
         "%s/model.safetensors: tensor \"decoder.block.2.layer.0.SelfAttention.q.weight\" is missing, expected with shape "
         "[16, 16]"},
        {"t5", "feed_forward_proj", "\"gated-gelu\"",
         "%s/model.safetensors: tensor \"encoder.block.0.layer.1.DenseReluDense.wi_0.weight\" is missing, expected with "
         "shape [32, 16]"},
        {"umt5", "model_type", "\"mt5\"",
         "%s/model.safetensors: the model that config.json describes has no tensor "
         "\"decoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight\" (and 1 more)"},
        {"bart", "model_type", "\"mbart\"",
         "%s/tokenizer_config.json: tokenizer_class: of a model of type mbart MBartTokenizer or MBart50Tokenizer is read, "
         "found \"BartTokenizer\""},
        {"mbart", "tie_word_embeddings", "false",
         "%s/model.safetensors: tensor \"lm_head.weight\" is missing, expected with shape [98, 16]"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        take_model(bad[i].model, bad[i].key, bad[i].value);
        assert_int_equal(open_folder(folder, 1), RILL_ERR_FORMAT);
        assert_error(ctx, bad[i].sentence, folder);
    }
}

/* An input, and the sum of log-probabilities after its first action, or after a forced one. Any option changes this
 * number. */
static const char *input_text = "a d";

static double first_logp(const char *model, const char *key, const char *value)
{
    seq_runner *self;
    rill_domain_info info;
    const rill_open_options options = {.struct_size = sizeof options, .path = folder, .threads = 1, .tokenized = 1};
    static float logp[600];
    double sum = 0.0;
    take_model(model, key, value);
    assert_ok(ctx, runner_open(ctx, &options, &self, &info));
    assert_in_range(info.actions, 1, 600);
    assert_ok(ctx, domain->reserve(self, 2, 1));
    rill_input input = {.text = input_text, .length = strlen(input_text), .slot = 0};
    assert_ok(ctx, domain->encode(self, 1, &input));
    answer a = answer_row(ctx, domain, self, info.actions, (one_row){0, 0, RILL_NO_NODE, RILL_ACTION_START, 0, 0});
    answer_free(&a);
    a = answer_row(ctx, domain, self, info.actions, (one_row){0, 1, 0, 20, 0, 1});
    answer_logp(&a, 0, logp);
    answer_free(&a);
    for (int32_t i = 0; i < info.actions; i++)
        if (logp[i] > -1e30f) sum += (double)logp[i];
    runner_close(self);
    return sum;
}

/* In Marian models the configuration decides where layer norms are. */
static void marian_activation_is_read(void **state)
{
    (void)state;
    const double plain = first_logp("shared", NULL, NULL);
    assert_true(plain == first_logp("shared", "normalize_before", "false"));
    assert_true(plain != first_logp("shared", "normalize_before", "true"));
    take_model("shared", "normalize_embedding", "true");
    assert_int_equal(open_folder(folder, 1), RILL_ERR_FORMAT);
    assert_error(ctx,
                 "%s/model.safetensors: tensor \"model.encoder.layernorm_embedding.weight\" is missing, expected with "
                 "shape [16]",
                 folder);
}

/* A missing key has the default of its family; another value changes the result. */
static void absent_keys(void **state)
{
    (void)state;
    static const struct {
        const char *model, *key, *other;
        int differs;
    } keys[] = {
        {"m2m", "scale_embedding", NULL, 0},
        {"mbart", "scale_embedding", NULL, 1},
        {"m2m", "activation_function", NULL, 0},
        {"bart", "activation_function", NULL, 0},
        {"bart", "activation_function", "\"gelu_new\"", 1},
        {"t5", "feed_forward_proj", NULL, 0},
        {"t5", "feed_forward_proj", "\"silu\"", 1},
        {"t5", "dense_act_fn", NULL, 0},
        {"t5", "dense_act_fn", "\"silu\"", 1},
        {"t5", "scale_decoder_outputs", NULL, 0},
        {"t5", "scale_decoder_outputs", "false", 1},
        {"mt5", "feed_forward_proj", NULL, 0},
        {"mt5", "feed_forward_proj", "\"gated-gelu_new\"", 0},
        {"mt5", "feed_forward_proj", "\"gated-relu\"", 1},
        {"mt5", "num_decoder_layers", NULL, 0},
        {"mt5", "layer_norm_epsilon", NULL, 0},
        {"mt5-silu", "layer_norm_epsilon", NULL, 1},
        {"mt5", "decoder_start_token_id", NULL, 0},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const double was = first_logp(keys[i].model, NULL, NULL),
                     is = first_logp(keys[i].model, keys[i].key, keys[i].other);
        if ((was != is) != keys[i].differs) fail_msg("%s of %s: %.9g, then %.9g", keys[i].key, keys[i].model, was, is);
    }
}

/* Each name of an activation selects that function, and each function gives different numbers. */
static void activations_by_name(void **state)
{
    (void)state;
    static const char *const same[][3] = {{"\"gelu\""},
                                          {"\"gelu_new\"", "\"gelu_fast\"", "\"gelu_pytorch_tanh\""},
                                          {"\"relu\""},
                                          {"\"silu\"", "\"swish\""},
                                          {"\"quick_gelu\""}};
    enum { FUNCTIONS = sizeof same / sizeof *same };
    double value[FUNCTIONS];
    for (size_t i = 0; i < FUNCTIONS; i++) {
        value[i] = first_logp("bart", "activation_function", same[i][0]);
        for (size_t j = 1; j < 3 && same[i][j] != NULL; j++)
            if (first_logp("bart", "activation_function", same[i][j]) != value[i])
                fail_msg("%s and %s differ", same[i][0], same[i][j]);
        for (size_t j = 0; j < i; j++)
            if (value[i] == value[j]) fail_msg("%s and %s are the same", same[i][0], same[j][0]);
    }
}

/* An input long enough to use all buckets. */
static void max_distance_defaults_to_128(void **state)
{
    (void)state;
    static const char key[] = "relative_attention_max_distance";
    static const char *const others[] = {"20", "32", "64", "256"};
    static char text[600];
    for (int i = 0; i < 150; i++) memcpy(text + 2 * i, i % 3 == 0 ? "a " : i % 3 == 1 ? "d " : "e ", 3);
    input_text = text;
    const double absent = first_logp("t5", key, NULL), stated = first_logp("t5", key, "128");
    double other[sizeof others / sizeof *others];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) other[i] = first_logp("t5", key, others[i]);
    input_text = "a d";
    assert_true(absent == stated);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (other[i] == absent) fail_msg("a reach of %s is the same as 128", others[i]);
}

/* transformers before version 5 marks T5 1.1 only by separate embedding tables. Outputs are scaled where tables are
 * tied. */
static void outputs_are_scaled_where_tables_are_tied(void **state)
{
    (void)state;
    const double scaled = first_logp("t5", NULL, NULL);
    take_model("t5", "scale_decoder_outputs", NULL);
    assert_true(scaled != first_logp("t5", "scale_decoder_outputs", "false"));
    assert_true(first_logp("mt5", "scale_decoder_outputs", "true") == first_logp("mt5", NULL, NULL));
    assert_true(first_logp("mt5", "tie_word_embeddings", "false") == first_logp("mt5", NULL, NULL));
    const double tied = first_logp("umt5", NULL, NULL);
    assert_true(tied == first_logp("umt5", "tie_word_embeddings", NULL));
    assert_true(tied != first_logp("umt5", "tie_word_embeddings", "false"));
    assert_true(first_logp("umt5", "scale_decoder_outputs", "false") ==
                first_logp("umt5", "tie_word_embeddings", "false"));
}

/* Return the first action that the model in the directory forces; -1: none. */
static int32_t forced_bos(void)
{
    seq_runner *self;
    rill_domain_info info;
    const rill_open_options options = {.struct_size = sizeof options, .path = folder, .threads = 1, .tokenized = 1};
    assert_ok(ctx, runner_open(ctx, &options, &self, &info));
    const int32_t action = self->model->net[0]->forced_bos;
    runner_close(self);
    return action;
}

/* transformers reads forced_bos_token_id from generation_config.json only, if that file exists. Old BART models have a
 * key of another name in config.json. */
static void first_actions_are_forced_by_one_file(void **state)
{
    (void)state;
    take_model("bart", "forced_bos_token_id", "9");
    assert_int_equal(forced_bos(), -1);
    remove_one("generation_config.json");
    assert_int_equal(forced_bos(), 9);
    take_model("bart", "force_bos_token_to_be_generated", "true");
    assert_int_equal(forced_bos(), -1);
    remove_one("generation_config.json");
    assert_int_equal(forced_bos(), 0);
    write_string(folder, "generation_config.json", "{\"forced_bos_token_id\": 7}");
    assert_int_equal(forced_bos(), 7);
}

static void lists_of_one_end_are_read(void **state)
{
    (void)state;
    take_model("bart", "eos_token_id", "[2]");
    assert_int_equal(open_folder(folder, 1), RILL_OK);
    take_model("bart", "eos_token_id", "[2, 3]");
    assert_int_equal(open_folder(folder, 1), RILL_ERR_FORMAT);
    assert_error(ctx, "%s/config.json: eos_token_id: expected an integer from 0 to 419, found an array", folder);
}

/* T5's outputs may be as long as its inputs: it has no table of positions. */
static void relative_positions_have_no_end(void **state)
{
    (void)state;
    void *model;
    rill_domain_info info;
    rill_open_options options = {.struct_size = sizeof options, .path = folder, .threads = 1, .tokenized = 1};
    take_model("t5", "n_positions", "100");
    assert_ok(ctx, domain->open(domain, ctx, &options, &model, &info));
    assert_int_equal(info.max_positions, 1600);
    domain->close(model);
}

/* --- buckets ------------------------------------------------------------------------------------------------------ */

static void buckets_are_those_of_transformers(void **state)
{
    (void)state;
    char *path = data_path("mt");
    json_t *rows = reference_load(path, "buckets.json"), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        const int buckets = (int)json_integer_value(json_object_get(row, "buckets"));
        const int reach = (int)json_integer_value(json_object_get(row, "reach"));
        const int causal = (int)json_integer_value(json_object_get(row, "causal"));
        const json_t *found = json_object_get(row, "found");
        const mt_net net = {.settings = {.n_buckets = buckets, .max_distance = reach}};
        float number[128], spread[2 * 512 + 1];
        for (int b = 0; b < 128; b++) number[b] = (float)b;
        mt_expand_buckets(&net, number, 1, causal, spread);
        for (int d = -reach - 3; d <= reach + 3; d++) {
            const int clipped = d < -reach ? -reach : d > reach ? reach : d;
            const int want = (int)json_integer_value(json_array_get(found, (size_t)(d + reach + 3)));
            if ((int)spread[reach + clipped] != want)
                fail_msg("%d buckets to %d, causal %d: %d is in %d, not %d", buckets, reach, causal, d,
                         (int)spread[reach + clipped], want);
        }
    }
    assert_int_equal(i, 14);
    json_decref(rows);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(keys_that_contradict_a_type),
        CASE(marian_activation_is_read),
        CASE(absent_keys),
        CASE(activations_by_name),
        CASE(max_distance_defaults_to_128),
        CASE(outputs_are_scaled_where_tables_are_tied),
        CASE(first_actions_are_forced_by_one_file),
        CASE(lists_of_one_end_are_read),
        CASE(relative_positions_have_no_end),
        CASE(buckets_are_those_of_transformers),
    };
    return cmocka_run_group_tests_name("domains_mt_families", tests, NULL, NULL);
}
