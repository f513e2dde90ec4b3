/* Numerical operations on plain buffers: GEMM, attention, top-k, and the row operations of rill/ops.h.
 *
 * rill_kernels is a table of function pointers, filled for the CPU at run time. No operation allocates, prints, keeps a pointer or uses
 * global variables.
 *
 * Order of use:
 *   rill_kernels k;  rill_kernels_init(&k, RILL_ISA_ALL);          once, cheap; the table is plain data
 *   mem = ... rill_gemm_pack_size(...);  rill_gemm_pack_f32(...);  once per weight matrix
 *   k.gemm(&(rill_gemm){...}, pool);  rill_run_rows(&k, RILL_OP_LSTM, &(rill_row_call){...}, pool);   per step
 * Write the structs with designated initialisers; unset members are zero and mean "none".
 *
 * THE INVARIANT: with one table, a row's result depends on that row's inputs alone, to the last bit. Other rows, their number, the row's
 * position and threads do not change it. Tables of different instruction sets may differ in the last bits.
 *
 * Dimensions, last one contiguous unless a leading dimension is given:
 *   R rows of the call     K inner width     N outputs     H hidden width     V symbols (actions)
 *   B best wanted per row  T memory length   S slots       P rows of a table
 * R = 0 is legal and does nothing. All widths are at least 1.
 *
 * Operands are rows of a table, see rill_operand. "ld": leading dimension, elements between consecutive rows. Indices: int32 per row,
 * unchecked; negative only where documented.
 * Alignment: the element type's; packed weights need 64 bytes.
 * Aliasing: an output may not overlap an input or output, unless documented.
 * Threads: an operation may run on several threads with different outputs. `pool` may be NULL; a pool serves one call at a time. Calls
 * below about 5 us run on the calling thread.
 * Misuse (NULL where required, width 0) is asserted in debug builds, else undefined.
 *
 * Stability: internal to rill; members are appended to structs, never reordered, within one ABI number. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rill/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- threads -------------------------------------------------------------------------------------------- */

/* A thread pool in caller-owned memory. A job has chunks 0..chunks-1, claimed by the calling thread and the workers; one job at a time.
 * Workers spin for a bounded time after a job, then sleep.
 *
 * Order of use: rill_pool_size -> memory -> rill_pool_init -> any number of rill_pool_run -> rill_pool_finish. NULL: the calling thread
 * does everything.
 *
 * A chunk's result may not depend on its thread or the number of threads. */
typedef struct rill_pool rill_pool;

/* The work of one chunk, called once per number in [0, chunks), concurrently. arg: the `arg` of rill_pool_run(). Must not call
 * rill_pool_run() on the same pool. */
typedef void (*rill_pool_fn)(void *arg, size_t chunk);

/* Return the bytes for a pool of `threads` threads, the caller included. 0 counts as 1. Any thread. */
size_t rill_pool_size(unsigned threads);

/* Create a pool of `threads` threads (the caller and threads - 1 workers) in `mem`.
 *   mem      rill_pool_size(threads) bytes, aligned to 64; owned by the caller, must outlive the pool
 *   threads  at least 1
 * Returns the pool, whose address is mem. It has fewer threads if the system starts fewer. Any one thread may finish it. */
rill_pool *rill_pool_init(void *mem, unsigned threads);

/* Stop and join the workers. NULL is allowed. No run may be in progress. The caller may then reuse mem. */
void rill_pool_finish(rill_pool *pool);

/* Return the number of threads of the pool, including the caller; 1 if `pool` is NULL. May be called from any thread. */
unsigned rill_pool_threads(const rill_pool *pool);

/* Return a number of chunks that threads share evenly: `chunks` rounded down to a multiple of the threads. Fewer chunks than threads stay
 * as they are. */
size_t rill_pool_balance(const rill_pool *pool, size_t chunks);

/* Run fn(arg, i) for each i in [0, chunks), 0 <= chunks < 2^32, and return when all are done. Chunks see the caller's writes, and the
 * caller sees the writes of chunks. One caller at a time per pool. pool NULL: in order, on this thread. */
void rill_pool_run(rill_pool *pool, rill_pool_fn fn, void *arg, size_t chunks);

/* ---- instruction sets ------------------------------------------------------------------------------------ */

