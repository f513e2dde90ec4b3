/* Test sets and their evaluation; see testset.h. */
#include "testset.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

rill_status cli_testset_check(const cli_testset *set, rill_context *ctx)
{
    if (set->has_references && set->references.n != set->inputs.n)
        return rill_fail(ctx, RILL_ERR_INPUT, "%" PRId64 " inputs and %" PRId64 " references: expected equal numbers",
                         set->inputs.n, set->references.n);
    return set->inputs.n > 0 ? RILL_OK : rill_fail(ctx, RILL_ERR_INPUT, "the file has no inputs");
}

/* Whether a word is a placeholder for a name in the token form of a semantic parser: lower-case letters and digits, as "c0". */
static int is_placeholder(rill_slice word)
{
    size_t letters = 0, digits = 0;
    while (letters < word.length && islower((unsigned char)word.data[letters])) letters++;
    while (letters + digits < word.length && isdigit((unsigned char)word.data[letters + digits])) digits++;
    return letters > 0 && digits > 0 && letters + digits == word.length;
}

static int has_word(rill_slice text, rill_slice word)
{
    for (rill_slice other; (other = rill_next_word(&text)).length > 0;)
        if (rill_slice_equal(other, word)) return 1;
    return 0;
}

/* Count a pair, and whether a placeholder of the reference occurs in the input, which indicates token form. */
void cli_placeholders_count(cli_placeholders *f, const char *input, size_t length, const char *reference, size_t wanted)
{
    rill_slice rest = {reference, wanted};
    f->n_pairs++;
    for (rill_slice word; (word = rill_next_word(&rest)).length > 0;) {
        if (!is_placeholder(word) || !has_word((rill_slice){input, length}, word)) continue;
        if (f->n_placeholder_pairs++ == 0)
            snprintf(f->first_placeholder, sizeof f->first_placeholder, "%.*s", (int)word.length, word.data);
        return;
    }
}

void cli_placeholders_warn(const cli_placeholders *f, cli_message_fn message)
{
    if (2 * f->n_placeholder_pairs > f->n_pairs)
        message(
            "warning: %" PRId64 " of %" PRId64
            " inputs contain placeholders of their references, such as %s: the set seems to be tokenized: set --tokenized",
            f->n_placeholder_pairs, f->n_pairs, f->first_placeholder);
}

static void warn_placeholders(const cli_testset *set, cli_message_fn message)
{
    cli_placeholders f = {0};
    size_t length, wanted;
    for (int64_t i = 0; i < set->references.n; i++) {
        const char *input = cli_lines_get(&set->inputs, i, &length);
        const char *reference = cli_lines_get(&set->references, i, &wanted);
        cli_placeholders_count(&f, input, length, reference, wanted);
    }
    cli_placeholders_warn(&f, message);
}

rill_status cli_testset_open_metric(cli_testset *set, rill_context *ctx, const rill_domain *domain, int tokenized,
                                    cli_message_fn message)
{
    if (!set->kind) set->kind = cli_metric_for_domain(domain);
    if (set->has_references && !tokenized && set->kind == &cli_metric_exact) warn_placeholders(set, message);
    return set->has_references ? cli_metric_open(&set->metric, ctx, set->kind, domain, &set->references, message)
                               : RILL_OK;
}

void cli_testset_free(cli_testset *set)
{
    cli_metric_close(&set->metric);
    cli_lines_free(&set->inputs);
    cli_lines_free(&set->references);
}

rill_status cli_testset_add_result(cli_testset *set, const rill_result *result, cli_counts *counts)
{
    cli_verdict verdict = {0};
    const int32_t outputs = result->status < 0 ? 0 : result->n_outputs;
    for (int32_t i = 0; set->has_references && i < (outputs > 0 ? outputs : 1); i++) {
        const rill_output *o = outputs > 0 ? rill_result_output(result, i) : NULL;
        if (cli_verdict_add(&verdict, &set->metric, result->id, o ? o->text : NULL, o ? o->text_bytes : 0) < 0)
            return RILL_ERR_MEMORY;
    }
    verdict.n_outputs = outputs > 0;
    cli_counts_add(counts, &verdict);
    return RILL_OK;
}

