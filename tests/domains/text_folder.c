/* Directories with tokenizers for tests; see text_folder.h. */
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
#include "tokenizer.h"

failing_allocator memory;
rill_context *ctx;
char *texts, *folder;

int text_folder_set_up(void **state)
{
    (void)state;
    ctx = failing_allocator_context(&memory);
    texts = getenv("RILL_TEST_TEXTS") != NULL ? strdup(getenv("RILL_TEST_TEXTS")) : data_path("text");
    folder = folder_make();
    return 0;
}

int text_folder_tear_down(void **state)
{
    (void)state;
    free(texts);
    folder_remove(folder);
    failing_allocator_finish(&memory, ctx);
    return 0;
}
void copy_folder(const char *name)
{
    struct dirent **entry;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", texts, name);
    const int n = scandir(path, &entry, NULL, alphasort);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        if (entry[i]->d_name[0] != '.') copy_file(path, folder, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
}

/* Return the files that a model of this type and vocabulary size would need from the copied directory. */
rill_tokenizer_files required_files(const char *model_type)
{
    rill_tokenizer_files files = {
        .source_vocab_size = 2000, .target_vocab_size = 2000, .eos = 2, .decoder_start = -1, .forced_bos = -1};
    assert_ok(ctx, rill_family_files(ctx, model_type, folder, &files));
    return files;
}

void refuse(const rill_tokenizer_files *files, rill_status status, const char *sentence)
{
    rill_tokenizer *codec;
    assert_int_equal(rill_tokenizer_open(&codec, ctx, files), status);
    assert_null(codec);
    assert_error(ctx, sentence, folder);
}

/* Check the tokens of an input, joined by spaces, and the first token of its output. */
void reads(const rill_tokenizer *codec, const char *text, const char *subwords, const char *start, const char *first)
{
    int32_t *ids = NULL;
    size_t capacity = 0;
    rill_ids out = {.ctx = ctx, .ids = &ids, .capacity = &capacity};
    rill_text shown = {.ctx = ctx};
    rill_output_prefix opening;
    const rill_vocabulary *v = codec->source;
    assert_ok(ctx, rill_tokenizer_encode(codec, text, strlen(text), &out, &opening));
    for (size_t i = 0; i < out.n_ids; i++) {
        if (i > 0) assert_int_equal(rill_text_append(&shown, " ", 1), RILL_OK);
        assert_int_equal(rill_vocabulary_write(v, ids[i], &shown), RILL_OK);
    }
    assert_string_equal(shown.data != NULL ? shown.data : "", subwords);
    assert_int_equal(opening.decoder_start, start != NULL ? rill_vocabulary_id(v, start, strlen(start)) : -1);
    assert_int_equal(opening.forced_bos, first != NULL ? rill_vocabulary_id(v, first, strlen(first)) : -1);
    rill_text_clear(&shown);
    rill_free(ctx, ids, capacity * sizeof *ids);
}
