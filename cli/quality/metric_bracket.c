/* Labelled bracketing F1: constituents that a tree shares with the reference, as EVALB counts them with COLLINS.prm.
 *
 * A constituent is a label and a range of words. Labels and traces are read as in tree.h.
 *   - words tagged , : `` '' or . in the reference are removed, and so are constituents without other words
 *   - TOP and punctuation labels are no constituents; PRT equals ADVP
 *   - equal constituents in one tree match one by one
 *   - an output with other words than the reference is reported and excluded
 *   - a missing output, or one that is not a tree, has no constituents
 *   - a reference of punctuation alone is excluded
 * EVALB removes each tree's own punctuation; here the reference's tags decide, so wrong tags gain nothing. Differences: docs/parsing.md. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "metric.h"
#include "tree.h"

enum { GOLD, TEST, MATCHED, EXACT, SCORED, SKIPPED, BROKEN, EMPTY, WORDS, TAGS, PARTS }; /* indexes in the tally */

_Static_assert(PARTS <= (int)CLI_TALLY_MAX, "a tally holds the parts");

enum { MAX_FAULTS_REPORTED = 10 }; /* maximum number of bad outputs that are reported */

typedef struct constituent {
    int32_t from, to;
    rill_slice label;
} constituent;

typedef struct word {
    rill_slice text, tag;
    int32_t n_kept_before; /* number of kept words before this one */
} word;

typedef struct bracket {
    const cli_lines *references;
    rill_tree gold, test;
    word *word; /* [words + 1] words of the reference; the last one marks the end */
    constituent *gold_constituents, *test_constituents; /* constituents of the reference and of the output */
    size_t word_capacity, gold_capacity, test_capacity;
    cli_message_fn message;
    int n_reported;
} bracket;

/* --- constituents ------------------------------------------------------------------------------------------------- */

static int is_punctuation(rill_slice tag)
{
    return rill_slice_is(tag, ",") || rill_slice_is(tag, ":") || rill_slice_is(tag, "``") || rill_slice_is(tag, "''") ||
           rill_slice_is(tag, ".");
}

static int is_constituent(rill_slice label)
{
    return !rill_slice_is(label, "TOP") && !is_punctuation(label);
}

/* Map a label or tag to the name that is compared. */
static rill_slice canonical_label(rill_slice label)
{
    return rill_slice_is(label, "PRT") ? (rill_slice){"ADVP", 4} : label;
}

/* Make space for the words and constituents of a tree. */
static rill_status reserve(bracket *own, const rill_tree *tree)
{
    const size_t n = (size_t)tree->count + 1, size = sizeof(constituent);
    TRY(rill_grow(tree->ctx, (void **)&own->word, &own->word_capacity, n, sizeof *own->word, "words"));
    TRY(rill_grow(tree->ctx, (void **)&own->gold_constituents, &own->gold_capacity, n, size, "words"));
    return rill_grow(tree->ctx, (void **)&own->test_constituents, &own->test_capacity, n, size, "words");
}

/* List the words and tags of the reference from left to right, and count the words that are kept. */
static void list_words(bracket *own)
{
    const rill_tree *tree = &own->gold;
    for (int32_t i = 0; i < tree->count; i++) {
        const rill_tree_node *node = &tree->node[i];
        if (node->word.data == NULL) continue;
        own->word[node->from].text = node->word;
        own->word[node->from].tag = node->label;
    }
    own->word[0].n_kept_before = 0;
    for (int32_t i = 0; i < tree->words; i++)
        own->word[i + 1].n_kept_before = own->word[i].n_kept_before + !is_punctuation(own->word[i].tag);
}

static int is_kept(const bracket *own, int32_t i)
{
    return own->word[i + 1].n_kept_before > own->word[i].n_kept_before;
}

static int compare(const void *x, const void *y)
{
    const constituent *a = x, *b = y;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    if (a->to != b->to) return a->to < b->to ? -1 : 1;
    size_t shorter = a->label.length < b->label.length ? a->label.length : b->label.length;
    int order = memcmp(a->label.data, b->label.data, shorter);
    return order != 0 ? order : (a->label.length > b->label.length) - (a->label.length < b->label.length);
}

/* List the constituents that count, sorted so that equal ones are adjacent. The tree must have the reference's words. Returns the number of
 * constituents. */
static size_t list_constituents(const bracket *own, const rill_tree *tree, constituent *list)
{
    size_t n = 0;
    for (int32_t i = 0; i < tree->count; i++) {
        const rill_tree_node *node = &tree->node[i];
        if (node->word.data != NULL || !is_constituent(node->label)) continue;
        constituent c = {own->word[node->from].n_kept_before, own->word[node->to].n_kept_before,
                         canonical_label(node->label)};
        if (c.from < c.to) list[n++] = c;
    }
    if (n > 1) qsort(list, n, sizeof *list, compare);
    return n;
}

