/* tokenizer_json.h: tokenizers of Hugging Face's library `tokenizers`, read from tokenizer.json.
 *
 * A pipeline is a list of normalizers, a pre-tokenizer, and a model that splits words into subword tokens: unigram or BPE.
 * It outputs the texts of tokens; a run of unknown characters is one token. The caller maps tokens to ids, and splits texts
 * at added tokens beforehand (token_set.h).
 * Unsupported settings are errors that name the key. The pipeline differs from the library in two ways. A precompiled
 * normalizer replaces the longest match at each position, as SentencePiece does, instead of whole grapheme clusters. Added
 * tokens with `normalized` are matched in the original text. Any number of threads may share a pipeline. Stability: internal
 * to rill. */
#ifndef RILL_TEXT_TOKENIZER_JSON_H
#define RILL_TEXT_TOKENIZER_JSON_H

#include <jansson.h>

#include "token_set.h"

typedef struct rill_pipeline rill_pipeline;

/* Build a pipeline from a JSON document, which may be freed afterwards, and add its vocabulary and added tokens to `tokens`.
 *   name   name of the file, for error messages; must outlive the pipeline
 *   RILL_OK · RILL_ERR_FORMAT (the message names the key) · RILL_ERR_MEMORY */
rill_status rill_pipeline_open(rill_pipeline **out, rill_context *ctx, const char *name, const json_t *document,
                               rill_token_set *tokens);

/* Build a byte-level BPE pipeline with GPT-2's pre-tokenization, and read its merges.txt at `path`. The caller reads
 * vocab.json.
 *   prefix   prepend a space to a text that does not start with one
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status rill_pipeline_open_byte_level(rill_pipeline **out, rill_context *ctx, const char *path, int prefix);

void rill_pipeline_close(rill_pipeline *self); /* NULL is allowed */

/* Set the pipeline's vocabulary, which must outlive the pipeline. Call it before splitting the first text. RILL_OK ·
 * RILL_ERR_MEMORY */
rill_status rill_pipeline_set_vocabulary(rill_pipeline *self, const rill_vocabulary *vocabulary);

/* Split valid UTF-8 without added tokens into subword tokens, and call fn with each. `first`: the text is the start of the
 * input, not a part after an added token.
 *   RILL_OK · RILL_ERR_MEMORY · the status that fn returned */
rill_status rill_pipeline_split(const rill_pipeline *self, rill_context *ctx, int first, const char *text,
                                size_t length, rill_word_fn fn, void *user);

/* Append the text of n subword tokens, which is made valid UTF-8. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_pipeline_join(const rill_pipeline *self, size_t n, const char *const *piece, const size_t *length,
                               rill_text *out);

/* Return 1 if the pipeline's model is BPE, 0 if it is unigram. */
int rill_pipeline_is_bpe(const rill_pipeline *self);

/* The document's unknown token, owned by the pipeline; NULL: none. */
const char *rill_pipeline_unk(const rill_pipeline *self);

#endif
