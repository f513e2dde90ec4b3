/* Character classes of sacremoses, and rewrite rules. A Chinese character or Hangul syllable is a word.
 * libutf8proc lacks Unicode's property Alphabetic. So the combining class decides whether a mark belongs to a letter, wrongly for some
 * rare scripts. */
#include <string.h>
#include <utf8proc.h>

#include "moses.h"
#include "segmenters.h"

/* --- decoding characters ------------------------------------------------------------------------------------------ */

static rill_status reserve_chars(rill_chars *chars, size_t more)
{
    return GROW(&chars->arena, chars->data, chars->length + more, "a text");
}

rill_status rill_chars_append(rill_chars *chars, const char32_t *chars_to_add, size_t count)
{
    TRY(reserve_chars(chars, count));
    if (count > 0) memcpy(chars->data + chars->length, chars_to_add, count * sizeof *chars_to_add);
    chars->length += count;
    return RILL_OK;
}

rill_status rill_chars_read(rill_chars *chars, const char *text, size_t length)
{
    chars->length = 0;
    TRY(reserve_chars(chars, length));
    for (size_t pos = 0; pos < length;) chars->data[chars->length++] = (char32_t)rill_utf8_read(text, length, &pos);
    return RILL_OK;
}

rill_status rill_chars_write(const char32_t *text, size_t count, rill_text *out)
{
    for (size_t i = 0; i < count; i++) {
        utf8proc_uint8_t bytes[4];
        utf8proc_ssize_t length = utf8proc_encode_char((utf8proc_int32_t)text[i], bytes);
        TRY(rill_text_append(out, (const char *)bytes, (size_t)length));
    }
    return RILL_OK;
}

void rill_chars_clear(rill_chars *chars)
{
    rill_arena_clear(&chars->arena);
    *chars = (rill_chars){.arena.ctx = chars->arena.ctx};
}

void rill_chars_swap(rill_chars *a, rill_chars *b)
{
    rill_chars kept = *a;
    *a = *b;
    *b = kept;
}

size_t rill_chars_word(const rill_chars *chars, size_t *from, size_t *length)
{
    size_t begin = *from;
    while (begin < chars->length && rill_char_is(chars->data[begin], RW_WHITE_SPACE)) begin++;
    size_t end = begin;
    while (end < chars->length && !rill_char_is(chars->data[end], RW_WHITE_SPACE)) end++;
    *length = end - begin;
    *from = end;
    return begin;
}

/* --- classes of characters ---------------------------------------------------------------------------------------- */

static int in_range(char32_t c, char32_t low, char32_t high)
{
    return c >= low && c <= high;
}

static int is_white_space(char32_t c)
{
    return rill_is_white_space((int32_t)c) || in_range(c, 0x1C, 0x1F);
}

static utf8proc_category_t category(char32_t c)
{
    return utf8proc_category((utf8proc_int32_t)c);
}

static int is_digit(char32_t c)
{
    return c < 0x80 ? in_range(c, '0', '9') : category(c) == UTF8PROC_CATEGORY_ND;
}

/* Returns 1 for ideographic number signs, which sacremoses does not count as numbers. */
static int is_han_number(char32_t c)
{
    return c == 0x3007 || in_range(c, 0x3021, 0x3029) || in_range(c, 0x3038, 0x303A);
}

static int is_number(char32_t c)
{
    if (c < 0x80) return in_range(c, '0', '9');
    if (c > 0xFFFF || is_han_number(c)) return 0;
    utf8proc_category_t kind = category(c);
    return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

/* Returns 1 for marks that belong to a letter: vowel signs and points (combining classes 0, 10 to 199), viramas (9), nuktas (7). Variation
 * selectors and joiners do not. */
static int belongs_to_letter(char32_t c)
{
    if (c == 0x34F || in_range(c, 0x180B, 0x180F) || in_range(c, 0xFE00, 0xFE0F)) return 0;
    int class = utf8proc_get_property((utf8proc_int32_t)c)->combining_class;
    return class == 0 || class == 7 || in_range((char32_t)class, 9, 199);
}

static int is_letter(char32_t c)
{
    if (c < 0x80) return in_range(c | 0x20, 'a', 'z');
    if (c > 0xFFFF || c == 0x3005 || c == 0x303B || is_han_number(c)) return 0;
    if (in_range(c, 0x3400, 0x4DBF) || in_range(c, 0x4E00, 0x9FFF)) return 0;
    if (in_range(c, 0xAC00, 0xD7A3) || in_range(c, 0xF900, 0xFAFF)) return 0;
    switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_MC: return 1;
    case UTF8PROC_CATEGORY_MN: return belongs_to_letter(c);
    default: return in_range(c, 0x24B6, 0x24E9); /* circled letters */
    }
}

static int is_word(char32_t c)
{
    return is_letter(c) || (c <= 0xFFFF && is_digit(c));
}

static int is_mark(char32_t c)
{
    return c != '.' && c != '\'' && c != '`' && c != ',' && c != '-' && !is_word(c) && !is_white_space(c);
}

