/* Devices and compute graphs: a domain describes the computation of its neural network as data.
 *
 * A domain defines *what* is computed for a row (one hypothesis), a device *how*: block sizes, threads, kernels.
 * A row's result never depends on the other rows of the batch: bit-exactly on one device, unless opened as `fast`.
 *
 *   open    rill_device_open() · build the network: constants, matrices, tables, graphs · rill_network_finish() checks them.
 *           Device and network are const from then on. Any number of threads may use them.
 *   start   rill_session_open(): one thread's memory for running graphs
 *   decode  rill_session_reserve(), rill_session_set_slots(), rill_session_run(), rill_session_drop()
 *   stop    rill_session_close() · close   rill_network_close(), rill_device_close()
 *
 * Terms
 *   device     holds the weights and runs the operations: "cpu", "cuda:0"
 *   network    weights, tables and graphs of one model or an ensemble
 *   constant   fp32 rows of the model: a bias (one row), an embedding
 *   matrix     N x K weights, packed for the device's GEMM
 *   table      rows that outlive a run, such as the KV cache or encoder outputs
 *   column     an int32 per row, passed by the host in each run, such as token ids
 *   tensor     a temporary: `width` floats per row, valid within a run
 *   space      an index space: which rows a tensor or an operation has
 *   graph      operations in order
 *   run        one execution of a graph on n rows
 *
 * Dimensions: n rows of the run; R, H, V, M, T as in ops.h.
 *
 * A network keeps its first error, and rill_network_finish() returns it: building code needs no checks. A failed call returns a
 * negative handle; calls with a negative handle do nothing.
 *
 * Stability: structs are only appended to. A member that is 0 means "none", unless its comment says otherwise. */
#ifndef RILL_DEVICE_H
#define RILL_DEVICE_H

#include "rill/context.h"
#include "rill/ops.h"
#include "rill/profile.h"

RILL_C_BEGIN

/* --- opening a device --------------------------------------------------------------------------------------------- */

typedef struct rill_device rill_device;

typedef struct rill_device_options {
    size_t struct_size;
    /* "cpu" or NULL; "cuda", "cuda:1": a GPU by number; "auto": the first usable GPU, else the processor */
    const char *name;
    /* instruction set, for tests: "ref", "avx2", "avx512", "avx512vnni", "avx512bf16", "amx", "neon", "neon-dotprod",
     * "neon-i8mm"; NULL: the best one. Results differ in the last bits */
    const char *kernels;
    /* 1: use the GPU's fastest GEMMs; a row's last bits may then depend on the batch */
    int fast;
    /* the weights are int8: only the CPU supports them, other devices are refused, and "auto" skips them */
    int int8;
} rill_device_options;

/* Open a device. options: NULL for the CPU.
 *   RILL_OK · RILL_ERR_OPTION (unknown or unavailable device) · RILL_ERR_MEMORY · RILL_ERR_ABI (device module of another build) */
RILL_API rill_status rill_device_open(rill_device **out, rill_context *ctx, const rill_device_options *options);
/* Close a device after its networks and sessions. Closing NULL does nothing. */
RILL_API void rill_device_close(rill_device *device);

/* The device's name for descriptions: "cpu", "cuda:0, NAME OF THE GPU". */
RILL_API const char *rill_device_name(const rill_device *device);

/* --- networks: weights, tables and graphs ------------------------------------------------------------------------- */

typedef enum rill_weight_type {
    RILL_WEIGHT_F32 = 0,
    RILL_WEIGHT_BF16 = 1, /* bf16 weights and input rows, rounded to nearest even; fp32 sums */
    /* int8 weights with one scale per output; input rows are quantised at run time */
    RILL_WEIGHT_INT8 = 2,
    /* GPU: fp16 weights and rows, fp32 sums; rows are clamped at 65504 */
    RILL_WEIGHT_F16 = 3,
} rill_weight_type;

/* Create an empty network. RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_network_open(rill_network **out, rill_context *ctx, const rill_device *device);
/* Close a network after its sessions. Closing NULL does nothing. */
RILL_API void rill_network_close(rill_network *network);

