/* Options from several sources, and the setup that follows from them.
 *
 * A layer is one source of wishes: a command line, a request, a configuration in Lua, a model's config.json.
 * rill_search_config_make() composes them. One layer is *firm*: what it says must be possible, or there is no result.
 * The others are *soft*: they are defaults, nearest first, and what a method cannot do is left out of them, so that a firm
 * `method greedy` works with a model whose defaults prune. Nearer layers win, setting by setting; a chain of heuristics or
 * scorers is taken whole from the nearest layer that has one. A preset (`like`) that a nearer layer asks for stands before what
 * layers farther away say of the search.
 *
 * Order of use: rill_option_source_create(), rill_option_source_set() and its like, rill_search_config_make(), an engine from plan->setup,
 * then rill_search_config_free() and rill_option_source_free(): layers must outlive the plans made from them. One thread at a time; a
 * context's layers are used with that context. Stability: structs are only appended to. */
#ifndef RILL_SEARCH_CONFIG_H
#define RILL_SEARCH_CONFIG_H

#include "rill/engine.h"
#include "rill/option.h"

RILL_C_BEGIN

typedef struct rill_option_source rill_option_source;

typedef enum rill_origin {
    RILL_FROM_USER = 0, /* what gives way to nearer layers is not told */
    RILL_FROM_FILE = 1, /* the plan tells what is left out: another search runs than the file describes */
} rill_origin;

typedef enum rill_chain { RILL_CHAIN_HEURISTICS, RILL_CHAIN_SCORERS, RILL_CHAIN_SCHEDULER, RILL_CHAINS } rill_chain;

/* Names beside the settings': prune-absolute, prune-relative and prune-relative-local add that heuristic; heuristic, scorer and policy take
 * "NAME:ARGS". Ends with name == NULL. */
RILL_API const rill_option *rill_chain_table(void);

/* What a program that writes outputs may write beside their texts: alignment, word-scores, unknown-names, ids, pretty. A layer only notes
 * them; rill_option_sources_get() finds them. Ends with name == NULL. */
RILL_API const rill_option *rill_output_table(void);

/* An empty layer. *out: freed by the caller; NULL on failure. RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_option_source_create(rill_option_source **out, rill_context *ctx, rill_origin origin);
RILL_API void rill_option_source_free(rill_option_source *layer); /* NULL is allowed */

/* Say something: a setting, a name of rill_chain_table() or rill_output_table(), or an option of a registered domain
 * (rill_domain.options). "-" and "_" are one. The value is checked alone; a
 * second, different value is refused, under another name of the option too; a policy is replaced, chains grow.
 *   RILL_OK · RILL_ERR_OPTION (recorded, with the nearest known name) · RILL_ERR_MEMORY */
RILL_API rill_status rill_option_source_set(rill_option_source *layer, const char *name, const char *value);

/* The same from a text "NAME=VALUE NAME=VALUE". */
RILL_API rill_status rill_option_source_set_all(rill_option_source *layer, const char *text);

/* The row by whose type rill_option_source_set() reads a value of that name; NULL: it knows none. */
RILL_API const rill_option *rill_option_row(const rill_context *ctx, const char *name);

/* Append an element to a chain. */
RILL_API rill_status rill_option_source_add_to_chain(rill_option_source *layer, rill_chain chain, const char *name,
                                                     const char *arguments);

/* The chain is said, though it be empty: then none is wanted, whatever layers farther away hold. */
RILL_API void rill_option_source_set_chain(rill_option_source *layer, rill_chain chain);

/* A function that sets each timestep's budget, instead of the setting. */
RILL_API void rill_option_source_set_budget(rill_option_source *layer, rill_budget_fn budget, void *user);

/* A function that says which hypotheses are alike for cube pruning (rill_engine_setup.cube_key). */
RILL_API void rill_option_source_set_cube_key(rill_option_source *layer, rill_key_fn key, void *user);

/* What the layer says of a setting, an output's or a domain's option, valid until it is said again; "function" of a budget by a
 * function; NULL: nothing. */
