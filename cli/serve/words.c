/* Words in texts; see words.h. Letters and numbers are Unicode's, by ICU. */
#include "words.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

char *words_fold(const char *text, size_t n)
{
    char *folded = malloc(n + 1);
    if (!folded) return NULL;
    for (size_t i = 0; i < n; i++) folded[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
    folded[n] = '\0';
    return folded;
}

/* Scripts without blanks have no words that could be told apart here: any of their characters begins and ends one. */
static int is_of_word(UChar32 c)
{
    return c >= 0 && u_isalnum(c) && !u_hasBinaryProperty(c, UCHAR_IDEOGRAPHIC) && !(c >= 0x3040 && c < 0x3100);
}

/* The characters before a byte and behind it; -1: none. */
static void around(const char *text, size_t n, size_t at, UChar32 *left, UChar32 *right)
{
    int32_t before = (int32_t)at, behind = before;
    *left = *right = -1;
    if (at > 0) U8_PREV((const uint8_t *)text, 0, before, *left);
    if (at < n) U8_NEXT((const uint8_t *)text, behind, (int32_t)n, *right);
}

/* Whether byte `at` lies within a word. */
static int is_within(const char *text, size_t n, size_t at)
{
    UChar32 left, right;
    around(text, n, at, &left, &right);
    return is_of_word(left) && is_of_word(right);
}

/* Each step leaves a word behind, so that one long word costs no more than many short ones. */
int words_find(const char *in, size_t n, size_t from, const char *what, size_t m, size_t *begin)
{
    if (n > INT32_MAX || m == 0) return 0;
    for (size_t at = from; at + m <= n; at++) {
        const char *found = memmem(in + at, n - at, what, m);
        if (!found) return 0;
        *begin = at = (size_t)(found - in);
        if (!is_within(in, n, at) && !is_within(in, n, at + m)) return 1;
        while (at + 1 < n && (U8_IS_TRAIL(in[at + 1]) || is_within(in, n, at + 1))) at++;
    }
    return 0;
}

static int is_edge(const char *text, size_t n, size_t at, int ends)
{
    UChar32 left, right;
    if (U8_IS_TRAIL(text[at])) return 0;
    around(text, n, at, &left, &right);
    const UChar32 of = ends ? left : right;
    return of >= 0 && u_isalnum(of) && !(is_of_word(left) && is_of_word(right));
}

size_t words_edge(const char *text, size_t n, size_t at, int ends)
{
    enum { NEARBY = 200 };
    for (size_t away = 0; away <= n && away <= NEARBY; away++) {
        if (away <= at && at - away <= n && is_edge(text, n, at - away, ends)) return at - away;
        if (at + away <= n && is_edge(text, n, at + away, ends)) return at + away;
    }
    return n;
}
