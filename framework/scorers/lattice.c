/* Exact posteriors of the n-grams of a lattice.
 *
 * A backward pass first converts edge scores to conditional probabilities, so that a path's probability is the product of its edges'. Then
 * a forward pass runs for each n-gram, of m actions. For each node and each j < m it computes a mass: the total probability of the paths to
 * the node that end with the n-gram's first j actions (matched length j) and do not contain the whole n-gram. The mass of paths that
 * complete the n-gram is added to its posterior and is not carried on. Nodes are processed in numeric order, since edges lead to higher
 * nodes. In a domain of several phases, edges of another phase than the n-gram's do not change the matched length.
 *
 * Divisions: the graph · n-grams · masses. */
#include <math.h>
#include <stdlib.h>

#include "ngrams.h"

typedef struct lattice {
    rill_ngrams *g;
    int32_t nodes;
    double *beta;   /* [nodes] logarithm of the summed weights of all paths from the node to the last node */
    double *mass;   /* [nodes, 4] mass of the paths to the node, by matched length */
    int32_t *first; /* [nodes + 1] edges [first[i], first[i + 1]) leave node i */
    int32_t *phase; /* [nodes] phase of the edges that leave the node; -1: the node is unreachable */
} lattice;

/* --- the graph -------------------------------------------------------------------------------------------------------- */

/* A total order, so that sums do not depend on the sort. */
static int compare_edges(const void *left, const void *right)
{
    const ngram_edge *a = left, *b = right;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    if (a->to != b->to) return a->to < b->to ? -1 : 1;
    if (a->action != b->action) return a->action < b->action ? -1 : 1;
    return a->score > b->score ? -1 : a->score < b->score;
}

static rill_status make_graph(lattice *l)
{
    rill_ngrams *g = l->g;
    for (size_t i = 0; i < g->n_edges; i++)
        if (g->edge[i].to >= l->nodes) l->nodes = g->edge[i].to + 1;
    const size_t n = (size_t)l->nodes;
    l->beta = rill_calloc(g->ctx, n, sizeof *l->beta);
    l->mass = rill_calloc(g->ctx, n, RILL_NGRAM_MAX * sizeof *l->mass);
    l->first = rill_calloc(g->ctx, n + 1, sizeof *l->first);
    l->phase = rill_calloc(g->ctx, n, sizeof *l->phase);
    if (l->beta == NULL || l->mass == NULL || l->first == NULL || l->phase == NULL)
        return rill_fail_memory(g->ctx, n * RILL_NGRAM_MAX * sizeof *l->mass, "a lattice");
    qsort(g->edge, g->n_edges, sizeof *g->edge, compare_edges);
    for (size_t i = 0; i < g->n_edges; i++) l->first[g->edge[i].from + 1]++;
    for (size_t i = 0; i < n; i++) l->first[i + 1] += l->first[i];
    return RILL_OK;
}

static void free_graph(lattice *l)
{
    rill_context *ctx = l->g->ctx;
    const size_t n = (size_t)l->nodes;
    rill_free(ctx, l->beta, n * sizeof *l->beta);
    rill_free(ctx, l->mass, n * RILL_NGRAM_MAX * sizeof *l->mass);
    rill_free(ctx, l->first, (n + 1) * sizeof *l->first);
    rill_free(ctx, l->phase, n * sizeof *l->phase);
}

static double log_sum(double a, double b)
{
    const double larger_term = a > b ? a : b, smaller_term = a > b ? b : a;
    return isinf(larger_term) ? larger_term : larger_term + log1p(exp(smaller_term - larger_term));
}

/* Convert each edge's score to the probability that a path takes the edge, given that it reaches the edge's start node. */
static rill_status normalize_edges(lattice *l, double scale)
{
    ngram_edge *edge = l->g->edge;
    l->beta[l->nodes - 1] = 0;
    for (int32_t node = l->nodes - 2; node >= 0; node--) {
        l->beta[node] = -INFINITY;
        for (int32_t i = l->first[node]; i < l->first[node + 1]; i++)
            l->beta[node] = log_sum(l->beta[node], scale * edge[i].score + l->beta[edge[i].to]);
    }
    if (isinf(l->beta[0]))
        return rill_fail(l->g->ctx, RILL_ERR_INPUT, "no path leads from node 0 to node %d", l->nodes - 1);
    for (size_t i = 0; i < l->g->n_edges; i++) {
        const double from = l->beta[edge[i].from], to = l->beta[edge[i].to];
        edge[i].score = isinf(to) ? 0 : exp(scale * edge[i].score + to - from);
    }
    return RILL_OK;
}

/* Whether any path takes the edge. */
static int edge_is_used(const lattice *l, const ngram_edge *edge)
{
    return l->phase[edge->from] >= 0 && edge->score > 0;
}

