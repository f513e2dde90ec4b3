/* penn_tokenizer.h: text to words as the Penn Treebank writes them.
 *
 * What it does is in docs/parsing.md: quotes become `` and '', brackets their names, contractions and possessives are cut off,
 * punctuation stands alone, the full stop of an abbreviation stays with it. Treebanks differ in two things, which a model's
 * vocabularies tell: whether hyphenated words are one word, and whether quotes stay as they were typed.
 * The text must be UTF-8. Stability: internal to rill. */
#ifndef RILL_TEXT_PENN_TOKENIZER_H
#define RILL_TEXT_PENN_TOKENIZER_H

#include "tagged_sentence.h"

enum {
    RILL_PENN_HYPHENS = 1, /* "well-known" is three words */
    RILL_PENN_QUOTES = 2,  /* quotes and apostrophes stay as they are */
};

/* Append the words of the text to the sentence; their tags are to be predicted.
 *   style  a set of the above
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_penn_split(rill_sentence *out, const char *text, size_t length, int style);

#endif
