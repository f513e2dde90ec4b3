/* Primitives of vector/vec.h in AVX-512 (F, BW, DQ, VL). For AVX2: vec_avx2.h; common ones: vec_words.h. */
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define VL 16
#define RILL_MM(op) _mm512_##op
#define RILL_MM_INT(op) _mm512_##op##_si512
#define RILL_MM_COMPARE _mm512_cmp_ps_mask
#if defined(RILL_VEC_VNNI)
#define RILL_FN(op) op##_avx512vnni
#define RILL_SET RILL_ISA_AVX512_VNNI
#define RILL_SET_NAME "avx512vnni"
/* names the functions of the instruction set below: only the int8 GEMM is new, all other operations are AVX-512's */
#define RILL_SET_BELOW(op) op##_avx512
#elif defined(RILL_VEC_BF16)
#define RILL_FN(op) op##_avx512bf16
#define RILL_SET RILL_ISA_AVX512_BF16
#define RILL_SET_NAME "avx512bf16"
/* this instruction set adds only the bf16 GEMM */
#define RILL_SET_BELOW(op) op##_avx512vnni
#elif defined(RILL_VEC_AMX)
#define RILL_FN(op) op##_amx
#define RILL_SET RILL_ISA_AMX
#define RILL_SET_NAME "amx"
/* this instruction set adds only the int8 and bf16 GEMMs */
#define RILL_SET_BELOW(op) op##_avx512bf16
#else
#define RILL_FN(op) op##_avx512
#define RILL_SET RILL_ISA_AVX512
#define RILL_SET_NAME "avx512"
/* names the int8 GEMM that the function table gets. Without VNNI, int8 on 512 bits is no faster than on AVX2 */
#define RILL_SET_INT8(op) op##_avx2
#endif

typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;

#include "vec_words.h"

/* A masked load of 16-bit elements zeroes the lower halves, so no arithmetic is needed. */
static inline vf v_load_upper_bf16(const void *p)
{
    return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(0xaaaaaaaau, p));
}

static inline vm vm_first(size_t n)
{
    return (vm)(n >= VL ? 0xffffu : (1u << n) - 1u);
}
static inline vm vm_bits(unsigned bits)
{
    return (vm)bits;
}
static inline unsigned vm_to_bits(vm m)
{
    return m;
}
static inline vf v_load_first(size_t n, const float *p)
{
    return _mm512_maskz_loadu_ps(vm_first(n), p);
}
static inline void v_store_first(size_t n, float *p, vf x)
{
    _mm512_mask_storeu_ps(p, vm_first(n), x);
}

static inline vf v_round(vf x)
{
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vf v_blend(vm m, vf yes, vf no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}

/* Return x * 2^n for integral n, over the full range of n. Denormal results are rounded once. */
static inline vf v_scale2(vf x, vf n)
{
    return _mm512_scalef_ps(x, n);
}
/* Return 2^n for integral |n| <= 126. */
static inline vf v_pow2(vf n)
{
    return _mm512_scalef_ps(_mm512_set1_ps(1.0f), n);
}

static inline __m256 v_upper_half(vf x)
{
    return _mm512_extractf32x8_ps(x, 1);
}
static inline __m256 v_lower_half(vf x)
{
    return _mm512_castps512_ps256(x);
}
static inline v4 v_fold_sum(vf x)
{
    const __m256 y = _mm256_add_ps(v_lower_half(x), v_upper_half(x));
    return _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
}
static inline v4 v_fold_max(vf x)
{
    const __m256 y = _mm256_max_ps(v_lower_half(x), v_upper_half(x));
    return _mm_max_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
}

static inline vi vi_lanes(void)
{
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
static inline vm vi_gt(vi a, vi b)
{
    return _mm512_cmpgt_epi32_mask(a, b);
}
static inline vi vi_count(vi n, vm m)
{
    return _mm512_mask_add_epi32(n, m, n, _mm512_set1_epi32(1));
}

/* Compress in a register, then store the whole vector: the compressing store is microcoded on some processors. */
static inline void v_store_packed(float *p, unsigned bits, vf x)
{
    _mm512_storeu_ps(p, _mm512_maskz_compress_ps((vm)bits, x));
}
static inline void vi_store_packed(int32_t *p, unsigned bits, vi x)
{
    _mm512_storeu_si512(p, _mm512_maskz_compress_epi32((vm)bits, x));
}

/* Part of v_sum_heads (vec.h): fold each of four vectors to four lanes, and join the results in one vector. */
static inline vf v_fold_heads(const vf x[4])
{
    const vf a = v_add(_mm512_shuffle_f32x4(x[0], x[1], 0x44), _mm512_shuffle_f32x4(x[0], x[1], 0xee));
    const vf b = v_add(_mm512_shuffle_f32x4(x[2], x[3], 0x44), _mm512_shuffle_f32x4(x[2], x[3], 0xee));
    return v_add(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}

static inline int32_t vi_hmax(vi x)
{
    return _mm512_reduce_max_epi32(x);
}
