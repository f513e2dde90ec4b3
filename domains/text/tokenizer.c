/* A translation model's tokenizer: vocabularies, language tags, and a segmenter (SentencePiece, Moses with BPE, or a model family's).
 *
 * Source: transformers' tokenization_marian.py. Deviation: an unknown language tag is an error, or text if the vocabulary has no tags; not
 * <unk>. A tag ends at the first "<<", not at the last. */
#include "family.h"

#include <string.h>

#include "moses.h"
#include "rill/file.h"

static const char UNKNOWN[] = "<unk>";

/* --- opening a tokenizer ------------------------------------------------------------------------------------------ */

/* Add <unk> to a vocabulary without it, unless the vocabulary then has more than `limit` tokens. */
static rill_status add_unknown(rill_vocabulary *v, int32_t limit)
{
    int32_t id;
    return rill_vocabulary_count(v) < limit ? rill_vocabulary_intern(v, UNKNOWN, sizeof UNKNOWN - 1, &id) : RILL_OK;
}

static rill_status open_vocabularies(rill_tokenizer *t, rill_text *path, const rill_tokenizer_files *files)
{
    TRY(rill_path_join(path, files->directory, files->source));
    TRY(rill_vocabulary_open(&t->source, t->ctx, path->data, files->source_vocab_size));
    if (files->adds_unknown) TRY(add_unknown(t->source, files->source_vocab_size));
    t->unk = rill_vocabulary_id(t->source, UNKNOWN, sizeof UNKNOWN - 1);
    if (t->unk < 0) return rill_fail(t->ctx, RILL_ERR_FORMAT, "%s: expected a token %s", path->data, UNKNOWN);
    rill_status status = RILL_ERR_NOT_FOUND;
    if (files->target != NULL) {
        TRY(rill_path_join(path, files->directory, files->target));
        status = rill_vocabulary_open(&t->target, t->ctx, path->data, files->target_vocab_size);
        if (status == RILL_OK && files->adds_unknown) status = add_unknown(t->target, files->target_vocab_size);
    }
    if (status != RILL_ERR_NOT_FOUND || !files->target_optional) return status;
    rill_error_clear(t->ctx);
    t->target = t->source;
    if (rill_vocabulary_count(t->target) <= files->target_vocab_size) return RILL_OK;
    return rill_fail(t->ctx, RILL_ERR_FORMAT, "%s: expected a separate target vocabulary, since %s is %d", path->data,
                     files->target_vocab_key, files->target_vocab_size);
}

/* Length in bytes of the language tag, e.g. >>de<<, at the start of the text; 0 if there is none. */
static size_t language_tag_length(const char *text, size_t length)
{
    if (length < 5 || memcmp(text, ">>", 2) != 0) return 0;
    for (size_t i = 2; i + 1 < length && (unsigned char)text[i] > ' '; i++)
        if (text[i] == '<' && text[i + 1] == '<') return i > 2 ? i + 2 : 0;
    return 0;
}

static void find_language_tags(rill_tokenizer *t)
{
    for (int32_t i = 0; i < rill_vocabulary_count(t->source) && !t->has_language_tags; i++) {
        size_t length;
        const char *token = rill_vocabulary_token(t->source, i, &length);
        t->has_language_tags = length > 0 && language_tag_length(token, length) == length;
    }
}

static rill_status find_special(const rill_tokenizer *t, const rill_tokenizer_files *files, const char *name,
                                const char *what, int32_t *out)
{
    *out = rill_vocabulary_id(t->source, name, strlen(name));
    if (*out >= 0) return RILL_OK;
    return rill_fail(t->ctx, RILL_ERR_FORMAT, "%s/%s: expected a token %s, which %s inputs", files->directory,
                     files->source, name, what);
}

/* Find the special tokens. With separate vocabularies, inputs take eos from the source vocabulary. */
static rill_status find_specials(rill_tokenizer *t, const rill_tokenizer_files *files)
{
    const int named = files->source_eos != NULL;
    const int none = t->kind == RILL_TOKENIZER_WHITESPACE ? files->no_source_eos : files->no_text_eos;
    t->source_eos = none ? -1 : files->eos;
    if (files->source_bos != NULL) TRY(find_special(t, files, files->source_bos, "begins", &t->source_bos));
    if (!none && (named || t->source != t->target))
        TRY(find_special(t, files, named ? files->source_eos : "</s>", "ends", &t->source_eos));
    return RILL_OK;
}

