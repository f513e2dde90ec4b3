/* Vector primitives of the kernels in vector/, and functions built from them.
 *
 * Each file of vector/ is compiled once per instruction set, whose header in x86/ or arm/ defines
 *   VL lanes of a vector, RILL_FN(op) the name of op for this instruction set
 *   vf VL floats   vi VL int32   vm a lane predicate   v4 four floats
 *   ve a float of a row of A, multiplied by vectors of weights: ve_load(p), ve_fma(x, b, c) x*b + c
 *   vm_first(n)                  the first n lanes, all if n >= VL
 *   v_load_first, v_store_first  read or write only the first n lanes; the others are read as zero
 *   v_max(a, b), v_min(a, b)     b if either is NaN: so v_max(limit, x) keeps a NaN x
 *   v_fma(a, b, c) a*b + c       v_fnma(a, b, c) c - a*b
 *   v_not_less(a, b)             a >= b, or either NaN
 *   v_scale2(x, n)               x * 2^n    v_minus_abs(x) -|x|
 *   v_store_packed(p, bits, x)   compress the lanes in bits to p; VL floats at p are overwritten
 *   v_load_lower_bf16(p)         VL pairs of bf16 at p: the first of each as fp32; _upper_: the second
 *   vi_magnitude(x)              the bits of |x|, which compare as integers, a NaN above all
 *   vi_nearest(x)                round x to integer, ties to even
 *   v_fold_sum(x), v_fold_max(x) fold the upper half of x onto the lower half until four lanes are left
 *   v4_sum(x), v4_max(x)         lanes (0+2)+(1+3), and the same for the maximum; v4_sum4(a, b, c, d) four such sums
 *
 * Invariant: results do not depend on the lane. Tails use predicates and the same instructions. Sums over lanes use one fixed tree
 * (v_sum).
 *
 * exp reduces to |r| <= ln2/2, then a polynomial of degree 6, fitted by a Remez exchange for exp and expm1. tanh = expm1(2x) / (expm1(2x)
 * + 2). Error bounds: docs/kernels.md. */
#pragma once

#include <math.h>

#include "../internal.h"

#if defined(RILL_VEC_NEON)
#include "../arm/vec_neon.h"
#elif defined(RILL_VEC_AVX512)
#include "../x86/vec_avx512.h"
#else
#include "../x86/vec_avx2.h"
#endif

#define RILL_INLINE static inline __attribute__((always_inline))

/* Return the sum over the lanes. v_hmax() returns their maximum, for vectors without NaN. */
RILL_INLINE float v_sum(vf x)
{
    return v4_sum(v_fold_sum(x));
}
RILL_INLINE float v_hmax(vf x)
{
    return v4_max(v_fold_max(x));
}

/* Return the largest lane as a float. The lanes must be the bit patterns of non-negative floats. */
RILL_INLINE float vi_hmax_as_float(vi x)
{
    const int32_t max = vi_hmax(x);
    float value;
    memcpy(&value, &max, sizeof value);
    return value;
}

/* v_sum of four vectors at once, bit-identical to v_sum of each: the tree of additions is the same. */
RILL_INLINE v4 v_sum4(vf a, vf b, vf c, vf d)
{
    return v4_sum4(v_fold_sum(a), v_fold_sum(b), v_fold_sum(c), v_fold_sum(d));
}

/* v_sum of VL vectors at once: lane 4h + t of the result is the sum of x[t][h], added in v_sum's tree. */
RILL_INLINE vf v_sum_heads(const vf x[4][VL / 4])
{
    const vf a = v_fold_heads(x[0]), b = v_fold_heads(x[1]), c = v_fold_heads(x[2]), d = v_fold_heads(x[3]);
    const vf ab = v_add(v_lower_pairs(a, b), v_upper_pairs(a, b)), cd = v_add(v_lower_pairs(c, d), v_upper_pairs(c, d));
    return v_add(v_even_lanes(ab, cd), v_odd_lanes(ab, cd));
}

/* Return the sum over each group of four lanes, broadcast within the group; the next function does the same for the maximum. */
RILL_INLINE vf v_sum_quads(vf x)
{
    const vf y = v_add(x, v_upper_pairs(x, x)), z = v_lower_pairs(y, y);
    return v_add(v_even_lanes(z, z), v_odd_lanes(z, z));
}
RILL_INLINE vf v_max_quads(vf x)
{
    const vf y = v_max(v_lower_pairs(x, x), v_upper_pairs(x, x));
    return v_max(v_even_lanes(y, y), v_odd_lanes(y, y));
}

