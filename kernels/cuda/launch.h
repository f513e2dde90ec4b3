/* Launch functions of the CUDA kernels. Plain C. All pointers in arguments are device memory.
 *
 * Kernels read the row count on the device and skip rows from *count on: a captured launch serves any number of rows up to `max`. Row r of
 * an operand is row index[r] of `data`, or r without index. A negative index: reads give zeros unless documented otherwise, writes are
 * skipped.
 *
 * Invariant: a row's bits depend on that row's operands alone, not on `max`, *count or thread order. */
#pragma once

#include "gpu.h"
#include "kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpu_rows {
    const int32_t *count; /* [1] number of rows, in device memory */
    int32_t max;          /* upper bound of *count; the grid is sized for so many rows */
} gpu_rows;

typedef struct gpu_operand {
    float *data;          /* the rows; NULL: the operand is absent */
    int32_t ld;           /* row stride of `data` in floats */
    const int32_t *index; /* [rows] row of `data` for each row; NULL: the same row */
} gpu_operand;

/* A panel: rows in the type in which GEMMs read their input, 16-byte aligned. */
typedef struct gpu_panel {
    void *data;    /* the rows; NULL: the operand is absent */
    int32_t ld;    /* row stride of `data` in elements */
    gpu_type type; /* type of the elements: half.h */
} gpu_panel;

/* --- rows.cu: operations on whole rows ---------------------------------------------------------------------------- */

/* An operation with both `out` and `panel` writes its rows to both. Either may be absent. */

/* panel(r) = [x(r), x2(r)], concatenated; zeros for absent rows. */
typedef struct gpu_gather {
    gpu_rows rows;
    int32_t width, width2; /* number of columns of x, and of x2 (0: there is no x2) */
    gpu_operand x, x2;
    gpu_panel panel;
} gpu_gather;
void gpu_run_gather(gpu_stream *cu_stream, const gpu_gather *args);

/* out = activation((bias + add) + sums); bias and add are optional. The next width2 columns of sums give out2 = activation(bias2 + sums).
 */
typedef struct gpu_epilogue {
    gpu_rows rows;
    int32_t width, width2;
    gpu_operand sums; /* output of a GEMM; its rows are read without an index */
    const float *bias;
    gpu_operand add, out; /* addend and output; `out` may be `sums` or `add` itself */
    rill_activation activation;
    gpu_panel panel;
    const float *bias2;
    gpu_operand out2;
} gpu_epilogue;
void gpu_run_epilogue(gpu_stream *cu_stream, const gpu_epilogue *args);

/* A row operation of rill/ops.h, as rill_row_call of kernels.h describes it. */
typedef union gpu_row_op {
#define RILL_ENTRY(OPERATION, word, description, width, flops) description word;
    RILL_ROW_OPERATIONS(RILL_ENTRY)
#undef RILL_ENTRY
} gpu_row_op;
typedef struct gpu_row_call {
    gpu_rows rows;
    int32_t width;
    /* operands in the order of the operation's list. A constant of one row has ld 0; outputs may be absent */
    gpu_operand x[RILL_ROW_OPERANDS];
    gpu_row_op op;   /* parameters; views, handles and widths are not read */
    gpu_panel panel; /* copy of the output for GEMMs; only normalise, activate, embed and sum write it */
} gpu_row_call;
#define RILL_ENTRY(OPERATION, word, description, width, flops) \
    void gpu_run_##word(gpu_stream *cu_stream, const gpu_row_call *args);
RILL_ROW_OPERATIONS(RILL_ENTRY)
#undef RILL_ENTRY

/* --- lists.cu: vocabulary subsets of inputs ----------------------------------------------------------------------- */

/* Vocabulary subsets, concatenated: slot s has ids[first[s] + i], i < length[s], ascending. */
typedef struct gpu_subsets {
    const int32_t *ids, *first, *length;
} gpu_subsets;

/* x(r, v) = -infinity for the symbols v < width in the subset of slot[r]. */
typedef struct gpu_mask {
    gpu_rows rows;
    int32_t width;
    gpu_subsets subsets;
    const int32_t *slot;
    gpu_operand x;
} gpu_mask;
void gpu_run_mask(gpu_stream *cu_stream, const gpu_mask *args);

