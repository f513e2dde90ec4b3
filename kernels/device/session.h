/* session.h: a session's memory, and the state of a run. Private header of the CPU device.
 *
 * A run is cut into spans, the units of work for the thread pool, and spans into blocks of rows. A block's scratch
 * memory is laid out once per run, the same for all blocks. There is one scratch per thread; a span takes a free one,
 * preferably in the caches of its thread.
 *
 * Invariant: a row's results are functions of that row alone, wherever the cuts fall. */
#ifndef RILL_DEVICE_SESSION_H
#define RILL_DEVICE_SESSION_H

#include <stdatomic.h>

#include "network.h"
#include "ranges.h"
#include "rill/carve.h"

enum { DEV_GROUPS = 2 }; /* groups of rows whose results may arrive asynchronously, see domain.h */

typedef struct dev_table_rows {
    float *rows;
    size_t capacity; /* rows */
    size_t count;    /* host tables: rows that are filled */
} dev_table_rows;

/* A slot's vocabulary subset: ids and, if it has weights, the bias and packed matrix, in one allocation. */
typedef struct dev_slot_subset {
    size_t n, capacity; /* symbols; bytes */
    char *memory;
    int32_t *id;
    float *bias;
    rill_weights w;
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
    void *module_data; /* owned by the module */
    rill_pool *pool;   /* NULL with one thread */
    void *pool_memory;
    size_t pool_bytes;
    dev_table_rows *table;    /* [tables] */
    dev_slot_subsets *subset; /* [subsets] */
    int32_t *node_parent;     /* [nodes] */
    size_t node_parent_capacity;
    size_t n_slots;
    int32_t *first, *capacity, *units; /* [slots] rows in the ragged tables: first, allocated, used */
    size_t first_allocated, capacity_allocated, units_allocated;
    dev_ranges ranges;
    size_t free_capacity;
    char *run_memory; /* arrays of the current run */
    char *scratch;    /* working memory of blocks */
    size_t run_memory_capacity, scratch_capacity;
    atomic_flag *scratch_busy; /* [threads] scratches in use */
    size_t n_threads;
    int profiling;
    dev_counter *counter;        /* [all operations] */
    dev_counter *thread_counter; /* [threads, all operations], in the same allocation */
    size_t n_counters, counter_capacity;
};

/* --- runs --------------------------------------------------------------------------------------------------------- */

/* Offsets of a block's arrays in its scratch, and the largest block. The arrays of this struct are the run's, not in a
 * scratch. */
typedef struct dev_layout {
    size_t *max_rows;          /* [spaces + 1] maximum rows of a space in a block */
    size_t *parent_row_offset; /* [spaces + 1] */
    size_t *child_row_offset;  /* [spaces + 1] */
    size_t *index_offset;      /* [indices] */
    size_t *tensor_offset;     /* [buffers] */
    size_t *tensor_ld;         /* [buffers] floats */
    size_t *path_offset;       /* [paths] */
    size_t pointers_offset, hash_offset, gemm_offset, gemm_bytes, work_offset, work_bytes;
    size_t bytes; /* bytes of the scratch memory */
} dev_layout;

typedef struct dev_run {
    rill_session *session;
    const rill_network *network;
    const dev_graph *graph;
    const rill_run_arguments *arguments;
    const rill_kernels *kernels;
    size_t n;
    const int32_t *order; /* [n] row at each position; NULL: identity */
    size_t *span_begin;   /* [spans + 1] first position of each span */
    size_t n_spans;
    size_t block_rows, block_units;
    int32_t **unit_start; /* [ragged] -> [n + 1] first unit of each row in the host's columns */
    size_t *max_length;   /* [ops] longest memory of an attention operation */
    size_t *max_subset;   /* [subsets + 1] longest vocabulary subset of the rows */
    uint64_t *
        *legal; /* [ops] legal sets renumbered by the operation's symbols, where they differ from the host's; or NULL */
    int parallel_ops; /* a single span: operations use the pool themselves */
    dev_layout layout;
    char *scratch;
} dev_run;

/* The rows of one block, in every space. */
typedef struct dev_block {
    const dev_run *run;
    rill_pool *pool; /* threads for parallelism inside operations; NULL: none */
    char *scratch;
    size_t thread; /* owner of the scratch */
    size_t begin;  /* position of the block's first row */
    size_t *rows;  /* [spaces + 1] */
    int32_t *
        *parent_row; /* [spaces + 1] row of the parent space; distinct space: the value; ragged space: the sequence */
    int32_t *
        *child_row;    /* [spaces + 1] row of this space for rows of the parent; ragged: [sequences + 1] first units */
    int32_t **lengths; /* [spaces + 1] ragged space: [sequences] units of each sequence */
    const int32_t **index; /* [indices] NULL: not computed yet */
} dev_block;

/* --- run.c -------------------------------------------------------------------------------------------------------- */

/* Sort sequences by descending length, ties by number. */
void dev_sort_by_length(size_t n, const int32_t *length, int32_t *order);

/* Carve the arrays of a layout, sized by the graph. */
void dev_lay_out_arrays(const dev_graph *graph, dev_layout *layout, rill_carver *c);

/* Offset of the next array of a scratch. The offset saturates on overflow. */
size_t dev_carve_offset(rill_carver *c, size_t count, size_t size);

/* Compute run->unit_start, prefix sums of the lengths in each ragged space. *units is the largest total, *longest the
 * longest sequence.
 *   RILL_OK · RILL_ERR_ARGUMENT */
rill_status dev_sum_lengths(dev_run *run, size_t *units, size_t *longest);

