/* family.h: the tokenizer of one model family: its row of the table, a directory's settings, and the resulting tokens
 * and languages. Private header of domains/text; the rest of rill uses tokenizer.h and text_families.h.
 *
 * Sources: transformers' tokenizers of these names, and convert_slow_tokenizer.py for token ids. Stability: internal to
 * rill. */
#ifndef RILL_TEXT_FAMILY_H
#define RILL_TEXT_FAMILY_H

#include <jansson.h>

#include "spm.h"
#include "token_set.h"
#include "tokenizer.h"
#include "tokenizer_json.h"

/* --- the table: text_families.c ---------------------------------------------------------------------------------------- */

/* How subword tokens get ids in a directory with a SentencePiece model. */
typedef enum rill_numbering {
    RILL_NUMBERS_FAIRSEQ, /* <s>, <pad>, </s>, <unk>, then SentencePiece tokens from the fourth on, languages, <mask> */
    RILL_NUMBERS_VOCAB_JSON, /* ids from vocab.json; languages follow */
    RILL_NUMBERS_PEGASUS,    /* <pad>, </s>, masks and <unk_2> ... first, then SentencePiece tokens from the third on */
    RILL_NUMBERS_SPM,        /* SentencePiece ids, then sentinels */
    RILL_NUMBERS_BYTES,      /* no SentencePiece: byte-level BPE with vocab.json and merges.txt */
} rill_numbering;

/* Format of language tokens. */
typedef enum rill_language_form {
    RILL_LANGUAGES_NONE,
    RILL_LANGUAGES_FLORES, /* eng_Latn */
    RILL_LANGUAGES_MBART,  /* en_XX */
    RILL_LANGUAGES_M2M,    /* __en__ */
    RILL_LANGUAGES_TAGS,   /* <2en>: target only, optional */
} rill_language_form;

/* Tokens before and after an input, besides eos. */
typedef enum rill_extra_token {
    RILL_EXTRA_NONE,
    RILL_EXTRA_SOURCE_LANGUAGE,
    RILL_EXTRA_TARGET_LANGUAGE,
    RILL_EXTRA_BOS
} rill_extra_token;

/* Role of the target language token on the decoder side. */
typedef enum rill_target_use {
    RILL_TARGET_UNUSED,
    RILL_TARGET_FORCED_BOS,    /* forced as the first action */
    RILL_TARGET_DECODER_START, /* starts the decoder input */
} rill_target_use;

struct rill_family {
    const char *model_type, *tokenizer; /* tokenizer: the tokenizer_class without "Fast" */
    const char *spm_file;               /* SentencePiece model file, or NULL */
    rill_numbering numbering;
    rill_language_form language_form;
    rill_extra_token prefix, suffix; /* `suffix` follows eos */
    rill_target_use target;
    const char *languages; /* language token names, space-separated, in order of ids, for directories without a list */
    const char *begin, *pad, *unknown, *mask; /* default names of special tokens; NULL: none. Eos is </s> */
};

/* --- settings of a directory: tokenizer_config.c
 * ---------------------------------------------------------------------- */

/* tokenizer_config.json, special_tokens_map.json, added_tokens.json and tokenizer.json; NULL: absent or not read. */
typedef struct rill_tokenizer_config {
    rill_context *ctx;
    const char *directory;
    json_t *config, *special_tokens_map, *added_tokens, *tokenizer;
} rill_tokenizer_config;

/* Read the first three, and tokenizer.json on request. Close it in any case.
 *   RILL_OK · RILL_ERR_FORMAT · RILL_ERR_IO · RILL_ERR_MEMORY */
rill_status rill_tokenizer_config_open(rill_tokenizer_config *config, rill_context *ctx, const char *directory,
                                       int tokenizer);
void rill_tokenizer_config_close(rill_tokenizer_config *config);

/* Whether the directory has the file. */
int rill_directory_has_file(const char *directory, const char *file);

/* A special token, or another text, by its key: a string or {"content": ...}; NULL: absent. */
const char *rill_tokenizer_config_string(const rill_tokenizer_config *config, const char *key);

