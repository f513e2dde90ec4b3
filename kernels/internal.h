/* Private to kernels/: packed weight layouts, quantisation, division of work, and functions that fill rill_kernels.
 *
 * Packed layout of weights (N x K): blocks of 16 columns of W^T. A block is a sequence of 64-byte lines, k ascending; a line has 4 bytes
 * per column. Columns >= N are zero. Every instruction set reads a block sequentially: a line is one vector of 16 floats or two of 8. The
 * 4 bytes are
 *   F32    one k
 *   BF16   k (even) and k + 1 in the lower and upper half of a 32-bit word; k = K is zero
 *   U8S8   k to k + 3, one byte each; k >= K is zero
 * U8S8 appends per column an fp32 scale, and an int32 offset: -128 times the sum of the bytes. VNNI needs unsigned rows of A, raised by
 * 128; the offset cancels this.
 *
 * Quantising (U8S8): q = round(x * (127 / max)), ties to even; max: largest magnitude of the row of A or the column of W; scale max / 127.
 * If max < RILL_QUANT_MIN_MAGNITUDE, whose inverse may overflow, q and scale are 0. If max is not finite, q is 0 and the scale NaN. Each
 * step is one IEEE operation, so instruction sets agree. K is bounded: sums fit 32 bits.
 *
 * Kernels walk blocks in panels of up to 4, split evenly. */
#pragma once

#include <string.h>

#include "kernels.h"

#define RILL_BLOCK ((size_t)16) /* columns of a block: one cache line, one AVX-512 register */
#define RILL_PANEL_BLOCKS ((size_t)4)
#define RILL_QUANT_MIN_MAGNITUDE 0x1p-100f
#define RILL_QUANT_MAX_K ((size_t)1 << 17) /* 127 * 127 * 2^17 < 2^31 */
#define RILL_QUANT_ROWS ((size_t)RILL_GEMM_QUANT_ROWS)

static inline size_t rill_block_count(size_t n)
{
    return (n + RILL_BLOCK - 1) / RILL_BLOCK;
}

/* Return the size of one block in bytes, a whole number of 64-byte lines. */
static inline size_t rill_block_bytes(size_t k, rill_dtype dtype)
{
    const size_t each = dtype == RILL_DTYPE_U8S8 ? 4 : dtype == RILL_DTYPE_BF16 ? 2 : 1; /* values of k in a line */
    return (k + each - 1) / each * 64;
}

/* Return the packed block that starts at column `first`, which must be a multiple of 16. */
static inline const void *rill_get_block(const rill_weights *w, size_t first)
{
    return (const char *)w->data + first / RILL_BLOCK * rill_block_bytes(w->k, w->dtype);
}

/* F32 weights: return a pointer to the first weight of output n. Its weights for consecutive k are RILL_BLOCK floats apart. */
static inline const float *rill_output_weights(const rill_weights *w, size_t n)
{
    return (const float *)rill_get_block(w, n / RILL_BLOCK * RILL_BLOCK) + n % RILL_BLOCK;
}

/* U8S8 weights: return the scale of each column of W^T, including the columns that pad the last block. */
static inline const float *rill_channel_scales(const rill_weights *w)
{
    const size_t blocks = rill_block_count(w->n);
    return (const float *)(const void *)((const char *)w->data + blocks * rill_block_bytes(w->k, w->dtype));
}

static inline const int32_t *rill_channel_offsets(const rill_weights *w)
{
    return (const int32_t *)(const void *)(rill_channel_scales(w) + rill_block_count(w->n) * RILL_BLOCK);
}

/* Quantisation parameters of a row or column: q = round(x * inverse), and x is about q * scale. */
typedef struct rill_quant {
    float inverse, scale;
} rill_quant;

static inline rill_quant rill_quant_for(float max)
{
    if (max < RILL_QUANT_MIN_MAGNITUDE) return (rill_quant){0.0f, 0.0f};
    if (!(max <= 3.40282347e38f)) return (rill_quant){0.0f, __builtin_nanf("")};
    return (rill_quant){127.0f / max, max / 127.0f};
}

/* Return the bytes between rows in scratch, quantised (`element` 1) or rounded (2), padded for whole-vector stores. An odd number of cache
 * lines keeps rows apart in L1. */
static inline size_t rill_quant_stride(size_t k, size_t element)
{
    return ((k + RILL_BLOCK) * element + 63) / 64 * 64 | 64;
}

/* One panel of the N columns: its first column, its number of blocks, and its number of columns below N. */
typedef struct rill_panel {
    size_t first, blocks, columns;
} rill_panel;

static inline size_t rill_panel_count(size_t n)
{
    return (rill_block_count(n) + RILL_PANEL_BLOCKS - 1) / RILL_PANEL_BLOCKS;
}

static inline rill_panel rill_get_panel(size_t n, size_t p)
{
    const size_t blocks = rill_block_count(n), panels = rill_panel_count(n);
    const size_t base = blocks / panels, wider = blocks % panels;
    const size_t first_block = p * base + (p < wider ? p : wider);
    rill_panel r = {first_block * RILL_BLOCK, base + (p < wider), 0};
    const size_t width = r.blocks * RILL_BLOCK;
    r.columns = n - r.first < width ? n - r.first : width;
    return r;
}

