/* How documents are made, for document.c and markup.c alone. */
#ifndef CLI_SERVE_DOCUMENT_INTERNAL_H
#define CLI_SERVE_DOCUMENT_INTERNAL_H

#include "document.h"

/* A growing text; `failed` once there was no memory. */
typedef struct buffer {
    char *data;
    size_t used, capacity;
    int is_out_of_memory;
} buffer;

void buffer_add(buffer *b, const char *text, size_t length);

/* What a document is, in order: something that stays, a sentence, or, within the sentence before, a tag or the text of tags. */
typedef enum piece_kind { PIECE_VERBATIM, PIECE_SENTENCE, PIECE_TAG, PIECE_TAGGED } piece_kind;

typedef struct piece {
    piece_kind kind;
    size_t begin, length; /* in the document's text */
    size_t offset;        /* (tags, their text) byte of the sentence where it stands */
    int32_t part;         /* (sentences, text of tags) */
    int is_opening,
        is_standalone; /* (tags) what is behind it is within; nothing is, it stands between blanks where they were */
    int has_space_before, has_space_after;
} piece;

struct document {
    document_split split;
    int32_t max_parts; /* parts */
    buffer text;
    piece *piece; /* [n] */
    int32_t n, piece_capacity, n_parts;
    int32_t *part_pieces; /* [n_parts] its piece */
    int has_failed;
};

/* Add a piece that is `length` bytes from `text`. */
piece *document_add(document *d, piece_kind kind, const char *text, size_t length);
/* A paragraph into sentences: give each as [begin, end) without blanks around it, in order. */
void document_sentences(document *d, const char *text, size_t length, const char *language,
                        void (*found)(void *user, size_t begin, size_t end), void *user);

/* A page into pieces. */
void markup_read(document *d, const char *text, size_t length, const char *language);
/* A text with & < > written so that it is one in a page. */
void markup_write(buffer *out, const char *text, size_t length);

#endif
