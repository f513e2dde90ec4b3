/* bpe.h: words to pieces, by byte pair encoding.
 *
 * Source: Sennrich, Haddow and Birch, Neural machine translation of rare words with subword units, 2016; the form is
 * that of FSMT's merges.txt: a pair of pieces per line, the first line merges first; pieces that end a word end in
 * </w>. One thread at a time per object. Stability: internal to rill. */
#ifndef RILL_TEXT_BPE_H
#define RILL_TEXT_BPE_H

#include "words.h"

typedef struct rill_bpe rill_bpe;

/* Read merges.txt at `path`.
 *   out: on success the caller closes it; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (FILE:LINE: why) · RILL_ERR_MEMORY */
rill_status rill_bpe_open(rill_bpe **out, rill_context *ctx, const char *path);

/* The same for bytes in memory; `name` stands for the path in errors. */
rill_status rill_bpe_parse(rill_bpe **out, rill_context *ctx, const char *name, const char *bytes, size_t length);

/* A second one for another thread, and its context, with the merges of `bpe`, which is closed after it.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_bpe_share(rill_bpe **out, rill_context *ctx, const rill_bpe *bpe);

void rill_bpe_close(rill_bpe *bpe); /* NULL is allowed */

/* The pieces of a word of valid UTF-8, one character at least, in order. Time goes with length times its logarithm.
 *   RILL_OK · RILL_ERR_MEMORY · what fn returned */
rill_status rill_bpe_split(rill_bpe *bpe, const char *word, size_t length, rill_word_fn fn, void *user);

#endif
