/* Splits a word into subword tokens by byte pair encoding (BPE) or unigram.
 *
 * BPE: each round merges the pair with the lowest rank (line in the merges file) everywhere. A heap orders pairs by rank and position.
 * A pair in the heap is stale if its offsets have changed.
 *
 * Unigram (Kudo, Subword regularization, 2018): Viterbi search for the highest sum of token scores, ties to the first. */
#include "segmenters.h"

#include <stdlib.h>
#include <string.h>

#include "rill/file.h"

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

/* --- merge rules -------------------------------------------------------------------------------------------------- */

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

rill_status rill_merges_parse(rill_vocabulary **out, rill_context *ctx, const char *name, const char *bytes,
                              size_t length)
{
    TRY(rill_vocabulary_parse(out, ctx, name, bytes, length, MERGE_LIMIT));
    return RILL_OPENED(check_lines(*out, ctx, name), out, rill_vocabulary_close);
}

rill_status rill_merges_open(rill_vocabulary **out, rill_context *ctx, const char *path)
{
    static const char version[] = "#version";
    SCOPED(rill_text_clear) rill_text text = {.ctx = ctx};
    *out = NULL;
    TRY(rill_file_read(&text, path, RILL_FILE_TEXT_MAX));
    const size_t line = strncmp(text.data, version, sizeof version - 1) == 0 ? strcspn(text.data, "\n") + 1 : 0;
    const size_t from = line < text.length ? line : text.length;
    return rill_merges_parse(out, ctx, path, text.data + from, text.length - from);
}

void rill_bpe_clear(rill_bpe *b)
{
    rill_text_clear(&b->word);
    rill_text_clear(&b->key);
    rill_arena_clear(&b->arena);
}

/* --- heap of merges ----------------------------------------------------------------------------------------------- */

static int comes_first(const rill_bpe_pair *a, const rill_bpe_pair *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->left < b->left;
}

static rill_status heap_push(rill_bpe *b, rill_bpe_pair p)
{
    TRY(GROW(&b->arena, b->heap, b->n_pairs + 1, "a word's pairs"));
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

/* --- pairs that may merge ----------------------------------------------------------------------------------------- */

/* Push the pair of the symbol `left` and its right neighbour if the merges file lists it. */
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

/* --- merging symbols ---------------------------------------------------------------------------------------------- */

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
    while (b->n_pairs > 0 && b->heap[0].rank == rank)
        PUSH(&b->arena, b->round_pairs, count, heap_pop(b), "a word's pairs");
    for (size_t i = 0; i < count; i++) {
        if (is_stale(b, &b->round_pairs[i])) continue;
        merge_pair(b, b->round_pairs[i].left);
        b->round_pairs[merged++].left = b->round_pairs[i].left;
    }
    for (size_t i = 0; i < merged; i++) {
        const size_t left = b->round_pairs[i].left, prev = b->symbols[left].prev;
        /* If the right neighbour was also merged in this round, its own iteration pushes the pair of the two
         * symbols. */
        if (prev != left) TRY(push_known_pair(b, prev));
        if (i + 1 == merged || b->symbols[left].next != b->round_pairs[i + 1].left) TRY(push_known_pair(b, left));
    }
    return RILL_OK;
}

/* --- words of byte pair encoding ---------------------------------------------------------------------------------------------------- */

/* Make a symbol per character of the word. The mark </w>, if used, is part of the last one. Leading bytes that begin no character are a
 * symbol too. */
static rill_status init_symbols(rill_bpe *b, const char *word, size_t length)
{
    b->word.ctx = b->key.ctx = b->arena.ctx = b->ctx;
    rill_text_reset(&b->word);
    TRY(rill_text_append(&b->word, word, length));
    if (!b->no_end_mark) TRY(rill_text_append(&b->word, WORD_END, sizeof WORD_END - 1));
    TRY(GROW(&b->arena, b->symbols, length, "a word's characters"));
    b->n_symbols = b->n_pairs = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && ((unsigned char)word[i] & 0xC0) == 0x80) continue;
        size_t n = b->n_symbols++;
        b->symbols[n] = (rill_bpe_symbol){.begin = i, .prev = n > 0 ? n - 1 : 0, .next = n + 1};
        if (n > 0) b->symbols[n - 1].end = i;
    }
    b->symbols[b->n_symbols - 1].end = b->word.length;
    return RILL_OK;
}

rill_status rill_bpe_split(rill_bpe *b, const char *word, size_t length, rill_word_fn fn, void *user)
{
    if (length == 0) return RILL_OK;
    TRY(init_symbols(b, word, length));
    for (size_t i = 0; i < b->n_symbols; i++) TRY(push_known_pair(b, i));
    while (b->n_pairs > 0) TRY(merge_lowest_rank(b));
    for (size_t i = 0; i < b->n_symbols; i = b->symbols[i].next)
        TRY(fn(user, b->word.data + b->symbols[i].begin, b->symbols[i].end - b->symbols[i].begin));
    return RILL_OK;
}

