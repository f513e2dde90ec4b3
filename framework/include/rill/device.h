/* Devices and compute graphs: a neural domain describes its computation once, as data.
 *
 * A domain defines *what* is computed for a row, a device *how*: block sizes, threads, kernels. So a row's result must never depend on how
 * rows are batched. Every device guarantees this, bit-exactly within one device, unless it is opened `fast`.
 *
 *   open    rill_device_open() · the network: its constants, matrices, tables and graphs (a step, a score, an encoder) ·
 *           rill_network_finish() checks them. After that device and network are const, and any number of threads may use them.
 *   start   rill_session_open(): one thread's memory for running graphs: rows of the tables, scratch, threads
 *   decode  rill_session_reserve(), rill_session_set_slots(), rill_session_run(), rill_session_drop()
 *   stop    rill_session_close() · close   rill_network_close(), rill_device_close()
 *
 * Terms
 *   device     holds the weights and runs the operations: "cpu", "cuda:0"
 *   network    the weights, tables and graphs of one model, or of several (ensembles)
 *   constant   rows of fp32 that belong to the model: a bias (one row), an embedding
 *   matrix     N x K weights packed for the device's matrix products
 *   table      rows of a session that outlive a run, such as the KV cache: a row per node, a row per slot, a row per token of a slot's
 *              input (ragged), or rows that the host fills (positions)
 *   column     an int32 per row of an index space, passed by the host with each run: node, slot, action, or computed by the domain
 *   tensor     a temporary of `width` floats per row of an index space, valid within a run; a later operation may overwrite it
 *   space      an index space, the meaning of rows: the rows of the run; or, derived from another index space, its rows where a column
 *              is >= 0, the distinct values of a column, or the tokens of ragged inputs
 *   graph      operations in order, built once, then checked: widths, spaces, no read before a write
 *   run        a graph applied to n rows with their columns
 *
 * Dimensions: n rows of the run; R, H, V, M, T as in ops.h.
 *
 * While a network is built it keeps the first error. A failed call returns a negative handle, calls with a negative handle do nothing, and
 * rill_network_finish() returns the error. So building code needs no checks.
 *
 * Stability: structs are only appended to. A member that is 0 means "none", unless its comment says otherwise. */
#ifndef RILL_DEVICE_H
#define RILL_DEVICE_H

#include "rill/context.h"
#include "rill/ops.h"
#include "rill/profile.h"

RILL_C_BEGIN

/* --- the device --------------------------------------------------------------------------------------------------- */

typedef struct rill_device rill_device;

typedef struct rill_device_options {
    size_t struct_size;
    /* "cpu" or NULL; "cuda", "cuda:1": a GPU by number; "auto": the first usable GPU, else the processor */
    const char *name;
    /* best instruction set to use on the processor: "ref", "avx2", "avx512", "avx512vnni", "avx512bf16", "neon", "neon-dotprod",
     * "neon-i8mm"; NULL: the best available. For tests: results differ in the last bits */
    const char *kernels;
    /* on a GPU use the fastest matrix products: a row's last bits may then depend on the other rows of the batch */
    int fast;
    /* the model has int8 weights, which only the processor supports: other devices are refused, and "auto" skips them */
    int int8;
} rill_device_options;

/* Open a device; `options` may be NULL: the processor. RILL_OK · RILL_ERR_OPTION (unknown or unavailable device) · RILL_ERR_MEMORY
 * RILL_ERR_ABI (the device's module belongs to another build) */
RILL_API rill_status rill_device_open(rill_device **out, rill_context *ctx, const rill_device_options *options);
RILL_API void rill_device_close(rill_device *device); /* NULL is allowed; close its networks and sessions first */

/* The device's name for descriptions: "cpu", "cuda:0, NAME OF THE GPU". */
RILL_API const char *rill_device_name(const rill_device *device);

/* --- networks: weights, tables and graphs ------------------------------------------------------------------------- */

typedef enum rill_weight_type {
    RILL_WEIGHT_F32 = 0,
    RILL_WEIGHT_BF16 =
        1, /* weights rounded to bf16, ties to even; so are rows where bf16 is multiplied. Sums are fp32 */
    /* int8 weights with one scale per output; input rows are quantised at run time, once for all products that read them */
    RILL_WEIGHT_INT8 = 2,
    /* on a GPU: weights and rows in half precision, fp32 accumulation. Rows are clamped at 65504 */
    RILL_WEIGHT_F16 = 3,
} rill_weight_type;

