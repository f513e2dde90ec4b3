/* Byte pair encoding.
 *
 * A round takes the pair that stands first in the file among those in the word and merges it wherever it is, from left
 * to right; pairs that arise meanwhile wait for the next round. A heap of the word's known pairs, by rank and place,
 * finds each round's at once.
 *
 * Invariant: the word's pieces are a list over its characters, each at the index of its first; `next` of the last is
 * the number of characters. A pair in the heap is stale when the pieces at its place are no longer those it was made
 * for, which their lengths tell: pieces only grow.
 *
 * Divisions: merges · the heap · pairs · merging · the whole. */
#include <string.h>

#include "bpe.h"
#include "grow.h"
#include "try.h"

enum { MERGE_LIMIT = 1 << 24 };

static const char WORD_END[] = "</w>";

/* A piece of the word at work: bytes begin .. end - 1 of it. */
typedef struct rill_bpe_piece {
    size_t begin, end;
    size_t before, next; /* neighbours; the first has itself before it */
    int dead;
} rill_bpe_piece;

/* Two neighbours that are in the file. */
typedef struct rill_bpe_pair {
    int32_t rank;
    size_t at;     /* the left one */
    size_t middle; /* where the right one began, and */
    size_t end;    /* ended when the pair was found */
} rill_bpe_pair;

/* --- merges ------------------------------------------------------------------------------------------------------- */

/* A line is two pieces with a blank between them. */
static rill_status check_lines(const rill_vocabulary *merges, rill_context *ctx, const char *name)
{
    for (int32_t i = 0; i < rill_vocabulary_count(merges); i++) {
        size_t length;
        const char *line = rill_vocabulary_token(merges, i, &length);
        const char *blank = memchr(line, ' ', length);
        if (blank == NULL || blank == line || blank + 1 == line + length || strchr(blank + 1, ' ') != NULL)
            return rill_fail(ctx, RILL_ERR_FORMAT, "%s:%d: expected two pieces with a blank between them", name, i + 1);
    }
    return RILL_OK;
}

static rill_status checked(rill_vocabulary **out, rill_context *ctx, const char *name)
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
    return checked(out, ctx, name);
}

rill_status rill_merges_open(rill_vocabulary **out, rill_context *ctx, const char *path)
{
    TRY(rill_vocabulary_open(out, ctx, path, MERGE_LIMIT));
    return checked(out, ctx, path);
}

void rill_bpe_clear(rill_bpe *b)
{
    rill_text_clear(&b->word);
    rill_text_clear(&b->key);
    DROP(b->ctx, b->piece, b->piece_room);
    DROP(b->ctx, b->heap, b->heap_room);
    DROP(b->ctx, b->round, b->round_room);
}

/* --- the heap ----------------------------------------------------------------------------------------------------- */

