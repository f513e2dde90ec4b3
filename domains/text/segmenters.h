/* Splits texts into subword tokens: SentencePiece, BPE, tokenizer.json's pipelines; and recognises added tokens. Private to domains/text;
 * others use tokenizer.h. */
#pragma once

#include <jansson.h>

#include "domain_base.h"
#include "utf8.h"
#include "vocabulary.h"

RILL_C_BEGIN

/* --- SentencePiece: spm.cc ---------------------------------------------------------------------------------------- */

/* SentencePiece. Only spm.cc uses libsentencepiece (C++); no exception leaves it. It allocates its own memory. Threads may share a model
 * (google/sentencepiece, issue 207). */

typedef struct rill_spm rill_spm;

/* Load the model file at `path`. RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status rill_spm_open(rill_spm **out, rill_context *ctx, const char *path);

void rill_spm_close(rill_spm *spm); /* closing NULL does nothing */

/* The number of tokens. */
int32_t rill_spm_count(const rill_spm *spm);
const char *rill_spm_piece(const rill_spm *spm, int32_t i, size_t *length);

/* Split a text into subword tokens, and call fn with each. RILL_OK · RILL_ERR_INPUT (the library failed) · the status of fn */
rill_status rill_spm_encode(const rill_spm *spm, rill_context *ctx, const char *text, size_t length, rill_word_fn fn,
                            void *user);

/* Append the text of n subword tokens, piece[i] of length[i] bytes. RILL_OK · RILL_ERR_FORMAT (the library failed) ·
 * RILL_ERR_MEMORY */
rill_status rill_spm_decode(const rill_spm *spm, size_t n, const char *const *piece, const size_t *length,
                            rill_text *out);

/* --- byte pair encoding: bpe.c ------------------------------------------------------------------------------------ */

/* BPE of Sennrich, Haddow and Birch (Neural machine translation of rare words with subword units, 2016). merges.txt has a pair per line.
 * A word's last token ends in </w>, except in GPT-2's form. Threads may share merges. */

/* Read merges.txt at `path`. *out: closed by the caller; NULL on failure.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (FILE:LINE: why) · RILL_ERR_MEMORY */
rill_status rill_merges_open(rill_vocabulary **out, rill_context *ctx, const char *path);

/* As rill_merges_open(), from bytes in memory; `name` stands for the path in errors. */
rill_status rill_merges_parse(rill_vocabulary **out, rill_context *ctx, const char *name, const char *bytes,
                              size_t length);

/* A BPE encoder for one thread. Zero-initialise it and set `ctx` and `merges`. Words reuse its memory. */
typedef struct rill_bpe {
    rill_context *ctx;
    const rill_vocabulary *merges;
    int no_end_mark; /* 1: words have no end mark </w> */
    rill_text word, key;
    struct rill_bpe_symbol *symbols;
    struct rill_bpe_pair *heap, *round_pairs; /* [n_pairs] pairs that can be merged; pairs of the current round */
    size_t n_symbols, n_pairs;
    rill_arena arena; /* memory of the arrays */
} rill_bpe;

void rill_bpe_clear(rill_bpe *bpe);

/* Call fn with the subword tokens of a word, which is valid UTF-8, not empty. Time: O(n log n).
 *   RILL_OK · RILL_ERR_MEMORY · the status of fn */
rill_status rill_bpe_split(rill_bpe *bpe, const char *word, size_t length, rill_word_fn fn, void *user);

/* --- added tokens: token_set.c ------------------------------------------------------------------------------------ */

/* Tokens of a Hugging Face directory: base tokens are subword tokens, with ids by the model family's rule; added tokens (languages,
 * sentinels, masks) are recognised verbatim anywhere in a text.
 * Order of use: set the first four members, fill the vocabulary with base tokens, rill_token_set_end_base(), rill_token_set_add(),
 * rill_token_set_finish(), rill_token_set_clear(). Threads may share a finished set. */

enum {
    RILL_TOKEN_SPECIAL = 1,     /* omitted from output text */
    RILL_TOKEN_LSTRIP = 2,      /* absorbs spaces before it */
    RILL_TOKEN_RSTRIP = 4,      /* absorbs spaces after it */
    RILL_TOKEN_SINGLE_WORD = 8, /* matched only if no letter, digit or _ is next to it */
};

typedef struct rill_added_token {
    rill_slice text;
    int32_t id;
    int flags;
} rill_added_token;

/* tokenizer_config.c: the flags of an added token in JSON: {"special": true, "lstrip": ...}. */
int rill_added_token_flags(const json_t *token);

