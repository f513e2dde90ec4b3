/* Shared by the tests of domains/: allocators that count and fail, temporary directories, copies of small models. */
#pragma once

#include <stddef.h>

#include "rill/domain.h"

/* The thread sanitizer is ten times as slow, and finds nothing in single-threaded tests: skip those. */
#ifdef __SANITIZE_THREAD__
enum { RACES_ONLY = 1 };
#else
enum { RACES_ONLY = 0 };
#endif

/* --- memory --- */

/* An allocator that fails from call `allowed` on (freeing always works) and counts live blocks. */
typedef struct failing_allocator {
    long allowed;   /* number of calls that succeed; negative: all */
    long calls;     /* number of calls so far */
    long out;       /* live blocks */
    char log[1000]; /* warnings so far, each followed by a line feed */
} failing_allocator;

/* A context with the failing allocator; every block is a separate malloc(), so that ASan checks its bounds. */
rill_context *failing_allocator_context(failing_allocator *m);

/* Destroy the context; no memory may be left. */
void failing_allocator_finish(failing_allocator *m, rill_context *ctx);

/* Run life() with 0, 1, 2, ... successful allocations, until it succeeds. Each failure must be RILL_ERR_MEMORY and
 * leave no memory in use. Returns the number of runs. */
long refuse_each_call(failing_allocator *m, rill_context *ctx,
                      rill_status (*life)(rill_context *ctx, const char *folder), const char *folder);

/* --- files --- */

/* Make a new directory. The caller owns the path; folder_remove() frees it and deletes the directory with its files. */
char *folder_make(void);
void folder_remove(char *folder);

/* Return "folder/name", malloc()ed. */
char *join_path(const char *folder, const char *name);

void write_bytes(const char *folder, const char *name, const void *bytes, size_t length);
void write_string(const char *folder, const char *name, const char *text);
/* Read the whole file; returns it with a NUL at the end, malloc()ed. */
char *read_bytes(const char *folder, const char *name, size_t *length);
void copy_file(const char *from, const char *to, const char *name);

/* Return the path of tests/data/NAME, malloc()ed. The environment variable RILL_TEST_DATA is the path of tests/data. */
char *data_path(const char *name);

/* --- inputs and values --- */

/* Return a pseudo-random number below `below`; platform-independent. */
uint32_t random_below(uint64_t *state, uint32_t below);

rill_input make_input(const char *text, int32_t slot);

/* Fails the test, naming value i of `what`, unless the difference is at most `slack` * max(|value|, 1), the size of
 * log-probabilities and states. */
void assert_near(double found, double expected, double slack, const char *what, size_t i);

/* Fails the test with the context's error message. */
void assert_ok(const rill_context *ctx, rill_status status);

/* Fails the test unless the context's last error message is `expected`, in which %s stands for `folder`. */
void assert_error(const rill_context *ctx, const char *expected, const char *folder);
