/* GPT-2's byte-level alphabet and its pre-tokenization into words; see pipeline.h.
 *
 * Source: Radford et al., Language models are unsupervised multitask learners, 2019. A word is what the regular expression
 * of the published code matches: a contraction; letters, digits or other signs with an optional space before them; or white
 * space, whose last character belongs to the next word. Divisions: letters · words · repair. */
#include <string.h>
#include <utf8proc.h>

#include "domain_base.h"
#include "pipeline.h"
#include "utf8.h"

/* --- letters ------------------------------------------------------------------------------------------------------ */

/* In the alphabet, printable bytes of Latin-1 are their own letters; the other bytes are U+0100, U+0101, ..., in order. */
static int is_printable_byte(unsigned byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

static int32_t byte_to_letter(unsigned byte)
{
    if (is_printable_byte(byte)) return (int32_t)byte;
    if (byte <= 0x20) return 0x100 + (int32_t)byte;
    return byte == 0xAD ? 0x143 : 0x121 + (int32_t)byte - 0x7F;
}

static int letter_to_byte(int32_t letter)
{
    if (letter >= 0 && letter < 0x100) return is_printable_byte((unsigned)letter) ? (int)letter : -1;
    if (letter >= 0x100 && letter <= 0x120) return (int)letter - 0x100;
    if (letter >= 0x121 && letter <= 0x142) return (int)letter - 0x121 + 0x7F;
    return letter == 0x143 ? 0xAD : -1;
}

rill_status rill_byte_text_to_letters(const char *text, size_t length, rill_text *out)
{
    for (size_t i = 0; i < length; i++) {
        utf8proc_uint8_t letter[4];
        const utf8proc_ssize_t n = utf8proc_encode_char(byte_to_letter((unsigned char)text[i]), letter);
        TRY(rill_text_append(out, (const char *)letter, (size_t)n));
    }
    return RILL_OK;
}

rill_status rill_byte_letters_to_text(const char *piece, size_t length, rill_text *out)
{
    const size_t old_length = out->length;
    for (size_t pos = 0; pos < length;) {
        utf8proc_int32_t letter = -1;
        const utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)piece + pos,
                                                    (utf8proc_ssize_t)(length - pos), &letter);
        const int byte = n > 0 ? letter_to_byte(letter) : -1;
        if (byte < 0) {
            out->length = old_length;
            return rill_text_append(out, piece, length);
        }
        const char one = (char)byte;
        TRY(rill_text_append(out, &one, 1));
        pos += (size_t)n;
    }
    return RILL_OK;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

typedef enum char_class { CLASS_END, CLASS_SPACE, CLASS_LETTER, CLASS_DIGIT, CLASS_OTHER } char_class;

/* The class of the character at `pos`; *next = the offset of the next character. */
static char_class class_at(const char *text, size_t length, size_t pos, size_t *next)
{
    utf8proc_int32_t c = -1;
    *next = pos;
    if (pos >= length) return CLASS_END;
    *next += (size_t)utf8proc_iterate((const utf8proc_uint8_t *)text + pos, (utf8proc_ssize_t)(length - pos), &c);
    if (rill_is_white_space(c)) return CLASS_SPACE;
    const utf8proc_category_t kind = utf8proc_category(c);
    if (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO) return CLASS_LETTER;
    return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO ? CLASS_DIGIT : CLASS_OTHER;
}

static size_t contraction_length(const char *text, size_t length)
{
    static const char *const all[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t n = strlen(all[i]);
        if (length >= n && memcmp(text, all[i], n) == 0) return n;
    }
    return 0;
}

/* The end of the run of characters of class `kind` that starts at `pos`; *last = the offset of its last character. */
static size_t run_end(const char *text, size_t length, size_t pos, char_class kind, size_t *last)
{
    size_t next;
    while (class_at(text, length, pos, &next) == kind) {
        *last = pos;
        pos = next;
    }
    return pos;
}

size_t rill_byte_word(const char *text, size_t length)
{
    size_t next, last = 0;
    const size_t short_form = contraction_length(text, length);
    if (length == 0 || short_form > 0) return short_form;
    size_t from = text[0] == ' ' ? 1 : 0;
    char_class kind = class_at(text, length, from, &next);
    if (kind == CLASS_END || kind == CLASS_SPACE) { /* a run of white space, not a space before a word */
        const size_t end = run_end(text, length, 0, CLASS_SPACE, &last);
        return end < length && last > 0 ? last : end;
    }
    return run_end(text, length, from, kind, &last);
}

/* --- repair ------------------------------------------------------------------------------------------------------- */

/* The number of bytes, at least 1, of the malformed UTF-8 character at the start of `bytes`, which one U+FFFD replaces. */
static size_t broken_length(const char *bytes, size_t length)
{
    const unsigned char *b = (const unsigned char *)bytes;
    const size_t want = b[0] >= 0xC2 && b[0] <= 0xDF   ? 2
                        : b[0] >= 0xE0 && b[0] <= 0xEF ? 3
                        : b[0] >= 0xF0 && b[0] <= 0xF4 ? 4
                                                       : 1;
    size_t n = 1;
    if (want > 1 && length > 1) {
        const unsigned low = b[0] == 0xE0   ? 0xA0
                             : b[0] == 0xF0 ? 0x90
                                            : 0x80,
                       high = b[0] == 0xED   ? 0x9F
                              : b[0] == 0xF4 ? 0x8F
                                             : 0xBF;
        if (b[1] < low || b[1] > high) return 1;
        for (n = 2; n < want && n < length && (b[n] & 0xC0) == 0x80;) n++;
    }
    return n;
}

rill_status rill_byte_repair(rill_text *text, size_t from)
{
    static const char mark[] = "\xEF\xBF\xBD";
    const size_t length = text->length - from;
    if (rill_utf8_check(text->data + from, length) == length) return RILL_OK;
    rill_text copy = {.ctx = text->ctx};
    rill_status status = rill_text_append(&copy, text->data + from, length);
    text->length = from;
    for (size_t pos = 0; status == RILL_OK && pos < length;) {
        const size_t good = rill_utf8_check(copy.data + pos, length - pos);
        status = rill_text_append(text, copy.data + pos, good);
        pos += good;
        if (pos == length || status != RILL_OK) break;
        status = rill_text_append(text, mark, sizeof mark - 1);
        pos += broken_length(copy.data + pos, length - pos);
    }
    rill_text_clear(&copy);
    return status;
}
