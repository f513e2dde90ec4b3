/* The tokenizer of a translation model: vocabularies, language tags, and a segmenter: SentencePiece, Moses with BPE, or the
 * tokenizer of a model family.
 *
 * Source: transformers' tokenization_marian.py. It has a punctuation normaliser but never calls it, so there is none here.
 * Deviations: a language tag that is not in the vocabulary is an error if the vocabulary has other tags, and plain text if
 * it has none; transformers makes it <unk>. A tag ends at its first "<<"; in transformers at the last.
 *
 * An input of a family is split at its added tokens. SentencePiece or the pipeline splits the text between them into subword
 * tokens.
 *
 * Divisions: joining · a family (subword tokens · encoding · decoding · splitting) · opening · encoding · decoding · splitting
 * without ids · sentences · special tokens. */
#include "family.h"

#include <stdio.h>
#include <string.h>

#include "domain_base.h"
#include "moses.h"
#include "rill/file.h"
#include "segmenters.h"
#include "tokenizer.h"
#include "utf8.h"
#include "vocabulary.h"

struct rill_tokenizer {
    rill_context *ctx;
    rill_tokenizer_kind kind;
    rill_vocabulary *source, *target;  /* may be the same object */
    rill_spm *source_spm, *target_spm; /* for kind SENTENCEPIECE: segmenters of source and target texts, else NULL */
    rill_moses_bpe *bpe;               /* for kind MOSES_BPE, else NULL */
    rill_family_tokenizer *family;     /* for kind FAMILY, else NULL */
    int32_t source_bos, source_eos;    /* ids of the tokens before and after an input; -1: none */
    int32_t unk;                       /* source id of unknown tokens */
    int has_language_tags;             /* the source vocabulary has tokens like >>de<< */
};

static const char UNKNOWN[] = "<unk>";

/* --- joining ------------------------------------------------------------------------------------------------------ */

/* Line feeds in tokens of a JSON vocabulary become spaces, because an output is one line. */
rill_status rill_tokenizer_join_tokens(size_t n, const char *const *piece, const size_t *length, rill_text *out)
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

/* Replace word-boundary marks and line breaks by spaces, and trim. Word-boundary marks remain in tokens that are not in the
 * SentencePiece model. Line breaks come from byte tokens, and an output is one line. */
void rill_tokenizer_tidy_spaces(rill_text *out, size_t from)
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

/* --- a family's subword tokens ----------------------------------------------------------------------------------------------- */

/* Arguments of functions that receive subword tokens. */
typedef struct family_splitter {
    const rill_family_tokenizer *text;
    rill_context *ctx;
    rill_ids *out;   /* when encoding: the list of ids */
    rill_word_fn fn; /* when splitting: called with each word */
    void *user;
    const char *begin; /* start of the whole input */
} family_splitter;

static rill_status split_part(const family_splitter *t, const char *text, size_t length, rill_word_fn fn, void *user)
{
    if (t->text->spm != NULL) return rill_spm_encode(t->text->spm, t->ctx, text, length, fn, user);
    return rill_pipeline_split(t->text->pipeline, t->ctx, text == t->begin, text, length, fn, user);
}

/* --- a family's encoding ----------------------------------------------------------------------------------------------------- */

static rill_status append_id_to(rill_ids *out, int32_t id)
{
    TRY(rill_grow(out->ctx, (void **)out->ids, out->capacity, out->n_ids + 1, sizeof **out->ids, "an input's pieces"));
    (*out->ids)[out->n_ids++] = id;
    return RILL_OK;
}

static rill_status append_piece_id(void *user, const char *piece, size_t length)
{
    const family_splitter *t = user;
    const int32_t id = rill_vocabulary_id(t->text->vocabulary, piece, length);
    return append_id_to(t->out, id >= 0 ? id : t->text->unk);
}

static rill_status read_part(void *user, const char *text, size_t length)
{
    return split_part(user, text, length, append_piece_id, user);
}

