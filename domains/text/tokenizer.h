/* Encodes text to token ids, and decodes ids to text.
 *
 * A segmenter (SentencePiece, Moses with BPE, or a model family's) splits text into tokens; the vocabulary has their ids.
 * With SentencePiece, a first word >>xx<< is the target language. Threads may share a tokenizer, each with its own context. */
#pragma once

#include "utf8.h"
#include "vocabulary.h"

typedef enum rill_tokenizer_kind {
    RILL_TOKENIZER_WHITESPACE,    /* texts are tokens separated by spaces; reads vocabularies only */
    RILL_TOKENIZER_SENTENCEPIECE, /* reads vocabularies, source.spm and target.spm */
    RILL_TOKENIZER_MOSES_BPE,     /* reads vocabularies and the files of moses.h */
    RILL_TOKENIZER_FAMILY,        /* reads the files of a family (text_families.c) */
} rill_tokenizer_kind;

typedef struct rill_family rill_family;

typedef struct rill_tokenizer_files {
    rill_tokenizer_kind kind;
    const char *directory;
    const char *source, *target; /* vocabulary files: JSON, or .txt with one token per line */
    int target_optional;         /* 1: if `target` is NULL or absent, both sides use the vocabulary `source` */
    int32_t source_vocab_size, target_vocab_size; /* maximum sizes of the vocabularies */
    const char *target_vocab_key; /* key in config.json of the target vocabulary's maximum size, or NULL */
    /* target id of eos. It also ends inputs, except with source_eos or separate vocabularies: then source_eos does, by default </s> */
    int32_t eos;
    /* The source tokens before and after an input. source_bos NULL: no token before it; source_eos NULL: see `eos`. */
    const char *source_bos, *source_eos;
    int no_source_eos; /* 1: eos is not appended to tokenized inputs */
    int no_text_eos;   /* 1: eos is not appended to texts either; unused for model families */
    /* 1: outputs begin with a language token, and the text of that token is the language's name. */
    int language_is_token;
    /* SENTENCEPIECE: the model of the source, or of both sides if target_spm is NULL; spm NULL: source.spm and target.spm. */
    const char *spm, *target_spm;
    const char *codes; /* MOSES_BPE: codes of an Argos package, as for rill_moses_bpe_open(), or NULL */
    int adds_unknown;  /* 1: a vocabulary without <unk> gets it as its last token, as in CTranslate2 */
    /* FAMILY: the model family (text_families.c); its source and target share one vocabulary. */
    const rill_family *family;
    int tokenized; /* 1: inputs and outputs are tokens separated by spaces */
    /* Not FAMILY, 1: the directory's optional tokenizer_config.json, special_tokens_map.json and added_tokens.json
     * add tokens to the vocabularies. */
    int has_added_tokens;
    /* from the configuration: first decoder input, and forced first token; -1: unset */
    int32_t decoder_start, forced_bos;
    /* values of the options source-lang and target-lang; NULL: not set */
    const char *source_language, *target_language;
    int language_columns; /* 1: inputs are "SOURCE-LANGUAGE tab TARGET-LANGUAGE tab TEXT" */
} rill_tokenizer_files;

/* An open tokenizer, read-only. */
typedef struct rill_tokenizer {
    rill_context *ctx;
    rill_tokenizer_kind kind;
    /* Owned vocabularies; the same object if source and target share one. Ids from the target vocabulary's count on
     * have no token. */
    rill_vocabulary *source, *target;
    int32_t source_bos, source_eos; /* ids of the source tokens before and after an input; -1: none */
    int32_t unk;                    /* source id of <unk>, for unknown tokens */
    int32_t unk_action;             /* target id of <unk>; -1: none */
    /* Names of a multilingual model's languages, NULL-terminated; NULL for other models. */
    const char *const *languages;
    int has_language_tags;        /* 1: the source vocabulary has tokens like >>de<< */
    int tokenized;                /* 1: inputs and outputs are tokens separated by spaces */
    struct rill_token_set *added; /* added tokens, at which texts are split first; NULL: none */
    int clean_up_spaces;          /* 1: remove spaces before punctuation from outputs */
    /* SentencePiece's segmenters of source and target texts; NULL: none */
    struct rill_spm *source_spm, *target_spm;
    struct rill_moses_bpe *bpe;           /* Moses with BPE; NULL for other kinds */
    struct rill_family_tokenizer *family; /* tokenizer of a model family; NULL for other kinds */
} rill_tokenizer;

