/* domains/common: what the readers of model files accept and refuse, with the exact messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "config_json.h"
#include "domain_base.h"
#include "helpers.h"
#include "utf8.h"
#include "vocabulary.h"

/* Included after helpers.h, since it uses names from there. */
#include "context_fixture.h"

/* --- arena, utf8 -------------------------------------------------------------------------------------------------- */

static void blocks_are_aligned_and_freed_together(void **state)
{
    (void)state;
    rill_arena blocks = {.ctx = ctx};
    float *some;
    char *one;
    assert_int_equal(rill_arena_alloc(&blocks, &some, 100, sizeof *some, "some"), RILL_OK);
    assert_int_equal(rill_arena_alloc(&blocks, &one, 1, 1, "one"), RILL_OK);
    assert_int_equal((uintptr_t)some % 64, 0);
    assert_int_equal((uintptr_t)one % 64, 0);
    memset(some, 0, 100 * sizeof *some);
    assert_int_equal(rill_arena_alloc(&blocks, &some, SIZE_MAX, 2, "too much"), RILL_ERR_MEMORY);
    assert_string_equal(rill_error(ctx), "out of memory: the size of too much overflows");
    rill_arena_clear(&blocks);
    assert_int_equal(rill_memory_used(ctx), 0);
}

static void utf8_finds_the_first_bad_byte(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length, good;
    } cases[] = {
        {"", 0, 0},
        {"plain text, longer than eight", 29, 29},
        {"caf\xC3\xA9", 5, 5},
        {"\xE2\x82\xAC", 3, 3},
        {"\xF0\x9F\x98\x80", 4, 4},
        {"\xF4\x8F\xBF\xBF", 4, 4},
        {"ab\x80", 3, 2},
        {"\xC0\x80", 2, 0},
        {"\xC1\xBF", 2, 0},
        {"\xE0\x9F\xBF", 3, 0},
        {"\xED\xA0\x80", 3, 0},
        {"\xF0\x8F\xBF\xBF", 4, 0},
        {"\xF4\x90\x80\x80", 4, 0},
        {"\xF5\x80\x80\x80", 4, 0},
        {"12345678\xC3", 9, 8},
        {"\xE2\x82", 2, 0},
        {"\xE2\x82x", 3, 0},
        {"\xFF", 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(rill_utf8_check(cases[i].bytes, cases[i].length), cases[i].good);
    static const int32_t characters[] = {'e',    0,       0x7F,     0x80, 0x7FF, 0x800, 0xD7FF, 0xE000,
                                         0xFFFF, 0x10000, 0x10FFFF, -1,   -1,    'x',   -1};
    static const char text[] = "e\0\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\xF0\x90\x80\x80"
                               "\xF4\x8F\xBF\xBF\xE2\x82x\xC3";
    size_t offset = 0;
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++)
        assert_int_equal(rill_utf8_read(text, sizeof text - 1, &offset), characters[i]);
    assert_int_equal(offset, sizeof text - 1);
}

/* --- config ------------------------------------------------------------------------------------------------------- */

static rill_config *parse(const char *text)
{
    rill_config *config;
    if (rill_config_parse(&config, ctx, "c.json", text, strlen(text)) != RILL_OK) fail_msg("%s", rill_error(ctx));
    return config;
}

static void config_gives_typed_values(void **state)
{
    (void)state;
    rill_config *c = parse("{\"n\": 7, \"x\": 0.5, \"rill\": {\"domain\": \"semparse\", \"options\": {\"k\": 3}},"
                           " \"none\": null, \"yes\": true}");
    int32_t n;
    double x;
    const char *text;
    int flag;
    assert_int_equal(rill_config_int(c, "n", 0, 10, &n), RILL_OK);
    assert_int_equal(n, 7);
    assert_int_equal(rill_config_int(c, "rill.options.k", 0, 10, &n), RILL_OK);
    assert_int_equal(n, 3);
    assert_int_equal(rill_config_int_or(c, "none", 0, 10, 4, &n), RILL_OK);
    assert_int_equal(n, 4);
    assert_int_equal(rill_config_number_or(c, "x", 0, 1, 2, &x), RILL_OK);
    assert_true(x == 0.5);
    assert_int_equal(rill_config_number_or(c, "y", 0, 1, 0.25, &x), RILL_OK);
    assert_true(x == 0.25);
    assert_int_equal(rill_config_string(c, "rill.domain", &text), RILL_OK);
    assert_string_equal(text, "semparse");
    assert_int_equal(rill_config_string_or(c, "n.below", "fallback", &text), RILL_OK);
    assert_string_equal(text, "fallback");
    assert_int_equal(rill_config_bool_or(c, "yes", 0, &flag), RILL_OK);
    assert_true(flag);
    assert_int_equal(rill_config_expect_object(c, "rill"), RILL_OK);
    assert_int_equal(rill_config_expect_object(c, "other"), RILL_OK);
    assert_int_equal(rill_config_expect(c, "rill.domain", "semparse"), RILL_OK);
    assert_int_equal(rill_config_expect(c, "model_type", "anything"), RILL_OK);
    assert_string_equal(rill_config_name(c), "c.json");
    rill_config_close(c);
}

