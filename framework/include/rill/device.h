/* Devices and row programs: what a neural domain computes, said once, as data.
 *
 * A domain says *what* is computed for a row; a device decides *how*: in which blocks, on which threads, with which kernels.
 * That a row's result never depends on how rows are grouped is what makes this possible, and every device keeps it: to the last
 * bit within one device, unless it is opened `fast`.
 *
 *   open    rill_device_open() · constants, matrices and tables of the plan · programs: a step, a score, an encoding
 *           rill_network_finish(), which checks them. From here on device and plan are const: any number of threads may use them.
 *   start   rill_session_open(): a runner's own memory: rows of the tables, scratch, threads
 *   decode  rill_session_reserve(), rill_session_set_slots(), rill_session_run(), rill_session_drop()
 *   stop    rill_session_close() · close   rill_network_close(), rill_device_close()
 *
 * Words
 *   device     where a model's numbers lie and its operations run: "cpu", "cuda:0"
 *   constant   rows of fp32 that come with the model: a bias (one row), an embedding
 *   matrix     N x K weights in the form in which the device multiplies by them
 *   table      rows of a stream that outlive a run: a row per node, a row per slot, as many rows per slot as its input has units
 *              (ragged), or rows that the host fills (positions)
 *   column     an int32 per row of a space, given by the host with each run: node, slot, action, or what the domain derives
 *   value      a temporary: `width` floats per row of a space, which live inside a run; where they lie is the device's business.
 *              A value may be written again by a later operation of the program
 *   space      what rows stand for: the rows of the run; or, derived from another space, its rows where a column is >= 0, the
 *              distinct values of a column, or the units (tokens) of ragged inputs
 *   program    operations in order, of one model or of several (ensembles). Made once; checked then: widths, spaces, what is
 *              written before it is read
 *   run        a program applied to n rows with their columns
 *
 * Letters: n rows of the run, R rows of an operation's space, H width, V symbols, M choices wanted, T rows of a memory.
 *
 * Errors while a plan is built are kept by it: handles that follow from a failed call are negative, calls that get such a handle do
 * nothing, and rill_network_finish() tells the first failure. So a builder reads as the list of operations that it is.
 *
 * Stability: structs are only appended to; zero members mean "none" or what their comment says. */
#ifndef RILL_DEVICE_H
#define RILL_DEVICE_H

#include "rill/context.h"
#include "rill/profile.h"

RILL_C_BEGIN

/* --- the device --------------------------------------------------------------------------------------------------- */

typedef struct rill_device rill_device;

typedef struct rill_device_options {
    size_t struct_size;
    const char
        *name; /* "cpu", which NULL is too; "cuda", "cuda:1": a GPU by number; "auto": the first GPU if one can be used,
                            else the processor */
    const char *
        kernels; /* the most that may be used of the processor: "ref", "avx2", "avx512", "avx512vnni", "neon", "neon-dotprod",
                            "neon-i8mm"; NULL: what it has. For tests: sets of instructions differ in the last bits */
    int fast; /* on a GPU products are as fast as can be: a row's bits may then depend on the batch */
    int int8; /* weights in int8 are to be multiplied: the processor's; another device is refused, and not taken by "auto" */
} rill_device_options;

/* `options` may be NULL. RILL_OK · RILL_ERR_OPTION (no such device, or not here) · RILL_ERR_MEMORY
 * RILL_ERR_ABI (the module for the device is of another build) */
RILL_API rill_status rill_device_open(rill_device **out, rill_context *ctx, const rill_device_options *options);
RILL_API void rill_device_close(rill_device *device); /* NULL is allowed; its plans and streams are closed before */

/* What it is, for descriptions: "cpu", "cuda:0, NAME OF THE GPU". */
RILL_API const char *rill_device_name(const rill_device *device);

/* --- plans: what programs are made of ----------------------------------------------------------------------------- */

typedef struct rill_network rill_network;

