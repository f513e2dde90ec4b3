/* The words of a sentence with their part-of-speech tags; see tagged_sentence.h. */
#include "tagged_sentence.h"
#include "domain_base.h"

void rill_sentence_begin(rill_sentence *s)
{
    rill_text_reset(&s->bytes);
    s->words = 0;
}

/* End the current word, which consists of the bytes after the last word. */
static rill_status end_word(rill_sentence *s, int32_t tag)
{
    rill_context *ctx = s->bytes.ctx;
    size_t words = (size_t)s->words + 1;
    rill_status status = GROW(ctx, s->end, s->end_capacity, words, "the words of a sentence");
    if (status == RILL_OK) status = GROW(ctx, s->tag, s->tag_capacity, words, "the tags of a sentence");
    if (status != RILL_OK) return status;
    s->end[s->words] = s->bytes.length;
    s->tag[s->words++] = tag;
    return RILL_OK;
}

rill_status rill_sentence_add(rill_sentence *s, const char *word, size_t length, int32_t tag)
{
    TRY(rill_text_append(&s->bytes, word, length));
    return end_word(s, tag);
}

rill_status rill_sentence_add_escaped(rill_sentence *s, const char *word, size_t length, int32_t tag)
{
    TRY(rill_tree_escape(&s->bytes, word, length));
    return end_word(s, tag);
}

rill_status rill_sentence_append_bytes(rill_sentence *s, const char *bytes, size_t length)
{
    return rill_tree_escape(&s->bytes, bytes, length);
}

rill_slice rill_sentence_word(const rill_sentence *s, int32_t i)
{
    size_t from = i > 0 ? s->end[i - 1] : 0;
    return (rill_slice){s->bytes.data + from, s->end[i] - from};
}

void rill_sentence_clear(rill_sentence *s)
{
    rill_context *ctx = s->bytes.ctx;
    FREE_ARRAY(ctx, s->end, s->end_capacity);
    FREE_ARRAY(ctx, s->tag, s->tag_capacity);
    rill_text_clear(&s->bytes);
    *s = (rill_sentence){.bytes = {.ctx = ctx}};
}
