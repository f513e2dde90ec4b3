/* The operations of a compute graph (device.h): what each computes, its operands, its cost.
 *
 * Each operation has a struct of arguments and a list of operands. Graph checks, kernels and profiles read these lists.
 * To add one: a struct, a list, a rill_op_*() function, an entry in RILL_OPERATIONS, and a kernel per device.
 *
 * Dimensions: R rows, H width, N outputs and K inputs of a product, V vocabulary size, M choices per row, T keys of an attention.
 *
 * Stability: as for device.h. */
#ifndef RILL_OPS_H
#define RILL_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "rill/version.h"

RILL_C_BEGIN

/* --- handles and views -------------------------------------------------------------------------------------------- */

typedef struct rill_network rill_network;

/* Handles of a network's objects: > 0; 0: none; negative: a failed call, see rill_network_finish(). */
typedef int32_t rill_constant;
typedef int32_t rill_matrix;
typedef int32_t rill_table;
typedef int32_t rill_vocab_subset;

typedef int32_t rill_graph;
typedef int32_t rill_index_space;
typedef int32_t rill_column;
typedef int32_t rill_tensor;
typedef int32_t rill_path;

enum { RILL_NONE = 0 }; /* an omitted operand or object */
enum { RILL_ROWS = 0 }; /* the index space of all rows of the run */
enum { RILL_OWN = -1 }; /* passed instead of a column: the row's own index */

/* An operand: rows of a tensor, table or constant, made by rill_view_*() (device.h). All zeros: none. */
typedef struct rill_view {
    uint8_t kind;   /* kind of the source; 0: none; others are private */
    int32_t source; /* handle of the tensor, table or constant */
    /* row index in the source: RILL_OWN, or a column of indexes; negative (no row) only with RILL_MAY_BE_ABSENT */
    rill_column row;
    rill_column slot; /* ragged tables: the column with the slot (the input) */
    int32_t first;    /* first float of each row */
} rill_view;

/* --- activations -------------------------------------------------------------------------------------------------- */

/* X(NAME, name): the activation RILL_NAME, computed by one_name() in kernels/ref/rows.c, v_name() in kernels/vector/vec.h and
 * gpu_name() in kernels/cuda/rows.cuh. Entries are only appended.
 *   LINEAR        x
 *   TANH          tanh x
 *   RELU          max(x, 0); NaN stays NaN on the CPU, and may become 0 on a GPU
 *   SWISH         x sigmoid(x)
 *   GELU          x Phi(x), Phi the normal distribution
 *   SIGMOID       1 / (1 + e^-x)
 *   GELU_TANH     x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)) (Hendrycks and Gimpel 2016)
 *   GELU_SIGMOID  x sigmoid(1.702 x), "quick GELU" */
#define RILL_ACTIVATIONS(X) \
    X(LINEAR, linear)       \
    X(TANH, tanh)           \
    X(RELU, relu)           \
    X(SWISH, swish)         \
    X(GELU, gelu)           \
    X(SIGMOID, sigmoid)     \
    X(GELU_TANH, gelu_tanh) \
    X(GELU_SIGMOID, gelu_sigmoid)

typedef enum rill_activation {
#define RILL_ENTRY(NAME, name) RILL_##NAME,
    RILL_ACTIVATIONS(RILL_ENTRY)
#undef RILL_ENTRY
} rill_activation;

#define RILL_ENTRY(NAME, name) +1
enum { RILL_N_ACTIVATIONS = 0 RILL_ACTIVATIONS(RILL_ENTRY) };
#undef RILL_ENTRY

/* --- operations on rows ------------------------------------------------------------------------------------------- */

/* Properties of an operand, the `use` in lists of X(OPERATION, member, times, width, use). An operand has times * W floats per row, where W
 * is the operation's width number `width`. Row operations have one width; the lists of other operations say which widths they have. */
enum rill_operand_use {
    RILL_OUT = 1 << 0,           /* the operand is an output; other operands are inputs */
    RILL_OPTIONAL = 1 << 1,      /* the operand may be omitted */
    RILL_MAY_BE_ABSENT = 1 << 2, /* the operand's row indexes may be negative: no row */
    RILL_OWN_SPACE = 1 << 3,     /* the operand must be a tensor of the operation's own index space */
    RILL_ANY_ROW = 1 << 4,       /* the operation selects the rows; the view's row is ignored */
    RILL_RUN_ROWS = 1 << 5,      /* a row for each row of the run, not of the operation's index space */
    RILL_IN_PLACE = 1 << 6,      /* the operand may alias the first output (in-place) */
    RILL_SUBSET = 1 << 7,        /* rows may be as narrow as the vocabulary subset of the row's input */
    RILL_REPEATED = 1 << 8,      /* the member is an array of views */
    RILL_ONE_ROW = 1 << 9,       /* the operand is a rill_constant of one row, used for all rows */
    RILL_UNCOUNTED = 1 << 10,    /* the operand is not counted in profiles' bytes */
    RILL_UNLESS_0 = 1 << 11      /* the operand is omitted if its width is 0 */
};

