/* Fusions: what of a program is put into the queue in fewer launches, worked out when a plan is finished.
 *
 * Products whose sums are only added to, or cut off below zero, are one launch: cuBLASLt does that itself. Rows that products read in
 * bf16 or fp16 are rounded by the operation that writes them, as a panel, so that nothing is gathered for the product; and if nothing else
 * reads them they are not written in fp32 at all. Products of the same rows behind each other are one, where their weights lie so.
 *
 * A swish, a tanh or an exact GELU keeps its launch: products stand on both sides of it, and cuBLASLt does none of the three. Keys and
 * values keep theirs on the way to nodes: cuBLASLt writes rows in order, and nodes lie anywhere.
 *
 * Programs are straight lines, so what an operation has written is what is read until the value is written again.
 * Divisions: operands · rounding · products · all. */
#include "executor.h"

#include <string.h>

/* --- operands ----------------------------------------------------------------------------------------------------- */

/* Rows of a value of the operation's own space. */
static int is_plain(const dev_operand *o)
{
    return o->base == DEV_VALUE && o->index == DEV_NO_INDEX;
}

static size_t width_of(const rill_plan *plan, const dev_op *op)
{
    switch (op->kind) {
    case DEV_PRODUCT: return op->as.product.list == 0 ? plan->matrix[op->as.product.matrix - 1].w.n : 0;
    case DEV_NORMALISE: return op->as.normalise.width;
    case DEV_ACTIVATE: return op->as.activate.width;
    case DEV_EMBED: return op->as.embed.width;
    case DEV_SUM: return op->as.sum.width;
    case DEV_ATTEND: {
        const rill_attend *o = &op->as.attend;
        return gpu_attend_rounds(o->width, o->value_width, o->additive != 0) ? o->heads * o->width : 0;
    }
    default: return 0;
    }
}

/* The value that an operation writes all of, and can round; -1: there is none. */
static int32_t output_of(const rill_plan *plan, const dev_program *p, const dev_op *op)
{
    const size_t width = width_of(plan, op);
    const dev_operand *out = &op->view[op->kind == DEV_SUM ? DEV_SUM_OUT : DEV_OUT];
    return width > 0 && is_plain(out) && p->value[out->of].width == width ? out->of : -1;
}

/* --- rounding ----------------------------------------------------------------------------------------------------- */

/* The type in which a product reads all of a value, and nothing else; GPU_F32 for any other view. */
static gpu_type read_as(const cuda_plan *own, const dev_program *p, const dev_op *op, int view)
{
    if (op->kind != DEV_PRODUCT || view != DEV_A || op->as.product.list != 0 || op->as.product.k2 != 0) return GPU_F32;
    const gpu_matrix *m = &own->matrix[op->as.product.matrix - 1];
    return is_plain(&op->view[view]) && p->value[op->view[view].of].width == (size_t)m->k ? m->type : GPU_F32;
}

/* Follow the value that operation `at` writes to its readers, up to where it is written again. */
static void round_output(const rill_plan *plan, const dev_program *p, cuda_program *fused, size_t at)
{
    const int32_t value = output_of(plan, p, &p->op[at]);
    cuda_fused *from = &fused->op[at];
    int again = value < 0, kept = 0;
    for (size_t i = at + 1; i < p->ops && !again; i++)
        for (int view = 0; view < DEV_VIEWS; view++) {
            const dev_op *op = &p->op[i];
            if (op->view[view].base != DEV_VALUE || op->view[view].of != value) continue;
            if (op->view[view].written || op->kind == DEV_MASK) {
                again = 1;
                kept |= output_of(plan, p, op) != value; /* not all of it, so the rest stays */
                continue;
            }
            const gpu_type type = read_as(plan->own, p, op, view);
            if (type == GPU_F32 || (from->rounds != GPU_F32 && from->rounds != type)) {
                kept = 1;
                continue;
            }
            from->rounds = type;
            fused->op[i].read_rounded = 1;
        }
    if (from->rounds == GPU_F32) return;
    from->dropped = !kept;
    const dev_value *v = &p->value[value];
    const size_t bytes = dev_padded(v->width) * gpu_type_bytes(from->rounds);
    if (fused->rounded[v->buffer] < bytes) fused->rounded[v->buffer] = bytes;
}