/* Open the segmenters, which split text into subword tokens and join them. */
static rill_status open_segmenter(rill_tokenizer *t, rill_text *path, const rill_tokenizer_files *files)
{
    if (t->kind == RILL_TOKENIZER_WHITESPACE) return RILL_OK;
    if (t->kind == RILL_TOKENIZER_MOSES_BPE)
        return rill_moses_bpe_open(&t->bpe, t->ctx, files->directory, files->codes);
    TRY(rill_path_join(path, files->directory, files->spm != NULL ? files->spm : "source.spm"));
    TRY(rill_spm_open(&t->source_spm, t->ctx, path->data));
    const char *target = files->target_spm != NULL ? files->target_spm : files->spm;
    TRY(rill_path_join(path, files->directory, target != NULL ? target : "target.spm"));
    TRY(rill_spm_open(&t->target_spm, t->ctx, path->data));
    find_language_tags(t);
    return RILL_OK;
}

static rill_status open_files(rill_tokenizer *t, const rill_tokenizer_files *files)
{
    SCOPED(rill_text_clear) rill_text path = {.ctx = t->ctx};
    if (t->kind == RILL_TOKENIZER_FAMILY) return rill_family_open(t, files);
    TRY(open_vocabularies(t, &path, files));
    if (files->has_added_tokens) TRY(rill_added_tokens_open(t, files));
    TRY(open_segmenter(t, &path, files));
    t->unk_action = rill_vocabulary_id(t->target, UNKNOWN, sizeof UNKNOWN - 1);
    return find_specials(t, files);
}

rill_status rill_tokenizer_open(rill_tokenizer **out, rill_context *ctx, const rill_tokenizer_files *files)
{
    TRY(rill_struct_alloc(ctx, out, sizeof **out, "vocabularies"));
    const int tokenized = files->kind == RILL_TOKENIZER_WHITESPACE || (files->family != NULL && files->tokenized);
    **out = (rill_tokenizer){.ctx = ctx, .kind = files->kind, .source_bos = -1, .tokenized = tokenized};
    return RILL_OPENED(open_files(*out, files), out, rill_tokenizer_close);
}

void rill_tokenizer_close(rill_tokenizer *t)
{
    if (t == NULL) return;
    if (t->target_spm != t->source_spm) rill_spm_close(t->target_spm);
    rill_spm_close(t->source_spm);
    if (t->target != t->source) rill_vocabulary_close(t->target);
    rill_vocabulary_close(t->source);
    if (t->family == NULL) rill_added_tokens_close(t);
    rill_family_close(t->family);
    rill_moses_bpe_close(t->bpe);
    rill_free(t->ctx, t, sizeof *t);
}

/* --- subword tokens ----------------------------------------------------------------------------------------------- */

/* State while a text is split at its added tokens (rill_token_set_split()). */
typedef struct text_splitter {
    const rill_tokenizer *tokenizer;
    rill_context *ctx;
    rill_side side;
    const char *begin; /* start of the whole text */
    rill_word_fn fn;   /* called with each subword token */
    void *user;
} text_splitter;

/* Split a text without added tokens into subword tokens. */
static rill_status split_part(void *user, const char *text, size_t length)
{
    const text_splitter *s = user;
    const rill_tokenizer *t = s->tokenizer;
    if (t->family != NULL && t->family->pipeline != NULL)
        return rill_pipeline_split(t->family->pipeline, s->ctx, text == s->begin, text, length, s->fn, s->user);
    if (t->bpe != NULL) return rill_moses_bpe_split(t->bpe, s->ctx, s->side, text, length, s->fn, s->user);
    const rill_spm *spm = s->side == RILL_SIDE_TARGET ? t->target_spm : t->source_spm;
    return rill_spm_encode(spm, s->ctx, text, length, s->fn, s->user);
}

static rill_status forward_token(void *user, const rill_added_token *token)
{
    const text_splitter *s = user;
    return s->fn(s->user, token->text.data, token->text.length);
}

