/* prefixes.h: words whose period does not end a sentence: Dr. Smith, am 3. Mai, ул. Ленина.
 *
 * Moses keeps such words in files named nonbreaking_prefix.LANGUAGE: one per line, # begins a comment, #NUMERIC_ONLY#
 * behind a word limits it to those before a number. A model's directory may have such a file; without one a short list
 * of rill's own is used. Stability: internal to rill. */
#ifndef RILL_MT_PREFIXES_H
#define RILL_MT_PREFIXES_H

#include "rill/context.h"

typedef enum mt_language { MT_EN, MT_DE, MT_RU } mt_language;

typedef enum mt_prefix_kind {
    MT_PREFIX_NONE,
    MT_PREFIX_ALWAYS,
    MT_PREFIX_BEFORE_NUMBER,
} mt_prefix_kind;

typedef struct mt_prefixes mt_prefixes;

/* The language of that name in *out: "en", "de" or "ru". Other names: *out is as it was, 0 is returned. */
int mt_language_of(const char *name, mt_language *out);

/* Read nonbreaking_prefix.LANGUAGE of a directory, where it is, or take the list that is built in.
 *   out: on success the caller closes it; on failure NULL
 *   RILL_OK · RILL_ERR_IO · RILL_ERR_FORMAT (FILE: why) · RILL_ERR_MEMORY */
rill_status mt_prefixes_open(mt_prefixes **out, rill_context *ctx, const char *directory, mt_language language);

/* The same for bytes in memory; `name` stands for the path in errors. */
rill_status mt_prefixes_parse(mt_prefixes **out, rill_context *ctx, const char *name, const char *bytes, size_t length);

void mt_prefixes_close(mt_prefixes *prefixes); /* NULL is allowed */

/* What is known of a word, its last period not counted. */
mt_prefix_kind mt_prefixes_find(const mt_prefixes *prefixes, const char *word, size_t length);

#endif
