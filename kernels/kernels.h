/* kernels.h: the operations on plain buffers that domains are written against.
 *
 * What: one table of functions, rill_kernels, filled for the processor at hand. Each operation takes a struct of
 * plain numbers and pointers (or a few arguments), an optional thread pool, and memory that the caller owns. No
 * operation allocates, prints, keeps a pointer after it returns or touches global state.
 *
 * Order of use:
 *   rill_kernels k;  rill_kernels_init(&k, RILL_ISA_ALL);          once, cheap; the table is plain data
 *   mem = ... rill_gemm_pack_size(...);  rill_gemm_pack_f32(...);  once per weight matrix
 *   k.gemm(&(rill_gemm){...}, pool);  k.lstm(...);  k.best(...);   per step
 * Unset struct members are zero: write the structs with designated initialisers and let the rest be zero.
 *
 * THE INVARIANT: with one table, the result for a row is a function of that row's inputs alone, to the last bit. It
 * does not depend on which other rows share the call, on how many there are, on where the row stands, on whether it
 * was gathered, or on the number of threads. (For gemm: one chain of fused multiply-adds per output element,
 * k ascending, in every micro-kernel; or an integer sum, which is exact.) Tables for different instruction sets may
 * differ in the last bits.
 *
 * Dimension letters, used as tuples in every comment below, last one contiguous unless a leading dimension says
 * otherwise:
 *   R rows of the call     K inner width     N outputs     H hidden width     V symbols (actions)
 *   B best wanted per row  T memory length   S slots       P rows of a table
 * R = 0 is legal in every operation and does nothing (pointers may then be NULL). All widths are at least 1.
 *
 * Rows of operands are rows of a table: see rill_operand. "ld" members are leading dimensions: the distance between
 * consecutive rows, in elements, at least the row width. Indices are int32, one per row of the call. A negative entry
 * is legal only where its comment says what it means. Indices are not checked against the table's size.
 *
 * Alignment: any alignment that the element type has is legal everywhere; packed weights want 64 bytes.
 * Aliasing: an output may not overlap an input or another output unless the operation says so.
 * Threads: every operation may run on several threads at once on different outputs; `pool` may be NULL, and one
 * pool serves one call at a time. Calls worth less than about 5 us stay on the calling thread.
 * Misuse (NULL where a pointer is required, width 0) is a programming error: asserted in debug builds, undefined else.
 * Stability: internal to rill; members are appended to structs, never reordered, within one ABI number. */
#ifndef RILL_KERNELS_H
#define RILL_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- instruction sets ------------------------------------------------------------------------------------ */

/* A set of instruction sets. The plain C reference is always there and has no bit. */
typedef uint32_t rill_isa_mask;
#define RILL_ISA_REF ((rill_isa_mask)0)               /* as a mask for rill_kernels_init: plain C only */
#define RILL_ISA_AVX2 ((rill_isa_mask)1 << 0)         /* AVX2, FMA and BMI2 */
#define RILL_ISA_AVX512 ((rill_isa_mask)1 << 1)       /* AVX-512 F, BW, DQ and VL; needs RILL_ISA_AVX2 too */
#define RILL_ISA_AVX512_VNNI ((rill_isa_mask)1 << 2)  /* and VNNI: the int8 gemm; needs RILL_ISA_AVX512 too */
#define RILL_ISA_NEON ((rill_isa_mask)1 << 3)         /* AArch64: its vectors are always there */
#define RILL_ISA_NEON_DOTPROD ((rill_isa_mask)1 << 4) /* and dot products: the int8 gemm; needs RILL_ISA_NEON too */
#define RILL_ISA_NEON_I8MM ((rill_isa_mask)1 << 5) /* and products of int8 matrices; needs RILL_ISA_NEON_DOTPROD too */
#define RILL_ISA_ALL (~(rill_isa_mask)0)

/* The sets that a name of rill_kernels.name stands for: itself and those it needs, as a mask for rill_kernels_init(). Returns 0, or -1 for
 * any other name. A set that the processor lacks is no error here. Any thread. */