typedef struct rill_token_set {
    rill_arena arena;            /* `added`, its texts, `flags` */
    const char *name;            /* file name, for error messages */
    rill_vocabulary *vocabulary; /* base tokens and added tokens; the caller's */
    int32_t limit;               /* maximum number of tokens: the model's vocabulary size */
    /* [n_added] added tokens; after rill_token_set_finish() ordered by first byte, longest first */
    rill_added_token *added;
    size_t n_added;
    /* M2M100 allows an added token with the id of another token, and up to `max_gap` unused ids before an id. */
    int may_share_ids;
    int32_t max_gap;
    rill_vocabulary *names; /* the texts of `added`; NULL after rill_token_set_finish() */
    int8_t *flags;          /* [n_flags] by id, -1: no added token; from rill_token_set_finish() on */
    int32_t n_flags;
    int32_t first_by_byte[257]; /* added[first_by_byte[c]] .. added[first_by_byte[c + 1] - 1] begin with byte c */
} rill_token_set;

/* Check the base tokens. RILL_OK · RILL_ERR_FORMAT (none, too many, an empty one) */
rill_status rill_token_set_end_base(const rill_token_set *tokens);

/* Add an added token. A base token keeps its id; another one gets the next id, which must equal `id` if that is >= 0 (see may_share_ids,
 * max_gap). Flags of repeated additions are merged. Tokens beyond `limit` are ignored, since directories may list more than the model has.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (another id, a gap) */
rill_status rill_token_set_add(rill_token_set *tokens, const char *text, size_t length, int64_t id, int flags);

/* The id of a base or added token; -1 if the text is no token. */
int32_t rill_token_set_find(const rill_token_set *tokens, const char *text, size_t length);

/* The id of an added token, also after rill_token_set_finish(); -1 if the text is no added token. */
int32_t rill_token_set_added_id(const rill_token_set *tokens, const char *text, size_t length);

/* Prepare the set for splitting texts; tokens cannot be added afterwards. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_token_set_finish(rill_token_set *tokens);

static inline void rill_token_set_clear(rill_token_set *tokens)
{
    rill_vocabulary_close(tokens->names);
    tokens->names = NULL;
    rill_arena_clear(&tokens->arena);
}

/* The flags of an added token of a finished set; -1 if the id is not that of an added token. */
int rill_token_set_flags(const rill_token_set *tokens, int32_t id);

/* Split a text at added tokens, the longest match first. Calls `token` with each, and `part` with the text between.
 *   without: tokens with any of these flags are text
 *   RILL_OK · the status of a callback */
typedef rill_status (*rill_added_fn)(void *user, const rill_added_token *token);
rill_status rill_token_set_split(const rill_token_set *tokens, int without, const char *text, size_t length,
                                 rill_word_fn part, rill_added_fn token, void *user);

/* --- pipelines: tokenizer_json.c, pipeline.c, bpe.c --------------------------------------------------------------- */

/* Tokenizers of the library `tokenizers`, read from tokenizer.json.
 *
 * A pipeline has normalizers, a pre-tokenizer that makes words, and a model (unigram or BPE) that makes subword tokens.
 * Unsupported settings are errors. Threads may share a pipeline.
 *
 * Deviations: a precompiled normalizer replaces the longest match, as in SentencePiece, not grapheme clusters. Added tokens with
 * `normalized` match the original text. */

typedef struct rill_pipeline rill_pipeline;

/* Build a pipeline from a JSON document (which may be freed afterwards), adding its vocabulary and added tokens to `tokens`.
 *   name: the file's name in errors; must outlive the pipeline
 *   RILL_OK · RILL_ERR_FORMAT (the message names the key) · RILL_ERR_MEMORY */
rill_status rill_pipeline_open(rill_pipeline **out, rill_context *ctx, const char *name, const json_t *document,
                               rill_token_set *tokens);

/* Add the document's added tokens only. RILL_OK · as rill_pipeline_open() */
rill_status rill_pipeline_add_tokens(rill_context *ctx, const char *name, const json_t *document,
                                     rill_token_set *tokens);

/* Build GPT-2's byte-level BPE with merges.txt at `path`. The caller reads vocab.json. prefix: 1: prepend a space if none.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status rill_pipeline_open_byte_level(rill_pipeline **out, rill_context *ctx, const char *path, int prefix);

/* Build a pipeline whose tokens are the bytes of a text, <0x00> to <0xFF>; see rill_byte_token(). RILL_OK · RILL_ERR_MEMORY */
rill_status rill_pipeline_open_bytes(rill_pipeline **out, rill_context *ctx);

/* Write the name of a byte's token, such as <0x2A>, and a NUL. Returns its length. */
size_t rill_byte_token(unsigned char byte, char out[8]);

