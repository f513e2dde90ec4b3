/* processor_limits.h: loops that do nothing but multiply and add, or read: what a processor can do at most. For bench_kernels.c. */
#ifndef BENCH_LIMITS_H
#define BENCH_LIMITS_H

#include <stddef.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef struct stream {
    const float *p;
    size_t n;
    float sum;
} stream;

#define TURNS 2000

#if defined(__x86_64__)

__attribute__((target("avx512f"))) static void multiply_avx512(void *arg)
{
    __m512 a[12];
    const __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.5f);
    for (int i = 0; i < 12; i++) a[i] = _mm512_set1_ps((float)i);
    for (int t = 0; t < TURNS; t++) {
#define FMA(i) a[i] = _mm512_fmadd_ps(a[i], x, y)
        FMA(0), FMA(1), FMA(2), FMA(3), FMA(4), FMA(5), FMA(6), FMA(7), FMA(8), FMA(9), FMA(10), FMA(11);
#undef FMA
    }
    for (int i = 1; i < 12; i++) a[0] = _mm512_add_ps(a[0], a[i]);
    ((stream *)arg)->sum += _mm512_reduce_add_ps(a[0]);
}

__attribute__((target("avx2,fma"))) static void multiply_avx2(void *arg)
{
    __m256 a[12];
    const __m256 x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.5f);
    for (int i = 0; i < 12; i++) a[i] = _mm256_set1_ps((float)i);
    for (int t = 0; t < TURNS; t++) {
#define FMA(i) a[i] = _mm256_fmadd_ps(a[i], x, y)
        FMA(0), FMA(1), FMA(2), FMA(3), FMA(4), FMA(5), FMA(6), FMA(7), FMA(8), FMA(9), FMA(10), FMA(11);
#undef FMA
    }
    for (int i = 1; i < 12; i++) a[0] = _mm256_add_ps(a[0], a[i]);
    float each[8];
    _mm256_storeu_ps(each, a[0]);
    ((stream *)arg)->sum += each[0];
}

__attribute__((target("avx2"))) static void read_all(void *arg)
{
    stream *s = arg;
    __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
    for (size_t i = 0; i + 32 <= s->n; i += 32) {
        a = _mm256_or_ps(a, _mm256_load_ps(s->p + i));
        b = _mm256_or_ps(b, _mm256_load_ps(s->p + i + 8));
        c = _mm256_or_ps(c, _mm256_load_ps(s->p + i + 16));
        d = _mm256_or_ps(d, _mm256_load_ps(s->p + i + 24));
    }
    float each[8];
    _mm256_storeu_ps(each, _mm256_or_ps(_mm256_or_ps(a, b), _mm256_or_ps(c, d)));
    s->sum += each[0];
}

/* The loop for vectors of 16 or 8 floats, and how much it multiplies and adds. */
static void (*multiply_loop(int wide, double *flops))(void *arg)
{
    *flops = 2.0 * 12.0 * TURNS * (wide ? 16.0 : 8.0);
    return wide ? multiply_avx512 : multiply_avx2;
}
#else
static void read_all(void *arg)
{
    stream *s = arg;
    float sum[8] = {0};
    for (size_t i = 0; i + 8 <= s->n; i += 8)
        for (size_t j = 0; j < 8; j++) sum[j] += s->p[i + j];
    s->sum += sum[0];
}

static void multiply_any(void *arg)
{
    float a[32] = {0};
    for (int t = 0; t < TURNS; t++)
        for (int i = 0; i < 32; i++) a[i] = a[i] * 0.999f + 0.5f;
    ((stream *)arg)->sum += a[0];
}

static void (*multiply_loop(int wide, double *flops))(void *arg)
{
    (void)wide;
    *flops = 2.0 * 32.0 * TURNS;
    return multiply_any;
}
#endif

#endif
