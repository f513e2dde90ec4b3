/* launch.h: the kernels, as the executor calls them. Plain C; one function for each kind of work.
 *
 * Every pointer in an argument is device memory. Rows are counted on the device, so that the same launch, recorded in a graph, serves
 * any number of rows up to `most`; a kernel does nothing for rows from *count on.
 *
 * An operand is as rill/device.h's views have become: row r of it is row index[r] of `at`, or r itself. A negative index is a row
 * that is not there: a read gives zeros (or what is said), a write is left out.
 *
 * Invariant: what is computed for a row is a function of that row's operands alone, whatever `most`, *count and the order of threads
 * are: to the bit. Where rows are split, how follows from the row's own lengths. */
#ifndef RILL_CUDA_LAUNCH_H
#define RILL_CUDA_LAUNCH_H

#include "gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpu_rows {
    const int32_t *count; /* [1] */
    int32_t max;          /* >= *count; what the grid is made for */
} gpu_rows;

typedef struct gpu_operand {
    float *data;          /* NULL: none */
    int32_t ld;           /* floats from row to row */
    const int32_t *index; /* [rows] or NULL */
} gpu_operand;

/* Rows as products read them: `ld` numbers from row to row, at multiples of 16 bytes. */
typedef struct gpu_panel {
    void *data; /* NULL: none */
    int32_t ld;
    gpu_type type; /* rounded to it: half.h */
} gpu_panel;

typedef enum gpu_activation {
    GPU_LINEAR,
    GPU_TANH,
    GPU_RELU,
    GPU_SWISH,
    GPU_GELU,
    GPU_SIGMOID,
    GPU_GELU_TANH,
    GPU_GELU_SIGMOID
} gpu_activation;

/* --- rows.cu: rows as wholes -------------------------------------------------------------------------------------- */

/* Where an operation has an `out` and a `panel`, it writes its rows to both; either may be none. */

/* panel(r) = [x(r), x2(r)], side by side. Negative rows: zeros. */
typedef struct gpu_gather {
    gpu_rows rows;
    int32_t width, width2; /* of x; of x2, 0: there is none */
    gpu_operand x, x2;
    gpu_panel panel;
} gpu_gather;
void gpu_run_gather(gpu_stream *cu_stream, const gpu_gather *args);

/* out = x. Negative rows of x: zeros. */
typedef struct gpu_copy {
    gpu_rows rows;
    int32_t width;
    gpu_operand x, out;
} gpu_copy;
void gpu_run_copy(gpu_stream *cu_stream, const gpu_copy *args);

/* out = activation((bias + add) + sums), each of the first two optional; negative rows of add: nothing is added.
 * out2 = activation(bias2 + sums), of the width2 columns of sums behind those: then nothing is added, and there is no panel. */
typedef struct gpu_epilogue {
    gpu_rows rows;
    int32_t width, width2;
    gpu_operand sums; /* no index */
    const float *bias;
    gpu_operand add, out; /* out may be sums or add itself */
    gpu_activation activation;
    gpu_panel panel;
    const float *bias2;
    gpu_operand out2;
} gpu_epilogue;
void gpu_run_epilogue(gpu_stream *cu_stream, const gpu_epilogue *args);

/* y = gain * (z - mean z) / sqrt(var z + eps) + bias, z = x + residual; rms: gain * z / sqrt(mean z^2 + eps) + bias. */
typedef struct gpu_normalise {
    gpu_rows rows;
    int32_t width;
    gpu_operand x, residual, y; /* y may be x or residual */
    const float *gain, *bias;   /* [width] or NULL */
    float eps;
    int32_t rms;
    gpu_panel panel;
} gpu_normalise;
void gpu_run_normalise(gpu_stream *cu_stream, const gpu_normalise *args);

/* y = activation(x) * gate. */
typedef struct gpu_activate {
    gpu_rows rows;
    int32_t width;
    gpu_operand x, gate, y;
    gpu_activation activation;
    gpu_panel panel;
} gpu_activate;
void gpu_run_activate(gpu_stream *cu_stream, const gpu_activate *args);

/* out = scale * x + position; negative rows: nothing is added for them. */
typedef struct gpu_embed {
    gpu_rows rows;
    int32_t width;
    gpu_operand x, position, out;
    float scale;
    gpu_panel panel;
} gpu_embed;
void gpu_run_embed(gpu_stream *cu_stream, const gpu_embed *args);

/* out = max(least, sum of the terms that are there, in order); least is 0 or -infinity; NaN stays. */
enum { GPU_SUM_TERMS = 12 };
typedef struct gpu_sum {
    gpu_rows rows;
    int32_t width, terms;
    gpu_operand term[GPU_SUM_TERMS], out;
    float min;
    gpu_panel panel;
} gpu_sum;
void gpu_run_sum(gpu_stream *cu_stream, const gpu_sum *args);

