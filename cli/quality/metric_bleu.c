/* Corpus BLEU (Papineni et al., ACL 2002) of detokenised text, equal to sacreBLEU's default (Post, WMT 2018):
 * nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp.
 *
 * The tokenizer applies the four substitutions of mteval-v13a.pl in order. Only ASCII characters get spaces, so bytes suffice. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metric.h"
#include "utf8.h"

enum { ORDERS = 4 };
/* indexes in the tally: first, of the matches and totals of each n-gram order; then, of the lengths of outputs and references */
enum { MATCHES = 0, TOTALS = ORDERS, LENGTH = 2 * ORDERS, REFERENCE };

/* A token of an output or of its reference. Tokens with equal text have the same `id` in both. */
typedef struct token {
    const char *text;
    size_t length;
    int32_t id;
} token;

typedef struct bleu {
    const cli_lines *references; /* references of the test set, borrowed */
    /* buffers of the tokenizer: each substitution reads one and writes the other, and the last writes text_a */
    rill_text text_a, text_b;
    rill_text output_text; /* keeps the output's tokens while the reference is tokenised */
    token *token;          /* [capacity] tokens of the output, then of the reference */
    token **sorted;        /* [capacity] the tokens, sorted by text to number them */
    const int32_t **gram;  /* [capacity] n-grams of both texts, sorted, as pointers to their first id in `ids` */
    int32_t *ids;          /* [capacity] id of each token */
    size_t capacity;
} bleu;

/* --- tokenizing --------------------------------------------------------------------------------------------------- */

static int is_period_or_comma(char c)
{
    return c == '.' || c == ',';
}

/* Whether the first substitution puts spaces around the character: { to ~, [ to `, space to &, ( to +, : to @, / */
static int is_symbol(char c)
{
    return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
           (c >= ':' && c <= '@') || c == '/';
}

static rill_status append_string(rill_text *out, const char *text)
{
    return rill_text_append(out, text, strlen(text));
}

static rill_status unescape(const char *text, size_t length, rill_text *out)
{
    /* sacreBLEU replaces &lt; after &amp;, so &amp;lt; becomes "<". */
    static const struct {
        const char *from, *to;
    } rule[] = {{"<skipped>", ""}, {"&quot;", "\""}, {"&amp;lt;", "<"}, {"&amp;gt;", ">"},
                {"&amp;", "&"},    {"&lt;", "<"},    {"&gt;", ">"}};
    rill_text_reset(out);
    TRY(append_string(out, " "));
    for (size_t i = 0; i < length;) {
        size_t r = 0, width = 0;
        for (; r < sizeof rule / sizeof rule[0]; r++) {
            width = strlen(rule[r].from);
            if (width <= length - i && !memcmp(text + i, rule[r].from, width)) break;
        }
        int found = r < sizeof rule / sizeof rule[0];
        TRY(found ? append_string(out, rule[r].to) : rill_text_append(out, text + i, 1));
        i += found ? width : 1;
    }
    return append_string(out, " ");
}

static rill_status separate_symbols(const rill_text *in, rill_text *out)
{
    rill_text_reset(out);
    for (size_t i = 0; i < in->length; i++) {
        char padded[3] = {' ', in->data[i], ' '};
        TRY(is_symbol(in->data[i]) ? rill_text_append(out, padded, 3) : rill_text_append(out, padded + 1, 1));
    }
    return RILL_OK;
}

/* Replace each pair of adjacent characters that `fits` accepts by `form`, where 'x' and 'y' stand for the pair. */
static rill_status rewrite_pairs(const rill_text *in, rill_text *out, int (*fits)(char x, char y), const char *form)
{
    rill_text_reset(out);
    for (size_t i = 0; i < in->length; i++) {
        char x = in->data[i], y = i + 1 < in->length ? in->data[i + 1] : '\0';
        if (i + 1 == in->length || !fits(x, y)) {
            TRY(rill_text_append(out, &x, 1));
            continue;
        }
        for (const char *f = form; *f; f++) TRY(rill_text_append(out, *f == 'x' ? &x : *f == 'y' ? &y : f, 1));
        i++;
    }
    return RILL_OK;
}

static int is_nondigit_then_punct(char x, char y)
{
    return !rill_is_digit(x) && is_period_or_comma(y);
}

static int is_punct_then_nondigit(char x, char y)
{
    return is_period_or_comma(x) && !rill_is_digit(y);
}

static int is_digit_then_dash(char x, char y)
{
    return rill_is_digit(x) && y == '-';
}

/* Number of bytes of the white space at `pos`, as Python's str.split() defines it; 0: none. */
static size_t space_width(const char *pos, size_t n_bytes)
{
    return *pos >= 0x1c && *pos <= 0x1f ? 1 : rill_white_space_length(pos, n_bytes);
}

