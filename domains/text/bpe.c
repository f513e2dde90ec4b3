/* Byte pair encoding.
 *
 * The rank of a pair is its line number in the merges file. Each round merges all occurrences in the word of the pair with
 * the lowest rank, from left to right; pairs that arise in a round are not merged before the next round. A heap, ordered by
 * rank and position, holds the pairs of the word that the file lists.
 *
 * Invariant: the word's symbols form a doubly linked list. A symbol is stored at the index of its first character, and
 * `next` of the last symbol is the number of characters. A pair in the heap is stale if one of its symbols has been merged
 * since it was pushed, which its stored offsets show.
 *
 * Divisions: merges · the heap · pairs · merging · the whole. */
#include <string.h>

#include "bpe.h"
#include "domain_base.h"

enum { MERGE_LIMIT = 1 << 24 };

static const char WORD_END[] = "</w>";

/* A symbol of the word: its bytes begin .. end - 1. */
typedef struct rill_bpe_symbol {
    size_t begin, end;
    size_t prev, next; /* indices of the neighbours; prev of the first symbol is its own index */
    int merged;
} rill_bpe_symbol;

/* Two adjacent symbols that the merges file lists. */
typedef struct rill_bpe_pair {
    int32_t rank;
    size_t left;        /* index of the left symbol */
    size_t right_begin; /* begin of the right symbol when the pair was pushed */
    size_t end;         /* end of the pair when it was pushed, to recognise a stale pair */
} rill_bpe_pair;

/* --- merges ------------------------------------------------------------------------------------------------------- */

/* Check that each line of a merges file is two tokens separated by a space. */
static rill_status check_lines(const rill_vocabulary *merges, rill_context *ctx, const char *name)
{
    for (int32_t i = 0; i < rill_vocabulary_count(merges); i++) {
        size_t length;
        const char *line = rill_vocabulary_token(merges, i, &length);
        const char *space_at = memchr(line, ' ', length);
        if (space_at == NULL || space_at == line || space_at + 1 == line + length || strchr(space_at + 1, ' ') != NULL)
            return rill_fail(ctx, RILL_ERR_FORMAT, "%s:%d: expected two subword tokens separated by a space", name,
                             i + 1);
    }
    return RILL_OK;
}

static rill_status check_or_close(rill_vocabulary **out, rill_context *ctx, const char *name)
{
    const rill_status status = check_lines(*out, ctx, name);
    if (status == RILL_OK) return RILL_OK;
    rill_vocabulary_close(*out);
    *out = NULL;
    return status;
}

rill_status rill_merges_parse(rill_vocabulary **out, rill_context *ctx, const char *name, const char *bytes,
                              size_t length)
{
    TRY(rill_vocabulary_parse(out, ctx, name, bytes, length, MERGE_LIMIT));
    return check_or_close(out, ctx, name);
}

rill_status rill_merges_open(rill_vocabulary **out, rill_context *ctx, const char *path)
{
    TRY(rill_vocabulary_open(out, ctx, path, MERGE_LIMIT));
    return check_or_close(out, ctx, path);
}

void rill_bpe_clear(rill_bpe *b)
{
    rill_text_clear(&b->word);
    rill_text_clear(&b->key);
    FREE_ARRAY(b->ctx, b->symbols, b->symbols_capacity);
    FREE_ARRAY(b->ctx, b->heap, b->heap_capacity);
    FREE_ARRAY(b->ctx, b->round_pairs, b->round_capacity);
}

/* --- the heap ----------------------------------------------------------------------------------------------------- */

static int comes_first(const rill_bpe_pair *a, const rill_bpe_pair *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->left < b->left;
}

static rill_status heap_push(rill_bpe *b, rill_bpe_pair p)
{
    TRY(GROW(b->ctx, b->heap, b->heap_capacity, b->n_pairs + 1, "a word's pairs"));
    size_t i = b->n_pairs++;
    for (; i > 0 && comes_first(&p, &b->heap[(i - 1) / 2]); i = (i - 1) / 2) b->heap[i] = b->heap[(i - 1) / 2];
    b->heap[i] = p;
    return RILL_OK;
}

static rill_bpe_pair heap_pop(rill_bpe *b)
{
    rill_bpe_pair first = b->heap[0], last = b->heap[--b->n_pairs];
    size_t i = 0;
    for (size_t child = 1; child < b->n_pairs; child = 2 * i + 1) {
        if (child + 1 < b->n_pairs && comes_first(&b->heap[child + 1], &b->heap[child])) child++;
        if (!comes_first(&b->heap[child], &last)) break;
        b->heap[i] = b->heap[child];
        i = child;
    }
    b->heap[i] = last;
    return first;
}