/* LSTM cell: c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c'). gates: [R, 4H] in the order i, f, g, o.
 * A negative row index of c is a zero state. States may be table rows; no other row may read the written ones. */
typedef struct rill_lstm_cell {
    size_t hidden;
    rill_view gates, c, c_out, h_out;
} rill_lstm_cell;
#define RILL_LSTM_OPERANDS(X)                                            \
    X(LSTM, gates, 4, 0, RILL_OWN_SPACE)                                 \
    X(LSTM, c, 1, 0, RILL_OPTIONAL | RILL_MAY_BE_ABSENT | RILL_IN_PLACE) \
    X(LSTM, c_out, 1, 0, RILL_OUT)                                       \
    X(LSTM, h_out, 1, 0, RILL_OUT)
RILL_API void rill_op_lstm(rill_network *network, rill_graph graph, rill_index_space space, const rill_lstm_cell *op);

/* GRU cell, as in PyTorch: r = sigmoid(x_r + h_r), z = sigmoid(x_z + h_z), n = tanh(x_n + r h_n), h' = (1 - z) n + z h.
 * input, hidden_gates: [R, 3H] in the order r, z, n, with biases. A negative row index of h is a zero state. */
typedef struct rill_gru_cell {
    size_t hidden;
    rill_view input, hidden_gates, h, h_out;
} rill_gru_cell;
#define RILL_GRU_OPERANDS(X)                                            \
    X(GRU, input, 3, 0, RILL_OWN_SPACE)                                 \
    X(GRU, hidden_gates, 3, 0, RILL_OWN_SPACE)                          \
    X(GRU, h, 1, 0, RILL_OPTIONAL | RILL_MAY_BE_ABSENT | RILL_IN_PLACE) \
    X(GRU, h_out, 1, 0, RILL_OUT)
RILL_API void rill_op_gru(rill_network *network, rill_graph graph, rill_index_space space, const rill_gru_cell *op);

/* Layer norm: y = gain * (z - mean z) / sqrt(var z + eps) + bias, z = x + residual. rms: y = gain * z / sqrt(mean z^2 + eps) + bias. */
typedef struct rill_normalise {
    rill_view x, residual;    /* the residual is optional */
    rill_constant gain, bias; /* an omitted gain is 1, an omitted bias 0 */
    float eps;
    int rms;
    rill_view y;  /* output; may alias x or residual */
    size_t width; /* width of the rows; 0: the width of y */
} rill_normalise;
#define RILL_NORMALISE_OPERANDS(X)                                               \
    X(NORMALISE, x, 1, 0, RILL_IN_PLACE)                                         \
    X(NORMALISE, residual, 1, 0, RILL_OPTIONAL | RILL_IN_PLACE | RILL_UNCOUNTED) \
    X(NORMALISE, y, 1, 0, RILL_OUT)                                              \
    X(NORMALISE, gain, 1, 0, RILL_ONE_ROW)                                       \
    X(NORMALISE, bias, 1, 0, RILL_ONE_ROW)
RILL_API void rill_op_normalise(rill_network *network, rill_graph graph, rill_index_space space,
                                const rill_normalise *op);

/* y = activation(x) * gate; gate is optional. */
typedef struct rill_activate {
    rill_activation activation;
    rill_view x, gate, y; /* y may alias x */
    size_t width;         /* width of the rows; 0: the width of y */
} rill_activate;
#define RILL_ACTIVATE_OPERANDS(X)                           \
    X(ACTIVATE, x, 1, 0, RILL_IN_PLACE)                     \
    X(ACTIVATE, gate, 1, 0, RILL_OPTIONAL | RILL_UNCOUNTED) \
    X(ACTIVATE, y, 1, 0, RILL_OUT)
RILL_API void rill_op_activate(rill_network *network, rill_graph graph, rill_index_space space,
                               const rill_activate *op);