static void config_says_what_it_expected(void **state)
{
    (void)state;
    rill_config *c = parse("{\"n\": 70, \"s\": \"long\", \"a\": [1], \"f\": 1.5, \"o\": {}, \"t\": true}");
    int32_t n;
    double x;
    const char *text;
    int flag;
#define REFUSED(call, sentence)                         \
    do {                                                \
        assert_int_equal((call), RILL_ERR_FORMAT);      \
        assert_string_equal(rill_error(ctx), sentence); \
    } while (0)
    REFUSED(rill_config_int(c, "n", 0, 10, &n), "c.json: n: expected an integer from 0 to 10, found 70");
    REFUSED(rill_config_int(c, "f", 0, 10, &n), "c.json: f: expected an integer from 0 to 10, found 1.5");
    REFUSED(rill_config_int(c, "o.m", 0, 10, &n), "c.json: o.m: expected an integer from 0 to 10, found nothing");
    REFUSED(rill_config_int_or(c, "s", 0, 10, 5, &n), "c.json: s: expected an integer from 0 to 10, found \"long\"");
    REFUSED(rill_config_number_or(c, "a", 0, 1, 2, &x), "c.json: a: expected a number from 0 to 1, found an array");
    REFUSED(rill_config_number_or(c, "f", 0, 1, 0, &x), "c.json: f: expected a number from 0 to 1, found 1.5");
    REFUSED(rill_config_string(c, "o", &text), "c.json: o: expected a text, found an object");
    REFUSED(rill_config_string_or(c, "t", "", &text), "c.json: t: expected a text, found true");
    REFUSED(rill_config_bool_or(c, "n", 0, &flag), "c.json: n: expected true or false, found 70");
    REFUSED(rill_config_expect_object(c, "n"), "c.json: n: expected an object, found 70");
    REFUSED(rill_config_expect(c, "s", "short"), "c.json: s: expected \"short\", found \"long\"");
    rill_config_close(c);
}

