/* Converts questions as people type them to the tokens that a semantic parser was trained on.
 *
 * Raw text ("New York City", "5:30 p.m.") becomes lower case, stems, and typed placeholders. A table of mentions puts the constants back
 * into the logical form.
 *
 *     rill_mentions mentions = {.bytes = {.ctx = ctx}};                       one per question in flight, reusable
 *     rill_question_open(ctx, lexicon, &question);                 one per thread
 *     rill_question_prepare(question, line, length, 0, &tokens, &count, &mentions);
 *     ... decode ...
 *     word = rill_mentions_constant(&mentions, lf_token, lf_length);
 *
 * Memory grows only for a line longer than all before. Time is linear. The second part of this header is for question*.c. */
#pragma once

#include "lexicon.h"
#include "rill/context.h"

/* A question's mentions (known names): each placeholder ("s0") with its constant ("new_york:s"). Zero-initialise with `bytes.ctx` set;
 * filled by rill_question_prepare(), freed by rill_mentions_clear(). */
typedef struct rill_mentions {
    rill_text bytes;
    struct rill_mention {
        size_t placeholder, placeholder_length; /* position in `bytes` of the placeholder's text; its length */
        size_t constant, constant_length;
    } * entries;
    size_t count; /* number of `entries` */
    rill_arena arena;
} rill_mentions;

/* Return the constant if the token is a placeholder of this question, else the token. Borrowed from the table or the argument. */
rill_slice rill_mentions_constant(const rill_mentions *mentions, const char *token, size_t length);

/* Free the table's memory. The table may be filled again later. A zeroed table is allowed. */
void rill_mentions_clear(rill_mentions *mentions);

/* The state of one thread that converts questions: a stemmer and buffers. */
typedef struct rill_question rill_question;

/* Create a question object. lexicon: borrowed; NULL: questions are only lower-cased and stripped of punctuation.
 *   *out: closed by the caller; NULL on failure
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_question_open(rill_context *ctx, const rill_lexicon *lexicon, rill_question **out);

/* Close a question object; NULL is allowed. */
void rill_question_close(rill_question *question);

/* Convert one line to tokens.
 *   line        [length] bytes; control characters count as spaces
 *   tokenized   nonzero: only split at spaces
 *   tokens      out: [*count], borrowed until the next call. A typed placeholder ("c0") stands for itself
 *   mentions    out: replaced; empty on failure
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_INPUT (not UTF-8; the message names the byte, from 1) */
rill_status rill_question_prepare(rill_question *question, const char *line, size_t length, int tokenized,
                                  const rill_slice **tokens, size_t *count, rill_mentions *mentions);

/* Return the spelling of token i of the last line if it looks like an unknown name, else length 0. Such tokens are quoted, or capitalised
 * other than at a sentence start. In a line all in capitals only quoted tokens count. Borrowed from the line. */
rill_slice rill_question_name(const rill_question *question, size_t i);

/* --- stages that turn a question into tokens ---------------------------------------------------------------------- */

/* question_tokens.c   bytes -> input tokens: valid UTF-8, lower case, split; which ones are written like names
 * question_match.c    numbers, ordinals, clock times; the longest name or rewrite at an input token
 * question.c          input tokens -> placeholders, rewritten words, stems; the table of mentions
 *
 * Invariant: arrays hold offsets, not pointers, into buffers that may grow. */

/* The ways in which a token can be read as a number. */
typedef enum rill__number_form {
    RILL__FORM_NONE,
    RILL__FORM_DIGITS,  /* a number in digits: 17, 1,700, 40k */
    RILL__FORM_COLON,   /* a clock time in digits, 5:30: value = hour * 100 + minute */
    RILL__FORM_TIME,    /* a time with am or pm, 5pm, 5:30pm: value = hour * 100 + minute on the 24-hour clock */
    RILL__FORM_ORDINAL, /* an ordinal in digits: 27th */
    RILL__FORM_UNIT,    /* one of the words "one" to "nine" */
    RILL__FORM_TEEN,    /* one of the words "ten" to "nineteen" */
    RILL__FORM_TENS,    /* one of the words "twenty" to "ninety" */
    RILL__FORM_HUNDRED, /* the word "hundred", value 100 */
    RILL__FORM_THOUSAND,
    RILL__FORM_AND,
    /* one of the words "first" to "ninth"; it may follow another word, as in "twenty first" */
    RILL__FORM_ORDINAL_UNIT,
    RILL__FORM_ORDINAL_TEEN, /* one of the words "tenth" to "nineteenth", which are complete ordinals */
    RILL__FORM_ORDINAL_TENS, /* "twentieth" or "thirtieth", which are complete ordinals */
} rill__number_form;

