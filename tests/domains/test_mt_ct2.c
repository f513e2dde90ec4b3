/* domains/mt: CTranslate2 directories with defects or deviations, and the message for each; all forms of vocabularies;
 * special tokens of inputs; texts; and failed allocations. test_mt_presets.c decodes with such directories. */
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
#include "rill/folder.h"
#include "rill/plugin.h"

static const rill_domain *const domain = &rill_mt_domain;

#include "folder_fixture.h"

static const char *const files[] = {"model.bin", "config.json", "shared_vocabulary.json"};

static void copy_model(const char *name, const char *const *names, size_t count)
{
    char *from = data_path(name);
    for (size_t i = 0; i < count; i++) copy_file(from, folder, names[i]);
    free(from);
}

static void fill_folder(void)
{
    copy_model("mt/ct2-marian-int8", files, 3);
}

/* --- defects ------------------------------------------------------------------------------------------------------ */

/* Replace all occurrences of some bytes in model.bin. */
static void replace(const void *from, size_t n, const void *to, size_t m)
{
    size_t length, out = 0;
    char *bytes = read_bytes(folder, "model.bin", &length), *edited = malloc(2 * length + m);
    int found = 0;
    assert_non_null(edited);
    for (size_t offset = 0; offset < length;) {
        const int matches = length - offset >= n && memcmp(bytes + offset, from, n) == 0;
        memcpy(edited + out, matches ? to : bytes + offset, matches ? m : 1);
        out += matches ? m : 1;
        offset += matches ? n : 1;
        found += matches;
    }
    assert_true(found > 0);
    write_bytes(folder, "model.bin", edited, out);
    free(bytes), free(edited);
}

/* Write the name of a scalar variable and the header before its value; return their length. */
static size_t head_of(const char *name, char type, char size, char *out)
{
    const size_t n = strlen(name) + 1;
    memcpy(out, name, n);
    memcpy(out + n, (const char[]){0, type, size, 0, 0, 0}, 6);
    return n + 6;
}

/* Change a scalar of this size from one integer to another. */
static void set_number(const char *name, char size, int from, int to)
{
    char old[200], new[200];
    const size_t n = head_of(name, size == 1 ? 1 : 2, size, old);
    memcpy(new, old, n);
    for (int i = 0; i < size; i++) old[n + (size_t)i] = (char)(from >> 8 * i), new[n + (size_t)i] = (char)(to >> 8 * i);
    replace(old, n + (size_t)size, new, n + (size_t)size);
}

static void set_float(const char *name, float from, float to)
{
    char old[200], new[200];
    const size_t n = head_of(name, 0, 4, old);
    memcpy(new, old, n);
    memcpy(old + n, &from, 4), memcpy(new + n, &to, 4);
    replace(old, n + 4, new, n + 4);
}

/* Change a scalar of this size from an integer to a number in F32. */
static void set_fraction(const char *name, char size, int from, float to)
{
    char old[200], new[200];
    const size_t n = head_of(name, size == 1 ? 1 : 2, size, old), m = head_of(name, 0, 4, new);
    for (int i = 0; i < size; i++) old[n + (size_t)i] = (char)(from >> 8 * i);
    memcpy(new + m, &to, 4);
    replace(old, n + (size_t)size, new, m + 4);
}