/* A bit mask of instruction sets, made of RILL_ISA_* bits. The plain C reference code is always available and has no bit. */
typedef uint32_t rill_isa_mask;
#define RILL_ISA_REF ((rill_isa_mask)0)               /* mask for rill_kernels_init: plain C only */
#define RILL_ISA_AVX2 ((rill_isa_mask)1 << 0)         /* AVX2, FMA and BMI2 */
#define RILL_ISA_AVX512 ((rill_isa_mask)1 << 1)       /* AVX-512 F, BW, DQ and VL; needs RILL_ISA_AVX2 too */
#define RILL_ISA_AVX512_VNNI ((rill_isa_mask)1 << 2)  /* VNNI, for the int8 GEMM; needs RILL_ISA_AVX512 too */
#define RILL_ISA_NEON ((rill_isa_mask)1 << 3)         /* NEON; every AArch64 processor has it */
#define RILL_ISA_NEON_DOTPROD ((rill_isa_mask)1 << 4) /* int8 dot products; needs RILL_ISA_NEON too */
#define RILL_ISA_NEON_I8MM ((rill_isa_mask)1 << 5)    /* int8 matrix products; needs RILL_ISA_NEON_DOTPROD too */
/* bf16 products, for the bf16 GEMM; needs RILL_ISA_AVX512_VNNI too. Not reported for Intel's processors without AMX: there the bf16 GEMM
 * is no faster */
#define RILL_ISA_AVX512_BF16 ((rill_isa_mask)1 << 6)
/* matrix products of int8 and bf16; needs RILL_ISA_AVX512_BF16 too. The first query asks Linux to let the process use AMX; from then on
 * alternate signal stacks (sigaltstack) need 11 KB */
#define RILL_ISA_AMX ((rill_isa_mask)1 << 7)
#define RILL_ISA_ALL (~(rill_isa_mask)0)

/* Set *mask to the named instruction set (rill_isa_name()) and all that it requires. Returns 0, or -1 for an unknown name. Any thread. */
int rill_isa_by_name(const char *name, rill_isa_mask *mask);

/* Return the name of instruction set i, counted from 0 ("ref"), as a static string; NULL past the last one. */
const char *rill_isa_name(size_t i);

/* Return the instruction sets that the processor and operating system support. Queried at each call (tens of ns), no state; any thread. */
rill_isa_mask rill_cpu_isa(void);

/* ---- operands -------------------------------------------------------------------------------------------- */

/* fp32 rows of a table: row r of the call is data's row index[r], or r without index. */
typedef struct rill_operand {
    float *data; /* NULL: the operand is absent, where allowed. Inputs are never written */
    size_t ld;
    /* [R] table row for each row of the call; NULL: row r. The entries of an output's index must be distinct */
    const int32_t *index;
} rill_operand;

/* Return the operand's row r: a pointer to its first element; NULL if data is NULL or index[r] negative. */
static inline float *rill_operand_row(const rill_operand *o, size_t r)
{
    if (!o->index) return o->data ? o->data + r * o->ld : NULL;
    return o->data && o->index[r] >= 0 ? o->data + (size_t)o->index[r] * o->ld : NULL;
}

/* ---- gemm ------------------------------------------------------------------------------------------------ */

/* Storage type of packed weights; A and C are fp32.
 *
 * U8S8: symmetric int8, scale = largest magnitude / 127, per output from packing and per row of [A1 A2] at run time. Sums are exact
 * integers, then
 *   C(r, n) = activation(start + float(sum) * (scale of row r * scale of output n)).
 * Instruction sets agree to the bit before the activation. K is at most 2^17. Largest magnitudes below 2^-100 count as 0. A NaN or
 * infinity in a row or in an output's weights gives NaN. */
typedef enum rill_dtype {
    RILL_DTYPE_F32 = 0, /* fp32 weights */
    /* rounded to bf16, ties to even. Arithmetic is fp32; with RILL_ISA_AVX512_BF16 rows of A are rounded too, and denormals count as 0 */
    RILL_DTYPE_BF16 = 1,
    RILL_DTYPE_U8S8 = 2, /* int8 with one scale per output; each call quantises its rows of A */
} rill_dtype;

