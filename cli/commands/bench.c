/* rill bench: compare search methods on the same input.
 *
 * A method's first run is untimed and measures quality. Methods with equal search settings must give bit-identical outputs.
 * Timed runs alternate (A B C A B C): slow minutes affect all methods. */
#include <math.h>
#include <unistd.h>

#include "trace.h"
#include "trial.h"

enum { BENCH_METHODS_MAX = 16, BENCH_REPEAT_MAX = 1000, BENCH_LABEL_MAX = 128 };

typedef struct bench_method {
    char label[BENCH_LABEL_MAX]; /* method with its settings, as the user wrote it: "fixed:finish=top" */
    rill_option_source *options; /* search options of the method: the method's name and the settings after it */
    rill_search_config *search_config;
    cli_counts counts; /* counts of outputs, and their quality, in the untimed first run */
    uint64_t *hash;    /* [inputs] hash of all outputs and their scores */
    double seconds[BENCH_REPEAT_MAX];
    /* Counters of the first timed run; they are equal in all runs. stats.seconds has each stage's minimum over all runs. */
    rill_stats stats;
    int first_alike; /* index of the first method with the same search settings; may be this method itself */
    /* number of the first input whose outputs differ from those of method[first_alike]; -1: all are equal */
    int64_t difference;
    cli_profile profile; /* with --profile: calls and seconds of each operation in the untimed first run */
    /* histogram of batch sizes in the untimed first run, for --json and --plot: number of timesteps by number of hypotheses decoded
     * together */
    json_t *rows;
    /* index of the first method with equal outputs, whatever its settings; may be this method itself */
    int first_equal;
} bench_method;

typedef struct bench {
    cli_session session;
    cli_runfile runfile; /* defaults of search options and input paths; the command line overrides them */
    const char *input_path, *references_path, *tsv_path, *json_path, *plot_path;
    const char *methods_text;
    int repeat, quiet, profile;
    cli_testset test_set;
    bench_method *method; /* [n] methods to compare, in the order of the command line */
    int n;
    cli_output json, plot;
} bench;

/* --- timed runs --------------------------------------------------------------------------------------------------- */

static int method_status(const bench *b, const bench_method *m, rill_status status)
{
    if (status < 0 && b->runfile.config) rill_script_config_locate_error(b->runfile.script, b->runfile.config);
    return status < 0 ? cli_fail("method %s: %s", m->label, rill_error(b->session.ctx)) : CLI_OK;
}

static void show_method(const bench *b, const bench_method *m, int round)
{
    if (b->quiet) return;
    if (round < 0)
        cli_status_line("trying %s", m->label);
    else
        cli_status_line("run %d of %d: %s", round + 1, b->repeat, m->label);
}

/* Lower each stage's seconds in `min` to those of run `s`. Minima are reported because other processes only add time. */
static void keep_min_seconds(rill_seconds *min, const rill_seconds *s)
{
    for (const cli_stage *t = cli_stages; t < cli_stages + CLI_STAGES; t++)
        *cli_stage_seconds(min, t) = fmin(*cli_stage_seconds(min, t), *cli_stage_seconds(s, t));
    min->total = fmin(min->total, s->total);
}

static int run_timed(bench *b)
{
    for (int round = 0; round < b->repeat; round++)
        for (int i = 0; i < b->n; i++) {
            bench_method *m = &b->method[i];
            show_method(b, m, round);
            cli_trial trial = {0};
            TRY(method_status(b, m, cli_trial_time(&b->session, &b->test_set, m->search_config, &trial)));
            m->seconds[round] = trial.seconds;
            if (round == 0) m->stats = trial.stats;
            keep_min_seconds(&m->stats.seconds, &trial.stats.seconds);
        }
    return CLI_OK;
}

static int run_all(bench *b)
{
    int code = CLI_OK;
    for (int i = 0; i < b->n && code == CLI_OK; i++) {
        bench_method *m = &b->method[i];
        cli_trial untimed = {.profile = b->profile ? &m->profile : NULL,
                             .rows = b->json_path || b->plot_path ? json_object() : NULL};
        show_method(b, m, -1);
        code = method_status(b, m, cli_trial_judge(&b->session, &b->test_set, m->search_config, m->hash, &untimed));
        m->counts = untimed.counts;
        m->rows = untimed.rows;
    }
    if (code == CLI_OK) code = run_timed(b);
    if (!b->quiet) cli_status_erase(NULL);
    return code;
}

