/* The lexicon: closing, and the three tables that the reader fills and questions probe.
 *
 *   words  the word of each number, in an array; and the number of each word, in an open-addressed hash table
 *   trie   (state, word) -> state, one open-addressed table of edges for all states; the candidates (meanings) of a state
 *          are a list
 *   types  an array short enough for linear search
 *
 * Invariant: a hash table is at most half full, so a probe for a missing key is short. Entries are never removed.
 * Sections: hashing, words, trie, types, closing. */
#include <string.h>

#include "domain_base.h"
#include "lexicon.h"
#include "rill/file.h"

uint64_t rill__hash(uint64_t hash, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

/* Return the index in the hash table of the word's entry, or of the empty entry where the word would go. */
static size_t word_slot(const rill_lexicon *lexicon, const char *data, size_t length)
{
    size_t i = rill__hash(RILL__HASH_START, data, length) & lexicon->word_mask;
    for (;; i = (i + 1) & lexicon->word_mask) {
        int32_t id = lexicon->word_slots[i];
        if (id == RILL__NONE) return i;
        if (rill_slice_equal(lexicon->words[id], (rill_slice){data, length})) return i;
    }
}

int32_t rill__lexicon_word(const rill_lexicon *lexicon, const char *data, size_t length)
{
    if (lexicon->word_count == 0) return RILL__NONE;
    return lexicon->word_slots[word_slot(lexicon, data, length)];
}

static rill_status grow_word_index(rill_lexicon *lexicon)
{
    const size_t size = lexicon->word_slots ? (lexicon->word_mask + 1) * 2 : 1024;
    TRY(GROW(&lexicon->arena, lexicon->word_slots, size, "lexicon word index"));
    lexicon->word_mask = size - 1;
    for (size_t i = 0; i < size; i++) lexicon->word_slots[i] = RILL__NONE;
    for (size_t id = 0; id < lexicon->word_count; id++)
        lexicon->word_slots[word_slot(lexicon, lexicon->words[id].data, lexicon->words[id].length)] = (int32_t)id;
    return RILL_OK;
}

rill_status rill__lexicon_intern(rill_lexicon *lexicon, rill_slice word, int32_t *out)
{
    if (!lexicon->word_slots || lexicon->word_count * 2 > lexicon->word_mask) TRY(grow_word_index(lexicon));
    size_t slot = word_slot(lexicon, word.data, word.length);
    if (lexicon->word_slots[slot] == RILL__NONE) {
        PUSH(&lexicon->arena, lexicon->words, lexicon->word_count, word, "lexicon words");
        lexicon->word_slots[slot] = (int32_t)lexicon->word_count - 1;
    }
    *out = lexicon->word_slots[slot];
    return RILL_OK;
}

/* --- trie --------------------------------------------------------------------------------------------------------- */

static size_t edge_slot(const rill_lexicon *lexicon, int32_t state, int32_t word)
{
    int32_t key[2] = {state, word};
    size_t i = rill__hash(RILL__HASH_START, key, sizeof key) & lexicon->edge_mask;
    for (;; i = (i + 1) & lexicon->edge_mask) {
        const rill__edge *edge = &lexicon->edges[i];
        if (edge->state == RILL__NONE || (edge->state == state && edge->word == word)) return i;
    }
}

int32_t rill__lexicon_next_state(const rill_lexicon *lexicon, int32_t state, int32_t word)
{
    if (word == RILL__NONE || !lexicon->edges) return RILL__NONE;
    const rill__edge *edge = &lexicon->edges[edge_slot(lexicon, state, word)];
    return edge->state == RILL__NONE ? RILL__NONE : edge->next;
}

static rill_status grow_edges(rill_lexicon *lexicon)
{
    rill__edge *old = lexicon->edges;
    const size_t old_size = old ? lexicon->edge_mask + 1 : 0, size = old ? old_size * 2 : 1024;
    TRY(rill_arena_alloc(&lexicon->arena, &lexicon->edges, size, sizeof *old, "lexicon trie"));
    for (size_t i = 0; i < size; i++) lexicon->edges[i].state = RILL__NONE;
    lexicon->edge_mask = size - 1;
    for (size_t i = 0; i < old_size; i++)
        if (old[i].state != RILL__NONE) lexicon->edges[edge_slot(lexicon, old[i].state, old[i].word)] = old[i];
    rill_arena_free(&lexicon->arena, old);
    return RILL_OK;
}

static rill_status add_state(rill_lexicon *lexicon, int32_t *out)
{
    PUSH(&lexicon->arena, lexicon->states, lexicon->state_count, RILL__NONE, "lexicon trie states");
    *out = (int32_t)lexicon->state_count - 1;
    return RILL_OK;
}

rill_status rill__lexicon_add_state(rill_lexicon *lexicon, int32_t state, int32_t word, int32_t *out)
{
    if (!lexicon->edges || lexicon->edge_count * 2 > lexicon->edge_mask) TRY(grow_edges(lexicon));
    rill__edge *edge = &lexicon->edges[edge_slot(lexicon, state, word)];
    if (edge->state == RILL__NONE) {
        int32_t next;
        TRY(add_state(lexicon, &next));
        *edge = (rill__edge){.state = state, .word = word, .next = next};
        lexicon->edge_count++;
    }
    *out = edge->next;
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

int rill_lexicon_is_placeholder(const rill_lexicon *lexicon, const char *token, size_t length)
{
    int64_t number;
    return rill__lexicon_placeholder(lexicon, token, length, &number) != RILL__NONE;
}

/* --- closing ------------------------------------------------------------------------------------------------------ */

void rill_lexicon_close(rill_lexicon *lexicon)
{
    if (!lexicon) return;
    rill_context *ctx = lexicon->ctx;
    rill_text_clear(&lexicon->source);
    rill_arena_clear(&lexicon->arena);
    rill_free(ctx, lexicon, sizeof *lexicon);
}