/* --- cells.cu ----------------------------------------------------------------------------------------------------- */

/* c' = sigmoid(f) c + sigmoid(i) tanh(g); h' = sigmoid(o) tanh(c'): gates [rows, 4H] in the order i, f, g, o. */
typedef struct gpu_lstm {
    gpu_rows rows;
    int32_t hidden;
    gpu_operand gates, c, c_out, h_out; /* c may be none, or c_out's table */
} gpu_lstm;
void gpu_run_lstm(gpu_stream *cu_stream, const gpu_lstm *args);

/* r = sigmoid(x_r + h_r), z = sigmoid(x_z + h_z), n = tanh(x_n + r h_n), h' = (1 - z) n + z h. */
typedef struct gpu_gru {
    gpu_rows rows;
    int32_t hidden;
    gpu_operand input, gates, h, h_out; /* h may be none, or h_out's table */
} gpu_gru;
void gpu_run_gru(gpu_stream *cu_stream, const gpu_gru *args);

/* --- lists.cu: symbols of slots ----------------------------------------------------------------------------------- */

/* Lists of slots, one behind the other: slot s has ids[first[s] + i], i < length[s], ascending. */
typedef struct gpu_subsets {
    const int32_t *ids, *first, *length;
} gpu_subsets;

/* x(r, v) = -infinity for the symbols v < width of the list of slot[r]. */
typedef struct gpu_mask {
    gpu_rows rows;
    int32_t width;
    gpu_subsets subsets;
    const int32_t *slot;
    gpu_operand x;
} gpu_mask;
void gpu_run_mask(gpu_stream *cu_stream, const gpu_mask *args);

/* out(r, i) = activation(a(r) . w(ids[i])) for the list of slot[r]; with bf16 and f16 both are rounded first (half.h). */
typedef struct gpu_subset_product {
    gpu_rows rows;
    int32_t width;      /* K */
    int32_t max_length; /* of the lists, at most: what the grid is made for */
    gpu_subsets subsets;
    const int32_t *slot;
    const float *w; /* [V, K] */
    gpu_type type;
    gpu_operand a, out;
    gpu_activation activation;
} gpu_subset_product;
void gpu_run_subset_product(gpu_stream *cu_stream, const gpu_subset_product *args);

/* --- attention.cu ------------------------------------------------------------------------------------------------- */

/* Along `above` from each row's node to the root, root first: entry[first[r] + t], t < length[r]. With `parent` the nodes are new, and
 * above[node] = parent is set. */
typedef struct gpu_path {
    gpu_rows rows;
    const int32_t *node, *parent; /* parent may be NULL */
    int32_t *node_parent;
    const int32_t *first, *length; /* [rows] */
    int32_t *entry;
} gpu_path;
void gpu_run_path(gpu_stream *cu_stream, const gpu_path *args);

/* softmax over t of scale * (query . key_t), or of scale * (additive . tanh(key_t + query)), then the sum of the values; heads stand
 * side by side. Memory row t of row r is
 * entry[first[r] + t], or first[r] + t without entries. `relative` is added to the scores of head h: [h, reach + d] for t = place[r] + d,
 * the head's first or last number where d is beyond its reach. Length 0 gives zeros; a NaN in query or keys makes that head of that row
 * NaN, one in the values that column of it. */
enum { GPU_ATTEND_NARROW = 256 };
typedef struct gpu_attend {
    gpu_rows rows;
    int32_t heads, width, value_width; /* of one head: any */
    float scale;
    const float *additive; /* [heads * width], or NULL */
    const float *relative; /* [heads, 2 reach + 1], or NULL */
    int32_t reach;
    const int32_t *position; /* [rows]; NULL: length - 1 */
    gpu_operand query;
    gpu_operand keys, values;      /* [memory rows, heads * width], [memory rows, heads * value_width], no index */
    const int32_t *first, *length; /* [rows] */
    const int32_t *entry;          /* or NULL */
    gpu_operand out;
    gpu_panel panel; /* none unless gpu_attend_is_narrow() */
    float *part;     /* [gpu_attend_part_floats()] floats of working memory, for long memories of few rows, or NULL */
    int32_t max_length; /* at least the longest length */
    float *watched;     /* [rows, ld_watched] mean over the first heads' weights, or NULL */
    int32_t watched_heads;
    int32_t ld_watched;
} gpu_attend;
void gpu_run_attend(gpu_stream *cu_stream, const gpu_attend *args);
/* Whether such heads can be written rounded, to a panel. */
static inline int gpu_attend_is_narrow(size_t width, size_t value_width, int additive)
{
    return width <= GPU_ATTEND_NARROW && value_width == width && !additive;
}
/* Floats of working memory that it takes, on a multiple of 16 bytes. What serves `rows` rows serves fewer; for any number of rows and any
 * length it is no more than for INT32_MAX of both. */