/* Load the first n lanes at p, or all if n >= VL: a masked load of a whole vector may be slower than a plain one. */
RILL_INLINE vf v_load_n(const float *p, size_t n)
{
    return n >= VL ? v_load(p) : v_load_first(n, p);
}
RILL_INLINE void v_store_n(float *p, size_t n, vf x)
{
    if (n >= VL)
        v_store(p, x);
    else
        v_store_first(n, p, x);
}

/* ---- exp, tanh, sigmoid ---------------------------------------------------------------------------------- */

/* Split x into n ln2 + r; returns n and sets *r. r is exact to the last bit for |n| <= 150. */
RILL_INLINE vf v_reduce_ln2(vf x, vf *r)
{
    const vf n = v_round(v_mul(x, v_set1(1.44269504f)));
    *r = v_fnma(n, v_set1(-1.90465432e-9f), v_fnma(n, v_set1(0.693147182f), x));
    return n;
}

/* Return e^r - 1 for |r| <= ln2/2. */
RILL_INLINE vf v_expm1_core(vf r)
{
    vf q = v_set1(0.00139464508f);
    q = v_fma(q, r, v_set1(0.00836658385f));
    q = v_fma(q, r, v_set1(0.0416662805f));
    q = v_fma(q, r, v_set1(0.166665435f));
    q = v_fma(q, r, v_set1(0.5f));
    return v_fma(v_mul(r, r), q, r);
}

/* Return e^x. x is clamped first: beyond the clamps the result is 0 or infinity anyway. NaN stays NaN. */
RILL_INLINE vf v_exp(vf x)
{
    vf r;
    x = v_max(v_set1(-105.0f), v_min(v_set1(89.0f), x));
    const vf n = v_reduce_ln2(x, &r);
    return v_scale2(v_add(v_set1(1.0f), v_expm1_core(r)), n);
}

/* Return sum + e^x for x <= 0, cheaper and less accurate than v_exp: 1.5e-7 relative near 0, 1e-7 |x| further out.
 *
 * With t = x log2 e, adding 1.5 * 2^23 + 127 leaves the exponent round(t) + 127 in the low bits; a polynomial 1 + f q(f) gives the
 * fraction. e^x is exactly 1 at 0 and at least 2^-126. NaN stays NaN. */
RILL_INLINE vf v_add_exp(vf sum, vf x)
{
    const vf magic = v_set1(12583039.0f), t = v_max(v_set1(-126.0f), v_mul(x, v_set1(1.44269504f)));
    const vf n = v_add(t, magic), f = v_sub(t, v_sub(n, magic));
    vf q = v_set1(0.00132647308f);
    q = v_fma(q, f, v_set1(0.0096715102f));
    q = v_fma(q, f, v_set1(0.0555073358f));
    q = v_fma(q, f, v_set1(0.240222424f));
    q = v_fma(q, f, v_set1(0.693147004f));
    return v_fma(v_fma(q, f, v_set1(1.0f)), v_low_bits_as_exponent(n), sum);
}

/* A quotient over / under whose division is deferred: the product of two quotients then costs one division instead of two. */
typedef struct v_ratio {
    vf over, under;
} v_ratio;

RILL_INLINE vf v_value(v_ratio x)
{
    return v_div(x.over, x.under);
}

RILL_INLINE v_ratio v_product(v_ratio x, v_ratio y)
{
    return (v_ratio){v_mul(x.over, y.over), v_mul(x.under, y.under)};
}

/* Return sigmoid(x) as a quotient with a denominator in [1, 2]. e^-|x| keeps the relative accuracy of both tails. */
RILL_INLINE v_ratio v_sigmoid_ratio(vf x)
{
    const vf e = v_exp(v_minus_abs(x)), one = v_set1(1.0f);
    return (v_ratio){v_blend(v_gt(v_zero(), x), e, one), v_add(one, e)};
}

