/* Moses and byte pairs, one behind the other.
 *
 * Divisions: languages · opening and closing · the two ways. */
#include <string.h>

#include "bpe.h"
#include "config.h"
#include "moses.h"
#include "moses_bpe.h"
#include "rill/file.h"
#include "try.h"

struct rill_moses_bpe {
    rill_context *ctx;
    rill_moses *source, *target;
    rill_bpe *bpe;
    int lower;       /* texts become lower case */
    rill_text words; /* of the output at work */
};

/* --- languages ---------------------------------------------------------------------------------------------------- */

typedef struct setup {
    rill_context *ctx;
    rill_language language[2]; /* source, target */
    int known, lower;
} setup;

static rill_status read_setup(void *user, const rill_config *config)
{
    static const char *const side[] = {"source", "target"};
    setup *s = user;
    int lower;
    TRY(rill_config_bool_or(config, "do_lower_case", 0, &lower));
    s->lower |= lower;
    for (size_t i = 0; i < 2; i++) {
        const char *name;
        TRY(rill_config_element(config, "langs", i, 2, &name));
        s->known = name != NULL;
        if (!s->known) return RILL_OK;
        if (rill_language_of(name, &s->language[i])) continue;
        return rill_fail(s->ctx, RILL_ERR_FORMAT,
                         "%s: langs: the tokeniser knows de, en and ru, and the %s language is \"%.20s\": tokenise "
                         "the text elsewhere and say --tokenized",
                         rill_config_name(config), side[i], name);
    }
    return RILL_OK;
}

static rill_status find_languages(setup *s, const char *directory)
{
    int found;
    TRY(rill_config_read(s->ctx, directory, "tokenizer_config.json", read_setup, s, &found));
    if (!s->known) TRY(rill_config_read(s->ctx, directory, "config.json", read_setup, s, NULL));
    if (s->known) return RILL_OK;
    return rill_fail(s->ctx, RILL_ERR_FORMAT,
                     "%s/config.json: langs: expected an array of two languages, found nothing", directory);
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

static rill_status open_all(rill_moses_bpe *f, rill_text *path, const char *directory)
{
    setup s = {.ctx = f->ctx};
    TRY(find_languages(&s, directory));
    f->lower = s.lower;
    TRY(rill_moses_open(&f->source, f->ctx, directory, s.language[0]));
    TRY(rill_moses_open(&f->target, f->ctx, directory, s.language[1]));
    TRY(rill_path_join(path, directory, "merges.txt"));
    return rill_bpe_open(&f->bpe, f->ctx, path->data);
}

static rill_status make(rill_moses_bpe **out, rill_context *ctx)
{
    rill_moses_bpe *f = *out = rill_calloc(ctx, 1, sizeof *f);
    if (f == NULL) return rill_fail_memory(ctx, sizeof *f, "a tokeniser");
    f->ctx = f->words.ctx = ctx;
    return RILL_OK;
}

/* Nothing is left of one that failed. */
static rill_status finish(rill_moses_bpe **out, rill_status status)
{
    if (status == RILL_OK) return RILL_OK;
    rill_moses_bpe_close(*out);
    *out = NULL;
    return status;
}

rill_status rill_moses_bpe_open(rill_moses_bpe **out, rill_context *ctx, const char *directory)
{
    rill_text path = {.ctx = ctx};
    TRY(make(out, ctx));
    rill_status status = open_all(*out, &path, directory);
    rill_text_clear(&path);
    return finish(out, status);
}

static rill_status share_all(rill_moses_bpe *f, const rill_moses_bpe *from)
{
    f->lower = from->lower;
    TRY(rill_moses_share(&f->source, f->ctx, from->source));
    TRY(rill_moses_share(&f->target, f->ctx, from->target));
    return rill_bpe_share(&f->bpe, f->ctx, from->bpe);
}

rill_status rill_moses_bpe_share(rill_moses_bpe **out, rill_context *ctx, const rill_moses_bpe *from)
{
    TRY(make(out, ctx));
    return finish(out, share_all(*out, from));
}

void rill_moses_bpe_close(rill_moses_bpe *f)
{
    if (f == NULL) return;
    rill_moses_close(f->source);
    rill_moses_close(f->target);
    rill_bpe_close(f->bpe);
    rill_text_clear(&f->words);
    rill_free(f->ctx, f, sizeof *f);
}

/* --- the two ways ------------------------------------------------------------------------------------------------- */

typedef struct receiver {
    rill_bpe *bpe;
    rill_word_fn fn;
    void *user;
} receiver;

static rill_status split_token(void *user, const char *token, size_t length)
{
    const receiver *r = user;
    return rill_bpe_split(r->bpe, token, length, r->fn, r->user);
}

rill_status rill_moses_bpe_split(rill_moses_bpe *f, rill_side side, const char *text, size_t length, rill_word_fn fn,
                                 void *user)
{
    receiver r = {.bpe = f->bpe, .fn = fn, .user = user};
    return rill_moses_split(side == RILL_SIDE_TARGET ? f->target : f->source, text, length, f->lower, split_token, &r);
}

/* </w> is where a word ends, wherever a piece has it; blanks that a piece may have are nothing. */
rill_status rill_moses_bpe_join(rill_moses_bpe *f, size_t n, const char *const *piece, const size_t *length,
                                rill_text *out)
{
    rill_text_reset(&f->words);
    for (size_t i = 0; i < n; i++) {
        for (size_t at = 0; at < length[i];) {
            const int ends = length[i] - at >= 4 && memcmp(piece[i] + at, "</w>", 4) == 0;
            if (ends || piece[i][at] != ' ') TRY(rill_text_append(&f->words, ends ? " " : piece[i] + at, 1));
            at += ends ? 4 : 1;
        }
    }
    return rill_moses_join(f->target, f->words.data, f->words.length, out);
}
