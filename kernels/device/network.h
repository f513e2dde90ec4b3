/* network.h: the data of networks and graphs. Private header of the CPU device.
 *
 * Adding an operation turns its views into operands: a storage and an `index`, an array of int32 that selects rows of
 * it. Indices are numbered per graph, without duplicates, and computed for a block when an operation first needs them.
 *
 * Handles count from 1: handle h is element h - 1 of its array. Index spaces are the exception: 0 is RILL_ROWS. */
#ifndef RILL_DEVICE_NETWORK_H
#define RILL_DEVICE_NETWORK_H

#include "kernels.h"
#include "rill/device.h"

enum { DEV_NAME = 48 };               /* bytes of a stored name */
enum { DEV_LINE = 64, DEV_PAD = 16 }; /* bytes of a cache line; floats of a cache line */

static inline size_t dev_padded(size_t width)
{
    return (width + DEV_PAD - 1) / DEV_PAD * DEV_PAD;
}

static inline size_t dev_lines(size_t bytes)
{
    return (bytes + DEV_LINE - 1) / DEV_LINE * DEV_LINE;
}

struct rill_device {
    rill_context *ctx;
    rill_kernels kernels;
    char name[160];
    int fast;                        /* GEMM results may depend on the batch */
    const struct dev_module *module; /* NULL: the CPU */
    void *module_data;               /* owned by the module */
    /* For tests: rows of blocks and spans, and attention weights kept at a time; 0: chosen by run.c and ops.c. */
    size_t block_rows, span_rows, max_attention_weights;
};

typedef struct dev_constant {
    const float *data;
    size_t rows, width;
    void *memory; /* the data, if owned by the network; else NULL */
    size_t bytes;
} dev_constant;

typedef struct dev_matrix {
    rill_weights w;
    void *memory;
    size_t bytes;
    rill_weight_type type;
} dev_matrix;

typedef struct dev_table {
    rill_table_kind kind;
    size_t width, ld; /* floats of a row, and of the row stride: rows of at least a cache line are aligned to one */
    char name[DEV_NAME];
} dev_table;

typedef struct dev_vocab_subset {
    rill_constant rows, bias; /* weights [V, K]; bias [1, V]; 0: none */
    rill_dtype dtype;
    rill_weight_type type;
    char name[DEV_NAME];
} dev_vocab_subset;

/* --- graphs ------------------------------------------------------------------------------------------------------- */

typedef enum dev_index_space_kind {
    DEV_SPACE_ROWS,
    DEV_SPACE_WHERE,
    DEV_SPACE_DISTINCT,
    DEV_SPACE_RAGGED
} dev_index_space_kind;

typedef struct dev_index_space {
    dev_index_space_kind kind;
    rill_index_space parent;
    rill_column column;
    int32_t index;        /* index of the column's entries for rows of `parent` */
    int needs_child_rows; /* some operand maps rows of `parent` to rows of this space */
    int32_t ragged_index; /* number of ragged spaces before this one */
} dev_index_space;

typedef struct dev_column {
    rill_index_space space;
    int32_t n_writes; /* operations that have written it so far */
    char name[DEV_NAME];
} dev_column;

typedef struct dev_tensor {
    rill_index_space space;
    size_t width;
    rill_vocab_subset subset;  /* rows are as wide as the row's vocabulary subset; 0: `width` */
    int32_t first_op, last_op; /* first operation that writes the tensor, last that uses it; -1: none yet */
    int32_t buffer;
} dev_tensor;

/* Memory shared by tensors whose lifetimes do not overlap. */
typedef struct dev_buffer {
    rill_index_space space;
    rill_vocab_subset subset;
    size_t width;
    int32_t last_op;
} dev_buffer;

typedef enum dev_index_kind {
    DEV_INDEX_COLUMN, /* the entries of column `a`, after `b` of its writers have run */
    DEV_INDEX_MAP,    /* the row of space `a` for each row of this space */
    DEV_INDEX_UNIT,   /* units of the ragged space `a`: index `b` gives the unit's number within the row's sequence */
    DEV_INDEX_RAGGED, /* rows of ragged tables: slots from index `a`, units from index `b` */
    DEV_INDEX_OWN,    /* distinct space: the value of each row; ragged space: the unit's number */
} dev_index_kind;

typedef struct dev_index {
    dev_index_kind kind;
    rill_index_space space;
    int32_t a, b;
} dev_index;

enum { DEV_NO_INDEX = -1 }; /* identity: row r of the operation reads row r of the data */

typedef enum dev_view_kind {
    DEV_VIEW_NONE,
    DEV_VIEW_VALUE,
    DEV_VIEW_UNIT,
    DEV_VIEW_TABLE,
    DEV_VIEW_CONSTANT,
    DEV_VIEW_RAGGED
} dev_view_kind;

typedef enum dev_base { DEV_BASE_NONE, DEV_BASE_TENSOR, DEV_BASE_TABLE, DEV_BASE_CONSTANT } dev_base;

typedef struct dev_operand {
    dev_base base;
    int32_t element; /* number of the tensor, table or constant, from 0 */
    int32_t index;   /* a constant of one row has none, and is the same for all rows */
    int use;         /* set of rill_operand_use */
    size_t first, width;
} dev_operand;

