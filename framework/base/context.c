/* The context: memory with accounting, last error, log, text buffers.
 *
 * Invariant: `used` is the bytes held by this context and its workers' contexts. Threads: sums are atomic; the root context's lock
 * protects calls of `allocate` and `log`. */
#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "rill/carve.h"

/* --- allocation --------------------------------------------------------------------------------------------------- */

/* Add new_size - old_size to the bytes in use of the context and its parents. Relaxed order: counters guard no other memory. */
static void count_bytes_used(rill_context *ctx, size_t old_size, size_t new_size)
{
    for (size_t more = new_size - old_size; ctx != NULL; ctx = ctx->parent) {
        size_t used = atomic_fetch_add_explicit(&ctx->used, more, memory_order_relaxed) + more;
        size_t peak = atomic_load_explicit(&ctx->peak, memory_order_relaxed);
        while (
            new_size > old_size && used > peak &&
            !atomic_compare_exchange_weak_explicit(&ctx->peak, &peak, used, memory_order_relaxed, memory_order_relaxed))
            continue;
    }
}

/* Call the context's allocation function, one thread at a time. */
static void *call_allocator(rill_context *ctx, void *block, size_t old_size, size_t new_size)
{
    if (ctx->allocate == rill__default_allocate) return rill__default_allocate(NULL, block, old_size, new_size);
    RILL__LOCK_SCOPE(&ctx->root_ctx->lock);
    return ctx->allocate(ctx->allocate_user, block, old_size, new_size);
}

/* Make a recursive lock, since a log function may allocate and an allocator may log. Returns 1, or 0 on failure. */
static int init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0) return 0;
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    int made = pthread_mutex_init(lock, &attributes) == 0;
    pthread_mutexattr_destroy(&attributes);
    return made;
}

rill_status rill_context_create(rill_context **out, const rill_context_options *options)
{
    *out = NULL;
    rill_context_options own = {0};
    if (options != NULL)
        RILL__TRY(rill_copy_struct(NULL, "", &own, sizeof own, options, offsetof(rill_context_options, log)));
    rill_realloc_fn allocate = own.allocate != NULL ? own.allocate : rill__default_allocate;
    void *user = own.allocate != NULL ? own.allocate_user : NULL;
    rill_context *ctx = allocate(user, NULL, 0, sizeof *ctx);
    if (ctx == NULL) return RILL_ERR_MEMORY;
    memset(ctx, 0, sizeof *ctx);
    ctx->allocate = allocate;
    ctx->allocate_user = user;
    ctx->log = own.log;
    ctx->log_user = own.log_user;
    ctx->root_ctx = ctx;
    if (!init_lock(&ctx->lock)) {
        allocate(user, ctx, sizeof *ctx, 0);
        return RILL_ERR_MEMORY;
    }
    *out = ctx;
    return RILL_OK;
}

rill_status rill_context_create_worker(rill_context **out, rill_context *parent, const rill_registry_mark *shared)
{
    const rill_registry_mark mark = shared != NULL ? *shared : rill_registry_size(parent);
    rill_context *ctx = *out = call_allocator(parent, NULL, 0, sizeof *ctx);
    if (ctx == NULL) return rill_fail_memory(parent, sizeof *ctx, "a worker's context");
    memset(ctx, 0, sizeof *ctx);
    ctx->parent = parent;
    ctx->root_ctx = parent->root_ctx;
    ctx->allocate = parent->allocate;
    ctx->allocate_user = parent->allocate_user;
    ctx->log = parent->log;
    ctx->log_user = parent->log_user;
    ctx->option_style = parent->option_style;
    for (int i = 0; i < RILL__TABLE_KINDS; i++) {
        rill__table_list *list = &ctx->tables[i];
        list->n = rill__marked_size(&mark, i);
        if (RILL__GROW(ctx, list->entry, list->capacity, list->n, "the registry") < 0)
            return RILL_OPENED(rill_fail(parent, RILL_ERR_MEMORY, "out of memory: cannot make the tables of a worker"),
                               out, rill_context_destroy);
        if (list->n > 0) memcpy(list->entry, parent->tables[i].entry, list->n * sizeof *list->entry);
    }
    return RILL_OK;
}

