/* Shared by fuzz targets: the function that a driver calls, and a check that aborts. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Print the failed check, then abort. */
#define require(condition) require_true((condition) != 0, #condition, __FILE__, __LINE__)
static inline void require_true(int held, const char *condition, const char *file, int line)
{
    if (held) return;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

/* Return the number of bytes before the first NUL; all of them if there is none. */
static inline size_t cut(const char *bytes, size_t size)
{
    const char *end = size > 0 ? memchr(bytes, 0, size) : NULL;
    return end != NULL ? (size_t)(end - bytes) : size;
}
