/* Indices of operands on the device: the operand's row for each row of an operation.
 *
 * Indices known when a run starts are uploaded. Indices in columns that the run writes are computed on the device. */
#include "executor.h"

/* --- indices that a graph computes -------------------------------------------------------------------------------- */

int cuda_is_written(const dev_graph *p, int32_t index)
{
    if (index == DEV_NO_INDEX) return 0;
    const dev_index *i = &p->index[index];
    switch (i->kind) {
    case DEV_INDEX_COLUMN: return i->b > 0;
    case DEV_INDEX_UNIT: return cuda_is_written(p, i->b);
    case DEV_INDEX_RAGGED: return cuda_is_written(p, i->a) || cuda_is_written(p, i->b);
    default: return 0;
    }
}

/* --- indices made on the host ------------------------------------------------------------------------------------- */

/* Return the number of the column entry that the index reads for row `row` of its index space. */
static int32_t column_entry(const cuda_run *r, const dev_index *i, size_t row)
{
    const rill_index_space column_space = r->graph->column[i->a].space;
    return (int32_t)dev_host_row(&r->block, column_space, dev_ancestor_row(&r->block, i->space, row, column_space));
}

/* Store the inputs from which the device computes the index, in the array that becomes the index. */
static void make_base(cuda_run *r, const dev_index *i, int32_t *out)
{
    const size_t rows = r->block.rows[i->space];
    const int32_t *slot = i->kind == DEV_INDEX_RAGGED && !cuda_is_written(r->graph, i->a)
                              ? dev_index_entries(&r->block, i->a)
                              : NULL;
    const int32_t *unit = i->kind == DEV_INDEX_RAGGED && slot == NULL && !cuda_is_written(r->graph, i->b)
                              ? dev_index_entries(&r->block, i->b)
                              : NULL;
    for (size_t row = 0; row < rows; row++) {
        if (i->kind == DEV_INDEX_COLUMN) out[row] = column_entry(r, i, row);
        if (i->kind == DEV_INDEX_UNIT)
            out[row] = r->block.child_row[i->a][dev_ancestor_row(&r->block, i->space, row, RILL_ROWS)];
        if (slot != NULL) out[row] = r->session->first[slot[row]];
        if (unit != NULL) out[row] = unit[row];
    }
}

void cuda_make_indices(cuda_run *r)
{
    const dev_graph *p = r->graph;
    for (size_t i = 0; i < p->n_indices; i++) {
        int32_t *index_entries = (int32_t *)(void *)(r->frame->pinned + r->host_run.layout.index_offset[i]);
        if (cuda_is_written(p, (int32_t)i))
            make_base(r, &p->index[i], index_entries);
        else
            r->index[i] = cuda_device_ptr(r, dev_index_entries(&r->block, (int32_t)i));
    }
}

/* --- indices made on the device ----------------------------------------------------------------------------------- */

/* An index into a ragged table: a slot's first row plus a token's number. args->out holds the part that the host knows. */
static void enqueue_ragged(cuda_run *r, const dev_index *i, gpu_index *args)
{
    const int32_t *base = args->out;
    if (!cuda_is_written(r->graph, i->a)) {
        args->column = r->index[i->b];
        args->base = base;
        return;
    }
    args->column = r->index[i->a];
    args->lookup = cuda_device_ptr(r, r->slot_first);
    args->base = cuda_is_written(r->graph, i->b) ? r->index[i->b] : base;
}

void cuda_enqueue_index(cuda_run *r, int32_t index)
{
    const dev_graph *p = r->graph;
    if (index == DEV_NO_INDEX || r->index[index] != NULL) return;
    const dev_index *i = &p->index[index];
    gpu_index args = {.rows = cuda_rows(r, i->space),
                      .out = cuda_device_ptr(r, r->frame->pinned + r->host_run.layout.index_offset[index])};
    r->index[index] = args.out;
    if (i->kind == DEV_INDEX_COLUMN) {
        args.column = cuda_device_ptr(r, r->column[i->a]);
        args.entry = args.out;
    } else {
        if (i->kind == DEV_INDEX_RAGGED) cuda_enqueue_index(r, i->a);
        cuda_enqueue_index(r, i->b);
        args.column = r->index[i->b];
        args.base = args.out;
        if (i->kind == DEV_INDEX_RAGGED) enqueue_ragged(r, i, &args);
    }
    gpu_run_index(r->cu_stream, &args);
}