RILL_API const char *rill_option_source_get(const rill_option_source *layer, const char *name);
RILL_API int rill_option_source_has_chain(const rill_option_source *layer,
                                          rill_chain chain); /* said, though it be empty */
RILL_API const rill_chain_entry *rill_option_source_chain(const rill_option_source *layer, rill_chain chain,
                                                          int32_t *n);
/* It says something of the search: a setting, heuristics, scorers. */
RILL_API int rill_option_source_sets_search(const rill_option_source *layer);

/* Search as outputs are scored that are given: one path, for the scorer "given" (rill_search_config_add_scorer). What a layer says that
 * shapes a score or the schedule stays.
 *   RILL_OK · RILL_ERR_OPTION (it says something that is for a search, named) · RILL_ERR_MEMORY */
RILL_API rill_status rill_option_source_force_decode(rill_option_source *layer);

/* Would the layer alone be possible? RILL_OK · RILL_ERR_OPTION · RILL_ERR_MEMORY */
RILL_API rill_status rill_option_source_check(const rill_option_source *layer);

/* Worker `worker` reads `twin` in the place of this layer: the same, made in its own context, whose functions are its own. */
RILL_API rill_status rill_option_source_set_worker_copy(rill_option_source *layer, int32_t worker,
                                                        rill_option_source *twin);

/* What the nearest of the layers says of it that says anything; NULL: none does. */
RILL_API const char *rill_option_sources_get(const rill_option_source *const *layers, int n, const char *name);

/* The values of domains' options that some layer gives, of each name the nearest, for rill_open_options. *out has room for all of
 * them, belongs to the caller (rill_free of *n pairs), and its texts to the layers; NULL when there are none.
 *   RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_option_sources_domain_values(rill_context *ctx, const rill_option_source *const *layers,
                                                       int n, rill_pair **out, int32_t *n_out);

/* What layers make together. */
typedef struct rill_search_config {
    rill_engine_setup setup; /* for rill_engine_create(); trace, fields and clock are the caller's to add */
    rill_settings resolved;  /* setup.settings with presets applied, as an engine will have them */
    const char *
        ignored; /* "heuristics (absolute:10), search.beam_size": what was left out of layers from files; "" for nothing */
} rill_search_config;

/* Compose `firm` with soft[0..n), nearest first; NULL layers are empty ones.
 *   *out: freed by the caller; NULL on failure
 *   RILL_OK · RILL_ERR_OPTION (what `firm` says is impossible, or contradicts itself) · RILL_ERR_MEMORY */
RILL_API rill_status rill_search_config_make(rill_search_config **out, rill_context *ctx,
                                             const rill_option_source *firm, const rill_option_source *const *soft,
                                             int n);
/* A request's own settings on top of a run's. What the run's firm layer says stays, and contradictions are refused, as if both had been
 * said together; with `gives_way` it gives way like a soft one (a server's options are its clients' defaults). Heuristics are the run's
 * for all inputs alike: settings that are for a search without them (`like`) are refused.
 *   *out: freed by the caller; NULL on failure · ctx: any that the layers may be used with
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_MEMORY */
RILL_API rill_status rill_search_config_request(rill_search_config **out, const rill_search_config *run,
                                                rill_context *ctx, const rill_option_source *own, int gives_way);
/* rill_search_config_make() from the twins that the plan's layers have for a worker, where they have any; else *out is NULL.
 * `ctx`: the worker's. */
RILL_API rill_status rill_search_config_worker_copy(const rill_search_config *plan, rill_context *ctx, int32_t worker,
                                                    rill_search_config **out);
/* Add a scorer behind those of the plan, and of its twins made from now on; the texts are borrowed. RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_search_config_add_scorer(rill_search_config *plan, const char *name, const char *arguments);
RILL_API void rill_search_config_free(rill_search_config *plan); /* NULL is allowed */

/* Whether two plans must give the same answers, however each is scheduled. */
RILL_API int rill_search_config_same_search(const rill_search_config *a, const rill_search_config *b);

RILL_C_END

#endif