/* Handles: > 0; negative after a failure, which the plan keeps. 0, as in a member that is not set, is none. */
typedef int32_t rill_constant;
typedef int32_t rill_matrix;
typedef int32_t rill_table;
typedef int32_t rill_vocab_subset;

typedef enum rill_weight_type {
    RILL_WEIGHT_F32 = 0,
    RILL_WEIGHT_BF16 = 1, /* rounded to bf16, ties to even; fp32 arithmetic */
    RILL_WEIGHT_INT8 = 2, /* a unit per output; rows are quantised on the fly, once for all products that read them */
    RILL_WEIGHT_F16 = 3,  /* on a GPU: weights and rows in half precision, sums in fp32. Rows are cut off at 65504 */
} rill_weight_type;

/* An empty plan. RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_network_open(rill_network **out, rill_context *ctx, const rill_device *device);
RILL_API void rill_network_close(rill_network *plan); /* NULL is allowed; its streams are closed before */

/* `rows` rows of `width` floats without gaps. `data` is borrowed and must outlive the plan. */
RILL_API rill_constant rill_network_constant(rill_network *plan, const float *data, size_t rows, size_t width);

/* n x k weights of which row i begins at w + i * stride; copied into the device's form. */
RILL_API rill_matrix rill_network_matrix(rill_network *plan, rill_weight_type type, size_t n, size_t k, const float *w,
                                         size_t stride);

/* What a layer makes of rows that are known now, as of every word of a vocabulary: bias + a W^T in fp32, [rows, n], as a product of
 * a program would have it. a [rows, k], row i of W [n, k] at w + i * stride, bias [n] or NULL: nothing of them is kept. */
RILL_API rill_constant rill_network_product(rill_network *plan, const float *a, size_t rows, size_t k, const float *w,
                                            size_t n, size_t stride, const float *bias);

typedef enum rill_table_kind {
    RILL_TABLE_NODES, /* [nodes, width] */
    RILL_TABLE_SLOTS, /* [slots, width] */
    RILL_TABLE_RAGGED, /* per slot [units, width]; all ragged tables of a stream have the same units, see rill_session_set_slots() */
    RILL_TABLE_HOST, /* [rows, width] filled by the host, see rill_session_fill() */
} rill_table_kind;

/* `what` names it in errors. */
RILL_API rill_table rill_network_table(rill_network *plan, rill_table_kind kind, size_t width, const char *what);

/* Lists of symbols, one per slot: those that a mask strikes out, or (with weights) those that an input's outputs are made of. With
 * `rows` a list brings the rows of that constant [V, H] for its symbols, packed as `type`: the output layer for them alone; and
 * with `bias`, a constant [1, V], their entries of it. Without weights `rows` and `bias` are none. */
RILL_API rill_vocab_subset rill_network_vocab_subset(rill_network *plan, rill_constant rows, rill_constant bias,
                                                     rill_weight_type type, const char *what);

/* --- programs ----------------------------------------------------------------------------------------------------- */

typedef int32_t rill_graph;
typedef int32_t rill_index_space;
typedef int32_t rill_column;
typedef int32_t rill_tensor;
typedef int32_t rill_path;

enum { RILL_NONE = 0 }; /* where a handle may be left out */
enum { RILL_ROWS = 0 }; /* the space of the run's rows */
enum { RILL_OWN = -1 }; /* as a column: the row itself */

/* A program without operations; `name` is for messages and profiles. */
RILL_API rill_graph rill_graph_begin(rill_network *plan, const char *name);

/* Spaces derived from `of`:
 *   where     its rows whose entry of `column` is >= 0, in order
 *   distinct  a row per distinct value of `column`, which then stands for that value: parents that siblings share. How many of
 *             them meet is the device's business: a value may come up more than once. Negative entries stand for nothing: rows
 *             with them see a negative row there
 *   ragged    `of` is RILL_ROWS; row r has length[r] >= 0 units (tokens), which stand one behind the other
 * Spaces are made before the first operation: a column that a program writes makes none anew. Of distinct values nothing is derived. */
