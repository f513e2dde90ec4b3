/* A family's vocabulary out of a folder's files; family.h.
 *
 * Source: transformers' tokenizers and convert_slow_tokenizer.py, for the numbers of pieces. A folder that has the SentencePiece model
 * is read with it, since it is what the model was trained with; tokenizer.json is for folders that have nothing else.
 * Divisions: numbers of pieces · where pieces come from · added tokens · the whole. */
#include <stdio.h>
#include <string.h>

#include "family.h"
#include "rill/file.h"
#include "try.h"

/* What opening passes around. */
typedef struct opening {
    rill_family_text *text;
    rill_context *ctx;
    const rill_codec_files *files;
    const rill_said *said;
    const char *begin, *pad, *unknown, *mask; /* names; NULL: there is none */
    rill_text path;
} opening;

static const char END[] = "</s>";

/* --- numbers of pieces -------------------------------------------------------------------------------------------- */

static rill_status put(const opening *o, const char *token)
{
    return rill_tokens_base(&o->text->tokens, token, strlen(token));
}

/* Pieces from number `from` on. */
static rill_status put_pieces(const opening *o, int32_t from)
{
    const rill_spm *spm = o->text->spm;
    for (int32_t i = from; i < rill_spm_count(spm); i++) {
        size_t length;
        const char *piece = rill_spm_piece(spm, i, &length);
        TRY(rill_tokens_base(&o->text->tokens, piece, length));
    }
    return RILL_OK;
}

static rill_status number_fairseq(const opening *o)
{
    static const char *const first[] = {"<unk>", "<s>", "</s>"};
    for (int32_t i = 0; i < 3; i++) {
        size_t length;
        const char *piece = i < rill_spm_count(o->text->spm) ? rill_spm_piece(o->text->spm, i, &length) : "nothing";
        if (strcmp(piece, first[i]) != 0)
            return rill_fail(o->ctx, RILL_ERR_FORMAT, "%s: piece %d: expected %s, found %.40s", o->text->tokens.name, i,
                             first[i], piece);
    }
    TRY(put(o, o->begin));
    TRY(put(o, o->pad));
    TRY(put(o, END));
    TRY(put(o, o->unknown));
    return put_pieces(o, 3);
}

/* Masks, and symbols of the makers' own training, before all pieces but two. */
static rill_status number_pegasus(const opening *o)
{
    const char *sentence = rill_said_text(o->said, "mask_token_sent");
    int64_t offset;
    char name[32];
    TRY(rill_said_number(o->said, "offset", 2, 10000, 103, &offset));
    TRY(put(o, o->pad));
    TRY(put(o, END));
    TRY(put(o, sentence != NULL ? sentence : "<mask_1>"));
    TRY(put(o, o->mask));
    for (int64_t i = 2; i < offset; i++) {
        snprintf(name, sizeof name, "<unk_%d>", (int)i);
        TRY(put(o, name));
    }
    return put_pieces(o, 2);
}

/* vocab.json's, which leaves no number out. */
static rill_status number_listed(opening *o)
{
    rill_vocabulary *listed;
    rill_status status = RILL_OK;
    TRY(rill_path_join(&o->path, o->files->directory, "vocab.json"));
    TRY(rill_vocabulary_open_json(&listed, o->ctx, o->path.data, o->files->words));
    for (int32_t i = 0; status == RILL_OK && i < rill_vocabulary_count(listed); i++) {
        size_t length;
        const char *token = rill_vocabulary_token(listed, i, &length);
        status = rill_tokens_base(&o->text->tokens, token, length);
    }
    rill_vocabulary_close(listed);
    return status;
}

static rill_status number(opening *o)
{
    switch (o->text->family.numbering) {
    case RILL_NUMBERS_FAIRSEQ: TRY(number_fairseq(o)); break;
    case RILL_NUMBERS_PEGASUS: TRY(number_pegasus(o)); break;
    case RILL_NUMBERS_SPM: TRY(put_pieces(o, 0)); break;
    default: TRY(number_listed(o));
    }
    return rill_tokens_settle(&o->text->tokens);
}

/* --- where pieces come from --------------------------------------------------------------------------------------- */

