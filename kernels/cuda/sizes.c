/* What runs take at most beside tables, by row, by slot and by unit of a slot, so that a bound on memory holds for all of a runner.
 *
 * It follows run.c's layouts: values and work of all programs of a line are one region, as large as the largest wants; each program has
 * frames, one for each group, in pinned memory and on the device. Columns and the like are told roughly, and generously.
 * Rows of programs that run ahead are slots, all others are those of a timestep. A region takes whole granules of the device's memory: the
 * last of each is what a stream takes beside. */
#include "executor.h"

/* By rows of the run, and by units of ragged spaces. */
typedef struct bytes {
    size_t row, unit;
} bytes;

static bytes larger(bytes a, bytes b)
{
    return (bytes){a.row > b.row ? a.row : b.row, a.unit > b.unit ? a.unit : b.unit};
}

static bytes sum(bytes a, bytes b)
{
    return (bytes){a.row + b.row, a.unit + b.unit};
}

static bytes of_space(const dev_program *p, rill_space space, size_t each)
{
    while (space != RILL_ROWS && p->space[space - 1].kind != DEV_RAGGED) space = p->space[space - 1].of;
    return space == RILL_ROWS ? (bytes){.row = each} : (bytes){.unit = each};
}

static size_t symbols_of(const rill_plan *plan, rill_list list, size_t symbols)
{
    const rill_constant rows = list != 0 ? plan->list[list - 1].rows : 0;
    return rows != 0 && plan->constant[rows - 1].rows > symbols ? plan->constant[rows - 1].rows : symbols;
}

static const cuda_program *fused_of(const rill_plan *plan, const dev_program *p)
{
    return &((const cuda_plan *)plan->own)->program[p - plan->program];
}

static bytes values_of(const rill_plan *plan, const dev_program *p)
{
    bytes all = {0};
    for (size_t i = 0; i < p->buffers; i++) {
        const dev_buffer *b = &p->buffer[i];
        const size_t width = dev_padded(symbols_of(plan, b->list, b->width > 0 ? b->width : 1));
        all = sum(all, of_space(p, b->space, width * sizeof(float) + fused_of(plan, p)->rounded[i]));
    }
    return all;
}

/* For each row; M as large as one pass takes, or larger. */
static size_t choices_work(const rill_plan *plan, const dev_op *op)
{
    enum { MANY = 128 };
    const int mixes = op->kind == DEV_MIX;
    const int32_t symbols = (int32_t)symbols_of(plan, mixes ? op->as.mix.list[0] : op->as.best.list,
                                                (size_t)(mixes ? op->as.mix.symbols : op->as.best.symbols));
    const size_t few = gpu_best_work(1, symbols, MANY - 1), many = gpu_best_work(1, symbols, MANY);
    return (few > many ? few : many) + (size_t)(mixes ? op->as.mix.models : 0) * sizeof(float) + 16;
}

static bytes work_of(const rill_plan *plan, const dev_program *p)
{
    bytes panel = {0}, sums = {0}, choices = {0}, scan = {0};
    for (size_t i = 0; i < p->ops; i++) {
        const dev_op *op = &p->op[i];
        if (op->kind == DEV_PRODUCT && op->as.product.list == 0) {
            const cuda_fused *f = &fused_of(plan, p)->op[i];
            const size_t k = dev_padded((size_t)f->matrix.k), n = dev_padded((size_t)f->matrix.n);
            panel = larger(panel, of_space(p, op->space, f->read_rounded ? 0 : k * sizeof(float)));
            sums = larger(sums, of_space(p, op->space, f->whole ? 0 : n * sizeof(float)));
        } else if (op->kind == DEV_SCAN) {
            const size_t hidden = dev_padded(op->as.scan.hidden) * sizeof(float);
            panel = larger(panel, (bytes){.row = hidden});
            scan = larger(scan, (bytes){.row = 6 * hidden});
        } else if (op->kind == DEV_BEST || op->kind == DEV_MIX) {
            choices = larger(choices, of_space(p, op->space, choices_work(plan, op)));
        }
    }
    return sum(sum(panel, sums), sum(choices, scan));
}

/* Of attention over long memories: it has a bound of its own. */
static size_t part_of(const dev_program *p)
{
    size_t most = 0;
    for (size_t i = 0; i < p->ops; i++) {
        if (p->op[i].kind != DEV_ATTEND) continue;
        const rill_attend *o = &p->op[i].as.attend;
        const size_t part = gpu_attend_part(INT32_MAX, (int32_t)o->heads, (int32_t)o->value_width, INT32_MAX);
        most = part > most ? part : most;
    }
    return most * sizeof(float);
}

/* Pinned memory and its twin, which may have grown by half more than is wanted, of both groups. */
static bytes frames_of(const dev_program *p)
{
    enum { FRAMES = 2 * DEV_GROUPS, ANSWERS = 1024 };
    bytes each = {.row = 16 * (p->columns + p->indices + p->spaces + 2 * p->ops) + (p->selects ? ANSWERS : 0)};
    if (p->ragged > 0) each.unit = 16 * (p->columns + p->indices + p->spaces + 2 * p->ops);
    return (bytes){each.row * FRAMES * 3 / 2, each.unit * FRAMES * 3 / 2};
}

void cuda_add_sizes(const rill_plan *plan, rill_plan_bytes *out)
{
    bytes work[2] = {{0}}, frames[2] = {{0}}; /* of what decodes, of what runs ahead */
    size_t part[2] = {0};
    for (size_t i = 0; i < plan->programs; i++) {
        const dev_program *p = &plan->program[i];
        const int ahead = ((const cuda_plan *)plan->own)->program[i].ahead;
        work[ahead] = larger(work[ahead], sum(values_of(plan, p), work_of(plan, p)));
        frames[ahead] = sum(frames[ahead], frames_of(p));
        part[ahead] = part_of(p) > part[ahead] ? part_of(p) : part[ahead];
    }
    /* Rows of what is recorded are rounded up, by a quarter at the most from 8 rows on. */
    out->row = (int64_t)((work[0].row + frames[0].row) * 5 / 4);
    out->slot += (int64_t)(work[1].row + frames[1].row);
    const size_t regions = plan->tables + 1 + plan->lists + plan->programs * DEV_GROUPS + 2;
    out->stream = (int64_t)(regions * gpu_granule(plan->device->own) + part[0] + part[1]);
    if (plan->device->fast) out->stream += 2 * (int64_t)GPU_FAST_WORK;
    /* Ragged tables grow by half more than is wanted. */
    out->unit += out->unit / 2 + (int64_t)(work[0].unit + work[1].unit + frames[0].unit + frames[1].unit);
}
