/* Text made fit for a terminal; see terminal.h. */
#include "terminal.h"

#include "rill/context.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of the control character at `at`, 0 where another character begins; its number to *code. */
static size_t control(const char *at, const char *end, unsigned *code)
{
    const unsigned char first = (unsigned char)at[0], second = at + 1 < end ? (unsigned char)at[1] : 0;
    *code = first;
    if (first < 0x20) return first != '\t' && first != '\n';
    if (first == 0x7f) return 1;
    *code = second; /* C1, in UTF-8: no other character has these two bytes within it */
    return first == 0xc2 && second >= 0x80 && second < 0xa0 ? 2 : 0;
}

size_t cli_terminal_text(const char **text, const char *end, char out[CLI_TERMINAL_PIECE])
{
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;
    while (*text < end && used + 6 <= CLI_TERMINAL_PIECE) {
        unsigned code;
        const size_t bytes = control(*text, end, &code);
        if (bytes == 0) {
            out[used++] = *(*text)++;
            continue;
        }
        memcpy(out + used, bytes == 1 ? "\\x" : "\\u00", bytes * 2);
        used += bytes * 2;
        out[used++] = digits[code >> 4];
        out[used++] = digits[code & 15];
        *text += bytes;
    }
    return used;
}

void cli_terminal_put(FILE *to, const char *text, size_t length)
{
    char piece[CLI_TERMINAL_PIECE];
    const char *end = text + length;
    while (text < end) {
        const size_t n = cli_terminal_text(&text, end, piece);
        fwrite(piece, 1, n, to);
    }
}

static int print(FILE *to, const char *format, va_list arguments)
{
    char local[1024], *text = local;
    va_list again;
    va_copy(again, arguments);
    const int length = rill_print_list(local, sizeof local, format, arguments);
    if (length >= (int)sizeof local) text = malloc((size_t)length + 1);
    if (text && text != local) rill_print_list(text, (size_t)length + 1, format, again);
    va_end(again);
    if (length < 0 || !text) return -1;
    if (to == stderr || isatty(fileno(to)))
        cli_terminal_put(to, text, (size_t)length);
    else
        fwrite(text, 1, (size_t)length, to);
    if (text != local) free(text);
    return length;
}

int cli_print_to(FILE *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = print(to, format, arguments);
    va_end(arguments);
    return length;
}

int cli_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = print(stdout, format, arguments);
    va_end(arguments);
    return length;
}