RILL_API rill_index_space rill_index_space_where(rill_network *plan, rill_graph program, rill_index_space of,
                                                 rill_column column);
RILL_API rill_index_space rill_index_space_distinct(rill_network *plan, rill_graph program, rill_index_space of,
                                                    rill_column column);
RILL_API rill_index_space rill_index_space_ragged(rill_network *plan, rill_graph program, rill_column length);

/* The next column of the run, in order of declaration; see rill_run_arguments. `of` is RILL_ROWS or a ragged space. A column may be
 * written by a `best` operation, and is then given back to the host. */
RILL_API rill_column rill_column_input(rill_network *plan, rill_graph program, rill_index_space of, const char *what);

/* A temporary of `width` floats per row of `of`. */
RILL_API rill_tensor rill_tensor_make(rill_network *plan, rill_graph program, rill_index_space of, size_t width);

/* An operand: rows of something, seen from the rows of an operation. Zero-initialise by the functions below. */
typedef struct rill_view {
    uint8_t kind;   /* of what: 0 none, else private */
    int32_t source; /* its handle */
    rill_column
        row; /* which row: RILL_OWN, or a column with its number; negative entries where an operation allows them */
    rill_column slot; /* of ragged tables: column with the slot */
    int32_t first;    /* of the row, the first float that is meant */
} rill_view;

/* A value, for the row itself. It may belong to the operation's space; to one that this is derived from (a unit reads its input's
 * row, a `where` row the one that it is; a row of distinct values stands for several, and can read none); or, to be read, to one
 * derived from these by `distinct` (siblings read their parent's) or by `where`, which rows that it leaves out see as negative. */
RILL_API rill_view rill_view_value(rill_tensor value);
/* Of a ragged value, seen from its inputs: the unit that `column` numbers, from 0. */
RILL_API rill_view rill_view_unit(rill_tensor value, rill_column column);
/* Rows of a table or a constant by number. RILL_OWN is, in a `distinct` space, the value that the row stands for, and in a ragged one
 * the unit's own number. */
RILL_API rill_view rill_view_table(rill_table table, rill_column row);
RILL_API rill_view rill_view_constant(rill_constant constant, rill_column row);
/* Row `unit` of the slot's rows of a ragged table; RILL_OWN for a unit's own number. */
RILL_API rill_view rill_view_ragged(rill_table table, rill_column slot, rill_column unit);
/* The same from its `first`-th float on. */
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

/* out = activation(bias + add + a W^T), a = [a, a2] side by side; added in that order, the sums over K behind them.
 * add's rows may be negative: nothing is added. */
typedef struct rill_product {
    rill_matrix matrix; /* N x K */
    rill_vocab_subset
        vocab_subset; /* instead of `matrix`, with its `vocab_subset_slot`: the slot's own weights; N differs by row */
    rill_column vocab_subset_slot;
    rill_view a, a2; /* [R, K - k2], [R, k2] */
    size_t k2;       /* columns of a2; 0: there is none */
    rill_constant bias;
    rill_view add; /* [R, N] */
    rill_activation activation;
    rill_view out; /* [R, N]; may be `add` itself */
} rill_product;

/* c' = sigmoid(f) c + sigmoid(i) tanh(g); h' = sigmoid(o) tanh(c'): gates [R, 4H] in the order i, f, g, o. Negative rows of c: zero.
 * Gates are a value of the operation's space; c_out and h_out name the same rows. States may be rows of a table; rows written are
 * not read by other rows of the run. */
typedef struct rill_lstm_cell {
    size_t hidden;
    rill_view gates, c, c_out, h_out;
} rill_lstm_cell;

/* r = sigmoid(x_r + h_r), z = sigmoid(x_z + h_z), n = tanh(x_n + r h_n), h' = (1 - z) n + z h: input gates and hidden gates [R, 3H]
 * in the order r, z, n, biases included (PyTorch's form), both values of the operation's space. Negative rows of h: zero. */
