/* What the tests of domains/ share: contexts that count and refuse, folders that go away, copies of small models. */
#ifndef TEST_DOMAINS_HELPERS_H
#define TEST_DOMAINS_HELPERS_H

#include <stddef.h>

#include "rill/domain.h"

/* Under the thread sanitizer, which makes all ten times as slow, what one thread does alone has nothing to show. */
#ifdef __SANITIZE_THREAD__
enum { RACES_ONLY = 1 };
#else
enum { RACES_ONLY = 0 };
#endif

/* --- memory --- */

/* An allocator that refuses from the `allowed`-th call for memory on (freeing always works) and counts what is out. */
typedef struct failing_allocator {
    long allowed;   /* calls still granted; negative: all */
    long calls;     /* made so far */
    long out;       /* blocks not given back */
    char log[1000]; /* warnings so far, each with a line feed */
} failing_allocator;

/* A context over the miser; every block is its own malloc(), so that ASan sees its edges. */
rill_context *failing_allocator_context(failing_allocator *m);

/* The end of a context: of what was made with it nothing is left. */
void failing_allocator_finish(failing_allocator *m, rill_context *ctx);

/* Grant life() no call for memory, then one, two, ... until it has all that it asks for. Each that is refused one must fail with
 * RILL_ERR_MEMORY and leave nothing behind. Returns how often it was tried. */
long refuse_each_call(failing_allocator *m, rill_context *ctx,
                      rill_status (*life)(rill_context *ctx, const char *folder), const char *folder);

/* --- files --- */

/* A fresh folder; its path is the caller's, freed by folder_remove(), which deletes the files in it as well. */
char *folder_make(void);
void folder_remove(char *folder);

/* "folder/name", malloc()ed. */
char *join_path(const char *folder, const char *name);

void write_bytes(const char *folder, const char *name, const void *bytes, size_t length);
void write_string(const char *folder, const char *name, const char *text);
/* The whole file, malloc()ed, with a NUL behind it. */
char *read_bytes(const char *folder, const char *name, size_t *length);
void copy_file(const char *from, const char *to, const char *name);

/* tests/data/NAME, malloc()ed; the test is told where by the variable RILL_TEST_DATA. */
char *data_path(const char *name);

/* --- inputs and values --- */

/* A number below `below`: the same ones from the same state everywhere. */
uint32_t random_below(uint64_t *state, uint32_t below);

rill_input make_input(const char *text, int32_t slot);

/* Fails the test, naming value `at` of `what`, unless the difference is at most `slack` times the larger of the value and 1: of that
 * size are log-probabilities and states. */
void assert_near(double found, double expected, double slack, const char *what, size_t i);

/* Fails the test with the context's sentence. */
void assert_ok(const rill_context *ctx, rill_status status);

/* Fails the test unless the context's last sentence is `expected`, in which %s stands for `folder`. */
void assert_error(const rill_context *ctx, const char *expected, const char *folder);

#endif