/* --- comparing the results ---------------------------------------------------------------------------------------- */

static int64_t first_difference(const bench *b, const bench_method *m, const bench_method *other)
{
    for (int64_t input = 0; input < b->test_set.inputs.n; input++)
        if (m->hash[input] != other->hash[input]) return input;
    return -1;
}

static int compare_all(bench *b)
{
    int differ = 0;
    for (int i = 0; i < b->n; i++) {
        bench_method *m = &b->method[i];
        m->first_alike = m->first_equal = 0;
        while (m->first_alike < i &&
               !rill_search_config_same_search(b->method[m->first_alike].search_config, m->search_config))
            m->first_alike++;
        m->difference = first_difference(b, m, &b->method[m->first_alike]);
        while (m->first_equal < i && first_difference(b, m, &b->method[m->first_equal]) >= 0) m->first_equal++;
        differ |= m->difference >= 0;
    }
    const char *device = rill_workers_device(b->session.worker_pool, 0);
    const int on_processor = !device || strncmp(device, "cpu", 3) == 0; /* --fast has no effect on the CPU */
    if (differ && !on_processor && rill_open_switch(&b->session.open, "fast")) {
        cli_message("methods with equal search settings gave different outputs, which --fast permits");
        return CLI_OK;
    }
    return differ ? cli_fail("methods with equal search settings gave different outputs") : CLI_OK;
}

/* --- reading the arguments ---------------------------------------------------------------------------------------- */

/* Parse a method with its settings, "name:key=value:key=value". A part without "=" continues the value before it: "sort=length:500" is one
 * setting. */
static int parse_method(bench *b, bench_method *m, const char *text, size_t length)
{
    if (length >= sizeof m->label) return cli_fail("--methods: \"%.40s...\" is too long", text);
    memcpy(m->label, text, length);
    char copy[BENCH_LABEL_MAX];
    strcpy(copy, m->label);
    char *rest = strchr(copy, ':');
    if (rest) *rest++ = '\0';
    rill_context *ctx = b->session.ctx;
    TRY(cli_exit_code(ctx, rill_option_source_create(&m->options, ctx, RILL_FROM_USER)));
    TRY(cli_exit_code(ctx, rill_option_source_set(m->options, "method", copy)));
    while (rest) {
        char *key = rest, *value = strchr(key, '=');
        if (!value) return cli_fail("--methods: \"%s\": expected KEY=VALUE after the colon", m->label);
        *value++ = '\0';
        rest = strchr(value, ':');
        while (rest && !memchr(rest + 1, '=', strcspn(rest + 1, ":"))) rest = strchr(rest + 1, ':');
        if (rest) *rest++ = '\0';
        if (!rill_option_find(rill_setting_table(), key) && !rill_option_find(rill_chain_table(), key) &&
            rill_option_source_set(m->options, key, value) == RILL_OK)
            return cli_fail("--methods: %s: %s cannot be set for one method, because all methods share the model "
                            "and write no outputs",
                            m->label, key);
        if (rill_option_source_set(m->options, key, value) < 0)
            return cli_fail("method %s: %s", m->label, rill_error(ctx));
    }
    return CLI_OK;
}

/* Return the length of the first method in a comma-separated list. A comma before a digit or sign belongs to a value. */
static size_t method_length(const char *text)
{
    size_t length = strcspn(text, ",");
    while (text[length] && text[length + 1] && strchr("0123456789+-.", text[length + 1]))
        length += 1 + strcspn(text + length + 1, ",");
    return length;
}

static int parse_methods(bench *b)
{
    const char *text = b->methods_text ? b->methods_text : "greedy,fixed,var-batch,stream-all";
    b->method = calloc(BENCH_METHODS_MAX, sizeof *b->method);
    if (!b->method) return cli_fail_memory("the methods");
    while (*text) {
        size_t length = method_length(text);
        if (b->n == BENCH_METHODS_MAX) return cli_fail("--methods: expected at most %d methods", BENCH_METHODS_MAX);
        TRY(parse_method(b, &b->method[b->n], text, length));
        b->n++;
        text += length + (text[length] == ',');
    }
    return b->n ? CLI_OK : cli_fail("--methods: expected at least one method");
}

