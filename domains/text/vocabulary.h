/* vocabulary.h: tokens and their ids.
 *
 * The file has one token per line; a token's id is its line number, from 0. Tokens are UTF-8 without line feeds and NULs,
 * and do not end in CR. The last line may lack its line feed. An empty line, a duplicate token, invalid UTF-8 and too many
 * tokens are errors; the message names file and line.
 * A loaded vocabulary is const: any number of threads may use it. A vocabulary to which tokens are added belongs to one thread.
 * Stability: internal to rill. */
#ifndef RILL_TEXT_VOCABULARY_H
#define RILL_TEXT_VOCABULARY_H

#include "utf8.h"

typedef struct rill_vocabulary rill_vocabulary;

/* Read the vocabulary at `path`, of at most `limit` tokens (1..2^30): JSON if the name ends in .json, else a token per line.
 *   out: on success a vocabulary the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (FILE:LINE: why) · RILL_ERR_MEMORY */
rill_status rill_vocabulary_open(rill_vocabulary **out, rill_context *ctx, const char *path, int32_t limit);

/* Read a vocabulary that must have `size` tokens, of which the first `specials` must be special[i]. `key` is the key of
 * `size` in config.json, for error messages.
 *   RILL_OK · as rill_vocabulary_open(), RILL_ERR_FORMAT also for another size or another token */
rill_status rill_vocabulary_open_checked(rill_vocabulary **out, rill_context *ctx, const char *path, const char *key,
                                         int32_t size, const char *const *special, int32_t specials);

/* Parse a vocabulary from `length` bytes in memory, which are copied. `name` replaces the path in error messages.
 *   as rill_vocabulary_open() */
rill_status rill_vocabulary_parse(rill_vocabulary **out, rill_context *ctx, const char *name, const char *bytes,
                                  size_t length, int32_t limit);

/* Make an empty vocabulary. Tokens can be added to any vocabulary; the caller then may not share it with other threads.
 *   out: on success a vocabulary the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_vocabulary_create(rill_vocabulary **out, rill_context *ctx);

/* Remove all tokens. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_vocabulary_reset(rill_vocabulary *vocabulary);

/* Set *id to the id of a token of any bytes, which are copied; a new token is added with the next id. Tokens that were
 * borrowed before (rill_vocabulary_token()) become invalid.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (more than 4 GiB) */
rill_status rill_vocabulary_intern(rill_vocabulary *vocabulary, const char *token, size_t length, int32_t *id);

/* Add a token that the vocabulary must not have yet. `name` is the name of the file in error messages.
 *   RILL_OK · as rill_vocabulary_intern() · RILL_ERR_FORMAT (a duplicate token) */
rill_status rill_vocabulary_add(rill_vocabulary *vocabulary, const char *name, const char *token, size_t length);

/* Add the tokens of a file to an empty vocabulary, otherwise as rill_vocabulary_open(). rill_vocabulary_add_json() reads
 * JSON as rill_vocabulary_parse_json() does. */
struct json_t;
rill_status rill_vocabulary_add_file(rill_vocabulary *vocabulary, const char *path, int32_t limit);
rill_status rill_vocabulary_add_json(rill_vocabulary *vocabulary, const char *name, struct json_t *root, int32_t limit);

/* Parse a vocabulary in JSON: an object {token: id}, as in Hugging Face's vocab.json, whose ids must be 0 .. count - 1; or an
 * array of tokens in order of ids, as in CTranslate2's vocabulary files. As rill_vocabulary_parse(), RILL_ERR_FORMAT (FILE: why) */
rill_status rill_vocabulary_parse_json(rill_vocabulary **out, rill_context *ctx, const char *name, const char *bytes,
                                       size_t length, int32_t limit);

void rill_vocabulary_close(rill_vocabulary *vocabulary); /* NULL is allowed */

/* The number of tokens. */
int32_t rill_vocabulary_count(const rill_vocabulary *vocabulary);

/* The id of a token of `length` bytes; -1 if the vocabulary does not have it. */
int32_t rill_vocabulary_id(const rill_vocabulary *vocabulary, const char *token, size_t length);

/* The token with the given id, 0 <= id < count: borrowed, NUL-terminated. *length = its length in bytes; `length` may be
 * NULL. */
const char *rill_vocabulary_token(const rill_vocabulary *vocabulary, int32_t id, size_t *length);

/* Append the token with the given id to `out`. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_vocabulary_write(const rill_vocabulary *vocabulary, int32_t id, rill_text *out);

#endif
