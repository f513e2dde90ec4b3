/* pipeline.h: the steps of a tokenizer.json tokenizer. Private header of tokenizer_json.h's files.
 *
 * Order: normalizers on the whole text, pre-tokenization into words, subword tokens of each word. Stability: internal
 * to rill. */
#ifndef RILL_TEXT_PIPELINE_H
#define RILL_TEXT_PIPELINE_H

#include "bpe.h"
#include "tokenizer_json.h"

/* One normalizer. */
typedef enum rill_normalizer_kind {
    RILL_NORMALIZER_CHARSMAP, /* SentencePiece's compiled table */
    RILL_NORMALIZER_STRIP,    /* trim spaces */
    RILL_NORMALIZER_REPLACE,  /* replace a text, or runs of two or more spaces */
    RILL_NORMALIZER_PREPEND,  /* prepend a text unless the input is empty */
} rill_normalizer_kind;

typedef struct rill_normalizer {
    rill_normalizer_kind kind;
    int strip_left, strip_right; /* STRIP */
    int space_runs;              /* REPLACE: runs of spaces */
    rill_slice from, to;         /* REPLACE, and PREPEND `to` */
    const uint32_t *unit; /* TABLE: [units] double-array trie (Aoe 1989) in darts-clone's format, and its values: */
    size_t units;
    const char *texts; /* [text_bytes], NUL-terminated texts */
    size_t text_bytes;
} rill_normalizer;

typedef enum rill_prepend { RILL_PREPEND_NEVER, RILL_PREPEND_ALWAYS, RILL_PREPEND_FIRST } rill_prepend;

struct rill_pipeline {
    rill_arena arena;
    const char *name;
    rill_normalizer *normalizers; /* [normals] */
    size_t n_normalizers;
    /* words */
    int whitespace_split; /* split at spaces and drop them */
    int metaspace;        /* replace spaces by marks; words begin with a mark */
    rill_slice mark;      /* "▁" */
    rill_prepend prepend; /* when to prepend a mark */
    int keep_whole;       /* do not split at marks */
    int byte_level;       /* GPT-2's pre-tokenization and byte alphabet */
    int add_prefix_space; /* prepend a space unless the text starts with one */
    /* subword tokens */
    rill_vocabulary *merges; /* BPE merges; NULL: unigram */
    int fuse_unk;            /* one <unk> per run of unknown characters */
    int byte_fallback;       /* encode unknown characters as bytes, <0xE2>, if all byte tokens exist */
    int ignore_merges;       /* a word that is a token is not split */
    double *score;           /* unigram: log-probability of each token */
    size_t n_scores;
    double unk_score;
    int32_t unk_id;
    const char *unk; /* NULL: none */
    const rill_vocabulary *vocabulary;
    int32_t *sorted_ids; /* [count] unigram: ids sorted by the tokens' bytes */
};

/* normalizers.c: apply all normalizers; the result is in `out`, `spare` is a buffer. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_normalize(const rill_pipeline *p, const char *text, size_t length, rill_text *out, rill_text *spare);

/* normalizers.c: parse SentencePiece's compiled table; `bytes` must outlive it. 0: it is damaged. */
int rill_normalizer_read_charsmap(rill_normalizer *out, const char *bytes, size_t size);

/* unigram.c: build the index; split a non-empty word. RILL_OK · RILL_ERR_MEMORY · what fn returned */
rill_status rill_unigram_sort_vocabulary(rill_pipeline *p);
rill_status rill_unigram_split(const rill_pipeline *p, rill_context *ctx, const char *word, size_t length,
                               rill_word_fn fn, void *user);

/* byte_level.c: GPT-2's byte alphabet and pre-tokenization. Bytes of the first word of a text, 0 at the end; append the
 * letters of bytes; append the bytes of a token's letters, or the token itself if it contains other characters. */
size_t rill_byte_word(const char *text, size_t length);
rill_status rill_byte_text_to_letters(const char *text, size_t length, rill_text *out);
rill_status rill_byte_letters_to_text(const char *piece, size_t length, rill_text *out);

/* byte_level.c: replace invalid UTF-8 from `from` on by U+FFFD. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_byte_repair(rill_text *text, size_t from);

#endif