typedef struct rill_gru_cell {
    size_t hidden;
    rill_view input, hidden_gates, h, h_out;
} rill_gru_cell;

/* A recurrent layer over the units of each input, in one direction, from a state of zeros. Unit t of `space` reads row t + read of
 * the input gates; forward in rising order of t, backward in falling order; its h goes to row t of `out`. */
typedef enum rill_cell { RILL_CELL_LSTM, RILL_CELL_GRU } rill_cell;
typedef struct rill_scan {
    rill_cell cell;
    rill_index_space space;       /* ragged */
    size_t hidden;                /* H */
    rill_matrix recurrent;        /* 4H x H, or 3H x H */
    rill_constant recurrent_bias; /* of a GRU: [3H] */
    rill_view
        gates; /* [units, 4H or 3H], bias included: a ragged value, or rows of a constant by a column of the space */
    int32_t shift; /* gates of a value: unit t reads row t + read of its input's */
    int backward;
    rill_view out;            /* [units, H]; none: only the last state is wanted */
    rill_view last_h, last_c; /* [inputs, H] state after the last unit read, or none; of inputs without units zeros */
} rill_scan;

/* softmax over t of scale * (query . key_t), or with `additive` of scale * (additive . tanh(key_t + query)), then the sum of the
 * values. Exactly one memory is given. Heads stand side by side in queries, keys, values and out. An empty memory gives zeros; a
 * scale of 0 gives the mean.
 *
 * `relative` is added to scores by where the memory's row stands, seen from the row itself (Shaw et al. 2018, with a number for each
 * distance as in Raffel et al. 2020): of head h, d rows behind it, entry h, L + d, and the first or last one where that is beyond.
 * Along a path the row is the last one; of its own input a unit is itself, so that the space is that of the memory. */
typedef struct rill_attend {
    size_t heads, width; /* of one head */
    float scale;
    rill_view query;        /* [R, heads * width] */
    rill_path path;         /* memory: rows `keys`, `values` of node tables along the row's path */
    rill_column slot;       /* memory: all rows of the slot of the ragged tables `keys`, `values` */
    int own_units;          /* memory: the units of the row's own input, of ragged values `keys`, `values` (encoders) */
    rill_view keys, values; /* [T, heads * width], [T, heads * value_width]; row columns are not read */
    rill_view out;          /* [R, heads * value_width] */
    size_t
        watched_heads; /* give the mean over so many heads' weights, the first ones, back to the host: rill_run_arguments */
    size_t value_width;     /* of one head's values; 0: width */
    rill_constant additive; /* [1, heads * width]; none: scores are dot products */
    rill_constant relative; /* [heads, 2 L + 1] for any L >= 0; none; not with `slot` */
} rill_attend;

/* y = gain * (z - mean z) / sqrt(var z + eps) + bias, z = x + residual; `rms`: y = gain * z / sqrt(mean z^2 + eps) + bias. */
typedef struct rill_normalise {
    rill_view x, residual;    /* residual: none is 0 */
    rill_constant gain, bias; /* none: 1 and 0 */
    float eps;
    int rms;
    rill_view y;  /* may be x or residual */
    size_t width; /* 0: that of y */
} rill_normalise;

/* y = activation(x) * gate; no gate: 1. */
typedef struct rill_activate {
    rill_activation activation;
    rill_view x, gate, y; /* y may be x */
    size_t width;         /* 0: that of y */
} rill_activate;

/* out = scale * row of the embedding + position row. Negative rows: nothing is added for them. The embedding is a constant, a table,
 * or a matrix in fp32 that serves as an output layer too and so need not be there twice. */
typedef struct rill_embedding {
    rill_view rows;     /* of a constant or table ... */
    rill_matrix matrix; /* ... or rows of a matrix ... */
    rill_column symbol; /* ... by this column */
    float scale;        /* 1 for none; there is no default */
    rill_view position; /* any rows, values too; none */
    rill_view out;
    size_t width; /* 0: that of out, or the matrix' */
} rill_embedding;