/* --- pairs -------------------------------------------------------------------------------------------------------- */

/* Push the pair of the symbol at index `left` and its right neighbour onto the heap, if the merges file lists it. */
static rill_status push_known_pair(rill_bpe *b, size_t left)
{
    const rill_bpe_symbol *l = &b->symbols[left];
    if (l->next == b->n_symbols) return RILL_OK;
    const rill_bpe_symbol *r = &b->symbols[l->next];
    rill_text_reset(&b->key);
    TRY(rill_text_append(&b->key, b->word.data + l->begin, l->end - l->begin));
    TRY(rill_text_append(&b->key, " ", 1));
    TRY(rill_text_append(&b->key, b->word.data + r->begin, r->end - r->begin));
    int32_t rank = rill_vocabulary_id(b->merges, b->key.data, b->key.length);
    return rank < 0 ? RILL_OK
                    : heap_push(b, (rill_bpe_pair){.rank = rank, .left = left, .right_begin = r->begin, .end = r->end});
}

static int is_stale(const rill_bpe *b, const rill_bpe_pair *p)
{
    const rill_bpe_symbol *l = &b->symbols[p->left];
    return l->merged || l->end != p->right_begin || l->next == b->n_symbols || b->symbols[l->next].end != p->end;
}

/* --- merging ------------------------------------------------------------------------------------------------------ */

static void merge_pair(rill_bpe *b, size_t left)
{
    rill_bpe_symbol *l = &b->symbols[left], *r = &b->symbols[l->next];
    l->end = r->end;
    l->next = r->next;
    r->merged = 1;
    if (l->next < b->n_symbols) b->symbols[l->next].prev = left;
}

/* Merge all pairs of the lowest rank, from left to right; then push the new pairs. */
static rill_status merge_lowest_rank(rill_bpe *b)
{
    const int32_t rank = b->heap[0].rank;
    size_t count = 0, merged = 0;
    while (b->n_pairs > 0 && b->heap[0].rank == rank) {
        TRY(GROW(b->ctx, b->round_pairs, b->round_capacity, count + 1, "a word's pairs"));
        b->round_pairs[count++] = heap_pop(b);
    }
    for (size_t i = 0; i < count; i++) {
        if (is_stale(b, &b->round_pairs[i])) continue;
        merge_pair(b, b->round_pairs[i].left);
        b->round_pairs[merged++].left = b->round_pairs[i].left;
    }
    for (size_t i = 0; i < merged; i++) {
        const size_t left = b->round_pairs[i].left, prev = b->symbols[left].prev;
        /* If the right neighbour was also merged in this round, it pushes the pair of both. */
        if (prev != left) TRY(push_known_pair(b, prev));
        if (i + 1 == merged || b->symbols[left].next != b->round_pairs[i + 1].left) TRY(push_known_pair(b, left));
    }
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Make one symbol for each character of the word; the mark </w>, if used, is part of the last symbol. */
static rill_status init_symbols(rill_bpe *b, const char *word, size_t length)
{
    b->word.ctx = b->key.ctx = b->ctx;
    rill_text_reset(&b->word);
    TRY(rill_text_append(&b->word, word, length));
    if (!b->no_end_mark) TRY(rill_text_append(&b->word, WORD_END, sizeof WORD_END - 1));
    TRY(GROW(b->ctx, b->symbols, b->symbols_capacity, length, "a word's characters"));
    b->n_symbols = b->n_pairs = 0;
    for (size_t i = 0; i < length; i++) {
        if (((unsigned char)word[i] & 0xC0) == 0x80) continue;
        size_t n = b->n_symbols++;
        b->symbols[n] = (rill_bpe_symbol){.begin = i, .prev = n > 0 ? n - 1 : 0, .next = n + 1};
        if (n > 0) b->symbols[n - 1].end = i;
    }
    b->symbols[b->n_symbols - 1].end = b->word.length;
    return RILL_OK;
}

rill_status rill_bpe_split(rill_bpe *b, const char *word, size_t length, rill_word_fn fn, void *user)
{
    TRY(init_symbols(b, word, length));
    for (size_t i = 0; i < b->n_symbols; i++) TRY(push_known_pair(b, i));
    while (b->n_pairs > 0) TRY(merge_lowest_rank(b));
    for (size_t i = 0; i < b->n_symbols; i = b->symbols[i].next)
        TRY(fn(user, b->word.data + b->symbols[i].begin, b->symbols[i].end - b->symbols[i].begin));
    return RILL_OK;
}
