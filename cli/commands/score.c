/* rill score: compute log-probabilities of existing outputs, by forced decoding (forced_decode.c).
 *
 * Scores are bit-identical to those of `rill decode`. */

#include "cli_input.h"
#include "cli_output.h"
#include "testset.h"

/* --- reading pairs of input and output --------------------------------------------------------------------------------- */

/* Pairs of an input and an output: two tab-separated columns, or two files. The second file has one output per line, or is an n-best list
 * with ascending ids from 0. */
/* A pair of an input and an output. Its texts follow the struct in memory. */
typedef struct given_pair {
    /* doubly linked list of all pairs, to free those without a result; `link` points to the pointer to this pair */
    struct given_pair *next, **link;
    int64_t id;       /* number of the input, from 0 */
    const char *text; /* the output's text */
    const char *kept; /* " ||| ..." columns after the output in a list */
    int truncated;    /* 1: the n-best list marks the output as truncated */
} given_pair;

typedef enum given_form { GIVEN_UNKNOWN, GIVEN_COLUMNS, GIVEN_LINES, GIVEN_LIST } given_form;

typedef struct given_outputs {
    rill_context *ctx;
    cli_input inputs, outputs;
    given_form form;
    int64_t n_read;  /* inputs read so far */
    int64_t without; /* number of inputs without an output */
    int used;        /* whether the last input read has an output */
    /* The current input line and the status of reading it. In an n-best list, several outputs may belong to it. */
    rill_text line;
    rill_status line_status;
    given_pair *waiting; /* the output read last, if the input to which it belongs is not read yet */
    given_pair *pairs;   /* list of all pairs that are not freed yet */
} given_outputs;

/* Open both files; outputs: NULL for two columns. */
static int open_given(given_outputs *given, rill_context *ctx, const char *inputs, const char *outputs)
{
    given->ctx = given->line.ctx = ctx;
    given->form = outputs ? GIVEN_UNKNOWN : GIVEN_COLUMNS;
    TRY(cli_input_open(&given->inputs, ctx, inputs, RILL_FILE_STREAM));
    if (outputs) TRY(cli_input_open(&given->outputs, ctx, outputs, RILL_FILE_STREAM));
    return CLI_OK;
}

static void free_pair(given_pair *pair)
{
    if (!pair) return;
    *pair->link = pair->next;
    if (pair->next) pair->next->link = pair->link;
    free(pair);
}

/* Close both files and free all pairs; accepts a zeroed struct. */
static void close_given(given_outputs *given)
{
    cli_input_close(&given->inputs);
    cli_input_close(&given->outputs);
    while (given->pairs) free_pair(given->pairs);
    if (given->ctx) rill_text_clear(&given->line);
}

/* Allocate a pair with copies of its texts. list: the n-best line with the output, or NULL. */
static rill_status make_pair(given_outputs *given, int64_t id, const char *text, size_t length, const cli_nbest *list,
                             given_pair **out)
{
    const rill_slice kept = list ? list->kept : (rill_slice){"", 0};
    const size_t size = sizeof(given_pair) + length + kept.length + 2;
    given_pair *pair = malloc(size);
    if (!pair) return rill_fail_memory(given->ctx, size, "an output");
    char *copy = (char *)(pair + 1);
    *pair = (given_pair){.id = id, .text = copy, .kept = copy + length + 1};
    pair->next = given->pairs;
    pair->link = &given->pairs;
    if (pair->next) pair->next->link = &pair->next;
    given->pairs = pair;
    memcpy(copy, text, length);
    copy[length] = '\0';
    memcpy(copy + length + 1, kept.data, kept.length);
    copy[length + 1 + kept.length] = '\0';
    pair->truncated = list && list->truncated;
    *out = pair;
    return RILL_OK;
}

static rill_status refuse(const char **message, const char *why)
{
    *message = why;
    return RILL_ERR_INPUT;
}

