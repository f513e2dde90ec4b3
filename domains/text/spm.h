/* spm.h: C interface of the SentencePiece library.
 *
 * Only spm.cc uses the library (libsentencepiece, Apache-2.0), which is C++; no exception leaves it. The library
 * allocates its own memory; the context only records errors. Any number of threads may share an open model: its author
 * states that a processor is thread-safe (google/sentencepiece, issue 207), and the library itself splits batches among
 * threads. Stability: internal to rill. */
#ifndef RILL_TEXT_SPM_H
#define RILL_TEXT_SPM_H

#include "text_words.h"

RILL_C_BEGIN

typedef struct rill_spm rill_spm;

/* Load a model from the bytes of a .spm file, which may be freed afterwards; `path` names the file in error messages.
 *   RILL_OK · RILL_ERR_FORMAT */
rill_status rill_spm_open(rill_spm **out, rill_context *ctx, const char *path, const char *bytes, size_t size);

void rill_spm_close(rill_spm *spm); /* NULL is allowed */

/* The number of tokens. */
int32_t rill_spm_count(const rill_spm *spm);
const char *rill_spm_piece(const rill_spm *spm, int32_t i, size_t *length);

/* Split a text into subword tokens, and call fn with each in order. RILL_OK · RILL_ERR_INPUT (the library failed) · the
 * status that fn returned */
rill_status rill_spm_encode(const rill_spm *spm, rill_context *ctx, const char *text, size_t length, rill_word_fn fn,
                            void *user);

/* Join n subword tokens, piece[i] of length[i] bytes, and call fn once with the text. RILL_OK · RILL_ERR_FORMAT (the
 * library failed) · the status that fn returned */
rill_status rill_spm_decode(const rill_spm *spm, rill_context *ctx, size_t n, const char *const *piece,
                            const size_t *length, rill_word_fn fn, void *user);

RILL_C_END

#endif
