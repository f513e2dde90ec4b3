/* domains/text: the tokenizer of FSMT models and its parts. Moses' tokenizer and detokenizer and byte pair encoding
 * give what transformers and sacremoses give on the texts of tests/data/mt/moses, string by string; invalid files are
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "helpers.h"
#include "moses.h"
#include "mt.h"
#include "reference.h"
#include "segmenters.h"
#include "tokenizer.h"
#include "vocabulary.h"

static const rill_domain *const domain = &rill_mt_domain;

#include "folder_fixture.h"

static void copy_names(const char *from, const char *const *names, size_t count)
{
    char *path = data_path(from);
    for (size_t i = 0; i < count; i++) copy_file(path, folder, names[i]);
    free(path);
}

static void fill_folder(void)
{
    static const char *const ours[] = {"merges.txt", "nonbreaking_prefix.en", "nonbreaking_prefix.de",
                                       "nonbreaking_prefix.ru"};
    static const char *const model[] = {"config.json", "model.safetensors", "vocab-src.json", "vocab-tgt.json"};
    copy_names("mt/moses", ours, sizeof ours / sizeof *ours);
    copy_names("mt/fsmt", model, sizeof model / sizeof *model);
}

static rill_moses_bpe *open_language(const char *language)
{
    char config[60];
    rill_moses_bpe *fsmt;
    snprintf(config, sizeof config, "{\"langs\": [\"%s\", \"%s\"]}", language, language);
    write_string(folder, "tokenizer_config.json", config);
    assert_ok(ctx, rill_moses_bpe_open(&fsmt, ctx, folder, NULL));
    return fsmt;
}

/* --- against the reference ---------------------------------------------------------------------------------------- */

static rill_status collect(void *user, const char *subword, size_t length)
{
    rill_text *out = user;
    if (out->length > 0) assert_int_equal(rill_text_append(out, " ", 1), RILL_OK);
    return rill_text_append(out, subword, length);
}

/* Fail unless the texts are equal; a text without bytes may be NULL. */
static void assert_same(const char *language, const char *input, const rill_text *found, const char *expected)
{
    const char *text = found->length > 0 ? found->data : "";
    if (strcmp(text, expected) == 0) return;
    fail_msg("%s: [%s]\n  expected [%s]\n  found    [%s]", language, input, expected, text);
}

static void check_numbers(const rill_vocabulary *v, const char *subwords, const json_t *expected)
{
    size_t count = 0;
    const int32_t unknown = rill_vocabulary_id(v, "<unk>", 5);
    for (const char *subword = subwords; *subword != '\0';) {
        size_t length = strcspn(subword, " ");
        int32_t id = rill_vocabulary_id(v, subword, length);
        assert_int_equal(id >= 0 ? id : unknown, json_integer_value(json_array_get(expected, count++)));
        subword += length + (subword[length] == ' ');
    }
    assert_int_equal(count, json_array_size(expected));
}

static void check_language(const char *language, const json_t *cases, const rill_vocabulary *v)
{
    rill_moses_bpe *fsmt = open_language(language);
    rill_text out = {.ctx = ctx};
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(cases, "split"), i, one)
    {
        const char *text = json_string_value(json_array_get(one, 0));
        rill_text_reset(&out);
        assert_ok(ctx, rill_moses_bpe_split(fsmt, ctx, RILL_SIDE_SOURCE, text, strlen(text), collect, &out));
        assert_same(language, text, &out, json_string_value(json_array_get(one, 1)));
        check_numbers(v, out.length > 0 ? out.data : "", json_array_get(one, 2));
    }
    assert_true(i > 100);
    json_array_foreach(json_object_get(cases, "join"), i, one)
    {
        const char *subwords = json_string_value(json_array_get(one, 0));
        const size_t length = strlen(subwords);
        rill_text_reset(&out); /* Spaces in tokens are dropped, so all tokens joined as one token give the same text. */
        assert_ok(ctx, rill_moses_bpe_join(fsmt, 1, &subwords, &length, &out));
        assert_same(language, subwords, &out, json_string_value(json_array_get(one, 1)));
    }
    assert_true(i > 200);
    rill_text_clear(&out);
    rill_moses_bpe_close(fsmt);
}

