/* moses_bpe.h: FSMT's tokenizer: Moses tokenization followed by byte pair encoding; and its detokenizer.
 *
 * Source: transformers' tokenization_fsmt.py, except that names of special tokens such as "</s>" in a text are ordinary
 * text. Any number of threads may share a tokenizer, each with its own context. Stability: internal to rill. */
#ifndef RILL_TEXT_MOSES_BPE_H
#define RILL_TEXT_MOSES_BPE_H

#include "text_words.h"

typedef struct rill_moses_bpe rill_moses_bpe;

/* Read merges.txt, the languages (tokenizer_config.json, or else config.json) and nonbreaking prefixes of a directory.
 *   out: on success the caller closes it; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file, key or line) · RILL_ERR_MEMORY */
rill_status rill_moses_bpe_open(rill_moses_bpe **out, rill_context *ctx, const char *directory);

void rill_moses_bpe_close(rill_moses_bpe *self); /* NULL is allowed */

/* Split valid UTF-8 into subword tokens by the rules of the source or target language, and call fn with each in order.
 *   RILL_OK · RILL_ERR_MEMORY · the status that fn returned */
typedef enum rill_side { RILL_SIDE_SOURCE, RILL_SIDE_TARGET } rill_side;
rill_status rill_moses_bpe_split(const rill_moses_bpe *self, rill_context *ctx, rill_side side, const char *text,
                                 size_t length, rill_word_fn fn, void *user);

/* Detokenize n subword tokens, piece[i] of length[i] bytes, and append the text to `out`. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_moses_bpe_join(const rill_moses_bpe *self, size_t n, const char *const *piece, const size_t *length,
                                rill_text *out);

#endif
