/* A run configuration as a plain struct, read from the table that a script returns.
 *
 * Order of use: rill_script_load(), then rill_script_config_read(), rill_script_sweep_point() for each grid point of a
 * sweep, or rill_script_tune() for a search that the script defines. A struct only holds option values and opens
 * nothing: the caller merges them with other option sources, loads the plugins, and creates the model and the engine.
 * The sandbox does not cover the files that the caller then opens: ask the user before loading the shared objects in
 * `plugins` or writing to `output`, `stats` and `trace`. A struct and its strings count towards the script's memory
 * limit. They are valid until rill_script_config_free(), or until the context destroys the script.
 *
 * docs/scripting.md lists the keys of the table. Reading checks each key, type, option value and name in a grid.
 * Contradictions between options are found later, by rill_settings_resolve().
 * Stability: structs are only appended to. */
#ifndef RILL_SCRIPT_CONFIG_H
#define RILL_SCRIPT_CONFIG_H

#include "rill/script.h"

RILL_C_BEGIN

typedef struct rill_script_pair {
    const char *name, *value;
} rill_script_pair;

/* A list of heuristics or scorers, or a scheduler. If `is_set` is 1, the script sets this list, which replaces that of
 * other option sources even if it is empty. */
typedef struct rill_script_chain {
    const rill_chain_entry *entry; /* [n] */
    int32_t n;
    int is_set;
} rill_script_chain;

/* One parameter of a sweep and its values. */
typedef struct rill_script_axis {
    const char *name;
    const char *const *value; /* [n], as text */
    int32_t n;
} rill_script_axis;

/* A name that a sweep may use besides the names of settings: a heuristic, for its argument, or a short name of a
 * setting. */
typedef struct rill_script_parameter {
    const char *name;
    const char *heuristic, *setting; /* the heuristic or the setting that `name` stands for; the other member is NULL */
} rill_script_parameter;

/* Return the table of all names of rill_script_parameter; the last entry has name == NULL. */
RILL_API const rill_script_parameter *rill_script_parameter_table(void);

typedef struct rill_script_config {
    size_t struct_size;
    const char *script; /* the script's path, for messages */

    /* NULL: not in the table. Paths are relative to the current directory; rill_script_config_read() has converted
     * them from the script's directory. "-" is standard input or output. */
    const char *model, *domain, *domain_arguments;
    const char *input, *output, *references, *stats, *trace;
    const char *const *plugins; /* [n_plugins] */
    int32_t n_plugins;
    int32_t threads; /* 0: not in the table */
    int tokenized;

    const rill_script_pair *settings; /* [n_settings] for rill_settings_set(), in the order of rill_setting_table() */
    int32_t n_settings;
    rill_script_chain heuristics, scorers, scheduler; /* scheduler: at most one; for rill_engine_setup */
    /* the option max-batch-hypotheses if the script gives a function for it; owned by the script; NULL: no function */
    rill_budget_fn budget;
    void *budget_user;

    /* [n_sweep] parameters of the sweep; the first varies slowest. n_sweep 0: no sweep */
    const rill_script_axis *sweep;
    int32_t n_sweep;
    int64_t sweep_points; /* number of grid points: product of the parameters' numbers of values; 0 without a sweep */
    int has_tune;         /* the script defines `tune` */
    /* [n_point] parameters of the sweep point or trial that this configuration was made for, in the order of
     * rill.sweep(), or sorted by name without a sweep */
    const rill_script_pair *point;
    int32_t n_point;

    const char *const *ensemble; /* [n_ensemble] at most 16 models that decode together with `model` */
    int32_t n_ensemble;
    /* [n_options] options of outputs (rill_output_table()) and of domains, for rill_option_source_set() */
    const rill_script_pair *options;
    int32_t n_options;
    int32_t workers; /* 0: not in the table */
    /* the option cube_key: hypothesis classes for cube pruning; owned by the script; NULL: not in the table */
    rill_key_fn cube_key;
    void *cube_key_user;
    /* path of a file with a line of constraints for each input (rill/constraints.h), relative as `input` is; NULL:
     * not in the table */
    const char *constraints;
    /* inputs are rows of TSV or JSON objects: the column number or the member's name; "": the default one; NULL: not
     * in the table */
    const char *tsv, *jsonl;
} rill_script_config;

/* Read the table that the script returned. *out: the configuration, to be freed by the caller; NULL after a failure.
 *   RILL_OK · RILL_ERR_OPTION (a mistake in the table; the message gives file, line, key and what was expected) ·
 *   RILL_ERR_PLUGIN (an error in the script) · RILL_ERR_MEMORY */
RILL_API rill_status rill_script_config_read(rill_script *script, rill_script_config **out);
/* Read only the key `plugins`. Load these plugins before rill_script_config_read(), because the options of their
 * domains are keys of the table. */
RILL_API rill_status rill_script_config_plugins(rill_script *script, rill_script_config **out);
RILL_API void rill_script_config_free(rill_script_config *config); /* NULL is allowed */

/* Make the configuration of a grid point of the sweep, 0 <= index < sweep_points: the script's table with the
 * parameters of this point. The result has no sweep of its own. Returns the same statuses as
 * rill_script_config_read(). */
RILL_API rill_status rill_script_sweep_point(rill_script *script, int64_t index, rill_script_config **out);

/* Call this after rill_engine_create() failed. If a heuristic, scorer or scheduler of the configuration is the
 * cause, the file, line and key are put before the context's message. The context's status stays. */
RILL_API void rill_script_config_locate_error(rill_script *script, const rill_script_config *config);

/* Record a mistake that the caller found at `key` ("output", "plugins[2]") of the table, in the form of the other
 * messages: file, line and key before `why`. Returns RILL_ERR_OPTION. */
RILL_API rill_status rill_script_config_refuse(rill_script *script, const char *key, const char *why);

/* Results of decoding with a trial configuration. */
typedef struct rill_script_measures {
    double exact;  /* equals quality if the metric is exact match; else NaN */
    double oracle; /* quality of each input's best output */
    double seconds;
    int64_t expansions, timesteps;
    int64_t failed; /* number of inputs without an output */
    /* message if the settings contradict each other, in which case nothing was decoded; else NULL */
    const char *refused;
    double quality; /* quality of the best outputs in percent, by the metric in use; NaN: unknown */
} rill_script_measures;

/* Decode with `config`, which rill_script_tune() frees afterwards, and store the results in *out. A negative status
 * ends the search. */
typedef rill_status (*rill_script_try_fn)(void *user, const rill_script_config *config, rill_script_measures *out);

/* Run the script's search: call its function `tune`. The script receives a function try(point), which calls `attempt`
 * with the configuration of each point that it is called with. The limits of instructions and seconds apply anew to the
 * time between two attempts.
 *   RILL_OK · a negative status that `attempt` returned, even if the script caught the error · RILL_ERR_OPTION ·
 *   RILL_ERR_PLUGIN · RILL_ERR_MEMORY · RILL_ERR_ARGUMENT (the script defines no function `tune`) */
RILL_API rill_status rill_script_tune(rill_script *script, rill_script_try_fn attempt, void *user);

RILL_C_END

#endif