static void texts_are_those_of_the_reference(void **state)
{
    (void)state;
    static const char *const languages[] = {"en", "de", "ru"};
    reference r = reference_open("mt/moses");
    char *vocabulary = join_path(r.path, "vocab-src.json");
    rill_vocabulary *v;
    assert_ok(ctx, rill_vocabulary_open(&v, ctx, vocabulary, 1 << 20));
    for (size_t i = 0; i < 3; i++) check_language(languages[i], json_object_get(r.expected, languages[i]), v);
    rill_vocabulary_close(v);
    free(vocabulary);
    reference_close(&r);
}

/* --- prefixes ----------------------------------------------------------------------------------------------------- */

static rill_moses moses_open(const char *directory, rill_moses_language language)
{
    rill_prefixes *prefixes;
    assert_ok(ctx, rill_prefixes_open(&prefixes, ctx, directory, language));
    return (rill_moses){.ctx = ctx, .language = language, .prefixes = prefixes};
}

static void moses_close(rill_moses *moses)
{
    rill_prefixes_close((void *)(uintptr_t)moses->prefixes);
    rill_moses_clear(moses);
}

static void assert_tokens(rill_moses *moses, const char *text, int lower, const char *expected)
{
    rill_text out = {.ctx = ctx};
    assert_ok(ctx, rill_moses_split(moses, text, strlen(text), lower, collect, &out));
    assert_same("tokens", text, &out, expected);
    rill_text_clear(&out);
}

