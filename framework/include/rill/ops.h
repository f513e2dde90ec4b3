/* The operations of a graph (device.h): what each computes, its operands, and what it costs.
 *
 * An operation is described once: by a struct, which a graph's builder fills, and a list of its operands. Checks of graphs, kernels and
 * profiles read these. A new operation is an entry of RILL_OPERATIONS with its struct, its list and its rill_op_*() function; a new
 * activation is an entry of RILL_ACTIVATIONS. Each device then needs its arithmetic.
 *
 * Dimensions: R rows of an operation's index space, H width, K inputs and N outputs of a product, V symbols (vocabulary size), M choices
 * requested per row, T keys of an attention.
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

/* Handles of a network's objects are > 0. Negative: a failed call, whose error the network records. 0, as in an unset member: none. */
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

/* An operand: the rows of a tensor, table or constant that an operation reads or writes. device.h's rill_view_*() make operands; zeros
 * mean none. */
typedef struct rill_view {
    uint8_t kind;   /* kind of the source; 0: there is none; other values are private */
    int32_t source; /* handle of the tensor, table or constant */
    /* row index in the source: RILL_OWN, or a column with the indexes. Indexes may be negative where an operation allows it */
    rill_column row;
    rill_column slot; /* for ragged tables: the column that holds the slot */
    int32_t first;    /* first float to use in each row */
} rill_view;

/* --- activations -------------------------------------------------------------------------------------------------- */

/* X(NAME, name): the activation RILL_NAME. Its functions are one_name() in kernels/ref/rows.c, v_name() in kernels/vector/vec.h, gpu_name()
 * in kernels/cuda/rows.cuh. Entries are only appended.
 *   LINEAR        x
 *   TANH          tanh x
 *   RELU          max(x, 0); on the processor NaN stays NaN, a GPU may make it 0
 *   SWISH         x sigmoid(x)
 *   GELU          x Phi(x), Phi the normal distribution: the exact form
 *   SIGMOID       1 / (1 + e^-x)
 *   GELU_TANH     x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)): the form with tanh (Hendrycks and Gimpel 2016)
 *   GELU_SIGMOID  x sigmoid(1.702 x): the quick form */
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

/* The number of activations, counted by adding 1 for each entry of RILL_ACTIVATIONS. */
#define RILL_ENTRY(NAME, name) +1
enum { RILL_N_ACTIVATIONS = 0 RILL_ACTIVATIONS(RILL_ENTRY) };
#undef RILL_ENTRY

/* --- operations on rows ------------------------------------------------------------------------------------------- */

/* Lists of operands have entries X(OPERATION, member, times, width, use). A row of the operand has `times` times as many floats as the
 * width with number `width`, from 0. An operation on rows has one width: the member that RILL_ROW_OPERATIONS names; if it is 0, its comment
 * says what the width is. For other operations the comment at the list of operands names the widths. */
enum rill_operand_use {
    RILL_OUT = 1 << 0,           /* the operation writes this operand; all other operands are read */
    RILL_OPTIONAL = 1 << 1,      /* the operand may be omitted */
    RILL_MAY_BE_ABSENT = 1 << 2, /* the operand's row indexes may be negative: no row */
    RILL_OWN_SPACE = 1 << 3,     /* the operand must be a tensor of the operation's own index space */
    RILL_ANY_ROW = 1 << 4,    /* the operation selects rows of a tensor or table itself: the view's row is not read */
    RILL_RUN_ROWS = 1 << 5,   /* the operand has a row for each row of the run, not for each row of the operation */
    RILL_IN_PLACE = 1 << 6,   /* may be the same rows as the first output, which are then overwritten in place */
    RILL_SUBSET = 1 << 7,     /* rows may be as narrow as the vocabulary subset of the row's slot */
    RILL_REPEATED = 1 << 8,   /* the member is an array of views */
    RILL_ONE_ROW = 1 << 9,    /* the member is a rill_constant of one row, the same for all rows */
    RILL_UNCOUNTED = 1 << 10, /* not counted in the bytes that profiles report */
    RILL_UNLESS_0 = 1 << 11   /* the operand is omitted if its width is 0 */
};