static void config_refuses_bad_json(void **state)
{
    (void)state;
    rill_config *c;
    static const char *const bad[][2] = {
        {"{\"a\": 1,\n \"b\" 2}", "c.json:2: ':' expected near '2'"},
        {"{\"a\": 1, \"a\": 2}", "c.json:1: duplicate object key near '\"a\"'"},
        {"[1]", "c.json: expected an object, found another kind of value"},
        {"{} x", "c.json:1: end of file expected near 'x'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(rill_config_parse(&c, ctx, "c.json", bad[i][0], strlen(bad[i][0])), RILL_ERR_FORMAT);
        assert_string_equal(rill_error(ctx), bad[i][1]);
        assert_null(c);
    }
    assert_int_equal(rill_config_parse(&c, ctx, "c.json", "", 0), RILL_ERR_FORMAT);
}

static rill_status read_a(void *user, const rill_config *config)
{
    return rill_config_int(config, "a", 0, 9, user);
}

static void config_of_a_folder_may_be_absent(void **state)
{
    (void)state;
    char *folder = folder_make();
    int32_t a = 0;
    int found = -1;
    write_string(folder, "c.json", "{\"a\": 7}");
    assert_ok(ctx, rill_config_read(ctx, folder, "c.json", read_a, &a, &found));
    assert_true(found == 1 && a == 7);
    assert_ok(ctx, rill_config_read(ctx, folder, "d.json", read_a, &a, &found));
    assert_true(found == 0 && a == 7);
    assert_string_equal(rill_error(ctx), "");
    assert_int_equal(rill_config_read(ctx, folder, "d.json", read_a, &a, NULL), RILL_ERR_NOT_FOUND);
    assert_error(ctx, "cannot open %s/d.json: No such file or directory", folder);
    write_string(folder, "c.json", "{\"a\": 10}");
    assert_int_equal(rill_config_read(ctx, folder, "c.json", read_a, &a, &found), RILL_ERR_FORMAT);
    assert_int_equal(found, 1);
    write_string(folder, "c.json", "{");
    assert_int_equal(rill_config_read(ctx, folder, "c.json", read_a, &a, &found), RILL_ERR_FORMAT);
    folder_remove(folder);
}

/* --- vocabulary --------------------------------------------------------------------------------------------------- */

static void vocabulary_numbers_lines(void **state)
{
    (void)state;
    static const char text[] = "<s>\n</s>\nnew york\nz\xC3\xBCrich\nlast";
    rill_vocabulary *v;
    assert_int_equal(rill_vocabulary_parse(&v, ctx, "v", text, sizeof text - 1, 5), RILL_OK);
    assert_int_equal(rill_vocabulary_count(v), 5);
    size_t length;
    assert_string_equal(rill_vocabulary_token(v, 2, &length), "new york");
    assert_int_equal(length, 8);
    assert_string_equal(rill_vocabulary_token(v, 4, NULL), "last");
    for (int32_t i = 0; i < 5; i++) {
        const char *token = rill_vocabulary_token(v, i, &length);
        assert_int_equal(rill_vocabulary_id(v, token, length), i);
    }
    assert_int_equal(rill_vocabulary_id(v, "las", 3), -1);
    assert_int_equal(rill_vocabulary_id(v, "", 0), -1);
    rill_vocabulary_close(v);
}

static void vocabulary_finds_all_of_many(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    char *text = malloc(MANY * 8), token[16];
    assert_non_null(text);
    size_t pos = 0;
    for (int i = 0; i < MANY; i++) pos += (size_t)sprintf(text + pos, "t%d\n", i);
    rill_vocabulary *v;
    assert_int_equal(rill_vocabulary_parse(&v, ctx, "v", text, pos, MANY), RILL_OK);
    for (int i = 0; i < MANY; i++) assert_int_equal(rill_vocabulary_id(v, token, (size_t)sprintf(token, "t%d", i)), i);
    for (int i = MANY; i < 2 * MANY; i++)
        assert_int_equal(rill_vocabulary_id(v, token, (size_t)sprintf(token, "t%d", i)), -1);
    rill_vocabulary_close(v);
    free(text);
}

static void vocabulary_grows(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    char token[16];
    int32_t id;
    rill_vocabulary *v;
    assert_ok(ctx, rill_vocabulary_create(&v, ctx));
    for (int round = 0; round < 2; round++) {
        assert_int_equal(rill_vocabulary_count(v), 0);
        assert_int_equal(rill_vocabulary_id(v, "t0", 2), -1);
        for (int i = 0; i < 2 * MANY; i++) { /* every token twice */
            assert_ok(ctx, rill_vocabulary_intern(v, token, (size_t)sprintf(token, "t%d", i / 2), &id));
            assert_int_equal(id, i / 2);
        }
        assert_int_equal(rill_vocabulary_count(v), MANY);
        for (int i = 0; i < MANY; i++) {
            assert_int_equal(rill_vocabulary_id(v, token, (size_t)sprintf(token, "t%d", i)), i);
            assert_string_equal(rill_vocabulary_token(v, i, NULL), token);
        }
        assert_ok(ctx, rill_vocabulary_add(v, "v", "a\0b", 3)); /* a token may consist of any bytes */
        assert_int_equal(rill_vocabulary_id(v, "a\0b", 3), MANY);
        assert_int_equal(rill_vocabulary_id(v, "a", 1), -1);
        assert_int_equal(rill_vocabulary_add(v, "v", "t1", 2), RILL_ERR_FORMAT);
        assert_string_equal(rill_error(ctx), "v:1002: \"t1\" is also in line 2");
        assert_int_equal(rill_vocabulary_count(v), MANY + 1);
        assert_ok(ctx, rill_vocabulary_reset(v));
    }
    rill_vocabulary_close(v);
}

static void vocabulary_refuses_with_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
        const char *sentence;
    } bad[] = {
        {"", 0, "v: expected one token per line, found an empty file"},
        {"a\n\nb\n", 5, "v:2: expected a token, found an empty line"},
        {"a\nb\na\n", 6, "v:3: \"a\" is also in line 1"},
        {"a\r\nb\r\n", 6, "v:1: expected lines that end with a line feed, found CR LF"},
        {"a\nb\xFF\n", 5, "v:2: byte 2 of the line is not UTF-8"},
        {"a\nb\0c\n", 6, "v:2: a token may not contain a NUL byte"},
        {"a\nb\nc\nd\ne\n", 10, "v:5: expected at most 4 tokens"},
    };
    rill_vocabulary *v;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(rill_vocabulary_parse(&v, ctx, "v", bad[i].text, bad[i].length, 4), RILL_ERR_FORMAT);
        assert_string_equal(rill_error(ctx), bad[i].sentence);
        assert_null(v);
    }
}

