/* domains/text: added tokens of Marian and FSMT directories. Their ids must be those of transformers
 * (tools/check_transformers.py compares many such directories). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "segmenters.h"
#include "text_folder.h"

static void copy_model(const char *name, const char *const *file, size_t n)
{
    char *path = data_path(name);
    for (size_t i = 0; i < n; i++) copy_file(path, folder, file[i]);
    free(path);
}

static rill_tokenizer_files marian_files(int32_t size)
{
    static const char *const files[] = {"vocab.json", "source.spm", "target.spm"};
    copy_model("mt/shared", files, 3);
    return (rill_tokenizer_files){.kind = RILL_TOKENIZER_SENTENCEPIECE,
                                  .directory = folder,
                                  .source = "vocab.json",
                                  .target = "target_vocab.json",
                                  .target_optional = 1,
                                  .has_added_tokens = 1,
                                  .source_vocab_size = size,
                                  .target_vocab_size = size,
                                  .target_vocab_key = "decoder_vocab_size"};
}

static rill_tokenizer_files marian; /* the files that the memory test opens */

static rill_tokenizer_files fsmt_files(int32_t size)
{
    static const char *const files[] = {"vocab-src.json", "vocab-tgt.json", "merges.txt"};
    copy_model("mt/fsmt", files, 3);
    return (rill_tokenizer_files){.kind = RILL_TOKENIZER_MOSES_BPE,
                                  .directory = folder,
                                  .source = "vocab-src.json",
                                  .target = "vocab-tgt.json",
                                  .has_added_tokens = 1,
                                  .source_vocab_size = size,
                                  .target_vocab_size = size,
                                  .eos = 2};
}

static void writes(const rill_tokenizer *codec, const int32_t *ids, size_t n, const char *expected)
{
    rill_text out = {.ctx = ctx};
    assert_ok(ctx, rill_tokenizer_decode(codec, n, ids, &out));
    assert_string_equal(out.data != NULL ? out.data : "", expected);
    rill_text_clear(&out);
}

/* vocab.json has 51 tokens, the last of which is <pad>. */
static void marian_reads_added_tokens(void **state)
{
    (void)state;
    rill_tokenizer_files files = marian_files(53);
    rill_tokenizer *codec;
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    assert_int_equal(rill_vocabulary_count(codec->source), 51);
    rill_tokenizer_close(codec);
    write_string(folder, "tokenizer_config.json",
                 "{\"added_tokens_decoder\": {\"51\": {\"content\": \"<formal>\"}, \"52\": {\"content\": \"<x>\", "
                 "\"special\": true, \"lstrip\": true}, \"50\": {\"content\": \"<pad>\", \"special\": true}}, "
                 "\"model_max_length\": 1000000000000000019884624838656}");
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    assert_int_equal(rill_vocabulary_id(codec->target, "<x>", 3), 52);
    reads(codec, "<formal>a <x><pad></s><unk>",
          "<formal> \xE2\x96\x81"
          "a <x> <pad> </s> <unk> </s>",
          NULL, NULL);
    writes(codec, (int32_t[]){51, 52, 50, 0}, 4, "<formal>");
    rill_tokenizer_close(codec);
    files.kind = RILL_TOKENIZER_WHITESPACE; /* added tokens are in the vocabulary with --tokenized too */
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec, "<x> a", "<x> a </s>", NULL, NULL);
    rill_tokenizer_close(codec);
}

static void added_tokens_need_fitting_ids(void **state)
{
    (void)state;
    rill_tokenizer_files files = marian_files(60);
    write_string(folder, "added_tokens.json", "{\"<x>\": 53}");
    refuse(&files, RILL_ERR_FORMAT, "vocab.json: \"<x>\" has the id 53: expected 51, the next one");
    write_string(folder, "added_tokens.json", "{\"<x>\": 51}");
    write_string(folder, "target_vocab.json", "{\"</s>\": 0, \"<unk>\": 1, \"a\": 2}");
    refuse(&files, RILL_ERR_FORMAT, "target_vocab.json: \"<x>\" has the id 51: expected 3, the next one");
}

