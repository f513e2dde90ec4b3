/* Upper bound on a session's memory besides tables, per row, input and input token, for the engine's memory limit.
 *
 * The sizes follow the layouts of cuda_run.c. Graphs of a CUDA stream share one region, sized for the largest. A graph has one frame
 * (memory of a run) per micro-batch. */
#include "executor.h"

/* Bytes per row of a run, and per token of its inputs. */
typedef struct row_unit_bytes {
    size_t row, unit;
} row_unit_bytes;

static row_unit_bytes max_bytes(row_unit_bytes a, row_unit_bytes b)
{
    return (row_unit_bytes){a.row > b.row ? a.row : b.row, a.unit > b.unit ? a.unit : b.unit};
}

static row_unit_bytes sum_bytes(row_unit_bytes a, row_unit_bytes b)
{
    return (row_unit_bytes){a.row + b.row, a.unit + b.unit};
}

static row_unit_bytes space_bytes(const dev_graph *p, rill_index_space space, size_t each)
{
    while (space != RILL_ROWS && p->space[space - 1].kind != DEV_SPACE_RAGGED) space = p->space[space - 1].parent;
    return space == RILL_ROWS ? (row_unit_bytes){.row = each} : (row_unit_bytes){.unit = each};
}

static size_t max_row_symbols(const rill_network *network, rill_vocab_subset subset, size_t symbols)
{
    const rill_constant rows = subset != 0 ? network->subset[subset - 1].rows : 0;
    return rows != 0 && network->constant[rows - 1].rows > symbols ? network->constant[rows - 1].rows : symbols;
}

static const cuda_fused_graph *get_fused_graph(const rill_network *network, const dev_graph *p)
{
    return &((const cuda_network *)network->data)->graph[p - network->graph];
}

static row_unit_bytes tensor_bytes(const rill_network *network, const dev_graph *p)
{
    row_unit_bytes all = {0};
    for (size_t i = 0; i < p->n_buffers; i++) {
        const dev_buffer *b = &p->buffer[i];
        const size_t width = dev_padded(max_row_symbols(network, b->subset, b->width > 0 ? b->width : 1));
        all = sum_bytes(
            all, space_bytes(p, b->space, width * sizeof(float) + get_fused_graph(network, p)->rounded_bytes[i]));
    }
    return all;
}

/* Bytes per row for M = 127, the largest M of the one-pass kernel, or M = 128, whichever needs more. */
static size_t choices_work_bytes(const rill_network *network, const dev_op *op)
{
    enum { MANY = 128 };
    const int32_t symbols = (int32_t)max_row_symbols(network, dev_op_subset(op), op->width);
    const size_t models = op->kind == RILL_OP_MIX ? op->n_views : 0;
    const size_t few = gpu_best_work_bytes(1, symbols, MANY - 1), many = gpu_best_work_bytes(1, symbols, MANY);
    return (few > many ? few : many) + models * sizeof(float) + 16;
}

static row_unit_bytes graph_work_bytes(const rill_network *network, const dev_graph *p)
{
    row_unit_bytes panel = {0}, sums = {0}, choices = {0}, scan = {0};
    for (size_t i = 0; i < p->n_ops; i++) {
        const dev_op *op = &p->op[i];
        if (op->kind == RILL_OP_PRODUCT && op->as.product.vocab_subset == 0) {
            const cuda_fused_op *f = &get_fused_graph(network, p)->op[i];
            const size_t k = dev_padded((size_t)f->matrix.k), n = dev_padded((size_t)f->matrix.n);
            panel = max_bytes(panel, space_bytes(p, op->space, f->input_rounded ? 0 : k * sizeof(float)));
            sums = max_bytes(sums, space_bytes(p, op->space, f->single_launch ? 0 : n * sizeof(float)));
        } else if (op->kind == RILL_OP_SCAN) {
            const size_t hidden = dev_padded(op->as.scan.hidden) * sizeof(float);
            panel = max_bytes(panel, (row_unit_bytes){.row = hidden});
            scan = max_bytes(scan, (row_unit_bytes){.row = 6 * hidden});
        } else if (dev_makes_choices(op)) {
            choices = max_bytes(choices, space_bytes(p, op->space, choices_work_bytes(network, op)));
        }
    }
    return sum_bytes(sum_bytes(panel, sums), sum_bytes(choices, scan));
}

/* Bytes in which attention keeps partial results for long lists of keys; they have an upper bound for any number of rows. */
static size_t attention_part_bytes(const dev_graph *p)
{
    size_t max = 0;
    for (size_t i = 0; i < p->n_ops; i++) {
        if (p->op[i].kind != RILL_OP_ATTEND) continue;
        const rill_attend *o = &p->op[i].as.attend;
        const size_t part = gpu_attend_part_floats(INT32_MAX, (int32_t)o->heads, (int32_t)o->value_width, INT32_MAX);
        max = part > max ? part : max;
    }
    return max * sizeof(float);
}

/* Bytes of a graph's frames: pinned memory and its device copy, for two micro-batches, plus a half because frames
 * grow by half. */
static row_unit_bytes frame_bytes(const dev_graph *p)
{
    enum { FRAMES = 2 * DEV_GROUPS, ANSWERS = 1024 };
    row_unit_bytes each = {.row = 16 * (p->n_columns + p->n_indices + p->n_spaces + 2 * p->n_ops) +
                                  (p->has_selection ? ANSWERS : 0)};
    if (p->n_ragged > 0) each.unit = 16 * (p->n_columns + p->n_indices + p->n_spaces + 2 * p->n_ops);
    return (row_unit_bytes){each.row * FRAMES * 3 / 2, each.unit * FRAMES * 3 / 2};
}

void cuda_add_sizes(const rill_network *network, rill_network_bytes *out)
{
    row_unit_bytes work[2] = {{0}}, frames[2] = {{0}}; /* bytes of [0] decoding graphs, [1] encoder graphs */
    size_t part[2] = {0};
    for (size_t i = 0; i < network->n_graphs; i++) {
        const dev_graph *p = &network->graph[i];
        const int is_fill = ((const cuda_network *)network->data)->graph[i].is_fill;
        work[is_fill] = max_bytes(work[is_fill], sum_bytes(tensor_bytes(network, p), graph_work_bytes(network, p)));
        frames[is_fill] = sum_bytes(frames[is_fill], frame_bytes(p));
        part[is_fill] = attention_part_bytes(p) > part[is_fill] ? attention_part_bytes(p) : part[is_fill];
    }
    /* Runs that may be captured round their number of rows up, by at most a quarter from 8 rows on. */
    out->row = (int64_t)((work[0].row + frames[0].row) * 5 / 4);
    out->slot += (int64_t)(work[1].row + frames[1].row);
    const size_t regions = network->n_tables + 1 + network->n_subsets + network->n_graphs * DEV_GROUPS + 2;
    out->session = (int64_t)(regions * gpu_granule_bytes(network->device->data) + part[0] + part[1]);
    if (network->device->fast) out->session += 2 * (int64_t)GPU_FAST_WORK;
    /* A table with one row per token grows by half, so its capacity may be 1.5 times what it needs. */
    out->unit += out->unit / 2 + (int64_t)(work[0].unit + work[1].unit + frames[0].unit + frames[1].unit);
}