/* Parse a line of outputs. RILL_ERR_INPUT with *message if the line does not fit the format. */
static rill_status take_output(given_outputs *given, const char *line, size_t length, given_pair **pair,
                               const char **message)
{
    cli_nbest list;
    const int is_list = cli_nbest_read(line, length, &list);
    if (given->form == GIVEN_UNKNOWN) given->form = is_list ? GIVEN_LIST : GIVEN_LINES;
    if (given->form == GIVEN_LINES) {
        size_t start = 0;
        while (start < length && (line[start] == ' ' || line[start] == '\t')) start++;
        if (!cli_nbest_read(line + start, length - start, &list))
            return make_pair(given, given->outputs.lines - 1, line, length, NULL, pair);
        return refuse(message, "the line is of an n-best list, but the first line is not: expected all lines to begin "
                               "with \"ID ||| \"");
    }
    if (!is_list) return refuse(message, "expected a line of an n-best list, \"ID ||| OUTPUT ||| ...\"");
    if (list.id < given->n_read - 1)
        return refuse(message, "the id is smaller than an earlier one: expected lists in the order of the inputs");
    return make_pair(given, list.id, list.field[1].data, list.field[1].length, &list, pair);
}

/* Count an input that was just read. If the input before it had no output, count that too. */
static void count_input(given_outputs *given)
{
    given->without += given->n_read > 0 && !given->used;
    given->used = 0;
    given->n_read++;
}

/* Read inputs up to the input of given->waiting, the output that was read last. */
static rill_status reach_input(given_outputs *given, int may_block, const char **message)
{
    const char *text = NULL;
    size_t length = 0;
    while (given->n_read <= given->waiting->id) {
        const rill_status status = cli_input_read(&given->inputs, may_block, &text, &length);
        if (status == RILL_END_OF_INPUT) return refuse(message, "no input has this id");
        if (status != RILL_OK && status != RILL_ERR_INPUT) return status;
        given->line_status = status;
        count_input(given);
        rill_text_reset(&given->line);
        TRY(rill_text_append(&given->line, text, length));
    }
    given->used = 1;
    *message = given->line.data;
    return given->line_status;
}

/* The outputs have ended: count the remaining inputs, which have no output. */
static rill_status read_rest(given_outputs *given, int may_block)
{
    const char *text;
    size_t length;
    rill_status status;
    while ((status = cli_input_read(&given->inputs, may_block, &text, &length)) == RILL_OK || status == RILL_ERR_INPUT)
        count_input(given);
    if (status != RILL_END_OF_INPUT) return status;
    given->without += given->n_read > 0 && !given->used;
    given->used = 1; /* a second call must not count the last input again */
    return RILL_END_OF_INPUT;
}

static rill_status read_columns(given_outputs *given, int may_block, given_pair **pair, const char **text,
                                size_t *length)
{
    TRY(cli_input_read(&given->inputs, may_block, text, length));
    const int64_t id = given->n_read++;
    const char *tab = memchr(*text, '\t', *length);
    if (!tab) {
        *text = "expected \"INPUT<TAB>OUTPUT\": set a file of outputs with --outputs";
        *length = strlen(*text);
        return RILL_ERR_INPUT;
    }
    const size_t input = (size_t)(tab - *text);
    const rill_status made = make_pair(given, id, tab + 1, *length - input - 1, NULL, pair);
    *length = input;
    return made;
}

/* Read the next pair; the input text is valid until the next call. Returns as a rill_read_fn.
 *   *pair: freed with free_pair(); NULL for a bad line, and *text is then the message */
static rill_status read_given(given_outputs *given, int may_block, given_pair **pair, const char **text, size_t *length)
{
    const char *line = NULL;
    size_t n = 0;
    *pair = NULL;
    if (given->form == GIVEN_COLUMNS) return read_columns(given, may_block, pair, text, length);
    rill_status status = RILL_OK;
    if (!given->waiting) {
        status = cli_input_read(&given->outputs, may_block, &line, &n);
        *text = line;
        if (status == RILL_END_OF_INPUT) return read_rest(given, may_block);
        if (status == RILL_OK) status = take_output(given, line, n, &given->waiting, text);
    }
    if (status == RILL_OK) status = reach_input(given, may_block, text);
    if (status == RILL_AGAIN || (status < 0 && status != RILL_ERR_INPUT)) return status;
    *length = status == RILL_OK ? given->line.length : *text ? strlen(*text) : 0;
    *pair = given->waiting;
    given->waiting = NULL;
    return status;
}

/* --- state of the command ---------------------------------------------------------------------------------------------- */

