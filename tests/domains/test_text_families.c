/* domains/text: tokenizers of transformers' model families. Each directory of tests/data/text was made by
 * tools/reference_text.py. It has token ids and decoded texts from transformers, tokenizers or SentencePiece.
 * RILL_TEST_TEXTS names another directory of such directories. */
#include <dirent.h>
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
#include "text_folder.h"

/* --- against the reference ---------------------------------------------------------------------------------------- */

static json_t *read_expected(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/expected.json", texts, name);
    json_error_t error;
    json_t *expected = json_load_file(path, 0, &error);
    if (expected == NULL) fail_msg("%s: %s", path, error.text);
    return expected;
}

static rill_tokenizer_files tokenizer_files(const json_t *expected, const char *path)
{
    rill_tokenizer_files files = {.source_vocab_size = (int32_t)json_integer_value(json_object_get(expected, "words")),
                                  .eos = (int32_t)json_integer_value(json_object_get(expected, "end")),
                                  .decoder_start = -1,
                                  .forced_bos = -1,
                                  .source_language = json_string_value(json_object_get(expected, "source")),
                                  .target_language = json_string_value(json_object_get(expected, "target"))};
    files.target_vocab_size = files.source_vocab_size;
    const rill_status status = rill_family_files(ctx, json_string_value(json_object_get(expected, "model_type")), path,
                                                 &files);
    if (status != RILL_OK) fail_msg("%s: %s", path, rill_error(ctx));
    return files;
}

/* Return the number of differences. */
static size_t check_case(const rill_tokenizer *codec, const char *name, const json_t *expected, const json_t *one)
{
    const json_t *text = json_object_get(one, "text"), *ids = json_object_get(one, "ids");
    int32_t *found = NULL;
    size_t capacity = 0, wrong = 0;
    rill_ids out = {.ctx = ctx, .ids = &found, .capacity = &capacity};
    rill_text back = {.ctx = ctx};
    rill_output_prefix opening;
    assert_int_equal(rill_tokenizer_encode(codec, json_string_value(text), json_string_length(text), &out, &opening),
                     RILL_OK);
    assert_int_equal(opening.forced_bos, json_integer_value(json_object_get(expected, "first")));
    assert_int_equal(opening.decoder_start, json_integer_value(json_object_get(expected, "start")));
    int same = out.n_ids == json_array_size(ids);
    for (size_t i = 0; same && i < out.n_ids; i++) same = found[i] == json_integer_value(json_array_get(ids, i));
    if (!same) {
        rill_text shown = {.ctx = ctx};
        for (size_t i = 0; i < out.n_ids; i++) rill_text_printf(&shown, " %d", (int)found[i]);
        print_error("%s: \"%s\"\n  expected %s\n  found   %s\n", name, json_string_value(text), json_dumps(ids, 0),
                    shown.data);
        rill_text_clear(&shown);
        wrong++;
    }
    const char *expect = json_string_value(json_object_get(one, "back"));
    assert_int_equal(rill_tokenizer_decode(codec, out.n_ids, found, &back), RILL_OK);
    if (strcmp(back.data != NULL ? back.data : "", expect) != 0) {
        print_error("%s: \"%s\"\n  expected \"%s\"\n  found    \"%s\"\n", name, json_string_value(text), expect,
                    back.data);
        wrong++;
    }
    rill_text_clear(&back);
    rill_free(ctx, found, capacity * sizeof *found);
    return wrong;
}

static void check_folder(const char *name)
{
    char path[4096];
    size_t i, wrong = 0;
    json_t *expected = read_expected(name), *cases = json_object_get(expected, "cases"), *one;
    rill_tokenizer *codec;
    snprintf(path, sizeof path, "%s/%s", texts, name);
    const rill_tokenizer_files files = tokenizer_files(expected, path);
    if (rill_tokenizer_open(&codec, ctx, &files) != RILL_OK) fail_msg("%s", rill_error(ctx));
    json_array_foreach(cases, i, one) wrong += check_case(codec, name, expected, one);
    if (wrong > 0) fail_msg("%s: %zu of %zu texts differ", name, wrong, 2 * json_array_size(cases));
    rill_tokenizer_close(codec);
    json_decref(expected);
}

