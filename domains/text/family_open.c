/* Builds the vocabulary of a model family (mbart, t5 ...) from a model directory.
 *
 * Source of the token ids: transformers' tokenizers. SentencePiece is preferred, because models are trained with it. */
#include "family.h"

#include <stdio.h>
#include <string.h>

#include "rill/file.h"

/* State while a tokenizer is opened. */
typedef struct family_opener {
    rill_tokenizer *text;
    rill_family_tokenizer *tokenizer; /* text->family */
    rill_context *ctx;
    const rill_tokenizer_files *files;
    const rill_tokenizer_config *config;
    /* names of special tokens; begin and the masks may be NULL: the model has no such token. sentence_mask: Pegasus only */
    const char *begin, *pad, *unknown, *mask, *sentence_mask;
    int32_t n_reserved; /* Pegasus: number of ids before SentencePiece's tokens, without <pad> and </s> */
    rill_text *path;
} family_opener;

static const char END[] = "</s>";

/* --- token ids ---------------------------------------------------------------------------------------------------- */

static rill_status add_base_token(const family_opener *o, const char *token)
{
    const rill_token_set *tokens = &o->tokenizer->tokens;
    return rill_vocabulary_add(tokens->vocabulary, tokens->name, token, strlen(token));
}

/* Add the SentencePiece model's tokens from its id `from` on. */
static rill_status add_spm_pieces(const family_opener *o, int32_t from)
{
    const rill_spm *spm = o->text->source_spm;
    const rill_token_set *tokens = &o->tokenizer->tokens;
    for (int32_t i = from; i < rill_spm_count(spm); i++) {
        size_t length;
        const char *piece = rill_spm_piece(spm, i, &length);
        TRY(rill_vocabulary_add(tokens->vocabulary, tokens->name, piece, length));
    }
    return RILL_OK;
}

static rill_status add_fairseq_tokens(const family_opener *o)
{
    static const char *const first[] = {"<unk>", "<s>", "</s>"};
    const rill_spm *spm = o->text->source_spm;
    for (int32_t i = 0; i < 3; i++) {
        size_t length;
        const char *piece = i < rill_spm_count(spm) ? rill_spm_piece(spm, i, &length) : "nothing";
        if (strcmp(piece, first[i]) != 0)
            return rill_fail(o->ctx, RILL_ERR_FORMAT, "%s: token %d: expected %s, found %.40s",
                             o->tokenizer->tokens.name, i, first[i], piece);
    }
    TRY(add_base_token(o, o->begin));
    TRY(add_base_token(o, o->pad));
    TRY(add_base_token(o, END));
    TRY(add_base_token(o, o->unknown));
    return add_spm_pieces(o, 3);
}

/* Call `add` with the names of Pegasus' special tokens of pre-training: <unk_2>, <unk_3> ... */
static rill_status add_reserved(const family_opener *o, rill_status (*add)(const family_opener *, const char *))
{
    char name[32];
    for (int32_t i = 2; i < o->n_reserved; i++) {
        snprintf(name, sizeof name, "<unk_%d>", i);
        TRY(add(o, name));
    }
    return RILL_OK;
}

/* Add Pegasus' tokens: padding and eos, two masks, the special tokens of pre-training, then SentencePiece tokens. */
static rill_status add_pegasus_tokens(family_opener *o)
{
    TRY(rill_config_int_or(o->config->config, "offset", 2, 10000, 103, &o->n_reserved));
    TRY(add_base_token(o, o->pad));
    TRY(add_base_token(o, END));
    TRY(add_base_token(o, o->sentence_mask));
    TRY(add_base_token(o, o->mask));
    TRY(add_reserved(o, add_base_token));
    return add_spm_pieces(o, 2);
}

/* Add the tokens of vocab.json, whose ids have no gaps. */
static rill_status add_listed_tokens(family_opener *o)
{
    TRY(rill_path_join(o->path, o->files->directory, "vocab.json"));
    return rill_vocabulary_add_file(o->tokenizer->tokens.vocabulary, o->path->data, o->files->source_vocab_size);
}