/* How the output of an input starts. */
typedef struct rill_output_prefix {
    int32_t decoder_start; /* first decoder input; -1: the model's default */
    int32_t forced_bos;    /* forced first action; -1: the configuration's */
} rill_output_prefix;

/* An array to which an input's token ids are appended. */
typedef struct rill_ids {
    rill_context *ctx;
    int32_t **ids;           /* the array, reallocated as needed */
    size_t *capacity, n_ids; /* capacity and length of the array, in ids */
} rill_ids;

/* Read the vocabularies, and the files of files->kind. *out: closed by the caller; NULL on failure.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status rill_tokenizer_open(rill_tokenizer **out, rill_context *ctx, const rill_tokenizer_files *files);

void rill_tokenizer_close(rill_tokenizer *text); /* closing NULL does nothing */

/* Append an input's token ids with special tokens; nothing for an empty input. Set *opening to how its outputs start. Uses out->ctx for
 * memory and errors.
 *   RILL_OK · RILL_ERR_INPUT (recorded: not UTF-8, unknown language) · RILL_ERR_MEMORY */
rill_status rill_tokenizer_encode(const rill_tokenizer *text, const char *bytes, size_t length, rill_ids *out,
                                  rill_output_prefix *opening);

/* Set *opening from the input's language columns, or, if bytes is NULL, from the default languages.
 *   RILL_OK · RILL_ERR_INPUT (recorded in ctx: unknown or missing language) */
rill_status rill_tokenizer_output_prefix(const rill_tokenizer *text, rill_context *ctx, const char *bytes,
                                         size_t length, rill_output_prefix *opening);

/* Check that a multilingual model has languages for inputs, from options or columns. Without them it can only decode.
 *   RILL_OK · RILL_ERR_OPTION (recorded in ctx; the message names the missing option) */
rill_status rill_tokenizer_check_languages(const rill_tokenizer *text, rill_context *ctx);

/* Append the text of n tokens. Special tokens (<unk> and languages too) appear in tokenized output only. Uses out->ctx for memory and
 * errors.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (SentencePiece failed) */
rill_status rill_tokenizer_decode(const rill_tokenizer *text, size_t n, const int32_t *action, rill_text *out);

/* Call fn with each subword token of a target text, in the vocabulary or not. Uses `ctx` for memory and errors.
 *   RILL_OK · RILL_ERR_INPUT (recorded: not UTF-8) · RILL_ERR_MEMORY · the status of fn */
rill_status rill_tokenizer_split(const rill_tokenizer *text, rill_context *ctx, const char *bytes, size_t length,
                                 rill_word_fn fn, void *user);

/* Returns 1 for a text to translate, which may be split into sentences; 0 for another input; -1 if the model does not translate
 * (summarisation, tokenized inputs).
 *   *head: bytes of a language tag, language columns or T5 task prefix, to repeat before each sentence */
int rill_tokenizer_is_translation(const rill_tokenizer *text, const char *bytes, size_t length, size_t *head);

/* --- families: text_families.c ------------------------------------------------------------------------------------ */

/* Families: transformers' sequence-to-sequence models, by config.json's model_type: m2m_100 (M2M100, NLLB, SMaLL-100), mbart (mBART-25,
 * mBART-50), bart, pegasus, mt5, umt5, t5 (also MADLAD-400). The directory's files decide the variant and token ids. */

/* Returns 1 if a family has this model_type. */
int rill_family_exists(const char *model_type);

/* Fill *out with the family and its files, without vocabulary sizes and special tokens. *out points into static memory and `directory`.
 *   model_type   config.json's; NULL: by the tokenizer of tokenizer_config.json; *out is unchanged if no family has it
 *   RILL_OK · RILL_ERR_FORMAT (tokenizer_config.json is wrong, or names an unsupported tokenizer) · RILL_ERR_IO · RILL_ERR_MEMORY */
rill_status rill_family_files(rill_context *ctx, const char *model_type, const char *directory,
                              rill_tokenizer_files *out);
