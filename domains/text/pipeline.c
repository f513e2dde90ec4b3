/* Runs the pipeline of a tokenizer.json: text to subword tokens, and back.
 *
 * Byte-level BPE splits words as GPT-2 (Radford et al., Language models are unsupervised multitask learners, 2019). */
#include "segmenters.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

static int begins_with(const char *text, size_t length, rill_slice what)
{
    return length >= what.length && memcmp(text, what.data, what.length) == 0;
}

/* A text being normalised, and the maximum number of its bytes: a chain of normalizers could multiply a text without end. */
typedef struct normalized_text {
    rill_text *text;
    size_t max_bytes;
} normalized_text;

static rill_status append(const normalized_text *out, const char *bytes, size_t length)
{
    if (length <= out->max_bytes - out->text->length) return rill_text_append(out->text, bytes, length);
    return rill_fail(out->text->ctx, RILL_ERR_INPUT, "the tokenizer's normalizers make more than %zu bytes of the text",
                     out->max_bytes);
}

/* --- SentencePiece's character map -------------------------------------------------------------------------------- */

/* The character map consists of the size of the trie in bytes, the trie, and the replacement texts. */
int rill_normalizer_read_charsmap(rill_normalizer *out, const char *bytes, size_t size)
{
    const size_t trie = size >= 4 ? rill_little_endian(bytes, 4) : 0;
    if (trie < 4 || trie % 4 != 0 || trie > size - 4 || size - 4 - trie == 0) return 0;
    /* Overwrites the bytes in place. The trie is written 4 bytes before its old position, over the size field. */
    uint32_t *unit = (uint32_t *)(uintptr_t)bytes;
    for (size_t i = 0; i < trie / 4; i++) {
        const uint32_t value = (uint32_t)rill_little_endian(bytes + 4 + 4 * i, 4);
        memcpy(unit + i, &value, sizeof value);
    }
    *out = (rill_normalizer){.kind = RILL_NORMALIZER_CHARSMAP,
                             .unit = unit,
                             .units = trie / 4,
                             .texts = bytes + 4 + trie,
                             .text_bytes = size - 4 - trie};
    return out->texts[out->text_bytes - 1] == '\0';
}

static size_t trie_offset(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 0x200) >> 6);
}

/* Bytes of the longest match at the start of the text; 0: none. *value: offset of the replacement in t->texts. */
static size_t longest_match(const rill_normalizer *t, const char *text, size_t length, uint32_t *value)
{
    size_t node = trie_offset(t->unit[0]), best = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)text[i];
        node ^= byte;
        if (node >= t->units || (t->unit[node] & 0x800000FF) != byte) break;
        const uint32_t unit = t->unit[node];
        node ^= trie_offset(unit);
        if (node >= t->units) break;
        if ((unit & 0x100) == 0) continue;
        best = i + 1;
        *value = t->unit[node] & 0x7FFFFFFF;
    }
    return best > 0 && *value < t->text_bytes ? best : 0;
}

static rill_status apply_table(const rill_normalizer *t, const char *text, size_t length, const normalized_text *out)
{
    uint32_t value = 0;
    for (size_t pos = 0; pos < length;) {
        size_t n = longest_match(t, text + pos, length - pos, &value);
        if (n > 0) {
            TRY(append(out, t->texts + value, strlen(t->texts + value)));
        } else {
            n = rill_utf8_skip(text + pos, length - pos);
            TRY(append(out, text + pos, n));
        }
        pos += n;
    }
    return RILL_OK;
}

/* --- other normalizers -------------------------------------------------------------------------------------------- */

static rill_status apply_strip(const rill_normalizer *t, const char *text, size_t length, const normalized_text *out)
{
    size_t from = 0, n;
    while (t->strip_left && (n = rill_white_space_length(text + from, length - from)) > 0) from += n;
    while (t->strip_right && length > from) {
        /* cut off a space only if no bytes follow it: a character map may leave bytes that are not a character */
        const size_t last = from + rill_utf8_prev(text + from, length - from);
        if (rill_white_space_length(text + last, length - last) != length - last) break;
        length = last;
    }
    return append(out, text + from, length - from);
}

