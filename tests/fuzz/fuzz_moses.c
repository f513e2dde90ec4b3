/* Fuzz target: Moses' tokenizer. The part before the first NUL is a list of nonbreaking prefixes, the rest a text.
 *
 * For any bytes: no crash and no leak. Tokens are UTF-8 without white space and without the characters that are
 * escaped. Texts made from tokens are one line of UTF-8. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "moses.h"
#include "utf8.h"

static void read_prefixes(rill_context *ctx, const char *bytes, size_t length)
{
    rill_prefixes *p;
    rill_status status = rill_prefixes_parse(&p, ctx, "list", bytes, length);
    require(status == RILL_OK || (status == RILL_ERR_FORMAT && p == NULL));
    if (status == RILL_OK && length > 0)
        require(rill_prefixes_find(p, bytes, length < 3 ? length : 3) <= RILL_PREFIX_NUMERIC_ONLY);
    rill_prefixes_close(p);
}

typedef struct collector {
    rill_text *out;
    const char *escaped; /* characters that a token may not contain */
} collector;

/* An ampersand may occur only as the start of an escape, which ends in a semicolon. */
static rill_status collect(void *user, const char *token, size_t length)
{
    const collector *c = user;
    rill_text *out = c->out;
    require(length > 0 && rill_utf8_check(token, length) == length);
    for (size_t i = 0; i < length; i++) {
        require((unsigned char)token[i] > ' ' && strchr(c->escaped, token[i]) == NULL);
        require(token[i] != '&' || memchr(token + i, ';', length - i) != NULL);
    }
    if (out->length > 0) require(rill_text_append(out, " ", 1) == RILL_OK);
    return rill_text_append(out, token, length);
}

static void round_trip(rill_context *ctx, rill_moses_language language, const char *text, size_t length, int lower,
                       int default_steps)
{
    rill_prefixes *prefixes;
    rill_text tokens = {.ctx = ctx}, back = {.ctx = ctx};
    require(rill_prefixes_open(&prefixes, ctx, "", language) == RILL_OK);
    collector to = {&tokens, default_steps ? "<>|'\"[]" : "<>|'\"[]\x7f"};
    rill_moses moses = {.ctx = ctx, .language = language, .default_steps = default_steps, .prefixes = prefixes};
    require(rill_moses_split(&moses, text, length, lower, collect, &to) == RILL_OK);
    require(rill_moses_join(&moses, tokens.data, tokens.length, &back) == RILL_OK);
    require(rill_utf8_check(back.data, back.length) == back.length);
    require(back.length == 0 || (strpbrk(back.data, "\r\n") == NULL && back.data[0] != ' '));
    rill_text_reset(&back);
    require(rill_moses_join(&moses, text, length, &back) == RILL_OK);
    require(rill_utf8_check(back.data, back.length) == back.length);
    rill_moses_clear(&moses);
    rill_prefixes_close(prefixes);
    rill_text_clear(&tokens);
    rill_text_clear(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const rill_moses_language languages[] = {RILL_MOSES_EN, RILL_MOSES_DE, RILL_MOSES_RU, RILL_MOSES_OTHER};
    rill_context *ctx;
    if (rill_context_create(&ctx, NULL) != RILL_OK) return 0;
    const char *bytes = (const char *)data, *text = size > 0 ? memchr(bytes, 0, size) : NULL;
    size_t list = text != NULL ? (size_t)(text - bytes) : 0, length = size - list - (text != NULL);
    text = text != NULL ? text + 1 : bytes;
    read_prefixes(ctx, bytes, list);
    for (size_t i = 0; i < 8 && rill_utf8_check(text, length) == length; i++)
        round_trip(ctx, languages[i % 4], text, length, i % 4 == 2, i >= 4);
    require(rill_memory_used(ctx) == 0);
    rill_context_destroy(ctx);
    return 0;
}
