/* Profiles as a table and as JSON; see report.h. The same operation in several layers of a transformer is one line. */

#include "report.h"

/* --- collecting the profile --------------------------------------------------------------------------------------- */

/* Add an operation's counters to its entry, or append an entry. Returns 0 if out of memory, else 1. */
static int add_operation(cli_profile *p, const rill_op_profile *op)
{
    int i = 0;
    while (i < p->n && (strcmp(p->op[i].program, op->program) || strcmp(p->op[i].operation, op->operation))) i++;
    if (i == p->n) {
        if (!cli_grow(&p->op, &p->capacity, (size_t)p->n + 1, sizeof *p->op)) return 0;
        p->op[p->n++] = *op;
        return 1;
    }
    rill_op_profile *sum = &p->op[i];
    sum->calls += op->calls;
    sum->rows += op->rows;
    sum->launches += op->launches;
    sum->seconds += op->seconds;
    sum->flops += op->flops;
    sum->bytes += op->bytes;
    return 1;
}

static rill_status pass_on_error(rill_context *ctx, rill_workers *workers, int32_t w, rill_status status)
{
    rill_context *own = rill_workers_context(workers, w);
    return status < 0 && own != ctx ? rill_fail(ctx, status, "%s", rill_error(own)) : status;
}

rill_status cli_profile_begin(rill_context *ctx, rill_workers *workers)
{
    for (int32_t w = 0; w < rill_workers_count(workers); w++) {
        rill_engine *engine = rill_workers_engine(workers, w);
        if (engine != NULL) TRY(pass_on_error(ctx, workers, w, rill_engine_profile(engine, 1)));
    }
    return RILL_OK;
}

rill_status cli_profile_take(cli_profile *p, rill_context *ctx, rill_workers *workers)
{
    rill_op_profile op;
    rill_status status = RILL_OK;
    if (p->limits.bytes <= 0)
        status = pass_on_error(ctx, workers, 0, rill_engine_limits(rill_workers_engine(workers, 0), &p->limits));
    for (int32_t w = 0; w < rill_workers_count(workers); w++) {
        const rill_engine *engine = rill_workers_engine(workers, w);
        for (int32_t i = 0; engine != NULL && status == RILL_OK && rill_engine_profile_row(engine, i, &op); i++)
            status = add_operation(p, &op) ? RILL_OK : rill_fail_memory(ctx, sizeof op, "the profile");
    }
    return status;
}

void cli_profile_end(cli_profile *p)
{
    free(p->op);
    *p = (cli_profile){0};
}

/* --- printing the profile ----------------------------------------------------------------------------------------- */

/* Return an amount (operations or bytes) per second, in billions. */
static double rate(double amount, double seconds)
{
    return seconds > 0 ? 1e-9 * amount / seconds : 0;
}

static int compare_operations(const void *a, const void *b)
{
    const rill_op_profile *x = a, *y = b;
    const int order = strcmp(x->program, y->program);
    if (order) return order;
    if (x->seconds != y->seconds) return x->seconds > y->seconds ? -1 : 1;
    return strcmp(x->operation, y->operation);
}

void cli_profile_print(const cli_profile *p, FILE *to)
{
    double all = 0;
    for (int i = 0; i < p->n; i++) all += p->op[i].seconds;
    if (p->n) qsort(p->op, (size_t)p->n, sizeof *p->op, compare_operations);
    cli_print_to(to, "%-8s %-22s %9s %11s %8s %6s %8s %7s %6s\n", "program", "operation", "calls", "rows", "seconds",
                 "time", "GFLOP/s", "GB/s", "limit");
    for (const rill_op_profile *op = p->op; op < p->op + p->n; op++)
        if (op->calls)
            cli_print_to(to, "%-8s %-22s %9lld %11lld %8.3f %5.1f%% %8.1f %7.1f %5.0f%%\n", op->program, op->operation,
                         (long long)op->calls, (long long)op->rows, op->seconds, all > 0 ? 100 * op->seconds / all : 0,
                         rate(op->flops, op->seconds), rate(op->bytes, op->seconds),
                         100 * rill_profile_share(op, &p->limits));
    if (!(p->limits.bytes > 0)) {
        cli_print_to(to, "seconds: each operation is waited for, so the sum exceeds a normal run. limit: unknown for "
                         "this device.\n");
        return;
    }
    cli_print_to(to,
                 "seconds: summed over threads. limit: share of the peak of one thread of this machine:\n"
                 "%.1f GFLOP/s in fp32, %.1f in bf16, %.1f in int8, %.1f GB/s from memory; above 100 %% data come from "
                 "caches.\n",
                 1e-9 * p->limits.flops[RILL_ARITHMETIC_F32], 1e-9 * p->limits.flops[RILL_ARITHMETIC_BF16],
                 1e-9 * p->limits.flops[RILL_ARITHMETIC_INT8], 1e-9 * p->limits.bytes);
}

static const char *const arithmetic_names[] = {
    [RILL_ARITHMETIC_F32] = "f32", [RILL_ARITHMETIC_BF16] = "bf16", [RILL_ARITHMETIC_INT8] = "int8"};

static json_t *op_json(const rill_op_profile *op, const rill_limits *limits)
{
    return json_pack("{s:s,s:s,s:I,s:I,s:I,s:f,s:f,s:f,s:s,s:f,s:f,s:f}", "program", op->program, "operation",
                     op->operation, "calls", (json_int_t)op->calls, "rows", (json_int_t)op->rows, "launches",
                     (json_int_t)op->launches, "seconds", op->seconds, "flops", op->flops, "bytes", op->bytes,
                     "arithmetic", arithmetic_names[op->arithmetic], "gflops_per_second", rate(op->flops, op->seconds),
                     "gbytes_per_second", rate(op->bytes, op->seconds), "share_of_limit",
                     rill_profile_share(op, limits));
}

json_t *cli_profile_json(const cli_profile *p)
{
    json_t *operations = json_array();
    for (int i = 0; i < p->n; i++) json_array_append_new(operations, op_json(&p->op[i], &p->limits));
    return json_pack("{s:{s:f,s:f,s:f,s:f},s:o}", "limits_per_thread", "f32_flops",
                     p->limits.flops[RILL_ARITHMETIC_F32], "bf16_flops", p->limits.flops[RILL_ARITHMETIC_BF16],
                     "int8_flops", p->limits.flops[RILL_ARITHMETIC_INT8], "bytes", p->limits.bytes, "operations",
                     operations);
}