/* --- products ----------------------------------------------------------------------------------------------------- */

/* Whether cuBLASLt can read or write n floats of each row there: rows in order, by 16 bytes where n is a multiple of 4. */
static int is_reachable(const dev_operand *o, size_t n)
{
    return is_plain(o) && (n % 4 != 0 || o->first % 4 == 0);
}

static void fuse_product(const dev_op *op, const cuda_plan *own, cuda_fused *f)
{
    const rill_product *o = &op->as.product;
    const dev_operand *add = &op->view[DEV_ADD], *out = &op->view[DEV_OUT];
    f->matrix = own->matrix[o->matrix - 1];
    const size_t n = (size_t)f->matrix.n;
    f->whole = f->rounds == GPU_F32 && (o->activation == RILL_LINEAR || o->activation == RILL_RELU) &&
               is_reachable(out, n) && (add->base == DEV_NOTHING || is_reachable(add, n));
    if (!f->whole) return;
    f->matrix.bias = o->bias != 0 ? own->constant[o->bias - 1] : NULL;
    f->matrix.relu = o->activation == RILL_RELU;
}

/* Products of the same rows, of which one is finished apart in any case, are one where their weights lie side by side. */
static void join(const dev_op *op, cuda_fused *f, const cuda_plan *own)
{
    const dev_op *next = op + 1;
    if (op->kind != DEV_PRODUCT || next->kind != DEV_PRODUCT || op->space != next->space) return;
    const rill_product *a = &op->as.product, *b = &next->as.product;
    if (f->done_before || a->list != 0 || b->list != 0 || (f[0].whole && f[1].whole)) return;
    if (f[0].rounds != GPU_F32 || f[1].rounds != GPU_F32 || a->activation != b->activation || a->k2 + b->k2 != 0)
        return;
    if (op->view[DEV_ADD].base != DEV_NOTHING || next->view[DEV_ADD].base != DEV_NOTHING) return;
    const dev_operand *x = &op->view[DEV_A], *out = &op->view[DEV_OUT], *out2 = &next->view[DEV_OUT];
    if (!is_plain(x) || !dev_same_operand(x, &next->view[DEV_A])) return;
    if (out->base == out2->base && out->of == out2->of) return; /* they may overlap */
    const gpu_matrix *m = &own->matrix[a->matrix - 1], *n = &own->matrix[b->matrix - 1];
    const size_t row = (size_t)m->k * gpu_type_bytes(m->type);
    if (m->type != n->type || m->k != n->k) return;
    if ((const char *)m->w + (size_t)m->n * row == n->w)
        f[0].with_next = 1;
    else if ((const char *)n->w + (size_t)n->n * row == m->w)
        f[0].with_next = -1;
    else
        return;
    f[0].matrix = f[0].with_next > 0 ? *m : *n;
    f[0].matrix.n = m->n + n->n;
    f[0].whole = f[1].whole = 0;
    f[1].done_before = 1;
}

static int is_alike(const gpu_matrix *a, const gpu_matrix *b)
{
    return a->n == b->n && a->k == b->k && a->type == b->type && a->relu == b->relu && !a->bias == !b->bias;
}

