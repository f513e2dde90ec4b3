/* Pairs of an input and an output for `rill score`.
 *
 * Sources are two columns of one file, separated by a tab, or two files. Of two files, the second has an output on each line, or is an
 * n-best list, "ID ||| OUTPUT ||| ...", whose ids count input lines from 0. Ids must ascend, so that both files are streamed. */
#ifndef CLI_GIVEN_H
#define CLI_GIVEN_H

#include "cli_input.h"

/* One pair. Its texts follow the struct in memory. */
typedef struct cli_pair {
    struct cli_pair *next, **link; /* doubly linked list of all pairs, so that those of a failed run can be freed */
    int64_t id;                    /* number of the input, from 0 */
    const char *text;              /* the output's text */
    const char *kept;              /* " ||| ..." columns after the output in a list */
    int truncated;                 /* the list marks the output as truncated */
} cli_pair;

typedef enum cli_given_form { CLI_GIVEN_UNKNOWN, CLI_GIVEN_COLUMNS, CLI_GIVEN_LINES, CLI_GIVEN_LIST } cli_given_form;

typedef struct cli_given_outputs {
    rill_context *ctx;
    cli_input inputs, outputs;
    cli_given_form form;
    int64_t n_read;  /* inputs read so far */
    int64_t without; /* inputs without an output */
    int used;        /* the last input has an output */
    /* The current input of a list, which several outputs may share, and the status of reading it. */
    char *line;
    size_t length, capacity;
    rill_status line_status;
    cli_pair *waiting; /* an output whose input is not read yet */
    cli_pair *pairs;   /* list of all pairs that are not freed yet */
} cli_given_outputs;

/* Open both files; outputs: NULL for two columns. CLI_OK or CLI_FAILED after a message. */
int cli_given_open(cli_given_outputs *given, rill_context *ctx, const char *inputs, const char *outputs);
void cli_given_close(cli_given_outputs *given); /* also frees all pairs; accepts a zeroed struct */

/* Read the next pair and the text of its input, which is valid until the next call. The caller frees *pair with cli_pair_free(); it is
 * NULL for a bad line, whose *text is the message. Returns as a rill_read_fn. */
rill_status cli_given_read(cli_given_outputs *given, int may_block, cli_pair **pair, const char **text, size_t *length);
void cli_pair_free(cli_pair *pair); /* NULL is allowed */

#endif
