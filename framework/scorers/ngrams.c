/* Tables of n-grams (ngrams.h), and exact posteriors from n-best lists and lattices.
 *
 * Lattices: a backward pass makes edge scores conditional probabilities. Then a forward pass per n-gram sums the probability of paths that
 * contain it. */
#include "ngrams.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "rill/carve.h"

/* maximum number of nodes in a lattice: without it, a mistyped node number could allocate all memory */
enum { MAX_NODES = 1 << 20 };

/* --- creation ----------------------------------------------------------------------------------------------------- */

rill_status rill_ngrams_create(rill_ngrams **out, rill_context *ctx, const rill_evidence_kind *kind)
{
    *out = NULL;
    rill_evidence_kind own;
    RILL__TRY(rill_copy_struct(ctx, "rill_evidence_kind", &own, sizeof own, kind, offsetof(rill_evidence_kind, names)));
    if (own.actions < 1 || own.phases < 1 || own.phases > NGRAM_PHASES)
        return rill_fail(ctx, RILL_ERR_ARGUMENT, "cannot count n-grams of %d actions in %d phases", own.actions,
                         own.phases);
    rill_ngrams *g = rill_calloc(ctx, 1, sizeof *g);
    if (g == NULL) return rill_fail_memory(ctx, sizeof *g, "n-grams");
    g->ctx = ctx;
    g->kind = own;
    *out = g;
    return RILL_OK;
}

void rill_ngrams_free(rill_ngrams *g)
{
    if (g == NULL) return;
    rill_context *ctx = g->ctx;
    rill_free(ctx, g->word, g->words_capacity * sizeof *g->word);
    rill_free(ctx, g->score, g->scores_capacity * sizeof *g->score);
    rill_free(ctx, g->edge, g->edges_capacity * sizeof *g->edge);
    rill_free(ctx, g->occurrence, g->occurrences_capacity * sizeof *g->occurrence);
    rill_free(ctx, g, sizeof *g);
}

void rill_ngrams_begin(rill_ngrams *g)
{
    g->n_words = g->n_entries = g->n_edges = g->n_occurrences = 0;
    memset(g->level, 0, sizeof g->level);
}

/* --- occurrences of n-grams --------------------------------------------------------------------------------------- */

/* Record that output `entry` of the n-best list contains the n-gram action[0, m). */
static rill_status add_occurrence(rill_ngrams *g, int32_t phase, const int32_t *action, int32_t m, int32_t entry)
{
    RILL__TRY(RILL__GROW(g->ctx, g->occurrence, g->occurrences_capacity, g->n_occurrences + 1, "n-grams"));
    ngram_occurrence *occurrence = &g->occurrence[g->n_occurrences++];
    *occurrence = (ngram_occurrence){.phase = phase, .action = {-1, -1, -1, -1}, .entry = entry};
    memcpy(occurrence->action, action, (size_t)m * sizeof *action);
    return RILL_OK;
}

static rill_status check_ngram_entry(const rill_ngrams *g, const int32_t *action, int32_t n, double score)
{
    if (!isfinite(score)) return rill_fail(g->ctx, RILL_ERR_INPUT, "the score %g is not finite", score);
    for (int32_t i = 0; i < n; i++)
        if (action[i] < 0 || action[i] >= g->kind.actions)
            return rill_fail(g->ctx, RILL_ERR_INPUT, "action %d does not exist: the model has %d", action[i],
                             g->kind.actions);
    return RILL_OK;
}

/* Round a score to 9 significant digits, the precision with which n-best lists are written. */
static double rounded(double score)
{
    char text[32];
    rill_print(text, sizeof text, "%.9g", score);
    return rill_read_number(text, NULL);
}

/* Record the n-grams that begin at position i of output `entry` of the n-best list. */
static rill_status add_entry_ngrams(rill_ngrams *g, const int32_t *action, int32_t n, int32_t i, int32_t entry)
{
    int32_t gram[RILL_NGRAM_MAX], m = 0, step = g->kind.phases;
    for (int32_t j = i; j < n && m < RILL_NGRAM_MAX; j += step) {
        gram[m++] = action[j];
        RILL__TRY(add_occurrence(g, i % step, gram, m, entry));
    }
    return RILL_OK;
}