int rill_isa_by_name(const char *name, rill_isa_mask *mask);

/* The i-th name, from "ref" on; NULL behind the last. Static text. */
const char *rill_isa_name(size_t i);

/* What this processor and operating system offer. Asked anew at each call (tens of ns), no state; any thread. */
rill_isa_mask rill_cpu_isa(void);

/* ---- operands -------------------------------------------------------------------------------------------- */

/* A row of fp32 for each row of a call: row r is row index[r] of the table at `at`, or row r of it without an index. */
typedef struct rill_operand {
    float *data; /* NULL where the operand may be left out; what is only read is not written through it */
    size_t ld;
    const int32_t *index; /* [R] or NULL; of what is written, entries differ from each other */
} rill_operand;

/* Row r; NULL for one that is not there. */
static inline float *rill_operand_row(const rill_operand *o, size_t r)
{
    if (!o->index) return o->data ? o->data + r * o->ld : NULL;
    return o->data && o->index[r] >= 0 ? o->data + (size_t)o->index[r] * o->ld : NULL;
}

/* ---- gemm ------------------------------------------------------------------------------------------------ */

/* How packed weights are stored. The arithmetic result is fp32 for all; A and C are always fp32.
 * U8S8: both sides are multiples of a unit that is the largest magnitude / 127, of an output's weights when they are
 * packed, of a row of A (both parts together) when it is used; sums are exact integers, and then
 *   C(r, n) = epilogue(start + float(sum) * (unit of row r * unit of output n)),
 * the same to the last bit on every instruction set before the epilogue. K is at most 2^17. A magnitude below 2^-100
 * counts as 0; a row of A or an output's weights with a NaN or an infinity give NaN. */
typedef enum rill_dtype {
    RILL_DTYPE_F32 = 0,  /* fp32 */
    RILL_DTYPE_BF16 = 1, /* rounded to bf16, ties to even; fp32 arithmetic, as if they were fp32 of the same values */
    RILL_DTYPE_U8S8 = 2, /* int8 per output, rows of A quantised on the fly */
} rill_dtype;

/* The nearest bf16, ties to even; a NaN stays one. */
uint16_t rill_bf16(float x);

/* What is done to an element after its sum is complete. */
typedef enum rill_epilogue {
    RILL_EPILOGUE_NONE = 0,
    RILL_EPILOGUE_TANH = 1,
    RILL_EPILOGUE_RELU = 2,         /* max(x, 0); NaN stays NaN */
    RILL_EPILOGUE_SWISH = 3,        /* x sigmoid(x) */
    RILL_EPILOGUE_GELU = 4,         /* x Phi(x), Phi the normal distribution: the exact form, within 1e-7 |x| */
    RILL_EPILOGUE_GELU_TANH = 5,    /* x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)) */
    RILL_EPILOGUE_GELU_SIGMOID = 6, /* x sigmoid(1.702 x) */
} rill_epilogue;

/* Packed weights: a handle to caller-owned bytes. Plain data, copy it freely; `data` is borrowed. The packed layout
 * is the same for every instruction set, so one packing serves every table. */
typedef struct rill_weights {
    const void *data; /* rill_gemm_pack_size(n, k, dtype) bytes, aligned to 64, made by rill_gemm_pack_f32 */
    size_t n, k;      /* N outputs, K inputs (all parts together) */
    rill_dtype dtype;
} rill_weights;

/* Bytes for the packed form of N x K weights; 0 when this build does not know dtype, when K is too long for it, or when
 * there are not that many bytes. n, k >= 1. Any thread. */
size_t rill_gemm_pack_size(size_t n, size_t k, rill_dtype dtype);

