/* peak.c: loops that measure peak throughput, see kernels.h. Each loop has enough independent accumulators to hide the
 * latency of an addition.
 *
 * Divisions: vectors, plain C, choice of a loop, timing. */
#include "kernels.h"

#include <string.h>
#include <time.h>

enum { ITERATIONS = 2000, ACCUMULATORS = 12 };

/* --- vectors ------------------------------------------------------------------------------------------------------ */

/* Unroll STEP over all accumulators with constant indices, so that the compiler keeps them in registers. */
#define EACH(STEP) STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8) STEP(9) STEP(10) STEP(11)

#if defined(RILL_KERNELS_X86)
#include <immintrin.h>

__attribute__((target("avx512f"))) static void fma_avx512(rill_peak_loop *loop)
{
    __m512 a[ACCUMULATORS];
    const __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.5f);
    for (int i = 0; i < ACCUMULATORS; i++) a[i] = _mm512_set1_ps((float)i);
    for (int t = 0; t < ITERATIONS; t++) {
#define STEP(i) a[i] = _mm512_fmadd_ps(a[i], x, y);
        EACH(STEP)
#undef STEP
    }
    for (int i = 1; i < ACCUMULATORS; i++) a[0] = _mm512_add_ps(a[0], a[i]);
    loop->sum += _mm512_reduce_add_ps(a[0]);
}

__attribute__((target("avx2,fma"))) static void fma_avx2(rill_peak_loop *loop)
{
    __m256 a[ACCUMULATORS];
    const __m256 x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.5f);
    for (int i = 0; i < ACCUMULATORS; i++) a[i] = _mm256_set1_ps((float)i);
    for (int t = 0; t < ITERATIONS; t++) {
#define STEP(i) a[i] = _mm256_fmadd_ps(a[i], x, y);
        EACH(STEP)
#undef STEP
    }
    for (int i = 1; i < ACCUMULATORS; i++) a[0] = _mm256_add_ps(a[0], a[i]);
    loop->sum += _mm256_cvtss_f32(a[0]);
}

__attribute__((target("avx512f,avx512vnni"))) static void dot_vnni(rill_peak_loop *loop)
{
    __m512i a[ACCUMULATORS];
    __m512i x = _mm512_set1_epi8(3);
    const __m512i y = _mm512_set1_epi8(5);
    for (int i = 0; i < ACCUMULATORS; i++) a[i] = _mm512_set1_epi32(i);
    for (int t = 0; t < ITERATIONS; t++) {
        __asm__ volatile("" : "+v"(x)); /* opaque to the optimiser, which must not hoist the products */
#define STEP(i) a[i] = _mm512_dpbusd_epi32(a[i], x, y);
        EACH(STEP)
#undef STEP
    }
    for (int i = 1; i < ACCUMULATORS; i++) a[0] = _mm512_add_epi32(a[0], a[i]);
    loop->sum += (float)_mm512_reduce_add_epi32(a[0]);
}

/* Multiply pairs of 16-bit numbers, as the int8 GEMM for AVX2 does. */
__attribute__((target("avx2"))) static void dot_pairs_avx2(rill_peak_loop *loop)
{
    __m256i a[ACCUMULATORS];
    __m256i x = _mm256_set1_epi16(3);
    const __m256i y = _mm256_set1_epi16(5);
    for (int i = 0; i < ACCUMULATORS; i++) a[i] = _mm256_set1_epi32(i);
    for (int t = 0; t < ITERATIONS; t++) {
        __asm__ volatile("" : "+x"(x)); /* opaque to the optimiser, which must not hoist the products */
#define STEP(i) a[i] = _mm256_add_epi32(a[i], _mm256_madd_epi16(x, y));
        EACH(STEP)
#undef STEP
    }
    for (int i = 1; i < ACCUMULATORS; i++) a[0] = _mm256_add_epi32(a[0], a[i]);
    loop->sum += (float)_mm256_extract_epi32(a[0], 0);
}

__attribute__((target("avx2"))) static void read_avx2(rill_peak_loop *loop)
{
    const float *p = loop->data;
    __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
    for (size_t i = 0; i + 32 <= loop->bytes / sizeof *p; i += 32) {
        a = _mm256_or_ps(a, _mm256_load_ps(p + i));
        b = _mm256_or_ps(b, _mm256_load_ps(p + i + 8));
        c = _mm256_or_ps(c, _mm256_load_ps(p + i + 16));
        d = _mm256_or_ps(d, _mm256_load_ps(p + i + 24));
    }
    loop->sum += _mm256_cvtss_f32(_mm256_or_ps(_mm256_or_ps(a, b), _mm256_or_ps(c, d)));
}
#endif

#if defined(RILL_KERNELS_ARM)
#include <arm_neon.h>

static void fma_neon(rill_peak_loop *loop)
{
    float32x4_t a[ACCUMULATORS];
    const float32x4_t x = vdupq_n_f32(0.999f), y = vdupq_n_f32(0.5f);
    for (int i = 0; i < ACCUMULATORS; i++) a[i] = vdupq_n_f32((float)i);
    for (int t = 0; t < ITERATIONS; t++) {
#define STEP(i) a[i] = vfmaq_f32(y, a[i], x);
        EACH(STEP)
#undef STEP
    }
    for (int i = 1; i < ACCUMULATORS; i++) a[0] = vaddq_f32(a[0], a[i]);
    loop->sum += vgetq_lane_f32(a[0], 0);
}