static int check_files(const bench *b)
{
    const cli_file files[] = {{"input", b->input_path ? b->input_path : b->tsv_path, 0},
                              {"the table", cli_json_replaces_table(b->json_path) ? NULL : "-", 1},
                              {"the configuration", b->runfile.path, 0},
                              {"--refs", b->references_path, 0},
                              {"--json", b->json_path, 1},
                              {"--plot", b->plot_path, 1},
                              {NULL, NULL, 0}};
    return cli_files_check(files);
}

static int load_data(bench *b)
{
    if (!b->input_path && !b->tsv_path) return cli_fail("no inputs: set -i FILE or --test-set FILE");
    if (b->input_path && b->tsv_path) return cli_fail("-i cannot be combined with --test-set: both name inputs");
    if (b->references_path && b->tsv_path)
        return cli_fail("--refs cannot be combined with --test-set: both name references");
    if (check_files(b) != CLI_OK) return CLI_FAILED;
    return cli_testset_load(&b->test_set, b->session.ctx, b->input_path, b->references_path, b->tsv_path);
}

/* Make a method's search config. The command line's options are defaults. */
static rill_status configure_method(bench *b, bench_method *m)
{
    const rill_option_source *const defaults[] = {b->session.command_line, b->session.run_file,
                                                  b->session.folder.search};
    int32_t n_own, n_given;
    const rill_chain_entry *scheduler = rill_option_source_chain(b->session.command_line, RILL_CHAIN_SCHEDULER,
                                                                 &n_given);
    rill_option_source_chain(m->options, RILL_CHAIN_SCHEDULER, &n_own);
    rill_status status = RILL_OK;
    if (n_own == 0 && n_given > 0)
        status = rill_option_source_add_to_chain(m->options, RILL_CHAIN_SCHEDULER, scheduler->name,
                                                 scheduler->arguments);
    return status == RILL_OK ? rill_search_config_make(&m->search_config, b->session.ctx, m->options, defaults, 3)
                             : status;
}

static int configure_methods(bench *b)
{
    TRY(cli_runfile_check(&b->runfile, &b->session));
    for (int i = 0; i < b->n; i++) {
        bench_method *m = &b->method[i];
        if (configure_method(b, m) < 0) return cli_fail_context(b->session.ctx);
        cli_runfile_warn_ignored(&b->runfile, m->search_config, m->label);
        m->hash = calloc((size_t)b->test_set.inputs.n, sizeof *m->hash);
        if (!m->hash) return cli_fail_memory("the comparison");
    }
    return CLI_OK;
}

static int prepare(bench *b)
{
    TRY(cli_picture_check("--plot", b->plot_path));
    TRY(parse_methods(b));
    TRY(cli_runfile_load(&b->runfile, &b->session));
    TRY(cli_runfile_check_plain(&b->runfile));
    if (b->runfile.config && !b->input_path && !b->tsv_path) {
        b->input_path = b->runfile.config->input;
        b->references_path = cli_value_or(b->references_path, b->runfile.config->references);
    }
    TRY(cli_session_prepare(&b->session));
    TRY(load_data(b));
    TRY(configure_methods(b));
    TRY(cli_testset_open(&b->test_set, &b->session));
    if (b->json_path) TRY(cli_output_open(&b->json, b->session.ctx, b->json_path, CLI_REPORT));
    if (b->plot_path) TRY(cli_output_open(&b->plot, b->session.ctx, b->plot_path, CLI_REPORT));
    return CLI_OK;
}

/* --- printing the results ---------------------------------------------------------------------------------------------- */

/* Results as a table, JSON or a page of charts. A row of the table fits 80 columns without --verbose. */
static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median of n times in seconds. *spread: half the range as a fraction of the median. `seconds` keeps its order. */
static void summarise(const double *seconds, int n, double *median, double *spread)
{
    double sorted[BENCH_REPEAT_MAX];
    memcpy(sorted, seconds, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_doubles);
    *median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    *spread = *median > 0 ? (sorted[n - 1] - sorted[0]) / 2 / *median : 0;
}

/* Divide the timesteps by two lower bounds on their number, which follow from the budget; 0 without a budget.
 *   *any: bound for all schedulers; *least_advanced: bound for schedulers that expand the shortest hypotheses first */