void rill_context_destroy(rill_context *ctx)
{
    if (ctx == NULL) return;
    /* Take one function at a time from the list: a deferred function may defer more functions. */
    while (ctx->n_deferred > 0) {
        rill__deferred last = ctx->deferred[--ctx->n_deferred];
        last.fn(last.user);
    }
    rill_free(ctx, ctx->deferred, ctx->deferred_capacity * sizeof *ctx->deferred);
    for (int i = 0; i < RILL__TABLE_KINDS; i++)
        rill_free(ctx, ctx->tables[i].entry, ctx->tables[i].capacity * sizeof *ctx->tables[i].entry);
    while (ctx->n_libraries > 0) dlclose(ctx->libraries[--ctx->n_libraries]);
    rill_free(ctx, ctx->libraries, ctx->libraries_capacity * sizeof *ctx->libraries);
    if (ctx->parent == NULL) {
        pthread_mutex_destroy(&ctx->lock);
        ctx->allocate(ctx->allocate_user, ctx, sizeof *ctx, 0);
    } else {
        call_allocator(ctx->parent, ctx, sizeof *ctx, 0);
    }
}

rill_status rill_context_defer(rill_context *ctx, void (*fn)(void *user), void *user)
{
    RILL__TRY(RILL__GROW(ctx, ctx->deferred, ctx->deferred_capacity, ctx->n_deferred + 1, "deferred calls"));
    ctx->deferred[ctx->n_deferred++] = (rill__deferred){fn, user};
    return RILL_OK;
}

void *rill_alloc(rill_context *ctx, size_t size)
{
    /* A block of size 0 must be distinguishable from a failure, so one byte is allocated and not counted. */
    void *block = call_allocator(ctx, NULL, 0, size > 0 ? size : 1);
    if (block != NULL) count_bytes_used(ctx, 0, size);
    return block;
}

void *rill_calloc(rill_context *ctx, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    void *block = rill_alloc(ctx, bytes);
    if (block != NULL) memset(block, 0, bytes);
    return block;
}

void rill_free(rill_context *ctx, void *block, size_t size)
{
    if (block == NULL) return;
    count_bytes_used(ctx, size, 0);
    call_allocator(ctx, block, size > 0 ? size : 1, 0);
}

rill_status rill_copy_struct(rill_context *ctx, const char *what, void *own, size_t size, const void *from,
                             size_t min_size)
{
    size_t known;
    memcpy(&known, from, sizeof known);
    if (known < min_size || known > size) {
        if (ctx == NULL) return RILL_ERR_ABI;
        return rill_fail(
            ctx, RILL_ERR_ABI,
            "%s has a struct_size of %zu, and this version of rill reads %zu to %zu: set struct_size, or rebuild "
            "the program",
            what, known, min_size, size);
    }
    memset(own, 0, size);
    memcpy(own, from, known);
    memcpy(own, &size, sizeof size);
    return RILL_OK;
}

rill_status rill_grow(rill_context *ctx, void **block, size_t *capacity, size_t need, size_t size, const char *what)
{
    if (need <= *capacity) return RILL_OK;
    size_t new_capacity = rill__grown(*capacity, need), bytes;
    if (__builtin_mul_overflow(new_capacity, size, &bytes)) return rill_fail_memory(ctx, SIZE_MAX, what);
    size_t old_bytes = *capacity * size;
    void *grown = call_allocator(ctx, *block, old_bytes, bytes);
    if (grown == NULL) return rill_fail_memory(ctx, bytes, what);
    count_bytes_used(ctx, old_bytes, bytes);
    *block = grown;
    *capacity = new_capacity;
    return RILL_OK;
}

