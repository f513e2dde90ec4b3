/* C = activation(bias + add + [A1 A2] W^T) with int8 or bf16 weights, multiplied by the matrix unit of Intel's processors (AMX).
 *
 * A tile register has 16 rows of 64 bytes. 16 lines of packed weights (internal.h) are such a register as they stand, and so are 64
 * bytes of up to 16 quantised or rounded rows of A. The other files quantise and round the rows.
 *
 * Invariant: int8 sums are exact. A bf16 sum has two chains of multiply-adds from zero, of the even k and of the odd k, for each 32 k; the
 * chains' sum is added to the sum of the k before. bias + add comes last. Denormals count as zero.
 *
 * K that fills no whole registers is left to the instruction set below, for any number of rows. */
#define MR 16
#include "../vector/gemm.h"

#define REGISTER 1024 /* bytes of a full tile register */
#define RATE 800.0    /* rough speed in flops per ns, to estimate a call's time */
/* int8: up to so many rows are left to the set below, which reads weights from memory at a higher rate */
#define FEW_ROWS 12

/* ---- the tile -------------------------------------------------------------------------------------------- */

/* The shapes of the registers: 0 to 3 hold sums, 4 a part of the rows of A, 5 to 7 weights. */
typedef struct shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} shapes;

static void set_shapes(size_t rows)
{
    shapes s = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        s.row_bytes[i] = LINE;
        s.rows[i] = i < 5 ? (uint8_t)rows : MR;
    }
    __asm__ volatile("" : : "r"(&s) : "memory"); /* GCC 12's intrinsic names the first 8 bytes of s alone */
    _tile_loadconfig(&s);
}

/* Multiply the next 64 bytes of the rows by block j of the weights. The intrinsics take numbers of registers as constants. */
#define MULTIPLY(j, weights)                              \
    if ((j) < nv) {                                       \
        _tile_loadd(weights, w + (j)*block_stride, LINE); \
        if (int8)                                         \
            _tile_dpbusd(j, 4, weights);                  \
        else                                              \
            _tile_dpbf16ps(j, 4, weights);                \
    }

/* Multiply into sums[i][j]: row i of A, column j of the strip; as floats or, with int8, as integers. */
RILL_INLINE void multiply(const strip *s, const tile_rows *t, int32_t (*sums)[WIDE], const int nv, const int int8)
{
    const char *w = s->w, *a = t->q[0], *ahead = t->ahead;
    const size_t block_stride = s->block_stride, a_stride = t->count > 1 ? (size_t)((const char *)t->q[1] - a) : LINE;
    if (t->starts) set_shapes(t->count); /* 50 ns, a tenth of a small tile's time */
    _tile_zero(0);
    if (nv > 1) _tile_zero(1);
    if (nv > 2) _tile_zero(2);
    if (nv > 3) _tile_zero(3);
    for (const char *end = w + block_stride; w < end; w += REGISTER, a += LINE) {
        for (int k = 0; k < (int8 ? 64 : 32); k += 4) {
            LOOK_AHEAD(t->count)
        }
        _tile_loadd(4, a, a_stride);
        MULTIPLY(0, 5)
        MULTIPLY(1, 6)
        MULTIPLY(2, 7)
        MULTIPLY(3, 5)
    }
    _tile_stored(0, sums[0], sizeof sums[0]);
    if (nv > 1) _tile_stored(1, sums[0] + VL, sizeof sums[0]);
    if (nv > 2) _tile_stored(2, sums[0] + 2 * VL, sizeof sums[0]);
    if (nv > 3) _tile_stored(3, sums[0] + 3 * VL, sizeof sums[0]);
    if (t->finishes) _tile_release(); /* Linux suspends a thread sooner if its tile registers are empty */
}

RILL_INLINE void store(const strip *s, const tile_rows *t, int32_t (*sums)[WIDE], const int nv, const int int8)
{
    for (size_t i = 0; i < t->count; i++) {
        const vf row = v_set1(t->scale[i]);
        for (size_t j = 0; j < (size_t)nv * VL; j += VL) {
            const vi sum = vi_load(sums[i] + j);
            vf y = v_load(s->start + j);
            if (s->adds) y = v_add(y, v_load(t->add[i] + j));
            y = v_add(y, int8 ? v_mul(v_from_int(vi_add(sum, vi_load(s->offset + j))), v_mul(row, v_load(s->scale + j)))
                              : _mm512_castsi512_ps(sum));
            v_store(t->c[i] + j, y);
        }
    }
}