static void bound_ratios(const bench_method *m, double *least_advanced, double *any)
{
    const rill_stats *t = &m->stats;
    *least_advanced = *any = 0;
    if (m->search_config->resolved->budget <= 0 || t->timesteps == 0) return;
    double fewest = ceil((double)t->expansions / m->search_config->resolved->budget);
    if (fewest < (double)t->longest_item_timesteps) fewest = (double)t->longest_item_timesteps;
    if (t->depth_bound > 0) *least_advanced = (double)t->timesteps / (double)t->depth_bound;
    if (fewest > 0) *any = (double)t->timesteps / fewest;
}

static void print_number(int is_known, double number)
{
    if (is_known)
        cli_print(" %6.2f", number);
    else
        cli_print(" %6s", "-");
}

static double quality(const bench *b, const bench_method *m, int oracle)
{
    return b->test_set.has_references ? cli_quality(b->test_set.metric.kind, &m->counts, oracle) : 0;
}

/* Print a letter that identifies the method's outputs: methods with equal outputs have the same letter. */
static void print_outputs_letter(const bench *b, const bench_method *m)
{
    char letter = 'a';
    for (int i = 0; i < m->first_equal; i++) letter += b->method[i].first_equal == i;
    cli_print(" %c", letter);
    if (m->difference >= 0)
        cli_print("  DIFFERS from %s at input %" PRId64, b->method[m->first_alike].label, m->difference + 1);
    cli_print("\n");
}

/* Whether any method certifies outputs (proves them optimal). The table then has the column cert%. */
static int any_certifies(const bench *b)
{
    int any = 0;
    for (int i = 0; i < b->n; i++) any |= b->method[i].search_config->resolved->certify;
    return any;
}

static void print_row(const bench *b, bench_method *m, int width)
{
    double median, spread, least_advanced, any;
    summarise(m->seconds, b->repeat, &median, &spread);
    bound_ratios(m, &least_advanced, &any);
    const double speed = median > 0 ? (double)b->test_set.inputs.n / median : 0;
    const int decimals = median < 10 ? 4 : median < 1000 ? 2 : 0; /* about four significant digits */
    const int own_line = (int)strlen(m->label) > width;           /* a long label gets a line to itself */
    cli_print("%-*s%s", width, m->label, own_line ? "\n" : "");
    if (own_line) cli_print("%-*s", width, "");
    for (int oracle = 0; oracle < 2; oracle++) print_number(b->test_set.has_references, quality(b, m, oracle));
    if (any_certifies(b)) cli_print(" %6.2f", cli_certified_percent(&m->stats));
    cli_print(" %7.*f %3.0f%% %8.1f %8.1f", decimals, median, 100 * spread, speed,
              cli_expansions_per_timestep(&m->stats));
    if (b->session.verbose) {
        cli_print(" %9" PRId64 " %10" PRId64 " %6.1f%%", m->stats.timesteps, m->stats.expansions,
                  100 * cli_engine_share(&m->stats));
        print_number(least_advanced > 0, least_advanced);
        print_number(any > 0, any);
    }
    print_outputs_letter(b, m);
}

static void print_head(const bench *b, int width)
{
    char parallelism[CLI_PARALLELISM_MAX];
    cli_print("%" PRId64 " inputs, %d timed run%s of each method in turn, %s\n\n", b->test_set.inputs.n, b->repeat,
              b->repeat == 1 ? "" : "s", cli_session_parallelism(&b->session, parallelism));
    cli_print("%-*s %6s %6s%s %7s %4s %8s %8s", width, "method", b->test_set.kind->heading, "oracle",
              any_certifies(b) ? "  cert%" : "", "seconds", "+-", "inputs/s", "exp/step");
    if (b->session.verbose) cli_print(" %9s %10s %7s %6s %6s", "timesteps", "expansions", "engine", "/least", "/any");
    cli_print(" outputs\n");
}

static const char bench_legend[] = "\nseconds: median, and half the range of the runs. exp/step: mean number of\n"
                                   "hypotheses expanded per timestep. outputs: methods with the same letter gave\n"
                                   "identical outputs, with bit-identical scores.\n";
