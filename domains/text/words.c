/* Words between blanks. */
#include "words.h"

#include <string.h>

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

rill_status rill_words_each(const char *text, size_t length, rill_word_fn fn, void *user)
{
    rill_slice left = {text, length};
    for (rill_slice word; (word = rill_next_word(&left)).length > 0;) TRY(fn(user, word.data, word.length));
    return RILL_OK;
}
