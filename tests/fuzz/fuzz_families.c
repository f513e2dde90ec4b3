/* Fuzz target: tokenizer.json. The part before the first NUL is read as the file, the rest is a text.
 *
 * For any bytes: no crash and no leak. Every subword token of the text could be in a vocabulary. Joined subword tokens
 * are valid UTF-8. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "segmenters.h"
#include "utf8.h"

/* The subword tokens of a text, kept as one text with an offset for each. */
typedef struct subwords {
    rill_text text;
    const char *subword[64];
    size_t offset[64], length[64], n;
} subwords;

static rill_status collect(void *user, const char *subword, size_t length)
{
    subwords *p = user;
    require(length > 0);
    if (p->n == 64) return RILL_OK;
    p->offset[p->n] = p->text.length;
    p->length[p->n++] = length;
    return rill_text_append(&p->text, subword, length);
}

static rill_status collect_added(void *user, const rill_added_token *token)
{
    return collect(user, token->text.data, token->text.length);
}

typedef struct tokenizer_state {
    rill_context *ctx;
    const rill_pipeline *pipeline;
    subwords *out;
} tokenizer_state;

static rill_status cut_part(void *user, const char *text, size_t length)
{
    tokenizer_state *c = user;
    return rill_pipeline_split(c->pipeline, c->ctx, 1, text, length, collect, c->out);
}

static rill_status cut_added(void *user, const rill_added_token *token)
{
    return collect_added(((tokenizer_state *)user)->out, token);
}

static void read_text(rill_context *ctx, const rill_pipeline *pipeline, const rill_token_set *tokens, const char *text,
                      size_t length)
{
    subwords p = {.text.ctx = ctx};
    rill_text back = {.ctx = ctx};
    tokenizer_state c = {ctx, pipeline, &p};
    if (length > 2000 || rill_utf8_check(text, length) < length) return;
    const rill_status status = rill_token_set_split(tokens, 0, text, length, cut_part, cut_added, &c);
    require(status == RILL_OK || (status == RILL_ERR_INPUT && rill_error(ctx)[0] != '\0'));
    for (size_t i = 0; i < p.n; i++) p.subword[i] = p.text.data + p.offset[i];
    require(rill_pipeline_join(pipeline, p.n, p.subword, p.length, &back) == RILL_OK);
    require(rill_utf8_check(back.data != NULL ? back.data : "", back.length) == back.length);
    rill_text_clear(&back);
    rill_text_clear(&p.text);
}

static void read_file(rill_context *ctx, const json_t *document, const char *text, size_t length)
{
    rill_token_set tokens = {.arena.ctx = ctx, .name = "tokenizer.json", .limit = 5000};
    rill_pipeline *pipeline;
    require(rill_vocabulary_create(&tokens.vocabulary, ctx) == RILL_OK);
    rill_status status = rill_pipeline_open(&pipeline, ctx, "tokenizer.json", document, &tokens);
    if (status == RILL_OK) status = rill_token_set_finish(&tokens);
    if (status == RILL_OK) status = rill_pipeline_set_vocabulary(pipeline, tokens.vocabulary);
    require(status == RILL_OK || (status == RILL_ERR_FORMAT && rill_error(ctx)[0] != '\0'));
    if (status == RILL_OK) read_text(ctx, pipeline, &tokens, text, length);
    rill_pipeline_close(pipeline);
    rill_vocabulary_close(tokens.vocabulary);
    rill_token_set_clear(&tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rill_context *ctx;
    if (rill_context_create(&ctx, NULL) != RILL_OK) return 0;
    const char *bytes = (const char *)data;
    const size_t first = cut(bytes, size);
    json_t *document = json_loadb(bytes, first, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(document))
        read_file(ctx, document, bytes + first + (first < size), size - first - (first < size));
    json_decref(document);
    require(rill_memory_used(ctx) == 0);
    rill_context_destroy(ctx);
    return 0;
}
