/* Text of translation models: vocabularies, language tags, and the door to SentencePiece and to FSMT's tokeniser.
 *
 * Source: transformers' tokenization_marian.py. Its punctuation normaliser is never called there and has no counterpart
 * here.
 * Deviations: a tag the vocabulary does not know is an error where other tags are known and ordinary text where none is
 * (there it becomes <unk>); the first "<<" ends a tag (there the last).
 *
 * Divisions: opening · reading · writing · what would be written · symbols. */
#include <stdio.h>
#include <string.h>

#include "actions.h"
#include "blocks.h"
#include "fsmt.h"
#include "rill/file.h"
#include "spm.h"
#include "text.h"
#include "try.h"
#include "utf8.h"
#include "vocabulary.h"

struct mt_text {
    rill_context *ctx;
    int tokenized;
    int shared;                       /* what is read belongs to another */
    rill_vocabulary *source, *target; /* may be the same */
    mt_spm *segment, *join;           /* of the source and the target side; NULL when tokenized or FSMT's */
    mt_fsmt *fsmt;                    /* NULL when tokenized or Marian's */
    int32_t unknown;                  /* source symbol for pieces without number */
    int has_tags;                     /* the source vocabulary has pieces of the form >>xx<< */
    const char **piece;               /* of the output at work */
    size_t *length;
    size_t piece_room, length_room;
};

static const char UNKNOWN[] = "<unk>";

/* --- opening ------------------------------------------------------------------------------------------------------ */

static rill_status open_vocabularies(mt_text *t, rill_text *path, const mt_text_files *files)
{
    TRY(rill_path_join(path, files->directory, files->source));
    TRY(rill_vocabulary_open_json(&t->source, t->ctx, path->data, files->words));
    t->unknown = rill_vocabulary_id(t->source, UNKNOWN, sizeof UNKNOWN - 1);
    if (t->unknown < 0) return rill_fail(t->ctx, RILL_ERR_FORMAT, "%s: expected a token %s", path->data, UNKNOWN);
    TRY(rill_path_join(path, files->directory, files->target));
    rill_status status = rill_vocabulary_open_json(&t->target, t->ctx, path->data, files->actions);
    if (status != RILL_ERR_NOT_FOUND || !files->optional) return status;
    rill_error_clear(t->ctx);
    t->target = t->source;
    if (rill_vocabulary_count(t->target) <= files->actions) return RILL_OK;
    return rill_fail(t->ctx, RILL_ERR_FORMAT,
                     "%s: expected target symbols of their own, since decoder_vocab_size is %d", path->data,
                     files->actions);
}

static rill_status open_spm(mt_text *t, rill_text *path, const char *directory, const char *name, mt_spm **out)
{
    rill_text bytes = {.ctx = t->ctx};
    TRY(rill_path_join(path, directory, name));
    rill_status status = rill_file_read(&bytes, path->data, RILL_FILE_TEXT_MAX);
    if (status == RILL_OK) status = mt_spm_open(out, t->ctx, path->data, bytes.data, bytes.length);
    rill_text_clear(&bytes);
    return status;
}

/* The length of the tag of the form >>xx<< that the text begins with, 0 if it does not. */
static size_t tag_length(const char *text, size_t length)
{
    if (length < 5 || memcmp(text, ">>", 2) != 0) return 0;
    for (size_t i = 2; i + 1 < length && (unsigned char)text[i] > ' '; i++)
        if (text[i] == '<' && text[i + 1] == '<') return i > 2 ? i + 2 : 0;
    return 0;
}

static void find_tags(mt_text *t)
{
    for (int32_t i = 0; i < rill_vocabulary_count(t->source) && !t->has_tags; i++) {
        size_t length;
        const char *token = rill_vocabulary_token(t->source, i, &length);
        t->has_tags = length > 0 && tag_length(token, length) == length;
    }
}

/* What makes pieces of text and text of pieces. */
static rill_status open_tokeniser(mt_text *t, rill_text *path, const mt_text_files *files)
{
    if (t->tokenized) return RILL_OK;
    if (files->fsmt) return mt_fsmt_open(&t->fsmt, t->ctx, files->directory);
    TRY(open_spm(t, path, files->directory, "source.spm", &t->segment));
    TRY(open_spm(t, path, files->directory, "target.spm", &t->join));
    find_tags(t);
    return RILL_OK;
}