typedef struct score {
    cli_session session;
    rill_search_config *search_config;
    const char *input_path, *outputs_path, *output_path;
    int quiet;
    given_outputs given;
    cli_output output;
    cli_form form;
    /* [n_scorers] arguments of each scorer for one request; NULL: the scorer keeps those of the run. The last scorer, `given`, gets the
     * output to score. */
    const char **scorers;
    rill_text arguments;    /* arguments of the scorer `given`: the output to score, as text */
    rill_settings settings; /* settings of a request whose output has no end action */
    cli_placeholders placeholders;
    int64_t n_lines, n_failed;
} score;

/* --- options ------------------------------------------------------------------------------------------------------ */

#define STORED(field) .member = offsetof(score, field)
static const cli_option file_options[] = {
    {"input", 'i', "FILE",
     "inputs, one per line (default: standard input); without --outputs, lines \"INPUT<TAB>OUTPUT\"",
     STORED(input_path)},
    {"outputs", 0, "FILE", "the outputs to score, one for each input, or an n-best list", STORED(outputs_path)},
    {"output", 'o', "FILE", "file for the results (default: standard output)", STORED(output_path)},
    {"quiet", 'q', "", "print no summary; warnings and errors still appear", STORED(quiet)},
    {.name = NULL},
};

/* --- reader and writer of the run --------------------------------------------------------------------------------- */

/* Count the action ids in a text. *last: the last id. */
static int32_t count_ids(const char *text, int32_t *last)
{
    int32_t n = 0;
    for (char *end; *(text += strspn(text, " ")); text = end, n++) {
        *last = (int32_t)strtol(text, &end, 10);
        if (end == text) break; /* not a number: the scorer reports the error */
    }
    return n;
}

/* Limit the length of an output without an end action to its own length, so that decoding stops after its last action. */
static void limit_length(score *s, const given_pair *pair, rill_request *request)
{
    const rill_domain_info *info = rill_model_info(s->session.model);
    int32_t last = RILL_NO_ACTION, n = count_ids(pair->text, &last);
    if (n == 0 || (info->has_end_action && last == info->end_action)) return;
    s->settings = s->search_config->setup->settings;
    s->settings.max_length = (n + info->phases - 1) / info->phases;
    request->settings = &s->settings;
}

static rill_status read_request(void *user, int may_block, rill_request *request)
{
    score *s = user;
    given_pair *pair;
    if (cli_interrupted()) return RILL_END_OF_INPUT;
    const rill_status status = read_given(&s->given, may_block, &pair, &request->text, &request->length);
    request->user = pair;
    if (status != RILL_OK) return status;
    if (pair->truncated && !s->form.has_ids)
        return cli_refuse_input(request, "the output is truncated: use --ids to score an output without an end");
    cli_placeholders_count(&s->placeholders, request->text, request->length, pair->text, strlen(pair->text));
    rill_text_reset(&s->arguments);
    TRY(rill_text_printf(&s->arguments, "%s %s", s->form.has_ids ? "ids" : "text", pair->text));
    s->scorers[s->search_config->setup->n_scorers - 1] = s->arguments.data;
    request->scorers = s->scorers;
    if (s->form.has_ids) limit_length(s, pair, request);
    return RILL_OK;
}

/* The reason why the decoded output differs from the given output; NULL: they are equal. */
static const char *result_problem(const score *s, const given_pair *pair, const rill_output *o)
{
    int32_t last;
    if (o->n_ids == 0 && pair->text[strspn(pair->text, " ")] != '\0')
        return "the input is empty: its only output is empty";
    if (s->form.has_ids ? o->n_ids != count_ids(pair->text, &last) : o->finish_reason != RILL_FINISH_REASON_STOP)
        return "the output has more actions than the model's maximum";
    return NULL;
}

static rill_status write_result(void *user, const rill_result *result)
{
    score *s = user;
    given_pair *pair = result->user;
    const char *wrong = result->status >= 0          ? result_problem(s, pair, rill_result_output(result, 0))
                        : result->message[0] != '\0' ? result->message
                                                     : rill_status_name(result->status);
    s->n_lines++;
    if (wrong) {
        s->n_failed++;
        cli_message("line %" PRId64 ": %s", result->id + 1, wrong);
        cli_output_write(&s->output, "\n", 1);
    } else {
        cli_output_scored(&s->output, &s->form, pair->id, pair->text, pair->kept, rill_result_output(result, 0));
    }
    free_pair(pair);
    const int broken = result->has_more ? s->output.error != 0 : cli_output_flush(&s->output);
    return broken || cli_interrupted() ? RILL_ERR_STOPPED : RILL_OK;
}

