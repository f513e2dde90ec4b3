/* tokenizer_json.h: how texts are cut, as tokenizer.json says it: the form in which Hugging Face's library `tokenizers` keeps a tokenizer.
 *
 * A pipeline is a list of normalizers, a cut into words, and a model that makes pieces of a word: unigram or byte pairs. Pieces are texts;
 * what has no number is one piece per run of such characters. Numbers and added tokens are the caller's (token_set.h).
 * What a file asks for and is not known here is refused by the name of its key. Two deviations: a precompiled table replaces the longest
 * match at each place, as SentencePiece does, and not whole characters with their marks; tokens that are matched in normalised text
 * there are matched in the text as it is. Any number of threads may use one at once. Stability: internal to rill. */
#ifndef RILL_TEXT_TOKENIZER_JSON_H
#define RILL_TEXT_TOKENIZER_JSON_H

#include <jansson.h>

#include "token_set.h"

typedef struct rill_pipeline rill_pipeline;

/* Make one of a document, which is not needed afterwards, and put the tokens of its vocabulary and those it adds into `tokens`, settled.
 *   name   of the file, for errors, and needed until it is closed
 *   RILL_OK · RILL_ERR_FORMAT (names the key) · RILL_ERR_MEMORY */
rill_status rill_pipeline_open(rill_pipeline **out, rill_context *ctx, const char *name, const json_t *document,
                               rill_token_set *tokens);

/* One of byte pairs over bytes, with GPT-2's words: from merges.txt at `path`; the vocabulary is the caller's.
 *   prefix   a blank is put before a text that begins without one
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status rill_pipeline_open_byte_level(rill_pipeline **out, rill_context *ctx, const char *path, int prefix);

void rill_pipeline_close(rill_pipeline *self); /* NULL is allowed */

/* The vocabulary that pieces are looked up in; it outlives the pipeline. To be said before the first text. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_pipeline_set_vocabulary(rill_pipeline *self, const rill_vocabulary *vocabulary);

/* The pieces of a text of valid UTF-8 in which there is no added token; `first`: it is the beginning of an input, and not behind one.
 *   RILL_OK · RILL_ERR_MEMORY · what fn returned */
rill_status rill_pipeline_split(const rill_pipeline *self, rill_context *ctx, int first, const char *text,
                                size_t length, rill_word_fn fn, void *user);

/* Append the text of n pieces, valid UTF-8 whatever they are. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_pipeline_join(const rill_pipeline *self, size_t n, const char *const *piece, const size_t *length,
                               rill_text *out);

/* Whether pieces are made by byte pairs, and not by a unigram model. */
int rill_pipeline_is_bpe(const rill_pipeline *self);

/* Of a unigram or byte pair document: what stands for what has no number, NULL: nothing said. Owned by the pipeline. */
const char *rill_pipeline_unk(const rill_pipeline *self);

#endif
