/* Evidence: scored outputs of an input, from an earlier search or another system, for minimum Bayes risk (MBR) decoding of that input.
 *
 * A program computes n-gram posteriors from an n-best list or a lattice, and writes them to a file. The scorer `lmbr` reads the file, and
 * adds bonuses for n-grams with a high posterior (docs/search.md).
 *
 * The posterior P(u) of an n-gram u is the total probability of the outputs that contain it. An output's probability is proportional to
 * exp(scale * score); the probabilities of an input's outputs sum to 1. n-grams have 1 to 4 actions (the model's tokens), the end action
 * included. In a model of several phases per timestep (rill_domain_info.phases), an n-gram consists of successive actions of the same
 * phase.
 *
 *     rill_evidence_kind_for_model(&kind, ctx, model);
 *     rill_ngrams_create(&ngrams, ctx, &kind);
 *     rill_evidence_writer_create(&writer, ctx, &kind, write, user);
 *     for each input that has evidence, ids ascending:
 *         rill_ngrams_begin(ngrams);
 *         for each output: rill_ngrams_entry(ngrams, action, n, score);      // or rill_ngrams_edge() for each edge of a lattice
 *         rill_ngrams_finish(ngrams, 1);
 *         rill_evidence_put(writer, id, ngrams);
 *     rill_evidence_writer_finish(writer);
 *
 * A file is a header, a record per input, and an index at the end for random access; docs/algorithms.md documents the bytes. Files are
 * read, not mapped into memory. An object may be used by one thread at a time.
 * Stability: structs are only appended to, and so are versions of the file. */
#ifndef RILL_EVIDENCE_H
#define RILL_EVIDENCE_H

#include "rill/engine.h"

RILL_C_BEGIN

enum { RILL_NGRAM_MAX = 4 };

/* The vocabulary of the actions in n-grams. Evidence can be used with any model that has the same vocabulary. */
typedef struct rill_evidence_kind {
    size_t struct_size;
    int32_t actions;    /* number of actions of the model (vocabulary size), >= 1 */
    int32_t phases;     /* number of phases per timestep, 1..8 (rill_domain_info.phases) */
    int32_t end_action; /* id of the end action; RILL_NO_ACTION: there is none */
    uint64_t names;     /* hash of the names of all actions, in order of their ids; 0: the model has no names */
} rill_evidence_kind;

/* Describe the model's vocabulary in *out: number of actions, phases, end action, hash of the actions' names. The caller sets
 * out->struct_size. `ctx`: the calling thread's.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_ABI */
RILL_API rill_status rill_evidence_kind_for_model(rill_evidence_kind *out, rill_context *ctx, const rill_model *model);

/* --- one input's posteriors --------------------------------------------------------------------------------------- */

typedef struct rill_ngrams rill_ngrams;

/* Make an empty table of n-grams for one input.
 *   out: freed by the caller; NULL on failure
 *   RILL_OK · RILL_ERR_ARGUMENT (invalid kind) · RILL_ERR_MEMORY */
RILL_API rill_status rill_ngrams_create(rill_ngrams **out, rill_context *ctx, const rill_evidence_kind *kind);
RILL_API void rill_ngrams_free(rill_ngrams *ngrams); /* NULL is allowed */

/* Clear the table; memory is kept. */
RILL_API void rill_ngrams_begin(rill_ngrams *ngrams);

/* Add an output: its actions [n], an end action included; action i belongs to phase i modulo phases. score: the natural logarithm of an
 * unnormalised weight, rounded to 9 significant digits, the precision of n-best lists: evidence is the same through a list.
 *   RILL_OK · RILL_ERR_INPUT (an unknown action; a score that is not finite; edges were added before) · RILL_ERR_MEMORY; on failure the
 *   table is unchanged */
RILL_API rill_status rill_ngrams_entry(rill_ngrams *ngrams, const int32_t *action, int32_t n, double score);

