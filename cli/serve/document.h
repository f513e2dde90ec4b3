/* Inputs that are decoded in parts and put together again.
 *
 * A document is a text that models read sentence by sentence: lines of them, or a page with simple markup. What lies between its parts is
 * kept to the byte: blanks, ends of lines, tags of blocks. Sentences are domains/text/sentence_splitter.h's.
 * Of a page tags that stand within a sentence (bold, links) come to what their text became: that text is decoded by itself too, and
 * looked for in the sentence's output; where it is not found they are placed in proportion. Each tag comes once, in the old order.
 * Threads: a document is one thread's at a time. */
#ifndef CLI_SERVE_DOCUMENT_H
#define CLI_SERVE_DOCUMENT_H

#include <stddef.h>
#include <stdint.h>

typedef enum document_split {
    DOCUMENT_UNSPLIT,
    DOCUMENT_LINES,     /* each line is a part */
    DOCUMENT_SENTENCES, /* each sentence of a line */
    DOCUMENT_HTML       /* each sentence of a paragraph; entities are read */
} document_split;

typedef struct document document;

/* "lines", "sentences", "html"; NULL: DOCUMENT_UNSPLIT */
const char *document_split_name(document_split split);

/* Cut a text into parts.
 *   text: [length] UTF-8 (what is none is a part of its own accord: the model refuses it)
 *   language: as rill_sentences_split() takes it
 *   most: parts that are wanted; where there are more, only some of them, but more than that, are made, and the document is of no use
 * NULL: out of memory. */
document *document_open(const char *text, size_t length, document_split split, const char *language, int32_t max_parts);
void document_close(document *d); /* NULL is allowed */

int32_t document_n_parts(const document *d);
/* The i-th, valid as long as the document. */
const char *document_part(const document *d, int32_t i, size_t *length);
/* Whether it is a sentence (1), or the text of tags within one (0). */
int document_is_sentence(const document *d, int32_t i);

/* Put the outputs together.
 *   output: of part i, a text without markup; NULL: there is none, and the part itself stays
 * The caller's to free; NULL: out of memory. */
char *document_join(const document *d, const char *(*output)(void *user, int32_t i), void *user);

#endif
