/* With the environment variable RILL_TEST_SHARE=S, long tests run only one of S random rounds; this returns their
 * number. */
#pragma once

#include <stdint.h>
#include <stdlib.h>

static inline int64_t test_divisor(void)
{
    const char *text = getenv("RILL_TEST_SHARE");
    const int64_t share = text != NULL ? atoi(text) : 1;
    return share > 1 ? share : 1;
}

static inline int64_t test_share(int64_t n)
{
    return (n + test_divisor() - 1) / test_divisor();
}
