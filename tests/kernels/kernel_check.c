/* kernel_check.c: random numbers, guarded buffers, failure reports and timing of the kernel checks. */
#include "kernel_check.h"

#include <math.h>
#include <stdarg.h>
#include <time.h>

/* --- random numbers */

uint64_t dice_next(check *c)
{
    /* A Weyl sequence through a finaliser: reproducible, and random enough for kernels. */
    uint64_t z = c->dice += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

size_t dice_below(check *c, size_t n)
{
    return (size_t)(dice_next(c) % n);
}

size_t dice_from(check *c, size_t low, size_t high)
{
    return low + dice_below(c, high - low + 1);
}

float dice_normal(check *c)
{
    float sum = 0.0f;
    for (int i = 0; i < 4; i++) sum += (float)(dice_next(c) >> 40) * 0x1p-24f - 0.5f;
    return sum * 1.7320508f;
}

void dice_fill(check *c, float *x, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++) x[i] = scale * dice_normal(c);
}

void dice_fill_hard(check *c, float *x, size_t n, float scale)
{
    static const float hard[] = {0.0f, -0.0f, 1e-45f, -1e-40f, 1.2e-38f, 1e15f, -1e15f, 88.0f, -88.0f, 1e-7f};
    dice_fill(c, x, n, scale);
    for (size_t i = 0; i < n; i++)
        if (dice_below(c, 8) == 0) x[i] = hard[dice_below(c, sizeof hard / sizeof *hard)];
}

void dice_permutation(check *c, int32_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) p[i] = (int32_t)i;
    for (size_t i = n; i > 1; i--) {
        const size_t j = dice_below(c, i);
        const int32_t t = p[i - 1];
        p[i - 1] = p[j];
        p[j] = t;
    }
}

void dice_choose(check *c, int32_t *p, size_t n, size_t upper)
{
    int32_t *all = malloc((upper ? upper : 1) * sizeof *all);
    dice_permutation(c, all, upper);
    memcpy(p, all, n * sizeof *p);
    free(all);
}

/* ---- buffers ---- */

#define CANARY 16u /* words at each end */
#define CANARY_WORD 0x5ca1ab1eu
#define PATTERN_WORD 0x7fc0beefu /* a NaN that no operation produces */
#define MAX_BUFFERS 128

static struct guarded {
    void *block;
    uint32_t *first; /* first word of the payload */
    size_t words;
} buffers[MAX_BUFFERS];
static size_t buffer_count;

static void *buffer_new(check *c, size_t words, int aligned)
{
    EXPECT(c, buffer_count < MAX_BUFFERS, "too many buffers");
    uint32_t *block = aligned_alloc(64, (words + 2 * CANARY + 32) / 16 * 64);
    EXPECT(c, block != NULL, "out of memory");
    uint32_t *first = block + CANARY + (aligned ? 0 : 1);
    for (uint32_t *p = block; p < first; p++) *p = CANARY_WORD;
    memset(first, 0, words * 4);
    for (size_t i = 0; i < CANARY; i++) first[words + i] = CANARY_WORD;
    buffers[buffer_count++] = (struct guarded){block, first, words};
    return first;
}

float *buffer(check *c, size_t n)
{
    return buffer_new(c, n, 0);
}
int32_t *buffer_int(check *c, size_t n)
{
    return buffer_new(c, n, 0);
}
uint64_t *buffer_words(check *c, size_t n)
{
    return buffer_new(c, 2 * n, 1);
}
void *buffer_aligned(check *c, size_t bytes)
{
    return buffer_new(c, (bytes + 3) / 4, 1);
}

float *buffer_patterned(check *c, size_t n)
{
    uint32_t *x = buffer_new(c, n, 0);
    for (size_t i = 0; i < n; i++) x[i] = PATTERN_WORD;
    return (float *)(void *)x;
}

int buffer_kept(const float *x, size_t i)
{
    uint32_t bits;
    memcpy(&bits, x + i, sizeof bits);
    return bits == PATTERN_WORD;
}

void buffers_finish(check *c)
{
    for (size_t b = 0; b < buffer_count; b++) {
        const struct guarded *g = &buffers[b];
        for (const uint32_t *p = g->block; p < g->first; p++)
            EXPECT(c, *p == CANARY_WORD, "buffer %zu: written %zd words before its start", b, g->first - p);
        for (size_t i = 0; i < CANARY; i++)
            EXPECT(c, g->first[g->words + i] == CANARY_WORD, "buffer %zu: written %zu words behind its end", b, i);
        free(g->block);
    }
    buffer_count = 0;
}

/* --- failure reports */

void case_name(check *c, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(c->what, sizeof c->what, format, list);
    va_end(list);
}

void check_fail(const check *c, const char *file, int line, const char *format, ...)
{
    va_list list;
    fprintf(stderr, "%s:%d: %s (%s), %s: ", file, line, c->op, c->isa, c->what);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    exit(1);
}

int same_bits(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(a + i, b + i, sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i]))) return 0;
    return 1;
}

int near(double x, double y, double tolerance)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (isinf(x) || isinf(y)) return x == y;
    return fabs(x - y) <= tolerance;
}

/* --- timing */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The minimum over short samples is the only reproducible figure on a shared machine. */
double bench_seconds(bench_fn fn, void *arg)
{
    double best = 1e30;
    size_t calls = 1;
    for (;; calls *= 2) {
        const double begin = now();
        for (size_t i = 0; i < calls; i++) fn(arg);
        if (now() - begin > 1e-4) break;
    }
    for (size_t s = 0; s < 100; s++) {
        const double begin = now();
        for (size_t i = 0; i < calls; i++) fn(arg);
        const double each = (now() - begin) / (double)calls;
        if (each < best) best = each;
    }
    return best;
}

/* --- elementwise functions */

void elementwise(const check *c, int f, size_t n, const float *x, float *y)
{
    const rill_op op = {.activate = {.activation = (rill_activation)f}};
    const rill_row_call call = {.rows = n > 0,
                                .width = n,
                                .op = &op,
                                .x = {[ACTIVATE_x] = {.data = (float *)(uintptr_t)x}, [ACTIVATE_y] = {.data = y}}};
    if (f == CHECK_EXP)
        c->k.exp(n, x, y);
    else
        rill_run_rows(&c->k, RILL_OP_ACTIVATE, &call, NULL);
}
