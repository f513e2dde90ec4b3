/* Escape control characters in text of models, plugins and users before it is shown on a terminal.
 *
 * Control characters other than tab and newline become "\x1b". C1 controls in UTF-8 (U+0080 to U+009F) become "\u009b", and single
 * bytes of these values "\x9b". All messages on standard error are escaped. Results and tables are escaped on a terminal, and
 * unchanged in files and pipes. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stddef.h>
#include <stdio.h>

enum { CLI_TERMINAL_CHUNK = 256 };

/* Escape the next part of *text, up to `end`, into `out`, and advance *text. Returns the number of bytes in `out`, at least 1 before
 * the end. */
size_t cli_terminal_escape(const char **text, const char *end, char out[CLI_TERMINAL_CHUNK]);

/* Write a text, escaped. */
void cli_terminal_write(FILE *to, const char *text, size_t length);

/* printf() and fprintf() that escape on a terminal and on standard error. Return the length of the unescaped text, or -1 after an
 * error. */
int cli_print_to(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