static rill_status open_all(mt_text *t, const mt_text_files *files)
{
    rill_text path = {.ctx = t->ctx};
    rill_status status = open_vocabularies(t, &path, files);
    if (status == RILL_OK) status = open_tokeniser(t, &path, files);
    rill_text_clear(&path);
    return status;
}

rill_status mt_text_open(mt_text **out, rill_context *ctx, const mt_text_files *files)
{
    *out = NULL;
    mt_text *t = rill_calloc(ctx, 1, sizeof *t);
    if (t == NULL) return rill_fail_memory(ctx, sizeof *t, "vocabularies");
    t->ctx = ctx;
    t->tokenized = files->tokenized;
    rill_status status = open_all(t, files);
    if (status == RILL_OK)
        *out = t;
    else
        mt_text_close(t);
    return status;
}

rill_status mt_text_share(mt_text **out, rill_context *ctx, const mt_text *text)
{
    *out = NULL;
    mt_text *t = rill_alloc(ctx, sizeof *t);
    if (t == NULL) return rill_fail_memory(ctx, sizeof *t, "vocabularies");
    *t = *text;
    t->ctx = ctx;
    t->shared = 1;
    t->fsmt = NULL;
    t->piece = NULL, t->length = NULL;
    t->piece_room = t->length_room = 0;
    rill_status status = text->fsmt != NULL ? mt_fsmt_share(&t->fsmt, ctx, text->fsmt) : RILL_OK;
    if (status == RILL_OK)
        *out = t;
    else
        mt_text_close(t);
    return status;
}

static void close_read(mt_text *t)
{
    mt_spm_close(t->segment);
    mt_spm_close(t->join);
    if (t->target != t->source) rill_vocabulary_close(t->target);
    rill_vocabulary_close(t->source);
}