/* Create an empty network. RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_network_open(rill_network **out, rill_context *ctx, const rill_device *device);
RILL_API void rill_network_close(rill_network *network); /* NULL is allowed; close its sessions first */

/* Add a constant: `rows` contiguous rows of `width` floats. `data` is borrowed and must outlive the network. */
RILL_API rill_constant rill_network_constant(rill_network *network, const float *data, size_t rows, size_t width);

/* Add a matrix of n x k weights, whose row i begins at w + i * stride. The weights are copied into the device's packed format. */
RILL_API rill_matrix rill_network_matrix(rill_network *network, rill_weight_type type, size_t n, size_t k,
                                         const float *w, size_t stride);

/* Add a precomputed layer for rows known in advance, such as a vocabulary. The constant is bias + a W^T in fp32, [rows, n], bit-identical
 * to a product in a graph. a: [rows, k]; row i of W, [n, k], begins at w + i * stride; bias: [n], or NULL. All data is copied. */
RILL_API rill_constant rill_network_product(rill_network *network, const float *a, size_t rows, size_t k,
                                            const float *w, size_t n, size_t stride, const float *bias);

typedef enum rill_table_kind {
    /* [nodes, width]: one row for each hypothesis state (node), such as a position of the KV cache */
    RILL_TABLE_NODES,
    RILL_TABLE_SLOTS, /* [slots, width]: one row per input in flight */
    /* for each slot [units, width]: one row per token of the slot's input, such as encoder outputs. A slot has the same number of tokens in
     * all ragged tables of a session (rill_session_set_slots()) */
    RILL_TABLE_RAGGED,
    RILL_TABLE_HOST, /* [rows, width] filled by the host, see rill_session_fill() */
} rill_table_kind;

/* Add a table with rows of `width` floats. `what` names the table in error messages. */
RILL_API rill_table rill_network_table(rill_network *network, rill_table_kind kind, size_t width, const char *what);

/* Add a vocabulary subset: for each slot a list of symbols, either symbols to mask, or the output vocabulary of the slot's input (a
 * shortlist).
 * A shortlist has weights: `rows`, a constant [V, H], packed as `type` for the list's symbols, and perhaps `bias`, a constant [1, V].
 * For symbols to mask both are RILL_NONE. */
RILL_API rill_vocab_subset rill_network_vocab_subset(rill_network *network, rill_constant rows, rill_constant bias,
                                                     rill_weight_type type, const char *what);

/* --- graphs ------------------------------------------------------------------------------------------------------- */

/* Begin a graph, still without operations. `name` is for messages and profiles. */
RILL_API rill_graph rill_graph_begin(rill_network *network, const char *name);

/* Index spaces derived from `parent`:
 *   where     the rows of `parent` with `column` >= 0, in order
 *   distinct  one row per distinct value of `column`, such as the parents that siblings share; the device may leave duplicates. Rows of
 *             `parent` with a negative `column` have no row here: they read a negative row index
 *   ragged    `parent` is RILL_ROWS; row r has length[r] >= 0 consecutive tokens
 * Create index spaces before the first operation, from columns that the host passes. No index space can be derived from a `distinct`
 * one. */
RILL_API rill_index_space rill_index_space_where(rill_network *network, rill_graph graph, rill_index_space parent,
                                                 rill_column column);
RILL_API rill_index_space rill_index_space_distinct(rill_network *network, rill_graph graph, rill_index_space parent,
                                                    rill_column column);
RILL_API rill_index_space rill_index_space_ragged(rill_network *network, rill_graph graph, rill_column length);

/* Declare the graph's next column. The host passes columns in order of declaration (rill_run_arguments). `parent` is RILL_ROWS or a ragged
 * index space. A column that a `best` operation writes is returned to the host. */
RILL_API rill_column rill_column_input(rill_network *network, rill_graph graph, rill_index_space parent,
                                       const char *what);

/* Make a tensor: a temporary of `width` floats per row of `parent`. */
RILL_API rill_tensor rill_tensor_make(rill_network *network, rill_graph graph, rill_index_space parent, size_t width);

/* The functions below make views, which are the operands of operations (ops.h). */

/* Read a tensor at the operation's own row. The tensor's index space may be
 *   - the operation's index space;
 *   - an index space from which the operation's index space is derived: a token reads the row of its input, and a `where` row reads the row
 *   that it selects. A `distinct` row stands for several rows, so it cannot read any of them;
 *   - for reading only, an index space that is derived from these by `distinct` (siblings read the row of their parent) or by `where` (a
 *   row that was left out has a negative index). */
