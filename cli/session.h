/* A session: a context in which everything is registered, and the model of a command. */
#pragma once

#include "cli_options.h"
#include "rill/script_config.h"

enum { CLI_PLUGINS_MAX = 16, CLI_MODELS_MAX = 63, CLI_SCRIPTS_MAX = 64 };

/* Options for model and search: the beginning of every command's struct. Strings point into argv. */
typedef struct cli_session {
    const cli_command *command; /* the command that runs; set before cli_session_start(); NULL: no command */
    int argc;
    rill_context *ctx;
    rill_workers *worker_pool;        /* workers, which share the model */
    rill_model *model;                /* owned by the workers */
    rill_folder folder;               /* domain and default search settings, from files of the model's directory */
    rill_option_source *command_line; /* search and model options of the command line */
    rill_option_source *run_file;     /* the options of the run file, which owns them; NULL: no run file */
    cli_option_rows rows;             /* command-line options that set search and model options */
    rill_pair *values;                /* [n_values] options for the domain of the open model */
    int32_t n_values;
    int row_options_only;   /* pass the domain only options that it declares, and none from the model's directory */
    const char *domain;     /* name from --domain or the run file; NULL: config.json names the domain */
    rill_open_options open; /* open.threads: 0 until an option, the run file or cli_session_configure() sets it */
    const char
        *ensemble[CLI_MODELS_MAX]; /* further models, after the one at open.path: of an ensemble, or of a server */
    int has_threads_option;        /* an option or the run file sets the number of threads */
    int workers;                   /* number of workers; 0: chosen when the model is opened */
    int is_large_input;            /* 1: several workers are likely to be faster than one */
    int n_scripts;
    /* [n_scripts] loaded scripts, at most CLI_SCRIPTS_MAX; further scripts are not listed */
    rill_script *scripts_loaded[CLI_SCRIPTS_MAX];
    int verbose;
    const char *plugin[CLI_PLUGINS_MAX];
    int n_plugins;
    rill_registry_mark builtin_mark; /* size of the registry before plugins were loaded */
    struct cli_runfile *runfile;     /* the loaded run file; NULL: none */
    rill_script_options script; /* permissions and limits of scripts; its print function erases the progress line */
    void (*erase_progress)(void *user); /* called before a log line is printed */
    void *message_user;
} cli_session;

extern const cli_option cli_model_options[];
/* Options of cli_model_options for commands that use a domain but do not run a model. */
extern const cli_option cli_domain_options[];
/* Options of `rill list` and `rill trie`: plugins, and the model or domain. */
extern const cli_option cli_naming_options[];

/* Run a command: allocate its struct, start the session, parse the command line, run, and free everything. Returns its exit code. */
int cli_command_run(const cli_command *command, int argc, char **argv);
/* Create the context. */
int cli_session_start(cli_session *session);
/* Parse the command line in two passes: the first loads plugins, whose options the second knows. */
int cli_session_parse(cli_session *session, int argc, char **argv, int *helped);
/* Whether a plugin is a Lua script, by its name. Scripts run in a sandbox. */
int cli_session_is_script(const char *path);
/* Load a shared object, or a script if the name ends in ".lua", into a context. *script: the script, or NULL. */
rill_status cli_session_load(const cli_session *session, rill_context *ctx, const char *path, rill_script **script);
int cli_session_load_plugin(cli_session *session, const char *path);
/* Add a script of the session's context to the session. */
void cli_session_add_script(cli_session *session, rill_script *script);
/* Read the model's config.json, if a model is named, and fill in defaults for unset options. */
int cli_session_configure(cli_session *session);
/* Limit threads to the number of processors, because waiting threads are slow on a shared processor. Not for `rill check`. */
void cli_session_limit_threads(cli_session *session);
/* Prepare a run: call cli_session_configure() and cli_session_limit_threads(), and check that the domain is known. */
int cli_session_prepare(cli_session *session);
/* The name of the domain from the option, or else from config.json. NULL after a message if neither is set. */
const char *cli_session_domain(const cli_session *session);
/* Open the model for the chosen number of workers. */
int cli_session_open(cli_session *session);
/* Describe the threads and workers of an open model: "2 threads", "1 thread, 2 workers". */
enum { CLI_PARALLELISM_MAX = 48 };
const char *cli_session_parallelism(const cli_session *session, char out[CLI_PARALLELISM_MAX]);
/* Close the model and its workers; accepts a zeroed session. */
void cli_session_close(cli_session *session);
/* Free everything; accepts a zeroed session. */
void cli_session_end(cli_session *session);