/* Set a key of config.json to a JSON value. */
static void set_key(const char *key, const char *value)
{
    char *path = join_path(folder, "config.json");
    json_t *root = json_load_file(path, 0, NULL);
    assert_non_null(root);
    json_object_set_new(root, key, json_loads(value, JSON_DECODE_ANY, NULL));
    assert_int_equal(json_dump_file(root, path, 0), 0);
    json_decref(root);
    free(path);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void missing_files(void **state)
{
    (void)state;
    static const char *const names[] = {"shared_vocabulary.json", "config.json"};
    each_missing_file_is_reported(names, sizeof names / sizeof *names);
}

/* The file model.bin identifies the format, unless config.json names another format. */
static void folder_kind_is_detected(void **state)
{
    (void)state;
    rill_folder description;
    failing_allocator other;
    rill_context *own = failing_allocator_context(&other);
    assert_ok(own, rill_register_domain(own, domain));
    assert_ok(own, rill_folder_read(&description, own, folder, NULL));
    assert_string_equal(description.domain, "mt");
    rill_folder_clear(&description);
    set_key("model_type", "\"of no domain\"");
    assert_ok(own, rill_folder_read(&description, own, folder, NULL));
    assert_string_equal(description.domain, "");
    assert_string_equal(description.type, "of no domain");
    rill_folder_clear(&description);
    remove_one("config.json"); /* older directories have no config.json: model.bin states the version */
    assert_ok(own, rill_folder_read(&description, own, folder, NULL));
    assert_string_equal(description.domain, "mt");
    rill_folder_clear(&description);
    rill_context_destroy(own);
    assert_int_equal(other.out, 0);
}

static void files_that_are_cut_off(void **state)
{
    (void)state;
    size_t length;
    char *bytes = read_bytes(folder, "model.bin", &length);
    for (size_t n = 0; n < length; n += n < 400 || n + 400 > length ? 7 : 401) {
        write_bytes(folder, "model.bin", bytes, n);
        assert_int_equal(open_folder(folder, 1), RILL_ERR_FORMAT);
        assert_non_null(strstr(rill_error(ctx), "/model.bin: "));
    }
    write_bytes(folder, "model.bin", bytes, length);
    assert_int_equal(open_folder(folder, 1), RILL_OK);
    write_string(folder, "model.bin", "\2\0\0\0\0\0\0\0{}");
    refused(RILL_ERR_FORMAT, "%s/model.bin: expected 8 bytes of header length, the file has 1 bytes");
    write_bytes(folder, "model.bin", "\2\0\0\0\0\0\0\0{}", 10);
    refused(RILL_ERR_FORMAT, "%s/model.bin: expected a CTranslate2 model");
    free(bytes);
}

/* --- other models ------------------------------------------------------------------------------------------------- */

static void other_specifications(void **state)
{
    (void)state;
    static const char ours[] = "\20\0TransformerSpec", whisper[] = "\14\0WhisperSpec",
                      alone[] = "\27\0TransformerDecoderSpec";
    replace(ours, sizeof ours, whisper, sizeof whisper);
    refused(RILL_ERR_FORMAT, "%s/model.bin: CTranslate2's WhisperSpec is not supported: only "
                             "TransformerSpec, an encoder-decoder transformer");
    replace(whisper, sizeof whisper, alone, sizeof alone);
    refused(RILL_ERR_FORMAT, "%s/model.bin: CTranslate2's TransformerDecoderSpec is not supported: only "
                             "TransformerSpec, an encoder-decoder transformer");
    replace(alone, sizeof alone, ours, sizeof ours);
    assert_int_equal(open_folder(folder, 1), RILL_OK);
    replace("Spec\0\7", 6, "Spec\0\10", 6);
    refused(RILL_ERR_FORMAT, "%s/model.bin: TransformerSpec: expected revision 1 to 7, found 8");
}

static void unsupported_config_values(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        char size;
        int from, to;
        const char *sentence;
    } bad[] = {
        {"encoder/pre_norm", 1, 0, 1, "%s/model.bin: the norms: encoder and decoder differ, which is not supported"},
        {"encoder/activation", 1, 2, 0, "%s/model.bin: activation: encoder and decoder differ, which is not supported"},
        {"decoder/activation", 1, 2, 5,
         "%s/model.bin: tensor \"decoder/activation\": expected a number from 0 to 4, found 5"},
        {"decoder/alibi", 1, 0, 1, "%s/model.bin: tensor \"decoder/alibi\": only 0 is supported, found 1"},
        {"encoder/multi_query_attention", 1, 0, 1,
         "%s/model.bin: tensor \"encoder/multi_query_attention\": only 0 is supported, found 1"},
        {"decoder/num_heads", 2, 4, 3, "%s/model.bin: tensor \"decoder/num_heads\": expected a divisor of 16, found 3"},
        {"decoder/num_heads", 2, 4, 0,
         "%s/model.bin: tensor \"decoder/num_heads\": expected a number from 1 to 65536, found 0"},
        {"decoder/start_from_zero_embedding", 1, 1, 2,
         "%s/model.bin: tensor \"decoder/start_from_zero_embedding\": expected a number from 0 to 1, found 2"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        set_number(bad[i].name, bad[i].size, bad[i].from, bad[i].to);
        refused(RILL_ERR_FORMAT, bad[i].sentence);
        copy_model("mt/ct2-marian-int8", files, 1);
    }
    set_float("decoder/scale_embeddings", 4, 3);
    refused(RILL_ERR_FORMAT, "%s/model.bin: scale_embeddings: encoder and decoder differ, which is not supported");
}

/* Fractional numbers of heads, layers and the like are refused. */
static void counts_are_whole(void **state)
{
    static const struct {
        const char *name;
        char size;
        int from;
        float to;
    } bad[] = {{"decoder/alignment_heads", 2, 1, 0.5f},
               {"decoder/alignment_layer", 2, -1, -0.5f},
               {"encoder/num_heads", 2, 4, 3.5f},
               {"decoder/activation", 1, 2, 1.5f}};
    char sentence[200];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        set_fraction(bad[i].name, bad[i].size, bad[i].from, bad[i].to);
        snprintf(sentence, sizeof sentence, "%%s/model.bin: tensor \"%s\": expected a whole number, found %g",
                 bad[i].name, (double)bad[i].to);
        refused(RILL_ERR_FORMAT, sentence);
        copy_model("mt/ct2-marian-int8", files, 1);
    }
}

