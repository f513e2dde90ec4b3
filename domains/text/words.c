/* Words between blanks, and between spaces of all kinds. */
#include "words.h"

#include <string.h>

#include "rill/domain.h"
#include "try.h"

int rill_slice_is(rill_slice slice, const char *text)
{
    return rill_slice_same(slice, (rill_slice){text, strlen(text)});
}

int rill_slice_same(rill_slice a, rill_slice b)
{
    return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

rill_slice rill_next_word(rill_slice *text)
{
    const char *at = text->data, *const end = at + text->length;
    while (at < end && (unsigned char)*at <= ' ') at++;
    rill_slice word = {at, 0};
    while (at < end && (unsigned char)*at > ' ') at++;
    word.length = (size_t)(at - word.data);
    *text = (rill_slice){at, (size_t)(end - at)};
    return word;
}

size_t rill_space_length(const char *text, size_t length)
{
    const int joins = length >= 3 && (!memcmp(text, "\xE2\x80\x8C", 3) || !memcmp(text, "\xE2\x80\x8D", 3));
    return joins ? 0 : rill_blank_bytes(text, length);
}

rill_slice rill_next_text_word(rill_slice *text)
{
    size_t at = 0, more;
    while ((more = rill_space_length(text->data + at, text->length - at)) > 0) at += more;
    rill_slice word = {text->data + at, 0};
    while (at < text->length && rill_space_length(text->data + at, text->length - at) == 0) at++;
    word.length = (size_t)(text->data + at - word.data);
    *text = (rill_slice){text->data + at, text->length - at};
    return word;
}

rill_status rill_words_each(const char *text, size_t length, rill_word_fn fn, void *user)
{
    rill_slice left = {text, length};
    for (rill_slice word; (word = rill_next_word(&left)).length > 0;) TRY(fn(user, word.data, word.length));
    return RILL_OK;
}
