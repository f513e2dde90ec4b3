/* The inverse of rill_tree_escape(), for tests that compare words of trees with words of texts. */
#pragma once

#include <string.h>

#include "rill/context.h"

/* Append the text with ( ) { } for -LRB- -RRB- -LCB- -RCB-. RILL_OK · RILL_ERR_MEMORY */
static inline rill_status unescape_brackets(rill_text *out, const char *text, size_t length)
{
    static const char *const names[] = {"-LRB-", "-RRB-", "-LCB-", "-RCB-"};
    static const char brackets[] = "(){}";
    for (size_t i = 0; i < length; i++) {
        size_t e = 0;
        while (e < 4 && (length - i < 5 || memcmp(text + i, names[e], 5) != 0)) e++;
        const rill_status status = rill_text_append(out, e < 4 ? brackets + e : text + i, 1);
        if (status != RILL_OK) return status;
        if (e < 4) i += 4;
    }
    return RILL_OK;
}