rill_status rill_ngrams_entry(rill_ngrams *g, const int32_t *action, int32_t n, double score)
{
    const size_t old_n = g->n_occurrences;
    RILL__TRY(check_ngram_entry(g, action, n, score));
    if (g->n_edges > 0)
        return rill_fail(g->ctx, RILL_ERR_INPUT,
                         "a list entry follows edges of a lattice: an input has one or the other");
    rill_status status = RILL__GROW(g->ctx, g->score, g->scores_capacity, g->n_entries + 1, "n-grams");
    for (int32_t i = 0; status >= 0 && i < n; i++) status = add_entry_ngrams(g, action, n, i, (int32_t)g->n_entries);
    if (status < 0) {
        g->n_occurrences = old_n;
        return status;
    }
    g->score[g->n_entries++] = rounded(score);
    return RILL_OK;
}

rill_status rill_ngrams_edge(rill_ngrams *g, int32_t from, int32_t to, int32_t action, double score)
{
    RILL__TRY(check_ngram_entry(g, &action, 1, score));
    if (from < 0 || to <= from || to >= MAX_NODES)
        return rill_fail(g->ctx, RILL_ERR_INPUT,
                         "the edge from node %d to node %d must lead to a larger node number, below %d", from, to,
                         MAX_NODES);
    if (g->n_entries > 0)
        return rill_fail(g->ctx, RILL_ERR_INPUT, "an edge follows list entries: an input has one or the other");
    RILL__TRY(RILL__GROW(g->ctx, g->edge, g->edges_capacity, g->n_edges + 1, "a lattice"));
    g->edge[g->n_edges++] = (ngram_edge){from, to, action, rounded(score)};
    return RILL_OK;
}

static int compare_occurrences(const void *left, const void *right)
{
    const ngram_occurrence *a = left, *b = right;
    if (a->phase != b->phase) return a->phase < b->phase ? -1 : 1;
    for (int i = 0; i < RILL_NGRAM_MAX; i++)
        if (a->action[i] != b->action[i]) return a->action[i] < b->action[i] ? -1 : 1;
    return a->entry < b->entry ? -1 : a->entry > b->entry;
}

/* Sort the occurrences by n-gram, and merge equal n-grams. Each output of the n-best list adds its mass once. */
static void merge_duplicates(rill_ngrams *g)
{
    size_t n = 0;
    if (g->n_occurrences > 1) qsort(g->occurrence, g->n_occurrences, sizeof *g->occurrence, compare_occurrences);
    for (size_t i = 0; i < g->n_occurrences; i++) {
        ngram_occurrence *last = n > 0 ? &g->occurrence[n - 1] : NULL;
        const ngram_occurrence now = g->occurrence[i];
        /* 0 for lattices, whose masses are computed later */
        const double mass = g->n_entries > 0 ? g->score[now.entry] : 0;
        if (last == NULL || last->phase != now.phase || memcmp(last->action, now.action, sizeof now.action) != 0) {
            g->occurrence[n] = now;
            g->occurrence[n++].mass = mass;
        } else if (last->entry != now.entry) {
            last->mass += mass;
            last->entry = now.entry;
        }
    }
    g->n_occurrences = n;
}

/* --- lattices ----------------------------------------------------------------------------------------------------- */

typedef struct lattice {
    rill_ngrams *g;
    int32_t nodes;
    rill_columns memory;
    double *beta; /* [nodes] log of the total weight of all paths from the lattice node to the last one */
    /* [nodes] probability of the paths that reach a lattice node, by how many of the n-gram's actions they end with */
    double (*mass)[RILL_NGRAM_MAX];
    int32_t *first; /* [nodes + 1] edges first[i] to first[i + 1] - 1 leave lattice node i */
    int32_t *phase; /* [nodes] phase of the edges that leave a lattice node; -1: unreachable */
} lattice;