/* Add ByT5's tokens. */
static rill_status add_byte_tokens(const family_opener *o)
{
    char name[8];
    TRY(add_base_token(o, o->pad));
    TRY(add_base_token(o, END));
    TRY(add_base_token(o, o->unknown));
    for (int byte = 0; byte < 256; byte++) {
        rill_byte_token((unsigned char)byte, name);
        TRY(add_base_token(o, name));
    }
    return RILL_OK;
}

static rill_status add_numbered_tokens(family_opener *o)
{
    switch (o->tokenizer->family.numbering) {
    case RILL_NUMBERS_FAIRSEQ: TRY(add_fairseq_tokens(o)); break;
    case RILL_NUMBERS_PEGASUS: TRY(add_pegasus_tokens(o)); break;
    case RILL_NUMBERS_SPM: TRY(add_spm_pieces(o, 0)); break;
    case RILL_NUMBERS_RAW_BYTES: TRY(add_byte_tokens(o)); break;
    default: TRY(add_listed_tokens(o));
    }
    return rill_token_set_end_base(&o->tokenizer->tokens);
}

/* --- files with tokens -------------------------------------------------------------------------------------------- */

/* Tokenized inputs do not need the SentencePiece model if vocab.json has the ids. */
static int reads_spm(const rill_family *f, int tokenized)
{
    return f->spm_file != NULL && !(tokenized && f->numbering == RILL_NUMBERS_VOCAB_JSON);
}

/* Set names[] to the vocabulary files that this family needs; unused elements are NULL. */
static void vocabulary_files(const rill_family *f, int tokenized, const char *names[3])
{
    size_t n = 0;
    names[0] = names[1] = names[2] = NULL;
    if (reads_spm(f, tokenized)) names[n++] = f->spm_file;
    if (f->numbering == RILL_NUMBERS_VOCAB_JSON || f->numbering == RILL_NUMBERS_BYTES) names[n++] = "vocab.json";
    if (f->numbering == RILL_NUMBERS_BYTES) names[n] = "merges.txt";
}

static int has_vocabulary_files(const rill_family *f, const rill_tokenizer_files *files)
{
    const char *names[3], *directory = files->directory;
    vocabulary_files(f, files->tokenized, names);
    for (size_t i = 0; i < 3 && names[i] != NULL; i++)
        if (!rill_directory_has_file(directory, names[i])) return 0;
    return 1;
}

static rill_status open_vocabulary_files(family_opener *o)
{
    rill_family_tokenizer *t = o->tokenizer;
    int prefix;
    if (reads_spm(&t->family, o->files->tokenized)) TRY(rill_spm_open(&o->text->source_spm, o->ctx, o->path->data));
    if (t->family.numbering == RILL_NUMBERS_RAW_BYTES) TRY(rill_pipeline_open_bytes(&t->pipeline, o->ctx));
    if (t->family.numbering == RILL_NUMBERS_BYTES) {
        TRY(rill_config_bool_or(o->config->config, "add_prefix_space", 0, &prefix));
        TRY(rill_path_join(o->path, o->files->directory, "merges.txt"));
        TRY(rill_pipeline_open_byte_level(&t->pipeline, o->ctx, o->path->data, prefix));
    }
    return add_numbered_tokens(o);
}