/* The layer with the alignments must be one that the model has. */
static void alignment_layers_are_numbered(void **state)
{
    char sentence[200];
    (void)state;
    for (int layer = -2; layer <= 1; layer++) {
        set_number("decoder/alignment_layer", 2, -1, layer);
        assert_int_equal(open_folder(folder, 1), RILL_OK);
        copy_model("mt/ct2-marian-int8", files, 1);
    }
    for (int layer = -3; layer <= 2; layer += 5) {
        set_number("decoder/alignment_layer", 2, -1, layer);
        snprintf(sentence, sizeof sentence,
                 "%%s/model.bin: tensor \"decoder/alignment_layer\": expected a number from -2 to 1, found %d", layer);
        refused(RILL_ERR_FORMAT, sentence);
        copy_model("mt/ct2-marian-int8", files, 1);
    }
}

static void t5_config_values(void **state)
{
    (void)state;
    copy_model("mt/ct2-t5", files, 3);
    assert_int_equal(open_folder(folder, 1), RILL_OK);
    set_float("decoder/scale_outputs", 0.25f, 0.5f);
    refused(RILL_ERR_FORMAT,
            "%s/model.bin: tensor \"decoder/scale_outputs\": expected one over the root of the width after "
            "a last norm, found 0.5");
    copy_model("mt/ct2-t5", files, 1);
    set_float("encoder/layer_1/self_attention/queries_scale", 1, 0.5f);
    refused(RILL_ERR_FORMAT,
            "%s/model.bin: tensor \"encoder/layer_1/self_attention/queries_scale\": expected 1, as in the "
            "first layer");
}

/* A tensor is renamed to one of the same length: the name is missing, and an unknown one is present. */
static void tensors_without_a_place(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *sentence;
    } bad[] = {
        {"encoder/layer_1/ffn/linear_1/weight", "encoder/layer_1/ffn/linear_9/weight",
         "%s/model.bin: tensor \"encoder/layer_1/ffn/linear_1/weight\" is missing"},
        {"decoder/layer_0/attention/layer_norm/beta", "decoder/layer_0/attention/layer_norm/bete",
         "%s/model.bin: tensor \"decoder/layer_0/attention/layer_norm/beta\" is missing"},
        {"decoder/embeddings/weight", "decoder/embeddingz/weight",
         "%s/model.bin: tensor \"decoder/embeddings/weight\" is missing"},
        {"encoder/layer_0/ffn/linear_0/bias", "encoder/layer_0/ffn/linear_0/bios",
         "%s/model.bin: the model that config.json describes has no tensor \"encoder/layer_0/ffn/linear_0/bios\""},
        {"decoder/alignment_heads", "decoder/alignment_hands",
         "%s/model.bin: tensor \"decoder/alignment_hands\": this value is not supported"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        replace(bad[i].from, strlen(bad[i].from) + 1, bad[i].to, strlen(bad[i].to) + 1);
        refused(RILL_ERR_FORMAT, bad[i].sentence);
        copy_model("mt/ct2-marian-int8", files, 1);
    }
}

