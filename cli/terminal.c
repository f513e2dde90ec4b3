/* Escaping text for a terminal; see terminal.h. */
#include "terminal.h"

#include "rill/context.h"
#include "utf8.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Code of the control character at `pos`, or 0. C1 controls (U+0080 to U+009F) count as single bytes too, because a terminal that does
 * not use UTF-8, or meets invalid UTF-8, may obey them. */
static unsigned control_code(const char *pos, size_t bytes)
{
    const unsigned char first = (unsigned char)pos[0], second = bytes == 2 ? (unsigned char)pos[1] : 0;
    if (bytes == 0) return first >= 0x80 && first < 0xa0 ? first : 0;
    if (bytes == 2) return first == 0xc2 && second < 0xa0 ? second : 0;
    return first == 0x7f || (first < 0x20 && first != '\t' && first != '\n') ? first | 0x100 : 0;
}

size_t cli_terminal_escape(const char **text, const char *end, char out[CLI_TERMINAL_CHUNK])
{
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;
    while (*text < end && used + 6 <= CLI_TERMINAL_CHUNK) {
        const size_t bytes = rill_utf8_length(*text, (size_t)(end - *text)), taken = bytes > 0 ? bytes : 1;
        const unsigned code = control_code(*text, bytes);
        if (code == 0) {
            memcpy(out + used, *text, taken);
            used += taken;
        } else {
            const size_t mark = bytes == 2 ? 4 : 2;
            memcpy(out + used, bytes == 2 ? "\\u00" : "\\x", mark);
            used += mark;
            out[used++] = digits[code >> 4 & 15];
            out[used++] = digits[code & 15];
        }
        *text += taken;
    }
    return used;
}

void cli_terminal_write(FILE *to, const char *text, size_t length)
{
    char chunk[CLI_TERMINAL_CHUNK];
    const char *end = text + length;
    while (text < end) {
        const size_t n = cli_terminal_escape(&text, end, chunk);
        fwrite(chunk, 1, n, to);
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
        cli_terminal_write(to, text, (size_t)length);
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