static rill_status find_phases(lattice *l)
{
    const rill_ngrams *g = l->g;
    for (int32_t node = 1; node < l->nodes; node++) l->phase[node] = -1;
    for (size_t i = 0; i < g->n_edges; i++) {
        const ngram_edge *edge = &g->edge[i];
        if (!edge_is_used(l, edge)) continue;
        const int32_t phase = (l->phase[edge->from] + 1) % g->kind.phases;
        if (l->phase[edge->to] >= 0 && l->phase[edge->to] != phase)
            return rill_fail(g->ctx, RILL_ERR_INPUT, "paths reach node %d in phase %d and in phase %d", edge->to,
                             l->phase[edge->to], phase);
        l->phase[edge->to] = phase;
    }
    return RILL_OK;
}

/* --- n-grams ---------------------------------------------------------------------------------------------------------- */

/* Add the n-grams that consist of gram[0, m) and at least one more action, on paths that start at the node. */
static rill_status add_ngrams_from(lattice *l, int32_t node, int32_t phase, int32_t *gram, int32_t m)
{
    rill_ngrams *g = l->g;
    for (int32_t i = l->first[node]; m < RILL_NGRAM_MAX && i < l->first[node + 1]; i++) {
        const ngram_edge *edge = &g->edge[i];
        const int in_phase = l->phase[node] == phase;
        if (!edge_is_used(l, edge)) continue;
        gram[m] = edge->action;
        if (in_phase) RILL__TRY(ngrams_add(g, phase, gram, m + 1, 0));
        RILL__TRY(add_ngrams_from(l, edge->to, phase, gram, m + in_phase));
    }
    return RILL_OK;
}

/* Remove duplicate n-grams. This is done repeatedly, since paths with common parts produce the same n-grams over and over. */
static void merge_duplicates(rill_ngrams *g)
{
    size_t n = 0;
    ngrams_sort(g);
    for (size_t i = 0; i < g->n_occurrences; i++)
        if (n == 0 || !ngrams_same(&g->occurrence[n - 1], &g->occurrence[i])) g->occurrence[n++] = g->occurrence[i];
    g->n_occurrences = n;
}

static rill_status add_all_ngrams(lattice *l)
{
    enum { MERGE_EVERY = 1 << 16 };
    size_t united = 0;
    int32_t gram[RILL_NGRAM_MAX];
    for (int32_t node = 0; node < l->nodes - 1; node++) {
        if (l->phase[node] >= 0) RILL__TRY(add_ngrams_from(l, node, l->phase[node], gram, 0));
        if (l->g->n_occurrences < united + MERGE_EVERY) continue;
        merge_duplicates(l->g);
        united = l->g->n_occurrences;
    }
    merge_duplicates(l->g);
    return RILL_OK;
}

/* --- masses ----------------------------------------------------------------------------------------------------------- */

/* Matched length of the n-gram after `action`, given the matched length `held` before. */
static int32_t match_length(const int32_t *gram, int32_t m, int32_t held, int32_t action)
{
    for (int32_t length = held + 1; length > 0; length--) {
        if (gram[length - 1] != action || length > m) continue;
        /* The last length - 1 actions of the matched part must be a prefix of the n-gram. */
        if (memcmp(gram, gram + held - (length - 1), (size_t)(length - 1) * sizeof *gram) == 0) return length;
    }
    return 0;
}

static double ngram_mass(lattice *l, const ngram_occurrence *occurrence)
{
    const rill_ngrams *g = l->g;
    double mass = 0;
    int32_t m = 0;
    while (m < RILL_NGRAM_MAX && occurrence->action[m] >= 0) m++;
    memset(l->mass, 0, (size_t)l->nodes * RILL_NGRAM_MAX * sizeof *l->mass);
    l->mass[0] = 1;
    for (size_t i = 0; i < g->n_edges; i++) {
        const ngram_edge *edge = &g->edge[i];
        const double *from = l->mass + (size_t)edge->from * RILL_NGRAM_MAX;
        double *to = l->mass + (size_t)edge->to * RILL_NGRAM_MAX;
        if (!edge_is_used(l, edge)) continue;
        for (int32_t held = 0; held < m; held++) {
            if (from[held] == 0) continue;
            const int in_phase = l->phase[edge->from] == occurrence->phase;
            const int32_t now = in_phase ? match_length(occurrence->action, m, held, edge->action) : held;
            *(now == m ? &mass : &to[now]) += from[held] * edge->score;
        }
    }
    return mass;
}

rill_status ngrams_from_lattice(rill_ngrams *g, double scale)
{
    lattice l = {.g = g};
    rill_status status = make_graph(&l);
    if (status >= 0) status = normalize_edges(&l, scale);
    if (status >= 0) status = find_phases(&l);
    if (status >= 0) status = add_all_ngrams(&l);
    for (size_t i = 0; status >= 0 && i < g->n_occurrences; i++)
        g->occurrence[i].mass = ngram_mass(&l, &g->occurrence[i]);
    free_graph(&l);
    return status;
}
