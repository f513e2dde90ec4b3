/* check_kernels.c: `check_kernels OP ISA [--bench] [--rounds N] [--seed N]`.
 *
 * OP is one of the operations below or "all"; ISA is a name of rill_isa_name(). An instruction set that this processor
 * lacks is skipped with exit code 77. --bench times the calls that the checks make, instead of checking. */
#include "kernel_check.h"

const check_op check_ops[] = {
    {"table", check_table, NULL},     {"pool", check_pool, bench_pool},
    {"gemm", check_gemm, bench_gemm}, {"lstm", check_lstm, bench_lstm},
    {"gru", check_gru, NULL},         {"attention", check_attention, bench_attention},
    {"best", check_best, bench_best}, {"rows", check_rows, bench_rows},
    {"math", check_math, bench_math}, {NULL, NULL, NULL},
};

/* The table must have the requested instruction set, under every mask, and no NULL. */
void check_table(check *c)
{
    for (rill_isa_mask mask = 0; mask < 128; mask++) {
        rill_kernels k;
        rill_kernels_init(&k, mask);
        EXPECT(c, (k.isa & ~(mask & rill_cpu_isa())) == 0, "mask %u gives sets %u", mask, k.isa);
        EXPECT(c, k.name && k.gemm && k.attention && k.best && k.exp, "mask %u leaves a hole", mask);
#define EXPECT_KERNEL(OPERATION, ...) EXPECT(c, k.rows[RILL_OP_##OPERATION].run, "mask %u leaves a hole", mask);
        RILL_ROW_OPERATIONS(EXPECT_KERNEL)
    }
    const char *highest = "none";
    rill_isa_mask named_isa = 0;
    for (size_t i = 0; rill_isa_name(i); i++) {
        const char *const name = rill_isa_name(i);
        rill_kernels k;
        EXPECT(c, rill_isa_by_name(name, &named_isa) == 0, "%s is no name", name);
        rill_kernels_init(&k, named_isa);
        const int supported = (named_isa & ~rill_cpu_isa()) == 0;
        EXPECT(c, (strcmp(k.name, name) == 0) == supported && (k.isa == named_isa) == supported, "%s gives %s", name,
               k.name);
        if (supported) highest = name;
    }
    rill_kernels all;
    rill_kernels_init(&all, RILL_ISA_ALL);
    EXPECT(c, !strcmp(all.name, highest), "all sets give %s, the highest there is is %s", all.name, highest);
    EXPECT(c, rill_isa_by_name("sse", &named_isa) != 0 && !rill_isa_name(64), "a name that there is not");
}

static rill_pool *make_pool(unsigned threads)
{
    void *mem = aligned_alloc(64, rill_pool_size(threads));
    rill_pool *pool = mem ? rill_pool_init(mem, threads) : NULL;
    if (!pool) {
        fprintf(stderr, "no pool of %u threads\n", threads);
        exit(1);
    }
    return pool;
}

static int usage(void)
{
    fputs("usage: check_kernels OP ISA [--bench] [--rounds N] [--seed N]\n", stderr);
    return 2;
}

static int run(check *c, int bench)
{
    int known = 0;
    for (const check_op *op = check_ops; op->name; op++) {
        if (strcmp(c->op, "all") != 0 && strcmp(c->op, op->name) != 0) continue;
        known = 1;
        if (bench && op->bench) op->bench(c);
        if (!bench) op->run(c);
        buffers_finish(c);
    }
    if (!known) return usage();
    if (!bench) printf("ok %s %s\n", c->op, c->isa);
    return 0;
}

int main(int argc, char **argv)
{
    check c = {.dice = 1, .rounds = 60, .what = "no case yet"};
    rill_isa_mask mask = RILL_ISA_ALL;
    int bench = 0;
    if (argc < 3) return usage();
    c.op = argv[1];
    c.isa = argv[2];
    if (rill_isa_by_name(c.isa, &mask) != 0) return usage();
    for (int i = 3; i < argc; i++) {
        if (!strcmp(argv[i], "--bench"))
            bench = 1;
        else if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
            c.rounds = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            c.dice = strtoull(argv[++i], NULL, 10);
        else
            return usage();
    }
    rill_kernels_init(&c.k, mask);
    if (strcmp(c.k.name, c.isa) != 0) {
        printf("skipped: this processor has no %s\n", c.isa);
        return 77;
    }
    c.pool[0] = make_pool(2);
    c.pool[1] = make_pool(3);
    const int rc = run(&c, bench);
    for (int i = 0; i < 2; i++) {
        rill_pool_finish(c.pool[i]);
        free(c.pool[i]);
    }
    return rc;
}