/* Whether a model of SentencePiece is read: not where nothing is cut and numbers are listed elsewhere. */
static int reads_spm(const rill_family *f, int tokenized)
{
    return f->model != NULL && !(tokenized && f->numbering == RILL_NUMBERS_LISTED);
}

/* The files that a row's own vocabulary is in; NULL behind the last. */
static void own_files(const rill_family *f, int tokenized, const char *names[3])
{
    size_t n = 0;
    names[0] = names[1] = names[2] = NULL;
    if (reads_spm(f, tokenized)) names[n++] = f->model;
    if (f->numbering == RILL_NUMBERS_LISTED || f->numbering == RILL_NUMBERS_BYTES) names[n++] = "vocab.json";
    if (f->numbering == RILL_NUMBERS_BYTES) names[n] = "merges.txt";
}

static int has_own(const rill_family *f, const rill_codec_files *files)
{
    const char *names[3], *directory = files->directory;
    own_files(f, files->tokenized, names);
    for (size_t i = 0; i < 3 && names[i] != NULL; i++)
        if (!rill_said_has(directory, names[i])) return 0;
    return 1;
}

static rill_status open_spm(opening *o)
{
    rill_text bytes = {.ctx = o->ctx};
    rill_status status = rill_file_read(&bytes, o->path.data, RILL_FILE_TEXT_MAX);
    if (status == RILL_OK) status = rill_spm_open(&o->text->spm, o->ctx, o->path.data, bytes.data, bytes.length);
    rill_text_clear(&bytes);
    return status;
}

static rill_status open_own(opening *o)
{
    rill_family_text *t = o->text;
    int prefix;
    if (t->family.model != NULL) {
        if (reads_spm(&t->family, o->files->tokenized)) TRY(open_spm(o));
        return number(o);
    }
    TRY(rill_said_switch(o->said, "add_prefix_space", 0, &prefix));
    TRY(rill_path_join(&o->path, o->files->directory, "merges.txt"));
    TRY(rill_pipeline_bytes(&t->pipeline, o->ctx, o->path.data, prefix));
    return number(o);
}

/* A name that messages need for as long as the text. */
static rill_status keep(const opening *o, const char *name, const char **out)
{
    const size_t length = strlen(name) + 1;
    char *copy;
    TRY(rill_blocks_get(&o->text->blocks, &copy, length, 1, "names of files"));
    memcpy(copy, name, length);
    *out = copy;
    return RILL_OK;
}

static rill_status open_pieces(opening *o)
{
    rill_family_text *t = o->text;
    const char *names[3], *directory = o->files->directory;
    if (o->said->tokenizer == NULL && !has_own(&t->family, o->files)) {
        own_files(&t->family, o->files->tokenized, names);
        return rill_fail(o->ctx, RILL_ERR_NOT_FOUND, "%s: expected %s%s%s%s%s, or tokenizer.json", directory, names[0],
                         names[1] != NULL ? " and " : "", names[1] != NULL ? names[1] : "",
                         names[2] != NULL ? " and " : "", names[2] != NULL ? names[2] : "");
    }
    TRY(keep(o, directory, &t->directory));
    TRY(rill_path_join(&o->path, directory, o->said->tokenizer != NULL ? "tokenizer.json" : o->files->source));
    TRY(keep(o, o->path.data, &t->tokens.name));
    if (o->said->tokenizer != NULL)
        return rill_pipeline_open(&t->pipeline, o->ctx, t->tokens.name, o->said->tokenizer, &t->tokens);
    return open_own(o);
}

/* --- added tokens ------------------------------------------------------------------------------------------------- */

static int has_token(const rill_family_text *t, const char *token)
{
    return rill_tokens_find(&t->tokens, token, strlen(token)) >= 0;
}

static rill_status add(const opening *o, const char *token, int flags)
{
    return rill_tokens_add(&o->text->tokens, token, strlen(token), -1, flags);
}

