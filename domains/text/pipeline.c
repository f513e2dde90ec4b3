/* Runs a tokenizer.json pipeline: text to subword tokens, and back; see pipeline.h and tokenizer_json.h.
 *
 * Divisions: opening and closing · subword tokens of a word · words · texts. */
#include "pipeline.h"

#include <stdio.h>
#include <string.h>

#include "domain_base.h"
#include "rill/file.h"

/* --- opening and closing ------------------------------------------------------------------------------------------ */

void rill_pipeline_close(rill_pipeline *p)
{
    if (p == NULL) return;
    rill_context *ctx = p->arena.ctx;
    rill_vocabulary_close(p->merges);
    rill_arena_clear(&p->arena);
    rill_free(ctx, p, sizeof *p);
}

/* GPT-2's merges.txt begins with a line that states its version. */
static rill_status read_merges(rill_pipeline *p, const char *path)
{
    static const char version[] = "#version";
    rill_context *ctx = p->arena.ctx;
    rill_text text = {.ctx = ctx};
    rill_status status = rill_file_read(&text, path, RILL_FILE_TEXT_MAX);
    if (status == RILL_OK) {
        const char *from = text.data, *feed = memchr(text.data, '\n', text.length);
        if (text.length >= sizeof version - 1 && memcmp(from, version, sizeof version - 1) == 0)
            from = feed != NULL ? feed + 1 : text.data + text.length;
        status = rill_merges_parse(&p->merges, ctx, path, from, text.length - (size_t)(from - text.data));
    }
    rill_text_clear(&text);
    return status;
}

rill_status rill_pipeline_open_byte_level(rill_pipeline **out, rill_context *ctx, const char *path, int prefix)
{
    rill_pipeline *p = rill_calloc(ctx, 1, sizeof *p);
    *out = NULL;
    if (p == NULL) return rill_fail_memory(ctx, sizeof *p, "a tokeniser");
    *p = (rill_pipeline){.arena.ctx = ctx, .name = "merges.txt", .byte_level = 1, .add_prefix_space = prefix};
    const rill_status status = read_merges(p, path);
    if (status == RILL_OK)
        *out = p;
    else
        rill_pipeline_close(p);
    return status;
}

rill_status rill_pipeline_set_vocabulary(rill_pipeline *p, const rill_vocabulary *vocabulary)
{
    p->vocabulary = vocabulary;
    return p->merges != NULL ? RILL_OK : rill_unigram_sort_vocabulary(p);
}

int rill_pipeline_is_bpe(const rill_pipeline *p)
{
    return p->merges != NULL;
}

const char *rill_pipeline_unk(const rill_pipeline *p)
{
    return p->unk;
}

/* --- subword tokens of a word ------------------------------------------------------------------------------------- */

/* State of splitting one text: buffers, and a pending run of unknown characters. */
typedef struct splitter {
    const rill_pipeline *p;
    rill_context *ctx;
    rill_bpe bpe;
    rill_text text, spare, word, unknown_run;
    int first; /* the next word begins the input */
    rill_word_fn fn;
    void *user;
} splitter;

static rill_status flush_unknown(splitter *s)
{
    rill_status status = RILL_OK;
    if (s->unknown_run.length > 0) status = s->fn(s->user, s->unknown_run.data, s->unknown_run.length);
    rill_text_reset(&s->unknown_run);
    return status;
}

static size_t byte_token(unsigned char byte, char out[8])
{
    return (size_t)snprintf(out, 8, "<0x%02X>", byte);
}

static int has_bytes(const rill_pipeline *p, const char *piece, size_t length)
{
    char token[8];
    for (size_t i = 0; i < length; i++) {
        const size_t n = byte_token((unsigned char)piece[i], token);
        if (rill_vocabulary_id(p->vocabulary, token, n) < 0) return 0;
    }
    return 1;
}

static rill_status add_piece(void *user, const char *piece, size_t length)
{
    splitter *s = user;
    const rill_pipeline *p = s->p;
    char token[8];
    if (rill_vocabulary_id(p->vocabulary, piece, length) >= 0) {
        TRY(flush_unknown(s));
        return s->fn(s->user, piece, length);
    }
    if (!p->byte_fallback || !has_bytes(p, piece, length)) {
        if (!p->fuse_unk) TRY(flush_unknown(s));
        return rill_text_append(&s->unknown_run, piece, length);
    }
    TRY(flush_unknown(s));
    for (size_t i = 0; i < length; i++) {
        const size_t n = byte_token((unsigned char)piece[i], token);
        TRY(s->fn(s->user, token, n));
    }
    return RILL_OK;
}

static rill_status split_word(splitter *s, const char *word, size_t length)
{
    const rill_pipeline *p = s->p;
    if (length == 0) return RILL_OK;
    if (p->ignore_merges && rill_vocabulary_id(p->vocabulary, word, length) >= 0) return s->fn(s->user, word, length);
    if (p->merges != NULL)
        TRY(rill_bpe_split(&s->bpe, word, length, add_piece, s));
    else
        TRY(rill_unigram_split(p, s->ctx, word, length, add_piece, s));
    return flush_unknown(s);
}

/* --- words -------------------------------------------------------------------------------------------------------- */