/* out = scale * embedding + position. A row with a negative index adds nothing. `matrix` must be fp32: tied weights are stored once. */
typedef struct rill_embedding {
    rill_view rows;     /* embeddings in a constant or table; omitted if `matrix` is set */
    rill_matrix matrix; /* embeddings in a weight matrix; omitted if `rows` is set */
    rill_column symbol; /* column of token ids, which index the rows of `matrix` */
    float scale;        /* factor of the embedding; 1: no scaling. There is no default */
    rill_view position; /* position embeddings; optional */
    rill_view out;
    size_t width; /* width of the rows; 0: the width of `matrix` or `out` */
} rill_embedding;
#define RILL_EMBED_OPERANDS(X)                                                    \
    X(EMBED, rows, 1, 0, RILL_OPTIONAL | RILL_MAY_BE_ABSENT)                      \
    X(EMBED, position, 1, 0, RILL_OPTIONAL | RILL_MAY_BE_ABSENT | RILL_UNCOUNTED) \
    X(EMBED, out, 1, 0, RILL_OUT)
RILL_API void rill_op_embed(rill_network *network, rill_graph graph, rill_index_space space, const rill_embedding *op);

/* out = activation(sum of the terms, in order). Terms with a negative row index are skipped. */
enum { RILL_SUM_TERMS = 12 };
typedef struct rill_sum {
    int32_t terms;
    rill_view term[RILL_SUM_TERMS];
    rill_activation activation; /* RILL_LINEAR or RILL_RELU */
    rill_view out;              /* output; may alias a term */
    size_t width;               /* width of the rows; 0: the width of out */
} rill_sum;
#define RILL_SUM_OPERANDS(X)    \
    X(SUM, out, 1, 0, RILL_OUT) \
    X(SUM, term, 1, 0, RILL_REPEATED | RILL_MAY_BE_ABSENT | RILL_IN_PLACE)
RILL_API void rill_op_sum(rill_network *network, rill_graph graph, rill_index_space space, const rill_sum *op);

/* out = x. A row with a negative index becomes zeros. */
typedef struct rill_copy {
    size_t width;
    rill_view x, out;
} rill_copy;
#define RILL_COPY_OPERANDS(X)            \
    X(COPY, x, 1, 0, RILL_MAY_BE_ABSENT) \
    X(COPY, out, 1, 0, RILL_OUT)
RILL_API void rill_op_copy(rill_network *network, rill_graph graph, rill_index_space space, const rill_copy *op);

/* --- products and scans ------------------------------------------------------------------------------------------- */

/* GEMM: out = activation(bias + add + [a, a2] W^T). Order of sums: bias, add, then products in order of K.
 * A row of `add` with a negative index adds nothing. */
typedef struct rill_product {
    rill_matrix matrix; /* the weights W, N x K */
    /* or the weights of the row's vocabulary subset, for the slots in column `vocab_subset_slot`; N then differs per row */
    rill_vocab_subset vocab_subset;
    rill_column vocab_subset_slot;
    rill_view a, a2; /* inputs: [R, K - k2] and [R, k2] */
    size_t k2;       /* width of a2; 0: a2 is omitted */
    rill_constant bias;
    rill_view add; /* [R, N] summand, such as another product's result; optional */
    rill_activation activation;
    rill_view out; /* [R, N] output; may alias `add` */
} rill_product;
/* Widths: 0 is N, 1 is K - k2, 2 is k2. */
#define RILL_PRODUCT_OPERANDS(X)                                                               \
    X(PRODUCT, a, 1, 1, 0)                                                                     \
    X(PRODUCT, a2, 1, 2, RILL_UNLESS_0)                                                        \
    X(PRODUCT, add, 1, 0, RILL_OPTIONAL | RILL_MAY_BE_ABSENT | RILL_IN_PLACE | RILL_UNCOUNTED) \
    X(PRODUCT, out, 1, 0, RILL_OUT)                                                            \
    X(PRODUCT, bias, 1, 0, RILL_ONE_ROW)
RILL_API void rill_op_product(rill_network *network, rill_graph graph, rill_index_space space, const rill_product *op);

/* A recurrent layer over each input's tokens, from a zero state, in ascending order; descending if `backward`.
 * Token t reads row t + shift of `gates` and writes row t of `out`. */
