/* Common declarations of the command.
 *
 * A function that returns an exit code other than CLI_OK has printed a message. */
#pragma once

#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain_base.h"
#include "metric.h"
#include "rill/plugin.h"
#include "rill/rill.h"

enum {
    CLI_OK = 0,
    CLI_FAILED = 1,      /* wrong usage, or the run failed */
    CLI_SOME_FAILED = 2, /* the run finished, but some inputs have no output */
    /* After Ctrl-C, kill or a closed terminal. main() then raises the signal again, so that a shell ends its loop too (interrupt.c). */
    CLI_INTERRUPTED = 130,
    CLI_CLOSED = 141, /* the reader of our output is gone; shells show 141 for SIGPIPE */
};

/* Print "rill: ", the sentence and a newline on stderr. cli_fail() returns CLI_FAILED, for `return cli_fail(...)`. */
void cli_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define cli_fail(...) (cli_message(__VA_ARGS__), CLI_FAILED)

/* Print the error message that the context keeps. Returns CLI_FAILED. */
int cli_fail_context(const rill_context *ctx);

/* Returns CLI_OK for a status >= 0. Prints the context's error and returns CLI_FAILED otherwise. */
int cli_exit_code(const rill_context *ctx, rill_status status);

/* Report a failed allocation of the command. Returns CLI_FAILED. */
int cli_fail_memory(const char *what);

/* Flush stdout. Returns CLI_OK, CLI_CLOSED, or CLI_FAILED after a message. */
int cli_flush_stdout(void);

/* Return the seconds of a monotonic clock. */
double cli_now(void);

/* Read a decimal whole number between `min` and `max`: digits, after a minus sign if negative. Returns 0 if `text` is not such a number. */
int cli_read_int64(const char *text, int64_t min, int64_t max, int64_t *out);
/* As cli_read_int64(), with a message on error. option: its name for the message. Returns CLI_OK or CLI_FAILED. */
int cli_parse_int64(const char *option, const char *text, int64_t min, int64_t max, int64_t *out);
/* Parse a number of bytes, such as "500M". K, M, G and T are powers of 1024. option: name without dashes. Returns as cli_parse_int64(). */
int cli_parse_size(const char *option, const char *text, int64_t min, int64_t max, int64_t *out);

/* For SCOPED(cli_context_close): destroy a context; NULL is allowed. */
static inline void cli_context_close(rill_context *const *ctx)
{
    rill_context_destroy(*ctx);
}

/* Hold a pthread_mutex_t until the end of the enclosing block. */
#define LOCK_SCOPE(mutex) SCOPED(cli_unlock) pthread_mutex_t *const held_mutex = cli_lock(mutex)
static inline pthread_mutex_t *cli_lock(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    return mutex;
}
static inline void cli_unlock(pthread_mutex_t *const *mutex)
{
    pthread_mutex_unlock(*mutex);
}

/* --- the terminal ------------------------------------------------------------------------------------------------------ */

/* Control characters are escaped before a terminal shows them: "\x1b", "\u009b". Tab and newline stay. Standard error is always escaped,
 * results only on a terminal. */

enum { CLI_TERMINAL_CHUNK = 256 };

/* Escape the next part of *text into `out`, and advance *text. Returns the bytes in `out`, at least 1 while text is left. */
size_t cli_terminal_escape(const char **text, const char *end, char out[CLI_TERMINAL_CHUNK]);

/* Write a text, escaped. */
void cli_terminal_write(FILE *to, const char *text, size_t length);

/* printf() and fprintf() that escape on a terminal and on standard error. Return the unescaped length, or -1. */
int cli_print_to(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define cli_print(...) cli_print_to(stdout, __VA_ARGS__)

/* --- the progress line ------------------------------------------------------------------------------------------------- */

/* Progress line on a terminal: inputs done, fraction of the file, inputs per second, time left. Drawn at most ten times a second. */

typedef struct cli_progress {
    int is_on;
    int is_drawn;       /* 1: the line is on the terminal now */
    double start, last; /* cli_now() at the start and at the last drawing */
} cli_progress;

typedef struct cli_progress_position {
    int64_t done;  /* number of inputs finished */
    int64_t read;  /* number of inputs read */
    int64_t bytes; /* bytes of the inputs read */
    int64_t size;  /* bytes of the whole input; -1: unknown */
} cli_progress_position;

void cli_progress_start(cli_progress *progress, int on);
/* Whether the progress line should be drawn again now. Cheap enough to call for every input. */
int cli_progress_due(const cli_progress *progress);
void cli_progress_draw(cli_progress *progress, const cli_progress_position *position);
/* Erase the progress line before something else is printed. `progress`: a cli_progress. */
void cli_progress_erase(void *progress);

/* Draw a status line over the previous one, if standard error is a terminal. cli_status_erase() ignores its argument. */
void cli_status_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_status_erase(void *unused);

/* Write the text of the progress line into `out`, without control characters. `elapsed`: seconds since the start. */
void cli_progress_text(const cli_progress_position *position, double elapsed, char *out, unsigned long size);

/* --- files ------------------------------------------------------------------------------------------------------------- */

/* Check that a command does not overwrite a file that it also reads or writes elsewhere. */

typedef struct cli_file {
    const char *label; /* name in messages: "input", "--stats"; NULL ends a list */
    const char *path;  /* "-": standard input or output; NULL: the file is not used */
    int is_output;     /* 1: the command writes the file; 0: it reads it */
} cli_file;

/* Whether the path means standard input or output: NULL or "-". cli_file_or_standard() returns "-" for NULL, and other paths unchanged. */
int cli_file_is_standard(const char *path);
static inline const char *cli_file_or_standard(const char *path)
{
    return path ? path : "-";
}

int cli_file_exists(const char *path);
int cli_file_is_folder(const char *path);

/* Whether two paths name the same existing file. */
int cli_file_same(const char *a, const char *b);

/* Refuse output files that are also an input or another output, under any name. Call before opening any file for writing. */
int cli_files_check(const cli_file *files);

/* --- interruption ------------------------------------------------------------------------------------------------------ */

/* Graceful interruption: the first SIGINT, SIGTERM or SIGHUP lets the command write finished results; a second ends the process.
 * Unfinished files are always deleted. */

struct rill_workers;

void cli_interrupt_catch(void);
/* Register a file to delete if a signal ends the process (is: 1), or unregister it (is: 0). The path must outlive the registration. */
void cli_interrupt_set_unfinished(const char *path, int is);
/* Note whether an incomplete line is on the terminal (1 or 0); a fatal signal then prints a line end. */
void cli_interrupt_set_line_drawn(int is);
/* Name the workers whose run a signal stops; NULL: none. The workers must stay open until the next call of this function. */
void cli_interrupt_set_workers(struct rill_workers *workers);
/* From now on SIGHUP asks for a reload instead of ending the process. Returns whether SIGHUP was ignored before (nohup). */
int cli_interrupt_reload_on_hup(void);
/* Whether SIGHUP came since the last call. After a SIGHUP, the descriptor of cli_interrupt_descriptor() stays readable until this call. */
int cli_interrupt_take_hup(void);
int cli_interrupted(void); /* the signal that came, or 0; always 0 before cli_interrupt_catch() */
/* Return a descriptor that becomes readable when a signal comes. Before cli_interrupt_catch() it is -1, which poll() ignores. */
int cli_interrupt_descriptor(void);
/* End the process with the signal that came, so that the parent sees it and a shell ends its loop. */
void cli_interrupt_die(void);
