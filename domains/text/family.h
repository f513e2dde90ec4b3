/* Tokenizers of transformers' model families (m2m_100, mbart, t5 ...). Private to domains/text; others use tokenizer.h.
 *
 * Sources: transformers' tokenizers, and convert_slow_tokenizer.py for token ids. */
#pragma once

#include "config_json.h"
#include "segmenters.h"
#include "tokenizer.h"

/* --- table of model families: text_families.c -------------------------------------------------------------------------- */

/* How a family's tokens get their ids. "SentencePiece tokens" are the tokens of the directory's SentencePiece model. */
typedef enum rill_numbering {
    RILL_NUMBERS_FAIRSEQ, /* <s>, <pad>, </s>, <unk>, then SentencePiece tokens from the fourth on, languages, <mask> */
    RILL_NUMBERS_VOCAB_JSON, /* ids from vocab.json; languages follow */
    RILL_NUMBERS_PEGASUS,    /* <pad>, </s>, masks and <unk_2> ... first, then SentencePiece tokens from the third on */
    RILL_NUMBERS_SPM,        /* SentencePiece tokens, then sentinels */
    RILL_NUMBERS_BYTES,      /* byte-level BPE without SentencePiece: ids from vocab.json, merges from merges.txt */
    RILL_NUMBERS_RAW_BYTES,  /* <pad>, </s>, <unk>, then a token for each byte, <0x00> ..., then sentinels; no files */
} rill_numbering;

/* Format of language tokens, with an example. */
typedef enum rill_language_form {
    RILL_LANGUAGES_NONE,
    RILL_LANGUAGES_FLORES, /* names such as eng_Latn */
    RILL_LANGUAGES_MBART,  /* names such as en_XX */
    RILL_LANGUAGES_M2M,    /* names such as __en__ */
    RILL_LANGUAGES_TAGS,   /* <2en>: an optional tag of the target language */
} rill_language_form;

/* A token before or after an input, besides eos. */
typedef enum rill_extra_token {
    RILL_EXTRA_NONE,
    RILL_EXTRA_SOURCE_LANGUAGE,
    RILL_EXTRA_TARGET_LANGUAGE,
    RILL_EXTRA_BOS
} rill_extra_token;

/* How the decoder uses the token of the target language. */
typedef enum rill_target_use {
    RILL_TARGET_UNUSED,
    RILL_TARGET_FORCED_BOS, /* the target language token is forced as the output's first token */
    /* the target language token is the first decoder input, instead of decoder_start_token_id */
    RILL_TARGET_DECODER_START,
} rill_target_use;

struct rill_family {
    const char *model_type, *tokenizer; /* tokenizer: transformers' tokenizer_class without "Fast" */
    const char *spm_file;               /* file name of the SentencePiece model; NULL: the family has none */
    rill_numbering numbering;
    rill_language_form language_form;
    rill_extra_token prefix, suffix; /* tokens before an input, and after its eos */
    rill_target_use target;
    const char *languages; /* file in languages/ that lists languages in order of ids, for directories without a list */
    /* default names of special tokens; NULL: no such token. The others are <pad>, </s> and <unk> */
    const char *begin, *mask;
};

/* The family's languages, separated by white space; empty: it has no list. */
rill_slice rill_family_languages(const rill_family *family);

/* --- settings of a directory: tokenizer_config.c ------------------------------------------------------------------ */

/* The JSON documents tokenizer_config.json, special_tokens_map.json, added_tokens.json and tokenizer.json; NULL: the file
 * is absent, or was not read. */
typedef struct rill_tokenizer_config {
    rill_context *ctx;
    const char *directory;
    rill_config *config, *special_tokens_map, *added_tokens, *tokenizer;
} rill_tokenizer_config;

/* Read the first three files. The caller closes `config`, also after a failure.
 *   RILL_OK · RILL_ERR_FORMAT · RILL_ERR_IO · RILL_ERR_MEMORY */
