/* FSMT's tokenizer: Moses tokenization followed by byte pair encoding; see moses_bpe.h.
 *
 * Divisions: languages · opening and closing · encoding and decoding. */
#include <string.h>

#include "bpe.h"
#include "config_json.h"
#include "domain_base.h"
#include "moses.h"
#include "moses_bpe.h"
#include "rill/file.h"

struct rill_moses_bpe {
    rill_context *ctx;
    rill_moses_language language[2]; /* source language, target language */
    rill_prefixes *prefixes[2];
    rill_vocabulary *merges;
    int lower; /* convert inputs to lower case */
};

/* --- languages ---------------------------------------------------------------------------------------------------- */

typedef struct moses_config {
    rill_context *ctx;
    rill_moses_language language[2];
    int known, lower;
} moses_config;

static rill_status read_moses_config(void *user, const rill_config *config)
{
    static const char *const side[] = {"source", "target"};
    moses_config *s = user;
    int lower;
    TRY(rill_config_bool_or(config, "do_lower_case", 0, &lower));
    s->lower |= lower;
    for (size_t i = 0; i < 2; i++) {
        const char *name;
        TRY(rill_config_array_string(config, "langs", i, 2, &name));
        s->known = name != NULL;
        if (!s->known) return RILL_OK;
        if (rill_moses_language_find(name, &s->language[i])) continue;
        return rill_fail(s->ctx, RILL_ERR_FORMAT,
                         "%s: langs: the built-in tokenizer supports de, en and ru, and the %s language is "
                         "\"%.20s\": tokenize the text with another program and set tokenized",
                         rill_config_name(config), side[i], name);
    }
    return RILL_OK;
}

static rill_status find_languages(moses_config *s, const char *directory)
{
    int found;
    TRY(rill_config_read(s->ctx, directory, "tokenizer_config.json", read_moses_config, s, &found));
    if (!s->known) TRY(rill_config_read(s->ctx, directory, "config.json", read_moses_config, s, NULL));
    if (s->known) return RILL_OK;
    return rill_fail(s->ctx, RILL_ERR_FORMAT, "%s/config.json: langs is missing: expected an array of two languages",
                     directory);
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

static rill_status open_all(rill_moses_bpe *f, rill_text *path, const char *directory)
{
    moses_config s = {.ctx = f->ctx};
    TRY(find_languages(&s, directory));
    f->lower = s.lower;
    for (size_t i = 0; i < 2; i++) {
        f->language[i] = s.language[i];
        TRY(rill_prefixes_open(&f->prefixes[i], f->ctx, directory, s.language[i]));
    }
    TRY(rill_path_join(path, directory, "merges.txt"));
    return rill_merges_open(&f->merges, f->ctx, path->data);
}

rill_status rill_moses_bpe_open(rill_moses_bpe **out, rill_context *ctx, const char *directory)
{
    rill_text path = {.ctx = ctx};
    rill_moses_bpe *f = *out = rill_calloc(ctx, 1, sizeof *f);
    if (f == NULL) return rill_fail_memory(ctx, sizeof *f, "a tokeniser");
    f->ctx = ctx;
    rill_status status = open_all(f, &path, directory);
    rill_text_clear(&path);
    if (status == RILL_OK) return RILL_OK;
    rill_moses_bpe_close(f);
    *out = NULL;
    return status;
}

void rill_moses_bpe_close(rill_moses_bpe *f)
{
    if (f == NULL) return;
    rill_prefixes_close(f->prefixes[0]);
    rill_prefixes_close(f->prefixes[1]);
    rill_vocabulary_close(f->merges);
    rill_free(f->ctx, f, sizeof *f);
}

/* --- encoding and decoding ---------------------------------------------------------------------------------------- */

static rill_moses make_moses(const rill_moses_bpe *f, rill_context *ctx, rill_side side)
{
    return (rill_moses){.ctx = ctx, .language = f->language[side], .prefixes = f->prefixes[side]};
}

typedef struct bpe_receiver {
    rill_bpe bpe;
    rill_word_fn fn;
    void *user;
} bpe_receiver;

static rill_status split_token(void *user, const char *token, size_t length)
{
    bpe_receiver *r = user;
    return rill_bpe_split(&r->bpe, token, length, r->fn, r->user);
}

rill_status rill_moses_bpe_split(const rill_moses_bpe *f, rill_context *ctx, rill_side side, const char *text,
                                 size_t length, rill_word_fn fn, void *user)
{
    bpe_receiver r = {.bpe = {.ctx = ctx, .merges = f->merges}, .fn = fn, .user = user};
    rill_moses moses = make_moses(f, ctx, side);
    const rill_status status = rill_moses_split(&moses, text, length, f->lower, split_token, &r);
    rill_moses_clear(&moses);
    rill_bpe_clear(&r.bpe);
    return status;
}

/* Append a subword token to the text. Each </w> in it becomes a space; its other spaces are removed. */
static rill_status append_piece(rill_text *words, const char *piece, size_t length)
{
    for (size_t pos = 0; pos < length;) {
        const int ends = length - pos >= 4 && memcmp(piece + pos, "</w>", 4) == 0;
        if (ends || piece[pos] != ' ') TRY(rill_text_append(words, ends ? " " : piece + pos, 1));
        pos += ends ? 4 : 1;
    }
    return RILL_OK;
}

rill_status rill_moses_bpe_join(const rill_moses_bpe *f, size_t n, const char *const *piece, const size_t *length,
                                rill_text *out)
{
    rill_text words = {.ctx = out->ctx};
    rill_moses moses = make_moses(f, out->ctx, RILL_SIDE_TARGET);
    rill_status status = RILL_OK;
    for (size_t i = 0; i < n && status == RILL_OK; i++) status = append_piece(&words, piece[i], length[i]);
    if (status == RILL_OK) status = rill_moses_join(&moses, words.data, words.length, out);
    rill_moses_clear(&moses);
    rill_text_clear(&words);
    return status;
}