static const char certified_legend[] = "cert%: share of inputs whose best output is proved to be the model's best.\n";
static const char verbose_legend[] = "engine: share of the time outside the model. /least, /any: timesteps divided by\n"
                                     "a lower bound for the least-advanced schedule, and for any schedule, with the\n"
                                     "same --max-batch-hypotheses.\n";

/* Print the value of the option `finish` that each method uses, one line per value: "finish immediate: fixed". */
static void print_finish(const bench *b)
{
    const rill_option *row = rill_option_find(rill_setting_table(), "finish");
    char name[RILL_OPTION_MAX];
    for (rill_finish finish = RILL_FINISH_TOP; finish <= RILL_FINISH_ONE_STEP; finish++) {
        int n = 0;
        for (int i = 0; i < b->n; i++) {
            const rill_settings *resolved = b->method[i].search_config->resolved;
            if (resolved->finish != finish) continue;
            if (n++ == 0) cli_print("finish %s: ", rill_settings_get(resolved, row, name));
            cli_print("%s%s", n > 1 ? ", " : "", b->method[i].label);
        }
        if (n > 0) cli_print("\n");
    }
}

static int print_table(const bench *b)
{
    /* width of the column of methods, in characters: 80 minus the widths of the other columns */
    enum { METHOD_WIDTH = 27 };
    int width = 6;
    for (int i = 0; i < b->n; i++)
        if ((int)strlen(b->method[i].label) > width) width = (int)strlen(b->method[i].label);
    if (width > METHOD_WIDTH) width = METHOD_WIDTH;
    print_head(b, width);
    for (int i = 0; i < b->n; i++) print_row(b, &b->method[i], width);
    cli_print("%s%s%s", bench_legend, any_certifies(b) ? certified_legend : "",
              b->session.verbose ? verbose_legend : "");
    print_finish(b);
    for (int i = 0; i < b->n && b->profile; i++) {
        cli_print("\n%s\n", b->method[i].label);
        cli_profile_print(&b->method[i].profile, stdout);
    }
    return cli_flush_stdout();
}

static json_t *method_json(const bench *b, bench_method *m)
{
    double median, spread, least_advanced, any;
    summarise(m->seconds, b->repeat, &median, &spread);
    bound_ratios(m, &least_advanced, &any);
    cli_report report = {
        .stats = m->stats,
        .settings = m->search_config->resolved,
        .search_config = m->search_config,
        .session = &b->session,
        .wall_seconds = median,
    };
    json_t *all = json_array();
    for (int i = 0; i < b->repeat; i++) json_array_append_new(all, json_real(m->seconds[i]));
    json_t *object = json_pack("{s:s,s:f,s:f,s:o,s:f,s:f,s:O,s:o}", "method", m->label, "seconds_median", median,
                               "seconds_spread", spread, "seconds", all, "over_least_advanced_bound", least_advanced,
                               "over_any_bound", any, "timesteps_by_rows", m->rows, "run", cli_report_json(&report));
    if (b->test_set.has_references) cli_quality_json(b->test_set.metric.kind, &m->counts, object);
    if (&b->method[m->first_alike] != m) {
        json_object_set_new(object, "compared_with", json_string(b->method[m->first_alike].label));
        json_object_set_new(object, "identical", json_boolean(m->difference < 0));
    }
    if (b->profile) json_object_set_new(object, "profile", cli_profile_json(&m->profile));
    const bench_method *same = &b->method[m->first_equal];
    json_object_set_new(object, "same_outputs_as", same != m ? json_string(same->label) : json_null());
    return object;
}

