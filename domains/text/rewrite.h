/* rewrite.h: small regular-expression substitutions on characters, as in Moses' scripts.
 *
 * A rule has a pattern and a result, both NUL-terminated. A pattern has at most eight elements, each a character or one
 * of the classes below; RW_RUN after an element means one or more, RW_ANY zero or more. Elements are captured, numbered
 * from 0, and RW_P0.. in a result insert them. Matches are found from left to right without overlap; the last `keep`
 * elements, single characters, are available to the next match.
 * Runs do not backtrack, except those with RW_ANY, so a pass without it is linear in the text.
 * Classes of Unicode come from libutf8proc. Texts are valid UTF-8. Stability: internal to rill. */
#ifndef RILL_TEXT_REWRITE_H
#define RILL_TEXT_REWRITE_H

#include <stdint.h>
#include <uchar.h>

#include "rill/context.h"

/* Strings, for use in patterns; their code points are above Unicode. */
#define RW_WHITE_SPACE U"\x110001" /* white space, as Python's \s */
#define RW_DIGIT U"\x110002"       /* decimal digits of any script */
#define RW_NUMBER U"\x110003"      /* decimal digits, fractions, Roman numbers, .. */
#define RW_NO_NUMBER U"\x110004"   /* everything else */
#define RW_LETTER U"\x110005"      /* letters and the signs that belong to them */
#define RW_NO_LETTER U"\x110006"   /* everything else */
#define RW_NOT_ALNUM U"\x110007"   /* neither letter nor number */
#define RW_WORD U"\x110008"        /* letters and decimal digits */
#define RW_MARK U"\x110009"        /* neither of them, nor white space, nor one of . ' ` , - */
#define RW_CLOSER U"\x11000A"      /* one of . ! : ? ; , */
#define RW_STOP U"\x11000B"        /* one of . , */
#define RW_NO_ANGLE U"\x11000C"    /* everything but < */
#define RW_NOT_HIDDEN U"\x11000D"  /* everything but RW_HIDDEN_DOT */
#define RW_INVISIBLE U"\x11000E"   /* category C: control, format, private, not assigned */
#define RW_RUN U"\x110010"
#define RW_ANY U"\x110011"
#define RW_END U"\x110012" /* end of the text, matches no character */
#define RW_P0 U"\x110020"
#define RW_P1 U"\x110021"
#define RW_P2 U"\x110022"
#define RW_P3 U"\x110023"

/* Stands for a protected dot during a pass; cannot occur in a text after RW_INVISIBLE characters are removed. */
#define RW_HIDDEN_DOT U"\x1"

typedef struct rill_chars {
    rill_context *ctx;
    char32_t *data; /* [used] */
    size_t length, capacity;
} rill_chars;

typedef struct rill_rewrite_rule {
    const char32_t *pattern, *result;
    int keep;
} rill_rewrite_rule;

/* Replace `chars` by the characters of valid UTF-8. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_chars_read(rill_chars *chars, const char *text, size_t length);

/* Append characters, or their UTF-8. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_chars_append(rill_chars *chars, const char32_t *chars_to_add, size_t count);
rill_status rill_chars_write(const char32_t *text, size_t count, rill_text *out);

void rill_chars_clear(rill_chars *chars);
void rill_chars_swap(rill_chars *a, rill_chars *b);

/* Apply rules one after the other; `spare` is scratch. RILL_OK · RILL_ERR_MEMORY */
rill_status rill_rewrite(const rill_rewrite_rule *rules, size_t count, rill_chars *text, rill_chars *spare);

/* Whether c is in the class, one of those above. */
int rill_char_is(char32_t c, const char32_t *class);

/* Position of the next white-space-delimited word at or after *from, and its length, 0 at the end. *from moves past it. */
size_t rill_chars_word(const rill_chars *chars, size_t *from, size_t *length);

#endif
