/* token_set.h: the tokens of a vocabulary while it is put together, and those that stand in a text as they are.
 *
 * The vocabularies of Hugging Face folders are made of several files: pieces from one, with numbers by a rule, and behind them tokens that
 * were added: symbols of languages, sentinels, masks. An added token is a piece by itself wherever it is written in a text.
 * Order of use: rill_token_set_add_base() for each piece, rill_token_set_end_base(), rill_token_set_add() for what was added,
 * rill_token_set_finish(). A finished list never changes: any number of threads may cut texts with it. Stability: internal to rill. */
#ifndef RILL_TEXT_TOKEN_SET_H
#define RILL_TEXT_TOKEN_SET_H

#include "arena.h"
#include "text_words.h"
#include "vocabulary.h"

enum {
    RILL_TOKEN_SPECIAL = 1,     /* nothing in an output's text */
    RILL_TOKEN_LSTRIP = 2,      /* takes the blanks before it */
    RILL_TOKEN_RSTRIP = 4,      /* takes the blanks behind it */
    RILL_TOKEN_SINGLE_WORD = 8, /* only where no letter, digit or _ is next to it */
};

typedef struct rill_added_token {
    rill_slice text;
    int32_t id;
    int flags;
} rill_added_token;

typedef struct rill_token_set {
    rill_arena arena; /* texts of added tokens; the context is set by the one who opens */
    rill_arena
        text_arena; /* of all tokens, until they are a vocabulary: large blocks, of which the newest has `left` bytes at `free` */
    char *free;
    size_t free_bytes;
    const char *name;   /* the file, for errors */
    rill_slice *tokens; /* [n] by number */
    size_t n_tokens, capacity;
    rill_vocabulary *base,
        *vocabulary;         /* before what was added, and all; the latter is taken out by rill_token_set_finish() */
    rill_added_token *added; /* [n_added], those that begin with the same byte together, the longest first */
    size_t n_added, added_capacity;
    int32_t limit;              /* most tokens */
    int32_t first_by_byte[257]; /* added[begins[c]] .. added[begins[c + 1] - 1] begin with byte c */
} rill_token_set;

/* The next token of the base. RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (too many, empty) */
rill_status rill_token_set_add_base(rill_token_set *tokens, const char *text, size_t length);

/* The base is complete. RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (none, one comes twice) */
rill_status rill_token_set_end_base(rill_token_set *tokens);

/* Add a token: one of the base keeps its number; another gets `id`, the next number, or with id < 0 the next there is. A token that was
 * added before gets the flags, too. One for which the model has no symbol left is text like any other: folders may have more than their
 * model was made with.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (another number, one that leaves a gap) */
rill_status rill_token_set_add(rill_token_set *tokens, const char *text, size_t length, int64_t id, int flags);

/* The number of a token of the base or an added one; -1: there is none. */
int32_t rill_token_set_find(const rill_token_set *tokens, const char *text, size_t length);

/* *out, the caller's, has all of them; what cutting needs stays.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT */
rill_status rill_token_set_finish(rill_token_set *tokens, rill_vocabulary **out);

void rill_token_set_clear(rill_token_set *tokens); /* a zeroed one is allowed */

/* The flags of an added token, -1 for any other. */
int rill_token_set_flags(const rill_token_set *tokens, int32_t id);

/* Cut a text at the added tokens in it, from left to right and the longest first: `part` gets what is between them, `token` each of them.
 *   without   tokens with one of these flags are text like any other
 *   RILL_OK · what a function returned */
typedef rill_status (*rill_added_fn)(void *user, const rill_added_token *token);
rill_status rill_token_set_split(const rill_token_set *tokens, int without, const char *text, size_t length,
                                 rill_word_fn part, rill_added_fn token, void *user);

/* White_Space of the Unicode standard. */
int rill_is_white_space(int32_t character);

/* The bytes of the blank at the beginning of valid UTF-8, 0 if there is none. */
size_t rill_white_space_length(const char *text, size_t length);

#endif
