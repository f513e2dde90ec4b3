/* rill trie: write a set of allowed outputs to a file for the scorer `trie`. */

#include "cli_input.h"
#include "cli_output.h"
#include "rill/constraints.h"

typedef struct trie {
    cli_session session;
    const char *input_path, *output_path;
    int ids;
    cli_input input;
    rill_trie *set;
    int32_t *action; /* [action_capacity] actions of the current line */
    size_t action_capacity;
    int64_t n_failed;
    cli_output output;
} trie;

#define STORED(field) .member = offsetof(trie, field)
static const cli_option options[] = {
    {"output", 'o', "FILE", "file for the trie", STORED(output_path)},
    {"ids", 0, "", "lines are action ids separated by spaces, including the end action, in place of texts",
     STORED(ids)},
    {.name = NULL},
};

static int grow_actions(trie *t, int32_t need)
{
    return cli_grow(&t->action, &t->action_capacity, (size_t)need, sizeof *t->action) ? CLI_OK
                                                                                      : cli_fail_memory("a sequence");
}

/* Read the action ids of a line. *n: number of ids; negative after a message about a bad line. */
static int read_ids(trie *t, const char *text, size_t length, int32_t *n)
{
    const char *end = text + length;
    *n = 0;
    for (;; ++*n) {
        while (text < end && *text == ' ') text++;
        if (text == end) return CLI_OK;
        int64_t value = 0;
        const char *digit = text;
        for (; digit < end && *digit >= '0' && *digit <= '9' && value < INT32_MAX; digit++)
            value = 10 * value + (*digit - '0');
        if (digit == text || (digit < end && *digit != ' ') || value > INT32_MAX) {
            cli_message("line %" PRId64 ": \"%.*s\" is not an action id", t->input.lines,
                        (int)(end - text < 20 ? end - text : 20), text);
            *n = -1;
            return CLI_OK;
        }
        if (grow_actions(t, *n + 1) != CLI_OK) return CLI_FAILED;
        t->action[*n] = (int32_t)value;
        text = digit;
    }
}

static int read_text(trie *t, const char *text, size_t length, int32_t *n)
{
    rill_context *ctx = t->session.ctx;
    const rill_domain_info *info = rill_model_info(t->session.model);
    rill_status status = rill_model_tokenize(t->session.model, ctx, text, length, t->action,
                                             (int32_t)t->action_capacity, n);
    if (status == RILL_OK && (size_t)*n + 1 > t->action_capacity) {
        if (grow_actions(t, *n + 1) != CLI_OK) return CLI_FAILED;
        status = rill_model_tokenize(t->session.model, ctx, text, length, t->action, (int32_t)t->action_capacity, n);
    }
    if (status == RILL_ERR_INPUT) {
        cli_message("line %" PRId64 ": %s", t->input.lines, rill_error(ctx));
        *n = -1;
        return CLI_OK;
    }
    if (status < 0) return cli_fail_context(ctx);
    if (info->has_end_action) t->action[(*n)++] = info->end_action;
    return CLI_OK;
}

static int add_line(void *user, const char *text, size_t length, int is_bad)
{
    trie *t = user;
    int32_t n = 0;
    if (is_bad) {
        cli_message("line %" PRId64 ": %s", t->input.lines, text);
        t->n_failed++;
        return CLI_OK;
    }
    const int code = t->ids ? read_ids(t, text, length, &n) : read_text(t, text, length, &n);
    /* n is 0 for an empty line without an end action, which is no output: skip it */
    if (code != CLI_OK || n == 0) return code;
    if (n > 0 && rill_trie_add(t->set, t->action, n) == RILL_OK) return CLI_OK;
    if (n > 0) {
        if (rill_error_status(t->session.ctx) != RILL_ERR_ARGUMENT) return cli_fail_context(t->session.ctx);
        cli_message("line %" PRId64 ": %s", t->input.lines, rill_error(t->session.ctx));
    }
    t->n_failed++;
    return CLI_OK;
}

static int run(void *command)
{
    trie *t = command;
    rill_context *ctx = t->session.ctx;
    const cli_file files[] = {
        {"the sequences", cli_file_or_standard(t->input_path), 0}, {"-o", t->output_path, 1}, {NULL, NULL, 0}};
    if (!t->output_path) return cli_fail("no output file: set -o FILE");
    if (cli_file_is_standard(t->output_path)) return cli_fail("-o: a trie must be written to a file: set -o FILE");
    int code = cli_session_configure(&t->session);
    if (code == CLI_OK) code = cli_files_check(files);
    if (code == CLI_OK) code = cli_input_open(&t->input, ctx, t->input_path, RILL_FILE_STREAM);
    if (code == CLI_OK) code = cli_session_open(&t->session);
    if (code == CLI_OK)
        code = cli_exit_code(ctx, rill_trie_create(&t->set, ctx, rill_model_info(t->session.model)->actions));
    if (code == CLI_OK) code = grow_actions(t, 64);
    if (code == CLI_OK) code = cli_input_each(&t->input, add_line, t);
    if (code == CLI_OK) code = cli_output_open(&t->output, ctx, t->output_path, CLI_REPORT);
    if (code != CLI_OK) return code;
    const rill_status status = rill_trie_write(t->set, cli_output_bytes, &t->output);
    if (status < 0 && !t->output.error) {
        cli_fail_context(ctx);
        t->output.is_begun = 0; /* discard the incomplete file */
        code = CLI_FAILED;
    }
    const int closed = cli_output_close(&t->output);
    if (closed != CLI_OK) return closed;
    return code == CLI_OK && t->n_failed ? CLI_SOME_FAILED : code;
}

static void end(void *command)
{
    trie *t = command;
    rill_trie_free(t->set);
    cli_input_close(&t->input);
    free(t->action);
}

const cli_command cli_trie = {
    .name = "trie",
    .summary = "make a set of allowed outputs",
    .usage = "rill trie [SEQUENCES] -m DIR -o FILE [options]",
    .about = "Make a trie of allowed outputs, one per line, from a file or standard input.\n"
             "With `--scorer trie:FILE`, every output of the model is one of these lines: for\n"
             "retrieval, closed sets of labels, names. A line that the model's actions cannot\n"
             "express is reported and skipped. The file works only with models that have the\n"
             "same actions.",
    .groups = {{"Options", options}, {"Model", cli_naming_options}},
    .epilogue = "Exit code: 0 success; 1 wrong usage or failure; 2 written, lines were skipped.\n"
                "\n"
                "Examples:\n"
                "  rill trie titles.txt -m model -o titles.trie\n"
                "  rill decode -m model -k 20 --n-best 20 --scorer trie:titles.trie < in > out\n",
    .argument = "file of sequences",
    .argument_member = offsetof(trie, input_path),
    .size = sizeof(trie),
    .run = run,
    .end = end,
};