/* GPT-2's splitting into words: a contraction such as 's is a word, even before a letter, but not in capitals. */
static void contractions_are_words(void **state)
{
    (void)state;
    static const char *const forms[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    char text[16];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (int next_kind = 0; next_kind < 3; next_kind++) {
            const int length = snprintf(text, sizeof text, "%s%s", forms[i],
                                        next_kind == 0   ? ""
                                        : next_kind == 1 ? " a"
                                                         : "x");
            assert_int_equal(rill_byte_word(text, (size_t)length), strlen(forms[i]));
        }
    static const struct {
        const char *text;
        size_t length;
    } others[] = {{"'D a", 1}, {"'x", 1}, {"'", 1}, {"''d", 2}, {"a'd", 1}, {" 'd", 2}, {"'r", 1}, {"'l a", 1}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (rill_byte_word(others[i].text, strlen(others[i].text)) != others[i].length) fail_msg("%s", others[i].text);
    /* white space before a word, but for its last space; at the end of the text, all of it */
    assert_int_equal(rill_byte_word("   a", 4), 2);
    assert_int_equal(rill_byte_word("   ", 3), 3);
    assert_int_equal(rill_byte_word(" ", 1), 1);
}

static void own_prefixes(void **state)
{
    (void)state;
    static const struct {
        rill_moses_language language;
        const char *text, *tokens;
    } cases[] = {
        {RILL_MOSES_EN, "Mrs. Brown met Dr. No. 7 at No. 7 St. Johns.",
         "Mrs. Brown met Dr. No. 7 at No. 7 St. Johns ."},
        {RILL_MOSES_EN, "She said no. Then No. Yes.", "She said no . Then No . Yes ."},
        {RILL_MOSES_EN, "Am 3. Mai", "Am 3 . Mai"},
        {RILL_MOSES_DE, "Am 3. Mai traf Prof. Weber ca. 400. Gäste.", "Am 3. Mai traf Prof. Weber ca. 400 . Gäste ."},
        {RILL_MOSES_DE, "Am 23. Mai und am 99. Tag, dem 100. Tag.", "Am 23. Mai und am 99. Tag , dem 100 . Tag ."},
        {RILL_MOSES_DE, "Am 10. und 0. Mai, 05. Mai", "Am 10. und 0. Mai , 05. Mai"},
        {RILL_MOSES_RU, "Он живёт: г. Москва, ул. Ленина, 5. Да.", "Он живёт : г. Москва , ул. Ленина , 5 . Да ."},
    };
    char *empty = folder_make();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rill_moses moses = moses_open(empty, cases[i].language);
        assert_tokens(&moses, cases[i].text, 0, cases[i].tokens);
        moses_close(&moses);
    }
    folder_remove(empty);
}

static void a_file_of_prefixes(void **state)
{
    (void)state;
    static const char list[] =
        "# A comment.\r\n Foo \n\nBar #NUMERIC_ONLY#\nBaz\nBaz #NUMERIC_ONLY#\n#NUMERIC_ONLY#\nlast";
    rill_prefixes *p;
    assert_ok(ctx, rill_prefixes_parse(&p, ctx, "list", list, sizeof list - 1));
    assert_int_equal(rill_prefixes_find(p, "Foo", 3), RILL_PREFIX_ALWAYS);
    assert_int_equal(rill_prefixes_find(p, "last", 4), RILL_PREFIX_ALWAYS);
    assert_int_equal(rill_prefixes_find(p, "Bar", 3), RILL_PREFIX_NUMERIC_ONLY);
    assert_int_equal(rill_prefixes_find(p, "Baz", 3), RILL_PREFIX_NUMERIC_ONLY);
    assert_int_equal(rill_prefixes_find(p, "Ba", 2), RILL_PREFIX_NONE);
    assert_int_equal(rill_prefixes_find(p, "# A comment.", 12), RILL_PREFIX_NONE);
    assert_int_equal(rill_prefixes_find(p, "7", 1), RILL_PREFIX_NONE);
    rill_prefixes_close(p);
    assert_ok(ctx, rill_prefixes_parse(&p, ctx, "list", "", 0));
    assert_int_equal(rill_prefixes_find(p, "Foo", 3), RILL_PREFIX_NONE);
    rill_prefixes_close(p);
    assert_int_equal(rill_prefixes_parse(&p, ctx, "list", "a\n\xFF", 3), RILL_ERR_FORMAT);
    assert_string_equal(rill_error(ctx), "list: byte 3 is not UTF-8");
}

static void lower_case(void **state)
{
    (void)state;
    rill_moses moses = moses_open(folder, RILL_MOSES_DE);
    assert_tokens(&moses, "ÄRZTE Und ЁЛКА", 1, "ärzte und ёлка");
    moses_close(&moses);
}

/* A comma within a number does not split it, whatever its digits. Fractions are punctuation, and ideographic number
 * signs are no numbers. */
static void numbers_of_all_kinds(void **state)
{
    (void)state;
    rill_moses moses = moses_open(folder, RILL_MOSES_EN);
    assert_tokens(&moses, "1,2 ½,½ Ⅷ,Ⅷ ٣,٣ 〇,〇 a,b", 0, "1,2 ½ , ½ Ⅷ,Ⅷ ٣,٣ 〇 , 〇 a , b");
    moses_close(&moses);
}

/* --- byte pairs --------------------------------------------------------------------------------------------------- */

static void assert_subwords(const char *merges, const char *word, const char *expected)
{
    rill_vocabulary *own;
    rill_text out = {.ctx = ctx};
    assert_ok(ctx, rill_merges_parse(&own, ctx, "merges.txt", merges, strlen(merges)));
    rill_bpe bpe = {.ctx = ctx, .merges = own};
    assert_ok(ctx, rill_bpe_split(&bpe, word, strlen(word), collect, &out));
    assert_same("pieces", word, &out, expected);
    rill_text_clear(&out);
    rill_bpe_clear(&bpe);
    rill_vocabulary_close(own);
}

static void merges_by_rank(void **state)
{
    (void)state;
    assert_subwords("x y\n", "a", "a</w>");
    assert_subwords("x y\n", "xyxy", "xy x y</w>");
    assert_subwords("a a\n", "aaaaa", "aa aa a</w>");
    assert_subwords("a a\naa aa\n", "aaaaaaaaa", "aaaa aaaa a</w>");
    assert_subwords("b c</w>\na b\n", "abc", "a bc</w>");
    assert_subwords("a b\nb c</w>\nab c</w>", "abc", "abc</w>");
    assert_subwords("é é\n", "éééé", "éé é é</w>");
    /* A pair that arises during a round of merges waits for the end of the round, although its line comes earlier in
     * the file: all "a b" are merged before "ab a". */
    assert_subwords("ab a\na b\n", "abab", "aba b</w>");
    assert_subwords("ab a\na b\n", "ababx", "ab ab x</w>");
}

/* Among segmentations of equal score, rill takes that of the tokenizers library: the one whose last token is longer. */
static void cuts_that_are_worth_the_same(void **state)
{
    (void)state;
    int32_t sorted[] = {0, 1, 2, 3, 4};
    double score[] = {-9, -1, -1, -1, -1};
    rill_vocabulary *subwords;
    rill_text out = {.ctx = ctx};
    assert_ok(ctx, rill_vocabulary_parse(&subwords, ctx, "v", "?\nb\nbo\nm\nom\n", 12, 5));
    const rill_pipeline p = {
        .vocabulary = subwords, .sorted_ids = sorted, .score = score, .n_scores = 5, .unk_score = -9, .unk_id = 0};
    assert_ok(ctx, rill_unigram_split(&p, ctx, "bom", 3, collect, &out));
    assert_string_equal(out.data, "b om");
    rill_text_clear(&out);
    rill_vocabulary_close(subwords);
}

static void merges_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } bad[] = {
        {"", "m: expected one token per line, found an empty file"},
        {"a b\nab\n", "m:2: expected two subword tokens separated by a space"},
        {"a b c\n", "m:1: expected two subword tokens separated by a space"},
        {" ab\n", "m:1: expected two subword tokens separated by a space"},
        {"a b\n\nc d\n", NULL},
        {"a b\na b\n", NULL},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rill_vocabulary *bpe;
        assert_int_equal(rill_merges_parse(&bpe, ctx, "m", bad[i].text, strlen(bad[i].text)), RILL_ERR_FORMAT);
        assert_null(bpe);
        if (bad[i].sentence != NULL) assert_string_equal(rill_error(ctx), bad[i].sentence);
    }
}

