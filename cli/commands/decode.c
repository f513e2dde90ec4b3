/* rill decode: decode input lines. Also rill run, which takes a run file.
 *
 * The output file is created after all checks, so a mistake destroys no old result. */
#include <unistd.h>

#include "record.h"
#include "split_sentences.h"
#include "trace.h"
#include "trial.h"

typedef struct decode {
    cli_session session;
    cli_runfile runfile;
    rill_search_config *search_config;
    const char *argument; /* the run file, from the positional argument */
    const char *input_path, *constraints_path, *output_path, *references_path, *stats_path, *trace_path;
    const char *tsv, *jsonl; /* values of --tsv-column and --jsonl: "" without a value; NULL: not given */
    const char **inputs;     /* [n_inputs] all input files */
    int n_inputs;
    cli_shard shard;
    cli_form form;
    int quiet, wants_progress;
    cli_input_files input_files;
    cli_split split;
    cli_records records;
    cli_constraints constraints;
    cli_output output, stats;
    cli_trace trace;
    int wants_trees;
    int wants_pretty, wants_profile;
    cli_profile profile;
    cli_pretty pretty;
    cli_progress progress;
    int64_t n_failed, n_shown;
    cli_shortfalls shortfalls;
    int64_t next_id; /* id after the last written result */
    double write_seconds, wall_seconds;
} decode;

/* --- options ------------------------------------------------------------------------------------------------------ */

static int take_shard(void *command, const cli_option *option, const char *value)
{
    (void)option;
    return cli_shard_read(value, &((decode *)command)->shard);
}

static int take_tsv_column(void *command, const cli_option *option, const char *value)
{
    (void)option;
    ((decode *)command)->tsv = value;
    return value[0] ? CLI_OK : cli_fail("--tsv-column: \"\" is not a whole number");
}

#define STORED(field) .member = offsetof(decode, field)
static const cli_option file_options[] = {
    {"config", 0, "FILE.lua", "a run file in Lua, which options override: `rill run --help`", STORED(runfile.path)},
    {"input", 'i', "FILE", "inputs, one per line (default: standard input)", STORED(input_path)},
    {"shard", 0, "I/N", "decode part I of N, from 1; the joined outputs of all parts equal those of one run",
     .take = take_shard},
    {"tsv-column", 0, "N", "inputs are tab-separated rows: decode column N, from 1, and append outputs as columns",
     .take = take_tsv_column, .aliases = "tsv"},
    {"jsonl", 0, "[=KEY]",
     "inputs are JSON objects, one per line: decode the member text (or input), and append results as members",
     STORED(jsonl)},
    {"constraints", 0, "FILE",
     "constraints on outputs, one line per input: \"prefix:TEXT ||| ban:TEXT ||| allow:TEXT ||| require:TEXT\"",
     STORED(constraints_path)},
    {"output", 'o', "FILE", "file for the results (default: standard output)", STORED(output_path)},
    {"stats", 0, "FILE", "write counters, seconds and options as JSON; - is standard output, if -o names a file",
     STORED(stats_path)},
    {"profile", 0, "", "measure each operation of the model: print a table on standard error and add it to --stats",
     STORED(wants_profile)},
    {"trace", 0, "FILE", "write a JSON line for every timestep, and for every input that is admitted or finishes",
     STORED(trace_path)},
    {"trace-trees", 0, "", "add every candidate and every text to --trace, for the trees of `rill trace`",
     STORED(wants_trees)},
    {"quiet", 'q', "", "print no progress line and no summary; warnings and errors still appear", STORED(quiet)},
    {"progress", 0, "", "show the progress line even if standard error is not a terminal", STORED(wants_progress)},
    {.name = NULL},
};

static const cli_option sweep_options[] = {
    {"refs", 'r', "FILE", "references, one per line, for the quality of a sweep", STORED(references_path)},
    {.name = NULL},
};
static const cli_option refused_options[] = {
    {"refs", 'r', "FILE", "", .refused = "`rill eval` compares outputs with references"},
    {.name = NULL},
};