/* The number of bytes at the start of the text that this REPLACE normalizer replaces; 0: none. */
static size_t match_replaced(const rill_normalizer *t, const char *text, size_t length)
{
    size_t n = 0;
    if (!t->space_runs) return begins_with(text, length, t->from) ? t->from.length : 0;
    while (n < length && text[n] == ' ') n++;
    return n >= 2 ? n : 0;
}

static rill_status apply_replace(const rill_normalizer *t, const char *text, size_t length, const normalized_text *out)
{
    for (size_t pos = 0; pos < length;) {
        const size_t n = match_replaced(t, text + pos, length - pos);
        TRY(n > 0 ? append(out, t->to.data, t->to.length) : append(out, text + pos, 1));
        pos += n > 0 ? n : 1;
    }
    return RILL_OK;
}

/* --- all normalizers ---------------------------------------------------------------------------------------------- */

static rill_status apply_normalizer(const rill_normalizer *t, const char *text, size_t length,
                                    const normalized_text *out)
{
    switch (t->kind) {
    case RILL_NORMALIZER_CHARSMAP: return apply_table(t, text, length, out);
    case RILL_NORMALIZER_STRIP: return apply_strip(t, text, length, out);
    case RILL_NORMALIZER_REPLACE: return apply_replace(t, text, length, out);
    default:
        if (length > 0) TRY(append(out, t->to.data, t->to.length));
        return append(out, text, length);
    }
}

/* Set `out` to the text after all normalizers; `spare` is scratch memory. RILL_OK · RILL_ERR_INPUT (it is too long) · RILL_ERR_MEMORY */
static rill_status normalize(const rill_pipeline *p, const char *text, size_t length, rill_text *out, rill_text *spare)
{
    /* a character of NFKC becomes at most 11 times as many bytes */
    enum { MAX_GROWTH = 64, ALLOWANCE = 4096 };
    rill_text_reset(out);
    TRY(rill_text_append(out, text, length));
    for (size_t i = 0; i < p->n_normalizers; i++) {
        const rill_text input = *out;
        rill_text_reset(spare);
        const normalized_text next = {spare, MAX_GROWTH * length + ALLOWANCE};
        TRY(apply_normalizer(&p->normalizers[i], input.data, input.length, &next));
        *out = *spare;
        *spare = input;
    }
    return RILL_OK;
}

/* --- byte level: letters for bytes -------------------------------------------------------------------------------------------- */

