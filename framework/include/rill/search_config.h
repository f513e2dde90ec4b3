/* Search configuration: options from several sources, and the engine setup that they result in.
 *
 * An option source holds the options of one origin: a command line, a request, a Lua configuration, a model's config.json.
 * rill_search_config_make() combines sources. One source is *firm*: its options must be possible, or the call fails. The others are *soft*:
 * defaults, in order of precedence. Soft options that contradict the method or a higher option are dropped. So a firm `method greedy` works
 * with a model whose defaults prune. The source with the higher precedence wins, setting by setting. A *chain*, the list of heuristics or
 * scorers, is taken as a whole from the first source that has it. A preset (`like`) overrides the search settings of sources with lower
 * precedence.
 *
 * Order of use: rill_option_source_create(), rill_option_source_set() and similar, rill_search_config_make(), an engine from
 * config->setup, rill_search_config_free(), rill_option_source_free(). Sources must outlive the configurations made from them, and
 * domains' tables the sources that set their options.
 * One thread at a time; sources are used with the context that made them.
 * Stability: structs are only appended to. */
#ifndef RILL_SEARCH_CONFIG_H
#define RILL_SEARCH_CONFIG_H

#include "rill/engine.h"
#include "rill/option.h"

RILL_C_BEGIN

typedef struct rill_option_source rill_option_source;

typedef enum rill_origin {
    RILL_FROM_USER = 0, /* options of a user; those that another source overrides are not reported */
    /* options of a file; dropped options are reported (rill_search_config.ignored), since the search differs from the file's description */
    RILL_FROM_FILE = 1,
} rill_origin;

typedef enum rill_chain { RILL_CHAIN_HEURISTICS, RILL_CHAIN_SCORERS, RILL_CHAIN_SCHEDULER, RILL_CHAINS } rill_chain;

/* Options that name heuristics, scorers or a scheduler. prune-absolute, prune-relative and prune-relative-local add the heuristic of that
 * name; heuristic, scorer and scheduler take "NAME:ARGS". Ends with name == NULL. */
RILL_API const rill_option *rill_chain_table(void);

/* Options about what is written with each output: alignment, word-scores, unknown-names, ids, pretty. A source only stores them;
 * rill_option_sources_get() reads them. Ends with name == NULL. */
RILL_API const rill_option *rill_output_table(void);

/* Create an empty source. *out: freed by the caller; NULL on failure. RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_option_source_create(rill_option_source **out, rill_context *ctx, rill_origin origin);
RILL_API void rill_option_source_free(rill_option_source *source); /* NULL is allowed */

/* Set the domain that this source is for: the finish of the method fixed depends on it (rill_domain.features). `domain` must outlive the
 * source; NULL: unknown. */
RILL_API void rill_option_source_set_domain(rill_option_source *source, const rill_domain *domain);

/* Set an option: a setting, a name of rill_chain_table() or rill_output_table(), or an option of a registered domain (rill_domain.options).
 * "-" and "_" are equivalent. Only this value is checked, not its combination with other options. Options of heuristics and scorers may
 * be set repeatedly: each value is added. Any other option that is set again, also by an alias, to a different value is refused.
 *   RILL_OK · RILL_ERR_OPTION (recorded, with the nearest known name) · RILL_ERR_MEMORY */
RILL_API rill_status rill_option_source_set(rill_option_source *source, const char *name, const char *value);

/* Set options from a text "NAME=VALUE NAME=VALUE", each of at most 4,095 bytes. Returns as rill_option_source_set(), and RILL_ERR_PLUGIN
 * for another word. */
RILL_API rill_status rill_option_source_set_all(rill_option_source *source, const char *text);

/* Return the table row of the option that rill_option_source_set() accepts by this name; NULL: unknown. */
RILL_API const rill_option *rill_option_row(const rill_context *ctx, const char *name);

/* Append a heuristic or scorer with its arguments to the source's list, or set the scheduler. */
RILL_API rill_status rill_option_source_add_to_chain(rill_option_source *source, rill_chain chain, const char *name,
                                                     const char *arguments);

/* Mark the source's list of heuristics or scorers as set even if it is empty: it overrides the lists of lower precedence. */
RILL_API void rill_option_source_set_chain(rill_option_source *source, rill_chain chain);

/* Set a function that sets the budget of each timestep (maximum number of hypotheses), instead of the setting. */
RILL_API void rill_option_source_set_budget(rill_option_source *source, rill_budget_fn budget, void *user);

/* Set a function that defines the equivalence classes of cube pruning (rill_engine_setup.cube_key). */
RILL_API void rill_option_source_set_cube_key(rill_option_source *source, rill_key_fn key, void *user);