/* Lay out a block's spaces and indices with their maximum rows; then the working memory to compute them. */
void dev_lay_out_spaces(dev_run *run, rill_carver *c);
void dev_lay_out_work(dev_run *run, rill_carver *c);

/* --- index_space.c ------------------------------------------------------------------------------------------------------ */

/* Set a block's pointers into its scratch. */
void dev_block_open(dev_block *b, const dev_run *run, size_t thread);

/* Fill a block with the positions from `from` on, below `end`. Returns its number of positions. */
size_t dev_block_begin(dev_block *b, size_t from, size_t end);

const int32_t *dev_index_entries(dev_block *b, int32_t index);
rill_operand dev_operand_rows(dev_block *b, const dev_operand *operand);

/* The entry of the host's columns for a row of the run, or for a unit of a ragged space. */
size_t dev_host_row(const dev_block *b, rill_index_space space, size_t row);

/* Drop the first `first` rows. */
static inline rill_operand dev_skip_rows(rill_operand rows, size_t first)
{
    if (rows.index != NULL)
        rows.index += first;
    else if (rows.data != NULL)
        rows.data += first * rows.ld;
    return rows;
}

/* --- ops.c, scan.c, best.c, mix.c --------------------------------------------------------------------------------- */

/* Scratch bytes of an operation's GEMMs, and its other working memory, for one block. */
size_t dev_gemm_bytes(const dev_run *run, const dev_op *op);
size_t dev_op_work_bytes(const dev_run *run, const dev_op *op, size_t number);
size_t dev_scan_work_bytes(const dev_run *run, const dev_op *op);
size_t dev_best_work_bytes(const dev_run *run, const dev_op *op);
size_t dev_mix_work_bytes(const dev_run *run, const dev_op *op);

/* Reach of an attention's relative position bias. */
static inline size_t dev_reach(const rill_network *network, const rill_attend *o)
{
    return o->relative != 0 ? network->constant[o->relative - 1].width / 2 : 0;
}

/* Keys and values that a block's rows attend to. */
rill_attention dev_attention_memory(dev_block *b, const dev_op *op);

void dev_op_run(dev_block *b, const dev_op *op);
void dev_scan(dev_block *b, const dev_op *op);
void dev_best(dev_block *b, const dev_op *op);
void dev_mix(dev_block *b, const dev_op *op);

/* Rows of an operation that choose among the same symbols: all rows, or adjacent ones with the same slot's vocabulary
 * subset. */
typedef struct dev_group {
    dev_block *b;
    const dev_op *op;
    rill_index_space space;
    size_t first, rows, symbols;
    const int32_t *id;    /* [symbols] of a subset, ascending; NULL: symbol v is action first_action + v */
    int32_t first_action; /* action of symbol 0, without a subset */
    int32_t slot;         /* slot of the subset, with a subset */
} dev_group;

/* Call `run` for each group of an operation: one per slot's subset, or one of all rows without a subset. The block,
 * operation, symbols and first action are read from `group`. Rows of a slot with an empty subset get no choices and no
 * call. */
void dev_for_each_group(dev_group group, rill_vocab_subset subset, void (*run)(const dev_group *));
/* Fill the log-probabilities of requested symbols (picks): get_logp() returns that of the group's row r and symbol
 * (position in the subset) v. */
typedef float (*dev_logp_fn)(const void *call, size_t r, size_t v);
void dev_fill_picks(const dev_group *group, dev_logp_fn get_logp, const void *call);
/* Set the legal sets of the group's rows in *best. dev_legal_bytes() bounds the working memory that this takes. */
void dev_set_group_legal(const dev_group *group, size_t *used, rill_best *best);
size_t dev_legal_bytes(const dev_run *run, size_t rows, size_t listed);
/* Write the best symbols of the group's rows, ids and logp [rows, ld], to the host's result as actions. */
void dev_write_choices(const dev_group *group, const int32_t *ids, const float *logp, size_t ld, const int32_t *counts);

/* Words of the run's legal sets renumbered by the operation's symbols; 0: the host's sets are used as they are. */
size_t dev_legal_words(const dev_run *run, const dev_op *op);
void dev_make_legal(const dev_run *run, const dev_op *op, uint64_t *legal);

/* Allocate an array from the block's working memory; `used` starts at 0. */
static inline void *dev_alloc_work(const dev_block *b, size_t *used, size_t count, size_t size)
{
    char *array = b->scratch + b->run->layout.work_offset + *used;
    *used += dev_lines(count * size);
    return array;
}

/* First row of a constant; NULL for none. */
static inline const float *dev_constant_row(const dev_run *run, rill_constant constant)
{
    return constant != 0 ? run->network->constant[constant - 1].data : NULL;
}

/* The vocabulary subset of a slot. */
static inline const dev_slot_subset *dev_get_slot_subset(const dev_run *run, rill_vocab_subset subset, int32_t slot)
{
    return &run->session->subset[subset - 1].slot[slot];
}

/* Number of rows from r on with the same slot. */
static inline size_t dev_count_same_slot(const int32_t *slot, size_t r, size_t rows)
{
    size_t n = 1;
    while (r + n < rows && slot[r + n] == slot[r]) n++;
    return n;
}

/* --- profile.c ---------------------------------------------------------------------------------------------------- */

/* Run an operation of a block and record its cost. */
void dev_profile_op(dev_block *b, const dev_op *op);
/* Record an operation of a block that took `seconds`. */
void dev_profile_count(dev_block *b, const dev_op *op, double seconds, uint64_t launches, double row_bytes);
/* Sum the threads' counters. */
void dev_profile_sum(const dev_run *run);

#endif
