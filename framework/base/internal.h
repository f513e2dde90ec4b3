/* Declarations shared by the framework's files: the context and small helpers. Not installed. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>

#include "rill/plugin.h"
#include "rill/settings.h"

enum { RILL__MESSAGE_BYTES = 4000, RILL__MAX_OPENED = 256 };

typedef enum rill__table_kind {
    RILL__DOMAIN,
    RILL__HEURISTIC,
    RILL__SCORER,
    RILL__SCHEDULER,
    RILL__TABLE_KINDS
} rill__table_kind;

/* A growing list of registered plugin tables of one kind: domains, heuristics, scorers or schedulers. */
typedef struct rill__table_list {
    const void **entry;
    size_t n, capacity;
} rill__table_list;

/* A function that rill_context_destroy() will call, with its argument. */
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
    _Atomic size_t used, peak; /* bytes allocated now, and their peak; both include workers' contexts */
    rill_context *parent;      /* the parent of a worker's context; else NULL */
    rill_context *root_ctx;    /* the context without a parent: itself, or its ancestor */
    pthread_mutex_t lock;      /* held while `allocate` and `log` are called; used only in the root context */
    rill_status error_status;
    char error[RILL__MESSAGE_BYTES];
    rill__table_list tables[RILL__TABLE_KINDS];
    void **libraries; /* handles of loaded plugins */
    size_t n_libraries, libraries_capacity;
    rill__deferred *deferred;
    size_t n_deferred, deferred_capacity;
    /* the regular files opened latest (file.c); used only in the root context */
    rill__file_id opened_files[RILL__MAX_OPENED];
    uint64_t n_opened;
    struct trie *tries; /* list of the tries in use (trie_file.c); used only in the root context */
};

/* The default allocator (page_allocator.c), with the contract of rill_realloc_fn; thread-safe. */
void *rill__default_allocate(void *user, void *block, size_t old_size, size_t new_size);

/* Return the number of tables of one kind: rill_registry_mark has one per kind, in the order of rill__table_kind. */
static inline size_t rill__marked_size(const rill_registry_mark *mark, int kind)
{
    return ((const size_t *)mark)[kind];
}

/* Return the row of rill_setting_table() with this name; NULL: there is none. */
static inline const rill_option *rill__setting(const char *name)
{
    return rill_option_find(rill_setting_table(), name);
}

/* Write an option's name as the context's messages spell it, such as "--beam-size" or "beam_size". Returns `out`. */
const char *rill__option_label(const rill_context *ctx, const char *name, char out[RILL_OPTION_MAX]);

/* Read the argument of heuristic `absolute`, `relative` or `relative_local`.
 *   label: name of the heuristic or option in the error message
 *   out: maximum distance, >= 0, from the best log-probability
 *   RILL_OK · RILL_ERR_OPTION */
rill_status rill__read_threshold(rill_context *ctx, const char *heuristic, const char *label, const char *text,
                                 double *out);

/* Whether two names are equal, "-" and "_" being equivalent. */
int rill__same_name(const char *a, const char *b);

/* Return the number that this option has in the struct `from`, or 0 if the option's value is a text. */
double rill__option_number(const rill_option *option, const void *from);

/* Find an option's row by name. also_others: 0: only search settings; 1: any option.
 *   RILL_OK · RILL_ERR_OPTION (recorded, with the nearest known name) */
rill_status rill__find_option(rill_context *ctx, const char *name, int also_others, const rill_option **out);

/* Record the error "unknown WHAT NAME", followed by `why`, else the nearest known name, else `hint`. Returns `status`. */
rill_status rill__fail_unknown_name(rill_context *ctx, rill_status status, const char *what, const char *name,
                                    const char *why, const rill_option_near *near, const char *hint);

/* Read the next pair of "NAME=VALUE NAME=VALUE" and move *text past it. name: a copy of the pair, cut after the name; *value: points to the
 * value in that copy; NULL: no more pairs.
 *   RILL_OK · RILL_ERR_PLUGIN (not NAME=VALUE, or too long) */
enum { RILL__PAIR_MAX = 4096 };
rill_status rill__next_pair(rill_context *ctx, const char **text, char name[RILL__PAIR_MAX], char **value);