static rill_status split_byte_level(splitter *s)
{
    const rill_pipeline *p = s->p;
    const char *text = s->text.data;
    size_t length = s->text.length;
    if (p->add_prefix_space && length > 0 && text[0] != ' ') {
        rill_text_reset(&s->spare);
        TRY(rill_text_append(&s->spare, " ", 1));
        TRY(rill_text_append(&s->spare, text, length));
        text = s->spare.data;
        length = s->spare.length;
    }
    for (size_t n; length > 0; text += n, length -= n) {
        n = rill_byte_word(text, length);
        rill_text_reset(&s->word);
        TRY(rill_byte_text_to_letters(text, n, &s->word));
        TRY(split_word(s, s->word.data, s->word.length));
    }
    return RILL_OK;
}

static int begins_with(const char *text, size_t length, rill_slice what)
{
    return length >= what.length && memcmp(text, what.data, what.length) == 0;
}

/* Split a text in which a mark (U+2581) stands for each space. `first`: the text begins the input. */
static rill_status split_metaspace(splitter *s, const char *text, size_t length, int first)
{
    const rill_pipeline *p = s->p;
    const rill_slice mark = p->mark;
    rill_text *word = &s->word;
    if (length == 0) return RILL_OK;
    rill_text_reset(word);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == ' ')
            TRY(rill_text_append(word, mark.data, mark.length));
        else
            TRY(rill_text_append(word, text + i, 1));
    }
    const int wanted = p->prepend == RILL_PREPEND_ALWAYS || (p->prepend == RILL_PREPEND_FIRST && first);
    if (wanted && !begins_with(word->data, word->length, mark)) {
        TRY(rill_text_append(word, mark.data, mark.length)); /* reserves memory; the mark then moves to the front */
        memmove(word->data + mark.length, word->data, word->length - mark.length);
        memcpy(word->data, mark.data, mark.length);
    }
    for (size_t from = 0, to; from < word->length; from = to) {
        to = from + 1;
        while (to < word->length && (p->keep_whole || !begins_with(word->data + to, word->length - to, mark))) to++;
        TRY(split_word(s, word->data + from, to - from));
    }
    return RILL_OK;
}

/* White space of any kind separates words. */
static rill_status split_at_white_space(splitter *s)
{
    const char *text = s->text.data;
    const size_t length = s->text.length;
    for (size_t pos = 0, n; pos < length;) {
        while (pos < length && (n = rill_white_space_length(text + pos, length - pos)) > 0) pos += n;
        const size_t from = pos;
        while (pos < length && rill_white_space_length(text + pos, length - pos) == 0) pos++;
        if (s->p->metaspace)
            TRY(split_metaspace(s, text + from, pos - from, s->first && from == 0));
        else
            TRY(split_word(s, text + from, pos - from));
    }
    return RILL_OK;
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

static rill_status split_normalized(splitter *s, const char *text, size_t length)
{
    const rill_pipeline *p = s->p;
    TRY(rill_normalize(p, text, length, &s->text, &s->spare));
    if (s->text.length == 0) return RILL_OK;
    if (p->byte_level) return split_byte_level(s);
    if (p->whitespace_split) return split_at_white_space(s);
    if (p->metaspace) return split_metaspace(s, s->text.data, s->text.length, s->first);
    return split_word(s, s->text.data, s->text.length);
}

rill_status rill_pipeline_split(const rill_pipeline *p, rill_context *ctx, int first, const char *text, size_t length,
                                rill_word_fn fn, void *user)
{
    splitter s = {.p = p,
                  .ctx = ctx,
                  .bpe = {.ctx = ctx, .merges = p->merges, .no_end_mark = 1},
                  .text.ctx = ctx,
                  .spare.ctx = ctx,
                  .word.ctx = ctx,
                  .unknown_run.ctx = ctx,
                  .first = first,
                  .fn = fn,
                  .user = user};
    const rill_status status = split_normalized(&s, text, length);
    rill_text_clear(&s.text);
    rill_text_clear(&s.spare);
    rill_text_clear(&s.word);
    rill_text_clear(&s.unknown_run);
    rill_bpe_clear(&s.bpe);
    return status;
}

/* The byte of a token like <0x2A>; -1 for other tokens. */
static int byte_token_value(const char *piece, size_t length)
{
    static const char digits[] = "0123456789ABCDEF";
    if (length != 6 || memcmp(piece, "<0x", 3) != 0 || piece[5] != '>') return -1;
    const char *high = memchr(digits, piece[3], 16), *low = memchr(digits, piece[4], 16);
    return high != NULL && low != NULL ? (int)(high - digits) * 16 + (int)(low - digits) : -1;
}

static rill_status join_marked(const rill_pipeline *p, const char *piece, size_t length, rill_text *out)
{
    const int byte = p->byte_fallback ? byte_token_value(piece, length) : -1;
    const char one = (char)byte;
    if (byte >= 0) return rill_text_append(out, &one, 1);
    for (size_t i = 0; i < length;) {
        const int marked = p->mark.length > 0 && begins_with(piece + i, length - i, p->mark);
        TRY(rill_text_append(out, marked ? " " : piece + i, 1));
        i += marked ? p->mark.length : 1;
    }
    return RILL_OK;
}

rill_status rill_pipeline_join(const rill_pipeline *p, size_t n, const char *const *piece, const size_t *length,
                               rill_text *out)
{
    const size_t from = out->length;
    for (size_t i = 0; i < n; i++) {
        if (p->byte_level)
            TRY(rill_byte_letters_to_text(piece[i], length[i], out));
        else
            TRY(join_marked(p, piece[i], length[i], out));
    }
    return out->length > from ? rill_byte_repair(out, from) : RILL_OK;
}