static void texts_are_those_of_the_reference(void **state)
{
    struct dirent **entry;
    int found = 0;
    (void)state;
    const int n = scandir(texts, &entry, NULL, alphasort);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        const char *only = getenv("RILL_TEST_TEXT");
        if (entry[i]->d_name[0] != '.' && (only == NULL || strcmp(only, entry[i]->d_name) == 0)) {
            check_folder(entry[i]->d_name);
            found++;
        }
        free(entry[i]);
    }
    free(entry);
    assert_true(found > 0);
}

/* --- languages ---------------------------------------------------------------------------------------------------- */
/* The tokenizer must open, but refuse to encode anything, with this message. */
static void missing_file(const rill_tokenizer_files *files, const char *sentence)
{
    rill_tokenizer *codec;
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, files));
    assert_int_equal(rill_tokenizer_check_languages(codec, ctx), RILL_ERR_OPTION);
    assert_error(ctx, sentence, folder);
    rill_tokenizer_close(codec);
}

static void fails(const rill_tokenizer *codec, const char *text, const char *sentence)
{
    int32_t *ids = NULL;
    size_t capacity = 0;
    rill_ids out = {.ctx = ctx, .ids = &ids, .capacity = &capacity};
    rill_output_prefix opening;
    assert_int_equal(rill_tokenizer_encode(codec, text, strlen(text), &out, &opening), RILL_ERR_INPUT);
    assert_error(ctx, sentence, folder);
    rill_free(ctx, ids, capacity * sizeof *ids);
}

static void a_language_is_asked_for(void **state)
{
    (void)state;
    copy_folder("nllb");
    rill_tokenizer_files files = required_files("m2m_100");
    missing_file(
        &files,
        "%s: the model has 6 languages, such as ace_Arab and zul_Latn: set source-lang to the language of the inputs "
        "and target-lang to the language of the outputs, or write inputs as SOURCE-LANGUAGE TAB TARGET-LANGUAGE TAB TEXT "
        "and set language-columns");
    files.source_language = "eng_Latn";
    missing_file(
        &files,
        "%s: the model has 6 languages, such as ace_Arab and zul_Latn: set target-lang to the language of the outputs, "
        "or write inputs as SOURCE-LANGUAGE TAB TARGET-LANGUAGE TAB TEXT and set language-columns");
    files.target_language = "deu_Lat";
    refuse(&files, RILL_ERR_OPTION,
           "target-lang: unknown language \"deu_Lat\"; the model's 6 languages are ace_Arab, deu_Latn, eng_Latn, "
           "fra_Latn, zho_Hans, zul_Latn; did you mean \"deu_Latn\"?");
    rill_tokenizer *codec;
    files.target_language = NULL;
    files.forced_bos = 5; /* forced_bos determines how outputs begin */
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    assert_ok(ctx, rill_tokenizer_check_languages(codec, ctx));
    rill_tokenizer_close(codec);
}

static void folders_name_languages(void **state)
{
    (void)state;
    copy_folder("mbart50");
    write_string(folder, "tokenizer_config.json",
                 "{\"tokenizer_class\": \"MBart50Tokenizer\", \"src_lang\": \"de_DE\", \"tgt_lang\": \"fr_XX\"}");
    rill_tokenizer_files files = required_files("mbart");
    rill_tokenizer *codec;
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec, "a",
          "de_DE \xE2\x96\x81"
          "a </s>",
          NULL, "fr_XX");
    rill_tokenizer_close(codec);
    files.target_language = "ro_RO";
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec, "a",
          "de_DE \xE2\x96\x81"
          "a </s>",
          NULL, "ro_RO");
    assert_string_equal(codec->languages[0], "ar_AR");
    rill_tokenizer_close(codec);
}

