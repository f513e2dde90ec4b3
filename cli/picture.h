/* Pictures: one HTML file that needs nothing else, no network either. It has the scripts and the style of view/ and the events that these
 * draw, as JSON. What fails to be written is told when the output is closed. */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

#include <jansson.h>

#include "cli_output.h"

/* The page's files, the style first. */
typedef struct cli_picture_file {
    const char *name, *text;
    size_t length;
} cli_picture_file;
extern const cli_picture_file cli_picture_files[];
extern const size_t cli_picture_n_files;

/* A file's name that promises another kind of picture is refused: `option` takes the name of a page. CLI_OK or CLI_FAILED. */
int cli_picture_check(const char *option, const char *path);

/* A page's beginning, an event of it with real numbers of so many digits, its end. CLI_OK, or CLI_FAILED after a message. */
int cli_picture_begin(cli_output *out, const char *title);
int cli_picture_event(cli_output *out, const json_t *event, int digits);
void cli_picture_end(cli_output *out);

/* A whole page of one event: `object`, which is told to be of this kind. NULL is out of memory. Same returns. */
int cli_picture_write(cli_output *out, const char *title, const char *kind, json_t *object);

#endif
