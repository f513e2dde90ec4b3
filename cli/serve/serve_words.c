/* Word search; see serve_words.h. ICU classifies letters and digits. */
#include "serve_words.h"

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

/* Scripts without spaces have no visible word boundaries, so each of their characters counts as a boundary. */
static int is_word_character(UChar32 c)
{
    return c >= 0 && u_isalnum(c) && !u_hasBinaryProperty(c, UCHAR_IDEOGRAPHIC) && !(c >= 0x3040 && c < 0x3100);
}

/* Find the characters before and after a byte position; -1: none. */
static void neighbours(const char *text, size_t n, size_t pos, UChar32 *prev_char, UChar32 *next_char)
{
    int32_t prev_pos = (int32_t)pos, next_pos = prev_pos;
    *prev_char = *next_char = -1;
    if (pos > 0) U8_PREV((const uint8_t *)text, 0, prev_pos, *prev_char);
    if (pos < n) U8_NEXT((const uint8_t *)text, next_pos, (int32_t)n, *next_char);
}

/* Whether a byte position lies within a word. */
static int is_inside_word(const char *text, size_t n, size_t pos)
{
    UChar32 prev_char, next_char;
    neighbours(text, n, pos, &prev_char, &next_char);
    return is_word_character(prev_char) && is_word_character(next_char);
}

/* Each step skips a whole word, so that a long word costs no more than many short ones. */
int words_find(const char *in, size_t n, size_t from, const char *what, size_t m, size_t *begin)
{
    if (n > INT32_MAX || m == 0) return 0;
    for (size_t pos = from; pos + m <= n; pos++) {
        const char *found = memmem(in + pos, n - pos, what, m);
        if (!found) return 0;
        *begin = pos = (size_t)(found - in);
        if (!is_inside_word(in, n, pos) && !is_inside_word(in, n, pos + m)) return 1;
        while (pos + 1 < n && (U8_IS_TRAIL(in[pos + 1]) || is_inside_word(in, n, pos + 1))) pos++;
    }
    return 0;
}

static int is_word_edge(const char *text, size_t n, size_t pos, int ends)
{
    UChar32 prev_char, next_char;
    if (U8_IS_TRAIL(text[pos])) return 0;
    neighbours(text, n, pos, &prev_char, &next_char);
    const UChar32 word_char = ends ? prev_char : next_char;
    return word_char >= 0 && u_isalnum(word_char) && !(is_word_character(prev_char) && is_word_character(next_char));
}

size_t words_edge(const char *text, size_t n, size_t pos, int ends)
{
    enum { NEARBY = 200 };
    for (size_t steps = 0; steps <= n && steps <= NEARBY; steps++) {
        if (steps <= pos && pos - steps <= n && is_word_edge(text, n, pos - steps, ends)) return pos - steps;
        if (pos + steps <= n && is_word_edge(text, n, pos + steps, ends)) return pos + steps;
    }
    return n;
}