/* Return the context in which an option source was created. */
struct rill_option_source;
rill_context *rill__source_context(const struct rill_option_source *source);

/* Read the beginning of a system file, up to size - 1 bytes, NUL-terminated. Returns 0 if nothing could be read. */
int rill__read_start(const char *path, char *out, size_t size);

/* Check a text argument. RILL_OK · RILL_ERR_ARGUMENT (the text is NULL, but its length is above 0) */
static inline rill_status rill__check_text(rill_context *ctx, const char *text, size_t length)
{
    if (text != NULL || length == 0) return RILL_OK;
    return rill_fail(ctx, RILL_ERR_ARGUMENT, "the text is NULL, with a length of %zu bytes", length);
}

/* Returns the number of processors that cgroup quotas allow; 0: no quota. `root`: put before /proc and /sys, for tests. */
int32_t rill__quota_processors(const char *root);

/* Copy a caller's settings as rill_copy_struct() does. RILL_OK · RILL_ERR_ABI */
rill_status rill__settings_copy(rill_context *ctx, rill_settings *own, const rill_settings *from);
/* Settings that contradict each other: two bit sets of rows of rill_setting_table(). named: settings in the error message; involved:
 * further settings that contribute. */
typedef struct rill__contradiction {
    uint64_t named, involved;
} rill__contradiction;
/* rill_settings_resolve() for a run. budgeted: 1 if a user's function sets each timestep's budget. *found: the contradicting settings;
 * `found` may be NULL. */
rill_status rill__settings_resolve(rill_context *ctx, rill_settings *settings, int has_heuristics, int budgeted,
                                   rill__contradiction *found);

/* Apply settings "NAME=VALUE NAME=VALUE" that are unset. The method greedy keeps beam-size, finish, keep and stop.
 *   RILL_OK · RILL_ERR_OPTION · RILL_ERR_PLUGIN */
rill_status rill__settings_fill(rill_context *ctx, rill_settings *settings, const char *text);

/* With method "fixed", set an unset `finish` by the domain (RILL_FIXED_AS_FAIRSEQ), before resolving. Presets, sampling and beam groups
 * keep their own value. domain NULL: no change. */
void rill__settings_use_domain(rill_settings *settings, const rill_domain *domain);

/* rill_model.c: call rill__settings_use_domain(). If settings->like names another decoder, also fill unset settings with the values that
 * the model's makers recommend for it. */
rill_status rill__model_recommend(const rill_model *model, rill_context *ctx, rill_settings *settings);

/* registry.c: if a plugin's function failed without a message, record one. `what`: kind of the plugin, such as "domain". Returns
 * `status`. */
rill_status rill__method_status(rill_context *ctx, rill_status status, const char *what, const char *name,
                                const char *method);
static inline rill_status rill__domain_status(rill_context *ctx, const rill_domain *domain, rill_status status,
                                              const char *method)
{
    return rill__method_status(ctx, status, "domain", domain->name, method);
}

/* Return the row of rill_method_table() with this name; NULL: there is none. */
const rill_method_info *rill__find_method(const char *name);

/* Maximum number of children that merging considers, per parent and per input: k, or 2k with finish "immediate". */
int32_t rill__max_children(const rill_settings *settings);

/* Returns the new capacity of an array for `need` elements. An array that must grow grows by at least half, and to at least 8. */
static inline size_t rill__grown(size_t capacity, size_t need)
{
    if (need <= capacity) return capacity;
    const size_t grown = capacity + capacity / 2, more = grown > need ? grown : need;
    return more > 8 ? more : 8;
}

/* Return the index of `key` in n ascending numbers, or -1. */
static inline int32_t rill__find_sorted(const int32_t *numbers, int32_t n, int32_t key)
{
    const int32_t low = rill_lower_bound(numbers, n, key);
    return low < n && numbers[low] == key ? low : -1;
}

