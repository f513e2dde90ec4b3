/* domains/text: tokenizer.json and tokenizer_config.json, key by key. */
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

/* Change a key of one part of the directory's tokenizer.json, or of the last in a list of parts. */
static void change_pipeline(const char *name, const char *key, json_t *value)
{
    char *path = join_path(folder, "tokenizer.json");
    json_t *all = json_load_file(path, 0, NULL), *part = json_object_get(all, name);
    if (json_is_array(part)) part = json_array_get(part, json_array_size(part) - 1);
    assert_int_equal(json_object_set_new(part, key, value), 0);
    assert_int_equal(json_dump_file(all, path, 0), 0);
    json_decref(all);
    free(path);
}

/* Tokens with single_word are split off as transformers does, in the form of transformers before version 5 and in that
 * of tokenizer.json. */
static void tokens_that_stand_alone(void **state)
{
    (void)state;
    copy_folder("bart");
    write_string(folder, "tokenizer_config.json",
                 "{\"tokenizer_class\": \"BartTokenizer\", \"added_tokens_decoder\": {\"4\": {\"content\": \"<mask>\", "
                 "\"special\": true, \"single_word\": true}}}");
    rill_tokenizer_files files = required_files("bart");
    for (int json = 0; json < 2; json++) {
        rill_tokenizer *codec;
        assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
        reads(codec, "a <mask> b",
              "<s> a <mask> \xC4\xA0"
              "b </s>",
              NULL, NULL);
        reads(codec, "(<mask>)", "<s> ( <mask> ) </s>", NULL, NULL);
        reads(codec, "a<mask> b",
              "<s> a < m as k > \xC4\xA0"
              "b </s>",
              NULL, NULL);
        reads(codec, "a <mask>1", "<s> a \xC4\xA0 < m as k > 1 </s>", NULL, NULL);
        reads(codec, "_<mask>", "<s> _ < m as k > </s>", NULL, NULL);
        rill_tokenizer_close(codec);
        if (json) break;
        static const char *const old[] = {"vocab.json", "merges.txt"};
        for (size_t i = 0; i < 2; i++) {
            char *gone = join_path(folder, old[i]);
            assert_int_equal(unlink(gone), 0);
            free(gone);
        }
        copy_folder("bart-5");
        change_pipeline("added_tokens", "single_word", json_true()); /* sets single_word for <mask> */
        files = required_files("bart");
    }
}

static void nllb_reads(const char *text, const char *subwords)
{
    rill_tokenizer *codec;
    rill_tokenizer_files files = required_files("m2m_100");
    files.source_language = "eng_Latn";
    files.target_language = "deu_Latn";
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec, text, subwords, NULL, "deu_Latn");
    rill_tokenizer_close(codec);
}

/* As the directory says, adjacent unknown characters become one unknown token or several, and text after an added token
 * gets a word mark or not. */
static void runs_and_marks_are_as_tokenizer_json_says(void **state)
{
    (void)state;
    copy_folder("nllb-5");
    nllb_reads("a\xE4\xB8\x80\xE4\xBA\x8C"
               "b",
               "eng_Latn \xE2\x96\x81"
               "a <unk> b </s>");
    nllb_reads("a<mask>b", "eng_Latn \xE2\x96\x81"
                           "a <mask> \xE2\x96\x81"
                           "b </s>");
    change_pipeline("model", "fuse_unk", json_false());
    nllb_reads("a\xE4\xB8\x80\xE4\xBA\x8C"
               "b",
               "eng_Latn \xE2\x96\x81"
               "a <unk> <unk> b </s>");
    change_pipeline("pre_tokenizer", "prepend_scheme", json_string("first"));
    nllb_reads("a<mask>b", "eng_Latn \xE2\x96\x81"
                           "a <mask> b </s>");
    nllb_reads("<mask>b", "eng_Latn <mask> b </s>");
    change_pipeline("pre_tokenizer", "prepend_scheme", json_string("never"));
    nllb_reads("a b", "eng_Latn a \xE2\x96\x81"
                      "b </s>");
}

