/* The structure of documents, for document.c and markup.c only. */
#ifndef CLI_SERVE_DOCUMENT_INTERNAL_H
#define CLI_SERVE_DOCUMENT_INTERNAL_H

#include "document.h"

/* A growing text. is_out_of_memory is set after a failed allocation. */
typedef struct buffer {
    char *data;
    size_t used, capacity;
    int is_out_of_memory;
} buffer;

void buffer_add(buffer *b, const char *text, size_t length);

/* The pieces of a document in order: text to keep, a sentence, a tag in the last sentence, or the text of a tag in it. */
typedef enum piece_kind { PIECE_VERBATIM, PIECE_SENTENCE, PIECE_TAG, PIECE_TAGGED } piece_kind;

typedef struct piece {
    piece_kind kind;
    size_t begin, length;          /* range in document.text */
    size_t offset;                 /* (tags and their text) byte offset in the sentence */
    int32_t part;                  /* (sentences and text of tags) part number */
    int is_opening, is_standalone; /* (tags) an opening tag; a tag without content, which keeps the spaces around it */
    int has_space_before, has_space_after;
} piece;

struct document {
    document_split split;
    int32_t max_parts; /* as in document_open() */
    buffer text;
    piece *piece; /* [n] */
    int32_t n, piece_capacity, n_parts;
    int32_t *
        part_pieces; /* [n_parts] index in `piece` of the text that each part (a line or sentence to decode) comes from */
    int has_failed;
};

/* Append a piece with a copy of `length` bytes of `text`. */
piece *document_add(document *d, piece_kind kind, const char *text, size_t length);
/* Split a paragraph into sentences. Calls `found` for each one in order, as [begin, end) without surrounding spaces. */
void document_sentences(document *d, const char *text, size_t length, const char *language,
                        void (*found)(void *user, size_t begin, size_t end), void *user);

/* Split a page into pieces. */
void markup_read(document *d, const char *text, size_t length, const char *language);
/* Write a text with & < > escaped. */
void markup_write(buffer *out, const char *text, size_t length);

#endif