/* out = activation(sum of the terms that are there, from the first on in order); negative rows are not there; of none 0. */
enum { RILL_SUM_TERMS = 12 };
typedef struct rill_sum {
    int32_t terms;
    rill_view term[RILL_SUM_TERMS];
    rill_activation activation; /* RILL_LINEAR or RILL_RELU */
    rill_view out;              /* may be a term */
    size_t width;               /* 0: that of out */
} rill_sum;

/* out = x. Negative rows of x: zeros. */
typedef struct rill_copy {
    size_t width;
    rill_view x, out;
} rill_copy;

/* x(v) = -infinity for the symbols of the slot's list: before the normaliser. */
typedef struct rill_mask {
    rill_vocab_subset vocab_subset;
    rill_column slot;
    rill_view x;  /* [R, V], in place: a value of the operation's space */
    size_t width; /* V; 0: that of x */
} rill_mask;

/* Along `above` from the row's node to the root: depth + 1 nodes, root first, the node itself last. With a `parent` column the nodes
 * are new: above[node] = parent, negative for a root; without one they are there. No row's node lies on another row's path. */
RILL_API rill_path rill_op_path(rill_network *plan, rill_graph program, rill_column node, rill_column parent,
                                rill_column depth);

/* The best M of log-softmax(logits + bias + add) and the log-probabilities of given actions, by what rill_run_arguments asks:
 *   x(v) = logits(v) + bias(v) + add(v); log-probability x(v) - log sum exp x; best M legal ones, ties by the smaller symbol.
 * With a list, logits are of the slot's list of symbols, and the softmax is over them. A row with a NaN has no choices, and its
 * picks are NaN. Action = symbol + first_action. `raw`: x itself stands for the log-probability, for models that are trained to be
 * normalised as they are; no exponential is computed. */
typedef struct rill_best_choices {
    rill_view logits; /* [R, V] */
    size_t symbols;   /* V */
    rill_constant bias;
    rill_view add; /* [R, V] inside the normaliser; negative rows add nothing */
    rill_vocab_subset vocab_subset;
    rill_column vocab_subset_slot;
    int32_t first_action;
    rill_column
        tag_column; /* instead of answering the host: the best symbol goes to this column (none: first_action), and M is 1 */
    int32_t raw; /* 1: no normaliser */
} rill_best_choices;

/* best for several models: the logarithm of the mean of their probabilities, exact on all symbols that can be among the best (those
 * within log E of the M-th best of the largest). With a list as above, the same symbols in all models' lists. Logits are overwritten.
 * A row of which one model has a NaN, or no symbol that is possible, has no choices, and its picks are NaN. */
enum { RILL_MIX_MODELS = 32 };
typedef struct rill_mix {
    int32_t models;
    rill_view logits[RILL_MIX_MODELS];
    rill_constant bias[RILL_MIX_MODELS]; /* none with lists, which bring theirs */
    rill_vocab_subset vocab_subset[RILL_MIX_MODELS];
    rill_column vocab_subset_slot;
    size_t symbols;
} rill_mix;

/* Add an operation to a program. It works on all rows of its space; a scan names the space itself. What does not fit is told by
 * rill_network_finish(). */
RILL_API void rill_op_product(rill_network *plan, rill_graph program, rill_index_space space, const rill_product *op);
RILL_API void rill_op_lstm(rill_network *plan, rill_graph program, rill_index_space space, const rill_lstm_cell *op);
RILL_API void rill_op_gru(rill_network *plan, rill_graph program, rill_index_space space, const rill_gru_cell *op);
RILL_API void rill_op_scan(rill_network *plan, rill_graph program, const rill_scan *op);
RILL_API void rill_op_attend(rill_network *plan, rill_graph program, rill_index_space space, const rill_attend *op);
RILL_API void rill_op_normalise(rill_network *plan, rill_graph program, rill_index_space space,
                                const rill_normalise *op);