static int64_t count_matches(const constituent *a, size_t n_a, const constituent *b, size_t n_b)
{
    int64_t matches = 0;
    for (size_t i = 0, j = 0; i < n_a && j < n_b;) {
        int order = compare(&a[i], &b[j]);
        matches += order == 0;
        i += order <= 0;
        j += order >= 0;
    }
    return matches;
}

/* --- comparing an output with its reference ----------------------------------------------------------------------- */

/* Whether one more bad output may be reported: at most MAX_FAULTS_REPORTED are. */
static int may_report(bracket *own)
{
    if (own->message && own->n_reported == MAX_FAULTS_REPORTED)
        own->message("more outputs have such errors: the report counts them");
    return own->message && own->n_reported++ < MAX_FAULTS_REPORTED;
}

/* Whether both trees have the same words except punctuation. Reports the first difference. own->word: the reference's words. */
static int same_words(bracket *own, int64_t i)
{
    if (own->test.words != own->gold.words) {
        if (may_report(own))
            own->message("reference line %" PRId64 ": output left out: it has %" PRId32
                         " words, and the reference has %" PRId32,
                         i + 1, own->test.words, own->gold.words);
        return 0;
    }
    for (int32_t k = 0; k < own->test.count; k++) {
        const rill_tree_node *node = &own->test.node[k];
        if (node->word.data == NULL || !is_kept(own, node->from) ||
            rill_slice_equal(node->word, own->word[node->from].text))
            continue;
        const rill_slice *wanted = &own->word[node->from].text;
        if (may_report(own))
            own->message("reference line %" PRId64 ": output left out: word %" PRId32
                         " is \"%.*s\", and \"%.*s\" in the reference",
                         i + 1, node->from + 1, (int)(node->word.length < 60 ? node->word.length : 60), node->word.data,
                         (int)(wanted->length < 60 ? wanted->length : 60), wanted->data);
        return 0;
    }
    return 1;
}

static void count_tags(const bracket *own, cli_tally *out)
{
    for (int32_t k = 0; k < own->test.count; k++) {
        const rill_tree_node *node = &own->test.node[k];
        if (node->word.data == NULL || !is_kept(own, node->from)) continue;
        out->part[WORDS]++;
        out->part[TAGS] += rill_slice_equal(canonical_label(node->label), canonical_label(own->word[node->from].tag));
    }
}

static rill_status read_gold(bracket *own, int64_t i)
{
    size_t length;
    const char *text = cli_lines_get(own->references, i, &length);
    TRY(rill_tree_parse(&own->gold, text, length, RILL_TREE_KEEP_BARS));
    TRY(reserve(own, &own->gold));
    list_words(own);
    return RILL_OK;
}

/* Parse the output into own->test. *found: whether it is a tree. Reports the error if it is not. */
static rill_status read_test(bracket *own, int64_t i, const char *text, size_t length, int *found)
{
    rill_status status = rill_tree_parse(&own->test, text, length, RILL_TREE_KEEP_BARS);
    *found = status == RILL_OK;
    if (status == RILL_OK) return reserve(own, &own->test);
    if (status != RILL_ERR_INPUT) return status;
    if (may_report(own))
        own->message("reference line %" PRId64 ": the output is not a tree: %s", i + 1, rill_error(own->test.ctx));
    rill_error_clear(own->test.ctx);
    return RILL_OK;
}

static int judge_bracket(cli_metric *metric, int64_t i, const char *text, size_t length, cli_tally *out)
{
    bracket *own = metric->data;
    int found = 0;
    if (read_gold(own, i) != RILL_OK) return -1;
    if (own->word[own->gold.words].n_kept_before == 0) {
        out->part[EMPTY] = 1;
        return 0;
    }
    if (text && read_test(own, i, text, length, &found) != RILL_OK) return -1;
    if (found && !same_words(own, i)) {
        out->part[SKIPPED] = 1;
        return 0;
    }
    out->part[SCORED] = 1;
    const size_t n_gold = list_constituents(own, &own->gold, own->gold_constituents);
    out->part[GOLD] = (int64_t)n_gold;
    if (!found) {
        out->part[BROKEN] = text != NULL;
        return 0;
    }
    const size_t n_test = list_constituents(own, &own->test, own->test_constituents);
    out->part[TEST] = (int64_t)n_test;
    out->part[MATCHED] = count_matches(own->gold_constituents, n_gold, own->test_constituents, n_test);
    out->part[EXACT] = out->part[MATCHED] == out->part[GOLD] && out->part[MATCHED] == out->part[TEST];
    count_tags(own, out);
    return 0;
}

