/* Charts in one HTML file without external resources. The file contains the scripts and the style sheet of view/, and the events to
 * draw as JSON. Closing the output reports write errors. */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

#include <jansson.h>

#include "cli_output.h"

/* A file of the page. The style sheet is the first. */
typedef struct cli_picture_file {
    const char *name, *text;
    size_t length;
} cli_picture_file;
extern const cli_picture_file cli_picture_files[];
extern const size_t cli_picture_n_files;

/* Refuse a file name with the extension of another image format. `option` is its name for the message. CLI_OK or CLI_FAILED after a
 * message. */
int cli_picture_check(const char *option, const char *path);

/* Write the beginning of a page, one event with `digits` digits in real numbers, and the end. CLI_OK, or CLI_FAILED after a message. */
int cli_picture_begin(cli_output *out, const char *title);
int cli_picture_event(cli_output *out, const json_t *event, int digits);
void cli_picture_end(cli_output *out);

/* Write a page with a single event: `object`, whose member "event" is set to `kind`. NULL means out of memory. CLI_OK, or CLI_FAILED
 * after a message. */
int cli_picture_write(cli_output *out, const char *title, const char *kind, json_t *object);

#endif
