/* rill trie: write a set of allowed outputs to a file for the scorer `trie`. */

#include "cli_input.h"
#include "cli_output.h"

typedef struct trie {
    cli_session session;
    const char *input_path, *output_path;
    int ids;
    cli_input input;
    rill_trie *set;
    cli_actions actions; /* actions of the current line */
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

/* Add the output of a line to the set; an empty line without an end action is no output. */
static rill_status add_output(trie *t, const char *text, size_t length)
{
    rill_context *ctx = t->session.ctx;
    const rill_domain_info *info = rill_model_info(t->session.model);
    t->actions.n = 0;
    TRY(cli_actions_read(&t->actions, t->session.model, ctx, t->ids, (rill_slice){text, length}));
    if (!t->ids && info->has_end_action) TRY(cli_actions_add(&t->actions, ctx, info->end_action));
    return t->actions.n > 0 ? rill_trie_add(t->set, t->actions.action, (int32_t)t->actions.n) : RILL_OK;
}

static int add_line(void *user, const char *text, size_t length, int is_bad)
{
    trie *t = user;
    const rill_status status = is_bad ? RILL_ERR_INPUT : add_output(t, text, length);
    if (status == RILL_OK) return CLI_OK;
    if (status != RILL_ERR_INPUT && status != RILL_ERR_ARGUMENT) return cli_fail_context(t->session.ctx);
    cli_message("line %" PRId64 ": %s", t->input.lines, is_bad ? text : rill_error(t->session.ctx));
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
    TRY(cli_session_configure(&t->session));
    TRY(cli_files_check(files));
    TRY(cli_input_open(&t->input, ctx, t->input_path, RILL_FILE_STREAM));
    TRY(cli_session_open(&t->session));
    TRY(cli_exit_code(ctx, rill_trie_create(&t->set, ctx, rill_model_info(t->session.model)->actions)));
    TRY(cli_input_each(&t->input, add_line, t));
    TRY(cli_output_open(&t->output, ctx, t->output_path, CLI_REPORT));
    int code = CLI_OK;
    if (rill_trie_write(t->set, cli_output_bytes, &t->output) < 0 && !t->output.error) {
        code = cli_fail_context(ctx);
        t->output.is_begun = 0; /* discard the incomplete file */
    }
    TRY(cli_output_close(&t->output));
    return code == CLI_OK && t->n_failed ? CLI_SOME_FAILED : code;
}

static void end(void *command)
{
    trie *t = command;
    rill_trie_free(t->set);
    cli_input_close(&t->input);
    free(t->actions.action);
}

const cli_command cli_trie = {
    .name = "trie",
    .summary = "make a set of allowed outputs",
    .usage = "rill trie [SEQUENCES] -m DIR -o FILE [options]",
    .groups = {{"Options", options}, {"Model", cli_naming_options}},
    .argument = "file of sequences",
    .argument_member = offsetof(trie, input_path),
    .size = sizeof(trie),
    .run = run,
    .end = end,
};