static int reserve_tokens(bleu *own, size_t n)
{
    size_t sorted = own->capacity, grams = own->capacity, ids = own->capacity;
    return cli_grow(&own->sorted, &sorted, n, sizeof *own->sorted) &&
           cli_grow(&own->gram, &grams, n, sizeof *own->gram) && cli_grow(&own->ids, &ids, n, sizeof *own->ids) &&
           cli_grow(&own->token, &own->capacity, n, sizeof *own->token);
}

/* Tokenize a text, appending to own->token after the first n. Tokens point into own->text_a. Returns the number of new tokens, or -1 when
 * out of memory. */
static int64_t tokenize(bleu *own, const char *text, size_t length, size_t n)
{
    if (unescape(text, length, &own->text_a) < 0 || separate_symbols(&own->text_a, &own->text_b) < 0 ||
        rewrite_pairs(&own->text_b, &own->text_a, is_nondigit_then_punct, "x y ") < 0 ||
        rewrite_pairs(&own->text_a, &own->text_b, is_punct_then_nondigit, " x y") < 0 ||
        rewrite_pairs(&own->text_b, &own->text_a, is_digit_then_dash, "x y ") < 0)
        return -1;
    size_t old_n = n;
    for (size_t pos = 0; pos < own->text_a.length;) {
        const char *start = own->text_a.data + pos;
        size_t n_bytes = own->text_a.length - pos, width = space_width(start, n_bytes), word = 0;
        pos += width;
        if (width) continue;
        while (word < n_bytes && !space_width(start + word, n_bytes - word)) word++;
        if (!reserve_tokens(own, n + 1)) return -1;
        own->token[n++] = (token){start, word, 0};
        pos += word;
    }
    return (int64_t)(n - old_n);
}

/* --- counting n-grams --------------------------------------------------------------------------------------------- */

