/* Which models can decode together, and what they can do then.
 *
 * The models of an ensemble may differ in everything but what goes in and comes out: the vocabularies of both sides, number
 * by number, and the symbols that end an output or are never one. Their answers become one in the program (program.c).
 * Divisions: what must be equal · what is agreed on. */
#include <stdio.h>
#include <string.h>

#include "seq2seq.h"

/* --- what must be equal ------------------------------------------------------------------------------------------- */

/* What matching passes around. */
typedef struct match {
    const seq_net *first, *other;
    const char *home, *directory;
} match;

static rill_status check_vocabulary(const match *of, const char *side, const rill_vocabulary *a,
                                    const rill_vocabulary *b)
{
    const int32_t n = rill_vocabulary_count(a), found = rill_vocabulary_count(b);
    for (int32_t i = 0; i < n && i < found; i++) {
        const char *x = rill_vocabulary_token(a, i, NULL), *y = rill_vocabulary_token(b, i, NULL);
        if (strcmp(x, y) != 0)
            return rill_fail(
                of->first->ctx, RILL_ERR_FORMAT,
                "%s: the %s vocabulary is not that of %s: number %d is \"%.60s\" there and \"%.60s\" here; "
                "the models of an ensemble share their vocabularies",
                of->directory, side, of->home, i, x, y);
    }
    if (n == found) return RILL_OK;
    return rill_fail(
        of->first->ctx, RILL_ERR_FORMAT,
        "%s: the %s vocabulary is not that of %s: it has %d entries there and %d here, so that number %d is "
        "in one of them only; the models of an ensemble share their vocabularies",
        of->directory, side, of->home, n, found, n < found ? n : found);
}

static rill_status check_symbol(const match *of, const char *key, int32_t expected, int32_t found)
{
    if (expected == found) return RILL_OK;
    return rill_fail(of->first->ctx, RILL_ERR_FORMAT, "%s: %s: expected %d, as in %s, found %d", of->directory, key,
                     expected, of->home, found);
}

rill_status seq_match(const seq_net *first, const char *home, const seq_net *other, const char *directory)
{
    const match of = {.first = first, .other = other, .home = home, .directory = directory};
    const rill_codec *a = first->text, *b = other->text;
    TRY(check_vocabulary(&of, "source", rill_codec_source(a), rill_codec_source(b)));
    TRY(check_vocabulary(&of, "target", rill_codec_target(a), rill_codec_target(b)));
    TRY(check_symbol(&of, "the number of target symbols", first->actions, other->actions));
    TRY(check_symbol(&of, "eos_token_id", first->end, other->end));
    TRY(check_symbol(&of, "the source's first symbol", first->source_begin, other->source_begin));
    TRY(check_symbol(&of, "the source's end symbol", first->source_end, other->source_end));
    return check_symbol(&of, "pad_token_id", first->pad, other->pad);
}

/* --- what is agreed on -------------------------------------------------------------------------------------------- */

static int32_t lesser(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

void seq_agree(seq_model *m)
{
    const seq_net *first = m->net[0];
    const char *several = first->kind->several;
    m->usual = first->usual;
    m->positions = first->positions;
    m->most_length = first->most_length;
    m->max_length = first->max_length;
    for (size_t i = 0; i < m->nets; i++) {
        m->paths |= m->net[i]->kind->reads == SEQ_READS_PATH;
        m->parents |= m->net[i]->kind->reads == SEQ_READS_PARENT;
    }
    m->state_need = m->paths || first->kind->watches ? RILL_STATE_PATH : RILL_STATE_PARENT;
    snprintf(m->description, sizeof m->description, "%s", first->description);
    if (m->nets == 1) return;
    for (size_t i = 1; i < m->nets; i++) {
        if (m->net[i]->kind != first->kind) several = "models";
        m->usual = lesser(m->usual, m->net[i]->usual);
        m->positions = lesser(m->positions, m->net[i]->positions);
        m->most_length = lesser(m->most_length, m->net[i]->most_length);
        m->max_length = lesser(m->max_length, m->net[i]->max_length);
    }
    snprintf(m->description, sizeof m->description, "ensemble of %zu %s: %d and %d symbols", m->nets, several,
             first->words, first->actions);
}
