/* moses.h: Moses tokenizer and detokenizer for English, German and Russian, as fairseq's WMT'19 models use it.
 *
 * Source: the behaviour of sacremoses 0.2, which transformers' FSMTTokenizer calls, compared string by string
 * (tests/data/mt/moses). The rules are those of Moses' scripts replace-unicode-punctuation, normalize-punctuation,
 * remove-non-printing-char, tokenizer (aggressive dash splits, escapes) and detokenizer.
 * Tokens are escaped (&apos; &quot; &amp; ..) and contain no white space.
 * One thread at a time per object. Stability: internal to rill. */
#ifndef RILL_TEXT_MOSES_H
#define RILL_TEXT_MOSES_H

#include "nonbreaking_prefixes.h"
#include "rewrite.h"
#include "text_words.h"

/* A kind of quotation mark in the output of the detokenizer. */
typedef struct rill_quote {
    const char32_t *text; /* [length] the mark; borrowed from the current text */
    size_t length;
    int open;
} rill_quote;

/* A tokenizer for one language. Zero-initialise it and set the first three members. Buffers are reused from text to text. */
typedef struct rill_moses {
    rill_context *ctx;
    rill_moses_language language;
    const rill_prefixes *prefixes; /* nonbreaking prefixes of the same language */
    rill_chars text, spare;        /* the current text */
    rill_text bytes;               /* a word as UTF-8 */
    rill_quote *quotes;            /* [n_quotes] kinds of quotation marks in the current output */
    size_t quotes_capacity, n_quotes;
} rill_moses;

void rill_moses_clear(rill_moses *moses);

/* Normalise valid UTF-8, split it into tokens, and call fn with each. If `lower` is set, letters are lower-cased first.
 *   RILL_OK · RILL_ERR_MEMORY · the status that fn returned */
rill_status rill_moses_split(rill_moses *moses, const char *text, size_t length, int lower, rill_word_fn fn,
                             void *user);

/* Detokenize `tokens`, valid UTF-8 separated by white space, and append the text to `out`.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_moses_join(rill_moses *moses, const char *tokens, size_t length, rill_text *out);

#endif
