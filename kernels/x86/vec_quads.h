/* vec_quads.h: the four-float primitives common to all x86 sets; see vec.h. Included by vec_words.h. */
#ifndef RILL_KERNELS_VEC_QUADS_H
#define RILL_KERNELS_VEC_QUADS_H

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

#endif