static rill_status open_pieces(family_opener *o)
{
    rill_family_tokenizer *t = o->tokenizer;
    const char *names[3], *directory = o->files->directory;
    if (o->config->tokenizer == NULL && !has_vocabulary_files(&t->family, o->files)) {
        vocabulary_files(&t->family, o->files->tokenized, names);
        return rill_fail(o->ctx, RILL_ERR_NOT_FOUND, "%s: expected %s%s%s%s%s, or tokenizer.json", directory, names[0],
                         names[1] != NULL ? " and " : "", names[1] != NULL ? names[1] : "",
                         names[2] != NULL ? " and " : "", names[2] != NULL ? names[2] : "");
    }
    TRY(rill_arena_copy(&t->arena, directory, strlen(directory), "names of files", &t->directory));
    TRY(rill_path_join(o->path, directory, o->config->tokenizer != NULL ? "tokenizer.json" : o->files->source));
    TRY(rill_arena_copy(&t->arena, o->path->data, o->path->length, "names of files", &t->tokens.name));
    TRY(rill_vocabulary_create(&o->text->source, o->ctx));
    o->text->target = t->tokens.vocabulary = o->text->source;
    if (o->config->tokenizer != NULL)
        return rill_pipeline_open(&t->pipeline, o->ctx, t->tokens.name, rill_config_root(o->config->tokenizer),
                                  &t->tokens);
    return open_vocabulary_files(o);
}

/* --- added tokens ------------------------------------------------------------------------------------------------- */

static int has_token(const rill_family_tokenizer *t, const char *token)
{
    return rill_token_set_find(&t->tokens, token, strlen(token)) >= 0;
}

static rill_status add_extra_token(const family_opener *o, const char *token, int flags)
{
    return rill_token_set_add(&o->tokenizer->tokens, token, strlen(token), -1, flags);
}

static rill_status add_special_token(const family_opener *o, const char *token)
{
    return add_extra_token(o, token, RILL_TOKEN_SPECIAL);
}

/* Find the ids of the special tokens and flag the tokens RILL_TOKEN_SPECIAL. All except padding are required, because
 * encoding needs them. */
static rill_status find_special_tokens(const family_opener *o)
{
    rill_family_tokenizer *t = o->tokenizer;
    const char *const names[] = {o->begin, o->pad, END, o->unknown};
    /* ByT5's special tokens absorb the spaces around them. */
    const int flags = t->family.numbering == RILL_NUMBERS_RAW_BYTES
                          ? RILL_TOKEN_SPECIAL | RILL_TOKEN_LSTRIP | RILL_TOKEN_RSTRIP
                          : RILL_TOKEN_SPECIAL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i] == NULL) continue;
        if (has_token(t, names[i]))
            TRY(add_extra_token(o, names[i], flags));
        else if (names[i] != o->pad)
            return rill_fail(o->ctx, RILL_ERR_FORMAT, "%s: expected a token %.40s", t->tokens.name, names[i]);
    }
    o->text->source_eos = rill_token_set_find(&t->tokens, END, sizeof END - 1);
    o->text->unk = o->text->unk_action = rill_token_set_find(&t->tokens, o->unknown, strlen(o->unknown));
    t->bos = o->begin != NULL ? rill_token_set_find(&t->tokens, o->begin, strlen(o->begin)) : -1;
    return RILL_OK;
}

/* T5's sentinels <extra_id_N> start with the highest N, ByT5's with the lowest. A full vocabulary gets none. */
static rill_status add_sentinels(const family_opener *o)
{
    const rill_token_set *tokens = &o->tokenizer->tokens;
    int32_t count;
    char name[32];
    const int bytes = o->tokenizer->family.numbering == RILL_NUMBERS_RAW_BYTES;
    if (!bytes && o->tokenizer->family.numbering != RILL_NUMBERS_SPM) return RILL_OK;
    if (has_token(o->tokenizer, "<extra_id_0>")) return RILL_OK;
    TRY(rill_config_int_or(o->config->config, "extra_ids", 0, 100000, bytes ? 125 : 100, &count));
    if (rill_vocabulary_count(tokens->vocabulary) + count > tokens->limit) return RILL_OK;
    for (int32_t i = count - 1; i >= 0; i--) {
        snprintf(name, sizeof name, "<extra_id_%d>", bytes ? count - 1 - i : i);
        TRY(add_special_token(o, name));
    }
    return RILL_OK;
}