/* Hash bytes with FNV-1a. `hash` is the hash of the bytes before them. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

uint64_t cli_result_hash(const rill_result *result)
{
    uint64_t hash = 14695981039346656037u;
    hash = hash_bytes(hash, &result->status, sizeof result->status);
    for (int32_t i = 0; i < result->n_outputs; i++) {
        const rill_output *o = rill_result_output(result, i);
        hash = hash_bytes(hash, o->text, o->text_bytes + 1);
        hash = hash_bytes(hash, &o->path_score, sizeof o->path_score);
        hash = hash_bytes(hash, &o->logp, sizeof o->logp);
        hash = hash_bytes(hash, o->ids, (size_t)o->n_ids * sizeof *o->ids);
        hash = hash_bytes(hash, o->id_logps, (size_t)o->n_ids * sizeof *o->id_logps);
    }
    return hash;
}

/* --- lines of a test set ----------------------------------------------------------------------------------------------- */

int cli_grow(void *block, size_t *capacity, size_t need, size_t size)
{
    void *old, *more;
    if (need <= *capacity) return 1;
    memcpy(&old, block, sizeof old);
    more = realloc(old, 2 * need * size);
    if (!more) return 0;
    memcpy(block, &more, sizeof more);
    *capacity = 2 * need;
    return 1;
}

rill_status cli_lines_add(cli_lines *lines, rill_context *ctx, const char *text, size_t length)
{
    if (!cli_grow(&lines->data, &lines->capacity, lines->used + length + 1, 1) ||
        !cli_grow(&lines->start, &lines->start_capacity, (size_t)lines->n + 2, sizeof *lines->start))
        return rill_fail_memory(ctx, lines->used + length + 1, "lines of a file");
    memcpy(lines->data + lines->used, text, length);
    lines->start[lines->n++] = lines->used;
    lines->start[lines->n] = lines->used += length;
    return RILL_OK;
}

rill_status cli_lines_split(const cli_lines *two_columns, rill_context *ctx, const char *path, cli_lines *first,
                            cli_lines *second)
{
    for (int64_t i = 0; i < two_columns->n; i++) {
        size_t length;
        const char *text = cli_lines_get(two_columns, i, &length), *tab = length ? memchr(text, '\t', length) : NULL;
        if (!tab)
            return rill_fail(ctx, RILL_ERR_INPUT, "%s: line %" PRId64 ": expected two columns separated by a tab", path,
                             i + 1);
        const size_t first_length = (size_t)(tab - text);
        TRY(cli_lines_add(first, ctx, text, first_length));
        TRY(cli_lines_add(second, ctx, tab + 1, length - first_length - 1));
    }
    return RILL_OK;
}

void cli_lines_free(cli_lines *lines)
{
    free(lines->data);
    free(lines->start);
    memset(lines, 0, sizeof *lines);
}

/* --- evaluated configurations ------------------------------------------------------------------------------------- */

static void free_point(cli_point *point)
{
    json_decref(point->parameters);
    free(point->refusal);
    json_decref(point->report);
}

cli_point *cli_points_add(cli_points *points, const rill_script_pair *pairs, size_t n)
{
    if (!cli_grow(&points->point, &points->capacity, points->n + 1, sizeof *points->point)) return NULL;
    cli_point *point = &points->point[points->n++];
    *point = (cli_point){.parameters = json_object()};
    for (size_t i = 0; i < n; i++)
        if (json_object_set_new_nocheck(point->parameters, pairs[i].name, json_string_nocheck(pairs[i].value)) < 0) {
            cli_points_remove_last(points);
            return NULL;
        }
    return point;
}

void cli_points_remove_last(cli_points *points)
{
    free_point(&points->point[--points->n]);
}

void cli_points_free(cli_points *points)
{
    for (size_t i = 0; i < points->n; i++) free_point(&points->point[i]);
    free(points->point);
    points->point = NULL;
    points->n = points->capacity = 0;
}

const char *cli_point_display_value(const char *value, char out[CLI_DISPLAY_VALUE_MAX])
{
    char *end;
    double number = rill_read_number(value, &end);
    if (strlen(value) < 16 || !strchr(value, '.') || *end || !isfinite(number)) return value;
    rill_print(out, CLI_DISPLAY_VALUE_MAX, "%.10g", number);
    return out;
}

void cli_point_label(const cli_point *point, char *out, size_t size)
{
    size_t used = 0;
    const char *name;
    json_t *value;
    out[0] = '\0';
    json_object_foreach(point->parameters, name, value)
    {
        char text[CLI_DISPLAY_VALUE_MAX];
        if (used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s=%s", used ? " " : "", name,
                                     cli_point_display_value(json_string_value(value), text));
    }
}