/* All references must be trees, since a bad reference would falsify every value without notice. */
static rill_status open_bracket(cli_metric *metric, const cli_lines *references)
{
    bracket *own = metric->data = calloc(1, sizeof *own);
    if (!own) return rill_fail_memory(metric->ctx, sizeof *own, "references");
    own->references = references;
    own->message = metric->message;
    own->gold.ctx = own->test.ctx = metric->ctx;
    for (int64_t i = 0; i < references->n; i++) {
        rill_status status = read_gold(own, i);
        if (status == RILL_ERR_INPUT)
            return rill_fail(metric->ctx, RILL_ERR_INPUT, "reference line %" PRId64 " is not a tree: %s", i + 1,
                             rill_error(metric->ctx));
        if (status != RILL_OK) return rill_error_status(metric->ctx);
    }
    return RILL_OK;
}

static void close_bracket(cli_metric *metric)
{
    bracket *own = metric->data;
    if (!own) return;
    rill_free(metric->ctx, own->word, own->word_capacity * sizeof *own->word);
    rill_free(metric->ctx, own->gold_constituents, own->gold_capacity * sizeof *own->gold_constituents);
    rill_free(metric->ctx, own->test_constituents, own->test_capacity * sizeof *own->test_constituents);
    rill_tree_clear(&own->gold);
    rill_tree_clear(&own->test);
    free(own);
}

/* --- reporting F1 ------------------------------------------------------------------------------------------------- */

/* Return the F1 score, the harmonic mean of precision and recall, in percent. */
static double value_bracket(const cli_tally *sum)
{
    return cli_percent(2 * sum->part[MATCHED], sum->part[GOLD] + sum->part[TEST]);
}

/* Quality of one output. Excluded outputs are worst. A tree without constituents is perfect if the reference has none. */
static double one_bracket(const cli_tally *tally)
{
    if (!tally->part[SCORED]) return -1;
    return tally->part[EXACT] ? 100 : value_bracket(tally);
}

static rill_status report_bracket(const cli_counts *counts, rill_text *out)
{
    const int64_t *p = counts->first.part;
    TRY(rill_text_printf(out,
                         "bracket  %8.2f  labelled F1; precision %.2f (%" PRId64 " of %" PRId64
                         "), recall %.2f (of %" PRId64 ")\n"
                         "oracle   %8.2f\n"
                         "exact    %8" PRId64 "  %6.2f %%\n"
                         "tags     %8" PRId64 "  %6.2f %% of %" PRId64 " words\n",
                         value_bracket(&counts->first), cli_percent(p[MATCHED], p[TEST]), p[MATCHED], p[TEST],
                         cli_percent(p[MATCHED], p[GOLD]), p[GOLD], value_bracket(&counts->best), p[EXACT],
                         cli_percent(p[EXACT], p[SCORED]), p[TAGS], cli_percent(p[TAGS], p[WORDS]), p[WORDS]));
    if (p[SKIPPED])
        TRY(rill_text_printf(out, "skipped  %8" PRId64 "  outputs with words that differ from the reference\n",
                             p[SKIPPED]));
    if (p[BROKEN]) TRY(rill_text_printf(out, "broken   %8" PRId64 "  outputs that are not trees\n", p[BROKEN]));
    if (p[EMPTY])
        TRY(rill_text_printf(out, "empty    %8" PRId64 "  references with punctuation only, left out\n", p[EMPTY]));
    return RILL_OK;
}

static void fill_bracket(const cli_counts *counts, json_t *object)
{
    static const char *const name[PARTS] = {
        [GOLD] = "reference_constituents",
        [TEST] = "output_constituents",
        [MATCHED] = "matched",
        [EXACT] = "exact",
        [SCORED] = "scored",
        [SKIPPED] = "skipped",
        [BROKEN] = "broken",
        [EMPTY] = "empty",
        [WORDS] = "words",
        [TAGS] = "right_tags",
    };
    const int64_t *p = counts->first.part;
    for (int i = 0; i < PARTS; i++) json_object_set_new(object, name[i], json_integer((json_int_t)p[i]));
    json_object_set_new(object, "precision_percent", json_real(cli_percent(p[MATCHED], p[TEST])));
    json_object_set_new(object, "recall_percent", json_real(cli_percent(p[MATCHED], p[GOLD])));
    json_object_set_new(object, "exact_percent", json_real(cli_percent(p[EXACT], p[SCORED])));
    json_object_set_new(object, "tags_percent", json_real(cli_percent(p[TAGS], p[WORDS])));
    json_object_set_new(object, "oracle_exact", json_integer((json_int_t)counts->best.part[EXACT]));
}

/* --- table of the metric ------------------------------------------------------------------------------------------ */

const cli_metric_kind cli_metric_bracket = {
    .name = "bracket",
    .summary = "labelled bracketing F1 of trees, as EVALB counts with COLLINS.prm",
    .heading = "F1",
    .open = open_bracket,
    .judge = judge_bracket,
    .value = value_bracket,
    .output_value = one_bracket,
    .report = report_bracket,
    .fill_json = fill_bracket,
    .close = close_bracket,
};
