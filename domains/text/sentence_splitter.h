/* sentence_splitter.h: where the sentences of a text begin and end.
 *
 * The rules are Unicode's (UAX 29, SB1 to SB11), but for abbreviations, initials and ordinals ("Dr.", "z. B.", "Am 23. Mai"), whose full
 * stop ends no sentence. Pure functions, any thread. Stability: internal to rill. */
#ifndef RILL_TEXT_SENTENCE_SPLITTER_H
#define RILL_TEXT_SENTENCE_SPLITTER_H

#include <stddef.h>

/* Take a sentence, bytes [begin, end) of the text, without spaces around it. Nonzero: no more are wanted. */
typedef int (*rill_sentence_fn)(void *user, size_t begin, size_t end);

/* Give each sentence in order. What has no letter and no digit is no sentence, and lies between them.
 *   text: [length]; what is no UTF-8 is taken for a letter
 *   language: its code, as "el" or "ell_Grek" (Greek's semicolon ends questions), or the name of a model that translates from it, "el-en";
 *   NULL or "": not known */
void rill_sentences_split(const char *text, size_t length, const char *language, rill_sentence_fn found, void *user);

/* The same with the whole text for its only sentence. */
void rill_sentences_whole_text(const char *text, size_t length, rill_sentence_fn found, void *user);

#endif
