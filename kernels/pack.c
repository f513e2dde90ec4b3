/* pack.c: packs N x K weights into the blocks that the GEMM kernels read. internal.h describes the layouts. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "internal.h"

/* ---- sizes ----------------------------------------------------------------------------------------------- */

size_t rill_gemm_pack_size(size_t n, size_t k, rill_dtype dtype)
{
    const size_t blocks = rill_block_count(n);
    const size_t channels = dtype == RILL_DTYPE_U8S8 ? RILL_BLOCK * (sizeof(float) + sizeof(int32_t)) : 0;
    if (dtype != RILL_DTYPE_F32 && dtype != RILL_DTYPE_BF16 && dtype != RILL_DTYPE_U8S8) return 0;
    if (dtype == RILL_DTYPE_U8S8 && k > RILL_QUANT_MAX_K) return 0;
    if (k > SIZE_MAX / 64 - channels - 4) return 0;
    const size_t each = rill_block_bytes(k, dtype) + channels;
    return each != 0 && blocks > SIZE_MAX / each ? 0 : blocks * each;
}

size_t rill_gemm_scratch_size(const rill_weights *w, size_t rows)
{
    if (w->dtype == RILL_DTYPE_F32 || rows == 0) return 0;
    if (rows > RILL_QUANT_ROWS) rows = RILL_QUANT_ROWS;
    if (w->dtype == RILL_DTYPE_BF16) return rows * rill_quant_stride(w->k, sizeof(uint16_t));
    return RILL_QUANT_ROWS * sizeof(float) + rows * rill_quant_stride(w->k, sizeof(int16_t));
}

/* The weights of outputs first to first + columns - 1, which are packed into one block. */
typedef struct source {
    const float *w; /* weights of output `first`; those of the next output begin `stride` floats further on */
    size_t stride, k, columns;
} source;

/* ---- fp32 ------------------------------------------------------------------------------------------------ */

static void pack_f32(const source *s, float *to)
{
    for (size_t k = 0; k < s->k; k++, to += RILL_BLOCK)
        for (size_t j = 0; j < s->columns; j++) to[j] = s->w[j * s->stride + k];
}

/* ---- bf16 ------------------------------------------------------------------------------------------------ */

uint16_t rill_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void pack_bf16(const source *s, uint16_t *to)
{
    for (size_t k = 0; k < s->k; k++) {
        uint16_t *line = to + k / 2 * 2 * RILL_BLOCK + k % 2;
        for (size_t j = 0; j < s->columns; j++) line[2 * j] = rill_bf16(s->w[j * s->stride + k]);
    }
}

/* ---- int8 ------------------------------------------------------------------------------------------------ */

static rill_quant column_quant(const float *w, size_t k)
{
    float max = 0.0f;
    for (size_t i = 0; i < k; i++) {
        const float x = fabsf(w[i]);
        if (x != x) return rill_quant_for(x);
        if (x > max) max = x;
    }
    return rill_quant_for(max);
}

static void pack_u8s8(const source *s, int8_t *to, float *scale, int32_t *offset)
{
    for (size_t j = 0; j < s->columns; j++) {
        const float *w = s->w + j * s->stride;
        const rill_quant q = column_quant(w, s->k);
        int32_t sum = 0;
        for (size_t k = 0; k < s->k; k++) {
            const int8_t x = q.inverse > 0.0f ? (int8_t)lrintf(w[k] * q.inverse) : 0;
            to[k / 4 * 4 * RILL_BLOCK + 4 * j + k % 4] = x;
            sum += x;
        }
        scale[j] = q.scale;
        offset[j] = -128 * sum;
    }
}

/* ---- all weight types ------------------------------------------------------------------------------------ */

int rill_gemm_pack_f32(rill_weights *w, size_t n, size_t k, const float *from, size_t stride, rill_dtype dtype,
                       void *mem)
{
    assert(n >= 1 && k >= 1 && mem);
    const size_t bytes = rill_gemm_pack_size(n, k, dtype), block = rill_block_bytes(k, dtype);
    memset(w, 0, sizeof *w);
    if (bytes == 0) return -1;

    *w = (rill_weights){.data = mem, .n = n, .k = k, .dtype = dtype};
    memset(mem, 0, bytes);
    for (size_t first = 0; first < n; first += RILL_BLOCK) {
        const source s = {from + first * stride, stride, k, n - first < RILL_BLOCK ? n - first : RILL_BLOCK};
        void *to = (char *)mem + first / RILL_BLOCK * block;
        if (dtype == RILL_DTYPE_F32)
            pack_f32(&s, to);
        else if (dtype == RILL_DTYPE_BF16)
            pack_bf16(&s, to);
        else
            pack_u8s8(&s, to, (float *)(uintptr_t)rill_channel_scales(w) + first,
                      (int32_t *)(uintptr_t)rill_channel_offsets(w) + first);
    }
    return 0;
}
