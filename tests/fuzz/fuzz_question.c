/* Fuzz target: questions with a lexicon. The part before the first NUL is read as a lexicon.tsv, the rest as a line.
 *
 * For any bytes: no crash, no leak and no empty token. Every placeholder has a constant. A canonical logical form is
 * its own canonical form. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "question.h"
#include "semparse.h"

static void read_question(rill_context *ctx, const rill_lexicon *lexicon, const char *line, size_t length)
{
    rill_question *question;
    rill_mentions mentions = {.bytes = {.ctx = ctx}};
    const rill_slice *tokens;
    size_t count;
    require(rill_question_open(ctx, lexicon, &question) == RILL_OK);
    for (int tokenized = 0; tokenized < 2; tokenized++) {
        rill_status status = rill_question_prepare(question, line, length, tokenized, &tokens, &count, &mentions);
        require(status == RILL_OK || status == RILL_ERR_INPUT);
        for (size_t i = 0; i < count; i++) {
            rill_slice word = rill_mentions_constant(&mentions, tokens[i].data, tokens[i].length);
            require(tokens[i].length > 0 && word.length > 0);
            const rill_slice name = rill_question_name(question, i);
            require(name.length == 0 || (name.data >= line && name.data + name.length <= line + length));
        }
    }
    rill_mentions_clear(&mentions);
    rill_question_close(question);
}

static void canonicalise(rill_context *ctx, const char *form, size_t length)
{
    rill_text once = {.ctx = ctx}, twice = {.ctx = ctx};
    require(rill_logic_canonical(ctx, form, length, &once) == RILL_OK);
    if (once.length) {
        require(rill_logic_canonical(ctx, once.data, once.length, &twice) == RILL_OK);
        require(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
    }
    rill_text_clear(&once);
    rill_text_clear(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rill_context *ctx;
    if (rill_context_create(&ctx, NULL) != RILL_OK) return 0;
    const char *bytes = (const char *)data;
    const char *cut = size ? memchr(bytes, 0, size) : NULL;
    size_t length = cut ? (size_t)(cut - bytes) : size;
    rill_lexicon *lexicon;
    rill_status status = rill_lexicon_read(ctx, "lexicon.tsv", bytes, length, &lexicon);
    require(status == RILL_OK || status == RILL_ERR_FORMAT);
    read_question(ctx, lexicon, bytes + length, size - length);
    rill_lexicon_close(lexicon);
    canonicalise(ctx, bytes, size);
    require(rill_memory_used(ctx) == 0);
    rill_context_destroy(ctx);
    return 0;
}
