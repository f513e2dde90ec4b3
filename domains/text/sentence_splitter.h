/* sentence_splitter.h: sentence boundaries.
 *
 * Unicode's rules (UAX 29, SB1 to SB11), with exceptions for the period of abbreviations, initials and ordinals ("Dr.",
 * "z. B.", "Am 23. Mai"). Pure functions, any thread. Stability: internal to rill. */
#ifndef RILL_TEXT_SENTENCE_SPLITTER_H
#define RILL_TEXT_SENTENCE_SPLITTER_H

#include <stddef.h>

/* Called with a sentence, bytes [begin, end) of the text, trimmed. Nonzero: stop. */
typedef int (*rill_sentence_fn)(void *user, size_t begin, size_t end);

/* Report each sentence in order. Text without a letter or digit is no sentence and is skipped.
 *   text: [length]; invalid UTF-8 counts as letters
 *   language: its code, as "el" or "ell_Grek" (Greek's semicolon ends questions), or the name of a model that
 *   translates from it, "el-en"; NULL or "": unknown */
void rill_sentences_split(const char *text, size_t length, const char *language, rill_sentence_fn found, void *user);

/* Report the whole text as one sentence. */
void rill_sentences_whole_text(const char *text, size_t length, rill_sentence_fn found, void *user);

#endif