static int comes_first(const rill_bpe_pair *a, const rill_bpe_pair *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static rill_status push(rill_bpe *b, rill_bpe_pair p)
{
    TRY(GROW(b->ctx, b->heap, b->heap_room, b->pairs + 1, "a word's pairs"));
    size_t at = b->pairs++;
    for (; at > 0 && comes_first(&p, &b->heap[(at - 1) / 2]); at = (at - 1) / 2) b->heap[at] = b->heap[(at - 1) / 2];
    b->heap[at] = p;
    return RILL_OK;
}

static rill_bpe_pair pop(rill_bpe *b)
{
    rill_bpe_pair first = b->heap[0], last = b->heap[--b->pairs];
    size_t at = 0;
    for (size_t child = 1; child < b->pairs; child = 2 * at + 1) {
        if (child + 1 < b->pairs && comes_first(&b->heap[child + 1], &b->heap[child])) child++;
        if (!comes_first(&b->heap[child], &last)) break;
        b->heap[at] = b->heap[child];
        at = child;
    }
    b->heap[at] = last;
    return first;
}

/* --- pairs -------------------------------------------------------------------------------------------------------- */

/* Put the piece at `left` and its right neighbour into the heap, if the file has them. */
static rill_status find_pair(rill_bpe *b, size_t left)
{
    const rill_bpe_piece *l = &b->piece[left];
    if (l->next == b->pieces) return RILL_OK;
    const rill_bpe_piece *r = &b->piece[l->next];
    rill_text_reset(&b->key);
    TRY(rill_text_append(&b->key, b->word.data + l->begin, l->end - l->begin));
    TRY(rill_text_append(&b->key, " ", 1));
    TRY(rill_text_append(&b->key, b->word.data + r->begin, r->end - r->begin));
    int32_t rank = rill_vocabulary_id(b->merges, b->key.data, b->key.length);
    return rank < 0 ? RILL_OK : push(b, (rill_bpe_pair){.rank = rank, .at = left, .middle = r->begin, .end = r->end});
}

static int is_stale(const rill_bpe *b, const rill_bpe_pair *p)
{
    const rill_bpe_piece *l = &b->piece[p->at];
    return l->dead || l->end != p->middle || l->next == b->pieces || b->piece[l->next].end != p->end;
}

/* --- merging ------------------------------------------------------------------------------------------------------ */

static void merge(rill_bpe *b, size_t left)
{
    rill_bpe_piece *l = &b->piece[left], *r = &b->piece[l->next];
    l->end = r->end;
    l->next = r->next;
    r->dead = 1;
    if (l->next < b->pieces) b->piece[l->next].before = left;
}

/* All pairs of the lowest rank, from left to right; then the new ones go into the heap. */
static rill_status run_round(rill_bpe *b)
{
    const int32_t rank = b->heap[0].rank;
    size_t count = 0, merged = 0;
    while (b->pairs > 0 && b->heap[0].rank == rank) {
        TRY(GROW(b->ctx, b->round, b->round_room, count + 1, "a word's pairs"));
        b->round[count++] = pop(b);
    }
    for (size_t i = 0; i < count; i++) {
        if (is_stale(b, &b->round[i])) continue;
        merge(b, b->round[i].at);
        b->round[merged++].at = b->round[i].at;
    }
    for (size_t i = 0; i < merged; i++) {
        const size_t at = b->round[i].at, before = b->piece[at].before;
        /* Two merged neighbours make one pair, which the right one brings. */
        if (before != at) TRY(find_pair(b, before));
        if (i + 1 == merged || b->piece[at].next != b->round[i + 1].at) TRY(find_pair(b, at));
    }
    return RILL_OK;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* One piece per character, the end of the word, if it has one, being part of the last. */
static rill_status cut(rill_bpe *b, const char *word, size_t length)
{
    b->word.ctx = b->key.ctx = b->ctx;
    rill_text_reset(&b->word);
    TRY(rill_text_append(&b->word, word, length));
    if (!b->bare) TRY(rill_text_append(&b->word, WORD_END, sizeof WORD_END - 1));
    TRY(GROW(b->ctx, b->piece, b->piece_room, length, "a word's characters"));
    b->pieces = b->pairs = 0;
    for (size_t i = 0; i < length; i++) {
        if (((unsigned char)word[i] & 0xC0) == 0x80) continue;
        size_t n = b->pieces++;
        b->piece[n] = (rill_bpe_piece){.begin = i, .before = n > 0 ? n - 1 : 0, .next = n + 1};
        if (n > 0) b->piece[n - 1].end = i;
    }
    b->piece[b->pieces - 1].end = b->word.length;
    return RILL_OK;
}

rill_status rill_bpe_split(rill_bpe *b, const char *word, size_t length, rill_word_fn fn, void *user)
{
    TRY(cut(b, word, length));
    for (size_t i = 0; i < b->pieces; i++) TRY(find_pair(b, i));
    while (b->pairs > 0) TRY(run_round(b));
    for (size_t i = 0; i < b->pieces; i = b->piece[i].next)
        TRY(fn(user, b->word.data + b->piece[i].begin, b->piece[i].end - b->piece[i].begin));
    return RILL_OK;
}
