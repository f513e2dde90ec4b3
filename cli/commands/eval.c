/* rill eval: measure the quality of outputs.
 *
 * Formats, detected by the first line: plain lines, "ID<TAB>OUTPUT", Moses n-best lists. Ids count references from 0. The oracle is the
 * best output of an id. */

#include "cli_input.h"
#include "trial.h"

typedef struct eval {
    cli_session session;
    const rill_domain *domain;
    const char *references_path, *test_set_path, *hypotheses_path, *json_path;
    cli_output json;
    int begun, is_decided;
    cli_lines references;
    cli_metric metric;
    cli_input input;
    const cli_metric_kind *kind;
    cli_verdict *verdict;    /* [n] evaluation of the outputs for each reference */
    unsigned char *numbered; /* [n] only if lines are numbered; 1: this reference's line was read, even if empty */
    cli_output_format form;
    cli_counts counts;
} eval;

static const char *references_name(const eval *e)
{
    return e->test_set_path ? e->test_set_path : e->references_path;
}

/* --- reading hypotheses ------------------------------------------------------------------------------------------- */

static int fail_line(const eval *e, const char *why)
{
    return cli_fail("%s: line %" PRId64 ": %s", e->input.name, e->input.lines, why);
}

static cli_output_format form_of(const char *line, size_t length)
{
    cli_nbest list;
    if (cli_nbest_read(line, length, &list) && list.n > 2) return CLI_FORMAT_NBEST;
    return cli_nbest_id(line, length, "\t", &list.id) ? CLI_FORMAT_NUMBERED : CLI_FORMAT_PLAIN;
}

/* Whether `text` has " ||| " fields after the output. If reference i contains " ||| " too, `text` has no fields. */
static int has_fields(const eval *e, int64_t i, const char *text, size_t length)
{
    static const char bar[] = " ||| ";
    size_t wanted;
    const char *reference = cli_lines_get(&e->references, i, &wanted);
    return e->form != CLI_FORMAT_NBEST && memmem(text, length, bar, sizeof bar - 1) &&
           !memmem(reference, wanted, bar, sizeof bar - 1);
}

/* Add an output of input i to the verdict. The first output decides whether lines have extra fields. */
static int judge(eval *e, int64_t i, const char *text, size_t length)
{
    if (!e->begun && has_fields(e, i, text, length))
        return fail_line(e, "the line has \"|||\" but is not of an n-best list: decode with --n-best 1");
    e->begun = 1;
    if (cli_verdict_add(&e->verdict[i], &e->metric, i, text, length) < 0) return cli_fail_context(e->session.ctx);
    return CLI_OK;
}

static int check_id(const eval *e, int64_t id)
{
    if (id >= e->metric.n)
        return cli_fail("%s: line %" PRId64 ": id %" PRId64 " has no reference: there are %" PRId64
                        " in %s (ids count from 0)",
                        e->input.name, e->input.lines, id, e->metric.n, references_name(e));
    return CLI_OK;
}

static int take_nbest(eval *e, const char *line, size_t length)
{
    cli_nbest list;
    if (length == 0) return CLI_OK;
    if (!cli_nbest_read(line, length, &list) || list.n < 3)
        return fail_line(e, "expected \"ID ||| OUTPUT ||| ...\" as in the first line");
    return check_id(e, list.id) == CLI_OK ? judge(e, list.id, list.field[1].data, list.field[1].length) : CLI_FAILED;
}

static int take_numbered(eval *e, const char *line, size_t length)
{
    int64_t id;
    size_t from = cli_nbest_id(line, length, "\t", &id);
    if (!from) return fail_line(e, "expected \"ID<TAB>OUTPUT\" as in the first line");
    if (check_id(e, id) != CLI_OK) return CLI_FAILED;
    if (e->numbered[id])
        return cli_fail("%s: line %" PRId64 ": id %" PRId64 " occurs twice", e->input.name, e->input.lines, id);
    e->numbered[id] = 1;
    /* an empty output comes from a failed input: it counts as missing */
    return from < length ? judge(e, id, line + from, length - from) : CLI_OK;
}

/* Take a line of hypotheses; a line with a NUL byte counts as empty. The first non-empty line decides the format. */
static int take_line(void *user, const char *line, size_t length, int is_bad)
{
    eval *e = user;
    if (is_bad) length = 0;
    if (!e->is_decided && length > 0) e->form = form_of(line, length);
    e->is_decided |= length > 0;
    switch (e->form) {
    case CLI_FORMAT_NBEST: return take_nbest(e, line, length);
    case CLI_FORMAT_NUMBERED: return take_numbered(e, line, length);
    default: break;
    }
    /* An empty line is of a failed input, which counts as missing. Lines beyond the last reference are counted for a message. */
    const int64_t i = e->input.lines - 1;
    return i < e->metric.n && length > 0 ? judge(e, i, line, length) : CLI_OK;
}

/* Read the hypotheses, and count the verdicts. */
static int count(eval *e)
{
    TRY(cli_input_each(&e->input, take_line, e));
    if (e->form != CLI_FORMAT_NBEST && e->input.lines != e->metric.n)
        return cli_fail("%s has %" PRId64 " lines, and %s has %" PRId64 ": expected equal numbers", e->input.name,
                        e->input.lines, references_name(e), e->metric.n);
    for (int64_t i = 0; i < e->metric.n; i++) {
        if (!e->verdict[i].n_outputs && cli_verdict_add(&e->verdict[i], &e->metric, i, NULL, 0) < 0)
            return cli_fail_context(e->session.ctx);
        cli_counts_add(&e->counts, &e->verdict[i]);
    }
    return CLI_OK;
}

