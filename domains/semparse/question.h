/* Questions as people type them, and the token form that a semantic parser was trained on.
 *
 * Raw text goes in (upper case, punctuation, "New York City", "5:30 p.m."); tokens come out (lower case, stems, typed
 * placeholders), with a table that says what each placeholder stands for. After decoding, the table puts the constants
 * back into the logical form.
 *
 *     rill_mentions mentions = {.bytes = {.ctx = ctx}};                       one per item in flight, reusable
 *     rill_question_open(ctx, lexicon, &question);                 one per thread
 *     rill_question_prepare(question, line, length, 0, &tokens, &count, &mentions);
 *     ... decode ...
 *     word = rill_mentions_constant(&mentions, lf_token, lf_length);
 *
 * Buffers are reused: only a line longer than all lines before allocates memory. Time is linear in the line's length.
 * Stability: private header of the semparse domain. */
#ifndef RILL_SEMPARSE_QUESTION_H
#define RILL_SEMPARSE_QUESTION_H

#include "lexicon.h"
#include "rill/context.h"

RILL_C_BEGIN

/* Table of a question's mentions: the constant of each placeholder. Zero-initialise with `bytes.ctx` set. Fill with
 * rill_question_prepare(), repeatedly if wanted; free with rill_mentions_clear(). The table owns copies of all bytes,
 * so it depends on no question object and no lexicon. */
typedef struct rill_mentions {
    rill_text bytes;
    struct rill_mention {
        size_t placeholder, placeholder_length; /* offset and length in `bytes` */
        size_t constant, constant_length;
    } * entries;
    size_t count, capacity; /* of `entries` */
} rill_mentions;

/* What to print for a token of the logical form: the constant if the token is a placeholder of this question, else the
 * token itself. Borrowed from the table or from the argument. */
rill_slice rill_mentions_constant(const rill_mentions *mentions, const char *token, size_t length);

/* Free the memory; the table may be filled again. A zeroed table is allowed. */
void rill_mentions_clear(rill_mentions *mentions);

/* Stemmer and buffers of one thread. */
typedef struct rill_question rill_question;

/* Make a question object. `lexicon` is borrowed until close. NULL: questions are only lower-cased and stripped of
 * punctuation.
 *   out: on success an object the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_question_open(rill_context *ctx, const rill_lexicon *lexicon, rill_question **out);

/* NULL is allowed. */
void rill_question_close(rill_question *question);

/* Convert one line to tokens.
 *   line        [length] bytes; newline, tab and other control characters count as spaces
 *   tokenized   nonzero: the line consists of tokens and is only split at spaces
 *   tokens      out: [*count], borrowed until the next call with this object; empty for an empty line.
 *               A placeholder in the line ("c0") is passed through and stands for itself
 *   mentions    out: replaced; empty on failure
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_INPUT (not UTF-8; the message names the byte, counted from 1) */
rill_status rill_question_prepare(rill_question *question, const char *line, size_t length, int tokenized,
                                  const rill_slice **tokens, size_t *count, rill_mentions *mentions);

/* The original spelling of token i of the last line if it looks like a name unknown to the lexicon: capitalised other
 * than at a sentence start, or quoted. Borrowed from the line, which must still exist. Length 0 for all other tokens
 * and for tokenized lines. In a line all in capitals only quoted tokens are names. */
rill_slice rill_question_name(const rill_question *question, size_t i);

RILL_C_END

#endif