/* A configuration whose outputs start with a language names the target language. */
static void a_start_names_the_target(void **state)
{
    (void)state;
    copy_folder("mbart");
    rill_tokenizer_files files = required_files("mbart");
    rill_tokenizer *codec;
    files.source_language = "en_XX";
    missing_file(
        &files,
        "%s: the model has 25 languages, such as ar_AR and zh_CN: set target-lang to the language of the outputs, "
        "or write inputs as SOURCE-LANGUAGE TAB TARGET-LANGUAGE TAB TEXT and set language-columns");
    files.target_language = "de_DE";
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec, "a",
          "\xE2\x96\x81"
          "a </s> en_XX",
          "de_DE", NULL);
    files.decoder_start = rill_vocabulary_id(codec->target, "fr_XX", 5);
    rill_tokenizer_close(codec);
    files.target_language = NULL;
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec, "a",
          "\xE2\x96\x81"
          "a </s> en_XX",
          "fr_XX", NULL);
    rill_tokenizer_close(codec);
}

/* A model's forced first action takes precedence over tgt_lang, and the option target-lang over both. */
static void a_forced_action_names_the_target(void **state)
{
    (void)state;
    copy_folder("nllb");
    write_string(folder, "tokenizer_config.json",
                 "{\"tokenizer_class\": \"NllbTokenizer\", \"src_lang\": \"eng_Latn\", \"tgt_lang\": \"fra_Latn\"}");
    rill_tokenizer_files files = required_files("m2m_100");
    rill_tokenizer *codec;
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec, "a",
          "eng_Latn \xE2\x96\x81"
          "a </s>",
          NULL, "fra_Latn");
    files.forced_bos = rill_vocabulary_id(codec->target, "deu_Latn", 8);
    rill_tokenizer_close(codec);
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    assert_ok(ctx, rill_tokenizer_check_languages(codec, ctx));
    reads(codec, "a",
          "eng_Latn \xE2\x96\x81"
          "a </s>",
          NULL, NULL); /* NULL: the start and end of outputs are the model's */
    rill_tokenizer_close(codec);
    files.target_language = "fra_Latn";
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec, "a",
          "eng_Latn \xE2\x96\x81"
          "a </s>",
          NULL, "fra_Latn");
    rill_tokenizer_close(codec);
}

/* M2M100's languages have the ids after those of vocab.json, whatever tokens were added. transformers 5 numbers added
 * tokens from the same id on, older versions after the made-up words. */
static void m2m_languages_stay_after_the_vocabulary(void **state)
{
    (void)state;
    static const char *const settings[] = {
        "{\"added_tokens_decoder\": {\"301\": {\"content\": \"newtok\", \"special\": true}}, \"model_max_length\": "
        "1000000000000000019884624838656}",
        "{\"added_tokens_decoder\": {\"409\": {\"content\": \"newtok\"}}}"};
    static const int32_t ids[] = {301, 409};
    for (size_t i = 0; i < 2; i++) {
        rill_tokenizer *codec;
        int32_t *found = NULL;
        size_t capacity = 0;
        rill_ids out = {.ctx = ctx, .ids = &found, .capacity = &capacity};
        rill_output_prefix opening;
        copy_folder("m2m");
        write_string(folder, "tokenizer_config.json", settings[i]);
        rill_tokenizer_files files = required_files("m2m_100");
        files.source_language = files.target_language = "en";
        assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
        assert_ok(ctx, rill_tokenizer_encode(codec, "newtok", 6, &out, &opening));
        assert_int_equal(out.n_ids, 3);
        assert_int_equal(found[0], 319);
        assert_int_equal(found[1], ids[i]);
        assert_int_equal(opening.forced_bos, 319);
        rill_free(ctx, found, capacity * sizeof *found);
        rill_tokenizer_close(codec);
    }
}