/* What must be there is what a text cannot do without. */
static rill_status name_symbols(const opening *o)
{
    rill_family_text *t = o->text;
    const char *const names[] = {o->begin, o->pad, END, o->unknown};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i] == NULL) continue;
        if (has_token(t, names[i]))
            TRY(add(o, names[i], RILL_TOKEN_SPECIAL));
        else if (names[i] != o->pad)
            return rill_fail(o->ctx, RILL_ERR_FORMAT, "%s: expected a token %.40s", t->tokens.name, names[i]);
    }
    t->end = rill_tokens_find(&t->tokens, END, sizeof END - 1);
    t->unknown = rill_tokens_find(&t->tokens, o->unknown, strlen(o->unknown));
    t->begin = o->begin != NULL ? rill_tokens_find(&t->tokens, o->begin, strlen(o->begin)) : -1;
    return RILL_OK;
}

/* T5's, the highest first; a vocabulary that is full without them has none. */
static rill_status add_sentinels(const opening *o)
{
    const rill_tokens *tokens = &o->text->tokens;
    int64_t count, said;
    char name[32];
    if (o->text->family.numbering != RILL_NUMBERS_SPM || has_token(o->text, "<extra_id_0>")) return RILL_OK;
    TRY(rill_said_number(o->said, "extra_ids", 0, 100000, -1, &said));
    count = said >= 0 ? said : 100;
    if ((int64_t)tokens->n + count > tokens->limit) return RILL_OK;
    for (int64_t i = count - 1; i >= 0; i--) {
        snprintf(name, sizeof name, "<extra_id_%d>", (int)i);
        TRY(add(o, name, RILL_TOKEN_SPECIAL));
    }
    return RILL_OK;
}

static int has_languages(const rill_family_text *t)
{
    rill_slice name;
    for (size_t i = 0; i < t->tokens.n_added; i++)
        if (rill_language_named(t->family.form, t->tokens.added[i].text.data, t->tokens.added[i].text.length, &name))
            return 1;
    return 0;
}

/* Those of the table. */
static rill_status add_languages(const opening *o)
{
    rill_family_text *t = o->text;
    const char *names = t->family.languages;
    char symbol[48];
    if (names == NULL || has_languages(t)) return RILL_OK;
    rill_slice left = {names, strlen(names)};
    const char *const around = t->family.form == RILL_LANGUAGES_M2M ? "__" : "";
    for (rill_slice word; (word = rill_next_word(&left)).length > 0;) {
        snprintf(symbol, sizeof symbol, "%s%.*s%s", around, (int)word.length, word.data, around);
        TRY(add(o, symbol, RILL_TOKEN_SPECIAL));
    }
    return RILL_OK;
}

/* A mask takes the blanks before it, but for Pegasus', which are two. */
static rill_status add_mask(const opening *o)
{
    const int pegasus = o->text->family.numbering == RILL_NUMBERS_PEGASUS;
    const char *sentence = rill_said_text(o->said, "mask_token_sent");
    if (o->mask == NULL) return RILL_OK;
    if (!pegasus) return add(o, o->mask, RILL_TOKEN_SPECIAL | RILL_TOKEN_LEFT);
    TRY(add(o, sentence != NULL ? sentence : "<mask_1>", RILL_TOKEN_SPECIAL));
    return add(o, o->mask, RILL_TOKEN_SPECIAL);
}

static rill_status add_unused(const opening *o)
{
    int64_t offset;
    char name[32];
    if (o->text->family.numbering != RILL_NUMBERS_PEGASUS) return RILL_OK;
    TRY(rill_said_number(o->said, "offset", 2, 10000, 103, &offset));
    for (int64_t i = 2; i < offset; i++) {
        snprintf(name, sizeof name, "<unk_%d>", (int)i);
        TRY(add(o, name, RILL_TOKEN_SPECIAL));
    }
    return RILL_OK;
}

