/* Search configuration: combines options from several sources into an engine setup.
 *
 * A source holds the options of one origin: command line, request, Lua configuration, config.json. Precedence:
 *   - One source is *firm*: an impossible option fails the call. The others are *soft*: contradicting options are dropped.
 *   - A setting comes from the first source that sets it, and so does a *chain*: the whole list of heuristics or scorers.
 *   - A preset (`like`) overrides the search settings of later sources.
 *
 * Order of use: rill_option_source_create(), rill_option_source_set(), rill_search_config_make(), rill_engine_create() with
 * config->setup, rill_search_config_free(), rill_option_source_free().
 * Sources must outlive their configurations, and domains' tables the sources.
 * Threads: one at a time. Use a source with the context that created it.
 * Stability: structs are only appended to. */
#ifndef RILL_SEARCH_CONFIG_H
#define RILL_SEARCH_CONFIG_H

#include "rill/engine.h"
#include "rill/option.h"

RILL_C_BEGIN

typedef struct rill_option_source rill_option_source;

typedef enum rill_origin {
    RILL_FROM_USER = 0, /* options of a user */
    /* options of a file; dropped ones are reported (rill_search_config.ignored) */
    RILL_FROM_FILE = 1,
} rill_origin;

typedef enum rill_chain { RILL_CHAIN_HEURISTICS, RILL_CHAIN_SCORERS, RILL_CHAIN_SCHEDULER, RILL_CHAINS } rill_chain;

/* Options that name heuristics, scorers or a scheduler; ends with name == NULL.
 * heuristic, scorer and scheduler take "NAME:ARGS"; prune-absolute, prune-relative and prune-relative-local are heuristics. */
RILL_API const rill_option *rill_chain_table(void);

/* Options about the written output (alignment, word-scores, unknown-names, ids, pretty); ends with name == NULL. Read them by
 * rill_option_sources_get(). */
RILL_API const rill_option *rill_output_table(void);

/* Create an empty source. *out: freed by the caller; NULL on failure.
 *   RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_option_source_create(rill_option_source **out, rill_context *ctx, rill_origin origin);
RILL_API void rill_option_source_free(rill_option_source *source); /* freeing NULL does nothing */

/* Set the domain, whose features the default of `finish` depends on. It must outlive the source; NULL: unknown. */
RILL_API void rill_option_source_set_domain(rill_option_source *source, const rill_domain *domain);

/* Set a setting, a name of rill_chain_table() or rill_output_table(), or a domain's option. "-" and "_" are equivalent.
 * Only this value is checked. Heuristics and scorers are added to a list; setting another option to a second value is refused.
 *   RILL_OK · RILL_ERR_OPTION (recorded, with the nearest known name) · RILL_ERR_MEMORY */
RILL_API rill_status rill_option_source_set(rill_option_source *source, const char *name, const char *value);

/* Set options from text "NAME=VALUE NAME=VALUE", each at most 4,095 bytes. Returns as rill_option_source_set(); RILL_ERR_PLUGIN for
 * another form. */
RILL_API rill_status rill_option_source_set_all(rill_option_source *source, const char *text);

/* Return the table row of an option of rill_option_source_set(); NULL: unknown. */
RILL_API const rill_option *rill_option_row(const rill_context *ctx, const char *name);

/* Append a heuristic or scorer to the source's list, or set the scheduler. */
RILL_API rill_status rill_option_source_add_to_chain(rill_option_source *source, rill_chain chain, const char *name,
                                                     const char *arguments);

/* Mark a list of heuristics or scorers as set, even if empty: it overrides later sources. */
RILL_API void rill_option_source_set_chain(rill_option_source *source, rill_chain chain);

/* Set a function that sets each timestep's budget (maximum number of hypotheses). */
RILL_API void rill_option_source_set_budget(rill_option_source *source, rill_budget_fn budget, void *user);

/* Set the equivalence classes of cube pruning (rill_engine_setup.cube_key). */
RILL_API void rill_option_source_set_cube_key(rill_option_source *source, rill_key_fn key, void *user);

