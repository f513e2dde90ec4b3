/* What the framework's own files share: the context's content and small helpers. Not installed. */
#ifndef RILL_INTERNAL_H
#define RILL_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>

#include "rill/plugin.h"
#include "rill/settings.h"

enum { RILL__MESSAGE_BYTES = 4000, RILL__MAX_OPENED = 256 };

/* A growing list of registered tables. */
typedef struct rill__table_list {
    const void **entry;
    size_t n, capacity;
} rill__table_list;

/* A call that rill_context_destroy() will make. */
typedef struct rill__deferred {
    void (*fn)(void *user);
    void *user;
} rill__deferred;

/* A regular file, whatever it is called. */
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
    _Atomic size_t used, peak; /* those of workers' contexts included */
    rill_context *parent;      /* of a worker's context, else NULL */
    rill_context *root_ctx;    /* the one that is no worker's: itself, or the parent's first */
    pthread_mutex_t lock;      /* the first's: held where allocate and log are called */
    rill_status error_status;
    char error[RILL__MESSAGE_BYTES];
    rill__table_list domains, heuristics, scorers, schedulers;
    void **libraries; /* handles of loaded plugins */
    size_t n_libraries, libraries_capacity;
    rill__deferred *deferred;
    size_t n_deferred, deferred_capacity;
    rill__file_id
        opened_files[RILL__MAX_OPENED]; /* the first's: the latest files that were opened to be read; file.c */
    uint64_t n_opened;
    struct trie *tries; /* the first's: those that are in use; trie_file.c */
};

/* The allocator of contexts that were given none (page_allocator.c): as rill_realloc_fn says; any number of threads may call it. */
void *rill__default_allocate(void *user, void *block, size_t old_size, size_t new_size);

/* Free the registry's lists and unload plugins. */
void rill__registry_finish(rill_context *ctx);

/* Give a worker's context the tables that its parent has had registered up to the mark, NULL: until now. RILL_OK ·
 * RILL_ERR_MEMORY */
rill_status rill__registry_share(rill_context *ctx, const rill_context *parent, const rill_registry_mark *mark);

/* Take a struct that begins with its size from a caller, whose header may be older: the members that it lacks are zero in `own`,
 * which in these structs is what is not given. Members are appended behind all padding, since what lies there is not known.
 * `least`: its first size ever. Returns 0 when it does not fit. */
static inline int rill__copy_struct(void *own, size_t size, const void *from, size_t min_size)
{
    size_t known;
    memcpy(&known, from, sizeof known);
    if (known < min_size || known > size) return 0;
    memset(own, 0, size);
    memcpy(own, from, known);
    memcpy(own, &size, sizeof size);
    return 1;
}

/* An option's name as the context's user writes it: "--beam-size", "beam_size". Returns `out`. */
const char *rill__option_label(const rill_context *ctx, const char *name, char out[RILL_OPTION_MAX]);

/* "-" and "_" are one. */
int rill__same_name(const char *a, const char *b);

/* input_options.c: those of a request as rill_input.options, appended to `out`; nothing where it has none. RILL_OK · RILL_ERR_OPTION ·
 * RILL_ERR_MEMORY */
rill_status rill__input_options(rill_context *ctx, const rill_domain *domain, const char *text, rill_text *out);

/* What a file of the system begins with, up to size - 1 bytes and a NUL. Returns 0 where there is nothing to read. */
int rill__read_start(const char *path, char *out, size_t size);

/* RILL_OK · RILL_ERR_ARGUMENT: a caller's text of some bytes is NULL */
static inline rill_status rill__check_text(rill_context *ctx, const char *text, size_t length)
{
    if (text != NULL || length == 0) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_ARGUMENT, "a text of %zu bytes that is NULL", length);
}

/* Processors that the quotas of this process's control groups come to, 0: they have none. `root` stands before /proc and /sys. */
int32_t rill__quota_processors(const char *root);

/* Refuse settings that a caller built against another version has: nothing of them but their size can be read. */
rill_status rill__settings_check_size(rill_context *ctx, const rill_settings *settings);
/* rill_settings_resolve() for a run in which `budgeted` says that a function will set budgets. */
rill_status rill__settings_resolve(rill_context *ctx, rill_settings *settings, int has_heuristics, int budgeted);

/* Take NAME=VALUE settings, with blanks between, that are not given; greedy search keeps its own kind of beam.
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_PLUGIN */
rill_status rill__settings_fill(rill_context *ctx, rill_settings *settings, const char *text);

/* rill_model.c: fill what is not given by what the model's makers recommend, under a preset. */
rill_status rill__model_recommend(const rill_model *model, rill_context *ctx, rill_settings *settings);

/* registry.c: a failure of a plugin's method that left no message gets one. `what`: "domain", "policy". */
rill_status rill__method_status(rill_context *ctx, rill_status status, const char *what, const char *name,
                                const char *method);
static inline rill_status rill__domain_status(rill_context *ctx, const rill_domain *domain, rill_status status,
                                              const char *method)
{
    return rill__method_status(ctx, status, "domain", domain->name, method);
}

/* Of a parent's children, and of all together, so many matter. */
int32_t rill__max_children(const rill_settings *settings);

/* RILL_ERR_NOT_FOUND for a name that no table of `list` has, with the nearest one that exists. */
rill_status rill__fail_unknown(rill_context *ctx, const char *what, const rill__table_list *list, const char *name);

/* The name in `names` (NULL-ended, `stride` bytes apart) nearest to `name`, or NULL when none is close. */
const char *rill__nearest_in_table(const char *name, const void *names, size_t stride);

/* Start with *least = a distance beyond which nothing is near; returns `candidate` if it is nearer, else `found`. */
const char *rill__nearer_name(const char *name, const char *candidate, const char *found, size_t *best_distance);
size_t rill__max_distance(const char *name);

/* Grow several arrays of one capacity together: all or none become larger in effect. See rill_grow(). */
#define RILL__GROW(ctx, ptr, capacity, need, what) \
    ((need) <= (capacity) ? RILL_OK : rill_grow((ctx), (void **)&(ptr), &(capacity), (need), sizeof *(ptr), (what)))

#define RILL__TRY(call)                        \
    do {                                       \
        rill_status try_status = (call);       \
        if (try_status < 0) return try_status; \
    } while (0)

#endif
