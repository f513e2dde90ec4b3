/* Splits a text into sentences.
 *
 * Source of the rules (SB3 to SB8a): unicode.org/reports/tr29, section 5. */
#include "sentence_splitter.h"

#include <string.h>
#include <utf8proc.h>

#include "utf8.h"

/* --- classes of characters ---------------------------------------------------------------------------------------- */

/* Values of Unicode's property Sentence_Break, as far as the rules distinguish them. */
typedef enum sentence_break {
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
} sentence_break;

/* Characters of the classes STOP and CONTINUE, as pairs of the first and the last character of a range, ascending. */
static const int32_t stop_ranges[] = {
    0x21,    0x21,    0x3F,    0x3F,    0x589,   0x589,   0x61D,   0x61F,   0x6D4,   0x6D4,   0x700,   0x702,
    0x7F9,   0x7F9,   0x837,   0x837,   0x839,   0x839,   0x83D,   0x83E,   0x964,   0x965,   0x104A,  0x104B,
    0x1362,  0x1362,  0x1367,  0x1368,  0x166E,  0x166E,  0x1735,  0x1736,  0x17D4,  0x17D5,  0x1803,  0x1803,
    0x1809,  0x1809,  0x1944,  0x1945,  0x1AA8,  0x1AAB,  0x1B5A,  0x1B5B,  0x1B5E,  0x1B5F,  0x1C3B,  0x1C3C,
    0x1C7E,  0x1C7F,  0x203C,  0x203D,  0x2047,  0x2049,  0x2E2E,  0x2E2E,  0x2E3C,  0x2E3C,  0x3002,  0x3002,
    0xA4FF,  0xA4FF,  0xA60E,  0xA60F,  0xA6F3,  0xA6F3,  0xA6F7,  0xA6F7,  0xA876,  0xA877,  0xA8CE,  0xA8CF,
    0xA92F,  0xA92F,  0xA9C8,  0xA9C9,  0xAA5D,  0xAA5F,  0xAAF0,  0xAAF1,  0xABEB,  0xABEB,  0xFE56,  0xFE57,
    0xFF01,  0xFF01,  0xFF1F,  0xFF1F,  0xFF61,  0xFF61,  0x11047, 0x11048, 0x110BE, 0x110C1, 0x11141, 0x11143,
    0x111C5, 0x111C6, 0x115C2, 0x115C3, 0x16A6E, 0x16A6F, 0x1BC9F, 0x1BC9F, 0x1DA88, 0x1DA88};
static const int32_t continue_ranges[] = {
    0x2C,   0x2D,   0x3A,   0x3A,   0x55D,  0x55D,  0x60C,  0x60D,  0x7F8,  0x7F8,  0x1802, 0x1802, 0x1808,
    0x1808, 0x2013, 0x2014, 0x3001, 0x3001, 0xFE10, 0xFE11, 0xFE13, 0xFE13, 0xFE31, 0xFE32, 0xFE50, 0xFE51,
    0xFE55, 0xFE55, 0xFE58, 0xFE58, 0xFE63, 0xFE63, 0xFF0C, 0xFF0D, 0xFF1A, 0xFF1A, 0xFF64, 0xFF64};

/* The value of Sentence_Break that follows from a character's general category. */
static sentence_break kind_by_category(int32_t c)
{
    static const sentence_break kinds[] = {
        [UTF8PROC_CATEGORY_LU] = UPPER,  [UTF8PROC_CATEGORY_LT] = UPPER,  [UTF8PROC_CATEGORY_LL] = LOWER,
        [UTF8PROC_CATEGORY_LM] = LETTER, [UTF8PROC_CATEGORY_LO] = LETTER, [UTF8PROC_CATEGORY_NL] = LETTER,
        [UTF8PROC_CATEGORY_ND] = DIGIT,  [UTF8PROC_CATEGORY_MN] = EXTEND, [UTF8PROC_CATEGORY_MC] = EXTEND,
        [UTF8PROC_CATEGORY_ME] = EXTEND, [UTF8PROC_CATEGORY_CF] = EXTEND, [UTF8PROC_CATEGORY_ZS] = SPACE,
        [UTF8PROC_CATEGORY_PS] = CLOSE,  [UTF8PROC_CATEGORY_PE] = CLOSE,  [UTF8PROC_CATEGORY_PI] = CLOSE,
        [UTF8PROC_CATEGORY_PF] = CLOSE,  [UTF8PROC_CATEGORY_CO] = OTHER};
    return kinds[utf8proc_category(c)];
}