static int take_input(void *user, const char *value)
{
    decode *d = user;
    if (cli_file_is_folder(value) && d->session.open.path)
        return cli_fail("input %s: it is a directory, and inputs are files", value);
    if (cli_file_is_folder(value)) return cli_fail("unexpected argument \"%s\": name a model with -m", value);
    d->inputs[d->n_inputs++] = value;
    return CLI_OK;
}

static int fail_second_config(const char *second)
{
    return cli_fail("expected one run file, found another, \"%s\"", second);
}

/* The first argument of `rill run` is the run file. */
static int take_config(void *user, const char *value)
{
    decode *d = user;
    if (d->argument && cli_session_is_script(value)) return fail_second_config(value);
    if (d->argument) return take_input(user, value);
    d->argument = value;
    return CLI_OK;
}

/* --- reader and writer of the run --------------------------------------------------------------------------------- */

/* Get the counters in units of lines: sentences of split lines are counted as one input when their line is written. */
static void get_stats(const decode *d, rill_stats *out)
{
    *out = (rill_stats){.struct_size = sizeof *out};
    rill_workers_stats(d->session.worker_pool, out);
    if (d->split.n_split == 0) return;
    out->inputs -= d->split.n_results - d->split.n_lines_written;
    out->failed = d->n_failed;
}

static void show_progress(decode *d)
{
    rill_stats stats;
    if (!cli_progress_due(&d->progress)) return;
    get_stats(d, &stats);
    /* A sentence may be counted before its line is. So show at most the lines read, and never less than before. */
    if (stats.inputs > d->input_files.lines) stats.inputs = d->input_files.lines;
    if (stats.inputs > d->n_shown) d->n_shown = stats.inputs;
    /* stats.inputs also counts finished results that wait for the result of a slow input before them */
    const cli_input_files *s = &d->input_files;
    const cli_progress_position position = {d->n_shown, s->lines, s->consumed + s->input.consumed, s->size};
    cli_progress_draw(&d->progress, &position);
}

static rill_status read_request(void *user, int may_block, rill_request *request)
{
    decode *d = user;
    /* draw here too, because write_result() is not called while results wait for a slow input before them */
    show_progress(d);
    if (cli_interrupted()) return RILL_END_OF_INPUT;
    rill_status status = d->constraints_path ? cli_constraints_wait(&d->constraints, may_block) : RILL_OK;
    if (status == RILL_OK) status = cli_input_files_read(&d->input_files, may_block, &request->text, &request->length);
    if (d->records.kind != CLI_RECORD_NONE) status = cli_records_take(&d->records, status, request);
    return d->constraints_path ? cli_constraints_apply(&d->constraints, d->session.ctx, status, request) : status;
}

/* Read the next input of the engine, a line or a sentence of a line, and trace it. */
static rill_status read_part(void *user, int may_block, rill_request *request)
{
    decode *d = user;
    const rill_status status = cli_split_read(&d->split, may_block, request);
    if (status == RILL_OK && d->trace_path)
        cli_trace_input(&d->trace, d->split.n_read - 1, request->text, request->length);
    return status;
}

/* Print a message about an input line, above the progress line. */
static void print_about_line(decode *d, const char *mark, int64_t id, const char *message)
{
    char place[CLI_PLACE_MAX];
    cli_progress_erase(&d->progress);
    cli_message("%s%s: %s", mark, cli_input_files_place(&d->input_files, id, place), message);
}

static void warn_suspect_key(decode *d, const rill_result *result)
{
    char message[160];
    const char *why, *name = cli_records_suspect_key(result, &why);
    if (!name) return;
    snprintf(message, sizeof message, "the member \"%s\" is copied and has no effect: %s", name, why);
    print_about_line(d, "warning: ", result->id, message);
}

static void write_any_result(decode *d, const rill_result *result)
{
    if (d->records.kind != CLI_RECORD_NONE)
        cli_records_write(&d->records, &d->output, &d->form, result);
    else if (d->wants_pretty)
        cli_pretty_result(&d->pretty, &d->output, result);
    else
        cli_output_result(&d->output, &d->form, result);
}