RILL_API rill_view rill_view_value(rill_tensor value);
/* Read one token per input from a ragged tensor: the token whose number, counted from 0, is in `column`. */
RILL_API rill_view rill_view_unit(rill_tensor value, rill_column column);
/* Read rows of a table or a constant, at the indexes in column `row`. RILL_OWN: in a `distinct` space the value of its column, in a ragged
 * space the number of the unit. */
RILL_API rill_view rill_view_table(rill_table table, rill_column row);
RILL_API rill_view rill_view_constant(rill_constant constant, rill_column row);
/* Read from a ragged table: row number `unit` of slot `slot`. RILL_OWN as `unit`: the number of the token that is computed. */
RILL_API rill_view rill_view_ragged(rill_table table, rill_column slot, rill_column unit);
/* Return a view of the same rows that begins at float `first` of each row. */
RILL_API rill_view rill_view_offset(rill_view view, size_t first);

/* A hint for prefetching: the next graph will read this table's rows of the slots in column `slot`. */
RILL_API void rill_graph_prefetch(rill_network *network, rill_graph graph, rill_table table, rill_column slot);

/* Finish the network: check all of its graphs.
 *   RILL_OK · the first failure of any call above: RILL_ERR_ARGUMENT (the message names graph, operation and mismatch); RILL_ERR_MEMORY;
 *   RILL_ERR_FORMAT (a weight is out of its type's range) */
RILL_API rill_status rill_network_finish(rill_network *network);

/* Memory use in bytes: `node` per node, `slot` per slot, `unit` per token of a slot. Vocabulary subsets need `symbol` per symbol in all
 * lists of a slot; their packed weights need RILL_VOCAB_SUBSET_PADDING more symbols per slot. On a device with its own memory the figures
 * include the peak working memory: `row` per row of a timestep (rill_domain_info.row_bytes), `session` per session
 * (rill_domain_info.runner_bytes), and that of encoding, in `slot` and `unit`. On the processor `row` and `session` are 0. */
typedef struct rill_network_bytes {
    int64_t node, slot, unit, symbol, row, session;
} rill_network_bytes;
enum { RILL_VOCAB_SUBSET_PADDING = 15 };
RILL_API rill_network_bytes rill_network_sizes(const rill_network *network);

/* --- sessions: where graphs run ----------------------------------------------------------------------------------- */

typedef struct rill_session rill_session;

/* Open a session of the network with `threads` >= 1 threads, the caller's included. One thread at a time may use it.
 *   RILL_OK · RILL_ERR_MEMORY (also when the system refuses threads) */
RILL_API rill_status rill_session_open(rill_session **out, rill_context *ctx, const rill_network *network, int threads);
RILL_API void rill_session_close(rill_session *stream); /* NULL is allowed */

/* From now on calls may use ids of nodes below `nodes` and of slots below `slots`. The tables keep their contents. */
RILL_API rill_status rill_session_reserve(rill_session *stream, int32_t nodes, int32_t slots);

/* For each i < n, give the slot slots[i] units[i] rows in every ragged table. The slot's old contents are lost.
 *   RILL_OK · RILL_ERR_MEMORY (nothing changed) */
RILL_API rill_status rill_session_set_slots(rill_session *stream, int32_t n, const int32_t *slots,
                                            const int32_t *units);
RILL_API int32_t rill_session_units(const rill_session *stream, int32_t slot);
/* Release the slot's rows in ragged tables and its vocabulary subsets. */
RILL_API void rill_session_drop(rill_session *stream, int32_t slot);

/* Write rows [first, first + n) of a table that the host fills (RILL_TABLE_HOST). Rows below `first` must have been written. */
RILL_API rill_status rill_session_fill(rill_session *stream, rill_table table, int32_t first, int32_t n,
                                       const float *rows);

/* For tests and tools: read n rows of a table from row `row` on; of a ragged table, n units of slot `row` from unit `first` on.
 *   rows  [n, width] out
 *   RILL_OK · RILL_ERR_ARGUMENT (no such rows) */
RILL_API rill_status rill_session_read(const rill_session *stream, rill_table table, int32_t row, int32_t first,
                                       int32_t n, float *rows);

/* Set a slot's vocabulary subset: n symbols in ascending order. */
RILL_API rill_status rill_session_set_vocab_subset(rill_session *stream, rill_vocab_subset list, int32_t slot,
                                                   int32_t n, const int32_t *symbols);
