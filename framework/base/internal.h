/* Declarations shared by the framework's files: the context and small helpers. Not installed. */
#ifndef RILL_INTERNAL_H
#define RILL_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>

#include "rill/plugin.h"
#include "rill/settings.h"

enum { RILL__MESSAGE_BYTES = 4000, RILL__MAX_OPENED = 256 };

/* A growing list of registered plugin tables: rill_domain, rill_heuristic, rill_scorer or rill_scheduler. */
typedef struct rill__table_list {
    const void **entry;
    size_t n, capacity;
} rill__table_list;

/* A function that rill_context_destroy() calls. */
typedef struct rill__deferred {
    void (*fn)(void *user);
    void *user;
} rill__deferred;

/* Identity of a regular file, independent of its name. */
typedef struct rill__file_id {
    dev_t device;
    ino_t number;
} rill__file_id;

struct rill_context {
    rill_realloc_fn allocate;
    void *allocate_user;
    rill_log_fn log;
    void *log_user;
    rill_option_style option_style;
    _Atomic size_t used, peak; /* bytes allocated now, and at most, including workers' contexts */
    rill_context *parent;      /* the parent of a worker's context; else NULL */
    rill_context *root_ctx;    /* the context without a parent: itself, or its ancestor */
    pthread_mutex_t lock;      /* root context only: held while allocate and log are called */
    rill_status error_status;
    char error[RILL__MESSAGE_BYTES];
    rill__table_list domains, heuristics, scorers, schedulers;
    void **libraries; /* handles of loaded plugins */
    size_t n_libraries, libraries_capacity;
    rill__deferred *deferred;
    size_t n_deferred, deferred_capacity;
    rill__file_id opened_files[RILL__MAX_OPENED]; /* root context only: the latest files opened (file.c) */
    uint64_t n_opened;
    struct trie *tries; /* root context only: tries in use (trie_file.c) */
};

/* The default allocator (page_allocator.c), with the contract of rill_realloc_fn; thread-safe. */
void *rill__default_allocate(void *user, void *block, size_t old_size, size_t new_size);

/* Free the registry's lists and unload plugins. */
void rill__registry_finish(rill_context *ctx);

/* Copy to a worker's context the plugin tables that its parent had registered at `mark`; NULL: all of them. RILL_OK · RILL_ERR_MEMORY */
rill_status rill__registry_share(rill_context *ctx, const rill_context *parent, const rill_registry_mark *mark);

/* An option's name in the context's style: "--beam-size", "beam_size". Returns `out`. */
const char *rill__option_label(const rill_context *ctx, const char *name, char out[RILL_OPTION_MAX]);

/* Whether two names are equal, "-" and "_" being equivalent. */
int rill__same_name(const char *a, const char *b);

/* input_options.c: append a request's options, in the form of rill_input.options, to `out`; nothing if it has none. RILL_OK ·
 * RILL_ERR_OPTION · RILL_ERR_MEMORY */
rill_status rill__input_options(rill_context *ctx, const rill_domain *domain, const char *text, rill_text *out);

/* Read the beginning of a system file, up to size - 1 bytes, NUL-terminated. Returns 0 if nothing could be read. */
int rill__read_start(const char *path, char *out, size_t size);

/* RILL_OK · RILL_ERR_ARGUMENT: the text is NULL with length > 0 */
static inline rill_status rill__check_text(rill_context *ctx, const char *text, size_t length)
{
    if (text != NULL || length == 0) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_ARGUMENT, "the text is NULL, with a length of %zu bytes", length);
}

/* Processors allowed by this process's cgroup quotas, 0: no quota. `root` is a prefix for /proc and /sys. */
int32_t rill__quota_processors(const char *root);

/* Copy a caller's settings as rill_copy_struct() does. RILL_OK · RILL_ERR_ABI */
rill_status rill__settings_copy(rill_context *ctx, rill_settings *own, const rill_settings *from);
/* rill_settings_resolve() for a run. `budgeted`: 1 if a user's function sets the budget of each timestep. */
rill_status rill__settings_resolve(rill_context *ctx, rill_settings *settings, int has_heuristics, int budgeted);

/* Apply the settings in `text`, NAME=VALUE separated by spaces, except settings that already have a value; greedy search also
 * keeps its beam-size, finish, keep and stop.
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_PLUGIN */
rill_status rill__settings_fill(rill_context *ctx, rill_settings *settings, const char *text);

/* rill_model.c: if settings->like names a preset, fill unset settings with what the model's makers recommend for that decoder. */
rill_status rill__model_recommend(const rill_model *model, rill_context *ctx, rill_settings *settings);

/* registry.c: if a plugin's method failed and recorded no error message, record one. `what`: "domain", "scheduler". Returns `status`. */
rill_status rill__method_status(rill_context *ctx, rill_status status, const char *what, const char *name,
                                const char *method);
static inline rill_status rill__domain_status(rill_context *ctx, const rill_domain *domain, rill_status status,
                                              const char *method)
{
    return rill__method_status(ctx, status, "domain", domain->name, method);
}

/* Maximum number of children that merging considers, per parent and per item: k, or 2k with finish "immediate". */
int32_t rill__max_children(const rill_settings *settings);

/* The capacity of an array that is to hold `need` elements: at least half more than today's. */
static inline size_t rill__grown(size_t capacity, size_t need)
{
    if (need <= capacity) return capacity;
    return need < capacity + capacity / 2 ? capacity + capacity / 2 : need;
}

/* RILL_ERR_NOT_FOUND for a name that is not in `list`, with the nearest one that exists. */
rill_status rill__fail_unknown(rill_context *ctx, const char *what, const rill__table_list *list, const char *name);

/* The name in `names` (NULL-terminated, `stride` bytes apart) nearest to `name`, or NULL when none is close. */
const char *rill__nearest_in_table(const char *name, const void *names, size_t stride);

/* Return `candidate` if its distance to `name` is below *best_distance, which is then lowered, else `found`. Start with *best_distance =
 * rill__max_distance(name): names at that distance or more are not near. */
const char *rill__nearer_name(const char *name, const char *candidate, const char *found, size_t *best_distance);
size_t rill__max_distance(const char *name);

/* Levenshtein distance. Case is ignored, and "-" equals "_". */
size_t rill__edit_distance(const char *a, const char *b);

/* Grow an array to at least `need` elements. See rill_grow(). */
#define RILL__GROW(ctx, ptr, capacity, need, what) \
    ((need) <= (capacity) ? RILL_OK : rill_grow((ctx), (void **)&(ptr), &(capacity), (need), sizeof *(ptr), (what)))

#define RILL__TRY(call)                        \
    do {                                       \
        rill_status try_status = (call);       \
        if (try_status < 0) return try_status; \
    } while (0)

#endif
