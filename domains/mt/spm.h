/* spm.h: SentencePiece behind C: a model's bytes, text to pieces, pieces to text.
 *
 * Only spm.cc knows the library (libsentencepiece, Apache-2.0), which is C++; no exception leaves it. The library's
 * memory is its own and does not come from a context. Any number of threads may use an open model at once: by its author's
 * word (google/sentencepiece, issue 207) a processor is thread-safe, and the library itself splits batches among threads.
 * Stability: internal to rill. */
#ifndef RILL_MT_SPM_H
#define RILL_MT_SPM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mt_spm mt_spm;

/* Takes the next bytes of a result. Nonzero ends the call, which then returns that number. */
typedef int (*mt_spm_fn)(void *user, const char *bytes, size_t length);

/* What calls return on the library's own failures; its sentence is then in `message`. Functions given should not return
 * it. */
enum { MT_SPM_FAILED = -1000 };

/* A model from the bytes of a .spm file, which are not needed afterwards; NULL on failure, with the reason in
 * message[room]. */
mt_spm *mt_spm_open(const char *bytes, size_t size, char *message, size_t room);

void mt_spm_close(mt_spm *spm); /* NULL is allowed */

/* Segment a text: fn gets one piece after the other. 0, MT_SPM_FAILED, or what fn returned. */
int mt_spm_encode(const mt_spm *spm, const char *text, size_t length, mt_spm_fn fn, void *user, char *message,
                  size_t room);

/* Join pieces, [n] of [length[i]] bytes: fn gets the text, once. 0, MT_SPM_FAILED, or what fn returned. */
int mt_spm_decode(const mt_spm *spm, size_t n, const char *const *piece, const size_t *length, mt_spm_fn fn, void *user,
                  char *message, size_t room);

#ifdef __cplusplus
}
#endif

#endif