static rill_status read_token(void *user, const rill_added_token *token)
{
    return append_id_to(((const family_splitter *)user)->out, token->id);
}

static rill_status read_text(family_splitter *t, const char *bytes, size_t length)
{
    if (t->text->tokenized) return rill_for_each_word(bytes, length, append_piece_id, t);
    t->begin = bytes;
    return rill_token_set_split(&t->text->tokens, 0, bytes, length, read_part, read_token, t);
}

/* The id of the special token before or after an input; -1: none. */
static int32_t special_token_id(const rill_family_tokenizer *t, rill_extra_token what, const rill_language_pair *turn)
{
    switch (what) {
    case RILL_EXTRA_SOURCE_LANGUAGE: return turn->source;
    case RILL_EXTRA_TARGET_LANGUAGE: return turn->target;
    case RILL_EXTRA_BOS: return t->bos;
    default: return -1;
    }
}

static rill_output_prefix output_prefix(const rill_family_tokenizer *t, const rill_language_pair *turn)
{
    return (rill_output_prefix){.decoder_start = t->family.target == RILL_TARGET_DECODER_START ? turn->target : -1,
                                .forced_bos = t->family.target == RILL_TARGET_FORCED_BOS ? turn->target : -1};
}

rill_status rill_family_output_prefix(const rill_family_tokenizer *t, rill_context *ctx, const char *bytes,
                                      size_t length, rill_output_prefix *opening)
{
    rill_language_pair turn;
    TRY(rill_languages_for_input(t, ctx, &bytes, &length, &turn));
    *opening = output_prefix(t, &turn);
    return RILL_OK;
}

rill_status rill_family_encode(const rill_family_tokenizer *t, const char *bytes, size_t length, rill_ids *out,
                               rill_output_prefix *opening)
{
    family_splitter to = {.text = t, .ctx = out->ctx, .out = out};
    const size_t from = out->n_ids;
    rill_language_pair turn;
    TRY(rill_languages_for_input(t, out->ctx, &bytes, &length, &turn));
    *opening = output_prefix(t, &turn);
    const int32_t prefix = special_token_id(t, t->family.prefix, &turn),
                  suffix = special_token_id(t, t->family.suffix, &turn);
    if (prefix >= 0) TRY(append_id_to(out, prefix));
    const size_t first = out->n_ids;
    TRY(read_text(&to, bytes, length));
    if (out->n_ids == first) {
        out->n_ids = from;
        return RILL_OK;
    }
    TRY(append_id_to(out, t->eos));
    return suffix >= 0 ? append_id_to(out, suffix) : RILL_OK;
}

/* --- a family's decoding ----------------------------------------------------------------------------------------------------- */

/* Remove spaces before punctuation and contractions, as transformers does for clean_up_tokenization_spaces. Rules are
 * applied in order, each to the result of the previous one. */
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

static rill_status append_bytes(void *user, const char *bytes, size_t length)
{
    return rill_text_append(user, bytes, length);
}

static rill_status join_tokens(const rill_family_tokenizer *t, size_t n, const char *const *piece, const size_t *length,
                               rill_text *out)
{
    if (n == 0) return RILL_OK;
    const size_t from = out->length;
    if (t->spm != NULL)
        TRY(rill_spm_decode(t->spm, out->ctx, n, piece, length, append_bytes, out));
    else
        TRY(rill_pipeline_join(t->pipeline, n, piece, length, out));
    if (t->clean_up_spaces) clean_up_spaces(out, from);
    rill_tokenizer_tidy_spaces(out, from);
    return RILL_OK;
}

/* Append the text of n actions to `out`; `piece` and `length` are scratch arrays of n elements. */
static rill_status write_family_actions(const rill_family_tokenizer *t, size_t n, const int32_t *action,
                                        const char **piece, size_t *length, rill_text *out)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const int flags = t->tokenized ? 0 : rill_token_set_flags(&t->tokens, action[i]);
        if (flags >= 0 && (flags & RILL_TOKEN_SPECIAL) != 0) continue;
        piece[used] = rill_vocabulary_token(t->vocabulary, action[i], &length[used]);
        used++;
    }
    return t->tokenized ? rill_tokenizer_join_tokens(used, piece, length, out)
                        : join_tokens(t, used, piece, length, out);
}

