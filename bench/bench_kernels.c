/* bench_kernels.c: each kernel against this machine's limits.
 *
 * usage: bench_kernels [--quick] [--isa SET] [--json FILE] [SECTION...]
 *   sets: the names of rill_isa_name(), such as ref, avx2, neon; by default the best
 *   sections: limits gemm hot weights bf16 best cell pool; all by default. `limits` always runs: percentages need it.
 *
 * Method: the machine's multiply-add peak and its read rates from L1, L2 and L3 are measured first, on one thread, and the
 * roofline of a product with M rows is min(peak, M/2 flops per byte of weights times the read rate of the cache that holds
 * the weights). Weights rotate over 12 MB, so that each call finds its matrix in L3 as a decoder's layer does ("gemm"), or
 * stay in a nearer cache ("hot": a small model's). Samples are short, 50 us or one call, and many: on a quiet machine the
 * median is the figure; on a shared one only the fastest sample is reproducible. Both are printed; the share of the
 * roofline is the fastest's. One thread unless the line says 2.
 *
 * Sections: clock and records, limits, gemm, weights, bf16, best, cell, pool, main. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels.h"
#include "machine.h"
#include "unfused.h"
#if defined(RILL_HAVE_ONEDNN)
#include "onednn_gemm.h"
#endif

#define ROTATE_BYTES ((size_t)12 << 20)
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- clock and records ----------------------------------------------------------------------------------- */

typedef struct timing {
    double median, fastest; /* seconds per call */
} timing;

typedef struct bench {
    rill_kernels k;
    int quick;
    double peak, l1, l2, l3; /* peak in GFLOP/s; read rates in GB/s */
    FILE *json;
    int records;
} bench;

typedef void (*call_fn)(void *arg);

/* Take samples of at least 50 us for about 0.25 s (--quick: 0.03), at least 7 and at most MAX_SAMPLES of them. */
#define MAX_SAMPLES 5000

static timing measure(const bench *b, call_fn fn, void *arg)
{
    static double sample[MAX_SAMPLES];
    const double budget = b->quick ? 0.03 : 0.25;
    size_t calls = 1, n = 0;
    double begin;
    fn(arg); /* warm-up */
    for (;; calls *= 2) {
        begin = now();
        for (size_t i = 0; i < calls; i++) fn(arg);
        if (now() - begin > 5e-5) break;
    }
    const double start = now();
    while (n < MAX_SAMPLES && (n < 7 || now() - start < budget)) {
        begin = now();
        for (size_t i = 0; i < calls; i++) fn(arg);
        sample[n++] = (now() - begin) / (double)calls;
    }
    qsort(sample, n, sizeof *sample, ascending);
    return (timing){sample[n / 2], sample[0]};
}

/* Write a JSON object for a measurement: its name, its parameters as text, and numbers. */
static void record_timing(bench *b, const char *op, const char *parameters, const char *unit, double median,
                          double fastest)
{
    if (!b->json) return;
    fprintf(b->json, "%s\n    {\"op\": \"%s\", %s, \"unit\": \"%s\", \"median\": %.6g, \"fastest\": %.6g}",
            b->records++ ? "," : "", op, parameters, unit, median, fastest);
}

static void *alloc_buffer(size_t bytes)
{
    void *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!p) {
        fputs("bench_kernels: out of memory\n", stderr);
        exit(1);
    }
    memset(p, 0, bytes);
    return p;
}

