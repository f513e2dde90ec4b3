/* Words in texts. */
#ifndef CLI_SERVE_WORDS_H
#define CLI_SERVE_WORDS_H

#include <stddef.h>

/* Where `what` stands as whole words, from there on: not within a longer word. A to Z are equal to a to z.
 *   in, what: UTF-8, with a NUL. 0: nowhere */
int words_find(const char *in, size_t from, const char *what, size_t *begin, size_t *end);
/* Where a word begins (ends = 0) or ends (1) that is nearest to byte `at`; the text's end, `length`, where there is none nearby. */
size_t words_edge(const char *text, size_t length, size_t at, int ends);

#endif
