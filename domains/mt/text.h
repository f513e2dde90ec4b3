/* text.h: what is typed to the numbers a translation model reads, and back.
 *
 * SentencePiece, or Moses' tokeniser with byte pair encoding (fsmt.h), only segment; numbers come from the vocabulary,
 * where a piece that is not there is <unk> (mt models of transformers share that division). For SentencePiece a first
 * word of the form >>xx<< names the target language of a multilingual model and is a piece by itself.
 * Reading and writing: one thread at a time; all else, and mt_text_share(), any number at once. Stability: internal to rill. */
#ifndef RILL_MT_TEXT_H
#define RILL_MT_TEXT_H

#include "bpe.h"
#include "vocabulary.h"

typedef struct mt_text mt_text;

typedef struct mt_text_files {
    const char *directory;
    const char *source, *target; /* names of the vocabularies' files */
    int optional;                /* target may be absent: the source's symbols are then the target's too */
    int tokenized;               /* pieces come and go: nothing else is read */
    int fsmt;                    /* pieces are made as FSMT's, else by SentencePiece */
    int32_t words, actions;      /* most tokens of the vocabularies */
} mt_text_files;

/* Where the numbers of an input go. */
typedef struct mt_ids {
    rill_context *ctx;
    int32_t **ids;      /* grown as needed */
    size_t *room, used; /* numbers are appended behind `used` */
} mt_ids;

/* Read vocabularies and, unless tokenized, source.spm and target.spm, or what fsmt.h needs.
 *   out: on success the caller closes it; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO · RILL_ERR_FORMAT · RILL_ERR_MEMORY */
rill_status mt_text_open(mt_text **out, rill_context *ctx, const mt_text_files *files);

/* A second one for another thread, and its context, with what `text` has read, which is closed after it.
 *   out: as mt_text_open()
 *   RILL_OK · RILL_ERR_MEMORY */
rill_status mt_text_share(mt_text **out, rill_context *ctx, const mt_text *text);

void mt_text_close(mt_text *text); /* NULL is allowed */

/* Append the numbers of an input's pieces, without the end symbol.
 *   RILL_OK · RILL_ERR_INPUT (recorded: not UTF-8, a language the model does not know) · RILL_ERR_MEMORY */
rill_status mt_text_read(mt_text *text, const char *bytes, size_t length, mt_ids *out);

/* Append the text of n actions; text has nothing in the place of <unk> and other special symbols, pieces keep them.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_FORMAT (SentencePiece refused) */
rill_status mt_text_write(mt_text *text, size_t n, const int32_t *action, rill_text *out);

/* The pieces that would write a text, each given to fn in order; they need not be in the vocabulary. Texts of several threads may be
 * split at once: `ctx` is the caller's, for memory and what is recorded.
 *   RILL_OK · RILL_ERR_INPUT (recorded: not UTF-8) · RILL_ERR_MEMORY · what fn returned */
rill_status mt_text_split(const mt_text *text, rill_context *ctx, const char *bytes, size_t length, mt_piece_fn fn,
                          void *user);

/* The vocabularies; one and the same when source and target share theirs. Borrowed. */
const rill_vocabulary *mt_text_source(const mt_text *text);
const rill_vocabulary *mt_text_target(const mt_text *text);

/* How many target symbols have a piece: those below. */
int32_t mt_text_actions(const mt_text *text);

/* The piece of a target symbol below that; NUL-terminated; *length may be NULL. Borrowed. */
const char *mt_text_piece(const mt_text *text, int32_t action, size_t *length);

/* The target symbol of a piece, -1 if there is none. */
int32_t mt_text_action(const mt_text *text, const char *piece, size_t length);

#endif
