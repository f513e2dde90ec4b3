/* pipeline.h: the steps of a tokenizer.json tokenizer. Private header of the files that implement tokenizer_json.h.
 *
 * Order of steps: normalizers on the whole text, pre-tokenization into words, subword tokens of each word. Stability:
 * internal to rill. */
#ifndef RILL_TEXT_PIPELINE_H
#define RILL_TEXT_PIPELINE_H

#include "bpe.h"
#include "tokenizer_json.h"

/* One normalizer. */
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
    const uint32_t
        *unit; /* CHARSMAP: [units] double-array trie (Aoe 1989) in darts-clone's format; its values are offsets */
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
    int whitespace_split; /* split at spaces and drop them */
    int metaspace;        /* replace spaces by `mark`; words begin with a mark */
    rill_slice mark;      /* "▁" */
    rill_prepend prepend; /* when to prepend a mark: never, to every word, to the first word of an input */
    int keep_whole;       /* do not split at marks */
    int byte_level;       /* GPT-2's pre-tokenization and byte alphabet */
    int add_prefix_space; /* byte_level: prepend a space unless the text starts with one */
    /* subword tokens */
    rill_vocabulary *merges; /* BPE merges; NULL: the model is unigram */
    int fuse_unk;            /* one <unk> per run of unknown characters; else one per character */
    int byte_fallback; /* encode unknown characters as bytes, e.g. <0xE2>, if the vocabulary has a token for each */
    int ignore_merges; /* BPE: a word that is a token is not split */
    double *score;     /* unigram: [n_scores] log-probability of each token */
    size_t n_scores;
    double unk_score;
    int32_t unk_id;
    const char *unk; /* name of <unk>; NULL: none */
    const rill_vocabulary *vocabulary;
    int32_t *sorted_ids; /* unigram: [n_scores] ids sorted by the tokens' bytes */
};

/* normalizers.c: set `out` to the text after all normalizers; `spare` is scratch memory. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_normalize(const rill_pipeline *p, const char *text, size_t length, rill_text *out, rill_text *spare);

/* normalizers.c: parse SentencePiece's precompiled character map in place; `bytes` must outlive *out. Return 1, or 0 if
 * the map is corrupt. */
int rill_normalizer_read_charsmap(rill_normalizer *out, const char *bytes, size_t size);

/* unigram.c: build sorted_ids. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_unigram_sort_vocabulary(rill_pipeline *p);
rill_status rill_unigram_split(const rill_pipeline *p, rill_context *ctx, const char *word, size_t length,
                               rill_word_fn fn, void *user);

/* byte_level.c: length in bytes of the first word of a text by GPT-2's pre-tokenization; 0 if the text is empty. */
size_t rill_byte_word(const char *text, size_t length);
rill_status rill_byte_text_to_letters(const char *text, size_t length, rill_text *out);
rill_status rill_byte_letters_to_text(const char *piece, size_t length, rill_text *out);

/* byte_level.c: replace invalid UTF-8 by U+FFFD, from byte `from` of the text on. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_byte_repair(rill_text *text, size_t from);

#endif
