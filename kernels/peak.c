/* peak.c: loops that measure peak throughput. Each loop has enough accumulators to hide the latency of an addition. */
#include "internal.h"

#include <string.h>
#include <time.h>

enum { ITERATIONS = 2000, ACCUMULATORS = 12 };

/* --- loops on vectors --------------------------------------------------------------------------------------------- */

/* Unroll STEP over all accumulators with constant indices, so that the compiler keeps them in registers. */
#define EACH(STEP) STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8) STEP(9) STEP(10) STEP(11)

/* Define a function for the instruction sets `sets`: a loop of STEP(i), which updates the vector a[i] from x and y. The asm hides x from
 * the optimiser. */
#define PEAK_LOOP(name, sets, wide, type, vx, vy, STEP)                  \
    __attribute__((target(sets))) static void name(rill_peak_loop *loop) \
    {                                                                    \
        wide a[ACCUMULATORS] = {{0}};                                    \
        type x = vx;                                                     \
        const type y = vy;                                               \
        for (int i = 0; i < ACCUMULATORS; i++) a[i][0] = i;              \
        for (int t = 0; t < ITERATIONS; t++) {                           \
            __asm__ volatile("" : OPAQUE(x));                            \
            EACH(STEP)                                                   \
        }                                                                \
        for (int i = 1; i < ACCUMULATORS; i++) a[0] += a[i];             \
        loop->sum += (float)a[0][0];                                     \
    }

/* Define the function `name`, compiled for the instruction sets `sets`, which reads all data as vectors of `type`. */
#define READ_LOOP(name, sets, type)                                      \
    __attribute__((target(sets))) static void name(rill_peak_loop *loop) \
    {                                                                    \
        const type *p = loop->data;                                      \
        type a = p[0], b = a, c = a, d = a;                              \
        for (size_t i = 0; i + 4 <= loop->bytes / sizeof *p; i += 4)     \
            a |= p[i], b |= p[i + 1], c |= p[i + 2], d |= p[i + 3];      \
        loop->sum += (float)(((a | b) | (c | d))[0] & 1);                \
    }

#if defined(RILL_KERNELS_X86)
#include <immintrin.h>

#define OPAQUE(x) "+v"(x)
#define FMA_512(i) a[i] = _mm512_fmadd_ps(a[i], x, y);
#define FMA_256(i) a[i] = _mm256_fmadd_ps(a[i], x, y);
#define BF16_512(i) a[i] = _mm512_dpbf16_ps(a[i], (__m512bh)x, (__m512bh)y);
#define DOT_512(i) a[i] = _mm512_dpbusd_epi32(a[i], x, y);
#define PAIRS_256(i) a[i] = _mm256_add_epi32(a[i], _mm256_madd_epi16(x, y)); /* the int8 GEMM's instructions for AVX2 */
PEAK_LOOP(fma_avx512, "avx512f", __m512, __m512, _mm512_set1_ps(0.999f), _mm512_set1_ps(0.5f), FMA_512)
PEAK_LOOP(fma_avx2, "avx2,fma", __m256, __m256, _mm256_set1_ps(0.999f), _mm256_set1_ps(0.5f), FMA_256)
PEAK_LOOP(dot_vnni, "avx512f,avx512vnni", __m512i, __m512i, _mm512_set1_epi8(3), _mm512_set1_epi8(5), DOT_512)
PEAK_LOOP(dot_bf16, "avx512f,avx512bf16", __m512, __m512i, _mm512_set1_epi16(0x3f7f), _mm512_set1_epi16(0x3f00),
          BF16_512)
PEAK_LOOP(dot_pairs_avx2, "avx2", __m256i, __m256i, _mm256_set1_epi16(3), _mm256_set1_epi16(5), PAIRS_256)
READ_LOOP(read_avx2, "avx2", __m256i)
#endif

#if defined(RILL_KERNELS_ARM)
#include <arm_neon.h>

#define OPAQUE(x) "+w"(x)
#define FMA(i) a[i] = vfmaq_f32(y, a[i], x);
#define DOT(i) a[i] = vdotq_s32(a[i], x, y);
#define MATRICES(i) a[i] = vmmlaq_s32(a[i], x, y);
PEAK_LOOP(fma_neon, "arch=armv8-a", float32x4_t, float32x4_t, vdupq_n_f32(0.999f), vdupq_n_f32(0.5f), FMA)
PEAK_LOOP(dot_dotprod, "arch=armv8.2-a+dotprod", int32x4_t, int8x16_t, vdupq_n_s8(3), vdupq_n_s8(5), DOT)
PEAK_LOOP(dot_i8mm, "arch=armv8.2-a+i8mm", int32x4_t, int8x16_t, vdupq_n_s8(3), vdupq_n_s8(5), MATRICES)
READ_LOOP(read_neon, "arch=armv8-a", uint32x4_t)
#endif

/* --- loops in plain C --------------------------------------------------------------------------------------------- */

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

/* --- choosing a loop ---------------------------------------------------------------------------------------------- */

/* Return the flops of one pass of a loop whose iterations add `wide` products to each of the accumulators. */
static double pass_flops(double wide)
{
    return 2.0 * ACCUMULATORS * ITERATIONS * wide;
}

rill_peak_loop rill_peak_loop_fma(rill_isa_mask isa, rill_dtype weights)
{
    const int int8 = weights == RILL_DTYPE_U8S8;
#if defined(RILL_KERNELS_X86)
    if (isa & RILL_ISA_AMX && weights != RILL_DTYPE_F32) return rill_peak_loop_amx(weights);
    if (int8 && (isa & RILL_ISA_AVX512_VNNI)) return (rill_peak_loop){.run = dot_vnni, .work = pass_flops(64)};
    if (int8 && (isa & RILL_ISA_AVX2)) return (rill_peak_loop){.run = dot_pairs_avx2, .work = pass_flops(16)};
    if (weights == RILL_DTYPE_BF16 && (isa & RILL_ISA_AVX512_BF16))
        return (rill_peak_loop){.run = dot_bf16, .work = pass_flops(32)};
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

/* --- measuring a loop --------------------------------------------------------------------------------------------- */

double rill_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the rate of the fastest of SAMPLES short samples: other processes only ever slow a sample down. */
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