/* Pack n x k weights, output i of which begins at from + i * stride (PyTorch's [out, in] storage: stride k), into `mem`, and
 * fill *w.
 *   mem    rill_gemm_pack_size(n, k, dtype) bytes, aligned to 64; stays the caller's, must outlive *w. The source is not
 *          needed afterwards.
 * Returns 0, or -1 when rill_gemm_pack_size() gives 0 (then *w is all zero). Any thread. */
int rill_gemm_pack_f32(rill_weights *w, size_t n, size_t k, const float *from, size_t stride, rill_dtype dtype,
                       void *mem);

/* C = epilogue(start + A * W^T), where A may be two matrices side by side along K:
 *   start(r, n) = bias[n] + add(r, n)                  each optional, 0 when absent, added in that order
 *   C(r, n)     = epilogue(start + sum over k of A1(r, k) W(n, k) + sum over k of A2(r, k) W(n, k1 + k)) */
typedef struct rill_gemm {
    const rill_weights *w; /* N x K, packed */
    size_t rows;           /* R */
    rill_operand a;        /* [R, k1] */
    rill_operand a2;       /* [R, K - k1], or none: then A alone has all K columns and k1 is not read */
    size_t k1;             /* columns of a, when there is an a2; 1..K-1 */
    const float *bias;     /* [N] or NULL */
    rill_operand add;      /* [R, N] or none, as a precomputed embedding times weights; negative: nothing is added */
    rill_epilogue epilogue;
    rill_operand c; /* [R, N] out; every element is written. add == c (in place) is legal without indices and with the
                       same ld */
    void *scratch;  /* rill_gemm_scratch_size bytes, aligned to 64; may be NULL when that is 0 */
    int reuse_quantised; /* U8S8: scratch is as a call with the same rows of A, of the same K, has left it; at most
                      RILL_GEMM_QUANT_ROWS rows */
} rill_gemm;

enum { RILL_GEMM_QUANT_ROWS = 256 }; /* rows that are quantised before they are multiplied */

/* Scratch bytes that a call with `rows` rows and these weights needs; 0 but for U8S8. Only w->k and w->dtype matter, and
 * from some number of rows on no more is needed: SIZE_MAX gives what serves every call. Any thread. */
size_t rill_gemm_scratch_size(const rill_weights *w, size_t rows);

/* ---- lstm cell --------------------------------------------------------------------------------------------- */

/* From gate pre-activations to the new state, per row:
 *   c' = sigmoid(f) * c + sigmoid(i) * tanh(g);  h' = sigmoid(o) * tanh(c')
 * States live in tables addressed by node id: c is gathered, h' and c' are scattered. */
typedef struct rill_lstm {
    size_t rows, hidden; /* R, H */
    rill_operand gates;  /* [R, 4H]: i, f, g, o blocks of H each (PyTorch's order), before activation */
    rill_operand c_prev; /* [R, H], or none: every previous c is zero; negative: this row's is. May repeat */
    rill_operand c, h;   /* [R, H] out */
    /* c may be the same table as c_prev as long as no row written is read by another row of the call. */
} rill_lstm;

/* ---- gru cell ---------------------------------------------------------------------------------------------- */

/* From the input's and the state's part of the gates to the new state, per row (PyTorch's form):
 *   r = sigmoid(x_r + h_r);  z = sigmoid(x_z + h_z);  n = tanh(x_n + r h_n);  h' = (1 - z) n + z h
 * Each part is [3H] in the order r, z, n. */
typedef struct rill_gru {
    size_t rows, hidden; /* R, H */
    rill_operand input;  /* [R, 3H]: x */
    rill_operand gates;  /* [R, 3H]: h_r, h_z, h_n */
    rill_operand h_prev; /* [R, H], or none: every previous h is zero; negative: this row's is. May repeat */
    rill_operand h;      /* [R, H] out */
    /* h may be the same table as h_prev as long as no row written is read by another row of the call. */
} rill_gru;

/* ---- attention ------------------------------------------------------------------------------------------------ */