typedef enum rill_cell { RILL_CELL_LSTM, RILL_CELL_GRU } rill_cell;
typedef struct rill_scan {
    rill_cell cell;
    rill_index_space space;       /* index space of the tokens of all inputs (ragged) */
    size_t hidden;                /* H, the width of the recurrent state */
    rill_matrix recurrent;        /* recurrent weights: [4H, H] for an LSTM, [3H, H] for a GRU */
    rill_constant recurrent_bias; /* bias of a GRU's recurrent product, [3H]; optional */
    /* input gates with bias, [tokens, 4H] (LSTM) or [tokens, 3H] (GRU): a ragged tensor, or rows of a constant */
    rill_view gates;
    int32_t shift; /* with ragged gates, token t reads their row t + shift */
    int backward;
    rill_view out; /* [tokens, H] output of each token; optional */
    /* [inputs, H] state after each input's last token; zero for an input without tokens; optional */
    rill_view last_h, last_c;
} rill_scan;
/* Widths: 0 is H; 1 is 4H (LSTM) or 3H (GRU). */
#define RILL_SCAN_OPERANDS(X)                                                        \
    X(SCAN, gates, 1, 1, RILL_ANY_ROW)                                               \
    X(SCAN, out, 1, 0, RILL_OUT | RILL_OPTIONAL)                                     \
    X(SCAN, last_h, 1, 0, RILL_OUT | RILL_OPTIONAL | RILL_RUN_ROWS | RILL_UNCOUNTED) \
    X(SCAN, last_c, 1, 0, RILL_OUT | RILL_OPTIONAL | RILL_RUN_ROWS | RILL_UNCOUNTED) \
    X(SCAN, recurrent_bias, 1, 1, RILL_ONE_ROW)
RILL_API void rill_op_scan(rill_network *network, rill_graph graph, const rill_scan *op); /* runs on rill_scan.space */

/* --- attention ---------------------------------------------------------------------------------------------------- */

/* Compute each row's path: its depth + 1 states (nodes) from the root of the hypothesis tree, for attention over the KV cache.
 * The device stores parents. `parent`: the nodes are new, with these parents (negative: a root); RILL_NONE: the nodes exist.
 * No row's node may be on another row's path. */
RILL_API rill_path rill_op_path(rill_network *network, rill_graph graph, rill_column node, rill_column parent,
                                rill_column depth);

/* Multi-head attention: softmax over t of scale * (query . key_t), or additive: of scale * (additive . tanh(key_t + query)), times the
 * values. Set one of path, slot and own_units: it selects the keys and values. A row without keys gives zeros; scale 0 gives the mean.
 * `relative` adds a bias per head and distance (Shaw et al. 2018; Raffel et al. 2020): entry [h, L + d] for a key d rows before the query,
 * d clamped to [-L, L]. Along a path the query is the last row. */
typedef struct rill_attend {
    size_t heads, width; /* width: floats per head of query and keys */
    float scale;
    rill_view query; /* [R, heads * width] queries */
    rill_path path;  /* keys and values of the hypothesis: KV-cache rows along this path */
    /* keys and values of the slot's input: ragged tables (cross-attention) */
    rill_column slot;
    /* 1: keys and values of the token's own input: ragged tensors (encoder self-attention) */
    int own_units;
    rill_view keys, values; /* [T, heads * width] keys, [T, heads * value_width] values; row columns are ignored */
    rill_view out;          /* [R, heads * value_width] output */
    /* attention weights of the first `watched_heads` heads are averaged into rill_run_arguments.watched; 0: none */
    size_t watched_heads;
    size_t value_width;     /* floats per head of the values; 0: width */
    rill_constant additive; /* [1, heads * width] weights of additive attention; omitted: dot-product attention */
    /* [heads, 2 L + 1], any L >= 0; optional; not with `slot` */
    rill_constant relative;
} rill_attend;
/* Widths: 0 is heads * width, 1 is heads * value_width. */
#define RILL_ATTEND_OPERANDS(X)           \
    X(ATTEND, query, 1, 0, 0)             \
    X(ATTEND, keys, 1, 0, RILL_ANY_ROW)   \
    X(ATTEND, values, 1, 1, RILL_ANY_ROW) \
    X(ATTEND, out, 1, 1, RILL_OUT)        \
    X(ATTEND, additive, 1, 0, RILL_ONE_ROW)
RILL_API void rill_op_attend(rill_network *network, rill_graph graph, rill_index_space space, const rill_attend *op);

/* --- choosing actions --------------------------------------------------------------------------------------------- */