/* --- reporting ---------------------------------------------------------------------------------------------------- */

static int report_json(eval *e)
{
    const cli_counts *c = &e->counts;
    json_t *object = json_pack("{s:I,s:I,s:b,s:s?}", "inputs", (json_int_t)c->inputs, "missing", (json_int_t)c->missing,
                               "nbest", e->form == CLI_FORMAT_NBEST, "domain", e->domain ? e->domain->name : NULL);
    if (object) cli_quality_json(e->metric.kind, c, object);
    TRY(cli_json_write(&e->json, object));
    return cli_output_close(&e->json);
}

static int report_text(const eval *e)
{
    const cli_counts *c = &e->counts;
    cli_print("inputs   %8" PRId64 "\n", c->inputs);
    SCOPED(rill_text_clear) rill_text text = {.ctx = e->session.ctx};
    if (e->metric.kind->report(c, &text) != RILL_OK) return cli_fail_context(e->session.ctx);
    cli_print("%s", text.data);
    if (c->missing) cli_print("missing  %8" PRId64 "\n", c->missing);
    return cli_flush_stdout();
}

static int report(eval *e)
{
    if (!cli_json_replaces_table(e->json_path)) TRY(report_text(e));
    if (e->json_path) TRY(report_json(e));
    if (!e->json_path && !e->kind && !e->domain)
        cli_message("lines were compared as text, because no model was given: use --metric bleu for translations, "
                    "--metric bracket for trees");
    return CLI_OK;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

#define STORED(field) .member = offsetof(eval, field)
static const cli_option eval_options[] = {
    {"refs", 'r', "FILE", "references, one per line", STORED(references_path)},
    {"test-set", 0, "FILE", "inputs and references: two columns with a tab between them", STORED(test_set_path)},
    CLI_REFUSED_TSV,
    {"metric", 0, "NAME", "one of the metrics below (default: the domain's; without a model exact)", STORED(kind),
     .take = cli_metric_take},
    {"json", 0, "FILE", "write the report as JSON; - is standard output, in place of the text", STORED(json_path)},
    {.name = NULL},
};

static int load_references(eval *e)
{
    SCOPED(cli_lines_free) cli_lines inputs = {0};
    if (!e->test_set_path) return cli_lines_load(&e->references, e->session.ctx, e->references_path);
    return cli_lines_load_columns(&inputs, &e->references, e->session.ctx, e->test_set_path);
}

static int check_files(const eval *e)
{
    const cli_file files[] = {{"references", references_name(e), 0},
                              {"outputs", cli_file_or_standard(e->hypotheses_path), 0},
                              {"the report", cli_json_replaces_table(e->json_path) ? NULL : "-", 1},
                              {"--json", e->json_path, 1},
                              {NULL, NULL, 0}};
    if (!references_name(e)) return cli_fail("no references: set --refs FILE or --test-set FILE");
    if (e->references_path && e->test_set_path)
        return cli_fail("--refs cannot be combined with --test-set: both name references");
    if (cli_file_is_standard(references_name(e)) && cli_file_is_standard(e->hypotheses_path))
        return cli_fail("references and outputs cannot both be standard input");
    return cli_files_check(files);
}

static int run(void *command)
{
    eval *e = command;
    TRY(check_files(e));
    TRY(cli_session_configure(&e->session));
    if (e->session.open.path || e->session.domain) {
        const char *name = cli_session_domain(&e->session);
        if (!name) return CLI_FAILED;
        e->domain = rill_find_domain(e->session.ctx, name);
    }
    TRY(load_references(e));
    TRY(cli_exit_code(e->session.ctx,
                      cli_metric_open(&e->metric, e->session.ctx, e->kind, e->domain, &e->references, cli_message)));
    TRY(cli_input_open(&e->input, e->session.ctx, e->hypotheses_path, RILL_FILE_STREAM));
    if (e->json_path) TRY(cli_output_open(&e->json, e->session.ctx, e->json_path, CLI_REPORT));
    e->verdict = calloc((size_t)e->metric.n + 1, sizeof *e->verdict);
    e->numbered = calloc((size_t)e->metric.n + 1, 1);
    if (!e->verdict || !e->numbered) return cli_fail_memory("the counts");
    TRY(count(e));
    return report(e);
}

static void end(void *command)
{
    eval *e = command;
    cli_input_close(&e->input);
    cli_output_discard(&e->json);
    cli_metric_close(&e->metric);
    cli_lines_free(&e->references);
    free(e->verdict);
    free(e->numbered);
}

const cli_command cli_eval = {
    .name = "eval",
    .summary = "compare decoded lines with references",
    .usage = "rill eval [-m DIR] {--refs FILE | --test-set FILE} [options] [HYPOTHESES]",
    .groups = {{"Options", eval_options}, {"Domain", cli_domain_options}},
    .main_options = "refs test-set metric json model domain plugin",
    .argument = "file of hypotheses",
    .argument_member = offsetof(eval, hypotheses_path),
    .size = sizeof(eval),
    .run = run,
    .end = end,
};
