/* token_set.h: a vocabulary under construction, and the added tokens that are matched verbatim in texts.
 *
 * Vocabularies of Hugging Face directories come from several files: subword tokens from one, with ids by a rule,
 * followed by added tokens: languages, sentinels, masks. An added token is matched wherever it occurs in a text.
 * Order of use: rill_token_set_add_base() for each subword token, rill_token_set_end_base(), rill_token_set_add() for
 * added tokens, rill_token_set_finish(). A finished set is const: any number of threads may split texts with it.
 * Stability: internal to rill. */
#ifndef RILL_TEXT_TOKEN_SET_H
#define RILL_TEXT_TOKEN_SET_H

#include "arena.h"
#include "text_words.h"
#include "vocabulary.h"

enum {
    RILL_TOKEN_SPECIAL = 1,     /* omitted from output text */
    RILL_TOKEN_LSTRIP = 2,      /* absorbs spaces before it */
    RILL_TOKEN_RSTRIP = 4,      /* absorbs spaces after it */
    RILL_TOKEN_SINGLE_WORD = 8, /* only where no letter, digit or _ is next to it */
};

typedef struct rill_added_token {
    rill_slice text;
    int32_t id;
    int flags;
} rill_added_token;

typedef struct rill_token_set {
    rill_arena arena; /* texts of added tokens; the opener sets the context */
    rill_arena
        text_arena; /* texts of all tokens until the vocabulary is made: large blocks; the newest has `left` bytes at `free` */
    char *free;
    size_t free_bytes;
    const char *name;   /* the file, for errors */
    rill_slice *tokens; /* [n] by id */
    size_t n_tokens, capacity;
    rill_vocabulary *base, *vocabulary; /* base tokens, and all tokens; rill_token_set_finish() hands the latter over */
    rill_added_token *added;            /* [n_added], grouped by first byte, longest first */
    size_t n_added, added_capacity;
    int32_t limit;              /* maximum number of tokens */
    int32_t first_by_byte[257]; /* added[first_by_byte[c]] .. added[first_by_byte[c + 1] - 1] begin with byte c */
} rill_token_set;

/* Append a base token. RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (too many, empty) */
rill_status rill_token_set_add_base(rill_token_set *tokens, const char *text, size_t length);

/* End the base tokens. RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (none, duplicates) */
rill_status rill_token_set_end_base(rill_token_set *tokens);

/* Add a token: a base token keeps its id; others get `id`, which must be the next free one, or with id < 0 the next
 * free one. Adding a token again merges the flags. Tokens beyond the model's vocabulary size are ignored: directories
 * may list more than the model has.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (another id, a gap) */
rill_status rill_token_set_add(rill_token_set *tokens, const char *text, size_t length, int64_t id, int flags);

/* Id of a base or added token; -1: none. */
int32_t rill_token_set_find(const rill_token_set *tokens, const char *text, size_t length);

/* *out = the vocabulary of all tokens, owned by the caller; the data for splitting is kept.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT */
rill_status rill_token_set_finish(rill_token_set *tokens, rill_vocabulary **out);

void rill_token_set_clear(rill_token_set *tokens); /* a zeroed one is allowed */

/* Flags of an added token, -1 for any other. */
int rill_token_set_flags(const rill_token_set *tokens, int32_t id);

/* Split a text at its added tokens, left to right, longest first: `part` gets the text between them, `token` each
 * token.
 *   without   flags of tokens to treat as text
 *   RILL_OK · what a function returned */
typedef rill_status (*rill_added_fn)(void *user, const rill_added_token *token);
rill_status rill_token_set_split(const rill_token_set *tokens, int without, const char *text, size_t length,
                                 rill_word_fn part, rill_added_fn token, void *user);

/* White_Space of the Unicode standard. */
int rill_is_white_space(int32_t character);

/* Bytes of the white space at the start of valid UTF-8, 0 if none. */
size_t rill_white_space_length(const char *text, size_t length);

#endif