/* The best segmentation of the first bytes of a word, up to some position. */
typedef struct best_cut {
    double score;
    size_t from; /* offset in the word at which the segmentation's last token begins */
    int32_t id;  /* id of the last token; -1: no segmentation found yet */
} best_cut;

/* --- unigram: tokens in sorted order --------------------------------------------------------------------------------------- */

static int compare_tokens(const void *a, const void *b, void *user)
{
    const rill_vocabulary *v = user;
    return strcmp(rill_vocabulary_token(v, *(const int32_t *)a, NULL),
                  rill_vocabulary_token(v, *(const int32_t *)b, NULL));
}

/* Sort the ids by the tokens' bytes. Added tokens, which have higher ids, are excluded: no word contains them. */
rill_status rill_pipeline_set_vocabulary(rill_pipeline *p, const rill_vocabulary *vocabulary)
{
    p->vocabulary = vocabulary;
    if (p->n_scores == 0) return RILL_OK;
    TRY(rill_arena_alloc(&p->arena, &p->sorted_ids, p->n_scores, sizeof *p->sorted_ids, p->name));
    for (size_t i = 0; i < p->n_scores; i++) p->sorted_ids[i] = (int32_t)i;
    qsort_r(p->sorted_ids, p->n_scores, sizeof *p->sorted_ids, compare_tokens, (void *)(uintptr_t)p->vocabulary);
    return RILL_OK;
}

/* sorted_ids[low .. high) share n bytes. Returns the first index whose next byte is at least `byte`. */
static size_t lower_bound(const rill_pipeline *p, size_t low, size_t high, size_t n, int byte)
{
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((unsigned char)rill_vocabulary_token(p->vocabulary, p->sorted_ids[middle], NULL)[n] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* --- unigram: the best segmentation ---------------------------------------------------------------------------------------- */

static void update_best(best_cut *best, size_t from, size_t to, int32_t id, double score)
{
    const double sum = best[from].score + score;
    if (best[to].id >= 0 && sum <= best[to].score) return;
    best[to] = (best_cut){sum, from, id};
}

/* Extend the best segmentation that ends at `from` by each token that begins there. If the first character is no token, it may become an
 * unknown token. */
static void try_tokens_from(const rill_pipeline *p, const char *word, size_t length, size_t from, best_cut *best)
{
    const size_t one = rill_utf8_skip(word + from, length - from);
    size_t low = 0, high = p->n_scores;
    int single = 0;
    for (size_t n = 0; from + n < length && low < high; n++) {
        const int byte = (unsigned char)word[from + n];
        if (byte == 0) break; /* tokens contain no NUL; bytes after the NUL that ends a token may not be read */
        low = lower_bound(p, low, high, n, byte);
        high = lower_bound(p, low, high, n, byte + 1);
        if (low == high) break;
        size_t token;
        const int32_t id = p->sorted_ids[low];
        rill_vocabulary_token(p->vocabulary, id, &token);
        if (token != n + 1) continue;
        update_best(best, from, from + token, id, p->score[id]);
        single |= token == one;
    }
    if (!single) update_best(best, from, from + one, p->unk_id, p->unk_score);
}

/* Call fn with each token of the best segmentation; adjacent unknown tokens become one. `ends`: end offsets of the n tokens, last first. */
static rill_status emit_pieces(const rill_pipeline *p, const char *word, const best_cut *best, size_t *ends, size_t n,
                               rill_word_fn fn, void *user)
{
    for (size_t i = n; i > 0; i--) {
        size_t from = best[ends[i - 1]].from, to = ends[i - 1];
        if (best[to].id == p->unk_id)
            for (; i > 1 && best[ends[i - 2]].id == p->unk_id; i--) to = ends[i - 2];
        TRY(fn(user, word + from, to - from));
    }
    return RILL_OK;
}

rill_status rill_unigram_split(const rill_pipeline *p, rill_context *ctx, const char *word, size_t length,
                               rill_word_fn fn, void *user)
{
    SCOPED(rill_arena_clear) rill_arena arena = {.ctx = ctx};
    best_cut *best;
    size_t *ends, n = 0;
    TRY(rill_arena_alloc(&arena, &best, length + 1, sizeof *best, "a word"));
    TRY(rill_arena_alloc(&arena, &ends, length + 1, sizeof *ends, "a word"));
    for (size_t i = 0; i <= length; i++) best[i] = (best_cut){.id = -1};
    for (size_t from = 0; from < length; from += rill_utf8_skip(word + from, length - from))
        try_tokens_from(p, word, length, from, best);
    for (size_t pos = length; pos > 0; pos = best[pos].from) ends[n++] = pos;
    return emit_pieces(p, word, best, ends, n, fn, user);
}
