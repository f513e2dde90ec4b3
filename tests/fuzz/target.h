/* What fuzz targets share: the entry that a driver calls, and conditions that must hold whatever the bytes. */
#ifndef TEST_FUZZ_TARGET_H
#define TEST_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(int condition)
{
    if (!condition) abort();
}

/* Bytes before the first NUL; all without one. */
static inline size_t cut(const char *bytes, size_t size)
{
    const char *end = size > 0 ? memchr(bytes, 0, size) : NULL;
    return end != NULL ? (size_t)(end - bytes) : size;
}

#endif