static int write_files(bench *b)
{
    char hardware[CLI_HARDWARE_MAX];
    if (!b->json_path && !b->plot_path) return CLI_OK;
    json_t *methods = json_array();
    int code = CLI_OK;
    for (int i = 0; i < b->n && code == CLI_OK; i++)
        if (json_array_append_new(methods, method_json(b, &b->method[i])) < 0) code = cli_fail_memory("a report");
    json_auto_t *all = json_pack("{s:I,s:i,s:s,s:o}", "inputs", (json_int_t)b->test_set.inputs.n, "repeat", b->repeat,
                                 "hardware", cli_hardware(&b->session, hardware), "methods", methods);
    if (code == CLI_OK && b->json_path) code = cli_json_write(&b->json, json_incref(all));
    if (code == CLI_OK && b->plot_path) code = cli_picture_write(&b->plot, "Search methods compared", "bench", all);
    const int json = cli_output_close(&b->json), plot = cli_output_close(&b->plot);
    return code != CLI_OK ? code : json != CLI_OK ? json : plot;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static int take_methods(void *command, const cli_option *option, const char *value)
{
    bench *b = command;
    (void)option;
    if (b->methods_text)
        return cli_fail("--methods is given twice: write one list, --methods %s,%s", b->methods_text, value);
    b->methods_text = value;
    return CLI_OK;
}

#define STORED(field) .member = offsetof(bench, field)
static const cli_option bench_options[] = {
    {"config", 0, "FILE.lua", "a run file in Lua, whose model, files and search options are defaults",
     STORED(runfile.path)},
    {"input", 'i', "FILE", "inputs, one per line", STORED(input_path)},
    {"refs", 'r', "FILE", "references, one per line; without them no quality is computed", STORED(references_path)},
    {"test-set", 0, "FILE", "inputs and references: two columns with a tab between them", STORED(tsv_path)},
    CLI_REFUSED_TSV,
    {"methods", 0, "A,B,...",
     "methods to compare; each is NAME or NAME:KEY=VALUE:... with its own options (default "
     "greedy,fixed,var-batch,stream-all)",
     .take = take_methods, .is_repeatable = 1},
    {"metric", 0, "NAME", "metric, one of `rill list metrics` (default: the domain's)", STORED(test_set.kind),
     .take = cli_metric_take},
    {"repeat", 0, "R", "number of timed runs of every method (default 3)", STORED(repeat), .type = CLI_INT, .min = 1,
     .max = BENCH_REPEAT_MAX},
    {"json", 0, "FILE", "write all figures as JSON; - is standard output, in place of the table", STORED(json_path)},
    {"plot", 0, "FILE.html", "write an HTML page with charts of each method's speed and batch sizes",
     STORED(plot_path)},
    {"profile", 0, "", "print the time of each operation of the model in the first run of each method; also in --json",
     STORED(profile)},
    {"quiet", 'q', "", "print no progress on standard error", STORED(quiet)},
    {.name = NULL},
};

static int run(void *command)
{
    bench *b = command;
    int code = CLI_OK;
    TRY(prepare(b));
    TRY(run_all(b));
    const int compared = compare_all(b);
    if (!cli_json_replaces_table(b->json_path)) code = print_table(b);
    if (code == CLI_OK) code = write_files(b);
    if (code == CLI_OK) code = compared;
    int64_t missing = 0;
    for (int i = 0; i < b->n; i++)
        if (b->method[i].counts.missing > missing) missing = b->method[i].counts.missing;
    if (missing) cli_message("%" PRId64 " of %" PRId64 " inputs have no output", missing, b->test_set.inputs.n);
    return code == CLI_OK && missing ? CLI_SOME_FAILED : code;
}

static void end(void *command)
{
    bench *b = command;
    /* free all BENCH_METHODS_MAX entries: b->n does not count a method that parsing refused */
    for (int i = 0; b->method && i < BENCH_METHODS_MAX; i++) {
        free(b->method[i].hash);
        cli_profile_end(&b->method[i].profile);
        json_decref(b->method[i].rows);
        rill_search_config_free(b->method[i].search_config);
        rill_option_source_free(b->method[i].options);
    }
    free(b->method);
    cli_output_close(&b->json);
    cli_output_close(&b->plot);
    cli_testset_free(&b->test_set);
    cli_runfile_end(&b->runfile);
}

static int start(void *command)
{
    ((bench *)command)->repeat = 3;
    return CLI_OK;
}

const cli_command cli_bench = {
    .name = "bench",
    .summary = "run several search methods on one input and compare them",
    .usage = "rill bench -m DIR {-i FILE [--refs FILE] | --test-set FILE} [options]",
    .groups = {{"Bench", bench_options}, {"Model", cli_model_options}, CLI_SEARCH_GROUPS},
    .main_options =
        "input refs test-set methods metric repeat json plot model threads weights device beam-size batch-size "
        "max-length length-penalty",
    .hidden = "method", /* --methods replaces --method */
    .size = sizeof(bench),
    .start = start,
    .run = run,
    .end = end,
};
