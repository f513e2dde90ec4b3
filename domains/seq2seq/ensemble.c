/* Ensembles: compatibility checks and combined limits.
 *
 * The models of an ensemble may differ in everything except both vocabularies, which must be equal id by id, and the
 * ids of special tokens. The graph mixes their distributions (seq2seq_graph.c).
 * Divisions: compatibility · combined limits. */
#include <stdio.h>
#include <string.h>

#include "seq2seq.h"

/* --- compatibility ------------------------------------------------------------------------------------------------ */

/* Two nets and their directories: `first` is in `home`, `other` in `directory`. */
typedef struct match_context {
    const seq_net *first, *other;
    const char *home, *directory;
} match_context;

static rill_status check_vocabulary(const match_context *context, const char *side, const rill_vocabulary *a,
                                    const rill_vocabulary *b)
{
    const int32_t n = rill_vocabulary_count(a), found = rill_vocabulary_count(b);
    for (int32_t i = 0; i < n && i < found; i++) {
        const char *x = rill_vocabulary_token(a, i, NULL), *y = rill_vocabulary_token(b, i, NULL);
        if (strcmp(x, y) != 0)
            return rill_fail(
                context->first->ctx, RILL_ERR_FORMAT,
                "%s: the %s vocabulary differs from that of %s: token %d is \"%.60s\" there and \"%.60s\" here; "
                "all models of an ensemble need the same vocabularies",
                context->directory, side, context->home, i, x, y);
    }
    if (n == found) return RILL_OK;
    return rill_fail(
        context->first->ctx, RILL_ERR_FORMAT,
        "%s: the %s vocabulary differs from that of %s: it has %d entries there and %d here, so token %d is in one "
        "of them only; all models of an ensemble need the same vocabularies",
        context->directory, side, context->home, n, found, n < found ? n : found);
}

static rill_status check_same_id(const match_context *context, const char *key, int32_t expected, int32_t found)
{
    if (expected == found) return RILL_OK;
    return rill_fail(context->first->ctx, RILL_ERR_FORMAT, "%s: %s: expected %d, as in %s, found %d",
                     context->directory, key, expected, context->home, found);
}

rill_status seq_check_compatible(const seq_net *first, const char *home, const seq_net *other, const char *directory)
{
    const match_context context = {.first = first, .other = other, .home = home, .directory = directory};
    const rill_tokenizer *a = first->tokenizer, *b = other->tokenizer;
    TRY(check_vocabulary(&context, "source", rill_tokenizer_source_vocab(a), rill_tokenizer_source_vocab(b)));
    TRY(check_vocabulary(&context, "target", rill_tokenizer_target_vocab(a), rill_tokenizer_target_vocab(b)));
    TRY(check_same_id(&context, "the number of target symbols", first->target_vocab_size, other->target_vocab_size));
    TRY(check_same_id(&context, "eos_token_id", first->eos, other->eos));
    TRY(check_same_id(&context, "the source's first symbol", first->source_bos, other->source_bos));
    TRY(check_same_id(&context, "the source's end symbol", first->source_eos, other->source_eos));
    return check_same_id(&context, "pad_token_id", first->pad, other->pad);
}

/* --- combined limits ---------------------------------------------------------------------------------------------- */

static int32_t min_int32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

void seq_combine_limits(seq_model *m)
{
    const seq_net *first = m->net[0];
    const char *several = first->arch->plural_name;
    m->config_positions = first->config_positions;
    m->max_input_length = first->max_input_length;
    m->max_positions = first->max_positions;
    m->max_length = first->max_length;
    for (size_t i = 0; i < m->n_nets; i++) {
        m->needs_path |= m->net[i]->arch->state_need == SEQ_NEEDS_PATH;
        m->needs_parent |= m->net[i]->arch->state_need == SEQ_NEEDS_PARENT;
    }
    m->state_need = m->needs_path || first->arch->has_alignment ? RILL_STATE_PATH : RILL_STATE_PARENT;
    snprintf(m->description, sizeof m->description, "%s", first->description);
    if (m->n_nets == 1) return;
    for (size_t i = 1; i < m->n_nets; i++) {
        if (m->net[i]->arch != first->arch) several = "models";
        m->config_positions = min_int32(m->config_positions, m->net[i]->config_positions);
        m->max_input_length = min_int32(m->max_input_length, m->net[i]->max_input_length);
        m->max_positions = min_int32(m->max_positions, m->net[i]->max_positions);
        m->max_length = min_int32(m->max_length, m->net[i]->max_length);
    }
    snprintf(m->description, sizeof m->description, "ensemble of %zu %s: %d and %d symbols", m->n_nets, several,
             first->source_vocab_size, first->target_vocab_size);
}