RILL_API void rill_op_activate(rill_network *plan, rill_graph program, rill_index_space space, const rill_activate *op);
RILL_API void rill_op_embed(rill_network *plan, rill_graph program, rill_index_space space, const rill_embedding *op);
RILL_API void rill_op_sum(rill_network *plan, rill_graph program, rill_index_space space, const rill_sum *op);
RILL_API void rill_op_copy(rill_network *plan, rill_graph program, rill_index_space space, const rill_copy *op);
RILL_API void rill_op_mask(rill_network *plan, rill_graph program, rill_index_space space, const rill_mask *op);
RILL_API void rill_op_best(rill_network *plan, rill_graph program, rill_index_space space, const rill_best_choices *op);
RILL_API void rill_op_mix(rill_network *plan, rill_graph program, rill_index_space space, const rill_mix *op);

/* What the program's successor will read: a hint that lets a device fetch it early. `slot`: a column of the program. */
RILL_API void rill_graph_prefetch(rill_network *plan, rill_graph program, rill_table table, rill_column slot);

/* All programs are there. RILL_OK · the first failure of any call above: RILL_ERR_ARGUMENT names program, operation and what does
 * not fit; RILL_ERR_MEMORY; RILL_ERR_FORMAT (weights too large for their type) */
RILL_API rill_status rill_network_finish(rill_network *plan);

/* What a node, a slot and a unit of a slot take in the plan's tables, and a symbol of a slot in all its lists, in bytes. Rows that a
 * list brings are packed: count RILL_VOCAB_SUBSET_PADDING symbols more for each slot. On a device of its own memory also what it takes at
 * most to work: for a row of a timestep (rill_domain_info.row_bytes; 0 on the processor), and beside the tables for a slot and a unit. And
 * what a stream takes there whatever it runs (rill_domain_info.runner_bytes; 0 on the processor). */
typedef struct rill_network_bytes {
    int64_t node, slot, unit, symbol, row, session;
} rill_network_bytes;
enum { RILL_VOCAB_SUBSET_PADDING = 15 };
RILL_API rill_network_bytes rill_network_sizes(const rill_network *plan);

/* --- streams: where programs run ---------------------------------------------------------------------------------- */

typedef struct rill_session rill_session;

/* A stream of the plan, with `threads` >= 1 threads, the caller's counted. One thread at a time may use it.
 *   RILL_OK · RILL_ERR_MEMORY (also when the system refuses threads) */
RILL_API rill_status rill_session_open(rill_session **out, rill_context *ctx, const rill_network *plan, int threads);
RILL_API void rill_session_close(rill_session *stream); /* NULL is allowed */

/* Nodes and slots below these may be used from now on; contents stay. */
RILL_API rill_status rill_session_reserve(rill_session *stream, int32_t nodes, int32_t slots);

/* Give n slots `units[i]` rows each in every ragged table; what was there is gone.
 *   RILL_OK · RILL_ERR_MEMORY (nothing changed) */
RILL_API rill_status rill_session_set_slots(rill_session *stream, int32_t n, const int32_t *slots,
                                            const int32_t *units);
RILL_API int32_t rill_session_units(const rill_session *stream, int32_t slot);
/* The slot's rows and lists may be used for others. */
RILL_API void rill_session_drop(rill_session *stream, int32_t slot);

/* Rows [first, first + n) of a host table; rows below `first` are there. */
RILL_API rill_status rill_session_fill(rill_session *stream, rill_table table, int32_t first, int32_t n,
                                       const float *rows);

/* For tests and tools: n rows of a table from row `row` on, or, of a ragged one, units of the slot `row` from unit `first` on.
 *   rows  [n, width] out
 *   RILL_OK · RILL_ERR_ARGUMENT (there are no such rows) */
RILL_API rill_status rill_session_read(const rill_session *stream, rill_table table, int32_t row, int32_t first,
                                       int32_t n, float *rows);

