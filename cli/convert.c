/* rill convert: run a model converter. Converters are Python scripts, installed with rill or in tools/ of the sources.
 *
 * The command is replaced by the Python process (exec), so its output and exit code are the converter's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const char SCRIPT[] = "convert_mt.py";

/* Folders of the converters relative to the folder of the command: installed, then built. */
static const char *const PLACES[] = {"../share/rill/convert", "../tools", "../../tools"};

/* Return the path of the converter's script; NULL: not found. */
static const char *find_script(char *path, size_t size)
{
    char own[4096];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length <= 0) return NULL;
    own[length] = '\0';
    char *slash = strrchr(own, '/');
    if (slash) *slash = '\0';
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
        const int n = snprintf(path, size, "%s/%s/%s", own, PLACES[i], SCRIPT);
        if (n > 0 && (size_t)n < size && access(path, R_OK) == 0) return path;
    }
    return NULL;
}

int cli_convert(int argc, char **argv)
{
    char path[8192], python[] = "python3";
    if (!find_script(path, sizeof path))
        return cli_fail("the converters are missing: expected them in share/rill/convert of the installation, or "
                        "in tools of the build");
    char **arguments = calloc((size_t)argc + 2, sizeof *arguments);
    if (!arguments) return cli_fail_memory("the command");
    arguments[0] = python;
    arguments[1] = path;
    for (int i = 1; i < argc; i++) arguments[i + 1] = argv[i];
    setenv("RILL_CONVERT", "rill convert", 1); /* the name by which the converter's messages call the command */
    execvp(python, arguments);
    free(arguments);
    return cli_fail("%s: %s; the converters need Python and NumPy: apt-get install python3-numpy", python,
                    strerror(errno));
}
