/* The functions that a device implements, and its data: networks with graphs, sessions with slots, rows of a run.
 *
 * A backend (the CPU, or a module such as CUDA) owns the memory of weights and tables, and runs graphs. The library does the rest.
 *
 * Handle h is element h - 1 of its array; index space 0 is RILL_ROWS. */
#pragma once

#include "kernels.h"
#include "rill/carve.h"
#include "rill/device.h"

enum { DEV_NAME = 48 };               /* maximum bytes of a stored name, such as a table's, with its NUL */
enum { DEV_LINE = 64, DEV_PAD = 16 }; /* bytes of a cache line; floats of a cache line */
/* bytes of a guard, an area after an array to which nothing may write; see dev_run.guard */
enum { DEV_GUARD = 4 * DEV_LINE };
/* maximum number of micro-batches whose results arrive asynchronously; see rill_rows.group (domain.h) */
enum { DEV_GROUPS = 2 };

static inline size_t dev_padded(size_t width)
{
    return (width + DEV_PAD - 1) / DEV_PAD * DEV_PAD;
}

static inline size_t dev_lines(size_t bytes)
{
    return (bytes + DEV_LINE - 1) / DEV_LINE * DEV_LINE;
}

struct dev_graph;

/* --- interface of a backend --------------------------------------------------------------------------------------- */

typedef struct dev_backend {
    uint32_t abi; /* DEV_ABI (device_abi.h) of the headers that the backend was built with */

    /* Open the device `name`: "cuda", "cuda:1". Sets device->data and device->name.
     *   RILL_OK · RILL_ERR_OPTION (no such device; says why) · RILL_ERR_MEMORY */
    rill_status (*open)(rill_device *device, const char *name);
    void (*close)(rill_device *device); /* closes the device; device->data may be NULL */
    /* returns how many hypotheses fill the device, see rill_device_group_rows(); NULL: any number does */
    int32_t (*group_rows)(const rill_device *device);
    /* returns the free bytes of the device's memory; NULL: the device has no memory of its own */
    size_t (*free_bytes)(const rill_device *device);

    /* bit set with bit 1 << rill_weight_type for each type of weights that the device can multiply by */
    unsigned weight_types;

    /* add_matrix() takes the weights [n, k] of matrix `idx`, row i at w + i * stride. finish() takes the constants and graphs, and may be
     * NULL. Both record failures in the network. */
    void (*add_matrix)(rill_network *network, size_t idx, const float *w, size_t stride);
    void (*finish)(rill_network *network);
    /* frees the backend's data of a network; network->data may be NULL */
    void (*network_close)(rill_network *network);
    /* Add to *bytes what the device needs in addition to the rows of tables and the symbols of vocabulary subsets; see rill_network_bytes.
     * */
    void (*add_sizes)(const rill_network *network, rill_network_bytes *bytes);

    /* sets session->data; sets session->n_threads only if it is more than 1 */
    rill_status (*session_open)(rill_session *session, int threads);
    /* frees the backend's data of a session; session->data may be NULL */
    void (*session_close)(rill_session *session);
    /* Reserve `rows` rows in table `idx`, keeping contents; idx = number of tables: the array of parents. Sets
     * session->table[idx].capacity. */
    rill_status (*grow)(rill_session *session, size_t idx, size_t rows);
    rill_status (*write)(rill_session *session, size_t idx, size_t first, size_t n, const float *rows);
    rill_status (*read)(const rill_session *session, size_t idx, size_t first, size_t n, float *rows);
    /* Called after an input's vocabulary subset, dev_get_subset(session, idx, slot), has changed. n 0: removed; must succeed. */
    rill_status (*set_subset)(rill_session *session, size_t idx, int32_t slot);

    /* Run a graph for at least one row. RILL_AGAIN: results arrive asynchronously, which only happens with arguments->async_group.
     * collect() waits for such results; it may be NULL if run() never returns RILL_AGAIN. */
    rill_status (*run)(rill_session *session, const struct dev_graph *graph, const rill_run_arguments *arguments);
    rill_status (*collect)(rill_session *session, int32_t group);
    /* returns the limits that rill_runner_limits() returns */
    rill_status (*limits)(const rill_session *session, rill_limits *out);
    /* writes how the session's graphs ran; NULL: zeros */
    void (*graph_runs)(const rill_session *session, rill_graph_runs *out);
} dev_backend;

