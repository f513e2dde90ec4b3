/* Fuzz target: byte pair encoding. The part before the first NUL is read as a vocab.json, the part before the next as a
 * merges.txt, and the rest is a word.
 *
 * For any bytes: no crash and no leak. A vocabulary finds each of its tokens by its id. The subword tokens of a word,
 * joined, are the word with its end mark. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config_json.h"
#include "fuzz_target.h"
#include "segmenters.h"
#include "utf8.h"
#include "vocabulary.h"

static void read_vocabulary(rill_context *ctx, const char *bytes, size_t length)
{
    rill_vocabulary *v;
    json_t *root = NULL;
    require(rill_vocabulary_create(&v, ctx) == RILL_OK);
    rill_status status = rill_json_parse(ctx, "vocab.json", bytes, length, &root);
    if (status == RILL_OK) status = rill_vocabulary_add_json(v, "vocab.json", root, 1 << 20);
    json_decref(root);
    require(status == RILL_OK || (status == RILL_ERR_FORMAT && rill_error(ctx)[0] != '\0'));
    for (int32_t i = 0; status == RILL_OK && i < rill_vocabulary_count(v); i++) {
        size_t n;
        const char *token = rill_vocabulary_token(v, i, &n);
        require(rill_vocabulary_id(v, token, n) == i);
    }
    rill_vocabulary_close(v);
}

static rill_status collect(void *user, const char *subword, size_t length)
{
    require(length > 0);
    return rill_text_append(user, subword, length);
}

static void read_merges(rill_context *ctx, const char *bytes, size_t length, const char *word, size_t n)
{
    rill_vocabulary *merges;
    rill_status status = rill_merges_parse(&merges, ctx, "merges.txt", bytes, length);
    require(status == RILL_OK || (status == RILL_ERR_FORMAT && merges == NULL && rill_error(ctx)[0] != '\0'));
    if (status == RILL_OK && n > 0 && rill_utf8_check(word, n) == n) {
        rill_text out = {.ctx = ctx};
        rill_bpe bpe = {.ctx = ctx, .merges = merges};
        require(rill_bpe_split(&bpe, word, n, collect, &out) == RILL_OK);
        require(out.length == n + 4 && memcmp(out.data, word, n) == 0 && strcmp(out.data + n, "</w>") == 0);
        rill_text_clear(&out);
        rill_bpe_clear(&bpe);
    }
    rill_vocabulary_close(merges);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rill_context *ctx;
    if (rill_context_create(&ctx, NULL) != RILL_OK) return 0;
    const char *bytes = (const char *)data;
    size_t first = cut(bytes, size), rest = size - first;
    const char *merges = bytes + first;
    if (rest > 0) merges++, rest--;
    size_t second = cut(merges, rest);
    read_vocabulary(ctx, bytes, first);
    read_merges(ctx, merges, second, merges + second + (second < rest), rest - second - (second < rest));
    require(rill_memory_used(ctx) == 0);
    rill_context_destroy(ctx);
    return 0;
}