static float *fill_random(size_t n, float scale)
{
    static uint32_t state = 12345;
    float *x = alloc_buffer(n * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int j = 0; j < 4; j++) sum += (float)((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-24f - 0.5f;
        x[i] = scale * 1.7320508f * sum;
    }
    return x;
}

/* ---- limits ---------------------------------------------------------------------------------------------- */

static void read_buffer(void *loop)
{
    ((rill_peak_loop *)loop)->run(loop);
}

/* Return the rate in GB/s of repeated reads of `bytes`. The fastest sample counts, since it is the machine's limit. */
static double read_rate(bench *b, const char *name, size_t bytes)
{
    void *data = alloc_buffer(bytes);
    rill_peak_loop loop = rill_peak_loop_read(data, bytes);
    const timing t = measure(b, read_buffer, &loop);
    char text[64];
    snprintf(text, sizeof text, "\"bytes\": %zu", bytes);
    printf("  read %-3s %6zu KB  %7.1f GB/s (median %.1f)\n", name, bytes / 1024, 1e-9 * (double)bytes / t.fastest,
           1e-9 * (double)bytes / t.median);
    record_timing(b, "read", text, "GB/s", 1e-9 * (double)bytes / t.median, 1e-9 * (double)bytes / t.fastest);
    free(data);
    return 1e-9 * (double)bytes / t.fastest;
}

static void run_limits(bench *b)
{
    rill_peak_loop multiply = rill_peak_loop_fma(b->k.isa, RILL_DTYPE_F32);
    const timing t = measure(b, read_buffer, &multiply);
    const double flops = multiply.work;
    b->peak = 1e-9 * flops / t.fastest;
    printf("limits, 1 thread\n  multiply-add %s  %7.1f GFLOP/s (median %.1f)\n", b->k.name, b->peak,
           1e-9 * flops / t.median);
    record_timing(b, "multiply-add", "\"threads\": 1", "GFLOP/s", 1e-9 * flops / t.median, b->peak);
    b->l1 = read_rate(b, "L1", (size_t)16 << 10);
    b->l2 = read_rate(b, "L2", (size_t)512 << 10);
    b->l3 = read_rate(b, "L3", ROTATE_BYTES);
    read_rate(b, "RAM", (size_t)192 << 20);
    printf("  roofline for M rows: min(%.0f, %.1f M) GFLOP/s with weights in L3, min(%.0f, %.1f M) in L2\n\n", b->peak,
           b->l3 / 2, b->peak, b->l2 / 2);
}

/* ---- gemm ------------------------------------------------------------------------------------------------ */

static const char *const dtype_names[] = {"f32", "bf16", "int8"};
static const size_t row_counts[] = {1, 5, 10, 20, 50, 100, 250, 640};

/* A layer: `copies` weight matrices of one shape, which calls use in turn. */
typedef struct layer {
    const rill_kernels *k;
    rill_pool *pool;
    rill_dtype dtype;
    size_t m, n, kk, copies, turn;
    float **plain, *a, *c; /* plain[i]: [N, K] weights of copy i */
    rill_weights *packed;
    void *scratch;
#if defined(RILL_HAVE_ONEDNN)
    rill_onednn_matmul *matmul;
#endif
} layer;

static layer layer_new(const bench *b, size_t k, size_t n, size_t copies, rill_dtype dtype)
{
    layer l = {.k = &b->k,
               .dtype = dtype,
               .n = n,
               .kk = k,
               .copies = copies,
               .a = fill_random(640 * k, 1.0f),
               .c = alloc_buffer(640 * n * sizeof(float))};
    l.plain = alloc_buffer(copies * sizeof *l.plain);
    l.packed = alloc_buffer(copies * sizeof *l.packed);
    for (size_t i = 0; i < copies; i++) {
        l.plain[i] = fill_random(n * k, 0.1f);
        rill_gemm_pack_f32(&l.packed[i], n, k, l.plain[i], k, dtype, alloc_buffer(rill_gemm_pack_size(n, k, dtype)));
    }
    l.scratch = alloc_buffer(rill_gemm_scratch_size(&l.packed[0], SIZE_MAX) + 1);
    return l;
}

static void layer_free(layer *l)
{
    for (size_t i = 0; i < l->copies; i++) {
        free(l->plain[i]);
        free((void *)(uintptr_t)l->packed[i].data);
    }
    free(l->plain);
    free(l->packed);
    free(l->scratch);
    free(l->a);
    free(l->c);
}

static void call_own(void *arg)
{
    layer *l = arg;
    const rill_weights *w = &l->packed[l->turn++ % l->copies];
    l->k->gemm(&(rill_gemm){.w = w, .rows = l->m, .a = {l->a, l->kk}, .c = {l->c, l->n}, .scratch = l->scratch},
               l->pool);
}

#if defined(RILL_HAVE_ONEDNN)
static void call_sgemm(void *arg)
{
    layer *l = arg;
    rill_onednn_sgemm(l->m, l->n, l->kk, l->a, l->plain[l->turn++ % l->copies], l->c);
}

static void call_matmul(void *arg)
{
    layer *l = arg;
    rill_onednn_matmul_run(l->matmul, l->turn++ % l->copies, l->a, l->c);
}
#endif

static double rate(const layer *l, double seconds)
{
    return 2e-9 * (double)(l->m * l->n * l->kk) / seconds;
}

static timing measure_gemm(bench *b, layer *l, const char *who, call_fn fn, int threads)
{
    char text[160];
    const timing t = measure(b, fn, l), r = {rate(l, t.median), rate(l, t.fastest)};
    snprintf(
        text, sizeof text,
        "\"who\": \"%s\", \"weights\": \"%s\", \"m\": %zu, \"k\": %zu, \"n\": %zu, \"copies\": %zu, \"threads\": %d",
        who, dtype_names[l->dtype], l->m, l->kk, l->n, l->copies, threads);
    record_timing(b, "gemm", text, "GFLOP/s", r.median, r.fastest);
    return r;
}

/* Print a table: for each M rill's rate and its share of the roofline, then oneDNN's rate. `sums`, unless NULL: add
 * logarithms by M, for the mean over shapes. */
static void run_layer(bench *b, layer *l, double read, double sums[COUNT(row_counts)][4])
{
    printf("  K=%zu N=%zu, %zu matrices of %zu KB\n", l->kk, l->n, l->copies, l->n * l->kk * 4 / 1024);
    for (size_t i = 0; i < COUNT(row_counts); i++) {
        l->m = row_counts[i];
        const double roof = fmin(b->peak, read / 2 * (double)l->m);
        const timing own = measure_gemm(b, l, "rill", call_own, 1);
        printf("    M=%-4zu %6.1f (%3.0f %%)  best %6.1f (%3.0f %%)", l->m, own.median, 100 * own.median / roof,
               own.fastest, 100 * own.fastest / roof);
        sums[i][0] += log(own.median), sums[i][1] += log(own.fastest);
#if defined(RILL_HAVE_ONEDNN)
        l->matmul = rill_onednn_matmul_create(l->m, l->n, l->kk, RILL_DTYPE_F32, (const float *const *)l->plain,
                                              l->copies);
        const timing sgemm = measure_gemm(b, l, "onednn sgemm", call_sgemm, 1);
        const timing matmul = l->matmul ? measure_gemm(b, l, "onednn packed", call_matmul, 1) : (timing){1e-9, 1e-9};
        rill_onednn_matmul_destroy(l->matmul);
        printf("   oneDNN sgemm %6.1f, packed %6.1f best %6.1f", sgemm.median, matmul.median, matmul.fastest);
        sums[i][2] += log(sgemm.fastest), sums[i][3] += log(matmul.fastest);
#endif
        putchar('\n');
    }
}

static void print_means(bench *b, double read, double sums[COUNT(row_counts)][4], size_t shapes)
{
    printf("  geometric mean over shapes (GFLOP/s, share of roofline)\n");
    for (size_t i = 0; i < COUNT(row_counts); i++) {
        const double roof = fmin(b->peak, read / 2 * (double)row_counts[i]);
        const double median = exp(sums[i][0] / (double)shapes), fastest = exp(sums[i][1] / (double)shapes);
        char text[64];
        printf("    M=%-4zu median %6.1f (%3.0f %%)  best %6.1f (%3.0f %%)", row_counts[i], median, 100 * median / roof,
               fastest, 100 * fastest / roof);
#if defined(RILL_HAVE_ONEDNN)
        printf("   oneDNN best: sgemm %6.1f, packed %6.1f", exp(sums[i][2] / (double)shapes),
               exp(sums[i][3] / (double)shapes));
#endif
        snprintf(text, sizeof text, "\"m\": %zu, \"roofline\": %.1f", row_counts[i], roof);
        record_timing(b, "gemm mean", text, "GFLOP/s", median, fastest);
        putchar('\n');
    }
    putchar('\n');
}

static void run_gemm(bench *b)
{
    static const size_t shapes[][2] = {{512, 512}, {512, 1536}, {512, 2048}, {2048, 512}, {1024, 1024}, {256, 1024}};
    double sums[COUNT(row_counts)][4] = {{0}};
    printf("gemm, weights from L3, 1 thread (GFLOP/s)\n");
    for (size_t i = 0; i < COUNT(shapes); i++) {
        layer l = layer_new(b, shapes[i][0], shapes[i][1], ROTATE_BYTES / (shapes[i][0] * shapes[i][1] * 4),
                            RILL_DTYPE_F32);
        run_layer(b, &l, b->l3, sums);
        layer_free(&l);
    }
    print_means(b, b->l3, sums, COUNT(shapes));
}

static void run_cached_gemm(bench *b)
{
    static const size_t shapes[][2] = {{128, 512}, {200, 800}, {400, 200}, {200, 200}, {200, 100}, {128, 150}};
    double sums[COUNT(row_counts)][4] = {{0}};
    printf("hot: gemm, weights where they were, 1 thread (GFLOP/s; roofline with L2)\n");
    for (size_t i = 0; i < COUNT(shapes); i++) {
        layer l = layer_new(b, shapes[i][0], shapes[i][1], 1, RILL_DTYPE_F32);
        run_layer(b, &l, b->l2, sums);
        layer_free(&l);
    }
    print_means(b, b->l2, sums, COUNT(shapes));
}

/* ---- weights --------------------------------------------------------------------------------------------- */

#if defined(RILL_HAVE_ONEDNN)
static double measure_peer(bench *b, layer *l)
{
    l->matmul = rill_onednn_matmul_create(l->m, l->n, l->kk, l->dtype, (const float *const *)l->plain, l->copies);
    if (!l->matmul) return NAN;
    const timing t = measure_gemm(b, l, "onednn packed", call_matmul, 1);
    rill_onednn_matmul_destroy(l->matmul);
    return t.fastest;
}
#endif

/* Compare the same matrices stored as fp32, bf16 and int8, of `bytes` in fp32. rill's int8 time includes quantising,
 * oneDNN's does not. */
static void run_stored(bench *b, const char *where, size_t k, size_t n, size_t bytes)
{
    layer l[3];
    for (int d = 0; d < 3; d++) l[d] = layer_new(b, k, n, bytes / (k * n * 4), (rill_dtype)d);
    printf("  K=%zu N=%zu, %zu matrices from %s\n", k, n, l[0].copies, where);
    for (size_t i = 0; i < 6; i++) {
        timing own[3];
        for (int d = 0; d < 3; d++) {
            l[d].m = row_counts[i];
            own[d] = measure_gemm(b, &l[d], "rill", call_own, 1);
        }
        printf("    M=%-3zu best: f32 %6.1f, bf16 %6.1f (x%.2f), int8 %6.1f (x%.2f); median x%.2f, x%.2f",
               row_counts[i], own[0].fastest, own[1].fastest, own[1].fastest / own[0].fastest, own[2].fastest,
               own[2].fastest / own[0].fastest, own[1].median / own[0].median, own[2].median / own[0].median);
#if defined(RILL_HAVE_ONEDNN)
        const double f32 = measure_peer(b, &l[0]), bf16 = measure_peer(b, &l[1]), int8 = measure_peer(b, &l[2]);
        printf("   oneDNN packed f32 %6.1f, bf16 %6.1f, int8 %6.1f", f32, bf16, int8);
#endif
        putchar('\n');
    }
    for (int d = 0; d < 3; d++) layer_free(&l[d]);
}

static void run_weights(bench *b)
{
    printf("weights: fp32, bf16 and int8, 1 thread (GFLOP/s)\n");
    run_stored(b, "L3", 512, 512, ROTATE_BYTES);
    run_stored(b, "L3", 512, 2048, ROTATE_BYTES);
    run_stored(b, "memory", 512, 2048, (size_t)256 << 20);
    putchar('\n');
}

/* ---- bf16 ------------------------------------------------------------------------------------------------ */

/* Return the CPU seconds of this thread, so that time taken by other programs does not count. */
static double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Time one shape in three ways, in turn, until each has had about 0.75 s (--quick: 0.1) and 5 samples: fp32; bf16
 * widened to fp32; bf16 multiplied as bf16. Writes the fastest sample of each, in seconds per call. */
static void compare_bf16(bench *b, layer *way[3], double fastest[3])
{
    const double begin = now(), budget = b->quick ? 0.1 : 0.75;
    const size_t calls = 1 + (size_t)(5e-5 * 1e11 / (2.0 * (double)(way[0]->m * way[0]->n * way[0]->kk)));
    for (int samples = 0; samples < 5 || now() - begin < budget; samples++)
        for (int i = 0; i < 3; i++) {
            const double start = thread_seconds();
            for (size_t c = 0; c < calls; c++) call_own(way[i]);
            const double s = (thread_seconds() - start) / (double)calls;
            if (samples == 0 || s < fastest[i]) fastest[i] = s;
        }
}

/* Time layers of the sizes of OPUS-MT and NLLB, from the L3 cache if they fit, and OPUS-MT's output layer. */
static void run_bf16(bench *b)
{
    static const size_t shapes[][2] = {{512, 512},   {512, 1536},  {512, 2048},  {2048, 512},
                                       {1024, 1024}, {1024, 4096}, {4096, 1024}, {512, 58101}};
    static const size_t rows[] = {1, 2, 3, 5, 10, 20, 50, 100, 320};
    static const char *const names[] = {"f32", "bf16 widened", "bf16"};
    rill_kernels widening;
    rill_kernels_init(&widening, b->k.isa & ~RILL_ISA_AVX512_BF16);
    if (!(b->k.isa & RILL_ISA_AVX512_BF16)) return;
    printf(
        "bf16: fp32, bf16 weights widened to fp32, and bf16 by bf16, 1 thread (fastest by processor time, GFLOP/s)\n");
    for (size_t s = 0; s < COUNT(shapes); s++) {
        const size_t k = shapes[s][0], n = shapes[s][1], fit = ROTATE_BYTES / (k * n * 4), copies = fit > 0 ? fit : 1;
        layer f32 = layer_new(b, k, n, copies, RILL_DTYPE_F32), wide = layer_new(b, k, n, copies, RILL_DTYPE_BF16),
              bf16 = layer_new(b, k, n, copies, RILL_DTYPE_BF16), *way[] = {&f32, &wide, &bf16};
        wide.k = &widening;
        printf("  K=%zu N=%zu, %zu matrices\n", k, n, copies);
        for (size_t i = 0; i < COUNT(rows); i++) {
            double t[3], r[3];
            f32.m = wide.m = bf16.m = rows[i];
            compare_bf16(b, way, t);
            for (int d = 0; d < 3; d++) {
                char text[128];
                r[d] = rate(&f32, t[d]);
                snprintf(text, sizeof text, "\"weights\": \"%s\", \"m\": %zu, \"k\": %zu, \"n\": %zu", names[d],
                         rows[i], k, n);
                record_timing(b, "gemm in bf16", text, "GFLOP/s", r[d], r[d]);
            }
            printf("    M=%-3zu f32 %6.1f, widened %6.1f (x%.2f), bf16 %6.1f (x%.2f of f32, x%.2f of widened)\n",
                   rows[i], r[0], r[1], r[1] / r[0], r[2], r[2] / r[0], r[2] / r[1]);
        }
        for (int d = 0; d < 3; d++) layer_free(way[d]);
    }
    putchar('\n');
}

/* ---- best ------------------------------------------------------------------------------------------------ */

typedef struct output_layer {
    const rill_kernels *k;
    rill_best b;
} output_layer;

static void call_best(void *arg)
{
    const output_layer *o = arg;
    o->k->best(&o->b, NULL);
}

static void call_unfused(void *arg)
{
    bench_unfused_best(&((const output_layer *)arg)->b, NULL);
}

static timing measure_best(bench *b, output_layer *o, const char *who, call_fn fn)
{
    char text[96];
    const timing t = measure(b, fn, o);
    const timing r = {(double)o->b.rows / t.median, (double)o->b.rows / t.fastest};
    snprintf(text, sizeof text, "\"who\": \"%s\", \"symbols\": %zu, \"best\": %zu", who, o->b.symbols, o->b.n_best);
    record_timing(b, "best", text, "rows/s", r.median, r.fastest);
    return r;
}

static void run_best(bench *b)
{
    static const size_t shapes[][2] = {{100, 1},   {100, 5},    {200, 5},   {200, 10},  {200, 20},
                                       {200, 50},  {500, 5},    {500, 20},  {8000, 5},  {8000, 50},
                                       {32000, 5}, {32000, 50}, {85000, 1}, {85000, 5}, {8000, 100}};
    printf("best: bias + log-softmax + best B, logits from up to 8 MB, 1 thread (thousand rows/s)\n");
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const size_t symbols = shapes[i][0], best = shapes[i][1], all = ((size_t)8 << 20) / 4 / symbols,
                     rows = all < 2000 ? all : 2000;
        output_layer o = {&b->k,
                          {.rows = rows,
                           .symbols = symbols,
                           .n_best = best,
                           .logits = {fill_random(rows * symbols, 2.0f), symbols},
                           .bias = fill_random(symbols, 0.5f),
                           .ids = alloc_buffer(rows * best * 4),
                           .logp = alloc_buffer(rows * best * 4),
                           .ld_out = best,
                           .counts = alloc_buffer(rows * 4)}};
        /* In the last shape the best symbols are adjacent, as in vocabularies ordered by frequency. */
        for (size_t v = 0; i + 1 == COUNT(shapes) && v < rows * symbols; v++)
            ((float *)(uintptr_t)o.b.logits.data)[v] -= 20.0f * (float)(v % symbols) / (float)symbols;
        const timing own = measure_best(b, &o, "rill", call_best),
                     unfused = measure_best(b, &o, "unfused", call_unfused);
        printf("  V=%-5zu B=%-3zu %8.1f  best %8.1f (%.2f ns per logit)   unfused %7.1f   x%.1f\n", symbols, best,
               1e-3 * own.median, 1e-3 * own.fastest, 1e9 / own.fastest / (double)symbols, 1e-3 * unfused.median,
               own.fastest / unfused.fastest);
        free(o.b.logits.data);
        free((void *)(uintptr_t)o.b.bias);
        free(o.b.ids);
        free(o.b.logp);
        free(o.b.counts);
    }
    putchar('\n');
}

