/* Devices and compute graphs: a neural domain describes its computation once, as data.
 *
 * A domain defines *what* is computed for a row; a device decides *how*: block sizes, threads, kernels. This requires that a row's result
 * never depends on how rows are batched, and every device guarantees it: bit-exactly within one device, unless it is opened `fast`.
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
 *   table      rows of a session that outlive a run, such as the KV cache: a row per node, a row per slot, as many rows per slot as its
 *              input has units (ragged), or rows that the host fills (positions)
 *   column     an int32 per row of an index space, passed by the host with each run: node, slot, action, or computed by the domain
 *   tensor     a temporary of `width` floats per row of an index space, valid within a run; the device decides where it is stored. A later
 *              operation of the graph may overwrite it
 *   space      an index space, the meaning of rows: the rows of the run; or, derived from another space, its rows where a column is >= 0,
 *              the distinct values of a column, or the units (tokens) of ragged inputs
 *   graph      operations in order, built once, then checked: widths, spaces, no read before a write
 *   run        a graph applied to n rows with their columns
 *
 * Letters: n rows of the run, R rows of an operation's index space, H width, V symbols (vocabulary size), M choices requested per row, T
 * rows of an attention memory.
 *
 * The network keeps the first error while it is built: a failed call returns a negative handle, calls with a negative handle do nothing,
 * and rill_network_finish() returns the error. So the building code needs no checks.
 *
 * Stability: structs are only appended to. A member that is 0 means "none", unless its comment says otherwise. */
#ifndef RILL_DEVICE_H
#define RILL_DEVICE_H

#include "rill/context.h"
#include "rill/profile.h"

RILL_C_BEGIN

/* --- the device --------------------------------------------------------------------------------------------------- */

typedef struct rill_device rill_device;

