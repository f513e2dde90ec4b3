/* backend.h: what a device implements, and what it is given: networks with their graphs, sessions with their slots, and the
 * rows of a run.
 *
 * This library builds and checks networks and manages slots, vocabulary subsets and profiles for all devices. A backend
 * owns the memory of weights and tables, and runs graphs. It keeps its own data in the `data` members, which nobody
 * else reads; it reads, and does not write, everything else here but for what its functions say. The backends are the
 * CPU's (cpu.h), and modules such as CUDA's: shared objects loaded at run time.
 *
 * Adding an operation to a graph turns its views into operands: a storage and an `index`, an array of int32 that selects
 * rows of it. Indices are numbered per graph, without duplicates.
 *
 * Handles count from 1: handle h is element h - 1 of its array. Index spaces are the exception: 0 is RILL_ROWS. */
#ifndef RILL_DEVICE_BACKEND_H
#define RILL_DEVICE_BACKEND_H

#include "kernels.h"
#include "rill/carve.h"
#include "rill/device.h"

enum { DEV_NAME = 48 };               /* bytes of a stored name */
enum { DEV_LINE = 64, DEV_PAD = 16 }; /* bytes of a cache line; floats of a cache line */
enum { DEV_GUARD = 4 * DEV_LINE };    /* bytes of a guard, see dev_run */
enum { DEV_GROUPS = 2 };              /* groups of rows whose results may arrive asynchronously, see domain.h */

static inline size_t dev_padded(size_t width)
{
    return (width + DEV_PAD - 1) / DEV_PAD * DEV_PAD;
}

static inline size_t dev_lines(size_t bytes)
{
    return (bytes + DEV_LINE - 1) / DEV_LINE * DEV_LINE;
}

struct dev_graph;

/* --- what a device implements ------------------------------------------------------------------------------------- */

typedef struct dev_backend {
    uint32_t abi; /* DEV_ABI (device_abi.h) of the headers that the backend was built with */

    /* Open the device `name`: "cuda", "cuda:1". Sets device->data and device->name.
     *   RILL_OK · RILL_ERR_OPTION (no such device; says why) · RILL_ERR_MEMORY */
    rill_status (*open)(rill_device *device, const char *name);
    void (*close)(rill_device *device);               /* device->data may be NULL */
    int32_t (*group_rows)(const rill_device *device); /* as rill_device_group_rows() */

    unsigned weight_types; /* set of 1 << rill_weight_type: types of weights that the device multiplies */

    /* Take weights [n, k], row i at w + i * stride, as matrix number `idx`, the next one. finish() takes constants and
     * graphs; NULL: nothing is left to do. The network records the failures of both. */
    void (*add_matrix)(rill_network *network, size_t idx, const float *w, size_t stride);
    void (*finish)(rill_network *network);
    void (*network_close)(rill_network *network); /* network->data may be NULL */
    /* Add to *bytes what the device needs besides table rows and the symbols of subsets: see rill_network_bytes. */
    void (*add_sizes)(const rill_network *network, rill_network_bytes *bytes);

    /* sets session->data, and session->n_threads if above 1 */
    rill_status (*session_open)(rill_session *session, int threads);
    void (*session_close)(rill_session *session); /* session->data may be NULL */
    /* Reserve at least `rows` rows in table number `idx`, or in the node parents if `idx` is the number of tables. Contents
     * are kept. Sets session->table[idx].capacity. */
    rill_status (*grow)(rill_session *session, size_t idx, size_t rows);
    rill_status (*write)(rill_session *session, size_t idx, size_t first, size_t n, const float *rows);
    rill_status (*read)(const rill_session *session, size_t idx, size_t first, size_t n, float *rows);
    /* A slot's vocabulary subset has changed to session->subset[idx].slot[slot]; its n is 0 if there is none, and then the
     * call succeeds. */
    rill_status (*set_subset)(rill_session *session, size_t idx, int32_t slot);

    /* Run a graph for at least one row. Returns RILL_AGAIN if results arrive asynchronously, which the arguments must
     * allow; then collect() waits for them. */
    rill_status (*run)(rill_session *session, const struct dev_graph *graph, const rill_run_arguments *arguments);
    rill_status (*collect)(rill_session *session, int32_t group);
    rill_status (*limits)(const rill_session *session, rill_limits *out); /* as rill_runner_limits() */
} dev_backend;