/* In a target text, special tokens such as "</s>" are ordinary text, because decoding would omit them. */
static rill_status split_text(const rill_tokenizer *t, rill_context *ctx, rill_side side, const char *bytes,
                              size_t length, rill_word_fn fn, void *user)
{
    text_splitter s = {.tokenizer = t, .ctx = ctx, .side = side, .begin = bytes, .fn = fn, .user = user};
    if (t->tokenized) return rill_for_each_word(bytes, length, fn, user);
    if (t->added == NULL) return split_part(&s, bytes, length);
    return rill_token_set_split(t->added, side == RILL_SIDE_TARGET ? RILL_TOKEN_SPECIAL : 0, bytes, length, split_part,
                                forward_token, &s);
}

rill_status rill_tokenizer_split(const rill_tokenizer *t, rill_context *ctx, const char *bytes, size_t length,
                                 rill_word_fn fn, void *user)
{
    size_t good = rill_utf8_check(bytes, length);
    if (good < length) return rill_fail(ctx, RILL_ERR_INPUT, "byte %zu is not UTF-8", good + 1);
    return split_text(t, ctx, RILL_SIDE_TARGET, bytes, length, fn, user);
}

/* --- encoding ----------------------------------------------------------------------------------------------------- */

typedef struct id_appender {
    const rill_tokenizer *tokenizer;
    rill_ids *out;
} id_appender;

/* Append `id` to the output; -1: append nothing. */
static rill_status append_special(int32_t id, rill_ids *out)
{
    if (id < 0) return RILL_OK;
    TRY(rill_grow(out->ctx, (void **)out->ids, out->capacity, out->n_ids + 1, sizeof **out->ids, "an input's pieces"));
    (*out->ids)[out->n_ids++] = id;
    return RILL_OK;
}

static rill_status append_id(void *user, const char *piece, size_t length)
{
    const id_appender *a = user;
    const rill_family_tokenizer *f = a->tokenizer->family;
    int32_t id = rill_vocabulary_id(a->tokenizer->source, piece, length);
    if (id < 0 && f != NULL && f->tokens.may_share_ids) id = rill_token_set_added_id(&f->tokens, piece, length);
    return append_special(id >= 0 ? id : a->tokenizer->unk, a->out);
}

/* Append the id of the language tag text[0 .. *length). If the model has no language tags, the tag is plain text, and *length becomes 0. */
static rill_status append_language_tag(id_appender *a, const char *text, size_t *length)
{
    const rill_tokenizer *t = a->tokenizer;
    if (*length == 0) return RILL_OK;
    if (rill_vocabulary_id(t->source, text, *length) >= 0) return append_id(a, text, *length);
    if (t->has_language_tags)
        return rill_fail(a->out->ctx, RILL_ERR_INPUT, "unknown language tag %.*s", (int)*length, text);
    *length = 0;
    return RILL_OK;
}

/* The id of a special token before or after a family's input; -1: none. */
static int32_t special_token_id(const rill_family_tokenizer *t, rill_extra_token what, const rill_language_pair *turn)
{
    const int32_t ids[] = {[RILL_EXTRA_NONE] = -1,
                           [RILL_EXTRA_SOURCE_LANGUAGE] = turn->source,
                           [RILL_EXTRA_TARGET_LANGUAGE] = turn->target,
                           [RILL_EXTRA_BOS] = t->bos};
    return ids[what];
}

/* Move past the input's language columns. *turn = the input's languages. */
static rill_status read_languages(const rill_tokenizer *t, rill_context *ctx, const char **bytes, size_t *length,
                                  rill_language_pair *turn, rill_output_prefix *opening)
{
    *turn = (rill_language_pair){-1, -1};
    *opening = (rill_output_prefix){-1, -1};
    if (t->family == NULL) return RILL_OK;
    TRY(rill_languages_for_input(t->family, ctx, bytes, length, turn));
    if (t->family->family.target == RILL_TARGET_DECODER_START) opening->decoder_start = turn->target;
    if (t->family->family.target == RILL_TARGET_FORCED_BOS) opening->forced_bos = turn->target;
    return RILL_OK;
}

