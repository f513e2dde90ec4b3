/* Check that a command does not overwrite a file that it also reads or writes elsewhere. */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "cli.h"

typedef struct cli_file {
    const char *label; /* name in messages: "input", "--stats"; NULL ends a list */
    const char *path;  /* NULL or "-": standard input or output */
    int is_output;     /* 0: the file is read */
} cli_file;

/* Whether the path means standard input or output. */
int cli_file_is_standard(const char *path);

int cli_file_exists(const char *path);
int cli_file_is_folder(const char *path);

/* Whether two paths name the same existing file. */
int cli_file_same(const char *a, const char *b);

/* Refuse an output file that is also an input or another output, under any name or link, and two outputs on standard output. Call it
 * before any file is opened for writing. Reading a file twice is allowed, and so is writing twice to a device such as /dev/null.
 *   CLI_OK, or CLI_FAILED after a message */
int cli_files_check(const cli_file *files);

#endif
