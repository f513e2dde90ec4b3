/* The lexicon of a semantic-parsing model: maps a typed question to the tokens the model was trained on.
 *
 * A lexicon is read once from the model's lexicon.tsv (format: docs/lexicon.md) and is const afterwards, so any number
 * of rill_question objects (question.h) may share one, in any threads. Order of use: open, questions, close.
 * Stability: private header of the semparse domain; the file format is versioned by its `@format` line. */
#ifndef RILL_SEMPARSE_LEXICON_H
#define RILL_SEMPARSE_LEXICON_H

#include "utf8.h"

RILL_C_BEGIN

typedef struct rill_lexicon rill_lexicon;

/* Read the lexicon at `path`.
 *   out: on success a lexicon the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_NOT_FOUND (no such file) · RILL_ERR_IO
 *   RILL_ERR_FORMAT  the sentence names file, line, what is wrong and how to put it right */
rill_status rill_lexicon_open(rill_context *ctx, const char *path, rill_lexicon **out);

/* rill_lexicon_open() for a file already in memory; `name` stands for the path in errors. Bytes are copied. */
rill_status rill_lexicon_read(rill_context *ctx, const char *name, const char *bytes, size_t length,
                              rill_lexicon **out);

/* Whether a token has the form of a placeholder: a type's name followed by a number ("s0"), or only the name if the
 * type is unnumbered. */
int rill_lexicon_is_placeholder(const rill_lexicon *lexicon, const char *token, size_t length);

/* Close the lexicon; close all question objects that use it before. NULL is allowed. */
void rill_lexicon_close(rill_lexicon *lexicon);

RILL_C_END

#endif
