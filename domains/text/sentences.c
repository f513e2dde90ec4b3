/* Sentences of a text; sentences.h.
 *
 * Divisions: characters · abbreviations · boundaries · sentences. Source of the rules: unicode.org/reports/tr29, section 5. */
#include "sentences.h"

#include <string.h>
#include <utf8proc.h>

#include "utf8.h"

/* --- characters --------------------------------------------------------------------------------------------------- */

/* Sentence_Break: values that the rules tell apart. */
typedef enum kind {
    OTHER,
    SEPARATOR,
    EXTEND,
    SPACE,
    LOWER,
    UPPER,
    LETTER,
    DIGIT,
    FULL_STOP,
    STOP,
    CLOSE,
    CONTINUE
} kind;

/* Pairs of first and last, ascending. */
static const int32_t stops[] = {
    0x21,    0x21,    0x3F,    0x3F,    0x589,   0x589,   0x61D,   0x61F,   0x6D4,   0x6D4,   0x700,   0x702,
    0x7F9,   0x7F9,   0x837,   0x837,   0x839,   0x839,   0x83D,   0x83E,   0x964,   0x965,   0x104A,  0x104B,
    0x1362,  0x1362,  0x1367,  0x1368,  0x166E,  0x166E,  0x1735,  0x1736,  0x17D4,  0x17D5,  0x1803,  0x1803,
    0x1809,  0x1809,  0x1944,  0x1945,  0x1AA8,  0x1AAB,  0x1B5A,  0x1B5B,  0x1B5E,  0x1B5F,  0x1C3B,  0x1C3C,
    0x1C7E,  0x1C7F,  0x203C,  0x203D,  0x2047,  0x2049,  0x2E2E,  0x2E2E,  0x2E3C,  0x2E3C,  0x3002,  0x3002,
    0xA4FF,  0xA4FF,  0xA60E,  0xA60F,  0xA6F3,  0xA6F3,  0xA6F7,  0xA6F7,  0xA876,  0xA877,  0xA8CE,  0xA8CF,
    0xA92F,  0xA92F,  0xA9C8,  0xA9C9,  0xAA5D,  0xAA5F,  0xAAF0,  0xAAF1,  0xABEB,  0xABEB,  0xFE56,  0xFE57,
    0xFF01,  0xFF01,  0xFF1F,  0xFF1F,  0xFF61,  0xFF61,  0x11047, 0x11048, 0x110BE, 0x110C1, 0x11141, 0x11143,
    0x111C5, 0x111C6, 0x115C2, 0x115C3, 0x16A6E, 0x16A6F, 0x1BC9F, 0x1BC9F, 0x1DA88, 0x1DA88};
static const int32_t continues[] = {0x2C,   0x2D,   0x3A,   0x3A,   0x55D,  0x55D,  0x60C,  0x60D,  0x7F8,  0x7F8,
                                    0x1802, 0x1802, 0x1808, 0x1808, 0x2013, 0x2014, 0x3001, 0x3001, 0xFE10, 0xFE11,
                                    0xFE13, 0xFE13, 0xFE31, 0xFE32, 0xFE50, 0xFE51, 0xFE55, 0xFE55, 0xFE58, 0xFE58,
                                    0xFE63, 0xFE63, 0xFF0C, 0xFF0D, 0xFF1A, 0xFF1A, 0xFF64, 0xFF64};

static int is_among(int32_t c, const int32_t *pairs, size_t n)
{
    for (size_t i = 0; i < n && pairs[i] <= c; i += 2)
        if (c <= pairs[i + 1]) return 1;
    return 0;
}

#define AMONG(c, pairs) is_among(c, pairs, sizeof(pairs) / sizeof *(pairs))

/* What has a value by its category. */
static kind by_category(int32_t c)
{
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT: return UPPER;
    case UTF8PROC_CATEGORY_LL: return LOWER;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL: return LETTER;
    case UTF8PROC_CATEGORY_ND: return DIGIT;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF: return EXTEND;
    case UTF8PROC_CATEGORY_ZS: return SPACE;
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF: return CLOSE;
    default: return OTHER;
    }
}

