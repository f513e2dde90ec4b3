/* Posteriors of an input's n-grams (Tromble et al. 2008): a trie per phase, stored level by level.
 *
 * Level m has the n-grams of m + 1 actions in lexicographic order. A table is one block of 32-bit words, as in files:
 *
 *     count[phase][level]   then for each phase and level: action[n] · posterior[n] · first[n + 1] (not on the last level)
 *
 * The extensions of n-gram i are n-grams first[i] to first[i + 1] - 1 of the next level, ascending by last action. */
#pragma once

#include "internal.h"
#include "rill/evidence.h"

enum { NGRAM_PHASES = 8 };

typedef struct ngram_level {
    int32_t n;
    const int32_t *action;
    const float *posterior;
    /* [n + 1] n-gram i has the extensions [first[i], first[i + 1]) in the next level; NULL in the last level */
    const int32_t *first;
} ngram_level;

/* An n-gram of n-best output number `entry`. `action` is filled up with -1. */
typedef struct ngram_occurrence {
    int32_t phase, action[RILL_NGRAM_MAX];
    int32_t entry;
    double mass; /* once computed, the n-gram's posterior: the total probability of the outputs that contain it */
} ngram_occurrence;

typedef struct ngram_edge {
    int32_t from, to, action;
    double score;
} ngram_edge;

struct rill_ngrams {
    rill_context *ctx;
    rill_evidence_kind kind;
    uint32_t *word; /* [n_words] the n-gram table, in the layout at the top of this file */
    size_t n_words, words_capacity;
    ngram_level level[NGRAM_PHASES][RILL_NGRAM_MAX];
    /* Input of the computation: either scores of the n-best outputs, or lattice edges. Below them: the n-grams found in these. */
    double *score; /* [n_entries] score of each output of the n-best list */
    size_t n_entries, scores_capacity;
    ngram_edge *edge; /* [n_edges] edges of the lattice */
    size_t n_edges, edges_capacity;
    ngram_occurrence *occurrence; /* [n_occurrences] n-grams found in the outputs or on the paths of the lattice */
    size_t n_occurrences, occurrences_capacity;
};

/* A range of the n-grams of one order (a level): those that differ only in their last action. */
typedef struct ngram_range {
    int32_t begin, end;
} ngram_range;

/* Return the range of n-grams of m + 1 actions that begin with context[0, m), oldest action first; m < 4. */
ngram_range ngrams_extend(const rill_ngrams *g, int32_t phase, const int32_t *context, int32_t m);

/* Validate the table's memory (32-bit words, perhaps read from a file), and point `level` into it. Returns 0 if it is invalid. */
int ngrams_set_levels(rill_ngrams *g);
/* Reserve memory of n_words 32-bit words; the table owns it. */
rill_status ngrams_reserve(rill_ngrams *g, size_t n_words);