/* Fill a new vocabulary from a JSON text. */
static rill_status open_json(rill_vocabulary **v, const char *text, int32_t limit)
{
    json_t *root = NULL;
    assert_ok(ctx, rill_vocabulary_create(v, ctx));
    rill_status status = rill_json_parse(ctx, "v", text, strlen(text), &root);
    if (status == RILL_OK) status = rill_vocabulary_add_json(*v, "v", root, limit);
    json_decref(root);
    return status;
}

static void json_vocabulary_keeps_given_numbers(void **state)
{
    (void)state;
    static const char text[] = "{\"b\": 1, \"\\u2581a \": 0, \"\\r\\n\": 3, \"c\": 2}";
    rill_vocabulary *v;
    assert_int_equal(open_json(&v, text, 4), RILL_OK);
    assert_int_equal(rill_vocabulary_count(v), 4);
    assert_string_equal(rill_vocabulary_token(v, 0, NULL), "\xE2\x96\x81"
                                                           "a ");
    assert_string_equal(rill_vocabulary_token(v, 3, NULL), "\r\n");
    assert_int_equal(rill_vocabulary_id(v, "b", 1), 1);
    assert_int_equal(rill_vocabulary_id(v, "c", 1), 2);
    assert_int_equal(rill_vocabulary_id(v, "d", 1), -1);
    rill_vocabulary_close(v);
}

static void json_vocabulary_may_be_a_list(void **state)
{
    (void)state;
    static const char text[] = "[\"b\", \"a b\", \"\\u2581c\"]";
    rill_vocabulary *v;
    assert_int_equal(open_json(&v, text, 3), RILL_OK);
    assert_int_equal(rill_vocabulary_count(v), 3);
    assert_int_equal(rill_vocabulary_id(v, "a b", 3), 1);
    assert_string_equal(rill_vocabulary_token(v, 2, NULL), "\xE2\x96\x81"
                                                           "c");
    rill_vocabulary_close(v);
}

static void json_vocabulary_refuses_what_leaves_gaps(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"{}", "v: expected an object of token: number, or a list of tokens"},
        {"[1]", "v: no token has the id 0"},
        {"[]", "v: expected an object of token: number, or a list of tokens"},
        {"[\"a\", \"b\", \"a\"]", "v:3: \"a\" is also in line 1"},
        {"[\"a\",\"b\",\"c\",\"d\",\"e\"]", "v: expected at most 4 tokens, found 5"},
        {"{\"a\": 0, \"b\": 2}", "v: \"b\": expected an id from 0 to 1, a different one for each token"},
        {"{\"a\": -1}", "v: \"a\": expected an id from 0 to 0, a different one for each token"},
        {"{\"a\": \"0\"}", "v: \"a\": expected an id from 0 to 0, a different one for each token"},
        {"{\"a\": 1, \"b\": 1}", "v: \"a\" and \"b\" have the same id 1"},
        {"{\"a\": 0, \"a\": 1}", NULL},
        {"{\"a\": 0", NULL},
        {"{\"a\":0,\"b\":1,\"c\":2,\"d\":3,\"e\":4}", "v: expected at most 4 tokens, found 5"},
    };
    rill_vocabulary *v;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(open_json(&v, bad[i].text, 4), RILL_ERR_FORMAT);
        rill_vocabulary_close(v);
        if (bad[i].error != NULL) assert_string_equal(rill_error(ctx), bad[i].error);
    }
}

/* --- models of other programs ------------------------------------------------------------------------------------- */

