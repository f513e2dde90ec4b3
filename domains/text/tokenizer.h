/* tokenizer.h: a model's tokenizer: text to token ids, and back.
 *
 * An architecture describes its directory's vocabulary files and the segmenter: SentencePiece, or Moses tokenization
 * with byte pair encoding (moses_bpe.h). Segmenters only split text; ids come from the vocabulary, where unknown tokens
 * are <unk> (as in transformers' translation models). With SentencePiece a first word of the form >>xx<< names the
 * target language of a multilingual model and is one token.
 * A family (text_families.h) has its own rules for ids and languages.
 * Any number of threads may share one, each with its own context. Stability: internal to rill. */
#ifndef RILL_TEXT_TOKENIZER_H
#define RILL_TEXT_TOKENIZER_H

#include "text_words.h"
#include "vocabulary.h"

typedef struct rill_tokenizer rill_tokenizer;

typedef enum rill_tokenizer_kind {
    RILL_TOKENIZER_WHITESPACE,    /* tokens separated by spaces: no other file is read */
    RILL_TOKENIZER_SENTENCEPIECE, /* source.spm and target.spm */
    RILL_TOKENIZER_MOSES_BPE,     /* files of moses_bpe.h */
    RILL_TOKENIZER_FAMILY,        /* files of the family: text_families.h */
} rill_tokenizer_kind;

typedef struct rill_family rill_family;

typedef struct rill_tokenizer_files {
    rill_tokenizer_kind kind;
    const char *directory;
    const char *source, *target; /* vocabulary files: JSON, or .txt with one token per line */
    int target_optional;         /* target may be absent or NULL: source and target then share a vocabulary */
    int32_t source_vocab_size, target_vocab_size; /* maximum sizes of the vocabularies */
    const char *target_vocab_key; /* key in config.json of the target vocabulary's maximum size, or NULL */
    int32_t eos; /* target symbol that ends an output; also an input's, or the source token of the same name */
    /* Source tokens before and after an input; NULL: none, or eos; and whether tokenized inputs contain the latter
     * explicitly. */
    const char *source_bos, *source_eos;
    int no_source_eos;
    int language_is_token; /* the output language is a token, by its name, at the start of outputs */
    const char *spm;       /* SENTENCEPIECE: one model for both sides; NULL: source.spm and target.spm */
    /* FAMILY: source and target share one vocabulary. */
    const rill_family *family;
    int tokenized; /* inputs and outputs are tokens separated by spaces */
    /* From the configuration: start of the decoder input, and forced first action; -1: unset. */
    int32_t decoder_start, forced_bos;
    /* Names of the source and target languages, NULL: the directory's defaults; and whether each input has columns:
     * SOURCE TAB TARGET TAB TEXT, where empty ones mean the default. */
    const char *source_language, *target_language;
    int language_columns;
} rill_tokenizer_files;

/* Start of an input's output. */
typedef struct rill_output_prefix {
    int32_t decoder_start; /* first decoder input, -1: the model's */
    int32_t forced_bos;    /* forced first action, -1: the configuration's */
} rill_output_prefix;

/* Destination of an input's token ids. */
typedef struct rill_ids {
    rill_context *ctx;
    int32_t **ids;           /* grown as needed */
    size_t *capacity, n_ids; /* ids are appended after n_ids */
} rill_ids;

/* Read the vocabularies, and the files of the kind.
 *   out: on success the caller closes it; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status rill_tokenizer_open(rill_tokenizer **out, rill_context *ctx, const rill_tokenizer_files *files);

void rill_tokenizer_close(rill_tokenizer *text); /* NULL is allowed */

/* Append the token ids of an input, with special tokens before and after it, including eos; nothing for an empty input.
 * Allocates from out->ctx, which records errors; likewise below.
 *   RILL_OK · RILL_ERR_INPUT (recorded: not UTF-8, a language unknown to the model) · RILL_ERR_MEMORY */
rill_status rill_tokenizer_encode(const rill_tokenizer *text, const char *bytes, size_t length, rill_ids *out,
                                  rill_output_prefix *opening);

/* Start of the output of an input, from its language columns alone; bytes NULL: of an input without them.
 *   RILL_OK · RILL_ERR_INPUT (recorded in ctx: a language unknown to the model, or missing) */
rill_status rill_tokenizer_output_prefix(const rill_tokenizer *text, rill_context *ctx, const char *bytes,
                                         size_t length, rill_output_prefix *opening);

/* Whether inputs can be encoded: a multilingual model needs languages, by options or in each input. Otherwise the
 * tokenizer can still decode.
 *   RILL_OK · RILL_ERR_OPTION (recorded in ctx: names the missing option) */
rill_status rill_tokenizer_check_languages(const rill_tokenizer *text, rill_context *ctx);

/* Languages of a multilingual model, NULL-terminated; NULL for any other model. Borrowed. */
const char *const *rill_tokenizer_languages(const rill_tokenizer *text);

/* Append the text of n actions. Text omits <unk> and other special tokens, languages included; tokenized output keeps
 * them.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (refused by SentencePiece) */
rill_status rill_tokenizer_decode(const rill_tokenizer *text, size_t n, const int32_t *action, rill_text *out);

/* Split a target text into subword tokens; fn gets each in order. They need not be in the vocabulary. `ctx` is the
 * caller's.
 *   RILL_OK · RILL_ERR_INPUT (recorded: not UTF-8) · RILL_ERR_MEMORY · what fn returned */
rill_status rill_tokenizer_split(const rill_tokenizer *text, rill_context *ctx, const char *bytes, size_t length,
                                 rill_word_fn fn, void *user);

/* Whether an input is text to translate, which may be split into sentences: 1 yes; -1: no input of this model is
 * (summarisation, tokenized inputs); 0: this one is not. *head: bytes of its tag or language columns, to be repeated
 * before every sentence. */
int rill_tokenizer_is_translation(const rill_tokenizer *text, const char *bytes, size_t length, size_t *head);

/* Source tokens before and after an input, -1 for none. */
int32_t rill_tokenizer_source_bos(const rill_tokenizer *text);
int32_t rill_tokenizer_source_eos(const rill_tokenizer *text);

/* Whether the vocabulary is the family's own. */
int rill_tokenizer_is_family(const rill_tokenizer *text);

/* Action of <unk>; -1: none. */
int32_t rill_tokenizer_unk(const rill_tokenizer *text);

/* The vocabularies; the same one if shared. Target symbols at or above the count have no token. Borrowed. */
const rill_vocabulary *rill_tokenizer_source_vocab(const rill_tokenizer *text);
const rill_vocabulary *rill_tokenizer_target_vocab(const rill_tokenizer *text);

#endif
