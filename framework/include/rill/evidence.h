/* Evidence: how probable n-grams of actions are in the outputs of an input, before it is decoded.
 *
 * Evidence is a set of outputs with scores, an n-best list or a lattice, of any system. The posterior P(u) of an n-gram u is the mass
 * of the outputs that contain it, whether once or more often; masses are proportional to exp(scale * score), and those of one
 * input add up to 1. n-grams have 1 to 4 actions. In a domain of several phases an n-gram is made of actions of one phase, as if the
 * others were not there. The end action is an action like any other. The scorer `lmbr` adds what evidence says to scores (docs/search.md).
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
 * A file is a header, a record per input, and behind them an index, so that any record is read alone; docs/algorithms.md has its
 * bytes. Nothing is mapped. One thread at a time per object. Stability: structs are only appended to, and so are versions of the file. */
#ifndef RILL_EVIDENCE_H
#define RILL_EVIDENCE_H

#include "rill/engine.h"

RILL_C_BEGIN

enum { RILL_NGRAM_MAX = 4 };

/* What the actions are that n-grams are made of: evidence is of use to a model of the same kind. */
typedef struct rill_evidence_kind {
    size_t struct_size;
    int32_t actions;    /* of the model, >= 1 */
    int32_t phases;     /* 1..8 */
    int32_t end_action; /* RILL_NO_ACTION: it has none */
    uint64_t names;     /* a hash of the actions' names in order; 0: they have none */
} rill_evidence_kind;

/* The model's kind. `ctx`: the asking thread's. RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_evidence_kind_for_model(rill_evidence_kind *out, rill_context *ctx, const rill_model *model);

/* --- one input's posteriors --------------------------------------------------------------------------------------- */

typedef struct rill_ngrams rill_ngrams;

/* Make an empty table.
 *   out: freed by the caller; NULL on failure
 *   RILL_OK · RILL_ERR_ARGUMENT (the kind) · RILL_ERR_MEMORY */
RILL_API rill_status rill_ngrams_create(rill_ngrams **out, rill_context *ctx, const rill_evidence_kind *kind);
RILL_API void rill_ngrams_free(rill_ngrams *ngrams); /* NULL is allowed */

/* Forget everything; memory is kept. */
RILL_API void rill_ngrams_begin(rill_ngrams *ngrams);

/* Add an output: its actions [n], the end action included if it has one; action i belongs to phase i modulo phases.
 * score: natural logarithm of a weight, of any sum; it counts with 9 significant digits, as n-best lists are written with, so that
 * evidence is the same whether outputs went through a list or not.
 *   RILL_OK · RILL_ERR_INPUT (an action that the model has not; a score that is not finite; edges were added) · RILL_ERR_MEMORY;
 *   on failure the entry is not there */
RILL_API rill_status rill_ngrams_entry(rill_ngrams *ngrams, const int32_t *action, int32_t n, double score);

/* Or add an edge of a lattice, from node `from` to node `to` of a larger number below 2^20, with one action. Paths lead from node 0 to
 * the node of the largest number; a path's score is the sum of its edges'.
 *   returns as rill_ngrams_entry() */
RILL_API rill_status rill_ngrams_edge(rill_ngrams *ngrams, int32_t from, int32_t to, int32_t action, double score);

/* Make posteriors of the entries, or of the edges: exactly, of a lattice too, in time proportional to edges times n-grams.
 * scale: of scores, above 0; 1: scores are log-probabilities.
 *   RILL_OK · RILL_ERR_INPUT (no entry; no path through the lattice; a node that paths reach in different phases) ·
 *   RILL_ERR_ARGUMENT (the scale) · RILL_ERR_MEMORY */
RILL_API rill_status rill_ngrams_finish(rill_ngrams *ngrams, double scale);

/* P of the n-gram action[0, m), 1 <= m <= 4, of a phase, between 0 and 1; 0 of what is not there. */
RILL_API float rill_ngrams_posterior(const rill_ngrams *ngrams, int32_t phase, const int32_t *action, int32_t m);

/* --- files --------------------------------------------------------------------------------------------------------- */

/* Takes bytes; they are valid during the call. A negative return ends the writing. */
typedef rill_status (*rill_bytes_fn)(void *user, const void *bytes, size_t n);

typedef struct rill_evidence_writer rill_evidence_writer;

/* Begin a file: write its header. What is written is kept by nobody, but for 16 bytes per input.
 *   out: on success a writer that the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_MEMORY · what `write` returns */
RILL_API rill_status rill_evidence_writer_create(rill_evidence_writer **out, rill_context *ctx,
                                                 const rill_evidence_kind *kind, rill_bytes_fn write, void *user);
/* Write the posteriors of input `id`, ids ascending; an id that is left out is an input without evidence.
 *   RILL_OK · RILL_ERR_ARGUMENT (the id) · RILL_ERR_MEMORY · what `write` returns */
RILL_API rill_status rill_evidence_put(rill_evidence_writer *writer, int64_t id, const rill_ngrams *ngrams);
/* Write the index: without it nothing is a file of evidence. RILL_OK · what `write` returns */
RILL_API rill_status rill_evidence_writer_finish(rill_evidence_writer *writer);
RILL_API void rill_evidence_writer_free(rill_evidence_writer *writer); /* NULL is allowed */

typedef struct rill_evidence rill_evidence;

/* Open a file of evidence, a regular one. What is read of it is what is asked for: memory does not grow with the file.
 *   out: on success evidence that the caller closes; on failure NULL
 *   RILL_OK · RILL_ERR_NOT_FOUND (no such file) · RILL_ERR_IO · RILL_ERR_FORMAT (no whole file of evidence) · RILL_ERR_MEMORY */
RILL_API rill_status rill_evidence_open(rill_evidence **out, rill_context *ctx, const char *path);
RILL_API void rill_evidence_close(rill_evidence *evidence); /* NULL is allowed */
RILL_API const rill_evidence_kind *rill_evidence_kind_in_file(const rill_evidence *evidence);
RILL_API int64_t rill_evidence_inputs(const rill_evidence *evidence);

/* Whether n-grams of the file are of that kind: *kind's phases and number of actions are the same, the end action too, and names
 * where both have them.
 *   RILL_OK · RILL_ERR_FORMAT (recorded: what differs) */
RILL_API rill_status rill_evidence_fits(const rill_evidence *evidence, const rill_evidence_kind *kind);

/* Read the posteriors of input `id` in place of what the table held, which was made with the file's kind.
 *   RILL_OK · RILL_ERR_NOT_FOUND (there are none for it) · RILL_ERR_FORMAT (damaged) · RILL_ERR_IO · RILL_ERR_MEMORY */
RILL_API rill_status rill_evidence_get(rill_evidence *evidence, int64_t id, rill_ngrams *ngrams);

RILL_C_END

#endif
