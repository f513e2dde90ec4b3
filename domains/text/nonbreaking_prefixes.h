/* nonbreaking_prefixes.h: abbreviations whose period does not end a sentence: Dr. Smith, am 3. Mai, ул. Ленина.
 *
 * Files have Moses' name and format, nonbreaking_prefix.LANGUAGE: one word per line; # starts a comment; #NUMERIC_ONLY#
 * after a word means that the word is a prefix only before a number. If a model directory has no such file, a short
 * built-in list is used. Stability: internal to rill. */
#ifndef RILL_TEXT_NONBREAKING_PREFIXES_H
#define RILL_TEXT_NONBREAKING_PREFIXES_H

#include "rill/context.h"

typedef enum rill_moses_language { RILL_MOSES_EN, RILL_MOSES_DE, RILL_MOSES_RU } rill_moses_language;

typedef enum rill_prefix_kind {
    RILL_PREFIX_NONE,
    RILL_PREFIX_ALWAYS,
    RILL_PREFIX_NUMERIC_ONLY,
} rill_prefix_kind;

typedef struct rill_prefixes rill_prefixes;

/* Set *out to the language named "en", "de" or "ru", and return 1. For another name return 0; *out is then unchanged. */
int rill_moses_language_find(const char *name, rill_moses_language *out);

/* Read nonbreaking_prefix.LANGUAGE of a directory, or use the built-in list if there is no such file.
 *   out: on success the caller closes it; on failure NULL
 *   RILL_OK · RILL_ERR_IO · RILL_ERR_FORMAT (FILE: why) · RILL_ERR_MEMORY */
rill_status rill_prefixes_open(rill_prefixes **out, rill_context *ctx, const char *directory,
                               rill_moses_language language);

/* Read prefixes from bytes in memory, otherwise as rill_prefixes_open(); `name` stands for the path in errors. */
rill_status rill_prefixes_parse(rill_prefixes **out, rill_context *ctx, const char *name, const char *bytes,
                                size_t length);

void rill_prefixes_close(rill_prefixes *prefixes); /* NULL is allowed */

/* The kind of prefix that a word is; the word is given without its final period. */
rill_prefix_kind rill_prefixes_find(const rill_prefixes *prefixes, const char *word, size_t length);

#endif