static rill_status write_result(void *user, const rill_result *result)
{
    decode *d = user;
    double start = cli_now();
    rill_result numbered = *result; /* give ids of the whole input, also with --shard */
    numbered.id += d->input_files.first;
    d->n_failed += result->status < 0;
    if (result->status < 0)
        print_about_line(d, "", result->id, result->message[0] ? result->message : rill_status_name(result->status));
    if (result->warning[0]) print_about_line(d, "warning: ", result->id, result->warning);
    if (d->records.kind != CLI_RECORD_NONE) warn_suspect_key(d, result);
    cli_shortfalls_add(&d->shortfalls, result);
    /* A failed run leaves inputs without results. Write an empty line for each, so that line numbers still match. */
    const int by_line = d->form.format == CLI_FORMAT_PLAIN && d->records.kind == CLI_RECORD_NONE;
    for (; by_line && d->next_id < result->id; d->next_id++) cli_output_write(&d->output, "\n", 1);
    d->next_id = result->id + 1;
    write_any_result(d, &numbered);
    int broken = result->has_more ? d->output.error != 0 : cli_output_flush(&d->output);
    show_progress(d);
    d->write_seconds += cli_now() - start;
    return broken || cli_interrupted() ? RILL_ERR_STOPPED : RILL_OK;
}

static rill_status write_part(void *user, const rill_result *result)
{
    decode *d = user;
    if (d->trace_path) cli_trace_result(&d->trace, result);
    return cli_split_write(&d->split, result);
}

/* --- preparing the run -------------------------------------------------------------------------------------------- */

static int check_files(const decode *d)
{
    for (int i = 0; i < d->n_inputs; i++) {
        const cli_file files[] = {{"output", cli_file_or_standard(d->output_path), 1},
                                  {"the configuration", d->runfile.path, 0},
                                  {"--constraints", d->constraints_path, 0},
                                  {"--stats", d->stats_path, 1},
                                  {"--trace", d->trace_path, 1},
                                  {"input", cli_file_or_standard(d->inputs[i]), 0},
                                  {NULL, NULL, 0}};
        TRY(cli_files_check(files));
    }
    return CLI_OK;
}

static int make_search_config(decode *d)
{
    const rill_option_source *defaults[] = {d->session.run_file, d->session.folder.search};
    TRY(cli_runfile_check(&d->runfile, &d->session));
    if (rill_search_config_make(&d->search_config, d->session.ctx, d->session.command_line, defaults, 2) < 0)
        return cli_fail_context(d->session.ctx);
    cli_runfile_warn_ignored(&d->runfile, d->search_config, NULL);
    /* Results in order of completion need ids. `--n-best 1` asks for a list too. */
    const int is_list = cli_session_option(&d->session, "n-best") || d->search_config->resolved->n_best > 1;
    d->form.format = is_list                                 ? CLI_FORMAT_NBEST
                     : d->search_config->resolved->unordered ? CLI_FORMAT_NUMBERED
                                                             : CLI_FORMAT_PLAIN;
    d->wants_pretty = cli_session_option_is_on(&d->session, "pretty");
    TRY(cli_form_request(&d->form, &d->session, d->search_config));
    if (d->wants_pretty &&
        (d->form.format != CLI_FORMAT_PLAIN || d->form.n_fields || d->form.has_word_scores || d->form.has_ids))
        return cli_fail("--pretty writes one tree per input, in order: leave out --n-best, --unordered, "
                        "--alignment, --unknown-names, --word-scores and --ids");
    if (d->wants_pretty && (d->tsv || d->jsonl))
        return cli_fail("--pretty cannot be combined with --tsv-column and --jsonl");
    d->records.run_options = d->search_config;
    d->pretty.tree.ctx = d->pretty.text.ctx = d->session.ctx;
    if (d->trace_path) {
        d->search_config->setup->trace = cli_trace_event;
        d->search_config->setup->trace_user = &d->trace;
        d->search_config->setup->trace_hypotheses = d->wants_trees;
    }
    return CLI_OK;
}