/* Add a constant: `rows` contiguous rows of `width` floats. `data` is borrowed and must outlive the network. */
RILL_API rill_constant rill_network_constant(rill_network *network, const float *data, size_t rows, size_t width);

/* Add a matrix of n x k weights; row i begins at w + i * stride. The weights are copied and packed. */
RILL_API rill_matrix rill_network_matrix(rill_network *network, rill_weight_type type, size_t n, size_t k,
                                         const float *w, size_t stride);

/* Precompute a layer for rows known in advance, such as a vocabulary: bias + a W^T in fp32, [rows, n].
 * The result is bit-identical to a product in a graph. All data is copied.
 *   a: [rows, k] · w: [n, k], row i at w + i * stride · bias: [n], or NULL */
RILL_API rill_constant rill_network_product(rill_network *network, const float *a, size_t rows, size_t k,
                                            const float *w, size_t n, size_t stride, const float *bias);

typedef enum rill_table_kind {
    /* [nodes, width]: one row per hypothesis state (node), such as the KV cache */
    RILL_TABLE_NODES,
    RILL_TABLE_SLOTS, /* [slots, width]: one row per input in flight (slot) */
    /* [units, width] per input in flight (slot): one row per token, such as encoder outputs; see rill_session_set_slots() */
    RILL_TABLE_RAGGED,
    RILL_TABLE_HOST, /* [rows, width] filled by the host, see rill_session_fill() */
} rill_table_kind;

/* Add a table with rows of `width` floats. `what` names the table in error messages. */
RILL_API rill_table rill_network_table(rill_network *network, rill_table_kind kind, size_t width, const char *what);

/* Add a vocabulary subset: a list of symbols per input, either symbols to mask or a shortlist (the input's output vocabulary).
 * A shortlist has weights: `rows` [V, H], packed as `type`, and perhaps `bias` [1, V]. Symbols to mask: both RILL_NONE. */
RILL_API rill_vocab_subset rill_network_vocab_subset(rill_network *network, rill_constant rows, rill_constant bias,
                                                     rill_weight_type type, const char *what);

/* --- building graphs ---------------------------------------------------------------------------------------------- */

/* Begin an empty graph. name: for messages and profiles. */
RILL_API rill_graph rill_graph_begin(rill_network *network, const char *name);

/* Derive an index space from `parent`:
 *   where     the rows of `parent` with `column` >= 0, in order
 *   distinct  one row per distinct value >= 0 of `column`, such as the parents that siblings share; may have duplicates
 *   ragged    the tokens of all rows: row r of `parent`, RILL_ROWS, has length[r] >= 0 tokens
 * Create index spaces before the first operation, from columns that the host passes. `distinct` has no derived spaces. */
RILL_API rill_index_space rill_index_space_where(rill_network *network, rill_graph graph, rill_index_space parent,
                                                 rill_column column);
RILL_API rill_index_space rill_index_space_distinct(rill_network *network, rill_graph graph, rill_index_space parent,
                                                    rill_column column);
RILL_API rill_index_space rill_index_space_ragged(rill_network *network, rill_graph graph, rill_column length);

/* Declare the graph's next column; the host passes columns in this order (rill_run_arguments). parent: RILL_ROWS or a ragged
 * index space. The operation `best` may write a column, for the host to read. */
RILL_API rill_column rill_column_input(rill_network *network, rill_graph graph, rill_index_space parent,
                                       const char *what);

/* Make a temporary tensor of `width` floats per row of `parent`. */
RILL_API rill_tensor rill_tensor_make(rill_network *network, rill_graph graph, rill_index_space parent, size_t width);

/* Views: the operands of operations (ops.h). */

/* View a tensor at the operation's own row. Allowed index spaces of the tensor:
 *   - the operation's index space;
 *   - a space that it is derived from by `where` or `ragged`: a token reads the row of its input;
 *   - for reading only, a space derived from these by `distinct` (siblings read their parent's row) or `where` (rows left out read
 *     index -1). */
