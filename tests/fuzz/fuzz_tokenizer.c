/* Bytes to words, in every style: whatever the text, no crash, no empty word, no word with a blank or a bracket in it, and no byte lost
 * where nothing is respelled, but for the full stop that an abbreviation shares with the end of the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"
#include "tokenizer.h"
#include "utf8.h"

static void check_words(const sentence *s)
{
    for (int32_t i = 0; i < s->words; i++) {
        const rill_slice word = sentence_word(s, i);
        require(word.length > 0);
        for (size_t at = 0; at < word.length; at++)
            require((unsigned char)word.data[at] > ' ' && strchr("(){}", word.data[at]) == NULL);
    }
}

/* Bytes of the text that are no blanks, and no names of brackets, which would come back shorter. */
static size_t solid_bytes(rill_context *ctx, const char *text, size_t length)
{
    rill_text plain = {.ctx = ctx};
    size_t solid = 0;
    require(rill_tree_unescape(&plain, text, length) == RILL_OK);
    for (size_t i = 0; i < plain.length; i++) solid += (unsigned char)plain.data[i] > ' ';
    rill_text_clear(&plain);
    return solid;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    rill_context *ctx;
    if (rill_utf8_check(text, size) < size || rill_context_create(&ctx, NULL) != RILL_OK) return 0;
    for (int style = 0; style < 4; style++) {
        sentence s = {.bytes = {.ctx = ctx}};
        require(tokenize(&s, text, size, style) == RILL_OK);
        check_words(&s);
        if (style & TOKENIZE_QUOTES) {
            const size_t in = solid_bytes(ctx, text, size),
                         out = s.words > 0 ? solid_bytes(ctx, s.bytes.data, s.bytes.length) : 0;
            require(out == in || out == in + 1);
        }
        sentence_clear(&s);
    }
    require(rill_memory_used(ctx) == 0);
    rill_context_destroy(ctx);
    return 0;
}
