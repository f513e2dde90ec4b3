/* Documents: plain text or simple HTML, split into sentences, decoded and joined. Threads: one at a time per document.
 *
 * A *part* is decoded alone: a sentence, or the text of an inline tag. A tag moves to the translation of its text. */
#pragma once

#include "cli.h"

typedef enum document_split {
    DOCUMENT_UNSPLIT,
    DOCUMENT_LINES,     /* each line is decoded as one part */
    DOCUMENT_SENTENCES, /* each sentence of a line is decoded as one part */
    DOCUMENT_HTML       /* each sentence of a paragraph is decoded as one part; entities are decoded */
} document_split;

typedef struct document document;

/* Split a text into parts (texts to decode). NULL: out of memory.
 *   text: [length] UTF-8; invalid UTF-8 becomes a part that the model refuses
 *   language: as for rill_sentences_split()
 *   max_parts: splitting stops soon after, and the document cannot be joined */
document *document_open(const char *text, size_t length, document_split split, const char *language, int32_t max_parts);
void document_close(document *d); /* closing NULL does nothing */

int32_t document_n_parts(const document *d);
/* Return the text of part i (a text to decode), which is valid as long as the document. */
const char *document_part(const document *d, int32_t i, size_t *length);
/* Whether the part is a sentence (1), or the text of a tag in a sentence (0). */
int document_is_sentence(const document *d, int32_t i);

/* Join the outputs of the parts. Returns a text that the caller frees; NULL: out of memory.
 *   outputs: [n_parts] text of each part's output, without markup; NULL: keep the part's own text */
char *document_join(const document *d, const char *const *outputs);

/* --- finding words ----------------------------------------------------------------------------------------------------- */

/* Functions that search words in texts. */

/* Copy a text with A to Z in lower case and a final NUL; the caller frees it. NULL: out of memory. */
char *words_fold(const char *text, size_t n);
/* Find `what` as whole words, from byte `from`. Returns 0 without a match.
 *   in, what: [n], [m] UTF-8, both folded with words_fold() or neither
 *   *begin: offset of the match */
int words_find(const char *in, size_t n, size_t from, const char *what, size_t m, size_t *begin);

/* --- internals of documents -------------------------------------------------------------------------------------------- */

/* The structure of documents, for document.c and document_split.c only. */

/* A text that grows. is_out_of_memory: an allocation has failed. */
typedef struct buffer {
    char *data;
    size_t used, capacity;
    int is_out_of_memory;
} buffer;

void buffer_add(buffer *b, const char *text, size_t length);

/* A document is a list of pieces: text to keep, a sentence, a tag in the sentence before, or the tag's text. */
typedef enum piece_kind { PIECE_VERBATIM, PIECE_SENTENCE, PIECE_TAG, PIECE_TAGGED } piece_kind;

typedef struct piece {
    piece_kind kind;
    size_t begin, length; /* byte range of the piece in document.text */
    size_t offset;        /* byte offset of a tag and its text in the sentence */
    int32_t part; /* for sentences and the text of tags, which are decoded: number of the part (text to decode) */
    /* for tags only. is_opening: 1 for an opening tag; is_standalone: 1 for a tag without content, which keeps the spaces around it */
    int is_opening, is_standalone;
    int has_space_before, has_space_after;
} piece;

struct document {
    document_split split;
    int32_t max_parts; /* maximum number of parts, see document_open() */
    buffer text;
    piece *piece; /* [n] pieces in the order of the document */
    int32_t n, n_parts;
    /* [n_parts] index in `piece` of each part (text to decode) */
    int32_t *part_pieces;
    size_t piece_capacity, part_capacity;
    int has_failed;
};

/* Append a piece of the document with a copy of `length` bytes of `text`. */
piece *document_add(document *d, piece_kind kind, const char *text, size_t length);
/* Write a text as HTML, with & < > escaped. */
void markup_write(buffer *out, const char *text, size_t length);
