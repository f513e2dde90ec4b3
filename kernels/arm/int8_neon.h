/* int8 primitives of vector/gemm_u8s8.c with AArch64 dot products (sdot). Quantised values are signed bytes. A register holds the sums of
 * four columns. */
#pragma once

typedef int8_t element;
#define PER_VECTOR 2
#define RATE 200.0

typedef int32x4_t isum;
typedef int8x16_t iweights;
typedef int8x8_t irow;

RILL_INLINE isum isum_zero(void)
{
    return vdupq_n_s32(0);
}
RILL_INLINE iweights load_int8_weights(const char *p)
{
    return vld1q_s8((const int8_t *)p);
}
RILL_INLINE vi join(isum left, isum right)
{
    return (vi){left, right};
}
RILL_INLINE void store_elements(element *to, vi x)
{
    vst1_s8(to, vmovn_s16(vcombine_s16(vmovn_s32(x.low), vmovn_s32(x.high))));
}
RILL_INLINE irow load_int8_row(const element *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return vreinterpret_s8_s32((int32x2_t){four, 0});
}
RILL_INLINE isum accumulate(isum sum, irow row, iweights w)
{
    return vdotq_lane_s32(sum, w, row, 0);
}