static kind kind_of(int32_t c, int greek)
{
    if (c < 0) return LETTER;
    if (c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029) return SEPARATOR;
    if (c == '\t' || c == '\v' || c == '\f') return SPACE;
    if (c == '.' || c == 0x2024 || c == 0xFE52 || c == 0xFF0E) return FULL_STOP;
    if (AMONG(c, stops) || (greek && (c == ';' || c == 0x37E))) return STOP;
    if (AMONG(c, continues)) return CONTINUE;
    if (c == '"' || c == '\'' || (c >= 0x275B && c <= 0x2760)) return CLOSE;
    return by_category(c);
}

/* The character at *at, which moves behind it; -1: none. */
static int32_t next(const char *text, size_t *at, size_t end)
{
    size_t step;
    const int32_t c = rill_utf8_next(text + *at, end - *at, &step);
    *at += step;
    return c;
}

/* The character that ends at *at, which moves before it; begin < *at. */
static int32_t last(const char *text, size_t begin, size_t *at)
{
    const size_t end = *at;
    do --*at;
    while (*at > begin && end - *at < 4 && ((unsigned char)text[*at] & 0xC0) == 0x80);
    size_t behind = *at;
    return next(text, &behind, end);
}

static int is_space(int32_t c)
{
    const kind k = kind_of(c, 0);
    return k == SPACE || k == SEPARATOR;
}

/* Of what has no letter and no digit a model would only make something up. */
static int says_something(const char *text, size_t begin, size_t end)
{
    while (begin < end) {
        const int32_t c = next(text, &begin, end); /* what is no UTF-8 the model refuses */
        const utf8proc_category_t category = c < 0 ? UTF8PROC_CATEGORY_LO : utf8proc_category(c);
        if ((category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) || category == UTF8PROC_CATEGORY_ND)
            return 1;
    }
    return 0;
}

/* Without spaces around it; nothing where it says nothing. */
static int trim(const char *text, size_t begin, size_t end, rill_sentence_fn found, void *user)
{
    size_t first = end, behind = begin;
    for (size_t at = begin; at < end;) {
        const size_t here = at;
        if (is_space(next(text, &at, end))) continue;
        if (first == end) first = here;
        behind = at;
    }
    return says_something(text, begin, end) ? found(user, first, behind) : 0;
}

/* --- abbreviations ------------------------------------------------------------------------------------------------ */

/* Words whose full stop ends no sentence as a rule. Those that often stand at an end, like "etc", are left out: two sentences in one part
 * do less harm than half a sentence. */
static const char *const abbreviations[] = {
    "Abb", "Abs",  "al",  "Art", "Aufl", "bzw",  "ca",  "Capt", "cf",  "Col", "Dipl", "Dr",   "Drs", "e.g", "evtl",
    "Fig", "fig",  "Fr",  "geb", "Gen",  "ggf",  "Gov", "Hr",   "Hrn", "i.e", "inkl", "Kap",  "Lt",  "max", "min",
    "Mio", "Mlle", "Mme", "Mr",  "Mrd",  "Mrs",  "Ms",  "No",   "Nr",  "pp",  "Prof", "Rep",  "Rev", "Sen", "Sgt",
    "sog", "Sr",   "St",  "Str", "Tel",  "Univ", "vgl", "Vgl",  "vol", "Vol", "vs",   "zzgl", NULL};

/* Brackets and quotes before a word: what is an apostrophe too is part of it ("Il l'a."). */
static int opens(int32_t c)
{
    return kind_of(c, 0) == CLOSE && c != '\'' && c != 0x2019;
}

