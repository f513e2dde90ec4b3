/* Reading n-best lists as Moses has them, "ID ||| OUTPUT ||| ... ||| SCORE", and what looks like them: lattices, numbered lines. */
#ifndef CLI_NBEST_H
#define CLI_NBEST_H

#include <stddef.h>
#include <stdint.h>

enum { CLI_NBEST_FIELDS = 8 };

typedef struct cli_field {
    const char *text;
    size_t length;
} cli_field;

/* A line; it points into the line's text. */
typedef struct cli_nbest {
    int64_t id;
    int n;                             /* fields, ID and OUTPUT included: at least 2 */
    cli_field field[CLI_NBEST_FIELDS]; /* of a line with more, the last of these is the line's last */
    cli_field kept;                    /* " ||| ..." columns after OUTPUT; empty if there are none */
    int truncated;                     /* one of them says that the output was cut short */
} cli_nbest;

/* Read the ID, at most 18 digits, before `bar`: the length of both, 0 when the line begins otherwise. */
size_t cli_nbest_id(const char *line, size_t length, const char *bar, int64_t *id);

/* Take a line apart: 1, or 0 when it does not begin with "ID ||| ". */
int cli_nbest_read(const char *line, size_t length, cli_nbest *out);

#endif
