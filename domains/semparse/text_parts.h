/* The stages of a question's way from bytes to tokens: shared by text*.c.
 *
 *     text_token.c   bytes -> raw tokens: valid UTF-8, lower case, split, each with its word number in the lexicon
 *     text_number.c  what a token says as a number, an ordinal or a clock time
 *     text_name.c    which raw tokens were written as names are
 *     text_match.c   what begins at a raw token: the longest mention or rewrite, by surface or by rule
 *     text.c         raw tokens -> items: placeholders, rewritten words, stems; and the table of mentions
 *
 * Invariant: arrays hold offsets, never pointers, into buffers that may still grow. */
#ifndef RILL_SEMPARSE_TEXT_PARTS_H
#define RILL_SEMPARSE_TEXT_PARTS_H

#include "lexicon_parts.h"
#include "text.h"

/* How a token can be read as a number. */
typedef enum rill__form {
    RILL__FORM_NONE,
    RILL__FORM_DIGITS,  /* 17, 1,700, 40k */
    RILL__FORM_COLON,   /* 5:30: value = hour * 100 + minute */
    RILL__FORM_TIME,    /* 5pm, 5:30pm: likewise, on the 24 hour clock */
    RILL__FORM_ORDINAL, /* 27th */
    RILL__FORM_UNIT,    /* one .. nine */
    RILL__FORM_TEEN,    /* ten .. nineteen */
    RILL__FORM_TENS,    /* twenty .. ninety */
    RILL__FORM_HUNDRED, /* the word, value 100 */
    RILL__FORM_THOUSAND,
    RILL__FORM_AND,
    RILL__FORM_ORDINAL_UNIT, /* first .. ninth */
    RILL__FORM_ORDINAL_TEEN, /* tenth .. nineteenth: a complete ordinal */
    RILL__FORM_ORDINAL_TENS, /* twentieth, thirtieth: likewise */
} rill__form;

typedef struct rill__number {
    rill__form form;
    int digits; /* how many, of RILL__FORM_DIGITS */
    int64_t value;
} rill__number;

/* A token of the line, lower case, before anything is replaced. */
typedef struct rill__raw {
    size_t offset, length; /* in raw_bytes */
    size_t from, to;       /* what it was, in the line */
    int32_t word;          /* of the whole token, or RILL__NONE */
    int32_t owner;         /* of what stands before a final 's, when that is a word and the whole is not */
    rill__number number;
} rill__raw;

/* What stands in the output so far, as contexts to the left see it. */
typedef struct rill__item {
    int32_t type;          /* of a mention, else RILL__NONE */
    int32_t word;          /* of a plain token, else RILL__NONE */
    size_t offset, length; /* in `out` */
    size_t raw; /* 1 + the raw token that it is; 0: the lexicon put it there, or the line was in token form */
} rill__item;

/* A slot of the index that gives the same constant the same number. */
typedef struct rill__seen {
    int32_t type;   /* RILL__NONE: free */
    size_t mention; /* in rill_mentions.list */
} rill__seen;

struct rill_question {
    rill_context *ctx;
    const rill_lexicon *lexicon; /* may be NULL */
    struct sb_stemmer *stemmer;  /* NULL: no stemming */

    const char *line; /* borrowed while it is the last one */
    size_t line_length;
    char *raw_bytes;
    size_t raw_length, raw_capacity;
    size_t *origin; /* [raw_length + 1] where in the line each of raw_bytes was, as they were before tokens were cut */
    size_t origin_room;
    rill__raw *raw;
    size_t raw_count, raw_room;

    rill__item *items;
    size_t item_count, item_room;
    rill_text out;
    rill_slice *tokens;
    size_t token_room;

    rill_text scratch;    /* a constant being put together */
    int64_t *next_number; /* [types of the lexicon] */
    size_t next_room;
    rill__seen *seen; /* [seen_size], a power of two or 0 */
    size_t seen_size, seen_room;
};

/* What was found at a raw token. */
typedef struct rill__found {
    size_t length;     /* raw tokens replaced; 0: nothing found */
    int32_t candidate; /* in lexicon->candidates, or RILL__NONE for a rule's mention */
    int32_t rule;
    int owner;                         /* the last token has a final 's that is not part of the mention */
    size_t value_first, value_length;  /* raw tokens that make up a captured text (value_length > 0), or ... */
    int64_t value, value_am, value_pm; /* ... a captured number */
} rill__found;

/* --- text_token.c ------------------------------------------------------------------------------------------------- */

/* Fill question->raw from the line, which is valid UTF-8. RILL_OK · RILL_ERR_MEMORY */
rill_status rill__question_split(rill_question *question);

/* Decode one code point of text that is known to be UTF-8; returns its length in bytes. */
size_t rill__text_decode(const char *at, uint32_t *code);

/* Lower case for the scripts place names come in: Latin, Greek, Cyrillic. */
uint32_t rill__text_lower(uint32_t code);

/* --- text_number.c ------------------------------------------------------------------------------------------------ */

/* Read one lower-case token. */
rill__number rill__number_read(const char *data, size_t length);

/* Numbers that begin at token `at` of `raw[count]`: how many tokens they take, 0 if there is none. */
size_t rill__number_int(const rill__raw *raw, size_t count, size_t at, int64_t *value);
size_t rill__number_ordinal(const rill__raw *raw, size_t count, size_t at, int64_t *value);
size_t rill__number_year(const rill__raw *raw, size_t count, size_t at, int64_t *value);
size_t rill__number_clock_words(const rill__raw *raw, size_t count, size_t at, int64_t *value);

/* A clock reading in digits: 1 if the token is one. `value` is as said, hour * 100 + minute. */
int rill__number_clock(rill__number number, int64_t *value);

/* A 12-hour reading on the 24-hour clock; what is beyond 12 o'clock stays. */
int64_t rill__number_half_day(int64_t value, int afternoon);

/* --- text_match.c ------------------------------------------------------------------------------------------------- */

/* What begins at raw token `at`; question->items is what stands to its left. */
rill__found rill__question_match(const rill_question *question, size_t at);

#endif