/* ---- cell and attention ---------------------------------------------------------------------------------- */

typedef struct recurrent {
    const rill_kernels *k;
    rill_row_call l;
    rill_attention a;
} recurrent;

static void call_lstm(void *arg)
{
    const recurrent *r = arg;
    rill_run_rows(r->k, RILL_OP_LSTM, &r->l, NULL);
}

static void call_attention(void *arg)
{
    const recurrent *r = arg;
    r->k->attention(&r->a, NULL);
}

static void run_cell(bench *b)
{
    static const size_t shapes[][3] = {{1, 128, 12}, {10, 128, 12}, {50, 200, 12}, {200, 200, 30}, {50, 512, 50}};
    printf("cell: lstm and attention (rows of 10 share a memory), 1 thread\n");
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const size_t rows = shapes[i][0], h = shapes[i][1], t = shapes[i][2];
        int32_t first[20], length[20], *slot = alloc_buffer(rows * 4);
        float *h1 = fill_random(rows * h, 1.0f), *keys = fill_random(20 * t * h, 0.3f),
              *c0 = fill_random(rows * h, 1.0f), *c1 = alloc_buffer(rows * h * 4),
              *gates = fill_random(rows * 4 * h, 1.5f);
        for (size_t s = 0; s < 20; s++) first[s] = (int32_t)(s * t), length[s] = (int32_t)t;
        for (size_t r = 0; r < rows; r++) slot[r] = (int32_t)(r / 10);
        recurrent rec = {&b->k,
                         {.rows = rows,
                          .width = h,
                          .x = {[LSTM_gates] = {gates, 4 * h},
                                [LSTM_c] = {c0, h},
                                [LSTM_c_out] = {c1, h},
                                [LSTM_h_out] = {alloc_buffer(rows * h * 4), h}}},
                         {.rows = rows,
                          .heads = 1,
                          .width = h,
                          .scale = 1.0f,
                          .query = {h1, h},
                          .keys = {keys, h},
                          .values = {keys, h},
                          .first = first,
                          .length = length,
                          .slot = slot,
                          .weights = alloc_buffer(rows * t * 4),
                          .ld_weights = t,
                          .out = {alloc_buffer(rows * h * 4), h}}};
        const timing lstm = measure(b, call_lstm, &rec), attention = measure(b, call_attention, &rec);
        const double flops = 4e-9 * (double)(rows * h * t);
        char text[96];
        printf(
            "  R=%-3zu H=%-3zu T=%-2zu  lstm %7.2f us best %7.2f (%.2f ns per unit)   attention %7.2f us best %7.2f (%.1f GFLOP/s)\n",
            rows, h, t, 1e6 * lstm.median, 1e6 * lstm.fastest, 1e9 * lstm.fastest / (double)(rows * h),
            1e6 * attention.median, 1e6 * attention.fastest, flops / attention.fastest);
        snprintf(text, sizeof text, "\"rows\": %zu, \"hidden\": %zu, \"length\": %zu", rows, h, t);
        record_timing(b, "lstm", text, "s", lstm.median, lstm.fastest);
        record_timing(b, "attention", text, "s", attention.median, attention.fastest);
        free(keys), free(slot), free(h1), free(c0), free(c1), free(gates), free(rec.l.x[LSTM_h_out].data),
            free(rec.a.weights), free(rec.a.out.data);
    }
    putchar('\n');
}