/* The type of the symbol that a device module (a shared object) exports: a function that returns the module's backend. */
typedef const dev_backend *(*dev_module_fn)(void);
#define DEV_MODULE_NAME "rill_device_module"

extern const dev_backend dev_cpu;

struct rill_device {
    rill_context *ctx;
    char name[160];
    /* 1: with `fast`, a row's last bits may depend on the rows computed with it; 0: they may not */
    int fast;
    rill_kernels kernels; /* the kernels of the host's CPU */
    const dev_backend *backend;
    void *data;
};

/* --- networks ----------------------------------------------------------------------------------------------------- */

typedef struct dev_constant {
    const float *data;
    size_t rows, width;
    void *memory; /* allocation that holds the data, if the network owns it; else NULL */
    size_t bytes;
} dev_constant;

typedef struct dev_matrix {
    size_t n, k;
    rill_weight_type type;
    void *data; /* backend's data of the matrix */
} dev_matrix;

typedef struct dev_table {
    rill_table_kind kind;
    /* floats of a row; floats from one row to the next (a multiple of a cache line for rows of at least one) */
    size_t width, ld;
    char name[DEV_NAME];
} dev_table;

typedef struct dev_vocab_subset {
    rill_constant rows, bias; /* weights [V, K] for V symbols; bias [1, V]; each 0 if there is none */
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
    int32_t index; /* number of the index that selects the column's entry for each row of `parent` */
    /* 1: some operand needs child_row (dev_block), which maps rows of `parent` to rows of this index space */
    int needs_child_rows;
    int32_t ragged_index; /* number of ragged index spaces of the graph before this one */
} dev_index_space;

typedef struct dev_column {
    rill_index_space space;
    int32_t n_writes; /* number of operations so far that write this column */
    char name[DEV_NAME];
} dev_column;

typedef struct dev_tensor {
    rill_index_space space;
    size_t width;
    /* each row has as many floats as its input's vocabulary subset has symbols; 0: each row has `width` floats */
    rill_vocab_subset subset;
    /* number of the first operation that writes the tensor; number of the last operation that uses it; -1: none yet */
    int32_t first_op, last_op;
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
    /* the entry in column `a` of each row of the operation, after `b` operations have written the column */
    DEV_INDEX_COLUMN,
    DEV_INDEX_MAP, /* the row in index space `a` to which each row of the operation belongs */
    /* the row in ragged space `a`: first token of the row's sequence, plus the token number from index `b` */
    DEV_INDEX_UNIT,
    /* the row in ragged tables: first row of the slot (index `a`), plus the token number (index `b`) */
    DEV_INDEX_RAGGED,
    /* in a distinct index space, the row's value; in a ragged index space, the token's number in its sequence */
    DEV_INDEX_OWN,
} dev_index_kind;

typedef struct dev_index {
    dev_index_kind kind;
    rill_index_space space;
    int32_t a, b;
} dev_index;

/* stands for no index: row r of the operation reads row r of the operand */
enum { DEV_NO_INDEX = -1 };

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
    int32_t element; /* number of the tensor, table or constant, counted from 0 */
    /* number of the index that selects the operand's rows, or DEV_NO_INDEX, as for a constant of one row */
    int32_t index;
    int use; /* bit set of rill_operand_use */
    size_t first, width;
} dev_operand;

typedef struct dev_path {
    /* number of the index for each row's state id, for its parent's state id, and for its depth; parent may be DEV_NO_INDEX */
    int32_t node, parent, depth;
    rill_index_space space;
} dev_path;

