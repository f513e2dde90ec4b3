/* Texts of a family to numbers, and back; family.h.
 *
 * An input is cut at the added tokens that are written in it; what is between them goes to the SentencePiece model or to the pipeline.
 * Divisions: pieces · reading · writing · what would be written. */
#include "family.h"

#include <string.h>

#include "grow.h"
#include "try.h"

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* Who takes pieces, and what for. */
typedef struct taker {
    const rill_family_text *text;
    rill_context *ctx;
    rill_ids *out;   /* reading */
    rill_word_fn fn; /* else */
    void *user;
    const char *begin; /* of the text */
} taker;

static rill_status split_part(const taker *t, const char *text, size_t length, rill_word_fn fn, void *user)
{
    if (t->text->spm != NULL) return rill_spm_encode(t->text->spm, t->ctx, text, length, fn, user);
    return rill_pipeline_split(t->text->pipeline, t->ctx, text == t->begin, text, length, fn, user);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static rill_status push(rill_ids *out, int32_t id)
{
    TRY(rill_grow(out->ctx, (void **)out->ids, out->room, out->used + 1, sizeof **out->ids, "an input's pieces"));
    (*out->ids)[out->used++] = id;
    return RILL_OK;
}

static rill_status read_piece(void *user, const char *piece, size_t length)
{
    const taker *t = user;
    const int32_t id = rill_vocabulary_id(t->text->vocabulary, piece, length);
    return push(t->out, id >= 0 ? id : t->text->unknown);
}

static rill_status read_part(void *user, const char *text, size_t length)
{
    return split_part(user, text, length, read_piece, user);
}

static rill_status read_token(void *user, const rill_added_token *token)
{
    return push(((const taker *)user)->out, token->id);
}

static rill_status read_text(taker *t, const char *bytes, size_t length)
{
    if (t->text->tokenized) return rill_words_each(bytes, length, read_piece, t);
    t->begin = bytes;
    return rill_tokens_cut(&t->text->tokens, 0, bytes, length, read_part, read_token, t);
}

/* The symbol that stands there; -1: none. */
static int32_t symbol_of(const rill_family_text *t, rill_around what, const rill_turn *turn)
{
    switch (what) {
    case RILL_AROUND_SOURCE: return turn->source;
    case RILL_AROUND_TARGET: return turn->target;
    case RILL_AROUND_BEGIN: return t->begin;
    default: return -1;
    }
}

static rill_opening opening_of(const rill_family_text *t, const rill_turn *turn)
{
    return (rill_opening){.start = t->family.target == RILL_TARGET_START ? turn->target : -1,
                          .first = t->family.target == RILL_TARGET_FIRST ? turn->target : -1};
}

rill_status rill_family_opening(const rill_family_text *t, rill_context *ctx, const char *bytes, size_t length,
                                rill_opening *opening)
{
    rill_turn turn;
    TRY(rill_languages_turn(t, ctx, &bytes, &length, &turn));
    *opening = opening_of(t, &turn);
    return RILL_OK;
}

rill_status rill_family_read(const rill_family_text *t, const char *bytes, size_t length, rill_ids *out,
                             rill_opening *opening)
{
    taker to = {.text = t, .ctx = out->ctx, .out = out};
    const size_t from = out->used;
    rill_turn turn;
    TRY(rill_languages_turn(t, out->ctx, &bytes, &length, &turn));
    *opening = opening_of(t, &turn);
    const int32_t before = symbol_of(t, t->family.before, &turn), behind = symbol_of(t, t->family.behind, &turn);
    if (before >= 0) TRY(push(out, before));
    const size_t first = out->used;
    TRY(read_text(&to, bytes, length));
    if (out->used == first) {
        out->used = from;
        return RILL_OK;
    }
    TRY(push(out, t->end));
    return behind >= 0 ? push(out, behind) : RILL_OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* Blanks before punctuation and shortened words, as transformers takes them out where a folder asks for it; the order counts. */
static void clean(rill_text *out, size_t from)
{
    static const char *const marks[] = {" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're"};
    for (size_t m = 0; m < sizeof marks / sizeof *marks; m++) {
        const size_t n = strlen(marks[m]), kept = m == 4 ? 1 : n - 1; /* of " ' " the sign alone */
        size_t to = from;
        for (size_t at = from; at < out->length;) {
            if (out->length - at >= n && memcmp(out->data + at, marks[m], n) == 0) {
                memmove(out->data + to, out->data + at + 1, kept);
                to += kept;
                at += n;
            } else {
                out->data[to++] = out->data[at++];
            }
        }
        out->length = to;
        if (out->data != NULL) out->data[to] = '\0';
    }
}

static rill_status append_text(void *user, const char *bytes, size_t length)
{
    return rill_text_append(user, bytes, length);
}

static rill_status join(const rill_family_text *t, size_t n, const char *const *piece, const size_t *length,
                        rill_text *out)
{
    if (n == 0) return RILL_OK;
    const size_t from = out->length;
    if (t->spm != NULL)
        TRY(rill_spm_decode(t->spm, out->ctx, n, piece, length, append_text, out));
    else
        TRY(rill_pipeline_join(t->pipeline, n, piece, length, out));
    if (t->clean) clean(out, from);
    rill_codec_tidy(out, from);
    return RILL_OK;
}

/* Of n actions, in arrays that are as long. */
static rill_status write_actions(const rill_family_text *t, size_t n, const int32_t *action, const char **piece,
                                 size_t *length, rill_text *out)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const int flags = t->tokenized ? 0 : rill_tokens_flags(&t->tokens, action[i]);
        if (flags >= 0 && (flags & RILL_TOKEN_SPECIAL) != 0) continue;
        piece[used] = rill_vocabulary_token(t->vocabulary, action[i], &length[used]);
        used++;
    }
    return t->tokenized ? rill_codec_write_pieces(used, piece, length, out) : join(t, used, piece, length, out);
}

rill_status rill_family_write(const rill_family_text *t, size_t n, const int32_t *action, rill_text *out)
{
    const char **piece = NULL;
    size_t *length = NULL, piece_room = 0, length_room = 0;
    rill_status status = GROW(out->ctx, piece, piece_room, n, "an output's pieces");
    if (status == RILL_OK) status = GROW(out->ctx, length, length_room, n, "an output's pieces");
    if (status == RILL_OK) status = write_actions(t, n, action, piece, length, out);
    DROP(out->ctx, piece, piece_room);
    DROP(out->ctx, length, length_room);
    return status;
}

/* --- what would be written ---------------------------------------------------------------------------------------- */

static rill_status hand_on(void *user, const char *piece, size_t length)
{
    const taker *t = user;
    return t->fn(t->user, piece, length);
}

static rill_status split_text(void *user, const char *text, size_t length)
{
    return split_part(user, text, length, hand_on, user);
}

static rill_status split_token(void *user, const rill_added_token *token)
{
    return hand_on(user, token->text.data, token->text.length);
}

/* What is nothing in a text is not looked for in one. */
rill_status rill_family_split(const rill_family_text *t, rill_context *ctx, const char *bytes, size_t length,
                              rill_word_fn fn, void *user)
{
    taker to = {.text = t, .ctx = ctx, .fn = fn, .user = user, .begin = bytes};
    if (t->tokenized) return rill_words_each(bytes, length, fn, user);
    return rill_tokens_cut(&t->tokens, RILL_TOKEN_SPECIAL, bytes, length, split_text, split_token, &to);
}
