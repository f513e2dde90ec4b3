/* Given outputs, for `rill score`: pairs of an input and an output.
 *
 * They come as two columns of one file with a tab between, or from two files: line by line, or, where the outputs are an n-best list,
 * line "ID ||| OUTPUT ||| ..." with the input of line ID, from 0. IDs of a list ascend, so both files stream. */
#ifndef CLI_GIVEN_H
#define CLI_GIVEN_H

#include "cli_input.h"

/* One line. Its texts lie behind it. */
typedef struct cli_pair {
    struct cli_pair *next, **link; /* among those that are there: a run that breaks off leaves some */
    int64_t id;                    /* as it is to be written */
    const char *text;              /* the output */
    const char *kept;              /* " ||| ..." columns of a list behind it */
    int truncated;                 /* the list says that it was cut short */
} cli_pair;

typedef enum cli_given_form { CLI_GIVEN_UNKNOWN, CLI_GIVEN_COLUMNS, CLI_GIVEN_LINES, CLI_GIVEN_LIST } cli_given_form;

typedef struct cli_given_outputs {
    rill_context *ctx;
    cli_input inputs, outputs;
    cli_given_form form;
    int64_t at;      /* inputs that were read */
    int64_t without; /* of these, those that no output was for */
    int used;        /* an output was for the last of them */
    /* An input of a list, which is wanted more than once, and what was wrong with it. */
    char *line;
    size_t length, room;
    rill_status line_status;
    cli_pair *waiting; /* an output whose input is not here yet */
    cli_pair *pairs;   /* all that are there */
} cli_given_outputs;

/* Open both files; `outputs`: NULL for two columns. CLI_OK or CLI_FAILED after a message. */
int cli_given_open(cli_given_outputs *given, rill_context *ctx, const char *inputs, const char *outputs);
void cli_given_close(cli_given_outputs *given); /* frees all pairs, too; accepts a zeroed one */

/* The next pair, with the text of its input, which is valid until the next call. *pair: the caller's, ended with cli_pair_free(), or
 * NULL where the line has none. As rill_read_fn() otherwise; of a bad line *text is the message. */
rill_status cli_given_read(cli_given_outputs *given, int may_block, cli_pair **pair, const char **text, size_t *length);
void cli_pair_free(cli_pair *pair); /* NULL is allowed */

#endif
