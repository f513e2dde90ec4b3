/* Words between blanks. */
#include "actions.h"

#include "try.h"

rill_status rill_words_each(const char *text, size_t length, rill_word_fn fn, void *user)
{
    for (size_t i = 0, from = 0; i <= length; i++) {
        if (i < length && (unsigned char)text[i] > ' ') continue;
        if (i > from) TRY(fn(user, text + from, i - from));
        from = i + 1;
    }
    return RILL_OK;
}
