/* rill trace: convert a trace to a self-contained HTML file with charts.
 *
 * The trace is read twice: first to count its events, then to copy at most TIMESTEPS timesteps and CANDIDATES candidates. */
#include "trace.h"

#include <strings.h>

#include "cli_input.h"
#include "report.h"

/* --- HTML pages with charts -------------------------------------------------------------------------------------------- */

const rill_embedded_file cli_picture_files[] = {
#include "view_files.h"
};
const size_t cli_picture_n_files = sizeof cli_picture_files / sizeof *cli_picture_files;

int cli_picture_check(const char *option, const char *path)
{
    static const char *const kinds[] = {".svg", ".png", ".pdf"};
    const char *ending = path ? strrchr(path, '.') : NULL;
    for (size_t i = 0; ending && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcasecmp(ending, kinds[i]))
            return cli_fail("%s %s: expected the name of an HTML page, as in %.*s.html; its charts can be saved as "
                            "SVG in a browser",
                            option, path, (int)(ending - path), path);
    return CLI_OK;
}

/* Write a text with "<" and "&" replaced: "<" could begin the end tag of a script element. */
static void put_text(cli_output *out, const char *text, const char *less, const char *ampersand)
{
    while (*text) {
        const size_t n = strcspn(text, "<&");
        cli_output_write(out, text, n);
        if (text[n]) cli_output_printf(out, "%s", text[n] == '<' ? less : ampersand);
        text += n + (text[n] != '\0');
    }
}

/* Write `separator`, then the trace event as JSON. Real numbers get `digits` significant digits. */
static int put_event(cli_output *out, const char *separator, const json_t *event, int digits)
{
    char *text = event ? json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(digits)) : NULL;
    if (!text) return cli_fail_memory("the page");
    cli_output_printf(out, "%s", separator);
    put_text(out, text, "\\u003c", "&");
    free(text);
    return CLI_OK;
}

