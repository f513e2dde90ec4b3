/* Name of the processor or device; see hardware.h. On Linux, /proc/cpuinfo has the processor's name as "model name", if at all. */
#include "hardware.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli_input.h"

static int read_name(rill_context *ctx, char *name, size_t size)
{
    static const char key[] = "model name\t: ";
    cli_input file;
    const char *line;
    size_t length;
    int found = 0;
    if (cli_input_begin(&file, ctx, "/proc/cpuinfo", RILL_FILE_STREAM) < 0) return 0;
    while (!found && cli_input_read(&file, 1, &line, &length) == RILL_OK)
        found = length > sizeof key - 1 && !memcmp(line, key, sizeof key - 1);
    if (found) snprintf(name, size, "%.*s", (int)(length - (sizeof key - 1)), line + sizeof key - 1);
    cli_input_close(&file);
    return found;
}

const char *cli_hardware(const cli_session *session, char out[CLI_HARDWARE_MAX])
{
    char name[256], parallelism[CLI_PARALLELISM_MAX];
    struct utsname machine;
    const char *device = session->worker_pool ? rill_workers_device(session->worker_pool, 0) : NULL;
    const int own = !device || !strncmp(device, "cpu", 3); /* "cpu", or "cpu, " and the name of a BLAS */
    if (!own)
        name[0] = '\0';
    else if (!read_name(session->ctx, name, sizeof name))
        snprintf(name, sizeof name, "%s", uname(&machine) ? "unknown processor" : machine.machine);
    snprintf(out, CLI_HARDWARE_MAX, "%s%.80s, %s", name,
             own && device ? device + 3
             : own         ? ""
                           : device,
             cli_session_parallelism(session, parallelism));
    return out;
}
