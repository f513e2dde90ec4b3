/* vocabulary.h: tokens and their ids.
 *
 * The file has one token per line; a token's id is its line number, from 0. Tokens are UTF-8 without line feeds and
 * NULs, not ending in CR. The last line may lack its line feed. Errors name file and line: an empty line, a duplicate
 * token, invalid UTF-8, too many tokens.
 * A loaded vocabulary is const: any number of threads may use it.
 * Stability: internal to rill. */
#ifndef RILL_TEXT_VOCABULARY_H
#define RILL_TEXT_VOCABULARY_H

#include "rill/context.h"

typedef struct rill_vocabulary rill_vocabulary;

/* Read the vocabulary at `path`, of at most `limit` tokens (1..2^30).
 *   out: on success a vocabulary the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (FILE:LINE: why) · RILL_ERR_MEMORY */
rill_status rill_vocabulary_open(rill_vocabulary **out, rill_context *ctx, const char *path, int32_t limit);

/* Read a vocabulary that must have `size` tokens, as config.json has at `key`, and start with `special`.
 *   RILL_OK · as rill_vocabulary_open(), RILL_ERR_FORMAT also for another size or start */
rill_status rill_vocabulary_open_checked(rill_vocabulary **out, rill_context *ctx, const char *path, const char *key,
                                         int32_t size, const char *const *special, int32_t specials);

/* The same as rill_vocabulary_open() for bytes in memory, which are copied; `name` stands for the path in errors. */
rill_status rill_vocabulary_parse(rill_vocabulary **out, rill_context *ctx, const char *name, const char *bytes,
                                  size_t length, int32_t limit);

/* The same for a list of tokens in order of ids, checked only for duplicates; they are copied. `name` is the file in
 * errors.
 *   token   [count] of [length[i]] bytes each, UTF-8 without NULs; count >= 1 */
rill_status rill_vocabulary_from_list(rill_vocabulary **out, rill_context *ctx, const char *name,
                                      const char *const *token, const size_t *length, int32_t count);

/* Read a JSON object of token: number, as vocab.json of Hugging Face directories, whose numbers must be all of 0 .. count - 1; or a JSON
 * list of tokens in order of their numbers, as CTranslate2's.
 *   out: on success a vocabulary the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (FILE: why) · RILL_ERR_MEMORY */
rill_status rill_vocabulary_open_json(rill_vocabulary **out, rill_context *ctx, const char *path, int32_t limit);

/* Read a JSON vocabulary from bytes in memory; `name` stands for the path in errors. */
rill_status rill_vocabulary_parse_json(rill_vocabulary **out, rill_context *ctx, const char *name, const char *bytes,
                                       size_t length, int32_t limit);

void rill_vocabulary_close(rill_vocabulary *vocabulary); /* NULL is allowed */

/* Number of tokens. */
int32_t rill_vocabulary_count(const rill_vocabulary *vocabulary);

/* Id of a token of `length` bytes, -1 if absent. */
int32_t rill_vocabulary_id(const rill_vocabulary *vocabulary, const char *token, size_t length);

/* The token with number id, 0 <= id < count; NUL-terminated; *length (may be NULL) without the NUL. Borrowed. */
const char *rill_vocabulary_token(const rill_vocabulary *vocabulary, int32_t id, size_t *length);

/* Append the token. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_vocabulary_write(const rill_vocabulary *vocabulary, int32_t id, rill_text *out);

#endif