RILL_API rill_view rill_view_value(rill_tensor value);
/* View one token per input of a ragged tensor. column: the token's number, from 0. */
RILL_API rill_view rill_view_unit(rill_tensor value, rill_column column);
/* View rows of a table or constant, at the indexes in column `row`. RILL_OWN: a `distinct` row reads at its column's value, a token
 * at its number. */
RILL_API rill_view rill_view_table(rill_table table, rill_column row);
RILL_API rill_view rill_view_constant(rill_constant constant, rill_column row);
/* View a ragged table at token `unit` of slot `slot`. RILL_OWN as `unit`: the token's own number. */
RILL_API rill_view rill_view_ragged(rill_table table, rill_column slot, rill_column unit);
/* View the same rows from float `first` on. */
RILL_API rill_view rill_view_offset(rill_view view, size_t first);

/* Prefetch hint: the next graph will read this table's rows of the slots in column `slot`. */
RILL_API void rill_graph_prefetch(rill_network *network, rill_graph graph, rill_table table, rill_column slot);

/* Check all graphs; the network is then complete.
 *   RILL_OK · the first failure of a call above: RILL_ERR_ARGUMENT (the message names graph, operation and mismatch) ·
 *   RILL_ERR_MEMORY · RILL_ERR_FORMAT (a weight is out of its type's range) */
RILL_API rill_status rill_network_finish(rill_network *network);

/* Memory use in bytes.
 *   node      per hypothesis state
 *   slot      per input in flight
 *   unit      per token of an input
 *   symbol    per symbol of an input's vocabulary subsets; packed weights need RILL_VOCAB_SUBSET_PADDING more symbols
 *   row, session   working memory on GPUs, per row of a timestep and per session; 0 on the CPU. For rill_domain_info.row_bytes and
 *                  .runner_bytes */
typedef struct rill_network_bytes {
    int64_t node, slot, unit, symbol, row, session;
} rill_network_bytes;
enum { RILL_VOCAB_SUBSET_PADDING = 15 };
RILL_API rill_network_bytes rill_network_sizes(const rill_network *network);

/* --- sessions: where graphs run ----------------------------------------------------------------------------------- */

typedef struct rill_session rill_session;

/* Open a session with `threads` >= 1 threads, the caller's included. One thread at a time may use the session.
 *   RILL_OK · RILL_ERR_MEMORY (also when the system refuses threads) */
RILL_API rill_status rill_session_open(rill_session **out, rill_context *ctx, const rill_network *network, int threads);
RILL_API void rill_session_close(rill_session *stream); /* closing NULL does nothing */

/* Reserve rows for node ids below `nodes` and slots below `slots`. The tables keep their contents. */
RILL_API rill_status rill_session_reserve(rill_session *stream, int32_t nodes, int32_t slots);

/* Give slot slots[i] units[i] rows in every ragged table, for each i < n. The slot's old contents are lost.
 *   RILL_OK · RILL_ERR_MEMORY (nothing changed) */
RILL_API rill_status rill_session_set_slots(rill_session *stream, int32_t n, const int32_t *slots,
                                            const int32_t *units);
RILL_API int32_t rill_session_units(const rill_session *stream, int32_t slot);
/* Release a slot's rows in ragged tables and its vocabulary subsets. */
RILL_API void rill_session_drop(rill_session *stream, int32_t slot);

/* Write rows [first, first + n) of a RILL_TABLE_HOST table. Rows below `first` must be written already. */
RILL_API rill_status rill_session_fill(rill_session *stream, rill_table table, int32_t first, int32_t n,
                                       const float *rows);

/* Read n rows from row `row` on, for tests and tools; of a ragged table, n tokens of slot `row` from token `first` on.
 *   rows: [n, width] out
 *   RILL_OK · RILL_ERR_ARGUMENT (no such rows) */
RILL_API rill_status rill_session_read(const rill_session *stream, rill_table table, int32_t row, int32_t first,
                                       int32_t n, float *rows);

/* Set an input's vocabulary subset: n symbols in ascending order. */
RILL_API rill_status rill_session_set_vocab_subset(rill_session *stream, rill_vocab_subset list, int32_t slot,
                                                   int32_t n, const int32_t *symbols);