/* Add an edge of a lattice, for a table without n-best outputs, from node `from` to a higher node `to` < 2^20, with one action. Paths lead
 * from node 0 to the highest node; a path's score is the sum of its edges'.
 *   returns as rill_ngrams_entry() */
RILL_API rill_status rill_ngrams_edge(rill_ngrams *ngrams, int32_t from, int32_t to, int32_t action, double score);

/* Compute the posteriors from the outputs or edges, exactly, in time proportional to edges times n-grams for lattices. scale: multiplies
 * scores, above 0; 1: scores are log-probabilities.
 *   RILL_OK · RILL_ERR_INPUT (no output; no path through the lattice; a node that paths reach in different phases) ·
 *   RILL_ERR_ARGUMENT (invalid scale) · RILL_ERR_MEMORY */
RILL_API rill_status rill_ngrams_finish(rill_ngrams *ngrams, double scale);

/* Returns the posterior of the n-gram action[0, m), 1 <= m <= 4, in a phase, from 0 to 1; 0 if it is not in the table. */
RILL_API float rill_ngrams_posterior(const rill_ngrams *ngrams, int32_t phase, const int32_t *action, int32_t m);

/* --- files -------------------------------------------------------------------------------------------------------- */

/* Receives the bytes of a file as it is written, valid during the call. A negative return aborts the writing. */
typedef rill_status (*rill_bytes_fn)(void *user, const void *bytes, size_t n);

typedef struct rill_evidence_writer rill_evidence_writer;

/* Start a file: write its header. The writer keeps only 16 bytes per input in memory.
 *   out: on success a writer that the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_MEMORY · the failure that `write` returns */
RILL_API rill_status rill_evidence_writer_create(rill_evidence_writer **out, rill_context *ctx,
                                                 const rill_evidence_kind *kind, rill_bytes_fn write, void *user);
/* Write the posteriors of input `id`, ids ascending; inputs whose ids are skipped have no evidence.
 *   RILL_OK · RILL_ERR_ARGUMENT (the id is not above the last one) · RILL_ERR_MEMORY · the failure that `write` returns */
RILL_API rill_status rill_evidence_put(rill_evidence_writer *writer, int64_t id, const rill_ngrams *ngrams);
/* Write the index, without which the file is invalid. RILL_OK · the failure that `write` returns */
RILL_API rill_status rill_evidence_writer_finish(rill_evidence_writer *writer);
RILL_API void rill_evidence_writer_free(rill_evidence_writer *writer); /* NULL is allowed */

typedef struct rill_evidence rill_evidence;

/* Open an evidence file, which must be a regular file. Records are read on demand: memory does not grow with the file.
 *   out: on success evidence that the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND (no such file) · RILL_ERR_IO · RILL_ERR_FORMAT (not a complete evidence file) · RILL_ERR_MEMORY */
RILL_API rill_status rill_evidence_open(rill_evidence **out, rill_context *ctx, const char *path);
RILL_API void rill_evidence_close(rill_evidence *evidence); /* NULL is allowed */
RILL_API const rill_evidence_kind *rill_evidence_kind_in_file(const rill_evidence *evidence);

/* Check that the evidence fits a model of that kind: equal phases, actions and end action, and equal names if both have names.
 *   RILL_OK · RILL_ERR_FORMAT (recorded: the difference) */
RILL_API rill_status rill_evidence_fits(const rill_evidence *evidence, const rill_evidence_kind *kind);

/* Read the posteriors of input `id` into the table, replacing its content; the table must have the file's kind.
 *   RILL_OK · RILL_ERR_NOT_FOUND (the file has no record for this input) · RILL_ERR_FORMAT (damaged) · RILL_ERR_IO · RILL_ERR_MEMORY */
RILL_API rill_status rill_evidence_get(rill_evidence *evidence, int64_t id, rill_ngrams *ngrams);

RILL_C_END

#endif
