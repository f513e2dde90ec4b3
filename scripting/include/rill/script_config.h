/* A run as a script describes it: the table that its last line returns, as a plain struct.
 *
 * Order of use: rill_script_load(), then rill_script_config_read(), rill_script_sweep_point() for each point of a sweep, or
 * rill_script_tune() for a search of the script's own. A struct describes wishes and opens nothing: whoever reads it composes
 * them with wishes from elsewhere, loads the plugins, and makes model and engine. A sandbox ends where its wishes are granted: shared
 * objects among `plugins`, and the files `output`, `stats` and `trace`, want the word of whoever runs the script. A struct and its
 * texts are held by the script, within its limit of memory, until rill_script_config_free(), or until the script goes with its context.
 *
 * What the table may hold is in docs/scripting.md. Everything in it is checked when it is read: unknown keys, types, values that
 * a setting cannot have, names of a grid. What the settings come to together is for rill_settings_resolve().
 * Stability: structs are only appended to. */
#ifndef RILL_SCRIPT_CONFIG_H
#define RILL_SCRIPT_CONFIG_H

#include "rill/script.h"

RILL_C_BEGIN

typedef struct rill_script_pair {
    const char *name, *value;
} rill_script_pair;

/* A chain that is `is_set` and empty clears the chain of other option sources. */
typedef struct rill_script_chain {
    const rill_chain_entry *entry; /* [n] */
    int32_t n;
    int is_set;
} rill_script_chain;

/* One parameter of a sweep. */
typedef struct rill_script_axis {
    const char *name;
    const char *const *value; /* [n], as text */
    int32_t n;
} rill_script_axis;

/* A sweep parameter that is not a setting: a heuristic's name for its argument, or a short name for a setting. */
typedef struct rill_script_parameter {
    const char *name;
    const char *heuristic, *setting; /* one of them is NULL */
} rill_script_parameter;

/* All of these; ends with name == NULL. */
RILL_API const rill_script_parameter *rill_script_parameter_table(void);

typedef struct rill_script_config {
    size_t struct_size;
    const char *script; /* the script's path, for messages */

    /* NULL: not said. Paths are relative to the current directory; the script's own are relative to its directory. "-" is
     * standard input or output. */
    const char *model, *domain, *domain_arguments;
    const char *input, *output, *references, *stats, *trace;
    const char *const *plugins; /* [n_plugins] */
    int32_t n_plugins;
    int32_t threads; /* 0: not said */
    int tokenized;

    const rill_script_pair *settings; /* [n_settings] for rill_settings_set(), in the order of rill_setting_table() */
    int32_t n_settings;
    rill_script_chain heuristics, scorers, scheduler; /* scheduler: at most one; for rill_engine_setup */
    rill_budget_fn budget; /* search.budget as a function, which belongs to the script; else NULL */
    void *budget_user;

    const rill_script_axis *sweep; /* [n_sweep]; the first varies slowest. n_sweep 0: no sweep */
    int32_t n_sweep;
    int64_t sweep_points; /* product of the axes' lengths; 0 without a sweep */
    int has_tune;         /* the script defines `tune` */
    /* [n_point] parameters whose values differ from the script's defaults, in the order of rill.sweep(), or by name without a sweep */
    const rill_script_pair *point;
    int32_t n_point;

    const char *const *ensemble; /* [n_ensemble] at most 16 models that decode together with `model` */
    int32_t n_ensemble;
    const rill_script_pair
        *options; /* [n_options] of outputs (rill_output_table()) and domains, for rill_option_source_set() */
    int32_t n_options;
    int32_t workers;      /* 0: not said */
    rill_key_fn cube_key; /* search.cube_key, which belongs to the script; NULL: not said */
    void *cube_key_user;
    const char *constraints; /* a file with a line for each input (rill/constraints.h), as `input` is; NULL: not said */
    const char *tsv,
        *jsonl; /* inputs are rows or objects: the column, or the member; "": the usual one; NULL: not said */
} rill_script_config;

/* Read what the script returned. *out: freed by the caller; on failure NULL.
 *   RILL_OK · RILL_ERR_OPTION (something in the table, with file, line, key and what is meant) · RILL_ERR_PLUGIN (an error in the
 *   script) · RILL_ERR_MEMORY */
RILL_API rill_status rill_script_config_read(rill_script *script, rill_script_config **out);
/* Read only `plugins`: load them before reading the rest, whose keys include their domains' options. */
RILL_API rill_status rill_script_config_plugins(rill_script *script, rill_script_config **out);
RILL_API void rill_script_config_free(rill_script_config *config); /* NULL is allowed */

/* The configuration at a point of the sweep, 0 <= index < sweep_points: the script's with the point's parameters. Same returns.
 * It has no sweep of its own. */
RILL_API rill_status rill_script_sweep_point(rill_script *script, int64_t index, rill_script_config **out);

/* After rill_engine_create() failed: when an entry of the configuration's chains is why, put file, line and key before the
 * message of the context, whose status stays. */
RILL_API void rill_script_config_locate_error(rill_script *script, const rill_script_config *config);

/* Record that what the table says at `key` ("output", "plugins[2]") cannot be had, in the form of other mistakes: file, line and key
 * before `why`. Returns RILL_ERR_OPTION. */
RILL_API rill_status rill_script_config_refuse(rill_script *script, const char *key, const char *why);

/* Results of a trial configuration. */
typedef struct rill_script_measures {
    double exact;  /* equals quality if the metric is exact match; else NaN */
    double oracle; /* quality of each input's best output */
    double seconds;
    int64_t expansions, timesteps;
    int64_t failed;      /* inputs without output */
    const char *refused; /* reason if the settings contradict each other and nothing was run; else NULL */
    double quality;      /* percent, by the metric in use, of first outputs; NaN: unknown */
} rill_script_measures;

/* Decode with `config`, which is freed afterwards, and report the results. A negative status ends the search. */
typedef rill_status (*rill_script_try_fn)(void *user, const rill_script_config *config, rill_script_measures *out);

/* Call the script's function `tune` with a function that hands each point it is given to `attempt`. The limits of
 * instructions and seconds apply to each stretch between two attempts.
 *   RILL_OK · what `attempt` returned, though the script may have caught it · RILL_ERR_OPTION · RILL_ERR_PLUGIN ·
 *   RILL_ERR_MEMORY · RILL_ERR_ARGUMENT (there is no such function) */
RILL_API rill_status rill_script_tune(rill_script *script, rill_script_try_fn attempt, void *user);

RILL_C_END

#endif