/* out(r, i) = activation(a(r) . w(ids[i])) for the subset of slot[r]; with bf16 and f16, a and w are rounded
 * first (half.h). */
typedef struct gpu_subset_product {
    gpu_rows rows;
    int32_t width;      /* K */
    int32_t max_length; /* maximum length of the subsets; the grid is sized for so many symbols */
    gpu_subsets subsets;
    const int32_t *slot;
    const float *w; /* [V, K] weights of the output layer */
    gpu_type type;
    gpu_operand a, out;
    rill_activation activation;
} gpu_subset_product;
void gpu_run_subset_product(gpu_stream *cu_stream, const gpu_subset_product *args);

/* --- defined in attention.cu -------------------------------------------------------------------------------------- */

/* Paths from the root to each row's node (hypothesis state): entry[first[r] + t], t < length[r]. With `parent` the nodes are new, and
 * node_parent[node] = parent is stored. */
typedef struct gpu_path {
    gpu_rows rows;
    const int32_t *node, *parent; /* [rows] hypothesis state of each row, and its parent; `parent` may be NULL */
    int32_t *node_parent;
    const int32_t *first, *length; /* [rows] */
    int32_t *entry;
} gpu_path;
void gpu_run_path(gpu_stream *cu_stream, const gpu_path *args);

/* Attention: softmax over t of the scores, then the weighted sum of the values. Length 0 gives zeros.
 *   score   scale * (query . key_t), or scale * (additive . tanh(key_t + query)), plus the relative position bias
 *   key_t   row entry[first[r] + t] of `keys`, or row first[r] + t without `entry`
 *   bias    relative[h, reach + d] for head h and t = position[r] + d, d clamped to [-reach, reach]
 *   NaN     in query or keys: the row's head is NaN; in values: that column */
enum { GPU_ATTEND_NARROW = 256, GPU_ATTEND_CHUNK = 128 };
typedef struct gpu_attend {
    gpu_rows rows;
    int32_t heads, width, value_width; /* number of heads; columns of one head's keys and values, any number */
    float scale;
    const float *additive; /* [heads * width] weights of additive attention, or NULL */
    const float *relative; /* [heads, 2 reach + 1] relative position bias, or NULL */
    int32_t reach;
    const int32_t *position; /* [rows] position of the query in its list of keys; NULL: length - 1 */
    gpu_operand query;
    /* [table rows, heads * width] keys, [table rows, heads * value_width] values; read without an index */
    gpu_operand keys, values;
    const int32_t *first, *length; /* [rows] */
    const int32_t *entry;          /* rows of `keys` and `values`, as described above; NULL: the rows are contiguous */
    gpu_operand out;
    gpu_panel panel; /* copy of the output for GEMMs; none unless gpu_attend_is_narrow() */
    float *part;     /* [gpu_attend_part_floats()] working memory to split the many keys of few rows, or NULL */
    int32_t
        max_length; /* upper bound of the lengths. Launches for bounds with the same number of chunks of positions are equal */
    float *watched; /* [rows, ld_watched] mean of the first heads' attention weights, or NULL */
    int32_t watched_heads;
    int32_t ld_watched;
} gpu_attend;
void gpu_run_attend(gpu_stream *cu_stream, const gpu_attend *args);
/* Whether attention with heads of these widths can also write its output to a panel, in the type that GEMMs read. */
static inline int gpu_attend_is_narrow(size_t width, size_t value_width, int additive)
{
    return width <= GPU_ATTEND_NARROW && value_width == width && !additive;
}
/* Floats of gpu_attend.part, which must be 16-byte aligned. Monotonic in `rows`, and bounded by the value for INT32_MAX
 * rows and length. */
size_t gpu_attend_part_floats(int32_t rows, int32_t heads, int32_t value_width, int32_t longest);

/* --- defined in choices.cu ---------------------------------------------------------------------------------------- */