/* Tensors whose shapes match their number of bytes, but not the other tensors, are refused. */
static void shapes_that_do_not_fit(void **state)
{
    (void)state;
    static const char fused[] = "decoder/layer_1/self_attention/linear_0/weight",
                      split[] = "decoder/layer_1/attention/linear_1/weight";
    char old[100], new[100];
    const size_t n = sizeof fused;
    memcpy(old, fused, n), memcpy(new, fused, n);
    memcpy(old + n, "\2\60\0\0\0\20\0\0\0", 9), memcpy(new + n, "\2\20\0\0\0\60\0\0\0", 9);
    replace(old, n + 9, new, n + 9);
    char scale[100], fewer[100];
    const int length = snprintf(scale, sizeof scale, "%s_scale", fused) + 1;
    snprintf(fewer, sizeof fewer, "%s_none!", fused);
    replace(scale, (size_t)length, fewer, (size_t)length);
    refused(RILL_ERR_FORMAT,
            "%s/model.bin: tensor \"decoder/layer_1/self_attention/linear_0/weight\": expected a multiple of "
            "3 rows");
    (void)split;
}

/* --- config.json and vocabularies --------------------------------------------------------------------------------- */

static void symbols_that_are_not_known(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *sentence;
    } bad[] = {
        {"unk_token", "\"<oov>\"", "%s/config.json: unk_token: expected \"<unk>\", found \"<oov>\""},
        {"eos_token", "\"<end>\"", "%s/config.json: eos_token: \"<end>\" is not in the vocabulary"},
        {"eos_token", "null", "%s/config.json: eos_token: expected a text, found nothing"},
        {"add_source_bos", "1", "%s/config.json: add_source_bos: expected true or false, found 1"},
        {"quantization_type", "1", "%s/config.json: quantization_type: weights of less than 8 bits are not supported"},
        {"layer_norm_epsilon", "-1", "%s/config.json: layer_norm_epsilon: expected a number from 0 to 1, found -1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        set_key(bad[i].key, bad[i].value);
        refused(RILL_ERR_FORMAT, bad[i].sentence);
        copy_model("mt/ct2-marian-int8", files, 3);
    }
    /* allowed here: the decoder's first input is a zero vector, whatever the token is */
    set_key("decoder_start_token", "null");
    assert_int_equal(open_folder(folder, 1), RILL_OK);
    copy_model("mt/ct2-mbart", files, 3);
    set_key("decoder_start_token", "null");
    refused(RILL_ERR_FORMAT, "%s/config.json: decoder_start_token: expected a token: for a model whose "
                             "outputs start with a language token, write that one");
}

/* If the first input of the decoder is a zero vector, the embeddings have no row for an additional token. */
static void a_vocabulary_without_unknown(void **state)
{
    (void)state;
    size_t length;
    char *text = read_bytes(folder, "shared_vocabulary.json", &length), *place = strstr(text, "<unk>");
    assert_non_null(place);
    memcpy(place, "<unq>", 5);
    write_bytes(folder, "shared_vocabulary.json", text, length);
    refused(RILL_ERR_FORMAT, "%s/shared_vocabulary.json: expected a token <unk>");
    free(text);
}

static void vocabularies_of_lines(void **state)
{
    (void)state;
    char *path = join_path(folder, "shared_vocabulary.json");
    json_t *list = json_load_file(path, 0, NULL), *token;
    char text[2000] = "";
    size_t i;
    json_array_foreach(list, i, token) sprintf(text + strlen(text), "%s\n", json_string_value(token));
    assert_int_equal(unlink(path), 0);
    write_string(folder, "shared_vocabulary.txt", text);
    assert_int_equal(open_folder(folder, 1), RILL_OK);
    write_string(folder, "shared_vocabulary.txt", "<unk>\n</s>\na\na\n");
    refused(RILL_ERR_FORMAT, "%s/shared_vocabulary.txt:4: \"a\" is also in line 3");
    remove_one("shared_vocabulary.txt");
    write_string(folder, "source_vocabulary.txt", text);
    refused(RILL_ERR_NOT_FOUND, "cannot open %s/target_vocabulary.json: No such file or directory");
    write_string(folder, "target_vocabulary.txt", text);
    assert_int_equal(open_folder(folder, 1), RILL_OK);
    json_decref(list), free(path);
}

/* --- inputs ------------------------------------------------------------------------------------------------------- */

/* Number of tokens of an input, special ones included; -1: it failed, -2: it is empty. */
static int input_size(const char *text, int tokenized)
{
    rill_domain_info info;
    seq_runner *r;
    const rill_open_options options = {
        .struct_size = sizeof options, .path = folder, .threads = 1, .tokenized = tokenized};
    assert_ok(ctx, runner_open(ctx, &options, &r, &info));
    assert_ok(ctx, rill_mt_domain.reserve(r, 4, 1));
    rill_input input = make_input(text, 0);
    assert_ok(ctx, rill_mt_domain.encode(r, 1, &input));
    const int size = input.status == RILL_OK ? (int)input.size : input.status == RILL_EMPTY ? -2 : -1;
    runner_close(r);
    return size;
}