/* Make the search config from the options, the run file and the model's defaults. */
static int configure(decode *d)
{
    TRY(cli_runfile_load(&d->runfile, &d->session));
    const rill_script_config *config = d->runfile.config;
    if (config) {
        if (!d->n_inputs) d->input_path = cli_value_or(d->input_path, config->input);
        d->references_path = cli_value_or(d->references_path, config->references);
        d->constraints_path = cli_value_or(d->constraints_path, config->constraints);
        TRY(cli_runfile_input_format(&d->runfile, &d->tsv, &d->jsonl));
        TRY(cli_runfile_output_path(&d->runfile, "output", "-o", config->output, &d->output_path));
        TRY(cli_runfile_output_path(&d->runfile, "stats", "--stats", config->stats, &d->stats_path));
        TRY(cli_runfile_output_path(&d->runfile, "trace", "--trace", config->trace, &d->trace_path));
    }
    if (!d->n_inputs) d->inputs[d->n_inputs++] = d->input_path;
    TRY(cli_records_start(&d->records, d->session.ctx, d->tsv, d->jsonl));
    TRY(cli_session_configure(&d->session));
    cli_session_limit_threads(&d->session);
    return CLI_OK;
}

/* Whether several workers are probably faster: the input is a pipe, or a file of at least 64 KiB, and no trace or memory limit is set. */
static int is_large_input(const decode *d)
{
    enum { MANY_BYTES = 1 << 16 };
    const rill_settings *s = d->search_config->resolved;
    if (d->trace_path || s->memory || s->max_nodes) return 0;
    return d->input_files.size >= 0 ? d->input_files.size >= MANY_BYTES : !isatty(d->input_files.input.fd);
}