/* transformers 5 saves the added tokens of a fast tokenizer in tokenizer.json alone, also beside older vocabulary files. */
static rill_status add_tokens_of_tokenizer_json(const family_opener *o)
{
    SCOPED(rill_config_drop) rill_config *json = NULL;
    const char *backend = rill_tokenizer_config_string(o->config, "backend");
    if (backend == NULL || strcmp(backend, "tokenizers") != 0) return RILL_OK;
    TRY(rill_tokenizer_config_read(o->config, "tokenizer.json", &json));
    if (json == NULL) return RILL_OK;
    return rill_pipeline_add_tokens(o->ctx, rill_config_name(json), rill_config_root(json), &o->tokenizer->tokens);
}

static int has_languages(const rill_family_tokenizer *t)
{
    rill_slice name;
    for (size_t i = 0; i < t->tokens.n_added; i++)
        if (rill_language_token_name(t->family.language_form, t->tokens.added[i].text.data,
                                     t->tokens.added[i].text.length, &name))
            return 1;
    return 0;
}

/* Add the languages of the family's row in the table, unless the directory's files have added languages. */
static rill_status add_languages(const family_opener *o)
{
    rill_family_tokenizer *t = o->tokenizer;
    rill_slice remaining = rill_family_languages(&t->family);
    char symbol[48];
    if (has_languages(t)) return RILL_OK;
    const char *const underscores = t->family.language_form == RILL_LANGUAGES_M2M ? "__" : "";
    for (rill_slice word; (word = rill_next_word(&remaining)).length > 0;) {
        snprintf(symbol, sizeof symbol, "%s%.*s%s", underscores, (int)word.length, word.data, underscores);
        TRY(add_special_token(o, symbol));
    }
    return RILL_OK;
}

/* The ids of M2M100's languages follow vocab.json. transformers gives added tokens the same ids; older versions skip
 * num_madeup_words ids first. */
static rill_status add_languages_after_vocab(const family_opener *o)
{
    rill_token_set *tokens = &o->tokenizer->tokens;
    TRY(add_languages(o));
    TRY(rill_config_int_or(o->config->config, "num_madeup_words", 0, 10000, 8, &tokens->max_gap));
    tokens->may_share_ids = 1;
    return RILL_OK;
}

/* Add the mask token. It absorbs spaces before it, except in Pegasus, which has two masks. */
static rill_status add_mask(const family_opener *o)
{
    if (o->mask == NULL) return RILL_OK;
    if (o->sentence_mask == NULL) return add_extra_token(o, o->mask, RILL_TOKEN_SPECIAL | RILL_TOKEN_LSTRIP);
    TRY(add_special_token(o, o->sentence_mask));
    return add_special_token(o, o->mask);
}