static sentence_break break_kind(int32_t c, int greek)
{
    if (c < 0) return LETTER;
    if (c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029) return SEPARATOR;
    if (c == '\t' || c == '\v' || c == '\f') return SPACE;
    if (c == '.' || c == 0x2024 || c == 0xFE52 || c == 0xFF0E) return FULL_STOP;
    if (RILL_IN_RANGES(c, stop_ranges) || (greek && (c == ';' || c == 0x37E))) return STOP;
    if (RILL_IN_RANGES(c, continue_ranges)) return CONTINUE;
    if (c == '"' || c == '\'' || (c >= 0x275B && c <= 0x2760)) return CLOSE;
    return kind_by_category(c);
}

/* Returns the character that ends before *pos, and moves *pos to its start; begin < *pos. */
static int32_t read_prev_char(const char *text, size_t begin, size_t *pos)
{
    const size_t end = *pos;
    do --*pos;
    while (*pos > begin && end - *pos < 4 && ((unsigned char)text[*pos] & 0xC0) == 0x80);
    size_t next_pos = *pos;
    return rill_utf8_read(text, end, &next_pos);
}

static int is_space(int32_t c)
{
    const sentence_break k = break_kind(c, 0);
    return k == SPACE || k == SEPARATOR;
}

/* Returns 1 if the text has a letter or digit; from other texts translation models invent output. */
static int has_letter_or_digit(const char *text, size_t begin, size_t end)
{
    while (begin < end) {
        /* -1: invalid UTF-8, which counts as a letter here; the model reports it */
        const int32_t c = rill_utf8_read(text, end, &begin);
        const utf8proc_category_t category = c < 0 ? UTF8PROC_CATEGORY_LO : utf8proc_category(c);
        if ((category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) || category == UTF8PROC_CATEGORY_ND)
            return 1;
    }
    return 0;
}

/* Call `found` with the trimmed sentence, unless it has no letter or digit. */
static int emit_trimmed(const char *text, size_t begin, size_t end, rill_sentence_fn found, void *user)
{
    size_t first = end, last_end = begin;
    for (size_t pos = begin; pos < end;) {
        const size_t begin_pos = pos;
        if (is_space(rill_utf8_read(text, end, &pos))) continue;
        if (first == end) first = begin_pos;
        last_end = pos;
    }
    return has_letter_or_digit(text, begin, end) ? found(user, first, last_end) : 0;
}

/* --- abbreviations ------------------------------------------------------------------------------------------------ */

/* Words whose full stop rarely ends a sentence; not "etc". Splitting a sentence harms a translation more than joining two. */
static const char abbreviations[] =
    "Abb Abs al Art Aufl bzw ca Capt cf Col Dipl Dr Drs e.g evtl Fig fig Fr geb Gen ggf Gov Hr Hrn i.e "
    "inkl Kap Lt max min Mio Mlle Mme Mr Mrd Mrs Ms No Nr pp Prof Rep Rev Sen Sgt sog Sr St Str Tel Univ "
    "vgl Vgl vol Vol vs zzgl";

/* Returns 1 for opening brackets and quotes. A quote that is also an apostrophe does not count: it belongs to the word ("Il l'a."). */
static int is_opening(int32_t c)
{
    return break_kind(c, 0) == CLOSE && c != '\'' && c != 0x2019;
}

/* Returns 1 if the full stop before `end` belongs to an abbreviation, a letter ("z. B.") or an ordinal ("3. Mai"). */
static int is_abbreviated(const char *text, size_t begin, size_t end)
{
    int32_t c = ' ';
    while (end > begin && is_space(c)) c = read_prev_char(text, begin, &end);
    if (c != '.') return 0;
    size_t word = end;
    for (size_t pos = end; pos > begin && end - pos < 16; word = pos)
        if (c = read_prev_char(text, begin, &pos), is_space(c) || is_opening(c)) break;
    const size_t length = end - word;
    int digits = 0, letters = 0;
    for (size_t i = word; i < end; i++) digits += text[i] >= '0' && text[i] <= '9';
    for (size_t i = word; i < end; i++) letters += ((unsigned char)text[i] & 0xC0) != 0x80;
    if (letters == 1 || (length == 2 && digits == 2)) return 1;
    return rill_word_index((rill_slice){text + word, length}, abbreviations) >= 0;
}

