/* Words in texts. */
#ifndef CLI_SERVE_SERVE_WORDS_H
#define CLI_SERVE_SERVE_WORDS_H

#include <stddef.h>

/* A copy in which A to Z are a to z, with a NUL behind it; the caller's to free. NULL: out of memory. */
char *words_fold(const char *text, size_t n);
/* Where `what` stands as whole words, from byte `from` on: not within a longer word.
 *   in, what: [n], [m] UTF-8, folded both or neither
 *   *begin: where it stands. 0: nowhere */
int words_find(const char *in, size_t n, size_t from, const char *what, size_t m, size_t *begin);
/* Where a word begins (ends = 0) or ends (1) that is nearest to byte `at`; the text's end, `length`, where there is none nearby. */
size_t words_edge(const char *text, size_t length, size_t pos, int ends);

#endif