/* Whether the full stop before byte `end` belongs to a word: an abbreviation, a letter ("z. B."), a number of a day ("3. Mai"). */
static int is_abbreviated(const char *text, size_t begin, size_t end)
{
    int32_t c = ' ';
    while (end > begin && is_space(c)) c = last(text, begin, &end);
    if (c != '.') return 0;
    size_t word = end;
    for (size_t at = end; at > begin && end - at < 16; word = at)
        if (c = last(text, begin, &at), is_space(c) || opens(c)) break;
    const size_t length = end - word;
    int digits = 0, letters = 0;
    for (size_t i = word; i < end; i++) digits += text[i] >= '0' && text[i] <= '9';
    for (size_t i = word; i < end; i++) letters += ((unsigned char)text[i] & 0xC0) != 0x80;
    if (letters == 1 || (length == 2 && digits == 2)) return 1;
    for (const char *const *known = abbreviations; *known; known++)
        if (strlen(*known) == length && !memcmp(*known, text + word, length)) return 1;
    return 0;
}

/* --- boundaries --------------------------------------------------------------------------------------------------- */

typedef struct reader {
    const char *text;
    size_t length;
    int greek;
} reader;

/* SB5: the kind of the character at *at, which moves behind it and what extends it. */
static kind read(const reader *r, size_t *at)
{
    const int32_t c = next(r->text, at, r->length);
    const kind k = kind_of(c, r->greek);
    if (c == '\r' && *at < r->length && r->text[*at] == '\n') ++*at; /* SB3 */
    for (size_t behind = *at; k != SEPARATOR && behind < r->length; *at = behind)
        if (kind_of(next(r->text, &behind, r->length), r->greek) != EXTEND) break;
    return k;
}

static kind peek(const reader *r, size_t at)
{
    return at < r->length ? read(r, &at) : SEPARATOR;
}

static void skip(const reader *r, size_t *at, kind what)
{
    while (*at < r->length && peek(r, *at) == what) read(r, at);
}

/* SB8: whether a word in lower case is next, whatever stands before it. */
static int goes_on(const reader *r, size_t at)
{
    while (at < r->length) {
        const kind k = read(r, &at);
        if (k == LOWER) return 1;
        if (k == LETTER || k == UPPER || k == SEPARATOR || k == FULL_STOP || k == STOP) return 0;
    }
    return 0;
}

/* Behind a stop at *at, with what stood before it; whether a sentence ends where *at comes to. */
static int ends_at(const reader *r, kind stop, kind before, size_t *at)
{
    const kind behind = peek(r, *at);
    if (stop == FULL_STOP && behind == DIGIT) return 0;                                         /* SB6 */
    if (stop == FULL_STOP && (before == UPPER || before == LOWER) && behind == UPPER) return 0; /* SB7 */
    skip(r, at, CLOSE);
    skip(r, at, SPACE);
    if (stop == FULL_STOP && goes_on(r, *at)) return 0;
    const kind then = peek(r, *at);
    if (*at < r->length && (then == CONTINUE || then == FULL_STOP || then == STOP)) return 0; /* SB8a */
    if (*at < r->length && then == SEPARATOR) read(r, at);
    return 1;
}

/* --- sentences ---------------------------------------------------------------------------------------------------- */

void rill_sentence_whole(const char *text, size_t length, rill_sentence_fn found, void *user)
{
    trim(text, 0, length, found, user);
}

/* "el", "ell_Grek", "el-en", of which behind a tab nothing counts; not "el-gato-negro". */
static int is_greek(const char *language)
{
    if (language == NULL || strncmp(language, "el", 2) != 0) return 0;
    const char *behind = language + 2 + (language[2] == 'l');
    return strchr("_\t", *behind) != NULL || (*behind == '-' && strchr(behind + 1, '-') == NULL);
}

void rill_sentences(const char *text, size_t length, const char *language, rill_sentence_fn found, void *user)
{
    const reader r = {.text = text, .length = length, .greek = is_greek(language)};
    size_t begin = 0;
    kind before = OTHER;
    for (size_t at = 0; at < length;) {
        const kind k = read(&r, &at);
        const int ends = k == SEPARATOR || ((k == FULL_STOP || k == STOP) && ends_at(&r, k, before, &at));
        before = k;
        if (!ends || at == length || is_abbreviated(text, begin, at)) continue;
        if (trim(text, begin, at, found, user)) return;
        begin = at;
    }
    trim(text, begin, length, found, user);
}
