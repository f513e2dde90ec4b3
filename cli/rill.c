/* rill: find the subcommand and call it.
 *
 * Exit codes: 0 success; 1 wrong usage or failure; 2 some inputs failed; 128 + n after signal n; 141 if the reader closed the output. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "session.h"

/* --- rill convert ------------------------------------------------------------------------------------------------------ */

/* rill convert: replace the process by a Python converter, installed with rill or in tools/ of the sources. */
static const char SCRIPT[] = "convert_mt.py";

/* Folders of the converters, relative to the folder of the command: of an installed command, then of one in a build folder. */
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

static int convert(int argc, char **argv)
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

static const cli_command cli_convert = {
    .name = "convert", .summary = "convert a model from another toolkit, or a treebank", .main = convert};

/* --- commands ---------------------------------------------------------------------------------------------------------- */

static const cli_command *const commands[] = {
    &cli_decode, &cli_run,   &cli_score,   &cli_trie, &cli_tune, &cli_trace_command, &cli_evidence, &cli_eval,
#if defined(RILL_SERVE)
    &cli_serve,
#endif
    &cli_bench,  &cli_check, &cli_convert, &cli_info, &cli_list,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static int print_help(void)
{
    rill_slice about, end;
    cli_help_find("rill", &about, &end);
    cli_print("rill " RILL_VERSION_STRING ": %.*s\n\nUsage: rill COMMAND [options]\n\nCommands:\n", (int)about.length,
              about.data);
    for (size_t i = 0; i < COMMANDS; i++) cli_print("  %-8s %s\n", commands[i]->name, commands[i]->summary);
    cli_print("\n%.*s", (int)end.length, end.data);
    return cli_flush_stdout();
}

static const cli_command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (!strcmp(commands[i]->name, name)) return commands[i];
    return NULL;
}

static int run(const cli_command *command, int argc, char **argv)
{
    return command->main ? command->main(argc, argv) : cli_command_run(command, argc, argv);
}

static int unknown_command(const char *word)
{
    const char *names[COMMANDS];
    for (size_t i = 0; i < COMMANDS; i++) names[i] = commands[i]->name;
    const char *near = rill_nearest(word, names, COMMANDS);
    if (word[0] == '-') return cli_fail("unknown option %s before the command; `rill --help` shows the usage", word);
    if (near) return cli_fail("unknown command \"%s\"; did you mean \"%s\"?", word, near);
    return cli_fail("unknown command \"%s\": `rill --help` lists the commands", word);
}

/* Print the help of a command: `rill help decode` is `rill decode --help`. */
static int help_about(int argc, char **argv)
{
    char option[] = "--help";
    if (argc < 3) return print_help();
    const cli_command *command = find(argv[2]);
    if (!command) return unknown_command(argv[2]);
    char *arguments[] = {argv[2], option, NULL};
    return run(command, 2, arguments);
}

/* Open closed standard streams on /dev/null, so that no other file gets their numbers. Input is opened for writing, output for reading:
 * using them fails visibly. */
static int open_standard_streams(void)
{
    static const int way[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", way[fd]) != fd) return 0;
    return 1;
}

int main(int argc, char **argv)
{
    if (!open_standard_streams()) return CLI_FAILED;
    /* From here on, writing to a closed pipe or beyond the file size limit fails in write(2) instead of ending the process. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 2) {
        cli_message("expected a command; `rill --help` lists the commands");
        return CLI_FAILED;
    }
    const char *word = argv[1];
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) return print_help();
    if (!strcmp(word, "--version") || !strcmp(word, "-V") || !strcmp(word, "version")) {
        cli_print("rill " RILL_VERSION_STRING "\n");
        return cli_flush_stdout();
    }
    if (!strcmp(word, "help")) return help_about(argc, argv);
    const cli_command *command = find(word);
    int code = command ? run(command, argc - 1, argv + 1) : unknown_command(word);
    if (code == CLI_INTERRUPTED) cli_interrupt_die();
    return code;
}