/* Tokenized input is used unchanged, with the special tokens that the directory asks for; text input may not contain
 * special tokens. */
static void marker_tokens_follow_the_config(void **state)
{
    (void)state;
    static const char *const two[] = {"model.bin", "config.json", "source_vocabulary.json", "target_vocabulary.json"};
    assert_int_equal(input_size("a b </s>", 1), 3);
    assert_int_equal(input_size("a b", 1), 2);
    assert_int_equal(input_size(" ", 1), -2);
    set_key("add_source_eos", "true");
    assert_int_equal(input_size("a b", 1), 3);
    assert_int_equal(input_size("a b", 0), 3); /* read as tokens too, since there is no tokenizer */
    remove_one("shared_vocabulary.json");
    copy_model("mt/ct2-opennmt", two, 4);
    assert_int_equal(input_size("q1 q2", 1), 4);
    assert_int_equal(input_size(" ", 1), -2);
}

/* An input may have 40 positions, from which special tokens are subtracted. */
static void input_length_is_limited(void **state)
{
    (void)state;
    char text[200] = "";
    for (int i = 0; i < 40; i++) strcat(text, "a ");
    assert_int_equal(input_size(text, 1), 40);
    set_key("add_source_eos", "true");
    assert_int_equal(input_size(text, 1), -1);
    set_key("bos_token", "\"a\"");
    set_key("add_source_bos", "true");
    text[76] = '\0';
    assert_int_equal(input_size(text, 1), 40);
    text[76] = 'a';
    assert_int_equal(input_size(text, 1), -1);
}

static size_t put_positions(char *out, const char *name, int rows, const char *values)
{
    const size_t n = strlen(name) + 1, size = (size_t)rows * 16 * 4;
    memcpy(out, (const char[]){(char)n, 0}, 2);
    memcpy(out + 2, name, n);
    memcpy(out + 2 + n, (const char[]){2, (char)rows, 0, 0, 0, 16, 0, 0, 0, 0}, 10);
    memcpy(out + 12 + n, &(uint32_t){(uint32_t)size}, 4);
    memcpy(out + 16 + n, values, size);
    return 16 + n + size;
}

/* The shorter table limits the number of positions. In these files the encoder and the decoder share a table of 40. */
static void tables_of_unequal_length(void **state)
{
    static const char encoder[] = "encoder/position_encodings/encodings",
                      decoder[] = "decoder/position_encodings/encodings";
    enum { TENSORS = 4 + 2 + 16 + 4 };
    char text[200] = "";
    (void)state;
    for (int i = 0; i < 31; i++) strcat(text, "a ");
    for (int i = 0; i < 2; i++) {
        fill_folder();
        /* give the output layer the name of another variable */
        replace("\3\0\0\0\32\0decoder/projection/weight", 31, "\2\0\0\0\32\0decoder/projection/weight", 31);
        size_t length, offset = 0, out;
        char *bytes = read_bytes(folder, "model.bin", &length), *edited = malloc(length + 4000);
        assert_non_null(edited);
        while (memcmp(bytes + offset, decoder, sizeof decoder) != 0) offset++;
        const char *values = bytes + offset + sizeof decoder + 14;
        length -= 2 + sizeof encoder + 2 + sizeof decoder; /* the last two names, of the position tables */
        memcpy(edited, bytes, out = offset - 2);
        out += put_positions(edited + out, decoder, i == 0 ? 30 : 40, values);
        out += put_positions(edited + out, encoder, i == 0 ? 40 : 30, values);
        memcpy(edited + out, values + 40 * 64, (size_t)(bytes + length - values) - 40 * 64);
        edited[TENSORS]++;
        write_bytes(folder, "model.bin", edited, out + (size_t)(bytes + length - values) - 40 * 64);
        free(bytes), free(edited);
        assert_int_equal(input_size(text, 1), -1);
        text[60] = '\0';
        assert_int_equal(input_size(text, 1), 30);
        text[60] = 'a';
    }
}