/* Per row r with slot s: p = softmax over t of scale * (query_r . key_{s,t});  out_r = sum over t of p_t value_{s,t}.
 * `additive` makes it scale * (additive . tanh(key_{s,t} + query_r)): Bahdanau's score. `relative` is added to a score by the distance
 * of t from where the row itself stands, which is the slot's last memory row unless `place` says another.
 * Rows of one slot read the same memory; put them next to each other and it is read once for several rows.
 * Heads, of H columns each, stand side by side in queries and keys, and of W columns each in values and out.
 * A path makes memory of rows that lie anywhere in a table, in the order it names them: the states of a tree's nodes,
 * of which each row of the call reads those between the root and itself. */
typedef struct rill_attention {
    size_t rows;           /* R */
    size_t heads, width;   /* H of one head; at least 1 each */
    size_t value_width;    /* W of one head; 0: H */
    float scale;           /* 1 for a plain dot product; there is no default */
    const float *additive; /* [heads * H], or NULL: a dot product */
    const float *
        relative; /* [heads, 2 reach + 1], or NULL: entry reach + d of a head for t = place + d, the first or last beyond */
    size_t reach;
    const int32_t *position; /* [R] with `relative`: the row's own t, 0 <= place < T_s; NULL: T_s - 1 */
    rill_operand query;      /* [R, heads * H] */
    rill_operand keys;       /* [P, heads * H]; no index: first and path say which rows */
    rill_operand values;     /* [P, heads * W] likewise */
    const int32_t *first;    /* [S] memory row t of slot s is row first[s] + t of keys and values ... */
    const int32_t *path;     /* ... or, unless this is NULL, row path[first[s] + t] */
    const int32_t *length;   /* [S] T_s >= 0; 0 gives a context of zeros, and first[s] is not read */
    const int32_t *slot;     /* [R] index into first and length; NULL: row r has slot r */
    float *weights;    /* [R, heads, max T] fp32, out and working memory: p; entries from T_s on are not touched */
    size_t ld_weights; /* from head to head; from row to row heads times as much */
    rill_operand out;  /* [R, heads * W] out */
    /* A NaN in a row's query or memory makes that head of the row NaN and nothing else. */
} rill_attention;

/* ---- bias + log-softmax + best B ------------------------------------------------------------------------------- */

/* Scores are natural-log probabilities, higher is better. Per row, in fp32 and in this order of operations:
 *   x(v)       = logits(r, v) + bias(v) + add(r, v)                   each addend optional
 *   log_norm   = log(sum over all v of exp(x(v)))
 *   logp(v)    = x(v) - log_norm
 * and the B best v by logp, equal logp by smaller v, among those with logp(v) > -infinity and legal(r, v). So a caller
 * can recompute the score of any symbol to the bit from logits and log_norm. When neither logp nor log_norm is
 * asked for, x stands for logp and no exponential is computed.
 *   -infinity in x     the symbol is not returned and adds nothing to the sum
 *   not legal          the symbol is not returned but counts in the sum (normalised over all, chosen among some)
 *   nothing to return  count 0; log_norm is -infinity when all x are
 *   NaN or +infinity   anywhere in a row's x: count 0 and log_norm NaN for this row, no other row is affected
 * Cost: B == 1 is cheapest, up to 24 cheap; with hundreds symbols are inserted one by one, in time B log(V/B) * B. */
typedef struct rill_best {
    size_t rows, symbols;  /* R, V (V < 2^31) */
    size_t n_best;         /* B >= 1; may exceed V */
    rill_operand logits;   /* [R, V] */
    const float *bias;     /* [V] or NULL */
    rill_operand add;      /* [R, V] or none: a vector per row, inside the normaliser; negative: nothing is added */
    const uint64_t *legal; /* [P, ceil(V/64)] words or NULL: symbol v is legal when bit v%64 of word v/64 is set;
                                    bits from V on are not read as symbols */
    size_t ld_legal;       /* in words */
    const int32_t *legal_index; /* [R] or NULL; negative: everything is legal for this row */
    int32_t *ids;               /* [R, B] out: best first; entries from count on are not written */
    float *logp;                /* [R, B] out, or NULL */
    size_t ld_out;              /* of ids and logp, at least B */
    int32_t *counts;            /* [R] out: entries written for the row, at most min(B, V) */
    float *log_norm;            /* [R] out, or NULL */
} rill_best;