/* Ids without a token get names: beside 302 tokens and 100 languages these are 402 to 409. A vocabulary that contains
 * one of these names is refused. */
static void names_of_unused_ids_are_free(void **state)
{
    (void)state;
    size_t length;
    copy_folder("m2m");
    char *text = read_bytes(folder, "vocab.json", &length), *end = strrchr(text, '}');
    rill_text more = {.ctx = ctx};
    assert_non_null(end);
    assert_ok(ctx, rill_text_append(&more, text, (size_t)(end - text)));
    assert_ok(ctx, rill_text_printf(&more, ", \"<unused_402>\": 301}"));
    write_string(folder, "vocab.json", more.data);
    write_string(folder, "tokenizer_config.json", "{\"added_tokens_decoder\": {\"410\": {\"content\": \"newtok\"}}}");
    const rill_tokenizer_files files = required_files("m2m_100");
    refuse(&files, RILL_ERR_FORMAT,
           "%s/sentencepiece.bpe.model: \"<unused_402>\" has the id 301: expected no token of this name");
    rill_text_clear(&more);
    free(text);
}

/* transformers 5 saves added tokens in tokenizer.json alone; vocab.json and merges.txt of an older version may be left beside it. */
static void tokenizer_json_beside_older_files_adds_tokens(void **state)
{
    (void)state;
    static const char config[] = "{\"tokenizer_class\": \"BartTokenizer\", \"backend\": \"tokenizers\"}",
                      older[] = "{\"tokenizer_class\": \"BartTokenizer\"}";
    copy_folder("bart");
    const rill_tokenizer_files files = required_files("bart");
    rill_tokenizer *codec;
    write_string(folder, "tokenizer_config.json", config);
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files)); /* opened without tokenizer.json */
    rill_tokenizer_close(codec);
    write_string(
        folder, "tokenizer.json",
        "{\"added_tokens\": [{\"id\": 0, \"content\": \"<s>\", \"special\": true}, {\"id\": 420, \"content\": \"b\"}]}");
    refuse(&files, RILL_ERR_FORMAT, "%s/vocab.json: \"b\" has the id 420 there and 70 in the vocabulary");
    write_string(folder, "tokenizer.json",
                 "{\"added_tokens\": [{\"id\": 0, \"content\": \"<s>\"}, {\"id\": 420, \"content\": \"newtok\"}]}");
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    assert_int_equal(rill_vocabulary_id(codec->source, "newtok", 6), 420);
    reads(codec, "anewtokb", "<s> a newtok b </s>", NULL, NULL);
    rill_tokenizer_close(codec);
    write_string(folder, "tokenizer.json", "{\"added_tokens\": 3}");
    refuse(&files, RILL_ERR_FORMAT, "%s/tokenizer.json: added_tokens: expected a list");
    write_string(folder, "tokenizer_config.json", older);
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec, "anewtokb", "<s> an e w t o k b </s>", NULL, NULL);
    rill_tokenizer_close(codec);
}

