/* domains/shiftreduce: damaged model directories, with the message for each. */
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
#include "shiftreduce.h"

static const rill_domain *const domain = &rill_shiftreduce_domain;

#include "folder_fixture.h"
#include "rill/plugin.h"
#include "rill/rill.h"

static void fill_folder(void)
{
    parser_write_model(folder, &SMALL_PARSER);
}

static void unknown_form(void **state)
{
    (void)state;
    rill_context *own;
    rill_model *model;
    const rill_pair format = {"input_format", "xml"};
    rill_open_options options = {
        .struct_size = sizeof options, .path = folder, .threads = 1, .values = &format, .n_values = 1};
    assert_int_equal(rill_context_create(&own, NULL), RILL_OK);
    assert_ok(own, rill_register_domain(own, domain));
    assert_int_equal(rill_model_open(&model, own, "shiftreduce", &options), RILL_ERR_OPTION);
    assert_string_equal(rill_error(own),
                        "domain shiftreduce: input-format: \"xml\" is not one of auto|tree|tagged|text");
    rill_context_destroy(own);
}

static void tensors_without_a_place(void **state)
{
    (void)state;
    tensor_without_a_place(SMALL_PARSER, parser_write_model);
}

static void missing_files(void **state)
{
    (void)state;
    static const char *const names[] = {"model.safetensors", "labels.vocab", "tags.vocab", "shapes.vocab",
                                        "suffixes.vocab",    "words.vocab",  "config.json"};
    each_missing_file_is_reported(names, sizeof names / sizeof *names);
}

static void missing_and_turned_tensors(void **state)
{
    (void)state;
    static const char *const names[][3] = {
        {"words.weight", "[12, 5]", "[5, 12]"},
        {"suffixes.weight", "[4, 5]", "[5, 4]"},
        {"shapes.weight", "[3, 5]", "[5, 3]"},
        {"tags.weight", "[4, 3]", "[3, 4]"},
        {"layer1.forward.weight_ih", "[24, 5]", "[5, 24]"},
        {"layer1.backward.weight_hh", "[24, 6]", "[6, 24]"},
        {"layer2.forward.weight_ih", "[24, 15]", "[15, 24]"},
        {"layer2.backward.bias", "[24]", "[24, 1]"},
        {"tagger.weight", "[4, 12]", "[12, 4]"},
        {"tagger.bias", "[4]", "[4, 1]"},
        {"structure.hidden.weight", "[9, 48]", "[48, 9]"},
        {"structure.output.bias", "[2]", "[2, 1]"},
        {"label.hidden.weight", "[9, 36]", "[36, 9]"},
        {"label.hidden.bias", "[9]", "[9, 1]"},
        {"label.output.weight", "[9, 9]", NULL},
    };
    char sentence[200];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        model_spec spec = SMALL_PARSER;
        spec.missing = names[i][0];
        parser_write_model(folder, &spec);
        snprintf(sentence, sizeof sentence, "%%s/model.safetensors: tensor \"%s\" is missing, expected with shape %s",
                 names[i][0], names[i][1]);
        refused(RILL_ERR_FORMAT, sentence);
        if (names[i][2] == NULL) continue;
        spec = SMALL_PARSER;
        spec.reshaped = names[i][0];
        parser_write_model(folder, &spec);
        snprintf(sentence, sizeof sentence, "%%s/model.safetensors: tensor \"%s\": expected shape %s, found %s",
                 names[i][0], names[i][1], names[i][2]);
        refused(RILL_ERR_FORMAT, sentence);
    }
}

