/* session.h: a stream's memory, and a run as its blocks see it. Inner header of the device's CPU executor.
 *
 * A run is cut into spans, units of work for the pool, and spans into blocks. What a block needs, its scratch, is laid out once per
 * run and is the same for all blocks; there are as many scratches as threads, and a span takes one that is free: so what a thread
 * has in its caches is used again.
 *
 * Invariant: a row's results are functions of that row alone, wherever the cuts fall. */
#ifndef RILL_DEVICE_SESSION_H
#define RILL_DEVICE_SESSION_H

#include <stdatomic.h>

#include "network.h"
#include "ranges.h"
#include "rill/carve.h"

enum { DEV_GROUPS = 2 }; /* of rows whose answers may come late, see domain.h */

typedef struct dev_table_rows {
    float *rows;
    size_t capacity; /* rows */
    size_t count;    /* of host tables: rows that are filled */
} dev_table_rows;

/* A slot's list: ids, and with weights the bias and the matrix, in one block of memory. */
typedef struct dev_slot_subset {
    size_t n, capacity; /* symbols; bytes */
    char *memory;
    int32_t *id;
    float *bias;
    rill_weights w;
} dev_slot_subset;

typedef struct dev_slot_subsets {
    dev_slot_subset *slot;
    size_t capacity, count; /* slots that are initialised */
} dev_slot_subsets;

typedef struct dev_counter {
    int64_t calls, rows, launches;
    double seconds, flops, bytes;
} dev_counter;

struct rill_session {
    rill_context *ctx;
    const rill_network *network;
    void *module_data; /* the device's module's */
    rill_pool *pool;   /* NULL with one thread */
    void *pool_memory;
    size_t pool_bytes;
    dev_table_rows *table;    /* [tables] */
    dev_slot_subsets *subset; /* [lists] */
    int32_t *node_parent;     /* [nodes] */
    size_t node_parent_capacity;
    size_t n_slots;
    int32_t *first, *capacity,
        *units; /* [slots] rows in the ragged tables: where, how many there are, how many are used */
    size_t first_allocated, capacity_allocated, units_allocated;
    dev_ranges ranges;
    size_t free_capacity;
    char *run_memory; /* a run's own arrays */
    char *scratch;    /* what its blocks need */
    size_t run_memory_capacity, scratch_capacity;
    atomic_flag *scratch_busy; /* [threads] scratches that are taken */
    size_t n_threads;
    int profiling;
    dev_counter *counter;        /* [all operations] */
    dev_counter *thread_counter; /* [threads, all operations], behind them */
    size_t n_counters, counter_capacity;
};

/* --- runs --------------------------------------------------------------------------------------------------------- */

/* Where things lie in a scratch, and how large a block may be. Arrays are the run's, in front of the scratches. */
typedef struct dev_layout {
    size_t *max_rows;          /* [spaces + 1] most rows of a space in a block */
    size_t *parent_row_offset; /* [spaces + 1] */
    size_t *child_row_offset;  /* [spaces + 1] */
    size_t *index_offset;      /* [indices] */
    size_t *tensor_offset;     /* [buffers] */
    size_t *tensor_ld;         /* [buffers] floats */
    size_t *path_offset;       /* [paths] */
    size_t pointers_offset, hash_offset, gemm_offset, gemm_bytes, work_offset, work_bytes;
    size_t bytes; /* of a scratch */
} dev_layout;

typedef struct dev_run {
    rill_session *session;
    const rill_network *network;
    const dev_graph *graph;
    const rill_run_arguments *arguments;
    const rill_kernels *kernels;
    size_t n;
    const int32_t *order; /* [n] the row at a place; NULL: rows stand in their own */
    size_t *span_begin;   /* [spans + 1] places */
    size_t n_spans;
    size_t block_rows, block_units;
    int32_t **unit_start; /* [ragged] -> [n + 1] where a row's units begin among the host's */
    size_t *max_length;   /* [ops] longest memory of an attention */
    size_t *max_subset;   /* [lists + 1] longest list of the rows */
    uint64_t **legal;     /* [ops] the sets by the operation's symbols, where they differ from the host's; or NULL */
    int parallel_ops;     /* one span, whose operations use the pool themselves */
    dev_layout layout;
    char *scratch;
} dev_run;

/* Rows of a space in a block. */
typedef struct dev_block {
    const dev_run *run;
    rill_pool *pool; /* for what is inside an operation; NULL: none */
    char *scratch;
    size_t thread;         /* whose scratch it is */
    size_t begin;          /* the first place */
    size_t *rows;          /* [spaces + 1] */
    int32_t **parent_row;  /* [spaces + 1] row of `of`; of distinct values the value; of units the input */
    int32_t **child_row;   /* [spaces + 1] row of this space for rows of `of`; ragged: [inputs + 1] first units */
    int32_t **lengths;     /* [spaces + 1] of ragged ones [inputs] */
    const int32_t **index; /* [indices] NULL: not made yet */
} dev_block;

/* --- run.c -------------------------------------------------------------------------------------------------------- */

/* Order inputs by falling length, equal ones by number. */
void dev_sort_by_length(size_t n, const int32_t *length, int32_t *order);

/* The arrays of a layout, as numerous as the program's parts. */
void dev_lay_out_arrays(const dev_graph *graph, dev_layout *layout, rill_carver *c);

/* Where the next array of a scratch begins. More bytes than there can be stay so many. */
size_t dev_carve_offset(rill_carver *c, size_t count, size_t size);

/* Sums of the lengths before each row, of each ragged space; the units and the longest input of the one that has most.
 *   RILL_OK · RILL_ERR_ARGUMENT */