rill_status rill_family_decode(const rill_family_tokenizer *t, size_t n, const int32_t *action, rill_text *out)
{
    const char **piece = NULL;
    size_t *length = NULL, pieces_capacity = 0, lengths_capacity = 0;
    rill_status status = GROW(out->ctx, piece, pieces_capacity, n, "an output's pieces");
    if (status == RILL_OK) status = GROW(out->ctx, length, lengths_capacity, n, "an output's pieces");
    if (status == RILL_OK) status = write_family_actions(t, n, action, piece, length, out);
    FREE_ARRAY(out->ctx, piece, pieces_capacity);
    FREE_ARRAY(out->ctx, length, lengths_capacity);
    return status;
}

/* --- a family's splitting without ids ---------------------------------------------------------------------------------------- */

static rill_status forward_token(void *user, const char *piece, size_t length)
{
    const family_splitter *t = user;
    return t->fn(t->user, piece, length);
}

static rill_status split_text(void *user, const char *text, size_t length)
{
    return split_part(user, text, length, forward_token, user);
}

static rill_status split_token(void *user, const rill_added_token *token)
{
    return forward_token(user, token->text.data, token->text.length);
}

/* Special tokens are not recognised in the text: names such as "</s>" in it are ordinary text, because decoding would omit
 * special tokens. */