/* Compare edges for qsort(). Different edges are never equal, so sums over sorted edges do not depend on the sorting algorithm. */
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
    const rill_array columns[] = {RILL_ARRAY(l->beta), RILL_ARRAY(l->mass), RILL_ARRAY(l->first), RILL_ARRAY(l->phase)};
    for (size_t i = 0; i < g->n_edges; i++)
        if (g->edge[i].to >= l->nodes) l->nodes = g->edge[i].to + 1;
    const size_t n = (size_t)l->nodes;
    RILL__TRY(RILL__GROW_COLUMNS(g->ctx, &l->memory, n + 1, columns, "a lattice"));
    qsort(g->edge, g->n_edges, sizeof *g->edge, compare_edges);
    for (size_t i = 0; i < g->n_edges; i++) l->first[g->edge[i].from + 1]++;
    for (size_t i = 0; i < n; i++) l->first[i + 1] += l->first[i];
    return RILL_OK;
}

static double log_sum(double a, double b)
{
    const double larger_term = a > b ? a : b, smaller_term = a > b ? b : a;
    return isinf(larger_term) ? larger_term : larger_term + log1p(exp(smaller_term - larger_term));
}

/* Convert each lattice edge's score to its probability, given that the path reaches its start. */
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

/* Record the n-grams that extend gram[0, m) along lattice paths from a node. */
static rill_status add_path_ngrams(lattice *l, int32_t node, int32_t phase, int32_t *gram, int32_t m)
{
    rill_ngrams *g = l->g;
    for (int32_t i = l->first[node]; m < RILL_NGRAM_MAX && i < l->first[node + 1]; i++) {
        const ngram_edge *edge = &g->edge[i];
        const int in_phase = l->phase[node] == phase;
        if (!edge_is_used(l, edge)) continue;
        gram[m] = edge->action;
        if (in_phase) RILL__TRY(add_occurrence(g, phase, gram, m + 1, 0));
        RILL__TRY(add_path_ngrams(l, edge->to, phase, gram, m + in_phase));
    }
    return RILL_OK;
}

/* Record all n-grams of the lattice. Paths with common parts repeat n-grams, so duplicates are merged from time to time. */
static rill_status add_all_ngrams(lattice *l)
{
    enum { MERGE_EVERY = 1 << 16 };
    size_t merged = 0;
    int32_t gram[RILL_NGRAM_MAX];
    for (int32_t node = 0; node < l->nodes - 1; node++) {
        if (l->phase[node] >= 0) RILL__TRY(add_path_ngrams(l, node, l->phase[node], gram, 0));
        if (l->g->n_occurrences < merged + MERGE_EVERY) continue;
        merge_duplicates(l->g);
        merged = l->g->n_occurrences;
    }
    merge_duplicates(l->g);
    return RILL_OK;
}

/* --- n-gram probabilities in a lattice ---------------------------------------------------------------------------- */

/* Return how many first actions of the n-gram gram[0, m) are matched after `action`, if `held` were matched before it. */
static int32_t match_length(const int32_t *gram, int32_t m, int32_t held, int32_t action)
{
    for (int32_t length = held + 1; length > 0; length--) {
        if (gram[length - 1] != action || length > m) continue;
        /* For a match of `length`, the last length - 1 matched actions must be the n-gram's first ones. */
        if (memcmp(gram, gram + held - (length - 1), (size_t)(length - 1) * sizeof *gram) == 0) return length;
    }
    return 0;
}

static int ngram_level_index(const ngram_occurrence *occurrence)
{
    int level = 0;
    while (level + 1 < RILL_NGRAM_MAX && occurrence->action[level + 1] >= 0) level++;
    return level;
}

