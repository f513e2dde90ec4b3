/* int8_vnni.h: the int8 primitives of vector/gemm_u8s8.c in AVX-512 VNNI. Rows are bytes offset by 128, since vpdpbusd
 * needs one unsigned operand. One instruction adds 4 products per lane. */
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
RILL_INLINE irow load_int8_row(const element *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm512_set1_epi32(four);
}
RILL_INLINE iweights load_int8_weights(const char *p)
{
    return _mm512_loadu_si512(p);
}
RILL_INLINE void store_elements(element *to, vi x)
{
    _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8(_mm512_add_epi32(x, _mm512_set1_epi32(128))));
}
/* store_elements for four vectors, with a third of the instructions: pack within 128-bit lanes, then permute dwords. */
RILL_INLINE void store_four(element *to, vi a, vi b, vi c, vi d)
{
    const vi order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const vi bytes = _mm512_packs_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
    _mm512_storeu_si512(to, _mm512_xor_si512(_mm512_permutexvar_epi32(order, bytes), _mm512_set1_epi8(-128)));
}

#endif
