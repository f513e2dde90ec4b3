/* The CPU as a device. Private to it.
 *
 * Pool threads claim spans of a run's rows, and compute a span's blocks in order. All blocks share one layout of scratch memory.
 * Invariant: a row's results depend on that row alone. */
#pragma once

#include <stdatomic.h>

#include "backend.h"

/* Data of a CPU device (rill_device.data): sizes that tests set; 0: the default. Rows per block, rows per span, and attention weights
 * (floats) at a time. */
typedef struct cpu_device {
    size_t block_rows, span_rows, max_attention_weights;
} cpu_device;

/* Data of a matrix (dev_matrix.data) or of an input's vocabulary subset (dev_slot_subset.data), with packed weights and biases in one
 * allocation. */
typedef struct cpu_weights {
    rill_weights w;
    float *bias;  /* biases of the subset's symbols; NULL: there are none */
    size_t bytes; /* size of the allocation in bytes */
} cpu_weights;

/* the CPU's data of a session (rill_session.data) */
typedef struct cpu_session {
    rill_pool *pool; /* pool of the session's threads; NULL: there is one thread */
    void *pool_memory;
    size_t pool_bytes;
    void **table;     /* [tables + 1] rows of each table; the last one has the parent of each hypothesis state */
    char *run_memory; /* memory of the arrays of the current run */
    char *scratch;    /* working memory of the blocks that run at the same time; also used to pack weights */
    size_t run_memory_capacity, scratch_capacity;
    atomic_flag *scratch_busy; /* [threads] 1: a thread uses this part of `scratch`; 0: the part is free */
} cpu_session;

typedef struct cpu_run {
    dev_run d;
    cpu_session *cpu;
    const rill_kernels *kernels;
    /* [spans + 1] for each span (range of rows of one thread), the position in the run of its first row */
    size_t *span_begin;
    size_t n_spans;
    size_t *path_entries; /* [paths] number of entries (nodes) for which a block has memory */
    int parallel_ops; /* 1: there is a single span, and each operation uses the thread pool; 0: threads run whole spans */
    /* layout of a thread's scratch memory: offset of the GEMMs' memory, offset of other memory, total bytes */
    size_t gemm_offset, work_offset, bytes;
    char *scratch;
} cpu_run;

typedef struct cpu_block {
    dev_block d;
    const cpu_run *run;
    rill_pool *pool; /* threads for the operations of this block; NULL: it runs on one thread */
    char *scratch;
    size_t thread; /* number of the scratch memory that the block uses, and of the profile's counters */
} cpu_block;

/* --- memory of a block's operations ------------------------------------------------------------------------------- */

/* Return the rows of an operand in a block, in the form that kernels take. */
static inline rill_operand cpu_operand(cpu_block *b, const dev_operand *o)
{
    /* address of a table without rows: NULL would mean that the operand is absent */
    static const float nothing[DEV_PAD];
    const cpu_run *run = b->run;
    if (o->base == DEV_BASE_NONE) return (rill_operand){.data = NULL};
    rill_operand rows = {.index = dev_index_entries(&b->d, o->index)};
    if (o->base == DEV_BASE_TENSOR) {
        const int32_t buffer = run->d.graph->tensor[o->element].buffer;
        rows.data = (float *)(void *)(b->scratch + run->d.layout.tensor_offset[buffer]);
        rows.ld = run->d.layout.tensor_ld[buffer];
    } else if (o->base == DEV_BASE_TABLE) {
        rows.data = run->cpu->table[o->element];
        rows.ld = run->d.network->table[o->element].ld;
        if (rows.data == NULL)
            return (rill_operand){.data = (float *)(uintptr_t)nothing, .ld = rows.ld, .index = rows.index};
    } else if (o->base == DEV_BASE_CONSTANT) {
        rows.data = (float *)(uintptr_t)run->d.network->constant[o->element].data;
        rows.ld = o->index != DEV_NO_INDEX ? run->d.network->constant[o->element].width : 0;
    }
    rows.data += o->first;
    return rows;
}

/* Return the operand without its first `first` rows. */
static inline rill_operand cpu_skip_rows(rill_operand rows, size_t first)
{
    if (rows.index != NULL)
        rows.index += first;
    else if (rows.data != NULL)
        rows.data += first * rows.ld;
    return rows;
}

/* Allocate an array in the block's working memory. *used: bytes allocated so far; an operation sets it to 0 when it starts. */
static inline void *cpu_alloc_work(const cpu_block *b, size_t *used, size_t count, size_t size)
{
    char *array = b->scratch + b->run->work_offset + *used;
    *used += dev_lines(count * size);
    return array;
}

/* Return the first row of a constant; NULL if the handle is 0 (none). */
static inline const float *cpu_constant_row(const cpu_run *run, rill_constant constant)
{
    return constant != 0 ? run->d.network->constant[constant - 1].data : NULL;
}

static inline const rill_weights *cpu_matrix(const cpu_run *run, rill_matrix matrix)
{
    return &((const cpu_weights *)run->d.network->matrix[matrix - 1].data)->w;
}

/* Return the vocabulary subset of an input. cpu_slot_weights() returns its weights, if the subset has weights. */
static inline const dev_slot_subset *cpu_slot_subset(const cpu_run *run, rill_vocab_subset subset, int32_t slot)
{
    return dev_get_subset(run->d.session, (size_t)subset - 1, slot);
}
static inline const cpu_weights *cpu_slot_weights(const cpu_run *run, rill_vocab_subset subset, int32_t slot)
{
    return cpu_slot_subset(run, subset, slot)->data;
}

/* Return how many adjacent rows, from r on, have the same slot. */
static inline size_t cpu_count_same_slot(const int32_t *slot, size_t r, size_t rows)
{
    size_t n = 1;
    while (r + n < rows && slot[r + n] == slot[r]) n++;
    return n;
}

/* --- defined in cpu_ops.c ----------------------------------------------------------------------------------------- */

/* Return the bytes that an operation on one block needs: for its GEMMs (cpu_gemm_bytes), and for its other working memory
 * (cpu_op_work_bytes). */
size_t cpu_gemm_bytes(const cpu_run *run, const dev_op *op);
size_t cpu_op_work_bytes(const cpu_run *run, const dev_op *op, size_t number);
void cpu_op_run(cpu_block *b, const dev_op *op);

/* --- defined in cpu_choices.c ------------------------------------------------------------------------------------- */

size_t cpu_choices_work_bytes(const cpu_run *run, const dev_op *op);
void cpu_best(cpu_block *b, const dev_op *op);
void cpu_mix(cpu_block *b, const dev_op *op);
