/* See helpers.h. Errors fail the test. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "helpers.h"

/* --- memory --- */

static void *failing_allocator_allocate(void *user, void *block, size_t old_size, size_t new_size)
{
    failing_allocator *m = user;
    if (new_size == 0) {
        m->out -= block != NULL;
        free(block);
        return NULL;
    }
    m->calls++;
    if (m->allowed == 0) return NULL;
    if (m->allowed > 0) m->allowed--;
    void *fresh = NULL;
    if (posix_memalign(&fresh, 64, new_size) != 0) return NULL;
    memset(fresh, 0xC5, new_size);
    if (block != NULL) {
        memcpy(fresh, block, old_size < new_size ? old_size : new_size);
        free(block);
    } else {
        m->out++;
    }
    return fresh;
}

static void failing_allocator_log(void *user, rill_log_level level, const char *message)
{
    failing_allocator *m = user;
    const size_t used = strlen(m->log);
    if (level >= RILL_LOG_WARNING) snprintf(m->log + used, sizeof m->log - used, "%s\n", message);
}

rill_context *failing_allocator_context(failing_allocator *m)
{
    rill_context_options options = {.struct_size = sizeof options,
                                    .allocate = failing_allocator_allocate,
                                    .allocate_user = m,
                                    .log = failing_allocator_log,
                                    .log_user = m};
    rill_context *ctx;
    *m = (failing_allocator){.allowed = -1};
    assert_int_equal(rill_context_create(&ctx, &options), RILL_OK);
    return ctx;
}

void failing_allocator_finish(failing_allocator *m, rill_context *ctx)
{
    assert_int_equal(rill_memory_used(ctx), 0);
    rill_context_destroy(ctx);
    assert_int_equal(m->out, 0);
}

long refuse_each_call(failing_allocator *m, rill_context *ctx,
                      rill_status (*life)(rill_context *ctx, const char *folder), const char *folder)
{
    rill_status status = RILL_ERR_MEMORY;
    long n = 0;
    for (; status != RILL_OK; n++) {
        m->allowed = n;
        status = life(ctx, folder);
        if (status != RILL_OK && status != RILL_ERR_MEMORY) fail_msg("allocation %ld: %s", n, rill_error(ctx));
        assert_int_equal(rill_memory_used(ctx), 0);
    }
    m->allowed = -1;
    return n;
}

/* --- files --- */

char *join_path(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    assert_non_null(path);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

char *folder_make(void)
{
    const char *base = getenv("TMPDIR");
    char *folder = join_path(base != NULL ? base : P_tmpdir, "rill-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return folder;
}

void folder_remove(char *folder)
{
    DIR *open = opendir(folder);
    assert_non_null(open);
    struct dirent *entry;
    while ((entry = readdir(open)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char *path = join_path(folder, entry->d_name);
        assert_int_equal(unlink(path), 0);
        free(path);
    }
    closedir(open);
    assert_int_equal(rmdir(folder), 0);
    free(folder);
}

void write_bytes(const char *folder, const char *name, const void *bytes, size_t length)
{
    char *path = join_path(folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    free(path);
}

void write_string(const char *folder, const char *name, const char *text)
{
    write_bytes(folder, name, text, strlen(text));
}

char *read_bytes(const char *folder, const char *name, size_t *length)
{
    char *path = join_path(folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail_msg("cannot open %s", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    char *bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
    bytes[size] = '\0';
    fclose(file);
    free(path);
    *length = (size_t)size;
    return bytes;
}

void copy_file(const char *from, const char *to, const char *name)
{
    size_t length;
    char *bytes = read_bytes(from, name, &length);
    write_bytes(to, name, bytes, length);
    free(bytes);
}

char *data_path(const char *name)
{
    const char *base = getenv("RILL_TEST_DATA");
    if (base == NULL) fail_msg("RILL_TEST_DATA must name tests/data");
    return join_path(base, name);
}

/* --- inputs and values --- */

uint32_t random_below(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % below;
}

rill_input make_input(const char *text, int32_t slot)
{
    return (rill_input){.text = text, .length = strlen(text), .slot = slot};
}

void assert_near(double found, double expected, double slack, const char *what, size_t i)
{
    if (!(fabs(found - expected) <= slack * fmax(1.0, fabs(expected))))
        fail_msg("%s %zu: expected %.9g, found %.9g", what, i, expected, found);
}

void assert_ok(const rill_context *ctx, rill_status status)
{
    if (status < RILL_OK) fail_msg("%s", rill_error(ctx));
}

void assert_error(const rill_context *ctx, const char *expected, const char *folder)
{
    char sentence[1200];
    const char *place = strstr(expected, "%s");
    if (place == NULL)
        snprintf(sentence, sizeof sentence, "%s", expected);
    else
        snprintf(sentence, sizeof sentence, "%.*s%s%s", (int)(place - expected), expected, folder, place + 2);
    assert_string_equal(rill_error(ctx), sentence);
}
