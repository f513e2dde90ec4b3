/* Bytes as letters, and words, as GPT-2 has them; pipeline.h.
 *
 * Source: Radford et al., Language models are unsupervised multitask learners, 2019, with its published code's expression for words:
 * a contraction, letters, digits or other signs with one blank before them, or blanks, of which the last belongs to the word behind.
 * Divisions: letters · words · repair. */
#include <string.h>
#include <utf8proc.h>

#include "pipeline.h"
#include "try.h"
#include "utf8.h"

/* --- letters ------------------------------------------------------------------------------------------------------ */

/* Printable bytes of Latin-1 are their own letters; the others are U+0100 and so on, in order. */
static int is_own(unsigned byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

static int32_t letter_of(unsigned byte)
{
    if (is_own(byte)) return (int32_t)byte;
    if (byte <= 0x20) return 0x100 + (int32_t)byte;
    return byte == 0xAD ? 0x143 : 0x121 + (int32_t)byte - 0x7F;
}

static int byte_of(int32_t letter)
{
    if (letter >= 0 && letter < 0x100) return is_own((unsigned)letter) ? (int)letter : -1;
    if (letter >= 0x100 && letter <= 0x120) return (int)letter - 0x100;
    if (letter >= 0x121 && letter <= 0x142) return (int)letter - 0x121 + 0x7F;
    return letter == 0x143 ? 0xAD : -1;
}

rill_status rill_byte_letters(const char *text, size_t length, rill_text *out)
{
    for (size_t i = 0; i < length; i++) {
        utf8proc_uint8_t letter[4];
        const utf8proc_ssize_t n = utf8proc_encode_char(letter_of((unsigned char)text[i]), letter);
        TRY(rill_text_append(out, (const char *)letter, (size_t)n));
    }
    return RILL_OK;
}

rill_status rill_byte_text(const char *piece, size_t length, rill_text *out)
{
    const size_t before = out->length;
    for (size_t at = 0; at < length;) {
        utf8proc_int32_t letter = -1;
        const utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)piece + at,
                                                    (utf8proc_ssize_t)(length - at), &letter);
        const int byte = n > 0 ? byte_of(letter) : -1;
        if (byte < 0) {
            out->length = before;
            return rill_text_append(out, piece, length);
        }
        const char one = (char)byte;
        TRY(rill_text_append(out, &one, 1));
        at += (size_t)n;
    }
    return RILL_OK;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

typedef enum sort { SORT_END, SORT_BLANK, SORT_LETTER, SORT_DIGIT, SORT_OTHER } sort;

/* The character at `at`, and where the next begins. */
static sort sort_at(const char *text, size_t length, size_t at, size_t *next)
{
    utf8proc_int32_t c = -1;
    *next = at;
    if (at >= length) return SORT_END;
    *next += (size_t)utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(length - at), &c);
    if (rill_is_blank(c)) return SORT_BLANK;
    const utf8proc_category_t kind = utf8proc_category(c);
    if (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO) return SORT_LETTER;
    return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO ? SORT_DIGIT : SORT_OTHER;
}

static size_t contraction(const char *text, size_t length)
{
    static const char *const all[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t n = strlen(all[i]);
        if (length >= n && memcmp(text, all[i], n) == 0) return n;
    }
    return 0;
}

/* Where a run of one sort, from `at` on, ends. */
static size_t run_end(const char *text, size_t length, size_t at, sort kind, size_t *last)
{
    size_t next;
    while (sort_at(text, length, at, &next) == kind) {
        *last = at;
        at = next;
    }
    return at;
}

size_t rill_byte_word(const char *text, size_t length)
{
    size_t next, last = 0;
    const size_t short_form = contraction(text, length);
    if (length == 0 || short_form > 0) return short_form;
    size_t from = text[0] == ' ' ? 1 : 0;
    sort kind = sort_at(text, length, from, &next);
    if (kind == SORT_END || kind == SORT_BLANK) { /* no word behind one blank */
        const size_t end = run_end(text, length, 0, SORT_BLANK, &last);
        return end < length && last > 0 ? last : end;
    }
    return run_end(text, length, from, kind, &last);
}

/* --- repair ------------------------------------------------------------------------------------------------------- */

/* How many bytes, one at least, are the beginning of a character that then breaks off. */
static size_t broken(const char *bytes, size_t length)
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
    for (size_t at = 0; status == RILL_OK && at < length;) {
        const size_t good = rill_utf8_check(copy.data + at, length - at);
        status = rill_text_append(text, copy.data + at, good);
        at += good;
        if (at == length || status != RILL_OK) break;
        status = rill_text_append(text, mark, sizeof mark - 1);
        at += broken(copy.data + at, length - at);
    }
    rill_text_clear(&copy);
    return status;
}
