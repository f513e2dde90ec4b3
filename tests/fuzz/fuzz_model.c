/* Fuzz target: model directories. The bytes are edits to the files of a small intact model. Built once for each domain
 * and each form of its models, with FUZZ_MODEL.
 *
 * An edit is a byte with its kind and its file, and then the kind's arguments:
 *   set     the length in two bytes, and the new contents of the file
 *   write   the offset in two bytes, the length in one, and bytes that overwrite those in the file
 *   insert  the same, but the bytes are inserted
 *   cut     the offset, and how many bytes are removed
 *   number  which run of digits in the file (one byte), and which of a few numbers replaces it
 *   remove  the file is deleted
 * Offsets count modulo the file's size, so that every byte has an effect.
 *
 * For any bytes: no crash, no hang, no leak, and at most a hundred megabytes. A failure has a message. A model that opens
 * decodes a line through an engine: the result has one output or more, or an error. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_target.h"
#include "rill/registry.h"
#include "rill/run.h"

enum { MAX_FILES = 8, LARGEST = 1 << 18 };

typedef struct model {
    const char *domain, *folder; /* domain; the model's folder in tests/data */
    const char *name[MAX_FILES];
    const char *lexicon; /* contents of lexicon.tsv, which tests/data lacks */
    const char *line;
    int tokenized;
} model;

static const model models[] = {
    {.domain = "mt",
     .folder = "mt/shared",
     .name = {"config.json", "generation_config.json", "model.safetensors", "vocab.json", "vocab-src.json",
              "vocab-tgt.json"},
     .line = "\xE2\x96\x81"
             "a a b",
     .tokenized = 1},
    {.domain = "semparse",
     .folder = "semparse/tiny",
     .name = {"config.json", "model.safetensors", "source.vocab", "target.vocab", "lexicon.tsv"},
     .lexicon = "@format\t1\n@stem\tenglish\n@type\tw\n@rewrite\tbig\tw3\n@prefer\tw\tthe _\n"
                "@rule\tw\t(in) {digits:1-99}\tn:{}\nnew york\tw\tnyc\tcity|ny\n",
     .line = "W1 big the New York City in 17 \"Paris\" w2?"},
    {.domain = "shiftreduce",
     .folder = "shiftreduce/tiny",
     .name = {"config.json", "model.safetensors", "labels.vocab", "shapes.vocab", "suffixes.vocab", "tags.vocab",
              "words.vocab"},
     .line = "The w1 can't (w2)."},
    {.domain = "mt",
     .folder = "mt/ct2-marian-int8",
     .name = {"config.json", "model.bin", "shared_vocabulary.json"},
     .line = "a b </s>",
     .tokenized = 1},
};

/* --- files -------------------------------------------------------------------------------------------------------- */

typedef struct content {
    int exists;
    size_t length;
    uint8_t bytes[LARGEST];
} content;

static content whole[MAX_FILES], file[MAX_FILES]; /* the files of the intact model, and after the edits */
static int n_files;

static void read_files(const model *m)
{
    char path[600];
    for (; n_files < MAX_FILES && m->name[n_files] != NULL; n_files++) {
        content *c = &whole[n_files];
        snprintf(path, sizeof path, "%s/%s/%s", FUZZ_DATA, m->folder, m->name[n_files]);
        FILE *from = fopen(path, "rb");
        const int is_lexicon = m->lexicon != NULL && strcmp(m->name[n_files], "lexicon.tsv") == 0;
        c->exists = from != NULL || is_lexicon;
        if (from != NULL) c->length = fread(c->bytes, 1, LARGEST, from);
        if (is_lexicon) memcpy(c->bytes, m->lexicon, c->length = strlen(m->lexicon));
        if (from != NULL) fclose(from);
    }
    require(n_files > 0 && whole[0].exists);
}

static void path_in(char *path, size_t size, const char *folder, const char *name)
{
    snprintf(path, size, "%s/%s", folder, name);
}

static void write_folder(const model *m, const char *folder)
{
    char path[200];
    for (int i = 0; i < MAX_FILES && m->name[i] != NULL; i++) {
        if (!file[i].exists) continue;
        path_in(path, sizeof path, folder, m->name[i]);
        FILE *to = fopen(path, "wb");
        require(to != NULL && fwrite(file[i].bytes, 1, file[i].length, to) == file[i].length && fclose(to) == 0);
    }
}

static void remove_folder(const model *m, const char *folder)
{
    char path[200];
    for (int i = 0; i < MAX_FILES && m->name[i] != NULL; i++) {
        path_in(path, sizeof path, folder, m->name[i]);
        unlink(path);
    }
    require(rmdir(folder) == 0);
}

/* --- edits -------------------------------------------------------------------------------------------------------- */

typedef struct reader {
    const uint8_t *pos;
    size_t rest;
} reader;

static size_t take(reader *r, int bytes)
{
    size_t value = 0;
    for (int i = 0; i < bytes && r->rest > 0; i++, r->pos++, r->rest--) value |= (size_t)*r->pos << (8 * i);
    return value;
}

static const uint8_t *take_bytes(reader *r, size_t *length)
{
    const uint8_t *bytes = r->pos;
    if (*length > r->rest) *length = r->rest;
    r->pos += *length;
    r->rest -= *length;
    return bytes;
}

