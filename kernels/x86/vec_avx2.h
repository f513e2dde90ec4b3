/* vec_avx2.h: the primitives of vector/vec.h in AVX2 and FMA. vec_avx512.h has the same for AVX-512; vec_words.h has
 * those common to both. */
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define VL 8
#define RILL_MM(op) _mm256_##op
#define RILL_MM_INT(op) _mm256_##op##_si256
#define RILL_MM_COMPARE _mm256_cmp_ps
#define RILL_FN(op) op##_avx2
#define RILL_SET RILL_ISA_AVX2
#define RILL_SET_NAME "avx2"
#define RILL_SET_INT8(op) op##_avx2 /* names the int8 GEMM that the function table gets: AVX2's */

typedef __m256 vf;
typedef __m256i vi;
typedef __m256i vm; /* in each lane, all bits are set (true) or clear (false) */

#include "vec_words.h"

static inline vf v_load_upper_bf16(const void *p)
{
    const vi upper = _mm256_set1_epi32((int32_t)0xffff0000u);
    return _mm256_castsi256_ps(_mm256_and_si256(_mm256_loadu_si256((const __m256i *)p), upper));
}

static inline vi vi_lanes(void)
{
    return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
}
static inline vm vi_gt(vi a, vi b)
{
    return _mm256_cmpgt_epi32(a, b);
}
static inline vi vi_count(vi n, vm m)
{
    return _mm256_sub_epi32(n, m);
}

static inline vm vm_first(size_t n)
{
    return vi_gt(vi_set1(n > VL ? VL : (int32_t)n), vi_lanes());
}
static inline vm vm_bits(unsigned bits)
{
    const vi each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(vi_set1((int32_t)bits), each), each);
}
static inline unsigned vm_to_bits(vm m)
{
    return (unsigned)_mm256_movemask_ps((vf)m);
}
static inline vf v_load_first(size_t n, const float *p)
{
    return _mm256_maskload_ps(p, vm_first(n));
}
static inline void v_store_first(size_t n, float *p, vf x)
{
    _mm256_maskstore_ps(p, vm_first(n), x);
}

static inline vf v_round(vf x)
{
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vf v_blend(vm m, vf yes, vf no)
{
    return _mm256_blendv_ps(no, yes, (vf)m);
}

/* Return 2^n for integral |n| <= 126. The exponent field of the float is built by hand. */
static inline vf v_pow2(vf n)
{
    const vi e = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(e, 23));
}
/* Return x * 2^n for integral n in [-152, 128]. 2^n may not be a float, so x is multiplied by two powers. */
static inline vf v_scale2(vf x, vf n)
{
    const vi exponent = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(exponent, 1);
    const vi rest = _mm256_sub_epi32(exponent, half), bias = _mm256_set1_epi32(127);
    const vf a = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    const vf b = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
    return _mm256_mul_ps(_mm256_mul_ps(x, a), b);
}

/* Lane order for compression: the positions of the set bits of an 8-bit mask, lowest first, one per lane. */
static inline vi compress_order(unsigned bits)
{
    const uint64_t spread = _pdep_u64(bits, 0x0101010101010101u) * 0xffu;
    const uint64_t order = _pext_u64(0x0706050403020100u, spread);
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)order));
}
static inline void v_store_packed(float *p, unsigned bits, vf x)
{
    _mm256_storeu_ps(p, _mm256_permutevar8x32_ps(x, compress_order(bits)));
}
static inline void vi_store_packed(int32_t *p, unsigned bits, vi x)
{
    _mm256_storeu_si256((__m256i *)p, _mm256_permutevar8x32_epi32(x, compress_order(bits)));
}

static inline v4 v_upper_half(vf x)
{
    return _mm256_extractf128_ps(x, 1);
}
static inline v4 v_lower_half(vf x)
{
    return _mm256_castps256_ps128(x);
}
static inline v4 v_fold_sum(vf x)
{
    return _mm_add_ps(v_lower_half(x), v_upper_half(x));
}
static inline v4 v_fold_max(vf x)
{
    return _mm_max_ps(v_lower_half(x), v_upper_half(x));
}

/* Part of v_sum_heads (vec.h): fold each of two vectors to four lanes, and join the results in one vector. */
static inline vf v_fold_heads(const vf x[2])
{
    return v_add(_mm256_permute2f128_ps(x[0], x[1], 0x20), _mm256_permute2f128_ps(x[0], x[1], 0x31));
}

static inline int32_t vi_hmax(vi x)
{
    __m128i max = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    max = _mm_max_epi32(max, _mm_shuffle_epi32(max, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(max, _mm_shuffle_epi32(max, 0xb1)));
}