/* --- long lines --------------------------------------------------------------------------------------------------- */

/* A text repeated a hundred thousand times without a space; quadratic time would show. */
static void long_words_take_no_long(void **state)
{
    (void)state;
    enum { LENGTH = 100000 };
    static const char *const unit[] = {".", "a", "'", "\"", "-", " ", ",", "\u00a0", ".\"", "a-", "…"};
    static const char merges[] = "a a\naa aa\naaaa aaaa\n. .\n";
    char *text = malloc(LENGTH * 4);
    rill_text out = {.ctx = ctx}, back = {.ctx = ctx};
    assert_non_null(text);
    rill_moses moses = moses_open(folder, RILL_MOSES_DE);
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        size_t size = strlen(unit[i]);
        for (size_t i_unit = 0; i_unit < LENGTH; i_unit++) memcpy(text + i_unit * size, unit[i], size);
        rill_text_reset(&out);
        rill_text_reset(&back);
        assert_ok(ctx, rill_moses_split(&moses, text, LENGTH * size, 0, collect, &out));
        if (out.length > 0) assert_ok(ctx, rill_moses_join(&moses, out.data, out.length, &back));
    }
    rill_vocabulary *own;
    assert_ok(ctx, rill_merges_parse(&own, ctx, "m", merges, sizeof merges - 1));
    rill_bpe bpe = {.ctx = ctx, .merges = own};
    memset(text, 'a', LENGTH);
    rill_text_reset(&out);
    assert_ok(ctx, rill_bpe_split(&bpe, text, LENGTH, collect, &out));
    assert_memory_equal(out.data, "aaaaaaaa aaaaaaaa ", 18);
    rill_bpe_clear(&bpe);
    rill_vocabulary_close(own);
    moses_close(&moses);
    rill_text_clear(&out);
    rill_text_clear(&back);
    free(text);
}