/* --- preparing the run -------------------------------------------------------------------------------------------- */

static int make_search_config(score *s)
{
    cli_session *session = &s->session;
    const rill_option_source *defaults[] = {session->folder.search};
    if (cli_session_option_is_on(session, "pretty")) return cli_fail("--pretty has no effect on scores: leave it out");
    TRY(cli_exit_code(session->ctx, rill_option_source_force_decode(session->command_line)));
    TRY(cli_exit_code(session->ctx,
                      rill_search_config_make(&s->search_config, session->ctx, session->command_line, defaults, 1)));
    TRY(cli_exit_code(session->ctx, rill_search_config_add_scorer(s->search_config, "given", "")));
    s->scorers = calloc((size_t)s->search_config->setup->n_scorers, sizeof *s->scorers);
    if (!s->scorers) return cli_fail_memory("the scorers");
    return cli_form_request(&s->form, session, s->search_config);
}

static int prepare(score *s)
{
    cli_session *session = &s->session;
    const cli_file files[] = {{"input", cli_file_or_standard(s->input_path), 0},
                              {"output", cli_file_or_standard(s->output_path), 1},
                              {"--outputs", s->outputs_path, 0},
                              {NULL, NULL, 0}};
    TRY(cli_session_prepare(session));
    s->arguments.ctx = session->ctx;
    TRY(make_search_config(s));
    TRY(cli_files_check(files));
    TRY(open_given(&s->given, session->ctx, s->input_path, s->outputs_path));
    TRY(cli_session_open(session));
    TRY(cli_exit_code(session->ctx, cli_workers_begin(session, s->search_config, s->search_config->setup)));
    return cli_output_open(&s->output, session->ctx, s->output_path, CLI_STREAM);
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static int run(void *command)
{
    score *s = command;
    TRY(prepare(s));
    cli_interrupt_catch();
    const double start = cli_now();
    cli_interrupt_set_workers(s->session.worker_pool);
    const rill_status status = rill_workers_run_requests(s->session.worker_pool, read_request, s, write_result, s);
    cli_interrupt_set_workers(NULL);
    int code = s->n_failed ? CLI_SOME_FAILED : CLI_OK;
    if (cli_interrupted() && !s->output.error)
        code = CLI_INTERRUPTED;
    else if (status < 0 && !s->output.error)
        code = cli_fail_context(s->session.ctx);
    const int closed = cli_output_close(&s->output);
    if (closed != CLI_OK) code = closed;
    const rill_domain *domain = rill_model_domain(s->session.model);
    if (!s->session.open.tokenized && cli_metric_for_domain(domain) == &cli_metric_exact)
        cli_placeholders_warn(&s->placeholders, cli_message);
    if (s->given.without && (code == CLI_OK || code == CLI_SOME_FAILED))
        cli_message("warning: %" PRId64 " of %" PRId64 " inputs have no output that could be scored", s->given.without,
                    s->given.n_read);
    if (!s->quiet && (code == CLI_OK || code == CLI_SOME_FAILED))
        cli_message("%" PRId64 " outputs in %.1f s, %" PRId64 " without a score", s->n_lines, cli_now() - start,
                    s->n_failed);
    return code;
}

static void end(void *command)
{
    score *s = command;
    if (s->arguments.ctx) rill_text_clear(&s->arguments);
    rill_search_config_free(s->search_config);
    close_given(&s->given);
    free(s->scorers);
}

const cli_command cli_score = {
    .name = "score",
    .summary = "compute the log-probabilities of given outputs",
    .usage = "rill score -m DIR [--outputs FILE] [options] [< INPUT] [> RESULTS]",
    .groups = {{"Model", cli_model_options},
               {"Input and output", file_options},
               {"Outputs", .rows = CLI_ROWS_OUTPUTS},
               CLI_SEARCH_GROUPS},
    .main_options =
        "input outputs output ids model threads batch-size length-penalty word-scores weights device source-lang target-lang",
    .size = sizeof(score),
    .run = run,
    .end = end,
};
