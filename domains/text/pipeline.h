/* pipeline.h: how a text is cut into pieces, step by step. Inner header of tokenizer_json.h's files.
 *
 * Order: normalizers over the whole text, words, pieces of each word. Stability: internal to rill. */
#ifndef RILL_TEXT_PIPELINE_H
#define RILL_TEXT_PIPELINE_H

#include "bpe.h"
#include "tokenizer_json.h"

/* One normalizer. */
typedef enum rill_normalizer_kind {
    RILL_NORMALIZER_CHARSMAP, /* SentencePiece's compiled table */
    RILL_NORMALIZER_STRIP,    /* blanks at the ends */
    RILL_NORMALIZER_REPLACE,  /* a text, or runs of two blanks and more, by another */
    RILL_NORMALIZER_PREPEND,  /* a text before one that is not empty */
} rill_normalizer_kind;

typedef struct rill_normalizer {
    rill_normalizer_kind kind;
    int strip_left, strip_right; /* STRIP */
    int space_runs;              /* REPLACE: of blanks */
    rill_slice from, to;         /* REPLACE, and PREPEND `to` */
    const uint32_t
        *unit; /* TABLE: [units] a trie in two arrays of one (Aoe 1989), as darts-clone writes it, and what it finds: */
    size_t units;
    const char *texts; /* [text_bytes], texts with a NUL behind each */
    size_t text_bytes;
} rill_normalizer;

typedef enum rill_prepend { RILL_PREPEND_NEVER, RILL_PREPEND_ALWAYS, RILL_PREPEND_FIRST } rill_prepend;

struct rill_pipeline {
    rill_arena arena;
    const char *name;
    rill_normalizer *normalizers; /* [normals] */
    size_t n_normalizers;
    /* words */
    int whitespace_split; /* cut at blanks, which are no part of words */
    int metaspace;        /* blanks become marks, and words begin with one */
    rill_slice mark;      /* "▁" */
    rill_prepend prepend; /* a mark before a word without */
    int keep_whole;       /* words are not cut at marks */
    int byte_level;       /* GPT-2's words, in its letters for bytes */
    int add_prefix_space; /* a blank before a text without */
    /* pieces */
    rill_vocabulary *merges; /* byte pairs; NULL: unigram */
    int fuse_unk;            /* what is unknown is one piece per run */
    int byte_fallback;       /* and in bytes, <0xE2>, where all of them are there */
    int ignore_merges;       /* a word that is a token is not taken apart */
    double *score;           /* [scores] unigram: of each token */
    size_t n_scores;
    double unk_score;
    int32_t unk_id;
    const char *unk; /* NULL: nothing said */
    const rill_vocabulary *vocabulary;
    int32_t *sorted_ids; /* [count] unigram: numbers in the order of tokens as bytes */
};

/* normalizers.c: the text after all normalizers, in `out`; `spare` is room. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_normalize(const rill_pipeline *p, const char *text, size_t length, rill_text *out, rill_text *spare);

/* normalizers.c: take SentencePiece's table apart; `bytes` stay. 0: it is damaged. */
int rill_normalizer_read_charsmap(rill_normalizer *out, const char *bytes, size_t size);

/* unigram.c: what it needs besides scores; the pieces of a word of one byte at least. RILL_OK · RILL_ERR_MEMORY · what fn returned */
rill_status rill_unigram_sort_vocabulary(rill_pipeline *p);
rill_status rill_unigram_split(const rill_pipeline *p, rill_context *ctx, const char *word, size_t length,
                               rill_word_fn fn, void *user);

/* byte_level.c: GPT-2's letters for bytes, and its words. The word at the beginning of a text, in bytes, 0 at the end; the letters of
 * bytes, appended; the bytes of a piece's letters, or the piece itself where it has others. */
size_t rill_byte_word(const char *text, size_t length);
rill_status rill_byte_text_to_letters(const char *text, size_t length, rill_text *out);
rill_status rill_byte_letters_to_text(const char *piece, size_t length, rill_text *out);

/* byte_level.c: replace what is not UTF-8 from `from` on by U+FFFD. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_byte_repair(rill_text *text, size_t from);

#endif