void rill_pipeline_close(rill_pipeline *self); /* closing NULL does nothing */

/* Set the vocabulary before splitting the first text. It must outlive the pipeline. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_pipeline_set_vocabulary(rill_pipeline *self, const rill_vocabulary *vocabulary);

/* Call fn with each subword token of UTF-8 text without added tokens. first: the text starts the input.
 *   RILL_OK · RILL_ERR_INPUT (too long after normalising) · RILL_ERR_MEMORY · the status of fn */
rill_status rill_pipeline_split(const rill_pipeline *self, rill_context *ctx, int first, const char *text,
                                size_t length, rill_word_fn fn, void *user);

/* Append the text of n subword tokens, as UTF-8. Invalid bytes become U+FFFD, or are omitted by a pipeline of bytes. RILL_OK ·
 * RILL_ERR_MEMORY */
rill_status rill_pipeline_join(const rill_pipeline *self, size_t n, const char *const *piece, const size_t *length,
                               rill_text *out);

/* A step of a tokenizer.json's text normalization. */
typedef enum rill_normalizer_kind {
    RILL_NORMALIZER_CHARSMAP, /* replace by SentencePiece's precompiled character map */
    RILL_NORMALIZER_STRIP,    /* trim spaces */
    RILL_NORMALIZER_REPLACE,  /* replace a string, or runs of two or more spaces */
    RILL_NORMALIZER_PREPEND,  /* prepend a string unless the text is empty */
} rill_normalizer_kind;

typedef struct rill_normalizer {
    rill_normalizer_kind kind;
    int strip_left, strip_right; /* STRIP: whether to trim at the start and at the end */
    int space_runs;              /* REPLACE: replace runs of spaces instead of `from` */
    rill_slice from, to;         /* REPLACE: `from` by `to`; PREPEND: the string `to` */
    /* CHARSMAP: [units] double-array trie (Aoe 1989) in darts-clone's format; its values are offsets in `texts`. */
    const uint32_t *unit;
    size_t units;
    const char *texts; /* CHARSMAP: [text_bytes] replacements, each NUL-terminated */
    size_t text_bytes;
} rill_normalizer;

typedef enum rill_prepend { RILL_PREPEND_NEVER, RILL_PREPEND_ALWAYS, RILL_PREPEND_FIRST } rill_prepend;

struct rill_pipeline {
    rill_arena arena;
    const char *name;
    rill_normalizer *normalizers; /* [n_normalizers] */
    size_t n_normalizers;
    /* pre-tokenization into words */
    int whitespace_split; /* 1: split at spaces and drop them */
    int metaspace;        /* 1: replace spaces by `mark`; words begin with a mark */
    rill_slice mark;      /* the word-boundary mark "▁" */
    rill_prepend prepend; /* when to prepend a mark: never, to every word, to the first word of an input */
    int keep_whole;       /* 1: do not split at word-boundary marks */
    int byte_level;       /* 1: use GPT-2's pre-tokenization and byte alphabet */
    int add_prefix_space; /* byte_level, 1: prepend a space unless the text starts with one */
    int raw_bytes;        /* 1: each byte is a token; nothing below applies, except byte_fallback, which joins them */
    /* subword tokens */
    rill_vocabulary *merges; /* BPE merges; NULL: the model is unigram */
    int fuse_unk;            /* 1: one <unk> per run of unknown characters; 0: one per character */
    /* 1: encode unknown characters as bytes, e.g. <0xE2>, if the vocabulary has a token for each byte. */
    int byte_fallback;
    int ignore_merges; /* BPE, 1: a word that is a token is not split */
    double *score;     /* unigram: [n_scores] log-probability of each token */
    size_t n_scores;
    double unk_score;
    int32_t unk_id;
    const rill_vocabulary *vocabulary;
    int32_t *sorted_ids; /* unigram: [n_scores] ids sorted by the tokens' bytes */
};

/* pipeline.c: parse SentencePiece's precompiled character map in place; `bytes` must outlive *out. Returns 0 if the
 * map is corrupt. */
int rill_normalizer_read_charsmap(rill_normalizer *out, const char *bytes, size_t size);

/* bpe.c: find a unigram model's best segmentation of a word, and call fn with each token. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_unigram_split(const rill_pipeline *p, rill_context *ctx, const char *word, size_t length,
                               rill_word_fn fn, void *user);

/* pipeline.c: length in bytes of the first word of a text by GPT-2's pre-tokenization; 0 if the text is empty. */
size_t rill_byte_word(const char *text, size_t length);

RILL_C_END