/* Return the embedding of row r of the call: a pointer to its first element. NULL stands for a row of zeros. */
static inline const float *rill_embed_row(const rill_row_call *e, size_t r)
{
    const rill_operand *rows = &e->x[EMBED_rows];
    if (!e->packed || rows->index[r] < 0) return rill_operand_row(rows, r);
    return rill_output_weights(e->packed, (size_t)rows->index[r]);
}

/* Return the distance between consecutive elements of an embedding, in floats. */
static inline size_t rill_embed_step(const rill_row_call *e)
{
    return e->packed ? RILL_BLOCK : 1;
}

/* Return the table row that row r of the call uses: index[r], or r if there is no index. */
static inline size_t rill_row_index(const int32_t *index, size_t r)
{
    return index ? (size_t)index[r] : r;
}

/* Keys and values (the KV cache) of one slot. */
typedef struct rill_kv {
    const float *keys, *values;
    const int32_t *path; /* key t and value t are row path[t] of their tables; NULL: row t */
    size_t length;
} rill_kv;

/* Return the columns of one head in the values. */
static inline size_t rill_value_width(const rill_attention *a)
{
    return a->value_width > 0 ? a->value_width : a->width;
}

static inline rill_kv rill_get_kv(const rill_attention *a, size_t slot)
{
    rill_kv m = {.length = (size_t)a->length[slot]};
    const size_t first = m.length ? (size_t)a->first[slot] : 0, skip = a->path ? 0 : first;
    m.keys = a->keys.data + skip * a->keys.ld;
    m.values = a->values.data + skip * a->values.ld;
    m.path = a->path ? a->path + first : NULL;
    return m;
}

/* Return the position of row r among the `length` > 0 keys of its slot. The relative position bias depends on it. */
static inline size_t rill_row_position(const rill_attention *a, size_t r, size_t length)
{
    return a->position ? (size_t)a->position[r] : length - 1;
}

/* Add a head's relative position bias to the scores p[0..length) of a row at row_pos; `reach` clamps distances. */
static inline void rill_add_relative_bias(const rill_attention *a, size_t head, size_t row_pos, size_t length, float *p)
{
    const size_t reach = a->reach, near_begin = row_pos > reach ? row_pos - reach : 0, near_end = row_pos + reach + 1;
    const float *row = a->relative + head * (2 * reach + 1);
    size_t t = 0;
    for (; t < near_begin; t++) p[t] += row[0];
    for (; t < length && t < near_end; t++) p[t] += row[t + reach - row_pos];
    for (; t < length; t++) p[t] += row[2 * reach];
}

/* Return 1 if row r has a negative entry in an optional index (the row is absent), else 0. */
static inline int rill_row_absent(const int32_t *index, size_t r)
{
    return index && index[r] < 0;
}

/* Process items [begin, end) of a call; arg is the operation's struct. */
typedef void (*rill_range_fn)(const void *arg, size_t begin, size_t end);

/* Call fn for ranges that cover [0, items), on the pool's threads if items * ns_each is long enough. The partition must not change
 * results. */
void rill_parallel_for(rill_pool *pool, rill_range_fn fn, const void *arg, size_t items, double ns_each);

/* --- plain C: reference of the tests, and fallback ------------------------------ */

void rill_gemm_ref(const rill_gemm *g, rill_pool *pool);
void rill_attention_f32_ref(const rill_attention *a, rill_pool *pool);
void rill_best_f32_ref(const rill_best *b, rill_pool *pool);

void rill_activate_ref(rill_activation activation, size_t n, const float *x, float *y);

/* Insert (id, score) into lists of `count` entries, best first, of at most `best`. Ids are offered in ascending order, so ties stay in
 * that order. Returns the new count. */
size_t rill_best_insert(int32_t *ids, float *logp, size_t count, size_t best, int32_t id, float score);

/* Return a sort key that ascends as scores descend. -0 and 0 have equal keys. */
static inline uint32_t rill_best_key(float score)
{
    uint32_t bits;
    score += 0.0f;
    memcpy(&bits, &score, sizeof bits);
    return bits >> 31 ? bits : bits ^ UINT32_C(0x7FFFFFFF);
}

/* Sort both lists by logp, best first, ties by smaller id. Takes linear time. */
void rill_best_sort(int32_t *ids, float *logp, size_t count);

/* Set the members of *k that an instruction set implements. The caller has checked that the processor supports it. */
void rill_kernels_init_ref(rill_kernels *k);
void rill_kernels_init_avx2(rill_kernels *k);
void rill_kernels_init_avx512(rill_kernels *k);
void rill_kernels_init_avx512vnni(rill_kernels *k);
void rill_kernels_init_avx512bf16(rill_kernels *k);
void rill_kernels_init_amx(rill_kernels *k);
void rill_kernels_init_neon(rill_kernels *k);
void rill_kernels_init_neon_dotprod(rill_kernels *k);
void rill_kernels_init_neon_i8mm(rill_kernels *k);

/* AMX takes rows that the sets below quantise or round: rows [begin, end) of the quant_job `job` (vector/gemm.h). */
void rill_quantise_rows_avx512vnni(const void *job, size_t begin, size_t end);
void rill_round_rows_avx512bf16(const void *job, size_t begin, size_t end);

/* rill_peak_loop_fma() of RILL_ISA_AMX, for int8 or bf16. */
rill_peak_loop rill_peak_loop_amx(rill_dtype weights);
