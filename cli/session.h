/* A context with everything registered, and the model that a command works with. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli.h"
#include "cli_options.h"
#include "option_rows.h"
#include "rill/script.h"
#include "rill/workers.h"

enum { CLI_PLUGINS_MAX = 16, CLI_MODELS_MAX = 16, CLI_SCRIPTS_MAX = 64 };

/* Options about model and search. Strings lead into argv. */
typedef struct cli_session {
    rill_context *ctx;
    rill_workers *worker_pool;        /* one worker or more, with the model */
    rill_model *model;                /* theirs */
    rill_folder folder;               /* what the model's directory says */
    rill_option_source *command_line; /* what the command line says of search and model */
    rill_option_source *run_file;     /* what a run file says of them, which belongs to it; NULL: there is none */
    cli_option_rows rows;             /* options for them ... */
    const char
        *hidden_option; /* ... but for this one, which a command has its own for; set before cli_session_start() */
    rill_pair *values;  /* [n_values] of the domain's options, of an open model */
    int32_t n_values;
    int row_options_only; /* models get those of them alone that their domain has rows for, and none from a directory */
    const char *domain;
    rill_open_options open; /* threads: 0 until an option, a configuration or cli_session_configure() says */
    const char *ensemble[CLI_MODELS_MAX]; /* models behind the one at `path`, which decode together with it */
    int has_threads_option;
    int workers;        /* 0: whatever seems best, until the model is open */
    int is_large_input; /* there is much to decode, and nobody has to see it in one thread */
    int n_scripts;      /* how many were loaded, and the first of them */
    rill_script *scripts_loaded[CLI_SCRIPTS_MAX];
    int verbose;
    const char *plugin[CLI_PLUGINS_MAX];
    int n_plugins;
    rill_registry_mark builtin_mark; /* what is no plugin's */
    /* Load more than the options' plugins into a worker's context: a configuration's script. May be NULL. */
    rill_status (*prepare)(void *user, int worker, rill_context *ctx);
    void *prepare_user;
    rill_script_options script;         /* what scripts may do; its print erases a progress bar, too */
    void (*erase_progress)(void *user); /* called before a log line is printed: erases a progress bar */
    void *message_user;
} cli_session;

extern const cli_option cli_model_options[];
/* The same without those that only matter when a model is run. */
extern const cli_option cli_domain_options[];
/* Those that add names: plugins, and a model or a domain to open. */
extern const cli_option cli_naming_options[];
int cli_session_owns_option(const cli_option *option);
int cli_session_take_option(cli_session *session, const cli_option *option, const char *value);

/* Make the context. */
int cli_session_start(cli_session *session);
/* cli_parse() with plugins first: what they register, options included, is known when the other options are taken, wherever those
 * stand. */
int cli_session_parse(cli_session *session, const cli_syntax *syntax, int argc, char **argv, int *helped);
/* Whether a plugin's name is a script's, which a sandbox holds. */
int cli_session_is_script(const char *path);
/* Load a shared object, or a script if the name ends in ".lua", into a context. *script: the script, or NULL. */
rill_status cli_session_load(const cli_session *session, rill_context *ctx, const char *path, rill_script **script);
/* The same into the session's own. */
int cli_session_load_plugin(cli_session *session, const char *path);
/* Note a script of that context. */
void cli_session_add_script(cli_session *session, rill_script *script);
/* Read the config of the model, if one is named; what no option has said gets its default. */
int cli_session_configure(cli_session *session);
/* Take no more threads than the process has processors: the threads of an operation wait for one another, and those that share a
 * processor wait long. For commands that decode for their outputs; `rill check` compares as many threads as it is told. */
void cli_session_limit_threads(cli_session *session);
/* The domain's name: as the option says, else the config; NULL after a message when neither does. */
const char *cli_session_domain(const cli_session *session);
/* Open the model for as many workers as are wanted. */
int cli_session_open(cli_session *session);
/* "2 threads", "1 thread, 2 workers": of an open model. */
enum { CLI_PARALLELISM_MAX = 48 };
const char *cli_session_parallelism(const cli_session *session, char out[CLI_PARALLELISM_MAX]);
/* Undo all; accepts a zeroed session. */
void cli_session_end(cli_session *session);

#endif