/* The list of a slot: n symbols, ascending. */
RILL_API rill_status rill_session_set_vocab_subset(rill_session *stream, rill_vocab_subset list, int32_t slot,
                                                   int32_t n, const int32_t *symbols);
RILL_API int32_t rill_session_vocab_subset_size(const rill_session *stream, rill_vocab_subset list, int32_t slot);

/* --- runs --------------------------------------------------------------------------------------------------------- */

/* What a program's `best` or `mix` is asked, and where it answers: as rill_score_request and rill_score_result of domain.h, whose arrays
 * these are. */
typedef struct rill_selection {
    int32_t max_choices;      /* M >= 0: the best M legal actions of each row; 0: only picks */
    size_t legal_words;       /* words of a set */
    const uint64_t *legal;    /* [sets, legal_words] bitsets of actions, or NULL */
    const int32_t *legal_set; /* [n] which set a row's actions come from, -1: all; NULL: all rows -1 */
    int32_t n_picks;          /* ascending by row */
    const int32_t *pick_row, *pick_action;
    int32_t stride; /* >= most */
    int32_t *
        count; /* [n] out. Rows that the operation's space leaves out are not touched when M > 0, nor their picks ever */
    int32_t *action;  /* [n, stride] out, best first */
    float *logp;      /* [n, stride] out */
    float *pick_logp; /* [n_picks] out; -infinity for what is no action of the operation */
} rill_selection;

typedef struct rill_run_arguments {
    size_t struct_size;
    int32_t n; /* rows; 0 is legal */
    const int32_t *const
        *columns; /* in the order of their declaration: [n], or [all units] of a ragged space; one that a
                                            `best` operation writes is the caller's to write */
    const rill_selection *selection; /* of programs with `best` or `mix` */
    float *watched; /* of programs that watch: [n, ld_watched] out: mean weights, the first T of a row */
    size_t ld_watched;
    int32_t
        async_group; /* 1 or 2, group 0 or 1 of domain.h: choices may be answered later; 0: they are there on return */
} rill_run_arguments;

/* Apply the program. Runs are done as if one after the other; one without answers need not be over on return.
 *   RILL_OK · RILL_AGAIN (with `late`: the answers are there after rill_session_collect(); until then what they are written to stays
 *   where it is, and so do the selection's arrays. A group has one such run at a time) · RILL_ERR_MEMORY
 *   RILL_ERR_DEVICE (the device failed, now or in a run before: no run of the stream is sure to succeed) */
RILL_API rill_status rill_session_run(rill_session *stream, rill_graph program, const rill_run_arguments *arguments);

/* Wait for the answers of the group's run that is late; there may be none. RILL_OK · RILL_ERR_DEVICE */
RILL_API rill_status rill_session_collect(rill_session *stream, int32_t group);

/* For rill_domain_info.group_rows; 0: the device answers at once. */
RILL_API int32_t rill_device_group_rows(const rill_device *device);

/* --- profiles ----------------------------------------------------------------------------------------------------- */

/* Start (1) or stop (0) counting; starting clears. RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_session_profile(rill_session *stream, int on);
/* Operation i of all programs in order; 0 when there is none left. */
RILL_API int rill_session_profile_row(const rill_session *stream, int32_t i, rill_op_profile *out);

/* --- runners ------------------------------------------------------------------------------------------------------ */

/* Members of a domain's table (rill/domain.h) for runners whose first member is their `rill_session *`. rill_runner_limits() measures what
 * one thread does at best, in about a tenth of a second; of another device than the processor it knows nothing, and gives zeros. */
RILL_API void rill_runner_drop(void *runner, int32_t slot);
RILL_API rill_status rill_runner_collect(void *runner, int32_t group);
RILL_API rill_status rill_runner_profile(void *runner, int on);
RILL_API int rill_runner_profile_row(const void *runner, int32_t i, rill_op_profile *out);
RILL_API rill_status rill_runner_limits(void *runner, rill_limits *out);

RILL_C_END

#endif
