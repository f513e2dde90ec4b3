/* spm.h: SentencePiece behind C: a model's bytes, text to pieces, pieces to text.
 *
 * Only spm.cc knows the library (libsentencepiece, Apache-2.0), which is C++; no exception leaves it. The library's
 * memory is its own and does not come from a context, which is there for what is recorded. Any number of threads may use an open
 * model at once: by its author's word (google/sentencepiece, issue 207) a processor is thread-safe, and the library itself splits
 * batches among threads. Stability: internal to rill. */
#ifndef RILL_TEXT_SPM_H
#define RILL_TEXT_SPM_H

#include "text_words.h"

RILL_C_BEGIN

typedef struct rill_spm rill_spm;

/* A model from the bytes of a .spm file, which are not needed afterwards; `path` stands in the sentence of a failure.
 *   RILL_OK · RILL_ERR_FORMAT */
rill_status rill_spm_open(rill_spm **out, rill_context *ctx, const char *path, const char *bytes, size_t size);

void rill_spm_close(rill_spm *spm); /* NULL is allowed */

/* How many pieces there are, and number i of them, 0 <= i < count, borrowed: NUL-terminated, its length in *length. */
int32_t rill_spm_count(const rill_spm *spm);
const char *rill_spm_piece(const rill_spm *spm, int32_t i, size_t *length);

/* Segment a text: fn gets one piece after the other. RILL_OK · RILL_ERR_INPUT (the library refused) · what fn returned */
rill_status rill_spm_encode(const rill_spm *spm, rill_context *ctx, const char *text, size_t length, rill_word_fn fn,
                            void *user);

/* Join pieces, [n] of [length[i]] bytes: fn gets the text, once. RILL_OK · RILL_ERR_FORMAT (likewise) · what fn returned */
rill_status rill_spm_decode(const rill_spm *spm, rill_context *ctx, size_t n, const char *const *piece,
                            const size_t *length, rill_word_fn fn, void *user);

RILL_C_END

#endif