size_t rill_memory_used(const rill_context *ctx)
{
    return atomic_load_explicit(&ctx->used, memory_order_relaxed);
}

size_t rill_memory_peak(const rill_context *ctx)
{
    return atomic_load_explicit(&ctx->peak, memory_order_relaxed);
}

/* --- several arrays in one block (rill/carve.h) -------------------------------------------------------------------- */

rill_status rill_carve_reserve(rill_context *ctx, char **block, size_t *capacity, rill_carver *c)
{
    const size_t need = c->used > 0 ? c->used : 1; /* an empty block has an address too */
    if (need > *capacity) {
        const size_t old_capacity = *capacity;
        /* The old block is freed first, so that the memory peak does not count both blocks. */
        rill_free(ctx, *block, old_capacity);
        *block = NULL;
        *capacity = 0;
        RILL__TRY(rill_grow(ctx, (void **)block, capacity, rill__grown(old_capacity, need), 1, "scratch memory"));
    }
    *c = (rill_carver){.base = *block};
    return RILL_OK;
}

/* Set *bytes to the size of n arrays of `capacity` elements, each rounded up to a cache line. Returns 1; 0 on overflow. */
static int count_bytes(const rill_array *columns, size_t n, size_t capacity, size_t *bytes)
{
    *bytes = 0;
    for (size_t i = 0; i < n; i++) {
        size_t column;
        if (__builtin_mul_overflow(capacity, columns[i].size, &column) || column > SIZE_MAX - 63) return 0;
        if (__builtin_add_overflow(*bytes, (column + 63) / 64 * 64, bytes)) return 0;
    }
    return 1;
}

rill_status rill_columns_grow(rill_context *ctx, rill_columns *memory, size_t need, const rill_array *columns, size_t n,
                              const char *what)
{
    if (need <= memory->capacity) return RILL_OK;
    size_t new_capacity = rill__grown(memory->capacity, need), bytes;
    if (!count_bytes(columns, n, new_capacity, &bytes)) return rill_fail_memory(ctx, SIZE_MAX, what);
    char *block = rill_alloc(ctx, bytes);
    if (block == NULL) return rill_fail_memory(ctx, bytes, what);
    rill_carver carver = {.base = block};
    for (size_t i = 0; i < n; i++) {
        char *fresh = rill_carve(&carver, new_capacity, columns[i].size), *old;
        size_t old_bytes = memory->capacity * columns[i].size;
        memcpy(&old, columns[i].place, sizeof old);
        if (old_bytes > 0) memcpy(fresh, old, old_bytes);
        memset(fresh + old_bytes, 0, new_capacity * columns[i].size - old_bytes);
        memcpy(columns[i].place, &fresh, sizeof fresh);
    }
    rill_columns_free(ctx, memory);
    *memory = (rill_columns){block, bytes, new_capacity};
    return RILL_OK;
}

void rill_columns_free(rill_context *ctx, rill_columns *memory)
{
    rill_free(ctx, memory->block, memory->bytes);
    *memory = (rill_columns){0};
}

/* --- numbers as text ---------------------------------------------------------------------------------------------- */

static locale_t c_locale; /* the "C" locale, in which numbers are read and written */

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Switch the calling thread to the "C" locale, if it could be created. Returns the previous locale. */
void *rill_enter_plain_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    return uselocale(c_locale);
}

void rill_leave_plain_locale(void *old_locale)
{
    uselocale(old_locale);
}

double rill_read_number(const char *text, char **end)
{
    void *old_locale = rill_enter_plain_locale();
    char *stop;
    const double number = strtod(text, &stop);
    rill_leave_plain_locale(old_locale);
    /* strtod() accepts white space, a plus sign and hexadecimal */
    const size_t length = (size_t)(stop - text);
    const int is_decimal = strspn(text, " \t\n\v\f\r+") == 0 && !memchr(text, 'x', length) &&
                           !memchr(text, 'X', length);
    if (end != NULL) *end = is_decimal ? stop : (char *)text;
    return is_decimal ? number : 0;
}