/* ---- pool ------------------------------------------------------------------------------------------------ */

typedef struct pool_job {
    rill_pool *pool;
    unsigned turns;
} pool_job;

static void turn_chunk(void *arg, size_t chunk)
{
    (void)chunk;
    for (volatile unsigned i = 0; i < ((const pool_job *)arg)->turns;) i++;
}

static void call_pool(void *arg)
{
    rill_pool_run(((const pool_job *)arg)->pool, turn_chunk, arg, 8);
}

/* Time one run after a gap; the gap does not count. */
static timing after_gap(pool_job *j, unsigned gap_us)
{
    double sample[101];
    const struct timespec gap = {0, (long)gap_us * 1000};
    for (size_t i = 0; i < COUNT(sample); i++) {
        nanosleep(&gap, NULL);
        const double begin = now();
        call_pool(j);
        sample[i] = now() - begin;
    }
    qsort(sample, COUNT(sample), sizeof *sample, ascending);
    return (timing){sample[50], sample[0]};
}

static void run_pool(bench *b)
{
    void *mem = alloc_buffer(rill_pool_size(2));
    rill_pool *pool = rill_pool_init(mem, 2);
    pool_job empty = {pool, 0}, serial = {NULL, 0}, work = {pool, 4000}, alone = {NULL, 4000};
    const timing t = measure(b, call_pool, &empty), s = measure(b, call_pool, &serial);
    const timing w = measure(b, call_pool, &work), a = measure(b, call_pool, &alone), g = after_gap(&empty, 2000);
    printf("pool: 8 chunks, 2 threads\n");
    printf("  empty, back to back   %.2f us best %.2f (no pool %.3f)\n", 1e6 * t.median, 1e6 * t.fastest,
           1e6 * s.median);
    printf("  empty, after 2 ms     %.2f us best %.2f\n", 1e6 * g.median, 1e6 * g.fastest);
    printf("  %.0f us of work        %.2f us best %.2f: x%.2f\n", 1e6 * a.fastest, 1e6 * w.median, 1e6 * w.fastest,
           a.fastest / w.fastest);
    record_timing(b, "pool", "\"case\": \"empty\"", "s", t.median, t.fastest);
    record_timing(b, "pool", "\"case\": \"empty after 2 ms\"", "s", g.median, g.fastest);
    record_timing(b, "pool", "\"case\": \"work\"", "s", w.median, w.fastest);
    static const size_t shapes[][3] = {
        {512, 2048, 5}, {512, 2048, 50}, {200, 800, 50}, {200, 100, 50}, {200, 800, 200}};
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const size_t k = shapes[i][0], n = shapes[i][1];
        layer l = layer_new(b, k, n, 1, RILL_DTYPE_F32);
        l.m = shapes[i][2];
        const timing one = measure_gemm(b, &l, "rill", call_own, 1);
        l.pool = pool;
        const timing two = measure_gemm(b, &l, "rill", call_own, 2);
        printf("  gemm K=%-3zu N=%-4zu M=%-3zu  1 thread %6.1f best %6.1f, 2 threads %6.1f best %6.1f: x%.2f\n", k, n,
               l.m, one.median, one.fastest, two.median, two.fastest, two.fastest / one.fastest);
        layer_free(&l);
    }
    rill_pool_finish(pool);
    free(mem);
}

