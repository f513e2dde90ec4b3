/* moses.h: Moses tokenizer and detokenizer, as used by fairseq's WMT'19 models.
 *
 * Source: the behaviour of sacremoses 0.2, which transformers' FSMTTokenizer calls, checked string by string
 * (tests/data/mt/moses); the rules are those of Moses' replace-unicode-punctuation, normalize-punctuation,
 * remove-non-printing-char, tokenizer (aggressive dash splits, escapes) and detokenizer.
 * Tokens are escaped (&apos; &quot; &amp; ..) and contain no white space. English, German and Russian.
 * One thread at a time per object. Stability: internal to rill. */
#ifndef RILL_TEXT_MOSES_H
#define RILL_TEXT_MOSES_H

#include "nonbreaking_prefixes.h"
#include "rewrite.h"
#include "text_words.h"

/* A kind of quotation mark, and whether its next occurrence closes. */
typedef struct rill_quote {
    const char32_t *text; /* [length], in the current text */
    size_t length;
    int open;
} rill_quote;

/* A tokenizer for one language. Zero-initialise except for the first three members; memory is kept from text to text. */
typedef struct rill_moses {
    rill_context *ctx;
    rill_moses_language language;
    const rill_prefixes *prefixes; /* nonbreaking prefixes of the same language */
    rill_chars text, spare;        /* the current text */
    rill_text bytes;               /* a word as UTF-8 */
    rill_quote *quotes;            /* kinds in the current output */
    size_t quotes_capacity, n_quotes;
} rill_moses;

void rill_moses_clear(rill_moses *moses);

/* Normalise valid UTF-8 and split it into tokens; with `lower`, letters are lower-cased first.
 *   RILL_OK · RILL_ERR_MEMORY · what fn returned */
rill_status rill_moses_split(rill_moses *moses, const char *text, size_t length, int lower, rill_word_fn fn,
                             void *user);

/* Detokenize: append the text of white-space-separated tokens in valid UTF-8.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_moses_join(rill_moses *moses, const char *tokens, size_t length, rill_text *out);

#endif