/* An output may begin with any language token; inputs contain their own language as a token. */
static void languages_are_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *option, *value, *sentence;
    } bad[] = {
        {"target-lang", "<2xx>", "target-lang: \"<2xx>\" is not in the vocabulary of %s"},
        {"source-lang", "a", "source-lang: the model is not multilingual: it has no language tokens"},
        {"language-columns", "", "language-columns: the model is not multilingual: it has no language tokens"},
    };
    rill_domain_info info;
    void *self;
    rill_pair value = {"target-lang", "a"};
    const rill_open_options options = {
        .struct_size = sizeof options, .path = folder, .threads = 1, .tokenized = 1, .n_values = 1, .values = &value};
    assert_ok(ctx, domain->open(domain, ctx, &options, &self, &info));
    domain->close(self);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        value = (rill_pair){bad[i].option, bad[i].value};
        assert_int_equal(domain->open(domain, ctx, &options, &self, &info), RILL_ERR_OPTION);
        assert_error(ctx, bad[i].sentence, folder);
    }
}

/* Texts need the SentencePiece models that --copy_files adds. They give the tokens of transformers' directory, and the
 * end token. */
static void texts_need_tokenizer_files(void **state)
{
    (void)state;
    static const char *const cutters[] = {"source.spm", "target.spm"};
    copy_model("mt/shared", cutters, 2);
    assert_int_equal(input_size("\xE2\x96\x81man", 1), 1);
    const int subwords = input_size("ein mann spielt", 0);
    assert_true(subwords > 3 && subwords < 20);
    assert_int_equal(input_size("", 0), -2);
}

/* The tokenizer must give its tokens the model's ids. If two are swapped, the message names the first one. */
static void subword_ids_equal_the_tokenizers(void **state)
{
    (void)state;
    static const char *const nllb[] = {"config.json",
                                       "model.bin",
                                       "sentencepiece.bpe.model",
                                       "shared_vocabulary.json",
                                       "special_tokens_map.json",
                                       "tokenizer_config.json"};
    copy_model("mt/ct2-nllb", nllb, sizeof nllb / sizeof *nllb);
    char *path = join_path(folder, "shared_vocabulary.json");
    json_t *subwords = json_load_file(path, 0, NULL);
    rill_domain_info info;
    void *self;
    const rill_open_options options = {.struct_size = sizeof options, .path = folder, .threads = 1};
    assert_ok(ctx, domain->open(domain, ctx, &options, &self, &info));
    domain->close(self);
    char wanted[200];
    json_t *low = json_incref(json_array_get(subwords, 40));
    snprintf(wanted, sizeof wanted,
             "%%s/shared_vocabulary.json: token 40 is \"%s\", but \"%s\" in the tokenizer in the same folder",
             json_string_value(json_array_get(subwords, 41)), json_string_value(low));
    json_array_set(subwords, 40, json_array_get(subwords, 41));
    json_array_set_new(subwords, 41, low);
    assert_int_equal(json_dump_file(subwords, path, 0), 0);
    assert_int_equal(domain->open(domain, ctx, &options, &self, &info), RILL_ERR_FORMAT);
    assert_error(ctx, wanted, folder);
    json_decref(subwords);
    free(path);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static rill_status open_it(rill_context *other, const char *path)
{
    rill_domain_info info;
    seq_runner *r;
    const rill_open_options options = {.struct_size = sizeof options, .path = path, .threads = 1, .tokenized = 1};
    const rill_status status = runner_open(other, &options, &r, &info);
    if (status == RILL_OK) runner_close(r);
    return status;
}

static void every_refusal_is_survived(void **state)
{
    (void)state;
    assert_true(refuse_each_call(&memory, ctx, open_it, folder) > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(complete_model_opens),
        CASE(missing_files),
        CASE(folder_kind_is_detected),
        CASE(files_that_are_cut_off),
        CASE(other_specifications),
        CASE(unsupported_config_values),
        CASE(t5_config_values),
        CASE(counts_are_whole),
        CASE(alignment_layers_are_numbered),
        CASE(tensors_without_a_place),
        CASE(shapes_that_do_not_fit),
        CASE(symbols_that_are_not_known),
        CASE(a_vocabulary_without_unknown),
        CASE(vocabularies_of_lines),
        CASE(marker_tokens_follow_the_config),
        CASE(input_length_is_limited),
        CASE(tables_of_unequal_length),
        CASE(languages_are_tokens),
        CASE(texts_need_tokenizer_files),
        CASE(subword_ids_equal_the_tokenizers),
        CASE(every_refusal_is_survived),
    };
    return cmocka_run_group_tests_name("domains_mt_ct2", tests, NULL, NULL);
}
