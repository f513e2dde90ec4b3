/* Parsing of Moses n-best lists, "ID ||| OUTPUT ||| ... ||| SCORE", and of similar formats: lattices and numbered lines. */
#ifndef CLI_NBEST_H
#define CLI_NBEST_H

#include <stddef.h>
#include <stdint.h>

enum { CLI_NBEST_FIELDS = 8 };

typedef struct cli_field {
    const char *text;
    size_t length;
} cli_field;

/* A parsed line. Its fields point into the line's text. */
typedef struct cli_nbest {
    int64_t id;
    int n;                             /* number of fields, including ID and OUTPUT: at least 2 */
    cli_field field[CLI_NBEST_FIELDS]; /* if a line has more fields, the last element is the line's last field */
    cli_field kept;                    /* " ||| ..." columns after OUTPUT; empty if there are none */
    int truncated;                     /* a field marks the output as truncated */
} cli_nbest;

/* Parse an id of at most 18 digits, followed by `bar`. Returns the length of both, or 0 if the line begins differently. */
size_t cli_nbest_id(const char *line, size_t length, const char *bar, int64_t *id);

/* Split a line into fields. Returns 1, or 0 if it does not begin with "ID ||| ". */
int cli_nbest_read(const char *line, size_t length, cli_nbest *out);

#endif
