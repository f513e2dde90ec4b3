/* Slices of text, and splitting a text into words; see text_words.h. */
#include "text_words.h"

#include <string.h>

#include "domain_base.h"
#include "rill/domain.h"

int rill_slice_is(rill_slice slice, const char *text)
{
    return rill_slice_equal(slice, (rill_slice){text, strlen(text)});
}

int rill_slice_equal(rill_slice a, rill_slice b)
{
    return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
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
