/* The context: allocator, log callback and error record, shared by everything one caller creates.
 *
 * Order of use: rill_context_create(); engines, models and registrations that take the context; their destructors;
 * rill_context_destroy(). A context and everything made from it belong to one thread at a time. Two contexts share nothing. To share a
 * model between threads, use worker contexts (rill/workers.h). There is no global state.
 * Stability: stable within a major version. */
#ifndef RILL_CONTEXT_H
#define RILL_CONTEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "rill/status.h"

RILL_C_BEGIN

typedef struct rill_context rill_context;

/* The allocation function. `old_size` is the exact size passed when `block` was obtained, 0 with NULL.
 *   new_size == 0                 free `block` (may be NULL) and return NULL; must not fail
 *   block == NULL, new_size > 0   return `new_size` bytes aligned to 64, or NULL
 *   otherwise                     return a block of `new_size` bytes that starts with the old content, or NULL and leave `block` unchanged
 * Called from the context's thread and its workers', by one thread at a time. */
typedef void *(*rill_realloc_fn)(void *user, void *block, size_t old_size, size_t new_size);

typedef enum rill_log_level { RILL_LOG_DEBUG, RILL_LOG_INFO, RILL_LOG_WARNING, RILL_LOG_ERROR } rill_log_level;

/* Receives one line without newline, valid during the call. Called from the context's thread and its workers', by one thread at a time. */
typedef void (*rill_log_fn)(void *user, rill_log_level level, const char *message);

typedef struct rill_context_options {
    size_t struct_size;       /* sizeof(rill_context_options), set by the caller */
    rill_realloc_fn allocate; /* NULL: the C library's allocator */
    void *allocate_user;
    rill_log_fn log; /* NULL: log lines are dropped */
    void *log_user;
} rill_context_options;

/* Make a context. `options` may be NULL for defaults.
 *   out: on success a context the caller destroys; on failure NULL
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_ABI (struct_size unknown) */
RILL_API rill_status rill_context_create(rill_context **out, const rill_context_options *options);

/* Run the deferred functions, unload plugins, free the context. Everything made from it must already be destroyed. NULL is allowed. */
RILL_API void rill_context_destroy(rill_context *ctx);

/* Have rill_context_destroy() call fn(user), in reverse order of registration, while plugins are loaded and memory can be freed. Use it for
 * data that must live as long as registered tables (rill_domain, rill_scorer ...).
 *   RILL_OK · RILL_ERR_MEMORY (recorded; fn will not be called) */
RILL_API rill_status rill_context_defer(rill_context *ctx, void (*fn)(void *user), void *user);

/* Returns the last failure in one sentence that names the file, line, tensor or option and what was expected; "" if none. A script's
 * traceback follows on further lines.
 * Borrowed: valid until the next failing call on this context. */
RILL_API const char *rill_error(const rill_context *ctx);

/* Return the status that was recorded together with the message of rill_error(). */
RILL_API rill_status rill_error_status(const rill_context *ctx);

/* Forget the recorded failure. */
RILL_API void rill_error_clear(rill_context *ctx);

/* --- for implementers of domains, heuristics, scorers and schedulers ---------------------------------------------- */

/* Record a failure and return `status`, so that callers can write `return rill_fail(ctx, RILL_ERR_FORMAT, "...")`.
 * Never allocates; messages beyond 4,000 bytes are cut. */
RILL_API rill_status rill_fail(rill_context *ctx, rill_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fail with RILL_ERR_MEMORY, as rill_fail() does: an allocation of `size` bytes for `what` failed. */
RILL_API rill_status rill_fail_memory(rill_context *ctx, size_t size, const char *what);

/* Pass one line, without newline, to the context's log function. */
RILL_API void rill_log(rill_context *ctx, rill_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Memory from the context's allocator, aligned to 64 bytes. rill_free() needs the allocated size. rill_alloc() of 0 bytes returns a pointer
 * for rill_free(ctx, p, 0). On failure they return NULL and record no error. */
RILL_API void *rill_alloc(rill_context *ctx, size_t size);
RILL_API void *rill_calloc(rill_context *ctx, size_t count, size_t size); /* zeroed; NULL when count*size overflows */
RILL_API void rill_free(rill_context *ctx, void *block, size_t size);

/* Grow `*block` from `*capacity` elements of `size` bytes to at least `need`, geometrically, keeping the content. `what` names the array in
 * the error. On failure *block and *capacity are unchanged.
 *   RILL_OK · RILL_ERR_MEMORY (recorded) */
RILL_API rill_status rill_grow(rill_context *ctx, void **block, size_t *capacity, size_t need, size_t size,
                               const char *what);

/* Copy a caller's struct that may be from an older header. Its first member is its size (size_t). Members beyond that size become 0, which
 * means unset. A size below `min_size` or above `size`, the bytes of `own`, is refused.
 * New members are appended after all padding, because padding has undefined content.
 *   what: names the struct in the error, "a request" · ctx: NULL records nothing
 *   RILL_OK · RILL_ERR_ABI; `own` is then unchanged */
RILL_API rill_status rill_copy_struct(rill_context *ctx, const char *what, void *own, size_t size, const void *from,
                                      size_t min_size);

/* Return the bytes allocated through this context: those in use now (rill_memory_used), and the most ever in use (rill_memory_peak). */
RILL_API size_t rill_memory_used(const rill_context *ctx);
RILL_API size_t rill_memory_peak(const rill_context *ctx);

/* Return the name of names[0..n) that is nearest to the misspelt `word`, for "did you mean"; NULL when no name is near. */
RILL_API const char *rill_nearest(const char *word, const char *const *names, size_t n);

/* A growing text buffer, for outputs. Zero-initialise with the context set; free with rill_text_clear(). `data` is NUL-terminated once
 * something was appended; `length` excludes the NUL. */
typedef struct rill_text {
    rill_context *ctx;
    char *data;
    size_t length;
    size_t capacity;
} rill_text;

/* strtod(), snprintf() and vsnprintf() with a decimal point in any locale of the host program. The whole library reads and writes numbers
 * with them, also in rill_fail(), rill_log() and rill_text_printf(). */
RILL_API double rill_read_number(const char *text, char **end);
/* Write a number with "%.15g", or "%.17g" if needed to read back the same number. Returns the length, as snprintf() does. */
RILL_API int rill_write_number(char *out, size_t size, double number);
RILL_API int rill_print(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
RILL_API int rill_print_list(char *out, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
/* As rill_print() and rill_print_list(), for messages: never cut inside a UTF-8 character, by the buffer's end or a format such as "%.60s".
 * Return the length of the text in `out`, or a negative number as rill_print_list() does. */
RILL_API int rill_print_message(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
RILL_API int rill_print_message_list(char *out, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
/* Enclose third-party code that reads or writes numbers: the calling thread has the locale "C" between the two calls. Pass the first
 * function's result to the second. Pairs may nest. */
RILL_API void *rill_enter_plain_locale(void);
RILL_API void rill_leave_plain_locale(void *saved);

/* Append `length` bytes (rill_text_append), or formatted text (rill_text_printf). On failure the text is unchanged.
 *   RILL_OK · RILL_ERR_MEMORY (recorded) */
RILL_API rill_status rill_text_append(rill_text *text, const char *bytes, size_t length);
RILL_API rill_status rill_text_printf(rill_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
RILL_API void rill_text_reset(rill_text *text); /* length 0, memory kept */
RILL_API void rill_text_clear(rill_text *text); /* memory freed */

/* The status with which a function returns that opens *out. After a failure close(*out) is called, and *out set to NULL. */
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