static int begin_page(cli_output *out, const char *title)
{
    cli_output_printf(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                           "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    put_text(out, title, "&lt;", "&amp;");
    cli_output_printf(out, "</title>\n<style>\n");
    cli_output_write(out, cli_picture_files[0].text, cli_picture_files[0].length);
    cli_output_printf(out, "</style>\n</head>\n<body>\n<main id=\"pictures\"><noscript>This page draws its charts "
                           "with JavaScript, which is off.</noscript></main>\n"
                           "<script type=\"application/json\" id=\"events\">[");
    json_auto_t *event = json_pack("{s:s,s:o}", "event", "page", "title", cli_json_text(title, strlen(title)));
    return put_event(out, "\n", event, 1);
}

static void end_page(cli_output *out)
{
    cli_output_printf(out, "\n]</script>\n<script>\n");
    for (size_t i = 1; i < cli_picture_n_files; i++)
        cli_output_write(out, cli_picture_files[i].text, cli_picture_files[i].length);
    cli_output_printf(out, "rillView.page(document.getElementById(\"pictures\"), "
                           "document.getElementById(\"events\"));\n</script>\n</body>\n</html>\n");
}

int cli_picture_write(cli_output *out, const char *title, const char *kind, json_t *object)
{
    int code = json_object_set_new(object, "event", json_string(kind)) < 0 ? cli_fail_memory("the page") : CLI_OK;
    if (code == CLI_OK) code = begin_page(out, title);
    if (code == CLI_OK) code = put_event(out, ",\n", object, 17);
    if (code == CLI_OK)
        end_page(out);
    else
        cli_output_discard(out);
    return code;
}

/* --- state of the command ---------------------------------------------------------------------------------------------- */

enum { TIMESTEPS = 20000, CANDIDATES = 500000, DIGITS = 5 };

/* Adjacent candidates of one input in the trace: the input's number `item`, and how many there are, `n`. */
typedef struct tally {
    int64_t item, n;
} tally;

typedef struct trace_page {
    cli_session session;
    const char *path, *output_path, *title;
    char *page_name; /* the name made for the page; NULL: an option names it */
    cli_output out;
    int64_t max_timesteps; /* maximum number of timesteps in the page */
    /* maximum number of inputs with search trees; -1: as many inputs as have at most CANDIDATES candidates in all */
    int64_t max_trees;
    int64_t n_timesteps;
    /* [n_tallies] candidates of each input, in trace order until choose_trees() sorts by input. Not indexed by input number, which may
     * be huge. */
    tally *tally;
    size_t n_tallies, tally_capacity;
    int64_t n_items;   /* 1 + the largest input number */
    int64_t n_written; /* timesteps written to the page */
    int cut;           /* 1: the last line of the trace is incomplete */
} trace_page;

/* --- options ------------------------------------------------------------------------------------------------------ */

#define STORED(field) .member = offsetof(trace_page, field)
static const cli_option view_options[] = {
    {"output", 'o', "FILE", "file for the page (default: the trace's name with .html)", STORED(output_path)},
    {"title", 0, "TEXT", "title of the page (default: the trace's name)", STORED(title)},
    {"timesteps", 0, "N", "include the first N timesteps (default 20000)", STORED(max_timesteps), .type = CLI_INT64,
     .min = 1, .max = INT64_MAX},
    {"trees", 0, "N", "include the trees of the first N inputs (default: as many as have 500000 candidates)",
     STORED(max_trees), .type = CLI_INT64, .max = INT64_MAX},
    {.name = NULL},
};

/* --- counting candidates ------------------------------------------------------------------------------------------ */

static int is_kind(const json_t *event, const char *kind)
{
    const char *event_kind = json_string_value(json_object_get(event, "event"));
    return event_kind && !strcmp(event_kind, kind);
}

/* Read the trace and call `each` for every event in it. */
static int read_events(trace_page *v, int (*each)(trace_page *v, json_t *event))
{
    SCOPED(cli_input_close) cli_input input = {0};
    const char *line;
    size_t length;
    rill_status status;
    TRY(cli_input_open(&input, v->session.ctx, v->path, RILL_FILE_REGULAR));
    while ((status = cli_input_read(&input, 1, &line, &length)) == RILL_OK) {
        json_auto_t *event = json_loadb(line, length, 0, NULL);
        const int64_t number = input.lines;
        if (json_is_object(event) && json_is_string(json_object_get(event, "event"))) {
            TRY(each(v, event));
            continue;
        }
        if (number == 1 || cli_input_read(&input, 1, &line, &length) != RILL_END_OF_INPUT)
            return cli_fail("%s: line %" PRId64 ": expected an event of `rill decode --trace`", v->path, number);
        if (!v->cut)
            cli_message("warning: %s: the last line, %" PRId64 ", is incomplete: it is left out", v->path, number);
        v->cut = 1;
        return CLI_OK;
    }
    if (status == RILL_ERR_INPUT) return cli_fail("%s: line %" PRId64 ": %s", v->path, input.lines, line);
    return status == RILL_END_OF_INPUT ? CLI_OK : cli_fail_context(v->session.ctx);
}

/* Return the number of the input to which candidate j of a timestep belongs; -1: the event is malformed. */
static int64_t candidate_item(const json_t *items, const json_t *index, size_t j)
{
    const json_t *item = json_array_get(items, (size_t)json_integer_value(json_array_get(index, j)));
    return json_is_integer(item) && json_integer_value(item) >= 0 ? (int64_t)json_integer_value(item) : -1;
}

static int count_candidate(trace_page *v, int64_t item)
{
    if (item < 0 || item == INT64_MAX) return cli_fail("%s: a candidate belongs to no input of its timestep", v->path);
    if (v->n_tallies > 0 && v->tally[v->n_tallies - 1].item == item) {
        v->tally[v->n_tallies - 1].n++;
        return CLI_OK;
    }
    if (!cli_grow(&v->tally, &v->tally_capacity, v->n_tallies + 1, sizeof *v->tally))
        return cli_fail_memory("the inputs");
    v->tally[v->n_tallies++] = (tally){item, 1};
    if (item >= v->n_items) v->n_items = item + 1;
    return CLI_OK;
}

static int count_event(trace_page *v, json_t *event)
{
    const json_t *items = json_object_get(event, "items"), *index;
    if (!is_kind(event, "timestep")) return CLI_OK;
    if (v->n_timesteps++ >= v->max_timesteps) return CLI_OK;
    index = json_object_get(json_object_get(event, "hypotheses"), "item");
    for (size_t j = 0; j < json_array_size(index); j++) TRY(count_candidate(v, candidate_item(items, index, j)));
    return CLI_OK;
}

static int compare_tallies(const void *a, const void *b)
{
    const tally *x = a, *y = b;
    return (x->item > y->item) - (x->item < y->item);
}

/* Choose how many inputs get trees: as many as the limit on candidates allows. */
static void choose_trees(trace_page *v)
{
    int64_t sum = 0;
    size_t i = 0;
    if (v->n_tallies > 0) qsort(v->tally, v->n_tallies, sizeof *v->tally, compare_tallies);
    while (v->max_trees < 0 && i < v->n_tallies && (sum += v->tally[i].n) <= CANDIDATES) i++;
    if (v->max_trees < 0) v->max_trees = i < v->n_tallies ? v->tally[i].item : v->n_items;
    if (v->max_trees > v->n_items) v->max_trees = v->n_items;
}

/* --- copying events ----------------------------------------------------------------------------------------------- */

static int all_zero(const json_t *array)
{
    size_t i;
    json_t *value;
    json_array_foreach(array, i, value) if (json_integer_value(value) != 0) return 0;
    return 1;
}

/* Remove the candidates of inputs whose trees are not shown. Remove the column "phase" if all its values are 0. */
static void drop_candidates(trace_page *v, json_t *event)
{
    json_t *all = json_object_get(event, "hypotheses"), *index = json_object_get(all, "item"), *kept, *column, *value;
    const json_t *items = json_object_get(event, "items");
    const char *name;
    size_t i;
    if (!json_is_object(all)) return;
    kept = json_object();
    json_object_foreach(all, name, column)
    {
        json_auto_t *short_column = json_array();
        json_array_foreach(column, i, value) if (candidate_item(items, index, i) < v->max_trees)
            json_array_append(short_column, value);
        if (strcmp(name, "phase") || !all_zero(short_column)) json_object_set(kept, name, short_column);
    }
    json_object_set_new(event, "hypotheses", kept);
}

static int copy_event(trace_page *v, json_t *event)
{
    const int is_timestep = is_kind(event, "timestep");
    if (is_timestep && v->n_written++ >= v->max_timesteps) return CLI_OK;
    if (!is_timestep && v->n_written >= v->max_timesteps && v->n_timesteps > v->max_timesteps &&
        is_kind(event, "admitted"))
        return CLI_OK; /* the timestep of this event is left out */
    if (is_timestep) drop_candidates(v, event);
    return put_event(&v->out, ",\n", event, DIGITS);
}

/* --- writing the page --------------------------------------------------------------------------------------------- */

static int write_left_out(trace_page *v)
{
    const int64_t n = v->n_timesteps < v->max_timesteps ? v->n_timesteps : v->max_timesteps;
    if (n < v->n_timesteps)
        cli_message("warning: %s has the first %" PRId64 " of %" PRId64 " timesteps: use --timesteps N for more",
                    v->output_path, n, v->n_timesteps);
    if (v->max_trees < v->n_items)
        cli_message("warning: %s has trees of the first %" PRId64 " of %" PRId64 " inputs: use --trees N for more",
                    v->output_path, v->max_trees, v->n_items);
    json_auto_t *event = json_pack("{s:s, s:I, s:I, s:I, s:I}", "event", "left_out", "timesteps", (json_int_t)n,
                                   "of_timesteps", (json_int_t)v->n_timesteps, "trees", (json_int_t)v->max_trees,
                                   "of_trees", (json_int_t)v->n_items);
    return put_event(&v->out, ",\n", event, DIGITS);
}

static int write_page(trace_page *v)
{
    TRY(cli_output_open(&v->out, v->session.ctx, v->output_path, CLI_REPORT));
    TRY(begin_page(&v->out, v->title));
    TRY(read_events(v, copy_event));
    TRY(write_left_out(v));
    end_page(&v->out);
    return cli_output_close(&v->out);
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Make the name of the page, "run.jsonl" to "run.html", and its title, the name without folders. */
static int name_page(trace_page *v)
{
    const char *slash = strrchr(v->path, '/'), *last = slash ? slash + 1 : v->path, *dot = strrchr(last, '.');
    const size_t stem = dot && dot > last ? (size_t)(dot - v->path) : strlen(v->path);
    if (!v->title) v->title = last;
    if (v->output_path) return CLI_OK;
    if (asprintf(&v->page_name, "%.*s.html", (int)stem, v->path) < 0) return cli_fail_memory("the page's name");
    v->output_path = v->page_name;
    return CLI_OK;
}

static int run(void *command)
{
    trace_page *v = command;
    TRY(cli_picture_check("-o", v->output_path));
    if (!v->path) return cli_fail("no trace: rill trace FILE; `rill decode --trace FILE` writes one");
    if (cli_file_is_standard(v->path)) return cli_fail("the trace must be a file, because it is read twice");
    TRY(name_page(v));
    const cli_file files[] = {{"the trace", v->path, 0}, {"the page", v->output_path, 1}, {NULL, NULL, 0}};
    TRY(cli_files_check(files));
    TRY(read_events(v, count_event));
    if (v->n_timesteps == 0)
        return cli_fail("%s: the trace has no timesteps; `rill decode --trace FILE` writes a trace", v->path);
    choose_trees(v);
    TRY(write_page(v));
    cli_message("%s: %" PRId64 " timesteps, trees of %" PRId64 " inputs", v->output_path,
                v->n_timesteps < v->max_timesteps ? v->n_timesteps : v->max_timesteps, v->max_trees);
    return CLI_OK;
}

static void end(void *command)
{
    trace_page *v = command;
    cli_output_discard(&v->out);
    free(v->tally);
    free(v->page_name);
}

static int start(void *command)
{
    trace_page *v = command;
    v->max_timesteps = TIMESTEPS;
    v->max_trees = -1;
    return CLI_OK;
}

const cli_command cli_trace_command = {
    .name = "trace",
    .summary = "make an HTML page of charts from the trace of a run",
    .usage = "rill trace FILE [-o PAGE.html] [options]",
    .groups = {{"Options", view_options}},
    .argument = "trace",
    .argument_member = offsetof(trace_page, path),
    .size = sizeof(trace_page),
    .start = start,
    .run = run,
    .end = end,
};