/* --- rules of boundaries ------------------------------------------------------------------------------------------ */

typedef struct sentence_reader {
    const char *text;
    size_t length;
    int greek;
} sentence_reader;

/* Returns the class of the character at *pos, and moves *pos past it and the characters that extend it (SB5). */
static sentence_break read_char(const sentence_reader *r, size_t *pos)
{
    const int32_t c = rill_utf8_read(r->text, r->length, pos);
    const sentence_break k = break_kind(c, r->greek);
    if (c == '\r' && *pos < r->length && r->text[*pos] == '\n') ++*pos; /* rule SB3 of Unicode Annex 29 */
    for (size_t next_pos = *pos; k != SEPARATOR && next_pos < r->length; *pos = next_pos)
        if (break_kind(rill_utf8_read(r->text, r->length, &next_pos), r->greek) != EXTEND) break;
    return k;
}

static sentence_break peek_char(const sentence_reader *r, size_t pos)
{
    return pos < r->length ? read_char(r, &pos) : SEPARATOR;
}

static void skip_kind(const sentence_reader *r, size_t *pos, sentence_break what)
{
    while (*pos < r->length && peek_char(r, *pos) == what) read_char(r, pos);
}

/* Returns 1 if the next word is in lower case (SB8); characters before it that are not letters are skipped. */
static int lower_case_follows(const sentence_reader *r, size_t pos)
{
    while (pos < r->length) {
        const sentence_break k = read_char(r, &pos);
        if (k == LOWER) return 1;
        if (k == LETTER || k == UPPER || k == SEPARATOR || k == FULL_STOP || k == STOP) return 0;
    }
    return 0;
}

/* *pos follows the stop, and moves to the end of the sentence. `prev`: class of the character before the stop. */
static int ends_sentence_at(const sentence_reader *r, sentence_break stop, sentence_break prev, size_t *pos)
{
    const sentence_break next_kind = peek_char(r, *pos);
    if (stop == FULL_STOP && next_kind == DIGIT) return 0; /* rule SB6 of Unicode Annex 29 */
    if (stop == FULL_STOP && (prev == UPPER || prev == LOWER) && next_kind == UPPER)
        return 0; /* rule SB7 of Unicode Annex 29 */
    skip_kind(r, pos, CLOSE);
    skip_kind(r, pos, SPACE);
    if (stop == FULL_STOP && lower_case_follows(r, *pos)) return 0;
    const sentence_break then = peek_char(r, *pos);
    if (*pos < r->length && (then == CONTINUE || then == FULL_STOP || then == STOP))
        return 0; /* rule SB8a of Unicode Annex 29 */
    if (*pos < r->length && then == SEPARATOR) read_char(r, pos);
    return 1;
}

/* --- sentences ---------------------------------------------------------------------------------------------------- */

void rill_sentences_whole_text(const char *text, size_t length, rill_sentence_fn found, void *user)
{
    emit_trimmed(text, 0, length, found, user);
}

/* Greek is "el" or "el_Grek", also before a tab and text, or a model name such as "el-en", but not "el-gato-negro". */
static int is_greek(const char *language)
{
    if (language == NULL || strncmp(language, "el", 2) != 0) return 0;
    const char *suffix = language + 2 + (language[2] == 'l');
    return strchr("_\t", *suffix) != NULL || (*suffix == '-' && strchr(suffix + 1, '-') == NULL);
}

void rill_sentences_split(const char *text, size_t length, const char *language, rill_sentence_fn found, void *user)
{
    const sentence_reader r = {.text = text, .length = length, .greek = is_greek(language)};
    size_t begin = 0;
    sentence_break prev = OTHER;
    for (size_t pos = 0; pos < length;) {
        const sentence_break k = read_char(&r, &pos);
        const int ends = k == SEPARATOR || ((k == FULL_STOP || k == STOP) && ends_sentence_at(&r, k, prev, &pos));
        prev = k;
        if (!ends || pos == length || is_abbreviated(text, begin, pos)) continue;
        if (emit_trimmed(text, begin, pos, found, user)) return;
        begin = pos;
    }
    emit_trimmed(text, begin, length, found, user);
}