/* Returns the source's value of a setting, output option or domain option, valid until it is set again; NULL if unset. "function": a
 * function sets the budget. */
RILL_API const char *rill_option_source_get(const rill_option_source *source, const char *name);
/* return 1 if the list is set, even if it is empty */
RILL_API int rill_option_source_has_chain(const rill_option_source *source, rill_chain chain);
RILL_API const rill_chain_entry *rill_option_source_chain(const rill_option_source *source, rill_chain chain,
                                                          int32_t *n);
/* Return 1 if the source sets any search option (a setting, heuristics, scorers), else 0. */
RILL_API int rill_option_source_sets_search(const rill_option_source *source);

/* Configure forced decoding: the scorer "given", which rill_search_config_add_scorer() adds, scores existing outputs. Options that shape
 * scores or the schedule are kept.
 *   RILL_OK · RILL_ERR_OPTION (the source sets an option that applies to searches only, named) · RILL_ERR_MEMORY */
RILL_API rill_status rill_option_source_force_decode(rill_option_source *source);

/* Check whether the source alone is a possible configuration, and its heuristics, scorers and scheduler are registered.
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_NOT_FOUND · RILL_ERR_MEMORY */
RILL_API rill_status rill_option_source_check(const rill_option_source *source);

/* Worker `worker` uses `worker_copy` instead of this source: the same options in the worker's own context, with its own functions. */
RILL_API rill_status rill_option_source_set_worker_copy(rill_option_source *source, int32_t worker,
                                                        rill_option_source *worker_copy);

/* Return the value of an option in the first of the n sources that sets it; NULL: no source sets it. */
RILL_API const char *rill_option_sources_get(const rill_option_source *const *sources, int n, const char *name);

/* Collect the domain options of all sources for rill_open_options, each from the first source that sets it. *out: [*n_out] pairs owned by
 * the caller (rill_free), or NULL if there are none; the texts belong to the sources.
 *   RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_option_sources_domain_values(rill_context *ctx, const rill_option_source *const *sources,
                                                       int n, rill_pair **out, int32_t *n_out);

/* The configuration that results from combining the sources. */
typedef struct rill_search_config {
    rill_engine_setup *setup;      /* setup for rill_engine_create(); the caller adds trace, fields and clock */
    const rill_settings *resolved; /* setup's settings with presets applied, as an engine resolves them */
    /* dropped options of file sources, as "heuristics (absolute:10), options.beam_size"; "" if none was dropped */
    const char *ignored;
} rill_search_config;

/* Combine the source `firm` with the soft sources soft[0..n), highest precedence first; NULL counts as empty.
 *   *out: freed by the caller; NULL on failure
 *   RILL_OK · RILL_ERR_OPTION (an option of `firm` is impossible or contradicts another one) · RILL_ERR_ARGUMENT (more than 8 default
 *   sources) · RILL_ERR_MEMORY */
RILL_API rill_status rill_search_config_make(rill_search_config **out, rill_context *ctx,
                                             const rill_option_source *firm, const rill_option_source *const *soft,
                                             int n);
/* Combine a request's own settings with the run's. A request that contradicts the run's firm options is refused. With `gives_way` the run's
 * options are soft: a server's options are its clients' defaults. Heuristics belong to the run, so settings for searches without heuristics
 * (`like`) are refused in a run with heuristics.
 *   *out: freed by the caller; NULL on failure · ctx: any context that the sources may be used with
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_ARGUMENT (requests of requests make more than 8 default sources) · RILL_ERR_MEMORY */
RILL_API rill_status rill_search_config_request(rill_search_config **out, const rill_search_config *run,
                                                rill_context *ctx, const rill_option_source *own, int gives_way);
/* Make the configuration again from a worker's copies of its sources (rill_option_source_set_worker_copy). *out is NULL without copies.
 * `ctx`: the worker's context. */
RILL_API rill_status rill_search_config_worker_copy(const rill_search_config *config, rill_context *ctx, int32_t worker,
                                                    rill_search_config **out);
/* Append a scorer to the configuration, and to worker copies that are made later. The texts are borrowed.
 *   RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_search_config_add_scorer(rill_search_config *config, const char *name, const char *arguments);
RILL_API void rill_search_config_free(rill_search_config *config); /* NULL is allowed */

/* Return 1 if two configurations define the same search and so give equal results, even if their schedules differ; else 0. */
RILL_API int rill_search_config_same_search(const rill_search_config *a, const rill_search_config *b);

RILL_C_END

#endif
