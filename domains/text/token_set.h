/* token_set.h: builds a vocabulary, and splits texts at added tokens.
 *
 * The vocabulary of a Hugging Face directory comes from several files: the base tokens, which are subword tokens, from one
 * file, with ids by a rule of the family; then added tokens: languages, sentinels, masks. An added token is recognised
 * verbatim wherever it occurs in a text.
 * Order of use: rill_token_set_add_base() for each subword token, rill_token_set_end_base(), rill_token_set_add() for
 * added tokens, rill_token_set_finish(). A finished set is const: any number of threads may split texts with it.
 * Stability: internal to rill. */
#ifndef RILL_TEXT_TOKEN_SET_H
#define RILL_TEXT_TOKEN_SET_H

#include "domain_base.h"
#include "text_words.h"
#include "vocabulary.h"

enum {
    RILL_TOKEN_SPECIAL = 1,     /* omitted from output text */
    RILL_TOKEN_LSTRIP = 2,      /* absorbs spaces before it */
    RILL_TOKEN_RSTRIP = 4,      /* absorbs spaces after it */
    RILL_TOKEN_SINGLE_WORD = 8, /* matched only if no letter, digit or _ is next to it */
};

typedef struct rill_added_token {
    rill_slice text;
    int32_t id;
    int flags;
} rill_added_token;

typedef struct rill_token_set {
    rill_arena arena;      /* texts of added tokens; the caller sets arena.ctx before use */
    rill_arena text_arena; /* texts of all tokens in large blocks, until rill_token_set_finish() */
    char *free;
    size_t free_bytes;
    const char *name;   /* file name, for error messages */
    rill_slice *tokens; /* [n_tokens] all tokens by id, until rill_token_set_finish() */
    size_t n_tokens, capacity;
    rill_vocabulary *base, *vocabulary; /* base tokens; all tokens, which rill_token_set_finish() gives to the caller */
    rill_added_token *added;            /* [n_added]; after rill_token_set_finish() by first byte, longest first */
    size_t n_added, added_capacity;
    int32_t limit;              /* maximum number of tokens: the model's vocabulary size */
    int32_t first_by_byte[257]; /* added[first_by_byte[c]] .. added[first_by_byte[c + 1] - 1] begin with byte c */
} rill_token_set;

/* Append a base token. RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (too many, empty) */
rill_status rill_token_set_add_base(rill_token_set *tokens, const char *text, size_t length);

/* End the base tokens. RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (none, duplicates) */
rill_status rill_token_set_end_base(rill_token_set *tokens);

/* Add an added token. If it is a base token, it keeps its id. Otherwise it gets the next free id; `id` must be that id, or
 * negative. Adding a token again merges the flags. Tokens beyond `limit` are ignored, because directories may list more
 * tokens than the model has.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (another id, a gap) */
rill_status rill_token_set_add(rill_token_set *tokens, const char *text, size_t length, int64_t id, int flags);

/* The id of a base or added token; -1 if the text is no token. */
int32_t rill_token_set_find(const rill_token_set *tokens, const char *text, size_t length);

/* *out = the vocabulary of all tokens, owned by the caller. Texts can be split afterwards; tokens cannot be added.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT */
rill_status rill_token_set_finish(rill_token_set *tokens, rill_vocabulary **out);

void rill_token_set_clear(rill_token_set *tokens); /* a zeroed struct is allowed */

/* The flags of an added token; -1 if the id is not that of an added token. */
int rill_token_set_flags(const rill_token_set *tokens, int32_t id);

/* Split a text at its added tokens, from left to right; of several tokens at a position the longest. Calls `token` with each
 * added token, and `part` with the text between them.
 *   without   flags: added tokens with any of them are treated as text
 *   RILL_OK · the status that a function returned */
typedef rill_status (*rill_added_fn)(void *user, const rill_added_token *token);
rill_status rill_token_set_split(const rill_token_set *tokens, int without, const char *text, size_t length,
                                 rill_word_fn part, rill_added_fn token, void *user);

/* Return 1 if the character has Unicode's property White_Space. */
int rill_is_white_space(int32_t character);

/* Length in bytes of the white-space character at the start of valid UTF-8, or 0. */
size_t rill_white_space_length(const char *text, size_t length);

#endif
