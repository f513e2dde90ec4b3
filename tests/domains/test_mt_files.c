/* domains/mt: model directories with defects or deviations, and the message for each; tensors under alternative names;
 * and failed allocations. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "helpers.h"
#include "mt_runner.h"
#include "rill/safetensors.h"

static const rill_domain *const domain = &rill_mt_domain;

#include "folder_fixture.h"

static const char *const files[] = {
    "config.json", "generation_config.json", "model.safetensors", "vocab.json", "source.spm", "target.spm"};

static void copy_model(const char *name, const char *const *names, size_t count)
{
    char *from = data_path(name);
    for (size_t i = 0; i < count; i++) copy_file(from, folder, names[i]);
    free(from);
}

static const char *const fsmt[] = {"config.json",          "generation_config.json", "model.safetensors",
                                   "vocab-src.json",       "vocab-tgt.json",         "merges.txt",
                                   "tokenizer_config.json"};

static void fill_folder(void)
{
    copy_model("mt/shared", files, sizeof files / sizeof *files);
}

static void restore(const char *name)
{
    copy_model("mt/shared", &name, 1);
}

/* Set a key of a JSON file to a JSON value; NULL removes the key. */
static void set_key(const char *file, const char *key, const char *value)
{
    char *path = join_path(folder, file);
    json_t *root = json_load_file(path, 0, NULL);
    assert_non_null(root);
    if (value == NULL)
        json_object_del(root, key);
    else
        json_object_set_new(root, key, json_loads(value, JSON_DECODE_ANY, NULL));
    assert_int_equal(json_dump_file(root, path, 0), 0);
    json_decref(root);
    free(path);
}

/* In the weights file, replace `from` by `to` in the header, and append n numbers. Offsets count from the header's end,
 * so its length may change. *end, if not NULL: bytes of numbers before the call. */
static void edit_weights(const char *from, const char *to, const float *more, size_t n, size_t *end)
{
    size_t length, tail = n * sizeof *more;
    uint64_t header, changed;
    char *bytes = read_bytes(folder, "model.safetensors", &length);
    memcpy(&header, bytes, sizeof header);
    char *found_at = memmem(bytes + 8, header, from, strlen(from));
    assert_non_null(found_at);
    if (end != NULL) *end = length - 8 - header;
    changed = header - strlen(from) + strlen(to);
    size_t n_before = (size_t)(found_at - bytes), rest = length - n_before - strlen(from);
    char *edited = malloc(n_before + strlen(to) + rest + tail);
    assert_non_null(edited);
    memcpy(edited, bytes, n_before);
    memcpy(edited, &changed, sizeof changed);
    memcpy(edited + n_before, to, strlen(to));
    memcpy(edited + n_before + strlen(to), found_at + strlen(from), rest);
    if (n > 0) memcpy(edited + n_before + strlen(to) + rest, more, tail);
    write_bytes(folder, "model.safetensors", edited, n_before + strlen(to) + rest + tail);
    free(edited);
    free(bytes);
}

static void rename_tensor(const char *from, const char *to)
{
    char quoted[100], wanted[100];
    snprintf(quoted, sizeof quoted, "\"%s\"", from);
    snprintf(wanted, sizeof wanted, "\"%s\"", to);
    edit_weights(quoted, wanted, NULL, 0, NULL);
}