/* Round x to bf16, ties to even. A NaN stays a NaN. */
uint16_t rill_bf16(float x);

/* Packed weights: plain data; `data` is borrowed. One layout for every instruction set. */
typedef struct rill_weights {
    const void *data; /* rill_gemm_pack_size(n, k, dtype) bytes, aligned to 64, made by rill_gemm_pack_f32 */
    size_t n, k;      /* N outputs, K inputs (if A has two parts: columns of both) */
    rill_dtype dtype;
} rill_weights;

/* Return the bytes of N x K packed weights, n, k >= 1; 0 if dtype is unknown, K too large, or the size overflows. Any thread. */
size_t rill_gemm_pack_size(size_t n, size_t k, rill_dtype dtype);

/* Pack n x k weights, output i at from + i * stride, into `mem`, and fill *w.
 *   mem    rill_gemm_pack_size(n, k, dtype) bytes, aligned to 64; the caller's, must outlive *w. The source may be freed
 * Returns 0, or -1 if rill_gemm_pack_size() gives 0 (*w is zeroed). Any thread. */
int rill_gemm_pack_f32(rill_weights *w, size_t n, size_t k, const float *from, size_t stride, rill_dtype dtype,
                       void *mem);

/* C = activation(start + A * W^T); A may be two matrices side by side along K:
 *   start(r, n) = bias[n] + add(r, n)                  each optional, 0 when absent, added in that order
 *   C(r, n)     = activation(start + sum over k of A1(r, k) W(n, k) + sum over k of A2(r, k) W(n, k1 + k)) */
typedef struct rill_gemm {
    const rill_weights *w; /* N x K weights, packed */
    size_t rows;           /* R, number of rows of A and C */
    rill_operand a;        /* [R, k1] the rows of A, or of its first part */
    /* [R, K - k1] the second part of A's rows; if absent, `a` has all K columns, and k1 is not read */
    rill_operand a2;
    size_t k1;         /* columns of `a`, from 1 to K - 1; read only if `a2` is present */
    const float *bias; /* [N] added to each row; NULL: no bias */
    /* [R, N] or none, e.g. products of an embedding and weights, computed earlier; for a negative index, 0 is added */
    rill_operand add;
    rill_activation activation; /* applied to each element after its sum is complete; GELU is exact within 1e-7 |x| */
    /* [R, N] output. May be `add`'s memory if neither has an index and ld is equal */
    rill_operand c;
    void *scratch; /* rill_gemm_scratch_size() bytes, aligned to 64; may be NULL if that is 0 */
    /* U8S8 and BF16: 1: scratch has all rows of A (at most RILL_GEMM_QUANT_ROWS), which an earlier call has converted for the same type and
     * K; 0: this call converts them */
    int reuse_quantised;
} rill_gemm;

enum { RILL_GEMM_QUANT_ROWS = 256 }; /* maximum rows of A that a call quantises or rounds at a time */

/* Return the scratch bytes for `rows` rows and these weights; 0 for F32. Reads only k and dtype of *w. SIZE_MAX rows: enough for every
 * call. Any thread. */
size_t rill_gemm_scratch_size(const rill_weights *w, size_t rows);

/* ---- row operations -------------------------------------------------------------------------------------------- */