int rill_print_list(char *out, size_t size, const char *format, va_list arguments)
{
    void *old_locale = rill_enter_plain_locale();
    const int length = vsnprintf(out, size, format, arguments);
    rill_leave_plain_locale(old_locale);
    return length;
}

int rill_write_number(char *out, size_t size, double number)
{
    char text[32];
    rill_print(text, sizeof text, "%.15g", number);
    if (rill_read_number(text, NULL) != number) rill_print(text, sizeof text, "%.17g", number);
    return snprintf(out, size, "%s", text);
}

int rill_print(char *out, size_t size, const char *format, ...)
{
    return RILL__PRINT_ARGUMENTS(rill_print_list, out, size, format);
}

/* Returns 1 if a message was cut inside the UTF-8 character before `rest`; 0 if the invalid bytes are of a file name in another
 * encoding. */
static int is_cut_character(const char *rest)
{
    const char c = rest[0];
    const int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (c == '\0' || strncmp(rest, "...", 3) == 0) return 1;
    return (unsigned char)c < 0x80 && !letter && strchr("._-/+~", c) == NULL;
}

int rill_print_message_list(char *out, size_t size, const char *format, va_list arguments)
{
    const int length = rill_print_list(out, size, format, arguments);
    if (length < 0 || size == 0) return length;
    size_t to = 0;
    for (const char *pos = out; *pos != '\0';) {
        const unsigned char lead = (unsigned char)*pos;
        const size_t full_length = lead < 0xc2 || lead > 0xf4 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        size_t n_bytes = 1;
        while (n_bytes < full_length && ((unsigned char)pos[n_bytes] & 0xc0) == 0x80) n_bytes++;
        if (n_bytes == full_length || !is_cut_character(pos + n_bytes)) {
            memmove(out + to, pos, n_bytes);
            to += n_bytes;
        }
        pos += n_bytes;
    }
    out[to] = '\0';
    return (int)to;
}

int rill_print_message(char *out, size_t size, const char *format, ...)
{
    return RILL__PRINT_ARGUMENTS(rill_print_message_list, out, size, format);
}

/* --- errors and log ----------------------------------------------------------------------------------------------- */

const char *rill_status_name(rill_status status)
{
    switch (status) {
    case RILL_AGAIN: return "RILL_AGAIN";
    case RILL_END_OF_INPUT: return "RILL_END_OF_INPUT";
    case RILL_EMPTY: return "RILL_EMPTY";
    case RILL_OK: return "RILL_OK";
    case RILL_ERR_MEMORY: return "RILL_ERR_MEMORY";
    case RILL_ERR_ARGUMENT: return "RILL_ERR_ARGUMENT";
    case RILL_ERR_OPTION: return "RILL_ERR_OPTION";
    case RILL_ERR_NOT_FOUND: return "RILL_ERR_NOT_FOUND";
    case RILL_ERR_IO: return "RILL_ERR_IO";
    case RILL_ERR_FORMAT: return "RILL_ERR_FORMAT";
    case RILL_ERR_ABI: return "RILL_ERR_ABI";
    case RILL_ERR_INPUT: return "RILL_ERR_INPUT";
    case RILL_ERR_NO_HYPOTHESIS: return "RILL_ERR_NO_HYPOTHESIS";
    case RILL_ERR_PLUGIN: return "RILL_ERR_PLUGIN";
    case RILL_ERR_STOPPED: return "RILL_ERR_STOPPED";
    case RILL_ERR_CHECK: return "RILL_ERR_CHECK";
    case RILL_ERR_CANCELLED: return "RILL_ERR_CANCELLED";
    case RILL_ERR_DEADLINE: return "RILL_ERR_DEADLINE";
    case RILL_ERR_DEVICE: return "RILL_ERR_DEVICE";
    }
    return "unknown status";
}

