/* Documents: inputs that are split into parts, decoded, and joined.
 *
 * A document is plain text or a page with simple HTML markup. Models decode it sentence by sentence
 * (domains/text/sentence_splitter.h). Text between the parts is kept byte by byte: white space, line ends, block tags. Tags within a
 * sentence (bold, links) move to the translation of their text. For that, the text of a tag is decoded as a separate part and searched
 * in the sentence's output. If it is not found, the tag is placed in proportion to its place in the source. Each tag occurs once, in
 * the original order. Threads: one at a time for each document. */
#ifndef CLI_SERVE_DOCUMENT_H
#define CLI_SERVE_DOCUMENT_H

#include <stddef.h>
#include <stdint.h>

typedef enum document_split {
    DOCUMENT_UNSPLIT,
    DOCUMENT_LINES,     /* each line is a part */
    DOCUMENT_SENTENCES, /* each sentence of a line is a part */
    DOCUMENT_HTML       /* each sentence of a paragraph is a part; entities are decoded */
} document_split;

typedef struct document document;

/* "lines", "sentences" or "html"; NULL for DOCUMENT_UNSPLIT. */
const char *document_split_name(document_split split);

/* Split a text into parts.
 *   text: [length] UTF-8; invalid UTF-8 becomes a part that the model refuses
 *   language: as for rill_sentences_split()
 *   max_parts: if the text has more, splitting stops after max_parts + 1 or a few more parts, and the document cannot be joined
 * NULL: out of memory. */
document *document_open(const char *text, size_t length, document_split split, const char *language, int32_t max_parts);
void document_close(document *d); /* NULL is allowed */

int32_t document_n_parts(const document *d);
/* Part i, valid as long as the document. */
const char *document_part(const document *d, int32_t i, size_t *length);
/* Whether the part is a sentence (1), or the text of a tag in a sentence (0). */
int document_is_sentence(const document *d, int32_t i);

/* Join the outputs of the parts.
 *   output: text of part i without markup; NULL: the part itself is used
 * Returns a text that the caller frees. NULL: out of memory. */
char *document_join(const document *d, const char *(*output)(void *user, int32_t i), void *user);

#endif