rill_status dev_sum_lengths(dev_run *run, size_t *units, size_t *longest);

/* Where a block's spaces and indices lie, and how many rows they have at most; then what making them takes. */
void dev_lay_out_spaces(dev_run *run, rill_carver *c);
void dev_lay_out_work(dev_run *run, rill_carver *c);

/* --- index_space.c ------------------------------------------------------------------------------------------------------ */

/* Set a block's pointers into its scratch. */
void dev_block_open(dev_block *b, const dev_run *run, size_t thread);

/* Make a block of the places from `from` on, `end` excluded. Returns how many places it has. */
size_t dev_block_begin(dev_block *b, size_t from, size_t end);

const int32_t *dev_index_entries(dev_block *b, int32_t index);
rill_operand dev_operand_rows(dev_block *b, const dev_operand *operand);

/* The entry of the host's columns that belongs to a row: of the run's rows, or of all units of the ragged space. */
size_t dev_host_row(const dev_block *b, rill_index_space space, size_t row);

/* The rows from `first` on. */
static inline rill_operand dev_skip_rows(rill_operand rows, size_t first)
{
    if (rows.index != NULL)
        rows.index += first;
    else if (rows.data != NULL)
        rows.data += first * rows.ld;
    return rows;
}

/* --- ops.c, scan.c, best.c, mix.c --------------------------------------------------------------------------------- */

/* Bytes of scratch that an operation's products need, and bytes of work that it needs besides, in a block of the run. */
size_t dev_gemm_bytes(const dev_run *run, const dev_op *op);
size_t dev_op_work_bytes(const dev_run *run, const dev_op *op, size_t number);
size_t dev_scan_work_bytes(const dev_run *run, const dev_op *op);
size_t dev_best_work_bytes(const dev_run *run, const dev_op *op);
size_t dev_mix_work_bytes(const dev_run *run, const dev_op *op);

/* How far an attention's numbers for distances go. */
static inline size_t dev_reach(const rill_network *network, const rill_attend *o)
{
    return o->relative != 0 ? network->constant[o->relative - 1].width / 2 : 0;
}

/* Where the memories that a block's rows attend to lie. */
rill_attention dev_attention_memory(dev_block *b, const dev_op *op);

void dev_op_run(dev_block *b, const dev_op *op);
void dev_scan(dev_block *b, const dev_op *op);
void dev_best(dev_block *b, const dev_op *op);
void dev_mix(dev_block *b, const dev_op *op);

/* Rows of an operation that choose among the same symbols: all, or those next to each other that have one slot's list. */
typedef struct dev_group {
    dev_block *b;
    const dev_op *op;
    rill_index_space space;
    size_t first, rows, symbols;
    const int32_t *id;    /* [symbols] of a list, ascending; NULL: symbol v is action first_action + v */
    int32_t first_action; /* without a list */
    int32_t slot;         /* with one */
} dev_group;

/* Run `run` on an operation's groups, by the slots' lists or, with none, on all rows at once. Of `group` its block, operation, symbols
 * and first action are read. Rows of a slot without symbols have no choices, and nothing is run. */
void dev_for_each_group(dev_group group, rill_vocab_subset subset, void (*run)(const dev_group *));
/* Answer the picks of the group's rows: logp_of() gives that of the group's row r and the symbol (place in the list) v. */
typedef float (*dev_logp_fn)(const void *call, size_t r, size_t v);
void dev_fill_picks(const dev_group *group, dev_logp_fn get_logp, const void *call);
/* Set what is legal for the group's rows, with memory for work of at most so many bytes. */
void dev_set_group_legal(const dev_group *group, size_t *used, rill_best *best);
size_t dev_legal_bytes(const dev_run *run, size_t rows, size_t listed);
/* The best symbols of the group's rows, ids and logp [rows, ld], to the host as actions. */
void dev_write_choices(const dev_group *group, const int32_t *ids, const float *logp, size_t ld, const int32_t *counts);

/* Words for the run's legal sets by the operation's own symbols; 0: the host's serve. */
size_t dev_legal_words(const dev_run *run, const dev_op *op);
void dev_make_legal(const dev_run *run, const dev_op *op, uint64_t *legal);

/* Arrays out of the block's memory for operations' work, one behind the other; `used` begins at 0. */
static inline void *dev_alloc_work(const dev_block *b, size_t *used, size_t count, size_t size)
{
    char *array = b->scratch + b->run->layout.work_offset + *used;
    *used += dev_lines(count * size);
    return array;
}

/* A constant of one row, or its first row; NULL for none. */
static inline const float *dev_constant_row(const dev_run *run, rill_constant constant)
{
    return constant != 0 ? run->network->constant[constant - 1].data : NULL;
}

/* The list that a slot has. */
static inline const dev_slot_subset *dev_get_slot_subset(const dev_run *run, rill_vocab_subset subset, int32_t slot)
{
    return &run->session->subset[subset - 1].slot[slot];
}

/* How many rows from r on have the same slot. */
static inline size_t dev_count_same_slot(const int32_t *slot, size_t r, size_t rows)
{
    size_t n = 1;
    while (r + n < rows && slot[r + n] == slot[r]) n++;
    return n;
}

/* --- profile.c ---------------------------------------------------------------------------------------------------- */

/* Run an operation of a block and count what it costs. */
void dev_profile_op(dev_block *b, const dev_op *op);
/* Count an operation of a block that took so long. */
void dev_profile_count(dev_block *b, const dev_op *op, double seconds, uint64_t launches, double row_bytes);
/* Add up what the threads have counted. */
void dev_profile_sum(const dev_run *run);

#endif