rill_status rill_tokenizer_output_prefix(const rill_tokenizer *t, rill_context *ctx, const char *bytes, size_t length,
                                         rill_output_prefix *opening)
{
    rill_language_pair turn;
    return read_languages(t, ctx, &bytes, &length, &turn, opening);
}

/* Append the id of a leading tag such as <2de>, and move past it. SentencePiece would put an empty word before it. */
static rill_status append_leading_tag(id_appender *a, const char **bytes, size_t *length)
{
    const rill_family_tokenizer *f = a->tokenizer->family;
    rill_slice name;
    if (f == NULL || a->tokenizer->tokenized || f->n_languages == 0 || f->family.language_form != RILL_LANGUAGES_TAGS)
        return RILL_OK;
    const char *end = *length > 0 && (*bytes)[0] == '<' ? memchr(*bytes, '>', *length) : NULL;
    const size_t n = end != NULL ? (size_t)(end - *bytes) + 1 : 0;
    if (n == 0 || !rill_language_token_name(RILL_LANGUAGES_TAGS, *bytes, n, &name)) return RILL_OK;
    if (rill_vocabulary_id(a->tokenizer->source, *bytes, n) < 0) return RILL_OK;
    TRY(append_id(a, *bytes, n));
    *bytes += n;
    *length -= n;
    return RILL_OK;
}