/* Return tanh(x) = expm1(2x) / (expm1(2x) + 2) as a quotient. The denominator is in [1, 5e8]. */
RILL_INLINE v_ratio v_tanh_ratio(vf x)
{
    vf r;
    const vf y = v_max(v_set1(-20.0f), v_min(v_set1(20.0f), v_add(x, x)));
    const vf n = v_reduce_ln2(y, &r), s = v_pow2(n);
    const vf t = v_fma(v_expm1_core(r), s, v_sub(s, v_set1(1.0f)));
    return (v_ratio){t, v_add(t, v_set1(2.0f))};
}

RILL_INLINE vf v_sigmoid(vf x)
{
    return v_value(v_sigmoid_ratio(x));
}

RILL_INLINE vf v_tanh(vf x)
{
    return v_value(v_tanh_ratio(x));
}

/* Return x * sigmoid(x). */
RILL_INLINE vf v_swish(vf x)
{
    const v_ratio s = v_sigmoid_ratio(x);
    return v_div(v_mul(x, s.over), s.under);
}

/* Return x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)): equal to x (1 + tanh(..)) / 2, without cancellation in the tail. */
RILL_INLINE vf v_gelu_tanh(vf x)
{
    const vf u = v_fma(v_mul(x, x), v_set1(0.07135481627f), v_set1(1.595769122f));
    const v_ratio s = v_sigmoid_ratio(v_mul(x, u));
    return v_div(v_mul(x, s.over), s.under);
}

/* Return x * sigmoid(1.702 x). */
RILL_INLINE vf v_gelu_sigmoid(vf x)
{
    const v_ratio s = v_sigmoid_ratio(v_mul(x, v_set1(1.702f)));
    return v_div(v_mul(x, s.over), s.under);
}

/* Return x Phi(x), with Phi(-|x|) = erfc(|x| / sqrt 2) / 2 after Abramowitz and Stegun 7.1.26 (absolute error 0.75e-7). */
RILL_INLINE vf v_gelu(vf x)
{
    const vf a = v_mul(v_minus_abs(x), v_set1(0.707106781f)), one = v_set1(1.0f);
    const vf t = v_div(one, v_fnma(a, v_set1(0.3275911f), one));
    vf q = v_set1(0.5307027145f);
    q = v_fma(q, t, v_set1(-0.7265760135f));
    q = v_fma(q, t, v_set1(0.7107068705f));
    q = v_fma(q, t, v_set1(-0.142248368f));
    q = v_fma(q, t, v_set1(0.127414796f));
    const vf tail = v_mul(v_mul(q, t), v_exp(v_fnma(a, a, v_zero())));
    return v_blend(v_gt(x, v_zero()), v_fnma(x, tail, x), v_mul(x, tail));
}

RILL_INLINE vf v_relu(vf x)
{
    return v_max(v_zero(), x);
}

RILL_INLINE vf v_linear(vf x)
{
    return x;
}

/* y[i] = activation(x[i]) for i < n; y == x is legal. */
RILL_INLINE void activate(rill_activation activation, size_t n, const float *x, float *y)
{
    switch (activation) {
#define CASE(NAME, name)                                                                              \
    case RILL_##NAME:                                                                                 \
        for (size_t i = 0; i < n; i += VL) v_store_n(y + i, n - i, v_##name(v_load_n(x + i, n - i))); \
        break;
        RILL_ACTIVATIONS(CASE)
#undef CASE
    }
}

/* ---- operations of this instruction set ------------------------------------------------------------------- */

void RILL_FN(rill_gemm)(const rill_gemm *g, rill_pool *pool);
void RILL_FN(rill_gemm_u8s8)(const rill_gemm *g, rill_pool *pool);
/* Quantise rows [begin, end) of the quant_job (gemm.h) `job`. */
void RILL_FN(rill_quantise_rows)(const void *job, size_t begin, size_t end);
#if defined(RILL_SET_BELOW)
void RILL_SET_BELOW(rill_gemm)(const rill_gemm *g, rill_pool *pool);
#endif
#if defined(RILL_SET_INT8)
void RILL_SET_INT8(rill_gemm_u8s8)(const rill_gemm *g, rill_pool *pool);
#endif
void RILL_FN(rill_attention_f32)(const rill_attention *a, rill_pool *pool);
void RILL_FN(rill_best_f32)(const rill_best *b, rill_pool *pool);