/* A boolean, a number; `fallback` if absent. RILL_OK · RILL_ERR_FORMAT (another type, out of range) */
rill_status rill_tokenizer_config_bool(const rill_tokenizer_config *config, const char *key, int fallback, int *out);
rill_status rill_tokenizer_config_int(const rill_tokenizer_config *config, const char *key, int64_t min, int64_t max,
                                      int64_t fallback, int64_t *out);

/* Add the directory's added tokens, in order of ids, then special tokens without an id. RILL_OK · as
 * rill_token_set_add() */
rill_status rill_tokenizer_config_add_tokens(const rill_tokenizer_config *config, rill_token_set *tokens);
rill_status rill_tokenizer_config_add_special(const rill_tokenizer_config *config, rill_token_set *tokens);

/* --- a family's text: family_open.c, family.c --------------------------------------------------------------------- */

typedef struct rill_language {
    const char *name; /* the user's name for it */
    int32_t id;       /* id of the token */
} rill_language;

/* Tokens around an input, and at the start of its output; -1 for none. */
typedef struct rill_language_pair {
    int32_t source, target;
} rill_language_pair;

typedef struct rill_family_tokenizer {
    rill_arena arena;
    rill_family family;
    const char *directory;
    rill_token_set tokens;
    rill_vocabulary *vocabulary; /* owned by the tokenizer */
    rill_spm *spm;               /* the segmenter: one of the two */
    rill_pipeline *pipeline;
    int32_t bos, eos, unk;
    int clean_up_spaces; /* remove spaces before punctuation from outputs */
    int tokenized, language_columns;
    rill_language *language;     /* [languages] in order of ids */
    const char **language_names; /* [languages + 1] names, then NULL */
    size_t n_languages;
    rill_language_pair default_languages; /* for inputs that do not choose languages */
    int32_t forced_bos;                   /* first action by the configuration, -1: none */
} rill_family_tokenizer;

/* RILL_OK · as rill_tokenizer_open() */
rill_status rill_family_open(rill_family_tokenizer **out, rill_context *ctx, const rill_tokenizer_files *files);
void rill_family_close(rill_family_tokenizer *self); /* NULL is allowed */

/* These functions are the family's part of rill_tokenizer_encode() and so on, with the same contracts. */
rill_status rill_family_encode(const rill_family_tokenizer *self, const char *bytes, size_t length, rill_ids *out,
                               rill_output_prefix *opening);
rill_status rill_family_output_prefix(const rill_family_tokenizer *self, rill_context *ctx, const char *bytes,
                                      size_t length, rill_output_prefix *opening);
rill_status rill_family_decode(const rill_family_tokenizer *self, size_t n, const int32_t *action, rill_text *out);
rill_status rill_family_split(const rill_family_tokenizer *self, rill_context *ctx, const char *bytes, size_t length,
                              rill_word_fn fn, void *user);

/* tokenizer.c: subword tokens joined by spaces; text trimmed, with line breaks removed. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_tokenizer_join_tokens(size_t n, const char *const *piece, const size_t *length, rill_text *out);
void rill_tokenizer_tidy_spaces(rill_text *out, size_t from);

/* languages.c: find the language tokens and the default languages.
 *   RILL_OK · RILL_ERR_OPTION (names the option) · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status rill_languages_open(rill_family_tokenizer *self, rill_context *ctx, const rill_tokenizer_config *config,
                                const rill_tokenizer_files *files);

/* Whether inputs can be encoded: their languages are known, or each input names its own.
 *   RILL_OK · RILL_ERR_OPTION (names the missing option) */
rill_status rill_languages_check(const rill_family_tokenizer *self, rill_context *ctx);

/* Strip the language columns of an input that has them; *turn is the resulting language pair.
 *   RILL_OK · RILL_ERR_INPUT (recorded) */
rill_status rill_languages_for_input(const rill_family_tokenizer *self, rill_context *ctx, const char **bytes,
                                     size_t *length, rill_language_pair *turn);

/* As rill_tokenizer_is_translation(). */
int rill_family_is_translation(const rill_family_tokenizer *self, const char *bytes, size_t length, size_t *head);

/* Whether a token has the form of a language token; *name is the user's name for it. */
int rill_language_token_name(rill_language_form form, const char *token, size_t length, rill_slice *name);

#endif