/* Whether the hypothesis hyps[h], which begins with `start`, ends with action[0, n). start: RILL_NO_ACTION: there is no start action. */
static inline int rill__hyp_ends_with(const rill_hyp_node *hyps, int32_t h, const int32_t *action, int32_t n,
                                      int32_t start)
{
    for (; n > 0 && hyps[h].parent >= 0; n--, h = hyps[h].parent)
        if (hyps[h].action != action[n - 1]) return 0;
    return n == 0 || (n == 1 && action[0] == start);
}

/* Fail with RILL_ERR_NOT_FOUND if no registered plugin of this kind has the name. The message has the nearest registered name. */
rill_status rill__check_registered(rill_context *ctx, rill__table_kind kind, const char *name);

enum {
    DEVICES_MAX = 64,    /* maximum number of entries in the option `device`, a list such as "cuda:0,cuda:1" */
    DEVICE_NAME_MAX = 48 /* bytes for the name of one entry, with its NUL */
};

/* The parsed option `device`. Workers take entries round-robin, one device each. */
typedef struct devices {
    int32_t n; /* number of entries of the list, at least 1 */
    struct {
        char name[DEVICE_NAME_MAX];
        int32_t first; /* index of the first entry that means the same device; "cuda" means "cuda:0" */
    } entry[DEVICES_MAX];
    /* Copy of the options for opening a model. `values`, its domain options, is allocated from the context. */
    rill_open_options open;
    rill_pair *values;
} devices;

/* Parse the option `device`, "cuda:0,cuda:1", into entries.
 *   RILL_OK · RILL_ERR_OPTION (an empty entry, several kinds, too many) · RILL_ERR_ABI · RILL_ERR_MEMORY */
rill_status devices_read(devices *out, rill_context *ctx, const rill_open_options *open);
void devices_clear(devices *list, rill_context *ctx);
/* Return the options for opening a model on the entry's device; valid until the next call. */
const rill_open_options *devices_options(devices *list, int32_t entry);

/* The engine's own heuristics, schedulers and scorers. */
extern const rill_heuristic rill__heuristics[3];
extern const rill_scheduler rill__schedulers[5];
extern const rill_scorer rill__text_scorers[3]; /* the scorers prefix, ban and allow */
extern const rill_scorer rill__lexical_scorer, rill__forced_scorer, rill__trie_scorer, rill__lmbr_scorer;

/* A rill_scorer.max_bonus for scorers that only forbid actions: the bonus is 0. */
static inline double rill__no_bonus(const void *self, double *end)
{
    (void)self, (void)end;
    return 0;
}

/* Call print(out, size, format, va_list) with the variadic arguments of the enclosing function. The value is print()'s result. */
#define RILL__PRINT_ARGUMENTS(print, out, size, format)           \
    ({                                                            \
        va_list arguments_;                                       \
        va_start(arguments_, format);                             \
        const int length_ = print(out, size, format, arguments_); \
        va_end(arguments_);                                       \
        length_;                                                  \
    })

/* Grow an array to at least `need` elements. See rill_grow(). */
#define RILL__GROW(ctx, ptr, capacity, need, what) \
    ((need) <= (capacity) ? RILL_OK : rill_grow((ctx), (void **)&(ptr), &(capacity), (need), sizeof *(ptr), (what)))

/* Grow the columns of an array `columns` of rill_array. See rill_columns_grow(). */
#define RILL__GROW_COLUMNS(ctx, memory, need, columns, what) \
    rill_columns_grow((ctx), (memory), (need), (columns), sizeof(columns) / sizeof *(columns), (what))

/* Hold a mutex until the enclosing block ends. */
static inline void rill__unlock(pthread_mutex_t *const *mutex)
{
    pthread_mutex_unlock(*mutex);
}
static inline pthread_mutex_t *rill__lock(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    return mutex;
}
#define RILL__LOCK_SCOPE(mutex) \
    pthread_mutex_t *const held_mutex __attribute__((cleanup(rill__unlock))) = rill__lock(mutex)

/* Define an empty text that is freed when the enclosing block ends. */
#define RILL__SCOPED_TEXT(name, context) rill_text name __attribute__((cleanup(rill_text_clear))) = {.ctx = (context)}

#define RILL__TRY(call)                        \
    do {                                       \
        rill_status try_status = (call);       \
        if (try_status < 0) return try_status; \
    } while (0)
