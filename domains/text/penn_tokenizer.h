/* Words of a sentence with part-of-speech tags, and Penn Treebank tokenization.
 *
 * Rules (docs/parsing.md): quotes become `` and '', brackets -LRB- etc.; contractions, possessives and punctuation are split off;
 * abbreviations keep their period. Treebanks differ in hyphenated words and quotes; the caller decides by the model's vocabularies. */
#pragma once

#include "tree.h"

/* --- words of a sentence ------------------------------------------------------------------------------------------ */

/* A sentence's words, spelled as in a tree. Zero-initialise it and set bytes.ctx; free it with rill_sentence_clear(). To reuse it for
 * another sentence, set words = 0 and empty `bytes`. */

enum { RILL_NO_TAG = -1 };

typedef struct rill_sentence {
    rill_text bytes; /* the words, concatenated */
    size_t *end;     /* [words] offset in `bytes` of the end of each word */
    int32_t *tag;    /* [words] id of each word's tag in tags.vocab; RILL_NO_TAG: to be predicted */
    rill_arena arena;
    int32_t words;
} rill_sentence;

/* Append a word and its tag. Brackets in the word are escaped as in trees: "(" becomes -LRB-. RILL_OK ·
 * RILL_ERR_MEMORY */
rill_status rill_sentence_add_escaped(rill_sentence *s, const char *word, size_t length, int32_t tag);

/* Word i, borrowed until the next word is added. */
rill_slice rill_sentence_word(const rill_sentence *s, int32_t i);

void rill_sentence_clear(rill_sentence *s);

/* --- the tokenizer ------------------------------------------------------------------------------------------------ */

enum {
    RILL_PENN_HYPHENS = 1, /* "well-known" is three words */
    RILL_PENN_QUOTES = 2,  /* quotes and apostrophes stay as they are */
};

/* Append the words of a UTF-8 text, without tags. style: sum of RILL_PENN_HYPHENS and RILL_PENN_QUOTES.
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_penn_split(rill_sentence *out, const char *text, size_t length, int style);