static int compare_token_texts(const void *a, const void *b)
{
    const token *x = *(token *const *)a, *y = *(token *const *)b;
    int order = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* Number the first n tokens, so that tokens with equal text have the same id. */
static void number_tokens(bleu *own, size_t n)
{
    for (size_t i = 0; i < n; i++) own->sorted[i] = &own->token[i];
    qsort(own->sorted, n, sizeof *own->sorted, compare_token_texts);
    int32_t id = 0;
    for (size_t i = 0; i < n; i++) {
        if (i && compare_token_texts(&own->sorted[i - 1], &own->sorted[i])) id++;
        own->sorted[i]->id = id;
    }
    for (size_t i = 0; i < n; i++) own->ids[i] = own->token[i].id;
}

static int compare_grams(const int32_t *a, const int32_t *b, int order)
{
    for (int i = 0; i < order; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int compare_gram_places(const void *a, const void *b, void *order)
{
    return compare_grams(*(const int32_t *const *)a, *(const int32_t *const *)b, *(const int *)order);
}

/* Count the n-grams that an output shares with its reference. Counts are clipped: the smaller count of the two texts. */
static int64_t count_matches(bleu *own, size_t n_output, size_t n_reference, int order)
{
    if (n_output < (size_t)order || n_reference < (size_t)order) return 0;
    size_t a = n_output - (size_t)order + 1, b = n_reference - (size_t)order + 1, i = 0, j = 0;
    const int32_t **output = own->gram, **reference = own->gram + a;
    int64_t matches = 0;
    for (size_t pos = 0; pos < a; pos++) output[pos] = own->ids + pos;
    for (size_t pos = 0; pos < b; pos++) reference[pos] = own->ids + n_output + pos;
    qsort_r(output, a, sizeof *output, compare_gram_places, &order);
    qsort_r(reference, b, sizeof *reference, compare_gram_places, &order);
    while (i < a && j < b) {
        int c = compare_grams(output[i], reference[j], order);
        matches += c == 0;
        i += c <= 0;
        j += c >= 0;
    }
    return matches;
}

static int judge_bleu(cli_metric *metric, int64_t i, const char *text, size_t length, cli_tally *out)
{
    bleu *own = metric->data;
    size_t reference_length;
    const char *reference = cli_lines_get(own->references, i, &reference_length);
    int64_t n_output = tokenize(own, text ? text : "", length, 0);
    if (n_output < 0) return -1;
    rill_text swap = own->output_text; /* save the output's tokens: the next call overwrites text_a */
    own->output_text = own->text_a;
    own->text_a = swap;
    int64_t n_reference = tokenize(own, reference, reference_length, (size_t)n_output);
    if (n_reference < 0) return -1;
    number_tokens(own, (size_t)(n_output + n_reference));
    out->part[LENGTH] = n_output;
    out->part[REFERENCE] = n_reference;
    for (int order = 1; order <= ORDERS; order++) {
        out->part[MATCHES + order - 1] = count_matches(own, (size_t)n_output, (size_t)n_reference, order);
        out->part[TOTALS + order - 1] = n_output >= order ? n_output - order + 1 : 0;
    }
    return 0;
}

/* --- computing BLEU ----------------------------------------------------------------------------------------------- */

static double brevity(const cli_tally *t)
{
    int64_t output = t->part[LENGTH], reference = t->part[REFERENCE];
    if (output >= reference) return 1;
    return output > 0 ? exp(1 - (double)reference / (double)output) : 0;
}

/* Precision of each n-gram order in percent; orders without a match count as 1/2, 1/4, ... matches. Returns the number of orders that
 * fit the output. */
static int precisions(const cli_tally *t, double precision[ORDERS])
{
    double halving = 1;
    int order = 0;
    for (; order < ORDERS && t->part[TOTALS + order] > 0; order++) {
        if (t->part[MATCHES + order] == 0) halving *= 2;
        precision[order] = t->part[MATCHES + order] == 0
                               ? 100 / (halving * (double)t->part[TOTALS + order])
                               : cli_percent(t->part[MATCHES + order], t->part[TOTALS + order]);
    }
    for (int rest = order; rest < ORDERS; rest++) precision[rest] = 0;
    return order;
}

/* Geometric mean of the n-gram precisions, with the brevity penalty. effective: 1: only orders that fit the text, as in sentence BLEU. */
static double bleu_percent(const cli_tally *t, int effective)
{
    double precision[ORDERS], sum = 0;
    int orders = precisions(t, precision), any = 0;
    for (int i = 0; i < ORDERS; i++) any |= t->part[MATCHES + i] > 0;
    if (!any || orders == 0 || (!effective && orders < ORDERS)) return 0;
    for (int i = 0; i < orders; i++) sum += log(precision[i]);
    return brevity(t) * exp(sum / orders);
}

static double value_bleu(const cli_tally *sum)
{
    return bleu_percent(sum, 0);
}

static double one_bleu(const cli_tally *tally)
{
    return bleu_percent(tally, 1);
}

/* --- reporting BLEU ----------------------------------------------------------------------------------------------- */

static rill_status report_bleu(const cli_counts *counts, rill_text *out)
{
    const cli_tally *t = &counts->first;
    double p[ORDERS];
    precisions(t, p);
    return rill_text_printf(out,
                            "bleu     %8.2f  %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %" PRId64
                            " ref_len = %" PRId64 ")\n"
                            "oracle   %8.2f\n",
                            value_bleu(t), p[0], p[1], p[2], p[3], brevity(t),
                            t->part[REFERENCE] > 0 ? (double)t->part[LENGTH] / (double)t->part[REFERENCE] : 0,
                            t->part[LENGTH], t->part[REFERENCE], value_bleu(&counts->best));
}

static void fill_bleu(const cli_counts *counts, json_t *object)
{
    const cli_tally *t = &counts->first;
    double p[ORDERS];
    precisions(t, p);
    json_t *list = json_array();
    for (int i = 0; i < ORDERS; i++) json_array_append_new(list, json_real(p[i]));
    json_object_set_new(object, "precisions", list);
    json_object_set_new(object, "brevity_penalty", json_real(brevity(t)));
    json_object_set_new(object, "output_tokens", json_integer((json_int_t)t->part[LENGTH]));
    json_object_set_new(object, "reference_tokens", json_integer((json_int_t)t->part[REFERENCE]));
    json_object_set_new(object, "signature", json_string("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp"));
}

static rill_status open_bleu(cli_metric *metric, const cli_lines *references)
{
    bleu *own = metric->data = calloc(1, sizeof *own);
    if (!own) return rill_fail_memory(metric->ctx, sizeof *own, "references");
    own->references = references;
    own->text_a.ctx = own->text_b.ctx = own->output_text.ctx = metric->ctx;
    return reserve_tokens(own, 1) ? RILL_OK : rill_fail_memory(metric->ctx, sizeof *own, "references");
}

static void close_bleu(cli_metric *metric)
{
    bleu *own = metric->data;
    if (!own) return;
    rill_text_clear(&own->text_a);
    rill_text_clear(&own->text_b);
    rill_text_clear(&own->output_text);
    free(own->token);
    free(own->sorted);
    free(own->gram);
    free(own->ids);
    free(own);
}

const cli_metric_kind cli_metric_bleu = {
    .name = "bleu",
    .summary = "corpus BLEU of detokenised text, as sacreBLEU computes it by default",
    .heading = "BLEU",
    .open = open_bleu,
    .judge = judge_bleu,
    .value = value_bleu,
    .output_value = one_bleu,
    .report = report_bleu,
    .fill_json = fill_bleu,
    .close = close_bleu,
};