/* Append a tensor. */
static void add_tensor(const char *name, const char *shape, const float *values, size_t n)
{
    static const char anchor[] = "\"final_logits_bias\"";
    char entry[300];
    size_t end;
    edit_weights(anchor, anchor, NULL, 0, &end);
    snprintf(entry, sizeof entry, "\"%s\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[%zu,%zu]},%s", name, shape,
             end, end + n * sizeof *values, anchor);
    edit_weights(anchor, entry, values, n, NULL);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void missing_files(void **state)
{
    (void)state;
    static const char *const names[] = {"model.safetensors", "target.spm", "source.spm", "vocab.json", "config.json"};
    each_missing_file_is_reported(names, sizeof names / sizeof *names);
}

static void weights_in_a_pickle(void **state)
{
    (void)state;
    char sentence[200];
    remove_one("model.safetensors");
    write_string(folder, "pytorch_model.bin", "PK");
    assert_int_equal(open_folder(folder, 0), RILL_ERR_NOT_FOUND);
    snprintf(sentence, sizeof sentence, "make it with rill convert bin %s --out %s", folder, folder);
    assert_non_null(strstr(rill_error(ctx), "/pytorch_model.bin: model.safetensors is missing: "));
    assert_non_null(strstr(rill_error(ctx), sentence));
    remove_one("pytorch_model.bin");
}

static void subwords_need_no_sentencepiece(void **state)
{
    (void)state;
    remove_one("source.spm");
    remove_one("target.spm");
    remove_one("generation_config.json");
    assert_int_equal(open_folder(folder, 1), RILL_OK);
}

static void damaged_sentencepiece(void **state)
{
    (void)state;
    write_string(folder, "source.spm", "no model");
    assert_int_equal(open_folder(folder, 0), RILL_ERR_FORMAT);
    assert_non_null(strstr(rill_error(ctx), "source.spm: not a SentencePiece model: "));
    write_string(folder, "source.spm", "");
    assert_int_equal(open_folder(folder, 0), RILL_ERR_FORMAT);
}

static void vocabularies_that_do_not_fit(void **state)
{
    (void)state;
    write_string(folder, "vocab.json", "{\"</s>\": 0, \"a\": 1}");
    refused(RILL_ERR_FORMAT, "%s/vocab.json: expected a token <unk>");
    restore("vocab.json");
    write_string(folder, "target_vocab.json", "{\"</s>\": 1, \"a\": 1}");
    refused(RILL_ERR_FORMAT, "%s/target_vocab.json: \"</s>\" and \"a\" have the same id 1");
    write_string(folder, "target_vocab.json", "{\"a\": 0, \"b\": 1}");
    set_key("generation_config.json", "eos_token_id", "2");
    refused(RILL_ERR_FORMAT,
            "generation_config.json: eos_token_id: expected one of the vocabulary's 2 symbols, found 2");
    set_key("generation_config.json", "eos_token_id", "0");
    set_key("generation_config.json", "forced_bos_token_id", "2");
    refused(RILL_ERR_FORMAT,
            "generation_config.json: forced_bos_token_id: expected one of the vocabulary's 2 symbols, found 2");
}

/* An empty token is no language tag. In a vocabulary without tags, >>xx<< is text. */
static void empty_token_is_no_language_tag(void **state)
{
    (void)state;
    seq_runner *self = NULL;
    rill_domain_info info;
    rill_open_options options = {.struct_size = sizeof options, .path = folder, .threads = 1};
    rill_input input = {.text = ">>xx<< a book", .length = 13, .slot = 0};
    set_key("vocab.json", ">>de<<", NULL);
    set_key("vocab.json", "", "2");
    assert_int_equal(runner_open(ctx, &options, &self, &info), RILL_OK);
    assert_int_equal(domain->reserve(self, 1, 1), RILL_OK);
    assert_int_equal(domain->encode(self, 1, &input), RILL_OK);
    assert_int_equal(input.status, RILL_OK);
    runner_close(self);
}

static void line_feeds_in_subwords_do_not_end_a_line(void **state)
{
    (void)state;
    seq_runner *self = NULL;
    rill_domain_info info;
    rill_open_options options = {.struct_size = sizeof options, .path = folder, .threads = 1, .tokenized = 1};
    const int32_t action[] = {1, 3, 3};
    rill_text text = {.ctx = ctx};
    set_key("vocab.json", ".", NULL);
    set_key("vocab.json", "x\ny\r", "3");
    assert_int_equal(runner_open(ctx, &options, &self, &info), RILL_OK);
    assert_int_equal(domain->finalize(self, &(rill_hypothesis){.length = 3, .action = action}, &text), RILL_OK);
    assert_string_equal(text.data, "<unk> x y  x y ");
    rill_text_clear(&text);
    runner_close(self);
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

static void keys_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *sentence;
    } bad[] = {
        {"static_position_embeddings", "false", "%s/config.json: static_position_embeddings: only true is supported"},
        {"activation_function", "\"mish\"",
         "%s/config.json: activation_function: expected swish, silu, relu, gelu, gelu_new, gelu_fast, gelu_pytorch_tanh or "
         "quick_gelu, found \"mish\""},
        {"rill", "{\"positions\": \"x\"}", "%s/config.json: rill.positions: expected hf or marian, found \"x\""},
        {"rill", "{\"alignment_heads\": 5}",
         "%s/config.json: rill.alignment_heads: expected an integer from 1 to 2, found 5"},
        {"rill", "{\"alignment_layer\": 9}",
         "%s/config.json: rill.alignment_layer: expected an integer from 0 to 1, found 9"},
        {"d_model", "1", "%s/config.json: d_model: expected an integer from 2 to 65536, found 1"},
        {"encoder_layers", "0", "%s/config.json: encoder_layers: expected an integer from 1 to 1024, found 0"},
        {"decoder_attention_heads", "3",
         "%s/config.json: decoder_attention_heads: expected a divisor of d_model = 16, found 3"},
        {"max_position_embeddings", NULL,
         "%s/config.json: max_position_embeddings: expected an integer from 2 to 1048576, found nothing"},
        {"decoder_vocab_size", "50",
         "%s/config.json: decoder_vocab_size: expected vocab_size = 51, since share_encoder_decoder_embeddings is not "
         "false; found 50"},
        {"vocab_size", "52",
         "%s/config.json: decoder_vocab_size: expected vocab_size = 52, since share_encoder_decoder_embeddings is not "
         "false; found 51"},
        {"pad_token_id", "51", "%s/config.json: pad_token_id: expected an integer from 0 to 50, found 51"},
        {"decoder_start_token_id", "-1",
         "%s/config.json: decoder_start_token_id: expected an integer from 0 to 50, found -1"},
        {"scale_embedding", "22.6", "%s/config.json: scale_embedding: expected true or false, found 22.6"},
        {"encoder_ffn_dim", "33",
         "%s/model.safetensors: tensor \"model.encoder.layers.0.fc1.weight\": expected shape [33, 16], found [32, 16]"},
        {"decoder_layers", "3",
         "%s/model.safetensors: tensor \"model.decoder.layers.2.self_attn.q_proj.weight\" is missing, expected with "
         "shape [16, 16]"},
        {"tie_word_embeddings", "false",
         "%s/model.safetensors: tensor \"lm_head.weight\" is missing, expected with shape [51, 16]"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        set_key("config.json", bad[i].key, bad[i].value);
        refused(RILL_ERR_FORMAT, bad[i].sentence);
        restore("config.json");
    }
}

/* generation_config.json takes precedence, so messages name it. transformers accepts several end tokens. */
static void generation_keys_that_are_refused(void **state)
{
    (void)state;
    static const char *const bad[][3] = {
        {"eos_token_id", "[0, 2]",
         "%s/generation_config.json: eos_token_id: expected an integer from 0 to 50, found an array"},
        {"pad_token_id", "51", "%s/generation_config.json: pad_token_id: expected an integer from 0 to 50, found 51"},
        {"decoder_start_token_id", "51",
         "%s/generation_config.json: decoder_start_token_id: expected an integer from 0 to 50, found 51"},
        {"length_penalty", "40",
         "%s/generation_config.json: length_penalty: expected a number from -25 to 25, found 40"},
        {"max_length", "1", "%s/generation_config.json: max_length: expected an integer from 2 to 1048576, found 1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        set_key("generation_config.json", bad[i][0], bad[i][1]);
        refused(RILL_ERR_FORMAT, bad[i][2]);
        restore("generation_config.json");
    }
}

static void special_tokens_are_required(void **state)
{
    (void)state;
    set_key("config.json", "pad_token_id", NULL);
    assert_int_equal(open_folder(folder, 0), RILL_OK); /* generation_config.json has the key too */
    set_key("generation_config.json", "pad_token_id", NULL);
    refused(RILL_ERR_FORMAT, "%s/config.json: pad_token_id is missing: expected an integer");
    set_key("generation_config.json", "pad_token_id", "0");
    refused(RILL_ERR_FORMAT,
            "%s/generation_config.json: eos_token_id and pad_token_id are both 0, so outputs could not end");
}

/* Inputs end with </s> of the source vocabulary. Its id is not in the configuration, which describes the target
 * vocabulary. */
static void inputs_need_an_end_symbol(void **state)
{
    (void)state;
    static const char *const names[] = {"config.json", "generation_config.json", "target_vocab.json"};
    copy_model("mt/separate", names, 3);
    write_string(folder, "vocab.json", "{\"a\": 0, \"<unk>\": 1}");
    refused(RILL_ERR_FORMAT, "%s/vocab.json: expected a token </s>, which ends inputs");
}

static void absent_keys_have_their_defaults(void **state)
{
    (void)state;
    static const char *const keys[] = {"decoder_vocab_size", "share_encoder_decoder_embeddings", "tie_word_embeddings",
                                       "decoder_start_token_id"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) set_key("config.json", keys[i], NULL);
    assert_int_equal(open_folder(folder, 0), RILL_OK);
}

/* --- ensembles ---------------------------------------------------------------------------------------------------- */

/* Open the directory's model in an ensemble, after that of tests/data. */
static rill_status open_ensemble_with(void)
{
    seq_runner *self = NULL;
    rill_domain_info info;
    char *first = data_path("mt/shared");
    const char *const also[] = {folder};
    rill_open_options options = {
        .struct_size = sizeof options, .path = first, .threads = 1, .ensemble = also, .n_ensemble = 1};
    rill_status status = runner_open(ctx, &options, &self, &info);
    if (status == RILL_OK) runner_close(self);
    free(first);
    return status;
}

/* The weight type is reported for one model and for several. */
static void ensembles_report_weights(void **state)
{
    (void)state;
    seq_runner *self = NULL;
    rill_domain_info info;
    const char *const also[] = {folder};
    rill_open_options options = {.struct_size = sizeof options, .path = folder, .threads = 1};
    const rill_pair weights = {"weights", "int8"};
    options.values = &weights;
    options.n_values = 1;
    options.ensemble = also;
    for (options.n_ensemble = 0; options.n_ensemble <= 1; options.n_ensemble++) {
        assert_ok(ctx, runner_open(ctx, &options, &self, &info));
        assert_non_null(strstr(info.description, ", weights in int8"));
        assert_true((strstr(info.description, "ensemble of 2") != NULL) == options.n_ensemble);
        runner_close(self);
    }
}

static void does_not_match(const char *sentence)
{
    assert_int_equal(open_ensemble_with(), RILL_ERR_FORMAT);
    assert_non_null(strstr(rill_error(ctx), sentence));
    assert_memory_equal(rill_error(ctx), folder, strlen(folder));
}

static void ensembles_share_their_symbols(void **state)
{
    (void)state;
    assert_int_equal(open_ensemble_with(), RILL_OK);
    set_key("generation_config.json", "eos_token_id", "3");
    does_not_match(": eos_token_id: expected 0, as in ");
    restore("generation_config.json");
    set_key("generation_config.json", "pad_token_id", "3");
    does_not_match(": pad_token_id: expected 50, as in ");
    restore("generation_config.json");
    set_key("vocab.json", ">>de<<", "7");
    json_t *root;
    char *path = join_path(folder, "vocab.json");
    const char *seventh = NULL, *name;
    json_t *number;
    root = json_load_file(path, 0, NULL);
    json_object_foreach(root, name, number) if (json_integer_value(number) == 7 && strcmp(name, ">>de<<"))
        seventh = name;
    assert_non_null(seventh);
    char sentence[200], subword[40];
    snprintf(subword, sizeof subword, "%s", seventh);
    set_key("vocab.json", subword, "2");
    snprintf(sentence, sizeof sentence, ": token 2 is \">>de<<\" there and \"%s\" here; ", subword);
    does_not_match(sentence);
    json_decref(root);
    free(path);
    remove_one("vocab.json");
    assert_int_equal(open_ensemble_with(), RILL_ERR_NOT_FOUND);
}

/* An input of an ensemble may be no longer than the shortest limit among its models. */
static void ensembles_read_what_all_can(void **state)
{
    (void)state;
    seq_runner *m;
    rill_domain_info info;
    char *first = data_path("mt/shared"), text[20 * 64 + 2], sentence[100];
    const char *const also[] = {folder};
    rill_open_options options = {
        .struct_size = sizeof options, .path = first, .threads = 1, .ensemble = also, .n_ensemble = 1};
    set_key("config.json", "max_position_embeddings", "20");
    assert_ok(ctx, runner_open(ctx, &options, &m, &info));
    assert_ok(ctx, rill_mt_domain.reserve(m, 1, 1));
    memset(text, 'a', sizeof text);
    for (size_t more = 0; more < 2; more++) {
        rill_input input = {.text = text, .length = 20 * 64 + more};
        snprintf(sentence, sizeof sentence,
                 more > 0 ? "expected at most 1280 bytes for a model of 20 positions, found 1281"
                          : "expected at most 19 tokens, found ");
        assert_ok(ctx, rill_mt_domain.encode(m, 1, &input));
        assert_int_equal(input.status, RILL_ERR_INPUT);
        assert_memory_equal(input.message, sentence, strlen(sentence));
    }
    runner_close(m);
    free(first);
}

/* --- tensors ------------------------------------------------------------------------------------------------------ */

static void missing_tensors(void **state)
{
    (void)state;
    static const char *const names[][3] = {
        {"model.encoder.layers.1.final_layer_norm.bias", "model.encoder.layers.1.final_layer_norm.bids", "[16]"},
        {"model.decoder.layers.0.encoder_attn.v_proj.weight", "model.decoder.layers.0.encoder_attn.w_proj.weight",
         "[16, 16]"},
        {"model.decoder.layers.1.fc2.bias", "model.decoder.layers.1.fc3.bias", "[16]"},
        {"model.shared.weight", "model.sharad.weight", "[51, 16]"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char sentence[300];
        rename_tensor(names[i][0], names[i][1]);
        snprintf(sentence, sizeof sentence, "%%s/model.safetensors: tensor \"%s\" is missing, expected with shape %s",
                 names[i][0], names[i][2]);
        refused(RILL_ERR_FORMAT, sentence);
        restore("model.safetensors");
    }
}

/* A shared embedding table may have any of its names. */
static void shared_tables_have_four_names(void **state)
{
    (void)state;
    static const char *const names[] = {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight",
                                        "lm_head.weight"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rename_tensor("model.shared.weight", names[i]);
        assert_int_equal(open_folder(folder, 0), RILL_OK);
        restore("model.safetensors");
    }
}

static void a_bias_may_be_a_vector(void **state)
{
    (void)state;
    edit_weights("\"shape\":[1,51]", "\"shape\":[51]", NULL, 0, NULL);
    assert_int_equal(open_folder(folder, 0), RILL_OK);
    edit_weights("\"shape\":[51]", "\"shape\":[51,1]", NULL, 0, NULL);
    refused(RILL_ERR_FORMAT,
            "%s/model.safetensors: tensor \"final_logits_bias\": expected shape [1, 51], found [51, 1]");
}

static void a_missing_bias_is_zero(void **state)
{
    (void)state;
    rename_tensor("final_logits_bias", "model.decoder.version");
    assert_int_equal(open_folder(folder, 0), RILL_OK);
}

/* A shape of a terabyte is refused before memory is allocated for it. */
static void sizes_beyond_the_file(void **state)
{
    (void)state;
    set_key("config.json", "d_model", "65536");
    set_key("config.json", "vocab_size", "4194304");
    set_key("config.json", "decoder_vocab_size", "4194304");
    refused(RILL_ERR_FORMAT, "%s/model.safetensors: tensor \"model.shared.weight\": expected shape [4194304, 65536], "
                             "found [51, 16]");
    restore("config.json");
    set_key("config.json", "decoder_ffn_dim", "65536");
    refused(RILL_ERR_FORMAT, "%s/model.safetensors: tensor \"model.decoder.layers.0.fc1.weight\": expected shape "
                             "[65536, 16], found [24, 16]");
    assert_true(rill_memory_peak(ctx) < 1 << 20);
}

static void damaged_weights(void **state)
{
    (void)state;
    size_t length;
    char *bytes = read_bytes(folder, "model.safetensors", &length);
    write_bytes(folder, "model.safetensors", bytes, length - 4);
    assert_int_equal(open_folder(folder, 0), RILL_ERR_FORMAT);
    memset(bytes + length - 4, 0xFF, 4); /* a NaN in the last tensor */
    write_bytes(folder, "model.safetensors", bytes, length);
    assert_int_equal(open_folder(folder, 0), RILL_ERR_FORMAT);
    free(bytes);
}

static void fsmt_directories(void **state)
{
    (void)state;
    copy_model("mt/fsmt-tied", fsmt, sizeof fsmt / sizeof *fsmt);
    assert_int_equal(open_folder(folder, 1), RILL_OK);
    assert_int_equal(open_folder(folder, 0), RILL_OK);
    remove_one("vocab-tgt.json");
    assert_int_equal(open_folder(folder, 1), RILL_ERR_NOT_FOUND);
    assert_error(ctx, "cannot open %s/vocab-tgt.json: No such file or directory", folder);
    copy_model("mt/fsmt-tied", fsmt, sizeof fsmt / sizeof *fsmt);
    set_key("config.json", "tgt_vocab_size", "46");
    assert_int_equal(open_folder(folder, 1), RILL_ERR_FORMAT);
    assert_error(
        ctx,
        "%s/config.json: tgt_vocab_size: expected src_vocab_size = 47, since tie_word_embeddings is not false; "
        "found 46",
        folder);
}

static size_t loaded_bytes; /* memory in use when first_step_best() has opened the model */

/* Return the best first action for the text, and its log-probability. */
static float first_step_best(const char *text, int32_t *action)
{
    seq_runner *self = NULL;
    rill_domain_info info;
    rill_open_options options = {.struct_size = sizeof options, .path = folder, .threads = 1, .tokenized = 1};
    rill_input input = {.text = text, .length = strlen(text), .slot = 0};
    int32_t node = 0, parent = -1, start = -1, slot = 0, depth = 0, count = 0;
    float logp = 1.0f;
    uint8_t ends;
    rill_rows rows = {1, 0, &node, &parent, &parent, &start, &slot, &depth, 0};
    rill_score_result out = {.stride = 1, .count = &count, .action = action, .logp = &logp, .ends = &ends};
    rill_score_request request = {.max_choices = 1};
    assert_int_equal(runner_open(ctx, &options, &self, &info), RILL_OK);
    loaded_bytes = rill_memory_used(ctx);
    assert_int_equal(domain->reserve(self, 1, 1), RILL_OK);
    assert_int_equal(domain->encode(self, 1, &input), RILL_OK);
    assert_int_equal(domain->step(self, &rows), RILL_OK);
    assert_int_equal(domain->score(self, &rows, &request, &out), RILL_OK);
    assert_int_equal(count, 1);
    runner_close(self);
    return logp;
}

/* An embedding table that is also the output layer is in memory once, and gives the same numbers as two equal tables. */
static void tied_tables_are_kept_once(void **state)
{
    (void)state;
    float table[51 * 16];
    int32_t action;
    char *path = join_path(folder, "model.safetensors");
    rill_tensor_file *tensors;
    const float tied = first_step_best("a b c", &action);
    const size_t once = loaded_bytes;
    assert_ok(ctx, rill_tensor_file_open(&tensors, ctx, path));
    assert_ok(ctx,
              rill_tensor_file_read(tensors, "model.shared.weight", RILL_TENSOR_F32, 2, (int64_t[]){51, 16}, table));
    rill_tensor_file_close(tensors);
    add_tensor("lm_head.weight", "[51,16]", table, 51 * 16);
    set_key("config.json", "tie_word_embeddings", "false");
    const float separate = first_step_best("a b c", &action);
    assert_memory_equal(&tied, &separate, sizeof tied);
    assert_true(loaded_bytes >= once + sizeof table);
    free(path);
}

/* FSMT's positions start from config.json's padding id, whatever generation_config.json says. */
static void positions_are_the_configurations(void **state)
{
    (void)state;
    int32_t action[2];
    copy_model("mt/fsmt-tied", fsmt, sizeof fsmt / sizeof *fsmt);
    float expected = first_step_best("a</w> book</w>", &action[0]);
    set_key("generation_config.json", "pad_token_id", action[0] == 40 ? "41" : "40");
    float found = first_step_best("a</w> book</w>", &action[1]);
    assert_int_equal(action[0], action[1]);
    assert_memory_equal(&expected, &found, sizeof found);
}

/* Store tables of positions with frequencies down to 1 / slowest, sines in the first half and cosines in the second. */
static void store_positions(double slowest)
{
    enum { ROWS = 40, WIDTH = 16 };
    float table[ROWS * WIDTH];
    for (int t = 0; t < ROWS; t++) {
        for (int j = 0; j < WIDTH / 2; j++) {
            const double angle = t * exp(-j * log(10000.0) / slowest);
            table[t * WIDTH + j] = (float)sin(angle);
            table[t * WIDTH + WIDTH / 2 + j] = (float)cos(angle);
        }
    }
    add_tensor("model.encoder.embed_positions.weight", "[40,16]", table, ROWS * WIDTH);
    add_tensor("model.decoder.embed_positions.weight", "[40,16]", table, ROWS * WIDTH);
}

static const char LONG[] = "a b c d e f g h i k l m n o p r s t u w a b c d e f g h i k l m n";

/* Computed positions equal stored ones. The frequency exponents of "marian" are divided by D / 2 - 1, those of "hf" by
 * D / 2. */
static void positions_have_two_forms(void **state)
{
    (void)state;
    int32_t action;
    const float hf = first_step_best(LONG, &action);
    set_key("config.json", "rill", "{\"positions\": \"marian\"}");
    const float marian = first_step_best(LONG, &action);
    assert_true(fabsf(hf - marian) > 1e-3f);
    store_positions(7.0);
    const float stored_marian = first_step_best(LONG, &action);
    assert_true(fabsf(stored_marian - marian) < 1e-5f);
    restore("model.safetensors");
    store_positions(8.0); /* a stored table takes precedence over the key */
    const float stored_hf = first_step_best(LONG, &action);
    assert_true(fabsf(stored_hf - hf) < 1e-5f);
}

/* Only the positions in use take memory: a million rows of 16 would take 64 MB, but only the first 34 are used. */
static void positions_cost_what_is_used(void **state)
{
    (void)state;
    int32_t action;
    const float expected = first_step_best(LONG, &action);
    set_key("config.json", "max_position_embeddings", "1048576");
    const float found = first_step_best(LONG, &action);
    assert_memory_equal(&expected, &found, sizeof found);
    assert_true(rill_memory_peak(ctx) < 1 << 20);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Open, encode two inputs, make and score a node of each; with an ensemble of two if `twice`. */
static rill_status use_model(int twice)
{
    seq_runner *self = NULL;
    rill_domain_info info;
    rill_open_options options = {.struct_size = sizeof options, .path = folder, .threads = 2};
    const char *const also[] = {folder};
    options.ensemble = also, options.n_ensemble = twice;
    rill_status status = runner_open(ctx, &options, &self, &info);
    if (status != RILL_OK) return status;
    rill_input inputs[2] = {{.text = "a book", .length = 6, .slot = 0},
                            {.text = ">>de<< ein", .length = 10, .slot = 1}};
    int32_t node[2] = {0, 1}, parent[2] = {-1, -1}, action[2] = {-1, -1}, slot[2] = {0, 1}, depth[2] = {0, 0};
    int32_t count[2], chosen[6];
    float logp[6];
    uint8_t ends[2];
    rill_rows rows = {2, 0, node, parent, parent, action, slot, depth, 0};
    rill_score_result out = {.stride = 3, .count = count, .action = chosen, .logp = logp, .ends = ends};
    rill_text text = {.ctx = ctx};
    if (status == RILL_OK) status = domain->reserve(self, 2, 2);
    if (status == RILL_OK) status = domain->encode(self, 2, inputs);
    if (status == RILL_OK) status = domain->step(self, &rows);
    if (status == RILL_OK) status = domain->score(self, &rows, &(rill_score_request){.max_choices = 3}, &out);
    if (status == RILL_OK) status = domain->finalize(self, &(rill_hypothesis){.length = 3, .action = chosen}, &text);
    rill_text_clear(&text);
    runner_close(self);
    return status;
}

static void refuse_each_allocation(void)
{
    for (int twice = 0; twice <= 1; twice++) {
        const long old_calls = memory.calls;
        assert_int_equal(use_model(twice), RILL_OK);
        const long calls = memory.calls - old_calls;
        for (long allowed = 0; allowed < calls; allowed++) {
            memory.allowed = allowed;
            assert_int_equal(use_model(twice), RILL_ERR_MEMORY);
            assert_int_equal(rill_memory_used(ctx), 0);
        }
        memory.allowed = -1;
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    refuse_each_allocation();
    copy_model("mt/fsmt-tied", fsmt, sizeof fsmt / sizeof *fsmt);
    refuse_each_allocation();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(complete_model_opens),
        CASE(no_path),
        CASE(missing_files),
        CASE(weights_in_a_pickle),
        CASE(subwords_need_no_sentencepiece),
        CASE(damaged_sentencepiece),
        CASE(vocabularies_that_do_not_fit),
        CASE(empty_token_is_no_language_tag),
        CASE(line_feeds_in_subwords_do_not_end_a_line),
        CASE(keys_that_are_refused),
        CASE(generation_keys_that_are_refused),
        CASE(special_tokens_are_required),
        CASE(inputs_need_an_end_symbol),
        CASE(ensembles_share_their_symbols),
        CASE(ensembles_read_what_all_can),
        CASE(ensembles_report_weights),
        CASE(absent_keys_have_their_defaults),
        CASE(missing_tensors),
        CASE(shared_tables_have_four_names),
        CASE(a_bias_may_be_a_vector),
        CASE(a_missing_bias_is_zero),
        CASE(sizes_beyond_the_file),
        CASE(damaged_weights),
        CASE(fsmt_directories),
        CASE(positions_are_the_configurations),
        CASE(tied_tables_are_kept_once),
        CASE(positions_have_two_forms),
        CASE(positions_cost_what_is_used),
        CASE(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("domains_mt_files", tests, NULL, NULL);
}