/* c' = sigmoid(f) c + sigmoid(i) tanh(g); h' = sigmoid(o) tanh(c'): gates [R, 4H] in the order i, f, g, o. A negative row index of c: a
 * zero state. Gates are a tensor of the operation's index space; c_out and h_out have the same rows. States may be rows of a table; no
 * other row of the run may read the written rows. */
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

/* r = sigmoid(x_r + h_r), z = sigmoid(x_z + h_z), n = tanh(x_n + r h_n), h' = (1 - z) n + z h: input gates and hidden gates [R, 3H] in the
 * order r, z, n, biases included (PyTorch's definition), both of the operation's index space. A negative row index of h: a zero state. */
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

/* y = gain * (z - mean z) / sqrt(var z + eps) + bias, where z = x + residual. With `rms`: y = gain * z / sqrt(mean z^2 + eps) + bias. */
typedef struct rill_normalise {
    rill_view x, residual;    /* an omitted residual counts as 0 */
    rill_constant gain, bias; /* an omitted gain counts as 1, an omitted bias as 0 */
    float eps;
    int rms;
    rill_view y;  /* may be the same rows as x or residual */
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

/* y = activation(x) * gate or, if the gate is omitted, y = activation(x). */
typedef struct rill_activate {
    rill_activation activation;
    rill_view x, gate, y; /* y may be the same rows as x */
    size_t width;         /* width of the rows; 0: the width of y */
} rill_activate;
#define RILL_ACTIVATE_OPERANDS(X)                           \
    X(ACTIVATE, x, 1, 0, RILL_IN_PLACE)                     \
    X(ACTIVATE, gate, 1, 0, RILL_OPTIONAL | RILL_UNCOUNTED) \
    X(ACTIVATE, y, 1, 0, RILL_OUT)
RILL_API void rill_op_activate(rill_network *network, rill_graph graph, rill_index_space space,
                               const rill_activate *op);

/* out = scale * embedding row + position row. Rows with a negative index add nothing. The embedding is a constant, a table, or an fp32
 * matrix: weights tied to the output layer are stored once. */
typedef struct rill_embedding {
    rill_view rows;     /* the embeddings, as rows of a constant or table; omitted if `matrix` has them */
    rill_matrix matrix; /* the embeddings, as rows of a matrix; omitted if `rows` has them */
    rill_column symbol; /* column of symbols (token ids), which are the row indexes in `matrix` */
    float scale;        /* must be set; 1 for no scaling */
    rill_view position; /* rows to add, of a constant, table or tensor; a zeroed view adds nothing */
    rill_view out;
    size_t width; /* width of the rows; 0: the width of `matrix` or, if that is omitted, of `out` */
} rill_embedding;
#define RILL_EMBED_OPERANDS(X)                                                    \
    X(EMBED, rows, 1, 0, RILL_OPTIONAL | RILL_MAY_BE_ABSENT)                      \
    X(EMBED, position, 1, 0, RILL_OPTIONAL | RILL_MAY_BE_ABSENT | RILL_UNCOUNTED) \
    X(EMBED, out, 1, 0, RILL_OUT)
RILL_API void rill_op_embed(rill_network *network, rill_graph graph, rill_index_space space, const rill_embedding *op);

/* out = activation(sum of the terms in order). Terms with a negative row index are skipped; an empty sum is 0. */
enum { RILL_SUM_TERMS = 12 };
typedef struct rill_sum {
    int32_t terms;
    rill_view term[RILL_SUM_TERMS];
    rill_activation activation; /* RILL_LINEAR and RILL_RELU are possible */
    rill_view out;              /* may be the same rows as one of the terms */
    size_t width;               /* width of the rows; 0: the width of out */
} rill_sum;
#define RILL_SUM_OPERANDS(X)    \
    X(SUM, out, 1, 0, RILL_OUT) \
    X(SUM, term, 1, 0, RILL_REPEATED | RILL_MAY_BE_ABSENT | RILL_IN_PLACE)
RILL_API void rill_op_sum(rill_network *network, rill_graph graph, rill_index_space space, const rill_sum *op);

/* out = x. Rows for which the row index of x is negative become zeros. */
typedef struct rill_copy {
    size_t width;
    rill_view x, out;
} rill_copy;
#define RILL_COPY_OPERANDS(X)            \
    X(COPY, x, 1, 0, RILL_MAY_BE_ABSENT) \
    X(COPY, out, 1, 0, RILL_OUT)
RILL_API void rill_op_copy(rill_network *network, rill_graph graph, rill_index_space space, const rill_copy *op);

/* --- products and scans ------------------------------------------------------------------------------------------- */

/* out = activation(bias + add + a W^T), where `a` may be the concatenation [a, a2]: first bias and add, then the products in order of K.
 * Rows of `add` with a negative index add nothing. */
typedef struct rill_product {
    rill_matrix matrix; /* the weights W, N x K */
    /* instead of `matrix`: the weights of the slot's vocabulary subset. Column `vocab_subset_slot` has the slots; N differs from row to
     * row */
    rill_vocab_subset vocab_subset;
    rill_column vocab_subset_slot;
    rill_view a, a2; /* inputs of shape [R, K - k2] and [R, k2] */
    size_t k2;       /* width of a2; 0: a2 is omitted */
    rill_constant bias;
    rill_view add; /* [R, N] summands, such as another product's result */
    rill_activation activation;
    rill_view out; /* [R, N] result; may be the same rows as `add` */
} rill_product;
/* Widths in the list below: 0 is N, 1 is K - k2, 2 is k2. */
#define RILL_PRODUCT_OPERANDS(X)                                                               \
    X(PRODUCT, a, 1, 1, 0)                                                                     \
    X(PRODUCT, a2, 1, 2, RILL_UNLESS_0)                                                        \
    X(PRODUCT, add, 1, 0, RILL_OPTIONAL | RILL_MAY_BE_ABSENT | RILL_IN_PLACE | RILL_UNCOUNTED) \
    X(PRODUCT, out, 1, 0, RILL_OUT)                                                            \
    X(PRODUCT, bias, 1, 0, RILL_ONE_ROW)
RILL_API void rill_op_product(rill_network *network, rill_graph graph, rill_index_space space, const rill_product *op);

/* A recurrent layer over the tokens of each input in one direction, from a zero state. Token t of `space` reads row t + shift of the input
 * gates; its h is row t of `out`. Tokens are in ascending order, or descending if `backward` is 1. */
typedef enum rill_cell { RILL_CELL_LSTM, RILL_CELL_GRU } rill_cell;
typedef struct rill_scan {
    rill_cell cell;
    rill_index_space space;       /* a ragged index space: the tokens of all inputs */
    size_t hidden;                /* H, the width of the recurrent state */
    rill_matrix recurrent;        /* recurrent weights: 4H x H for an LSTM, 3H x H for a GRU */
    rill_constant recurrent_bias; /* GRU only: bias of the recurrent product, [3H]; omitted: 0 */
    /* input gates with bias, [units, 4H] (LSTM) or [units, 3H] (GRU): a ragged tensor, or rows of a constant at a column's indexes */
    rill_view gates;
    int32_t shift; /* if gates are a ragged tensor: token t reads row t + shift of its input */
    int backward;
    rill_view out; /* [units, H] output of each token; omitted if only the last state is needed */
    /* [inputs, H] state after the last token of each input; zero for an input without tokens. May be omitted */
    rill_view last_h, last_c;
} rill_scan;
/* Widths in the list below: 0 is H; 1 is 4H (LSTM) or 3H (GRU). */
#define RILL_SCAN_OPERANDS(X)                                                        \
    X(SCAN, gates, 1, 1, RILL_ANY_ROW)                                               \
    X(SCAN, out, 1, 0, RILL_OUT | RILL_OPTIONAL)                                     \
    X(SCAN, last_h, 1, 0, RILL_OUT | RILL_OPTIONAL | RILL_RUN_ROWS | RILL_UNCOUNTED) \
    X(SCAN, last_c, 1, 0, RILL_OUT | RILL_OPTIONAL | RILL_RUN_ROWS | RILL_UNCOUNTED) \
    X(SCAN, recurrent_bias, 1, 1, RILL_ONE_ROW)
RILL_API void rill_op_scan(rill_network *network, rill_graph graph, const rill_scan *op); /* runs on rill_scan.space */

/* --- attention ---------------------------------------------------------------------------------------------------- */

/* Compute each row's path from its node to the root of the hypothesis tree: depth + 1 nodes, root first. The device stores each node's
 * parent. With a column `parent` the nodes are new, and their parents are stored now, negative for a root; without it the nodes exist
 * already. No row's node may lie on another row's path. */
RILL_API rill_path rill_op_path(rill_network *network, rill_graph graph, rill_column node, rill_column parent,
                                rill_column depth);

/* Attention: softmax over t of scale * (query . key_t), or with `additive` of scale * (additive . tanh(key_t + query)), then the weighted
 * sum of the values. Exactly one of path, slot and own_units is set, and selects the rows of keys and values. Heads are concatenated in
 * queries, keys, values and out. A row without keys gives zeros; a scale of 0 gives the mean.
 *
 * `relative` is a relative position bias on the scores (Shaw et al. 2018; one number per distance as in Raffel et al. 2020): for head h and
 * a key d rows before the query's row, entry h, L + d, with d clamped to [-L, L]. Along a path the query's row is the last; with own_units
 * it is the token itself, so the operation's index space is that of the keys. */
typedef struct rill_attend {
    size_t heads, width; /* width: floats per head of queries and keys */
    float scale;
    rill_view query; /* [R, heads * width] queries */
    rill_path path;  /* keys and values: the rows of their node tables along this path (the KV cache) */
    /* keys and values: all rows of their ragged tables that belong to this slot (cross-attention) */
    rill_column slot;
    /* keys and values: the rows of their ragged tensors for the tokens of the row's own input (encoder self-attention) */
    int own_units;
    rill_view keys, values; /* [T, heads * width], [T, heads * value_width]; their row columns are ignored */
    rill_view out;          /* [R, heads * value_width] weighted sums of the values */
    /* number of heads whose attention weights are averaged and returned to the host, in rill_run_arguments.watched: the first heads; 0:
     * none */
    size_t watched_heads;
    size_t value_width;     /* floats per head of the values; 0: width */
    rill_constant additive; /* weights of additive attention, [1, heads * width]; omitted: dot-product attention */
    /* relative position bias, [heads, 2 L + 1] for any L >= 0; may be omitted; not with `slot` */
    rill_constant relative;
} rill_attend;
/* Widths in the list below: 0 is heads * width, 1 is heads * value_width. */
#define RILL_ATTEND_OPERANDS(X)           \
    X(ATTEND, query, 1, 0, 0)             \
    X(ATTEND, keys, 1, 0, RILL_ANY_ROW)   \
    X(ATTEND, values, 1, 1, RILL_ANY_ROW) \
    X(ATTEND, out, 1, 1, RILL_OUT)        \
    X(ATTEND, additive, 1, 0, RILL_ONE_ROW)
RILL_API void rill_op_attend(rill_network *network, rill_graph graph, rill_index_space space, const rill_attend *op);

/* --- choices ------------------------------------------------------------------------------------------------------ */

/* Mask the symbols of the slot's vocabulary subset: x(v) = -infinity for each symbol v in it. Applied before the softmax. */
typedef struct rill_mask {
    rill_vocab_subset vocab_subset;
    rill_column slot;
    rill_view x;  /* [R, V] logits, changed in place; a tensor of the operation's index space */
    size_t width; /* V, the vocabulary size; 0: the width of x */
} rill_mask;
/* Width 0 in the list below is V. */
#define RILL_MASK_OPERANDS(X) X(MASK, x, 1, 0, RILL_OWN_SPACE | RILL_UNCOUNTED)
RILL_API void rill_op_mask(rill_network *network, rill_graph graph, rill_index_space space, const rill_mask *op);

/* The best M choices of log-softmax(logits + bias + add), and the log-probabilities of picks, as rill_run_arguments.selection requests:
 *   x(v) = logits(v) + bias(v) + add(v); log-probability x(v) - log sum exp x; the best M legal ones, ties broken by the smaller symbol.
 * With a vocabulary subset, logits and softmax cover the slot's symbols. A row with a NaN has no choices, and its picks are NaN. Action =
 * symbol + first_action. `raw`: x itself is returned as log-probability, for self-normalised models. */
typedef struct rill_best_choices {
    rill_view logits; /* [R, V] logits */
    size_t symbols;   /* V, the vocabulary size */
    rill_constant bias;
    rill_view add; /* [R, V] added to the logits before the softmax; rows with a negative index add nothing */
    rill_vocab_subset vocab_subset;
    rill_column vocab_subset_slot;
    int32_t first_action;
    /* write each row's best action (symbol + first_action) to this column, instead of returning choices; M is then 1. A row without choices
     * (NaN) gets first_action */
    rill_column tag_column;
    int32_t raw; /* 1: return x itself, without softmax */
} rill_best_choices;
/* Width 0 in the list below is V. */
#define RILL_BEST_OPERANDS(X)                                               \
    X(BEST, logits, 1, 0, RILL_OWN_SPACE | RILL_SUBSET)                     \
    X(BEST, add, 1, 0, RILL_OPTIONAL | RILL_MAY_BE_ABSENT | RILL_UNCOUNTED) \
    X(BEST, bias, 1, 0, RILL_ONE_ROW)
RILL_API void rill_op_best(rill_network *network, rill_graph graph, rill_index_space space,
                           const rill_best_choices *op);

/* rill_op_best() for an ensemble of E models: the logarithm of the mean of their probabilities. It is exact for all symbols that can be
 * among the best, within log E of the M-th best maximum. A slot's vocabulary subsets of all models are equal. Logits are overwritten. If
 * one model has a NaN or no possible symbol, a row has no choices, and its picks are NaN. */
enum { RILL_MIX_MODELS = 32 };
typedef struct rill_mix {
    int32_t models;
    rill_view logits[RILL_MIX_MODELS];
    /* one bias per model; none with vocabulary subsets, which have their own biases */
    rill_constant bias[RILL_MIX_MODELS];
    rill_vocab_subset vocab_subset[RILL_MIX_MODELS];
    rill_column vocab_subset_slot;
    size_t symbols;
} rill_mix;
/* Width 0 in the list below is V. */
#define RILL_MIX_OPERANDS(X) X(MIX, logits, 1, 0, RILL_REPEATED | RILL_OWN_SPACE | RILL_SUBSET)
RILL_API void rill_op_mix(rill_network *network, rill_graph graph, rill_index_space space, const rill_mix *op);

/* --- all of them -------------------------------------------------------------------------------------------------- */

/* The lists of operations, with an entry X(OPERATION, word, description, width, flops) for each.
 *
 * `description` is the struct above that describes the operation. rill_op_word() adds the operation to a graph. It runs on all rows of an
 * index space (device.h). rill_network_finish() checks the widths and index spaces of operands. `flops`: floating-point operations per
 * float of the operands.
 *
 * A row operation computes each output row from one row of each operand, so devices need only its kernel. `width`: the member of
 * `description` with the number of floats in a row; empty for other operations. */
#define RILL_ROW_OPERATIONS(X)                        \
    X(LSTM, lstm, rill_lstm_cell, hidden, 1)          \
    X(GRU, gru, rill_gru_cell, hidden, 1)             \
    X(NORMALISE, normalise, rill_normalise, width, 4) \
    X(ACTIVATE, activate, rill_activate, width, 1)    \
    X(EMBED, embed, rill_embedding, width, 1)         \
    X(SUM, sum, rill_sum, width, 1)                   \
    X(COPY, copy, rill_copy, width, 0)
/* `flops` is 0 for products, scans and attention: it follows from the sizes of weights and of attention's memory. */
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