/* Define an int8 loop: `step` adds 16 or 32 products to an accumulator. The asm hides x from the optimiser. */
#define MULTIPLY_INT8(name, step)                                            \
    static void name(rill_peak_loop *loop)                                   \
    {                                                                        \
        int32x4_t a[ACCUMULATORS];                                           \
        int8x16_t x = vdupq_n_s8(3);                                         \
        const int8x16_t y = vdupq_n_s8(5);                                   \
        for (int i = 0; i < ACCUMULATORS; i++) a[i] = vdupq_n_s32(i);        \
        for (int t = 0; t < ITERATIONS; t++) {                               \
            __asm__ volatile("" : "+w"(x));                                  \
            EACH(step)                                                       \
        }                                                                    \
        for (int i = 1; i < ACCUMULATORS; i++) a[0] = vaddq_s32(a[0], a[i]); \
        loop->sum += (float)vgetq_lane_s32(a[0], 0);                         \
    }
#define DOT(i) a[i] = vdotq_s32(a[i], x, y);
#define MATRICES(i) a[i] = vmmlaq_s32(a[i], x, y);
__attribute__((target("arch=armv8.2-a+dotprod"))) MULTIPLY_INT8(dot_dotprod, DOT)
    __attribute__((target("arch=armv8.2-a+i8mm"))) MULTIPLY_INT8(dot_i8mm, MATRICES)

        static void read_neon(rill_peak_loop *loop)
{
    const uint32_t *p = loop->data;
    uint32x4_t a = vdupq_n_u32(0), b = a, c = a, d = a;
    for (size_t i = 0; i + 16 <= loop->bytes / sizeof *p; i += 16) {
        a = vorrq_u32(a, vld1q_u32(p + i));
        b = vorrq_u32(b, vld1q_u32(p + i + 4));
        c = vorrq_u32(c, vld1q_u32(p + i + 8));
        d = vorrq_u32(d, vld1q_u32(p + i + 12));
    }
    loop->sum += (float)(vgetq_lane_u32(vorrq_u32(vorrq_u32(a, b), vorrq_u32(c, d)), 0) & 1);
}
#endif

/* --- plain C ------------------------------------------------------------------------------------------------------ */

static void fma_plain(rill_peak_loop *loop)
{
    float a[32] = {0};
    for (int t = 0; t < ITERATIONS; t++)
        for (int i = 0; i < 32; i++) a[i] = a[i] * 0.999f + 0.5f;
    loop->sum += a[0];
}

static void dot_plain_int8(rill_peak_loop *loop)
{
    int32_t a[32] = {0};
    int32_t x = 3;
    for (int t = 0; t < ITERATIONS; t++) {
        __asm__ volatile("" : "+r"(x));
        for (int i = 0; i < 32; i++) a[i] += x * i;
    }
    loop->sum += (float)a[1];
}

static void read_plain(rill_peak_loop *loop)
{
    const char *p = loop->data;
    uint64_t sum[8] = {0}, word[8];
    for (size_t i = 0; i + sizeof word <= loop->bytes; i += sizeof word) {
        memcpy(word, p + i, sizeof word);
        for (int j = 0; j < 8; j++) sum[j] |= word[j];
    }
    loop->sum += (float)(sum[0] & 1);
}

/* --- choice of a loop --------------------------------------------------------------------------------------------- */

/* Flops of one pass, if an iteration adds `wide` products to each of the accumulators. */
static double pass_flops(double wide)
{
    return 2.0 * ACCUMULATORS * ITERATIONS * wide;
}

rill_peak_loop rill_peak_loop_fma(rill_isa_mask isa, int int8)
{
#if defined(RILL_KERNELS_X86)
    if (int8 && (isa & RILL_ISA_AVX512_VNNI)) return (rill_peak_loop){.run = dot_vnni, .work = pass_flops(64)};
    if (int8 && (isa & RILL_ISA_AVX2)) return (rill_peak_loop){.run = dot_pairs_avx2, .work = pass_flops(16)};
    if (isa & RILL_ISA_AVX512) return (rill_peak_loop){.run = fma_avx512, .work = pass_flops(16)};
    if (isa & RILL_ISA_AVX2) return (rill_peak_loop){.run = fma_avx2, .work = pass_flops(8)};
#elif defined(RILL_KERNELS_ARM)
    if (int8 && (isa & RILL_ISA_NEON_I8MM)) return (rill_peak_loop){.run = dot_i8mm, .work = pass_flops(32)};
    if (int8 && (isa & RILL_ISA_NEON_DOTPROD)) return (rill_peak_loop){.run = dot_dotprod, .work = pass_flops(16)};
    if (!int8 && (isa & RILL_ISA_NEON)) return (rill_peak_loop){.run = fma_neon, .work = pass_flops(4)};
#endif
    (void)isa;
    return (rill_peak_loop){.run = int8 ? dot_plain_int8 : fma_plain, .work = 2.0 * 32.0 * ITERATIONS};
}

rill_peak_loop rill_peak_loop_read(const void *data, size_t bytes)
{
    rill_peak_loop loop = {.run = read_plain, .work = (double)bytes, .data = data, .bytes = bytes};
#if defined(RILL_KERNELS_X86)
    if (rill_cpu_isa() & RILL_ISA_AVX2) loop.run = read_avx2;
#elif defined(RILL_KERNELS_ARM)
    loop.run = read_neon;
#endif
    return loop;
}

/* --- timing ------------------------------------------------------------------------------------------------------- */

double rill_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the rate of the fastest of SAMPLES short samples, since disturbances only slow samples down. */
double rill_peak_loop_rate(rill_peak_loop *loop, double seconds)
{
    enum { SAMPLES = 16 };
    double fastest = 0;
    for (int s = 0; s < SAMPLES; s++) {
        const double begin = rill_clock();
        double passes = 0, took;
        do {
            loop->run(loop);
            passes++;
            took = rill_clock() - begin;
        } while (took < seconds / SAMPLES);
        if (passes * loop->work / took > fastest) fastest = passes * loop->work / took;
    }
    return fastest;
}
