/* bench/unfused.c: a slow implementation of rill_kernels.best, to compare with.
 *
 * Bias, maximum, exponentials with their sum, log-probabilities and top k are separate passes over the matrix of all
 * rows. A library with one function per operation works like this. The passes are vectorised (by the compiler;
 * exponentials by rill's own kernel). So the comparison shows the effect of the number of passes, not of the quality of
 * their loops. */
#include "unfused.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 512, SKIP_CHUNK = 64 };

/* Return a matrix [R, V] of the calling thread; it is kept, and grows as needed. */
static float *matrix(size_t numbers)
{
    static _Thread_local float *kept;
    static _Thread_local size_t size;
    if (numbers > size) {
        free(kept);
        kept = malloc(numbers * sizeof *kept);
        size = kept != NULL ? numbers : 0;
        if (kept == NULL) abort();
    }
    return kept;
}

static void add_bias(const rill_best *b, float *x)
{
    for (size_t r = 0; r < b->rows; r++) {
        const float *logits = rill_operand_row(&b->logits, r), *add = rill_operand_row(&b->add, r);
        float *to = x + r * b->symbols;
        for (size_t v = 0; v < b->symbols; v++) to[v] = logits[v] + (b->bias != NULL ? b->bias[v] : 0.0f);
        for (size_t v = 0; v < b->symbols && add != NULL; v++) to[v] += add[v];
    }
}

static float maximum(const float *x, size_t n)
{
    float lane[16], max = -INFINITY;
    for (size_t i = 0; i < 16; i++) lane[i] = -INFINITY;
    size_t v = 0;
    for (; v + 16 <= n; v += 16)
        for (size_t i = 0; i < 16; i++) lane[i] = x[v + i] > lane[i] ? x[v + i] : lane[i];
    for (; v < n; v++) max = x[v] > max ? x[v] : max;
    for (size_t i = 0; i < 16; i++) max = lane[i] > max ? lane[i] : max;
    return max;
}

static float exp_sum(const rill_kernels *k, const float *x, size_t n, float max)
{
    float lane[16] = {0}, sum = 0.0f, e[CHUNK];
    for (size_t from = 0; from < n; from += CHUNK) {
        const size_t m = n - from < CHUNK ? n - from : CHUNK;
        for (size_t i = 0; i < m; i++) e[i] = x[from + i] - max;
        k->exp(m, e, e);
        size_t v = 0;
        for (; v + 16 <= m; v += 16)
            for (size_t i = 0; i < 16; i++) lane[i] += e[v + i];
        for (; v < m; v++) sum += e[v];
    }
    for (size_t i = 0; i < 16; i++) sum += lane[i];
    return sum;
}

static int is_legal(const rill_best *b, size_t r, size_t v)
{
    const int32_t set = b->legal == NULL ? -1 : b->legal_index != NULL ? b->legal_index[r] : (int32_t)r;
    return set < 0 || (b->legal[(size_t)set * b->ld_legal + v / 64] >> (v % 64) & 1);
}

/* Whether any of the next n numbers is above the threshold, so that they must be examined one by one. */
static int any_above(const float *x, size_t n, float threshold)
{
    int above = 0;
    for (size_t i = 0; i < n; i++) above |= x[i] > threshold;
    return above;
}

static void put_best(const rill_best *b, size_t r, const float *logp, float *best)
{
    int32_t *id = b->ids + r * b->ld_out;
    size_t n = 0;
    for (size_t v = 0; v < b->symbols; v++) {
        if (n == b->n_best && v % SKIP_CHUNK == 0 && v + SKIP_CHUNK <= b->symbols &&
            !any_above(logp + v, SKIP_CHUNK, best[n - 1])) {
            v += SKIP_CHUNK - 1;
            continue;
        }
        if (n == b->n_best && !(logp[v] > best[n - 1])) continue;
        if (!(logp[v] > -INFINITY) || !is_legal(b, r, v)) continue;
        size_t rank = n < b->n_best ? n++ : n - 1;
        for (; rank > 0 && best[rank - 1] < logp[v]; rank--) {
            best[rank] = best[rank - 1];
            id[rank] = id[rank - 1];
        }
        best[rank] = logp[v];
        id[rank] = (int32_t)v;
    }
    b->counts[r] = (int32_t)n;
}

void bench_unfused_best(const rill_best *b, rill_pool *pool)
{
    static rill_kernels k;
    const size_t all = b->rows * b->symbols;
    float *x = matrix(all + 2 * b->rows), *row_max = x + all, *norm = row_max + b->rows;
    (void)pool;
    if (k.exp == NULL) rill_kernels_init(&k, RILL_ISA_ALL);
    add_bias(b, x);
    for (size_t r = 0; r < b->rows; r++) row_max[r] = maximum(x + r * b->symbols, b->symbols);
    for (size_t r = 0; r < b->rows; r++)
        norm[r] = row_max[r] + logf(exp_sum(&k, x + r * b->symbols, b->symbols, row_max[r]));
    for (size_t r = 0; r < b->rows; r++)
        for (size_t v = 0; v < b->symbols; v++) x[r * b->symbols + v] -= norm[r];
    for (size_t r = 0; r < b->rows; r++) put_best(b, r, x + r * b->symbols, b->logp + r * b->ld_out);
    if (b->log_norm != NULL) memcpy(b->log_norm, norm, b->rows * sizeof *norm);
}

void __real_rill_kernels_init(rill_kernels *k, rill_isa_mask mask) __attribute__((weak));
void __wrap_rill_kernels_init(rill_kernels *k, rill_isa_mask mask);

/* Replaces rill_kernels_init() in a librill that is linked with --wrap; see bench/meson.build. */
void __wrap_rill_kernels_init(rill_kernels *k, rill_isa_mask mask)
{
    __real_rill_kernels_init(k, mask);
    k->best = bench_unfused_best;
}