RILL_API int32_t rill_session_vocab_subset_size(const rill_session *stream, rill_vocab_subset list, int32_t slot);

/* --- runs --------------------------------------------------------------------------------------------------------- */

/* Request and result of a graph's `best` or `mix`: the arrays of rill_score_request and rill_score_result in domain.h. */
typedef struct rill_selection {
    /* number M of best legal actions to return per row; 0: only the log-probabilities of the picks (pick_row, pick_action) */
    int32_t max_choices;
    size_t legal_words;    /* number of 64-bit words in one set */
    const uint64_t *legal; /* [sets, legal_words] bitsets of actions, or NULL */
    /* [n] index of the set that restricts a row's actions, -1: any action is legal; NULL: -1 for all rows */
    const int32_t *legal_set;
    /* number of picks, which are actions whose log-probability is requested by id. Picks are in ascending order of their rows */
    int32_t n_picks;
    const int32_t *pick_row, *pick_action;
    int32_t stride; /* entries per row of `action` and `logp`, >= max_choices */
    /* [n] out: number of actions returned for each row. If M > 0, rows outside the operation's index space are not written; their picks'
     * log-probabilities never are */
    int32_t *count;
    int32_t *action; /* [n, stride] out: the best actions of each row, best first */
    float *logp;     /* [n, stride] out: log-probabilities of these actions */
    /* [n_picks] out: log-probabilities of the picks; -infinity for an action outside the operation's vocabulary */
    float *pick_logp;
} rill_selection;

typedef struct rill_run_arguments {
    size_t struct_size;
    int32_t n; /* rows of the run; 0 is legal */
    /* the graph's columns in order of declaration: [n], or one per token of all rows in a ragged index space. A column that a `best`
     * operation writes must be writable */
    const int32_t *const *columns;
    /* request and result of the graph's operation `best` or `mix`; NULL if it has neither */
    const rill_selection *selection;
    /* for graphs with watched_heads: [n, ld_watched] out: attention weights, averaged over the watched heads, one per key: the first T
     * elements of each row are written */
    float *watched;
    size_t ld_watched;
    /* 1: run asynchronously, for micro-batch 0; 2: for micro-batch 1 (rill_rows.group); 0: choices are ready on return */
    int32_t async_group;
} rill_run_arguments;

/* Run the graph. Runs behave as if executed in order; a run that returns nothing to the host may still be executing on return.
 *   RILL_OK · RILL_AGAIN (with `async_group`: results are ready after rill_session_collect(); until then the arrays in the arguments and in
 *   the selection must stay valid. A micro-batch has one such run at a time) · RILL_ERR_MEMORY
 *   RILL_ERR_DEVICE (the device failed, in this run or an earlier one; later runs of the session may fail too) */
RILL_API rill_status rill_session_run(rill_session *stream, rill_graph graph, const rill_run_arguments *arguments);

/* Wait for the asynchronous run of the micro-batch `group` (0 or 1), if there is one. RILL_OK · RILL_ERR_DEVICE */
RILL_API rill_status rill_session_collect(rill_session *stream, int32_t group);

/* Return the value for rill_domain_info.group_rows: how many hypotheses fill the device; 0 if the device is synchronous. */
RILL_API int32_t rill_device_group_rows(const rill_device *device);

/* Bytes that the device has free for sessions, a tenth kept back; 0: unknown. Value for rill_domain_info.memory_bytes. */
RILL_API int64_t rill_device_free_bytes(const rill_device *device);

/* --- runners ------------------------------------------------------------------------------------------------------ */

/* Ready-made members drop, collect, profile, profile_row, limits and graph_runs of a domain's table (rill/domain.h). `runner` points to a
 * struct whose first member is a `rill_session *`, or to a `rill_session *`. */
RILL_API void rill_runner_drop(void *runner, int32_t slot);
RILL_API rill_status rill_runner_collect(void *runner, int32_t group);
/* Start profiling with all counters at zero (on = 1), or stop (on = 0). RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_runner_profile(void *runner, int on);
/* Write the profile of operation i, counted over all graphs in order, to *out. Returns 1; 0 if there is none. */
RILL_API int rill_runner_profile_row(const void *runner, int32_t i, rill_op_profile *out);
/* Measure one thread's peak performance, in about a tenth of a second; zeros for devices other than the processor. */
RILL_API rill_status rill_runner_limits(void *runner, rill_limits *out);
/* Write how the graphs have run so far. */
RILL_API void rill_runner_graph_runs(const void *runner, rill_graph_runs *out);

RILL_C_END

#endif
