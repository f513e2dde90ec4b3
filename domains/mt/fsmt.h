/* fsmt.h: what is typed to the pieces of an FSMT model, and back: Moses' tokeniser, then byte pair encoding.
 *
 * Source: transformers' tokenization_fsmt.py, without its passing of </s> and its like in texts for the symbols of that
 * name. One thread at a time per object. Stability: internal to rill. */
#ifndef RILL_MT_FSMT_H
#define RILL_MT_FSMT_H

#include "bpe.h"

typedef struct mt_fsmt mt_fsmt;

/* Read merges.txt, the languages (tokenizer_config.json, or else config.json) and nonbreaking prefixes of a directory.
 *   out: on success the caller closes it; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (names file, key or line) · RILL_ERR_MEMORY */
rill_status mt_fsmt_open(mt_fsmt **out, rill_context *ctx, const char *directory);

/* A second one for another thread, and its context, with what `fsmt` has read, which is closed after it.
 *   out: as mt_fsmt_open()
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status mt_fsmt_share(mt_fsmt **out, rill_context *ctx, const mt_fsmt *fsmt);

void mt_fsmt_close(mt_fsmt *fsmt); /* NULL is allowed */

/* The pieces of a text of valid UTF-8, in order, by the rules of the source's language or the target's.
 *   RILL_OK · RILL_ERR_MEMORY · what fn returned */
typedef enum mt_side_of_text { MT_SOURCE_TEXT, MT_TARGET_TEXT } mt_side_of_text;
rill_status mt_fsmt_split(mt_fsmt *fsmt, mt_side_of_text side, const char *text, size_t length, mt_piece_fn fn,
                          void *user);

/* Append the text of n pieces, [n] of [length[i]] bytes. RILL_OK · RILL_ERR_MEMORY */
rill_status mt_fsmt_join(mt_fsmt *fsmt, size_t n, const char *const *piece, const size_t *length, rill_text *out);

#endif
