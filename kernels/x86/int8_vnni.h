/* int8_vnni.h: the words of vector/gemm_u8s8.c, spelled in AVX-512 with VNNI: rows are bytes raised by 128, as vpdpbusd wants one
 * operand without a sign; 4 products per lane at once. */
#ifndef RILL_KERNELS_INT8_VNNI_H
#define RILL_KERNELS_INT8_VNNI_H

typedef uint8_t element;
#define PER_VECTOR 1
#define RATE 400.0

typedef vi isum;
typedef vi iweights;
typedef vi irow;

RILL_INLINE isum isum_zero(void)
{
    return vi_set1(0);
}
RILL_INLINE isum accumulate(isum sum, irow row, iweights w)
{
    return _mm512_dpbusd_epi32(sum, row, w);
}
RILL_INLINE irow row_at(const element *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm512_set1_epi32(four);
}
RILL_INLINE iweights weights_at(const char *p)
{
    return _mm512_loadu_si512(p);
}
RILL_INLINE void store_elements(element *to, vi x)
{
    _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8(_mm512_add_epi32(x, _mm512_set1_epi32(128))));
}

#endif
