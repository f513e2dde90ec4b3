/* Splits text into sentences, by Unicode's rules (UAX 29, SB1 to SB11), except for the period of abbreviations, initials and ordinals:
 * "Dr.", "z. B.", "Am 23. Mai". Pure functions, any thread. */
#pragma once

#include <stddef.h>

/* Called with a trimmed sentence: bytes begin .. end - 1 of the text. Return nonzero to stop. */
typedef int (*rill_sentence_fn)(void *user, size_t begin, size_t end);

/* Call `found` with each sentence that has a letter or digit.
 *   text      [length]; invalid UTF-8 counts as letters
 *   language  e.g. "el", "ell_Grek", or a model's name "el-en"; NULL or "": unknown. Only Greek differs: its semicolon ends questions */
void rill_sentences_split(const char *text, size_t length, const char *language, rill_sentence_fn found, void *user);

/* Call `found` with the whole text, trimmed, as one sentence; not if it has no letter or digit. */
void rill_sentences_whole_text(const char *text, size_t length, rill_sentence_fn found, void *user);