size_t gpu_attend_part_floats(int32_t rows, int32_t heads, int32_t value_width, int32_t longest);

/* --- choices.cu --------------------------------------------------------------------------------------------------- */

/* As rill_best of kernels.h has it, row by row, in fp32: x(v) = (logits(v) + bias(v)) + add(v); log-probability x(v) - log_norm; the
 * best `most` legal symbols by log-probability, equal ones by smaller v; those at -infinity are never among them. A NaN or +infinity:
 * no choices, log_norm NaN. With lists row r has length[slot[r]] symbols; `ids` names symbol i, `bias` [V] is read by id. Without
 * `normalise` x stands for the log-probability, and log_norm is 0, or NaN as above. */
typedef struct gpu_best {
    gpu_rows rows;
    int32_t symbols; /* V; with lists at least the longest */
    int32_t normalise;
    gpu_operand logits; /* no index */
    const float *bias;
    gpu_operand add;
    gpu_subsets subsets; /* ids NULL: none */
    const int32_t *slot;
    int32_t first_action;  /* of symbol 0, without lists; with them a symbol's id is its action */
    const uint64_t *legal; /* [sets, legal_words] by action, or NULL; beyond the words nothing is legal */
    int32_t legal_words;
    const int32_t *set;  /* [rows] set of each row, -1: all; NULL: all */
    int32_t max_choices; /* M >= 0 */
    int32_t *count;      /* [rows] out */
    int32_t *action;     /* [rows, most] out */
    float *logp;         /* [rows, most] out */
    float *log_norm;     /* [rows] out */
    int32_t *
        tag; /* [rows] or NULL: the best symbol's action, or first_action; then most is 1 and action, logp may be NULL */
    void *work; /* [gpu_best_work_bytes()] bytes */
} gpu_best;
void gpu_run_best(gpu_stream *cu_stream, const gpu_best *args);
size_t gpu_best_work_bytes(int32_t rows, int32_t symbols, int32_t n_choices);

/* logp[i] = x(row[i], symbol[i]) - log_norm[row[i]], to the bit what gpu_run_best gives for that symbol; -infinity for symbol -1 and
 * for one at -infinity; NaN where log_norm is. symbol is the number in the row (the place in its list). */
typedef struct gpu_picks {
    gpu_rows picks;
    const int32_t *row, *symbol;
    const gpu_best
        *best; /* host memory: copied when launched; its logits, bias, add, lists, normalise and log_norm are read */
    float *logp;
} gpu_picks;
void gpu_run_picks(gpu_stream *cu_stream, const gpu_picks *args);

/* Mix several models: x(v) = m(v) + log((sum over e of exp(l_e(v) - m(v))) / E), l_e(v) = (logits_e(v) + bias_e(v)) - log_norm_e,
 * m(v) the largest l_e(v), sums in the order of models; -infinity where all are. One model: l_0(v). Written to x, in rows of logits[0]'s
 * shape. A row of which one model has a NaN, +infinity, or nothing above -infinity: all NaN. */
enum { GPU_MIX_MODELS = 32 };
typedef struct gpu_mix {
    gpu_rows rows;
    int32_t models, symbols;
    gpu_operand logits[GPU_MIX_MODELS]; /* no index */
    const float *bias[GPU_MIX_MODELS];  /* by id with lists */
    gpu_subsets subsets;                /* ids NULL: none */
    const int32_t *slot;
    gpu_operand x;   /* may be logits[0] */
    float *log_norm; /* [rows.most, models] working memory */
} gpu_mix;
void gpu_run_mix(gpu_stream *cu_stream, const gpu_mix *args);

/* --- rows.cu: indices that follow from columns that a run wrote ------------------------------------------------- */

/* out(r) = base(r) + of(x(r)), where x(r) = column[at[r]], or column[r] when at is NULL; `of`: NULL is x itself; base: NULL is 0.
 * A negative at or x gives -1 when `of` or base is there, else is handed on. */
typedef struct gpu_index {
    gpu_rows rows;
    const int32_t *column, *entry, *lookup, *base;
    int32_t *out;
} gpu_index;
void gpu_run_index(gpu_stream *cu_stream, const gpu_index *args);

#ifdef __cplusplus
}
#endif

#endif