/* Add tokens by ascending id. NLLB lists languages as special tokens, before the mask; other families have a table (text_families.c). */
static rill_status add_all(const family_opener *o)
{
    const int listed = o->tokenizer->family.language_form == RILL_LANGUAGES_FLORES;
    TRY(find_special_tokens(o));
    if (o->config->tokenizer == NULL && o->tokenizer->family.numbering == RILL_NUMBERS_VOCAB_JSON)
        TRY(add_languages_after_vocab(o));
    if (o->config->tokenizer != NULL) return rill_tokenizer_config_add_special(o->config, &o->tokenizer->tokens);
    TRY(rill_tokenizer_config_add_tokens(o->config, &o->tokenizer->tokens));
    TRY(add_tokens_of_tokenizer_json(o));
    TRY(add_sentinels(o));
    TRY(add_reserved(o, add_special_token));
    if (listed) TRY(rill_tokenizer_config_add_special(o->config, &o->tokenizer->tokens));
    TRY(add_languages(o));
    TRY(add_mask(o));
    return rill_tokenizer_config_add_special(o->config, &o->tokenizer->tokens);
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

static const char *token_name(const family_opener *o, const char *key, const char *fallback)
{
    const char *name = fallback != NULL ? rill_tokenizer_config_string(o->config, key) : NULL;
    return name != NULL ? name : fallback;
}

/* Read settings that only some families have: language_codes (M2M100's languages), legacy_behaviour (NLLB's order of
 * special tokens), clean_up_tokenization_spaces. */
static rill_status read_family_switches(family_opener *o)
{
    rill_family_tokenizer *t = o->tokenizer;
    int legacy = 0;
    const char *codes = rill_tokenizer_config_string(o->config, "language_codes");
    if (t->family.language_form == RILL_LANGUAGES_M2M && codes != NULL && strcmp(codes, "wmt21") == 0)
        t->family.languages = "wmt21.txt";
    else if (t->family.language_form == RILL_LANGUAGES_M2M && codes != NULL && strcmp(codes, "m2m100") != 0)
        return rill_fail(o->ctx, RILL_ERR_FORMAT,
                         "%s/tokenizer_config.json: language_codes: expected m2m100 or wmt21, found \"%.40s\"",
                         o->files->directory, codes);
    if (t->family.language_form == RILL_LANGUAGES_FLORES)
        TRY(rill_config_bool_or(o->config->config, "legacy_behaviour", 0, &legacy));
    if (legacy) {
        t->family.prefix = RILL_EXTRA_NONE;
        t->family.suffix = RILL_EXTRA_SOURCE_LANGUAGE;
    }
    TRY(rill_config_bool_or(o->config->config, "clean_up_tokenization_spaces", 0, &o->text->clean_up_spaces));
    if (t->family.language_form == RILL_LANGUAGES_FLORES || (t->pipeline != NULL && t->pipeline->merges != NULL))
        o->text->clean_up_spaces = 0;
    return RILL_OK;
}

static rill_status open_vocabulary_of_family(family_opener *o)
{
    rill_family_tokenizer *t = o->tokenizer;
    o->begin = token_name(o, t->family.numbering == RILL_NUMBERS_BYTES ? "cls_token" : "bos_token", t->family.begin);
    o->pad = token_name(o, "pad_token", "<pad>");
    o->unknown = token_name(o, "unk_token", "<unk>");
    o->mask = token_name(o, "mask_token", t->family.mask);
    if (t->family.numbering == RILL_NUMBERS_PEGASUS) o->sentence_mask = token_name(o, "mask_token_sent", "<mask_1>");
    TRY(open_pieces(o));
    TRY(read_family_switches(o));
    TRY(add_all(o));
    TRY(rill_token_set_finish(&t->tokens));
    if (t->pipeline != NULL) TRY(rill_pipeline_set_vocabulary(t->pipeline, t->tokens.vocabulary));
    return rill_languages_open(t, o->ctx, o->config, o->files);
}

rill_status rill_family_open(rill_tokenizer *text, const rill_tokenizer_files *files)
{
    rill_context *ctx = text->ctx;
    SCOPED(rill_tokenizer_config_close) rill_tokenizer_config config = {0};
    SCOPED(rill_text_clear) rill_text path = {.ctx = ctx};
    TRY(rill_struct_alloc(ctx, &text->family, sizeof *text->family, "vocabularies"));
    rill_family_tokenizer *t = text->family;
    *t = (rill_family_tokenizer){.family = *files->family,
                                 .arena.ctx = ctx,
                                 .tokens = {.arena.ctx = ctx, .limit = files->source_vocab_size},
                                 .language_columns = files->language_columns,
                                 .forced_bos = files->forced_bos};
    family_opener o = {.text = text, .tokenizer = t, .ctx = ctx, .files = files, .config = &config, .path = &path};
    TRY(rill_tokenizer_config_open(&config, ctx, files->directory));
    if (!has_vocabulary_files(&t->family, files))
        TRY(rill_tokenizer_config_read(&config, "tokenizer.json", &config.tokenizer));
    TRY(open_vocabulary_of_family(&o));
    text->target_spm = text->source_spm;
    text->added = &t->tokens;
    text->languages = t->language_names;
    return RILL_OK;
}

void rill_family_close(rill_family_tokenizer *t)
{
    if (t == NULL) return;
    rill_context *ctx = t->arena.ctx;
    rill_pipeline_close(t->pipeline);
    rill_token_set_clear(&t->tokens);
    rill_arena_clear(&t->arena);
    rill_free(ctx, t, sizeof *t);
}