rill_status rill_family_split(const rill_family_tokenizer *t, rill_context *ctx, const char *bytes, size_t length,
                              rill_word_fn fn, void *user)
{
    family_splitter to = {.text = t, .ctx = ctx, .fn = fn, .user = user, .begin = bytes};
    if (t->tokenized) return rill_for_each_word(bytes, length, fn, user);
    return rill_token_set_split(&t->tokens, RILL_TOKEN_SPECIAL, bytes, length, split_text, split_token, &to);
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* Read a vocabulary: one token per line if the file's name ends in .txt, else JSON. */
static rill_status open_vocabulary(rill_vocabulary **out, rill_context *ctx, const rill_text *path, int32_t limit)
{
    static const char lines[] = ".txt";
    const size_t ending = sizeof lines - 1;
    if (path->length > ending && strcmp(path->data + path->length - ending, lines) == 0)
        return rill_vocabulary_open(out, ctx, path->data, limit);
    return rill_vocabulary_open_json(out, ctx, path->data, limit);
}

static rill_status open_vocabularies(rill_tokenizer *t, rill_text *path, const rill_tokenizer_files *files)
{
    TRY(rill_path_join(path, files->directory, files->source));
    TRY(open_vocabulary(&t->source, t->ctx, path, files->source_vocab_size));
    t->unk = rill_vocabulary_id(t->source, UNKNOWN, sizeof UNKNOWN - 1);
    if (t->unk < 0) return rill_fail(t->ctx, RILL_ERR_FORMAT, "%s: expected a token %s", path->data, UNKNOWN);
    rill_status status = RILL_ERR_NOT_FOUND;
    if (files->target != NULL) {
        TRY(rill_path_join(path, files->directory, files->target));
        status = open_vocabulary(&t->target, t->ctx, path, files->target_vocab_size);
    }
    if (status != RILL_ERR_NOT_FOUND || !files->target_optional) return status;
    rill_error_clear(t->ctx);
    t->target = t->source;
    if (rill_vocabulary_count(t->target) <= files->target_vocab_size) return RILL_OK;
    return rill_fail(t->ctx, RILL_ERR_FORMAT, "%s: expected a separate target vocabulary, since %s is %d", path->data,
                     files->target_vocab_key, files->target_vocab_size);
}

static rill_status open_spm(rill_tokenizer *t, rill_text *path, const char *directory, const char *name, rill_spm **out)
{
    rill_text bytes = {.ctx = t->ctx};
    TRY(rill_path_join(path, directory, name));
    rill_status status = rill_file_read(&bytes, path->data, RILL_FILE_TEXT_MAX);
    if (status == RILL_OK) status = rill_spm_open(out, t->ctx, path->data, bytes.data, bytes.length);
    rill_text_clear(&bytes);
    return status;
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

/* Find the ids of the tokens before and after an input. If source and target have separate vocabularies, eos of inputs is
 * looked up in the source vocabulary. */
static rill_status find_specials(rill_tokenizer *t, const rill_tokenizer_files *files)
{
    const int named = files->source_eos != NULL;
    t->source_eos = files->eos;
    if (files->source_bos != NULL) TRY(find_special(t, files, files->source_bos, "begins", &t->source_bos));
    if (named || t->source != t->target)
        TRY(find_special(t, files, named ? files->source_eos : "</s>", "ends", &t->source_eos));
    if (files->no_source_eos && t->kind == RILL_TOKENIZER_WHITESPACE) t->source_eos = -1;
    return RILL_OK;
}

/* Open the segmenters, which split text into subword tokens and join them. */
static rill_status open_segmenter(rill_tokenizer *t, rill_text *path, const rill_tokenizer_files *files)
{
    if (t->kind == RILL_TOKENIZER_WHITESPACE) return RILL_OK;
    if (t->kind == RILL_TOKENIZER_MOSES_BPE) return rill_moses_bpe_open(&t->bpe, t->ctx, files->directory);
    TRY(open_spm(t, path, files->directory, files->spm != NULL ? files->spm : "source.spm", &t->source_spm));
    TRY(open_spm(t, path, files->directory, files->spm != NULL ? files->spm : "target.spm", &t->target_spm));
    find_language_tags(t);
    return RILL_OK;
}

/* Open a family's tokenizer, in which source and target share one vocabulary. */
static rill_status open_family(rill_tokenizer *t, const rill_tokenizer_files *files)
{
    TRY(rill_family_open(&t->family, t->ctx, files));
    t->source = t->target = t->family->vocabulary;
    t->unk = t->family->unk;
    t->source_eos = t->family->eos;
    return RILL_OK;
}

static rill_status open_files(rill_tokenizer *t, const rill_tokenizer_files *files)
{
    rill_text path = {.ctx = t->ctx};
    if (t->kind == RILL_TOKENIZER_FAMILY) return open_family(t, files);
    rill_status status = open_vocabularies(t, &path, files);
    if (status == RILL_OK) status = open_segmenter(t, &path, files);
    if (status == RILL_OK) status = find_specials(t, files);
    rill_text_clear(&path);
    return status;
}

rill_status rill_tokenizer_open(rill_tokenizer **out, rill_context *ctx, const rill_tokenizer_files *files)
{
    *out = NULL;
    rill_tokenizer *t = rill_calloc(ctx, 1, sizeof *t);
    if (t == NULL) return rill_fail_memory(ctx, sizeof *t, "vocabularies");
    t->ctx = ctx;
    t->kind = files->kind;
    t->source_bos = -1;
    rill_status status = open_files(t, files);
    if (status == RILL_OK)
        *out = t;
    else
        rill_tokenizer_close(t);
    return status;
}

void rill_tokenizer_close(rill_tokenizer *t)
{
    if (t == NULL) return;
    rill_spm_close(t->source_spm);
    rill_spm_close(t->target_spm);
    if (t->target != t->source) rill_vocabulary_close(t->target);
    if (t->family == NULL) rill_vocabulary_close(t->source);
    rill_family_close(t->family);
    rill_moses_bpe_close(t->bpe);
    rill_free(t->ctx, t, sizeof *t);
}

/* --- encoding ----------------------------------------------------------------------------------------------------- */

typedef struct id_appender {
    const rill_tokenizer *tokenizer;
    rill_ids *out;
} id_appender;

static rill_status append_id(void *user, const char *piece, size_t length)
{
    const id_appender *a = user;
    rill_ids *out = a->out;
    int32_t id = rill_vocabulary_id(a->tokenizer->source, piece, length);
    TRY(rill_grow(out->ctx, (void **)out->ids, out->capacity, out->n_ids + 1, sizeof **out->ids, "an input's pieces"));
    (*out->ids)[out->n_ids++] = id >= 0 ? id : a->tokenizer->unk;
    return RILL_OK;
}

/* Append the id of the language tag text[0 .. *length). If the model has no language tags, set *length to 0: the tag is
 * plain text. */
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

static rill_status append_text_ids(const rill_tokenizer *t, const char *bytes, size_t length, rill_ids *out)
{
    id_appender a = {.tokenizer = t, .out = out};
    size_t tag;
    if (t->kind == RILL_TOKENIZER_WHITESPACE) return rill_for_each_word(bytes, length, append_id, &a);
    if (t->kind == RILL_TOKENIZER_MOSES_BPE)
        return rill_moses_bpe_split(t->bpe, out->ctx, RILL_SIDE_SOURCE, bytes, length, append_id, &a);
    tag = language_tag_length(bytes, length);
    TRY(append_language_tag(&a, bytes, &tag));
    return rill_spm_encode(t->source_spm, out->ctx, bytes + tag, length - tag, append_id, &a);
}

static rill_status append_special(int32_t symbol, rill_ids *out)
{
    if (symbol < 0) return RILL_OK;
    TRY(rill_grow(out->ctx, (void **)out->ids, out->capacity, out->n_ids + 1, sizeof **out->ids, "an input's pieces"));
    (*out->ids)[out->n_ids++] = symbol;
    return RILL_OK;
}

rill_status rill_tokenizer_encode(const rill_tokenizer *t, const char *bytes, size_t length, rill_ids *out,
                                  rill_output_prefix *opening)
{
    const size_t good = rill_utf8_check(bytes, length), from = out->n_ids;
    *opening = (rill_output_prefix){-1, -1};
    if (good < length) return rill_fail(out->ctx, RILL_ERR_INPUT, "byte %zu is not UTF-8", good + 1);
    if (t->family != NULL) return rill_family_encode(t->family, bytes, length, out, opening);
    TRY(append_special(t->source_bos, out));
    const size_t begin = out->n_ids;
    TRY(append_text_ids(t, bytes, length, out));
    if (out->n_ids > begin) return append_special(t->source_eos, out);
    out->n_ids = from;
    return RILL_OK;
}

rill_status rill_tokenizer_output_prefix(const rill_tokenizer *t, rill_context *ctx, const char *bytes, size_t length,
                                         rill_output_prefix *opening)
{
    *opening = (rill_output_prefix){-1, -1};
    return t->family != NULL ? rill_family_output_prefix(t->family, ctx, bytes, length, opening) : RILL_OK;
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

static rill_status append_text(void *user, const char *bytes, size_t length)
{
    rill_text *out = user;
    const size_t from = out->length;
    TRY(rill_text_append(out, bytes, length));
    rill_tokenizer_tidy_spaces(out, from);
    return RILL_OK;
}

/* Return 1 for special tokens, which decoding omits. SentencePiece itself omits the special tokens of its model. */
static int is_special(const rill_tokenizer *t, const char *piece)
{
    static const char *const others[] = {"<s>", "<pad>", "</s>"};
    for (size_t i = 0; t->kind == RILL_TOKENIZER_MOSES_BPE && i < sizeof others / sizeof *others; i++)
        if (strcmp(piece, others[i]) == 0) return 1;
    return strcmp(piece, UNKNOWN) == 0;
}

/* Append the text of n actions to `out`; `piece` and `length` are scratch arrays of n elements. */
static rill_status write_actions(const rill_tokenizer *t, size_t n, const int32_t *action, const char **piece,
                                 size_t *length, rill_text *out)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        piece[used] = rill_vocabulary_token(t->target, action[i], &length[used]);
        used += t->kind == RILL_TOKENIZER_WHITESPACE || !is_special(t, piece[used]);
    }
    if (t->kind == RILL_TOKENIZER_WHITESPACE || used == 0) return rill_tokenizer_join_tokens(used, piece, length, out);
    if (t->kind == RILL_TOKENIZER_MOSES_BPE) return rill_moses_bpe_join(t->bpe, used, piece, length, out);
    return rill_spm_decode(t->target_spm, out->ctx, used, piece, length, append_text, out);
}

rill_status rill_tokenizer_decode(const rill_tokenizer *t, size_t n, const int32_t *action, rill_text *out)
{
    if (t->family != NULL) return rill_family_decode(t->family, n, action, out);
    const char **piece = NULL;
    size_t *length = NULL, pieces_capacity = 0, lengths_capacity = 0;
    rill_status status = GROW(out->ctx, piece, pieces_capacity, n, "an output's pieces");
    if (status == RILL_OK) status = GROW(out->ctx, length, lengths_capacity, n, "an output's pieces");
    if (status == RILL_OK) status = write_actions(t, n, action, piece, length, out);
    FREE_ARRAY(out->ctx, piece, pieces_capacity);
    FREE_ARRAY(out->ctx, length, lengths_capacity);
    return status;
}

/* --- splitting without ids ---------------------------------------------------------------------------------------- */

rill_status rill_tokenizer_split(const rill_tokenizer *t, rill_context *ctx, const char *bytes, size_t length,
                                 rill_word_fn fn, void *user)
{
    size_t good = rill_utf8_check(bytes, length);
    if (good < length) return rill_fail(ctx, RILL_ERR_INPUT, "byte %zu is not UTF-8", good + 1);
    if (t->family != NULL) return rill_family_split(t->family, ctx, bytes, length, fn, user);
    if (t->kind == RILL_TOKENIZER_WHITESPACE) return rill_for_each_word(bytes, length, fn, user);
    if (t->kind == RILL_TOKENIZER_MOSES_BPE)
        return rill_moses_bpe_split(t->bpe, ctx, RILL_SIDE_TARGET, bytes, length, fn, user);
    return rill_spm_encode(t->target_spm, ctx, bytes, length, fn, user);
}

/* --- sentences ---------------------------------------------------------------------------------------------------- */

int rill_tokenizer_is_translation(const rill_tokenizer *t, const char *bytes, size_t length, size_t *head)
{
    *head = 0;
    if (t->family != NULL) return rill_family_is_translation(t->family, bytes, length, head);
    if (t->kind == RILL_TOKENIZER_WHITESPACE) return -1;
    if (t->kind == RILL_TOKENIZER_SENTENCEPIECE) *head = language_tag_length(bytes, length);
    while (*head > 0 && *head < length && bytes[*head] == ' ') ++*head;
    return 1;
}

/* --- special tokens ----------------------------------------------------------------------------------------------- */

const rill_vocabulary *rill_tokenizer_source_vocab(const rill_tokenizer *t)
{
    return t->source;
}

const rill_vocabulary *rill_tokenizer_target_vocab(const rill_tokenizer *t)
{
    return t->target;
}

int32_t rill_tokenizer_source_bos(const rill_tokenizer *t)
{
    return t->source_bos;
}

int32_t rill_tokenizer_source_eos(const rill_tokenizer *t)
{
    return t->source_eos;
}

int rill_tokenizer_is_family(const rill_tokenizer *t)
{
    return t->family != NULL;
}

int32_t rill_tokenizer_unk(const rill_tokenizer *t)
{
    return t->family != NULL ? t->unk : rill_vocabulary_id(t->target, UNKNOWN, sizeof UNKNOWN - 1);
}

rill_status rill_tokenizer_check_languages(const rill_tokenizer *t, rill_context *ctx)
{
    return t->family != NULL ? rill_languages_check(t->family, ctx) : RILL_OK;
}

const char *const *rill_tokenizer_languages(const rill_tokenizer *t)
{
    return t->family != NULL ? t->family->language_names : NULL;
}
