/* Declarations for all files of the command: exit codes, messages on stderr, the clock.
 *
 * The command uses only public headers of librill, librill-script and jansson. A function that fails prints its message on stderr
 * before it returns, and returns the exit code. Callers can therefore write `if ((code = step()) != CLI_OK) goto done;`. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stddef.h>

#include "rill/plugin.h"
#include "rill/rill.h"
#include "terminal.h"

enum {
    CLI_OK = 0,
    CLI_FAILED = 1,      /* wrong usage, or the run failed */
    CLI_SOME_FAILED = 2, /* the run finished, but some inputs have no output */
    /* After Ctrl-C, kill or a closed terminal. main() then raises the signal again, so that shell loops end too (interrupt.h). */
    CLI_INTERRUPTED = 130,
    CLI_CLOSED = 141, /* the reader of our output is gone; shells show 141 for SIGPIPE */
};

/* Print "rill: ", the sentence and a newline on stderr. cli_fail() returns CLI_FAILED, for `return cli_fail(...)`. */
void cli_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print the error of the context. Returns CLI_FAILED. */
int cli_fail_context(const rill_context *ctx);

/* Returns CLI_OK for a status >= 0. Prints the context's error and returns CLI_FAILED otherwise. */
int cli_exit_code(const rill_context *ctx, rill_status status);

/* Report a failed allocation of the command. Returns CLI_FAILED. */
int cli_fail_memory(const char *what);

/* Flush stdout. CLI_OK, CLI_CLOSED, or CLI_FAILED after a message. */
int cli_flush_stdout(void);

/* Seconds of a monotonic clock. */
double cli_now(void);

/* Parse a whole number between `min` and `max`. `option` is its name for the message. CLI_OK or CLI_FAILED after a message. */
int cli_parse_int(const char *option, const char *text, int min, int max, int *out);
int cli_parse_int64(const char *option, const char *text, int64_t min, int64_t max, int64_t *out);
/* Parse a number of bytes; K, M, G and T are powers of 1024, as in "500M". CLI_OK or CLI_FAILED after a message. */
int cli_parse_size(rill_context *ctx, const char *option, const char *text, int64_t min, int64_t max, int64_t *out);

/* One command. argv[0] is the name of the command. */
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
int cli_serve(int argc, char **argv); /* only with RILL_SERVE */
int cli_info(int argc, char **argv);
int cli_list(int argc, char **argv);

#endif
