/* Networks: constants, matrices, tables, graphs, and the final check.
 *
 * Invariant: a network keeps its first failure; later calls do nothing and return negative handles. */
#include "backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- failures and growing arrays ---------------------------------------------------------------------------------- */

int32_t dev_network_fail(rill_network *network, rill_status status, const char *format, ...)
{
    va_list arguments;
    if (network->status != RILL_OK) return -1;
    network->status = status;
    va_start(arguments, format);
    vsnprintf(network->message, sizeof network->message, format, arguments);
    va_end(arguments);
    return -1;
}

int32_t dev_build_fail(const dev_builder *b, const char *format, ...)
{
    char what[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (b->op == NULL)
        return dev_network_fail(b->network, RILL_ERR_ARGUMENT, "graph %s: %s: %s", b->graph->name, b->operation, what);
    return dev_network_fail(b->network, RILL_ERR_ARGUMENT, "graph %s, operation %zu (%s): %s", b->graph->name,
                            b->graph->n_ops, b->operation, what);
}

int dev_check_handle(const dev_builder *b, int32_t handle, size_t count, const char *kind, const char *what)
{
    if (b->network->status != RILL_OK) return 0;
    if (handle >= 1 && (size_t)handle <= count) return 1;
    dev_build_fail(b, "%s%s%s %d does not exist", what != NULL ? what : "", what != NULL ? ": " : "", kind,
                   (int)handle);
    return 0;
}

int dev_check_space(const dev_builder *b, rill_index_space space)
{
    return space == RILL_ROWS || dev_check_handle(b, space, b->graph->n_spaces, "index space", NULL);
}

int32_t dev_network_append(rill_network *network, void **array, size_t *count, size_t *capacity, size_t size)
{
    if (network->status != RILL_OK) return -1;
    if (network->finished)
        return dev_network_fail(network, RILL_ERR_ARGUMENT, "the network is finished: nothing can be added");
    if (*count >= INT32_MAX - 1) return dev_network_fail(network, RILL_ERR_ARGUMENT, "the network has too many parts");
    if (rill_grow(network->ctx, array, capacity, *count + 1, size, "a network") != RILL_OK)
        return dev_network_fail(network, RILL_ERR_MEMORY, "%s", rill_error(network->ctx));
    memset((char *)*array + *count * size, 0, size);
    *count += 1;
    return (int32_t)*count;
}

/* --- opening a network -------------------------------------------------------------------------------------------- */

static void keep_name(char *to, const char *name)
{
    snprintf(to, DEV_NAME, "%s", name != NULL ? name : "");
}

rill_status rill_network_open(rill_network **out, rill_context *ctx, const rill_device *device)
{
    rill_network *network = *out = rill_calloc(ctx, 1, sizeof *network);
    if (network == NULL) return rill_fail_memory(ctx, sizeof *network, "a network");
    network->ctx = ctx;
    network->device = device;
    return RILL_OK;
}

static void free_dev_graph(rill_context *ctx, dev_graph *p)
{
    rill_free(ctx, p->space, p->space_capacity * sizeof *p->space);
    rill_free(ctx, p->column, p->column_capacity * sizeof *p->column);
    rill_free(ctx, p->tensor, p->tensor_capacity * sizeof *p->tensor);
    rill_free(ctx, p->buffer, p->buffer_capacity * sizeof *p->buffer);
    rill_free(ctx, p->index, p->index_capacity * sizeof *p->index);
    rill_free(ctx, p->path, p->path_capacity * sizeof *p->path);
    rill_free(ctx, p->op, p->op_capacity * sizeof *p->op);
    rill_free(ctx, p->prefetch, p->prefetch_capacity * sizeof *p->prefetch);
}

void rill_network_close(rill_network *network)
{
    if (network == NULL) return;
    rill_context *ctx = network->ctx;
    network->device->backend->network_close(network);
    for (size_t i = 0; i < network->n_constants; i++)
        rill_free(ctx, network->constant[i].memory, network->constant[i].bytes);
    for (size_t i = 0; i < network->n_graphs; i++) free_dev_graph(ctx, &network->graph[i]);
    rill_free(ctx, network->constant, network->constant_capacity * sizeof *network->constant);
    rill_free(ctx, network->matrix, network->matrix_capacity * sizeof *network->matrix);
    rill_free(ctx, network->table, network->table_capacity * sizeof *network->table);
    rill_free(ctx, network->subset, network->subset_capacity * sizeof *network->subset);
    rill_free(ctx, network->graph, network->graph_capacity * sizeof *network->graph);
    rill_free(ctx, network, sizeof *network);
}

/* --- weights and tables ------------------------------------------------------------------------------------------- */

rill_constant rill_network_constant(rill_network *network, const float *data, size_t rows, size_t width)
{
    size_t all;
    if (rows < 1 || width < 1 || rows > INT32_MAX || __builtin_mul_overflow(rows, width, &all) ||
        all > SIZE_MAX / sizeof *data)
        return dev_network_fail(network, RILL_ERR_ARGUMENT, "a constant of %zu x %zu floats: invalid size", rows,
                                width);
    if (data == NULL) return dev_network_fail(network, RILL_ERR_ARGUMENT, "a constant has no data");
    const int32_t handle = DEV_APPEND(network, network, constant, n_constants, constant_capacity);
    if (handle > 0) network->constant[handle - 1] = (dev_constant){.data = data, .rows = rows, .width = width};
    return handle;
}

static int check_type(rill_network *network, rill_weight_type type)
{
    static const char *const names[] = {
        [RILL_WEIGHT_F32] = "f32", [RILL_WEIGHT_BF16] = "bf16", [RILL_WEIGHT_INT8] = "int8", [RILL_WEIGHT_F16] = "f16"};
    if (type < RILL_WEIGHT_F32 || type > RILL_WEIGHT_F16)
        dev_network_fail(network, RILL_ERR_ARGUMENT, "weights of an unknown type, %d", (int)type);
    else if ((network->device->backend->weight_types & 1u << type) == 0)
        dev_network_fail(network, RILL_ERR_OPTION, "weights: %s does not multiply in %s: use bf16 or f32",
                         network->device->name, names[type]);
    return network->status == RILL_OK;
}

static int check_matrix(rill_network *network, size_t n, size_t k, const float *w, size_t stride)
{
    if (w != NULL && n >= 1 && k >= 1 && stride >= k && n <= INT32_MAX && k <= INT32_MAX) return 1;
    dev_network_fail(network, RILL_ERR_ARGUMENT, "a matrix of %zu x %zu with a row stride of %zu: invalid", n, k,
                     stride);
    return 0;
}

rill_matrix rill_network_matrix(rill_network *network, rill_weight_type type, size_t n, size_t k, const float *w,
                                size_t stride)
{
    if (network->status != RILL_OK || !check_type(network, type) || !check_matrix(network, n, k, w, stride)) return -1;
    const int32_t handle = DEV_APPEND(network, network, matrix, n_matrices, matrix_capacity);
    if (handle < 0) return handle;
    network->matrix[handle - 1] = (dev_matrix){.n = n, .k = k, .type = type};
    network->device->backend->add_matrix(network, (size_t)handle - 1, w, stride);
    return network->status == RILL_OK ? handle : -1;
}

/* Make a constant of `rows` rows of n floats, which the network owns. Its values are uninitialised. */
static rill_constant make_constant(rill_network *network, size_t rows, size_t n)
{
    size_t bytes;
    void *memory = NULL;
    if (!__builtin_mul_overflow(rows, n * sizeof(float), &bytes) && rows > 0) memory = rill_alloc(network->ctx, bytes);
    if (memory == NULL)
        return dev_network_fail(network, RILL_ERR_MEMORY, "out of memory: a matrix product of %zu x %zu", rows, n);
    const rill_constant handle = rill_network_constant(network, memory, rows, n);
    if (handle > 0)
        network->constant[handle - 1].memory = memory, network->constant[handle - 1].bytes = bytes;
    else
        rill_free(network->ctx, memory, bytes);
    return handle;
}

rill_constant rill_network_product(rill_network *network, const float *a, size_t rows, size_t k, const float *w,
                                   size_t n, size_t stride, const float *bias)
{
    rill_weights weights;
    if (network->status != RILL_OK || !check_matrix(network, n, k, w, stride)) return -1;
    const size_t bytes = dev_weight_bytes(n, k, RILL_WEIGHT_F32);
    void *memory = bytes > 0 ? rill_alloc(network->ctx, bytes) : NULL;
    if (memory == NULL)
        return dev_network_fail(network, bytes > 0 ? RILL_ERR_MEMORY : RILL_ERR_FORMAT,
                                bytes > 0 ? "out of memory: weights of %zu x %zu" : "weights of %zu x %zu: too large",
                                n, k);
    /* packing can fail only if a size overflows */
    (void)rill_gemm_pack_f32(&weights, n, k, w, stride, RILL_DTYPE_F32, memory);
    const rill_constant out = make_constant(network, rows, n);
    if (out > 0) {
        const rill_gemm gemm = {.w = &weights,
                                .rows = rows,
                                .a = {.data = (float *)(uintptr_t)a, .ld = k},
                                .bias = bias,
                                .c = {.data = network->constant[out - 1].memory, .ld = n}};
        network->device->kernels.gemm(&gemm, NULL);
    }
    rill_free(network->ctx, memory, bytes);
    return out;
}

rill_table rill_network_table(rill_network *network, rill_table_kind kind, size_t width, const char *what)
{
    if (kind < RILL_TABLE_NODES || kind > RILL_TABLE_HOST || width < 1 || width > INT32_MAX)
        return dev_network_fail(network, RILL_ERR_ARGUMENT, "table %s: kind %d with a width of %zu: invalid", what,
                                (int)kind, width);
    const int32_t handle = DEV_APPEND(network, network, table, n_tables, table_capacity);
    if (handle < 0) return handle;
    network->table[handle - 1] = (dev_table){
        .kind = kind, .width = width, .ld = width < DEV_PAD ? width : dev_padded(width)};
    keep_name(network->table[handle - 1].name, what);
    return handle;
}

/* Check that a handle is in 1..count. If `optional`, 0 (none) is valid too. */
static int check_handle(rill_network *network, int32_t handle, size_t count, int optional, const char *what)
{
    if (network->status != RILL_OK) return 0;
    if (handle > 0 ? (size_t)handle <= count : handle == 0 && optional) return 1;
    dev_network_fail(network, RILL_ERR_ARGUMENT, "%s %d does not exist", what, (int)handle);
    return 0;
}

rill_vocab_subset rill_network_vocab_subset(rill_network *network, rill_constant rows, rill_constant bias,
                                            rill_weight_type type, const char *what)
{
    if (!check_handle(network, rows, network->n_constants, 1, "constant") ||
        !check_handle(network, bias, network->n_constants, 1, "constant") || !check_type(network, type))
        return -1;
    if (bias > 0 && (rows == 0 || network->constant[bias - 1].rows != 1 ||
                     network->constant[bias - 1].width != network->constant[rows - 1].rows))
        return dev_network_fail(network, RILL_ERR_ARGUMENT,
                                "vocabulary subset %s: its bias must be one row with an "
                                "entry per symbol",
                                what);
    const int32_t handle = DEV_APPEND(network, network, subset, n_subsets, subset_capacity);
    if (handle < 0) return handle;
    network->subset[handle - 1] = (dev_vocab_subset){.rows = rows, .bias = bias, .type = type};
    keep_name(network->subset[handle - 1].name, what);
    return handle;
}

/* --- graphs ------------------------------------------------------------------------------------------------------- */

rill_graph rill_graph_begin(rill_network *network, const char *name)
{
    const int32_t handle = DEV_APPEND(network, network, graph, n_graphs, graph_capacity);
    if (handle < 0) return handle;
    keep_name(network->graph[handle - 1].name, name);
    return handle;
}

/* Begin an index space or other part of a graph, with rows of `parent`. *b is for checks outside operations. what: name in messages.
 * Returns 0 if the graph or the index space does not exist. */
static int begin_part(dev_builder *b, rill_network *network, rill_graph graph, rill_index_space parent,
                      const char *what)
{
    if (!check_handle(network, graph, network->n_graphs, 0, "graph")) return 0;
    *b = (dev_builder){.network = network, .graph = &network->graph[graph - 1], .operation = what};
    return dev_check_space(b, parent);
}

static rill_index_space add_space(rill_network *network, rill_graph graph, dev_index_space space, const char *what)
{
    dev_builder b;
    if (!begin_part(&b, network, graph, space.parent, what)) return -1;
    dev_graph *p = b.graph;
    if (space.parent != RILL_ROWS && p->space[space.parent - 1].kind == DEV_SPACE_DISTINCT)
        return dev_build_fail(&b, "no index space can be derived from one of distinct values");
    space.index = dev_column_index(&b, space.parent, space.column, "the column");
    if (network->status != RILL_OK) return -1;
    space.ragged_index = (int32_t)p->n_ragged;
    const int32_t handle = DEV_APPEND(network, p, space, n_spaces, space_capacity);
    if (handle < 0) return handle;
    p->space[handle - 1] = space;
    p->n_ragged += space.kind == DEV_SPACE_RAGGED;
    return handle;
}

rill_index_space rill_index_space_where(rill_network *network, rill_graph graph, rill_index_space parent,
                                        rill_column column)
{
    return add_space(network, graph, (dev_index_space){.kind = DEV_SPACE_WHERE, .parent = parent, .column = column},
                     "a filtered index space");
}

rill_index_space rill_index_space_distinct(rill_network *network, rill_graph graph, rill_index_space parent,
                                           rill_column column)
{
    return add_space(network, graph, (dev_index_space){.kind = DEV_SPACE_DISTINCT, .parent = parent, .column = column},
                     "an index space of distinct values");
}

rill_index_space rill_index_space_ragged(rill_network *network, rill_graph graph, rill_column length)
{
    return add_space(network, graph, (dev_index_space){.kind = DEV_SPACE_RAGGED, .parent = RILL_ROWS, .column = length},
                     "a ragged index space");
}

rill_column rill_column_input(rill_network *network, rill_graph graph, rill_index_space parent, const char *what)
{
    dev_builder b;
    if (!begin_part(&b, network, graph, parent, what)) return -1;
    dev_graph *p = b.graph;
    if (parent != RILL_ROWS && p->space[parent - 1].kind != DEV_SPACE_RAGGED)
        return dev_build_fail(&b, "columns must belong to the run's rows or to units");
    const int32_t handle = DEV_APPEND(network, p, column, n_columns, column_capacity);
    if (handle < 0) return handle;
    p->column[handle - 1] = (dev_column){.space = parent};
    keep_name(p->column[handle - 1].name, what);
    return handle;
}

rill_tensor rill_tensor_make(rill_network *network, rill_graph graph, rill_index_space parent, size_t width)
{
    dev_builder b;
    if (!begin_part(&b, network, graph, parent, "a tensor")) return -1;
    dev_graph *p = b.graph;
    if (width < 1 || width > INT32_MAX) return dev_build_fail(&b, "%zu floats: invalid size", width);
    const int32_t handle = DEV_APPEND(network, p, tensor, n_tensors, tensor_capacity);
    if (handle > 0)
        p->tensor[handle - 1] = (dev_tensor){.space = parent, .width = width, .first_op = -1, .last_op = -1};
    return handle;
}

void rill_graph_prefetch(rill_network *network, rill_graph graph, rill_table table, rill_column slot)
{
    dev_builder b;
    if (!begin_part(&b, network, graph, RILL_ROWS, "the input of its successor") ||
        !check_handle(network, table, network->n_tables, 0, "table"))
        return;
    if (network->table[table - 1].kind != RILL_TABLE_RAGGED) {
        dev_build_fail(&b, "table %s is not ragged", network->table[table - 1].name);
        return;
    }
    const dev_prefetch expected = {.table = table - 1, .slot = dev_column_index(&b, RILL_ROWS, slot, "slot")};
    const int32_t handle = DEV_APPEND(network, b.graph, prefetch, n_prefetches, prefetch_capacity);
    if (handle > 0) b.graph->prefetch[handle - 1] = expected;
}

/* --- memory of tensors -------------------------------------------------------------------------------------------- */

/* Find a buffer that is free when the tensor is first written; of several, the one that must grow least. */
static dev_buffer *find_buffer(dev_graph *p, const dev_tensor *value)
{
    dev_buffer *best = NULL;
    for (size_t i = 0; i < p->n_buffers; i++) {
        dev_buffer *b = &p->buffer[i];
        if (b->space != value->space || b->subset != value->subset || b->last_op >= value->first_op) continue;
        if (best == NULL) best = b;
        const int fits = b->width >= value->width, fitted = best->width >= value->width;
        if (fits != fitted ? fits : fits ? b->width < best->width : b->width > best->width) best = b;
    }
    return best;
}

/* Assign a buffer to each tensor. Tensors share a buffer if their lifetimes do not overlap. */
static void assign_buffers(rill_network *network, dev_graph *p)
{
    for (int32_t op = 0; op < (int32_t)p->n_ops; op++) {
        for (size_t v = 0; v < p->n_tensors; v++) {
            dev_tensor *value = &p->tensor[v];
            if (value->first_op != op) continue;
            dev_buffer *buffer = find_buffer(p, value);
            if (buffer == NULL) {
                if (DEV_APPEND(network, p, buffer, n_buffers, buffer_capacity) < 0) return;
                buffer = &p->buffer[p->n_buffers - 1];
                *buffer = (dev_buffer){.space = value->space, .subset = value->subset};
            }
            if (buffer->width < value->width) buffer->width = value->width;
            buffer->last_op = value->last_op;
            value->buffer = (int32_t)(buffer - p->buffer);
        }
    }
}

/* --- finishing a network ------------------------------------------------------------------------------------------ */

/* Name an operation for profiles, for example "product 512 x 128": outputs x inputs. */
static void name_op(const rill_network *network, dev_op *op)
{
    const char *word = dev_op_name(op->kind);
    const size_t size = sizeof op->name;
    if (op->kind == RILL_OP_PRODUCT && op->as.product.vocab_subset == 0) {
        const dev_matrix *m = &network->matrix[op->as.product.matrix - 1];
        snprintf(op->name, size, "%s %zu x %zu", word, m->n, m->k);
    } else if (op->kind == RILL_OP_SCAN) {
        snprintf(op->name, size, "%s %zu", word, op->as.scan.hidden);
    } else if (op->kind == RILL_OP_ATTEND) {
        snprintf(op->name, size, "%s %s", word, op->as.attend.path ? "path" : op->as.attend.own_units ? "own" : "slot");
    } else {
        snprintf(op->name, size, "%s", word);
    }
}

rill_status rill_network_finish(rill_network *network)
{
    for (size_t i = 0; i < network->n_graphs && network->status == RILL_OK; i++) {
        dev_graph *p = &network->graph[i];
        assign_buffers(network, p);
        for (size_t i_op = 0; i_op < p->n_ops; i_op++) name_op(network, &p->op[i_op]);
    }
    if (network->status == RILL_OK && network->device->backend->finish != NULL)
        network->device->backend->finish(network);
    if (network->status != RILL_OK) return rill_fail(network->ctx, network->status, "%s", network->message);
    network->finished = 1;
    return RILL_OK;
}

rill_network_bytes rill_network_sizes(const rill_network *network)
{
    rill_network_bytes bytes = {.slot = 2 * (int64_t)sizeof(int32_t)};
    int paths = 0;
    for (size_t i = 0; i < network->n_graphs; i++) paths |= network->graph[i].n_paths > 0;
    if (paths) bytes.node += (int64_t)sizeof(int32_t);
    for (size_t i = 0; i < network->n_tables; i++) {
        const int64_t row = (int64_t)(network->table[i].ld * sizeof(float));
        if (network->table[i].kind == RILL_TABLE_NODES) bytes.node += row;
        if (network->table[i].kind == RILL_TABLE_SLOTS) bytes.slot += row;
        if (network->table[i].kind == RILL_TABLE_RAGGED) bytes.unit += row;
    }
    bytes.symbol = (int64_t)(network->n_subsets * sizeof(int32_t));
    network->device->backend->add_sizes(network, &bytes);
    return bytes;
}
