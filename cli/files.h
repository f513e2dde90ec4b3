/* Files that a command reads and writes: none of them may destroy another. */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "cli.h"

typedef struct cli_file {
    const char *label; /* as messages call it: "input", "--stats"; NULL ends a list */
    const char *path;  /* NULL or "-": standard input or output */
    int is_output;     /* else it is read */
} cli_file;

/* Whether the path means standard input or output. */
int cli_file_is_standard(const char *path);

int cli_file_is_folder(const char *path);

/* Whether two paths lead to one file, which is there. */
int cli_file_same(const char *a, const char *b);

/* Refuse an output that is a file also read, or also written under another name or link, and two on standard output. Call it
 * before anything is opened for writing. Reading one file twice is fine, and so is writing twice to a device such as /dev/null.
 *   CLI_OK, or CLI_FAILED after a message */
int cli_files_check(const cli_file *files);

#endif
