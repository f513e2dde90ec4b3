/* A run configuration as a plain struct, read from the table that a script returns.
 *
 * Order of use: rill_script_load(), then rill_script_config_read(), rill_script_sweep_point() for each grid point of a sweep, or
 * rill_script_tune() for a search that the script defines.
 * A struct only holds option values. The caller merges them with other option sources, loads the plugins, and creates the model and the
 * engine. The sandbox does not cover files that the caller opens. Ask the user before loading the shared objects in `plugins` or writing to
 * `output`, `stats` and `trace`.
 * A struct and its strings count towards the script's memory limit. They are valid until rill_script_config_free(), or until the context
 * destroys the script.
 *
 * docs/scripting.md lists the table's keys. Reading checks each key, type, option value and name in a grid. rill_settings_resolve()
 * finds contradictions between options later.
 * Stability: structs are only appended to. */
#ifndef RILL_SCRIPT_CONFIG_H
#define RILL_SCRIPT_CONFIG_H

#include "rill/script.h"

RILL_C_BEGIN

typedef struct rill_script_pair {
    const char *name, *value;
} rill_script_pair;

/* A list of heuristics or scorers, or a scheduler. is_set 1: the list, even if empty, replaces those of other option sources. */
typedef struct rill_script_chain {
    const rill_chain_entry *entry; /* [n] the heuristics or scorers, or the scheduler */
    int32_t n;
    int is_set;
} rill_script_chain;

/* One parameter of a sweep and its values. */
typedef struct rill_script_axis {
    const char *name;
    const char *const *value; /* [n] the parameter's values, as texts */
    int32_t n;
} rill_script_axis;

/* A name that a sweep may use besides settings: for a heuristic's argument, or short for a setting. */
typedef struct rill_script_parameter {
    const char *name;
    const char *heuristic, *setting; /* the heuristic or the setting that `name` stands for; the other member is NULL */
} rill_script_parameter;

/* Return the table of all such names. Its last entry has name == NULL. */
RILL_API const rill_script_parameter *rill_script_parameter_table(void);

typedef struct rill_script_config {
    size_t struct_size;
    const char *script; /* the script's path, for messages */

    /* Texts of the table; NULL: the key is missing. Paths are converted from the script's directory to the current one; "-" is standard
     * input or output. */
    const char *model, *domain, *domain_arguments;
    const char *input, *output, *references, *stats, *trace;
    const char *const *plugins; /* [n_plugins] names or paths of plugins to load */
    int32_t n_plugins;
    int32_t threads; /* 0: the key is missing */
    int tokenized;

    /* [n_settings] names and values for rill_settings_set(), in the order of rill_setting_table() */
    const rill_script_pair *settings;
    int32_t n_settings;
    rill_script_chain heuristics, scorers, scheduler; /* for rill_engine_setup; `scheduler` has at most one entry */
    /* function for the option max-batch-hypotheses, if the script sets one; owned by the script; NULL: none */
    rill_budget_fn budget;
    void *budget_user;

    /* [n_sweep] parameters of the sweep; the first varies slowest. n_sweep 0: no sweep */
    const rill_script_axis *sweep;
    int32_t n_sweep;
    /* number of grid points of the sweep, which is the product of the numbers of values of its parameters; 0 without a sweep */
    int64_t sweep_points;
    int has_tune; /* 1: the script defines a search, the function `tune` */
    /* [n_point] parameters of the grid point or attempt: names and values, in the order of rill.sweep(), else sorted by name */
    const rill_script_pair *point;
    int32_t n_point;

    const char *const *ensemble; /* [n_ensemble] at most 16 models that decode together with `model` */
    int32_t n_ensemble;
    /* [n_options] options of outputs (rill_output_table()) and of domains, for rill_option_source_set() */
    const rill_script_pair *options;
    int32_t n_options;
    int32_t workers; /* 0: the key is missing */
    /* function for the option cube_key, which defines the equivalence classes of cube pruning; owned by the script; NULL: the key is
     * missing */
    rill_key_fn cube_key;
    void *cube_key_user;
    /* path of a file with one line of constraints per input (rill/constraints.h), relative to the current directory; NULL: the key is
     * missing */
    const char *constraints;
    /* set if inputs are rows of TSV or JSON objects: the text's column number or member name; "": the default; NULL: the key is missing */
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

/* Make the configuration of grid point `index`, 0 <= index < sweep_points: the script's table with this combination of parameter values,
 * without a sweep. Returns as rill_script_config_read(). */
RILL_API rill_status rill_script_sweep_point(rill_script *script, int64_t index, rill_script_config **out);

/* Call after rill_engine_create() has failed. If a heuristic, scorer or scheduler of the configuration is the cause, its file, line and
 * key are put before the context's message. The context's status does not change. */
RILL_API void rill_script_config_locate_error(rill_script *script, const rill_script_config *config);

/* Record a mistake at a key ("output", "plugins[2]") of the table. The message has file, line and key, then `why`. Returns
 * RILL_ERR_OPTION. */
RILL_API rill_status rill_script_config_refuse(rill_script *script, const char *key, const char *why);

/* Results of decoding with one configuration that a search tries. */
typedef struct rill_script_measures {
    double exact;  /* quality in percent if the metric is exact match; else NaN */
    double oracle; /* quality that would result if the best of each input's outputs were chosen */
    double seconds;
    int64_t expansions, timesteps;
    int64_t failed; /* number of inputs that have no output */
    /* message if the settings contradict each other, in which case nothing was decoded; else NULL */
    const char *refused;
    double quality; /* quality of the best outputs in percent, by the metric in use; NaN: unknown */
} rill_script_measures;

/* Decode with `config`, which rill_script_tune() frees afterwards, and store the results in *out. A negative status
 * ends the search. */
typedef rill_status (*rill_script_try_fn)(void *user, const rill_script_config *config, rill_script_measures *out);

/* Run the script's search: call its function `tune` with a function try(point), which calls `attempt` with the configuration for the
 * point's parameter values. The limits of instructions and seconds start anew after each attempt.
 *   RILL_OK · a negative status that `attempt` returned, even if the script caught the error · RILL_ERR_OPTION ·
 *   RILL_ERR_PLUGIN · RILL_ERR_MEMORY · RILL_ERR_ARGUMENT (the script defines no function `tune`) */
RILL_API rill_status rill_script_tune(rill_script *script, rill_script_try_fn attempt, void *user);

RILL_C_END

#endif