/* An empty added token is refused: splitting a text at it would not end. */
static void added_tokens_may_not_be_empty(void **state)
{
    (void)state;
    const rill_tokenizer_files files = marian_files(60);
    write_string(folder, "vocab.json", "{\"</s>\": 0, \"<unk>\": 1, \"\": 2, \"a\": 3}");
    write_string(folder, "special_tokens_map.json", "{\"eos_token\": \"\"}");
    refuse(&files, RILL_ERR_FORMAT, "vocab.json: token number 2 is empty");
}

/* 200,000 added tokens take a fraction of a second. Comparing each with all before it would take a minute. */
static void additions_take_linear_time(void **state)
{
    (void)state;
    enum { TOKENS = 200000 };
    rill_vocabulary *vocabulary = NULL;
    char name[32];
    assert_int_equal(rill_vocabulary_create(&vocabulary, ctx), RILL_OK);
    rill_token_set tokens = {.arena.ctx = ctx, .name = "t", .vocabulary = vocabulary, .limit = TOKENS};
    for (int32_t i = 0; i < TOKENS; i++) {
        const int length = snprintf(name, sizeof name, "<%06d>", i);
        assert_int_equal(rill_token_set_add(&tokens, name, (size_t)length, -1, 0), RILL_OK);
        assert_int_equal(rill_token_set_added_id(&tokens, name, (size_t)length), i);
    }
    assert_int_equal(rill_token_set_add(&tokens, "<000007>", 8, 7, RILL_TOKEN_SPECIAL), RILL_OK);
    assert_int_equal(rill_token_set_finish(&tokens), RILL_OK);
    for (int32_t i = 0; i < TOKENS; i++) assert_int_equal(rill_token_set_flags(&tokens, i), i == 7);
    assert_int_equal(rill_token_set_flags(&tokens, TOKENS), -1);
    assert_int_equal(rill_token_set_added_id(&tokens, "<023456>", 8), 23456);
    assert_int_equal(rill_token_set_added_id(&tokens, "<x>", 3), -1);
    rill_token_set_clear(&tokens);
    rill_vocabulary_close(vocabulary);
}

static void spaces_are_cleaned_up(void **state)
{
    (void)state;
    const rill_tokenizer_files files = marian_files(51);
    rill_tokenizer *codec;
    for (int cleaned = 0; cleaned < 2; cleaned++) {
        write_string(folder, "tokenizer_config.json",
                     cleaned ? "{\"clean_up_tokenization_spaces\": true}"
                             : "{\"clean_up_tokenization_spaces\": false}");
        assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
        const int32_t a = rill_vocabulary_id(codec->target, "a", 1),
                      mark = rill_vocabulary_id(codec->target, "\xE2\x96\x81", 3),
                      dot = rill_vocabulary_id(codec->target, ".", 1);
        assert_true(a >= 0 && mark >= 0 && dot >= 0);
        writes(codec, (int32_t[]){a, mark, dot}, 3, cleaned ? "a." : "a .");
        rill_tokenizer_close(codec);
    }
}

static void fsmt_reads_added_tokens(void **state)
{
    (void)state;
    rill_tokenizer_files files = fsmt_files(100);
    rill_tokenizer *codec;
    write_string(folder, "tokenizer_config.json",
                 "{\"langs\": [\"de\", \"en\"], \"model_max_length\": 1000000000000000019884624838656}");
    assert_ok(ctx, rill_tokenizer_open(&codec, ctx, &files));
    reads(codec, "a<s> </s>a", "a</w> <s> </s> a</w> </s>", NULL, NULL);
    rill_tokenizer_close(codec);
}

static rill_status open_marian(rill_context *c, const char *path)
{
    rill_tokenizer *codec;
    rill_tokenizer_files files = marian;
    files.directory = path;
    const rill_status status = rill_tokenizer_open(&codec, c, &files);
    if (status == RILL_OK) rill_tokenizer_close(codec);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    marian = marian_files(53);
    write_string(folder, "added_tokens.json", "{\"<x>\": 51, \"<y>\": 52}");
    assert_true(refuse_each_call(&memory, ctx, open_marian, folder) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(marian_reads_added_tokens),  CASE(added_tokens_need_fitting_ids), CASE(added_tokens_may_not_be_empty),
        CASE(spaces_are_cleaned_up),      CASE(fsmt_reads_added_tokens),       CASE(memory_may_run_out),
        CASE(additions_take_linear_time),
    };
    return cmocka_run_group_tests_name("added_tokens", tests, NULL, NULL);
}