/* Check that a text encodes to these tokens and decodes to `back`. */
static void reads_and_writes(const char *model_type, const char *text, const char *subwords, const char *back)
{
    rill_tokenizer *codec;
    int32_t *ids = NULL;
    size_t capacity = 0;
    rill_ids out = {.ctx = ctx, .ids = &ids, .capacity = &capacity};
    rill_text written = {.ctx = ctx};
    rill_output_prefix opening;
    rill_tokenizer_files files = required_files(model_type);
    if (strcmp(model_type, "m2m_100") == 0) {
        files.source_language = "eng_Latn";
        files.target_language = "deu_Latn";
    }
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec, text, subwords, NULL, files.target_language);
    assert_ok(ctx, rill_tokenizer_encode(codec, text, strlen(text), &out, &opening));
    assert_ok(ctx, rill_tokenizer_decode(codec, out.n_ids, ids, &written));
    assert_string_equal(written.data ? written.data : "", back);
    rill_text_clear(&written);
    rill_free(ctx, ids, capacity * sizeof *ids);
    rill_tokenizer_close(codec);
}

/* A character without a token is encoded as byte tokens, if the model has them. */
static void bytes_stand_for_characters(void **state)
{
    static const char *const spare[] = {"Z", "V", "N"}, *const bytes[] = {"<0xC3>", "<0xA9>", "<0xBC>"};
    (void)state;
    copy_folder("nllb-5");
    change_pipeline("model", "byte_fallback", json_true());
    char *path = join_path(folder, "tokenizer.json");
    json_t *all = json_load_file(path, 0, NULL), *vocab = json_object_get(json_object_get(all, "model"), "vocab");
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(json_object_set(vocab, bytes[i], json_object_get(vocab, spare[i])), 0);
        assert_int_equal(json_object_del(vocab, spare[i]), 0);
    }
    assert_int_equal(json_dump_file(all, path, 0), 0);
    json_decref(all);
    free(path);
    reads_and_writes("m2m_100",
                     "a\xC3\xA9"
                     "b",
                     "eng_Latn \xE2\x96\x81"
                     "a <0xC3> <0xA9> b </s>",
                     "a\xC3\xA9"
                     "b");
    /* one byte of this character has no token */
    reads_and_writes("m2m_100", "a\xC3\xA8",
                     "eng_Latn \xE2\x96\x81"
                     "a <unk> </s>",
                     "a");
}

/* GPT-2's alphabet has a letter for each byte: characters with any lead and trail bytes are decoded unchanged. */
static void each_byte_has_a_letter(void **state)
{
    rill_tokenizer *codec;
    (void)state;
    copy_folder("bart");
    const rill_tokenizer_files files = required_files("bart");
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    for (unsigned c = 0x21; c < 0x800; c++) {
        const char two[] = {(char)(0xC0 | c >> 6), (char)(0x80 | (c & 0x3F)), '\0'}, one[] = {(char)c, '\0'};
        const char *const text = c < 0x80 ? one : two;
        int32_t *ids = NULL;
        size_t capacity = 0;
        rill_ids out = {.ctx = ctx, .ids = &ids, .capacity = &capacity};
        rill_text written = {.ctx = ctx};
        rill_output_prefix opening;
        assert_ok(ctx, rill_tokenizer_encode(codec, text, strlen(text), &out, &opening));
        assert_ok(ctx, rill_tokenizer_decode(codec, out.n_ids, ids, &written));
        assert_string_equal(written.data ? written.data : "", text);
        rill_text_clear(&written);
        rill_free(ctx, ids, capacity * sizeof *ids);
    }
    rill_tokenizer_close(codec);
}

/* A Strip normalizer removes spaces at both ends. Punctuation loses the space before it if the directory asks for
 * that. */