RILL_API int32_t rill_session_vocab_subset_size(const rill_session *stream, rill_vocab_subset list, int32_t slot);

/* --- running graphs ----------------------------------------------------------------------------------------------- */

/* Request and result of the operation `best` or `mix`, as rill_score_request and rill_score_result in domain.h. */
typedef struct rill_selection {
    /* number M of best legal actions per row; 0: only the picks below */
    int32_t max_choices;
    size_t legal_words;    /* number of 64-bit words in one set */
    const uint64_t *legal; /* [sets, legal_words] bitsets of actions, or NULL */
    /* [n] index of the row's set of legal actions; -1: all actions. NULL: all, for all rows */
    const int32_t *legal_set;
    /* number of picks: actions whose log-probability is requested by id */
    int32_t n_picks;
    const int32_t *pick_row, *pick_action;
    int32_t stride; /* entries per row of `action` and `logp`, >= max_choices */
    /* [n] out: number of actions returned per row. If M > 0, rows outside the operation's index space are not written */
    int32_t *count;
    int32_t *action; /* [n, stride] out: the best actions of each row, best first */
    float *logp;     /* [n, stride] out: log-probabilities of these actions */
    /* [n_picks] out: log-probabilities of the picks; -infinity outside the vocabulary. Rows outside the index space are not written */
    float *pick_logp;
} rill_selection;

typedef struct rill_run_arguments {
    size_t struct_size;
    int32_t n; /* rows of the run; 0 is legal */
    /* the graph's columns in order: [n], or one entry per token in a ragged space. Writable, if `best` writes one */
    const int32_t *const *columns;
    /* request and result of the graph's operation `best` or `mix`; NULL: the graph has neither */
    const rill_selection *selection;
    /* [n, ld_watched] out: attention weights per key, averaged over the watched heads; NULL: none. The first T per row are written */
    float *watched;
    size_t ld_watched;
    /* 0: wait for the results; 1, 2: run asynchronously, for micro-batch 0 or 1 (rill_rows.group) */
    int32_t async_group;
} rill_run_arguments;

/* Run a graph. Runs take effect in order; a run without results for the host may return early.
 *   RILL_OK · RILL_AGAIN (asynchronous: keep all arrays valid until rill_session_collect(); one such run per micro-batch) ·
 *   RILL_ERR_MEMORY · RILL_ERR_DEVICE (the device failed, in this run or before; later runs may fail too) */
RILL_API rill_status rill_session_run(rill_session *stream, rill_graph graph, const rill_run_arguments *arguments);

/* Wait for the asynchronous run of micro-batch `group` (0 or 1), if any. RILL_OK · RILL_ERR_DEVICE */
RILL_API rill_status rill_session_collect(rill_session *stream, int32_t group);

/* Return the number of hypotheses that fill the device, for rill_domain_info.group_rows; 0: the device is synchronous. */
RILL_API int32_t rill_device_group_rows(const rill_device *device);

/* Return the device memory free for sessions in bytes, less a tenth; 0: unknown. For rill_domain_info.memory_bytes. */
RILL_API int64_t rill_device_free_bytes(const rill_device *device);

/* --- functions for a domain's runner ------------------------------------------------------------------------------ */

/* Ready-made methods for rill_domain: drop, collect, profile, profile_row, limits, graph_runs.
 * runner: a `rill_session **`, or a struct whose first member is a `rill_session *`. */
RILL_API void rill_runner_drop(void *runner, int32_t slot);
RILL_API rill_status rill_runner_collect(void *runner, int32_t group);
/* Start profiling from zero (on = 1), or stop (on = 0). RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_runner_profile(void *runner, int on);
/* Write the profile of operation i, counted over all graphs, to *out. Returns 1; 0 if there is none. */
RILL_API int rill_runner_profile_row(const void *runner, int32_t i, rill_op_profile *out);
/* Measure one thread's peak performance, in about 0.1 s; zeros except on the CPU. */
RILL_API rill_status rill_runner_limits(void *runner, rill_limits *out);
/* Write how often graphs ran, and how. */
RILL_API void rill_runner_graph_runs(const void *runner, rill_graph_runs *out);

RILL_C_END

#endif
