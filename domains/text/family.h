/* family.h: the text of one family: its row of the table, what a folder says, and the pieces and languages made of both. Inner header of
 * domains/text: the rest of rill sees tokenizer.h and text_families.h.
 *
 * Sources: transformers' tokenizers of these names, and convert_slow_tokenizer.py for numbers. Stability: internal to rill. */
#ifndef RILL_TEXT_FAMILY_H
#define RILL_TEXT_FAMILY_H

#include <jansson.h>

#include "spm.h"
#include "token_set.h"
#include "tokenizer.h"
#include "tokenizer_json.h"

/* --- the table: text_families.c ---------------------------------------------------------------------------------------- */

/* How pieces get their numbers where a folder has a SentencePiece model. */
typedef enum rill_numbering {
    RILL_NUMBERS_FAIRSEQ,    /* <s>, <pad>, </s>, <unk>, then pieces from the fourth on, languages, <mask> */
    RILL_NUMBERS_VOCAB_JSON, /* vocab.json beside it has them; languages behind */
    RILL_NUMBERS_PEGASUS,    /* <pad>, </s>, masks and <unk_2> ... first, then pieces from the third on */
    RILL_NUMBERS_SPM,        /* the pieces' own, sentinels behind */
    RILL_NUMBERS_BYTES,      /* no SentencePiece: vocab.json and merges.txt */
} rill_numbering;

/* How symbols of languages look. */
typedef enum rill_language_form {
    RILL_LANGUAGES_NONE,
    RILL_LANGUAGES_FLORES, /* eng_Latn */
    RILL_LANGUAGES_MBART,  /* en_XX */
    RILL_LANGUAGES_M2M,    /* __en__ */
    RILL_LANGUAGES_TAGS,   /* <2en>: of the target alone, for those who want it */
} rill_language_form;

/* What stands before and behind the pieces of an input, beside its end. */
typedef enum rill_extra_token {
    RILL_EXTRA_NONE,
    RILL_EXTRA_SOURCE_LANGUAGE,
    RILL_EXTRA_TARGET_LANGUAGE,
    RILL_EXTRA_BOS
} rill_extra_token;

/* What a target's symbol does on the other side. */
typedef enum rill_target_use {
    RILL_TARGET_UNUSED,
    RILL_TARGET_FORCED_BOS,    /* the first action is it */
    RILL_TARGET_DECODER_START, /* the decoder starts from it */
} rill_target_use;

struct rill_family {
    const char *model_type, *tokenizer; /* the latter as tokenizer_class has it, "Fast" apart */
    const char *spm_file;               /* the file of the SentencePiece model; NULL */
    rill_numbering numbering;
    rill_language_form language_form;
    rill_extra_token prefix, suffix; /* `behind`: behind the end */
    rill_target_use target;
    const char *languages; /* symbols' names between blanks, in order: for folders that do not list them */
    const char *begin, *pad, *unknown,
        *mask; /* names of symbols unless the folder has others; NULL: it has none. The end is </s> */
};

/* --- what a folder says: tokenizer_config.c ---------------------------------------------------------------------------- */

/* tokenizer_config.json, special_tokens_map.json, added_tokens.json and tokenizer.json; those that are not there, or not read, are NULL. */
typedef struct rill_tokenizer_config {
    rill_context *ctx;
    const char *directory;
    json_t *config, *special_tokens_map, *added_tokens, *tokenizer;
} rill_tokenizer_config;

/* Read the first three, or tokenizer.json too. To be closed whatever is returned.
 *   RILL_OK · RILL_ERR_FORMAT · RILL_ERR_IO · RILL_ERR_MEMORY */
rill_status rill_tokenizer_config_open(rill_tokenizer_config *config, rill_context *ctx, const char *directory,
                                       int tokenizer);
void rill_tokenizer_config_close(rill_tokenizer_config *config);

/* Whether the directory has the file. */
int rill_directory_has_file(const char *directory, const char *file);

/* A symbol's name, or another text, by its key: as it stands or as {"content": ...}; NULL: nothing is said. */
const char *rill_tokenizer_config_string(const rill_tokenizer_config *config, const char *key);