static void columns_name_languages(void **state)
{
    (void)state;
    copy_folder("m2m");
    rill_tokenizer_files files = required_files("m2m_100");
    rill_tokenizer *codec;
    files.language_columns = 1;
    files.source_language = "__de__"; /* the default language, used if a column is empty */
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec, "en\tfr\ta",
          "__en__ \xE2\x96\x81"
          "a </s>",
          NULL, "__fr__");
    reads(codec, " __en__ \t fr\ta\ta",
          "__en__ \xE2\x96\x81"
          "a \xE2\x96\x81"
          "a </s>",
          NULL, "__fr__");
    reads(codec, "\tfr\ta",
          "__de__ \xE2\x96\x81"
          "a </s>",
          NULL, "__fr__");
    reads(codec, "en\tfr\t", "", NULL, "__fr__");
    reads(codec, "en\tfr\t __en__", "__en__ __en__ </s>", NULL, "__fr__");
    fails(codec, "en\t\ta", "the second column is empty, and target-lang is not set");
    fails(codec, "en\tfr", "expected SOURCE-LANGUAGE TAB TARGET-LANGUAGE TAB TEXT, because language-columns is set");
    fails(codec, "en fr\tfr\ta",
          "the first column: unknown language \"en fr\"; the model's 100 languages are af, am, ar, ast, az, ba, ...");
    fails(
        codec, "en\tfrr\ta",
        "the second column: unknown language \"frr\"; the model's 100 languages are af, am, ar, ast, az, ba, ...; did "
        "you mean \"fr\"?");
    rill_output_prefix opening;
    assert_ok(ctx, rill_tokenizer_output_prefix(codec, ctx, "en\tes\ta", 7, &opening));
    assert_int_equal(opening.forced_bos, rill_vocabulary_id(codec->target, "__es__", 6));
    rill_tokenizer_close(codec);
}

/* Tokenized input gets the same special tokens around it as texts; tokenized outputs keep theirs. */
static void subwords_have_languages_too(void **state)
{
    static const int32_t none[] = {0};
    (void)state;
    copy_folder("nllb");
    rill_tokenizer_files files = required_files("m2m_100");
    rill_tokenizer *codec;
    rill_text out = {.ctx = ctx};
    files.tokenized = 1;
    files.source_language = "eng_Latn";
    files.target_language = "fra_Latn";
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec,
          "\xE2\x96\x81"
          "a x~ <mask>",
          "eng_Latn \xE2\x96\x81"
          "a <unk> <mask> </s>",
          NULL, "fra_Latn");
    const int32_t actions[] = {rill_vocabulary_id(codec->target, "fra_Latn", 8), rill_vocabulary_id(codec->target,
                                                                                                    "\xE2\x96\x81"
                                                                                                    "a",
                                                                                                    4)};
    assert_ok(ctx, rill_tokenizer_decode(codec, 2, actions, &out));
    assert_string_equal(out.data, "fra_Latn \xE2\x96\x81"
                                  "a");
    assert_ok(ctx, rill_tokenizer_decode(codec, 0, none, &out));
    rill_tokenizer_close(codec);
    files.tokenized = 0;
    rill_text_reset(&out);
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    assert_ok(ctx, rill_tokenizer_decode(codec, 2, actions, &out));
    assert_string_equal(out.data, "a");
    rill_text_clear(&out);
    rill_tokenizer_close(codec);
}

static void take_away(const char *name)
{
    char *path = join_path(folder, name);
    assert_int_equal(unlink(path), 0);
    free(path);
}

/* A vocabulary that vocab.json lists needs no SentencePiece model for tokenized input. */
static void listed_subwords_need_no_tokenizer_model(void **state)
{
    (void)state;
    copy_folder("m2m");
    take_away("sentencepiece.bpe.model");
    rill_tokenizer_files files = required_files("m2m_100");
    rill_tokenizer *codec;
    files.source_language = files.target_language = "en";
    refuse(&files, RILL_ERR_NOT_FOUND, "%s: expected sentencepiece.bpe.model and vocab.json, or tokenizer.json");
    files.tokenized = 1;
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec,
          "\xE2\x96\x81"
          "a",
          "__en__ \xE2\x96\x81"
          "a </s>",
          NULL, "__en__");
    rill_tokenizer_close(codec);
}

/* transformers writes an unknown length as a number too large for jansson's integers. */
static void a_length_of_any_size(void **state)
{
    (void)state;
    copy_folder("t5");
    write_string(
        folder, "tokenizer_config.json",
        "{\"model_max_length\": 1000000000000000019884624838656, \"tokenizer_class\": \"T5Tokenizer\", \"extra_ids\": 2}");
    rill_tokenizer_files files = required_files("t5");
    rill_tokenizer *codec;
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    assert_int_equal(rill_vocabulary_count(codec->source), 302);
    rill_tokenizer_close(codec);
}