static int is_invisible(char32_t c)
{
    if (in_range(c, 0x20, 0x7E)) return 0;
    utf8proc_category_t kind = category(c);
    return kind == UTF8PROC_CATEGORY_CN || kind >= UTF8PROC_CATEGORY_CC;
}

static int ascii_in(char32_t c, const char *list)
{
    return c < 0x80 && c != 0 && strchr(list, (int)c) != NULL;
}

/* The codes of classes in the strings of a rule, e.g. WHITE_SPACE for RW_WHITE_SPACE of moses.h. */
enum {
    WHITE_SPACE = 0x110001,
    DIGIT,
    NUMBER,
    NO_NUMBER,
    LETTER,
    NO_LETTER,
    NEITHER,
    WORD,
    MARK,
    CLOSER,
    STOP,
    NO_ANGLE,
    NOT_HIDDEN,
    INVISIBLE,
    FIRST_CLASS = WHITE_SPACE
};

int rill_char_is(char32_t c, const char32_t *class)
{
    switch (*class) {
    case WHITE_SPACE: return is_white_space(c);
    case DIGIT: return is_digit(c);
    case NUMBER: return is_number(c);
    case NO_NUMBER: return !is_number(c);
    case LETTER: return is_letter(c);
    case NO_LETTER: return !is_letter(c);
    case NEITHER: return !is_letter(c) && !is_number(c);
    case WORD: return is_word(c);
    case MARK: return is_mark(c);
    case CLOSER: return ascii_in(c, ".!:?;,");
    case STOP: return ascii_in(c, ".,");
    case NO_ANGLE: return c != '<';
    case NOT_HIDDEN: return c != *RW_HIDDEN_DOT;
    case INVISIBLE: return is_invisible(c);
    default: return c == *class;
    }
}

enum { MAX_PATTERN_PARTS = 8 }; /* maximum number of elements in a pattern */

typedef struct rule_hit {
    size_t begin[MAX_PATTERN_PARTS], end[MAX_PATTERN_PARTS];
    size_t to; /* end of the match */
} rule_hit;

static size_t run_end(const rill_chars *text, size_t pos, const char32_t *class)
{
    while (pos < text->length && rill_char_is(text->data[pos], class)) pos++;
    return pos;
}

/* Match a pattern, or the rest of one from element number `part` on, at position `pos` of the text. */
static int match_from(const rill_chars *text, const char32_t *pattern, int part, size_t pos, rule_hit *m)
{
    for (; *pattern != 0; part++) {
        const char32_t *element = pattern++;
        m->begin[part] = pos;
        if (*element == *RW_END) {
            if (pos < text->length) return 0;
        } else if (*pattern == *RW_ANY) {
            size_t run_end_pos = run_end(text, pos, element);
            for (size_t end = run_end_pos; end > pos; end--) {
                m->end[part] = end;
                if (match_from(text, pattern + 1, part + 1, end, m)) return 1;
            }
            pattern++;
        } else {
            if (pos == text->length || !rill_char_is(text->data[pos], element)) return 0;
            pos = *pattern == *RW_RUN ? run_end(text, pos, element) : pos + 1;
            pattern += *pattern == *RW_RUN;
        }
        m->end[part] = pos;
    }
    m->to = pos;
    return 1;
}

/* A pattern that begins with a run and fails at the run's first character cannot match inside it: skip the run. */
static int find_match(const rill_chars *text, const rill_rewrite_rule *rule, size_t from, rule_hit *m)
{
    const int literal = *rule->pattern < FIRST_CLASS, run = rule->pattern[1] == *RW_RUN;
    while (from < text->length) {
        if (literal && text->data[from] != *rule->pattern) {
            from++;
            continue;
        }
        if (match_from(text, rule->pattern, 0, from, m)) return 1;
        size_t end = run ? run_end(text, from, rule->pattern) : from + 1;
        from = end > from ? end : from + 1;
    }
    return 0;
}

/* --- applying rules ----------------------------------------------------------------------------------------------- */

static rill_status put_result(const rill_chars *text, const char32_t *result, const rule_hit *m, rill_chars *out)
{
    for (; *result != 0; result++) {
        size_t part = *result - *RW_P0;
        if (*result < *RW_P0)
            TRY(rill_chars_append(out, result, 1));
        else
            TRY(rill_chars_append(out, text->data + m->begin[part], m->end[part] - m->begin[part]));
    }
    return RILL_OK;
}

static rill_status apply_rule(const rill_rewrite_rule *rule, rill_chars *text, rill_chars *out)
{
    rule_hit m;
    size_t from = 0;
    if (!find_match(text, rule, 0, &m)) return RILL_OK;
    out->length = 0;
    do {
        TRY(rill_chars_append(out, text->data + from, m.begin[0] - from));
        TRY(put_result(text, rule->result, &m, out));
        from = m.to - (size_t)rule->keep;
    } while (find_match(text, rule, from, &m));
    TRY(rill_chars_append(out, text->data + from, text->length - from));
    rill_chars_swap(text, out);
    return RILL_OK;
}

rill_status rill_rewrite(const rill_rewrite_rule *rules, size_t count, rill_chars *text, rill_chars *spare)
{
    for (size_t i = 0; i < count; i++) TRY(apply_rule(&rules[i], text, spare));
    return RILL_OK;
}