/* ---- rows ---------------------------------------------------------------------------------------------------- */

/* Copy rows between tables: dst(r) = src(r). */
typedef struct rill_gather {
    size_t rows, width; /* R rows of `width` fp32 */
    rill_operand src;   /* [R, width]; negative: the row is zeros */
    rill_operand dst;   /* [R, width] out */
} rill_gather;

/* Embeddings: out(r) = scale * table(r) + position(r). A table that is an output layer too need not be there twice:
 * `packed` gives the same bits, at the price of a cache line per element. */
typedef struct rill_embed {
    size_t rows, width;    /* R, H */
    rill_operand table;    /* [R, H], with an index; negative: a row of zeros. With `packed` the index alone is read */
    float scale;           /* 1 for none; there is no default */
    rill_operand position; /* [R, H] or none; negative: nothing is added for this row */
    rill_operand out;      /* [R, H] out */
    const rill_weights *packed; /* NULL, or the table as N x K weights in fp32: N = P, K = H */
} rill_embed;

/* Layer norm over the row: y = gain * (z - mean z) / sqrt(var z + eps) + bias, z = x + residual (post-norm) or x.
 * var is the mean squared deviation, taken in a second pass over z. */
typedef struct rill_layer_norm {
    size_t rows, width;       /* R, H */
    rill_operand x;           /* [R, H] */
    rill_operand residual;    /* [R, H] or none */
    const float *gain, *bias; /* [H] fp32; NULL means 1 and 0 */
    float eps;                /* >= 0, as trained; there is no default */
    rill_operand y;           /* [R, H] out; may be x or residual itself */
    int rms;                  /* nonzero: the mean counts as 0, and the mean square as var */
} rill_layer_norm;

/* ---- the table --------------------------------------------------------------------------------------------- */

typedef struct rill_kernels {
    rill_isa_mask isa; /* the sets in use; RILL_ISA_REF when plain C */
    const char *
        name; /* the highest set in use: "ref"; "avx2", "avx512", "avx512vnni"; "neon", "neon-dotprod", "neon-i8mm". Static */

    void (*gemm)(const rill_gemm *g, rill_pool *pool);
    void (*lstm)(const rill_lstm *l, rill_pool *pool);
    void (*attention)(const rill_attention *a, rill_pool *pool);
    void (*best)(const rill_best *b, rill_pool *pool);
    void (*gather)(const rill_gather *g, rill_pool *pool);
    void (*embed)(const rill_embed *e, rill_pool *pool);
    void (*layer_norm)(const rill_layer_norm *n, rill_pool *pool);

    /* Element by element: y[i] = f(x[i]) for i < n; y == x is legal. x, y: [n] fp32. Error bounds in docs/kernels.md.
     * Infinities give the limits, NaN gives NaN. */
    void (*tanh)(size_t n, const float *x, float *y);
    void (*sigmoid)(size_t n, const float *x, float *y);
    void (*exp)(size_t n, const float *x, float *y);

    void (*swish)(size_t n, const float *x, float *y);
    void (*gelu)(size_t n, const float *x, float *y);
    void (*gelu_tanh)(size_t n, const float *x, float *y);
    void (*gelu_sigmoid)(size_t n, const float *x, float *y);
    void (*gru)(const rill_gru *g, rill_pool *pool);
} rill_kernels;

/* Fill *k with the best version of every operation among those that the processor has (rill_cpu_isa) and `mask`
 * allows: RILL_ISA_ALL for everything, RILL_ISA_REF for plain C. Every member is set. Never fails; any thread. */
void rill_kernels_init(rill_kernels *k, rill_isa_mask mask);

#ifdef __cplusplus
}
#endif

#endif
