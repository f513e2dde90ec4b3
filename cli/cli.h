/* What every file of the command shares: exit codes, messages on stderr, the clock.
 *
 * The command is a caller of librill and librill-script like any other: it includes their headers and jansson's alone. Functions that can
 * fail have already said so on stderr when they return; what they return is the exit code, so that a command reads
 * `if ((code = step()) != CLI_OK) goto done;` from top to bottom. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stddef.h>

#include "rill/plugin.h"
#include "rill/rill.h"
#include "terminal.h"

enum {
    CLI_OK = 0,
    CLI_FAILED = 1,      /* wrong usage, or the run could not be finished */
    CLI_SOME_FAILED = 2, /* the run was finished, but some inputs have no output */
    /* Ctrl-C, kill, or the terminal gone: main() then dies of the signal that it was, so that loops end too (interrupt.h) */
    CLI_INTERRUPTED = 130,
    CLI_CLOSED = 141, /* whoever read our output went away: the number a shell shows for SIGPIPE */
};

/* Print "rill: ", the sentence and a newline on stderr. cli_fail() returns CLI_FAILED, for `return cli_fail(...)`. */
void cli_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Say the context's last failure; returns CLI_FAILED. */
int cli_fail_context(const rill_context *ctx);

/* CLI_OK where the status says so, else as above. */
int cli_exit_code(const rill_context *ctx, rill_status status);

/* A failed allocation outside the library's allocator; returns CLI_FAILED. */
int cli_fail_memory(const char *what);

/* Flush what was printed on standard output. CLI_OK, CLI_CLOSED, or CLI_FAILED after a message. */
int cli_flush_stdout(void);

/* Seconds from an arbitrary point that never goes back. */
double cli_now(void);

/* Read a whole number between `least` and `most` from `text`, the value of `option`. */
int cli_parse_int(const char *option, const char *text, int min, int max, int *out);
int cli_parse_int64(const char *option, const char *text, int64_t min, int64_t max, int64_t *out);
/* A number of bytes, also with K, M, G or T as powers of 1024: "500M". */
int cli_parse_size(const char *option, const char *text, int64_t min, int64_t max, int64_t *out);

/* One command: argv[0] is the command's own name. */
typedef struct cli_command {
    const char *name;
    const char *summary; /* one line for `rill --help` */
    int (*run)(int argc, char **argv);
} cli_command;

int cli_convert(int argc, char **argv);
int cli_decode(int argc, char **argv);
int cli_run(int argc, char **argv);
int cli_score(int argc, char **argv);
int cli_trie(int argc, char **argv);
int cli_tune(int argc, char **argv);
int cli_trace_page(int argc, char **argv);
int cli_evidence(int argc, char **argv);
int cli_eval(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_serve(int argc, char **argv); /* where it is built: RILL_SERVE */
int cli_info(int argc, char **argv);
int cli_list(int argc, char **argv);

#endif