/* ---- main ------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    void (*run)(bench *b);
} sections[] = {{"gemm", run_gemm}, {"hot", run_cached_gemm}, {"weights", run_weights}, {"bf16", run_bf16},
                {"best", run_best}, {"cell", run_cell},       {"pool", run_pool}};

static void describe(bench *b, int argc, char **argv)
{
    const machine m = describe_machine();
    print_command("bench_kernels", argc, argv);
    printf("machine: %s, %ld processors, load %.2f; kernels: %s\n\n", m.model, m.processors, m.load, b->k.name);
    if (b->json)
        fprintf(b->json, "{\n  \"machine\": \"%s\", \"load\": %.2f, \"kernels\": \"%s\",\n  \"results\": [", m.model,
                m.load, b->k.name);
}

static int usage(void)
{
    fputs("usage: bench_kernels [--quick] [--isa SET] [--json FILE] [limits|gemm|hot|weights|bf16|best|cell|pool]...\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    bench b = {.quick = 0};
    rill_isa_mask mask = RILL_ISA_ALL;
    unsigned chosen = 0;
    for (int i = 1; i < argc; i++) {
        size_t s = 0;
        while (s < COUNT(sections) && strcmp(argv[i], sections[s].name) != 0) s++;
        if (s < COUNT(sections))
            chosen |= 1u << s;
        else if (!strcmp(argv[i], "limits"))
            chosen |= 1u << 31;
        else if (!strcmp(argv[i], "--quick"))
            b.quick = 1;
        else if (!strcmp(argv[i], "--isa") && i + 1 < argc) {
            if (rill_isa_by_name(argv[++i], &mask) != 0) return usage();
        } else if (!strcmp(argv[i], "--json") && i + 1 < argc && (b.json = fopen(argv[++i], "w")))
            continue;
        else
            return usage();
    }
    rill_kernels_init(&b.k, mask);
#if defined(RILL_HAVE_ONEDNN)
    rill_onednn_single_thread();
#endif
    describe(&b, argc, argv);
    run_limits(&b);
    for (size_t s = 0; s < COUNT(sections); s++)
        if (!chosen || chosen & 1u << s) sections[s].run(&b);
    if (b.json) {
        fputs("\n  ]\n}\n", b.json);
        if (fclose(b.json) != 0) return 1;
    }
    return 0;
}
