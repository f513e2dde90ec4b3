/* Indices: which rows operands are, on the device.
 *
 * Most follow from what the host knows when a run begins, and go down with its columns. Those that follow from a column that the run
 * itself writes are made on the device, when an operation first asks; what they are made of goes down in their place.
 * Divisions: which ones · on the host · on the device. */
#include "executor.h"

/* --- which ones --------------------------------------------------------------------------------------------------- */

int cuda_is_written(const dev_program *p, int32_t index)
{
    if (index == DEV_NO_INDEX) return 0;
    const dev_index *i = &p->index[index];
    switch (i->kind) {
    case DEV_COLUMN: return i->b > 0;
    case DEV_UNIT: return cuda_is_written(p, i->b);
    case DEV_IN: return cuda_is_written(p, i->a) || cuda_is_written(p, i->b);
    default: return 0;
    }
}

/* --- on the host -------------------------------------------------------------------------------------------------- */

/* The entry of the column that belongs to a row of the index' space. */
static int32_t entry_of(const cuda_run *r, const dev_index *i, size_t row)
{
    const rill_space given = r->program->column[i->a].space;
    for (rill_space at = i->space; at != given; at = dev_space_at(r->program, at)->of)
        row = (size_t)r->block.up[at][row];
    return (int32_t)dev_host_row(&r->block, given, row);
}

static int32_t first_unit_of(const cuda_run *r, const dev_index *i, size_t row)
{
    for (rill_space at = i->space; at != RILL_ROWS; at = dev_space_at(r->program, at)->of)
        row = (size_t)r->block.up[at][row];
    return r->block.place[i->a][row];
}

/* What the device adds to, or finds its entries by: in the array that will be the index. */
static void make_base(cuda_run *r, const dev_index *i, int32_t *out)
{
    const size_t rows = r->block.rows[i->space];
    const int32_t *slot = i->kind == DEV_IN && !cuda_is_written(r->program, i->a) ? dev_index_at(&r->block, i->a)
                                                                                  : NULL;
    const int32_t *unit = i->kind == DEV_IN && slot == NULL && !cuda_is_written(r->program, i->b)
                              ? dev_index_at(&r->block, i->b)
                              : NULL;
    for (size_t row = 0; row < rows; row++) {
        if (i->kind == DEV_COLUMN) out[row] = entry_of(r, i, row);
        if (i->kind == DEV_UNIT) out[row] = first_unit_of(r, i, row);
        if (slot != NULL) out[row] = r->stream->first[slot[row]];
        if (unit != NULL) out[row] = unit[row];
    }
}

void cuda_make_indices(cuda_run *r)
{
    const dev_program *p = r->program;
    for (size_t i = 0; i < p->indices; i++) {
        int32_t *own = (int32_t *)(void *)(r->frame->pinned + r->inner.layout.index_at[i]);
        if (cuda_is_written(p, (int32_t)i))
            make_base(r, &p->index[i], own);
        else
            r->index[i] = cuda_twin(r, dev_index_at(&r->block, (int32_t)i));
    }
}

/* --- on the device ------------------------------------------------------------------------------------------------ */

/* Slots that were written number first rows themselves; then units, the host's or written ones, are added. */
static void queue_in(cuda_run *r, const dev_index *i, gpu_index *args)
{
    const int32_t *base = args->out;
    if (!cuda_is_written(r->program, i->a)) {
        args->column = r->index[i->b];
        args->base = base;
        return;
    }
    args->column = r->index[i->a];
    args->of = cuda_twin(r, r->slot_first);
    args->base = cuda_is_written(r->program, i->b) ? r->index[i->b] : base;
}

void cuda_queue_index(cuda_run *r, int32_t index)
{
    const dev_program *p = r->program;
    if (index == DEV_NO_INDEX || r->index[index] != NULL) return;
    const dev_index *i = &p->index[index];
    gpu_index args = {.rows = cuda_rows(r, i->space),
                      .out = cuda_twin(r, r->frame->pinned + r->inner.layout.index_at[index])};
    r->index[index] = args.out;
    if (i->kind == DEV_COLUMN) {
        args.column = cuda_twin(r, r->column[i->a]);
        args.at = args.out;
    } else {
        if (i->kind == DEV_IN) cuda_queue_index(r, i->a);
        cuda_queue_index(r, i->b);
        args.column = r->index[i->b];
        args.base = args.out;
        if (i->kind == DEV_IN) queue_in(r, i, &args);
    }
    gpu_run_index(r->queue, &args);
}
