/* Points, their front and their reports; see points.h. */
#include "points.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- points ------------------------------------------------------------------------------------------------------- */

static cli_point *append(cli_points *points)
{
    if (points->n == points->capacity) {
        size_t capacity = points->capacity ? 2 * points->capacity : 16;
        cli_point *more = realloc(points->point, capacity * sizeof *more);
        if (!more) return NULL;
        points->point = more;
        points->capacity = capacity;
    }
    cli_point *point = &points->point[points->n++];
    memset(point, 0, sizeof *point);
    return point;
}

static int name_point(cli_point *point, const rill_script_pair *pairs, size_t n)
{
    point->name = calloc(n + 1, sizeof *point->name);
    point->value = calloc(n + 1, sizeof *point->value);
    if (!point->name || !point->value) return 0;
    for (point->n = 0; (size_t)point->n < n;) {
        const rill_script_pair *pair = &pairs[point->n];
        char *name = strdup(pair->name), *value = strdup(pair->value);
        point->name[point->n] = name;
        point->value[point->n++] = value;
        if (!name || !value) return 0;
    }
    return 1;
}

static void free_point(cli_point *point)
{
    for (int i = 0; i < point->n; i++) {
        free(point->name[i]);
        free(point->value[i]);
    }
    free(point->name);
    free(point->value);
    free(point->refusal);
    json_decref(point->report);
}

cli_point *cli_points_add(cli_points *points, const rill_script_pair *pairs, size_t n)
{
    cli_point *point = append(points);
    if (!point || name_point(point, pairs, n)) return point;
    cli_points_remove_last(points);
    return NULL;
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
    out[0] = '\0';
    for (int i = 0; i < point->n && used < size; i++) {
        char text[CLI_DISPLAY_VALUE_MAX];
        int wrote = snprintf(out + used, size - used, "%s%s=%s", i ? " " : "", point->name[i],
                             cli_point_display_value(point->value[i], text));
        if (wrote < 0) return;
        used += (size_t)wrote;
    }
}

const char *cli_point_value(const cli_point *point, const char *name)
{
    for (int i = 0; i < point->n; i++)
        if (!strcmp(point->name[i], name)) return point->value[i];
    return NULL;
}

int cli_points_have_failures(const cli_points *points)
{
    for (size_t i = 0; i < points->n; i++)
        if (points->point[i].refusal || points->point[i].trial.counts.missing) return 1;
    return 0;
}

/* --- the front ---------------------------------------------------------------------------------------------------- */

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

/* Compares all pairs: there are at most thousands of points, and each one has cost a decode. */
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
        size_t rank = 0; /* points of the front with equal cost have equal quality */
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

/* --- JSON --------------------------------------------------------------------------------------------------------- */

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
    json_t *object = json_object(), *parameters = json_object();
    for (int i = 0; i < point->n; i++) json_object_set_new(parameters, point->name[i], value_json(point->value[i]));
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