const char *rill_error(const rill_context *ctx)
{
    return ctx->error;
}

rill_status rill_error_status(const rill_context *ctx)
{
    return ctx->error_status;
}

void rill_error_clear(rill_context *ctx)
{
    ctx->error_status = RILL_OK;
    ctx->error[0] = '\0';
}

rill_status rill_fail(rill_context *ctx, rill_status status, const char *format, ...)
{
    /* Format into a separate buffer: the arguments may include the current message. */
    char sentence[RILL__MESSAGE_BYTES];
    RILL__PRINT_ARGUMENTS(rill_print_message_list, sentence, sizeof sentence, format);
    memcpy(ctx->error, sentence, sizeof sentence);
    ctx->error_status = status;
    return status;
}

rill_status rill_fail_memory(rill_context *ctx, size_t size, const char *what)
{
    if (size == SIZE_MAX) return rill_fail(ctx, RILL_ERR_MEMORY, "out of memory: the size of %s overflows", what);
    return rill_fail(ctx, RILL_ERR_MEMORY, "out of memory: cannot allocate %zu bytes for %s", size, what);
}

void rill_log(rill_context *ctx, rill_log_level level, const char *format, ...)
{
    if (ctx->log == NULL) return;
    char line[RILL__MESSAGE_BYTES];
    RILL__PRINT_ARGUMENTS(rill_print_message_list, line, sizeof line, format);
    RILL__LOCK_SCOPE(&ctx->root_ctx->lock);
    ctx->log(ctx->log_user, level, line);
}

rill_status rill_input_fail(rill_input *input, rill_status status, const char *format, ...)
{
    RILL__PRINT_ARGUMENTS(rill_print_message_list, input->message, sizeof input->message, format);
    input->status = status;
    return status;
}

void rill_input_warn(rill_input *input, const char *format, ...)
{
    RILL__PRINT_ARGUMENTS(rill_print_message_list, input->message, sizeof input->message, format);
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

rill_status rill_text_append(rill_text *text, const char *bytes, size_t length)
{
    if (length >= SIZE_MAX - text->length) return rill_fail_memory(text->ctx, SIZE_MAX, "a text");
    RILL__TRY(RILL__GROW(text->ctx, text->data, text->capacity, text->length + length + 1, "a text"));
    if (length > 0) memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
    return RILL_OK;
}

rill_status rill_text_printf(rill_text *text, const char *format, ...)
{
    char small[256];
    int length = RILL__PRINT_ARGUMENTS(rill_print_list, small, sizeof small, format);
    if (length < 0) return rill_fail(text->ctx, RILL_ERR_ARGUMENT, "rill_text_printf: invalid format \"%s\"", format);
    if ((size_t)length < sizeof small) return rill_text_append(text, small, (size_t)length);
    RILL__TRY(RILL__GROW(text->ctx, text->data, text->capacity, text->length + (size_t)length + 1, "a text"));
    RILL__PRINT_ARGUMENTS(rill_print_list, text->data + text->length, (size_t)length + 1, format);
    text->length += (size_t)length;
    return RILL_OK;
}

void rill_text_reset(rill_text *text)
{
    text->length = 0;
    if (text->data != NULL) text->data[0] = '\0';
}

void rill_text_clear(rill_text *text)
{
    rill_free(text->ctx, text->data, text->capacity);
    text->data = NULL;
    text->length = text->capacity = 0;
}

rill_status rill__method_status(rill_context *ctx, rill_status status, const char *what, const char *name,
                                const char *method)
{
    if (status >= 0 || rill_error_status(ctx) == status) return status;
    return rill_fail(ctx, status, "%s %s: %s() failed with %s", what, name, method, rill_status_name(status));
}
