/* A session: a context with everything registered, and the model of a command. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli.h"
#include "cli_options.h"
#include "option_rows.h"
#include "rill/script.h"
#include "rill/workers.h"

enum { CLI_PLUGINS_MAX = 16, CLI_MODELS_MAX = 16, CLI_SCRIPTS_MAX = 64 };

/* Options for model and search. Strings point into argv. */
typedef struct cli_session {
    rill_context *ctx;
    rill_workers *worker_pool;        /* one or more workers, which share the model */
    rill_model *model;                /* owned by the workers */
    rill_folder folder;               /* domain and default search of the model's directory */
    rill_option_source *command_line; /* search and model options of the command line */
    rill_option_source *run_file;     /* the options of the run file, which owns them; NULL: no run file */
    cli_option_rows rows;             /* command-line options that set search and model options */
    const char
        *hidden_option; /* a setting without a row, since another option replaces it; set before cli_session_start() */
    rill_pair *values;  /* [n_values] options for the domain of the open model */
    int32_t n_values;
    int row_options_only;   /* pass only options that the domain declares, and none from the model's directory */
    const char *domain;     /* name from --domain or the run file; NULL: config.json names the domain */
    rill_open_options open; /* open.threads: 0 until an option, the run file or cli_session_configure() sets it */
    const char *ensemble[CLI_MODELS_MAX]; /* further models of an ensemble, after the one at open.path */
    int has_threads_option;               /* an option or the run file sets the number of threads */
    int workers;                          /* 0: chosen when the model is opened */
    int is_large_input;                   /* several workers are likely to be faster than one */
    int n_scripts; /* number of loaded scripts; the first CLI_SCRIPTS_MAX are in scripts_loaded */
    rill_script *scripts_loaded[CLI_SCRIPTS_MAX];
    int verbose;
    const char *plugin[CLI_PLUGINS_MAX];
    int n_plugins;
    rill_registry_mark builtin_mark; /* size of the registry before plugins */
    /* Load the plugins of a run file into a worker's context. NULL: no run file. */
    rill_status (*prepare)(void *user, int worker, rill_context *ctx);
    void *prepare_user;
    rill_script_options script; /* permissions and limits of scripts; its print function erases the progress line */
    void (*erase_progress)(void *user); /* called before a log line is printed */
    void *message_user;
} cli_session;

extern const cli_option cli_model_options[];
/* Options of cli_model_options for commands that use a domain but do not run a model. */
extern const cli_option cli_domain_options[];
/* Options that register names: plugins, and a model or a domain to open. */
extern const cli_option cli_naming_options[];
int cli_session_owns_option(const cli_option *option);
int cli_session_take_option(cli_session *session, const cli_option *option, const char *value);

/* Create the context. CLI_OK or CLI_FAILED after a message. */
int cli_session_start(cli_session *session);
/* Parse the command line in two passes. The first pass loads plugins, so that the options that they register are known in the second. */
int cli_session_parse(cli_session *session, const cli_syntax *syntax, int argc, char **argv, int *helped);
/* Whether a plugin is a Lua script, by its name. Scripts run in a sandbox. */
int cli_session_is_script(const char *path);
/* Load a shared object, or a script if the name ends in ".lua", into a context. *script: the script, or NULL. */
rill_status cli_session_load(const cli_session *session, rill_context *ctx, const char *path, rill_script **script);
/* Load a plugin into the session's context. */
int cli_session_load_plugin(cli_session *session, const char *path);
/* Add a script of the session's context to the session. */
void cli_session_add_script(cli_session *session, rill_script *script);
/* Read the model's config.json, if a model is named, and fill in defaults for unset options. */
int cli_session_configure(cli_session *session);
/* Limit threads to the number of processors: threads of an operation wait for each other, which is slow when they share a processor.
 * Not for `rill check`, which compares numbers of threads. */
void cli_session_limit_threads(cli_session *session);
/* The name of the domain from the option, or else from config.json. NULL after a message if neither is set. */
const char *cli_session_domain(const cli_session *session);
/* Open the model for the chosen number of workers. */
int cli_session_open(cli_session *session);
/* Describe the threads and workers of an open model: "2 threads", "1 thread, 2 workers". */
enum { CLI_PARALLELISM_MAX = 48 };
const char *cli_session_parallelism(const cli_session *session, char out[CLI_PARALLELISM_MAX]);
/* Free everything; accepts a zeroed session. */
void cli_session_end(cli_session *session);

#endif
