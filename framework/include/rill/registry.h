/* Registry of a context: domains, heuristics, scorers and schedulers by name; plugins; workers' contexts.
 *
 * Registering checks a table's abi_version, struct_size and mandatory members. Tables must outlive the context. Plugins stay loaded until
 * rill_context_destroy(). To write tables, see plugin.h.
 * Stability: stable within a major version. */
#ifndef RILL_REGISTRY_H
#define RILL_REGISTRY_H

#include "rill/context.h"

RILL_C_BEGIN

typedef struct rill_domain rill_domain;
typedef struct rill_heuristic rill_heuristic;
typedef struct rill_scorer rill_scorer;
typedef struct rill_scheduler rill_scheduler;

/* Register everything built in. Call once per context.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_ARGUMENT (already registered) */
RILL_API rill_status rill_register_builtins(rill_context *ctx);

/* Register a table under its name.
 *   RILL_OK · RILL_ERR_ABI · RILL_ERR_PLUGIN (mandatory member missing) · RILL_ERR_ARGUMENT (name taken) · RILL_ERR_MEMORY */
RILL_API rill_status rill_register_domain(rill_context *ctx, const rill_domain *domain);
RILL_API rill_status rill_register_heuristic(rill_context *ctx, const rill_heuristic *heuristic);
RILL_API rill_status rill_register_scorer(rill_context *ctx, const rill_scorer *scorer);
RILL_API rill_status rill_register_scheduler(rill_context *ctx, const rill_scheduler *scheduler);

/* Register the built-in heuristics, scorers and schedulers, without domains. rill_register_builtins() includes it. Once per context. */
RILL_API rill_status rill_register_core(rill_context *ctx);

/* Number of registered tables of each kind. rill_registry_restore() drops tables registered later, so a loader registers all or none.
 * No object may use a dropped table. */
typedef struct rill_registry_mark {
    size_t domains, heuristics, scorers, schedulers;
} rill_registry_mark;
RILL_API rill_registry_mark rill_registry_size(const rill_context *ctx);
RILL_API void rill_registry_restore(rill_context *ctx, rill_registry_mark mark);

/* Create a context for a worker's thread: own errors, tables and memory accounting; the parent's allocator and log.
 * Memory also counts in the parent. Destroy before the parent.
 *   shared: tables registered up to this mark are shared; NULL: all. Exclude a script's tables, which belong to one thread
 *   RILL_OK · RILL_ERR_MEMORY (recorded in `parent`) */
RILL_API rill_status rill_context_create_worker(rill_context **out, rill_context *parent,
                                                const rill_registry_mark *shared);

/* Append the path of a plugin (shared object or script). A name with a slash is a path. Else search the working directory for NAME, then
 * the plugin folder (`pkg-config --variable=plugindir rill`) for NAME, NAME.so, rill-NAME.so, NAME.lua.
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_MEMORY; on failure `out` is unchanged */
RILL_API rill_status rill_plugin_find(const char *name, rill_text *out);

/* Load a shared object, found as by rill_plugin_find(), and register its tables, all or none.
 *   RILL_OK · RILL_ERR_NOT_FOUND (no file, no rill_plugin) · RILL_ERR_ABI · RILL_ERR_PLUGIN · RILL_ERR_ARGUMENT */
RILL_API rill_status rill_plugin_load(rill_context *ctx, const char *path);

/* Return the table with this name, or NULL without recording an error. */
RILL_API const rill_domain *rill_find_domain(const rill_context *ctx, const char *name);
RILL_API const rill_heuristic *rill_find_heuristic(const rill_context *ctx, const char *name);
RILL_API const rill_scorer *rill_find_scorer(const rill_context *ctx, const char *name);
RILL_API const rill_scheduler *rill_find_scheduler(const rill_context *ctx, const char *name);

/* Return table i in order of registration, from 0; NULL past the end. */
RILL_API const rill_domain *rill_domain_at(const rill_context *ctx, size_t i);
RILL_API const rill_heuristic *rill_heuristic_at(const rill_context *ctx, size_t i);
RILL_API const rill_scorer *rill_scorer_at(const rill_context *ctx, size_t i);
RILL_API const rill_scheduler *rill_scheduler_at(const rill_context *ctx, size_t i);

RILL_C_END

#endif