/* Special tokens that the vocabulary lacks are read as text. */
static void tokens_without_a_symbol(void **state)
{
    (void)state;
    copy_folder("t5");
    write_string(folder, "tokenizer_config.json", "{\"additional_special_tokens\": [\"<x>\", \"<y>\"]}");
    rill_tokenizer_files files = required_files("t5");
    rill_tokenizer *codec;
    files.source_vocab_size = files.target_vocab_size = 301; /* one more than the 300 tokens */
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    assert_int_equal(rill_vocabulary_count(codec->source), 301);
    assert_int_equal(rill_vocabulary_id(codec->source, "<x>", 3), 300);
    assert_int_equal(rill_vocabulary_id(codec->source, "<extra_id_0>", 12), -1);
    reads(codec, "<x>", "<x> </s>", NULL, NULL);
    rill_tokenizer_close(codec);
}

/* MADLAD's language tags are optional. */
static void tags_are_optional(void **state)
{
    (void)state;
    copy_folder("mt5");
    rill_tokenizer_files files = required_files("mt5");
    rill_tokenizer *codec;
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec, "a",
          "\xE2\x96\x81"
          "a </s>",
          NULL, NULL);
    reads(codec, "<2de> a",
          "<2de> \xE2\x96\x81"
          "a </s>",
          NULL, NULL);
    assert_string_equal(codec->languages[1], "en");
    rill_tokenizer_close(codec);
    files.target_language = "de";
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec, "a",
          "<2de> \xE2\x96\x81"
          "a </s>",
          NULL, NULL);
    rill_tokenizer_close(codec);
    files.source_language = "en";
    refuse(&files, RILL_ERR_OPTION, "source-lang: this model has no language token for inputs: leave it out");
    copy_folder("t5");
    files = required_files("t5");
    files.target_language = "de";
    refuse(&files, RILL_ERR_OPTION, "target-lang: the model is not multilingual: it has no language tokens");
    files.target_language = NULL;
    files.language_columns = 1;
    refuse(&files, RILL_ERR_OPTION, "language-columns: the model is not multilingual");
}

/* --- folders ------------------------------------------------------------------------------------------------------ */

static void folders_that_are_refused(void **state)
{
    (void)state;
    rill_tokenizer_files files = {0};
    copy_folder("t5");
    assert_int_equal(rill_family_files(ctx, "marian", folder, &files), RILL_ERR_FORMAT);
    write_string(folder, "tokenizer_config.json", "{\"tokenizer_class\": \"LlamaTokenizer\"}");
    assert_int_equal(rill_family_files(ctx, "t5", folder, &files), RILL_ERR_FORMAT);
    assert_error(
        ctx,
        "%s/tokenizer_config.json: tokenizer_class: of a model of type t5 T5Tokenizer or BartTokenizer or ByT5Tokenizer is "
        "read, found \"LlamaTokenizer\"",
        folder);
    write_string(folder, "tokenizer_config.json", "{\"tokenizer_class\": \"T5TokenizerFast\", \"extra_ids\": 100}");
    files = required_files("t5");
    files.source_vocab_size = 200;
    refuse(&files, RILL_ERR_FORMAT, "%s/spiece.model: expected at most 200 tokens, as config.json says");
    files = required_files("t5");
    write_string(folder, "tokenizer_config.json", "{\"extra_ids\": true}");
    refuse(&files, RILL_ERR_FORMAT,
           "%s/tokenizer_config.json: extra_ids: expected an integer from 0 to 100000, found true");
    write_string(folder, "tokenizer_config.json", "{\"added_tokens_decoder\": {\"1000\": {\"content\": \"<x>\"}}}");
    refuse(&files, RILL_ERR_FORMAT, "%s/spiece.model: \"<x>\" has the id 1000: expected 300, the next one");
    write_string(folder, "tokenizer_config.json", "{\"added_tokens_decoder\": {\"7\": {\"content\": \"</s>\"}}}");
    refuse(&files, RILL_ERR_FORMAT, "%s/spiece.model: \"</s>\" has the id 7 there and 1 in the vocabulary");
    write_string(folder, "tokenizer_config.json", "{\"added_tokens_decoder\": {\"x\": {\"content\": \"<x>\"}}}");
    refuse(&files, RILL_ERR_FORMAT,
           "%s/tokenizer_config.json: added_tokens_decoder: expected NUMBER: {\"content\": TEXT}, found \"x\"");
    write_string(folder, "added_tokens.json", "{\"<x>\": 1, \"<x>\": 2}");
    write_string(folder, "tokenizer_config.json", "{}");
    refuse(&files, RILL_ERR_FORMAT, "%s/added_tokens.json:1: duplicate object key near '\"<x>\"'");
    write_string(folder, "added_tokens.json", "{\"<x>\": -1}");
    refuse(&files, RILL_ERR_FORMAT, "%s/added_tokens.json: \"<x>\": expected a number");
    take_away("added_tokens.json");
    take_away("spiece.model");
    refuse(&files, RILL_ERR_NOT_FOUND, "%s: expected spiece.model, or tokenizer.json");
}

