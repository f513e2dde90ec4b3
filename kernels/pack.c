/* pack.c: from N x K weights as models store them to the blocks that the gemm kernels walk.
 *
 * The layout is described in internal.h and is the same for every instruction set, so that a model is packed once
 * whatever runs it. Packing happens at load time; clarity comes before speed here, but the inner loop writes
 * sequentially. */
#include <assert.h>
#include <string.h>

#include "internal.h"

size_t rill_gemm_pack_size(size_t n, size_t k, rill_dtype dtype)
{
    if (dtype != RILL_DTYPE_F32) return 0;
    const size_t blocks = rill_block_count(n);
    if (k != 0 && blocks > SIZE_MAX / sizeof(float) / RILL_BLOCK / k) return 0;
    return blocks * RILL_BLOCK * k * sizeof(float);
}

size_t rill_gemm_scratch_size(const rill_weights *w, size_t rows)
{
    (void)w;
    (void)rows;
    return 0;
}

/* One part of one block, `columns` of its 16 below N: `to` is the block's row at the part's first k. */
static void pack_block(float *to, size_t first, size_t columns, const rill_weight_part *part)
{
    for (size_t k = 0; k < part->k; k++, to += RILL_BLOCK) {
        const float *from = part->w + first * part->stride_n + k * part->stride_k;
        for (size_t j = 0; j < columns; j++) to[j] = from[j * part->stride_n];
        for (size_t j = columns; j < RILL_BLOCK; j++) to[j] = 0.0f;
    }
}

int rill_gemm_pack_f32(rill_weights *w, size_t n, const rill_weight_part *parts, size_t count, rill_dtype dtype,
                       void *mem)
{
    memset(w, 0, sizeof *w);
    if (dtype != RILL_DTYPE_F32) return -1;
    size_t k = 0;
    for (size_t i = 0; i < count; i++) k += parts[i].k;
    assert(n >= 1 && k >= 1 && mem);

    for (size_t first = 0; first < n; first += RILL_BLOCK) {
        float *to = (float *)mem + first * k;
        for (size_t j = 0; j < count; j++) {
            pack_block(to, first, n - first < RILL_BLOCK ? n - first : RILL_BLOCK, &parts[j]);
            to += parts[j].k * RILL_BLOCK;
        }
    }
    w->data = mem;
    w->n = n;
    w->k = k;
    w->dtype = dtype;
    return 0;
}