typedef struct dev_path {
    int32_t node, parent, depth; /* indices; parent may be DEV_NO_INDEX */
    rill_index_space space;
} dev_path;

enum { DEV_VIEWS = RILL_MIX_MODELS }; /* maximum operands of an operation */

typedef struct dev_op {
    rill_op_kind kind;
    char name[32]; /* for profiles: the operation and, if several are of its kind, its widths */
    rill_index_space space;
    size_t width, n_views;       /* width 0 of its list of operands (rill/ops.h); operands */
    int32_t out;                 /* position of its first output; -1: none */
    dev_operand view[DEV_VIEWS]; /* by position (kernels.h) */
    int32_t
        slot; /* index: slots of vocabulary subsets or attention; symbols of an embedding that is read from a matrix */
    int32_t
        position; /* index: an attention row's own position among the units of its sequence; DEV_NO_INDEX: the last of its path */
    int32_t reuse_quantised; /* product: the previous product has quantised the same rows */
    int32_t path;
    rill_op as;
} dev_op;

typedef struct dev_prefetch {
    int32_t table, slot; /* number of the table, from 0; number of the index that has each row's slot */
} dev_prefetch;

typedef struct dev_graph {
    char name[DEV_NAME];
    dev_index_space *space;
    dev_column *column;
    dev_tensor *tensor;
    dev_buffer *buffer;
    dev_index *index;
    dev_path *path;
    dev_op *op;
    dev_prefetch *prefetch;
    size_t n_spaces, n_columns, n_tensors, n_buffers, n_indices, n_paths, n_ops, n_prefetches;
    size_t space_capacity, column_capacity, tensor_capacity, buffer_capacity, index_capacity, path_capacity,
        op_capacity, prefetch_capacity;
    size_t weight_bytes;         /* bytes of the matrices that the graph's operations multiply by */
    size_t n_ragged;             /* ragged spaces */
    rill_index_space scan_space; /* index space of the first scan; 0: none */
    int has_selection, has_watched;
} dev_graph;

struct rill_network {
    rill_context *ctx;
    const rill_device *device;
    dev_constant *constant;
    dev_matrix *matrix;
    dev_table *table;
    dev_vocab_subset *subset;
    dev_graph *graph;
    size_t n_constants, n_matrices, n_tables, n_subsets, n_graphs;
    size_t constant_capacity, matrix_capacity, table_capacity, subset_capacity, graph_capacity;
    size_t max_indices, max_tensors, max_spaces, max_paths; /* maxima over all graphs */
    int finished;
    void *module_data;  /* owned by the module */
    rill_status status; /* status of the first failure */
    char message[400];
};

/* --- network.c ------------------------------------------------------------------------------------------------------- */

/* Keep the network's first failure. Returns -1, a failed handle. */
int32_t dev_network_fail(rill_network *network, rill_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Append a zeroed element to an array of the network. Returns its handle, or -1. */
int32_t dev_network_append(rill_network *network, void **array, size_t *count, size_t *capacity, size_t size);
#define DEV_APPEND(plan, owner, name, count, capacity) \
    dev_network_append(plan, (void **)&(owner)->name, &(owner)->count, &(owner)->capacity, sizeof *(owner)->name)

/* The dtype in which the CPU stores weights of this type. */
rill_dtype dev_dtype(rill_weight_type type);

/* --- views.c ------------------------------------------------------------------------------------------------------ */

/* The operation being built, and its name for messages. */
typedef struct dev_builder {
    rill_network *network;
    dev_graph *graph;
    dev_op *op;
    const char *operation;
} dev_builder;

/* Keep "graph G, operation N (WORD): ..." as the network's failure. */
void dev_build_fail(const dev_builder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Description of a space, RILL_ROWS included. */
const dev_index_space *dev_get_space(const dev_graph *graph, rill_index_space space);

/* Whether `space` equals `from` or is derived from it. */
int dev_is_derived(const dev_graph *graph, rill_index_space space, rill_index_space from);

/* Number of an index, added unless an equal one exists; DEV_NO_INDEX after a failure. */
int32_t dev_add_index(rill_network *network, dev_graph *graph, dev_index wanted);

/* The index from rows of `space` to rows of `to`, from which it is derived; DEV_NO_INDEX if they are the same space. */
int32_t dev_map_index(const dev_builder *b, rill_index_space space, rill_index_space to);

/* The index of a column's entries for the rows of a space. */
int32_t dev_column_index(const dev_builder *b, rill_index_space space, rill_column column, const char *what);

/* Check a view of `width` floats for rows of `space`, and store it as the operation's operand `place`. `use`: set of rill_operand_use. */
void dev_build_view(const dev_builder *b, rill_index_space space, int place, rill_view view, size_t width, int use,
                    const char *what);

/* ---- build_ops.c ----------------------------------------------------------------------------------------------------- */

const char *dev_op_name(rill_op_kind kind);
double dev_op_flops(rill_op_kind kind); /* per float of its operands */

/* Whether two operands read the same floats of the same rows. */
int dev_same_operand(const dev_operand *a, const dev_operand *b);

#endif
