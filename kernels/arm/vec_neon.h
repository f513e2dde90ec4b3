/* Primitives of vector/vec.h in AArch64 NEON. A vector is two registers of four floats. Rounding and sums are as on AVX2, so the bits are
 * equal. */
#pragma once

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#define VL 8
#if defined(RILL_VEC_I8MM)
#define RILL_FN(op) op##_neon_i8mm
#define RILL_SET RILL_ISA_NEON_I8MM
#define RILL_SET_NAME "neon-i8mm"
/* the name of a function of NEON, the instruction set below. This set adds only an int8 GEMM */
#define RILL_SET_BELOW(op) op##_neon
#elif defined(RILL_VEC_DOTPROD)
#define RILL_FN(op) op##_neon_dotprod
#define RILL_SET RILL_ISA_NEON_DOTPROD
#define RILL_SET_NAME "neon-dotprod"
#define RILL_SET_BELOW(op) op##_neon
#else
#define RILL_FN(op) op##_neon
#define RILL_SET RILL_ISA_NEON
#define RILL_SET_NAME "neon" /* this set has no int8 GEMM: the function table keeps plain C's */
#endif

typedef float32x4_t v4;
typedef struct vf {
    float32x4_t low, high;
} vf;
typedef struct vi {
    int32x4_t low, high;
} vi;
typedef struct vm {
    uint32x4_t low, high; /* in each lane, all bits are set (true) or clear (false) */
} vm;

/* Define the vector primitive `word`, which applies `operation` to both halves. */
#define BOTH1(type, word, parameter, operation)             \
    static inline type word(parameter x)                    \
    {                                                       \
        return (type){operation(x.low), operation(x.high)}; \
    }
#define BOTH2(type, word, parameter, operation)                            \
    static inline type word(parameter a, parameter b)                      \
    {                                                                      \
        return (type){operation(a.low, b.low), operation(a.high, b.high)}; \
    }

/* ---- four floats ----------------------------------------------------------------------------------------- */

static inline v4 v4_add(v4 a, v4 b)
{
    return vaddq_f32(a, b);
}
static inline v4 v4_larger(v4 a, v4 b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}
static inline v4 v4_smaller(v4 a, v4 b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}
static inline void v4_store_scaled(float *p, v4 x, float scale)
{
    vst1q_f32(p, vmulq_n_f32(x, scale));
}
static inline float v4_sum(v4 x)
{
    return vpadds_f32(vadd_f32(vget_low_f32(x), vget_high_f32(x)));
}
static inline float v4_max(v4 x)
{
    const v4 y = v4_larger(x, vextq_f32(x, x, 2)), z = v4_larger(y, vextq_f32(y, y, 1));
    return vgetq_lane_f32(z, 0);
}
static inline v4 v4_pairs(v4 a, v4 b) /* returns a0 a1 b0 b1 */
{
    return vcombine_f32(vget_low_f32(a), vget_low_f32(b));
}
static inline v4 v4_upper(v4 a, v4 b) /* returns a2 a3 b2 b3 */
{
    return vcombine_f32(vget_high_f32(a), vget_high_f32(b));
}
static inline v4 v4_sum4(v4 w, v4 x, v4 y, v4 z)
{
    const v4 a = vaddq_f32(v4_pairs(w, x), v4_upper(w, x)), b = vaddq_f32(v4_pairs(y, z), v4_upper(y, z));
    return vaddq_f32(vuzp1q_f32(a, b), vuzp2q_f32(a, b));
}

/* ---- floats ---------------------------------------------------------------------------------------------- */

static inline vf v_set1(float x)
{
    return (vf){vdupq_n_f32(x), vdupq_n_f32(x)};
}
static inline vf v_zero(void)
{
    return v_set1(0.0f);
}
static inline vf v_load(const float *p)
{
    return (vf){vld1q_f32(p), vld1q_f32(p + 4)};
}
static inline void v_store(float *p, vf x)
{
    vst1q_f32(p, x.low);
    vst1q_f32(p + 4, x.high);
}
BOTH2(vf, v_add, vf, vaddq_f32)
BOTH2(vf, v_sub, vf, vsubq_f32)
BOTH2(vf, v_mul, vf, vmulq_f32)
BOTH2(vf, v_div, vf, vdivq_f32)
BOTH2(vf, v_max, vf, v4_larger)
BOTH2(vf, v_min, vf, v4_smaller)
BOTH1(vf, v_round, vf, vrndnq_f32)
static inline vf v_fma(vf a, vf b, vf c)
{
    return (vf){vfmaq_f32(c.low, a.low, b.low), vfmaq_f32(c.high, a.high, b.high)};
}
static inline vf v_fnma(vf a, vf b, vf c)
{
    return (vf){vfmsq_f32(c.low, a.low, b.low), vfmsq_f32(c.high, a.high, b.high)};
}
static inline v4 v4_minus_abs(v4 x)
{
    return vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(x), vdupq_n_u32(0x80000000u)));
}
BOTH1(vf, v_minus_abs, vf, v4_minus_abs)

