/* Primitives that differ between x86 instruction sets only in vector width. Before including this file, define VL, vf, vi and
 *   RILL_MM(op)      the intrinsic of that name for this width
 *   RILL_MM_INT(op)  the same for an intrinsic on whole integer vectors (_si256, _si512)
 *   RILL_MM_COMPARE  the intrinsic that compares floats and returns a vm, which has the operators & and | */
#pragma once

/* ---- four floats ---- */

typedef __m128 v4;

static inline v4 v4_add(v4 a, v4 b)
{
    return _mm_add_ps(a, b);
}
static inline void v4_store_scaled(float *p, v4 x, float scale)
{
    _mm_storeu_ps(p, _mm_mul_ps(x, _mm_set1_ps(scale)));
}

static inline float v4_sum(v4 x)
{
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}

static inline float v4_max(v4 x)
{
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}

static inline v4 v4_sum4(v4 w, v4 x, v4 y, v4 z)
{
    _MM_TRANSPOSE4_PS(w, x, y, z);
    return _mm_add_ps(_mm_add_ps(w, y), _mm_add_ps(x, z));
}

/* ---- a vector ---- */

/* Define the primitive `word` as the intrinsic of this width. */
#define RILL_UNARY(type, word, from, op) \
    static inline type word(from x)      \
    {                                    \
        return RILL_MM(op)(x);           \
    }
#define RILL_BINARY(type, word, op)         \
    static inline type word(type a, type b) \
    {                                       \
        return RILL_MM(op)(a, b);           \
    }
#define RILL_TERNARY(word, op)              \
    static inline vf word(vf a, vf b, vf c) \
    {                                       \
        return RILL_MM(op)(a, b, c);        \
    }
#define RILL_SHUFFLE(word, lanes)                \
    static inline vf word(vf a, vf b)            \
    {                                            \
        return RILL_MM(shuffle_ps)(a, b, lanes); \
    }
#define RILL_COMPARE(word, how)                \
    static inline vm word(vf a, vf b)          \
    {                                          \
        return (vm)RILL_MM_COMPARE(a, b, how); \
    }
#define RILL_MASKS(word, op)          \
    static inline vm word(vm a, vm b) \
    {                                 \
        return (vm)(a op b);          \
    }

RILL_UNARY(vf, v_set1, float, set1_ps)
RILL_UNARY(vf, v_load, const float *, loadu_ps)
RILL_UNARY(vf, v_from_int, vi, cvtepi32_ps)
RILL_UNARY(vi, vi_set1, int32_t, set1_epi32)
RILL_UNARY(vi, vi_nearest, vf, cvtps_epi32)
RILL_BINARY(vf, v_add, add_ps)
RILL_BINARY(vf, v_sub, sub_ps)
RILL_BINARY(vf, v_mul, mul_ps)
RILL_BINARY(vf, v_div, div_ps)
RILL_BINARY(vf, v_max, max_ps)
RILL_BINARY(vf, v_min, min_ps)
RILL_BINARY(vi, vi_add, add_epi32)
RILL_BINARY(vi, vi_max, max_epi32)
RILL_TERNARY(v_fma, fmadd_ps)
RILL_TERNARY(v_fnma, fnmadd_ps)
/* Lanes of a, then of b, in every group of four: 0 1 (lower), 2 3 (upper), 0 2 (even), 1 3 (odd). */
RILL_SHUFFLE(v_lower_pairs, 0x44)
RILL_SHUFFLE(v_upper_pairs, 0xee)
RILL_SHUFFLE(v_even_lanes, 0x88)
RILL_SHUFFLE(v_odd_lanes, 0xdd)
RILL_COMPARE(v_gt, _CMP_GT_OQ)
RILL_COMPARE(v_ge, _CMP_GE_OQ)
RILL_COMPARE(v_not_less, _CMP_NLT_UQ)
RILL_MASKS(vm_and, &)
RILL_MASKS(vm_or, |)

static inline vf v_zero(void)
{
    return RILL_MM(setzero_ps)();
}
static inline void v_store(float *p, vf x)
{
    RILL_MM(storeu_ps)(p, x);
}
static inline vf v_minus_abs(vf x)
{
    return RILL_MM(or_ps)(x, v_set1(-0.0f));
}
/* a float of a row of A, the left matrix of a GEMM: broadcast once, and reused for all vectors of weights */
typedef vf ve;
static inline ve ve_load(const float *p)
{
    return v_set1(*p);
}
static inline vf ve_fma(ve x, vf b, vf c)
{
    return v_fma(x, b, c);
}

static inline vi vi_load(const int32_t *p)
{
    return RILL_MM_INT(loadu)((const vi *)(const void *)p);
}
static inline void vi_store(int32_t *p, vi x)
{
    RILL_MM_INT(storeu)((vi *)(void *)p, x);
}
static inline vi vi_magnitude(vf x)
{
    return RILL_MM_INT(and)((vi)x, vi_set1(0x7fffffff));
}
static inline vf v_load_lower_bf16(const void *p)
{
    return (vf)RILL_MM(slli_epi32)(vi_load(p), 16);
}
/* Per lane: the float whose sign and exponent are the low 9 bits of x. */
static inline vf v_low_bits_as_exponent(vf x)
{
    return (vf)RILL_MM(slli_epi32)((vi)x, 23);
}