/* For each operation, the position of each operand in rill_row_call.x, as enumerators such as LSTM_gates and NORMALISE_x. */
#define RILL_ENTRY(OPERATION, member, times, width, use) OPERATION##_##member,
#define RILL_LIST(OPERATION, word, description, width, flops) \
    enum { RILL_##OPERATION##_OPERANDS(RILL_ENTRY) OPERATION##_OPERANDS };
RILL_OPERATIONS(RILL_LIST)
#undef RILL_LIST
#undef RILL_ENTRY

/* The parameters of an operation of rill/ops.h. The union has one member for each operation. */
typedef union rill_op {
#define RILL_ENTRY(OPERATION, word, description, width, flops) description word;
    RILL_OPERATIONS(RILL_ENTRY)
#undef RILL_ENTRY
} rill_op;

/* A call of a row operation of rill/ops.h. Outputs are written completely. They may overlap inputs only where documented, or be rows of
 * the same table, if no row reads another's output. */
enum { RILL_ROW_OPERANDS = RILL_SUM_TERMS + 1 };
typedef struct rill_row_call {
    size_t rows, width; /* R, number of rows of the call; H, width of a row */
    /* parameters of the operation, such as eps; its views, handles and widths are not read. NULL is allowed for operations without
     * parameters */
    const rill_op *op;
    /* operands by position, such as LSTM_gates. A constant of one row, which all rows share, has ld 0 */
    rill_operand x[RILL_ROW_OPERANDS];
    /* EMBED only: packed fp32 weights (N = P, K = H) as the table; of `rows`, only the index is read. Tied weights then need no second
     * copy; the lookup is slower and has the same bits. NULL: the table is `rows` */
    const rill_weights *packed;
} rill_row_call;

/* ---- attention ------------------------------------------------------------------------------------------------ */

/* Multi-head attention. A slot is a list of keys and values, such as a KV cache. Row r of slot s:
 *   p = softmax over t of scale * (query_r . key_{s,t});  out_r = sum over t of p_t value_{s,t}
 * additive: Bahdanau's score, scale * (additive . tanh(key_{s,t} + query_r)). relative: a bias by the distance of t from the row's
 * position.
 * path: gathers keys and values from arbitrary table rows.
 *
 * Adjacent rows of one slot share reads of keys and values. Heads lie side by side: H columns in queries and keys, W in values and out. */
typedef struct rill_attention {
    size_t rows;           /* R, number of query rows */
    size_t heads, width;   /* number of heads; H, columns of one head in queries and keys; both at least 1 */
    size_t value_width;    /* W, columns of one head in values and out; 0 means H */
    float scale;           /* factor of every score; 1 for an unscaled dot product. There is no default */
    const float *additive; /* [heads * H] weights of Bahdanau's additive score; NULL: the score is a dot product */
    /* [heads, 2 * reach + 1] relative position bias; NULL: none. Key t = position + d gets entry reach + d, d clamped to [-reach, reach] */
    const float *relative;
    size_t reach;
    /* [R] the query's own position, 0 <= position < T_s; NULL: the last, T_s - 1. Read only with `relative` */
    const int32_t *position;
    rill_operand query;  /* [R, heads * H] query rows */
    rill_operand keys;   /* [P, heads * H] table of keys. Its own index is not read: `first` and `path` select rows */
    rill_operand values; /* [P, heads * W] table of values. Its own index is not read */
    /* [S] start of each slot: without `path`, key and value t of slot s are row first[s] + t of keys and values */
    const int32_t *first;
    /* NULL, or row numbers: key and value t of slot s are row path[first[s] + t] of keys and values */
    const int32_t *path;
    /* [S] number of keys of each slot, T_s >= 0. For a slot without any, out is zeros and first[s] is not read */
    const int32_t *length;
    const int32_t *slot; /* [R] slot of each query row, an index into first and length; NULL: row r has slot r */
    /* [R, heads, max T] output and working memory: attention weights p; entries from T_s on are not written */
    float *weights;
    /* floats from one head's weights to the next head's; from row to row it is heads * ld_weights */
    size_t ld_weights;
    rill_operand out; /* [R, heads * W] output: context vectors */
    /* A NaN in one head's part of a row's query, keys or values makes that head of that row NaN and nothing else. */
} rill_attention;

/* ---- bias + log-softmax + best B ------------------------------------------------------------------------------- */

/* Log-softmax and top B. Scores are natural-log probabilities. Per row, in fp32 and in this order of operations:
 *   x(v)       = logits(r, v) + bias(v) + add(r, v)                   each addend optional
 *   log_norm   = log(sum over all v of exp(x(v)))
 *   logp(v)    = x(v) - log_norm
 * Result: the B best v by logp, ties by smaller v, with logp(v) > -infinity and legal(r, v). raw: no softmax, log_norm 0.
 *   -infinity in x     the symbol is not returned and adds nothing to the sum
 *   not legal          the symbol is not returned but counts in the sum (normalised over all symbols)
 *   nothing to return  count 0; log_norm is -infinity if all x are -infinity
 *   NaN or +infinity   anywhere in a row's x: count 0 and log_norm NaN for this row, no other row is affected */
typedef struct rill_best {
    size_t rows, symbols; /* R, number of rows; V, number of symbols, less than 2^31 */
    size_t n_best;        /* B, number of best symbols wanted for each row; at least 1, may exceed V */
    int raw;              /* nonzero: no softmax */
    rill_operand logits;  /* [R, V] logits */
    const float *bias;    /* [V] added to each row's logits; NULL: no bias */
    /* [R, V] added to the logits before the softmax; may be absent. A row with a negative index gets nothing added */
    rill_operand add;
    /* [P, ceil(V / 64)] bit sets of legal symbols; NULL: all. Bit v % 64 of word v / 64 is symbol v; bits from V on are ignored */
    const uint64_t *legal;
    size_t ld_legal; /* 64-bit words from one bit set to the next */
    /* [R] each row's bit set in `legal`, negative: all symbols; NULL: row r has bit set r */
    const int32_t *legal_index;
    int32_t *ids;    /* [R, B] output: each row's best symbols, best first; entries from counts[r] on are not written */
    float *logp;     /* [R, B] output: their log-probabilities */
    size_t ld_out;   /* elements from one row of ids and logp to the next, at least B */
    int32_t *counts; /* [R] output: number of symbols found for each row, at most min(B, V) */
    float *log_norm; /* [R] output: log_norm of each row; NULL: not wanted */
} rill_best;

/* ---- the function table ------------------------------------------------------------------------------------ */

/* One instruction set's function for a row operation. run() computes rows [begin, end) of `call`, a rill_row_call. */
typedef struct rill_row_kernel {
    void (*run)(const void *call, size_t begin, size_t end);
    double ns; /* estimated nanoseconds per element of a row; a row has rill_row_call.width elements */
} rill_row_kernel;

typedef struct rill_kernels {
    rill_isa_mask isa; /* the instruction sets in use; RILL_ISA_REF for plain C */
    /* name of the highest instruction set in use, static: "ref"; "avx2", "avx512", "avx512vnni", "avx512bf16", "amx"; "neon", ... */
    const char *name;

    void (*gemm)(const rill_gemm *g, rill_pool *pool);
    void (*attention)(const rill_attention *a, rill_pool *pool);
    void (*best)(const rill_best *b, rill_pool *pool);
    rill_row_kernel rows[RILL_OP_KINDS]; /* functions of the row operations, which rill_run_rows() calls */

    /* y[i] = e^x[i] for i < n; y == x is legal. x, y: [n] fp32. Infinities give the limits, NaN gives NaN. */
    void (*exp)(size_t n, const float *x, float *y);
} rill_kernels;

/* Fill *k with the fastest operations for the CPU and `mask`: RILL_ISA_ALL for everything, RILL_ISA_REF for plain C. Any thread. */
void rill_kernels_init(rill_kernels *k, rill_isa_mask mask);

/* Run the row operation `kind` on all rows of a call. */
void rill_run_rows(const rill_kernels *k, rill_op_kind kind, const rill_row_call *call, rill_pool *pool);

/* ---- peak performance ------------------------------------------------------------------------------------- */

/* A loop that measures peak arithmetic or memory throughput: run(loop) makes one pass. */
typedef struct rill_peak_loop {
    void (*run)(struct rill_peak_loop *loop);
    double work;      /* flops, or bytes read, in one pass */
    const void *data; /* buffer that a reading loop reads */
    size_t bytes;
    float sum; /* result of the loop, stored so that the compiler cannot remove the loop */
} rill_peak_loop;

/* Return a loop of multiply-adds (two flops each) as in GEMMs of these weights: int8; bf16 if GEMMs of `isa` use it; else fp32. It uses the
 * widest vectors of `isa`. */
rill_peak_loop rill_peak_loop_fma(rill_isa_mask isa, rill_dtype weights);

/* Return a loop that reads `bytes` bytes from `data`, which is aligned to 64. */
rill_peak_loop rill_peak_loop_read(const void *data, size_t bytes);

/* Run the loop for about `seconds` in several samples; returns the best sample's rate, in work per second. */
double rill_peak_loop_rate(rill_peak_loop *loop, double seconds);

/* Return the seconds of a monotonic clock. */
double rill_clock(void);

#ifdef __cplusplus
}
#endif
