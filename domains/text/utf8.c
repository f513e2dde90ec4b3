/* UTF-8 validation and decoding, slices and words. rill_utf8_check() tests eight bytes at once for ASCII. */
#include "utf8.h"

#include <string.h>
#include <utf8proc.h>

#include "domain_base.h"

/* --- UTF-8 -------------------------------------------------------------------------------------------------------- */

/* Returns the length of the character at the start of `bytes`, and sets *c to it. If it is malformed: 0, and *c = -1. */
static size_t read_char(const char *bytes, size_t length_left, utf8proc_int32_t *c)
{
    const utf8proc_ssize_t max = length_left < 4 ? (utf8proc_ssize_t)length_left : 4;
    const utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)bytes, max, c);
    return n > 0 ? (size_t)n : 0;
}

size_t rill_utf8_length(const char *bytes, size_t length_left)
{
    utf8proc_int32_t c;
    return read_char(bytes, length_left, &c);
}

int32_t rill_utf8_read(const char *text, size_t length, size_t *pos)
{
    utf8proc_int32_t c;
    const size_t n = read_char(text + *pos, length - *pos, &c);
    *pos += n > 0 ? n : 1;
    return c;
}

size_t rill_utf8_skip(const char *text, size_t length)
{
    size_t n = 1;
    while (n < length && ((unsigned char)text[n] & 0xC0) == 0x80) n++;
    return n;
}

size_t rill_utf8_prev(const char *text, size_t pos)
{
    do pos--;
    while (pos > 0 && ((unsigned char)text[pos] & 0xC0) == 0x80);
    return pos;
}

size_t rill_utf8_check(const char *bytes, size_t length)
{
    size_t pos = 0;
    while (pos < length) {
        uint64_t eight;
        if (length - pos >= sizeof eight) {
            memcpy(&eight, bytes + pos, sizeof eight);
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                pos += sizeof eight;
                continue;
            }
        }
        size_t step = rill_utf8_length(bytes + pos, length - pos);
        if (step == 0) return pos;
        pos += step;
    }
    return length;
}

/* --- classes of characters ---------------------------------------------------------------------------------------- */

int rill_in_ranges(int32_t c, const int32_t *pairs, size_t n)
{
    for (size_t i = 0; i < n && pairs[i] <= c; i += 2)
        if (c <= pairs[i + 1]) return 1;
    return 0;
}

int rill_is_white_space(int32_t c)
{
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
           c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

size_t rill_white_space_length(const char *text, size_t length)
{
    size_t next = 0;
    return length > 0 && rill_is_white_space(rill_utf8_read(text, length, &next)) ? next : 0;
}

int rill_char_in(char32_t character, const char32_t *list)
{
    while (*list != 0 && *list != character) list++;
    return *list != 0;
}

/* --- slices and words --------------------------------------------------------------------------------------------- */

int rill_slice_is(rill_slice slice, const char *text)
{
    return rill_slice_equal(slice, (rill_slice){text, strlen(text)});
}

int rill_slice_equal(rill_slice a, rill_slice b)
{
    return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

int rill_slice_index(rill_slice slice, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rill_slice_is(slice, names[i])) return (int)i;
    return -1;
}

int rill_word_index(rill_slice slice, const char *words)
{
    rill_slice rest = {words, strlen(words)}, word;
    for (int i = 0; (word = rill_next_word(&rest)).length > 0; i++)
        if (rill_slice_equal(slice, word)) return i;
    return -1;
}

int rill_slice_cut(rill_slice *rest, char separator, rill_slice *part)
{
    const char *end = memchr(rest->data, separator, rest->length);
    *part = (rill_slice){rest->data, end != NULL ? (size_t)(end - rest->data) : rest->length};
    *rest = end != NULL ? (rill_slice){end + 1, rest->length - part->length - 1} : (rill_slice){rest->data, 0};
    return end != NULL;
}

rill_slice rill_next_word(rill_slice *text)
{
    const char *pos = text->data, *const end = pos + text->length;
    while (pos < end && (unsigned char)*pos <= ' ') pos++;
    rill_slice word = {pos, 0};
    while (pos < end && (unsigned char)*pos > ' ') pos++;
    word.length = (size_t)(pos - word.data);
    *text = (rill_slice){pos, (size_t)(end - pos)};
    return word;
}

size_t rill_space_length(const char *text, size_t length)
{
    const int joins = length >= 3 && (!memcmp(text, "\xE2\x80\x8C", 3) || !memcmp(text, "\xE2\x80\x8D", 3));
    return joins ? 0 : rill_blank_bytes(text, length);
}

rill_slice rill_next_text_word(rill_slice *text)
{
    size_t pos = 0, more;
    while ((more = rill_space_length(text->data + pos, text->length - pos)) > 0) pos += more;
    rill_slice word = {text->data + pos, 0};
    while (pos < text->length && rill_space_length(text->data + pos, text->length - pos) == 0) pos++;
    word.length = (size_t)(text->data + pos - word.data);
    *text = (rill_slice){text->data + pos, text->length - pos};
    return word;
}

rill_status rill_for_each_word(const char *text, size_t length, rill_word_fn fn, void *user)
{
    rill_slice remaining = {text, length};
    for (rill_slice word; (word = rill_next_word(&remaining)).length > 0;) TRY(fn(user, word.data, word.length));
    return RILL_OK;
}
