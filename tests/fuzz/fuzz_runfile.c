/* Fuzz target: the files that `rill run` loads before it opens a model. The part before the first NUL is run.lua, and
 * the part before the next is plugin.lua in the same folder. The rest is config.json of the folder "model". There is
 * also a file "native.so", which is no library.
 *
 * For any bytes: no crash and no new files. Without the user's permission no native code is loaded and no file is
 * opened for writing. Messages go to standard error and are ignored. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "fuzz_target.h"
#include "session.h"

static const char *const names[] = {"run.lua", "plugin.lua", "model/config.json", "native.so"};
enum { FILES = sizeof names / sizeof *names, TOP_FILES = 4 };

static void write_file(const char *name, const char *bytes, size_t length)
{
    FILE *file = fopen(name, "wb");
    require(file != NULL);
    require(fwrite(bytes, 1, length, file) == length);
    require(fclose(file) == 0);
}

static void write_folder(const char *bytes, size_t size)
{
    require(mkdir("model", 0700) == 0);
    for (int i = 0; i < 3; i++) {
        size_t length = i < 2 ? cut(bytes, size) : size;
        if (i < 2 || length > 0) write_file(names[i], bytes, length);
        bytes += length + (length < size);
        size -= length + (length < size);
    }
    write_file("native.so", "no code", 7);
}

static int count_files(const char *folder)
{
    int n = 0;
    DIR *all = opendir(folder);
    require(all != NULL);
    for (struct dirent *entry; (entry = readdir(all)) != NULL;) n += entry->d_name[0] != '.';
    closedir(all);
    return n;
}

/* Whether the output path that a run file gives is harmless if no option names it: refused, absent or "-". */
static int harmless(const cli_runfile *file, const char *key, const char *output_path)
{
    const char *path = NULL;
    int code = cli_runfile_output_path(file, key, "-o", output_path, &path);
    return code == CLI_FAILED || path == NULL || strcmp(path, "-") == 0;
}

static void load(void)
{
    cli_session session = {0};
    cli_runfile file = {.path = "run.lua"};
    require(cli_session_start(&session) == CLI_OK);
    session.script.memory = 4 << 20;
    session.script.instructions = 100000;
    session.script.print = NULL;
    if (cli_runfile_load(&file, &session) == CLI_OK) {
        for (int32_t i = 0; i < file.config->n_plugins; i++) require(cli_session_is_script(file.config->plugins[i]));
        require(harmless(&file, "output", file.config->output));
        require(harmless(&file, "stats", file.config->stats));
        require(harmless(&file, "trace", file.config->trace));
        if (cli_session_configure(&session) == CLI_OK) cli_runfile_check(&file, &session);
    }
    cli_runfile_end(&file);
    cli_session_end(&session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/rill-fuzz-XXXXXX", old_cwd[4096];
    require(getcwd(old_cwd, sizeof old_cwd) != NULL && mkdtemp(folder) != NULL && chdir(folder) == 0);
    write_folder((const char *)data, size);
    int n_files = count_files(".");
    require(n_files == TOP_FILES);
    int messages = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    require(messages >= 0 && nowhere >= 0 && dup2(nowhere, STDERR_FILENO) >= 0);
    load();
    require(dup2(messages, STDERR_FILENO) >= 0);
    close(messages);
    close(nowhere);
    require(count_files(".") == n_files);
    for (int i = 0; i < FILES; i++) unlink(names[i]);
    require(rmdir("model") == 0 && chdir(old_cwd) == 0 && rmdir(folder) == 0);
    return 0;
}