rill_status rill_tokenizer_encode(const rill_tokenizer *t, const char *bytes, size_t length, rill_ids *out,
                                  rill_output_prefix *opening)
{
    const rill_family_tokenizer *f = t->family;
    const size_t good = rill_utf8_check(bytes, length), from = out->n_ids;
    id_appender a = {.tokenizer = t, .out = out};
    rill_language_pair turn;
    *opening = (rill_output_prefix){-1, -1};
    if (good < length) return rill_fail(out->ctx, RILL_ERR_INPUT, "byte %zu is not UTF-8", good + 1);
    TRY(read_languages(t, out->ctx, &bytes, &length, &turn, opening));
    TRY(append_special(f != NULL ? special_token_id(f, f->family.prefix, &turn) : t->source_bos, out));
    const size_t begin = out->n_ids;
    size_t tag = t->kind == RILL_TOKENIZER_SENTENCEPIECE ? language_tag_length(bytes, length) : 0;
    TRY(append_language_tag(&a, bytes, &tag));
    TRY(append_leading_tag(&a, &bytes, &length));
    TRY(split_text(t, out->ctx, RILL_SIDE_SOURCE, bytes + tag, length - tag, append_id, &a));
    if (out->n_ids == begin) {
        out->n_ids = from;
        return RILL_OK;
    }
    /* ByT5 does not add a second </s>. */
    const int ended = f != NULL && f->family.numbering == RILL_NUMBERS_RAW_BYTES &&
                      (*out->ids)[out->n_ids - 1] == t->source_eos;
    if (!ended) TRY(append_special(t->source_eos, out));
    return f != NULL ? append_special(special_token_id(f, f->family.suffix, &turn), out) : RILL_OK;
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

/* Tokens of a JSON vocabulary may contain line feeds. They become spaces, because an output is one line. */
static rill_status join_with_spaces(size_t n, const char *const *piece, const size_t *length, rill_text *out)
{
    size_t from = out->length;
    for (size_t i = 0; i < n; i++) {
        if (i > 0) TRY(rill_text_append(out, " ", 1));
        TRY(rill_text_append(out, piece[i], length[i]));
    }
    for (size_t i = from; i < out->length; i++)
        if (out->data[i] == '\n' || out->data[i] == '\r') out->data[i] = ' ';
    return RILL_OK;
}

/* SentencePiece leaves word-boundary marks in foreign tokens, and byte tokens such as <0x0A> yield line breaks. Both become spaces,
 * because an output is one line. */
static void tidy_spaces(rill_text *out, size_t from)
{
    static const char boundary[] = "\xE2\x96\x81";
    size_t to = from, pending = 0;
    if (out->length == from) return;
    for (size_t i = from; i < out->length; i++) {
        const int bounds = out->length - i >= 3 && memcmp(out->data + i, boundary, 3) == 0;
        if (bounds) i += 2;
        if (bounds || out->data[i] == ' ' || out->data[i] == '\n' || out->data[i] == '\r') {
            pending++;
            continue;
        }
        if (to == from) pending = 0;
        const char byte = out->data[i];
        for (; pending > 0; pending--) out->data[to++] = ' ';
        out->data[to++] = byte;
    }
    out->length = to;
    out->data[to] = '\0';
}

/* transformers' clean_up_tokenization_spaces. Each rule applies to the result of the previous rule. */
static void clean_up_spaces(rill_text *out, size_t from)
{
    static const char *const marks[] = {" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're"};
    for (size_t m = 0; m < sizeof marks / sizeof *marks; m++) {
        const size_t n = strlen(marks[m]), kept = m == 4 ? 1 : n - 1; /* " ' " loses both spaces */
        size_t to = from;
        for (size_t pos = from; pos < out->length;) {
            if (out->length - pos >= n && memcmp(out->data + pos, marks[m], n) == 0) {
                memmove(out->data + to, out->data + pos + 1, kept);
                to += kept;
                pos += n;
            } else {
                out->data[to++] = out->data[pos++];
            }
        }
        out->length = to;
        if (out->data != NULL) out->data[to] = '\0';
    }
}

/* Returns 1 for special tokens, which decoding omits. SentencePiece itself omits the special tokens of its model. */
static int is_special(const rill_tokenizer *t, int32_t action, const char *piece)
{
    static const char *const others[] = {"<s>", "<pad>", "</s>"};
    if (t->tokenized) return 0;
    if (t->added != NULL) {
        /* Without a family, `added` has ids of the source vocabulary, so the token is found by its text. */
        const int32_t id = t->family != NULL ? action : rill_token_set_added_id(t->added, piece, strlen(piece));
        const int flags = rill_token_set_flags(t->added, id);
        if (flags >= 0 && (flags & RILL_TOKEN_SPECIAL) != 0) return 1;
        if (t->family != NULL) return 0;
    }
    return strcmp(piece, UNKNOWN) == 0 || (t->bpe != NULL && RILL_NAME_INDEX(piece, others) >= 0);
}

static rill_status join_tokens(const rill_tokenizer *t, size_t n, const char *const *piece, const size_t *length,
                               rill_text *out)
{
    const size_t from = out->length;
    if (t->tokenized || n == 0) return join_with_spaces(n, piece, length, out);
    if (t->bpe != NULL)
        TRY(rill_moses_bpe_join(t->bpe, n, piece, length, out));
    else if (t->target_spm != NULL)
        TRY(rill_spm_decode(t->target_spm, n, piece, length, out));
    else
        TRY(rill_pipeline_join(t->family->pipeline, n, piece, length, out));
    if (t->clean_up_spaces) clean_up_spaces(out, from);
    if (t->bpe == NULL) tidy_spaces(out, from);
    return RILL_OK;
}

rill_status rill_tokenizer_decode(const rill_tokenizer *t, size_t n, const int32_t *action, rill_text *out)
{
    SCOPED(rill_arena_clear) rill_arena arena = {.ctx = out->ctx};
    const char **piece;
    size_t *length, used = 0;
    TRY(rill_arena_alloc(&arena, &piece, n, sizeof *piece, "an output's pieces"));
    TRY(rill_arena_alloc(&arena, &length, n, sizeof *length, "an output's pieces"));
    for (size_t i = 0; i < n; i++) {
        piece[used] = rill_vocabulary_token(t->target, action[i], &length[used]);
        used += !is_special(t, action[i], piece[used]);
    }
    return join_tokens(t, used, piece, length, out);
}

/* --- task and languages ------------------------------------------------------------------------------------------- */

int rill_tokenizer_is_translation(const rill_tokenizer *t, const char *bytes, size_t length, size_t *head)
{
    *head = 0;
    if (t->tokenized) return -1;
    if (t->family != NULL) return rill_family_is_translation(t->family, bytes, length, head);
    if (t->kind == RILL_TOKENIZER_SENTENCEPIECE) *head = language_tag_length(bytes, length);
    while (*head > 0 && *head < length && bytes[*head] == ' ') ++*head;
    return 1;
}

rill_status rill_tokenizer_check_languages(const rill_tokenizer *t, rill_context *ctx)
{
    return t->family != NULL ? rill_languages_check(t->family, ctx) : RILL_OK;
}