enum { DEV_VIEWS = RILL_MIX_MODELS }; /* maximum operands of an operation */

typedef struct dev_op {
    rill_op_kind kind;
    char name[32]; /* for profiles: the operation and its widths, if the graph has several of this kind */
    rill_index_space space;
    /* position of the first width in the operation's list (rill/ops.h); number of operands */
    size_t width, n_views;
    int32_t out;                 /* position in `view` of the operation's first output; -1: it has no output */
    dev_operand view[DEV_VIEWS]; /* operands, in the positions that kernels.h numbers, such as LSTM_gates */
    /* number of the index of each row's slot (vocabulary subsets, attention) or symbol (embedding read from a
     * matrix) */
    int32_t slot;
    /* attention: number of the index of each row's own position, in tokens; DEV_NO_INDEX: the last position of its
     * path */
    int32_t position;
    /* GEMM (product): 1: the previous operation is a GEMM that has quantised the same rows; 0: this one quantises them */
    int32_t reuse_quantised;
    int32_t path;
    rill_op as;
} dev_op;

typedef struct dev_prefetch {
    int32_t table, slot; /* number of the table, counted from 0; number of the index that gives each row's slot */
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
    size_t n_ragged;             /* number of ragged index spaces */
    rill_index_space scan_space; /* index space of the first scan; 0: none */
    int has_selection, has_watched;
} dev_graph;

struct rill_network {
    rill_context *ctx;
    const rill_device *device;
    void *data; /* private data of the backend */
    dev_constant *constant;
    dev_matrix *matrix;
    dev_table *table;
    dev_vocab_subset *subset;
    dev_graph *graph;
    size_t n_constants, n_matrices, n_tables, n_subsets, n_graphs;
    size_t constant_capacity, matrix_capacity, table_capacity, subset_capacity, graph_capacity;
    int finished;
    rill_status status; /* status of the first failure */
    char message[400];
};

