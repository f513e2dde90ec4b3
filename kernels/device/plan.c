/* Plans: what a device's programs are made of, from the first constant to the check at the end.
 *
 * Invariant: once a call has failed the plan keeps that failure, later calls do nothing, and all handles that they return are
 * negative; so a handle that is in range belongs to a plan that is sound so far.
 * Divisions: failures and arrays · weights and tables · programs · values' memory · the end. */
#include "module.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- failures and arrays ------------------------------------------------------------------------------------------ */

static int32_t keep_failure(rill_plan *plan, rill_status status, const char *format, va_list arguments)
{
    if (plan->status != RILL_OK) return -1;
    plan->status = status;
    vsnprintf(plan->message, sizeof plan->message, format, arguments);
    return -1;
}

int32_t dev_plan_fail(rill_plan *plan, rill_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    keep_failure(plan, status, format, arguments);
    va_end(arguments);
    return -1;
}

void dev_build_fail(const dev_builder *b, const char *format, ...)
{
    char what[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (b->op != NULL)
        dev_plan_fail(b->plan, RILL_ERR_ARGUMENT, "program %s, operation %zu (%s): %s", b->program->name,
                      b->program->ops, b->operation, what);
    else
        dev_plan_fail(b->plan, RILL_ERR_ARGUMENT, "program %s: %s: %s", b->program->name, b->operation, what);
}

int32_t dev_plan_more(rill_plan *plan, void **array, size_t *count, size_t *room, size_t size)
{
    if (plan->status != RILL_OK) return -1;
    if (plan->finished) return dev_plan_fail(plan, RILL_ERR_ARGUMENT, "the plan is finished: nothing can be added");
    if (*count >= INT32_MAX - 1) return dev_plan_fail(plan, RILL_ERR_ARGUMENT, "the plan has too many parts");
    if (rill_grow(plan->ctx, array, room, *count + 1, size, "a plan") != RILL_OK)
        return dev_plan_fail(plan, RILL_ERR_MEMORY, "%s", rill_error(plan->ctx));
    memset((char *)*array + *count * size, 0, size);
    return (int32_t)++ * count;
}

static void keep_name(char *to, const char *name)
{
    snprintf(to, DEV_NAME, "%s", name != NULL ? name : "");
}

rill_status rill_plan_open(rill_plan **out, rill_context *ctx, const rill_device *device)
{
    rill_plan *plan = *out = rill_calloc(ctx, 1, sizeof *plan);
    if (plan == NULL) return rill_fail_memory(ctx, sizeof *plan, "a plan");
    plan->ctx = ctx;
    plan->device = device;
    return RILL_OK;
}

static void clear_program(rill_context *ctx, dev_program *p)
{
    rill_free(ctx, p->space, p->space_room * sizeof *p->space);
    rill_free(ctx, p->column, p->column_room * sizeof *p->column);
    rill_free(ctx, p->value, p->value_room * sizeof *p->value);
    rill_free(ctx, p->buffer, p->buffer_room * sizeof *p->buffer);
    rill_free(ctx, p->index, p->index_room * sizeof *p->index);
    rill_free(ctx, p->path, p->path_room * sizeof *p->path);
    rill_free(ctx, p->op, p->op_room * sizeof *p->op);
    rill_free(ctx, p->expected, p->expected_room * sizeof *p->expected);
}

void rill_plan_close(rill_plan *plan)
{
    if (plan == NULL) return;
    rill_context *ctx = plan->ctx;
    if (plan->device->module != NULL) plan->device->module->plan_close(plan);
    for (size_t i = 0; i < plan->matrices; i++) rill_free(ctx, plan->matrix[i].memory, plan->matrix[i].bytes);
    for (size_t i = 0; i < plan->constants; i++) rill_free(ctx, plan->constant[i].memory, plan->constant[i].bytes);
    for (size_t i = 0; i < plan->programs; i++) clear_program(ctx, &plan->program[i]);
    rill_free(ctx, plan->constant, plan->constant_room * sizeof *plan->constant);
    rill_free(ctx, plan->matrix, plan->matrix_room * sizeof *plan->matrix);
    rill_free(ctx, plan->table, plan->table_room * sizeof *plan->table);
    rill_free(ctx, plan->list, plan->list_room * sizeof *plan->list);
    rill_free(ctx, plan->program, plan->program_room * sizeof *plan->program);
    rill_free(ctx, plan, sizeof *plan);
}

/* --- weights and tables ------------------------------------------------------------------------------------------- */

rill_constant rill_plan_constant(rill_plan *plan, const float *data, size_t rows, size_t width)
{
    size_t all;
    if (rows < 1 || width < 1 || rows > INT32_MAX || __builtin_mul_overflow(rows, width, &all) ||
        all > SIZE_MAX / sizeof *data)
        return dev_plan_fail(plan, RILL_ERR_ARGUMENT, "a constant of %zu x %zu floats cannot be", rows, width);
    if (data == NULL) return dev_plan_fail(plan, RILL_ERR_ARGUMENT, "a constant has no data");
    const int32_t handle = DEV_MORE(plan, plan, constant, constants, constant_room);
    if (handle > 0) plan->constant[handle - 1] = (dev_constant){.data = data, .rows = rows, .width = width};
    return handle;
}

rill_dtype dev_dtype(rill_weight_type type)
{
    if (type == RILL_WEIGHT_F32) return RILL_DTYPE_F32;
    return type == RILL_WEIGHT_INT8 ? RILL_DTYPE_U8S8 : RILL_DTYPE_BF16; /* f16 by its size: it is a GPU's */
}

static int check_type(rill_plan *plan, rill_weight_type type)
{
    if (type < RILL_WEIGHT_F32 || type > RILL_WEIGHT_F16)
        dev_plan_fail(plan, RILL_ERR_ARGUMENT, "weights of an unknown type, %d", (int)type);
    else if (type == RILL_WEIGHT_F16 && plan->device->module == NULL)
        dev_plan_fail(plan, RILL_ERR_OPTION,
                      "weights: the processor multiplies in f32, bf16 and int8: f16 is for GPUs");
    return plan->status == RILL_OK;
}

static int check_matrix(rill_plan *plan, size_t n, size_t k, const float *w, size_t stride)
{
    if (w != NULL && n >= 1 && k >= 1 && stride >= k && n <= INT32_MAX && k <= INT32_MAX) return 1;
    dev_plan_fail(plan, RILL_ERR_ARGUMENT, "a matrix of %zu x %zu, rows %zu apart, cannot be", n, k, stride);
    return 0;
}

/* The form in which kernels multiply by the matrix, whose sizes and dtype are set. */
static rill_status pack(rill_plan *plan, dev_matrix *matrix, const float *w, size_t stride)
{
    const size_t n = matrix->w.n, k = matrix->w.k, bytes = rill_gemm_pack_size(n, k, matrix->w.dtype);
    if (bytes == 0) dev_plan_fail(plan, RILL_ERR_FORMAT, "weights of %zu x %zu are too many", n, k);
    matrix->memory = bytes > 0 ? rill_alloc(plan->ctx, bytes) : NULL;
    if (matrix->memory == NULL) dev_plan_fail(plan, RILL_ERR_MEMORY, "no memory for weights of %zu x %zu", n, k);
    if (plan->status != RILL_OK) return plan->status;
    matrix->bytes = bytes;
    (void)rill_gemm_pack_f32(&matrix->w, n, k, w, stride, matrix->w.dtype,
                             matrix->memory); /* fails only for what has no size */
    return RILL_OK;
}

rill_matrix rill_plan_matrix(rill_plan *plan, rill_weight_type type, size_t n, size_t k, const float *w, size_t stride)
{
    if (plan->status != RILL_OK || !check_type(plan, type) || !check_matrix(plan, n, k, w, stride)) return -1;
    const int32_t handle = DEV_MORE(plan, plan, matrix, matrices, matrix_room);
    if (handle < 0) return handle;
    dev_matrix *matrix = &plan->matrix[handle - 1];
    const rill_dtype dtype = dev_dtype(type);
    const dev_module *module = plan->device->module;
    *matrix = (dev_matrix){.w = {.n = n, .k = k, .dtype = dtype}, .type = type};
    if (module != NULL) {
        module->matrix(plan, (size_t)handle - 1, w, stride);
        return plan->status == RILL_OK ? handle : -1;
    }
    if (pack(plan, matrix, w, stride) != RILL_OK) return -1;
    return handle;
}

/* [rows, n] of the plan's own; its floats are yet to be written. */
static rill_constant make_constant(rill_plan *plan, size_t rows, size_t n)
{
    size_t bytes;
    void *memory = NULL;
    if (!__builtin_mul_overflow(rows, n * sizeof(float), &bytes) && rows > 0) memory = rill_alloc(plan->ctx, bytes);
    if (memory == NULL) return dev_plan_fail(plan, RILL_ERR_MEMORY, "no memory for a product of %zu x %zu", rows, n);
    const rill_constant handle = rill_plan_constant(plan, memory, rows, n);
    if (handle > 0)
        plan->constant[handle - 1].memory = memory, plan->constant[handle - 1].bytes = bytes;
    else
        rill_free(plan->ctx, memory, bytes);
    return handle;
}

rill_constant rill_plan_product(rill_plan *plan, const float *a, size_t rows, size_t k, const float *w, size_t n,
                                size_t stride, const float *bias)
{
    dev_matrix matrix = {.w = {.n = n, .k = k, .dtype = RILL_DTYPE_F32}};
    if (plan->status != RILL_OK || !check_matrix(plan, n, k, w, stride) || pack(plan, &matrix, w, stride) != RILL_OK)
        return -1;
    const rill_constant out = make_constant(plan, rows, n);
    if (out > 0) {
        const rill_gemm gemm = {.w = &matrix.w,
                                .rows = rows,
                                .a = {.at = (float *)(uintptr_t)a, .ld = k},
                                .bias = bias,
                                .c = {.at = plan->constant[out - 1].memory, .ld = n}};
        plan->device->kernels.gemm(&gemm, NULL);
    }
    rill_free(plan->ctx, matrix.memory, matrix.bytes);
    return out;
}

rill_table rill_plan_table(rill_plan *plan, rill_table_kind kind, size_t width, const char *what)
{
    if (kind < RILL_TABLE_NODES || kind > RILL_TABLE_HOST || width < 1 || width > INT32_MAX)
        return dev_plan_fail(plan, RILL_ERR_ARGUMENT, "table %s: kind %d of width %zu cannot be", what, (int)kind,
                             width);
    const int32_t handle = DEV_MORE(plan, plan, table, tables, table_room);
    if (handle < 0) return handle;
    plan->table[handle - 1] = (dev_table){
        .kind = kind, .width = width, .ld = width < DEV_PAD ? width : dev_padded(width)};
    keep_name(plan->table[handle - 1].what, what);
    return handle;
}

/* Whether a handle names one of `count`; none, 0, does where it may be left out. */
static int check_handle(rill_plan *plan, int32_t handle, size_t count, int optional, const char *what)
{
    if (plan->status != RILL_OK) return 0;
    if (handle > 0 ? (size_t)handle <= count : handle == 0 && optional) return 1;
    dev_plan_fail(plan, RILL_ERR_ARGUMENT, "there is no %s %d", what, (int)handle);
    return 0;
}

rill_list rill_plan_list(rill_plan *plan, rill_constant rows, rill_constant bias, rill_weight_type type,
                         const char *what)
{
    if (!check_handle(plan, rows, plan->constants, 1, "constant") ||
        !check_handle(plan, bias, plan->constants, 1, "constant") || !check_type(plan, type))
        return -1;
    if (bias > 0 && (rows == 0 || plan->constant[bias - 1].rows != 1 ||
                     plan->constant[bias - 1].width != plan->constant[rows - 1].rows))
        return dev_plan_fail(plan, RILL_ERR_ARGUMENT, "list %s: its bias is not one row with an entry per symbol",
                             what);
    const int32_t handle = DEV_MORE(plan, plan, list, lists, list_room);
    if (handle < 0) return handle;
    plan->list[handle - 1] = (dev_list){.rows = rows, .bias = bias, .type = type, .dtype = dev_dtype(type)};
    keep_name(plan->list[handle - 1].what, what);
    return handle;
}

/* --- programs ----------------------------------------------------------------------------------------------------- */

rill_program rill_program_begin(rill_plan *plan, const char *name)
{
    const int32_t handle = DEV_MORE(plan, plan, program, programs, program_room);
    if (handle < 0) return handle;
    keep_name(plan->program[handle - 1].name, name);
    return handle;
}

static dev_program *program_at(rill_plan *plan, rill_program program)
{
    return check_handle(plan, program, plan->programs, 0, "program") ? &plan->program[program - 1] : NULL;
}

/* A builder of something that is no operation. */
static dev_builder builder_of(rill_plan *plan, dev_program *program, const char *what)
{
    return (dev_builder){.plan = plan, .program = program, .operation = what};
}

static int check_space(const dev_builder *b, rill_space space)
{
    if (b->plan->status != RILL_OK) return 0;
    if (space >= 0 && (size_t)space <= b->program->spaces) return 1;
    dev_build_fail(b, "there is no space %d", (int)space);
    return 0;
}

static rill_space add_space(rill_plan *plan, rill_program program, dev_space space, const char *what)
{
    dev_program *p = program_at(plan, program);
    if (p == NULL) return -1;
    const dev_builder b = builder_of(plan, p, what);
    if (!check_space(&b, space.of)) return -1;
    if (space.of != RILL_ROWS && p->space[space.of - 1].kind == DEV_DISTINCT) {
        dev_build_fail(&b, "nothing can be derived from a space of distinct values");
        return -1;
    }
    space.index = dev_column_index(&b, space.of, space.column, "the column");
    if (plan->status != RILL_OK) return -1;
    space.ragged = (int32_t)p->ragged;
    const int32_t handle = DEV_MORE(plan, p, space, spaces, space_room);
    if (handle < 0) return handle;
    p->space[handle - 1] = space;
    p->ragged += space.kind == DEV_RAGGED;
    return handle;
}

rill_space rill_space_where(rill_plan *plan, rill_program program, rill_space of, rill_column column)
{
    return add_space(plan, program, (dev_space){.kind = DEV_WHERE, .of = of, .column = column}, "a space by where");
}

rill_space rill_space_distinct(rill_plan *plan, rill_program program, rill_space of, rill_column column)
{
    return add_space(plan, program, (dev_space){.kind = DEV_DISTINCT, .of = of, .column = column},
                     "a space of distinct values");
}

rill_space rill_space_ragged(rill_plan *plan, rill_program program, rill_column length)
{
    return add_space(plan, program, (dev_space){.kind = DEV_RAGGED, .of = RILL_ROWS, .column = length},
                     "a ragged space");
}

rill_column rill_column_given(rill_plan *plan, rill_program program, rill_space of, const char *what)
{
    dev_program *p = program_at(plan, program);
    if (p == NULL) return -1;
    const dev_builder b = builder_of(plan, p, what);
    if (!check_space(&b, of)) return -1;
    if (of != RILL_ROWS && p->space[of - 1].kind != DEV_RAGGED) {
        dev_build_fail(&b, "columns are given for the run's rows or for units");
        return -1;
    }
    const int32_t handle = DEV_MORE(plan, p, column, columns, column_room);
    if (handle < 0) return handle;
    p->column[handle - 1] = (dev_column){.space = of};
    keep_name(p->column[handle - 1].what, what);
    return handle;
}

rill_value rill_value_make(rill_plan *plan, rill_program program, rill_space of, size_t width)
{
    dev_program *p = program_at(plan, program);
    if (p == NULL) return -1;
    const dev_builder b = builder_of(plan, p, "a value");
    if (!check_space(&b, of)) return -1;
    if (width < 1 || width > INT32_MAX) {
        dev_build_fail(&b, "%zu floats cannot be", width);
        return -1;
    }
    const int32_t handle = DEV_MORE(plan, p, value, values, value_room);
    if (handle > 0) p->value[handle - 1] = (dev_value){.space = of, .width = width, .first = -1, .last = -1};
    return handle;
}

void rill_program_expect(rill_plan *plan, rill_program program, rill_table table, rill_column slot)
{
    dev_program *p = program_at(plan, program);
    if (p == NULL || !check_handle(plan, table, plan->tables, 0, "table")) return;
    const dev_builder b = builder_of(plan, p, "what its successor reads");
    if (plan->table[table - 1].kind != RILL_TABLE_RAGGED) {
        dev_build_fail(&b, "table %s is not ragged", plan->table[table - 1].what);
        return;
    }
    const dev_expected expected = {.table = table - 1, .slot = dev_column_index(&b, RILL_ROWS, slot, "slot")};
    const int32_t handle = DEV_MORE(plan, p, expected, expecteds, expected_room);
    if (handle > 0) p->expected[handle - 1] = expected;
}

/* --- values' memory ----------------------------------------------------------------------------------------------- */

/* The buffer, of those free when the value is first written, that it makes least larger. */
static dev_buffer *find_buffer(dev_program *p, const dev_value *value)
{
    dev_buffer *best = NULL;
    for (size_t i = 0; i < p->buffers; i++) {
        dev_buffer *b = &p->buffer[i];
        if (b->space != value->space || b->list != value->list || b->last >= value->first) continue;
        if (best == NULL) best = b;
        const int fits = b->width >= value->width, fitted = best->width >= value->width;
        if (fits != fitted ? fits : fits ? b->width < best->width : b->width > best->width) best = b;
    }
    return best;
}

/* Values share memory where one is done with before another begins. */
static void place_values(rill_plan *plan, dev_program *p)
{
    for (int32_t at = 0; at < (int32_t)p->ops; at++) {
        for (size_t v = 0; v < p->values; v++) {
            dev_value *value = &p->value[v];
            if (value->first != at) continue;
            dev_buffer *buffer = find_buffer(p, value);
            if (buffer == NULL) {
                if (DEV_MORE(plan, p, buffer, buffers, buffer_room) < 0) return;
                buffer = &p->buffer[p->buffers - 1];
                *buffer = (dev_buffer){.space = value->space, .list = value->list};
            }
            if (buffer->width < value->width) buffer->width = value->width;
            buffer->last = value->last;
            value->buffer = (int32_t)(buffer - p->buffer);
        }
    }
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static void most(size_t *to, size_t n)
{
    if (n > *to) *to = n;
}

/* "product 512 x 128": outputs and inputs. */
static void name_op(const rill_plan *plan, dev_op *op)
{
    const char *word = dev_op_word(op->kind);
    const size_t size = sizeof op->name;
    if (op->kind == DEV_PRODUCT && op->as.product.list == 0) {
        const rill_weights *w = &plan->matrix[op->as.product.matrix - 1].w;
        snprintf(op->name, size, "%s %zu x %zu", word, w->n, w->k);
    } else if (op->kind == DEV_SCAN) {
        snprintf(op->name, size, "%s %zu", word, op->as.scan.hidden);
    } else if (op->kind == DEV_ATTEND) {
        snprintf(op->name, size, "%s %s", word, op->as.attend.path ? "path" : op->as.attend.own ? "own" : "slot");
    } else {
        snprintf(op->name, size, "%s", word);
    }
}

rill_status rill_plan_finish(rill_plan *plan)
{
    for (size_t i = 0; i < plan->programs && plan->status == RILL_OK; i++) {
        dev_program *p = &plan->program[i];
        place_values(plan, p);
        for (size_t at = 0; at < p->ops; at++) name_op(plan, &p->op[at]);
        most(&plan->most_indices, p->indices);
        most(&plan->most_values, p->buffers);
        most(&plan->most_spaces, p->spaces + 1);
        most(&plan->most_paths, p->paths);
    }
    if (plan->status != RILL_OK) return rill_fail(plan->ctx, plan->status, "%s", plan->message);
    const rill_status status = plan->device->module != NULL ? plan->device->module->finish(plan) : RILL_OK;
    plan->finished = status == RILL_OK;
    return status;
}

/* Of a list's symbol: its number and, where the list has them, its bias and its part of a strip of packed rows. */
static int64_t symbol_bytes(const rill_plan *plan, const dev_list *list)
{
    enum { STRIP = RILL_LIST_MORE + 1 };
    size_t bytes = sizeof(int32_t) + (list->bias != 0 ? sizeof(float) : 0);
    if (list->rows != 0 && plan->device->module == NULL)
        bytes += rill_gemm_pack_size(STRIP, plan->constant[list->rows - 1].width, list->dtype) / STRIP;
    return (int64_t)bytes;
}

rill_plan_bytes rill_plan_sizes(const rill_plan *plan)
{
    rill_plan_bytes bytes = {.slot = 2 * (int64_t)sizeof(int32_t)};
    int paths = 0;
    for (size_t i = 0; i < plan->programs; i++) paths |= plan->program[i].paths > 0;
    if (paths) bytes.node += (int64_t)sizeof(int32_t);
    for (size_t i = 0; i < plan->tables; i++) {
        const int64_t row = (int64_t)(plan->table[i].ld * sizeof(float));
        if (plan->table[i].kind == RILL_TABLE_NODES) bytes.node += row;
        if (plan->table[i].kind == RILL_TABLE_SLOTS) bytes.slot += row;
        if (plan->table[i].kind == RILL_TABLE_RAGGED) bytes.unit += row;
    }
    for (size_t i = 0; i < plan->lists; i++) bytes.symbol += symbol_bytes(plan, &plan->list[i]);
    if (plan->device->module != NULL) plan->device->module->add_sizes(plan, &bytes);
    return bytes;
}