/* Log-softmax and top-M of each row, as rill_best of kernels.h, in fp32.
 *   x(v) = (logits(v) + bias(v)) + add(v)
 *   log-probability of symbol v = x(v) - log_norm; without `normalise`, log_norm is 0
 * Choices: the `max_choices` best legal symbols above -infinity, ties by smaller v. If any x(v) is NaN or +infinity: no choices, log_norm
 * NaN. With subsets, row r has length[slot[r]] symbols, and `ids` index bias [V]. */
typedef struct gpu_best {
    gpu_rows rows;
    int32_t symbols; /* V, number of symbols; with vocabulary subsets, at least the length of the longest */
    int32_t normalise;
    gpu_operand logits; /* [rows, V] logits; their rows are read without an index */
    const float *bias;
    gpu_operand add;
    gpu_subsets subsets; /* vocabulary subsets; member ids NULL: none */
    const int32_t *slot;
    int32_t first_action; /* action of symbol 0 without subsets; with subsets a symbol's id is its action */
    /* [sets, legal_words] bitsets of legal actions; an action without a bit is illegal; or NULL */
    const uint64_t *legal;
    int32_t legal_words;
    const int32_t *set;  /* [rows] legal set of each row, -1: all actions; NULL: all */
    int32_t max_choices; /* M, >= 0 */
    int32_t *count;      /* [rows] output: number of choices */
    int32_t *action;     /* [rows, M] output: actions of the choices */
    float *logp;         /* [rows, M] output: log-probabilities of the choices */
    float *log_norm;     /* [rows] output: log-normaliser */
    /* [rows] out, or NULL: the best symbol's action, first_action if none; M must be 1, action and logp may be NULL */
    int32_t *tag;
    void *work; /* [gpu_best_work_bytes()] bytes */
} gpu_best;
void gpu_run_best(gpu_stream *cu_stream, const gpu_best *args);
size_t gpu_best_work_bytes(int32_t rows, int32_t symbols, int32_t n_choices);

/* logp[i] = x(row[i], symbol[i]) - log_norm[row[i]], bit-identical to gpu_run_best's; -infinity for symbol -1. symbol: position in the row
 * or subset. */
typedef struct gpu_picks {
    gpu_rows picks;
    const int32_t *row, *symbol;
    /* host memory, copied at the launch; its logits, bias, add, subsets, normalise and log_norm are read */
    const gpu_best *best;
    float *logp;
} gpu_picks;
void gpu_run_picks(gpu_stream *cu_stream, const gpu_picks *args);

/* Ensemble: the logarithm of the models' mean probability.
 *   l_e(v) = (logits_e(v) + bias_e(v)) - log_norm_e, and m(v) is the largest l_e(v)
 *   x(v) = m(v) + log((sum over e of exp(l_e(v) - m(v))) / E), summed in order of models; -infinity if all l_e(v) are
 * For one model, x(v) = l_0(v). x has the shape of logits[0]. A row with NaN, +infinity, or only -infinity in a model becomes NaN. */
typedef struct gpu_mix {
    gpu_rows rows;
    int32_t models, symbols;
    gpu_operand logits[RILL_MIX_MODELS]; /* [rows, V] logits of each model; their rows are read without an index */
    const float
        *bias[RILL_MIX_MODELS]; /* bias of each model: [symbols]; with vocabulary subsets [V], indexed by token id */
    gpu_subsets subsets;        /* vocabulary subsets; member ids NULL: none */
    const int32_t *slot;
    gpu_operand x;   /* output; may be logits[0] */
    float *log_norm; /* [rows.max, models] working memory for the log-normalisers */
} gpu_mix;
void gpu_run_mix(gpu_stream *cu_stream, const gpu_mix *args);

/* --- rows.cu: indices computed from columns that a run wrote ---------------------------------------------------- */

/* An index derived from a column:
 *   x(r) = column[entry[r]], and out[r] = base[r] + lookup[x(r)]
 * NULL `entry` and `lookup` are identities, NULL `base` is 0. If the entry or x is negative, out[r] is -1, or, without `lookup` and `base`,
 * that value. */
typedef struct gpu_index {
    gpu_rows rows;
    const int32_t *column, *entry, *lookup, *base;
    int32_t *out;
} gpu_index;
void gpu_run_index(gpu_stream *cu_stream, const gpu_index *args);

#ifdef __cplusplus
}
#endif
