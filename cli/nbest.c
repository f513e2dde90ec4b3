/* Parsing n-best lists; see nbest.h. */
#include "nbest.h"

#include <ctype.h>
#include <string.h>

static const char BAR[] = " ||| ";

size_t cli_nbest_id(const char *line, size_t length, const char *bar, int64_t *id)
{
    size_t digits = 0;
    const size_t width = strlen(bar);
    int64_t number = 0;
    while (digits < length && digits < 18 && isdigit((unsigned char)line[digits]))
        number = 10 * number + (line[digits++] - '0');
    if (digits == 0 || length < digits + width || memcmp(line + digits, bar, width) != 0) return 0;
    *id = number;
    return digits + width;
}

int cli_nbest_read(const char *line, size_t length, cli_nbest *out)
{
    static const char mark[] = " truncated= 1";
    const char *const end = line + length, *bar;
    out->n = 0;
    if (!cli_nbest_id(line, length, BAR, &out->id)) return 0;
    do {
        bar = memmem(line, (size_t)(end - line), BAR, sizeof BAR - 1);
        const cli_field field = {line, (size_t)((bar ? bar : end) - line)};
        out->field[out->n < CLI_NBEST_FIELDS ? out->n++ : out->n - 1] = field;
        line = bar ? bar + sizeof BAR - 1 : end;
    } while (bar);
    out->kept.text = out->field[1].text + out->field[1].length;
    out->kept.length = (size_t)(end - out->kept.text);
    out->truncated = memmem(out->kept.text, out->kept.length, mark, sizeof mark - 1) != NULL;
    return 1;
}