static double ngram_mass(lattice *l, const ngram_occurrence *occurrence)
{
    const rill_ngrams *g = l->g;
    double mass = 0;
    const int32_t m = ngram_level_index(occurrence) + 1;
    memset(l->mass, 0, (size_t)l->nodes * sizeof *l->mass);
    l->mass[0][0] = 1;
    for (size_t i = 0; i < g->n_edges; i++) {
        const ngram_edge *edge = &g->edge[i];
        const double *from = l->mass[edge->from];
        double *to = l->mass[edge->to];
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

static rill_status finish_lattice(rill_ngrams *g, double scale)
{
    lattice l = {.g = g};
    rill_status status = make_graph(&l);
    if (status >= 0) status = normalize_edges(&l, scale);
    if (status >= 0) status = find_phases(&l);
    if (status >= 0) status = add_all_ngrams(&l);
    for (size_t i = 0; status >= 0 && i < g->n_occurrences; i++)
        g->occurrence[i].mass = ngram_mass(&l, &g->occurrence[i]);
    rill_columns_free(g->ctx, &l.memory);
    return status;
}

/* --- layout of the table ------------------------------------------------------------------------------------------ */

rill_status ngrams_reserve(rill_ngrams *g, size_t n_words)
{
    g->n_words = 0;
    RILL__TRY(RILL__GROW(g->ctx, g->word, g->words_capacity, n_words, "n-grams"));
    g->n_words = n_words;
    return RILL_OK;
}

static size_t level_words(int level, size_t n)
{
    return 2 * n + (level + 1 < RILL_NGRAM_MAX ? n + 1 : 0);
}

/* Where the next n-gram of one level is written in g->word: the level's arrays, and the number of n-grams already there. */
typedef struct level_writer {
    uint32_t *action, *posterior, *first;
    uint32_t n;
} level_writer;

static void begin_levels(rill_ngrams *g, level_writer (*end)[RILL_NGRAM_MAX])
{
    uint32_t *words = g->word + g->kind.phases * RILL_NGRAM_MAX;
    for (int p = 0; p < g->kind.phases; p++)
        for (int m = 0; m < RILL_NGRAM_MAX; m++) {
            const size_t n = g->word[p * RILL_NGRAM_MAX + m];
            end[p][m] = (level_writer){words, words + n, words + 2 * n, 0};
            words += level_words(m, n);
        }
}

static void append_ngram(level_writer *levels, int m, const ngram_occurrence *occurrence)
{
    level_writer *to = &levels[m];
    const float posterior = occurrence->mass < 1 ? (float)occurrence->mass : 1;
    memcpy(&to->action[to->n], &occurrence->action[m], sizeof *to->action);
    memcpy(&to->posterior[to->n], &posterior, sizeof posterior);
    if (m + 1 < RILL_NGRAM_MAX) to->first[to->n] = levels[m + 1].n;
    to->n++;
}

/* Build the table from `n_occurrences` distinct n-grams, sorted, with known masses. */
static rill_status build_table(rill_ngrams *g)
{
    uint32_t count[NGRAM_PHASES][RILL_NGRAM_MAX] = {{0}};
    level_writer end[NGRAM_PHASES][RILL_NGRAM_MAX];
    const size_t head = (size_t)g->kind.phases * RILL_NGRAM_MAX;
    size_t words = head;
    for (size_t i = 0; i < g->n_occurrences; i++) count[g->occurrence[i].phase][ngram_level_index(&g->occurrence[i])]++;
    for (int p = 0; p < g->kind.phases; p++)
        for (int m = 0; m < RILL_NGRAM_MAX; m++) words += level_words(m, count[p][m]);
    RILL__TRY(ngrams_reserve(g, words));
    memcpy(g->word, count, head * sizeof *g->word);
    begin_levels(g, end);
    for (size_t i = 0; i < g->n_occurrences; i++)
        append_ngram(end[g->occurrence[i].phase], ngram_level_index(&g->occurrence[i]), &g->occurrence[i]);
    for (int p = 0; p < g->kind.phases; p++)
        for (int m = 0; m + 1 < RILL_NGRAM_MAX; m++) end[p][m].first[end[p][m].n] = end[p][m + 1].n;
    return ngrams_set_levels(g) ? RILL_OK : rill_fail(g->ctx, RILL_ERR_INPUT, "an input has too many n-grams");
}

/* --- computing posteriors ----------------------------------------------------------------------------------------- */

/* Convert scores to probabilities that sum to 1. */
static void normalize_scores(rill_ngrams *g, double scale)
{
    double best = g->score[0], sum = 0;
    for (size_t i = 1; i < g->n_entries; i++)
        if (g->score[i] > best) best = g->score[i];
    for (size_t i = 0; i < g->n_entries; i++) sum += g->score[i] = exp(scale * (g->score[i] - best));
    for (size_t i = 0; i < g->n_entries; i++) g->score[i] /= sum;
}

rill_status rill_ngrams_finish(rill_ngrams *g, double scale)
{
    if (!(scale > 0) || !isfinite(scale))
        return rill_fail(g->ctx, RILL_ERR_ARGUMENT, "the scale is %g: expected a number above 0", scale);
    if (g->n_entries == 0 && g->n_edges == 0)
        return rill_fail(g->ctx, RILL_ERR_INPUT, "the evidence of an input has no output");
    if (g->n_edges > 0) {
        RILL__TRY(finish_lattice(g, scale));
    } else {
        normalize_scores(g, scale);
        merge_duplicates(g);
    }
    return build_table(g);
}

/* --- checking stored n-grams -------------------------------------------------------------------------------------- */

static int is_valid_range(const ngram_level *level, int32_t begin, int32_t end)
{
    for (int32_t i = begin + 1; i < end; i++)
        if (level->action[i] <= level->action[i - 1]) return 0;
    return 1;
}

static int is_valid_level(const rill_ngrams *g, const ngram_level *level)
{
    for (int32_t i = 0; i < level->n; i++)
        if (level->action[i] < 0 || level->action[i] >= g->kind.actions ||
            !(level->posterior[i] >= 0 && level->posterior[i] <= 1))
            return 0;
    if (level->first == NULL) return 1;
    const ngram_level *next = level + 1;
    if (level->first[0] != 0 || level->first[level->n] != next->n) return 0;
    for (int32_t i = 0; i < level->n; i++)
        if (level->first[i] > level->first[i + 1] || level->first[i + 1] > next->n ||
            !is_valid_range(next, level->first[i], level->first[i + 1]))
            return 0;
    return 1;
}

int ngrams_set_levels(rill_ngrams *g)
{
    const size_t head = (size_t)g->kind.phases * RILL_NGRAM_MAX;
    size_t offset = head;
    if (g->n_words < head) return 0;
    for (size_t i = 0; i < head; i++) {
        const uint32_t n = g->word[i];
        const size_t words = level_words((int)(i % RILL_NGRAM_MAX), n);
        if (n > INT32_MAX / 4 || words > g->n_words - offset) return 0;
        const uint32_t *from = g->word + offset;
        g->level[i / RILL_NGRAM_MAX][i % RILL_NGRAM_MAX] = (ngram_level){
            (int32_t)n, (const int32_t *)from, (const float *)(const void *)(from + n),
            words > 2 * (size_t)n ? (const int32_t *)(from + 2 * (size_t)n) : NULL};
        offset += words;
    }
    if (offset != g->n_words) return 0;
    for (size_t i = 0; i < head; i++) {
        const ngram_level *level = &g->level[i / RILL_NGRAM_MAX][i % RILL_NGRAM_MAX];
        if (!is_valid_level(g, level) || (i % RILL_NGRAM_MAX == 0 && !is_valid_range(level, 0, level->n))) return 0;
    }
    return 1;
}

/* --- looking up an n-gram ----------------------------------------------------------------------------------------- */

ngram_range ngrams_extend(const rill_ngrams *g, int32_t phase, const int32_t *context, int32_t m)
{
    ngram_range in = {0, g->level[phase][0].n};
    for (int32_t i = 0; i < m; i++) {
        const ngram_level *level = &g->level[phase][i];
        const int32_t found = rill__find_sorted(level->action + in.begin, in.end - in.begin, context[i]);
        if (found < 0) return (ngram_range){0, 0};
        in = (ngram_range){level->first[in.begin + found], level->first[in.begin + found + 1]};
    }
    return in;
}
