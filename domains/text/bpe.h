/* bpe.h: byte pair encoding of words.
 *
 * Source: Sennrich, Haddow and Birch, Neural machine translation of rare words with subword units, 2016, in the form of
 * FSMT's merges.txt: one pair per line, in merge order; subword tokens at the end of a word end in </w>, unless words
 * are unmarked, as in GPT-2. Merges are a vocabulary that any number of threads may share. Stability: internal to rill. */
#ifndef RILL_TEXT_BPE_H
#define RILL_TEXT_BPE_H

#include "text_words.h"
#include "vocabulary.h"

/* Read merges.txt at `path`.
 *   out: on success the caller closes it; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (FILE:LINE: why) · RILL_ERR_MEMORY */
rill_status rill_merges_open(rill_vocabulary **out, rill_context *ctx, const char *path);

/* Read merges from bytes in memory, otherwise as rill_merges_open(); `name` stands for the path in errors. */
rill_status rill_merges_parse(rill_vocabulary **out, rill_context *ctx, const char *name, const char *bytes,
                              size_t length);

/* Encoder of one thread. Zero-initialise with the context and merges; memory is kept from word to word. */
typedef struct rill_bpe {
    rill_context *ctx;
    const rill_vocabulary *merges;
    int no_end_mark; /* words have no end mark */
    rill_text word, key;
    struct rill_bpe_symbol *symbols;
    struct rill_bpe_pair *heap, *round_pairs; /* pairs of the current merge, taken off the heap */
    size_t n_symbols, n_pairs, symbols_capacity, heap_capacity, round_capacity;
} rill_bpe;

void rill_bpe_clear(rill_bpe *bpe);

/* Split a word of valid UTF-8, one character at least, into subword tokens, in order. Time is O(n log n).
 *   RILL_OK · RILL_ERR_MEMORY · what fn returned */
rill_status rill_bpe_split(rill_bpe *bpe, const char *word, size_t length, rill_word_fn fn, void *user);

#endif