/* Returns the source's value of an option, valid until set again; NULL: unset; "function": a budget function. */
RILL_API const char *rill_option_source_get(const rill_option_source *source, const char *name);
/* Return 1 if a list of heuristics or scorers is set, even if empty. */
RILL_API int rill_option_source_has_chain(const rill_option_source *source, rill_chain chain);
RILL_API const rill_chain_entry *rill_option_source_chain(const rill_option_source *source, rill_chain chain,
                                                          int32_t *n);
/* Return 1 if the source sets any search option (a setting, heuristics, scorers), else 0. */
RILL_API int rill_option_source_sets_search(const rill_option_source *source);

/* Configure forced decoding: score existing outputs by the scorer "given", see rill_search_config_add_scorer().
 *   RILL_OK · RILL_ERR_OPTION (the source has an option that only searches can use) · RILL_ERR_MEMORY */
RILL_API rill_status rill_option_source_force_decode(rill_option_source *source);

/* Check whether the source alone is a possible configuration, and its heuristics, scorers and scheduler are registered.
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_NOT_FOUND · RILL_ERR_MEMORY */
RILL_API rill_status rill_option_source_check(const rill_option_source *source);

/* Give a worker its own copy of this source: the same options, with the worker's context and functions. */
RILL_API rill_status rill_option_source_set_worker_copy(rill_option_source *source, int32_t worker,
                                                        rill_option_source *worker_copy);

/* Return an option's value in the first source that sets it, or NULL. */
RILL_API const char *rill_option_sources_get(const rill_option_source *const *sources, int n, const char *name);

/* Collect the domain options of all sources, for rill_open_options. Earlier sources win.
 *   *out: [*n_out], freed by the caller (rill_free), or NULL; the texts belong to the sources
 *   RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_option_sources_domain_values(rill_context *ctx, const rill_option_source *const *sources,
                                                       int n, rill_pair **out, int32_t *n_out);

/* The sources combined. */
typedef struct rill_search_config {
    rill_engine_setup *setup;      /* setup for rill_engine_create(); the caller adds trace, fields and clock */
    const rill_settings *resolved; /* settings with presets applied */
    /* dropped options of files, as "heuristics (absolute:10), options.beam_size"; "": none */
    const char *ignored;
} rill_search_config;

/* Combine `firm` with soft[0..n), highest precedence first. NULL is an empty source.
 *   *out: freed by the caller; NULL on failure
 *   RILL_OK · RILL_ERR_OPTION (`firm` is impossible or contradictory) · RILL_ERR_ARGUMENT (more than 8 soft sources) · RILL_ERR_MEMORY */
RILL_API rill_status rill_search_config_make(rill_search_config **out, rill_context *ctx,
                                             const rill_option_source *firm, const rill_option_source *const *soft,
                                             int n);
/* Combine a request's options with the run's. Options that contradict the run's firm ones are refused.
 *   gives_way: 1: the run's options are only defaults, as in a server. A request cannot switch off the run's heuristics
 *   *out: freed by the caller; NULL on failure
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_ARGUMENT (more than 8 soft sources) · RILL_ERR_MEMORY */
RILL_API rill_status rill_search_config_request(rill_search_config **out, const rill_search_config *run,
                                                rill_context *ctx, const rill_option_source *own, int gives_way);
/* Combine a worker's copies of the sources (rill_option_source_set_worker_copy). *out: NULL without copies. ctx: the worker's. */
RILL_API rill_status rill_search_config_worker_copy(const rill_search_config *config, rill_context *ctx, int32_t worker,
                                                    rill_search_config **out);
/* Append a scorer to the configuration and to later worker copies. The texts are borrowed.
 *   RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_search_config_add_scorer(rill_search_config *config, const char *name, const char *arguments);
RILL_API void rill_search_config_free(rill_search_config *config); /* freeing NULL does nothing */

/* Return 1 if two configurations give equal results, whatever their schedules, else 0. */
RILL_API int rill_search_config_same_search(const rill_search_config *a, const rill_search_config *b);

RILL_C_END

#endif
