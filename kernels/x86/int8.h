/* int8 primitives of vector/gemm_u8s8.c in AVX-512 VNNI and AVX2.
 *
 * VNNI: rows are bytes offset by 128, since vpdpbusd needs an unsigned operand. AVX2: 16-bit rows and weights, since vpmaddwd is exact
 * where vpmaddubsw saturates. */
#pragma once

typedef vi isum;
typedef vi iweights;
typedef vi irow;

RILL_INLINE isum isum_zero(void)
{
    return vi_set1(0);
}

#if defined(RILL_VEC_VNNI)
typedef uint8_t element;
#define PER_VECTOR 1
#define RATE 400.0

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
/* store_elements() of four vectors with a third of the instructions: pack within 128-bit lanes, then permute dwords. */
RILL_INLINE void store_four(element *to, vi a, vi b, vi c, vi d)
{
    const vi order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const vi bytes = _mm512_packs_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
    _mm512_storeu_si512(to, _mm512_xor_si512(_mm512_permutexvar_epi32(order, bytes), _mm512_set1_epi8(-128)));
}
#else
typedef int16_t element;
#define PER_VECTOR 2
#define RATE 50.0

RILL_INLINE isum accumulate(isum sum, irow row, iweights w)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(row, w));
}
RILL_INLINE irow load_int8_row(const element *p)
{
    int64_t four;
    memcpy(&four, p, sizeof four);
    return _mm256_set1_epi64x(four);
}
RILL_INLINE iweights load_int8_weights(const char *p)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}
RILL_INLINE void store_elements(element *to, vi x)
{
    const __m128i low = _mm256_castsi256_si128(x), high = _mm256_extracti128_si256(x, 1);
    _mm_storeu_si128((__m128i *)(void *)to, _mm_packs_epi32(low, high));
}
/* Return the sums of 8 columns. Each of the two accumulators holds two partial sums for each of 4 columns. */
RILL_INLINE vi join(isum even, isum odd)
{
    return _mm256_permute4x64_epi64(_mm256_hadd_epi32(even, odd), 0xd8);
}
#endif
