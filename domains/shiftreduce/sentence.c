/* The words of one input; sentence.h says what is kept of them. */
#include "sentence.h"

void sentence_begin(sentence *s)
{
    rill_text_reset(&s->bytes);
    s->words = 0;
}

/* The bytes behind the last word's end become a word. */
static rill_status end_word(sentence *s, int32_t tag)
{
    rill_context *ctx = s->bytes.ctx;
    size_t words = (size_t)s->words + 1;
    rill_status status = rill_grow(ctx, (void **)&s->end, &s->end_room, words, sizeof *s->end,
                                   "the words of a sentence");
    if (status == RILL_OK)
        status = rill_grow(ctx, (void **)&s->tag, &s->tag_room, words, sizeof *s->tag, "the tags of a sentence");
    if (status != RILL_OK) return status;
    s->end[s->words] = s->bytes.length;
    s->tag[s->words++] = tag;
    return RILL_OK;
}

rill_status sentence_add(sentence *s, const char *word, size_t length, int32_t tag)
{
    rill_status status = rill_text_append(&s->bytes, word, length);
    return status == RILL_OK ? end_word(s, tag) : status;
}

rill_status sentence_add_escaped(sentence *s, const char *word, size_t length, int32_t tag)
{
    rill_status status = rill_tree_escape(&s->bytes, word, length);
    return status == RILL_OK ? end_word(s, tag) : status;
}

rill_status sentence_append(sentence *s, const char *bytes, size_t length)
{
    return rill_tree_escape(&s->bytes, bytes, length);
}

rill_slice sentence_word(const sentence *s, int32_t i)
{
    size_t from = i > 0 ? s->end[i - 1] : 0;
    return (rill_slice){s->bytes.data + from, s->end[i] - from};
}

void sentence_clear(sentence *s)
{
    rill_context *ctx = s->bytes.ctx;
    rill_free(ctx, s->end, s->end_room * sizeof *s->end);
    rill_free(ctx, s->tag, s->tag_room * sizeof *s->tag);
    rill_text_clear(&s->bytes);
    *s = (sentence){.bytes = {.ctx = ctx}};
}
