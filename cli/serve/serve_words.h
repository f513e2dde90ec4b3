/* Searching words in texts. */
#ifndef CLI_SERVE_SERVE_WORDS_H
#define CLI_SERVE_SERVE_WORDS_H

#include <stddef.h>

/* Copy a text with A to Z in lower case and a final NUL; the caller frees it. NULL: out of memory. */
char *words_fold(const char *text, size_t n);
/* Find `what` as whole words, from byte `from` on.
 *   in, what: [n], [m] UTF-8, both folded or neither
 *   *begin: position of the match. 0: no match */
int words_find(const char *in, size_t n, size_t from, const char *what, size_t m, size_t *begin);
/* Find the nearest beginning (ends = 0) or end (1) of a word around byte `pos`, or `length` if there is none nearby. */
size_t words_edge(const char *text, size_t length, size_t pos, int ends);

#endif
