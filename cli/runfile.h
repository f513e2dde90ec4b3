/* Run files: runs described in Lua. `rill decode` and `rill bench` take them with --config FILE.lua, `rill run` and `rill tune` as an
 * argument.
 *
 * A run file's search options rank between the command line and the model's defaults. Command-line options override them one by one,
 * and an option for heuristics or scorers replaces the whole list of heuristics or scorers. The run file must be valid alone. Options
 * in it that do not fit the method on the command line are ignored with a warning, so that `rill run run.lua --method greedy` works for
 * comparisons. All other values are defaults of options.
 *
 * A run file may come from someone else. It may name files to read. Native plugins and files to write need the user's permission. */
#ifndef CLI_RUNFILE_H
#define CLI_RUNFILE_H

#include "cli.h"
#include "option_rows.h"
#include "rill/script_config.h"
#include "session.h"

typedef struct cli_runfile {
    const char *path; /* NULL: no run file */
    rill_script *script;
    rill_script_config *config;  /* NULL: not loaded */
    rill_option_source *options; /* search options of the run file */
    uint32_t plugins_to_load;    /* bit set of its plugins to load; the command line has loaded the others */
    int is_sweep;                /* points of the sweep come from the session's script, so the workers do not load it */
    cli_session *session;
} cli_runfile;

/* Run the script, load its plugins, and set the options and files of the session that the command line leaves open. Native plugins
 * need the user's permission. Call it after parsing options and before cli_session_configure(). Does nothing without a path. CLI_OK or
 * CLI_FAILED after a message. */
int cli_runfile_load(cli_runfile *file, cli_session *session);

/* Set *path to the output file that the run file names at `key`, unless an option has set it. A file other than standard output needs
 * the user's permission; the message names `option`, which gives it. CLI_OK or CLI_FAILED after a message. */
int cli_runfile_output_path(const cli_runfile *file, const char *key, const char *option, const char *script_path,
                            const char **path);

/* Set *tsv and *jsonl from the run file (cli_records_start()), unless an option has set either. CLI_OK or CLI_FAILED after a message,
 * which names the key. */
int cli_runfile_input_format(const cli_runfile *file, const char **tsv, const char **jsonl);

/* Refuse a run file with constraints, rows or JSON objects, for commands that decode plain lines only: they would measure a different
 * search. CLI_OK or CLI_FAILED after a message; CLI_OK without a run file. */
int cli_runfile_check_plain(const cli_runfile *file);

/* Check that the run file is valid with the model's defaults and without the command line. CLI_OK or CLI_FAILED after a message. */
int cli_runfile_check(const cli_runfile *file, const cli_session *session);

/* Warn about options of the run file that the command line, or the `method` of `rill bench` (else NULL), excludes. Printed even with
 * --quiet, because the search differs from the described one. */
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

#endif
