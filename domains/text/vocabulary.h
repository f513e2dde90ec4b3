/* Tokens and their ids.
 *
 * A file has one token per line; the id is the line number, from 0. Empty lines, duplicates, CR LF and invalid UTF-8 are errors.
 * Threads may share a loaded vocabulary. One that grows belongs to one thread. */
#pragma once

#include "utf8.h"

typedef struct rill_vocabulary rill_vocabulary;

/* Read a file: JSON if named .json, else a token per line. limit: maximum number of tokens, 1..2^30. *out: closed by the caller; NULL on
 * failure.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (FILE:LINE: why) · RILL_ERR_MEMORY */
rill_status rill_vocabulary_open(rill_vocabulary **out, rill_context *ctx, const char *path, int32_t limit);

/* Read a vocabulary of `size` tokens that begins with special[0 .. specials). key: config.json's key of `size`, for errors.
 *   RILL_OK · as rill_vocabulary_open(); RILL_ERR_FORMAT also for another size or token */
rill_status rill_vocabulary_open_checked(rill_vocabulary **out, rill_context *ctx, const char *path, const char *key,
                                         int32_t size, const char *const *special, int32_t specials);

/* Parse a vocabulary from `length` bytes in memory, which are copied. `name` replaces the path in error messages.
 *   as rill_vocabulary_open() */
rill_status rill_vocabulary_parse(rill_vocabulary **out, rill_context *ctx, const char *name, const char *bytes,
                                  size_t length, int32_t limit);

/* Create an empty vocabulary, to be filled by one thread. *out: closed by the caller; NULL on failure.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_vocabulary_create(rill_vocabulary **out, rill_context *ctx);

/* Remove all tokens. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_vocabulary_reset(rill_vocabulary *vocabulary);

/* Set *id to a token's id; a new token is copied and gets the next id. Invalidates tokens from rill_vocabulary_token().
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (more than 4 GiB) */
rill_status rill_vocabulary_intern(rill_vocabulary *vocabulary, const char *token, size_t length, int32_t *id);

/* Add a token that must be new. `name`: the file's name in errors.
 *   RILL_OK · as rill_vocabulary_intern() · RILL_ERR_FORMAT (a duplicate token) */
rill_status rill_vocabulary_add(rill_vocabulary *vocabulary, const char *name, const char *token, size_t length);

/* Add a file's tokens to an empty vocabulary, as rill_vocabulary_open(). */
rill_status rill_vocabulary_add_file(rill_vocabulary *vocabulary, const char *path, int32_t limit);

/* Add the tokens of JSON to an empty vocabulary. JSON: an object {token: id} with ids 0 .. count - 1 (Hugging Face's vocab.json), or an
 * array in order of ids (CTranslate2).
 *   as rill_vocabulary_parse(); RILL_ERR_FORMAT (FILE: why) */
struct json_t;
rill_status rill_vocabulary_add_json(rill_vocabulary *vocabulary, const char *name, struct json_t *root, int32_t limit);

void rill_vocabulary_close(rill_vocabulary *vocabulary);              /* closing NULL does nothing */
static inline void rill_vocabulary_drop(rill_vocabulary **vocabulary) /* close function for SCOPED() */
{
    rill_vocabulary_close(*vocabulary);
}

/* The number of tokens. */
int32_t rill_vocabulary_count(const rill_vocabulary *vocabulary);

/* The id of a token of `length` bytes; -1 if the vocabulary does not have it. */
int32_t rill_vocabulary_id(const rill_vocabulary *vocabulary, const char *token, size_t length);

/* Return the token of an id, 0 <= id < count: borrowed, NUL-terminated. *length: its bytes; `length` may be NULL. */
const char *rill_vocabulary_token(const rill_vocabulary *vocabulary, int32_t id, size_t *length);

/* Append the token with the given id to `out`. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_vocabulary_write(const rill_vocabulary *vocabulary, int32_t id, rill_text *out);