/* Products of a shape are all done alike. */
static void choose(rill_plan *plan, cuda_plan *own, gpu_matrix *m)
{
    char why[GPU_TEXT];
    for (size_t i = 0; i < plan->programs; i++)
        for (size_t at = 0; at < plan->program[i].ops; at++) {
            const gpu_matrix *other = &own->program[i].op[at].matrix;
            if (other == m && gpu_matrix_choose(plan->device->own, m, why) != 0)
                dev_plan_fail(plan, RILL_ERR_OPTION, "device: a product with %d x %d weights: %s", (int)m->n, (int)m->k,
                              why);
            if (other == m) return;
            if (!is_alike(other, m) || own->program[i].op[at].done_before) continue;
            memcpy(m->way, other->way, sizeof m->way);
            return;
        }
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static void fuse_program(rill_plan *plan, cuda_plan *own, const dev_program *p, cuda_program *fused)
{
    fused->op = rill_calloc(plan->ctx, p->ops + 1, sizeof *fused->op);
    fused->rounded = rill_calloc(plan->ctx, p->buffers + 1, sizeof *fused->rounded);
    fused->ops = p->ops + 1;
    fused->buffers = p->buffers + 1;
    if (fused->op == NULL || fused->rounded == NULL) {
        dev_plan_fail(plan, RILL_ERR_MEMORY, "no memory for a plan");
        return;
    }
    for (size_t i = 0; i < p->ops; i++) round_output(plan, p, fused, i);
    for (size_t i = 0; i < p->ops; i++) {
        const dev_op *op = &p->op[i];
        cuda_fused *f = &fused->op[i];
        if (op->kind == DEV_PRODUCT && op->as.product.list == 0) fuse_product(op, own, f);
        if (op->kind == DEV_SCAN) {
            const rill_constant bias = op->as.scan.recurrent_bias;
            f->matrix = own->matrix[op->as.scan.recurrent - 1];
            f->matrix.bias = bias != 0 ? own->constant[bias - 1] : NULL;
        }
    }
    for (size_t i = 0; i < p->ops && plan->status == RILL_OK; i++) {
        if (i + 1 < p->ops) join(&p->op[i], &fused->op[i], own);
        fused->op[i].matrix.fast = plan->device->fast;
        if (fused->op[i].matrix.w != NULL && !fused->op[i].done_before) choose(plan, own, &fused->op[i].matrix);
    }
}

void cuda_fuse(rill_plan *plan)
{
    cuda_plan *own = plan->own;
    own->program = rill_calloc(plan->ctx, plan->programs + 1, sizeof *own->program);
    own->programs = own->program != NULL ? plan->programs + 1 : 0;
    if (own->program == NULL) dev_plan_fail(plan, RILL_ERR_MEMORY, "no memory for a plan");
    for (size_t i = 0; i < plan->programs && plan->status == RILL_OK; i++)
        fuse_program(plan, own, &plan->program[i], &own->program[i]);
    if (plan->status == RILL_OK) cuda_choose_ahead(plan);
}

double cuda_fused_bytes(const cuda_run *r, const dev_op *op)
{
    const cuda_fused *f = cuda_fused_of(r, op);
    const double fp32 = sizeof(float), width = (double)width_of(r->inner.plan, op);
    double bytes = 0.0;
    if (f->done_before)
        bytes -= fp32 * (double)f->matrix.k; /* the one before has read the rows */
    else if (f->read_rounded)
        bytes -= (fp32 - (double)gpu_type_bytes(f->matrix.type)) * (double)f->matrix.k;
    if (f->rounds != GPU_F32) bytes += ((double)gpu_type_bytes(f->rounds) - (f->dropped ? fp32 : 0.0)) * width;
    return bytes;
}

void cuda_fused_free(rill_plan *plan)
{
    cuda_plan *own = plan->own;
    for (size_t i = 0; i < own->programs; i++) {
        cuda_program *fused = &own->program[i];
        rill_free(plan->ctx, fused->op, fused->ops * sizeof *fused->op);
        rill_free(plan->ctx, fused->rounded, fused->buffers * sizeof *fused->rounded);
    }
    rill_free(plan->ctx, own->program, own->programs * sizeof *own->program);
}
