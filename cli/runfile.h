/* The run that a Lua script describes: --config FILE.lua of decode and bench, the argument of run and tune.
 *
 * What it says of the search is a layer between the command line and the model: options override it one by one, and any option
 * of a chain replaces its whole chain. By itself it must be possible. What only the options' method cannot use of it is left
 * out and told: `rill run run.lua --method greedy` compares, it does not fail. The rest are defaults of other options.
 *
 * A run file need not be the user's own. It may name what is read; native code, and files to write, are the user's to allow. */
#ifndef CLI_RUNFILE_H
#define CLI_RUNFILE_H

#include "cli.h"
#include "option_rows.h"
#include "rill/script_config.h"
#include "session.h"

typedef struct cli_runfile {
    const char *path; /* NULL: none is named */
    rill_script *script;
    rill_script_config *config;  /* NULL: none is loaded */
    rill_option_source *options; /* of said */
    uint32_t
        plugins_to_load; /* a bit for each of its plugins that is to be loaded: the others the command line has already */
    int is_sweep;        /* what is run are points that the session's script makes: the workers have no use for it */
    cli_session *session;
} cli_runfile;

/* Run the script, load the plugins it lists (shared objects only if the user knows of them), fill the layer, and give the session
 * what its options left open. Call it behind the options and before cli_session_configure(). Nothing to do without a path. CLI_OK or
 * CLI_FAILED after a message. */
int cli_runfile_load(cli_runfile *file, cli_session *session);

/* Give *path, where no option has, the file that the configuration names for writing at `key`. What a script in its sandbox says is no
 * word of the user's: for other files than standard output that is a failure, which tells of `option`. CLI_OK or CLI_FAILED after a
 * message. */
int cli_runfile_output_path(const cli_runfile *file, const char *key, const char *option, const char *script_path,
                            const char **path);

/* Give *tsv and *jsonl, where no option has given either, what the configuration says its inputs are (cli_records_start()). CLI_OK or
 * CLI_FAILED after a message, which names the key. */
int cli_runfile_input_format(const cli_runfile *file, const char **tsv, const char **jsonl);

/* Refuse a configuration whose inputs are more than lines, for commands that decode no more; they would measure another search. Nothing to
 * do without a configuration. CLI_OK or CLI_FAILED after a message. */
int cli_runfile_check_plain(const cli_runfile *file);

/* The configuration alone, with the model's defaults behind it: must be possible. Same returns. */
int cli_runfile_check(const cli_runfile *file, const cli_session *session);

/* Warn of what the options, or a method of a bench (else NULL), left no room for. Not a matter of --quiet: another search runs than the
 * file describes. */
void cli_runfile_warn_ignored(const cli_runfile *file, const rill_search_config *search_config, const char *method);

/* A configuration's wishes for search and model. *out: freed by the caller, also after a failure.
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_MEMORY */
rill_status cli_options_from_config(rill_option_source **out, rill_script *script, rill_context *ctx,
                                    const rill_script_config *config);

/* Accepts a zeroed file. Before cli_session_end(). */
void cli_runfile_end(cli_runfile *file);

/* An option as given, else as the configuration says; NULL when neither does. */
static inline const char *cli_value_or(const char *option_value, const char *script_value)
{
    return option_value ? option_value : script_value;
}

#endif