/* A switch, a number; `fallback` where nothing is said. RILL_OK · RILL_ERR_FORMAT (of another type, out of range) */
rill_status rill_tokenizer_config_bool(const rill_tokenizer_config *config, const char *key, int fallback, int *out);
rill_status rill_tokenizer_config_int(const rill_tokenizer_config *config, const char *key, int64_t min, int64_t max,
                                      int64_t fallback, int64_t *out);

/* Add the tokens that the folder says have been added, those with numbers in order of these; then, when `listed`, those that are only
 * named as special. RILL_OK · as rill_token_set_add() */
rill_status rill_tokenizer_config_add_tokens(const rill_tokenizer_config *config, rill_token_set *tokens);
rill_status rill_tokenizer_config_add_special(const rill_tokenizer_config *config, rill_token_set *tokens);

/* --- a family's text: family_open.c, family.c --------------------------------------------------------------------- */

typedef struct rill_language {
    const char *name; /* as users write it */
    int32_t id;       /* its symbol */
} rill_language;

/* What an input's text stands between, and how its output begins: symbols, -1 for none. */
typedef struct rill_language_pair {
    int32_t source, target;
} rill_language_pair;

typedef struct rill_family_tokenizer {
    rill_arena arena;
    rill_family family;
    const char *directory;
    rill_token_set tokens;
    rill_vocabulary *vocabulary; /* the codec's */
    rill_spm *spm;               /* what makes pieces: one of the two */
    rill_pipeline *pipeline;
    int32_t bos, eos, unk;
    int clean_up_spaces; /* blanks before punctuation are taken out of outputs */
    int tokenized, language_columns;
    rill_language *language;     /* [languages] in order of their numbers */
    const char **language_names; /* [languages + 1] theirs, then NULL */
    size_t n_languages;
    rill_language_pair default_languages; /* where an input says nothing else */
    int32_t forced_bos;                   /* the first action by the configuration, -1: none */
} rill_family_tokenizer;

/* RILL_OK · as rill_tokenizer_open() */
rill_status rill_family_open(rill_family_tokenizer **out, rill_context *ctx, const rill_tokenizer_files *files);
void rill_family_close(rill_family_tokenizer *self); /* NULL is allowed */

/* As the codec's functions of these names. */
rill_status rill_family_encode(const rill_family_tokenizer *self, const char *bytes, size_t length, rill_ids *out,
                               rill_output_prefix *opening);
rill_status rill_family_output_prefix(const rill_family_tokenizer *self, rill_context *ctx, const char *bytes,
                                      size_t length, rill_output_prefix *opening);
rill_status rill_family_decode(const rill_family_tokenizer *self, size_t n, const int32_t *action, rill_text *out);
rill_status rill_family_split(const rill_family_tokenizer *self, rill_context *ctx, const char *bytes, size_t length,
                              rill_word_fn fn, void *user);

/* tokenizer.c: the pieces with blanks between them; a text without blanks at its ends, and without what would end a line. RILL_OK ·
 * RILL_ERR_MEMORY */
rill_status rill_tokenizer_join_tokens(size_t n, const char *const *piece, const size_t *length, rill_text *out);
void rill_tokenizer_tidy_spaces(rill_text *out, size_t from);

/* languages.c: find the symbols of languages, and what inputs are unless they say it.
 *   RILL_OK · RILL_ERR_OPTION (names the option) · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status rill_languages_open(rill_family_tokenizer *self, rill_context *ctx, const rill_tokenizer_config *config,
                                const rill_tokenizer_files *files);

/* Whether inputs can be read: their languages and those of outputs are known, or they say them themselves.
 *   RILL_OK · RILL_ERR_OPTION (says what to give) */
rill_status rill_languages_check(const rill_family_tokenizer *self, rill_context *ctx);

/* Take the columns off an input that has them; *turn is what they and the defaults say.
 *   RILL_OK · RILL_ERR_INPUT (recorded) */
rill_status rill_languages_for_input(const rill_family_tokenizer *self, rill_context *ctx, const char **bytes,
                                     size_t *length, rill_language_pair *turn);

/* As rill_tokenizer_is_translation(). */
int rill_family_is_translation(const rill_family_tokenizer *self, const char *bytes, size_t length, size_t *head);

/* Whether a token has the form of a language's symbol; *name [of length] is how users call it. */
int rill_language_token_name(rill_language_form form, const char *token, size_t length, rill_slice *name);

#endif
