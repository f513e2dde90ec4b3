/* The lexicon: closing, and the tables that the reader fills and questions probe.
 *
 *   words  a vocabulary: the number of each word
 *   trie   a vocabulary of the pairs (state, word): pair i is the only edge to state i + 1; a state has a list of candidates
 *   types  an array short enough for linear search */
#include "lexicon.h"
#include "domain_base.h"

/* --- trie --------------------------------------------------------------------------------------------------------- */

int32_t rill__lexicon_next_state(const rill_lexicon *lexicon, int32_t state, int32_t word)
{
    const int32_t pair[] = {state, word};
    if (word == RILL__NONE) return RILL__NONE;
    const int32_t edge = rill_vocabulary_id(lexicon->edges, (const char *)pair, sizeof pair);
    return edge >= 0 ? edge + 1 : RILL__NONE;
}

rill_status rill__lexicon_add_state(rill_lexicon *lexicon, int32_t state, int32_t word, int32_t *out)
{
    const int32_t pair[] = {state, word};
    int32_t edge;
    TRY(rill_vocabulary_intern(lexicon->edges, (const char *)pair, sizeof pair, &edge));
    *out = edge + 1;
    if ((size_t)*out == lexicon->state_count)
        PUSH(&lexicon->arena, lexicon->states, lexicon->state_count, RILL__NONE, "lexicon trie states");
    return RILL_OK;
}

/* --- types -------------------------------------------------------------------------------------------------------- */

int32_t rill__lexicon_type(const rill_lexicon *lexicon, const char *data, size_t length)
{
    for (size_t i = 0; i < lexicon->type_count; i++)
        if (rill_slice_equal(lexicon->types[i].name, (rill_slice){data, length})) return (int32_t)i;
    return RILL__NONE;
}

int32_t rill__lexicon_placeholder(const rill_lexicon *lexicon, const char *data, size_t length, int64_t *number)
{
    size_t name = length;
    while (name > 0 && data[name - 1] >= '0' && data[name - 1] <= '9') name--;
    if (name == 0 || length - name > 9) return RILL__NONE;
    int32_t type = rill__lexicon_type(lexicon, data, name);
    if (type == RILL__NONE || lexicon->types[type].unnumbered != (name == length)) return RILL__NONE;
    *number = 0;
    for (size_t i = name; i < length; i++) *number = *number * 10 + (data[i] - '0');
    return type;
}

/* --- closing ------------------------------------------------------------------------------------------------------ */

void rill_lexicon_close(rill_lexicon *lexicon)
{
    if (!lexicon) return;
    rill_context *ctx = lexicon->ctx;
    rill_vocabulary_close(lexicon->words);
    rill_vocabulary_close(lexicon->edges);
    rill_text_clear(&lexicon->source);
    rill_arena_clear(&lexicon->arena);
    rill_free(ctx, lexicon, sizeof *lexicon);
}