RILL_INLINE void tile(const strip *s, const tile_rows *t, const int nv, const int int8)
{
    int32_t sums[MR][WIDE];
    multiply(s, t, sums, nv, int8);
    store(s, t, sums, nv, int8);
}

/* ---- tiles of each width --------------------------------------------------------------------------------- */

#define TILE(type, nv)                                          \
    static void type##_##nv(const strip *s, const tile_rows *t) \
    {                                                           \
        tile(s, t, nv, IS_##type);                              \
    }
#define IS_int8 1
#define IS_bf16 0
TILE(int8, 1)
TILE(int8, 2)
TILE(int8, 3)
TILE(int8, 4)
TILE(bf16, 1)
TILE(bf16, 2)
TILE(bf16, 3)
TILE(bf16, 4)

/* clang-format off */
#define EACH_HEIGHT(f) {NULL, f, f, f, f, f, f, f, f, f, f, f, f, f, f, f, f}
#define AMX_TILES(type) {{NULL}, EACH_HEIGHT(type##_1), EACH_HEIGHT(type##_2), EACH_HEIGHT(type##_3), EACH_HEIGHT(type##_4)}
/* clang-format on */
static const tile_set int8_tiles = {.tile = AMX_TILES(int8), .max_rows = {0, MR, MR, MR, MR}, .vectors = strip_vectors};
static const tile_set bf16_tiles = {.tile = AMX_TILES(bf16), .max_rows = {0, MR, MR, MR, MR}, .vectors = strip_vectors};

/* ---- the call -------------------------------------------------------------------------------------------- */

static void gemm(const rill_gemm *g, rill_pool *pool)
{
    const int int8 = g->w->dtype == RILL_DTYPE_U8S8;
    const size_t k = g->w->k;
    if (g->rows == 0) return;
    if (g->w->dtype == RILL_DTYPE_F32 || rill_block_bytes(k, g->w->dtype) % REGISTER != 0 ||
        (int8 && g->rows <= FEW_ROWS)) {
        RILL_SET_BELOW(rill_gemm)(g, pool);
        return;
    }
    quant_job job = {g, 0, rill_quant_stride(k, int8 ? 1 : 2), NULL, g->scratch};
    if (int8) {
        job.scale = g->scratch;
        job.rows += RILL_QUANT_ROWS * sizeof(float);
    }
    run_quantised(&job, int8 ? &int8_tiles : &bf16_tiles,
                  int8 ? rill_quantise_rows_avx512vnni : rill_round_rows_avx512bf16,
                  (double)k / VL * (int8 ? 4.0 : 1.0), RATE, pool);
}

/* ---- the highest rate ------------------------------------------------------------------------------------ */

enum { PEAK_PRODUCTS = 4000 };

#define PEAK_LOOP(name, product)                      \
    static void name(rill_peak_loop *loop)            \
    {                                                 \
        (void)loop;                                   \
        set_shapes(MR);                               \
        _tile_zero(0);                                \
        _tile_zero(1);                                \
        _tile_zero(2);                                \
        _tile_zero(3);                                \
        _tile_zero(4);                                \
        _tile_zero(5);                                \
        _tile_zero(6);                                \
        _tile_zero(7);                                \
        for (int i = 0; i < PEAK_PRODUCTS / 4; i++) { \
            product(0, 4, 5);                         \
            product(1, 4, 6);                         \
            product(2, 4, 7);                         \
            product(3, 4, 5);                         \
        }                                             \
        _tile_release();                              \
    }
PEAK_LOOP(peak_int8, _tile_dpbusd)
PEAK_LOOP(peak_bf16, _tile_dpbf16ps)

rill_peak_loop rill_peak_loop_amx(rill_dtype weights)
{
    const int int8 = weights == RILL_DTYPE_U8S8;
    const double flops = 2.0 * MR * VL * (int8 ? LINE : LINE / 2); /* of a product of two registers */
    return (rill_peak_loop){.run = int8 ? peak_int8 : peak_bf16, .work = PEAK_PRODUCTS * flops};
}

/* ---- the table ------------------------------------------------------------------------------------------- */

void RILL_FN(rill_kernels_init)(rill_kernels *k)
{
    k->isa |= RILL_SET;
    k->name = RILL_SET_NAME;
    k->gemm = gemm;
}