static void spaces_go_as_the_folder_says(void **state)
{
    (void)state;
    copy_folder("nllb-5");
    change_pipeline("normalizer", "type", json_string("Strip"));
    change_pipeline("normalizer", "strip_left", json_true());
    change_pipeline("normalizer", "strip_right", json_true());
    reads_and_writes("m2m_100", " \xE3\x80\x80 a b \xC2\xA0",
                     "eng_Latn \xE2\x96\x81"
                     "a \xE2\x96\x81"
                     "b </s>",
                     "a b");
    /* Of a character C3 A9, the character map turns the byte C3 into a space and leaves the byte A9, which is no
     * character. */
    change_pipeline("normalizer", "type", json_string("Sequence"));
    change_pipeline("normalizer", "normalizers",
                    json_pack("[{s:s, s:s}, {s:s, s:b, s:b}]", "type", "Precompiled", "precompiled_charsmap",
                              "EAAAAAAAAwAAAAAAAAAAgMMFAAAgAA==", "type", "Strip", "strip_left", 1, "strip_right", 1));
    reads_and_writes("m2m_100", "\xC3\xA9", "eng_Latn <unk> </s>", "");
    reads_and_writes("m2m_100", "a\xC3\xA9 ",
                     "eng_Latn \xE2\x96\x81"
                     "a <unk> </s>",
                     "a");
    folder_remove(folder);
    folder = folder_make();
    copy_folder("t5-5");
    write_string(folder, "tokenizer_config.json",
                 "{\"tokenizer_class\": \"T5Tokenizer\", \"clean_up_tokenization_spaces\": true}");
    const rill_tokenizer_files files = required_files("t5");
    rill_tokenizer *codec;
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    static const char *const texts_written[][2] = {
        {"a . b", "a. b"},   {"a ? b", "a? b"},   {"a ! b", "a! b"}, {"a , b", "a, b"},
        {"a ' b", "a'b"},    {"do n't", "don't"}, {"I 'm", "I'm"},   {"it 's", "it's"},
        {"we 've", "we've"}, {"we 're", "we're"}, {"a b", "a b"},    {". a", ". a"},
    };
    for (size_t i = 0; i < sizeof texts_written / sizeof *texts_written; i++) {
        int32_t *ids = NULL;
        size_t capacity = 0;
        rill_ids out = {.ctx = ctx, .ids = &ids, .capacity = &capacity};
        rill_text written = {.ctx = ctx};
        rill_output_prefix opening;
        const char *text = texts_written[i][0];
        assert_ok(ctx, rill_tokenizer_encode(codec, text, strlen(text), &out, &opening));
        assert_ok(ctx, rill_tokenizer_decode(codec, out.n_ids, ids, &written));
        assert_string_equal(written.data, texts_written[i][1]);
        rill_text_clear(&written);
        rill_free(ctx, ids, capacity * sizeof *ids);
    }
    rill_tokenizer_close(codec);
}

/* The character map drops the byte C3 and leaves the byte A9, which begins no character. It becomes one unknown token,
 * in a word of its own or before other characters. */
static void bytes_may_begin_no_character(void **state)
{
    static const char *const folders[] = {"nllb-5", "t5-5"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const char *type = i == 0 ? "m2m_100" : "t5", *mark = i == 0 ? "eng_Latn " : "";
        char unknown[40], before[60];
        copy_folder(folders[i]);
        change_pipeline("normalizer", "type", json_string("Precompiled"));
        change_pipeline("normalizer", "precompiled_charsmap", json_string("EAAAAAAAAwAAAAAAAQAAgMMFAAAgAA=="));
        change_pipeline("pre_tokenizer", "prepend_scheme", json_string("never"));
        snprintf(unknown, sizeof unknown, "%s<unk> </s>", mark);
        snprintf(before, sizeof before, "%s<unk> \xE2\x96\x81%s", mark, "a </s>");
        reads_and_writes(type, "\xC3\xA9", unknown, "");
        reads_and_writes(type, "\xC3\xA9 a", before, "a");
        folder_remove(folder);
        folder = folder_make();
    }
}

/* Nine normalizers would turn one byte into 64 GiB: such an input fails. The limit is on the normalized text's
 * length. */
static void normalizers_lengthen_a_text_within_bounds(void **state)
{
    rill_tokenizer *codec;
    int32_t *ids = NULL;
    size_t capacity = 0;
    rill_ids out = {.ctx = ctx, .ids = &ids, .capacity = &capacity};
    rill_output_prefix opening;
    json_t *list = json_array();
    (void)state;
    copy_folder("t5-5");
    for (int i = 0; i < 9; i++)
        json_array_append_new(list, json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", "String", "a",
                                              "content", "aaaaaaaaaaaaaaaa"));
    change_pipeline("normalizer", "type", json_string("Sequence"));
    change_pipeline("normalizer", "normalizers", list);
    const rill_tokenizer_files files = required_files("t5");
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    assert_int_equal(rill_tokenizer_encode(codec, "a", 1, &out, &opening), RILL_ERR_INPUT);
    assert_error(ctx, "the tokenizer's normalizers make more than 4160 bytes of the text", NULL);
    assert_ok(ctx, rill_tokenizer_encode(codec, "b", 1, &out, &opening));
    rill_free(ctx, ids, capacity * sizeof *ids);
    rill_tokenizer_close(codec);
}