/* --- packages of Argos Translate ---------------------------------------------------------------------------------- */

/* Make a package whose codes are merges.txt without its first line, and open it. */
static rill_status open_argos(const char *version, const char *language, rill_moses_bpe **out)
{
    size_t length;
    char *merges = read_bytes(folder, "merges.txt", &length), codes[8192], metadata[80];
    assert_true((size_t)snprintf(codes, sizeof codes, "%s%.*s", version, (int)length, merges) < sizeof codes);
    snprintf(metadata, sizeof metadata, "{\"from_code\": \"%s\", \"to_code\": \"%s\"}", language, language);
    write_string(folder, "bpe.model", codes);
    write_string(folder, "metadata.json", metadata);
    free(merges);
    return rill_moses_bpe_open(out, ctx, folder, "bpe.model");
}

/* Detokenize subword tokens separated by spaces. */
static void join_marked(const rill_moses_bpe *bpe, const char *subwords, rill_text *out)
{
    const char *piece[200];
    size_t length[200], n = 0;
    for (const char *at = subwords; *at != '\0'; n++) {
        piece[n] = at;
        length[n] = strcspn(at, " ");
        at += length[n] + (at[length[n]] == ' ');
    }
    rill_text_reset(out);
    assert_ok(ctx, rill_moses_bpe_join(bpe, n, piece, length, out));
}

static void argos_texts_are_those_of_the_reference(void **state)
{
    (void)state;
    reference r = reference_open("mt/moses");
    rill_text out = {.ctx = ctx};
    const char *language;
    json_t *cases, *one;
    size_t i, n = 0;
    json_object_foreach(json_object_get(r.expected, "argos"), language, cases)
    {
        rill_moses_bpe *bpe;
        assert_ok(ctx, open_argos("#version: 0.2\n", language, &bpe));
        json_array_foreach(json_object_get(cases, "split"), i, one)
        {
            const char *text = json_string_value(json_array_get(one, 0));
            rill_text_reset(&out);
            assert_ok(ctx, rill_moses_bpe_split(bpe, ctx, RILL_SIDE_SOURCE, text, strlen(text), collect, &out));
            assert_same(language, text, &out, json_string_value(json_array_get(one, 1)));
        }
        assert_true(i > 60);
        json_array_foreach(json_object_get(cases, "join"), i, one)
        {
            const char *subwords = json_string_value(json_array_get(one, 0));
            join_marked(bpe, subwords, &out);
            assert_same(language, subwords, &out, json_string_value(json_array_get(one, 1)));
        }
        assert_true(i > 60);
        rill_moses_bpe_close(bpe);
        n++;
    }
    assert_int_equal(n, 4);
    rill_text_clear(&out);
    reference_close(&r);
}