/* Replace `gone` bytes at `offset` by others. */
static void splice(content *c, size_t offset, size_t gone, const void *bytes, size_t length)
{
    if (offset > c->length) offset = c->length;
    if (gone > c->length - offset) gone = c->length - offset;
    if (c->length - gone + length > LARGEST) return;
    memmove(c->bytes + offset + length, c->bytes + offset + gone, c->length - offset - gone);
    if (length > 0) memcpy(c->bytes + offset, bytes, length);
    c->length += length;
    c->length -= gone;
}

static size_t count_digits(const content *c, size_t offset)
{
    size_t n = 0;
    while (offset + n < c->length && c->bytes[offset + n] >= '0' && c->bytes[offset + n] <= '9') n++;
    return n;
}

static void set_number(content *c, size_t n_skipped, size_t value)
{
    static const char *const values[] = {
        "0",     "1",   "2",   "3",     "7",  "16",         "17",         "1000",
        "65536", "-1",  "0.5", "1e300", "31", "2147483647", "4294967296", "9223372036854775807",
        "\"1\"", "null"};
    const char *text = values[value % (sizeof values / sizeof *values)];
    for (size_t offset = 0, n; offset<c->length; offset += n> 0 ? n : 1)
        if ((n = count_digits(c, offset)) > 0 && n_skipped-- == 0) {
            splice(c, offset, n, text, strlen(text));
            return;
        }
}

enum kind { SET, WRITE, INSERT, CUT, NUMBER, REMOVE, KINDS };

static void edit(reader *r)
{
    const size_t what = take(r, 1);
    content *c = &file[what / KINDS % (size_t)n_files];
    const enum kind kind = (enum kind)(what % KINDS);
    size_t offset = kind == REMOVE ? 0 : take(r, kind == NUMBER ? 1 : 2), length = 0;
    const uint8_t *bytes = NULL;
    if (kind == SET) bytes = take_bytes(r, &offset);
    if (kind == WRITE || kind == INSERT || kind == CUT) length = take(r, 1);
    if (kind == WRITE || kind == INSERT) bytes = take_bytes(r, &length);
    if (kind != SET && kind != NUMBER) offset %= c->length + 1;
    switch (kind) {
    case SET: splice(c, 0, c->length, bytes, offset); break;
    case WRITE: splice(c, offset, length, bytes, length); break;
    case INSERT: splice(c, offset, 0, bytes, length); break;
    case CUT: splice(c, offset, length, NULL, 0); break;
    case NUMBER: set_number(c, offset, take(r, 1)); break;
    default: break;
    }
    c->exists = kind != REMOVE;
}

/* --- the model ---------------------------------------------------------------------------------------------------- */

/* An allocator with a limit of a hundred megabytes. */
static void *allocate(void *user, void *block, size_t old_size, size_t new_size)
{
    size_t *used = user;
    void *fresh = NULL;
    if (new_size > ((size_t)100 << 20) - *used) return NULL;
    if (new_size > 0 && posix_memalign(&fresh, 64, new_size) != 0) return NULL;
    if (fresh != NULL && block != NULL) memcpy(fresh, block, old_size < new_size ? old_size : new_size);
    *used += new_size;
    *used -= old_size;
    free(block);
    return fresh;
}

static rill_status read_once(void *user, int may_block, const char **text, size_t *length)
{
    const char **line = user;
    (void)may_block;
    if (*line == NULL) return RILL_END_OF_INPUT;
    *text = *line;
    *length = strlen(*line);
    *line = NULL;
    return RILL_OK;
}

static rill_status take_result(void *user, const rill_result *result)
{
    ++*(int *)user;
    require(result->status == RILL_OK ? result->n_outputs > 0 && rill_result_output(result, 0)->text != NULL
                                      : result->message[0] != '\0');
    return RILL_OK;
}

static void decode(rill_context *ctx, rill_model *opened, const char *line)
{
    int results = 0;
    rill_engine *engine = NULL;
    rill_engine_setup setup;
    rill_engine_setup_default(&setup);
    setup.settings.k = 2;
    setup.settings.max_length = 6;
    rill_status status = rill_engine_create(&engine, ctx, opened, &setup);
    if (status == RILL_OK) status = rill_run(engine, read_once, &line, take_result, &results);
    require(status == RILL_OK ? results == 1 : status < 0 && rill_error(ctx)[0] != '\0');
    rill_engine_destroy(engine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const model *m = &models[FUZZ_MODEL];
    size_t used = 0;
    rill_context *ctx;
    rill_model *opened;
    const rill_context_options with = {.struct_size = sizeof with, .allocate = allocate, .allocate_user = &used};
    char folder[] = "/tmp/rill-fuzz-XXXXXX";
    if (n_files == 0) read_files(m);
    for (int i = 0; i < n_files; i++) {
        file[i].exists = whole[i].exists;
        splice(&file[i], 0, file[i].length, whole[i].bytes, whole[i].length);
    }
    for (reader r = {data, size}; r.rest > 0;) edit(&r);
    require(rill_context_create(&ctx, &with) == RILL_OK && rill_register_builtins(ctx) == RILL_OK);
    require(mkdtemp(folder) != NULL);
    write_folder(m, folder);
    rill_open_options options = {
        .struct_size = sizeof options, .path = folder, .threads = 1, .tokenized = m->tokenized};
    if (rill_model_open(&opened, ctx, m->domain, &options) == RILL_OK) {
        decode(ctx, opened, m->line);
        rill_model_close(opened);
    } else {
        require(rill_error(ctx)[0] != '\0');
    }
    remove_folder(m, folder);
    rill_context_destroy(ctx);
    require(used == 0);
    return 0;
}