void mt_text_close(mt_text *t)
{
    if (t == NULL) return;
    if (!t->shared) close_read(t);
    mt_fsmt_close(t->fsmt);
    rill_free(t->ctx, t->piece, t->piece_room * sizeof *t->piece);
    rill_free(t->ctx, t->length, t->length_room * sizeof *t->length);
    rill_free(t->ctx, t, sizeof *t);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

typedef struct appender {
    const mt_text *text;
    mt_ids *out;
} appender;

static rill_status append(void *user, const char *piece, size_t length)
{
    const appender *a = user;
    mt_ids *out = a->out;
    int32_t id = rill_vocabulary_id(a->text->source, piece, length);
    TRY(rill_grow(out->ctx, (void **)out->ids, out->room, out->used + 1, sizeof **out->ids, "an input's pieces"));
    (*out->ids)[out->used++] = id >= 0 ? id : a->text->unknown;
    return RILL_OK;
}

/* Append the tag's number; *length is 0 when what looks like one is text to this model. */
static rill_status read_tag(appender *a, const char *text, size_t *length)
{
    const mt_text *t = a->text;
    if (*length == 0) return RILL_OK;
    if (rill_vocabulary_id(t->source, text, *length) >= 0) return append(a, text, *length);
    if (t->has_tags)
        return rill_fail(t->ctx, RILL_ERR_INPUT, "the model does not know the language tag %.*s", (int)*length, text);
    *length = 0;
    return RILL_OK;
}

rill_status mt_text_read(mt_text *t, const char *bytes, size_t length, mt_ids *out)
{
    appender a = {.text = t, .out = out};
    size_t good = rill_utf8_check(bytes, length), tag;
    if (good < length) return rill_fail(t->ctx, RILL_ERR_INPUT, "byte %zu is not UTF-8", good + 1);
    if (t->tokenized) return rill_words_each(bytes, length, append, &a);
    if (t->fsmt != NULL) return mt_fsmt_split(t->fsmt, MT_SOURCE_TEXT, bytes, length, append, &a);
    tag = tag_length(bytes, length);
    TRY(read_tag(&a, bytes, &tag));
    return mt_spm_encode(t->segment, t->ctx, bytes + tag, length - tag, append, &a);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* A vocabulary in JSON may have pieces with line feeds, which would end the output's line: they become blanks. */
static rill_status write_pieces(const mt_text *t, size_t n, rill_text *out)
{
    size_t from = out->length;
    for (size_t i = 0; i < n; i++) {
        if (i > 0) TRY(rill_text_append(out, " ", 1));
        TRY(rill_text_append(out, t->piece[i], t->length[i]));
    }
    for (size_t i = from; i < out->length; i++)
        if (out->data[i] == '\n' || out->data[i] == '\r') out->data[i] = ' ';
    return RILL_OK;
}

/* Take the text over with a blank for each word boundary, which pieces unknown to the library keep, and for line feeds,
 * which its bytes can spell and which would end the output's line; without blanks at its ends. */
static rill_status append_text(void *user, const char *bytes, size_t length)
{
    static const char boundary[] = "\xE2\x96\x81";
    rill_text *out = user;
    size_t from = out->length, to = from, blanks = 0;
    TRY(rill_text_append(out, bytes, length));
    if (length == 0) return RILL_OK;
    for (size_t i = 0; i < length; i++) {
        const int bounds = length - i >= 3 && memcmp(bytes + i, boundary, 3) == 0;
        if (bounds) i += 2;
        if (bounds || bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\r') {
            blanks++;
            continue;
        }
        if (to == from) blanks = 0;
        for (; blanks > 0; blanks--) out->data[to++] = ' ';
        out->data[to++] = bytes[i];
    }
    out->length = to;
    out->data[to] = '\0';
    return RILL_OK;
}

/* Symbols that are nothing in a text; those of SentencePiece it knows itself. */
static int is_special(const mt_text *t, const char *piece)
{
    static const char *const others[] = {"<s>", "<pad>", "</s>"};
    for (size_t i = 0; t->fsmt != NULL && i < sizeof others / sizeof *others; i++)
        if (strcmp(piece, others[i]) == 0) return 1;
    return strcmp(piece, UNKNOWN) == 0;
}

rill_status mt_text_write(mt_text *t, size_t n, const int32_t *action, rill_text *out)
{
    TRY(rill_grow(t->ctx, (void **)&t->piece, &t->piece_room, n, sizeof *t->piece, "an output's pieces"));
    TRY(rill_grow(t->ctx, (void **)&t->length, &t->length_room, n, sizeof *t->length, "an output's pieces"));
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        t->piece[used] = mt_text_piece(t, action[i], &t->length[used]);
        used += t->tokenized || !is_special(t, t->piece[used]);
    }
    if (t->tokenized || used == 0) return write_pieces(t, used, out);
    if (t->fsmt != NULL) return mt_fsmt_join(t->fsmt, used, t->piece, t->length, out);
    return mt_spm_decode(t->join, t->ctx, used, t->piece, t->length, append_text, out);
}

/* --- what would be written ---------------------------------------------------------------------------------------- */

/* The tokeniser has memory of its own, which is that of another thread. */
static rill_status split_as_fsmt(const mt_text *t, rill_context *ctx, const char *bytes, size_t length, mt_piece_fn fn,
                                 void *user)
{
    mt_fsmt *own;
    TRY(mt_fsmt_share(&own, ctx, t->fsmt));
    rill_status status = mt_fsmt_split(own, MT_TARGET_TEXT, bytes, length, fn, user);
    mt_fsmt_close(own);
    return status;
}

rill_status mt_text_split(const mt_text *t, rill_context *ctx, const char *bytes, size_t length, mt_piece_fn fn,
                          void *user)
{
    size_t good = rill_utf8_check(bytes, length);
    if (good < length) return rill_fail(ctx, RILL_ERR_INPUT, "byte %zu is not UTF-8", good + 1);
    if (t->tokenized) return rill_words_each(bytes, length, fn, user);
    if (t->fsmt != NULL) return split_as_fsmt(t, ctx, bytes, length, fn, user);
    return mt_spm_encode(t->join, ctx, bytes, length, fn, user);
}

/* --- symbols ------------------------------------------------------------------------------------------------------ */

const rill_vocabulary *mt_text_source(const mt_text *t)
{
    return t->source;
}

const rill_vocabulary *mt_text_target(const mt_text *t)
{
    return t->target;
}

int32_t mt_text_actions(const mt_text *t)
{
    return rill_vocabulary_count(t->target);
}

const char *mt_text_piece(const mt_text *t, int32_t action, size_t *length)
{
    return rill_vocabulary_token(t->target, action, length);
}

int32_t mt_text_action(const mt_text *t, const char *piece, size_t length)
{
    return rill_vocabulary_id(t->target, piece, length);
}