static void argos_packages_that_are_refused(void **state)
{
    (void)state;
    rill_moses_bpe *bpe;
    assert_int_equal(open_argos("", "de", &bpe), RILL_ERR_FORMAT);
    assert_error(ctx,
                 "%s/bpe.model:1: expected subword-nmt's codes, which begin with \"#version: 0.2\", or the "
                 "option tokenized for inputs that are tokens",
                 folder);
    assert_int_equal(open_argos("#version: 0.2\n", "fr", &bpe), RILL_ERR_FORMAT);
    assert_error(ctx,
                 "%s/metadata.json: from_code: the package has a BPE model, whose rules for \"fr\" are not supported: "
                 "tokenize the text with another program and set tokenized",
                 folder);
    write_string(folder, "metadata.json", "{\"from_code\": \"de\"}");
    assert_int_equal(rill_moses_bpe_open(&bpe, ctx, folder, "bpe.model"), RILL_ERR_FORMAT);
    assert_error(ctx, "%s/metadata.json: to_code: expected a text, found nothing", folder);
    assert_null(bpe);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void fsmt_refused(const char *sentence)
{
    rill_moses_bpe *fsmt;
    assert_true(rill_moses_bpe_open(&fsmt, ctx, folder, NULL) < 0);
    assert_null(fsmt);
    assert_error(ctx, sentence, folder);
}

static void languages_of_a_folder(void **state)
{
    (void)state;
    rill_moses_bpe *fsmt;
    write_string(folder, "tokenizer_config.json", "{\"langs\": [\"en\", \"fr\"]}");
    fsmt_refused(
        "%s/tokenizer_config.json: langs: the built-in tokenizer supports de, en and ru, and the target language is \"fr\": "
        "tokenize the text with another program and set tokenized");
    write_string(folder, "tokenizer_config.json", "{\"langs\": [\"en\"]}");
    fsmt_refused("%s/tokenizer_config.json: langs: expected an array of 2 texts, found an array");
    write_string(folder, "tokenizer_config.json", "{\"langs\": \"de\"}");
    fsmt_refused("%s/tokenizer_config.json: langs: expected an array of 2 texts, found \"de\"");
    write_string(folder, "tokenizer_config.json", "{}");
    assert_ok(ctx, rill_moses_bpe_open(&fsmt, ctx, folder, NULL)); /* the languages are in config.json too */
    rill_moses_bpe_close(fsmt);
    write_string(folder, "config.json", "{}");
    fsmt_refused("%s/config.json: langs is missing: expected an array of two languages");
}

static void missing_files(void **state)
{
    (void)state;
    static const char *const names[] = {"model.safetensors", "merges.txt", "vocab-tgt.json", "vocab-src.json",
                                        "config.json"};
    assert_int_equal(open_folder(folder, 0), RILL_OK);
    each_missing_file_is_reported(names, sizeof names / sizeof *names);
}

/* Tokenized input needs neither merges nor languages. */
static void subwords_need_no_tokenizer(void **state)
{
    (void)state;
    remove_one("merges.txt");
    write_string(folder, "tokenizer_config.json", "{\"langs\": [\"en\", \"fr\"]}");
    assert_int_equal(open_folder(folder, 1), RILL_OK);
}

/* A tokenizer has no state: earlier calls, also in other threads, do not affect it. */
static void contexts_are_apart(void **state)
{
    (void)state;
    const rill_tokenizer_files files = {.kind = RILL_TOKENIZER_WHITESPACE,
                                        .directory = folder,
                                        .source = "vocab-src.json",
                                        .target = "vocab-tgt.json",
                                        .source_vocab_size = 1000,
                                        .target_vocab_size = 1000};
    static const int32_t actions[] = {6, 7, 8, 9, 4};
    rill_tokenizer *codec;
    failing_allocator other;
    rill_context *own = failing_allocator_context(&other);
    rill_text a = {.ctx = ctx}, b = {.ctx = own};
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    assert_ok(ctx, rill_tokenizer_decode(codec, 5, actions, &a));
    assert_ok(own, rill_tokenizer_decode(codec, 5, actions, &b));
    assert_string_equal(a.data, "and</w> book</w> buch</w> der</w> .</w>");
    assert_string_equal(b.data, a.data);
    rill_text_clear(&a), rill_text_clear(&b);
    failing_allocator_finish(&other, own);
    rill_tokenizer_close(codec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(texts_are_those_of_the_reference),
        CASE(contractions_are_words),
        CASE(own_prefixes),
        CASE(a_file_of_prefixes),
        CASE(lower_case),
        CASE(numbers_of_all_kinds),
        CASE(merges_by_rank),
        CASE(cuts_that_are_worth_the_same),
        CASE(merges_that_are_refused),
        CASE(long_words_take_no_long),
        CASE(argos_texts_are_those_of_the_reference),
        CASE(argos_packages_that_are_refused),
        CASE(languages_of_a_folder),
        CASE(missing_files),
        CASE(subwords_need_no_tokenizer),
        CASE(contexts_are_apart),
    };
    return cmocka_run_group_tests_name("domains_moses_bpe", tests, NULL, NULL);
}