const char *cli_point_value(const cli_point *point, const char *name)
{
    return json_string_value(json_object_get(point->parameters, name));
}

int cli_points_have_failures(const cli_points *points)
{
    for (size_t i = 0; i < points->n; i++)
        if (points->point[i].refusal || points->point[i].trial.counts.missing) return 1;
    return 0;
}

/* --- the Pareto front --------------------------------------------------------------------------------------------- */

static double quality(const cli_points *points, const cli_point *point, int oracle)
{
    return cli_quality(points->kind, &point->trial.counts, oracle);
}

static int dominates(const cli_points *points, const cli_point *a, const cli_point *b, int oracle)
{
    double qa = quality(points, a, oracle), qb = quality(points, b, oracle);
    int64_t ea = a->trial.stats.expansions, eb = b->trial.stats.expansions;
    return qa >= qb && ea <= eb && (qa > qb || ea < eb);
}

/* Each configuration is compared with all others. This takes little time: there are at most thousands, and each has cost a decode. */
size_t cli_points_mark_front(cli_points *points, int oracle)
{
    size_t n = 0;
    for (size_t i = 0; i < points->n; i++) {
        cli_point *point = &points->point[i];
        point->on_front = !point->refusal;
        for (size_t j = 0; j < points->n && point->on_front; j++)
            point->on_front = points->point[j].refusal || !dominates(points, &points->point[j], point, oracle);
        n += (size_t)point->on_front;
    }
    return n;
}

size_t cli_points_front(const cli_points *points, size_t *front, size_t *n_equal)
{
    size_t n = 0;
    for (size_t i = 0; i < points->n; i++) {
        const cli_point *point = &points->point[i];
        if (!point->on_front) continue;
        /* place of the configuration in the list by ascending cost; configurations of the front with equal cost have equal quality */
        size_t rank = 0;
        while (rank < n && points->point[front[rank]].trial.stats.expansions <= point->trial.stats.expansions) rank++;
        if (rank > 0 && points->point[front[rank - 1]].trial.stats.expansions == point->trial.stats.expansions) {
            n_equal[rank - 1]++;
            continue;
        }
        for (size_t j = n++; j > rank; j--) {
            front[j] = front[j - 1];
            n_equal[j] = n_equal[j - 1];
        }
        front[rank] = i;
        n_equal[rank] = 0;
    }
    return n;
}

/* --- results as JSON ---------------------------------------------------------------------------------------------- */

static json_t *string_json(const char *text)
{
    json_t *string = json_string(text);
    return string ? string : json_string("(not UTF-8)");
}

static json_t *value_json(const char *text)
{
    char *end;
    double number = rill_read_number(text, &end);
    if (end == text || *end || !isfinite(number)) return string_json(text);
    if (number == floor(number) && fabs(number) < 9e15 && !strpbrk(text, ".eExX"))
        return json_integer((json_int_t)number);
    return json_real(number);
}

static json_t *point_json(const cli_point *point, const cli_metric_kind *judged)
{
    const cli_counts *c = &point->trial.counts;
    json_t *object = json_object(), *parameters = json_object(), *value;
    const char *name;
    json_object_foreach(point->parameters, name, value)
        json_object_set_new(parameters, name, value_json(json_string_value(value)));
    json_object_set_new(object, "configuration", parameters);
    if (point->refusal) {
        json_object_set_new(object, "refused", string_json(point->refusal));
        return object;
    }
    if (judged) cli_quality_json(judged, c, object);
    json_object_set_new(object, "expansions", json_integer((json_int_t)point->trial.stats.expansions));
    json_object_set_new(object, "timesteps", json_integer((json_int_t)point->trial.stats.timesteps));
    json_object_set_new(object, "seconds", json_real(point->trial.stats.seconds.total));
    json_object_set_new(object, "missing", json_integer((json_int_t)c->missing));
    json_object_set(object, "run", point->report);
    return object;
}

json_t *cli_points_json(const cli_points *points, const char *path, int64_t inputs)
{
    json_t *list = json_array();
    for (size_t i = 0; i < points->n; i++) json_array_append_new(list, point_json(&points->point[i], points->kind));
    return json_pack("{s:o,s:I,s:o}", "script", string_json(path), "inputs", (json_int_t)inputs, "configurations",
                     list);
}
