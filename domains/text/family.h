/* family.h: the text of one family: its row of the table, what a folder says, and the pieces and languages made of both. Inner header of
 * domains/text: the rest of rill sees codec.h and families.h.
 *
 * Sources: transformers' tokenizers of these names, and convert_slow_tokenizer.py for numbers. Stability: internal to rill. */
#ifndef RILL_TEXT_FAMILY_H
#define RILL_TEXT_FAMILY_H

#include <jansson.h>

#include "codec.h"
#include "spm.h"
#include "tokenizer_json.h"
#include "tokens.h"

/* --- the table: families.c ---------------------------------------------------------------------------------------- */

/* How pieces get their numbers where a folder has a SentencePiece model. */
typedef enum rill_numbering {
    RILL_NUMBERS_FAIRSEQ, /* <s>, <pad>, </s>, <unk>, then pieces from the fourth on, languages, <mask> */
    RILL_NUMBERS_LISTED,  /* vocab.json beside it has them; languages behind */
    RILL_NUMBERS_PEGASUS, /* <pad>, </s>, masks and <unk_2> ... first, then pieces from the third on */
    RILL_NUMBERS_SPM,     /* the pieces' own, sentinels behind */
    RILL_NUMBERS_BYTES,   /* no SentencePiece: vocab.json and merges.txt */
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
typedef enum rill_around { RILL_AROUND_NOTHING, RILL_AROUND_SOURCE, RILL_AROUND_TARGET, RILL_AROUND_BEGIN } rill_around;

/* What a target's symbol does on the other side. */
typedef enum rill_target_use {
    RILL_TARGET_UNUSED,
    RILL_TARGET_FIRST, /* the first action is it */
    RILL_TARGET_START, /* the decoder starts from it */
} rill_target_use;

struct rill_family {
    const char *model_type, *tokenizer; /* the latter as tokenizer_class has it, "Fast" apart */
    const char *model;                  /* the file of the SentencePiece model; NULL */
    rill_numbering numbering;
    rill_language_form form;
    rill_around before, behind; /* `behind`: behind the end */
    rill_target_use target;
    const char *languages; /* symbols' names between blanks, in order: for folders that do not list them */
    const char *begin, *pad, *unknown,
        *mask; /* names of symbols unless the folder has others; NULL: it has none. The end is </s> */
};

/* --- what a folder says: folder_said.c ---------------------------------------------------------------------------- */

/* tokenizer_config.json, special_tokens_map.json, added_tokens.json and tokenizer.json; those that are not there, or not read, are NULL. */
typedef struct rill_said {
    rill_context *ctx;
    const char *directory;
    json_t *config, *map, *added, *tokenizer;
} rill_said;

/* Read the first three, or tokenizer.json too. To be closed whatever is returned.
 *   RILL_OK · RILL_ERR_FORMAT · RILL_ERR_IO · RILL_ERR_MEMORY */
rill_status rill_said_open(rill_said *said, rill_context *ctx, const char *directory, int tokenizer);
void rill_said_close(rill_said *said);

/* Whether the directory has the file. */
int rill_said_has(const char *directory, const char *file);

/* A symbol's name, or another text, by its key: as it stands or as {"content": ...}; NULL: nothing is said. */
const char *rill_said_text(const rill_said *said, const char *key);

/* A switch, a number; `fallback` where nothing is said. RILL_OK · RILL_ERR_FORMAT (of another type, out of range) */
rill_status rill_said_switch(const rill_said *said, const char *key, int fallback, int *out);
rill_status rill_said_number(const rill_said *said, const char *key, int64_t least, int64_t most, int64_t fallback,
                             int64_t *out);

/* Add the tokens that the folder says have been added, those with numbers in order of these; then, when `listed`, those that are only
 * named as special. RILL_OK · as rill_tokens_add() */
rill_status rill_said_add(const rill_said *said, rill_tokens *tokens);
rill_status rill_said_add_listed(const rill_said *said, rill_tokens *tokens);

/* --- a family's text: family_open.c, family.c --------------------------------------------------------------------- */

typedef struct rill_language {
    const char *name; /* as users write it */
    int32_t id;       /* its symbol */
} rill_language;

/* What an input's text stands between, and how its output begins: symbols, -1 for none. */
typedef struct rill_turn {
    int32_t source, target;
} rill_turn;

typedef struct rill_family_text {
    rill_blocks blocks;
    rill_family family;
    const char *directory;
    rill_tokens tokens;
    rill_vocabulary *vocabulary; /* the codec's */
    rill_spm *spm;               /* what makes pieces: one of the two */
    rill_pipeline *pipeline;
    int32_t begin, end, unknown;
    int clean; /* blanks before punctuation are taken out of outputs */
    int tokenized, columns;
    rill_language *language; /* [languages] in order of their numbers */
    const char **names;      /* [languages + 1] theirs, then NULL */
    size_t languages;
    rill_turn usual; /* where an input says nothing else */
    int32_t forced;  /* the first action by the configuration, -1: none */
} rill_family_text;

/* RILL_OK · as rill_codec_open() */
rill_status rill_family_open(rill_family_text **out, rill_context *ctx, const rill_codec_files *files);
void rill_family_close(rill_family_text *self); /* NULL is allowed */

/* As the codec's functions of these names. */
rill_status rill_family_read(const rill_family_text *self, const char *bytes, size_t length, rill_ids *out,
                             rill_opening *opening);
rill_status rill_family_opening(const rill_family_text *self, rill_context *ctx, const char *bytes, size_t length,
                                rill_opening *opening);
rill_status rill_family_write(const rill_family_text *self, size_t n, const int32_t *action, rill_text *out);
rill_status rill_family_split(const rill_family_text *self, rill_context *ctx, const char *bytes, size_t length,
                              rill_word_fn fn, void *user);

/* codec.c: the pieces with blanks between them; a text without blanks at its ends, and without what would end a line. RILL_OK ·
 * RILL_ERR_MEMORY */
rill_status rill_codec_write_pieces(size_t n, const char *const *piece, const size_t *length, rill_text *out);
void rill_codec_tidy(rill_text *out, size_t from);

/* languages.c: find the symbols of languages, and what inputs are unless they say it.
 *   RILL_OK · RILL_ERR_OPTION (names the option) · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status rill_languages_open(rill_family_text *self, rill_context *ctx, const rill_said *said,
                                const rill_codec_files *files);

/* Whether inputs can be read: their languages and those of outputs are known, or they say them themselves.
 *   RILL_OK · RILL_ERR_OPTION (says what to give) */
rill_status rill_languages_ready(const rill_family_text *self, rill_context *ctx);

/* Take the columns off an input that has them; *turn is what they and the defaults say.
 *   RILL_OK · RILL_ERR_INPUT (recorded) */
rill_status rill_languages_turn(const rill_family_text *self, rill_context *ctx, const char **bytes, size_t *length,
                                rill_turn *turn);

/* As rill_codec_translates(). */
int rill_family_translates(const rill_family_text *self, const char *bytes, size_t length, size_t *head);

/* Whether a token has the form of a language's symbol; *name [of length] is how users call it. */
int rill_language_named(rill_language_form form, const char *token, size_t length, rill_slice *name);

#endif
