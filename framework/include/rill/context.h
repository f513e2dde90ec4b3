/* The context: allocator, log callback and last error.
 *
 * Create a context first and destroy it last. There is no global state.
 * Threads: a context, and everything made from it, belong to one thread at a time. rill/workers.h shares a model between threads.
 * Stability: stable within a major version. */
#ifndef RILL_CONTEXT_H
#define RILL_CONTEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "rill/status.h"

RILL_C_BEGIN

typedef struct rill_context rill_context;

/* The allocation function. old_size: the size that was requested for `block`; 0 if `block` is NULL.
 *   new_size == 0                 free `block` (may be NULL) and return NULL; must not fail
 *   block == NULL, new_size > 0   return `new_size` bytes aligned to 64, or NULL
 *   otherwise                     return a block with the old content; or NULL, and leave `block` unchanged
 * Called by one thread at a time: the context's or a worker's. */
typedef void *(*rill_realloc_fn)(void *user, void *block, size_t old_size, size_t new_size);

typedef enum rill_log_level { RILL_LOG_DEBUG, RILL_LOG_INFO, RILL_LOG_WARNING, RILL_LOG_ERROR } rill_log_level;

/* Receives one line without newline, valid during the call. Called by one thread at a time: the context's or a worker's. */
typedef void (*rill_log_fn)(void *user, rill_log_level level, const char *message);

typedef struct rill_context_options {
    size_t struct_size;       /* sizeof(rill_context_options), set by the caller */
    rill_realloc_fn allocate; /* NULL: the C library's allocator */
    void *allocate_user;
    rill_log_fn log; /* NULL: log lines are dropped */
    void *log_user;
} rill_context_options;

/* Create a context. *out: destroyed by the caller; NULL on failure. options: NULL for defaults.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_ABI (struct_size unknown) */
RILL_API rill_status rill_context_create(rill_context **out, const rill_context_options *options);

/* Run the deferred functions, unload plugins, free the context. Destroy everything made from the context first. NULL is allowed. */
RILL_API void rill_context_destroy(rill_context *ctx);

/* Have rill_context_destroy() call fn(user) before plugins are unloaded; the last registered function is called first.
 * For data that registered tables use.
 *   RILL_OK · RILL_ERR_MEMORY (recorded; fn will not be called) */
RILL_API rill_status rill_context_defer(rill_context *ctx, void (*fn)(void *user), void *user);

/* Returns the last error message, "" if none. The message names the file, line, tensor or option. A script's traceback follows.
 * Valid until the context's next failure. */
RILL_API const char *rill_error(const rill_context *ctx);

/* Return the status recorded with the message of rill_error(). */
RILL_API rill_status rill_error_status(const rill_context *ctx);

/* Forget the recorded failure. */
RILL_API void rill_error_clear(rill_context *ctx);

/* --- for implementers of domains, heuristics, scorers and schedulers ---------------------------------------------- */

/* Record an error message and return `status`: `return rill_fail(ctx, RILL_ERR_FORMAT, "...")`.
 * Never allocates; cuts messages at 4,000 bytes. */
RILL_API rill_status rill_fail(rill_context *ctx, rill_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Record that `size` bytes for `what` could not be allocated. Returns RILL_ERR_MEMORY. */
RILL_API rill_status rill_fail_memory(rill_context *ctx, size_t size, const char *what);

/* Pass one line, without newline, to the context's log function. */
RILL_API void rill_log(rill_context *ctx, rill_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Memory from the context's allocator, aligned to 64 bytes. On failure NULL, without a recorded error.
 * rill_free() needs the allocated size. rill_alloc() of 0 bytes returns a pointer to free. */
RILL_API void *rill_alloc(rill_context *ctx, size_t size);
RILL_API void *rill_calloc(rill_context *ctx, size_t count, size_t size); /* zeroed; NULL when count*size overflows */
RILL_API void rill_free(rill_context *ctx, void *block, size_t size);

/* Grow `*block` geometrically to at least `need` elements of `size` bytes. Content is kept. On failure nothing changes.
 *   capacity: number of elements · what: the array's name in errors
 *   RILL_OK · RILL_ERR_MEMORY (recorded) */
RILL_API rill_status rill_grow(rill_context *ctx, void **block, size_t *capacity, size_t need, size_t size,
                               const char *what);

/* Copy a caller's struct that may come from an older header. Its first member is its size in bytes. Newer members become 0 (unset).
 * Append new members after all padding: the content of padding is undefined.
 *   own: copy, of `size` bytes · min_size: smallest accepted size · what: the struct's name in errors · ctx: NULL records nothing
 *   RILL_OK · RILL_ERR_ABI (size below min_size or above `size`; `own` is unchanged) */
RILL_API rill_status rill_copy_struct(rill_context *ctx, const char *what, void *own, size_t size, const void *from,
                                      size_t min_size);

/* Return the bytes allocated through this context: now, and at the peak. */
RILL_API size_t rill_memory_used(const rill_context *ctx);
RILL_API size_t rill_memory_peak(const rill_context *ctx);

/* Return the name most similar to the misspelt `word`, for "did you mean"; NULL if none is similar. */
RILL_API const char *rill_nearest(const char *word, const char *const *names, size_t n);

/* A growing text buffer. Zero-initialise, set ctx; free with rill_text_clear().
 * `data` is NUL-terminated after the first append; `length` excludes the NUL. */
typedef struct rill_text {
    rill_context *ctx;
    char *data;
    size_t length;
    size_t capacity;
} rill_text;

/* strtod(), snprintf() and vsnprintf() with a decimal point in every locale. rill reads and writes all numbers with them.
 * rill_read_number() accepts decimal numbers, "inf" and "nan" only; it reads nothing from " 2", "+2" or "0x2". */
RILL_API double rill_read_number(const char *text, char **end);
/* Write a number with "%.15g", or with "%.17g" if needed to read back the same number. Returns the length, as snprintf(). */
RILL_API int rill_write_number(char *out, size_t size, double number);
RILL_API int rill_print(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
RILL_API int rill_print_list(char *out, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
/* As rill_print() and rill_print_list(), but never cut a UTF-8 character. Return the length of the text in `out`, or a negative number. */
RILL_API int rill_print_message(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
RILL_API int rill_print_message_list(char *out, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
/* Call before and after third-party code that reads or writes numbers: the thread's locale is "C" in between.
 *   saved: result of rill_enter_plain_locale(). Pairs may nest. */
RILL_API void *rill_enter_plain_locale(void);
RILL_API void rill_leave_plain_locale(void *saved);

/* Append `length` bytes, or formatted text. On failure the text is unchanged.
 *   RILL_OK · RILL_ERR_MEMORY (recorded) */
RILL_API rill_status rill_text_append(rill_text *text, const char *bytes, size_t length);
RILL_API rill_status rill_text_printf(rill_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
RILL_API void rill_text_reset(rill_text *text); /* length 0, memory kept */
RILL_API void rill_text_clear(rill_text *text); /* memory freed */

/* For the return statement of a function that opens *out: the value is `status`. On failure close(*out) is called first, and *out set to
 * NULL. */
#define RILL_OPENED(status, out, close)       \
    __extension__({                           \
        const rill_status status_ = (status); \
        if (status_ < 0) {                    \
            close(*(out));                    \
            *(out) = NULL;                    \
        }                                     \
        status_;                              \
    })

/* Returns how many of n ascending numbers are below `key`. */
static inline int32_t rill_lower_bound(const int32_t *numbers, int32_t n, int32_t key)
{
    int32_t low = 0, high = n;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (numbers[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

RILL_C_END

#endif