typedef struct rill__number {
    rill__number_form form;
    int digits; /* number of digits, if the form is RILL__FORM_DIGITS */
    int64_t value;
} rill__number;

/* A token of the line, in lower case, before names are replaced. */
typedef struct rill__raw_token {
    size_t offset, length;       /* range of the token's bytes in raw_bytes */
    size_t line_begin, line_end; /* range of the token's original bytes in the line */
    /* number of the token's word in the lexicon; RILL__NONE: the lexicon does not have it */
    int32_t word;
    /* if the lexicon does not have the whole token: number of the word before a final 's; RILL__NONE: there is none */
    int32_t possessor;
    rill__number number;
} rill__raw_token;

/* A token of the output so far. The left context of a pattern is compared with these tokens. */
typedef struct rill__output_token {
    int32_t type;          /* type of a placeholder; RILL__NONE: a plain token */
    int32_t word;          /* number of a plain token's word in the lexicon; RILL__NONE: a placeholder */
    size_t offset, length; /* range of the token's text in `out` */
    /* 1 + index of the input token that was copied to this token; 0: it is no copy of an input token */
    size_t raw_plus_1;
} rill__output_token;

struct rill_question {
    rill_context *ctx;
    rill_arena arena;            /* memory of the arrays below */
    const rill_lexicon *lexicon; /* lexicon with which questions are converted; NULL: without one */
    struct sb_stemmer *stemmer;  /* stemmer for English words; NULL: no stemming */

    const char *line; /* the current line; borrowed */
    size_t line_length;
    char *raw_bytes;
    size_t raw_bytes_length;
    size_t *raw_offsets; /* [raw_bytes_length + 1] for each byte of raw_bytes, its position in the line */
    rill__raw_token *raw;
    size_t raw_count;

    rill__output_token *items;
    size_t item_count;
    rill_text out;
    rill_slice *tokens;

    rill_text scratch;          /* buffer in which the type and constant of a mention are put together */
    int64_t *next_numbers;      /* [types of the lexicon] number of each type's next placeholder */
    rill_vocabulary *constants; /* types and constants of the mentions; an id is the index in rill_mentions.entries */
};

/* The longest match that begins at an input token. It is a name of the lexicon, a rewrite, or a rule's match. */
typedef struct rill__match {
    size_t length;     /* number of input tokens that it replaces; 0: no match */
    int32_t candidate; /* index in lexicon->candidates of the name or rewrite; RILL__NONE: a rule matched */
    int32_t rule;
    int has_possessive; /* 1: the last token of the mention has a final 's that is not part of it; 0: it has none */
    /* tokens that a rule captured: index of the first; number of tokens, 0 if it captured none */
    size_t value_raw, value_length;
    /* the number that a rule captured, if it captured no tokens; its a.m. reading; its p.m. reading */
    int64_t value, value_am, value_pm;
} rill__match;

/* --- defined in question_tokens.c -------------------------------------------------------------------------------------- */

/* Split question->line, which is valid UTF-8, into question->raw. RILL_OK · RILL_ERR_MEMORY */
rill_status rill__question_split(rill_question *question);

/* Delete a character from a text, as data sets like JOBS do with apostrophes ("don't" -> "dont"). Returns the new length. */
size_t rill__drop_character(char *data, size_t length, char c);

/* --- defined in question_match.c ------------------------------------------------------------------------------------- */

/* Classify one lower-case token as a number. */
rill__number rill__number_read(const char *data, size_t length);

/* Return the longest match that begins at token `first` of the question. A pattern's left context must match the end of question->items,
 * the output so far. */
rill__match rill__question_match(const rill_question *question, size_t first);