/* A float of a row of A, the left matrix of a GEMM, in one lane: multiply-by-lane instructions need no broadcast. */
typedef float32x2_t ve;
static inline ve ve_load(const float *p)
{
    return vld1_lane_f32(p, vdup_n_f32(0.0f), 0);
}
static inline vf ve_fma(ve x, vf b, vf c)
{
    return (vf){vfmaq_lane_f32(c.low, b.low, x, 0), vfmaq_lane_f32(c.high, b.high, x, 0)};
}

/* Load n <= 3 floats without reading past them. */
static inline v4 v4_load_some(const float *p, size_t n)
{
    v4 x = vdupq_n_f32(0.0f);
    if (n >= 1) x = vld1q_lane_f32(p, x, 0);
    if (n >= 2) x = vld1q_lane_f32(p + 1, x, 1);
    if (n >= 3) x = vld1q_lane_f32(p + 2, x, 2);
    return x;
}
static inline void v4_store_some(float *p, size_t n, v4 x)
{
    if (n >= 1) vst1q_lane_f32(p, x, 0);
    if (n >= 2) vst1q_lane_f32(p + 1, x, 1);
    if (n >= 3) vst1q_lane_f32(p + 2, x, 2);
}
static inline vf v_load_first(size_t n, const float *p)
{
    if (n >= VL) return v_load(p);
    if (n < 4) return (vf){v4_load_some(p, n), vdupq_n_f32(0.0f)};
    return (vf){vld1q_f32(p), v4_load_some(p + 4, n - 4)};
}
static inline void v_store_first(size_t n, float *p, vf x)
{
    if (n >= VL) {
        v_store(p, x);
    } else if (n < 4) {
        v4_store_some(p, n, x.low);
    } else {
        vst1q_f32(p, x.low);
        v4_store_some(p + 4, n - 4, x.high);
    }
}

/* ---- integers -------------------------------------------------------------------------------------------- */

static inline vi vi_set1(int32_t x)
{
    return (vi){vdupq_n_s32(x), vdupq_n_s32(x)};
}
static inline vi vi_load(const int32_t *p)
{
    return (vi){vld1q_s32(p), vld1q_s32(p + 4)};
}
static inline void vi_store(int32_t *p, vi x)
{
    vst1q_s32(p, x.low);
    vst1q_s32(p + 4, x.high);
}
static inline vi vi_lanes(void)
{
    static const int32_t lanes[VL] = {0, 1, 2, 3, 4, 5, 6, 7};
    return vi_load(lanes);
}
static inline int32x4_t v4_magnitude(v4 x)
{
    return vandq_s32(vreinterpretq_s32_f32(x), vdupq_n_s32(0x7fffffff));
}
static inline int32x4_t v4_count(int32x4_t n, uint32x4_t m)
{
    return vsubq_s32(n, vreinterpretq_s32_u32(m));
}
BOTH2(vi, vi_add, vi, vaddq_s32)
BOTH2(vi, vi_max, vi, vmaxq_s32)
BOTH2(vm, vi_gt, vi, vcgtq_s32)
BOTH1(vi, vi_nearest, vf, vcvtnq_s32_f32)
BOTH1(vf, v_from_int, vi, vcvtq_f32_s32)
BOTH1(vi, vi_magnitude, vf, v4_magnitude)
static inline int32_t vi_hmax(vi x)
{
    return vmaxvq_s32(vmaxq_s32(x.low, x.high));
}
static inline vi vi_count(vi n, vm m)
{
    return (vi){v4_count(n.low, m.low), v4_count(n.high, m.high)};
}

/* ---- bits of floats -------------------------------------------------------------------------------------- */