/* GPT-2 writes a printable Latin-1 byte as that character, other bytes as U+0100, U+0101 ... */
static int is_printable_byte(unsigned byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

static int32_t byte_to_letter(unsigned byte)
{
    if (is_printable_byte(byte)) return (int32_t)byte;
    if (byte <= 0x20) return 0x100 + (int32_t)byte;
    return byte == 0xAD ? 0x143 : 0x121 + (int32_t)byte - 0x7F;
}

static int letter_to_byte(int32_t letter)
{
    if (letter >= 0 && letter < 0x100) return is_printable_byte((unsigned)letter) ? (int)letter : -1;
    if (letter >= 0x100 && letter <= 0x120) return (int)letter - 0x100;
    if (letter >= 0x121 && letter <= 0x142) return (int)letter - 0x121 + 0x7F;
    return letter == 0x143 ? 0xAD : -1;
}

static rill_status bytes_to_letters(const char *text, size_t length, rill_text *out)
{
    for (size_t i = 0; i < length; i++) {
        utf8proc_uint8_t letter[4];
        const utf8proc_ssize_t n = utf8proc_encode_char(byte_to_letter((unsigned char)text[i]), letter);
        TRY(rill_text_append(out, (const char *)letter, (size_t)n));
    }
    return RILL_OK;
}

static rill_status letters_to_bytes(const char *piece, size_t length, rill_text *out)
{
    const size_t old_length = out->length;
    for (size_t pos = 0; pos < length;) {
        const int byte = letter_to_byte(rill_utf8_read(piece, length, &pos));
        if (byte < 0) {
            out->length = old_length;
            return rill_text_append(out, piece, length);
        }
        const char one = (char)byte;
        TRY(rill_text_append(out, &one, 1));
    }
    return RILL_OK;
}

/* --- byte level: words -------------------------------------------------------------------------------------------------------- */

typedef enum char_class { CLASS_END, CLASS_SPACE, CLASS_LETTER, CLASS_DIGIT, CLASS_OTHER } char_class;

/* The class of the character at `pos`; *next = the offset of the next character. */
static char_class class_at(const char *text, size_t length, size_t pos, size_t *next)
{
    *next = pos;
    if (pos >= length) return CLASS_END;
    const int32_t c = rill_utf8_read(text, length, next);
    if (rill_is_white_space(c)) return CLASS_SPACE;
    const utf8proc_category_t kind = utf8proc_category(c);
    if (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO) return CLASS_LETTER;
    return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO ? CLASS_DIGIT : CLASS_OTHER;
}

static size_t contraction_length(const char *text, size_t length)
{
    static const char *const all[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t n = strlen(all[i]);
        if (begins_with(text, length, (rill_slice){all[i], n})) return n;
    }
    return 0;
}

/* Returns the end of the run of characters of class `kind` at `pos`. *last = offset of the run's last character. */
static size_t class_run_end(const char *text, size_t length, size_t pos, char_class kind, size_t *last)
{
    size_t next;
    while (class_at(text, length, pos, &next) == kind) {
        *last = pos;
        pos = next;
    }
    return pos;
}

size_t rill_byte_word(const char *text, size_t length)
{
    size_t next, last = 0;
    const size_t short_form = contraction_length(text, length);
    if (length == 0 || short_form > 0) return short_form;
    size_t from = text[0] == ' ' ? 1 : 0;
    char_class kind = class_at(text, length, from, &next);
    if (kind == CLASS_END || kind == CLASS_SPACE) { /* a run of white space, not a space before a word */
        const size_t end = class_run_end(text, length, 0, CLASS_SPACE, &last);
        return end < length && last > 0 ? last : end;
    }
    return class_run_end(text, length, from, kind, &last);
}

/* --- byte level: repair of UTF-8 ---------------------------------------------------------------------------------------------- */

/* Number of bytes, at least 1, that one U+FFFD replaces: a truncated character. */
static size_t broken_length(const char *bytes, size_t length)
{
    for (size_t n = length < 3 ? length : 3; n > 1; n--) {
        char whole[] = "\x80\x80\x80\x80";
        memcpy(whole, bytes, n);
        if (rill_utf8_length(whole, 4) > n) return n;
    }
    return 1;
}

/* Replace invalid UTF-8 in the text, from byte `from` on, by `mark`. RILL_OK · RILL_ERR_MEMORY */
static rill_status repair_utf8(rill_text *text, size_t from, const char *mark)
{
    const size_t length = text->length - from;
    if (rill_utf8_check(text->data + from, length) == length) return RILL_OK;
    SCOPED(rill_text_clear) rill_text copy = {.ctx = text->ctx};
    TRY(rill_text_append(&copy, text->data + from, length));
    text->length = from;
    for (size_t pos = 0; pos < length;) {
        const size_t good = rill_utf8_check(copy.data + pos, length - pos);
        TRY(rill_text_append(text, copy.data + pos, good));
        pos += good;
        if (pos == length) break;
        TRY(rill_text_append(text, mark, strlen(mark)));
        pos += broken_length(copy.data + pos, length - pos);
    }
    return RILL_OK;
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

void rill_pipeline_close(rill_pipeline *p)
{
    if (p == NULL) return;
    rill_context *ctx = p->arena.ctx;
    rill_vocabulary_close(p->merges);
    rill_arena_clear(&p->arena);
    rill_free(ctx, p, sizeof *p);
}

rill_status rill_pipeline_open_byte_level(rill_pipeline **out, rill_context *ctx, const char *path, int prefix)
{
    TRY(rill_struct_alloc(ctx, out, sizeof **out, "a tokeniser"));
    **out = (rill_pipeline){.arena.ctx = ctx, .name = "merges.txt", .byte_level = 1, .add_prefix_space = prefix};
    return RILL_OPENED(rill_merges_open(&(*out)->merges, ctx, path), out, rill_pipeline_close);
}

rill_status rill_pipeline_open_bytes(rill_pipeline **out, rill_context *ctx)
{
    TRY(rill_struct_alloc(ctx, out, sizeof **out, "a tokeniser"));
    **out = (rill_pipeline){.arena.ctx = ctx, .name = "bytes", .raw_bytes = 1, .byte_fallback = 1};
    return RILL_OK;
}

/* --- subword tokens of a word ------------------------------------------------------------------------------------- */

/* State while one text is split: buffers, and a run of unknown characters that is not yet output. */
typedef struct splitter {
    const rill_pipeline *p;
    rill_context *ctx;
    rill_bpe bpe;
    rill_text text, spare, word, unknown_run;
    int first; /* 1: the text is the start of the input, not a part after an added token */
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

size_t rill_byte_token(unsigned char byte, char out[8])
{
    return (size_t)snprintf(out, 8, "<0x%02X>", byte);
}

static int has_bytes(const rill_pipeline *p, const char *piece, size_t length)
{
    char token[8];
    for (size_t i = 0; i < length; i++)
        if (rill_vocabulary_id(p->vocabulary, token, rill_byte_token((unsigned char)piece[i], token)) < 0) return 0;
    return 1;
}

static rill_status add_bytes(splitter *s, const char *piece, size_t length)
{
    char token[8];
    for (size_t i = 0; i < length; i++) TRY(s->fn(s->user, token, rill_byte_token((unsigned char)piece[i], token)));
    return RILL_OK;
}

static rill_status add_piece(void *user, const char *piece, size_t length)
{
    splitter *s = user;
    const rill_pipeline *p = s->p;
    const int known = rill_vocabulary_id(p->vocabulary, piece, length) >= 0,
              unknown = !known && !(p->byte_fallback && has_bytes(p, piece, length));
    if (!unknown || !p->fuse_unk) TRY(flush_unknown(s));
    if (unknown) return rill_text_append(&s->unknown_run, piece, length);
    return known ? s->fn(s->user, piece, length) : add_bytes(s, piece, length);
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

/* --- splitting into words ----------------------------------------------------------------------------------------- */

static rill_status prepend(rill_text *text, rill_slice what)
{
    TRY(rill_text_append(text, what.data, what.length)); /* the append reserves memory; the bytes are moved below */
    memmove(text->data + what.length, text->data, text->length - what.length);
    memcpy(text->data, what.data, what.length);
    return RILL_OK;
}

static rill_status split_byte_level(splitter *s)
{
    const rill_pipeline *p = s->p;
    if (p->add_prefix_space && s->text.data[0] != ' ') TRY(prepend(&s->text, (rill_slice){" ", 1}));
    const char *text = s->text.data;
    size_t length = s->text.length;
    for (size_t n; length > 0; text += n, length -= n) {
        n = rill_byte_word(text, length);
        rill_text_reset(&s->word);
        TRY(bytes_to_letters(text, n, &s->word));
        TRY(split_word(s, s->word.data, s->word.length));
    }
    return RILL_OK;
}

/* Split a text in which a mark (U+2581) stands for each space. `first`: the text begins the input. */
static rill_status split_metaspace(splitter *s, const char *text, size_t length, int first)
{
    const rill_pipeline *p = s->p;
    const rill_slice mark = p->mark;
    rill_text *word = &s->word;
    if (length == 0) return RILL_OK;
    rill_text_reset(word);
    for (size_t i = 0; i < length; i++)
        TRY(text[i] == ' ' ? rill_text_append(word, mark.data, mark.length) : rill_text_append(word, text + i, 1));
    const int wanted = p->prepend == RILL_PREPEND_ALWAYS || (p->prepend == RILL_PREPEND_FIRST && first);
    if (wanted && !begins_with(word->data, word->length, mark)) TRY(prepend(word, mark));
    for (size_t from = 0, to; from < word->length; from = to) {
        to = from + 1;
        while (to < word->length && (p->keep_whole || !begins_with(word->data + to, word->length - to, mark))) to++;
        TRY(split_word(s, word->data + from, to - from));
    }
    return RILL_OK;
}

/* Split the normalised text at white space of any kind, and then each word into subword tokens. */
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

/* --- tokenizing and joining texts --------------------------------------------------------------------------------- */

static rill_status split_normalized(splitter *s, const char *text, size_t length)
{
    const rill_pipeline *p = s->p;
    if (p->raw_bytes) return add_bytes(s, text, length);
    TRY(normalize(p, text, length, &s->text, &s->spare));
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
            TRY(letters_to_bytes(piece[i], length[i], out));
        else
            TRY(join_marked(p, piece[i], length[i], out));
    }
    return out->length > from ? repair_utf8(out, from, p->raw_bytes ? "" : "\xEF\xBF\xBD") : RILL_OK;
}
