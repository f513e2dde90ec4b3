/* Evidence: n-gram posteriors of an input's outputs, from an earlier search or another system, for minimum Bayes risk (MBR) decoding
 * (Tromble et al. 2008). The scorer `lmbr` reads them from a file and adds bonuses for probable n-grams (docs/search.md).
 *
 * The posterior P(u) of an n-gram u is the total probability of the outputs that contain it. An output's probability is proportional to
 * exp(scale * score). n-grams have 1 to 4 actions (tokens), the end action included.
 * If a timestep has several phases (rill_domain_info.phases), an n-gram has successive actions of one phase.
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
 * A file has a header, a record per input, and an index at the end (docs/algorithms.md).
 * Threads: one at a time per object.
 * Stability: structs and file versions are only appended to. */
#ifndef RILL_EVIDENCE_H
#define RILL_EVIDENCE_H

#include "rill/engine.h"

RILL_C_BEGIN

enum { RILL_NGRAM_MAX = 4 };

/* Describes the model's vocabulary. Evidence fits every model with the same vocabulary. */
typedef struct rill_evidence_kind {
    size_t struct_size;
    int32_t actions;    /* vocabulary size, >= 1 */
    int32_t phases;     /* number of stages per timestep, 1..8 (rill_domain_info.phases) */
    int32_t end_action; /* id of the end action; RILL_NO_ACTION: there is none */
    uint64_t names;     /* hash of all action names, in order of ids; 0: no names */
} rill_evidence_kind;

/* Describe a model's vocabulary in *out. The caller sets out->struct_size. ctx: the calling thread's.
 *   RILL_OK · RILL_ERR_MEMORY · RILL_ERR_ABI */
RILL_API rill_status rill_evidence_kind_for_model(rill_evidence_kind *out, rill_context *ctx, const rill_model *model);

/* --- n-gram posteriors of an input -------------------------------------------------------------------------------- */

typedef struct rill_ngrams rill_ngrams;

/* Create an empty table of n-grams for one input. *out: freed by the caller; NULL on failure.
 *   RILL_OK · RILL_ERR_ARGUMENT (invalid kind) · RILL_ERR_MEMORY */
RILL_API rill_status rill_ngrams_create(rill_ngrams **out, rill_context *ctx, const rill_evidence_kind *kind);
RILL_API void rill_ngrams_free(rill_ngrams *ngrams); /* freeing NULL does nothing */

/* Clear the table; memory is kept. */
RILL_API void rill_ngrams_begin(rill_ngrams *ngrams);

/* Add an output. On failure the table is unchanged.
 *   action: [n], the end action included; action i belongs to phase i modulo phases
 *   score: natural logarithm of an unnormalised weight; rounded to 9 digits, as in n-best lists
 *   RILL_OK · RILL_ERR_INPUT (unknown action, infinite score, or edges were added before) · RILL_ERR_MEMORY */
RILL_API rill_status rill_ngrams_entry(rill_ngrams *ngrams, const int32_t *action, int32_t n, double score);

/* Add a lattice edge with one action, from lattice node `from` to `to`, from < to < 2^20. Paths lead from node 0 to the highest node.
 * A path's score is the sum of its edges' scores. Outputs and edges cannot be mixed.
 *   Returns as rill_ngrams_entry(). */
RILL_API rill_status rill_ngrams_edge(rill_ngrams *ngrams, int32_t from, int32_t to, int32_t action, double score);

/* Compute the exact posteriors. Lattices take time proportional to edges times n-grams.
 *   scale: > 0, multiplies scores; 1 if scores are log-probabilities
 *   RILL_OK · RILL_ERR_INPUT (no output or path, or a node in different phases) · RILL_ERR_ARGUMENT (scale) · RILL_ERR_MEMORY */
RILL_API rill_status rill_ngrams_finish(rill_ngrams *ngrams, double scale);

/* --- evidence files ----------------------------------------------------------------------------------------------- */

/* Receives chunks of the written file, valid during the call. A negative return ends the writing. */
typedef rill_status (*rill_bytes_fn)(void *user, const void *bytes, size_t n);

typedef struct rill_evidence_writer rill_evidence_writer;

/* Start a file: write its header. The writer needs 16 bytes of memory per input.
 *   *out: freed by the caller; NULL on failure
 *   RILL_OK · RILL_ERR_MEMORY · the failure of `write` */
RILL_API rill_status rill_evidence_writer_create(rill_evidence_writer **out, rill_context *ctx,
                                                 const rill_evidence_kind *kind, rill_bytes_fn write, void *user);
/* Write the posteriors of input `id`. Ids ascend; skipped inputs have no evidence.
 *   RILL_OK · RILL_ERR_ARGUMENT (id not above the last one) · RILL_ERR_MEMORY · the failure of `write` */
RILL_API rill_status rill_evidence_put(rill_evidence_writer *writer, int64_t id, const rill_ngrams *ngrams);
/* Write the index; without it the file is invalid. RILL_OK · the failure of `write` */
RILL_API rill_status rill_evidence_writer_finish(rill_evidence_writer *writer);
RILL_API void rill_evidence_writer_free(rill_evidence_writer *writer); /* freeing NULL does nothing */

typedef struct rill_evidence rill_evidence;

/* Open an evidence file. Records are read on demand, so memory does not grow with the file.
 *   *out: closed by the caller; NULL on failure
 *   RILL_OK · RILL_ERR_NOT_FOUND · RILL_ERR_IO (also: not a regular file) · RILL_ERR_FORMAT (incomplete or damaged) · RILL_ERR_MEMORY */
RILL_API rill_status rill_evidence_open(rill_evidence **out, rill_context *ctx, const char *path);
RILL_API void rill_evidence_close(rill_evidence *evidence); /* closing NULL does nothing */
RILL_API const rill_evidence_kind *rill_evidence_kind_in_file(const rill_evidence *evidence);

/* Check that the evidence fits a model: equal phases, actions, end action, and names, if both have names.
 *   RILL_OK · RILL_ERR_FORMAT (recorded: the difference) */
RILL_API rill_status rill_evidence_fits(const rill_evidence *evidence, const rill_evidence_kind *kind);

/* Replace the table's content by the posteriors of input `id`. Table and file must have the same kind.
 *   RILL_OK · RILL_ERR_NOT_FOUND (no record) · RILL_ERR_FORMAT (damaged) · RILL_ERR_IO · RILL_ERR_MEMORY */
RILL_API rill_status rill_evidence_get(rill_evidence *evidence, int64_t id, rill_ngrams *ngrams);

RILL_C_END

#endif