rill_status rill_tokenizer_config_open(rill_tokenizer_config *config, rill_context *ctx, const char *directory);
/* Read another file of the directory. *out: closed by the caller; unchanged if the file is absent. Returns as rill_config_open(). */
rill_status rill_tokenizer_config_read(const rill_tokenizer_config *config, const char *file, rill_config **out);
void rill_tokenizer_config_close(rill_tokenizer_config *config);

/* The string at `key`, e.g. a special token: a JSON string or {"content": ...}; NULL: absent. */
const char *rill_tokenizer_config_string(const rill_tokenizer_config *config, const char *key);

/* Add the directory's added tokens, by ascending id, or its additional special tokens, which have no ids in the files.
 *   RILL_OK · as rill_token_set_add() */
rill_status rill_tokenizer_config_add_tokens(const rill_tokenizer_config *config, rill_token_set *tokens);
rill_status rill_tokenizer_config_add_special(const rill_tokenizer_config *config, rill_token_set *tokens);

/* Add the directory's added tokens to a tokenizer's vocabularies; set `added` and `clean_up_spaces`.
 *   RILL_OK · as rill_tokenizer_config_open() · RILL_ERR_FORMAT (another id, a gap) */
rill_status rill_added_tokens_open(rill_tokenizer *tokenizer, const rill_tokenizer_files *files);
void rill_added_tokens_close(rill_tokenizer *tokenizer);

/* --- a family's text: family_open.c, tokenizer.c --------------------------------------------------------------------- */

typedef struct rill_language {
    const char *name; /* the name that users write: "en" for __en__ */
    int32_t id;       /* id of the token */
} rill_language;

/* Ids of the tokens of an input's source and target language; -1: no language. */
typedef struct rill_language_pair {
    int32_t source, target;
} rill_language_pair;

typedef struct rill_family_tokenizer {
    rill_arena arena;
    rill_family family;
    const char *directory;
    rill_token_set tokens;   /* token set, over the rill_tokenizer's vocabulary */
    rill_pipeline *pipeline; /* the tokenizer.json or byte-level BPE pipeline that splits text; NULL: none */
    int32_t bos;
    int language_columns;        /* 1: inputs begin with columns for their languages */
    rill_language *language;     /* [n_languages] languages by ascending id */
    const char **language_names; /* [n_languages + 1] names, then NULL */
    size_t n_languages;
    rill_language_pair default_languages; /* default languages of inputs that name none */
    int32_t forced_bos;                   /* forced first action of the configuration; -1: none */
} rill_family_tokenizer;

/* Open the tokenizer of files->family: fill `text` and text->family. Source and target share a vocabulary. Close `text` also after a
 * failure. Returns as rill_tokenizer_open(). */
rill_status rill_family_open(rill_tokenizer *text, const rill_tokenizer_files *files);
void rill_family_close(rill_family_tokenizer *self); /* closing NULL does nothing */

/* Find the language tokens in the vocabulary, and set the default languages (languages.c).
 *   RILL_OK · RILL_ERR_OPTION (the message names the option) · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status rill_languages_open(rill_family_tokenizer *self, rill_context *ctx, const rill_tokenizer_config *config,
                                const rill_tokenizer_files *files);

/* Check that languages are set by options or read from inputs.
 *   RILL_OK · RILL_ERR_OPTION (the message names the missing option) */
rill_status rill_languages_check(const rill_family_tokenizer *self, rill_context *ctx);

/* Set *turn to the input's languages. An input may have columns (source language, tab, target language, tab, text): *bytes and *length
 * move to the text. Empty or missing columns mean the defaults.
 *   RILL_OK · RILL_ERR_INPUT (recorded) */
rill_status rill_languages_for_input(const rill_family_tokenizer *self, rill_context *ctx, const char **bytes,
                                     size_t *length, rill_language_pair *turn);

/* rill_tokenizer_is_translation() (tokenizer.h) for texts of a family's tokenizer. */
int rill_family_is_translation(const rill_family_tokenizer *self, const char *bytes, size_t length, size_t *head);

/* Returns 1 if a token has the form of a language token, and sets *name to the name that users write. */
int rill_language_token_name(rill_language_form form, const char *token, size_t length, rill_slice *name);
