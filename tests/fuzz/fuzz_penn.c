/* Fuzz target: the Penn Treebank tokenizer, in every style. For any text: no crash, no empty word, and no word with a
 * space or a bracket in it. No byte is lost without respelling, except a full stop that an abbreviation and the end of
 * the text share. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "penn_tokenizer.h"
#include "support/unescape_brackets.h"
#include "utf8.h"

static void check_words(const rill_sentence *s)
{
    for (int32_t i = 0; i < s->words; i++) {
        const rill_slice word = rill_sentence_word(s, i);
        require(word.length > 0);
        for (size_t pos = 0; pos < word.length; pos++)
            require(rill_space_length(word.data + pos, word.length - pos) == 0 &&
                    strchr("(){}", word.data[pos]) == NULL);
    }
}

/* Return the number of bytes that are no spaces, with names of brackets counted as the brackets they stand for. Spaces
 * are removed first, since words have none and the name of a bracket may arise from two words. */
static size_t solid_bytes(rill_context *ctx, const char *text, size_t length)
{
    rill_text solid = {.ctx = ctx}, plain = {.ctx = ctx};
    for (size_t i = 0, space; i<length; i += space> 0 ? space : 1) {
        space = rill_space_length(text + i, length - i);
        if (space == 0) require(rill_text_append(&solid, text + i, 1) == RILL_OK);
    }
    require(unescape_brackets(&plain, solid.length > 0 ? solid.data : "", solid.length) == RILL_OK);
    length = plain.length;
    rill_text_clear(&solid);
    rill_text_clear(&plain);
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    rill_context *ctx;
    if (rill_utf8_check(text, size) < size || rill_context_create(&ctx, NULL) != RILL_OK) return 0;
    for (int style = 0; style < 4; style++) {
        rill_sentence s = {.bytes = {.ctx = ctx}};
        require(rill_penn_split(&s, text, size, style) == RILL_OK);
        check_words(&s);
        if (style & RILL_PENN_QUOTES) {
            const size_t in = solid_bytes(ctx, text, size), out = solid_bytes(ctx, s.bytes.data, s.bytes.length);
            require(out == in || out == in + 1);
        }
        rill_sentence_clear(&s);
    }
    require(rill_memory_used(ctx) == 0);
    rill_context_destroy(ctx);
    return 0;
}
