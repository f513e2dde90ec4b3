/* Text of models, plugins and users on its way to a terminal: what would command the terminal is shown instead.
 *
 * Control characters but tab and newline become "\x1b", those of UTF-8 beyond ASCII (U+0080 to U+009F) "\u009b", and bytes of these
 * numbers that are part of no character "\x9b". All that the command
 * says on standard error goes this way; results and tables do where a terminal shows them, and reach files and pipes as they are. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stddef.h>
#include <stdio.h>

enum { CLI_TERMINAL_CHUNK = 256 };

/* Move *text on towards `end`, with what of it is shown to `out`. Returns the bytes there: at least 1 before the end. */
size_t cli_terminal_escape(const char **text, const char *end, char out[CLI_TERMINAL_CHUNK]);

/* Write the text as it is shown. */
void cli_terminal_write(FILE *to, const char *text, size_t length);

/* printf() and fprintf(), shown on a terminal and on standard error. Return the bytes of the text itself, -1 after a failure. */
int cli_print_to(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