/* Record a failure in the network, if it is its first. Returns -1, the handle that stands for a failure. */
int32_t dev_network_fail(rill_network *network, rill_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Return the description of an index space; `space` may be RILL_ROWS too. */
const dev_index_space *dev_get_space(const dev_graph *graph, rill_index_space space);

/* Return 1 if two operands read the same floats of the same rows (widths apart), else 0. */
int dev_same_operand(const dev_operand *a, const dev_operand *b);

/* Return the vocabulary subset whose symbols an operation reads or writes; 0: it uses the whole vocabulary. */
rill_vocab_subset dev_op_subset(const dev_op *op);

/* Return 1 if an operation chooses actions, else 0. dev_first_action() returns the action of symbol 0 of an operation without vocabulary
 * subset. */
static inline int dev_makes_choices(const dev_op *op)
{
    return op->kind == RILL_OP_BEST || op->kind == RILL_OP_MIX;
}
static inline int32_t dev_first_action(const dev_op *op)
{
    return op->kind == RILL_OP_BEST ? op->as.best.first_action : 0;
}

/* --- sessions ----------------------------------------------------------------------------------------------------- */

/* A range of rows; each slot has one. dev_ranges_take() uses the first free range that is large enough. dev_ranges_give() joins adjacent
 * free ranges. */
typedef struct dev_range {
    int32_t first, count;
} dev_range;

/* The free ranges of an allocator. Zero-initialise it; the caller owns the memory of `free`. */
typedef struct dev_ranges {
    dev_range *free; /* [count] free ranges, by ascending first row */
    size_t count;
    int32_t end; /* number of rows up to the last allocated one: this row and all after it are unused */
} dev_ranges;

/* Allocate `count` >= 1 rows. Returns the number of the first row, or -1 if row numbers would overflow. */
int32_t dev_ranges_take(dev_ranges *ranges, int32_t count);

/* Free a range, or the tail of one. `free` must have capacity for one entry more than there are allocated ranges. */
void dev_ranges_give(dev_ranges *ranges, int32_t first, int32_t count);

typedef struct dev_table_rows {
    size_t capacity; /* number of rows for which memory is reserved */
    size_t count;    /* number of rows filled by the host, for RILL_TABLE_HOST */
} dev_table_rows;

/* The vocabulary subset of the input in one slot. */
typedef struct dev_slot_subset {
    size_t n, capacity; /* number of symbols; number for which `id` has memory */
    int32_t *id;
    void *data; /* private data of the backend */
} dev_slot_subset;

struct rill_session {
    rill_context *ctx;
    const rill_network *network;
    void *data; /* private data of the backend */
    /* [tables + 1] sizes of the tables; the last is the array of parents, one int32 per hypothesis state */
    dev_table_rows *table;
    size_t n_slots;
    dev_slot_subset *subset; /* [slots, subsets] vocabulary subsets, see dev_get_subset() */
    /* [slots] the slot's rows in the ragged tables: first row, rows allocated, rows in use */
    int32_t *first, *capacity, *units;
    /* allocator of rows in the ragged tables; a slot has the same rows in all of them */
    dev_ranges ranges;
    rill_columns slot_memory; /* memory of the arrays by slot and of the free ranges */
    char *moves;              /* scratch memory of rill_session_set_slots() */
    size_t moves_capacity;
    size_t n_threads;
    int profiling;
    rill_op_profile *counter; /* [operations of all graphs] profiles */
    /* [threads, operations of all graphs] counters of each thread, in the same allocation as `counter` */
    rill_op_profile *thread_counter;
    size_t n_counters, counter_capacity;
};

/* Return the vocabulary subset number `idx`, counted from 0, of a slot. */
static inline dev_slot_subset *dev_get_subset(const rill_session *s, size_t idx, int32_t slot)
{
    return &s->subset[(size_t)slot * s->network->n_subsets + idx];
}

/* Return the description of table `idx`; of the array of parents if `idx` is the number of tables. */
const dev_table *dev_get_table(const rill_network *network, size_t idx);

/* --- runs --------------------------------------------------------------------------------------------------------- */

/* Offsets in bytes of a run's buffers, for max_rows rows of each index space. The host's memory has the arrays that the host computes. The
 * device's memory has the tensors. On the CPU both are the same memory. */
typedef struct dev_layout {
    size_t *max_rows;          /* [spaces + 1] maximum rows of each index space in a block */
    size_t *parent_row_offset; /* [spaces + 1] offset of dev_block.parent_row, in the host's memory */
    size_t *child_row_offset;  /* [spaces + 1] offset of dev_block.child_row, in the host's memory */
    size_t *index_offset;      /* [indices] offset of each index's entries, in the host's memory */
    /* [paths] offset of two arrays of each path, in the host's memory: [rows] first entry and [rows] length of a
     * row's path */
    size_t *path_offset;
    size_t *tensor_offset; /* [buffers] offset of each tensor buffer, in the device's memory */
    size_t *tensor_ld;     /* [buffers] distance between rows of a tensor buffer, in floats */
    /* [buffers] offset of the backend's second copy of a tensor in another form, in the device's memory */
    size_t *copy_offset;
    size_t *entry_offset; /* [paths] offset in the device's memory of the states on all rows' paths from the root */
    size_t pointers_offset, hash_offset; /* offsets of working memory, in the host's memory */
} dev_layout;

typedef struct dev_run {
    rill_session *session;
    const rill_network *network;
    const dev_graph *graph;
    const rill_run_arguments *arguments;
    size_t n;
    const int32_t *order; /* [n] row of the run at each position; NULL: position i has row i */
    size_t block_rows, block_units;
    size_t units, longest; /* tokens in the largest ragged index space; tokens of the longest sequence */
    /* [ragged index spaces] arrays [n + 1]: number of each row's first token, for columns with an entry per token */
    int32_t **unit_start;
    /* [operations] attention: most keys that a row attends to; path: length of the longest path from the root */
    size_t *max_length;
    size_t *max_subset; /* [subsets + 1] symbols in the longest vocabulary subset of the run's rows */
    dev_layout layout;
    /* [n_guards] ends of the device's arrays, each followed by a guard: the rest of the cache line and DEV_GUARD bytes, which the backend
     * checks.
     * NULL: no guards */
    size_t *guard;
    size_t n_guards;
} dev_run;

/* Place a guard after an array that ends at `end`. Returns the bytes after the array's last cache line; 0 without guards. */
size_t dev_add_guard(dev_run *run, size_t end);
static inline size_t dev_guard_bytes(size_t end)
{
    return dev_lines(end) - end + DEV_GUARD;
}

/* Carve the arrays of *run out of one allocation. Their sizes follow from the graph and the number of rows. */
void dev_carve_run(dev_run *run, rill_carver *c);

/* Fill unit_start, units, longest, max_length and max_subset. RILL_OK · RILL_ERR_ARGUMENT */
rill_status dev_measure_run(dev_run *run);

/* Lay out the arrays that the host computes for a block (rows of index spaces, indices, paths), and the working memory for this. */
void dev_lay_out_host(dev_run *run, rill_carver *c);
void dev_lay_out_host_work(dev_run *run, rill_carver *c);

/* Lay out tensors, for rows[s] rows of index space s. copy_bytes: [buffers] row bytes of a tensor's second form; NULL: none. Paths are
 * separate, because they grow with each timestep: path_entries [paths]. */
void dev_lay_out_tensors(dev_run *run, const size_t *rows, const size_t *copy_bytes, rill_carver *c);
void dev_lay_out_paths(dev_run *run, const size_t *path_entries, rill_carver *c);

/* Reserve the next array of a memory and return its offset. The offset saturates on overflow. */
size_t dev_carve_offset(rill_carver *c, size_t count, size_t size);

/* Sort sequences by descending length, ties by number. */
void dev_sort_by_length(size_t n, const int32_t *length, int32_t *order);

/* A block, the rows of a run that are computed at a time, and its rows in every index space. */
typedef struct dev_block {
    const dev_run *run;
    char *host;   /* memory of the block on the host, laid out as in dev_layout */
    size_t begin; /* position of the block's first row in the run */
    size_t *rows; /* [spaces + 1] number of rows in each index space */
    /* [spaces + 1] arrays [rows of the space]: the parent space's row to which each row belongs; in a distinct space, each row's value */
    int32_t **parent_row;
    /* For each index space an array [rows of the parent space]: the row of this space made from the parent's row, or -1. For a ragged
     * space the array is [sequences + 1]: the first token of each sequence */
    int32_t **child_row;
    /* [spaces + 1] for each ragged index space, an array [sequences] with the number of tokens of each sequence */
    int32_t **lengths;
    const int32_t **index; /* [indices] entries of each index; NULL: not computed yet */
} dev_block;

/* Set the pointers of *b to a block's memory on the host, `host`. */
void dev_block_open(dev_block *b, const dev_run *run, char *host);

/* Begin the block at position `from` of the run, before `end`: choose its rows and compute index spaces. Returns the number of rows. */
size_t dev_block_begin(dev_block *b, size_t from, size_t end);

/* Return the entries of an index, computed at its first use; NULL for DEV_NO_INDEX. */
const int32_t *dev_index_entries(dev_block *b, int32_t index);

/* Return the row of index space `to` that a row of `space` belongs to. `space` must be derived from `to`. */
size_t dev_ancestor_row(const dev_block *b, rill_index_space space, size_t row, rill_index_space to);

/* Return where an index space's row is in the host's columns: its row of the run, or its token in a ragged space. */
size_t dev_host_row(const dev_block *b, rill_index_space space, size_t row);

/* Keys and values that row r attends to: rows first[s] + t, t < length[s], s = slot[r] (or r without `slot`). With a path, first[s] + t is
 * a position in the path's list of state ids. */
typedef struct dev_memory {
    const int32_t *first, *length, *slot;
} dev_memory;
dev_memory dev_attended_memory(dev_block *b, const dev_op *op);

/* Compute the first entry and length of each row's path to the root. Returns the entries of all paths. */
size_t dev_make_path(dev_block *b, const dev_op *op);

/* Return the largest distance that has its own entry in an attention's relative position bias. 0: it has no bias. */
static inline size_t dev_reach(const rill_network *network, const rill_attend *o)
{
    return o->relative != 0 ? network->constant[o->relative - 1].width / 2 : 0;
}

/* --- profiles ----------------------------------------------------------------------------------------------------- */

/* Record an operation of a block that took `seconds` on this thread of the session. */
void dev_profile_count(dev_block *b, size_t thread, const dev_op *op, double seconds, uint64_t launches,
                       double row_bytes);
/* Add the counters of all threads to the session's counters, and reset them. */
void dev_profile_sum(rill_session *session);

/* --- building: network.c, views.c, build_ops.c; not for backends --------------------------------- */

/* Append a zeroed element to an array of a network or graph. Returns its handle, counted from 1, or -1 after a failure. */
int32_t dev_network_append(rill_network *network, void **array, size_t *count, size_t *capacity, size_t size);
#define DEV_APPEND(network, owner, name, count, capacity) \
    dev_network_append(network, (void **)&(owner)->name, &(owner)->count, &(owner)->capacity, sizeof *(owner)->name)

/* Return the type in which the CPU packs weights of this type. f16, which only GPUs multiply, has the size of bf16. */
static inline rill_dtype dev_dtype(rill_weight_type type)
{
    if (type == RILL_WEIGHT_F32) return RILL_DTYPE_F32;
    return type == RILL_WEIGHT_INT8 ? RILL_DTYPE_U8S8 : RILL_DTYPE_BF16;
}
static inline size_t dev_weight_bytes(size_t n, size_t k, rill_weight_type type)
{
    return rill_gemm_pack_size(n, k, dev_dtype(type));
}

/* The operation being built, and its name for messages. */
typedef struct dev_builder {
    rill_network *network;
    dev_graph *graph;
    dev_op *op;
    const char *operation;
} dev_builder;

/* Record a failure in the network, with the message "graph G, operation N (WORD): ...". Returns -1, as dev_network_fail() does. */
int32_t dev_build_fail(const dev_builder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Check that a handle is in 1..count. kind, what: names in messages. Returns 0 if not, or if the network has failed. */
int dev_check_handle(const dev_builder *b, int32_t handle, size_t count, const char *kind, const char *what);

/* Check that an index space exists, as dev_check_handle() does. */
int dev_check_space(const dev_builder *b, rill_index_space space);

/* Return 1 if `space` equals `from` or is derived from it, else 0. */
int dev_is_derived(const dev_graph *graph, rill_index_space space, rill_index_space from);

/* Return the number of an index that equals `wanted`; if the graph has none, add it. Returns DEV_NO_INDEX after a failure. */
int32_t dev_add_index(rill_network *network, dev_graph *graph, dev_index wanted);

/* Return the number of the index from each row of `space` to its row of `to`, or DEV_NO_INDEX if both are the same. */
int32_t dev_map_index(const dev_builder *b, rill_index_space space, rill_index_space to);

/* Return the index that gives a column's entry for each row of an index space. what: the column's purpose, for messages. */
int32_t dev_column_index(const dev_builder *b, rill_index_space space, rill_column column, const char *what);

/* Check a view with `width` floats per row of `space`, and store it as operand `place`. use: bits of rill_operand_use. */
void dev_build_view(const dev_builder *b, rill_index_space space, int place, rill_view view, size_t width, int use,
                    const char *what);

const char *dev_op_name(rill_op_kind kind);
double dev_op_flops(rill_op_kind kind); /* floating-point operations per float of the operands */