/* Mask the symbols in the input's vocabulary subset: set their logits to -infinity. */
typedef struct rill_mask {
    rill_vocab_subset vocab_subset;
    rill_column slot;
    rill_view x;  /* [R, V] logits, changed in place */
    size_t width; /* V, the vocabulary size; 0: the width of x */
} rill_mask;
/* Width 0 is V. */
#define RILL_MASK_OPERANDS(X) X(MASK, x, 1, 0, RILL_OWN_SPACE | RILL_UNCOUNTED)
RILL_API void rill_op_mask(rill_network *network, rill_graph graph, rill_index_space space, const rill_mask *op);

/* Top-M and log-softmax of x = logits + bias + add, as rill_run_arguments.selection requests: the M best legal symbols, ties to the
 * smaller one, and the picks. action = symbol + first_action.
 * A vocabulary subset restricts the softmax too. A row with a NaN has no choices, and NaN picks. */
typedef struct rill_best_choices {
    rill_view logits; /* [R, V] logits */
    size_t symbols;   /* V, the vocabulary size */
    rill_constant bias;
    rill_view add; /* [R, V] added to the logits; a negative row index adds nothing */
    rill_vocab_subset vocab_subset;
    rill_column vocab_subset_slot;
    int32_t first_action;
    /* argmax: write each row's best action to this column instead; first_action for a row with a NaN */
    rill_column tag_column;
    int32_t raw; /* 1: return x instead of its log-softmax, for self-normalised models */
} rill_best_choices;
/* Width 0 is V. */
#define RILL_BEST_OPERANDS(X)                                               \
    X(BEST, logits, 1, 0, RILL_OWN_SPACE | RILL_SUBSET)                     \
    X(BEST, add, 1, 0, RILL_OPTIONAL | RILL_MAY_BE_ABSENT | RILL_UNCOUNTED) \
    X(BEST, bias, 1, 0, RILL_ONE_ROW)
RILL_API void rill_op_best(rill_network *network, rill_graph graph, rill_index_space space,
                           const rill_best_choices *op);

/* rill_op_best() for an ensemble of E models: the log of their mean probability. Exact for every symbol among the best M.
 * All models have the same vocabulary subset per input. Logits are overwritten. A row with a NaN in any model has no choices, and NaN
 * picks. */
enum { RILL_MIX_MODELS = 32 };
typedef struct rill_mix {
    int32_t models;
    rill_view logits[RILL_MIX_MODELS];
    /* one bias per model; none with vocabulary subsets */
    rill_constant bias[RILL_MIX_MODELS];
    rill_vocab_subset vocab_subset[RILL_MIX_MODELS];
    rill_column vocab_subset_slot;
    size_t symbols;
} rill_mix;
/* Width 0 is V. */
#define RILL_MIX_OPERANDS(X) X(MIX, logits, 1, 0, RILL_REPEATED | RILL_OWN_SPACE | RILL_SUBSET)
RILL_API void rill_op_mix(rill_network *network, rill_graph graph, rill_index_space space, const rill_mix *op);

/* --- list of all operations --------------------------------------------------------------------------------------- */

/* All operations: X(OPERATION, word, struct, width, flops). rill_op_word() adds one to a graph.
 *   width   row operations: the struct's member with the row width. A row operation reads one row of each operand
 *   flops   floating-point operations per float */
#define RILL_ROW_OPERATIONS(X)                        \
    X(LSTM, lstm, rill_lstm_cell, hidden, 1)          \
    X(GRU, gru, rill_gru_cell, hidden, 1)             \
    X(NORMALISE, normalise, rill_normalise, width, 4) \
    X(ACTIVATE, activate, rill_activate, width, 1)    \
    X(EMBED, embed, rill_embedding, width, 1)         \
    X(SUM, sum, rill_sum, width, 1)                   \
    X(COPY, copy, rill_copy, width, 0)
/* flops is 0 for products, scans and attention: computed from their sizes. */
#define RILL_OPERATIONS(X)                 \
    RILL_ROW_OPERATIONS(X)                 \
    X(PRODUCT, product, rill_product, , 0) \
    X(SCAN, scan, rill_scan, , 0)          \
    X(ATTEND, attend, rill_attend, , 0)    \
    X(MASK, mask, rill_mask, , 0)          \
    X(BEST, best, rill_best_choices, , 4)  \
    X(MIX, mix, rill_mix, , 6)

typedef enum rill_op_kind {
#define RILL_ENTRY(OPERATION, word, description, width, flops) RILL_OP_##OPERATION,
    RILL_OPERATIONS(RILL_ENTRY)
#undef RILL_ENTRY
        RILL_OP_PATH, /* rill_op_path() */
    RILL_OP_KINDS
} rill_op_kind;

RILL_C_END

#endif