typedef struct rill_device_options {
    size_t struct_size;
    /* "cpu" or NULL; "cuda", "cuda:1": a GPU by number; "auto": the first usable GPU, else the processor */
    const char *name;
    /* best instruction set to use on the processor: "ref", "avx2", "avx512", "avx512vnni", "neon", "neon-dotprod", "neon-i8mm"; NULL:
     * the best available. For tests: results of different instruction sets differ in the last bits */
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

typedef struct rill_network rill_network;

/* Handles of a network's objects are > 0. A negative handle stands for a failed call, whose error the network records. 0, as in an unset
 * member, means none. */
typedef int32_t rill_constant;
typedef int32_t rill_matrix;
typedef int32_t rill_table;
typedef int32_t rill_vocab_subset;

typedef enum rill_weight_type {
    RILL_WEIGHT_F32 = 0,
    RILL_WEIGHT_BF16 = 1, /* weights rounded to bf16, ties to even; fp32 arithmetic */
    /* int8 weights with one scale per output; input rows are quantised at run time, once for all products that read them */
    RILL_WEIGHT_INT8 = 2,
    /* on a GPU: weights and rows in half precision, fp32 accumulation. Rows are clamped at 65504 */
    RILL_WEIGHT_F16 = 3,
} rill_weight_type;

/* Create an empty network. RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_network_open(rill_network **out, rill_context *ctx, const rill_device *device);
RILL_API void rill_network_close(rill_network *network); /* NULL is allowed; close its sessions first */

/* `rows` contiguous rows of `width` floats. `data` is borrowed and must outlive the network. */
RILL_API rill_constant rill_network_constant(rill_network *network, const float *data, size_t rows, size_t width);

/* n x k weights whose row i begins at w + i * stride; copied into the device's packed format. */
RILL_API rill_matrix rill_network_matrix(rill_network *network, rill_weight_type type, size_t n, size_t k,
                                         const float *w, size_t stride);

/* Precompute a layer for rows that are known in advance, such as every word of a vocabulary: bias + a W^T in fp32, [rows, n],
 * bit-identical to a product in a graph. a [rows, k], row i of W [n, k] at w + i * stride, bias [n] or NULL; all are copied. */
RILL_API rill_constant rill_network_product(rill_network *network, const float *a, size_t rows, size_t k,
                                            const float *w, size_t n, size_t stride, const float *bias);

typedef enum rill_table_kind {
    /* [nodes, width]: one row per state of a hypothesis, such as a position of the KV cache */
    RILL_TABLE_NODES,
    RILL_TABLE_SLOTS, /* [slots, width]: one row per input in flight */
    /* per slot [units, width]: one row per unit (token) of the slot's input, such as encoder outputs. A slot has the same number of units
     * in all ragged tables of a session, see rill_session_set_slots() */
    RILL_TABLE_RAGGED,
    RILL_TABLE_HOST, /* [rows, width] filled by the host, see rill_session_fill() */
} rill_table_kind;

/* `what` names the table in errors. */
RILL_API rill_table rill_network_table(rill_network *network, rill_table_kind kind, size_t width, const char *what);

/* Vocabulary subsets, one list of symbols per slot: symbols to mask, or (with weights) the output vocabulary of the slot's input (a
 * shortlist). With `rows`, a constant [V, H], a list carries those rows for its symbols, packed as `type`: an output layer restricted to
 * them; with `bias`, a constant [1, V], also their biases. Without weights `rows` and `bias` are none. */
RILL_API rill_vocab_subset rill_network_vocab_subset(rill_network *network, rill_constant rows, rill_constant bias,
                                                     rill_weight_type type, const char *what);

/* --- graphs ------------------------------------------------------------------------------------------------------- */

typedef int32_t rill_graph;
typedef int32_t rill_index_space;
typedef int32_t rill_column;
typedef int32_t rill_tensor;
typedef int32_t rill_path;

enum { RILL_NONE = 0 }; /* an omitted handle */
enum { RILL_ROWS = 0 }; /* the index space of the run's rows */
enum { RILL_OWN = -1 }; /* passed as a column: the row's own index */

/* A graph without operations; `name` is for messages and profiles. */
RILL_API rill_graph rill_graph_begin(rill_network *network, const char *name);

/* Spaces derived from `parent`:
 *   where     its rows whose entry of `column` is >= 0, in order
 *   distinct  one row per distinct value of `column`: shared parents of siblings. The device may leave duplicates. A row with a negative
 *             entry sees a negative row there
 *   ragged    `parent` is RILL_ROWS; row r has length[r] >= 0 consecutive units (tokens)
 * Create spaces before the first operation, from columns that the host passes, not from those that the graph computes. No space can be
 * derived from a `distinct` one. */
RILL_API rill_index_space rill_index_space_where(rill_network *network, rill_graph graph, rill_index_space parent,
                                                 rill_column column);
RILL_API rill_index_space rill_index_space_distinct(rill_network *network, rill_graph graph, rill_index_space parent,
                                                    rill_column column);
RILL_API rill_index_space rill_index_space_ragged(rill_network *network, rill_graph graph, rill_column length);

/* The next column of the run, in order of declaration; see rill_run_arguments. `parent` is RILL_ROWS or a ragged space. A `best` operation
 * may write a column, which is then returned to the host. */
RILL_API rill_column rill_column_input(rill_network *network, rill_graph graph, rill_index_space parent,
                                       const char *what);

/* A temporary of `width` floats per row of `parent`. */
RILL_API rill_tensor rill_tensor_make(rill_network *network, rill_graph graph, rill_index_space parent, size_t width);

/* An operand of an operation: rows of a tensor, table or constant, indexed by the rows of the operation. The functions below make views; a
 * view of zeros means none. */
typedef struct rill_view {
    uint8_t kind;   /* kind of the source: 0 none, other values are private */
    int32_t source; /* handle of the source */
    /* row index: RILL_OWN, or a column that holds it; negative entries where an operation allows them */
    rill_column row;
    rill_column slot; /* for ragged tables: the column that holds the slot */
    int32_t first;    /* first float of the row to use */
} rill_view;

/* A tensor, read at the operation's own row. Its space may be
 *   - the operation's space;
 *   - a space that this one is derived from: a unit reads its input's row, a `where` row reads the row it selects. A `distinct` row stands
 *   for several rows and can read none;
 *   - for reading only, a space derived from these by `distinct` (siblings read their parent's row) or by `where` (excluded rows read as
 *   negative). */
RILL_API rill_view rill_view_value(rill_tensor value);
/* One unit per input of a ragged tensor: the unit that `column` numbers, from 0. */
RILL_API rill_view rill_view_unit(rill_tensor value, rill_column column);
/* Rows of a table or a constant by index. As `row`, RILL_OWN means the column's value in a `distinct` space, and the unit's own number in a
 * ragged space. */
RILL_API rill_view rill_view_table(rill_table table, rill_column row);
RILL_API rill_view rill_view_constant(rill_constant constant, rill_column row);
/* Row `unit` of the slot's rows in a ragged table; RILL_OWN for a unit's own number. */
RILL_API rill_view rill_view_ragged(rill_table table, rill_column slot, rill_column unit);
/* Return a view of the same rows that begins at float `first` of each row. */
RILL_API rill_view rill_view_offset(rill_view view, size_t first);

/* --- operations --------------------------------------------------------------------------------------------------- */

typedef enum rill_activation {
    RILL_LINEAR = 0,
    RILL_TANH = 1,
    RILL_RELU = 2,  /* max(x, 0); on the processor NaN stays NaN, a GPU may make it 0 */
    RILL_SWISH = 3, /* x sigmoid(x) */
    RILL_GELU = 4,  /* x Phi(x), exact form */
    RILL_SIGMOID = 5,
    RILL_GELU_TANH =
        6, /* x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)): the form with tanh (Hendrycks and Gimpel 2016) */
    RILL_GELU_SIGMOID = 7, /* x sigmoid(1.702 x): the quick form */
} rill_activation;

/* out = activation(bias + add + a W^T), a = [a, a2] concatenated; bias and add are summed first, then the products in order of K.
 * Rows of `add` with a negative index contribute nothing. */
typedef struct rill_product {
    rill_matrix matrix; /* N x K */
    /* instead of `matrix`: the weights of the vocabulary subset of the row's slot, which `vocab_subset_slot` holds; N differs by row */
    rill_vocab_subset vocab_subset;
    rill_column vocab_subset_slot;
    rill_view a, a2; /* [R, K - k2], [R, k2] */
    size_t k2;       /* width of a2; 0: no a2 */
    rill_constant bias;
    rill_view add; /* [R, N] */
    rill_activation activation;
    rill_view out; /* [R, N]; may be `add` itself */
} rill_product;

/* c' = sigmoid(f) c + sigmoid(i) tanh(g); h' = sigmoid(o) tanh(c'): gates [R, 4H] in the order i, f, g, o. A negative row index of c means
 * a zero state. Gates are a tensor of the operation's index space; c_out and h_out have the same rows. States may be rows of a table; no
 * other row of the run may read the written rows. */
typedef struct rill_lstm_cell {
    size_t hidden;
    rill_view gates, c, c_out, h_out;
} rill_lstm_cell;

/* r = sigmoid(x_r + h_r), z = sigmoid(x_z + h_z), n = tanh(x_n + r h_n), h' = (1 - z) n + z h: input gates and hidden gates [R, 3H] in
 * the order r, z, n, biases included (PyTorch's definition), both tensors of the operation's index space. A negative row index of h means a
 * zero state. */
typedef struct rill_gru_cell {
    size_t hidden;
    rill_view input, hidden_gates, h, h_out;
} rill_gru_cell;

/* A recurrent layer over the units of each input, in one direction, from a zero state. Unit t of `space` reads row t + shift of the
 * input gates, in ascending order of t, or descending if `backward`; its h goes to row t of `out`. */
typedef enum rill_cell { RILL_CELL_LSTM, RILL_CELL_GRU } rill_cell;
typedef struct rill_scan {
    rill_cell cell;
    rill_index_space space;       /* ragged */
    size_t hidden;                /* H */
    rill_matrix recurrent;        /* 4H x H, or 3H x H */
    rill_constant recurrent_bias; /* bias of a GRU's recurrent product, [3H]; none: 0 */
    /* [units, 4H or 3H], bias included: a ragged tensor, or rows of a constant by a column of the space */
    rill_view gates;
    int32_t shift; /* if gates are a ragged tensor: unit t reads row t + shift of its input */
    int backward;
    rill_view out;            /* [units, H]; none: only the last state is needed */
    rill_view last_h, last_c; /* [inputs, H] state after the last unit read, or none; zero for inputs without units */
} rill_scan;

/* Attention: softmax over t of scale * (query . key_t), or with `additive` of scale * (additive . tanh(key_t + query)), then the weighted
 * sum of the values. Exactly one kind of memory (the rows attended to) is set: path, slot or own_units. Heads are concatenated in queries,
 * keys, values and out. An empty memory gives zeros; a scale of 0 gives the mean.
 *
 * `relative` is a relative position bias added to the scores (Shaw et al. 2018; one number per distance as in Raffel et al. 2020). For
 * head h and a memory row d rows before the query's row it is entry h, L + d; distances are clamped to [-L, L]. Along a path the query's
 * row is the last one; with own_units it is the unit itself, so the operation's space is that of the memory. */
typedef struct rill_attend {
    size_t heads, width; /* width: floats per head of queries and keys */
    float scale;
    rill_view query;  /* [R, heads * width] */
    rill_path path;   /* memory: rows of the node tables `keys`, `values` along the row's path (the KV cache) */
    rill_column slot; /* memory: all rows of the slot in the ragged tables `keys`, `values` (cross-attention) */
    /* memory: the units of the row's own input in the ragged tensors `keys`, `values` (encoders) */
    int own_units;
    rill_view keys, values; /* [T, heads * width], [T, heads * value_width]; their row columns are ignored */
    rill_view out;          /* [R, heads * value_width] */
    /* number of heads, the first ones, whose mean attention weights are returned to the host in rill_run_arguments.watched; 0: none */
    size_t watched_heads;
    size_t value_width;     /* floats per head of the values; 0: width */
    rill_constant additive; /* [1, heads * width]; none: dot-product attention */
    rill_constant relative; /* [heads, 2 L + 1] for any L >= 0; none; not with `slot` */
} rill_attend;

/* y = gain * (z - mean z) / sqrt(var z + eps) + bias, z = x + residual; `rms`: y = gain * z / sqrt(mean z^2 + eps) + bias. */
typedef struct rill_normalise {
    rill_view x, residual;    /* residual: none means 0 */
    rill_constant gain, bias; /* none: gain 1 and bias 0 */
    float eps;
    int rms;
    rill_view y;  /* may be x or residual */
    size_t width; /* 0: width of y */
} rill_normalise;

/* y = activation(x) * gate; without a gate y = activation(x). */
typedef struct rill_activate {
    rill_activation activation;
    rill_view x, gate, y; /* y may be x */
    size_t width;         /* 0: width of y */
} rill_activate;

/* out = scale * embedding row + position row. Rows with a negative index contribute nothing. The embedding is a constant, a table, or an
 * fp32 matrix, so that weights tied to the output layer are stored once. */
typedef struct rill_embedding {
    rill_view rows;     /* rows of a constant or table ... */
    rill_matrix matrix; /* ... or rows of a matrix ... */
    rill_column symbol; /* ... indexed by this column */
    float scale;        /* must be set; 1 for no scaling */
    rill_view position; /* rows to add, of a constant, table or tensor; zeroed: nothing is added */
    rill_view out;
    size_t width; /* 0: width of out, or of the matrix */
} rill_embedding;

/* out = activation(sum of the terms in order). Terms with a negative row index are skipped; an empty sum is 0. */
enum { RILL_SUM_TERMS = 12 };
typedef struct rill_sum {
    int32_t terms;
    rill_view term[RILL_SUM_TERMS];
    rill_activation activation; /* RILL_LINEAR or RILL_RELU */
    rill_view out;              /* may be a term */
    size_t width;               /* 0: width of out */
} rill_sum;

/* out = x; zeros where the row index of x is negative. */
typedef struct rill_copy {
    size_t width;
    rill_view x, out;
} rill_copy;

/* x(v) = -infinity for the symbols v of the slot's vocabulary subset; applied before the softmax. */
typedef struct rill_mask {
    rill_vocab_subset vocab_subset;
    rill_column slot;
    rill_view x;  /* [R, V], in place: a tensor of the operation's space */
    size_t width; /* V; 0: width of x */
} rill_mask;

/* The path from the row's node to the root along `above`: depth + 1 nodes, root first, the node last. With a `parent` column the nodes
 * are new: above[node] = parent is stored, negative for a root; otherwise they already exist. No row's node lies on another row's path. */
RILL_API rill_path rill_op_path(rill_network *network, rill_graph graph, rill_column node, rill_column parent,
                                rill_column depth);

/* The best M choices of log-softmax(logits + bias + add), and the log-probabilities of further requested actions (picks), as
 * rill_run_arguments.selection requests:
 *   x(v) = logits(v) + bias(v) + add(v); log-probability x(v) - log sum exp x; the best M legal ones, ties broken by the smaller symbol.
 * With a vocabulary subset, the logits and the softmax cover the slot's list of symbols. A row whose logits include NaN has no choices, and
 * its picks are NaN. Action = symbol + first_action. `raw`: x itself is returned as log-probability, for models trained to be
 * self-normalised; no exponential is computed. */
typedef struct rill_best_choices {
    rill_view logits; /* [R, V] */
    size_t symbols;   /* V */
    rill_constant bias;
    rill_view add; /* [R, V] added before the softmax; negative rows add nothing */
    rill_vocab_subset vocab_subset;
    rill_column vocab_subset_slot;
    int32_t first_action;
    /* write the best symbol to this column instead of returning choices (none: first_action); M is 1 */
    rill_column tag_column;
    int32_t raw; /* 1: return x itself, without softmax */
} rill_best_choices;

/* rill_op_best() for an ensemble of E models: the logarithm of the mean of their probabilities, exact for all symbols that can be among the
 * best (those within log E of the M-th best of the maximum). With vocabulary subsets, a slot's lists of all models are equal. Logits are
 * overwritten. A row has no choices, and its picks are NaN, if one model has a NaN or no possible symbol. */
enum { RILL_MIX_MODELS = 32 };
typedef struct rill_mix {
    int32_t models;
    rill_view logits[RILL_MIX_MODELS];
    rill_constant bias[RILL_MIX_MODELS]; /* none with vocabulary subsets, which have their own biases */
    rill_vocab_subset vocab_subset[RILL_MIX_MODELS];
    rill_column vocab_subset_slot;
    size_t symbols;
} rill_mix;

/* Add an operation to a graph. It runs on all rows of its space; rill_scan names its space itself. rill_network_finish() reports
 * mismatches. */
RILL_API void rill_op_product(rill_network *network, rill_graph graph, rill_index_space space, const rill_product *op);
RILL_API void rill_op_lstm(rill_network *network, rill_graph graph, rill_index_space space, const rill_lstm_cell *op);
RILL_API void rill_op_gru(rill_network *network, rill_graph graph, rill_index_space space, const rill_gru_cell *op);
RILL_API void rill_op_scan(rill_network *network, rill_graph graph, const rill_scan *op);
RILL_API void rill_op_attend(rill_network *network, rill_graph graph, rill_index_space space, const rill_attend *op);
RILL_API void rill_op_normalise(rill_network *network, rill_graph graph, rill_index_space space,
                                const rill_normalise *op);
RILL_API void rill_op_activate(rill_network *network, rill_graph graph, rill_index_space space,
                               const rill_activate *op);
RILL_API void rill_op_embed(rill_network *network, rill_graph graph, rill_index_space space, const rill_embedding *op);
RILL_API void rill_op_sum(rill_network *network, rill_graph graph, rill_index_space space, const rill_sum *op);
RILL_API void rill_op_copy(rill_network *network, rill_graph graph, rill_index_space space, const rill_copy *op);
RILL_API void rill_op_mask(rill_network *network, rill_graph graph, rill_index_space space, const rill_mask *op);
RILL_API void rill_op_best(rill_network *network, rill_graph graph, rill_index_space space,
                           const rill_best_choices *op);
RILL_API void rill_op_mix(rill_network *network, rill_graph graph, rill_index_space space, const rill_mix *op);

/* A prefetch hint: the next graph will read this table's rows of the slots in `slot`, a column of the graph. */
RILL_API void rill_graph_prefetch(rill_network *network, rill_graph graph, rill_table table, rill_column slot);

/* Finish building: check all graphs. RILL_OK · the first failure of any call above: RILL_ERR_ARGUMENT names graph, operation and
 * mismatch; RILL_ERR_MEMORY; RILL_ERR_FORMAT (weights out of their type's range) */
RILL_API rill_status rill_network_finish(rill_network *network);

/* Memory use in bytes. Tables need `node` bytes per node, `slot` bytes per slot, and `unit` bytes per unit of a slot. Vocabulary subsets
 * need `symbol` bytes per symbol in all lists of a slot; their packed weights need RILL_VOCAB_SUBSET_PADDING more symbols per slot. On a
 * device with its own memory the figures include the peak working memory: `row` bytes per row of a timestep (rill_domain_info.row_bytes),
 * `session` bytes per session (rill_domain_info.runner_bytes), and that of encoding in `slot` and `unit`. On the processor `row` and
 * `session` are 0. */
typedef struct rill_network_bytes {
    int64_t node, slot, unit, symbol, row, session;
} rill_network_bytes;
enum { RILL_VOCAB_SUBSET_PADDING = 15 };
RILL_API rill_network_bytes rill_network_sizes(const rill_network *network);

/* --- sessions: where graphs run ----------------------------------------------------------------------------------- */

typedef struct rill_session rill_session;

/* Open a session of the network with `threads` >= 1 threads, including the caller's. One thread at a time may use it.
 *   RILL_OK · RILL_ERR_MEMORY (also when the system refuses threads) */
RILL_API rill_status rill_session_open(rill_session **out, rill_context *ctx, const rill_network *network, int threads);
RILL_API void rill_session_close(rill_session *stream); /* NULL is allowed */

/* Allow ids of nodes below `nodes` and of slots below `slots` in later calls; contents of tables are kept. */
RILL_API rill_status rill_session_reserve(rill_session *stream, int32_t nodes, int32_t slots);

/* Give slot slots[i] units[i] rows in every ragged table, for i < n; the slot's old contents are lost.
 *   RILL_OK · RILL_ERR_MEMORY (nothing changed) */
RILL_API rill_status rill_session_set_slots(rill_session *stream, int32_t n, const int32_t *slots,
                                            const int32_t *units);
RILL_API int32_t rill_session_units(const rill_session *stream, int32_t slot);
/* Release the slot's rows in ragged tables and its vocabulary subsets. */
RILL_API void rill_session_drop(rill_session *stream, int32_t slot);

/* Write rows [first, first + n) of a host table; rows below `first` must have been written before. */
RILL_API rill_status rill_session_fill(rill_session *stream, rill_table table, int32_t first, int32_t n,
                                       const float *rows);

/* For tests and tools: read n rows of a table from row `row` on, or, of a ragged table, n units of the slot `row` from unit `first` on.
 *   rows  [n, width] out
 *   RILL_OK · RILL_ERR_ARGUMENT (no such rows) */
RILL_API rill_status rill_session_read(const rill_session *stream, rill_table table, int32_t row, int32_t first,
                                       int32_t n, float *rows);

/* Set the slot's vocabulary subset: n symbols, ascending. */
RILL_API rill_status rill_session_set_vocab_subset(rill_session *stream, rill_vocab_subset list, int32_t slot,
                                                   int32_t n, const int32_t *symbols);
RILL_API int32_t rill_session_vocab_subset_size(const rill_session *stream, rill_vocab_subset list, int32_t slot);

/* --- runs --------------------------------------------------------------------------------------------------------- */

/* Request and result of a graph's `best` or `mix`: the arrays of rill_score_request and rill_score_result in domain.h. */
typedef struct rill_selection {
    int32_t max_choices;   /* M >= 0: the best M legal actions of each row; 0: picks only */
    size_t legal_words;    /* 64-bit words per set */
    const uint64_t *legal; /* [sets, legal_words] bitsets of actions, or NULL */
    /* [n] index of the set that restricts a row's actions, -1: any action is legal; NULL: -1 for all rows */
    const int32_t *legal_set;
    int32_t n_picks; /* number of picks, ascending by row */
    const int32_t *pick_row, *pick_action;
    int32_t stride; /* >= max_choices */
    /* [n] out. Rows outside the operation's space are not written when M > 0, and their picks never */
    int32_t *count;
    int32_t *action;  /* [n, stride] out, best first */
    float *logp;      /* [n, stride] out */
    float *pick_logp; /* [n_picks] out; -infinity for actions outside the operation's vocabulary */
} rill_selection;

typedef struct rill_run_arguments {
    size_t struct_size;
    int32_t n; /* rows of the run; 0 is legal */
    /* in order of declaration: [n], or [all units] for a ragged space; a column written by a `best` operation points to writable memory */
    const int32_t *const *columns;
    const rill_selection *selection; /* for graphs with `best` or `mix` */
    /* for graphs with watched_heads: [n, ld_watched] out: mean attention weights, the first T of a row */
    float *watched;
    size_t ld_watched;
    /* 1 or 2: run asynchronously, for group 0 or 1 (rill_rows.group in domain.h); 0: choices are ready on return */
    int32_t async_group;
} rill_run_arguments;

/* Run the graph. Runs behave as if executed one after the other; a run that returns nothing to the host may still be executing on return.
 *   RILL_OK · RILL_AGAIN (with `async_group`: results are ready after rill_session_collect(); until then their arrays and the selection's
 *   stay valid. A group has one such run at a time) · RILL_ERR_MEMORY
 *   RILL_ERR_DEVICE (the device failed, in this run or an earlier one; later runs of the session may fail too) */
RILL_API rill_status rill_session_run(rill_session *stream, rill_graph graph, const rill_run_arguments *arguments);

/* Wait for the asynchronous run of the group (0 or 1), if there is one. RILL_OK · RILL_ERR_DEVICE */
RILL_API rill_status rill_session_collect(rill_session *stream, int32_t group);

/* Value for rill_domain_info.group_rows: the number of hypotheses that fill the device; 0 if the device is synchronous. */
RILL_API int32_t rill_device_group_rows(const rill_device *device);

/* --- profiles ----------------------------------------------------------------------------------------------------- */

/* Start profiling with all counters at zero (on = 1), or stop (on = 0). RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_session_profile(rill_session *stream, int on);
/* Write the profile of operation i, counted over all graphs in order, to *out. Returns 1, or 0 if there is no operation i. */
RILL_API int rill_session_profile_row(const rill_session *stream, int32_t i, rill_op_profile *out);

/* --- runners ------------------------------------------------------------------------------------------------------ */

/* Implementations of the members drop, collect, profile, profile_row and limits of a domain's table (rill/domain.h), for runners whose
 * first member is a `rill_session *`. rill_runner_limits() measures the peak performance of one thread, in about a tenth of a second; for
 * devices other than the processor it gives zeros. */
RILL_API void rill_runner_drop(void *runner, int32_t slot);
RILL_API rill_status rill_runner_collect(void *runner, int32_t group);
RILL_API rill_status rill_runner_profile(void *runner, int on);
RILL_API int rill_runner_profile_row(const void *runner, int32_t i, rill_op_profile *out);
RILL_API rill_status rill_runner_limits(void *runner, rill_limits *out);

RILL_C_END

#endif
