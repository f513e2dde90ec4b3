/* Encodes texts to token ids and decodes ids, for the tokenizer of a model family; see family.h.
 *
 * An input is split at its added tokens. SentencePiece or the pipeline splits the text between them into subword tokens.
 * Divisions: subword tokens · encoding · decoding · splitting without ids. */
#include "family.h"

#include <string.h>

#include "domain_base.h"

/* --- subword tokens ----------------------------------------------------------------------------------------------- */

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

/* --- encoding ----------------------------------------------------------------------------------------------------- */

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

/* --- decoding ----------------------------------------------------------------------------------------------------- */

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

static rill_status append_text(void *user, const char *bytes, size_t length)
{
    return rill_text_append(user, bytes, length);
}

static rill_status join_tokens(const rill_family_tokenizer *t, size_t n, const char *const *piece, const size_t *length,
                               rill_text *out)
{
    if (n == 0) return RILL_OK;
    const size_t from = out->length;
    if (t->spm != NULL)
        TRY(rill_spm_decode(t->spm, out->ctx, n, piece, length, append_text, out));
    else
        TRY(rill_pipeline_join(t->pipeline, n, piece, length, out));
    if (t->clean_up_spaces) clean_up_spaces(out, from);
    rill_tokenizer_tidy_spaces(out, from);
    return RILL_OK;
}

/* Append the text of n actions to `out`; `piece` and `length` are scratch arrays of n elements. */
static rill_status write_actions(const rill_family_tokenizer *t, size_t n, const int32_t *action, const char **piece,
                                 size_t *length, rill_text *out)
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
    if (status == RILL_OK) status = write_actions(t, n, action, piece, length, out);
    FREE_ARRAY(out->ctx, piece, pieces_capacity);
    FREE_ARRAY(out->ctx, length, lengths_capacity);
    return status;
}

/* --- splitting without ids ---------------------------------------------------------------------------------------- */

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