/* The symbol that a module exports: a function that returns its backend. */
typedef const dev_backend *(*dev_module_fn)(void);
#define DEV_MODULE_NAME "rill_device_module"

extern const dev_backend dev_cpu;

struct rill_device {
    rill_context *ctx;
    char name[160];
    int fast;             /* GEMM results may depend on the batch */
    rill_kernels kernels; /* the host's */
    const dev_backend *backend;
    void *data;
};

/* --- networks ----------------------------------------------------------------------------------------------------- */

typedef struct dev_constant {
    const float *data;
    size_t rows, width;
    void *memory; /* the data, if owned by the network; else NULL */
    size_t bytes;
} dev_constant;

typedef struct dev_matrix {
    size_t n, k;
    rill_weight_type type;
} dev_matrix;

typedef struct dev_table {
    rill_table_kind kind;
    size_t width, ld; /* floats of a row, and of the row stride: rows of at least a cache line are aligned to one */
    char name[DEV_NAME];
} dev_table;

typedef struct dev_vocab_subset {
    rill_constant rows, bias; /* weights [V, K]; bias [1, V]; 0: none */
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
    /* index: slots of vocabulary subsets or attention; symbols of an embedding that is read from a matrix */
    int32_t slot;
    /* index: an attention row's own position among the units of its sequence; DEV_NO_INDEX: the last of its path */
    int32_t position;
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
    void *data; /* the backend's */
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

/* Keep the network's first failure. Returns -1, a failed handle. */
int32_t dev_network_fail(rill_network *network, rill_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Description of a space, RILL_ROWS included. */
const dev_index_space *dev_get_space(const dev_graph *graph, rill_index_space space);

/* Whether two operands read the same floats of the same rows. */
int dev_same_operand(const dev_operand *a, const dev_operand *b);

/* The vocabulary subset whose symbols an operation reads or writes; 0: none. */
rill_vocab_subset dev_op_subset(const dev_op *op);

/* The operation's symbols without a subset, and the action of symbol 0, if it makes choices: `best` and `mix`. */
static inline int dev_makes_choices(const dev_op *op)
{
    return op->kind == RILL_OP_BEST || op->kind == RILL_OP_MIX;
}
static inline int32_t dev_first_action(const dev_op *op)
{
    return op->kind == RILL_OP_BEST ? op->as.best.first_action : 0;
}

/* --- sessions ----------------------------------------------------------------------------------------------------- */

/* A first-fit allocator of row ranges, one range per slot. Free ranges are sorted and coalesced with each other and with
 * the unused end. First fit keeps rows near the beginning. */
typedef struct dev_range {
    int32_t first, count;
} dev_range;

/* Zero-initialise; `free` is caller-owned memory. */
typedef struct dev_ranges {
    dev_range *free; /* ascending */
    size_t count;
    int32_t end; /* rows from here on are unused */
} dev_ranges;

/* Allocate `count` >= 1 rows. Returns the first, or -1 if row numbers would overflow. */
int32_t dev_ranges_take(dev_ranges *ranges, int32_t count);

/* Free a range, or the tail of one. `free` must have capacity for one entry more than there are allocated ranges. */
void dev_ranges_give(dev_ranges *ranges, int32_t first, int32_t count);

typedef struct dev_table_rows {
    size_t capacity; /* rows reserved */
    size_t count;    /* host tables: rows that are filled */
} dev_table_rows;

/* A slot's vocabulary subset. */
typedef struct dev_slot_subset {
    size_t n, capacity; /* symbols */
    int32_t *id;
} dev_slot_subset;

typedef struct dev_slot_subsets {
    dev_slot_subset *slot;
    size_t capacity, count; /* slots allocated; slots initialised */
} dev_slot_subsets;

typedef struct dev_counter {
    int64_t calls, rows, launches;
    double seconds, flops, bytes;
} dev_counter;

struct rill_session {
    rill_context *ctx;
    const rill_network *network;
    void *data;               /* the backend's */
    dev_table_rows *table;    /* [tables + 1] the last one has the parents of nodes, one int32 each */
    dev_slot_subsets *subset; /* [subsets] */
    size_t n_slots;
    int32_t *first, *capacity, *units; /* [slots] rows in the ragged tables: first, allocated, used */
    dev_ranges ranges;                 /* all ragged tables share one layout */
    rill_columns slot_memory;          /* of the arrays by slot and of the free ranges */
    char *moves;                       /* of rill_session_set_slots() */
    size_t moves_capacity;
    size_t n_threads;
    int profiling;
    dev_counter *counter;        /* [all operations] */
    dev_counter *thread_counter; /* [threads, all operations], in the same allocation */
    size_t n_counters, counter_capacity;
};

/* Table number `idx`, or the parents of nodes if `idx` is the number of tables. */
const dev_table *dev_get_table(const rill_network *network, size_t idx);

/* --- runs --------------------------------------------------------------------------------------------------------- */

/* Where a run's buffers are, for a block of up to max_rows rows of each space. Offsets are bytes of one of two memories,
 * which may be the same one: the host's, with what the host computes of a block, and the values'. */
typedef struct dev_layout {
    size_t *max_rows;                    /* [spaces + 1] maximum rows of a space in a block */
    size_t *parent_row_offset;           /* [spaces + 1] host */
    size_t *child_row_offset;            /* [spaces + 1] host */
    size_t *index_offset;                /* [indices] host */
    size_t *path_offset;                 /* [paths] host: [rows] first entry, [rows] length */
    size_t *tensor_offset;               /* [buffers] values */
    size_t *tensor_ld;                   /* [buffers] floats */
    size_t *copy_offset;                 /* [buffers] values: the backend's second form of a tensor */
    size_t *entry_offset;                /* [paths] values: the nodes of all paths */
    size_t pointers_offset, hash_offset; /* host: working memory */
} dev_layout;

typedef struct dev_run {
    rill_session *session;
    const rill_network *network;
    const dev_graph *graph;
    const rill_run_arguments *arguments;
    size_t n;
    const int32_t *order; /* [n] row at each position; NULL: identity */
    size_t block_rows, block_units;
    size_t units, longest; /* of the ragged space with most units; of all sequences */
    int32_t **unit_start;  /* [ragged] -> [n + 1] first unit of each row in the host's columns */
    size_t *max_length;    /* [ops] longest memory of an attention operation; longest path */
    size_t *max_subset;    /* [subsets + 1] longest vocabulary subset of the rows */
    dev_layout layout;
    /* [n_guards] ends of arrays that dev_lay_out_*() lay out for the device. A guard follows each: the rest of its last
     * line and DEV_GUARD bytes, where nothing may write. The backend checks that. NULL: there are no guards */
    size_t *guard;
    size_t n_guards;
} dev_run;

/* Append a guard, if the run has any, behind an array that ends at `end`. Returns the bytes that it takes after the
 * array's last line. */
size_t dev_add_guard(dev_run *run, size_t end);
static inline size_t dev_guard_bytes(size_t end)
{
    return dev_lines(end) - end + DEV_GUARD;
}

/* Carve a run's arrays, sized by the graph and the number of rows. */
void dev_carve_run(dev_run *run, rill_carver *c);

/* Fill unit_start, units, longest, max_length and max_subset. RILL_OK · RILL_ERR_ARGUMENT */
rill_status dev_measure_run(dev_run *run);

/* Lay out what the host computes of a block: spaces and indices with their maximum rows, and paths; and the working
 * memory for that. */
void dev_lay_out_host(dev_run *run, rill_carver *c);
void dev_lay_out_host_work(dev_run *run, rill_carver *c);

/* Lay out tensors and the entries of paths for `rows` rows of each space. copy_bytes [buffers], or NULL: bytes of a row's
 * second form. path_entries: [paths]. The entries of paths are laid out apart, since they grow with each timestep. */
void dev_lay_out_tensors(dev_run *run, const size_t *rows, const size_t *copy_bytes, rill_carver *c);
void dev_lay_out_paths(dev_run *run, const size_t *path_entries, rill_carver *c);

/* Offset of the next array of a memory. The offset saturates on overflow. */
size_t dev_carve_offset(rill_carver *c, size_t count, size_t size);

/* Sort sequences by descending length, ties by number. */
void dev_sort_by_length(size_t n, const int32_t *length, int32_t *order);

/* The rows of one block, in every space. */
typedef struct dev_block {
    const dev_run *run;
    char *host;   /* the host's memory of the layout */
    size_t begin; /* position of the block's first row */
    size_t *rows; /* [spaces + 1] */
    /* [spaces + 1] row of the parent space; distinct space: the value; ragged space: the sequence */
    int32_t **parent_row;
    /* [spaces + 1] row of this space for rows of the parent; ragged: [sequences + 1] first units */
    int32_t **child_row;
    int32_t **lengths;     /* [spaces + 1] ragged space: [sequences] units of each sequence */
    const int32_t **index; /* [indices] NULL: not computed yet */
} dev_block;

/* Set a block's pointers into the host's memory. */
void dev_block_open(dev_block *b, const dev_run *run, char *host);

/* Fill a block with the positions from `from` on, below `end`. Returns its number of positions. */
size_t dev_block_begin(dev_block *b, size_t from, size_t end);

/* The entries of an index; NULL for DEV_NO_INDEX. */
const int32_t *dev_index_entries(dev_block *b, int32_t index);

/* The row of `to`, a space that `space` is derived from, that a row belongs to. */
size_t dev_ancestor_row(const dev_block *b, rill_index_space space, size_t row, rill_index_space to);

/* The entry of the host's columns for a row of the run, or for a unit of a ragged space. */
size_t dev_host_row(const dev_block *b, rill_index_space space, size_t row);

/* Memory rows that each row of an attention reads: rows first[s] + t, t < length[s], of keys and values, or of the path's
 * entries, where s is slot[r], or r without slots. */
typedef struct dev_memory {
    const int32_t *first, *length, *slot;
} dev_memory;
dev_memory dev_attended_memory(dev_block *b, const dev_op *op);

/* Fill the first entry and the length of each row's path. Returns the number of entries. */
size_t dev_make_path(dev_block *b, const dev_op *op);

/* Reach of an attention's relative position bias. */
static inline size_t dev_reach(const rill_network *network, const rill_attend *o)
{
    return o->relative != 0 ? network->constant[o->relative - 1].width / 2 : 0;
}

/* --- profiles ----------------------------------------------------------------------------------------------------- */

/* Record an operation of a block that took `seconds` on this thread of the session. */
void dev_profile_count(dev_block *b, size_t thread, const dev_op *op, double seconds, uint64_t launches,
                       double row_bytes);
/* Sum the threads' counters. */
void dev_profile_sum(rill_session *session);

/* --- building: network_parts.c, network.c, views.c, build_ops.c; not for backends --------------------------------- */

/* Append a zeroed element to an array of the network. Returns its handle, or -1. */
int32_t dev_network_append(rill_network *network, void **array, size_t *count, size_t *capacity, size_t size);
#define DEV_APPEND(network, owner, name, count, capacity) \
    dev_network_append(network, (void **)&(owner)->name, &(owner)->count, &(owner)->capacity, sizeof *(owner)->name)

/* How the CPU stores weights of this type, and their bytes when packed. Only GPUs have f16; its size equals that of bf16. */
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

/* Keep "graph G, operation N (WORD): ..." as the network's failure. */
void dev_build_fail(const dev_builder *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

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

const char *dev_op_name(rill_op_kind kind);
double dev_op_flops(rill_op_kind kind); /* per float of its operands */

#endif
