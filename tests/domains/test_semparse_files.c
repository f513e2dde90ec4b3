/* domains/semparse: damaged model directories, with the message for each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "helpers.h"
#include "random_parser.h"
#include "semparse.h"

static const rill_domain *const domain = &rill_semparse_domain;

#include "folder_fixture.h"

static void fill_folder(void)
{
    model_write(folder, &SMALL_MODEL);
}

static void tensors_without_a_place(void **state)
{
    (void)state;
    tensor_without_a_place(SMALL_MODEL, model_write);
}

static void missing_files(void **state)
{
    (void)state;
    static const char *const names[] = {"model.safetensors", "target.vocab", "source.vocab", "config.json"};
    each_missing_file_is_reported(names, sizeof names / sizeof *names);
}

static void missing_tensors(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"encoder.embedding.weight",
         "%s/model.safetensors: tensor \"encoder.embedding.weight\" is missing, expected with shape [12, 5]"},
        {"encoder.lstm.weight_hh",
         "%s/model.safetensors: tensor \"encoder.lstm.weight_hh\" is missing, expected with shape [24, 6]"},
        {"decoder.lstm.bias",
         "%s/model.safetensors: tensor \"decoder.lstm.bias\" is missing, expected with shape [24]"},
        {"attention.weight",
         "%s/model.safetensors: tensor \"attention.weight\" is missing, expected with shape [6, 12]"},
        {"attention.bias", "%s/model.safetensors: tensor \"attention.bias\" is missing, expected with shape [6]"},
        {"output.weight", "%s/model.safetensors: tensor \"output.weight\" is missing, expected with shape [9, 6]"},
        {"output.bias", "%s/model.safetensors: tensor \"output.bias\" is missing, expected with shape [9]"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        model_spec spec = SMALL_MODEL;
        spec.missing = names[i][0];
        model_write(folder, &spec);
        refused(RILL_ERR_FORMAT, names[i][1]);
    }
}

static void wrong_shapes(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"encoder.lstm.weight_ih",
         "%s/model.safetensors: tensor \"encoder.lstm.weight_ih\": expected shape [24, 5], found [5, 24]"},
        {"decoder.lstm.bias", "%s/model.safetensors: tensor \"decoder.lstm.bias\": expected shape [24], found [24, 1]"},
        {"attention.weight",
         "%s/model.safetensors: tensor \"attention.weight\": expected shape [6, 12], found [12, 6]"},
        {"output.weight", "%s/model.safetensors: tensor \"output.weight\": expected shape [9, 6], found [6, 9]"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        model_spec spec = SMALL_MODEL;
        spec.reshaped = names[i][0];
        model_write(folder, &spec);
        refused(RILL_ERR_FORMAT, names[i][1]);
    }
}

static void wrong_dtype(void **state)
{
    (void)state;
    model_spec spec = SMALL_MODEL;
    spec.retyped = "output.weight";
    model_write(folder, &spec);
    refused(RILL_ERR_FORMAT,
            "%s/model.safetensors: tensor \"output.weight\": expected dtype F32 or F16 or BF16, found I32");
}

static void truncated_weights(void **state)
{
    (void)state;
    size_t length;
    char *bytes = read_bytes(folder, "model.safetensors", &length);
    write_bytes(folder, "model.safetensors", bytes, length - 4);
    refused(RILL_ERR_FORMAT,
            "%s/model.safetensors: tensor \"output.bias\": its data ends at byte 3288 of the data, which has 3284");
    write_bytes(folder, "model.safetensors", bytes, 100);
    assert_int_equal(open_folder(folder, 0), RILL_ERR_FORMAT);
    assert_non_null(strstr(rill_error(ctx), "bytes ends after the file (100 bytes)"));
    write_bytes(folder, "model.safetensors", bytes, 7);
    refused(RILL_ERR_FORMAT, "%s/model.safetensors: expected 8 bytes of header length, the file has 7 bytes");
    write_bytes(folder, "model.safetensors", bytes, 0);
    refused(RILL_ERR_FORMAT, "%s/model.safetensors: expected 8 bytes of header length, the file has 0 bytes");
    free(bytes);
}

static void bad_configurations(void **state)
{
    (void)state;
    static const char *const extras[][2] = {
        {"\"a\" 1,", "%s/config.json:1: ':' expected near '1'"},
        {"\"task\": 1, ", "%s/config.json:2: duplicate object key near '\"task\"'"},
    };
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        model_write_config(folder, &SMALL_MODEL, extras[i][0]);
        refused(RILL_ERR_FORMAT, extras[i][1]);
    }
    static const char *const texts[][2] = {
        {"{}", "%s/config.json: embedding_size: expected an integer from 1 to 65536, found nothing"},
        {"{\"embedding_size\": 0}", "%s/config.json: embedding_size: expected an integer from 1 to 65536, found 0"},
        {"{\"embedding_size\": 5, \"hidden_size\": \"6\"}",
         "%s/config.json: hidden_size: expected an integer from 1 to 65536, found \"6\""},
        {"{\"model_type\": \"marian\"}",
         "%s/config.json: model_type: expected \"seq2seq-attention\", found \"marian\""},
        {"{\"rill\": {\"domain\": \"mt\"}}", "%s/config.json: rill.domain: expected \"semparse\", found \"mt\""},
        {"{\"rill\": 3}", "%s/config.json: rill: expected an object, found 3"},
        {"{\"text\": []}", "%s/config.json: text: expected an object, found an array"},
        {"[]", "%s/config.json: expected an object, found another kind of value"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_string(folder, "config.json", texts[i][0]);
        refused(RILL_ERR_FORMAT, texts[i][1]);
    }
}

static void vocabularies_that_do_not_fit(void **state)
{
    (void)state;
    write_string(folder, "source.vocab", "<s>\n</s>\n<unk>\nw0\n");
    refused(RILL_ERR_FORMAT,
            "%s/source.vocab: expected 12 tokens, the value of source_vocab_size in config.json, found 4");
    write_string(folder, "source.vocab", "<s>\n</s>\n<unk>\n\nw1\n");
    refused(RILL_ERR_FORMAT, "%s/source.vocab:4: expected a token, found an empty line");
    model_write(folder, &SMALL_MODEL);
    write_string(folder, "target.vocab", "<s>\n<unk>\n</s>\na\nb\nc\nd\ne\nf\n");
    refused(RILL_ERR_FORMAT, "%s/target.vocab:2: expected </s>, found <unk>");
    write_string(folder, "target.vocab", "<s>\n</s>\n<unk>\na\nb\nc\nd\na\nf\n");
    refused(RILL_ERR_FORMAT, "%s/target.vocab:8: \"a\" is also in line 4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(complete_model_opens), CASE(no_path),
        CASE(missing_files),        CASE(tensors_without_a_place),
        CASE(missing_tensors),      CASE(wrong_shapes),
        CASE(wrong_dtype),          CASE(truncated_weights),
        CASE(bad_configurations),   CASE(vocabularies_that_do_not_fit),
    };
    return cmocka_run_group_tests_name("domains_semparse_files", tests, NULL, NULL);
}