/* --- workers ----------------------------------------------------------------------------------------------------------- */

/* Create the workers' engines. Each worker loads scripts and run file again, because a Lua state belongs to one thread. */

/* Call rill_workers_begin() with the search config's setup.
 *   setup: the same functions, perhaps other settings; NULL: no functions of a script
 *   RILL_OK · a negative status, with the error in the session's context */
rill_status cli_workers_begin(cli_session *session, const rill_search_config *search_config,
                              const rill_engine_setup *setup);

/* --- run files --------------------------------------------------------------------------------------------------------- */

/* Run files: runs described in Lua, for --config FILE.lua, `rill run` and `rill tune`.
 * Their options rank between the command line and the model's defaults. A run file may be untrusted: native plugins and output files need
 * the user's permission. */

typedef struct cli_runfile {
    const char *path; /* path of the run file; NULL: no run file */
    rill_script *script;
    rill_script_config *config;  /* the loaded configuration; NULL: the run file is not loaded */
    rill_option_source *options; /* search options of the run file */
    uint32_t plugins_to_load;    /* bit set of its plugins to load; the command line has loaded the others */
    /* 1: a sweep, whose configurations are evaluated in the session's context, so workers do not load the run file */
    int is_sweep;
    cli_session *session;
} cli_runfile;

/* Run the script, load its plugins, and set what the command line leaves open. Call after option parsing, before
 * cli_session_configure(). Does nothing without a run file. */
int cli_runfile_load(cli_runfile *file, cli_session *session);

/* Set *path from the run file's `key`, unless an option has set it. Output files need the permission `option`. */
int cli_runfile_output_path(const cli_runfile *file, const char *key, const char *option, const char *script_path,
                            const char **path);

/* Set *tsv and *jsonl from the run file (cli_records_start()), unless an option has set either. */
int cli_runfile_input_format(const cli_runfile *file, const char **tsv, const char **jsonl);

/* Load the plugins of the run file, and the run file unless it is a sweep, into a worker's context. */
rill_status cli_runfile_prepare_worker(cli_runfile *file, int worker, rill_context *ctx);

/* Refuse a run file with constraints, TSV rows or JSON objects, for commands that decode plain lines. */
int cli_runfile_check_plain(const cli_runfile *file);

/* Check that the run file is valid with the model's defaults and without the command line. */
int cli_runfile_check(const cli_runfile *file, const cli_session *session);

/* Warn about options of the run file that the command line excludes, even with --quiet. method: a method of `rill bench`, which may exclude
 * options too; else NULL. */
void cli_runfile_warn_ignored(const cli_runfile *file, const rill_search_config *search_config, const char *method);

/* Convert a configuration to search and model options. *out: freed by the caller, also after an error.
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_MEMORY */
rill_status cli_options_from_config(rill_option_source **out, rill_script *script, rill_context *ctx,
                                    const rill_script_config *config);

/* Free memory; accepts a zeroed struct. Call it before cli_session_end(). */
void cli_runfile_end(cli_runfile *file);

/* The value of an option, or else of the run file; NULL when neither is set. */
static inline const char *cli_value_or(const char *option_value, const char *script_value)
{
    return option_value ? option_value : script_value;
}
