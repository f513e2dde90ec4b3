/* moses_bpe.h: what is typed to pieces, and back: Moses' tokeniser, then byte pair encoding, as FSMT models have it.
 *
 * Source: transformers' tokenization_fsmt.py, without its passing of </s> and its like in texts for the symbols of that
 * name. Any number of threads may use one at once, each with a context of its own. Stability: internal to rill. */
#ifndef RILL_TEXT_MOSES_BPE_H
#define RILL_TEXT_MOSES_BPE_H

#include "text_words.h"

typedef struct rill_moses_bpe rill_moses_bpe;

/* Read merges.txt, the languages (tokenizer_config.json, or else config.json) and nonbreaking prefixes of a directory.
 *   out: on success the caller closes it; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file, key or line) · RILL_ERR_MEMORY */
rill_status rill_moses_bpe_open(rill_moses_bpe **out, rill_context *ctx, const char *directory);

void rill_moses_bpe_close(rill_moses_bpe *self); /* NULL is allowed */

/* The pieces of a text of valid UTF-8, in order, by the rules of the source's language or the target's.
 *   RILL_OK · RILL_ERR_MEMORY · what fn returned */
typedef enum rill_side { RILL_SIDE_SOURCE, RILL_SIDE_TARGET } rill_side;
rill_status rill_moses_bpe_split(const rill_moses_bpe *self, rill_context *ctx, rill_side side, const char *text,
                                 size_t length, rill_word_fn fn, void *user);

/* Append the text of n pieces, [n] of [length[i]] bytes. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_moses_bpe_join(const rill_moses_bpe *self, size_t n, const char *const *piece, const size_t *length,
                                rill_text *out);

#endif