/* Return the name of an option for which inputs must be decoded whole; NULL: no such option is set. */
static const char *unsplittable_option(const decode *d)
{
    static const char *const names[] = {"--ids", "--alignment", "--unknown-names", "--word-scores"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (cli_session_option_is_on(&d->session, names[i] + 2)) return names[i];
    if (d->constraints_path) return "--constraints";
    if (cli_session_option(&d->session, "like")) return "--like";
    return d->search_config->setup->n_scorers > 0 ? "a scorer" : NULL;
}

static int prepare(decode *d)
{
    rill_context *ctx = d->session.ctx;
    if (!cli_session_domain(&d->session)) return CLI_FAILED;
    TRY(make_search_config(d));
    TRY(cli_input_files_open(&d->input_files, ctx, d->inputs, d->n_inputs, &d->shard));
    d->search_config->setup->first_input = d->input_files.first;
    if (d->constraints_path)
        TRY(cli_constraints_open(&d->constraints, ctx, d->constraints_path, d->input_files.first, d->search_config));
    TRY(check_files(d));
    d->session.is_large_input = is_large_input(d);
    TRY(cli_session_open(&d->session));
    TRY(cli_split_start(&d->split, ctx, d->session.model, d->search_config->resolved,
                        cli_session_option(&d->session, "split"), unsplittable_option(d)));
    d->records.model = d->session.model;
    d->split.first = d->input_files.first;
    if (cli_workers_begin(&d->session, d->search_config, d->search_config->setup) < 0) {
        if (d->runfile.config) rill_script_config_locate_error(d->runfile.script, d->runfile.config);
        return cli_fail_context(ctx);
    }
    if (d->wants_profile) TRY(cli_exit_code(ctx, cli_profile_begin(ctx, d->session.worker_pool)));
    if (d->stats_path) TRY(cli_output_open(&d->stats, ctx, d->stats_path, CLI_REPORT));
    if (d->trace_path) TRY(cli_trace_open(&d->trace, ctx, d->trace_path, d->wants_trees));
    return cli_output_open(&d->output, ctx, d->output_path, CLI_STREAM);
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

static int worse_code(int a, int b)
{
    return a == CLI_OK || (a == CLI_SOME_FAILED && b != CLI_OK) ? b : a;
}

static int print_profile(decode *d, cli_report *report)
{
    TRY(cli_exit_code(d->session.ctx, cli_profile_take(&d->profile, d->session.ctx, d->session.worker_pool)));
    cli_profile_print(&d->profile, stderr);
    report->profile = &d->profile;
    return CLI_OK;
}

/* Write all statistics even after a failure, when they matter most. */
static int finish(decode *d, int code)
{
    cli_report report = {
        .settings = rill_workers_settings(d->session.worker_pool),
        .search_config = d->search_config,
        .session = &d->session,
        .read_seconds = d->input_files.seconds + d->input_files.input.seconds,
        .write_seconds = d->write_seconds,
        .wall_seconds = d->wall_seconds,
        .shortfalls = &d->shortfalls,
    };
    get_stats(d, &report.stats);
    code = worse_code(code, cli_output_close(&d->output));
    if (code == CLI_OK || code == CLI_SOME_FAILED) {
        if (!d->quiet) cli_report_print(&report, d->session.verbose);
        cli_report_warn(&report, !d->quiet);
        cli_split_warn(&d->split);
        cli_pretty_warn(&d->pretty);
    }
    if (d->wants_profile) code = worse_code(code, print_profile(d, &report));
    if (d->stats_path) code = worse_code(code, cli_json_write(&d->stats, cli_report_json(&report)));
    code = worse_code(code, cli_output_close(&d->stats));
    return worse_code(code, cli_trace_close(&d->trace));
}

/* Results come in order, so a second run can continue at the first line without a result. */
static int report_interrupted(decode *d)
{
    /* results could not be written: closing the output prints the reason */
    if (cli_output_flush(&d->output)) return CLI_INTERRUPTED;
    if (d->search_config->resolved->unordered)
        cli_message("interrupted: all finished outputs are written");
    else
        cli_message("interrupted: the results of %" PRId64 " line%s are written", d->next_id,
                    d->next_id == 1 ? "" : "s");
    return CLI_INTERRUPTED;
}

static int decode_all(decode *d)
{
    if (d->trace_path && cli_trace_begin(&d->trace, &d->session, d->search_config,
                                         rill_workers_settings(d->session.worker_pool), d->input_files.first) != CLI_OK)
        return CLI_FAILED;
    cli_interrupt_catch();
    /* draw progress only on a terminal that shows neither results nor typed input */
    const int useful = isatty(STDERR_FILENO) && !d->output.is_terminal && !isatty(d->input_files.input.fd);
    cli_progress_start(&d->progress, d->wants_progress || (useful && !d->quiet));
    double start = cli_now();
    rill_workers *workers = d->session.worker_pool;
    cli_interrupt_set_workers(workers);
    rill_status status = rill_workers_run_requests(workers, read_part, d, write_part, d);
    cli_interrupt_set_workers(NULL);
    d->wall_seconds = cli_now() - start;
    cli_progress_erase(&d->progress);
    int code = d->n_failed ? CLI_SOME_FAILED : CLI_OK;
    /* If the output failed, closing it prints the reason. */
    if (cli_interrupted() && !d->output.error)
        code = report_interrupted(d);
    else if (status < 0 && !d->output.error)
        code = cli_fail_context(d->session.ctx);
    return finish(d, code);
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static int sweep(decode *d)
{
    if (d->n_inputs > 1 || d->shard.n_parts || d->tsv || d->jsonl)
        return cli_fail("a sweep decodes one file of lines: leave out other files, --shard, --tsv-column and --jsonl");
    if (d->constraints_path) return cli_fail("a sweep cannot be combined with constraints");
    if (d->trace_path) return cli_fail("a sweep cannot be combined with --trace, which records one run");
    for (const rill_option *row = rill_output_table(); row->name; row++)
        if (cli_session_option_is_on(&d->session, row->name))
            return cli_fail("a sweep cannot be combined with --%s: it prints no outputs", row->name);
    if (rill_option_source_get(d->session.command_line, "unordered"))
        return cli_fail("a sweep cannot be combined with --unordered: it prints no outputs");
    return cli_sweep_run(&d->session, &d->runfile, d->inputs[0], d->references_path, d->output_path, d->stats_path);
}

static int check_arguments(decode *d)
{
    if (d->n_inputs && d->input_path)
        return cli_fail("inputs are given both with -i, \"%s\", and as an argument, \"%s\": use one of the two",
                        d->input_path, d->inputs[0]);
    if (d->session.command != &cli_run) return CLI_OK;
    if (d->argument && d->runfile.path) return fail_second_config(d->runfile.path);
    d->runfile.path = cli_value_or(d->argument, d->runfile.path);
    return d->runfile.path ? CLI_OK : cli_fail("no run file: rill run FILE.lua; `rill run --help` shows an example");
}

static int run(void *command)
{
    decode *d = command;
    const int wants_sweep = d->references_path != NULL;
    TRY(check_arguments(d));
    TRY(configure(d));
    if (d->wants_trees && !d->trace_path) return cli_fail("--trace-trees has no effect without --trace FILE");
    d->runfile.is_sweep = d->runfile.config && d->runfile.config->n_sweep;
    if (d->runfile.is_sweep) return sweep(d);
    if (!wants_sweep && d->references_path && !d->runfile.config->has_tune)
        cli_message("warning: %s: references have no effect without a sweep or `rill tune`", d->runfile.path);
    if (wants_sweep) return cli_fail("--refs has no effect without a sweep: compare outputs with `rill eval`");
    TRY(prepare(d));
    return decode_all(d);
}

static int start(void *command)
{
    decode *d = command;
    d->inputs = calloc((size_t)d->session.argc + 1, sizeof *d->inputs);
    d->session.erase_progress = cli_progress_erase;
    d->session.message_user = &d->progress;
    d->split.read = read_request;
    d->split.write = write_result;
    d->split.user = d;
    return d->inputs ? CLI_OK : cli_fail_memory("the command");
}

static void end(void *command)
{
    decode *d = command;
    cli_trace_close(&d->trace);
    cli_pretty_end(&d->pretty);
    cli_profile_end(&d->profile);
    rill_search_config_free(d->search_config);
    cli_runfile_end(&d->runfile);
    cli_constraints_close(&d->constraints);
    cli_records_end(&d->records);
    cli_split_end(&d->split);
    cli_input_files_close(&d->input_files);
    free(d->inputs);
    cli_output_close(&d->stats); /* closes the statistics file, even if nothing was decoded */
}

#define MAIN_OPTIONS                                                                                \
    "model threads input jsonl output weights device source-lang target-lang beam-size batch-size " \
    "max-length length-penalty n-best num-samples"

const cli_command cli_decode = {
    .name = "decode",
    .summary = "decode lines with a model",
    .usage = "rill decode -m DIR [options] [INPUT ...] [< INPUT] [> OUTPUT]",
    .groups = {{"Model", cli_model_options},
               {"Input and output", file_options},
               {"Sweeps", refused_options},
               {"Outputs", .rows = CLI_ROWS_OUTPUTS},
               CLI_SEARCH_GROUPS},
    .main_options = MAIN_OPTIONS,
    .take_argument = take_input,
    .size = sizeof(decode),
    .start = start,
    .run = run,
    .end = end,
};

const cli_command cli_run = {
    .name = "run",
    .summary = "decode as a run file in Lua describes, or run its sweep",
    .usage = "rill run FILE.lua [options] [INPUT ...] [< INPUT] [> OUTPUT]",
    .groups = {{"Model", cli_model_options},
               {"Input and output", file_options},
               {"Sweeps", sweep_options},
               {"Outputs", .rows = CLI_ROWS_OUTPUTS},
               CLI_SEARCH_GROUPS},
    .main_options = MAIN_OPTIONS,
    .take_argument = take_config,
    .size = sizeof(decode),
    .start = start,
    .run = run,
    .end = end,
};
