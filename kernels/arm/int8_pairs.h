/* The tile of vector/gemm_u8s8.c for two or more rows, with i8mm's matrix multiply (smmla). The sums of a pair of rows share registers. An
 * odd last row is computed twice. */
#pragma once

#define MAX_PAIRS 3
#define PAIRS(X) X(0, 0, 1) X(1, 2, 3) X(2, 4, 5)
#define QUADS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define QUADS2(X, p, i, i2) \
    X(p, i, i2, 0)          \
    X(p, i, i2, 1) X(p, i, i2, 2) X(p, i, i2, 3) X(p, i, i2, 4) X(p, i, i2, 5) X(p, i, i2, 6) X(p, i, i2, 7)

/* Sums of row pair p and quad j: l has the first two columns, h the last two. */
#define DECLARE_PAIR(p, i, i2, j) int32x4_t l##p##j = vdupq_n_s32(0), h##p##j = l##p##j;
#define DECLARE_PAIRS(p, i, i2) QUADS2(DECLARE_PAIR, p, i, i2)
#define POINT_PAIR(p, i, i2)                                  \
    const element *const a##i = (i) < mr ? t->q[i] : t->q[0]; \
    const element *const a##i2 = (i2) < mr ? t->q[i2] : a##i;
#define READ_PAIR(p, i, i2) \
    const int8x16_t r##p = (i) < mr ? vcombine_s8(vld1_s8(a##i + k), vld1_s8(a##i2 + k)) : vdupq_n_s8(0);
#define MULTIPLY_PAIR(p, j)                         \
    if (2 * (p) < mr) {                             \
        l##p##j = vmmlaq_s32(l##p##j, r##p, left);  \
        h##p##j = vmmlaq_s32(h##p##j, r##p, right); \
    }
#define QUAD_AT(j, u) vreinterpretq_s32_s8(load_int8_weights(LINE_AT(j, u)))
#define MULTIPLY_QUAD(j)                                                             \
    if ((j) < wide) {                                                                \
        const int32x4_t x = QUAD_AT(j, 0), y = two ? QUAD_AT(j, 1) : vdupq_n_s32(0); \
        const int8x16_t left = vreinterpretq_s8_s32(vzip1q_s32(x, y));               \
        const int8x16_t right = vreinterpretq_s8_s32(vzip2q_s32(x, y));              \
        MULTIPLY_PAIR(0, j) MULTIPLY_PAIR(1, j) MULTIPLY_PAIR(2, j)                  \
    }
/* Multiply eight consecutive k of all rows. If `two` is 0, the last four are past K and count as 0. */
#define STEP_PAIRS(what)      \
    {                         \
        const int two = what; \
        PAIRS(READ_PAIR)      \
        QUADS(MULTIPLY_QUAD)  \
    }
#define PUT_PAIR(p, i, i2, j)                                                                                       \
    if ((i) < mr && (j) < wide) {                                                                                   \
        vst1q_s32(sums[i] + 4 * (j), vcombine_s32(vget_low_s32(l##p##j), vget_low_s32(h##p##j)));                   \
        if ((i2) < mr) vst1q_s32(sums[i2] + 4 * (j), vcombine_s32(vget_high_s32(l##p##j), vget_high_s32(h##p##j))); \
    }
#define PUT_PAIRS(p, i, i2) QUADS2(PUT_PAIR, p, i, i2)

RILL_INLINE void tile_of_pairs(const strip *s, const tile_rows *t, const int mr, const int nv)
{
    const char *w = s->w;
    const size_t block_stride = s->block_stride, count = s->k[0] + s->k[1];
    const int wide = nv * PER_VECTOR;
    int32_t sums[2 * MAX_PAIRS][WIDE];
    size_t k = 0;
    PAIRS(DECLARE_PAIRS)
    PAIRS(POINT_PAIR)
    for (; k + 8 <= count; k += 8, w += 2 * LINE) STEP_PAIRS(1)
    if (k < count) STEP_PAIRS(k + 4 < count)
    PAIRS(PUT_PAIRS)
    store_products(s, t, sums, mr, nv);
}
