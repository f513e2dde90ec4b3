/* Shared by fuzz targets: the entry that a driver calls, and checks that must hold for any bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Prints the failed check before it aborts. */
#define require(condition) require_true((condition) != 0, #condition, __FILE__, __LINE__)
static inline void require_true(int held, const char *condition, const char *file, int line)
{
    if (held) return;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

/* Bytes before the first NUL; all without one. */
static inline size_t cut(const char *bytes, size_t size)
{
    const char *end = size > 0 ? memchr(bytes, 0, size) : NULL;
    return end != NULL ? (size_t)(end - bytes) : size;
}