static const char *family_type;

static rill_status open_use_close(rill_context *own, const char *path)
{
    rill_tokenizer_files files = {
        .source_vocab_size = 2000, .target_vocab_size = 2000, .eos = 2, .decoder_start = -1, .forced_bos = -1};
    rill_tokenizer *codec = NULL;
    rill_text out = {.ctx = own};
    int32_t *ids = NULL;
    size_t capacity = 0;
    rill_ids to = {.ctx = own, .ids = &ids, .capacity = &capacity};
    rill_output_prefix opening;
    files.language_columns = strcmp(family_type, "m2m_100") == 0;
    rill_status status = rill_family_files(own, family_type, path, &files);
    if (status == RILL_OK) status = rill_tokenizer_open(&codec, own, &files);
    if (status == RILL_OK) {
        const char *text = files.language_columns ? "eng_Latn\tfra_Latn\tA  beam <mask>" : "A  beam <mask>";
        status = rill_tokenizer_encode(codec, text, strlen(text), &to, &opening);
        if (status == RILL_OK) status = rill_tokenizer_decode(codec, to.n_ids, ids, &out);
    }
    rill_text_clear(&out);
    rill_free(own, ids, capacity * sizeof *ids);
    rill_tokenizer_close(codec);
    return status;
}

static void memory_may_run_out(void **state)
{
    static const char *const folders[][2] = {
        {"nllb", "m2m_100"}, {"nllb-5", "m2m_100"}, {"t5-4", "t5"}, {"bart", "bart"}};
    (void)state;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        folder_remove(folder);
        folder = folder_make();
        copy_folder(folders[i][0]);
        family_type = folders[i][1];
        assert_true(refuse_each_call(&memory, ctx, open_use_close, folder) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(texts_are_those_of_the_reference),
        CASE(a_language_is_asked_for),
        CASE(folders_name_languages),
        CASE(a_start_names_the_target),
        CASE(a_forced_action_names_the_target),
        CASE(m2m_languages_stay_after_the_vocabulary),
        CASE(names_of_unused_ids_are_free),
        CASE(tokenizer_json_beside_older_files_adds_tokens),
        CASE(columns_name_languages),
        CASE(subwords_have_languages_too),
        CASE(listed_subwords_need_no_tokenizer_model),
        CASE(a_length_of_any_size),
        CASE(tokens_without_a_symbol),
        CASE(tags_are_optional),
        CASE(folders_that_are_refused),
        CASE(memory_may_run_out),
    };
    return cmocka_run_group_tests_name("families", tests, NULL, NULL);
}
