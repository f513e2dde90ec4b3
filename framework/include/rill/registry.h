/* The registry of a context: domains, heuristics, scorers and schedulers by name, plugins, and contexts of workers.
 *
 * A table's abi_version, struct_size and mandatory members are checked; a mismatch is refused with both numbers. Tables must outlive the
 * context; a plugin stays loaded until rill_context_destroy(). To write tables, see plugin.h.
 * Stability: stable within a major version. */
#ifndef RILL_REGISTRY_H
#define RILL_REGISTRY_H

#include "rill/context.h"

RILL_C_BEGIN

typedef struct rill_domain rill_domain;
typedef struct rill_heuristic rill_heuristic;
typedef struct rill_scorer rill_scorer;
typedef struct rill_scheduler rill_scheduler;

/* Register every built-in domain, heuristic, scorer and scheduler. Call it once per context.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_ARGUMENT (already registered) */
RILL_API rill_status rill_register_builtins(rill_context *ctx);

/* Register a table of functions under the name in it. RILL_OK · RILL_ERR_ABI · RILL_ERR_PLUGIN (mandatory member missing) ·
 * RILL_ERR_ARGUMENT (name taken) · RILL_ERR_MEMORY */
RILL_API rill_status rill_register_domain(rill_context *ctx, const rill_domain *domain);
RILL_API rill_status rill_register_heuristic(rill_context *ctx, const rill_heuristic *heuristic);
RILL_API rill_status rill_register_scorer(rill_context *ctx, const rill_scorer *scorer);
RILL_API rill_status rill_register_scheduler(rill_context *ctx, const rill_scheduler *scheduler);

/* Register the engine's own heuristics, scorers and schedulers; rill_register_builtins() includes it. Once per context. */
RILL_API rill_status rill_register_core(rill_context *ctx);

/* The number of registered tables of each kind. rill_registry_restore() drops tables registered after the mark, so a loader registers
 * all of its tables or none. No object may use a dropped table. */
typedef struct rill_registry_mark {
    size_t domains, heuristics, scorers, schedulers;
} rill_registry_mark;
RILL_API rill_registry_mark rill_registry_size(const rill_context *ctx);
RILL_API void rill_registry_restore(rill_context *ctx, rill_registry_mark mark);

/* Make a context for a worker's thread. It has its own error record, tables and memory accounting, and shares the parent's allocation
 * function and log. Its memory also counts in the parent. Destroy it before the parent.
 *   shared: the worker has the tables that `parent` had at this mark; NULL: all. A script's tables belong to one thread: exclude them and
 *   load the script again.
 *   RILL_OK · RILL_ERR_MEMORY (recorded in `parent`) */
RILL_API rill_status rill_context_create_worker(rill_context **out, rill_context *parent,
                                                const rill_registry_mark *shared);

/* Append the path of a plugin, a shared object or a script, to `out`, whose context records failures. A name with a slash is a path. Other
 * names are files of the working directory, else the first of NAME, NAME.so, rill-NAME.so and NAME.lua in the folder of installed plugins:
 * `rill`, beside librill (`pkg-config --variable=plugindir rill`).
 *   RILL_OK · RILL_ERR_NOT_FOUND (no such file) · RILL_ERR_MEMORY; on failure the text is unchanged */
RILL_API rill_status rill_plugin_find(const char *name, rill_text *out);

/* Load a shared object, by path or by name as in rill_plugin_find(), and register its tables, all or none.
 *   RILL_OK · RILL_ERR_NOT_FOUND (no file, no rill_plugin) · RILL_ERR_ABI · RILL_ERR_PLUGIN · RILL_ERR_ARGUMENT */
RILL_API rill_status rill_plugin_load(rill_context *ctx, const char *path);

/* Return the table of that name, or NULL; no error is recorded. */
RILL_API const rill_domain *rill_find_domain(const rill_context *ctx, const char *name);
RILL_API const rill_heuristic *rill_find_heuristic(const rill_context *ctx, const char *name);
RILL_API const rill_scorer *rill_find_scorer(const rill_context *ctx, const char *name);
RILL_API const rill_scheduler *rill_find_scheduler(const rill_context *ctx, const char *name);

/* Return the table that was registered as number i, counted from 0; NULL past the last one. */
RILL_API const rill_domain *rill_domain_at(const rill_context *ctx, size_t i);
RILL_API const rill_heuristic *rill_heuristic_at(const rill_context *ctx, size_t i);
RILL_API const rill_scorer *rill_scorer_at(const rill_context *ctx, size_t i);
RILL_API const rill_scheduler *rill_scheduler_at(const rill_context *ctx, size_t i);

RILL_C_END

#endif
