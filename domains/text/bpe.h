/* bpe.h: words to pieces, by byte pair encoding.
 *
 * Source: Sennrich, Haddow and Birch, Neural machine translation of rare words with subword units, 2016; the form is
 * that of FSMT's merges.txt: a pair of pieces per line, the first line merges first; pieces that end a word end in
 * </w>, unless words are bare, as GPT-2's. Merges are a vocabulary, which any
 * number of threads may use at once. Stability: internal to rill. */
#ifndef RILL_TEXT_BPE_H
#define RILL_TEXT_BPE_H

#include "text_words.h"
#include "vocabulary.h"

/* Read merges.txt at `path`.
 *   out: on success the caller closes it; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (FILE:LINE: why) · RILL_ERR_MEMORY */
rill_status rill_merges_open(rill_vocabulary **out, rill_context *ctx, const char *path);

/* The same for bytes in memory; `name` stands for the path in errors. */
rill_status rill_merges_parse(rill_vocabulary **out, rill_context *ctx, const char *name, const char *bytes,
                              size_t length);

/* What splits words, one thread's. Zero-initialise with the context and merges; memory stays from word to word. */
typedef struct rill_bpe {
    rill_context *ctx;
    const rill_vocabulary *merges;
    int no_end_mark; /* words have no mark at their end */
    rill_text word, key;
    struct rill_bpe_symbol *symbols;
    struct rill_bpe_pair *heap, *round_pairs; /* a round's pairs are out of the heap */
    size_t n_symbols, n_pairs, symbols_capacity, heap_capacity, round_capacity;
} rill_bpe;

void rill_bpe_clear(rill_bpe *bpe);

/* The pieces of a word of valid UTF-8, one character at least, in order. Time goes with length times its logarithm.
 *   RILL_OK · RILL_ERR_MEMORY · what fn returned */
rill_status rill_bpe_split(rill_bpe *bpe, const char *word, size_t length, rill_word_fn fn, void *user);

#endif