static void foreign_formats_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *files[3], *file, *sentence; /* sentence NULL: the format is not recognised */
    } forms[] = {
        {{"pytorch_model.bin"}, "pytorch_model.bin", "model.safetensors is missing: make it with rill convert bin "},
        {{"pytorch_model.bin.index.json"}, "pytorch_model.bin.index.json", "rill convert bin "},
        {{"model.npz", "decoder.yml"},
         "model.npz",
         "if this is a model of Marian or Nematus, convert it with rill convert "},
        {{"model2.pt", "model1.pt", "dict.de.txt"},
         "model1.pt",
         "this is a fairseq model: convert it with rill convert fairseq "},
        {{"model-q4.gguf"}, "model-q4.gguf", "this is a GGUF file of llama.cpp: "},
        {{"model.enpt.intgemm.alphas.bin", "vocab.enpt.spm"},
         "model.enpt.intgemm.alphas.bin",
         "this is a Marian model: convert it with rill convert "},
        {{"model.enpt.bin.gz", "srcvocab.enpt.spm.gz"},
         "model.enpt.bin.gz",
         "this is a Marian model: convert it with rill convert "},
        {{"averaged.pt"},
         "averaged.pt",
         "if this is a checkpoint of OpenNMT-py, convert it with CTranslate2: ct2-opennmt-py-converter --model_path "},
        {{"saved_model.pb"}, "saved_model.pb", "if this is a model of OpenNMT-tf, convert its checkpoint with "},
        {{"de_en.argosmodel"}, "de_en.argosmodel", "this is a package of Argos: unpack it with rill convert "},
        {{"model.safetensors.gz"}, "model.safetensors.gz", "the file is compressed: unpack it with gunzip"},
        {{"model.fp16.safetensors"},
         "model.fp16.safetensors",
         "to use these weights, rename the file to model.safetensors"},
        {{"adapter_config.json", "adapter_model.safetensors"},
         "adapter_config.json",
         "this is an adapter of PEFT: merge it "},
        {{"blobs", "refs", "snapshots"},
         "snapshots",
         "this is a cache of the Hugging Face Hub: use the folder in /tmp/"},
        {{"snapshots", "refs"}, NULL, NULL},
        {{"model-00001-of-00002.safetensors"}, NULL, NULL},
        {{"alone.pth", "dict.json"}, NULL, NULL},
        {{"config.json"}, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char folder[64] = "/tmp/rill-forms-XXXXXX", path[200], start[200];
        assert_non_null(mkdtemp(folder));
        for (int n = 0; n < 3 && forms[i].files[n] != NULL; n++) {
            snprintf(path, sizeof path, "%s/%s", folder, forms[i].files[n]);
            fclose(fopen(path, "w"));
        }
        snprintf(start, sizeof start, "%s/%s: ", folder, forms[i].file != NULL ? forms[i].file : "");
        rill_error_clear(ctx);
        assert_int_equal(rill_unsupported_format_fail(ctx, folder),
                         forms[i].file != NULL ? RILL_ERR_NOT_FOUND : RILL_OK);
        const char *message = rill_error(ctx);
        if (forms[i].file == NULL)
            assert_string_equal(message, "");
        else if (strncmp(message, start, strlen(start)) != 0 || strstr(message, forms[i].sentence) == NULL)
            fail_msg("%s", message);
        for (int n = 0; n < 3 && forms[i].files[n] != NULL; n++) {
            snprintf(path, sizeof path, "%s/%s", folder, forms[i].files[n]);
            remove(path);
        }
        rmdir(folder);
    }
    assert_int_equal(rill_unsupported_format_fail(ctx, "no/such/folder"), RILL_OK);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static rill_status open_one_of_each(rill_context *with, const char *folder)
{
    char *vocabulary_path = join_path(folder, "v");
    int32_t value;
    rill_vocabulary *vocabulary = NULL;
    rill_status status = rill_config_read(with, folder, "c.json", read_a, &value, NULL);
    if (status == RILL_OK) status = rill_vocabulary_open(&vocabulary, with, vocabulary_path, 10);
    rill_vocabulary_close(vocabulary);
    free(vocabulary_path);
    return status;
}

static void readers_survive_every_refusal(void **state)
{
    (void)state;
    char *folder = folder_make();
    write_string(folder, "c.json", "{\"a\": 1}");
    write_string(folder, "v", "a\nb\n");
    assert_true(refuse_each_call(&memory, ctx, open_one_of_each, folder) > 5);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(blocks_are_aligned_and_freed_together),
        CASE(utf8_finds_the_first_bad_byte),
        CASE(config_gives_typed_values),
        CASE(config_says_what_it_expected),
        CASE(config_refuses_bad_json),
        CASE(config_of_a_folder_may_be_absent),
        CASE(vocabulary_numbers_lines),
        CASE(vocabulary_finds_all_of_many),
        CASE(vocabulary_grows),
        CASE(vocabulary_refuses_with_line),
        CASE(json_vocabulary_keeps_given_numbers),
        CASE(json_vocabulary_may_be_a_list),
        CASE(json_vocabulary_refuses_what_leaves_gaps),
        CASE(foreign_formats_are_named),
        CASE(readers_survive_every_refusal),
    };
    return cmocka_run_group_tests_name("domains_common", tests, NULL, NULL);
}
