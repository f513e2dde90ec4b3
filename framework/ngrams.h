/* Posteriors of n-grams of one input: a trie per phase, level by level.
 *
 * Level m has the n-grams of m + 1 actions, in lexicographic order, so that those that extend an n-gram of level m - 1 by one action
 * are one range of it, ascending by that action. A table is one block of words, which is also what a file has of it:
 *
 *     count[phase][level]   then of each phase and level: action[n] · posterior[n] · first[n + 1], but for the last level
 *
 * where the children of node i are those from first[i] to first[i + 1] of the next level. */
#ifndef RILL_NGRAMS_H
#define RILL_NGRAMS_H

#include "internal.h"
#include "rill/evidence.h"

enum { NGRAM_PHASES = 8 };

typedef struct ngram_level {
    int32_t n;
    const int32_t *action;
    const float *posterior;
    const int32_t *first; /* NULL: the last level */
} ngram_level;

/* An n-gram that something has; -1 behind its last action. */
typedef struct ngram_occurrence {
    int32_t phase, action[RILL_NGRAM_MAX];
    int32_t entry;
    double mass; /* of the n-gram, once masses are known */
} ngram_occurrence;

typedef struct ngram_edge {
    int32_t from, to, action;
    double score;
} ngram_edge;

struct rill_ngrams {
    rill_context *ctx;
    rill_evidence_kind kind;
    uint32_t *word; /* [n_words] */
    size_t n_words, words_capacity;
    ngram_level level[NGRAM_PHASES][RILL_NGRAM_MAX];
    /* What it is made of. */
    double *score; /* [n_entries] */
    size_t n_entries, scores_capacity;
    ngram_edge *edge; /* [n_edges] */
    size_t n_edges, edges_capacity;
    ngram_occurrence *occurrence; /* [n_occurrences] */
    size_t n_occurrences, occurrences_capacity;
};

/* A range of a level: n-grams that have all but their last action in common. */
typedef struct ngram_range {
    int32_t begin, end;
} ngram_range;

/* Those of m + 1 actions that extend the n-gram context[0, m), oldest action first; m < 4. */
ngram_range ngrams_extend(const rill_ngrams *g, int32_t phase, const int32_t *context, int32_t m);

/* Note that `entry` has the n-gram. */
rill_status ngrams_add(rill_ngrams *g, int32_t phase, const int32_t *action, int32_t m, int32_t entry);
/* Whether two are the same n-gram. */
static inline int ngrams_same(const ngram_occurrence *a, const ngram_occurrence *b)
{
    return a->phase == b->phase && memcmp(a->action, b->action, sizeof a->action) == 0;
}
/* Put what was seen in order. */
void ngrams_sort(rill_ngrams *g);
/* Each once, in the order of the first, `n_occurrences` of them, whose masses are known: make the table. */
rill_status ngrams_build(rill_ngrams *g);

/* lattice.c: each n-gram of the lattice once, with its mass. */
rill_status ngrams_from_lattice(rill_ngrams *g, double scale);

/* Find the levels of the words, which may be anyone's. 0: they are no table of this kind. */
int ngrams_set_levels(rill_ngrams *g);
/* Room for so many words, which become the table's. */
rill_status ngrams_reserve(rill_ngrams *g, size_t n_words);

#endif