static inline v4 v4_raise16(uint32x4_t x)
{
    return vreinterpretq_f32_u32(vshlq_n_u32(x, 16));
}
static inline v4 v4_upper16(uint32x4_t x)
{
    return vreinterpretq_f32_u32(vandq_u32(x, vdupq_n_u32(0xffff0000u)));
}
static inline vm v_load_words(const void *p)
{
    return (vm){vld1q_u32(p), vld1q_u32((const uint32_t *)p + 4)};
}
BOTH1(vf, v_raise16, vm, v4_raise16)
BOTH1(vf, v_upper16, vm, v4_upper16)
static inline vf v_load_lower_bf16(const void *p)
{
    return v_raise16(v_load_words(p));
}
static inline vf v_load_upper_bf16(const void *p)
{
    return v_upper16(v_load_words(p));
}
/* Per lane: the float whose sign and exponent are the low 9 bits of x. */
static inline v4 v4_low_bits_as_exponent(v4 x)
{
    return vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(x), 23));
}
BOTH1(vf, v_low_bits_as_exponent, vf, v4_low_bits_as_exponent)

static inline v4 v4_power(int32x4_t n)
{
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
}
BOTH1(vf, v_power, vi, v4_power)
/* Return 2^n for integral |n| <= 126. The exponent field of the float is built by hand. */
static inline vf v_pow2(vf n)
{
    return v_power(vi_nearest(n));
}
/* Return x * 2^n for integral n in [-152, 128]. 2^n may not be a float, so x is multiplied by two powers. */
static inline vf v_scale2(vf x, vf n)
{
    const vi whole = vi_nearest(n), half = {vshrq_n_s32(whole.low, 1), vshrq_n_s32(whole.high, 1)};
    const vi rest = {vsubq_s32(whole.low, half.low), vsubq_s32(whole.high, half.high)};
    return v_mul(v_mul(x, v_power(half)), v_power(rest));
}

/* ---- predicates ------------------------------------------------------------------------------------------ */

static inline uint32x4_t v4_not_less(v4 a, v4 b)
{
    return vmvnq_u32(vcltq_f32(a, b));
}
BOTH2(vm, v_gt, vf, vcgtq_f32)
BOTH2(vm, v_ge, vf, vcgeq_f32)
BOTH2(vm, v_not_less, vf, v4_not_less)
BOTH2(vm, vm_and, vm, vandq_u32)
BOTH2(vm, vm_or, vm, vorrq_u32)
static inline vf v_blend(vm m, vf yes, vf no)
{
    return (vf){vbslq_f32(m.low, yes.low, no.low), vbslq_f32(m.high, yes.high, no.high)};
}
static inline vm vm_first(size_t n)
{
    return vi_gt(vi_set1(n > VL ? VL : (int32_t)n), vi_lanes());
}
static inline vm vm_bits(unsigned bits)
{
    static const uint32_t each[VL] = {1, 2, 4, 8, 16, 32, 64, 128};
    const uint32x4_t all = vdupq_n_u32(bits);
    return (vm){vtstq_u32(all, vld1q_u32(each)), vtstq_u32(all, vld1q_u32(each + 4))};
}
static inline unsigned vm_to_bits(vm m)
{
    static const uint16_t each[VL] = {1, 2, 4, 8, 16, 32, 64, 128};
    return vaddvq_u16(vandq_u16(vcombine_u16(vmovn_u32(m.low), vmovn_u32(m.high)), vld1q_u16(each)));
}

/* Store lane by lane: NEON has no compress instruction, and `bits` usually selects few lanes. */
static inline void v_store_packed(float *p, unsigned bits, vf x)
{
    float each[VL];
    v_store(each, x);
    for (; bits; bits &= bits - 1) *p++ = each[__builtin_ctz(bits)];
}
static inline void vi_store_packed(int32_t *p, unsigned bits, vi x)
{
    int32_t each[VL];
    vi_store(each, x);
    for (; bits; bits &= bits - 1) *p++ = each[__builtin_ctz(bits)];
}

/* ---- across lanes ---------------------------------------------------------------------------------------- */

static inline v4 v_fold_sum(vf x)
{
    return vaddq_f32(x.low, x.high);
}
static inline v4 v_fold_max(vf x)
{
    return v4_larger(x.low, x.high);
}

/* In every group of four lanes: two lanes of a, then the same two of b: 0 1 (lower), 2 3 (upper), 0 2 (even), 1 3 (odd). */
BOTH2(vf, v_lower_pairs, vf, v4_pairs)
BOTH2(vf, v_upper_pairs, vf, v4_upper)
BOTH2(vf, v_even_lanes, vf, vuzp1q_f32)
BOTH2(vf, v_odd_lanes, vf, vuzp2q_f32)

/* Part of v_sum_heads (vec.h): fold each of two vectors to four lanes, and join the results in one vector. */
static inline vf v_fold_heads(const vf x[2])
{
    return (vf){v_fold_sum(x[0]), v_fold_sum(x[1])};
}

#undef BOTH1
#undef BOTH2
