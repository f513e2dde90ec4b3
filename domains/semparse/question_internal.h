/* Stages that turn a question into tokens: shared by question*.c.
 *
 *  question_tokens.c   bytes -> raw tokens: valid UTF-8, lower case, split, with their word numbers in the lexicon
 *  question_numbers.c  numbers, ordinals and clock times
 *  question_names.c    which raw tokens are written like names
 *  question_match.c    the longest mention or rewrite at a raw token, by surface or by rule
 *  question.c          raw tokens -> items: placeholders, rewritten words, stems; and the table of mentions
 *
 * Invariant: arrays hold offsets, never pointers, into buffers that may still grow. */
#ifndef RILL_SEMPARSE_QUESTION_INTERNAL_H
#define RILL_SEMPARSE_QUESTION_INTERNAL_H

#include "lexicon_internal.h"
#include "question.h"

/* How a token can be read as a number. */
typedef enum rill__number_form {
    RILL__FORM_NONE,
    RILL__FORM_DIGITS,  /* 17, 1,700, 40k */
    RILL__FORM_COLON,   /* 5:30: value = hour * 100 + minute */
    RILL__FORM_TIME,    /* 5pm, 5:30pm: value = hour * 100 + minute on the 24 hour clock */
    RILL__FORM_ORDINAL, /* 27th */
    RILL__FORM_UNIT,    /* one .. nine */
    RILL__FORM_TEEN,    /* ten .. nineteen */
    RILL__FORM_TENS,    /* twenty .. ninety */
    RILL__FORM_HUNDRED, /* the word "hundred", value 100 */
    RILL__FORM_THOUSAND,
    RILL__FORM_AND,
    RILL__FORM_ORDINAL_UNIT, /* first .. ninth */
    RILL__FORM_ORDINAL_TEEN, /* tenth .. nineteenth: complete ordinals */
    RILL__FORM_ORDINAL_TENS, /* twentieth, thirtieth: complete ordinals */
} rill__number_form;

typedef struct rill__number {
    rill__number_form form;
    int digits; /* for RILL__FORM_DIGITS: number of digits */
    int64_t value;
} rill__number;

/* A token of the line, lower case, before replacement. */
typedef struct rill__raw_token {
    size_t offset, length;       /* range of the token's bytes in raw_bytes */
    size_t line_begin, line_end; /* range of the token's original bytes in the line */
    int32_t word;                /* number of the token's word in the lexicon, or RILL__NONE */
    int32_t possessor;           /* if the whole token is not a word: number of the word before a final 's */
    rill__number number;
} rill__raw_token;

/* A token of the output so far. Left contexts of patterns match these. */
typedef struct rill__output_token {
    int32_t type;          /* type of a mention; RILL__NONE for a plain token */
    int32_t word;          /* word number of a plain token; RILL__NONE for a mention */
    size_t offset, length; /* range of the token's text in `out` */
    size_t raw_plus_1;     /* 1 + index of the raw token it copies; 0: mention, rewrite or tokenized line */
} rill__output_token;

/* A slot of the hash table from constants to mentions: equal constants share a placeholder. */
typedef struct rill__mention_slot {
    int32_t type;   /* type of the mention; RILL__NONE: the slot is free */
    size_t mention; /* index in rill_mentions.entries */
} rill__mention_slot;

struct rill_question {
    rill_context *ctx;
    const rill_lexicon *lexicon; /* may be NULL */
    struct sb_stemmer *stemmer;  /* NULL: no stemming */

    const char *line; /* the current line; borrowed */
    size_t line_length;
    char *raw_bytes;
    size_t raw_bytes_length, raw_bytes_capacity;
    size_t *raw_offsets; /* [raw_bytes_length + 1] offset in the line of each byte of raw_bytes */
    size_t raw_offsets_capacity;
    rill__raw_token *raw;
    size_t raw_count, raw_tokens_capacity;

    rill__output_token *items;
    size_t item_count, item_capacity;
    rill_text out;
    rill_slice *tokens;
    size_t token_capacity;

    rill_text scratch;     /* buffer for a constant */
    int64_t *next_numbers; /* [types of the lexicon] number of each type's next placeholder */
    size_t next_numbers_capacity;
    rill__mention_slot *mention_index; /* [mention_index_size] hash table; the size is a power of two, or 0 */
    size_t mention_index_size, mention_index_capacity;
};

/* The longest match that begins at a raw token. */
typedef struct rill__match {
    size_t length;     /* number of raw tokens that it replaces; 0: no match */
    int32_t candidate; /* index in lexicon->candidates; RILL__NONE for a rule's mention */
    int32_t rule;
    int has_possessive;                /* the last token has a final 's that is not part of the mention */
    size_t value_raw, value_length;    /* captured text: first raw token, number of tokens; if empty, ... */
    int64_t value, value_am, value_pm; /* ... the captured number and its a.m. and p.m. readings */
} rill__match;

/* --- question_tokens.c ------------------------------------------------------------------------------------------------- */

/* Split question->line, which is valid UTF-8, into question->raw. RILL_OK · RILL_ERR_MEMORY */
rill_status rill__question_split(rill_question *question);

/* Decode one code point of text that is known to be UTF-8; returns its length in bytes. */
size_t rill__text_decode(const char *text, uint32_t *code);

/* Lower case of a Latin, Greek or Cyrillic letter; other code points are unchanged. */
uint32_t rill__text_lower(uint32_t code);

/* --- question_numbers.c ------------------------------------------------------------------------------------------------ */

/* Classify one lower-case token as a number. */
rill__number rill__number_read(const char *data, size_t length);

/* Read a number that begins at raw[first]. Returns the number of tokens it takes, 0 if there is none.
 *   raw  [count]; value is undefined if there is no number */
size_t rill__number_int(const rill__raw_token *raw, size_t count, size_t first, int64_t *value);
size_t rill__number_ordinal(const rill__raw_token *raw, size_t count, size_t first, int64_t *value);
size_t rill__number_year(const rill__raw_token *raw, size_t count, size_t first, int64_t *value);
size_t rill__number_clock_words(const rill__raw_token *raw, size_t count, size_t first, int64_t *value);

/* Read a token as a clock time in digits without am or pm. Returns 1 if it is one; *value = hour * 100 + minute. */
int rill__number_clock(rill__number number, int64_t *value);

/* Convert a 12-hour reading (hour * 100 + minute) to the 24-hour clock. Readings from 13:00 on are unchanged. */
int64_t rill__number_half_day(int64_t value, int afternoon);

/* --- question_match.c ------------------------------------------------------------------------------------------------- */

/* The longest match that begins at raw token `first`. question->items is its left context. */
rill__match rill__question_match(const rill_question *question, size_t first);

#endif
