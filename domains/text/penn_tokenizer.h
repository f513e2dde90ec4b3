/* penn_tokenizer.h: Penn Treebank tokenization.
 *
 * docs/parsing.md has the rules: quotes become `` and '', brackets become -LRB- etc., contractions and possessives are
 * split off, punctuation is separated, and an abbreviation keeps its period. Treebanks differ in two conventions: whether
 * hyphenated words are split, and whether quotes are kept as typed. The caller derives them from a model's vocabularies.
 * The text must be UTF-8. Stability: internal to rill. */
#ifndef RILL_TEXT_PENN_TOKENIZER_H
#define RILL_TEXT_PENN_TOKENIZER_H

#include "tagged_sentence.h"

enum {
    RILL_PENN_HYPHENS = 1, /* "well-known" is three words */
    RILL_PENN_QUOTES = 2,  /* quotes and apostrophes stay as they are */
};

/* Append the words of the text to the sentence, without tags.
 *   style  a sum of RILL_PENN_HYPHENS and RILL_PENN_QUOTES
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status rill_penn_split(rill_sentence *out, const char *text, size_t length, int style);

#endif