static void wrong_vocabularies(void **state)
{
    (void)state;
    static const char *const files[][3] = {
        {"words.vocab", "<s>\n</s>\nw0\nw1\nw2\nw3\nw4\nw5\nw6\nw7\nw8\nw9\n",
         "%s/words.vocab:3: expected <unk>, found w0"},
        {"words.vocab", "<s>\n</s>\n",
         "%s/words.vocab: expected 12 tokens, the value of word_vocab_size in config.json, found 2"},
        {"suffixes.vocab", "a\nb\nc\n",
         "%s/suffixes.vocab: expected 4 tokens, the value of suffix_vocab_size in config.json, found 3"},
        {"shapes.vocab", "X\nx\nd\n", "%s/shapes.vocab:1: expected <unk>, found X"},
        {"tags.vocab", "T\nA\nB\nC\n", "%s/tags.vocab:1: expected <none>, found T"},
        {"tags.vocab", "<none>\nA\nB C\nC\n",
         "%s/tags.vocab:3: expected a tag without spaces and brackets other than -NONE-, found \"B C\""},
        {"tags.vocab", "<none>\nA\nB\n-NONE-\n",
         "%s/tags.vocab:4: expected a tag without spaces and brackets other than -NONE-, found \"-NONE-\""},
        {"labels.vocab", "A\nB\nC\nD\nE\nF\nG\nH\nI\n", "%s/labels.vocab:1: expected <none>, found A"},
        {"labels.vocab", "<none>\nA\nB\nC\nD\nE\nF\nG\nTOPS\n",
         "%s/labels.vocab: expected a label that begins with the root \"TOP\", found none"},
        {"labels.vocab", "<none>\nA\nB+B\nC\nD\nE\nF\nG\nTOP\n",
         "%s/labels.vocab:3: \"B+B\": a label may not consist of equal labels only"},
        {"labels.vocab", "<none>\nA\nB++C\nC\nD\nE\nF\nG\nTOP\n",
         "%s/labels.vocab:3: expected names without spaces and brackets, separated by \"+\", found \"B++C\""},
        {"labels.vocab", "<none>\nA\n(B\nC\nD\nE\nF\nG\nTOP\n",
         "%s/labels.vocab:3: expected names without spaces and brackets, separated by \"+\", found \"(B\""},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        fill_folder();
        write_string(folder, files[i][0], files[i][1]);
        refused(RILL_ERR_FORMAT, files[i][2]);
    }
}

static void wrong_configurations(void **state)
{
    (void)state;
    model_spec spec = SMALL_PARSER;
    write_string(folder, "config.json", "{\"model_type\": \"marian\"}");
    refused(RILL_ERR_FORMAT, "%s/config.json: model_type: expected \"span-shift-reduce\", found \"marian\"");
    write_string(folder, "config.json", "{\"model_type\": \"span-shift-reduce\", \"root\": \"\"}");
    refused(RILL_ERR_FORMAT, "%s/config.json: root: expected the outermost label of every tree, found \"\"");
    write_string(folder, "config.json", "{\"model_type\": \"span-shift-reduce\"}");
    assert_int_equal(open_folder(folder, 0), RILL_ERR_FORMAT);
    assert_non_null(strstr(rill_error(ctx), " root: "));
    spec.hidden = 0;
    parser_write_config(folder, &spec, "");
    assert_int_equal(open_folder(folder, 0), RILL_ERR_FORMAT);
    assert_non_null(strstr(rill_error(ctx), " hidden_size: "));
    /* Impossible sizes are refused, naming the tensor, before memory is allocated. */
    spec = SMALL_PARSER;
    spec.hidden = 16384;
    parser_write_config(folder, &spec, "");
    refused(RILL_ERR_FORMAT,
            "%s/model.safetensors: tensor \"layer1.forward.weight_ih\": expected shape [65536, 5], found [24, 5]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(complete_model_opens),
        CASE(no_path),
        CASE(unknown_form),
        CASE(missing_files),
        CASE(tensors_without_a_place),
        CASE(missing_and_turned_tensors),
        CASE(wrong_vocabularies),
        CASE(wrong_configurations),
    };
    return cmocka_run_group_tests_name("domains_shiftreduce_files", tests, NULL, NULL);
}
