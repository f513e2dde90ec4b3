/* vocabulary.h: tokens and their ids.
 *
 * A file has one token per line; the id is the line number, from 0. Tokens are UTF-8 without line feeds and NULs,
 * and do not end in CR. The last line may lack its line feed. Errors, which name file and line: an empty line, a
 * duplicate token, invalid UTF-8, too many tokens.
 * Threads may share a loaded vocabulary. A vocabulary that grows belongs to one thread.
 * Stability: internal to rill. */
#pragma once

#include "utf8.h"

typedef struct rill_vocabulary rill_vocabulary;

/* Read the file at `path`: JSON if the name ends in .json, else a token per line. At most `limit` tokens (1..2^30).
 *   out: the caller closes it; NULL on failure
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT (FILE:LINE: why) · RILL_ERR_MEMORY */
rill_status rill_vocabulary_open(rill_vocabulary **out, rill_context *ctx, const char *path, int32_t limit);

/* Read a vocabulary of `size` tokens that begins with the `specials` tokens special[i]. `key` names `size` in
 * errors: its key in config.json.
 *   RILL_OK · as rill_vocabulary_open(), RILL_ERR_FORMAT also for another size or another token */
rill_status rill_vocabulary_open_checked(rill_vocabulary **out, rill_context *ctx, const char *path, const char *key,
                                         int32_t size, const char *const *special, int32_t specials);

/* Parse a vocabulary from `length` bytes in memory, which are copied. `name` replaces the path in error messages.
 *   as rill_vocabulary_open() */
rill_status rill_vocabulary_parse(rill_vocabulary **out, rill_context *ctx, const char *name, const char *bytes,
                                  size_t length, int32_t limit);

/* Make an empty vocabulary. A vocabulary to which tokens are added may not be shared with other threads.
 *   out: the caller closes it; NULL on failure
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_vocabulary_create(rill_vocabulary **out, rill_context *ctx);

/* Remove all tokens. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_vocabulary_reset(rill_vocabulary *vocabulary);

/* Set *id to a token's id; a new token, of any bytes, is copied and gets the next id. Invalidates tokens borrowed by
 * rill_vocabulary_token().
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (more than 4 GiB) */
rill_status rill_vocabulary_intern(rill_vocabulary *vocabulary, const char *token, size_t length, int32_t *id);

/* Add a token that must be new. `name`: the file's name in errors.
 *   RILL_OK · as rill_vocabulary_intern() · RILL_ERR_FORMAT (a duplicate token) */
rill_status rill_vocabulary_add(rill_vocabulary *vocabulary, const char *name, const char *token, size_t length);

/* Add a file's tokens to an empty vocabulary, as rill_vocabulary_open(). */
rill_status rill_vocabulary_add_file(rill_vocabulary *vocabulary, const char *path, int32_t limit);

/* Add to an empty vocabulary the tokens of a JSON object {token: id} with ids 0 .. count - 1, as in Hugging Face's
 * vocab.json, or of an array of tokens in order of ids, as in CTranslate2's. As rill_vocabulary_parse(),
 * RILL_ERR_FORMAT (FILE: why) */
struct json_t;
rill_status rill_vocabulary_add_json(rill_vocabulary *vocabulary, const char *name, struct json_t *root, int32_t limit);

void rill_vocabulary_close(rill_vocabulary *vocabulary);              /* NULL is allowed */
static inline void rill_vocabulary_drop(rill_vocabulary **vocabulary) /* for SCOPED() */
{
    rill_vocabulary_close(*vocabulary);
}

/* The number of tokens. */
int32_t rill_vocabulary_count(const rill_vocabulary *vocabulary);

/* The id of a token of `length` bytes; -1 if the vocabulary does not have it. */
int32_t rill_vocabulary_id(const rill_vocabulary *vocabulary, const char *token, size_t length);

/* The token with the given id, 0 <= id < count: borrowed, NUL-terminated. *length = its length in bytes; `length` may be
 * NULL. */
const char *rill_vocabulary_token(const rill_vocabulary *vocabulary, int32_t id, size_t *length);

/* Append the token with the given id to `out`. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_vocabulary_write(const rill_vocabulary *vocabulary, int32_t id, rill_text *out);
