/* Posteriors of n-grams of one input: a trie per phase, stored level by level.
 *
 * Level m has the n-grams of m + 1 actions in lexicographic order, so the extensions of an n-gram of level m - 1 form one range, ascending
 * by their last action. A table is one block of 32-bit words, stored in files as is:
 *
 *     count[phase][level]   then for each phase and level: action[n] · posterior[n] · first[n + 1] (the last level has no `first`)
 *
 * The extensions of n-gram i of a level are n-grams first[i] to first[i + 1] - 1 of the next level. */
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

/* An occurrence of an n-gram in an entry (output) of an n-best list. `action` is -1 after the n-gram's last action. */
typedef struct ngram_occurrence {
    int32_t phase, action[RILL_NGRAM_MAX];
    int32_t entry;
    double mass; /* posterior of the n-gram, once computed: total probability of the entries that contain it */
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
    /* The data from which the table is computed: scores of n-best entries, or lattice edges; then the occurrences of n-grams in them. */
    double *score; /* [n_entries] */
    size_t n_entries, scores_capacity;
    ngram_edge *edge; /* [n_edges] */
    size_t n_edges, edges_capacity;
    ngram_occurrence *occurrence; /* [n_occurrences] */
    size_t n_occurrences, occurrences_capacity;
};

/* A range of a level: n-grams that differ only in their last action. */
typedef struct ngram_range {
    int32_t begin, end;
} ngram_range;

/* The n-grams of m + 1 actions that extend context[0, m), oldest action first; m < 4. */
ngram_range ngrams_extend(const rill_ngrams *g, int32_t phase, const int32_t *context, int32_t m);

/* Validate the words, which may come from a file, and point `level` into them. Returns 0 if they are not a valid table of g->kind. */
int ngrams_set_levels(rill_ngrams *g);
/* Reserve n_words words; the table owns them. */
rill_status ngrams_reserve(rill_ngrams *g, size_t n_words);

#endif
