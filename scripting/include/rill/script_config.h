/* A run configuration as a plain struct, read from the table that a script returned.
 *
 * Order of use: rill_script_load(), rill_script_config_read(); then rill_script_sweep_point() for each grid point of a sweep, or
 * rill_script_tune() for a search defined by the script.
 * The caller loads plugins and opens files. The sandbox does not cover them: ask the user before loading `plugins`, or writing to
 * `output`, `stats` and `trace`.
 * Memory counts towards the script's limit. Valid until rill_script_config_free() or the end of the script.
 *
 * docs/scripting.md lists the table's keys. Reading checks keys, types and values. rill_settings_resolve() checks combinations.
 * Stability: structs are only appended to. */
#ifndef RILL_SCRIPT_CONFIG_H
#define RILL_SCRIPT_CONFIG_H

#include "rill/script.h"

RILL_C_BEGIN

typedef struct rill_script_pair {
    const char *name, *value;
} rill_script_pair;

/* A list of heuristics or scorers, or a scheduler. is_set 1: the list, even if empty, overrides other option sources. */
typedef struct rill_script_chain {
    const rill_chain_entry *entry; /* [n] the heuristics or scorers, or the scheduler */
    int32_t n;
    int is_set;
} rill_script_chain;

/* One parameter of a sweep and its values. */
typedef struct rill_script_axis {
    const char *name;
    const char *const *value; /* [n] values of the parameter, as texts */
    int32_t n;
} rill_script_axis;

/* A sweep parameter that is not a setting: a heuristic's argument, or short for a setting. */
typedef struct rill_script_parameter {
    const char *name;
    const char *heuristic, *setting; /* the heuristic or the setting that `name` stands for; the other is NULL */
} rill_script_parameter;

/* Return all such names, up to an entry with name == NULL. */
RILL_API const rill_script_parameter *rill_script_parameter_table(void);

typedef struct rill_script_config {
    size_t struct_size;
    const char *script; /* path of the script, for messages */

    /* Texts of the table; NULL: not set. Paths are relative to the current directory; "-" is standard input or output. */
    const char *model, *domain, *domain_arguments;
    const char *input, *output, *references, *stats, *trace;
    const char *const *plugins; /* [n_plugins] names or paths of plugins to load */
    int32_t n_plugins;
    int32_t threads; /* number of threads; 0: not set */
    int tokenized;

    /* [n_settings] settings for rill_settings_set(), in the order of rill_setting_table() */
    const rill_script_pair *settings;
    int32_t n_settings;
    rill_script_chain heuristics, scorers, scheduler; /* lists for rill_engine_setup; at most one scheduler */
    /* budget function (option max-batch-hypotheses), owned by the script; NULL: none */
    rill_budget_fn budget;
    void *budget_user;

    /* [n_sweep] sweep parameters; the first varies slowest. n_sweep 0: no sweep */
    const rill_script_axis *sweep;
    int32_t n_sweep;
    /* number of grid points; 0: no sweep */
    int64_t sweep_points;
    int has_tune; /* 1: the script has a function `tune` */
    /* [n_point] parameter values of this grid point or attempt, in the order of rill.sweep(), else sorted by name */
    const rill_script_pair *point;
    int32_t n_point;

    const char *const *ensemble; /* [n_ensemble] at most 16 models decoded together with `model` */
    int32_t n_ensemble;
    /* [n_options] output options (rill_output_table()) and domain options, for rill_option_source_set() */
    const rill_script_pair *options;
    int32_t n_options;
    int32_t workers; /* number of workers; 0: not set */
    /* equivalence classes for cube pruning (option cube_key), owned by the script; NULL: none */
    rill_key_fn cube_key;
    void *cube_key_user;
    /* path of a file with a line of constraints per input (rill/constraints.h); NULL: none */
    const char *constraints;
    /* inputs are TSV rows or JSON objects: column number or member name of the text; "": the default; NULL: they are not */
    const char *tsv, *jsonl;
} rill_script_config;

/* Read the table that the script returned. *out: freed by the caller; NULL on failure.
 *   RILL_OK · RILL_ERR_OPTION (a mistake in the table: file, line, key, what was expected) · RILL_ERR_PLUGIN (an error in the
 *   script) · RILL_ERR_MEMORY */
RILL_API rill_status rill_script_config_read(rill_script *script, rill_script_config **out);
/* Read only the key `plugins`. Load them before rill_script_config_read(): their options are keys of the table. */
RILL_API rill_status rill_script_config_plugins(rill_script *script, rill_script_config **out);
RILL_API void rill_script_config_free(rill_script_config *config); /* freeing NULL does nothing */

/* Create the configuration of grid point `index`, 0 <= index < sweep_points, without a sweep. Returns as rill_script_config_read(). */
RILL_API rill_status rill_script_sweep_point(rill_script *script, int64_t index, rill_script_config **out);

/* After a failed rill_engine_create(): add file, line and key to the message if a heuristic, scorer or scheduler of the configuration
 * failed. The status is unchanged. */
RILL_API void rill_script_config_locate_error(rill_script *script, const rill_script_config *config);

/* Record a mistake at a key ("output", "plugins[2]"): file, line, key, then `why`. Returns RILL_ERR_OPTION. */
RILL_API rill_status rill_script_config_refuse(rill_script *script, const char *key, const char *why);

/* Results of decoding with one configuration. */
typedef struct rill_script_measures {
    double exact;  /* quality in percent of exact matches; NaN with another metric */
    double oracle; /* quality if the best of each input's outputs were chosen */
    double seconds;
    int64_t expansions, timesteps;
    int64_t failed; /* number of inputs without output */
    /* message if the settings contradict each other and nothing was decoded; else NULL */
    const char *refused;
    double quality; /* quality of the best outputs in percent, by the metric in use; NaN: unknown */
} rill_script_measures;

/* Decode with `config`, which stays the caller's, and write the results to *out. A negative status ends the search. */
typedef rill_status (*rill_script_try_fn)(void *user, const rill_script_config *config, rill_script_measures *out);

/* Call the script's function `tune` with a function try(point), which calls `attempt` with the point's configuration. The script's
 * limits restart after each attempt.
 *   RILL_OK · a negative status of `attempt` · RILL_ERR_OPTION · RILL_ERR_PLUGIN · RILL_ERR_MEMORY ·
 *   RILL_ERR_ARGUMENT (no function `tune`) */
RILL_API rill_status rill_script_tune(rill_script *script, rill_script_try_fn attempt, void *user);

RILL_C_END

#endif
