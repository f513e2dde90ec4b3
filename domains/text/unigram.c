/* Unigram tokenization: finds the segmentation of a word with the highest sum of token scores, by Viterbi; see pipeline.h.
 *
 * Source: Kudo, Subword regularization, 2018. Of segmentations with equal sums the first one found is taken, where positions
 * are visited from left to right and tokens from short to long, as in the tokenizers library.
 * Invariant: best[i] is the last token of the best segmentation of the word's first i bytes, for i at character boundaries. */
#include <stdlib.h>
#include <string.h>

#include "domain_base.h"
#include "pipeline.h"

typedef struct best_cut {
    double score;
    size_t from; /* offset of its last token */
    int32_t id;  /* id of the best segmentation's last token; -1: no segmentation yet */
} best_cut;

/* --- tokens in order ---------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b, void *user)
{
    const rill_vocabulary *v = user;
    return strcmp(rill_vocabulary_token(v, *(const int32_t *)a, NULL),
                  rill_vocabulary_token(v, *(const int32_t *)b, NULL));
}

/* Sort the ids of the unigram model's tokens. Added tokens have higher ids and are not included: words are not split into
 * them. */
rill_status rill_unigram_sort_vocabulary(rill_pipeline *p)
{
    TRY(rill_arena_alloc(&p->arena, &p->sorted_ids, p->n_scores, sizeof *p->sorted_ids, p->name));
    for (size_t i = 0; i < p->n_scores; i++) p->sorted_ids[i] = (int32_t)i;
    qsort_r(p->sorted_ids, p->n_scores, sizeof *p->sorted_ids, compare, (void *)(uintptr_t)p->vocabulary);
    return RILL_OK;
}

/* The tokens sorted_ids[low .. high) have the same first n bytes. Return the index of the first whose next byte is at least
 * `byte`. */
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

/* --- the best segmentation ---------------------------------------------------------------------------------------- */

static void update_best(best_cut *best, size_t from, size_t to, int32_t id, double score)
{
    const double sum = best[from].score + score;
    if (best[to].id >= 0 && sum <= best[to].score) return;
    best[to] = (best_cut){sum, from, id};
}

static size_t character_length(const char *text, size_t length)
{
    size_t n = 1;
    while (n < length && ((unsigned char)text[n] & 0xC0) == 0x80) n++;
    return n;
}

/* Update `best` by all tokens that start at offset `from`. If the character there is not itself a token, it may become an
 * unknown token. */
static void try_tokens_from(const rill_pipeline *p, const char *word, size_t length, size_t from, best_cut *best)
{
    const size_t one = character_length(word + from, length - from);
    size_t low = 0, high = p->n_scores;
    int single = 0;
    for (size_t n = 0; from + n < length && low < high; n++) {
        const int byte = (unsigned char)word[from + n];
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

/* Call fn with the tokens of the best segmentation in order; adjacent unknown tokens become one. `ends`: offsets of the n
 * tokens' ends, last first. */
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
    rill_arena arena = {.ctx = ctx};
    best_cut *best;
    size_t *ends, n = 0;
    rill_status status = rill_arena_alloc(&arena, &best, length + 1, sizeof *best, "a word");
    if (status == RILL_OK) status = rill_arena_alloc(&arena, &ends, length + 1, sizeof *ends, "a word");
    if (status == RILL_OK) {
        for (size_t i = 0; i <= length; i++) best[i] = (best_cut){.id = -1};
        for (size_t from = 0; from < length; from += character_length(word + from, length - from))
            try_tokens_from(p, word, length, from, best);
        for (size_t pos = length; pos > 0; pos = best[pos].from) ends[n++] = pos;
        status = emit_pieces(p, word, best, ends, n, fn, user);
    }
    rill_arena_clear(&arena);
    return status;
}