/* A tokenizer.json with an unsupported value of one key is refused with a message that names the key. */
static void tokenizer_json_is_refused_by_key(void **state)
{
    static const char model[] =
        "\"model\": {\"type\": \"Unigram\", \"unk_id\": 2, \"vocab\": [[\"<pad>\", 0], [\"</s>\", 0], "
        "[\"<unk>\", 0], [\"a\", -1]]}";
    static const struct {
        const char *part, *sentence;
    } cases[] = {
        {"\"normalizer\": {\"type\": \"NFKC\"}", "normalizer: \"NFKC\" is not supported"},
        {"\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": 3}", "normalizer: expected a list of parts"},
        {"\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"AAAA\"}",
         "normalizer.precompiled_charsmap: the table is damaged"},
        {"\"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"a+\"}, \"content\": \"b\"}",
         "normalizer.pattern: expected a String, or a Regex that is a text, \" {2,}\" or a line feed, found \"a+\""},
        {"\"pre_tokenizer\": {\"type\": \"Digits\"}", "pre_tokenizer: \"Digits\" is not supported"},
        {"\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"use_regex\": false}",
         "pre_tokenizer.use_regex: only true is supported"},
        {"\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"_\", \"prepend_scheme\": \"last\"}",
         "pre_tokenizer.prepend_scheme: expected always, first or never"},
        {"\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"\"}",
         "pre_tokenizer.replacement: expected a character"},
        {"\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"__\"}",
         "pre_tokenizer.replacement: expected a character"},
        {"\"decoder\": {\"type\": \"WordPiece\"}", "decoder: \"WordPiece\" is not supported"},
        {"\"post_processor\": {\"type\": \"Other\"}", "post_processor: \"Other\" is not supported"},
        {"\"added_tokens\": [{\"content\": \"x\"}]",
         "added_tokens: expected a list of {\"id\": NUMBER, \"content\": TEXT, ...}"},
    };
    static const struct {
        const char *part, *sentence;
    } models[] = {
        {"\"model\": {\"type\": \"WordPiece\"}", "model: \"WordPiece\" is not supported"},
        {"\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", 0]]}", "model.unk_id: expected the number of a token"},
        {"\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\"]]}", "model.vocab: expected a list of [TOKEN, SCORE]"},
        {"\"model\": {\"type\": \"BPE\", \"dropout\": 0.1, \"vocab\": {\"a\": 0}, \"merges\": [\"a b\"]}",
         "model.dropout: only null is supported"},
        {"\"model\": {\"type\": \"BPE\", \"end_of_word_suffix\": \"</w>\", \"vocab\": {\"a\": 0}, \"merges\": [\"a b\"]}",
         "model.end_of_word_suffix: only null is supported"},
        {"\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 1}, \"merges\": [\"a b\"]}",
         "model.vocab: \"a\": expected an id from 0 to 0, a different one for each token"},
        {"\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [[\"a\", 1]]}",
         "model.merges: expected a list of \"A B\" or [\"A\", \"B\"]"},
    };
    char text[1000], sentence[300];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases + sizeof models / sizeof *models; i++) {
        const int whole = i < sizeof cases / sizeof *cases;
        const size_t m = whole ? 0 : i - sizeof cases / sizeof *cases;
        snprintf(text, sizeof text, "{%s%s%s}", whole ? model : models[m].part, whole ? ", " : "",
                 whole ? cases[i].part : "");
        snprintf(sentence, sizeof sentence, "%%s/tokenizer.json: %s", whole ? cases[i].sentence : models[m].sentence);
        write_string(folder, "tokenizer.json", text);
        const rill_tokenizer_files files = required_files("t5");
        refuse(&files, RILL_ERR_FORMAT, sentence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(tokens_that_stand_alone),
        CASE(runs_and_marks_are_as_tokenizer_json_says),
        CASE(bytes_stand_for_characters),
        CASE(spaces_go_as_the_folder_says),
        CASE(bytes_may_begin_no_character),
        CASE(tokenizer_json_is_refused_by_key),
        CASE(normalizers_lengthen_a_text_within_bounds),
        CASE(each_byte_has_a_letter),
    };
    return cmocka_run_group_tests_name("tokenizer_json", tests, NULL, NULL);
}