/* The order is that in which numbers are given. Languages that a folder lists are NLLB's; of the others the tokenizer's count. */
static rill_status add_all(const opening *o)
{
    const int listed = o->text->family.form == RILL_LANGUAGES_FLORES;
    TRY(name_symbols(o));
    if (o->said->tokenizer != NULL) return rill_said_add_listed(o->said, &o->text->tokens);
    TRY(rill_said_add(o->said, &o->text->tokens));
    TRY(add_sentinels(o));
    TRY(add_unused(o));
    if (listed) TRY(rill_said_add_listed(o->said, &o->text->tokens));
    TRY(add_languages(o));
    TRY(add_mask(o));
    return rill_said_add_listed(o->said, &o->text->tokens);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static const char *name_of(const opening *o, const char *key, const char *usual)
{
    const char *said = usual != NULL ? rill_said_text(o->said, key) : NULL;
    return said != NULL ? said : usual;
}

/* M2M100's languages for WMT, NLLB's symbols in their first places, and what is cleaned. */
static rill_status read_switches(opening *o)
{
    rill_family_text *t = o->text;
    int legacy = 0;
    const char *codes = rill_said_text(o->said, "language_codes");
    if (t->family.form == RILL_LANGUAGES_M2M && codes != NULL && strcmp(codes, "wmt21") == 0)
        t->family.languages = "en ha is ja cs ru zh de";
    else if (t->family.form == RILL_LANGUAGES_M2M && codes != NULL && strcmp(codes, "m2m100") != 0)
        return rill_fail(o->ctx, RILL_ERR_FORMAT,
                         "%s/tokenizer_config.json: language_codes: expected m2m100 or wmt21, found \"%.40s\"",
                         o->files->directory, codes);
    if (t->family.form == RILL_LANGUAGES_FLORES) TRY(rill_said_switch(o->said, "legacy_behaviour", 0, &legacy));
    if (legacy) {
        t->family.before = RILL_AROUND_NOTHING;
        t->family.behind = RILL_AROUND_SOURCE;
    }
    TRY(rill_said_switch(o->said, "clean_up_tokenization_spaces", 0, &t->clean));
    if (t->family.form == RILL_LANGUAGES_FLORES || (t->pipeline != NULL && rill_pipeline_pairs(t->pipeline)))
        t->clean = 0;
    return RILL_OK;
}

static rill_status open_all(opening *o)
{
    rill_family_text *t = o->text;
    o->begin = name_of(o, t->family.numbering == RILL_NUMBERS_BYTES ? "cls_token" : "bos_token", t->family.begin);
    o->pad = name_of(o, "pad_token", t->family.pad);
    o->unknown = name_of(o, "unk_token", t->family.unknown);
    o->mask = name_of(o, "mask_token", t->family.mask);
    TRY(open_pieces(o));
    TRY(read_switches(o));
    TRY(add_all(o));
    TRY(rill_tokens_finish(&t->tokens, &t->vocabulary));
    if (t->pipeline != NULL) TRY(rill_pipeline_use(t->pipeline, t->vocabulary));
    return rill_languages_open(t, o->ctx, o->said, o->files);
}

rill_status rill_family_open(rill_family_text **out, rill_context *ctx, const rill_codec_files *files)
{
    rill_said said;
    rill_family_text *t = rill_calloc(ctx, 1, sizeof *t);
    *out = NULL;
    if (t == NULL) return rill_fail_memory(ctx, sizeof *t, "vocabularies");
    t->family = *files->family;
    t->blocks.ctx = t->tokens.blocks.ctx = ctx;
    t->tokens.limit = files->words;
    t->tokenized = files->tokenized;
    t->columns = files->language_columns;
    t->forced = files->forced_first;
    opening o = {.text = t, .ctx = ctx, .files = files, .said = &said, .path.ctx = ctx};
    rill_status status = rill_said_open(&said, ctx, files->directory, !has_own(&t->family, files));
    if (status == RILL_OK) status = open_all(&o);
    rill_said_close(&said);
    rill_text_clear(&o.path);
    if (status == RILL_OK)
        *out = t;
    else
        rill_family_close(t);
    return status;
}

void rill_family_close(rill_family_text *t)
{
    if (t == NULL) return;
    rill_context *ctx = t->blocks.ctx;
    rill_spm_close(t->spm);
    rill_pipeline_close(t->pipeline);
    rill_tokens_clear(&t->tokens);
    rill_vocabulary_close(t->vocabulary);
    rill_blocks_clear(&t->blocks);
    rill_free(ctx, t, sizeof *t);
}
