/* Whether files are the same; see files.h. Existing files are compared by device and inode, since a file may have several names. A
 * file that does not exist yet is compared by its directory and its name. */
#include "files.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct identity {
    int is_known;
    struct stat info;     /* identity of the file, or of its directory if the file does not exist */
    const char *new_name; /* name of a file that does not exist yet, otherwise NULL */
} identity;

int cli_file_is_standard(const char *path)
{
    return !path || !strcmp(path, "-");
}

int cli_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int cli_file_is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

static identity identify_new(const char *path)
{
    char directory[4096];
    const char *slash = strrchr(path, '/');
    identity id = {.new_name = slash ? slash + 1 : path};
    size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    if (length >= sizeof directory) return id;
    memcpy(directory, path, length);
    strcpy(directory + length, ".");
    id.is_known = !stat(directory, &id.info);
    return id;
}

/* Errors are ignored here: such a file equals no other one, and opening it reports the error. */
static identity identify(const cli_file *file)
{
    identity id = {0};
    if (cli_file_is_standard(file->path))
        id.is_known = !fstat(file->is_output ? STDOUT_FILENO : STDIN_FILENO, &id.info);
    else
        id.is_known = !stat(file->path, &id.info);
    return id.is_known || cli_file_is_standard(file->path) ? id : identify_new(file->path);
}

static int same(const identity *a, const identity *b)
{
    if (!a->is_known || !b->is_known || !a->new_name != !b->new_name) return 0;
    return a->info.st_dev == b->info.st_dev && a->info.st_ino == b->info.st_ino &&
           (!a->new_name || !strcmp(a->new_name, b->new_name));
}

int cli_file_same(const char *a, const char *b)
{
    identity x = identify(&(cli_file){.path = a}), y = identify(&(cli_file){.path = b});
    return !x.new_name && same(&x, &y);
}

/* Report an error if the output `b` is the same file as `a`. The same terminal, socket or pipe may be read and written, because only a
 * regular file would lose its content. */
static int check_pair(const cli_file *a, const cli_file *b)
{
    identity x = identify(a), y = identify(b);
    if (a->is_output && cli_file_is_standard(a->path) && cli_file_is_standard(b->path))
        return cli_fail("%s and %s cannot both go to standard output: set a file for one of them", a->label, b->label);
    if (!same(&x, &y) || S_ISCHR(x.info.st_mode) || (!a->is_output && !x.new_name && !S_ISREG(x.info.st_mode)))
        return CLI_OK;
    return cli_fail("%s: %s and %s are the same file", cli_file_is_standard(b->path) ? "standard output" : b->path,
                    a->label, b->label);
}

int cli_files_check(const cli_file *files)
{
    int code = CLI_OK;
    for (const cli_file *b = files; b->label; b++)
        for (const cli_file *a = files; a->label && code == CLI_OK; a++)
            if (b->is_output && a != b && (!a->is_output || a < b)) code = check_pair(a, b);
    return code;
}
